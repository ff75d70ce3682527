// The crossbar of a switch between queues that keep their head until it is taken. Proved: an output gets a packet of an
// input that wants just this output; each head is taken by one output or by none, once; what an output was offered
// stays until it takes it; a message that has begun is not mixed with another unless its rest did not come.
module xbar #(
  parameter int unsigned R = 4
) (
  input logic           clk,
  input logic [R-1:0]   valid, eop, ready,   // free
  input logic [2*R-1:0] port
);
  logic started = 1'b0, rst_n;
  assign rst_n = started;
  logic [R-1:0] pop, out, held, lapse, was_valid, was_eop, was_pop, was_out, was_ready;
  logic [R*R-1:0] grant, own, hold, was_grant;
  logic [2*R-1:0] was_port, whose;
  nic_xbar #(.Radix(R), .Patience(4)) u_xbar (
    .clk_i(clk), .rst_ni(rst_n), .valid_i(valid), .port_i(port), .eop_i(eop), .pop_o(pop), .valid_o(out), .from_o(whose),
    .ready_i(ready), .f_held_o(held), .f_lapse_o(lapse), .f_own_o(own), .f_hold_o(hold)
  );
  logic [R-1:0] open = '0;     // by output: a message has begun there,
  logic [R-1:0] from [R];      // of this input
  integer i, o;
  always_comb for (o = 0; o < R; o = o + 1) grant[R * o +: R] = out[o] ? R'(1) << whose[2 * o +: 2] : '0;
  logic [R-1:0] row, column;
  always_comb begin
    for (i = 0; i < R; i = i + 1)   // a queue keeps its head
      if (started && was_valid[i] && !was_pop[i])
        assume (valid[i] && eop[i] == was_eop[i] && port[2 * i +: 2] == was_port[2 * i +: 2]);
    if (!started) assume (valid == '0);
  end
  always @(posedge clk) begin
    started   <= 1'b1;
    was_valid <= started ? valid : '0;
    was_eop   <= eop;
    was_port  <= port;
    was_pop   <= pop;
    was_out   <= started ? out : '0;
    was_ready <= ready;
    was_grant <= grant;
    if (started) begin
      for (o = 0; o < R; o = o + 1) begin
        row = grant[R * o +: R];
        for (i = 0; i < R; i = i + 1) if (row[i]) assert (valid[i] && port[2 * i +: 2] == 2'(o));
        if (was_out[o] && !was_ready[o]) assert (row == was_grant[R * o +: R]);
        if (open[o] && out[o]) assert (row == from[o]);
        // what makes it so
        assert (open[o] == held[o]);
        if (open[o]) assert (from[o] == own[R * o +: R]);
        assert ((own[R * o +: R] & (own[R * o +: R] - 1'b1)) == '0);
        assert ((hold[R * o +: R] & (hold[R * o +: R] - 1'b1)) == '0);
        assert (hold[R * o +: R] == ((was_out[o] && !was_ready[o]) ? was_grant[R * o +: R] : '0));
        for (i = 0; i < R; i = i + 1)
          if (hold[R * o + i]) assert (was_valid[i] && !was_pop[i] && was_port[2 * i +: 2] == 2'(o) && (!open[o] || from[o][i]));
        if (out[o] && ready[o]) begin
          open[o] <= (row & eop) == '0;
          from[o] <= row;
        end else if (lapse[o]) begin
          open[o] <= 1'b0;
        end
      end
      for (i = 0; i < R; i = i + 1) begin
        for (o = 0; o < R; o = o + 1) column[o] = grant[R * o + i] && ready[o];
        assert ((column & (column - 1'b1)) == '0);
        assert (pop[i] == (column != '0));
        if (pop[i]) assert (valid[i]);
      end
    end
  end
endmodule
