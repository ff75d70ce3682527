/* Question: with which constants of its NIC, PCI and wire would the model take the times measured here?

   Run:      build/fit_nic [options] SAMPLES...          fits; --help lists the options
             build/fit_nic --simulate RAW [--platform FILE] [--max-bytes N]
                                                          what the model takes, as samples
             build/fit_nic --tcp HOST:PORT|here RAW       measures over TCP (here: a child on this host)
             build/fit_nic --tcp-serve PORT               the other side
   SAMPLES:  lines "bytes seconds routine" as bench_rma --raw writes them over MPI RMA and OpenSHMEM, and --tcp over
             TCP. Used are put_nbi full, put_nbi post, get_nbi full, get_nbi post: one request until it is done
             on the other side, and what one more of a batch of 16 takes.
   Expected: a line per constant: value, by how much samples off by their residual (at least 1 %) would move it; "not
             told" stands where that is more than half of it: then other constants give the same times. A line per
             routine: how many sizes, median and worst residual. Exit status 2: bad arguments or input.

   The times are those of two nodes without others. A link faster than the PCI shows as the PCI's rate in
   link_bytes_per_s. What an MPI adds to each operation is in the constants that are fitted. */
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "plot.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/sample_line.h"
#include "fit_nic.h"
#include <math.h>

enum { PUT_FULL, PUT_POST, GET_FULL, GET_POST, ROUTINES };
static const char *const routines[ROUTINES] = {"put_nbi full", "put_nbi post", "get_nbi full",
                                               "get_nbi post"};
enum { SIZES = 128, POSTS = 16, MOST_SAMPLES = 2000000, KEYS = 12, USUAL = 7 };
typedef struct points { /* of a routine, by size */
  int count;
  uint64_t bytes[SIZES];
  double ns[SIZES], model_ns[SIZES];
} points;
static points of[ROUTINES];
static struct {
  const char *platform, *keys, *output, *picture, *simulate, *tcp;
  uint64_t port;
} given;
static uint64_t most_bytes = 1048576;

static int fail(const char *what, const char *why) {
  fprintf(stderr, "fit_nic: %s%s%s\n", what, *why ? ": " : "", why);
  return 2;
}

/* ---- samples --------------------------------------------------------------------------------------- */
typedef struct sample {
  int routine;
  uint64_t bytes;
  double ns;
} sample;
static int by_routine_size_time(const void *a, const void *b) {
  const sample *x = (const sample *)a, *y = (const sample *)b;
  if (x->routine != y->routine) return x->routine - y->routine;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return (x->ns > y->ns) - (x->ns < y->ns);
}
/* NULL, or what is wrong. Lines of other routines are not used. */
static const char *read_line(char *line, sample *s, bool *found) {
  char *routine;
  const char *const bad = sample_line(line, &s->bytes, &s->ns, &routine);
  *found = false;
  if (bad || !routine) return bad;
  for (s->routine = 0; s->routine < ROUTINES; s->routine++)
    if (strcmp(routine, routines[s->routine]) == 0)
      return *found = s->ns > 0 && s->bytes <= most_bytes, NULL;
  return NULL;
}
static int read_file(const char *path, sample *samples, int *count) {
  char line[256], why[320];
  const char *bad = NULL;
  FILE *file = fopen(path, "r");
  int number = 0;
  if (!file) return fail(path, strerror(errno));
  while (!bad && fgets(line, sizeof line, file)) {
    bool found = false;
    number++;
    if (*count == MOST_SAMPLES)
      bad = "more than 2000000 samples";
    else if (!strchr(line, '\n') && !feof(file))
      bad = "the line is too long";
    else
      bad = read_line(line, &samples[*count], &found);
    *count += !bad && found;
  }
  const int code = ferror(file) ? errno : 0;
  fclose(file);
  if (!bad && code) return fail(path, strerror(code));
  snprintf(why, sizeof why, "%s:%d: %s", path, number, bad ? bad : "");
  return bad ? fail(why, "") : 0;
}
/* The median of each size counts. */
static int keep_medians(sample *s, int count) {
  qsort(s, (size_t)count, sizeof *s, by_routine_size_time);
  for (int i = 0, end; i < count; i = end) {
    points *p = &of[s[i].routine];
    for (end = i; end < count && s[end].routine == s[i].routine && s[end].bytes == s[i].bytes;)
      end++;
    if (p->count == SIZES) return fail(routines[s[i].routine], "more than 128 sizes");
    p->bytes[p->count] = s[i].bytes;
    p->ns[p->count++] = (s[(i + end - 1) / 2].ns + s[(i + end) / 2].ns) / 2;
  }
  return count ? 0
               : fail("no samples of put_nbi full, put_nbi post, get_nbi full, get_nbi post", "");
}
static int read_samples(char **paths, int count) {
  sample *samples = (sample *)malloc(MOST_SAMPLES * sizeof *samples);
  int found = 0, bad = samples ? 0 : fail("no memory", "");
  for (int i = 0; i < count && !bad; i++) bad = read_file(paths[i], samples, &found);
  if (!bad) bad = keep_medians(samples, found);
  free(samples);
  return bad;
}

