// A switch of eight ports under random traffic: every packet arrives once and whole where the table says, in the order
// of its sender, messages are not mixed, no credit is lost or made, and everybody has a turn.
#include <deque>
#include <map>
#include <vector>
#include "Vnic_switch.h"
#include "rtl/nic_cosim.h"
#include "tests/test.h"
#include "verilated.h"

enum { PORTS = 8, VNS = 4, DEPTH = 256, NICS = 64 }; // nic_switch's own defaults
static bool chance(unsigned percent) { return test_below(100) < percent; }
static uint32_t crc_of(const cosim_packet &p) { // as cosim_packet_crc, bit by bit
  uint32_t crc = 0xFFFFFFFFu;
  for (int w = 16; w >= 0; w--) {
    uint32_t word = w == 16 ? p.header : p.data[w];
    for (int bit = 31; bit >= 0; bit--)
      crc = (crc << 1) ^ (((crc >> 31) ^ (word >> bit & 1)) ? 0x1EDC6F41u : 0);
  }
  return crc;
}
struct Traffic {
  unsigned busy = 60, drain = 70; // percent: a sender has something, a receiver takes something
  int to = -1, packets = 6,
      vn = -1; // to: all messages leave by this port; packets: at most per message
  bool random_length = true;
  unsigned corrupt = 0; // percent of packets
};
struct Bench {
  VerilatedContext context;
  Vnic_switch *t;
  int route[NICS];
  struct Sender {
    std::deque<cosim_packet> queue[VNS];
    int credit[VNS] = {DEPTH, DEPTH, DEPTH, DEPTH}, flit = 0, turn = 0;
    cosim_packet now;
  } sender[PORTS];
  struct Receiver {
    int held[VNS] = {0, 0, 0, 0}, message_of[VNS] = {-1, -1, -1, -1}, half = 0;
    cosim_packet now;
    uint64_t packets = 0, busy = 0, from[PORTS] = {0};
  } receiver[PORTS];
  std::map<int, std::deque<cosim_packet>> expected; // by source port, virtual network and output
  uint64_t sent = 0, arrived = 0, bad = 0, broken = 0, mixed = 0, lost = 0,
           starved = 0; // turns of a sender that had packets of a network and no credit for it
  uint32_t number = 0;

  Bench() : t(new Vnic_switch(&context)) {
    t->rst_ni = 0;
    for (int i = 0; i < 4; i++) t->clk_i = i & 1, t->eval();
    t->rst_ni = 1;
    for (int d = 0; d < NICS; d++) route[d] = d % PORTS;
    for (int d = 0; d < NICS; d += 3) { // half of the table is written
      route[d] = (int)test_below(PORTS);
      t->route_we_i = 1, t->route_dst_i = (uint8_t)d, t->route_port_i = (uint8_t)route[d];
      t->clk_i = 0, t->eval(), t->clk_i = 1, t->eval();
    }
    t->route_we_i = 0;
  }
  ~Bench() { t->final(), delete t; }
  static int key(int from, int vn, int out) { return (from * VNS + vn) * PORTS + out; }

