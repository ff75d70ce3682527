/* overlap_preload_replay.h: NBC_TRACE=calls: what each process computed, sent, received and waited for, as a text
   that pm_replay runs on a simulated machine: nbc_calls.PROGRAM.RUN.RANK.calls in the folder of the reports. Its
   lines are described in src/guest/replay/calls.c.

   Repeated sequences of up to 512 calls are folded into loops as they come; the computation before a call in a
   loop is the mean of its rounds. At most NODES_MAX calls and loops, and WORDS_MAX bytes of different lines,
   are in memory: beyond, all that is known is written and is not folded any more with what follows.
   One thread per process is traced. What such a trace cannot say (one-sided operations, files,
   neighbourhood and persistent collectives, intercommunicators) is counted and told at the end. */
enum { LOOP_MAX = 512, NODES_MAX = 1 << 20, WORDS_MAX = 64 << 20, MISSING_MAX = 128 };
typedef struct traced { /* a call, or a loop of some */
  uint64_t hash;
  int64_t sum_ns; /* computed before it, in all its rounds */
  uint64_t rounds;
  uint64_t times; /* 0: a call */
  struct traced *body;
  uint32_t body_count, line; /* line: where its text begins */
} traced;
#define NO_SLOT UINT32_MAX
typedef struct traced_request { /* by slot */
  uint32_t next;                /* the next one of the same handle, or NO_SLOT */
  bool used, is_persistent, is_active;
  char what[64]; /* a persistent one: the line of its start */
} traced_request;
/* Completed small sends share one handle in both MPIs, so a handle leads to a queue: first posted, first completed. */
typedef struct traced_handle {
  uintptr_t key;
  uint32_t first, last;
  bool used;
} traced_handle;
typedef struct traced_comm {
  uintptr_t key;
  int *ranks, size;
  bool freed;
} traced_comm;
static struct {
  bool on, failed;
  FILE *out;
  char path[sizeof run.folder + 200], part[sizeof run.folder + 208];
  pthread_t thread;
  int64_t t_last_ns, pending_ns;
  traced *node;
  uint32_t count, max;
  char *words; /* lines, one behind the other */
  uint32_t word_count, words_max, *home, home_max, line_count;
  traced_handle *handle; /* hash */
  uint32_t handle_max, handle_count;
  traced_request *slot;
  uint32_t slot_max, slot_free; /* those below slot_free are in use */
  traced_comm *comm;
  uint32_t comm_count, comm_max;
  uintptr_t *before;
  uint32_t before_max;
  const char *missing[MISSING_MAX];
  uint64_t missing_count[MISSING_MAX];
} calls;

static void calls_stop(const char *why) {
  if (!calls.on) return;
  calls.on = false;
  calls.failed = true;
  say("rank %d: no trace of calls: %s", run.rank, why);
}
static void *calls_room(void *array, uint32_t *max, uint32_t need, size_t each) {
  if (need <= *max) return array;
  const uint32_t more = 2 * *max > need ? 2 * *max : need < 64 ? 64 : need;
  void *larger = realloc(array, (size_t)more * each);
  if (!larger) {
    calls_stop("out of memory");
    return array;
  }
  memset((char *)larger + (size_t)*max * each, 0, (size_t)(more - *max) * each);
  *max = more;
  return larger;
}

