// The NIC: registers (AXI4-Lite slave, the PCI BAR), host memory (AXI4 master), one link. Two classes of
// traffic, each with requests and responses, are the four virtual networks.
module nic_top import nic_pkg::*; #(
  parameter int unsigned Slots = 32,           // commands under way per class
  parameter int unsigned PioBytes = 512,       // PIO payload per command
  parameter int unsigned MaxBytes = 4194304,   // longest message
  parameter int unsigned Entries = 1024,       // list entries
  parameter int unsigned Headers = 1024,       // unexpected headers
  parameter int unsigned Triggers = 256,       // commands that wait for a counter
  parameter int unsigned LinkDepth = 256       // packets buffered per virtual network
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         irq_o,
  output logic         idle_o,
  // registers
  input  logic [16:0]  s_axil_awaddr,
  input  logic [2:0]   s_axil_awprot,
  input  logic         s_axil_awvalid,
  output logic         s_axil_awready,
  input  logic [31:0]  s_axil_wdata,
  input  logic [3:0]   s_axil_wstrb,
  input  logic         s_axil_wvalid,
  output logic         s_axil_wready,
  output logic [1:0]   s_axil_bresp,
  output logic         s_axil_bvalid,
  input  logic         s_axil_bready,
  input  logic [16:0]  s_axil_araddr,
  input  logic [2:0]   s_axil_arprot,
  input  logic         s_axil_arvalid,
  output logic         s_axil_arready,
  output logic [31:0]  s_axil_rdata,
  output logic [1:0]   s_axil_rresp,
  output logic         s_axil_rvalid,
  input  logic         s_axil_rready,
  // host memory
  output logic [3:0]   m_axi_arid,
  output logic [63:0]  m_axi_araddr,
  output logic [7:0]   m_axi_arlen,
  output logic [2:0]   m_axi_arsize,
  output logic [1:0]   m_axi_arburst,
  output logic         m_axi_arlock,
  output logic [3:0]   m_axi_arcache,
  output logic [2:0]   m_axi_arprot,
  output logic [3:0]   m_axi_arqos,
  output logic         m_axi_arvalid,
  input  logic         m_axi_arready,
  input  logic [3:0]   m_axi_rid,
  input  logic [255:0] m_axi_rdata,
  input  logic [1:0]   m_axi_rresp,
  input  logic         m_axi_rlast,
  input  logic         m_axi_rvalid,
  output logic         m_axi_rready,
  output logic [3:0]   m_axi_awid,
  output logic [63:0]  m_axi_awaddr,
  output logic [7:0]   m_axi_awlen,
  output logic [2:0]   m_axi_awsize,
  output logic [1:0]   m_axi_awburst,
  output logic         m_axi_awlock,
  output logic [3:0]   m_axi_awcache,
  output logic [2:0]   m_axi_awprot,
  output logic [3:0]   m_axi_awqos,
  output logic         m_axi_awvalid,
  input  logic         m_axi_awready,
  output logic [255:0] m_axi_wdata,
  output logic [31:0]  m_axi_wstrb,
  output logic         m_axi_wlast,
  output logic         m_axi_wvalid,
  input  logic         m_axi_wready,
  input  logic [3:0]   m_axi_bid,
  input  logic [1:0]   m_axi_bresp,
  input  logic         m_axi_bvalid,
  output logic         m_axi_bready,
  // time of the other end of the host's bus
  output logic         ptm_req_o,
  input  logic         ptm_rsp_i,
  input  logic [63:0]  ptm_came_i,
  input  logic [31:0]  ptm_stayed_i,
  // link
  output logic         tx_valid_o,
  output logic         tx_first_o,
  output logic [1:0]   tx_vn_o,
  output logic [31:0]  tx_half_o,
  output logic [255:0] tx_flit_o,
  input  logic [3:0]   tx_credit_i,
  input  logic         rx_valid_i,
  input  logic         rx_first_i,
  input  logic [1:0]   rx_vn_i,
  input  logic [31:0]  rx_half_i,
  input  logic [255:0] rx_flit_i,
  output logic [3:0]   rx_credit_o,
  // of a link with clocks of its own (nic_mac); inputs are 0 where it has the NIC's
  output logic [63:0]  time_o,
  input  logic         tx_hold_i,
  input  logic         times_outside_i,
  input  logic [63:0]  rx_time_i,
  input  logic         tx_got_i,
  input  logic [PktBits-1:0] tx_got_pkt_i,
  input  logic [63:0]  tx_got_first_i,
  input  logic [63:0]  tx_got_last_i
);
  // ---- registers ---------------------------------------------------------------------------------------
  logic we, re, ct_room;
  logic [16:0] addr;
  logic [31:0] wdata, rdata, rdata_regs, rdata_event, rdata_stamp, rdata_count, rdata_clock, rdata_ptm, rdata_ctx, rdata_ct, rdata_trg;
  nic_axil u_axil (
    .clk_i, .rst_ni, .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata,
    .s_axil_wstrb, .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready,
    .s_axil_araddr, .s_axil_arvalid, .s_axil_arready, .s_axil_rdata, .s_axil_rresp,
    .s_axil_rvalid, .s_axil_rready, .we_o(we), .re_o(re), .addr_o(addr), .wdata_o(wdata),
    .hold_i((in_ct || in_trg) && !ct_room), .rdata_i(rdata)
  );
  logic in_regs, in_event, in_stamp, in_count, in_clock, in_ptm, in_ctx, in_ct, in_trg;
  logic [1:0] in_cmd, in_pio;
  assign in_regs  = addr[16:8] == 9'd0;
  assign in_event = addr[16:8] == RegEq[16:8];
  assign in_ct    = addr[16:9] == RegCt[16:9];
  assign in_trg   = addr[16:9] == RegTrigger[16:9];
  assign in_stamp = addr[16:8] == RegStamp[16:8];
  assign in_count = addr[16:8] == RegCounters[16:8] || addr[16:8] == RegCounters[16:8] + 9'd1;
  assign in_ptm   = addr[16:8] == RegPtm[16:8];
  assign in_ctx   = addr[16:8] == RegCtx[16:8];
  assign in_cmd   = {addr[16:11] == RegCmd1[16:11], addr[16:11] == RegCmd0[16:11]};
  assign in_pio   = {addr[16:14] == RegPio1[16:14], addr[16:14] == RegPio0[16:14]};
  assign in_clock = addr == RegClockLo || addr == RegClockHi || addr == RegClockInc;
  always_comb begin
    unique case (1'b1)
      in_regs: rdata = rdata_regs;
      in_event: rdata = rdata_event;
      in_stamp: rdata = rdata_stamp;
      in_count: rdata = rdata_count;
      in_clock: rdata = rdata_clock;
      in_ptm: rdata = rdata_ptm;
      in_ctx: rdata = rdata_ctx;
      in_ct: rdata = rdata_ct;
      in_trg: rdata = rdata_trg;
      default: rdata = '0;
    endcase
  end

  logic enable, clear, append, unlink, search, op_force, tell, lops_busy, lops_full, adjust;
  logic [1:0] tell_eq;
  logic [5:0] self, clear_peer;
  logic [31:0] timeout, frac, head [2], tail [2];
  logic [3:0] retries;
  logic [Lists-1:0] pt_enable, pt_mute, pt_auto;
  logic pt_disable;
  logic [ListBits-1:0] pt_disable_at;
  logic [Contexts*CtxBits-1:0] ctx;
  logic [$clog2((Entries + 31) / 32 + 1)-1:0] bank;
  logic [15:0] me_index;
  me_t me_entry;
  logic [31:0] me_valid, me_in_use;
  logic [11:0] unconfirmed [2];
  logic [HdrBits:0] headers;
  logic [63:0] adjust_val;
  logic [3:0] irq_eq;
  logic irq_stamp, irq_bad;
  nic_regs #(.Slots(Slots), .PioBytes(PioBytes), .Entries(Entries)) u_regs (
    .clk_i, .rst_ni, .we_i(we && in_regs), .addr_i(addr[7:0]), .wdata_i(wdata),
    .rdata_o(rdata_regs), .enable_o(enable), .self_o(self), .timeout_o(timeout),
    .retries_o(retries), .clear_o(clear), .clear_peer_o(clear_peer), .pt_enable_i(pt_enable[15:0]),
    .pt_auto_i(pt_auto[15:0]), .bank_o(bank), .append_o(append), .unlink_o(unlink), .search_o(search), .headers_i(headers), .force_o(op_force), .tell_o(tell),
    .tell_eq_o(tell_eq), .index_o(me_index), .entry_o(me_entry), .lme_busy_i(lops_busy), .me_valid_i(me_valid),
    .me_in_use_i(me_in_use), .head0_i(head[0]), .tail0_i(tail[0]), .head1_i(head[1]),
    .tail1_i(tail[1]), .unconfirmed0_i(unconfirmed[0]), .unconfirmed1_i(unconfirmed[1]),
    .idle_i(idle_o), .frac_o(frac), .adjust_o(adjust), .adjust_val_o(adjust_val),
    .irq_i({irq_bad, irq_stamp, irq_eq}), .irq_o
  );

  nic_ctx u_ctx (
    .clk_i, .rst_ni, .reg_we_i(we && in_ctx), .old_enable_we_i(we && in_regs && addr[7:0] == RegPtEnable),
    .old_auto_we_i(we && in_regs && addr[7:0] == RegPtAuto), .reg_addr_i(addr[7:0]), .reg_wdata_i(wdata),
    .reg_rdata_o(rdata_ctx), .ctx_o(ctx), .pt_enable_o(pt_enable), .pt_mute_o(pt_mute), .pt_auto_o(pt_auto),
    .pt_disable_i(pt_disable), .pt_disable_at_i(pt_disable_at)
  );

  // ---- clock -----------------------------------------------------------------------------------------
  logic [63:0] now;
  logic [31:0] clock_hi, unused_frac;
  logic [23:0] clock_inc;
  nic_clock u_clock (
    .clk_i, .rst_ni, .inc_we_i(we && addr == RegClockInc), .inc_i(wdata[23:0]), .frac_i(frac),
    .set_lo_we_i(we && addr == RegClockLo), .set_hi_we_i(we && addr == RegClockHi), .set_i(wdata),
    .adjust_i(adjust), .adjust_val_i(adjust_val), .latch_i(re && addr == RegClockLo),
    .time_o(now), .latched_hi_o(clock_hi), .inc_o(clock_inc), .frac_o(unused_frac)
  );
  assign time_o = now;
  assign rdata_clock = (addr == RegClockLo) ? now[31:0] : (addr == RegClockHi) ? clock_hi
                                                                              : {8'd0, clock_inc};

  nic_ptm u_ptm (
    .clk_i, .rst_ni, .time_i(now), .reg_we_i(we && in_ptm), .reg_addr_i(addr[7:0]),
    .reg_rdata_o(rdata_ptm), .req_o(ptm_req_o), .rsp_i(ptm_rsp_i), .rsp_came_i(ptm_came_i),
    .rsp_stayed_i(ptm_stayed_i)
  );

  // ---- link ------------------------------------------------------------------------------------------
  logic [3:0] tx_valid, tx_ready, rx_valid, rx_ready, stall, sent, sent_sop, rx_pkt, rx_crc, rx_drop;
  logic [PktBits-1:0] tx_pkt [4], rx_head [4];
  logic [1:0] tx_pick;
  pkt_t tx_wire;
  logic credit_error, link_idle, rx_got;
  pkt_hdr_t rx_hdr;
  logic [511:0] rx_data;
  nic_link_tx #(.Credits(LinkDepth)) u_link_tx (
    .clk_i, .rst_ni, .valid_i(tx_valid), .ready_o(tx_ready), .pick_o(tx_pick), .pkt_i(tx_pkt[tx_pick]),
    .credit_i(tx_credit_i), .hold_i(tx_hold_i), .valid_o(tx_valid_o), .first_o(tx_first_o), .lane_o(tx_vn_o),
    .half_o(tx_half_o), .flit_o(tx_flit_o), .pkt_o(tx_wire), .stall_o(stall), .sent_o(sent), .sent_sop_o(sent_sop),
    .credit_error_o(credit_error), .idle_o(link_idle)
  );
  nic_link_rx #(.Depth(LinkDepth)) u_link_rx (
    .clk_i, .rst_ni, .valid_i(rx_valid_i), .first_i(rx_first_i), .lane_i(rx_vn_i),
    .half_i(rx_half_i), .flit_i(rx_flit_i), .credit_o(rx_credit_o), .valid_o(rx_valid),
    .ready_i(rx_ready), .head_o({rx_head[3], rx_head[2], rx_head[1], rx_head[0]}), .got_o(rx_got), .got_hdr_o(rx_hdr), .got_data_o(rx_data),
    .pkt_o(rx_pkt), .crc_err_o(rx_crc), .drop_o(rx_drop)
  );

  // ---- the two classes -------------------------------------------------------------------------------
  localparam int unsigned EvSources = 10;  // 4 per class, list operations, headers
  localparam int unsigned RdClients = 6;
  localparam int unsigned WrClients = 7;   // 2 per class, events, stamps, counters
  logic [1:0] lme_valid, lme_ready, lme_answer, lme_done, lock, locked, class_idle, retransmit;
  logic [LmeReqBits-1:0] lme_req [2];
  lme_res_t lme_res;
  logic [15:0] lme_done_me [2];
  logic [EvSources-1:0] ev_valid, ev_ready;
  logic [EvSources*EvBits-1:0] ev;
  logic [RdClients-1:0] rd_valid, rd_ready, rd_beat_valid;
  logic [RdClients*64-1:0] rd_addr;
  logic [RdClients*5-1:0] rd_beats;
  logic [255:0] rd_beat;
  logic rd_err, wr_err;
  logic [WrClients-1:0] wr_valid, wr_pop, wr_done, wr_resp;
  logic [WrClients*64-1:0] wr_addr;
  logic [WrClients*5-1:0] wr_beats;
  logic [WrClients*256-1:0] wr_beat;
  logic [WrClients*32-1:0] wr_strb;
  logic [1:0] rx_msg [2], rx_stray [2];
  logic [1:0] trg_valid, trg_ready;
  logic [CmdBits-1:0] trg_cmd;
  logic [NicCounters-1:0] pulse [2];
  for (genvar c = 0; c < 2; c++) begin : g_class
    nic_class #(.Slots(Slots), .PioBytes(PioBytes), .MaxBytes(MaxBytes)) u_class (
      .clk_i, .rst_ni, .self_i(self), .enable_i(enable), .timeout_i(timeout),
      .retries_i(retries), .ctx_i(ctx), .clear_i(clear), .clear_peer_i(clear_peer),
      .cmd_we_i(we && in_cmd[c]), .cmd_word_i(addr[2 +: $clog2(Slots) + 4]),
      .pio_we_i(we && in_pio[c]), .pio_word_i(addr[2 +: $clog2(Slots * PioBytes / 4)]),
      .wdata_i(wdata), .head_o(head[c]), .tail_o(tail[c]), .idle_o(class_idle[c]),
      .trg_valid_i(trg_valid[c]), .trg_ready_o(trg_ready[c]), .trg_cmd_i(trg_cmd),
      .unconfirmed_o(unconfirmed[c]), .tx_valid_o(tx_valid[2 * c +: 2]),
      .tx_ready_i(tx_ready[2 * c +: 2]), .tx_req_o(tx_pkt[2 * c]), .tx_rsp_o(tx_pkt[2 * c + 1]),
      .rx_valid_i(rx_valid[2 * c +: 2]), .rx_ready_o(rx_ready[2 * c +: 2]),
      .rx_req_i(rx_head[2 * c]), .rx_rsp_i(rx_head[2 * c + 1]), .lme_valid_o(lme_valid[c]),
      .lme_ready_i(lme_ready[c]), .lme_req_o(lme_req[c]), .lme_res_valid_i(lme_answer[c]),
      .lme_res_i(lme_res), .lme_done_o(lme_done[c]), .lme_done_me_o(lme_done_me[c]),
      .lock_o(lock[c]), .locked_i(locked[c]), .ev_valid_o(ev_valid[4 * c +: 4]),
      .ev_ready_i(ev_ready[4 * c +: 4]), .ev_o(ev[4 * EvBits * c +: 4 * EvBits]), .rd_valid_o(rd_valid[3 * c +: 3]),
      .rd_ready_i(rd_ready[3 * c +: 3]), .rd_addr_o(rd_addr[192 * c +: 192]),
      .rd_beats_o(rd_beats[15 * c +: 15]), .rd_beat_valid_i(rd_beat_valid[3 * c +: 3]),
      .rd_beat_i(rd_beat), .rd_err_i(rd_err), .wr_valid_o(wr_valid[2 * c +: 2]),
      .wr_addr_o(wr_addr[128 * c +: 128]), .wr_beats_o(wr_beats[10 * c +: 10]),
      .wr_beat_o(wr_beat[512 * c +: 512]), .wr_strb_o(wr_strb[64 * c +: 64]),
      .wr_pop_i(wr_pop[2 * c +: 2]), .wr_done_i(wr_done[2 * c +: 2]),
      .wr_resp_i(wr_resp[2 * c +: 2]), .wr_err_i(wr_err), .retransmit_o(retransmit[c]),
      .rx_msg_o(rx_msg[c]), .rx_drop_o(rx_stray[c]), .pulse_o(pulse[c])
    );
  end

  // Atomics of the two classes exclude each other; the turn changes when nobody holds it
  logic owner_q;
  assign locked = {lock[1] && owner_q, lock[0] && !owner_q};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) owner_q <= 1'b0;
    else if (!lock[owner_q]) owner_q <= !owner_q;
  end

  // ---- matching: one engine, the class that asked first keeps it until its answer ---------------------
  logic asked_q, lme_req_valid, lme_req_ready, lme_pick, lme_out;
  assign lme_pick      = lme_valid[0] ? (lme_valid[1] && !asked_q) : 1'b1;   // takes turns
  assign lme_req_valid = lme_valid != '0;
  assign lme_ready     = lme_req_ready ? (lme_pick ? {lme_valid[1], 1'b0} : 2'b01) : 2'b00;
  assign lme_answer    = lme_out ? (asked_q ? 2'b10 : 2'b01) : 2'b00;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) asked_q <= 1'b0;
    else if (lme_req_valid && lme_req_ready) asked_q <= lme_pick;
  end
  logic lme_append, lme_unlink, lme_search, lme_force, lme_tell, lme_busy, lme_bad, lme_used_up, lme_later, there;
  logic [1:0] lme_eq;
  logic [HdrBits-1:0] there_at;
  status_t there_status;
  logic [15:0] lme_index;
  me_t lme_entry;
  nic_lops u_lops (
    .clk_i, .rst_ni, .append_i(append), .unlink_i(unlink), .search_i(search), .force_i(op_force), .tell_i(tell), .eq_i(tell_eq),
    .index_i(me_index), .entry_i(me_entry), .busy_o(lops_busy), .full_o(lops_full), .append_o(lme_append),
    .unlink_o(lme_unlink), .search_o(lme_search), .force_o(lme_force), .tell_o(lme_tell), .eq_o(lme_eq),
    .lme_used_up_i(lme_used_up), .lme_later_i(lme_later), .index_o(lme_index), .entry_o(lme_entry), .lme_busy_i(lme_busy),
    .lme_bad_i(lme_bad), .ev_valid_o(ev_valid[8]), .ev_ready_i(ev_ready[8]), .ev_o(ev[8 * EvBits +: EvBits])
  );
  nic_lme #(.Entries(Entries), .Headers(Headers)) u_lme (
    .clk_i, .rst_ni, .ctx_i(ctx), .pt_enable_i(pt_enable), .pt_mute_i(pt_mute), .pt_auto_i(pt_auto),
    .pt_disable_o(pt_disable), .pt_disable_at_o(pt_disable_at), .bank_i(bank),
    .append_i(lme_append), .unlink_i(lme_unlink), .search_i(lme_search), .force_i(lme_force), .tell_i(lme_tell),
    .eq_i(lme_eq), .used_up_o(lme_used_up), .later_o(lme_later), .headers_o(headers), .there_i(there),
    .there_at_i(there_at), .there_status_i(there_status), .ev_valid_o(ev_valid[9]), .ev_ready_i(ev_ready[9]),
    .ev_o(ev[9 * EvBits +: EvBits]), .index_i(lme_index), .entry_i(lme_entry),
    .busy_o(lme_busy), .valid_o(me_valid), .in_use_o(me_in_use), .bad_o(lme_bad),
    .req_valid_i(lme_req_valid), .req_ready_o(lme_req_ready), .req_i(lme_req[lme_pick]),
    .res_valid_o(lme_out), .res_o(lme_res), .done_i(lme_done), .done_me0_i(lme_done_me[0]),
    .done_me1_i(lme_done_me[1])
  );

  // ---- events and stamps -----------------------------------------------------------------------------
  logic event_idle, event_err, stamp_err, ct_valid, ct_ready, ct_failure, ct_idle, ct_bad, ct_err;
  logic [3:0] ct_at;
  logic [31:0] ct_success;
  nic_event #(.N(EvSources)) u_event (
    .clk_i, .rst_ni, .time_i(now), .reg_we_i(we && in_event), .reg_addr_i(addr[7:0]),
    .reg_wdata_i(wdata), .reg_rdata_o(rdata_event), .valid_i(ev_valid), .ready_o(ev_ready),
    .ev_i(ev), .req_valid_o(wr_valid[4]), .req_addr_o(wr_addr[4 * 64 +: 64]),
    .req_beats_o(wr_beats[4 * 5 +: 5]), .beat_o(wr_beat[4 * 256 +: 256]),
    .strb_o(wr_strb[4 * 32 +: 32]), .beat_pop_i(wr_pop[4]), .req_done_i(wr_done[4]),
    .resp_i(wr_resp[4]), .resp_err_i(wr_err), .count_valid_o(ct_valid), .count_ready_i(ct_ready), .count_ct_o(ct_at),
    .count_success_o(ct_success), .count_failure_o(ct_failure), .there_o(there), .there_at_o(there_at),
    .there_status_o(there_status), .irq_o(irq_eq), .idle_o(event_idle),
    .host_err_o(event_err)
  );
  nic_ct #(.Triggers(Triggers)) u_ct (
    .clk_i, .rst_ni, .ct_we_i(we && in_ct), .trg_we_i(we && in_trg), .reg_addr_i(addr[8:0]), .reg_wdata_i(wdata),
    .ct_rdata_o(rdata_ct), .trg_rdata_o(rdata_trg), .count_valid_i(ct_valid), .count_ready_o(ct_ready),
    .count_ct_i(ct_at), .count_success_i(ct_success), .count_failure_i(ct_failure), .cmd_valid_o(trg_valid),
    .cmd_ready_i(trg_ready), .cmd_o(trg_cmd), .req_valid_o(wr_valid[6]), .req_addr_o(wr_addr[6 * 64 +: 64]),
    .beat_o(wr_beat[6 * 256 +: 256]), .strb_o(wr_strb[6 * 32 +: 32]), .req_done_i(wr_done[6]), .resp_i(wr_resp[6]),
    .resp_err_i(wr_err), .idle_o(ct_idle), .room_o(ct_room), .bad_o(ct_bad),
    .host_err_o(ct_err)
  );
  assign wr_beats[6 * 5 +: 5] = 5'd1;
  logic [1:0] msg_done, msg_tx_vn, msg_rx_vn;
  logic [31:0] msg_tx_bytes, msg_rx_bytes;
  nic_stamp u_stamp (
    .clk_i, .rst_ni, .time_i(now), .reg_we_i(we && in_stamp), .reg_re_i(re && in_stamp),
    .reg_addr_i(addr[7:0]), .reg_wdata_i(wdata), .reg_rdata_o(rdata_stamp),
    .tx_valid_i(tx_valid_o), .tx_first_i(tx_first_o), .tx_pkt_i(tx_wire), .rx_valid_i,
    .rx_first_i, .rx_got_i(rx_got), .rx_hdr_i(rx_hdr), .rx_data_i(rx_data), .outside_i(times_outside_i), .rx_time_i,
    .got_i(tx_got_i), .got_pkt_i(tx_got_pkt_i), .got_first_i(tx_got_first_i), .got_last_i(tx_got_last_i),
    .req_valid_o(wr_valid[5]), .req_addr_o(wr_addr[5 * 64 +: 64]),
    .beat_o(wr_beat[5 * 256 +: 256]), .req_done_i(wr_done[5]), .resp_i(wr_resp[5]),
    .resp_err_i(wr_err), .irq_o(irq_stamp), .host_err_o(stamp_err), .msg_o(msg_done),
    .tx_vn_o(msg_tx_vn), .rx_vn_o(msg_rx_vn), .tx_bytes_o(msg_tx_bytes),
    .rx_bytes_o(msg_rx_bytes)
  );
  assign wr_beats[5 * 5 +: 5]  = 5'd1;
  assign wr_strb[5 * 32 +: 32] = '1;

  // ---- host memory -----------------------------------------------------------------------------------
  nic_dma_rd #(.N(RdClients)) u_dma_rd (
    .clk_i, .rst_ni, .req_valid_i(rd_valid), .req_ready_o(rd_ready), .req_addr_i(rd_addr),
    .req_beats_i(rd_beats), .beat_valid_o(rd_beat_valid), .beat_o(rd_beat), .beat_err_o(rd_err),
    .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arvalid, .m_axi_arready, .m_axi_rid,
    .m_axi_rdata, .m_axi_rresp, .m_axi_rvalid, .m_axi_rready
  );
  nic_dma_wr #(.N(WrClients)) u_dma_wr (
    .clk_i, .rst_ni, .req_valid_i(wr_valid), .req_addr_i(wr_addr), .req_beats_i(wr_beats),
    .beat_i(wr_beat), .strb_i(wr_strb), .beat_pop_o(wr_pop), .req_done_o(wr_done),
    .resp_o(wr_resp), .resp_err_o(wr_err), .m_axi_awid, .m_axi_awaddr, .m_axi_awlen,
    .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid,
    .m_axi_wready, .m_axi_bid, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready
  );

  // Bursts of whole beats at rising addresses, plain data accesses that a bridge may buffer
  assign {m_axi_arsize, m_axi_awsize}   = {2{3'd5}};
  assign {m_axi_arburst, m_axi_awburst} = {2{2'd1}};
  assign {m_axi_arlock, m_axi_awlock}   = 2'd0;
  assign {m_axi_arcache, m_axi_awcache} = {2{4'b0011}};
  assign {m_axi_arprot, m_axi_awprot}   = 6'd0;
  assign {m_axi_arqos, m_axi_awqos}     = 8'd0;

  // ---- counters ----------------------------------------------------------------------------------------
  vn_pulse_t vn;
  logic [4*VnCounters-1:0] vn_pulse;
  logic [3:0] again, stray, accepted;
  assign again    = {1'b0, retransmit[1], 1'b0, retransmit[0]};
  assign stray    = {rx_stray[1], rx_stray[0]};
  assign accepted = {rx_msg[1], rx_msg[0]};
  always_comb begin
    for (int unsigned v = 0; v < 4; v++) begin
      vn.stall      = stall[v];
      vn.retransmit = again[v];
      vn.drop       = rx_drop[v] || stray[v];
      vn.crc        = rx_crc[v];
      vn.tx_msg     = sent_sop[v];
      vn.tx_pkt     = sent[v];
      vn.rx_msg     = accepted[v];
      vn.rx_pkt     = rx_pkt[v];
      vn_pulse[v * VnCounters +: VnCounters] = vn;
    end
  end
  pulse_t pulse0, pulse1;
  always_comb begin
    pulse0 = pulse[0];
    pulse1 = pulse[1];
    pulse0.bad_cmd  = pulse0.bad_cmd || lme_bad || lops_full || ct_bad;
    pulse0.bad_msg  = pulse0.bad_msg || credit_error;
    pulse1.host_err = pulse1.host_err || event_err || stamp_err || ct_err;
  end
  assign irq_bad = pulse0.bad_cmd || pulse1.bad_cmd || pulse0.bad_msg || pulse1.bad_msg ||
                   pulse0.host_err || pulse1.host_err;
  nic_counters u_counters (
    .clk_i, .rst_ni, .vn_i(vn_pulse), .nic0_i(pulse0), .nic1_i(pulse1), .msg_i(msg_done), .tx_vn_i(msg_tx_vn),
    .rx_vn_i(msg_rx_vn), .tx_bytes_i(msg_tx_bytes), .rx_bytes_i(msg_rx_bytes),
    .reg_re_i(re && in_count), .reg_addr_i({addr[8] != RegCounters[8], addr[7:0]}),
    .reg_rdata_o(rdata_count)
  );

  assign idle_o = class_idle == 2'b11 && link_idle && tx_valid == '0 && rx_valid == '0 && event_idle &&
                  wr_valid == '0 && !lops_busy && ct_idle;
  logic unused;
  assign unused = ^{unused_frac, addr[1:0], wr_pop[5], wr_pop[6], s_axil_awprot, s_axil_arprot, m_axi_rlast};

`ifndef SYNTHESIS
  initial begin
    if (Slots != 32 || PioBytes != 512) $fatal(1, "nic_top: the register map has room for 32 slots of 512");
    if ($bits(pkt_t) != PktBits || $bits(ev_t) != EvBits || $bits(lme_req_t) != LmeReqBits ||
        $bits(lme_res_t) != LmeResBits || $bits(me_t) != MeBits || $bits(rsp_t) != RspBits ||
        $bits(uhdr_t) != UhdrBits || $bits(pulse_t) != NicCounters || $bits(ctx_t) != CtxBits) $fatal(1, "nic_pkg: widths");
    if (Entries > 2048 || (LinkDepth & (LinkDepth - 1)) != 0) $fatal(1, "nic_top: Entries or LinkDepth");
  end
`endif
endmodule
