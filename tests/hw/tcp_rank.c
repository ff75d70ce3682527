/* One rank of a job over TCP, for scripts: tcp_rank RANK ADDRESS..., or without arguments as the launcher
   says (nic_place_env). Exchanges random messages with every
   other rank, with computation between, and prints one line of what was stamped. Exit 0: all came right.
   In the environment: NIC=eth0, by that NIC's own clock; SILENCE_MS=n, when a silent peer counts as gone;
   START_MS=n, how long to wait for the others; WAIT=n, then to do nothing but wait for a message; UDP=1 with
   it, over nic_udp.h. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_tcp.h"
#include "hw/nic_udp.h"

#define LIMIT_NS 60000000000
enum { ROUNDS = 40, MOST_BYTES = 60000 };
static unsigned char out[MOST_BYTES], in[MOST_BYTES];

static int say(const char *what, nbc_status status) {
  fprintf(stderr, "%s: %s\n", what, nbc_status_name(status));
  return 1;
}

/* The same sizes and bytes on both sides. */
static uint64_t next(uint64_t *seed) {
  return (*seed = *seed * 6364136223846793005u + 1442695040888963407u) >> 33;
}

static int exchange(const nbc_transport *t, int peer, const nbc_clock *clock) {
  uint64_t seed = (uint64_t)(peer + t->rank);
  for (int i = 0; i < ROUNDS; i++) {
    const uint64_t size = next(&seed) % MOST_BYTES;
    nbc_op send, receive;
    nbc_status status;
    memset(&send, 0, sizeof send);
    memset(&receive, 0, sizeof receive);
    memset(out, t->rank + i, (size_t)size);
    memset(in, 255, (size_t)size);
    if ((status = nbc_irecv(t, in, size, peer, 1, &receive)) ||
        (status = nbc_isend(t, out, size, peer, 1, &send)))
      return say("post", status);
    nbc_spin_ns(clock, (int64_t)(next(&seed) % 300000));
    if ((status = nbc_wait(t, &receive, LIMIT_NS)) || (status = nbc_wait(t, &send, LIMIT_NS)))
      return say("wait", status);
    for (uint64_t k = 0; k < size; k++)
      if (in[k] != (unsigned char)(peer + i))
        return fprintf(stderr, "round %d, byte %llu is wrong\n", i, (unsigned long long)k), 1;
  }
  return 0;
}

static int64_t milliseconds(const char *name) {
  const char *text = getenv(name);
  return text ? (int64_t)atoi(text) * 1000000 : 0;
}
/* For a message that never comes; the peer is to be found missing. */
static int wait_in_vain(nbc_transport *t) {
  nbc_op op;
  memset(&op, 0, sizeof op);
  printf("waiting\n");
  fflush(stdout);
  nbc_status status = nbc_irecv(t, in, 1, 1 - t->rank, 77, &op);
  if (!status) status = nbc_wait(t, &op, LIMIT_NS);
  return say("wait", status);
}

int main(int argc, char **argv) {
  const nbc_monitor_desc monitor_desc = {.history_calls = 65536};
  nbc_monitor *monitor;
  nbc_recorder *me;
  nbc_report *report;
  nbc_transport *t;
  nbc_error error;
  nbc_status status;
  nic_place place = {.rank = argc > 1 ? atoi(argv[1]) : 0,
                     .size = argc - 2,
                     .addresses = (const char *const *)(argv + 2)};
  if (argc == 1 && nic_place_env(&place, &error)) return fprintf(stderr, "%s\n", error.text), 1;
  if (place.size < 2) return fprintf(stderr, "usage: tcp_rank [RANK ADDRESS ADDRESS...]\n"), 2;
  if ((status = nbc_monitor_create(&monitor_desc, &monitor)) ||
      (status = nbc_recorder_attach(monitor, &me)))
    return say("monitor", status);
  nic_tcp_desc desc = {.rank = place.rank,
                       .size = place.size,
                       .addresses = place.addresses,
                       .clock = nbc_monitor_clock(monitor),
                       .silence_limit_ns = milliseconds("SILENCE_MS"),
                       .connect_limit_ns = milliseconds("START_MS")};
  nic_machine *machine = NULL;
  nic_error why;
  const char *nic = getenv("NIC");
  if (nic &&
      (nic_find(NULL, &machine, &why) || !nic_by_name(machine, nic) ||
       nic_clock_open(machine, nic_by_name(machine, nic), NULL, NULL, &desc.clock_of_nic, &why)))
    return fprintf(stderr, "%s: no clock\n", nic), 1;
  const nic_udp_desc datagrams = {.rank = place.rank,
                                  .size = place.size,
                                  .addresses = place.addresses,
                                  .silence_limit_ns = desc.silence_limit_ns,
                                  .connect_limit_ns = desc.connect_limit_ns};
  if (getenv("WAIT") && getenv("UDP") && nic_udp_create(&datagrams, &t, &error) == NBC_OK)
    return wait_in_vain(t);
  if (nic_tcp_create(&desc, &t, &error)) return fprintf(stderr, "%s\n", error.text), 1;
  t->recorder = me;
  if (getenv("WAIT")) return wait_in_vain(t);
  for (int peer = 0; peer < t->size; peer++)
    if (peer != t->rank && exchange(t, peer, desc.clock)) return 1;
  if ((status = nic_tcp_drain(t, LIMIT_NS))) return say("drain", status);
  const nic_tcp_stats s = nic_tcp_stats_of(t);
  if ((status = nbc_monitor_report(monitor, &report))) return say("report", status);
  printf("rank %d transfers %llu stamped %llu unstamped %llu early %llu exact %llu hidden %lld to "
         "%lld of %lld ns; begin by NIC %llu lost %llu refused %llu\n",
         t->rank, (unsigned long long)report->total.count, (unsigned long long)s.stamped_count,
         (unsigned long long)s.unstamped_count, (unsigned long long)s.early_count,
         (unsigned long long)report->total.exact_count, (long long)report->total.exact_lo_ns,
         (long long)report->total.exact_hi_ns, (long long)report->total.exact_xfer_ns,
         (unsigned long long)s.by_nic_count, (unsigned long long)s.nic_lost_count,
         (unsigned long long)s.nic_refused_count);
  const bool sane = report->total.exact_count > 0 &&
                    report->total.exact_lo_ns <= report->total.exact_hi_ns &&
                    report->problems[NBC_PROBLEM_stamp_invalid] == 0;
  nbc_report_free(report);
  if (nic_tcp_close(t, LIMIT_NS, &error)) return fprintf(stderr, "%s\n", error.text), 1;
  nic_tcp_destroy(t);
  if (argc == 1) nic_place_free(&place);
  nic_clock_close(desc.clock_of_nic);
  nic_machine_free(machine);
  nbc_recorder_detach(me);
  nbc_monitor_destroy(monitor);
  return sane ? 0 : fprintf(stderr, "no exact overlap, or an impossible one\n"), !sane;
}
