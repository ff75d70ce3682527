/* progress_preload.c: communication goes on while the program computes, in any MPI program, unedited.

   Question: how do I get the overlap that MPI_Isend, MPI_Iallreduce, MPI_Put promise?
   Command:  mpirun.openmpi -n 2 -x LD_PRELOAD=$PWD/build/libnbc_progress_mpi.so ./program
             mpirun.mpich -n 2 -genv LD_PRELOAD $PWD/build/libnbc_progress_mpich.so ./program
   Proof:    both preloads in one line, the one that measures first:
             LD_PRELOAD="libnbc_overlap_mpi.so libnbc_progress_mpi.so"; then overlap_report --diff
   Or link:  cc ... -L build -lnbc_progress_mpi $(mpicc --showme:link), before the MPI's own library.

   Most MPIs move data only while the program is inside an MPI call. This library gives every process
   a worker thread that enters the MPI while the program computes: on a core that nobody else uses,
   only while something is in flight, and never while the program is inside the MPI itself.

   ENVIRONMENT (a wrong value is said once, and the default kept)
     NBC_PROGRESS       dedicated (default)  the worker polls on a core of its own
                        timer                it looks in every NBC_PROGRESS_US (default 1000) microseconds, on
                                             the program's own cores, when the program has not called
                                             the MPI since it looked last
                        idle                 it polls when nothing else wants a core (SCHED_IDLE)
                        none                 no worker; calls are only forwarded
     NBC_PROGRESS_CORE  auto (default)  a core that this job may use and no rank or OpenMP thread needs,
                                        found together with the other ranks of the node. Without one
                                        there is no worker, and a line says what to set
                        last            the highest core that the job may use
                        N, or N,N,...   cores by number: the n-th rank of a node takes the n-th
     NBC_PROGRESS_LEVEL multiple (default)  ask the MPI for MPI_THREAD_MULTIPLE
                        serialized          for MPI_THREAD_SERIALIZED: every call goes through one lock
     NBC_COLLECTIVES    mpi (default)       nonblocking collectives stay the MPI's, which the worker drives
                        ours                those of nbc_overlap.h take their place
                        FILE                those that a table of algorithms names do, up to the bytes that it
                                            names (bench_nbc --tune writes one; nbc_choice_read)
     NBC_BLOCKING       mpi (default), ours  whose blocking collectives (COLLECTIVES below; with NBC_COLLECTIVES)
     NBC_CHOICE         FILE                which algorithms ours take: a table that bench_nbc --tune wrote
     NBC_SHARED_MEMORY  0                   short messages of ours inside a node go by the MPI's messages
     NBC_PROGRESS_SAY   1 (default)  one line by rank 0 about what was chosen, one by who got nothing
                        0 nothing    2 also one line per process at the end: what the worker did
     NBC_PEERS          0: no communication of ours in MPI_Init (some programs of the world are not
                        preloaded). Then auto finds no core, and the local rank is the launcher's

   CORES. What a rank needs: the cores that its main thread is bound to, or as many as it has OpenMP
   threads when it may use more than that (omp_get_max_threads; their places when they are bound). The
   process of a rank that is not bound is moved off the workers' cores, which is said. Cores with an
   idle sibling (SMT) and of the rank's own package come first. Two jobs on one node do not take the
   same core: who has it holds a name in the abstract socket namespace.

   THREADS. The MPI is asked for MPI_THREAD_MULTIPLE; the program is told the level that it asked for
   (MPI_Init: MPI_THREAD_SINGLE). When the MPI grants MPI_THREAD_SERIALIZED, every MPI call goes
   through one lock of this library; when it grants less, there is no worker. Both are said. User-
   defined operators of nonblocking reductions may run in the worker, as in any MPI that progresses.

   COLLECTIVES. With NBC_COLLECTIVES, MPI_Ibcast, Ireduce, Iallreduce, Ireduce_scatter(_block), Igather(v),
   Iscatter(v), Iallgather(v), Ialltoall(v, w), Iscan, Iexscan, Ibarrier, Ineighbor_allgather(v) and
   Ineighbor_alltoall(v, w), and the persistent forms of all of them (MPI_Bcast_init ...; MPIX_Bcast_init in Open
   MPI 4), run as schedules of ours on communicators made by MPI_COMM_WORLD's processes, with any
   datatype, MPI_IN_PLACE, large counts, and in reductions any operator on named types. Their requests are
   generalized requests of the MPI, so every call on requests does with them what it does with others;
   persistent ones may be started in any order. Orders of summation do not depend
   on the order of arrival: results are the same in every run. The MPI's own stay: on intercommunicators,
   on communicators from MPI_Comm_idup, MPI_Intercomm_create or a spawn, on the 1025th and further ones
   alive, on those made inside a call of the MPI (those of files, and what attributes' functions make),
   neighbourhoods in which two processes are neighbours twice (a periodic dimension of 1 or 2),
   reductions of derived types; and the blocking ones, unless NBC_BLOCKING=ours: then MPI_Bcast and its kind
   run as their nonblocking sisters do, and the call drives them until they are over. Needed: a worker in every process, MPI_THREAD_MULTIPLE. Making a
   communicator takes two more MPI_Allreduce, or three in programs that ask for MPI_THREAD_MULTIPLE.

   WHAT IS IN FLIGHT: requests from the call that returns them to the one that completes or frees them
   (persistent ones: since they were started), and windows until they are freed, since another process
   may want something of ours at any time. A request freed while active is completed by the worker.
   With nothing in flight for 4 ms (200 us where others use its core) the worker sleeps; it then looks in
   every 4 ms, so that messages which nobody waits for yet leave the MPI's buffers.

   ERROR HANDLERS of the program run as the last thing that the call does in which an error occurred: behind the
   MPI, with none of its locks and none of ours. So they may leave the call by longjmp or a C++ exception
   at the thread level that the program asked for, though the MPI's own is a higher one. A code that a
   handler changes is what the call returns where the MPI does that (but not in Open MPI's MPI_Waitall and its kind).
   The 17th and further handlers of one kind of object, and those that Open MPI's C++ and Fortran bindings register,
   are called by the MPI itself, as without us.

   ENDS. MPI_Finalize, exit and MPI_Abort stop the worker first. Children of fork have none, and their calls
   are forwarded. What MPI_Comm_spawn starts is a world of its own with its own workers. Programs that
   use sessions without MPI_Init are forwarded, without a worker.

   HOW IT IS BUILT
   Every function of the MPI is wrapped, from the MPI's own header (progress_preload_calls.awk): MPI_X and
   PMPI_X are defined, and the next PMPI_X in link order is called; so C, C++ and the three Fortran
   bindings pass here, and any number of PMPI tools may lie on top (before this library in
   LD_PRELOAD). Programs may load their MPI with dlopen. Per call that communicates: two atomic additions on one word. */
