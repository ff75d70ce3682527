/* overlap_preload_core.h: what the kernel tells of threads. How long that of MPI_Init was ready to run and waited for a core:
   who waits for a process that waits for a core waits for neither a transfer nor the MPI, and nothing else here could tell.
   And how long threads ran that never call MPI: what they computed is not seen here, and hides no transfer. */
enum { CORE_LEAST = 20 }; /* told from a twentieth of the time on */

/* Until now; -1: the kernel does not say, or the process is simulated. */
static int64_t core_wait_now_ns(void) {
  char path[64], text[100];
  unsigned long long ran_ns, waited_ns;
  if (is_simulated()) return -1;
  snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", run.first_thread);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  if (bytes <= 0) return -1;
  text[bytes] = 0;
  return sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2 ? (int64_t)waited_ns : -1;
}
/* How long all threads but that of MPI_Init ran until now, those that have ended too; -1: not known. That thread's clock is
   the one of pthread_getcpuclockid, which must not be asked of a thread that has ended. */
static int64_t others_ran_now_ns(void) {
  const clockid_t first = (clockid_t)(~(unsigned)run.first_thread << 3 | 6);
  struct timespec all, one;
  if (is_simulated() || clock_gettime(first, &one) != 0 ||
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all) != 0)
    return -1;
  return ((int64_t)all.tv_sec - one.tv_sec) * 1000000000 + all.tv_nsec - one.tv_nsec;
}
static void core_begin(void) {
  run.first_thread = syscall(SYS_gettid);
  run.start_ns = nbc_clock_now_ns(run.clock);
  run.core_wait_ns = core_wait_now_ns();
  run.others_ran_ns = others_ran_now_ns();
}
/* How long the thread of MPI_Init waited for a core in the time since then; 0: not known, or not worth telling. */
static int64_t core_waited_ns(int64_t d_ns) {
  const int64_t now_ns = run.core_wait_ns < 0 ? -1 : core_wait_now_ns();
  return now_ns - run.core_wait_ns > d_ns / CORE_LEAST ? now_ns - run.core_wait_ns : 0;
}
static void report_core(nbc_report *report) {
  const int64_t d_ns = nbc_clock_now_ns(run.clock) - run.start_ns, least_ns = d_ns / CORE_LEAST,
                waited_ns = core_waited_ns(d_ns);
  if (waited_ns) nbc_report_counter(report, 0, "waited_for_a_core_ns", (double)waited_ns);
  /* Of several threads that call MPI the report says anyway that what others compute does not count. */
  const int64_t ran_ns = others_ran_now_ns() - run.others_ran_ns;
  if (run.others_ran_ns >= 0 && report->thread_count == 1 && ran_ns > least_ns)
    nbc_report_counter(report, 0, "other_threads_ran_ns", (double)ran_ns);
}
