/* overlap_preload_report.h: the report of this process: where it goes, and what stands in it beside
   the monitor's numbers. */
/* Made at start and written through when needed, so that a report at a crash needs no malloc. */
static ssize_t write_report(void *cookie, const char *text, size_t count) {
  size_signal beyond;
  size_t done = 0;
  (void)cookie;
  size_signal_off(&beyond);
  while (done < count) {
    const ssize_t n = write(run.report_fd, text + done, count - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += (size_t)n;
  }
  size_signal_on(&beyond);
  run.report_failed = run.report_failed || done < count;
  return done < count ? 0 : (ssize_t)count;
}

static bool prepare_report_file(void) {
  static char buffer[8192];
  const cookie_io_functions_t functions = {.write = write_report};
  run.report_file = fopencookie(NULL, "w", functions);
  return run.report_file && setvbuf(run.report_file, buffer, _IOFBF, sizeof buffer) == 0;
}

static bool flush_report(nbc_status status) {
  const bool flushed = fflush(run.report_file) == 0;
  clearerr(run.report_file);
  return status == NBC_OK && flushed && !run.report_failed;
}

/* folder/NAME.json, whole or not at all: written beside and renamed. */
typedef enum form { JSON, TEXT, TRACE } form;
enum { PATH_BYTES = sizeof run.folder + 200 };
static void report_path(char path[PATH_BYTES], const char *folder, form as) {
  static const char *const endings[] = {"json", "txt", "trace"};
  snprintf(path, PATH_BYTES, "%s/nbc_overlap.%s.%d.%s", folder, run.run_name, run.rank,
           endings[as]);
}
static bool write_into(const char *folder, const nbc_report *report, form as) {
  char path[PATH_BYTES], part[sizeof path + 8];
  report_path(path, folder, as);
  snprintf(part, sizeof part, "%s.part", path);
  run.report_failed = false;
  run.report_fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (run.report_fd < 0) return false;
  if (as == TRACE) trace_write(run.report_file);
  bool good = flush_report(as == TRACE  ? NBC_OK
                           : as == TEXT ? nbc_report_write_text(report, run.report_file)
                                        : nbc_report_write_json(report, run.report_file));
  good = close(run.report_fd) == 0 && good;
  if (good && rename(part, path) == 0) return true;
  unlink(part);
  return false;
}

/* Requests that nothing completed though the program is at its end. By place and without numbers, so that what
   processes have in common is one note. */
static void say_what_nothing_completed(nbc_report *report) {
  enum { MOST_TOLD = 4 };
  uint16_t told[MOST_TOLD];
  int count = 0;
  lock();
  for (uint32_t i = 1; i <= pool_used && count < MOST_TOLD; i++) {
    const uint16_t place = pool[i].id ? pool[i].place : 0;
    bool is_new = place != 0;
    for (int k = 0; k < count; k++) is_new = is_new && told[k] != place;
    if (!is_new) continue;
    told[count++] = place; /* before it is looked up: there may be very many of one place */
    const site *const s = site_of_place(place);
    char text[NOTE_BYTES];
    if (!s) continue;
    const char *const module = s->where->module ? s->where->module : "?";
    const char *const slash = strrchr(module, '/');
    snprintf(
        text, sizeof text,
        "no wait or test completed requests of %.40s at %.120s (%.80s): the MPI keeps them, and of "
        "their transfers the end is not known",
        s->call, s->where->symbol ? s->where->symbol : "?", slash ? slash + 1 : module);
    nbc_report_note(report, text);
  }
  unlock();
}

/* The call that this thread is in when the report is written, by a signal that came meanwhile: nobody else tells where a
   program hung. */
static void report_open_call(nbc_report *report, int64_t now_ns) {
  const site *s =
      me.inside && me.on ? find_caller(me.open.address, me.open.name, me.open.frame) : NULL;
  char text[NOTE_BYTES];
  if (!s || now_ns <= me.open.t0_ns) return;
  const int64_t d_ns = now_ns - me.open.t0_ns;
  add_site(report, s, 1, d_ns, d_ns);
  if (strcmp(me.open.name, "MPI_Abort") == 0) return;
  snprintf(
      text, sizeof text,
      "a call of %.40s was not over when this was written: its time until then counts, and its "
      "place is among those below",
      me.open.name);
  nbc_report_note(report, text);
}

static void describe(nbc_report *report, int64_t now_ns) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  nbc_report_set(&report->program, run.program);
  nbc_report_set(&report->host, host);
  nbc_report_set(&report->library, run.library);
  report->rank = run.rank;
  report->size = run.size;
  report->pid = (int)run.pid;
  for (int i = 0; i < run.note_count; i++) nbc_report_note(report, run.notes[i]);
  if (run.is_finalizing) say_what_nothing_completed(report);
  if (run.freed_count)
    nbc_report_counter(report, 0, "requests_freed_while_active", (double)run.freed_count);
  if (run.lost_count)
    nbc_report_counter(report, 0, "transfers_not_followed", (double)run.lost_count);
  report_core(report);
  add_still_counters(report);
  report_sites(report);
  report_open_call(report, now_ns);
  report_pairs(report);
  report_comms(report);
  report_files(report);
}

