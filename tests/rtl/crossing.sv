// A link whose ends have clocks of their own: nic_link_tx, the crossing of flits, nic_link_rx; credits cross back.
module crossing import nic_pkg::*; #(
  parameter int unsigned Depth = 8    // packets per virtual network
) (
  input  logic         a_clk_i,
  input  logic         b_clk_i,
  input  logic         rst_ni,
  output logic         a_up_o,        // out of reset
  output logic         b_up_o,
  input  logic [3:0]   valid_i,       // of the first clock, with the next
  output logic [3:0]   ready_o,
  input  logic [31:0]  tag_i,
  input  logic [511:0] data_i,
  output logic [5:0]   room_o,
  output logic         error_o,       // a credit came too many
  output logic [3:0]   stall_o,
  output logic [3:0]   valid_o,       // of the second one, with the next
  input  logic [3:0]   ready_i,
  input  logic [1:0]   sel_i,
  output logic [31:0]  tag_o,
  output logic [511:0] data_o,
  output logic         lost_o
);
  localparam int unsigned Width = 291;
  pkt_t pkt, unused_pkt, head [4], shown;
  logic [3:0] a_credit, b_credit, unused_sent, unused_sop, unused_count, crc, drop;
  logic a_flit, a_first, b_flit, b_first, a_ready, unused_idle, unused_got, unused_more;
  logic [1:0] unused_pick;
  logic [1:0] a_vn, b_vn;
  logic [31:0] a_half, b_half;
  logic [255:0] a_data, b_data;
  logic [6:0] room;
  pkt_hdr_t unused_hdr;
  logic [511:0] unused_data;
  nic_reset_sync u_a_reset (.clk_i(a_clk_i), .rst_ni, .rst_no(a_up_o));
  nic_reset_sync u_b_reset (.clk_i(b_clk_i), .rst_ni, .rst_no(b_up_o));
  assign pkt    = {32'd0, tag_i, data_i};
  assign room_o = room[5:0];
  nic_link_tx #(.Credits(Depth)) u_tx (
    .clk_i(a_clk_i), .rst_ni(a_up_o), .valid_i, .ready_o, .pick_o(unused_pick), .pkt_i(pkt),
    .credit_i(a_credit), .hold_i(1'b0), .valid_o(a_flit), .first_o(a_first), .lane_o(a_vn), .half_o(a_half), .flit_o(a_data),
    .pkt_o(unused_pkt), .stall_o, .sent_o(unused_sent), .sent_sop_o(unused_sop), .credit_error_o(error_o),
    .idle_o(unused_idle)
  );
  // as many flits as there are credits for: it is never full
  nic_cross #(.Width(Width), .Depth(8 * Depth)) u_flits (
    .wr_clk_i(a_clk_i), .wr_rst_ni(a_up_o), .valid_i(a_flit), .ready_o(a_ready),
    .data_i({a_first, a_vn, a_half, a_data}), .room_o(room), .rd_clk_i(b_clk_i), .rd_rst_ni(b_up_o),
    .valid_o(b_flit), .ready_i(1'b1), .data_o({b_first, b_vn, b_half, b_data}), .more_o(unused_more)
  );
  nic_link_rx #(.Depth(Depth)) u_rx (
    .clk_i(b_clk_i), .rst_ni(b_up_o), .valid_i(b_flit), .first_i(b_first), .lane_i(b_vn), .half_i(b_half),
    .flit_i(b_data), .credit_o(b_credit), .valid_o, .ready_i,
    .head_o({head[3], head[2], head[1], head[0]}), .got_o(unused_got), .got_hdr_o(unused_hdr), .got_data_o(unused_data),
    .pkt_o(unused_count), .crc_err_o(crc), .drop_o(drop)
  );
  nic_cross_pulses #(.Max(Depth)) u_credits (
    .from_clk_i(b_clk_i), .from_rst_ni(b_up_o), .pulse_i(b_credit), .to_clk_i(a_clk_i), .to_rst_ni(a_up_o),
    .pulse_o(a_credit)
  );
  assign shown  = head[sel_i];
  assign tag_o  = shown[543:512];
  assign data_o = shown.data;
  assign lost_o = crc != '0 || drop != '0 || (a_flit && !a_ready);
  logic unused;
  assign unused = ^{unused_pick, unused_pkt, unused_sent, unused_sop, unused_count, unused_idle, unused_got, unused_more, unused_hdr,
                    unused_data, room, shown};
endmodule
