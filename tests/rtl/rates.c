/* Payload per second at a target's pins, from the first flit of the first put to the last of the last. The
 * link carries 64 bytes in two cycles and one header packet per message; the host answers a read after
 * 400 ns, which may cost time once and not per message. */
#include "tests/rtl/cosim.h"

static int64_t First, Last;
static unsigned Sink; /* the NIC where the payload arrives: 1 of gets */
static void pins(void *ctx, int nic, int received, const cosim_packet *p, int64_t first,
                 int64_t last) {
  (void)ctx;
  if (nic != (int)Sink || !received || (p->header >> 2 & 1) != Sink) return; /* requests, or replies */
  if (First < 0) First = first;
  Last = last + 1;
}
/* Bytes per ns of COUNT puts of each of so many senders to NIC 0, all queued before the first is sent */
static double rate(int senders, uint32_t bytes, int payload, unsigned count, int kind) {
  cosim_desc d = host_desc(1 + senders);
  d.watch = pins;
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x1000, 0x80000, 1);
  cosim_event ev;
  uint32_t got = 0;
  First = -1, Sink = kind == COSIM_KIND_GET;
  e.no_events = 1;
  for (int i = 0; i <= senders; i++) {
    cosim_append(sim, i, 0, &e);
    cosim_write(sim, i, COSIM_CTRL, 0);
    cosim_write(sim, i, COSIM_TIMEOUT, 1000000);
  }
  cosim_cycles(sim, 500);
  for (int i = 1; i <= senders; i++) {
    host_fill(i, 0x2000, bytes);
    for (unsigned n = 0; n < count; n++) {
      cosim_command c = host_command(kind, 0, 1, 0x2000, bytes);
      c.payload = payload;
      cosim_submit(sim, i, 0, &c, H.memory[i] + 0x2000);
    }
  }
  cosim_cycles(sim, 30000);
  for (int i = 1; i <= senders; i++) cosim_write(sim, i, COSIM_CTRL, 1);
  for (int i = 1; i <= senders; i++)
    for (unsigned n = 0; n < count; n++)
      got += host_event_wait(sim, i, &ev, 100000) && ev.status == COSIM_OK;
  CHECK(got == count * (unsigned)senders);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_RETRANSMIT) == 0);
  for (int i = 1; i <= senders; i++)
    CHECK(!memcmp(H.memory[i] + 0x2000, H.memory[0] + 0x1000, bytes) || senders > 1);
  cosim_destroy(sim);
  return 1e3 * got * bytes / (double)((Last - First) * 2880);
}
static void say(const char *what, double gb_per_s, double wanted) {
  printf("  %-44s %6.2f GB/s, wanted %5.2f\n", what, gb_per_s, wanted);
  CHECK(gb_per_s >= wanted);
}
static void few_puts_follow_each_other_closely(void) {
  say("7 puts of 256 bytes", rate(1, 256, COSIM_PAY_DMA, 7, COSIM_KIND_PUT), 6);
  say("7 puts of 1024 bytes", rate(1, 1024, COSIM_PAY_DMA, 7, COSIM_KIND_PUT), 9);
  say("7 puts of 4096 bytes", rate(1, 4096, COSIM_PAY_DMA, 7, COSIM_KIND_PUT), 10.5);
  say("2 senders, each 7 puts of 4096 bytes", rate(2, 4096, COSIM_PAY_DMA, 7, COSIM_KIND_PUT), 10);
  say("7 puts of 256 bytes by PIO", rate(1, 256, COSIM_PAY_PIO, 7, COSIM_KIND_PUT), 8);
}
static void many_puts_keep_the_link_busy(void) {
  /* an acknowledgement takes about 0.9 us: 32 per peer may wait for theirs */
  say("31 puts of 256 bytes", rate(1, 256, COSIM_PAY_DMA, 31, COSIM_KIND_PUT), 8);
  say("31 puts of 1024 bytes", rate(1, 1024, COSIM_PAY_DMA, 31, COSIM_KIND_PUT), 10);
  say("31 puts of 4096 bytes", rate(1, 4096, COSIM_PAY_DMA, 31, COSIM_KIND_PUT), 10.5);
  say("31 puts of 16384 bytes", rate(1, 16384, COSIM_PAY_DMA, 31, COSIM_KIND_PUT), 11);
  say("31 gets of 256 bytes", rate(1, 256, COSIM_PAY_DMA, 31, COSIM_KIND_GET), 5);
  say("31 gets of 1024 bytes", rate(1, 1024, COSIM_PAY_DMA, 31, COSIM_KIND_GET), 9.5);
  say("31 gets of 4096 bytes", rate(1, 4096, COSIM_PAY_DMA, 31, COSIM_KIND_GET), 10);
  say("2 senders, each 31 puts of 4096 bytes", rate(2, 4096, COSIM_PAY_DMA, 31, COSIM_KIND_PUT), 10);
}

/* Waveforms are for simulations that asked for them: the others run the model without their hooks */
static void waves_are_asked_for_beforehand(void) {
  for (int asks = 0; asks < 2; asks++) {
    cosim_desc d = host_desc(2);
    d.has_waves = asks;
    cosim *sim = host_start(&d);
    CHECK(cosim_trace(sim, 2, "/dev/null", 0, 1000000000) == -1); /* there is no such NIC */
    CHECK(cosim_trace(sim, 1, "/dev/null", 0, 1000000000) == (asks ? 0 : -1));
    cosim_cycles(sim, 100);
    CHECK(cosim_trace_end(sim) == 0);
    cosim_destroy(sim);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(few_puts_follow_each_other_closely);
  RUN(many_puts_keep_the_link_busy);
  RUN(waves_are_asked_for_beforehand);
  return TEST_END();
}
