// Shared AXI4 read channel: round-robin over N clients, one address each cycle; the AXI identifier is
// the client, so data may come back in any order between clients.
module nic_dma_rd #(
  parameter int unsigned N = 5
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [N-1:0]      req_valid_i,
  output logic [N-1:0]      req_ready_o,
  input  logic [N*64-1:0]   req_addr_i,
  input  logic [N*5-1:0]    req_beats_i,
  output logic [N-1:0]      beat_valid_o,
  output logic [255:0]      beat_o,
  output logic              beat_err_o,
  output logic [3:0]        m_axi_arid,
  output logic [63:0]       m_axi_araddr,
  output logic [7:0]        m_axi_arlen,
  output logic              m_axi_arvalid,
  input  logic              m_axi_arready,
  input  logic [3:0]        m_axi_rid,
  input  logic [255:0]      m_axi_rdata,
  input  logic [1:0]        m_axi_rresp,
  input  logic              m_axi_rvalid,
  output logic              m_axi_rready
);
  logic [N-1:0] grant;
  logic [$clog2(N)-1:0] index;
  nic_arbiter #(.N(N)) u_arb (
    .clk_i, .rst_ni, .req_i(req_valid_i), .ack_i(m_axi_arready), .grant_o(grant),
    .valid_o(m_axi_arvalid), .index_o(index)
  );
  logic [4:0] beats;
  assign beats        = req_beats_i[index * 5 +: 5];
  assign req_ready_o  = m_axi_arready ? grant : '0;
  assign m_axi_arid   = 4'(index);
  assign m_axi_araddr = req_addr_i[index * 64 +: 64];
  assign m_axi_arlen  = {3'd0, beats} - 8'd1;
  assign m_axi_rready = 1'b1;   // room was kept before asking
  assign beat_o       = m_axi_rresp[1] ? '0 : m_axi_rdata;
  assign beat_err_o   = m_axi_rresp[1];
  always_comb begin
    for (int unsigned i = 0; i < N; i++) beat_valid_o[i] = m_axi_rvalid && m_axi_rid == 4'(i);
  end
  logic unused;
  assign unused = m_axi_rresp[0];
endmodule
