/* MPI inside the simulated machine: what its parts share. No mpi.h here: the core has own objects and
   own constants, and the calls_*.c files put an ABI (today that of MPICH) on top of them.

     progress.c  messages over Portals: eager, rendezvous by a fetch of the receiver, matching by the NIC
     type.c      datatypes: layout, packing, external32
     op.c        operators
     coll.c      collectives: schedules of nbc_overlap.h run over progress.c
     comm.c      groups, contexts, communicators
     calls_*.c   the MPI functions, by subject
     abi.h       handles of the ABI, its constants

   Every object belongs to one simulated process (gm_self()); groups alone are shared by all processes,
   since most have the same. Errors are MPI's error classes. "gm" stands for guest MPI; nothing but MPI's
   own names is visible to the programs. */
#ifndef GM_H
#define GM_H
#pragma GCC visibility push(default)
#include "portals_model.h"
#pragma GCC visibility pop
#include "nbc_overlap.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct gm_proc gm_proc;
typedef struct gm_msg gm_msg;
typedef struct gm_type gm_type;
typedef struct gm_op gm_op;
typedef struct gm_group gm_group;
typedef struct gm_comm gm_comm;
typedef struct gm_coll gm_coll;
typedef struct gm_req gm_req;
typedef struct gm_attr gm_attr;
typedef struct gm_buffer gm_buffer;
typedef struct gm_errh gm_errh;
typedef struct gm_info gm_info;

/* Error classes with the meaning and the numbers that they have in MPICH; abi.h checks them. */
enum {
  GM_OK = 0,
  GM_ERR_BUFFER,
  GM_ERR_COUNT,
  GM_ERR_TYPE,
  GM_ERR_TAG,
  GM_ERR_COMM,
  GM_ERR_RANK,
  GM_ERR_ROOT,
  GM_ERR_GROUP,
  GM_ERR_OP,
  GM_ERR_TOPOLOGY,
  GM_ERR_DIMS,
  GM_ERR_ARG,
  GM_ERR_UNKNOWN,
  GM_ERR_TRUNCATE,
  GM_ERR_OTHER,
  GM_ERR_INTERN,
  GM_ERR_IN_STATUS,
  GM_ERR_PENDING,
  GM_ERR_REQUEST,
  GM_ERR_NO_MEM = 34,
  /* later than MPICH 4.0: for other ABIs */
  GM_ERR_LATER = 0x3fffff00,
  GM_ERR_ERRHANDLER = GM_ERR_LATER,
  GM_ERR_ABI,
  GM_T_ERR_NOT_ACCESSIBLE,
  GM_ERR_LATER_END
};
enum {
  GM_ANY_SOURCE = -2,
  GM_PROC_NULL = -1,
  GM_ROOT = -3,
  GM_ANY_TAG = -1,
  GM_UNDEFINED = -32766
};
#define GM_TAG_UB 0x0FFFFFFF

/* ---- messages (progress.c) ---------------------------------------------------------------------- */
/* One send or receive of bytes. The caller's, untouched until it is done. */
struct gm_msg {
  /* who is to be told: stays when it is started again */
  void (*done)(
      gm_msg *msg); /* called when it ends, by who handles events: may post, may not wait */
  void *user;
  bool (*is_light)(
      const gm_msg *msg); /* asked before it is done: whether that needs no stack of the
                                         process, since nothing of the program's is called; NULL: it does */
  nbc_recorder *owner;    /* of the thread that asked for it; NULL: to be found out */
  uint16_t place;         /* where it asked: the monitor's number; with its owner */
  uint8_t kind;           /* of the call in which it asked, where that tells; with its owner */
  int64_t asked_ns;       /* when; with its owner */
  uint32_t user_id;
  bool is_quiet; /* of the library itself: in no report */
  /* the rest begins anew, see prepare() */
  bool is_done;
  bool is_message;                                 /* not the operation of a window */
  bool is_send, is_sync, is_posted, has_met, asks; /* asks: to be told whether it was early */
  bool has_entry;                                  /* one of entries_left */
  int error, source, tag;                          /* source: rank in the world */
  uint64_t bytes;
  /* of progress.c */
  void *buffer;
  uint64_t limit_bytes;
  uint32_t context, slot;
  int peer, want_tag, waits, pieces_seen;
  ptl_handle_any_t handle;
  gm_msg *next, *before, *alike; /* while it waits for room; alike: on its shelf */
  uint64_t late_number;
  uint64_t xfer_id;       /* in the report */
  int64_t comp_ns;        /* of a large send: its thread's computation when it was posted */
  int64_t other_asked_ns; /* the partner's asked_ns, + 1; 0: not known */
};
/* What a probe found; `early` is the message itself when it was taken out of the queue. */
typedef struct gm_probe {
  bool is_over, is_found;
  int source, tag;
  uint64_t bytes, hdr;
  ptl_process_t initiator;
  void *early;
  uint64_t early_bytes;
} gm_probe;

