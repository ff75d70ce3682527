/* overlap_trace_otf2.h: the same as an OTF2 archive. Part of overlap_trace.c. Locations of a process: its
   threads (sections and calls), then lanes of transfers and of NIC stamps, because those under way together
   do not nest: at most 64 lanes, what needs more is left out and said; then one for the bounds as metrics, and one
   for the counters of NICs. */
#include <otf2/otf2.h>

enum {
  LANES = 64,
  PER_RANK = 4096,
  LANE_LOCATIONS = 2048,
  BOUNDS_LOCATION = PER_RANK - 1,
  COUNTERS_LOCATION = PER_RANK - 2
};
enum {
  ATTRIBUTE_BYTES,
  ATTRIBUTE_PARTNER,
  ATTRIBUTE_TAKES,
  ATTRIBUTE_LEAST,
  ATTRIBUTE_MOST,
  ATTRIBUTES
};
static const char *const attribute_names[] = {"bytes", "partner", "transfer time ns",
                                              "hidden at least ns", "hidden at most ns"};

typedef struct otf2_writer {
  OTF2_Archive *archive;
  OTF2_GlobalDefWriter *defs;
  OTF2_AttributeList *attributes;
  char **strings;
  uint32_t string_count, *regions, region_count; /* a region is named by its string */
  struct {
    uint64_t id, events;
    uint32_t name;
    int rank_index;
    bool is_metric;
  } * locations;
  size_t location_count;
  uint32_t counter_names[1024],
      counter_count; /* strings; each is a class of metrics, after that of bounds */
  uint64_t left_out;
  bool failed;
} otf2_writer;

static void otf2_check(otf2_writer *w, OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) w->failed = true;
}
static OTF2_FlushType otf2_flush(void *user, OTF2_FileType type, OTF2_LocationRef location,
                                 void *caller, bool final) {
  (void)user, (void)type, (void)location, (void)caller, (void) final;
  return OTF2_FLUSH;
}
static OTF2_TimeStamp otf2_time(void *user, OTF2_FileType type, OTF2_LocationRef location) {
  (void)user, (void)type, (void)location;
  return (OTF2_TimeStamp)(traces.end_ns - traces.begin_ns);
}

static uint32_t otf2_string(otf2_writer *w, const char *text) {
  for (uint32_t i = 0; i < w->string_count; i++)
    if (strcmp(w->strings[i], text) == 0) return i;
  w->strings = (char **)must(realloc(w->strings, (w->string_count + 1) * sizeof *w->strings));
  w->strings[w->string_count] = trace_copy(text);
  otf2_check(w, OTF2_GlobalDefWriter_WriteString(w->defs, w->string_count, text));
  return w->string_count++;
}
static OTF2_RegionRef otf2_region(otf2_writer *w, const char *name, OTF2_RegionRole role,
                                  OTF2_Paradigm paradigm) {
  const uint32_t string = otf2_string(w, name);
  for (uint32_t i = 0; i < w->region_count; i++)
    if (w->regions[i] == string) return i;
  w->regions = (uint32_t *)must(realloc(w->regions, (w->region_count + 1) * sizeof *w->regions));
  w->regions[w->region_count] = string;
  otf2_check(w, OTF2_GlobalDefWriter_WriteRegion(w->defs, w->region_count, string, string,
                                                 otf2_string(w, ""), role, paradigm,
                                                 OTF2_REGION_FLAG_NONE, otf2_string(w, ""), 0, 0));
  return w->region_count++;
}
static OTF2_RegionRef otf2_region_of(otf2_writer *w, const timeline *t, const trace_record *r) {
  switch (r->what) {
  case TRACE_CALL:
    return otf2_region(w, t->places[r->id].call, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI);
  case TRACE_SECTION:
    return otf2_region(w, t->name_list[r->id], OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER);
  case TRACE_NIC:
    return otf2_region(w, "on the wire", OTF2_REGION_ROLE_DATA_TRANSFER,
                       OTF2_PARADIGM_MEASUREMENT_SYSTEM);
  default:
    return otf2_region(w, nbc_kind_name((nbc_kind)r->kind), OTF2_REGION_ROLE_DATA_TRANSFER,
                       OTF2_PARADIGM_MPI);
  }
}