#include "overlap_preload_gather.h"

/* The one at the end does not take its place: it is elsewhere, or in one file with all others. */
static void forget_saved(void) {
  char path[PATH_BYTES];
  if (!run.is_saved) return;
  report_path(path, run.folder, JSON);
  unlink(path);
}

/* The chosen folder, else the one for temporary files, else standard error. */
static void write_everything(const nbc_report *report) {
  const char *temporary = setting("TMPDIR");
  if (!temporary) temporary = "/tmp";
  if (write_into(run.folder, report, JSON)) {
    if (run.text) write_into(run.folder, report, TEXT);
    return;
  }
  const char *why = strerror(errno);
  if (write_into(temporary, report, JSON)) {
    say("cannot write to %s (%s): report of rank %d is in %s", run.folder, why, run.rank,
        temporary);
    if (run.text) write_into(temporary, report, TEXT);
    forget_saved();
    return;
  }
  say("cannot write to %s (%s) nor %s: report of rank %d follows", run.folder, why, temporary,
      run.rank);
  run.report_fd = STDERR_FILENO;
  run.report_failed = false;
  flush_report(nbc_report_write_json(report, run.report_file));
}

/* The timeline goes where the report goes; when it cannot, that is said, and the report is whole anyway. */
static void write_trace(void) {
  const char *temporary = setting("TMPDIR");
  if (!trace.kept) return;
  while (me.open_sections > 0)
    trace_section(NULL, false, nbc_clock_now_ns(run.clock)); /* of this thread */
  if (trace.counters) trace_read_counters(true);
  trace_anchor(1);
  if (!trace_close()) {
    say("no memory for the timeline of rank %d", run.rank);
    return;
  }
  if (write_into(run.folder, NULL, TRACE)) return;
  const char *why = strerror(errno);
  const bool kept = write_into(temporary ? temporary : "/tmp", NULL, TRACE);
  say("cannot write to %s (%s): the timeline of rank %d is %s%s", run.folder, why, run.rank,
      kept ? "in " : "lost", kept ? temporary ? temporary : "/tmp" : "");
}

/* One thread at a time, while it is busy. */
static void writing_begin(void) {
  while (__atomic_exchange_n(&run.writing, 1, __ATOMIC_ACQUIRE)) sched_yield();
}
static void writing_end(void) { __atomic_store_n(&run.writing, 0, __ATOMIC_RELEASE); }

/* Nobody needs to wait for this process. */
static void count_as_done(void) {
  neighbours *const node = run.neighbours;
  if (!node || (run.own_place < MOST_ASKED &&
                __atomic_exchange_n(&node->of[run.own_place].is_done, true, __ATOMIC_ACQ_REL)))
    return;
  __atomic_add_fetch(&node->done_count, 1, __ATOMIC_RELEASE);
}
static void mark_written(void) {
  if (__atomic_exchange_n(&run.written, 2, __ATOMIC_ACQ_REL) != 2) count_as_done();
}

/* No lock keeps the threads of a process apart whose MPI allows only one at a time. */
static bool may_write_meanwhile(void) {
  return __atomic_load_n(&run.recording, __ATOMIC_ACQUIRE) && getpid() == run.pid &&
         (run.multiple || run.thread_count == 1);
}

/* NBC_SAVE_S: for who is killed without a word later, while measuring goes on. As often as that, at first after 10 s and
   then each time that the run has become twice as long; the ranks' first ones are spread over as long again. */
