/* A guest of pm_run that uses what C programs use besides Portals: threads and their locks, sleeps, a
   spin on memory, output in pieces. Argument: which. */
#include <errno.h>
#include <poll.h>
#include <pmi.h>
#include <portals4.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#  include <sys/single_threaded.h>
#else /* a libc older than 2.32 */
static const char __libc_single_threaded = 0;
#endif

static int rank, size;
static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "guest %d: %s\n", rank, what);
  exit(9);
}
static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}
static long host_cpu_ns(void) { /* clock_gettime would be the simulated one */
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- threads --------------------------------------------------------------------------------------- */
enum { THREADS = 5, ROUNDS = 40 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_key_t key;
static sem_t items;
static int sum, inside, turns, onces, destroyed, written, spun;
static __thread int mine = 3, mine_too; /* of each thread */
static void count_once(void) { usleep(3), onces++; }
static void destroy(void *value) {
  must(mine == 100 * rank + (int)(size_t)value - 1, "a key's destructor finds the variables of its thread");
#ifdef __x86_64__ /* that counter is simulated where a thread runs */
  const unsigned long long before = __builtin_ia32_rdtsc();
  usleep(1);
  must(__builtin_ia32_rdtsc() >= before, "a key's destructor reads the time-stamp counter");
#endif
  destroyed += (int)(size_t)value;
}
static void *work(void *arg) {
  const int me = (int)(size_t)arg;
  must(mine == 3 && mine_too == 0, "thread-local variables begin as they were written");
  must(!__libc_single_threaded, "C++ libraries are told that there are threads");
  mine = 100 * rank + me;
  mine_too = -me;
  pthread_once(&once, count_once);
  must(onces == 1, "pthread_once");
  must(pthread_getspecific(key) == NULL && pthread_setspecific(key, (void *)(size_t)(me + 1)) == 0, "pthread_setspecific");
  for (int i = 0; i < ROUNDS; i++) {
    pthread_mutex_lock(&mutex);
    must(inside++ == 0, "two in a mutex");
    usleep(2); /* all others come to the lock meanwhile */
    sum++;
    inside--;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&again);
    pthread_mutex_lock(&again);
    usleep(1);
    must(pthread_mutex_unlock(&again) == 0 && pthread_mutex_unlock(&again) == 0, "recursive mutex");
    if (me == 0) {
      pthread_rwlock_wrlock(&rwlock);
      written++, usleep(1), written++;
    } else {
      pthread_rwlock_rdlock(&rwlock);
      must(written % 2 == 0, "read while written");
    }
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
  }
  must((int)(size_t)pthread_getspecific(key) == me + 1, "pthread_getspecific");
  must(mine == 100 * rank + me && mine_too == -me, "thread-local variables");
  pthread_barrier_wait(&barrier);
  must(sum == THREADS * ROUNDS, "a barrier that lets pass too early");
  pthread_mutex_lock(&mutex);
  while (turns != me) pthread_cond_wait(&changed, &mutex); /* one after the other */
  turns++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  sem_post(&items);
  if (me % 2) pthread_exit((void *)(size_t)(100 + me));
  return (void *)(size_t)(100 + me);
}
static void *never_joined(void *arg) { return usleep(10), sem_post((sem_t *)arg), arg; }
static void threads(void) {
  pthread_t t[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_key_create(&key, destroy);
  pthread_spin_init(&spin, 0);
  sem_init(&items, 0, 0);
  for (size_t i = 0; i < THREADS; i++) must(pthread_create(&t[i], NULL, work, (void *)i) == 0, "pthread_create");
  for (int i = 0; i < THREADS; i++) sem_wait(&items);
  must(sem_trywait(&items) == -1 && errno == EAGAIN, "sem_trywait");
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    must(!pthread_equal(t[i], pthread_self()), "pthread_self");
    must(pthread_join(t[i], &result) == 0 && (int)(size_t)result == 100 + i, "pthread_join");
  }
  must(turns == THREADS && destroyed == THREADS * (THREADS + 1) / 2 && spun == THREADS * ROUNDS, "the sums of the threads");
  /* waits that end by time, exactly */
  struct timespec until;
  long t_ns = now_ns();
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 5000;
  pthread_mutex_lock(&mutex);
  must(pthread_cond_timedwait(&changed, &mutex, &until) == ETIMEDOUT && now_ns() - t_ns >= 5000 && now_ns() - t_ns < 20000, "pthread_cond_timedwait");
  must(pthread_mutex_trylock(&mutex) == EBUSY && pthread_mutex_unlock(&mutex) == 0, "pthread_mutex_trylock");
  pthread_t detached;
  must(pthread_create(&detached, NULL, never_joined, &items) == 0 && pthread_detach(detached) == 0 && sem_wait(&items) == 0, "pthread_detach");
  printf("threads of %d are right\n", rank);
}

/* ---- time ------------------------------------------------------------------------------------------- */
static void sleeps(void) {
  const struct timespec d = {0, 3000000};
  struct timespec t;
  long t_ns = now_ns();
  must(clock_nanosleep(CLOCK_MONOTONIC, 0, &d, NULL) == 0, "clock_nanosleep");
  must(poll(NULL, 0, 2) == 0 && sleep(1) == 0 && nanosleep(&d, NULL) == 0, "poll, sleep, nanosleep");
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += 2;
  must(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0, "clock_nanosleep");
  /* the date: no run begins at 0, which is a bad seed; and who waits for one does not wait for years */
  must(time(NULL) > 900000000 && t.tv_sec < 900000000, "time");
  clock_gettime(CLOCK_REALTIME, &t);
  must((t.tv_sec += 1) > 900000000 && clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) == 0, "clock_nanosleep of a date");
  t_ns = now_ns() - t_ns;
  must(t_ns >= 4008000000 && t_ns < 4008100000, "sleeps take their time");
}

