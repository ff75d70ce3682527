// Each leaf module against a model of a few lines, under random stimuli.
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>
#include "Vleaf.h"
#include "rtl/coverage.h"
#include "rtl/nic_cosim.h"
#include "tests/test.h"

static VerilatedContext *context;
static Vleaf *t;
static Coverage *coverage;
static void cycle() {
  t->clk_i = 0, t->eval();
  coverage->sample();
  t->clk_i = 1, t->eval();
}
// Inputs are set after a rising edge; settle() shows the outputs that belong to them
static void settle() { t->clk_i = 0, t->eval(); }
static void done() {
  if (!t) return;
  coverage->save(*context);
  delete coverage;
  t->final();
  delete t;
  delete context;
  t = nullptr;
}
static void fresh() {
  done();
  context = new VerilatedContext;
#ifdef NIC_MUTANTS // mutate.sh
  std::string mutant = std::string("+mutant=") + (getenv("NIC_MUTANT") ? getenv("NIC_MUTANT") : "0");
  const char *words[] = {"leaf", mutant.c_str()};
  context->commandArgs(2, words);
#endif
  context->traceEverOn(true);
  t = new Vleaf(context);
  coverage = new Coverage(*t, 3000);
  t->rst_ni = 0, cycle(), cycle();
  t->rst_ni = 1, settle();
}
static bool chance(unsigned percent) { return test_below(100) < percent; }

static void fifo_keeps_order_and_count() {
  fresh();
  std::deque<unsigned> model;
  unsigned full = 0, empty = 0;
  for (int i = 0; i < 20000; i++) {
    unsigned busy = (i / 500) % 2 ? 80 : 30;
    t->fifo_valid_i = chance(busy), t->fifo_ready_i = chance(110 - busy);
    t->fifo_data_i = (uint16_t)test_rand();
    settle();
    CHECK(t->fifo_count_o == model.size());
    CHECK(t->fifo_ready_o == (model.size() < 4) && t->fifo_valid_o == !model.empty());
    if (!model.empty()) CHECK(t->fifo_data_o == model.front());
    full += !t->fifo_ready_o, empty += !t->fifo_valid_o;
    bool push = t->fifo_valid_i && t->fifo_ready_o, pop = t->fifo_ready_i && t->fifo_valid_o;
    if (pop) model.pop_front();
    if (push) model.push_back(t->fifo_data_i);
    cycle();
  }
  CHECK(full > 100 && empty > 100);
}

static void what_is_unsent_is_known() {
  fresh();
  std::deque<unsigned> model;
  unsigned full = 0, found = 0;
  for (int i = 0; i < 20000; i++) {
    unsigned busy = (i / 500) % 2 ? 80 : 30;
    t->unsent_put_i = model.size() < 8 && chance(busy), t->unsent_sent_i = !model.empty() && chance(110 - busy);
    t->unsent_put_key_i = (uint8_t)test_below(16), t->unsent_key_i = (uint8_t)test_below(16);
    settle();
    unsigned same = 0;
    for (unsigned key : model) same += key == t->unsent_key_i;
    CHECK(t->unsent_waits_o == (same != 0));
    full += model.size() == 8, found += same != 0;
    if (t->unsent_sent_i) model.pop_front();
    if (t->unsent_put_i) model.push_back(t->unsent_put_key_i);
    cycle();
  }
  CHECK(full > 100 && found > 1000 && found < 19000);
}

static void arbiter_is_fair_and_holds() {
  fresh();
  int waits[5] = {0};
  unsigned held = 0;
  unsigned req = 0;
  for (int i = 0; i < 20000; i++) {
    req |= (unsigned)test_below(32) & (unsigned)test_below(32);
    t->arb_req_i = (uint8_t)req, t->arb_ack_i = chance(60);
    settle();
    unsigned grant = t->arb_grant_o;
    CHECK((grant & (grant - 1)) == 0 && (grant & ~req) == 0 && (grant != 0) == (req != 0));
    CHECK(t->arb_valid_o == (grant != 0));
    if (held) CHECK(grant == held);
    if (grant) CHECK(grant == 1u << t->arb_index_o);
    bool ack = t->arb_ack_i && grant;
    for (int k = 0; k < 5; k++) {
      if (ack && (req >> k & 1)) waits[k] = grant >> k & 1 ? 0 : waits[k] + 1;
      CHECK(waits[k] < 5);
    }
    held = ack ? 0 : grant;
    if (ack) req &= ~grant;
    cycle();
  }
}

static void clock_counts_fractions() {
  fresh();
  unsigned __int128 model = ((unsigned __int128)t->clock_time_o << 32), step;
  step = ((unsigned __int128)1509949 << 32) + 1889785610u;
  CHECK(t->clock_inc_o == 1509949 && t->clock_frac_o == 1889785610u);
  uint32_t latched = 0, staged = 0;
  // The low 32 bits of the model are unknown only if the clock ran in reset: it starts at 0
  CHECK(t->clock_time_o == 0);
  for (int i = 0; i < 20000; i++) {
    t->clock_inc_we_i = chance(1), t->clock_adjust_i = chance(2), t->clock_latch_i = chance(10);
    t->clock_set_lo_i = chance(1), t->clock_set_hi_i = chance(1);
    t->clock_inc_i = (uint32_t)test_below(1 << 24), t->clock_frac_i = (uint32_t)test_rand();
    t->clock_set_i = (uint32_t)test_rand();
    t->clock_adjust_val_i = (uint64_t)((int64_t)test_rand() >> test_below(60));
    settle();
    CHECK(t->clock_time_o == (uint64_t)(model >> 32) && t->clock_latched_o == latched);
    if (t->clock_latch_i) latched = (uint32_t)(model >> 64);
    unsigned __int128 next = model + step;
    if (t->clock_adjust_i) next += (unsigned __int128)t->clock_adjust_val_i << 32;
    next &= ((unsigned __int128)1 << 96) - 1;
    if (t->clock_set_hi_i)
      next = (unsigned __int128)t->clock_set_i << 64 | (unsigned __int128)staged << 32;
    if (t->clock_set_lo_i) staged = t->clock_set_i;
    if (t->clock_inc_we_i) step = ((unsigned __int128)t->clock_inc_i << 32) + t->clock_frac_i;
    model = next;
    cycle();
  }
}

