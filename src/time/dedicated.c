/* dedicated.c: the dedicated-core model: would a core of its own for communication pay? */
#include "dedicated.h"
#include "../base/locale.h"
#include "../base/text.h"
#include "../overlap/cells.h"

/* ============================================================================================== */
/* [DEDICATED] 22. The dedicated-core model                                                       */
/* ============================================================================================== */
typedef struct nbc__ded_field {
  const char *name;
  size_t offset_bytes;
} nbc__ded_field;
#define NBC__DED_FIELD(field)                                                                      \
  { #field, offsetof(nbc_dedicated_input, field) }
/* One list for who checks and who reads a file, so that what is added to it is in both. */
static const nbc__ded_field nbc__ded_fields[] =
    {/* all >= 0 */
     NBC__DED_FIELD(noprog_s),   NBC__DED_FIELD(comp_s),     NBC__DED_FIELD(nb_count),
     NBC__DED_FIELD(min_nb_s),   NBC__DED_FIELD(test_count), NBC__DED_FIELD(min_test_s),
     NBC__DED_FIELD(wait_count), NBC__DED_FIELD(min_wait_s), NBC__DED_FIELD(blocking_count),
     NBC__DED_FIELD(blocking_s), NBC__DED_FIELD(other_s),    NBC__DED_FIELD(alpha_ratio),
     NBC__DED_FIELD(waited_s),   NBC__DED_FIELD(visible_s)};
enum { NBC__DED_FIELDS = sizeof nbc__ded_fields / sizeof *nbc__ded_fields };

static double *nbc__ded_at(nbc_dedicated_input *input, int i) {
  return (double *)(void *)((char *)input + nbc__ded_fields[i].offset_bytes);
}

static nbc_status nbc__ded_check(const nbc_dedicated_input *in, nbc_error *err) {
  nbc_dedicated_input *const fields = (nbc_dedicated_input *)(uintptr_t)in; /* only read */
  for (int i = 0; i < NBC__DED_FIELDS; i++) {
    const double v = *nbc__ded_at(fields, i);
    /* Not "v < 0": a NaN fails every comparison, so it is refused here as well. */
    if (!(v >= 0) || !(v < 1e300))
      return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: must be >= 0, got %g",
                              nbc__ded_fields[i].name, v);
  }
  if (in->core_count < 2)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "core_count: must be >= 2, got %d",
                            in->core_count);
  if (in->alpha_ratio > 1)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "alpha_ratio: must be in 0..1, got %g",
                            in->alpha_ratio);
  if (in->scaling_size > NBC_DEDICATED_MAX_SCALING || in->request_size > NBC_DEDICATED_MAX_REQUESTS)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "scaling_size or request_size: more than the array holds");
  for (size_t i = 0; i < in->scaling_size; i++)
    if (in->scaling_threads[i] < 1 || !(in->scaling_s[i] > 0) ||
        (i && in->scaling_threads[i] <= in->scaling_threads[i - 1]))
      return nbc__status_fail(err, NBC_E_RANGE, 0,
                              "scaling: threads must ascend, times be > 0 (entry %zu)", i + 1);
  for (size_t i = 0; i < in->request_size; i++)
    if (!(in->requests[i].request_count >= 0) || !(in->requests[i].xfer_s >= 0) ||
        !(in->requests[i].comp_s >= 0))
      return nbc__status_fail(err, NBC_E_RANGE, 0, "request %zu: must be >= 0", i + 1);
  return NBC_OK;
}

/* Speeds and not times: where computation scales, speed is a straight line over threads, while the
   time c / n lies below each chord of its curve: a time between two entries would be too long.
   A list that ends at N - 1 or below, or begins at N or above, says nothing of a missing thread:
   the factor is 1 then, H3 fails, and so it shows. */
/* Time on n threads from the list: speeds are interpolated, outside the list they stay as at its
   end. */
