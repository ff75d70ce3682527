/* Reports in memory: from the recorders, added up. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "clock.h"
#include "cells.h"
#include "monitor.h"

/* ============================================================================================== */
/* [REPORT] 8. Reports: in memory, as text, as JSON, read back, merged, compared                  */
/* ============================================================================================== */
/* A report is plain data: fill, read or change it freely. All memory hangs on the report. What writes or adds reports
   refuses (NBC_E_INVAL) those in which an index, kind or peer is out of range, or a name is NULL. */
typedef struct nbc_call { /* calls of one (section, kind) */
  int section_index;
  nbc_kind kind;
  uint64_t count;
  int64_t total_ns, min_ns, max_ns;
} nbc_call;

typedef struct nbc_section {
  char *path;       /* "outer/inner"; section 0 is the whole program outside named sections, "" */
  int parent_index; /* -1 for section 0 */
  uint64_t count;
  int64_t comp_ns, call_ns; /* while this section was the innermost */
} nbc_section;

typedef struct nbc_thread { /* comp + call + off + tool = wall */
  int64_t comp_ns, call_ns, off_ns, tool_ns, wall_ns;
} nbc_thread;

/* Transfers of one direction between this process and peers of one class, with bounds that know that
   those under way together share a link ([MONITOR]); never wider than the independent ones. */
typedef struct nbc_joint {
  bool incoming;
  nbc_peer peer;
  uint64_t count, size_bytes;
  int64_t xfer_ns, min_overlap_ns, max_overlap_ns;
} nbc_joint;

/* Messages of which the timelines of both processes are there (overlap_report): what both sides know of when
   their data can have moved, beside what this side alone knows (alone_). Never wider. */
typedef struct nbc_partner_bound {
  nbc_kind kind;
  uint64_t count, size_bytes;
  int64_t xfer_ns, alone_min_ns, alone_max_ns, min_overlap_ns, max_overlap_ns;
  int64_t clock_err_ns; /* how far at most a time may be wrong on the clock of the other process */
  uint64_t far_count; /* of count, those between clocks of two nodes, known by the messages alone */
} nbc_partner_bound;

/* A send of more waits for its receiver: no MPI that was met sends more eagerly. */
#define NBC_LARGE_SEND_BYTES 65536

/* What went between two processes of the world, seen by `rank`. */
typedef struct nbc_pair {
  int rank, partner;
  uint64_t sent_count, sent_bytes, received_count, received_bytes;
  int64_t waited_ns;       /* in calls that ended a message from or to the partner */
  int64_t busy_ns;         /* computation of `rank` while a large send to the partner was posted */
  int64_t small_waited_ns; /* of waited_ns: for receives of up to NBC_LARGE_SEND_BYTES */
  /* Where both processes' times are known (timelines of one clock, simulation): known_ns of waited_ns; what passed until
     the partner had called its side; what passed after all partners of the call had, and of that while the
     partner computed with a large send posted. */
  int64_t known_ns, late_ns, moving_ns, computing_ns;
  /* Collectives that were not over for `rank` without the partner's data, where both processes' times are known: the waits in
     which the partner was the last to call of those that were needed, and how long they took until then. */
  uint64_t last_count;
  int64_t last_ns;
} nbc_pair;

/* Where the time in calls went, where both sides' times are known (timelines, simulation): each moment of a process once, for
   the one that it had waited for longest. */
typedef struct nbc_waited_for {
  int partner;
  int64_t late_ns,
      last_ns; /* until it had called its side of a message; until it, the last at a collective, had */
} nbc_waited_for;
typedef struct nbc_waits {
  int64_t held_ns;          /* in calls, as far as known; 0: nothing is */
  int64_t late_ns, last_ns; /* for all partners */
  int64_t moving_ns,
      computing_ns; /* all had called; of this, while a partner computed with a large send posted */
  nbc_waited_for *of; /* by partner */
  size_t of_count;
} nbc_waits;

/* One wait of a process. computing_ns: as above, of one that is MOVING, whose partner does not count. */
typedef enum nbc_wait_kind { NBC_WAIT_LATE, NBC_WAIT_LAST, NBC_WAIT_MOVING } nbc_wait_kind;
typedef struct nbc_wait_span {
  int rank, partner;
  nbc_wait_kind kind;
  int64_t since_ns, until_ns, computing_ns;
} nbc_wait_span;

/* Transfers that began at one place and ended in a call at another: which wait was for what. */
typedef struct nbc_ending {
  int begin_plus1, end_plus1; /* 1 + index of the site */
  uint64_t count;
  int64_t waited_ns; /* in the calls that ended them */
} nbc_ending;

/* Transfers of the communicators and windows of one name and size. */
typedef struct nbc_comm_total {
  char *name; /* as set by the program; "": none */
  int size;   /* processes */
  uint64_t count, size_bytes;
  int64_t waited_ns; /* in the calls that ended them; of a window, in all that synchronise it */
} nbc_comm_total;

typedef struct nbc_counter { /* of a NIC, an MPI, … */
  char *name;
  int section_index;
  double value;
} nbc_counter;

/* Of the library: where an element of an array is found by what it is of. Slots have 1 + its number, or 0: a power of two,
   at least twice as many as there are elements, of which the first so many are known. */
typedef struct nbc__rep_index {
  uint32_t *slots;
  size_t count, known;
  uint64_t look_count; /* at slots, until now */
} nbc__rep_index;

