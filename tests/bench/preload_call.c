/* What the preload adds to one MPI call: batches of calls through it and batches straight into the
   MPI library, interleaved in one process. The mix is Irecv, Isend, Wait, Wait of 8 bytes with
   itself, where all is at hand at once; _poll is MPI_Iprobe that finds nothing. */
#include "tests/bench/bench.h"
#include <dlfcn.h>
#include <mpi.h>
#include <time.h>
#include <unistd.h>

#ifdef OPEN_MPI
#  define LIBRARY "libmpi.so.40"
#  define PRELOAD "libnbc_overlap_mpi.so"
#  define NAME    "preload_call"
#else
#  define LIBRARY "libmpich.so.12"
#  define PRELOAD "libnbc_overlap_mpich.so"
#  define NAME    "preload_call_mpich"
#endif
enum { ROUNDS = 2000, REPEATS = 101 };

typedef struct calls {
  int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int (*wait)(MPI_Request *, MPI_Status *);
  int (*iprobe)(int, int, MPI_Comm, int *, MPI_Status *);
} calls;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double messages_ns(const calls *c) { /* per call */
  double in, out = 1;
  MPI_Request r, s;
  const double start = now_ns();
  for (int i = 0; i < ROUNDS; i++) {
    c->irecv(&in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &r);
    c->isend(&out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &s);
    c->wait(&s, MPI_STATUS_IGNORE);
    c->wait(&r, MPI_STATUS_IGNORE);
  }
  return (now_ns() - start) / (4.0 * ROUNDS);
}

static double polls_ns(const calls *c) {
  int flag;
  const double start = now_ns();
  for (int i = 0; i < ROUNDS; i++) c->iprobe(0, 2, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  return (now_ns() - start) / ROUNDS;
}

static void compare(const char *name, double (*batch)(const calls *), const calls *seen,
                    const calls *direct) {
  static double with[REPEATS], without[REPEATS];
  batch(seen), batch(direct);
  for (int i = 0; i < REPEATS; i++) with[i] = batch(seen), without[i] = batch(direct);
  const double peer = bench_median(without, REPEATS);
  bench_print_peer(name, bench_median(with, REPEATS) - peer, "ns added per call",
                   "the MPI's own time per call", peer);
}

static void *find(void *library, const char *name) {
  void *function = dlsym(library, name);
  if (!function) fprintf(stderr, "%s: no %s\n", LIBRARY, name), exit(1);
  return function;
}

/* Again, with the library before the MPI's. */
static void start_with_preload(char **argv) {
  char path[4096], *slash;
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
  if (n <= 0) exit(1);
  path[n] = 0;
  for (int up = 0; up < 2 && (slash = strrchr(path, '/')); up++) *slash = 0; /* build/bench/NAME */
  char *end = path + strlen(path);
  strcpy(end, "/bench/reports");
  setenv("NBC_REPORT_DIR", path, 1);
  strcpy(end, "/" PRELOAD);
  setenv("LD_PRELOAD", path, 1);
  setenv("BENCH_PRELOADED", "1", 1);
  execv("/proc/self/exe", argv);
  exit(1);
}

int main(int argc, char **argv) {
  if (!bench_wanted(argc, argv, NAME) && !bench_wanted(argc, argv, NAME "_poll")) return 0;
  if (!getenv("BENCH_PRELOADED")) start_with_preload(argv);
  unsetenv("LD_PRELOAD"); /* not for what the MPI starts */
  MPI_Init(&argc, &argv);
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  if (!library) return 1;
  const calls seen = {MPI_Irecv, MPI_Isend, MPI_Wait, MPI_Iprobe};
  calls direct;
  *(void **)&direct.irecv = find(library, "PMPI_Irecv");
  *(void **)&direct.isend = find(library, "PMPI_Isend");
  *(void **)&direct.wait = find(library, "PMPI_Wait");
  *(void **)&direct.iprobe = find(library, "PMPI_Iprobe");
  if (direct.wait == seen.wait) fprintf(stderr, NAME ": runs without the preload\n"), exit(1);
  if (bench_wanted(argc, argv, NAME)) compare(NAME, messages_ns, &seen, &direct);
  if (bench_wanted(argc, argv, NAME "_poll")) compare(NAME "_poll", polls_ns, &seen, &direct);
  MPI_Finalize();
  return 0;
}
