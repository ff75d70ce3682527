/* overlap_preload.c: an overlap report of any MPI program, without recompiling it.

   Question: how much of my program's communication is hidden behind its computation?
   Command:  mpirun.openmpi -n 2 -x LD_PRELOAD=$PWD/build/libnbc_overlap_mpi.so ./program
             mpirun.mpich -n 2 -genv LD_PRELOAD $PWD/build/libnbc_overlap_mpich.so ./program
             build/overlap_report nbc_overlap.program.*.json
   Output:   one file per process, nbc_overlap.PROGRAM.RUN.RANK.json, RUN the same for all processes
             of a run (start time and process id of rank 0); overlap_report merges them.
   Or link:  cc ... -L build -lnbc_overlap_mpi $(mpicc --showme:link), before the MPI's own library.

   ENVIRONMENT (a wrong value is said once, and the default kept)
     NBC_REPORT_DIR   folder of the reports; default: the folder the program was started in. When it
                      cannot be written: $TMPDIR (not set: /tmp); when that cannot be written
                      either: standard error.
     NBC_TABLE        transfer times between processes of one node, "bytes seconds" per line, as
                      xfer_table writes them; default: a guess, and the report says so
     NBC_TABLE_OTHER  the same between nodes
     NBC_CLASSES      upper limits of the message-size classes, ascending: 256,4K,64K,1M,16M
     NBC_NIC_COUNTERS which NICs' counters the report shows by section, beside the bytes asked for:
                      bytes on the wire, retransmissions, drops, pauses. Names as `nicstat` lists
                      them: eth0 or mlx5_0,mlx5_1; auto: all of the best kind that are up; off
                      (default). They are the node's: all that crossed while a section of the lowest
                      rank on it was open, whoever sent it. Costs some ten microseconds where a
                      section begins or ends. lo counts messages within a node when the MPI sends
                      them by TCP (Open MPI: --mca pml ob1 --mca btl self,tcp).
     NBC_ON           1 measure (default); 0 only forward calls, write nothing;
                      later: start switched off, until MPI_Pcontrol(1)
     NBC_TEXT         1: also a text report per process, NAME.txt; default 0
     NBC_PEERS        1 (default): find out at start who shares a node. This takes one
                      MPI_Comm_split_type and one MPI_Bcast inside MPI_Init, so ALL processes of a
                      world must be preloaded. 0: no communication; peers count as unknown. Set it
                      when only some programs of a world are preloaded.

   MPI_Pcontrol, from the program:
     MPI_Pcontrol(0)          measuring off
     MPI_Pcontrol(1)          on (all threads: each from its next MPI call on)
     MPI_Pcontrol(2, "name")  a section begins
     MPI_Pcontrol(-2)         the innermost section ends
   Any level >= 2 or < 0 does the same. Without a readable name (Fortran cannot pass one) the section
   is called "level 2".

   WHAT IS A TRANSFER, AND WHEN
   A preload sees calls, not the wire. A transfer begins when the call that posts it is entered and
   ends when the call that completes it returns: the widest window, so that the minimum overlap
   stays a minimum. What MPI moves before a receive is posted or after a send is complete (small
   messages are buffered) is outside of the window and outside of the report. A call that fails
   moves nothing.
     point-to-point  count x size of the type; receives by the bytes that came, known at completion
                     (MPI_Isendrecv, partitioned: as posted). Nothing from or to MPI_PROC_NULL.
                     Freed while active: case 3.
     collective      one transfer per process: what it must at least send, or receive, whichever is
                     more, own part left out; whatever the algorithm. Barriers move nothing.
     one-sided       from the call to the synchronisation that completes it at the origin
     files           time in calls only
   Local calls (ranks, types, groups, time) count as computation. Calls made inside another MPI call
   (from callbacks, or by the MPI library itself) belong to the outer one. A thread is seen from its
   first MPI call on. Sessions without MPI_Init are forwarded, not measured.

   ENDS. The report is written inside MPI_Finalize; without it, when the program calls exit, _exit,
   quick_exit, abort or MPI_Abort, or dies of SIGABRT, SIGTERM, SIGINT, SIGSEGV, SIGBUS, SIGFPE or
   SIGILL, as far as the program left these to the system or to the MPI, whose own action follows.
   After SIGKILL there is none: some MPIs kill so what is left of a run in which one process failed.
   Children of fork write nothing; what MPI_Comm_spawn starts is a run of its own.

   HOW IT IS BUILT
   Each wrapper defines MPI_X and PMPI_X and calls the next PMPI_X in link order: Fortran libraries
   reach C either way (Open MPI's call PMPI_X, MPICH's call MPI_X), so all of mpif.h, `use mpi`,
   `use mpi_f08` and C++ pass here exactly once. Other PMPI tools must come first in LD_PRELOAD.
   Two clock readings per call, no allocation per call (a longer request array than ever before
   enlarges a buffer), a lock only under MPI_THREAD_MULTIPLE. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
/* Memory by mmap: a report must be writable from a signal handler that interrupted malloc. */
#include <stddef.h>
static void *map_memory(size_t size_bytes);
static void unmap_memory(void *memory);
#define NBC_MALLOC(size_bytes) map_memory(size_bytes)
#define NBC_FREE(memory)       unmap_memory(memory)
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_WITH_NBC
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"

/* Its parameter is const in some versions and not in others: ours is declared by its wrapper alone. */
#define MPI_Pready_list  mpi_h_Pready_list
#define PMPI_Pready_list mpi_h_PPready_list
#include <mpi.h>
#undef MPI_Pready_list
#undef PMPI_Pready_list
#ifdef OPEN_MPI
#  include <mpi-ext.h>
#endif
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VISIBLE             __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

static void *map_memory(size_t size_bytes) {
  size_t *p =
      mmap(NULL, size_bytes + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  *p = size_bytes + 64;
  return (char *)p + 64;
}
static void unmap_memory(void *memory) {
  if (memory) munmap((char *)memory - 64, *(size_t *)(void *)((char *)memory - 64));
}

/* ================================================================================================
 */
/* State */
/* ================================================================================================
 */
#define MAX_TRANSFERS 65536 /* requests and one-sided operations at once, per process */
#define NOTE_BYTES    400

static struct {
  bool recording;   /* between Init and the report, in this process */
  bool multiple;    /* MPI_THREAD_MULTIPLE: shared tables need the lock */
  bool switched_on; /* MPI_Pcontrol */
  uint32_t epoch;   /* changes with switched_on: threads follow at their next call */
  int written;      /* the report: 0 no, 1 yes or under way */
  pid_t pid;
  nbc_monitor *monitor;
  const nbc_clock *clock;
  nbc_table *table[2];
  uint64_t edges[NBC_MAX_CLASSES];
  pthread_key_t thread_end;
  int lock;
  uint32_t threads_count;
  int rank, size;
  bool speaks; /* this process prints messages: rank 0 */
  bool first_of_node;
  char program[64], run_name[128], library[96], folder[1024];
  char notes[8][NOTE_BYTES];
  int notes_count;
  uint64_t freed_count, lost_count;
  MPI_Group world_group;
  unsigned char *same_node; /* per rank of the world; NULL = not known */
  struct peers *peers_list;
  uint32_t peers_generation; /* changes when a communicator or window is freed */
  int memory_fd;             /* /proc/self/mem: to look at a pointer that may be none */
  int report_fd;
  FILE *report_file;
  bool report_failed, text;
  struct sigaction old_action[NSIG];
} run = {.pid = -1, .rank = -1, .size = 1, .memory_fd = -1};

typedef struct peers peers;
#define CACHED_PEERS 8

/* The calling thread. initial-exec: one instruction to reach it; a preload is loaded at start. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
  bool inside;                /* in a wrapper: calls that MPI or callbacks make are not counted */
  volatile sig_atomic_t busy; /* in our own code: a signal handler must keep out */
  bool on;
  uint32_t epoch;
  nbc_recorder *recorder;
  uint64_t next_id;
  uint32_t generation;
  uintptr_t cached_key[CACHED_PEERS];
  const peers *cached[CACHED_PEERS];
  MPI_Message message; /* the last one found by Mprobe, and who sent it */
  nbc_peer message_peer;
  void *requests; /* copies of request and status arrays, grown on demand */
  int requests_count;
} me;

