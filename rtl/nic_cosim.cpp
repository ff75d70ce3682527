// Behind nic_cosim.h: Verilated NICs, their host buses, and what is between them: an ideal crossbar, or cables and
// Verilated switches.
#include "nic_cosim.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>
#ifdef COSIM_WATCHED // the model with waveforms alone: it watches its buses
#  include "Vnic_wave.h"
using Vnic_top = Vnic_wave;
#else
#  include "Vnic_top.h"
#endif
#include "verilated.h"
#ifdef COSIM_TWO_MODELS // one without waveforms, as their hooks take time even while none is saved, and one with
#  include "Vnic_wave.h"
#endif
#ifdef COSIM_SWITCHES // desc.net
#  include "Vnic_switch.h"
#endif
#ifdef COSIM_MAC // desc.mac
#  include "Vmac.h"
#endif
#ifdef COSIM_TRACE
#  include "nic_cosim_waves.h"
#endif
#ifdef NIC_COVERED
#  include "rtl/coverage.h"
#endif

namespace {
constexpr int kLinkDepth = 256; // packets per virtual network, as nic_top's LinkDepth
int header_dst(uint32_t h) { return h >> 20 & 63; }
int header_vn(uint32_t h) { return h >> 2 & 3; }
constexpr int kLanes = 4 * COSIM_CHANNELS; // 4 * channel + virtual network, as nic_switch's

struct Mmio {
  int64_t at;
  uint32_t offset, value;
  uint8_t strobe;
  bool write;
};
struct HostRead {
  int64_t at;
  uint64_t addr;
  unsigned id, beats;
};
struct WriteAddress {
  uint64_t addr;
  unsigned id, beats;
};
struct WriteBeat {
  uint32_t data[8], strobe;
  bool last;
};
struct HostWrite { // a burst on its way into host memory
  int64_t at;
  uint64_t addr;
  unsigned id, beats = 0;
  WriteBeat beat[16];
};
struct Answer {
  unsigned id;
  bool bad;
};
struct Travel {
  int64_t at;
  cosim_packet packet;
  int channel; // of a cable between switches
};

// The pins of a model, whichever of the two it is
// clang-format off
#define PINS(X) \
  X(clk_i) X(rst_ni) X(idle_o) X(irq_o) X(ptm_req_o) X(ptm_rsp_i) X(ptm_came_i) X(ptm_stayed_i) \
  X(m_axi_arid) X(m_axi_araddr) X(m_axi_arlen) X(m_axi_arvalid) X(m_axi_arready) X(m_axi_rid) \
  X(m_axi_rdata) X(m_axi_rresp) X(m_axi_rlast) X(m_axi_rvalid) X(m_axi_rready) X(m_axi_awid) \
  X(m_axi_awaddr) X(m_axi_awlen) X(m_axi_awvalid) X(m_axi_awready) X(m_axi_wdata) \
  X(m_axi_wstrb) X(m_axi_wlast) X(m_axi_wvalid) X(m_axi_wready) X(m_axi_bid) X(m_axi_bresp) \
  X(m_axi_bvalid) X(m_axi_bready) X(s_axil_awaddr) X(s_axil_awvalid) X(s_axil_awready) \
  X(s_axil_wdata) X(s_axil_wstrb) X(s_axil_wvalid) X(s_axil_wready) X(s_axil_bready) \
  X(s_axil_araddr) X(s_axil_arvalid) X(s_axil_arready) X(s_axil_rdata) X(s_axil_rresp) \
  X(s_axil_rvalid) X(s_axil_rready) X(tx_credit_i) X(tx_valid_o) X(tx_first_o) X(tx_half_o) \
  X(tx_flit_o) X(rx_valid_i) X(rx_first_i) X(rx_vn_i) X(rx_half_i) X(rx_flit_i) X(rx_credit_o) \
  X(time_o) X(tx_hold_i) X(times_outside_i) X(rx_time_i) X(tx_got_i) X(tx_got_pkt_i) \
  X(tx_got_first_i) X(tx_got_last_i)
// clang-format on
struct Pins {
#define X(pin) decltype(Vnic_top::pin) pin;
  PINS(X)
#undef X
  virtual void eval() = 0;
  virtual void final() = 0;
#ifdef COSIM_TRACE
  virtual bool trace(Wave &wave) = 0;
#endif
  virtual ~Pins() = default;

protected:
  template <class Top>
  explicit Pins(Top &top)
      :
#define X(pin) pin(top.pin),
        PINS(X)
#undef X
            unused(0) {
  }
  char unused;
};
template <class Top> struct Held {
  Top top;
  explicit Held(VerilatedContext *context) : top(context) {}
};
template <class Top> struct Model final : Held<Top>, Pins {
  explicit Model(VerilatedContext *context) : Held<Top>(context), Pins(this->top) {}
  void eval() override { this->top.eval(); }
  void final() override { this->top.final(); }
#ifdef COSIM_TRACE
  bool trace(Wave &wave) override {
#  ifdef COSIM_TWO_MODELS
    if constexpr (std::is_same<Top, Vnic_top>::value)
      return (void)wave, false;
    else
#  endif
      return this->top.trace(&wave.trace, 99), true;
  }
#endif
};
#ifdef COSIM_MAC
struct MacBeat {
  int64_t at; // when it is on the stream
  uint32_t word[8];
  bool last, broken;
};
// What nic_top_mac has beside the NIC, and the way of its frames to the other one
struct Mac {
  std::unique_ptr<Vmac> v;
  int64_t tx_period = 0, rx_period = 0;
  int64_t tx_edge = 0, rx_edge = 0; // the next ones of its streams' clocks
  std::vector<MacBeat> out, in;     // frames that are not whole yet
  std::deque<MacBeat> way;
  int64_t on_way = 0; // packets that this NIC sent, which neither arrived nor got lost
};
#endif
struct Nic {
  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Pins> v;
#ifdef COSIM_MAC
  std::unique_ptr<Mac> mac;
#endif
#ifdef COSIM_TRACE
  std::unique_ptr<Wave> wave;
#endif
#ifdef NIC_COVERED
  std::unique_ptr<Coverage> coverage;
#endif
  int64_t trace_from = 0, trace_until = -1;
  std::deque<Mmio> mmio;
  // of the register access under way: what the NIC has taken, when data came first
  bool addr_taken = false, data_taken = false, addr_up = false, data_up = false;
  int64_t data_cycle = -1;
  bool read_done = false, read_error = false;
  uint32_t read_value = 0;
  int64_t read_cycle = 0;
  std::deque<HostRead> reads;
  std::deque<WriteAddress> write_addrs; // taken from the NIC, before they belong together
  std::deque<WriteBeat> write_beats;
  std::deque<HostWrite> writes;
  size_t writes_old = 0; // the first ones, from before a reset: they are not answered
  std::deque<Answer> answers;
  HostWrite gather; // gather.beats: beats there are of the oldest address
  uint64_t stall_random = 0;
  bool addr_first = false, read_shown = false, answer_shown = false; // shown: waits for its ready
  size_t read_pick = 0, answer_pick = 0;
  int64_t ptm_at = -1;    // when the answer to a request for the time comes
  uint32_t skip_rest = 0; // of cosim_skip: what is left of a unit, in 2^-32
  int irq = 0;
  uint32_t submitted[2] = {0, 0};
  // sending side: the packet that leaves, its way into the crossbar, credits on their way back
  cosim_packet out;
  int64_t out_cycle = 0;
  std::deque<Travel> lane[4];
  size_t lane_old[4] = {
      0, 0, 0, 0}; // the first ones of a lane, from before a reset: nobody wants their credits
  std::deque<int64_t> credit_back[4];
  // receiving side: what the crossbar sends to this NIC
  std::deque<Travel> injected;
  cosim_packet in;
  int in_flit = 2; // 0, 1: flit that goes out now; 2: none
  int in_vn = 0;   // the wires beside the packet, which no fault touches
  bool in_cut = false;
  int64_t in_cycle = 0;
  int credit[4] = {kLinkDepth, kLinkDepth, kLinkDepth, kLinkDepth};
  int locked[4] = {-1, -1, -1, -1};  // whose message is on this virtual network
  int64_t blocked[4] = {0, 0, 0, 0}; // by COSIM_DELAY
  bool delayed[4] = {false, false, false, false};
  int turn = 0, again = 0; // again: the packet is sent once more
  int waiting = 0;         // packets in the crossbar for this NIC
  // with switches: the cables' numbers; packets that come again, until there is a credit for them, and after
  int cable_out = -1, cable_in = -1;
  std::deque<cosim_packet> twice[4], again_now;
};
// One way of a cable between NICs and switches: packets on it, and credits on their way back to the sender
struct Cable {
  cosim_cable is;
  int64_t latency = 0;
  std::deque<Travel> packets;
  std::deque<int64_t> credits[kLanes];
  // at the ends: the packet that enters, the packet that leaves
  cosim_packet out, in;
  int64_t out_cycle = 0;
  int in_lane = 0;
  bool second = false; // in's second flit is next
};
#ifdef COSIM_SWITCHES
// After so many cycles in which nothing comes and nothing is there a switch's state stays: nic_xbar's Patience has passed
constexpr int64_t kSwitchRest = 1100;
struct Switch {
  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Vnic_switch> v;
  int cable_in[COSIM_SWITCH_PORTS], cable_out[COSIM_SWITCH_PORTS];
  int64_t awake = 0; // until then
};
#endif
} // namespace

