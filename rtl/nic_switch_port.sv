// One port of a switch: what comes waits by lane until the crossbars take it, what they give leaves. Lanes are as in
// nic_link_tx: 4 * virtual channel + virtual network.
module nic_switch_port import nic_pkg::*; #(
  parameter int unsigned Depth = 256,
  parameter int unsigned Credits = 256,
  parameter int unsigned Lanes = 8,
  localparam int unsigned Lb = $clog2(Lanes)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          rx_valid_i,
  input  logic          rx_first_i,
  input  logic [Lb-1:0] rx_lane_i,
  input  logic [31:0]   rx_half_i,
  input  logic [255:0]  rx_flit_i,
  output logic [Lanes-1:0] rx_credit_o,
  output logic          tx_valid_o,
  output logic          tx_first_o,
  output logic [Lb-1:0] tx_lane_o,
  output logic [31:0]   tx_half_o,
  output logic [255:0]  tx_flit_o,
  input  logic [Lanes-1:0] tx_credit_i,
  // heads of the queues, by lane
  output logic [Lanes-1:0] head_valid_o,
  input  logic [Lanes-1:0] head_pop_i,
  output logic [Lanes*PktBits-1:0] head_o,
  output logic [Lanes*PeerBits-1:0] head_dst_o,
  output logic [Lanes-1:0] head_eop_o,
  // what is to leave
  input  logic [Lanes-1:0] out_valid_i,
  output logic [Lanes-1:0] out_ready_o,
  output logic [Lb-1:0] out_pick_o,   // the lane that is next, if any
  input  pkt_t          out_i,        // its packet
  output logic          bad_o,
  output logic          idle_o
);
  pkt_t unused_wire, unused_head;
  pkt_hdr_t unused_hdr;
  logic [511:0] unused_data;
  logic [Lanes-1:0] crc, drop, unused_pkt, unused_stall, unused_sent, unused_sop;
  logic unused_got, error, tx_idle;
  nic_link_rx #(.Depth(Depth), .Lanes(Lanes)) u_rx (
    .clk_i, .rst_ni, .valid_i(rx_valid_i), .first_i(rx_first_i), .lane_i(rx_lane_i), .half_i(rx_half_i),
    .flit_i(rx_flit_i), .credit_o(rx_credit_o), .valid_o(head_valid_o), .ready_i(head_pop_i), .head_o,
    .got_o(unused_got), .got_hdr_o(unused_hdr), .got_data_o(unused_data), .pkt_o(unused_pkt), .crc_err_o(crc), .drop_o(drop)
  );
  always_comb begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      unused_head = head_o[PktBits * l +: PktBits];
      head_dst_o[PeerBits * l +: PeerBits] = unused_head.hdr.dst;
      head_eop_o[l] = unused_head.hdr.eop;
    end
  end
  nic_link_tx #(.Credits(Credits), .Lanes(Lanes)) u_tx (
    .clk_i, .rst_ni, .valid_i(out_valid_i), .ready_o(out_ready_o), .pick_o(out_pick_o), .pkt_i(out_i),
    .credit_i(tx_credit_i), .hold_i(1'b0), .valid_o(tx_valid_o), .first_o(tx_first_o), .lane_o(tx_lane_o), .half_o(tx_half_o), .flit_o(tx_flit_o),
    .pkt_o(unused_wire), .stall_o(unused_stall), .sent_o(unused_sent), .sent_sop_o(unused_sop),
    .credit_error_o(error), .idle_o(tx_idle)
  );
  assign bad_o  = crc != '0 || drop != '0 || error;
  assign idle_o = head_valid_o == '0 && tx_idle;
  logic unused;
  assign unused = ^{unused_got, unused_hdr, unused_data, unused_pkt, unused_wire, unused_stall, unused_sent, unused_sop};
endmodule
