// Counters and triggers alone, against the rules of Portals as the model has them (src/portals/ptl_events.c): random
// sequences of counting, host writes, triggers (messages, CTInc, CTSet, also of their own counter) and cancels; what is
// released, in which order, and all counts must be the same. Then everything at once: nothing lost, nothing twice.
#include <deque>
#include <list>
#include <string>
#include <vector>
#include "Vnic_ct.h"
#include "rtl/nic_cosim.h"
#include "tests/test.h"
#include "verilated.h"

enum { COUNTS = 16, TRIGGERS = 32, COPIES = 0x1000 };
static bool chance(unsigned percent) { return test_below(100) < percent; }

struct Trigger {
  int index, kind, target; // target: of CTInc and CTSet
  uint64_t threshold, success, failure, user;
};
// The rules: src/portals/ptl_events.c fires the counters that changed in turn, each until it is below its next threshold
struct Rules {
  uint64_t success[COUNTS] = {0}, failure[COUNTS] = {0};
  std::list<Trigger> armed[COUNTS];
  std::deque<int> due;
  std::vector<uint64_t> released;
  bool is_due[COUNTS] = {false};

  void changed(int ct) {
    if (armed[ct].empty() || is_due[ct]) return;
    is_due[ct] = true, due.push_back(ct);
  }
  void fire() {
    while (!due.empty()) {
      const int ct = due.front();
      due.pop_front(), is_due[ct] = false;
      while (!armed[ct].empty() && armed[ct].front().threshold <= success[ct] + failure[ct]) {
        const Trigger t = armed[ct].front();
        armed[ct].pop_front();
        if (t.kind == COSIM_KIND_CT_INC)
          success[t.target] += t.success, failure[t.target] += t.failure, changed(t.target);
        else if (t.kind == COSIM_KIND_CT_SET)
          success[t.target] = t.success, failure[t.target] = t.failure, changed(t.target);
        else
          released.push_back(t.user);
      }
    }
  }
  bool waits(int index) {
    for (auto &list : armed)
      for (const Trigger &t : list)
        if (t.index == index) return true;
    return false;
  }
  void count(int ct, uint64_t s, uint64_t f) {
    success[ct] += s, failure[ct] += f;
    changed(ct), fire();
  }
  void arm(int ct, const Trigger &t) {
    auto at = armed[ct].begin();
    while (at != armed[ct].end() && at->threshold <= t.threshold) ++at;
    armed[ct].insert(at, t);
    changed(ct), fire();
  }
};
struct Bench {
  VerilatedContext context;
  Vnic_ct *t;
  std::vector<uint64_t> released;
  uint8_t memory[COUNTS * 16 + 16];
  std::deque<int> answers; // cycles until then
  unsigned slow = 50;      // percent of cycles in which transmitter and host take nothing
  int bad = 0, wrong = 0, counted = 0;
  uint64_t number = 0;

