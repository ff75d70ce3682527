// From the NIC's link to the stream of an Ethernet MAC: each packet is a frame of three beats of 32 bytes, without a
// pause of ours in it. Bytes of the first: addresses, type (with a packet or without), of each virtual network how many
// packets left and how many places became free (10 bits each, from the beginning), half of the packet's
// header, its CRC; the packet's data follow. Where no packet waits a frame without one tells of free places, and
// every 1,024 clocks one tells what a lost frame had told. The times of a packet are those of the edges at which the MAC takes
// the first beat and the last.
module nic_mac_tx import nic_pkg::*; #(
  parameter int unsigned Packets = 16    // without their times; a power of two
) (
  input  logic         clk_i,            // the host's
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  input  logic         valid_i,          // as nic_link_tx shows its flits
  input  logic         first_i,
  input  logic [31:0]  half_i,
  input  logic [255:0] flit_i,
  output logic         hold_o,           // it shall begin no packet
  output logic         got_o,            // a packet's times are known
  output pkt_t         got_pkt_o,
  output logic [63:0]  got_first_o,
  output logic [63:0]  got_last_o,
  input  logic         mac_clk_i,
  input  logic         mac_rst_ni,
  input  logic [47:0]  to_i,             // Ethernet addresses; they stay
  input  logic [47:0]  from_i,
  input  logic [3:0]   free_i,           // a place became free
  input  logic [3:0]   lost_i,           // a packet for it never came
  output logic [255:0] tdata_o,
  output logic         tvalid_o,
  input  logic         tready_i,
  output logic         tlast_o
);
  // ---- packets of the host ----------------------------------------------------------------------------------
  logic [31:0] half_q;
  logic [255:0] flit_q;
  logic push, unused_ready, have, pop, unused_more, unused_queue, waits, times_room;
  logic [3:0] room;
  logic [$clog2(Packets):0] count;
  logic [575:0] head;
  logic [543:0] sent;
  always_ff @(posedge clk_i) if (valid_i && first_i) {half_q, flit_q} <= {half_i, flit_i};
  assign push   = valid_i && !first_i;
  assign hold_o = room < 4'd2 || count > ($clog2(Packets) + 1)'(Packets - 2);   // one is on its way here
  nic_cross #(.Width(576), .Depth(8)) u_packets (
    .wr_clk_i(clk_i), .wr_rst_ni(rst_ni), .valid_i(push), .ready_o(unused_ready),
    .data_i({half_i, half_q, flit_i, flit_q}), .room_o(room), .rd_clk_i(mac_clk_i), .rd_rst_ni(mac_rst_ni),
    .valid_o(have), .ready_i(pop), .data_o(head), .more_o(unused_more)
  );
  nic_fifo #(.Width(544), .Depth(Packets)) u_sent (
    .clk_i, .rst_ni, .valid_i(push), .ready_o(unused_queue), .data_i({half_q, flit_i, flit_q}), .valid_o(waits),
    .ready_i(got_o), .data_o(sent), .count_o(count)
  );
  logic timed;
  nic_mac_times #(.Depth(2 * Packets)) u_times (
    .clk_i, .rst_ni, .time_i, .valid_o(timed), .ready_i(1'b1), .first_o(got_first_o), .last_o(got_last_o),
    .ev_clk_i(mac_clk_i), .ev_rst_ni(mac_rst_ni), .first_i(full_q && state_q == Head && tready_i),
    .last_i(full_q && state_q == High && tready_i), .room_o(times_room)
  );
  assign got_o     = timed && waits;
  assign got_pkt_o = {32'd0, sent};

  // ---- frames -----------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {Idle, Head, Low, High} state_t;
  state_t state_q;
  logic full_q, start, due, told_all;    // full_q: with a packet
  logic [9:0] left_q [4], free_q [4], told_q [4], rest_q;
  logic [39:0] left, free;
  logic [255:0] data_q;
  always_comb begin
    told_all = 1'b1;
    for (int unsigned v = 0; v < 4; v++) begin
      left[10 * v +: 10] = left_q[v] + 10'(have && head[514 +: 2] == 2'(v));
      free[10 * v +: 10] = free_q[v];
      if (free_q[v] != told_q[v]) told_all = 1'b0;
    end
  end
  assign due     = !told_all || rest_q == '1;
  assign start   = (state_q == Idle || (state_q == High && tready_i)) && (have || due);
  assign pop     = state_q == Low && tready_i && full_q;
  assign tdata_o = data_q;
  assign tvalid_o = state_q != Idle;
  assign tlast_o = state_q == High;
  always_ff @(posedge mac_clk_i or negedge mac_rst_ni) begin
    if (!mac_rst_ni) begin
      state_q <= Idle;
      full_q  <= 1'b0;
      rest_q  <= '0;
      for (int unsigned v = 0; v < 4; v++) begin
        left_q[v] <= '0;
        free_q[v] <= '0;
        told_q[v] <= '0;
      end
    end else begin
      if (rest_q != '1) rest_q <= rest_q + 1'b1;
      for (int unsigned v = 0; v < 4; v++) free_q[v] <= free_q[v] + 10'(free_i[v]) + 10'(lost_i[v]);
      unique case (state_q)
        Idle: ;
        Head: if (tready_i) state_q <= Low;
        Low: if (tready_i) state_q <= High;
        default: if (tready_i) state_q <= Idle;   // High
      endcase
      if (start) begin
        state_q <= Head;
        full_q  <= have;
        rest_q  <= '0;
        for (int unsigned v = 0; v < 4; v++) begin
          left_q[v] <= left[10 * v +: 10];
          told_q[v] <= free_q[v];
        end
      end
    end
  end
  always_ff @(posedge mac_clk_i) begin
    if (start) data_q <= {head[575:512], left, free, have ? MacTypeFull : MacTypeEmpty, in_order(from_i), in_order(to_i)};
    else if (tready_i) data_q <= !full_q ? '0 : (state_q == Head) ? head[255:0] : head[511:256];
  end
  // an address as the wire has it: the highest byte first
  function automatic logic [47:0] in_order(input logic [47:0] address);
    for (int unsigned i = 0; i < 6; i++) in_order[8 * i +: 8] = address[40 - 8 * i +: 8];
  endfunction
  logic unused;
  assign unused = ^{unused_ready, unused_more, unused_queue, times_room};
endmodule
