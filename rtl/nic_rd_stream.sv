// Reads ranges of host memory through the DMA engine, one after the other, and gives each out as packets of
// 64 bytes, packed from byte 0 and zero behind the end. Ranges are asked for while earlier ones still come,
// so that the host's latency is met once. Bursts never cross a 512-byte boundary, and one is asked for
// only when its beats have room here, so a slow consumer never blocks the shared read channel.
module nic_rd_stream #(
  parameter int unsigned Depth = 256,   // beats of 32 bytes
  parameter int unsigned Ranges = 16    // that may wait
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         start_i,        // only while ready_o
  output logic         ready_o,
  input  logic [63:0]  addr_i,
  input  logic [31:0]  len_i,          // at least 1
  // to the DMA engine
  output logic         req_valid_o,
  input  logic         req_ready_i,
  output logic [63:0]  req_addr_o,     // multiple of 32
  output logic [4:0]   req_beats_o,    // 1..16
  input  logic         beat_valid_i,
  input  logic [255:0] beat_i,
  input  logic         beat_err_i,
  // packets
  output logic         valid_o,
  input  logic         ready_i,
  output logic [511:0] data_o,
  output logic         err_o           // some beat of this range came with an error; true at its last packet
);
  localparam int unsigned Bits = $clog2(Depth) + 1;

  // ---- asking -------------------------------------------------------------------------------------
  logic [63:5] addr_q;
  logic [31:0] ask_q;
  logic [Bits-1:0] room_q;   // beats neither asked for nor held
  logic [4:0] chunk;         // beats up to the next 512-byte boundary
  logic ask, ask_load, ask_valid, ask_ready, out_ready;
  logic [58:0] ask_addr;
  logic [31:0] ask_beats, beats;
  logic [$clog2(Ranges):0] unused_asks, unused_outs;
  assign beats   = (len_i + 32'(addr_i[4:0]) + 32'd31) >> 5;
  assign ready_o = ask_ready && out_ready;
  nic_fifo #(.Width(59 + 32), .Depth(Ranges)) u_asks (
    .clk_i, .rst_ni, .valid_i(start_i && ready_o), .ready_o(ask_ready), .data_i({addr_i[63:5], beats}),
    .valid_o(ask_valid), .ready_i(ask_load), .data_o({ask_addr, ask_beats}), .count_o(unused_asks)
  );
  assign chunk = (ask_q < 32'd16 - {28'd0, addr_q[8:5]}) ? ask_q[4:0] : 5'd16 - {1'b0, addr_q[8:5]};
  assign req_valid_o = ask_q != '0 && room_q >= Bits'(chunk);
  assign req_addr_o  = {addr_q, 5'd0};
  assign req_beats_o = chunk;
  assign ask         = req_valid_o && req_ready_i;
  assign ask_load    = ask_valid && (ask_q == '0 || (ask && ask_q == 32'(chunk)));

  logic unused_ready, head_valid, head_pop, head_err;
  logic [255:0] head;
  logic [$clog2(Depth):0] unused_count;
  nic_queue #(.Width(257), .Depth(Depth)) u_beats (
    .clk_i, .rst_ni, .valid_i(beat_valid_i), .ready_o(unused_ready), .data_i({beat_err_i, beat_i}),
    .valid_o(head_valid), .ready_i(head_pop), .data_o({head_err, head}), .count_o(unused_count)
  );

  // ---- aligning: flit = {next beat, carried beat} >> 8 * offset --------------------------------------
  logic out_valid, out_load, more, flit_go, out_free, last_flit, prime_q, high_q, vout_q, err, err_q, err_out_q;
  logic [4:0] out_off, off_q;
  logic [31:0] out_len, left_q, beats_q;
  logic [255:0] raw, flit, carry_q, low_q;
  logic [511:0] data_q;
  logic [5:0] keep;
  nic_fifo #(.Width(37), .Depth(Ranges)) u_outs (
    .clk_i, .rst_ni, .valid_i(start_i && ready_o), .ready_o(out_ready), .data_i({addr_i[4:0], len_i}),
    .valid_o(out_valid), .ready_i(out_load), .data_o({out_off, out_len}), .count_o(unused_outs)
  );
  assign more      = beats_q != '0;                   // beats still to come from the queue
  assign out_free  = !vout_q || ready_i;
  assign last_flit = left_q <= 32'd32;
  assign keep      = last_flit ? left_q[5:0] : 6'd32;
  // with an offset the first beat only primes; the last flit may need no further beat
  assign flit_go   = left_q != '0 && out_free && !prime_q && (head_valid || !more);
  assign head_pop  = head_valid && more && (prime_q || flit_go);
  assign out_load  = out_valid && (left_q == '0 || (flit_go && last_flit));
  assign err       = err_q || (head_pop && head_err);
  always_comb begin
    logic [511:0] both;
    both = {more ? head : 256'd0, carry_q};
    raw  = (off_q == '0) ? head : 256'(both >> {off_q, 3'd0});
    flit = raw & ~({256{1'b1}} << {keep, 3'd0});
  end

  assign valid_o = vout_q;
  assign data_o  = data_q;
  assign err_o   = err_out_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ask_q     <= '0;
      beats_q   <= '0;
      left_q    <= '0;
      room_q    <= Bits'(Depth);
      prime_q   <= 1'b0;
      high_q    <= 1'b0;
      vout_q    <= 1'b0;
      err_q     <= 1'b0;
      err_out_q <= 1'b0;
      addr_q    <= '0;
      off_q     <= '0;
    end else begin
      room_q <= room_q - (ask ? Bits'(chunk) : '0) + Bits'(head_pop);
      if (ask_load) begin
        addr_q <= ask_addr;
        ask_q  <= ask_beats;
      end else if (ask) begin
        addr_q <= addr_q + 59'(chunk);
        ask_q  <= ask_q - 32'(chunk);
      end
      if (head_pop) beats_q <= beats_q - 1'b1;
      if (prime_q && head_pop) prime_q <= 1'b0;
      if (vout_q && ready_i) vout_q <= 1'b0;
      err_q <= err;
      if (flit_go) begin
        left_q    <= left_q - 32'(keep);
        high_q    <= !high_q && !last_flit;
        err_out_q <= err;
        if (high_q || last_flit) vout_q <= 1'b1;
      end
      if (out_load) begin
        off_q   <= out_off;
        beats_q <= (out_len + 32'(out_off) + 32'd31) >> 5;
        left_q  <= out_len;
        prime_q <= out_off != '0;
        high_q  <= 1'b0;
        err_q   <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (head_pop) carry_q <= head;
    if (flit_go) begin
      if (!high_q) low_q <= flit;
      data_q <= high_q ? {flit, low_q} : {256'd0, flit};
    end
  end
endmodule
