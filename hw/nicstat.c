/* nicstat: what the network cards of this machine can tell, and what they are telling now.

     nicstat                        lists NICs: what each offers, what is missing, how to get it
     nicstat watch eth0             counters per second, a live table
     nicstat top eth0               the same with sparklines and keys
     nicstat health                 what is wrong here: losses, pauses, slow PCIe links; exit status 1
     nicstat --explain tx_pause     what a counter or register is, and from which document
     nicstat --prometheus FILE      all counters for node_exporter's textfile collector
     nicstat --prometheus http:9100 the same for Prometheus itself, on a port or a Unix socket
     nicstat clock eth0             its clock against host time: rate, drift, how sharp a stamp is
     nicstat stamps                 when the kernel saw packets: scheduled, sent, received, acknowledged
     nicstat stamps --listen 7000   the same between two hosts: there, and here
     nicstat stamps --connect there:7000 [--udp] [--nic eth0]
     nicstat --record FILE          all of this machine in a file, for --dump elsewhere
     nicstat --help                 the rest

   Read-only: it never writes to a device and leaves alone what reading would change. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "tools/among.h"
#include "tools/options.h"
#include "tools/output.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

typedef struct settings {
  const char *command, *nic;
  nic_find_desc find;
  const char *record_path;
  const char *listen, *connect, *stamping_nic;
  const char *prometheus, *explain;
  bool json, csv, all, registers, interval_given, udp, is_short;
  int64_t size_bytes;
  double interval_s;
  int64_t count;
} settings;

static volatile sig_atomic_t stop_asked;
static void on_signal(int number) { (void)number, stop_asked = 1; }
/* A mapped device that was pulled out raises SIGBUS. */
static void on_bus(int number) {
  static const char text[] = "nicstat: device gone while its registers were read\n";
  (void)number;
  if (write(2, text, sizeof text - 1) < 0) _exit(3);
  _exit(1);
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
  fputs("],\"link\":", stdout);
  if (n->link.is_known) {
    printf("{\"up\":%s,\"state\":%d,\"substate\":%d,\"sqi\":%d,\"most_sqi\":%d",
           n->link.has_link ? "true" : "false", n->link.state, n->link.substate, n->link.quality,
           n->link.most_quality);
    print_json_member("why", nic_link_state_name(n->link.state));
    print_json_member("more", nic_link_substate_name(n->link.state, n->link.substate));
    putchar('}');
  } else
    fputs("null", stdout);
  printf(",\"offers\":{");
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
  if (n->is_up && n->link.is_known && !n->link.has_link) {
    const char *why = nic_link_state_name(n->link.state);
    printf(", no link%s%s", *why ? ": " : "", why);
  }
  if (n->speed_bps) printf(", %g Gb/s", (double)n->speed_bps * 1e-9);
  putchar('\n');
  for (int k = 0; k < NIC_OFFER_COUNT; k++)
    printf("  %-12s %-8s %s\n", nic_offer_name((nic_offer)k), nic_answer_name(n->offers[k].answer),
           n->offers[k].text);
}

/* What was named is not there, or nothing was named that had to be: `wanted`. */
static int no_such_nic(const settings *o, const char *wanted) {
  const char *named = o->nic ? o->nic : o->stamping_nic;
  if (named)
    fprintf(stderr, "nicstat: %s: %s: no such NIC; `nicstat list` names them\n", o->command, named);
  else
    fprintf(stderr, "nicstat: %s: %s; `nicstat list` shows them\n", o->command, wanted);
  return 2;
}

static int run_list(const settings *o, const nic_machine *m) {
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
  if (shown || !o->nic) return 0;
  if (!o->is_short) return no_such_nic(o, "");
  return fprintf(stderr, "nicstat: %s: unknown command, and no NIC of that name\n", o->nic), 2;
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
    if (*nic_counter_meaning(k->name)) print_json_member("meaning", nic_counter_meaning(k->name));
    putchar('}');
  }
  puts("}}");
}

/* A terminal that can be told to begin anew: others get one table below the other. */
static bool terminal_clears(void) {
  const char *const kind = getenv("TERM");
  return isatty(1) && kind && *kind && strcmp(kind, "dumb") != 0;
}

static void watch_text(const settings *o, const nic_info *n, const source *c,
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
}

static void sleep_s(double seconds) {
  const int64_t end_ns = nic_host_now_ns(NULL) + (int64_t)(seconds * 1e9);
  for (int64_t left_ns; !stop_asked && (left_ns = end_ns - nic_host_now_ns(NULL)) > 0;)
    poll(NULL, 0, (int)(left_ns / 1000000 % 100000) + 1);
}

static int fail(const nic_error *error) { return fprintf(stderr, "nicstat: %s\n", error->text), 1; }

#include "hw/nicstat_health.h"
#include "hw/nicstat_view.h"