// CRC-32C, a loop over the bits: most significant bit of the header first
static uint32_t crc_model(const uint32_t *words, int count) {
  uint32_t crc = 0xFFFFFFFFu;
  for (int i = count * 32 - 1; i >= 0; i--) {
    uint32_t bit = words[i / 32] >> (i % 32) & 1;
    crc = (crc << 1) ^ (((crc >> 31) ^ bit) ? 0x1EDC6F41u : 0);
  }
  return crc;
}
static void crc_equals_loop_and_sees_flips() {
  fresh();
  for (int i = 0; i < 2000; i++) {
    uint32_t words[17];
    for (int k = 0; k < 17; k++)
      words[k] = t->crc_data_i[k] = i < 2 ? -(uint32_t)i : (uint32_t)test_rand();
    settle();
    CHECK(t->crc_o == crc_model(words, 17));
    uint32_t good = t->crc_o;
    for (int n = 1 + (int)test_below(3), k = 0; k < n; k++) {
      int bit = (int)test_below(544 - 3) + k; // up to three bits, a burst of at most 544
      t->crc_data_i[bit / 32] ^= 1u << (bit % 32);
    }
    bool same = true;
    for (int k = 0; k < 17; k++) same = same && t->crc_data_i[k] == words[k];
    settle();
    CHECK(same == (t->crc_o == good));
  }
}

static void credits_never_wrap() {
  fresh();
  unsigned model = 5, errors = 0;
  for (int i = 0; i < 10000; i++) {
    unsigned give = (i / 200) % 2 ? 70 : 30;
    t->credit_give_i = chance(give);
    t->credit_take_i = model > 0 && chance(100 - give);
    settle();
    CHECK(t->credit_count_o == model && t->credit_avail_o == (model > 0));
    bool error = t->credit_give_i && !t->credit_take_i && model == 5;
    CHECK(t->credit_error_o == error);
    errors += error;
    if (!error) model += t->credit_give_i - t->credit_take_i;
    cycle();
  }
  CHECK(errors > 10);
}

static void tx_window_slides_over_the_oldest() {
  fresh();
  struct {
    uint8_t next = 0;
    uint16_t base = 0;
    bool again = false; // one was sent again since none was under way
    std::set<uint8_t> done;
  } peer[4];
  for (int i = 0; i < 30000; i++) {
    unsigned p = (unsigned)test_below(4), d = (unsigned)test_below(4);
    t->txw_peer_i = (uint8_t)p, t->txw_done_peer_i = (uint8_t)d;
    uint8_t used = (uint8_t)(peer[d].next - peer[d].base);
    // an acknowledgement of something under way, or a stray one
    t->txw_done_seq_i =
        chance(80) && used ? (uint8_t)(peer[d].base + test_below(used)) : (uint8_t)test_rand();
    t->txw_done_i = chance(45), t->txw_send_i = chance(60), t->txw_again_i = chance(3) && i % 8000 > 4000;
    t->txw_clear_i = i % 1000 == 999, t->txw_clear_peer_i = (uint8_t)test_below(4);
    settle();
    bool open = (uint8_t)(peer[p].next - peer[p].base) < (peer[p].again ? 1 : 8);
    CHECK(t->txw_open_o == open && t->txw_next_o == peer[p].next && t->txw_base_o == peer[p].base);
    if (t->txw_done_i && (uint8_t)(t->txw_done_seq_i - peer[d].base) < used) {
      peer[d].done.insert(t->txw_done_seq_i);
      while (peer[d].done.erase((uint8_t)peer[d].base)) peer[d].base++;
    }
    if (t->txw_again_i) peer[p].again = true;
    else if (t->txw_send_i && open) peer[p].again = false;
    if (t->txw_send_i && open) peer[p].next++;
    if (t->txw_clear_i) peer[t->txw_clear_peer_i] = {};
    cycle();
  }
}

// A sender with eight under way and repeats in any order: each is accepted once, in order, also behind thousands that it gave up
static void rx_window_accepts_each_once() {
  fresh();
  uint16_t base[4] = {0}, expect[4] = {0};
  unsigned accepted = 0, duplicate = 0, future = 0, skipped = 0;
  for (int i = 0; i < 30000; i++) {
    unsigned p = (unsigned)test_below(4);
    if (chance(1))
      base[p] = (uint16_t)(expect[p] + 1 + test_below(chance(50) ? 3 : 30000)); // gave some up
    else if ((int16_t)(expect[p] - base[p]) > 3 || (expect[p] != base[p] && chance(2)))
      base[p]++;
    t->rxw_peer_i = (uint8_t)p, t->rxw_base_i = base[p];
    const uint16_t seq = (uint16_t)(base[p] + test_below(8));
    t->rxw_seq_i = (uint8_t)seq; // what a packet carries of it
    settle();
    bool skip = (int16_t)(base[p] - expect[p]) > 0;
    int at = (int16_t)(seq - (skip ? base[p] : expect[p]));
    CHECK(t->rxw_skipped_o == skip && t->rxw_accept_o == (at == 0));
    CHECK(t->rxw_duplicate_o == (at < 0) && t->rxw_future_o == (at > 0));
    t->rxw_follow_i = chance(70), t->rxw_deliver_i = at == 0 && chance(70);
    t->rxw_clear_i = 0;
    settle();
    accepted += t->rxw_deliver_i, duplicate += at<0, future += at> 0, skipped += skip;
    if (t->rxw_deliver_i)
      expect[p] = (uint16_t)(seq + 1);
    else if (t->rxw_follow_i && skip)
      expect[p] = base[p];
    cycle();
    if (i % 5000 == 4999) {
      t->rxw_clear_i = 1, t->rxw_clear_peer_i = (uint8_t)p, t->rxw_follow_i = t->rxw_deliver_i = 0;
      settle(), cycle();
      expect[p] = base[p] = 0, t->rxw_clear_i = 0;
    }
  }
  CHECK(accepted > 1000 && duplicate > 1000 && future > 1000 && skipped > 50);
}

