#include "trace.h"
/* ============================================================================================== */
/* [TRACE] 5. Traces: CSV, Chrome JSON, Paje, HTML                                                */
/* ============================================================================================== */
/* One step: id 0 and to_rank -1 where there is no message. */
PM__PRIVATE void pm__record(pm_world *w, int kind, uint64_t id, int from_rank, int to_rank,
                            int64_t t_begin_ps, int64_t t_end_ps, int from_node, int to_node,
                            uint64_t bytes) {
  pm_trace_record *r;
  void *array = w->records;
  if (!w->desc.trace) return;
  if (!pm__grow(&array, &w->records_max, w->record_count + 1, sizeof *r)) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: trace");
    return;
  }
  w->records = (pm_trace_record *)array;
  r = &w->records[w->record_count++];
  memset(r, 0, sizeof *r);
  r->kind = (pm_trace_kind)kind;
  r->t_begin_ns = t_begin_ps / PM__PS;
  r->t_begin_ps = (int)(t_begin_ps % PM__PS);
  r->t_end_ns = t_end_ps / PM__PS;
  r->t_end_ps = (int)(t_end_ps % PM__PS);
  r->from_node = from_node;
  r->to_node = to_node;
  r->size_bytes = bytes;
  r->from_rank = from_rank;
  r->to_rank = to_rank;
  r->id = id;
}
PM__PRIVATE void pm__trace_compute(pm_world *w, int64_t t_begin_ps, int64_t t_end_ps) {
  const pm_process *p = pm__current->proc;
  pm__record(w, PM_TRACE_COMPUTE, 0, p->rank, -1, t_begin_ps, t_end_ps, p->node, p->node, 0);
}
PM_API int64_t pm_trace_call_begin(void) {
  const pm_process *p = pm_self();
  const pm_world *w = p ? pm_world_of(p) : NULL;
  if (!w || !w->desc.trace) return -1;
  if (pm__current->has_steps)
    pm__catch_up(); /* what calls before this one have asked for is theirs */
  return w->now_ps;
}
PM_API void pm_trace_call_end(const char *name, int64_t t_begin_ps) {
  const pm_process *p = pm_self();
  pm_world *w = p ? pm_world_of(p) : NULL;
  int count;
  if (!w || !w->desc.trace || !name || t_begin_ps < 0) return;
  if (pm__current->has_steps) pm__catch_up();
  count = w->record_count;
  pm__record(w, PM_TRACE_CALL, 0, p->rank, -1, t_begin_ps, w->now_ps, p->node, p->node, 0);
  if (w->record_count > count) w->records[count].name = name;
}
PM_API const char *pm_trace_kind_name(pm_trace_kind kind) {
  static const char *const names[] = {
#define PM__X(name) #name,
      PM_TRACE_LIST(PM__X)
#undef PM__X
  };
  return (unsigned)kind < PM_TRACE_LAST ? names[kind] : "?";
}
/* Those that fill a process's track, not its NIC's. */
static bool pm__is_of_process(pm_trace_kind kind) {
  return kind == PM_TRACE_COMPUTE || kind == PM_TRACE_PIO_PAYLOAD || kind == PM_TRACE_CALL;
}
/* As it is written: a call has a name of its own. */
static const char *pm__record_name(const pm_trace_record *r) {
  return r->name ? r->name : pm_trace_kind_name(r->kind);
}
PM_API const pm_trace_record *pm_trace_records(const pm_world *world, size_t *count) {
  if (count) *count = world ? (size_t)world->record_count : 0;
  if (!world) return NULL;
  return world->records;
}
PM_API pm_status pm_trace_write_csv(const pm_world *world, FILE *out) {
  int i;
  if (!world || !out) return PM_E_INVAL;
  fprintf(out, "kind,id,from_node,to_node,from_rank,to_rank,size_bytes,t_begin_ns,t_end_ns\n");
  for (i = 0; i < world->record_count; i++) {
    const pm_trace_record *r = &world->records[i];
    fprintf(out, "%s,%llu,%d,%d,%d,%d,%llu,%lld.%03d,%lld.%03d\n", pm__record_name(r),
            (unsigned long long)r->id, r->from_node, r->to_node, r->from_rank, r->to_rank,
            (unsigned long long)r->size_bytes, (long long)r->t_begin_ns, r->t_begin_ps,
            (long long)r->t_end_ns, r->t_end_ps);
  }
  return ferror(out) ? PM_E_IO : PM_OK;
}
static int64_t pm__record_begin_ps(const pm_trace_record *r) {
  return r->t_begin_ns * PM__PS + r->t_begin_ps;
}
static int64_t pm__record_end_ps(const pm_trace_record *r) {
  return r->t_end_ns * PM__PS + r->t_end_ps;
}

