/* Of the random MPI program: packing, groups, collectives of datatypes and in place, topologies, windows with
   datatypes and requests, files with views, partitioned messages, exchanges in place. */
#include "random.h"
static char one[BYTES], two[BYTES], three[BYTES];

char *placed(char *block, MPI_Datatype t, int count) {
  MPI_Aint lb, extent, low, span;
  MPI_Type_get_extent(t, &lb, &extent);
  MPI_Type_get_true_extent(t, &low, &span);
  const MPI_Aint begin = low < 0 ? -low : 0;
  return extent < 0 || begin + low + span + extent * count + 64 > BYTES ? NULL : block + begin;
}
int size_of(MPI_Datatype t) {
  int size;
  MPI_Type_size(t, &size);
  return size;
}

/* ---- packing ------------------------------------------------------------------------------------------------ */
void do_packing(void) {
  const int how = between(0, 1), count = between(0, 5), before = between(0, 20);
  without_pairs = how;
  MPI_Datatype t = draw_type(between(0, 3));
  without_pairs = 0;
  const int rank = between(0, n - 1);
  char *from = placed(one, t, count), *to = placed(two, t, count);
  MPI_Aint at = before, room;
  int short_at = before, short_room;
  MPI_Type_commit(&t);
  fill(one, BYTES, rank, 1);
  memset(two, 0, BYTES);
  memset(three, 0, BYTES);
  if (from && how == 0) {
    MPI_Pack_size(count, t, MPI_COMM_WORLD, &short_room);
    MPI_Pack(from, count, t, three, BYTES, &short_at, MPI_COMM_WORLD);
    note((uint64_t)short_at * 2 + (short_room >= short_at - before));
    short_at = before;
    if (size_of(t)) MPI_Unpack(three, BYTES, &short_at, to, count, t, MPI_COMM_WORLD);
    note((uint64_t)short_at);
  } else if (from && size_of(t)) { /* MPICH ends when there is nothing to pack */
    MPI_Pack_external_size("external32", count, t, &room);
    MPI_Pack_external("external32", from, count, t, three, BYTES, &at);
    note((uint64_t)at * 2 + (room >= at - before));
    at = before;
    if (size_of(t)) MPI_Unpack_external("external32", three, BYTES, &at, to, count, t);
    note((uint64_t)at);
  }
  SHOW("%d: count %d how %d size %d\n", me, count, how, size_of(t));
  note_bytes(three, BYTES);
  note_bytes(two, BYTES);
  MPI_Type_free(&t);
}

/* ---- groups --------------------------------------------------------------------------------------------------- */
static void look_at_group(MPI_Group g, MPI_Group world) {
  int size, rank, all[MEMBERS], there[MEMBERS];
  MPI_Group_size(g, &size);
  MPI_Group_rank(g, &rank);
  note((uint64_t)(size * 1000 + rank));
  for (int i = 0; i < size; i++) all[i] = i;
  MPI_Group_translate_ranks(g, size, all, world, there);
  note_bytes(there, (size_t)size * sizeof *there);
}
void do_groups(void) {
  MPI_Group world, g[4];
  int same;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < 4; i++) {
    const int how = i < 2 ? between(0, 3) : between(4, 7), first = between(0, n - 1);
    int ranks[MEMBERS], count = 0, range[2][3] = {{first, n - 1, between(1, 3)}, {0, 0, 1}};
    for (int k = 0; k < n; k++)
      if (draw(2)) ranks[count++] = (k + first) % n;
    if (how == 0) MPI_Group_incl(world, count, ranks, &g[i]);
    if (how == 1) MPI_Group_excl(world, count, ranks, &g[i]);
    if (how == 2) MPI_Group_range_incl(world, 1 + (first > 0), range, &g[i]);
    if (how == 3) MPI_Group_range_excl(world, 1, range, &g[i]);
    if (how == 4) MPI_Group_union(g[i - 2], g[i - 1], &g[i]);
    if (how == 5) MPI_Group_intersection(g[i - 2], g[i - 1], &g[i]);
    if (how == 6) MPI_Group_difference(g[i - 2], g[i - 1], &g[i]);
    if (how == 7) MPI_Group_union(g[i - 1], world, &g[i]);
    look_at_group(g[i], world);
  }
  for (int i = 1; i < 4; i++) MPI_Group_compare(g[i - 1], g[i], &same), note((uint64_t)plain_same(same));
  MPI_Comm made; /* of the members only, or of all */
  int size, rank, is_member;
  MPI_Group_size(g[3], &size);
  MPI_Group_rank(g[3], &is_member);
  if (size && draw(2)) {
    MPI_Comm_create(MPI_COMM_WORLD, g[3], &made);
  } else {
    made = MPI_COMM_NULL;
    if (is_member != MPI_UNDEFINED) MPI_Comm_create_group(MPI_COMM_WORLD, g[3], 7, &made);
  }
  if (made != MPI_COMM_NULL) {
    MPI_Comm_rank(made, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_SUM, made);
    MPI_Comm_compare(made, MPI_COMM_WORLD, &same);
    note((uint64_t)(rank * 10 + plain_same(same)));
    MPI_Comm_free(&made);
  }
  for (int i = 0; i < 4; i++)
    if (g[i] != MPI_GROUP_EMPTY) MPI_Group_free(&g[i]);
  MPI_Group_free(&world);
}

