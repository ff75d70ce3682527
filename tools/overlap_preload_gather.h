/* overlap_preload_gather.h: NBC_GATHER=1: at MPI_Finalize the reports of all processes go over the MPI,
   along a binomial tree, to rank 0, which writes them one after the other into one file,
   nbc_overlap.PROGRAM.RUN.all.json. Each rank holds what came below it: rank 0 all, some kilobytes per
   process. Runs that end otherwise leave a file per process, as without it; who is in MPI_Finalize then,
   and waits for others, leaves what it has, in nbc_overlap.PROGRAM.RUN.RANK.all.json. */
typedef struct gathered {
  char *text;
  size_t bytes, room, whole_bytes; /* whole_bytes: of reports that have come whole */
  bool failed;
} gathered;

/* What this process holds while it only waits for others; who ends the process takes it from here. */
static gathered *gather_waits;
static bool gather_is_written;
static void gather_pauses(gathered *g) { __atomic_store_n(&gather_waits, g, __ATOMIC_RELEASE); }
static void gather_resumes(void) {
  const struct timespec nap = {0, 1000000};
  if (__atomic_exchange_n(&gather_waits, NULL, __ATOMIC_ACQ_REL)) return;
  while (!__atomic_load_n(&gather_is_written, __ATOMIC_ACQUIRE)) nanosleep(&nap, NULL);
}
#define GATHER_WAITING(g, call) (gather_pauses(g), (void)(call), gather_resumes())

static bool room_for_text(gathered *g, size_t more) {
  if (g->bytes + more <= g->room) return true;
  size_t room = g->room ? g->room : 65536;
  while (room < g->bytes + more) room *= 2;
  char *const bigger = map_memory(room);
  if (!bigger) return !(g->failed = true);
  if (g->bytes) memcpy(bigger, g->text, g->bytes);
  unmap_memory(g->text);
  g->text = bigger;
  g->room = room;
  return true;
}

static ssize_t gather_text(void *cookie, const char *text, size_t count) {
  gathered *const g = cookie;
  if (!room_for_text(g, count)) return 0;
  memcpy(g->text + g->bytes, text, count);
  g->bytes += count;
  return (ssize_t)count;
}

static bool report_as_text(const nbc_report *report, gathered *g) {
  const cookie_io_functions_t functions = {.write = gather_text};
  FILE *out = fopencookie(g, "w", functions);
  const bool good = out && nbc_report_write_json(report, out) == NBC_OK;
  return out && fclose(out) == 0 && good && !g->failed;
}

enum { GATHER_PIECE = 1 << 28 };
/* False: the receiver has no room; then who holds the text writes it. */
static bool send_text(gathered *g, int to) {
  unsigned long long bytes = g->bytes;
  bool has_room = false;
  GATHER_WAITING(g, PMPI_Send(&bytes, 1, MPI_UNSIGNED_LONG_LONG, to, 0, run.gather_comm));
  GATHER_WAITING(g, PMPI_Recv(&has_room, 1, MPI_INT, to, 1, run.gather_comm, MPI_STATUS_IGNORE));
  for (size_t done = 0; has_room && done < g->bytes; done += GATHER_PIECE) {
    const size_t left = g->bytes - done;
    GATHER_WAITING(g, PMPI_Send(g->text + done, (int)(left < GATHER_PIECE ? left : GATHER_PIECE),
                                MPI_CHAR, to, 2, run.gather_comm));
  }
  return has_room != 0;
}
static void receive_text(gathered *g, int from) {
  unsigned long long bytes = 0;
  GATHER_WAITING(
      g, PMPI_Recv(&bytes, 1, MPI_UNSIGNED_LONG_LONG, from, 0, run.gather_comm, MPI_STATUS_IGNORE));
  const bool has_room = room_for_text(g, bytes);
  GATHER_WAITING(g, PMPI_Send(&has_room, 1, MPI_INT, from, 1, run.gather_comm));
  for (unsigned long long done = 0; has_room && done < bytes;) {
    const unsigned long long left = bytes - done;
    const int n = (int)(left < GATHER_PIECE ? left : GATHER_PIECE);
    GATHER_WAITING(
        g, PMPI_Recv(g->text + g->bytes, n, MPI_CHAR, from, 2, run.gather_comm, MPI_STATUS_IGNORE));
    g->bytes += (size_t)n;
    done += (unsigned long long)n;
  }
  g->whole_bytes = g->bytes;
}

static bool write_gathered(const gathered *g, const char *folder) {
  char path[sizeof run.folder + 200], part[sizeof path + 8], who[16] = "";
  if (run.rank > 0) snprintf(who, sizeof who, ".%d", run.rank);
  snprintf(path, sizeof path, "%s/nbc_overlap.%s%s.all.json", folder, run.run_name, who);
  snprintf(part, sizeof part, "%s.part", path);
  run.report_failed = false;
  run.report_fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (run.report_fd < 0) return false;
  write_report(NULL, g->text, g->bytes);
  const bool good = close(run.report_fd) == 0 && !run.report_failed;
  if (good && rename(part, path) == 0) return true;
  unlink(part);
  return false;
}

static bool write_gathered_somewhere(const gathered *g) {
  const char *temporary = setting("TMPDIR");
  return write_gathered(g, run.folder) || write_gathered(g, temporary ? temporary : "/tmp");
}

/* The process ends while it waits. False: it does not wait. */
static bool write_what_is_gathered(void) {
  const gathered *const g = __atomic_exchange_n(&gather_waits, NULL, __ATOMIC_ACQ_REL);
  if (!g) return false;
  const gathered whole = {.text = g->text, .bytes = g->whole_bytes};
  if (whole.bytes) write_gathered_somewhere(&whole);
  __atomic_store_n(&gather_is_written, true, __ATOMIC_RELEASE);
  return true;
}

/* All ranks come here, with a report or without. False: this one's report is still to be written. */
static bool gather(const nbc_report *report) {
  gathered g = {.text = NULL};
  const bool own = report && report_as_text(report, &g);
  if (!own) g.bytes = 0;
  g.whole_bytes = g.bytes;
  int mask = 1;
  for (; mask < run.size && !(run.rank & mask); mask <<= 1)
    if (run.rank + mask < run.size) receive_text(&g, run.rank + mask);
  const bool passed = run.rank > 0 && send_text(&g, run.rank - mask);
  bool kept = passed || !g.bytes;
  if (!passed && g.bytes) kept = write_gathered_somewhere(&g);
  if (!kept) say("the gathered reports cannot be written: %s", strerror(errno));
  unmap_memory(g.text);
  return own && kept;
}
