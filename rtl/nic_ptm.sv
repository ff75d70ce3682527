// Asks the other end of the host's bus for its time, as PCIe's Precision Time Measurement does: the clock here
// is taken when the request leaves and when the answer comes, and the answer says when the request came
// there and how long it stayed. So the two clocks are known to each other to the time on the wire, whatever
// software and bridges take. Registers at 0x700: REGISTERS.md.
module nic_ptm (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] time_i,
  input  logic        reg_we_i,
  input  logic [7:0]  reg_addr_i,
  output logic [31:0] reg_rdata_o,
  // to the other end: a pulse; its answer: when the pulse came there and how long it stayed, in ns
  output logic        req_o,
  input  logic        rsp_i,
  input  logic [63:0] rsp_came_i,
  input  logic [31:0] rsp_stayed_i
);
  logic [63:0] sent_q, got_q, came_q;
  logic [31:0] stayed_q;
  logic req_q, wait_q, valid_q, start;
  assign start = reg_we_i && reg_addr_i == 8'h00;
  assign req_o = req_q;
  always_comb begin
    unique case (reg_addr_i)
      8'h00: reg_rdata_o = {30'd0, wait_q, valid_q};
      8'h04: reg_rdata_o = sent_q[31:0];
      8'h08: reg_rdata_o = sent_q[63:32];
      8'h0C: reg_rdata_o = got_q[31:0];
      8'h10: reg_rdata_o = got_q[63:32];
      8'h14: reg_rdata_o = came_q[31:0];
      8'h18: reg_rdata_o = came_q[63:32];
      8'h1C: reg_rdata_o = stayed_q;
      default: reg_rdata_o = '0;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      req_q    <= 1'b0;
      wait_q   <= 1'b0;
      valid_q  <= 1'b0;
      sent_q   <= '0;
      got_q    <= '0;
      came_q   <= '0;
      stayed_q <= '0;
    end else begin
      req_q <= start && !wait_q;   // one at a time: a start meanwhile is no start
      if (start && !wait_q) begin
        wait_q  <= 1'b1;
        valid_q <= 1'b0;
      end
      if (req_q) sent_q <= time_i;
      if (rsp_i && wait_q) begin
        wait_q   <= 1'b0;
        valid_q  <= 1'b1;
        got_q    <= time_i;
        came_q   <= rsp_came_i;
        stayed_q <= rsp_stayed_i;
      end
    end
  end
endmodule
