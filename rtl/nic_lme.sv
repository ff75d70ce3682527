// List-matching engine: per portal table index of each context a priority and an overflow list, each in the
// order of appending. Entries lie in RAM whose output is a register: the next one is read while one is compared, so a
// list of n entries takes n + 1 cycles. The host names the entry (its number) when it appends or unlinks. An entry
// counts the messages that still use its buffer; while there are any, an unlink is refused unless it is forced,
// and a forced append waits, while messages go on. What overflow entries took and an append or a search asks
// for is nic_headers': no message is looked at meanwhile. Headers use the entry that they point into, too.
module nic_lme import nic_pkg::*; #(
  parameter int unsigned Entries = 1024,
  parameter int unsigned Headers = 1024,
  localparam int unsigned Eb = $clog2(Entries),
  localparam int unsigned Banks = (Entries + 31) / 32
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  // contexts and their portal tables
  input  logic [Contexts*CtxBits-1:0] ctx_i,
  input  logic [Lists-1:0]   pt_enable_i,
  input  logic [Lists-1:0]   pt_mute_i,      // whose messages count nothing
  input  logic [Lists-1:0]   pt_auto_i,      // which disable themselves after a message without entry
  output logic               pt_disable_o,   // one does
  output logic [ListBits-1:0] pt_disable_at_o,
  // host
  input  logic               append_i,
  input  logic               unlink_i,
  input  logic               search_i,
  input  logic               force_i,        // unlink: even in use; append: once it is no longer in use; search: delete
  input  logic               tell_i,         // append: AUTO_UNLINK is told, in that queue
  input  logic [1:0]         eq_i,
  input  logic [15:0]        index_i,
  input  me_t                entry_i,
  output logic               busy_o,         // an append, unlink or search waits or is at work: no other is taken
  output logic               used_up_o,      // the last append found headers, and was not linked
  output logic               later_o,        // and is told when they are there
  input  logic [$clog2(Banks+1)-1:0] bank_i, // 32 entries each
  output logic [31:0]        valid_o,        // of the bank: in a list
  output logic [31:0]        in_use_o,       // a message uses the buffer
  output logic               bad_o,          // append on a used entry, unlink of an unused or busy one
  output logic [HdrBits:0]   headers_o,      // unexpected ones that are kept
  // messages
  input  logic               req_valid_i,
  output logic               req_ready_o,
  input  lme_req_t           req_i,
  output logic               res_valid_o,
  output lme_res_t           res_o,
  input  logic [1:0]         done_i,         // a message that matched has ended, per class
  input  logic [15:0]        done_me0_i,
  input  logic [15:0]        done_me1_i,
  // the event of a message that left a header has been written
  input  logic               there_i,
  input  logic [HdrBits-1:0] there_at_i,
  input  status_t            there_status_i,
  output logic               ev_valid_o,     // of headers
  input  logic               ev_ready_i,
  output logic [EvBits-1:0]  ev_o
);
  typedef enum logic [2:0] {Idle, Search, Take, Answer, Fetch, Cut, Seek} state_t;

  logic [MeBits-1:0] me_mem [Entries];
  logic [63:0] local_mem [Entries];   // next locally managed offset
  logic [7:0] use_mem [Entries];      // messages that use the entry
  logic [Eb-1:0] next_mem [Entries], prev_mem [Entries];
  logic [Entries-1:0] valid_q, in_use_q;
  logic [Eb-1:0] head_mem [2 * Lists], tail_mem [2 * Lists];   // index {overflow, context, portal index}
  logic [2*Lists-1:0] some_q;                                  // the list is not empty

  state_t state_q;
  lme_req_t req_q;
  lme_res_t res_q;
  logic [ListBits:0] list_q;
  logic [Eb-1:0] fetch_q, end_q, cur_q;   // is read now; last of the list; is compared now
  logic fetching_q, here_q, last_q;       // fetch_q, cur_q are valid; cur_q is the last one
  logic found_q;                          // cut after a match, not for the host
  logic muted_q;                          // the message counts nothing

  logic op_q, op_unlink_q, op_search_q, op_force_q, op_tell_q;  // a host command waits
  logic [1:0] op_eq_q;
  logic used_up_q, later_q;
  me_t op_me_q;
  logic [15:0] op_index_q;

  // ---- which context the message is for ---------------------------------------------------------------
  logic [Contexts-1:0] for_ctx;
  logic [3:0] ctx_at;
  logic [ListBits-1:0] req_list;
  always_comb begin
    ctx_at = '0;
    for (int unsigned i = 0; i < Contexts; i++) begin   // {enable, ni, pid} above the user number
      for_ctx[i] = ctx_i[i * CtxBits + 32 +: 19] == {1'b1, req_i.ni, req_i.dst_pid};
      if (for_ctx[i]) ctx_at = 4'(i);
    end
  end
  assign req_list = {ctx_at, req_i.pt[3:0]};

  // ---- comparing the current entry ----------------------------------------------------------------
  me_t me;
  logic [MeBits-1:0] me_out_q;
  logic [63:0] local_out_q;
  logic [63:0] at, room, bytes, start, offset;
  logic hit, put_like, get_like;
  logic [31:0] fits, mlength;
  assign me       = me_out_q;
  // a loose entry's bytes lie where the upper bits say: the lower ones are what the initiator meant
  assign offset   = me.loose ? {{(64 - PlaceBit){1'b0}}, req_q.offset[PlaceBit-1:0]} : req_q.offset;
  assign at       = me.manage_local ? local_out_q : offset;
  assign bytes    = {16'd0, me.length_hi, me.length};
  assign room     = (at < bytes) ? bytes - at : 64'd0;
  assign fits     = ({32'd0, req_q.length} < room) ? req_q.length : room[31:0];
  assign mlength  = me.loose ? req_q.length : fits;
  assign start    = me.start + (me.loose ? {req_q.offset[63:PlaceBit], {PlaceBit{1'b0}}} : at);
  assign hit      = ((me.match ^ req_q.match) & ~me.ignore_bits) == '0 &&
                    (me.src_any || me.src == req_q.src) &&
                    (me.pid_any || me.pid == req_q.pid) &&
                    !(me.no_truncate && (at > bytes || {32'd0, req_q.length} > room));
  assign put_like = req_q.kind != KindGet;
  assign get_like = req_q.kind == KindGet || req_q.kind == KindFetch;

  logic its_user, allowed, leaves, keeps, lacks, take;
  logic [63:0] rest;
  assign its_user = me.uid_any || me.uid == req_q.uid;
  assign allowed  = its_user && (!put_like || me.op_put) && (!get_like || me.op_get);
  assign rest     = room - {32'd0, fits};
  assign leaves   = allowed && (me.use_once || (me.manage_local && rest < {32'd0, me.min_free}));
  assign keeps    = allowed && list_q[ListBits] && me.keep_hdr;
  assign lacks    = keeps && !hdr_room && !me.loose;
  // what a loose entry refuses the host refuses: it comes in, but does nothing to the entry, and counts nothing
  assign take     = state_q == Take && (allowed || me.loose) && !lacks && !(keeps && hdr_hold);

  logic op_go;
  assign busy_o      = op_q || state_q == Fetch || (state_q == Cut && !found_q);
  assign req_ready_o = state_q == Idle && !op_go;
  assign res_valid_o = state_q == Answer;
  assign res_o       = res_q;
  logic [32*Banks-1:0] all_valid, all_in_use;
  assign all_valid   = (32 * Banks)'(valid_q);
  assign all_in_use  = (32 * Banks)'(in_use_q | hdr_held);
  assign valid_o     = all_valid[bank_i * 32 +: 32];
  assign in_use_o    = all_in_use[bank_i * 32 +: 32];

  logic op_fits;
  logic [Eb-1:0] op_at;
  logic [ListBits:0] op_list;
  assign op_at   = op_index_q[Eb-1:0];
  assign op_fits = op_index_q < 16'(Entries) || op_search_q;
  assign op_list = {op_me_q.overflow, op_me_q.ctx, op_me_q.pt};
  logic op_waits, op_bad, op_append, op_used, op_seeks;
  assign op_used   = in_use_q[op_at] || hdr_held[op_at];
  assign op_waits  = op_force_q && !op_unlink_q && !op_search_q && op_fits && !valid_q[op_at] && op_used;
  assign op_go     = state_q == Idle && op_q && !op_waits;
  assign op_bad    = !op_fits || (!op_search_q && (op_unlink_q ? (!valid_q[op_at] || (op_used && !op_force_q)) : (valid_q[op_at] || op_used)));
  // an append to a priority list looks through the headers first
  assign op_seeks  = op_search_q || (!op_unlink_q && !op_me_q.overflow && hdr_some[op_list[ListBits-1:0]]);
  assign op_append = (op_go && !op_bad && !op_unlink_q && !op_seeks) ||
                     (state_q == Seek && seek_done && !op_search_q && !seek_used_up);
  assign bad_o     = (op_go && op_bad) || ((append_i || unlink_i || search_i) && op_q);
  assign used_up_o = used_up_q;
  assign later_o   = later_q;

  // ---- unexpected headers ----------------------------------------------------------------------------
  logic [Lists-1:0] hdr_some;
  logic [Entries-1:0] hdr_held;
  logic [HdrBits-1:0] hdr_at;
  logic hdr_room, hdr_hold, seek_done, seek_used_up, seek_later;
  logic [63:0] seek_local;
  uhdr_t hdr;
  always_comb begin
    hdr           = '0;
    hdr.at_list      = list_q[ListBits-1:0];
    hdr.me        = 16'(cur_q);
    hdr.loose     = me.loose;
    hdr.tell_free = me.tell_free;
    hdr.free_eq   = me.eq;
    hdr.free_user = me.user;
    hdr.kind      = req_q.kind;
    hdr.src       = req_q.src;
    hdr.pid       = req_q.pid;
    hdr.rlength   = req_q.length;
    hdr.mlength   = mlength;
    hdr.match     = req_q.match;
    hdr.hdr_data  = req_q.hdr_data;
    hdr.start     = start;
    hdr.used      = at;
    hdr.offset    = offset;
  end
  nic_headers #(.Headers(Headers), .Entries(Entries)) u_headers (
    .clk_i, .rst_ni, .room_o(hdr_room), .put_at_o(hdr_at), .hold_o(hdr_hold), .put_i(take && keeps && hdr_room), .put_hdr_i(hdr),
    .put_leaves_i(leaves), .held_o(hdr_held), .count_o(headers_o), .there_i, .there_at_i, .there_status_i,
    .some_o(hdr_some), .seek_i(state_q == Seek),
    .seek_op_i(!op_search_q ? SeekAppend : op_force_q ? SeekDelete : SeekOnly), .seek_index_i(op_index_q),
    .seek_tell_i(op_tell_q), .seek_eq_i(op_eq_q), .seek_me_i(op_me_q), .done_o(seek_done), .used_up_o(seek_used_up),
    .later_o(seek_later), .local_o(seek_local), .ev_valid_o, .ev_ready_i, .ev_o
  );

  // the search is over without an entry
  logic missed;
  assign missed          = (state_q == Search && list_q[ListBits] &&
                            (!some_q[list_q] || (here_q && !hit && last_q))) || (state_q == Take && allowed && lacks && !hdr_hold);
  assign pt_disable_o    = missed && pt_auto_i[list_q[ListBits-1:0]];
  assign pt_disable_at_o = list_q[ListBits-1:0];

  // the neighbours of an entry that is cut out
  logic [Eb-1:0] prior, later;
  logic is_head, is_tail;
  assign prior   = prev_mem[cur_q];
  assign later   = next_mem[cur_q];
  assign is_head = head_mem[list_q] == cur_q;
  assign is_tail = tail_mem[list_q] == cur_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      valid_q <= '0;
      some_q  <= '0;
      op_q    <= 1'b0;
      op_unlink_q <= 1'b0;
      op_search_q <= 1'b0;
      op_force_q  <= 1'b0;
      op_tell_q   <= 1'b0;
      op_eq_q     <= '0;
      used_up_q   <= 1'b0;
      later_q     <= 1'b0;
      op_index_q  <= '0;
      list_q  <= '0;
      fetch_q <= '0;
      end_q   <= '0;
      cur_q   <= '0;
      fetching_q <= 1'b0;
      here_q  <= 1'b0;
      last_q  <= 1'b0;
      found_q <= 1'b0;
      muted_q <= 1'b0;
      res_q   <= '0;
    end else begin
      if ((append_i || unlink_i || search_i) && !op_q) begin
        op_q        <= 1'b1;
        op_unlink_q <= unlink_i;
        op_search_q <= search_i;
        op_tell_q   <= tell_i;
        op_eq_q     <= eq_i;
        used_up_q   <= 1'b0;
        later_q     <= 1'b0;
        op_force_q  <= force_i;
        op_index_q  <= index_i;
      end
      unique case (state_q)
        Idle: begin
          found_q <= 1'b0;
          here_q  <= 1'b0;
          if (op_go) begin
            if (op_bad || !op_seeks) op_q <= 1'b0;
            if (!op_bad && op_unlink_q) begin
              fetch_q <= op_at;   // for the list that it is in
              state_q <= Fetch;
            end else if (!op_bad && op_seeks) begin
              state_q <= Seek;
            end
          end else if (req_valid_i) begin
            list_q     <= {1'b0, req_list};
            fetch_q    <= head_mem[{1'b0, req_list}];
            end_q      <= tail_mem[{1'b0, req_list}];
            fetching_q <= some_q[{1'b0, req_list}];
            res_q      <= '0;
            muted_q    <= pt_mute_i[req_list];
            if (for_ctx == '0) begin
              res_q.status <= StNoProcess;
              state_q      <= Answer;
            end else if (req_i.pt > 8'd15) begin
              res_q.status <= StBadIndex;
              state_q      <= Answer;
            end else if (!pt_enable_i[req_list]) begin
              res_q.status <= StPtDisabled;
              state_q      <= Answer;
            end else begin
              state_q <= Search;
            end
          end
        end
        Search: begin
          cur_q      <= fetch_q;
          here_q     <= fetching_q;
          last_q     <= fetch_q == end_q;
          fetch_q    <= next_mem[fetch_q];
          if (fetch_q == end_q) fetching_q <= 1'b0;
          if (here_q && hit) begin
            cur_q   <= cur_q;
            state_q <= Take;
          end else if (!some_q[list_q] || (here_q && last_q)) begin
            here_q <= 1'b0;
            if (!list_q[ListBits]) begin   // then the overflow list
              list_q[ListBits] <= 1'b1;
              fetch_q    <= head_mem[{1'b1, list_q[ListBits-1:0]}];
              end_q      <= tail_mem[{1'b1, list_q[ListBits-1:0]}];
              fetching_q <= some_q[{1'b1, list_q[ListBits-1:0]}];
            end else begin
              res_q.status <= StNoMatch;
              state_q      <= Answer;
            end
          end
        end
        Take: if (!(keeps && hdr_hold)) begin
          res_q.status <= (allowed || me.loose) ? (lacks ? StDropped : StOk) : its_user ? StOperation : StPermission;
          if (take) begin
            res_q.matched  <= 1'b1;
            res_q.hdr_en   <= keeps && hdr_room;
            res_q.hdr      <= hdr_at;
            res_q.me       <= 16'(cur_q);
            res_q.start    <= start;
            res_q.mlength  <= mlength;
            res_q.offset   <= at;
            res_q.unlinked <= leaves;
            res_q.overflow <= list_q[ListBits];
            res_q.ack_off  <= me.ack_off && allowed;
            res_q.ev_en    <= !me.comm_disable;
            res_q.quiet    <= me.quiet;
            res_q.tell_left <= me.tell_left;
            res_q.eq       <= me.eq;
            res_q.ct_en    <= me.ct_en && allowed && !muted_q && !(me.ct_puts && get_like);
            res_q.ct_bytes <= me.ct_bytes;
            res_q.ct       <= me.ct;
            res_q.user     <= me.user;
          end
          found_q <= 1'b1;
          state_q <= (take && leaves) ? Cut : Answer;
        end
        Fetch: begin
          cur_q  <= fetch_q;
          here_q <= 1'b1;
          list_q <= {me.overflow, me.ctx, me.pt};
          if (here_q) state_q <= Cut;   // me is there since this cycle began
        end
        Cut: begin
          valid_q[cur_q] <= 1'b0;
          if (is_head && is_tail) some_q[list_q] <= 1'b0;
          state_q <= found_q ? Answer : Idle;
        end
        Seek: if (seek_done) begin
          op_q      <= 1'b0;
          used_up_q <= seek_used_up;
          later_q   <= seek_later;
          state_q   <= Idle;
        end
        default: state_q <= Idle;   // Answer
      endcase
      if (op_append) begin
        valid_q[op_at]  <= 1'b1;
        some_q[op_list] <= 1'b1;
      end
    end
  end

  // Tables without reset: read only where valid_q or some_q say so
  logic [Eb-1:0] op_tail;
  assign op_tail = tail_mem[op_list];
  always_ff @(posedge clk_i) begin
    if ((append_i || unlink_i || search_i) && !op_q) op_me_q <= entry_i;
    if (state_q == Idle && !op_go && req_valid_i) req_q <= req_i;
    if ((state_q == Search && !(here_q && hit)) || state_q == Fetch) begin
      me_out_q    <= me_mem[fetch_q];
      local_out_q <= local_mem[fetch_q];
    end
    if (op_append) me_mem[op_at] <= op_me_q;
    if (op_append) local_mem[op_at] <= (state_q == Seek) ? seek_local : '0;
    else if (take && me.manage_local && allowed) local_mem[cur_q] <= at + {32'd0, fits};
    // append behind the tail; cut: the neighbours know each other
    if (op_append && some_q[op_list]) next_mem[op_tail] <= op_at;
    else if (state_q == Cut && !is_head) next_mem[prior] <= later;
    if (op_append) prev_mem[op_at] <= op_tail;
    else if (state_q == Cut && !is_tail) prev_mem[later] <= prior;
    if (op_append && !some_q[op_list]) head_mem[op_list] <= op_at;
    else if (state_q == Cut && is_head) head_mem[list_q] <= later;
    if (op_append) tail_mem[op_list] <= op_at;
    else if (state_q == Cut && is_tail) tail_mem[list_q] <= prior;
  end

  // ---- messages that use an entry: one changes per cycle, ends wait for matches ---------------------------
  // At most 17 messages of a class have matched and not ended: no end is lost.
  logic [1:0] end_valid, end_pop, unused_end_ready;
  logic [Eb-1:0] end_me [2];
  logic [5:0] unused_end_count [2];
  nic_fifo #(.Width(Eb), .Depth(32)) u_end0 (
    .clk_i, .rst_ni, .valid_i(done_i[0]), .ready_o(unused_end_ready[0]), .data_i(done_me0_i[Eb-1:0]),
    .valid_o(end_valid[0]), .ready_i(end_pop[0]), .data_o(end_me[0]), .count_o(unused_end_count[0])
  );
  nic_fifo #(.Width(Eb), .Depth(32)) u_end1 (
    .clk_i, .rst_ni, .valid_i(done_i[1]), .ready_o(unused_end_ready[1]), .data_i(done_me1_i[Eb-1:0]),
    .valid_o(end_valid[1]), .ready_i(end_pop[1]), .data_o(end_me[1]), .count_o(unused_end_count[1])
  );
  logic [Eb-1:0] use_at;
  logic [7:0] use_was, use_is;
  logic use_turn_q;
  assign end_pop = take ? 2'b00 : (end_valid == 2'b11) ? (use_turn_q ? 2'b10 : 2'b01) : end_valid;
  assign use_at  = take ? cur_q : end_pop[1] ? end_me[1] : end_me[0];
  assign use_was = in_use_q[use_at] ? use_mem[use_at] : 8'd0;
  assign use_is  = take ? use_was + 8'd1 : use_was - 8'd1;
  always_ff @(posedge clk_i) if (take || end_pop != '0) use_mem[use_at] <= use_is;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_use_q   <= '0;
      use_turn_q <= 1'b0;
    end else begin
      use_turn_q <= !use_turn_q;
      if (take || end_pop != '0) in_use_q[use_at] <= use_is != '0;
    end
  end
  logic unused;
  assign unused = ^{req_q.pt, req_q.dst_pid, req_q.ni, me.rsvd, me.rsvd2, me.add_lengths, me.count_over, me.no_over, rest, unused_end_ready,
                    done_me0_i, done_me1_i, ctx_i, unused_end_count[0], unused_end_count[1]};
endmodule