  void message(int from, const Traffic &how) {
    int dst, vn = how.vn < 0 ? (int)test_below(VNS) : how.vn;
    do dst = (int)test_below(NICS);
    while (how.to >= 0 && route[dst] != how.to);
    const int count = how.random_length ? 1 + (int)test_below((uint64_t)how.packets) : how.packets;
    for (int k = 0; k < count; k++) {
      cosim_packet p;
      p.header = (uint32_t)from << 26 | (uint32_t)dst << 20 | (uint32_t)k << 4 | (uint32_t)vn << 2 |
                 (k == 0 ? 2u : 0) | (k == count - 1 ? 1u : 0);
      for (uint32_t &word : p.data) word = (uint32_t)test_rand();
      p.data[0] = number++;
      p.crc = crc_of(p);
      sender[from].queue[vn].push_back(p);
    }
  }
  void send(int port, const Traffic &how) {
    Sender &s = sender[port];
    t->rx_valid_i &= (uint8_t) ~(1u << port), t->rx_first_i &= (uint8_t) ~(1u << port);
    if (s.flit == 0) {
      int vn = -1;
      for (int k = 0; k < VNS; k++) starved += !s.queue[k].empty() && s.credit[k] == 0;
      for (int k = 1; k <= VNS && vn < 0; k++)
        if (!s.queue[(s.turn + k) % VNS].empty() && s.credit[(s.turn + k) % VNS] > 0)
          vn = (s.turn + k) % VNS;
      if (vn < 0) return;
      s.turn = vn, s.credit[vn]--, s.now = s.queue[vn].front(), s.queue[vn].pop_front();
      if (how.corrupt && chance(how.corrupt)) { // of the payload: the switch drops it
        s.now.data[test_below(16)] ^= 1u << test_below(32), broken++;
      } else {
        expected[key(port, vn, route[s.now.header >> 20 & 63])].push_back(s.now), sent++;
      }
      t->rx_first_i |= (uint8_t)(1u << port);
    }
    t->rx_valid_i |= (uint8_t)(1u << port);
    const unsigned vn = s.now.header >> 2 & 3;
    t->rx_vn_i = (uint16_t)((t->rx_vn_i & ~(3u << (2 * port))) | vn << (2 * port));
    t->rx_half_i[port] = s.flit ? s.now.crc : s.now.header;
    for (int w = 0; w < 8; w++) t->rx_flit_i[8 * port + w] = s.now.data[8 * s.flit + w];
    s.flit ^= 1;
  }
  void packet(int port) {
    Receiver &r = receiver[port];
    const cosim_packet &p = r.now;
    const int vn = (int)(p.header >> 2 & 3), from = (int)(p.header >> 26);
    std::deque<cosim_packet> &wanted = expected[key(from % PORTS, vn, port)];
    bool good = from < PORTS && crc_of(p) == p.crc && ++r.held[vn] <= DEPTH && !wanted.empty();
    while (lost && good && wanted.size() > 1 && wanted.front().data[0] != p.data[0])
      wanted.pop_front();
    good = good && memcmp(&wanted.front(), &p, sizeof p) == 0;
    if (!good) bad++;
    if (!wanted.empty()) wanted.pop_front();
    if (r.message_of[vn] >= 0 ? r.message_of[vn] != from : !(p.header & 2)) mixed++;
    r.message_of[vn] = p.header & 1 ? -1 : from;
    arrived++, r.packets++;
    if (from < PORTS) r.from[from]++;
  }
  void receive(int port) {
    Receiver &r = receiver[port];
    if (!(t->tx_valid_o >> port & 1)) return;
    const bool first = t->tx_first_o >> port & 1;
    if (first == (r.half != 0)) bad++;
    r.half = first, r.busy++;
    (first ? r.now.header : r.now.crc) = t->tx_half_o[port];
    for (int w = 0; w < 8; w++) r.now.data[8 * !first + w] = t->tx_flit_o[8 * port + w];
    if (!first) packet(port);
  }
  void cycle(const Traffic &how) {
    t->tx_credit_i = 0;
    for (int p = 0; p < PORTS; p++) {
      send(p, how);
      for (int v = 0; v < VNS; v++)
        if (receiver[p].held[v] && chance(how.drain))
          receiver[p].held[v]--, t->tx_credit_i |= 1u << (4 * p + v);
    }
    t->clk_i = 0, t->eval();
    for (int p = 0; p < PORTS; p++) {
      receive(p);
      for (int v = 0; v < VNS; v++)
        if (t->rx_credit_o >> (4 * p + v) & 1 && ++sender[p].credit[v] > DEPTH) bad++;
    }
    t->clk_i = 1, t->eval();
  }
  void run(int cycles, const Traffic &how) {
    for (int i = 0; i < cycles; i++) {
      for (int p = 0; p < PORTS; p++)
        if (sender[p].queue[0].size() + sender[p].queue[1].size() + sender[p].queue[2].size() +
                    sender[p].queue[3].size() <
                12 &&
            chance(how.busy))
          message(p, how);
      cycle(how);
    }
  }
  bool empties() { // all that is under way arrives, every credit is where it began
    Traffic none;
    none.drain = 100;
    for (int i = 0; i < 200000; i++) {
      cycle(none);
      bool rest = !t->idle_o;
      for (auto &s : sender)
        for (int v = 0; v < VNS; v++)
          rest = rest || !s.queue[v].empty() || s.credit[v] != DEPTH || s.flit;
      for (auto &r : receiver)
        for (int v = 0; v < VNS; v++) rest = rest || r.held[v];
      if (!rest) return true;
    }
    return false;
  }
};

