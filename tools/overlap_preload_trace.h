/* overlap_preload_trace.h: NBC_TRACE=1: a timeline of calls, transfers and sections in a ring of fixed size,
   NBC_TRACE_MIB (16) mebibytes per process, 64 bytes a record, the newest kept. It is written beside the
   report, nbc_overlap.PROGRAM.RUN.RANK.trace; overlap_trace makes a picture of it. All threads share the
   ring; a call is recorded when it returns, a transfer when the monitor accounts it, a section when it ends.
   NBC_TRACE=first: the first 4 MiB (NBC_TRACE_MIB) are kept, and at most 64 MiB of the whole run; once they
   are full nothing more is recorded, so that what it costs does not grow with the run.

   Who compares two processes' messages by their order (trace_match.h) must know from where on some may be
   missing: "cut" says so, by the ids of sends and receives, which are in the order of their posts. */
#include "trace_file.h"

/* NBC_TRACE_EVERY: a transfer's id says whether it began where the timeline looks: the monitor tells of it when
   the section may be over. */
#define TRACE_LEFT_OUT ((uint64_t)1 << 39)
enum { TRACE_LOOKS_GAP_NS = 1000 }; /* who computes longer between two looks does something else */
enum { TRACE_PARTNERS = 4096, TRACE_NAMES = 256, TRACE_UNORDERED = 64 };
enum { TRACE_FIRST_MIB = 4, TRACE_RUN_MIB = 64, TRACE_LEAST_RECORDS = 1024 };
static struct {
  trace_record *ring; /* NULL: off, or full */
  trace_record *kept; /* the same memory, also when it is full */
  bool keeps_first;
  uint32_t every;           /* of each section, the n-th time it is entered; 1: all */
  uint64_t cut_in, cut_out; /* receives, sends with this id or above may be missing; 0: none is */
  uint64_t mask, head;
  int64_t clock_ns[2], unix_ns[2]; /* at start and end */
  struct {
    uint64_t id;
    int64_t partner;
  } partners[TRACE_PARTNERS]; /* of transfers that ended last */
  const char *names[TRACE_NAMES];
  uint32_t name_count;
  int64_t raw_clock_ns[2], raw_ns[2], raw_err_ns[2]; /* the same against CLOCK_MONOTONIC_RAW */
  const nbc_table *table[2];                         /* of messages on this node, to others */
  bool table_is_measured[2];
  const char *unmatched; /* why messages cannot be told apart by their order; NULL: they can */
  uint32_t unordered[TRACE_UNORDERED]; /* communicators whose messages may overtake others */
  uint32_t unordered_count;
  const nbc_counter_source *counters; /* of NICs; NULL: this process reads none */
  bool counters_were_read;
  int64_t counters_next_ns, counters_read_ns[2]; /* the last reading: before, after */
  uint64_t counter_value[NBC_MAX_COUNTERS];
  bool counter_told[NBC_MAX_COUNTERS]; /* at the last reading */
} trace;

/* From this message on some may be missing. Only where one thread calls MPI: others match nothing. */
static void trace_cut_at(uint64_t *cut, uint64_t id) {
  if (!*cut || id < *cut) *cut = id;
}
/* Messages that are posted from here on may not be seen, or be received by calls that tell of none. */
static void trace_gap(void) {
  trace_cut_at(&trace.cut_in, me.next_id + 1);
  trace_cut_at(&trace.cut_out, me.next_id + 1);
}
static uint64_t oldest_receive(void);

/* The first records are all there will be. What is under way now will end unseen. */
APART static trace_record *trace_full(void) {
  static trace_record left_out;
  trace.ring = NULL;
  __atomic_store_n(&run.monitor->desc.on_seen, NULL, __ATOMIC_RELAXED); /* nobody asks any more */
  trace_cut_at(&trace.cut_in, me.next_id);
  trace_cut_at(&trace.cut_out, me.next_id);
  if (!run.multiple) trace_cut_at(&trace.cut_in, oldest_receive());
  return &left_out;
}
static trace_record *trace_next(void) {
  const uint64_t at = __atomic_fetch_add(&trace.head, 1, __ATOMIC_RELAXED);
  if (UNLIKELY(trace.keeps_first && at > trace.mask)) return trace_full();
  return &trace.kept[at & trace.mask];
}

