/* What the preload adds to one MPI call, in CPU time: batches of calls through it and batches straight into the
   MPI library, interleaved in one process. The mix is Irecv, Isend, Wait, Wait of 8 bytes with
   itself, where all is at hand at once; _poll is MPI_Iprobe that finds nothing. The peer stands in for
   mpiP without call sites, which Debian does not have: a small PMPI counter of our own, below, that takes
   the time of each call and keeps per function how many there were, their time, its least and most, and
   bytes; it knows no transfers, so it has nothing to say of overlap.
   two_readings_ns: a bare loop of two readings of the processor's counter, in the same rounds: what no tool that takes
   the time of calls can be below. */
#include "tests/bench/bench.h"
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
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

/* ---- the stand-in ---------------------------------------------------------------------------- */
static calls direct;
enum { IRECV, ISEND, WAIT, IPROBE, FUNCTIONS };
static struct {
  uint64_t count, bytes;
  int64_t total_ns, least_ns, most_ns;
} counted[FUNCTIONS];
static int64_t counter_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static void count_call(int which, int64_t start_ns, int count, MPI_Datatype type) {
  const int64_t d_ns = counter_ns() - start_ns;
  int size = 0;
  if (count) PMPI_Type_size(type, &size);
  if (!counted[which].count++ || d_ns < counted[which].least_ns) counted[which].least_ns = d_ns;
  if (d_ns > counted[which].most_ns) counted[which].most_ns = d_ns;
  counted[which].total_ns += d_ns;
  counted[which].bytes += (uint64_t)count * (uint64_t)size;
}
static int count_irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *r) {
  const int64_t start_ns = counter_ns();
  const int rc = direct.irecv(data, n, type, from, tag, comm, r);
  count_call(IRECV, start_ns, n, type);
  return rc;
}
static int count_isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *r) {
  const int64_t start_ns = counter_ns();
  const int rc = direct.isend(data, n, type, to, tag, comm, r);
  count_call(ISEND, start_ns, n, type);
  return rc;
}
static int count_wait(MPI_Request *r, MPI_Status *status) {
  const int64_t start_ns = counter_ns();
  const int rc = direct.wait(r, status);
  count_call(WAIT, start_ns, 0, MPI_BYTE);
  return rc;
}
static int count_iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  const int64_t start_ns = counter_ns();
  const int rc = direct.iprobe(from, tag, comm, flag, status);
  count_call(IPROBE, start_ns, 0, MPI_BYTE);
  return rc;
}

/* As the preload reads it (src/overlap/clock.c). */
static uint64_t read_counter(void) {
#if defined __x86_64__
  return __builtin_ia32_rdtsc();
#elif defined __aarch64__
  uint64_t t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return (uint64_t)counter_ns();
#endif
}

/* ---- the comparison -------------------------------------------------------------------------- */
static double messages_ns(const calls *c) { /* per call */
  double in, out = 1;
  MPI_Request r, s;
  const double start = bench_cpu_ns();
  for (int i = 0; i < ROUNDS; i++) {
    c->irecv(&in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &r);
    c->isend(&out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &s);
    c->wait(&s, MPI_STATUS_IGNORE);
    c->wait(&r, MPI_STATUS_IGNORE);
  }
  return (bench_cpu_ns() - start) / (4.0 * ROUNDS);
}

static double polls_ns(const calls *c) {
  int flag;
  const double start = bench_cpu_ns();
  for (int i = 0; i < ROUNDS; i++) c->iprobe(0, 2, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  return (bench_cpu_ns() - start) / ROUNDS;
}

static double readings_ns(void) { /* of two */
  uint64_t sum = 0;
  const double start = bench_cpu_ns();
  for (int i = 0; i < 2 * ROUNDS; i++) sum += read_counter();
  __asm__ volatile("" : : "r"(sum));
  return (bench_cpu_ns() - start) / ROUNDS;
}

static void compare(const char *name, double (*batch)(const calls *), const calls *seen) {
  static const calls counter = {count_irecv, count_isend, count_wait, count_iprobe};
  static double with[REPEATS], without[REPEATS], counting[REPEATS], reading[REPEATS];
  batch(seen), batch(&direct), batch(&counter);
  for (int i = 0; i < REPEATS; i++)
    with[i] = batch(seen), without[i] = batch(&direct), counting[i] = batch(&counter), reading[i] = readings_ns();
  const double own = bench_median(without, REPEATS), added = bench_median(with, REPEATS) - own,
               peer = bench_median(counting, REPEATS) - own;
  printf("{\"bench\":\"%s\",\"value\":%.6g,\"unit\":\"ns added per call\",\"peer\":%.6g,\"ratio\":%.6g,"
         "\"peer_name\":\"a small PMPI counter of our own in place of mpiP -k 0\",\"mpi_ns\":%.6g,"
         "\"two_readings_ns\":%.6g}\n",
         name, added, peer, added / peer, own, bench_median(reading, REPEATS));
  fflush(stdout);
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
  *(void **)&direct.irecv = find(library, "PMPI_Irecv");
  *(void **)&direct.isend = find(library, "PMPI_Isend");
  *(void **)&direct.wait = find(library, "PMPI_Wait");
  *(void **)&direct.iprobe = find(library, "PMPI_Iprobe");
  if (direct.wait == seen.wait) fprintf(stderr, NAME ": runs without the preload\n"), exit(1);
  if (bench_wanted(argc, argv, NAME)) compare(NAME, messages_ns, &seen);
  if (bench_wanted(argc, argv, NAME "_poll")) compare(NAME "_poll", polls_ns, &seen);
  MPI_Finalize();
  return 0;
}
