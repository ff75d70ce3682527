// General registers, offsets 0x000 to 0x0ff, and the staging words of a list entry. REGISTERS.md has the
// whole map.
module nic_regs import nic_pkg::*; #(
  parameter int unsigned Slots = 32,
  parameter int unsigned PioBytes = 512,
  parameter int unsigned Entries = 1024,
  localparam int unsigned Banks = (Entries + 31) / 32
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               we_i,
  input  logic [7:0]         addr_i,
  input  logic [31:0]        wdata_i,
  output logic [31:0]        rdata_o,
  output logic               enable_o,
  output logic [5:0]         self_o,
  output logic [31:0]        timeout_o,
  output logic [3:0]         retries_o,
  output logic               clear_o,
  output logic [5:0]         clear_peer_o,
  // matching
  input  logic [15:0]        pt_enable_i,   // of context 0
  input  logic [15:0]        pt_auto_i,
  output logic               append_o,
  output logic               unlink_o,
  output logic               search_o,
  output logic               force_o,       // an unlink while messages use the entry; an append waits for their end
  output logic               tell_o,        // an event says that it is done
  output logic [1:0]         tell_eq_o,
  output logic [15:0]        index_o,
  output me_t                entry_o,
  input  logic               lme_busy_i,
  input  logic [HdrBits:0]   headers_i,
  output logic [$clog2(Banks+1)-1:0] bank_o,
  input  logic [31:0]        me_valid_i,
  input  logic [31:0]        me_in_use_i,
  // state
  input  logic [31:0]        head0_i,
  input  logic [31:0]        tail0_i,
  input  logic [31:0]        head1_i,
  input  logic [31:0]        tail1_i,
  input  logic [11:0]        unconfirmed0_i,
  input  logic [11:0]        unconfirmed1_i,
  input  logic               idle_i,
  // clock
  output logic [31:0]        frac_o,
  output logic               adjust_o,
  output logic [63:0]        adjust_val_o,
  // interrupts: event queues, stamps, something was counted as bad
  input  logic [5:0]         irq_i,
  output logic               irq_o
);
  logic [511:0] stage_q;
  logic [31:0] timeout_q, frac_q, adjust_lo_q;
  logic [$clog2(Banks+1)-1:0] bank_q;
  logic [5:0] self_q, status_q, mask_q;
  logic [3:0] retries_q;
  logic enable_q;

  assign enable_o     = enable_q;
  assign self_o       = self_q;
  assign timeout_o    = timeout_q;
  assign retries_o    = retries_q;
  assign clear_o      = we_i && addr_i == RegClearPeer;
  assign clear_peer_o = wdata_i[5:0];
  assign bank_o       = bank_q;
  assign append_o     = we_i && addr_i == RegMeAppend;
  assign unlink_o     = we_i && addr_i == RegMeUnlink;
  assign search_o     = we_i && addr_i == RegMeSearch;
  assign {force_o, tell_o, tell_eq_o} = wdata_i[31:28];
  assign index_o      = (wdata_i[27:16] != '0) ? 16'd65535 : wdata_i[15:0];
  assign entry_o      = stage_q;
  assign frac_o       = frac_q;
  assign adjust_o     = we_i && addr_i == RegClockAdjustHi;
  assign adjust_val_o = {wdata_i, adjust_lo_q};
  assign irq_o        = (status_q & mask_q) != '0;

  always_comb begin
    unique case (addr_i)
      RegId: rdata_o = IdValue;
      RegVersion: rdata_o = VersionValue;
      RegCaps: rdata_o = {8'd16, 8'd4, 8'(Banks), 8'(Slots)};
      RegCaps2: rdata_o = {8'(Peers), 8'(Window), 16'(PioBytes)};
      RegCtrl: rdata_o = {30'd0, idle_i, enable_q};
      RegSelf: rdata_o = {26'd0, self_q};
      RegTimeout: rdata_o = timeout_q;
      RegRetries: rdata_o = {28'd0, retries_q};
      RegIrqStatus: rdata_o = {26'd0, status_q};
      RegIrqEnable: rdata_o = {26'd0, mask_q};
      RegUnconfirmed: rdata_o = {4'd0, unconfirmed1_i, 4'd0, unconfirmed0_i};
      RegPtEnable: rdata_o = {16'd0, pt_enable_i};
      RegPtAuto: rdata_o = {16'd0, pt_auto_i};
      RegMeValid: rdata_o = me_valid_i;
      RegMeInUse: rdata_o = me_in_use_i;
      RegHeaders: rdata_o = 32'(headers_i);
      RegMeBusy: rdata_o = {31'd0, lme_busy_i};
      RegMeBank: rdata_o = 32'(bank_q);
      RegCmd0Head: rdata_o = head0_i;
      RegCmd0Tail: rdata_o = tail0_i;
      RegCmd1Head: rdata_o = head1_i;
      RegCmd1Tail: rdata_o = tail1_i;
      RegClockFrac: rdata_o = frac_q;
      RegClockAdjustLo: rdata_o = adjust_lo_q;
      default: rdata_o = '0;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_q    <= 1'b0;
      self_q      <= '0;
      timeout_q   <= 32'd4000000;
      retries_q   <= 4'd5;
      status_q    <= '0;
      mask_q      <= '0;
      bank_q      <= '0;
      frac_q      <= 32'd1889785610;
      adjust_lo_q <= '0;
    end else begin
      status_q    <= (status_q & ~((we_i && addr_i == RegIrqStatus) ? wdata_i[5:0] : 6'd0)) | irq_i;
      if (we_i) begin
        unique case (addr_i)
          RegCtrl: enable_q <= wdata_i[0];
          RegSelf: self_q <= wdata_i[5:0];
          RegTimeout: timeout_q <= wdata_i;
          RegRetries: retries_q <= (wdata_i > 32'd15) ? 4'd15 : wdata_i[3:0];
          RegIrqEnable: mask_q <= wdata_i[5:0];
          RegMeBank: bank_q <= (wdata_i < 32'(Banks)) ? wdata_i[$clog2(Banks+1)-1:0] : '0;
          RegClockFrac: frac_q <= wdata_i;
          RegClockAdjustLo: adjust_lo_q <= wdata_i;
          default: ;
        endcase
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (we_i && addr_i[7:6] == RegMeStage[7:6]) stage_q[addr_i[5:2] * 32 +: 32] <= wdata_i;
  end
endmodule
