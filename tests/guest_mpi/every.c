/* MPI test set: functions that no other file calls: those with arrays of large counts, in all three forms; makers
   of types with large counts; conversions; handlers of sessions. What MPICH 4.0.2 has not (persistent collectives, ports,
   events of tools) stands in tests of its own, which judge themselves. */
#include "say.h"
#define W MPI_COMM_WORLD
enum { MOST = 64 };
static MPI_Count sc[MOST], rc[MOST];
static MPI_Aint sd[MOST], rd[MOST];
static MPI_Datatype types[MOST];
static int out[MOST * 4], in[MOST * 4], want[MOST * 4];
static MPI_Request r;
static const MPI_Info none = MPI_INFO_NULL;

/* Process i sends i % 3 + 1 elements to each process, with gaps of one; the places grow by 4. */
static void lay_out(int is_bytes) {
  for (int i = 0; i < n; i++) {
    sc[i] = me % 3 + 1, rc[i] = i % 3 + 1;
    sd[i] = rd[i] = (MPI_Aint)i * 4 * (is_bytes ? 4 : 1);
    types[i] = MPI_INT;
  }
  for (int i = 0; i < n * 4; i++) out[i] = me * 1000 + i, in[i] = -1;
}
static void said_ints(const char *name) { say("%s: %llx", name, (unsigned long long)hash_of(in, (size_t)n * 16)); }
/* call: with the request at its end; blocking, or waited for */
#define ONE(name, bytes, call) (lay_out(bytes), call, said_ints(name))
#define TWO(name, bytes, call, icall) (ONE(name, bytes, call), lay_out(bytes), icall, MPI_Wait(&r, MPI_STATUS_IGNORE), said_ints("i" name))
static void large_collectives(void) {
  const int mine = me % 3 + 1;
  TWO("allgatherv", 0, MPI_Allgatherv_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, W), MPI_Iallgatherv_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, W, &r));
  TWO("gatherv", 0, MPI_Gatherv_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, 0, W), MPI_Igatherv_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, 0, W, &r));
  TWO("scatterv", 0, MPI_Scatterv_c(out, rc, rd, MPI_INT, in, mine, MPI_INT, n - 1, W), MPI_Iscatterv_c(out, rc, rd, MPI_INT, in, mine, MPI_INT, n - 1, W, &r));
  TWO("alltoallv", 0, MPI_Alltoallv_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, W), MPI_Ialltoallv_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, W, &r));
  TWO("alltoallw", 1, MPI_Alltoallw_c(out, sc, sd, types, in, rc, rd, types, W), MPI_Ialltoallw_c(out, sc, sd, types, in, rc, rd, types, W, &r));
  TWO("reduce_scatter", 0, MPI_Reduce_scatter_c(out, in, rc, MPI_INT, MPI_SUM, W), MPI_Ireduce_scatter_c(out, in, rc, MPI_INT, MPI_SUM, W, &r));
}
static MPI_Comm ring(void) {
  MPI_Comm c;
  const int left = (me + n - 1) % n, right = (me + 1) % n;
  MPI_Dist_graph_create_adjacent(W, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
  return c;
}
/* To the right: me % 3 + 1 elements. */
static void lay_out_ring(int is_bytes) {
  lay_out(is_bytes);
  sc[0] = me % 3 + 1;
  rc[0] = (me + n - 1) % n % 3 + 1;
  rd[0] = is_bytes ? 8 : 2;
}
#define RING(name, bytes, call, icall) (lay_out_ring(bytes), call, said_ints(name), lay_out_ring(bytes), icall, MPI_Wait(&r, MPI_STATUS_IGNORE), said_ints("i" name))
static void large_neighbours(void) {
  MPI_Comm c = ring();
  RING("neighbour allgatherv", 0, MPI_Neighbor_allgatherv_c(out, sc[0], MPI_INT, in, rc, rd, MPI_INT, c),
       MPI_Ineighbor_allgatherv_c(out, sc[0], MPI_INT, in, rc, rd, MPI_INT, c, &r));
  RING("neighbour alltoallv", 0, MPI_Neighbor_alltoallv_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, c),
       MPI_Ineighbor_alltoallv_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, c, &r));
  RING("neighbour alltoallw", 1, MPI_Neighbor_alltoallw_c(out, sc, sd, types, in, rc, rd, types, c),
       MPI_Ineighbor_alltoallw_c(out, sc, sd, types, in, rc, rd, types, c, &r));
  MPI_Comm_free(&c);
}
static void described(const char *name, MPI_Datatype t) {
  MPI_Count size, lb, extent, true_lb, true_extent, ints, addresses, counts, kinds;
  MPI_Count c[32];
  MPI_Datatype made_of[8];
  int i[32], combiner, told;
  MPI_Aint a[32], low, true_low;
  long sum = 0;
  MPI_Type_size_c(t, &size);
  MPI_Type_get_extent_c(t, &lb, &extent);
  MPI_Type_get_true_extent_c(t, &true_lb, &true_extent);
  MPI_Type_get_envelope_c(t, &ints, &addresses, &counts, &kinds, &combiner);
  MPI_Type_get_contents_c(t, ints, addresses, counts, kinds, i, a, c, made_of);
  for (int k = 0; k < ints; k++) sum = sum * 7 + i[k];
  for (int k = 0; k < counts; k++) sum = sum * 7 + (long)c[k];
  (void)low, (void)true_low, (void)told;
  say("%s: %ld bytes, %ld + %ld, %ld + %ld; contents %ld %ld %ld %ld: %ld", name, (long)size, (long)lb, (long)extent, (long)true_lb, (long)true_extent, (long)ints,
      (long)addresses, (long)counts, (long)kinds, sum);
  MPI_Type_free(&t);
}
static void large_types(void) {
  const MPI_Count lengths[2] = {2, 3}, places[2] = {1, 8}, sizes[2] = {4, 6}, part[2] = {2, 3}, from[2] = {1, 2};
  const int spread[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, by[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {1, 1};
  const MPI_Datatype two[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype t;
  MPI_Type_indexed_c(2, lengths, places, MPI_INT, &t), described("indexed", t);
  MPI_Type_create_indexed_block_c(2, 3, places, MPI_SHORT, &t), described("indexed block", t);
  MPI_Type_create_hindexed_block_c(2, 3, places, MPI_CHAR, &t), described("hindexed block", t);
  MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &t), described("hvector", t);
  MPI_Type_create_struct_c(2, lengths, places, two, &t), described("struct", t);
  MPI_Type_create_resized_c(MPI_INT, -4, 16, &t), described("resized", t);
  MPI_Type_create_subarray_c(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &t), described("subarray", t);
  MPI_Type_create_darray_c(1, 0, 2, sizes, spread, by, grid, MPI_ORDER_C, MPI_INT, &t), described("darray", t);
}
static void large_packing(void) {
  char packed[256];
  MPI_Count at = 0, size, elements;
  int back[8] = {0};
  MPI_Datatype pair;
  MPI_Status s;
  lay_out(0);
  MPI_Pack_c(out, 5, MPI_INT, packed, sizeof packed, &at, W);
  say("packed: %ld", (long)at);
  at = 0;
  MPI_Unpack_c(packed, 20, &at, back, 5, MPI_INT, W);
  say("back: %ld, same %d", (long)at, memcmp(back, out, 20) == 0);
  MPI_Pack_size_c(3, MPI_DOUBLE, W, &size);
  say("room is there: %d", size >= 24);
  MPI_Pack_external_size_c("external32", 3, MPI_DOUBLE, &size);
  at = 0;
  MPI_Pack_external_c("external32", out, 4, MPI_INT, packed, sizeof packed, &at);
  say("external: %ld %ld %llx", (long)size, (long)at, (unsigned long long)hash_of(packed, (size_t)at));
  at = 0;
  memset(back, 0, sizeof back);
  MPI_Unpack_external_c("external32", packed, 16, &at, back, 4, MPI_INT);
  say("back: %ld, same %d", (long)at, memcmp(back, out, 16) == 0);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(out, 3, MPI_INT, me, 0, back, 2, pair, me, 0, W, &s);
  MPI_Get_elements_c(&s, pair, &elements);
  say("elements: %ld", (long)elements);
  MPI_Type_free(&pair);
  void *memory = malloc(MPI_BSEND_OVERHEAD + 64), *got;
  MPI_Buffer_attach(memory, MPI_BSEND_OVERHEAD + 64);
  MPI_Buffer_detach_c(&got, &size);
  say("buffer: same %d, %d", got == memory, size == MPI_BSEND_OVERHEAD + 64);
  free(memory);
}
static void add_large(void *a, void *b, MPI_Count *count, MPI_Datatype *type) {
  (void)type;
  for (MPI_Count i = 0; i < *count; i++) ((int *)b)[i] += 2 * ((int *)a)[i];
}
static void operators_and_statuses(void) {
  MPI_Op op;
  MPI_Status s, t;
  MPI_F08_status f08;
  int a = me, b = 0, count;
  MPI_Op_create_c(add_large, 0, &op);
  MPI_Allreduce(&a, &b, 1, MPI_INT, op, W);
  say("operator: %d", b);
  MPI_Op_free(&op);
  MPI_Sendrecv(&a, 1, MPI_INT, me, 3, &b, 1, MPI_INT, me, 3, W, &s);
  MPI_Status_c2f08(&s, &f08);
  MPI_Status_f082c(&f08, &t);
  MPI_Get_count(&t, MPI_INT, &count);
  say("status: %d %d %d, same %d", t.MPI_SOURCE, t.MPI_TAG, count, memcmp(&s, &t, sizeof s) == 0);
}
static void groups_and_sessions(void) {
  MPI_Comm c, local;
  MPI_Group all, half, other;
  MPI_Info info;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, size = 0;
  handler_of_a_session();
  MPI_Comm_group(W, &all);
  if (n > 1) {
    const int low[1][3] = {{0, (n - 1) / 2, 1}}, high[1][3] = {{(n - 1) / 2 + 1, n - 1, 1}};
    const int is_low = me <= (n - 1) / 2;
    int a[1][3], b[1][3];
    memcpy(a, low, sizeof a), memcpy(b, high, sizeof b);
    MPI_Group_range_incl(all, 1, is_low ? a : b, &half);
    MPI_Group_range_incl(all, 1, is_low ? b : a, &other);
    MPI_Intercomm_create_from_groups(half, 0, other, 0, "every", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
    MPI_Comm_remote_size(c, &size);
    MPI_Comm_free(&c);
    MPI_Group_free(&half);
    MPI_Group_free(&other);
  }
  say("of the other group: %d", size);
  MPI_Group_free(&all);
  MPI_Comm_idup_with_info(W, MPI_INFO_NULL, &c, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Comm_size(c, &size);
  say("duplicate: %d", size);
  MPI_Comm_free(&c);
  MPI_Comm_get_parent(&local);
  say("nobody's child: %d", local == MPI_COMM_NULL);
  MPI_Get_library_version(text, &length);
  say("MPICH's ABI: %d", length > 0 && strncmp(text, "MPICH", 5) == 0);
  MPI_Info_create_env(0, NULL, &info);
  say("what is around: %d", info != MPI_INFO_NULL);
  MPI_Info_free(&info);
}
static void shared_memory(void) {
  MPI_Comm node;
  MPI_Win win;
  MPI_Aint size, unit;
  int *mine = NULL, *theirs = NULL;
  MPI_Comm_split_type(W, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(8, 4, MPI_INFO_NULL, node, &mine, &win);
  MPI_Win_shared_query_c(win, MPI_PROC_NULL, &size, &unit, &theirs);
  say("shared: %ld in units of %ld, there %d", (long)size, (long)unit, theirs != NULL);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
}
static int convert(void *user, MPI_Datatype t, int count, void *file, MPI_Offset at, void *extra) {
  (void)user, (void)t, (void)count, (void)file, (void)at, (void)extra;
  return MPI_SUCCESS;
}
static int convert_large(void *user, MPI_Datatype t, MPI_Count count, void *file, MPI_Offset at, void *extra) {
  (void)user, (void)t, (void)count, (void)file, (void)at, (void)extra;
  return MPI_SUCCESS;
}
static int extent_of(MPI_Datatype t, MPI_Aint *extent, void *extra) {
  (void)t, (void)extent, (void)extra;
  return MPI_SUCCESS;
}
static void representations(void) {
  int class;
  MPI_Error_class(MPI_Register_datarep("own", convert, convert, extent_of, NULL), &class);
  say("own representation: %d", class);
  MPI_Error_class(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL), &class);
  say("without functions: %d", class);
  MPI_Error_class(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL), &class);
  say("again: %d", class);
  MPI_Error_class(MPI_Register_datarep_c("own too", convert_large, convert_large, extent_of, NULL), &class);
  say("own large one: %d", class);
}
static void extents_in_files(void) {
  const char *path = getenv("GUEST_MPI_FILE") ? getenv("GUEST_MPI_FILE") : "guest_mpi.tmp";
  MPI_File f;
  MPI_Count extent = 0;
  MPI_File_open(W, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
  MPI_File_get_type_extent_c(f, MPI_DOUBLE, &extent);
  say("in a file: %ld", (long)extent);
  MPI_File_close(&f);
}
void test_every(void) {
  large_collectives();
  large_neighbours();
  large_types();
  large_packing();
  operators_and_statuses();
  groups_and_sessions();
  shared_memory();
  representations();
  extents_in_files();
}

/* ---- persistent: the same as without waiting, twice ---------------------------------------------------------------- */
#define SAME(name, lay, call, init)                                                                                     \
  do {                                                                                                                  \
    int good = 1;                                                                                                       \
    lay, call, memcpy(want, in, sizeof in);                                                                             \
    lay, init;                                                                                                          \
    for (int round = 0; round < 2; round++) {                                                                           \
      lay, MPI_Start(&r), MPI_Wait(&r, MPI_STATUS_IGNORE);                                                              \
      good &= memcmp(want, in, (size_t)n * 16) == 0;                                                                    \
    }                                                                                                                   \
    MPI_Request_free(&r);                                                                                               \
    say("%s: %s", name, good ? "same" : "OTHER");                                                                       \
  } while (0)
void test_every_persistent(void) {
  const int mine = me % 3 + 1;
  int a[2] = {1, 1}, b[2] = {0, 4};
  MPI_Comm c = ring();
  SAME("allgatherv", lay_out(0), MPI_Allgatherv_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, W), MPI_Allgatherv_init_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, W, none, &r));
  SAME("gatherv", lay_out(0), MPI_Gatherv_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, 0, W), MPI_Gatherv_init_c(out, mine, MPI_INT, in, rc, rd, MPI_INT, 0, W, none, &r));
  SAME("scatterv", lay_out(0), MPI_Scatterv_c(out, rc, rd, MPI_INT, in, mine, MPI_INT, 0, W), MPI_Scatterv_init_c(out, rc, rd, MPI_INT, in, mine, MPI_INT, 0, W, none, &r));
  SAME("alltoallv", lay_out(0), MPI_Alltoallv_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, W), MPI_Alltoallv_init_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, W, none, &r));
  SAME("alltoallw", lay_out(1), MPI_Alltoallw_c(out, sc, sd, types, in, rc, rd, types, W), MPI_Alltoallw_init_c(out, sc, sd, types, in, rc, rd, types, W, none, &r));
  SAME("reduce_scatter", lay_out(0), MPI_Reduce_scatter_c(out, in, rc, MPI_INT, MPI_SUM, W), MPI_Reduce_scatter_init_c(out, in, rc, MPI_INT, MPI_SUM, W, none, &r));
