// The write channel with two clients that keep to their side (a burst stays offered until it is done, a beat
// until it is taken) and the registers' bus, each watched by its checker: whatever the readies do, the NIC
// breaks no rule.
module axi (
  input logic         clk_i,
  // free choices of every cycle
  input logic [1:0]   wish_i,
  input logic [127:0] addr_i,
  input logic [9:0]   beats_i,
  input logic [511:0] data_i,
  input logic         awready_i,
  input logic         wready_i,
  input logic         bvalid_i,
  input logic [3:0]   bid_i,
  input logic [1:0]   bresp_i,
  input logic [16:0]  l_awaddr_i,
  input logic         l_awvalid_i,
  input logic [31:0]  l_wdata_i,
  input logic [3:0]   l_wstrb_i,
  input logic         l_wvalid_i,
  input logic         l_bready_i,
  input logic [16:0]  l_araddr_i,
  input logic         l_arvalid_i,
  input logic         l_rready_i,
  input logic         l_hold_i,
  input logic [31:0]  l_rdata_i
);
  logic rst_ni = 1'b0;
  always @(posedge clk_i) rst_ni <= 1'b1;

  // ---- clients ----------------------------------------------------------------------------------------
  logic [1:0] open_q, pop, done;   // open_q: offered and not done
  logic [127:0] addr_q;
  logic [9:0] beats_q;
  logic [511:0] data_q;
  initial open_q = '0;
  logic [1:0] legal;   // 1 to 16 beats that cross no boundary of 512 bytes
  always_comb for (int unsigned c = 0; c < 2; c++)
    legal[c] = beats_i[c * 5 +: 5] != '0 && {1'b0, beats_i[c * 5 +: 5]} + {2'd0, addr_i[c * 64 + 5 +: 4]} <= 6'd16;
  always @(posedge clk_i) begin
    for (int unsigned c = 0; c < 2; c++) begin
      if (!rst_ni) begin
        open_q[c] <= 1'b0;
      end else if (!open_q[c] && wish_i[c] && legal[c]) begin
        open_q[c] <= 1'b1;
        addr_q[c * 64 +: 64] <= {addr_i[c * 64 + 5 +: 59], 5'd0};
        beats_q[c * 5 +: 5]  <= beats_i[c * 5 +: 5];
      end else if (done[c]) begin
        open_q[c] <= 1'b0;
      end
      if (pop[c] || !open_q[c]) data_q[c * 256 +: 256] <= data_i[c * 256 +: 256];
      if (open_q[c]) assert (beats_q[c * 5 +: 5] != '0 && addr_q[c * 64 +: 5] == '0 &&
                             {1'b0, beats_q[c * 5 +: 5]} + {2'd0, addr_q[c * 64 + 5 +: 4]} <= 6'd16);
    end
  end

  logic [1:0] unused_resp;
  logic [6:0] dma_state;
  logic [17:0] check_state;
  logic a_addr, a_data, n_addr, n_data, a_aw, a_w;
  logic [7:0] a_beats, a_len;
  logic [4:0] n_sent;
  logic [80:0] aw_was;
  logic [288:0] w_was;
  logic [1:0] hold;
  logic unused_err, awvalid, wvalid, wlast, bready;
  logic [3:0] awid;
  logic [63:0] awaddr;
  logic [7:0] awlen;
  logic [255:0] wdata;
  logic [31:0] wstrb;
  nic_dma_wr #(.N(2)) u_dma_wr (
    .clk_i(clk_i), .rst_ni(rst_ni), .req_valid_i(open_q), .req_addr_i(addr_q), .req_beats_i(beats_q),
    .beat_i(data_q), .strb_i({data_q[287:256], data_q[31:0]}), .beat_pop_o(pop), .req_done_o(done),
    .resp_o(unused_resp), .resp_err_o(unused_err), .m_axi_awid(awid), .m_axi_awaddr(awaddr),
    .m_axi_awlen(awlen), .m_axi_awvalid(awvalid), .m_axi_awready(awready_i), .m_axi_wdata(wdata),
    .m_axi_wstrb(wstrb), .m_axi_wlast(wlast), .m_axi_wvalid(wvalid), .m_axi_wready(wready_i),
    .m_axi_bid(bid_i), .m_axi_bresp(bresp_i), .m_axi_bvalid(bvalid_i), .m_axi_bready(bready),
    .f_state_o(dma_state), .f_hold_o(hold)
  );
  axi4_check u_check (
    .clk_i(clk_i), .rst_ni(rst_ni), .m_axi_arid('0), .m_axi_araddr('0), .m_axi_arlen('0), .m_axi_arsize('0),
    .m_axi_arburst('0), .m_axi_arvalid(1'b0), .m_axi_arready(1'b0), .m_axi_rid('0), .m_axi_rdata('0),
    .m_axi_rresp('0), .m_axi_rlast(1'b0), .m_axi_rvalid(1'b0), .m_axi_rready(1'b1), .m_axi_awid(awid),
    .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(3'd5), .m_axi_awburst(2'd1),
    .m_axi_awvalid(awvalid), .m_axi_awready(awready_i), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb),
    .m_axi_wlast(wlast), .m_axi_wvalid(wvalid), .m_axi_wready(wready_i), .m_axi_bid(bid_i),
    .m_axi_bresp(bresp_i), .m_axi_bvalid(bvalid_i), .m_axi_bready(bready), .f_state_o(check_state),
    .f_aw_o(a_aw), .f_w_o(a_w), .f_aw_was_o(aw_was), .f_w_was_o(w_was)
  );
  // What ties the checker's record of the burst to the module's own, for the induction
  assign {a_addr, a_data, a_beats, a_len} = check_state;
  assign {n_addr, n_data, n_sent} = dma_state;
  always @(posedge clk_i) if (rst_ni) begin
    assert (a_addr == n_addr && a_data == n_data && a_beats == {3'd0, n_sent});
    assert (!(n_addr && n_data));
    assert (hold == 2'd0 || (hold == 2'd1 && open_q[0]) || (hold == 2'd2 && open_q[1]));
    if (hold == 2'd0) assert (!n_addr && !n_data && n_sent == '0 && !a_aw && !a_w);
    if (hold != 2'd0) begin
      assert ({3'd0, n_sent} <= awlen + 8'd1 && n_data == ({3'd0, n_sent} == awlen + 8'd1));
      if (n_addr) assert (a_len == awlen);
    end
    // what was offered is what is remembered
    if (a_aw) assert (!n_addr && aw_was == {awid, awaddr, awlen, 3'd5, 2'd1});
    if (a_w) assert (!n_data && w_was == {wdata, wstrb, wlast});
  end

  // ---- registers --------------------------------------------------------------------------------------
  logic l_awready, l_wready, l_bvalid, l_arready, l_rvalid, unused_we, unused_re;
  logic [1:0] l_bresp, l_rresp, l_state, b_was;
  logic [7:0] l_check;
  logic [33:0] r_was;
  logic [31:0] l_rdata, unused_wdata;
  logic [16:0] unused_addr;
  nic_axil u_axil (
    .clk_i(clk_i), .rst_ni(rst_ni), .s_axil_awaddr(l_awaddr_i), .s_axil_awvalid(l_awvalid_i),
    .s_axil_awready(l_awready), .s_axil_wdata(l_wdata_i), .s_axil_wstrb(l_wstrb_i),
    .s_axil_wvalid(l_wvalid_i), .s_axil_wready(l_wready), .s_axil_bresp(l_bresp),
    .s_axil_bvalid(l_bvalid), .s_axil_bready(l_bready_i), .s_axil_araddr(l_araddr_i),
    .s_axil_arvalid(l_arvalid_i), .s_axil_arready(l_arready), .s_axil_rdata(l_rdata),
    .s_axil_rresp(l_rresp), .s_axil_rvalid(l_rvalid), .s_axil_rready(l_rready_i), .we_o(unused_we),
    .re_o(unused_re), .addr_o(unused_addr), .wdata_o(unused_wdata), .hold_i(l_hold_i), .rdata_i(l_rdata_i),
    .f_state_o(l_state)
  );
  axil_check u_lite (
    .clk_i(clk_i), .rst_ni(rst_ni), .s_axil_awaddr(l_awaddr_i), .s_axil_awvalid(l_awvalid_i),
    .s_axil_awready(l_awready), .s_axil_wdata(l_wdata_i), .s_axil_wstrb(l_wstrb_i),
    .s_axil_wvalid(l_wvalid_i), .s_axil_wready(l_wready), .s_axil_bresp(l_bresp),
    .s_axil_bvalid(l_bvalid), .s_axil_bready(l_bready_i), .s_axil_araddr(l_araddr_i),
    .s_axil_arvalid(l_arvalid_i), .s_axil_arready(l_arready), .s_axil_rdata(l_rdata),
    .s_axil_rresp(l_rresp), .s_axil_rvalid(l_rvalid), .s_axil_rready(l_rready_i), .f_state_o(l_check),
    .f_b_was_o(b_was), .f_r_was_o(r_was)
  );
  always @(posedge clk_i) if (rst_ni) begin
    assert (l_check[7:6] == 2'(l_state == 2'd3) && l_check[5:4] == l_check[7:6]);
    assert (l_check[3:2] == 2'(l_state == 2'd1 || l_state == 2'd2));
    if (l_check[1]) assert (l_state == 2'd3 && b_was == l_bresp);
    if (l_check[0]) assert (l_state == 2'd2 && r_was == {l_rdata, l_rresp});
  end
endmodule
