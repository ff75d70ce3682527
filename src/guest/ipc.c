/* Semaphores and queues of messages that processes share by a name or a key (System V's, POSIX's): they are the host's,
   and who has to wait does so in simulated time. What SEM_UNDO takes back is taken back when pm_run ends. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <time.h>

/* ---- semop ------------------------------------------------------------------------------------------------------- */
enum { SEM_OPERATIONS_MAX = 500 }; /* Linux's SEMOPM */
typedef struct sem_args {
  int set;
  struct sembuf *asked;
  size_t count;
} sem_args;
/* All or nothing, as the host does them: none of them waits there. */
static int look_semop(void *arg, int ms) {
  const sem_args *a = (const sem_args *)arg;
  struct sembuf now[SEM_OPERATIONS_MAX];
  for (size_t i = 0; i < a->count; i++) {
    now[i] = a->asked[i];
    now[i].sem_flg |= IPC_NOWAIT;
  }
  if (semop(a->set, now, a->count) == 0) return 1;
  return errno == EAGAIN ? guest_pass(ms) : -1;
}
static int guest_semtimedop(int set, struct sembuf *asked, size_t count, const struct timespec *d) {
  bool is_to_wait = count <= SEM_OPERATIONS_MAX;
  for (size_t i = 0; i < count && is_to_wait; i++) is_to_wait = !(asked[i].sem_flg & IPC_NOWAIT);
  if (!is_to_wait) return semop(set, asked, count);
  const int64_t d_ns = d ? (int64_t)d->tv_sec * 1000000000 + d->tv_nsec : -1;
  return guest_wait_for(look_semop, &(sem_args){set, asked, count}, d_ns, false);
}
static int guest_semop(int set, struct sembuf *asked, size_t count) {
  return guest_semtimedop(set, asked, count, NULL);
}

/* ---- System V's messages ----------------------------------------------------------------------------------------- */
typedef struct msg_args {
  int queue, flags;
  const void *from;
  void *to;
  size_t bytes;
  long type;
  ssize_t got;
} msg_args;
static int look_msgsnd(void *arg, int ms) {
  const msg_args *a = (const msg_args *)arg;
  if (msgsnd(a->queue, a->from, a->bytes, a->flags | IPC_NOWAIT) == 0) return 1;
  return errno == EAGAIN ? guest_pass(ms) : -1;
}
static int guest_msgsnd(int queue, const void *from, size_t bytes, int flags) {
  msg_args a = {.queue = queue, .flags = flags, .from = from, .bytes = bytes};
  if (flags & IPC_NOWAIT) return msgsnd(queue, from, bytes, flags);
  return guest_wait_for(look_msgsnd, &a, -1, false);
}
static int look_msgrcv(void *arg, int ms) {
  msg_args *a = (msg_args *)arg;
  a->got = msgrcv(a->queue, a->to, a->bytes, a->type, a->flags | IPC_NOWAIT);
  if (a->got >= 0) return 1;
  return errno == ENOMSG ? guest_pass(ms) : -1;
}
static ssize_t guest_msgrcv(int queue, void *to, size_t bytes, long type, int flags) {
  msg_args a = {.queue = queue, .flags = flags, .to = to, .bytes = bytes, .type = type};
  if (flags & IPC_NOWAIT) return msgrcv(queue, to, bytes, type, flags);
  return guest_wait_for(look_msgrcv, &a, -1, false) ? -1 : a.got;
}

/* ---- POSIX's messages -------------------------------------------------------------------------------------------- */
typedef struct mq_args {
  mqd_t queue;
  const char *from;
  char *to;
  size_t bytes;
  unsigned priority;
  ssize_t got;
  bool is_waiting; /* the last look was in vain */
} mq_args;
/* A time that is over: the host answers at once. */
static const struct timespec over = {0, 0};
static int look_mq_send(void *arg, int ms) {
  mq_args *a = (mq_args *)arg;
  if (mq_timedsend(a->queue, a->from, a->bytes, a->priority, &over) == 0) return 1;
  a->is_waiting = errno == ETIMEDOUT;
  return a->is_waiting ? guest_pass(ms) : -1;
}
static int look_mq_receive(void *arg, int ms) {
  mq_args *a = (mq_args *)arg;
  a->got = mq_timedreceive(a->queue, a->to, a->bytes, &a->priority, &over);
  if (a->got >= 0) return 1;
  a->is_waiting = errno == ETIMEDOUT;
  return a->is_waiting ? guest_pass(ms) : -1;
}
/* ret whether it was done; t: by the clock of the day, NULL: whenever */
static bool wait_for_queue(int (*look)(void *arg, int ms), mq_args *a, const struct timespec *t) {
  if (t && !guest_is_time(t)) return errno = EINVAL, false;
  int64_t d_ns = t ? guest_ns_of(t) - pm_now_ns() : -1;
  if (t && d_ns < 0) d_ns = 0;
  const int code = guest_wait_for(look, a, d_ns, true);
  if (code && errno == EAGAIN && a->is_waiting) errno = ETIMEDOUT;
  return code == 0;
}
static int guest_mq_timedsend(mqd_t queue, const char *from, size_t bytes, unsigned priority,
                              const struct timespec *t) {
  mq_args a = {.queue = queue, .from = from, .bytes = bytes, .priority = priority};
  return wait_for_queue(look_mq_send, &a, t) ? 0 : -1;
}
static int guest_mq_send(mqd_t queue, const char *from, size_t bytes, unsigned priority) {
  return guest_mq_timedsend(queue, from, bytes, priority, NULL);
}
static ssize_t guest_mq_timedreceive(mqd_t queue, char *to, size_t bytes, unsigned *priority,
                                     const struct timespec *t) {
  mq_args a = {.queue = queue, .to = to, .bytes = bytes};
  if (!wait_for_queue(look_mq_receive, &a, t)) return -1;
  if (priority) *priority = a.priority;
  return a.got;
}
static ssize_t guest_mq_receive(mqd_t queue, char *to, size_t bytes, unsigned *priority) {
  return guest_mq_timedreceive(queue, to, bytes, priority, NULL);
}

__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("semop", guest_semop);
  GUEST_REPLACE("semtimedop", guest_semtimedop);
  GUEST_REPLACE("msgsnd", guest_msgsnd);
  GUEST_REPLACE("msgrcv", guest_msgrcv);
  GUEST_REPLACE("mq_send", guest_mq_send);
  GUEST_REPLACE("mq_timedsend", guest_mq_timedsend);
  GUEST_REPLACE("mq_receive", guest_mq_receive);
  GUEST_REPLACE("mq_timedreceive", guest_mq_timedreceive);
}