/* ---- Chrome --------------------------------------------------------------------------------------- */
/* What a track of a Chrome trace shows may hold what it shows at the same time, and not overlap it otherwise: Perfetto
   draws that wrong. So a NIC, and a process with several threads, has as many tracks as it needs. A record goes into
   the first in which it lies within what is open there; what is open is a list from the innermost out. */
typedef struct pm__chrome_step {
  int64_t begin_ps, end_ps;
  int pid, tid, record; /* tid 0: the node's NIC, rank + 1: a process */
  int track, outer;     /* track: 0 the first one; outer: the step that holds this one, -1: none */
} pm__chrome_step;
static int pm__chrome_order(const void *a, const void *b) {
  const pm__chrome_step *x = (const pm__chrome_step *)a, *y = (const pm__chrome_step *)b;
  if (x->pid != y->pid) return x->pid - y->pid;
  if (x->tid != y->tid) return x->tid - y->tid;
  if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
  if (x->end_ps != y->end_ps) return x->end_ps > y->end_ps ? -1 : 1;
  return x->record < y->record ? -1 : x->record > y->record;
}
/* inner: of each track the innermost open step, -1: none */
static bool pm__chrome_tracks(pm__chrome_step *step, int count) {
  int *inner = NULL, tracks = 0, max = 0, i, k;
  for (i = 0; i < count; i++) {
    void *array = inner;
    if (i && (step[i].pid != step[i - 1].pid || step[i].tid != step[i - 1].tid)) tracks = 0;
    for (k = 0; k < tracks; k++) {
      while (inner[k] >= 0 && step[inner[k]].end_ps <= step[i].begin_ps)
        inner[k] = step[inner[k]].outer;
      if (inner[k] < 0 || step[inner[k]].end_ps >= step[i].end_ps) break;
    }
    if (k == tracks) {
      if (!pm__grow(&array, &max, tracks + 1, sizeof *inner)) {
        PM_FREE(inner);
        return false;
      }
      inner = (int *)array;
      inner[tracks++] = -1;
    }
    step[i].track = k;
    step[i].outer = inner[k];
    inner[k] = i;
  }
  PM_FREE(inner);
  return true;
}
/* Tracks behind the first have numbers behind those of all processes. */
static int64_t pm__chrome_thread(const pm_world *world, const pm__chrome_step *s) {
  return s->tid + (int64_t)s->track * (world->proc_count + 1);
}
static void pm__chrome_name(const pm_world *world, FILE *out, const pm__chrome_step *s) {
  fprintf(out, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%lld,\"args\":{\"name\":",
          s->pid, (long long)pm__chrome_thread(world, s));
  fprintf(out, s->tid ? "\"rank %d" : "\"NIC", s->tid - 1);
  if (s->track) fprintf(out, ", %d", s->track + 1);
  fputs("\"}},\n", out);
}
/* Chrome's unit is the microsecond. */
static void pm__chrome_write(const pm_world *world, FILE *out, const pm__chrome_step *s) {
  const pm_trace_record *r = &world->records[s->record];
  const int64_t d_ps = s->end_ps - s->begin_ps;
  fprintf(out,
          "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%lld,\"ts\":%lld.%06d,\"dur\":%lld.%"
          "06d,\"args\":{\"id\":%llu,\"to_node\":%d,\"bytes\":%llu}},\n",
          pm__record_name(r), s->pid, (long long)pm__chrome_thread(world, s),
          (long long)(r->t_begin_ns / 1000), (int)(r->t_begin_ns % 1000) * 1000 + r->t_begin_ps,
          (long long)(d_ps / 1000000), (int)(d_ps % 1000000), (unsigned long long)r->id, r->to_node,
          (unsigned long long)r->size_bytes);
}
PM_API pm_status pm_trace_write_json(const pm_world *world, FILE *out) {
  pm__chrome_step *step;
  int i, count, last = -1;
  if (!world || !out) return PM_E_INVAL;
  count = world->record_count;
  step = (pm__chrome_step *)pm__zalloc(((size_t)count + 1) * sizeof *step);
  for (i = 0; step && i < count; i++) {
    const pm_trace_record *r = &world->records[i];
    const pm__chrome_step s = {pm__record_begin_ps(r),
                               pm__record_end_ps(r),
                               r->from_node,
                               pm__is_of_process(r->kind) ? r->from_rank + 1 : 0,
                               i,
                               0,
                               -1};
    step[i] = s;
  }
  if (step) qsort(step, (size_t)count, sizeof *step, pm__chrome_order);
  if (!step || !pm__chrome_tracks(step, count)) {
    PM_FREE(step);
    return PM_E_NOMEM;
  }
  fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  for (i = 0; i < world->plat.node_count; i++)
    fprintf(
        out,
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"node %d\"}},\n", i,
        i);
  for (i = 0; i < count; i++) {
    if (!i || step[i].pid != step[i - 1].pid || step[i].tid != step[i - 1].tid) last = -1;
    if (step[i].track > last) { /* the first step of this track */
      last = step[i].track;
      pm__chrome_name(world, out, &step[i]);
    }
    pm__chrome_write(world, out, &step[i]);
  }
  PM_FREE(step);
  if (pm__links_tracks(world, out)) return PM_E_NOMEM;
  fputs("{\"ph\":\"M\",\"name\":\"trace_name\",\"pid\":0,"
        "\"args\":{\"name\":\"portals_model\"}}\n]}\n",
        out);
  return ferror(out) ? PM_E_IO : PM_OK;
}

