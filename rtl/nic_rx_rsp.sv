// Initiator's side of the responses of one class: finds the command slot that waits, writes reply data to
// its buffer, tells the host, frees the slot and confirms the response to the target. A response that
// nothing waits for is confirmed too, as the first confirmation may have been lost. What follows when the host has
// the data waits in a queue, in order: the next response is looked at meanwhile.
module nic_rx_rsp import nic_pkg::*; #(
  parameter int unsigned Slots = 32,
  parameter int unsigned Depth = 16,   // responses whose data are on their way to the host
  localparam int unsigned Sb = $clog2(Slots)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [5:0]   self_i,
  input  logic         pkt_valid_i,
  output logic         pkt_ready_o,
  input  pkt_t         pkt_i,
  // the transmitter's slots
  output logic [7:0]   slot_o,
  input  logic         slot_valid_i,
  input  logic [7:0]   slot_seq_i,
  input  cmd_t         slot_cmd_i,
  output logic         done_o,        // of slot_o
  output logic         busy_o,        // with at_slot_o
  output logic [7:0]   at_slot_o,
  output logic         moves_o,
  output logic [Slots-1:0] pending_o, // their response is here, their end is near
  input  logic         abort_i,
  // payload to the host
  output logic         wr_start_o,
  input  logic         wr_room_i,
  output logic [63:0]  wr_addr_o,
  output logic [31:0]  wr_len_o,
  output logic         wr_abort_o,
  input  logic         wr_idle_i,
  input  logic         wr_done_i,
  input  logic         wr_err_i,
  output logic         wr_valid_o,
  input  logic         wr_ready_i,
  output logic [511:0] wr_data_o,
  output logic         ev_valid_o,
  input  logic         ev_ready_i,
  output ev_t          ev_o,
  // confirmations: to send, and received
  output logic         ack_valid_o,
  input  logic         ack_ready_i,
  output logic [5:0]   ack_dst_o,
  output logic [7:0]   ack_seq_o,
  output logic [7:0]   ack_slot_o,
  output logic         confirm_o,
  output logic [5:0]   confirm_peer_o,
  output logic [7:0]   confirm_seq_o,
  // counters
  output logic         drop_o,
  output logic         accept_o,
  output logic         bad_o,
  output logic         host_err_o,
  output logic         unconfirmed_o
);
  typedef enum logic [3:0] {Idle, Check, Start, Feed, Body, Abort, Push} state_t;
  typedef enum logic [1:0] {Rest, Send, Tell, Done} end_t;
  typedef struct packed {
    logic        writes;   // a range of writes belongs to it
    logic        reply;
    logic        mute;     // of a message that went well, and whose entry gives no acknowledgement
    logic [5:0]  src;
    logic [7:0]  seq;
    logic [7:0]  slot;
    status_t     status;
    logic [31:0] length;
    logic [63:0] offset;
  } item_t;
  state_t state_q;
  end_t end_q;
  pkt_hdr_t hdr, hdr_q;
  msg_t msg_q;
  cmd_t cmd_q;
  status_t status_q;   // of what ends
  logic writes_q;
  logic [31:0] count_q;
  logic [7:0] idx_q;
  logic skip_q;

  assign hdr = pkt_i.hdr;
  logic reply, wants_reply, waits, legal, fetch, in_body, fits, tail, twice, at_end;
  assign reply       = msg_q.kind == KindReply;
  assign fetch       = slot_cmd_i.kind == KindFetch;
  assign wants_reply = slot_cmd_i.kind == KindGet || fetch;
  assign waits       = slot_valid_i && !pending_q[msg_q.slot[Sb-1:0]] && slot_seq_i == hdr_q.seq && slot_cmd_i.dst == hdr_q.src &&
                       slot_cmd_i.user == msg_q.user &&   // not of a message of a former life of this NIC
                       reply == wants_reply;
  // one packet unless it is the reply of a get that moved data, or an old value that does not fit into it
  assign legal       = (msg_q.kind == KindAck || reply) && msg_q.length <= slot_cmd_i.length &&
                       hdr_q.eop == !(wants_reply && msg_q.length > (fetch ? 32'd16 : 32'd0) && msg_q.status == StOk);
  assign tail    = hdr.src == hdr_q.src && hdr.seq == hdr_q.seq;
  assign fits    = tail && hdr.idx == idx_q;
  // the packet before came twice: the network's doing, no reason to give the message up
  assign twice   = state_q == Body && pkt_valid_i && tail && hdr.idx == idx_q - 8'd1 && !abort_i;
  assign at_end  = count_q == ((msg_q.length - 32'd1) >> 6);
  assign in_body = state_q == Body && pkt_valid_i && !hdr.sop && !twice && !abort_i;
  assign pkt_ready_o = state_q == Idle || twice || (in_body && (!fits || hdr.eop != at_end || wr_ready_i));

  // The slots have one port: a response that has come, before one that ends
  assign slot_o     = (state_q == Check) ? msg_q.slot : head.slot;
  assign at_slot_o  = msg_q.slot;
  assign pending_o  = pending_q;
  assign busy_o     = state_q != Idle && state_q != Check;
  assign moves_o    = in_body && fits && wr_ready_i;
  assign wr_start_o = state_q == Start && wr_room_i;
  assign wr_addr_o  = cmd_q.addr;
  assign wr_len_o   = msg_q.length;
  assign wr_abort_o = state_q == Abort;
  assign wr_valid_o = state_q == Feed || (in_body && fits && hdr.eop == at_end);
  assign wr_data_o  = (state_q == Feed) ? {384'd0, msg_q.imm} : pkt_i.data;

  assign confirm_o      = state_q == Check && msg_q.kind == KindAckAck;
  assign confirm_peer_o = hdr_q.src;
  assign confirm_seq_o  = hdr_q.seq;
  assign ack_valid_o    = done_o || (state_q == Check && !waits && (msg_q.kind == KindAck || reply));
  assign ack_dst_o      = done_o ? head.src : hdr_q.src;
  assign ack_seq_o      = done_o ? head.seq : hdr_q.seq;
  assign ack_slot_o     = done_o ? head.slot : msg_q.slot;
  assign unconfirmed_o  = ack_valid_o && !ack_ready_i;

  // ---- what follows when the host has the data ----------------------------------------------------------
  logic push, push_ready, valid, res_ready, res_valid, res_err, load;
  logic [Slots-1:0] pending_q;
  item_t item, head;
  cmd_t end_cmd_q;
  logic [$clog2(Depth):0] unused_count;
  logic [$clog2(Depth)+1:0] unused_results;
  always_comb begin
    item        = '0;
    item.writes = writes_q;
    item.reply  = reply;
    item.mute   = !reply && msg_q.base[0] && msg_q.status == StOk;
    item.src    = hdr_q.src;
    item.seq    = hdr_q.seq;
    item.slot   = msg_q.slot;
    item.status = msg_q.status;
    item.length = msg_q.length;
    item.offset = msg_q.offset;
  end
  assign push = state_q == Push;
  nic_fifo #(.Width($bits(item)), .Depth(Depth)) u_wait (
    .clk_i, .rst_ni, .valid_i(push), .ready_o(push_ready), .data_i(item), .valid_o(valid), .ready_i(done_o),
    .data_o(head), .count_o(unused_count)
  );
  nic_fifo #(.Width(1), .Depth(2 * Depth)) u_results (   // of responses that wait, and of that not yet here
    .clk_i, .rst_ni, .valid_i(wr_done_i), .ready_o(res_ready), .data_i(wr_err_i), .valid_o(res_valid),
    .ready_i(load && head.writes), .data_o(res_err), .count_o(unused_results)
  );
  assign load       = end_q == Rest && state_q != Check && valid && (!head.writes || res_valid);
  assign done_o     = end_q == Done && state_q != Check;
  assign host_err_o = load && head.writes && res_err;

  // SEND of a payload read by DMA comes with the acknowledgement: only now may its buffer change
  logic want_send, want_ack;
  assign want_send = end_cmd_q.kind != KindGet && end_cmd_q.pay == PayDma && end_cmd_q.length != '0 &&
                     end_cmd_q.send_event;
  assign want_ack  = head.mute ? end_cmd_q.ack_event && end_cmd_q.end_event : end_cmd_q.ack_event || end_cmd_q.ct_en;
  always_comb begin
    ev_o          = '0;
    ev_o.eq_en    = end_q == Send || end_cmd_q.ack_event;
    ev_o.eq       = end_cmd_q.eq;
    ev_o.ct_en    = end_q == Tell && end_cmd_q.ct_en && !head.mute;
    ev_o.ct_bytes = end_cmd_q.ct_bytes;
    ev_o.ct       = end_cmd_q.ct;
    ev_o.etype    = (end_q == Send) ? EvSend : head.reply ? EvReply : EvAck;
    ev_o.status   = (end_q == Send) ? StOk : status_q;
    ev_o.pt       = end_cmd_q.pt;
    ev_o.peer     = head.src;
    ev_o.slot     = {8'd0, head.slot};
    ev_o.rlength  = end_cmd_q.length;
    ev_o.mlength  = (end_q == Send) ? end_cmd_q.length : head.length;
    ev_o.match    = end_cmd_q.match;
    ev_o.hdr_data = end_cmd_q.hdr_data;
    ev_o.start    = end_cmd_q.addr;
    ev_o.offset   = head.offset;
    ev_o.user     = {16'd0, end_cmd_q.user};
  end
  assign ev_valid_o = (end_q == Send && want_send) || (end_q == Tell && want_ack);
  assign accept_o   = done_o;
  assign drop_o     = pkt_valid_i && pkt_ready_o &&
                      ((state_q == Idle && (hdr.sop ? hdr.dst != self_i : !(skip_q && tail))) ||
                       twice || (in_body && !fits));
  assign bad_o      = (state_q == Check && ((waits && !legal) ||
                                            (msg_q.kind != KindAck && !reply && msg_q.kind != KindAckAck))) ||
                      (in_body && fits && hdr.eop != at_end);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      hdr_q    <= '0;
      msg_q    <= '0;
      cmd_q    <= '0;
      writes_q <= 1'b0;
      count_q  <= '0;
      idx_q    <= '0;
      skip_q   <= 1'b0;
    end else begin
      unique case (state_q)
        Idle: if (pkt_valid_i && hdr.sop) begin
          skip_q <= hdr.dst == self_i;
          if (hdr.dst == self_i) begin
            hdr_q   <= hdr;
            msg_q   <= pkt_i.data;
            state_q <= Check;
          end
        end
        Check: begin
          cmd_q    <= slot_cmd_i;
          writes_q <= reply && msg_q.status == StOk && msg_q.length != '0;
          idx_q    <= hdr_q.idx + 8'd1;
          count_q  <= '0;
          if (msg_q.kind == KindAckAck || !waits || !legal) begin
            state_q <= Idle;
          end else if (reply && msg_q.status == StOk && msg_q.length != '0) begin
            skip_q  <= 1'b0;
            state_q <= Start;
          end else begin
            state_q <= Push;
          end
        end
        Start: if (wr_room_i) state_q <= hdr_q.eop ? Feed : Body;
        Feed: if (wr_ready_i) state_q <= Push;
        Body: begin
          if (abort_i || (pkt_valid_i && hdr.sop && !twice)) begin
            state_q <= Abort;
          end else if (in_body && pkt_ready_o) begin
            idx_q   <= idx_q + 8'd1;
            count_q <= count_q + 32'd1;
            if (!fits || hdr.eop != at_end) state_q <= Abort;
            else if (at_end) state_q <= Push;
          end
        end
        Abort: begin
          skip_q <= 1'b1;
          if (wr_idle_i) state_q <= Idle;
        end
        default: if (push_ready) state_q <= Idle;   // Push
      endcase
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      end_q     <= Rest;
      end_cmd_q <= '0;
      status_q  <= StOk;
      pending_q <= '0;
    end else begin
      unique case (end_q)
        Rest: if (load) begin
          end_cmd_q <= slot_cmd_i;
          status_q  <= (head.writes && res_err) ? StHostError : head.status;
          end_q     <= Send;
        end
        Send: if (!want_send || ev_ready_i) end_q <= Tell;
        Tell: if (!want_ack || ev_ready_i) end_q <= Done;
        default: if (done_o) end_q <= Rest;
      endcase
      if (push && push_ready) pending_q[msg_q.slot[Sb-1:0]] <= 1'b1;
      if (done_o) pending_q[head.slot[Sb-1:0]] <= 1'b0;
    end
  end
  logic unused;
  assign unused = ^{hdr.crc, hdr.vn, hdr_q.crc, hdr_q.dst, hdr_q.vn, hdr_q.sop, msg_q.is_float, msg_q.is_complex, msg_q.ni, msg_q.uid, msg_q.pid, msg_q.dst_pid, msg_q.hdr_data,
                    msg_q.match, msg_q.base, msg_q.pt, msg_q.aop, msg_q.dtype, msg_q.retry, cmd_q, end_cmd_q,
                    slot_cmd_i, res_ready, unused_count, unused_results};
endmodule