/* ---- one location: records that nest, in the order of their begins ------------------------------------ */
/* A message's end in one process: between the calls around it. */
typedef struct otf2_message {
  int64_t t_ns;
  const match_one *sent;
  bool in;
} otf2_message;

typedef struct otf2_stack {
  OTF2_EvtWriter *events;
  const otf2_message *messages; /* those left, by time */
  size_t message_count;
  int64_t ends_ns[64], last_ns;
  OTF2_RegionRef regions[64];
  int depth;
} otf2_stack;

/* Messages are sent at the begin of a call, right behind its enter, and have come at the end of one, right before
   its leave. */
static void otf2_messages_until(otf2_writer *w, otf2_stack *s, int64_t t_ns) {
  for (; s->message_count && s->messages->t_ns <= t_ns; s->messages++, s->message_count--) {
    const match_one *sent = s->messages->sent;
    const uint32_t tag = (uint32_t)sent->message->begin_ns;
    const OTF2_TimeStamp at = (OTF2_TimeStamp)s->messages->t_ns;
    if (s->messages->in)
      otf2_check(w, OTF2_EvtWriter_MpiRecv(s->events, NULL, at, (uint32_t)sent->timeline, 0, tag,
                                           sent->message->size_bytes));
    else
      otf2_check(w, OTF2_EvtWriter_MpiSend(s->events, NULL, at, (uint32_t)sent->partner, 0, tag,
                                           sent->message->size_bytes));
  }
}

static void otf2_leave_until(otf2_writer *w, otf2_stack *s, int64_t t_ns) {
  while (s->depth > 0 && s->ends_ns[s->depth - 1] <= t_ns) {
    otf2_messages_until(w, s, s->ends_ns[s->depth - 1]);
    s->depth--;
    otf2_check(w, OTF2_EvtWriter_Leave(s->events, NULL, (OTF2_TimeStamp)s->ends_ns[s->depth],
                                       s->regions[s->depth]));
  }
}
static void otf2_enter(otf2_writer *w, otf2_stack *s, const timeline *t, const trace_record *r) {
  const int64_t begin_ns = begin_of(t, r);
  int64_t end_ns = end_of(t, r);
  otf2_leave_until(w, s, begin_ns);
  otf2_messages_until(w, s, begin_ns - 1);
  if (s->depth == 64) {
    w->left_out++;
    return;
  }
  if (s->depth > 0 && end_ns > s->ends_ns[s->depth - 1])
    end_ns = s->ends_ns[s->depth - 1]; /* it ends with what it is in */
  if (r->what == TRACE_TRANSFER) {
    OTF2_AttributeList *a = w->attributes;
    otf2_check(w, OTF2_AttributeList_AddUint64(a, ATTRIBUTE_BYTES, r->size_bytes));
    otf2_check(w, OTF2_AttributeList_AddInt64(a, ATTRIBUTE_PARTNER, r->partner));
    otf2_check(w, OTF2_AttributeList_AddInt64(a, ATTRIBUTE_TAKES, r->xfer_ns));
    otf2_check(w, OTF2_AttributeList_AddInt64(a, ATTRIBUTE_LEAST, r->min_overlap_ns));
    otf2_check(w, OTF2_AttributeList_AddInt64(a, ATTRIBUTE_MOST, r->max_overlap_ns));
  }
  s->regions[s->depth] = otf2_region_of(w, t, r);
  s->ends_ns[s->depth] = end_ns;
  otf2_check(w, OTF2_EvtWriter_Enter(s->events, w->attributes, (OTF2_TimeStamp)begin_ns,
                                     s->regions[s->depth]));
  s->depth++;
}

