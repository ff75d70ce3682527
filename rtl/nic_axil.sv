// AXI4-Lite slave in front of the register blocks: one access at a time, a write takes two cycles, a read
// three. Reads have side effects in some registers: re_o is high for one cycle with the address. A write waits while
// the block that addr_o names has no room for it (hold_i); reads go on meanwhile.
module nic_axil #(
  parameter int unsigned AddrBits = 17
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [AddrBits-1:0] s_axil_awaddr,
  input  logic                s_axil_awvalid,
  output logic                s_axil_awready,
  input  logic [31:0]         s_axil_wdata,
  input  logic [3:0]          s_axil_wstrb,
  input  logic                s_axil_wvalid,
  output logic                s_axil_wready,
  output logic [1:0]          s_axil_bresp,
  output logic                s_axil_bvalid,
  input  logic                s_axil_bready,
  input  logic [AddrBits-1:0] s_axil_araddr,
  input  logic                s_axil_arvalid,
  output logic                s_axil_arready,
  output logic [31:0]         s_axil_rdata,
  output logic [1:0]          s_axil_rresp,
  output logic                s_axil_rvalid,
  input  logic                s_axil_rready,
  output logic                we_o,
  output logic                re_o,
  output logic [AddrBits-1:0] addr_o,
  output logic [31:0]         wdata_o,
  input  logic                hold_i,
  input  logic [31:0]         rdata_i
`ifdef FORMAL
  , output logic [1:0]        f_state_o
`endif
);
`ifdef FORMAL
  assign f_state_o = state_q;
`endif
  typedef enum logic [1:0] {Idle, Read, Data, Done} state_t;
  state_t state_q;
  logic [AddrBits-1:0] addr_q;
  logic [31:0] rdata_q;
  logic bad_q, write;

  // Registers are 32 bits wide: a partial or unaligned write changes nothing and answers SLVERR
  logic whole;
  assign whole = s_axil_wstrb == 4'hF && s_axil_awaddr[1:0] == 2'd0;
  assign write = state_q == Idle && s_axil_awvalid && s_axil_wvalid && !hold_i;
  assign s_axil_awready = write;
  assign s_axil_wready  = write;
  assign s_axil_bvalid  = state_q == Done;
  assign s_axil_bresp   = bad_q ? 2'd2 : 2'd0;
  assign s_axil_arready = state_q == Idle && !write;
  assign s_axil_rvalid  = state_q == Data;
  assign s_axil_rresp   = bad_q ? 2'd2 : 2'd0;
  assign s_axil_rdata   = rdata_q;
  assign we_o    = write && whole;
  assign wdata_o = s_axil_wdata;
  assign re_o    = state_q == Read && !bad_q;
  assign addr_o  = (state_q == Read) ? addr_q : s_axil_awaddr;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      addr_q  <= '0;
      rdata_q <= '0;
      bad_q   <= 1'b0;
    end else begin
      unique case (state_q)
        Idle: begin
          if (write) begin
            state_q <= Done;
            bad_q   <= !whole;
          end else if (s_axil_arvalid) begin
            state_q <= Read;
            addr_q  <= s_axil_araddr;
            bad_q   <= s_axil_araddr[1:0] != 2'd0;
          end
        end
        Read: begin
          rdata_q <= bad_q ? '0 : rdata_i;
          state_q <= Data;
        end
        Data: if (s_axil_rready) state_q <= Idle;
        default: if (s_axil_bready) state_q <= Idle;
      endcase
    end
  end
endmodule