static double nbc__ded_scaled_s(const nbc_dedicated_input *in, int n) {
  size_t i = 0;
  while (i < in->scaling_size && in->scaling_threads[i] < n) i++;
  if (i == in->scaling_size) return in->scaling_s[i - 1];
  if (i == 0 || in->scaling_threads[i] == n) return in->scaling_s[i];
  const double a = in->scaling_threads[i - 1], b = in->scaling_threads[i];
  const double speed_a = 1 / in->scaling_s[i - 1], speed_b = 1 / in->scaling_s[i];
  return 1 / (speed_a + (speed_b - speed_a) * (n - a) / (b - a));
}

/* H3: on N - 1 of N cores a computation takes N / (N - 1) times as long.
   Held, when what was measured is off by no more than half of what the missing core costs; else the
   refined mode takes the measured factor. */
/* [R §6.1.2] takes linear scaling as the worst case: where threads scale badly, one less costs
   less, and may even make the computation faster. There the plain formula is too careful. */
static void nbc__ded_scaling(const nbc_dedicated_input *in, bool refined,
                             nbc_dedicated_result *out) {
  const double linear = (double)in->core_count / (in->core_count - 1);
  out->comp_s = in->comp_s * linear;
  if (!in->scaling_size) {
    snprintf(out->evidence[2], sizeof out->evidence[2],
             "no times for other numbers of threads are given");
    return;
  }
  const double measured =
      nbc__ded_scaled_s(in, in->core_count - 1) / nbc__ded_scaled_s(in, in->core_count);
  out->holds[2] =
      fabs(measured - linear) <= 0.5 * (linear - 1) ? NBC_DEDICATED_HOLDS : NBC_DEDICATED_FAILS;
  snprintf(out->evidence[2], sizeof out->evidence[2],
           "%d instead of %d threads take %.4g times as long; linear scaling: %.4g",
           in->core_count - 1, in->core_count, measured, linear);
  if (refined) out->comp_s = in->comp_s * measured;
}

/* H1: behind each transfer there is computation enough, so that a wait only costs its
   call. It holds while what stays visible is below 1 % of the computation. The refined mode adds
   that. The classes may have come from fewer or more waits than wait_count: t_min_wait is paid for
   each wait, and what exceeds it for each transfer. */
/* Why it matters [R §6.3]: NAS BT-MZ computes nothing between post and wait, and for its class D on
   128 nodes the formula gives a speed-up above 3 where 0.96 was measured.

     post             wait                 end of transfer
      |---- comp_s ----|------ left_s ------|
                       |min_wait_s| beyond_s|     the first per wait, the second per transfer */
static void nbc__ded_waits(const nbc_dedicated_input *in, bool refined, nbc_dedicated_result *out) {
  double exposed_s = 0, short_count = 0, all_count = 0, beyond_s = 0;
  out->wait_s = in->wait_count * in->min_wait_s;
  if (!in->request_size) {
    snprintf(out->evidence[0], sizeof out->evidence[0],
             "computation between post and wait was not measured");
    return;
  }
  for (size_t i = 0; i < in->request_size; i++) {
    const nbc_dedicated_request *const r = &in->requests[i];
    const double left_s = r->xfer_s - r->comp_s;
    all_count += r->request_count;
    if (left_s <= 0) continue;
    short_count += r->request_count;
    exposed_s += r->request_count * left_s;
    if (left_s > in->min_wait_s) beyond_s += r->request_count * (left_s - in->min_wait_s);
  }
  out->holds[0] = exposed_s <= 0.01 * in->comp_s ? NBC_DEDICATED_HOLDS : NBC_DEDICATED_FAILS;
  snprintf(out->evidence[0], sizeof out->evidence[0],
           "%.3g of %.3g transfers have less computation before their wait than they take: %.3g s "
           "stay visible",
           short_count, all_count, exposed_s);
  if (refined) out->wait_s += beyond_s;
}