/* Does it look for the end of something, and return at once? 0: no; else for what. */
static int trace_looks(const char *name) {
  if (strncmp(name, "MPI_Test", 8) == 0) return TRACE_LOOKS_TEST;
  if (strcmp(name, "MPI_Iprobe") == 0 || strcmp(name, "MPI_Improbe") == 0) return TRACE_LOOKS_PROBE;
  return 0;
}
/* Who waits by looking looks millions of times, perhaps for several things by turns: looks one right after the other are
   one record. What is computed between them is known as a sum. */
static bool trace_looks_again(int look, int64_t t1_ns, int64_t comp_ns) {
  trace_record *const r = me.looks;
  if (!r || me.looks_head != __atomic_load_n(&trace.head, __ATOMIC_RELAXED) ||
      comp_ns - r->xfer_ns > TRACE_LOOKS_GAP_NS)
    return false;
  r->end_ns = t1_ns;
  r->xfer_ns = comp_ns;
  r->max_overlap_ns++;
  r->case_of |= (uint8_t)look;
  return true;
}
/* What the call that is over was; `place`: where it was made, as far as that is known; look: what it looked for in vain. */
static void trace_call(const site *place, int64_t t0_ns, int64_t t1_ns, int look) {
  if (!place || me.skipped_sections) return;
  const int64_t comp_ns = nbc_recorder_comp_ns(me.recorder, t1_ns);
  if (look && trace_looks_again(look, t1_ns, comp_ns)) return;
  trace_record *const r = trace_next();
  *r = (trace_record){.begin_ns = t0_ns,
                      .end_ns = t1_ns,
                      .id = (uint64_t)(uintptr_t)place,
                      .size_bytes = me.next_id >> 40,
                      .xfer_ns = comp_ns,
                      .min_overlap_ns = comp_ns,
                      .max_overlap_ns = 1,
                      .partner = -1,
                      .what = TRACE_CALL,
                      .case_of = (uint8_t)look};
  me.looks = look && trace.ring ? r : NULL;
  me.looks_head = trace.head;
  if (me.looks != &trace.kept[(me.looks_head - 1) & trace.mask])
    me.looks = NULL; /* another thread's */
}

/* The monitor tells of a transfer by its id; with whom it was, was noted when it ended. */
static inline void trace_partner(uint64_t id, int partner) {
  if (!trace.ring) return;
  __atomic_store_n(&trace.partners[id % TRACE_PARTNERS].partner, partner, __ATOMIC_RELAXED);
  __atomic_store_n(&trace.partners[id % TRACE_PARTNERS].id, id, __ATOMIC_RELEASE);
}

/* Messages with this are missing, or out of order. */
static void trace_cannot_match(const char *why) {
  if (!trace.unmatched) trace.unmatched = why;
}

/* Messages of this communicator, the one with this number here, may overtake others. */
static void trace_unordered(uint32_t comm) {
  lock();
  uint32_t i = 0;
  while (i < trace.unordered_count && trace.unordered[i] != comm) i++;
  if (i == TRACE_UNORDERED)
    trace_cannot_match("more than 64 communicators allow overtaking");
  else if (i == trace.unordered_count)
    trace.unordered[trace.unordered_count++] = comm;
  unlock();
}
/* Does the program allow messages of a communicator to overtake others? What is in force, the MPI tells, by
   whichever call it came. */
