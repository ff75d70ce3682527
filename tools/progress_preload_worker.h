/* progress_preload_worker.h: the worker of the progress preload, its core, and the calls that start and stop
   it (included by progress_preload.c alone). */

/* ============================================================================================== */
/* The worker */
/* ============================================================================================== */
/* After the last thing in flight ended, before sleeping. On a core that nobody else uses looking costs nobody
   anything, and to be woken takes 7 to 12 us. */
#define LINGER_NS     200000
#define LINGER_OWN_NS 4000000
#define HEARTBEAT_NS  4000000 /* asleep: looks in so often */
#define TIMER_POLLS   16      /* at each look: long messages go in pieces */
#define GAP_RELAXES   8       /* between two polls: leaves the MPI's own locks to the program */

/* A receive that nobody sends to: to ask for it makes the MPI look at everything it has. (MPI_Iprobe does
   that too in Open MPI, but in MPICH 4.0 not on a communicator of one process.) */
static MPI_Request never = MPI_REQUEST_NULL;
static char never_buffer;

static void poll_mpi(void) {
  int flag = 0;
  if (!spin_try(&run.poll_lock)) return; /* a request is one thread's at a time */
  if (!run.locked || spin_try(&run.lock)) {
    NEXT(Test)(&never, &flag, MPI_STATUS_IGNORE);
    if (me.is_worker) test_adopted(), run.poll_count++;
    if (run.locked) spin_unlock(&run.lock);
  }
  spin_unlock(&run.poll_lock);
}

static bool begin_never(void) {
  return NEXT(Comm_dup)(MPI_COMM_SELF, &run.comm) == MPI_SUCCESS &&
         NEXT(Irecv)(&never_buffer, 1, MPI_BYTE, 0, 0, run.comm, &never) == MPI_SUCCESS;
}
static void end_never(void) {
  NEXT(Cancel)(&never);
  NEXT(Wait)(&never, MPI_STATUS_IGNORE);
  NEXT(Comm_free)(&run.comm);
}

static bool in_flight(int64_t flight) { return flight >= ONE_IN_FLIGHT; }
static bool program_inside(int64_t flight) { return (uint32_t)flight != 0; }
static int64_t flight_now(void) { return __atomic_load_n(&run.flight, __ATOMIC_SEQ_CST); }
static bool stopping(void) { return __atomic_load_n(&run.stop, __ATOMIC_ACQUIRE); }

static void nap(int64_t ns) {
  const struct timespec t = {ns / 1000000000, ns % 1000000000};
  nanosleep(&t, NULL);
}

/* Who posts something while the worker sleeps looks in itself, once, and then wakes it: what has come already (the
   announcement of a long message, others' parts of a collective) is answered at once, however long the machine takes to
   wake a thread; the system call alone is longer than the look. Of data that is no more than what short messages hold.
   nested: inside the MPI, which may hold locks. */
static void first_step(bool nested) {
  if (!takes_sleeper()) return;
  const int64_t t_ns = now_ns();
  if (!nested) {
    poll_mpi();
    progress_coll_poll();
    /* Of two threads one takes the sleeper; the worker may sleep again before the first has looked. */
    const uint64_t step = __atomic_fetch_add(&run.step_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&run.step_ns[step % WAKES_KEPT], now_ns() - t_ns, __ATOMIC_RELAXED);
  }
  wake_sleeper(t_ns);
}

/* Until something is in flight. Who posts looks at `asleep` after its addition to `flight`, we look at
   `flight` after having set `asleep`: one of the two sees the other. */
static void sleep_until_posted(void) {
  const struct timespec beat = {0, HEARTBEAT_NS};
  while (!stopping()) {
    __atomic_store_n(&run.asleep, 1, __ATOMIC_SEQ_CST);
    if (in_flight(flight_now())) break;
    syscall(SYS_futex, &run.asleep, FUTEX_WAIT_PRIVATE, 1, run.policy == DEDICATED ? &beat : NULL,
            NULL, NULL);
    if (in_flight(flight_now())) break;
    if (run.policy == DEDICATED && !program_inside(flight_now())) poll_mpi();
  }
  if (__atomic_exchange_n(&run.asleep, 0, __ATOMIC_SEQ_CST)) return; /* woke by itself */
  const int64_t asked_ns = __atomic_load_n(&run.wake_asked_ns, __ATOMIC_RELAXED);
  if (asked_ns && !stopping()) run.wake_ns[run.wake_count++ % WAKES_KEPT] = now_ns() - asked_ns;
}