/* ---- lines, each kept once ---------------------------------------------------------------------- */
static uint64_t text_hash(const char *text) {
  uint64_t h = 14695981039346656037u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
  return h ? h : 1;
}
static bool more_homes(void) {
  const uint32_t max = calls.home_max ? 2 * calls.home_max : 256;
  uint32_t *home = calloc(max, sizeof *home);
  if (!home) return false;
  for (uint32_t i = 0; i < calls.home_max; i++) {
    if (!calls.home[i]) continue;
    uint32_t k = (uint32_t)(text_hash(calls.words + calls.home[i] - 1) & (max - 1));
    while (home[k]) k = (k + 1) & (max - 1);
    home[k] = calls.home[i];
  }
  free(calls.home);
  calls.home = home;
  calls.home_max = max;
  return true;
}
static uint32_t line_of(const char *text, uint64_t hash) {
  if (2 * (calls.line_count + 1) > calls.home_max && !more_homes()) {
    calls_stop("out of memory");
    return 0;
  }
  uint32_t k = (uint32_t)(hash & (calls.home_max - 1));
  for (; calls.home[k]; k = (k + 1) & (calls.home_max - 1))
    if (strcmp(calls.words + calls.home[k] - 1, text) == 0) return calls.home[k] - 1;
  const uint32_t at = calls.word_count, bytes = (uint32_t)strlen(text) + 1;
  calls.words = calls_room(calls.words, &calls.words_max, at + bytes, 1);
  if (!calls.on) return 0;
  memcpy(calls.words + at, text, bytes);
  calls.word_count += bytes;
  calls.line_count++;
  calls.home[k] = at + 1;
  return at;
}

/* ---- loops -------------------------------------------------------------------------------------- */
static bool same_node(const traced *a, const traced *b) {
  if (a->hash != b->hash || a->times != b->times || a->body_count != b->body_count ||
      a->line != b->line)
    return false;
  for (uint32_t i = 0; i < a->body_count; i++)
    if (!same_node(&a->body[i], &b->body[i])) return false;
  return true;
}
static bool same_nodes(const traced *a, const traced *b, uint32_t count) {
  for (uint32_t i = count; i-- > 0;)
    if (!same_node(&a[i], &b[i])) return false;
  return true;
}
static void free_bodies(traced *node, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    free_bodies(node[i].body, node[i].body_count);
    free(node[i].body);
  }
}
static void add_nodes(traced *to, traced *from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    to[i].sum_ns += from[i].sum_ns;
    to[i].rounds += from[i].rounds;
    add_nodes(to[i].body, from[i].body, from[i].body_count);
  }
}
static uint64_t loop_hash(const traced *body, uint32_t count, uint64_t times) {
  uint64_t h = times * 0x9E3779B97F4A7C15u;
  for (uint32_t i = 0; i < count; i++) h = (h ^ body[i].hash) * 1099511628211u;
  return h ? h : 1;
}
/* One more round of the loop before the last `length` nodes, or a new loop of the last two times as many. */
static bool fold_last(uint32_t length) {
  traced *end = calls.node + calls.count, *last = end - length;
  traced *before = last - 1;
  if (before >= calls.node && before->times && before->body_count == length &&
      same_nodes(before->body, last, length)) {
    add_nodes(before->body, last, length);
    free_bodies(last, length);
    before->hash = loop_hash(before->body, length, ++before->times);
    calls.count -= length;
    return true;
  }
  if (calls.count < 2 * length || !same_nodes(last - length, last, length)) return false;
  traced *body = malloc(length * sizeof *body);
  if (!body) return false;
  memcpy(body, last - length, length * sizeof *body);
  add_nodes(body, last, length);
  free_bodies(last, length);
  traced *loop = last - length;
  memset(loop, 0, sizeof *loop);
  loop->times = 2;
  loop->body = body;
  loop->body_count = length;
  loop->hash = loop_hash(body, length, 2);
  calls.count -= 2 * length - 1;
  return true;
}
static void fold(void) {
  bool again = true;
  while (again) {
    again = false;
    const uint64_t hash = calls.node[calls.count - 1].hash;
    for (uint32_t length = 1; length <= LOOP_MAX && length < calls.count && !again; length++) {
      const traced *other = &calls.node[calls.count - 1 - length];
      if (other->hash == hash || (other->times && other->body_count == length))
        again = fold_last(length);
    }
  }
}