APART static void trace_look_at_order(MPI_Comm handle, uint32_t comm) {
  MPI_Info info;
  char value[8] = "";
  int found = 0;
  if (!trace.kept || PMPI_Comm_get_info(handle, &info) != MPI_SUCCESS) return;
  PMPI_Info_get(info, "mpi_assert_allow_overtaking", sizeof value - 1, value, &found);
  PMPI_Info_free(&info);
  if (found && strcmp(value, "false") != 0) trace_unordered(comm);
}

/* A number for a communicator that all its processes give it: made of that of the one it was made from,
   how many were made from that before, which all of its processes do in one order [MPI 7.4], and its first
   process, for several may be split from one in one call. 0: not known. */
typedef struct trace_comm {
  uintptr_t key; /* the handle; 0: free */
  uint64_t number, made_count;
} trace_comm;
static struct {
  trace_comm *of; /* open addressing, at most half full */
  uint32_t mask, count;
} trace_comms;
enum { TRACE_COMMS = 256, TRACE_COMMS_MULTIPLE = 4096 }; /* at first; with MPI_THREAD_MULTIPLE */

static trace_comm *trace_comm_at(uintptr_t key) { /* it, or the free place for it */
  uint32_t i = (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 32) & trace_comms.mask;
  while (trace_comms.of[i].key && trace_comms.of[i].key != key) i = (i + 1) & trace_comms.mask;
  return &trace_comms.of[i];
}
/* Room for those that are there now, without those that are gone, and for as many again. Not where another thread may be
   looking something up, which takes no lock. */
static void trace_comms_grow(void) {
  trace_comm *const old = trace_comms.of;
  const uint32_t old_room = trace_comms.mask + 1;
  uint32_t alive = 0, room = TRACE_COMMS;
  for (uint32_t i = 0; i < old_room; i++) alive += old[i].number != 0;
  while (room < 4 * alive) room *= 2;
  trace_comm *const more = run.multiple ? NULL : map_memory(room * sizeof *more);
  if (!more) return;
  trace_comms.of = more;
  trace_comms.mask = room - 1;
  trace_comms.count = alive;
  for (uint32_t i = 0; i < old_room; i++)
    if (old[i].number) *trace_comm_at(old[i].key) = old[i];
  unmap_memory(old);
}
static void trace_comm_add(uintptr_t key, uint64_t number) {
  if (2 * trace_comms.count > trace_comms.mask) trace_comms_grow();
  trace_comm *c = trace_comm_at(key);
  if (!c->key && 2 * trace_comms.count > trace_comms.mask) return; /* not known */
  if (!c->key) trace_comms.count++;
  *c = (trace_comm){.key = key, .number = number};
}
static void trace_comms_begin(void) {
  trace_comms.mask = (run.multiple ? TRACE_COMMS_MULTIPLE : TRACE_COMMS) - 1;
  trace_comms.of = map_memory((trace_comms.mask + 1) * sizeof *trace_comms.of);
  if (trace_comms.of) trace_comm_add((uintptr_t)MPI_COMM_WORLD, 1);
}
static int64_t trace_wide(uintptr_t key) {
  const trace_comm *c = trace_comms.of ? trace_comm_at(key) : NULL;
  return c && c->key ? (int64_t)c->number : 0;
}
/* The world's rank of the first process; -1: of two groups, or not known. */
static int trace_first_process(MPI_Comm comm) {
  MPI_Group group, world;
  int inter = 1, first = 0, rank = -1;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter ||
      PMPI_Comm_group(comm, &group) != MPI_SUCCESS)
    return -1;
  if (PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
    PMPI_Group_translate_ranks(group, 1, &first, world, &rank);
    PMPI_Group_free(&world);
  }
  PMPI_Group_free(&group);
  return rank;
}
/* A call that all processes of `from` make is over; in it, this one got `made`, or none; is_ready: it may be used. */
static void trace_comm_made(uintptr_t from, const MPI_Comm *made, int rc, bool is_ready) {
  if (!trace.ring || !trace_comms.of) return;
  const int first = rc == MPI_SUCCESS && is_ready ? trace_first_process(*made) : -1;
  lock();
  trace_comm *parent = trace_comm_at(from);
  if (parent->key && parent->number) {
    uint64_t number = parent->number * 0x9E3779B97F4A7C15u + ++parent->made_count;
    number = (number ^ (uint64_t)(first + 1) << 40) * 0xC2B2AE3D27D4EB4Fu;
    number = (number ^ number >> 29) | (uint64_t)1 << 63; /* neither 0 nor the world's */
    if (rc != MPI_SUCCESS)                                /* who knows what the others have */
      parent->number = 0;
    else if (*made != MPI_COMM_NULL)
      trace_comm_add((uintptr_t)*made, number);
  }
  unlock();
}
static int *room_for_ranks(int count);
/* As a handle would be, but none is like it: of the members' ranks in the world, in order, and of the
   call's tag. 0: not all are there. */
