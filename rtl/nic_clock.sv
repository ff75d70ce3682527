// Free-running clock: 64 bits in units of 2^-19 ns. Each cycle adds an increment with a 32-bit fraction of
// that unit, so that any period is exact to 2^-51 ns. A signed one-shot adjustment moves the clock
// once. Reading the low half latches the high half; a low half that is written waits for its high half, so
// that the clock is never set to half of a time. Unit, offsets and latch of the two halves are those of the
// Intel 82576, so that one routine reads both; the increment counts this NIC's own cycles, and the stamps
// have registers of their own.
module nic_clock #(
  parameter logic [23:0] Increment = 24'd1509949,      // 2.88 ns = 1,509,949.44 units
  parameter logic [31:0] Fraction  = 32'd1889785610    // 0.44 * 2^32
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        inc_we_i,      // set increment and fraction
  input  logic [23:0] inc_i,
  input  logic [31:0] frac_i,
  input  logic        set_lo_we_i,   // kept until
  input  logic        set_hi_we_i,   // both halves are set at once
  input  logic [31:0] set_i,
  input  logic        adjust_i,      // add the signed adjustment in this cycle
  input  logic [63:0] adjust_val_i,
  input  logic        latch_i,       // the low half is being read
  output logic [63:0] time_o,
  output logic [31:0] latched_hi_o,
  output logic [23:0] inc_o,
  output logic [31:0] frac_o
);
  logic [63:0] time_q;
  logic [31:0] rest_q, hi_q, frac_q, set_lo_q;
  logic [23:0] inc_q;
  logic [95:0] sum;

  assign sum = {time_q, rest_q} + {40'd0, inc_q, frac_q} + (adjust_i ? {adjust_val_i, 32'd0} : 96'd0);
  assign time_o       = time_q;
  assign latched_hi_o = hi_q;
  assign inc_o        = inc_q;
  assign frac_o       = frac_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      time_q <= '0;
      rest_q <= '0;
      hi_q   <= '0;
      inc_q  <= Increment;
      frac_q <= Fraction;
      set_lo_q <= '0;
    end else begin
      {time_q, rest_q} <= sum;
      if (set_lo_we_i) set_lo_q <= set_i;
      if (set_hi_we_i) {time_q, rest_q} <= {set_i, set_lo_q, 32'd0};
      if (latch_i) hi_q <= time_q[63:32];
      if (inc_we_i) begin
        inc_q  <= inc_i;
        frac_q <= frac_i;
      end
    end
  end
endmodule