struct cosim {
  cosim_desc desc;
  std::vector<Nic> nics;
  int64_t cycle = 0, link = 0, host_read = 0, host_write = 0, mmio = 0, fault_delay = 0;
  uint64_t random = 1;

  bool waits(Nic &n, unsigned percent);
  void host_side(Nic &n, int index);
  void host_readies(Nic &n);
  void host_takes(Nic &n);
  void host_writes(Nic &n, int index);
  void mmio_side(Nic &n);
  void mmio_takes(Nic &n);
  void ptm(Nic &n);
  void link_out(Nic &n, int index);
  void take(Nic &n, const cosim_packet &packet, cosim_fault fault);
  bool choose(Nic &n, int index);
  void link_in(Nic &n, int index);
  void link_credits(Nic &n);
  bool mac_create(const cosim_mac *mac);
  bool mac_gives(Nic &n);
  bool mac_takes(Nic &n, int index);
#ifdef COSIM_MAC
  void mac_sends(Nic &n, int index);
  void mac_frame(Mac &m, int index);
  void mac_receives(Nic &n, int index);
#endif
  bool net_create(const cosim_net *net);
  bool net_choose(Nic &n, int index);
  void net_credits(Nic &n);
  bool net_idle() const;
#ifdef COSIM_SWITCHES
  void switch_tables(const cosim_net *net, int number);
  bool switch_gets(Switch &s);
  void switch_gives(Switch &s);
  std::vector<Switch> switches;
#endif
  void net_step();
  std::vector<Cable> cables;
  uint64_t switch_drops = 0;
  void step();
  void at_once(uint32_t offset, bool write, std::vector<uint32_t> &values);
  void skip_clocks(uint64_t cycles);
  void host_forgets(Nic &n);
  void link_forgets(Nic &n, int index);
  void end_wave(Nic &n);
  bool wave_lost = false;
  int64_t trace_offset = 0;
};

// One throw of a NIC's dice: its channel waits in this cycle
bool cosim::waits(Nic &n, unsigned percent) {
  if (desc.stall == COSIM_STALL_NONE) return false;
  n.stall_random = n.stall_random * 6364136223846793005u + 1442695040888963407u;
  return (n.stall_random >> 33) % 100 < percent;
}

// Register accesses, one after the other: held at the pins until the NIC takes them
void cosim::mmio_side(Nic &n) {
  Pins &v = *n.v;
  v.s_axil_awvalid = v.s_axil_wvalid = v.s_axil_arvalid = 0;
  v.s_axil_bready = v.s_axil_rready = !waits(n, 50);
  if (n.mmio.empty() || n.mmio.front().at > cycle) return;
  const Mmio &m = n.mmio.front();
  if (m.write) {
    n.addr_up = n.addr_up || !waits(n, 50), n.data_up = n.data_up || !waits(n, 50);
    v.s_axil_awvalid = n.addr_up && !n.addr_taken, v.s_axil_wvalid = n.data_up && !n.data_taken;
    v.s_axil_awaddr = m.offset, v.s_axil_wdata = m.value, v.s_axil_wstrb = m.strobe;
  } else {
    n.addr_up = n.addr_up || !waits(n, 50);
    v.s_axil_arvalid = n.addr_up && !n.addr_taken, v.s_axil_araddr = m.offset;
  }
}
void cosim::mmio_takes(Nic &n) {
  Pins &v = *n.v;
  if (n.mmio.empty() || n.mmio.front().at > cycle) return;
  bool write = n.mmio.front().write, over = false;
  if (write) {
    n.addr_taken = n.addr_taken || (v.s_axil_awvalid && v.s_axil_awready);
    n.data_taken = n.data_taken || (v.s_axil_wvalid && v.s_axil_wready);
    over = n.addr_taken && n.data_taken; // posted: nobody waits for the answer
  } else {
    n.addr_taken = n.addr_taken || (v.s_axil_arvalid && v.s_axil_arready);
    if (v.s_axil_rvalid && n.data_cycle < 0) n.data_cycle = cycle;
    over = v.s_axil_rvalid && v.s_axil_rready;
    if (over) {
      n.read_value = v.s_axil_rdata, n.read_error = v.s_axil_rresp != 0, n.read_done = true;
      n.read_cycle = n.data_cycle - 1;
    }
  }
  if (!over) return;
  n.addr_taken = n.data_taken = n.addr_up = n.data_up = false, n.data_cycle = -1;
  n.mmio.pop_front();
}

// Which of the writes' channels are taken in this cycle. An adverse host wants to see both valids, or all
// the data, before it takes the address; or the address before any data.
void cosim::host_readies(Nic &n) {
  Pins &v = *n.v;
  v.m_axi_arready = !waits(n, 50), v.m_axi_awready = !waits(n, 50), v.m_axi_wready = !waits(n, 50);
  if (desc.stall != COSIM_STALL_ADVERSE) return;
  bool ahead = !n.write_addrs.empty(); // its address is taken, the data are not
  v.m_axi_arready &= v.m_axi_arvalid, v.m_axi_wready &= v.m_axi_wvalid;
  if (n.write_beats.empty() && !ahead && n.gather.beats == 0) n.addr_first = waits(n, 33);
  if (n.addr_first)
    v.m_axi_awready &= v.m_axi_awvalid && v.m_axi_wvalid, v.m_axi_wready &= ahead;
  else // address last
    v.m_axi_awready &= v.m_axi_awvalid && !n.write_beats.empty() && n.write_beats.back().last;
}

