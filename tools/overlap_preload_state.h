/* overlap_preload_state.h: what the preload knows of the process and of the calling thread; how a call is
   entered and left; signals that came while our own tables were half changed. */
#define NOTE_BYTES 400

/* The processes of a node that measure, and how many of them have written what they have. Those beyond MOST_ASKED are
   waited for, but not asked (see ask_node). */
enum { MOST_ASKED = 1024 };
typedef struct neighbour {
  pid_t process, thread;   /* the one of MPI_Init */
  bool is_done, is_silent; /* does not write when it is asked */
  uint64_t pid_space;      /* numbers of processes mean something else in another container */
} neighbour;
typedef struct neighbours {
  uint32_t measured_count, done_count;
  neighbour of[MOST_ASKED];
} neighbours;

static struct {
  bool recording;    /* between Init and the report, in this process */
  bool multiple;     /* MPI_THREAD_MULTIPLE: shared tables need the lock */
  bool clock_counts; /* it reads the processor's counter */
  bool switched_on;  /* MPI_Pcontrol */
  uint32_t epoch;    /* changes with switched_on: threads follow at their next call */
  int64_t
      save_at_ns; /* NBC_SAVE_S: the first call that ends then saves what there is; INT64_MAX: none does */
  int written;        /* the report: 0 no, 1 under way, 2 yes */
  bool is_finalizing; /* the program is at its end: what is under way now stays so */
  pid_t pid;
  nbc_monitor *monitor;
  const nbc_clock *clock;
  nbc_table *table[2];
  uint64_t edges[NBC_MAX_CLASSES];
  pthread_key_t thread_end;
  int lock;
  uint32_t thread_count;
  int rank, size;
  bool speaks; /* this process prints messages: rank 0 */
  bool first_of_node;
  char program[64], run_name[128], library[96], folder[1024];
  char notes[8][NOTE_BYTES];
  int note_count;
  uint64_t freed_count, lost_count;
  MPI_Group world_group;
  MPI_Comm gather_comm; /* NBC_GATHER: a communicator of our own */
  bool gathers;
  bool one_thread_each;      /* no process of the world has MPI_THREAD_MULTIPLE */
  neighbours *neighbours;    /* shared by the processes of a node; NULL = is not */
  uint32_t own_place;        /* among them */
  int writing;               /* a thread of this process writes a report */
  unsigned char *same_node;  /* per rank of the world; NULL = not known */
  uint32_t peers_generation; /* changes when a communicator or window is freed */
  int memory_fd;             /* /proc/self/mem: to look at a pointer that may be none */
  long first_thread;         /* the one of MPI_Init */
  int64_t start_ns, core_wait_ns, others_ran_ns, save_ns;
  bool is_saved; /* a report of ours is there that one at the end has to replace */
  int report_fd;
  FILE *report_file;
  bool report_failed, text;
  struct sigaction old_action[NSIG]; /* what would stand if ours did not */
  bool watched[NSIG];                /* ours stands */
  struct sites *sites;               /* of all threads */
  char executable[1024];
} run = {.pid = -1, .rank = -1, .size = 1, .memory_fd = -1};

typedef struct peers peers;
#define CACHED_PEERS 8

/* The calling thread. initial-exec: one instruction to reach it; a preload is loaded at start. What
   each call reads stands first, in one line of the cache. */
static __thread __attribute__((tls_model("initial-exec"), aligned(64))) struct {
  bool inside; /* in a wrapper: calls that MPI or callbacks make are not counted */
  bool on;
  bool asks_for_handler;
  bool
      beside; /* transfers with others end in the open call: those with oneself have none of its time */
  volatile sig_atomic_t busy;    /* in our own code: a signal handler must keep out */
  volatile sig_atomic_t pending; /* a signal that came while busy */
  uint32_t epoch;
  nbc_recorder *recorder;
  struct sites *sites;
  uint64_t next_id;
  uint32_t ends; /* transfers that share the open call's time */
  uint32_t generation;
  struct { /* while inside: kept here, for who leaves a call by longjmp takes its frame away */
    const char *name;
    uintptr_t address, frame;
    int64_t t0_ns;
  } open;
  uintptr_t cached_key[CACHED_PEERS];
  const peers *cached[CACHED_PEERS];
  void *requests; /* copies of request and status arrays, grown on demand */
  int request_count;
  int open_sections;          /* of the timeline */
  int skipped_sections;       /* and within one that it leaves out: it, and those in it */
  struct trace_record *looks; /* the newest record, when it is of this thread's looks in vain */
  uint64_t looks_head;
  int64_t section_begin_ns[NBC_MAX_DEPTH];
  uint64_t section_name[NBC_MAX_DEPTH];
  int *ranks; /* for translating groups */
  int rank_count;
  siginfo_t pending_info;
  uint64_t pending_mask;     /* of signals, as the kernel has it, before that one came */
  uintptr_t stack_pages[16]; /* where there is a stack, by their last digits */
} me;