/* Process 1 polls for the events of its interface, which come after 2 ms, each with a look of its own. */
static void polls(void) {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md_handle;
  ptl_handle_le_t le_handle;
  ptl_pt_index_t pt;
  ptl_process_t id;
  ptl_event_t e;
  struct pollfd fds[4];
  fd_set in;
  uint64_t here = 0;
  char text[64];
  struct timeval d = {0, 1000};
  must(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) &&
           !PtlGetPhysId(ni, &id) && !PtlEQAlloc(ni, 16, &eq) && !PtlPTAlloc(ni, 0, eq, 5, &pt), "Portals");
  ptl_le_t le = {&here, 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_LINK_DISABLE | PTL_LE_ACK_DISABLE};
  ptl_md_t md = {&here, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
  must(!PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &le_handle) && !PtlMDBind(ni, &md, &md_handle), "list, descriptor");
  must(PtlNFDs(ni) == 1 && PtlPollFDs(ni, fds, POLLIN) == 1, "descriptors");
  FD_ZERO(&in);
  FD_SET(fds[0].fd, &in);
  if (rank == 1) {
    snprintf(text, sizeof text, "%u %u", (unsigned)id.phys.nid, (unsigned)id.phys.pid);
    must(!PMI_KVS_Put("", "one", text), "PMI_KVS_Put");
    long t_ns = now_ns();
    must(poll(fds, 1, 1) == 0 && PtlPollEvents(ni, fds) == 0 && now_ns() - t_ns >= 1000000, "poll in vain");
    must(select(fds[0].fd + 1, &in, NULL, NULL, &d) == 0 && now_ns() - t_ns >= 2000000, "select in vain");
  }
  PMI_Barrier();
  if (rank == 0) {
    must(!PMI_KVS_Get("", "one", text, sizeof text) && sscanf(text, "%u %u", &id.phys.nid, &id.phys.pid) == 2, "PMI_KVS_Get");
    for (int i = 0; i < 3; i++) {
      usleep(i < 2 ? 2000 : 0); /* the last two together */
      must(!PtlPut(md_handle, 0, 8, PTL_NO_ACK_REQ, id, 5, 0, 0, NULL, 0), "PtlPut");
    }
  }
  if (rank == 1) {
    long t_ns = now_ns();
    for (int i = 0; i < 3; i++) {
      must(poll(fds, 1, -1) == 1 && PtlPollEvents(ni, fds) == POLLIN, "poll");
      must(!PtlEQGet(eq, &e) && e.type == PTL_EVENT_PUT, "event");
    }
    must(now_ns() - t_ns > 4000000 && now_ns() - t_ns < 4100000, "poll ends when an event comes");
    must(PtlPollEvents(ni, fds) == 0 && poll(fds, 1, 0) == 0, "no events left");
    puts("poll has seen all");
  }
  PMI_Barrier();
  must(!PtlNIFini(ni), "PtlNIFini");
  PtlFini();
}

