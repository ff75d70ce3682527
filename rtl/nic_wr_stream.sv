// Writes packets of 64 bytes to a range of host memory through the DMA engine. Beats are gathered up to
// a 512-byte boundary or the end, then offered as one burst: a stalled message never holds the shared
// write channel. abort_i ends the range early; what was taken so far is still written. idle_o means
// that every burst has its response, so that an event may follow.
module nic_wr_stream (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         start_i,        // only while idle_o
  input  logic [63:0]  addr_i,
  input  logic [31:0]  len_i,          // at least 1
  input  logic         abort_i,
  output logic         idle_o,
  output logic         err_o,          // some burst of this range failed; valid till start
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
  logic [63:0] addr_q;         // of the next beat
  logic [63:0] chunk_q;        // of the first beat of the gathered burst
  logic [31:0] left_q;
  logic [4:0] off_q, gather_q;
  logic [255:0] carry_q;
  logic [31:0] carry_strb_q;
  logic high_q, flush_q, err_q;
  logic [7:0] pending_q;       // bursts offered and not answered

  // ---- aligning -----------------------------------------------------------------------------------
  logic [255:0] flit, beat;
  logic [511:0] spread;
  logic [63:0] spread_strb;
  logic [31:0] strb;
  logic [5:0] keep;
  logic take, emit, last_flit, room, close, desc_ready;
  assign flit      = high_q ? data_i[511:256] : data_i[255:0];
  assign last_flit = left_q <= 32'd32;
  assign keep      = last_flit ? left_q[5:0] : 6'd32;
  assign spread      = {256'd0, flit} << {off_q, 3'd0};
  assign spread_strb = {32'd0, ~({32{1'b1}} << keep)} << off_q;
  assign take  = valid_i && left_q != '0 && room && !flush_q && !abort_i;
  assign emit  = take || (flush_q && room);
  assign beat  = flush_q ? carry_q : (spread[255:0] | carry_q);
  assign strb  = flush_q ? carry_strb_q : (spread_strb[31:0] | carry_strb_q);
  assign ready_o = take && (high_q || last_flit);

  // ---- gathering ----------------------------------------------------------------------------------
  logic fifo_ready, beat_valid, range_end, cut;
  logic [6:0] unused_count;
  logic [3:0] unused_dcount;
  // the range ends with this beat: no carry left behind a last flit, or the flush of the carry
  assign range_end = flush_q || (take && last_flit && spread_strb[63:32] == '0);
  assign cut   = abort_i && left_q != '0 && !flush_q && gather_q != '0;   // close what was gathered
  assign close = (emit && (range_end || addr_q[8:5] == 4'hF)) || cut;
  assign room  = fifo_ready && desc_ready;
  nic_fifo #(.Width(288), .Depth(64)) u_beats (
    .clk_i, .rst_ni, .valid_i(emit), .ready_o(fifo_ready), .data_i({strb, beat}),
    .valid_o(beat_valid), .ready_i(beat_pop_i), .data_o({strb_o, beat_o}), .count_o(unused_count)
  );
  logic [63:0] desc_addr;
  logic [4:0] desc_beats;
  assign desc_addr  = (gather_q == '0) ? addr_q : chunk_q;
  assign desc_beats = gather_q + 5'(emit);
  // Eight descriptors: `room` asks for one free before a beat, and a cut needs one just so
  logic abort_wait;
  assign abort_wait = cut && !desc_ready;
  nic_fifo #(.Width(69), .Depth(8)) u_desc (
    .clk_i, .rst_ni, .valid_i(close && !abort_wait), .ready_o(desc_ready),
    .data_i({desc_addr, desc_beats}), .valid_o(req_valid_o), .ready_i(req_done_i),
    .data_o({req_addr_o, req_beats_o}), .count_o(unused_dcount)
  );
  assign idle_o = left_q == '0 && !flush_q && pending_q == '0;
  assign err_o  = err_q;

  logic opened;
  assign opened = close && !abort_wait;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q       <= '0;
      gather_q     <= '0;
      high_q       <= 1'b0;
      flush_q      <= 1'b0;
      err_q        <= 1'b0;
      pending_q    <= '0;
      addr_q       <= '0;
      off_q        <= '0;
    end else begin
      pending_q <= pending_q + 8'(opened) - 8'(resp_i);
      if (resp_i && resp_err_i) err_q <= 1'b1;
      if (opened) gather_q <= '0;
      else if (emit) gather_q <= gather_q + 1'b1;
      if (emit) begin
        addr_q  <= addr_q + 64'd32;
        flush_q <= 1'b0;
      end
      if (take) begin
        left_q  <= left_q - 32'(keep);
        high_q  <= !high_q && !last_flit;
        flush_q <= last_flit && spread_strb[63:32] != '0;
      end
      if (abort_i && !flush_q && !abort_wait) left_q <= '0;
      if (start_i && idle_o) begin
        addr_q  <= {addr_i[63:5], 5'd0};
        off_q   <= addr_i[4:0];
        left_q  <= len_i;
        high_q  <= 1'b0;
        err_q   <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      carry_q      <= '0;
      carry_strb_q <= '0;
    end else if (start_i && idle_o) begin
      carry_q      <= '0;
      carry_strb_q <= '0;
    end else if (take) begin
      carry_q      <= spread[511:256];
      carry_strb_q <= spread_strb[63:32];
    end
  end
  always_ff @(posedge clk_i) if (emit && gather_q == '0) chunk_q <= addr_q;
  logic unused;
  assign unused = beat_valid;
endmodule
