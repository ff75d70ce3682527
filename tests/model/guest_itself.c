/* What ordinary programs ask about themselves, and what they do about crashes: each process of pm_run finds its own
   program, its own locale, its own handlers. Argument: which misbehaviour to show instead. */
#include "guest_must.h"
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <pmi.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

static int size;
static int ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

static int status_pid(const char *path) {
  char line[256];
  int pid = 0;
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file) && sscanf(line, "Pid: %d", &pid) != 1) (void)0;
  if (file) fclose(file);
  return pid;
}

/* ---- its program ---------------------------------------------------------------------------------------------- */
static void program(const char *name) {
  char path[PATH_MAX], other[PATH_MAX], magic[5] = "", text[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  MUST(n > 0);
  path[n] = 0;
  MUST(path[0] == '/' && ends_with(path, "guest_itself"));
  MUST(readlink("/proc/self/exe", other, 3) == 3 && memcmp(other, path, 3) == 0);
  MUST(realpath("/proc/self/exe", other) && strcmp(path, other) == 0);
  snprintf(text, sizeof text, "/proc/%d/exe", (int)getpid());
  MUST((n = readlink(text, other, sizeof other - 1)) > 0 && (other[n] = 0, strcmp(path, other) == 0));
  const int fd = open("/proc/self/exe", O_RDONLY);
  FILE *file = fopen("/proc/self/cmdline", "r");
  MUST(fd >= 0 && pread(fd, magic, 4, 0) == 4 && strcmp(magic, "\177ELF") == 0 && close(fd) == 0);
  MUST(file && fread(text, 1, sizeof text, file) >= strlen(name) + 5 && strcmp(text, name) == 0 && strcmp(text + strlen(name) + 1, "one") == 0);
  MUST(fclose(file) == 0 && readlink("/proc/self/none", other, 9) == -1 && errno == ENOENT);
  snprintf(text, sizeof text, "/proc/%d/status", (int)getpid());
  MUST(status_pid(text) > 0 && status_pid(text) == status_pid("/proc/self/status"));
}

/* ---- its functions -------------------------------------------------------------------------------------------- */
void a_function_that_others_see(void);
void a_function_that_others_see(void) {
  void *frames[32];
  const int count = backtrace(frames, 32);
  char **texts = backtrace_symbols(frames, count), wanted[] = "guest_itself(a_function_that_others_see+0x";
  int seen = 0;
  MUST(texts && count > 1);
  for (int i = 0; i < count; i++) seen += strstr(texts[i], wanted) != NULL;
  free(texts);
  MUST(seen == 1);
}
static void functions(void) {
  Dl_info info;
  void *address;
  void (*function)(void) = a_function_that_others_see;
  memcpy(&address, &function, sizeof address);
  MUST(dladdr((char *)address + 1, &info) && strcmp(info.dli_sname, "a_function_that_others_see") == 0 && info.dli_saddr == address);
  PMI_Barrier();
  function();
}

/* ---- its variables: as a collector of garbage finds them --------------------------------------------------------- */
typedef struct listing {
  int objects, of_mine, of_libc, is_first;
} listing;
static int look(struct dl_phdr_info *info, size_t bytes, void *arg) {
  listing *s = (listing *)arg;
  MUST(bytes >= sizeof *info && info->dlpi_adds > 0);
  for (int k = 0; k < info->dlpi_phnum; k++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[k];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || (ElfW(Addr))&rank - info->dlpi_addr - p->p_vaddr >= p->p_memsz) continue;
    s->of_mine++;
    s->is_first = s->objects == 0 && !*info->dlpi_name;
  }
  s->objects++;
  s->of_libc += strstr(info->dlpi_name, "/libc.so") != NULL;
  return rank == 2 && s->of_libc ? 77 : 0;
}
static void variables(void) {
  listing s = {0, 0, 0, 0};
  MUST(dl_iterate_phdr(look, &s) == (rank == 2 ? 77 : 0));
  MUST(s.of_mine == 1 && s.is_first && s.of_libc == 1);
}

