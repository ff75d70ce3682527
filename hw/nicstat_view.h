/* nicstat_view.h: part of nicstat: counters as CSV, for Prometheus, and as a live table with sparklines. */
#ifndef NICSTAT_VIEW_H_INCLUDED
#define NICSTAT_VIEW_H_INCLUDED
#include <sys/ioctl.h>
#include <termios.h>

/* ---- CSV --------------------------------------------------------------------------------------- */
/* RFC 4180: a driver may name a counter as it likes. */
static void print_field(const char *text) {
  if (!strpbrk(text, ",\"\n")) {
    fputs(text, stdout);
    return;
  }
  putchar('"');
  for (; *text; text++) {
    if (*text == '"') putchar('"');
    putchar(*text);
  }
  putchar('"');
}
static void watch_csv(const nic_info *n, const source *c, const nic_value *before,
                      const nic_value *now, bool first) {
  if (first) puts("time_s,nic,counter,unit,value,delta,change,per_s_lo,per_s_hi");
  for (size_t i = 0; i < source_count(c); i++) {
    const nic_counter *k = source_at(c, i);
    const nic_delta d = nic_counter_delta(k, &before[i], &now[i]);
    if (!now[i].is_valid) continue;
    printf("%.9f,", (double)now[i].t_after_ns * 1e-9);
    print_field(n->name);
    putchar(',');
    print_field(k->name);
    printf(",%s,%llu,%llu,%s,%.9g,", nic_unit_name(k->unit), (unsigned long long)now[i].value,
           (unsigned long long)d.delta, nic_change_name(d.change), d.per_s_lo);
    if (isfinite(d.per_s_hi)) printf("%.9g", d.per_s_hi); /* empty: not known */
    putchar('\n');
  }
}

/* ---- Prometheus -------------------------------------------------------------------------------- */
/* Text exposition format 0.0.4: in label values backslash, quote and newline are escaped. */
static void print_label(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    fputc(*text == '\n' ? ' ' : *text, out);
  }
}
static void prometheus_nic(const nic_machine *m, const nic_info *n, FILE *out,
                           bool *short_of_memory) {
  nic_counters *c;
  const nic_status status = nic_counters_open(m, n, NULL, &c, NULL);
  if (status == NIC_E_NOMEM) *short_of_memory = true;
  if (status != NIC_OK) return;
  nic_value *values = calloc(nic_counters_count(c), sizeof *values);
  if (!values) *short_of_memory = true;
  if (values && nic_counters_read(c, values, NULL) == NIC_OK)
    for (size_t i = 0; i < nic_counters_count(c); i++) {
      const nic_counter *k = nic_counters_at(c, i);
      if (!values[i].is_valid) continue;
      fputs("nicstat_counter_total{nic=\"", out);
      print_label(out, n->name);
      fputs("\",kind=\"", out);
      print_label(out, nic_kind_name(n->kind));
      fputs("\",counter=\"", out);
      print_label(out, k->name);
      fprintf(out, "\",unit=\"%s\"} %llu\n", nic_unit_name(k->unit),
              (unsigned long long)values[i].value);
    }
  free(values);
  nic_counters_close(c);
}
/* The page: all NICs' counters once. */
static void prometheus_page(const settings *o, const nic_machine *m, FILE *out,
                            bool *short_of_memory) {
  fputs("# HELP nicstat_counter_total A counter of a network card, its driver or the host's TCP "
        "and UDP.\n"
        "# TYPE nicstat_counter_total counter\n",
        out);
  for (size_t i = 0; i < nic_count(m); i++)
    if (!o->nic || strcmp(nic_at(m, i)->name, o->nic) == 0)
      prometheus_nic(m, nic_at(m, i), out, short_of_memory);
  fputs("# HELP nicstat_link_up 1 when the interface is up.\n# TYPE nicstat_link_up gauge\n", out);
  for (size_t i = 0; i < nic_count(m); i++)
    if (nic_at(m, i)->kind == NIC_KIND_NET &&
        (!o->nic || strcmp(nic_at(m, i)->name, o->nic) == 0)) {
      fputs("nicstat_link_up{nic=\"", out);
      print_label(out, nic_at(m, i)->name);
      fprintf(out, "\"} %d\n", nic_at(m, i)->is_up);
    }
}
/* "-": standard output. A file appears whole or not at all (textfile collector). */
static int run_prometheus(const settings *o, const nic_machine *m, const char *path) {
  char beside[4096];
  const bool to_stdout = strcmp(path, "-") == 0;
  bool short_of_memory = false;
  if (snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid()) >= (int)sizeof beside)
    return fprintf(stderr, "nicstat: --prometheus: name too long\n"), 2;
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
    snprintf(beside, sizeof beside, "%s", path); /* a pipe, a device */
  FILE *out = to_stdout ? stdout : output_create(beside);
  if (!out) return 1;
  prometheus_page(o, m, out, &short_of_memory);
  if (short_of_memory) fprintf(stderr, "nicstat: out of memory\n");
  if (to_stdout) return short_of_memory;
  const bool written = output_close(out, beside) && !short_of_memory;
  if (strcmp(beside, path) == 0) return !written;
  if (written && rename(beside, path) == 0) return 0;
  if (written) fprintf(stderr, "nicstat: %s: %s\n", path, strerror(errno));
  remove(beside);
  return 1;
}

