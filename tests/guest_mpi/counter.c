/* A program that reads the time-stamp counter, as pm_run's guest: it counts simulated nanoseconds. Argument: which. Prints
   "PROCESS WHICH: right", or what is not. */
#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <x86intrin.h>

static int rank, failure_count;
#define MUST(good) ((good) ? (void)0 : fail(#good, __LINE__))
static void fail(const char *what, int line) {
  fprintf(stderr, "process %d, line %d: %s\n", rank, line, what);
  failure_count++;
}
/* Looks at a clock take time themselves. */
static int is_about(double is, double should) {
  return is > should - 1000 && is < should * 1.01 + 1000;
}

static void *waits(void *ticks) {
  const double t = MPI_Wtime();
  const uint64_t c = __rdtsc();
  while (__rdtsc() - c < *(uint64_t *)ticks) {
  }
  MUST(is_about((MPI_Wtime() - t) * 1e9, (double)*(uint64_t *)ticks));
  return NULL;
}
static void compares(void) {
  unsigned core;
  const double t = MPI_Wtime();
  const uint64_t c = __rdtsc(), d = __rdtscp(&core);
  MUST(c < d && d < c + 1000);
  nanosleep(&(struct timespec){0, 5000000}, NULL);
  const double took_ns = (MPI_Wtime() - t) * 1e9;
  MUST(is_about((double)(__rdtscp(&core) - c), took_ns) && is_about(took_ns, 5e6));
}
/* Between nodes: each says where it is. */
static void message(void) {
  static char data[1 << 20];
  const int other = rank ^ 1;
  unsigned core, others;
  const double t = MPI_Wtime();
  const uint64_t c = __rdtscp(&core);
  for (int i = 0; i < 10; i++) {
    if (rank & 1)
      MPI_Recv(data, sizeof data, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, sizeof data, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    if (!(rank & 1))
      MPI_Recv(data, sizeof data, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  const double by_counter = (double)(__rdtsc() - c), took_ns = (MPI_Wtime() - t) * 1e9;
  MUST(by_counter > 20 * 20000 &&
       is_about(took_ns, by_counter)); /* no network brings a MiB in 20 us */
  MPI_Sendrecv(&core, 1, MPI_UNSIGNED, other, 1, &others, 1, MPI_UNSIGNED, other, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MUST(core != others && core >> 12 == (unsigned)rank / 2 && (core & 0xFFF) == (unsigned)rank % 2);
}
static void processors(void) {
  char line[4096];
  int count = 0;
  FILE *in = fopen("/proc/cpuinfo", "r");
  while (in && fgets(line, sizeof line, in)) {
    double mhz = 1000;
    if (sscanf(line, "cpu MHz : %lf", &mhz) == 1) count++;
    MUST(mhz == 1000 && (strncmp(line, "model name", 10) != 0 || !strstr(line, "GHz") ||
                         strstr(line, "@ 1.00GHz")));
  }
  MUST(in && fclose(in) == 0 && count > 0);
}
/* Commands run with the host's counter, as does the system's own code for the clock, which libraries call. */
typedef int clock_function(clockid_t clock, struct timespec *t);
static clock_function *hosts_clock(void) {
  const char *const base = (const char *)getauxval(AT_SYSINFO_EHDR);
  const ElfW(Ehdr) *const file = (const ElfW(Ehdr) *)(const void *)base;
  const ElfW(Phdr) *part = (const ElfW(Phdr) *)(const void *)(base + file->e_phoff);
  const ElfW(Dyn) *d = NULL;
  const ElfW(Sym) *symbol = NULL;
  const char *names = NULL;
  clock_function *found = NULL;
  for (int i = 0; i < file->e_phnum; i++, part++)
    if (part->p_type == PT_DYNAMIC) d = (const ElfW(Dyn) *)(const void *)(base + part->p_vaddr);
  for (; d && d->d_tag; d++) {
    if (d->d_tag == DT_SYMTAB) symbol = (const ElfW(Sym) *)(const void *)(base + d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) names = base + d->d_un.d_ptr;
  }
  for (; names && (const char *)symbol < names; symbol++) {
    const char *const at = base + symbol->st_value;
    if (strcmp(names + symbol->st_name, "__vdso_clock_gettime") == 0)
      memcpy(&found, &at, sizeof found);
  }
  return found;
}
static void hosts(void) {
  clock_function *const clock = hosts_clock();
  struct timespec a = {0, 0}, b = {0, 0};
  MUST(system("date >/dev/null") == 0);
  const uint64_t c = __rdtsc();
  nanosleep(&(struct timespec){1, 0}, NULL);
  MUST(is_about((double)(__rdtsc() - c), 1e9));
  if (!clock) return;
  MUST(clock(CLOCK_MONOTONIC, &a) == 0);
  nanosleep(&(struct timespec){3600, 0}, NULL); /* simulated */
  MUST(clock(CLOCK_MONOTONIC, &b) == 0 && b.tv_sec >= a.tv_sec && b.tv_sec - a.tv_sec < 1800);
}
static sigjmp_buf back;
static void handler(int number) { siglongjmp(back, number); }
static void crash(void) {
  int *volatile nowhere = NULL;
  signal(SIGSEGV, handler);
  const int number = sigsetjmp(back, 1);
  if (!number) *nowhere = 1;
  MUST(number == SIGSEGV);
  const uint64_t c = __rdtsc();
  MUST(__rdtsc() > c);
}
int main(int argc, char **argv) {
  const char *which = argc > 1 ? argv[1] : "";
  uint64_t ticks = 3000000, more = 4000000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(which, "waits") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, &more);
    waits(&ticks);
    pthread_join(thread, NULL);
  }
  if (strcmp(which, "compares") == 0) compares();
  if (strcmp(which, "message") == 0) message();
  if (strcmp(which, "processors") == 0) processors();
  if (strcmp(which, "hosts") == 0) hosts();
  if (strcmp(which, "crash") == 0) crash();
  if (!failure_count) printf("%d %s: right\n", rank, which);
  MPI_Finalize();
  return failure_count != 0;
}
