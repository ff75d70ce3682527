// Switch: Radix links, an input-queued crossbar with credits, the NIC's four virtual networks, and in each of them
// Channels virtual channels. Each packet is checked when it comes and gets a new CRC when it leaves; it goes to
// the port that the table says for its destination, in the channel that another table says for this turn: the one in
// which it came, or a given one. A lane (4 * channel + network) that is blocked, by credits or by a busy output,
// stops no other one; within a lane the queue's head waits. So responses never wait for requests, and where ways
// close a ring (a torus, a dragonfly) packets that cross one of its cables, the dateline, go on in channel 1: what
// waits in a channel never waits for itself.
module nic_switch import nic_pkg::*; #(
  parameter int unsigned Radix = 8,        // 4 to 16, a power of two
  parameter int unsigned Channels = 2,     // a power of two
  parameter int unsigned Depth = 256,      // packets buffered per port and lane: credits of those that send here
  parameter int unsigned Credits = 256,    // of those that receive
  localparam int unsigned Lanes = 4 * Channels,
  localparam int unsigned Lb = $clog2(Lanes),
  localparam int unsigned Pb = $clog2(Radix),
  localparam int unsigned Cb = Lb - 2
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // table: port for a destination. After reset destination d leaves by port d modulo Radix
  input  logic                 route_we_i,
  input  logic [PeerBits-1:0]  route_dst_i,
  input  logic [Pb-1:0]        route_port_i,
  // table: channel for a turn from a port to a port: its own while turn_keep_i, else turn_channel_i. After reset 0
  input  logic                 turn_we_i,
  input  logic [Pb-1:0]        turn_from_i,
  input  logic [Pb-1:0]        turn_to_i,
  input  logic                 turn_keep_i,
  input  logic [Cb-1:0]        turn_channel_i,
  // links: port p has the p-th part of each
  input  logic [Radix-1:0]     rx_valid_i,
  input  logic [Radix-1:0]     rx_first_i,
  input  logic [Lb*Radix-1:0]  rx_lane_i,
  input  logic [32*Radix-1:0]  rx_half_i,
  input  logic [256*Radix-1:0] rx_flit_i,
  output logic [Lanes*Radix-1:0] rx_credit_o,
  output logic [Radix-1:0]     tx_valid_o,
  output logic [Radix-1:0]     tx_first_o,
  output logic [Lb*Radix-1:0]  tx_lane_o,
  output logic [32*Radix-1:0]  tx_half_o,
  output logic [256*Radix-1:0] tx_flit_o,
  input  logic [Lanes*Radix-1:0] tx_credit_i,
  output logic [Radix-1:0]     bad_o,      // pulse: a packet was dropped at this port, or a credit came too many
  output logic                 idle_o      // nothing is here
);
  localparam int unsigned Ways = Radix * Channels;   // of one virtual network: Radix * channel + port
  localparam int unsigned Wb = Pb + Cb;
  logic [Pb-1:0] route_q [Peers];
  logic [Cb:0] turn_q [Radix*Radix];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned d = 0; d < Peers; d++) route_q[d] <= Pb'(d % Radix);
      for (int unsigned t = 0; t < Radix * Radix; t++) turn_q[t] <= '0;
    end else begin
      if (route_we_i) route_q[route_dst_i] <= route_port_i;
      if (turn_we_i) turn_q[{turn_from_i, turn_to_i}] <= {turn_keep_i, turn_channel_i};
    end
  end

  // Heads of the input queues and what the crossbars do with them, by virtual network and way
  logic [Ways*Wb-1:0] head_to [4];
  logic [Ways-1:0] head_valid [4], head_eop [4], head_pop [4], out_valid [4], out_ready [4];
  logic [Ways*Wb-1:0] from [4];        // by output: whose head it gets
  logic [Radix-1:0] idle;
  logic [PktBits-1:0] head [4*Ways];   // index Ways * virtual network + way
  for (genvar p = 0; p < Radix; p++) begin : g_port
    logic [Lanes-1:0] valid, eop, pop, leaves, ready;
    logic [Lanes*PktBits-1:0] here;
    logic [Lanes*Wb-1:0] whose;
    logic [Lb-1:0] pick;
    logic [Lanes*PeerBits-1:0] dst;
    nic_switch_port #(.Depth(Depth), .Credits(Credits), .Lanes(Lanes)) u_port (
      .clk_i, .rst_ni, .rx_valid_i(rx_valid_i[p]), .rx_first_i(rx_first_i[p]), .rx_lane_i(rx_lane_i[Lb * p +: Lb]),
      .rx_half_i(rx_half_i[32 * p +: 32]), .rx_flit_i(rx_flit_i[256 * p +: 256]),
      .rx_credit_o(rx_credit_o[Lanes * p +: Lanes]), .tx_valid_o(tx_valid_o[p]), .tx_first_o(tx_first_o[p]),
      .tx_lane_o(tx_lane_o[Lb * p +: Lb]), .tx_half_o(tx_half_o[32 * p +: 32]), .tx_flit_o(tx_flit_o[256 * p +: 256]),
      .tx_credit_i(tx_credit_i[Lanes * p +: Lanes]), .head_valid_o(valid), .head_pop_i(pop), .head_o(here),
      .head_dst_o(dst), .head_eop_o(eop), .out_valid_i(leaves), .out_ready_o(ready), .out_pick_o(pick),
      .out_i(head[{pick[1:0], whose[Wb * pick +: Wb]}]), .bad_o(bad_o[p]), .idle_o(idle[p])
    );
    for (genvar l = 0; l < Lanes; l++) begin : g_lane
      localparam int unsigned V = l % 4;                   // virtual network,
      localparam int unsigned W = Radix * (l / 4) + p;     // and way
      logic [Pb-1:0] to;
      logic [Cb:0] turn;
      assign to   = route_q[dst[PeerBits * l +: PeerBits]];
      assign turn = turn_q[{Pb'(p), to}];
      assign head[Ways * V + W]      = here[PktBits * l +: PktBits];
      assign head_valid[V][W]        = valid[l];
      assign head_eop[V][W]          = eop[l];
      assign head_to[V][Wb * W +: Wb] = {turn[Cb] ? Cb'(l / 4) : turn[Cb-1:0], to};
      assign pop[l]                  = head_pop[V][W];
      assign leaves[l]               = out_valid[V][W];
      assign out_ready[V][W]         = ready[l];
      assign whose[Wb * l +: Wb]     = from[V][Wb * W +: Wb];
    end
  end

  for (genvar v = 0; v < 4; v++) begin : g_vn
    nic_xbar #(.Radix(Ways)) u_xbar (
      .clk_i, .rst_ni, .valid_i(head_valid[v]), .port_i(head_to[v]), .eop_i(head_eop[v]), .pop_o(head_pop[v]),
      .valid_o(out_valid[v]), .from_o(from[v]), .ready_i(out_ready[v])
    );
  end
  assign idle_o = &idle;
endmodule
