// The rules of AXI4 that the NIC keeps as a master and its host as a slave, as assertions, bound to nic_top by
// axi_watch.sv. In the proof (tests/rtl/formal/axi.sv) the rules of the slave are assumptions.
// A rule of ours is stricter: a burst begins when address and data of the one before are taken.
module axi4_check (
  input logic         clk_i,
  input logic         rst_ni,
  input logic [3:0]   m_axi_arid,
  input logic [63:0]  m_axi_araddr,
  input logic [7:0]   m_axi_arlen,
  input logic [2:0]   m_axi_arsize,
  input logic [1:0]   m_axi_arburst,
  input logic         m_axi_arvalid,
  input logic         m_axi_arready,
  input logic [3:0]   m_axi_rid,
  input logic [255:0] m_axi_rdata,
  input logic [1:0]   m_axi_rresp,
  input logic         m_axi_rlast,
  input logic         m_axi_rvalid,
  input logic         m_axi_rready,
  input logic [3:0]   m_axi_awid,
  input logic [63:0]  m_axi_awaddr,
  input logic [7:0]   m_axi_awlen,
  input logic [2:0]   m_axi_awsize,
  input logic [1:0]   m_axi_awburst,
  input logic         m_axi_awvalid,
  input logic         m_axi_awready,
  input logic [255:0] m_axi_wdata,
  input logic [31:0]  m_axi_wstrb,
  input logic         m_axi_wlast,
  input logic         m_axi_wvalid,
  input logic         m_axi_wready,
  input logic [3:0]   m_axi_bid,
  input logic [1:0]   m_axi_bresp,
  input logic         m_axi_bvalid,
  input logic         m_axi_bready
`ifdef FORMAL
  , output logic [17:0]  f_state_o,   // address, data taken; beats, length
  output logic         f_aw_o,
  output logic         f_w_o,
  output logic [80:0]  f_aw_was_o,
  output logic [288:0] f_w_was_o
`endif
);
`ifdef FORMAL
  assign f_state_o  = {addr_q, data_q, beats_q, len_q};
  assign f_aw_o     = aw_q;
  assign f_w_o      = w_q;
  assign f_aw_was_o = aw_was_q;
  assign f_w_was_o  = w_was_q;
`endif
`ifdef FORMAL
  `define AXI_SLAVE assume
  `define AXI_RULE(what, text) assert what;
`else
  `define AXI_SLAVE assert
  `define AXI_RULE(what, text) assert what else $error(text);
`endif
  localparam int unsigned Most = 256;   // reads of one identifier under way
  // of the cycle before: what was offered and not taken
  logic ar_q, aw_q, w_q, r_q, b_q;
  logic [80:0] ar_was_q, aw_was_q;
  logic [288:0] w_was_q;
  logic [262:0] r_was_q;
  logic [5:0] b_was_q;
  logic addr_q, data_q;          // address, all data of the burst under way are taken
  logic [7:0] len_q, beats_q;    // its length; beats taken
  logic [9:0] writes_q [16];     // bursts without answer, per identifier
  logic aw_go, w_go, last_go, burst_end;
  logic [7:0] len;
  assign aw_go     = m_axi_awvalid && m_axi_awready;
  assign w_go      = m_axi_wvalid && m_axi_wready;
  assign last_go   = w_go && m_axi_wlast;
  assign burst_end = (addr_q || aw_go) && (data_q || last_go);
  assign len       = addr_q ? len_q : m_axi_awlen;
`ifndef FORMAL
  logic [3:0] id_q;
  logic [7:0] read_len [16][Most];
  logic [7:0] read_wr_q [16], read_rd_q [16], read_beat_q [16];
`endif
`ifdef FORMAL
  initial {ar_q, aw_q, w_q, r_q, b_q, addr_q, data_q, len_q, beats_q} = '0;