// Transmitter, a wire with latency and faults, receiver: good packets arrive in order per lane, bad
// ones are counted, and when all is drained every credit is back.
struct Flit {
  bool valid, first;
  uint8_t vn;
  uint32_t half;
  uint32_t flit[8];
};
static void link_keeps_lanes_in_order() {
  fresh();
  std::deque<Flit> wire(6, Flit{});
  std::deque<uint8_t> credit_wire(6, 0);
  std::deque<uint32_t> sent[4]; // numbers of packets that the wire left whole
  uint32_t serial = 1, offered = 0, hurt = 0, crc = 0, drops = 0, got = 0, stalls = 0;
  int spoil = 0; // what happens to the packet on the wire: 1 = a bit flips
  bool open = true;
  for (int i = 0; i < 60000; i++) {
    bool drain = i > 58000;
    unsigned lane = (unsigned)test_below(4);
    // tag: src, dst, seq, idx, vn, sop, eop; the serial number is the payload
    uint32_t tag = (uint32_t)test_rand() & 0xFFFFFFF0u;
    tag |= (uint32_t)lane << 2 | 3;
    t->ltx_valid_i = drain ? 0 : chance(70) ? (uint8_t)(1u << lane) : 0;
    t->ltx_tag_i = tag;
    for (int k = 0; k < 16; k++) t->ltx_data_i[k] = serial * 2654435761u + (uint32_t)k;
    t->ltx_data_i[0] = serial;
    t->ltx_credit_i = credit_wire.front(), credit_wire.pop_front();
    t->ltx_hold_i = chance(10);
    Flit f = wire.front();
    wire.pop_front();
    t->lrx_valid_i = f.valid, t->lrx_first_i = f.first, t->lrx_vn_i = f.vn, t->lrx_half_i = f.half;
    for (int k = 0; k < 8; k++) t->lrx_flit_i[k] = f.flit[k];
    if (i % 400 == 0) open = chance(60); // a reader that stops for a while fills the lanes
    unsigned sel = (unsigned)test_below(4);
    t->lrx_sel_i = (uint8_t)sel, t->lrx_ready_i = open || drain ? (uint8_t)(1u << sel) : 0;
    settle();
    CHECK(!t->ltx_credit_error_o);
    stalls += t->ltx_stall_o != 0;
    CHECK(!t->ltx_hold_i || !t->ltx_ready_o); // it begins no packet
    if (t->ltx_ready_o & t->ltx_valid_i) {
      sent[lane].push_back(serial++), offered++;
    }
    Flit out = {};
    out.valid = t->ltx_valid_o, out.first = t->ltx_first_o, out.vn = t->ltx_vn_o,
    out.half = t->ltx_half_o;
    for (int k = 0; k < 8; k++) out.flit[k] = t->ltx_flit_o[k];
    if (out.valid && out.first) spoil = chance(3);
    if (out.valid && spoil && !out.first) {
      unsigned bit = (unsigned)test_below(288);
      if (bit < 256)
        out.flit[bit / 32] ^= 1u << (bit % 32);
      else
        out.half ^= 1u << (bit - 256);
      hurt++;
    }
    if (out.valid && out.first && spoil) { // the number of a spoilt packet never arrives
      auto &queue = sent[out.vn];
      for (auto at = queue.begin(); at != queue.end(); ++at)
        if (*at == out.flit[0]) {
          queue.erase(at);
          break;
        }
    }
    wire.push_back(out);
    credit_wire.push_back(t->lrx_credit_o);
    if (t->lrx_valid_o >> sel & 1 && t->lrx_ready_i) {
      CHECK(!sent[sel].empty());
      if (!sent[sel].empty()) {
        uint32_t want = sent[sel].front();
        sent[sel].pop_front();
        CHECK(t->lrx_data_o[0] == want && t->lrx_data_o[15] == want * 2654435761u + 15);
        CHECK((t->lrx_tag_o >> 2 & 3) == sel);
      }
      got++;
    }
    crc += t->lrx_crc_o != 0, drops += t->lrx_drop_o != 0;
    cycle();
  }
  CHECK(offered == got + hurt && crc == hurt && drops == 0 && hurt > 100 && stalls > 100);
  for (auto &queue : sent) CHECK(queue.empty());
  // All 8 credits of a lane are back: eight packets leave without one more return
  t->lrx_ready_i = 0, t->ltx_credit_i = 0, t->lrx_valid_i = 0, t->ltx_hold_i = 0;
  for (int i = 0, sent_now = 0; i < 60; i++) {
    t->ltx_valid_i = 1;
    settle();
    sent_now += t->ltx_ready_o & 1;
    cycle();
    if (i == 59) CHECK(sent_now == 8);
  }
}

// Messages of one packet and of three, lanes that always have one: none has more turns than another
static void lanes_of_a_link_take_turns() {
  for (unsigned lanes = 3; lanes < 16; lanes++)
    for (int packets = 1; packets < 4; packets += 2) {
      unsigned had[4] = {0}, at[4] = {0}, least = ~0u, most = 0;
      fresh();
      for (int i = 0; i < 200; i++) {
        unsigned lane = 0;
        t->ltx_valid_i = (uint8_t)lanes, t->ltx_credit_i = 0;
        settle();
        while (lane < 4 && !(t->ltx_ready_o >> lane & 1)) lane++;
        if (lane < 4) { /* the header depends on the lane */
          t->ltx_tag_i = (at[lane] == 0 ? 2u : 0) | (at[lane] == (unsigned)packets - 1 ? 1u : 0);
          at[lane] = (at[lane] + 1) % (unsigned)packets, had[lane]++;
          t->ltx_credit_i = (uint8_t)(1u << lane);
          settle();
        }
        cycle();
      }
      for (unsigned lane = 0; lane < 4; lane++)
        if (lanes >> lane & 1) {
          least = had[lane] < least ? had[lane] : least, most = had[lane] > most ? had[lane] : most;
        }
      CHECK(most - least <= (lanes & (lanes - 1) ? (unsigned)packets : 0));
    }
}

// Half packets, lanes that change inside a packet, credits ignored: counted, and the next good
// packet passes
static void link_receiver_survives_noise() {
  fresh();
  unsigned got = 0, bad[4] = {0}, credits[4] = {0};
  for (int i = 0; i < 200000; i++) {
    t->lrx_valid_i = i < 199900 && chance(80), t->lrx_first_i = chance(50), t->lrx_vn_i = (uint8_t)test_below(4);
    t->lrx_half_i = (uint32_t)test_rand();
    for (int k = 0; k < 8; k++) t->lrx_flit_i[k] = (uint32_t)test_rand();
    t->lrx_ready_i = (uint8_t)test_below(16);
    settle();
    got += t->lrx_got_o;
    for (int v = 0; v < 4; v++) {
      bad[v] += (t->lrx_crc_o >> v & 1) + (t->lrx_drop_o >> v & 1);
      credits[v] += t->lrx_credit_o >> v & 1;
    }
    cycle();
  }
  CHECK(got == 0);
  for (int v = 0; v < 4; v++) CHECK(bad[v] > 2000 && credits[v] == bad[v]); // broken or cut: one each
  t->lrx_ready_i = 0;
  for (int n = 0; n < 12; n++) { // 12 good ones into 8 places: 4 are dropped
    uint32_t words[17];
    for (int k = 0; k < 16; k++) words[k] = (uint32_t)test_rand();
    words[16] = ((uint32_t)n << 8 & ~0xFu) | 2u << 2 | 3;
    uint32_t crc = crc_model(words, 17);
    t->lrx_valid_i = 1, t->lrx_first_i = 1, t->lrx_vn_i = 2, t->lrx_half_i = words[16];
    for (int k = 0; k < 8; k++) t->lrx_flit_i[k] = words[k];
    settle(), got += t->lrx_got_o, cycle();
    t->lrx_first_i = 0, t->lrx_half_i = crc;
    for (int k = 0; k < 8; k++) t->lrx_flit_i[k] = words[8 + k];
    settle(), got += t->lrx_got_o, cycle();
  }
  t->lrx_valid_i = 0, settle(), got += t->lrx_got_o;
  CHECK(got == 8 && t->lrx_drop_o == 4);
  // Halves of two virtual networks are no packet, though their CRC is right
  t->lrx_ready_i = 4;
  for (int n = 0; n < 20; n++) cycle();
  uint32_t words[17];
  for (int k = 0; k < 16; k++) words[k] = (uint32_t)test_rand();
  words[16] = 2u << 2 | 3;
  for (int half = 0; half < 2; half++) {
    t->lrx_valid_i = 1, t->lrx_first_i = !half, t->lrx_vn_i = half ? 1 : 2;
    t->lrx_half_i = half ? crc_model(words, 17) : words[16];
    for (int k = 0; k < 8; k++) t->lrx_flit_i[k] = words[8 * half + k];
    settle(), got += t->lrx_got_o, cycle();
  }
  t->lrx_valid_i = 0, settle(), got += t->lrx_got_o;
  CHECK(got == 8 && t->lrx_drop_o == 4);
  t->lrx_ready_i = 0;
}

