// What is left to do for the messages of one class when their payload is on its way to the host: in the order
// of their arrival, wait until it is there, tell the host, keep the result for duplicates and hand it
// to the transmitter. So the target looks at the next message while the host still answers.
module nic_rx_done import nic_pkg::*; #(
  parameter int unsigned Depth = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,
  output logic         ready_o,
  input  done_t        data_i,
  output logic         quiet_o,      // nothing is left to do
  // one pulse per range that is in host memory
  input  logic         wr_done_i,
  input  logic         wr_err_i,
  output logic         ev_valid_o,
  input  logic         ev_ready_i,
  output ev_t          ev_o,
  output logic         rsp_valid_o,
  input  logic         rsp_ready_i,
  output rsp_t         rsp_o,
  output logic         rsp_ev_o,     // its event comes when its data have been read
  output ev_t          rsp_ev_data_o,
  // the message is over: its entry may be unlinked, its response is kept
  output logic         over_o,
  output logic         matched_o,
  output logic [15:0]  me_o,
  output logic         keep_o,
  output logic         host_err_o
);
  logic valid, res_ready, res_valid, res_err, there, failed, tell, told_q, answer, over;
  done_t head;
  logic [$clog2(Depth):0] unused_count;
  logic [$clog2(Depth)+1:0] unused_results;
  nic_fifo #(.Width($bits(head)), .Depth(Depth)) u_wait (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .valid_o(valid), .ready_i(over), .data_o(head),
    .count_o(unused_count)
  );
  nic_fifo #(.Width(1), .Depth(2 * Depth)) u_results (   // of messages that wait, and of those not yet here
    .clk_i, .rst_ni, .valid_i(wr_done_i), .ready_o(res_ready), .data_i(wr_err_i), .valid_o(res_valid),
    .ready_i(over && head.writes), .data_o(res_err), .count_o(unused_results)
  );
  assign quiet_o = !valid;
  assign there   = valid && (!head.writes || res_valid);
  assign failed  = head.writes && res_err;
  assign tell    = head.want_ev && !head.ev_later && !told_q;
  assign answer  = head.answer;
  always_comb begin
    ev_o = head.ev;
    if (failed) ev_o.status = StHostError;
    rsp_o = head.rsp;
    if (failed) rsp_o.status = StHostError;
  end
  assign ev_valid_o    = there && tell;
  assign rsp_valid_o   = there && !tell && answer;
  assign rsp_ev_o      = head.want_ev && head.ev_later;
  assign rsp_ev_data_o = head.ev;
  assign over          = there && !tell && (!answer || rsp_ready_i);
  assign over_o        = over && !head.nothing;
  assign matched_o     = head.matched;
  assign me_o          = head.me;
  assign keep_o        = over && answer;
  assign host_err_o    = over && failed;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) told_q <= 1'b0;
    else if (over) told_q <= 1'b0;
    else if (ev_valid_o && ev_ready_i) told_q <= 1'b1;
  end
  logic unused;
  assign unused = ^{res_ready, unused_count, unused_results};
endmodule