typedef enum gm_progress { GM_IN_CALLS = 0, GM_DEDICATED, GM_TIMER } gm_progress;
/* Options of the run, the same for every process. Set before it, never changed in it. */
typedef struct gm_options {
  gm_progress progress;
  const char *report, *program; /* folder, or NULL; name for it */
  int computes;                 /* CPU time of the host counts */
  bool is_fixed;       /* a process's variables are at their addresses only while it runs itself */
  bool is_traced;      /* calls go into the trace */
  int takes_aliases;   /* one buffer for both sides of a collective: as in place, no error */
  int names_are_paths; /* of files: no file system stands before it */
  int64_t period_ns;
  uint64_t eager_bytes;
  int64_t early_mb;      /* MiB of messages before their receives, of a process */
  double io_bytes_per_s; /* of a file, per process */
  int64_t io_latency_ns;
  /* Portal of messages; fetches are on the next, windows on the one after it. A table of portals
     is as long as its largest index */
  ptl_pt_index_t first_pt;
  const nbc_choice *choice; /* of algorithms; NULL: ours */
} gm_options;
extern gm_options gm_set;
/* Replays have no data: all their buffers lie here, in address space that nobody touches. NULL: real buffers. */
extern char *gm_nowhere;
void gm_nowhere_open(void);

/* Receives that wait for room and ask for the same, or for what has the same hash, in order. */
typedef struct gm_shelf {
  gm_msg *first, *last;
} gm_shelf;

typedef struct gm_table {
  void **item;
  uint32_t *free_next;
  uint32_t count, max, first_free;
} gm_table;
enum {
  GM_T_COMM = 1,
  GM_T_GROUP,
  GM_T_TYPE,
  GM_T_FILE,
  GM_T_ERRH,
  GM_T_OP,
  GM_T_INFO,
  GM_T_WIN,
  GM_T_KEYVAL,
  GM_T_REQ = 11,
  GM_T_SESSION = 14,
  GM_T_COUNT = 16
};

typedef struct gm_waiter {
  pm_thread *thread;
  const bool *flag;
  struct gm_waiter *next;
  const nbc_recorder *recorder; /* its own; NULL without a report */
  const struct gm_place *place; /* of the call in which it waits */
} gm_waiter;

/* A search that found nothing, and how many messages had come early by then: until there are more of them,
   it would find nothing again. */
typedef struct gm_vain {
  bool is_set;
  int peer, tag;
  uint32_t context;
  uint64_t early_count;
} gm_vain;
enum { GM_VAIN = 4 };

/* Receives and sends, of the program and of the library itself (collectives): each of the four is in an order of its
   own, and those of the program leave entries of the NIC to the others. */