NBC_API nbc_status nbc_dedicated_predict(const nbc_dedicated_input *input, bool refined,
                                         nbc_dedicated_result *result, nbc_error *err) {
  if (!input || !result)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "input and result: must not be NULL");
  const nbc_status status = nbc__ded_check(input, err);
  memset(result, 0, sizeof *result);
  if (status) return status;
  const locale_t before = nbc__locale_begin();
  nbc__ded_scaling(input, refined, result);
  nbc__ded_waits(input, refined, result);
  /* H2: without the core nothing moves outside of calls, so there is all to win */
  if (input->progressed_ratio < 0)
    snprintf(result->evidence[1], sizeof result->evidence[1],
             "overlap without the dedicated core was not measured");
  else {
    result->holds[1] = input->progressed_ratio <= 0.1 ? NBC_DEDICATED_HOLDS : NBC_DEDICATED_FAILS;
    snprintf(result->evidence[1], sizeof result->evidence[1],
             "%.1f %% of the transfer time is hidden already without it",
             100 * input->progressed_ratio);
  }
  nbc__locale_end(before);
  const double alpha = input->alpha_ratio;
  /* [R eq. 6.1], term by term. [R §6.2]: blocking calls that stay blocking are priced as measured,
     though part of that time may have been progress of others, which the core would take over. */
  result->nb_s = input->nb_count * input->min_nb_s;
  result->test_s = input->test_count * input->min_test_s;
  result->turned_s = alpha * input->blocking_count * (input->min_nb_s + input->min_wait_s);
  result->blocking_s = (1 - alpha) * input->blocking_s;
  result->other_s = input->other_s;
  result->total_s = result->comp_s + result->nb_s + result->test_s + result->wait_s +
                    result->turned_s + result->blocking_s + result->other_s;
  /* Waiting that neither the transfers nor the calls themselves explain: for ranks that were late.
     The interval of the speed-up goes from all of it staying to all of it ending. */
  result->others_s =
      fmax(0, input->waited_s - input->visible_s - input->wait_count * input->min_wait_s -
                  input->test_count * input->min_test_s);
  if (input->noprog_s > 0 && result->total_s > 0) {
    result->speedup_ratio = input->noprog_s / result->total_s;
    result->least_speedup_ratio = input->noprog_s / (result->total_s + result->others_s);
  }
  return NBC_OK;
}

/* ---- input --------------------------------------------------------------------------------- */
static void nbc__ded_clear(nbc_dedicated_input *in, const char *name) {
  memset(in, 0, sizeof *in);
  snprintf(in->name, sizeof in->name, "%s", name ? name : "");
  in->progressed_ratio = -1;
}

/* n calls of one kind, in total and the shortest. */
/* [R §6.2]: the shortest call seen stands for one without progress. That rests on at least one call
   of its kind having met a request that was over already. */
static void nbc__ded_calls(nbc_dedicated_input *in, nbc_category category, double n, double total_s,
                           double min_s) {
  double *count = NULL, *least_s = NULL;
  if (n <= 0) return;
  switch (category) {
  case NBC_CATEGORY_NONBLOCKING: count = &in->nb_count, least_s = &in->min_nb_s; break;
  case NBC_CATEGORY_TEST: count = &in->test_count, least_s = &in->min_test_s; break;
  case NBC_CATEGORY_WAIT: count = &in->wait_count, least_s = &in->min_wait_s; break;
  case NBC_CATEGORY_BLOCKING: in->blocking_count += n, in->blocking_s += total_s; return;
  default: in->other_s += total_s; return;
  }
  if (*count <= 0 || min_s < *least_s) *least_s = min_s;
  *count += n;
}

/* A report can hold more classes than there is room for; the last place then holds their mean. What
   stays visible, max(0, xfer - comp), is convex, so a mean shows at most as much of it as its
   classes do: the wait may come out too short, never too long. */
static void nbc__ded_add_request(nbc_dedicated_input *in, double n, double xfer_s, double comp_s) {
  if (n <= 0) return;
  if (in->request_size < NBC_DEDICATED_MAX_REQUESTS) {
    nbc_dedicated_request *const r = &in->requests[in->request_size++];
    r->request_count = n, r->xfer_s = xfer_s, r->comp_s = comp_s;
    return;
  }
  nbc_dedicated_request *const last =
      &in->requests[NBC_DEDICATED_MAX_REQUESTS - 1]; /* full: mean of the rest */
  const double all = last->request_count + n;
  last->xfer_s = (last->xfer_s * last->request_count + xfer_s * n) / all;
  last->comp_s = (last->comp_s * last->request_count + comp_s * n) / all;
  last->request_count = all;
}