static void rest_between_polls(void) {
  switch (run.policy) {
  case TIMER: nap(run.period_ns); break;
  case IDLE: sched_yield(); break;
  case DEDICATED:
  case NONE:
    if (run.polite) sched_yield();
    for (int i = 0; i < GAP_RELAXES; i++) relax();
    break;
  }
}

static void *worker_main(void *nothing) {
  const int64_t linger_ns = run.policy == DEDICATED && !run.polite ? LINGER_OWN_NS : LINGER_NS;
  int64_t quiet_since_ns = 0;
  uint32_t entries = 0;
  (void)nothing;
  me.is_worker = true;
  prctl(PR_SET_NAME, "nbc_progress");
  prctl(PR_SET_TIMERSLACK, 1000UL);
  while (!stopping()) {
    const int64_t flight = flight_now();
    if (!in_flight(flight)) {
      const int64_t t_ns = now_ns();
      if (!quiet_since_ns) quiet_since_ns = t_ns;
      if (run.policy == TIMER || t_ns - quiet_since_ns > linger_ns) {
        sleep_until_posted();
        quiet_since_ns = 0;
        continue;
      }
      if (run.polite || run.policy == IDLE) sched_yield();
      relax();
      continue;
    }
    quiet_since_ns = 0;
    const uint32_t entries_now = __atomic_load_n(&run.entries, __ATOMIC_RELAXED);
    const bool calls_often = run.policy == TIMER && entries_now != entries;
    entries = entries_now;
    if (progress_coll_active())
      progress_coll_poll(); /* also while the program waits for something else */
    if (program_inside(flight)) {
      if (run.polite && !progress_coll_active()) nap(20000);
    } else if (
        !calls_often) { /* else it makes progress itself, and would wait for the MPI's lock */
      for (int i = run.policy == TIMER ? TIMER_POLLS : 1; i > 0 && !program_inside(flight_now());
           i--) {
        poll_mpi();
        progress_coll_poll(); /* returns at once when there is none */
      }
    }
    rest_between_polls();
  }
  return NULL;
}

/* ============================================================================================== */
/* Its core */
/* ============================================================================================== */
enum { MAX_CORES = 1024 };
typedef struct core_set {
  unsigned char has[MAX_CORES]; /* one byte each: told to the other ranks as it is */
} core_set;

/* What one rank tells the others of its node. */
typedef struct rank_needs {
  core_set may; /* its main thread is allowed there */
  int count;    /* cores that it needs of those */
  int chosen;   /* its worker's core: a number, or one of the next two */
} rank_needs;
enum { CORE_AUTO = -1, CORE_NONE = -2 };

static int core_count(const core_set *set) {
  int n = 0;
  for (int i = 0; i < MAX_CORES; i++) n += set->has[i];
  return n;
}
static core_set from_mask(const cpu_set_t *mask) {
  core_set set;
  memset(&set, 0, sizeof set);
  for (int i = 0; i < MAX_CORES; i++) set.has[i] = CPU_ISSET((size_t)i, mask) != 0;
  return set;
}
static void to_mask(const core_set *set, cpu_set_t *mask) {
  CPU_ZERO(mask);
  for (int i = 0; i < MAX_CORES; i++)
    if (set->has[i]) CPU_SET((size_t)i, mask);
}

/* All that the system lets this process use, whatever it is bound to: ask for all, see what comes. */
static core_set cores_of_job(void) {
  cpu_set_t before, all;
  core_set set;
  memset(&set, 0, sizeof set);
  if (sched_getaffinity(0, sizeof before, &before)) return set;
  set = from_mask(&before);
  memset(&all, 0xff, sizeof all);
  if (sched_setaffinity(0, sizeof all, &all) == 0) {
    cpu_set_t granted;
    if (sched_getaffinity(0, sizeof granted, &granted) == 0) set = from_mask(&granted);
    sched_setaffinity(0, sizeof before, &before);
  }
  return set;
}

