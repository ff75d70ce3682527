// Shared AXI4 write channel: round-robin over N clients by whole bursts. A client offers a burst only
// when all its beats are there, so data flows without a gap. Responses go back by identifier.
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
  output logic [N-1:0]      req_done_o,
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
);
  logic [N-1:0] grant;
  logic [$clog2(N)-1:0] index;
  logic valid, addr_done_q, done;
  logic [4:0] left_q, beats;
  nic_arbiter #(.N(N)) u_arb (
    .clk_i, .rst_ni, .req_i(req_valid_i), .ack_i(done), .grant_o(grant), .valid_o(valid),
    .index_o(index)
  );
  assign beats         = req_beats_i[index * 5 +: 5];
  assign m_axi_awvalid = valid && !addr_done_q;
  assign m_axi_awid    = 4'(index);
  assign m_axi_awaddr  = req_addr_i[index * 64 +: 64];
  assign m_axi_awlen   = {3'd0, beats} - 8'd1;
  assign m_axi_wvalid  = valid && addr_done_q;
  assign m_axi_wdata   = beat_i[index * 256 +: 256];
  assign m_axi_wstrb   = strb_i[index * 32 +: 32];
  assign m_axi_wlast   = left_q == 5'd1;
  assign m_axi_bready  = 1'b1;
  assign done          = m_axi_wvalid && m_axi_wready && m_axi_wlast;
  assign beat_pop_o    = (m_axi_wvalid && m_axi_wready) ? grant : '0;
  assign req_done_o    = done ? grant : '0;
  assign resp_err_o    = m_axi_bresp[1];
  always_comb begin
    for (int unsigned i = 0; i < N; i++) resp_o[i] = m_axi_bvalid && m_axi_bid == 4'(i);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addr_done_q <= 1'b0;
      left_q      <= '0;
    end else if (m_axi_awvalid && m_axi_awready) begin
      addr_done_q <= 1'b1;
      left_q      <= beats;
    end else if (m_axi_wvalid && m_axi_wready) begin
      left_q <= left_q - 5'd1;
      if (m_axi_wlast) addr_done_q <= 1'b0;
    end
  end
  logic unused;
  assign unused = m_axi_bresp[0];
endmodule
