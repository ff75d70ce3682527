/* What NIC time costs and how sharp it is: reading a clock, placing a moment by it, from a library's
   post to the kernel's stamp, and the width of exact overlap against that of the bounds. No PTP clock
   is needed: CLOCK_REALTIME stands in, the clock by which the kernel stamps. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_tcp.h"
#include "tests/bench/bench.h"
#include "tests/hw/sockets.h"
#include <pthread.h>

enum { READS = 2000, SENDS = 500, ROUNDS = 60, BYTES = 60000 };

static void clock_costs(int argc, char **argv) {
  const nic_clock_desc desc = {.system = true};
  nic_clock *c;
  nic_error error;
  nic_reading r;
  nbc_relation relation;
  static double cost_ns[READS];
  if (!bench_wanted(argc, argv, "nic_clock_read") && !bench_wanted(argc, argv, "nic_clock_bound"))
    return;
  if (nic_clock_open(NULL, NULL, &desc, NULL, &c, &error) != NIC_OK) return;
  const nbc_relation_desc how = nic_clock_relation(nic_clock_info_of(c));
  nbc_relation_init(&relation, &how);
  for (int i = 0; i < READS; i++) {
    const int64_t before_ns = nic_host_now_ns(NULL);
    nic_clock_read(c, &r, &error);
    cost_ns[i] = (double)(nic_host_now_ns(NULL) - before_ns);
    nbc_relation_add(&relation, r.t_before_ns, r.ticks, r.t_after_ns);
  }
  if (bench_wanted(argc, argv, "nic_clock_read"))
    bench_print("nic_clock_read", bench_median(cost_ns, READS), "ns");
  nbc_time place;
  if (bench_wanted(argc, argv, "nic_clock_bound") &&
      nbc_relation_time(&relation, r.ticks, &place) == NBC_OK)
    bench_print("nic_clock_bound", (double)place.err_ns, "ns");
  nic_clock_close(c);
}

/* Call of send to hand-off to the device, middle of the interval. */
static void stamp_gap(int argc, char **argv) {
  int fd[2];
  nic_stamping *s;
  nic_error error;
  char data[64] = {0};
  static double gap_ns[SENDS];
  size_t count = 0;
  if (!bench_wanted(argc, argv, "sw_stamp_gap") || !sockets_pair(SOCK_STREAM, fd)) return;
  if (nic_stamping_open(fd[0], false, NULL, &s, &error) != NIC_OK) return;
  for (int i = 0; i < SENDS; i++) {
    nic_stamp stamp;
    const int64_t post_ns = nic_host_now_ns(NULL);
    if (nic_stamping_send(s, data, sizeof data, MSG_EOR) != sizeof data ||
        recv(fd[1], data, sizeof data, MSG_WAITALL) <= 0)
      break;
    while (nic_stamping_next(s, &stamp, &error) == NIC_OK)
      if (stamp.kind == NIC_STAMP_SENT && stamp.t_before_ns >= post_ns)
        gap_ns[count++] = (double)(stamp.t_before_ns + stamp.t_after_ns) / 2 - (double)post_ns;
  }
  if (count) bench_print("sw_stamp_gap", bench_median(gap_ns, count), "ns");
  nic_stamping_close(s);
  close(fd[0]);
  close(fd[1]);
}

typedef struct rank {
  nic_tcp_desc desc;
  int sockets[2];
  const nbc_table *table; /* measured; NULL = measure */
  nbc_table *measured;
  nbc_report *report;
} rank;

static void exchange(nbc_transport *t, const nbc_clock *clock) {
  static char data[2][2][BYTES];
  for (int i = 0; i < ROUNDS; i++) {
    nbc_op in, out;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    nbc_irecv(t, data[t->rank][0], BYTES, 1 - t->rank, 1, &in);
    nbc_isend(t, data[t->rank][1], BYTES, 1 - t->rank, 1, &out);
    nbc_spin_ns(clock, 100000);
    nbc_wait(t, &in, 0);
    nbc_wait(t, &out, 0);
  }
  nic_tcp_drain(t, 5000000000);
}

static void *rank_main(void *arg) {
  rank *r = (rank *)arg;
  nbc_transport *t;
  nbc_monitor *monitor;
  nbc_recorder *me;
  nbc_error error;
  if (nic_tcp_create(&r->desc, &t, &error) != NBC_OK) return NULL;
  if (!r->table) {
    const nbc_table_measure_desc how = {.min_bytes = BYTES, .max_bytes = BYTES};
    nbc_table_measure(t, 1 - t->rank, &how, &r->measured, &error);
  } else {
    const nbc_monitor_desc desc = {.history_calls = 4096, .table_same_node = r->table};
    if (nbc_monitor_create(&desc, &monitor) == NBC_OK &&
        nbc_recorder_attach(monitor, &me) == NBC_OK) {
      t->recorder = me;
      exchange(t, nbc_monitor_clock(monitor));
      nbc_monitor_report(monitor, &r->report);
      t->recorder = NULL;
      nbc_recorder_detach(me);
      nbc_monitor_destroy(monitor);
    }
  }
  nic_tcp_destroy(t);
  return NULL;
}

static bool run(rank ranks[2]) {
  pthread_t threads[2];
  int pair[2];
  if (!sockets_pair(SOCK_STREAM, pair)) return false;
  for (int i = 0; i < 2; i++) {
    const nic_tcp_desc desc = {.rank = i, .size = 2, .sockets = ranks[i].sockets};
    ranks[i].sockets[1 - i] = pair[i];
    ranks[i].sockets[i] = -1;
    ranks[i].desc = desc;
    pthread_create(&threads[i], NULL, rank_main, &ranks[i]);
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return true;
}

/* Ignorance per transfer: by stamps, and by the bounds of what the calls show. */
static void exact_width(int argc, char **argv) {
  rank ranks[2];
  memset(ranks, 0, sizeof ranks);
  if (!bench_wanted(argc, argv, "tcp_exact_width") || !run(ranks)) return;
  nbc_table *tables[2] = {ranks[0].measured, ranks[1].measured};
  for (int i = 0; i < 2; i++) ranks[i].table = tables[i];
  if (tables[0] && tables[1] && run(ranks) && ranks[0].report) {
    const nbc_totals *t = &ranks[0].report->total;
    if (t->exact_count && t->count)
      bench_print_peer("tcp_exact_width",
                       1e-3 * (double)(t->exact_hi_ns - t->exact_lo_ns) / (double)t->exact_count,
                       "us per transfer", "min-max bounds",
                       1e-3 * (double)(t->max_overlap_ns - t->min_overlap_ns) / (double)t->count);
  }
  for (int i = 0; i < 2; i++) {
    nbc_report_free(ranks[i].report);
    nbc_table_free(tables[i]);
  }
}

int main(int argc, char **argv) {
  clock_costs(argc, argv);
  stamp_gap(argc, argv);
  exact_width(argc, argv);
  return 0;
}