/* ---- top --------------------------------------------------------------------------------------- */
enum { TOP_PAST = 20, TOP_NAME = 36 };
typedef struct top_row {
  double rates[TOP_PAST], last; /* a ring; newest at `at` */
  double most, sum;
  size_t index;
} top_row;
typedef struct top_view {
  const settings *o;
  const nic_info *n;
  source *c;
  top_row *rows, **order;
  size_t count;
  int at, filled, height;
  bool by_name, paused, quit, live;
} top_view;

static bool top_by_name; /* of the comparison, which gets no context */
static int top_compare(const void *a, const void *b) {
  const top_row *x = *(top_row *const *)a, *y = *(top_row *const *)b;
  if (!top_by_name && x->sum > y->sum) return -1;
  if (!top_by_name && x->sum < y->sum) return 1;
  return (x->index > y->index) - (x->index < y->index);
}

static void top_take(top_view *v, const nic_value *before, const nic_value *now) {
  v->at = (v->at + 1) % TOP_PAST;
  if (v->filled < TOP_PAST) v->filled++;
  for (size_t i = 0; i < v->count; i++) {
    top_row *r = &v->rows[i];
    const nic_delta d = nic_counter_delta(source_at(v->c, i), &before[i], &now[i]);
    r->last = r->rates[v->at] = isfinite(d.per_s_hi) ? (d.per_s_lo + d.per_s_hi) / 2 : d.per_s_lo;
    r->most = r->sum = 0;
    for (int k = 0; k < TOP_PAST; k++) {
      r->sum += r->rates[k];
      if (r->rates[k] > r->most) r->most = r->rates[k];
    }
  }
}

static void top_draw(top_view *v) {
  static const char *const bars[9] = {" ",
                                      "\342\226\201",
                                      "\342\226\202",
                                      "\342\226\203",
                                      "\342\226\204",
                                      "\342\226\205",
                                      "\342\226\206",
                                      "\342\226\207",
                                      "\342\226\210"};
  char text[16];
  int shown = 0;
  if (v->live) fputs("\033[H\033[J", stdout);
  printf("%-*.*s %12s  %-*s\n", TOP_NAME, TOP_NAME, v->n->name, "per second", TOP_PAST,
         v->paused ? "paused" : "past");
  top_by_name = v->by_name;
  for (size_t i = 0; i < v->count; i++) v->order[i] = &v->rows[i];
  qsort(v->order, v->count, sizeof(top_row *), top_compare);
  for (size_t i = 0; i < v->count && shown < v->height - 3; i++) {
    const top_row *r = v->order[i];
    const nic_counter *k = source_at(v->c, r->index);
    if (!v->o->all && r->most <= 0) continue;
    printf("%-*.*s %10s%s  ", TOP_NAME, TOP_NAME, k->name, human(r->last, text),
           k->unit == NIC_UNIT_BYTES ? "B" : " ");
    for (int past = v->filled; past-- > 0;) {
      const double rate = r->rates[(v->at - past + TOP_PAST) % TOP_PAST];
      fputs(bars[r->most > 0 ? (int)(rate / r->most * 8 + 0.5) : 0], stdout);
    }
    putchar('\n');
    shown++;
  }
  if (!shown) puts("nothing moves (a: counters that stand still too)");
  if (v->live) fputs("q quit  p pause  n by name  r by rate  a all", stdout);
}

