// Operation of an atomic on one float, double or complex number of two of them: codes as in REGISTERS.md. Comparisons and
// swaps take two cycles, a sum or product eight, the product of two complex numbers (four products, then their difference
// and sum, each rounded) twenty. A comparison with what is no number does not hold. While it has nothing else to do, sums or
// products of single numbers, one begun in each cycle, come out as many cycles later.
module nic_falu (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,      // inputs stay as they are until done_o
  input  logic [4:0]  op_i,
  input  logic        dbl_i,
  input  logic        complex_i,    // two of them, the real part in the low half
  input  logic [127:0] old_i,
  input  logic [127:0] operand_i,
  input  logic [127:0] compare_i,
  output logic        done_o,
  output logic [127:0] new_o,
  input  logic        many_valid_i,
  input  logic [63:0] many_old_i,
  input  logic [63:0] many_operand_i,
  output logic        many_valid_o,
  output logic [63:0] many_new_o
);
  typedef enum logic [1:0] {Idle, Issue, Wait, Done} state_t;
  state_t state_q;
  logic [2:0] issued_q, got_q;
  logic [63:0] part_q [4];
  logic [127:0] r_q;
  logic is_sum, is_prod, second_q, valid, out_valid, mul, sub;
  logic [2:0] count;
  logic [63:0] a, b, out;

  // ---- comparisons ------------------------------------------------------------------------------------------
  function automatic logic nan(input logic [62:0] v, input logic dbl);
    nan = dbl ? v[62:52] == '1 && v[51:0] != '0 : v[30:23] == '1 && v[22:0] != '0;
  endfunction
  // a number's place in the order of all, zeros alike
  function automatic logic [64:0] place(input logic [63:0] v, input logic dbl);
    logic [63:0] size;
    size  = dbl ? {1'b0, v[62:0]} : {33'd0, v[30:0]};
    place = (dbl ? v[63] : v[31]) ? 65'h1_0000_0000_0000_0000 - {1'b0, size} : {1'b1, size};
    if (size == '0) place = 65'h1_0000_0000_0000_0000;
  endfunction
  function automatic logic [63:0] part(input logic [127:0] v, input logic high, input logic dbl);
    part = dbl ? (high ? v[127:64] : v[63:0]) : {32'd0, high ? v[63:32] : v[31:0]};
  endfunction
  logic [64:0] old_at, operand_at, compare_at;
  logic more, less, clean, cclean, swaps, equal, high_equal, cless, cequal;
  logic [63:0] old_high, compare_high;   // imaginary parts
  assign old_at     = place(old_i[63:0], dbl_i);
  assign operand_at = place(operand_i[63:0], dbl_i);
  assign compare_at = place(compare_i[63:0], dbl_i);
  assign clean      = !nan(old_i[62:0], dbl_i) && !nan(operand_i[62:0], dbl_i);
  assign less       = clean && operand_at < old_at;
  assign more       = clean && operand_at > old_at;
  assign cclean     = !nan(old_i[62:0], dbl_i) && !nan(compare_i[62:0], dbl_i);
  assign cless      = cclean && compare_at < old_at;
  assign cequal     = cclean && compare_at == old_at;
  assign old_high     = part(old_i, 1'b1, dbl_i);
  assign compare_high = part(compare_i, 1'b1, dbl_i);
  assign high_equal = !nan(old_high[62:0], dbl_i) && !nan(compare_high[62:0], dbl_i) &&
                      place(old_high, dbl_i) == place(compare_high, dbl_i);
  assign equal      = cequal && (!complex_i || high_equal);
  always_comb begin
    unique case (op_i)
      5'd0: swaps = less;
      5'd1: swaps = more;
      5'd11: swaps = equal;
      5'd12: swaps = !equal;
      5'd13: swaps = cless || cequal;
      5'd14: swaps = cless;
      5'd15: swaps = cclean && !cless;
      5'd16: swaps = cclean && !cless && !cequal;
      default: swaps = 1'b1;   // swap
    endcase
  end

  // ---- sums and products: one after the other into the unit -----------------------------------------------------
  assign is_sum  = op_i == 5'd2;
  assign is_prod = op_i == 5'd3;
  assign count   = !complex_i ? 3'd1 : (is_prod && !second_q) ? 3'd4 : 3'd2;
  assign valid   = state_q == Issue || many_valid_i;
  assign mul     = is_prod && !second_q;
  assign sub     = second_q && issued_q == 3'd0;
  always_comb begin
    // of complex numbers re re, im im, re im, im re
    a = part(old_i, complex_i && issued_q[0], dbl_i);
    b = part(operand_i, complex_i && (issued_q == 3'd1 || issued_q == 3'd2), dbl_i);
    if (second_q) begin
      a = issued_q[0] ? part_q[2] : part_q[0];
      b = issued_q[0] ? part_q[3] : part_q[1];
    end
    if (many_valid_i) begin
      a = many_old_i;
      b = many_operand_i;
    end
  end
  nic_float u_float (
    .clk_i, .rst_ni, .valid_i(valid), .mul_i(mul), .sub_i(sub), .dbl_i, .a_i(a), .b_i(b), .valid_o(out_valid), .r_o(out)
  );
  assign done_o = state_q == Done;
  assign new_o  = r_q;
  assign many_valid_o = out_valid && state_q == Idle;
  assign many_new_o   = out;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      issued_q <= '0;
      got_q    <= '0;
      second_q <= 1'b0;
    end else begin
      unique case (state_q)
        Idle: begin
          issued_q <= '0;
          got_q    <= '0;
          second_q <= 1'b0;
          if (start_i) state_q <= (is_sum || is_prod) ? Issue : Done;
        end
        Issue: begin
          issued_q <= issued_q + 3'd1;
          if (issued_q == count - 3'd1) state_q <= Wait;
        end
        Wait: if (out_valid) begin
          got_q <= got_q + 3'd1;
          if (got_q == count - 3'd1) begin
            issued_q <= '0;
            got_q    <= '0;
            second_q <= 1'b1;
            state_q  <= (complex_i && is_prod && !second_q) ? Issue : Done;
          end
        end
        default: state_q <= Idle;   // Done
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) r_q <= swaps ? operand_i : old_i;
    if (out_valid) begin
      part_q[got_q[1:0]] <= out;
      if (!got_q[0]) r_q[63:0] <= out;
      else if (dbl_i) r_q[127:64] <= out;
      else r_q[63:32] <= out[31:0];
    end
  end
endmodule