/* ---- Paje ------------------------------------------------------------------------------------------- */
/* Source: Schnorr, "Paje trace file format", 2016. Events stand in the order of their time: ends of steps before
   the beginnings of others, but for a step that takes no time. */
typedef struct pm__paje_event {
  int64_t t_ps, other_ps; /* when it is, and when the other end of the step is */
  int order, record;      /* order: 0 end, 1 begin, 2 end of a step without length */
  bool is_end;
} pm__paje_event;
static int pm__paje_order(const void *a, const void *b) {
  const pm__paje_event *x = (const pm__paje_event *)a, *y = (const pm__paje_event *)b;
  if (x->t_ps != y->t_ps) return x->t_ps < y->t_ps ? -1 : 1;
  if (x->order != y->order) return x->order - y->order;
  /* Of those that begin at once the longest is outside; of those that end at once it ends last. */
  if (x->other_ps != y->other_ps) return x->other_ps > y->other_ps ? -1 : 1;
  return x->record < y->record ? -1 : x->record > y->record;
}
static bool pm__paje_is_state(const pm_trace_record *r) {
  return r->from_rank >= 0 && pm__is_of_process(r->kind);
}
static void pm__paje_head(FILE *out) {
  static const char *const events[] = {
      "PajeDefineContainerType 0\n%  Alias string\n%  Type string\n%  Name string",
      "PajeDefineStateType 1\n%  Alias string\n%  Type string\n%  Name string",
      "PajeDefineVariableType 2\n%  Alias string\n%  Type string\n%  Name string\n%  Color color",
      "PajeDefineLinkType 3\n%  Alias string\n%  Type string\n%  StartContainerType string\n"
      "%  EndContainerType string\n%  Name string",
      "PajeDefineEntityValue 4\n%  Alias string\n%  Type string\n%  Name string\n%  Color color",
      "PajeCreateContainer 5\n%  Time date\n%  Alias string\n%  Type string\n%  Container string\n"
      "%  Name string",
      "PajeDestroyContainer 6\n%  Time date\n%  Type string\n%  Name string",
      "PajePushState 7\n%  Time date\n%  Type string\n%  Container string\n%  Value string",
      "PajePopState 8\n%  Time date\n%  Type string\n%  Container string",
      "PajeAddVariable 9\n%  Time date\n%  Type string\n%  Container string\n%  Value double",
      "PajeSubVariable 10\n%  Time date\n%  Type string\n%  Container string\n%  Value double",
      "PajeStartLink 11\n%  Time date\n%  Type string\n%  Container string\n%  StartContainer "
      "string\n%  Value string\n%  Key string",
      "PajeEndLink 12\n%  Time date\n%  Type string\n%  Container string\n%  EndContainer string\n"
      "%  Value string\n%  Key string",
      "PajeSetVariable 13\n%  Time date\n%  Type string\n%  Container string\n%  Value double"};
  static const char *const colours[] = {"0.12 0.47 0.71", "1.00 0.50 0.05", "0.17 0.63 0.17",
                                        "0.84 0.15 0.16", "0.58 0.40 0.74"};
  size_t i;
  int k;
  for (i = 0; i < sizeof events / sizeof *events; i++)
    fprintf(out, "%%EventDef %s\n%%EndEventDef\n", events[i]);
  fprintf(
      out,
      "0 machine 0 machine\n0 node machine node\n0 rank node process\n1 doing rank doing\n"
      "2 steps node \"steps of the NIC\" \"0.5 0.5 0.5\"\n3 message machine node node message\n");
  for (k = 0; k < PM_TRACE_LAST; k++) {
    const bool is_state = pm__is_of_process((pm_trace_kind)k);
    if (k < PM_TRACE_COMMAND || is_state)
      fprintf(out, "4 %s %s %s \"%s\"\n", pm_trace_kind_name((pm_trace_kind)k),
              is_state ? "doing" : "message", pm_trace_kind_name((pm_trace_kind)k), colours[k % 5]);
  }
}
/* The values that calls give to a process's state, each once: their names are few. ret false: no memory */
static bool pm__paje_calls(const pm_world *world, FILE *out) {
  const char **names = NULL;
  int count = 0, max = 0, i, k;
  for (i = 0; i < world->record_count; i++) {
    const char *name = world->records[i].name;
    void *array = (void *)names;
    if (!name) continue;
    for (k = 0; k < count && strcmp(names[k], name) != 0; k++) {
    }
    if (k < count) continue;
    if (!pm__grow(&array, &max, count + 1, sizeof *names)) {
      PM_FREE((void *)names);
      return false;
    }
    names = (const char **)array;
    names[count++] = name;
    fprintf(out, "4 %s doing %s \"0.8 0.8 0.%d\"\n", name, name, 3 + count % 7);
  }
  PM_FREE((void *)names);
  return true;
}
static void pm__paje_time(FILE *out, int number, int64_t t_ps) {
  fprintf(out, "%d %lld.%012lld ", number, (long long)(t_ps / 1000000000000),
          (long long)(t_ps % 1000000000000));
}
static void pm__paje_step(FILE *out, const pm_trace_record *r, const pm__paje_event *e) {
  const char *kind = pm__record_name(r);
  if (pm__paje_is_state(r)) {
    pm__paje_time(out, e->is_end ? 8 : 7, e->t_ps);
    fprintf(out, e->is_end ? "doing r%d\n" : "doing r%d %s\n", r->from_rank, kind);
  } else if (r->kind < PM_TRACE_COMMAND) {
    pm__paje_time(out, e->is_end ? 12 : 11, e->t_ps);
    fprintf(out, "message m n%d %s %d\n", e->is_end ? r->to_node : r->from_node, kind, e->record);
  } else if (e->order != 2) {
    pm__paje_time(out, e->is_end ? 10 : 9, e->t_ps);
    fprintf(out, "steps n%d 1\n", r->from_node);
  }
}
PM_API pm_status pm_trace_write_paje(const pm_world *world, FILE *out) {
  pm__paje_event *events;
  bool *is_there;
  int i, count = 0, rank;
  if (!world || !out) return PM_E_INVAL;
  events = (pm__paje_event *)pm__zalloc((2 * (size_t)world->record_count + 1) * sizeof *events);
  is_there = (bool *)pm__zalloc(((size_t)world->proc_count + 1) * sizeof *is_there);
  if (events && is_there) pm__paje_head(out);
  if (!events || !is_there || !pm__paje_calls(world, out)) {
    PM_FREE(events);
    PM_FREE(is_there);
    return PM_E_NOMEM;
  }
  fprintf(out, "5 0.0 m machine 0 machine\n");
  for (i = 0; i < world->plat.node_count; i++)
    fprintf(out, "5 0.0 n%d node m \"node %d\"\n13 0.0 steps n%d 0\n", i, i, i);
  for (i = 0; i < world->record_count; i++) {
    const pm_trace_record *r = &world->records[i];
    const int64_t b_ps = pm__record_begin_ps(r), e_ps = pm__record_end_ps(r);
    const pm__paje_event begin = {b_ps, e_ps, 1, i, 0},
                         end = {e_ps, b_ps, e_ps > b_ps ? 0 : 2, i, 1};
    events[count++] = begin;
    events[count++] = end;
    if (!pm__paje_is_state(r) || r->from_rank >= world->proc_count || is_there[r->from_rank])
      continue;
    is_there[r->from_rank] = true;
    fprintf(out, "5 0.0 r%d rank n%d \"rank %d\"\n", r->from_rank, r->from_node, r->from_rank);
  }
  qsort(events, (size_t)count, sizeof *events, pm__paje_order);
  for (i = 0; i < count; i++) pm__paje_step(out, &world->records[events[i].record], &events[i]);
  for (rank = 0; rank < world->proc_count; rank++)
    if (is_there[rank]) {
      pm__paje_time(out, 6, count ? events[count - 1].t_ps : 0);
      fprintf(out, "rank r%d\n", rank);
    }
  for (i = 0; i < world->plat.node_count; i++) {
    pm__paje_time(out, 6, count ? events[count - 1].t_ps : 0);
    fprintf(out, "node n%d\n", i);
  }
  pm__paje_time(out, 6, count ? events[count - 1].t_ps : 0);
  fprintf(out, "machine m\n");
  PM_FREE(events);
  PM_FREE(is_there);
  return ferror(out) ? PM_E_IO : PM_OK;
}