static OTF2_EvtWriter *otf2_open(otf2_writer *w, int rank_index, unsigned number, const char *name,
                                 bool is_metric) {
  w->locations = must(realloc(w->locations, (w->location_count + 1) * sizeof *w->locations));
  const uint64_t id = (uint64_t)rank_index * PER_RANK + number;
  w->locations[w->location_count].id = id;
  w->locations[w->location_count].events = 0;
  w->locations[w->location_count].name = otf2_string(w, name);
  w->locations[w->location_count].rank_index = rank_index;
  w->locations[w->location_count++].is_metric = is_metric;
  OTF2_EvtWriter *events = OTF2_Archive_GetEvtWriter(w->archive, id);
  if (!events) w->failed = true;
  return events;
}
static void otf2_close(otf2_writer *w, OTF2_EvtWriter *events) {
  otf2_check(w,
             OTF2_EvtWriter_GetNumberOfEvents(events, &w->locations[w->location_count - 1].events));
  otf2_check(w, OTF2_Archive_CloseEvtWriter(w->archive, events));
}

static void otf2_nested(otf2_writer *w, int rank_index, unsigned number, const char *name,
                        const timeline *t, const uint8_t *lane_of,
                        bool (*belongs)(const trace_record *, unsigned), unsigned which, int lane,
                        const otf2_message *messages, size_t message_count) {
  otf2_stack s = {.messages = messages, .message_count = message_count};
  for (uint64_t k = 0; k < t->record_count && !w->failed; k++) {
    const trace_record *r = &t->records[k];
    if (!belongs(r, which) || (lane >= 0 && lane_of[k] != lane)) continue;
    if (!s.events && !(s.events = otf2_open(w, rank_index, number, name, false))) return;
    otf2_enter(w, &s, t, r);
  }
  if (!s.events) return;
  otf2_leave_until(w, &s, INT64_MAX);
  otf2_messages_until(w, &s, INT64_MAX);
  otf2_close(w, s.events);
}
static int otf2_by_time(const void *a, const void *b) {
  const otf2_message *x = (const otf2_message *)a, *y = (const otf2_message *)b;
  return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}
/* The messages of a process with both ends known; the caller frees them. Such a process has one thread. */
static otf2_message *otf2_messages_of(size_t timeline_index, size_t *count) {
  const timeline *t = &traces.of[timeline_index];
  otf2_message *m = (otf2_message *)must(malloc((2 * matches.matched_count + 1) * sizeof *m));
  *count = 0;
  for (uint64_t i = 0; i < matches.matched_count; i++) {
    const match_one *s = &matches.sent[i], *r = &matches.received[i];
    if (!s->transfer || !r->transfer || s->transfer->begin_ns == INT64_MIN ||
        r->transfer->end_ns == INT64_MIN)
      continue;
    if (s->timeline == timeline_index)
      m[(*count)++] = (otf2_message){run_ns(t, s->transfer->begin_ns), s, false};
    if (r->timeline == timeline_index)
      m[(*count)++] = (otf2_message){run_ns(t, r->transfer->end_ns), s, true};
  }
  if (*count) qsort(m, *count, sizeof *m, otf2_by_time);
  return m;
}
static bool is_of_thread(const trace_record *r, unsigned thread) {
  return (r->what == TRACE_CALL || r->what == TRACE_SECTION) && thread_of(r) == thread;
}
static bool is_what(const trace_record *r, unsigned what) { return r->what == what; }

/* Which lane each record of a kind takes: the first that is free when it begins. */
static void otf2_lanes(otf2_writer *w, const timeline *t, unsigned what, uint8_t *lane_of) {
  int64_t free_ns[LANES];
  for (int i = 0; i < LANES; i++) free_ns[i] = INT64_MIN;
  for (uint64_t k = 0; k < t->record_count; k++) {
    const trace_record *r = &t->records[k];
    if (r->what != what) continue;
    int lane = 0;
    while (lane < LANES && free_ns[lane] > begin_of(t, r)) lane++;
    lane_of[k] = (uint8_t)lane;
    if (lane < LANES)
      free_ns[lane] = end_of(t, r);
    else
      w->left_out++;
  }
}