/* One intercepted call. */
typedef struct call {
  bool active;
  int64_t t0_ns, t1_ns;
  MPI_Message message;
  MPI_Status status; /* in place of MPI_STATUS_IGNORE */
} call;

static inline void lock(void) {
  if (!run.multiple) return;
  while (__atomic_exchange_n(&run.lock, 1, __ATOMIC_ACQUIRE))
    while (__atomic_load_n(&run.lock, __ATOMIC_RELAXED)) sched_yield();
}
static inline void unlock(void) {
  if (run.multiple) __atomic_store_n(&run.lock, 0, __ATOMIC_RELEASE);
}

/* Something the user should know: into the report, and once on standard error. */
static void complain(const char *format, ...) {
  char text[NOTE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (run.speaks) fprintf(stderr, "nbc_overlap: %s\n", text);
  if (run.notes_count < (int)(sizeof run.notes / sizeof *run.notes))
    memcpy(run.notes[run.notes_count++], text, sizeof text);
}

/* The MPI's own function. */
static void *next_function(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function) return function;
  fprintf(stderr, "nbc_overlap: the MPI library has no %s\n", name);
  abort();
}
#define REAL(name) REAL_OF(PMPI_, name)
#define REAL_OF(prefix, name)                                                                      \
  (real_##name ? real_##name : (*(void **)&real_##name = next_function(#prefix #name), real_##name))

/* ================================================================================================
 */
/* The calling thread, and entering and leaving calls */
/* ================================================================================================
 */
/* First call of a thread, or measuring was switched meanwhile. */
static bool follow(int64_t t_ns) {
  const bool on = __atomic_load_n(&run.switched_on, __ATOMIC_RELAXED);
  me.epoch = __atomic_load_n(&run.epoch, __ATOMIC_ACQUIRE);
  if (!me.recorder) {
    if (nbc_recorder_attach_at(run.monitor, t_ns, &me.recorder) != NBC_OK) return false;
    /* Ids stay unique also when a recorder serves one thread after another. */
    me.next_id = (uint64_t)__atomic_add_fetch(&run.threads_count, 1, __ATOMIC_RELAXED) << 40;
    pthread_setspecific(run.thread_end, me.recorder);
  }
  nbc_recorder_switch_at(me.recorder, on, t_ns);
  me.on = on;
  return true;
}

static void thread_ends(void *recorder) {
  if (!run.recording || !me.recorder) return;
  me.recorder = NULL;
  me.epoch = 0;
  unmap_memory(me.requests);
  me.requests = NULL;
  me.requests_count = 0;
  nbc_recorder_detach(recorder);
}

static inline bool enter(call *c, nbc_kind kind) {
  c->active = false;
  if (me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) return false;
  me.busy = 1;
  c->t0_ns = nbc_clock_now_ns(run.clock);
  c->t1_ns = 0;
  if (UNLIKELY(me.epoch != __atomic_load_n(&run.epoch, __ATOMIC_RELAXED)) && !follow(c->t0_ns)) {
    me.busy = 0;
    return false;
  }
  nbc_call_enter_at(me.recorder, kind, c->t0_ns);
  me.inside = c->active = true;
  me.busy = 0;
  return true;
}

/* When the call returned: the time of all that ended in it. 0 until then: an exception passed. */
static inline int64_t returned(call *c) {
  if (!c->t1_ns) c->t1_ns = nbc_clock_now_ns(run.clock);
  return c->t1_ns;
}

/* Runs at the end of every wrapper, also when an error handler throws a C++ exception through it.
 */
static inline void leave(call (*own)[1]) {
  call *c = *own;
  if (!c->active) return;
  nbc_call_exit_at(me.recorder, returned(c));
  me.inside = false;
  me.busy = 0;
}
#define OWN(s) (c->active && (s) == MPI_STATUS_IGNORE ? &c->status : (s))

/* The MPI's function returned: what follows is ours. */
static inline int back(call *c, int rc) {
  if (c->active) {
    me.busy = 1;
    c->t1_ns = nbc_clock_now_ns(run.clock);
  }
  return rc;
}
#define BACK(rc) back(c, rc)

/* ================================================================================================
 */
/* Who is near: same node or not, by communicator and rank */
/* ================================================================================================
 */
typedef struct neighbors {
  int rank, in_count, out_count;
  int *in, *out;
} neighbors;

struct peers { /* of a communicator or a window; made at first use, dropped when that is freed */
  uintptr_t key;
  struct peers *next;
  bool inter;
  int rank, size, remote_size;
  nbc_peer all;        /* class of all others; UNKNOWN when they differ */
  unsigned char *each; /* class by rank; NULL = `all` */
  neighbors *topology;
};

/* Handles are pointers (Open MPI) or numbers that name their kind (MPICH): no two are equal. */
#define KEY(handle) ((uintptr_t)(handle))

static nbc_peer class_of_world_rank(int rank) {
  if (!run.same_node || rank < 0 || rank >= run.size) return NBC_PEER_UNKNOWN;
  return run.same_node[rank] ? NBC_PEER_SAME_NODE : NBC_PEER_OTHER_NODE;
}

/* Classes of a group: translated to the world, without communication. */
static void classify(peers *p, MPI_Group group) {
  PMPI_Group_size(group, &p->size);
  PMPI_Group_rank(group, &p->rank);
  int *ranks = map_memory(2 * (size_t)p->size * sizeof *ranks);
  p->each = map_memory((size_t)p->size);
  p->all = NBC_PEER_UNKNOWN;
  if (!run.same_node || !ranks || !p->each) {
    unmap_memory(ranks);
    unmap_memory(p->each);
    p->each = NULL;
    return;
  }
  for (int i = 0; i < p->size; i++) ranks[i] = i;
  PMPI_Group_translate_ranks(group, p->size, ranks, run.world_group, ranks + p->size);
  bool uniform = true;
  int first = -1;
  for (int i = 0; i < p->size; i++) {
    p->each[i] = (unsigned char)class_of_world_rank(ranks[p->size + i]);
    if (i == p->rank) continue;
    if (first < 0) first = i;
    uniform = uniform && p->each[i] == p->each[first];
  }
  if (first < 0)
    p->all = NBC_PEER_SAME_NODE; /* only ourselves */
  else if (uniform)
    p->all = (nbc_peer)p->each[first];
  unmap_memory(ranks);
}

static void classify_comm(peers *p, MPI_Comm comm) {
  int inter = 0;
  MPI_Group group;
  PMPI_Comm_test_inter(comm, &inter);
  p->inter = inter != 0;
  if (p->inter) {
    PMPI_Comm_rank(comm, &p->rank);
    PMPI_Comm_size(comm, &p->size);
    PMPI_Comm_remote_size(comm, &p->remote_size);
    return;
  }
  PMPI_Comm_group(comm, &group);
  classify(p, group);
  PMPI_Group_free(&group);
}

/* Looks for what is known; with make, finds out. `handle` is an MPI_Comm or an MPI_Win. */
static const peers *find_peers(uintptr_t key, const MPI_Comm *comm, const MPI_Win *win) {
  const uint32_t generation = __atomic_load_n(&run.peers_generation, __ATOMIC_ACQUIRE);
  const size_t at = (key ^ (key >> 8)) % CACHED_PEERS;
  if (me.generation != generation) {
    memset(me.cached_key, 0, sizeof me.cached_key);
    me.generation = generation;
  }
  if (me.cached_key[at] == key && me.cached[at]) return me.cached[at];
  lock();
  peers *p = run.peers_list;
  while (p && p->key != key) p = p->next;
  unlock();
  if (!p && (comm || win) && (p = map_memory(sizeof *p))) {
    p->key = key;
    if (comm) {
      classify_comm(p, *comm);
    } else {
      MPI_Group group;
      PMPI_Win_get_group(*win, &group);
      classify(p, group);
      PMPI_Group_free(&group);
    }
    lock();
    p->next = run.peers_list; /* twice when two threads come at once: harmless */
    run.peers_list = p;
    unlock();
  }
  if (p) me.cached[at] = p, me.cached_key[at] = key;
  return p;
}

static const peers no_peers = {.size = 1, .all = NBC_PEER_UNKNOWN};
static const peers *peers_of_comm(MPI_Comm comm) {
  const peers *p = find_peers(KEY(comm), &comm, NULL);
  return p ? p : &no_peers;
}
static const peers *peers_of_win(MPI_Win win) {
  const peers *p = find_peers(KEY(win), NULL, &win);
  return p ? p : &no_peers;
}
static nbc_peer class_of(const peers *p, int rank) {
  return p->each && rank >= 0 && rank < p->size ? (nbc_peer)p->each[rank] : NBC_PEER_UNKNOWN;
}

static void drop_peers(uintptr_t key) { /* the handle was freed and may come back as another */
  lock();
  for (peers **link = &run.peers_list; *link;) {
    peers *p = *link;
    if (p->key != key) {
      link = &p->next;
      continue;
    }
    *link = p->next;
    if (p->topology) {
      unmap_memory(p->topology->in);
      unmap_memory(p->topology->out);
      unmap_memory(p->topology);
    }
    unmap_memory(p->each);
    unmap_memory(p);
  }
  __atomic_add_fetch(&run.peers_generation, 1, __ATOMIC_RELEASE);
  unlock();
}

/* ---- neighbours in a topology ---------------------------------------------------------------- */
static void cart_neighbors(neighbors *n, MPI_Comm comm) {
  int dims = 0;
  PMPI_Cartdim_get(comm, &dims);
  n->in = map_memory(2 * sizeof(int) * (size_t)(dims ? dims : 1));
  if (!n->in) return;
  for (int d = 0; d < dims; d++) PMPI_Cart_shift(comm, d, 1, &n->in[2 * d], &n->in[2 * d + 1]);
  n->in_count = 2 * dims;
}
static void graph_neighbors(neighbors *n, MPI_Comm comm) {
  int count = 0;
  PMPI_Graph_neighbors_count(comm, n->rank, &count);
  n->in = map_memory(sizeof(int) * (size_t)(count ? count : 1));
  if (n->in && PMPI_Graph_neighbors(comm, n->rank, count, n->in) == MPI_SUCCESS)
    n->in_count = count;
}
static void dist_graph_neighbors(neighbors *n, MPI_Comm comm) {
  int in = 0, out = 0, weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  int *weights = map_memory(sizeof(int) * (size_t)(in + out + 1));
  n->in = map_memory(sizeof(int) * (size_t)(in + 1));
  n->out = map_memory(sizeof(int) * (size_t)(out + 1));
  if (weights && n->in && n->out &&
      PMPI_Dist_graph_neighbors(comm, in, n->in, weights, out, n->out, weights + in) == MPI_SUCCESS)
    n->in_count = in, n->out_count = out;
  unmap_memory(weights);
}

static const neighbors *neighbors_of(MPI_Comm comm) {
  static const neighbors none = {0};
  peers *p = (peers *)(uintptr_t)peers_of_comm(comm);
  int topology = MPI_UNDEFINED;
  if (p == &no_peers) return &none;
  lock();
  if (!p->topology) {
    neighbors *n = map_memory(sizeof *n);
    PMPI_Topo_test(comm, &topology);
    if (n) {
      n->rank = p->rank;
      if (topology == MPI_CART)
        cart_neighbors(n, comm);
      else if (topology == MPI_GRAPH)
        graph_neighbors(n, comm);
      else if (topology == MPI_DIST_GRAPH)
        dist_graph_neighbors(n, comm);
      if (topology != MPI_DIST_GRAPH) n->out_count = n->in_count;
      p->topology = n;
    }
  }
  unlock();
  return p->topology ? p->topology : &none;
}
static bool is_other(const neighbors *n, int rank) { return rank >= 0 && rank != n->rank; }
static const int *neighbor_ranks(const neighbors *n, bool out) {
  return out && n->out ? n->out : n->in;
}

static uint64_t other_neighbors(MPI_Comm comm, bool out) {
  const neighbors *n = neighbors_of(comm);
  const int *ranks = neighbor_ranks(n, out);
  uint64_t count = 0;
  for (int i = 0; i < (out ? n->out_count : n->in_count); i++) count += is_other(n, ranks[i]);
  return count;
}

/* ---- sizes ----------------------------------------------------------------------------------- */
static uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return (uint64_t)count * (uint64_t)size;
}
static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t others(MPI_Comm comm) { /* processes that this one exchanges data with */
  const peers *p = peers_of_comm(comm);
  return (uint64_t)(p->inter ? p->remote_size : p->size - 1);
}
static bool is_root(MPI_Comm comm, int root) {
  const peers *p = peers_of_comm(comm);
  return p->inter ? root == MPI_ROOT : root == p->rank;
}
/* Bytes at the root and elsewhere; between two groups some take no part (MPI_PROC_NULL). */
#define ROOTED(at_root, elsewhere)                                                                 \
  (is_root(comm, root) ? (at_root) : root == MPI_PROC_NULL ? 0 : (elsewhere))
