// A switch of four ports and two virtual channels under random traffic: every packet arrives once and whole where and
// in the channel that the tables say, in the order of its sender, messages are not mixed, no credit is lost or made, and
// everybody has a turn. Requests that nobody takes stop no response. Four such switches in a ring block each
// other, unless packets change their channel at one of its cables.
#include <deque>
#include <map>
#include <memory>
#include <vector>
#include "Vnic_switch.h"
#include "rtl/coverage.h"
#include "rtl/nic_cosim.h"
#include "tests/test.h"
#include "verilated.h"

enum { PORTS = 4, CHANNELS = 2, VNS = 4, LANES = VNS * CHANNELS, DEPTH = 16, NICS = 64 };
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
static cosim_packet packet_of(int from, int dst, int index, int count, int vn) {
  cosim_packet p;
  p.header = (uint32_t)from << 26 | (uint32_t)dst << 20 | (uint32_t)(index & 255) << 4 |
             (uint32_t)vn << 2 | (index == 0 ? 2u : 0) | (index == count - 1 ? 1u : 0);
  for (uint32_t &word : p.data) word = (uint32_t)test_rand();
  p.crc = crc_of(p);
  return p;
}

// The pins of one switch, port by port
struct Flit {
  bool valid = false, first = false;
  int lane = 0;
  uint32_t half = 0, word[8];
};
struct Switch {
  VerilatedContext context;
  std::unique_ptr<Vnic_switch> t;
  std::unique_ptr<Coverage> coverage;
  int channel[PORTS][PORTS]; // of a turn; -1: its own

  Switch() {
    context.traceEverOn(true);
#ifdef NIC_MUTANTS // mutate.sh
    std::string mutant =
        std::string("+mutant=") + (getenv("NIC_MUTANT") ? getenv("NIC_MUTANT") : "0");
    const char *words[] = {"switch", mutant.c_str()};
    context.commandArgs(2, words);
#endif
    t.reset(new Vnic_switch(&context));
    coverage.reset(new Coverage(*t, 1500));
    t->rst_ni = 0, low(), high(), low(), high(), t->rst_ni = 1;
    for (auto &row : channel)
      for (int &c : row) c = 0;
  }
  ~Switch() {
    coverage->save(context);
    t->final();
  }
  void low() { t->clk_i = 0, t->eval(), coverage->sample(); }
  void high() { t->clk_i = 1, t->eval(); }
  void route(int dst, int port) {
    t->route_we_i = 1, t->route_dst_i = (uint8_t)dst, t->route_port_i = (uint8_t)port;
    low(), high(), t->route_we_i = 0;
  }
  void turn(int from, int to, int to_channel) {
    t->turn_we_i = 1, t->turn_from_i = (uint8_t)from, t->turn_to_i = (uint8_t)to;
    t->turn_keep_i = to_channel<0, t->turn_channel_i = to_channel> 0;
    channel[from][to] = to_channel;
    low(), high(), t->turn_we_i = 0;
  }
  void put(int port, const Flit &f) {
    const unsigned bit = 1u << port;
    t->rx_valid_i = (uint8_t)((t->rx_valid_i & ~bit) | (f.valid ? bit : 0));
    t->rx_first_i = (uint8_t)((t->rx_first_i & ~bit) | (f.first ? bit : 0));
    if (!f.valid) return;
    t->rx_lane_i =
        (uint16_t)((t->rx_lane_i & ~(7u << (3 * port))) | (unsigned)f.lane << (3 * port));
    t->rx_half_i[port] = f.half;
    for (int w = 0; w < 8; w++) t->rx_flit_i[8 * port + w] = f.word[w];
  }
  Flit get(int port) {
    Flit f;
    f.valid = t->tx_valid_o >> port & 1, f.first = t->tx_first_o >> port & 1;
    f.lane = t->tx_lane_o >> (3 * port) & 7, f.half = t->tx_half_o[port];
    for (int w = 0; w < 8; w++) f.word[w] = t->tx_flit_o[8 * port + w];
    return f;
  }
  void give_credits(int port, unsigned lanes) {
    t->tx_credit_i = (t->tx_credit_i & ~(255u << (LANES * port))) | lanes << (LANES * port);
  }
  unsigned credits(int port) { return t->rx_credit_o >> (LANES * port) & 255; }
};
// Who sends packets of several lanes on one wire, and who joins what comes on one
struct Sender {
  std::deque<cosim_packet> queue[LANES];
  int credit[LANES], turn = 0, lane = 0, bad = 0;
  bool second = false;
  cosim_packet now;
  Sender() {
    for (int &c : credit) c = DEPTH;
  }
  int choose() { // a lane that has a packet and a credit, in turn
    for (int k = 1; k <= LANES; k++)
      if (!queue[(turn + k) % LANES].empty() && credit[(turn + k) % LANES] > 0)
        return (turn + k) % LANES;
    return -1;
  }
  Flit flit() { // of the packet that choose() or the one before began; now: it begins in this cycle
    Flit f;
    f.valid = true, f.first = !second, f.lane = lane, f.half = second ? now.crc : now.header;
    for (int w = 0; w < 8; w++) f.word[w] = now.data[8 * second + w];
    second = !second;
    return f;
  }
  void begin(int from) {
    lane = turn = from, credit[lane]--, now = queue[lane].front(), queue[lane].pop_front();
  }
  void credits(unsigned lanes) {
    for (int l = 0; l < LANES; l++)
      if (lanes >> l & 1 && ++credit[l] > DEPTH) bad++;
  }
  size_t waiting() const {
    size_t n = 0;
    for (const auto &q : queue) n += q.size();
    return n;
  }
};
struct Receiver {
  int held[LANES] = {0}, half = 0, bad = 0, lane = 0;
  cosim_packet now;
  bool take(const Flit &f) { // true: now is whole
    if (!f.valid) return false;
    if (f.first == (half != 0)) bad++;
    half = f.first;
    if (f.first) lane = f.lane;
    if (f.lane != lane) bad++;
    (f.first ? now.header : now.crc) = f.half;
    for (int w = 0; w < 8; w++) now.data[8 * !f.first + w] = f.word[w];
    return !f.first;
  }
  unsigned drain(unsigned percent, unsigned lanes) { // credits
    unsigned given = 0;
    for (int l = 0; l < LANES; l++)
      if (held[l] && lanes >> l & 1 && chance(percent)) held[l]--, given |= 1u << l;
    return given;
  }
};

