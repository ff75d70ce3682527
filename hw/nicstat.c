/* nicstat: what the network cards of this machine can tell, and what they are telling now.

     nicstat                        lists NICs: what each offers, what is missing, how to get it
     nicstat watch eth0             counters per second, a live table
     nicstat clock eth0             its clock against host time: rate, drift, how sharp a stamp is
     nicstat stamps                 when the kernel saw packets: scheduled, sent, received, acknowledged
     nicstat --record FILE          all of this machine in a file, for --dump elsewhere
     nicstat --help                 the rest

   Read-only: it never writes to a device and leaves alone what reading would change. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"

#include <poll.h>
#include <signal.h>

typedef struct options {
  const char *command, *nic;
  nic_find_desc find;
  const char *record_path;
  bool json, all, registers, interval_given;
  long size_bytes;
  double interval_s;
  long count;
} options;

static volatile sig_atomic_t stop_asked;
static void on_signal(int number) { (void)number, stop_asked = 1; }
/* A mapped device that was pulled out raises SIGBUS. */
static void on_bus(int number) {
  static const char text[] = "nicstat: device gone while its registers were read\n";
  (void)number;
  if (write(2, text, sizeof text - 1) < 0) _exit(3);
  _exit(1);
}

static int usage(FILE *out) {
  fputs("usage: nicstat [list] [NIC]      what each NIC offers, what is missing, how to get it\n"
        "       nicstat watch NIC         counters: value, change, rate per second\n"
        "       nicstat clock NIC         its clock against host time (realtime: the kernel's)\n"
        "       nicstat stamps            per transfer over loopback: scheduled, sent, received, "
        "acked\n"
        "       nicstat --record FILE     writes a recording of this machine (-: standard output)\n"
        "options:\n"
        "  --json         one JSON object (watch, clock, stamps: one per line)\n"
        "  --interval S   watch, clock: seconds between lines (1; clock: 0.2)\n"
        "  --count N      watch, clock: stop after N lines (at Ctrl-C); stamps: transfers (10)\n"
        "  --registers    watch, clock: from the device itself (root)\n"
        "  --size N       stamps: bytes per transfer (64)\n"
        "  --all          list: all PCI devices; watch: also counters that stand still\n"
        "  --dump FILE    a machine recorded with --record or `lspci -xxxx` instead of this one\n"
        "  --sysfs DIR    another folder than /sys (a recorded tree)\n",
        out);
  return out == stderr ? 2 : 0;
}

static void print_json_string(const char *text) {
  putchar('"');
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c < 32)
      printf("\\u%04x", c);
    else
      putchar(c);
  }
  putchar('"');
}

static void print_json_member(const char *name, const char *text) {
  printf(",\"%s\":", name);
  print_json_string(text);
}

static void list_json(const nic_info *n) {
  printf("{\"name\":");
  print_json_string(n->name);
  print_json_member("kind", nic_kind_name(n->kind));
  print_json_member("pci_address", n->pci_address);
  printf(",\"vendor_id\":%u,\"device_id\":%u,\"pci_class\":%u", n->vendor_id, n->device_id,
         n->pci_class);
  print_json_member("model", n->model);
  print_json_member("driver", n->driver);
  printf(
      ",\"up\":%s,\"loopback\":%s,\"speed_bps\":%llu,\"mtu_bytes\":%u,\"ptp_index\":%d,\"bars\":[",
      n->is_up ? "true" : "false", n->is_loopback ? "true" : "false",
      (unsigned long long)n->speed_bps, n->mtu_bytes, n->ptp_index);
  for (int i = 0, first = 1; i < 6; i++)
    if (n->bars[i].base_address) {
      printf("%s{\"index\":%d,\"base_address\":%llu,\"size_bytes\":%llu,\"memory\":%s}",
             first ? "" : ",", i, (unsigned long long)n->bars[i].base_address,
             (unsigned long long)n->bars[i].size_bytes, n->bars[i].is_memory ? "true" : "false");
      first = 0;
    }
  printf("],\"offers\":{");
  for (int k = 0; k < NIC_OFFER_COUNT; k++) {
    printf("%s\"%s\":{\"answer\":\"%s\"", k ? "," : "", nic_offer_name((nic_offer)k),
           nic_answer_name(n->offers[k].answer));
    print_json_member("text", n->offers[k].text);
    putchar('}');
  }
  printf("}}");
}

