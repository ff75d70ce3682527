/* Of the random MPI program: datatypes at both ends of one-sided calls in all kinds of epochs, parts of elements and what
   a datatype says of itself, collectives in which each pair of processes has its own datatype, between groups too,
   neighbourhoods of graphs, files by split and nonblocking calls and in parts of arrays. */
#include "random.h"
enum { PART = 8192, KINDS = 3 };
static char from_block[BYTES], to_block[BYTES];

/* Of one basic type alone, whose data do not overlap and lie from 0 on: what may be added to. */
static MPI_Datatype draw_uniform(MPI_Datatype base, int depth) {
  MPI_Datatype child, made;
  MPI_Aint lb, extent, places[3];
  int lengths[3], starts[3], at = 0;
  if (depth == 0) return MPI_Type_dup(base, &made), made;
  child = draw_uniform(base, depth - 1);
  MPI_Type_get_extent(child, &lb, &extent);
  for (int i = 0; i < 3; i++) {
    starts[i] = at += between(0, 2);
    at += lengths[i] = between(0, 3);
    places[i] = starts[i] * extent;
  }
  const int how = between(0, 7), a = between(1, 4), b = between(1, 3), c = between(0, 2);
  if (how == 0) MPI_Type_contiguous(a, child, &made);
  if (how == 1) MPI_Type_vector(a, b, b + c, child, &made);
  if (how == 2) MPI_Type_indexed(3, lengths, starts, child, &made);
  if (how == 3) MPI_Type_create_hindexed(3, lengths, places, child, &made);
  if (how == 4) {
    const int blocks[3] = {0, a + c, 2 * a + 2 * c};
    MPI_Type_create_indexed_block(b, a, blocks, child, &made);
  }
  if (how == 5) {
    const MPI_Aint blocks[3] = {0, extent * (a + c), extent * 2 * (a + c)};
    MPI_Type_create_hindexed_block(b, a, blocks, child, &made);
  }
  if (how == 6) {
    const int sizes[2] = {a + c, b + 1}, parts[2] = {a, b}, begin[2] = {c, 1};
    MPI_Type_create_subarray(2, sizes, parts, begin, MPI_ORDER_C, child, &made);
  }
  if (how == 7) {
    const int sizes[2] = {a + 3, b + 2}, kinds[2] = {c == 1 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK, c == 2 ? MPI_DISTRIBUTE_NONE : MPI_DISTRIBUTE_CYCLIC},
              args[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, c == 2 ? 1 : 2};
    MPI_Type_create_darray(grid[0] * grid[1], (a + b) % (grid[0] * grid[1]), 2, sizes, kinds, args, grid, a & 1 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child, &made);
  }
  MPI_Type_free(&child);
  return made;
}
static const MPI_Datatype bases[] = {MPI_INT, MPI_LONG, MPI_SHORT, MPI_UNSIGNED_CHAR, MPI_INT32_T};
static int size_of_base(int which) { return size_of(bases[which]); }
/* Where so many lie in a part: ret its length, 0: they do not fit */
static MPI_Aint room_of(MPI_Datatype t, int count, MPI_Aint *begin) {
  MPI_Aint lb, extent, low, span;
  MPI_Type_get_extent(t, &lb, &extent);
  MPI_Type_get_true_extent(t, &low, &span);
  *begin = low < 0 ? -low : 0;
  const MPI_Aint all = *begin + low + span + extent * count;
  return extent < 0 || all > PART || !size_of(t) ? 0 : all;
}