  Bench() {
#ifdef NIC_MUTANTS // mutate.sh
    std::string mutant = std::string("+mutant=") + (getenv("NIC_MUTANT") ? getenv("NIC_MUTANT") : "0");
    const char *words[] = {"ct", mutant.c_str()};
    context.commandArgs(2, words);
#endif
    t = new Vnic_ct(&context);
    memset(memory, 0, sizeof memory);
    t->rst_ni = 0;
    for (int i = 0; i < 4; i++) t->clk_i = i & 1, t->eval();
    t->rst_ni = 1;
  }
  ~Bench() { t->final(), delete t; }
  void cycle() {
    t->cmd_ready_i = (uint8_t)(chance(slow) ? 0 : 1 + test_below(3));
    t->req_done_i = 0, t->resp_i = 0;
    if (!answers.empty() && --answers.front() <= 0) t->resp_i = 1, answers.pop_front();
    t->clk_i = 0, t->eval();
    if (t->req_valid_o && !chance(slow)) { // address and data are taken
      t->req_done_i = 1, answers.push_back(1 + (int)test_below(9));
      for (unsigned k = 0; k < 32; k++)
        if (t->strb_o >> k & 1)
          memory[t->req_addr_o + k - COPIES] = (uint8_t)(t->beat_o[k / 4] >> k % 4 * 8);
      t->eval();
    }
    if (t->cmd_valid_o & t->cmd_ready_i) {
      const uint64_t user = (t->cmd_o[14] | (uint64_t)t->cmd_o[15] << 32) & 0xFFFFFFFFFFFFu;
      wrong += t->cmd_valid_o != 1 << (user & 1); // even users are of class 0
      released.push_back(user);
    }
    counted = t->count_valid_i && t->count_ready_o;
    bad += t->bad_o;
    t->clk_i = 1, t->eval();
    t->ct_we_i = t->trg_we_i = 0;
  }
  void write(bool trigger, int offset, uint32_t value) {
    t->ct_we_i = !trigger, t->trg_we_i = trigger, t->reg_addr_i = (uint16_t)offset;
    t->reg_wdata_i = value;
    cycle();
  }
  uint32_t read(bool trigger, int offset) {
    t->reg_addr_i = (uint16_t)offset, t->clk_i = 0, t->eval();
    return trigger ? t->trg_rdata_o : t->ct_rdata_o;
  }
  uint64_t value(int ct, int half) {
    return read(false, 32 * ct + half) | (uint64_t)read(false, 32 * ct + half + 4) << 32;
  }
  bool busy() { return read(true, 0x50) & 1; }
  void settle() {
    for (int i = 0; busy(); i++) {
      if (i > 100000) exit(2);
      cycle();
    }
  }
  void rest() {
    for (int i = 0; !t->idle_o; i++) {
      if (i > 100000) exit(2);
      cycle();
    }
  }
  void arm(int ct, const Trigger &x) {
    cosim_command c;
    uint32_t words[16];
    memset(&c, 0, sizeof c);
    c.kind = x.kind, c.user = x.user, c.ct = x.target;
    c.operand[0] = x.success, c.operand[1] = x.failure;
    cosim_command_pack(&c, words);
    for (int i = 0; i < 16; i++) write(true, 4 * i, words[i]);
    write(true, 0x40, (uint32_t)x.threshold), write(true, 0x44, (uint32_t)(x.threshold >> 32));
    write(true, 0x48, (uint32_t)x.index | (uint32_t)ct << 16 | (uint32_t)(x.user & 1) << 20);
  }
  void count(int ct, uint32_t success, bool failure) {
    t->count_valid_i = 1, t->count_ct_i = (uint8_t)ct, t->count_success_i = success;
    t->count_failure_i = failure;
    do cycle();
    while (!counted);
    t->count_valid_i = 0;
  }
  bool armed(int index) { return read(true, 0x60 + 4 * (index / 32)) >> index % 32 & 1; }
};
static Trigger random_trigger(Bench &b, int index, int below, uint64_t around) {
  Trigger x;
  x.index = index, x.user = b.number++, x.target = (int)test_below((uint64_t)below);
  x.kind = chance(60) ? COSIM_KIND_PUT : chance(70) ? COSIM_KIND_CT_INC : COSIM_KIND_CT_SET;
  x.success = test_below(4), x.failure = chance(20) ? test_below(3) : 0;
  x.threshold = around + test_below(12);
  return x;
}
static void what_is_released_is_what_the_rules_say(void) {
  uint64_t all = 0;
  for (int round = 0; round < 12; round++) {
    Bench b;
    Rules r;
    const int counts = 1 + (int)test_below(4); /* few, so that chains are long */
    b.slow = (unsigned)test_below(90);
    for (int c = 0; c < counts; c++) {
      b.write(false, 32 * c + 0x10, COPIES + 16u * (unsigned)c);
      if (chance(50)) { /* counts may pass 2^32 */
        r.success[c] = 0xFFFFFFFDu;
        b.write(false, 32 * c, 0xFFFFFFFDu), b.settle();
      }
    }
    for (int i = 0; i < 400; i++) {
      const int ct = (int)test_below((uint64_t)counts), index = (int)test_below(TRIGGERS);
      if (chance(45)) {
        const Trigger x = random_trigger(b, index, counts, r.success[ct] + r.failure[ct]);
        if (b.armed(index) && !r.waits(index)) b.rest(); /* it is released: until it is sent */
        const bool taken = b.armed(index);
        b.bad = 0;
        b.arm(ct, x), b.settle();
        CHECK(b.bad == taken);
        if (!taken) r.arm(ct, x);
      } else if (chance(90)) {
        const uint32_t n = (uint32_t)test_below(4);
        const bool failed = chance(15);
        b.count(ct, failed ? 0 : n, failed), b.settle();
        r.count(ct, failed ? 0 : n, failed);
      } else if (chance(40)) { /* the host adds, or takes away */
        const int n = (int)test_below(6) - 2, half = chance(25);
        b.write(false, 32 * ct + 0x18 + 4 * half, (uint32_t)n), b.settle();
        r.count(ct, half ? 0 : (uint64_t)(int64_t)n, half ? (uint64_t)(int64_t)n : 0);
      } else if (chance(70)) { /* the host writes one half of one count */
        const uint32_t value = (uint32_t)r.success[ct] + (uint32_t)test_below(6);
        b.write(false, 32 * ct, value), b.settle();
        r.success[ct] = (r.success[ct] & ~0xFFFFFFFFull) | value;
        r.changed(ct), r.fire();
      } else {
        b.write(true, 0x4C, (uint32_t)ct), b.settle();
        r.armed[ct].clear();
      }
      for (int c = 0; c < counts; c++)
        CHECK(b.value(c, 0) == r.success[c] && b.value(c, 8) == r.failure[c]);
    }
    for (int c = 0; c < counts; c++) /* what the host has written itself is not copied to it */
      b.count(c, 0, false), b.settle(), r.count(c, 0, false);
    b.rest();
    for (int c = 0; c < counts; c++) {
      uint64_t copy[2];
      memcpy(copy, b.memory + 16 * c, sizeof copy);
      CHECK(copy[0] == r.success[c] && copy[1] == r.failure[c]);
      for (const Trigger &x : r.armed[c]) CHECK(b.armed(x.index));
    }
    int waiting = 0, armed = 0;
    for (int i = 0; i < TRIGGERS; i++) armed += b.armed(i);
    for (int c = 0; c < counts; c++) waiting += (int)r.armed[c].size();
    CHECK(armed == waiting && b.wrong == 0 && b.released == r.released);
    all += r.released.size();
  }
  printf("  %d messages released\n", (int)all);
  CHECK(all > 500);
}
// Counters count while the host arms triggers and the transmitter is slow: each is released once; those of one counter
// that were armed before it counted, in order of threshold
static void nothing_is_lost_when_all_is_at_once(void) {
  for (int round = 0; round < 6; round++) {
    Bench b;
    std::vector<uint64_t> thresholds;
    std::vector<int> of;
    uint64_t counts[COUNTS] = {0};
    b.slow = (unsigned)(round * 18);
    for (int i = 0; i < TRIGGERS; i++) {
      Trigger x = random_trigger(b, i, COUNTS, 0);
      const int ct = (int)test_below(3);
      x.kind = COSIM_KIND_GET, x.threshold = 1 + test_below(40), b.arm(ct, x);
      thresholds.push_back(x.threshold), of.push_back(ct);
    }
    b.settle();
    CHECK(b.released.empty());
    for (int done = 0, next = -1; done < 180;) {
      if (next < 0) next = (int)test_below(3);
      b.t->count_valid_i = 1, b.t->count_ct_i = (uint8_t)next, b.t->count_success_i = 1;
      b.t->count_failure_i = 0;
      if (chance(20)) /* of a counter that nothing waits for */
        b.write(false, 32 * 9, (uint32_t)test_rand());
      else
        b.cycle();
      if (b.counted) counts[next]++, next = -1, done++;
    }
    b.t->count_valid_i = 0;
    b.rest();
    std::vector<int> times(TRIGGERS, 0);
    std::vector<std::vector<uint64_t>> order(3);
    for (uint64_t user : b.released)
      times[user]++, order[(size_t)of[user]].push_back(thresholds[user] << 32 | user);
    for (int i = 0; i < TRIGGERS; i++) CHECK(times[i] == (thresholds[i] <= counts[of[i]]));
    for (auto &o : order)
      for (size_t k = 1; k < o.size(); k++) CHECK(o[k - 1] < o[k]);
    for (int c = 0; c < 3; c++) CHECK(b.value(c, 0) == counts[c]);
  }
}
// What the host gives too fast, for entries that are none, or for those that wait, is refused and said
static void what_is_refused_is_said(void) {
  Bench b;
  Trigger x = random_trigger(b, TRIGGERS, 1, 9);
  b.arm(0, x), b.settle();
  CHECK(b.bad == 1);
  x.index = 0, x.kind = COSIM_KIND_PUT, x.threshold = 9;
  b.arm(0, x), b.settle();
  CHECK(b.bad == 1 && b.armed(0));
  b.count(0, 9, false), b.slow = 100, b.settle();
  for (int i = 0; i < 50; i++) b.cycle();
  CHECK(b.armed(0) && b.released.empty()); /* released, not sent: its entry is not free */
  b.arm(0, x), b.settle();
  CHECK(b.bad == 2);
  b.slow = 0, b.rest();
  CHECK(!b.armed(0) && b.released.size() == 1);
}
// Counting goes on at one per cycle while no trigger is due, and a release takes two
static void how_long_it_takes(void) {
  Bench b;
  b.slow = 0;
  int cycles = 0;
  b.t->count_valid_i = 1, b.t->count_ct_i = 3, b.t->count_success_i = 1, b.t->count_failure_i = 0;
  for (int n = 0; n < 20; cycles++) b.cycle(), n += b.counted;
  b.t->count_valid_i = 0;
  CHECK(cycles == 20);
  for (int i = 0; i < TRIGGERS; i++) {
    Trigger x = random_trigger(b, i, 1, 0);
    x.kind = COSIM_KIND_PUT, x.threshold = 100, b.arm(3, x);
  }
  b.settle();
  b.count(3, 100, false);
  for (cycles = 0; b.busy(); cycles++) b.cycle();
  printf("  %d triggers of one threshold leave their list in %d cycles\n", (int)TRIGGERS, cycles);
  CHECK(cycles <= 2 * TRIGGERS + 3);
  b.rest();
  CHECK(b.released.size() == TRIGGERS);
  for (size_t i = 0; i < TRIGGERS; i++) CHECK(b.released[i] == i);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_is_released_is_what_the_rules_say);
  RUN(nothing_is_lost_when_all_is_at_once);
  RUN(what_is_refused_is_said);
  RUN(how_long_it_takes);
  return TEST_END();
}
