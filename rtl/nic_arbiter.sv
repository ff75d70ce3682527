// Round-robin arbiter. grant_o is one-hot and stable while ack_i is low: a grant once given stays
// until it is acknowledged, so a multi-beat transfer is never cut. No requester waits for more than
// N-1 acknowledged grants.
module nic_arbiter #(
  parameter int unsigned N = 4,
  localparam int unsigned Bits = (N > 1) ? $clog2(N) : 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [N-1:0]    req_i,
  input  logic            ack_i,    // the granted transfer ends in this cycle
  output logic [N-1:0]    grant_o,
  output logic            valid_o,
  output logic [Bits-1:0] index_o
`ifdef FORMAL
  , output logic [N-1:0] f_hold_o   // the grant that stays, 0: none
  , output logic [N-1:0] f_last_o
`endif
);
`ifdef FORMAL
  assign f_hold_o = hold_valid_q ? hold_q : '0;
  assign f_last_o = last_q;
`endif
  logic [N-1:0] last_q, hold_q, masked, pick;
  logic hold_valid_q;

  // Requests above the last winner come first, then all
  assign masked  = req_i & ~(last_q | (last_q - 1'b1));
  assign pick    = (masked != '0) ? (masked & (~masked + 1'b1)) : (req_i & (~req_i + 1'b1));
  assign grant_o = hold_valid_q ? hold_q : pick;
  assign valid_o = grant_o != '0;

  always_comb begin
    index_o = '0;
    for (int unsigned i = 0; i < N; i++) if (grant_o[i]) index_o = index_o | Bits'(i);  // there is one
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_q       <= {1'b1, {(N - 1) {1'b0}}};
      hold_q       <= '0;
      hold_valid_q <= 1'b0;
    end else if (valid_o) begin
      hold_valid_q <= !ack_i;
      hold_q       <= grant_o;
      if (ack_i) last_q <= grant_o;
    end
  end
endmodule