/* ---- one-sided, datatypes at both ends ---------------------------------------------------------------------------- */
static void far_transfer(MPI_Win w, int to, int kind, int k, MPI_Datatype t, MPI_Datatype same, int count, MPI_Aint begin, int base) {
  static const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_BXOR, MPI_MAX};
  const MPI_Aint there = (MPI_Aint)me * PART + begin;
  char *const own = from_block + begin + (k % 4) * 2 * PART, *const got = own + PART;
  if (kind == 0) MPI_Put(own, count, t, to, there, 1, same, w);
  if (kind == 1) MPI_Get(got, 1, same, to, there, count, t, w);
  if (kind == 2) MPI_Accumulate(own, count, t, to, there, 1, same, ops[k % 4], w);
  if (kind == 3) MPI_Get_accumulate(own, 1, same, got, count, t, to, there, count, t, ops[k % 4], w);
  if (kind == 4) MPI_Get_accumulate(NULL, 0, MPI_INT, got, count, t, to, there, 1, same, MPI_NO_OP, w);
  if (kind == 5) /* all add to the last part, element by element */
    MPI_Accumulate(own, count * size_of(t) / size_of_base(base), bases[base], to, (MPI_Aint)n * PART + begin, count, t, MPI_SUM, w);
}
void do_far_types(void) {
  const int sync = between(0, 4), count = between(1, 3), base = between(0, 4), calls = between(1, 3), as = between(0, 1), shift = between(0, n - 1);
  MPI_Datatype t = draw_uniform(bases[base], between(0, 3)), same;
  MPI_Aint begin;
  MPI_Win w;
  char *memory;
  MPI_Group all, next, before;
  MPI_Type_contiguous(count, t, &same);
  MPI_Type_commit(&t);
  MPI_Type_commit(&same);
  fill(from_block, BYTES, me, 1);
  MPI_Win_allocate((n + 1) * PART, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w);
  fill(memory, (size_t)(n + 1) * PART, me, 2);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int target = (me + shift) % n, source = (me + n - shift) % n;
  MPI_Group_incl(all, 1, &target, &next);
  MPI_Group_incl(all, 1, &source, &before);
  MPI_Barrier(MPI_COMM_WORLD);
  const int fits = room_of(t, count, &begin) > 0;
  SHOW("%d: sync %d count %d base %d calls %d shift %d size %d fits %d\n", me, sync, count, base, calls, shift, size_of(t), fits);
  for (int k = 0; k < calls; k++) { /* an epoch each */
    const int kind = between(0, 5), exclusive = between(0, 1);
    if (sync == 0) MPI_Win_fence(as ? MPI_MODE_NOPRECEDE : 0, w);
    if (sync == 1) MPI_Win_post(before, 0, w), MPI_Win_start(next, 0, w);
    if (sync == 2) MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, w);
    if (sync >= 3) MPI_Win_lock_all(0, w);
    if (fits) far_transfer(w, target, kind, k, t, same, count, begin, base);
    if (sync == 0) MPI_Win_fence(as ? MPI_MODE_NOSUCCEED : 0, w);
    if (sync == 1) MPI_Win_complete(w), MPI_Win_wait(w);
    if (sync == 2) MPI_Win_unlock(target, w);
    if (sync == 3) MPI_Win_flush_local(target, w), MPI_Win_flush_all(w);
    if (sync >= 3) MPI_Win_unlock_all(w);
    MPI_Barrier(MPI_COMM_WORLD);
    note_bytes(from_block, BYTES);
  }
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w);
  note_bytes(memory, (size_t)(n + 1) * PART);
  MPI_Win_unlock(me, w);
  MPI_Win_free(&w);
  MPI_Group_free(&all);
  MPI_Group_free(&next);
  MPI_Group_free(&before);
  MPI_Type_free(&t);
  MPI_Type_free(&same);
}

