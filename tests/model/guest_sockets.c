/* Sockets, pipes and streams between threads and between processes, as a guest of pm_run: who waits lets the others run, and
   waits take simulated time. On a real machine it runs, too (alone, but for "connections"). Argument: which; a file. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MUST(good) ((good) ? (void)0 : fail(#good, __LINE__))
static void fail(const char *what, int line) {
  fprintf(stderr, "line %d: %s (%s)\n", line, what, strerror(errno));
  exit(9);
}
static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static int64_t t_begin_ms;
/* On a real machine it may take longer: others run there. */
static int takes_ms(int ms) {
  const int64_t took_ms = now_ms() - t_begin_ms;
  return took_ms >= ms && (took_ms < ms + 4 || !getenv("PMI_RANK"));
}
static pthread_t beside(void *(*fn)(void *), void *arg) {
  pthread_t thread;
  t_begin_ms = now_ms();
  MUST(pthread_create(&thread, NULL, fn, arg) == 0);
  return thread;
}
static void end(pthread_t thread) { MUST(pthread_join(thread, NULL) == 0); }

static void *sends_late(void *ends) {
  const int fd = ((int *)ends)[1];
  usleep(5000);
  MUST(send(fd, "abc", 3, 0) == 3);
  usleep(5000);
  MUST(write(fd, "defg", 4) == 4);
  usleep(5000);
  MUST(sendto(fd, "hi", 2, 0, NULL, 0) == 2);
  return NULL;
}
static void received(int kind) {
  const struct timeval d = {0, 5000};
  int ends[2];
  char text[16] = "";
  struct iovec piece = {text + 7, 8};
  struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
  MUST(socketpair(AF_UNIX, kind, 0, ends) == 0);
  pthread_t thread = beside(sends_late, ends);
  MUST(recv(ends[0], text, sizeof text, 0) == 3 && takes_ms(5));
  MUST(recvfrom(ends[0], text + 3, sizeof text - 3, 0, NULL, NULL) == 4 && takes_ms(10));
  MUST(recvmsg(ends[0], &m, 0) == 2 && takes_ms(15) && strcmp(text, "abcdefghi") == 0);
  end(thread);
  thread = beside(sends_late, ends);
  const int all = kind == SOCK_STREAM ? 9 : 3;
  MUST(recv(ends[0], text, (size_t)all, MSG_WAITALL) == all &&
       takes_ms(kind == SOCK_STREAM ? 15 : 5));
  end(thread);
  while (recv(ends[0], text, sizeof text, MSG_DONTWAIT) > 0) {
  }
  MUST(errno == EAGAIN && setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &d, sizeof d) == 0);
  t_begin_ms = now_ms();
  MUST(recv(ends[0], text, 1, 0) == -1 && errno == EAGAIN && takes_ms(5));
  MUST(close(ends[1]) == 0 && recv(ends[0], text, 1, 0) == (kind == SOCK_DGRAM ? -1 : 0) &&
       close(ends[0]) == 0);
}
/* In two pieces of memory until both are full; several messages by one call, all, the first, or as many as begin in
   time. */