#define ALL(name, init, ...) SAME("neighbour " name, lay_out_ring(0), MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, c), init(out, 2, MPI_INT, in, 2, MPI_INT, c, none, &r))
  ALL("allgather", MPI_Neighbor_allgather_init);
  ALL("allgather, large", MPI_Neighbor_allgather_init_c);
  ALL("alltoall", MPI_Neighbor_alltoall_init);
  ALL("alltoall, large", MPI_Neighbor_alltoall_init_c);
  SAME("neighbour allgatherv, large", lay_out_ring(0), MPI_Neighbor_allgatherv_c(out, sc[0], MPI_INT, in, rc, rd, MPI_INT, c),
       MPI_Neighbor_allgatherv_init_c(out, sc[0], MPI_INT, in, rc, rd, MPI_INT, c, none, &r));
  SAME("neighbour alltoallv, large", lay_out_ring(0), MPI_Neighbor_alltoallv_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, c),
       MPI_Neighbor_alltoallv_init_c(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, c, none, &r));
  SAME("neighbour alltoallw, large", lay_out_ring(1), MPI_Neighbor_alltoallw_c(out, sc, sd, types, in, rc, rd, types, c),
       MPI_Neighbor_alltoallw_init_c(out, sc, sd, types, in, rc, rd, types, c, none, &r));
  SAME("neighbour allgatherv", lay_out_ring(0), MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, a, b, MPI_INT, c),
       MPI_Neighbor_allgatherv_init(out, 1, MPI_INT, in, a, b, MPI_INT, c, none, &r));
  SAME("neighbour alltoallv", lay_out_ring(0), MPI_Neighbor_alltoallv(out, a, b, MPI_INT, in, a, b, MPI_INT, c),
       MPI_Neighbor_alltoallv_init(out, a, b, MPI_INT, in, a, b, MPI_INT, c, none, &r));
  SAME("neighbour alltoallw", lay_out_ring(1), MPI_Neighbor_alltoallw(out, a, sd, types, in, a, rd, types, c),
       MPI_Neighbor_alltoallw_init(out, a, sd, types, in, a, rd, types, c, none, &r));
  MPI_Comm_free(&c);
}

