  // This text stands at the end of nic_lme in its proof (proofs.sh), made small by lme.sed. Proved: an entry that was
  // appended is in its list, once, until it is unlinked or leaves with a message; a list is in order of appending, whoever
  // leaves it; a message takes the first entry that it fits, of the priority list before the overflow list, and is
  // told that there is none only when there is none.
  logic f_started = 1'b0;
  (* anyseq *) logic [Entries-1:0] f_any;
  logic [Entries-1:0] f_fits_q;                // entries that the message fits which is looked for
  logic [Entries-1:0] f_in;
  logic [ListBits:0] f_list [Entries];         // where it is,
  logic [Eb:0] f_pos [Entries];                // behind how many
  logic [Eb:0] f_len [2 * Lists];
  logic [Entries-1:0] f_younger [Entries];     // appended after it
  logic f_cut, f_gone;
  me_t f_me;
  integer i, j, l, n;
  assign f_cut  = state_q == Cut;
  assign f_gone = state_q == Search && list_q[ListBits] && (!some_q[list_q] || (here_q && !hit && last_q));
  always @(*) assume (rst_ni == f_started && !(unlink_i && search_i));   // as nic_lops asks

  always @(posedge clk_i) begin
    f_started <= 1'b1;
    if (state_q == Idle) f_fits_q <= f_any;
    if (!f_started) begin
      f_in <= '0;
      for (l = 0; l < 2 * Lists; l = l + 1) f_len[l] <= '0;
    end else begin
      f_in <= (f_in & ~(f_cut ? Entries'(1) << cur_q : '0)) | (op_append ? Entries'(1) << op_at : '0);
      for (l = 0; l < 2 * Lists; l = l + 1) begin
        if (f_cut && list_q == l) f_len[l] <= f_len[l] - 1'b1;
        if (op_append && op_list == l) f_len[l] <= f_len[l] + 1'b1;
      end
      for (i = 0; i < Entries; i = i + 1) begin
        if (op_append) f_younger[i] <= op_at == i ? '0 : f_younger[i] | (Entries'(1) << op_at);
        if (op_append && op_at == i) begin
          f_list[i] <= op_list;
          f_pos[i]  <= f_len[op_list];
        end else if (f_cut && f_list[i] == list_q && f_pos[i] > f_pos[cur_q]) begin
          f_pos[i] <= f_pos[i] - 1'b1;
        end
      end
    end
  end

  always @(*) begin
    f_me = '0;
    if (f_started) begin
      // what is promised
      if (state_q == Take || f_gone) begin
        if (state_q == Take) assert (f_in[cur_q] && f_list[cur_q] == list_q && f_fits_q[cur_q]);
        for (j = 0; j < Entries; j = j + 1)
          if (f_in[j] && f_list[j][ListBits-1:0] == list_q[ListBits-1:0] && (f_gone || f_list[j] < list_q ||
              (f_list[j] == list_q && (f_pos[j] < f_pos[cur_q] || f_younger[j][cur_q]))))
            assert (!f_fits_q[j] || (state_q == Take && j == cur_q));
      end
      if (op_append) assert (!f_in[op_at] && op_index_q < Entries);
      if (f_cut) assert (f_in[cur_q] && f_list[cur_q] == list_q);
      assert (valid_q == f_in);

      // what makes it so: the lists
      for (l = 0; l < 2 * Lists; l = l + 1) begin
        assert (some_q[l] == (f_len[l] != '0) && f_len[l] <= Entries);
        n = 0;
        for (i = 0; i < Entries; i = i + 1) if (f_in[i] && f_list[i] == l) n = n + 1;
        assert (n == f_len[l]);
        if (some_q[l]) begin
          assert (f_in[head_mem[l]] && f_list[head_mem[l]] == l && f_pos[head_mem[l]] == '0);
          assert (f_in[tail_mem[l]] && f_list[tail_mem[l]] == l && f_pos[tail_mem[l]] == f_len[l] - 1'b1);
        end
      end
      for (i = 0; i < Entries; i = i + 1) if (f_in[i]) begin
        f_me = me_mem[i];
        assert (f_pos[i] < f_len[f_list[i]] && {f_me.overflow, f_me.pt[0]} == f_list[i]);
        for (j = 0; j < Entries; j = j + 1)
          if (i != j && f_in[j] && f_list[i] == f_list[j]) begin
            assert (f_pos[i] != f_pos[j] && (f_pos[i] < f_pos[j]) == f_younger[i][j]);
            if (f_pos[j] == f_pos[i] + 1'b1) assert (next_mem[i] == j && prev_mem[j] == i);
          end
      end
      // the states
      assert (!(op_unlink_q && op_search_q));
      if (state_q == Fetch || state_q == Search) assert (!found_q);
      if (state_q == Search) begin
        if (some_q[list_q]) assert (end_q == tail_mem[list_q]);
        for (j = 0; j < Entries; j = j + 1)
          if (f_in[j] && (list_q[ListBits] && f_list[j] == {1'b0, list_q[ListBits-1:0]} ||
                          here_q && f_list[j] == list_q && f_pos[j] < f_pos[cur_q]))
            assert (!f_fits_q[j]);
        if (here_q) begin
          assert (f_in[cur_q] && f_list[cur_q] == list_q && last_q == (cur_q == end_q) && fetching_q == !last_q);
          assert ({me.overflow, me.pt[0]} == list_q);   // what is compared is that entry
          if (fetching_q) assert (f_in[fetch_q] && f_list[fetch_q] == list_q && f_pos[fetch_q] == f_pos[cur_q] + 1'b1);
        end else begin
          assert (fetching_q == some_q[list_q]);
          if (fetching_q) assert (fetch_q == head_mem[list_q]);
        end
      end
      if (state_q == Fetch) begin
        assert (f_in[fetch_q]);
        if (here_q) assert (cur_q == fetch_q && {me.overflow, me.pt[0]} == f_list[fetch_q]);
      end
      if (state_q == Seek) assert (op_q && (op_search_q || (!op_unlink_q && op_index_q < Entries && !valid_q[op_at])));
    end
  end
endmodule

// Unexpected headers: whatever they say
module nic_headers #(
  parameter int unsigned Headers = 1024,
  parameter int unsigned Entries = 1024
) (
  input  logic               clk_i, rst_ni, put_i, put_leaves_i, there_i, seek_i, seek_tell_i, ev_ready_i,
  input  uhdr_t              put_hdr_i,
  input  logic [HdrBits-1:0] there_at_i,
  input  status_t            there_status_i,
  input  logic [1:0]         seek_op_i, seek_eq_i,
  input  logic [15:0]        seek_index_i,
  input  me_t                seek_me_i,
  output logic               room_o, hold_o, done_o, used_up_o, later_o, ev_valid_o,
  output logic [HdrBits-1:0] put_at_o,
  output logic [Entries-1:0] held_o,
  output logic [HdrBits:0]   count_o,
  output logic [Lists-1:0]   some_o,
  output logic [63:0]        local_o,
  output logic [EvBits-1:0]  ev_o
);
  (* anyseq *) logic room, hold, done, used_up;
  (* anyseq *) logic [Entries-1:0] held;
  (* anyseq *) logic [Lists-1:0] some;
  assign {room_o, hold_o, done_o, used_up_o, held_o, some_o} = {room, hold, done, used_up, held, some};
  assign {later_o, ev_valid_o, put_at_o, count_o, local_o, ev_o} = '0;   // of no matter for lists
endmodule
