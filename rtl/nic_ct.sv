// Counting events and what they trigger. A counter has a count of successes and one of failures, which messages (from
// nic_event), the host and triggered commands change. A trigger is a command that waits until the two counts of a
// counter together reach its threshold: those of a counter are released in order of threshold, equal ones in the order
// in which the host gave them. A counter changes again only when all that its last change releases has been taken
// from its list, so nothing is released late or twice. Released messages wait for the classes' transmitters in order;
// released CTInc and CTSet are done here. What changes is copied to the host, unless the host wrote the value itself.
// Registers: REGISTERS.md, Ct and Trigger.
module nic_ct import nic_pkg::*; #(
  parameter int unsigned Triggers = 256,
  localparam int unsigned Tb = $clog2(Triggers)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  // registers: offsets in Ct and in Trigger
  input  logic         ct_we_i,
  input  logic         trg_we_i,
  input  logic [8:0]   reg_addr_i,
  input  logic [31:0]  reg_wdata_i,
  output logic [31:0]  ct_rdata_o,
  output logic [31:0]  trg_rdata_o,
  // a message counts
  input  logic         count_valid_i,
  output logic         count_ready_o,
  input  logic [3:0]   count_ct_i,
  input  logic [31:0]  count_success_i,
  input  logic         count_failure_i,
  // released commands, to the transmitter of a class
  output logic [1:0]   cmd_valid_o,
  input  logic [1:0]   cmd_ready_i,
  output logic [CmdBits-1:0] cmd_o,
  // DMA write client
  output logic         req_valid_o,
  output logic [63:0]  req_addr_o,
  output logic [255:0] beat_o,
  output logic [31:0]  strb_o,
  input  logic         req_done_i,
  input  logic         resp_i,
  input  logic         resp_err_i,
  output logic         idle_o,        // nothing is at work; triggers may wait
  output logic         room_o,        // the host may give more
  output logic         bad_o,         // pulse: what the host gave was refused
  output logic         host_err_o
);
  localparam int unsigned Counts = 16;
  typedef enum logic [2:0] {Idle, Check, Look, Compare, Execute, Walk, Step, Link} state_t;
  localparam logic [1:0] OpWrite = 2'd0;    // half of a count
  localparam logic [1:0] OpAppend = 2'd1;
  localparam logic [1:0] OpCancel = 2'd2;
  localparam logic [1:0] OpAdd = 2'd3;      // a signed number of 32 bits to a count
  state_t state_q;

  // ---- what the host gives, in order -----------------------------------------------------------------
  logic [511:0] stage_q;
  logic [63:0] threshold_q;
  logic [63:0] copy_q [Counts];
  logic [3:0] rc;
  logic give, room, op_valid, op_pop;
  logic [1:0] op_kind, give_kind;
  logic [3:0] op_ct, give_ct;
  logic [1:0] op_half;
  logic [15:0] op_index;
  logic op_class;
  logic [63:0] op_value;       // threshold; or 32 bits to write
  logic [511:0] op_cmd;
  logic [3:0] unused_ops;
  logic stage_we, append_we, cancel_we;
  assign rc        = reg_addr_i[8:5];
  assign stage_we  = trg_we_i && reg_addr_i[8:6] == 3'd0;
  assign append_we = trg_we_i && reg_addr_i == TrgAppend;
  assign cancel_we = trg_we_i && reg_addr_i == TrgCancel;
  assign give      = (ct_we_i && (!reg_addr_i[4] || reg_addr_i[3])) || append_we || cancel_we;
  assign give_kind = append_we ? OpAppend : cancel_we ? OpCancel : reg_addr_i[4] ? OpAdd : OpWrite;
  assign give_ct   = append_we ? reg_wdata_i[19:16] : cancel_we ? reg_wdata_i[3:0] : rc;
  nic_fifo #(.Width(89 + 512), .Depth(8)) u_ops (
    .clk_i, .rst_ni, .valid_i(give), .ready_o(room),
    .data_i({give_kind, give_ct, reg_addr_i[3:2], reg_wdata_i[15:0], reg_wdata_i[20],
             ct_we_i ? {{32{reg_addr_i[4] && reg_wdata_i[31]}}, reg_wdata_i} : threshold_q, stage_q}),
    .valid_o(op_valid), .ready_i(op_pop),
    .data_o({op_kind, op_ct, op_half, op_index, op_class, op_value, op_cmd}), .count_o(unused_ops)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned c = 0; c < Counts; c++) copy_q[c] <= '0;
    end else if (ct_we_i && reg_addr_i[4]) begin
      if (reg_addr_i[3:2] == 2'd0) copy_q[rc][31:0]  <= {reg_wdata_i[31:4], 4'd0};
      if (reg_addr_i[3:2] == 2'd1) copy_q[rc][63:32] <= reg_wdata_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (stage_we) stage_q[reg_addr_i[5:2] * 32 +: 32] <= reg_wdata_i;
    if (trg_we_i && reg_addr_i == TrgThresholdLo) threshold_q[31:0]  <= reg_wdata_i;
    if (trg_we_i && reg_addr_i == TrgThresholdHi) threshold_q[63:32] <= reg_wdata_i;
  end

  // ---- tables: triggers in RAM, in one list per counter -----------------------------------------------
  logic [512:0] cmd_mem [Triggers];       // {class, command}
  logic [63:0] threshold_mem [Triggers];
  logic [Tb-1:0] next_mem [Triggers];
  logic [127:0] count_mem [Counts];       // {failure, success}; 0 unless known_q
  logic [Tb-1:0] head_mem [Counts], tail_mem [Counts];
  logic [63:0] last_mem [Counts];         // the tail's threshold
  logic [Counts-1:0] known_q, some_q;
  logic [Triggers-1:0] valid_q;
  logic [512:0] cmd_out_q;
  logic [63:0] threshold_out_q;
  logic [Tb-1:0] next_out_q;

  logic [3:0] ct_q;              // whose list is looked at
  logic [Tb-1:0] cur_q, prior_q;
  logic first_q, cancel_q;       // cur_q is the head; the list is thrown away
  logic [63:0] reached_q;
  cmd_t cur_cmd;
  logic is_ct, is_last, fires;
  assign cur_cmd = cmd_out_q[511:0];
  assign is_ct   = cur_cmd.kind == KindCtInc || cur_cmd.kind == KindCtSet;
  assign is_last = cur_q == tail_mem[ct_q];
  assign fires   = cancel_q || threshold_out_q <= reached_q;

  // ---- counters: one is read and written at a time ------------------------------------------------------
  logic [3:0] at;
  logic [127:0] was, is;
  logic counts, looks;           // in Idle: a message counts; an operation of the host begins
  assign count_ready_o = state_q == Idle && !due_valid;
  assign counts        = count_valid_i && count_ready_o;
  assign looks         = state_q == Idle && !due_valid && !count_valid_i && op_valid;
  assign at  = (state_q == Check) ? ct_q : (state_q == Execute) ? cur_cmd.ct : counts ? count_ct_i : op_ct;
  assign was = known_q[at] ? count_mem[at] : '0;
  always_comb begin
    is = was;
    if (counts) begin
      is = {was[127:64] + 64'(count_failure_i), was[63:0] + {32'd0, count_success_i}};
    end else if (state_q == Execute && cur_cmd.kind == KindCtSet) begin
      is = {cur_cmd.operand2, cur_cmd.operand};
    end else if (state_q == Execute) begin
      is = {was[127:64] + cur_cmd.operand2, was[63:0] + cur_cmd.operand};
    end else if (op_kind == OpAdd) begin
      is = op_half[0] ? {was[127:64] + op_value, was[63:0]} : {was[127:64], was[63:0] + op_value};
    end else begin
      unique case (op_half)
        2'd0: is[31:0]    = op_value[31:0];
        2'd1: is[63:32]   = op_value[31:0];
        2'd2: is[95:64]   = op_value[31:0];
        default: is[127:96] = op_value[31:0];
      endcase
    end
  end
  logic changes, adds;
  assign adds    = looks && op_kind == OpAdd;
  assign changes = counts || state_q == Execute || adds || (looks && op_kind == OpWrite);
  always_ff @(posedge clk_i) if (changes) count_mem[at] <= is;

  // Counters whose list is to be looked at, in the order of their changes; each stands there once
  logic due_push, due_valid, due_pop, unused_due_ready;
  logic [3:0] due_ct, due_next;
  logic [4:0] unused_due_count;
  logic [Counts-1:0] due_q;
  assign due_next = (state_q == Link || looks) ? op_ct : at;
  assign due_push = ((changes && some_q[at]) || (looks && op_kind == OpAppend && op_fits && at_end) ||
                     state_q == Link) && !due_q[due_next];
  assign due_pop  = state_q == Idle && due_valid;
  nic_fifo #(.Width(4), .Depth(Counts)) u_due (
    .clk_i, .rst_ni, .valid_i(due_push), .ready_o(unused_due_ready), .data_i(due_next), .valid_o(due_valid),
    .ready_i(due_pop), .data_o(due_ct), .count_o(unused_due_count)
  );

  // ---- lists -----------------------------------------------------------------------------------------------
  logic op_fits, at_end, append, sooner;
  logic [Tb-1:0] op_at;
  assign op_at   = op_index[Tb-1:0];
  assign op_fits = op_index < 16'(Triggers) && !valid_q[op_at];
  assign at_end  = !some_q[op_ct] || op_value >= last_mem[op_ct];
  assign append  = looks && op_kind == OpAppend && op_fits;
  assign sooner  = op_value < threshold_out_q;          // in Step
  assign op_pop  = (looks && !(append && !at_end)) || state_q == Link;
  assign room_o  = room;
  assign bad_o   = (give && !room) || (looks && op_kind == OpAppend && !op_fits);

  logic ready_push, ready_valid, ready_pop, unused_ready_room;
  logic [Tb-1:0] ready_at;
  logic [Tb:0] ready_count;
  assign ready_push = state_q == Compare && fires && !cancel_q && !is_ct;
  nic_queue #(.Width(Tb), .Depth(Triggers)) u_ready (
    .clk_i, .rst_ni, .valid_i(ready_push), .ready_o(unused_ready_room), .data_i(cur_q), .valid_o(ready_valid),
    .ready_i(ready_pop), .data_o(ready_at), .count_o(ready_count)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      known_q  <= '0;
      some_q   <= '0;
      valid_q  <= '0;
      due_q    <= '0;
      ct_q     <= '0;
      cur_q    <= '0;
      prior_q  <= '0;
      first_q  <= 1'b0;
      cancel_q <= 1'b0;
      reached_q <= '0;
    end else begin
      if (changes) known_q[at] <= 1'b1;
      if (due_pop) due_q[due_ct] <= 1'b0;
      if (due_push) due_q[due_next] <= 1'b1;
      if (ready_pop) valid_q[ready_at] <= 1'b0;
      unique case (state_q)
        Idle: begin
          cancel_q <= 1'b0;
          if (due_valid) begin
            ct_q    <= due_ct;
            state_q <= Check;
          end else if (append) begin
            valid_q[op_at] <= 1'b1;
            some_q[op_ct]  <= 1'b1;
            cur_q          <= head_mem[op_ct];
            first_q        <= 1'b1;
            if (!at_end) state_q <= Walk;
          end else if (looks && op_kind == OpCancel && some_q[op_ct]) begin
            ct_q     <= op_ct;
            cur_q    <= head_mem[op_ct];
            cancel_q <= 1'b1;
            state_q  <= Look;
          end
        end
        Check: begin
          reached_q <= was[63:0] + was[127:64];
          cur_q     <= head_mem[ct_q];
          state_q   <= some_q[ct_q] ? Look : Idle;
        end
        Look: state_q <= Compare;
        Compare: begin
          if (!fires) begin
            state_q <= Idle;
          end else begin
            if (is_last) some_q[ct_q] <= 1'b0;
            if (cancel_q || is_ct) valid_q[cur_q] <= 1'b0;
            cur_q   <= next_out_q;
            state_q <= (is_ct && !cancel_q) ? Execute : is_last ? Idle : Look;
          end
        end
        Execute: state_q <= Check;   // it may have changed the counter whose list this is
        // a place in the middle: before the first one with a greater threshold
        Walk: state_q <= Step;
        Step: begin
          if (sooner) begin
            state_q <= Link;
          end else begin
            first_q <= 1'b0;
            prior_q <= cur_q;
            cur_q   <= next_out_q;
            state_q <= Walk;
          end
        end
        default: state_q <= Idle;    // Link
      endcase
    end
  end
  // Tables without reset: read only where valid_q or some_q say so
  always_ff @(posedge clk_i) begin
    if (append) begin
      cmd_mem[op_at]       <= {op_class, op_cmd};
      threshold_mem[op_at] <= op_value;
    end
    if (append && at_end) begin
      tail_mem[op_ct] <= op_at;
      last_mem[op_ct] <= op_value;
    end
    if (append && !some_q[op_ct]) head_mem[op_ct] <= op_at;
    else if (state_q == Compare && fires) head_mem[ct_q] <= next_out_q;
    else if (state_q == Link && first_q) head_mem[op_ct] <= op_at;
    // behind the tail; or what is before the new one, and then, in Link, the new one itself
    if (append && at_end && some_q[op_ct]) next_mem[tail_mem[op_ct]] <= op_at;
    else if (state_q == Step && sooner && !first_q) next_mem[prior_q] <= op_at;
    else if (state_q == Link) next_mem[op_at] <= cur_q;
    if (state_q == Look || state_q == Walk) begin
      threshold_out_q <= threshold_mem[cur_q];
      next_out_q      <= next_mem[cur_q];
    end
    if (state_q == Look || fetch) cmd_out_q <= cmd_mem[(state_q == Look) ? cur_q : ready_at];
  end

  // ---- released messages: read between the looks, offered to their class -----------------------------------
  typedef enum logic [1:0] {Rest, Got, Offer} launch_t;
  launch_t launch_q;
  logic fetch;
  logic [512:0] out_q;
  assign fetch       = launch_q == Rest && ready_valid && state_q != Look && state_q != Compare;
  assign cmd_o       = out_q[511:0];
  assign cmd_valid_o = (launch_q != Offer) ? 2'b00 : out_q[512] ? 2'b10 : 2'b01;
  assign ready_pop   = (cmd_valid_o & cmd_ready_i) != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) launch_q <= Rest;
    else if (fetch) launch_q <= Got;
    else if (launch_q == Got) launch_q <= Offer;
    else if (ready_pop) launch_q <= Rest;
  end
  always_ff @(posedge clk_i) if (launch_q == Got) out_q <= cmd_out_q;

  // ---- copies for the host: 16 bytes at any multiple of 16, of the latest counts -----------------------------
  logic [Counts-1:0] stale_q, pick;
  logic [3:0] pick_at, flight_q;
  logic some_stale, copy, writing_q;
  logic [63:0] addr_q;
  logic [127:0] data_q;
  nic_arbiter #(.N(Counts)) u_pick (
    .clk_i, .rst_ni, .req_i(stale_q), .ack_i(copy), .grant_o(pick), .valid_o(some_stale), .index_o(pick_at)
  );
  assign copy        = some_stale && !writing_q && flight_q != 4'd15;
  assign req_valid_o = writing_q;
  assign req_addr_o  = {addr_q[63:5], 5'd0};
  assign beat_o      = {2{data_q}};
  assign strb_o      = addr_q[4] ? 32'hFFFF0000 : 32'h0000FFFF;
  assign host_err_o  = resp_i && resp_err_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stale_q   <= '0;
      writing_q <= 1'b0;
      flight_q  <= '0;
    end else begin
      if (copy) stale_q <= stale_q & ~pick;
      if ((counts || state_q == Execute || adds) && copy_q[at] != '0) stale_q[at] <= 1'b1;
      if (copy) writing_q <= 1'b1;
      else if (req_done_i) writing_q <= 1'b0;
      flight_q <= flight_q + 4'(copy) - 4'(resp_i);
    end
  end
  always_ff @(posedge clk_i) if (copy) begin
    addr_q <= copy_q[pick_at];
    data_q <= known_q[pick_at] ? count_mem[pick_at] : '0;
  end

  assign idle_o = state_q == Idle && !op_valid && !due_valid && ready_count == '0 && launch_q == Rest && stale_q == '0 &&
                  flight_q == '0;

  // ---- registers read ------------------------------------------------------------------------------------------
  logic [127:0] shown;
  logic [32*8-1:0] all_valid;
  assign shown     = known_q[rc] ? count_mem[rc] : '0;
  assign all_valid = 256'(valid_q);
  always_comb begin
    unique case (reg_addr_i[4:2])
      3'd0: ct_rdata_o = shown[31:0];
      3'd1: ct_rdata_o = shown[63:32];
      3'd2: ct_rdata_o = shown[95:64];
      3'd3: ct_rdata_o = shown[127:96];
      3'd4: ct_rdata_o = copy_q[rc][31:0];
      3'd5: ct_rdata_o = copy_q[rc][63:32];
      default: ct_rdata_o = '0;
    endcase
    trg_rdata_o = '0;
    if (reg_addr_i[8:5] == TrgValid[8:5]) trg_rdata_o = all_valid[reg_addr_i[4:2] * 32 +: 32];
    else if (reg_addr_i == TrgBusy) trg_rdata_o = {31'd0, state_q != Idle || op_valid || due_valid};
  end
  logic unused;
  assign unused = ^{unused_ops, unused_due_ready, unused_due_count, unused_ready_room, addr_q[3:0],
                    cur_cmd.commit, cur_cmd.ack_event, cur_cmd.send_event, cur_cmd.ct_bytes, cur_cmd.ct_en, cur_cmd.rsvd, cur_cmd.end_event,
                    cur_cmd.eq, cur_cmd.pay, cur_cmd.user, cur_cmd.addr, cur_cmd.hdr_data, cur_cmd.dst_pid, cur_cmd.offset,
                    cur_cmd.match, cur_cmd.length, cur_cmd.aop, cur_cmd.dtype, cur_cmd.is_float, cur_cmd.is_complex, cur_cmd.dst, cur_cmd.pt,
                    cur_cmd.ctx};
`ifndef SYNTHESIS
  initial begin
    if (Triggers < 2 || Triggers > 256 || (Triggers & (Triggers - 1)) != 0)
      $fatal(1, "nic_ct: Triggers must be a power of two up to 256");
  end
`endif
endmodule