static void otf2_bounds(otf2_writer *w, int rank_index, timeline *t) {
  static const OTF2_Type types[3] = {OTF2_TYPE_INT64, OTF2_TYPE_INT64, OTF2_TYPE_INT64};
  OTF2_MetricValue values[3] = {{.signed_int = 0}, {.signed_int = 0}, {.signed_int = 0}};
  OTF2_EvtWriter *events = NULL;
  now_sorted = t;
  qsort(t->records, t->record_count, sizeof *t->records, by_end);
  for (uint64_t k = 0; k < t->record_count && !w->failed; k++) {
    const trace_record *r = &t->records[k];
    if (r->what != TRACE_TRANSFER) continue;
    if (!events && !(events = otf2_open(w, rank_index, BOUNDS_LOCATION, "bounds", true))) return;
    values[0].signed_int += r->min_overlap_ns;
    values[1].signed_int += r->max_overlap_ns;
    values[2].signed_int += r->xfer_ns;
    otf2_check(
        w, OTF2_EvtWriter_Metric(events, NULL, (OTF2_TimeStamp)end_of(t, r), 0, 3, types, values));
  }
  if (events) otf2_close(w, events);
}

/* The class of metrics of a NIC's counter; 0: there are too many. */
static uint32_t otf2_counter_class(otf2_writer *w, const char *name) {
  const uint32_t string = otf2_string(w, name);
  uint32_t i = 0;
  while (i < w->counter_count && w->counter_names[i] != string) i++;
  if (i == sizeof w->counter_names / sizeof *w->counter_names) return 0;
  if (i == w->counter_count) w->counter_names[w->counter_count++] = string;
  return i + 1;
}
/* In the order of by_end, as otf2_bounds left them. */
static void otf2_counters(otf2_writer *w, int rank_index, const timeline *t) {
  static const OTF2_Type type = OTF2_TYPE_UINT64;
  OTF2_EvtWriter *events = NULL;
  for (uint64_t k = 0; k < t->record_count && !w->failed; k++) {
    const trace_record *r = &t->records[k];
    if (r->what != TRACE_COUNTER) continue;
    const uint32_t of = otf2_counter_class(w, t->counter_list[r->id]);
    const OTF2_MetricValue value = {.unsigned_int = r->size_bytes};
    if (!of) w->left_out++;
    if (!of) continue;
    if (!events && !(events = otf2_open(w, rank_index, COUNTERS_LOCATION, "NIC", true))) return;
    otf2_check(
        w, OTF2_EvtWriter_Metric(events, NULL, (OTF2_TimeStamp)end_of(t, r), of, 1, &type, &value));
  }
  if (events) otf2_close(w, events);
}

static void otf2_rank(otf2_writer *w, int rank_index) {
  timeline *t = &traces.of[rank_index];
  uint8_t *lane_of = (uint8_t *)must(calloc(t->record_count + 1, 1));
  bool *known = (bool *)must(calloc(LANE_LOCATIONS, 1));
  char name[40];
  now_sorted = t;
  qsort(t->records, t->record_count, sizeof *t->records, by_begin);
  for (uint64_t k = 0; k < t->record_count; k++) {
    const trace_record *r = &t->records[k];
    if (r->what != TRACE_CALL && r->what != TRACE_SECTION) continue;
    if (thread_of(r) < LANE_LOCATIONS)
      known[thread_of(r)] = true;
    else
      w->left_out++;
  }
  size_t message_count;
  otf2_message *messages = otf2_messages_of((size_t)rank_index, &message_count);
  for (unsigned thread = 0; thread < LANE_LOCATIONS; thread++) {
    snprintf(name, sizeof name, "thread %u", thread);
    if (known[thread])
      otf2_nested(w, rank_index, thread, name, t, lane_of, is_of_thread, thread, -1, messages,
                  message_count);
    if (known[thread]) message_count = 0; /* who has messages has one thread */
  }
  free(messages);
  for (unsigned what = TRACE_TRANSFER; what <= TRACE_NIC; what++) {
    otf2_lanes(w, t, what, lane_of);
    for (int lane = 0; lane < LANES; lane++) {
      snprintf(name, sizeof name, "%s %d", what == TRACE_NIC ? "on the wire" : "transfers", lane);
      otf2_nested(w, rank_index,
                  (unsigned)(LANE_LOCATIONS + (what == TRACE_NIC ? LANES : 0) + lane), name, t,
                  lane_of, is_what, what, lane, NULL, 0);
    }
  }
  free(lane_of);
  free(known);
  otf2_bounds(w, rank_index, t);
  otf2_counters(w, rank_index, t);
}

