// Numbers a clock's cycles in Gray code, for other clocks: one bit of a register changes with each, so that two flip-flops
// elsewhere show one of the two numbers around their edge, never another.
module nic_cycles #(
  parameter int unsigned Bits = 6
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  output logic [Bits-1:0] number_o,
  output logic [Bits-1:0] code_o
);
  logic [Bits-1:0] number_q, code_q, next;
  assign next     = number_q + 1'b1;
  assign number_o = number_q;
  assign code_o   = code_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      number_q <= '0;
      code_q   <= '0;
    end else begin
      number_q <= next;
      code_q   <= next ^ (next >> 1);
    end
  end
`ifdef FORMAL
  logic f_started = 1'b0;
  logic [Bits-1:0] f_was, f_new;
  assign f_new = code_q ^ f_was;
  always @(posedge clk_i) begin
    f_started <= 1'b1;
    f_was     <= code_q;
    if (!f_started) assume (!rst_ni);
    else begin
      assume (rst_ni);
      assert ((f_new & (f_new - 1'b1)) == '0 && code_q == (number_q ^ (number_q >> 1)));
    end
  end
`endif
endmodule
