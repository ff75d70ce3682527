// First-in first-out queue from one clock to another, of any ratio and phase. Each side counts in Gray code, of which
// one bit changes at a time: two flip-flops of the other side show its old value or its new one, never another. A side
// learns late what the other did, so that it sees at most what is there, and at most the room that there is. The
// memory's output is a register, as block RAM has it. Depth is a power of two. Both resets begin together; each
// ends with its own clock (nic_reset_sync).
module nic_cross #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 16,
  localparam int unsigned Bits = $clog2(Depth)
) (
  input  logic             wr_clk_i,
  input  logic             wr_rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic [Bits:0]    room_o,    // at least so many more are taken
  input  logic             rd_clk_i,
  input  logic             rd_rst_ni,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o,
  output logic             more_o     // behind the one that is shown there is another
);
  function automatic logic [Bits:0] gray(input logic [Bits:0] n);
    gray = n ^ (n >> 1);
  endfunction
  function automatic logic [Bits:0] number(input logic [Bits:0] code);
    number = code;
    for (int unsigned i = 1; i <= Bits; i++) number = number ^ (code >> i);
  endfunction
  logic [Width-1:0] mem [Depth];
  logic [Bits:0] wr_q, rd_q;             // rd_q: of the next that is read, behind what is shown
  logic [Bits:0] wr_gray_q, rd_gray_q;   // registers, so that nothing glitches on the way
  logic [Bits:0] wr_sync_q [2], rd_sync_q [2];   // what the other side sees: first and second flip-flop
  logic [Bits:0] wr_next, rd_next, here;
  logic push, fetch, valid_q;
  logic [Width-1:0] head_q;

  // ---- writing -------------------------------------------------------------------------------------------
  assign room_o  = (Bits + 1)'(Depth) - (wr_q - number(rd_sync_q[1]));
  assign ready_o = room_o != '0;
  assign push    = valid_i && ready_o;
  assign wr_next = wr_q + (Bits + 1)'(push);
  always_ff @(posedge wr_clk_i or negedge wr_rst_ni) begin
    if (!wr_rst_ni) begin
      wr_q      <= '0;
      wr_gray_q <= '0;
      rd_sync_q[0] <= '0;
      rd_sync_q[1] <= '0;
    end else begin
      wr_q      <= wr_next;
      wr_gray_q <= gray(wr_next);
      rd_sync_q[0] <= rd_gray_q;
      rd_sync_q[1] <= rd_sync_q[0];
    end
  end
  always_ff @(posedge wr_clk_i) if (push) mem[wr_q[Bits-1:0]] <= data_i;

  // ---- reading -------------------------------------------------------------------------------------------
  assign here    = number(wr_sync_q[1]) - rd_q;
  assign fetch   = here != '0 && (!valid_q || ready_i);
  assign rd_next = rd_q + (Bits + 1)'(fetch);
  assign valid_o = valid_q;
  assign data_o  = head_q;
  assign more_o  = here != '0;
  always_ff @(posedge rd_clk_i or negedge rd_rst_ni) begin
    if (!rd_rst_ni) begin
      rd_q      <= '0;
      rd_gray_q <= '0;
      valid_q   <= 1'b0;
      wr_sync_q[0] <= '0;
      wr_sync_q[1] <= '0;
    end else begin
      rd_q      <= rd_next;
      rd_gray_q <= gray(rd_next);
      if (fetch || ready_i) valid_q <= fetch;
      wr_sync_q[0] <= wr_gray_q;
      wr_sync_q[1] <= wr_sync_q[0];
    end
  end
  always_ff @(posedge rd_clk_i) if (fetch) head_q <= mem[rd_q[Bits-1:0]];
`ifdef FORMAL
  // Both clocks are free. Counters seen from afar lie between what they were and what they are, and one element of free
  // choice stays in the memory as it was written until it is read.
  (* gclk *) logic f_step;
  (* anyconst *) logic [Bits:0] f_at;
  logic [Width-1:0] f_data;
  logic f_started = 1'b0;
  logic [Bits:0] f_base, f_was_wr, f_was_rd, f_new_wr, f_new_rd;
  assign f_new_wr = wr_gray_q ^ f_was_wr;
  assign f_new_rd = rd_gray_q ^ f_was_rd;
  assign f_base = number(rd_sync_q[1]);
  always @(posedge wr_clk_i) if (push && wr_q == f_at) f_data <= data_i;
  always @(posedge f_step) begin
    f_started <= 1'b1;
    f_was_wr  <= wr_gray_q;
    f_was_rd  <= rd_gray_q;
    if (!f_started) assume (!wr_rst_ni && !rd_rst_ni);
    else assume (wr_rst_ni && rd_rst_ni);
    if (f_started) begin
      assert ((f_new_wr & (f_new_wr - 1'b1)) == '0 && (f_new_rd & (f_new_rd - 1'b1)) == '0);   // one bit at a time
      assert (wr_gray_q == gray(wr_q) && rd_gray_q == gray(rd_q));
      assert (number(rd_sync_q[0]) - f_base <= rd_q - f_base);
      assert (rd_q - f_base <= number(wr_sync_q[1]) - f_base);
      assert (number(wr_sync_q[1]) - f_base <= number(wr_sync_q[0]) - f_base);
      assert (number(wr_sync_q[0]) - f_base <= wr_q - f_base);
      assert (wr_q - f_base <= (Bits + 1)'(Depth));
      if (f_at - rd_q < wr_q - rd_q) assert (mem[f_at[Bits-1:0]] == f_data);
    end
  end
`endif
`ifndef SYNTHESIS
  initial begin
    if (Depth < 4 || (Depth & (Depth - 1)) != 0) $fatal(1, "nic_cross: Depth must be a power of two from 4 on");
  end
`endif
endmodule
