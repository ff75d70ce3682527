// Link credits of one virtual network: how many packets the other side can still store. A return
// beyond the initial number is an error of the other side: it is ignored and reported.
module nic_credit #(
  parameter int unsigned Max = 64,
  localparam int unsigned Bits = $clog2(Max + 1)
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            take_i,    // only while avail_o
  input  logic            give_i,
  output logic            avail_o,
  output logic            error_o,
  output logic [Bits-1:0] count_o
);
  logic [Bits-1:0] count_q;

  assign avail_o = count_q != '0;
  assign error_o = give_i && !take_i && count_q == Bits'(Max);
  assign count_o = count_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= Bits'(Max);
    else if (take_i && avail_o && !give_i) count_q <= count_q - 1'b1;
    else if (give_i && !take_i && count_q != Bits'(Max)) count_q <= count_q + 1'b1;
  end
endmodule
