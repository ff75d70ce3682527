/* Every call that moves data, in every form the MPI has it: blocking, nonblocking, persistent,
   partitioned, one-sided; built once more with LARGE_COUNTS, where all of these are their MPI_Count
   twins (MPI_Send_c, ...). Each is a section of its own. Prints what it received, which must be the
   same with the preload, and as "= section kind transfers bytes" what this process moved, by its own
   reckoning: the script adds these up and compares them with the reports. Processes: 3 or more.
   Argument: prefix of the files that take the output, one per process: mpirun may mix long outputs. */
#include "tools/mpi_h.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef LARGE_COUNTS
#  include "large_counts.h" /* made from the preload's own list: #define MPI_Send MPI_Send_c */
typedef MPI_Count count_t;
typedef MPI_Aint displ_t;
#else
typedef int count_t, displ_t;
#endif

enum { ROOM = 1000, INTS = (int)sizeof(int), N = 3 };
static const MPI_Comm world = MPI_COMM_WORLD;
static int rank, size, right, left;
static int out[ROOM], in[ROOM];
static const char *section;

static void begin(const char *name) {
  section = name;
  MPI_Pcontrol(2, name);
}
static void end(void) { MPI_Pcontrol(-2); }
static void fill(void) {
  for (int i = 0; i < ROOM; i++) out[i] = rank * 1000 + i, in[i] = -1;
}
static void show(const char *form) {
  unsigned sum = 0;
  for (int i = 0; i < ROOM; i++) sum = sum * 31 + (unsigned)in[i];
  printf("%d %s %s %u\n", rank, section, form, sum);
}
static void expect(const char *kind, int transfers, int ints) {
  if (transfers) printf("= %s %s %d %d\n", section, kind, transfers, ints * INTS);
}
static void run_and_free(MPI_Request *q) {
  MPI_Start(q);
  MPI_Wait(q, MPI_STATUS_IGNORE);
  MPI_Request_free(q);
}

