/* Files and locks of three processes, which have nothing but a folder in common: on the host three programs with PMI_RANK
   0 to 2, under pm_run three processes. Each line says what a process saw; they are the same. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int rank;
static const char *error_name(int code) {
  return code == 0 ? "done" : errno == EAGAIN || errno == EACCES ? "taken" : errno == EBADF ? "bad" : errno == EDEADLK ? "deadlock" : strerror(errno);
}
#define SAY(...) (printf("%d ", rank), printf(__VA_ARGS__), printf("\n"), fflush(stdout))
static void step(int number) { /* the same for all: on the host, too, if it is not too slow */
  static int now;
  usleep((useconds_t)(number - now) * 200000);
  now = number;
}
static int lock(int fd, int request, int type, off_t from, off_t bytes) {
  struct flock l = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = from, .l_len = bytes};
  return fcntl(fd, request, &l);
}

static void closes_all(void) {
  char name[32];
  snprintf(name, sizeof name, "file%d", rank);
  const int fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0666), copy = dup(fd);
  FILE *stream = fopen(name, "a");
  DIR *folder = opendir(".");
  step(1);
  if (rank == 1) {
    for (int k = 3; k < 1024; k++) close(k);
    SAY("closed: write %s", error_name(write(fd, "x", 1) < 0)), SAY("closed: copy %s", error_name(write(copy, "x", 1) < 0));
  }
  step(2);
  if (rank == 1) SAY("range: %s", error_name(close_range(3, ~0U, 0)));
  if (rank == 1) SAY("no range: %s", error_name(close_range(5, 3, 0)));
  if (rank == 2) closefrom(3);
  if (rank == 0) {
    const int wrote = write(fd, "ab", 2) == 2 && write(copy, "cd", 2) == 2 && fputs("ef", stream) >= 0 && fflush(stream) == 0;
    SAY("others closed theirs: %d, %d", wrote, readdir(folder) != NULL);
  }
  step(3);
  if (rank == 2) SAY("closefrom: %s", error_name(close(fd)));
  if (rank == 0) SAY("close: %s", error_name(close(fd))), SAY("close again: %s", error_name(close(fd)));
}
/* Who ends without a word has closed what it had. */
static void reads_to_the_end(int at_once) {
  const char *fifo = at_once ? "fifo1" : "fifo0";
  char text[16] = "";
  if (rank == 0) mkfifo(fifo, 0666);
  step(1);
  if (rank == 2) return;
  const int fd = open(fifo, rank ? O_WRONLY : O_RDONLY);
  if (rank == 1) {
    FILE *lost = fopen("lost", "w");
    fputs("never written", lost);
    if (write(fd, "abc", 3) != 3) SAY("write: %s", strerror(errno));
    if (at_once) _exit(0);
    exit(0);
  }
  size_t sum = 0;
  ssize_t n;
  while ((n = read(fd, text + sum, sizeof text - 1 - sum)) > 0) sum += (size_t)n;
  step(2);
  struct stat s = {0};
  stat("lost", &s);
  SAY("read %s to the end, lost %d", text, (int)s.st_size);
}
static void counts_under_locks(void) {
  const int fd = open("count", O_CREAT | O_RDWR, 0666);
  char text[16];
  for (int k = 0; k < 5; k++) {
    if (lseek(fd, 0, SEEK_SET) || lockf(fd, F_LOCK, 0)) SAY("lockf: %s", strerror(errno));
    const ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    usleep(1000);
    const int bytes = snprintf(text, sizeof text, "%d", atoi(text) + 1);
    if (lseek(fd, 0, SEEK_SET) || write(fd, text, (size_t)bytes) != bytes) SAY("write: %s", strerror(errno));
    if (lseek(fd, 0, SEEK_SET) || lockf(fd, F_ULOCK, 0)) SAY("lockf: %s", strerror(errno));
  }
  step(5);
  if (rank) return;
  const ssize_t n = pread(fd, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = 0;
  SAY("counted to %s", text);
}
static void tries(int fd, const char *what) {
  static const off_t part[][2] = {{0, 2}, {2, 2}, {4, 6}, {5, 1}, {10, 10}, {9, 0}};
  printf("1 %s:", what);
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    printf(" %s", error_name(lock(fd, F_SETLK, F_WRLCK, part[i][0], part[i][1])));
    lock(fd, F_SETLK, F_UNLCK, part[i][0], part[i][1]);
  }
  printf("\n");
  fflush(stdout);
}
static void locks_parts(void) {
  const int fd = open("parts", O_CREAT | O_RDWR, 0666);
  if (rank == 0) {
    if (lock(fd, F_SETLK, F_WRLCK, 0, 10)) SAY("lock: %s", strerror(errno));
    dprintf(fd, "%d", (int)getpid());
  }
  step(1);
  if (rank == 1) {
    struct flock asked = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 8, .l_len = 20};
    char text[16] = "";
    if (pread(fd, text, sizeof text - 1, 0) < 1 || fcntl(fd, F_GETLK, &asked)) SAY("asked: %s", strerror(errno));
    SAY("asked: %d, from %d, %d bytes, its holder %d", asked.l_type == F_WRLCK, (int)asked.l_start, (int)asked.l_len, asked.l_pid == atoi(text));
    SAY("wrong: %s", error_name(lock(fd, F_SETLK, F_WRLCK, -1, 5)));
    tries(fd, "whole");
  }
  step(2);
  if (rank == 0) lock(fd, F_SETLK, F_UNLCK, 2, 2);
  step(3);
  if (rank == 1) tries(fd, "with a hole");
  step(4);
  if (rank == 0) lock(fd, F_SETLK, F_RDLCK, 0, 10);
  step(5);
  if (rank == 1) {
    SAY("read beside: %s", error_name(lock(fd, F_SETLK, F_RDLCK, 3, 3))), SAY("write beside: %s", error_name(lock(fd, F_SETLK, F_WRLCK, 3, 3)));
    lock(fd, F_SETLK, F_UNLCK, 0, 0);
  }
  step(6);
  if (rank == 0) close(open("parts", O_RDONLY));
  step(7);
  if (rank == 1) tries(fd, "after a close of another descriptor");
  if (rank == 2) lock(fd, F_SETLK, F_WRLCK, 5, 0);
  step(8);
  if (rank == 1) tries(fd, "at the end");
  step(9);
  if (rank == 2) exit(0);
  step(10);
  if (rank == 1) tries(fd, "after the end of its holder");
  if (rank == 1) SAY("of a file to read: %s", error_name(lock(open("parts", O_RDONLY), F_SETLK, F_WRLCK, 0, 1)));
}
static void waits_in_a_ring(void) {
  const int fd = open("ring", O_CREAT | O_RDWR, 0666);
  lock(fd, F_SETLKW, F_WRLCK, rank, 1);
  step(1);
  usleep((useconds_t)rank * 100000);
  const int code = lock(fd, F_SETLKW, F_WRLCK, (rank + 1) % 3, 1), is_last = code && errno == EDEADLK;
  if (is_last) SAY("is told of the deadlock");
  lock(fd, F_SETLK, F_UNLCK, 0, 0);
  step(6);
  if (!is_last) SAY("had both: %d", code == 0);
}
static void waits_for_an_open_file(void) {
  const int fd = open("open", O_CREAT | O_RDWR, 0666);
  if (rank == 0) lock(fd, F_OFD_SETLK, F_WRLCK, 0, 0);
  step(1);
  if (rank == 1) SAY("open file: %s", error_name(lock(fd, F_OFD_SETLK, F_WRLCK, 0, 0)));
  if (rank == 0) usleep(200000);
  if (rank == 0) SAY("gives it back"), close(fd);
  if (rank == 1) lock(fd, F_OFD_SETLKW, F_WRLCK, 0, 0), SAY("has it");
}
/* Programs that no pm_run runs see the locks, and theirs are seen. */
static int asks_from_outside(void) {
  const int fd = open("outside", O_RDWR);
  if (lock(fd, F_SETLK, F_WRLCK, 0, 1)) return printf("0 outside: %s\n", error_name(-1)), 0;
  printf("0 outside: done\n");
  fflush(stdout);
  getchar(); /* its end: until then the lock is held */
  return 0;
}
static const char *itself;
static void has_locks_outside(void) {
  const int fd = open("outside", O_CREAT | O_RDWR, 0666);
  char command[4096];
  step(rank); /* others do the same later, in the same file */
  if (rank > 1) return;
  lock(fd, F_SETLK, rank ? F_RDLCK : F_WRLCK, 0, 10);
  step(2);
  snprintf(command, sizeof command, "%s asks . </dev/null", itself);
  if (rank == 0 && system(command)) SAY("system: %s", strerror(errno));
  lock(fd, F_SETLK, F_UNLCK, 0, 0);
  step(3);
  if (rank) return;
  snprintf(command, sizeof command, "%s asks .", itself);
  FILE *holder = popen(command, "w");
  struct flock seen = {.l_type = F_UNLCK};
  while (seen.l_type == F_UNLCK) {
    usleep(1000);
    seen = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(fd, F_GETLK, &seen)) SAY("asked: %s", strerror(errno));
  }
  SAY("inside: %s", error_name(lock(fd, F_SETLK, F_WRLCK, 0, 1))), SAY("beside: %s", error_name(lock(fd, F_SETLK, F_WRLCK, 1, 0)));
  pclose(holder);
  SAY("inside: %s", error_name(lock(fd, F_SETLKW, F_WRLCK, 0, 1)));
}
/* Semaphores and messages: rank 1 waits for what rank 0 does later. */
static void waits_for_others(void) {
  struct {
    long type;
    char text[8];
  } m = {0, ""};
  const int sem = semget(ftok(".", 1), 1, IPC_CREAT | 0600), queue = msgget(ftok(".", 2), IPC_CREAT | 0600);
  struct sembuf down = {.sem_op = -1}, up = {.sem_op = 2};
  char name[32], text[64] = "";
  snprintf(name, sizeof name, "/pm_run_%d", (int)ftok(".", 3));
  struct mq_attr one = {.mq_maxmsg = 1, .mq_msgsize = sizeof text}, nonblocking = {.mq_flags = O_NONBLOCK};
  const mqd_t mq = mq_open(name, O_CREAT | O_RDWR, 0600, &one);
  step(1);
  if (rank == 1) {
    const struct timespec d = {0, 50000000};
    struct timespec t;
    SAY("semtimedop: %s", error_name(semtimedop(sem, &down, 1, &d)));
    SAY("semop: %s", error_name(semop(sem, &down, 1)));
    down.sem_flg = IPC_NOWAIT;
    SAY("one is left: %s", error_name(semop(sem, &down, 1))), SAY("none is left: %s", error_name(semop(sem, &down, 1)));
    SAY("msgrcv: %d %s", (int)msgrcv(queue, &m, sizeof m.text, 7, 0), m.text);
    SAY("no second: %s", msgrcv(queue, &m, sizeof m.text, 7, IPC_NOWAIT) < 0 && errno == ENOMSG ? "no message" : "one");
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += t.tv_nsec >= 900000000, t.tv_nsec = (t.tv_nsec + 100000000) % 1000000000;
    SAY("mq_timedreceive: %s", mq_timedreceive(mq, text, sizeof text, NULL, &t) < 0 && errno == ETIMEDOUT ? "over" : "came");
    SAY("mq_receive: %d %s", (int)mq_receive(mq, text, sizeof text, NULL), text);
    SAY("next: %d %s", (int)mq_receive(mq, text, sizeof text, NULL), text);
    t.tv_sec--;
    SAY("a time that was: %s", mq_timedreceive(mq, text, sizeof text, NULL, &t) < 0 && errno == ETIMEDOUT ? "over" : "came");
    mq_setattr(mq, &nonblocking, NULL);
    SAY("none: %s", mq_timedreceive(mq, text, sizeof text, NULL, &t) < 0 && errno == EAGAIN ? "no message" : "over");
  }
  step(2);
  if (rank == 0) {
    if (semop(sem, &up, 1)) SAY("semop: %s", strerror(errno));
    usleep(50000);
    m.type = 7, strcpy(m.text, "seven");
    if (msgsnd(queue, &m, sizeof m.text, 0)) SAY("msgsnd: %s", strerror(errno));
    usleep(300000);
    if (mq_send(mq, "first", 6, 0) || mq_send(mq, "second", 7, 0)) SAY("mq_send: %s", strerror(errno));
  }
  step(6);
  if (rank == 0) semctl(sem, 0, IPC_RMID), msgctl(queue, IPC_RMID, NULL), mq_unlink(name);
}
/* Semaphores by name, which Python's multiprocessing takes for its locks. */
static void waits_for_a_name(void) {
  char name[32], none[300];
  int value = -1;
  memset(none, 'a', sizeof none - 1), none[sizeof none - 1] = 0;
  snprintf(name, sizeof name, "/pm_run_%d", (int)ftok(".", 4));
  if (rank == 0) {
    const char *const bad[] = {"", "/", "a/b", none};
    for (size_t i = 0; i < 4; i++) SAY("bad name: %d", sem_open(bad[i], O_CREAT, 0600, 0) == SEM_FAILED && errno == EINVAL && sem_unlink(bad[i]) && errno == ENOENT);
    SAY("none: %d", sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
    SAY("too large: %d", sem_open(name, O_CREAT, 0600, SEM_VALUE_MAX + 1U) == SEM_FAILED && errno == EINVAL);
  }
  step(1);
  sem_t *const s = sem_open(name, O_CREAT, 0600, 1), *const again = sem_open(name, 0), *const bare = sem_open(name + 1, 0);
  step(2);
  if (s == SEM_FAILED || s != again) SAY("not the same");
  if (rank == 0) SAY("exclusive: %d", sem_open(name, O_CREAT | O_EXCL, 0600, 0) == SEM_FAILED && errno == EEXIST);
  if (rank == 1) sem_wait(s);
  step(3);
  if (rank == 0) sem_getvalue(s, &value), SAY("value: %d", value), sem_unlink(name);
  if (rank == 2) SAY("wait: %s", error_name(sem_wait(s)));
  step(4);
  if (rank == 1) SAY("posts: %s", error_name(sem_post(bare)));
  step(5);
  if (rank == 0) {
    sem_t *const other = sem_open(name, O_CREAT | O_EXCL, 0600, 5);
    SAY("another of the name: %d", other != s && sem_getvalue(other, &value) == 0 && value == 5);
    SAY("closed: %d", sem_close(other) == 0 && sem_unlink(name) == 0 && sem_close(s) == 0 && sem_close(again) == 0 && sem_close(bare) == 0);
  }
}
/* Each has a time zone, and what localtime returns is not another's. */
static void lives_in_a_zone(void) {
  static const char *const zones[] = {"UTC0", "EST5EDT,M3.2.0,M11.1.0", "<+0530>-5:30"};
  const time_t winter = 1040774400, summer = 1056672000, later = 1057000000 + rank * 86400;
  char text[64], when[64];
  setenv("TZ", zones[rank], 1);
  tzset();
  const struct tm *const kept = localtime(&winter), *const universal = gmtime(&winter);
  const char *const said = ctime(&summer);
  step(1);
  SAY("zone: %ld %d %s %s", timezone, daylight != 0, tzname[0], tzname[1]);
  SAY("winter: %d-%d %d:%02d %d %s, universal %d", kept->tm_mon + 1, kept->tm_mday, kept->tm_hour, kept->tm_min, kept->tm_isdst, kept->tm_zone, universal->tm_hour);
  SAY("summer: %.24s", said);
  step(2);
  struct tm then = *localtime(&summer);
  strftime(text, sizeof text, "%d %H:%M %Z %z", &then);
  ctime_r(&later, when);
  SAY("summer: %s, back %d, later %.24s", text, mktime(&then) == summer, when);
  step(3);
  if (rank == 1) unsetenv("TZ"), setenv("TZ", "JST-9", 1);
  SAY("moved: %d", localtime(&winter)->tm_hour);
  SAY("name: %.24s", asctime(gmtime(&winter)));
  if (rank) return;
  setenv("TZ", ":/etc/localtime", 1);
  const int hour = localtime(&winter)->tm_hour;
  unsetenv("TZ");
  step(4);
  SAY("without: %d", localtime(&winter)->tm_hour == hour);
}
/* Who sleeps, or waits for a thread or a file, takes no CPU time. */
static int64_t cpu_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static void *sleeps(void *arg) {
  usleep(100000);
  return arg;
}
static void *looks(void *arg) { /* at the clock, for 100 ms of it */
  const int64_t begin_ms = cpu_ms(CLOCK_MONOTONIC);
  while (cpu_ms(CLOCK_MONOTONIC) < begin_ms + 100) continue;
  clockid_t own;
  const bool has_one = pthread_getcpuclockid(pthread_self(), &own) == 0;
  const int64_t own_ms = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
  *(int64_t *)arg = has_one && cpu_ms(own) >= own_ms ? own_ms : -1;
  return NULL;
}
static void takes_cpu_time(void) {
  struct pollfd nothing = {.fd = -1};
  struct rusage u;
  struct tms t;
  pthread_t thread;
  int64_t of_thread_ms = 0;
  const clock_t ticks = times(&t);
  if (rank) return;
  usleep(100000);
  poll(&nothing, 1, 100);
  pthread_create(&thread, NULL, sleeps, NULL), pthread_join(thread, NULL);
  SAY("slept: %d %d", cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < 90, cpu_ms(CLOCK_THREAD_CPUTIME_ID) < 90);
  getrusage(RUSAGE_SELF, &u);
  SAY("clock: %d %d", clock() < CLOCKS_PER_SEC / 10, u.ru_utime.tv_sec == 0 && u.ru_utime.tv_usec < 90000);
  SAY("times: %d %d", times(&t) - ticks >= sysconf(_SC_CLK_TCK) * 29 / 100, t.tms_utime < sysconf(_SC_CLK_TCK) / 10);
  pthread_create(&thread, NULL, looks, &of_thread_ms), pthread_join(thread, NULL);
  SAY("looked: %d %d %d", of_thread_ms > 20, cpu_ms(CLOCK_PROCESS_CPUTIME_ID) > 20, cpu_ms(CLOCK_THREAD_CPUTIME_ID) < 90);
}
/* pm_run's alone: nothing of the host changes. Were it not refused, what is asked for here would do no harm. */
static int is_refused(long code) { return code == -1 && errno == EPERM; }
static void changes_the_host(void) {
  struct timespec t;
  struct timeval v;
  struct timex x = {.modes = 0};
  struct utsname u;
  char name[17] = "";
  const long was = syscall(SYS_getpriority, PRIO_PROCESS, 0), session = syscall(SYS_getsid, 0);
  if (syscall(SYS_clock_gettime, CLOCK_REALTIME, &t) || syscall(SYS_gettimeofday, &v, NULL) || syscall(SYS_uname, &u)) return;
  SAY("clock: %d %d %d", is_refused(clock_settime(CLOCK_REALTIME, &t)), is_refused(settimeofday(&v, NULL)), is_refused(syscall(SYS_clock_settime, CLOCK_REALTIME, &t)));
  SAY("adjusted: %d", adjtimex(&x) >= 0);
  x.modes = ADJ_TICK; /* to what it is */
  SAY("adjusts: %d", is_refused(adjtimex(&x)));
  SAY("name: %d", is_refused(sethostname(u.nodename, strlen(u.nodename))));
  SAY("root: %d %d %d", is_refused(chroot("/")), is_refused(mount(NULL, NULL, NULL, 0, NULL)), is_refused(unshare(CLONE_FS)));
  SAY("user: %d %d %d", setuid(getuid()) == 0 && setresuid((uid_t)-1, geteuid(), (uid_t)-1) == 0, is_refused(seteuid(geteuid() + 1)), is_refused(setgid(getgid() + 1)));
  if (rank == 1) nice(3), errno = 0;
  step(1);
  const int now = 20 - (int)was + (rank == 1 ? 3 : 0);
  SAY("nice: %d %d", getpriority(PRIO_PROCESS, 0) == (now < 19 ? now : 19), syscall(SYS_getpriority, PRIO_PROCESS, 0) == was);
  if (rank == 2) setsid();
  step(2);
  SAY("session: %d %d %d", (getsid(0) == getpid()) == (rank == 2), (getpgrp() == getpid()) == (rank == 2), syscall(SYS_getsid, 0) == session);
  SAY("names: %d", prctl(PR_SET_NAME, "a name that is too long") == 0);
  SAY("thread: %d", prctl(PR_GET_NAME, name) == 0 && strcmp(name, "a name that is ") == 0);
  SAY("rights: %d %d", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_getpid) > 0, is_refused(prctl(PR_CAPBSET_DROP, 1000, 0, 0, 0)));
}
/* pm_run's alone: while a program outside has the lock, no simulated time passes. */
static void waits_for_one_outside(void) {
  const int fd = open("outside", O_CREAT | O_RDWR, 0666);
  const int64_t begin_ms = cpu_ms(CLOCK_MONOTONIC);
  const int code = lock(fd, F_SETLKW, F_WRLCK, 0, 1);
  SAY("held: %s, soon %d", error_name(code), cpu_ms(CLOCK_MONOTONIC) < begin_ms + 900);
}
/* pm_run's alone: numbers are the whole run's. */
static void takes_a_number(void) {
  const int mine = rank == 0 ? open("number", O_CREAT | O_RDWR, 0666) : -1;
  if (rank == 0) dprintf(mine, "%d", mine);
  step(1);
  char text[16] = "";
  const int fd = open("number", O_RDONLY);
  if (rank == 0) step(2), syscall(SYS_close, mine), step(4);
  if (rank != 1 || pread(fd, text, sizeof text - 1, 0) < 1) return;
  SAY("number: %s", dup2(fd, atoi(text)) < 0 && errno == EBUSY ? "busy" : "taken");
  const int free_one = fcntl(fd, F_DUPFD, 200);
  SAY("free number: %d, again %d", dup2(fd, 100), dup2(fd, free_one) == free_one);
  step(3);
  const int unseen = (int)syscall(SYS_openat, AT_FDCWD, ".", O_RDONLY); /* of who closed it unseen */
  if (unseen >= 0) SAY("unseen: %s", error_name(close(unseen)));
}
int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } all[] = {{"closes", closes_all}, {"counts", counts_under_locks}, {"parts", locks_parts}, {"ring", waits_in_a_ring}, {"open", waits_for_an_open_file}, {"outside", has_locks_outside}, {"ipc", waits_for_others}, {"named", waits_for_a_name}, {"zone", lives_in_a_zone}, {"cpu", takes_cpu_time}, {"host", changes_the_host}, {"held", waits_for_one_outside}, {"number", takes_a_number}};
  rank = getenv("PMI_RANK") ? atoi(getenv("PMI_RANK")) : 0;
  if (argc != 3 || !(itself = realpath(argv[0], NULL)) || chdir(argv[2])) return 2;
  if (strcmp(argv[1], "asks") == 0) return asks_from_outside();
  if (strncmp(argv[1], "end", 3) == 0) return reads_to_the_end(argv[1][3] == '1'), 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(argv[1], all[i].name) == 0) return all[i].run(), 0;
  return 2;
}