/* A line of a file below /sys about a core, as a set ("0-3,8") or a number. */
static bool read_sys(int core, const char *what, char text[256]) {
  char path[128];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", core, what);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const bool good = fgets(text, 256, file) != NULL;
  fclose(file);
  return good;
}
static int package_of(int core) {
  char text[256];
  return read_sys(core, "physical_package_id", text) ? atoi(text) : 0;
}
/* Does `set` hold another thread of the same physical core? */
static bool sibling_in(int core, const core_set *set) {
  char text[256];
  if (!read_sys(core, "thread_siblings_list", text)) return false;
  for (char *at = text; *at;) {
    char *end;
    long from = strtol(at, &end, 10), to = from;
    if (end == at) break;
    if (*end == '-') to = strtol(end + 1, &end, 10);
    for (long i = from; i <= to && i < MAX_CORES; i++)
      if (i != core && i >= 0 && set->has[i]) return true;
    at = *end == ',' ? end + 1 : end;
    if (*at == '\n') break;
  }
  return false;
}

/* Who holds this name has the core for its worker, on this node, in whatever job. */
static bool claim_core(int core) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const int length =
      snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "nbc_progress/core/%d", core);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  if (bind(fd, (struct sockaddr *)&name,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
    return true; /* kept open until the process ends */
  const bool taken = errno == EADDRINUSE;
  close(fd);
  return !taken;
}

/* Threads of OpenMP: how many, and where when they are bound. Asked of its runtime when it is there. */
static void add_openmp(rank_needs *needs) {
  int (*max_threads)(void), (*proc_bind)(void), (*place_count)(void), (*proc_count)(int);
  void (*proc_ids)(int, int *);
  *(void **)&max_threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
  *(void **)&proc_bind = dlsym(RTLD_DEFAULT, "omp_get_proc_bind");
  *(void **)&place_count = dlsym(RTLD_DEFAULT, "omp_get_num_places");
  *(void **)&proc_count = dlsym(RTLD_DEFAULT, "omp_get_place_num_procs");
  *(void **)&proc_ids = dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids");
  if (!max_threads) return;
  needs->count = max_threads();
  if (!proc_bind || !place_count || !proc_count || !proc_ids || proc_bind() == 0) return;
  for (int p = 0; p < place_count(); p++) {
    const int n = proc_count(p);
    int *const ids = n > 0 ? malloc((size_t)n * sizeof *ids) : NULL;
    if (!ids) continue;
    proc_ids(p, ids);
    for (int i = 0; i < n; i++)
      if (ids[i] >= 0 && ids[i] < MAX_CORES) needs->may.has[ids[i]] = 1;
    free(ids);
  }
  if (place_count() > 0) needs->count = core_count(&needs->may); /* any of its places may be used */
}

static rank_needs needs_of_this_rank(int chosen) {
  rank_needs needs;
  cpu_set_t mask;
  memset(&needs, 0, sizeof needs);
  needs.count = 1;
  needs.chosen = chosen;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) needs.may = from_mask(&mask);
  add_openmp(&needs);
  if (needs.count < 1) needs.count = 1;
  return needs;
}

/* Lower is better: a core that no rank may use, with an idle sibling, of the rank's package, high. */
static int badness(int core, const core_set *floating, const core_set *busy, int package) {
  return (floating->has[core] ? 8 : 0) + (sibling_in(core, busy) ? 4 : 0) +
         (package_of(core) != package ? 2 : 0);
}

typedef struct plan {
  int core;         /* of this rank; CORE_NONE: none left */
  bool shared;      /* with a rank, or with another rank's worker: only where that was told */
  core_set workers; /* of all ranks of this node, where nobody else should run */
  int given, asked;
} plan;

/* The best core for the worker of one rank; CORE_NONE. */
static int best_core(const rank_needs *needs, const core_set *job, const core_set *used,
                     const core_set *busy, const core_set *floating, int spare) {
  int best = CORE_NONE, best_badness = 0, package = 0;
  for (int i = MAX_CORES - 1; i >= 0; i--)
    if (needs->may.has[i]) package = package_of(i);
  for (int i = MAX_CORES - 1; i >= 0; i--) {
    if (!job->has[i] || used->has[i] || (floating->has[i] && spare < 1)) continue;
    const int bad = badness(i, floating, busy, package);
    if (best < 0 || bad < best_badness) best = i, best_badness = bad;
  }
  return best;
}

