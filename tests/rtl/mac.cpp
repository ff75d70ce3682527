// Two NICs' links behind Ethernet MACs: six clocks of any ratio that drift, MACs that keep waiting, frames that get lost or
// broken. Here is what the NICs and the MACs do; the host's time is simulated time, so that each time that comes back can
// be compared with the edge that it should name.
#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>
#include "Vmac.h"
#include "tests/test.h"
#include "verilated.h"

enum { LANES = 4, CREDITS = 24, BEAT_BYTES = 32 };
constexpr uint64_t To[2] = {0x021122334455, 0x02AABBCCDDEE};
struct Packet {
  uint32_t half[2], data[16];
};
struct Beat {
  unsigned char bytes[BEAT_BYTES];
  uint32_t keep;
  bool last, user;
};
struct Seen { // a packet on a stream: its first beat and its last
  Packet packet;
  uint64_t first, last;
};
struct Clock {
  uint64_t period, next, drift, count; // the period sways by drift
  uint64_t step() {                    // to the next edge
    const uint64_t k = count++ % 2000, sway = k < 1000 ? k : 2000 - k;
    return next += period + drift * sway / 1000;
  }
};
struct End { // one NIC and its MAC
  Vmac t;
  Clock host, stream;                          // stream: of what it sends
  std::deque<uint64_t> rx_edges;               // of the other end's clock, when they come here
  std::deque<uint64_t> host_edges;             // the last ones
  std::deque<Packet> queue[LANES], way[LANES]; // to be sent; sent, before they arrive at the other end
  std::deque<Packet> left;                     // sent, before their times are known
  std::deque<Seen> tx_seen, rx_seen;
  std::deque<Beat> wire;                       // to the other end
  std::vector<Beat> out_frame, in_frame;
  std::deque<unsigned> owed;                   // places here that are to be freed
  Packet out{}, in{};
  unsigned busy = 0, flit = 0; // flits of out that are still to be shown; of in that came
  unsigned credits[LANES] = {CREDITS, CREDITS, CREDITS, CREDITS};
  uint64_t sent = 0, arrived = 0, stamped = 0, bad = 0;
  uint64_t tx_first = 0, rx_first = 0, in_first = 0;
  bool was_waiting = false;
  Beat waiting{};
  End(VerilatedContext *context, const char *name) : t(context, name), host(), stream() {}
};
struct Pairing {
  VerilatedContext context;
  End end[2]{{&context, "a"}, {&context, "b"}};
  uint64_t now = 0;
  unsigned stall = 0, hurt = 0, pause = 0, take = 100; // percent: of tready, of frames, of pauses on the way in, of places freed
  uint64_t lost = 0, wrong = 0;    // packets that never came; times of another cycle

  Pairing(uint64_t host, uint64_t stream, uint64_t drift) {
#ifdef NIC_MUTANTS // mutate.sh
    const std::string mutant = std::string("+mutant=") + (getenv("NIC_MUTANT") ? getenv("NIC_MUTANT") : "0");
    const char *args[] = {"mac", mutant.c_str()};
    context.commandArgs(2, args);
#endif
    for (int k = 0; k < 2; k++) {
      End &e = end[k];
      e.host = Clock{host + test_below(host / 8 + 1), 1 + test_below(host), drift ? host / drift : 0, test_below(2000)};
      e.stream = Clock{stream + test_below(stream / 8 + 1), 1 + test_below(stream), drift ? stream / drift : 0, test_below(2000)};
      e.t.rst_ni = 1, e.t.eval();
      e.t.rst_ni = 0;
      e.t.mac_to_i = To[!k], e.t.mac_from_i = To[k], e.t.s_axis_tkeep = 0xFFFFFFFFu, e.t.eval();
    }
    run(8);
    for (End &e : end) e.t.rst_ni = 1, e.t.eval(), e.bad += e.t.up_o; // not before an edge
    run(4);
    for (End &e : end) e.bad += !e.t.up_o + !e.t.times_outside_o;
  }
  ~Pairing() {
    for (End &e : end) e.t.final();
  }
  // The last edge of the host's clock before the event, or at it: then the one before may be seen, too
  static bool names(const End &e, uint64_t stamp, uint64_t at) {
    for (size_t k = e.host_edges.size(); k-- > 0;) {
      if (e.host_edges[k] > at) continue;
      return stamp == e.host_edges[k] || (e.host_edges[k] == at && k && stamp == e.host_edges[k - 1]);
    }
    return false;
  }