/* ---- what the model takes ---------------------------------------------------------------------------- */
static unsigned char *memory[2];
static ptl_handle_ct_t ct;
static ptl_size_t done; /* operations that ct has counted */
static double batch_ns(ptl_handle_md_t md, bool is_get, uint64_t bytes, int count) {
  const int64_t t_ns = pm_now_ns();
  ptl_ct_event_t value;
  for (int i = 0; i < count; i++)
    if (is_get)
      PtlGet(md, 0, bytes, pm_process_id(1), 0, 0, 0, NULL);
    else
      PtlPut(md, 0, bytes, PTL_CT_ACK_REQ, pm_process_id(1), 0, 0, 0, NULL, 0);
  if (PtlCTWait(ct, done += (ptl_size_t)count, &value) || value.failure)
    pm_world_fail(pm_world_of(pm_self()), PM_E_PORTALS, "an operation failed");
  const double ns = (double)(pm_now_ns() - t_ns);
  pm_sleep_ns(100000); /* until all is at rest */
  return ns;
}
static void body(void *unused) {
  const int me = pm_rank();
  ptl_handle_ni_t ni;
  ptl_handle_md_t md;
  ptl_handle_le_t entry;
  ptl_pt_index_t pt;
  (void)unused;
  PtlInit();
  PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni);
  ptl_handle_ct_t mine;
  PtlCTAlloc(ni, &mine), PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt);
  const ptl_le_t le = {memory[me], (ptl_size_t)most_bytes, PTL_CT_NONE, PTL_UID_ANY,
                       PTL_LE_OP_PUT | PTL_LE_OP_GET};
  const ptl_md_t all = {memory[me], (ptl_size_t)most_bytes,
                        PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, mine};
  PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &entry), PtlMDBind(ni, &all, &md);
  pm_barrier();
  if (me == 0) ct = mine, done = 0;
  for (int r = 0; r < ROUTINES && me == 0; r++)
    for (int i = 0; i < of[r].count; i++) {
      const bool is_get = r >= GET_FULL;
      const double one_ns = batch_ns(md, is_get, of[r].bytes[i], 1);
      of[r].model_ns[i] =
          r == PUT_FULL || r == GET_FULL
              ? one_ns
              : (batch_ns(md, is_get, of[r].bytes[i], POSTS) - one_ns) / (POSTS - 1);
    }
  pm_barrier();
  PtlNIFini(ni), PtlFini();
}
/* Fills model_ns. */
static bool simulate(const pm_platform *platform) {
  pm_platform p = *platform;
  pm_world_desc desc;
  pm_world *world;
  memset(&desc, 0, sizeof desc);
  p.procs_per_node_count = 1;
  desc.platform = &p, desc.no_data = 1;
  pm_status status = pm_world_create(&desc, &world);
  if (status) return fail("the platform", pm_status_text(status)), false;
  status = pm_spawn(world, 0, body, NULL, NULL);
  if (!status) status = pm_spawn(world, 1, body, NULL, NULL);
  if (!status) status = pm_world_run(world);
  if (status) fail("the simulation", pm_world_error(world));
  pm_world_destroy(world);
  return status == PM_OK;
}

