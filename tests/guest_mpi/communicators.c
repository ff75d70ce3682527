/* MPI test set: groups, communicators, intercommunicators and their collectives, attributes, topologies. */
#include "say.h"
#define W MPI_COMM_WORLD

static void show_group(const char *name, MPI_Group g) {
  int size, rank, mine[64], there[64];
  MPI_Group world;
  MPI_Comm_group(W, &world);
  MPI_Group_size(g, &size);
  MPI_Group_rank(g, &rank);
  for (int i = 0; i < size; i++) mine[i] = i;
  MPI_Group_translate_ranks(g, size, mine, world, there);
  say("%s: size %d rank %d", name, size, rank == MPI_UNDEFINED ? -1 : rank);
  say_ints("  ranks", there, size);
  MPI_Group_free(&world);
}
static void groups(void) {
  MPI_Group world, even, low, g;
  int ranks[64], count = 0, result, ranges[2][3] = {{0, n - 1, 2}, {n > 1 ? 1 : 0, n > 1 ? 1 : 0, 1}};
  MPI_Comm_group(W, &world);
  for (int i = 0; i < n; i += 2) ranks[count++] = i;
  MPI_Group_incl(world, count, ranks, &even);
  show_group("even", even);
  MPI_Group_excl(world, count, ranks, &g);
  show_group("odd", g);
  if (g != MPI_GROUP_EMPTY) MPI_Group_free(&g);
  MPI_Group_range_incl(world, n > 1 ? 2 : 1, ranges, &g);
  show_group("ranges", g);
  MPI_Group_free(&g);
  MPI_Group_range_excl(world, 1, ranges, &g);
  show_group("without ranges", g);
  if (g != MPI_GROUP_EMPTY) MPI_Group_free(&g);
  for (int i = 0; i < (n + 1) / 2; i++) ranks[i] = (n + 1) / 2 - 1 - i;
  MPI_Group_incl(world, (n + 1) / 2, ranks, &low);
  MPI_Group_union(even, low, &g);
  show_group("union", g);
  MPI_Group_compare(g, even, &result);
  say("compare %d", result == MPI_UNEQUAL);
  MPI_Group_free(&g);
  MPI_Group_intersection(low, even, &g);
  show_group("intersection", g);
  MPI_Group_free(&g);
  MPI_Group_difference(even, low, &g);
  show_group("difference", g);
  if (g != MPI_GROUP_EMPTY) MPI_Group_free(&g);
  MPI_Group_compare(world, world, &result);
  say("ident %d", result == MPI_IDENT);
  MPI_Group_free(&even);
  MPI_Group_free(&low);
  MPI_Group_free(&world);
}
static void show_comm(const char *name, MPI_Comm c) {
  int size, rank, sum = me, inter;
  if (c == MPI_COMM_NULL) {
    say("%s: null", name);
    return;
  }
  MPI_Comm_size(c, &size);
  MPI_Comm_rank(c, &rank);
  MPI_Comm_test_inter(c, &inter);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, c);
  say("%s: size %d rank %d inter %d sum %d", name, size, rank, inter, sum);
}
static void communicators(void) {
  MPI_Comm c, d;
  MPI_Group world, g;
  MPI_Request r;
  int result, ranks[64], count = 0, length;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_dup(W, &c);
  show_comm("dup", c);
  MPI_Comm_compare(W, c, &result);
  say("congruent %d", result == MPI_CONGRUENT);
  MPI_Comm_set_name(c, "mine");
  MPI_Comm_get_name(c, name, &length);
  say("name %s %d", name, length);
  MPI_Comm_get_name(W, name, &length);
  say("name %s", name);
  MPI_Comm_split(c, me % 3, -me, &d);
  show_comm("split", d);
  MPI_Comm_compare(W, d, &result);
  say("similar or not %d", result);
  MPI_Comm_free(&d);
  MPI_Comm_split(c, me == 0 ? MPI_UNDEFINED : 1, 0, &d);
  show_comm("without 0", d);
  if (d != MPI_COMM_NULL) MPI_Comm_free(&d);
  MPI_Comm_group(c, &world);
  for (int i = n - 1; i >= 0; i -= 2) ranks[count++] = i;
  MPI_Group_incl(world, count, ranks, &g);
  MPI_Comm_create(c, g, &d);
  show_comm("create", d);
  if (d != MPI_COMM_NULL) MPI_Comm_free(&d);
  if ((n - 1 - me) % 2 == 0) {
    MPI_Comm_create_group(c, g, 5, &d);
    show_comm("create_group", d);
    MPI_Comm_free(&d);
  }
  MPI_Group_free(&g);
  MPI_Group_free(&world);
  MPI_Comm_idup(c, &d, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  show_comm("idup", d);
  MPI_Comm_free(&d);
  MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &d);
  MPI_Comm_size(d, &result);
  say("shared %d", result >= 1);
  MPI_Comm_free(&d);
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Comm_dup_with_info(c, info, &d);
  MPI_Comm_set_info(d, info);
  MPI_Comm_get_info(d, &used);
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  MPI_Comm_disconnect(&d);
  MPI_Comm_free(&c);
  say("freed %d", c == MPI_COMM_NULL);
  show_comm("self", MPI_COMM_SELF);
}
static int copied, deleted;
static int copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag) {
  (void)c, (void)key;
  copied += *(int *)extra;
  *(void **)out = (char *)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int drop(MPI_Comm c, int key, void *value, void *extra) {
  (void)c, (void)key, (void)extra;
  deleted += (int)(intptr_t)value;
  return MPI_SUCCESS;
}
static void attributes(void) {
  int key, key2, extra = 100, flag, *ub;
  void *value;
  MPI_Comm c, d;
  MPI_Comm_get_attr(W, MPI_TAG_UB, &ub, &flag);
  say("tag_ub %d %d", flag, *ub >= 32767);
  MPI_Comm_get_attr(W, MPI_WTIME_IS_GLOBAL, &ub, &flag);
  say("wtime_is_global %d", flag);
  MPI_Comm_create_keyval(copy, drop, &key, &extra);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key2, NULL);
  MPI_Comm_dup(W, &c);
  MPI_Comm_get_attr(c, key, &value, &flag);
  say("not set %d", flag);
  MPI_Comm_set_attr(c, key, (void *)5);
  MPI_Comm_set_attr(c, key2, (void *)9);
  MPI_Comm_dup(c, &d);
  MPI_Comm_get_attr(d, key, &value, &flag);
  say("copied %d %ld %d", flag, (long)(intptr_t)value, copied);
  MPI_Comm_get_attr(d, key2, &value, &flag);
  say("dup_fn %d %ld", flag, (long)(intptr_t)value);
  MPI_Comm_set_attr(d, key, (void *)50);
  say("deleted %d", deleted);
  MPI_Comm_delete_attr(d, key);
  say("deleted %d", deleted);
  MPI_Comm_free(&d);
  MPI_Comm_free(&c);
  say("deleted %d", deleted);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free_keyval(&key2);
  say("invalid %d", key == MPI_KEYVAL_INVALID);
  MPI_Datatype t;
  MPI_Type_contiguous(1, MPI_INT, &t);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
  MPI_Type_set_attr(t, key, (void *)3);
  MPI_Type_get_attr(t, key, &value, &flag);
  say("type %d %ld", flag, (long)(intptr_t)value);
  MPI_Type_delete_attr(t, key);
  MPI_Type_get_attr(t, key, &value, &flag);
  say("type %d", flag);
  MPI_Type_free_keyval(&key);
  MPI_Type_free(&t);
}
static void between(void) {
  if (n < 2) return;
  MPI_Comm half, inter, merged, twin;
  const int side = me % 2, all = n;
  int size, remote, x = me, got[64], result;
  MPI_Comm_split(W, side, me, &half);
  MPI_Intercomm_create(half, 0, W, 1 - side, 3, &inter);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_test_inter(inter, &result);
  say("inter %d size %d remote %d", result, size, remote);
  MPI_Group g;
  MPI_Comm_remote_group(inter, &g);
  show_group("remote", g);
  MPI_Group_free(&g);
  int rank;
  MPI_Comm_rank(inter, &rank);
  if (rank < remote && rank < size) {
    int y = -1;
    MPI_Sendrecv(&x, 1, MPI_INT, rank, 0, &y, 1, MPI_INT, rank, 0, inter, MPI_STATUS_IGNORE);
    say("partner %d", y);
  }
  MPI_Barrier(inter);
  int word = side == 0 && rank == 0 ? 55 : -1;
  MPI_Bcast(&word, 1, MPI_INT, side ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
  say("bcast %d", word);
  int sum = -1;
  MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, inter);
  say("allreduce %d", sum);
  sum = -1;
  MPI_Reduce(&x, &sum, 1, MPI_INT, MPI_MAX, side == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
  say("reduce %d", sum);
  for (int i = 0; i < all; i++) got[i] = -1;
  MPI_Allgather(&x, 1, MPI_INT, got, 1, MPI_INT, inter);
  say_ints("allgather", got, remote);
  MPI_Gather(&x, 1, MPI_INT, got, 1, MPI_INT, side == 1 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
  if (side == 1 && rank == 0) say_ints("gather", got, remote);
  int give[64];
  for (int i = 0; i < all; i++) give[i] = me * 100 + i;
  MPI_Alltoall(give, 1, MPI_INT, got, 1, MPI_INT, inter);
  say_ints("alltoall", got, remote);
  MPI_Scatter(give, 1, MPI_INT, got, 1, MPI_INT, side == 1 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
  if (side == 0) say("scatter %d", got[0]);
  MPI_Comm_dup(inter, &twin);
  MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, twin);
  say("twin %d", sum);
  MPI_Comm_free(&twin);
  MPI_Intercomm_merge(inter, side, &merged);
  show_comm("merged", merged);
  MPI_Comm_free(&merged);
  if (n >= 4) {
    MPI_Comm_split(inter, rank % 2, rank, &twin);
    if (twin == MPI_COMM_NULL)
      say("split of inter: null");
    else {
      MPI_Comm_remote_size(twin, &remote);
      say("split of inter %d", remote);
      MPI_Comm_free(&twin);
    }
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}
void test_communicators(void) {
  groups();
  communicators();
  attributes();
  between();
}

/* ---- topologies ---- */
static void cartesian(void) {
  static const int cases[][3] = {{1, 1, 0}, {6, 2, 0}, {12, 2, 0}, {16, 2, 0}, {7, 2, 0}, {24, 3, 0}, {17, 3, 0}, {36, 2, 0}, {60, 3, 0}, {64, 3, 0}, {8, 1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int dims[3] = {0, 0, 0};
    MPI_Dims_create(cases[i][0], cases[i][1], dims);
    say("dims of %d: %d %d %d", cases[i][0], dims[0], dims[1], dims[2]);
  }
  int dims[2] = {0, 0}, fixed[3] = {0, 2, 0}, periods[2] = {1, 0}, coords[2], got[2], per[2], from, to, kind, rank, count;
  MPI_Dims_create(12, 3, fixed);
  say_ints("fixed", fixed, 3);
  MPI_Comm c, row;
  MPI_Dims_create(n, 2, dims);
  MPI_Cart_create(W, 2, dims, periods, 1, &c);
  MPI_Topo_test(c, &kind);
  MPI_Cartdim_get(c, &count);
  say("cart %d dims %d", kind == MPI_CART, count);
  MPI_Cart_get(c, 2, got, per, coords);
  say("dims %d %d periods %d %d coords %d %d", got[0], got[1], per[0], per[1], coords[0], coords[1]);
  for (int d = 0; d < 2; d++) {
    MPI_Cart_shift(c, d, 1, &from, &to);
    say("shift %d: %d %d", d, from, to);
  }
  coords[0] += got[0];
  MPI_Cart_rank(c, coords, &rank);
  MPI_Cart_coords(c, rank, 2, coords);
  say("rank %d coords %d %d", rank, coords[0], coords[1]);
  int remain[2] = {0, 1}, sum = me;
  MPI_Cart_sub(c, remain, &row);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, row);
  MPI_Cartdim_get(row, &count);
  say("row sum %d dims %d", sum, count);
  MPI_Cart_map(W, 2, dims, periods, &rank);
  say("map %d", rank);
  int mine[8], all[8];
  MPI_Request r;
  for (int i = 0; i < 8; i++) mine[i] = me * 10 + i, all[i] = -1;
  MPI_Neighbor_allgather(mine, 1, MPI_INT, all, 1, MPI_INT, c);
  say_ints("neighbours", all, 4);
  for (int i = 0; i < 8; i++) all[i] = -1;
  MPI_Ineighbor_alltoall(mine, 2, MPI_INT, all, 2, MPI_INT, c, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  say("neighbours %d", all[0] + all[7]);
  MPI_Comm_free(&row);
  MPI_Comm_free(&c);
}
static void graphs(void) {
  int index[64], edges[128], nodes, count, got[128], in, out, weighted, sources[4], dests[4], sw[4], dw[4];
  MPI_Comm c;
  for (int i = 0; i < n; i++) index[i] = 2 * (i + 1), edges[2 * i] = (i + n - 1) % n, edges[2 * i + 1] = (i + 1) % n;
  MPI_Graph_create(W, n, index, edges, 0, &c);
  MPI_Graphdims_get(c, &nodes, &count);
  say("graph %d %d", nodes, count);
  MPI_Graph_get(c, 64, 128, index, got);
  say_ints("edges", got, count);
  MPI_Graph_neighbors_count(c, me, &count);
  MPI_Graph_neighbors(c, me, 4, got);
  say_ints("neighbours", got, count);
  int x = me * 3, y[4] = {-1, -1, -1, -1};
  if (n > 2) MPI_Neighbor_allgather(&x, 1, MPI_INT, y, 1, MPI_INT, c), say_ints("allgather", y, 2);
  MPI_Comm_free(&c);
  MPI_Graph_map(W, n, index, edges, &count);
  say("map %d", count);
  const int from[2] = {(me + n - 1) % n, (me + 2) % n}, to[2] = {(me + 1) % n, (me + n - 2 + n) % n}, w1[2] = {1, 2}, w2[2] = {3, 4};
  MPI_Dist_graph_create_adjacent(W, 2, from, w1, 2, to, w2, MPI_INFO_NULL, 0, &c);
  MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(c, 4, sources, sw, 4, dests, dw);
  say("dist %d %d %d: %d %d %d %d weights %d %d", in, out, weighted, sources[0], sources[1], dests[0], dests[1], sw[1], dw[0]);
  int v[6] = {me, me + 1, me + 2, me + 3, me + 4, me + 5}, counts[2] = {1, 2}, displs[2] = {0, 2}, gathered[8];
  memset(gathered, -1, sizeof gathered);
  MPI_Neighbor_alltoallv(v, counts, displs, MPI_INT, gathered, counts, displs, MPI_INT, c);
  if (n > 4) say_ints("alltoallv", gathered, 4);
  MPI_Neighbor_allgatherv(v, 2, MPI_INT, gathered, (int[]){2, 2}, (int[]){0, 3}, MPI_INT, c);
  if (n > 4) say_ints("allgatherv", gathered, 5);
  MPI_Neighbor_alltoallw(v, counts, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_INT}, gathered, counts, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_INT}, c);
  if (n > 4) say_ints("alltoallw", gathered, 4);
  MPI_Comm_free(&c);
  const int source[1] = {me}, degree[1] = {1}, next[1] = {(me + 1) % n};
  MPI_Dist_graph_create(W, 1, source, degree, next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
  MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(c, 4, sources, MPI_UNWEIGHTED, 4, dests, MPI_UNWEIGHTED);
  say("dist %d %d %d: %d %d", in, out, weighted, sources[0], dests[0]);
  MPI_Comm_free(&c);
}
void test_topologies(void) {
  cartesian();
  graphs();
}