enum { GM_RECEIVES = 0, GM_OF_LIBRARY = 1, GM_SENDS = 2, GM_ORDERS = 4 };
struct gm_proc {
  int rank, size; /* in the world */
  int state;      /* 0 before, 1 between, 2 after MPI_Init ... MPI_Finalize */
  bool is_open;   /* interface is there; sessions count too */
  int sessions, thread_level;
  pm_thread *main_thread, *worker; /* worker: while it handles events */
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md, md_quiet;
  ptl_pt_index_t pt, pt_shown, pt_win;
  uint64_t piece_bytes, atomic_bytes, fetch_bytes; /* the most that one operation moves */
  ptl_handle_ct_t early_ct; /* counts the messages that came before their receives */
  gm_vain vain[GM_VAIN];    /* the last probes that found nothing */
  unsigned next_vain;
  bool has_win_entry;
  uint32_t slots;
  char *early, *reserve;
  gm_msg *late[GM_ORDERS], *late_tail[GM_ORDERS]; /* that the NIC has no room for yet, in order */
  uint32_t late_count;
  uint64_t late_numbers;
  gm_shelf *shelves; /* of receives among them */
  uint32_t shelf_count;
  int posting;                 /* 1 + the order of one that is being posted now */
  int entries_left[GM_ORDERS]; /* of the NIC */
  pm_thread *looker;           /* who looks for messages of late receives; NULL: nobody */
  uint64_t looked_count;       /* as many had come early when it looked last */
  int64_t idle_since_ns,
      busy_since_ns;   /* without an event; since that look. 0: none was made since */
  uint64_t idle_count; /* of events, when it became idle */
  gm_waiter *waiters;
  bool has_poller;
  int self_moving,
      self_early; /* messages to oneself: what is under way; what came before its receive */
  int runs_ahead; /* posts become steps, and light events are handled outside of its stack */
  uint64_t contexts_made;
  uint32_t partitions_expected; /* messages that receives in partitions have tags for, so far */
  gm_comm *comms;               /* all that live here */
  gm_comm *world, *self;
  gm_table table[GM_T_COUNT];
  gm_req *free_reqs;
  gm_msg *free_msgs;
  gm_coll *handed, *handed_last; /* collectives that the worker is to begin */
  uint64_t event_count;          /* events taken so far */
  int64_t stolen_ns;             /* by a timer's worker from the computation */
  int ticks;
  gm_errh *file_errh;          /* of files yet to be opened; NULL: returns */
  gm_buffer *buffer, *buffers; /* of the process; all of it */
  void *abi;                   /* of the calls */
  struct gm_record *record;    /* NULL: none */
  nbc_recorder *recorder;      /* of pm_replay, whose processes have one thread */
};
void gm_procs_are(int size);   /* before several threads of the host make them */
gm_proc *gm_self(void);        /* NULL outside of a process; made at the first call */
gm_proc *gm_proc_at(int rank); /* NULL: has called nothing */
int gm_open(gm_proc *p);
void gm_keep_headers(ptl_handle_ni_t ni); /* model.c: as many of early messages as memory allows */
void gm_close(gm_proc *p);
void gm_isend(gm_proc *p, gm_msg *m, const void *buffer, uint64_t bytes, int peer, uint32_t context,
              int tag, bool is_sync);
void gm_irecv(gm_proc *p, gm_msg *m, void *buffer, uint64_t bytes, int peer, uint32_t context,
              int tag);
int gm_cancel(gm_proc *p, gm_msg *m); /* 1: withdrawn */
void gm_probe_for(gm_proc *p, gm_probe *probe, int peer, uint32_t context, int tag, int take);
/* Goes on with what a probe took. */
void gm_irecv_taken(gm_proc *p, gm_msg *m, void *buffer, uint64_t bytes, gm_probe *probe);
/* How many messages it may still post. */
int gm_room(const gm_proc *p);
/* Waits until the flag is set by an event. */
void gm_wait(gm_proc *p, const bool *flag);
/* Waits for any event. */
void gm_wait_event(gm_proc *p);
/* Handles what is there; a look in vain takes its time. ret 0: nothing was there */
int gm_poll(gm_proc *p);
/* Waits until nothing is under way between a process and itself. */
void gm_self_rest(gm_proc *p);
int gm_rank_of(ptl_process_t id);
void gm_busy_bytes(double bytes); /* a copy or reduction of so many bytes by the CPU */
void gm_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void *gm_alloc(size_t bytes); /* zeroed; ends the run when there is none */
void *gm_grow(void *array, uint32_t *max, uint32_t need, size_t size);
/* A compiler's own code for so many bytes (rep stos) takes longer to begin than libc's takes for all. */
static inline void gm_zero(void *object, size_t bytes) {
  __asm__("" : "+r"(bytes)); /* not known to the compiler */
  memset(object, 0, bytes);
}
uint32_t gm_table_grow(gm_table *t); /* ret a new slot, its last */
/* Slot 0 is never used, so that it can mean "none". */
static inline uint32_t gm_put(gm_table *t, void *item) {
  const uint32_t first = t->first_free, i = first ? first : gm_table_grow(t);
  if (first) t->first_free = t->free_next[i];
  t->item[i] = item;
  return i;
}
static inline void *gm_at(const gm_table *t, uint32_t index) { /* NULL: none */
  return index < t->count ? t->item[index] : NULL;
}
static inline void gm_drop(gm_table *t, uint32_t index) {
  t->item[index] = NULL;
  t->free_next[index] = t->first_free;
  t->first_free = index;
}

