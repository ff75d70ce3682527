/* What the parts of pm_run know of each other. A part (libc, MPI, ...) brings its options, its state
   per process and what is to be done when a process begins and ends; it adds itself before main, so
   that a new file in this folder needs no other line:

     static guest_part part = {.name = "mpi", .state_bytes = sizeof(state), .options = options,
                               .process_begin = begin};
     __attribute__((constructor)) static void add(void) { guest_part_add(&part); }

   Programs find, in this order: their own symbols, those of libraries given by --preload, what a
   part replaces by guest_replace (where the launcher needs the original too), the launcher's
   exported symbols, libraries, libc. */
#ifndef GUEST_H_INCLUDED
#define GUEST_H_INCLUDED
#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#include "portals_model.h"

#pragma GCC visibility push(hidden)
typedef struct guest guest;

/* ---- variables of libc that each process has for itself --------------------------------------------- */
enum guest_variable {
  GUEST_ENVIRON,
  GUEST_OPTARG,
  GUEST_OPTIND,
  GUEST_OPTERR,
  GUEST_OPTOPT,
  GUEST_STDIN,
  GUEST_STDOUT,
  GUEST_STDERR,
  GUEST_PROGNAME, /* program_invocation_name */
  GUEST_PROGNAME_SHORT,
  GUEST_STACK_END, /* __libc_stack_end: of its first thread */
  GUEST_F_STATUS,  /* MPI_F_STATUS_IGNORE and so on: MPICH's Fortran library sets them */
  GUEST_F_STATUSES,
  GUEST_F08_STATUS,
  GUEST_F08_STATUSES,
  GUEST_VARIABLES
};

/* ---- a process of the program ------------------------------------------------------------------------ */
/* What libc keeps per thread and each simulated thread has for itself. */
typedef struct guest_context {
  char *tls; /* the program's thread-local variables while another thread runs */
  int error_number;
  struct guest_exit *exits;  /* destructors of thread-local objects */
  struct omp_thread *openmp; /* made when it is asked for, see openmp.c */
  int mpi_depth;             /* calls of MPI that it is in: a library may call others inside */
  const char *mpi_call;      /* while it is: the outermost */
  const struct gm_req
      *mpi_waits_for;            /* for one message; NULL: for several, or for something else */
  struct gm_proc *mpi;           /* of its process, where calls of MPI are but counted; else NULL */
  struct nbc_recorder *recorder; /* of --report: its calls and transfers; NULL: none yet */
  struct gm_place *place;        /* of the call that it is in; NULL: none, or not known */
  int64_t place_since_ns;
  struct { /* one that yields and looks at the clock by turns, see clock.c */
    int64_t since_ns, yielded_at_ns, looks_ns;
    int yields;
  } vain;
  struct guest_context *next, *before; /* of the process's other threads */
  struct guest_signals *signals;       /* NULL: used none yet */
  pm_thread *thread;                   /* NULL: not begun, or left by pthread_exit */
  pid_t number;                        /* gettid's; 0: not asked for yet */
  int64_t began_ns;
  int64_t slept_ns, asleep_at_ns; /* in calls that wait on a host, too; since when, + 1; 0: awake */
  void *cores;                    /* a cpu_set_t: what it has bound itself to; NULL: to none */
  void *locale;                   /* a locale_t: what it told uselocale; NULL: as its process */
} guest_context;
struct guest {
  /* what every switch looks at */
  FILE *out;
  char *image;          /* its copy of the program and of the libraries with state */
  guest_context first;  /* of its first thread */
  int cwd_fd;           /* -1: where pm_run was started */
  int umask;            /* -1: as pm_run's */
  int *descriptors;     /* 0, 1 and 2, see descriptors.c; NULL: pm_run's */
  int64_t cpu_ended_ns; /* CPU time of threads that have ended */
  int opened;           /* the last of those from 3 on, see owners.c; -1: none */
  int thread_count;     /* beside the first */
  int look_count;       /* at the clock, with nothing in between */
  uint64_t looked_id;
  int64_t locked_at_ns; /* time of its last lock, and how many it took then */
  int lock_count;
  unsigned lock_random; /* its highest bits vary how many it may take */
  /* the rest */
  pm_process *process;
  int argc;
  char **argv;
  struct guest_exit *exits, *quick_exits; /* handlers of exit and quick_exit, the last first */
  struct guest_libc *libc;                /* made when it is needed, see libc.c */
  struct guest_file *files;               /* opened by it and not closed */
  FILE *waiting_input;                    /* its stdin since it was a pipe; NULL: not so */
  const guest *waits_for;                 /* who has the lock of a file that it wants; NULL */
  struct waiter *last;                    /* who waits for its threads */
  struct waiter *futexes;                 /* its threads that wait by the system call */
  struct {
    char *text;
    int bytes, max;
  } line[2]; /* --prefix: what it wrote of its present line, to stdout and stderr */
  char **environment;
  /* how far its end has come, in the order in which exit() goes */
  enum { LIVES, RUNS_HANDLERS, RUNS_DESTRUCTORS, RUNS_PARTS, HAS_ENDED } end;
  bool has_begun;
  const char *bound; /* "MPI_Init and MPI_Finalize": between them a bad end is one for all; NULL */
};
guest *guest_at(int rank);
/* NULL outside of a process. */
static inline guest *guest_now(void) {
  pm_process *p = pm_self();
  return p ? (guest *)pm_process_user(p) : NULL;
}
/* Where a process keeps a variable of libc: char **, int * ... */
void *guest_variable_at(const guest *g, enum guest_variable variable);