/* ---- what pm_run refuses: an error, and the program goes on ------------------------------------------------------------ */
/* MPICH 4.0.2 declares these two, and has them not. */
#pragma weak MPI_Status_f2f08
#pragma weak MPI_Status_f082f
static void statuses_of_fortran(void) {
  MPI_Status s;
  MPI_F08_status f08;
  MPI_Fint f[sizeof(MPI_Status) / sizeof(MPI_Fint)], g[sizeof(MPI_Status) / sizeof(MPI_Fint)];
  memset(&s, 0, sizeof s);
  s.MPI_SOURCE = 3, s.MPI_TAG = 4;
  MPI_Status_c2f(&s, f);
  MPI_Status_f2f08(f, &f08);
  MPI_Status_f082f(&f08, g);
  say("Fortran's statuses: %s", f08.MPI_TAG == 4 && memcmp(f, g, sizeof f) == 0 ? "same" : "OTHER");
}
/* What a process sends to itself is cut to its room, as a message would be, and nothing is written behind it. */
#define CUT(name, call)                                                                                     \
  for (int i = 0; i <= n; i++) to[i] = -7;                                                                  \
  code = call;                                                                                              \
  if (code != MPI_SUCCESS) MPI_Error_class(code, &code);                                                    \
  say("long block for itself in %s: %s", name, code == MPI_ERR_TRUNCATE && to[me] == 5 && to[n] == -7 ? "refused" : "TAKEN")