#define SOME(bytes) (others(comm) ? (bytes) : 0)

/* ================================================================================================
 */
/* Transfers under way: by request, or by window */
/* ================================================================================================
 */
/* Completed small sends share one handle in both MPIs, so a handle leads to a queue: first posted,
   first completed, own thread's first. Fixed capacity; open addressing over the queues' heads. */
typedef struct transfer {
  uintptr_t key;
  uint64_t id;      /* 0: nothing to record (MPI_PROC_NULL, barrier, inactive, measuring is off) */
  uint64_t send_id; /* second transfer of the same request (Isendrecv) */
  uint64_t size_bytes;
  nbc_recorder *owner;
  uintptr_t comm_key;  /* to tell the sender of a receive from any source */
  uint32_t next, tail; /* queue of this key; tail is valid at its head */
  int target;          /* one-sided: rank in the window */
  unsigned char kind, peer;
  bool receives, persistent, cancelling;
} transfer;

#define SLOTS (2 * MAX_TRANSFERS)
static uint32_t slots[SLOTS];            /* index of a queue's head; 0 = empty */
static transfer pool[MAX_TRANSFERS + 1]; /* 0 is not used; pages are touched when needed */
static uint32_t pool_free, pool_used;

static uint32_t slot_of(uintptr_t key) { /* its slot, or the empty one for it */
  uint32_t i = (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 40) & (SLOTS - 1);
  while (slots[i] && pool[slots[i]].key != key) i = (i + 1) & (SLOTS - 1);
  return i;
}

