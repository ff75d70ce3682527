/* Communicators and requests: the executor, one for all algorithms. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../transport/contract.h"
#include "schedule.h"
#include "choice.h"
#include "reduce.h"
#include "progress.h"

/* ============================================================================================== */
/* [COLL] 18. Collectives on any transport: communicators, requests                               */
/* ============================================================================================== */
/* A communicator is a transport plus what its collectives share: a number that keeps their messages
   apart, the choice table, schedules already built. Every rank calls the same collectives in the
   same order; any number may be in flight; buffers stay untouched until the request is finished.
   One thread at a time may use a communicator and its requests.

   Reductions. Which operand meets which is in the schedule, not in the order of arrival: the same call on the same
   number of ranks with the same algorithm gives the same bits, run after run (AUTO: with the same choice table).
   Every element of a sum of P floating-point operands x_i is added in P - 1 additions, so by [N. Higham, Accuracy and
   Stability of Numerical Algorithms, 2nd ed., SIAM 2002, section 4.2] it lies within g sum |x_i| of the true sum, with
   g = (P - 1) u / (1 - (P - 1) u), u = 2^-53 (double), 2^-24 (float), and so within 2 g sum |x_i| of the sum in
   the order of ranks, as long as nothing overflows. An operator that does not commute meets its operands
   in the order of ranks; other brackets than from the left are taken, so it must be associative. */
typedef struct nbc_comm nbc_comm;
typedef struct nbc_request nbc_request;
typedef struct nbc_comm_desc {
  nbc_transport *transport;
  uint32_t id;              /* same on all ranks; tells communicators of a transport apart; <
                               32768 */
  const nbc_choice *choice; /* copied; NULL = built in. The environment wins: NBC_CHOICE = a file;
                               NBC_ALGO = "bcast=chain:65536,allreduce=ring" (segment after ':') */
  bool check;               /* compare the arguments of all ranks before each collective */
  int64_t check_limit_ns;   /* for a rank that does not come to be compared, or, after a message of
                               another length, for what is missing: 0 = 10 s */
  nbc_progress *progress;   /* outlives the communicator; NULL = policy NONE */
} nbc_comm_desc;

/* Local. ret NBC_OK | NBC_E_INVAL, NBC_E_RANGE | NBC_E_PARSE, NBC_E_IO (environment) |
   NBC_E_NOMEM */
NBC_API nbc_status nbc_comm_create(const nbc_comm_desc *desc, nbc_comm **comm, nbc_error *err);
/* Requests still there are freed with it. NULL allowed. */
NBC_API void nbc_comm_destroy(nbc_comm *comm);
/* What the last error on this communicator was. */
NBC_API const nbc_error *nbc_comm_error(const nbc_comm *comm);
/* An operator of your own; all ranks make the same ones in the same order (at most 16). fn is
   called with `user`. ret NBC_OK | NBC_E_INVAL: comm, fn or reduce is NULL | NBC_E_FULL */
NBC_API nbc_status nbc_comm_operator(nbc_comm *comm, nbc_reduce_fn fn, void *user, bool commutative,
                                     nbc_reduce *reduce);

/* One rank's arguments of one collective, with the meaning they have in MPI. */
#define NBC_IN_PLACE ((void *)(intptr_t)-1) /* as send; for scatter(v) at the root as recv */
typedef struct nbc_coll_args {
  nbc_coll coll;
  const void *send;
  void *recv;     /* bcast: the buffer */
  uint64_t count; /* elements; see nbc_schedule_desc for what it counts */
  const uint64_t *send_counts, *send_displs, *recv_counts, *recv_displs; /* read in the call only */
  nbc_type type;
  nbc_reduce reduce;
  int root;
  nbc_algo algo; /* AUTO = by the choice table, with the next two */
  uint64_t segment_bytes;
  int radix;
  int window_count;
  const nbc_neighbors *neighbors; /* neighbor_...; read in the call only */
  /* For an operator of nbc_comm_operator, in place of the one given there; or NULL */
  void *operator_user;
} nbc_coll_args;

/* Starts a collective. Without a progress engine it goes on inside nbc_coll_test and nbc_coll_wait
   of any request on the transport, and of those that the same thread waits for on other MPI
   transports.
   ret NBC_OK | NBC_E_INVAL, NBC_E_RANGE (nbc_comm_error names the argument) | NBC_E_NOMEM */
NBC_API nbc_status nbc_coll_start_new(nbc_comm *comm, const nbc_coll_args *args,
                                      nbc_request **request);
/* Persistent: the schedule and all memory are made once, nbc_coll_start runs it again and again.
   Every rank makes the same ones in the same order; it may start them in any order. NBC_E_FULL:
   2^19 were made on the communicator since one that is still there. */
NBC_API nbc_status nbc_coll_init(nbc_comm *comm, const nbc_coll_args *args, nbc_request **request);
NBC_API nbc_status nbc_coll_start(nbc_request *request); /* NBC_E_STATE: still running */
/* NBC_PENDING, or the end: NBC_OK | NBC_E_MISMATCH, NBC_E_TRUNCATED (ranks disagree: so do all end that
   wait for something of the rank that saw it first, where lengths alone differ) | transport.
   At the end, a request that is not persistent is freed and *request becomes NULL; NULL is
   finished. limit_ns: NBC_E_TIMEOUT after that long, the request goes on; 0 = wait for ever. */