static void list_text(const nic_info *n) {
  printf("%s  %s", n->name, n->model[0] ? n->model : n->is_loopback ? "loopback" : "no PCI device");
  if (n->pci_address[0] && strcmp(n->pci_address, n->name) != 0) printf(" at %s", n->pci_address);
  if (n->driver[0]) printf(", driver %s", n->driver);
  if (n->kind == NIC_KIND_NET) printf(", %s", n->is_up ? "up" : "down");
  if (n->speed_bps) printf(", %g Gb/s", (double)n->speed_bps * 1e-9);
  putchar('\n');
  for (int k = 0; k < NIC_OFFER_COUNT; k++)
    printf("  %-12s %-8s %s\n", nic_offer_name((nic_offer)k), nic_answer_name(n->offers[k].answer),
           n->offers[k].text);
}

static int run_list(const options *o, const nic_machine *m) {
  size_t shown = 0;
  if (o->json) printf("{\"schema\":\"nicstat/1\",\"nics\":[");
  for (size_t i = 0; i < nic_count(m); i++) {
    const nic_info *n = nic_at(m, i);
    if (o->nic && strcmp(n->name, o->nic) != 0 && strcmp(n->pci_address, o->nic) != 0) continue;
    if (o->json && shown) putchar(',');
    if (o->json)
      list_json(n);
    else
      list_text(n);
    shown++;
  }
  if (o->json)
    puts("]}");
  else if (!shown && !o->nic)
    puts("no NIC found");
  if (!shown && o->nic)
    return fprintf(stderr, "nicstat: %s: no such NIC; `nicstat list` names them\n", o->nic), 1;
  return 0;
}

/* "12.3 M" in a fixed width */
static const char *human(double value, char text[16]) {
  static const char unit[] = " kMGTPE";
  int k = 0;
  if (!isfinite(value)) return strcpy(text, "?");
  while (value >= 9999.5 && unit[k + 1]) value /= 1000, k++;
  snprintf(text, 16, k ? "%.1f %c" : "%.0f", value, unit[k]);
  return text;
}

/* What watch shows: the kernel's counters, or the device's own. */
typedef struct source {
  nic_counters *counters;
  nic_registers *registers;
} source;
static size_t source_count(const source *s) {
  return s->registers ? nic_registers_count(s->registers) : nic_counters_count(s->counters);
}
static const nic_counter *source_at(const source *s, size_t i) {
  return s->registers ? nic_registers_at(s->registers, i) : nic_counters_at(s->counters, i);
}
static nic_status source_read(const source *s, nic_value *values, nic_error *err) {
  return s->registers ? nic_registers_read(s->registers, values, err)
                      : nic_counters_read(s->counters, values, err);
}

static void watch_json(const nic_info *n, const source *c, const nic_value *before,
                       const nic_value *now) {
  printf("{\"schema\":\"nicstat-watch/1\",\"nic\":");
  print_json_string(n->name);
  printf(",\"counters\":{");
  for (size_t i = 0, first = 1; i < source_count(c); i++) {
    const nic_counter *k = source_at(c, i);
    const nic_delta d = nic_counter_delta(k, &before[i], &now[i]);
    if (!now[i].is_valid) continue;
    if (!first) putchar(',');
    first = 0;
    print_json_string(k->name);
    printf(":{\"unit\":\"%s\",\"value\":%llu,\"t_before_ns\":%lld,\"t_after_ns\":%lld,\"delta\":%"
           "llu,\"change\":\"%s\",\"per_s_lo\":%.9g",
           nic_unit_name(k->unit), (unsigned long long)now[i].value, (long long)now[i].t_before_ns,
           (long long)now[i].t_after_ns, (unsigned long long)d.delta, nic_change_name(d.change),
           d.per_s_lo);
    if (isfinite(d.per_s_hi)) printf(",\"per_s_hi\":%.9g", d.per_s_hi);
    putchar('}');
  }
  puts("}}");
  fflush(stdout);
}