NBC_API void nbc_dedicated_from_report(const nbc_report *report, nbc_dedicated_input *input) {
  if (!report || !input) return;
  const double processes = report->process_count > 0 ? report->process_count : 1;
  nbc__ded_clear(input, report->program);
  input->noprog_s = (double)report->wall_ns * 1e-9 / processes;
  input->comp_s = (double)report->comp_ns * 1e-9 / processes;
  for (size_t i = 0; i < report->call_count; i++) {
    const nbc_call *const c = &report->calls[i];
    nbc__ded_calls(input, nbc_kind_category(c->kind), (double)c->count / processes,
                   (double)c->total_ns * 1e-9 / processes, (double)c->min_ns * 1e-9);
    if (nbc_kind_category(c->kind) == NBC_CATEGORY_WAIT ||
        nbc_kind_category(c->kind) == NBC_CATEGORY_TEST)
      input->waited_s += (double)c->total_ns * 1e-9 / processes;
  }
  /* What is certainly hidden. So H2 fails only where overlap is proved. */
  if (report->total.xfer_ns > 0)
    input->progressed_ratio = (double)report->total.min_overlap_ns / (double)report->total.xfer_ns;
  for (size_t i = 0; i < report->cell_count; i++) {
    const nbc_cell *const c = &report->cells[i];
    if (!c->t.count || nbc_kind_category(c->kind) != NBC_CATEGORY_NONBLOCKING) continue;
    const double xfer_s = (double)c->t.xfer_ns * 1e-9 / (double)c->t.count;
    input->visible_s += (double)(c->t.xfer_ns - c->t.min_overlap_ns) * 1e-9 / processes;
    /* Cases 1 and 2 only: of a transfer with one stamp, nobody knows what was computed before. */
    for (int bin = 0; bin < NBC_HIST_BINS; bin++) /* middle of [2^(bin-1), 2^bin) ns */
      nbc__ded_add_request(input, (double)c->available_count[bin] / processes, xfer_s,
                           bin ? 0.75e-9 * ldexp(1, bin) : 0);
    nbc__ded_add_request(input, (double)c->t.case_count[0] / processes, xfer_s,
                         0); /* posted and waited for in one call */
  }
}

/* One line after the other, without its end, as a terminated string. ret false: no more */
typedef struct nbc__ded_lines {
  const char *text;
  size_t text_bytes, at;
  int number;
  char line[512];
} nbc__ded_lines;

/* A NUL becomes a '?': as a NUL it would hide the rest of its line, and a damaged file would pass
   for a whole one. What of a line is beyond 511 characters is left out. */
static bool nbc__ded_line(nbc__ded_lines *l) {
  size_t n = 0;
  if (l->at >= l->text_bytes) return false;
  for (; l->at < l->text_bytes && l->text[l->at] != '\n'; l->at++)
    if (n + 1 < sizeof l->line) l->line[n++] = l->text[l->at] ? l->text[l->at] : '?';
  l->at++;
  l->number++;
  if (n && l->line[n - 1] == '\r') n--;
  l->line[n] = 0;
  return true;
}

/* A number ends at a blank, at a comment or with the line: "12s" is a mistake, not 12. */
static bool nbc__ded_number(const char **at, double *value) {
  nbc__text_skip_blanks(at);
  const char *const end = nbc__text_number(*at, *at + strlen(*at), value);
  if (!end) return false;
  *at = end;
  return *value >= 0 && *value < 1e300 && (!*end || strchr(" \t#", *end));
}