#include "progress_preload.h"
#include "tools/one_line.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* what is deprecated is wrapped too */

/* ============================================================================================== */
/* State */
/* ============================================================================================== */
enum policy { DEDICATED, TIMER, IDLE, NONE };
static const char *const policy_names[] = {"dedicated", "timer", "idle", "none"};

#define ONE_IN_FLIGHT ((int64_t)1 << 32)
enum { WAKES_KEPT = 256 };

static struct {
  /* Low half: program threads inside the MPI. High half: requests and windows in flight. */
  int64_t flight __attribute__((aligned(128)));
  uint32_t entries; /* changes with every call that communicates; lost counts do no harm */
  uint32_t asleep;  /* futex: the worker sleeps */
  int64_t wake_asked_ns;
  bool active
      __attribute__((aligned(128))); /* between Init and Finalize, in this process, with a worker */
  bool uses_files;                   /* nonblocking operations on files were started */
  bool locked;                       /* MPI_THREAD_SERIALIZED: one lock around every call */
  uint32_t lock;
  int told_level; /* what MPI_Query_thread says; -1: ask the MPI */
  enum policy policy;
  bool polite; /* the worker shares its core: with another worker, or because it was told to */
  bool stop;
  int say, rank, core;
  pid_t pid;
  pthread_t worker;
  MPI_Comm comm; /* the worker's own: what it probes */
  int64_t period_ns;
  uint64_t poll_count, wake_count, step_count;
  int64_t wake_ns[WAKES_KEPT], step_ns[WAKES_KEPT]; /* the last ones */
  uint32_t poll_lock;                               /* of `never` */
  uint32_t tables_lock;                             /* of the two tables below */
} run = {.told_level = -1, .pid = -1, .say = 1, .core = -1};

/* An error that the MPI told us while it was inside a call (progress_preload_errors.h). */
enum raised_by { BY_COMM, BY_WIN, BY_FILE, BY_SESSION, BY_CXX, RAISED_KINDS };
enum { MAX_RAISED = 8 };
struct raised_error {
  enum raised_by kind;
  int number, cxx_kind; /* which handler; what a C++ library calls the object */
  union {               /* its handle, whatever that is in this MPI */
    void *pointer;
    int number;
  } object;
  int code;
  const char *text;
  void (*cxx_handler)(void);
};