/* ---- the file ------------------------------------------------------------------------------------- */
static void write_nodes(const traced *node, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (node[i].times) {
      fprintf(calls.out, "x %llu\n", (unsigned long long)node[i].times);
      write_nodes(node[i].body, node[i].body_count);
      fputs("e\n", calls.out);
      continue;
    }
    const int64_t mean_ns = node[i].sum_ns / (int64_t)node[i].rounds;
    if (mean_ns > 0) fprintf(calls.out, "c %lld\n", (long long)mean_ns);
    fprintf(calls.out, "%s\n", calls.words + node[i].line);
  }
}
static void write_all(void) {
  size_signal beyond;
  size_signal_off(&beyond);
  write_nodes(calls.node, calls.count);
  size_signal_on(&beyond);
  free_bodies(calls.node, calls.count);
  calls.count = calls.word_count = calls.line_count = 0;
  memset(calls.home, 0, calls.home_max * sizeof *calls.home);
  if (ferror(calls.out)) calls_stop(strerror(errno));
}
static void traced_line(const char *text) {
  if (calls.count >= NODES_MAX || calls.word_count >= WORDS_MAX) write_all();
  const uint64_t hash = text_hash(text);
  const uint32_t line = line_of(text, hash);
  calls.node = calls_room(calls.node, &calls.max, calls.count + 1, sizeof *calls.node);
  if (!calls.on) return;
  calls.node[calls.count++] = (traced){hash, calls.pending_ns, 1, 0, NULL, 0, line};
  calls.pending_ns = 0;
  fold();
}
static void traced_linef(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void traced_linef(const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  traced_line(text);
}
/* What the trace cannot say. */
static void calls_missing(const char *name) {
  for (int i = 0; i < MISSING_MAX; i++) {
    if (calls.missing[i] && calls.missing[i] != name && strcmp(calls.missing[i], name) != 0)
      continue;
    calls.missing[i] = name;
    calls.missing_count[i]++;
    return;
  }
}
/* NBC_TRACE=calls asks for it. */
static void calls_begin(void) {
  const char *value = setting("NBC_TRACE");
  if (!value || strcmp(value, "calls") != 0) return;
  snprintf(calls.path, sizeof calls.path, "%s/nbc_calls.%s.%d.calls", run.folder, run.run_name,
           run.rank);
  snprintf(calls.part, sizeof calls.part, "%s.part", calls.path);
  calls.on = true;
  calls.thread = pthread_self();
  calls.out = fopen(calls.part, "we");
  if (!calls.out) {
    calls_stop(strerror(errno));
    return;
  }
  fprintf(calls.out, "nbc-calls 1\nrank %d of %d\n", run.rank, run.size);
  calls.comm = calls_room(NULL, &calls.comm_max, 1, sizeof *calls.comm);
  calls.comm_count = 1;
  if (calls.on) calls.comm[0].key = KEY(MPI_COMM_WORLD);
  calls.t_last_ns = nbc_clock_now_ns(run.clock);
}
static void calls_say_what_is_missing(void) {
  char text[1900] = "";
  size_t at = 0;
  if (calls.failed) return;
  for (int i = 0; i < MISSING_MAX && calls.missing[i] && at < sizeof text; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%llu times %s", i ? ", " : "",
                           (unsigned long long)calls.missing_count[i], calls.missing[i]);
  if (at) say("rank %d: the trace of calls lacks %s", run.rank, text);
}
/* What is computed without a core seems to take longer, and counts so. */
static void calls_tell_of_core(void) {
  const int64_t d_ns = nbc_clock_now_ns(run.clock) - run.start_ns, waited_ns = core_waited_ns(d_ns);
  if (waited_ns) fprintf(calls.out, "core %lld of %lld\n", (long long)waited_ns, (long long)d_ns);
}
/* In MPI_Finalize, which waits for all in most MPIs. */
static void calls_end(void) {
  size_signal beyond;
  if (!calls.on) return;
  calls.pending_ns += nbc_clock_now_ns(run.clock) - calls.t_last_ns;
  traced_line("coll barrier 0 1 0 0 - -");
  if (!calls.on) return;
  write_all();
  size_signal_off(&beyond);
  calls_tell_of_core();
  fputs("end\n", calls.out);
  const bool good = !ferror(calls.out);
  errno = 0;
  if (fclose(calls.out) != 0 || !good || rename(calls.part, calls.path) != 0) {
    calls_stop(errno ? strerror(errno) : "it could not be written");
    unlink(calls.part);
  }
  size_signal_on(&beyond);
  calls.on = false;
  calls_say_what_is_missing();
}

/* ---- communicators and requests ---------------------------------------------------------------------- */
static void write_ranks(char *text, size_t bytes, const int *ranks, int size) {
  size_t at = strlen(text);
  for (int i = 0; i < size && at + 32 < bytes; i++) {
    int last = i;
    while (last + 1 < size && ranks[last + 1] == ranks[last] + 1) last++;
    at +=
        (size_t)snprintf(text + at, bytes - at, last > i ? " %d-%d" : " %d", ranks[i], ranks[last]);
    i = last;
  }
}
/* Whoever makes a communicator makes it known, so that members count those of the same members alike. `like`: one of the
   same members, for a copy that is being made must not be asked. */
static void calls_comm_copied(MPI_Comm like, MPI_Comm made) {
  int inter = 0, size = 0;
  MPI_Group group;
  if (made == MPI_COMM_NULL || made == MPI_COMM_WORLD) return;
  PMPI_Comm_test_inter(like, &inter);
  if (inter || PMPI_Comm_group(like, &group) != MPI_SUCCESS) return;
  PMPI_Group_size(group, &size);
  int *ranks = malloc(2 * (size_t)size * sizeof *ranks);
  if (!ranks) {
    calls_stop("out of memory");
    PMPI_Group_free(&group);
    return;
  }
  for (int i = 0; i < size; i++) ranks[size + i] = i;
  PMPI_Group_translate_ranks(group, size, ranks + size, run.world_group, ranks);
  PMPI_Group_free(&group);
  for (uint32_t i = 1; i < calls.comm_count; i++)
    if (calls.comm[i].freed && calls.comm[i].size == size &&
        memcmp(calls.comm[i].ranks, ranks, (size_t)size * sizeof *ranks) == 0) {
      calls.comm[i].freed = false;
      calls.comm[i].key = KEY(made);
      free(ranks);
      return;
    }
  calls.comm = calls_room(calls.comm, &calls.comm_max, calls.comm_count + 1, sizeof *calls.comm);
  const size_t bytes = 64 + (size_t)size * 24;
  char *text = malloc(bytes);
  if (!calls.on || !text) {
    if (!text) calls_stop("out of memory");
    free(ranks);
    return;
  }
  calls.comm[calls.comm_count] = (traced_comm){KEY(made), ranks, size, false};
  snprintf(text, bytes, "comm %u", calls.comm_count++);
  write_ranks(text, bytes, ranks, size);
  traced_line(text);
  free(text);
}
static void calls_comm_made(MPI_Comm made) { calls_comm_copied(made, made); }
/* UINT32_MAX: none that can be traced */
static uint32_t calls_comm(MPI_Comm comm) {
  for (uint32_t i = 0; i < calls.comm_count; i++)
    if (calls.comm[i].key == KEY(comm) && !calls.comm[i].freed) return i;
  const uint32_t count = calls.comm_count;
  if (comm == MPI_COMM_SELF) calls_comm_made(comm);
  return calls.comm_count > count ? count : UINT32_MAX;
}
static void calls_comm_freed(MPI_Comm comm) {
  for (uint32_t i = 1; i < calls.comm_count; i++)
    if (calls.comm[i].key == KEY(comm)) calls.comm[i].freed = true;
}
static uint32_t handle_home(uintptr_t key) {
  uint32_t i = (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 32) & (calls.handle_max - 1);
  while (calls.handle[i].used && calls.handle[i].key != key) i = (i + 1) & (calls.handle_max - 1);
  return i;
}
static uint32_t free_slot(void) {
  uint32_t slot = calls.slot_free;
  while (slot < calls.slot_max && calls.slot[slot].used) slot++;
  calls.slot = calls_room(calls.slot, &calls.slot_max, slot + 1, sizeof *calls.slot);
  if (!calls.on) return NO_SLOT;
  calls.slot[slot] = (traced_request){.next = NO_SLOT, .used = true};
  calls.slot_free = slot + 1;
  return slot;
}
static void give_back_slot(uint32_t slot) {
  calls.slot[slot].used = false;
  if (slot < calls.slot_free) calls.slot_free = slot;
}
/* The one that an end of this handle means. */
static uint32_t slot_of_handle(uintptr_t key) {
  if (!calls.handle_max) return NO_SLOT;
  const traced_handle *h = &calls.handle[handle_home(key)];
  return h->used ? h->first : NO_SLOT;
}
static void forget_oldest(uintptr_t key) {
  const uint32_t hole = handle_home(key), slot = calls.handle[hole].first;
  calls.handle[hole].first = calls.slot[slot].next;
  give_back_slot(slot);
  if (calls.handle[hole].first != NO_SLOT) return;
  calls.handle[hole].used = false;
  calls.handle_count--;
  for (uint32_t i = (hole + 1) & (calls.handle_max - 1); calls.handle[i].used;
       i = (i + 1) & (calls.handle_max - 1)) { /* those behind it move up */
    const traced_handle moved = calls.handle[i];
    calls.handle[i].used = false;
    calls.handle[handle_home(moved.key)] = moved;
  }
}
static bool more_handles(void) {
  traced_handle *const old = calls.handle;
  const uint32_t old_max = calls.handle_max, max = old_max ? 2 * old_max : 64;
  traced_handle *more = calloc(max, sizeof *more);
  if (!more) return false;
  calls.handle = more;
  calls.handle_max = max;
  for (uint32_t i = 0; i < old_max; i++)
    if (old[i].used) calls.handle[handle_home(old[i].key)] = old[i];
  free(old);
  return true;
}
/* The program will not wait for it. */
static void request_is_free(uintptr_t key) {
  const uint32_t slot = slot_of_handle(key);
  if (slot == NO_SLOT) return;
  if (calls.slot[slot].is_active) traced_linef("f %u", slot);
  forget_oldest(key);
}
/* A handle that comes again while in use is shared when all that it stands for is complete; else the end of the older
   one was missed (see drop_stale). */
static traced_request *request_new(MPI_Request request, bool is_persistent, bool moves) {
  const uintptr_t key = KEY(request);
  if (2 * (calls.handle_count + 1) > calls.handle_max && !more_handles()) {
    calls_stop("out of memory");
    return NULL;
  }
  const uint32_t older = slot_of_handle(key);
  if (older != NO_SLOT && calls.slot[older].next == NO_SLOT &&
      (calls.slot[older].is_persistent || !is_complete(request)))
    request_is_free(key);
  const uint32_t slot = free_slot();
  if (!calls.on) return NULL;
  traced_handle *h = &calls.handle[handle_home(key)];
  if (h->used) {
    calls.slot[h->last].next = slot;
    h->last = slot;
  } else {
    *h = (traced_handle){key, slot, slot, true};
    calls.handle_count++;
  }
  traced_request *r = &calls.slot[slot];
  r->is_persistent = is_persistent;
  r->is_active = moves && !is_persistent;
  return r;
}
/* A request that the trace says nothing of may share the handle of others. */
static void calls_nothing(const MPI_Request *request) { request_new(*request, false, false); }

/* ---- calls --------------------------------------------------------------------------------------------- */
/* A call that has no line in a trace: is it told? */
static void calls_unsaid(nbc_kind kind, const char *name) {
  switch (kind) {
  case NBC_KIND_OTHER: /* persistent collectives and partitioned messages: when they are started */
  case NBC_KIND_SETUP:
  case NBC_KIND_TEST:
  case NBC_KIND_PROBE:
  case NBC_KIND_IPROBE:
  case NBC_KIND_WIN_CREATE:
  case NBC_KIND_COMM_DUP:
  case NBC_KIND_COMM_CREATE:
  case NBC_KIND_COMM_SPLIT:
  case NBC_KIND_COMM_FREE:
  case NBC_KIND_TOPOLOGY: return;
  default: calls_missing(name);
  }
}
static bool calls_here(const call *c, int rc) {
  if (rc != MPI_SUCCESS || !c->active) return false;
  if (!pthread_equal(calls.thread, pthread_self())) {
    calls_missing("calls of other threads");
    return false;
  }
  calls.pending_ns += c->t0_ns - calls.t_last_ns;
  calls.t_last_ns = c->t1_ns;
  return true;
}
static bool is_between_groups(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  return inter != 0;
}
/* how: s, ss, r; NULL request: blocking. ret false: nothing moves, or nobody can say what */
static bool message_text(char *text, size_t bytes, const char *how, MPI_Request *request,
                         long long size, int peer, int tag, MPI_Comm comm, bool is_init) {
  const uint32_t number = calls_comm(comm);
  char slot[24] = "", who[24] = "*", which[24] = "*";
  const bool moves = peer != MPI_PROC_NULL && number != UINT32_MAX;
  const traced_request *r = request ? request_new(*request, is_init, moves) : NULL;
  if (peer != MPI_PROC_NULL && !moves)
    calls_missing(is_between_groups(comm) ? "messages of intercommunicators"
                                          : "messages of communicators that are not known");
  if (!moves || (request && !r)) return false;
  if (r) snprintf(slot, sizeof slot, " %u", (uint32_t)(r - calls.slot));
  if (peer != MPI_ANY_SOURCE) snprintf(who, sizeof who, "%d", peer);
  if (tag != MPI_ANY_TAG) snprintf(which, sizeof which, "%d", tag & 0x0FFFFFFF);
  snprintf(text, bytes, "%s%s%s %s %lld %s %u", request ? "i" : "", how, slot, who, size, which,
           number);
  return true;
}
static void calls_message(const char *how, MPI_Request *request, uint64_t size, int peer, int tag,
                          MPI_Comm comm) {
  char text[160];
  if (message_text(text, sizeof text, how, request, (long long)size, peer, tag, comm, false))
    traced_line(text);
}
static void calls_init(const char *how, MPI_Request *request, uint64_t size, int peer, int tag,
                       MPI_Comm comm) {
  char text[160];
  if (!message_text(text, sizeof text, how, request, (long long)size, peer, tag, comm, true))
    return;
  const uint32_t slot = slot_of_handle(KEY(*request));
  if (slot != NO_SLOT) snprintf(calls.slot[slot].what, sizeof calls.slot[slot].what, "%.63s", text);
}
static void calls_start(int count, const MPI_Request *requests) {
  for (int i = 0; i < count; i++) {
    const uint32_t slot = slot_of_handle(KEY(requests[i]));
    if (slot == NO_SLOT) calls_missing("starts of persistent collectives or partitioned messages");
    if (slot == NO_SLOT || !calls.slot[slot].what[0]) continue;
    calls.slot[slot].is_active = true;
    traced_line(calls.slot[slot].what);
  }
}
static void calls_sendrecv(uint64_t out, int dest, int sendtag, uint64_t in, int source,
                           int recvtag, MPI_Comm comm) {
  char text[160], *words;
  const uint32_t slot = free_slot();
  if (!calls.on) return;
  if (message_text(text, sizeof text, "r", NULL, (long long)in, source, recvtag, comm, false)) {
    words = text + 1;
    traced_linef("ir %u%s", slot, words);
  }
  if (message_text(text, sizeof text, "s", NULL, (long long)out, dest, sendtag, comm, false))
    traced_line(text);
  if (source != MPI_PROC_NULL && calls.on && calls_comm(comm) != UINT32_MAX)
    traced_linef("w %u", slot);
  give_back_slot(slot);
}
static void calls_before(const call *c, int count, const MPI_Request *requests) {
  if (!c->active || count <= 0 || !requests) return;
  calls.before = calls_room(calls.before, &calls.before_max, (uint32_t)count, sizeof *calls.before);
  for (int i = 0; i < count && calls.on; i++) calls.before[i] = KEY(requests[i]);
}
static void calls_done(uintptr_t key) {
  const uint32_t slot = slot_of_handle(key);
  if (slot == NO_SLOT) return;
  if (calls.slot[slot].is_active) traced_linef("w %u", slot);
  calls.slot[slot].is_active = false;
  if (!calls.slot[slot].is_persistent) forget_oldest(key);
}
static void calls_done_all(int count) {
  for (int i = 0; i < count; i++) calls_done(calls.before[i]);
}
static void calls_done_some(int count, const int *which) {
  if (count != MPI_UNDEFINED)
    for (int i = 0; i < count; i++) calls_done(calls.before[which[i]]);
}
static void calls_cancelled(const MPI_Request *request) {
  const uint32_t slot = slot_of_handle(KEY(*request));
  if (slot != NO_SLOT && calls.slot[slot].is_active) traced_linef("k %u", slot);
}
/* What a probe matched, and where it came from. */
static void calls_matched(const call *c, MPI_Request *request, uint64_t size) {
  if (c->message == MPI_MESSAGE_NO_PROC || !c->matched.comm) {
    if (request) calls_nothing(request);
    if (c->message != MPI_MESSAGE_NO_PROC) calls_missing("matched receives");
    return;
  }
  calls_message("r", request, size, c->matched.source, c->matched.tag, c->matched.comm);
}
/* a, b: one number per rank of the communicator, or NULL */
static void calls_coll(const char *name, uint64_t count, uint64_t each, int root, MPI_Comm comm,
                       MPI_Request *request, bool in_place, const int *a, uint64_t a_bytes,
                       const int *b, uint64_t b_bytes) {
  const uint32_t number = calls_comm(comm);
  char slot[24] = "-";
  int size = 0;
  if (number == UINT32_MAX) {
    if (request) calls_nothing(request);
    calls_missing(is_between_groups(comm) ? "collectives of intercommunicators"
                                          : "collectives of communicators that are not known");
    return;
  }
  const traced_request *r = request ? request_new(*request, false, true) : NULL;
  if (request && !r) return;
  if (r) snprintf(slot, sizeof slot, "%u", (uint32_t)(r - calls.slot));
  if (a || b) PMPI_Comm_size(comm, &size);
  const size_t bytes = 200 + 2 * (size_t)size * 21;
  char *text = malloc(bytes);
  if (!text) {
    calls_stop("out of memory");
    return;
  }
  size_t at = (size_t)snprintf(text, bytes, "coll %s %llu %llu %d %u %s %s", name,
                               (unsigned long long)count, (unsigned long long)(each ? each : 1),
                               root, number, slot, in_place ? "i" : "-");
  for (int i = 0; a && i < size; i++)
    at += (size_t)snprintf(text + at, bytes - at, " %llu",
                           (unsigned long long)((uint64_t)a[i] * a_bytes));
  for (int i = 0; b && i < size; i++)
    at += (size_t)snprintf(text + at, bytes - at, " %llu",
                           (unsigned long long)((uint64_t)b[i] * b_bytes));
  traced_line(text);
  free(text);
}
static int own_count(const int *counts, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return counts[rank];
}
#include "overlap_preload_replay_calls.h"