`endif

  /* verilator lint_off SYNCASYNCNET */  // the NIC resets asynchronously
  always @(posedge clk_i) begin
    if (!rst_ni) begin
      {ar_q, aw_q, w_q, r_q, b_q, addr_q, data_q} <= '0;
      beats_q <= '0;
      len_q   <= '0;
      for (int unsigned i = 0; i < 16; i++) writes_q[i] <= '0;
`ifndef FORMAL
      for (int unsigned i = 0; i < 16; i++) begin
        read_wr_q[i]   <= '0;
        read_rd_q[i]   <= '0;
        read_beat_q[i] <= '0;
      end
      `AXI_RULE((!m_axi_arvalid && !m_axi_awvalid && !m_axi_wvalid), "AXI4: valid during reset")
`endif
    end else begin
      // what is offered stays until it is taken
      ar_q <= m_axi_arvalid && !m_axi_arready;
      aw_q <= m_axi_awvalid && !m_axi_awready;
      w_q  <= m_axi_wvalid && !m_axi_wready;
      r_q  <= m_axi_rvalid && !m_axi_rready;
      b_q  <= m_axi_bvalid && !m_axi_bready;
      ar_was_q <= {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst};
      aw_was_q <= {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst};
      w_was_q  <= {m_axi_wdata, m_axi_wstrb, m_axi_wlast};
      r_was_q  <= {m_axi_rid, m_axi_rdata, m_axi_rresp, m_axi_rlast};
      b_was_q  <= {m_axi_bid, m_axi_bresp};
      if (ar_q) `AXI_RULE((m_axi_arvalid && ar_was_q == {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst}), "AXI4: a read address changed before it was taken")
      if (aw_q) `AXI_RULE((m_axi_awvalid && aw_was_q == {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst}), "AXI4: a write address changed before it was taken")
      if (w_q) `AXI_RULE((m_axi_wvalid && w_was_q == {m_axi_wdata, m_axi_wstrb, m_axi_wlast}), "AXI4: write data changed before it was taken")
      if (r_q) `AXI_SLAVE (m_axi_rvalid && r_was_q == {m_axi_rid, m_axi_rdata, m_axi_rresp, m_axi_rlast});
      if (b_q) `AXI_SLAVE (m_axi_bvalid && b_was_q == {m_axi_bid, m_axi_bresp});
      // bursts of whole beats, at most 16, within 4 KiB
      if (m_axi_arvalid)
        `AXI_RULE((m_axi_arsize == 3'd5 && m_axi_arburst == 2'd1 && m_axi_arlen < 8'd16 && m_axi_araddr[4:0] == '0 &&
                {5'd0, m_axi_araddr[11:5]} + 12'(m_axi_arlen) < 12'd128), "AXI4: read burst")
      if (m_axi_awvalid)
        `AXI_RULE((m_axi_awsize == 3'd5 && m_axi_awburst == 2'd1 && m_axi_awlen < 8'd16 && m_axi_awaddr[4:0] == '0 &&
                {5'd0, m_axi_awaddr[11:5]} + 12'(m_axi_awlen) < 12'd128), "AXI4: write burst")
      // data comes with its address: neither waits until the other is taken
      if (m_axi_awvalid) `AXI_RULE((m_axi_wvalid || data_q), "AXI4: write data waits for AWREADY")
      if (m_axi_wvalid) `AXI_RULE((m_axi_awvalid || addr_q), "AXI4: write address waits for WREADY")
      if (m_axi_wvalid) `AXI_RULE((m_axi_wlast == (beats_q == len)), "AXI4: WLAST")
      addr_q  <= (addr_q || aw_go) && !burst_end;
      data_q  <= (data_q || last_go) && !burst_end;
      beats_q <= burst_end ? '0 : beats_q + 8'(w_go);
      if (aw_go) len_q <= m_axi_awlen;
`ifndef FORMAL
      // answers: only to what was asked for
      if (aw_go) id_q <= m_axi_awid;
      for (int unsigned i = 0; i < 16; i++)
        writes_q[i] <= writes_q[i] + 10'(burst_end && (aw_go ? m_axi_awid : id_q) == 4'(i)) -
                       10'(m_axi_bvalid && m_axi_bready && m_axi_bid == 4'(i));
      if (m_axi_bvalid) `AXI_RULE((writes_q[m_axi_bid] != '0), "AXI4: answer without a write")
      if (m_axi_arvalid && m_axi_arready) begin
        read_len[m_axi_arid][read_wr_q[m_axi_arid]] <= m_axi_arlen;
        read_wr_q[m_axi_arid] <= read_wr_q[m_axi_arid] + 8'd1;
        `AXI_RULE((read_wr_q[m_axi_arid] + 8'd1 != read_rd_q[m_axi_arid]), "AXI4: too many reads")
      end
      if (m_axi_rvalid) begin
        `AXI_RULE((read_wr_q[m_axi_rid] != read_rd_q[m_axi_rid]), "AXI4: data without a read")
        `AXI_RULE((m_axi_rlast == (read_beat_q[m_axi_rid] == read_len[m_axi_rid][read_rd_q[m_axi_rid]])), "AXI4: RLAST")
      end
      if (m_axi_rvalid && m_axi_rready) begin
        read_beat_q[m_axi_rid] <= m_axi_rlast ? '0 : read_beat_q[m_axi_rid] + 8'd1;
        read_rd_q[m_axi_rid]   <= read_rd_q[m_axi_rid] + 8'(m_axi_rlast);
      end
`endif
    end
  end
  /* verilator lint_on SYNCASYNCNET */
endmodule