struct Traffic {
  unsigned busy = 60, drain = 70; // percent: a sender has something, a receiver takes something
  int to = -1, packets = 6,
      lane = -1; // to: all messages leave by this port; packets: at most per message
  bool random_length = true;
  unsigned corrupt = 0;     // percent of packets
  unsigned drained = 0xFFu; // lanes that receivers take
};
struct Bench {
  Switch s;
  int route[NICS];
  Sender sender[PORTS];
  Receiver receiver[PORTS];
  int message_of[PORTS][LANES];
  uint64_t packets[PORTS] = {0}, busy[PORTS] = {0}, from[PORTS][PORTS] = {{0}};
  std::map<int, std::deque<cosim_packet>> expected; // by source port, its lane, and output
  uint64_t sent = 0, arrived = 0, bad = 0, broken = 0, dropped = 0, mixed = 0, lost = 0, in_lane[LANES] = {0},
           starved = 0; // turns of a sender that had packets of a lane and no credit for it
  uint32_t number = 0;

  Bench() {
    for (auto &row : message_of)
      for (int &m : row) m = -1;
    for (int d = 0; d < NICS; d++) route[d] = d % PORTS;
    for (int d = 0; d < NICS; d += 3) // half of the table is written
      s.route(d, route[d] = (int)test_below(PORTS));
    for (int p = 0; p < PORTS; p++) // a quarter stays as after reset
      for (int q = 0; q < PORTS; q++)
        if (chance(75)) s.turn(p, q, (int)test_below(3) - 1);
  }
  static int key(int from, int lane, int out) { return (from * LANES + lane) * PORTS + out; }