/* ---- parts ------------------------------------------------------------------------------------------- */
typedef struct guest_option {
  const char *name, *value, *help; /* "--trace", "FILE" (NULL: no value), what --help says */
  void (*set)(const char *option, const char *value); /* refuses by guest_refuse */
} guest_option;
typedef struct guest_part {
  const char *name;
  size_t state_bytes;          /* zeroed, per process; guest_state gives it */
  const guest_option *options; /* ended by a name of NULL */
  void (*settings)(pm_world_desc *desc, pm_platform *platform); /* options are read, no world yet */
  void (*begin)(pm_world *world);             /* all processes are loaded, none has run */
  void (*process_begin)(guest *g);            /* inside of it, before its constructors */
  void (*process_end)(guest *g, int status);  /* inside, after its atexit handlers; may wait */
  int (*finish)(pm_world *world, int result); /* after the run; ret exit status, result or worse */
  /* the launcher's */
  size_t state_offset;
  struct guest_part *next;
} guest_part;
void guest_part_add(guest_part *part);
void *guest_state_of(const guest *g, const guest_part *part);
static inline void *guest_state(const guest_part *part) {
  return guest_state_of(guest_now(), part);
}
/* Programs find function for name, not libc's. */
void guest_replace(const char *name, void *function);
bool guest_replaces(const char *name); /* so far: what was loaded calls a function of that name */
#define GUEST_REPLACE(name, function)                                                              \
  do {                                                                                             \
    void *guest_address;                                                                           \
    *(__typeof__(&(function)) *)(void *)&guest_address = (function);                               \
    guest_replace(name, guest_address);                                                            \
  } while (0)

/* ---- another ABI of MPI ------------------------------------------------------------------------------ */
/* Programs that were linked with a library of this name and at least this number find their MPI by find; the
   functions that pm_run has for others are not theirs. */
typedef struct guest_abi {
  const char *library;             /* "libmpi.so." */
  int least;                       /* the number behind it */
  void *(*find)(const char *name); /* a function or a variable to be copied; NULL: has none */
  bool (*is_its)(
      const char *name); /* whether a name that it does not have may be found elsewhere: 0 */
  void (*bound)(size_t (*offset_of)(
      const char *name)); /* the program is loaded; offsets in its image, 0: none */
} guest_abi;
void guest_abi_add(const guest_abi *abi);
const guest_abi *guest_abi_now(void); /* of the program; NULL: pm_run's own */