enum { FIRST_SAVE_S = 10, SAVE_SHARE = 1000 }; /* so much longer than a save takes until the next */
static void saving_begins(int64_t now_ns) {
  const int64_t most_ns = FIRST_SAVE_S * INT64_C(1000000000);
  const int64_t first_ns = run.save_ns < most_ns ? run.save_ns : most_ns;
  run.save_at_ns = run.save_ns ? now_ns + first_ns + first_ns / run.size * run.rank : INT64_MAX;
}
SMALL static void save_meanwhile(int64_t t1_ns) {
  nbc_report *report = NULL;
  const int saved_errno = errno;
  const int64_t ran_ns = t1_ns - run.start_ns;
  int64_t due_ns = __atomic_load_n(&run.save_at_ns, __ATOMIC_RELAXED);
  if (t1_ns < due_ns || !__atomic_compare_exchange_n(&run.save_at_ns, &due_ns, INT64_MAX, false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return; /* another thread does */
  const bool may = may_write_meanwhile();
  writing_begin();
  if (may && !__atomic_load_n(&run.written, __ATOMIC_ACQUIRE)) {
    bool good = nbc_monitor_report_at(run.monitor, nbc_clock_now_ns(run.clock), &report) == NBC_OK;
    if (good) {
      describe(report, t1_ns);
      nbc_report_note(
          report, "saved while the program ran, at the end of a call: what came later, such as a "
                  "call that never ended, is not in it (it still runs, or was killed without a "
                  "word; SIGTERM instead of SIGKILL leaves all until then)");
      good = write_into(run.folder, report, JSON);
      nbc_report_free(report);
    }
    static bool is_told;
    if (good)
      run.is_saved = true;
    else if (!is_told)
      complain("cannot save a report in %s while the program runs (%s): one is written at its end",
               run.folder, strerror(errno));
    is_told = is_told || !good; /* there may be room again later */
  }
  writing_end();
  const int64_t took_ns = nbc_clock_now_ns(run.clock) - t1_ns;
  if (may) {
    const int64_t as_asked_ns = ran_ns < run.save_ns ? ran_ns : run.save_ns,
                  as_cheap_ns = SAVE_SHARE * took_ns;
    __atomic_store_n(&run.save_at_ns,
                     t1_ns + (as_asked_ns > as_cheap_ns ? as_asked_ns : as_cheap_ns),
                     __ATOMIC_RELAXED);
  }
  nbc_call_tool(me.recorder, took_ns);
  errno = saved_errno;
}
/* What there is now, for a process that ends and takes the job with it: measuring goes on, and the report at the end,
   if there is one, takes the place of this one. The timeline ends here. */
SMALL static void write_meanwhile(int asked_by) {
  nbc_report *report = NULL;
  char why[NOTE_BYTES];
  if (!may_write_meanwhile()) return;
  busy_begin();
  writing_begin();
  const int64_t now_ns = nbc_clock_now_ns(run.clock);
  if (!__atomic_load_n(&run.written, __ATOMIC_ACQUIRE) &&
      nbc_monitor_report_at(run.monitor, now_ns, &report) == NBC_OK) {
    say_what_passed_nothing_on();
    describe(report, now_ns);
    snprintf(why, sizeof why,
             "this is what there was when process %d of this node ended without MPI_Finalize",
             asked_by);
    nbc_report_note(report, why);
    write_everything(report);
    nbc_report_free(report);
    if (run.thread_count == 1) {
      write_trace();
      trace.ring = trace.kept = NULL;
    }
    count_as_done();
  }
  writing_end();
  busy_end();
}

/* Once per process; from MPI_Finalize, MPI_Abort, exit, or a deadly signal. */
SMALL static void finish_by(bool gathering) {
  nbc_report *report = NULL;
  if (!__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE) || getpid() != run.pid) {
    if (gathering && getpid() == run.pid) gather(NULL); /* the others wait for this one */
    return;
  }
  if (__atomic_exchange_n(&run.written, 1, __ATOMIC_ACQ_REL)) return;
  const bool was_busy = me.busy; /* in a signal handler of its own this cannot be */
  const int saved_errno = errno;
  busy_begin(); /* a second signal waits until the report is written */
  const int64_t now_ns = nbc_clock_now_ns(run.clock);
  __atomic_store_n(&run.recording, false, __ATOMIC_RELEASE);
  writing_begin();
  withdraw_cancelled();
  if (nbc_monitor_report_at(run.monitor, now_ns, &report) == NBC_OK) {
    say_what_passed_nothing_on();
    describe(report, now_ns);
    if (!gathering || !gather(report))
      write_everything(report);
    else
      forget_saved();
    write_trace();
    nbc_report_free(report);
  } else {
    if (gathering) gather(NULL);
    say("no memory for the report of rank %d", run.rank);
  }
  writing_end();
  mark_written();
  errno = saved_errno;
  if (!was_busy) busy_end();
}
/* From a signal handler, too, also while others are waited for to gather. */
static void finish(void) {
  if (write_what_is_gathered()) {
    write_trace();
    mark_written();
  } else {
    finish_by(false);
  }
}
