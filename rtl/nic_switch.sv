// Switch: Radix links as the NIC's, an input-queued crossbar with credits and the four virtual networks. Each packet
// is checked when it comes and gets a new CRC when it leaves; it goes to the port that the table says for its
// destination. A virtual network that is blocked, by credits or by a busy output, stops no other one; within a
// virtual network the queue's head waits. Tables without loops keep requests and responses free of deadlock.
module nic_switch import nic_pkg::*; #(
  parameter int unsigned Radix = 8,        // 4 to 16
  parameter int unsigned Depth = 256,      // packets buffered per port and virtual network: credits of those that send here
  parameter int unsigned Credits = 256,    // of those that receive
  localparam int unsigned Pb = $clog2(Radix)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // table: port for a destination. After reset destination d leaves by port d modulo Radix
  input  logic                 route_we_i,
  input  logic [PeerBits-1:0]  route_dst_i,
  input  logic [Pb-1:0]        route_port_i,
  // links: port p has the p-th part of each
  input  logic [Radix-1:0]     rx_valid_i,
  input  logic [Radix-1:0]     rx_first_i,
  input  logic [2*Radix-1:0]   rx_vn_i,
  input  logic [32*Radix-1:0]  rx_half_i,
  input  logic [256*Radix-1:0] rx_flit_i,
  output logic [4*Radix-1:0]   rx_credit_o,
  output logic [Radix-1:0]     tx_valid_o,
  output logic [Radix-1:0]     tx_first_o,
  output logic [2*Radix-1:0]   tx_vn_o,
  output logic [32*Radix-1:0]  tx_half_o,
  output logic [256*Radix-1:0] tx_flit_o,
  input  logic [4*Radix-1:0]   tx_credit_i,
  output logic [Radix-1:0]     bad_o,      // pulse: a packet was dropped at this port, or a credit came too many
  output logic                 idle_o      // nothing is here
);
  logic [Pb-1:0] route_q [Peers];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned d = 0; d < Peers; d++) route_q[d] <= Pb'(d % Radix);
    end else if (route_we_i) begin
      route_q[route_dst_i] <= route_port_i;
    end
  end

  // Heads of the input queues and what the crossbars do with them, by virtual network and port
  logic [Radix*Pb-1:0] head_port [4];
  logic [Radix-1:0] head_valid [4], head_eop [4], head_pop [4], out_valid [4], out_ready [4];
  logic [Radix*Radix-1:0] grant [4];
  logic [Radix-1:0] idle;
  logic [PktBits-1:0] head [4*Radix];   // index Radix * virtual network + port
  for (genvar p = 0; p < Radix; p++) begin : g_port
    logic [3:0] valid, eop, pop, leaves, ready;
    logic [4*PktBits-1:0] here, out;
    logic [4*PeerBits-1:0] dst;
    nic_switch_port #(.Depth(Depth), .Credits(Credits)) u_port (
      .clk_i, .rst_ni, .rx_valid_i(rx_valid_i[p]), .rx_first_i(rx_first_i[p]), .rx_vn_i(rx_vn_i[2 * p +: 2]),
      .rx_half_i(rx_half_i[32 * p +: 32]), .rx_flit_i(rx_flit_i[256 * p +: 256]),
      .rx_credit_o(rx_credit_o[4 * p +: 4]), .tx_valid_o(tx_valid_o[p]), .tx_first_o(tx_first_o[p]),
      .tx_vn_o(tx_vn_o[2 * p +: 2]), .tx_half_o(tx_half_o[32 * p +: 32]), .tx_flit_o(tx_flit_o[256 * p +: 256]),
      .tx_credit_i(tx_credit_i[4 * p +: 4]), .head_valid_o(valid), .head_pop_i(pop), .head_o(here),
      .head_dst_o(dst), .head_eop_o(eop), .out_valid_i(leaves), .out_ready_o(ready), .out_i(out),
      .bad_o(bad_o[p]), .idle_o(idle[p])
    );
    for (genvar v = 0; v < 4; v++) begin : g_lane
      assign head[Radix * v + p]        = here[PktBits * v +: PktBits];
      assign head_valid[v][p]           = valid[v];
      assign head_eop[v][p]             = eop[v];
      assign head_port[v][Pb * p +: Pb] = route_q[dst[PeerBits * v +: PeerBits]];
      assign pop[v]                     = head_pop[v][p];
      assign leaves[v]                  = out_valid[v][p];
      assign out_ready[v][p]            = ready[v];
      always_comb begin
        out[PktBits * v +: PktBits] = '0;
        for (int unsigned i = 0; i < Radix; i++)
          if (grant[v][Radix * p + i])
            out[PktBits * v +: PktBits] = out[PktBits * v +: PktBits] | head[Radix * v + i];
      end
    end
  end

  for (genvar v = 0; v < 4; v++) begin : g_vn
    nic_xbar #(.Radix(Radix)) u_xbar (
      .clk_i, .rst_ni, .valid_i(head_valid[v]), .port_i(head_port[v]), .eop_i(head_eop[v]), .pop_o(head_pop[v]),
      .valid_o(out_valid[v]), .grant_o(grant[v]), .ready_i(out_ready[v])
    );
  end
  assign idle_o = &idle;
endmodule
