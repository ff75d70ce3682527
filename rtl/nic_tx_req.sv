// Transmits the commands of one class (compute or service): the host's, and those that counters have released, which
// have as many slots of their own behind the host's. A command slot is also the record of the
// message until it is acknowledged: it keeps inline and PIO payload for retransmission, DMA payload is
// read from the host again. Slots are used as a ring. A walker looks at one slot per cycle for those
// whose acknowledgement is late, the oldest first, as they must arrive in order; the delay is the same for all, so that is
// enough. Tries are counted since the peer has answered anything: it may have refused a message only for
// want of an earlier one. What is chosen to be
// sent, late or new, waits in a queue of jobs while its payload is read: a header leaves when its data are
// at hand, and the host's latency is met once for many messages.
module nic_tx_req import nic_pkg::*; #(
  parameter int unsigned Slots = 32,
  parameter int unsigned PioBytes = 512,
  parameter int unsigned MaxBytes = 4194304,
  localparam int unsigned Sb = $clog2(Slots),
  localparam int unsigned All = 2 * Slots,     // from Slots on: of released commands
  localparam int unsigned Wb = $clog2(Slots * PioBytes / 4)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [5:0]   self_i,
  input  logic         enable_i,
  input  logic [31:0]  timeout_i,     // cycles
  input  logic [3:0]   retries_i,
  input  logic [Contexts*CtxBits-1:0] ctx_i,
  input  logic         clear_i,
  input  logic [5:0]   clear_peer_i,
  // writes of the host
  input  logic         cmd_we_i,
  input  logic [Sb+3:0] cmd_word_i,
  input  logic         pio_we_i,
  input  logic [Wb-1:0] pio_word_i,
  input  logic [31:0]  wdata_i,
  output logic [31:0]  head_o,        // commands taken since reset
  output logic [31:0]  tail_o,        // commands whose slot is free again
  output logic         idle_o,
  // released commands
  input  logic         trg_valid_i,
  output logic         trg_ready_o,
  input  logic [CmdBits-1:0] trg_cmd_i,
  // DMA read stream
  output logic         rd_start_o,
  input  logic         rd_ready_i,    // one more range may wait
  output logic [63:0]  rd_addr_o,
  output logic [31:0]  rd_len_o,
  input  logic         rd_err_i,      // with the last packet of a range
  input  logic         rd_valid_i,
  output logic         rd_ready_o,
  input  logic [511:0] rd_data_i,
  // packets
  output logic         pkt_valid_o,
  input  logic         pkt_ready_i,
  output pkt_t         pkt_o,
  // events
  output logic         ev_valid_o,
  input  logic         ev_ready_i,
  output ev_t          ev_o,
  // the response side looks a slot up and completes it
  input  logic [7:0]   q_slot_i,
  output logic         q_valid_o,     // the slot waits for its response
  output logic [7:0]   q_seq_o,
  output cmd_t         q_cmd_o,
  input  logic         done_i,
  input  logic [All-1:0] rsp_pending_i,   // it has their response, and will complete them
  input  logic         rsp_busy_i,    // it is busy with rsp_slot_i,
  input  logic [7:0]   rsp_slot_i,
  input  logic         rsp_moves_i,   // gets data for it,
  output logic         rsp_abort_o,   // and shall leave it: the message is given up
  // counters
  output logic         bad_o,
  output logic         undelivered_o,
  output logic         host_err_o,
  output logic         retransmit_o
);
  localparam int unsigned Lines = Slots * PioBytes / 64;   // PIO memory, 64 bytes a line
  localparam int unsigned Lb = $clog2(Lines);

  typedef enum logic [1:0] {SlotFree, SlotReady, SlotFlight, SlotDone} slot_t;
  typedef enum logic [2:0] {Idle, Head, Body, Sent, Skip, Fail} state_t;
  typedef struct packed {
    logic [Sb:0]   slot;
    logic [15:0]   base;   // oldest message that is waited for
    status_t       fail;   // StOk: it is sent; else it has failed so
  } job_t;

  logic [CmdBits-1:0] cmd_mem [Slots], trg_mem [Slots];
  logic [1:0]  slot_q [All];
  logic [7:0]  seq_q [All];
  logic [3:0]  retry_q [All];
  logic [31:0] sent_q [All];
  logic [Sb:0] heard_q [All], answers_q [Peers];   // answers of the peer, modulo 64: up to the last try, now

  state_t state_q;
  logic [31:0] head_q, tail_q, send_q, now_q;
  logic [Sb:0] trg_head_q, trg_tail_q, trg_send_q;   // of released commands, as head, tail and send
  logic [Sb:0] walk_q, cur_q;
  logic [Sb-1:0] step_q;
  logic turn_q;   // whose turn it is: released commands'
  logic [15:0] base_q;
  logic [All-1:0] queued_q;   // chosen and not done with: neither chosen again nor freed
  status_t fail_q;   // why Fail
  logic answered_q;  // a repetition, and its answer has come since it was chosen: it need not leave

  // ---- the host's writes --------------------------------------------------------------------------
  logic [Sb-1:0] w_slot;
  logic [3:0] w_word;
  logic w_free, w_commit, w_take;
  assign w_slot   = cmd_word_i[Sb+3:4];
  assign w_word   = cmd_word_i[3:0];
  assign w_free   = slot_q[{1'b0, w_slot}] == SlotFree;
  assign w_commit = cmd_we_i && w_word == 4'd15 && wdata_i[31];
  assign w_take   = w_commit && w_free && w_slot == head_q[Sb-1:0];
  logic [Sb-1:0] p_slot;
  logic p_free;
  assign p_slot = pio_word_i[Wb-1 -: Sb];
  assign p_free = slot_q[{1'b0, p_slot}] == SlotFree;
  assign bad_o  = (cmd_we_i && !w_free) || (w_commit && !w_take) || (pio_we_i && !p_free) ||
                  (state_q == Fail && ev_ready_i && fail_q == StOperation);
  always_ff @(posedge clk_i) begin
    if (cmd_we_i && w_free) cmd_mem[w_slot][w_word * 32 +: 32] <= wdata_i;
    if (trg_take) trg_mem[trg_head_q[Sb-1:0]] <= trg_cmd_i;
  end
  logic [Sb:0] trg_in, trg_out, trg_next;   // slots: of what comes, leaves, is free again next
  logic trg_take;
  assign trg_in      = {1'b1, trg_head_q[Sb-1:0]};
  assign trg_next    = {1'b1, trg_send_q[Sb-1:0]};
  assign trg_out     = {1'b1, trg_tail_q[Sb-1:0]};
  assign trg_ready_o = slot_q[trg_in] == SlotFree;
  assign trg_take    = trg_valid_i && trg_ready_o;

  // ---- choice: late messages first, then the next new command ---------------------------------------
  cmd_t cmd, nxt;
  ctx_t ctx, nxt_ctx;   // whose they are
  assign ctx     = ctx_i[cmd.ctx * CtxBits +: CtxBits];
  assign nxt_ctx = ctx_i[nxt.ctx * CtxBits +: CtxBits];
  logic [31:0] age;
  logic late, fresh, legal, size_ok, open, nxt_dma, room, host_fresh, trg_fresh, by_trg;
  logic [7:0] w_next;
  logic [15:0] w_base;
  logic [Sb:0] host_next, send_slot, pick;
  logic start_new, start_old, tries, answered, lost, malformed, job_push, job_ready, job_valid, job_pop;
  job_t job_in, job;
  logic [6:0] unused_jobs;
  assign host_next = {1'b0, send_q[Sb-1:0]};
  assign age       = now_q - sent_q[walk_q];
  assign late      = slot_q[walk_q] == SlotFlight && !queued_q[walk_q] && age >= timeout_i;
  assign host_fresh = slot_q[host_next] == SlotReady && !queued_q[host_next];
  assign trg_fresh  = slot_q[trg_next] == SlotReady && !queued_q[trg_next];
  assign by_trg     = trg_fresh && (turn_q || !host_fresh);   // one whose peer has no room holds up its own kind only
  assign send_slot  = by_trg ? trg_next : host_next;
  assign fresh      = enable_i && (host_fresh || trg_fresh);
  assign pick      = late ? walk_q : send_slot;
  assign nxt       = pick[Sb] ? trg_mem[pick[Sb-1:0]] : cmd_mem[pick[Sb-1:0]];
  assign nxt_dma   = nxt.kind != KindGet && nxt.pay == PayDma && nxt.length != '0;
  assign size_ok   = (nxt.pay == PayInline) ? nxt.length <= 32'd16 :
                     (nxt.pay == PayPio)    ? nxt.length <= 32'(PioBytes) && !pick[Sb] :
                     (nxt.pay == PayDma)    && nxt.length <= 32'(MaxBytes);
  always_comb begin
    unique case (nxt.kind)
      KindPut: legal = size_ok;
      KindGet: legal = nxt.length <= 32'(MaxBytes);
      KindAtomic, KindFetch:
        legal = size_ok && !(nxt.pay == PayDma && nxt.aop >= 5'd11) &&   // no place for what is compared
                atomic_legal(nxt.kind == KindFetch, nxt.aop, nxt.dtype, nxt.is_float, nxt.is_complex, nxt.length, nxt.pay != PayInline);
      default: legal = 1'b0;
    endcase
    legal = legal && nxt_ctx.enable;
  end
  assign room      = job_ready && (!nxt_dma || rd_ready_i);
  // while it waits its window lets at most 31 before it and 31 behind it be answered
  assign answered  = answers_q[nxt.dst] != heard_q[walk_q];
  assign tries     = retry_q[walk_q] < retries_i || (answered && retries_i != '0);
  assign start_old = late && tries && room;
  assign lost      = late && !tries && job_ready;
  assign start_new = !late && fresh && legal && open && room;
  assign malformed = !late && fresh && !legal && job_ready;
  assign job_push  = start_old || lost || start_new || malformed;
  assign rd_start_o = (start_new || start_old) && nxt_dma;
  assign rd_addr_o  = (nxt.kind == KindFetch) ? nxt.operand : nxt.addr;   // the other one is that of the old value
  assign rd_len_o   = nxt.length;
  assign job_in.slot = pick;
  assign job_in.base = w_base;
  assign job_in.fail = lost ? StUndeliverable : malformed ? StOperation : StOk;
  nic_fifo #(.Width($bits(job_in)), .Depth(64)) u_jobs (
    .clk_i, .rst_ni, .valid_i(job_push), .ready_o(job_ready), .data_i(job_in), .valid_o(job_valid),
    .ready_i(job_pop), .data_o(job), .count_o(unused_jobs)
  );

  logic done_any;
  logic [5:0] done_peer;
  logic [7:0] done_seq;
  nic_tx_window #(.PeerCount(Peers), .Window(Window)) u_window (
    .clk_i, .rst_ni, .clear_i, .clear_peer_i, .peer_i(nxt.dst), .open_o(open), .next_o(w_next),
    .base_o(w_base), .send_i(start_new), .again_i(start_old), .done_i(done_any), .done_peer_i(done_peer), .done_seq_i(done_seq)
  );

  // ---- completion: by the response side, or here when given up ---------------------------------------
  logic [Sb:0] q_slot;
  logic give_up;
  assign cmd       = cur_q[Sb] ? trg_mem[cur_q[Sb-1:0]] : cmd_mem[cur_q[Sb-1:0]];
  assign q_slot    = q_slot_i[Sb:0];
  assign q_cmd_o   = q_slot[Sb] ? trg_mem[q_slot[Sb-1:0]] : cmd_mem[q_slot[Sb-1:0]];
  assign q_seq_o   = seq_q[q_slot];
  assign q_valid_o = q_slot_i < 8'(All) && slot_q[q_slot] == SlotFlight &&
                     !(state_q == Fail && q_slot == cur_q);
  // A response that is being worked on may still complete the message; without progress it is told to
  // stop, so that nothing is written to the host's buffer after the failure is known
  logic failing, rsp_here, ends, completed;
  assign rsp_here    = rsp_busy_i && rsp_slot_i == 8'(cur_q);
  assign ends        = rsp_pending_i[cur_q];
  assign completed   = fail_q != StOperation && slot_q[cur_q] != SlotFlight;
  assign failing     = state_q == Fail && !completed && !rsp_here && !ends && !done_i;
  assign rsp_abort_o = state_q == Fail && !completed && rsp_here;
  assign give_up     = failing && ev_ready_i;
  // Only messages that got a number are in the window; a malformed one never did
  assign done_any  = done_i || (give_up && fail_q != StOperation);
  assign done_peer = done_i ? q_cmd_o.dst : cmd.dst;
  assign done_seq  = done_i ? q_seq_o : seq_q[cur_q];

  // ---- packets --------------------------------------------------------------------------------------
  logic [31:0] count_q, last;
  logic [7:0] idx_q;
  logic has_body, pio, dma, at_end;
  msg_t msg;
  assign pio      = cmd.kind != KindGet && cmd.pay == PayPio && cmd.length != '0;
  assign dma      = cmd.kind != KindGet && cmd.pay == PayDma && cmd.length != '0;
  assign has_body = pio || dma;
  assign last     = (cmd.length - 32'd1) >> 6;
  assign at_end   = count_q == last;
  always_comb begin
    msg          = '0;
    msg.imm      = (cmd.kind == KindGet || has_body) ? '0 : {cmd.operand2, cmd.operand};
    msg.user     = cmd.user;
    msg.retry    = retry_q[cur_q];
    msg.slot     = 8'(cur_q);
    msg.hdr_data = cmd.hdr_data;
    msg.offset   = {8'd0, base_q[15:8], cmd.offset};
    msg.ni       = ctx.ni;
    msg.uid      = ctx.uid;
    msg.pid      = ctx.pid;
    msg.dst_pid  = cmd.dst_pid;
    msg.match    = cmd.match;
    msg.length   = cmd.length;
    msg.base     = base_q[7:0];
    msg.pt       = cmd.pt;
    msg.aop      = cmd.aop;
    msg.dtype    = cmd.dtype;
    msg.is_float   = cmd.is_float;
    msg.is_complex = cmd.is_complex;
    msg.kind     = cmd.kind;
    pkt_o         = '0;
    pkt_o.hdr.src = self_i;
    pkt_o.hdr.dst = cmd.dst;
    pkt_o.hdr.seq = seq_q[cur_q];
    // the end of a payload that could not be read breaks the count: no receiver takes it for good
    pkt_o.hdr.idx = (dma && state_q == Body && at_end && rd_err_i) ? ~idx_q : idx_q;
    pkt_o.hdr.sop = state_q == Head;
    pkt_o.hdr.eop = (state_q == Head) ? !has_body : at_end;
    pkt_o.data    = (state_q == Head) ? msg : pio ? pio_q : rd_data_i;
  end
  assign pkt_valid_o = (state_q == Head && (!dma || rd_valid_i) && !answered_q) || (state_q == Body && (pio || rd_valid_i));
  assign rd_ready_o  = (state_q == Body && dma && pkt_ready_i) || state_q == Skip;

  // The PIO memory's output register holds the line that the next cycle needs
  logic [511:0] pio_q;
  logic [Lb-Sb-1:0] line;
  assign line = (state_q != Body) ? '0 : count_q[Lb-Sb-1:0] + (Lb-Sb)'(pkt_ready_i);
  for (genvar b = 0; b < 16; b++) begin : g_bank   // one memory per word of a line
    logic [31:0] mem [Lines];
    logic [31:0] q;
    always_ff @(posedge clk_i) begin
      if (pio_we_i && p_free && pio_word_i[3:0] == 4'(b)) mem[pio_word_i[Wb-1:4]] <= wdata_i;
      q <= mem[{cur_q[Sb-1:0], line}];
    end
    assign pio_q[b * 32 +: 32] = q;
  end

  // The last packet leaves: without an event to tell, the next job follows in the next cycle
  logic sent, over;
  assign sent    = pkt_valid_o && pkt_ready_i && pkt_o.hdr.eop;
  assign over    = (sent && !want_send && !(dma && rd_err_i)) || (state_q == Sent && ev_ready_i) ||
                   (state_q == Head && answered_q && !dma) || (state_q == Skip && rd_valid_i && at_end) ||
                   (state_q == Fail && (give_up || completed));
  assign job_pop = job_valid && (state_q == Idle || over);
  logic [Sb:0] head_slot;   // whose header may leave in the next cycle
  assign head_slot = job_pop ? job.slot : cur_q;

  // ---- events: SEND of messages whose payload the NIC holds, and failures ---------------------------
  logic want_send;
  assign want_send = cmd.send_event && retry_q[cur_q] == '0 && cmd.kind != KindGet && !dma;
  always_comb begin
    ev_o          = '0;
    ev_o.eq_en    = 1'b1;
    ev_o.eq       = cmd.eq;
    ev_o.ct_en    = state_q == Fail && cmd.ct_en;
    ev_o.ct       = cmd.ct;
    ev_o.etype    = (state_q != Fail) ? EvSend :
                    (cmd.kind == KindGet || cmd.kind == KindFetch) ? EvReply : EvAck;
    ev_o.status   = (state_q != Fail) ? StOk : fail_q;
    ev_o.pt       = cmd.pt;
    ev_o.peer     = cmd.dst;
    ev_o.slot     = 16'(cur_q);
    ev_o.rlength  = cmd.length;
    ev_o.mlength  = (state_q != Fail) ? cmd.length : '0;
    ev_o.match    = cmd.match;
    ev_o.hdr_data = cmd.hdr_data;
    ev_o.start    = cmd.addr;
    ev_o.offset   = {16'd0, cmd.offset};
    ev_o.user     = {16'd0, cmd.user};
  end
  // A response of another slot may complete in the same cycle: it has the window's port, so wait
  assign ev_valid_o    = failing || state_q == Sent;
  assign undelivered_o = give_up && fail_q == StUndeliverable;
  assign host_err_o    = give_up && fail_q == StHostError;
  assign retransmit_o  = start_old;
  assign head_o = head_q;
  assign tail_o = tail_q;
  assign idle_o = head_q == tail_q && trg_head_q == trg_tail_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      head_q    <= '0;
      tail_q    <= '0;
      send_q    <= '0;
      trg_head_q <= '0;
      trg_tail_q <= '0;
      trg_send_q <= '0;
      turn_q    <= 1'b0;
      now_q     <= '0;
      walk_q    <= '0;
      step_q    <= '0;
      cur_q     <= '0;
      base_q    <= '0;
      for (int unsigned p = 0; p < Peers; p++) answers_q[p] <= '0;
      queued_q  <= '0;
      answered_q <= 1'b0;
      count_q   <= '0;
      idx_q     <= '0;
      fail_q    <= StOk;
      for (int unsigned i = 0; i < All; i++) slot_q[i] <= SlotFree;
    end else begin
      now_q <= now_q + 32'd1;
      if (w_take) begin
        slot_q[{1'b0, w_slot}] <= SlotReady;
        head_q <= head_q + 32'd1;
      end
      if (trg_take) begin
        slot_q[trg_in] <= SlotReady;
        trg_head_q <= trg_head_q + 1'b1;
      end
      // free slots in ring order, never one that still has to be sent
      if (slot_q[{1'b0, tail_q[Sb-1:0]}] == SlotDone && !queued_q[{1'b0, tail_q[Sb-1:0]}]) begin
        slot_q[{1'b0, tail_q[Sb-1:0]}] <= SlotFree;
        tail_q <= tail_q + 32'd1;
      end
      if (slot_q[trg_out] == SlotDone && !queued_q[trg_out]) begin
        slot_q[trg_out] <= SlotFree;
        trg_tail_q <= trg_tail_q + 1'b1;
      end
      // choice
      if (!late || job_push) begin
        step_q <= step_q + 1'b1;
        if (step_q != '1) walk_q[Sb-1:0] <= walk_q[Sb-1:0] + 1'b1;
        else walk_q <= {!walk_q[Sb], walk_q[Sb] ? tail_q[Sb-1:0] : trg_tail_q[Sb-1:0]};
      end
      turn_q <= !turn_q;
      if ((start_new || malformed) && !by_trg) send_q <= send_q + 32'd1;
      if ((start_new || malformed) && by_trg) trg_send_q <= trg_send_q + 1'b1;
      if (start_new) slot_q[send_slot] <= SlotFlight;
      if (job_push) queued_q[pick] <= 1'b1;
      // sending
      answered_q <= slot_q[head_slot] == SlotDone && retry_q[head_slot] != '0;
      unique case (state_q)
        Idle: ;
        Head: if (answered_q) begin
          state_q <= Skip;
        end else if (pkt_valid_o && pkt_ready_i) begin
          idx_q   <= idx_q + 8'd1;
          state_q <= has_body ? Body : Sent;
        end
        Skip: if (rd_valid_i) count_q <= count_q + 32'd1;   // what was read for it goes nowhere
        Body: if (pkt_valid_o && pkt_ready_i) begin
          idx_q   <= idx_q + 8'd1;
          count_q <= count_q + 32'd1;
          if (at_end) begin
            fail_q  <= StHostError;
            state_q <= (dma && rd_err_i) ? Fail : Sent;
          end
        end
        Sent: ;
        default: if (give_up) slot_q[cur_q] <= SlotDone;   // Fail
      endcase
      if (over) begin
        queued_q[cur_q] <= 1'b0;
        state_q <= Idle;
      end
      if (job_pop) begin
        cur_q   <= job.slot;
        base_q  <= job.base;
        fail_q  <= job.fail;
        count_q <= '0;
        idx_q   <= '0;
        state_q <= (job.fail == StOk) ? Head : Fail;
      end
      if (done_i) slot_q[q_slot] <= SlotDone;
      if (done_i) answers_q[q_cmd_o.dst] <= answers_q[q_cmd_o.dst] + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_new) begin
      seq_q[send_slot]   <= w_next;
      retry_q[send_slot] <= '0;
      sent_q[send_slot]  <= now_q;
    end
    if (start_new || start_old) heard_q[pick] <= answers_q[nxt.dst];
    if (retransmit_o) retry_q[walk_q] <= answered ? 4'd1 : retry_q[walk_q] + 4'd1;
    if (state_q == Head || state_q == Body) sent_q[cur_q] <= now_q;
    if (rsp_moves_i) sent_q[rsp_slot_i[Sb:0]] <= now_q;
  end
  logic unused;
  assign unused = ^{cmd.rsvd, cmd.commit, cmd.ack_event, cmd.end_event, cmd.ct_bytes, nxt, nxt_ctx, ctx, count_q,
                    rsp_slot_i, unused_jobs};
endmodule