/* Every rank of the node comes to the same plan. A rank whose cores are no more than it needs is bound:
   they are its own. The others float: together they must keep as many cores as they need. */
static plan make_plan(const rank_needs *all, int n, int own, const core_set *job) {
  core_set busy, floating, used;
  plan p;
  int spare = 0;
  memset(&p, 0, sizeof p);
  memset(&busy, 0, sizeof busy);
  memset(&floating, 0, sizeof floating);
  p.core = CORE_NONE;
  for (int r = 0; r < n; r++)
    for (int i = 0; i < MAX_CORES; i++)
      if (all[r].may.has[i])
        (core_count(&all[r].may) <= all[r].count ? &busy : &floating)->has[i] = 1;
  for (int i = 0; i < MAX_CORES; i++)
    if (busy.has[i]) floating.has[i] = 0;
  for (int r = 0; r < n; r++)
    if (core_count(&all[r].may) > all[r].count) spare -= all[r].count;
  spare += core_count(&floating);
  used = busy;
  for (int told = 1; told >= 0; told--) /* those that were told first: the others keep off */
    for (int r = 0; r < n; r++) {
      if (all[r].chosen == CORE_NONE || (all[r].chosen >= 0) != (told == 1)) continue;
      p.asked++;
      const int core =
          told ? all[r].chosen : best_core(&all[r], job, &used, &busy, &floating, spare);
      if (core < 0) continue;
      p.given++;
      const bool shared = used.has[core] || (floating.has[core] && spare < 1);
      if (r == own)
        p.core = core, p.shared = shared;
      else if (core == p.core)
        p.shared = true;
      if (floating.has[core] && !used.has[core]) spare--;
      used.has[core] = 1;
      if (!shared) p.workers.has[core] = 1;
    }
  return p;
}

/* The threads of this process that may run on a worker's core may do so no longer. True: some moved. */
static bool leave_cores(const core_set *workers) {
  bool moved = false;
  DIR *const tasks = opendir("/proc/self/task");
  if (!tasks) return false;
  for (struct dirent *entry; (entry = readdir(tasks));) {
    const pid_t tid = (pid_t)atoi(entry->d_name);
    cpu_set_t mask;
    if (tid <= 0 || sched_getaffinity(tid, sizeof mask, &mask)) continue;
    core_set may = from_mask(&mask);
    const int before = core_count(&may);
    for (int i = 0; i < MAX_CORES; i++)
      if (workers->has[i]) may.has[i] = 0;
    const int after = core_count(&may);
    if (after == before || after == 0) continue;
    to_mask(&may, &mask);
    moved = sched_setaffinity(tid, sizeof mask, &mask) == 0 || moved;
  }
  closedir(tasks);
  return moved;
}

/* What launchers tell before MPI_Init does; 0 when they do not. */
static int first_number(const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (progress_setting(names[i])) return atoi(getenv(names[i]));
  return 0;
}
static int local_rank_of_launcher(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                      "PMI_LOCAL_RANK", "SLURM_LOCALID"};
  return first_number(names, sizeof names / sizeof *names);
}
static int rank_of_launcher(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                      "SLURM_PROCID"};
  return first_number(names, sizeof names / sizeof *names);
}

/* NBC_PROGRESS_CORE=N,N,... : the entry of this rank; *entries says how many there are. -1: no such list. */
static int core_in_list(const char *list, int local_rank, int *entries) {
  int found = -1;
  *entries = 0;
  for (const char *at = list; *at; at++) *entries += *at == ',';
  ++*entries;
  const char *at = list;
  for (int i = 0; i < *entries; i++) {
    char *end;
    const long core = strtol(at, &end, 10);
    if (end == at || (*end && *end != ',') || core < 0 || core >= MAX_CORES) return -1;
    if (i == local_rank % *entries) found = (int)core;
    at = end + 1;
  }
  return found;
}

typedef struct node {
  MPI_Comm comm; /* of the ranks on it; MPI_COMM_NULL: not asked */
  int rank, size;
} node;

