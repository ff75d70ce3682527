/* Schedules printed and priced. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "schedule.h"

/* One line per node: index, operation, slices, "after" list. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_schedule_print(const nbc_schedule *schedule, FILE *out);
/* All ranks as one Graphviz graph, messages dashed. ret NBC_OK | NBC_E_RANGE (size) | NBC_E_IO */
NBC_API nbc_status nbc_schedule_print_dot(const nbc_schedule *const *schedules, int size,
                                          FILE *out);

/* LogGP: a message of n bytes occupies the sender's processor for o, its network interface for
   max(g, n G), arrives L + n G later and costs the receiver o. Sends complete when handed over. */
typedef struct nbc_loggp {
  double latency_ns, overhead_ns, gap_ns, gap_per_byte_ns; /* L, o, g, G */
  double reduce_per_byte_ns, copy_per_byte_ns;
} nbc_loggp;
/* Time at which each rank (may be NULL) and the last rank finish, when all start at 0.
   ret NBC_OK | NBC_E_STATE (deadlock: err names a rank and node) | NBC_E_RANGE (size below 1, a field of the model
   negative or not finite) | NBC_E_NOMEM */
NBC_API nbc_status nbc_schedule_price(const nbc_schedule *const *schedules, int size,
                                      const nbc_loggp *model, double *rank_end_ns, double *end_ns,
                                      nbc_error *err);
/* The same on nodes (as in nbc_schedule_desc; NULL = as above): messages inside a node cost what
   `inside` says; what is for other nodes leaves through one network interface per node. */
NBC_API nbc_status nbc_schedule_price_nodes(const nbc_schedule *const *schedules, int size,
                                            const nbc_loggp *model, const nbc_loggp *inside,
                                            const int *nodes, double *rank_end_ns, double *end_ns,
                                            nbc_error *err);

/* ---- for later pieces ---- */
/* ---- all ranks together: who sends to whom ------------------------------------------------- */
/* Nodes of all ranks in one flat numbering, with the other side of each message. */
typedef struct nbc__sched_world {
  const nbc_schedule *const *schedules;
  int size;
  size_t node_count;
  size_t *first;   /* [size + 1]: number of a rank's first node */
  size_t *partner; /* of a message: the node at the other side; of others: itself */
  int *rank_of;
  uint32_t *left; /* predecessors not finished */
} nbc__sched_world;

NBC__PRIVATE const nbc_node *nbc__sched_world_node(const nbc__sched_world *w, size_t i);
NBC__PRIVATE void nbc__sched_world_close(nbc__sched_world *w);
NBC__PRIVATE nbc_status nbc__sched_world_open(nbc__sched_world *w,
                                              const nbc_schedule *const *schedules, int size,
                                              nbc_error *err);
NBC__PRIVATE nbc_status nbc__sched_stuck(const nbc__sched_world *w, size_t i, nbc_error *err);
