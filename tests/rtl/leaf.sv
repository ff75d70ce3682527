// All leaf modules side by side, so that one build tests each of them alone: prefix = module.
module leaf import nic_pkg::*; (
  input  logic         clk_i,
  input  logic         rst_ni,
  // nic_fifo
  input  logic         fifo_valid_i,
  output logic         fifo_ready_o,
  input  logic [15:0]  fifo_data_i,
  output logic         fifo_valid_o,
  input  logic         fifo_ready_i,
  output logic [15:0]  fifo_data_o,
  output logic [2:0]   fifo_count_o,
  // nic_unsent
  input  logic         unsent_put_i,
  input  logic [3:0]   unsent_put_key_i,
  input  logic         unsent_sent_i,
  input  logic [3:0]   unsent_key_i,
  output logic         unsent_waits_o,
  // nic_arbiter
  input  logic [4:0]   arb_req_i,
  input  logic         arb_ack_i,
  output logic [4:0]   arb_grant_o,
  output logic         arb_valid_o,
  output logic [2:0]   arb_index_o,
  // nic_clock
  input  logic         clock_inc_we_i,
  input  logic [23:0]  clock_inc_i,
  input  logic [31:0]  clock_frac_i,
  input  logic         clock_set_lo_i,
  input  logic         clock_set_hi_i,
  input  logic [31:0]  clock_set_i,
  input  logic         clock_adjust_i,
  input  logic [63:0]  clock_adjust_val_i,
  input  logic         clock_latch_i,
  output logic [63:0]  clock_time_o,
  output logic [31:0]  clock_latched_o,
  output logic [23:0]  clock_inc_o,
  output logic [31:0]  clock_frac_o,
  // nic_crc
  input  logic [543:0] crc_data_i,
  output logic [31:0]  crc_o,
  // nic_credit
  input  logic         credit_take_i,
  input  logic         credit_give_i,
  output logic         credit_avail_o,
  output logic         credit_error_o,
  output logic [2:0]   credit_count_o,
  // nic_tx_window and nic_rx_window
  input  logic         txw_clear_i,
  input  logic [1:0]   txw_clear_peer_i,
  input  logic [1:0]   txw_peer_i,
  output logic         txw_open_o,
  output logic [7:0]   txw_next_o,
  output logic [15:0]  txw_base_o,
  input  logic         txw_send_i,
  input  logic         txw_again_i,
  input  logic         txw_done_i,
  input  logic [1:0]   txw_done_peer_i,
  input  logic [7:0]   txw_done_seq_i,
  input  logic         rxw_clear_i,
  input  logic [1:0]   rxw_clear_peer_i,
  input  logic [1:0]   rxw_peer_i,
  input  logic [7:0]   rxw_seq_i,
  input  logic [15:0]  rxw_base_i,
  output logic         rxw_accept_o,
  output logic         rxw_duplicate_o,
  output logic         rxw_future_o,
  output logic         rxw_skipped_o,
  input  logic         rxw_follow_i,
  input  logic         rxw_deliver_i,
  // nic_link_tx -> the test's wire -> nic_link_rx
  input  logic [3:0]   ltx_valid_i,
  output logic [3:0]   ltx_ready_o,
  input  logic [31:0]  ltx_tag_i,      // header word of the packet offered
  input  logic [511:0] ltx_data_i,
  input  logic [3:0]   ltx_credit_i,
  input  logic         ltx_hold_i,
  output logic         ltx_valid_o,
  output logic         ltx_first_o,
  output logic [1:0]   ltx_vn_o,
  output logic [31:0]  ltx_half_o,
  output logic [255:0] ltx_flit_o,
  output logic [3:0]   ltx_stall_o,
  output logic         ltx_credit_error_o,
  output logic         ltx_idle_o,
  input  logic         lrx_valid_i,
  input  logic         lrx_first_i,
  input  logic [1:0]   lrx_vn_i,
  input  logic [31:0]  lrx_half_i,
  input  logic [255:0] lrx_flit_i,
  output logic [3:0]   lrx_credit_o,
  output logic [3:0]   lrx_valid_o,
  input  logic [3:0]   lrx_ready_i,
  input  logic [1:0]   lrx_sel_i,      // whose head is shown
  output logic [31:0]  lrx_tag_o,
  output logic [511:0] lrx_data_o,
  output logic         lrx_got_o,
  output logic [3:0]   lrx_crc_o,
  output logic [3:0]   lrx_drop_o,
  // memory copy: nic_dma_rd, nic_rd_stream, nic_wr_stream, nic_dma_wr
  input  logic         rd_start_i,
  input  logic [63:0]  rd_addr_i,
  input  logic [31:0]  rd_len_i,
  output logic         rd_room_o,
  output logic         rd_err_o,
  output logic         copy_o,         // a packet passes
  input  logic         wr_start_i,
  input  logic [63:0]  wr_addr_i,
  input  logic [31:0]  wr_len_i,
  input  logic         wr_abort_i,
  output logic         wr_room_o,
  output logic         wr_idle_o,
  output logic         wr_done_o,
  output logic         wr_err_o,
  input  logic         copy_gate_i,    // lets packets pass
  output logic [3:0]   arid_o,
  output logic [63:0]  araddr_o,
  output logic [7:0]   arlen_o,
  output logic         arvalid_o,
  input  logic         arready_i,
  input  logic [3:0]   rid_i,
  input  logic [255:0] rdata_i,
  input  logic [1:0]   rresp_i,
  input  logic         rvalid_i,
  output logic [3:0]   awid_o,
  output logic [63:0]  awaddr_o,
  output logic [7:0]   awlen_o,
  output logic         awvalid_o,
  input  logic         awready_i,
  output logic [255:0] wdata_o,
  output logic [31:0]  wstrb_o,
  output logic         wlast_o,
  output logic         wvalid_o,
  input  logic         wready_i,
  input  logic [3:0]   bid_i,
  input  logic [1:0]   bresp_i,
  input  logic         bvalid_i,
  // nic_axil
  input  logic [16:0]  axil_awaddr_i,
  input  logic         axil_awvalid_i,
  input  logic         axil_hold_i,
  output logic         axil_awready_o,
  input  logic [31:0]  axil_wdata_i,
  input  logic [3:0]   axil_wstrb_i,
  input  logic         axil_wvalid_i,
  output logic         axil_wready_o,
  output logic [1:0]   axil_bresp_o,
  output logic         axil_bvalid_o,
  input  logic         axil_bready_i,
  input  logic [16:0]  axil_araddr_i,
  input  logic         axil_arvalid_i,
  output logic         axil_arready_o,
  output logic [31:0]  axil_rdata_o,
  output logic [1:0]   axil_rresp_o,
  output logic         axil_rvalid_o,
  input  logic         axil_rready_i,
  output logic         axil_we_o,
  output logic         axil_re_o,
  output logic [16:0]  axil_addr_o,
  output logic [31:0]  axil_wdata_o,
  input  logic [31:0]  axil_rdata_i,
  // nic_alu
  input  logic [4:0]   alu_op_i,
  input  logic [2:0]   alu_dtype_i,
  input  logic [63:0]  alu_old_i,
  input  logic [63:0]  alu_operand_i,
  input  logic [63:0]  alu_compare_i,
  output logic [63:0]  alu_new_o,
  // nic_counters
  input  logic [31:0]  cnt_vn_i,
  input  logic [17:0]  cnt_nic_i,
  input  logic [1:0]   cnt_msg_i,
  input  logic [1:0]   cnt_tx_vn_i,
  input  logic [1:0]   cnt_rx_vn_i,
  input  logic [31:0]  cnt_tx_bytes_i,
  input  logic [31:0]  cnt_rx_bytes_i,
  input  logic         cnt_re_i,
  input  logic [8:0]   cnt_addr_i,
  output logic [31:0]  cnt_rdata_o,
  // nic_event and, behind it, nic_ct: two sources that offer the same, but for the user number. Both write by the
  // same port, records first
  input  logic         ev_we_i,
  input  logic [9:0]   ev_addr_i,
  input  logic [31:0]  ev_wdata_i,
  output logic [31:0]  ev_rdata_o,
  input  logic [63:0]  ev_time_i,
  input  logic [1:0]   ev_valid_i,
  output logic [1:0]   ev_ready_o,
  input  logic [8:0]   ev_to_i,        // {eq_en, eq, ct_en, ct_bytes, ct}
  input  logic [31:0]  ev_what_i,      // {etype, status, pt, unlinked, overflow, peer, 4'b0}
  input  logic [31:0]  ev_mlength_i,
  input  logic [63:0]  ev_user_i,
  output logic         ev_req_o,
  output logic [63:0]  ev_req_addr_o,
  output logic [4:0]   ev_req_beats_o,
  output logic [255:0] ev_beat_o,
  output logic [31:0]  ev_strb_o,
  input  logic         ev_pop_i,
  input  logic         ev_done_i,
  input  logic         ev_resp_i,
  input  logic         ev_resp_err_i,
  output logic [3:0]   ev_irq_o,
  output logic         ev_idle_o,
  output logic         ev_err_o,
  // nic_lme with 32 entries
  input  logic [15:0]  lme_pt_enable_i,
  input  logic [15:0]  lme_pt_mute_i,
  input  logic [15:0]  lme_pt_auto_i,
  output logic         lme_pt_disable_o,
  output logic [7:0]   lme_pt_disable_at_o,
  input  logic         lme_append_i,
  input  logic         lme_unlink_i,
  input  logic         lme_force_i,
  input  logic [15:0]  lme_index_i,
  input  logic [511:0] lme_entry_i,
  output logic         lme_busy_o,
  output logic [31:0]  lme_valid_o,
  output logic [31:0]  lme_in_use_o,
  output logic         lme_bad_o,
  input  logic         lme_req_valid_i,
  output logic         lme_req_ready_o,
  input  logic [3:0]   lme_kind_i,
  input  logic [5:0]   lme_src_i,
  input  logic [15:0]  lme_pid_i,
  input  logic [31:0]  lme_uid_i,
  input  logic [15:0]  lme_dst_pid_i,
  input  logic [1:0]   lme_ni_i,
  input  logic [7:0]   lme_pt_i,
  input  logic [31:0]  lme_length_i,
  input  logic [63:0]  lme_match_i,
  input  logic [63:0]  lme_offset_i,
  output logic         lme_res_valid_o,
  output logic         lme_counts_o,
  output logic [3:0]   lme_status_o,
  output logic         lme_matched_o,
  output logic [15:0]  lme_me_o,
  output logic [63:0]  lme_start_o,
  output logic [31:0]  lme_mlength_o,
  output logic [63:0]  lme_offset_o,
  output logic         lme_unlinked_o,
  output logic         lme_overflow_o,
  output logic [63:0]  lme_user_o,
  input  logic [1:0]   lme_done_i,
  input  logic [15:0]  lme_done_me0_i,
  input  logic [15:0]  lme_done_me1_i
);
  nic_fifo #(.Width(16), .Depth(4)) u_fifo (
    .clk_i, .rst_ni, .valid_i(fifo_valid_i), .ready_o(fifo_ready_o), .data_i(fifo_data_i),
    .valid_o(fifo_valid_o), .ready_i(fifo_ready_i), .data_o(fifo_data_o), .count_o(fifo_count_o)
  );
  nic_unsent #(.Width(4), .Depth(8)) u_unsent (
    .clk_i, .rst_ni, .put_i(unsent_put_i), .put_key_i(unsent_put_key_i), .sent_i(unsent_sent_i), .key_i(unsent_key_i),
    .waits_o(unsent_waits_o)
  );
  nic_arbiter #(.N(5)) u_arb (
    .clk_i, .rst_ni, .req_i(arb_req_i), .ack_i(arb_ack_i), .grant_o(arb_grant_o),
    .valid_o(arb_valid_o), .index_o(arb_index_o)
  );
  nic_clock u_clock (
    .clk_i, .rst_ni, .inc_we_i(clock_inc_we_i), .inc_i(clock_inc_i), .frac_i(clock_frac_i),
    .set_lo_we_i(clock_set_lo_i), .set_hi_we_i(clock_set_hi_i), .set_i(clock_set_i),
    .adjust_i(clock_adjust_i), .adjust_val_i(clock_adjust_val_i), .latch_i(clock_latch_i),
    .time_o(clock_time_o), .latched_hi_o(clock_latched_o), .inc_o(clock_inc_o),
    .frac_o(clock_frac_o)
  );
  nic_crc u_crc (.data_i(crc_data_i), .crc_o);
  nic_credit #(.Max(5)) u_credit (
    .clk_i, .rst_ni, .take_i(credit_take_i), .give_i(credit_give_i), .avail_o(credit_avail_o),
    .error_o(credit_error_o), .count_o(credit_count_o)
  );
  nic_tx_window #(.PeerCount(4)) u_txw (
    .clk_i, .rst_ni, .clear_i(txw_clear_i), .clear_peer_i(txw_clear_peer_i), .peer_i(txw_peer_i),
    .open_o(txw_open_o), .next_o(txw_next_o), .base_o(txw_base_o), .send_i(txw_send_i),
    .again_i(txw_again_i), .done_i(txw_done_i), .done_peer_i(txw_done_peer_i), .done_seq_i(txw_done_seq_i)
  );
  nic_rx_window #(.PeerCount(4)) u_rxw (
    .clk_i, .rst_ni, .clear_i(rxw_clear_i), .clear_peer_i(rxw_clear_peer_i), .peer_i(rxw_peer_i),
    .seq_i(rxw_seq_i), .base_i(rxw_base_i), .accept_o(rxw_accept_o),
    .duplicate_o(rxw_duplicate_o), .future_o(rxw_future_o), .skipped_o(rxw_skipped_o),
    .follow_i(rxw_follow_i), .deliver_i(rxw_deliver_i)
  );

  logic [1:0] unused_pick;
  pkt_t tx_pkt, unused_tx_pkt, rx_pkt [4], rx_sel;
  logic [3:0] unused_sent, unused_sop, unused_pkt;
  pkt_hdr_t unused_hdr;
  logic [511:0] unused_data;
  assign tx_pkt = {32'd0, ltx_tag_i, ltx_data_i};
  nic_link_tx #(.Credits(8)) u_ltx (
    .clk_i, .rst_ni, .valid_i(ltx_valid_i), .ready_o(ltx_ready_o), .pick_o(unused_pick), .pkt_i(tx_pkt), .credit_i(ltx_credit_i),
    .hold_i(ltx_hold_i), .valid_o(ltx_valid_o), .first_o(ltx_first_o), .lane_o(ltx_vn_o), .half_o(ltx_half_o),
    .flit_o(ltx_flit_o), .pkt_o(unused_tx_pkt), .stall_o(ltx_stall_o), .sent_o(unused_sent), .sent_sop_o(unused_sop),
    .credit_error_o(ltx_credit_error_o), .idle_o(ltx_idle_o)
  );
  nic_link_rx #(.Depth(8)) u_lrx (
    .clk_i, .rst_ni, .valid_i(lrx_valid_i), .first_i(lrx_first_i), .lane_i(lrx_vn_i),
    .half_i(lrx_half_i), .flit_i(lrx_flit_i), .credit_o(lrx_credit_o), .valid_o(lrx_valid_o),
    .ready_i(lrx_ready_i), .head_o({rx_pkt[3], rx_pkt[2], rx_pkt[1], rx_pkt[0]}), .got_o(lrx_got_o), .got_hdr_o(unused_hdr), .got_data_o(unused_data),
    .pkt_o(unused_pkt), .crc_err_o(lrx_crc_o), .drop_o(lrx_drop_o)
  );
  assign rx_sel     = rx_pkt[lrx_sel_i];
  assign lrx_tag_o  = rx_sel[543:512];
  assign lrx_data_o = rx_sel.data;

  // Two clients on each engine: the second only takes turns, to see that the first is not disturbed
  logic rd_req, rd_ack, rd_beat, rd_beat_err, copy_valid, copy_ready, wr_req, wr_pop, wr_done, wr_resp;
  logic wr_resp_err, unused_rready, unused_bready, unused_n1, unused_n2, unused_n3;
  logic [63:0] rd_req_addr, wr_req_addr;
  logic [4:0] rd_req_beats, wr_req_beats;
  logic [255:0] rd_data, wr_beat;
  logic [31:0] wr_strb;
  logic [511:0] copy_data;
  nic_dma_rd #(.N(2)) u_dma_rd (
    .clk_i, .rst_ni, .req_valid_i({1'b0, rd_req}), .req_ready_o({unused_n1, rd_ack}),
    .req_addr_i({64'd0, rd_req_addr}), .req_beats_i({5'd0, rd_req_beats}),
    .beat_valid_o({unused_n2, rd_beat}), .beat_o(rd_data), .beat_err_o(rd_beat_err),
    .m_axi_arid(arid_o), .m_axi_araddr(araddr_o), .m_axi_arlen(arlen_o),
    .m_axi_arvalid(arvalid_o), .m_axi_arready(arready_i), .m_axi_rid(rid_i),
    .m_axi_rdata(rdata_i), .m_axi_rresp(rresp_i), .m_axi_rvalid(rvalid_i),
    .m_axi_rready(unused_rready)
  );
  assign copy_o = copy_valid && copy_ready && copy_gate_i;
  nic_rd_stream #(.Depth(32), .Ranges(4)) u_rd (
    .clk_i, .rst_ni, .start_i(rd_start_i), .addr_i(rd_addr_i), .len_i(rd_len_i),
    .ready_o(rd_room_o), .err_o(rd_err_o), .req_valid_o(rd_req), .req_ready_i(rd_ack),
    .req_addr_o(rd_req_addr), .req_beats_o(rd_req_beats), .beat_valid_i(rd_beat),
    .beat_i(rd_data), .beat_err_i(rd_beat_err), .valid_o(copy_valid),
    .ready_i(copy_ready && copy_gate_i), .data_o(copy_data)
  );
  nic_wr_stream u_wr (
    .clk_i, .rst_ni, .start_i(wr_start_i), .ready_range_o(wr_room_o), .addr_i(wr_addr_i), .len_i(wr_len_i),
    .abort_i(wr_abort_i), .idle_o(wr_idle_o), .done_o(wr_done_o), .err_o(wr_err_o),
    .valid_i(copy_valid && copy_gate_i), .ready_o(copy_ready), .data_i(copy_data),
    .req_valid_o(wr_req), .req_addr_o(wr_req_addr), .req_beats_o(wr_req_beats), .beat_o(wr_beat),
    .strb_o(wr_strb), .beat_pop_i(wr_pop), .req_done_i(wr_done), .resp_i(wr_resp),
    .resp_err_i(wr_resp_err)
  );
  logic unused_p, unused_d;
  nic_dma_wr #(.N(2)) u_dma_wr (
    .clk_i, .rst_ni, .req_valid_i({1'b0, wr_req}), .req_addr_i({64'd0, wr_req_addr}),
    .req_beats_i({5'd0, wr_req_beats}), .beat_i({256'd0, wr_beat}), .strb_i({32'd0, wr_strb}),
    .beat_pop_o({unused_p, wr_pop}), .req_done_o({unused_d, wr_done}),
    .resp_o({unused_n3, wr_resp}), .resp_err_o(wr_resp_err), .m_axi_awid(awid_o),
    .m_axi_awaddr(awaddr_o), .m_axi_awlen(awlen_o), .m_axi_awvalid(awvalid_o),
    .m_axi_awready(awready_i), .m_axi_wdata(wdata_o), .m_axi_wstrb(wstrb_o),
    .m_axi_wlast(wlast_o), .m_axi_wvalid(wvalid_o), .m_axi_wready(wready_i), .m_axi_bid(bid_i),
    .m_axi_bresp(bresp_i), .m_axi_bvalid(bvalid_i), .m_axi_bready(unused_bready)
  );
  nic_axil u_axil (
    .clk_i, .rst_ni, .s_axil_awaddr(axil_awaddr_i), .s_axil_awvalid(axil_awvalid_i),
    .s_axil_awready(axil_awready_o), .s_axil_wdata(axil_wdata_i), .s_axil_wstrb(axil_wstrb_i),
    .s_axil_wvalid(axil_wvalid_i), .s_axil_wready(axil_wready_o), .s_axil_bresp(axil_bresp_o),
    .s_axil_bvalid(axil_bvalid_o), .s_axil_bready(axil_bready_i), .s_axil_araddr(axil_araddr_i),
    .s_axil_arvalid(axil_arvalid_i), .s_axil_arready(axil_arready_o), .s_axil_rdata(axil_rdata_o),
    .s_axil_rresp(axil_rresp_o), .s_axil_rvalid(axil_rvalid_o), .s_axil_rready(axil_rready_i),
    .we_o(axil_we_o), .re_o(axil_re_o), .addr_o(axil_addr_o), .wdata_o(axil_wdata_o),
    .hold_i(axil_hold_i), .rdata_i(axil_rdata_i)
  );
  nic_alu u_alu (
    .op_i(alu_op_i), .dtype_i(alu_dtype_i), .old_i(alu_old_i), .operand_i(alu_operand_i),
    .compare_i(alu_compare_i), .new_o(alu_new_o)
  );
  nic_counters u_counters (
    .clk_i, .rst_ni, .vn_i(cnt_vn_i), .nic0_i(cnt_nic_i[8:0]), .nic1_i(cnt_nic_i[17:9]), .msg_i(cnt_msg_i), .tx_vn_i(cnt_tx_vn_i),
    .rx_vn_i(cnt_rx_vn_i), .tx_bytes_i(cnt_tx_bytes_i), .rx_bytes_i(cnt_rx_bytes_i),
    .reg_re_i(cnt_re_i), .reg_addr_i(cnt_addr_i), .reg_rdata_o(cnt_rdata_o)
  );
  ev_t ev, ev1;
  always_comb begin
    ev = '0;
    {ev.eq_en, ev.eq, ev.ct_en, ev.ct_bytes, ev.ct} = ev_to_i;
    {ev.etype, ev.status, ev.pt, ev.unlinked, ev.overflow, ev.peer} = ev_what_i[31:4];
    ev.slot     = ~{ev_user_i[23:16], ev_user_i[7:0]};
    ev.pid      = ev_user_i[31:16];
    ev.mlength  = ev_mlength_i;
    ev.rlength  = ~ev_mlength_i;
    ev.match    = ev_user_i + 64'd1;
    ev.hdr_data = ev_user_i + 64'd2;
    ev.start    = ev_user_i + 64'd3;
    ev.offset   = ev_user_i + 64'd4;
    ev.user     = ev_user_i;
    ev1            = ev;
    ev1.user       = ~ev_user_i;
  end
  logic eq_req, ct_req, eq_idle, ct_idle, eq_err, ct_err, eq_last_q, ct_valid, ct_ready, ct_failure, unused_room, unused_bad;
  logic [31:0] eq_rdata, ct_rdata, unused_trg, eq_strb, ct_strb, ct_success;
  logic [63:0] eq_addr, ct_addr;
  logic [255:0] eq_beat, ct_beat;
  logic [4:0] eq_beats;
  logic [3:0] ct_at;
  logic [1:0] unused_cmd_valid;
  logic [CmdBits-1:0] unused_cmd;
  logic unused_there;
  logic [HdrBits-1:0] unused_there_at;
  status_t unused_there_status;
  nic_event #(.N(2)) u_event (
    .clk_i, .rst_ni, .time_i(ev_time_i), .reg_we_i(ev_we_i && !ev_addr_i[9]), .reg_addr_i(ev_addr_i[7:0]),
    .reg_wdata_i(ev_wdata_i), .reg_rdata_o(eq_rdata), .valid_i(ev_valid_i), .ready_o(ev_ready_o),
    .ev_i({ev1, ev}), .req_valid_o(eq_req), .req_addr_o(eq_addr), .req_beats_o(eq_beats),
    .beat_o(eq_beat), .strb_o(eq_strb), .beat_pop_i(ev_pop_i && eq_req), .req_done_i(ev_done_i && eq_req),
    .resp_i(ev_resp_i && eq_last_q), .resp_err_i(ev_resp_err_i), .count_valid_o(ct_valid), .count_ready_i(ct_ready),
    .count_ct_o(ct_at), .count_success_o(ct_success), .count_failure_o(ct_failure), .there_o(unused_there),
    .there_at_o(unused_there_at), .there_status_o(unused_there_status), .irq_o(ev_irq_o), .idle_o(eq_idle),
    .host_err_o(eq_err)
  );
  nic_ct #(.Triggers(8)) u_ct (
    .clk_i, .rst_ni, .ct_we_i(ev_we_i && ev_addr_i[9]), .trg_we_i(1'b0), .reg_addr_i(ev_addr_i[8:0]),
    .reg_wdata_i(ev_wdata_i), .ct_rdata_o(ct_rdata), .trg_rdata_o(unused_trg), .count_valid_i(ct_valid),
    .count_ready_o(ct_ready), .count_ct_i(ct_at), .count_success_i(ct_success), .count_failure_i(ct_failure),
    .cmd_valid_o(unused_cmd_valid), .cmd_ready_i(2'b11), .cmd_o(unused_cmd), .req_valid_o(ct_req), .req_addr_o(ct_addr),
    .beat_o(ct_beat), .strb_o(ct_strb), .req_done_i(ev_done_i && !eq_req), .resp_i(ev_resp_i && !eq_last_q),
    .resp_err_i(ev_resp_err_i), .idle_o(ct_idle), .room_o(unused_room), .bad_o(unused_bad), .host_err_o(ct_err)
  );
  assign ev_rdata_o     = ev_addr_i[9] ? ct_rdata : eq_rdata;
  assign ev_req_o       = eq_req || ct_req;
  assign ev_req_addr_o  = eq_req ? eq_addr : ct_addr;
  assign ev_req_beats_o = eq_req ? eq_beats : 5'd1;
  assign ev_beat_o      = eq_req ? eq_beat : ct_beat;
  assign ev_strb_o      = eq_req ? eq_strb : ct_strb;
  assign ev_idle_o      = eq_idle && ct_idle;
  assign ev_err_o       = eq_err || ct_err;
  always_ff @(posedge clk_i) if (ev_done_i) eq_last_q <= eq_req;
  lme_res_t lme_res;
  logic [CtxBits-1:0] lme_ctx [3];   // two processes, the first with two interfaces
  assign lme_ctx[0] = {1'b1, 2'd0, 16'd5, 32'd1};
  assign lme_ctx[1] = {1'b1, 2'd2, 16'd5, 32'd1};
  assign lme_ctx[2] = {1'b1, 2'd0, 16'd9, 32'd2};
  logic unused_used_up, unused_later, unused_lme_ev;   // headers are tests/rtl/headers.c's
  logic [HdrBits:0] unused_headers;
  logic [EvBits-1:0] unused_lme_event;
  nic_lme #(.Entries(32), .Headers(8)) u_lme (
    .clk_i, .rst_ni, .ctx_i({(13 * CtxBits)'(0), lme_ctx[2], lme_ctx[1], lme_ctx[0]}),
    .pt_enable_i({208'd0, {3{lme_pt_enable_i}}}), .pt_mute_i({208'd0, {3{lme_pt_mute_i}}}), .pt_disable_o(lme_pt_disable_o),
    .pt_disable_at_o(lme_pt_disable_at_o), .bank_i('0), .pt_auto_i({208'd0, {3{lme_pt_auto_i}}}), .append_i(lme_append_i), .unlink_i(lme_unlink_i), .force_i(lme_force_i),
    .index_i(lme_index_i), .entry_i(lme_entry_i), .busy_o(lme_busy_o), .valid_o(lme_valid_o),
    .in_use_o(lme_in_use_o), .bad_o(lme_bad_o), .req_valid_i(lme_req_valid_i),
    .req_ready_o(lme_req_ready_o),
    .req_i({lme_kind_i, lme_src_i, lme_pid_i, lme_uid_i, lme_dst_pid_i, lme_ni_i, lme_pt_i, lme_length_i, lme_match_i, 64'd0, lme_offset_i}),
    .search_i(1'b0), .tell_i(1'b0), .eq_i('0), .used_up_o(unused_used_up), .later_o(unused_later),
    .headers_o(unused_headers), .there_i(1'b0), .there_at_i('0), .there_status_i('0), .ev_valid_o(unused_lme_ev),
    .ev_ready_i(1'b1), .ev_o(unused_lme_event),
    .res_valid_o(lme_res_valid_o), .res_o(lme_res), .done_i(lme_done_i),
    .done_me0_i(lme_done_me0_i), .done_me1_i(lme_done_me1_i)
  );
  assign lme_status_o   = lme_res.status;
  assign lme_matched_o  = lme_res.matched;
  assign lme_me_o       = lme_res.me;
  assign lme_start_o    = lme_res.start;
  assign lme_mlength_o  = lme_res.mlength;
  assign lme_offset_o   = lme_res.offset;
  assign lme_unlinked_o = lme_res.unlinked;
  assign lme_overflow_o = lme_res.overflow;
  assign lme_counts_o   = lme_res.ct_en;
  assign lme_user_o     = lme_res.user;

  logic unused;
  assign unused = ^{lme_res, ev_what_i[3:0], unused_tx_pkt, unused_pick, unused_sent, unused_sop, unused_pkt, unused_hdr, unused_data, unused_rready,
                    unused_bready, unused_n1, unused_n2, unused_n3, unused_p, unused_d, rx_sel};
endmodule