/* Process 1 looks into memory that process 0 writes to after 2 ms, and calls nothing. */
static volatile uint64_t word;
static void spins(void) {
  ptl_handle_ni_t ni;
  ptl_handle_le_t le_handle;
  ptl_handle_md_t md_handle;
  ptl_pt_index_t pt;
  ptl_process_t id;
  uint64_t one = 77;
  char text[64];
  must(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni), "PtlNIInit");
  must(!PtlGetPhysId(ni, &id) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 7, &pt), "PtlPTAlloc");
  ptl_le_t le = {(void *)(uintptr_t)&word, 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT};
  ptl_md_t md = {&one, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
  must(!PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &le_handle) && !PtlMDBind(ni, &md, &md_handle), "PtlLEAppend");
  snprintf(text, sizeof text, "%u %u", id.phys.nid, id.phys.pid);
  if (rank == 1) PMI_KVS_Put("", "one", text);
  PMI_Barrier();
  const long t_ns = now_ns();
  if (rank == 0) {
    PMI_KVS_Get("", "one", text, sizeof text);
    must(sscanf(text, "%u %u", &id.phys.nid, &id.phys.pid) == 2, "KVS");
    usleep(2000);
    must(PtlPut(md_handle, 0, 8, PTL_NO_ACK_REQ, id, pt, 0, 0, NULL, 0) == 0, "PtlPut");
    usleep(100);
  } else if (rank == 1) {
    while (!word) {}
    must(word == 77 && now_ns() - t_ns >= 2000000 && now_ns() - t_ns < 100000000, "a spin lets time pass");
    printf("spin has ended\n");
  }
  PMI_Barrier();
}

/* Who looks for work takes 257 locks a round and is busy in half of them; another waits until it is not. */
static pthread_mutex_t round_lock = PTHREAD_MUTEX_INITIALIZER, other_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t round_calm = PTHREAD_COND_INITIALIZER;
static int is_busy, has_ended;
static void take_locks(int count) {
  for (int i = 0; i < count; i++) pthread_mutex_lock(&other_lock), pthread_mutex_unlock(&other_lock);
}
static void *looks_for_work(void *unused) {
  take_locks(200);
  for (int ends = 0; !ends;) {
    pthread_mutex_lock(&round_lock);
    is_busy = 1;
    pthread_mutex_unlock(&round_lock);
    take_locks(127);
    pthread_mutex_lock(&round_lock);
    is_busy = 0;
    ends = has_ended;
    pthread_cond_broadcast(&round_calm);
    pthread_mutex_unlock(&round_lock);
    take_locks(128);
  }
  return unused;
}
static void rounds(void) {
  pthread_t thread;
  int wakes = 0;
  must(pthread_create(&thread, NULL, looks_for_work, NULL) == 0, "pthread_create");
  usleep(100);
  pthread_mutex_lock(&round_lock);
  for (; is_busy && wakes < 100; wakes++) pthread_cond_wait(&round_calm, &round_lock);
  has_ended = 1;
  pthread_mutex_unlock(&round_lock);
  must(pthread_join(thread, NULL) == 0, "pthread_join");
  must(wakes < 100, "a moment between two rounds");
}
int main(int argc, char **argv) {
  int spawned, number = 9, ranks[64];
  const char *mode = argc > 1 ? argv[1] : "threads";
  must(!PMI_Init(&spawned) && !PMI_Get_rank(&rank) && !PMI_Get_size(&size), "PMI_Init");
  must(!PMI_Get_universe_size(&number) && number == size && !PMI_Get_appnum(&number) && number == 0, "PMI_Get_appnum");
  must(!PMI_Get_clique_size(&number) && number >= 1 && !PMI_Get_clique_ranks(ranks, number), "PMI_Get_clique_ranks");
  if (strcmp(mode, "threads") == 0) threads();
  if (strcmp(mode, "sleeps") == 0) sleeps();
  if (strcmp(mode, "spins") == 0) spins();
  if (strcmp(mode, "polls") == 0) polls();
  if (strcmp(mode, "rounds") == 0) rounds();
  if (strcmp(mode, "abort") == 0 && rank == 1) return usleep(50), PMI_Abort(7, "enough");
  if (strcmp(mode, "abort") == 0) PMI_Barrier();
  if (strcmp(mode, "pieces") == 0) {
    printf("first ");
    usleep(10); /* the others write meanwhile */
    printf("second\n");
    fprintf(stderr, "complaint %d\n", rank);
    must(write(1, "raw\n", 4) == 4, "write");
    fputs("without end", stdout);
    return rank;
  }
  if (strcmp(mode, "computes") == 0)
    for (const long start_ns = host_cpu_ns(); host_cpu_ns() - start_ns < 20000000;) number++;
  if (strcmp(mode, "last") == 0) { /* the first thread goes before the others: they end the process */
    pthread_t t;
    sem_init(&items, 0, 0);
    must(pthread_create(&t, NULL, never_joined, &items) == 0, "pthread_create");
    pthread_exit(NULL);
  }
  PMI_Finalize();
  return 0;
}
