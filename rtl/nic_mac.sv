// The NIC's link behind an Ethernet MAC: packets and credits of nic_top, which has the host's clock, as frames on AXI
// streams of 32 bytes, each with the clock that the MAC has for that direction. Times are those of the beats on the
// streams; what the MAC takes from there to the wire is its own. Both ends must be reset before the first frame.
module nic_mac import nic_pkg::*; #(
  parameter int unsigned LinkDepth = 256   // packets buffered per virtual network, at either end
) (
  input  logic         clk_i,              // the host's
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  input  logic         tx_valid_i,
  input  logic         tx_first_i,
  input  logic [31:0]  tx_half_i,
  input  logic [255:0] tx_flit_i,
  output logic         tx_hold_o,
  output logic [3:0]   tx_credit_o,
  output logic         tx_got_o,
  output pkt_t         tx_got_pkt_o,
  output logic [63:0]  tx_got_first_o,
  output logic [63:0]  tx_got_last_o,
  output logic         rx_valid_o,
  output logic         rx_first_o,
  output logic [1:0]   rx_vn_o,
  output logic [31:0]  rx_half_o,
  output logic [255:0] rx_flit_o,
  output logic [63:0]  rx_time_o,
  input  logic [3:0]   rx_credit_i,
  // to the MAC
  input  logic [47:0]  mac_to_i,           // Ethernet addresses; they stay
  input  logic [47:0]  mac_from_i,
  input  logic         mac_tx_clk_i,
  input  logic         mac_tx_rst_ni,
  output logic [255:0] m_axis_tdata,
  output logic [31:0]  m_axis_tkeep,
  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic         m_axis_tlast,
  output logic         m_axis_tuser,
  // from the MAC
  input  logic         mac_rx_clk_i,
  input  logic         mac_rx_rst_ni,
  input  logic [255:0] s_axis_tdata,
  input  logic [31:0]  s_axis_tkeep,
  input  logic         s_axis_tvalid,
  input  logic         s_axis_tlast,
  input  logic         s_axis_tuser
);
  logic [3:0] free_here, lost_here, free_there, lost_there;
  nic_mac_tx u_tx (
    .clk_i, .rst_ni, .time_i, .valid_i(tx_valid_i), .first_i(tx_first_i), .half_i(tx_half_i), .flit_i(tx_flit_i),
    .hold_o(tx_hold_o), .got_o(tx_got_o), .got_pkt_o(tx_got_pkt_o), .got_first_o(tx_got_first_o),
    .got_last_o(tx_got_last_o), .mac_clk_i(mac_tx_clk_i), .mac_rst_ni(mac_tx_rst_ni), .to_i(mac_to_i),
    .from_i(mac_from_i), .free_i(free_here), .lost_i(lost_here), .tdata_o(m_axis_tdata), .tvalid_o(m_axis_tvalid),
    .tready_i(m_axis_tready), .tlast_o(m_axis_tlast)
  );
  assign m_axis_tkeep = '1;
  assign m_axis_tuser = 1'b0;
  nic_mac_rx u_rx (
    .clk_i, .rst_ni, .time_i, .valid_o(rx_valid_o), .first_o(rx_first_o), .vn_o(rx_vn_o), .half_o(rx_half_o),
    .flit_o(rx_flit_o), .time_o(rx_time_o), .mac_clk_i(mac_rx_clk_i), .mac_rst_ni(mac_rx_rst_ni),
    .tdata_i(s_axis_tdata), .tkeep_i(s_axis_tkeep), .tvalid_i(s_axis_tvalid), .tlast_i(s_axis_tlast),
    .tuser_i(s_axis_tuser), .free_o(free_there), .lost_o(lost_there)
  );
  nic_cross_pulses #(.Max(LinkDepth)) u_free (
    .from_clk_i(clk_i), .from_rst_ni(rst_ni), .pulse_i(rx_credit_i), .to_clk_i(mac_tx_clk_i), .to_rst_ni(mac_tx_rst_ni),
    .pulse_o(free_here)
  );
  nic_cross_pulses #(.Max(LinkDepth)) u_lost (
    .from_clk_i(mac_rx_clk_i), .from_rst_ni(mac_rx_rst_ni), .pulse_i(lost_there), .to_clk_i(mac_tx_clk_i),
    .to_rst_ni(mac_tx_rst_ni), .pulse_o(lost_here)
  );
  nic_cross_pulses #(.Max(LinkDepth)) u_credit (
    .from_clk_i(mac_rx_clk_i), .from_rst_ni(mac_rx_rst_ni), .pulse_i(free_there), .to_clk_i(clk_i), .to_rst_ni(rst_ni),
    .pulse_o(tx_credit_o)
  );
endmodule