static void close_gap(uint32_t hole) { /* keys further on that could stand here move back */
  for (uint32_t i = (hole + 1) & (SLOTS - 1); slots[i]; i = (i + 1) & (SLOTS - 1)) {
    const uint32_t home =
        (uint32_t)(((uint64_t)pool[slots[i]].key * 0x9E3779B97F4A7C15u) >> 40) & (SLOTS - 1);
    if (((i - home) & (SLOTS - 1)) < ((i - hole) & (SLOTS - 1))) continue;
    slots[hole] = slots[i];
    hole = i;
  }
  slots[hole] = 0;
}

/* Appends to the queue of x->key. False when the pool is exhausted. */
static bool put(const transfer *x) {
  uint32_t index = pool_free;
  if (index)
    pool_free = pool[index].next;
  else if (pool_used < MAX_TRANSFERS)
    index = ++pool_used;
  else
    return false;
  pool[index] = *x;
  pool[index].next = 0;
  pool[index].tail = index;
  const uint32_t slot = slot_of(x->key);
  if (slots[slot]) {
    transfer *head = &pool[slots[slot]];
    pool[head->tail].next = index;
    head->tail = index;
  } else {
    slots[slot] = index;
  }
  return true;
}

/* Removes `index`, which follows `before` (0: is the head) in the queue of a slot. */
static void take_out(uint32_t slot, uint32_t before, uint32_t index) {
  const uint32_t head = slots[slot], next = pool[index].next;
  if (before) {
    pool[before].next = next;
    if (pool[head].tail == index) pool[head].tail = before;
  } else if (next) {
    pool[next].tail = pool[head].tail;
    slots[slot] = next;
  } else {
    close_gap(slot);
  }
  pool[index].next = pool_free;
  pool_free = index;
}

/* The transfer that a completion of this handle means: the oldest of this thread, else the oldest.
 */
static uint32_t find_oldest(uintptr_t key, uint32_t *slot, uint32_t *before) {
  *slot = slot_of(key);
  *before = 0;
  uint32_t previous = 0;
  for (uint32_t i = slots[*slot]; i; previous = i, i = pool[i].next) {
    if (pool[i].owner != me.recorder) continue;
    *before = previous;
    return i;
  }
  return slots[*slot];
}

/* The one shared handle learns itself: a handle that comes again while in use is shared when MPI
   says it is complete; else we missed its end, and the old transfer must not take the new one's. */
static void drop_stale(MPI_Request request) {
  static int (*real_Request_get_status)(MPI_Request, int *, MPI_Status *);
  MPI_Status status;
  int complete = 0;
  const uint32_t slot = slot_of(KEY(request));
  if (!slots[slot] || pool[slots[slot]].next) return; /* new, or known to be shared */
  /* Completed by another thread that has not come to tell yet, while MPI gave us its handle. */
  if (pool[slots[slot]].owner != me.recorder) return;
  if (REAL(Request_get_status)(request, &complete, &status) == MPI_SUCCESS && complete &&
      !pool[slots[slot]].persistent)
    return;
  take_out(slot, 0, slots[slot]);
}

/* ---- beginnings ------------------------------------------------------------------------------ */
static void begin(call *c, transfer *x) {
  x->id = ++me.next_id;
  x->owner = me.recorder;
  nbc_xfer_begin_at(me.recorder, x->id, x->size_bytes, (nbc_kind)x->kind, (nbc_peer)x->peer,
                    c->t0_ns);
}

/* Notes the transfer and begins it when it moves something; without room its end will not be seen:
   case 3. Returns with the lock as it was. */
static void follow_transfer(call *c, transfer *x, bool moves) {
  if (moves) x->id = ++me.next_id;
  x->owner = me.recorder;
  if (put(x)) {
    if (moves)
      nbc_xfer_begin_at(me.recorder, x->id, x->size_bytes, (nbc_kind)x->kind, (nbc_peer)x->peer,
                        c->t0_ns);
  } else if (moves) {
    nbc_xfer_end_only_at(me.recorder, x->size_bytes, (nbc_kind)x->kind, (nbc_peer)x->peer,
                         c->t0_ns);
    __atomic_add_fetch(&run.lost_count, 1, __ATOMIC_RELAXED);
  }
}

/* A request came back from a posting call. moves: it stands for a transfer. */
static void post(call *c, MPI_Request request, transfer x, bool moves) {
  if (request == MPI_REQUEST_NULL) return;
  x.key = KEY(request);
  lock();
  drop_stale(request);
  follow_transfer(c, &x, moves && me.on && !x.persistent);
  unlock();
}

static void post_nothing(call *c, MPI_Request request) { post(c, request, (transfer){0}, false); }

static void post_send(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type, int dest,
                      MPI_Comm comm, bool persistent) {
  transfer x = {.kind = persistent ? NBC_KIND_START : NBC_KIND_ISEND, .persistent = persistent};
  const bool moves = dest != MPI_PROC_NULL;
  if (moves) {
    x.size_bytes = bytes_of(count, type);
    x.peer = (unsigned char)class_of(peers_of_comm(comm), dest);
    x.target = 1;
  }
  post(c, request, x, moves);
}

static void post_recv(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type, int source,
                      MPI_Comm comm, bool persistent) {
  transfer x = {.kind = persistent ? NBC_KIND_START : NBC_KIND_IRECV,
                .persistent = persistent,
                .receives = true};
  const bool moves = source != MPI_PROC_NULL;
  if (moves) {
    x.size_bytes = bytes_of(count, type);
    x.peer = (unsigned char)class_of(peers_of_comm(comm), source);
    x.comm_key = KEY(comm);
    x.target = 1;
  }
  post(c, request, x, moves);
}

static void post_matched(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type) {
  const transfer x = {.kind = NBC_KIND_IRECV,
                      .receives = true,
                      .size_bytes = bytes_of(count, type),
                      .peer = c->message == me.message ? (unsigned char)me.message_peer
                                                       : NBC_PEER_UNKNOWN};
  post(c, request, x, c->message != MPI_MESSAGE_NO_PROC);
}

#if MPI_VERSION >= 4
/* One request, two transfers: the send is begun by hand and hangs on the receive, which counts as
   posted: the status of the two together does not tell its bytes in MPICH 4.0. */
static void post_sendrecv(call *c, MPI_Request request, MPI_Count send_count,
                          MPI_Datatype send_type, int dest, MPI_Count recv_count,
                          MPI_Datatype recv_type, int source, MPI_Comm comm) {
  transfer x = {.kind = NBC_KIND_IRECV};
  const peers *p = peers_of_comm(comm);
  if (dest != MPI_PROC_NULL && me.on) {
    x.send_id = ++me.next_id;
    nbc_xfer_begin_at(me.recorder, x.send_id, bytes_of(send_count, send_type), NBC_KIND_ISEND,
                      class_of(p, dest), c->t0_ns);
  }
  if (source != MPI_PROC_NULL) {
    x.size_bytes = bytes_of(recv_count, recv_type);
    x.peer = (unsigned char)class_of(p, source);
  }
  post(c, request, x, source != MPI_PROC_NULL);
}

