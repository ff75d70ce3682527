/* Traces of the overlap preload, NBC_TRACE=calls: one text file per process, so that it can be read and changed by
   hand. Ranks, tags and slots are numbers, * is any; COMM 0 is the world. A slot stands for a request.
     nbc-calls 1                    first line
     rank I of N
     comm K RANK FIRST-LAST ...     communicator K = 1, 2, ...: its members in the world
     c NS                           computes
     s|ss PEER BYTES TAG COMM       MPI_Send, MPI_Ssend;   is|iss SLOT PEER BYTES TAG COMM   started only
     r PEER BYTES TAG COMM          MPI_Recv;              ir SLOT PEER BYTES TAG COMM
     w SLOT                         waits;    k SLOT  cancels a receive;    f SLOT  will never wait for it
     coll NAME COUNT ELEM ROOT COMM SLOT|- i|- [NUMBERS]   i: in place; NUMBERS: one per rank, alltoallv: two
     x N ... e                      what is between is done N times
     core NS of NS                  so long of the whole time it waited for a core of the host, which may stand in c
     end                            last line: a file without it was cut */
#include "replay.h"

static uint32_t comm_number(rp_rank *r, rp_text *t) {
  return (uint32_t)rp_number(t, "communicator", 0, r->comm_count - 1);
}
static int32_t number_or_any(rp_text *t, const char *what, int64_t most, int may_be_any,
                             int32_t any) {
  if (may_be_any && t->at[0] == '*' && (t->at[1] == 0 || t->at[1] == ' ')) {
    rp_word(t);
    return any;
  }
  return (int32_t)rp_number(t, what, 0, most);
}
static uint32_t slot_number(rp_rank *r, rp_text *t) {
  const uint32_t slot = (uint32_t)rp_number(t, "slot", 0, (1 << 24) - 1);
  if (slot >= r->slots) r->slots = slot + 1;
  return slot;
}
static void message(rp_rank *r, rp_text *t, rp_kind kind, int flags) {
  rp_op *op = rp_add(r, kind, t);
  op->flags = (uint8_t)flags;
  if (flags & RP_STARTS) op->slot = slot_number(r, t);
  op->peer = number_or_any(t, "peer", rp_size - 1, kind == RP_RECV, GM_ANY_SOURCE);
  op->bytes = (uint64_t)rp_number(t, "bytes", 0, RP_BYTES_MAX);
  op->tag = number_or_any(t, "tag", GM_TAG_UB, kind == RP_RECV, GM_ANY_TAG);
  op->comm = comm_number(r, t);
  if (op->peer >= r->group[op->comm]->size)
    rp_bad(t, "peer %d: the communicator has %d ranks", op->peer, r->group[op->comm]->size);
}
static void collective(rp_rank *r, rp_text *t) {
  rp_op *op = rp_add(r, RP_COLL, t);
  const char *name = rp_word_needed(t, "name of a collective");
  int k = 0;
  while (k < NBC_COLL_COUNT && strcmp(nbc_coll_name((nbc_coll)k), name) != 0) k++;
  if (k == NBC_COLL_COUNT) rp_bad(t, "\"%.40s\" is not a collective", name);
  op->coll = (uint8_t)k;
  op->bytes = (uint64_t)rp_number(t, "count", 0, RP_BYTES_MAX);
  op->elem_bytes = (uint32_t)rp_number(t, "bytes of an element", 1, 1 << 20);
  op->peer = (int32_t)rp_number(t, "root", 0, rp_size - 1);
  op->comm = comm_number(r, t);
  const int size = r->group[op->comm]->size;
  if (op->peer >= size) rp_bad(t, "root %d: the communicator has %d ranks", op->peer, size);
  if (op->bytes * op->elem_bytes > (uint64_t)RP_BYTES_MAX)
    rp_bad(t, "more than 2^%d bytes", RP_BYTES_MAX_LOG2);
  if (t->at[0] == '-')
    rp_word(t);
  else {
    op->slot = slot_number(r, t);
    op->flags |= RP_STARTS;
  }
  const char *how = rp_word_needed(t, "i or -");
  if (strcmp(how, "i") == 0)
    op->flags |= RP_IN_PLACE;
  else if (strcmp(how, "-") != 0)
    rp_bad(t, "\"%.40s\": i or - expected", how);
  const bool is_all = k == NBC_COLL_ALLTOALLV,
             is_rooted = k == NBC_COLL_GATHERV || k == NBC_COLL_SCATTERV;
  if (!is_all && k != NBC_COLL_ALLGATHERV && k != NBC_COLL_REDUCE_SCATTER && !is_rooted) return;
  if (is_rooted && !t->at[0]) return; /* read at the root only */
  uint64_t *number = rp_numbers(r, op, is_all ? 2 * size : size);
  for (int i = 0; i < (is_all ? 2 * size : size); i++)
    number[i] = (uint64_t)rp_number(t, "count", 0, RP_BYTES_MAX / op->elem_bytes);
}
/* A rank, or FIRST-LAST. */
static void members(rp_text *t, int *first, int *last) {
  char *dash = t->at + strspn(t->at, "0123456789");
  const bool is_range = *dash == '-' && dash > t->at;
  if (is_range) *dash = ' ';
  *first = *last = (int)rp_number(t, "rank", 0, rp_size - 1);
  if (is_range) *last = (int)rp_number(t, "last rank", *first, rp_size - 1);
}
static void communicator(rp_rank *r, rp_text *t) {
  static int *ranks;
  static uint32_t max;
  int count = 0;
  bool is_in = false;
  const int64_t number = rp_number(t, "communicator", 1, INT32_MAX);
  if (number != r->comm_count)
    rp_bad(t, "communicator %lld: the next one is %u", (long long)number, r->comm_count);
  while (t->at[0]) {
    int first = 0, last = 0;
    members(t, &first, &last);
    if (last - first >= rp_size - count) rp_bad(t, "more ranks than there are");
    ranks = gm_grow(ranks, &max, (uint32_t)(count + last - first + 1), sizeof *ranks);
    is_in |= first <= r - rp_ranks && r - rp_ranks <= last;
    for (; first <= last; first++) ranks[count++] = first;
  }
  if (!is_in) rp_bad(t, "rank %d is not a member", (int)(r - rp_ranks));
  rp_comm(r, count, ranks);
}
/* Of those that waited for a core, who did for the largest part of its time. */
static struct {
  int rank, count;
  double part;
} waited;
static void core(const rp_rank *r, rp_text *t) {
  const double ns = (double)rp_number(t, "nanoseconds", 0, INT64_MAX);
  if (strcmp(rp_word_needed(t, "of"), "of") != 0) rp_bad(t, "of is missing");
  const double part = ns / (double)rp_number(t, "nanoseconds", 1, INT64_MAX);
  waited.count++;
  if (part > waited.part) waited.part = part, waited.rank = (int)(r - rp_ranks);
}
typedef struct nest {
  uint32_t first[RP_DEPTH];
  int depth;
} nest;
/* ret 0: it was the last line */
static int operation(rp_rank *r, rp_text *t, nest *n) {
  static const struct {
    const char *word;
    rp_kind kind;
    int flags;
  } known[] = {{"s", RP_SEND, 0},          {"ss", RP_SEND, RP_SYNC},
               {"is", RP_SEND, RP_STARTS}, {"iss", RP_SEND, RP_STARTS | RP_SYNC},
               {"r", RP_RECV, 0},          {"ir", RP_RECV, RP_STARTS}};
  const char *word = rp_word_needed(t, "an operation");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(word, known[i].word) == 0) {
      message(r, t, known[i].kind, known[i].flags);
      return 1;
    }
  if (strcmp(word, "c") == 0)
    rp_add(r, RP_COMPUTE, t)->bytes = (uint64_t)rp_number(t, "nanoseconds", 0, INT64_MAX / 2);
  else if (strlen(word) == 1 && strchr("wkf", *word)) {
    const uint32_t slot = slot_number(r, t);
    rp_add(r, *word == 'w' ? RP_WAIT : *word == 'k' ? RP_CANCEL : RP_FREE, t)->slot = slot;
  } else if (strcmp(word, "coll") == 0)
    collective(r, t);
  else if (strcmp(word, "comm") == 0)
    communicator(r, t);
  else if (strcmp(word, "x") == 0) {
    if (n->depth == RP_DEPTH) rp_bad(t, "loops are nested more than %d deep", RP_DEPTH);
    n->first[n->depth++] = r->count;
    rp_add(r, RP_REPEAT, t)->bytes = (uint64_t)rp_number(t, "times", 1, INT64_MAX);
  } else if (strcmp(word, "e") == 0) {
    if (!n->depth) rp_bad(t, "the end of no loop");
    const uint32_t first = n->first[--n->depth];
    if (r->count == first + 1) rp_bad(t, "an empty loop");
    rp_add(r, RP_END, t)->slot = first;
  } else if (strcmp(word, "core") == 0)
    core(r, t);
  else if (strcmp(word, "end") == 0)
    return 0;
  else
    rp_bad(t, "\"%.40s\" is not an operation", word);
  return 1;
}
static void read_file(rp_text *t, int files) {
  nest n = {{0}, 0};
  if (!rp_line(t) || strcmp(rp_word_needed(t, "nbc-calls"), "nbc-calls") != 0)
    rp_refuse("%s: not a trace of calls: its first line is not \"nbc-calls 1\"", t->path);
  rp_number(t, "version", 1, 1);
  rp_end_of_line(t);
  if (!rp_line(t) || strcmp(rp_word_needed(t, "rank"), "rank") != 0)
    rp_bad(t, "\"rank I of N\" expected");
  const int64_t rank = rp_number(t, "rank", 0, RP_RANKS_MAX - 1);
  rp_word_needed(t, "of");
  const int64_t size = rp_number(t, "ranks", 1, RP_RANKS_MAX);
  if (!rp_size) rp_size_is((int)size);
  if (size != rp_size) rp_bad(t, "%lld ranks, the first file has %d", (long long)size, rp_size);
  if (files != rp_size) rp_bad(t, "%lld ranks, but %d files", (long long)size, files);
  if (rank >= size) rp_bad(t, "rank %lld of %lld", (long long)rank, (long long)size);
  rp_rank *r = &rp_ranks[rank];
  if (r->path) rp_bad(t, "rank %lld is in %s too", (long long)rank, r->path);
  r->path = t->path;
  rp_end_of_line(t);
  int goes_on = 1;
  while (goes_on) {
    if (!rp_line(t)) rp_bad(t, "the file was cut: its last line is not \"end\"");
    goes_on = operation(r, t, &n);
    rp_end_of_line(t);
  }
  if (n.depth) rp_bad(t, "a loop has no end");
  if (rp_line(t)) rp_bad(t, "something behind the end");
}
void rp_calls_read(int count, char **paths) {
  for (int i = 0; i < count; i++) {
    rp_text t;
    rp_open(&t, paths[i]);
    read_file(&t, count);
    rp_close(&t);
  }
  if (waited.count)
    fprintf(
        stderr,
        "pm_replay: where it was traced, %d of %d processes waited for a core, rank %d for %.0f "
        "%% of its time: what of that was not in calls counts as computation\n",
        waited.count, rp_size, waited.rank, 100 * waited.part);
}
