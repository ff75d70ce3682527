// First-in first-out queue; the oldest element is visible while valid_o. Depth is a power of two.
module nic_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,
  localparam int unsigned Bits = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o,
  output logic [Bits:0]    count_o
);
  logic [Width-1:0] mem [Depth];
  logic [Bits:0] wr_q, rd_q;

  assign count_o = wr_q - rd_q;
  assign ready_o = count_o != (Bits + 1)'(Depth);
  assign valid_o = count_o != '0;
  assign data_o  = mem[rd_q[Bits-1:0]];

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) mem[wr_q[Bits-1:0]] <= data_i;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
    end else begin
      if (valid_i && ready_o) wr_q <= wr_q + 1'b1;
      if (valid_o && ready_i) rd_q <= rd_q + 1'b1;
    end
  end

`ifdef FORMAL
  // One element of free choice is followed from its way in to its way out
  (* anyconst *) logic [Bits:0] f_at;
  logic [Width-1:0] f_data;
  logic f_live, f_started;
  logic [Bits:0] f_age;
  assign f_age = f_at - rd_q;
  initial f_started = 1'b0;
  initial f_live = 1'b0;
  always @(posedge clk_i) begin
    f_started <= 1'b1;
    if (!f_started) assume (!rst_ni);
    else assume (rst_ni);
    if (!rst_ni) begin
      f_live <= 1'b0;
    end else begin
      if (valid_i && ready_o && wr_q == f_at) begin
        f_live <= 1'b1;
        f_data <= data_i;
      end else if (valid_o && ready_i && rd_q == f_at) begin
        f_live <= 1'b0;
      end
      assert (count_o <= (Bits + 1)'(Depth));
      if (f_live) assert (f_age < count_o && mem[f_at[Bits-1:0]] == f_data);
      if (f_live && valid_o && rd_q == f_at) assert (data_o == f_data);
      if (!f_live) assert (f_age >= count_o);
      cover (f_live && count_o == (Bits + 1)'(Depth));
    end
  end
`endif
`ifndef SYNTHESIS
  initial begin
    if (Depth < 2 || (Depth & (Depth - 1)) != 0) $fatal(1, "nic_fifo: Depth must be a power of two");
  end
`endif
endmodule
