// nic_top_mac for tests, with the NIC outside of it: nic_top is its pins alone here (rtl.mk makes it from the real one), and
// what they show are inputs.
module mac import nic_pkg::*; (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         up_o,               // the NIC's reset has ended
  // what the NIC shows
  input  logic [63:0]  time_i,
  input  logic         tx_valid_i,
  input  logic         tx_first_i,
  input  logic [31:0]  tx_half_i,
  input  logic [255:0] tx_flit_i,
  input  logic [3:0]   rx_credit_i,
  // and sees
  output logic         times_outside_o,
  output logic         tx_hold_o,
  output logic [3:0]   tx_credit_o,
  output logic         tx_got_o,
  output logic [PktBits-1:0] tx_got_pkt_o,
  output logic [63:0]  tx_got_first_o,
  output logic [63:0]  tx_got_last_o,
  output logic         rx_valid_o,
  output logic         rx_first_o,
  output logic [1:0]   rx_vn_o,
  output logic [31:0]  rx_half_o,
  output logic [255:0] rx_flit_o,
  output logic [63:0]  rx_time_o,
  // MAC
  input  logic [47:0]  mac_to_i,
  input  logic [47:0]  mac_from_i,
  input  logic         mac_tx_clk_i,
  output logic [255:0] m_axis_tdata,
  output logic [31:0]  m_axis_tkeep,
  output logic         m_axis_tvalid,
  input  logic         m_axis_tready,
  output logic         m_axis_tlast,
  output logic         m_axis_tuser,
  input  logic         mac_rx_clk_i,
  input  logic [255:0] s_axis_tdata,
  input  logic [31:0]  s_axis_tkeep,
  input  logic         s_axis_tvalid,
  input  logic         s_axis_tlast,
  input  logic         s_axis_tuser
);
  nic_top_mac dut (
    .clk_i, .rst_ni, .mac_to_i, .mac_from_i, .mac_tx_clk_i, .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid,
    .m_axis_tready, .m_axis_tlast, .m_axis_tuser, .mac_rx_clk_i, .s_axis_tdata, .s_axis_tkeep, .s_axis_tvalid,
    .s_axis_tlast, .s_axis_tuser
  );
  assign dut.u_nic.time_o      = time_i;
  assign dut.u_nic.tx_valid_o  = tx_valid_i;
  assign dut.u_nic.tx_first_o  = tx_first_i;
  assign dut.u_nic.tx_half_o   = tx_half_i;
  assign dut.u_nic.tx_flit_o   = tx_flit_i;
  assign dut.u_nic.rx_credit_o = rx_credit_i;
  assign up_o            = dut.u_nic.rst_ni;
  assign times_outside_o = dut.u_nic.times_outside_i;
  assign tx_hold_o       = dut.u_nic.tx_hold_i;
  assign tx_credit_o     = dut.u_nic.tx_credit_i;
  assign tx_got_o        = dut.u_nic.tx_got_i;
  assign tx_got_pkt_o    = dut.u_nic.tx_got_pkt_i;
  assign tx_got_first_o  = dut.u_nic.tx_got_first_i;
  assign tx_got_last_o   = dut.u_nic.tx_got_last_i;
  assign rx_valid_o      = dut.u_nic.rx_valid_i;
  assign rx_first_o      = dut.u_nic.rx_first_i;
  assign rx_vn_o         = dut.u_nic.rx_vn_i;
  assign rx_half_o       = dut.u_nic.rx_half_i;
  assign rx_flit_o       = dut.u_nic.rx_flit_i;
  assign rx_time_o       = dut.u_nic.rx_time_i;
endmodule
