// Unexpected headers: what is known of messages that an overflow entry has taken, per portal table index of each context
// in the order of arrival. An entry that the host appends to a priority list, and a search, look through them: a cycle per
// header, while the matching engine waits, so that no message comes in between. What is found is told by events. A
// header whose message is not wholly in host memory yet is claimed by who finds it: it is told when the message's own
// event is. The header goes then, and with the last one of an entry that left its list by itself that entry is free;
// after that it is told that what found it is not in its list.
module nic_headers import nic_pkg::*; #(
  parameter int unsigned Headers = 1024,
  parameter int unsigned Entries = 1024,
  localparam int unsigned Hb = $clog2(Headers),
  localparam int unsigned Eb = $clog2(Entries)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  // a message is taken by an overflow entry
  output logic               room_o,         // put_at_o is free
  output logic [HdrBits-1:0] put_at_o,
  output logic               hold_o,         // not now
  input  logic               put_i,
  input  uhdr_t              put_hdr_i,
  input  logic               put_leaves_i,   // the entry leaves its list with this message
  output logic [Entries-1:0] held_o,         // entries that headers point into
  output logic [HdrBits:0]   count_o,
  // its event has been written: it is there, or has failed
  input  logic               there_i,
  input  logic [HdrBits-1:0] there_at_i,
  input  status_t            there_status_i,
  // an append or a search: held until done_o
  output logic [Lists-1:0]   some_o,         // there are headers
  input  logic               seek_i,
  input  logic [1:0]         seek_op_i,
  input  logic [15:0]        seek_index_i,
  input  logic               seek_tell_i,    // AUTO_UNLINK is told, in that queue
  input  logic [1:0]         seek_eq_i,
  input  me_t                seek_me_i,
  output logic               done_o,
  output logic               used_up_o,      // what is appended has found what it was for
  output logic               later_o,        // and the host is told when that is there
  output logic [63:0]        local_o,        // its locally managed offset
  output logic               ev_valid_o,
  input  logic               ev_ready_i,
  output logic [EvBits-1:0]  ev_o
);
  typedef enum logic [3:0] {Idle, Walk, Found, Tell, Due, DueTell, Cut, Free, DueUnlink, Close, Done} state_t;
  state_t state_q;
  typedef struct packed {
    logic [63:0] user;
    logic [15:0] index;
    logic [1:0]  eq, tell_eq;
    logic        eq_en, ct_en, ct_bytes, unlinked, tell;
    logic [3:0]  ct;
  } claim_t;
  localparam int unsigned ClaimBits = 93;

  logic [UhdrBits-1:0] hdr_mem [Headers];
  logic [ClaimBits-1:0] claim_mem [Headers];
  logic [3:0] status_mem [Headers];
  logic [Hb-1:0] next_mem [Headers], prev_mem [Headers];
  logic [Headers-1:0] there_q, claimed_q;
  logic [Hb-1:0] head_mem [Lists], tail_mem [Lists];
  logic [Lists-1:0] some_q;
  logic [Hb:0] held_mem [Entries];        // headers of an entry; 0 unless held_q
  logic [Entries-1:0] held_q, gone_q;     // gone_q: the entry left its list by itself
  logic [UhdrBits-1:0] hdr_out_q;
  logic [ClaimBits-1:0] claim_out_q;
  uhdr_t hdr;
  claim_t claim, claim_in;
  logic [Hb-1:0] fetch_q, end_q, cur_q;
  logic fetching_q, here_q, last_q;       // fetch_q, cur_q are valid; cur_q is the last one
  logic found_q, due_q;                   // something was found; a claimed header is told
  logic used_up_q, later_q;
  logic [Hb:0] count_q;
  logic [63:0] local_q;
  logic [ListBits-1:0] seek_list;
  assign hdr   = hdr_out_q;
  assign claim = claim_out_q;

  // ---- free places: those never used yet, then those that were given back -----------------------------
  logic [Hb:0] fresh_q, unused_free_count;
  logic [Hb-1:0] free_at, put_at;
  logic free_valid, is_fresh, unused_free_room;
  assign is_fresh = fresh_q != (Hb + 1)'(Headers);
  assign room_o   = is_fresh || free_valid;
  assign put_at   = is_fresh ? fresh_q[Hb-1:0] : free_at;
  assign put_at_o = HdrBits'(put_at);
  nic_queue #(.Width(Hb), .Depth(Headers)) u_free (
    .clk_i, .rst_ni, .valid_i(state_q == Cut), .ready_o(unused_free_room), .data_i(cur_q), .valid_o(free_valid),
    .ready_i(put_i && !is_fresh), .data_o(free_at), .count_o(unused_free_count)
  );

  // ---- what claimed headers wait for ----------------------------------------------------------------------
  logic [Hb-1:0] there_at, due_at;
  logic claim_now, due_push, due_valid, unused_due_room;
  logic [Hb:0] unused_due_count;
  assign there_at = there_at_i[Hb-1:0];
  assign due_push = there_i && claimed_q[there_at];
  nic_queue #(.Width(Hb), .Depth(Headers)) u_due (
    .clk_i, .rst_ni, .valid_i(due_push), .ready_o(unused_due_room), .data_i(there_at), .valid_o(due_valid),
    .ready_i(state_q == Due), .data_o(due_at), .count_o(unused_due_count)
  );

  // ---- comparing the current header --------------------------------------------------------------------------
  logic hit, once, is_append, is_there, consumes, over_ends;
  logic [63:0] bytes, begins, ends, left;
  me_t me;
  assign me        = seek_me_i;
  assign seek_list = {me.ctx, me.pt};
  assign once      = me.use_once;
  assign is_append = seek_op_i == SeekAppend;
  assign bytes     = {16'd0, me.length_hi, me.length};
  // where it would lie: an entry that manages its offset has that of the headers before
  assign begins    = me.manage_local ? local_q : hdr.offset;
  assign ends      = begins + {32'd0, hdr.rlength};
  assign over_ends = ends < begins || ends > bytes;
  assign hit       = !claimed_q[cur_q] && ((me.match ^ hdr.match) & ~me.ignore_bits) == '0 &&
                     (me.src_any || me.src == hdr.src) && (me.pid_any || me.pid == hdr.pid) &&
                     !(me.no_truncate && over_ends);
  assign is_there  = there_q[cur_q] || (there_i && there_at == cur_q);
  assign left      = (ends < bytes) ? bytes - ends : 64'd0;
  assign consumes  = is_append && (once || (me.add_lengths && me.manage_local && left < {32'd0, me.min_free}));
  assign claim_now = state_q == Found && seek_op_i != SeekOnly && !is_there;
  always_comb begin
    claim_in          = '0;
    claim_in.user     = me.user;
    claim_in.index    = seek_index_i;
    claim_in.eq       = me.eq;
    claim_in.eq_en    = !me.no_over;
    claim_in.ct_en    = me.count_over;
    claim_in.ct_bytes = me.ct_bytes;
    claim_in.ct       = me.ct;
    claim_in.unlinked = consumes;
    claim_in.tell     = consumes && seek_tell_i;
    claim_in.tell_eq  = seek_eq_i;
  end

  // ---- the neighbours of a header that goes -------------------------------------------------------------------
  logic [Hb-1:0] prior, later, put_tail;
  logic [ListBits-1:0] cut_list;
  logic [Eb-1:0] cut_me, put_me;
  logic [ListBits-1:0] put_list;
  logic is_head, is_tail, last_held;
  logic [Hb:0] held_was, put_was;
  assign cut_list  = hdr.at_list;
  assign cut_me    = hdr.me[Eb-1:0];
  assign put_me    = put_hdr_i.me[Eb-1:0];
  assign put_list  = put_hdr_i.at_list;
  assign put_tail  = tail_mem[put_list];
  assign prior     = prev_mem[cur_q];
  assign later     = next_mem[cur_q];
  assign is_head   = head_mem[cut_list] == cur_q;
  assign is_tail   = tail_mem[cut_list] == cur_q;
  assign held_was  = held_mem[cut_me];
  assign put_was   = held_q[put_me] ? held_mem[put_me] : '0;
  assign last_held = !hdr.loose && held_was == (Hb + 1)'(1);
  assign hold_o    = state_q == Cut;
  assign held_o    = held_q;
  assign some_o    = some_q;
  assign count_o   = (HdrBits + 1)'(count_q);

  // ---- events --------------------------------------------------------------------------------------------------
  ev_t ev;
  status_t status;
  assign status = status_mem[cur_q];
  always_comb begin
    ev = '0;
    unique case (hdr.kind)   // the message's own type and 1
      KindGet: ev.etype = EvGet + 8'd1;
      KindPut: ev.etype = EvPut + 8'd1;
      KindAtomic: ev.etype = EvAtomic + 8'd1;
      default: ev.etype = EvFetch + 8'd1;
    endcase
    ev.peer  = hdr.src;
    ev.pid   = hdr.pid;
    ev.pt    = {4'd0, hdr.at_list[3:0]};
    ev.rlength  = hdr.rlength;
    ev.mlength  = hdr.mlength;
    ev.match    = hdr.match;
    ev.hdr_data = hdr.hdr_data;
    ev.start    = hdr.start;
    ev.offset   = hdr.used;
    ev.overflow = 1'b1;
    ev.status   = status;
    ev.user     = me.user;
    ev.slot     = seek_index_i;
    ev.eq       = me.eq;
    ev.eq_en    = !me.no_over;
    ev.ct_en    = me.count_over;
    ev.ct_bytes = me.ct_bytes;
    ev.ct       = me.ct;
    ev.unlinked = used_up_q;
    unique case (state_q)
      Tell: if (seek_op_i == SeekOnly) begin
        ev.etype = EvSearch;
        ev.eq_en = !me.comm_disable;
        if (!is_there) ev.status = StOk;
      end
      DueTell: begin
        ev.user     = claim.user;
        ev.slot     = claim.index;
        ev.eq       = claim.eq;
        ev.eq_en    = claim.eq_en;
        ev.ct_en    = claim.ct_en;
        ev.ct_bytes = claim.ct_bytes;
        ev.ct       = claim.ct;
        ev.unlinked = claim.unlinked;
      end
      DueUnlink: begin
        ev       = '0;
        ev.etype = EvAutoUnlink;
        ev.eq_en = 1'b1;
        ev.eq    = claim.tell_eq;
        ev.slot  = claim.index;
        ev.pt    = hdr.at_list;
        ev.user  = claim.user;
      end
      Free: begin
        ev       = '0;
        ev.etype = EvAutoFree;
        ev.eq_en = 1'b1;
        ev.eq    = hdr.free_eq;
        ev.slot  = hdr.me;
        ev.pt    = hdr.at_list;
        ev.user  = hdr.free_user;
        ev.overflow = 1'b1;
      end
      Close: begin   // a search has found nothing, or all
        ev        = '0;
        ev.etype  = EvSearch;
        ev.status = StNoMatch;
        ev.eq_en  = !found_q;
        ev.eq     = me.eq;
        ev.ct_en  = me.count_over;
        ev.ct     = me.ct;
        ev.slot   = seek_index_i;
        ev.pt     = {4'd0, me.pt};
        ev.match  = me.match;
        ev.user   = me.user;
        ev.overflow = 1'b1;
      end
      default: ;
    endcase
  end
  assign ev_o       = ev;
  assign ev_valid_o = state_q == Tell || state_q == DueTell || state_q == DueUnlink || state_q == Free || state_q == Close;

  logic ends_here, closes;
  state_t after;      // when the current header has been dealt with
  state_t onward;     // when it is gone, and its entry with it
  assign ends_here = consumes || once || last_q;
  assign closes    = !is_append && !(once && found_q);
  assign after     = closes ? Close : Done;
  always_comb begin
    if (due_q) onward = claim.tell ? DueUnlink : Idle;
    else onward = (used_up_q || once || last_q) ? after : Walk;
  end
  assign done_o    = state_q == Done;
  assign used_up_o = used_up_q;
  assign later_o   = later_q;
  assign local_o   = local_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      some_q    <= '0;
      held_q    <= '0;
      gone_q    <= '0;
      there_q   <= '0;
      claimed_q <= '0;
      fresh_q   <= '0;
      count_q   <= '0;
      fetch_q   <= '0;
      end_q     <= '0;
      cur_q     <= '0;
      fetching_q <= 1'b0;
      here_q    <= 1'b0;
      last_q    <= 1'b0;
      found_q   <= 1'b0;
      due_q     <= 1'b0;
      used_up_q <= 1'b0;
      later_q   <= 1'b0;
      local_q   <= '0;
    end else begin
      if (there_i) there_q[there_at] <= 1'b1;
      if (put_i) begin
        there_q[put_at]   <= 1'b0;
        claimed_q[put_at] <= 1'b0;
        some_q[put_list]  <= 1'b1;
        if (!put_hdr_i.loose) held_q[put_me] <= 1'b1;
        if (!put_hdr_i.loose) gone_q[put_me] <= put_leaves_i;
        count_q           <= count_q + 1'b1;
        if (is_fresh) fresh_q <= fresh_q + 1'b1;
      end
      unique case (state_q)
        Idle: begin
          here_q    <= 1'b0;
          found_q   <= 1'b0;
          used_up_q <= 1'b0;
          later_q   <= 1'b0;
          local_q   <= '0;
          due_q     <= 1'b0;
          if (due_valid) begin
            cur_q   <= due_at;
            due_q   <= 1'b1;
            state_q <= Due;
          end else if (seek_i) begin
            fetch_q    <= head_mem[seek_list];
            end_q      <= tail_mem[seek_list];
            fetching_q <= 1'b1;
            state_q    <= some_q[seek_list] ? Walk : (is_append ? Done : Close);
          end
        end
        Walk: begin
          cur_q   <= fetch_q;
          here_q  <= fetching_q;
          last_q  <= fetch_q == end_q;
          fetch_q <= next_mem[fetch_q];
          if (fetch_q == end_q) fetching_q <= 1'b0;
          if (here_q && hit) begin   // what was read ahead is read again
            cur_q      <= cur_q;
            last_q     <= last_q;
            fetch_q    <= next_mem[cur_q];
            fetching_q <= !last_q;
            here_q     <= 1'b0;
            found_q    <= 1'b1;
            state_q    <= Found;
          end else if (here_q && last_q) begin
            state_q <= after;
          end
        end
        Found: begin
          if (is_append && me.add_lengths && me.manage_local) local_q <= ends;
          used_up_q <= consumes;
          if (claim_now) begin
            claimed_q[cur_q] <= 1'b1;
            later_q <= consumes;
            state_q <= ends_here ? after : Walk;
          end else begin
            state_q <= Tell;
          end
        end
        Tell: if (ev_ready_i) begin
          if (seek_op_i == SeekOnly) state_q <= (once || last_q) ? after : Walk;
          else state_q <= Cut;
        end
        Due: state_q <= DueTell;
        DueTell: if (ev_ready_i) state_q <= Cut;
        Cut: begin
          if (is_head && is_tail) some_q[cut_list] <= 1'b0;
          if (last_held) held_q[cut_me] <= 1'b0;
          count_q <= count_q - 1'b1;
          state_q <= (last_held && gone_q[cut_me] && hdr.tell_free) ? Free : onward;
        end
        Free: if (ev_ready_i) state_q <= onward;
        DueUnlink: if (ev_ready_i) state_q <= Idle;
        Close: if (ev_ready_i) state_q <= Done;
        default: state_q <= Idle;   // Done
      endcase
    end
  end

  // Tables without reset: read only where the vectors above say so
  always_ff @(posedge clk_i) begin
    if (put_i) hdr_mem[put_at] <= put_hdr_i;
    if (state_q == Walk && !(here_q && hit)) hdr_out_q <= hdr_mem[fetch_q];
    else if (state_q == Due) hdr_out_q <= hdr_mem[cur_q];
    if (claim_now) claim_mem[cur_q] <= claim_in;
    if (state_q == Due) claim_out_q <= claim_mem[cur_q];
    if (there_i) status_mem[there_at] <= there_status_i;
    // behind the tail; cut: the neighbours know each other
    if (put_i && some_q[put_list]) next_mem[put_tail] <= put_at;
    else if (state_q == Cut && !is_head) next_mem[prior] <= later;
    if (put_i) prev_mem[put_at] <= put_tail;
    else if (state_q == Cut && !is_tail) prev_mem[later] <= prior;
    if (put_i && !some_q[put_list]) head_mem[put_list] <= put_at;
    else if (state_q == Cut && is_head) head_mem[cut_list] <= later;
    if (put_i) tail_mem[put_list] <= put_at;
    else if (state_q == Cut && is_tail) tail_mem[cut_list] <= prior;
    if (put_i && !put_hdr_i.loose) held_mem[put_me] <= put_was + 1'b1;
    else if (state_q == Cut && !hdr.loose) held_mem[cut_me] <= held_was - 1'b1;
  end
  logic unused;
  assign unused = ^{unused_free_count, unused_free_room, unused_due_count, unused_due_room, there_at_i, hdr.me,
                    put_hdr_i.me, me.rsvd, me.loose, me.ack_off, me.rsvd2, me.quiet, me.tell_left, me.keep_hdr, me.tell_free, me.overflow, me.uid,
                    me.uid_any, me.op_put, me.op_get, me.start, me.ct_en, me.ct_puts};
`ifndef SYNTHESIS
  initial begin
    if (Headers < 2 || Headers > (1 << HdrBits) || (Headers & (Headers - 1)) != 0)
      $fatal(1, "nic_headers: Headers must be a power of two up to 1024");
    if ($bits(claim_t) != ClaimBits) $fatal(1, "nic_headers: widths");
  end
`endif
endmodule