/* A partitioned receive moves what was agreed on; its status need not tell the bytes. */
static void post_parts(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type, int source,
                       MPI_Comm comm) {
  transfer x = {.kind = NBC_KIND_START, .persistent = true, .target = source != MPI_PROC_NULL};
  x.size_bytes = x.target ? bytes_of(count, type) : 0;
  x.peer = (unsigned char)class_of(peers_of_comm(comm), source);
  post(c, request, x, x.target);
}
#endif

static void post_collective(call *c, MPI_Request request, nbc_kind kind, uint64_t size_bytes,
                            MPI_Comm comm, bool persistent) {
  const transfer x = {.kind = persistent ? NBC_KIND_START : (unsigned char)kind,
                      .persistent = persistent,
                      .size_bytes = size_bytes,
                      .peer = (unsigned char)peers_of_comm(comm)->all,
                      .target = size_bytes > 0};
  post(c, request, x, size_bytes > 0);
}

/* A persistent request was started. */
static void started(call *c, MPI_Request request) {
  lock();
  transfer *x = &pool[slots[slot_of(KEY(request))]];
  if (x != pool && x->persistent && x->target && me.on) begin(c, x);
  unlock();
}

/* ---- ends ------------------------------------------------------------------------------------ */
static void end(call *c, const transfer *x) {
  if (x->owner == me.recorder)
    nbc_xfer_end_at(me.recorder, x->id, returned(c));
  else
    nbc_foreign_end(x->owner, x->id);
}

/* A receive: its true size and sender are known now. */
static void end_receive(call *c, const transfer *x, const MPI_Status *status) {
  MPI_Count got = 0;
  int cancelled = 0;
  nbc_peer peer = (nbc_peer)x->peer;
  if (x->cancelling && PMPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled &&
      x->owner == me.recorder) {
    nbc_xfer_cancel(me.recorder, x->id);
    return;
  }
  if (PMPI_Get_elements_x(status, MPI_BYTE, &got) != MPI_SUCCESS || got < 0)
    got = (MPI_Count)x->size_bytes;
  if (peer == NBC_PEER_UNKNOWN && x->comm_key) {
    const peers *p = find_peers(x->comm_key, NULL, NULL);
    if (p) peer = class_of(p, status->MPI_SOURCE);
  }
  if (x->owner == me.recorder)
    nbc_xfer_end_sized_at(me.recorder, x->id, (uint64_t)got, peer, returned(c));
  else
    nbc_foreign_end_sized(x->owner, x->id, (uint64_t)got, peer);
}

/* Takes the transfer of a completed request; a persistent one stays, inactive. */
static bool take(MPI_Request request, transfer *x, bool free_persistent) {
  uint32_t slot, before;
  lock();
  const uint32_t index = find_oldest(KEY(request), &slot, &before);
  if (index) {
    *x = pool[index];
    if (x->persistent && !free_persistent)
      pool[index].id = 0, pool[index].cancelling = false;
    else
      take_out(slot, before, index);
  }
  unlock();
  return index != 0;
}

/* status may be NULL: it was ended before, or nothing is known of it */
static void completed(call *c, MPI_Request request, const MPI_Status *status) {
  transfer x;
  if (request == MPI_REQUEST_NULL || !take(request, &x, false)) return;
  if (x.send_id) {
    transfer send = {.id = x.send_id, .owner = x.owner ? x.owner : me.recorder};
    end(c, &send);
  }
  if (!x.id) return;
  if (x.receives || x.cancelling) {
    if (x.receives) {
      end_receive(c, &x, status);
      return;
    }
    int cancelled = 0;
    if (PMPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled &&
        x.owner == me.recorder) {
      nbc_xfer_cancel(me.recorder, x.id);
      return;
    }
  }
  end(c, &x);
}

/* The operation failed, and MPI is through with it: no transfer. */
static void failed(MPI_Request request) {
  transfer x;
  if (request == MPI_REQUEST_NULL || !take(request, &x, false) || x.owner != me.recorder) return;
  if (x.id) nbc_xfer_cancel(me.recorder, x.id);
  if (x.send_id) nbc_xfer_cancel(me.recorder, x.send_id);
}

/* Freed while active: MPI goes on with it unseen, so its end is unknown [O §2.2 case 3]. */
static void freed(call *c, MPI_Request request) {
  transfer x;
  if (request == MPI_REQUEST_NULL || !take(request, &x, true) || !x.id || x.owner != me.recorder)
    return;
  nbc_xfer_cancel(me.recorder, x.id);
  nbc_xfer_end_only_at(me.recorder, x.size_bytes, (nbc_kind)x.kind, (nbc_peer)x.peer, returned(c));
  __atomic_add_fetch(&run.freed_count, 1, __ATOMIC_RELAXED);
}

/* ---- blocking calls: both stamps in one call [O §2.2 case 1] --------------------------------- */
static void moved(call *c, nbc_kind kind, uint64_t size_bytes, nbc_peer peer) {
  if (!me.on) return;
  const uint64_t id = ++me.next_id;
  nbc_xfer_begin_at(me.recorder, id, size_bytes, kind, peer, c->t0_ns);
  nbc_xfer_end_at(me.recorder, id, returned(c));
}