static void every_packet_arrives_once_in_order() {
  Bench b;
  static const Traffic ways[] = {{60, 70},  {100, 100},    {100, 20},
                                 {20, 100}, {100, 100, 3}, {100, 60, -1, 40}};
  for (const Traffic &how : ways) {
    b.run(how.drain < 50 ? 20000 : 4000, how); // slow receivers: until the buffers are full
    CHECK(b.empties());
    CHECK(b.sent == b.arrived && b.bad == 0 && b.mixed == 0);
  }
  for (auto &queue : b.expected) CHECK(queue.second.empty());
  printf("  %u packets by 8 ports, %u turns without credit\n", (unsigned)b.sent, (unsigned)b.starved);
  CHECK(b.sent > 20000 && b.starved > 1000);
}
static void what_is_broken_blocks_nobody() {
  Bench b;
  Traffic how;
  how.corrupt = 2, b.lost = 1; // a lost end keeps a virtual network of one output for a while
  b.run(30000, how);
  CHECK(b.empties());
  CHECK(b.broken > 100 && b.bad == 0 && b.sent == b.arrived);
  printf("  %u packets, %u were broken\n", (unsigned)b.sent, (unsigned)b.broken);
}
static void links_are_kept_busy() {
  Bench b;
  Traffic how;
  how.busy = 100, how.drain = 100;
  for (int d = 0; d < NICS; d++) { // port p sends to port p + 1 only
    b.route[d] = (d + 1) % PORTS;
    b.t->route_we_i = 1, b.t->route_dst_i = (uint8_t)d, b.t->route_port_i = (uint8_t)b.route[d];
    b.cycle(Traffic());
  }
  b.t->route_we_i = 0;
  for (int i = 0; i < 4000; i++) {
    for (int p = 0; p < PORTS; p++)
      if (b.sender[p].queue[0].size() < 8) how.to = (p + 1) % PORTS, b.message(p, how);
    b.cycle(how);
  }
  uint64_t busy = 0;
  for (auto &r : b.receiver) busy += r.busy;
  printf("  one to one: %.1f %% of the links' cycles", (double)busy / (4000 * PORTS) * 100);
  CHECK(busy > 4000 * PORTS * 95 / 100);
  Bench c;
  how = Traffic(), how.busy = how.drain = 100, how.packets = 1;
  c.run(8000, how);
  busy = 0;
  for (auto &r : c.receiver) busy += r.busy;
  printf(", at random: %.1f %%\n", (double)busy / (8000 * PORTS) * 100);
  CHECK(busy >
        8000 * PORTS * 50 / 100); /* heads wait, and the table loads some ports more than others */
}
static void all_inputs_have_their_turn() {
  Bench b;
  Traffic how;
  how.busy = how.drain = 100, how.to = 5, how.vn = 2, how.packets = 3, how.random_length = false;
  b.run(6000, how);
  uint64_t least = ~0ull, most = 0;
  for (uint64_t n : b.receiver[5].from) least = n < least ? n : least, most = n > most ? n : most;
  printf("  all to one: %u to %u packets of each, %.1f %% of its link\n", (unsigned)least,
         (unsigned)most, (double)b.receiver[5].busy / 60);
  CHECK(most - least <= 2 * 3 && b.receiver[5].busy > 6000 * 95 / 100);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_packet_arrives_once_in_order);
  RUN(what_is_broken_blocks_nobody);
  RUN(links_are_kept_busy);
  RUN(all_inputs_have_their_turn);
  return TEST_END();
}
