/* State of libc that a guest of pm_run has for itself: all processes use it in turns. Argument: which
   misbehaviour to show instead. */
#include "guest_must.h"
#include <errno.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pmi.h>
#include <poll.h>
#include <printf.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static int size;
static volatile sig_atomic_t caught;
static void note(int number) { caught = number * 100 + rank; }

static void environment(void) {
  char name[32], text[32], *again;
  snprintf(text, sizeof text, "%d", rank);
  MUST(strcmp(getenv("NBC_SHARED_MEMORY"), "0") == 0); /* messages past the simulated MPI take no time */
  MUST(strcmp(getenv("OMPI_COMM_WORLD_RANK"), text) == 0 && atoi(getenv("OMPI_COMM_WORLD_SIZE")) == size);
  MUST(atoi(getenv("MPI_LOCALNRANKS")) == atoi(getenv("OMPI_COMM_WORLD_LOCAL_SIZE")) && atoi(getenv("MPI_LOCALRANKID")) == atoi(getenv("SLURM_LOCALID")));
  MUST(strcmp(getenv("PMI_RANK"), text) == 0 && strcmp(getenv("SLURM_PROCID"), text) == 0 && atoi(getenv("SLURM_NTASKS")) == size);
  MUST(setenv("OWN", text, 1) == 0 && setenv("OWN", "none", 0) == 0);
  PMI_Barrier();
  MUST(strcmp(getenv("OWN"), text) == 0);
  snprintf(name, sizeof name, "ONLY_%d", rank);
  MUST(setenv(name, "yes", 1) == 0);
  PMI_Barrier();
  for (int i = 0; i < size; i++) {
    snprintf(name, sizeof name, "ONLY_%d", i);
    again = getenv(name);
    MUST(i == rank ? again && strcmp(again, "yes") == 0 : !again);
  }
  for (int i = 0; i < 100; i++) {
    snprintf(name, sizeof name, "MANY_%d", i);
    MUST(setenv(name, text, 1) == 0);
  }
  MUST(strcmp(getenv("MANY_0"), text) == 0 && strcmp(getenv("MANY_99"), text) == 0);
  MUST(unsetenv("MANY_50") == 0 && !getenv("MANY_50") && getenv("MANY_51") && unsetenv("A=B") == -1 && errno == EINVAL);
}
static void numbers(void) { /* the same seeds give the same numbers, whoever draws in between */
  int first[5];
  char text[] = "a,b,c", *part = strtok(text, ",");
  for (int i = 0; i < 5; i++) {
    first[i] = rand();
    PMI_Barrier();
    if (i < 2) {
      part = strtok(NULL, ",");
      MUST(part && part[0] == 'b' + i);
    }
  }
  srand(1);
  srand48(7);
  const double x = drand48();
  PMI_Barrier();
  for (int i = 0; i < 5; i++) {
    MUST(rand() == first[i]);
    PMI_Barrier();
  }
  srand48(7);
  PMI_Barrier();
  MUST(drand48() == x && first[0] == 1804289383); /* glibc's first for seed 1 */
}
static void folders(void) {
  char name[64], path[PATH_MAX];
  struct stat s;
  FILE *file;
  snprintf(name, sizeof name, "folder_%d", rank);
  MUST(mkdir(name, 0700) == 0 && chdir(name) == 0);
  PMI_Barrier();
  MUST(getcwd(path, sizeof path) && strstr(path, name));
  umask(rank ? 077 : 027);
  PMI_Barrier();
  MUST((file = fopen("inside", "w")) != NULL && fprintf(file, "%d", rank) > 0); /* closed by exit */
  MUST(stat("inside", &s) == 0 && (s.st_mode & 0777) == (rank ? 0600 : 0640));
  PMI_Barrier();
}
static void signals(void) {
  sigset_t set;
  signal(SIGUSR1, rank == 1 ? SIG_IGN : note);
  PMI_Barrier();
  MUST(raise(SIGUSR1) == 0 && caught == (rank == 1 ? 0 : SIGUSR1 * 100 + rank));
  caught = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  signal(SIGUSR2, note);
  MUST(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && kill(getpid(), SIGUSR2) == 0 && !caught);
  PMI_Barrier();
  MUST(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0 && caught == SIGUSR2 * 100 + rank);
}
static void waits(void) {
  struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = 77}}, seen;
  const struct itimerspec at = {{0, 2000000}, {0, 5000000}};
  uint64_t count = 3;
  const int e = epoll_create1(0), f = eventfd(0, 0), t = timerfd_create(CLOCK_MONOTONIC, 0);
  long t_ns = now_ns();
  MUST(e >= 0 && f >= 0 && t >= 0 && epoll_ctl(e, EPOLL_CTL_ADD, f, &event) == 0);
  MUST(epoll_wait(e, &seen, 1, 3) == 0 && now_ns() - t_ns >= 3000000 && now_ns() - t_ns < 4000000);
  MUST(write(f, &count, 8) == 8 && epoll_wait(e, &seen, 1, -1) == 1 && seen.data.u32 == 77);
  MUST(read(f, &count, 8) == 8 && count == 3);
  t_ns = now_ns();
  MUST(timerfd_settime(t, 0, &at, NULL) == 0 && read(t, &count, 8) == 8 && count == 1);
  MUST(now_ns() - t_ns >= 5000000 && now_ns() - t_ns < 5100000);
  usleep(6500);
  MUST(read(t, &count, 8) == 8 && count == 3);
  MUST(now_ns() - t_ns >= 11500000 && now_ns() - t_ns < 11700000);
  MUST(close(t) == 0 && close(f) == 0 && close(e) == 0);
}
static void names(void) {
  struct utsname u;
  char name[64], wanted[64];
  snprintf(wanted, sizeof wanted, "node%d", rank);
  MUST(gethostname(name, sizeof name) == 0 && strcmp(name, wanted) == 0 && uname(&u) == 0 && strcmp(u.nodename, wanted) == 0);
  MUST(getpid() != getppid() && fork() == -1 && errno == ENOSYS && execlp("true", "true", (char *)NULL) == -1);
}
/* Commands have what the process has; what it cannot have it sees as an error, and no children of others. */
static int commands(void) {
  char text[32], line[32] = "", wanted[32], *const args[] = {text, NULL};
  pid_t pid = 0;
  snprintf(text, sizeof text, "%d", rank);
  snprintf(wanted, sizeof wanted, "%d %d\n", rank, rank ? 0 : 6);
  MUST(setenv("OWN", text, 1) == 0);
  PMI_Barrier();
  FILE *f = popen("echo $OWN $(cat | wc -c)", "r");
  MUST(f && fgets(line, sizeof line, f) && strcmp(line, wanted) == 0 && pclose(f) == 0);
  MUST(system("yes | head -n 1 >/dev/null; test $PMI_RANK = $OWN && exit 3") == 3 << 8);
  PMI_Barrier();
  MUST(posix_spawnp(&pid, "true", NULL, NULL, args, args) == ENOSYS && pid == 0);
  MUST(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  f = popen("tr a-z A-Z; exit 1", "w"); /* closed by exit */
  return !f || fprintf(f, "end of %d\n", rank) < 0;
}
static int next_number(void) {
  const int fd = dup(1);
  MUST(fd > 0 && close(fd) == 0);
  return fd;
}
/* stdin is closed where a process closes it, and nobody else's; so is the file that took its place. */
static int input(const char *path) {
  struct stat s;
  char line[8] = "none";
  const int number = next_number();
  MUST(!rank || read(STDIN_FILENO, line, 1) == 0);
  PMI_Barrier();
  MUST(!fgets(line, sizeof line, stdin) == (rank > 0) && strcmp(line, rank ? "none" : "12345\n") == 0);
  PMI_Barrier();
  MUST(freopen(NULL, "rb", stdin) == stdin && (rank == 2 || fclose(stdin) == 0) && next_number() == number);
  PMI_Barrier();
  MUST(fstat(0, &s) == 0 && S_ISCHR(s.st_mode)); /* the pipe is closed, no file of another takes its number */
  MUST(rank == 1 || (getchar() == EOF && !ferror(stdin) == (rank != 0)));
  PMI_Barrier();
  if (rank == 2) {
    MUST((stdin = freopen(path, "r", stdin)) != NULL && getchar() == 0x7F && getchar() == 'E');
    MUST(fclose(stdin) == 0 && fstat(0, &s) == -1);
  }
  return puts("its own stdin") < 0;
}
/* Descriptors 0, 1 and 2: another process's input is not there by any call, and what a process puts in their place is
   its own: who comes next has what it had. */
static void no_input(void) {
  struct pollfd file = {0, POLLIN, 0};
  struct timeval d = {0, 0};
  struct stat s;
  char text[8];
  const struct iovec two[2] = {{text, 1}, {text + 1, 1}};
  int waiting = -1;
  fd_set in;
  FD_ZERO(&in);
  FD_SET(0, &in);
  const int again = dup(0), opened = open("/dev/stdin", O_RDONLY);
  MUST(fileno(stdin) == 0 && readv(0, two, 2) == 0 && again > 2 && read(again, text, 2) == 0 && close(again) == 0 && read(opened, text, 2) == 0 && close(opened) == 0);
  MUST(fstat(0, &s) == 0 && S_ISCHR(s.st_mode) && lseek(0, 0, SEEK_CUR) == 0 && !isatty(0) && ioctl(0, FIONREAD, &waiting) == -1);
  MUST(poll(&file, 1, 0) == 1 && file.revents == POLLIN && select(1, &in, NULL, NULL, &d) == 1 && read(0, text, 2) == 0);
}
static void written(const char *path, const char *wanted) {
  char text[64] = "";
  const int fd = open(path, O_RDONLY);
  MUST(fd >= 0 && read(fd, text, sizeof text - 1) == (ssize_t)strlen(wanted) && strcmp(text, wanted) == 0 && close(fd) == 0);
}
static int descriptors(const char *folder) {
  char in[256], out[256], wanted[64], text[8] = "";
  snprintf(in, sizeof in, "%s/in_%d", folder, rank);
  snprintf(out, sizeof out, "%s/out_%d", folder, rank);
  FILE *f = fopen(in, "w");
  MUST(f && fprintf(f, "%d%d%d\n", rank, rank, rank) == 4 && fclose(f) == 0);
  if (rank) no_input();
  PMI_Barrier();
  if (rank == 0) MUST(read(0, text, 6) == 6 && strcmp(text, "12345\n") == 0);
  PMI_Barrier();
  const int saved = dup(1), file = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int fd = open(in, O_RDONLY);
  printf("before %d\n", rank);
  MUST(fflush(stdout) == 0 && dup2(fd, 0) == 0 && close(fd) == 0 && (rank == 2 || dup2(file, 1) == 1));
  PMI_Barrier();
  MUST(getchar() == '0' + rank && puts("stream") > 0 && fflush(stdout) == 0);
  PMI_Barrier();
  MUST(write(1, "raw\n", 4) == 4 && system("echo command") == 0);
  PMI_Barrier();
  if (rank == 1) MUST(freopen(out, "a", stderr) == stderr && fprintf(stderr, "error\n") == 6);
  MUST(dup2(saved, 1) == 1 && close(0) == 0);
  PMI_Barrier();
  fd = open(in, O_RDONLY); /* the lowest number that is free */
  PMI_Barrier();
  MUST(fd == 0 && read(0, text, 3) == 3 && text[2] == '0' + rank && printf("after %d\n", rank) == 8 && fflush(stdout) == 0);
  snprintf(wanted, sizeof wanted, "stream\nraw\ncommand\n%s", rank == 1 ? "error\n" : "");
  written(out, rank == 2 ? "" : wanted);
  f = fdopen(1, "w");
  MUST(f && fprintf(f, "end %d\n", rank) == 6 && (rank == 1 || fclose(f) == 0));
  if (rank == 2) MUST(write(1, "lost", 4) == -1 && dup2(saved, 1) == 1);
  return 0;
}
/* Waits for ever, on the host: for a part of a file that was opened twice. */
static int block(void) {
  char name[] = "/tmp/pm_run_blockXXXXXX";
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int first = mkstemp(name), second = open(name, O_RDWR);
  unlink(name);
  return fcntl(first, F_OFD_SETLK, &whole) || syscall(SYS_fcntl, second, F_OFD_SETLKW, &whole) != 0; /* not seen */
}

/* Conversions of a program's own, as those for _Float128 in libquadmath, which each program has that MPICH's Fortran library
   comes with: rank 0 registers %Y, which writes the rank of whose function it is, and all an %e for small l alone. */
static int letter_bit, kind, unlike = 1000;
static void take(void *memory, va_list *arguments) { *(int *)memory = unlike + va_arg(*arguments, int); }
static int info_of(const struct printf_info *info, size_t n, int *kinds, int *bytes) {
  if (info->spec != 'Y' && !(info->user & letter_bit)) return -1;
  if (n) kinds[0] = kind, bytes[0] = sizeof(int);
  return 1;
}
static int render(FILE *out, const struct printf_info *info, const void *const *arguments) {
  if (info->spec != 'Y' && !(info->user & letter_bit)) return -2;
  return fprintf(out, "[%d of %d]", **(const int *const *)arguments[0], rank);
}
static const char *made(const char *format, int i, double d) { /* -Wformat does not know of them */
  static char text[200];
  snprintf(text, sizeof text, format, i, d);
  return text;
}
static void conversions(void) {
  char wanted[100];
  unlike = 1000 * (rank + 1);
  if (rank == 1) PMI_Barrier(); /* in another order */
  letter_bit = register_printf_modifier(L"QQ");
  kind = register_printf_type(take);
  MUST(letter_bit == 1 && kind == PA_LAST); /* as if nobody else had any */
  MUST(register_printf_specifier('e', render, info_of) == 0 && register_printf_specifier('\0' - 1, render, info_of) == -1);
  if (rank == 0) MUST(register_printf_specifier('Y', render, info_of) == 0);
  if (rank != 1) PMI_Barrier();
  PMI_Barrier();
  snprintf(wanted, sizeof wanted, "[%d of %d] 2.5e+00", unlike + 7, rank);
  MUST(strcmp(made("%QQe %.1e", 7, 2.5), wanted) == 0);
  snprintf(wanted, sizeof wanted, rank ? "%%Y" : "[%d of 0]", unlike + 7);
  MUST(strcmp(made("%Y", 7, 0), wanted) == 0);
  PMI_Barrier();
  MUST(rank != 0 || (register_printf_specifier('Y', NULL, NULL) == 0 && strcmp(made("%Y", 7, 0), "%Y") == 0));
}

/* libc's one table of hsearch */
static void table(void) {
  static int kept;
  char name[32];
  ENTRY entry = {.key = name, .data = &kept};
  MUST(hcreate(10) && !hcreate(10));
  snprintf(name, sizeof name, "of %d", rank);
  MUST(hsearch(entry, ENTER) && hsearch(entry, FIND)->data == &kept);
  PMI_Barrier();
  for (int i = 0; i < size; i++) {
    snprintf(name, sizeof name, "of %d", i);
    if (i != rank) MUST(!hsearch(entry, FIND));
  }
  if (rank == 0) hdestroy();
  PMI_Barrier();
  snprintf(name, sizeof name, "of %d", rank);
  if (rank) MUST(hsearch(entry, FIND) && (hdestroy(), hcreate(1)));
}
/* What one process may have is no limit of the others, and nobody locks their memory. */
static long locked_kb(void) {
  FILE *f = fopen("/proc/self/status", "r");
  char line[200];
  long kb = -1;
  while (f && kb < 0 && fgets(line, sizeof line, f)) sscanf(line, "VmLck: %ld", &kb);
  if (f) fclose(f);
  return kb;
}
static void limits(void) {
  const struct rlimit little = {.rlim_cur = 1 << 20, .rlim_max = 1 << 21}, reverse = {.rlim_cur = 2, .rlim_max = 1};
  struct rlimit had, has;
  MUST(getrlimit(RLIMIT_AS, &had) == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) == 0 && locked_kb() == 0);
  if (rank == 0) MUST(setrlimit(RLIMIT_AS, &little) == 0 && setrlimit(RLIMIT_AS, &reverse) == -1 && errno == EINVAL);
  PMI_Barrier();
  char *room = malloc(1 << 26);
  MUST(room && getrlimit(RLIMIT_AS, &has) == 0 && has.rlim_cur == (rank ? had.rlim_cur : 1 << 20) && has.rlim_max == (rank ? had.rlim_max : 1 << 21));
  if (rank == 1) MUST(prlimit(0, RLIMIT_AS, &little, &has) == 0 && has.rlim_max == had.rlim_max && prlimit(getpid(), RLIMIT_AS, NULL, &has) == 0 && has.rlim_cur == 1 << 20);
  MUST(setrlimit(-1, &little) == -1 && errno == EINVAL && getrlimit(999, &has) == -1 && errno == EINVAL);
  free(room);
  PMI_Barrier();
  MUST(rank != 2 || (getrlimit(RLIMIT_AS, &has) == 0 && has.rlim_cur == had.rlim_cur));
}
/* The locale of a thread, which rank 0 alone has. */
static void *wide(void *unused) {
  (void)unused;
  return (void *)(intptr_t)(uselocale((locale_t)0) == LC_GLOBAL_LOCALE ? MB_CUR_MAX : 0);
}
static void locales(void) {
  const locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
  pthread_t thread;
  void *most;
  MUST(own && uselocale((locale_t)0) == LC_GLOBAL_LOCALE && MB_CUR_MAX == 1);
  if (rank == 0) MUST(uselocale(own) == LC_GLOBAL_LOCALE);
  for (int i = 0; i < 2; i++) {
    PMI_Barrier();
    MUST(uselocale((locale_t)0) == (rank ? LC_GLOBAL_LOCALE : own) && MB_CUR_MAX == (rank ? 1 : 6));
    MUST(pthread_create(&thread, NULL, wide, NULL) == 0 && pthread_join(thread, &most) == 0 && (intptr_t)most == 1);
  }
  MUST(uselocale(LC_GLOBAL_LOCALE) == (rank ? LC_GLOBAL_LOCALE : own) && MB_CUR_MAX == 1 && setlocale(LC_CTYPE, "C.UTF-8"));
  const locale_t copy = duplocale(LC_GLOBAL_LOCALE);
  PMI_Barrier();
  MUST(MB_CUR_MAX == 6 && setlocale(LC_CTYPE, "C") && MB_CUR_MAX == 1);
  MUST(uselocale(copy) == LC_GLOBAL_LOCALE && MB_CUR_MAX == 6 && setlocale(LC_CTYPE, "C.UTF-8") && setlocale(LC_CTYPE, "C") && MB_CUR_MAX == 6);
  MUST(uselocale(LC_GLOBAL_LOCALE) == copy);
  freelocale(copy), freelocale(own);
}

