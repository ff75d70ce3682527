/* A random MPI program: random SEED STEPS. Every process draws the same steps from the seed; what a process receives
   depends on the program alone, not on times, so two MPIs print the same: a line per step, with a sum of all that
   each process got. random SEED STEPS STEP says more of one step. */
#include "random.h"

enum { ROOM = 1 << 16, MESSAGES = 24, LINES = 4000 };
static uint64_t state, sum;
int me, n, step, shown = -1;
static uint64_t sums[LINES];
static const char *names[LINES];

/* ---- chance, the same in all processes, and data, which are not ------------------------------------------- */
unsigned draw(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)((state >> 24) % below);
}
int between(int low, int high) { return low + (int)draw((unsigned)(high - low + 1)); }
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u;
  return x ^ x >> 29;
}
uint64_t datum(int rank, int k) {
  return mix(mix((uint64_t)step * 131 + (uint64_t)rank) + (uint64_t)k);
}
void fill(void *to, size_t bytes, int rank, int what) {
  for (size_t i = 0; i < bytes; i++)
    ((unsigned char *)to)[i] = (unsigned char)datum(rank, what * 65536 + (int)i);
}
void note(uint64_t value) { sum = mix(sum ^ value) + 1; }
void note_bytes(const void *data, size_t bytes) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)data)[i]) * 1099511628211u;
  SHOW("%d: bytes %016llx\n", me, (unsigned long long)h);
  note(h);
}