// A host memory with random waits on all five AXI channels
static std::vector<uint8_t> host(1 << 16);
static std::set<uint64_t> poison; // 512-byte blocks that answer with an error
struct Memory {
  std::deque<std::pair<uint64_t, unsigned>> reads, writes; // address, beats
  struct Beat {
    uint32_t data[8], strobe;
    bool last;
  };
  std::deque<Beat> beats; // taken, before or after their address
  std::deque<unsigned> answers;
  std::deque<bool> errors;
  unsigned stall = 30;
  int closed_cycles = 0; // for so long nothing can be written
  bool bad = false;
  void drive() {
    const bool is_open = closed_cycles-- <= 0;
    t->arready_i = chance(100 - stall), t->awready_i = is_open && chance(100 - stall),
    t->wready_i = is_open && chance(100 - stall);
    t->rvalid_i = !reads.empty() && chance(100 - stall);
    if (t->rvalid_i) {
      uint64_t at = reads.front().first;
      memcpy(&t->rdata_i[0], &host[at], 32);
      t->rid_i = 0, t->rresp_i = poison.count(at >> 9) ? 2 : 0;
    }
    t->bvalid_i = !answers.empty() && chance(100 - stall);
    t->bid_i = 0, t->bresp_i = t->bvalid_i && errors.front() ? 2 : 0;
  }
  void step() {
    if (t->rvalid_i) {
      reads.front().first += 32;
      if (--reads.front().second == 0) reads.pop_front();
    }
    if (t->bvalid_i) answers.pop_front(), errors.pop_front();
    if (t->arvalid_o && t->arready_i) {
      CHECK(t->araddr_o % 32 == 0 && t->araddr_o / 512 == (t->araddr_o + t->arlen_o * 32) / 512);
      reads.push_back({t->araddr_o % host.size(), t->arlen_o + 1u});
    }
    if (t->wvalid_o && t->wready_i) {
      Beat b = {{0}, t->wstrb_o, t->wlast_o != 0};
      for (int k = 0; k < 8; k++) b.data[k] = t->wdata_o[k];
      beats.push_back(b);
    }
    if (t->awvalid_o && t->awready_i) {
      CHECK(t->awaddr_o / 512 == (t->awaddr_o + t->awlen_o * 32) / 512);
      writes.push_back({t->awaddr_o % host.size(), t->awlen_o + 1u});
    }
    while (!beats.empty() && !writes.empty()) {
      uint64_t at = writes.front().first;
      const Beat &b = beats.front();
      for (unsigned k = 0; k < 32; k++)
        if (b.strobe >> k & 1) host[at + k] = (uint8_t)(b.data[k / 4] >> (k % 4 * 8));
      bad = bad || poison.count(at >> 9);
      CHECK(b.last == (writes.front().second == 1));
      writes.front().first += 32;
      beats.pop_front();
      if (--writes.front().second) continue;
      answers.push_back(0), errors.push_back(bad);
      writes.pop_front(), bad = false;
    }
  }
};
struct Copy {
  uint64_t from, to;
  uint32_t bytes;
  bool rd_err = false, wr_err = false; // told at the last packet, when the writes are done
};
// All ranges are offered as early as they are taken; abort_at: of the only one
static bool copy(Memory &m, std::vector<Copy> &all, int abort_at) {
  size_t asked = 0, passed = 0, done = 0;
  uint32_t at = 0;
  t->wr_abort_i = 0;
  for (int i = 0; i < 40000; i++) {
    t->copy_gate_i = chance(80) && !(abort_at >= 0 && i >= abort_at);
    t->wr_abort_i = t->wr_abort_i || (abort_at >= 0 && i >= abort_at && asked == all.size());
    t->rd_start_i = t->wr_start_i = 0, m.drive(), settle();
    bool start = asked < all.size() && t->rd_room_o && t->wr_room_o && chance(70);
    if (start) {
      const Copy &c = all[asked++];
      t->rd_addr_i = c.from, t->wr_addr_i = c.to, t->rd_len_i = t->wr_len_i = c.bytes;
    }
    t->rd_start_i = t->wr_start_i = start, settle();
    if (t->copy_o && (at += 64) >= all[passed].bytes) all[passed++].rd_err = t->rd_err_o, at = 0;
    if (t->wr_done_o) {
      CHECK(done < passed);
      all[done++].wr_err = t->wr_err_o;
    }
    m.step(), cycle();
    if (i > 2 && asked == all.size() && t->wr_idle_o && (passed == all.size() || t->wr_abort_i)) {
      CHECK(done == passed);
      return true;
    }
  }
  return false;
}
static void streams_copy_any_alignment() {
  fresh();
  Memory m;
  for (int i = 0; i < 200; i++) {
    std::vector<Copy> all(1 + test_below(6));
    m.stall = (unsigned)test_below(3) * 35;
    for (auto &b : host) b = (uint8_t)test_rand();
    std::vector<uint8_t> want = host;
    for (size_t k = 0; k < all.size(); k++) {
      all[k] = Copy{test_below(16384), 32768 + 5120 * k + test_below(64),
                    1 + (uint32_t)test_below(chance(50) ? 100 : 5000)};
      memcpy(&want[all[k].to], &host[all[k].from], all[k].bytes);
    }
    CHECK(copy(m, all, -1));
    CHECK(host == want);
    for (auto &c : all) CHECK(!c.rd_err && !c.wr_err);
  }
}
// The beats that can wait are used up around the end of a range whose last bytes reach into one more: the next range waits too
static void ranges_wait_for_the_last_beat() {
  fresh();
  Memory m;
  for (uint32_t more = 0; more < 8; more++) {
    std::vector<Copy> all = {{0, 32768 + 16, 32 * (60 + more)}, {8192, 40960 + 7, 100}, {9000, 45000, 300}};
    for (auto &b : host) b = (uint8_t)test_rand();
    std::vector<uint8_t> want = host;
    for (auto &c : all) memcpy(&want[c.to], &host[c.from], c.bytes);
    m.stall = 0, m.closed_cycles = 400;
    CHECK(copy(m, all, -1));
    CHECK(host == want);
  }
}
static void streams_report_errors_and_abort() {
  fresh();
  Memory m;
  poison = {4}; // bytes 2048..2559; only the range that meets them is told of them
  for (int i = 0; i < 50; i++) {
    std::vector<Copy> all = {{5000, 40000, 700}, {2000, 42000, 3000}, {6000, 46000, 60},
                             {3000, 1900, 1000}, {7000, 48000, 2000}};
    m.stall = (unsigned)test_below(3) * 35;
    CHECK(copy(m, all, -1));
    for (size_t k = 0; k < all.size(); k++) CHECK(all[k].rd_err == (k == 1) && all[k].wr_err == (k == 3));
  }
  poison.clear();
  for (int i = 0; i < 200; i++) { // abort: a prefix is written, nothing else, and it ends
    fresh();
    m = Memory{};
    for (auto &b : host) b = (uint8_t)test_rand();
    std::vector<uint8_t> before = host;
    uint64_t from = test_below(8192), to = 32768 + test_below(8192);
    std::vector<Copy> all = {{from, to, 5000}};
    CHECK(copy(m, all, 5 + (int)test_below(400)));
    size_t n = 0;
    while (n < 5000 && host[to + n] == before[from + n]) n++;
    // the aligner holds back up to one beat of what it took
    for (size_t k = n; k < 5000; k++)
      if (host[to + k] != before[to + k]) {
        CHECK(!"written behind the prefix");
        break;
      }
    for (size_t k = 0; k < host.size(); k++)
      if ((k < to || k >= to + 5000) && host[k] != before[k]) {
        CHECK(!"written outside");
        break;
      }
  }
}

