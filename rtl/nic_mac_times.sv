// Times of events on another clock, by the host's clock: pairs of a first and a last one, in order. The host numbers its
// cycles and keeps the times of the last 64; the number crosses in Gray code, of which one bit changes in a cycle,
// through two flip-flops. An event waits for as many clocks as its number takes and then meets the number that was
// there at its own edge: its time is that of the host's cycle in which it happened, never later, less than a host
// cycle earlier. The number goes back at once, so that its cycle is still known there: the other clock may be sixteen times
// slower, whatever happens between the two events.
module nic_mac_times #(
  parameter int unsigned Depth = 32    // events on their way, a power of two; half as many pairs wait
) (
  input  logic        clk_i,           // the host's
  input  logic        rst_ni,
  input  logic [63:0] time_i,
  output logic        valid_o,
  input  logic        ready_i,
  output logic [63:0] first_o,
  output logic [63:0] last_o,
  input  logic        ev_clk_i,
  input  logic        ev_rst_ni,
  input  logic        first_i,         // happens at the edge that ends this cycle; only while room_o
  input  logic        last_i,
  output logic        room_o
);
  localparam int unsigned Bits = 6;
  function automatic logic [Bits-1:0] number(input logic [Bits-1:0] code);
    number = code;
    for (int unsigned i = 1; i < Bits; i++) number = number ^ (code >> i);
  endfunction

  // ---- the host's cycles ------------------------------------------------------------------------------------
  logic [63:0] times [1 << Bits];
  logic [Bits-1:0] cycle, cycle_code;
  nic_cycles #(.Bits(Bits)) u_cycles (.clk_i, .rst_ni, .number_o(cycle), .code_o(cycle_code));
  always_ff @(posedge clk_i) times[cycle] <= time_i;

  // ---- the events -------------------------------------------------------------------------------------------
  logic [Bits-1:0] sync_q [2];
  logic [1:0] first_q, last_q;
  logic unused_ready, have, is_last, unused_more;
  logic [$clog2(Depth):0] room;
  logic [Bits-1:0] code;
  always_ff @(posedge ev_clk_i or negedge ev_rst_ni) begin
    if (!ev_rst_ni) begin
      sync_q[0] <= '0;
      sync_q[1] <= '0;
      first_q   <= '0;
      last_q    <= '0;
    end else begin
      sync_q[0] <= cycle_code;
      sync_q[1] <= sync_q[0];
      first_q   <= {first_q[0], first_i};
      last_q    <= {last_q[0], last_i};
    end
  end
  assign room_o = room > ($clog2(Depth) + 1)'(2);   // two may be on their way to it
  nic_cross #(.Width(Bits + 1), .Depth(Depth)) u_numbers (
    .wr_clk_i(ev_clk_i), .wr_rst_ni(ev_rst_ni), .valid_i(first_q[1] || last_q[1]), .ready_o(unused_ready),
    .data_i({last_q[1], sync_q[1]}), .room_o(room), .rd_clk_i(clk_i), .rd_rst_ni(rst_ni), .valid_o(have),
    .ready_i(1'b1), .data_o({is_last, code}), .more_o(unused_more)
  );

  // ---- their times ------------------------------------------------------------------------------------------
  logic [63:0] time_is, begin_q;
  logic unused_pairs;
  logic [$clog2(Depth / 2):0] unused_count;
  assign time_is = times[number(code)];
  always_ff @(posedge clk_i) if (have && !is_last) begin_q <= time_is;
  nic_fifo #(.Width(128), .Depth(Depth / 2)) u_pairs (
    .clk_i, .rst_ni, .valid_i(have && is_last), .ready_o(unused_pairs), .data_i({begin_q, time_is}), .valid_o, .ready_i,
    .data_o({first_o, last_o}), .count_o(unused_count)
  );
  logic unused;
  assign unused = ^{unused_ready, unused_more, unused_pairs, unused_count};
endmodule
