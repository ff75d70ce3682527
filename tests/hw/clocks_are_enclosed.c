/* NIC clocks: the clock showed the ticks of a reading inside its bracket, whichever way it was read; a
   relation fed with them places every moment; stopped, racing and stepped clocks are named. The PTP
   device is simulated behind the one hook for system calls, so the truth is known. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "tests/test.h"
#include "tests/hw/tree.h"
#include "tests/hw/sim_nic.h"

typedef struct sim_ptp {
  int64_t t_ns;           /* true time = host time */
  double rate, real_rate; /* of the NIC's clock and of CLOCK_REALTIME */
  bool has_precise, has_extended, gone;
  int number; /* errno of everything but GETCAPS, 0 = works */
} sim_ptp;

static int64_t sim_now(void *user) {
  return ((sim_ptp *)user)->t_ns += 1 + (int64_t)test_below(50);
}
static int64_t sim_real(const sim_ptp *s) {
  return 1700000000000000000 + (int64_t)((double)s->t_ns * s->real_rate);
}
static int64_t sim_device(const sim_ptp *s) { return 5000 + (int64_t)((double)s->t_ns * s->rate); }
static void sim_pass(sim_ptp *s, int64_t most_ns) {
  s->t_ns += 1 + (int64_t)test_below((uint64_t)most_ns);
}
static struct ptp_clock_time sim_time(int64_t ns) {
  struct ptp_clock_time t;
  memset(&t, 0, sizeof t);
  t.sec = ns / 1000000000;
  t.nsec = (uint32_t)(ns % 1000000000);
  return t;
}
static int sim_control(void *user, int fd, unsigned long request, void *argument) {
  sim_ptp *s = (sim_ptp *)user;
  (void)fd;
  sim_pass(s, 300);
  if (s->gone) return errno = ENODEV, -1;
  if (request == PTP_CLOCK_GETCAPS) {
    ((struct ptp_clock_caps *)argument)->cross_timestamping = s->has_precise;
  } else if (request == PTP_SYS_OFFSET_PRECISE && s->has_precise) {
    struct ptp_sys_offset_precise *p = (struct ptp_sys_offset_precise *)argument;
    p->device = sim_time(sim_device(s));
    p->sys_monoraw = sim_time(s->t_ns + (int64_t)test_below(100));
    p->sys_realtime = sim_time(sim_real(s));
  } else if (request == PTP_SYS_OFFSET_EXTENDED && s->has_extended) {
    struct ptp_sys_offset_extended *x = (struct ptp_sys_offset_extended *)argument;
    for (unsigned i = 0; i < x->n_samples; i++) {
      x->ts[i][0] = sim_time(sim_real(s));
      sim_pass(s, i ? 1500 : 30000); /* the first is cold */
      x->ts[i][1] = sim_time(sim_device(s));
      sim_pass(s, 1500);
      x->ts[i][2] = sim_time(sim_real(s));
    }
  } else
    return errno = EOPNOTSUPP, -1;
  sim_pass(s, 5000);
  return 0;
}
static int64_t sim_clock(void *user, int clock_id) {
  sim_ptp *s = (sim_ptp *)user;
  if (s->gone && clock_id < 0) return errno = ENODEV, -1;
  sim_pass(s, clock_id < 0 ? 3000 : 40);
  const int64_t ns = clock_id == CLOCK_REALTIME ? sim_real(s)
                     : clock_id < 0             ? sim_device(s)
                                                : s->t_ns;
  sim_pass(s, clock_id < 0 ? 3000 : 40);
  return ns;
}

static nic_status sim_open(sim_ptp *s, nic_reading_kind best, nic_clock **c, nic_error *err) {
  const nic_system kernel = {sim_control, sim_clock, s};
  const nic_host host = {sim_now, s};
  const nic_clock_desc desc = {.device_path = "/dev/null", .best_kind = best, .kernel = &kernel};
  return nic_clock_open(NULL, NULL, &desc, &host, c, err);
}