/* ---- numbers of options; a bad one ends pm_run with status 2 ----------------------------------------- */
__attribute__((noreturn, format(printf, 1, 2))) void guest_refuse(const char *format, ...);
/* The same of a line of an option's file. */
__attribute__((noreturn, format(printf, 4, 5))) void guest_refuse_line(const char *option,
                                                                       const char *path, int line,
                                                                       const char *format, ...);
/* A file that an option wants written at the end: refused now, before the run, when it will not be. kinds: how its name may
   end, which says what is written (".csv or .html"); NULL: anyhow. */
const char *guest_to_write(const char *option, const char *path, const char *kinds);
/* What each run of a sweep would write there is refused in one of several runs, unless {KEY} tells their names apart. */
void guest_is_of_all(const char *option, const char *path);
FILE *guest_output(const char *path); /* NULL, false: it has been said why */
bool guest_output_close(FILE *out, const char *path);
/* The next line of an option's file; *number counts them. What is longer than max_bytes allows, a zero byte and what
   cannot be read are refused. ret false: there is none more */
bool guest_line(const char *option, const char *path, FILE *in, char *line, size_t max_bytes,
                int *number);
int64_t guest_number(const char *option, const char *text, int64_t least, int64_t most);
double guest_real(const char *option, const char *text, double least, double most);
double guest_ratio(const char *option, const char *text); /* 0 ... 1e9 */

/* ---- the run ----------------------------------------------------------------------------------------- */
int guest_count(void);    /* processes */
int guest_per_node(void); /* of them, at most */
const pm_platform *guest_platform(void);
/* Ends the whole run, as MPI_Abort does: pm_run says text and returns with status. */
__attribute__((noreturn)) void guest_abort(int status, const char *text);
void guest_abort_by(int status, const char *does, const char *text); /* with who, what and when */
void guest_end_run(pm_world *world, int status, const char *text);   /* the same, and comes back */
/* The cost of a look at the clock. Who looks again and again lets time pass in larger steps. */
void guest_look_at_clock(void);
/* The running thread waits from here on, or has: that is no CPU time. */
void guest_falls_asleep(void);
void guest_wakes(void);
int64_t guest_cpu_ns(const guest_context *c);  /* of a thread */
int64_t guest_ns_of(const struct timespec *t); /* simulated, of a time by any clock */
clockid_t guest_clock_of(pid_t thread);        /* of its CPU time */
bool guest_is_time(const struct timespec *t);  /* its nanoseconds are some of a second */
/* Ends the process as exit does: handlers, destructors, output. */
__attribute__((noreturn)) void guest_exit(int status);
/* Calls fn(NULL, stamp) at every stamp of the wire (pm_on_stamp); any number of parts may ask. */
void guest_on_stamp(pm_world *world, void (*fn)(void *unused, const pm_stamp *stamp));
/* Said once per run and kind, on stderr: what a program asked for that it cannot have. */
void guest_say_once(const char *what, const char *text);

/* ---- the loader --------------------------------------------------------------------------------------- */
/* Reads the program and what it needs; ends pm_run with a clear text when it cannot run. */
void guest_load(const char *path, int copies);
/* A script's argv becomes that of the program that runs it; else argv. Kept for the run. */
char **guest_script(int *argc, char **argv);
bool guest_has_file(const char *path, int mode); /* as access says, and it is no folder */
char *guest_load_copy(int rank);                 /* ret its image */
/* What a program means by an offset in its image. */
char *guest_address(const guest *g, size_t offset);
/* A program at a fixed address (fixed.c): told before it is bound, for each process, at each switch. */
struct elf_image;
void guest_fixed_load(const struct elf_image *image, int processes);
bool guest_fixed_copy(int rank, char *base);
void guest_fixed_switch(int rank);
bool guest_is_fixed(const void *address);
bool guest_has_fixed(void); /* whether the program is one */
/* Inside of a process: constructors, main, exit. */
__attribute__((noreturn)) void guest_enter(guest *g);
void guest_run_destructors(guest *g);        /* .fini_array of all, after the atexit handlers */
bool guest_is_own_code(const void *address); /* of the running process's copy */
bool guest_is_its(const void *address);      /* of any copy, or of what it opened by dlopen */
int guest_stores(const unsigned char *code, const ucontext_t *c, uintptr_t *where, size_t *bytes);
unsigned char *guest_goes_to(unsigned char *code, unsigned char first, unsigned long flags);
/* Of the registers in which functions return: those that this one, or what it calls, may write */
enum { GUEST_WRITES_RAX = 1, GUEST_WRITES_XMM0 = 2, GUEST_WRITES_XMM1 = 4 };
unsigned guest_writes(const unsigned char *code, size_t bytes);
/* "function+0x12 of libfoo.so.1" of code or data of a process; ret 0 when the address is not one. */
int guest_describe_address(const void *address, char *text, size_t text_bytes);
int guest_dladdr(const void *address, Dl_info *info); /* as dladdr, of copies too */
/* The file of code, where it begins there, and whether it only passes calls on: pm_run itself, or what was preloaded.
   NULL: no file's. */
