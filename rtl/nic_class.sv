// All that one class of traffic has for itself, compute or service: command queue, target, responses. What
// it shares with the other class (matching, events, buses, link) never waits for one class only.
module nic_class import nic_pkg::*; #(
  parameter int unsigned Slots = 32,
  parameter int unsigned PioBytes = 512,
  parameter int unsigned MaxBytes = 4194304,
  localparam int unsigned Sb = $clog2(Slots),
  localparam int unsigned All = 2 * Slots,   // with those of released commands
  localparam int unsigned Wb = $clog2(Slots * PioBytes / 4)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic [5:0]    self_i,
  input  logic          enable_i,
  input  logic [31:0]   timeout_i,
  input  logic [3:0]    retries_i,
  input  logic [Contexts*CtxBits-1:0] ctx_i,
  input  logic          clear_i,
  input  logic [5:0]    clear_peer_i,
  input  logic          cmd_we_i,
  input  logic [Sb+3:0] cmd_word_i,
  input  logic          pio_we_i,
  input  logic [Wb-1:0] pio_word_i,
  input  logic [31:0]   wdata_i,
  output logic [31:0]   head_o,
  output logic [31:0]   tail_o,
  output logic          idle_o,
  output logic [11:0]   unconfirmed_o,
  // commands that counters have released
  input  logic          trg_valid_i,
  output logic          trg_ready_o,
  input  logic [CmdBits-1:0] trg_cmd_i,
  // packets to and from the link: request, response
  output logic [1:0]    tx_valid_o,
  input  logic [1:0]    tx_ready_i,
  output pkt_t          tx_req_o,
  output pkt_t          tx_rsp_o,
  input  logic [1:0]    rx_valid_i,
  output logic [1:0]    rx_ready_o,
  input  pkt_t          rx_req_i,
  input  pkt_t          rx_rsp_i,
  // matching and the lock of atomics
  output logic          lme_valid_o,
  input  logic          lme_ready_i,
  output lme_req_t      lme_req_o,
  input  logic          lme_res_valid_i,
  input  lme_res_t      lme_res_i,
  output logic          lme_done_o,
  output logic [15:0]   lme_done_me_o,
  output logic          lock_o,
  input  logic          locked_i,
  // events: transmitter, target, response out, response in
  output logic [3:0]    ev_valid_o,
  input  logic [3:0]    ev_ready_i,
  output logic [4*EvBits-1:0] ev_o,
  // DMA read clients: put payload, reply payload, atomic
  output logic [2:0]    rd_valid_o,
  input  logic [2:0]    rd_ready_i,
  output logic [191:0]  rd_addr_o,
  output logic [14:0]   rd_beats_o,
  input  logic [2:0]    rd_beat_valid_i,
  input  logic [255:0]  rd_beat_i,
  input  logic          rd_err_i,
  // DMA write clients: target, reply
  output logic [1:0]    wr_valid_o,
  output logic [127:0]  wr_addr_o,
  output logic [9:0]    wr_beats_o,
  output logic [511:0]  wr_beat_o,
  output logic [63:0]   wr_strb_o,
  input  logic [1:0]    wr_pop_i,
  input  logic [1:0]    wr_done_i,
  input  logic [1:0]    wr_resp_i,
  input  logic          wr_err_i,
  // counters
  output logic          retransmit_o,
  output logic [1:0]    rx_msg_o,     // accepted: request, response
  output logic [1:0]    rx_drop_o,
  output pulse_t        pulse_o
);
  // 8 KiB asked for: at 11 GB/s enough for a host that answers within 700 ns
  localparam int unsigned ReadBeats = 256;

  // ---- transmitter -----------------------------------------------------------------------------------
  logic t_start, t_room, t_err, t_valid, t_ready, t_bad, undelivered, t_host;
  logic [63:0] t_addr;
  logic [31:0] t_len;
  logic [511:0] t_data;
  logic [7:0] q_slot, q_seq, rsp_slot;
  logic [All-1:0] rsp_pending;
  logic q_valid, done, rsp_busy, rsp_moves, rsp_abort;
  cmd_t q_cmd;
  nic_tx_req #(.Slots(Slots), .PioBytes(PioBytes), .MaxBytes(MaxBytes)) u_tx_req (
    .clk_i, .rst_ni, .self_i, .enable_i, .timeout_i, .retries_i, .ctx_i, .clear_i, .clear_peer_i,
    .cmd_we_i, .cmd_word_i, .pio_we_i, .pio_word_i, .wdata_i, .head_o, .tail_o, .idle_o, .trg_valid_i, .trg_ready_o, .trg_cmd_i,
    .rd_start_o(t_start), .rd_ready_i(t_room), .rd_addr_o(t_addr), .rd_len_o(t_len),
    .rd_err_i(t_err), .rd_valid_i(t_valid), .rd_ready_o(t_ready), .rd_data_i(t_data),
    .pkt_valid_o(tx_valid_o[0]), .pkt_ready_i(tx_ready_i[0]), .pkt_o(tx_req_o),
    .ev_valid_o(ev_valid_o[0]), .ev_ready_i(ev_ready_i[0]), .ev_o(ev_o[0 * EvBits +: EvBits]), .q_slot_i(q_slot),
    .q_valid_o(q_valid), .q_seq_o(q_seq), .q_cmd_o(q_cmd), .done_i(done),
    .rsp_pending_i(rsp_pending), .rsp_busy_i(rsp_busy), .rsp_slot_i(rsp_slot), .rsp_moves_i(rsp_moves), .rsp_abort_o(rsp_abort),
    .bad_o(t_bad), .undelivered_o(undelivered), .host_err_o(t_host), .retransmit_o
  );
  nic_rd_stream #(.Depth(ReadBeats)) u_put_data (
    .clk_i, .rst_ni, .start_i(t_start), .ready_o(t_room), .addr_i(t_addr), .len_i(t_len), .err_o(t_err),
    .req_valid_o(rd_valid_o[0]), .req_ready_i(rd_ready_i[0]),
    .req_addr_o(rd_addr_o[63:0]), .req_beats_o(rd_beats_o[4:0]),
    .beat_valid_i(rd_beat_valid_i[0]), .beat_i(rd_beat_i), .beat_err_i(rd_err_i),
    .valid_o(t_valid), .ready_i(t_ready), .data_o(t_data)
  );

  // ---- target ----------------------------------------------------------------------------------------
  logic w_start, w_room, w_abort, w_idle, w_done, w_err, w_valid, w_ready, rsp_valid, rsp_ready, rsp_ev, confirm;
  logic o_start, o_room, o_err, o_valid, o_ready;
  logic [511:0] o_data;
  logic [63:0] w_addr;
  logic [31:0] w_len;
  logic [511:0] w_data;
  rsp_t rsp;
  ev_t rsp_ev_data;
  logic [5:0] confirm_peer;
  logic [7:0] confirm_seq;
  logic dup, future, abandoned, r_bad, no_match, r_host, unsent, rsp_sent;
  logic [5:0] look_src;
  logic [7:0] look_seq;
  nic_rx_req #(.MaxBytes(MaxBytes)) u_rx_req (
    .clk_i, .rst_ni, .self_i, .clear_i, .clear_peer_i, .pkt_valid_i(rx_valid_i[0]),
    .pkt_ready_o(rx_ready_o[0]), .pkt_i(rx_req_i), .lme_valid_o, .lme_ready_i, .lme_req_o,
    .lme_res_valid_i, .lme_res_i, .lme_done_o, .lme_done_me_o, .wr_start_o(w_start), .wr_ready_range_i(w_room),
    .wr_addr_o(w_addr), .wr_len_o(w_len), .wr_abort_o(w_abort), .wr_idle_i(w_idle),
    .wr_done_i(w_done), .wr_err_i(w_err), .wr_valid_o(w_valid), .wr_ready_i(w_ready), .wr_data_o(w_data), .lock_o,
    .locked_i, .rd_start_o(o_start), .rd_room_i(o_room), .rd_valid_i(o_valid), .rd_ready_o(o_ready), .rd_data_i(o_data),
    .rd_err_i(o_err), .ev_valid_o(ev_valid_o[1]), .ev_ready_i(ev_ready_i[1]),
    .ev_o(ev_o[1 * EvBits +: EvBits]), .rsp_valid_o(rsp_valid), .rsp_ready_i(rsp_ready), .rsp_o(rsp),
    .rsp_unsent_i(unsent), .look_src_o(look_src), .look_seq_o(look_seq), .rsp_ev_o(rsp_ev), .rsp_ev_data_o(rsp_ev_data), .confirm_i(confirm),
    .confirm_peer_i(confirm_peer), .confirm_seq_i(confirm_seq), .unconfirmed_o,
    .drop_o(rx_drop_o[0]), .accept_o(rx_msg_o[0]), .dup_o(dup), .future_o(future),
    .abandoned_o(abandoned), .bad_o(r_bad), .no_match_o(no_match), .host_err_o(r_host)
  );
  nic_rd_stream #(.Depth(32), .Ranges(2)) u_old_data (
    .clk_i, .rst_ni, .start_i(o_start), .ready_o(o_room), .addr_i(w_addr), .len_i(w_len), .err_o(o_err),
    .req_valid_o(rd_valid_o[2]), .req_ready_i(rd_ready_i[2]),
    .req_addr_o(rd_addr_o[191:128]), .req_beats_o(rd_beats_o[14:10]),
    .beat_valid_i(rd_beat_valid_i[2]), .beat_i(rd_beat_i), .beat_err_i(rd_err_i),
    .valid_o(o_valid), .ready_i(o_ready), .data_o(o_data)
  );
  nic_wr_stream u_target_data (
    .clk_i, .rst_ni, .start_i(w_start), .ready_range_o(w_room), .addr_i(w_addr), .len_i(w_len), .abort_i(w_abort),
    .idle_o(w_idle), .done_o(w_done), .err_o(w_err), .valid_i(w_valid), .ready_o(w_ready), .data_i(w_data),
    .req_valid_o(wr_valid_o[0]), .req_addr_o(wr_addr_o[63:0]), .req_beats_o(wr_beats_o[4:0]),
    .beat_o(wr_beat_o[255:0]), .strb_o(wr_strb_o[31:0]), .beat_pop_i(wr_pop_i[0]),
    .req_done_i(wr_done_i[0]), .resp_i(wr_resp_i[0]), .resp_err_i(wr_err_i)
  );

  // ---- responses out: a short queue, so that the target goes on while one is sent ---------------------
  logic [RspBits+EvBits:0] rsp_out;   // {response, with event, event}
  logic out_valid, out_ready, ack_in, ack_in_ready, ack_out, ack_out_ready, s_reads, s_room, s_err;
  logic s_valid, s_ready, s_host, rsp_room;
  logic [4:0] unused_rsp_count;
  logic [6:0] unused_ack_count;   // as many as command slots: none is lost without faults
  logic [21:0] ack_in_data, ack_out_data;
  logic [511:0] s_data;
  // a reply's data are asked for when it enters the queue
  assign s_reads   = rsp.kind == KindReply && !rsp.fetch && rsp.status == StOk && rsp.length != '0;
  assign rsp_ready = rsp_room && (!s_reads || s_room);
  nic_fifo #(.Width(RspBits + 1 + EvBits), .Depth(16)) u_rsp_fifo (
    .clk_i, .rst_ni, .valid_i(rsp_valid && rsp_ready), .ready_o(rsp_room),
    .data_i({rsp, rsp_ev, rsp_ev_data}), .valid_o(out_valid), .ready_i(out_ready),
    .data_o(rsp_out), .count_o(unused_rsp_count)
  );
  // at most 17: those in the queue, and one on its way out
  nic_unsent u_unsent (
    .clk_i, .rst_ni, .put_i(rsp_valid && rsp_ready), .put_key_i({rsp.dst, rsp.seq}), .sent_i(rsp_sent),
    .key_i({look_src, look_seq}), .waits_o(unsent)
  );
  nic_fifo #(.Width(22), .Depth(All)) u_ack_fifo (
    .clk_i, .rst_ni, .valid_i(ack_in), .ready_o(ack_in_ready), .data_i(ack_in_data),
    .valid_o(ack_out), .ready_i(ack_out_ready), .data_o(ack_out_data), .count_o(unused_ack_count)
  );
  nic_tx_rsp u_tx_rsp (
    .clk_i, .rst_ni, .self_i, .rsp_valid_i(out_valid), .rsp_ready_o(out_ready),
    .rsp_i(rsp_out[EvBits+1 +: RspBits]), .rsp_ev_i(rsp_out[EvBits]),
    .rsp_ev_data_i(rsp_out[EvBits-1:0]), .ack_valid_i(ack_out), .ack_ready_o(ack_out_ready),
    .ack_dst_i(ack_out_data[21:16]), .ack_seq_i(ack_out_data[15:8]),
    .ack_slot_i(ack_out_data[7:0]), .sent_o(rsp_sent), .rd_err_i(s_err), .rd_valid_i(s_valid), .rd_ready_o(s_ready),
    .rd_data_i(s_data), .pkt_valid_o(tx_valid_o[1]), .pkt_ready_i(tx_ready_i[1]),
    .pkt_o(tx_rsp_o), .ev_valid_o(ev_valid_o[2]), .ev_ready_i(ev_ready_i[2]), .ev_o(ev_o[2 * EvBits +: EvBits]),
    .host_err_o(s_host)
  );
  nic_rd_stream #(.Depth(ReadBeats)) u_reply_read (
    .clk_i, .rst_ni, .start_i(rsp_valid && rsp_ready && s_reads), .ready_o(s_room), .addr_i(rsp.addr),
    .len_i(rsp.length), .err_o(s_err), .req_valid_o(rd_valid_o[1]), .req_ready_i(rd_ready_i[1]),
    .req_addr_o(rd_addr_o[127:64]), .req_beats_o(rd_beats_o[9:5]),
    .beat_valid_i(rd_beat_valid_i[1]), .beat_i(rd_beat_i), .beat_err_i(rd_err_i),
    .valid_o(s_valid), .ready_i(s_ready), .data_o(s_data)
  );

  // ---- responses in ------------------------------------------------------------------------------------
  logic p_start, p_room, p_abort, p_idle, p_done, p_err, p_valid, p_ready, p_bad, p_host, unconfirmed;
  logic [63:0] p_addr;
  logic [31:0] p_len;
  logic [511:0] p_data;
  nic_rx_rsp #(.Slots(All)) u_rx_rsp (
    .clk_i, .rst_ni, .self_i, .pkt_valid_i(rx_valid_i[1]), .pkt_ready_o(rx_ready_o[1]),
    .pkt_i(rx_rsp_i), .slot_o(q_slot), .slot_valid_i(q_valid), .slot_seq_i(q_seq),
    .slot_cmd_i(q_cmd), .done_o(done), .busy_o(rsp_busy), .at_slot_o(rsp_slot), .moves_o(rsp_moves),
    .pending_o(rsp_pending), .wr_room_i(p_room),
    .abort_i(rsp_abort), .wr_start_o(p_start), .wr_addr_o(p_addr), .wr_len_o(p_len),
    .wr_abort_o(p_abort), .wr_idle_i(p_idle), .wr_done_i(p_done), .wr_err_i(p_err), .wr_valid_o(p_valid),
    .wr_ready_i(p_ready), .wr_data_o(p_data), .ev_valid_o(ev_valid_o[3]),
    .ev_ready_i(ev_ready_i[3]), .ev_o(ev_o[3 * EvBits +: EvBits]), .ack_valid_o(ack_in),
    .ack_ready_i(ack_in_ready), .ack_dst_o(ack_in_data[21:16]), .ack_seq_o(ack_in_data[15:8]),
    .ack_slot_o(ack_in_data[7:0]), .confirm_o(confirm), .confirm_peer_o(confirm_peer),
    .confirm_seq_o(confirm_seq), .drop_o(rx_drop_o[1]), .accept_o(rx_msg_o[1]), .bad_o(p_bad),
    .host_err_o(p_host), .unconfirmed_o(unconfirmed)
  );
  nic_wr_stream u_reply_data (
    .clk_i, .rst_ni, .start_i(p_start), .ready_range_o(p_room), .addr_i(p_addr), .len_i(p_len), .abort_i(p_abort),
    .idle_o(p_idle), .done_o(p_done), .err_o(p_err), .valid_i(p_valid), .ready_o(p_ready), .data_i(p_data),
    .req_valid_o(wr_valid_o[1]), .req_addr_o(wr_addr_o[127:64]), .req_beats_o(wr_beats_o[9:5]),
    .beat_o(wr_beat_o[511:256]), .strb_o(wr_strb_o[63:32]), .beat_pop_i(wr_pop_i[1]),
    .req_done_i(wr_done_i[1]), .resp_i(wr_resp_i[1]), .resp_err_i(wr_err_i)
  );

  always_comb begin
    pulse_o             = '0;
    pulse_o.dup         = dup;
    pulse_o.future      = future;
    pulse_o.abandoned   = abandoned;
    pulse_o.undelivered = undelivered;
    pulse_o.unconfirmed = unconfirmed;
    pulse_o.bad_cmd     = t_bad;
    pulse_o.bad_msg     = r_bad || p_bad;
    pulse_o.no_match    = no_match;
    pulse_o.host_err    = t_host || r_host || s_host || p_host;
  end
  logic unused;
  assign unused = ^{unused_rsp_count, unused_ack_count};
endmodule
