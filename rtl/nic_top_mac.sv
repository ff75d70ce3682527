// nic_top behind an Ethernet MAC: the host's clock, and for each direction of the link the one of its AXI stream
// (nic_mac). One reset for all three, which each leaves at its own edge.
module nic_top_mac import nic_pkg::*; (
  input  logic         clk_i,
  input  logic         rst_ni,          // of all clocks; may end at any time
  output logic         irq_o,
  output logic         idle_o,
  // registers
  input  logic [16:0]  s_axil_awaddr,
  input  logic [2:0]   s_axil_awprot,
  input  logic         s_axil_awvalid,
  output logic         s_axil_awready,
  input  logic [31:0]  s_axil_wdata,
  input  logic [3:0]   s_axil_wstrb,
  input  logic         s_axil_wvalid,
  output logic         s_axil_wready,
  output logic [1:0]   s_axil_bresp,
  output logic         s_axil_bvalid,
  input  logic         s_axil_bready,
  input  logic [16:0]  s_axil_araddr,
  input  logic [2:0]   s_axil_arprot,
  input  logic         s_axil_arvalid,
  output logic         s_axil_arready,
  output logic [31:0]  s_axil_rdata,
  output logic [1:0]   s_axil_rresp,
  output logic         s_axil_rvalid,
  input  logic         s_axil_rready,
  // host memory
  output logic [3:0]   m_axi_arid,
  output logic [63:0]  m_axi_araddr,
  output logic [7:0]   m_axi_arlen,
  output logic [2:0]   m_axi_arsize,
  output logic [1:0]   m_axi_arburst,
  output logic         m_axi_arlock,
  output logic [3:0]   m_axi_arcache,
  output logic [2:0]   m_axi_arprot,
  output logic [3:0]   m_axi_arqos,
  output logic         m_axi_arvalid,
  input  logic         m_axi_arready,
  input  logic [3:0]   m_axi_rid,
  input  logic [255:0] m_axi_rdata,
  input  logic [1:0]   m_axi_rresp,
  input  logic         m_axi_rlast,
  input  logic         m_axi_rvalid,
  output logic         m_axi_rready,
  output logic [3:0]   m_axi_awid,
  output logic [63:0]  m_axi_awaddr,
  output logic [7:0]   m_axi_awlen,
  output logic [2:0]   m_axi_awsize,
  output logic [1:0]   m_axi_awburst,
  output logic         m_axi_awlock,
  output logic [3:0]   m_axi_awcache,
  output logic [2:0]   m_axi_awprot,
  output logic [3:0]   m_axi_awqos,
  output logic         m_axi_awvalid,
  input  logic         m_axi_awready,
  output logic [255:0] m_axi_wdata,
  output logic [31:0]  m_axi_wstrb,
  output logic         m_axi_wlast,
  output logic         m_axi_wvalid,
  input  logic         m_axi_wready,
  input  logic [3:0]   m_axi_bid,
  input  logic [1:0]   m_axi_bresp,
  input  logic         m_axi_bvalid,
  output logic         m_axi_bready,
  // time of the other end of the host's bus
  output logic         ptm_req_o,
  input  logic         ptm_rsp_i,
  input  logic [63:0]  ptm_came_i,
  input  logic [31:0]  ptm_stayed_i,
  // Ethernet addresses; they stay
  input  logic [47:0]  mac_to_i,
  input  logic [47:0]  mac_from_i,
  // to the MAC
  input  logic         mac_tx_clk_i,
  output logic [255:0] m_axis_tdata,
  output logic [31:0]  m_axis_tkeep,
  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic         m_axis_tlast,
  output logic         m_axis_tuser,
  // from the MAC
  input  logic         mac_rx_clk_i,
  input  logic [255:0] s_axis_tdata,
  input  logic [31:0]  s_axis_tkeep,
  input  logic         s_axis_tvalid,
  input  logic         s_axis_tlast,
  input  logic         s_axis_tuser
);
  logic up, tx_up, rx_up;
  nic_reset_sync u_up (.clk_i, .rst_ni, .rst_no(up));
  nic_reset_sync u_tx_up (.clk_i(mac_tx_clk_i), .rst_ni, .rst_no(tx_up));
  nic_reset_sync u_rx_up (.clk_i(mac_rx_clk_i), .rst_ni, .rst_no(rx_up));

  logic tx_valid, tx_first, tx_hold, tx_got, rx_valid, rx_first;
  logic [3:0] tx_credit, rx_credit;
  logic [1:0] unused_vn, rx_vn;
  logic [31:0] tx_half, rx_half;
  logic [255:0] tx_flit, rx_flit;
  logic [63:0] now, rx_time, tx_got_first, tx_got_last;
  logic [PktBits-1:0] tx_got_pkt;
  nic_top u_nic (
    .rst_ni(up), .tx_valid_o(tx_valid), .tx_first_o(tx_first), .tx_vn_o(unused_vn), .tx_half_o(tx_half),
    .tx_flit_o(tx_flit), .tx_credit_i(tx_credit), .rx_valid_i(rx_valid), .rx_first_i(rx_first), .rx_vn_i(rx_vn),
    .rx_half_i(rx_half), .rx_flit_i(rx_flit), .rx_credit_o(rx_credit), .time_o(now), .tx_hold_i(tx_hold),
    .times_outside_i(1'b1), .rx_time_i(rx_time), .tx_got_i(tx_got), .tx_got_pkt_i(tx_got_pkt),
    .tx_got_first_i(tx_got_first), .tx_got_last_i(tx_got_last), .*   // registers, host memory and its time: as they are
  );
  nic_mac u_mac (
    .clk_i, .rst_ni(up), .time_i(now), .tx_valid_i(tx_valid), .tx_first_i(tx_first), .tx_half_i(tx_half),
    .tx_flit_i(tx_flit), .tx_hold_o(tx_hold), .tx_credit_o(tx_credit), .tx_got_o(tx_got), .tx_got_pkt_o(tx_got_pkt),
    .tx_got_first_o(tx_got_first), .tx_got_last_o(tx_got_last), .rx_valid_o(rx_valid), .rx_first_o(rx_first),
    .rx_vn_o(rx_vn), .rx_half_o(rx_half), .rx_flit_o(rx_flit), .rx_time_o(rx_time), .rx_credit_i(rx_credit),
    .mac_to_i, .mac_from_i, .mac_tx_clk_i, .mac_tx_rst_ni(tx_up), .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid,
    .m_axis_tready, .m_axis_tlast, .m_axis_tuser, .mac_rx_clk_i, .mac_rx_rst_ni(rx_up), .s_axis_tdata, .s_axis_tkeep,
    .s_axis_tvalid, .s_axis_tlast, .s_axis_tuser
  );
  logic unused;
  assign unused = ^unused_vn;
endmodule