static void brackets_hold_the_truth(void) {
  static const nic_reading_kind kinds[] = {NIC_READING_PRECISE, NIC_READING_EXTENDED,
                                           NIC_READING_PLAIN};
  double width[3] = {0, 0, 0};
  for (int k = 0; k < 3; k++)
    for (int run = 0; run < 20; run++) {
      sim_ptp s = {.t_ns = 1000000000,
                   .rate = 1 + 1e-6 * (double)test_below(100),
                   .real_rate = 1 + 1e-6 * ((double)test_below(900) - 450),
                   .has_precise = true,
                   .has_extended = true};
      nic_clock *c;
      nic_error error;
      CHECK(sim_open(&s, kinds[k], &c, &error) == NIC_OK && nic_clock_info_of(c)->kind == kinds[k]);
      for (int i = 0; i < 200; i++) {
        nic_reading r;
        CHECK(nic_clock_read(c, &r, &error) == NIC_OK && r.t_before_ns <= r.t_after_ns);
        sim_ptp lo = s, hi = s;
        lo.t_ns = r.t_before_ns;
        hi.t_ns = r.t_after_ns;
        CHECK(sim_device(&lo) <= (int64_t)r.ticks && (int64_t)r.ticks <= sim_device(&hi));
        width[k] += (double)(r.t_after_ns - r.t_before_ns) / 4000;
        sim_pass(&s, 2000000);
      }
      nic_clock_close(c);
    }
  printf("  mean bracket: precise %.0f, extended %.0f, plain %.0f ns\n", width[0], width[1],
         width[2]);
  CHECK(width[0] < width[1] && width[1] < width[2]);
}

static void a_step_of_the_kernels_clock_only_widens(void) {
  sim_ptp s = {.t_ns = 1000000000, .rate = 1, .real_rate = 1, .has_extended = true};
  nic_clock *c;
  nic_error error;
  CHECK(sim_open(&s, NIC_READING_PRECISE, &c, &error) == NIC_OK &&
        nic_clock_info_of(c)->kind == NIC_READING_EXTENDED);
  nic__offset then = {1000000000, 0, 100}, now = {1000020000, 700000000, 700000100};
  nic_reading r = {1000001000, 1000019000, 0};
  nic__clock_narrow(&then, &now, 1000005000, 1000006000, &r);
  CHECK(r.t_before_ns == 1000001000 && r.t_after_ns == 1000019000);
  nic_clock_close(c);
}

static void less_is_taken_when_more_is_missing(void) {
  sim_ptp s = {.t_ns = 1000000000, .rate = 1, .real_rate = 1};
  nic_clock *c;
  nic_error error;
  nic_reading r;
  CHECK(sim_open(&s, NIC_READING_PRECISE, &c, &error) == NIC_OK &&
        nic_clock_info_of(c)->kind == NIC_READING_PLAIN);
  s.gone = true;
  CHECK(nic_clock_read(c, &r, &error) == NIC_E_GONE && strstr(error.text, "gone"));
  nic_clock_close(c);
  CHECK(sim_open(&s, NIC_READING_PRECISE, &c, &error) == NIC_E_GONE && c == NULL);
}

static void real_files_that_are_no_clock(void) {
  nic_clock *c;
  nic_error error;
  nic_info nic;
  nic_clock_desc desc = {.device_path = "/dev/null"};
  CHECK(nic_clock_open(NULL, NULL, &desc, NULL, &c, &error) == NIC_E_UNSUPPORTED &&
        strstr(error.text, "not a PTP clock"));
  desc.device_path = "/nonexistent/ptp0";
  CHECK(nic_clock_open(NULL, NULL, &desc, NULL, &c, &error) == NIC_E_NOT_FOUND && c == NULL);
  CHECK(nic_clock_open(NULL, NULL, NULL, NULL, &c, &error) == NIC_E_INVAL);
  memset(&nic, 0, sizeof nic);
  nic.ptp_index = -1;
  nic_machine *m;
  CHECK(nic_find(NULL, &m, &error) == NIC_OK);
  CHECK(nic_clock_open(m, &nic, NULL, NULL, &c, &error) == NIC_E_NOT_FOUND);
  nic_machine_free(m);
}