static int run_watch(const settings *o, const nic_machine *m) {
  nic_error error;
  source open = {NULL, NULL}, *c = &open;
  const nic_registers_desc registers = {NULL, NULL, true};
  const nic_info *n = o->nic ? nic_by_name(m, o->nic) : NULL;
  if (!n) return no_such_nic(o, "name a NIC");
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
    else if (o->csv)
      watch_csv(n, c, before, now, i == 0);
    else if (o->json)
      watch_json(n, c, before, now);
    else
      watch_text(o, n, c, before, now, terminal_clears());
    if (code == 0 && !output_flush()) code = 1;
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
  const settings *o;
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
    printf(",\"kind\":\"%s\",\"nominal_hz\":%.17g,\"elapsed_s\":%.9f,\"ticks\":%llu,"
           "\"t_before_ns\":%lld,\"t_after_ns\":%lld,\"bracket_ns\":%lld,"
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
    if (!output_flush()) return 1;
    if (v->o->count == 0 || v->lines < v->o->count)
      sleep_s(v->o->interval_given ? v->o->interval_s : 0.2);
  }
  return clock_verdict(v, &r);
}

static int run_clock(const settings *o, const nic_machine *m) {
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
  if (!n && !desc.system) return no_such_nic(o, "name a NIC, or realtime");
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
/* One message at a time to a peer that answers: another nicstat (--listen), on this host or another, or
   a thread of this one. The answer says when the peer's kernel took the message in; that is a time of
   ours where both run under one kernel, which the boot id tells. Elsewhere the arrival is enclosed by
   the hand-off of the message and the arrival of the answer. */
static const char stamps_magic[8] = "nicstat1";
typedef struct message { /* TCP: once, at the beginning; UDP: begins each datagram */
  char magic[8];
  uint64_t size_bytes, index;
} message;
typedef struct answer {
  char magic[8];
  uint64_t index;
  int64_t arrived_real_ns; /* CLOCK_REALTIME of the peer; 0: not stamped */
  char boot_id[40];
} answer;

enum { STAMP_ANSWERED = NIC_STAMP_NIC_RECEIVED + 1, STAMPS };
typedef struct transfer {
  int64_t t_call_ns, t_back_ns;
  bool is_lost;
  nic_stamp stamps[STAMPS];
} transfer;

typedef struct stamps_link {
  const settings *o;
  int fd;
  bool udp;
  nic_datagrams *datagrams;
  nic_stamping *stamping;
  nic_clock *clock;
  nbc_relation relation;
  uint32_t sent_bytes;
  uint64_t index, by_nic_count;
  char *data, boot_id[40];
} stamps_link;

static void read_boot_id(char id[40]) {
  FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
  memset(id, 0, 40);
  if (f && !fgets(id, 40, f)) id[0] = 0;
  if (f) fclose(f);
}

/* "HOST:PORT", "[V6]:PORT", and to listen also "PORT". ret a socket, or with a line on stderr -1, -2: it is neither */
static int stamps_socket(const char *address, int type, bool listening) {
  char host[200] = "";
  struct addrinfo hints, *list = NULL;
  const char *colon = strrchr(address, ':'), *port = colon ? colon + 1 : address, *from = address;
  size_t n = colon ? (size_t)(colon - address) : 0;
  const int on = 1;
  int fd = -1, number = 0;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = type;
  hints.ai_flags = (listening ? AI_PASSIVE : 0) | AI_NUMERICSERV;
  if (n > 1 && from[0] == '[' && from[n - 1] == ']') from++, n -= 2;
  const size_t digits = strspn(port, "0123456789");
  const bool fits = digits > 0 && digits < 6 && !port[digits] && atoi(port) <= 65535;
  if (n >= sizeof host || (!listening && n == 0) || !fits)
    return fprintf(stderr, "nicstat: %s: must be %sPORT, a number up to 65535\n", address,
                   listening ? "[HOST:]" : "HOST:"),
           -2;
  memcpy(host, from, n);
  const int code = getaddrinfo(n ? host : NULL, port, &hints, &list);
  if (code) return fprintf(stderr, "nicstat: %s: %s\n", address, gai_strerror(code)), -1;
  for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd >= 0 && listening) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && (listening ? bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
                                    (type == SOCK_DGRAM || listen(fd, 8) == 0)
                              : connect(fd, a->ai_addr, a->ai_addrlen) == 0))
      break;
    number = errno;
    if (fd >= 0) close(fd);
    fd = -1;
  }
  freeaddrinfo(list);
  if (fd < 0) fprintf(stderr, "nicstat: %s: %s\n", address, strerror(number));
  if (fd >= 0 && type == SOCK_STREAM) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