/* ---- point-to-point --------------------------------------------------------------------------- */
/* The receive is posted before a barrier: ready mode asks for it. */
#define SEND_MODE(name, iname, minit)                                                              \
  do {                                                                                             \
    begin(#name);                                                                                  \
    for (int form = 0; form < 3; form++) {                                                         \
      fill();                                                                                      \
      MPI_Irecv(in, N, MPI_INT, left, 1, world, &q[0]);                                            \
      MPI_Barrier(world);                                                                          \
      if (form == 0) MPI_##name(out, N, MPI_INT, right, 1, world);                                 \
      if (form == 1) MPI_##iname(out, N, MPI_INT, right, 1, world, &q[1]);                         \
      if (form == 1) MPI_Wait(&q[1], MPI_STATUS_IGNORE);                                           \
      if (form == 2) MPI_##minit(out, N, MPI_INT, right, 1, world, &q[1]), run_and_free(&q[1]);    \
      MPI_Wait(&q[0], MPI_STATUS_IGNORE);                                                          \
      show("received");                                                                            \
    }                                                                                              \
    end();                                                                                         \
    expect("send", 1, N), expect("isend", 1, N), expect("start", 1, N), expect("irecv", 3, 3 * N); \
  } while (0)

static void sends(void) {
  MPI_Request q[2];
  static char space[2000];
  void *address;
  count_t bytes;
  MPI_Buffer_attach(space, sizeof space);
  SEND_MODE(Send, Isend, Send_init);
  SEND_MODE(Bsend, Ibsend, Bsend_init);
  SEND_MODE(Ssend, Issend, Ssend_init);
  SEND_MODE(Rsend, Irsend, Rsend_init);
  begin("Detach");
  MPI_Buffer_detach(&address, &bytes);
  end();
  printf("%d detached %d\n", rank, (int)bytes);
}

#if HAS_MPI_4_1
int MPI_Request_get_status_all(int, const MPI_Request[], int *, MPI_Status[]);
int MPI_Request_get_status_any(int, const MPI_Request[], int *, int *, MPI_Status *);
int MPI_Request_get_status_some(int, const MPI_Request[], int *, int[], MPI_Status[]);
static void flushes(void) {
  static char space[2000];
  MPI_Request q[2];
  int flag = 0, index, done, indices[2];
  void *address;
  count_t bytes;
  begin("Flush");
  MPI_Comm_attach_buffer(world, space, sizeof space);
  fill();
  MPI_Irecv(in, N, MPI_INT, left, 1, world, &q[0]);
  MPI_Ibsend(out, N, MPI_INT, right, 1, world, &q[1]);
  while (!flag) MPI_Request_get_status_all(2, q, &flag, MPI_STATUSES_IGNORE);
  MPI_Request_get_status_any(2, q, &index, &flag, MPI_STATUS_IGNORE);
  MPI_Request_get_status_some(2, q, &done, indices, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  MPI_Comm_iflush_buffer(world, &q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  show("received");
  MPI_Comm_flush_buffer(world);
  MPI_Comm_detach_buffer(world, &address, &bytes);
  MPI_Buffer_attach(space, sizeof space);
  MPI_Buffer_flush();
  MPI_Buffer_iflush(&q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&address, &bytes);
  end();
  printf("%d looked %d %d %d\n", rank, flag, done, (int)bytes);
  expect("isend", 1, N), expect("irecv", 1, N);
}
#endif

static void receives(void) {
  MPI_Request q[2];
  MPI_Message m;
  MPI_Status s;
  int flag = 0;
  begin("Recv");
  fill();
  for (int i = 0; i < 4; i++)
    MPI_Isend(out, N + i, MPI_INT, right, i, world, &q[0]), MPI_Request_free(&q[0]);
  MPI_Recv(in, ROOM, MPI_INT, left, 0, world, MPI_STATUS_IGNORE);
  MPI_Recv_init(in + 10, 100, MPI_INT, left, 1, world, &q[0]);
  run_and_free(&q[0]);
  MPI_Mprobe(left, 2, world, &m, MPI_STATUS_IGNORE);
  MPI_Mrecv(in + 20, 100, MPI_INT, &m, MPI_STATUS_IGNORE);
  while (!flag) MPI_Improbe(left, 3, world, &flag, &m, &s);
  MPI_Imrecv(in + 30, 100, MPI_INT, &m, &q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  show("all");
  end();
  expect("recv", 2, N + N + 2), expect("start", 1, N + 1), expect("irecv", 1, N + 3);
  expect("isend", 4, 4 * N + 6);
}

static void both_ways(void) {
  begin("Sendrecv");
  fill();
  MPI_Sendrecv(out, N, MPI_INT, right, 1, in, 9, MPI_INT, left, 1, world, MPI_STATUS_IGNORE);
  in[10] = rank;
  MPI_Sendrecv_replace(in + 10, 1, MPI_INT, right, 2, left, 2, world, MPI_STATUS_IGNORE);
  show("both");
  end();
  expect("sendrecv", 4, 2 * N + 2);
#if HAS_MPI_4
  MPI_Request q;
  begin("Isendrecv");
  fill();
  MPI_Isendrecv(out, N, MPI_INT, right, 1, in, N, MPI_INT, left, 1, world, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  in[10] = rank;
  MPI_Isendrecv_replace(in + 10, 1, MPI_INT, right, 2, left, 2, world, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  show("both");
  end();
  expect("isend", 2, N + 1), expect("irecv", 2, N + 1);
#endif
}

#if HAS_MPI_4
int MPI_Pready_list(int, const int[], MPI_Request);
static void partitioned(void) {
  MPI_Request q[2];
  int last[1] = {3};
  int flag = 0;
  begin("Partitioned");
  fill();
  MPI_Psend_init(out, 4, 2, MPI_INT, right, 5, world, MPI_INFO_NULL, &q[0]);
  MPI_Precv_init(in, 2, 4, MPI_INT, left, 5, world, MPI_INFO_NULL, &q[1]);
  for (int i = 0; i < 2; i++) {
    MPI_Startall(2, q);
    MPI_Pready(0, q[0]);
    MPI_Pready_range(1, 2, q[0]);
    MPI_Pready_list(1, last, q[0]);
    while (!flag) MPI_Parrived(q[1], 1, &flag);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&q[0]);
  MPI_Request_free(&q[1]);
  show("parts");
  end();
  expect("start", 4, 32);
}
#endif

/* A receive posted for more bytes than an int can count, and freed: the report has what was asked
   for, as its end is not seen [case 3]. What comes is small. */
static void large(void) {
#ifdef LARGE_COUNTS
  MPI_Request q;
  begin("Large");
  fill();
  MPI_Irecv(in, (MPI_Count)5000000000, MPI_BYTE, left, 6, world, &q);
  MPI_Request_free(&q);
  MPI_Send(out, 2, MPI_INT, right, 6, world);
  MPI_Barrier(world);
  end();
  printf("= Large irecv 1 5000000000\n");
  expect("send", 1, 2);
#endif
}

/* ---- collectives: blocking, nonblocking, persistent; `ints` by our own reckoning --------------- */
#ifdef INIT_OF
#  define PERSISTENT(name, ...)                                                                    \
    fill(), INIT_OF(name)(__VA_ARGS__, MPI_INFO_NULL, &q), run_and_free(&q), show("persistent")
#else
#  define PERSISTENT(name, ...) (void)0
#endif
#define COLL(name, iname, kind, ints, ...)                                                         \
  do {                                                                                             \
    MPI_Request q;                                                                                 \
    begin(#name);                                                                                  \
    fill(), MPI_##name(__VA_ARGS__), show("blocking");                                             \
    fill(), MPI_##iname(__VA_ARGS__, &q), MPI_Wait(&q, MPI_STATUS_IGNORE), show("nonblocking");    \
    PERSISTENT(name, __VA_ARGS__);                                                                 \
    end();                                                                                         \
    expect(kind, 1, ints), expect("i" kind, 1, ints);                                              \
    if (PERSISTENT_TOO) expect("start", 1, ints);                                                  \
  } while (0)
#ifdef INIT_OF
enum { PERSISTENT_TOO = 1 };
#else
enum { PERSISTENT_TOO = 0 };
#endif

static int larger(int a, int b) { return a > b ? a : b; }

static void equal_parts(void) {
  const int others = size - 1;
  COLL(Bcast, Ibcast, "bcast", N, rank ? in : out, N, MPI_INT, 0, world);
  COLL(Reduce, Ireduce, "reduce", N, out, in, N, MPI_INT, MPI_SUM, 0, world);
  COLL(Gather, Igather, "gather", rank ? N : others * N, out, N, MPI_INT, in, N, MPI_INT, 0, world);
  COLL(Scatter, Iscatter, "scatter", rank ? N : others * N, out, N, MPI_INT, in, N, MPI_INT, 0,
       world);
  COLL(Allgather, Iallgather, "allgather", others * N, out, N, MPI_INT, in, N, MPI_INT, world);
  COLL(Alltoall, Ialltoall, "alltoall", others * N, out, N, MPI_INT, in, N, MPI_INT, world);
  COLL(Allreduce, Iallreduce, "allreduce", N, out, in, N, MPI_INT, MPI_SUM, world);
  COLL(Reduce_scatter_block, Ireduce_scatter_block, "reduce_scatter", others * N, out, in, N,
       MPI_INT, MPI_SUM, world);
  COLL(Scan, Iscan, "scan", N, out, in, N, MPI_INT, MPI_SUM, world);
  COLL(Exscan, Iexscan, "exscan", N, rank ? out : in, rank ? in : out, N, MPI_INT, MPI_SUM, world);
}

/* Process i's part has i + 1 ints. */
static void unequal_parts(void) {
  count_t parts[64], own[64], two[64];
  displ_t at[64], bytes_at[64];
  MPI_Datatype types[64];
  int sum = 0;
  for (int i = 0; i < size; i++) {
    parts[i] = i + 1, own[i] = rank + 1, two[i] = 2, types[i] = MPI_INT;
    at[i] = 8 * i, bytes_at[i] = 8 * INTS * i;
    sum += i + 1;
  }
  const int mine = rank + 1, rest = sum - mine, others = size - 1;
  COLL(Gatherv, Igatherv, "gather", rank == 1 ? rest : mine, out, mine, MPI_INT, in, parts, at,
       MPI_INT, 1, world);
  COLL(Scatterv, Iscatterv, "scatter", rank == 1 ? rest : mine, out, parts, at, MPI_INT, in, mine,
       MPI_INT, 1, world);
  COLL(Allgatherv, Iallgatherv, "allgather", larger(rest, mine), out, mine, MPI_INT, in, parts, at,
       MPI_INT, world);
  COLL(Alltoallv, Ialltoallv, "alltoall", larger(rest, others * mine), out, parts, at, MPI_INT, in,
       own, at, MPI_INT, world);
  COLL(Alltoallw, Ialltoallw, "alltoall", others * 2, out, two, bytes_at, types, in, two, bytes_at,
       types, world);
  COLL(Reduce_scatter, Ireduce_scatter, "reduce_scatter", larger(rest, mine), out, in, parts,
       MPI_INT, MPI_SUM, world);
}

static void neighbours(void) {
  MPI_Comm ring;
  const int periodic = 1;
  const count_t parts[2] = {left + 1, right + 1}, two[2] = {2, 2};
  const displ_t at[2] = {0, 10};
  const MPI_Aint bytes_at[2] = {0, 10 * INTS};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const int mine = rank + 1;
  MPI_Cart_create(world, 1, &size, &periodic, 0, &ring);
  COLL(Neighbor_allgather, Ineighbor_allgather, "neighbor_allgather", 2 * N, out, N, MPI_INT, in, N,
       MPI_INT, ring);
  COLL(Neighbor_allgatherv, Ineighbor_allgatherv, "neighbor_allgather",
       larger(left + right + 2, 2 * mine), out, mine, MPI_INT, in, parts, at, MPI_INT, ring);
  COLL(Neighbor_alltoall, Ineighbor_alltoall, "neighbor_alltoall", 2 * N, out, N, MPI_INT, in, N,
       MPI_INT, ring);
  COLL(Neighbor_alltoallv, Ineighbor_alltoallv, "neighbor_alltoall", 4, out, two, at, MPI_INT, in,
       two, at, MPI_INT, ring);
  COLL(Neighbor_alltoallw, Ineighbor_alltoallw, "neighbor_alltoall", 4, out, two, bytes_at, types,
       in, two, bytes_at, types, ring);
  MPI_Comm_free(&ring);
}

static void barriers(void) {
  MPI_Request q;
  begin("Barrier");
  MPI_Barrier(world);
  MPI_Ibarrier(world, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
#ifdef INIT_OF
  INIT_OF(Barrier)(world, MPI_INFO_NULL, &q);
  run_and_free(&q);
#endif
  end();
}

/* ---- one-sided: everybody writes into its right neighbour's window, and reads from there -------- */
static void one_sided(void) {
  static int got[ROOM];
  int *base, *shared;
  MPI_Win win, other;
  MPI_Request q[4];
  MPI_Comm node;
  begin("Put");
  fill();
  MPI_Win_create(in, sizeof in, INTS, MPI_INFO_NULL, world, &win);
  MPI_Win_lock_all(0, win);
  MPI_Put(out, N, MPI_INT, right, 0, N, MPI_INT, win);
  MPI_Accumulate(out, N, MPI_INT, right, 10, N, MPI_INT, MPI_REPLACE, win);
  MPI_Win_flush(right, win);
  MPI_Get(got, N, MPI_INT, right, 0, N, MPI_INT, win);
  MPI_Get_accumulate(out, N, MPI_INT, got + 10, N, MPI_INT, right, 20, N, MPI_INT, MPI_SUM, win);
  MPI_Win_flush_all(win);
  MPI_Rput(out, 2, MPI_INT, right, 30, 2, MPI_INT, win, &q[0]);
  MPI_Raccumulate(out, 2, MPI_INT, right, 40, 2, MPI_INT, MPI_REPLACE, win, &q[1]);
  MPI_Rget(got + 20, 2, MPI_INT, right, 0, 2, MPI_INT, win, &q[2]);
  MPI_Rget_accumulate(out, 2, MPI_INT, got + 30, 2, MPI_INT, right, 50, 2, MPI_INT, MPI_SUM, win,
                      &q[3]);
  MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
  MPI_Win_flush_local(right, win);
  MPI_Win_flush_local_all(win);
  MPI_Win_sync(win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(world);
  show("window");
  memcpy(in, got, sizeof in);
  show("read");
  MPI_Win_free(&win);
  MPI_Win_allocate(100, 1, MPI_INFO_NULL, world, &base, &win);
  MPI_Win_free(&win);
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(100, 1, MPI_INFO_NULL, node, &shared, &other);
  MPI_Win_free(&other);
  MPI_Comm_free(&node);
  end();
  expect("put", 2, N + 2), expect("get", 2, N + 2), expect("atomic", 4, 2 * N + 4);
}

/* ---- what makes communicators and windows: calls that wait, but move no data of the program ---- */
static void setup(void) {
  MPI_Comm made[16], line;
  MPI_Group group;
  MPI_Request q;
  MPI_Win win;
  const int dims[2] = {size, 1}, periods[2] = {1, 1}, keep[2] = {1, 0}, one = 1;
  const int index[3] = {1, 2, 3}, edges[3] = {1, 2, 0};
  int count = 0, flag = 1;
  begin("Setup");
  MPI_Comm_group(world, &group);
  MPI_Comm_dup(world, &made[count++]);
  MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &made[count++]);
  MPI_Comm_idup(world, &made[count++], &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
#if HAS_MPI_4
  MPI_Comm_idup_with_info(world, MPI_INFO_NULL, &made[count++], &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
#endif
  MPI_Comm_create(world, group, &made[count++]);
  MPI_Comm_create_group(world, group, 0, &made[count++]);
  MPI_Cart_create(world, 2, dims, periods, 0, &made[count]);
  MPI_Cart_sub(made[count], keep, &made[count + 1]);
  count += 2;
  MPI_Graph_create(world, 3, index, edges, 0, &line);
  if (line != MPI_COMM_NULL) made[count++] = line;
  MPI_Dist_graph_create(world, 1, &rank, &one, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                        &made[count++]);
  MPI_Comm_split(world, rank % 2, 0, &line);
  MPI_Intercomm_create(line, 0, world, 1 - rank % 2, 0, &made[count]);
  MPI_Intercomm_merge(made[count], 0, &made[count + 1]);
  count += 2;
  MPI_Comm_disconnect(&line);
  for (int i = 0; i < count; i++) {
    int members;
    MPI_Comm_size(made[i], &members);
    printf("%d communicator %d of %d\n", rank, i, members);
    MPI_Comm_free(&made[i]);
  }
  MPI_Iprobe(MPI_ANY_SOURCE, 77, world, &flag, MPI_STATUS_IGNORE);
  printf("%d message %d\n", rank, flag);
  MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
  MPI_Win_post(group, 0, win);
  MPI_Win_start(group, 0, win);
  MPI_Win_complete(win);
  for (flag = 0; !flag;) MPI_Win_test(win, &flag);
  MPI_Win_free(&win);
  MPI_Group_free(&group);
  end();
}

int main(int argc, char **argv) {
  char path[4096];
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  if (!freopen(path, "w", stdout)) MPI_Abort(world, 2);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  sends();
  receives();
  both_ways();
#if HAS_MPI_4
  partitioned();
#endif
#if HAS_MPI_4_1
  flushes();
#endif
  large();
  equal_parts();
  unequal_parts();
  neighbours();
  barriers();
  one_sided();
  setup();
  MPI_Finalize();
  return 0;
}
