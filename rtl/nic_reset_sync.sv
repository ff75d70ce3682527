// Reset of one clock domain: begins at once, whatever the clock does, and ends with the domain's second edge after the
// end of rst_ni, so that all its flip-flops leave reset in one cycle.
module nic_reset_sync (
  input  logic clk_i,
  input  logic rst_ni,
  output logic rst_no
);
  logic [1:0] up_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) up_q <= '0;
    else up_q <= {up_q[0], 1'b1};
  end
  assign rst_no = up_q[1];
endmodule