/* ---- sequence diagram ------------------------------------------------------------------------------ */
enum { PM__PAGE_LEFT = 120, PM__PAGE_COLUMN = 170, PM__PAGE_TOP = 60 };
typedef struct pm__page {
  FILE *out;
  const pm_trace_record *records;
  pm_process *const *procs;
  int64_t *t_ps; /* the distinct times, in order ... */
  int *y;        /* ... and where they are drawn */
  int *column;   /* of each rank, -1: takes no part */
  int count, time_count, column_count;
} pm__page;
static int pm__time_order(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}
/* Steps in time become steps on paper that grow with the square root: 3 to 60 points. */
static void pm__page_times(pm__page *p) {
  int i;
  p->time_count = 0;
  for (i = 0; i < p->count; i++) {
    p->t_ps[2 * i] = pm__record_begin_ps(&p->records[i]);
    p->t_ps[2 * i + 1] = pm__record_end_ps(&p->records[i]);
  }
  qsort(p->t_ps, (size_t)p->count * 2, sizeof *p->t_ps, pm__time_order);
  for (i = 0; i < 2 * p->count; i++) {
    const int n = p->time_count;
    const double d_ns = n ? (double)(p->t_ps[i] - p->t_ps[n - 1]) / PM__PS : 0;
    const int step = d_ns < 900 ? (int)(3.5 + 2 * sqrt(d_ns)) : 60;
    if (n && p->t_ps[i] == p->t_ps[n - 1]) continue;
    p->t_ps[n] = p->t_ps[i];
    p->y[n] = n ? p->y[n - 1] + (step < 60 ? step : 60) : PM__PAGE_TOP + 20;
    p->time_count++;
  }
}
static int pm__page_y(const pm__page *p, int64_t t_ps) {
  const int64_t *at = (const int64_t *)bsearch(&t_ps, p->t_ps, (size_t)p->time_count,
                                               sizeof *p->t_ps, pm__time_order);
  return at ? p->y[at - p->t_ps] : 0;
}
static int pm__page_x(const pm__page *p, int rank) {
  return PM__PAGE_LEFT + PM__PAGE_COLUMN / 2 +
         PM__PAGE_COLUMN * (rank >= 0 ? p->column[rank] : p->column_count);
}
static void pm__page_columns(const pm_world *w, pm__page *p) {
  int i;
  for (i = 0; i < w->proc_count; i++) p->column[i] = -1;
  for (i = 0; i < p->count; i++) {
    if (p->records[i].from_rank >= 0) p->column[p->records[i].from_rank] = 0;
    if (p->records[i].to_rank >= 0) p->column[p->records[i].to_rank] = 0;
  }
  for (i = 0; i < w->proc_count; i++)
    if (!p->column[i]) p->column[i] = p->column_count++;
}
static void pm__page_head(const pm_world *w, const pm__page *p) {
  const int bottom = p->time_count ? p->y[p->time_count - 1] + 30 : PM__PAGE_TOP + 60;
  int last = 0;
  int i;
  fprintf(
      p->out,
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Sequence of a "
      "simulated run</title>\n<style>\nbody{font:14px sans-serif;margin:1em;background:#fff;"
      "color:#222}\ntext{font:11px sans-serif;fill:#222}\n.life{stroke:#aaa;stroke-dasharray:3 "
      "3}\n.time{stroke:#eee}\n.m path{stroke:currentColor;fill:none;stroke-width:1.5}\n"
      ".m .hit{stroke-width:12;stroke-opacity:0}\n.m text,.m polygon,.m rect{fill:currentColor}\n"
      ".m text{paint-order:stroke;stroke:#fff;stroke-width:3}.m:hover "
      "path{stroke-width:3}\n.PUT{color:#1764ab}.GET{color:#2d7d2d}"
      ".ATOMIC,.FETCH_ATOMIC{color:#9b3fa5}\n.GET_RESPONSE,.FETCH_ATOMIC_RESPONSE{color:#4a9a4a}"
      ".PORTALS_ACK,.E2E_ACK{color:#777}\n.COMMAND{color:#c8860a}.PIO_PAYLOAD{color:#e0a030}"
      ".DMA_REQUEST,.DMA_PAYLOAD,.PAYLOAD_WRITE{color:#5a8fc0}"
      ".EVENT{color:#c0392b}.COMPUTE{color:#bbb}.CALL{color:#ddd}\n</style></"
      "head><body>\n<h1>Sequence of a "
      "simulated run</h1>\n<p>%d of %d steps. Columns are processes, time runs down in "
      "nanoseconds and is stretched where much happens: lengths are not to scale. Point at an "
      "arrow or a bar to read its times.</p>\n<p>",
      p->count, w->record_count);
  for (i = 0; i < PM_TRACE_LAST; i++)
    fprintf(p->out, "<span class=\"%s\">&#9632; %s</span> ", pm_trace_kind_name((pm_trace_kind)i),
            pm_trace_kind_name((pm_trace_kind)i));
  fprintf(p->out, "</p>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n",
          PM__PAGE_LEFT + PM__PAGE_COLUMN * (p->column_count + 1), bottom);
  for (i = 0; i < p->time_count; i++) {
    if (i && p->y[i] < last + 14) continue;
    last = p->y[i];
    fprintf(p->out,
            "<line class=\"time\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/><text x=\"%d\" "
            "y=\"%d\" text-anchor=\"end\">%lld.%03d</text>\n",
            PM__PAGE_LEFT, last, PM__PAGE_LEFT + PM__PAGE_COLUMN * p->column_count, last,
            PM__PAGE_LEFT - 6, last + 4, (long long)(p->t_ps[i] / PM__PS),
            (int)(p->t_ps[i] % PM__PS));
  }
  for (i = 0; i < w->proc_count; i++)
    if (p->column[i] >= 0)
      fprintf(p->out,
              "<line class=\"life\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/><text x=\"%d\" "
              "y=\"%d\" text-anchor=\"middle\">process %d (node %d)</text>\n",
              pm__page_x(p, i), PM__PAGE_TOP, pm__page_x(p, i), bottom, pm__page_x(p, i),
              PM__PAGE_TOP - 10, i, pm_process_node(w->procs[i]));
}
/* A message from process to process; to oneself it goes round. */
static void pm__page_arrow(const pm__page *p, const pm_trace_record *r, int from, int to) {
  const int y1 = pm__page_y(p, pm__record_begin_ps(r)), y2 = pm__page_y(p, pm__record_end_ps(r));
  const int x1 = pm__page_x(p, from), x2 = pm__page_x(p, to), side = x1 < x2 ? -1 : 1;
  char way[128];
  if (x1 == x2)
    snprintf(way, sizeof way, "M%d %d C%d %d %d %d %d %d", x1, y1, x1 + 60, y1, x1 + 60, y2, x2,
             y2);
  else
    snprintf(way, sizeof way, "M%d %d L%d %d", x1, y1, x2, y2);
  fprintf(p->out,
          "<path class=\"hit\" d=\"%s\"/><path d=\"%s\"/><polygon points=\"%d,%d %d,%d "
          "%d,%d\"/><text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s %llu B</text>",
          way, way, x2, y2, x2 + 9 * side, y2 - 4, x2 + 9 * side, y2 + 4,
          (x1 + x2) / 2 + (x1 == x2 ? 70 : 0), (y1 + y2) / 2 - 4, pm_trace_kind_name(r->kind),
          (unsigned long long)r->size_bytes);
}
static void pm__page_record(const pm__page *p, const pm_trace_record *r) {
  const bool is_reply = r->kind == PM_TRACE_GET_RESPONSE || r->kind == PM_TRACE_PORTALS_ACK ||
                        r->kind == PM_TRACE_E2E_ACK || r->kind == PM_TRACE_FETCH_ATOMIC_RESPONSE;
  const int from = is_reply ? r->to_rank : r->from_rank, to = is_reply ? r->from_rank : r->to_rank;
  fprintf(p->out, "<g class=\"m %s\"><title>%s", pm_trace_kind_name(r->kind), pm__record_name(r));
  if (r->id) fprintf(p->out, " of message %llu", (unsigned long long)r->id);
  if (r->to_rank >= 0) fprintf(p->out, ", process %d to %d", from, to);
  fprintf(p->out, ", %llu bytes, %lld.%03d to %lld.%03d ns</title>",
          (unsigned long long)r->size_bytes, (long long)r->t_begin_ns, r->t_begin_ps,
          (long long)r->t_end_ns, r->t_end_ps);
  if (r->kind >= PM_TRACE_COMMAND) { /* these stay at one process */
    const bool is_there = r->to_rank >= 0 && r->to_rank != r->from_rank &&
                          (r->kind == PM_TRACE_PAYLOAD_WRITE ||
                           ((r->kind == PM_TRACE_DMA_REQUEST || r->kind == PM_TRACE_DMA_PAYLOAD) &&
                            r->from_node != p->procs[r->from_rank]->node));
    const int y1 = pm__page_y(p, pm__record_begin_ps(r)), y2 = pm__page_y(p, pm__record_end_ps(r));
    const int x = pm__page_x(p, is_there ? r->to_rank : r->from_rank);
    fprintf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"8\" height=\"%d\"/>",
            r->kind == PM_TRACE_CALL ? x - 14 : x - 4, y1, y2 - y1 > 3 ? y2 - y1 : 3);
  } else
    pm__page_arrow(p, r, from, to);
  fprintf(p->out, "</g>\n");
}
PM_API pm_status pm_trace_write_html(const pm_world *world, FILE *out) {
  pm__page p;
  int i;
  if (!world || !out) return PM_E_INVAL;
  memset(&p, 0, sizeof p);
  p.out = out;
  p.records = world->records;
  p.procs = world->procs;
  p.count = world->record_count < PM_TRACE_HTML_MAX ? world->record_count : PM_TRACE_HTML_MAX;
  p.t_ps = (int64_t *)PM_MALLOC(((size_t)p.count * 2 + 1) * sizeof *p.t_ps);
  p.y = (int *)PM_MALLOC(((size_t)p.count * 2 + 1) * sizeof *p.y);
  p.column = (int *)PM_MALLOC(((size_t)world->proc_count + 1) * sizeof *p.column);
  if (p.t_ps && p.y && p.column) {
    pm__page_times(&p);
    pm__page_columns(world, &p);
    pm__page_head(world, &p);
    for (i = 0; i < p.count; i++) pm__page_record(&p, &p.records[i]);
    fprintf(out, "</svg>\n</body></html>\n");
  }
  PM_FREE(p.t_ps);
  PM_FREE(p.y);
  PM_FREE(p.column);
  if (!p.t_ps || !p.y || !p.column) return PM_E_NOMEM;
  return ferror(out) ? PM_E_IO : PM_OK;
}