/* ---- the fit ----------------------------------------------------------------------------------------- */
typedef struct key {
  const char *name;
  int64_t *whole; /* one of the two */
  double *real;
  bool is_fitted;
  double off_ratio; /* what samples that are off move it by */
} key;
static pm_platform fitted;
static key keys[KEYS];
static void name_keys(void) {
#define WHOLE(name)                                                                                \
  { #name, &fitted.name, NULL, false, 0 }
#define REAL(name)                                                                                 \
  { #name, NULL, &fitted.name, false, 0 }
  const key all[KEYS] = {WHOLE(wire_latency_ns), WHOLE(pci_latency_ns),  WHOLE(nic_put_ns),
                         WHOLE(nic_get_ns),      WHOLE(nic_response_ns), REAL(pio_bytes_per_s),
                         REAL(link_bytes_per_s), WHOLE(cpu_command_ns),  REAL(pci_flow_bytes_per_s),
                         WHOLE(command_bytes),   WHOLE(event_bytes),     WHOLE(ack_bytes)};
#undef WHOLE
#undef REAL
  memcpy(keys, all, sizeof keys);
}
static double key_get(const key *k) { return k->whole ? (double)*k->whole : *k->real; }
static void key_set(const key *k, double x) {
  if (k->whole)
    *k->whole = (int64_t)fmin(fmax(floor(x + 0.5), 1), 1e9);
  else
    *k->real = fmin(fmax(x, 1e5), 1e13);
}
static int residuals(double *r) { /* log of model over measured; -1: no simulation */
  int n = 0;
  if (!simulate(&fitted)) return -1;
  for (int k = 0; k < ROUTINES; k++)
    for (int i = 0; i < of[k].count; i++) r[n++] = log(fmax(of[k].model_ns[i], 0.5) / of[k].ns[i]);
  return n;
}
static double squares(const double *r, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += r[i] * r[i];
  return sum;
}
/* a x = b by elimination with the largest pivots; a is lost. */
static void solve(double a[KEYS][KEYS], double *b, int n) {
  for (int c = 0; c < n; c++) {
    int best = c;
    for (int i = c + 1; i < n; i++)
      if (fabs(a[i][c]) > fabs(a[best][c])) best = i;
    for (int j = 0; j < n; j++) {
      const double t = a[c][j];
      a[c][j] = a[best][j], a[best][j] = t;
    }
    const double t = b[c];
    b[c] = b[best], b[best] = t;
    for (int i = 0; i < n; i++) {
      const double factor = i == c ? 0 : a[i][c] / a[c][c];
      for (int j = c; j < n && i != c; j++) a[i][j] -= factor * a[c][j];
      b[i] -= factor * b[c];
    }
  }
  for (int c = 0; c < n; c++) b[c] /= a[c][c];
}
static double at[KEYS][ROUTINES * SIZES]; /* how residuals move with the logarithm of each key */
/* Steps of several ns, since whole numbers are simulated. */
static bool slopes(key *const *k, int n, const double *r) {
  for (int j = 0; j < n; j++) {
    const double was = key_get(k[j]);
    static double moved[ROUTINES * SIZES];
    key_set(k[j], k[j]->whole ? was + fmax(4, 0.05 * was) : 1.03 * was);
    const double d = log(key_get(k[j]) / was);
    const int m = residuals(moved);
    key_set(k[j], was);
    if (m < 0) return false;
    for (int i = 0; i < m; i++) at[j][i] = (moved[i] - r[i]) / d;
  }
  return true;
}
static void normal(double a[KEYS][KEYS], double *b, const double *r, int n, int m, double damp) {
  for (int i = 0; i < n; i++) {
    b[i] = 0;
    for (int j = 0; j < n; j++) {
      a[i][j] = 0;
      for (int p = 0; p < m; p++) a[i][j] += at[i][p] * at[j][p];
    }
    for (int p = 0; p < m; p++) b[i] -= at[i][p] * r[p];
    a[i][i] += damp * a[i][i] + 1e-9;
  }
}
/* By how much of its value each key moves when samples are off. */
static void uncertain(key *const *k, int n, int m, double sum) {
  const double off = fmax(0.01, sqrt(sum / fmax(1, m - n)));
  for (int j = 0; j < n; j++) {
    double a[KEYS][KEYS], b[KEYS];
    static const double none[ROUTINES * SIZES];
    normal(a, b, none, n, m, 0);
    for (int i = 0; i < n; i++) b[i] = i == j;
    solve(a, b, n);
    k[j]->off_ratio = off * sqrt(fmax(b[j], 0));
  }
}
/* Levenberg and Marquardt on the logarithms, from what the keys are. *sum: what is left; false: the simulation failed. */
static bool descend(key *const *k, int n, double *left) {
  static double r[ROUTINES * SIZES], next[ROUTINES * SIZES];
  double damp = 1e-2, was[KEYS], a[KEYS][KEYS], b[KEYS];
  const int m = residuals(r);
  if (m < 0) return false;
  double sum = squares(r, m);
  for (int round = 0, idle = 0; round < 60 && idle < 3; round++) {
    double better = 0;
    if (!slopes(k, n, r)) return false;
    for (int t = 0; t < 8 && better <= 0; t++) {
      normal(a, b, r, n, m, damp);
      solve(a, b, n);
      for (int j = 0; j < n; j++) {
        was[j] = key_get(k[j]);
        key_set(k[j], was[j] * exp(fmin(fmax(b[j], -0.7), 0.7)));
      }
      if (residuals(next) < 0) return false;
      better = sum - squares(next, m);
      if (better > 0)
        memcpy(r, next, sizeof r), damp = fmax(damp / 5, 1e-7);
      else {
        for (int j = 0; j < n; j++) key_set(k[j], was[j]);
        damp *= 5;
      }
    }
    idle = better > 1e-3 * sum ? 0 : idle + 1;
    if (better > 0) sum -= better;
    if (better <= 0) break;
  }
  *left = sum;
  return true;
}
/* One key after the other, up or down, by ever smaller steps: the model's maxima leave corners where slopes of all
   keys together lead nowhere. */
static bool walk(key *const *k, int n, double *left) {
  static double r[ROUTINES * SIZES];
  for (double step = 0.6; step > 0.004; step *= 0.6)
    for (int j = 0; j < n; j++)
      for (int sign = -1; sign <= 1; sign += 2) {
        const double was = key_get(k[j]), delta = k[j]->whole ? fmax(1, step * was) : step * was;
        key_set(k[j], sign > 0 ? was + delta : was / (1 + step));
        const int m = key_get(k[j]) < was || key_get(k[j]) > was ? residuals(r) : 0;
        if (m < 0) return false;
        const double sum = m ? squares(r, m) : *left;
        if (sum < *left)
          *left = sum;
        else
          key_set(k[j], was);
      }
  return true;
}
static bool fit(void) {
  static double r[ROUTINES * SIZES];
  key *k[KEYS];
  double sum = 0, before = HUGE_VAL;
  int n = 0;
  for (int i = 0; i < KEYS; i++)
    if (keys[i].is_fitted) k[n++] = &keys[i];
  if (!descend(k, n, &sum)) return false;
  for (int round = 0; round < 12 && sum < 0.98 * before; round++) {
    before = sum;
    if (!walk(k, n, &sum) || !descend(k, n, &sum)) return false;
  }
  const int m = residuals(r);
  if (m < 0 || !slopes(k, n, r) || residuals(r) < 0) return false;
  uncertain(k, n, m, sum);
  return true;
}

/* ---- what is shown ------------------------------------------------------------------------------------ */
static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static void print_fit(FILE *out, const char *before) {
  for (int i = 0; i < KEYS; i++) {
    if (!keys[i].is_fitted) continue;
    fprintf(out, "%s%-22s %14.6g", before, keys[i].name, key_get(&keys[i]));
    if (keys[i].off_ratio > 0.5)
      fprintf(out, "  not told by these samples\n");
    else
      fprintf(out, "  +- %.1f %%\n", 100 * keys[i].off_ratio);
  }
  for (int r = 0; r < ROUTINES; r++) {
    double off[SIZES];
    int worst = 0;
    const points *p = &of[r];
    for (int i = 0; i < p->count; i++) {
      off[i] = fabs(p->model_ns[i] / p->ns[i] - 1);
      if (off[i] > off[worst]) worst = i;
    }
    if (!p->count) continue;
    fprintf(out, "%s%-14s %3d sizes, residual: worst %+.1f %% at %llu B", before, routines[r],
            p->count, 100 * (p->model_ns[worst] / p->ns[worst] - 1),
            (unsigned long long)p->bytes[worst]);
    qsort(off, (size_t)p->count, sizeof *off, by_size);
    fprintf(out, ", median %.1f %%\n", 100 * off[p->count / 2]);
  }
}
static int write_platform(void) {
  FILE *out = output_create(given.output);
  if (!out) return 1;
  fprintf(
      out,
      "# NIC, PCI and wire fitted by fit_nic to measured puts and gets: model over measured.\n");
  print_fit(out, "# ");
  const bool good = pm_platform_write(&fitted, out) == PM_OK;
  return output_close(out, given.output) && good ? 0 : 1;
}
static void draw_routine(FILE *out, int r) {
  const points *p = &of[r];
  const double left = 60 + r % 2 * 470, top = 40 + r / 2 * 380;
  double x_hi = 2, y_lo = INFINITY, y_hi = 0, x[SIZES], y[SIZES], off[SIZES];
  for (int i = 0; i < p->count; i++) {
    x[i] = fmax(1, (double)p->bytes[i]), y[i] = p->model_ns[i] * 1e-3;
    off[i] = p->model_ns[i] / p->ns[i] - 1;
    x_hi = fmax(x_hi, x[i]);
    y_lo = fmin(y_lo, fmin(y[i], p->ns[i] * 1e-3)), y_hi = fmax(y_hi, fmax(y[i], p->ns[i] * 1e-3));
  }
  if (!p->count) return;
  const plot t = {out,  left,       top,        390,        190,         1,
                  x_hi, y_lo * 0.9, y_hi * 1.1, PLOT_BYTES, PLOT_DECADES},
             d = {out, left, top + 240, 390, 60, 1, x_hi, -0.5, 0.5, PLOT_BYTES, PLOT_LINEAR};
  plot_axes(&t, routines[r], "", "us");
  plot_axes(&d, "model / measured - 1", "bytes", "");
  for (int i = 0; i < p->count; i++) plot_point(&t, x[i], p->ns[i] * 1e-3, "#c0392b");
  plot_line(&t, x, y, p->count, plot_colours[0], "");
  plot_line(&d, x, off, p->count, plot_colours[0], "");
  plot_key(&t, 0, "#c0392b", "2 4", "measured"), plot_key(&t, 1, plot_colours[0], "", "simulated");
}
static int draw(void) {
  FILE *out = output_create(given.picture);
  if (!out) return 1;
  plot_begin(out, "NIC, PCI and wire: measured and simulated", 960, 800);
  for (int r = 0; r < ROUTINES; r++) draw_routine(out, r);
  plot_end_chart(out);
  fprintf(out, "<pre>\n");
  print_fit(out, "");
  fprintf(out, "</pre>\n");
  plot_end(out);
  return output_close(out, given.picture) ? 0 : 1;
}

/* ---- the command --------------------------------------------------------------------------------------- */
static bool choose_keys(void) {
  char text[512], *rest = text;
  for (int i = 0; i < USUAL && !given.keys; i++) keys[i].is_fitted = true;
  if (!given.keys) return true;
  snprintf(text, sizeof text, "%s", given.keys);
  for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    int i = 0;
    while (i < KEYS && strcmp(keys[i].name, name) != 0) i++;
    if (i == KEYS) return fail(name, "no key that can be fitted (--keys)"), false;
    if (!(key_get(&keys[i]) > 0))
      return fail(name, "is 0 in the platform: nothing to begin with"), false;
    keys[i].is_fitted = true;
  }
  return true;
}
static int write_simulated(void) {
  for (int r = 0; r < ROUTINES; r++)
    for (uint64_t bytes = 1; bytes <= most_bytes; bytes *= 2) {
      of[r].bytes[of[r].count++] = bytes;
      if (bytes > 1 && bytes * 3 / 2 <= most_bytes) of[r].bytes[of[r].count++] = bytes * 3 / 2;
    }
  if (!simulate(&fitted)) return 1;
  FILE *out = output_create(given.simulate);
  if (!out) return 1;
  fprintf(out, "# bytes seconds routine, of the model\n");
  for (int r = 0; r < ROUTINES; r++)
    for (int i = 0; i < of[r].count; i++)
      fprintf(out, "%llu %.9e %s\n", (unsigned long long)of[r].bytes[i], of[r].model_ns[i] * 1e-9,
              routines[r]);
  return output_close(out, given.simulate) ? 0 : 1;
}
static int measure_tcp(const char *path) {
  char host[256];
  const char *colon = strrchr(given.tcp, ':');
  uint16_t port = 0;
  pid_t child = 0;
  int fd = -1, listening = -1;
  if (strcmp(given.tcp, "here") == 0) {
    if ((listening = tcp_listen(&port)) < 0 || (child = fork()) < 0) return tcp_fail("--tcp");
    if (child == 0) _exit(tcp_serve(listening, most_bytes));
    close(listening);
    char text[8];
    snprintf(text, sizeof text, "%d", port);
    fd = tcp_connect("127.0.0.1", text);
  } else if (colon && (size_t)(colon - given.tcp) < sizeof host && atol(colon + 1) <= 65535) {
    snprintf(host, sizeof host, "%.*s", (int)(colon - given.tcp), given.tcp);
    fd = tcp_connect(host, colon + 1);
  } else
    return fail("--tcp: HOST:PORT or here", given.tcp);
  char *data = (char *)calloc(1, (size_t)most_bytes);
  FILE *out = fd < 0 || !data ? NULL : output_create(path);
  int bad = fd < 0 ? tcp_fail(given.tcp) : out ? 0 : 1;
  if (out) {
    tcp_at_once(fd);
    if (!tcp_measure(fd, most_bytes, data, out)) bad = tcp_fail(given.tcp);
    if (!output_close(out, path)) bad = 1;
  }
  if (fd >= 0) close(fd);
  if (child && fd < 0) kill(child, SIGTERM); /* nobody will come to it */
  if (child) waitpid(child, NULL, 0);
  free(data);
  return bad;
}
static int serve(void) {
  uint16_t port = (uint16_t)given.port;
  const int listening = tcp_listen(&port);
  return listening < 0 ? tcp_fail("--tcp-serve") : tcp_serve(listening, most_bytes);
}
static const option options[] = {
    {"--platform", "FILE", "what the fit begins with, and keeps of what is not fitted (a bxi2)",
     .text = &given.platform},
    {"--keys", "KEY,...",
     "what is fitted (wire_latency_ns,pci_latency_ns,nic_put_ns,nic_get_ns, "
     "nic_response_ns,pio_bytes_per_s,link_bytes_per_s); also cpu_command_ns, "
     "pci_flow_bytes_per_s, command_bytes, event_bytes, ack_bytes",
     .text = &given.keys},
    {"--output", "FILE",
     "the platform with the fitted constants, for pm_run; residuals as comments",
     .text = &given.output},
    {"--picture", "FILE", "a page: measured and simulated times, residuals",
     .text = &given.picture},
    {"--max-bytes", "N", "largest message that is used or made (1048576)", .whole = &most_bytes,
     .range = {1, 1 << 30}},
    {"--simulate", "RAW", "writes what the model takes, as samples", .text = &given.simulate},
    {"--tcp", "HOST:PORT", "measures over TCP; here: with a child on this host",
     .text = &given.tcp},
    {"--tcp-serve", "PORT", "the other side", .whole = &given.port, .range = {1, 65535}},
    {0}};
static const command_line command = {
    "usage: fit_nic [--platform FILE] [--keys KEY,...] [--output FILE] [--picture FILE] "
    "[--max-bytes N] SAMPLES...\n"
    "       fit_nic --simulate RAW [--platform FILE] [--max-bytes N]\n"
    "       fit_nic --tcp HOST:PORT|here [--max-bytes N] RAW\n"
    "       fit_nic --tcp-serve PORT [--max-bytes N]\n"
    "Fits the constants of a platform's NIC, PCI and wire to measured puts and gets.\n"
    "SAMPLES hold lines \"bytes seconds routine\", as bench_rma --raw and fit_nic --tcp write "
    "them.\n",
    options, "Exit status: 0 done; 1 something was not written; 2 bad arguments or input.\n"};
/* ret 2, or -1 to go on; files: how many, from argv[1] on */
static int read_arguments(int argc, char **argv, int *files) {
  *files = options_read(&command, argc, argv);
  const int ways = !!given.simulate + !!given.tcp + !!given.port;
  if (ways > 1) return fail("--simulate, --tcp, --tcp-serve", "one of them");
  if (*files != (given.tcp ? 1 : 0) && (given.tcp || ways))
    return fail(given.tcp ? "--tcp" : "this",
                given.tcp ? "needs one file to write" : "takes no samples");
  if (!ways && !*files) return fail("no samples", "(--help)");
  return -1;
}
int main(int argc, char **argv) {
  char error[256];
  int files = 0;
  output_begin("fit_nic");
  int bad = read_arguments(argc, argv, &files);
  if (bad >= 0) return bad;
  if (given.tcp) return measure_tcp(argv[1]);
  if (given.port) return serve();
  fitted = pm_platform_bxi2(2);
  if (given.platform && pm_platform_load(given.platform, &fitted, error, sizeof error))
    return fail(error, "");
  name_keys();
  if (!choose_keys()) return 2;
  for (int i = 0; i < 2; i++) memory[i] = (unsigned char *)calloc(1, (size_t)most_bytes);
  bad = !memory[0] || !memory[1] ? fail("no memory", "") : 0;
  if (!bad && given.simulate)
    bad = write_simulated();
  else if (!bad && !(bad = read_samples(argv + 1, files)))
    bad = fit() ? 0 : 1;
  if (!bad && !given.simulate) {
    print_fit(stdout, "");
    if (given.output) bad = write_platform();
    if (given.picture && draw()) bad = 1;
  }
  free(memory[0]), free(memory[1]);
  pm_platform_free(&fitted);
  return bad;
}