/* A stack for handlers, which is given back, as runtimes do at their end; then one of the others overflows its own. */
static int deep(int n);
static int (*volatile deeper)(int) = deep;
static int deep(int n) {
  volatile char room[1024];
  room[0] = (char)n; /* the lowest byte first */
  return n < 1 << 30 ? deeper(n + 1) + room[0] : 0;
}
static int overflow(void) {
  stack_t s = {.ss_sp = malloc(8192), .ss_size = 8192};
  MUST(s.ss_sp && sigaltstack(&s, NULL) == 0);
  s.ss_flags = SS_DISABLE;
  MUST(sigaltstack(&s, NULL) == 0);
  free(s.ss_sp);
  PMI_Barrier();
  return rank == 1 ? deep(0) : PMI_Barrier();
}

int main(int argc, char **argv) {
  int spawned;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  PMI_Get_size(&size);
  if (argc > 1 && strcmp(argv[1], "err") == 0) err(rank, "goodbye"); /* exits inside of libc */
  if (argc > 1 && strcmp(argv[1], "_exit") == 0) _exit(rank);
  if (argc > 1 && strcmp(argv[1], "signal") == 0 && rank == 1) raise(SIGTERM);
  if (argc > 1 && strcmp(argv[1], "stop") == 0 && rank == 1) PMI_Abort(0, "done");
  if (argc > 1 && strcmp(argv[1], "overflow") == 0) return overflow();
  if (argc > 1 && strcmp(argv[1], "block") == 0 && rank == 1) return block();
  if (argc > 1 && strcmp(argv[1], "commands") == 0) return commands();
  if (argc > 1 && strcmp(argv[1], "input") == 0) return input(argv[0]);
  if (argc > 2 && strcmp(argv[1], "descriptors") == 0) return descriptors(argv[2]);
  if (argc > 1) return PMI_Barrier();
  environment();
  numbers();
  folders();
  signals();
  waits();
  names();
  conversions();
  table();
  limits();
  locales();
  printf("state of %d is its own\n", rank);
  return 0;
}