// Host memory: reads come back in order after their latency, one beat a cycle. Writes are posted: they are
// seen in order after theirs, so an event comes after the data before it.
void cosim::host_side(Nic &n, int index) {
  Pins &v = *n.v;
  host_readies(n);
  if (!n.read_shown && !n.reads.empty() && n.reads.front().at <= cycle && !waits(n, 40)) {
    n.read_shown = true, n.read_pick = 0;
    if (desc.stall == COSIM_STALL_ADVERSE) { // the oldest of any identifier
      size_t at = (size_t)(n.stall_random >> 40) % n.reads.size();
      for (size_t k = 0; k < at; k++)
        if (n.reads[k].id == n.reads[at].id) at = k;
      if (n.reads[at].at <= cycle) n.read_pick = at;
    }
    HostRead &r = n.reads[n.read_pick];
    uint32_t beat[8];
    int bad = desc.host.read(desc.host.ctx, index, r.addr, beat, sizeof beat);
    for (int i = 0; i < 8; i++) v.m_axi_rdata[i] = bad ? 0xBADBADBAu : beat[i];
    v.m_axi_rid = r.id, v.m_axi_rresp = bad ? 2 : 0, v.m_axi_rlast = r.beats == 1;
  }
  v.m_axi_rvalid = n.read_shown;
  if (!n.writes.empty() && n.writes.front().at <= cycle) host_writes(n, index);
  if (!n.answer_shown && !n.answers.empty() && !waits(n, 40)) {
    n.answer_shown = true, n.answer_pick = 0;
    if (desc.stall == COSIM_STALL_ADVERSE) {
      size_t at = (size_t)(n.stall_random >> 40) % n.answers.size();
      for (size_t k = 0; k < at; k++)
        if (n.answers[k].id == n.answers[at].id) at = k;
      n.answer_pick = at;
    }
    v.m_axi_bid = n.answers[n.answer_pick].id, v.m_axi_bresp = n.answers[n.answer_pick].bad ? 2 : 0;
  }
  v.m_axi_bvalid = n.answer_shown;
}
// The oldest burst reaches host memory, and is answered
void cosim::host_writes(Nic &n, int index) {
  const HostWrite &w = n.writes.front();
  bool bad = false;
  for (unsigned b = 0; b < w.beats; b++) {
    uint8_t bytes[32];
    for (int k = 0; k < 32; k++) bytes[k] = (uint8_t)(w.beat[b].data[k / 4] >> (k % 4 * 8));
    for (int k = 0; k < 32;) { // runs of enabled bytes
      int from = k;
      while (k < 32 && w.beat[b].strobe >> k & 1) k++;
      if (k > from && desc.host.write(desc.host.ctx, index, w.addr + 32 * b + (uint64_t)from,
                                      bytes + from, (size_t)(k - from)))
        bad = true;
      if (k == from) k++;
    }
  }
  if (n.writes_old)
    n.writes_old--;
  else
    n.answers.push_back(Answer{w.id, bad});
  n.writes.pop_front();
}
// The other end of the bus tells its time: simulated time, in ns. It answers after 20 ns, and hears no request
// meanwhile; what comes between two edges of the NIC's clock is seen at the next one.
void cosim::ptm(Nic &n) {
  Pins &v = *n.v;
  const int64_t stayed_ns = 20, period = desc.period_ps;
  v.ptm_rsp_i = n.ptm_at == cycle;
  if (v.ptm_rsp_i) n.ptm_at = -1;
  if (!v.ptm_req_o || n.ptm_at >= 0) return; // of the cycle before: nothing in between changes it
  const int64_t came_ns =
      (cycle * period + desc.ptm_ps + 999) / 1000; // rounded: the rest is its stay
  v.ptm_came_i = (uint64_t)came_ns, v.ptm_stayed_i = (uint32_t)stayed_ns;
  n.ptm_at = ((came_ns + stayed_ns) * 1000 + desc.ptm_ps + period - 1) / period;
}
// What the host takes in this cycle
void cosim::host_takes(Nic &n) {
  Pins &v = *n.v;
  if (v.m_axi_rvalid && v.m_axi_rready) {
    HostRead &r = n.reads[n.read_pick];
    r.addr += 32, n.read_shown = false;
    if (--r.beats == 0) n.reads.erase(n.reads.begin() + (std::ptrdiff_t)n.read_pick);
  }
  if (v.m_axi_bvalid && v.m_axi_bready)
    n.answers.erase(n.answers.begin() + (std::ptrdiff_t)n.answer_pick), n.answer_shown = false;
  if (v.m_axi_arvalid && v.m_axi_arready)
    n.reads.push_back(
        HostRead{cycle + host_read, v.m_axi_araddr, v.m_axi_arid, v.m_axi_arlen + 1u});
  if (v.m_axi_awvalid && v.m_axi_awready)
    n.write_addrs.push_back(WriteAddress{v.m_axi_awaddr, v.m_axi_awid, v.m_axi_awlen + 1u});
  if (v.m_axi_wvalid && v.m_axi_wready) {
    WriteBeat b;
    for (int i = 0; i < 8; i++) b.data[i] = v.m_axi_wdata[i];
    b.strobe = v.m_axi_wstrb, b.last = v.m_axi_wlast;
    n.write_beats.push_back(b);
  }
  while (!n.write_addrs.empty() &&
         !n.write_beats.empty()) { // the n-th data belong to the n-th address
    n.gather.beat[n.gather.beats++] = n.write_beats.front();
    n.write_beats.pop_front();
    if (n.gather.beats < n.write_addrs.front().beats) continue;
    n.gather.at = cycle + host_write;
    n.gather.addr = n.write_addrs.front().addr, n.gather.id = n.write_addrs.front().id;
    n.writes.push_back(n.gather);
    n.gather.beats = 0;
    n.write_addrs.pop_front();
  }
}

// A flit that leaves: after the link's latency its packet is at the crossbar, while the second flit
// is still on the way (cut-through)
void cosim::link_out(Nic &n, int index) {
  Pins &v = *n.v;
  if (!v.tx_valid_o) return;
  if (v.tx_first_o) {
    n.out.header = v.tx_half_o, n.out_cycle = cycle;
    for (int i = 0; i < 8; i++) n.out.data[i] = v.tx_flit_o[i];
    return;
  }
  n.out.crc = v.tx_half_o;
  for (int i = 0; i < 8; i++) n.out.data[8 + i] = v.tx_flit_o[i];
  if (desc.watch) desc.watch(desc.watch_ctx, index, 0, &n.out, n.out_cycle, cycle);
  int vn = header_vn(n.out.header), dst = header_dst(n.out.header);
  if (n.cable_out >= 0 && dst < desc.nic_count) {
    Cable &c = cables[(size_t)n.cable_out];
    c.packets.push_back(Travel{n.out_cycle + c.latency, n.out, 0});
    return;
  }
  if (dst >= desc.nic_count) { // nobody there: lost, the credit returns
    n.credit_back[vn].push_back(cycle + 2 * link);
    return;
  }
  n.lane[vn].push_back(Travel{n.out_cycle + link, n.out, 0});
  nics[dst].waiting++;
}

// The packet that enters a NIC next, with what happens to it on the last metre
void cosim::take(Nic &n, const cosim_packet &packet, cosim_fault fault) {
  n.in = packet, n.in_vn = header_vn(packet.header);
  n.in_cut = fault == COSIM_CUT;
  if (fault != COSIM_CORRUPT) return;
  random = random * 6364136223846793005u + 1442695040888963407u;
  unsigned bit = (unsigned)(random >> 33) % 576;
  (bit < 32 ? n.in.header : bit < 64 ? n.in.crc : n.in.data[bit / 32 - 2]) ^= 1u << (bit % 32);
}

// The next packet for a NIC: from sender and virtual network in turn, messages of one virtual
// network are not mixed. Faults happen here, on the last metre.
bool cosim::choose(Nic &n, int index) {
  int lanes = desc.nic_count * 4;
  for (int k = 0; k < lanes; k++) {
    int at = (n.turn + k) % lanes, src = at / 4, vn = at % 4;
    std::deque<Travel> &lane = nics[src].lane[vn];
    if (lane.empty() || lane.front().at > cycle || header_dst(lane.front().packet.header) != index)
      continue;
    if (n.credit[vn] == 0 || n.blocked[vn] > cycle || (n.locked[vn] >= 0 && n.locked[vn] != src))
      continue;
    const cosim_packet &packet = lane.front().packet;
    cosim_fault fault =
        desc.fault && !n.delayed[vn] ? desc.fault(desc.fault_ctx, src, index, &packet) : COSIM_PASS;
    n.delayed[vn] = fault == COSIM_DELAY;
    if (fault == COSIM_DELAY) {
      n.blocked[vn] = cycle + fault_delay;
      continue;
    }
    take(n, packet, fault);
    n.locked[vn] = packet.header & 1 ? -1 : src;
    n.again = fault == COSIM_DUPLICATE && n.credit[vn] > 1;
    n.turn = n.locked[vn] >= 0 ? at : (at + 1) % lanes;
    if (fault != COSIM_LOSE) n.credit[vn] -= 1 + n.again;
    if (nics[src].lane_old[vn])
      nics[src].lane_old[vn]--;
    else
      nics[src].credit_back[vn].push_back(cycle + link);
    lane.pop_front();
    n.waiting--;
    return fault != COSIM_LOSE;
  }
  return false;
}

void cosim::link_in(Nic &n, int index) {
  Pins &v = *n.v;
  v.rx_valid_i = 0;
  if (n.in_flit == 2) {
    if (n.again) {
      n.again = 0, n.in_flit = 0;
    } else if (!n.injected.empty() && n.credit[header_vn(n.injected.front().packet.header)] > 0) {
      n.credit[header_vn(n.injected.front().packet.header)]--;
      take(n, n.injected.front().packet, COSIM_PASS), n.in_flit = 0;
      n.injected.pop_front();
    } else if (n.cable_in >= 0 ? net_choose(n, index) : n.waiting && choose(n, index)) {
      n.in_flit = 0;
    }
  }
  if (n.in_flit == 0) {
    n.in_cycle = cycle;
    v.rx_valid_i = 1, v.rx_first_i = 1, v.rx_vn_i = n.in_vn, v.rx_half_i = n.in.header;
    for (int i = 0; i < 8; i++) v.rx_flit_i[i] = n.in.data[i];
    n.in_flit = 1;
  } else if (n.in_flit == 1) {
    n.in_flit = 2;
    if (n.in_cut) return;
    v.rx_valid_i = 1, v.rx_first_i = 0, v.rx_half_i = n.in.crc;
    for (int i = 0; i < 8; i++) v.rx_flit_i[i] = n.in.data[8 + i];
    if (desc.watch) desc.watch(desc.watch_ctx, index, 1, &n.in, n.in_cycle, cycle);
  }
}