  // ---- the NIC: what it shows in the cycle that ends with this edge, and what it sees -------------------------
  void host_edge(End &e, End &peer) {
    Vmac &t = e.t;
    t.tx_valid_i = e.busy > 0, t.tx_first_i = e.busy == 2;
    if (e.busy) {
      const unsigned second = e.busy == 1;
      t.tx_half_i = e.out.half[second];
      memcpy(&t.tx_flit_i[0], e.out.data + 8 * second, BEAT_BYTES);
    }
    t.rx_credit_i = 0;
    if (!e.owed.empty() && test_below(100) < take) t.rx_credit_i = (uint8_t)(1u << e.owed.front()), e.owed.pop_front();
    t.eval();
    if (e.busy) e.busy--;
    for (int v = 0; v < LANES; v++)
      if (t.tx_credit_o >> v & 1) e.bad += e.credits[v]++ >= CREDITS;
    if (e.busy == 0 && !t.tx_hold_o) { // as nic_link_tx does
      const int from = (int)test_below(LANES);
      for (int k = 0; k < LANES; k++) {
        const int v = (from + k) % LANES;
        if (e.queue[v].empty() || e.credits[v] == 0) continue;
        e.out = e.queue[v].front(), e.queue[v].pop_front();
        e.credits[v]--, e.busy = 2, e.sent++;
        e.left.push_back(e.out);
        break;
      }
    }
    if (t.tx_got_o) {
      e.stamped++;
      if (e.left.empty() || e.tx_seen.empty()) {
        e.bad++;
      } else {
        const Seen &is = e.tx_seen.front();
        e.bad += t.tx_got_pkt_o[16] != e.left.front().half[0] || memcmp(&t.tx_got_pkt_o[0], e.left.front().data, 64) ||
                 memcmp(&is.packet, &e.left.front(), sizeof is.packet);
        wrong += !names(e, t.tx_got_first_o, is.first) + !names(e, t.tx_got_last_o, is.last);
        e.left.pop_front(), e.tx_seen.pop_front();
      }
    }
    if (t.rx_valid_o) comes(e, peer);
    e.host_edges.push_back(now);
    if (e.host_edges.size() > 4000) e.host_edges.pop_front();
  }
  void comes(End &e, End &peer) {
    Vmac &t = e.t;
    const unsigned second = e.flit;
    e.in.half[second] = t.rx_half_o;
    memcpy(e.in.data + 8 * second, &t.rx_flit_o[0], BEAT_BYTES);
    const unsigned lane = e.in.half[0] >> 2 & 3;
    e.bad += t.rx_first_o == second || t.rx_vn_o != lane;
    if (!second) e.in_first = t.rx_time_o;
    e.flit ^= 1;
    if (!second) return;
    auto &way = peer.way[lane]; // those before it that never came are lost
    while (!way.empty() && memcmp(&way.front(), &e.in, sizeof e.in)) way.pop_front(), lost++;
    while (!e.rx_seen.empty() && memcmp(&e.rx_seen.front().packet, &e.in, sizeof e.in)) e.rx_seen.pop_front();
    e.arrived++;
    if (way.empty() || e.rx_seen.empty()) {
      e.bad++;
      return;
    }
    wrong += !names(e, e.in_first, e.rx_seen.front().first) + !names(e, t.rx_time_o, e.rx_seen.front().last);
    way.pop_front(), e.rx_seen.pop_front();
    e.owed.push_back(lane);
  }