static void stamps_answer(int fd, uint64_t index, int64_t real_ns, const struct sockaddr *to,
                          socklen_t to_bytes) {
  answer a;
  memset(&a, 0, sizeof a);
  memcpy(a.magic, stamps_magic, sizeof a.magic);
  a.index = index;
  a.arrived_real_ns = real_ns;
  read_boot_id(a.boot_id);
  if (sendto(fd, &a, sizeof a, MSG_NOSIGNAL, to, to_bytes) < 0) return; /* the client notices */
}

/* ---- answering ---------------------------------------------------------------------------------- */
enum { SERVED_MOST = 64, SERVED_DATA = 1000000, HELLO_S = 5 };
/* A client of TCP: its first message says how long the others are. */
typedef struct served {
  int fd; /* -1: free */
  nic_stamping *stamping;
  bool greeted;
  message head;
  char *data;
  uint64_t got_bytes, index;
  int64_t t_heard_ns;
} served;

static void served_end(served *c) {
  nic_stamping_close(c->stamping);
  free(c->data);
  close(c->fd);
  memset(c, 0, sizeof *c);
  c->fd = -1;
}

/* Takes a new client in. No place: that of the one that has been silent for longest. */
static void served_begin(served *clients, int fd) {
  const int on = 1;
  served *c = &clients[0];
  for (int i = 0; i < SERVED_MOST && c->fd >= 0; i++)
    if (clients[i].fd < 0 || clients[i].t_heard_ns < c->t_heard_ns) c = &clients[i];
  if (c->fd >= 0) served_end(c);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  c->fd = fd;
  c->t_heard_ns = nic_host_now_ns(NULL);
  if (nic_stamping_open(fd, false, NULL, &c->stamping, NULL) != NIC_OK) served_end(c);
}