static void received_in_pieces(void) {
  int ends[2];
  char text[16] = "";
  struct iovec piece[2] = {{text, 4}, {text + 4, 5}};
  struct msghdr m = {.msg_iov = piece, .msg_iovlen = 2};
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  pthread_t thread = beside(sends_late, ends);
  MUST(recvmsg(ends[0], &m, MSG_WAITALL) == 9 && takes_ms(15) && strcmp(text, "abcdefghi") == 0);
  end(thread);
  thread = beside(sends_late, ends);
  piece[1].iov_len = 9;
  usleep(20000);
  MUST(close(ends[1]) == 0 && recvmsg(ends[0], &m, MSG_WAITALL) == 9); /* no more comes */
  end(thread);
  MUST(close(ends[0]) == 0);
}
static void received_together(int kind) {
  int ends[2];
  char text[3][8];
  struct iovec piece[3];
  struct mmsghdr m[3];
  struct timespec limit = {0, 8000000};
  memset(m, 0, sizeof m);
  for (int i = 0; i < 3; i++) {
    piece[i] = (struct iovec){text[i], 8};
    m[i].msg_hdr = (struct msghdr){.msg_iov = &piece[i], .msg_iovlen = 1};
  }
  MUST(socketpair(AF_UNIX, kind, 0, ends) == 0);
  pthread_t thread = beside(sends_late, ends);
  MUST(recvmmsg(ends[0], m, 3, 0, NULL) == 3 && takes_ms(15));
  MUST(m[0].msg_len == 3 && m[1].msg_len == 4 && m[2].msg_len == 2 &&
       memcmp(text[1], "defg", 4) == 0);
  end(thread);
  thread = beside(sends_late, ends);
  MUST(recvmmsg(ends[0], m, 3, MSG_WAITFORONE, NULL) == 1 && takes_ms(5));
  MUST(recvmmsg(ends[0], m, 2, 0, NULL) == 2 && takes_ms(15));
  end(thread);
  thread = beside(sends_late, ends);
  MUST(recvmmsg(ends[0], m, 3, 0, &limit) == 2 && takes_ms(10) && !limit.tv_sec && !limit.tv_nsec);
  MUST(recvmmsg(ends[0], m, 1, 0, NULL) == 1 && takes_ms(15));
  end(thread);
  MUST(sendmmsg(ends[1], m, 1, 0) == 1 && m[0].msg_len == 8 && recv(ends[0], text[0], 8, 0) == 8);
  MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
}
enum { MANY = 1 << 20 };
static char from[MANY], to[MANY];
static void *reads_slowly(void *ends) {
  ssize_t n;
  size_t sum = 0;
  while (sum < MANY && (n = read(((int *)ends)[0], to + sum, MANY - sum)) > 0) {
    sum += (size_t)n;
    usleep(100);
  }
  return NULL;
}
typedef enum way { AT_ONCE, IN_PIECES, FROM_FILE } way;
static void filled(int is_socket, way how) {
  int ends[2];
  const struct iovec piece[3] = {{from, 5000}, {from + 5000, 0}, {from + 5000, MANY - 5000}};
  for (size_t i = 0; i < MANY; i++) from[i] = (char)(i * i >> 7);
  memset(to, 0, MANY);
  MUST((is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends)) == 0);
  pthread_t thread = beside(reads_slowly, ends);
  const int file = memfd_create("from", 0);
  off_t at = 0;
  MUST(pwrite(file, from, MANY, 0) == MANY);
  while (how == FROM_FILE && at < MANY) MUST(sendfile(ends[1], file, &at, MANY + 1) > 0);
  if (how == FROM_FILE) MUST(at == MANY && sendfile(ends[1], file, &at, 1) == 0 && close(file) == 0);
  else MUST((how == IN_PIECES ? writev(ends[1], piece, 3) : write(ends[1], from, MANY)) == MANY && close(file) == 0);
  end(thread);
  MUST(memcmp(from, to, MANY) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}