/* What NBC_PROGRESS_CORE asks for; CORE_NONE: there is no such core, and that was said. */
static int core_asked_for(const node *at, const core_set *job) {
  const char *const value = progress_setting("NBC_PROGRESS_CORE");
  int core = CORE_NONE, entries;
  if (!value || strcmp(value, "auto") == 0) return CORE_AUTO;
  if (strcmp(value, "last") == 0) {
    for (int i = 0; i < MAX_CORES; i++)
      if (job->has[i]) core = i;
  } else {
    core = core_in_list(value, at->rank, &entries);
  }
  if (core >= 0 && job->has[core]) return core;
  progress_say("NBC_PROGRESS_CORE=%.60s: rank %d may not use such a core: no worker", value,
               run.rank);
  return CORE_NONE;
}

static void say_none_is_left(const plan *p, const core_set *job) {
  progress_say(
      "%d of %d ranks on the node of rank %d get no worker: of %d cores none is left that no rank "
      "or OpenMP "
      "thread needs. Start fewer ranks or threads per node (OMP_NUM_THREADS), bind them, or set "
      "NBC_PROGRESS=timer, or NBC_PROGRESS_CORE=N to share",
      p->asked - p->given, p->asked, run.rank, core_count(job));
}

/* Chooses run.core, and says in `text` what was chosen. False: no worker. */
static bool find_core(const node *at, char text[512]) {
  const core_set job = cores_of_job();
  rank_needs *const all = malloc((size_t)at->size * sizeof *all);
  if (!all) return false;
  all[0] = needs_of_this_rank(core_asked_for(at, &job));
  const rank_needs own = all[0];
  if (at->comm != MPI_COMM_NULL)
    NEXT(Allgather)(&own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, at->comm);
  const bool blind = at->comm == MPI_COMM_NULL && own.chosen == CORE_AUTO;
  if (blind)
    progress_say("NBC_PEERS=0: no core was looked for: no worker. Set NBC_PROGRESS_CORE=N, or "
                 "NBC_PROGRESS=timer");
  const plan p = make_plan(all, at->size, at->comm == MPI_COMM_NULL ? 0 : at->rank, &job);
  free(all);
  if (blind) return false;
  const bool moved = leave_cores(&p.workers);
  if (at->rank == 0 && p.given < p.asked) say_none_is_left(&p, &job);
  if (p.core < 0) return false;
  const bool taken = !p.shared && !claim_core(p.core);
  if (taken && own.chosen == CORE_AUTO) {
    progress_say("core %d is taken by the worker of another job: rank %d has none", p.core,
                 run.rank);
    return false;
  }
  run.core = p.core;
  run.polite = p.shared || taken;
  snprintf(text, 512, "core %d%s%s%s", run.core, own.chosen >= 0 ? " as told" : "",
           run.polite ? ", SHARED with a rank or another worker: it gives way after every poll"
                      : "",
           moved ? " (ranks that were not bound were moved off the workers' cores)" : "");
  return true;
}

/* ============================================================================================== */
/* Starting and stopping */
/* ============================================================================================== */
static bool start_worker(void) {
  pthread_attr_t attributes;
  int failed;
  pthread_attr_init(&attributes);
  if (run.policy == DEDICATED) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((size_t)run.core, &only);
    pthread_attr_setaffinity_np(&attributes, sizeof only, &only);
  }
  sigset_t all, before;
  sigfillset(&all); /* signals are the program's threads' */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  failed = pthread_create(&run.worker, &attributes, worker_main, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (failed) {
    progress_say("rank %d: the worker cannot be started: %s", run.rank, strerror(failed));
    return false;
  }
  const struct sched_param param = {0};
  if (run.policy == IDLE && pthread_setschedparam(run.worker, SCHED_IDLE, &param))
    progress_say("rank %d: SCHED_IDLE is refused: the worker runs as any thread", run.rank);
  return true;
}

/* Waits at most limit_ns for its end: it may be inside an MPI that is itself being torn down. */
static void stop_worker(int64_t limit_ns) {
  if (getpid() != run.pid || !__atomic_exchange_n(&run.active, false, __ATOMIC_SEQ_CST)) return;
  __atomic_store_n(&run.stop, true, __ATOMIC_SEQ_CST);
  if (takes_sleeper()) wake_sleeper(now_ns());
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (time_t)(limit_ns / 1000000000);
  until.tv_nsec += (long)(limit_ns % 1000000000);
  if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
  pthread_timedjoin_np(run.worker, NULL, &until);
}