const char *guest_file_of(const void *address, uintptr_t *begin, bool *is_between);
const char *guest_program(void);  /* its file, from / on */
void *guest_stack(size_t *bytes); /* of the running thread: its low end */
void *guest_stack_of(const pm_thread *thread, size_t *bytes);
/* The address of a function of the program or its libraries, in a process; NULL. */
void *guest_symbol(const guest *g, const char *name);
/* All processes go to where *target says when they call the program's own function of that name; target itself must
   lie below 2^31, so that the jump is short. ret 0: has none; -1: it has, and room_bytes before what follows, which are
   too few for the jump: nothing was changed */
enum { GUEST_PATCH_BYTES = 7 };
typedef struct guest_patch { /* the beginning of a function, as it was and as it is */
  size_t at;                 /* in the image of a process */
  size_t room_bytes;
  unsigned written; /* guest_writes of it */
  unsigned char was[GUEST_PATCH_BYTES], is[GUEST_PATCH_BYTES];
} guest_patch;
int guest_patch_function(const char *name, const void *const *target, guest_patch *patch);
/* Whether a library of the program offers such a function. like: one of the program that a compiler may have made of it
   (foo.constprop.0), or Fortran's (foo_); "": none */
bool guest_library_has(const char *name, char *like, size_t like_bytes);
/* Puts it in the place of the function, or the function back, in the running process. ret the function */
void *guest_patch_set(const guest_patch *patch, bool is_there);
/* Of a library, past what stands in its place. NULL: no library has it */
void *guest_library_function(const guest *g, const char *name);
enum { GUEST_TLS_MAX = 262144 };
size_t guest_tls_bytes(void); /* of all thread-local variables, 0: none */
size_t guest_tls_most(
    void); /* and of those that dlopen may bring; a block ends where it would then */
/* Of a block, which is 0 everywhere; wrote, unless it is NULL, is told each part: its distance below the block's end, and its length */
typedef void guest_tls_wrote(const char *block_end, size_t at, size_t bytes);
void guest_tls_first(const guest *g, char *block, guest_tls_wrote *wrote);
char *guest_tls_now(void);
void guest_tls_compare(
    const char
        *block_end); /* whose variables differ from the first thread's are copied from now on */