static void watch_text(const options *o, const nic_info *n, const source *c,
                       const nic_value *before, const nic_value *now, bool live) {
  char rate[16];
  size_t shown = 0;
  if (live) fputs("\033[H\033[J", stdout);
  printf("%-44s %20s %14s %10s\n", n->name, "value", "change", "per second");
  for (size_t i = 0; i < source_count(c); i++) {
    const nic_counter *k = source_at(c, i);
    const nic_delta d = nic_counter_delta(k, &before[i], &now[i]);
    if (!o->all && d.delta == 0 && d.change == NIC_CHANGE_EXACT) continue;
    shown++;
    if (!now[i].is_valid)
      printf("%-44s %20s\n", k->name, "unreadable");
    else
      printf("%-44s %20llu %14llu %10s%s%s%s\n", k->name, (unsigned long long)now[i].value,
             (unsigned long long)d.delta, human((d.per_s_lo + d.per_s_hi) / 2, rate),
             k->unit == NIC_UNIT_BYTES ? "B/s" : "", d.change > NIC_CHANGE_EXACT ? " " : "",
             d.change > NIC_CHANGE_EXACT ? nic_change_name(d.change) : "");
  }
  if (!shown) puts("nothing moved (--all shows counters that stand still)");
  fflush(stdout);
}

static void sleep_s(double seconds) {
  const int64_t end_ns = nic_host_now_ns(NULL) + (int64_t)(seconds * 1e9);
  for (int64_t left_ns; !stop_asked && (left_ns = end_ns - nic_host_now_ns(NULL)) > 0;)
    poll(NULL, 0, (int)(left_ns / 1000000 % 100000) + 1);
}

static int fail(const nic_error *error) { return fprintf(stderr, "nicstat: %s\n", error->text), 1; }

static int run_watch(const options *o, const nic_machine *m) {
  nic_error error;
  source open = {NULL, NULL}, *c = &open;
  const nic_registers_desc registers = {NULL, NULL, true};
  const nic_info *n = o->nic ? nic_by_name(m, o->nic) : NULL;
  if (!n) return fprintf(stderr, "nicstat: watch: name a NIC; `nicstat list` shows them\n"), 2;
  if ((o->registers ? nic_registers_open(m, n, &registers, NULL, &open.registers, &error)
                    : nic_counters_open(m, n, NULL, &open.counters, &error)) != NIC_OK)
    return fail(&error);
  nic_value *before = calloc(source_count(c), sizeof *before),
            *now = calloc(source_count(c), sizeof *now);
  int code = 1;
  if (!before || !now)
    fprintf(stderr, "nicstat: out of memory\n");
  else
    code = source_read(c, before, &error) == NIC_OK ? 0 : fail(&error);
  for (long i = 0; code == 0 && !stop_asked && (o->count == 0 || i < o->count); i++) {
    sleep_s(o->interval_s);
    if (source_read(c, now, &error) != NIC_OK)
      code = fail(&error);
    else if (o->json)
      watch_json(n, c, before, now);
    else
      watch_text(o, n, c, before, now, isatty(1) != 0);
    nic_value *swap = before;
    before = now;
    now = swap;
  }
  free(before);
  free(now);
  nic_counters_close(open.counters);
  nic_registers_close(open.registers);
  return code;
}

/* ---- clock ------------------------------------------------------------------------------------ */
typedef struct clock_view {
  const options *o;
  nic_clock_info info;
  nbc_relation relation;
  nic_reading first;
  int64_t narrowest_ns;
  long lines;
  bool started;
} clock_view;