typedef struct nbc_report {
  char *program, *host, *library; /* may be NULL */
  int rank, size, pid;            /* rank -1: merged or unknown */
  int process_count;              /* 1, or how many were merged */
  double start_unix_s;
  int64_t wall_ns, comp_ns, call_ns, off_ns; /* sums over threads */
  int64_t tool_ns; /* what the measuring itself took, by its calibrated cost */
  nbc_clock_source clock_source;
  double clock_hz, clock_rate_err_ppm, clock_resolution_ns, clock_read_cost_ns;
  char *table_same_node, *table_other_node; /* names */
  bool table_is_default;                    /* not measured on this machine */
  bool is_simulated;                        /* all times are a model's */
  uint64_t class_edges_bytes[NBC_MAX_CLASSES];
  size_t class_edge_count;
  nbc_totals total;
  nbc_section *sections;
  size_t section_count;
  nbc_cell *cells;
  size_t cell_count;
  nbc_call *calls;
  size_t call_count;
  nbc_thread *threads;
  size_t thread_count;
  nbc_counter *counters;
  size_t counter_count;
  nbc_joint *joints;
  size_t joint_count;
  nbc_partner_bound *partner_bounds;
  size_t partner_bound_count;
  nbc_site *sites;
  size_t site_count;
  nbc_pair *pairs;
  size_t pair_count;
  nbc_waits waits;
  nbc_comm_total *comms;
  size_t comm_count;
  char **notes;
  size_t note_count; /* one line each: wrong settings, things left out */
  uint64_t problems[NBC_PROBLEM_COUNT];
  nbc_ending *endings;
  size_t ending_count;
  nbc__rep_index site_index, ending_index; /* of the library */
} nbc_report;

/* Drains all recorders and adds them up. May be called at any time, also while other threads
   record: what they record meanwhile is in or out. Active transfers count as case 3 in this report
   only; so do those with a foreign stamp later than the last call of their owner, unless the owner
   itself asks for the report or is detached.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_monitor_report(nbc_monitor *monitor, nbc_report **report);
NBC_API nbc_status nbc_monitor_report_at(nbc_monitor *monitor, int64_t t_ns, nbc_report **report);
NBC_API void nbc_report_free(nbc_report *report); /* NULL allowed */
/* Empty report (one section ""), to fill by hand. */
NBC_API nbc_status nbc_report_create(nbc_report **report);
/* Sets a text field (&report->host), adds a note or a counter; copies. ret NBC_OK |
   NBC_E_INVAL (no such section) | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_set(char **field, const char *text);
NBC_API nbc_status nbc_report_note(nbc_report *report, const char *text);
NBC_API nbc_status nbc_report_counter(nbc_report *report, int section_index, const char *name,
                                      double value);
/* Adds calls from one place (joined with those of the same call, module and offset; calls of a new one stand behind the
   others); copies. ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_site(nbc_report *report, const nbc_site *site);
/* Adds transfers that began at one place and ended in a call at another (joined with others of the two; of the sites call,
   module, symbol and offset count, new ones are added, without calls); copies. ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_ending(nbc_report *report, const nbc_site *begin, const nbc_site *end,
                                     uint64_t count, int64_t waited_ns);
/* Adds bounds by both sides of messages (joined with those of the same kind). ret NBC_OK | NBC_E_INVAL (min above
   max above xfer, or wider than alone) | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_partner_bound(nbc_report *report, const nbc_partner_bound *bound);
/* Appends what went between two processes. ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_pair(nbc_report *report, const nbc_pair *pair);
/* Adds waits, which may overlap and which it sorts, to a sum that was zero at first (&report->waits; `of` is freed with the
   report, or by NBC_FREE): of a moment that several hold, the one that began first has it. held_ns is left as it is.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM */
NBC_API nbc_status nbc_waits_add(nbc_waits *sum, nbc_wait_span *waits, size_t count);
/* Adds transfers of a communicator (joined with those of the same name and size); copies.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_comm_total(nbc_report *report, const nbc_comm_total *comm);
/* Adds one process's report to a sum (sections by path, cells by key; texts that differ become
   "several hosts"; different class edges are an error, and then nothing was added). ret NBC_OK |
   NBC_E_MISMATCH | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_add(nbc_report *sum, const nbc_report *one, nbc_error *err);

/* ---- for later pieces ---- */
/* 1 + index of a place in the report, which is added when new; 0: no memory. */
NBC__PRIVATE int nbc__rep_site_plus1(nbc_report *r, const nbc_site *where);
/* Appends a zeroed element to array `a` with count `n` of *report; `out` points to it, or is
   NULL. */
#define NBC__REP_APPEND(type, a, n, out)                                                           \
  do {                                                                                             \
    type *nbc__bigger = (type *)nbc__rep_grow((a), (n), sizeof(type));                             \
    (out) = NULL;                                                                                  \
    if (nbc__bigger) {                                                                             \
      (a) = nbc__bigger;                                                                           \
      (out) = &(a)[(n)++];                                                                         \
      memset((out), 0, sizeof(type));                                                              \
    }                                                                                              \
  } while (0)

/* Of this partner, added where it is missing; NULL: no memory. */
NBC__PRIVATE nbc_waited_for *nbc__rep_waited_for(nbc_waits *sum, int partner);
NBC__PRIVATE bool nbc__rep_is_whole(const nbc_report *r);
NBC__PRIVATE void *nbc__rep_grow(void *array, size_t count, size_t element_bytes);
NBC__PRIVATE int nbc__rep_cell_order(const nbc_cell *a, const nbc_cell *b);
NBC__PRIVATE void nbc__rep_add_totals(nbc_totals *sum, const nbc_totals *t);
NBC__PRIVATE void nbc__rep_join_cell(nbc_cell *c, const nbc_cell *from);
NBC__PRIVATE void nbc__rep_join_call(nbc_call *c, const nbc_call *from);