  // ---- the MAC -----------------------------------------------------------------------------------------------
  void tx_edge(End &e) {
    Vmac &t = e.t;
    t.m_axis_tready = test_below(100) >= stall;
    t.eval();
    Beat b;
    memcpy(b.bytes, &t.m_axis_tdata[0], BEAT_BYTES);
    b.keep = t.m_axis_tkeep, b.last = t.m_axis_tlast, b.user = t.m_axis_tuser;
    if (e.was_waiting) // what is offered stays until it is taken
      e.bad += !t.m_axis_tvalid || memcmp(b.bytes, e.waiting.bytes, BEAT_BYTES) || b.last != e.waiting.last;
    e.was_waiting = t.m_axis_tvalid && !t.m_axis_tready, e.waiting = b;
    if (!t.m_axis_tvalid || !t.m_axis_tready) return;
    if (e.out_frame.empty()) e.tx_first = now;
    e.out_frame.push_back(b);
    if (b.last) leaves(e);
  }
  static bool is_full(const std::vector<Beat> &frame, Packet &packet) {
    if (frame.size() != 3 || frame[0].bytes[12] != 0x88 || frame[0].bytes[13] != 0xB5) return false;
    memcpy(packet.half, frame[0].bytes + 24, 8), memcpy(packet.data, frame[1].bytes, 32);
    memcpy(packet.data + 8, frame[2].bytes, 32);
    return true;
  }
  // The standard's order of bytes, and what the frame says; faults are on the way
  void leaves(End &e) {
    std::vector<Beat> &frame = e.out_frame;
    const unsigned char *p = frame[0].bytes;
    const int self = &e == &end[1];
    uint64_t to = 0, from = 0;
    for (int i = 0; i < 6; i++) to = to << 8 | p[i], from = from << 8 | p[6 + i];
    e.bad += to != To[!self] || from != To[self] || frame.size() != 3 || p[12] != 0x88 || (p[13] != 0xB5 && p[13] != 0xB6);
    for (const Beat &b : frame) e.bad += b.keep != 0xFFFFFFFFu || b.user;
    Packet packet;
    if (is_full(frame, packet)) {
      e.way[packet.half[0] >> 2 & 3].push_back(packet);
      e.tx_seen.push_back(Seen{packet, e.tx_first, now});
    }
    const uint64_t what = test_below(100) < hurt ? test_below(5) : 5;
    if (what == 0) frame.clear();
    if (what == 1) frame.back().user = true;
    if (what == 2) frame.pop_back(), frame.back().last = true;
    if (what == 3) frame.insert(frame.begin() + 1, frame[1]);
    if (what == 4) frame.back().keep = 0xFFFFFFu;
    for (const Beat &b : frame) e.wire.push_back(b);
    frame.clear();
  }
  void foreign(End &e, unsigned beats, uint16_t type) { // another frame on the wire
    for (unsigned i = 0; i < beats; i++) {
      Beat b;
      for (unsigned char &byte : b.bytes) byte = (unsigned char)test_rand();
      if (i == 0) b.bytes[12] = (unsigned char)(type >> 8), b.bytes[13] = (unsigned char)type;
      b.keep = i + 1 == beats && test_below(2) ? 0xFFFFu : 0xFFFFFFFFu, b.last = i + 1 == beats, b.user = false;
      e.wire.push_back(b);
    }
  }
  void rx_edge(End &e, End &peer) {
    Vmac &t = e.t;
    t.s_axis_tvalid = !peer.wire.empty() && test_below(100) >= pause;
    if (t.s_axis_tvalid) {
      const Beat b = peer.wire.front();
      peer.wire.pop_front();
      memcpy(&t.s_axis_tdata[0], b.bytes, BEAT_BYTES);
      t.s_axis_tkeep = b.keep, t.s_axis_tlast = b.last, t.s_axis_tuser = b.user;
      if (e.in_frame.empty()) e.rx_first = now;
      e.in_frame.push_back(b);
      Packet packet;
      if (b.last && is_full(e.in_frame, packet)) e.rx_seen.push_back(Seen{packet, e.rx_first, now});
      if (b.last) e.in_frame.clear();
    }
    t.eval();
  }

  // ---- time --------------------------------------------------------------------------------------------------
  void edge() {
    now = ~(uint64_t)0;
    for (End &e : end) {
      now = e.host.next < now ? e.host.next : now, now = e.stream.next < now ? e.stream.next : now;
      if (!e.rx_edges.empty() && e.rx_edges.front() < now) now = e.rx_edges.front();
    }
    for (int k = 0; k < 2; k++) {
      End &e = end[k], &peer = end[!k];
      const bool host = e.host.next == now, tx = e.stream.next == now, rx = !e.rx_edges.empty() && e.rx_edges.front() == now;
      if (rx) rx_edge(e, peer), e.rx_edges.pop_front();
      if (tx) tx_edge(e), peer.rx_edges.push_back(now + 3 * e.stream.period / 2), e.stream.step();
      if (host) host_edge(e, peer), e.host.step();
      e.t.clk_i = host, e.t.mac_tx_clk_i = tx, e.t.mac_rx_clk_i = rx, e.t.eval();
      if (host) e.t.time_i = now; // of the cycle that begins
      e.t.clk_i = e.t.mac_tx_clk_i = e.t.mac_rx_clk_i = 0, e.t.eval();
    }
  }
  void run(uint64_t cycles) { // of the slowest clock
    uint64_t period = 0;
    for (const End &e : end) period = std::max({period, e.host.period, e.stream.period});
    for (const uint64_t until = now + cycles * period; now < until;) edge();
  }
  void put(End &e, int lane) {
    Packet p;
    for (uint32_t &word : p.data) word = (uint32_t)test_rand();
    p.half[0] = ((uint32_t)test_rand() & ~12u) | (uint32_t)lane << 2, p.half[1] = (uint32_t)test_rand();
    e.queue[lane].push_back(p);
  }
  bool all_credits() const {
    for (const End &e : end)
      for (unsigned c : e.credits)
        if (c != CREDITS) return false;
    return true;
  }
};

static uint64_t bad_of(const Pairing &p) { return p.end[0].bad + p.end[1].bad; }
static void some_packets(Pairing &p, int count) {
  for (int i = 0; i < count; i++)
    for (End &e : p.end) p.put(e, (int)test_below(LANES));
}
static bool all_left(const Pairing &p, uint64_t count) {
  return p.end[0].stamped == count && p.end[1].stamped == count;
}