static nic_reading reading_at(int64_t t_ns, uint64_t ticks) {
  const nic_reading r = {t_ns - 500, t_ns + 500, ticks};
  return r;
}
static void bad_clocks_are_named(void) {
  nic_clock_info info = {
      .name = "x", .nominal_hz = {262144e9, 524288e9}, .counter_bits = 64, .step_ticks = 1};
  nic_error error;
  double lo, hi;
  nic_reading a = reading_at(0, 1000),
              b = reading_at(100000000, 1000 + (uint64_t)(262144e8 * 1.00002));
  CHECK(nic_clock_judge(&info, &a, &b, 0, &lo, &hi, &error) == NIC_OK && lo <= 262144e9 * 1.00002 &&
        hi >= 262144e9 * 1.00002);
  b.ticks =
      1000 + 655410u * (uint64_t)100000000; /* an emulated 82574: 25 MHz assumed, 62.5 MHz real */
  CHECK(nic_clock_judge(&info, &a, &b, 0, NULL, NULL, &error) == NIC_E_RATE &&
        strstr(error.text, "times as fast"));
  info.nominal_hz[1] = 0;
  CHECK(nic_clock_judge(&info, &a, &b, 0, NULL, NULL, &error) == NIC_E_RATE &&
        strstr(error.text, "2.5 times"));
  b.ticks = 1000;
  CHECK(nic_clock_judge(&info, &a, &b, 0, NULL, NULL, &error) == NIC_E_STOPPED);
  b.ticks = 10;
  CHECK(nic_clock_judge(&info, &a, &b, 0, NULL, NULL, &error) == NIC_E_BROKEN &&
        strstr(error.text, "went back"));
  b = reading_at(600, 1000); /* brackets overlap: nothing can be told */
  CHECK(nic_clock_judge(&info, &a, &b, 0, NULL, NULL, &error) == NIC_OK);
  info.nominal_hz[0] = 0; /* any rate may be right, standing still is not */
  b = reading_at(100000000, 1000);
  CHECK(nic_clock_judge(&info, &a, &b, 0, NULL, NULL, &error) == NIC_E_STOPPED);
  info.counter_bits = 31; /* X540: wraps after a few seconds */
  a.ticks = 0x7ffffff0, b.ticks = 0x10;
  CHECK(nic_clock_judge(&info, &a, &b, 0, &lo, NULL, &error) == NIC_OK && lo > 0);
}

/* Every list and every PTP way, related to host time: moments in between are placed in an interval
   that holds the truth. */
static void relate(nic_clock *c, sim_nic *registers, sim_ptp *ptp) {
  nbc_relation relation;
  nbc_relation_desc desc = nic_clock_relation(nic_clock_info_of(c));
  const nbc_nic nic = nic_clock_as_nbc(c);
  double widest = 0;
  if (registers)
    desc.hz = ldexp(registers->rate * 1e9,
                    -nic_clock_info_of(c)->low_bits); /* some lists do not know theirs */
  CHECK(nbc_relation_init(&relation, &desc) == NBC_OK);
  for (int i = 0; i < 300; i++) {
    int64_t before, after;
    uint64_t ticks;
    nbc_time place;
    CHECK(nic.read_clock(nic.ctx, &before, &ticks, &after) == NBC_OK);
    CHECK(nbc_relation_add(&relation, before, ticks, after) == NBC_OK);
    int64_t *now = registers ? &registers->host_ns : &ptp->t_ns;
    *now += (int64_t)test_below(1000000);
    const uint64_t then = registers
                              ? sim_nic_ticks(registers, *now) >> nic_clock_info_of(c)->low_bits
                              : (uint64_t)sim_device(ptp);
    CHECK(nbc_relation_time(&relation, then, &place) == NBC_OK);
    CHECK(place.t_ns - place.err_ns <= *now + 1 && *now - 1 <= place.t_ns + place.err_ns);
    if (i > 100 && (double)place.err_ns > widest) widest = (double)place.err_ns;
  }
  CHECK(relation.step_count == 0);
  printf("  %-34s +- %.0f ns at most\n", nic_clock_info_of(c)->name, widest);
}
static void moments_are_placed(void) {
  nic_error error;
  nic_clock *c;
  for (size_t i = 0; nic_map_at(i); i++) {
    const nic_map *map = nic_map_at(i);
    sim_nic s = {
        .rate = (map->ticks_per_ns[0] > 0 ? map->ticks_per_ns[0] : ldexp(1, map->clock_low_bits)) *
                1.00003,
        .start_ticks = 12345};
    nic_registers *r;
    CHECK(sim_nic_open(&s, map, "", false, &r, &error) == NIC_OK);
    const nic_clock_desc desc = {.registers = r};
    const nic_host host = {sim_nic_now, &s};
    CHECK(nic_clock_open(NULL, NULL, &desc, &host, &c, &error) == NIC_OK);
    relate(c, &s, NULL);
    nic_clock_close(c);
    nic_registers_close(r);
  }
  for (int kind = NIC_READING_PRECISE; kind <= NIC_READING_PLAIN; kind++) {
    sim_ptp s = {.t_ns = 1000000000,
                 .rate = 1.00001,
                 .real_rate = 1.0001,
                 .has_precise = true,
                 .has_extended = true};
    CHECK(sim_open(&s, (nic_reading_kind)kind, &c, &error) == NIC_OK);
    relate(c, NULL, &s);
    nic_clock_close(c);
  }
}