// A master that keeps either channel waiting: whole aligned writes arrive once, others answer with an
// error and change nothing; reads show what the registers said in the cycle of re_o
static void axil_takes_one_access_at_a_time() {
  fresh();
  unsigned writes = 0, reads = 0, bad = 0;
  for (int i = 0; i < 2000; i++) {
    bool write = chance(50), both = chance(10); // both at once: the write comes first
    uint32_t addr = (uint32_t)test_below(1 << 17), data = (uint32_t)test_rand();
    unsigned strobe = chance(70) ? 15 : (unsigned)test_below(16), hits = 0;
    if (chance(70)) addr &= ~3u;
    write = write || both;
    bool good = (addr & 3) == 0 && (!write || strobe == 15);
    t->axil_awaddr_i = t->axil_araddr_i = addr, t->axil_wdata_i = data,
    t->axil_wstrb_i = (uint8_t)strobe;
    t->axil_awvalid_i = t->axil_wvalid_i = write, t->axil_arvalid_i = !write || both;
    t->axil_bready_i = t->axil_rready_i = 0;
    uint32_t want = 0;
    for (int wait = 0;; wait++) {
      CHECK(wait < 50);
      if (wait >= 50) break;
      t->axil_rdata_i = (uint32_t)test_rand();
      t->axil_bready_i = t->axil_rready_i = chance(40);
      t->axil_hold_i = !both && chance(30); // what is held is not taken; reads go on
      settle();
      CHECK(!(t->axil_hold_i && (t->axil_we_o || t->axil_awready_o || t->axil_wready_o)));
      CHECK(!(t->axil_we_o && t->axil_re_o));
      if (t->axil_we_o || t->axil_re_o) CHECK(t->axil_addr_o == addr);
      if (t->axil_we_o) CHECK(t->axil_wdata_o == data);
      if (t->axil_re_o) want = t->axil_rdata_i;
      hits += t->axil_we_o + t->axil_re_o;
      bool taken = write ? t->axil_awready_o && t->axil_wready_o : (bool)t->axil_arready_o;
      bool end =
          write ? t->axil_bvalid_o && t->axil_bready_i : t->axil_rvalid_o && t->axil_rready_i;
      if (end && write) CHECK(t->axil_bresp_o == (good ? 0 : 2));
      if (end && !write) CHECK(t->axil_rresp_o == (good ? 0 : 2) && t->axil_rdata_o == want);
      cycle();
      if (taken) t->axil_awvalid_i = t->axil_wvalid_i = t->axil_arvalid_i = 0;
      if (end) break;
    }
    CHECK(hits == good);
    writes += write && good, reads += !write && good, bad += !good;
  }
  CHECK(writes > 200 && reads > 200 && bad > 200);
}

static void alu_keeps_to_its_width() {
  fresh();
  for (int i = 0; i < 20000; i++) {
    unsigned log2 = (unsigned)test_below(4), bits = 8u << log2, sign = (unsigned)test_below(2);
    uint64_t mask = ~0ull >> (64 - bits), old = test_rand(), operand = test_rand(),
             compare = test_rand();
    if (chance(30)) operand = old;
    if (chance(30)) compare = old ^ (chance(50) ? ~mask : 0); // equal as far as it counts
    t->alu_op_i = (uint8_t)test_below(18), t->alu_dtype_i = (uint8_t)(sign << 2 | log2);
    t->alu_old_i = old, t->alu_operand_i = operand, t->alu_compare_i = compare;
    settle();
    auto value = [&](uint64_t v) { // as a 64-bit number that orders like the element
      v <<= 64 - bits;
      return sign ? v ^ 1ull << 63 : v;
    };
    uint64_t a = value(old), b = value(operand), c = value(compare), r = old;
    switch (t->alu_op_i) {
    case COSIM_OP_MIN: r = a < b ? old : operand; break;
    case COSIM_OP_MAX: r = a < b ? operand : old; break;
    case COSIM_OP_SUM: r = old + operand; break;
    case COSIM_OP_PROD: r = old * operand; break;
    case COSIM_OP_LOR: r = (old & mask) || (operand & mask); break;
    case COSIM_OP_LAND: r = (old & mask) && (operand & mask); break;
    case COSIM_OP_BOR: r = old | operand; break;
    case COSIM_OP_BAND: r = old & operand; break;
    case COSIM_OP_LXOR: r = !(old & mask) != !(operand & mask); break;
    case COSIM_OP_BXOR: r = old ^ operand; break;
    case COSIM_OP_SWAP: r = operand; break;
    case COSIM_OP_CSWAP: r = c == a ? operand : old; break;
    case COSIM_OP_CSWAP_NE: r = c != a ? operand : old; break;
    case COSIM_OP_CSWAP_LE: r = c <= a ? operand : old; break;
    case COSIM_OP_CSWAP_LT: r = c < a ? operand : old; break;
    case COSIM_OP_CSWAP_GE: r = c >= a ? operand : old; break;
    case COSIM_OP_CSWAP_GT: r = c > a ? operand : old; break;
    default: r = (operand & compare) | (old & ~compare);
    }
    CHECK(t->alu_new_o == (r & mask));
    cycle();
  }
}

