/* Two-sided messages over Portals. */
#pragma once
#include "carrier.h"
/* ============================================================================================== */
/* [MSG] 9. Two-sided messages over Portals                                                       */
/* ============================================================================================== */
/* Send and receive for a process, made of Portals calls, the way MPI libraries do it: up to
   eager_bytes the data goes at once, into the buffer of a posted receive or an overflow block;
   longer messages announce themselves, and then, by pm_msg_desc.large:
     GET        the receiver fetches the data: one transfer, which the receiver's NIC drives alone
     PUT        the receiver tells where to, the sender puts the data: one transfer
                (one per max_msg_size, 64 MiB, that is as much as a Portals operation moves)
     PIPELINED  the announcement carries the first fragment; told where to, the sender puts the other
                fragments, so many at once: a transfer each
   Matching is by (peer, 64-bit tag) in posting order. Unexpected eager data beyond overflow_bytes *
   overflow_count is refused and its send fails.
   Who goes on with a message: the NIC alone with a matched eager put and with a fetch under way;
   everything else
     IN_CALLS   pm_msg_progress and pm_msg_wait of the process
     DEDICATED  a worker on a core of its own, which looks every cpu_poll_ns; the calls of the process
                only hand over and look whether it is done. Costs a core: see pm_msg_compute_ns
     TIMER      a worker which looks every worker_period_ns and takes the time for it (cpu_switch_ns
                and what it does) from the process's cores; waiting processes help
   With a worker, operations are handed over at no cost and posted by the worker. */
#define PM_MSG_ANY_PEER (-1)

typedef enum pm_msg_large { PM_MSG_GET = 0, PM_MSG_PUT, PM_MSG_PIPELINED } pm_msg_large;
typedef enum pm_msg_progress_by {
  PM_MSG_IN_CALLS = 0,
  PM_MSG_DEDICATED,
  PM_MSG_TIMER
} pm_msg_progress_by;

typedef struct pm_msg pm_msg; /* one per process */
typedef struct pm_msg_op pm_msg_op;
struct pm_msg_op {             /* the caller's, untouched until finished */
  void (*done)(pm_msg_op *op); /* called by progress; may be NULL, may post new operations; may not
                                  wait, nor let simulated time pass when there is a worker */
  void *user;
  /* results */
  int finished;
  pm_status status; /* PM_OK | PM_E_TRUNCATED | PM_E_PORTALS (refused, undeliverable) */
  int peer;
  uint64_t size_bytes;
  /* the layer's own */
  pm_msg_op *next, *prev;
  void *buffer;
  uint64_t limit_bytes, tag, number_id, fragment_bytes, rest_bytes, peer_number_id;
  ptl_process_t target_id;
  ptl_handle_any_t handle;
  uint32_t next_fragment, ack_count;
  bool is_send, is_shown, is_granted;
  int stage, wait_count, in_flight_count;
};
/* What an observer is told about a transfer of an operation: number index of count. */
typedef enum pm_msg_step {
  PM_MSG_BEGAN = 0, /* its data may be on the way from now on */
  PM_MSG_ENDED,     /* the layer knows that it has arrived, or may be overwritten */
  PM_MSG_CAME,      /* the same; the layer cannot say when it began: there was no BEGAN */
  PM_MSG_ON_WIRE    /* when it really was: t_begin_ns .. t_end_ns, which may lie in the future */
} pm_msg_step;
typedef struct pm_msg_transfer {
  pm_msg_op *op;
  pm_msg_step step;
  uint32_t index, count;
  uint64_t size_bytes;
  int64_t t_begin_ns, t_end_ns;
} pm_msg_transfer;

typedef struct pm_msg_desc {
  size_t eager_bytes;    /* 0 = 4096 */
  pm_msg_large large;    /* above that */
  size_t fragment_bytes; /* PIPELINED; 0 = 65536; at most overflow_bytes */
  int inflight_count;    /* PIPELINED: fragments of one message under way at once; 0 = 4 */
  pm_msg_progress_by by;
  int64_t worker_period_ns; /* TIMER; 0 = 2 ms. The first look comes at a random moment of it */
  size_t overflow_bytes;    /* of one block; 0 = 256 KiB */
  int overflow_count;       /* blocks; 0 = 4 */
  int pt_index;             /* this and the next one of the portal table are used; 0 = 240 */
  void (*observe)(void *user, const pm_msg_transfer *transfer);
  void *user;
} pm_msg_desc;

/* Inside a process; all processes of the world must open before one of them sends: ends with a
   pm_barrier. Calls PtlInit and opens a matching, physical interface. desc NULL = defaults; protocol
   and sizes must be the same everywhere. With observe, pm_on_stamp is taken.
   ret PM_OK | PM_E_INVAL (also: no second core for a dedicated worker) | PM_E_STATE | PM_E_NOMEM |
   PM_E_PORTALS */
PM_API pm_status pm_msg_open(const pm_msg_desc *desc, pm_msg **msg);
/* Operations still under way are forgotten. The process may only end after it. NULL allowed. */
PM_API void pm_msg_close(pm_msg *msg);
PM_API pm_msg_desc pm_msg_desc_of(const pm_msg *msg); /* the values in force */
/* op->done and op->user are set by the caller, the rest here. ret PM_OK | PM_E_INVAL | PM_E_PORTALS */
PM_API pm_status pm_msg_isend(pm_msg *msg, const void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op);
PM_API pm_status pm_msg_irecv(pm_msg *msg, void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op);
/* Handles all events there are; a look in vain costs cpu_poll_ns, growing when repeated. */
PM_API void pm_msg_progress(pm_msg *msg);
/* Handles events until op has finished, blocking in between; op NULL: until something happened.
   ret op->status */
PM_API pm_status pm_msg_wait(pm_msg *msg, pm_msg_op *op);
/* Withdraws a receive that nothing has matched yet. ret PM_OK | PM_E_STATE: it goes on */
PM_API pm_status pm_msg_cancel(pm_msg *msg, pm_msg_op *op);
/* In a done callback, or before posting: work that whoever handles the message has to do first, such as a
   reduction. The time passes before it posts or handles anything more. */
PM_API void pm_msg_work_ns(pm_msg *msg, int64_t d_ns);
/* Computes what takes so long on all N cores of the process (cores_per_node_count over the processes
   of the node): N/(N-1) times as long beside a dedicated worker; beside a timer's, longer by what the
   worker took from one of the cores, since the slowest core counts [R 4.1]. */
PM_API void pm_msg_compute_ns(pm_msg *msg, int64_t d_ns);