/* ---- its cores ------------------------------------------------------------------------------------------------- */
static void cores(void) {
  cpu_set_t all, one, now;
  MUST(sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 0);
  size_t mine = 0;
  for (int seen = 0; seen <= rank % CPU_COUNT(&all); mine++) seen += CPU_ISSET(mine, &all) != 0;
  MUST((size_t)sched_getcpu() == mine - 1); /* three on one node */
  CPU_ZERO(&one);
  PMI_Barrier();
  MUST(sched_setaffinity(0, sizeof one, &one) == -1 && errno == EINVAL);
  CPU_SET(mine - 1, &one);
  if (rank) MUST(sched_setaffinity(0, sizeof one, &one) == 0);
  PMI_Barrier();
  MUST(sched_getaffinity(getpid(), sizeof now, &now) == 0 && CPU_EQUAL(&now, rank ? &one : &all));
  MUST(CPU_ISSET((size_t)sched_getcpu(), &now) && (size_t)sched_getcpu() == mine - 1);
}

/* ---- its stack: as R finds it ----------------------------------------------------------------------------------- */
extern void *__libc_stack_end;
static void stack(void) {
  struct rlimit limit;
  void *low = NULL, *high = NULL;
  char line[256];
  const char here = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  MUST(maps && getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur <= 128 << 10);
  while (fgets(line, sizeof line, maps) && sscanf(line, "%p-%p", &low, &high) == 2 && high <= __libc_stack_end) (void)0;
  MUST(low <= __libc_stack_end && high > __libc_stack_end && fclose(maps) == 0);
  MUST(&here < (char *)__libc_stack_end && &here > (char *)high - limit.rlim_cur);
}

/* ---- its locale ----------------------------------------------------------------------------------------------- */
static void place(void) {
  MUST(strcmp(setlocale(LC_ALL, NULL), "C") == 0);
  PMI_Barrier();
  if (rank == 1) MUST(setlocale(LC_CTYPE, "C.UTF-8") && strcmp(setlocale(LC_CTYPE, NULL), "C.UTF-8") == 0);
  if (rank == 2) MUST(strcmp(setlocale(LC_ALL, "C.UTF-8"), "C.UTF-8") == 0);
  PMI_Barrier();
  const char *const all = setlocale(LC_ALL, NULL);
  MUST(rank == 1 ? strstr(all, "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;") == all : strcmp(all, rank == 2 ? "C.UTF-8" : "C") == 0);
  MUST(mblen("\xc3\xa9", 2) == (rank ? 2 : -1) && MB_CUR_MAX == (rank ? 6 : 1));
  PMI_Barrier();
  char kept[256];
  snprintf(kept, sizeof kept, "%s", setlocale(LC_ALL, NULL));
  MUST(!setlocale(LC_ALL, "none_NONE") && !setlocale(77, "C") && strcmp(setlocale(LC_ALL, NULL), kept) == 0);
  MUST(setlocale(LC_ALL, "C") && setlocale(LC_ALL, kept) && strcmp(setlocale(LC_ALL, NULL), kept) == 0);
  MUST(setenv("LC_ALL", rank ? "C" : "C.UTF-8", 1) == 0 && strcmp(setlocale(LC_ALL, ""), rank ? "C" : "C.UTF-8") == 0);
}

