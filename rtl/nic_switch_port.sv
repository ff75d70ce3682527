// One port of a switch: what comes waits by virtual network until the crossbars take it, what they give leaves.
module nic_switch_port import nic_pkg::*; #(
  parameter int unsigned Depth = 256,
  parameter int unsigned Credits = 256
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          rx_valid_i,
  input  logic          rx_first_i,
  input  logic [1:0]    rx_vn_i,
  input  logic [31:0]   rx_half_i,
  input  logic [255:0]  rx_flit_i,
  output logic [3:0]    rx_credit_o,
  output logic          tx_valid_o,
  output logic          tx_first_o,
  output logic [1:0]    tx_vn_o,
  output logic [31:0]   tx_half_o,
  output logic [255:0]  tx_flit_o,
  input  logic [3:0]    tx_credit_i,
  // heads of the queues, by virtual network
  output logic [3:0]    head_valid_o,
  input  logic [3:0]    head_pop_i,
  output logic [4*PktBits-1:0]  head_o,
  output logic [4*PeerBits-1:0] head_dst_o,
  output logic [3:0]    head_eop_o,
  // what is to leave
  input  logic [3:0]    out_valid_i,
  output logic [3:0]    out_ready_o,
  input  logic [4*PktBits-1:0] out_i,
  output logic          bad_o,
  output logic          idle_o
);
  pkt_t head0, head1, head2, head3, unused_wire;
  pkt_hdr_t unused_hdr;
  logic [511:0] unused_data;
  logic [3:0] crc, drop, unused_pkt, unused_stall, unused_sent, unused_sop;
  logic unused_got, error, tx_idle;
  nic_link_rx #(.Depth(Depth)) u_rx (
    .clk_i, .rst_ni, .valid_i(rx_valid_i), .first_i(rx_first_i), .vn_i(rx_vn_i), .half_i(rx_half_i),
    .flit_i(rx_flit_i), .credit_o(rx_credit_o), .valid_o(head_valid_o), .ready_i(head_pop_i), .pkt0_o(head0),
    .pkt1_o(head1), .pkt2_o(head2), .pkt3_o(head3), .got_o(unused_got), .got_hdr_o(unused_hdr),
    .got_data_o(unused_data), .pkt_o(unused_pkt), .crc_err_o(crc), .drop_o(drop)
  );
  assign head_o     = {head3, head2, head1, head0};
  assign head_dst_o = {head3.hdr.dst, head2.hdr.dst, head1.hdr.dst, head0.hdr.dst};
  assign head_eop_o = {head3.hdr.eop, head2.hdr.eop, head1.hdr.eop, head0.hdr.eop};
  nic_link_tx #(.Credits(Credits)) u_tx (
    .clk_i, .rst_ni, .valid_i(out_valid_i), .ready_o(out_ready_o), .pkt0_i(out_i[PktBits-1:0]),
    .pkt1_i(out_i[PktBits +: PktBits]), .pkt2_i(out_i[2 * PktBits +: PktBits]),
    .pkt3_i(out_i[3 * PktBits +: PktBits]), .credit_i(tx_credit_i), .valid_o(tx_valid_o), .first_o(tx_first_o),
    .vn_o(tx_vn_o), .half_o(tx_half_o), .flit_o(tx_flit_o), .pkt_o(unused_wire), .stall_o(unused_stall),
    .sent_o(unused_sent), .sent_sop_o(unused_sop), .credit_error_o(error), .idle_o(tx_idle)
  );
  assign bad_o  = crc != '0 || drop != '0 || error;
  assign idle_o = head_valid_o == '0 && tx_idle;
  logic unused;
  assign unused = ^{unused_got, unused_hdr, unused_data, unused_pkt, unused_wire, unused_stall, unused_sent, unused_sop};
endmodule
