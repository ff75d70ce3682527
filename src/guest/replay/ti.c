/* Time-independent traces of SimGrid (smpirun -trace-ti): a file that names one file per rank, or one file with
   the actions of all ranks, "RANK ACTION NUMBERS". Computation is in flops; sizes are counts of the datatypes
   that SMPI numbers, where none is given of doubles behind "init 1" and else of bytes; every communicator is the world,
   as SMPI writes them. */
#include "replay.h"
#include <strings.h>

/* Requests under way have a slot each; SMPI's traces name them by peer and tag: the oldest is meant. */
typedef struct active {
  struct {
    uint32_t kind, slot;
    int32_t peer, tag;
  } * request;
  uint32_t count, max;
  bool is_double; /* what sizes without a datatype count */
} active;
static active *actives; /* of each rank */
static active *active_of(const rp_rank *r) { return &actives[r - rp_ranks]; }
/* In the order in which SMPI numbers them. Of the types beyond (it has 56; there may come some) it writes how many bytes. */
static const uint32_t type_bytes[] = {8, 4, 1, 2, 8, 4, 1};
enum { TYPES_MOST = 64 };
enum { DOUBLE, BYTE = 6 };
static uint32_t bytes_of_type(const rp_rank *r, rp_text *t) {
  const int64_t id =
      rp_number_or(t, "datatype", -1, TYPES_MOST - 1, active_of(r)->is_double ? DOUBLE : BYTE);
  return id >= 0 && id < (int64_t)(sizeof type_bytes / sizeof *type_bytes) ? type_bytes[id] : 1;
}
static uint64_t times(const rp_text *t, uint64_t count, uint64_t each) {
  if (count * each > (uint64_t)RP_BYTES_MAX)
    rp_bad(t, "a message of more than 2^%d bytes", RP_BYTES_MAX_LOG2);
  return count * each;
}
static int64_t count_of(rp_text *t, const char *what) { /* "1e6" too, as SimGrid's examples say */
  const double n = rp_real(t, what);
  if (n > (double)RP_BYTES_MAX) rp_bad(t, "%s: more than 2^%d", what, RP_BYTES_MAX_LOG2);
  return (int64_t)n;
}
static int root_of(rp_text *t) { return (int)rp_number_or(t, "root", 0, rp_size - 1, 0); }
static void finish_coll(rp_op *op, nbc_coll coll, uint64_t count, uint32_t elem_bytes, int root) {
  op->coll = (uint8_t)coll;
  op->bytes = count;
  op->elem_bytes = elem_bytes;
  op->peer = root;
}
#define NO_SLOT UINT32_MAX
static uint32_t started(rp_rank *r, rp_kind kind, int32_t peer, int32_t tag) {
  active *a = active_of(r);
  a->request = gm_grow(a->request, &a->max, a->count + 1, sizeof *a->request);
  uint32_t slot = a->count; /* free unless older ones were waited for out of order */
  for (uint32_t i = 0; i < a->count; i++)
    if (a->request[i].slot >= slot) slot = a->request[i].slot + 1;
  if (slot >= (uint32_t)1 << 24) rp_refuse("%s: 2^24 requests of one rank under way", r->path);
  a->request[a->count].kind = kind;
  a->request[a->count].slot = slot;
  a->request[a->count].peer = peer;
  a->request[a->count++].tag = tag;
  if (slot >= r->slots) r->slots = slot + 1;
  return slot;
}
static uint32_t waited(rp_rank *r, rp_kind kind, int32_t peer, int32_t tag) {
  active *a = active_of(r);
  /* What was received from anybody may be named by whom it came from. */
  for (int loose = 0; loose < 2; loose++)
    for (uint32_t i = 0; i < a->count; i++) {
      const int32_t of_peer = a->request[i].peer, of_tag = a->request[i].tag;
      if (a->request[i].kind == (uint32_t)kind &&
          (of_peer == peer || (loose && of_peer == GM_ANY_SOURCE)) &&
          (of_tag == tag || (loose && of_tag == GM_ANY_TAG))) {
        const uint32_t slot = a->request[i].slot;
        memmove(&a->request[i], &a->request[i + 1], (--a->count - i) * sizeof *a->request);
        return slot;
      }
    }
  return NO_SLOT;
}
static void point_to_point(rp_rank *r, rp_text *t, rp_kind kind, int flags) {
  rp_op *op = rp_add(r, kind, t);
  op->flags = (uint8_t)flags;
  op->peer = (int32_t)rp_number(t, "peer", kind == RP_RECV ? -555 : 0, rp_size - 1);
  if (op->peer < 0) op->peer = GM_ANY_SOURCE;
  op->tag = (int32_t)rp_number(t, "tag", kind == RP_RECV ? INT32_MIN : 0, GM_TAG_UB);
  if (op->tag < 0) op->tag = GM_ANY_TAG;
  const int64_t count = count_of(t, "size");
  op->bytes = times(t, (uint64_t)count, bytes_of_type(r, t));
  if (flags & RP_STARTS) op->slot = started(r, kind, op->peer, op->tag);
}
/* sendRecv SIZE DST RECVSIZE SRC [SENDTYPE RECVTYPE] */
static void send_and_receive(rp_rank *r, rp_text *t) {
  const int64_t out = count_of(t, "size"), dst = rp_number(t, "peer", 0, rp_size - 1),
                in = count_of(t, "size"), src = rp_number(t, "peer", -555, rp_size - 1);
  const uint64_t out_bytes = times(t, (uint64_t)out, bytes_of_type(r, t)),
                 in_bytes = times(t, (uint64_t)in, bytes_of_type(r, t));
  const struct {
    rp_kind kind;
    int64_t peer;
    uint64_t bytes;
  } part[] = {{RP_RECV, src < 0 ? GM_ANY_SOURCE : src, in_bytes}, {RP_SEND, dst, out_bytes}};
  const uint32_t slot =
      started(r, RP_RECV, part[0].peer < 0 ? GM_ANY_SOURCE : (int32_t)part[0].peer, 0);
  for (int k = 0; k < 2; k++) {
    rp_op *op = rp_add(r, part[k].kind, t);
    op->flags = k ? 0 : RP_STARTS;
    op->peer = (int32_t)part[k].peer;
    op->tag = 0;
    op->bytes = part[k].bytes;
    op->slot = slot;
  }
  rp_add(r, RP_WAIT, t)->slot = slot;
  active_of(r)->count--; /* the one just started */
}
/* counts of all ranks */
static uint64_t *counts(rp_rank *r, rp_op *op, rp_text *t, int more) {
  uint64_t *to = rp_numbers(r, op, rp_size + more);
  for (int i = 0; i < rp_size; i++) to[i] = (uint64_t)count_of(t, "count");
  return to;
}
static void scale(const rp_text *t, uint64_t *number, int n, uint32_t each) {
  for (int i = 0; i < n; i++) number[i] = times(t, number[i], each);
}
static void vector(rp_rank *r, rp_text *t, rp_op *op, nbc_coll coll) {
  const bool is_all = coll == NBC_COLL_ALLTOALLV;
  uint64_t *to;
  int64_t own = 0;
  if (coll == NBC_COLL_SCATTERV) { /* SENDCOUNTS RECVSIZE ROOT */
    to = counts(r, op, t, 0);
    own = count_of(t, "size");
  } else {
    own = count_of(t, "size");
    to = counts(r, op, t, is_all ? rp_size : 0);
    if (is_all) {
      count_of(t, "size");
      for (int i = 0; i < rp_size; i++) to[rp_size + i] = (uint64_t)count_of(t, "count");
    }
  }
  const int root = coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV ? root_of(t) : 0;
  const uint32_t send = bytes_of_type(r, t), recv = bytes_of_type(r, t);
  scale(t, to, rp_size, is_all || coll == NBC_COLL_SCATTERV ? send : recv);
  if (is_all) scale(t, to + rp_size, rp_size, recv);
  finish_coll(op, coll,
              is_all ? 0 : times(t, (uint64_t)own, coll == NBC_COLL_SCATTERV ? recv : send), 1,
              root);
}
static void compute(rp_rank *r, const rp_text *t, double seconds) {
  const double ns = seconds * 1e9;
  rp_add(r, RP_COMPUTE, t)->bytes = ns < 9e18 ? (uint64_t)(ns + 0.5) : (uint64_t)9e18;
}
static double reduce_scatter(rp_rank *r, rp_text *t, rp_op *op) { /* ret flops */
  const uint64_t *to = counts(r, op, t, 0);
  const double flops = rp_real(t, "computation");
  const uint32_t each = bytes_of_type(r, t);
  finish_coll(op, NBC_COLL_REDUCE_SCATTER, to[r - rp_ranks], each, 0);
  return flops;
}
/* ret 0: no such collective */
static int collective(rp_rank *r, rp_text *t, const char *name, double flops_per_s) {
  static const struct {
    const char *name;
    nbc_coll coll;
    int form;
  } known[] = {{"barrier", NBC_COLL_BARRIER, 'b'},
               {"bcast", NBC_COLL_BCAST, 'r'},
               {"reduce", NBC_COLL_REDUCE, 'o'},
               {"allreduce", NBC_COLL_ALLREDUCE, 'a'},
               {"alltoall", NBC_COLL_ALLTOALL, '2'},
               {"allgather", NBC_COLL_ALLGATHER, '2'},
               {"gather", NBC_COLL_GATHER, 'g'},
               {"scatter", NBC_COLL_SCATTER, 'g'},
               {"gatherv", NBC_COLL_GATHERV, 'v'},
               {"scatterv", NBC_COLL_SCATTERV, 'v'},
               {"allgatherv", NBC_COLL_ALLGATHERV, 'v'},
               {"alltoallv", NBC_COLL_ALLTOALLV, 'v'},
               {"reducescatter", NBC_COLL_REDUCE_SCATTER, 's'},
               {"scan", NBC_COLL_SCAN, 'a'},
               {"exscan", NBC_COLL_EXSCAN, 'a'}};
  size_t k = 0;
  while (k < sizeof known / sizeof *known && strcasecmp(known[k].name, name) != 0) k++;
  if (k == sizeof known / sizeof *known) return 0;
  rp_op *op = rp_add(r, RP_COLL, t);
  finish_coll(op, known[k].coll, 0, 1, 0);
  if (known[k].form == 'b') return 1;
  if (known[k].form == 'v') {
    vector(r, t, op, known[k].coll);
    return 1;
  }
  if (known[k].form == 's') {
    const double flops = reduce_scatter(r, t, op);
    if (flops > 0) compute(r, t, flops / flops_per_s);
    return 1;
  }
  const int64_t count = count_of(t, "size");
  const bool is_reduction = known[k].form == 'o' || known[k].form == 'a';
  const double flops = is_reduction ? rp_real(t, "computation") : 0;
  if (known[k].form == '2' || known[k].form == 'g') count_of(t, "size");
  const int root = known[k].form == '2' || known[k].form == 'a' ? 0 : root_of(t);
  const uint32_t each = bytes_of_type(r, t);
  times(t, (uint64_t)count, each);
  finish_coll(op, known[k].coll, is_reduction ? (uint64_t)count : (uint64_t)count * each,
              is_reduction ? each : 1, root);
  if (flops > 0) compute(r, t, flops / flops_per_s); /* as SimGrid: when it is over */
  return 1;
}
static bool is_one_of(const char *word, const char *list) { /* words between blanks */
  const size_t n = strlen(word);
  for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return 1;
  return 0;
}
static void action(rp_rank *r, rp_text *t, const char *name, double flops_per_s) {
  if (is_one_of(name, "finalize comm_size comm_split comm_dup location test")) return;
  if (strcmp(name, "init") == 0) {
    active_of(r)->is_double = rp_word(t) != NULL;
  } else if (strcmp(name, "compute") == 0) {
    compute(r, t, rp_real(t, "flops") / flops_per_s);
  } else if (strcmp(name, "sleep") == 0) {
    compute(r, t, rp_real(t, "seconds"));
  } else if (strcasecmp(name, "send") == 0) {
    point_to_point(r, t, RP_SEND, 0);
  } else if (strcasecmp(name, "recv") == 0) {
    point_to_point(r, t, RP_RECV, 0);
  } else if (strcasecmp(name, "isend") == 0) {
    point_to_point(r, t, RP_SEND, RP_STARTS);
  } else if (strcasecmp(name, "irecv") == 0) {
    point_to_point(r, t, RP_RECV, RP_STARTS);
  } else if (strcasecmp(name, "sendrecv") == 0) {
    send_and_receive(r, t);
  } else if (strcmp(name, "wait") == 0) { /* SRC DST TAG: the other one is the peer */
    const int64_t src = rp_number(t, "source", -555, rp_size - 1),
                  dst = rp_number(t, "destination", -555, rp_size - 1);
    const int64_t me = r - rp_ranks, tag = rp_number(t, "tag", INT32_MIN, GM_TAG_UB),
                  peer = src == me ? dst : src;
    const uint32_t slot =
        waited(r, src == me ? RP_SEND : RP_RECV, peer < 0 ? GM_ANY_SOURCE : (int32_t)peer,
               tag < 0 ? GM_ANY_TAG : (int32_t)tag);
    if (slot == NO_SLOT)
      rp_bad(t, "wait: no %s rank %lld with tag %lld is under way",
             src == me ? "message to" : "receive from", (long long)peer, (long long)tag);
    rp_add(r, RP_WAIT, t)->slot = slot;
  } else if (strcasecmp(name, "waitall") == 0) {
    rp_add(r, RP_WAIT_ALL, t);
    active_of(r)->count = 0;
  } else if (!collective(r, t, name, flops_per_s))
    rp_bad(t, "\"%.40s\" is not an action that is known here", name);
}
/* rank < 0: lines of all ranks */
static void read_actions(rp_text *t, int rank, double flops_per_s) {
  do {
    const int64_t who = rp_number(t, "rank", 0, rp_size - 1);
    if (rank >= 0 && who != rank)
      rp_bad(t, "rank %lld in the file of rank %d", (long long)who, rank);
    rp_rank *r = &rp_ranks[who];
    r->path = t->path;
    action(r, t, rp_word_needed(t, "an action"), flops_per_s);
  } while (rp_line(t));
}
static bool is_number(const char *word) { return *word && word[strspn(word, "0123456789")] == 0; }
/* The number of ranks: of file names, or one more than the largest rank. */
static char **names(const char *path, int *count) {
  char **name = NULL;
  uint32_t max = 0;
  rp_text t;
  int64_t largest = -1;
  *count = 0;
  for (rp_open(&t, path); rp_line(&t);) {
    const char *word = rp_word_needed(&t, "a word"), *more = rp_word(&t);
    if (is_number(word) && more) {
      char *end;
      const long long rank = strtoll(word, &end, 10);
      if (*count || rank >= RP_RANKS_MAX) rp_bad(&t, "\"%.40s\" is not a rank", word);
      if (rank > largest) largest = rank;
      continue;
    }
    if (largest >= 0 || more)
      rp_bad(&t, "\"%.40s\": \"RANK ACTION\" or the name of a file per line expected", word);
    if (*count == RP_RANKS_MAX) rp_bad(&t, "more than %d ranks", RP_RANKS_MAX);
    name = gm_grow(name, &max, (uint32_t)*count + 1, sizeof *name);
    const char *slash = strrchr(path, '/'); /* beside this file, unless found from here */
    FILE *here = fopen(word, "r");
    if (here) fclose(here);
    const size_t folder = slash && !here && *word != '/' ? (size_t)(slash - path) + 1 : 0;
    char *full = name[(*count)++] = gm_alloc(folder + strlen(word) + 1);
    memcpy(full, path, folder);
    strcpy(full + folder, word);
  }
  rp_close(&t);
  if (largest >= 0) *count = (int)largest + 1;
  if (!*count) rp_refuse("%s: no ranks in it", path);
  return name;
}
void rp_ti_read(const char *path, double flops_per_s) {
  int count;
  char **name = names(path, &count);
  rp_text t;
  rp_size_is(count);
  actives = gm_alloc((size_t)count * sizeof *actives);
  for (int i = 0; i < count && name; i++) {
    rp_open(&t, name[i]);
    if (rp_line(&t)) read_actions(&t, i, flops_per_s);
    rp_close(&t);
    rp_ranks[i].path = name[i];
  }
  if (!name) {
    rp_open(&t, path);
    if (rp_line(&t)) read_actions(&t, -1, flops_per_s);
    rp_close(&t);
    for (int i = 0; i < count; i++) rp_ranks[i].path = path;
  }
  for (int i = 0; i < count; i++) free(actives[i].request);
  free(actives);
}