static uintptr_t trace_members_key(MPI_Comm comm, int tag) {
  MPI_Group group;
  int count;
  uint64_t hash = 1 + (uint64_t)(uint32_t)tag;
  if (!run.same_node || PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return 0;
  PMPI_Group_size(group, &count);
  int *const ranks = room_for_ranks(2 * count);
  for (int i = 0; ranks && i < count; i++) ranks[i] = i;
  if (ranks) PMPI_Group_translate_ranks(group, count, ranks, run.world_group, ranks + count);
  for (int i = count; ranks && i < 2 * count; i++)
    hash = ranks[i] < 0 || !hash
               ? 0
               : (hash ^ hash >> 32 ^ (uint64_t)ranks[i]) * 0x9E3779B97F4A7C15u + 1;
  PMPI_Group_free(&group);
  return ranks && hash ? (hash & ~((uint64_t)1 << 62)) | (uint64_t)1 << 63 : 0;
}
/* A call that all members of `made` make, and nobody else, in whichever communicators: they tell it from others by who they
   are, its tag (below 0: it has none) and how often they did so before. Threads may make several at once, in any order:
   then of one tag no two. */
static void trace_comm_made_alone(const MPI_Comm *made, int rc, int tag) {
  static bool is_lost;
  if (!trace.ring || !trace_comms.of) return;
  if (rc != MPI_SUCCESS) is_lost = true; /* who knows what the others have */
  const bool is_in_order = tag >= 0 || !run.multiple;
  const uintptr_t key =
      is_lost || !is_in_order || *made == MPI_COMM_NULL ? 0 : trace_members_key(*made, tag);
  if (!key) return;
  lock();
  if (!trace_comm_at(key)->key) trace_comm_add(key, key);
  unlock();
  trace_comm_made(key, made, rc, true);
}
/* A number that all of its processes give to what they make in it together, in one order, and is no communicator. */
static uint64_t trace_number_within(uintptr_t key) {
  uint64_t number = 0;
  lock();
  trace_comm *const c = trace_comms.of ? trace_comm_at(key) : NULL;
  if (c && c->key && c->number) {
    number = (c->number * 0x9E3779B97F4A7C15u + ++c->made_count) * 0xC2B2AE3D27D4EB4Fu;
    number = (number ^ number >> 31) | (uint64_t)1 << 63;
  }
  unlock();
  return number;
}
/* Its handle may mean another one from here on. The place stays taken. */
static void trace_comm_gone(uintptr_t key) {
  trace_comm *c = trace_comms.of ? trace_comm_at(key) : NULL;
  if (c && c->key) c->number = 0;
}

/* Which message a transfer was: the partner's timeline has it too. On this node only. What goes to
   oneself is copied inside calls, as fast as memory is: no table measured that. */
static void trace_message(uint64_t id, int partner, bool incoming, int tag, uintptr_t comm_key,
                          uint32_t comm, uint64_t size_bytes, bool unseen) {
  trace_partner(id, partner);
  if (!trace.ring || partner < 0 || !run.same_node || (id & TRACE_LEFT_OUT)) return;
  const bool far = !run.same_node[partner];
  const nbc_table *const table = trace.table[far];
  const int64_t eager_bytes = nbc_table_eager_bytes(table);
  const bool eager = eager_bytes < 0 || size_bytes <= (uint64_t)eager_bytes;
  const int64_t wide = trace_wide(comm_key);
  *trace_next() = (trace_record){
      .begin_ns = tag,
      .end_ns = comm,
      .id = id,
      .size_bytes = size_bytes,
      .xfer_ns = nbc_table_time_ns(table, size_bytes),
      .min_overlap_ns = eager ? 0 : nbc_table_part_ns(table, size_bytes, (uint64_t)eager_bytes),
      .max_overlap_ns = wide,
      .partner = (int32_t)partner,
      .what = TRACE_MESSAGE,
      .kind = incoming,
      .peer = far ? NBC_PEER_OTHER_NODE : NBC_PEER_SAME_NODE,
      .case_of =
          (uint8_t)((eager ? TRACE_EAGER : 0) | (unseen ? TRACE_UNSEEN : 0) |
                    (nbc_table_tail_bytes(table) == 0 ? TRACE_NO_TAIL : 0) |
                    (trace.table_is_measured[far] && partner != run.rank ? TRACE_MEASURED : 0))};
  if (!trace.ring) trace_cut_at(incoming ? &trace.cut_in : &trace.cut_out, id);
}

static void trace_seen(void *user, const nbc_seen *seen) {
  if (!trace.ring || (seen->id & TRACE_LEFT_OUT)) return;
  if (trace.every > 1 && !seen->id) return; /* without a begin: nobody knows where it was */
  const uint64_t at = seen->id % TRACE_PARTNERS;
  (void)user;
  int64_t partner = -1;
  if (__atomic_load_n(&trace.partners[at].id, __ATOMIC_ACQUIRE) == seen->id)
    partner = __atomic_load_n(&trace.partners[at].partner, __ATOMIC_RELAXED);
  *trace_next() = (trace_record){.begin_ns = seen->begin_ns,
                                 .end_ns = seen->end_ns,
                                 .id = seen->id,
                                 .size_bytes = seen->size_bytes,
                                 .xfer_ns = seen->by_nic ? seen->err_ns : seen->xfer_ns,
                                 .min_overlap_ns = seen->min_overlap_ns,
                                 .max_overlap_ns = seen->max_overlap_ns,
                                 .partner = (int32_t)partner,
                                 .what = seen->by_nic ? TRACE_NIC : TRACE_TRANSFER,
                                 .kind = (uint8_t)seen->kind,
                                 .peer = (uint8_t)seen->peer,
                                 .case_of = (uint8_t)seen->case_of};
}

static uint64_t trace_name(const char *text) {
  char name[64]; /* as long as the report's; in one line */
  snprintf(name, sizeof name, "%s", text);
  for (char *at = name; *at; at++)
    if ((unsigned char)*at < 0x20) *at = '?';
  lock();
  uint32_t i = 0;
  while (i < trace.name_count && strcmp(trace.names[i], name) != 0) i++;
  if (i == trace.name_count && i < TRACE_NAMES && (trace.names[i] = keep_text(name)))
    trace.name_count++;
  unlock();
  return i;
}

/* Does the timeline leave this section out? Of those with one path in a thread it takes one of so many. */
static bool trace_skips(bool begins) {
  if (begins && me.skipped_sections) return ++me.skipped_sections;
  if (begins && (me.recorder->here->count - 1) % trace.every == 0) return false;
  if (begins) {
    me.next_id |= TRACE_LEFT_OUT;
    me.skipped_sections = 1;
    return true;
  }
  if (!me.skipped_sections) return false;
  if (--me.skipped_sections == 0) me.next_id &= ~TRACE_LEFT_OUT;
  return true;
}
/* Sections nest; one that is too deep is left out with its end. */
static void trace_section(const char *name, bool begins, int64_t t_ns) {
  if (!trace.ring || !me.on || (trace.every > 1 && trace_skips(begins))) return;
  if (begins) {
    if (me.open_sections < NBC_MAX_DEPTH) {
      me.section_begin_ns[me.open_sections] = t_ns;
      me.section_name[me.open_sections] = trace_name(name ? name : "?");
    }
    me.open_sections++;
  } else if (me.open_sections > 0 && --me.open_sections < NBC_MAX_DEPTH) {
    *trace_next() = (trace_record){.begin_ns = me.section_begin_ns[me.open_sections],
                                   .end_ns = t_ns,
                                   .id = me.section_name[me.open_sections],
                                   .size_bytes = me.next_id >> 40,
                                   .partner = -1,
                                   .what = TRACE_SECTION};
  }
}

static void trace_counter(size_t i, const int64_t read_ns[2], uint64_t value) {
  *trace_next() = (trace_record){.begin_ns = read_ns[0],
                                 .end_ns = read_ns[1],
                                 .id = i,
                                 .size_bytes = value,
                                 .partner = -1,
                                 .what = TRACE_COUNTER};
}
/* NICs' counters, at the end of a call: as often as takes a thousandth of the time, at most each millisecond. By
   the thread that reads them for the sections too; its time is the tool's. */
APART static void trace_read_counters(bool is_last) {
  uint64_t values[NBC_MAX_COUNTERS];
  const nbc_counter_source *s = trace.counters;
  if (!me.recorder || !me.recorder->counter_sums) return;
  const int64_t before_ns = nbc_clock_now_ns(run.clock);
  if (!trace.ring || (before_ns < trace.counters_next_ns && !is_last)) return;
  const bool read = s->read(s->user, values);
  const int64_t read_ns[2] = {before_ns, nbc_clock_now_ns(run.clock)};
  for (size_t i = 0; read && i < s->count; i++) {
    const bool moved = !trace.counters_were_read || values[i] != trace.counter_value[i];
    if (moved && trace.counters_were_read && !trace.counter_told[i])
      trace_counter(i, trace.counters_read_ns, trace.counter_value[i]);
    if (moved || is_last) trace_counter(i, read_ns, values[i]);
    trace.counter_told[i] = moved;
    trace.counter_value[i] = values[i];
  }
  if (read) memcpy(trace.counters_read_ns, read_ns, sizeof read_ns);
  trace.counters_were_read = trace.counters_were_read || read;
  const int64_t spent_ns = nbc_clock_now_ns(run.clock) - before_ns;
  trace.counters_next_ns = before_ns + (spent_ns > 1000 ? 1000 * spent_ns : 1000000);
  me.recorder->drain_ns += spent_ns;
}

/* The clock against the system's: the closest of some pairs of readings. */
static void trace_anchor(int which) {
  int64_t best_ns = INT64_MAX, best_raw_ns = INT64_MAX;
  for (int i = 0; i < 32; i++) {
    struct timespec now;
    const int64_t before_ns = nbc_clock_now_ns(run.clock);
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    const int64_t after_ns = nbc_clock_now_ns(run.clock);
    if (after_ns - before_ns >= best_raw_ns) continue;
    best_raw_ns = after_ns - before_ns;
    trace.raw_clock_ns[which] = before_ns + best_raw_ns / 2;
    trace.raw_ns[which] = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    trace.raw_err_ns[which] = best_raw_ns / 2 + 1;
  }
  for (int i = 0; i < 8; i++) {
    struct timespec now;
    const int64_t before_ns = nbc_clock_now_ns(run.clock);
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t after_ns = nbc_clock_now_ns(run.clock);
    if (after_ns - before_ns >= best_ns) continue;
    best_ns = after_ns - before_ns;
    trace.clock_ns[which] = before_ns + best_ns / 2;
    trace.unix_ns[which] = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
  }
}

/* Reads NBC_TRACE_EVERY. */
static void setting_trace_every(bool of_all) {
  const char *value = setting("NBC_TRACE_EVERY");
  char *end = NULL;
  const long every = value ? strtol(value, &end, 10) : 1;
  trace.every = 1;
  if (value && (*end || every < 1 || every > 1000000000))
    complain("NBC_TRACE_EVERY=%.60s is not a number from 1 to 1000000000: 1 is taken", value);
  else if (every > 1 && !of_all)
    complain("NBC_TRACE_EVERY is for NBC_TRACE=1 (nbc see --trace): it changes nothing here");
  else
    trace.every = (uint32_t)every;
  if (trace.every > 1) trace_cannot_match("not every instance of a section is kept");
}
/* Reads NBC_TRACE and NBC_TRACE_MIB. True: the monitor is to tell of its transfers. */
static bool setting_trace(void) {
  static const char *const kinds[] = {"0", "1", "calls", /* overlap_preload_replay.h */
                                      "first"};
  const int kind = setting_choice("NBC_TRACE", kinds, 4, 0);
  setting_trace_every(kind == 1);
  if (kind != 1 && kind != 3) return false;
  const char *value = setting("NBC_TRACE_MIB");
  char *end = NULL;
  const long otherwise = kind == 3 ? TRACE_FIRST_MIB : 16;
  long mib = value ? strtol(value, &end, 10) : otherwise;
  if (value && (*end || mib < 1 || mib > 65536)) {
    complain("NBC_TRACE_MIB=%.60s is not a number from 1 to 65536: %ld is taken", value, otherwise);
    mib = otherwise;
  }
  uint64_t records = 1, most_bytes = (uint64_t)mib << 20;
  if (kind == 3 && most_bytes * (uint64_t)run.size > (uint64_t)TRACE_RUN_MIB << 20)
    most_bytes = ((uint64_t)TRACE_RUN_MIB << 20) / (uint64_t)run.size;
  while (2 * records * sizeof *trace.ring <= most_bytes) records *= 2;
  if (kind == 3 && records < TRACE_LEAST_RECORDS) return false; /* too many processes */
  trace.ring = trace.kept = map_memory(records * sizeof *trace.ring);
  trace.mask = records - 1;
  trace.keeps_first = kind == 3;
  trace_comms_begin();
  if (!trace.ring) complain("NBC_TRACE: no memory for %ld MiB: no timeline", mib);
  return trace.ring != NULL;
}

/* ---- the file ------------------------------------------------------------------------------------- */
/* Places that records speak of, by address and call: numbered as they are met, once. */
static struct {
  const site **of;
  uint32_t *number, mask, count;
} trace_places;

static bool trace_add_place(trace_record *r) {
  const site *s = (const site *)(uintptr_t)r->id;
  uint32_t i = (uint32_t)((s->address * 0x9E3779B97F4A7C15u) >> 40) & trace_places.mask;
  while (trace_places.of[i] &&
         (trace_places.of[i]->address != s->address || trace_places.of[i]->call != s->call))
    i = (i + 1) & trace_places.mask;
  if (!trace_places.of[i]) {
    if (2 * trace_places.count > trace_places.mask) return false;
    trace_places.of[i] = s;
    trace_places.number[i] = trace_places.count++;
  }
  r->id = trace_places.number[i];
  return true;
}

/* From here on the ring is only written out. False: no memory. */
static bool trace_close(void) {
  trace_places.mask = (1 << 18) - 1;
  trace_places.of = map_memory(((size_t)trace_places.mask + 1) * sizeof *trace_places.of);
  trace_places.number = map_memory(((size_t)trace_places.mask + 1) * sizeof *trace_places.number);
  for (uint64_t i = 0; trace_places.of && trace_places.number && i <= trace.mask && i < trace.head;
       i++) {
    trace_record *r = &trace.kept[i];
    if (r->what == TRACE_CALL && !trace_add_place(r)) r->id = UINT32_MAX;
  }
  return trace_places.of && trace_places.number;
}

/* The kernel's name of this boot and of the namespace of time: containers may have clocks of their own. "": not known */
static const char *trace_boot(void) {
  static char id[128];
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd >= 0 ? read(fd, id, 63) : 0;
  if (fd >= 0) close(fd);
  id[n > 0 ? n : 0] = 0;
  const size_t length = strcspn(id, "\n");
  id[length] = 0;
  if (!length) return id;
  const ssize_t more = readlink("/proc/self/ns/time", id + length + 1, 63);
  if (more > 0) id[length] = ' ', id[length + 1 + (size_t)more] = 0;
  return id;
}

/* To the stream of the report: run.report_fd is open. */
static void trace_write(FILE *out) {
  if (trace.keeps_first && trace.head > trace.mask + 1) trace.head = trace.mask + 1;
  const uint64_t kept = trace.head < trace.mask + 1 ? trace.head : trace.mask + 1,
                 first = trace.head - kept;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  fprintf(out, TRACE_FIRST_LINE " %02x%02x%02x%02x\n", __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, 0,
          0, __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
  fprintf(out, "rank %d\nsize %d\npid %d\nhost %s\nprogram %s\n", run.rank, run.size, (int)run.pid,
          host, run.program);
  for (int i = 0; i < 2; i++)
    fprintf(out, "clock %lld %lld\n", (long long)trace.clock_ns[i], (long long)trace.unix_ns[i]);
  for (int i = 0; i < 2; i++)
    fprintf(out, "raw %lld %lld %lld\n", (long long)trace.raw_clock_ns[i],
            (long long)trace.raw_ns[i], (long long)trace.raw_err_ns[i]);
  fprintf(out, "boot %s\n", trace_boot());
  if (trace.cut_in || trace.cut_out)
    fprintf(out, "cut %llu %llu\n", (unsigned long long)trace.cut_in,
            (unsigned long long)trace.cut_out);
  for (uint32_t i = 0; i < trace.unordered_count; i++)
    fprintf(out, "unordered %u\n", trace.unordered[i]);
  if (trace.keeps_first) fprintf(out, "first %d\n", !trace.ring);
  if (trace.every > 1) fprintf(out, "every %u\n", trace.every);
  if (run.thread_count != 1) trace_cannot_match("several threads called MPI");
  if (run.multiple && !trace.ring) /* see trace_full */
    trace_cannot_match("several threads might call MPI, and more came than the timeline keeps");
  fprintf(out, "matches %d %s\n", !trace.unmatched, trace.unmatched ? trace.unmatched : "in order");
  for (uint32_t i = 0; i < trace.name_count; i++) fprintf(out, "name %u %s\n", i, trace.names[i]);
  for (size_t i = 0; trace.counters && i < trace.counters->count; i++)
    fprintf(out, "counter %zu %s\n", i, trace.counters->names[i]);
  for (uint32_t i = 0; i <= trace_places.mask; i++)
    if (trace_places.of[i])
      fprintf(out, "place %u %s %llu %s\t%s\n", trace_places.number[i], trace_places.of[i]->call,
              (unsigned long long)trace_places.of[i]->where->offset,
              trace_places.of[i]->where->module ? trace_places.of[i]->where->module : "?",
              trace_places.of[i]->where->symbol ? trace_places.of[i]->where->symbol : "?");
  fprintf(out, "seen %llu\nrecords %llu\n\n", (unsigned long long)trace.head,
          (unsigned long long)kept);
  for (uint64_t i = 0; i < kept; i++)
    fwrite(&trace.kept[(first + i) & trace.mask], sizeof *trace.kept, 1, out);
}