/* Who does not wait, but looks again and again, lets those come from whom it waits. */
static void *gives_late(void *ends) {
  char some[4096];
  usleep(5000);
  MUST(write(((int *)ends)[1], "abc", 3) == 3);
  usleep(5000);
  MUST(write(((int *)ends)[3], "def", 3) == 3);
  usleep(5000);
  MUST(read(((int *)ends)[4], some, sizeof some) == sizeof some);
  return NULL;
}
static void looked(void) {
  int ends[6];
  char text[8] = "", some[4096] = "";
  MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2) == 0 && pipe(ends + 4) == 0);
  MUST(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(ends[5], F_SETFL, O_NONBLOCK) == 0);
  while (write(ends[5], some, sizeof some) > 0) {}
  pthread_t thread = beside(gives_late, ends);
  while (read(ends[0], text, 3) < 0) MUST(errno == EAGAIN);
  MUST(takes_ms(5) && strcmp(text, "abc") == 0);
  while (recv(ends[2], text, 3, MSG_DONTWAIT) < 0) MUST(errno == EAGAIN);
  MUST(takes_ms(10) && strcmp(text, "def") == 0);
  while (writev(ends[5], &(struct iovec){some, sizeof some}, 1) < 0) MUST(errno == EAGAIN);
  MUST(takes_ms(15));
  end(thread);
  for (int i = 0; i < 6; i++) close(ends[i]);
}
static void *prints_late(void *stream) {
  usleep(5000);
  MUST(fputs("a line\nand ", stream) >= 0 && fflush(stream) == 0);
  usleep(5000);
  MUST(fputs("a half", stream) >= 0 && fclose(stream) == 0);
  return NULL;
}
static void streams(void) {
  int ends[2];
  char line[32];
  MUST(pipe(ends) == 0 && !fdopen(ends[0], "w") && errno == EINVAL && !fdopen(ends[1], "r+"));
  FILE *const in = fdopen(ends[0], "r"), *const out = fdopen(ends[1], "w");
  MUST(in && out && fileno(in) == ends[0] && fileno(out) == ends[1]);
  MUST(fseek(in, 0, SEEK_SET) == -1 && errno == ESPIPE);
  pthread_t thread = beside(prints_late, out);
  MUST(fgets(line, sizeof line, in) && strcmp(line, "a line\n") == 0 && takes_ms(5));
  MUST(fgets(line, sizeof line, in) && strcmp(line, "and a half") == 0 && takes_ms(10));
  MUST(!fgets(line, sizeof line, in) && feof(in) && !ferror(in) && fclose(in) == 0);
  end(thread);
  MUST(fcntl(ends[0], F_GETFD) == -1 && fcntl(ends[1], F_GETFD) == -1);
}
/* The first process answers all others; there is room for one that waits. */
static void connections(void) {
  const int rank = atoi(getenv("PMI_RANK")), size = atoi(getenv("PMI_SIZE"));
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "guest_sockets.%ld", (long)getppid());
  char byte = (char)rank;
  if (rank) {
    usleep(1000);
    MUST(connect(fd, (struct sockaddr *)&name, sizeof name) == 0 && send(fd, &byte, 1, 0) == 1);
    MUST(recv(fd, &byte, 1, 0) == 1 && byte == 2 * rank && close(fd) == 0);
    return;
  }
  MUST(bind(fd, (struct sockaddr *)&name, sizeof name) == 0 && listen(fd, 0) == 0);
  for (int i = 1; i < size; i++) {
    const int one = accept(fd, NULL, NULL);
    MUST(one >= 0 && recv(one, &byte, 1, 0) == 1);
    usleep(1000);
    byte = (char)(2 * byte);
    MUST(send(one, &byte, 1, 0) == 1 && close(one) == 0);
  }
  MUST(close(fd) == 0);
}
/* What comes from outside of the simulation is waited for, too. */
static void outside(const char *path) {
  if (atoi(getenv("PMI_RANK"))) return;
  char text[16] = "";
  const int fd = open(path, O_RDONLY);
  MUST(fd >= 0 && read(fd, text, sizeof text - 1) == 5 && strcmp(text, "word\n") == 0);
}
/* A FIFO opens when both sides have opened it, whoever is first; the path is made here. */
static char fifo_path[4096];
static void *writes_fifo_late(void *text) {
  usleep(5000);
  const int fd = open(fifo_path, O_WRONLY);
  MUST(fd >= 0 && fcntl(fd, F_GETFL) == (fcntl(fd, F_GETFL) & ~O_NONBLOCK));
  if (text) MUST(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  MUST(close(fd) == 0);
  return NULL;
}
static void *reads_fifo_late(void *arg) {
  char text[16] = "";
  usleep(5000);
  FILE *in = fopen(fifo_path, "r");
  MUST(in && fgets(text, sizeof text, in) && strcmp(text, "line\n") == 0 && fclose(in) == 0);
  return arg;
}
static void fifo_is_read(void *text) {
  char got[16] = "";
  pthread_t thread = beside(writes_fifo_late, text);
  const int fd = open(fifo_path, O_RDONLY);
  MUST(fd >= 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK) && takes_ms(5));
  MUST(read(fd, got, sizeof got - 1) == (text ? (ssize_t)strlen(text) : 0) &&
       (!text || strcmp(got, text) == 0));
  end(thread);
  MUST(read(fd, got, 1) == 0 && close(fd) == 0);
}
static void fifos(const char *folder) {
  snprintf(fifo_path, sizeof fifo_path, "%s/fifo.%s", folder,
           getenv("PMI_RANK") ? getenv("PMI_RANK") : "0");
  unlink(fifo_path);
  MUST(mkfifo(fifo_path, 0600) == 0);
  fifo_is_read("word");
  fifo_is_read(NULL);
  pthread_t thread = beside(reads_fifo_late, NULL);
  FILE *out = fopen(fifo_path, "w");
  MUST(out && takes_ms(5) && fputs("line\n", out) >= 0 && fclose(out) == 0);
  end(thread);
  MUST(open(fifo_path, O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO);
  const int both = open(fifo_path, O_RDWR), alone = open(fifo_path, O_RDONLY | O_NONBLOCK);
  MUST(both >= 0 && alone >= 0 && close(both) == 0 && close(alone) == 0 && unlink(fifo_path) == 0);
}
/* The other ways to open one: creat, open as -D_FORTIFY_SOURCE has it, freopen of a file's stream, of stdin and of
   stdout, which is the last. */
int __open_2(const char *path, int flags);
static void *reads_late(void *text) {
  char got[16] = "";
  usleep(5000);
  const int fd = open(fifo_path, O_RDONLY);
  MUST(fd >= 0 && read(fd, got, sizeof got - 1) == (ssize_t)strlen((char *)text) &&
       strcmp(got, (char *)text) == 0 && close(fd) == 0);
  return NULL;
}
static void fifos_otherwise(const char *folder) {
  char line[16] = "", text[] = "text";
  snprintf(fifo_path, sizeof fifo_path, "%s/fifo.%s", folder,
           getenv("PMI_RANK") ? getenv("PMI_RANK") : "0");
  unlink(fifo_path);
  MUST(mkfifo(fifo_path, 0600) == 0);
  for (int i = 0; i < 3; i++) {
    FILE *file = i == 2 ? fopen("/dev/null", "r") : NULL;
    pthread_t thread = beside(reads_late, text);
    if (i == 2) MUST(freopen(fifo_path, "w", file) == file);
    const int fd = i == 0   ? creat(fifo_path, 0600)
                   : i == 1 ? __open_2(fifo_path, O_WRONLY)
                            : fileno(file);
    MUST(fd >= 0 && takes_ms(5) && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    MUST((file ? fclose(file) : close(fd)) == 0);
    end(thread);
  }
  pthread_t thread = beside(writes_fifo_late, text);
  MUST(freopen(fifo_path, "r", stdin) && takes_ms(5) && fgets(line, sizeof line, stdin) &&
       strcmp(line, text) == 0 && feof(stdin));
  end(thread);
  MUST(freopen("/dev/null", "r", stdin)); /* no reader any more */
  thread = beside(reads_late, text);
  MUST(freopen(fifo_path, "w", stdout) == stdout && takes_ms(5) && fputs(text, stdout) >= 0 &&
       fflush(stdout) == 0);
  end(thread);
  MUST(unlink(fifo_path) == 0);
  fprintf(stderr, "fifos_otherwise: right\n");
}
/* stdin is what dup2 puts at 0, a pipe, too. */
static void *writes_input_late(void *end) {
  static const char text[] = "word\nmore\nend\n";
  usleep(5000);
  MUST(write(*(int *)end, text, sizeof text - 1) == sizeof text - 1 && close(*(int *)end) == 0);
  return NULL;
}
static void input(void) {
  for (int i = 0; i < 2; i++) {
    int ends[2];
    char text[16] = "";
    MUST(pipe(ends) == 0 && dup2(ends[0], 0) == 0 && close(ends[0]) == 0);
    clearerr(stdin);
    pthread_t thread = beside(writes_input_late, &ends[1]);
    MUST(fgets(text, sizeof text, stdin) && strcmp(text, "word\n") == 0 && takes_ms(5));
    MUST(scanf("%15s", text) == 1 && strcmp(text, "more") == 0 && getchar() == '\n');
    MUST(getchar() == 'e' && getchar() == 'n' && getchar() == 'd' && getchar() == '\n' &&
         getchar() == EOF);
    end(thread);
  }
}
int main(int argc, char **argv) {
  const char *which = argc > 1 ? argv[1] : "";
  if (strcmp(which, "received") == 0)
    received(SOCK_STREAM), received(SOCK_DGRAM), received(SOCK_SEQPACKET);
  if (strcmp(which, "received") == 0)
    received_in_pieces(), received_together(SOCK_DGRAM), received_together(SOCK_SEQPACKET);
  if (strcmp(which, "filled") == 0) filled(0, AT_ONCE), filled(0, IN_PIECES), filled(0, FROM_FILE), filled(1, AT_ONCE), filled(1, IN_PIECES), filled(1, FROM_FILE);
  if (strcmp(which, "looked") == 0) looked();
  if (strcmp(which, "streams") == 0) streams();
  if (strcmp(which, "connections") == 0) connections();
  if (strcmp(which, "input") == 0) input();
  if (strcmp(which, "fifos") == 0) fifos(argv[2]);
  if (strcmp(which, "fifos_otherwise") == 0) fifos_otherwise(argv[2]);
  if (strcmp(which, "outside") == 0) outside(argv[2]);
  printf("%s: right\n", which);
  return 0;
}
