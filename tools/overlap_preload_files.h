/* overlap_preload_files.h: nonblocking file operations, by the call that starts them: how long they were under way, what
   their threads computed meanwhile, what was waited for them. No table says how long storage takes, so they are no
   transfers, and no minimum of what is hidden is told: counters of the report, "FILE:call/what". */
enum { FILE_CALLS = 32 };
static struct {
  const char *call;                            /* a name that stays */
  uint64_t count, size_bytes, elsewhere_count; /* ended by another thread: no times */
  int64_t under_way_ns, computed_ns, waited_ns;
} file_calls[FILE_CALLS];

/* Its place among them; there is one for each call of MPI. */
static uint16_t file_call_of(const char *name) {
  uint16_t i = 0;
  lock();
  while (i < FILE_CALLS - 1 && file_calls[i].call && strcmp(file_calls[i].call, name) != 0) i++;
  if (!file_calls[i].call) file_calls[i].call = name;
  unlock();
  return i;
}
static void file_is_done(uint16_t at, uint64_t size_bytes, int64_t under_way_ns,
                         int64_t computed_ns, int64_t waited_ns) {
  lock();
  file_calls[at].count++;
  file_calls[at].size_bytes += size_bytes;
  file_calls[at].under_way_ns += under_way_ns;
  file_calls[at].computed_ns += computed_ns;
  file_calls[at].waited_ns += waited_ns;
  file_calls[at].elsewhere_count += under_way_ns == 0;
  unlock();
}
static void report_files(nbc_report *report) {
  lock();
  for (int i = 0; i < FILE_CALLS && file_calls[i].call; i++) {
    const struct {
      const char *what;
      double value;
    } told[] = {{"count", (double)file_calls[i].count},
                {"bytes", (double)file_calls[i].size_bytes},
                {"under_way_ns", (double)file_calls[i].under_way_ns},
                {"computed_ns", (double)file_calls[i].computed_ns},
                {"waited_ns", (double)file_calls[i].waited_ns},
                {"ended_elsewhere", (double)file_calls[i].elsewhere_count}};
    char name[100];
    for (size_t k = 0; file_calls[i].count && k < sizeof told / sizeof *told; k++) {
      snprintf(name, sizeof name, "FILE:%s/%s", file_calls[i].call, told[k].what);
      nbc_report_counter(report, 0, name, told[k].value);
    }
  }
  unlock();
}