/* ---- datatypes (type.c) -------------------------------------------------------------------------- */
typedef enum gm_kind { /* of basic types */
                       GM_K_NONE = 0,
                       GM_K_BYTE,
                       GM_K_CHAR,
                       GM_K_LOGICAL4,
                       GM_K_BOOL,
                       GM_K_WCHAR,
                       GM_K_I8,
                       GM_K_U8,
                       GM_K_I16,
                       GM_K_U16,
                       GM_K_I32,
                       GM_K_U32,
                       GM_K_I64,
                       GM_K_U64,
                       GM_K_F16,
                       GM_K_F32,
                       GM_K_F64,
                       GM_K_F80,
                       GM_K_F128,
                       GM_K_C32,
                       GM_K_C64,
                       GM_K_C80,
                       GM_K_C128,
                       GM_K_PAIR_F32,
                       GM_K_PAIR_F64,
                       GM_K_PAIR_I64,
                       GM_K_PAIR_I16,
                       GM_K_PAIR_I32,
                       GM_K_PAIR_F80,
                       GM_K_PAIR_2F32,
                       GM_K_PAIR_2F64,
                       GM_K_COUNT
} gm_kind;
typedef struct gm_part { /* so many children one after the other, from there on */
  int64_t disp;
  uint64_t count;
  gm_type *child;
} gm_part;
struct gm_type {
  int refs,
      users; /* users: reductions under way by a function of the program, which is told its handle */
  bool is_committed, is_static, is_freed; /* is_freed: by the program, while there were users */
  gm_kind kind;                           /* basic; NONE: derived */
  uint64_t size, part_count, elements;    /* elements: basic ones */
  int64_t lb, ub, true_lb, true_ub;
  bool is_dense; /* its bytes lie in one piece, in order, from true_lb on */
  int align;
  uint8_t external_bytes; /* of a basic type in external32, where not as here; 0: as here */
  uint64_t repeat;        /* > 1 or vector: part[0] repeat times, stride apart */
  int64_t stride;
  gm_part *part;
  /* envelope and contents */
  int combiner, int_count, aint_count, count_count, type_count;
  int *ints;
  int64_t *aints, *counts;
  gm_type **types;
  gm_attr *attrs;
  char *name;
  int handle;
};
#define GM_EXTENT(t) ((t)->ub - (t)->lb)
/* bytes lie as they are sent, for any count */
#define GM_IS_PLAIN(t) ((t)->is_dense && (int64_t)(t)->size == GM_EXTENT(t))
gm_type *gm_type_basic(gm_kind kind, uint64_t size, int align);
gm_type *gm_type_list(const gm_part *parts, uint64_t count);
gm_type *gm_type_vector(uint64_t count, uint64_t blocklen, int64_t stride_bytes, gm_type *child);
gm_type *gm_type_resized(gm_type *old, int64_t lb, int64_t extent);
void gm_type_free(gm_type *t);
static inline void gm_type_ref(gm_type *t) {
  if (!t->is_static) t->refs++;
}
static inline void gm_type_unref(gm_type *t) {
  if (!t->is_static && !--t->refs) gm_type_free(t);
}
/* From count elements at buffer to packed bytes, and back; at most max_bytes. ret bytes moved */
uint64_t gm_pack(const void *buffer, uint64_t count, const gm_type *t, void *packed);
uint64_t gm_unpack(void *buffer, uint64_t count, const gm_type *t, const void *packed,
                   uint64_t bytes);
/* Pieces of memory, joined where they touch. */
void gm_pieces(const gm_type *t, uint64_t count, int64_t at,
               void (*fn)(void *arg, int64_t offset, uint64_t bytes), void *arg);
/* Whole basic elements in so many bytes, UINT64_MAX when a piece of one is left; count: whole t. */
uint64_t gm_elements(const gm_type *t, uint64_t bytes);
uint64_t gm_elements_bytes(const gm_type *t, uint64_t elements);
uint64_t gm_external_size(const gm_type *t, uint64_t count);
uint64_t gm_external(const void *from, void *to, uint64_t count, const gm_type *t, bool is_unpack,
                     uint64_t max_bytes);
/* Copy between two typed buffers through packed form. */
void gm_copy(const void *from, uint64_t from_count, const gm_type *from_type, void *to,
             uint64_t to_count, const gm_type *to_type);
gm_kind gm_kind_of(const gm_type *t); /* the one basic kind it is made of; NONE: several */

