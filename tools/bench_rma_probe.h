/* bench_rma_probe.h: does this MPI or OpenSHMEM crash by itself, and does a setting cure it? Found out before
   it is initialised, by two processes of their own that do a little of what will be measured. Known:
     Open MPI 4.1   one-sided atomics between processes of a node, over vader with a single-copy mechanism:
                    SIGSEGV; without the mechanism they work
     its OpenSHMEM  over UCX: SIGSEGV in shmem_finalize, unless UCX's memory hooks are off
   The first process of each node finds out for the others, who wait for its file. */
#ifndef BENCH_RMA_PROBE_H_INCLUDED
#define BENCH_RMA_PROBE_H_INCLUDED
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#if defined(NBC_WITH_SHMEM) && defined(OSHMEM_MAJOR_VERSION)
#  define PROBE_CURE   "OMPI_MCA_opal_common_ucx_opal_mem_hooks"
#  define PROBE_VALUE  "0"
#  define PROBE_WHAT   "this OpenSHMEM"
#  define PROBE_LAUNCH "oshrun"
#  define PROBE_LEAST  1 /* processes */
#elif !defined(NBC_WITH_SHMEM) && defined(OPEN_MPI)
#  define PROBE_CURE   "OMPI_MCA_btl_vader_single_copy_mechanism"
#  define PROBE_VALUE  "none"
#  define PROBE_WHAT   "this Open MPI"
#  define PROBE_LAUNCH "mpirun.openmpi"
#  define PROBE_LEAST  2
#endif

/* What the two processes do: `bench_rma --probe`. Ends with 0, or not at all. */
static int probe_body(void) {
#if defined(NBC_WITH_SHMEM)
  shmem_init();
  long long *word = (long long *)shmem_calloc(2, sizeof *word);
  for (int i = 0; i < 1000; i++) shmem_longlong_atomic_fetch_add(word, 1, shmem_n_pes() - 1);
  shmem_barrier_all();
  shmem_free(word);
  shmem_finalize();
#else
  const long long one = 1, none = 0;
  long long *word, was;
  int me = 0, count = 0;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  MPI_Win_allocate(2 * sizeof *word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
  word[0] = word[1] = 0;
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3000 && me == 0; i++) {
    MPI_Compare_and_swap(&one, &none, &was, MPI_LONG_LONG, count - 1, sizeof was, win);
    MPI_Fetch_and_op(&one, &was, MPI_LONG_LONG, count - 1, 0, MPI_SUM, win);
    MPI_Win_flush(count - 1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Finalize();
#endif
  return 0;
}

static char probe_said[256]; /* what rank 0 prints when it can print */

#ifdef PROBE_CURE
extern char **environ;
/* The launcher's variables would make the two processes members of this job. What the user set stays. */
static void probe_leave_job(void) {
  static const char *const own[] = {"PMIX_",
                                    "PRTE_",
                                    "OMPI_COMM_WORLD",
                                    "OMPI_UNIVERSE",
                                    "OMPI_APP_CTX",
                                    "OMPI_FIRST_RANKS",
                                    "OMPI_NUM_APP",
                                    "OMPI_FILE_LOCATION",
                                    "OMPI_ARGV",
                                    "OMPI_COMMAND",
                                    "OMPI_MCA_orte_",
                                    "OMPI_MCA_ess",
                                    "OMPI_MCA_pmix",
                                    "OMPI_MCA_shmem_RUNTIME",
                                    "OMPI_MCA_initial_wdir",
                                    "OMPI_MCA_mpi_oversubscribe",
                                    "SLURM_",
                                    "PBS_",
                                    "LSB_"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    for (char **e = environ; *e;) {
      char name[256];
      const size_t length = strcspn(*e, "=");
      e++;
      if (strncmp(e[-1], own[i], strlen(own[i])) != 0 || length >= sizeof name) continue;
      memcpy(name, e[-1], length);
      name[length] = 0;
      unsetenv(name);
      e = environ; /* the list has moved */
    }
}

/* The launcher beside the one that started us, else the one in PATH. */
static void probe_launch(const char *self) {
  char path[4096], name[4200];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)getppid());
  const ssize_t length = readlink(path, name, sizeof path - 1);
  const char *const arguments[] = {"-n",          "2",  "--oversubscribe", "--host",
                                   "localhost:2", self, "--probe"};
  char *argv[9] = {path};
  for (int i = 0; i < 7; i++) memcpy(&argv[i + 1], &arguments[i], sizeof *argv);
  if (length > 0) {
    name[length] = 0;
    memcpy(path, name, (size_t)length + 1);
    snprintf(name, sizeof name, "%s/orterun", dirname(path));
    execv(name, argv);
  }
  execvp(PROBE_LAUNCH, argv);
  execvp("mpirun", argv);
  _exit(127);
}

/* Two processes in 20 s. 1: they came to their end, 0: they did not, -1: there was no way to start them. */
static int probe_run(const char *self, bool cured) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    const struct rlimit no_core = {0, 0};
    const int nothing = open("/dev/null", O_RDWR);
    if (cured) setenv(PROBE_CURE, PROBE_VALUE, 1);
    setpgid(0, 0);
    setrlimit(RLIMIT_CORE, &no_core);
    for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
    for (int fd = 3; fd < 1024; fd++) close(fd); /* the launcher of this job keeps its own */
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);    /* who could start us may start this */
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    probe_leave_job();
    probe_launch(self);
  }
  for (int waited_ms = 0; waited_ms < 20000; waited_ms += 10) {
    const struct timespec pause = {0, 10000000};
    int status;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return -1;
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    nanosleep(&pause, NULL);
  }
  kill(-child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}