/* This machine's CLOCK_REALTIME, the clock of the kernel's stamps. */
static void the_kernels_clock_is_read(void) {
  const nic_clock_desc desc = {.system = true};
  nic_clock *c;
  nic_error error;
  nic_reading a, b;
  CHECK(nic_clock_open(NULL, NULL, &desc, NULL, &c, &error) == NIC_OK &&
        nic_clock_read(c, &a, &error) == NIC_OK);
  nbc_nic nic = nic_clock_as_nbc(c);
  nbc_nic_stamp stamp;
  CHECK(nic.next_stamp(nic.ctx, &stamp) == NBC_PENDING && nic.nominal_hz == 1e9);
  CHECK(nic_clock_read(c, &b, &error) == NIC_OK && b.t_before_ns >= a.t_after_ns);
  nic_clock_close(c);
}

/* Counters booked to sections of a program: what loopback carried between two marks. */
static void sections_get_counters(void) {
  const tree t = tree_make();
  char proc[256];
  snprintf(proc, sizeof proc, "%s/proc", t.root);
  nic_find_desc find = {.sysfs_root = t.root, .proc_root = proc, .no_libpci = true};
  nic_machine *m;
  nic_counters *c;
  nic_section_counters s;
  nic_error error;
  static const char *const wrong[] = {"nothing"};
  tree_file(&t, "class/net/eth0/statistics/tx_bytes", "100\n");
  tree_file(&t, "class/net/eth0/statistics/collisions", "7\n");
  tree_file(&t, "proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 1000 5\n");
  CHECK(nic_find(&find, &m, &error) == NIC_OK &&
        nic_counters_open(m, nic_at(m, 0), NULL, &c, &error) == NIC_OK);
  CHECK(nic_section_counters_open(c, wrong, 1, &s, &error) == NIC_E_NOT_FOUND &&
        strstr(error.text, "nothing"));
  CHECK(nic_section_counters_open(c, NULL, 0, &s, &error) == NIC_OK && s.source.count == 2);
  CHECK_STR(s.source.names[0], "net/tx_bytes");
  CHECK_STR(s.source.names[1], "host/TcpRetransSegs");
  nbc_monitor_desc desc = {.counters = &s.source};
  nbc_monitor *monitor;
  nbc_recorder *me;
  nbc_report *report;
  CHECK(nbc_monitor_create(&desc, &monitor) == NBC_OK &&
        nbc_recorder_attach(monitor, &me) == NBC_OK);
  nbc_section_begin(me, "halo");
  tree_file(&t, "class/net/eth0/statistics/tx_bytes", "350\n");
  tree_file(&t, "proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 2000 9\n");
  nbc_section_end(me, "halo");
  tree_file(&t, "class/net/eth0/statistics/tx_bytes", "360\n");
  CHECK(nbc_monitor_report(monitor, &report) == NBC_OK && report->counter_count >= 1);
  double halo[2] = {0, 0}; /* bytes, segments sent again */
  for (size_t i = 0; i < report->counter_count; i++)
    if (strcmp(report->sections[report->counters[i].section_index].path, "halo") == 0)
      halo[strstr(report->counters[i].name, "Retrans") != NULL] = report->counters[i].value;
  CHECK_NEAR(halo[0], 250, 0);
  CHECK_NEAR(halo[1], 4, 0);
  nbc_report_free(report);
  nbc_recorder_detach(me);
  nbc_monitor_destroy(monitor);
  nic_section_counters_close(&s);
  nic_counters_close(c);
  nic_machine_free(m);
  tree_remove(&t);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(brackets_hold_the_truth);
  RUN(a_step_of_the_kernels_clock_only_widens);
  RUN(less_is_taken_when_more_is_missing);
  RUN(real_files_that_are_no_clock);
  RUN(bad_clocks_are_named);
  RUN(moments_are_placed);
  RUN(the_kernels_clock_is_read);
  RUN(sections_get_counters);
  return TEST_END();
}
