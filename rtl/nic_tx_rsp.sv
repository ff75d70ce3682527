// Transmits the responses of one class: acknowledgements, replies with data read from the host, and,
// when nothing else waits, acknowledgements of acknowledgements. Who queues a reply starts the reading of
// its data, so that they are on their way while it waits. A reply whose data could not be read
// ends with a broken packet count: the initiator takes it for lost, asks again and gives up at last.
module nic_tx_rsp import nic_pkg::*; (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [5:0]   self_i,
  input  logic         rsp_valid_i,
  output logic         rsp_ready_o,
  input  rsp_t         rsp_i,
  input  logic         rsp_ev_i,
  input  ev_t          rsp_ev_data_i,
  input  logic         ack_valid_i,   // acknowledgement of acknowledgement
  output logic         ack_ready_o,
  input  logic [5:0]   ack_dst_i,
  input  logic [7:0]   ack_seq_i,
  input  logic [7:0]   ack_slot_i,
  // DMA read stream
  input  logic         rd_err_i,      // with the last packet
  input  logic         rd_valid_i,
  output logic         rd_ready_o,
  input  logic [511:0] rd_data_i,
  // packets
  output logic         pkt_valid_o,
  input  logic         pkt_ready_i,
  output pkt_t         pkt_o,
  output logic         sent_o,        // the last packet of a response, which was the oldest of those that were taken
  output logic         ev_valid_o,
  input  logic         ev_ready_i,
  output ev_t          ev_o,
  output logic         host_err_o
);
  typedef enum logic [1:0] {Idle, Head, Body, Sent} state_t;
  state_t state_q;
  rsp_t rsp_q;
  ev_t ev_q;
  logic want_ev_q, err_q;
  logic [31:0] count_q;
  logic [7:0] idx_q;
  logic has_body, reads, at_end;   // reads: the body comes from the host

  assign has_body = rsp_q.kind == KindReply && rsp_q.status == StOk && rsp_q.length > (rsp_q.fetch ? 32'd16 : 32'd0);
  assign reads    = has_body && !rsp_q.fetch;
  assign at_end   = count_q == ((rsp_q.length - 32'd1) >> 6);
  assign rsp_ready_o = state_q == Idle;
  assign ack_ready_o = state_q == Idle && !rsp_valid_i;

  msg_t msg;
  always_comb begin
    msg        = '0;
    msg.kind   = rsp_q.kind;
    msg.imm    = (rsp_q.fetch && !has_body) ? rsp_q.old[127:0] : '0;
    msg.user   = rsp_q.user;
    msg.retry  = rsp_q.retry;
    msg.slot   = rsp_q.slot;
    msg.offset = rsp_q.offset;
    msg.length = rsp_q.length;
    msg.status = rsp_q.status;
    msg.base   = {7'd0, rsp_q.ack_off};
    pkt_o         = '0;
    pkt_o.hdr.src = self_i;
    pkt_o.hdr.dst = rsp_q.dst;
    pkt_o.hdr.seq = rsp_q.seq;
    pkt_o.hdr.idx = (reads && state_q == Body && at_end && rd_err_i) ? ~idx_q : idx_q;
    pkt_o.hdr.sop = state_q == Head;
    pkt_o.hdr.eop = (state_q == Head) ? !has_body : at_end;
    pkt_o.data    = (state_q == Head) ? msg : reads ? rd_data_i : rsp_q.old;
  end
  assign pkt_valid_o = (state_q == Head || state_q == Body) && (!reads || rd_valid_i);
  assign rd_ready_o  = state_q == Body && reads && pkt_ready_i;
  assign ev_valid_o  = state_q == Sent && want_ev_q;
  assign sent_o      = pkt_valid_o && pkt_ready_i && pkt_o.hdr.eop && rsp_q.kind != KindAckAck;
  assign host_err_o  = state_q == Body && reads && rd_valid_i && pkt_ready_i && at_end && rd_err_i;
  always_comb begin
    ev_o = ev_q;
    if (err_q) ev_o.status = StHostError;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      rsp_q     <= '0;
      ev_q      <= '0;
      want_ev_q <= 1'b0;
      err_q     <= 1'b0;
      count_q   <= '0;
      idx_q     <= '0;
    end else begin
      unique case (state_q)
        Idle: begin
          count_q <= '0;
          idx_q   <= '0;
          err_q   <= 1'b0;
          if (rsp_valid_i) begin
            rsp_q     <= rsp_i;
            ev_q      <= rsp_ev_data_i;
            want_ev_q <= rsp_ev_i;
            state_q   <= Head;
          end else if (ack_valid_i) begin
            rsp_q      <= '0;
            rsp_q.kind <= KindAckAck;
            rsp_q.dst  <= ack_dst_i;
            rsp_q.seq  <= ack_seq_i;
            rsp_q.slot <= ack_slot_i;
            want_ev_q  <= 1'b0;
            state_q    <= Head;
          end
        end
        Head: if (pkt_valid_o && pkt_ready_i) begin
          idx_q   <= idx_q + 8'd1;
          state_q <= has_body ? Body : Sent;
        end
        Body: if (pkt_valid_o && pkt_ready_i) begin
          idx_q   <= idx_q + 8'd1;
          count_q <= count_q + 32'd1;
          if (at_end) begin
            err_q   <= reads && rd_err_i;
            state_q <= Sent;
          end
        end
        default: if (!want_ev_q || ev_ready_i) state_q <= Idle;   // Sent
      endcase
    end
  end
  logic unused;
  assign unused = ^rsp_q;   // its address: who queued it reads
endmodule
