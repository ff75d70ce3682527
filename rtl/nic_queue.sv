// First-in first-out queue in block RAM: the oldest element is read into the memory's own output register,
// so that it is visible while valid_o, one cycle later than in nic_fifo. Depth is a power of two.
module nic_queue #(
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
  logic [Width-1:0] head_q;
  logic [Bits:0] wr_q, rd_q;   // rd_q: of the next element to be read, behind head_q
  logic valid_q, fetch, push;

  assign count_o = wr_q - rd_q + (Bits + 1)'(valid_q);
  assign ready_o = count_o != (Bits + 1)'(Depth);
  assign valid_o = valid_q;
  assign data_o  = head_q;
  assign push    = valid_i && ready_o;
  assign fetch   = wr_q != rd_q && (!valid_q || ready_i);

  always_ff @(posedge clk_i) begin
    if (push) mem[wr_q[Bits-1:0]] <= data_i;
    if (fetch) head_q <= mem[rd_q[Bits-1:0]];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wr_q    <= '0;
      rd_q    <= '0;
      valid_q <= 1'b0;
    end else begin
      if (push) wr_q <= wr_q + 1'b1;
      if (fetch) rd_q <= rd_q + 1'b1;
      if (fetch || ready_i) valid_q <= fetch;
    end
  end

`ifdef FORMAL
  // One element of free choice is followed from its way in to its way out
  (* anyconst *) logic [Bits:0] f_at;
  logic [Width-1:0] f_data;
  logic f_live, f_started;
  logic [Bits:0] f_age, f_head;
  assign f_head = rd_q - (Bits + 1)'(valid_q);   // the number of the oldest element
  assign f_age  = f_at - f_head;
  initial f_started = 1'b0;
  initial f_live = 1'b0;
  always @(posedge clk_i) begin
    f_started <= 1'b1;
    if (!f_started) assume (!rst_ni);
    else assume (rst_ni);
    if (!rst_ni) begin
      f_live <= 1'b0;
    end else begin
      if (push && wr_q == f_at) begin
        f_live <= 1'b1;
        f_data <= data_i;
      end else if (valid_o && ready_i && f_head == f_at) begin
        f_live <= 1'b0;
      end
      assert (wr_q - rd_q <= (Bits + 1)'(Depth) && (!valid_q || count_o != '0));
      assert (count_o <= (Bits + 1)'(Depth));
      if (f_live) assert (f_age < count_o);
      if (f_live && valid_q && f_age == '0) assert (head_q == f_data);
      if (f_live && !(valid_q && f_age == '0)) assert (mem[f_at[Bits-1:0]] == f_data);
      if (!f_live) assert (f_age >= count_o);
      cover (f_live && count_o == (Bits + 1)'(Depth));
    end
  end
`endif
`ifndef SYNTHESIS
  initial begin
    if (Depth < 2 || (Depth & (Depth - 1)) != 0) $fatal(1, "nic_queue: Depth must be a power of two");
  end
`endif
endmodule
