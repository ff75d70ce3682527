// Stamps: for every message the times of its first and last flit on the wire, at the transmitter and at
// the receiver. One whose packets do not arrive complete and in order makes no record (nic_follow). Records
// go into a ring in host memory and into a FIFO that is read through registers; each record lost on the
// way is counted.
module nic_stamp import nic_pkg::*; #(
  parameter int unsigned FifoDepth = 64,
  parameter int unsigned InDepth = 32   // as many short messages in a row find room, however busy the host is
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  // registers, offsets 0x400 to 0x4ff
  input  logic         reg_we_i,
  input  logic         reg_re_i,
  input  logic [7:0]   reg_addr_i,
  input  logic [31:0]  reg_wdata_i,
  output logic [31:0]  reg_rdata_o,
  // transmitter: a flit is on the wire
  input  logic         tx_valid_i,
  input  logic         tx_first_i,
  input  pkt_t         tx_pkt_i,
  // receiver: a flit is on the wire; in the cycle after the second one the packet, if it is good
  input  logic         rx_valid_i,
  input  logic         rx_first_i,
  input  logic         rx_got_i,
  input  pkt_hdr_t     rx_hdr_i,
  input  logic [511:0] rx_data_i,
  // with outside_i the flits' times are those of another clock's streams (nic_mac): what is received brings them along,
  // those of a packet that was sent come with it, later
  input  logic         outside_i,
  input  logic [63:0]  rx_time_i,
  input  logic         got_i,
  input  pkt_t         got_pkt_i,
  input  logic [63:0]  got_first_i,
  input  logic [63:0]  got_last_i,
  // DMA write client
  output logic         req_valid_o,
  output logic [63:0]  req_addr_o,
  output logic [255:0] beat_o,
  input  logic         req_done_i,
  input  logic         resp_i,
  input  logic         resp_err_i,
  output logic         irq_o,         // pulse: a record is in host memory
  output logic         host_err_o,
  // complete messages, for the byte counters
  output logic [1:0]   msg_o,         // {received, sent}
  output logic [1:0]   tx_vn_o,
  output logic [1:0]   rx_vn_o,
  output logic [31:0]  tx_bytes_o,
  output logic [31:0]  rx_bytes_o
);
  logic [63:0] rx_time, rx_first_q, rx_time_q;   // _q: of the packet that is complete now
  assign rx_time = outside_i ? rx_time_i : time_i;
  always_ff @(posedge clk_i) begin
    if (rx_valid_i) rx_time_q <= rx_time;
    if (rx_valid_i && rx_first_i) rx_first_q <= rx_time;
  end
  // In the cycle after the second flit a new first flit may be on the wire: rx_first_q takes its time at
  // the end of that cycle

  logic tx_got;
  pkt_t tx_pkt;
  logic [63:0] tx_first_q;
  always_ff @(posedge clk_i) if (tx_valid_i && tx_first_i) tx_first_q <= time_i;
  assign tx_got = outside_i ? got_i : tx_valid_i && !tx_first_i;
  assign tx_pkt = outside_i ? got_pkt_i : tx_pkt_i;

  stamp_t tx_rec, rx_rec;
  logic [1:0] rec_valid;
  logic [3:0] tx_kind, rx_kind;
  nic_follow #(.Received(1'b0)) u_sent (   // both flits are known when the first leaves
    .clk_i, .rst_ni, .got_i(tx_got), .hdr_i(tx_pkt.hdr), .data_i(tx_pkt.data),
    .first_i(outside_i ? got_first_i : tx_first_q), .last_i(outside_i ? got_last_i : time_i),
    .valid_o(rec_valid[0]), .rec_o(tx_rec), .kind_o(tx_kind), .bytes_o(tx_bytes_o)
  );
  nic_follow #(.Received(1'b1)) u_received (
    .clk_i, .rst_ni, .got_i(rx_got_i), .hdr_i(rx_hdr_i), .data_i(rx_data_i), .first_i(rx_first_q),
    .last_i(rx_time_q), .valid_o(rec_valid[1]), .rec_o(rx_rec), .kind_o(rx_kind), .bytes_o(rx_bytes_o)
  );
  assign msg_o   = rec_valid;
  assign tx_vn_o = tx_pkt.hdr.vn;
  assign rx_vn_o = rx_hdr_i.vn;

  // ---- two input queues, one output -------------------------------------------------------------------
  logic on_q, ring_on_q, fifo_on_q;
  logic [15:0] kinds_q;
  logic [1:0] in_valid, in_ready, have, pop;
  logic turn_q, pick, go;
  stamp_t in_tx, in_rx, out;
  logic [$clog2(InDepth):0] unused_tx_count, unused_rx_count;
  assign in_valid = rec_valid & {2{on_q}} & {kinds_q[rx_kind], kinds_q[tx_kind]};
  nic_fifo #(.Width($bits(in_tx)), .Depth(InDepth)) u_tx_in (
    .clk_i, .rst_ni, .valid_i(in_valid[0]), .ready_o(in_ready[0]), .data_i(tx_rec), .valid_o(have[0]),
    .ready_i(pop[0]), .data_o(in_tx), .count_o(unused_tx_count)
  );
  nic_fifo #(.Width($bits(in_rx)), .Depth(InDepth)) u_rx_in (
    .clk_i, .rst_ni, .valid_i(in_valid[1]), .ready_o(in_ready[1]), .data_i(rx_rec), .valid_o(have[1]),
    .ready_i(pop[1]), .data_o(in_rx), .count_o(unused_rx_count)
  );
  assign pick = have[turn_q] ? turn_q : !turn_q;
  assign out  = pick ? in_rx : in_tx;

  // ---- ring and FIFO ------------------------------------------------------------------------------------
  logic [63:0] base_q;
  logic [4:0] size_q;
  logic [31:0] cons_q, prod_q, lost_ring_q, lost_fifo_q, lost_in_q, used;
  logic ring_full, busy_q, phase, fifo_ready, fifo_push, fifo_valid, fifo_pop;
  logic [63:0] addr_q;   // with beat_q: what is written and where stays as the bus saw it first
  logic [255:0] beat_q, fifo_head;
  logic [$clog2(FifoDepth):0] fifo_count;
  assign used      = prod_q - cons_q;
  assign ring_full = used >= (32'd1 << size_q);
  assign phase     = !prod_q[size_q];
  assign go        = (have != '0) && !busy_q;   // the ring's writer is free
  assign pop       = go ? (2'd1 << pick) : 2'd0;
  assign fifo_push = go && fifo_on_q;
  nic_fifo #(.Width(256), .Depth(FifoDepth)) u_regs (
    .clk_i, .rst_ni, .valid_i(fifo_push), .ready_o(fifo_ready), .data_i(out), .valid_o(fifo_valid),
    .ready_i(fifo_pop), .data_o(fifo_head), .count_o(fifo_count)
  );
  assign req_valid_o = busy_q;
  assign req_addr_o  = addr_q;
  assign beat_o      = beat_q;
  assign irq_o       = resp_i;
  assign host_err_o  = resp_i && resp_err_i;

  logic restarts, restarted_q;   // the record on its way is of the ring before
  assign restarts = reg_we_i && reg_addr_i[7:2] == 6'h03;
  assign fifo_pop = reg_re_i && reg_addr_i == 8'h5C;
  always_comb begin
    unique case (reg_addr_i[7:2])
      6'h00: reg_rdata_o = {kinds_q, 13'd0, fifo_on_q, ring_on_q, on_q};
      6'h01: reg_rdata_o = base_q[31:0];
      6'h02: reg_rdata_o = base_q[63:32];
      6'h03: reg_rdata_o = {27'd0, size_q};
      6'h04: reg_rdata_o = cons_q;
      6'h05: reg_rdata_o = prod_q;
      6'h06: reg_rdata_o = lost_ring_q;
      6'h07: reg_rdata_o = lost_fifo_q;
      6'h08: reg_rdata_o = lost_in_q;
      6'h09: reg_rdata_o = 32'(fifo_count);
      6'h10, 6'h11, 6'h12, 6'h13, 6'h14, 6'h15, 6'h16, 6'h17:
        reg_rdata_o = fifo_valid ? fifo_head[reg_addr_i[4:2] * 32 +: 32] : 32'd0;
      default: reg_rdata_o = '0;
    endcase
  end

  logic [1:0] lost_in;
  assign lost_in = in_valid & ~in_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      on_q      <= 1'b0;
      ring_on_q <= 1'b0;
      fifo_on_q <= 1'b0;
      kinds_q   <= '0;
      base_q    <= '0;
      size_q    <= '0;
      cons_q    <= '0;
      prod_q    <= '0;
      lost_ring_q <= '0;
      lost_fifo_q <= '0;
      lost_in_q <= '0;
      busy_q    <= 1'b0;
      restarted_q <= 1'b0;
      turn_q    <= 1'b0;
    end else begin
      restarted_q <= (go || busy_q) && (restarts || (restarted_q && busy_q));
      if (go) turn_q <= !pick;
      if (go && ring_on_q && !ring_full) busy_q <= 1'b1;
      if (go && ring_on_q && ring_full) lost_ring_q <= lost_ring_q + 32'd1;
      if (fifo_push && !fifo_ready) lost_fifo_q <= lost_fifo_q + 32'd1;
      lost_in_q <= lost_in_q + 32'(lost_in[0]) + 32'(lost_in[1]);
      if (busy_q && req_done_i) begin
        busy_q <= 1'b0;
        if (!restarted_q) prod_q <= prod_q + 32'd1;
      end
      if (reg_we_i) begin
        unique case (reg_addr_i[7:2])
          6'h00: begin
            kinds_q   <= reg_wdata_i[31:16];
            {fifo_on_q, ring_on_q, on_q} <= reg_wdata_i[2:0];
          end
          6'h01: base_q[31:0]  <= {reg_wdata_i[31:5], 5'd0};
          6'h02: base_q[63:32] <= reg_wdata_i;
          6'h03: begin   // (re)starts the ring; write it while the ring is off
            size_q <= (reg_wdata_i[4:0] > 5'd20) ? 5'd20 : reg_wdata_i[4:0];
            prod_q <= '0;
            cons_q <= '0;
          end
          6'h04: cons_q <= reg_wdata_i;
          6'h06: lost_ring_q <= '0;
          6'h07: lost_fifo_q <= '0;
          6'h08: lost_in_q   <= '0;
          default: ;
        endcase
      end
    end
  end
  always_ff @(posedge clk_i) if (go) begin
    beat_q <= {phase, out[254:0]};
    addr_q <= base_q + {27'd0, prod_q & ((32'd1 << size_q) - 32'd1), 5'd0};
  end
  logic unused;
  assign unused = ^{reg_addr_i[1:0], out, unused_tx_count, unused_rx_count};
endmodule