/* All processes as one communicator, whose n-th member is the first thread of the n-th. */
static void otf2_world(otf2_writer *w, OTF2_GlobalDefWriter *g) {
  uint64_t *threads = (uint64_t *)must(calloc(traces.count + 1, sizeof *threads)),
           *ranks = (uint64_t *)must(calloc(traces.count + 1, sizeof *ranks));
  for (size_t i = 0; i < traces.count; i++) {
    threads[i] = (uint64_t)i * PER_RANK + 1;
    ranks[i] = i;
    for (size_t k = w->location_count; k-- > 0;)
      if (w->locations[k].rank_index == (int)i && w->locations[k].id % PER_RANK < LANE_LOCATIONS)
        threads[i] = w->locations[k].id;
  }
  otf2_check(w, OTF2_GlobalDefWriter_WriteGroup(
                    g, 0, otf2_string(w, "processes"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                    OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, (uint32_t)traces.count, threads));
  otf2_check(w, OTF2_GlobalDefWriter_WriteGroup(
                    g, 1, otf2_string(w, "world"), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                    OTF2_GROUP_FLAG_NONE, (uint32_t)traces.count, ranks));
  otf2_check(w, OTF2_GlobalDefWriter_WriteComm(g, 0, otf2_string(w, "world"), 1, OTF2_UNDEFINED_COMM
#if OTF2_VERSION_MAJOR >= 3
                                               ,
                                               OTF2_COMM_FLAG_NONE
#endif
                                               ));
  free(threads);
  free(ranks);
}

static void otf2_definitions(otf2_writer *w) {
  char text[300];
  OTF2_GlobalDefWriter *g = w->defs;
  otf2_check(w, OTF2_GlobalDefWriter_WriteClockProperties(
                    g, 1000000000, 0, (uint64_t)(traces.end_ns - traces.begin_ns),
                    (uint64_t)start_unix_ns));
  otf2_check(w, OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, otf2_string(w, "run"),
                                                         otf2_string(w, "machine"),
                                                         OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  const OTF2_MetricMemberRef members[3] = {0, 1, 2};
  for (uint32_t i = 0; i < 3; i++) {
    const char *const names[] = {"hidden for certain", "hidden at most", "transfer time"};
    otf2_check(w, OTF2_GlobalDefWriter_WriteMetricMember(
                      g, i, otf2_string(w, names[i]),
                      otf2_string(w, "summed over the transfers that had ended"),
                      OTF2_METRIC_TYPE_USER, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_INT64,
                      OTF2_BASE_DECIMAL, 0, otf2_string(w, "ns")));
  }
  otf2_check(w, OTF2_GlobalDefWriter_WriteMetricClass(g, 0, 3, members, OTF2_METRIC_ASYNCHRONOUS,
                                                      OTF2_RECORDER_KIND_ABSTRACT));
  for (uint32_t i = 0; i < w->counter_count; i++) {
    const OTF2_MetricMemberRef member = 3 + i;
    otf2_check(w,
               OTF2_GlobalDefWriter_WriteMetricMember(
                   g, member, w->counter_names[i], otf2_string(w, "a NIC's counter, of the node"),
                   OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64,
                   OTF2_BASE_DECIMAL, 0, otf2_string(w, "")));
    otf2_check(w, OTF2_GlobalDefWriter_WriteMetricClass(
                      g, 1 + i, 1, &member, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT));
  }
  for (uint32_t i = 0; i < ATTRIBUTES; i++)
    otf2_check(w, OTF2_GlobalDefWriter_WriteAttribute(
                      g, i, otf2_string(w, attribute_names[i]), otf2_string(w, ""),
                      i == ATTRIBUTE_BYTES ? OTF2_TYPE_UINT64 : OTF2_TYPE_INT64));
  for (size_t i = 0; i < traces.count; i++) {
    snprintf(text, sizeof text, "rank %d on %.200s", traces.of[i].rank,
             traces.of[i].host ? traces.of[i].host : "?");
    otf2_check(w, OTF2_GlobalDefWriter_WriteLocationGroup(g, (uint32_t)i, otf2_string(w, text),
                                                          OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                          OTF2_UNDEFINED_LOCATION_GROUP));
  }
  otf2_world(w, g);
  for (size_t i = 0; i < w->location_count; i++)
    otf2_check(w, OTF2_GlobalDefWriter_WriteLocation(
                      g, w->locations[i].id, w->locations[i].name,
                      w->locations[i].is_metric ? OTF2_LOCATION_TYPE_METRIC
                                                : OTF2_LOCATION_TYPE_CPU_THREAD,
                      w->locations[i].events, (uint32_t)w->locations[i].rank_index));
}

static bool write_otf2(const char *path) {
  static OTF2_FlushCallbacks flush = {.otf2_pre_flush = otf2_flush, .otf2_post_flush = otf2_time};
  otf2_writer w = {.failed = false};
  w.archive = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, 1024 * 1024, 4 * 1024 * 1024,
                                OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  w.attributes = OTF2_AttributeList_New();
  if (!w.archive || !w.attributes)
    return fprintf(stderr, "overlap_trace: %s: OTF2 cannot write there\n", path), false;
  otf2_check(&w, OTF2_Archive_SetFlushCallbacks(w.archive, &flush, NULL));
  otf2_check(&w, OTF2_Archive_SetSerialCollectiveCallbacks(w.archive));
  otf2_check(&w, OTF2_Archive_SetCreator(w.archive, "overlap_trace of nbc_overlap"));
  otf2_check(&w, OTF2_Archive_OpenEvtFiles(w.archive));
  w.defs = OTF2_Archive_GetGlobalDefWriter(w.archive);
  if (!w.defs) w.failed = true;
  for (size_t i = 0; i < traces.count && !w.failed; i++) otf2_rank(&w, (int)i);
  otf2_check(&w, OTF2_Archive_CloseEvtFiles(w.archive));
  otf2_check(&w,
             OTF2_Archive_OpenDefFiles(w.archive)); /* one of each location: readers ask for it */
  for (size_t i = 0; i < w.location_count && !w.failed; i++) {
    OTF2_DefWriter *own = OTF2_Archive_GetDefWriter(w.archive, w.locations[i].id);
    if (own)
      otf2_check(&w, OTF2_Archive_CloseDefWriter(w.archive, own));
    else
      w.failed = true;
  }
  otf2_check(&w, OTF2_Archive_CloseDefFiles(w.archive));
  if (!w.failed) otf2_definitions(&w);
  otf2_check(&w, OTF2_Archive_Close(w.archive));
  OTF2_AttributeList_Delete(w.attributes);
  for (uint32_t i = 0; i < w.string_count; i++) free(w.strings[i]);
  free(w.strings);
  free(w.regions);
  free(w.locations);
  if (w.left_out)
    fprintf(stderr,
            "overlap_trace: %llu records are not in the archive: more were under way at once than "
            "it has lanes\n",
            (unsigned long long)w.left_out);
  if (w.failed) fprintf(stderr, "overlap_trace: %s: not whole\n", path);
  return !w.failed;
}