/* ---- parts of elements, and what a datatype says of itself ---------------------------------------------------------- */
static void look_inside(MPI_Datatype t) {
  int ints, addresses, types, combiner, all_ints[64];
  MPI_Aint all_addresses[16], lb, extent;
  MPI_Datatype all_types[8];
  MPI_Type_get_envelope(t, &ints, &addresses, &types, &combiner);
  note((uint64_t)(ints * 10000 + addresses * 100 + types));
  if (combiner == MPI_COMBINER_NAMED || ints > 64 || addresses > 16 || types > 8) return;
  MPI_Type_get_contents(t, ints, addresses, types, all_ints, all_addresses, all_types);
  if (combiner != MPI_COMBINER_SUBARRAY && combiner != MPI_COMBINER_DARRAY) /* these have constants of the ABI */
    note_bytes(all_ints, (size_t)ints * sizeof *all_ints);
  note_bytes(all_addresses, (size_t)addresses * sizeof *all_addresses);
  for (int i = 0; i < types; i++) {
    MPI_Type_get_extent(all_types[i], &lb, &extent);
    note((uint64_t)(lb * 1009 + extent));
    MPI_Type_get_envelope(all_types[i], &ints, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&all_types[i]);
  }
}
void do_elements(void) {
  const int base = between(0, 4), count = between(1, 4), by = between(0, 5), some = between(0, 1000), how = between(0, 2);
  MPI_Datatype t = draw_uniform(bases[base], between(1, 3));
  MPI_Status s;
  MPI_Request q;
  MPI_Count long_elements, long_size, low, span;
  int elements, whole;
  MPI_Aint begin;
  MPI_Type_commit(&t);
  look_inside(t);
  const int each = size_of(t) / size_of_base(base), sent = each ? some % (each * count + 1) : 0;
  const MPI_Aint room = room_of(t, count, &begin);
  SHOW("%d: base %d count %d by %d each %d sent %d\n", me, base, count, by, each, sent);
  MPI_Type_size_x(t, &long_size);
  MPI_Type_get_true_extent_x(t, &low, &span);
  note((uint64_t)(long_size * 1000003 + low * 1009 + (each ? span : 0)));
  if (!room) {
    MPI_Type_free(&t);
    return;
  }
  fill(from_block, PART, me, 3);
  memset(to_block, 0, PART);
  MPI_Isend(from_block, sent, bases[base], (me + by) % n, 9, MPI_COMM_WORLD, &q);
  if (how == 0) MPI_Recv(to_block + begin, count, t, (me + n - by % n) % n, 9, MPI_COMM_WORLD, &s);
  if (how == 1) MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &s);
  if (how == 2) {
    MPI_Message m;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s);
    MPI_Mrecv(to_block + begin, count, t, &m, &s);
  }
  MPI_Get_count(&s, t, &whole);
  MPI_Get_elements(&s, t, &elements);
  MPI_Get_elements_x(&s, t, &long_elements);
  note((uint64_t)((whole == MPI_UNDEFINED ? -1 : whole) * 1000003 + elements * 1009 + (long)long_elements));
  SHOW("%d: whole %d elements %d %ld\n", me, whole, elements, (long)long_elements);
  if (how == 1) MPI_Recv(to_block + begin, count, t, s.MPI_SOURCE, 9, MPI_COMM_WORLD, &s);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  note_bytes(to_block, PART);
  MPI_Status_set_elements(&s, bases[base], some % 5); /* of others MPICH counts whole ones */
  MPI_Get_count(&s, bases[base], &whole);
  MPI_Get_elements(&s, t, &elements);
  note((uint64_t)(whole * 1009 + elements));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&t);
}

