// The reliability window between one sender and one receiver over a network that loses, doubles, delays
// and reorders requests and responses at will. Proved: a message is delivered only in its turn, hence
// once and in order; the sender forgets only what was delivered or given up; without giving up, the
// receiver never skips. Numbers have 8 bits here, all of which packets carry. Assumed: nothing that is older than Old messages is still on its way.
module window #(
  parameter int unsigned W = 32   // as in nic_pkg
) (
  input logic       clk, send, again, arrive, answer, give_up, deliver_now,   // free
  input logic [7:0] seq, base_sent, ack
);
  localparam logic [7:0] Old = 8'd64;
  (* anyconst *) logic may_give_up;
  logic started = 1'b0, rst_n;
  assign rst_n = started;

  logic open, again_now, accept, duplicate, future, skipped, done;
  logic [7:0] next, base, expect_seq, done_seq;
  logic [W-1:0] done_map;
  logic [7:0] delivered = 8'd0;   // how many, modulo 256; or skipped after giving up
  nic_tx_window #(.PeerCount(2), .Window(W), .Bits(8)) u_tx (
    .clk_i(clk), .rst_ni(rst_n), .clear_i(1'b0), .clear_peer_i(1'b0), .peer_i(1'b0), .open_o(open),
    .next_o(next), .base_o(base), .send_i(send), .again_i(again), .done_i(done), .done_peer_i(1'b0),
    .done_seq_i(done_seq), .f_done_o(done_map), .f_again_o(again_now)
  );
  nic_rx_window #(.PeerCount(2), .Bits(8)) u_rx (
    .clk_i(clk), .rst_ni(rst_n), .clear_i(1'b0), .clear_peer_i(1'b0), .peer_i(1'b0), .seq_i(seq),
    .base_i(base_sent), .accept_o(accept), .duplicate_o(duplicate), .future_o(future),
    .skipped_o(skipped), .follow_i(arrive && skipped),
    .deliver_i(arrive && !skipped && accept && deliver_now), .f_expect_o(expect_seq)
  );

  logic [7:0] used, ahead, lag, seq_age, base_age, ack_age;
  assign used     = next - base;
  assign ahead    = expect_seq - base;            // delivered but not acknowledged, or behind
  assign lag      = base - expect_seq;
  assign seq_age  = next - seq;                   // 1: the newest
  assign base_age = base - base_sent;
  assign ack_age  = expect_seq - ack;
  assign done     = answer || give_up;
  assign done_seq = ack;
  always_comb begin
    assume (seq_age != 8'd0 && seq_age <= Old);         // was sent, not too long ago
    assume (base_age <= Old);                           // with the base of then
    assume (8'(seq - base_sent) < 8'(W));                // which admitted it
    if (answer) assume (ack_age != 8'd0 && ack_age <= Old);   // answers what was delivered
    if (give_up) assume (may_give_up && 8'(ack - base) < used);
    if (give_up) assume (8'(next - expect_seq) < 8'd100);     // half of the numbers
    assume (!(answer && give_up));
    if (!started) assume (!send && !again && !arrive && !answer && !give_up);
  end

  logic held = 1'b0;   // one was sent again since none was under way
  integer i;
  always @(posedge clk) begin
    started <= 1'b1;
    if (started && arrive && !skipped && accept && deliver_now) delivered <= delivered + 8'd1;
    if (started && arrive && skipped) delivered <= base_sent;
    if (again) held <= 1'b1;
    else if (send && open) held <= 1'b0;
    if (started) begin
      assert (held == again_now);
      assert (open == (used < (held ? 8'd1 : 8'(W))));
      assert (used <= 8'(W));
      assert (delivered == expect_seq);
      // the receiver is behind by less than half of the numbers, or ahead by what is not acknowledged
      assert ($signed(lag) <= 8'sd100 && $signed(lag) >= -$signed(8'(W)));
      assert ($signed(lag) >= 8'sd0 || ahead <= used);
      for (i = 0; i < W; i = i + 1)
        if (done_map[i]) assert ($signed(8'(lag + 8'(i))) < 8'sd100);
      if (arrive && !skipped && accept && deliver_now) assert (seq == delivered);
      for (i = 0; i < W; i = i + 1) assert (!(done_map[i] && 8'(i) >= used));
      assert (!done_map[0]);
      if (!may_give_up) begin
        assert (ahead <= used);                         // base <= expected <= next
        for (i = 0; i < W; i = i + 1) assert (!(done_map[i] && 8'(i) >= ahead));
        assert (!(arrive && skipped));
      end
    end
  end
endmodule
