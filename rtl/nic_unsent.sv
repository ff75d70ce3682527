// The answers of a class that wait to be sent or are being sent, in their order: a request that is repeated meanwhile
// needs no other one. The first that was put in is the first that is sent.
module nic_unsent #(
  parameter int unsigned Width = 14,   // of what tells answers apart
  parameter int unsigned Depth = 32,   // more than can wait at once; a power of two
  localparam int unsigned Bits = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             put_i,
  input  logic [Width-1:0] put_key_i,
  input  logic             sent_i,     // the oldest one
  input  logic [Width-1:0] key_i,
  output logic             waits_o     // such a one does
);
  logic [Width-1:0] key_q [Depth];
  logic [Depth-1:0] valid_q, same;
  logic [Bits-1:0] put_q, sent_q;
  always_comb begin
    for (int unsigned i = 0; i < Depth; i++) same[i] = valid_q[i] && key_q[i] == key_i;
  end
  assign waits_o = same != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      put_q   <= '0;
      sent_q  <= '0;
    end else begin
      if (put_i) begin
        valid_q[put_q] <= 1'b1;
        put_q          <= put_q + 1'b1;
      end
      if (sent_i) begin
        valid_q[sent_q] <= 1'b0;
        sent_q          <= sent_q + 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) if (put_i) key_q[put_q] <= put_key_i;
endmodule
