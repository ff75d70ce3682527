/* nicstat: what the network cards of this machine can tell, and what they are telling now.

     nicstat                        lists NICs: what each offers, what is missing, how to get it
     nicstat watch eth0             counters per second, a live table
     nicstat --help                 the rest

   Read-only: it never writes to a device and leaves alone what reading would change. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"

#include <poll.h>
#include <signal.h>

typedef struct options {
  const char *command, *nic;
  nic_find_desc find;
  bool json, all;
  double interval_s;
  long count;
} options;

static volatile sig_atomic_t stop_asked;
static void on_signal(int number) { (void)number, stop_asked = 1; }

static int usage(FILE *out) {
  fputs(
      "usage: nicstat [list] [NIC]          what each NIC offers, what is missing, how to get it\n"
      "       nicstat watch NIC             counters: value, change, rate per second\n"
      "options:\n"
      "  --json            one JSON object (watch: one per line and interval)\n"
      "  --interval S      watch: seconds between readings (1)\n"
      "  --count N         watch: stop after N intervals (until Ctrl-C)\n"
      "  --all             list: all PCI devices; watch: also counters that stand still\n"
      "  --dump FILE       a machine recorded with `lspci -xxxx` instead of this one\n"
      "  --sysfs DIR       another folder than /sys (a recorded tree)\n",
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

static void watch_json(const nic_info *n, nic_counters *c, const nic_value *before,
                       const nic_value *now) {
  printf("{\"schema\":\"nicstat-watch/1\",\"nic\":");
  print_json_string(n->name);
  printf(",\"counters\":{");
  for (size_t i = 0, first = 1; i < nic_counters_count(c); i++) {
    const nic_counter *k = nic_counters_at(c, i);
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

static void watch_text(const options *o, const nic_info *n, nic_counters *c,
                       const nic_value *before, const nic_value *now, bool live) {
  char rate[16];
  size_t shown = 0;
  if (live) fputs("\033[H\033[J", stdout);
  printf("%-44s %20s %14s %10s\n", n->name, "value", "change", "per second");
  for (size_t i = 0; i < nic_counters_count(c); i++) {
    const nic_counter *k = nic_counters_at(c, i);
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
  nic_counters *c;
  const nic_info *n = o->nic ? nic_by_name(m, o->nic) : NULL;
  if (!n) return fprintf(stderr, "nicstat: watch: name a NIC; `nicstat list` shows them\n"), 2;
  if (nic_counters_open(m, n, NULL, &c, &error) != NIC_OK) return fail(&error);
  nic_value *before = calloc(nic_counters_count(c), sizeof *before),
            *now = calloc(nic_counters_count(c), sizeof *now);
  int code = before && now && nic_counters_read(c, before, &error) == NIC_OK ? 0 : 1;
  for (long i = 0; code == 0 && !stop_asked && (o->count == 0 || i < o->count); i++) {
    sleep_s(o->interval_s);
    if (nic_counters_read(c, now, &error) != NIC_OK)
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
  nic_counters_close(c);
  return code;
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
    else if (strcmp(a, "--interval") == 0 && parse_number(next, 0.001, 86400, &value))
      o->interval_s = value, i++;
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
  options o = {.interval_s = 1};
  nic_machine *m;
  nic_error error;
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return usage(stdout);
  int code = parse(argc, argv, &o);
  if (code) return code;
  if (!o.command) o.command = "list";
  signal(SIGINT, on_signal);
  if (nic_find(&o.find, &m, &error) != NIC_OK) return fail(&error);
  if (strcmp(o.command, "list") == 0)
    code = run_list(&o, m);
  else if (strcmp(o.command, "watch") == 0)
    code = run_watch(&o, m);
  else
    code = (fprintf(stderr, "nicstat: %s: unknown command\n", o.command), usage(stderr));
  nic_machine_free(m);
  if (fflush(stdout) != 0) return 1;
  return code;
}
