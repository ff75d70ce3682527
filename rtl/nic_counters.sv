// Hardware counters, 64 bits each: eight per virtual network, then those of the NIC, then bytes of
// payload sent and received per virtual network. Reading a low half latches the high half.
module nic_counters import nic_pkg::*; (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [4*VnCounters-1:0] vn_i,   // a vn_pulse_t per virtual network
  input  pulse_t          nic0_i,     // per class
  input  pulse_t          nic1_i,
  input  logic [1:0]      msg_i,      // a message is complete: {received, sent}
  input  logic [1:0]      tx_vn_i,
  input  logic [1:0]      rx_vn_i,
  input  logic [31:0]     tx_bytes_i,
  input  logic [31:0]     rx_bytes_i,
  input  logic            reg_re_i,
  input  logic [8:0]      reg_addr_i, // 8 * counter, + 4 for the high half
  output logic [31:0]     reg_rdata_o
);
  localparam int unsigned NicBase = 4 * VnCounters;
  localparam int unsigned ByteBase = NicBase + NicCounters;
  localparam int unsigned Count = ByteBase + 8;
  logic [63:0] count_q [Count];
  logic [31:0] high_q;
  logic [5:0] index;
  logic [NicCounters-1:0] nic0, nic1;
  assign nic0 = nic0_i;
  assign nic1 = nic1_i;
  assign index = reg_addr_i[8:3];
  assign reg_rdata_o = (index >= 6'(Count)) ? '0 : reg_addr_i[2] ? high_q : count_q[index][31:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Count; i++) count_q[i] <= '0;
      high_q <= '0;
    end else begin
      if (vn_i != '0) begin
        for (int unsigned k = 0; k < 4 * VnCounters; k++)
          if (vn_i[k]) count_q[k] <= count_q[k] + 64'd1;
      end
      if ({nic1, nic0} != '0) begin
        for (int unsigned k = 0; k < NicCounters; k++)
          count_q[NicBase + k] <= count_q[NicBase + k] + 64'(nic0[k]) + 64'(nic1[k]);
      end
      if (msg_i[0]) count_q[ByteBase + 32'(tx_vn_i)] <= count_q[ByteBase + 32'(tx_vn_i)] + 64'(tx_bytes_i);
      if (msg_i[1])
        count_q[ByteBase + 4 + 32'(rx_vn_i)] <= count_q[ByteBase + 4 + 32'(rx_vn_i)] + 64'(rx_bytes_i);
      if (reg_re_i && !reg_addr_i[2] && index < 6'(Count)) high_q <= count_q[index][63:32];
    end
  end
  logic unused;
  assign unused = ^reg_addr_i[1:0];
endmodule
