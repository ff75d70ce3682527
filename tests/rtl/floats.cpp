// Atomics on floats, doubles and complex numbers of both, bit for bit as this machine computes them: random numbers of all sizes,
// near each other, subnormal, zeros of both signs, infinities. What is no number is kept as rtl/REGISTERS.md says, whatever
// this machine's compiler makes of a sum of two: the first of them, made quiet; where none comes in, the negative one.
// And 64 bytes at once, of all types: as one element after the other.
#include <cmath>
#include <cstring>
#include <string>
#include "Vnic_line.h"
#include "rtl/nic_cosim.h"
#include "tests/test.h"
#include "verilated.h"

static Vnic_line *unit;
static long cycles;
static void cycle() {
  unit->clk_i = 0, unit->eval();
  unit->clk_i = 1, unit->eval();
  cycles++;
}
struct Wide {
  uint64_t half[2];
};
struct Line {
  unsigned char byte[64];
};
static Line random_line() {
  Line l;
  for (int i = 0; i < 64; i += 8) {
    const uint64_t r = test_rand();
    memcpy(l.byte + i, &r, 8);
  }
  return l;
}
static Line run(int op, int dtype, bool is_float, bool is_complex, bool is_one, const Line &was, const Line &operand, Wide compare) {
  Line r;
  unit->op_i = (unsigned char)op, unit->dtype_i = (unsigned char)dtype;
  unit->is_float_i = is_float, unit->is_complex_i = is_complex, unit->one_i = is_one;
  memcpy(&unit->old_i[0], &was, sizeof was), memcpy(&unit->operand_i[0], &operand, sizeof operand);
  memcpy(&unit->compare_i[0], &compare, sizeof compare), unit->start_i = 1;
  cycle();
  for (cycles = 1; cycles < 200 && !unit->done_o;) { // what it was given it keeps
    unit->start_i = 0, unit->old_i[0] = unit->operand_i[0] = unit->compare_i[0] = (uint32_t)cycles;
    cycle();
  }
  CHECK(unit->done_o);
  memcpy(&r, &unit->new_o[0], sizeof r);
  cycle();
  return r;
}
static Wide run(int op, bool is_double, bool is_complex, Wide was, Wide operand, Wide compare) {
  Line line[2] = {random_line(), random_line()};
  Wide r;
  memcpy(&line[0], &was, sizeof was), memcpy(&line[1], &operand, sizeof operand);
  const Line is = run(op, 2 + is_double + is_complex, true, is_complex, true, line[0], line[1], compare);
  memcpy(&r, &is, sizeof r);
  return r;
}
// Of one number: whatever lies beside it
static uint64_t run(int op, bool is_double, uint64_t was, uint64_t operand, uint64_t compare) {
  return run(op, is_double, false, {{was, test_rand()}}, {{operand, test_rand()}}, {{compare, test_rand()}}).half[0];
}
static void reset() {
#ifdef NIC_MUTANTS // mutate.sh
  const std::string mutant = std::string("+mutant=") + (getenv("NIC_MUTANT") ? getenv("NIC_MUTANT") : "0");
  const char *words[] = {"floats", mutant.c_str()};
  Verilated::commandArgs(2, words);
#endif
  if (!unit) unit = new Vnic_line;
  unit->rst_ni = 0, unit->start_i = 0, cycle();
  unit->rst_ni = 1, cycle();
}

