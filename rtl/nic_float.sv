// Sum or product of two floats or doubles, rounded to nearest, ties to even, as IEEE 754 demands, with subnormal numbers:
// one per cycle, six cycles later. A float lies in the low half. Where an operand is no number the result is the
// first such operand, made quiet; where there is no result (infinity less infinity, zero times infinity) the negative
// quiet one: as x86 processors have it.
module nic_float (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic        mul_i,
  input  logic        sub_i,      // a - b
  input  logic        dbl_i,
  input  logic [63:0] a_i,
  input  logic [63:0] b_i,
  output logic        valid_o,
  output logic [63:0] r_o
);
  localparam int unsigned W = 110;   // of sum or product; the first bit has the weight 2^exponent
  typedef struct packed {
    logic        sign, special;      // result is data
    logic        dbl;
    logic [63:0] data;
  } way_t;

  // ---- 1: parts of the operands, and what is no arithmetic -------------------------------------------------
  typedef struct packed {
    logic               sign, nan, inf, zero;
    logic signed [12:0] exp;
    logic [52:0]        mant;
  } part_t;
  localparam int unsigned PartBits = 70;
  function automatic logic [PartBits-1:0] unpack(input logic [63:0] v, input logic dbl);
    logic [10:0] e;
    logic [51:0] fraction;
    logic tiny, top;
    logic [12:0] exp;
    e        = dbl ? v[62:52] : {3'd0, v[30:23]};
    fraction = dbl ? v[51:0] : {v[22:0], 29'd0};
    top      = dbl ? e == 11'd2047 : e == 11'd255;
    tiny     = e == '0;
    exp      = {2'd0, tiny ? 11'd1 : e} - (dbl ? 13'd1023 : 13'd127);
    unpack   = {dbl ? v[63] : v[31], top && fraction != '0, top && fraction == '0, tiny && fraction == '0, exp, !tiny, fraction};
  endfunction
  function automatic logic [63:0] quiet(input logic [63:0] v, input logic dbl);
    quiet = dbl ? v | 64'h0008_0000_0000_0000 : {32'd0, v[31:0] | 32'h0040_0000};
  endfunction
  function automatic logic [63:0] infinity(input logic sign, input logic dbl);
    infinity = dbl ? {sign, 11'h7FF, 52'd0} : {32'd0, sign, 8'hFF, 23'd0};
  endfunction
  part_t a, b, a1_q, b1_q;
  way_t w1, way1_q, way2_q, way3_q, way4_q, way5_q;
  logic mul1_q;
  always_comb begin
    a = unpack(a_i, dbl_i);
    b = unpack(b_i, dbl_i);
    if (sub_i && !b.nan) b.sign = !b.sign;
    w1         = '0;
    w1.dbl     = dbl_i;
    w1.sign    = mul_i ? a.sign ^ b.sign : a.sign && b.sign;   // of a sum: when it is zero
    w1.special = 1'b1;
    if (a.nan) w1.data = quiet(a_i, dbl_i);
    else if (b.nan) w1.data = quiet(b_i, dbl_i);
    else if (mul_i ? (a.inf && b.zero) || (a.zero && b.inf) : a.inf && b.inf && a.sign != b.sign)
      w1.data = dbl_i ? 64'hFFF8_0000_0000_0000 : 64'h0000_0000_FFC0_0000;
    else if (a.inf || b.inf) w1.data = infinity(mul_i ? w1.sign : a.inf ? a.sign : b.sign, dbl_i);
    else w1.special = 1'b0;
  end

  // ---- 2: the smaller addend is moved; what falls out of it is kept as one bit --------------------------------
  logic swap;
  part_t big, little;
  logic [52:0] a2_q, b2_q;
  logic [12:0] apart;
  logic [55:0] moved, wide, lost;
  logic [52:0] big2_q;
  logic [55:0] moved2_q;
  logic minus2_q, mul2_q;
  logic signed [12:0] exp2_q;
  always_comb begin
    swap   = {a1_q.exp, a1_q.mant} != {b1_q.exp, b1_q.mant} &&
             (a1_q.exp < b1_q.exp || (a1_q.exp == b1_q.exp && a1_q.mant < b1_q.mant));
    big    = swap ? b1_q : a1_q;
    little = swap ? a1_q : b1_q;
    apart  = big.exp - little.exp;
    wide   = {little.mant, 3'd0};
    lost   = (apart > 13'd56) ? '1 : ~({56{1'b1}} << apart[5:0]);
    moved  = (apart > 13'd55) ? '0 : wide >> apart[5:0];
    moved[0] = moved[0] || (wide & lost) != '0;
  end

  // ---- 3: sum, product -----------------------------------------------------------------------------------------
  logic [56:0] sum;
  logic [105:0] product;
  logic [W-1:0] m3_q, m4_q, m5_q, m5;
  logic signed [12:0] exp3_q, exp4_q, exp5_q, lowest, room;
  assign sum     = minus2_q ? {1'b0, big2_q, 3'd0} - {1'b0, moved2_q} : {1'b0, big2_q, 3'd0} + {1'b0, moved2_q};
  assign product = {53'd0, a2_q} * {53'd0, b2_q};

  // ---- 4, 5: the first bit to its place, or as far as the exponent goes ------------------------------------------
  logic [6:0] zeros, zeros4_q;
  logic [W:0] from_left, first;
  logic sticky5_q, sticky5;
  logic [12:0] right;
  always_comb begin
    // The highest 1, from the left; behind all bits stands one more. A carry finds it, its number is an or of bits.
    for (int unsigned i = 0; i < W; i++) from_left[i] = m3_q[W - 1 - i];
    from_left[W] = 1'b1;
    first = from_left & (~from_left + (W + 1)'(1));
    zeros = '0;
    for (int unsigned i = 0; i <= W; i++) if (first[i]) zeros = zeros | 7'(i);
  end
  assign lowest = way4_q.dbl ? -13'sd1022 : -13'sd126;
  assign room   = exp4_q - lowest;    // so many places to the left
  assign right  = -room;
  always_comb begin
    sticky5 = 1'b0;
    if (room < 13'sd0) begin
      m5      = (right > 13'd127) ? '0 : m4_q >> right[6:0];
      sticky5 = (right > 13'd127) ? m4_q != '0 : (m4_q & ~({W{1'b1}} << right[6:0])) != '0;
    end else begin
      m5 = m4_q << ((room < $signed({6'd0, zeros4_q})) ? room[6:0] : zeros4_q);
    end
  end

  // ---- 6: rounding; a carry goes through the fraction into the exponent, and so to infinity -----------------------
  logic up;
  logic [12:0] field;
  logic [63:0] packed6;
  way_t w6;
  assign w6    = way5_q;
  assign field = m5_q[W-1] ? 13'(exp5_q - (w6.dbl ? -13'sd1022 : -13'sd126)) + 13'd1 : 13'd0;
  assign up    = w6.dbl ? m5_q[W-54] && (m5_q[W-53] || m5_q[W-55:0] != '0 || sticky5_q)
                        : m5_q[W-25] && (m5_q[W-24] || m5_q[W-26:0] != '0 || sticky5_q);
  always_comb begin
    packed6 = w6.dbl ? {1'b0, field[10:0], m5_q[W-2 -: 52]} + 64'(up)
                     : {33'd0, field[7:0], m5_q[W-2 -: 23]} + 64'(up);
    if (field >= (w6.dbl ? 13'd2047 : 13'd255)) packed6 = infinity(1'b0, w6.dbl);
    if (w6.dbl) packed6[63] = w6.sign;
    else packed6[31] = w6.sign;
    if (w6.special) packed6 = w6.data;
  end

  logic [4:0] valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {valid_o, valid_q} <= '0;
    else {valid_o, valid_q} <= {valid_q, valid_i};
  end
  always_ff @(posedge clk_i) begin
    a1_q   <= a;
    b1_q   <= b;
    mul1_q <= mul_i;
    way1_q <= w1;
    a2_q   <= a1_q.mant;
    b2_q   <= b1_q.mant;
    big2_q   <= big.mant;
    moved2_q <= moved;
    minus2_q <= a1_q.sign != b1_q.sign;
    mul2_q   <= mul1_q;
    exp2_q   <= mul1_q ? a1_q.exp + b1_q.exp : big.exp;
    way2_q   <= way1_q;
    if (!mul1_q && {big.exp, big.mant} != {little.exp, little.mant}) way2_q.sign <= big.sign;
    if (!mul1_q && a1_q.sign == b1_q.sign) way2_q.sign <= a1_q.sign;
    m3_q   <= mul2_q ? {product, 4'd0} : {sum, 53'd0};
    exp3_q <= exp2_q + 13'sd1;
    way3_q <= way2_q;
    m4_q   <= m3_q;
    zeros4_q <= zeros;
    exp4_q <= exp3_q;
    way4_q <= way3_q;
    m5_q   <= m5;
    sticky5_q <= sticky5;
    exp5_q <= (room < $signed({6'd0, zeros4_q})) ? lowest : exp4_q - $signed({6'd0, zeros4_q});
    way5_q <= way4_q;
    r_o    <= packed6;
  end
  logic unused;
  assign unused = ^{big, little};
endmodule
