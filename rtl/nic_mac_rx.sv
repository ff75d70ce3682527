// From the stream of an Ethernet MAC to the NIC's link: the frames of nic_mac_tx. One that is broken, of another kind, or
// comes where there is no room is left out whole; what the next one says of packets that left shows which never
// came, and their places are given back. So no credit gets lost, whatever frames do. A MAC waits for nobody: the host's
// clock must be two thirds of this one at least where packets shall come without a pause.
module nic_mac_rx import nic_pkg::*; (
  input  logic         clk_i,            // the host's
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  output logic         valid_o,          // as nic_link_rx takes its flits
  output logic         first_o,
  output logic [1:0]   vn_o,
  output logic [31:0]  half_o,
  output logic [255:0] flit_o,
  output logic [63:0]  time_o,           // when the frame's first beat came, with the first flit, or its last one
  input  logic         mac_clk_i,
  input  logic         mac_rst_ni,
  input  logic [255:0] tdata_i,
  input  logic [31:0]  tkeep_i,
  input  logic         tvalid_i,
  input  logic         tlast_i,
  input  logic         tuser_i,          // with the last beat: the frame is broken
  output logic [3:0]   free_o,           // at the other end a place became free
  output logic [3:0]   lost_o            // a packet never came
);
  // ---- frames -----------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {Head, Low, High, Skip} state_t;
  state_t state_q;                       // which beat comes next
  logic full_q, timed_q, ours, whole, take, push, times_room, packets_ready;
  logic [15:0] kind;
  logic [63:0] halves_q;
  logic [79:0] counts_q;
  logic [255:0] low_q;
  assign kind  = tdata_i[111:96];
  assign ours  = (kind == MacTypeFull || kind == MacTypeEmpty) && tkeep_i == '1;
  assign whole = tvalid_i && state_q == High && tlast_i && !tuser_i && tkeep_i == '1;
  assign take  = whole && (!full_q || (packets_ready && times_room && timed_q));
  assign push  = take && full_q;
  always_ff @(posedge mac_clk_i or negedge mac_rst_ni) begin
    if (!mac_rst_ni) begin
      state_q <= Head;
      full_q  <= 1'b0;
      timed_q <= 1'b0;
    end else if (tvalid_i) begin
      unique case (state_q)
        Head: begin
          full_q  <= kind == MacTypeFull;
          timed_q <= times_room;
          state_q <= tlast_i ? Head : ours ? Low : Skip;
        end
        Low: state_q <= tlast_i ? Head : (tkeep_i == '1) ? High : Skip;
        default: state_q <= tlast_i ? Head : Skip;
      endcase
    end
  end
  always_ff @(posedge mac_clk_i) if (tvalid_i) begin
    if (state_q == Head) {halves_q, counts_q} <= tdata_i[255:112];
    if (state_q == Low) low_q <= tdata_i;
  end

  // ---- packets and places -----------------------------------------------------------------------------------
  logic [9:0] came_q [4], freed_q [4], given_q [4], lost_q [4], gap [4];   // lost_q: not told yet
  always_comb begin
    for (int unsigned v = 0; v < 4; v++) begin
      gap[v] = !take ? '0 : counts_q[40 + 10 * v +: 10] - came_q[v] - 10'(full_q && halves_q[3:2] == 2'(v));
      free_o[v] = freed_q[v] != given_q[v];
      lost_o[v] = lost_q[v] != '0;
    end
  end
  always_ff @(posedge mac_clk_i or negedge mac_rst_ni) begin
    if (!mac_rst_ni) begin
      for (int unsigned v = 0; v < 4; v++) begin
        came_q[v]  <= '0;
        freed_q[v] <= '0;
        given_q[v] <= '0;
        lost_q[v]  <= '0;
      end
    end else begin
      for (int unsigned v = 0; v < 4; v++) begin
        if (take) came_q[v]  <= counts_q[40 + 10 * v +: 10];
        if (take) freed_q[v] <= counts_q[10 * v +: 10];
        given_q[v] <= given_q[v] + 10'(free_o[v]);
        lost_q[v]  <= lost_q[v] + gap[v] - 10'(lost_o[v]);
      end
    end
  end

  // ---- to the host ------------------------------------------------------------------------------------------
  logic have, timed, second_q, unused_more;
  logic [3:0] unused_room;
  logic [575:0] head;
  logic [63:0] first_time, last_time;
  nic_cross #(.Width(576), .Depth(8)) u_packets (
    .wr_clk_i(mac_clk_i), .wr_rst_ni(mac_rst_ni), .valid_i(push), .ready_o(packets_ready),
    .data_i({halves_q, tdata_i, low_q}), .room_o(unused_room), .rd_clk_i(clk_i), .rd_rst_ni(rst_ni), .valid_o(have),
    .ready_i(valid_o && second_q), .data_o(head), .more_o(unused_more)
  );
  nic_mac_times u_times (
    .clk_i, .rst_ni, .time_i, .valid_o(timed), .ready_i(valid_o && second_q), .first_o(first_time), .last_o(last_time),
    .ev_clk_i(mac_clk_i), .ev_rst_ni(mac_rst_ni),
    .first_i(tvalid_i && state_q == Head && kind == MacTypeFull && times_room), .last_i(push), .room_o(times_room)
  );
  assign valid_o = have && timed;
  assign first_o = !second_q;
  assign vn_o    = head[515:514];
  assign half_o  = second_q ? head[575:544] : head[543:512];
  assign flit_o  = second_q ? head[511:256] : head[255:0];
  assign time_o  = second_q ? last_time : first_time;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) second_q <= 1'b0;
    else if (valid_o) second_q <= !second_q;
  end
  logic unused;
  assign unused = ^{unused_room, unused_more};
endmodule