// Credits that are back at the sender
void cosim::link_credits(Nic &n) {
  n.v->tx_credit_i = 0;
  for (int vn = 0; vn < 4; vn++) {
    auto &back = n.cable_out >= 0 && n.credit_back[vn].empty()
                     ? cables[(size_t)n.cable_out].credits[vn]
                     : n.credit_back[vn]; // with switches: of packets for nobody
    if (!back.empty() && back.front() <= cycle) n.v->tx_credit_i |= 1 << vn, back.pop_front();
  }
}

// ---- Ethernet MACs -------------------------------------------------------------------------
#ifdef COSIM_MAC
namespace {
// The packet in a frame, if it is one with a packet
bool mac_packet(const std::vector<MacBeat> &frame, cosim_packet &packet) {
  if (frame.size() != 3 || frame.back().broken || (frame[0].word[3] & 0xFFFF) != 0xB588)
    return false;
  packet.header = frame[0].word[6], packet.crc = frame[0].word[7];
  for (int i = 0; i < 16; i++) packet.data[i] = frame[1 + (size_t)i / 8].word[i % 8];
  return true;
}
} // namespace
// An edge of the clock with which a MAC takes frames of the NIC
void cosim::mac_sends(Nic &n, int index) {
  Mac &m = *n.mac;
  m.v->m_axis_tready = !waits(n, 30);
  m.v->eval();
  if (!m.v->m_axis_tvalid || !m.v->m_axis_tready) return;
  MacBeat beat = {m.tx_edge, {0}, m.v->m_axis_tlast != 0, false};
  for (int i = 0; i < 8; i++) beat.word[i] = m.v->m_axis_tdata[i];
  m.out.push_back(beat);
  if (beat.last) mac_frame(m, index), m.out.clear();
}
// A frame has left. The MAC at the other end marks one whose check sequence is wrong
void cosim::mac_frame(Mac &m, int index) {
  cosim_packet packet;
  cosim_fault fault = COSIM_PASS;
  if (mac_packet(m.out, packet)) {
    if (desc.watch)
      desc.watch(desc.watch_ctx, index, 0, &packet, m.out[0].at / desc.period_ps,
                 m.out[2].at / desc.period_ps);
    if (desc.fault) fault = desc.fault(desc.fault_ctx, index, 1 - index, &packet);
  }
  if (fault == COSIM_CORRUPT) m.out[1].word[0] ^= 1, m.out[2].broken = true;
  if (fault == COSIM_CUT) m.out.pop_back(), m.out.back().last = true;
  if (fault == COSIM_LOSE) m.out.clear();
  m.on_way -= fault == COSIM_CORRUPT || fault == COSIM_CUT || fault == COSIM_LOSE;
  for (MacBeat &beat : m.out) {
    beat.at = m.tx_edge + link * desc.period_ps;
    m.way.push_back(beat);
  }
}
// An edge of the clock with which it gives frames to the NIC
void cosim::mac_receives(Nic &n, int index) {
  Mac &m = *n.mac;
  std::deque<MacBeat> &way = nics[(size_t)(1 - index)].mac->way;
  m.v->s_axis_tvalid = !way.empty() && way.front().at <= m.rx_edge && !waits(n, 20);
  if (m.v->s_axis_tvalid) {
    MacBeat beat = way.front();
    way.pop_front();
    for (int i = 0; i < 8; i++) m.v->s_axis_tdata[i] = beat.word[i];
    m.v->s_axis_tlast = beat.last, m.v->s_axis_tuser = beat.broken;
    beat.at = m.rx_edge;
    m.in.push_back(beat);
    cosim_packet packet;
    if (beat.last && mac_packet(m.in, packet) && desc.watch)
      desc.watch(desc.watch_ctx, index, 1, &packet, m.in[0].at / desc.period_ps,
                 m.in[2].at / desc.period_ps);
    if (beat.last) m.in.clear();
  }
  m.v->eval();
}
#endif
// What a NIC sees of its MAC: all of it changes with the NIC's own clock. false: it has none
bool cosim::mac_gives(Nic &n) {
#ifdef COSIM_MAC
  if (!n.mac) return false;
  const Vmac &m = *n.mac->v;
  Pins &v = *n.v;
  v.rst_ni = m.up_o, v.times_outside_i = m.times_outside_o;
  v.tx_hold_i = m.tx_hold_o, v.tx_credit_i = m.tx_credit_o;
  v.tx_got_i = m.tx_got_o, v.tx_got_pkt_i = m.tx_got_pkt_o;
  v.tx_got_first_i = m.tx_got_first_o, v.tx_got_last_i = m.tx_got_last_o;
  v.rx_valid_i = m.rx_valid_o, v.rx_first_i = m.rx_first_o, v.rx_vn_i = m.rx_vn_o;
  v.rx_half_i = m.rx_half_o, v.rx_flit_i = m.rx_flit_o, v.rx_time_i = m.rx_time_o;
  return true;
#else
  return (void)n, false;
#endif
}
// What it shows in this cycle, the edges of both streams in it, and the one of its own clock at the end
bool cosim::mac_takes(Nic &n, int index) {
#ifdef COSIM_MAC
  if (!n.mac) return false;
  Mac &m = *n.mac;
  const Pins &v = *n.v;
  m.v->time_i = v.time_o, m.v->rx_credit_i = v.rx_credit_o;
  m.v->tx_valid_i = v.tx_valid_o, m.v->tx_first_i = v.tx_first_o;
  m.v->tx_half_i = v.tx_half_o, m.v->tx_flit_i = v.tx_flit_o;
  m.on_way += v.tx_valid_o && !v.tx_first_o;
  nics[(size_t)(1 - index)].mac->on_way -= v.rx_valid_i && !v.rx_first_i;
  const int64_t end = (cycle + 1) * desc.period_ps;
  for (int64_t at; (at = std::min(m.tx_edge, m.rx_edge)) < end;) {
    const bool tx = m.tx_edge == at, rx = m.rx_edge == at;
    if (tx) mac_sends(n, index), m.tx_edge += m.tx_period;
    if (rx) mac_receives(n, index), m.rx_edge += m.rx_period;
    m.v->mac_tx_clk_i = tx, m.v->mac_rx_clk_i = rx, m.v->eval();
    m.v->mac_tx_clk_i = m.v->mac_rx_clk_i = 0, m.v->eval();
  }
  m.v->clk_i = 1, m.v->eval();
  m.v->clk_i = 0, m.v->eval();
  return true;
#else
  return (void)n, (void)index, false;
#endif
}
bool cosim::mac_create(const cosim_mac *mac) {
#ifdef COSIM_MAC
  if (desc.nic_count != 2 || desc.net) return false;
  for (int64_t period : mac->period_ps)
    if (3 * period < 2 * desc.period_ps || period > 16 * desc.period_ps) return false;
  for (int i = 0; i < 2; i++) {
    Nic &n = nics[(size_t)i];
    n.mac.reset(new Mac);
    Mac &m = *n.mac;
    m.tx_period = mac->period_ps[i], m.rx_period = mac->period_ps[1 - i];
    m.tx_edge = m.tx_period / 3, m.rx_edge = m.rx_period / 2;
    m.v.reset(new Vmac(n.context.get(), "mac"));
    m.v->mac_to_i = 0x020000000001u - (uint64_t)i, m.v->mac_from_i = 0x020000000000u + (uint64_t)i;
    m.v->s_axis_tkeep = 0xFFFFFFFFu;
    for (int k = 0; k < 6; k++) { // reset ends, of all clocks and so of the NIC
      m.v->rst_ni = k >= 2, m.v->eval();
      n.v->rst_ni = m.v->up_o, n.v->clk_i = 0, n.v->eval();
      m.v->clk_i = m.v->mac_tx_clk_i = m.v->mac_rx_clk_i = 1, m.v->eval();
      n.v->clk_i = 1, n.v->eval();
      m.v->clk_i = m.v->mac_tx_clk_i = m.v->mac_rx_clk_i = 0, m.v->eval();
    }
  }
  return true;
#else
  return (void)mac, false;
#endif
}