/* Where a message came from that a probe matched. */
typedef struct came {
  MPI_Comm comm; /* 0: nobody knows */
  const peers *among;
  uint32_t made;
  int source, tag;
  uint16_t tally;
  nbc_peer peer;
} came;

/* One intercepted call. */
typedef struct call {
  bool active;
  bool told; /* of a call that looks: it found something */
  int64_t t0_ns, t1_ns;
  const char *name;
  uintptr_t address, frame; /* where the call came from */
  struct site *at;          /* the same in the table; NULL: not looked up yet */
  MPI_Message message;
  came matched;      /* who sent it */
  MPI_Status status; /* in place of MPI_STATUS_IGNORE */
} call;

/* Our own code begins and ends. What it changes stays between the two, for a signal handler. */
APART static void take_pending(void);
static inline void busy_begin(void) {
  me.busy = 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
static inline void busy_end(void) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  me.busy = 0;
  if (UNLIKELY(me.pending)) take_pending();
}

APART static void lock_among_threads(void) {
  while (__atomic_exchange_n(&run.lock, 1, __ATOMIC_ACQUIRE))
    while (__atomic_load_n(&run.lock, __ATOMIC_RELAXED)) sched_yield();
}
/* Who may be asked for a report is not, from now on. */
static void stay_silent(void) {
  if (run.neighbours && run.own_place < MOST_ASKED)
    __atomic_store_n(&run.neighbours->of[run.own_place].is_silent, true, __ATOMIC_RELAXED);
}
static inline void lock(void) {
  if (UNLIKELY(run.multiple)) lock_among_threads();
}
static inline void unlock(void) {
  if (UNLIKELY(run.multiple)) __atomic_store_n(&run.lock, 0, __ATOMIC_RELEASE);
}

/* A file that grows beyond RLIMIT_FSIZE ends the program, by SIGXFSZ: not for a file of ours. */
typedef struct size_signal {
  sigset_t only, before;
  bool was_pending;
} size_signal;
static void size_signal_off(size_signal *s) {
  sigset_t pending;
  sigemptyset(&s->only);
  sigaddset(&s->only, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &s->only, &s->before);
  s->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}
static void size_signal_on(size_signal *s) {
  const struct timespec now = {0, 0};
  const int saved_errno = errno;
  if (!s->was_pending) sigtimedwait(&s->only, NULL, &now);
  pthread_sigmask(SIG_SETMASK, &s->before, NULL);
  errno = saved_errno;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  one_line("nbc_overlap", format, args);
  va_end(args);
}

/* Something the user should know: into the report, and once on standard error. */
static void complain(const char *format, ...) {
  char text[NOTE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (run.speaks) say("%s", text);
  if (run.note_count < (int)(sizeof run.notes / sizeof *run.notes))
    memcpy(run.notes[run.note_count++], text, sizeof text);
}

/* The MPI's own function. */
static void *next_function(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function) return function;
  say("the MPI library has no %s", name);
  abort();
}
#define REAL(name) REAL_OF(PMPI_, name)
#define REAL_OF(prefix, name)                                                                      \
  (find_real((void **)&real_##name, #prefix #name), __atomic_load_n(&real_##name, __ATOMIC_RELAXED))
/* Filled at the first call, by whichever threads come first: all of them store the same. */
static inline void find_real(void **known, const char *name) {
  if (UNLIKELY(!__atomic_load_n(known, __ATOMIC_RELAXED)))
    __atomic_store_n(known, next_function(name), __ATOMIC_RELAXED);
}
