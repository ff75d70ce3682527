// Link transmitter: takes whole packets from its lanes, adds the CRC and sends each as two flits in two cycles,
// without a gap when packets wait. A lane is a virtual network, or one of its virtual channels: lane 4 * channel +
// network. A lane is served only with a credit in hand, so one that is blocked never stops another; it keeps
// the wire until the end of its message unless it has nothing to send.
module nic_link_tx import nic_pkg::*; #(
  parameter int unsigned Credits = 64,
  parameter int unsigned Lanes = 4,         // a power of two
  localparam int unsigned Lb = $clog2(Lanes)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [Lanes-1:0] valid_i,
  output logic [Lanes-1:0] ready_o,
  output logic [Lb-1:0] pick_o,      // the lane whose packet is next, if any
  input  pkt_t         pkt_i,        // that packet
  input  logic [Lanes-1:0] credit_i,
  input  logic         hold_i,       // begin no packet: what follows has no room
  output logic         valid_o,      // a flit is on the wire
  output logic         first_o,      // it is the first of its packet
  output logic [Lb-1:0] lane_o,
  output logic [31:0]  half_o,       // half of the packet header
  output logic [255:0] flit_o,
  output pkt_t         pkt_o,        // the packet on the wire
  output logic [Lanes-1:0] stall_o,
  output logic [Lanes-1:0] sent_o,   // first flit of a packet goes out
  output logic [Lanes-1:0] sent_sop_o,
  output logic         credit_error_o,
  output logic         idle_o
);
  logic [Lanes-1:0] avail, cerr, want, take, grant;
  logic [Lb-1:0] pick, lane_q;
  logic free, keep, load, keep_q, busy_q, second_q;
  pkt_t sel, pkt_q;
  logic [31:0] crc;

  for (genvar v = 0; v < Lanes; v++) begin : g_credit
    logic [$clog2(Credits + 1)-1:0] unused_count;
    nic_credit #(.Max(Credits)) u_credit (
      .clk_i, .rst_ni, .take_i(take[v]), .give_i(credit_i[v]), .avail_o(avail[v]),
      .error_o(cerr[v]), .count_o(unused_count)
    );
  end

  assign want    = valid_i & avail;
  assign stall_o = valid_i & ~avail;
  assign credit_error_o = |cerr;

  // Stay with the message on the wire while it can go on; else the arbiter's choice. It is asked only when its
  // answer is used: turns that pass while a packet leaves would always come back to the same lane.
  logic [Lanes-1:0] arb_grant;
  logic [Lb-1:0] arb_index;
  logic arb_valid;
  assign free = (!busy_q || second_q) && !hold_i;
  assign keep = keep_q && want[lane_q];
  nic_arbiter #(.N(Lanes)) u_arb (
    .clk_i, .rst_ni, .req_i((free && !keep) ? want : '0), .ack_i(1'b1), .grant_o(arb_grant), .valid_o(arb_valid),
    .index_o(arb_index)
  );
  assign pick  = keep ? lane_q : arb_index;
  assign grant = keep ? (Lanes'(1) << lane_q) : arb_grant;
  assign load  = free && (keep || arb_valid);
  assign take  = load ? grant : '0;
  assign ready_o = take;
  assign pick_o  = pick;

  always_comb begin
    sel         = pkt_i;
    sel.hdr.vn  = pick[1:0];
    sel.hdr.crc = '0;
  end
  nic_crc u_crc (.data_i({pkt_q.hdr.src, pkt_q.hdr.dst, pkt_q.hdr.seq, pkt_q.hdr.idx, pkt_q.hdr.vn,
                          pkt_q.hdr.sop, pkt_q.hdr.eop, pkt_q.data}), .crc_o(crc));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q   <= 1'b0;
      second_q <= 1'b0;
      keep_q   <= 1'b0;
      lane_q   <= '0;
    end else begin
      if (busy_q) second_q <= !second_q;
      if (load) begin
        busy_q   <= 1'b1;
        second_q <= 1'b0;
        keep_q   <= !sel.hdr.eop;
        lane_q   <= pick;
      end else if (second_q) begin
        busy_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) if (load) pkt_q <= sel;

  assign valid_o = busy_q;
  assign first_o = busy_q && !second_q;
  assign lane_o  = lane_q;
  assign half_o  = second_q ? crc : {pkt_q.hdr.src, pkt_q.hdr.dst, pkt_q.hdr.seq, pkt_q.hdr.idx,
                                     pkt_q.hdr.vn, pkt_q.hdr.sop, pkt_q.hdr.eop};
  assign flit_o  = second_q ? pkt_q.data[511:256] : pkt_q.data[255:0];
  assign pkt_o      = pkt_q;
  assign sent_o     = first_o ? (Lanes'(1) << lane_q) : '0;
  assign sent_sop_o = pkt_q.hdr.sop ? sent_o : '0;
  assign idle_o     = !busy_q;
endmodule