// ---- what a network must be ----------------------------------------------------------------
namespace {
std::string words(const char *format, ...) {
  char text[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}
// Its functions give what is wrong, in this order; empty: nothing
struct NetCheck {
  const cosim_net &net;
  int nic_count;
  // the cables at each port, -1: none; [1]: which end there
  int cable[2][COSIM_SWITCHES_MAX][COSIM_SWITCH_PORTS], nic_cable[2][64];

  NetCheck(const cosim_net &n, int count) : net(n), nic_count(count) {
    memset(cable, -1, sizeof cable), memset(nic_cable, -1, sizeof nic_cable);
  }
  std::string ports();
  std::string tables() const;
  std::string ring();

private:
  // lane: channel of a cable, as COSIM_CHANNELS * cable + channel
  // 1 << (COSIM_CHANNELS * port + channel) at the switch where the cable ends
  std::vector<uint16_t> goes_on;
  std::vector<int> path;
  std::vector<char> seen; // 1: on the path, 2: leads to no ring
  std::string follow(int from, int to);
  bool closes(int lane);
};
std::string NetCheck::ports() {
  if (net.switch_count < 1 || net.switch_count > COSIM_SWITCHES_MAX)
    return words("switch_count: 1 to %d", COSIM_SWITCHES_MAX);
  if (net.cable_count < 0 || !net.cables || !net.routes) return "no cables, or no routes";
  for (int k = 0; k < net.cable_count; k++) {
    const cosim_cable &is = net.cables[k];
    for (int e = 0; e < 2; e++) {
      const int at = e ? is.to_switch : is.from_switch, port = e ? is.to : is.from;
      int *const end = at < 0 ? port >= 0 && port < nic_count ? &nic_cable[e][port] : nullptr
                       : at < net.switch_count && port >= 0 && port < COSIM_SWITCH_PORTS
                           ? &cable[e][at][port]
                           : nullptr;
      if (!end) return words("cable %d: it %s nowhere", k, e ? "ends" : "begins");
      if (*end >= 0)
        return words("cable %d: cable %d %s there, too", k, *end, e ? "ends" : "begins");
      *end = k;
    }
    if (is.latency_ps < 0 || is.latency_ps > 1000000000000)
      return words("cable %d: latency_ps: 0 to a second", k);
  }
  for (int i = 0; i < nic_count; i++)
    for (int e = 0; e < 2; e++)
      if (nic_cable[e][i] < 0) return words("no cable %s NIC %d", e ? "ends at" : "begins at", i);
  return "";
}
std::string NetCheck::tables() const {
  for (int k = 0; k < net.switch_count; k++) {
    for (int dst = 0; dst < nic_count; dst++) {
      const int port = net.routes[64 * k + dst];
      if (port >= COSIM_SWITCH_PORTS || (port >= 0 && cable[0][k][port] < 0))
        return words("switch %d: no cable begins at port %d, the way to NIC %d", k, port, dst);
    }
    for (int i = 0; net.turns && i < COSIM_SWITCH_PORTS * COSIM_SWITCH_PORTS; i++) {
      const int channel = net.turns[64 * k + i], out = cable[0][k][i % COSIM_SWITCH_PORTS];
      const bool to_nic = out >= 0 && net.cables[out].to_switch < 0;
      if (channel < -1 || channel >= COSIM_CHANNELS || (to_nic && channel))
        return words("switch %d: %d is no channel behind ports %d and %d", k, channel,
                     i / COSIM_SWITCH_PORTS, i % COSIM_SWITCH_PORTS);
    }
  }
  return "";
}
// The lanes of a packet's way. One that never ends has met all lanes of its ring after so many steps.
std::string NetCheck::follow(int from, int to) {
  int at = nic_cable[0][from], channel = 0;
  for (size_t steps = 0; net.cables[at].to_switch >= 0 && steps < goes_on.size(); steps++) {
    const cosim_cable &is = net.cables[at];
    const int port = net.routes[64 * is.to_switch + to];
    if (port < 0) return ""; // nobody sends that way
    const int turn =
        net.turns ? net.turns[64 * is.to_switch + COSIM_SWITCH_PORTS * is.to + port] : 0;
    uint16_t &next = goes_on[(size_t)(COSIM_CHANNELS * at + channel)];
    if (turn >= 0) channel = turn;
    next = (uint16_t)(next | 1u << (COSIM_CHANNELS * port + channel));
    at = cable[0][is.to_switch][port];
  }
  if (net.cables[at].to_switch < 0 && net.cables[at].to != to)
    return words("the way from NIC %d to NIC %d ends at NIC %d", from, to, net.cables[at].to);
  return "";
}
// Does the path come back to itself behind this lane? It is cut to the ring then.
bool NetCheck::closes(int lane) {
  const cosim_cable &is = net.cables[lane / COSIM_CHANNELS];
  seen[(size_t)lane] = 1;
  path.push_back(lane);
  for (int i = 0; i < COSIM_CHANNELS * COSIM_SWITCH_PORTS; i++) {
    if (!(goes_on[(size_t)lane] >> i & 1)) continue;
    const int next =
        COSIM_CHANNELS * cable[0][is.to_switch][i / COSIM_CHANNELS] + i % COSIM_CHANNELS;
    if (seen[(size_t)next] == 1) {
      path.erase(path.begin(), std::find(path.begin(), path.end(), next));
      return true;
    }
    if (!seen[(size_t)next] && closes(next)) return true;
  }
  seen[(size_t)lane] = 2;
  path.pop_back();
  return false;
}
std::string NetCheck::ring() {
  goes_on.assign((size_t)(COSIM_CHANNELS * net.cable_count), 0);
  seen.assign(goes_on.size(), 0);
  for (int from = 0; from < nic_count; from++)
    for (int to = 0; to < nic_count; to++) {
      const std::string wrong = from == to ? "" : follow(from, to);
      if (!wrong.empty()) return wrong;
    }
  std::string text;
  for (int lane = 0; lane < (int)seen.size() && text.empty(); lane++) {
    if (seen[(size_t)lane] || !closes(lane)) continue;
    text = "packets can wait for each other in a ring:";
    for (int of : path) {
      const cosim_cable &is = net.cables[of / COSIM_CHANNELS];
      text += words("%s switch %d port %d channel %d", of == path[0] ? "" : ",", is.from_switch,
                    is.from, of % COSIM_CHANNELS);
    }
  }
  return text;
}
} // namespace
const char *cosim_net_error(const cosim_net *net, int nic_count, char *text, size_t text_bytes) {
  std::string wrong = "no network, or not 1 to 64 NICs";
  if (net && nic_count >= 1 && nic_count <= 64) {
    NetCheck check(*net, nic_count);
    wrong = check.ports();
    if (wrong.empty()) wrong = check.tables();
    if (wrong.empty()) wrong = check.ring();
  }
  if (wrong.empty()) return nullptr;
  snprintf(text, text_bytes, "%s", wrong.c_str());
  return text;
}

// ---- cables and switches -------------------------------------------------------------------
// The next packet from a NIC's cable, in the order in which they came; a virtual network that a fault holds up is
// overtaken by the others
bool cosim::net_choose(Nic &n, int index) {
  Cable &c = cables[(size_t)n.cable_in];
  bool behind[4] = {false, false, false, false};
  if (!n.again_now.empty()) {
    take(n, n.again_now.front(), COSIM_PASS);
    n.again_now.pop_front();
    return true;
  }
  for (size_t k = 0; k < c.packets.size() && c.packets[k].at <= cycle; k++) {
    const cosim_packet packet = c.packets[k].packet;
    const int vn = header_vn(packet.header), src = (int)(packet.header >> 26);
    if (behind[vn] || n.blocked[vn] > cycle) {
      behind[vn] = true;
      continue;
    }
    cosim_fault fault =
        desc.fault && !n.delayed[vn] ? desc.fault(desc.fault_ctx, src, index, &packet) : COSIM_PASS;
    n.delayed[vn] = fault == COSIM_DELAY;
    if (fault == COSIM_DELAY) {
      n.blocked[vn] = cycle + fault_delay;
      behind[vn] = true;
      continue;
    }
    c.packets.erase(c.packets.begin() + (std::ptrdiff_t)k);
    if (fault == COSIM_LOSE) { // the receiver gives back what the sender paid for it
      c.credits[vn].push_back(cycle + c.latency);
      return false;
    }
    if (fault == COSIM_DUPLICATE) n.twice[vn].push_back(packet);
    take(n, packet, fault);
    return true;
  }
  return false;
}
// Credits that a NIC gives back: for a packet that comes twice the network keeps the first one
void cosim::net_credits(Nic &n) {
  Cable &c = cables[(size_t)n.cable_in];
  for (int vn = 0; vn < 4; vn++) {
    if (!(n.v->rx_credit_o >> vn & 1)) continue;
    if (n.twice[vn].empty()) {
      c.credits[vn].push_back(cycle + c.latency);
    } else {
      n.again_now.push_back(n.twice[vn].front());
      n.twice[vn].pop_front();
    }
  }
}
#ifdef COSIM_SWITCHES
// What is at a switch's pins in this cycle. false: nothing
bool cosim::switch_gets(Switch &s) {
  Vnic_switch &v = *s.v;
  bool any = false;
  v.rx_valid_i = v.rx_first_i = 0, v.tx_credit_i = 0;
  for (int p = 0; p < COSIM_SWITCH_PORTS; p++) {
    if (s.cable_out[p] >= 0) {
      Cable &c = cables[(size_t)s.cable_out[p]];
      for (int l = 0; l < kLanes; l++)
        if (!c.credits[l].empty() && c.credits[l].front() <= cycle)
          v.tx_credit_i |= (uint64_t)1 << (kLanes * p + l), c.credits[l].pop_front(), any = true;
    }
    if (s.cable_in[p] < 0) continue;
    Cable &c = cables[(size_t)s.cable_in[p]];
    const bool second = c.second;
    if (!second) {
      if (c.packets.empty() || c.packets.front().at > cycle) continue;
      c.in = c.packets.front().packet;
      c.in_lane = 4 * c.packets.front().channel + header_vn(c.in.header);
      c.packets.pop_front();
      v.rx_first_i |= (uint8_t)(1u << p);
    }
    c.second = !second, any = true;
    v.rx_valid_i |= (uint8_t)(1u << p);
    v.rx_lane_i = (v.rx_lane_i & ~(7u << 3 * p)) | (unsigned)c.in_lane << 3 * p;
    v.rx_half_i[p] = second ? c.in.crc : c.in.header;
    for (int i = 0; i < 8; i++) v.rx_flit_i[8 * p + i] = c.in.data[8 * second + i];
  }
  return any;
}
// What a switch offers in this cycle
void cosim::switch_gives(Switch &s) {
  Vnic_switch &v = *s.v;
  for (int p = 0; p < COSIM_SWITCH_PORTS; p++) {
    if (s.cable_in[p] >= 0)
      for (int l = 0; l < kLanes; l++)
        if (v.rx_credit_o >> (kLanes * p + l) & 1) {
          Cable &c = cables[(size_t)s.cable_in[p]];
          c.credits[l].push_back(cycle + c.latency);
        }
    if (!(v.tx_valid_o >> p & 1) || s.cable_out[p] < 0) continue;
    Cable &c = cables[(size_t)s.cable_out[p]];
    const bool first = v.tx_first_o >> p & 1;
    (first ? c.out.header : c.out.crc) = v.tx_half_o[p];
    for (int i = 0; i < 8; i++) c.out.data[8 * !first + i] = v.tx_flit_o[8 * p + i];
    if (first)
      c.out_cycle = cycle;
    else
      c.packets.push_back(
          Travel{c.out_cycle + c.latency, c.out, (int)(v.tx_lane_o >> (3 * p + 2) & 1)});
  }
  for (unsigned bad = v.bad_o; bad; bad &= bad - 1) switch_drops++;
}
#endif
void cosim::net_step() {
#ifdef COSIM_SWITCHES
  for (Switch &s : switches) {
    if (switch_gets(s)) s.awake = cycle + kSwitchRest;
    if (s.awake <= cycle) continue;
    s.v->clk_i = 0;
    s.v->eval();
    switch_gives(s);
    if (!s.v->idle_o) s.awake = cycle + kSwitchRest;
    s.v->clk_i = 1;
    s.v->eval();
  }
#endif
}
bool cosim::net_idle() const {
  for (const Cable &c : cables)
    if (!c.packets.empty() || c.second) return false;
#ifdef COSIM_SWITCHES
  for (const Switch &s : switches)
    if (!s.v->idle_o) return false;
#endif
  return true;
}
#ifdef COSIM_SWITCHES
// Reset and tables
void cosim::switch_tables(const cosim_net *net, int number) {
  Switch &s = switches[(size_t)number];
  s.context.reset(new VerilatedContext);
  s.context->threads(1);
  s.v.reset(new Vnic_switch(s.context.get()));
  Vnic_switch &v = *s.v;
  const auto cycle = [&v] { v.clk_i = 0, v.eval(), v.clk_i = 1, v.eval(); };
  for (int i = 0; i < 4; i++) v.rst_ni = i >= 3, v.clk_i = i & 1, v.eval();
  for (int dst = 0; dst < desc.nic_count; dst++) {
    const int port = net->routes[64 * number + dst];
    v.route_we_i = 1, v.route_dst_i = (uint8_t)dst;
    v.route_port_i = (uint8_t)(port < 0 ? 0 : port);
    cycle();
  }
  v.route_we_i = 0;
  for (int from = 0; net->turns && from < COSIM_SWITCH_PORTS; from++)
    for (int to = 0; to < COSIM_SWITCH_PORTS; to++) {
      const int channel = net->turns[64 * number + COSIM_SWITCH_PORTS * from + to];
      v.turn_we_i = 1, v.turn_from_i = (uint8_t)from, v.turn_to_i = (uint8_t)to;
      v.turn_keep_i = channel<0, v.turn_channel_i = channel> 0;
      cycle();
    }
  v.turn_we_i = 0;
}
#endif
bool cosim::net_create(const cosim_net *net) {
#ifdef COSIM_SWITCHES
  char text[80];
  if (cosim_net_error(net, desc.nic_count, text, sizeof text)) return false;
  NetCheck at(*net, desc.nic_count);
  at.ports();
  switches.resize((size_t)net->switch_count);
  for (int k = 0; k < net->switch_count; k++)
    for (int p = 0; p < COSIM_SWITCH_PORTS; p++)
      switches[(size_t)k].cable_out[p] = at.cable[0][k][p],
      switches[(size_t)k].cable_in[p] = at.cable[1][k][p];
  for (int i = 0; i < desc.nic_count; i++)
    nics[(size_t)i].cable_out = at.nic_cable[0][i], nics[(size_t)i].cable_in = at.nic_cable[1][i];
  for (int k = 0; k < net->cable_count; k++) {
    Cable c;
    c.is = net->cables[k];
    c.latency = (c.is.latency_ps + desc.period_ps - 1) / desc.period_ps;
    if (c.latency < 2) c.latency = 2; // a packet is known when its second flit is there
    cables.push_back(c);
  }
  for (int k = 0; k < net->switch_count; k++) switch_tables(net, k);
  return true;
#else
  (void)net;
  return false;
#endif
}

void cosim::end_wave(Nic &n) {
#ifdef COSIM_TRACE
  if (!n.wave) return;
  n.wave->trace.close();
  wave_lost = wave_lost || n.wave->failed();
  n.wave.reset();
#else
  (void)n;
#endif
}

void cosim::step() {
  for (int i = 0; i < desc.nic_count; i++) {
    Nic &n = nics[i];
    Pins &v = *n.v;
    mmio_side(n);
    host_side(n, i);
    ptm(n);
    if (!mac_gives(n)) link_in(n, i), link_credits(n);
    v.clk_i = 0;
    v.eval();
#ifdef COSIM_TRACE
    int64_t now = cycle * desc.period_ps + trace_offset;
    bool traced = n.wave && now >= n.trace_from && now < n.trace_until;
    if (traced) n.wave->trace.dump((uint64_t)now);
#endif
#ifdef NIC_COVERED
    n.coverage->sample();
#endif
    // what the NIC offers in this cycle
    if (!mac_takes(n, i)) {
      link_out(n, i);
      for (int vn = 0; vn < 4 && n.cable_in < 0; vn++)
        if (v.rx_credit_o >> vn & 1 && n.credit[vn] < kLinkDepth) n.credit[vn]++;
      if (n.cable_in >= 0) net_credits(n);
    }
    host_takes(n);
    mmio_takes(n);
    if (desc.host.irq && v.irq_o != n.irq) desc.host.irq(desc.host.ctx, i, n.irq = v.irq_o);
    v.clk_i = 1;
    v.eval();
#ifdef COSIM_TRACE
    if (traced) n.wave->trace.dump((uint64_t)(now + desc.period_ps / 2));
    if (n.wave && now >= n.trace_until) end_wave(n);
#endif
  }
  net_step();
  cycle++;
}

// A register access of every NIC at the same time, without the way to them; values: read, or written
void cosim::at_once(uint32_t offset, bool write, std::vector<uint32_t> &values) {
  for (size_t i = 0; i < nics.size(); i++) {
    nics[i].read_done = write;
    nics[i].mmio.push_back(Mmio{cycle, offset, write ? values[i] : 0, 15, write});
  }
  for (size_t i = 0; i < nics.size(); i++) {
    while (!nics[i].mmio.empty() || !nics[i].read_done) step();
    if (!write) values[i] = nics[i].read_value;
  }
}
// Sets the NICs' clocks forward by their own adjustment, and gives back what the host had written there
void cosim::skip_clocks(uint64_t cycles) {
  std::vector<uint32_t> increment(nics.size()), fraction(nics.size()), kept(nics.size());
  at_once(COSIM_CLOCK_INC, false, increment);
  at_once(COSIM_CLOCK_FRAC, false, fraction);
  at_once(COSIM_CLOCK_ADJUST_LO, false, kept);
  // the sum's whole part; what is left of a unit waits for the next time
  for (size_t i = 0; i < nics.size(); i++) {
    const uint64_t low = (cycles & 0xFFFFFFFFu) * fraction[i];
    const uint64_t rest = (low & 0xFFFFFFFFu) + nics[i].skip_rest;
    const uint64_t units =
        cycles * increment[i] + (low >> 32) + (cycles >> 32) * fraction[i] + (rest >> 32);
    nics[i].skip_rest = (uint32_t)rest;
    increment[i] = (uint32_t)units, fraction[i] = (uint32_t)(units >> 32);
  }
  at_once(COSIM_CLOCK_ADJUST_LO, true, increment);
  at_once(COSIM_CLOCK_ADJUST_HI, true, fraction);
  at_once(COSIM_CLOCK_ADJUST_LO, true, kept);
}

// ---- a NIC's reset ----
void cosim::host_forgets(Nic &n) {
  for (const Mmio &m : n.mmio)
    if (!m.write)
      n.read_value = 0xFFFFFFFFu, n.read_error = n.read_done = true, n.read_cycle = cycle;
  n.mmio.clear();
  n.addr_taken = n.data_taken = n.addr_up = n.data_up = false, n.data_cycle = -1;
  n.reads.clear(), n.answers.clear();
  n.write_addrs.clear(), n.write_beats.clear();
  n.gather.beats = 0;
  n.read_shown = n.answer_shown = n.addr_first = false;
  n.writes_old = n.writes.size();
  n.ptm_at = -1, n.skip_rest = 0;
  n.submitted[0] = n.submitted[1] = 0;
}
// A message whose end was not sent is cut off at the crossbar, which would wait for it
void cosim::link_forgets(Nic &n, int index) {
  for (int vn = 0; vn < 4; vn++) {
    std::deque<Travel> &lane = n.lane[vn];
    for (; !lane.empty() && !(lane.back().packet.header & 1); lane.pop_back())
      nics[(size_t)header_dst(lane.back().packet.header)].waiting--;
    for (Nic &to : nics)
      if (to.locked[vn] == index && (lane.empty() || lane.front().packet.header & 2))
        to.locked[vn] = -1;
    n.lane_old[vn] = lane.size();
    n.credit_back[vn].clear();
    n.credit[vn] = kLinkDepth;
  }
  n.in_flit = 2, n.again = 0;
}

// ---- C API ---------------------------------------------------------------------------------
cosim_desc cosim_default(void) {
  cosim_desc d = cosim_desc();
  d.nic_count = 2;
  d.period_ps = 2880; // 36 bytes at 12.5 GB/s
  d.link_latency_ps = 200000;
  d.host_read_ps = 400000, d.host_write_ps = 200000, d.mmio_ps = 200000;
  d.fault_delay_ps = 1000000;
  d.ptm_ps = 5000;
  return d;
}

cosim *cosim_create(const cosim_desc *desc) {
  if (!desc || desc->nic_count < 1 || desc->nic_count > 64 || desc->period_ps < 2 ||
      desc->period_ps > 1000000)
    return nullptr;
  const int64_t times[] = {desc->link_latency_ps, desc->host_read_ps,   desc->host_write_ps,
                           desc->mmio_ps,         desc->fault_delay_ps, desc->ptm_ps};
  for (int64_t t : times)
    if (t < 0 || t > 1000000000000) return nullptr;
  if (!desc->host.read || !desc->host.write || (unsigned)desc->stall > COSIM_STALL_ADVERSE)
    return nullptr;
  auto sim = new cosim;
  sim->desc = *desc;
  auto cycles = [&](int64_t ps) { return (ps + desc->period_ps - 1) / desc->period_ps; };
  sim->link = cycles(desc->link_latency_ps) < 2 ? 2 : cycles(desc->link_latency_ps);
  sim->host_read = cycles(desc->host_read_ps) + 1,
  sim->host_write = cycles(desc->host_write_ps) + 1;
  sim->mmio = cycles(desc->mmio_ps), sim->fault_delay = cycles(desc->fault_delay_ps);
  sim->nics.resize((size_t)desc->nic_count);
  for (auto &n : sim->nics) {
    n.context.reset(new VerilatedContext);
    n.context->threads(1); // the NIC is one thread; more would only wait
#if defined COSIM_TRACE || defined NIC_COVERED
    n.context->traceEverOn(true);
#endif
#ifdef NIC_MUTANTS // tests/rtl/mutate.sh
    std::string mutant =
        std::string("+mutant=") + (getenv("NIC_MUTANT") ? getenv("NIC_MUTANT") : "0");
    const char *words[] = {"nic", mutant.c_str()};
    n.context->commandArgs(2, words);
#endif
#ifdef COSIM_TWO_MODELS
    if (desc->has_waves)
      n.v.reset(new Model<Vnic_wave>(n.context.get()));
    else
      n.v.reset(new Model<Vnic_top>(n.context.get()));
#else
    n.v.reset(new Model<Vnic_top>(n.context.get()));
#endif
#ifdef NIC_COVERED
    n.coverage.reset(new Coverage(static_cast<Model<Vnic_top> &>(*n.v).top, 4000));
#endif
    n.stall_random = desc->stall_seed + (uint64_t)(&n - &sim->nics[0]) * 0x9E3779B97F4A7C15u;
    for (int k = 0; k < 4; k++) n.v->rst_ni = k >= 3, n.v->clk_i = k & 1, n.v->eval();
  }
  if (desc->net && !sim->net_create(desc->net)) return cosim_destroy(sim), nullptr;
  if (desc->mac && !sim->mac_create(desc->mac)) return cosim_destroy(sim), nullptr;
  for (int i = 0; i < desc->nic_count; i++) cosim_write(sim, i, COSIM_SELF, (uint32_t)i);
  return sim;
}
void cosim_destroy(cosim *sim) {
  if (!sim) return;
  for (auto &n : sim->nics) {
    sim->end_wave(n);
    n.v->final();
#ifdef COSIM_MAC
    if (n.mac) n.mac->v->final();
#endif
#ifdef NIC_COVERED
    n.coverage->save(*n.context);
#endif
  }
  delete sim;
}
int64_t cosim_now_ps(const cosim *sim) { return sim->cycle * sim->desc.period_ps; }
int64_t cosim_cycle(const cosim *sim) { return sim->cycle; }
void cosim_cycles(cosim *sim, int64_t count) {
  while (count-- > 0) sim->step();
}
void cosim_advance(cosim *sim, int64_t until_ps) {
  while (cosim_now_ps(sim) < until_ps) sim->step();
}
int cosim_idle(const cosim *sim) {
  for (auto &n : sim->nics) {
    if (!n.v->idle_o || !n.mmio.empty() || !n.reads.empty() || !n.answers.empty() ||
        !n.writes.empty() || n.in_flit != 2 || n.waiting || n.again || !n.injected.empty() ||
        !n.again_now.empty())
      return 0;
#ifdef COSIM_MAC
    if (n.mac && n.mac->on_way) return 0;
#endif
  }
  return sim->net_idle();
}
int64_t cosim_skip(cosim *sim, int64_t cycles) {
  const int64_t begin = sim->cycle;
  if (cycles < 1 || cycles > (int64_t)1 << 38 || !cosim_idle(sim)) return 0;
  for (auto &n : sim->nics)
    if (n.ptm_at >= 0 || n.v->ptm_req_o) return 0; // an answer is on its way
  sim->skip_clocks((uint64_t)cycles);
  sim->cycle += cycles;
  return sim->cycle - begin;
}
uint64_t cosim_switch_drops(const cosim *sim) { return sim->switch_drops; }

void cosim_write_partial(cosim *sim, int nic, uint32_t offset, uint32_t value, int strobe) {
  sim->nics[(size_t)nic].mmio.push_back(
      Mmio{sim->cycle + sim->mmio, offset & (COSIM_BAR_BYTES - 1), value, (uint8_t)strobe, true});
}
void cosim_write(cosim *sim, int nic, uint32_t offset, uint32_t value) {
  cosim_write_partial(sim, nic, offset, value, 15);
}
void cosim_read_ask(cosim *sim, int nic, uint32_t offset) {
  Nic &n = sim->nics[(size_t)nic];
  n.read_done = false;
  n.mmio.push_back(Mmio{sim->cycle + sim->mmio, offset & (COSIM_BAR_BYTES - 1), 0, 0, false});
}
int cosim_read_got(const cosim *sim, int nic, uint32_t *value) {
  const Nic &n = sim->nics[(size_t)nic];
  if (!n.read_done || sim->cycle < n.read_cycle + sim->mmio) return 0;
  *value = n.read_value;
  return 1;
}
uint32_t cosim_read_at(cosim *sim, int nic, uint32_t offset, int64_t *at_cycle, int *error) {
  Nic &n = sim->nics[(size_t)nic];
  cosim_read_ask(sim, nic, offset);
  while (!n.read_done) sim->step();
  cosim_cycles(sim, sim->mmio); // the answer's way back
  if (at_cycle) *at_cycle = n.read_cycle;
  if (error) *error = n.read_error;
  return n.read_value;
}
uint32_t cosim_read(cosim *sim, int nic, uint32_t offset) {
  return cosim_read_at(sim, nic, offset, nullptr, nullptr);
}

uint32_t cosim_submit(cosim *sim, int nic, int klass, const cosim_command *command,
                      const void *pio_payload) {
  Nic &n = sim->nics[(size_t)nic];
  uint32_t number = n.submitted[klass & 1]++, slot = number % COSIM_SLOTS, words[16];
  if (pio_payload) {
    uint32_t base = (klass & 1 ? COSIM_PIO1 : COSIM_PIO0) + slot * COSIM_PIO_BYTES;
    const bool compares = command->kind == COSIM_KIND_FETCH && command->op >= COSIM_OP_CSWAP;
    uint32_t bytes = compares                                ? 32u
                     : command->size_bytes < COSIM_PIO_BYTES ? command->size_bytes
                                                             : (uint32_t)COSIM_PIO_BYTES;
    for (uint32_t at = 0; at < bytes; at += 4) {
      uint8_t part[4] = {0, 0, 0, 0};
      memcpy(part, (const uint8_t *)pio_payload + at, bytes - at < 4 ? bytes - at : 4);
      cosim_write(sim, nic, base + at,
                  part[0] | part[1] << 8 | part[2] << 16 | (uint32_t)part[3] << 24);
    }
  }
  cosim_command_pack(command, words);
  for (uint32_t i = 0; i < 16; i++)
    cosim_write(sim, nic, (klass & 1 ? COSIM_CMD1 : COSIM_CMD0) + slot * 64 + i * 4, words[i]);
  return number;
}
static void stage(cosim *sim, int nic, const cosim_entry *entry) {
  uint32_t words[16];
  cosim_entry_pack(entry, words);
  for (uint32_t i = 0; i < 16; i++) cosim_write(sim, nic, COSIM_ME_STAGE + i * 4, words[i]);
}
void cosim_append(cosim *sim, int nic, int index, const cosim_entry *entry) {
  stage(sim, nic, entry);
  cosim_write(sim, nic, COSIM_ME_APPEND, (uint32_t)index);
}
void cosim_search(cosim *sim, int nic, uint32_t how, const cosim_entry *entry) {
  stage(sim, nic, entry);
  cosim_write(sim, nic, COSIM_ME_SEARCH, how);
}
void cosim_trigger(cosim *sim, int nic, int klass, int index, int ct, uint64_t threshold,
                   const cosim_command *command) {
  uint32_t words[16];
  cosim_command_pack(command, words);
  for (uint32_t i = 0; i < 16; i++) cosim_write(sim, nic, COSIM_TRIGGER + i * 4, words[i]);
  cosim_write(sim, nic, COSIM_TRIGGER + COSIM_TRIGGER_THRESHOLD_LO, (uint32_t)threshold);
  cosim_write(sim, nic, COSIM_TRIGGER + COSIM_TRIGGER_THRESHOLD_HI, (uint32_t)(threshold >> 32));
  cosim_write(sim, nic, COSIM_TRIGGER + COSIM_TRIGGER_APPEND,
              (uint32_t)index | (uint32_t)ct << 16 | (uint32_t)(klass & 1) << 20);
}
uint64_t cosim_counter(cosim *sim, int nic, int counter) {
  uint32_t lo = cosim_read(sim, nic, COSIM_COUNTERS + 8 * (uint32_t)counter);
  return lo | (uint64_t)cosim_read(sim, nic, COSIM_COUNTERS + 8 * (uint32_t)counter + 4) << 32;
}

int cosim_host_read(cosim *sim, int nic, uint64_t addr, void *buffer, size_t size_bytes) {
  return sim->desc.host.read(sim->desc.host.ctx, nic, addr, buffer, size_bytes);
}

uint32_t cosim_packet_crc(const cosim_packet *p) {
  uint32_t crc = 0xFFFFFFFFu;
  for (int w = 16; w >= 0; w--) {
    uint32_t word = w == 16 ? p->header : p->data[w];
    for (int bit = 31; bit >= 0; bit--)
      crc = (crc << 1) ^ (((crc >> 31) ^ (word >> bit & 1)) ? 0x1EDC6F41u : 0);
  }
  return crc;
}
int cosim_reset(cosim *sim, int nic, int64_t cycles) {
  if (!sim->cables.empty() || sim->desc.mac) return -1;
  Nic &n = sim->nics[(size_t)nic];
  sim->host_forgets(n), sim->link_forgets(n, nic);
  n.v->rst_ni = 0;
  for (int64_t i = 0; i < cycles || !i; i++) sim->step();
  n.v->rst_ni = 1;
  sim->link_forgets(n, nic);
  cosim_write(sim, nic, COSIM_SELF, (uint32_t)nic);
  return 0;
}
void cosim_inject(cosim *sim, int nic, const cosim_packet *packet) {
  if (sim->cables.empty() && !sim->desc.mac)
    sim->nics[(size_t)nic].injected.push_back(Travel{0, *packet, 0});
}
int cosim_trace(cosim *sim, int nic, const char *path, int64_t from_ps, int64_t until_ps) {
#ifdef COSIM_TRACE
  if (!path || nic < 0 || nic >= sim->desc.nic_count) return -1;
  Nic &n = sim->nics[(size_t)nic];
  if (n.wave) return -1;
  n.wave.reset(new Wave);
  if (!n.v->trace(*n.wave)) return n.wave.reset(), -1;
  n.wave->trace.open(path);
  n.trace_from = from_ps, n.trace_until = until_ps;
  if (n.wave->trace.isOpen()) return 0;
  n.wave.reset();
  return -1;
#else
  (void)sim, (void)nic, (void)path, (void)from_ps, (void)until_ps;
  return -1;
#endif
}
void cosim_trace_offset(cosim *sim, int64_t offset_ps) { sim->trace_offset = offset_ps; }
int cosim_trace_end(cosim *sim) {
  for (auto &n : sim->nics) sim->end_wave(n);
  return sim->wave_lost ? -1 : 0;
}