/* ---- operators (op.c) ---------------------------------------------------------------------------- */
enum {
  GM_OP_NULL,
  GM_MAX,
  GM_MIN,
  GM_SUM,
  GM_PROD,
  GM_LAND,
  GM_BAND,
  GM_LOR,
  GM_BOR,
  GM_LXOR,
  GM_BXOR,
  GM_MINLOC,
  GM_MAXLOC,
  GM_REPLACE,
  GM_NO_OP,
  GM_OP_USER
};
struct gm_op {
  int refs, id;
  bool is_commutative, is_large;
  void (*call)(gm_op *op, void *in, void *inout, uint64_t count, gm_type *t); /* of a user's */
  void *fn, *through; /* through: a function of C++'s library that calls fn */
  int handle;
};
/* inout[i] = in[i] op inout[i]. ret 0: no such operator for this type */
int gm_op_fits(const gm_op *op, const gm_type *t);
void gm_op_apply(gm_op *op, gm_type *t, const void *in, void *inout, uint64_t count);

/* ---- groups and communicators (comm.c) ------------------------------------------------------------ */
struct gm_group { /* shared by all processes: the same ranks, the same object */
  int refs, size;
  int *rank; /* NULL: 0, 1, 2 ... */
  uint64_t hash;
  gm_group *next;
  int *place;                   /* sorted order of rank[], made when asked for the first time */
  int *nodes;                   /* gm_group_nodes, the same way */
  int knows_nodes, fills_nodes; /* fills: members of one node stand together */
};
gm_group *gm_group_make(int size, const int *ranks); /* NULL: 0 ... size-1 */
gm_group *gm_group_keep(gm_group *g);
void gm_group_leave(gm_group *g);
static inline int gm_group_world(const gm_group *g, int rank) { /* world's rank of a member */
  return g->rank ? g->rank[rank] : rank;
}
int gm_group_find(gm_group *g, int world_rank); /* GM_UNDEFINED: not in it */
/* Who shares a node with whom: of each member the first one on its node. NULL: two levels are none, for all are on
   one node or all on nodes of their own, or there are more than GM_LEVELS members: a process's plan then takes time
   that grows with their number, and is not kept. */
enum { GM_LEVELS = 4096 };
const int *gm_group_nodes(gm_group *g);
/* Inside a process: all that is made when asked for is there. Then processes may use the group over several threads of the
   host, see pm_world_desc.threads. */
void gm_group_ready(gm_group *g);

typedef struct gm_topo {
  int kind, dim_count, size, in_count, out_count, edge_count;
  bool is_weighted;
  int *dims, *periods, *index, *edges, *in, *out, *in_weights, *out_weights;
} gm_topo;
typedef struct gm_plan { /* a schedule that may be used again */
  nbc_schedule_desc desc;
  nbc_schedule *schedule;
} gm_plan;
enum { GM_PLANS = 6 };
typedef struct gm_channel { /* partitioned requests made for one peer with one tag */
  struct gm_channel *next;
  int peer, tag;
  bool is_send;
  uint32_t count;
} gm_channel;
struct gm_comm {
  int refs, rank, handle;
  bool is_freed;
  uint32_t context, sequence, persistent; /* collectives so far, persistent ones made so far */
  gm_group *local, *remote;               /* remote: NULL in an intracommunicator */
  gm_comm *local_comm;                    /* of an intercommunicator, for its collectives */
  bool is_low;                            /* which side of an intercommunicator comes first */
  gm_topo *topo;
  gm_channel *channels;
  gm_attr *attrs;
  gm_errh *errh;
  gm_info *info;
  gm_buffer *buffer; /* NULL: its process's */
  char *name;
  gm_plan plan[GM_PLANS];
  int next_plan;
  gm_comm *next, **link; /* all of its process */
};
/* Per communicator: messages, collectives, creation from groups, windows and files; of partitioned messages: who sends
   says what it will send, from GM_PARTS on, is answered from GM_ANSWERS on, and sends. */
#define GM_CONTEXTS  16
#define GM_PARTS     4
#define GM_ANSWERS   8
#define GM_PARTITION 12
gm_comm *gm_comm_make(gm_proc *p, gm_group *local, gm_group *remote, uint32_t context);
void gm_comm_free(gm_comm *c);
static inline void gm_comm_unref(gm_comm *c) {
  if (c && !--c->refs) gm_comm_free(c);
}
static inline gm_group *gm_peers(const gm_comm *c) { return c->remote ? c->remote : c->local; }
/* A new context, made by one process (0 for the others), and agreed by all members. */
int64_t gm_context_new(gm_proc *p, bool is_maker);
uint32_t gm_comm_agree(gm_proc *p, gm_comm *c);