  void message(int port, const Traffic &how) {
    int dst;
    const int lane = how.lane < 0 ? (int)test_below(LANES) : how.lane;
    do dst = (int)test_below(NICS);
    while (how.to >= 0 && route[dst] != how.to);
    const int count = how.random_length ? 1 + (int)test_below((uint64_t)how.packets) : how.packets;
    for (int k = 0; k < count; k++) {
      cosim_packet p = packet_of(port, dst, k, count, lane % VNS);
      p.data[0] = number++, p.data[1] = (uint32_t)lane, p.crc = crc_of(p);
      sender[port].queue[lane].push_back(p);
    }
  }
  void send(int port, const Traffic &how) {
    Sender &one = sender[port];
    if (!one.second) {
      for (int l = 0; l < LANES; l++) starved += !one.queue[l].empty() && one.credit[l] == 0;
      const int lane = one.choose();
      if (lane < 0) return s.put(port, Flit());
      one.begin(lane);
      if (how.corrupt && chance(how.corrupt)) // of the payload: the switch drops it
        one.now.data[test_below(16)] ^= 1u << test_below(32), broken++;
      else
        expected[key(port, lane, route[one.now.header >> 20 & 63])].push_back(one.now), sent++;
    }
    s.put(port, one.flit());
  }
  void packet(int port) {
    Receiver &r = receiver[port];
    const cosim_packet &p = r.now;
    const int source = (int)(p.header >> 26) % PORTS, lane = (int)p.data[1] % LANES;
    const int channel = s.channel[source][port] < 0 ? lane / VNS : s.channel[source][port];
    std::deque<cosim_packet> &wanted = expected[key(source, lane, port)];
    bool good = crc_of(p) == p.crc && ++r.held[r.lane] <= DEPTH && !wanted.empty() &&
                r.lane == VNS * channel + lane % VNS;
    while (lost && good && wanted.size() > 1 && wanted.front().data[0] != p.data[0])
      wanted.pop_front();
    good = good && memcmp(&wanted.front(), &p, sizeof p) == 0;
    if (!good) bad++;
    if (!wanted.empty()) wanted.pop_front();
    int &message = message_of[port][r.lane];
    if (message >= 0 ? message != source * LANES + lane : !(p.header & 2)) mixed++;
    message = p.header & 1 ? -1 : source * LANES + lane;
    arrived++, packets[port]++, from[port][source]++, in_lane[r.lane]++;
  }
  void cycle(const Traffic &how) {
    for (int p = 0; p < PORTS; p++)
      send(p, how), s.give_credits(p, receiver[p].drain(how.drain, how.drained));
    s.low();
    for (unsigned drops = s.t->bad_o; drops; drops &= drops - 1) dropped++;
    for (int p = 0; p < PORTS; p++) {
      const Flit f = s.get(p);
      busy[p] += f.valid;
      if (receiver[p].take(f)) packet(p);
      sender[p].credits(s.credits(p));
    }
    s.high();
  }
  void run(int cycles, const Traffic &how) {
    for (int i = 0; i < cycles; i++) {
      for (int p = 0; p < PORTS; p++)
        if (sender[p].waiting() < 12 && chance(how.busy)) message(p, how);
      cycle(how);
    }
  }
  bool empties() { // all that is under way arrives, every credit is where it began
    Traffic none;
    none.drain = 100;
    for (int i = 0; i < 50000; i++) {
      cycle(none);
      bool rest = !s.t->idle_o;
      for (auto &one : sender)
        for (int l = 0; l < LANES; l++)
          rest = rest || !one.queue[l].empty() || one.credit[l] != DEPTH || one.second;
      for (auto &r : receiver)
        for (int held : r.held) rest = rest || held;
      if (!rest) return true;
    }
    return false;
  }
  uint64_t wrong() {
    uint64_t n = bad + mixed + dropped;
    for (int p = 0; p < PORTS; p++) n += (uint64_t)(sender[p].bad + receiver[p].bad);
    return n;
  }
  uint64_t all_busy() {
    uint64_t n = 0;
    for (uint64_t b : busy) n += b;
    return n;
  }
};