/* ---- communicators ------------------------------------------------------------------------------------------ */
MPI_Comm comms[COMMS];
char is_inter[COMMS]; /* known to all, members or not */
static int key_made, copies, deletes;
static int copy_attribute(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag) {
  (void)c, (void)key, (void)extra;
  *(void **)out = (char *)in + 3;
  *flag = ((uintptr_t)in & 1) == 0;
  return copies++, MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm c, int key, void *value, void *extra) {
  (void)c, (void)key, (void)extra, (void)value;
  return deletes++, MPI_SUCCESS;
}
static void look_at_comm(MPI_Comm c) {
  int rank, size, other = 0, inter, status, flag = 0;
  void *value = NULL;
  if (c == MPI_COMM_NULL) {
    note(7);
    return;
  }
  MPI_Comm_rank(c, &rank);
  MPI_Comm_size(c, &size);
  MPI_Comm_test_inter(c, &inter);
  if (inter) MPI_Comm_remote_size(c, &other);
  MPI_Topo_test(c, &status);
  MPI_Comm_get_attr(c, key_made, &value, &flag);
  note((uint64_t)(rank + 100 * size + 10000 * other + 1000000 * inter));
  note((uint64_t)plain_topo(status));
  note(flag ? (uint64_t)(uintptr_t)value : 1);
  SHOW("%d: rank %d of %d, remote %d, topology %d, attribute %ld\n", me, rank, size, other, status,
       flag ? (long)(uintptr_t)value : -1);
  MPI_Group group, world;
  MPI_Comm_group(c, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < size; i++) {
    int to;
    MPI_Group_translate_ranks(group, 1, &i, world, &to);
    note((uint64_t)to);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}
static void change_comms(void) {
  const int at = between(1, COMMS - 1), from = between(0, COMMS - 1), how = between(0, 6);
  const int a = between(1, 3), b = between(0, 4);
  const uint64_t order = mix(state);
  MPI_Comm old = comms[from], made = MPI_COMM_NULL;
  int inter = 0;
  SHOW("%d: from %d (inter %d) to %d how %d a %d b %d\n", me, from, is_inter[from], at, how, a, b);
  if (how == 6 && n > 1) { /* two halves of the world */
    MPI_Comm half;
    const int cut = between(1, n - 1);
    MPI_Comm_split(MPI_COMM_WORLD, me < cut, (int)(mix(order + (uint64_t)me) % 100), &half);
    int leader[2]; /* of the lower and the upper half, in the world */
    int zero = 0;
    MPI_Group g, w;
    MPI_Comm_group(half, &g);
    MPI_Comm_group(MPI_COMM_WORLD, &w);
    int mine;
    MPI_Group_translate_ranks(g, 1, &zero, w, &mine);
    leader[0] = me < cut ? mine : 0;
    leader[1] = me < cut ? 0 : mine;
    MPI_Group_free(&g);
    MPI_Group_free(&w);
    MPI_Allreduce(MPI_IN_PLACE, leader, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader[me < cut], 77, &made);
    MPI_Comm_free(&half);
    inter = 1;
  } else if (old != MPI_COMM_NULL) {
    int rank, size;
    MPI_Comm_rank(old, &rank);
    MPI_Comm_size(old, &size);
    if (is_inter[from]) {
      if (how < 3) {
        MPI_Comm_dup(old, &made);
        inter = 1;
      } else
        MPI_Intercomm_merge(old, (int)(order >> 5 & 1) ^ (me == -1), &made);
    } else if (how <= 1)
      MPI_Comm_split(old, rank % a == b ? MPI_UNDEFINED : rank % a,
                     (int)(mix(order + (uint64_t)rank) % 7), &made);
    else if (how == 2)
      MPI_Comm_dup(old, &made);
    else if (how == 3) {
      int dims[3] = {0, 0, 0},
          periods[3] = {(int)(order & 1), (int)(order >> 1 & 1), (int)(order >> 2 & 1)};
      MPI_Dims_create(size, a, dims);
      MPI_Cart_create(old, a, dims, periods, 0, &made);
    } else if (how == 4) {
      int ranks[64], count = 0;
      MPI_Group g, part;
      for (int i = 0; i < size && i < 64; i++)
        if (mix(order + (uint64_t)i) % 3) ranks[count++] = size - 1 - i;
      MPI_Comm_group(old, &g);
      MPI_Group_incl(g, count, ranks, &part);
      MPI_Comm_create(old, part, &made);
      MPI_Group_free(&g);
      MPI_Group_free(&part);
    } else {
      int out[3], weights[3] = {1, 2, 3}, sources[3], from_weights[3],
                  degree = (int)(order % 3) + 1, in = degree;
      for (int i = 0; i < degree; i++)
        out[i] = (rank + (i + 1) * (int)(order >> (8 + 4 * i) & 7)) % size;
      for (int i = 0; i < degree; i++)
        sources[i] =
            (int)(((rank - (i + 1) * (long)(order >> (8 + 4 * i) & 7)) % size + size) % size),
        from_weights[i] = weights[i];
      MPI_Dist_graph_create_adjacent(old, in, sources, from_weights, degree, out, weights,
                                     MPI_INFO_NULL, 0, &made);
    }
  } else if (is_inter[from])
    inter = how < 3;
  else
    inter = 0;
  if (comms[at] != MPI_COMM_NULL && at != from) MPI_Comm_free(&comms[at]);
  if (at == from && comms[at] != MPI_COMM_NULL) MPI_Comm_free(&comms[at]);
  comms[at] = made;
  is_inter[at] = (char)inter;
  look_at_comm(made);
  if (made != MPI_COMM_NULL && order & 32)
    MPI_Comm_set_attr(made, key_made, (void *)(uintptr_t)(order >> 40 & 255));
  note((uint64_t)copies); /* MPICH deletes when nothing holds the communicator any more */
  SHOW("%d: copies %d deletes %d\n", me, copies, deletes);
}

/* ---- datatypes whose data do not overlap ----------------------------------------------------------------------- */
int without_pairs;
MPI_Datatype draw_type(int depth) {
  static const MPI_Datatype basic[] = {MPI_CHAR,      MPI_SHORT, MPI_INT,  MPI_LONG,
                                       MPI_DOUBLE,    MPI_FLOAT, MPI_2INT, MPI_DOUBLE_INT,
                                       MPI_SHORT_INT, MPI_INT8_T};
  MPI_Datatype made, child;
  MPI_Aint lb, extent, places[4];
  int lengths[4], count = between(1, 4), starts[4], how;
  if (depth == 0) {
    MPI_Datatype drawn = basic[draw(sizeof basic / sizeof *basic)];
    if (without_pairs && (drawn == MPI_2INT || drawn == MPI_DOUBLE_INT || drawn == MPI_SHORT_INT))
      drawn = MPI_INT;
    MPI_Type_dup(drawn, &made);
    return made;
  }
  child = draw_type(depth - 1);
  MPI_Type_get_extent(child, &lb, &extent);
  how = between(0, 7);
  int at = 0;
  for (int i = 0; i < count; i++) {
    lengths[i] = between(0, 2);
    starts[i] = at += between(0, 2);
    places[i] = at * extent + between(0, 3) * (i + 1);
    at += lengths[i] + 2;
  }
  const int length = between(1, 3);
  if (how == 0) MPI_Type_contiguous(count, child, &made);
  if (how == 1) MPI_Type_vector(count, length, length + between(0, 2), child, &made);
  if (how == 2)
    MPI_Type_create_hvector(count, length, extent * length + between(0, 9), child, &made);
  if (how == 3) MPI_Type_indexed(count, lengths, starts, child, &made);
  if (how == 4) MPI_Type_create_hindexed(count, lengths, places, child, &made);
  if (how == 5)
    MPI_Type_create_resized(child, lb - between(0, 9), extent + 9 + between(0, 9), &made);
  if (how == 6) {
    int sizes[2] = {between(1, 4), between(1, 4)},
        parts[2] = {between(1, sizes[0]), between(1, sizes[1])};
    int from[2] = {between(0, sizes[0] - parts[0]), between(0, sizes[1] - parts[1])};
    MPI_Type_create_subarray(2, sizes, parts, from, draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                             child, &made);
  }
  if (how == 7) {
    MPI_Datatype types[3] = {child, MPI_INT, child};
    MPI_Aint where[3] = {0, extent * 3 + between(0, 5), extent * 3 + 40};
    int some[3] = {between(0, 2), between(0, 2), between(0, 2)};
    if (lb < 0) where[1] = where[1] - lb, where[2] = where[2] - 2 * lb;
    MPI_Type_create_struct(3, some, where, types, &made);
  }
  MPI_Type_free(&child);
  return made;
}
static void look_at_type(MPI_Datatype t, MPI_Aint *low, MPI_Aint *span, int *size) {
  MPI_Aint lb, extent, true_lb, true_extent;
  MPI_Type_get_extent(t, &lb, &extent);
  MPI_Type_size(t, size);
  MPI_Type_get_true_extent(t, &true_lb, &true_extent);
  SHOW("%d: lb %ld extent %ld true %ld %ld size %d\n", me, (long)lb, (long)extent, (long)true_lb,
       (long)true_extent, *size);
  note((uint64_t)lb * 1000003 + (uint64_t)extent);
  note((uint64_t)*size);
  *low = lb; /* types without data have other true bounds in MPICH */
  *span = extent + labs(lb) + 64;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */
typedef struct message {
  int from, to, tag, bytes, count, mode, how;
} message;
static char sent[MESSAGES][ROOM], got[MESSAGES][ROOM], attached[MESSAGES * ROOM];
static int begin_send(MPI_Comm c, const message *m, int i, MPI_Datatype t, const char *from,
                      MPI_Request *r) {
  (void)i;
  switch (m->mode) {
  case 0: return MPI_Isend(from, m->count, t, m->to, m->tag, c, r);
  case 1: return MPI_Issend(from, m->count, t, m->to, m->tag, c, r);
  case 2: return MPI_Ibsend(from, m->count, t, m->to, m->tag, c, r);
  case 3: MPI_Send_init(from, m->count, t, m->to, m->tag, c, r); return MPI_Start(r);
  case 4: MPI_Ssend_init(from, m->count, t, m->to, m->tag, c, r); return MPI_Start(r);
  default: MPI_Bsend_init(from, m->count, t, m->to, m->tag, c, r); return MPI_Start(r);
  }
}
static void note_status(const MPI_Status *s, MPI_Datatype t) {
  int count, cancelled;
  MPI_Get_count(s, t, &count);
  MPI_Test_cancelled(s, &cancelled);
  SHOW("%d: status %d %d count %d cancelled %d\n", me, s->MPI_SOURCE, s->MPI_TAG, count, cancelled);
  note((uint64_t)(plain_rank(s->MPI_SOURCE) * 100003 + plain_tag(s->MPI_TAG) * 1009 + count) * 2 + (uint64_t)cancelled);
}
static void receive_now(MPI_Comm c, const message *m, char *to, MPI_Datatype t) {
  MPI_Status s, probed;
  MPI_Message handle;
  int flag = 0;
  const int any = m->how & 1;
  const int from = any ? MPI_ANY_SOURCE : m->from;
  switch (m->how / 2 % 4) {
  case 0: MPI_Recv(to, m->count, t, from, m->tag, c, &s); break;
  case 1:
    MPI_Probe(from, m->tag, c, &probed);
    note_status(&probed, t);
    MPI_Recv(to, m->count, t, probed.MPI_SOURCE, probed.MPI_TAG, c, &s);
    break;
  case 2:
    MPI_Mprobe(from, m->tag, c, &handle, &probed);
    note_status(&probed, t);
    MPI_Mrecv(to, m->count, t, &handle, &s);
    break;
  default:
    while (!flag) MPI_Improbe(from, m->tag, c, &flag, &handle, &probed);
    MPI_Request r;
    MPI_Imrecv(to, m->count, t, &handle, &r);
    MPI_Wait(&r, &s);
  }
  note_status(&s, t);
}
static void finish(MPI_Request *r, MPI_Status *s, int count, int way) {
  int left = count, some, index[2 * MESSAGES], at, flag = 0;
  MPI_Status got_now[2 * MESSAGES];
  if (way == 0) MPI_Waitall(count, r, s);
  if (way == 1)
    for (; left; left--) {
      MPI_Status one;
      MPI_Waitany(count, r, &at, &one);
      if (at == MPI_UNDEFINED) break;
      s[at] = one;
    }
  if (way == 2)
    while (left) {
      MPI_Waitsome(count, r, &some, index, got_now);
      if (some == MPI_UNDEFINED) break;
      for (int i = 0; i < some; i++) s[index[i]] = got_now[i];
      left -= some;
    }
  if (way == 3)
    while (!flag) MPI_Testall(count, r, &flag, s);
  if (way == 4)
    while (left) {
      MPI_Testsome(count, r, &some, index, got_now);
      if (some == MPI_UNDEFINED) break;
      for (int i = 0; i < some; i++) s[index[i]] = got_now[i];
      left -= some;
    }
}
static void send_and_receive(void) {
  const int at = between(0, COMMS - 1), count = between(1, MESSAGES), way = between(0, 4),
            cancels = draw(3) == 0;
  MPI_Comm c = comms[at];
  message all[MESSAGES];
  MPI_Request requests[2 * MESSAGES];
  MPI_Status statuses[2 * MESSAGES];
  int used = 0, index[2 * MESSAGES], size = 0, type_size, rank = -1, others = 0,
      is_persistent[2 * MESSAGES];
  MPI_Datatype t = draw_type(between(0, 3));
  MPI_Aint low, span;
  look_at_type(t, &low, &span, &type_size);
  MPI_Type_commit(&t);
  /* all draw for a communicator of any size: ranks are taken modulo it */
  for (int i = 0; i < count; i++) {
    all[i].from = between(0, 1000);
    all[i].to = between(0, 1000);
    all[i].tag = draw(4) ? i : 1000 + i;
    const int big = draw(6) == 0;
    all[i].bytes = big ? between(2000, 30000) : between(0, 300);
    all[i].mode = between(0, 5);
    all[i].how = between(0, 15);
    all[i].count = all[i].bytes / (int)span;
  }
  if (c != MPI_COMM_NULL) {
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    others = size;
    if (is_inter[at]) MPI_Comm_remote_size(c, &others);
  }
  int is_low =
      1; /* of an intercommunicator the side whose messages go first: both sides send all */
  for (int i = 0; i < count && c != MPI_COMM_NULL; i++) {
    message *m = &all[i];
    (void)is_low;
    const int sends = m->from % size == rank, wanted = m->to % size == rank;
    message out = *m, in = *m;
    out.to = m->to % others;
    in.from = m->from % others;
    char *const from = sent[i] - (low < 0 ? low : 0), *const to = got[i] - (low < 0 ? low : 0);
    if (wanted) {
      memset(got[i], 0, ROOM);
      if (!(m->how & 8)) {
        is_persistent[used] = (m->how & 6) == 6;
        index[used] = i;
        if (is_persistent[used]) {
          MPI_Recv_init(to, m->count, t, m->how & 1 ? MPI_ANY_SOURCE : in.from, m->tag, c,
                        &requests[used]);
          MPI_Start(&requests[used]);
        } else
          MPI_Irecv(to, m->count, t, m->how & 1 ? MPI_ANY_SOURCE : in.from, m->tag, c,
                    &requests[used]);
        used++;
      }
    }
    if (sends) {
      fill(sent[i], ROOM, me, i);
      is_persistent[used] = m->mode >= 3;
      index[used] = -1;
      begin_send(c, &out, i, t, from, &requests[used++]);
    }
  }
  for (int i = 0; i < count && c != MPI_COMM_NULL; i++)
    if (all[i].to % size == rank && all[i].how & 8) {
      message in = all[i];
      in.from %= others;
      receive_now(c, &in, got[i] - (low < 0 ? low : 0), t);
      note_bytes(got[i], ROOM);
    }
  if (c != MPI_COMM_NULL) {
    finish(requests, statuses, used, way);
    for (int k = 0; k < used; k++) {
      if (index[k] >= 0) {
        note_status(&statuses[k], t);
        note_bytes(got[index[k]], ROOM);
      }
      if (is_persistent[k]) MPI_Request_free(&requests[k]);
    }
    if (cancels) {
      MPI_Request r;
      MPI_Status s;
      int is_cancelled;
      MPI_Irecv(got[0], 1, MPI_INT, MPI_ANY_SOURCE, 5000, c, &r);
      MPI_Cancel(&r);
      MPI_Wait(&r, &s);
      MPI_Test_cancelled(&s, &is_cancelled);
      note((uint64_t)is_cancelled);
    }
  }
  MPI_Type_free(&t);
}

/* ---- collectives -------------------------------------------------------------------------------------------------- */
/* Of 2 x 2 matrices: the order counts. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type) {
  uint32_t *a = (uint32_t *)in, *b = (uint32_t *)inout;
  (void)type;
  for (int i = 0; i < *count; i++, a += 4, b += 4) {
    const uint32_t m[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                           a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    memcpy(b, m, sizeof m);
  }
}
static MPI_Op matrix_product;
static MPI_Datatype matrix;
typedef struct reduction {
  MPI_Datatype type;
  MPI_Op op;
  int bytes;
} reduction;
static reduction draw_reduction(void) {
  const MPI_Op whole[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_BAND,
                          MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR},
               real[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  const MPI_Datatype types[] = {MPI_INT,      MPI_LONG,    MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,
                                MPI_UINT32_T, MPI_UINT64_T};
  const int bytes[] = {4, 8, 1, 2, 4, 8}, what = between(0, 9), k = between(0, 5),
            o = between(0, 9);
  if (what == 0) return (reduction){matrix, matrix_product, 16};
  if (what == 1) return (reduction){MPI_2INT, k & 1 ? MPI_MAXLOC : MPI_MINLOC, 8};
  if (what == 2) return (reduction){MPI_DOUBLE, real[o % 3], 8};
  return (reduction){types[k], whole[o], bytes[k]};
}
static void fill_for(void *to, const reduction *r, int count, int what) {
  fill(to, (size_t)(count * r->bytes), me, what);
  for (int i = 0; i < count * r->bytes; i++)
    ((unsigned char *)to)[i] &= 0x7F; /* MPICH compares unsigned numbers as signed ones */
  for (int i = 0; i < count && r->type == MPI_DOUBLE; i++)
    ((double *)to)[i] = (double)(int)(datum(me, i) % 2001) - 1000;
}
static char in[1 << 20], out[1 << 20];
static int counts[64], places[64], zeros[64];
static MPI_Datatype chars[64];
static int collective(MPI_Comm c, int is_between, int which, int is_now, int root, int count,
                      const reduction *r, int varies, MPI_Request *q) {
  int size, rank, others;
  MPI_Comm_rank(c, &rank);
  MPI_Comm_size(c, &size);
  others = size;
  if (is_between) MPI_Comm_remote_size(c, &others);
  int total = 0;
  for (int i = 0; i < others && i < 64; i++)
    counts[i] = (i * varies + count) % 50, places[i] = total, total += counts[i] + varies % 3,
    chars[i] = MPI_BYTE, zeros[i] = 0;
  const int mine = (rank * varies + count) % 50;
  /* between two groups: who roots is in the lower half of the world's */
  MPI_Datatype t = r->type;
  if (which == 0) return is_now ? MPI_Barrier(c) : MPI_Ibarrier(c, q);
  if (which == 1)
    return is_now ? MPI_Bcast(out, count * 7, MPI_INT, root, c)
                  : MPI_Ibcast(out, count * 7, MPI_INT, root, c, q);
  if (which == 2)
    return is_now ? MPI_Allreduce(in, out, count, t, r->op, c)
                  : MPI_Iallreduce(in, out, count, t, r->op, c, q);
  if (which == 3)
    return is_now ? MPI_Reduce(in, out, count, t, r->op, root, c)
                  : MPI_Ireduce(in, out, count, t, r->op, root, c, q);
  if (which == 4)
    return is_now ? MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, c)
                  : MPI_Igather(in, count, MPI_INT, out, count, MPI_INT, root, c, q);
  if (which == 5)
    return is_now ? MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, c)
                  : MPI_Iscatter(in, count, MPI_INT, out, count, MPI_INT, root, c, q);
  if (which == 6)
    return is_now ? MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, c)
                  : MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, c, q);
  if (which == 7)
    return is_now ? MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, c)
                  : MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, c, q);
  if (which == 8)
    return is_now ? MPI_Allgatherv(in, mine, MPI_BYTE, out, counts, places, MPI_BYTE, c)
                  : MPI_Iallgatherv(in, mine, MPI_BYTE, out, counts, places, MPI_BYTE, c, q);
  if (which == 9)
    return is_now ? MPI_Gatherv(in, mine, MPI_BYTE, out, counts, places, MPI_BYTE, root, c)
                  : MPI_Igatherv(in, mine, MPI_BYTE, out, counts, places, MPI_BYTE, root, c, q);
  if (which == 10)
    return is_now ? MPI_Scatterv(in, counts, places, MPI_BYTE, out, mine, MPI_BYTE, root, c)
                  : MPI_Iscatterv(in, counts, places, MPI_BYTE, out, mine, MPI_BYTE, root, c, q);
  if (which == 11) {
    for (int i = 0; i < others && i < 64; i++)
      counts[i] = (i + rank) * varies % 40, places[i] = i * 41;
    return is_now ? MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, c)
                  : MPI_Ialltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, c, q);
  }
  if (which == 12) {
    for (int i = 0; i < others && i < 64; i++)
      counts[i] = (i + rank) * varies % 40, places[i] = i * 41;
    return is_now ? MPI_Alltoallw(in, counts, places, chars, out, counts, places, chars, c)
                  : MPI_Ialltoallw(in, counts, places, chars, out, counts, places, chars, c, q);
  }
  if (which == 13)
    return is_now
               ? MPI_Reduce_scatter_block(in, out, is_between ? count * others : count, t, r->op, c)
               : MPI_Ireduce_scatter_block(in, out, is_between ? count * others : count, t, r->op,
                                           c, q);
  if (which == 14)
    return is_now ? MPI_Scan(in, out, count, t, r->op, c)
                  : MPI_Iscan(in, out, count, t, r->op, c, q);
  if (which == 15)
    return is_now ? MPI_Exscan(in, out, count, t, r->op, c)
                  : MPI_Iexscan(in, out, count, t, r->op, c, q);
  for (int i = 0; i < size && i < 64; i++) counts[i] = (i * varies + count) % 20;
  return is_now ? MPI_Reduce_scatter(in, out, counts, t, r->op, c)
                : MPI_Ireduce_scatter(in, out, counts, t, r->op, c, q);
}
static void do_collective(void) {
  const int at = between(0, COMMS - 1);
  int is_now = draw(2) == 0, which = between(0, 16), root = between(0, 1000);
  const int count = draw(5) ? between(0, 60) : between(61, 3000), varies = between(0, 7),
            side = between(0, 1);
  const reduction r = draw_reduction();
  MPI_Comm c = comms[at];
  MPI_Request q;
  int size, rank, low = 1;
  if (c == MPI_COMM_NULL) return;
  MPI_Comm_rank(c, &rank);
  MPI_Comm_size(c, &size);
  if (is_inter[at]) { /* a root and its group take part as MPI_ROOT and MPI_PROC_NULL */
    int others, first[2] = {0, 0};
    MPI_Group mine, world;
    if (which >= 13) which = which % 3; /* few are defined there */
    if (which == 1) is_now = 1; /* MPICH's other one takes the data of the wrong process */
    MPI_Comm_remote_size(c, &others);
    MPI_Comm_group(c, &mine);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group theirs;
    MPI_Comm_remote_group(c, &theirs);
    const int zero = 0;
    MPI_Group_translate_ranks(mine, 1, &zero, world, &first[0]);
    MPI_Group_translate_ranks(theirs, 1, &zero, world, &first[1]);
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
    MPI_Group_free(&theirs);
    low = (first[0] < first[1]) == (side == 0);
    root = low ? rank == root % size ? MPI_ROOT : MPI_PROC_NULL : root % others;
  } else
    root %= size;
  memset(out, 0, sizeof out);
  fill(in, 200000, me, 1);
  fill_for(in, &r, count * 8 < 60000 ? count : 60000 / 8, 2);
  if (which == 1) fill(out, 3000 * 28, me, 3);
  SHOW("%d: which %d root %d count %d varies %d type %x op %x bytes %d now %d inter %d rank %d of "
       "%d\n",
       me, which, root, count, varies, (unsigned)r.type, (unsigned)r.op, r.bytes, is_now,
       is_inter[at], rank, size);
  if (which == 13 || which == 16)
    fill_for(in, &r, 200000 / r.bytes, 2); /* a part for each process */
  collective(c, is_inter[at], which, is_now, root, which == 7 || which == 13 ? count % 200 : count,
             &r, varies, &q);
  if (!is_now) MPI_Wait(&q, MPI_STATUS_IGNORE);
  if (which == 15 && rank == 0) memset(out, 0, sizeof out); /* of the first process: undefined */
  if (root == MPI_PROC_NULL && (which == 1 || which == 3)) memset(out, 0, sizeof out);
  note_bytes(out, 300000);
}
static void do_neighbours(void) {
  const int at = between(0, COMMS - 1), which = between(0, 1), is_now = draw(2) == 0,
            count = between(1, 40);
  int status = MPI_UNDEFINED;
  MPI_Request q;
  if (comms[at] == MPI_COMM_NULL || is_inter[at]) return;
  MPI_Topo_test(comms[at], &status);
  note((uint64_t)plain_topo(status));
  if (status != MPI_CART && status != MPI_DIST_GRAPH) return;
  SHOW("%d: neighbours which %d count %d status %d now %d\n", me, which, count, status, is_now);
  memset(out, 0, sizeof out);
  fill(in, 60000, me, 1);
  if (which == 0 && is_now)
    MPI_Neighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, comms[at]);
  if (which == 0 && !is_now)
    MPI_Ineighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, comms[at], &q);
  if (which == 1 && is_now)
    MPI_Neighbor_alltoall(in, count, MPI_INT, out, count, MPI_INT, comms[at]);
  if (which == 1 && !is_now)
    MPI_Ineighbor_alltoall(in, count, MPI_INT, out, count, MPI_INT, comms[at], &q);
  if (!is_now) MPI_Wait(&q, MPI_STATUS_IGNORE);
  note_bytes(out, 3000);
}

