// The credit loop of one virtual network: transmitter, packets on the wire, receiver's queue, credits on
// their way back; all delays are free. Proved: the queue is never offered a packet that it has no room
// for, no credit is lost or made, and a return is never refused.
module credit (
  input logic clk, want, arrive, broken, take_out, back   // free
);
  localparam int unsigned Max = 4;
  logic started = 1'b0, rst_n;
  assign rst_n = started;
  logic [3:0] wire_count = 4'd0, back_count = 4'd0;
  logic avail, error, ready, valid, take, land, leave, give;
  logic [2:0] credits;
  logic [2:0] stored;
  logic unused_data;
  assign take  = want && avail && started;
  assign land  = arrive && wire_count != 4'd0 && started;      // good or broken
  assign leave = take_out && valid && started;
  assign give  = back && back_count != 4'd0 && started;
  nic_credit #(.Max(Max)) u_credit (
    .clk_i(clk), .rst_ni(rst_n), .take_i(take), .give_i(give), .avail_o(avail), .error_o(error),
    .count_o(credits)
  );
  nic_fifo #(.Width(1), .Depth(Max)) u_fifo (
    .clk_i(clk), .rst_ni(rst_n), .valid_i(land && !broken), .ready_o(ready), .data_i(1'b0),
    .valid_o(valid), .ready_i(leave), .data_o(unused_data), .count_o(stored)
  );
  always @(posedge clk) begin
    started    <= 1'b1;
    wire_count <= wire_count + {3'd0, take} - {3'd0, land};
    back_count <= back_count + {3'd0, leave} + {3'd0, land && broken} - {3'd0, give};
    if (started) begin
      assert ({1'b0, credits} + wire_count + {1'b0, stored} + back_count == 4'(Max));
      assert (wire_count <= 4'(Max) && back_count <= 4'(Max) && stored <= 3'(Max) && credits <= 3'(Max));
      if (land && !broken) assert (ready);
      assert (!error);
    end
  end
endmodule