static __thread __attribute__((tls_model("initial-exec"))) struct {
  bool inside;    /* a wrapper is active: other calls come from callbacks, or from the MPI itself */
  bool is_worker; /* what the MPI calls back from there is forwarded */
  int wrappers; /* of ours that this thread is in: its error handlers run when the innermost ends */
  unsigned grequest_count; /* generalized requests that this thread has made */
  int raised_count;
  struct raised_error raised[MAX_RAISED];
} me;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void spin_lock(uint32_t *lock) {
  for (int spins = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);)
    while (__atomic_load_n(lock, __ATOMIC_RELAXED))
      if (++spins < 1000)
        relax();
      else
        sched_yield();
}
static bool spin_try(uint32_t *lock) { return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); }
static void spin_unlock(uint32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

/* A program that loads the MPI itself, without RTLD_GLOBAL (Python's mpi4py, or a plugin), calls us, who stand before
   all, and the MPI is not among what comes next. */
static int take_mpi_library(struct dl_phdr_info *about, size_t bytes, void *path) {
  const char *const slash = strrchr(about->dlpi_name, '/');
  const char *const base = slash ? slash + 1 : about->dlpi_name;
  (void)bytes;
  if (strncmp(base, "libmpich.so", 11) != 0 && strncmp(base, "libmpi.so", 9) != 0) return 0;
  snprintf((char *)path, PATH_MAX, "%s", about->dlpi_name);
  return 1;
}
static void *find_below(const char *name) {
  static void *loaded;
  char path[PATH_MAX] = "";
  void *const function = dlsym(RTLD_NEXT, name);
  if (function) return function;
  if (!loaded && dl_iterate_phdr(take_mpi_library, path))
    loaded = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  return loaded ? dlsym(loaded, name) : NULL;
}

__attribute__((format(printf, 1, 2))) static void progress_tell(const char *format, ...) {
  va_list args;
  va_start(args, format);
  one_line("nbc_progress", format, args);
  va_end(args);
}

void *progress_next(const char *name) {
  void *const function = find_below(name);
  if (function) return function;
  progress_tell("the MPI library has no %s", name);
  abort();
}

const char *progress_setting(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

void progress_say(const char *format, ...) {
  char text[1024];
  va_list args;
  if (!run.say) return;
  va_start(args, format);
  progress_print(text, sizeof text, format, args);
  va_end(args);
  progress_tell("%s", text);
}

bool progress_has_threads(void) { return run.told_level >= MPI_THREAD_MULTIPLE; }

int progress_choice(const char *setting, const char *const *names, int count, int by_default) {
  const char *value = progress_setting(setting);
  if (!value) return by_default;
  for (int i = 0; i < count; i++)
    if (strcmp(value, names[i]) == 0) return i;
  if (run.rank == 0)
    progress_say("%s=%.60s: not known, %s is taken", setting, value, names[by_default]);
  return by_default;
}

/* ============================================================================================== */
/* Entering and leaving calls */
/* ============================================================================================== */
typedef struct call {
  bool active;
  bool nested;    /* from a callback: handles come and go there as elsewhere */
  int64_t change; /* of what is in flight */
} call;

/* True: the worker sleeps, and is the caller's to wake. */
static bool takes_sleeper(void) { return __atomic_exchange_n(&run.asleep, 0, __ATOMIC_SEQ_CST); }
static void wake_sleeper(int64_t asked_ns) {
  __atomic_store_n(&run.wake_asked_ns, asked_ns, __ATOMIC_RELAXED);
  syscall(SYS_futex, &run.asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline bool enter(call *c) {
  c->active = c->nested = false;
  c->change = 0;
  if (me.is_worker || !__atomic_load_n(&run.active, __ATOMIC_ACQUIRE)) return false;
  c->active = true;
  me.wrappers++;
  c->nested = me.inside;
  if (c->nested) return true;
  me.inside = true;
  __atomic_fetch_add(&run.flight, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&run.entries, __atomic_load_n(&run.entries, __ATOMIC_RELAXED) + 1,
                   __ATOMIC_RELAXED);
  if (run.locked) spin_lock(&run.lock);
  return true;
}

static int run_handlers(int rc);
static void first_step(bool nested);

/* Runs once at the end of every wrapper, also when an error handler throws a C++ exception through it. */
static inline void leave(call *c) {
  if (!c->active) return;
  c->active = false;
  if (run.locked && !c->nested) spin_unlock(&run.lock);
  __atomic_fetch_add(&run.flight, c->change * ONE_IN_FLIGHT - !c->nested, __ATOMIC_SEQ_CST);
  if (c->change > 0 && UNLIKELY(__atomic_load_n(&run.asleep, __ATOMIC_SEQ_CST)))
    first_step(c->nested);
  me.wrappers--;
  if (!c->nested) me.inside = false;
}
/* The MPI has been left, and the lock: now handlers of the program may do what they like. */
static inline int left(call *c, int rc) {
  leave(c);
  return UNLIKELY(me.raised_count) ? run_handlers(rc) : rc;
}
static inline int left_local(int rc) {
  me.wrappers--;
  return UNLIKELY(me.raised_count) ? run_handlers(rc) : rc;
}
#define RETURN(rc) return left(c, rc)
#define ENTER                                                                                      \
  __attribute__((cleanup(leave))) call this_call;                                                  \
  call *const c = &this_call;                                                                      \
  enter(c)

/* PMPI_X and MPI_X in one, with the MPI's own parameters. SMALL_: of the many that are rarely called, made to be small
   and not to be fast. */
#define DEFINE(name, parameters)       DEFINE_AS(VISIBLE, PMPI_##name, MPI_##name, parameters)
#define SMALL_DEFINE(name, parameters) DEFINE_AS(VISIBLE SMALL, PMPI_##name, MPI_##name, parameters)
#define DEFINE_AS(as, pmpi_name, mpi_name, parameters)                                             \
  as int pmpi_name parameters;                                                                     \
  as int mpi_name parameters __attribute__((alias(#pmpi_name)));                                   \
  as int pmpi_name parameters

/* The same for what Open MPI calls MPIX_X. */
#define DEFINE_X(name, parameters) DEFINE_AS(VISIBLE SMALL, PMPIX_##name, MPIX_##name, parameters)

static int64_t known_put(MPI_Request request, bool active);

/* Calls that neither wait nor post: only where one lock stands for the MPI's own. */
#define LOCAL(name, parameters, arguments)                                                         \
  SMALL_DEFINE(name, parameters) {                                                                 \
    if (!UNLIKELY(run.locked)) {                                                                   \
      me.wrappers++;                                                                               \
      return left_local(NEXT(name) arguments);                                                     \
    }                                                                                              \
    ENTER;                                                                                         \
    RETURN(NEXT(name) arguments);                                                                  \
  }
#define BLOCKS(name, parameters, arguments)                                                        \
  DEFINE(name, parameters) {                                                                       \
    ENTER;                                                                                         \
    RETURN(NEXT(name) arguments);                                                                  \
  }
#define POSTS(name, parameters, arguments)                                                         \
  DEFINE(name, parameters) {                                                                       \
    ENTER;                                                                                         \
    const int rc = NEXT(name) arguments;                                                           \
    c->change = rc == MPI_SUCCESS;                                                                 \
    RETURN(rc);                                                                                    \
  }
#define OPENS POSTS
/* MPICH's files have generalized requests from here, those that the program gets and those that they wait for themselves. */
#define START_GREQUEST(call_below)                                                                 \
  ENTER;                                                                                           \
  const int rc = call_below;                                                                       \
  c->change = rc == MPI_SUCCESS;                                                                   \
  me.grequest_count += rc == MPI_SUCCESS;                                                          \
  RETURN(rc)
#define GREQUEST(name, parameters, arguments)                                                      \
  SMALL_DEFINE(name, parameters) { START_GREQUEST(NEXT(name) arguments); }
#define FILES(name, parameters, arguments)                                                         \
  SMALL_DEFINE(name, parameters) {                                                                 \
    ENTER;                                                                                         \
    const unsigned before = me.grequest_count;                                                     \
    const int rc = NEXT(name) arguments;                                                           \
    c->change = rc == MPI_SUCCESS && me.grequest_count == before; /* else counted already */       \
    if (c->active) __atomic_store_n(&run.uses_files, true, __ATOMIC_RELAXED);                      \
    RETURN(rc);                                                                                    \
  }
#define MAKES(name, parameters, arguments, made)                                                   \
  SMALL_DEFINE(name, parameters) {                                                                 \
    ENTER;                                                                                         \
    const int rc = NEXT(name) arguments;                                                           \
    if (c->active && rc == MPI_SUCCESS) known_put(*made, false);                                   \
    RETURN(rc);                                                                                    \
  }
#define GROWS(name, parameters, arguments, made)                                                   \
  SMALL_DEFINE(name, parameters) {                                                                 \
    ENTER;                                                                                         \
    const int rc = NEXT(name) arguments;                                                           \
    if (c->active && rc == MPI_SUCCESS) progress_coll_made(*made, me.wrappers == 1);               \
    RETURN(rc);                                                                                    \
  }
#define OWN(name, parameters, arguments)
#include "progress_calls.h" /* made from mpi.h by progress_preload_calls.awk */

/* ============================================================================================== */
/* Requests: which are active though their handle stays, and which the program gave away */
/* ============================================================================================== */
/* Persistent requests, from their making to MPI_Request_free; open addressing, grown when half full. */
typedef struct persistent {
  MPI_Request request;
  bool active; /* started, and not yet completed */
  /* A collective of ours: `request` stands for `current` while it is active */
  struct running *ours;
  MPI_Request current;
  bool is_foreign; /* a collective that stays the MPI's */
} persistent;
static struct {
  persistent *slots;
  size_t limit, count; /* limit: a power of two */
  int own_count;       /* atomic */
  int foreign_count;   /* atomic */
} known;

static size_t known_home(MPI_Request request) {
  return (size_t)(((uint64_t)(uintptr_t)request * 0x9E3779B97F4A7C15u) >> 32) & (known.limit - 1);
}
static persistent *known_slot(MPI_Request request) { /* its slot, or the empty one for it */
  size_t i = known_home(request);
  while (known.slots[i].request != MPI_REQUEST_NULL && known.slots[i].request != request)
    i = (i + 1) & (known.limit - 1);
  return &known.slots[i];
}
static bool known_grow(void) {
  const size_t old_limit = known.limit, limit = old_limit ? 2 * old_limit : 64;
  persistent *const old = known.slots, *const slots = malloc(limit * sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < limit; i++) slots[i] = (persistent){.request = MPI_REQUEST_NULL};
  known.slots = slots;
  known.limit = limit;
  for (size_t i = 0; i < old_limit; i++)
    if (old[i].request != MPI_REQUEST_NULL) *known_slot(old[i].request) = old[i];
  free(old);
  return true;
}
/* Notes a request, started or not. 1: it is in flight now and was not. Without memory it is left out. */
static int64_t known_put(MPI_Request request, bool active) {
  int64_t change = 0;
  if (request == MPI_REQUEST_NULL) return 0;
  spin_lock(&run.tables_lock);
  if (2 * (known.count + 1) <= known.limit || known_grow()) {
    persistent *const slot = known_slot(request);
    if (slot->request == MPI_REQUEST_NULL) {
      *slot = (persistent){.request = request};
      __atomic_store_n(&known.count, known.count + 1, __ATOMIC_RELAXED);
    }
    change = active && !slot->active;
    slot->active = active;
  }
  spin_unlock(&run.tables_lock);
  return change;
}
/* 1: it was in flight, and ended. */
static int64_t known_end(MPI_Request request) {
  int64_t ended = 0;
  if (!__atomic_load_n(&known.count, __ATOMIC_RELAXED)) return 0;
  spin_lock(&run.tables_lock);
  if (known.count) {
    persistent *const slot = known_slot(request);
    ended = slot->request == request && slot->active;
    if (ended) slot->active = false;
  }
  spin_unlock(&run.tables_lock);
  return ended;
}
/* *ours: NULL, or the collective that it stood for, which is the caller's now. */
static bool known_remove(MPI_Request request, bool *was_active, struct running **ours) {
  bool found = false;
  *ours = NULL;
  if (!__atomic_load_n(&known.count, __ATOMIC_RELAXED)) return false;
  spin_lock(&run.tables_lock);
  persistent *const slot = known_slot(request);
  if (known.count && slot->request == request) {
    size_t hole = (size_t)(slot - known.slots);
    found = true;
    *was_active = slot->active;
    *ours = slot->ours;
    if (slot->ours) __atomic_sub_fetch(&known.own_count, 1, __ATOMIC_RELAXED);
    if (slot->is_foreign) __atomic_sub_fetch(&known.foreign_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&known.count, known.count - 1, __ATOMIC_RELAXED);
    /* keys further on that could stand in the gap move back */
    for (size_t i = (hole + 1) & (known.limit - 1); known.slots[i].request != MPI_REQUEST_NULL;
         i = (i + 1) & (known.limit - 1)) {
      const size_t home = known_home(known.slots[i].request);
      if (((i - home) & (known.limit - 1)) < ((i - hole) & (known.limit - 1))) continue;
      known.slots[hole] = known.slots[i];
      hole = i;
    }
    known.slots[hole].request = MPI_REQUEST_NULL;
  }
  spin_unlock(&run.tables_lock);
  return found;
}

/* ---- persistent collectives of ours: the program's handle stands for the generalized request of this run ---- */
static int known_is_ours(MPI_Request request, struct running *made) {
  spin_lock(&run.tables_lock);
  persistent *const slot = known.count ? known_slot(request) : NULL;
  const bool found = slot && slot->request == request;
  if (found) slot->ours = made, __atomic_add_fetch(&known.own_count, 1, __ATOMIC_RELAXED);
  spin_unlock(&run.tables_lock);
  return found ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}
static void known_is_foreign(MPI_Request request) {
  spin_lock(&run.tables_lock);
  persistent *const slot = known.count ? known_slot(request) : NULL;
  if (slot && slot->request == request)
    slot->is_foreign = true, __atomic_add_fetch(&known.foreign_count, 1, __ATOMIC_RELAXED);
  spin_unlock(&run.tables_lock);
}
static bool is_foreign(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return false;
  spin_lock(&run.tables_lock);
  const persistent *const slot = known.count ? known_slot(request) : NULL;
  const bool found = slot && slot->request == request && slot->is_foreign;
  spin_unlock(&run.tables_lock);
  return found;
}
static inline bool any_ours(const call *c) {
  return c->active && UNLIKELY(__atomic_load_n(&known.own_count, __ATOMIC_RELAXED));
}
/* Its slot when it is one of ours; under the lock of the tables. */
static persistent *ours_slot(MPI_Request request) {
  persistent *const slot = known.count && request != MPI_REQUEST_NULL ? known_slot(request) : NULL;
  return slot && slot->request == request && slot->ours ? slot : NULL;
}
static MPI_Request current_of(const call *c, MPI_Request request) {
  if (!any_ours(c)) return request;
  spin_lock(&run.tables_lock);
  const persistent *const slot = ours_slot(request);
  if (slot && slot->active) request = slot->current;
  spin_unlock(&run.tables_lock);
  return request;
}
/* MPI_Start of one of ours; false: it is none. */
static bool start_ours(call *c, MPI_Request request, int *rc) {
  struct running *made = NULL;
  MPI_Request current = MPI_REQUEST_NULL;
  if (!any_ours(c)) return false;
  spin_lock(&run.tables_lock);
  const persistent *const found = ours_slot(request);
  if (found) made = found->ours;
  spin_unlock(&run.tables_lock);
  if (!made) return false;
  *rc = progress_coll_restart(made, &current);
  if (*rc) return true;
  spin_lock(&run.tables_lock);
  persistent *const slot = ours_slot(request);
  if (slot) slot->active = true, slot->current = current;
  spin_unlock(&run.tables_lock);
  c->change++;
  return true;
}

/* An array for the MPI in which current requests stand for those handles; the program's own when there are none.
   Which ones is noted here: after the call the handle of a request that has ended may already be that of a persistent one
   of another thread. */
enum { FEW_BORROWED = 16 };
typedef struct borrowed {
  MPI_Request *program, *mine, few[FEW_BORROWED];
  bool *stands_for, few_stand_for[FEW_BORROWED];
  int count;
} borrowed;
static void borrow_array(int count, MPI_Request requests[], borrowed *b) {
  b->program = requests;
  b->count = count;
  const bool few = count <= FEW_BORROWED;
  b->mine = few ? b->few : malloc((size_t)count * (sizeof *b->mine + sizeof *b->stands_for));
  if (!b->mine) { /* the MPI would take them for inactive */
    progress_say("no memory for the requests of a call");
    abort();
  }
  b->stands_for = few ? b->few_stand_for : (bool *)(b->mine + count);
}
static MPI_Request *borrow(const call *c, int count, MPI_Request requests[], borrowed *b) {
  bool some = false;
  b->mine = NULL;
  if (!any_ours(c) || count <= 0 || !requests) return requests;
  spin_lock(&run.tables_lock);
  for (int i = 0; i < count && !some; i++) {
    const persistent *const slot = ours_slot(requests[i]);
    some = slot && slot->active;
  }
  spin_unlock(&run.tables_lock);
  if (!some) return requests;
  borrow_array(count, requests, b);
  for (int i = 0; i < count; i++) {
    b->mine[i] = current_of(c, requests[i]);
    b->stands_for[i] = b->mine[i] != requests[i];
  }
  return b->mine;
}
static void give_back(call *c, borrowed *b) {
  if (!b->mine) return;
  spin_lock(&run.tables_lock);
  for (int i = 0; i < b->count; i++) {
    if (!b->stands_for[i]) {
      b->program[i] = b->mine[i];
      continue;
    }
    persistent *const slot = ours_slot(b->program[i]);
    if (slot && b->mine[i] == MPI_REQUEST_NULL) {
      slot->active = false;
      c->change--;
    }
  }
  spin_unlock(&run.tables_lock);
  if (b->mine != b->few) free(b->mine);
}

/* Freed while active: the worker completes them, so that they stay in flight until they are done. */
static struct {
  MPI_Request *requests;
  int count, limit;
} adopted;

static bool adopt(MPI_Request request) {
  bool done = true;
  spin_lock(&run.tables_lock);
  if (adopted.count == adopted.limit) {
    const int limit = adopted.limit ? 2 * adopted.limit : 64;
    MPI_Request *const larger = realloc(adopted.requests, (size_t)limit * sizeof *larger);
    if (larger) adopted.requests = larger, adopted.limit = limit;
    done = larger != NULL;
  }
  if (done) {
    adopted.requests[adopted.count] = request;
    __atomic_store_n(&adopted.count, adopted.count + 1, __ATOMIC_RELAXED);
  }
  spin_unlock(&run.tables_lock);
  return done;
}

/* By the worker: those that are complete go. */
static void test_adopted(void) {
  if (!__atomic_load_n(&adopted.count, __ATOMIC_RELAXED) || !spin_try(&run.tables_lock)) return;
  int64_t gone = 0;
  for (int i = adopted.count - 1; i >= 0; i--) {
    int complete = 0;
    if (NEXT(Test)(&adopted.requests[i], &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && !complete)
      continue;
    adopted.requests[i] = adopted.requests[--adopted.count];
    gone++;
  }
  spin_unlock(&run.tables_lock);
  if (gone) __atomic_fetch_sub(&run.flight, gone * ONE_IN_FLIGHT, __ATOMIC_SEQ_CST);
}

static void give_back_adopted(void) {
  for (int i = 0; i < adopted.count; i++) NEXT(Request_free)(&adopted.requests[i]);
  adopted.count = 0;
}

/* ---- completions ------------------------------------------------------------------------------ */
/* A request was completed, its handle is now *request: 1 when that ended something in flight. */
static int64_t ended(MPI_Request before, MPI_Request now) {
  if (before == MPI_REQUEST_NULL) return 0;
  return now == MPI_REQUEST_NULL || known_end(now);
}
static int64_t not_null(int count, const MPI_Request requests[]) {
  int64_t found = 0;
  for (int i = 0; i < count; i++) found += requests[i] != MPI_REQUEST_NULL;
  return found;
}
/* After an error, persistent requests may have ended or not: they count until started or freed. MPI_UNDEFINED says that
   all are inactive: MPICH so ends one from MPI_PROC_NULL without ever naming it. */
static int64_t ended_of_all(int rc, int64_t before, int count, const MPI_Request requests[]) {
  int64_t now = 0, started = 0;
  for (int i = 0; i < count; i++) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    now++;
    if (rc == MPI_SUCCESS) started += known_end(requests[i]);
  }
  return before - now + started;
}
/* requests[which[i]] ended; those that are no longer there were not persistent. */
static int64_t ended_of_some(int done, const int which[], const MPI_Request requests[]) {
  int64_t sum = 0;
  for (int i = 0; i < done; i++) {
    const MPI_Request now = requests[which[i]];
    sum += now == MPI_REQUEST_NULL || known_end(now);
  }
  return sum;
}

/* While collectives of ours are under way, whoever waits drives them, between tests: the worker stands aside. */
static inline void help(const call *c) {
  if (c->active && UNLIKELY(progress_coll_active())) progress_coll_poll();
}
/* The same in a loop: with more processes than cores, those that wait must let the others work. */
static inline void help_again(const call *c, int *tries) {
  if (++*tries > 100) sched_yield();
  help(c);
}
static inline bool must_help(const call *c) {
  return c->active && UNLIKELY(progress_coll_active());
}

/* Open MPI 4.1, at every level above MPI_THREAD_SINGLE: MPI_Waitall never returns when one of the requests ends
   with an error. A program that did not ask for threads must not meet that because we did. */
#ifdef OPEN_MPI
static const bool waitall_is_sound = false;
#else
static const bool waitall_is_sound = true;
#endif
static int wait_one(const call *c, MPI_Request *request, MPI_Status *status) {
  int rc = MPI_SUCCESS, flag = 0, tries = 0;
  while (rc == MPI_SUCCESS && !flag) {
    if (!must_help(c)) return NEXT(Wait)(request, status);
    help_again(c, &tries);
    rc = NEXT(Test)(request, &flag, status);
  }
  return rc;
}
/* MPICH 4.0: MPI_Testall fails when a persistent collective of its own is there, ended or not. Such ones are waited for
   here, and left out of the array for MPI_Testall, which is the program's own when there are none. */
static MPI_Request *without_foreign(const call *c, int count, MPI_Request requests[], borrowed *b,
                                    int *rc) {
  bool some = false;
  b->mine = NULL;
  if (!__atomic_load_n(&known.foreign_count, __ATOMIC_RELAXED)) return requests;
  for (int i = 0; i < count && !some; i++) some = is_foreign(requests[i]);
  if (!some) return requests;
  borrow_array(count, requests, b);
  for (int i = 0; i < count; i++) {
    b->stands_for[i] = is_foreign(requests[i]);
    b->mine[i] = b->stands_for[i] ? MPI_REQUEST_NULL : requests[i];
    if (b->stands_for[i] && *rc == MPI_SUCCESS) *rc = wait_one(c, &requests[i], MPI_STATUS_IGNORE);
  }
  return b->mine;
}
/* MPICH: operations on a file that all its processes start are collectives on one communicator, and begin when they
   are tested. So their order is that of the tests, which MPI_Waitall makes one after the other and MPI_Testall does not. */
static int wait_in_order(const call *c, int count, MPI_Request requests[], MPI_Status statuses[]) {
  const bool wanted = statuses != MPI_STATUSES_IGNORE;
  int all = MPI_SUCCESS;
  for (int i = 0; i < count; i++) {
    const int rc = wait_one(c, &requests[i], wanted ? &statuses[i] : MPI_STATUS_IGNORE);
    if (wanted) statuses[i].MPI_ERROR = rc;
    if (rc) all = MPI_ERR_IN_STATUS;
  }
  return all;
}
static int wait_all(call *c, int count, MPI_Request requests[], MPI_Status statuses[]) {
  int rc = MPI_SUCCESS, flag = 0, tries = 0;
  if (waitall_is_sound && !must_help(c)) return NEXT(Waitall)(count, requests, statuses);
  if (waitall_is_sound && __atomic_load_n(&run.uses_files, __ATOMIC_RELAXED))
    return wait_in_order(c, count, requests, statuses);
  borrowed b;
  MPI_Request *const r = without_foreign(c, count, requests, &b, &rc);
  while (rc == MPI_SUCCESS && !flag) {
    help_again(c, &tries);
    rc = NEXT(Testall)(count, r, &flag, statuses);
  }
  give_back(c, &b);
  return rc;
}
static int wait_any(const call *c, int count, MPI_Request requests[], int *index,
                    MPI_Status *status) {
  int rc = MPI_SUCCESS, flag = 0, tries = 0;
  while (rc == MPI_SUCCESS && !flag) {
    if (!must_help(c)) return NEXT(Waitany)(count, requests, index, status);
    help_again(c, &tries);
    rc = NEXT(Testany)(count, requests, index, &flag, status);
  }
  return rc;
}
static int wait_some(const call *c, int count, MPI_Request requests[], int *done, int which[],
                     MPI_Status statuses[]) {
  int rc = MPI_SUCCESS, tries = 0;
  *done = 0;
  while (rc == MPI_SUCCESS && *done == 0) {
    if (!must_help(c)) return NEXT(Waitsome)(count, requests, done, which, statuses);
    help_again(c, &tries);
    rc = NEXT(Testsome)(count, requests, done, which, statuses);
  }
  return rc;
}
static int test_some(const call *c, int count, MPI_Request requests[], int *done, int which[],
                     MPI_Status statuses[]) {
  help(c);
  return NEXT(Testsome)(count, requests, done, which, statuses);
}

DEFINE(Wait, (MPI_Request * request, MPI_Status *status)) {
  ENTER;
  const MPI_Request before = c->active && request ? *request : MPI_REQUEST_NULL;
  borrowed b;
  const int rc = wait_one(c, borrow(c, 1, request, &b), status);
  give_back(c, &b);
  if (before != MPI_REQUEST_NULL && (rc == MPI_SUCCESS || *request == MPI_REQUEST_NULL))
    c->change -= ended(before, *request);
  RETURN(rc);
}
DEFINE(Test, (MPI_Request * request, int *flag, MPI_Status *status)) {
  ENTER;
  const MPI_Request before = c->active && request ? *request : MPI_REQUEST_NULL;
  help(c);
  borrowed b;
  const int rc = NEXT(Test)(borrow(c, 1, request, &b), flag, status);
  give_back(c, &b);
  if (before == MPI_REQUEST_NULL) RETURN(rc);
  if (rc == MPI_SUCCESS ? *flag : *request == MPI_REQUEST_NULL)
    c->change -= ended(before, *request);
  RETURN(rc);
}
DEFINE(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[])) {
  ENTER;
  const int64_t before = c->active && count > 0 && requests ? not_null(count, requests) : 0;
  borrowed b;
  MPI_Request *const r = borrow(c, count, requests, &b);
  const int rc = before ? wait_all(c, count, r, statuses) : NEXT(Waitall)(count, r, statuses);
  give_back(c, &b);
  if (before) c->change -= ended_of_all(rc, before, count, requests);
  RETURN(rc);
}
DEFINE(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[])) {
  ENTER;
  const int64_t before = c->active && count > 0 && requests ? not_null(count, requests) : 0;
  help(c);
  borrowed b;
  const int rc = NEXT(Testall)(count, borrow(c, count, requests, &b), flag, statuses);
  give_back(c, &b);
  if (before && (rc != MPI_SUCCESS || *flag))
    c->change -= ended_of_all(rc, before, count, requests);
  RETURN(rc);
}
DEFINE(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status)) {
  ENTER;
  const int64_t before = c->active && count > 0 && requests ? not_null(count, requests) : 0;
  borrowed b;
  const int rc = wait_any(c, count, borrow(c, count, requests, &b), index, status);
  give_back(c, &b);
  if (!before) RETURN(rc);
  if (rc != MPI_SUCCESS)
    c->change -= ended_of_all(rc, before, count, requests);
  else
    c->change -= *index == MPI_UNDEFINED ? ended_of_all(rc, before, count, requests)
                                         : ended_of_some(1, index, requests);
  RETURN(rc);
}
DEFINE(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)) {
  ENTER;
  const int64_t before = c->active && count > 0 && requests ? not_null(count, requests) : 0;
  help(c);
  borrowed b;
  const int rc = NEXT(Testany)(count, borrow(c, count, requests, &b), index, flag, status);
  give_back(c, &b);
  if (!before) RETURN(rc);
  if (rc != MPI_SUCCESS)
    c->change -= ended_of_all(rc, before, count, requests);
  else if (*flag)
    c->change -= *index == MPI_UNDEFINED ? ended_of_all(rc, before, count, requests)
                                         : ended_of_some(1, index, requests);
  RETURN(rc);
}
#define P_SOME int count, MPI_Request requests[], int *done, int which[], MPI_Status statuses[]
#define SOME(name, how)                                                                            \
  DEFINE(name, (P_SOME)) {                                                                         \
    ENTER;                                                                                         \
    const int64_t before = c->active && count > 0 && requests ? not_null(count, requests) : 0;     \
    borrowed b;                                                                                    \
    const int rc = how(c, count, borrow(c, count, requests, &b), done, which, statuses);           \
    give_back(c, &b);                                                                              \
    if (!before) RETURN(rc);                                                                       \
    if (rc != MPI_SUCCESS)                                                                         \
      c->change -= ended_of_all(rc, before, count, requests);                                      \
    else                                                                                           \
      c->change -= *done == MPI_UNDEFINED ? ended_of_all(rc, before, count, requests)              \
                                          : ended_of_some(*done, which, requests);                 \
    RETURN(rc);                                                                                    \
  }
SOME(Waitsome, wait_some)
SOME(Testsome, test_some)
#undef SOME
#undef P_SOME

#ifndef OPEN_MPI /* those that the MPI polls: mpi.h has them as MPIX_... alone */
DEFINE_X(Grequest_start, (MPI_Grequest_query_function * query, MPI_Grequest_free_function *release,
                          MPI_Grequest_cancel_function *cancel, MPIX_Grequest_poll_function *poll,
                          MPIX_Grequest_wait_function *wait, void *state, MPI_Request *request)) {
  START_GREQUEST(NEXT_X(Grequest_start)(query, release, cancel, poll, wait, state, request));
}
DEFINE_X(Grequest_class_allocate, (MPIX_Grequest_class kind, void *state, MPI_Request *request)) {
  START_GREQUEST(NEXT_X(Grequest_class_allocate)(kind, state, request));
}
#endif

DEFINE(Start, (MPI_Request * request)) {
  ENTER;
  int rc = MPI_SUCCESS;
  if (request && start_ours(c, *request, &rc)) RETURN(rc);
  rc = NEXT(Start)(request);
  if (c->active && rc == MPI_SUCCESS) c->change = known_put(*request, true);
  RETURN(rc);
}
DEFINE(Startall, (int count, MPI_Request requests[])) {
  ENTER;
  int rc = MPI_SUCCESS;
  if (any_ours(c)) { /* one by one */
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++) {
      if (start_ours(c, requests[i], &rc)) continue;
      rc = NEXT(Start)(&requests[i]);
      if (rc == MPI_SUCCESS) c->change += known_put(requests[i], true);
    }
    RETURN(rc);
  }
  rc = NEXT(Startall)(count, requests);
  for (int i = 0; c->active && rc == MPI_SUCCESS && i < count; i++)
    c->change += known_put(requests[i], true);
  RETURN(rc);
}

DEFINE(Request_free, (MPI_Request * request)) {
  ENTER;
  const MPI_Request before = c->active && request ? *request : MPI_REQUEST_NULL;
  bool was_active = true;
  int complete = 1;
  struct running *ours;
  if (before == MPI_REQUEST_NULL) RETURN(NEXT(Request_free)(request));
  if (!known_remove(before, &was_active, &ours)) {
    if (NEXT(Request_get_status)(before, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        !complete && adopt(before)) {
      *request = MPI_REQUEST_NULL;
      RETURN(MPI_SUCCESS);
    }
  } else if (ours) {
    MPI_Request current = MPI_REQUEST_NULL;
    progress_coll_release(ours, was_active, &current);
    if (was_active && adopt(current))
      was_active = false; /* still in flight */
    else if (was_active)
      NEXT(Request_free)(&current);
  }
  const int rc = NEXT(Request_free)(request);
  if (rc == MPI_SUCCESS) c->change = -(int64_t)was_active;
  RETURN(rc);
}

DEFINE(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status)) {
  ENTER;
  help(c);
  RETURN(NEXT(Request_get_status)(current_of(c, request), flag, status));
}

#if HAS_MPI_4_1
/* They stay what they were: nothing is given back. */
#  define LOOK_AT(name, ...)                                                                       \
    ENTER;                                                                                         \
    help(c);                                                                                       \
    borrowed b;                                                                                    \
    MPI_Request *const asked = borrow(c, count, (MPI_Request *)(uintptr_t)requests, &b);           \
    const int rc = NEXT(name)(count, asked, __VA_ARGS__);                                          \
    if (b.mine && b.mine != b.few) free(b.mine);                                                   \
    RETURN(rc)
DEFINE(Request_get_status_all,
       (int count, const MPI_Request requests[], int *flag, MPI_Status statuses[])) {
  LOOK_AT(Request_get_status_all, flag, statuses);
}
DEFINE(Request_get_status_any,
       (int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status)) {
  LOOK_AT(Request_get_status_any, index, flag, status);
}
DEFINE(Request_get_status_some,
       (int count, const MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])) {
  LOOK_AT(Request_get_status_some, done, indices, statuses);
}
#endif

DEFINE(Win_free, (MPI_Win * win)) {
  ENTER;
  const int rc = NEXT(Win_free)(win);
  c->change = rc == MPI_SUCCESS ? -1 : 0;
  RETURN(rc);
}

/* ---- collectives, communicators, operators: what may be ours --------------------------------------- */
#define START_COLLECTIVE(kind_, call_below, ...)                                                   \
  ENTER;                                                                                           \
  int rc = MPI_SUCCESS;                                                                            \
  const progress_call whole = {.kind = PROGRESS_##kind_, .comm = comm, __VA_ARGS__};               \
  if (!c->active || !progress_coll_start(&whole, request, &rc)) rc = call_below;                   \
  c->change = rc == MPI_SUCCESS;                                                                   \
  RETURN(rc);
#define MAKE_COLLECTIVE(kind_, call_below, ...)                                                    \
  ENTER;                                                                                           \
  int rc = MPI_SUCCESS;                                                                            \
  bool is_ours = false;                                                                            \
  const progress_call whole = {.kind = PROGRESS_##kind_, .comm = comm, __VA_ARGS__};               \
  struct running *const made =                                                                     \
      c->active ? progress_coll_init(&whole, request, &rc, &is_ours) : NULL;                       \
  if (!is_ours) rc = call_below;                                                                   \
  if (c->active && rc == MPI_SUCCESS) known_put(*request, false);                                  \
  if (c->active && rc == MPI_SUCCESS && !is_ours) known_is_foreign(*request);                      \
  if (made && rc == MPI_SUCCESS) rc = known_is_ours(*request, made);                               \
  RETURN(rc);
#define RUN_COLLECTIVE(kind_, call_below, ...)                                                     \
  ENTER;                                                                                           \
  int rc = MPI_SUCCESS;                                                                            \
  const progress_call whole = {.kind = PROGRESS_##kind_, .comm = comm, __VA_ARGS__};               \
  if (!c->active || !progress_coll_run(&whole, &rc)) rc = call_below;                              \
  RETURN(rc);
#define ICOLL(name, kind_, parameters, arguments, ...)                                             \
  ICOLL_(name, kind_, parameters, arguments, __VA_ARGS__)
#define ICOLL_(name, kind_, parameters, arguments, ...)                                            \
  ANY_DEFINE(name, parameters) { THE_CALL(kind_, ANY_NEXT(name) arguments, __VA_ARGS__) }

#define ANY_DEFINE SMALL_DEFINE
#define ANY_NEXT   NEXT
#define THE_CALL   START_COLLECTIVE
#define TAIL       MPI_Comm comm, MPI_Request *request
#define A_TAIL     comm, request
#define COUNT      int
#define DISP       int
#define LARGE      false
#define N(i, p)    i
#include "progress_preload_icoll.h"
DEFINE(Ibarrier, (TAIL)){START_COLLECTIVE(BARRIER, NEXT(Ibarrier)(A_TAIL), .root = 0)}
#undef N
#undef THE_CALL
#undef TAIL
#undef A_TAIL
#define THE_CALL RUN_COLLECTIVE
#define TAIL     MPI_Comm comm
#define A_TAIL   comm
#define N(i, p)  p
#include "progress_preload_icoll.h"
DEFINE(Barrier, (TAIL)){RUN_COLLECTIVE(BARRIER, NEXT(Barrier)(A_TAIL), .root = 0)}
#undef N
#undef THE_CALL
#undef TAIL
#undef A_TAIL
#define THE_CALL MAKE_COLLECTIVE
#define TAIL     MPI_Comm comm, MPI_Info info, MPI_Request *request
#define A_TAIL   comm, info, request
#if HAS_MPI_4
#  define N(i, p) p##_init
#  include "progress_preload_icoll.h"
DEFINE(Barrier_init, (TAIL)){MAKE_COLLECTIVE(BARRIER, NEXT(Barrier_init)(A_TAIL), .root = 0)}
#elif defined(INIT_OF_IS_MPIX)
#  undef ANY_DEFINE
#  undef ANY_NEXT
#  define ANY_DEFINE DEFINE_X
#  define ANY_NEXT   NEXT_X
#  define N(i, p)    p##_init
#  include "progress_preload_icoll.h"
DEFINE_X(Barrier_init, (TAIL)){MAKE_COLLECTIVE(BARRIER, NEXT_X(Barrier_init)(A_TAIL), .root = 0)}
#endif
#undef COUNT
#undef DISP
#undef LARGE
#undef N
#if HAS_LARGE_COUNTS
#  define COUNT   MPI_Count
#  define DISP    MPI_Aint
#  define LARGE   true
#  define N(i, p) p##_init_c
#  include "progress_preload_icoll.h"
#  undef N
#  undef THE_CALL
#  undef TAIL
#  undef A_TAIL
#  define THE_CALL START_COLLECTIVE
#  define TAIL     MPI_Comm comm, MPI_Request *request
#  define A_TAIL   comm, request
#  define N(i, p)  i##_c
#  include "progress_preload_icoll.h"
#  undef N
#  undef THE_CALL
#  undef TAIL
#  undef A_TAIL
#  define THE_CALL RUN_COLLECTIVE
#  define TAIL     MPI_Comm comm
#  define A_TAIL   comm
#  define N(i, p)  p##_c
#  include "progress_preload_icoll.h"
#endif
DEFINE(Comm_free, (MPI_Comm * comm)) {
  ENTER;
  if (c->active && comm && *comm != MPI_COMM_NULL) progress_coll_freed(*comm, false);
  RETURN(NEXT(Comm_free)(comm));
}
DEFINE(Comm_disconnect, (MPI_Comm * comm)) {
  ENTER;
  if (c->active && comm && *comm != MPI_COMM_NULL) progress_coll_freed(*comm, true);
  RETURN(NEXT(Comm_disconnect)(comm));
}
DEFINE(Op_free, (MPI_Op * op)) {
  ENTER;
  if (c->active && op && progress_coll_op_freed(*op)) {
    *op = MPI_OP_NULL;
    RETURN(MPI_SUCCESS);
  }
  RETURN(NEXT(Op_free)(op));
}

#include "progress_preload_errors.h"
#include "progress_preload_worker.h"
