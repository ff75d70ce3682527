/* overlap_preload_core.h: how long the thread of MPI_Init was ready to run and waited for a core, by the kernel. Who waits
   for a process that waits for a core waits for neither a transfer nor the MPI, and nothing else here could tell. */
enum { CORE_WAIT_LEAST = 20 }; /* told from a twentieth of the time on */

/* Until now; -1: the kernel does not say, or the process is simulated. */
static int64_t core_wait_now_ns(void) {
  char path[64], text[100];
  unsigned long long ran_ns, waited_ns;
  if (dlsym(RTLD_DEFAULT, "pm_fold_own")) return -1;
  snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", run.first_thread);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  if (bytes <= 0) return -1;
  text[bytes] = 0;
  return sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2 ? (int64_t)waited_ns : -1;
}
static void core_wait_begin(void) {
  run.first_thread = syscall(SYS_gettid);
  run.start_ns = nbc_clock_now_ns(run.clock);
  run.core_wait_ns = core_wait_now_ns();
}
static void report_core_wait(nbc_report *report) {
  const int64_t now_ns = run.core_wait_ns < 0 ? -1 : core_wait_now_ns(),
                waited_ns = now_ns - run.core_wait_ns;
  if (now_ns >= 0 && waited_ns > (nbc_clock_now_ns(run.clock) - run.start_ns) / CORE_WAIT_LEAST)
    nbc_report_counter(report, 0, "waited_for_a_core_ns", (double)waited_ns);
}