// One number by its bits: T is the number, U its bits, F those of the fraction
template <class T, class U, int F> struct Number {
  static T of(U bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  static U bits(T x) {
    U b;
    memcpy(&b, &x, sizeof b);
    return b;
  }
  static bool is_nan(U b) { return std::isnan(of(b)); }
  static U draw() {
    const U one = 1, r = (U)test_rand(), sign = (one << (8 * sizeof(U) - 1)) & (U)test_rand();
    const U top = (U)(~(U)0 << F) & (U)(~(U)0 >> 1), fraction = r & (U)((one << F) - 1), bias = bits(1);
    switch (test_below(12)) {
    case 0: return sign;
    case 1: return sign | top;
    case 2: return sign | top | fraction;
    case 3: return sign | fraction;                          // subnormal
    case 4: return sign | (one << F) | (fraction & 7);       // the smallest that is not
    case 5: return sign | (r & (U)(((U)3 << F) - 1));        // about there
    case 6: return sign | bias | (fraction & 255);           // nearly one
    case 7: return sign | (U)((bias + top) / 2) | (r & (U)((one << (F + 2)) - 1)); // products overflow, or nearly
    case 8: return sign | (U)(bias / 2) | (r & (U)((one << (F + 2)) - 1));         // and underflow
    case 9: return sign | (U)(bias + ((U)test_below(60) << F)) | fraction;
    default: return sign | (r & (U)(~(U)0 >> 1));
    }
  }
  static U near(U b) { return test_below(4) ? draw() : b ^ (U)test_below(3) ^ (test_below(2) ? (U)1 << (8 * sizeof(U) - 1) : 0); }
  // As src/portals/ptl_memory.c computes it; volatile: rounded to this type
  static U want(int op, U was, U operand, U compare) {
    const T t = of(was), o = of(operand), c = of(compare);
    volatile T r = t;
    switch (op) {
    case COSIM_OP_MIN: return o < t ? operand : was;
    case COSIM_OP_MAX: return o > t ? operand : was;
    case COSIM_OP_SUM: r = t + o; return sure(bits(r), was, operand);
    case COSIM_OP_PROD: r = t * o; return sure(bits(r), was, operand);
    case COSIM_OP_CSWAP: return c <= t && c >= t ? operand : was;
    case COSIM_OP_CSWAP_NE: return !(c <= t && c >= t) ? operand : was;
    case COSIM_OP_CSWAP_LE: return c <= t ? operand : was;
    case COSIM_OP_CSWAP_LT: return c < t ? operand : was;
    case COSIM_OP_CSWAP_GE: return c >= t ? operand : was;
    case COSIM_OP_CSWAP_GT: return c > t ? operand : was;
    default: return operand;
    }
  }
  static U sure(U is, U first, U second) {
    const U quiet = (U)1 << (F - 1);
    if (is_nan(first)) return first | quiet;
    if (is_nan(second)) return second | quiet;
    return is_nan(is) ? (U)(~(U)0 << (F - 1)) : is;
  }
  static void several(bool is_double, int count) {
    int both = 0, made = 0; // no number in both operands, or in none and in the result
    static const int ops[] = {COSIM_OP_MIN, COSIM_OP_MAX, COSIM_OP_SUM, COSIM_OP_SUM, COSIM_OP_SUM, COSIM_OP_PROD,
                              COSIM_OP_PROD, COSIM_OP_PROD, COSIM_OP_SWAP, COSIM_OP_CSWAP, COSIM_OP_CSWAP_NE,
                              COSIM_OP_CSWAP_LE, COSIM_OP_CSWAP_LT, COSIM_OP_CSWAP_GE, COSIM_OP_CSWAP_GT};
    for (int i = 0; i < count; i++) {
      const int op = ops[test_below(sizeof ops / sizeof *ops)];
      const U was = draw(), operand = near(was), compare = near(was);
      const U got = (U)run(op, is_double, was, operand, compare), is = want(op, was, operand, compare);
      CHECK(cycles <= 9);
      both += is_nan(was) && is_nan(operand), made += !is_nan(was) && !is_nan(operand) && is_nan(got);
      if (got == is) continue;
      printf("  operation %d, %llx and %llx (%llx): %llx, not %llx\n", op, (unsigned long long)was, (unsigned long long)operand,
             (unsigned long long)compare, (unsigned long long)got, (unsigned long long)is);
      CHECK(0);
      return;
    }
    CHECK(both > 100 && made > 100);
  }
  static Wide both(const U *parts) {
    Wide w = {{test_rand(), test_rand()}};
    memcpy(&w, parts, 2 * sizeof *parts);
    return w;
  }
  static void complexes(bool is_double, int count) {
    static const int ops[] = {COSIM_OP_SUM, COSIM_OP_PROD, COSIM_OP_SWAP, COSIM_OP_CSWAP, COSIM_OP_CSWAP_NE};
    const U sign = (U)1 << (8 * sizeof(U) - 1);
    for (int i = 0; i < count; i++) {
      const int op = ops[test_below(5)];
      U t[2], o[2], c[2], is[2], got[2];
      for (int k = 0; k < 2; k++) t[k] = draw(), o[k] = near(t[k]), c[k] = test_below(3) ? t[k] : draw();
      const Wide r = run(op, is_double, true, both(t), both(o), both(c));
      CHECK(cycles <= 22);
      const bool equal = of(c[0]) == of(t[0]) && of(c[1]) == of(t[1]);
      memcpy(got, &r, sizeof got);
      if (op == COSIM_OP_PROD) {
        U p[4];
        for (int k = 0; k < 4; k++) p[k] = want(COSIM_OP_PROD, t[k & 1], o[k == 1 || k == 2], 0);
        is[0] = want(COSIM_OP_SUM, p[0], is_nan(p[1]) ? p[1] : p[1] ^ sign, 0);
        is[1] = want(COSIM_OP_SUM, p[2], p[3], 0);
      }
      for (int k = 0; k < 2; k++) {
        if (op == COSIM_OP_SUM) is[k] = want(op, t[k], o[k], 0);
        if (op > COSIM_OP_PROD) is[k] = op == COSIM_OP_SWAP || (op == COSIM_OP_CSWAP) == equal ? o[k] : t[k];
        if (got[k] != is[k])
          printf("  operation %d, part %d: %llx %llx and %llx %llx: %llx, not %llx\n", op, k, (unsigned long long)t[0],
                 (unsigned long long)t[1], (unsigned long long)o[0], (unsigned long long)o[1], (unsigned long long)got[k],
                 (unsigned long long)is[k]);
        CHECK(got[k] == is[k]);
      }
    }
  }
};
typedef Number<float, uint32_t, 23> Float;
typedef Number<double, uint64_t, 52> Double;
static void floats() { reset(), Float::several(false, 60000); }
static void doubles() { reset(), Double::several(true, 60000); }
static void complex_floats_take_turns() { reset(), Float::complexes(false, 20000); }
static void complex_doubles_take_turns() { reset(), Double::complexes(true, 20000); }
// As one after the other, and in how many cycles: a sum or product of numbers begins in each, an integer needs one
static void a_line_is_as_its_elements() {
  reset();
  for (int i = 0; i < 3000; i++) {
    const bool is_float = test_below(2), is_complex = is_float && test_below(2);
    const int log2 = is_float ? 2 + (int)test_below(2) + is_complex : (int)test_below(4);
    const int dtype = is_complex ? log2 : log2 | (int)test_below(2) << 2, size = 1 << log2;
    static const int of_complex[] = {COSIM_OP_SUM, COSIM_OP_PROD, COSIM_OP_SWAP}, of_float[] = {0, 1, 2, 3, COSIM_OP_SWAP};
    const int op = is_complex ? of_complex[test_below(3)] : is_float ? of_float[test_below(5)] : (int)test_below(11);
    const Line was = random_line(), operand = random_line();
    const Wide compare = {{test_rand(), test_rand()}};
    Line want, got = run(op, dtype, is_float, is_complex, false, was, operand, compare);
    const bool streams = is_float && !is_complex && (op == COSIM_OP_SUM || op == COSIM_OP_PROD);
    CHECK(cycles <= (!is_float ? 2 + 64 / size : streams ? 8 + 64 / size : 2 + (is_complex ? 21 : 2) * 64 / size));
    for (int at = 0; at < 64; at += size) {
      Line one[2] = {random_line(), random_line()};
      memcpy(&one[0], was.byte + at, (size_t)size), memcpy(&one[1], operand.byte + at, (size_t)size);
      const Line is = run(op, dtype, is_float, is_complex, true, one[0], one[1], compare);
      memcpy(want.byte + at, is.byte, (size_t)size);
    }
    CHECK(memcmp(&got, &want, sizeof got) == 0);
  }
}
// Bits that leave the unit at the right are not forgotten: (1 + 2^-26) (1 - 2^-26 + 2^-52) is 1 + 2^-78, and so much of
// 2^-1075 more than half of the least number.
static void a_tail_behind_all_bits_rounds_up() {
  reset();
  const uint64_t a = Double::bits(std::ldexp(1 + std::ldexp(1.0, -26), -537)),
                 b = Double::bits(std::ldexp(1 - std::ldexp(1.0, -26) + std::ldexp(1.0, -52), -538)),
                 half = Double::bits(std::ldexp(1.0, -537)), even = Double::bits(std::ldexp(1.0, -538));
  CHECK(run(COSIM_OP_PROD, true, a, b, 0) == 1);
  CHECK(run(COSIM_OP_PROD, true, half, even, 0) == 0);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(floats);
  RUN(doubles);
  RUN(complex_floats_take_turns);
  RUN(complex_doubles_take_turns);
  RUN(a_line_is_as_its_elements);
  RUN(a_tail_behind_all_bits_rounds_up);
  delete unit;
  return TEST_END();
}