/* Clocks whose frequency nobody knows, or one of several, are measured first. */
static void clock_start(clock_view *v, const nic_reading *first, const nic_reading *second) {
  double lo_hz, hi_hz, hz = 0;
  nic_clock_judge(&v->info, first, second, 1e6, &lo_hz, &hi_hz, NULL);
  for (int i = 0; i < 3 && v->info.nominal_hz[i] > 0; i++)
    if (hz <= 0 || fabs(v->info.nominal_hz[i] - lo_hz) < fabs(hz - lo_hz))
      hz = v->info.nominal_hz[i];
  if (hz <= 0) hz = isfinite(hi_hz) ? (lo_hz + hi_hz) / 2 : lo_hz;
  v->info.nominal_hz[0] = hz > 1 ? hz : 1e9;
  nbc_relation_desc desc = nic_clock_relation(&v->info);
  nbc_relation_init(&v->relation, &desc);
  v->first = *first;
  v->started = true;
}

static void clock_line(clock_view *v, const nic_reading *r) {
  const nbc_relation *x = &v->relation;
  nbc_time now;
  if (nbc_relation_time(x, r->ticks, &now) != NBC_OK) return;
  const double elapsed_s = (double)(r->t_after_ns - v->first.t_before_ns) * 1e-9;
  const long long bracket_ns = (long long)v->narrowest_ns,
                  steps = (long long)(x->step_count + x->gap_count);
  /* where the clock stands against host time, without the first offset, which means nothing */
  const double d_ticks_ns =
      (double)(int64_t)(r->ticks - v->first.ticks) * 1e9 / v->info.nominal_hz[0];
  const double moved_ns =
      d_ticks_ns - (double)(now.t_ns - (v->first.t_before_ns + v->first.t_after_ns) / 2);
  if (v->o->json) {
    printf("{\"schema\":\"nicstat-clock/1\",\"clock\":");
    print_json_string(v->info.name);
    printf(",\"kind\":\"%s\",\"nominal_hz\":%.17g,\"elapsed_s\":%.9f,\"ticks\":%llu,\"t_before_"
           "ns\":%lld,\"t_after_ns\":%lld,\"bracket_ns\":%lld,"
           "\"err_ns\":%lld,\"offset_change_ns\":%.1f,\"rate_ppm\":%.9g,\"rate_err_ppm\":%.9g,"
           "\"rate_moved_ppm\":%.9g,\"steps\":%lld}\n",
           nic_reading_kind_name(v->info.kind), v->info.nominal_hz[0], elapsed_s,
           (unsigned long long)r->ticks, (long long)r->t_before_ns, (long long)r->t_after_ns,
           bracket_ns, (long long)now.err_ns, moved_ns, x->rate_ppm, x->rate_err_ppm,
           x->rate_surely_moved_ppm, steps);
  } else {
    if (v->lines == 0)
      printf("%s, read %s, %g ticks per second\n%10s %11s %13s %22s %24s %6s\n", v->info.name,
             nic_reading_kind_name(v->info.kind), v->info.nominal_hz[0], "elapsed s", "bracket ns",
             "stamp +- ns", "offset since start ns", "rate - 1 ppm", "steps");
    printf("%10.3f %11lld %13lld %22.0f %12.4f +- %8.4f %6lld\n", elapsed_s, bracket_ns,
           (long long)now.err_ns, moved_ns, -x->rate_ppm, x->rate_err_ppm, steps);
  }
  v->lines++;
  v->narrowest_ns = INT64_MAX;
  fflush(stdout);
}

static void clock_take(clock_view *v, const nic_reading *r) {
  nbc_relation_add(&v->relation, r->t_before_ns, r->ticks, r->t_after_ns);
  if (r->t_after_ns - r->t_before_ns < v->narrowest_ns)
    v->narrowest_ns = r->t_after_ns - r->t_before_ns;
}

static int clock_verdict(const clock_view *v, const nic_reading *last) {
  nic_error error;
  if (nic_clock_judge(&v->info, &v->first, last, 0, NULL, NULL, &error) != NIC_OK)
    return fail(&error);
  if (v->relation.step_count == 0) return 0;
  fprintf(
      stderr,
      "nicstat: %s: stepped or steered %llu times: stop ptp4l, phc2sys or ntp while measuring\n",
      v->info.name, (unsigned long long)v->relation.step_count);
  return 1;
}