NBC_API nbc_status nbc_coll_test(nbc_request **request);
NBC_API nbc_status nbc_coll_wait(nbc_request **request, int64_t limit_ns);
/* Several at once, on any communicators of this thread; NULL is finished. As nbc_coll_test and
   nbc_coll_wait do one, so these end those that are over. What one of them ended with besides NBC_OK is
   returned when all are over (the first such; nbc_comm_error of its communicator has its text).
     waitall   all are over; NBC_E_TIMEOUT: those that are not go on, the others are NULL
     testall   the same without waiting; NBC_PENDING: none is ended
     waitany   *index = one that was ended, -1 when all are NULL or idle
     waitsome  which[0 ... *done - 1] = all that were over when there was one; *done 0 when all are NULL
   ret also NBC_E_INVAL: a pointer is NULL, a count is negative */
NBC_API nbc_status nbc_coll_waitall(int count, nbc_request *requests[], int64_t limit_ns);
NBC_API nbc_status nbc_coll_testall(int count, nbc_request *requests[]);
NBC_API nbc_status nbc_coll_waitany(int count, nbc_request *requests[], int *index,
                                    int64_t limit_ns);
NBC_API nbc_status nbc_coll_waitsome(int count, nbc_request *requests[], int *done, int which[],
                                     int64_t limit_ns);
/* The end without waiting, also of a running request: its receives are cancelled where the
   transport can; what cannot be recalled stays until the communicator is destroyed. NULL
   allowed. */
NBC_API void nbc_coll_free(nbc_request *request);
NBC_API const nbc_schedule *nbc_coll_schedule(const nbc_request *request); /* to print or price */
/* Starts and waits. */
NBC_API nbc_status nbc_coll_run(nbc_comm *comm, const nbc_coll_args *args);

/* ---- for later pieces ---- */
/* ---- communicators and requests ------------------------------------------------------------ */
/* A schedule that may be wanted again is kept with its key; the last finished request of it too,
   with its memory, so that a repeated call builds and allocates nothing. */
enum { NBC__COLL_CACHED = 32, NBC__COLL_OPERATORS = 16, NBC__COLL_SEQUENCES = 1 << 19 };

typedef struct nbc__coll_entry {
  nbc_schedule_desc key; /* as asked for, rank and pointers included: all 0 */
  nbc_schedule *schedule;
  nbc_request *spare;
  uint64_t last_use_count;
  uint32_t user_count; /* requests that run it */
} nbc__coll_entry;

/* What a transport gets, with the way back: op.user points here, so a completion finds its node
   without a search. */
typedef struct nbc__coll_op {
  nbc_op op;
  nbc_request *request;
  uint32_t node;
} nbc__coll_op;

/* What the nodes of a schedule work on. */
typedef struct nbc__coll_data {
  unsigned char *areas[NBC_AREA_COUNT];
  void *scratch_memory;
  nbc__coll_kernel kernel; /* NULL: the reduction is the user's, user_fn with user */
  nbc_reduce_fn user_fn;
  void *user;
} nbc__coll_data;

/* How far the run of a schedule has come. advancing: a caller further up the stack is starting
   nodes; flying_count: messages started and not finished. */
typedef struct nbc__coll_run {
  uint64_t tag;
  uint32_t *left;  /* per node: predecessors not finished */
  uint32_t *ready; /* nodes in the order in which they became ready: each comes once */
  uint32_t first_ready_count, ready_count, finished_count, flying_count;
  bool advancing;
  uint32_t spoiled;  /* atomic: a message had another length; from now on this rank's are empty */
  nbc__coll_op *ops; /* per node that sends or receives */
  uint32_t *op_of;   /* per node: index in ops */
} nbc__coll_run;

/* The checking mode: a comparison is a request of its own that runs before the one it is for. */
typedef struct nbc__coll_compare {
  nbc_request *before, *after; /* the comparison of this request; the request of this comparison */
  struct nbc__coll_summary *summaries; /* of a comparison: what each rank is told, then tells */
} nbc__coll_compare;

typedef struct nbc__coll_times {
  int64_t t_start_ns, t_spoiled_ns;
  int64_t t_done_ns; /* of the completion being handled, for an engine's histogram; 0 = none */
} nbc__coll_times;

/* While a request is in the hands of an engine, others touch it only under the engine's lock. Of
   what changes, only its state is read without: so a thread that waits learns the end. */
struct nbc_request {
  nbc__prog_work work; /* first: what an engine gets */
  nbc_comm *comm;
  nbc_request *before, *next; /* all requests of the communicator */
  nbc__coll_entry *entry;     /* NULL: the schedule is this request's own */
  nbc_schedule *schedule;
  nbc_coll_args args; /* without the arrays of counts */
  bool persistent;
  uint32_t state; /* atomic: nbc__coll_state; changed in nbc__coll_enter only */
  nbc_error error;
  nbc__coll_data data;
  nbc__coll_run run;
  nbc__coll_compare compare;
  nbc__coll_times times;
};

struct nbc_comm {
  nbc_comm_desc desc;
  nbc_transport *t;
  nbc_choice choice;
  nbc_error err;
  nbc_request *requests;
  nbc__coll_entry entries[NBC__COLL_CACHED];
  uint64_t use_count;
  nbc_transport *own_transport; /* of nbc_mpi_comm: go with the communicator */
  nbc_progress *own_progress;
  uint32_t sequence_index, persistent_index; /* collectives started; persistent ones made */
  int operator_count;
  struct {
    nbc_reduce_fn fn;
    void *user;
    bool commutative;
  } operators[NBC__COLL_OPERATORS];
};

NBC__PRIVATE bool nbc__coll_is_active(const nbc_request *r);
NBC__PRIVATE bool nbc__coll_step_one(nbc_request *r);

/* ---- checking mode ------------------------------------------------------------------------- */
/* Before a collective, every rank tells every other what it is about to call: an alltoall of
   summaries, itself a request whose end starts the real one. */
typedef struct nbc__coll_summary {
  uint64_t count, segment_bytes, counts_hash, to_you_bytes, from_you_bytes;
  int32_t coll, type, reduce, root, algo, radix;
} nbc__coll_summary;
