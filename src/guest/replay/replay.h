/* pm_replay: what its parts share. A trace is read into one list of operations per rank; engine.c runs the lists
   on the simulated machine, with the messages and collectives of src/guest/mpi and without a program.

     lines.c       lines and words of text files, errors with file and line
     operations.c  lists of operations, groups of ranks
     calls.c       reads the traces of the overlap preload (NBC_TRACE=calls)
     ti.c          reads time-independent traces of SimGrid
     goal.c        reads and writes GOAL, the format of LogGOPSim */
#ifndef REPLAY_H
#define REPLAY_H
#include "mpi/gm.h"
#include <stdio.h>

/* ---- text ------------------------------------------------------------------------------------------------ */
typedef struct rp_text {
  FILE *in;
  const char *path;
  uint32_t line;
  char *buffer, *at; /* the present line, and its next word */
  size_t max;
} rp_text;
void rp_open(rp_text *t, const char *path);
int rp_line(
    rp_text *t); /* the next line that holds words; # starts a comment. ret 0: there is none */
char *rp_word(rp_text *t); /* NULL: no more on this line */
char *rp_word_needed(rp_text *t, const char *what);
int64_t rp_number(rp_text *t, const char *what, int64_t least, int64_t most);
int64_t rp_number_or(rp_text *t, const char *what, int64_t least, int64_t most, int64_t otherwise);
double rp_real(rp_text *t, const char *what);
void rp_end_of_line(rp_text *t);
void rp_close(rp_text *t);
void rp_bad(const rp_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void rp_refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- operations -------------------------------------------------------------------------------------------- */
typedef enum rp_kind {
  RP_COMPUTE, /* bytes: nanoseconds */
  RP_SEND,    /* with RP_SYNC: as MPI_Ssend; with RP_STARTS: returns at once, slot is the request */
  RP_RECV,
  RP_WAIT,     /* for slot; a free one is nothing to wait for */
  RP_WAIT_ALL, /* for whatever was started */
  RP_CANCEL,   /* a receive; it is waited for nevertheless */
  RP_FREE,     /* what is in the slot goes on without it */
  RP_COLL,
  RP_REPEAT, /* bytes: how often; up to its RP_END, whose slot is the first operation */
  RP_END
} rp_kind;
enum { RP_STARTS = 1, RP_SYNC = 2, RP_IN_PLACE = 4, RP_VECTOR = 8 };
enum { RP_BYTES_MAX_LOG2 = 38, RP_DEPTH = 16, RP_RANKS_MAX = 1 << 20 };
#define RP_BYTES_MAX ((int64_t)1 << RP_BYTES_MAX_LOG2)
typedef struct rp_op {
  uint8_t kind, flags, coll;
  uint8_t unused;
  uint32_t elem_bytes;
  int32_t peer, tag; /* ranks of the communicator; of a collective: peer is the root */
  uint32_t comm, slot, counts, line;
  uint64_t bytes;
} rp_op;
typedef struct rp_rank {
  rp_op *op;
  uint32_t count, max, slots;
  /* Of collectives with a count per rank: counts is the place of the first; sends first */
  uint64_t *numbers;
  uint32_t number_count, number_max;
  gm_group **group; /* of communicators; 0 is the world */
  uint32_t *context;
  uint32_t comm_count, comm_max;
  /* GOAL: after[first_after[i]] ... wait for the end of operation i, or its start (bit 31 set) */
  uint32_t *first_after, *after, *before;
  bool is_graph;
  const char *path;
} rp_rank;
extern rp_rank *rp_ranks;
extern int rp_size;
void rp_size_is(int size);
rp_op *rp_add(rp_rank *r, rp_kind kind, const rp_text *t);
uint64_t *rp_numbers(rp_rank *r, rp_op *op, int count);
/* The communicator of these members of the world; the k-th of the same members is the same for all. */
uint32_t rp_comm(rp_rank *r, int size, const int *ranks);
void rp_comms_agree(void); /* after reading: contexts */

void rp_calls_read(int count, char **paths);
void rp_ti_read(const char *path, double flops_per_s);
void rp_goal_read(const char *path);
void rp_goal_write(FILE *out); /* who opened it sees what was lost */

/* ---- the run -------------------------------------------------------------------------------------------------- */
typedef struct rp_options {
  double compute_ratio;
  int threads; /* of the host */
} rp_options;
void rp_begin(void);              /* before the world runs */
void rp_rank_main(void *options); /* entry of a simulated process */
/* Where ranks are that have not ended, by file and line: at most so many. */
void rp_where(int max);
void rp_coll_args(const rp_rank *r, const rp_op *op, int rank, gm_coll_args *args);

#endif