/* ---- collectives of datatypes, in place, several at once ------------------------------------------------------- */
static void in_place(MPI_Comm c, int which, int root, int count, int size, int rank) {
  int *v = (int *)two, counts[MEMBERS], places[MEMBERS];
  for (int i = 0; i < size; i++) counts[i] = count + i % 3, places[i] = i * (count + 3);
  fill(two, 40000, me, 2);
  const int is_root = rank == root;
  if (which == 0)
    MPI_Gather(is_root ? MPI_IN_PLACE : v, count, MPI_INT, v, count, MPI_INT, root, c);
  if (which == 1)
    MPI_Scatter(v, count, MPI_INT, is_root ? MPI_IN_PLACE : v, count, MPI_INT, root, c);
  if (which == 2) MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, v, count, MPI_INT, c);
  if (which == 3) MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, v, count, MPI_INT, c);
  if (which == 4) MPI_Allreduce(MPI_IN_PLACE, v, count, MPI_INT, MPI_BXOR, c);
  if (which == 5)
    MPI_Reduce(is_root ? MPI_IN_PLACE : v, v, count, MPI_INT, MPI_SUM, root, c);
  if (which == 6) MPI_Scan(MPI_IN_PLACE, v, count, MPI_INT, MPI_SUM, c);
  if (which == 7) MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, v, counts, places, MPI_INT, c);
  if (which == 8) MPI_Reduce_scatter_block(MPI_IN_PLACE, v, count, MPI_INT, MPI_SUM, c);
  if (which == 9) MPI_Reduce_scatter(MPI_IN_PLACE, v, counts, MPI_INT, MPI_SUM, c);
  if (which == 10) MPI_Exscan(MPI_IN_PLACE, v, count, MPI_INT, MPI_SUM, c);
  if (which == 11)
    MPI_Gatherv(is_root ? MPI_IN_PLACE : v, counts[rank], MPI_INT, v, counts, places, MPI_INT,
                root, c);
  /* what is behind the result is whatever the algorithm left, and so is all of the first of an exscan */
  size_t all = (size_t)size * (size_t)count, got = all;
  if (which == 4 || which == 5 || which == 6 || which == 8) got = (size_t)count;
  if (which == 9) got = (size_t)counts[rank];
  if (which == 7 || which == 11) got = (size_t)size * (size_t)(count + 3);
  if (which == 10) got = rank ? (size_t)count : 0;
  if ((which == 0 || which == 5 || which == 11) && !is_root) got = 0;
  if (which == 1) got = is_root ? all : (size_t)count;
  note_bytes(v, got * sizeof *v);
}
void do_typed_collective(void) {
  const int at = between(0, COMMS - 1), which = between(0, 17), count = between(0, 6),
            some_root = between(0, 1000), shift = between(0, 1);
  MPI_Datatype t = draw_type(between(1, 2)), packed;
  MPI_Comm c = comms[at];
  MPI_Request q[4];
  MPI_Status s[4];
  int size, rank;
  MPI_Type_commit(&t);
  MPI_Type_contiguous(size_of(t), MPI_BYTE, &packed);
  MPI_Type_commit(&packed);
  SHOW("%d: which %d count %d size %d\n", me, which, count, size_of(t));
  if (c != MPI_COMM_NULL && !is_inter[at]) {
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &rank);
    const int root = some_root % size;
    char *from = placed(one, t, count * size), *to = placed(two, t, count * size);
    fill(one, BYTES, me, 3);
    memset(two, 0, BYTES);
    if (which < 12) {
      in_place(c, which, root, count * 7, size, rank);
    } else if (from && which == 12) {
      fill(two, BYTES, me, 4);
      MPI_Bcast(to, count, t, root, c);
    } else if (from && which == 13) {
      MPI_Igather(from, count, t, to, count, t, root, c, &q[0]);
      MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    } else if (from && which == 14) {
      MPI_Allgather(from, count, t, to, count, t, c);
    } else if (from && which == 15) {
      MPI_Alltoall(from, count, t, to, count, t, c);
    } else if (from && which == 16) {
      MPI_Iscatter(from, count, t, to, count, t, root, c, &q[0]);
      MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    } else { /* four at once, waited for in another order */
      int *v = (int *)two, *u = (int *)one;
      MPI_Iallreduce(u, v, count, MPI_INT, MPI_BXOR, c, &q[0]);
      MPI_Ibcast(v + 100, count, MPI_INT, root, c, &q[1]);
      MPI_Ibarrier(c, &q[2]);
      MPI_Iallgather(u + 7, count, MPI_INT, v + 200, count, MPI_INT, c, &q[3]);
      if (shift) MPI_Wait(&q[3], MPI_STATUS_IGNORE), MPI_Wait(&q[1], MPI_STATUS_IGNORE);
      MPI_Waitall(4, q, s);
    }
    if (which >= 12) note_bytes(two, BYTES);
  }
  MPI_Type_free(&t);
  MPI_Type_free(&packed);
}

