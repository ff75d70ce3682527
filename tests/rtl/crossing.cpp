// A link whose ends have clocks of their own, of any ratio and phase: each packet arrives once, whole, in order, no
// credit is lost or made; ends leave reset by their own clock, and enter it without one.
#include <cstring>
#include <deque>
#include <memory>
#include "Vcrossing.h"
#include "tests/test.h"
#include "verilated.h"

enum { LANES = 4, DEPTH = 8 };
struct Packet {
  uint32_t tag, data[16];
};
struct Link {
  VerilatedContext context;
  Vcrossing t{&context};
  uint64_t now = 0, next[2], period[2];
  std::deque<Packet> queue[LANES], way[LANES];
  uint64_t sent = 0, arrived = 0, bad = 0;
  unsigned take = 100; // percent of the second clock's cycles in which a packet is taken
  Link(uint64_t a, uint64_t b) {
    period[0] = a, period[1] = b, next[0] = test_below(a) + 1, next[1] = test_below(b) + 1;
    t.rst_ni = 1, t.a_clk_i = t.b_clk_i = 0, t.eval();
    t.rst_ni = 0, t.eval();
  }
  ~Link() { t.final(); }
  void before(int side) { // inputs of the edge that comes, settled
    if (side == 0) {
      t.valid_i = 0;
      int lane = -1;
      for (int v = 0; v < LANES; v++)
        if (!queue[v].empty()) lane = lane < 0 || test_below(2) ? v : lane;
      if (lane < 0 || !t.a_up_o) return;
      t.valid_i = (uint8_t)(1u << lane), t.tag_i = queue[lane].front().tag;
      for (int i = 0; i < 16; i++) t.data_i[i] = queue[lane].front().data[i];
      t.eval();
      if (!(t.ready_o >> lane & 1)) return;
      way[lane].push_back(queue[lane].front()), queue[lane].pop_front(), sent++;
    } else {
      t.ready_i = 0;
      const unsigned lane = (unsigned)test_below(LANES);
      if (!(t.valid_o >> lane & 1) || test_below(100) >= take) return;
      t.ready_i = (uint8_t)(1u << lane), t.sel_i = (uint8_t)lane, t.eval();
      const bool good = !way[lane].empty() && (way[lane].front().tag | lane << 2) == t.tag_o &&
                        memcmp(way[lane].front().data, &t.data_o[0], sizeof way[lane].front().data) == 0;
      bad += !good, arrived++;
      if (!way[lane].empty()) way[lane].pop_front();
    }
  }
  void edge() { // the next one of either clock; both at once now and then
    const uint64_t at = next[0] < next[1] ? next[0] : next[1];
    bool up[2];
    for (int k = 0; k < 2; k++)
      if ((up[k] = next[k] == at)) before(k), next[k] += period[k];
    now = at;
    if (up[0]) t.a_clk_i = 1;
    if (up[1]) t.b_clk_i = 1;
    t.eval();
    bad += t.lost_o || t.error_o;
    t.a_clk_i = t.b_clk_i = 0, t.eval();
  }
  void run(uint64_t cycles) { // of the slower clock
    const uint64_t until = now + cycles * (period[0] > period[1] ? period[0] : period[1]);
    while (now < until) edge();
  }
  void put(int lane) {
    Packet p;
    for (uint32_t &word : p.data) word = (uint32_t)test_rand();
    p.tag = ((uint32_t)test_rand() & ~12u);
    queue[lane].push_back(p);
  }
};
static void packets_cross_whole_and_in_order() {
  for (int round = 0; round < 30; round++) {
    const uint64_t a = 100 + test_below(900), b = round % 3 ? 100 + test_below(900) : a;
    Link l(round % 5 ? a : a * 13, round % 7 ? b : b * 17);
    for (int i = 0; i < 4; i++) l.edge();
    l.t.rst_ni = 1;
    l.take = round % 2 ? 100 : 30;
    for (int i = 0; i < 200; i++) l.put((int)test_below(LANES));
    for (int i = 0; i < 1000 && l.arrived < 200; i++) l.run(20);
    l.run(40);
    CHECK(l.arrived == 200 && l.sent == 200 && l.bad == 0);
    // all credits are back: as many packets of one network leave as it has, while nobody takes any
    l.take = 0;
    for (int i = 0; i < 2 * DEPTH; i++) l.put(round % LANES);
    l.run(100);
    CHECK(l.sent == 200 + DEPTH && l.bad == 0);
  }
}
static void a_reset_begins_at_once_and_ends_with_the_clock() {
  Link l(100, 100);
  CHECK(!l.t.a_up_o && !l.t.b_up_o); // without an edge
  l.t.rst_ni = 1, l.t.eval();
  CHECK(!l.t.a_up_o && !l.t.b_up_o);
  for (int edge = 1; edge <= 3; edge++) { // the first end's alone
    l.t.a_clk_i = 1, l.t.eval(), l.t.a_clk_i = 0, l.t.eval();
    CHECK(l.t.a_up_o == (edge >= 2) && !l.t.b_up_o);
  }
  for (int edge = 1; edge <= 3; edge++) {
    l.t.b_clk_i = 1, l.t.eval(), l.t.b_clk_i = 0, l.t.eval();
    CHECK(l.t.b_up_o == (edge >= 2));
  }
  l.t.rst_ni = 0, l.t.eval();
  CHECK(!l.t.a_up_o && !l.t.b_up_o);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(packets_cross_whole_and_in_order);
  RUN(a_reset_begins_at_once_and_ends_with_the_clock);
  return TEST_END();
}
