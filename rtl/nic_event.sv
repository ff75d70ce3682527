// Writes events to the host: a 64-byte record into one of four event queues; then a counting event counts (nic_ct).
// Sources take turns. A full queue drops the record and counts it; the counting event is never lost. A record's
// time is that of its choice, before the bus. Registers: REGISTERS.md, event queues.
module nic_event import nic_pkg::*; #(
  parameter int unsigned N = 8
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic [63:0]    time_i,
  // registers, offsets in Eq
  input  logic           reg_we_i,
  input  logic [7:0]     reg_addr_i,
  input  logic [31:0]    reg_wdata_i,
  output logic [31:0]    reg_rdata_o,
  input  logic [N-1:0]   valid_i,
  output logic [N-1:0]   ready_o,
  input  logic [N*EvBits-1:0] ev_i,
  // DMA write client
  output logic           req_valid_o,
  output logic [63:0]    req_addr_o,
  output logic [4:0]     req_beats_o,
  output logic [255:0]   beat_o,
  output logic [31:0]    strb_o,
  input  logic           beat_pop_i,
  input  logic           req_done_i,
  input  logic           resp_i,
  input  logic           resp_err_i,
  // counting events
  output logic           count_valid_o,
  input  logic           count_ready_i,
  output logic [3:0]     count_ct_o,
  output logic [31:0]    count_success_o,
  output logic           count_failure_o,
  // a message that left an unexpected header is wholly in host memory, or has failed
  output logic           there_o,
  output logic [HdrBits-1:0] there_at_o,
  output status_t        there_status_o,
  output logic [3:0]     irq_o,        // pulse: a record of this queue is in host memory
  output logic           idle_o,
  output logic           host_err_o
);
  localparam int unsigned Queues = 4;
  typedef enum logic [1:0] {Idle, Pick, Record, Count} state_t;
  state_t state_q;

  logic [63:0] base_q [Queues];
  logic [4:0]  size_q [Queues];    // log2 of the records
  logic [Queues-1:0] on_q;
  logic [31:0] cons_q [Queues], prod_q [Queues], dropped_q [Queues];

  logic [N-1:0] grant;
  logic [$clog2(N)-1:0] index;
  logic any, take;
  ev_t ev_q;
  nic_arbiter #(.N(N)) u_arb (
    .clk_i, .rst_ni, .req_i(valid_i), .ack_i(take), .grant_o(grant), .valid_o(any),
    .index_o(index)
  );
  // at most 15 writes without answer, so that each answer finds its queue in the small FIFO below
  logic room, unused_valid;
  logic [1:0] answer_eq;
  logic [4:0] unused_count;
  nic_fifo #(.Width(2), .Depth(16)) u_answers (
    .clk_i, .rst_ni, .valid_i(req_done_i), .ready_o(room), .data_i(ev_q.eq),
    .valid_o(unused_valid), .ready_i(resp_i), .data_o(answer_eq), .count_o(unused_count)
  );
  assign take    = state_q == Idle && any && (valid_i & grant) != '0;
  assign ready_o = take ? grant : '0;
  assign irq_o   = resp_i ? 4'd1 << answer_eq : 4'd0;
  assign idle_o  = state_q == Idle && !any && !unused_valid;
  assign host_err_o = resp_i && resp_err_i;

  // ---- the record, layout in REGISTERS.md -----------------------------------------------------------
  // The bus may take its time: what is written, and where, is kept from the cycle in which it was decided
  // An entry that leaves with a message of which nothing is told may say so by an event of its own
  logic full, phase_q, second_q, told, left;
  logic [31:0] used, slot;
  logic [63:0] time_q, addr_q;
  logic [511:0] record;
  assign told  = ev_q.eq_en && !(ev_q.quiet && ev_q.status == StOk);
  assign left  = ev_q.unlinked && ev_q.tell_left && !told;
  assign used  = prod_q[ev_q.eq] - cons_q[ev_q.eq];
  assign full  = !on_q[ev_q.eq] || used >= (32'd1 << size_q[ev_q.eq]);
  assign slot  = prod_q[ev_q.eq] & ((32'd1 << size_q[ev_q.eq]) - 32'd1);
  assign record = {time_q,
                   {phase_q, ev_q.unlinked, ev_q.overflow, ev_q.ct_en, ev_q.status, told ? ev_q.etype : EvAutoUnlink, 2'd0, ev_q.peer, ev_q.slot[7:0],
                    ev_q.pt, ev_q.slot[15:8], ev_q.pid},
                   ev_q.mlength, ev_q.rlength, ev_q.match, ev_q.hdr_data, ev_q.offset, ev_q.start,
                   ev_q.user};
  assign req_valid_o = state_q == Record && room;
  assign req_addr_o  = {addr_q[63:5], 5'd0};
  assign req_beats_o = 5'd2;
  assign beat_o      = second_q ? record[511:256] : record[255:0];
  assign strb_o      = '1;
  assign count_valid_o   = state_q == Count && ev_q.ct_en;
  assign count_ct_o      = ev_q.ct;
  assign count_success_o = (ev_q.status != StOk) ? '0 : ev_q.ct_bytes ? ev_q.mlength : 32'd1;
  assign count_failure_o = ev_q.status != StOk;

  assign there_o         = state_q == Count && (!ev_q.ct_en || count_ready_i) && ev_q.hdr_en;
  assign there_at_o      = ev_q.hdr;
  assign there_status_o  = ev_q.status;

  // ---- registers ------------------------------------------------------------------------------------
  // A record that is on its way when its queue is restarted is written where it was to be, and does not count there
  logic eq_reg, restarts, restarted_q;
  logic [1:0] rq;
  assign eq_reg = !reg_addr_i[7];
  assign rq     = reg_addr_i[6:5];
  assign restarts = reg_we_i && eq_reg && reg_addr_i[4:2] == 3'd2 && rq == ev_q.eq;
  always_comb begin
    reg_rdata_o = '0;
    if (eq_reg) begin
      unique case (reg_addr_i[4:2])
        3'd0: reg_rdata_o = base_q[rq][31:0];
        3'd1: reg_rdata_o = base_q[rq][63:32];
        3'd2: reg_rdata_o = {on_q[rq], 26'd0, size_q[rq]};
        3'd3: reg_rdata_o = cons_q[rq];
        3'd4: reg_rdata_o = prod_q[rq];
        3'd5: reg_rdata_o = dropped_q[rq];
        default: reg_rdata_o = '0;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      second_q <= 1'b0;
      restarted_q <= 1'b0;
      on_q     <= '0;
      for (int unsigned q = 0; q < Queues; q++) begin
        base_q[q]    <= '0;
        size_q[q]    <= '0;
        cons_q[q]    <= '0;
        prod_q[q]    <= '0;
        dropped_q[q] <= '0;
      end
    end else begin
      restarted_q <= state_q != Idle && (restarts || restarted_q);
      unique case (state_q)
        Idle: if (take) state_q <= Pick;
        Pick: begin
          state_q <= ((told || left) && !full) ? Record : Count;
          if ((told || left) && full) dropped_q[ev_q.eq] <= dropped_q[ev_q.eq] + 32'd1;
        end
        Record: begin
          if (beat_pop_i) second_q <= !second_q;
          if (req_done_i) begin
            if (!restarted_q) prod_q[ev_q.eq] <= prod_q[ev_q.eq] + 32'd1;
            state_q <= Count;
          end
        end
        default: if (!ev_q.ct_en || count_ready_i) state_q <= Idle;   // Count
      endcase
      if (reg_we_i && eq_reg) begin
        unique case (reg_addr_i[4:2])
          3'd0: base_q[rq][31:0]  <= {reg_wdata_i[31:6], 6'd0};
          3'd1: base_q[rq][63:32] <= reg_wdata_i;
          3'd2: begin   // (re)starts the queue
            on_q[rq]   <= reg_wdata_i[31];
            size_q[rq] <= (reg_wdata_i[4:0] > 5'd20) ? 5'd20 : reg_wdata_i[4:0];
            prod_q[rq] <= '0;
            cons_q[rq] <= '0;
          end
          3'd3: cons_q[rq] <= reg_wdata_i;
          3'd5: dropped_q[rq] <= '0;
          default: ;
        endcase
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) ev_q <= ev_i[index * EvBits +: EvBits];
    if (state_q == Pick) begin
      time_q  <= time_i;
      phase_q <= !prod_q[ev_q.eq][size_q[ev_q.eq]];
      addr_q  <= base_q[ev_q.eq] + {26'd0, slot, 6'd0};
    end
  end
  logic unused;
  assign unused = ^{unused_count, reg_addr_i[1:0], addr_q[4:0]};
endmodule
