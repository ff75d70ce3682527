// Target of one class: takes requests in order and once per peer, matches them and moves the data; what
// follows when the host has them (event, response) is nic_rx_done's. A message whose tail was lost keeps
// its match: the repeated one writes to the same place. An atomic's operands are gathered here until all have come: done once, its
// memory is read, computed and written 64 bytes at a time. The result of each of the last 32 messages of a
// peer is kept until the peer confirms the response, to answer duplicates without doing them twice.
module nic_rx_req import nic_pkg::*; #(
  parameter int unsigned MaxBytes = 4194304
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [5:0]   self_i,
  input  logic         clear_i,
  input  logic [5:0]   clear_peer_i,
  input  logic         pkt_valid_i,
  output logic         pkt_ready_o,
  input  pkt_t         pkt_i,
  // matching
  output logic         lme_valid_o,
  input  logic         lme_ready_i,
  output lme_req_t     lme_req_o,
  input  logic         lme_res_valid_i,
  input  lme_res_t     lme_res_i,
  output logic         lme_done_o,
  output logic [15:0]  lme_done_me_o,
  // payload to the host
  output logic         wr_start_o,
  input  logic         wr_ready_range_i,
  output logic [63:0]  wr_addr_o,
  output logic [31:0]  wr_len_o,
  output logic         wr_abort_o,
  input  logic         wr_idle_i,
  input  logic         wr_done_i,
  input  logic         wr_err_i,
  output logic         wr_valid_o,
  input  logic         wr_ready_i,
  output logic [511:0] wr_data_o,
  // atomics: what they change is read, of the same address and length; the lock keeps the other class out
  output logic         lock_o,
  input  logic         locked_i,
  output logic         rd_start_o,
  input  logic         rd_room_i,
  input  logic         rd_valid_i,
  output logic         rd_ready_o,
  input  logic [511:0] rd_data_i,
  input  logic         rd_err_i,
  // events
  output logic         ev_valid_o,
  input  logic         ev_ready_i,
  output ev_t          ev_o,
  // responses; that of a get carries its event, which comes when the data has been read
  output logic         rsp_valid_o,
  input  logic         rsp_ready_i,
  output rsp_t         rsp_o,
  input  logic         rsp_unsent_i,   // that of this message waits to be sent:
  output logic [5:0]   look_src_o,
  output logic [7:0]   look_seq_o,
  output logic         rsp_ev_o,
  output ev_t          rsp_ev_data_o,
  // acknowledgement of an acknowledgement
  input  logic         confirm_i,
  input  logic [5:0]   confirm_peer_i,
  input  logic [7:0]   confirm_seq_i,
  output logic [$clog2(Peers*Window):0] unconfirmed_o,
  // counters
  output logic         drop_o,
  output logic         accept_o,
  output logic         dup_o,
  output logic         future_o,
  output logic         abandoned_o,
  output logic         bad_o,
  output logic         no_match_o,
  output logic         host_err_o
);
  localparam int unsigned History = Peers * Window;
  localparam int unsigned Pb = $clog2(History) + 1;
  localparam int unsigned Lines = MaxAtomic / 64;
  localparam int unsigned Lb = $clog2(Lines);
  typedef enum logic [4:0] {
    Idle, Check, Abandon, Lookup, Result, Start, Feed, Body, Abort, Forget, Wait, Lock, Read, Compute, Drain, Fail,
    Finish, Again
  } state_t;

  state_t state_q;
  pkt_hdr_t hdr, hdr_q;
  msg_t msg_q;
  lme_res_t res_q;
  logic [LmeResBits-1:0] part_res [Peers];
  kind_t part_kind [Peers];
  logic [Peers-1:0] part_q;   // of peers whose message lacks its tail
  logic [31:0] count_q;
  logic [7:0] idx_q;
  logic skip_q;          // the rest of the last message is not needed
  logic clear;            // a peer is to be forgotten: first in the set
  logic [Peers-1:0] clear_q, clear_first;
  logic [5:0] clear_peer, gone_q;
  logic [511:0] old_q;   // old value of a fetching atomic
  logic [511:0] operand_mem [Lines];
  logic [Lb-1:0] line_q;   // of 64 bytes, that is computed
  logic [RspBits-1:0] hist_mem [History];
  logic [RspBits-1:0] hist_data_q;
  logic [7-WindowBits:0] hist_seq [History];   // above the bits that are its place
  logic [$clog2(History):0] pending_q;

  assign clear = clear_q != '0;
  // The lowest: a carry finds it, its number is an or of bits. One choice behind the other would be 64 of them.
  assign clear_first = clear_q & (~clear_q + Peers'(1));
  always_comb begin
    clear_peer = '0;
    for (int unsigned p = 0; p < Peers; p++) if (clear_first[p]) clear_peer = clear_peer | 6'(p);
  end

  assign hdr = pkt_i.hdr;

  // ---- the message that is looked at ----------------------------------------------------------------
  logic has_body, legal, fetch, atomic, odd, last_line;
  logic [31:0] last;
  logic [4:0] element;
  assign has_body   = !hdr_q.eop;
  assign fetch      = msg_q.kind == KindFetch;
  assign atomic     = msg_q.kind == KindAtomic || fetch;
  assign element    = element_bytes(msg_q.dtype, msg_q.is_complex);
  // a part of an element is asked for, or they are not aligned
  assign odd        = ((res_q.mlength[4:0] | res_q.start[4:0]) & (element - 5'd1)) != '0;
  assign last       = (msg_q.length - 32'd1) >> 6;
  assign last_line  = line_q == Lb'((res_q.mlength - 32'd1) >> 6);
  always_comb begin
    unique case (msg_q.kind)
      KindPut: legal = has_body ? (msg_q.length != '0 && msg_q.length <= 32'(MaxBytes))
                                : msg_q.length <= 32'd16;
      KindGet: legal = !has_body && msg_q.length <= 32'(MaxBytes);
      KindAtomic, KindFetch:
        legal = atomic_legal(fetch, msg_q.aop, msg_q.dtype, msg_q.is_float, msg_q.is_complex, msg_q.length, has_body);
      default: legal = 1'b0;
    endcase
  end

  logic accept, duplicate, future, skipped, follow, deliver, quiet, push, push_ready;
  nic_rx_window #(.PeerCount(Peers)) u_window (
    .clk_i, .rst_ni, .clear_i(forget), .clear_peer_i(clear_peer), .peer_i(hdr_q.src), .seq_i(hdr_q.seq),
    .base_i({msg_q.offset[55:48], msg_q.base}), .accept_o(accept), .duplicate_o(duplicate), .future_o(future), .skipped_o(skipped),
    .follow_i(follow), .deliver_i(deliver)
  );
  // What claims to be the repetition of a message that has its match already must fit to that
  logic same;
  lme_res_t part;
  assign part   = part_res[hdr_q.src];
  assign same   = has_body && msg_q.kind == part_kind[hdr_q.src] && part.mlength <= msg_q.length;
  assign follow = state_q == Check && legal && skipped && !part_q[hdr_q.src];

  // ---- history --------------------------------------------------------------------------------------
  // Which places hold a result: a row of bits per peer. Rows are read and written whole, because bits of one
  // vector of History bits are built by yosys as shifts of all of it, three for each bit that is written.
  logic [Window-1:0] hist_q [Peers];
  logic [$clog2(History)-1:0] key, okey, ckey;   // of the message that is looked at, is over, is confirmed
  logic [PeerBits-1:0] opeer, cpeer;
  logic [Window-1:0] row, orow, crow, gone_row, kept, confirmed;
  logic known, confirm, keep, forget;
  rsp_t rsp_done, again;
  assign key     = {hdr_q.src, hdr_q.seq[WindowBits-1:0]};
  assign okey    = {rsp_done.dst, rsp_done.seq[WindowBits-1:0]};
  assign ckey    = {confirm_peer_i, confirm_seq_i[WindowBits-1:0]};
  assign opeer   = rsp_done.dst;
  assign cpeer   = confirm_peer_i;
  assign row     = hist_q[hdr_q.src];
  assign orow    = hist_q[opeer];
  assign crow    = hist_q[cpeer];
  assign gone_row = hist_q[clear_peer];
  assign kept     = Window'(1) << rsp_done.seq[WindowBits-1:0];
  assign confirmed = Window'(1) << confirm_seq_i[WindowBits-1:0];
  assign known   = row[hdr_q.seq[WindowBits-1:0]] && hist_seq[key] == hdr_q.seq[7:WindowBits];
  assign confirm = confirm_i && crow[confirm_seq_i[WindowBits-1:0]] && hist_seq[ckey] == confirm_seq_i[7:WindowBits];
  assign forget  = state_q == Idle && clear && quiet && !part_q[clear_peer];
  assign unconfirmed_o = pending_q;

  // ---- packets ----------------------------------------------------------------------------------------
  logic in_body, wanted, fits, tail, twice, at_end, whole;
  assign tail    = hdr.src == hdr_q.src && hdr.seq == hdr_q.seq;
  assign fits    = tail && hdr.idx == idx_q;
  // the packet before came twice: the network's doing, no reason to give the message up
  assign twice   = state_q == Body && pkt_valid_i && tail && hdr.idx == idx_q - 8'd1 && !clear;
  assign at_end  = count_q == last;
  assign in_body = state_q == Body && pkt_valid_i && !hdr.sop && !twice && !clear;
  // a truncated message goes on after the last byte that is wanted
  assign wanted  = {count_q[25:0], 6'd0} < res_q.mlength;
  // the range of a message that is broken off behind the last byte that is wanted is complete
  assign whole   = {count_q[25:0], 6'd0} >= res_q.mlength;
  assign pkt_ready_o = (state_q == Idle && !clear) || twice ||
                       (in_body && (!fits || hdr.eop != at_end || !wanted || wr_ready_i || atomic));

  // ---- host ---------------------------------------------------------------------------------------------
  logic compute, computed;
  logic [511:0] operand, changed;
  assign operand = has_body ? operand_mem[line_q] : {384'd0, msg_q.imm};
  assign compute = state_q == Read && rd_valid_i && !rd_err_i;
  nic_line u_line (
    .clk_i, .rst_ni, .start_i(compute), .op_i(msg_q.aop), .dtype_i(msg_q.dtype), .is_float_i(msg_q.is_float),
    .is_complex_i(msg_q.is_complex), .one_i(res_q.mlength == 32'(element)), .old_i(rd_data_i), .operand_i(operand),
    .compare_i(has_body ? operand[255:128] : {64'd0, msg_q.imm[127:64]}), .done_o(computed), .new_o(changed)
  );
  assign wr_start_o = (state_q == Start && msg_q.kind == KindPut && res_q.status == StOk && res_q.mlength != '0 &&
                       wr_ready_range_i) || (computed && line_q == '0);
  assign wr_addr_o  = res_q.start;
  assign wr_len_o   = res_q.mlength;
  assign wr_abort_o = (state_q == Abort && !whole) || state_q == Fail;
  assign wr_valid_o = state_q == Feed || (in_body && fits && hdr.eop == at_end && wanted && !atomic);
  assign wr_data_o  = (state_q == Body) ? pkt_i.data : atomic ? changed : {384'd0, msg_q.imm};
  // an atomic reads what all messages before it wrote
  assign lock_o     = atomic && ((state_q == Lock && quiet && wr_idle_i) || state_q == Read || state_q == Compute || state_q == Feed ||
                                state_q == Wait || state_q == Drain || state_q == Fail);
  assign rd_start_o = lock_o && state_q == Lock && locked_i;
  assign rd_ready_o = state_q == Read || state_q == Drain;

  // ---- matching and results -------------------------------------------------------------------------
  assign lme_valid_o = state_q == Lookup;
  always_comb begin
    lme_req_o        = '0;
    lme_req_o.kind   = msg_q.kind;
    lme_req_o.src    = hdr_q.src;
    lme_req_o.pid    = msg_q.pid;
    lme_req_o.uid    = msg_q.uid;
    lme_req_o.dst_pid = msg_q.dst_pid;
    lme_req_o.ni     = msg_q.ni;
    lme_req_o.pt     = msg_q.pt;
    lme_req_o.length = msg_q.length;
    lme_req_o.match  = msg_q.match;
    lme_req_o.hdr_data = msg_q.hdr_data;
    lme_req_o.offset = {16'd0, msg_q.offset[47:0]};
  end
  assign abandoned_o   = state_q == Abandon && push_ready;

  rsp_t rsp;
  always_comb begin
    rsp        = '0;
    rsp.dst    = hdr_q.src;
    rsp.seq    = hdr_q.seq;
    rsp.slot   = msg_q.slot;
    rsp.kind   = (fetch || msg_q.kind == KindGet) ? KindReply : KindAck;
    rsp.status = res_q.status;
    rsp.length = res_q.mlength;
    rsp.offset = res_q.offset;
    rsp.ack_off = res_q.ack_off;
    rsp.old    = fetch ? old_q : '0;
    rsp.fetch  = fetch;
    rsp.user   = msg_q.user;
    rsp.addr   = res_q.start;
    rsp.retry  = msg_q.retry;
  end

  ev_t ev;
  always_comb begin
    ev          = '0;
    ev.hdr_en   = res_q.hdr_en;
    ev.hdr      = res_q.hdr;
    ev.eq_en    = res_q.ev_en;
    ev.quiet    = res_q.quiet;
    ev.tell_left = res_q.tell_left;
    ev.eq       = res_q.eq;
    ev.ct_en    = res_q.ct_en;
    ev.ct_bytes = res_q.ct_bytes;
    ev.ct       = res_q.ct;
    ev.etype    = (msg_q.kind == KindPut) ? EvPut : (msg_q.kind == KindGet) ? EvGet :
                  fetch ? EvFetch : EvAtomic;
    ev.status   = res_q.status;
    ev.pt       = msg_q.pt;
    ev.unlinked = res_q.unlinked;
    ev.overflow = res_q.overflow;
    ev.peer     = hdr_q.src;
    ev.pid      = msg_q.pid;
    ev.slot     = res_q.me;
    ev.rlength  = msg_q.length;
    ev.mlength  = res_q.mlength;
    ev.match    = msg_q.match;
    ev.hdr_data = msg_q.hdr_data;
    ev.start    = res_q.start;
    ev.offset   = res_q.offset;
    ev.user     = res_q.user;
    if (state_q == Abandon) begin   // all that is still known
      ev.etype    = (part_kind[gone_q] == KindPut) ? EvPut : (part_kind[gone_q] == KindAtomic) ? EvAtomic : EvFetch;
      ev.status   = StUndeliverable;
      ev.peer     = gone_q;
      ev.pid      = '0;
      ev.rlength  = '0;
      ev.pt       = '0;
      ev.match    = '0;
      ev.hdr_data = '0;
    end
  end
  // ---- what follows when the host has the data ----------------------------------------------------------
  done_t item;
  logic over, over_matched;
  always_comb begin
    item          = '0;
    item.nothing  = state_q == Abort;
    item.writes   = state_q == Abort || (state_q == Finish && msg_q.kind != KindGet && res_q.status == StOk &&
                                         res_q.mlength != '0);
    item.want_ev  = (ev.eq_en || ev.ct_en || ev.hdr_en || (ev.unlinked && ev.tell_left)) && res_q.matched && state_q != Abort;
    item.ev_later = state_q == Finish && msg_q.kind == KindGet;
    item.matched  = res_q.matched;
    item.me       = res_q.me;
    item.answer   = state_q == Finish;
    item.rsp      = rsp;
    item.ev       = ev;
  end
  assign push    = state_q == Finish || state_q == Abandon || (state_q == Abort && whole);
  assign deliver = state_q == Finish && push_ready;
  logic rsp_valid, rsp_ev, done_err;
  nic_rx_done u_done (
    .clk_i, .rst_ni, .valid_i(push), .ready_o(push_ready), .data_i(item), .quiet_o(quiet), .wr_done_i, .wr_err_i,
    .ev_valid_o, .ev_ready_i, .ev_o, .rsp_valid_o(rsp_valid), .rsp_ready_i, .rsp_o(rsp_done),
    .rsp_ev_o(rsp_ev), .rsp_ev_data_o, .over_o(over), .matched_o(over_matched), .me_o(lme_done_me_o),
    .keep_o(keep), .host_err_o(done_err)
  );
  assign lme_done_o = over && over_matched;
  // Answers to duplicates when no other waits
  always_comb begin
    again       = hist_data_q;
    again.retry = msg_q.retry;
  end
  assign look_src_o    = hdr_q.src;
  assign look_seq_o    = hdr_q.seq;
  assign rsp_valid_o   = rsp_valid || state_q == Again;
  assign rsp_o         = rsp_valid ? rsp_done : again;
  assign rsp_ev_o      = rsp_valid && rsp_ev;

  assign accept_o   = deliver;
  assign drop_o     = pkt_valid_i && pkt_ready_o &&
                      ((state_q == Idle && (hdr.sop ? hdr.dst != self_i : !(skip_q && tail))) ||
                       twice || (in_body && !fits));
  assign bad_o      = (state_q == Check && (!legal || (!skipped && accept && part_q[hdr_q.src] && !same))) ||
                      (in_body && fits && hdr.eop != at_end);
  assign dup_o      = state_q == Check && legal && !skipped && duplicate;
  assign future_o   = state_q == Check && legal && !skipped && future;
  assign no_match_o = state_q == Result && lme_res_valid_i && lme_res_i.status == StNoMatch;
  assign host_err_o = done_err || (state_q == Read && rd_valid_i && rd_err_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      part_q    <= '0;
      hdr_q     <= '0;
      msg_q     <= '0;
      res_q     <= '0;
      line_q    <= '0;
      count_q   <= '0;
      idx_q     <= '0;
      skip_q    <= 1'b0;
      clear_q   <= '0;
      gone_q    <= '0;
      for (int unsigned p = 0; p < Peers; p++) hist_q[p] <= '0;
      pending_q <= '0;
    end else begin
      if (clear_i) clear_q[clear_peer_i] <= 1'b1;
      unique case (state_q)
        Idle: begin
          if (clear) begin
            if (quiet && part_q[clear_peer]) begin   // what is on its way to the host ends first
              gone_q  <= clear_peer;
              res_q   <= part_res[clear_peer];
              state_q <= Abandon;
            end else if (quiet) begin
              if (!(clear_i && clear_peer_i == clear_peer)) clear_q[clear_peer] <= 1'b0;
            end
          end else if (pkt_valid_i && hdr.sop && hdr.dst == self_i) begin
            hdr_q   <= hdr;
            msg_q   <= pkt_i.data;
            skip_q  <= 1'b1;   // until it is known to be wanted
            state_q <= Check;
          end else if (pkt_valid_i && hdr.sop) begin
            skip_q  <= 1'b0;
          end
        end
        Check: begin
          idx_q   <= hdr_q.idx + 8'd1;
          count_q <= '0;
          line_q  <= '0;
          if (!legal) begin
            state_q <= Idle;
          end else if (skipped) begin
            gone_q <= hdr_q.src;
            res_q  <= part_res[hdr_q.src];
            if (part_q[hdr_q.src]) state_q <= Abandon;   // else the window follows in this cycle
          end else if (duplicate) begin
            state_q <= known && !rsp_unsent_i ? Again : Idle;
          end else if (future) begin
            state_q <= Idle;
          end else if (part_q[hdr_q.src]) begin
            res_q   <= part_res[hdr_q.src];
            state_q <= same ? Start : Idle;
          end else begin
            state_q <= Lookup;
          end
        end
        Abandon: if (push_ready) begin
          part_q[gone_q] <= 1'b0;
          state_q <= clear ? Idle : Check;
        end
        Lookup: if (lme_ready_i) state_q <= Result;
        Result: if (lme_res_valid_i) begin
          res_q   <= lme_res_i;
          state_q <= Start;
          if (has_body && lme_res_i.matched) part_q[hdr_q.src] <= 1'b1;
        end
        Start: begin
          if (res_q.status != StOk || res_q.mlength == '0 || msg_q.kind == KindGet) begin
            state_q <= Finish;
          end else if (!atomic) begin
            if (has_body) skip_q <= 1'b0;
            if (wr_ready_range_i) state_q <= has_body ? Body : Feed;
          end else if (odd) begin
            res_q.status  <= StOperation;
            res_q.mlength <= '0;
            state_q <= Finish;
          end else begin
            if (has_body) skip_q <= 1'b0;
            state_q <= has_body ? Body : Lock;
          end
        end
        Feed: if (wr_ready_i) begin
          line_q  <= line_q + 1'b1;
          state_q <= !atomic ? Finish : last_line ? Wait : Read;
        end
        Body: begin
          if (clear || (pkt_valid_i && hdr.sop && !twice)) begin
            state_q <= atomic ? Forget : Abort;
          end else if (in_body && pkt_ready_o) begin
            if (fits && hdr.eop == at_end) begin
              idx_q   <= idx_q + 8'd1;
              count_q <= count_q + 32'd1;   // of those that were taken: `whole` asks
              if (at_end) state_q <= atomic ? Lock : Finish;
            end else begin
              state_q <= atomic ? Forget : Abort;
            end
          end
        end
        Abort: begin
          skip_q <= 1'b1;   // what is left of it is not worth counting
          if (whole ? push_ready : wr_idle_i) state_q <= Idle;
        end
        Wait: if (wr_idle_i) state_q <= Finish;
        Forget: begin   // nothing has been done with what came
          skip_q  <= 1'b1;
          state_q <= Idle;
        end
        Lock: if (rd_start_o && rd_room_i) state_q <= Read;
        Read: if (rd_valid_i) begin
          state_q <= !rd_err_i ? Compute : last_line ? Fail : Drain;
          if (rd_err_i) res_q.status <= StHostError;
          if (rd_err_i) line_q <= line_q + 1'b1;
        end
        Compute: if (computed) state_q <= Feed;
        Drain: if (rd_valid_i) begin
          line_q <= line_q + 1'b1;
          if (last_line) state_q <= Fail;
        end
        Fail: if (wr_idle_i) begin
          res_q.mlength <= '0;
          state_q <= Finish;
        end
        Finish: if (deliver) begin
          part_q[hdr_q.src] <= 1'b0;
          state_q <= Idle;
        end
        default: if (rsp_ready_i && !rsp_valid) state_q <= Idle;   // Again
      endcase

      // The later of two writes to one row contains the earlier one; nothing is kept while all is quiet
      if (confirm) hist_q[cpeer] <= crow & ~confirmed;
      if (keep) hist_q[opeer] <= (confirm && opeer == cpeer ? orow & ~confirmed : orow) | kept;
      if (forget) hist_q[clear_peer] <= '0;
      if (forget) pending_q <= pending_q - Pb'($countones(gone_row)) - Pb'(confirm && cpeer != clear_peer);
      else pending_q <= pending_q + Pb'(keep && (orow & kept) == '0) - Pb'(confirm && !(keep && okey == ckey));
    end
  end
  always_ff @(posedge clk_i) begin
    if (in_body && fits && atomic) operand_mem[count_q[Lb-1:0]] <= pkt_i.data;
    if (compute) old_q <= rd_data_i;
    if (state_q == Result && lme_res_valid_i) begin
      part_res[hdr_q.src]  <= lme_res_i;
      part_kind[hdr_q.src] <= msg_q.kind;
    end
    if (keep) begin
      hist_mem[okey] <= rsp_done;
      hist_seq[okey] <= rsp_done.seq[7:WindowBits];
    end
    if (state_q == Check) hist_data_q <= hist_mem[key];
  end
  logic unused;
  assign unused = ^{hdr.crc, hdr.vn, hdr_q.crc, hdr_q.dst, hdr_q.vn, hdr_q.sop,
                    msg_q.status, part};
endmodule