/* ---- collectives (coll.c) ------------------------------------------------------------------------ */
#define GM_PERSISTENT 0x80000000u /* in the number of a collective */
typedef struct gm_coll_args {
  nbc_schedule_desc desc; /* rank, size filled in */
  const void *send;
  void *recv;
  gm_op *op;
  gm_type *type;
} gm_coll_args;
struct gm_coll {
  gm_proc *proc;
  const nbc_schedule *schedule;
  int owns_schedule;
  char *area[NBC_AREA_COUNT];
  char *scratch, *spare;
  uint32_t *left, todo; /* nodes before each that are not finished; nodes not finished */
  uint32_t *ready, ready_first, ready_last;
  gm_group *peers;
  uint32_t context, sequence;
  nbc_recorder *owner; /* of its messages; NULL: no report */
  uint16_t place;      /* of all of them */
  gm_op *op;
  gm_type *type;
  int error;
  bool is_done, is_firing, is_numbered; /* is_numbered: its sequence is given by who starts it */
  uint32_t in_flight;
  gm_coll *next_handed;
  void (*done)(gm_coll *c);
  void *user;
};
/* Starts; done is called at the end, perhaps before this returns. */
int gm_coll_start(gm_proc *p, gm_comm *comm, gm_coll_args *args, gm_coll *c);
int gm_coll_start_schedule(gm_proc *p, gm_comm *comm, nbc_schedule *schedule, int owns,
                           const void *send, void *recv, gm_op *op, gm_type *type, gm_coll *c);
void gm_coll_clear(gm_coll *c);
int gm_coll_run(gm_proc *p, gm_comm *comm, gm_coll_args *args); /* and waits */
int gm_coll_begin_handed(gm_proc *p); /* by the worker: the next one; 0: none */
/* For the core itself: small integers among the members. */
int gm_allgather_bytes(gm_proc *p, gm_comm *c, const void *mine, void *all, uint64_t bytes);
int gm_allreduce_max(gm_proc *p, gm_comm *c, int64_t *values, int count);
int gm_bcast_bytes(gm_proc *p, gm_comm *c, void *data, uint64_t bytes, int root);
int gm_barrier(gm_proc *p, gm_comm *c);
/* Schedules of sends, receives and reductions that this file's callers write themselves. */
typedef struct gm_draft {
  nbc_node *node;
  uint32_t *after, *from; /* edges: from -> after */
  uint32_t nodes, nodes_max, edges, edges_max;
  uint64_t scratch_bytes;
} gm_draft;
uint32_t gm_draft_send(gm_draft *d, int peer, uint32_t tag, nbc_area area, uint64_t offset,
                       uint64_t bytes);
uint32_t gm_draft_recv(gm_draft *d, int peer, uint32_t tag, nbc_area area, uint64_t offset,
                       uint64_t bytes);
uint32_t gm_draft_copy(gm_draft *d, nbc_area to, uint64_t to_offset, nbc_area from,
                       uint64_t from_offset, uint64_t bytes);
uint32_t gm_draft_reduce(gm_draft *d, nbc_area dst, uint64_t dst_offset, nbc_area left,
                         uint64_t left_offset, nbc_area right, uint64_t right_offset,
                         uint64_t bytes);
void gm_draft_edge(gm_draft *d, uint32_t before, uint32_t after);
nbc_schedule *gm_draft_finish(gm_draft *d, uint64_t elem_bytes);

/* ---- what calls take (cost.c) -------------------------------------------------------------------------- */
extern int gm_has_costs;
void gm_costs_read(const char *path);
void gm_cost(const char *name);

