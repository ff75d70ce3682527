// Writes packets of 64 bytes to ranges of host memory through the DMA engine, one range after the other.
// Beats are gathered up to a 512-byte boundary or the end, then offered as one burst: a stalled message
// never holds the shared write channel. A few packets wait here, so that their sender may look at the next
// message meanwhile. done_o says, in the order of the ranges, that every burst of one has its response.
// abort_i, held until idle_o, ends the last range early: what was taken so far is still written, done_o
// does not come for it.
module nic_wr_stream #(
  parameter int unsigned Packets = 8,    // that wait
  parameter int unsigned Bursts = 32     // without response
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         start_i,        // only while ready_range_o
  output logic         ready_range_o,
  input  logic [63:0]  addr_i,
  input  logic [31:0]  len_i,          // at least 1
  input  logic         abort_i,
  output logic         idle_o,         // nothing is left to do, every burst has its response
  output logic         done_o,
  output logic         err_o,          // with done_o: some burst of this range failed
  // packets
  input  logic         valid_i,
  output logic         ready_o,
  input  logic [511:0] data_i,
  // to the DMA engine
  output logic         req_valid_o,
  output logic [63:0]  req_addr_o,     // multiple of 32
  output logic [4:0]   req_beats_o,    // 1..16
  output logic [255:0] beat_o,
  output logic [31:0]  strb_o,
  input  logic         beat_pop_i,
  input  logic         req_done_i,     // the burst's last beat is taken
  input  logic         resp_i,         // a write response came
  input  logic         resp_err_i
);
  // ---- what waits: ranges and packets -----------------------------------------------------------------
  logic range_valid, range_load, pkt_valid, pkt_pop;
  logic [63:0] range_addr;
  logic [31:0] range_len;
  logic [511:0] pkt;
  logic [2:0] unused_ranges;
  logic [$clog2(Packets):0] unused_pkts;
  nic_fifo #(.Width(96), .Depth(4)) u_ranges (
    .clk_i, .rst_ni, .valid_i(start_i), .ready_o(ready_range_o), .data_i({addr_i, len_i}),
    .valid_o(range_valid), .ready_i(range_load), .data_o({range_addr, range_len}), .count_o(unused_ranges)
  );
  nic_fifo #(.Width(512), .Depth(Packets)) u_pkts (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .valid_o(pkt_valid), .ready_i(pkt_pop), .data_o(pkt),
    .count_o(unused_pkts)
  );

  logic [63:0] addr_q;         // of the next beat
  logic [63:0] chunk_q;        // of the first beat of the gathered burst
  logic [31:0] left_q;
  logic [4:0] off_q, gather_q;
  logic [255:0] carry_q;
  logic [31:0] carry_strb_q;
  logic high_q, flush_q, err_q;

  // ---- aligning -----------------------------------------------------------------------------------
  logic [255:0] flit, beat;
  logic [511:0] spread;
  logic [63:0] spread_strb;
  logic [31:0] strb;
  logic [5:0] keep;
  logic take, emit, last_flit, room, close, desc_ready, abort;
  assign flit      = high_q ? pkt[511:256] : pkt[255:0];
  assign last_flit = left_q <= 32'd32;
  assign keep      = last_flit ? left_q[5:0] : 6'd32;
  assign spread      = {256'd0, flit} << {off_q, 3'd0};
  assign spread_strb = {32'd0, ~({32{1'b1}} << keep)} << off_q;
  assign abort = abort_i && !pkt_valid && !range_valid;   // all that came before is taken
  assign take  = pkt_valid && left_q != '0 && room;   // while flush_q stands nothing is left
  assign emit  = take || (flush_q && room);
  assign beat  = flush_q ? carry_q : (spread[255:0] | carry_q);
  assign strb  = flush_q ? carry_strb_q : (spread_strb[31:0] | carry_strb_q);
  assign pkt_pop = take && (high_q || last_flit);

  // ---- gathering ----------------------------------------------------------------------------------
  logic fifo_ready, beat_valid, range_end, cut, flag_ready, flag_valid, flag_end;
  logic [6:0] unused_count;
  logic [3:0] unused_dcount;
  logic [$clog2(Bursts):0] unused_flags;
  // the range ends with this beat: no carry left behind a last flit, or the flush of the carry
  assign range_end = flush_q || (take && last_flit && spread_strb[63:32] == '0);
  assign cut   = abort && left_q != '0 && gather_q != '0;   // close what was gathered
  assign close = (emit && (range_end || addr_q[8:5] == 4'hF)) || cut;
  assign room  = fifo_ready && desc_ready && flag_ready;
  nic_fifo #(.Width(288), .Depth(64)) u_beats (
    .clk_i, .rst_ni, .valid_i(emit), .ready_o(fifo_ready), .data_i({strb, beat}),
    .valid_o(beat_valid), .ready_i(beat_pop_i), .data_o({strb_o, beat_o}), .count_o(unused_count)
  );
  logic [63:0] desc_addr;
  logic [4:0] desc_beats;
  assign desc_addr  = (gather_q == '0) ? addr_q : chunk_q;
  assign desc_beats = gather_q + 5'(emit);
  // `room` asks for a free descriptor and response before a beat, and a cut needs them just so
  logic abort_wait, opened;
  assign abort_wait = cut && !(desc_ready && flag_ready);
  assign opened     = close && !abort_wait;
  nic_fifo #(.Width(69), .Depth(8)) u_desc (
    .clk_i, .rst_ni, .valid_i(opened), .ready_o(desc_ready),
    .data_i({desc_addr, desc_beats}), .valid_o(req_valid_o), .ready_i(req_done_i),
    .data_o({req_addr_o, req_beats_o}), .count_o(unused_dcount)
  );
  // Responses come in the order of the bursts; the last one of a range says so
  nic_fifo #(.Width(1), .Depth(Bursts)) u_flags (
    .clk_i, .rst_ni, .valid_i(opened), .ready_o(flag_ready), .data_i(range_end && !cut),
    .valid_o(flag_valid), .ready_i(resp_i), .data_o(flag_end), .count_o(unused_flags)
  );
  assign idle_o = left_q == '0 && !flush_q && !flag_valid && !range_valid && !pkt_valid;
  assign done_o = resp_i && flag_end;
  assign err_o  = err_q || resp_err_i;
  assign range_load = range_valid && left_q == '0 && (!flush_q || room);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q       <= '0;
      gather_q     <= '0;
      high_q       <= 1'b0;
      flush_q      <= 1'b0;
      err_q        <= 1'b0;
      addr_q       <= '0;
      off_q        <= '0;
      carry_q      <= '0;
      carry_strb_q <= '0;
    end else begin
      if (resp_i) err_q <= (err_q || resp_err_i) && !flag_end;
      else if (abort_i && idle_o) err_q <= 1'b0;
      if (opened) gather_q <= '0;
      else if (emit) gather_q <= gather_q + 1'b1;
      if (emit) begin
        addr_q  <= addr_q + 64'd32;
        flush_q <= 1'b0;
      end
      if (take) begin
        left_q       <= left_q - 32'(keep);
        high_q       <= !high_q && !last_flit;
        flush_q      <= last_flit && spread_strb[63:32] != '0;
        carry_q      <= spread[511:256];
        carry_strb_q <= spread_strb[63:32];
      end
      if (abort && !abort_wait) left_q <= '0;
      if (range_load) begin
        addr_q       <= {range_addr[63:5], 5'd0};
        off_q        <= range_addr[4:0];
        left_q       <= range_len;
        high_q       <= 1'b0;
        carry_q      <= '0;
        carry_strb_q <= '0;
      end
    end
  end
  always_ff @(posedge clk_i) if (emit && gather_q == '0) chunk_q <= addr_q;
  logic unused;
  assign unused = ^{beat_valid, unused_ranges, unused_pkts, unused_count, unused_dcount, unused_flags};
endmodule