/* ret NULL, or what is wrong */
static const char *nbc__ded_parse_field(nbc_dedicated_input *in, const char *name, const char *at) {
  double v[3] = {0, 0, 0};
  const int wanted = strcmp(name, "request") == 0 ? 3 : strcmp(name, "scaling") == 0 ? 2 : 1;
  if (strcmp(name, "name") == 0) {
    nbc__text_skip_blanks(&at);
    snprintf(in->name, sizeof in->name, "%.63s", at);
    return NULL;
  }
  for (int i = 0; i < wanted; i++)
    if (!nbc__ded_number(&at, &v[i])) return "number >= 0 wanted";
  nbc__text_skip_blanks(&at);
  if (*at && *at != '#') return "more than is wanted";
  if (wanted == 3) {
    /* A file is refused where a report takes a mean: who wrote it can put classes together. */
    if (in->request_size == NBC_DEDICATED_MAX_REQUESTS) return "too many requests";
    nbc__ded_add_request(in, v[0], v[1], v[2]);
    return NULL;
  }
  if (wanted == 2) {
    if (in->scaling_size == NBC_DEDICATED_MAX_SCALING) return "too many lines of scaling";
    if (v[0] < 1 || v[0] > 1e6) return "threads: must be >= 1";
    in->scaling_threads[in->scaling_size] = (int)v[0];
    in->scaling_s[in->scaling_size++] = v[1];
    return NULL;
  }
  if (strcmp(name, "core_count") == 0) {
    if (v[0] < 2 || v[0] > 1e6) return "must be >= 2";
    in->core_count = (int)v[0];
    return NULL;
  }
  if (strcmp(name, "progressed_ratio") == 0) return in->progressed_ratio = v[0], (const char *)NULL;
  for (int i = 0; i < NBC__DED_FIELDS; i++)
    if (strcmp(name, nbc__ded_fields[i].name) == 0)
      return *nbc__ded_at(in, i) = v[0], (const char *)NULL;
  return "no such field";
}

NBC_API nbc_status nbc_dedicated_parse(const char *text, size_t text_bytes, const char *name,
                                       nbc_dedicated_input *input, nbc_error *err) {
  if (!text || !input)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and input: must not be NULL");
  nbc__ded_lines l;
  memset(&l, 0, sizeof l);
  l.text = text, l.text_bytes = text_bytes;
  nbc__ded_clear(input, name);
  while (nbc__ded_line(&l)) {
    char field[32];
    const char *at = l.line;
    nbc__text_read_word(&at, field);
    if (!*field) continue; /* empty, or a comment */
    for (const char *c = field; *c; c++)
      if (*c < '!' || *c > '~') /* may be no text at all: nothing to print */
        return nbc__status_fail(err, NBC_E_PARSE, l.number, "%s:%d: a line begins with a field",
                                name, l.number);
    const char *const wrong = nbc__ded_parse_field(input, field, at);
    if (wrong)
      return nbc__status_fail(err, NBC_E_PARSE, l.number, "%s:%d: %s: %s", name, l.number, field,
                              wrong);
  }
  return NBC_OK;
}

/* mpiP's names have no "MPI_": "Isend", "Waitall", "Allreduce". The order of the questions counts:
   Iprobe tests, and only what is left with an I in front starts something; but names that set
   something up (Init, Info_create, Intercomm_merge) begin with an I, too. */
static nbc_category nbc__ded_category(const char *name) {
  static const char *const blocking[] = {"Send",
                                         "Recv",
                                         "Ssend",
                                         "Bsend",
                                         "Rsend",
                                         "Sendrecv",
                                         "Sendrecv_replace",
                                         "Probe",
                                         "Barrier",
                                         "Bcast",
                                         "Reduce",
                                         "Allreduce",
                                         "Reduce_scatter",
                                         "Reduce_scatter_block",
                                         "Gather",
                                         "Gatherv",
                                         "Scatter",
                                         "Scatterv",
                                         "Allgather",
                                         "Allgatherv",
                                         "Alltoall",
                                         "Alltoallv",
                                         "Alltoallw",
                                         "Scan",
                                         "Exscan"};
  if (strncmp(name, "Wait", 4) == 0) return NBC_CATEGORY_WAIT;
  if (strncmp(name, "Test", 4) == 0 || strcmp(name, "Iprobe") == 0) return NBC_CATEGORY_TEST;
  if (strncmp(name, "Start", 5) == 0) return NBC_CATEGORY_NONBLOCKING;
  if (name[0] == 'I' && strncmp(name, "Init", 4) != 0 && strncmp(name, "Info", 4) != 0 &&
      strncmp(name, "Intercomm", 9) != 0)
    return NBC_CATEGORY_NONBLOCKING;
  for (size_t i = 0; i < sizeof blocking / sizeof *blocking; i++)
    if (strcmp(name, blocking[i]) == 0) return NBC_CATEGORY_BLOCKING;
  return NBC_CATEGORY_OTHER;
}

