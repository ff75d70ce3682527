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
                      xfer_table writes them; default: a guess, and the report says so. %h in it stands for
                      the name of the process's host
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
     NBC_SIGNAL       USR1 or USR2: that signal, sent to a process, switches its measuring off, the next one on
                      again, each thread at its next MPI call, as MPI_Pcontrol(0) and (1) do; with
                      NBC_ON=later the first one begins. Default: none
     NBC_TRACE        1: also a timeline per process, NAME.RANK.trace, of calls, transfers with their bounds,
                      sections, and NBC_NIC_COUNTERS over time (read at the ends of calls, as often as takes a
                      thousandth of the time); overlap_trace (or nbc see --trace) makes Chrome's JSON and OTF2 of it;
                      calls: instead, a trace that pm_replay runs on a simulated machine, nbc_calls.NAME.RANK.calls
                      (overlap_preload_replay.h); not with NBC_PEERS=0. Default 0
                      first: as 1, but the first records are kept, and then no more are taken (nbc see does so)
     NBC_TRACE_MIB    memory for it per process, in MiB: 16, which is 262,144 records; the newest are kept. Of
                      first: 4, and of the whole run at most 64; no timeline of more than 1,024 processes
     NBC_TRACE_EVERY  N: of each section, only every N-th time that a thread enters it, the first, the N+1st ..., goes
                      into the timeline, with all that begins in it; what is in no section always does. So the ring
                      reaches N times as far back. For NBC_TRACE=1; messages of such timelines have no
                      arrows. Default 1
     NBC_TEXT         1: also a text report per process, NAME.txt; default 0
     NBC_THROUGH      libraries and functions that only pass calls on, such as a program's own layer above MPI:
                      what they call belongs to who called them, in "By place in the program" and in timelines.
                      Names as `nm` prints them or, of Fortran, as reports do, * for any text:
                      libHYPRE*,hypre_MPI_*,my_wait,halo::*. Such a call costs some ten nanoseconds more for each
                      function between. Default: none
     NBC_RANKS        which ranks are measured and write a report: 0-3,100; default: all
     NBC_GATHER       1: one file for the whole run, NAME.all.json instead of NAME.RANK.json: the reports go
                      to rank 0 over the MPI when all call MPI_Finalize; processes that end otherwise
                      leave files of their own. Set it for all processes; default 0
     NBC_SAVE_S       a report is saved every so many seconds while the program runs, at first after 10 to 20 s, 20 to 40,
                      ... (never so often that it takes more than a thousandth of the time), for a process that is
                      killed without a word (SIGKILL: no memory left, the time of a batch job, another node's
                      MPI_Abort). The one at the end takes its place; timelines are not saved. What cannot be saved is
                      tried again the next time. Default 300; 0:
                      never, and so with NBC_GATHER=1 and under pm_run. A process saves when one of its MPI calls ends; what
                      that takes is not the program's time. Not of several threads without MPI_THREAD_MULTIPLE
     NBC_PEERS        1 (default): find out at start who shares a node. This takes one
                      MPI_Comm_split_type and one MPI_Allreduce inside MPI_Init, so ALL processes of a
                      world must be preloaded. 0: no communication; peers count as unknown. Set it
                      when only some programs of a world are preloaded.

   MPI_Pcontrol, from the program:
     MPI_Pcontrol(0)          measuring off
     MPI_Pcontrol(1)          on (all threads: each from its next MPI call on)
     MPI_Pcontrol(2, "name")  a section begins (ASCII or UTF-8; 63 bytes are kept)
     MPI_Pcontrol(-2)         the innermost section ends
   Any level >= 2 or < 0 does the same. Without a readable name the section is called "level 2". Fortran's own
   MPI_Pcontrol takes no name; C's does, with this interface:
     interface
       subroutine section(level, name) bind(c, name="MPI_Pcontrol")
         use iso_c_binding
         integer(c_int), value :: level
         character(kind=c_char) :: name(*)
       end subroutine
     end interface
     call section(2, "halo" // char(0))        ! ... and section(-2, char(0))
   Nor does mpi4py's, which takes levels 0 to 2 only; the library's does, where it is loaded:
     section = getattr(ctypes.CDLL(None), "MPI_Pcontrol", lambda level, *name: 0)
     section(2, b"halo")                       # ... and section(-2)
   Regions marked for Caliper (cali_begin_region, ...) or NVTX 2 are sections too
   (overlap_preload_regions.h).

   WHAT IS A TRANSFER, AND WHEN
   A preload sees calls, not the wire. A transfer begins when the call that posts it is entered and
   ends when the call that completes it returns: the widest window, so that the minimum overlap
   stays a minimum. That a send is complete does not tell that its data has arrived (small messages
   are buffered): up to the table's eager size, and when the window is shorter than the transfer, only
   its begin counts as seen, and all of it or nothing may have been hidden. Of a larger one, also of
   MPI_Ssend, the last bytes may still be in a socket: the table's tail_bytes. A receive up to the eager
   size may have come before it was posted: only its end counts as seen; of a larger one as many bytes
   may have gone ahead. Of collectives, of buffered, ready and partitioned transfers nothing counts as
   seen, nor of sends of data that is not contiguous: they are made of messages, or of copies, that move before or after as the MPI likes. One-sided
   operations have no minimum: the table says how long messages take, and a put may be faster. A call
   that fails moves nothing.
     point-to-point  count x size of the type; receives by the bytes that came, known at completion
                     (MPI_Isendrecv, partitioned: as posted). Nothing from or to MPI_PROC_NULL.
                     Freed while active: case 3.
     collective      one transfer per process: what it must at least send, or receive, whichever is
                     more, own part left out; whatever the algorithm. Barriers move nothing.
     one-sided       from the call to the synchronisation that completes it at the origin
     files           no transfers: time in calls; of nonblocking ones how long they were under way, what was computed
                     meanwhile and waited for them, by call
   Local calls (ranks, types, groups, time) count as computation. Calls made inside another MPI call
   (from callbacks, or by the MPI library itself) belong to the outer one. A thread is seen from its
   first MPI call on. Sessions without MPI_Init are forwarded, not measured.

   ENDS. The report is written inside MPI_Finalize; without it, when the program calls exit, _exit,
   quick_exit, abort or MPI_Abort, makes an error that is fatal, or dies of SIGABRT, SIGTERM, SIGINT, SIGSEGV, SIGBUS, SIGFPE,
   SIGILL, SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ or SIGALRM, as far as the program left these to the
   system or to the MPI, whose own action follows. A signal that arrives in this library's own work waits for its end; only a fault in it ends without.
   A process that ends so takes its job with it, by SIGKILL of the launcher: it asks the others of its node, by SIGURG, for
   what they have until now, and waits a second for them at most. Who is killed otherwise leaves what NBC_SAVE_S saved.
   There is none of a process that becomes another program by exec. A call that is open then counts until then, with its place.
   Children of fork write nothing; what MPI_Comm_spawn starts is a run of its own.

   HOW IT IS BUILT
   Each wrapper defines MPI_X and PMPI_X and calls the next PMPI_X in link order: Fortran libraries
   reach C either way (Open MPI's call PMPI_X, MPICH's call MPI_X), so all of mpif.h, `use mpi`,
   `use mpi_f08` and C++ pass here exactly once. Other PMPI tools must come first in LD_PRELOAD.
   Two clock readings per call, no allocation per call (a longer request array, more open transfers,
   places or partners than ever before enlarge a table: 2^24 open transfers at most), a lock only under
   MPI_THREAD_MULTIPLE. What all this costs is calibrated at start, kept apart from computation and
   communication, and said in the report.
   FILES  overlap_preload_state.h, _calling.h (threads, enter and leave), _sites.h (places), _through.h, _peers.h
   (communicators), _pairs.h (who with whom), _files.h, _transfers.h, _wrap.h, _calls.h, _calls_once.h (all
   wrappers), _settings.h, _trace.h (timeline), _nics.h, _report.h, _gather.h, _ends.h (exit, signals), _fatal.h (errors). */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
/* Memory by mmap: a report must be writable from a signal handler that interrupted malloc. */
#include <stddef.h>
enum { MAPPED_BEFORE = 64 }; /* bytes that each piece takes besides */
static void *map_memory(size_t size_bytes);
static void unmap_memory(void *memory);
#define NBC_MALLOC(size_bytes) map_memory(size_bytes)
#define NBC_FREE(memory)       unmap_memory(memory)
#define NBC_ZALLOC(size_bytes) map_memory(size_bytes) /* zero, and not resident before it is used */
#define NBC_STATIC             /* what is not used goes, what only rare calls use is made small */
#define NBC_ONLY_OVERLAP
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_STATIC
#define NIC_WITH_NBC
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"

#include "tools/mpi_h.h"
#include "tools/one_line.h"
#include "tools/section_name.h"
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
#include <ucontext.h>
#include <unistd.h>

#define VISIBLE             __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define HOT                 __attribute__((flatten, noinline)) /* one copy, with all that it calls ... */
#define APART               __attribute__((noinline))          /* ... but this: rare */
#define SMALL               __attribute__((cold)) /* rare, with all that only it calls */
/* The second one. After a macro that is not defined that is what stands there; one that is defined as
   "~, x" puts an x in its place. */
#define SECOND(...)        SECOND_(__VA_ARGS__)
#define SECOND_(a, b, ...) b

static void *map_memory(size_t size_bytes) {
  size_t *p = mmap(NULL, size_bytes + MAPPED_BEFORE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  *p = size_bytes + MAPPED_BEFORE;
  return (char *)p + MAPPED_BEFORE;
}
static void unmap_memory(void *memory) {
  if (!memory) return;
  char *const mapped = (char *)memory - MAPPED_BEFORE;
  munmap(mapped, *(size_t *)(void *)mapped);
}

#include "overlap_preload_state.h"
#include "overlap_preload_settings.h"
#include "overlap_preload_through.h"
#include "overlap_preload_sites.h"
#include "overlap_preload_trace.h"
#include "overlap_preload_calling.h"
#include "overlap_preload_peers.h"
#include "overlap_preload_pairs.h"
#include "overlap_preload_files.h"
#include "overlap_preload_transfers.h"
#include "overlap_preload_core.h"
#include "overlap_preload_replay.h"
#include "overlap_preload_wrap.h"
#include "overlap_preload_nics.h"
#include "overlap_preload_report.h"
#include "overlap_preload_ends.h"
#include "overlap_preload_fatal.h"

/* ---- Init and Finalize ----------------------------------------------------------------------- */
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
  say("made for %s, but this program uses \"%.60s\": nothing is measured", ours, text);
  return false;
}

/* What the MPI says, not what was asked for: by its own settings MPI_Init may give more. */
static bool several_threads_may_call(void) {
  static int (*real_Query_thread)(int *);
  int level = MPI_THREAD_SINGLE;
  return REAL(Query_thread)(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE;
}

/* Those of the MPI itself: a progress preload behind us has one of its own beside the program's, which it does not
   tell. Nobody stands before PMPI_Wtick. */
static bool several_threads_may_move(void) {
  Dl_info mpi;
  int (*query)(int *) = NULL;
  int level = MPI_THREAD_MULTIPLE;
  void *const tick = dlsym(RTLD_NEXT, "PMPI_Wtick");
  void *const library =
      tick && dladdr(tick, &mpi) ? dlopen(mpi.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  void *const found = library ? dlsym(library, "PMPI_Query_thread") : NULL;
  memcpy(&query, &found, sizeof query);
  const bool is_told = query && query(&level) == MPI_SUCCESS;
  if (library) dlclose(library); /* it stays: others have it open */
  return !is_told || level == MPI_THREAD_MULTIPLE;
}

/* Memory that the processes of a node share, in a file that has no name any more when all have it. Who cannot
   open it, in a container of its own, is not waited for and waits for nobody. */
static void share_node(MPI_Comm comm, int own) {
  char path[64] = "";
  int file = -1;
  if (own == 0) {
    snprintf(path, sizeof path, "/dev/shm/nbc_overlap.%d.%lld", (int)getpid(),
             (long long)time(NULL));
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    /* Memory that is not there would end the program when it is written. */
    if (file >= 0 && posix_fallocate(file, 0, sizeof *run.neighbours) != 0) {
      unlink(path);
      close(file);
      file = -1;
    }
    if (file < 0) path[0] = 0;
  }
  PMPI_Bcast(path, sizeof path, MPI_CHAR, 0, comm);
  if (own > 0 && *path) file = open(path, O_RDWR | O_CLOEXEC);
  void *const shared = *path && file >= 0 ? mmap(NULL, sizeof *run.neighbours,
                                                 PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                                          : MAP_FAILED;
  if (shared != MAP_FAILED) run.neighbours = shared;
  if (file >= 0) close(file);
  PMPI_Barrier(comm);
  if (own == 0 && file >= 0) unlink(path);
}

/* Who shares our node, a name for this run (start time and process id of rank 0), and whether several threads of a
   process may move messages at once. */
static void meet_the_world(void) {
  enum { TIME, PID, THREADS, FACTS };
  long long of_all[FACTS], mine[FACTS] = {0, 0, several_threads_may_move()};
  if (run.rank == 0) mine[TIME] = (long long)time(NULL), mine[PID] = (long long)getpid();
  MPI_Comm node;
  MPI_Group group;
  int count = 0, own = -1;
  PMPI_Comm_group(MPI_COMM_WORLD, &run.world_group);
  if (PMPI_Allreduce(mine, of_all, FACTS, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS) {
    snprintf(run.run_name, sizeof run.run_name, "%s.%lld-%lld", run.program, of_all[TIME],
             of_all[PID]);
    run.one_thread_each = !of_all[THREADS];
  }
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
  share_node(node, own);
  PMPI_Comm_free(&node);
}

static void name_the_run(void) {
  snprintf(run.program, sizeof run.program, "%.60s", program_invocation_short_name);
  for (char *at = run.program; *at; at++)
    if (!isalnum((unsigned char)*at) && !strchr("._+-", *at)) *at = '_';
  snprintf(run.run_name, sizeof run.run_name, "%s.%d", run.program,
           (int)getpid()); /* until a common one is known */
}

/* What our own work costs, at least: per call, and per begin or end of a transfer. The cheapest of some
   batches of empty calls, and three quarters of that, because the processor may run faster later. The
   monitor lowers it further when a program shows a shorter gap between two calls. Of a clock whose reading
   takes long, or longer the more often it is read, as in a simulation, nothing is taken off. */
static void calibrate(nbc_monitor_desc *desc) {
  enum { BATCHES = 24, CALLS = 32 };
  nbc_monitor_desc own = *desc;
  nbc_monitor *monitor;
  nbc_recorder *recorder;
  int64_t least_ns[2] = {INT64_MAX, INT64_MAX};
  own.counters = NULL;
  own.on_seen = NULL;
  own.start_off = false;
  if (nbc_monitor_create(&own, &monitor) != NBC_OK) return;
  const nbc_clock *const clock = nbc_monitor_clock(monitor);
  const bool believed = clock->read_cost_ns <= 1000;
  if (believed && nbc_recorder_attach(monitor, &recorder) == NBC_OK) {
    for (int i = 0; i < BATCHES; i++) {
      const int with = i % 2; /* with a begin and an end in each call, or without */
      int64_t gaps_ns = 0, last_ns = 0;
      for (int k = 0; k < CALLS; k++) {
        const int64_t t0_ns = nbc_clock_now_ns(clock);
        if (k > 0) gaps_ns += t0_ns - last_ns;
        nbc_call_enter_at(recorder, NBC_KIND_SEND, t0_ns);
        last_ns = nbc_clock_now_ns(clock);
        if (with) {
          nbc_xfer_begin_at(recorder, (uint64_t)k, 8, NBC_KIND_SEND, NBC_PEER_SAME_NODE, t0_ns);
          nbc_xfer_end_at(recorder, (uint64_t)k, last_ns);
        }
        nbc_call_exit_at(recorder, last_ns);
      }
      if (i >= 4 && gaps_ns < least_ns[with]) least_ns[with] = gaps_ns;
    }
    nbc_recorder_detach(recorder);
    const int64_t per_call_ns = least_ns[0] / (CALLS - 1), with_two_ns = least_ns[1] / (CALLS - 1);
    desc->call_cost_ns = per_call_ns * 3 / 4;
    if (with_two_ns > per_call_ns) desc->event_cost_ns = (with_two_ns - per_call_ns) * 3 / 8;
  }
  nbc_monitor_destroy(monitor);
}

static nbc_status make_monitor(bool start_off) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.class_edges_bytes = run.edges;
  desc.class_edge_count = setting_classes(run.edges);
  desc.table_same_node = run.table[0] = setting_table("NBC_TABLE");
  desc.table_other_node = run.table[1] = setting_table("NBC_TABLE_OTHER");
  desc.counters = setting_nics();
  desc.max_transfers = 1024;
  desc.grow_transfers = true;
  desc.tables_of_messages = true;
  /* Each of several threads may move as much as one process of the table's could: as if all were others. */
  for (int i = 0; run.same_node && run.one_thread_each && i < run.size; i++)
    *(run.same_node[i] ? &desc.peers_same_node : &desc.peers_other_node) += i != run.rank;
  desc.start_off = start_off;
  if (setting_trace()) desc.on_seen = trace_seen, trace.counters = desc.counters;
  calibrate(&desc);
  const nbc_status status = nbc_monitor_create(&desc, &run.monitor);
  if (status != NBC_OK) {
    complain("cannot measure: %s", nbc_status_text(status));
  } else {
    run.clock = nbc_monitor_clock(run.monitor);
    run.clock_counts = run.clock->source == NBC__CLOCK_COUNTER;
  }
  if (trace.kept && run.clock) {
    const nbc_monitor_desc in_force = nbc_monitor_desc_of(run.monitor);
    trace.table[0] = in_force.table_same_node, trace.table[1] = in_force.table_other_node;
    for (int i = 0; i < 2; i++)
      trace.table_is_measured[i] = run.table[i] && !nbc_table_disturbed(run.table[i]);
    trace_anchor(0);
  }
  return status;
}

/* After MPI_Init, before the program goes on. */
SMALL static void start(void) {
  static const char *const on_off[] = {"0", "1", "later"}, *const yes_no[] = {"0", "1"};
  if (run.monitor || !is_our_mpi()) return;
  name_the_run();
  know_own_types();
  know_status();
  const ssize_t length = readlink("/proc/self/exe", run.executable, sizeof run.executable - 1);
  if (length < 0) run.executable[0] = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &run.size);
  run.speaks = run.rank == 0;
  const int on = setting_choice("NBC_ON", on_off, 3, 1);
  if (on == 0) return;
  run.multiple = several_threads_may_call();
  run.text = setting_choice("NBC_TEXT", yes_no, 2, 0) == 1;
  setting_folder();
  setting_through();
  if (setting_choice("NBC_PEERS", yes_no, 2, 1) == 1) meet_the_world();
  const bool chosen = setting_ranks(run.rank);
  if (setting_choice("NBC_GATHER", yes_no, 2, 0) == 1) {
    if (!run.same_node || setting("NBC_RANKS"))
      complain("NBC_GATHER=1 needs all processes of the world: not with NBC_PEERS=0 or NBC_RANKS");
    else
      run.gathers = PMPI_Comm_dup(MPI_COMM_WORLD, &run.gather_comm) == MPI_SUCCESS;
    /* When a process has failed, who waits for it goes on, and who has no room above writes a file. */
    if (run.gathers) PMPI_Comm_set_errhandler(run.gather_comm, MPI_ERRORS_RETURN);
  }
  if (!chosen) return;
  run.memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  run.pid = getpid();
  run.save_ns = setting_save_ns();
  run.switched_on = on == 1;
  run.epoch = 1;
  if (make_monitor(on == 2) != NBC_OK || !prepare_report_file()) return;
  pthread_key_create(&run.thread_end, thread_ends);
  pthread_atfork(NULL, NULL, in_child);
  busy_begin(); /* signals from here on have a report */
  watch_signals();
  watch_switch_signal();
  join_node();
  core_begin();
  saving_begins(run.start_ns);
  __atomic_store_n(&run.recording, true, __ATOMIC_RELEASE);
  calls_begin();
  follow(nbc_clock_now_ns(run.clock)); /* this thread computes from here on */
  if (trace.counters) trace_read_counters(false);
  busy_end();
}

BODY(Init, SETUP, (int *argc, char ***argv), (argc, argv)) {
  const int rc = REAL(Init)(argc, argv);
  (void)c;
  if (rc == MPI_SUCCESS) start();
  return rc;
}
BODY(Init_thread, SETUP, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided)) {
  const int rc = REAL(Init_thread)(argc, argv, required, provided);
  (void)c;
  if (rc == MPI_SUCCESS) start();
  return rc;
}

/* Before the MPI's own: what it does at the end may hang or die, the report must not. */
VISIBLE int PMPI_Finalize(void) {
  static int (*real_Finalize)(void);
  leave_what_was_left((uintptr_t)__builtin_dwarf_cfa());
  calls_end();
  run.is_finalizing = true;
  finish_by(run.gathers);
  stop_watching();
  return REAL(Finalize)();
}
VISIBLE int MPI_Finalize(void) __attribute__((alias("PMPI_Finalize")));
BODY(Abort, OTHER, (MPI_Comm comm, int code), (comm, code)) {
  (void)c;
  finish_before_abort();
  return REAL(Abort)(comm, code);
}

/* ---- names: calls, which stay computation -------------------------------------------------------- */
VISIBLE int PMPI_Comm_set_name(MPI_Comm comm, const char *name) {
  static int (*real_Comm_set_name)(MPI_Comm, const char *);
  const int rc = REAL(Comm_set_name)(comm, name);
  if (rc == MPI_SUCCESS && !me.inside && __atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) {
    busy_begin();
    name_peers(KEY(comm), name);
    busy_end();
  }
  return rc;
}
VISIBLE int MPI_Comm_set_name(MPI_Comm comm, const char *name)
    __attribute__((alias("PMPI_Comm_set_name")));

/* ---- MPI_Pcontrol ---------------------------------------------------------------------------- */
static void control(int level, const void *address) {
  char name[64];
  if (me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) return;
  busy_begin();
  const int64_t now_ns = nbc_clock_now_ns(run.clock);
  if (level == 0 || level == 1) {
    __atomic_store_n(&run.switched_on, level == 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&run.epoch, 1, __ATOMIC_RELEASE);
    follow(now_ns);
  } else if (me.epoch == __atomic_load_n(&run.epoch, __ATOMIC_RELAXED) || follow(now_ns)) {
    if (level < 0) {
      nbc_section_end_at(me.recorder, NULL, now_ns);
    } else {
      if (!section_name(run.memory_fd, address, name))
        snprintf(name, sizeof name, "level %d", level);
      nbc_section_begin_at(me.recorder, name, now_ns);
    }
    trace_section(name, level >= 0, now_ns);
  }
  busy_end();
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

#include "overlap_preload_regions.h"
