// Initiator's side of the responses of one class: finds the command slot that waits, writes reply data to
// its buffer, tells the host, frees the slot and confirms the response to the target. A response that
// nothing waits for is confirmed too, as the first confirmation may have been lost.
module nic_rx_rsp import nic_pkg::*; (
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
  output logic         done_o,
  output logic         busy_o,
  output logic         moves_o,
  input  logic         abort_i,
  // payload to the host
  output logic         wr_start_o,
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
  typedef enum logic [3:0] {Idle, Check, Start, Feed, Body, Abort, Wait, Send, Tell, Done} state_t;
  state_t state_q;
  pkt_hdr_t hdr, hdr_q;
  msg_t msg_q;
  cmd_t cmd_q;
  status_t status_q;
  logic [31:0] count_q;
  logic [7:0] idx_q;
  logic skip_q;

  assign hdr = pkt_i.hdr;
  logic reply, wants_reply, waits, legal, fetch, in_body, fits, tail, twice, at_end;
  assign reply       = msg_q.kind == KindReply;
  assign fetch       = slot_cmd_i.kind == KindFetch;
  assign wants_reply = slot_cmd_i.kind == KindGet || fetch;
  assign waits       = slot_valid_i && slot_seq_i == hdr_q.seq && slot_cmd_i.dst == hdr_q.src &&
                       reply == wants_reply;
  // one packet unless it is the reply of a get that moved data
  assign legal       = (msg_q.kind == KindAck || reply) && msg_q.length <= slot_cmd_i.length &&
                       hdr_q.eop == !(slot_cmd_i.kind == KindGet && msg_q.length != '0 &&
                                      msg_q.status == StOk);
  assign tail    = hdr.src == hdr_q.src && hdr.seq == hdr_q.seq;
  assign fits    = tail && hdr.idx == idx_q;
  // the packet before came twice: the network's doing, no reason to give the message up
  assign twice   = state_q == Body && pkt_valid_i && tail && hdr.idx == idx_q - 8'd1 && !abort_i;
  assign at_end  = count_q == ((msg_q.length - 32'd1) >> 6);
  assign in_body = state_q == Body && pkt_valid_i && !hdr.sop && !twice && !abort_i;
  assign pkt_ready_o = state_q == Idle || twice || (in_body && (!fits || hdr.eop != at_end || wr_ready_i));

  assign slot_o     = msg_q.slot;
  assign busy_o     = state_q != Idle && state_q != Check;
  assign moves_o    = in_body && fits && wr_ready_i;
  assign wr_start_o = state_q == Start;
  assign wr_addr_o  = cmd_q.addr;
  assign wr_len_o   = msg_q.length;
  assign wr_abort_o = state_q == Abort;
  assign wr_valid_o = state_q == Feed || (in_body && fits && hdr.eop == at_end);
  assign wr_data_o  = (state_q == Feed) ? {384'd0, msg_q.imm} : pkt_i.data;

  assign confirm_o      = state_q == Check && msg_q.kind == KindAckAck;
  assign confirm_peer_o = hdr_q.src;
  assign confirm_seq_o  = hdr_q.seq;
  assign ack_valid_o    = done_o || (state_q == Check && !waits && (msg_q.kind == KindAck || reply));
  assign ack_dst_o      = hdr_q.src;
  assign ack_seq_o      = hdr_q.seq;
  assign ack_slot_o     = msg_q.slot;
  assign unconfirmed_o  = ack_valid_o && !ack_ready_i;

  // SEND of a DMA put comes with the acknowledgement: only now may its buffer change
  logic want_send, want_ack;
  assign want_send = cmd_q.kind == KindPut && cmd_q.pay == PayDma && cmd_q.length != '0 &&
                     cmd_q.send_event;
  assign want_ack  = cmd_q.ack_event || cmd_q.ct_en;
  always_comb begin
    ev_o          = '0;
    ev_o.eq_en    = state_q == Send || cmd_q.ack_event;
    ev_o.eq       = cmd_q.eq;
    ev_o.ct_en    = state_q == Tell && cmd_q.ct_en;
    ev_o.ct_bytes = cmd_q.ct_bytes;
    ev_o.ct       = cmd_q.ct;
    ev_o.etype    = (state_q == Send) ? EvSend : reply ? EvReply : EvAck;
    ev_o.status   = (state_q == Send) ? StOk : status_q;
    ev_o.pt       = cmd_q.pt;
    ev_o.peer     = hdr_q.src;
    ev_o.slot     = msg_q.slot;
    ev_o.rlength  = cmd_q.length;
    ev_o.mlength  = (state_q == Send) ? cmd_q.length : msg_q.length;
    ev_o.match    = cmd_q.match;
    ev_o.hdr_data = cmd_q.hdr_data;
    ev_o.start    = cmd_q.addr;
    ev_o.offset   = msg_q.offset;
    ev_o.user     = {16'd0, cmd_q.user};
  end
  assign ev_valid_o = (state_q == Send && want_send) || (state_q == Tell && want_ack);
  assign done_o     = state_q == Done;
  assign accept_o   = done_o;
  assign drop_o     = pkt_valid_i && pkt_ready_o &&
                      ((state_q == Idle && (hdr.sop ? hdr.dst != self_i : !(skip_q && tail))) ||
                       twice || (in_body && !fits));
  assign bad_o      = (state_q == Check && ((waits && !legal) ||
                                            (msg_q.kind != KindAck && !reply && msg_q.kind != KindAckAck))) ||
                      (in_body && fits && hdr.eop != at_end);
  assign host_err_o = state_q == Wait && wr_done_i && wr_err_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      hdr_q    <= '0;
      msg_q    <= '0;
      cmd_q    <= '0;
      status_q <= StOk;
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
          status_q <= msg_q.status;
          idx_q    <= hdr_q.idx + 8'd1;
          count_q  <= '0;
          if (msg_q.kind == KindAckAck || !waits || !legal) begin
            state_q <= Idle;
          end else if (reply && msg_q.status == StOk && msg_q.length != '0) begin
            skip_q  <= 1'b0;
            state_q <= Start;
          end else begin
            state_q <= Send;
          end
        end
        Start: state_q <= (cmd_q.kind == KindFetch) ? Feed : Body;
        Feed: if (wr_ready_i) state_q <= Wait;
        Body: begin
          if (abort_i || (pkt_valid_i && hdr.sop && !twice)) begin
            state_q <= Abort;
          end else if (in_body && pkt_ready_o) begin
            idx_q   <= idx_q + 8'd1;
            count_q <= count_q + 32'd1;
            if (!fits || hdr.eop != at_end) state_q <= Abort;
            else if (at_end) state_q <= Wait;
          end
        end
        Abort: begin
          skip_q <= 1'b1;
          if (wr_idle_i) state_q <= Idle;
        end
        Wait: if (wr_done_i) begin
          if (wr_err_i) status_q <= StHostError;
          state_q <= Send;
        end
        Send: if (!want_send || ev_ready_i) state_q <= Tell;
        Tell: if (!want_ack || ev_ready_i) state_q <= Done;
        default: state_q <= Idle;   // Done
      endcase
    end
  end
  logic unused;
  assign unused = ^{hdr.crc, hdr.vn, hdr_q.crc, hdr_q.dst, hdr_q.vn, hdr_q.sop, msg_q.rsvd, msg_q.rsvd2,
                    msg_q.hdr_data, msg_q.match, msg_q.base, msg_q.pt, msg_q.aop, msg_q.dtype,
                    msg_q.user, msg_q.retry, cmd_q.commit, cmd_q.rsvd, cmd_q.rsvd0, cmd_q.rsvd1,
                    cmd_q.operand, cmd_q.operand2, cmd_q.aop, cmd_q.dtype, cmd_q.dst, cmd_q.offset,
                    slot_cmd_i};
endmodule