/* ---- topologies ------------------------------------------------------------------------------------------------ */
static void neighbours_of(MPI_Comm c, int in, int out, int count) {
  int counts[MEMBERS], places[MEMBERS], from_counts[MEMBERS];
  MPI_Aint bytes[MEMBERS], from_bytes[MEMBERS];
  MPI_Datatype types[MEMBERS];
  for (int i = 0; i < in; i++) from_counts[i] = count, places[i] = i * (count + 1);
  for (int i = 0; i < in; i++) from_bytes[i] = 4 * i * (count + 1);
  for (int i = 0; i < out; i++) counts[i] = count, bytes[i] = 8 * i * count;
  for (int i = 0; i < MEMBERS; i++) types[i] = MPI_INT;
  fill(one, 60000, me, 5);
  memset(two, 0, BYTES);
  MPI_Neighbor_allgatherv(one, count, MPI_INT, two, from_counts, places, MPI_INT, c);
  note_bytes(two, 20000);
  memset(two, 0, BYTES);
  MPI_Neighbor_alltoallw(one, counts, bytes, types, two, from_counts, from_bytes, types, c);
  note_bytes(two, 20000);
  int out_places[MEMBERS];
  for (int i = 0; i < out; i++) out_places[i] = (out - i) * count;
  memset(two, 0, BYTES);
  MPI_Request q;
  MPI_Ineighbor_alltoallv(one, counts, out_places, MPI_INT, two, from_counts, places, MPI_INT, c,
                          &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  note_bytes(two, 20000);
}
static void a_grid(int dims_count, int count, uint64_t order) {
  int dims[3] = {0, 0, 0}, periods[3], kept[3], at[3], rank, size, from, to;
  MPI_Comm grid, sub;
  MPI_Dims_create(n, dims_count, dims);
  for (int i = 0; i < 3; i++) { /* MPICH mixes up the two ways round a ring of one or two */
    periods[i] = dims[i] > 2 && (order >> i & 1);
    kept[i] = (int)(order >> (3 + i) & 1);
  }
  MPI_Cart_create(MPI_COMM_WORLD, dims_count, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, dims_count, at);
  for (int i = 0; i < dims_count; i++) {
    MPI_Cart_shift(grid, i, (int)(order >> (8 + 2 * i) & 3) - 1, &from, &to);
    note((uint64_t)(at[i] * 10000 + plain_rank(from) * 100 + plain_rank(to)));
    if (periods[i]) at[i] += dims[i] * 2 + (int)(order & 1);
  }
  MPI_Cart_rank(grid, at, &rank);
  note((uint64_t)rank);
  neighbours_of(grid, 2 * dims_count, 2 * dims_count, count);
  MPI_Cart_sub(grid, kept, &sub);
  if (sub == MPI_COMM_NULL) { /* MPICH gives a grid without dimensions to the first process only */
    MPI_Comm_free(&grid);
    return;
  }
  MPI_Comm_size(sub, &size);
  MPI_Comm_rank(sub, &rank);
  MPI_Cartdim_get(sub, &dims_count);
  note((uint64_t)(size * 1000 + rank * 10 + dims_count));
  MPI_Comm_free(&sub);
  MPI_Comm_free(&grid);
}
void do_shape(void) {
  const int how = between(0, 2), dims_count = between(1, 3), count = between(1, 30);
  const uint64_t order = mix((uint64_t)between(0, 1 << 30));
  SHOW("%d: how %d dims %d count %d\n", me, how, dims_count, count);
  if (how == 0) {
    a_grid(dims_count, count, order);
    return;
  }
  MPI_Comm graph;
  int index[MEMBERS], edges[4 * MEMBERS], all = 0, in, out, is_weighted;
  if (how == 1) { /* every edge both ways: what neighbourhood collectives ask of a graph */
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < n && all < 4 * MEMBERS; k++)
        if (mix(order + (uint64_t)(i < k ? i * 64 + k : k * 64 + i)) % 3 == 0) edges[all++] = k;
      index[i] = all;
    }
    MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, 0, &graph);
    MPI_Graph_neighbors_count(graph, me, &in);
    out = in;
    int there[MEMBERS];
    MPI_Graph_neighbors(graph, me, in, there);
    note_bytes(there, (size_t)in * sizeof *there);
  } else { /* each process tells some edges of some others */
    int sources[2] = {(me + 1) % n, me}, degrees[2] = {1, 2},
        to[3] = {(me + (int)(order & 7)) % n, (me + (int)(order >> 3 & 7)) % n, me};
    int weights[3] = {me + 1, me + 2, me + 3};
    MPI_Dist_graph_create(MPI_COMM_WORLD, 2, sources, degrees, to, weights, MPI_INFO_NULL, 0,
                          &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &is_weighted);
    int from[MEMBERS], from_weights[MEMBERS], onto[MEMBERS], onto_weights[MEMBERS];
    uint64_t sum = 0; /* in which order they come is open */
    MPI_Dist_graph_neighbors(graph, in, from, from_weights, out, onto, onto_weights);
    for (int i = 0; i < in; i++) sum += mix((uint64_t)(from[i] * 100 + from_weights[i]));
    for (int i = 0; i < out; i++) sum += mix((uint64_t)(onto[i] * 100 + onto_weights[i] + 10000));
    note(sum + (uint64_t)is_weighted);
    in = out = 0;
  }
  note((uint64_t)(in * 100 + out));
  if (how == 1) neighbours_of(graph, in, out, count);
  MPI_Comm_free(&graph);
}