/* Waits for the next look, and for keys meanwhile. */
static void top_keys(top_view *v, settings *o) {
  const int64_t end_ns = nic_host_now_ns(NULL) + (int64_t)(o->interval_s * 1e9);
  for (int64_t left_ns;
       !stop_asked && !v->quit && (left_ns = end_ns - nic_host_now_ns(NULL)) > 0;) {
    struct pollfd p = {v->live ? 0 : -1, POLLIN, 0};
    char key;
    if (poll(&p, 1, (int)(left_ns / 1000000 % 100000) + 1) <= 0 || read(0, &key, 1) != 1) continue;
    if (key == 'q') v->quit = true;
    if (key == 'p') v->paused = !v->paused;
    if (key == 'n') v->by_name = true;
    if (key == 'r') v->by_name = false;
    if (key == 'a') o->all = !o->all;
    top_draw(v);
    fflush(stdout);
  }
}

static int top_loop(top_view *v, settings *o, nic_value *before, nic_value *now) {
  nic_error error;
  if (source_read(v->c, before, &error) != NIC_OK) return fail(&error);
  for (long i = 0; !stop_asked && !v->quit && (o->count == 0 || i < o->count); i++) {
    struct winsize size;
    v->height = ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_row > 5 ? size.ws_row : 24;
    top_keys(v, o);
    if (v->paused || v->quit) continue;
    if (source_read(v->c, now, &error) != NIC_OK) return fail(&error);
    top_take(v, before, now);
    memcpy(before, now, v->count * sizeof *now);
    top_draw(v);
    if (!output_flush()) return 1;
  }
  return 0;
}

/* Without a terminal: one table after the other, as many as --count says. */
static int run_top(settings *o, const nic_machine *m) {
  nic_error error;
  source open = {NULL, NULL};
  struct termios usual, raw;
  top_view v;
  memset(&v, 0, sizeof v);
  v.o = o;
  v.c = &open;
  v.n = o->nic ? nic_by_name(m, o->nic) : NULL;
  for (size_t i = 0; i < nic_count(m) && !o->nic && !v.n;
       i++) /* the first that is up, and not loopback */
    if (nic_at(m, i)->is_up && !nic_at(m, i)->is_loopback) v.n = nic_at(m, i);
  if (!v.n) return no_such_nic(o, "name a NIC");
  if (nic_counters_open(m, v.n, NULL, &open.counters, &error) != NIC_OK) return fail(&error);
  v.count = source_count(&open);
  v.rows = calloc(v.count, sizeof *v.rows);
  v.order = calloc(v.count, sizeof(top_row *));
  nic_value *values = calloc(2 * v.count, sizeof *values);
  int code = 1;
  v.live = isatty(0) && terminal_clears() && tcgetattr(0, &usual) == 0;
  if (v.live) {
    raw = usual;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(0, TCSANOW, &raw);
  }
  if (!v.rows || !v.order || !values)
    fprintf(stderr, "nicstat: out of memory\n");
  else {
    for (size_t i = 0; i < v.count; i++) v.rows[i].index = i;
    code = top_loop(&v, o, values, values + v.count);
  }
  if (v.live) {
    tcsetattr(0, TCSANOW, &usual);
    putchar('\n');
  }
  free(v.rows);
  free(v.order);
  free(values);
  nic_counters_close(open.counters);
  return code;
}
#endif /* NICSTAT_VIEW_H_INCLUDED */