/* ---- what the files of this folder offer each other --------------------------------------------------- */
void guest_switched(void *unused, pm_process *to); /* pm_world_desc.switched */
void guest_output_begin(int with_prefix);
void guest_output_process(guest *g);              /* its stdout; and ... */
bool guest_output_is_nothing(const FILE *stream); /* stdin of all processes but the first */
int guest_output_nothing(void);                   /* its descriptor, of /dev/null */
void guest_output_input(void);            /* descriptor 0 of the running process is its own now */
void guest_output_line(guest *g, int fd); /* what --prefix keeps of a line ends here */
void guest_output_end(guest *g);          /* what it has not written yet */
void guest_output_rescue(void);         /* the same of a language's library, when the run failed */
int guest_output_failed(void);          /* the disk was full: 1 */
void guest_libc_switch(const guest *g); /* working directory, umask; NULL: pm_run's own */
void guest_libc_end(guest *g);
void guest_libc_leave(guest *g);               /* the same of one that ends at once */
void guest_descriptors_switch(const guest *g); /* NULL: pm_run's own */
void guest_descriptors_end(guest *g);
int guest_descriptors_put(int from, int to); /* as dup2, to 0, 1 or 2; ret to, or -1 */
int guest_descriptors_leave(int fd);         /* before it is closed: the others keep theirs */
bool guest_has_own(const guest *g, int fd);  /* 0, 1 or 2 that is not pm_run's */
/* Descriptors from 3 on, see owners.c. fd may be -1. */
enum whose { GUEST_MAY_CLOSE, GUEST_ANOTHERS, GUEST_PM_RUNS };
int guest_descriptor_opened(int fd); /* by the running process; ret fd */
int guest_descriptor_kept(int fd);   /* by pm_run; ret fd */
void guest_descriptor_forget(int fd);
enum whose guest_descriptor_whose(int fd);
void guest_descriptors_close(guest *g); /* its */
void guest_descriptor_drop(int fd);     /* closes what pm_run kept */
int guest_close(int fd);                /* as close, of the running process */
/* Locks of files, see locks.c */
bool guest_is_lock(int request); /* of fcntl: guest_lock answers it */
struct flock;
int guest_lock(int fd, int request, struct flock *asked);
void guest_locks_leave(int fd); /* before the running process closes it */
void guest_locks_end(const guest *g);
/* Waits until look gives something else than 0, in simulated time (ms: so long it may wait on the host, as nothing else
   happens); d_ns < 0: for ever. ret 0, or -1: look gave less, a signal came (and not one that restarts, if it may),
   or it is over: EAGAIN. */
int guest_wait_for(int (*look)(void *arg, int ms), void *arg, int64_t d_ns, bool restarts);
int guest_pass(int ms); /* what such a look does where the host has nothing to wait by; ret 0 */
/* openat; of a FIFO that nobody has open at its other side it waits in simulated time. */
int guest_open_waiting(int folder, const char *path, int flags, mode_t mode);
/* Whether the host would wait for the file: a pipe, a socket or an eventfd that is not told not to wait. */
bool guest_may_wait(int fd);
/* Of a call that does not wait: where nothing was there (EAGAIN) it was a look in vain, and others have their turn. ret n */
ssize_t guest_looked(ssize_t n);
/* As poll; d_ns < 0: for ever. ret whether the host may be asked; false: errno is EAGAIN, or EINTR */
bool guest_wait_for_file(int fd, short events, int64_t d_ns);
ssize_t guest_write_waiting(int fd, const void *from, size_t bytes); /* to what may have to wait */
struct iovec;
ssize_t guest_socket_write(int fd, const struct iovec *pieces, int count);
FILE *guest_stream_waiting(int fd, const char *mode); /* as fdopen, of what may have to wait */
bool guest_all_wait(void);    /* nothing but looks in vain has happened for a while */
int guest_input(int fd);      /* 0 where the input is another's: a descriptor of /dev/null */
void guest_own_input(int fd); /* ... descriptor 0 itself is /dev/null's from here on */
void guest_locale_switch(const guest *g, const guest_context *c); /* NULL: pm_run's own */
char *guest_getenv(const char *name); /* of the running process, as the next three */
pid_t guest_getpid(void);
int guest_raise(int number);
/* ---- signals: see signals.c and alarms.c */
enum {
  GUEST_NO_SIGNAL,
  GUEST_RESTARTS,
  GUEST_INTERRUPTS
};                                  /* a handler was called: how a wait goes on */
extern bool guest_signals_may_come; /* that a thread does not send to itself */
int guest_signals_come(void);       /* those of the running thread: after each of its waits */
/* Of a signalfd. ret false: it is none; else *n is what read gives */
bool guest_signal_file_read(int fd, void *to, size_t bytes, ssize_t *n);
void guest_signal_file_close(int fd);
/* ret EINVAL: no such signal; 0 sends none */
int guest_signal_thread(guest_context *c, int number, int code, union sigval value);
int guest_signal_timer(int number, int code, union sigval value, pid_t thread); /* 0: its process */
pid_t guest_pid_of(const guest *g);                                             /* as its getpid */
bool guest_is_of_host(long number); /* a system call that would change the host: errno is EPERM */
int guest_tgkill(pid_t process, pid_t thread, int number);
pid_t guest_gettid(void);
pid_t guest_tid_of(guest_context *c);
guest_context *guest_context_numbered(pid_t thread); /* of the running process; 0: itself; NULL */
/* What a thread may run on; ret 0 or what is wrong */
int guest_cores_set(guest_context *c, size_t bytes, const void *set);
int guest_cores_get(const guest_context *c, size_t bytes, void *set);
void guest_cores_inherit(guest_context *c);   /* of the running thread */
void guest_signals_inherit(guest_context *c); /* the mask of the running thread */
void guest_signals_end(guest_context *c);
sigset_t guest_mask(const sigset_t *next,
                    bool *is_interrupted); /* ret the one before; whether a handler was called */
