// Follows the messages in one direction of the link, per virtual network from the first packet to the last,
// and makes the record of each that passed complete and in order.
module nic_follow import nic_pkg::*; #(
  parameter bit Received = 1'b0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         got_i,      // a packet has passed
  input  pkt_hdr_t     hdr_i,
  input  logic [511:0] data_i,
  input  logic [63:0]  first_i,    // times of its two flits
  input  logic [63:0]  last_i,
  output logic         valid_o,    // it was the last of its message
  output stamp_t       rec_o,
  output logic [3:0]   kind_o,
  output logic [31:0]  bytes_o
);
  logic [3:0] live_q;
  logic [5:0] src_q [4], dst_q [4];
  logic [7:0] seq_q [4], idx_q [4];   // idx_q: of the next packet
  logic [31:0] length_q [4];
  logic [63:0] first_q [4];
  logic [59:0] what_q [4];            // {user, status, retry, kind}
  logic same, live, good;
  logic [59:0] what;
  logic [31:0] length;
  logic [3:0] kind, status;
  msg_t msg;
  assign msg  = data_i;
  assign same = live_q[hdr_i.vn] && hdr_i.src == src_q[hdr_i.vn] && hdr_i.dst == dst_q[hdr_i.vn] &&
                hdr_i.seq == seq_q[hdr_i.vn];
  assign live = same && hdr_i.idx == idx_q[hdr_i.vn];
  // a packet that the network doubled does not end its message
  assign good = got_i && !(same && !hdr_i.sop && hdr_i.idx == idx_q[hdr_i.vn] - 8'd1);

  assign what    = hdr_i.sop ? {msg.user, msg.status, msg.retry, msg.kind} : what_q[hdr_i.vn];
  assign length  = hdr_i.sop ? msg.length : length_q[hdr_i.vn];
  assign kind    = what[3:0];
  assign status  = what[11:8];
  assign valid_o = good && hdr_i.eop && (hdr_i.sop || live);
  assign kind_o  = kind;
  assign bytes_o = (kind == KindPut || kind == KindAtomic || kind == KindFetch ||
                    (kind == KindReply && status == StOk)) ? length : 32'd0;
  always_comb begin
    rec_o        = '0;
    rec_o.user   = {16'd0, what[59:12]};
    rec_o.first  = hdr_i.sop ? first_i : first_q[hdr_i.vn];
    rec_o.last   = last_i;
    rec_o.length = bytes_o;
    rec_o.meta   = {2'd0, status, what[7:4], kind, hdr_i.vn, Received, 1'b0, hdr_i.seq,
                    Received ? hdr_i.src : hdr_i.dst};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) live_q <= '0;
    else if (good) live_q[hdr_i.vn] <= !hdr_i.eop && (hdr_i.sop || live);
  end
  always_ff @(posedge clk_i) if (good) begin
    src_q[hdr_i.vn] <= hdr_i.src;
    dst_q[hdr_i.vn] <= hdr_i.dst;
    seq_q[hdr_i.vn] <= hdr_i.seq;
    idx_q[hdr_i.vn] <= hdr_i.idx + 8'd1;
    if (hdr_i.sop) begin
      what_q[hdr_i.vn]   <= what;
      length_q[hdr_i.vn] <= msg.length;
      first_q[hdr_i.vn]  <= first_i;
    end
  end
  logic unused;
  assign unused = ^{hdr_i.crc, msg};
endmodule