static void long_blocks(void) {
  int *from = calloc((size_t)(2 * n), sizeof *from), *to = calloc((size_t)(n + 1), sizeof *to), *one = calloc((size_t)(4 * n), sizeof *one);
  int *two = one + n, *at = two + n, *at_two = at + n, code;
  MPI_Request q = MPI_REQUEST_NULL;
  for (int i = 0; i < n; i++) from[2 * i] = from[2 * i + 1] = 5, one[i] = 1, two[i] = i == me ? 2 : 1, at[i] = i;
  for (int i = 0; i < n; i++) at_two[i] = i < me ? i : i + (i > me);
  CUT("MPI_Alltoall", MPI_Alltoall(from, 2, MPI_INT, to, 1, MPI_INT, W));
  CUT("MPI_Allgather", MPI_Allgather(from, 2, MPI_INT, to, 1, MPI_INT, W));
  CUT("MPI_Alltoallv", MPI_Alltoallv(from, two, at_two, MPI_INT, to, one, at, MPI_INT, W));
  CUT("MPI_Allgatherv", MPI_Allgatherv(from, 2, MPI_INT, to, one, at, MPI_INT, W));
  CUT("MPI_Ialltoall", (MPI_Ialltoall(from, 2, MPI_INT, to, 1, MPI_INT, W, &q), MPI_Wait(&q, MPI_STATUS_IGNORE)));
  free(from);
  free(to);
  free(one);
}
#define BAD(call, code) say("%s: %s", #call, (call) == (code) ? "right" : "OTHER")
#define NO(call) say("%s: %s", #call, (call) == MPI_SUCCESS ? "TAKEN" : "refused")
#if MPI_VERSION >= 4
/* Partitions are said to be ready once, and their request stays until it is over: the other side would wait for ever. */
static void parts_stay(void) {
  int from[2] = {me, 7}, to[2] = {-1, -1}, both[2] = {1, 1};
  MPI_Request s, q, again;
  MPI_Psend_init(from, 2, 1, MPI_INT, (me + 1) % n, 6, W, none, &s);
  MPI_Precv_init(to, 2, 1, MPI_INT, (me + n - 1) % n, 6, W, none, &q);
  MPI_Start(&s);
  MPI_Start(&q);
  again = s;
  NO(MPI_Cancel(&again));
  NO(MPI_Request_free(&again));
  again = q;
  NO(MPI_Request_free(&again));
  NO(MPI_Pready_list(2, both, s));
  MPI_Pready(0, s);
  NO(MPI_Pready(1, s));
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  say("parts of %d: %s", to[0], to[0] == (me + n - 1) % n && to[1] == 7 ? "right" : "OTHER");
  MPI_Request_free(&s);
  MPI_Request_free(&q);
}
#endif
/* Members of unequal lengths: elements that are set are those that are got. */
static void unequal_members(void) {
  const int ones[2] = {1, 1};
  const MPI_Aint at[2] = {0, 8};
  const MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype t;
  MPI_Status s;
  int count = -1, is_right = 1;
  memset(&s, 0, sizeof s);
  MPI_Type_create_struct(2, ones, at, members, &t);
  MPI_Type_commit(&t);
  for (int k = 0; k < 8; k++) {
    MPI_Status_set_elements(&s, t, k);
    MPI_Get_elements(&s, t, &count);
    is_right &= count == k;
    MPI_Get_count(&s, t, &count);
    is_right &= count == (k % 2 ? MPI_UNDEFINED : k / 2);
  }
  MPI_Status_set_elements(&s, MPI_DOUBLE_INT, 3);
  MPI_Get_elements(&s, MPI_DOUBLE_INT, &count);
  say("elements of unequal members: %s", is_right && count == 3 ? "right" : "OTHER");
  MPI_Type_free(&t);
}
void test_refused(void) {
  MPI_Comm c;
  char port[MPI_MAX_PORT_NAME] = "port", *command[1] = {"program"};
  const int count[1] = {1};
  const MPI_Info infos[1] = {MPI_INFO_NULL};
  int codes[1];
  statuses_of_fortran();
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  long_blocks();
  unequal_members();
#if MPI_VERSION >= 4
  parts_stay();
#endif
  NO(MPI_Open_port(none, port));
  NO(MPI_Close_port(port));
  NO(MPI_Comm_accept(port, none, 0, W, &c));
  NO(MPI_Comm_connect(port, none, 0, W, &c));
  NO(MPI_Comm_join(0, &c));
  NO(MPI_Publish_name("service", none, port));
  BAD(MPI_Unpublish_name("service", none, port), MPI_ERR_SERVICE);
  BAD(MPI_Lookup_name("service", none, port), MPI_ERR_NAME);
  NO(MPI_Comm_spawn("program", MPI_ARGV_NULL, 1, none, 0, W, &c, codes));
  NO(MPI_Comm_spawn_multiple(1, command, MPI_ARGVS_NULL, count, infos, 0, W, &c, codes));
  MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
}

