// List-matching engine: per portal table index a priority and an overflow list, each in the order of
// appending. One entry is compared per cycle. The host names the entry (its number) when it appends
// or unlinks. An entry counts the messages that still use its buffer; while there are any, an unlink
// is refused.
module nic_lme import nic_pkg::*; #(
  parameter int unsigned Entries = 32,
  localparam int unsigned Eb = $clog2(Entries)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  // host
  input  logic [15:0]        pt_enable_i,
  output logic [15:0]        pt_disable_o,   // pulse: disabled itself after a message without entry
  input  logic [15:0]        pt_auto_i,      // which do so
  input  logic               append_i,
  input  logic               unlink_i,
  input  logic [7:0]         index_i,
  input  me_t                entry_i,
  output logic               busy_o,         // no append or unlink is taken now
  output logic [Entries-1:0] valid_o,
  output logic [Entries-1:0] in_use_o,
  output logic               bad_o,          // append on a used entry, unlink of an unused or busy one
  // messages
  input  logic               req_valid_i,
  output logic               req_ready_o,
  input  lme_req_t           req_i,
  output logic               res_valid_o,
  output lme_res_t           res_o,
  input  logic [1:0]         done_i,         // a message that matched has ended, per class
  input  logic [7:0]         done_me0_i,
  input  logic [7:0]         done_me1_i
);
  typedef enum logic [2:0] {Idle, Search, Take, Answer, Find, Cut} state_t;

  logic [MeBits-1:0] me_q [Entries];
  logic [63:0] local_q [Entries];   // next locally managed offset
  logic [7:0] use_q [Entries];
  logic [Eb-1:0] next_q [Entries];
  logic [Entries-1:0] valid_q, last_q;   // last_q: end of its list
  logic [Eb-1:0] head_q [32], tail_q [32];
  logic [31:0] some_q;                   // list is not empty; index {overflow, pt}

  state_t state_q;
  lme_req_t req_q;
  lme_res_t res_q;
  logic [4:0] list_q;
  logic [Eb-1:0] cur_q, prev_q, want_q;
  logic first_q, found_q;   // prev_q is not valid; cut after a match, not for the host

  logic op_q, op_unlink_q;  // a host command waits
  me_t op_me_q;
  logic [7:0] op_index_q;

  // ---- comparing the current entry ----------------------------------------------------------------
  me_t me;
  logic [63:0] at, room;
  logic hit, put_like, get_like;
  logic [31:0] mlength;
  assign me       = me_q[cur_q];
  assign at       = me.manage_local ? local_q[cur_q] : req_q.offset;
  assign room     = (at < {32'd0, me.length}) ? {32'd0, me.length} - at : 64'd0;
  assign mlength  = ({32'd0, req_q.length} < room) ? req_q.length : room[31:0];
  assign hit      = ((me.match ^ req_q.match) & ~me.ignore_bits) == '0 &&
                    (me.src_any || me.src == req_q.src) &&
                    !(me.no_truncate && {32'd0, req_q.length} > room);
  assign put_like = req_q.kind != KindGet;
  assign get_like = req_q.kind == KindGet || req_q.kind == KindFetch;

  logic allowed, leaves;
  logic [63:0] rest;
  assign allowed = (!put_like || me.op_put) && (!get_like || me.op_get);
  assign rest    = room - {32'd0, mlength};
  assign leaves  = me.use_once || (me.manage_local && rest < {32'd0, me.min_free});

  assign busy_o      = op_q || state_q == Find || (state_q == Cut && !found_q);
  assign req_ready_o = state_q == Idle && !op_q;
  assign res_valid_o = state_q == Answer;
  assign res_o       = res_q;
  assign valid_o     = valid_q;
  always_comb begin
    for (int unsigned i = 0; i < Entries; i++) in_use_o[i] = use_q[i] != '0;
  end

  logic op_fits, op_free;
  logic [Eb-1:0] op_at;
  logic [4:0] op_list;
  me_t op_old;
  assign op_old  = me_q[op_at];
  assign op_at   = op_index_q[Eb-1:0];
  assign op_fits = op_index_q < 8'(Entries);
  assign op_free = !valid_q[op_at] && use_q[op_at] == '0;
  assign op_list = op_unlink_q ? {op_old.overflow, op_old.pt}
                               : {op_me_q.overflow, op_me_q.pt};
  logic op_go, op_bad;
  assign op_go  = state_q == Idle && op_q;
  assign op_bad = !op_fits || (op_unlink_q ? (!valid_q[op_at] || use_q[op_at] != '0) : !op_free);
  assign bad_o  = (op_go && op_bad) || ((append_i || unlink_i) && op_q);

  always_comb begin
    pt_disable_o = '0;
    if (state_q == Search && !some_q[list_q] && list_q[4] && pt_auto_i[req_q.pt[3:0]])
      pt_disable_o[req_q.pt[3:0]] = 1'b1;
    if (state_q == Search && some_q[list_q] && !hit && last_q[cur_q] && list_q[4] &&
        pt_auto_i[req_q.pt[3:0]])
      pt_disable_o[req_q.pt[3:0]] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      valid_q <= '0;
      last_q  <= '0;
      some_q  <= '0;
      op_q    <= 1'b0;
      op_unlink_q <= 1'b0;
      op_index_q  <= '0;
      list_q  <= '0;
      cur_q   <= '0;
      prev_q  <= '0;
      want_q  <= '0;
      first_q <= 1'b0;
      found_q <= 1'b0;
      res_q   <= '0;
    end else begin
      if ((append_i || unlink_i) && !op_q) begin
        op_q        <= 1'b1;
        op_unlink_q <= unlink_i;
        op_index_q  <= index_i;
      end
      unique case (state_q)
        Idle: begin
          first_q <= 1'b1;
          found_q <= 1'b0;
          if (op_q) begin
            op_q <= 1'b0;
            list_q <= op_list;
            if (!op_bad && op_unlink_q) begin
              cur_q   <= head_q[op_list];
              want_q  <= op_at;
              state_q <= Find;
            end else if (!op_bad) begin
              valid_q[op_at]  <= 1'b1;
              last_q[op_at]   <= 1'b1;
              some_q[op_list] <= 1'b1;
              if (some_q[op_list]) last_q[tail_q[op_list]] <= 1'b0;
            end
          end else if (req_valid_i) begin
            list_q  <= {1'b0, req_i.pt[3:0]};
            cur_q   <= head_q[{1'b0, req_i.pt[3:0]}];
            res_q   <= '0;
            if (req_i.pt > 8'd15) begin
              res_q.status <= StBadIndex;
              state_q      <= Answer;
            end else if (!pt_enable_i[req_i.pt[3:0]]) begin
              res_q.status <= StPtDisabled;
              state_q      <= Answer;
            end else begin
              state_q <= Search;
            end
          end
        end
        Search: begin
          if (some_q[list_q] && hit) begin
            state_q <= Take;
          end else if (some_q[list_q] && !last_q[cur_q]) begin
            prev_q  <= cur_q;
            cur_q   <= next_q[cur_q];
            first_q <= 1'b0;
          end else if (!list_q[4]) begin   // then the overflow list
            list_q[4] <= 1'b1;
            cur_q     <= head_q[{1'b1, list_q[3:0]}];
            first_q   <= 1'b1;
          end else begin
            res_q.status <= StNoMatch;
            state_q      <= Answer;
          end
        end
        Take: begin
          res_q.status <= allowed ? StOk : StOperation;
          if (allowed) begin
            res_q.matched  <= 1'b1;
            res_q.me       <= 8'(cur_q);
            res_q.start    <= me.start + at;
            res_q.mlength  <= mlength;
            res_q.offset   <= at;
            res_q.unlinked <= leaves;
            res_q.overflow <= list_q[4];
            res_q.ev_en    <= !me.comm_disable;
            res_q.eq       <= me.eq;
            res_q.ct_en    <= me.ct_en;
            res_q.ct_bytes <= me.ct_bytes;
            res_q.ct       <= me.ct;
            res_q.user     <= me.user;
          end
          found_q <= 1'b1;
          state_q <= (allowed && leaves) ? Cut : Answer;
        end
        Find: begin
          if (cur_q == want_q) begin
            state_q <= Cut;
          end else begin
            prev_q  <= cur_q;
            cur_q   <= next_q[cur_q];
            first_q <= 1'b0;
          end
        end
        Cut: begin
          valid_q[cur_q] <= 1'b0;
          if (first_q && last_q[cur_q]) some_q[list_q] <= 1'b0;
          else if (last_q[cur_q]) last_q[prev_q] <= 1'b1;
          state_q <= found_q ? Answer : Idle;
        end
        default: state_q <= Idle;   // Answer
      endcase
    end
  end

  // Tables without reset: read only where valid_q or some_q say so
  always_ff @(posedge clk_i) begin
    if ((append_i || unlink_i) && !op_q) op_me_q <= entry_i;
    if (state_q == Idle && !op_q && req_valid_i) req_q <= req_i;
    if (op_go && !op_bad && !op_unlink_q) begin
      me_q[op_at]     <= op_me_q;
      local_q[op_at]  <= '0;
      tail_q[op_list] <= op_at;
      if (some_q[op_list]) next_q[tail_q[op_list]] <= op_at;
      else head_q[op_list] <= op_at;
    end
    if (state_q == Take && allowed && me.manage_local) local_q[cur_q] <= at + {32'd0, mlength};
    if (state_q == Cut) begin
      if (first_q) head_q[list_q] <= next_q[cur_q];
      else next_q[prev_q] <= next_q[cur_q];
      if (last_q[cur_q] && !first_q) tail_q[list_q] <= prev_q;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Entries; i++) use_q[i] <= '0;
    end else begin
      for (int unsigned i = 0; i < Entries; i++)
        use_q[i] <= use_q[i] + 8'(state_q == Take && allowed && cur_q == Eb'(i))
                    - 8'(done_i[0] && done_me0_i == 8'(i)) - 8'(done_i[1] && done_me1_i == 8'(i));
    end
  end
  logic unused;
  assign unused = ^{req_q.pt[7:4], me.rsvd, me.rsvd0, me.overflow, me.pt, me.user,
                    rest, op_old};
endmodule