/* Where the first process of a node leaves what it found: 'c' cure, 'n' nothing to cure, 'b' crashes
   either way, '?' could not be tried. */
static void probe_path(char *path, size_t limit) {
  const char *folder = getenv("TMPDIR"), *job = getenv("PMIX_NAMESPACE");
  snprintf(path, limit, "%s/nbc_bench_rma.%d.%.40s", folder && *folder ? folder : "/tmp",
           (int)getuid(), job ? job : "0");
}

static char probe_read(const char *path) {
  struct stat info;
  char found = 0;
  const int file = open(path, O_RDONLY | O_NOFOLLOW);
  if (file < 0) return 0;
  if (fstat(file, &info) != 0 || info.st_uid != getuid() || read(file, &found, 1) != 1) found = 0;
  close(file);
  return found;
}

static void probe_write(const char *path, char found) {
  char draft[4200];
  snprintf(draft, sizeof draft, "%s.%d", path, (int)getpid());
  const int file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (file < 0) return;
  const bool good = write(file, &found, 1) == 1;
  if (close(file) == 0 && good)
    rename(draft, path);
  else
    unlink(draft);
}

static char probe_find_out(void) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return '?';
  self[length] = 0;
  const int plain = probe_run(self, false);
  if (plain != 0) return plain > 0 ? 'n' : '?';
  return probe_run(self, true) == 1 ? 'c' : 'b';
}

/* Before MPI_Init or shmem_init; probe_done after it, when all ranks have read. */
static void probe_and_cure(void) {
  const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK"), *all = getenv("OMPI_COMM_WORLD_SIZE");
  char path[4096], found = 0;
  if (!local || !all || atoi(all) < PROBE_LEAST || getenv(PROBE_CURE))
    return; /* alone, or the user has decided */
  probe_path(path, sizeof path);
  if (atoi(local) == 0) {
    unlink(path);
    probe_write(path, found = probe_find_out());
  } else
    for (int waited_ms = 0; waited_ms < 50000 && !(found = probe_read(path)); waited_ms += 10) {
      const struct timespec pause = {0, 10000000};
      nanosleep(&pause, NULL);
    }
  if (found == 'c') {
    setenv(PROBE_CURE, PROBE_VALUE, 1);
    snprintf(probe_said, sizeof probe_said,
             "# " PROBE_WHAT
             " crashes by itself, as a program of nine lines does: set for this run " PROBE_CURE
             "=" PROBE_VALUE);
  } else if (found == 'b')
    snprintf(probe_said, sizeof probe_said,
             "# " PROBE_WHAT " crashes by itself, with and without " PROBE_CURE "=" PROBE_VALUE);
  else if (found != 'n')
    snprintf(probe_said, sizeof probe_said,
             "# could not be tried: whether " PROBE_WHAT " crashes by itself");
}
static void probe_done(void) {
  const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  char path[4096];
  probe_path(path, sizeof path);
  if (local && atoi(local) == 0) unlink(path);
}
#else
static void probe_and_cure(void) {}
static void probe_done(void) {}
#endif
#endif