/* What has come from a client. false: it is gone, or none of ours. */
static bool served_read(served *c) {
  nic_stamp stamp;
  const uint64_t want = c->greeted ? c->head.size_bytes : sizeof c->head;
  char *place = c->greeted ? c->data : (char *)&c->head;
  const long k =
      nic_stamping_recv(c->stamping, place + c->got_bytes, (size_t)(want - c->got_bytes), &stamp);
  if (k < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (k <= 0) return false;
  c->t_heard_ns = nic_host_now_ns(NULL);
  c->got_bytes += (uint64_t)k;
  if (c->got_bytes < want) return true;
  c->got_bytes = 0;
  if (c->greeted) {
    stamps_answer(c->fd, c->index++, stamp.kind ? stamp.t_real_ns : 0, NULL, 0);
    return true;
  }
  c->greeted = true;
  if (memcmp(c->head.magic, stamps_magic, sizeof c->head.magic) != 0 || c->head.size_bytes == 0 ||
      c->head.size_bytes > SERVED_DATA)
    return false;
  c->data = malloc((size_t)c->head.size_bytes);
  return c->data != NULL;
}

static void serve_datagram(int fd, nic_stamping *s) {
  union { /* room for the largest datagram */
    message head;
    char data[65536];
  } m;
  struct sockaddr_storage from;
  socklen_t from_bytes = sizeof from;
  nic_stamp stamp;
  char byte;
  if (recvfrom(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, (struct sockaddr *)&from, &from_bytes) < 0)
    return;
  const long k = nic_stamping_recv(s, m.data, sizeof m.data, &stamp);
  if (k < (long)sizeof m.head || memcmp(m.head.magic, stamps_magic, sizeof m.head.magic) != 0)
    return;
  stamps_answer(fd, m.head.index, stamp.kind ? stamp.t_real_ns : 0, (struct sockaddr *)&from,
                from_bytes);
}

/* Serves both kinds on one port, up to SERVED_MOST clients of TCP at a time. sockets: stream, datagram. */
typedef struct stamps_server {
  int sockets[2];
  bool once; /* until the first client of TCP has left */
  int stop;  /* atomic */
} stamps_server;
static void *stamps_serve(void *arg) {
  stamps_server *server = (stamps_server *)arg;
  served clients[SERVED_MOST];
  struct pollfd p[SERVED_MOST + 2];
  nic_stamping *s = NULL;
  bool over = false;
  memset(clients, 0, sizeof clients);
  for (int i = 0; i < SERVED_MOST; i++) clients[i].fd = -1;
  if (nic_stamping_open(server->sockets[1], false, NULL, &s, NULL) != NIC_OK) return NULL;
  while (!over && !stop_asked && !__atomic_load_n(&server->stop, __ATOMIC_ACQUIRE)) {
    for (int i = 0; i < SERVED_MOST + 2; i++) {
      p[i].fd = i < 2 ? server->sockets[i] : clients[i - 2].fd;
      p[i].events = POLLIN;
      p[i].revents = 0;
    }
    if (poll(p, SERVED_MOST + 2, 100) < 0) continue;
    if (p[1].revents) serve_datagram(server->sockets[1], s);
    for (int i = 0; i < SERVED_MOST; i++) {
      served *c = &clients[i];
      const bool silent = c->fd >= 0 && !c->greeted &&
                          nic_host_now_ns(NULL) - c->t_heard_ns > HELLO_S * INT64_C(1000000000);
      if (c->fd < 0 || (!silent && (!p[i + 2].revents || served_read(c)))) continue;
      served_end(c);
      over |= server->once;
    }
    const int fd = p[0].revents ? accept4(server->sockets[0], NULL, NULL, SOCK_CLOEXEC) : -1;
    if (fd >= 0) served_begin(clients, fd);
  }
  for (int i = 0; i < SERVED_MOST; i++)
    if (clients[i].fd >= 0) served_end(&clients[i]);
  nic_stamping_close(s);
  return NULL;
}

static int run_listen(const settings *o) {
  stamps_server server;
  memset(&server, 0, sizeof server);
  server.sockets[0] = stamps_socket(o->listen, SOCK_STREAM, true);
  server.sockets[1] = server.sockets[0] < 0 ? -1 : stamps_socket(o->listen, SOCK_DGRAM, true);
  if (server.sockets[1] >= 0) {
    fprintf(stderr, "nicstat: answering on %s until Ctrl-C\n", o->listen);
    stamps_serve(&server);
  }
  for (int i = 0; i < 2; i++)
    if (server.sockets[i] >= 0) close(server.sockets[i]);
  return server.sockets[1] >= 0 ? 0 : server.sockets[0] == -2 ? 2 : 1;
}

static void print_stamp(const transfer *t, int kind, const char *name, bool json) {
  const nic_stamp *s = &t->stamps[kind];
  const int64_t lo_ns = s->t_before_ns - t->t_call_ns, hi_ns = s->t_after_ns - t->t_call_ns;
  if (json && s->kind)
    printf(",\"%s_lo_ns\":%lld,\"%s_hi_ns\":%lld", name, (long long)lo_ns, name, (long long)hi_ns);
  else if (!json && s->kind)
    printf(" %9.3f +-%6.3f", (double)(lo_ns + hi_ns) * 0.5e-3, (double)(hi_ns - lo_ns) * 0.5e-3);
  else if (!json)
    printf(" %18s", "none");
}

/* Columns, in the order of events. */
static const struct stamps_column {
  int kind;
  const char *name, *title;
  bool tcp_only, nic_only;
} stamps_columns[] = {{NIC_STAMP_SCHEDULED, "scheduled", "scheduled", false, false},
                      {NIC_STAMP_SENT, "sent", "sent", false, false},
                      {NIC_STAMP_NIC_SENT, "nic_sent", "on the wire", false, true},
                      {NIC_STAMP_RECEIVED, "received", "received", false, false},
                      {NIC_STAMP_ACKED, "acked", "acknowledged", true, false},
                      {STAMP_ANSWERED, "answered", "answer received", false, false}};
enum { STAMPS_COLUMNS = sizeof stamps_columns / sizeof stamps_columns[0] };
static bool column_shown(const stamps_link *l, int i) {
  return !(stamps_columns[i].tcp_only && l->udp) && !(stamps_columns[i].nic_only && !l->clock);
}

static void print_transfer(const stamps_link *l, const transfer *t, long index) {
  const bool json = l->o->json;
  if (json)
    printf("{\"schema\":\"nicstat-stamps/1\",\"index\":%ld,\"size_bytes\":%ld,\"lost\":%s,"
           "\"call_returned_ns\":%lld",
           index, l->o->size_bytes, t->is_lost ? "true" : "false",
           (long long)(t->t_back_ns - t->t_call_ns));
  else
    printf("%6ld %12.3f", index, (double)(t->t_back_ns - t->t_call_ns) * 1e-3);
  for (int i = 0; i < STAMPS_COLUMNS; i++)
    if (column_shown(l, i)) print_stamp(t, stamps_columns[i].kind, stamps_columns[i].name, json);
  puts(json ? "}" : t->is_lost ? "  no answer" : "");
}

static void stamps_read_clock(stamps_link *l) {
  nic_reading r;
  if (l->clock && nic_clock_read(l->clock, &r, NULL) == NIC_OK)
    nbc_relation_add(&l->relation, r.t_before_ns, r.ticks, r.t_after_ns);
}

static bool stamps_send(stamps_link *l, transfer *t) {
  const message head = {
      {'n', 'i', 'c', 's', 't', 'a', 't', '1'}, (uint64_t)l->o->size_bytes, l->index};
  if (l->udp) memcpy(l->data, &head, sizeof head);
  t->t_call_ns = nic_host_now_ns(NULL);
  if (l->udp) {
    nic_datagram old; /* of a message that was lost */
    while (nic_datagrams_next(l->datagrams, 0, &old, NULL) == NIC_OK) {
    }
    const long k =
        nic_datagrams_send(l->datagrams, l->index, l->data, (size_t)l->o->size_bytes, NULL, 0);
    t->t_back_ns = nic_host_now_ns(NULL);
    return k == l->o->size_bytes;
  }
  for (long sent = 0; sent < l->o->size_bytes;) {
    struct pollfd p = {l->fd, POLLOUT, 0};
    const long k =
        nic_stamping_send(l->stamping, l->data, (size_t)(l->o->size_bytes - sent), MSG_EOR);
    if (k < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (k > 0) sent += k, l->sent_bytes += (uint32_t)k;
    if (k < 0) poll(&p, 1, 10);
  }
  t->t_back_ns = nic_host_now_ns(NULL);
  return true;
}

/* What has come of the kernel's reports. */
static void stamps_collect(stamps_link *l, transfer *t, int64_t patience_ns) {
  nic_stamp s;
  nic_datagram d;
  if (!l->udp) {
    while (nic_stamping_next(l->stamping, &s, NULL) == NIC_OK)
      if (s.key_count == l->sent_bytes - 1) t->stamps[s.kind] = s;
  } else if (nic_datagrams_next(l->datagrams, patience_ns, &d, NULL) == NIC_OK &&
             d.id == l->index) {
    t->stamps[NIC_STAMP_SCHEDULED] = d.scheduled;
    t->stamps[NIC_STAMP_SENT] = d.sent;
    t->stamps[NIC_STAMP_NIC_SENT] = d.by_nic;
  }
}
static bool stamps_complete(const stamps_link *l, const transfer *t) {
  return t->stamps[NIC_STAMP_SENT].kind && (l->udp || t->stamps[NIC_STAMP_ACKED].kind) &&
         (!l->clock || t->stamps[NIC_STAMP_NIC_SENT].kind);
}

/* Arrival at the peer: by its stamp, or enclosed. */
static void stamps_arrival(stamps_link *l, transfer *t, const answer *a) {
  nic_stamp *s = &t->stamps[NIC_STAMP_RECEIVED];
  const nic_stamp *sent = &t->stamps[NIC_STAMP_SENT], *back = &t->stamps[STAMP_ANSWERED];
  if (l->boot_id[0] && memcmp(l->boot_id, a->boot_id, sizeof a->boot_id) == 0) {
    if (a->arrived_real_ns &&
        nic_stamping_to_host(l->stamping, a->arrived_real_ns, &s->t_before_ns, &s->t_after_ns))
      s->kind = NIC_STAMP_RECEIVED;
    return;
  }
  s->kind = NIC_STAMP_RECEIVED;
  s->t_before_ns = sent->kind ? sent->t_before_ns : t->t_call_ns;
  s->t_after_ns = back->kind ? back->t_after_ns : nic_host_now_ns(NULL);
}

/* ret false: the peer is gone. A datagram without an answer for two seconds is lost. */
static bool one_transfer(stamps_link *l, transfer *t) {
  answer a;
  size_t got = 0;
  memset(t, 0, sizeof *t);
  memset(&a, 0, sizeof a);
  l->index++;
  stamps_read_clock(l);
  if (!stamps_send(l, t)) return false;
  int64_t end_ns = t->t_back_ns + (l->udp ? 2 : 10) * INT64_C(1000000000);
  while (nic_host_now_ns(NULL) < end_ns && !(got == sizeof a && stamps_complete(l, t))) {
    struct pollfd p = {l->fd, POLLIN, 0};
    nic_stamp s;
    poll(&p, 1, 10); /* the error queue wakes it too */
    stamps_collect(l, t, 50000000);
    if (got == sizeof a || !(p.revents & (POLLIN | POLLHUP))) continue;
    const long k = nic_stamping_recv(l->stamping, (char *)&a + got, sizeof a - got, &s);
    if (k == 0 && !l->udp) return false;
    if (k < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (k > 0) got += (size_t)k, t->stamps[STAMP_ANSWERED] = s;
    if (l->udp && got && (got != sizeof a || a.index != l->index)) got = 0; /* of an earlier one */
    if (got == sizeof a && nic_host_now_ns(NULL) + 100000000 < end_ns)
      end_ns = nic_host_now_ns(NULL) + 100000000; /* for the stamps that have not come */
  }
  stamps_collect(l, t, 0);
  t->is_lost = got != sizeof a;
  if (!t->is_lost && memcmp(a.magic, stamps_magic, sizeof a.magic) != 0) return false;
  if (!t->is_lost) stamps_arrival(l, t, &a);
  nic_stamp *wire = &t->stamps[NIC_STAMP_NIC_SENT];
  if (wire->kind) { /* by the NIC's clock: to host time */
    nbc_time at;
    stamps_read_clock(l);
    wire->kind =
        nbc_relation_time(&l->relation, wire->ticks, &at) == NBC_OK ? wire->kind : NIC_STAMP_NONE;
    wire->t_before_ns = at.t_ns - at.err_ns;
    wire->t_after_ns = at.t_ns + at.err_ns;
    if (wire->kind) l->by_nic_count++;
  }
  return true;
}

static bool stamps_open(stamps_link *l, const nic_machine *m, nic_error *err) {
  const settings *o = l->o;
  const bool by_nic = o->stamping_nic != NULL;
  if (by_nic) {
    if (nic_clock_open(m, nic_by_name(m, o->stamping_nic), NULL, NULL, &l->clock, err) != NIC_OK)
      return false;
    const nbc_relation_desc limits = nic_clock_relation(nic_clock_info_of(l->clock));
    nbc_relation_init(&l->relation, &limits);
  }
  if (l->udp) {
    if (nic_datagrams_open(l->fd, by_nic, 0, NULL, &l->datagrams, err) != NIC_OK) return false;
    l->stamping = nic_datagrams_stamping(l->datagrams);
    return true;
  }
  message head;
  memset(&head, 0, sizeof head);
  memcpy(head.magic, stamps_magic, sizeof head.magic);
  head.size_bytes = (uint64_t)o->size_bytes;
  if (nic_stamping_open(l->fd, by_nic, NULL, &l->stamping, err) != NIC_OK) return false;
  l->sent_bytes = sizeof head;
  if (send(l->fd, &head, sizeof head, MSG_NOSIGNAL) == sizeof head) return true;
  snprintf(err->text, sizeof err->text, "stamps: the peer is gone");
  return false;
}

static int stamps_client(stamps_link *l, const nic_machine *m, const char *where) {
  nic_error error;
  transfer t;
  const settings *o = l->o;
  bool ok = true;
  long lost = 0;
  if (!stamps_open(l, m, &error)) return fail(&error);
  if (!o->json) {
    printf("us after the call of send, %ld bytes over %s %s\n%6s %12s", o->size_bytes, where,
           l->udp ? "UDP" : "TCP", "", "returned");
    for (int i = 0; i < STAMPS_COLUMNS; i++)
      if (column_shown(l, i)) printf(" %18s", stamps_columns[i].title);
    putchar('\n');
  }
  /* The kernel switches arrival stamps on with a delay of its own: so first, until one comes. */
  for (int i = 0; i < 100 && ok && !stop_asked; i++) {
    ok = one_transfer(l, &t);
    if (t.stamps[STAMP_ANSWERED].kind && t.stamps[NIC_STAMP_RECEIVED].kind) break;
    if (t.is_lost && ++lost == 3) break;
    sleep_s(0.001);
  }
  l->by_nic_count = 0;
  for (long i = 0; ok && lost < 3 && !stop_asked && i < (o->count ? o->count : 10); i++) {
    if ((ok = one_transfer(l, &t))) print_transfer(l, &t, i);
    if (!output_flush()) return 1;
  }
  if (!ok || lost == 3)
    return fprintf(stderr,
                   "nicstat: stamps: %s %s; the peer must run `nicstat stamps --listen PORT`\n",
                   where, ok ? "does not answer" : "closed the connection, or is no nicstat"),
           1;
  if (l->clock && !l->by_nic_count)
    return fprintf(stderr,
                   "nicstat: stamps: none by %s: as root `hwstamp_ctl -i %s -t 1 -r 0` (package "
                   "linuxptp), and the route must lead through it\n",
                   o->stamping_nic, o->stamping_nic),
           1;
  return 0;
}

#include "hw/nicstat_serve.h"

static int run_stamps(const settings *o, const nic_machine *m) {
  stamps_link l;
  stamps_server server;
  pthread_t thread;
  char here[64];
  struct sockaddr_in at;
  socklen_t at_bytes = sizeof at;
  if (o->stamping_nic && !nic_by_name(m, o->stamping_nic)) return no_such_nic(o, NULL);
  if (o->listen) return run_listen(o);
  memset(&l, 0, sizeof l);
  memset(&server, 0, sizeof server);
  l.o = o;
  l.udp = o->udp;
  if (o->udp && (o->size_bytes < (long)sizeof(message) || o->size_bytes > 65000))
    return fprintf(stderr, "nicstat: --size %ld: with --udp from %zu to 65000\n", o->size_bytes,
                   sizeof(message)),
           2;
  read_boot_id(l.boot_id);
  const char *address = o->connect;
  if (!address) { /* to ourselves */
    server.once = !o->udp;
    server.sockets[0] = stamps_socket("127.0.0.1:0", SOCK_STREAM, true);
    server.sockets[1] = stamps_socket("127.0.0.1:0", SOCK_DGRAM, true);
    if (server.sockets[0] < 0 || server.sockets[1] < 0 ||
        getsockname(server.sockets[o->udp], (struct sockaddr *)&at, &at_bytes) != 0 ||
        pthread_create(&thread, NULL, stamps_serve, &server) != 0)
      return fprintf(stderr, "nicstat: stamps: no loopback interface: ip link set lo up\n"), 1;
    snprintf(here, sizeof here, "127.0.0.1:%d", ntohs(at.sin_port));
    address = here;
  }
  l.fd = stamps_socket(address, o->udp ? SOCK_DGRAM : SOCK_STREAM, false);
  l.data = calloc(1, (size_t)o->size_bytes);
  const int code = l.fd >= 0 && l.data ? stamps_client(&l, m, o->connect ? o->connect : "loopback")
                   : l.fd == -2        ? 2
                                       : 1;
  if (l.udp)
    nic_datagrams_close(l.datagrams);
  else
    nic_stamping_close(l.stamping);
  nic_clock_close(l.clock);
  if (l.fd >= 0) close(l.fd);
  if (!o->connect) {
    __atomic_store_n(&server.stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    close(server.sockets[0]);
    close(server.sockets[1]);
  }
  free(l.data);
  return code;
}

static int run_record(const settings *o, const nic_machine *m) {
  nic_error error;
  const bool to_stdout = strcmp(o->record_path, "-") == 0;
  FILE *out = to_stdout ? stdout : output_create(o->record_path);
  if (!out) return 1;
  const nic_status status = nic_record_write(m, NULL, out, &error);
  if (status != NIC_OK) {
    if (!to_stdout) fclose(out);
    return fail(&error);
  }
  return to_stdout || output_close(out, o->record_path) ? 0 : 1;
}

/* Whom an option serves, which for others would do nothing without a word. */
static const struct {
  const char *option, *commands;
} serves[] = {
    {"--csv", " watch "},
    {"--json", " list watch health clock stamps "},
    {"--interval", " watch top health clock "},
    {"--count", " watch top clock stamps --prometheus "},
    {"--registers", " watch clock "},
    {"--size", " stamps "},
    {"--udp", " stamps "},
    {"--nic", " stamps "},
    {"--listen", " stamps "},
    {"--connect", " stamps "},
    {"--all", " list watch top --record "},
};
/* 0, or the exit status of a wrong call: a word that serves nobody, or that this command does not know. `nicstat eth0`
   is short for `nicstat list eth0`. */
static int check_words(int argc, char **argv, settings *o) {
  const bool is_alone = o->record_path || o->prometheus || o->explain;
  const char *mode = o->record_path  ? "--record"
                     : o->prometheus ? "--prometheus"
                     : o->explain    ? "--explain"
                                     : "list";
  if (is_alone && o->command)
    return fprintf(stderr, "nicstat: %s: %s takes no other word\n", o->command, mode), 2;
  if (o->command && !is_among(" list watch top health clock stamps ", o->command) && !o->nic) {
    o->nic = o->command;
    o->command = NULL;
    o->is_short = true;
  }
  if (!o->command) o->command = is_alone ? mode : "list";
  if (o->nic && strcmp(o->command, "stamps") == 0)
    return fprintf(stderr, "nicstat: stamps: %s: a NIC is named by --nic\n", o->nic), 2;
  for (int i = 1; i < argc; i++)
    for (size_t k = 0; k < sizeof serves / sizeof *serves; k++)
      if (strcmp(argv[i], serves[k].option) == 0 && !is_among(serves[k].commands, o->command))
        return fprintf(stderr, "nicstat: %s: not of %s, but of:%.*s\n", argv[i], o->command,
                       (int)strlen(serves[k].commands) - 1, serves[k].commands),
               2;
  if (o->csv && o->json) return fputs("nicstat: --csv and --json: one of them\n", stderr), 2;
  return 0;
}

static settings given;
static uint64_t size_bytes = 64, line_count;
static const option options[] = {
    {"--csv", NULL, "watch: lines of comma-separated values", .flag = &given.csv},
    {"--json", NULL, "list, health: one JSON object; watch, clock, stamps: one per line",
     .flag = &given.json},
    {"--interval", "S",
     "watch, top, clock: seconds between lines (1; clock: 0.2); health: of its look",
     .real = &given.interval_s, .range = {0.001, 86400}},
    {"--count", "N",
     "watch, top, clock: stop after N lines (at Ctrl-C); stamps: transfers (10); pages served",
     .whole = &line_count, .range = {1, 1e9}},
    {"--registers", NULL, "watch, clock: from the device itself (root)", .flag = &given.registers},
    {"--size", "N", "stamps: bytes per transfer (64)", .whole = &size_bytes, .range = {1, 1e6}},
    {"--udp", NULL, "stamps: datagrams instead of a stream", .flag = &given.udp},
    {"--nic", "NIC", "stamps: also when this NIC put the first bit on the wire, by its own clock",
     .text = &given.stamping_nic},
    {"--listen", "[HOST:]PORT",
     "stamps: of what another host sends; Linux stamps what comes a moment after it is asked to: "
     "the first ones may be missing",
     .text = &given.listen},
    {"--connect", "HOST:PORT", "stamps: of what goes to that host", .text = &given.connect},
    {"--all", NULL, "list, --record: all PCI devices; watch, top: also counters that stand still",
     .flag = &given.all},
    {"--record", "FILE", "writes a recording of this machine (-: standard output)",
     .text = &given.record_path},
    {"--prometheus", "WHERE",
     "FILE: all counters once, as Prometheus reads them (-: standard output); http:[HOST:]PORT or "
     "unix:PATH: serves that page (HOST: loopback)",
     .text = &given.prometheus},
    {"--explain", "WORD", "a counter, register, offset (0x...) or register list",
     .text = &given.explain},
    {"--dump", "FILE", "a machine recorded with --record or `lspci -xxxx` instead of this one",
     .text = &given.find.dump_path},
    {"--sysfs", "DIR", "another folder than /sys (a recorded tree)",
     .text = &given.find.sysfs_root},
    {0}};
static const command_line command = {
    "usage: nicstat [list] [NIC]      what each NIC offers, what is missing, how to get it\n"
    "       nicstat watch NIC         counters: value, change, rate per second\n"
    "       nicstat top [NIC]         the same, live, with sparklines; keys in the last line\n"
    "       nicstat health [NIC]      what is wrong here, and the command that shows more "
    "(exit 1)\n"
    "       nicstat clock NIC         its clock against host time (realtime: the kernel's)\n"
    "       nicstat stamps            per transfer over loopback: scheduled, sent, received, "
    "acked\n"
    "       nicstat stamps --listen [HOST:]PORT | --connect HOST:PORT   the same to another "
    "host\n"
    "       nicstat --record FILE | --prometheus WHERE | --explain WORD\n",
    options,
    "Exit status: 0 done; 1 it could not be, or health found something; 2 wrong usage, or no "
    "NIC to look at.\n"};

/* An empty folder, as where a container has no sysfs, is no machine without NICs. */
static bool lacks_sysfs(const settings *o) {
  const char *sysfs = o->find.sysfs_root ? o->find.sysfs_root : "/sys";
  char path[4096];
  if (o->find.dump_path || is_among(" stamps clock ", o->command)) return false;
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", sysfs, i ? "bus" : "class");
    if (access(path, F_OK) == 0) return false;
  }
  fprintf(stderr,
          "nicstat: %s: neither class nor bus in it: mount sysfs there or name another folder "
          "(--sysfs)\n",
          sysfs);
  return true;
}

int main(int argc, char **argv) {
  settings *const o = &given;
  nic_machine *m;
  nic_error error;
  output_begin("nicstat");
  const int count = options_read(&command, argc, argv);
  o->command = count > 0 ? argv[1] : NULL, o->nic = count > 1 ? argv[2] : NULL;
  if (count > 2) options_refuse(argv[3], "one NIC at a time");
  o->find.all_pci = o->all;
  o->count = (int64_t)line_count, o->size_bytes = (int64_t)size_bytes;
  o->interval_given = o->interval_s > 0;
  if (!o->interval_given) o->interval_s = 1;
  int code = check_words(argc, argv, o);
  if (code) return code;
  if (o->explain) return run_explain(o->explain);
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  signal(SIGBUS, on_bus);
  if (nic_find(&o->find, &m, &error) != NIC_OK) return fail(&error);
  if (nic_count(m) == 0 && lacks_sysfs(o))
    code = 1;
  else if (o->record_path)
    code = run_record(o, m);
  else if (o->prometheus &&
           (strncmp(o->prometheus, "http:", 5) == 0 || strncmp(o->prometheus, "unix:", 5) == 0))
    code = run_serve(o, o->prometheus);
  else if (o->prometheus)
    code = run_prometheus(o, m, o->prometheus);
  else if (strcmp(o->command, "list") == 0)
    code = run_list(o, m);
  else if (strcmp(o->command, "watch") == 0)
    code = run_watch(o, m);
  else if (strcmp(o->command, "top") == 0)
    code = run_top(o, m);
  else if (strcmp(o->command, "health") == 0)
    code = run_health(o, m);
  else if (strcmp(o->command, "clock") == 0)
    code = run_clock(o, m);
  else if (strcmp(o->command, "stamps") == 0)
    code = run_stamps(o, m);
  else
    code = (fprintf(stderr, "nicstat: %s: unknown command (nicstat --help)\n", o->command), 2);
  nic_machine_free(m);
  return code;
}
