// Sender's side of the end-to-end reliability: for each peer the next sequence number and the oldest one
// that is not acknowledged. At most Window messages are under way per peer; acknowledgements may come
// in any order and more than once, the base moves over the oldest that are done. Once one is sent again nothing new goes to
// its peer until none is under way: a receiver takes messages in order, so it would refuse what is new until all that
// it lacks has come, and each would wait for its own turn to be sent again, for as long as the sender has more.
module nic_tx_window #(
  parameter int unsigned PeerCount = 64,
  parameter int unsigned Window = 8,   // a power of two, at most 64
  parameter int unsigned Bits = 16,    // of a message's number, of which packets carry 8
  localparam int unsigned Pb = $clog2(PeerCount)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          clear_i,       // forget clear_peer_i
  input  logic [Pb-1:0] clear_peer_i,
  input  logic [Pb-1:0] peer_i,
  output logic          open_o,        // the window of peer_i has room
  output logic [7:0]    next_o,
  output logic [Bits-1:0] base_o,
  input  logic          send_i,        // next_o is used; only while open_o
  input  logic          again_i,       // one of peer_i is sent again
  input  logic          done_i,        // done_seq_i is acknowledged or given up
  input  logic [Pb-1:0] done_peer_i,
  input  logic [7:0]    done_seq_i
`ifdef FORMAL
  , output logic [Window-1:0] f_done_o   // of peer 0
  , output logic              f_again_o
`endif
);
`ifdef FORMAL
  assign f_done_o = done_q[0];
  assign f_again_o = again_q[0];
`endif
  logic [Bits-1:0] next_q [PeerCount], base_q [PeerCount];
  logic [Window-1:0] done_q [PeerCount];   // bit i: base + i is done
  logic [PeerCount-1:0] again_q;           // one was sent again since none was under way

  logic [7:0] used;
  assign next_o = next_q[peer_i][7:0];
  assign base_o = base_q[peer_i];
  assign used   = next_o - base_o[7:0];
  assign open_o = again_q[peer_i] ? used == 8'd0 : used < 8'(Window);

  // Mark the message, then slide over the done ones at the bottom
  logic [Bits-1:0] d_base;
  logic [7:0] d_used, d_at;
  logic [Window-1:0] d_map, d_slid;
  logic [$clog2(Window):0] d_count;
  logic d_known;
  assign d_base  = base_q[done_peer_i];
  assign d_used  = next_q[done_peer_i][7:0] - d_base[7:0];
  assign d_at    = done_seq_i - d_base[7:0];
  assign d_known = d_at < d_used;
  assign d_map   = done_q[done_peer_i] | (Window'(d_known) << d_at[$clog2(Window)-1:0]);
  // The lowest that is not done, as one bit; bit Window: all are. A carry finds it, then its number is an or of bits:
  // counting one by one would be Window adders behind each other.
  logic [Window:0] d_stop;
  assign d_stop = ~{1'b0, d_map} & ({1'b0, d_map} + 1'b1);
  always_comb begin
    d_count = '0;
    for (int unsigned i = 0; i <= Window; i++)
      if (d_stop[i]) d_count = d_count | ($clog2(Window) + 1)'(i);
  end
  assign d_slid = d_map >> d_count;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < PeerCount; p++) begin
        next_q[p] <= '0;
        base_q[p] <= '0;
        done_q[p] <= '0;
      end
      again_q <= '0;
    end else begin
      if (send_i && open_o) next_q[peer_i] <= next_q[peer_i] + 1'b1;
      if (again_i) again_q[peer_i] <= 1'b1;
      else if (send_i && open_o) again_q[peer_i] <= 1'b0;
      if (done_i) begin
        base_q[done_peer_i] <= d_base + Bits'(d_count);
        done_q[done_peer_i] <= d_slid;
      end
      if (clear_i) begin
        next_q[clear_peer_i] <= '0;
        base_q[clear_peer_i] <= '0;
        done_q[clear_peer_i] <= '0;
        again_q[clear_peer_i] <= 1'b0;
      end
    end
  end
endmodule
