// Link receiver: joins two flits to a packet, checks framing, CRC and lane, and stores good packets per
// lane (as in nic_link_tx). Every packet that used a credit gives it back: a bad one at once, a good one when
// it leaves the buffer. A sender that ignores credits overflows nobody: the packet is dropped and
// gives back no credit, as it used none.
module nic_link_rx import nic_pkg::*; #(
  parameter int unsigned Depth = 64,
  parameter int unsigned Lanes = 4,         // a power of two
  localparam int unsigned Lb = $clog2(Lanes)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,
  input  logic         first_i,
  input  logic [Lb-1:0] lane_i,
  input  logic [31:0]  half_i,
  input  logic [255:0] flit_i,
  output logic [Lanes-1:0] credit_o,
  output logic [Lanes-1:0] valid_o,
  input  logic [Lanes-1:0] ready_i,
  output logic [Lanes*PktBits-1:0] head_o,
  output logic         got_o,        // a good packet was stored, in the cycle after its second flit
  output pkt_hdr_t     got_hdr_o,
  output logic [511:0] got_data_o,
  output logic [Lanes-1:0] pkt_o,    // counters
  output logic [Lanes-1:0] crc_err_o,
  output logic [Lanes-1:0] drop_o
);
  logic half_q, done_q;
  logic [31:0] h0_q, h1_q;
  logic [255:0] f0_q, f1_q;
  logic [Lb-1:0] lane_q;
  logic broken_q;  // a packet without its second flit or a second flit alone
  logic [Lb-1:0] broken_lane_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      half_q   <= 1'b0;
      done_q   <= 1'b0;
      broken_q <= 1'b0;
    end else begin
      done_q   <= valid_i && !first_i && half_q && lane_i == lane_q;
      broken_q <= valid_i && (first_i ? half_q : (!half_q || lane_i != lane_q));
      if (valid_i) half_q <= first_i;
    end
  end
  always_ff @(posedge clk_i) begin
    broken_lane_q <= half_q ? lane_q : lane_i;
    if (valid_i && first_i) begin
      h0_q <= half_i;
      f0_q <= flit_i;
      lane_q <= lane_i;
    end
    if (valid_i && !first_i) begin
      h1_q <= half_i;
      f1_q <= flit_i;
    end
  end

  // f0, h0 and lane stay valid in the cycle after the second flit: a new first flit that arrives in it is
  // registered at its end
  logic [31:0] crc;
  pkt_t pkt;
  logic good;
  logic [Lanes-1:0] lane, push, full_n, pop;
  nic_crc u_crc (.data_i({h0_q, f1_q, f0_q}), .crc_o(crc));
  always_comb begin
    pkt.hdr     = {32'd0, h0_q};
    pkt.hdr.crc = h1_q;
    pkt.data    = {f1_q, f0_q};
  end
  assign good = done_q && crc == h1_q && pkt.hdr.vn == lane_q[1:0];
  assign lane = Lanes'(1) << lane_q;
  assign push = good ? lane : '0;

  for (genvar v = 0; v < Lanes; v++) begin : g_lane
    logic [$clog2(Depth):0] unused_count;
    nic_queue #(.Width(PktBits), .Depth(Depth)) u_fifo (
      .clk_i, .rst_ni, .valid_i(push[v]), .ready_o(full_n[v]), .data_i(pkt), .valid_o(valid_o[v]),
      .ready_i(ready_i[v]), .data_o(head_o[PktBits * v +: PktBits]), .count_o(unused_count)
    );
  end
  assign pop = valid_o & ready_i;

  // Credits: at most one bad packet and one pop per lane and cycle; a bad one may have to wait
  logic [Lanes-1:0] bad, broken;
  assign bad    = (done_q && !good) ? lane : '0;
  assign broken = broken_q ? (Lanes'(1) << broken_lane_q) : '0;
  for (genvar v = 0; v < Lanes; v++) begin : g_owed
    logic [$clog2(Depth):0] owed_q;
    assign credit_o[v] = pop[v] || owed_q != '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) owed_q <= '0;
      else owed_q <= owed_q + ($clog2(Depth) + 1)'(bad[v]) + ($clog2(Depth) + 1)'(broken[v])
                     - ($clog2(Depth) + 1)'(!pop[v] && owed_q != '0);
    end
  end

  assign got_o      = good && (push & full_n) != '0;
  assign got_hdr_o  = pkt.hdr;
  assign got_data_o = pkt.data;
  assign pkt_o      = push & full_n;
  assign crc_err_o  = bad;
  assign drop_o     = broken | (push & ~full_n);
endmodule
