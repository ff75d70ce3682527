// Who asks an arbiter and goes on asking waits for at most one turn of each other one. Requests and acknowledgements are
// free, and so is the one that is followed.
module turns #(
  parameter int unsigned N = 4
) (
  input logic         clk, ack,   // free
  input logic [N-1:0] req
);
  (* anyconst *) logic [1:0] me;
  logic started = 1'b0, rst_n, valid;
  assign rst_n = started;
  logic [N-1:0] grant, hold, last;
  logic [1:0] unused_index, to_go, to_go_held;
  logic [2:0] waited = 3'd0;   // turns of others since it asks
  nic_arbiter #(.N(N)) u_arb (
    .clk_i(clk), .rst_ni(rst_n), .req_i(req), .ack_i(ack), .grant_o(grant), .valid_o(valid), .index_o(unused_index),
    .f_hold_o(hold), .f_last_o(last)
  );
  integer i;
  always_comb begin   // turns of others before its own: behind the last one, or with the grant that stays
    to_go      = 2'd0;
    to_go_held = 2'd0;
    for (i = 0; i < N; i = i + 1) begin
      if (last[i]) to_go = me - 2'(i) - 2'd1;
      if (hold[i]) to_go_held = me - 2'(i);
    end
  end
  always @(posedge clk) begin
    started <= 1'b1;
    if (!started || !req[me] || (grant[me] && ack)) waited <= 3'd0;
    else if (valid && ack) waited <= waited + 1'b1;
    if (started) begin
      assert (waited <= 3'(N - 1));
      assert ((grant & (grant - 1'b1)) == '0);
      assert (hold != '0 ? grant == hold : (grant & ~req) == '0 && valid == (req != '0));
      // what makes it so
      assert (last != '0 && (last & (last - 1'b1)) == '0 && (hold & (hold - 1'b1)) == '0);
      if (hold == '0) assert (waited + {1'b0, to_go} <= 3'(N - 1));
      else assert (waited + {1'b0, to_go_held} <= 3'(N - 1));
    end
  end
endmodule