static int by_size(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}
static int64_t median_of(int64_t ns[WAKES_KEPT], uint64_t count) {
  const size_t n = count < WAKES_KEPT ? (size_t)count : WAKES_KEPT;
  qsort(ns, n, sizeof *ns, by_size);
  return n ? ns[n / 2] : 0;
}
static void say_what_it_did(int64_t cpu_ns, int64_t wall_ns, int64_t left_count) {
  progress_say(
      "rank %d: worker on core %d polled %llu times, was woken %llu times (median %lld ns "
      "after the post; who posted had looked in after %lld ns), used "
      "%.6f s of %.3f s; %lld requests and windows still in flight; %llu collectives were ours",
      run.rank, run.core, (unsigned long long)run.poll_count, (unsigned long long)run.wake_count,
      (long long)median_of(run.wake_ns, run.wake_count),
      (long long)median_of(run.step_ns, run.step_count), (double)cpu_ns * 1e-9,
      (double)wall_ns * 1e-9, (long long)left_count, (unsigned long long)progress_coll_count());
}

static int64_t start_ns;
static int64_t worker_cpu_ns(void) {
  clockid_t clock;
  struct timespec t = {0, 0};
  if (pthread_getcpuclockid(run.worker, &clock) == 0) clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void at_exit(void) { stop_worker(1000000000); }
/* A child of fork is not a process of the MPI program. */
static void in_child(void) {
  run.active = false;
  run.locked = false;
  me.inside = false;
  me.wrappers = me.raised_count = 0;
}

/* This library is compiled against one MPI; the handles of another mean something else. */
static bool is_our_mpi(void) {
  char text[16384] = "";
  int length = 0;
#ifdef OPEN_MPI
  const char *ours = "Open MPI";
#else
  const char *ours = "MPICH";
#endif
  if (!find_below("PMPI_Get_library_version")) return false;
  NEXT(Get_library_version)(text, &length);
  text[strcspn(text, ",\n")] = 0;
  if (strncmp(text, ours, strlen(ours)) == 0) return true;
  progress_tell("made for %s, but this program uses \"%.60s\": nothing is done", ours, text);
  return false;
}

static const char *level_name(int level) {
  return level == MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
         : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
         : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                          : "MPI_THREAD_SINGLE";
}

static node meet_the_node(void) {
  static const char *const yes_no[] = {"0", "1"};
  node at = {MPI_COMM_NULL, local_rank_of_launcher(), 1};
  if (progress_choice("NBC_PEERS", yes_no, 2, 1) == 0) return at;
  if (NEXT(Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &at.comm) !=
      MPI_SUCCESS) {
    at.comm = MPI_COMM_NULL;
    return at;
  }
  NEXT(Comm_rank)(at.comm, &at.rank);
  NEXT(Comm_size)(at.comm, &at.size);
  return at;
}

static void look_who_is_below(void) {
  Dl_info where;
  if (dladdr(dlsym(RTLD_NEXT, "PMPI_Isend"), &where) && where.dli_fname &&
      strstr(where.dli_fname, "libnbc_overlap"))
    progress_say("put libnbc_overlap before libnbc_progress in LD_PRELOAD: as it is, the worker's "
                 "calls are measured as the program's");
}

/* After MPI_Init, before the program goes on. */
static void start(int granted) {
  char text[512] = "";
  if (run.pid == getpid()) return;
  NEXT(Comm_rank)(MPI_COMM_WORLD, &run.rank);
  const node at = meet_the_node();
  bool has_worker = granted >= MPI_THREAD_SERIALIZED;
  if (!has_worker && run.rank == 0)
    progress_say("no worker: the MPI grants %s only, and a worker needs MPI_THREAD_SERIALIZED",
                 level_name(granted));
  if (has_worker && run.policy == DEDICATED)
    has_worker = find_core(&at, text);
  else if (run.policy == TIMER)
    snprintf(text, sizeof text, "every %lld us, on the program's cores",
             (long long)run.period_ns / 1000);
  else if (run.policy == IDLE)
    snprintf(text, sizeof text, "when a core is idle");
  if (at.comm != MPI_COMM_NULL) {
    MPI_Comm comm = at.comm;
    NEXT(Comm_free)(&comm);
  }
  has_worker = has_worker && begin_never() && start_worker();
  const bool ours = progress_coll_begin(has_worker && granted >= MPI_THREAD_MULTIPLE);
  if (!has_worker) return;
  run.pid = getpid();
  start_ns = now_ns();
  run.locked = granted < MPI_THREAD_MULTIPLE;
  __atomic_store_n(&run.active, true, __ATOMIC_RELEASE);
  pthread_atfork(NULL, NULL, in_child);
  atexit(at_exit);
  if (run.rank) return;
  progress_say("%s worker: %s; %s%s%s", policy_names[run.policy], text, level_name(granted),
               run.locked ? ": every MPI call goes through one lock" : "",
               !ours                      ? ""
               : progress_coll_blocking() ? "; collectives are ours, blocking ones too"
                                          : "; nonblocking collectives are ours");
  look_who_is_below();
}

/* Before MPI_Init: what to ask for. False: calls are only forwarded. */
static bool prepare(void) {
  static const char *const says[] = {"0", "1", "2"};
  run.rank = rank_of_launcher();
  run.say = progress_choice("NBC_PROGRESS_SAY", says, 3, 1);
  run.policy = (enum policy)progress_choice("NBC_PROGRESS", policy_names, 4, DEDICATED);
  const char *const period = progress_setting("NBC_PROGRESS_US");
  double us = 1000;
  if (period && !(progress_number(period, &us) && us >= 1 && us <= 1e9)) {
    progress_say("NBC_PROGRESS_US=%.60s: must be 1 to 1e9, 1000 is taken", period);
    us = 1000;
  }
  run.period_ns = (int64_t)(us * 1000);
  return run.policy != NONE && is_our_mpi();
}
static int level_to_ask_for(int required) {
  static const char *const levels[] = {"multiple", "serialized"};
  int by_default = 0;
#ifdef OPEN_MPI
  /* Its windows over plain messages refuse to be made under MPI_THREAD_MULTIPLE. */
  const char *const windows = progress_setting("OMPI_MCA_osc");
  by_default = windows && strstr(windows, "pt2pt") && !strpbrk(windows, "^") &&
               !strstr(windows, "rdma") && !strstr(windows, "ucx");
#endif
  const int level = progress_choice("NBC_PROGRESS_LEVEL", levels, 2, by_default) == 0
                        ? MPI_THREAD_MULTIPLE
                        : MPI_THREAD_SERIALIZED;
  return level > required ? level : required;
}

static int init(int *argc, char ***argv, int required, int *provided) {
  int granted = MPI_THREAD_SINGLE;
  const int rc = NEXT(Init_thread)(argc, argv, level_to_ask_for(required), &granted);
  if (rc != MPI_SUCCESS) return rc;
  run.told_level = required < granted ? required : granted;
  if (provided) *provided = run.told_level;
  start(granted);
  return rc;
}

DEFINE(Init, (int *argc, char ***argv)) {
  if (!prepare()) return NEXT(Init)(argc, argv);
  return init(argc, argv, MPI_THREAD_SINGLE, NULL);
}
DEFINE(Init_thread, (int *argc, char ***argv, int required, int *provided)) {
  if (!prepare()) return NEXT(Init_thread)(argc, argv, required, provided);
  return init(argc, argv, required, provided);
}
DEFINE(Query_thread, (int *provided)) {
  ENTER;
  const int rc = NEXT(Query_thread)(provided);
  if (rc == MPI_SUCCESS && run.told_level >= 0) *provided = run.told_level;
  RETURN(rc);
}
DEFINE(Finalize, (void)) {
  const bool had_worker = __atomic_load_n(&run.active, __ATOMIC_ACQUIRE);
  if (had_worker) {
    const int64_t cpu_ns = worker_cpu_ns(), wall_ns = now_ns() - start_ns;
    stop_worker(10000000000);
    test_adopted();
    const int64_t left_count = flight_now() / ONE_IN_FLIGHT;
    progress_coll_end();
    give_back_adopted();
    end_never();
    if (run.say == 2) say_what_it_did(cpu_ns, wall_ns, left_count);
  }
  return NEXT(Finalize)();
}
DEFINE(Abort, (MPI_Comm comm, int code)) {
  stop_worker(100000000);
  return NEXT(Abort)(comm, code);
}
