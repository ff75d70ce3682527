// List operations that wait: appends, unlinks and searches in the order in which the host wrote them, one after the other
// to the matching engine, which may be in the middle of a long search. An event says, if asked for, that one is
// done (or was refused), so that a host need not read registers to keep at most Depth of them under way.
module nic_lops import nic_pkg::*; #(
  parameter int unsigned Depth = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // host
  input  logic        append_i,
  input  logic        unlink_i,
  input  logic        search_i,
  input  logic        force_i,     // of a search: it deletes
  input  logic        tell_i,
  input  logic [1:0]  eq_i,
  input  logic [15:0] index_i,
  input  me_t         entry_i,
  output logic        busy_o,      // some wait, are at work or are still to be told
  output logic        full_o,      // pulse: one was refused for want of room
  // matching engine
  output logic        append_o,
  output logic        unlink_o,
  output logic        search_o,
  output logic        force_o,
  output logic        tell_o,
  output logic [1:0]  eq_o,
  output logic [15:0] index_o,
  output me_t         entry_o,
  input  logic        lme_busy_i,
  input  logic        lme_bad_i,
  input  logic        lme_used_up_i,   // what was appended is not in the list: AUTO_UNLINK instead of LINK
  input  logic        lme_later_i,     // which somebody else tells
  // event
  output logic        ev_valid_o,
  input  logic        ev_ready_i,
  output logic [EvBits-1:0] ev_o
);
  localparam int unsigned Width = MeBits + 22;
  typedef enum logic [1:0] {Idle, Work, Tell} state_t;
  state_t state_q;
  logic bad_q, room, some, pop, give, is_unlink, is_search, tell, tells;
  logic [1:0] eq;
  logic [$clog2(Depth+1)-1:0] unused_count;
  me_t entry;
  ev_t ev;

  nic_fifo #(.Width(Width), .Depth(Depth)) u_waiting (
    .clk_i, .rst_ni, .valid_i(give), .ready_o(room),
    .data_i({search_i, unlink_i, force_i, tell_i, eq_i, index_i, entry_i}), .valid_o(some), .ready_i(pop),
    .data_o({is_search, is_unlink, force_o, tell, eq, index_o, entry}), .count_o(unused_count)
  );
  assign give       = append_i || unlink_i || search_i;
  assign tells      = tell && !lme_later_i;   // an append that has claimed a header is told with that
  assign tell_o     = tell;
  assign eq_o       = eq;
  assign full_o     = give && !room;
  assign busy_o     = some || state_q != Idle;
  assign append_o   = state_q == Idle && some && !is_unlink && !is_search;
  assign unlink_o   = state_q == Idle && some && is_unlink;
  assign search_o   = state_q == Idle && some && is_search;
  assign entry_o    = entry;
  assign ev_valid_o = state_q == Tell;
  assign pop        = (state_q == Work && !lme_busy_i && !tells) || (state_q == Tell && ev_ready_i);
  always_comb begin
    ev        = '0;
    ev.eq_en  = 1'b1;
    ev.eq     = eq;
    ev.etype  = is_unlink ? EvUnlink : lme_used_up_i ? EvAutoUnlink : EvLink;
    ev.status = bad_q ? StOperation : StOk;
    ev.slot   = index_o;
    ev.pt     = is_unlink ? '0 : {entry.ctx, entry.pt};
    ev.user   = is_unlink ? '0 : entry.user;
  end
  assign ev_o = ev;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      bad_q   <= 1'b0;
    end else begin
      unique case (state_q)
        Idle: begin
          bad_q <= 1'b0;
          if (some) state_q <= Work;
        end
        Work: begin
          bad_q <= bad_q || lme_bad_i;
          if (!lme_busy_i) state_q <= tells ? Tell : Idle;
        end
        default: if (ev_ready_i) state_q <= Idle;   // Tell
      endcase
    end
  end
  logic unused;
  assign unused = ^unused_count;
endmodule