static int clock_recorded(clock_view *v, const nic_machine *m, const nic_info *n) {
  const nic_clock_info *info;
  const nic_reading *r;
  const size_t count = nic_recorded_readings(m, n, &info, &r);
  if (count < 2)
    return fprintf(stderr, "nicstat: %s: no clock readings in this recording\n", n->name), 1;
  v->info = *info;
  clock_start(v, &r[0], &r[count - 1]);
  for (size_t i = 0; i < count; i++) {
    clock_take(v, &r[i]);
    clock_line(v, &r[i]);
  }
  return clock_verdict(v, &r[count - 1]);
}

/* Eight readings per line: the narrow ones decide. */
static int clock_live(clock_view *v, nic_clock *c) {
  nic_error error;
  nic_reading first, r;
  v->info = *nic_clock_info_of(c);
  if (nic_clock_read(c, &first, &error) != NIC_OK) return fail(&error);
  sleep_s(0.05);
  if (nic_clock_read(c, &r, &error) != NIC_OK) return fail(&error);
  clock_start(v, &first, &r);
  clock_take(v, &first);
  if (nic_clock_judge(&v->info, &first, &r, 0, NULL, NULL, &error) != NIC_OK) return fail(&error);
  while (!stop_asked && (v->o->count == 0 || v->lines < v->o->count)) {
    for (int i = 0; i < 8; i++) {
      if (nic_clock_read(c, &r, &error) != NIC_OK) return fail(&error);
      clock_take(v, &r);
    }
    clock_line(v, &r);
    if (v->o->count == 0 || v->lines < v->o->count)
      sleep_s(v->o->interval_given ? v->o->interval_s : 0.2);
  }
  return clock_verdict(v, &r);
}

static int run_clock(const options *o, const nic_machine *m) {
  nic_error error;
  nic_clock *c = NULL;
  nic_registers *registers = NULL;
  nic_clock_desc desc;
  clock_view v;
  memset(&v, 0, sizeof v);
  memset(&desc, 0, sizeof desc);
  v.o = o;
  v.narrowest_ns = INT64_MAX;
  desc.system = o->nic && strcmp(o->nic, "realtime") == 0;
  const nic_info *n = o->nic && !desc.system ? nic_by_name(m, o->nic) : NULL;
  if (!n && !desc.system)
    return fprintf(stderr, "nicstat: clock: name a NIC, or realtime; `nicstat list` shows them\n"),
           2;
  if (o->find.dump_path && n) return clock_recorded(&v, m, n);
  if (o->registers && n) {
    if (nic_registers_open(m, n, NULL, NULL, &registers, &error) != NIC_OK) return fail(&error);
    desc.registers = registers;
  }
  int code =
      nic_clock_open(m, n, &desc, NULL, &c, &error) == NIC_OK ? clock_live(&v, c) : fail(&error);
  nic_clock_close(c);
  nic_registers_close(registers);
  return code;
}

/* ---- stamps ----------------------------------------------------------------------------------- */
typedef struct transfer {
  int64_t t_call_ns, t_back_ns;
  uint32_t key_count;
  nic_stamp stamps[NIC_STAMP_RECEIVED + 1];
} transfer;

static bool connect_over_loopback(int pair[2]) {
  struct sockaddr_in at;
  socklen_t at_bytes = sizeof at;
  const int on = 1, server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ok = bind(server, (struct sockaddr *)&at, sizeof at) == 0 && listen(server, 1) == 0 &&
                  getsockname(server, (struct sockaddr *)&at, &at_bytes) == 0 &&
                  connect(pair[0], (struct sockaddr *)&at, sizeof at) == 0;
  pair[1] = ok ? accept(server, NULL, NULL) : -1;
  for (int i = 0; i < 2; i++) setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  close(server);
  return pair[1] >= 0;
}

