/* Traces: CSV, Chrome JSON, Paje, HTML. */
#pragma once
#include "run.h"
/* ============================================================================================== */
/* [TRACE] 5. Traces: CSV, Chrome JSON, Paje, HTML                                                */
/* ============================================================================================== */
/* With pm_world_desc.trace every step of every message leaves a record, of the kinds of S4BXI.
   PIO_PAYLOAD: the CPU writes it; DMA_REQUEST, DMA_PAYLOAD: the NIC asks the host for it and has it, to
   the end of a long one that leaves meanwhile; E2E_ACK: what comes back when nobody wants a
   PORTALS_ACK. At the LogGP level COMMAND is the wait for the gap, writes and events are points, payload
   is not read; at a carrier's level it reads payload and that leaves no record. CALL: what a process said
   with pm_trace_call_end, pm_run of MPI's functions. First come the kinds that travel, from COMMAND on those that
   stay at one process. */
#define PM_TRACE_LIST(X)                                                                           \
  X(PUT)                                                                                           \
  X(GET)                                                                                           \
  X(ATOMIC)                                                                                        \
  X(FETCH_ATOMIC)                                                                                  \
  X(GET_RESPONSE)                                                                                  \
  X(FETCH_ATOMIC_RESPONSE)                                                                         \
  X(PORTALS_ACK)                                                                                   \
  X(E2E_ACK)                                                                                       \
  X(COMMAND) X(PIO_PAYLOAD) X(DMA_REQUEST) X(DMA_PAYLOAD) X(PAYLOAD_WRITE) X(EVENT) X(COMPUTE)     \
      X(CALL)
typedef enum pm_trace_kind {
#define PM__X(name) PM_TRACE_##name,
  PM_TRACE_LIST(PM__X)
#undef PM__X
      PM_TRACE_LAST
} pm_trace_kind;

typedef struct pm_trace_record {
  int64_t t_begin_ns, t_end_ns;
  int t_begin_ps, t_end_ps; /* what is left below a nanosecond: 0..999 */
  uint64_t id, size_bytes;  /* id of the message; 0 for COMPUTE */
  int from_node, to_node;   /* of this step */
  int from_rank, to_rank;   /* who asked for the operation, of whom; -1: none */
  pm_trace_kind kind;
  const char *name; /* of CALL; NULL: none */
} pm_trace_record;

/* Around something of a process that has a name (a function of a library): a CALL in its track. begin gives
   what end wants, the simulated time in picoseconds; -1 without pm_world_desc.trace and outside of a process,
   and then end does nothing, nor with a NULL name. name: ASCII letters, digits, '_'; it is kept as it is, so
   it must live as long as the world. */
PM_API int64_t pm_trace_call_begin(void);
PM_API void pm_trace_call_end(const char *name, int64_t t_begin_ps);
/* "PUT"; never NULL */
PM_API const char *pm_trace_kind_name(pm_trace_kind kind);
/* Records so far, in order of recording; valid until the world runs on. */
PM_API const pm_trace_record *pm_trace_records(const pm_world *world, size_t *count);
/* Column names first. One line per record, times in ns with three decimals; a CALL has its name as its kind. */
PM_API pm_status pm_trace_write_csv(const pm_world *world, FILE *out);
/* Chrome trace (opens in Perfetto): a process per node, its NIC and its ranks as threads; of what goes on there at the
   same time, several. ret PM_OK | PM_E_INVAL | PM_E_IO | PM_E_NOMEM */
PM_API pm_status pm_trace_write_json(const pm_world *world, FILE *out);
/* Paje (opens in ViTE): a container per node and, in it, per process that computes or writes payload; those are
   its states, messages on the wire are links between nodes, and a node's variable counts the steps under way
   at its NIC. Of threads of one process that compute at the same time the last to begin is shown.
   ret PM_OK | PM_E_INVAL | PM_E_IO | PM_E_NOMEM */
PM_API pm_status pm_trace_write_paje(const pm_world *world, FILE *out);
/* Sequence diagram, one HTML page that needs nothing else: a column per process that takes part, time
   downwards (stretched where much happens), an arrow per message, hover texts. For small runs: only
   the first PM_TRACE_HTML_MAX records are drawn, and the page says so.
   ret PM_OK | PM_E_IO | PM_E_NOMEM */
#define PM_TRACE_HTML_MAX 2000
PM_API pm_status pm_trace_write_html(const pm_world *world, FILE *out);

/* ---- for later pieces ---- */
PM__PRIVATE void pm__record(pm_world *w, int kind, uint64_t id, int from_rank, int to_rank,
                            int64_t t_begin_ps, int64_t t_end_ps, int from_node, int to_node,
                            uint64_t bytes);