bool guest_is_cancelled(void);             /* the running thread, and may leave now */
void guest_cancel_point(void);             /* leaves then */
void guest_cancel_at_once(void);           /* ... if it may anywhere */
bool guest_alarms_are_set(void);
/* The time until one rings, or d_ns, where it is shorter; < 0: never */
int64_t guest_alarm_in_ns(int64_t d_ns);
int guest_alarms_ring(void); /* those whose time has come. ret as guest_signals_come */
/* d_ns < 0: for ever. ret whether a handler ended it, so much before its end */
bool guest_sleep(int64_t d_ns, int64_t *left_ns);
int guest_open_itself(const char *path); /* /proc/self/exe, ...; ret -1: another file */
/* The other threads of a process, see pthread.c */
guest_context *guest_context_of(const guest *g, const pm_thread *thread);
void guest_context_begin(guest *g, guest_context *context); /* a new thread */
void guest_context_leaves(guest_context *context);          /* its own handlers */
void guest_context_end(guest_context *context);
/* Of MPI; NULL in a pm_run that was built without */
void guest_recorder_end(guest_context *context) __attribute__((weak));
extern guest_context *guest_running; /* of the thread that runs; NULL before the first */
static inline guest_context *guest_context_now(void) { return guest_running; }
void guest_openmp_end(struct omp_thread *thread); /* its workers end */
void guest_watch_switch(int rank);                /* who runs now */
void guest_watch_answer(const void *at); /* to SIGQUIT, if it came; at: in the program, or NULL */
extern volatile sig_atomic_t guest_watch_asked; /* an answer, or the end, is due */
/* does: what it waits for; NULL: it runs; in: in which call of the program's, empty: not known. t_ran_us: when it ran last; < 0: just now, or it looks again and again */
void guest_each_thread(const pm_world *world,
                       void (*fn)(int rank, int node, const char *does, const char *in,
                                  const char *more, double t_ran_us));
const guest_option *guest__option_named(const char *name); /* NULL: unknown */
/* With --sweep: runs the children, prints the table and ends; returns in a child, with its options set, and
   when there is no sweep. Then the child's keys of the platform. */
void guest__sweep(int argc, char **argv, int at);
void guest__sweep_platform(pm_platform *p);
bool guest_is_sweep(void);             /* also in a run of one */
void guest__files_of_all_refuse(void); /* when an option names one to be written */
/* The time-stamp counter, see counter.c: when pm_run lets go of it (false) and keeps it again */
bool guest_counter_keep(bool is_wanted);                          /* ret how it was */
bool guest_counter_faulted(const siginfo_t *info, ucontext_t *c); /* ret 0: it is another fault */
bool guest_counter_stopped(ucontext_t *c);                        /* ... trap */
bool guest_fault_stopped(ucontext_t *c); /* ... of a fault that the program handles */
void guest_steps_end(ucontext_t *c);     /* of a search or proof of spin.c */
void guest_catch_faults(int number);
void guest_spin_begin(int spin_ms);
void guest_spin_end(void);
#pragma GCC visibility pop
#endif
