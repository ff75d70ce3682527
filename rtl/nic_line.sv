// Operation of an atomic on the elements that lie in 64 bytes, or on the first alone: integers, and sums and products of floats and
// doubles, one in a cycle; what compares floats, and complex numbers, one after the other (nic_falu). The old bytes and the operands
// move to the right by an element at a time, the new ones come in from the left.
module nic_line (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         start_i,      // the bytes below are taken; the operation stays as it is until done_o
  input  logic [4:0]   op_i,
  input  logic [2:0]   dtype_i,
  input  logic         is_float_i,
  input  logic         is_complex_i,
  input  logic         one_i,        // only the first
  input  logic [511:0] old_i,
  input  logic [511:0] operand_i,
  input  logic [127:0] compare_i,    // of that one
  output logic         done_o,
  output logic [511:0] new_o
);
  typedef enum logic [2:0] {Idle, Whole, Stream, Each, Done} state_t;
  state_t state_q;
  logic [511:0] old_q, operand_q, new_q;
  logic [127:0] compare_q;
  logic [6:0] in_q, out_q;           // elements to go in, to come out
  logic [2:0] log2;                  // of an element's bytes
  logic streams, ends, shift_in, shift_out;
  assign log2    = is_complex_i ? dtype_i : {1'b0, dtype_i[1:0]};
  assign streams = is_float_i && !is_complex_i && (op_i == 5'd2 || op_i == 5'd3);

  function automatic logic [511:0] shift(input logic [511:8] v, input logic [127:0] in, input logic [2:0] by);
    // no case: of one in a function, Verilator counts the first branch only (make coverage-rtl)
    shift = by == 3'd0 ? {in[7:0], v[511:8]}
          : by == 3'd1 ? {in[15:0], v[511:16]}
          : by == 3'd2 ? {in[31:0], v[511:32]}
          : by == 3'd3 ? {in[63:0], v[511:64]}
          : {in, v[511:128]};
  endfunction

  logic [63:0] whole, many;
  logic many_valid, each_done;
  logic [127:0] each, result;
  nic_alu u_alu (
    .op_i, .dtype_i, .old_i(old_q[63:0]), .operand_i(operand_q[63:0]), .compare_i(compare_q[63:0]), .new_o(whole)
  );
  nic_falu u_falu (
    .clk_i, .rst_ni, .start_i(state_q == Each), .op_i, .dbl_i(is_complex_i ? dtype_i[2] : dtype_i[0]), .complex_i(is_complex_i),
    .old_i(old_q[127:0]), .operand_i(operand_q[127:0]), .compare_i(compare_q), .done_o(each_done), .new_o(each),
    .many_valid_i(state_q == Stream && in_q != '0), .many_old_i(old_q[63:0]), .many_operand_i(operand_q[63:0]),
    .many_valid_o(many_valid), .many_new_o(many)
  );
  assign result    = (state_q == Whole) ? {64'd0, whole} : (state_q == Stream) ? {64'd0, many} : each;
  assign shift_in  = state_q == Whole || (state_q == Stream && in_q != '0) || (state_q == Each && each_done);
  assign shift_out = state_q == Whole || (state_q == Stream && many_valid) || (state_q == Each && each_done);
  assign ends      = shift_out && out_q == 7'd1;
  assign done_o    = state_q == Done;
  assign new_o     = new_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      in_q    <= '0;
      out_q   <= '0;
    end else begin
      if (shift_in) in_q <= in_q - 7'd1;
      if (shift_out) out_q <= out_q - 7'd1;
      unique case (state_q)
        Idle: if (start_i) begin
          in_q    <= one_i ? 7'd1 : 7'd64 >> log2;
          out_q   <= one_i ? 7'd1 : 7'd64 >> log2;
          state_q <= !is_float_i ? Whole : streams ? Stream : Each;
        end
        Done: state_q <= Idle;
        default: if (ends) state_q <= Done;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      old_q     <= old_i;
      operand_q <= operand_i;
      compare_q <= compare_i;
    end else if (shift_in) begin
      old_q     <= shift(old_q[511:8], '0, log2);
      operand_q <= shift(operand_q[511:8], '0, log2);
    end
    if (shift_out) new_q <= one_i ? {384'd0, result} : shift(new_q[511:8], result, log2);
  end
endmodule