static void counters_miss_nothing() {
  fresh();
  uint64_t model[49] = {0};
  uint32_t high = 0;
  for (int i = 0; i < 20000; i++) {
    t->cnt_vn_i = (uint32_t)(chance(50) ? test_rand() & test_rand() : 0);
    t->cnt_nic_i = (uint32_t)(chance(50) ? test_rand() & test_rand() & 0x3FFFF : 0);
    t->cnt_msg_i = (uint8_t)test_below(4), t->cnt_tx_vn_i = (uint8_t)test_below(4);
    t->cnt_rx_vn_i = (uint8_t)test_below(4), t->cnt_tx_bytes_i = (uint32_t)test_rand();
    t->cnt_rx_bytes_i = (uint32_t)test_rand();
    unsigned index = (unsigned)test_below(chance(90) ? 49 : 64), upper = (unsigned)test_below(2);
    t->cnt_addr_i = (uint16_t)(index << 3 | upper << 2), t->cnt_re_i = chance(50);
    settle();
    CHECK(t->cnt_rdata_o == (index >= 49 ? 0 : upper ? high : (uint32_t)model[index]));
    if (t->cnt_re_i && !upper && index < 49) high = (uint32_t)(model[index] >> 32);
    for (unsigned k = 0; k < 32; k++) model[k] += t->cnt_vn_i >> k & 1;
    for (unsigned k = 0; k < 9; k++) // the first of the packed bits is the last counter
      model[32 + k] += (t->cnt_nic_i >> k & 1) + (t->cnt_nic_i >> (9 + k) & 1);
    if (t->cnt_msg_i & 1) model[41 + t->cnt_tx_vn_i] += t->cnt_tx_bytes_i;
    if (t->cnt_msg_i & 2) model[45 + t->cnt_rx_vn_i] += t->cnt_rx_bytes_i;
    cycle();
  }
}

// Two sources, four queues of 2 to 8 records, a reader that is late now and then, a bus with waits
struct Events {
  struct {
    uint32_t prod = 0, cons = 0, dropped = 0;
    unsigned log2;
  } queue[4];
  uint64_t success[16] = {0}, failure[16] = {0};
  unsigned records = 0, copies = 0, dropped = 0;
  // the one that is offered
  uint64_t user, time; // time: of its choice
  uint32_t to, what, moved;
  unsigned q, c, source;

  void write(unsigned addr, uint32_t value) {
    t->ev_we_i = 1, t->ev_addr_i = (uint16_t)addr, t->ev_wdata_i = value;
    settle(), cycle();
    t->ev_we_i = 0;
  }
  uint32_t read(unsigned addr) {
    t->ev_addr_i = (uint16_t)addr, settle();
    return t->ev_rdata_o;
  }
  void start() {
    t->ev_valid_i = t->ev_pop_i = t->ev_done_i = t->ev_resp_i = 0;
    for (unsigned k = 0; k < 4; k++) {
      queue[k].log2 = 1 + k % 3;
      write(0x100 + 32 * k, 0x10000 * (k + 1)), write(0x104 + 32 * k, k);
      write(0x108 + 32 * k, 0x80000000u | queue[k].log2);
    }
    for (unsigned k = 0; k < 16; k += 2) write(0x210 + 32 * k, 0x1000 + 16 * k);
  }
  // Offers an event; how many writes to the host must follow: bit 0 a record, bit 1 a counter's copy
  int offer() {
    user = test_rand(), to = (uint32_t)test_below(512), what = (uint32_t)test_rand() & ~15u;
    if (chance(50)) what &= ~(15u << 20); // status ok
    moved = (uint32_t)test_rand(), q = to >> 6 & 3, c = to & 15,
    source = 1 + (unsigned)test_below(2);
    t->ev_to_i = (uint16_t)to, t->ev_what_i = what, t->ev_mlength_i = moved, t->ev_user_i = user;
    t->ev_valid_i = (uint8_t)source;
    settle();
    CHECK(t->ev_ready_o == source);
    cycle();
    t->ev_valid_i = 0;
    t->ev_time_i = time = test_rand(); // the clock goes on, what is written does not
    cycle();
    t->ev_time_i = test_rand();
    bool wanted = to >> 8 & 1, counted = to >> 5 & 1;
    bool full = queue[q].prod - queue[q].cons >= 1u << queue[q].log2;
    if (wanted && full) queue[q].dropped++, dropped++;
    if (counted && (what >> 20 & 15))
      failure[c]++;
    else if (counted)
      success[c] += to >> 4 & 1 ? moved : 1;
    return (wanted && !full) | (counted && c % 2 == 0) << 1;
  }
  void check_beat(bool record, int beat) {
    uint64_t word[4];
    for (int k = 0; k < 4; k++)
      word[k] = t->ev_beat_o[2 * k] | (uint64_t)t->ev_beat_o[2 * k + 1] << 32;
    if (!record) {
      CHECK(t->ev_req_addr_o == 0x1000 + c * 16u / 32 * 32);
      CHECK(t->ev_strb_o == (c & 1 ? 0xFFFF0000u : 0xFFFFu));
      CHECK(word[0] == success[c] && word[1] == failure[c]);
    } else if (beat == 0) {
      uint32_t slot = queue[q].prod % (1u << queue[q].log2);
      CHECK(t->ev_req_addr_o == ((uint64_t)q << 32) + 0x10000 * (q + 1) + 64 * slot);
      CHECK(word[0] == (source == 1 ? user : ~user) && word[1] == user + 3);
      CHECK(word[2] == user + 4 && word[3] == user + 2);
    } else {
      unsigned char bytes[64] = {0};
      memcpy(bytes + 32, word, 32);
      cosim_event e = cosim_event_unpack(bytes);
      CHECK(e.match == user + 1 && e.moved_bytes == moved && e.requested_bytes == ~moved);
      CHECK(e.type == (int)(what >> 24) && e.status == (int)(what >> 20 & 15));
      CHECK(e.pt == (int)(what >> 12 & 255) && e.unlinked == (int)(what >> 11 & 1));
      CHECK(e.overflow == (int)(what >> 10 & 1) && e.peer == (int)(what >> 4 & 63));
      CHECK(e.slot == (int)((~user & 255) | (~user >> 8 & 0xFF00)) && e.pid == (int)(user >> 16 & 0xFFFF) && e.ticks == time);
      CHECK(e.phase == !(queue[q].prod >> queue[q].log2 & 1));
    }
  }
  void take(bool record) {
    int wait = 0;
    for (settle(); !t->ev_req_o && wait < 20; wait++) cycle(), settle();
    CHECK(t->ev_req_o && t->ev_req_beats_o == (record ? 2 : 1));
    for (int beat = 0; beat < 1 + record; beat++) {
      for (int k = (int)test_below(3); k; k--) cycle();
      t->ev_pop_i = 1, t->ev_done_i = beat == record;
      settle();
      check_beat(record, beat);
      cycle();
      t->ev_pop_i = t->ev_done_i = 0;
    }
    (record ? queue[q].prod : copies)++, records += record;
    t->ev_resp_i = 1, t->ev_resp_err_i = chance(10);
    settle();
    CHECK(t->ev_irq_o == (record ? 1u << q : 0) && t->ev_err_o == t->ev_resp_err_i);
    cycle();
    t->ev_resp_i = 0;
  }
  void look() {
    for (int wait = 0; settle(), !t->ev_idle_o && wait < 20; wait++) cycle();
    CHECK(t->ev_idle_o && !t->ev_req_o);
    q = (unsigned)test_below(4), c = (unsigned)test_below(16);
    uint32_t behind = queue[q].prod - queue[q].cons;
    if (chance(30)) write(0x10C + 32 * q, queue[q].cons += (uint32_t)test_below(behind + 1));
    if (chance(2)) write(0x114 + 32 * q, 0), queue[q].dropped = 0;
    CHECK(read(0x110 + 32 * q) == queue[q].prod && read(0x114 + 32 * q) == queue[q].dropped);
    CHECK(read(0x204 + 32 * c) == (uint32_t)(success[c] >> 32));
    CHECK(read(0x208 + 32 * c) == (uint32_t)failure[c]);
    if (chance(1)) { // written by the host: all that follows adds to it
      success[c] = 0xFFFFFFFFu;
      write(0x200 + 32 * c, 0xFFFFFFFFu), write(0x204 + 32 * c, 0), write(0x20C + 32 * c, 0);
    }
  }
};
static void events_are_written_or_counted() {
  fresh();
  Events e;
  e.start();
  for (int i = 0; i < 4000; i++) {
    int writes = e.offer();
    if (writes & 1) e.take(true);
    if (writes & 2) e.take(false);
    e.look();
  }
  CHECK(e.records > 500 && e.copies > 500 && e.dropped > 100);
}