/* ---- a datatype for each pair of processes, in one group or between two ----------------------------------------------- */
typedef struct pairs {
  MPI_Datatype t[KINDS];
  int counts[KINDS];
  MPI_Aint begin[KINDS];
  int fits;
} pairs;
static pairs draw_pairs(void) {
  pairs p = {.fits = 1};
  for (int k = 0; k < KINDS; k++) {
    p.counts[k] = between(0, 3);
    p.t[k] = draw_uniform(bases[between(0, 4)], between(0, 2));
    MPI_Type_commit(&p.t[k]);
    p.fits &= room_of(p.t[k], p.counts[k], &p.begin[k]) > 0;
  }
  return p;
}
static void free_pairs(pairs *p) {
  for (int k = 0; k < KINDS; k++) MPI_Type_free(&p->t[k]);
}
void do_own_types(void) {
  const int at = between(0, COMMS - 1), which = between(0, 5), is_now = between(0, 1), some_root = between(0, 1000);
  pairs p = draw_pairs();
  MPI_Comm c = comms[at];
  MPI_Request q = MPI_REQUEST_NULL;
  MPI_Datatype types[MEMBERS];
  int counts[MEMBERS], byte_places[MEMBERS], places[MEMBERS], size = 0, rank = 0, others = 0;
  if (c != MPI_COMM_NULL) {
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &rank);
    others = size;
    if (is_inter[at]) MPI_Comm_remote_size(c, &others);
  }
  if (c == MPI_COMM_NULL || !p.fits || others > 14 || (is_inter[at] && which > 1)) {
    free_pairs(&p);
    return;
  }
  fill(from_block, BYTES, me, 4);
  memset(to_block, 0, BYTES);
  SHOW("%d: which %d now %d rank %d of %d and %d\n", me, which, is_now, rank, size, others);
  const int root = some_root % size, k0 = some_root % KINDS;
  MPI_Datatype t = p.t[k0];
  MPI_Aint lb, extent;
  MPI_Type_get_extent(t, &lb, &extent);
  int total = others > 1 ? (int)(p.begin[k0] / (extent > 0 ? extent : 1)) + 1 : 0; /* MPICH does not ask where a process alone wants it */
  for (int i = 0; i < others; i++) {
    const int k = (rank + i) % KINDS;
    types[i] = p.t[k];
    byte_places[i] = i * PART + (int)p.begin[k];
    counts[i] = which < 2 ? p.counts[k] : (i + some_root) % 3;
    places[i] = total; /* in extents */
    total += counts[i] + which % 2;
  }
  const int mine = (rank + some_root) % 3, has_room = (total + 4) * extent < BYTES && extent > 0;
  char *const from = from_block, *const to = to_block;
  if (which < 2 && is_now) MPI_Alltoallw(from, counts, byte_places, types, to, counts, byte_places, types, c);
  if (which < 2 && !is_now) MPI_Ialltoallw(from, counts, byte_places, types, to, counts, byte_places, types, c, &q);
  if (which == 2 && has_room) MPI_Allgatherv(from + p.begin[k0], mine, t, to, counts, places, t, c);
  if (which == 3 && has_room) MPI_Igatherv(from + p.begin[k0], mine, t, to, counts, places, t, root, c, &q);
  if (which == 4 && has_room) MPI_Iscatterv(from, counts, places, t, to + p.begin[k0], mine, t, root, c, &q);
  if (which == 5 && has_room) { /* as much as the other has of one's own for it */
    for (int i = 0; i < others; i++) counts[i] = (i + rank + some_root) % 3, places[i] = (int)(p.begin[k0] / extent) + 1 + 3 * i;
    if ((3 * others + 5) * extent + p.begin[k0] < BYTES) MPI_Alltoallv(from, counts, places, t, to, counts, places, t, c);
  }
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  note_bytes(to_block, BYTES);
  free_pairs(&p);
}