static void every_packet_arrives_once_in_order() {
  Bench b;
  static const Traffic ways[] = {{60, 70},  {100, 100},    {100, 20},
                                 {20, 100}, {100, 100, 3}, {100, 60, -1, 40}};
  for (const Traffic &how : ways) {
    b.run(4000, how);
    CHECK(b.empties());
    CHECK(b.sent == b.arrived && b.wrong() == 0);
  }
  for (auto &queue : b.expected) CHECK(queue.second.empty());
  printf("  %u packets by 4 ports, %u turns without credit\n", (unsigned)b.sent,
         (unsigned)b.starved);
  CHECK(b.sent > 10000 && b.starved > 1000);
  for (uint64_t n : b.in_lane) CHECK(n > 100);
}
static void what_is_broken_blocks_nobody() {
  Bench b;
  Traffic how;
  how.corrupt = 2, b.lost = 1; // a lost end keeps a lane of one output for a while
  b.run(30000, how);
  CHECK(b.empties());
  CHECK(b.broken > 50 && b.bad == 0 && b.sent == b.arrived && b.dropped == b.broken);
  printf("  %u packets, %u were broken\n", (unsigned)b.sent, (unsigned)b.broken);
}
static void links_are_kept_busy() {
  Bench b;
  Traffic how;
  how.busy = 100, how.drain = 100;
  for (int d = 0; d < NICS; d++) // port p sends to port p + 1 only
    b.s.route(d, b.route[d] = (d + 1) % PORTS);
  for (int i = 0; i < 4000; i++) {
    for (int p = 0; p < PORTS; p++)
      if (b.sender[p].waiting() < 24) how.to = (p + 1) % PORTS, b.message(p, how);
    b.cycle(how);
  }
  printf("  one to one: %.1f %% of the links' cycles", (double)b.all_busy() / (4000 * PORTS) * 100);
  CHECK(b.all_busy() > 4000 * PORTS * 95 / 100);
  Bench c;
  how = Traffic(), how.busy = how.drain = 100, how.packets = 1;
  c.run(8000, how);
  printf(", at random: %.1f %%\n", (double)c.all_busy() / (8000 * PORTS) * 100);
  CHECK(c.all_busy() > 8000 * PORTS * 50 / 100); /* heads wait, some ports get more than others */
}
static void all_inputs_have_their_turn() {
  Bench b;
  Traffic how;
  how.busy = how.drain = 100, how.to = 3, how.lane = 2, how.packets = 3, how.random_length = false;
  for (int p = 0; p < PORTS; p++) b.s.turn(p, 3, p % 2); // both channels of the output
  b.run(6000, how);
  uint64_t least = ~0ull, most = 0;
  for (uint64_t n : b.from[3]) least = n < least ? n : least, most = n > most ? n : most;
  printf("  all to one: %u to %u packets of each, %.1f %% of its link\n", (unsigned)least,
         (unsigned)most, (double)b.busy[3] / 60);
  CHECK(most - least <= 4 * 3 && b.busy[3] > 6000 * 95 / 100);
}
static void requests_that_nobody_takes_stop_no_response() {
  Bench b;
  Traffic how;
  how.busy = 100, how.drain = 100, how.drained = 0xAAu; // lanes of responses are the odd ones
  b.run(4000, how);
  how.busy = 0, b.run(1000, how); // until every request stands still
  const uint64_t before = b.arrived,
                 requests = b.in_lane[0] + b.in_lane[2] + b.in_lane[4] + b.in_lane[6];
  uint64_t responses = 0;
  for (int i = 0; i < 3000; i++) {
    for (int p = 0; p < PORTS; p++) {
      how.lane = 1 + 2 * (int)test_below(LANES / 2);
      if (b.sender[p].queue[1].size() + b.sender[p].queue[3].size() + b.sender[p].queue[5].size() +
              b.sender[p].queue[7].size() <
          12)
        b.message(p, how);
    }
    b.cycle(how);
  }
  for (int l = 1; l < LANES; l += 2) responses += b.in_lane[l];
  printf("  %u responses while %u requests were all that got through\n", (unsigned)responses,
         (unsigned)requests);
  CHECK(b.arrived - before > 3000 * PORTS / 2 * 40 / 100);
  CHECK(b.in_lane[0] + b.in_lane[2] + b.in_lane[4] + b.in_lane[6] == requests);
  CHECK(b.empties() && b.sent == b.arrived && b.wrong() == 0);
}