// Few match bits, portal indices and sources, so that lists are long; the model is two ordered lists
struct Matching {
  struct Entry {
    cosim_entry e;
    uint64_t local = 0;
    unsigned used = 0;
    uint64_t at(uint64_t offset) const { return e.manage_local ? local : offset; }
    uint64_t room(uint64_t offset) const {
      return at(offset) < e.size_bytes ? e.size_bytes - at(offset) : 0;
    }
  };
  struct Message {
    int kind, pt, src, pid, dst_pid, ni;
    uint64_t match, offset;
    uint32_t length, uid;
    int ctx() const { return dst_pid == 5 ? (ni == 0 ? 0 : ni == 2 ? 1 : -1) : dst_pid == 9 && ni == 0 ? 2 : -1; }
  };
  std::map<int, Entry> entries;  // in a list, or still used
  std::vector<int> lists[2][64]; // numbers, in order; 16 portal indices of each context
  std::vector<int> open;         // entries of messages that have not ended
  unsigned overflow = 0, unlinked = 0, refused = 0, status_count[16] = {0};

  bool linked(int n) {
    for (auto &side : lists)
      for (auto &list : side)
        for (int k : list)
          if (k == n) return true;
    return false;
  }
  void leave(int n) {
    for (auto &side : lists)
      for (auto &list : side)
        for (size_t k = 0; k < list.size(); k++)
          if (list[k] == n) list.erase(list.begin() + (long)k);
  }
  void append_or_unlink() {
    bool append = chance(60), force = !append && chance(30);
    int n = (int)test_below(chance(95) ? 32 : 65536);
    Entry x;
    cosim_entry &e = x.e;
    memset(&e, 0, sizeof e);
    e.ctx = (int)test_below(3), e.pid = chance(60) ? -1 : (int)test_below(2);
    e.uid = chance(70) ? -1 : (int)test_below(2);
    e.pt = (int)test_below(3), e.overflow = chance(40),
    e.src = chance(60) ? -1 : (int)test_below(3);
    e.op_put = chance(85), e.op_get = chance(85), e.use_once = chance(40);
    e.manage_local = chance(40), e.no_truncate = chance(20);
    e.ct = chance(50) ? -1 : 0, e.ct_puts = chance(50);
    e.start = test_rand(), e.match = test_below(4), e.ignore_bits = chance(30) ? 3 : 0;
    e.user = test_rand(), e.size_bytes = (uint32_t)test_below(300);
    e.min_free = (uint32_t)test_below(100);
    uint32_t words[16];
    cosim_entry_pack(&e, words);
    for (int k = 0; k < 16; k++) t->lme_entry_i[k] = words[k];
    t->lme_append_i = append, t->lme_unlink_i = !append, t->lme_index_i = (uint16_t)n;
    t->lme_force_i = force;
    settle(), cycle();
    t->lme_append_i = t->lme_unlink_i = 0;
    bool used = entries.count(n) && entries[n].used, said = false;
    bool bad = n >= 32 || (used && !force) || linked(n) == append;
    for (int wait = 0; settle(), t->lme_busy_o && wait < 80; wait++)
      said = said || t->lme_bad_o, cycle();
    CHECK(!t->lme_busy_o && said == bad);
    refused += bad;
    if (!bad && append) entries[n] = x, lists[e.overflow][16 * e.ctx + e.pt].push_back(n);
    if (!bad && !append) leave(n);
  }
  // The entry that a message must take, -1: none; side: 0 priority, 1 overflow list
  int find(const Message &m, int *side) {
    for (*side = 0; *side < 2; ++*side)
      for (int n : lists[*side][16 * m.ctx() + m.pt]) {
        const Entry &x = entries[n];
        if (!((x.e.match ^ m.match) & ~x.e.ignore_bits) && (x.e.src < 0 || x.e.src == m.src) &&
            (x.e.pid < 0 || x.e.pid == m.pid) &&
            !(x.e.no_truncate && (x.at(m.offset) > x.e.size_bytes || m.length > x.room(m.offset))))
          return n;
      }
    return -1;
  }
  void taken(const Message &m, int n, int side) {
    Entry &x = entries[n];
    uint64_t at = x.at(m.offset), room = x.room(m.offset),
             moved = m.length < room ? m.length : room;
    bool left = x.e.use_once || (x.e.manage_local && room - moved < x.e.min_free);
    CHECK(t->lme_me_o == n && t->lme_mlength_o == moved && t->lme_offset_o == at);
    CHECK(t->lme_start_o == x.e.start + at && t->lme_user_o == x.e.user);
    CHECK(t->lme_unlinked_o == left && t->lme_overflow_o == side);
    const bool gets = m.kind == COSIM_KIND_GET || m.kind == COSIM_KIND_FETCH;
    CHECK(t->lme_counts_o == (x.e.ct >= 0 && !(t->lme_pt_mute_i >> m.pt & 1) && !(gets && x.e.ct_puts)));
    if (x.e.manage_local) x.local = at + moved;
    x.used++, open.push_back(n);
    if (left) leave(n);
    overflow += (unsigned)side, unlinked += left;
  }
  void message() {
    const int kinds[] = {COSIM_KIND_PUT, COSIM_KIND_GET, COSIM_KIND_ATOMIC, COSIM_KIND_FETCH};
    Message m;
    m.kind = kinds[test_below(4)], m.pt = (int)test_below(chance(95) ? 4 : 256);
    m.pid = (int)test_below(2), m.uid = (uint32_t)test_below(2);
    m.dst_pid = chance(98) ? (chance(60) ? 5 : 9) : (int)test_below(65536), m.ni = chance(30) ? 2 : chance(95) ? 0 : (int)test_below(4);
    m.src = (int)test_below(3), m.match = test_below(4);
    m.offset = test_below(chance(90) ? 200 : ~0ull), m.length = (uint32_t)test_below(250);
    int side = 0, n = -1, status = COSIM_NO_MATCH;
    if (m.ctx() < 0)
      status = COSIM_NO_PROCESS;
    else if (m.pt > 15)
      status = COSIM_BAD_INDEX;
    else if (!(t->lme_pt_enable_i >> m.pt & 1))
      status = COSIM_PT_DISABLED;
    else if ((n = find(m, &side)) >= 0) {
      bool put = m.kind != COSIM_KIND_GET,
           get = m.kind == COSIM_KIND_GET || m.kind == COSIM_KIND_FETCH;
      const cosim_entry &e = entries[n].e;
      status = e.uid >= 0 && e.uid != m.uid ? COSIM_PERMISSION
               : (put && !e.op_put) || (get && !e.op_get) ? COSIM_OPERATION : COSIM_OK;
    }
    t->lme_kind_i = (uint8_t)m.kind, t->lme_src_i = (uint8_t)m.src, t->lme_pt_i = (uint8_t)m.pt;
    t->lme_pid_i = (uint16_t)m.pid, t->lme_uid_i = m.uid;
    t->lme_dst_pid_i = (uint16_t)m.dst_pid, t->lme_ni_i = (uint8_t)m.ni;
    t->lme_length_i = m.length, t->lme_match_i = m.match, t->lme_offset_i = m.offset;
    t->lme_req_valid_i = 1;
    settle();
    CHECK(t->lme_req_ready_o);
    int closed = -1;
    cycle(), t->lme_req_valid_i = 0;
    for (int wait = 0; settle(), !t->lme_res_valid_o && wait < 99; wait++)
      closed = t->lme_pt_disable_o ? t->lme_pt_disable_at_o : closed, cycle();
    CHECK(t->lme_res_valid_o);
    CHECK(t->lme_status_o == status && t->lme_matched_o == (status == COSIM_OK));
    bool closes = status == COSIM_NO_MATCH && (t->lme_pt_auto_i >> m.pt & 1);
    CHECK(closed == (closes ? 16 * m.ctx() + m.pt : -1));
    if (status == COSIM_OK) taken(m, n, side);
    status_count[status]++;
    cycle();
  }
  void end() { // of one or two messages
    int n0 = -1, n1 = -1;
    if (!open.empty()) n0 = open.back(), open.pop_back();
    if (!open.empty() && chance(50)) n1 = open.front(), open.erase(open.begin());
    t->lme_done_i = (uint8_t)((n0 >= 0) | (n1 >= 0) << 1);
    t->lme_done_me0_i = (uint16_t)n0, t->lme_done_me1_i = (uint16_t)n1;
    if (n0 >= 0) entries[n0].used--;
    if (n1 >= 0) entries[n1].used--;
    settle(), cycle(), t->lme_done_i = 0;
    for (int i = 0; i < 3; i++) settle(), cycle(); // one after the other
  }
};
static void matching_takes_the_first_that_fits() {
  unsigned s[16] = {0}, overflow = 0, unlinked = 0, refused = 0;
  for (int walk = 0; walk < 40; walk++) { // entries that take all would stay for long: begin anew
    fresh();
    Matching m;
    t->lme_pt_enable_i = 7, t->lme_pt_auto_i = 4, t->lme_pt_mute_i = 2;
    for (int i = 0; i < 1000; i++) {
      settle();
      if (chance(40))
        m.append_or_unlink();
      else if (chance(70))
        m.message();
      else
        m.end();
      settle();
      for (int n = 0; n < 32; n++) {
        CHECK((t->lme_valid_o >> n & 1) == m.linked(n));
        CHECK((t->lme_in_use_o >> n & 1) == (m.entries.count(n) && m.entries[n].used > 0));
      }
    }
    for (int k = 0; k < 16; k++) s[k] += m.status_count[k];
    overflow += m.overflow, unlinked += m.unlinked, refused += m.refused;
  }
  printf("  %u taken, %u without entry, %u not allowed, %u of a wrong user, %u for nobody\n", s[COSIM_OK], s[COSIM_NO_MATCH],
         s[COSIM_OPERATION], s[COSIM_PERMISSION], s[COSIM_NO_PROCESS]);
  CHECK(s[COSIM_OK] > 500 && s[COSIM_NO_MATCH] > 200 && s[COSIM_OPERATION] > 100);
  CHECK(s[COSIM_PERMISSION] > 100 && s[COSIM_NO_PROCESS] > 100);
  CHECK(s[COSIM_PT_DISABLED] > 50 && overflow > 200 && unlinked > 200 && refused > 500);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(fifo_keeps_order_and_count);
  RUN(what_is_unsent_is_known);
  RUN(arbiter_is_fair_and_holds);
  RUN(clock_counts_fractions);
  RUN(crc_equals_loop_and_sees_flips);
  RUN(credits_never_wrap);
  RUN(tx_window_slides_over_the_oldest);
  RUN(rx_window_accepts_each_once);
  RUN(link_keeps_lanes_in_order);
  RUN(lanes_of_a_link_take_turns);
  RUN(link_receiver_survives_noise);
  RUN(streams_copy_any_alignment);
  RUN(ranges_wait_for_the_last_beat);
  RUN(streams_report_errors_and_abort);
  RUN(axil_takes_one_access_at_a_time);
  RUN(alu_keeps_to_its_width);
  RUN(counters_miss_nothing);
  RUN(events_are_written_or_counted);
  RUN(matching_takes_the_first_that_fits);
  done();
  return TEST_END();
}
