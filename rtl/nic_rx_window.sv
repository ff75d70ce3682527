// Receiver's side of the end-to-end reliability: one expected sequence number per peer. A message is
// accepted when it is the expected one, so each is delivered once and in order; older ones are
// duplicates, later ones wait for the sender's timeout. When the sender's base is beyond the expected
// number it has given messages up, and the receiver follows: numbers are long enough to tell how many, though packets carry
// their last 8 bits only. The base comes whole.
module nic_rx_window #(
  parameter int unsigned PeerCount = 64,
  parameter int unsigned Bits = 16,
  localparam int unsigned Pb = $clog2(PeerCount)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          clear_i,
  input  logic [Pb-1:0] clear_peer_i,
  input  logic [Pb-1:0] peer_i,
  input  logic [7:0]    seq_i,
  input  logic [Bits-1:0] base_i,
  output logic          accept_o,
  output logic          duplicate_o,
  output logic          future_o,
  output logic          skipped_o,     // the sender gave up what was expected
  input  logic          follow_i,      // take the sender's base over
  input  logic          deliver_i      // seq_i is delivered; only while accept_o
`ifdef FORMAL
  , output logic [Bits-1:0] f_expect_o     // of peer 0
`endif
);
`ifdef FORMAL
  assign f_expect_o = expect_q[0];
`endif
  logic [Bits-1:0] expect_q [PeerCount];
  logic [Bits-1:0] now, ahead, from, seq, at;
  logic [7:0] behind;   // the base

  assign behind    = seq_i - base_i[7:0];
  assign seq       = base_i + Bits'(behind);
  assign now       = expect_q[peer_i];
  assign ahead     = base_i - now;
  assign skipped_o = ahead != '0 && !ahead[Bits-1];
  assign from      = skipped_o ? base_i : now;
  assign at        = seq - from;
  assign accept_o    = at == '0;
  assign duplicate_o = at[Bits-1];
  assign future_o    = !accept_o && !duplicate_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < PeerCount; p++) expect_q[p] <= '0;
    end else begin
      if (deliver_i && accept_o) expect_q[peer_i] <= seq + 1'b1;
      else if (follow_i && skipped_o) expect_q[peer_i] <= base_i;
      if (clear_i) expect_q[clear_peer_i] <= '0;
    end
  end
endmodule