/* ---- the tools' interface: empty lists, bad indices ------------------------------------------------------------------------ */
static void on_event(MPI_T_event_instance e, MPI_T_event_registration g, MPI_T_cb_safety safety, void *user) { (void)e, (void)g, (void)safety, (void)user; }
static void on_lost(MPI_Count lost, MPI_T_event_registration g, int source, MPI_T_cb_safety safety, void *user) {
  (void)lost, (void)g, (void)source, (void)safety, (void)user;
}
static void on_free(MPI_T_event_registration g, MPI_T_cb_safety safety, void *user) { (void)g, (void)safety, (void)user; }
void test_every_tool(void) {
  enum { NO_SUCH = 1 << 20 };
  int provided, number, a, b, c, d, e, length = 8, list[4], value = 0;
  char name[64], text[64];
  MPI_Datatype t;
  MPI_T_enum en = MPI_T_ENUM_NULL;
  MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle pvar = MPI_T_PVAR_HANDLE_NULL;
  MPI_T_event_registration event = NULL;
  MPI_T_event_instance instance = NULL;
  MPI_T_source_order order;
  MPI_Count first, second, third;
  MPI_Info info;
  MPI_Aint at[4];
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  BAD(MPI_T_cvar_handle_alloc(NO_SUCH, NULL, &cvar, &number), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_cvar_read(cvar, &value), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_cvar_write(cvar, &value), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_cvar_handle_free(&cvar), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_pvar_get_num(&number), MPI_SUCCESS);
  say("counters: %d", number);
  BAD(MPI_T_pvar_get_info(NO_SUCH, name, &length, &a, &b, &t, &en, text, &length, &c, &d, &e, &number), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_pvar_handle_alloc(session, NO_SUCH, NULL, &pvar, &number), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_pvar_read(session, pvar, &value), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_pvar_readreset(session, pvar, &value), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_pvar_write(session, pvar, &value), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_pvar_reset(session, pvar), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_pvar_stop(session, pvar), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_pvar_handle_free(session, &pvar), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_enum_get_info(en, &number, name, &length), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_enum_get_item(en, 0, &value, name, &length), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_category_get_num(&number), MPI_SUCCESS);
  say("categories: %d", number);
  BAD(MPI_T_category_changed(&number), MPI_SUCCESS);
  BAD(MPI_T_category_get_info(NO_SUCH, name, &length, text, &length, &a, &b, &c), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_category_get_cvars(NO_SUCH, 4, list), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_category_get_pvars(NO_SUCH, 4, list), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_category_get_events(NO_SUCH, 4, list), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_category_get_categories(NO_SUCH, 4, list), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_category_get_num_events(NO_SUCH, &number), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_event_get_num(&number), MPI_SUCCESS);
  say("events: %d", number);
  BAD(MPI_T_event_get_info(NO_SUCH, name, &length, &a, &t, at, &b, &en, &info, text, &length, &c), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_event_get_index("no such event", &number), MPI_T_ERR_INVALID_NAME);
  BAD(MPI_T_event_handle_alloc(NO_SUCH, NULL, none, &event), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_event_handle_set_info(event, none), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_handle_get_info(event, &info), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_register_callback(event, MPI_T_CB_REQUIRE_NONE, none, NULL, on_event), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_callback_set_info(event, MPI_T_CB_REQUIRE_NONE, none), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_callback_get_info(event, MPI_T_CB_REQUIRE_NONE, &info), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_set_dropped_handler(event, on_lost), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_handle_free(event, NULL, on_free), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_read(instance, 0, &value), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_copy(instance, &value), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_get_timestamp(instance, &first), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_event_get_source(instance, &number), MPI_T_ERR_INVALID_HANDLE);
  BAD(MPI_T_source_get_num(&number), MPI_SUCCESS);
  say("sources: %d", number);
  BAD(MPI_T_source_get_info(NO_SUCH, name, &length, text, &length, &order, &first, &second, &info), MPI_T_ERR_INVALID_INDEX);
  BAD(MPI_T_source_get_timestamp(NO_SUCH, &third), MPI_T_ERR_INVALID_INDEX);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}
