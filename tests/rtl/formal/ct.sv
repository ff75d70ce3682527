  // This text stands at the end of nic_ct in its proof (proofs.sh), made small by ct.sed. Proved: a trigger that was given
  // is in one place, a list, the way into one, or the queue of what is released, until it is done, sent or cancelled, so
  // none is lost and none is released twice; a list is in order of threshold, equal ones in order of giving, and only its
  // first is released, when the counts have reached it; when nothing is at work no list has a first one that is reached,
  // so none is late; what is sent is what was given, to its class; counts are what was added and written.
  // Queues are proved elsewhere: here they are what the contents say that f_due, f_ready hold.
  logic f_started = 1'b0;
  logic [Triggers-1:0] f_in, f_out;           // in a list; released
  logic [3:0] f_list [Triggers];              // of which counter,
  logic [Tb:0] f_pos [Triggers];              // and behind how many others
  logic [Tb:0] f_len [Counts];
  logic [Triggers-1:0] f_older [Triggers];    // those that were given after it
  logic [4:0] f_what [Triggers];              // class and kind
  logic [63:0] f_when [Triggers];             // threshold
  logic [127:0] f_count [Counts];
  logic [Tb-1:0] f_ready [Triggers];          // contents of u_ready and u_due, oldest first
  logic [Tb:0] f_ready_count;
  logic [3:0] f_due [Counts];
  logic [4:0] f_due_count;
  logic f_placing, f_remove, f_insert, f_was_ready, f_was_pop;
  logic [63:0] f_sum [Counts];
  logic [Triggers-1:0] f_at_op, f_at_cur;
  assign f_placing = state_q == Walk || state_q == Step || state_q == Link;
  assign f_remove  = state_q == Compare && fires;
  assign f_insert  = (append && at_end) || state_q == Link;
  assign f_at_op   = Triggers'(1) << op_at;
  assign f_at_cur  = Triggers'(1) << cur_q;
  integer i, j, c, n;
  always_comb for (c = 0; c < Counts; c = c + 1) f_sum[c] = f_count[c][63:0] + f_count[c][127:64];

  // What surrounds it: queues that keep their order, two counters
  always_comb begin
    assume (rst_ni == f_started);
    assume (reg_addr_i[8:6] == 3'd0 && count_ct_i < Counts && op_ct < Counts && cur_cmd.ct < Counts);
    assume (due_valid == (f_due_count != '0));
    if (due_valid) assume (due_ct == f_due[0]);
    assume (ready_count == f_ready_count);
    if (ready_valid) assume (f_ready_count != '0 && ready_at == f_ready[0]);
    if (f_was_ready && !f_was_pop) assume (ready_valid);
  end

  // The same by its meaning
  always @(posedge clk_i) begin
    f_started   <= 1'b1;
    f_was_ready <= f_started && ready_valid;
    f_was_pop   <= ready_pop;
    if (!f_started) begin
      f_in <= '0;
      f_out <= '0;
      f_ready_count <= '0;
      f_due_count <= '0;
      for (c = 0; c < Counts; c = c + 1) begin
        f_len[c] <= '0;
        f_count[c] <= '0;
      end
    end else begin
      f_in  <= (f_in & ~(f_remove ? f_at_cur : '0)) | (f_insert ? f_at_op : '0);
      f_out <= (f_out & ~(ready_pop ? Triggers'(1) << ready_at : '0)) | (ready_push ? f_at_cur : '0);
      for (c = 0; c < Counts; c = c + 1) begin
        if (f_remove && ct_q == c) f_len[c] <= f_len[c] - 1'b1;
        if (f_insert && op_ct == c) f_len[c] <= f_len[c] + 1'b1;
        if (count_valid_i && count_ready_o && count_ct_i == c) begin
          f_count[c] <= {f_count[c][127:64] + 64'(count_failure_i), f_count[c][63:0] + 64'(count_success_i)};
        end else if (state_q == Execute && cur_cmd.ct == c) begin
          if (cur_cmd.kind == KindCtSet) f_count[c] <= {cur_cmd.operand2, cur_cmd.operand};
          else f_count[c] <= {f_count[c][127:64] + cur_cmd.operand2, f_count[c][63:0] + cur_cmd.operand};
        end else if (op_valid && op_pop && op_ct == c) begin
          if (op_kind == OpWrite) f_count[c][32 * op_half +: 32] <= op_value[31:0];
          if (op_kind == OpAdd && !op_half[0]) f_count[c][63:0] <= f_count[c][63:0] + op_value;
          if (op_kind == OpAdd && op_half[0]) f_count[c][127:64] <= f_count[c][127:64] + op_value;
        end
      end
      for (i = 0; i < Triggers; i = i + 1) begin
        if (append) f_older[i] <= op_at == i ? '0 : f_older[i] | f_at_op;
        if (append && op_at == i) begin
          f_what[i] <= {op_class, op_cmd[3:0]};
          f_when[i] <= op_value;
        end
        if (f_insert && op_at == i) begin
          f_list[i] <= op_ct;
          f_pos[i]  <= (state_q == Link) ? f_pos[cur_q] : f_len[op_ct];
        end else if (f_remove && f_list[i] == ct_q) begin
          f_pos[i] <= f_pos[i] - 1'b1;
        end else if (state_q == Link && f_list[i] == op_ct && f_pos[i] >= f_pos[cur_q]) begin
          f_pos[i] <= f_pos[i] + 1'b1;
        end
        if (ready_push && i == f_ready_count - (Tb + 1)'(ready_pop)) f_ready[i] <= cur_q;
        else if (ready_pop) f_ready[i] <= f_ready[i == Triggers - 1 ? 0 : i + 1];
      end
      f_ready_count <= f_ready_count + (Tb + 1)'(ready_push) - (Tb + 1)'(ready_pop);
      for (c = 0; c < Counts; c = c + 1) begin
        if (due_push && c == f_due_count - 5'(due_pop)) f_due[c] <= due_next;
        else if (due_pop) f_due[c] <= f_due[c == Counts - 1 ? 0 : c + 1];
      end
      f_due_count <= f_due_count + 5'(due_push) - 5'(due_pop);
    end
  end

  always @(*) if (f_started) begin
    // what is promised
    if (ready_push || (f_remove && is_ct)) begin
      assert (f_in[cur_q] && f_list[cur_q] == ct_q);
      if (!cancel_q) assert (f_when[cur_q] <= f_sum[ct_q]);
      for (j = 0; j < Triggers; j = j + 1)
        if (f_in[j] && f_list[j] == ct_q && j != cur_q)
          assert (f_when[cur_q] < f_when[j] || (f_when[cur_q] == f_when[j] && f_older[cur_q][j]));
    end
    if (ready_pop) assert (f_out[ready_at]);
    if (launch_q == Offer) assert (ready_valid && cmd_valid_o == (f_what[ready_at][4] ? 2'b10 : 2'b01) &&
                                   cmd_o[3:0] == f_what[ready_at][3:0] && f_what[ready_at][3:1] != KindCtInc[3:1]);
    for (i = 0; i < Triggers; i = i + 1) begin
      assert (valid_q[i] == (f_in[i] || f_out[i] || (f_placing && op_at == i)));
      if (state_q == Idle && !due_valid && f_in[i]) assert (f_when[i] > f_sum[f_list[i]]);
    end
    for (c = 0; c < Counts; c = c + 1) assert ((known_q[c] ? count_mem[c] : 128'd0) == f_count[c]);
    if (ready_push) assert (f_ready_count < Triggers);     // queues have room
    if (due_push) assert (f_due_count < Counts);

    // what makes it so: the lists
    for (c = 0; c < Counts; c = c + 1) begin
      assert (some_q[c] == (f_len[c] != '0) && f_len[c] <= Triggers);
      n = 0;
      for (i = 0; i < Triggers; i = i + 1) if (f_in[i] && f_list[i] == c) n = n + 1;
      assert (n == f_len[c]);
      if (some_q[c]) begin
        assert (f_in[head_mem[c]] && f_list[head_mem[c]] == c && f_pos[head_mem[c]] == '0);
        assert (f_in[tail_mem[c]] && f_list[tail_mem[c]] == c && f_pos[tail_mem[c]] == f_len[c] - 1'b1);
        assert (last_mem[c] == f_when[tail_mem[c]]);
        // one whose first is reached is not forgotten
        if (f_when[head_mem[c]] <= f_sum[c])
          assert (due_q[c] || (ct_q == c && !cancel_q &&
                               (state_q == Check || state_q == Look || state_q == Compare || state_q == Execute)));
      end
    end
    for (i = 0; i < Triggers; i = i + 1) begin
      if (f_in[i]) assert (f_list[i] < Counts && f_pos[i] < f_len[f_list[i]] && !f_out[i] && !(f_placing && op_at == i));
      if (valid_q[i]) assert (threshold_mem[i] == f_when[i] && {cmd_mem[i][512], cmd_mem[i][3:0]} == f_what[i]);
      if (f_out[i]) assert (f_what[i][3:1] != KindCtInc[3:1] && !(f_placing && op_at == i));
      for (j = 0; j < Triggers; j = j + 1)
        if (i != j && f_in[i] && f_in[j] && f_list[i] == f_list[j]) begin
          assert (f_pos[i] != f_pos[j]);
          if (f_pos[i] < f_pos[j]) assert (f_when[i] < f_when[j] || (f_when[i] == f_when[j] && f_older[i][j]));
          if (f_pos[j] == f_pos[i] + 1'b1)
            assert (next_mem[i] == ((state_q == Link && !first_q && prior_q == i) ? op_at : Tb'(j)));
        end
    end
    // the queues: each once
    n = 0;
    for (i = 0; i < Triggers; i = i + 1) if (f_out[i]) n = n + 1;
    assert (n == f_ready_count);
    for (i = 0; i < Triggers; i = i + 1) if (i < f_ready_count) begin
      assert (f_out[f_ready[i]]);
      for (j = 0; j < i; j = j + 1) assert (f_ready[i] != f_ready[j]);
    end
    n = 0;
    for (c = 0; c < Counts; c = c + 1) if (due_q[c]) n = n + 1;
    assert (n == f_due_count);
    for (c = 0; c < Counts; c = c + 1) if (c < f_due_count) begin
      assert (f_due[c] < Counts && due_q[f_due[c]]);
      for (j = 0; j < c; j = j + 1) assert (f_due[c] != f_due[j]);
    end
    // the states
    assert (ct_q < Counts);
    if (state_q != Idle && state_q != Look && state_q != Compare) assert (!cancel_q);
    if (state_q == Look || state_q == Compare) begin
      assert (some_q[ct_q] && cur_q == head_mem[ct_q]);
      if (!cancel_q) assert (reached_q == f_sum[ct_q]);
    end
    if (state_q == Compare || state_q == Step) assert (threshold_out_q == f_when[cur_q] && next_out_q == next_mem[cur_q]);
    if (state_q == Compare) assert (cmd_out_q[3:0] == f_what[cur_q][3:0]);
    if (state_q == Execute) assert (is_ct);
    if (f_placing) begin
      assert (op_valid && op_kind == OpAppend && op_index < Triggers && f_when[op_at] == op_value && some_q[op_ct] &&
              op_value < last_mem[op_ct] && f_in[cur_q] && f_list[cur_q] == op_ct && first_q == (f_pos[cur_q] == '0));
      if (!first_q) assert (f_in[prior_q] && f_list[prior_q] == op_ct && f_pos[cur_q] == f_pos[prior_q] + 1'b1 &&
                            f_when[prior_q] <= op_value);
      for (j = 0; j < Triggers; j = j + 1) if (f_in[j] && f_list[j] == op_ct) assert (f_older[j][op_at]);
      if (state_q == Link) assert (op_value < f_when[cur_q]);
    end
    if (launch_q != Rest) assert (ready_valid);
    if (launch_q == Got) assert ({cmd_out_q[512], cmd_out_q[3:0]} == f_what[ready_at]);
    if (launch_q == Offer) assert ({out_q[512], out_q[3:0]} == f_what[ready_at]);
  end
endmodule