static void print_stamp(const transfer *t, nic_stamp_kind kind, bool json) {
  const nic_stamp *s = &t->stamps[kind];
  const int64_t lo_ns = s->t_before_ns - t->t_call_ns, hi_ns = s->t_after_ns - t->t_call_ns;
  if (json && s->kind)
    printf(",\"%s_lo_ns\":%lld,\"%s_hi_ns\":%lld", nic_stamp_kind_name(kind), (long long)lo_ns,
           nic_stamp_kind_name(kind), (long long)hi_ns);
  else if (!json && s->kind)
    printf(" %9.3f +-%6.3f", (double)(lo_ns + hi_ns) * 0.5e-3, (double)(hi_ns - lo_ns) * 0.5e-3);
  else if (!json)
    printf(" %18s", "none");
}

static void print_transfer(const options *o, const transfer *t, long index) {
  static const nic_stamp_kind order[] = {NIC_STAMP_SCHEDULED, NIC_STAMP_SENT, NIC_STAMP_RECEIVED,
                                         NIC_STAMP_ACKED};
  if (o->json)
    printf("{\"schema\":\"nicstat-stamps/"
           "1\",\"index\":%ld,\"size_bytes\":%ld,\"call_returned_ns\":%lld",
           index, o->size_bytes, (long long)(t->t_back_ns - t->t_call_ns));
  else
    printf("%6ld %12.3f", index, (double)(t->t_back_ns - t->t_call_ns) * 1e-3);
  for (int k = 0; k < 4; k++) print_stamp(t, order[k], o->json);
  puts(o->json ? "}" : "");
}

/* One message at a time over loopback TCP; every stamp relative to the call of send. */
static bool one_transfer(nic_stamping *tx, nic_stamping *rx, const int pair[2], char *data,
                         long size_bytes, uint32_t *sent_bytes, transfer *t) {
  nic_stamp s;
  memset(t, 0, sizeof *t);
  t->t_call_ns = nic_host_now_ns(NULL);
  const long sent = nic_stamping_send(tx, data, (size_t)size_bytes, MSG_EOR);
  t->t_back_ns = nic_host_now_ns(NULL);
  if (sent <= 0) return false;
  t->key_count = (*sent_bytes += (uint32_t)sent) - 1;
  for (long got = 0; got < sent;) {
    struct pollfd p = {pair[1], POLLIN, 0};
    if (poll(&p, 1, 2000) <= 0) return false;
    const long k = nic_stamping_recv(rx, data, (size_t)(sent - got), &s);
    if (k <= 0) return false;
    got += k;
    t->stamps[NIC_STAMP_RECEIVED] = s;
  }
  for (const int64_t end_ns = nic_host_now_ns(NULL) + 100000000;
       !t->stamps[NIC_STAMP_ACKED].kind && nic_host_now_ns(NULL) < end_ns;) {
    struct pollfd p = {pair[0], 0, 0};
    while (nic_stamping_next(tx, &s, NULL) == NIC_OK)
      if (s.key_count == t->key_count && s.kind <= NIC_STAMP_ACKED) t->stamps[s.kind] = s;
    if (!t->stamps[NIC_STAMP_ACKED].kind) poll(&p, 1, 10); /* the error queue wakes it */
  }
  return true;
}

static int run_stamps(const options *o) {
  int pair[2];
  nic_stamping *tx = NULL, *rx = NULL;
  nic_error error;
  transfer t;
  uint32_t sent_bytes = 0;
  char *data = calloc(1, (size_t)o->size_bytes);
  int code = 0;
  if (!data || !connect_over_loopback(pair))
    return free(data),
           fprintf(stderr, "nicstat: stamps: no loopback interface: ip link set lo up\n"), 1;
  if (nic_stamping_open(pair[0], false, NULL, &tx, &error) != NIC_OK ||
      nic_stamping_open(pair[1], false, NULL, &rx, &error) != NIC_OK)
    code = fail(&error);
  if (!code && !o->json)
    printf("us after the call of send, %ld bytes over loopback TCP\n%6s %12s %18s %18s %18s %18s\n",
           o->size_bytes, "", "returned", "scheduled", "sent", "received", "acknowledged");
  /* The kernel switches arrival stamps on with a delay of its own: so first, until one comes. */
  for (int i = 0; i < 200 && code == 0; i++) {
    if (!one_transfer(tx, rx, pair, data, o->size_bytes, &sent_bytes, &t))
      code = 1;
    else if (t.stamps[NIC_STAMP_RECEIVED].kind)
      break;
    sleep_s(0.001);
  }
  for (long i = 0; code == 0 && !stop_asked && i < (o->count ? o->count : 10); i++)
    if (one_transfer(tx, rx, pair, data, o->size_bytes, &sent_bytes, &t))
      print_transfer(o, &t, i);
    else
      code = 1;
  if (code) fprintf(stderr, "nicstat: stamps: loopback does not deliver, or does not stamp\n");
  nic_stamping_close(tx);
  nic_stamping_close(rx);
  close(pair[0]);
  close(pair[1]);
  free(data);
  return code ? 1 : 0;
}

