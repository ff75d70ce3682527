// A queue whose contents the proof itself says; what is at its end stays there until it is taken
module nic_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,
  localparam int unsigned Bits = $clog2(Depth)
) (
  input  logic clk_i, rst_ni, valid_i, ready_i,
  input  logic [Width-1:0] data_i,
  output logic ready_o, valid_o,
  output logic [Width-1:0] data_o,
  output logic [Bits:0] count_o
);
  (* anyseq *) logic ready, valid;
  (* anyseq *) logic [Width-1:0] data;
  (* anyseq *) logic [Bits:0] count;
  logic stays = 1'b0;
  logic [Width-1:0] was;
  assign ready_o = ready;
  assign valid_o = valid;
  assign data_o  = data;
  assign count_o = count;
  always_comb if (stays) assume (valid && data == was);
  always @(posedge clk_i) begin
    stays <= rst_ni && valid && !ready_i;
    was   <= data;
  end
endmodule
module nic_queue #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4
) (
  input  logic clk_i, rst_ni, valid_i, ready_i,
  input  logic [Width-1:0] data_i,
  output logic ready_o, valid_o,
  output logic [Width-1:0] data_o,
  output logic [$clog2(Depth):0] count_o
);
  nic_fifo #(.Width(Width), .Depth(Depth)) u_any (.*);
endmodule