// A NIC at port 0 of each switch; port 1 leads to port 2 of the next one. Everybody sends to the second next
struct Ring {
  Switch s[PORTS];
  Sender nic[PORTS];
  Receiver end[PORTS];
  Flit wire[PORTS];
  unsigned back[PORTS] = {0}; // credits on the cable that leaves a switch
  uint64_t sent = 0, arrived = 0;

  explicit Ring(bool has_dateline) {
    for (int i = 0; i < PORTS; i++) {
      for (int d = 0; d < PORTS; d++) s[i].route(d, d == i ? 0 : 1);
      s[i].turn(2, 1,
                has_dateline && i == 0 ? 1 : -1); // the cable that enters switch 0 is the dateline
    }
  }
  void message(int i) {
    const int count = 20 + (int)test_below(40), vn = 2 * (int)test_below(2), dst = (i + 2) % PORTS;
    for (int k = 0; k < count; k++, sent++)
      nic[i].queue[vn].push_back(packet_of(i, dst, k, count, vn));
  }
  void cycle() {
    for (int i = 0; i < PORTS; i++) {
      Flit f;
      if (!nic[i].second) {
        const int lane = nic[i].choose();
        if (lane >= 0) nic[i].begin(lane), f = nic[i].flit();
      } else {
        f = nic[i].flit();
      }
      s[i].put(0, f), s[i].put(2, wire[(i + PORTS - 1) % PORTS]);
      s[i].give_credits(0, end[i].drain(100, 0xFFu)), s[i].give_credits(1, back[i]);
      s[i].low();
    }
    for (int i = 0; i < PORTS; i++) {
      wire[i] = s[i].get(1);
      back[(i + PORTS - 1) % PORTS] = s[i].credits(2);
      nic[i].credits(s[i].credits(0));
      if (end[i].take(s[i].get(0))) {
        arrived++, end[i].held[end[i].lane]++;
        if (end[i].lane >= VNS || (end[i].now.header >> 20 & 63) != (unsigned)i ||
            crc_of(end[i].now) != end[i].now.crc)
          end[i].bad++;
      }
      s[i].high();
    }
  }
  bool ends() {
    for (int i = 0; i < 6000; i++) {
      for (int k = 0; k < PORTS && i < 3000; k++)
        if (nic[k].waiting() < 60) message(k);
      cycle();
    }
    for (int quiet = 0; quiet < 3000 && arrived < sent; quiet++) {
      const uint64_t before = arrived;
      cycle();
      if (arrived != before) quiet = 0;
    }
    for (auto &e : end) CHECK(e.bad == 0);
    return arrived == sent;
  }
};
static void a_ring_of_switches_never_blocks_itself() {
  Ring open(true);
  CHECK(open.ends());
  printf("  %u of %u packets arrive with a dateline\n", (unsigned)open.arrived, (unsigned)open.sent);
  bool blocks = false; // what the second channel is for: without it most rings block, not each
  for (int tries = 0; tries < 20 && !blocks; tries++) {
    Ring closed(false);
    blocks = !closed.ends();
    printf("  %u of %u without\n", (unsigned)closed.arrived, (unsigned)closed.sent);
  }
  CHECK(blocks);
  for (auto &one : open.s) CHECK(one.t->idle_o);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_packet_arrives_once_in_order);
  RUN(what_is_broken_blocks_nobody);
  RUN(links_are_kept_busy);
  RUN(all_inputs_have_their_turn);
  RUN(requests_that_nobody_takes_stop_no_response);
  RUN(a_ring_of_switches_never_blocks_itself);
  return TEST_END();
}