static int run_record(const options *o, const nic_machine *m) {
  nic_error error;
  const bool to_stdout = strcmp(o->record_path, "-") == 0;
  FILE *out = to_stdout ? stdout : fopen(o->record_path, "w");
  if (!out) return fprintf(stderr, "nicstat: %s: %s\n", o->record_path, strerror(errno)), 1;
  const nic_status status = nic_record_write(m, NULL, out, &error);
  if (!to_stdout && fclose(out) != 0 && status == NIC_OK)
    return fprintf(stderr, "nicstat: %s: %s\n", o->record_path, strerror(errno)), 1;
  return status == NIC_OK ? 0 : fail(&error);
}

static bool parse_number(const char *text, double lo, double hi, double *value) {
  char *end;
  if (!text) return false;
  *value = strtod(text, &end);
  return end != text && *end == 0 && *value >= lo && *value <= hi;
}

/* 0, or the exit status of a wrong call */
static int parse(int argc, char **argv, options *o) {
  double value;
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(a, "--json") == 0)
      o->json = true;
    else if (strcmp(a, "--all") == 0)
      o->all = o->find.all_pci = true;
    else if (strcmp(a, "--dump") == 0 && next)
      o->find.dump_path = argv[++i];
    else if (strcmp(a, "--sysfs") == 0 && next)
      o->find.sysfs_root = argv[++i];
    else if (strcmp(a, "--record") == 0 && next)
      o->record_path = argv[++i];
    else if (strcmp(a, "--registers") == 0)
      o->registers = true;
    else if (strcmp(a, "--size") == 0 && parse_number(next, 1, 1e6, &value))
      o->size_bytes = (long)value, i++;
    else if (strcmp(a, "--interval") == 0 && parse_number(next, 0.001, 86400, &value))
      o->interval_s = value, o->interval_given = true, i++;
    else if (strcmp(a, "--count") == 0 && parse_number(next, 1, 1e9, &value))
      o->count = (long)value, i++;
    else if (a[0] == '-')
      return fprintf(stderr,
                     "nicstat: %s: unknown option, or its value is missing or out of range\n", a),
             usage(stderr);
    else if (!o->command)
      o->command = a;
    else if (!o->nic)
      o->nic = a;
    else
      return fprintf(stderr, "nicstat: %s: one NIC at a time\n", a), 2;
  }
  return 0;
}

int main(int argc, char **argv) {
  options o = {.interval_s = 1, .size_bytes = 64};
  nic_machine *m;
  nic_error error;
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return usage(stdout);
  int code = parse(argc, argv, &o);
  if (code) return code;
  if (!o.command) o.command = "list";
  signal(SIGINT, on_signal);
  signal(SIGBUS, on_bus);
  if (nic_find(&o.find, &m, &error) != NIC_OK) return fail(&error);
  if (o.record_path)
    code = run_record(&o, m);
  else if (strcmp(o.command, "list") == 0)
    code = run_list(&o, m);
  else if (strcmp(o.command, "watch") == 0)
    code = run_watch(&o, m);
  else if (strcmp(o.command, "clock") == 0)
    code = run_clock(&o, m);
  else if (strcmp(o.command, "stamps") == 0)
    code = run_stamps(&o);
  else
    code = (fprintf(stderr, "nicstat: %s: unknown command\n", o.command), usage(stderr));
  nic_machine_free(m);
  if (fflush(stdout) != 0) return 1;
  return code;
}