/* ---- one-sided: what is put lies apart, what is added may not ------------------------------------------------------ */
enum { PART = 64 };
static void transfer(MPI_Win w, int from, int to, int kind, int place, int k, long *result) {
  static long value[256][PART];
  long *v = value[k % 256];
  for (int i = 0; i < PART; i++) v[i] = (long)(datum(me, k * 100 + i) % 1000);
  (void)from;
  /* the window of a process: a part for each process, then a part that all add to, then one read only */
  const int shared = n * PART, read_only = (n + 1) * PART;
  const int length = place % (PART - 8) + 1;
  if (kind == 0) MPI_Put(v, length, MPI_LONG, to, me * PART + place % 8, length, MPI_LONG, w);
  if (kind == 1)
    MPI_Accumulate(v, length, MPI_LONG, to, shared + place % 8, length, MPI_LONG, MPI_SUM, w);
  if (kind == 2) MPI_Get(result, length, MPI_LONG, to, read_only + place % 8, length, MPI_LONG, w);
  if (kind == 3)
    MPI_Get_accumulate(v, 1, MPI_LONG, result, 1, MPI_LONG, to, read_only + place % PART, 1,
                       MPI_LONG, MPI_NO_OP, w);
}
static void do_window(void) {
  const int at = 0, how = between(0, 3), sync = between(0, 3), count = between(1, 12);
  long *base, own[1], results[16][PART];
  const MPI_Aint bytes = (n + 2) * PART * (MPI_Aint)sizeof(long);
  MPI_Win w;
  (void)own;
  memset(results, 0, sizeof results);
  if (how == 0) {
    base = (long *)malloc((size_t)bytes);
    MPI_Win_create(base, bytes, sizeof(long), MPI_INFO_NULL, comms[at], &w);
  } else
    MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comms[at], &base, &w);
  for (int i = 0; i < (n + 2) * PART; i++) base[i] = (long)(datum(me, i) % 5000);
  MPI_Barrier(comms[at]);
  MPI_Group all;
  MPI_Comm_group(comms[at], &all);
  if (sync == 0) MPI_Win_fence(0, w);
  if (sync == 1) MPI_Win_post(all, 0, w), MPI_Win_start(all, 0, w);
  if (sync == 2) MPI_Win_lock_all(0, w);
  int written = -1;
  for (int k = 0; k < count; k++) {
    const int from = between(0, n - 1), to = between(0, n - 1), place = between(0, 5000);
    int kind = between(0, 3);
    if (kind == 0 && written >= 0) kind = 1; /* one put per epoch: two might overlap */
    if (kind == 0) written = from;
    if (from != me) continue;
    if (sync == 3) MPI_Win_lock(kind == 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, w);
    transfer(w, from, to, kind, place, k, results[k]);
    if (sync == 3) MPI_Win_unlock(to, w);
    if (sync == 2 && place & 1) MPI_Win_flush(to, w);
  }
  if (sync == 0) MPI_Win_fence(0, w);
  if (sync == 1) MPI_Win_complete(w), MPI_Win_wait(w);
  if (sync == 2) MPI_Win_unlock_all(w);
  MPI_Barrier(comms[at]);
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w);
  note_bytes(base, (size_t)bytes);
  MPI_Win_unlock(me, w);
  note_bytes(results, sizeof results);
  /* counters: the sum of what all fetched, whoever came first */
  long one = 1, before = 0, total = 0;
  MPI_Barrier(comms[at]);
  MPI_Win_lock_all(0, w);
  for (int k = 0; k < 4; k++) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, k % n, (n + 1) * PART, MPI_SUM, w);
    MPI_Win_flush_all(w);
    total += before;
  }
  MPI_Win_unlock_all(w);
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_LONG, MPI_SUM, comms[at]);
  note((uint64_t)total);
  MPI_Group_free(&all);
  MPI_Win_free(&w);
  if (how == 0) free(base);
}

