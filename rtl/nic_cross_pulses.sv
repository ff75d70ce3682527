// Pulses from one clock to another: each lane's are counted, up to Max of them, until they have crossed, so that none is
// lost where the other clock is slower.
module nic_cross_pulses #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Max = 256,
  localparam int unsigned Bits = $clog2(Max + 1)
) (
  input  logic             from_clk_i,
  input  logic             from_rst_ni,
  input  logic [Lanes-1:0] pulse_i,
  input  logic             to_clk_i,
  input  logic             to_rst_ni,
  output logic [Lanes-1:0] pulse_o
);
  logic [Lanes-1:0] some, out;
  logic ready, valid, unused_more;
  logic [3:0] unused_room;
  for (genvar v = 0; v < Lanes; v++) begin : g_lane
    logic [Bits-1:0] waits_q;
    assign some[v] = waits_q != '0;
    always_ff @(posedge from_clk_i or negedge from_rst_ni) begin
      if (!from_rst_ni) waits_q <= '0;
      else waits_q <= waits_q + Bits'(pulse_i[v]) - Bits'(some[v] && ready);
    end
  end
  nic_cross #(.Width(Lanes), .Depth(8)) u_cross (
    .wr_clk_i(from_clk_i), .wr_rst_ni(from_rst_ni), .valid_i(some != '0), .ready_o(ready), .data_i(some),
    .room_o(unused_room), .rd_clk_i(to_clk_i), .rd_rst_ni(to_rst_ni), .valid_o(valid), .ready_i(1'b1), .data_o(out),
    .more_o(unused_more)
  );
  assign pulse_o = valid ? out : '0;
  logic unused;
  assign unused = ^{unused_room, unused_more};
endmodule
