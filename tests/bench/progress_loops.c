/* progress_loops.c: an ordinary MPI program with the loops of the OSU overlap tests: start, compute, wait. It knows
   nothing of this library; run it with and without the progress preload (make run-progress, progress.sh).
   Arguments: loops  the overhead ratio of each pattern, (t - max(t_comm, t_comp)) / min(t_comm, t_comp): 0 all is
                     hidden, 1 as one after the other; one line "pattern ratio t_comm_us t_us" each
              idle   one second of sleep
              wake   a message to oneself after 5 ms of sleep, 200 times; in turns with it, a thread that sleeps on
                     another core is woken by the bare system call: "bare N" ns, the median */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 20, RUNS = 21, PATTERNS = 6 };
static int rank, size;
static char *out, *in;
static MPI_Win win;
volatile double sink;

static void begin(int pattern, MPI_Request r[2], int *count) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  *count = 1;
  switch (pattern) {
  case 0:
    MPI_Irecv(in, BYTES, MPI_BYTE, from, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, BYTES, MPI_BYTE, to, 0, MPI_COMM_WORLD, &r[1]);
    *count = 2;
    break;
  case 1: MPI_Iallreduce(out, in, BYTES / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[0]); break;
  case 2: MPI_Ialltoall(out, BYTES / size, MPI_BYTE, in, BYTES / size, MPI_BYTE, MPI_COMM_WORLD, &r[0]); break;
  case 3: MPI_Ibcast(in, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &r[0]); break;
  case 4: MPI_Iallgather(out, BYTES / size, MPI_BYTE, in, BYTES / size, MPI_BYTE, MPI_COMM_WORLD, &r[0]); break;
  default: MPI_Rput(out, BYTES, MPI_BYTE, to, 0, BYTES, MPI_BYTE, win, &r[0]); break;
  }
}

/* A fixed amount of work: time lost to others counts, as in a program. A name that pm_run --kernels can find. */
__attribute__((noinline)) void compute(long loops);
__attribute__((noinline)) void compute(long loops) {
  double x = sink; /* from memory: else the compiler knows the result */
  for (long i = 0; i < loops; i++) x = x * 0.999999 + 1e-6;
  sink = x;
}

static double run(int pattern, int communicate, long loops) {
  MPI_Request r[2];
  int count = 0;
  double slowest = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double t0 = MPI_Wtime();
  if (communicate) begin(pattern, r, &count);
  compute(loops);
  if (communicate) MPI_Waitall(count, r, MPI_STATUSES_IGNORE);
  const double t = MPI_Wtime() - t0;
  MPI_Allreduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}
static int order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(int pattern, int communicate, long loops) {
  double t[RUNS];
  for (int i = 0; i < RUNS; i++) t[i] = run(pattern, communicate, loops);
  qsort(t, RUNS, sizeof *t, order);
  return t[RUNS / 2];
}

static void loops(void) {
  static const char *const names[PATTERNS] = {"isend_irecv", "iallreduce", "ialltoall", "ibcast", "iallgather", "rput"};
  double one = median(0, 0, 1000000) / 1e6; /* seconds per turn of the loop */
  if (one <= 0) one = 1e-9;
  MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int p = 0; p < PATTERNS; p++) {
    const double comm = median(p, 1, 0);
    const long turns = (long)(comm / one) + 1;
    const double comp = median(p, 0, turns), both = median(p, 1, turns);
    const double longer = comm > comp ? comm : comp, shorter = comm > comp ? comp : comm;
    if (rank == 0) printf("%s %.3f %.1f %.1f\n", names[p], (both - longer) / shorter, comm * 1e6, both * 1e6);
  }
}

/* What the machine takes by itself: a thread that sleeps as the worker does. */
enum { WAKES = 200 };
static int asleep;
static double asked_s, bare_s[WAKES];
static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void *sleeper(void *caller_core) {
  cpu_set_t may;
  sched_getaffinity(0, sizeof may, &may);
  if (CPU_COUNT(&may) > 1) CPU_CLR((size_t)*(int *)caller_core, &may);
  sched_setaffinity(0, sizeof may, &may);
  for (int i = 0; i < WAKES; i++) {
    while (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    const double t_s = now_s();
    bare_s[i] = t_s - asked_s;
    while (now_s() - t_s < 0.004) {} /* as the worker: who used a busy core lately is woken later there */
    __atomic_store_n(&asleep, 1, __ATOMIC_SEQ_CST);
  }
  return NULL;
}
static void wake_bare(void) {
  asked_s = now_s();
  __atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wake(void) {
  const struct timespec pause = {0, 5000000}, after_worker = {0, 9000000}; /* it looks on for 4 ms */
  int core = sched_getcpu();
  pthread_t thread;
  MPI_Request r[2];
  asleep = 1;
  if (pthread_create(&thread, NULL, sleeper, &core) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < WAKES; i++) {
    nanosleep(&pause, NULL);
    MPI_Irecv(in, 1, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &r[0]);
    compute(20000);
    MPI_Isend(out, 1, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    nanosleep(&after_worker, NULL);
    while (!__atomic_load_n(&asleep, __ATOMIC_SEQ_CST)) sched_yield(); /* it has taken the last one */
    wake_bare();
    compute(20000); /* as after the post */
  }
  pthread_join(thread, NULL);
  qsort(bare_s, WAKES, sizeof *bare_s, order);
  printf("bare %.0f\n", bare_s[WAKES / 2] * 1e9);
}

int main(int argc, char **argv) {
  const struct timespec second = {1, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  out = calloc(1, BYTES);
  in = calloc(1, BYTES);
  if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 1);
  if (argc > 1 && strcmp(argv[1], "idle") == 0) nanosleep(&second, NULL);
  else if (argc > 1 && strcmp(argv[1], "wake") == 0) wake();
  else {
    MPI_Win_create(in, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    loops();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