/* ---- all ------------------------------------------------------------------------------------------------------------ */
static const struct {
  const char *name;
  void (*run)(void);
  unsigned weight;
} steps[] = {{"comms", change_comms, 3},
             {"messages", send_and_receive, 6},
             {"collective", do_collective, 9},
             {"neighbours", do_neighbours, 2},
             {"window", do_window, 2},
             {"packing", do_packing, 2},
             {"groups", do_groups, 1},
             {"types", do_typed_collective, 3},
             {"shape", do_shape, 1},
             {"requests", do_typed_window, 2},
             {"file", do_file, 2},
             {"partitions", do_partitions, 1},
             {"exchange", do_exchange, 2},
             {"far types", do_far_types, 2},
             {"elements", do_elements, 2},
             {"own types", do_own_types, 3},
             {"graph", do_graph, 2},
             {"spread file", do_spread_file, 2}};
static void take_step(void) {
  unsigned all = 0, k;
  size_t i = 0;
  for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) all += steps[s].weight;
  for (k = draw(all); k >= steps[i].weight; i++) k -= steps[i].weight;
  sum = 0;
  const uint64_t seed = mix(state);
  steps[i].run();
  state = seed | 1; /* who is in a communicator may have drawn more */
  sums[step] = sum;
  names[step] = steps[i].name;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  shown = argc > 3 ? atoi(argv[3]) : -1;
  state = mix(argc > 1 ? (uint64_t)atoll(argv[1]) : 1) | 1;
  MPI_Op_create(multiply, 0, &matrix_product);
  MPI_Type_contiguous(4, MPI_UINT32_T, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Buffer_attach(attached, sizeof attached);
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key_made, NULL);
  comms[0] = MPI_COMM_WORLD;
  for (int i = 1; i < COMMS; i++) comms[i] = MPI_COMM_NULL;
  for (step = 0; step < count && step < LINES; step++) take_step();
  uint64_t *of_all = (uint64_t *)calloc((size_t)n * LINES, sizeof *of_all);
  MPI_Gather(sums, LINES, MPI_UINT64_T, of_all, LINES, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int s = 0; s < count && me == 0; s++) {
    printf("%d %s", s, names[s]);
    for (int r = 0; r < n; r++)
      printf(" %016llx", (unsigned long long)of_all[(size_t)r * LINES + (size_t)s]);
    printf("\n");
  }
  MPI_Buffer_detach(&attached, &step);
  for (int i = 1; i < COMMS; i++)
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
  MPI_Type_free(&matrix);
  MPI_Op_free(&matrix_product);
  MPI_Comm_free_keyval(&key_made);
  MPI_Finalize();
  return 0;
}
