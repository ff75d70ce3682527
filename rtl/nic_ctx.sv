// Contexts: a context is one interface of one process that uses this NIC. It has a process number, a kind of
// interface and a user number, which the NIC (not the process) puts into what is sent, and a portal
// table of its own. A message for a process and kind that no context has is refused.
module nic_ctx import nic_pkg::*; (
  input  logic                clk_i,
  input  logic                rst_ni,
  // registers: 16 bytes per context; and the old place of those of context 0
  input  logic                reg_we_i,
  input  logic                old_enable_we_i,
  input  logic                old_auto_we_i,
  input  logic [7:0]          reg_addr_i,
  input  logic [31:0]         reg_wdata_i,
  output logic [31:0]         reg_rdata_o,
  output logic [Contexts*CtxBits-1:0] ctx_o,
  output logic [Lists-1:0]    pt_enable_o,      // index {context, portal index}
  output logic [Lists-1:0]    pt_mute_o,        // whose messages count nothing: the host does
  output logic [Lists-1:0]    pt_auto_o,        // those that disable themselves after a message without entry
  input  logic                pt_disable_i,
  input  logic [ListBits-1:0] pt_disable_at_i
);
  logic [CtxBits-1:0] ctx_q [Contexts];
  logic [15:0] enable_q [Contexts], mute_q [Contexts], auto_q [Contexts];
  logic [3:0] at;
  ctx_t here;
  assign at   = reg_addr_i[7:4];
  assign here = ctx_q[at];
  always_comb begin
    unique case (reg_addr_i[3:2])
      2'd0: reg_rdata_o = {here.enable, 13'd0, here.ni, here.pid};
      2'd1: reg_rdata_o = here.uid;
      2'd2: reg_rdata_o = {mute_q[at], enable_q[at]};
      default: reg_rdata_o = {16'd0, auto_q[at]};
    endcase
    for (int unsigned c = 0; c < Contexts; c++) begin
      ctx_o[c * CtxBits +: CtxBits] = ctx_q[c];
      pt_enable_o[c * 16 +: 16]     = enable_q[c];
      pt_mute_o[c * 16 +: 16]       = mute_q[c];
      pt_auto_o[c * 16 +: 16]       = auto_q[c];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned c = 0; c < Contexts; c++) begin
        ctx_q[c]    <= (c == 0) ? {1'b1, (CtxBits - 1)'(0)} : '0;
        enable_q[c] <= '0;
        mute_q[c]   <= '0;
        auto_q[c]   <= '0;
      end
    end else begin
      if (pt_disable_i) enable_q[pt_disable_at_i[ListBits-1:4]][pt_disable_at_i[3:0]] <= 1'b0;
      if (old_enable_we_i) enable_q[0] <= reg_wdata_i[15:0];
      if (old_auto_we_i) auto_q[0] <= reg_wdata_i[15:0];
      if (reg_we_i) begin
        unique case (reg_addr_i[3:2])
          2'd0: ctx_q[at] <= {reg_wdata_i[31], reg_wdata_i[17:0], here.uid};
          2'd1: ctx_q[at] <= {here.enable, here.ni, here.pid, reg_wdata_i};
          2'd2: {mute_q[at], enable_q[at]} <= reg_wdata_i;
          default: auto_q[at] <= reg_wdata_i[15:0];
        endcase
      end
    end
  end
  logic unused;
  assign unused = ^reg_addr_i[1:0];
endmodule
