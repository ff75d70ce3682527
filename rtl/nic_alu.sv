// Integer operation of an atomic: old value and operand of 1, 2, 4 or 8 bytes, signed or not. Codes as
// in REGISTERS.md; conditional swaps compare with a second operand.
module nic_alu (
  input  logic [4:0]  op_i,
  input  logic [2:0]  dtype_i,    // {signed, log2 of the size}
  input  logic [63:0] old_i,
  input  logic [63:0] operand_i,
  input  logic [63:0] compare_i,
  output logic [63:0] new_o
);
  logic [63:0] mask, a, b, c;   // a, b, c: extended by sign or by zeros
  logic [63:0] r;
  logic less, cless, equal;

  function automatic logic [63:0] extend(input logic [63:0] v, input logic [2:0] dtype);
    unique case (dtype)
      3'd0: extend = {56'd0, v[7:0]};
      3'd1: extend = {48'd0, v[15:0]};
      3'd2: extend = {32'd0, v[31:0]};
      3'd4: extend = {{56{v[7]}}, v[7:0]};
      3'd5: extend = {{48{v[15]}}, v[15:0]};
      3'd6: extend = {{32{v[31]}}, v[31:0]};
      default: extend = v;
    endcase
  endfunction

  assign mask  = {64{1'b1}} >> (7'd64 - (7'd8 << dtype_i[1:0]));
  assign a     = extend(old_i, dtype_i);
  assign b     = extend(operand_i, dtype_i);
  assign c     = extend(compare_i, dtype_i);
  assign less  = dtype_i[2] ? $signed(a) < $signed(b) : a < b;
  assign cless = dtype_i[2] ? $signed(c) < $signed(a) : c < a;
  assign equal = c == a;
  assign new_o = r & mask;

  always_comb begin
    unique case (op_i)
      5'd0: r = less ? a : b;                 // minimum
      5'd1: r = less ? b : a;                 // maximum
      5'd2: r = a + b;
      5'd3: r = a * b;
      5'd4: r = {63'd0, a != '0 || b != '0};  // logical or, and
      5'd5: r = {63'd0, a != '0 && b != '0};
      5'd6: r = a | b;
      5'd7: r = a & b;
      5'd8: r = {63'd0, (a != '0) != (b != '0)};
      5'd9: r = a ^ b;
      5'd10: r = b;                           // swap; the next ones only if the comparison holds:
      5'd11: r = equal ? b : a;               // compare operand equal to the old value,
      5'd12: r = equal ? a : b;               // not equal,
      5'd13: r = (cless || equal) ? b : a;    // less or equal,
      5'd14: r = cless ? b : a;               // less,
      5'd15: r = cless ? a : b;               // greater or equal,
      5'd16: r = (cless || equal) ? a : b;    // greater
      default: r = (b & c) | (a & ~c);        // swap of the bits in the compare operand
    endcase
  end
endmodule