/* "@--- MPI Time (seconds)": Task AppTime MPITime MPI%;  "@--- Callsite Time statistics (all,
   milliseconds)": Name Site Rank Count Max Mean Min App% MPI%. Rank or task '*' are sums: left
   out. */
/* All ranks' lines are added up and divided by the number of tasks: the model is of one process.
   mpiP tells nothing of single transfers, so H1 and H2 stay unknown, and others_s stays 0. */
static nbc_status nbc__ded_parse_mpip(const char *text, size_t text_bytes, const char *name,
                                      nbc_dedicated_input *input, nbc_error *err) {
  nbc__ded_lines l;
  enum { OUTSIDE, TIMES, SITES } where = OUTSIDE;
  int tasks = 0, sites = 0;
  double app_s = 0, mpi_s = 0;
  memset(&l, 0, sizeof l);
  l.text = text, l.text_bytes = text_bytes;
  nbc__ded_clear(input, name);
  while (nbc__ded_line(&l)) {
    char word[64], task[16];
    double a, b, c, d, e;
    if (strncmp(l.line, "@---", 4) == 0)
      where = strstr(l.line, "MPI Time (seconds)")         ? TIMES
              : strstr(l.line, "Callsite Time statistics") ? SITES
                                                           : OUTSIDE;
    else if (where == TIMES && sscanf(l.line, "%15s %lf %lf", task, &a, &b) == 3 &&
             task[0] != '*') {
      if (!(a >= 0) || !(b >= 0) || !(b <= a))
        return nbc__status_fail(err, NBC_E_PARSE, l.number,
                                "%s:%d: times must be 0 <= MPI <= application", name, l.number);
      app_s += a, mpi_s += b, tasks++;
    } else if (where == SITES &&
               sscanf(l.line, "%63s %lf %15s %lf %lf %lf %lf", word, &a, task, &b, &c, &d, &e) ==
                   7 &&
               task[0] != '*') {
      if (!(b >= 0) || !(d >= 0) || !(e >= 0))
        return nbc__status_fail(err, NBC_E_PARSE, l.number, "%s:%d: counts and times must be >= 0",
                                name, l.number);
      nbc__ded_calls(input, nbc__ded_category(word), b, b * d * 1e-3, e * 1e-3);
      sites++;
    }
  }
  if (!tasks || !sites)
    return nbc__status_fail(err, NBC_E_PARSE, l.number,
                            "%s: no \"%s\" section: not a report of mpiP, or a short one", name,
                            tasks ? "Callsite Time statistics" : "MPI Time (seconds)");
  input->noprog_s = app_s / tasks;
  input->comp_s = (app_s - mpi_s) / tasks;
  input->nb_count /= tasks, input->test_count /= tasks, input->wait_count /= tasks;
  input->blocking_count /= tasks, input->blocking_s /= tasks, input->other_s /= tasks;
  return NBC_OK;
}

NBC_API nbc_status nbc_dedicated_parse_mpip(const char *text, size_t text_bytes, const char *name,
                                            nbc_dedicated_input *input, nbc_error *err) {
  if (!text || !input)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and input: must not be NULL");
  const locale_t before = nbc__locale_begin();
  const nbc_status status = nbc__ded_parse_mpip(text, text_bytes, name, input, err);
  nbc__locale_end(before);
  return status;
}
