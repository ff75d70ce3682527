/* What can happen to a handle or to a process at the worst moment; one scene per argument:
     loop      messages to itself for ever, ended by a signal that arrives anywhere, often in the
               preload's own bookkeeping
     poll      MPI_Iprobe for ever, as a waiting rank does, ended likewise
     exits     as loop, with threads allowed; the program handles the signal itself: by exit
     again     as loop; it handles the signal, by the default action, sent once more
     once      as loop; its handler is for one signal only (SA_RESETHAND), and two come
     reuse     one thread dups, broadcasts on and frees a communicator of one process, while the main
               thread does the same with one of all: the same handle again and again
     window    the same with windows and puts
     handed    one thread posts, another waits for each request
     matched   two threads match messages of their own by probes, and receive them: the same handle by turns
     comms     messages over very many communicators, then CPU time per round, with one and with all
     memory    300 living threads that have called MPI once: resident memory per thread
     dups      MPI_Comm_dup and MPI_Comm_free, CPU time per pair */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static double cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void round_trip(MPI_Comm comm) {
  MPI_Request r[2];
  char in, out = 1;
  MPI_Irecv(&in, 1, MPI_CHAR, 0, 0, comm, &r[0]);
  MPI_Isend(&out, 1, MPI_CHAR, 0, 0, comm, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void exits(int number) { (void)number, exit(0); }
static void again(int number) { signal(number, SIG_DFL), raise(number); }
static void once(int number) { (void)number; }
/* How the program handles SIGTERM. What it is told of before must be what it has set. */
static void handle(const char *scene) {
  struct sigaction action, old;
  memset(&action, 0, sizeof action);
  action.sa_handler = is(scene, "exits") ? exits : is(scene, "again") ? again : once;
  action.sa_flags = is(scene, "once") ? (int)SA_RESETHAND : SA_RESTART;
  if (sigaction(SIGTERM, &action, &old) != 0 || old.sa_handler != SIG_DFL) raise(SIGKILL);
  if (sigaction(SIGTERM, NULL, &old) != 0 || old.sa_handler != action.sa_handler || (old.sa_flags & SA_SIGINFO)) raise(SIGKILL);
}

/* Another process sends the signal after as many microseconds as the argument says. */
static void until_signal(int poll, const char *delay_us) {
  const pid_t target = getpid();
  if (fork() == 0) {
    usleep((useconds_t)atoi(delay_us));
    while (kill(target, SIGTERM) == 0 && getppid() == target) usleep(100000);
    _exit(0);
  }
  for (;;) {
    int flag;
    if (poll) MPI_Iprobe(0, 5, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    else round_trip(MPI_COMM_SELF);
  }
}

enum { REUSES = 150, BROADCASTS = 50 };
static void *own_communicators(void *unused) {
  (void)unused;
  for (int i = 0; i < REUSES; i++) {
    char c = 0;
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_SELF, &made);
    MPI_Bcast(&c, 1, MPI_CHAR, 0, made);
    MPI_Comm_free(&made);
  }
  return NULL;
}
static void common_communicators(void) {
  char data[1000] = "";
  for (int i = 0; i < REUSES; i++) {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    for (int k = 0; k < BROADCASTS; k++) MPI_Bcast(data, sizeof data, MPI_CHAR, 0, made);
    MPI_Comm_free(&made);
  }
}

enum { HANDED = 60000, AHEAD = 16 };
static MPI_Request handed[HANDED][2];
static char handed_in[AHEAD], handed_out[AHEAD];
static int posted, done;
static void *post_all(void *unused) {
  (void)unused;
  for (int i = 0; i < HANDED; i++) {
    while (i - __atomic_load_n(&done, __ATOMIC_ACQUIRE) >= AHEAD) sched_yield();
    MPI_Irecv(&handed_in[i % AHEAD], 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &handed[i][0]);
    MPI_Isend(&handed_out[i % AHEAD], 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &handed[i][1]);
    __atomic_store_n(&posted, i + 1, __ATOMIC_RELEASE);
  }
  return NULL;
}
static void wait_for_all(void) {
  for (int i = 0; i < HANDED; i++) {
    while (__atomic_load_n(&posted, __ATOMIC_ACQUIRE) <= i) sched_yield();
    MPI_Wait(&handed[i][1], MPI_STATUS_IGNORE);
    MPI_Wait(&handed[i][0], MPI_STATUS_IGNORE);
    __atomic_store_n(&done, i + 1, __ATOMIC_RELEASE);
  }
}

enum { MATCHES = 40 };
static void *match_own(void *comm) {
  const MPI_Comm own = *(MPI_Comm *)comm;
  char in[64], out[64] = "";
  int length;
  MPI_Comm_get_name(own, in, &length);
  const int bytes = strcmp(in, "longer") == 0 ? 50 : 1;
  for (int i = 0; i < MATCHES; i++) {
    MPI_Request r;
    MPI_Message message;
    MPI_Isend(out, bytes, MPI_CHAR, 0, 0, own, &r);
    MPI_Mprobe(0, 0, own, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  return NULL;
}
static void match(void) {
  MPI_Comm comms[2];
  pthread_t other;
  for (int i = 0; i < 2; i++) {
    MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    MPI_Comm_set_name(comms[i], i ? "longer" : "short");
  }
  pthread_create(&other, NULL, match_own, &comms[1]);
  match_own(&comms[0]);
  pthread_join(other, NULL);
  for (int i = 0; i < 2; i++) MPI_Comm_free(&comms[i]);
}

enum { COMMS = 1900, ROUNDS = 40 };
static void many_communicators(void) {
  static MPI_Comm comms[COMMS];
  double one_s, all_s;
  for (int i = 0; i < COMMS; i++) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
  for (int i = 0; i < COMMS; i++) round_trip(comms[i]);
  one_s = all_s = 1e9;
  for (int k = 0; k < ROUNDS; k++) { /* in turn, and the best of each */
    double start_s = cpu_s(), d_s;
    for (int i = 0; i < COMMS; i++) round_trip(comms[0]);
    if ((d_s = cpu_s() - start_s) < one_s) one_s = d_s;
    start_s = cpu_s();
    for (int i = 0; i < COMMS; i++) round_trip(comms[i]);
    if ((d_s = cpu_s() - start_s) < all_s) all_s = d_s;
  }
  fprintf(stderr, "one %.0f ns all %.0f ns\n", one_s / COMMS * 1e9, all_s / COMMS * 1e9);
  for (int i = 0; i < COMMS; i++) MPI_Comm_free(&comms[i]);
}

/* What is mapped without a name, which the preload's memory is; the heap, whose steps nobody can foresee, is not. */
static long mapped_bytes(void) {
  char line[512];
  unsigned long long from, to, inode;
  long sum = 0;
  FILE *in = fopen("/proc/self/maps", "r");
  while (in && fgets(line, sizeof line, in)) {
    int end = 0;
    if (sscanf(line, "%llx-%llx %*s %*s %*s %llu%n", &from, &to, &inode, &end) == 3 && !inode && !line[(size_t)end + strspn(line + end, " \n")])
      sum += (long)(to - from);
  }
  if (in) fclose(in);
  return sum;
}
/* All partners are of one class. No two of these have a group in common. */
static void bytes_of_communicators(void) {
  enum { FIRST = 100 };
  static MPI_Comm comms[COMMS];
  for (int i = 0; i < COMMS; i++) MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comms[i]);
  for (int i = 0; i < FIRST; i++) round_trip(comms[i]);
  const long before = mapped_bytes();
  for (int i = FIRST; i < COMMS; i++) round_trip(comms[i]);
  fprintf(stderr, "%ld bytes for %d communicators\n", mapped_bytes() - before, COMMS - FIRST);
  for (int i = 0; i < COMMS; i++) MPI_Comm_free(&comms[i]);
}

static void dups(void) {
  double best_s = 1e9;
  for (int k = 0; k < 300; k++) { /* longer than what disturbs: half a second and more */
    const double start_s = cpu_s();
    for (int i = 0; i < 500; i++) {
      MPI_Comm made;
      char c = 0;
      MPI_Comm_dup(MPI_COMM_WORLD, &made);
      MPI_Bcast(&c, 1, MPI_CHAR, 0, made);
      MPI_Comm_free(&made);
    }
    if (cpu_s() - start_s < best_s) best_s = cpu_s() - start_s;
  }
  fprintf(stderr, "dup and free %.0f ns\n", best_s / 500 * 1e9);
}

/* ---- memory ---- */
enum { THREADS = 300 };
static pthread_barrier_t all_called, may_end;
static void *calls_once(void *unused) {
  int flag;
  (void)unused;
  MPI_Iprobe(0, 5, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  pthread_barrier_wait(&all_called);
  pthread_barrier_wait(&may_end);
  return NULL;
}
static long resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE *in = fopen("/proc/self/status", "r");
  while (in && fgets(line, sizeof line, in))
    if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
  if (in) fclose(in);
  return kib;
}
static void memory(void) {
  static pthread_t threads[THREADS];
  pthread_barrier_init(&all_called, NULL, THREADS + 1);
  pthread_barrier_init(&may_end, NULL, THREADS + 1);
  const long before_kib = resident_kib();
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, calls_once, NULL);
  pthread_barrier_wait(&all_called);
  fprintf(stderr, "%ld KiB per thread\n", (resident_kib() - before_kib) / THREADS);
  pthread_barrier_wait(&may_end);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void windows(void) {
  for (int i = 0; i < 300; i++) {
    static int place[4], value = 7;
    MPI_Win win;
    MPI_Win_create(place, sizeof place, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
}

int main(int argc, char **argv) {
  const char *scene = argc > 1 ? argv[1] : "";
  int level;
  pthread_t other;
  MPI_Init_thread(&argc, &argv,
                  is(scene, "reuse") || is(scene, "handed") || is(scene, "matched") || is(scene, "memory") || is(scene, "exits") ? MPI_THREAD_MULTIPLE
                                                                                   : MPI_THREAD_SINGLE,
                  &level);
  if (is(scene, "exits") || is(scene, "again") || is(scene, "once")) handle(scene), until_signal(0, argv[2]);
  if (is(scene, "loop") || is(scene, "poll")) until_signal(is(scene, "poll"), argv[2]);
  if ((is(scene, "reuse") || is(scene, "handed") || is(scene, "matched")) && level < MPI_THREAD_MULTIPLE) {
    puts("no MPI_THREAD_MULTIPLE");
  } else if (is(scene, "reuse")) {
    pthread_create(&other, NULL, own_communicators, NULL);
    common_communicators();
    pthread_join(other, NULL);
  } else if (is(scene, "handed")) {
    pthread_create(&other, NULL, post_all, NULL);
    wait_for_all();
    pthread_join(other, NULL);
  } else if (is(scene, "matched")) {
    match();
  }
  if (is(scene, "memory")) memory();
  if (is(scene, "window")) windows();
  if (is(scene, "comms")) many_communicators();
  if (is(scene, "bytes")) bytes_of_communicators();
  if (is(scene, "dups")) dups();
  MPI_Finalize();
  fputs("end\n", stdout); /* one write: two ranks share the launcher's pipe */
  return 0;
}
