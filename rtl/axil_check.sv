// The rules of AXI4-Lite that the NIC keeps as a slave and its host as a master, as assertions; bound like
// axi4_check. In the proof (tests/rtl/formal/axi.sv) the rules of the master are assumptions.
module axil_check (
  input logic         clk_i,
  input logic         rst_ni,
  input logic [16:0]  s_axil_awaddr,
  input logic         s_axil_awvalid,
  input logic         s_axil_awready,
  input logic [31:0]  s_axil_wdata,
  input logic [3:0]   s_axil_wstrb,
  input logic         s_axil_wvalid,
  input logic         s_axil_wready,
  input logic [1:0]   s_axil_bresp,
  input logic         s_axil_bvalid,
  input logic         s_axil_bready,
  input logic [16:0]  s_axil_araddr,
  input logic         s_axil_arvalid,
  input logic         s_axil_arready,
  input logic [31:0]  s_axil_rdata,
  input logic [1:0]   s_axil_rresp,
  input logic         s_axil_rvalid,
  input logic         s_axil_rready
`ifdef FORMAL
  , output logic [7:0]  f_state_o,    // writes' addresses, their data, reads; answer, data wait
  output logic [1:0]  f_b_was_o,
  output logic [33:0] f_r_was_o
`endif
);
`ifdef FORMAL
  assign f_state_o = {addr_q, data_q, read_q, b_q, r_q};
  assign f_b_was_o = b_was_q;
  assign f_r_was_o = r_was_q;
`endif
`ifdef FORMAL
  `define AXIL_MASTER assume
  `define AXI_RULE(what, text) assert what;
`else
  `define AXIL_MASTER assert
  `define AXI_RULE(what, text) assert what else $error(text);
`endif
  logic aw_q, w_q, ar_q, b_q, r_q;
  logic [16:0] aw_was_q, ar_was_q;
  logic [35:0] w_was_q;
  logic [33:0] r_was_q;
  logic [1:0] b_was_q;
  logic [1:0] addr_q, data_q, read_q;   // taken and not answered
  initial {aw_q, w_q, ar_q, b_q, r_q, addr_q, data_q, read_q} = '0;
  /* verilator lint_off SYNCASYNCNET */  // the NIC resets asynchronously
  always @(posedge clk_i) begin
    if (!rst_ni) begin
      {aw_q, w_q, ar_q, b_q, r_q, addr_q, data_q, read_q} <= '0;
    end else begin
      aw_q <= s_axil_awvalid && !s_axil_awready;
      w_q  <= s_axil_wvalid && !s_axil_wready;
      ar_q <= s_axil_arvalid && !s_axil_arready;
      b_q  <= s_axil_bvalid && !s_axil_bready;
      r_q  <= s_axil_rvalid && !s_axil_rready;
      aw_was_q <= s_axil_awaddr;
      ar_was_q <= s_axil_araddr;
      w_was_q  <= {s_axil_wdata, s_axil_wstrb};
      r_was_q  <= {s_axil_rdata, s_axil_rresp};
      b_was_q  <= s_axil_bresp;
      // what is offered stays until it is taken
      if (aw_q) `AXIL_MASTER (s_axil_awvalid && aw_was_q == s_axil_awaddr);
      if (w_q) `AXIL_MASTER (s_axil_wvalid && w_was_q == {s_axil_wdata, s_axil_wstrb});
      if (ar_q) `AXIL_MASTER (s_axil_arvalid && ar_was_q == s_axil_araddr);
      if (b_q) `AXI_RULE((s_axil_bvalid && b_was_q == s_axil_bresp), "AXI4-Lite: an answer changed")
      if (r_q) `AXI_RULE((s_axil_rvalid && r_was_q == {s_axil_rdata, s_axil_rresp}), "AXI4-Lite: data changed before it was taken")
      // an answer only to what was taken
      addr_q <= addr_q + 2'(s_axil_awvalid && s_axil_awready) - 2'(s_axil_bvalid && s_axil_bready);
      data_q <= data_q + 2'(s_axil_wvalid && s_axil_wready) - 2'(s_axil_bvalid && s_axil_bready);
      read_q <= read_q + 2'(s_axil_arvalid && s_axil_arready) - 2'(s_axil_rvalid && s_axil_rready);
      if (s_axil_bvalid) `AXI_RULE((addr_q != '0 && data_q != '0), "AXI4-Lite: answer without a write")
      if (s_axil_rvalid) `AXI_RULE((read_q != '0), "AXI4-Lite: data without a read")
      `AXI_RULE((addr_q < 2'd2 && data_q < 2'd2 && read_q < 2'd2), "AXI4-Lite: more than one at a time")
      if (s_axil_bvalid) `AXI_RULE((s_axil_bresp == 2'd0 || s_axil_bresp == 2'd2), "AXI4-Lite: BRESP")
      if (s_axil_rvalid) `AXI_RULE((s_axil_rresp == 2'd0 || s_axil_rresp == 2'd2), "AXI4-Lite: RRESP")
    end
  end
  /* verilator lint_on SYNCASYNCNET */
endmodule