/* ---- windows: datatypes at both ends, requests, memory attached or shared --------------------------------------- */
static void typed_transfers(MPI_Win w, MPI_Datatype t, int count, int unit, const MPI_Aint *base) {
  const int size = size_of(t) * count;
  char *own = placed(two, t, count);
  for (int k = 0; k < 6; k++) {
    const int from = between(0, n - 1), to = between(0, n - 1), kind = between(0, 4),
              plain = between(0, 1), place = between(0, 50);
    MPI_Request q;
    if (from != me || !own || !size) continue;
    const MPI_Aint mine = base[to] + (MPI_Aint)(4096 * (1 + me)) / unit; /* a part for each process */
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w);
    if (kind == 0 && plain) MPI_Put(own, count, t, to, mine, size, MPI_BYTE, w);
    if (kind == 0 && !plain)
      MPI_Rput(own, count, t, to, mine, size, MPI_BYTE, w, &q), MPI_Wait(&q, MPI_STATUS_IGNORE);
    memset(three, 0, 4096);
    if (kind == 1 && plain) MPI_Get(three, size, MPI_BYTE, to, mine, size, MPI_BYTE, w);
    if (kind == 1 && !plain)
      MPI_Rget(three, size, MPI_BYTE, to, mine, size, MPI_BYTE, w, &q),
          MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (kind == 2) { /* what all add to: order does not count */
      const int v[3] = {place, place * 3, place * 5};
      if (plain)
        MPI_Accumulate(v, 3, MPI_INT, to, base[to] + (place & ~7) / unit, 3, MPI_INT, MPI_SUM, w);
      else
        MPI_Raccumulate(v, 3, MPI_INT, to, base[to] + (place & ~7) / unit, 3, MPI_INT, MPI_SUM, w,
                        &q),
            MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    if (kind == 3) { /* a place of its own for each process */
      const int v = place, old = plain ? 0 : place;
      int got = -1;
      MPI_Compare_and_swap(&v, &old, &got, MPI_INT, to, base[to] + (3000 + 8 * me) / unit, w);
      MPI_Win_flush(to, w);
      note((uint64_t)got);
    }
    if (kind == 4) {
      const int v[2] = {place, -place};
      int got[2] = {0, 0};
      MPI_Rget_accumulate(v, 2, MPI_INT, got, 2, MPI_INT, to, base[to] + (2000 + 8 * me) / unit, 2,
                          MPI_INT, plain ? MPI_SUM : MPI_REPLACE, w, &q);
      MPI_Wait(&q, MPI_STATUS_IGNORE);
      note_bytes(got, sizeof got);
    }
    MPI_Win_unlock(to, w);
    note_bytes(three, 4096);
  }
}
void do_typed_window(void) {
  const int how = between(0, 2), unit = 1 << between(0, 3), count = between(1, 3);
  MPI_Datatype t = draw_type(between(0, 2));
  const size_t bytes = 4096u * (size_t)(n + 1);
  char *block = (char *)calloc(1, bytes), *memory = block;
  MPI_Aint base[MEMBERS] = {0}, own = 0;
  MPI_Win w;
  MPI_Type_commit(&t);
  SHOW("%d: how %d unit %d count %d size %d\n", me, how, unit, count, size_of(t));
  fill(two, BYTES, me, 6);
  if (how == 0) MPI_Win_create(block, (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
  if (how == 1)
    MPI_Win_allocate((MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w);
  if (how == 2) {
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_attach(w, block, (MPI_Aint)bytes);
    MPI_Get_address(block, &own);
    MPI_Allgather(&own, 1, MPI_AINT, base, 1, MPI_AINT, MPI_COMM_WORLD);
  }
  memset(memory, 0, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  if (size_of(t) * count <= 4096) typed_transfers(w, t, count, how == 2 ? 1 : unit, base);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w);
  note_bytes(memory, bytes);
  MPI_Win_unlock(me, w);
  if (how == 2) MPI_Win_detach(w, block);
  MPI_Win_free(&w);
  free(block);
  MPI_Type_free(&t);
}

/* ---- files: views of blocks, subarrays, tiles with holes ----------------------------------------------------------- */
static MPI_Datatype draw_view(int *ints) { /* of whole ints, forwards, tiles that do not overlap */
  MPI_Datatype made, tile;
  const int how = between(0, 3), a = between(1, 5), b = between(1, 3), gap = between(0, 4);
  if (how == 0) MPI_Type_contiguous(a, MPI_INT, &made), *ints = a;
  if (how == 1) MPI_Type_vector(a, b, b + gap, MPI_INT, &made), *ints = a * b;
  if (how == 2) {
    const int sizes[2] = {a + gap, b + 2}, parts[2] = {a, b}, starts[2] = {gap / 2, 1};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made);
    *ints = a * b;
  }
  if (how == 3) {
    const int lengths[3] = {a, 0, b}, places[3] = {gap, gap + a, gap + a + 1 + b};
    MPI_Type_indexed(3, lengths, places, MPI_INT, &made), *ints = a + b;
  }
  MPI_Aint lb, extent;
  MPI_Type_get_extent(made, &lb, &extent);
  MPI_Type_create_resized(made, 0, lb + extent + 4 * (MPI_Aint)draw(4), &tile);
  MPI_Type_free(&made);
  MPI_Type_commit(&tile);
  return tile;
}
int open_scratch(MPI_File *f) {
  const char *name = getenv("GUEST_MPI_FILE");
  /* MPICH writes back what lies between, as it was before others wrote there */
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "romio_ds_write", "disable");
  MPI_Info_set(hints, "romio_cb_write", "disable");
  const int failed =
      MPI_File_open(MPI_COMM_WORLD, name ? name : "random.file",
                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, hints, f);
  MPI_Info_free(&hints);
  return failed;
}
void do_file(void) {
  const int calls = between(1, 5), begin = 4 * between(0, 30);
  int ints = 0;
  MPI_File f;
  MPI_Status s;
  MPI_Offset size, at, byte;
  MPI_Datatype tile = draw_view(&ints), spread;
  MPI_Aint lb, extent;
  const int failed = open_scratch(&f);
  note((uint64_t)failed);
  if (failed) return;
  memset(two, 0, BYTES); /* MPICH leaves in holes what its buffers held */
  if (me == 0) MPI_File_write(f, two, 50000, MPI_BYTE, &s);
  MPI_File_sync(f);
  MPI_Barrier(MPI_COMM_WORLD);
  /* processes take turns, tile by tile */
  MPI_Type_get_extent(tile, &lb, &extent);
  MPI_Type_create_resized(tile, 0, extent * n, &spread);
  MPI_Type_commit(&spread);
  MPI_File_set_view(f, begin + extent * me, MPI_INT, spread, "native", MPI_INFO_NULL);
  fill(one, 20000, me, 7);
  for (int k = 0; k < calls; k++) {
    const int how = between(0, 5), count = between(0, 3 * ints), where = between(0, 40);
    MPI_Request q;
    const char *const from = one + 100 * k;
    SHOW("%d: file call %d how %d count %d where %d\n", me, k, how, count, where);
    if (how == 0) MPI_File_write_at(f, where, from, count, MPI_INT, &s);
    if (how == 1) MPI_File_write_all(f, from, count, MPI_INT, &s);
    if (how == 2) MPI_File_write_at_all(f, where, from, count, MPI_INT, &s);
    if (how == 3) MPI_File_iwrite(f, from, count, MPI_INT, &q), MPI_Wait(&q, &s);
    if (how == 4) MPI_File_seek(f, where, MPI_SEEK_SET), MPI_File_write(f, from, count, MPI_INT, &s);
    if (how == 5) MPI_File_iwrite_at_all(f, where, from, count, MPI_INT, &q), MPI_Wait(&q, &s);
    int got;
    MPI_Get_count(&s, MPI_INT, &got);
    MPI_File_get_position(f, &at);
    MPI_File_get_byte_offset(f, at, &byte);
    note((uint64_t)(got * 1000003 + at * 1009 + byte));
  }
  MPI_File_sync(f);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_size(f, &size);
  note((uint64_t)size);
  memset(two, 0, BYTES); /* through the next process's view, then all of it */
  MPI_File_set_view(f, begin + extent * ((me + 1) % n), MPI_INT, spread, "native", MPI_INFO_NULL);
  MPI_File_read_all(f, two, 2 * ints, MPI_INT, &s);
  int got;
  MPI_Get_count(&s, MPI_INT, &got);
  note((uint64_t)got);
  note_bytes(two, 8u * (size_t)ints);
  MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  memset(two, 0, BYTES);
  MPI_File_read_at_all(f, 0, two, (int)(size < BYTES ? size : BYTES), MPI_BYTE, &s);
  note_bytes(two, BYTES);
  MPI_File_close(&f);
  MPI_Type_free(&tile);
  MPI_Type_free(&spread);
}

/* ---- partitioned messages, exchanges ----------------------------------------------------------------------------------- */
void do_partitions(void) {
  const int at = between(0, COMMS - 1), parts = between(1, 6), length = between(0, 200),
            by = between(0, 5), rounds = between(1, 3), way = between(0, 1);
  MPI_Comm c = comms[at];
  int size, rank;
  if (c == MPI_COMM_NULL || is_inter[at]) return;
  MPI_Comm_size(c, &size);
  MPI_Comm_rank(c, &rank);
  MPI_Request q[2];
  MPI_Status s[2];
  MPI_Psend_init(one, parts, length, MPI_INT, (rank + by) % size, 4, c, MPI_INFO_NULL, &q[0]);
  MPI_Precv_init(two, parts, length, MPI_INT, (rank + size - by % size) % size, 4, c,
                 MPI_INFO_NULL, &q[1]);
  for (int k = 0; k < rounds; k++) {
    memset(two, 0, 8000);
    MPI_Startall(2, q);
    fill(one, 4u * (size_t)(parts * length), me, k);
    for (int i = 0; i < parts; i++) MPI_Pready((i + k) % parts, q[0]);
    for (int i = 0; i < parts && way; i++)
      for (int there = 0; !there;) MPI_Parrived(q[1], parts - 1 - i, &there);
    MPI_Waitall(2, q, s);
    note_bytes(two, 8000);
  }
  MPI_Request_free(&q[0]);
  MPI_Request_free(&q[1]);
}
void do_exchange(void) {
  const int at = between(0, COMMS - 1), count = between(0, 5), by = between(0, 5),
            is_in_place = between(0, 1);
  MPI_Datatype t = draw_type(between(0, 2));
  MPI_Comm c = comms[at];
  MPI_Status s;
  int size, rank, got;
  MPI_Type_commit(&t);
  char *from = placed(one, t, count), *to = placed(two, t, count);
  SHOW("%d: count %d by %d size %d in place %d\n", me, count, by, size_of(t), is_in_place);
  if (c != MPI_COMM_NULL && !is_inter[at] && from) {
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &rank);
    const int next = (rank + by) % size, before = (rank + size - by % size) % size;
    fill(one, BYTES, me, 8);
    memset(two, 0, BYTES);
    if (is_in_place)
      MPI_Sendrecv_replace(from, count, t, next, 5, before, MPI_ANY_TAG, c, &s);
    else
      MPI_Sendrecv(from, count, t, next, 5, to, count, t, MPI_ANY_SOURCE, 5, c, &s);
    MPI_Get_count(&s, t, &got);
    note((uint64_t)(got * 1000 + plain_rank(s.MPI_SOURCE) * 10 + plain_tag(s.MPI_TAG)));
    note_bytes(is_in_place ? one : two, BYTES);
    MPI_Barrier(c);
  }
  MPI_Type_free(&t);
}
