// Shared AXI4 write channel: round-robin over N clients by whole bursts. A client offers a burst only
// when all its beats are there, so data flows without a gap. Address and data are offered at the same time
// and wait for nobody but their own ready. Responses go back by identifier.
module nic_dma_wr #(
  parameter int unsigned N = 7
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [N-1:0]      req_valid_i,
  input  logic [N*64-1:0]   req_addr_i,
  input  logic [N*5-1:0]    req_beats_i,
  input  logic [N*256-1:0]  beat_i,
  input  logic [N*32-1:0]   strb_i,
  output logic [N-1:0]      beat_pop_o,
  output logic [N-1:0]      req_done_o,   // address and last beat are taken
  output logic [N-1:0]      resp_o,
  output logic              resp_err_o,
  output logic [3:0]        m_axi_awid,
  output logic [63:0]       m_axi_awaddr,
  output logic [7:0]        m_axi_awlen,
  output logic              m_axi_awvalid,
  input  logic              m_axi_awready,
  output logic [255:0]      m_axi_wdata,
  output logic [31:0]       m_axi_wstrb,
  output logic              m_axi_wlast,
  output logic              m_axi_wvalid,
  input  logic              m_axi_wready,
  input  logic [3:0]        m_axi_bid,
  input  logic [1:0]        m_axi_bresp,
  input  logic              m_axi_bvalid,
  output logic              m_axi_bready
`ifdef FORMAL
  , output logic [6:0]      f_state_o,
  output logic [N-1:0]      f_hold_o
`endif
);
  logic [N-1:0] grant;
  logic [$clog2(N)-1:0] index;
  logic valid, addr_done_q, data_done_q, addr_go, beat_go, done;
  logic [4:0] sent_q, beats;   // sent_q: beats of this burst that are taken
  nic_arbiter #(.N(N)) u_arb (
    .clk_i, .rst_ni, .req_i(req_valid_i), .ack_i(done), .grant_o(grant), .valid_o(valid),
    .index_o(index)
`ifdef FORMAL
    , .f_hold_o
`endif
  );
`ifdef FORMAL
  assign f_state_o = {addr_done_q, data_done_q, sent_q};
`endif
  assign beats         = req_beats_i[index * 5 +: 5];
  assign m_axi_awvalid = valid && !addr_done_q;
  assign m_axi_awid    = 4'(index);
  assign m_axi_awaddr  = req_addr_i[index * 64 +: 64];
  assign m_axi_awlen   = {3'd0, beats} - 8'd1;
  assign m_axi_wvalid  = valid && !data_done_q;
  assign m_axi_wdata   = beat_i[index * 256 +: 256];
  assign m_axi_wstrb   = strb_i[index * 32 +: 32];
  assign m_axi_wlast   = sent_q + 5'd1 == beats;
  assign m_axi_bready  = 1'b1;
  assign addr_go       = m_axi_awvalid && m_axi_awready;
  assign beat_go       = m_axi_wvalid && m_axi_wready;
  assign done          = (addr_done_q || addr_go) && (data_done_q || (beat_go && m_axi_wlast));
  assign beat_pop_o    = beat_go ? grant : '0;
  assign req_done_o    = done ? grant : '0;
  assign resp_err_o    = m_axi_bresp[1];
  always_comb begin
    for (int unsigned i = 0; i < N; i++) resp_o[i] = m_axi_bvalid && m_axi_bid == 4'(i);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addr_done_q <= 1'b0;
      data_done_q <= 1'b0;
      sent_q      <= '0;
    end else if (done) begin
      addr_done_q <= 1'b0;
      data_done_q <= 1'b0;
      sent_q      <= '0;
    end else begin
      if (addr_go) addr_done_q <= 1'b1;
      if (beat_go) sent_q <= sent_q + 5'd1;
      if (beat_go && m_axi_wlast) data_done_q <= 1'b1;
    end
  end
  logic unused;
  assign unused = m_axi_bresp[0];
endmodule
