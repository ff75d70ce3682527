/* Receives that the NIC has no room for, for late.sh: ./late HOW SEED [FILLERS]; HOW collectives: three processes. One process sends, with pauses, messages of random
   tags; each goes to the first receive of the other that takes it, in the order in which they were posted, whoever waits or
   looks in which way; what belongs to none is there for probes, and only that. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RECEIVES = 24, MOST = 64, EXTRA = 8, TAGS = 4, FILLER = 99, MANY = 60, THREADS = 4, EACH = 300 };
static struct {
  int wanted[RECEIVES], tag[MOST], owner[MOST]; /* owner: the receive; -1: nobody's */
  unsigned pause_us[MOST];
  int count, extra;
} plan;
static unsigned long long state;
static int in[RECEIVES], seen[MOST], seen_count, fillers, *filled;
static MPI_Request r[RECEIVES], *f;
static MPI_Comm beside; /* of all but the one that sends */

static unsigned below(unsigned n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % n;
}
static void sleep_us(unsigned us) {
  const struct timespec t = {0, (long)us * 1000};
  if (us) nanosleep(&t, NULL);
}
/* Until each receive has a message, and EXTRA are left over. */
static void make_plan(void) {
  int taken[RECEIVES] = {0}, open = RECEIVES;
  for (int i = 0; i < RECEIVES; i++) plan.wanted[i] = below(3) ? (int)below(TAGS) : MPI_ANY_TAG;
  for (int k = 0; k < MOST && (open || plan.extra < EXTRA); k++, plan.count++) {
    int i = 0;
    while (i < RECEIVES - 1 && taken[i]) i++;
    plan.tag[k] = k < RECEIVES || !open || plan.wanted[i] == MPI_ANY_TAG ? (int)below(TAGS) : plan.wanted[i];
    plan.pause_us[k] = below(3) ? below(40) : below(4);
    for (i = 0; i < RECEIVES && (taken[i] || (plan.wanted[i] != MPI_ANY_TAG && plan.wanted[i] != plan.tag[k])); i++) {}
    plan.owner[k] = i < RECEIVES ? i : -1;
    if (i < RECEIVES) taken[i] = 1, open--;
    else plan.extra++;
  }
}
static void post(void) {
  f = malloc((size_t)(fillers + 1) * sizeof *f);
  filled = malloc((size_t)(fillers + 1) * sizeof *filled);
  for (int i = 0; i < fillers; i++) MPI_Irecv(&filled[i], 1, MPI_INT, 1, FILLER, MPI_COMM_WORLD, &f[i]);
}
static void take(MPI_Message *m, MPI_Status *s) { MPI_Mrecv(&seen[seen_count++], 1, MPI_INT, m, s); }
static void wait_as(const char *how) {
  MPI_Message m;
  MPI_Status s;
  int flag = 0, k, left = RECEIVES;
  if (strcmp(how, "testall") == 0) while (!flag) MPI_Testall(RECEIVES, r, &flag, MPI_STATUSES_IGNORE);
  if (strcmp(how, "testany") == 0) while (left) MPI_Testany(RECEIVES, r, &k, &flag, &s), left -= flag && k != MPI_UNDEFINED;
  if (strcmp(how, "test") == 0) for (int i = RECEIVES - 1; i >= 0; i--) for (flag = 0; !flag;) MPI_Test(&r[i], &flag, &s);
  if (strcmp(how, "waitany") == 0) for (; left; left--) MPI_Waitany(RECEIVES, r, &k, &s);
  while (strcmp(how, "mprobe") == 0 && seen_count < plan.extra) MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s), take(&m, &s);
  while (strcmp(how, "improbe") == 0 && seen_count < plan.extra) {
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m, &s);
    if (flag) take(&m, &s);
  }
  while (strcmp(how, "probe") == 0 && seen_count < plan.extra) {
    MPI_Probe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    MPI_Recv(&seen[seen_count++], 1, MPI_INT, 1, s.MPI_TAG, MPI_COMM_WORLD, &s);
  }
  while (strcmp(how, "collectives") == 0 && !flag) {
    MPI_Testall(RECEIVES, r, &flag, MPI_STATUSES_IGNORE);
    MPI_Bcast(&flag, 1, MPI_INT, 0, beside);
  }
  MPI_Waitall(RECEIVES, r, MPI_STATUSES_IGNORE);
  while (seen_count < plan.extra) MPI_Recv(&seen[seen_count++], 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
}
static void in_order(int me, const char *how) {
  int bad = 0, e = 0;
  make_plan();
  if (me == 2) { /* something always happens */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int is_over = 0; !is_over;) MPI_Bcast(&is_over, 1, MPI_INT, 0, beside);
    return;
  }
  if (me) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < plan.count; k++) sleep_us(plan.pause_us[k]), MPI_Send(&k, 1, MPI_INT, 0, plan.tag[k], MPI_COMM_WORLD);
    MPI_Recv(&bad, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < fillers; i++) MPI_Send(&i, 1, MPI_INT, 0, FILLER, MPI_COMM_WORLD);
    return;
  }
  post();
  for (int i = 0; i < RECEIVES; i++)
    in[i] = -1, MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? 1 : MPI_ANY_SOURCE, plan.wanted[i], MPI_COMM_WORLD, &r[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  wait_as(how);
  for (int k = 0; k < plan.count; k++) bad += (plan.owner[k] < 0 ? seen[e++] : in[plan.owner[k]]) != k;
  MPI_Send(&bad, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  MPI_Waitall(fillers, f, MPI_STATUSES_IGNORE);
  printf("%d wrong\n", bad);
}
/* More messages to oneself than receives have room. */
static void to_oneself(void) {
  const int n = fillers + 100;
  int *out = malloc((size_t)n * sizeof *out), *got = malloc((size_t)n * sizeof *got), bad = 0;
  MPI_Request *s = malloc((size_t)n * 2 * sizeof *s);
  for (int i = 0; i < n; i++) got[i] = -1, MPI_Irecv(&got[i], 1, MPI_INT, 0, i % 7, MPI_COMM_SELF, &s[n + i]);
  for (int i = 0; i < n; i++) out[i] = i, MPI_Isend(&out[i], 1, MPI_INT, 0, i % 7, MPI_COMM_SELF, &s[i]);
  MPI_Waitall(2 * n, s, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; i++) bad += got[i] != i;
  printf("%d wrong\n", bad);
}
/* A thread withdraws receives while another one looks for their messages. */
static void *withdraws(void *late) {
  MPI_Request *q = late;
  MPI_Status s;
  int flag, bad = 0;
  for (int i = 0; i < MANY; i++) {
    sleep_us(3);
    MPI_Cancel(&q[i]);
    MPI_Wait(&q[i], &s);
    MPI_Test_cancelled(&s, &flag);
    bad += !flag;
  }
  printf("%d wrong\n", bad);
  return NULL;
}
static void withdrawn(int me) {
  MPI_Request late[MANY], last;
  pthread_t thread;
  int value = 0, got[MANY];
  if (me) { /* what nobody wants yet is a reason to look */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) sleep_us(5), MPI_Send(&i, 1, MPI_INT, 0, FILLER + 1, MPI_COMM_WORLD);
    sleep_us(900);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int i = 0; i < fillers; i++) MPI_Send(&i, 1, MPI_INT, 0, FILLER, MPI_COMM_WORLD);
    return;
  }
  post();
  for (int i = 0; i < MANY; i++) MPI_Irecv(&got[i], 1, MPI_INT, 1, 1 + i, MPI_COMM_WORLD, &late[i]);
  MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &last);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_create(&thread, NULL, withdraws, late);
  MPI_Wait(&last, MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
  for (int i = 0; i < MANY; i++) MPI_Recv(&value, 1, MPI_INT, 1, FILLER + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(fillers, f, MPI_STATUSES_IGNORE);
}
/* Several threads at once, each with a communicator of its own: what one takes out or posts, another may be looking for. */
typedef struct stream {
  MPI_Comm comm;
  unsigned long long state;
  int wrong;
} stream;
static unsigned drawn(stream *t, unsigned n) {
  t->state = t->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(t->state >> 33) % n;
}
static void *sends(void *mine) {
  stream *t = mine;
  for (int i = 0; i < EACH; i++) {
    const int tag = 1 + (int)drawn(t, 2), is_sync = drawn(t, 9) == 0;
    sleep_us(drawn(t, 50) ? 0 : drawn(t, 60));
    if (is_sync) MPI_Ssend(&i, 1, MPI_INT, 0, tag, t->comm);
    else MPI_Send(&i, 1, MPI_INT, 0, tag, t->comm);
  }
  return NULL;
}
static void *receives(void *mine) {
  stream *t = mine;
  int got[EACH], next = 0, flag = 0;
  MPI_Request q[EACH];
  MPI_Message m;
  MPI_Status s;
  while (next < EACH) {
    const int most = EACH - next < 100 ? EACH - next : 100, how = (int)drawn(t, 4), count = how ? 1 + (int)drawn(t, (unsigned)most) : 1;
    if (!how) {
      if (drawn(t, 2)) MPI_Mprobe(1, MPI_ANY_TAG, t->comm, &m, &s);
      else for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &flag, &m, &s);
      MPI_Mrecv(got, 1, MPI_INT, &m, &s);
    }
    for (int i = 0; how && i < count; i++) MPI_Irecv(&got[i], 1, MPI_INT, drawn(t, 2) ? 1 : MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &q[i]);
    if (how == 1) MPI_Waitall(count, q, MPI_STATUSES_IGNORE);
    for (flag = 0; how == 2 && !flag;) MPI_Testall(count, q, &flag, MPI_STATUSES_IGNORE);
    for (int i = count - 1; how == 3 && i >= 0; i--) MPI_Wait(&q[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) t->wrong += got[i] != next++;
  }
  return NULL;
}
static void by_threads(int me) {
  stream t[THREADS];
  pthread_t thread[THREADS];
  int wrong = 0;
  for (int k = 0; k < THREADS; k++) {
    t[k] = (stream){.state = state * 91 + (unsigned)(k * 7 + me)};
    MPI_Comm_dup(MPI_COMM_WORLD, &t[k].comm);
  }
  fillers -= 70; /* room for some is left */
  if (!me) post();
  for (int k = 0; k < THREADS; k++) pthread_create(&thread[k], NULL, me ? sends : receives, &t[k]);
  for (int k = 0; k < THREADS; k++) {
    pthread_join(thread[k], NULL);
    wrong += t[k].wrong;
    MPI_Comm_free(&t[k].comm);
  }
  for (int i = 0; me && i < fillers; i++) MPI_Send(&i, 1, MPI_INT, 0, FILLER, MPI_COMM_WORLD);
  if (!me) MPI_Waitall(fillers, f, MPI_STATUSES_IGNORE), printf("%d wrong\n", wrong);
}
int main(int argc, char **argv) {
  int me, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_split(MPI_COMM_WORLD, me == 1, me, &beside);
  state = strtoull(argv[2], NULL, 10);
  fillers = argc > 3 ? atoi(argv[3]) : 2500; /* as many as a NIC has room for, and some */
  if (strcmp(argv[1], "self") == 0) {
    if (!me) to_oneself();
  } else if (strcmp(argv[1], "cancel") == 0) withdrawn(me);
  else if (strcmp(argv[1], "threads") == 0) by_threads(me);
  else in_order(me, argv[1]);
  MPI_Comm_free(&beside);
  MPI_Finalize();
  return 0;
}