/* ---- its crashes ---------------------------------------------------------------------------------------------- */
static sigjmp_buf again;
static volatile sig_atomic_t caught;
static volatile char *volatile page, *volatile nowhere; /* a store comes where it stands */
static void jumps(int number) {
  caught = number * 100 + rank;
  siglongjmp(again, 1);
}
static void mends(int number, siginfo_t *info, void *context) {
  caught = number * 100 + rank;
  if (context && info->si_addr == page + 8) mprotect((void *)(uintptr_t)page, 4096, PROT_READ | PROT_WRITE);
}
/* Others come meanwhile, whose handlers wait, too: each is on its own thread's stack. */
static void waits_and_mends(int number, siginfo_t *info, void *context) {
  volatile int own[256];
  for (int i = 0; i < 256; i++) own[i] = 256 * rank + i;
  usleep(1000u * (unsigned)(size - rank));
  PMI_Barrier();
#if defined(__x86_64__)
  const greg_t *is = ((ucontext_t *)context)->uc_mcontext.gregs;
  MUST(is[REG_CR2] == (greg_t)(uintptr_t)(page + 8) && is[REG_ERR] & 2); /* a write */
#endif
  for (int i = 0; i < 256; i++) MUST(own[i] == 256 * rank + i);
  mends(number, info, context);
}
static void handlers_wait(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = waits_and_mends;
  a.sa_flags = SA_SIGINFO;
  MUST(mprotect((void *)(uintptr_t)page, 4096, PROT_READ) == 0 && sigaction(SIGSEGV, &a, NULL) == 0);
  caught = 0;
  page[8] = 'y';
  MUST(caught == SIGSEGV * 100 + rank && page[8] == 'y');
}
static void crashes(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = jumps;
  MUST(sigaction(SIGSEGV, &a, NULL) == 0 && sigaction(SIGFPE, &a, NULL) == 0);
  PMI_Barrier();
  for (int i = 0; i < 3; i++) {
    caught = 0;
    if (!sigsetjmp(again, 1)) nowhere[16 + i] = 1;
    MUST(caught == SIGSEGV * 100 + rank);
    PMI_Barrier();
  }
  volatile int zero = 0, hundred = 100;
#if defined(__x86_64__)
  if (!sigsetjmp(again, 1)) zero = hundred / zero;
  MUST(caught == SIGFPE * 100 + rank);
#endif
  a.sa_sigaction = mends;
  a.sa_flags = SA_SIGINFO;
  page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(page != (volatile char *)MAP_FAILED && sigaction(SIGSEGV, &a, NULL) == 0);
  page[8] = 'x';
  MUST(caught == SIGSEGV * 100 + rank && page[8] == 'x' && zero < hundred);
  handlers_wait();
}
static void crashes_again(int number) {
  nowhere[32 + number] = (char)(puts("again") + fflush(stdout));
}
static void ends_well(int number) { _exit(number == SIGSEGV ? 7 : 8); }

/* ---- its threads ---------------------------------------------------------------------------------------------- */
static void *sleeps(void *arg) {
  usleep(1000);
  return arg;
}
static void *digs(void *arg) { /* deeper than a stack of eight megabytes is */
  volatile char hole[24 << 20];
  for (size_t i = 0; i < sizeof hole; i += 4096) hole[sizeof hole - 1 - i] = 1;
  return hole[4095] ? arg : NULL;
}
static void threads(void) {
  pthread_t t;
  pthread_attr_t wide, now;
  void *result = NULL, *low = NULL;
  size_t bytes = 0;
  char name[16] = "", here;
  struct sched_param p;
  int policy;
  MUST(pthread_create(&t, NULL, sleeps, &here) == 0);
  MUST(pthread_setname_np(t, "sleeper") == 0 && pthread_getname_np(t, name, sizeof name) == 0 && strcmp(name, "sleeper") == 0);
  MUST(pthread_setname_np(t, "a name of seventeen") == ERANGE && pthread_getname_np(t, name, 3) == ERANGE);
  MUST(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "guest_itself") == 0);
  MUST(pthread_getschedparam(t, &policy, &p) == 0 && policy == SCHED_OTHER && p.sched_priority == 0);
  MUST(pthread_tryjoin_np(t, &result) == EBUSY && pthread_join(t, &result) == 0 && result == &here);
  MUST(pthread_attr_init(&wide) == 0 && pthread_attr_setstacksize(&wide, 32 << 20) == 0);
  MUST(pthread_create(&t, &wide, digs, &here) == 0 && pthread_join(t, &result) == 0 && result == &here);
  MUST(pthread_getattr_np(pthread_self(), &now) == 0 && pthread_attr_getstack(&now, &low, &bytes) == 0);
  MUST(&here >= (char *)low && &here < (char *)low + bytes && bytes >= 65536);
}
static void quickly(void) {
  const char text[] = "quick handler\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(9);
}
static void slowly(void) { MUST(!"a handler of exit"); }

int main(int argc, char **argv) {
  int spawned;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  PMI_Get_size(&size);
  const char *const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "handled") == 0) signal(SIGSEGV, ends_well);
  if (strcmp(what, "twice") == 0) signal(SIGSEGV, crashes_again);
  if (strcmp(what, "handled") == 0 || strcmp(what, "twice") == 0) nowhere[8] = 1;
  if (strcmp(what, "quick") == 0) {
    MUST(atexit(slowly) == 0 && at_quick_exit(quickly) == 0);
    quick_exit(5);
  }
  program(argv[0]);
  functions();
  cores();
  stack();
  variables();
  place();
  crashes();
  threads();
  printf("%d knows itself\n", rank);
  return 0;
}