static void moved_to(call *c, nbc_kind kind, MPI_Count count, MPI_Datatype type, int dest,
                     MPI_Comm comm) {
  if (dest != MPI_PROC_NULL)
    moved(c, kind, bytes_of(count, type), class_of(peers_of_comm(comm), dest));
}
#define sent(c, kind, count, type, dest, comm)                                                     \
  moved_to(c, NBC_KIND_##kind, (MPI_Count)(count), type, dest, comm)

static void moved_from(call *c, nbc_kind kind, int source, const MPI_Status *status,
                       MPI_Comm comm) {
  MPI_Count got = 0;
  if (source == MPI_PROC_NULL || PMPI_Get_elements_x(status, MPI_BYTE, &got) != MPI_SUCCESS ||
      got < 0)
    return;
  moved(c, kind, (uint64_t)got, class_of(peers_of_comm(comm), status->MPI_SOURCE));
}
#define received(c, kind, source, status, comm) moved_from(c, NBC_KIND_##kind, source, status, comm)

static MPI_Message *note_message(call *c, MPI_Message *message) {
  c->message = *message;
  return message;
}
#define NOTE_MESSAGE(message) note_message(c, message)

static void matched_received(call *c, const MPI_Status *status) {
  MPI_Count got = 0;
  if (c->message == MPI_MESSAGE_NO_PROC ||
      PMPI_Get_elements_x(status, MPI_BYTE, &got) != MPI_SUCCESS || got < 0)
    return;
  moved(c, NBC_KIND_RECV, (uint64_t)got,
        c->message == me.message ? me.message_peer : NBC_PEER_UNKNOWN);
}
static void matched(MPI_Message message, const MPI_Status *status, MPI_Comm comm) {
  me.message = message;
  me.message_peer = class_of(peers_of_comm(comm), status->MPI_SOURCE);
}

static void moved_collective(call *c, nbc_kind kind, uint64_t size_bytes, MPI_Comm comm) {
  if (size_bytes) moved(c, kind, size_bytes, peers_of_comm(comm)->all);
}

/* ---- one-sided ------------------------------------------------------------------------------- */
static void post_one_sided(call *c, nbc_kind kind, MPI_Count count, MPI_Datatype type, int target,
                           MPI_Win win) {
  if (target == MPI_PROC_NULL || !me.on) return;
  transfer x = {.key = KEY(win),
                .kind = (unsigned char)kind,
                .size_bytes = bytes_of(count, type),
                .target = target,
                .peer = (unsigned char)class_of(peers_of_win(win), target)};
  lock();
  follow_transfer(c, &x, true);
  unlock();
}
#define post_rma(c, kind, count, type, target, win)                                                \
  post_one_sided(c, NBC_KIND_##kind, (MPI_Count)(count), type, target, win)
#define post_rma_request(c, request, what, count, type, target, win)                               \
  post(c, request,                                                                                 \
       (transfer){.kind = NBC_KIND_##what,                                                         \
                  .size_bytes = bytes_of((MPI_Count)(count), type),                                \
                  .peer = (unsigned char)class_of(peers_of_win(win), target)},                     \
       target != MPI_PROC_NULL)

#define ALL_TARGETS (-1000)
/* A synchronisation completed the operations on a window, to one target or to all. */
static void synchronised(call *c, MPI_Win win, int target) {
  uint32_t before = 0, slot;
  lock();
  slot = slot_of(KEY(win));
  for (uint32_t i = slots[slot]; i;) {
    const uint32_t next = pool[i].next;
    if (target == ALL_TARGETS || pool[i].target == target) {
      const bool last = !before && !next; /* the slot goes too */
      end(c, &pool[i]);
      take_out(slot, before, i);
      if (last) break;
    } else {
      before = i;
    }
    i = next;
  }
  unlock();
}

static void cancelling(MPI_Request request) {
  lock();
  transfer *x = &pool[slots[slot_of(KEY(request))]];
  if (x != pool) x->cancelling = true;
  unlock();
}

/* ================================================================================================
 */
/* The wrappers */
/* ================================================================================================
 */
#define UNPAREN(...) __VA_ARGS__
/* BODY(name, kind, parameters, arguments) { ... }: MPI_name and PMPI_name enter, do what stands in
   the braces (call *c and the parameters are there), and leave. */
#define BODY(name, kind, parameters, arguments) BODY_OF(MPI_, name, kind, parameters, arguments)
#define BODY_OF(prefix, name, kind, parameters, arguments)                                         \
  static inline int body_##name(call *c, UNPAREN parameters);                                      \
  static int(*real_##name) parameters;                                                             \
  VISIBLE int P##prefix##name parameters {                                                         \
    call c[1] __attribute__((cleanup(leave)));                                                     \
    enter(c, NBC_KIND_##kind);                                                                     \
    return body_##name(c, UNPAREN arguments);                                                      \
  }                                                                                                \
  VISIBLE int prefix##name parameters __attribute__((alias("P" #prefix #name)));                   \
  static inline int body_##name(call *c, UNPAREN parameters)

/* The common case: call it, and record after success. */
#define WRAP(name, kind, parameters, arguments, record)                                            \
  WRAP_OF(MPI_, name, kind, parameters, arguments, record)
#define WRAP_OF(prefix, name, kind, parameters, arguments, record)                                 \
  BODY_OF(prefix, name, kind, parameters, arguments) {                                             \
    const int rc = BACK(REAL_OF(P##prefix, name) arguments);                                       \
    if (c->active && rc == MPI_SUCCESS) record;                                                    \
    return rc;                                                                                     \
  }

/* Persistent collectives: MPI 4, or Open MPI's extension. */
#if MPI_VERSION >= 4
#  define COLL_INIT(name, parameters, arguments, record)                                           \
    WRAP_OF(MPI_, name, SETUP, parameters, arguments, record)
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#  define COLL_INIT(name, parameters, arguments, record)                                           \
    WRAP_OF(MPIX_, name, SETUP, parameters, arguments, record)
#else
#  define COLL_INIT(name, parameters, arguments, record)
#endif
#define COLL(name, iname, kind, parameters, arguments, bytes)                                      \
  WRAP(N(name), kind, parameters, arguments, moved_collective(c, NBC_KIND_##kind, bytes, comm))    \
  WRAP(N(iname), I##kind, (UNPAREN parameters, MPI_Request * request),                             \
       (UNPAREN arguments, request),                                                               \
       post_collective(c, *request, NBC_KIND_I##kind, bytes, comm, false))                         \
  COLL_INIT(N(name##_init), (UNPAREN parameters, MPI_Info info, MPI_Request * request),            \
            (UNPAREN arguments, info, request),                                                    \
            post_collective(c, *request, NBC_KIND_START, bytes, comm, true))

#define N(name) name
#define COUNT   int
#define DISP    int
#include "overlap_preload_calls.h"
#undef N
#undef COUNT
#undef DISP
#if MPI_VERSION >= 4
#  define N(name)      NAME_C(name)
#  define NAME_C(name) name##_c
#  define COUNT        MPI_Count
#  define DISP         MPI_Aint
#  include "overlap_preload_calls.h"
#endif
#include "overlap_preload_calls_once.h"

/* ================================================================================================
 */
/* Settings */
/* ================================================================================================
 */
static const char *setting(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static int setting_choice(const char *name, const char *const choices[], int count, int otherwise) {
  const char *value = setting(name);
  for (int i = 0; value && i < count; i++)
    if (strcmp(value, choices[i]) == 0) return i;
  if (value)
    complain("%s=%.60s is not one of %s, %s...: taken as %s", name, value, choices[0], choices[1],
             choices[otherwise]);
  return otherwise;
}

/* "256,4K,1M": bytes, K, M, G = powers of 1024. NULL when wrong. */
static const char *read_edge(const char *text, uint64_t *edge) {
  char *end;
  if (!isdigit((unsigned char)*text)) return NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  const char *units = "KMG", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (errno || value > (UINT64_MAX >> shift)) return NULL;
  *edge = (uint64_t)value << shift;
  return unit ? end + 1 : end;
}

static size_t setting_classes(uint64_t edges[NBC_MAX_CLASSES]) {
  const char *value = setting("NBC_CLASSES"), *at = value;
  size_t count = 0;
  while (at && count < NBC_MAX_CLASSES - 1) {
    at = read_edge(at, &edges[count]);
    if (!at || (count && edges[count] <= edges[count - 1])) break;
    count++;
    if (!*at) return count;
    if (*at++ != ',') break;
  }
  if (value)
    complain("NBC_CLASSES=%.60s is not a list of up to %d ascending sizes such as 256,4K,1M: the "
             "default classes are used",
             value, NBC_MAX_CLASSES - 1);
  return 0;
}

static nbc_table *setting_table(const char *name) {
  const char *path = setting(name);
  nbc_table *table = NULL;
  nbc_error err;
  if (!path) return NULL;
  memset(&err, 0, sizeof err);
  if (nbc_table_read(path, &table, &err) == NBC_OK) return table;
  complain("%s=%.100s: %.200s; a guess is used instead", name, path, err.text);
  return NULL;
}

static void setting_folder(void) {
  const char *value = setting("NBC_REPORT_DIR");
  char here[sizeof run.folder];
  if (!getcwd(here, sizeof here)) strcpy(here, ".");
  int n;
  if (!value)
    n = snprintf(run.folder, sizeof run.folder, "%s", here);
  else if (*value == '/')
    n = snprintf(run.folder, sizeof run.folder, "%s", value);
  else
    n = snprintf(run.folder, sizeof run.folder, "%s/%s", here,
                 value); /* the program may change folder */
  if (n < 0 || (size_t)n >= sizeof run.folder) {
    complain("NBC_REPORT_DIR is too long: reports go to the working folder");
    strcpy(run.folder, ".");
  }
  if (value) mkdir(run.folder, 0777); /* a missing parent shows when the report is written */
}

#include "overlap_preload_nics.h"

/* ================================================================================================
 */
/* The report */
/* ================================================================================================
 */
/* Made at start and written through when needed, so that a report at a crash needs no malloc. */
static ssize_t write_report(void *cookie, const char *text, size_t count) {
  (void)cookie;
  for (size_t done = 0; done < count;) {
    const ssize_t n = write(run.report_fd, text + done, count - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      run.report_failed = true;
      return 0;
    }
    done += (size_t)n;
  }
  return (ssize_t)count;
}

static bool prepare_report_file(void) {
  static char buffer[8192];
  const cookie_io_functions_t functions = {.write = write_report};
  run.report_file = fopencookie(NULL, "w", functions);
  return run.report_file && setvbuf(run.report_file, buffer, _IOFBF, sizeof buffer) == 0;
}

static bool flush_report(nbc_status status) {
  const bool flushed = fflush(run.report_file) == 0;
  clearerr(run.report_file);
  return status == NBC_OK && flushed && !run.report_failed;
}

/* folder/NAME.json, whole or not at all: written beside and renamed. */
static bool write_into(const char *folder, const nbc_report *report, bool text) {
  char path[sizeof run.folder + 200], part[sizeof path + 8];
  snprintf(path, sizeof path, "%s/nbc_overlap.%s.%d.%s", folder, run.run_name, run.rank,
           text ? "txt" : "json");
  snprintf(part, sizeof part, "%s.part", path);
  run.report_failed = false;
  run.report_fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (run.report_fd < 0) return false;
  bool good = flush_report(text ? nbc_report_write_text(report, run.report_file)
                                : nbc_report_write_json(report, run.report_file));
  good = close(run.report_fd) == 0 && good;
  if (good && rename(part, path) == 0) return true;
  unlink(part);
  return false;
}

static void describe(nbc_report *report) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  nbc_report_set(&report->program, run.program);
  nbc_report_set(&report->host, host);
  nbc_report_set(&report->library, run.library);
  report->rank = run.rank;
  report->size = run.size;
  report->pid = (int)run.pid;
  for (int i = 0; i < run.notes_count; i++) nbc_report_note(report, run.notes[i]);
  if (run.freed_count)
    nbc_report_counter(report, 0, "requests_freed_while_active", (double)run.freed_count);
  if (run.lost_count)
    nbc_report_counter(report, 0, "transfers_not_followed", (double)run.lost_count);
  add_still_counters(report);
  /* A guess that no transfer asked for is no reason to doubt the bounds. */
  bool guessed = !run.table[0];
  for (size_t i = 0; i < report->cell_count; i++)
    guessed = guessed || (!run.table[1] && report->cells[i].peer != NBC_PEER_SAME_NODE);
  report->table_is_default = guessed;
}

/* The chosen folder, else the one for temporary files, else standard error. */
static void write_everything(const nbc_report *report) {
  const char *temporary = setting("TMPDIR");
  if (!temporary) temporary = "/tmp";
  if (write_into(run.folder, report, false)) {
    if (run.text) write_into(run.folder, report, true);
    return;
  }
  const char *why = strerror(errno);
  if (write_into(temporary, report, false)) {
    fprintf(stderr, "nbc_overlap: cannot write to %s (%s): report of rank %d is in %s\n",
            run.folder, why, run.rank, temporary);
    if (run.text) write_into(temporary, report, true);
    return;
  }
  fprintf(stderr, "nbc_overlap: cannot write to %s (%s) nor %s: report of rank %d follows\n",
          run.folder, why, temporary, run.rank);
  run.report_fd = STDERR_FILENO;
  run.report_failed = false;
  flush_report(nbc_report_write_json(report, run.report_file));
}

/* Once per process; from MPI_Finalize, MPI_Abort, exit, or a deadly signal. */
static void finish(void) {
  nbc_report *report = NULL;
  if (!__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE) || getpid() != run.pid) return;
  if (__atomic_exchange_n(&run.written, 1, __ATOMIC_ACQ_REL)) return;
  const int saved_errno = errno;
  const int64_t now_ns = nbc_clock_now_ns(run.clock);
  __atomic_store_n(&run.recording, false, __ATOMIC_RELEASE);
  if (nbc_monitor_report_at(run.monitor, now_ns, &report) == NBC_OK) {
    describe(report);
    write_everything(report);
    nbc_report_free(report);
  } else {
    fprintf(stderr, "nbc_overlap: no memory for the report of rank %d\n", run.rank);
  }
  errno = saved_errno;
}

/* ================================================================================================
 */
/* Ends without MPI_Finalize */
/* ================================================================================================
 */
__attribute__((destructor)) static void at_exit(void) { finish(); }

VISIBLE void _exit(int status) {
  finish(); /* not in a child of fork or vfork: another process id */
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
VISIBLE void _Exit(int status) __attribute__((alias("_exit"), noreturn));
VISIBLE void quick_exit(int status) {
  static void (*real_quick_exit)(int);
  finish();
  REAL_OF(, quick_exit)(status);
  __builtin_unreachable();
}

static const int deadly[] = {SIGABRT, SIGTERM, SIGINT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define DEADLY (sizeof deadly / sizeof *deadly)

/* UCX, below both MPIs, keeps others from setting handlers by its own sigaction: ask the libc. */
#ifdef __GLIBC__
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);
#  define sigaction_of_libc __sigaction
#else
#  define sigaction_of_libc sigaction
#endif

/* Nobody handles the signal, or the MPI does, to print a stack. */
static bool is_free(int number) {
  static const char *const libraries[] = {"libucs", "libopen-", "libmpi", "libpsm"};
  struct sigaction action;
  Dl_info where;
  if (sigaction_of_libc(number, NULL, &action) != 0) return false;
  void *handler;
  memcpy(&handler,
         action.sa_flags & SA_SIGINFO ? (void *)&action.sa_sigaction : (void *)&action.sa_handler,
         sizeof handler);
  if (action.sa_handler == SIG_DFL) return true;
  if (action.sa_handler == SIG_IGN || !dladdr(handler, &where) || !where.dli_fname) return false;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (strstr(where.dli_fname, libraries[i])) return true;
  return false;
}

/* The report, then what would have happened without us: the action we replaced gets the signal. */
static void on_deadly_signal(int number, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  (void)context;
  if (!me.busy) finish(); /* else our own tables are half changed */
  sigaction_of_libc(number, &run.old_action[number], NULL);
  if (info->si_code <= 0 || number == SIGTERM || number == SIGINT || number == SIGABRT)
    raise(number);
  /* a fault comes again by itself, with its address, when this handler returns */
  errno = saved_errno;
}

/* Only signals that the program left alone. */
static void watch_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_deadly_signal;
  action.sa_flags = SA_SIGINFO;
  for (size_t i = 0; i < DEADLY; i++)
    if (is_free(deadly[i]) && sigaction_of_libc(deadly[i], NULL, &run.old_action[deadly[i]]) == 0)
      sigaction_of_libc(deadly[i], &action, NULL);
}

static void stop_watching(void) { /* after the report the signals are as they were */
  struct sigaction now;
  for (size_t i = 0; i < DEADLY; i++)
    if (sigaction_of_libc(deadly[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == on_deadly_signal)
      sigaction_of_libc(deadly[i], &run.old_action[deadly[i]], NULL);
}

/* A child of fork is not a process of the MPI program. */
static void in_child(void) {
  run.recording = false;
  me.inside = false;
  me.busy = 0;
  stop_watching();
}

/* ================================================================================================
 */
/* Init and Finalize */
/* ================================================================================================
 */
/* This library is compiled against one MPI; the handles of another mean something else. */
static bool is_our_mpi(void) {
  char text[16384] =
      ""; /* each MPI has its own maximum, and this may be another: MPICH's is 8192 */
  int length = 0;
#ifdef OPEN_MPI
  const char *ours = "Open MPI";
#else
  const char *ours = "MPICH";
#endif
  if (!dlsym(RTLD_NEXT, "PMPI_Get_library_version")) return false;
  PMPI_Get_library_version(text, &length);
  text[strcspn(text, ",\n")] = 0;
  for (char *at = text; *at; at++)
    if (*at == '\t') *at = ' ';
  snprintf(run.library, sizeof run.library, "%.90s", text);
  if (strncmp(text, ours, strlen(ours)) == 0) return true;
  fprintf(stderr,
          "nbc_overlap: made for %s, but this program uses \"%.60s\": nothing is measured\n", ours,
          text);
  return false;
}

/* Who shares our node, and a name for this run: start time and process id of rank 0. */
static void meet_the_world(void) {
  struct {
    long long t_s, pid;
  } id = {(long long)time(NULL), (long long)getpid()};
  MPI_Comm node;
  MPI_Group group;
  int count = 0, own = -1;
  PMPI_Comm_group(MPI_COMM_WORLD, &run.world_group);
  if (PMPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS)
    snprintf(run.run_name, sizeof run.run_name, "%s.%lld-%lld", run.program, id.t_s, id.pid);
  if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) !=
      MPI_SUCCESS)
    return;
  PMPI_Comm_group(node, &group);
  PMPI_Group_size(group, &count);
  PMPI_Comm_rank(node, &own);
  run.first_of_node = own == 0;
  int *ranks = map_memory(2 * (size_t)count * sizeof *ranks);
  run.same_node = map_memory((size_t)run.size);
  if (ranks && run.same_node) {
    for (int i = 0; i < count; i++) ranks[i] = i;
    PMPI_Group_translate_ranks(group, count, ranks, run.world_group, ranks + count);
    for (int i = 0; i < count; i++)
      if (ranks[count + i] >= 0) run.same_node[ranks[count + i]] = 1;
  }
  unmap_memory(ranks);
  PMPI_Group_free(&group);
  PMPI_Comm_free(&node);
}

static void name_the_run(void) {
  snprintf(run.program, sizeof run.program, "%.60s", program_invocation_short_name);
  for (char *at = run.program; *at; at++)
    if (!isalnum((unsigned char)*at) && !strchr("._+-", *at)) *at = '_';
  snprintf(run.run_name, sizeof run.run_name, "%s.%d", run.program,
           (int)getpid()); /* until a common one is known */
}

static nbc_status make_monitor(bool start_off) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.class_edges_bytes = run.edges;
  desc.class_edge_count = setting_classes(run.edges);
  desc.table_same_node = run.table[0] = setting_table("NBC_TABLE");
  desc.table_other_node = run.table[1] = setting_table("NBC_TABLE_OTHER");
  desc.counters = setting_nics();
  desc.max_transfers = 16384;
  desc.start_off = start_off;
  const nbc_status status = nbc_monitor_create(&desc, &run.monitor);
  if (status != NBC_OK)
    complain("cannot measure: %s", nbc_status_text(status));
  else
    run.clock = nbc_monitor_clock(run.monitor);
  return status;
}

/* After MPI_Init, before the program goes on. */
static void start(int thread_level) {
  static const char *const on_off[] = {"0", "1", "later"}, *const yes_no[] = {"0", "1"};
  if (run.monitor || !is_our_mpi()) return;
  name_the_run();
  PMPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &run.size);
  run.speaks = run.rank == 0;
  const int on = setting_choice("NBC_ON", on_off, 3, 1);
  if (on == 0) return;
  run.text = setting_choice("NBC_TEXT", yes_no, 2, 0) == 1;
  setting_folder();
  if (setting_choice("NBC_PEERS", yes_no, 2, 1) == 1) meet_the_world();
  run.memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  run.pid = getpid();
  run.multiple = thread_level == MPI_THREAD_MULTIPLE;
  run.switched_on = on == 1;
  run.epoch = 1;
  if (make_monitor(on == 2) != NBC_OK || !prepare_report_file()) return;
  pthread_key_create(&run.thread_end, thread_ends);
  pthread_atfork(NULL, NULL, in_child);
  watch_signals();
  __atomic_store_n(&run.recording, true, __ATOMIC_RELEASE);
  follow(nbc_clock_now_ns(run.clock)); /* this thread computes from here on */
}

BODY(Init, SETUP, (int *argc, char ***argv), (argc, argv)) {
  const int rc = REAL(Init)(argc, argv);
  (void)c;
  if (rc == MPI_SUCCESS) start(MPI_THREAD_SINGLE);
  return rc;
}
BODY(Init_thread, SETUP, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided)) {
  const int rc = REAL(Init_thread)(argc, argv, required, provided);
  (void)c;
  if (rc == MPI_SUCCESS) start(*provided);
  return rc;
}

/* Before the MPI's own: what it does at the end may hang or die, the report must not. */
VISIBLE int PMPI_Finalize(void) {
  static int (*real_Finalize)(void);
  finish();
  stop_watching();
  return REAL(Finalize)();
}
VISIBLE int MPI_Finalize(void) __attribute__((alias("PMPI_Finalize")));
BODY(Abort, OTHER, (MPI_Comm comm, int code), (comm, code)) {
  (void)c;
  finish();
  return REAL(Abort)(comm, code);
}

/* ---- MPI_Pcontrol ---------------------------------------------------------------------------- */
/* A name given to MPI_Pcontrol, if it is one: read through the kernel, which checks the address. */
static bool read_name(const void *address, char name[64]) {
  const ssize_t count = pread(run.memory_fd, name, 63, (off_t)(uintptr_t)address);
  if (count <= 0) return false;
  name[count] = 0;
  for (const char *at = name; *at; at++)
    if (!isprint((unsigned char)*at)) return false;
  return *name && strlen(name) < 63;
}

static void control(int level, const void *address) {
  char name[64];
  if (me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) return;
  const int64_t now_ns = nbc_clock_now_ns(run.clock);
  me.busy = 1;
  if (level == 0 || level == 1) {
    __atomic_store_n(&run.switched_on, level == 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&run.epoch, 1, __ATOMIC_RELEASE);
    follow(now_ns);
  } else if (me.epoch == __atomic_load_n(&run.epoch, __ATOMIC_RELAXED) || follow(now_ns)) {
    if (level < 0) {
      nbc_section_end_at(me.recorder, NULL, now_ns);
    } else {
      if (!read_name(address, name)) snprintf(name, sizeof name, "level %d", level);
      nbc_section_begin_at(me.recorder, name, now_ns);
    }
  }
  me.busy = 0;
}

VISIBLE int PMPI_Pcontrol(const int level, ...) {
  static int (*real_Pcontrol)(const int, ...);
  va_list args;
  va_start(args, level);
  control(level,
          level >= 2 ? va_arg(args, const void *) : NULL); /* whatever is there: it is checked */
  va_end(args);
  return REAL(Pcontrol)(level);
}
VISIBLE int MPI_Pcontrol(const int level, ...) __attribute__((alias("PMPI_Pcontrol")));