/* ---- neighbourhoods of graphs: each edge has a datatype of its own ----------------------------------------------------- */
void do_graph(void) {
  const int which = between(0, 4), is_now = between(0, 1), is_weighted = between(0, 1), loops = between(0, 1);
  const uint64_t order = mix((uint64_t)between(0, 1 << 30));
  pairs p = draw_pairs();
  int sources[MEMBERS], targets[MEMBERS], weights[MEMBERS], counts[MEMBERS], in = 0, out = 0, in_counts[MEMBERS], places[MEMBERS], in_places[MEMBERS];
  MPI_Aint at[MEMBERS], in_at[MEMBERS];
  MPI_Datatype types[MEMBERS], in_types[MEMBERS];
  MPI_Comm graph;
  MPI_Request q = MPI_REQUEST_NULL;
  for (int i = 0; i < n && i < 8; i++) { /* edges between the first eight; MPICH loses Alltoallw's where one has no way back */
    const int low = i < me ? i : me, there = which == 0 ? low * 64 + i + me - low : me * 64 + i, back = which == 0 ? there : i * 64 + me;
    weights[i] = i + 1;
    if (me < 8 && (loops || i != me) && mix(order + (uint64_t)there) % 2) targets[out++] = i;
    if (me < 8 && (loops || i != me) && mix(order + (uint64_t)back) % 2) sources[in++] = i;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, is_weighted ? weights : MPI_UNWEIGHTED, out, targets, is_weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  SHOW("%d: which %d now %d in %d out %d\n", me, which, is_now, in, out);
  int in_seen, out_seen, weighted_seen;
  MPI_Dist_graph_neighbors_count(graph, &in_seen, &out_seen, &weighted_seen);
  note((uint64_t)(in_seen * 100 + out_seen * 10 + weighted_seen));
  for (int i = 0; i < out; i++) {
    const int k = (me + targets[i]) % KINDS;
    types[i] = p.t[k], counts[i] = p.counts[k], at[i] = i * PART + p.begin[k], places[i] = 50 * (out - i);
  }
  for (int i = 0; i < in; i++) {
    const int k = (me + sources[i]) % KINDS;
    in_types[i] = p.t[k], in_counts[i] = p.counts[k], in_at[i] = i * PART + p.begin[k], in_places[i] = 50 * i;
  }
  for (int i = 0; i < in; i++) SHOW("%d: from %d count %d size %d at %ld\n", me, sources[i], in_counts[i], size_of(in_types[i]), (long)in_at[i]);
  fill(from_block, BYTES, me, 5);
  memset(to_block, 0, BYTES);
  if (which == 0 && p.fits && is_now) MPI_Neighbor_alltoallw(from_block, counts, at, types, to_block, in_counts, in_at, in_types, graph);
  if (which == 0 && p.fits && !is_now) MPI_Ineighbor_alltoallw(from_block, counts, at, types, to_block, in_counts, in_at, in_types, graph, &q);
  if (which == 1) MPI_Neighbor_alltoallv(from_block, counts, places, MPI_INT, to_block, in_counts, in_places, MPI_INT, graph);
  for (int i = 0; i < in; i++) in_counts[i] = sources[i] + 3;
  if (which == 2 && is_now) MPI_Neighbor_allgatherv(from_block, me + 3, MPI_INT, to_block, in_counts, in_places, MPI_INT, graph);
  if (which == 2 && !is_now) MPI_Ineighbor_allgatherv(from_block, me + 3, MPI_INT, to_block, in_counts, in_places, MPI_INT, graph, &q);
  if (which == 3 && p.fits) MPI_Neighbor_allgather(from_block + p.begin[0], p.counts[0], p.t[0], to_block + p.begin[0], p.counts[0], p.t[0], graph);
  if (which == 4 && p.fits) MPI_Ineighbor_alltoall(from_block + p.begin[1], p.counts[1], p.t[1], to_block + p.begin[1], p.counts[1], p.t[1], graph, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  note_bytes(to_block, BYTES);
  MPI_Comm_free(&graph);
  free_pairs(&p);
}

/* ---- files: parts of an array, split and nonblocking calls, in the order of processes ----------------------------------- */
static void write_part(MPI_File f, int how, int begin, MPI_Datatype t, int count) {
  MPI_Request q;
  MPI_Status s;
  MPI_Offset at;
  int got;
  if (how == 0) MPI_File_write_all_begin(f, from_block, count, t), MPI_File_write_all_end(f, from_block, &s);
  if (how == 1) MPI_File_write_at_all_begin(f, 1, from_block, count, t), MPI_File_write_at_all_end(f, from_block, &s);
  if (how == 2) MPI_File_iwrite_all(f, from_block, count, t, &q), MPI_Wait(&q, &s);
  if (how == 3) MPI_File_iwrite_at(f, 2, from_block, count, t, &q), MPI_Wait(&q, &s);
  if (how == 4) { /* all have the same view, and write one behind the other */
    MPI_File_set_view(f, begin, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_ordered(f, from_block, me + 1, MPI_INT, &s);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(f, &at);
    note((uint64_t)at);
  }
  MPI_Get_count(&s, how == 4 ? MPI_INT : t, &got);
  MPI_File_get_position(f, &at);
  SHOW("%d: wrote %d position %ld\n", me, got, (long)at);
  note((uint64_t)(got * 1009 + at));
  MPI_File_sync(f);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void read_part(MPI_File f, int how, int is_split, int count) {
  MPI_Request q;
  MPI_Status s;
  MPI_Offset size;
  int got;
  memset(to_block, 0, BYTES);
  if (how == 4) {
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(f, to_block, n - me, MPI_INT, &s);
  } else {
    MPI_File_seek(f, 0, MPI_SEEK_SET);
    if (is_split) MPI_File_read_all_begin(f, to_block, count, MPI_INT), MPI_File_read_all_end(f, to_block, &s);
    if (!is_split) MPI_File_iread_all(f, to_block, count, MPI_INT, &q), MPI_Wait(&q, &s);
  }
  MPI_Get_count(&s, MPI_INT, &got);
  SHOW("%d: read %d\n", me, got);
  note((uint64_t)got);
  note_bytes(to_block, BYTES);
  MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_get_size(f, &size);
  memset(to_block, 0, BYTES);
  MPI_File_iread_at(f, 0, to_block, (int)(size < BYTES ? size : BYTES), MPI_BYTE, &q);
  MPI_Wait(&q, &s);
  note((uint64_t)size);
  note_bytes(to_block, BYTES);
  MPI_Barrier(MPI_COMM_WORLD);
}
void do_spread_file(void) {
  const int rows = between(2, 6), columns = between(2, 9), how = between(0, 4), cyclic = between(0, 1), begin = 4 * between(0, 9), is_typed = between(0, 1);
  const int sizes[2] = {rows, columns * n}, kinds[2] = {MPI_DISTRIBUTE_NONE, cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK},
            args[2] = {MPI_DISTRIBUTE_DFLT_DARG, cyclic ? columns % 3 + 1 : MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {1, n};
  MPI_Datatype part, spaced;
  MPI_File f;
  MPI_Status s;
  const int failed = open_scratch(&f);
  note((uint64_t)failed);
  if (failed) return;
  memset(to_block, 0, BYTES);
  if (me == 0) MPI_File_write(f, to_block, 4000, MPI_BYTE, &s);
  MPI_File_sync(f);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_create_darray(n, me, 2, sizes, kinds, args, grid, MPI_ORDER_C, MPI_INT, &part);
  MPI_Type_commit(&part);
  MPI_Type_vector(rows * columns, 1, 2, MPI_INT, &spaced); /* every other one, in memory */
  MPI_Type_commit(&spaced);
  const int mine = size_of(part) / 4, is_spaced = is_typed && mine == rows * columns;
  SHOW("%d: %d x %d how %d cyclic %d begin %d typed %d mine %d\n", me, rows, columns, how, cyclic, begin, is_typed, mine);
  fill(from_block, BYTES, me, 6);
  MPI_File_set_view(f, begin, MPI_INT, part, "native", MPI_INFO_NULL);
  write_part(f, how, begin, is_spaced ? spaced : MPI_INT, is_spaced ? 1 : mine);
  read_part(f, how, is_typed, mine);
  MPI_File_close(&f);
  MPI_Type_free(&part);
  MPI_Type_free(&spaced);
}
