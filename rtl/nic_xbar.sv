// Crossbar of one virtual network: which input's packet goes to which output. The inputs that want an output take
// turns; who has begun a message there keeps it until the message's end, so messages are not mixed. When
// nothing of it comes for Patience cycles its end was lost on the way, and the others go on.
module nic_xbar #(
  parameter int unsigned Radix = 4,
  parameter int unsigned Patience = 1024,
  localparam int unsigned Pb = $clog2(Radix)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // heads of the inputs' queues
  input  logic [Radix-1:0]      valid_i,
  input  logic [Radix*Pb-1:0]   port_i,    // where each has to go
  input  logic [Radix-1:0]      eop_i,
  output logic [Radix-1:0]      pop_o,
  // outputs
  output logic [Radix-1:0]      valid_o,
  output logic [Radix*Pb-1:0]   from_o,    // whose head each gets
  input  logic [Radix-1:0]      ready_i
`ifdef FORMAL
  , output logic [Radix-1:0]    f_held_o, f_lapse_o
  , output logic [Radix*Radix-1:0] f_own_o, f_hold_o   // whose message; the arbiter's grant that stays
`endif
);
  logic [Radix-1:0] taken [Radix];   // by output: one bit per input
  for (genvar o = 0; o < Radix; o++) begin : g_out
    logic [Radix-1:0] want, own_q, req, grant;
    logic held_q, any;
    logic [$clog2(Patience)-1:0] idle_q;
    for (genvar i = 0; i < Radix; i++) begin : g_in
      assign want[i] = valid_i[i] && port_i[i * Pb +: Pb] == Pb'(o);
    end
    assign req = held_q ? (want & own_q) : want;
    nic_arbiter #(.N(Radix)) u_arb (
      .clk_i, .rst_ni, .req_i(req), .ack_i(ready_i[o]), .grant_o(grant), .valid_o(any), .index_o(from_o[Pb * o +: Pb])
`ifdef FORMAL
      , .f_hold_o(f_hold_o[Radix * o +: Radix])
`endif
    );
    assign valid_o[o] = any;
    assign taken[o]   = ready_i[o] ? grant : '0;
    logic ends, lapse;
    assign ends  = (taken[o] & eop_i) != '0;
    assign lapse = held_q && req == '0 && idle_q == $clog2(Patience)'(Patience - 1);
`ifdef FORMAL
    assign f_held_o[o]  = held_q;
    assign f_lapse_o[o] = lapse;
    assign f_own_o[Radix * o +: Radix] = own_q;
`endif
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        held_q <= 1'b0;
        own_q  <= '0;
        idle_q <= '0;
      end else begin
        idle_q <= (held_q && req == '0) ? idle_q + 1'b1 : '0;
        if (taken[o] != '0) begin
          held_q <= !ends;
          own_q  <= taken[o];
        end else if (lapse) begin
          held_q <= 1'b0;
        end
      end
    end
  end
  always_comb begin
    pop_o = '0;
    for (int unsigned o = 0; o < Radix; o++) pop_o = pop_o | taken[o];
  end
endmodule