static void packets_cross_and_times_name_their_edges() {
  for (int round = 0; round < 24; round++) {
    const uint64_t host = 200 + test_below(800);
    // from one and a half times as fast as the slowest that the host's becomes to sixteen times slower
    const uint64_t stream = round % 4 == 0 ? host * 16 : host * 17 / 20 + (round % 4 == 1 ? 0 : test_below(4 * host));
    Pairing p(host, stream, round % 3 ? 9 + test_below(200) : 0);
    if (round == 3) // all edges at once
      for (End &e : p.end) e.host = e.stream = Clock{500, p.now + 500, 0, 0}, e.rx_edges.clear();
    p.stall = round % 5 == 1 ? 0 : (unsigned)test_below(80), p.pause = round % 2 ? 0 : 30;
    p.take = round % 3 ? 100 : 20;
    some_packets(p, 150);
    for (int i = 0; i < 400 && p.end[0].arrived + p.end[1].arrived < 300; i++) p.run(100);
    for (int i = 0; i < 200 && !(p.all_credits() && all_left(p, 150)); i++) p.run(20);
    CHECK(p.end[0].arrived == 150 && p.end[1].arrived == 150 && all_left(p, 150) && p.lost == 0 && bad_of(p) == 0);
    CHECK(p.wrong == 0 && p.all_credits());
  }
}
/* A frame waits in the middle, for longer than the host keeps its times: the first beat's is known before */
static void a_mac_that_stops_spoils_no_time() {
  Pairing p(400, 300, 50);
  some_packets(p, 60);
  p.stall = 100, p.run(600);
  CHECK(p.end[0].sent < 20 && p.end[1].sent < 20); // they hold the sender
  for (int i = 0; i < 40; i++) p.stall = i % 2 ? 100 : 0, p.run(i % 2 ? 150 : 1 + test_below(9));
  p.stall = 0, p.run(1500);
  CHECK(p.end[0].arrived == 60 && p.end[1].arrived == 60 && all_left(p, 60) && p.lost == 0);
  CHECK(bad_of(p) == 0 && p.wrong == 0 && p.all_credits());
}
/* Frames that are lost, broken, too short or too long take their packet with them, and no credit */
static void lost_frames_lose_no_credit() {
  for (int round = 0; round < 6; round++) {
    Pairing p(400, 300 + test_below(600), 40);
    p.hurt = round == 5 ? 100 : 30;
    some_packets(p, 400);
    p.run(round == 5 ? 400 : 3000);
    CHECK(bad_of(p) == 0 && p.wrong == 0 && p.end[0].arrived + p.end[1].arrived < 800);
    CHECK(round < 5 ? p.end[0].sent == 400 && p.end[1].sent == 400 : p.end[0].arrived == 0 && !p.all_credits());
    p.hurt = 0, p.run(round == 5 ? 3000 : 1); // the frame that comes by itself brings all credits back
    for (int i = 0; i < 30 && !p.all_credits(); i++) p.run(200);
    CHECK(p.all_credits() && all_left(p, 400) && bad_of(p) == 0 && p.wrong == 0);
  }
}
/* Too slow a host gets some of the packets, in order, and gives each place back */
static void a_slow_host_loses_packets_and_no_credit() {
  Pairing p(2000, 300, 40);
  p.end[0].host.period = 250, p.end[0].host.drift = 0; // the sender is fast
  for (int i = 0; i < 600; i++) p.put(p.end[0], (int)test_below(LANES));
  for (int i = 0; i < 40 && p.end[0].stamped < 600; i++) p.run(100);
  p.run(500);
  CHECK(p.end[0].stamped == 600 && p.end[1].arrived > 20 && p.end[1].arrived < 600);
  CHECK(bad_of(p) == 0 && p.wrong == 0 && p.all_credits());
}
static void foreign_frames_are_left_alone() {
  Pairing p(400, 420, 30);
  for (int i = 0; i < 120; i++) {
    some_packets(p, 1);
    p.foreign(p.end[0], 1 + (unsigned)test_below(5), i % 3 ? 0x0800 : 0x88CC), p.run(20);
  }
  p.run(300);
  CHECK(p.end[0].arrived == 120 && p.end[1].arrived == 120 && bad_of(p) == 0 && p.wrong == 0 && p.all_credits());
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(packets_cross_and_times_name_their_edges);
  RUN(a_mac_that_stops_spoils_no_time);
  RUN(lost_frames_lose_no_credit);
  RUN(a_slow_host_loses_packets_and_no_credit);
  RUN(foreign_frames_are_left_alone);
  return TEST_END();
}