/* ---- the report (record.c, places.c) ------------------------------------------------------------------ */
/* Calls of one kind from one place of the program, in one process. */
typedef struct gm_from {
  uintptr_t address, frame;
} gm_from;
typedef struct gm_place {
  uintptr_t address;
  const char *name; /* of the call */
  nbc_site where;
  int32_t through; /* it only passes calls on: as distance_to_next says; 0: it does not */
  uint16_t number; /* the monitor's */
} gm_place;
/* Looks (MPI_Test, MPI_Iprobe) by one thread, with no other call between them. */
typedef struct gm_looks {
  const nbc_recorder *by; /* NULL: none */
  bool tests, probes;
  int64_t begin_ns, end_ns, gaps_ns, count; /* count: of gaps */
} gm_looks;
typedef struct
    gm_ending { /* transfers from one place that ended in calls at another, by the monitor's numbers */
  uint16_t begin, end; /* 0: a free place */
  uint64_t count;
  int64_t waited_ns;
} gm_ending;
typedef struct gm_with {
  nbc_pair pair;
  int64_t last_until_ns; /* up to then it was told of waiting for the partner as the last */
} gm_with;
struct gm_record {
  nbc_monitor *monitor;
  nbc_recorder *first; /* of the thread that called MPI_Init: has what nobody else asked for */
  uint64_t ids;        /* of all threads together: a recorder may serve one after another */
  bool is_off;         /* MPI_Pcontrol(0) */
  gm_place **places;   /* by their address, at most half full */
  uint32_t place_mask, place_count;
  gm_with *with; /* by partner, at most half full; those without a message are empty */
  uint32_t pair_mask, pair_count;
  int64_t told_ns;      /* up to then what is waited has been told of */
  nbc_waits waits;      /* each moment once, until counted_ns */
  nbc_wait_span *noted; /* of the last calls */
  uint32_t noted_count, noted_room;
  int64_t counted_ns;
  gm_looks looks;     /* the last ones */
  gm_ending *endings; /* at most half full */
  uint32_t ending_mask, ending_count;
};
/* NULL: no place, or no more memory for places. */
gm_place *gm_place_of(gm_proc *p, const char *name, gm_from from);
/* Of the call that the running thread is in, and since when; of who holds threads. */
gm_place **gm_place_now(void);
int64_t *gm_place_since(void);
void gm_record_begin(gm_proc *p);
void gm_record_end(gm_proc *p);
struct guest;
/* Before the run: makes it. ret false, errno: reports cannot be written there */
bool gm_record_folder(void);
/* At its end, or after the run, of one that never came to MPI_Finalize; p may be NULL. ret, of the second: how many there were */
void gm_record_rescue(gm_proc *p, struct guest *g, int64_t t_ns);
int gm_record_rescued(void);
int gm_record_failed(void); /* a report could not be written */
/* These only with p->record: */
void gm_record_call(gm_proc *p, int enter, const char *name, gm_place *place);
/* A section of the running thread begins (NULL: the innermost ends), or measuring goes on or stops. */
void gm_record_section(gm_proc *p, const char *name);
void gm_record_switch(gm_proc *p, bool on);
void gm_record_asked(const gm_proc *p, gm_msg *m); /* by the running thread, in its call */
void gm_record_send(gm_proc *p, gm_msg *m);
void gm_record_met(gm_msg *m); /* a receive knows its message */
/* A collective is called, then over: of which the program learns in the running call. `last`: the last one to call of
   those without whose data it is not over here, a rank in the communicator; -1: it needs nobody's. */
typedef struct gm_gathering gm_gathering;
void gm_record_called(const gm_comm *c, uint32_t sequence);
gm_gathering *gm_record_gathering(const gm_comm *c, uint32_t sequence);
int gm_record_last(const gm_gathering *g);                      /* of all */
int gm_record_later(const gm_gathering *g, int last, int rank); /* of two, last -1: of one */
void gm_record_left(gm_proc *p, const gm_comm *c, uint32_t sequence, int last);
void gm_record_probed(gm_proc *p, const gm_probe *f);
/* A put, get or update with a rank of the world, of which `m` is told; is_answered: what comes back has the data. */
void gm_record_one_sided(gm_proc *p, gm_msg *m, nbc_kind kind, int target, uint64_t bytes,
                         bool is_answered);
void gm_record_one_sided_done(gm_proc *p, gm_msg *m);
void gm_record_over(gm_proc *p, gm_msg *m); /* sent, or received: not cancelled */
void gm_record_recv(gm_proc *p, gm_msg *m);
void gm_record_cancel(gm_proc *p, gm_msg *m);
nbc_recorder *gm_record_owner(const gm_proc *p); /* of what the running thread asks for */
void gm_recorder_end(nbc_recorder **recorder);   /* its thread ends */
nbc_recorder **gm_recorder_now(
    void); /* the running thread's; of who holds threads: pm_run, pm_replay */
bool gm_has_record(int rank);

#endif
