// Atomics on floats, doubles and complex numbers of both, bit for bit as this machine computes them: random numbers of all sizes,
// near each other, subnormal, zeros of both signs, infinities. What is no number is kept as rtl/REGISTERS.md says, whatever
// this machine's compiler makes of a sum of two: the first of them, made quiet; where none comes in, the negative one.
#include <cmath>
#include <cstring>
#include <string>
#include "Vnic_falu.h"
#include "rtl/nic_cosim.h"
#include "tests/test.h"
#include "verilated.h"

static Vnic_falu *unit;
static long cycles;
static void cycle() {
  unit->clk_i = 0, unit->eval();
  unit->clk_i = 1, unit->eval();
  cycles++;
}
struct Wide {
  uint64_t half[2];
};
static Wide run(int op, bool is_double, bool is_complex, Wide was, Wide operand, uint64_t compare) {
  Wide r;
  unit->op_i = (unsigned char)op, unit->dbl_i = is_double, unit->complex_i = is_complex;
  memcpy(&unit->old_i[0], &was, sizeof was), memcpy(&unit->operand_i[0], &operand, sizeof operand);
  unit->compare_i = compare, unit->start_i = 1;
  for (cycles = 0; cycles < 40 && !unit->done_o;) cycle();
  CHECK(unit->done_o);
  memcpy(&r, &unit->new_o[0], sizeof r);
  unit->start_i = 0, cycle();
  return r;
}
// Of one number: whatever lies beside it
static uint64_t run(int op, bool is_double, uint64_t was, uint64_t operand, uint64_t compare) {
  return run(op, is_double, false, {{was, test_rand()}}, {{operand, test_rand()}}, compare).half[0];
}
static void reset() {
#ifdef NIC_MUTANTS // mutate.sh
  const std::string mutant = std::string("+mutant=") + (getenv("NIC_MUTANT") ? getenv("NIC_MUTANT") : "0");
  const char *words[] = {"floats", mutant.c_str()};
  Verilated::commandArgs(2, words);
#endif
  if (!unit) unit = new Vnic_falu;
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
  static void complexes(bool is_double, int count) { // doubles are not compared
    static const int ops[] = {COSIM_OP_SUM, COSIM_OP_PROD, COSIM_OP_SWAP, COSIM_OP_CSWAP, COSIM_OP_CSWAP_NE};
    const U sign = (U)1 << (8 * sizeof(U) - 1);
    for (int i = 0; i < count; i++) {
      const int op = ops[test_below(is_double ? 3 : 5)];
      U t[2], o[2], c[2], is[2], got[2];
      for (int k = 0; k < 2; k++) t[k] = draw(), o[k] = near(t[k]), c[k] = test_below(3) ? t[k] : draw();
      const Wide r = run(op, is_double, true, both(t), both(o), both(c).half[0]);
      CHECK(cycles <= 21);
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
  RUN(a_tail_behind_all_bits_rounds_up);
  delete unit;
  return TEST_END();
}
