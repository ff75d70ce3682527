/* The less common forms, each in a section of its own named through MPI_Pcontrol, with known
   counts: probes, matched receives, freed and cancelled requests, null requests, derived types,
   errors, intercommunicators, v, w, neighbour and persistent collectives, one-sided. Prints what it
   received: with the preload these lines must be the same. Processes: 2, 4, ... */
#include "tools/mpi_h.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, right, left;
static int out[4096], in[4096];

static void section(const char *name) {
  MPI_Pcontrol(2, name);
  for (int i = 0; i < 4096; i++) out[i] = rank * 10000 + i;
  memset(in, 0xff, sizeof in);
}
static void end(const char *name, int count) {
  unsigned sum = 0;
  for (int i = 0; i < count; i++) sum = sum * 31 + (unsigned)in[i];
  printf("%d %s %u\n", rank, name, sum);
  MPI_Pcontrol(-2);
}

static void probes(void) {
  MPI_Status s;
  MPI_Request q[3];
  MPI_Message m;
  int flag = 0, count;
  section("probes");
  MPI_Isend(out, 7, MPI_INT, right, 1, MPI_COMM_WORLD, &q[0]);
  MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &s);
  MPI_Get_count(&s, MPI_INT, &count);
  MPI_Recv(in, count, MPI_INT, s.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  end("probe", 7);
  section("matched");
  MPI_Isend(out, 9, MPI_INT, right, 2, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out, 2000, MPI_INT, right, 3, MPI_COMM_WORLD, &q[1]);
  MPI_Mprobe(left, 2, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
  MPI_Mrecv(in, 4096, MPI_INT, &m, &s);
  while (!flag) MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &m, &s);
  MPI_Imrecv(in + 9, 4000, MPI_INT, &m, &q[2]);
  MPI_Wait(&q[2], &s);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  MPI_Get_count(&s, MPI_INT, &count);
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
  MPI_Mrecv(in, 10, MPI_INT, &m, MPI_STATUS_IGNORE);
  printf("%d matched %d from %d, message is null: %d\n", rank, count, s.MPI_SOURCE,
         m == MPI_MESSAGE_NULL);
  end("matched", 2009);
}

static void odd_requests(void) {
  MPI_Request q[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s[3];
  int flag, index;
  section("odd");
  MPI_Wait(&q[0], &s[0]);
  MPI_Waitall(3, q, s);
  MPI_Testany(3, q, &index, &flag, s);
  printf("%d null: %d %d source %d\n", rank, index == MPI_UNDEFINED, flag,
         s[0].MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Isend(out, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q[0]);
  MPI_Irecv(in, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q[1]);
  MPI_Waitall(2, q, s);
  printf("%d proc null source %d\n", rank, s[1].MPI_SOURCE == MPI_PROC_NULL);
  MPI_Irecv(in, 5, MPI_INT, left, 99, MPI_COMM_WORLD, &q[0]);
  MPI_Cancel(&q[0]);
  MPI_Wait(&q[0], &s[0]);
  MPI_Test_cancelled(&s[0], &flag);
  printf("%d cancelled %d\n", rank, flag);
  MPI_Isend(out, 6, MPI_INT, right, 4, MPI_COMM_WORLD, &q[0]);
  MPI_Request_free(&q[0]);
  MPI_Recv(in, 6, MPI_INT, left, 4, MPI_COMM_WORLD, s);
  end("odd", 6);
}

static void types(void) {
  MPI_Datatype vector, pair;
  MPI_Request q;
  MPI_Status s;
  int count;
  section("types");
  MPI_Type_vector(5, 2, 4, MPI_INT, &vector); /* 10 ints in an extent of 18 */
  MPI_Type_commit(&vector);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Irecv(in, 100, pair, left, 5, MPI_COMM_WORLD, &q);
  MPI_Send(out, 3, vector, right, 5, MPI_COMM_WORLD);
  MPI_Wait(&q, &s);
  MPI_Get_count(&s, pair, &count);
  printf("%d pairs %d\n", rank, count);
  MPI_Type_free(&vector);
  MPI_Type_free(&pair);
  end("types", 30);
}

static void errors(void) {
  MPI_Request q[2];
  MPI_Status s[2];
  int class;
  section("errors");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Irecv(in, 4, MPI_INT, left, 6, MPI_COMM_WORLD, &q[0]); /* too short for what comes */
  MPI_Irecv(in + 8, 4, MPI_INT, left, 7, MPI_COMM_WORLD, &q[1]);
  MPI_Send(out, 8, MPI_INT, right, 6, MPI_COMM_WORLD);
  MPI_Send(out, 4, MPI_INT, right, 7, MPI_COMM_WORLD);
  MPI_Error_class(MPI_Wait(&q[0], &s[0]), &class);
  printf("%d truncated %d null %d\n", rank, class == MPI_ERR_TRUNCATE, q[0] == MPI_REQUEST_NULL);
  MPI_Error_class(MPI_Waitall(2, q, s), &class);
  printf("%d rest %d\n", rank, class == MPI_SUCCESS);
  MPI_Error_class(MPI_Send(out, -1, MPI_INT, right, 8, MPI_COMM_WORLD), &class);
  printf("%d negative count %d\n", rank, class == MPI_ERR_COUNT);
  MPI_Error_class(MPI_Send(out, 1, MPI_INT, size + 3, 8, MPI_COMM_WORLD), &class);
  printf("%d wrong rank %d\n", rank, class == MPI_ERR_RANK);
  MPI_Error_class(MPI_Send(out, 1, MPI_DATATYPE_NULL, right, 8, MPI_COMM_WORLD), &class);
  printf("%d null type %d\n", rank, class == MPI_ERR_TYPE);
  MPI_Error_class(MPI_Wait(NULL, MPI_STATUS_IGNORE), &class);
  printf("%d null pointer %d\n", rank, class == MPI_ERR_REQUEST || class == MPI_ERR_ARG);
  MPI_Error_class(MPI_Bcast(in, 1, MPI_INT, size + 1, MPI_COMM_WORLD), &class);
  printf("%d wrong root %d\n", rank, class == MPI_ERR_ROOT);
  MPI_Error_class(MPI_Barrier(MPI_COMM_NULL), &class);
  printf("%d null communicator %d\n", rank, class == MPI_ERR_COMM);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  end("errors", 4);
}

static void two_groups(void) {
  MPI_Comm half, both;
  const int side = rank % 2, partner = rank / 2;
  int remote;
  section("intercommunicator");
  MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &both);
  MPI_Comm_remote_size(both, &remote);
  MPI_Sendrecv(out, 3, MPI_INT, partner, 1, in, 3, MPI_INT, partner, 1, both, MPI_STATUS_IGNORE);
  MPI_Allreduce(out, in + 3, 4, MPI_INT, MPI_SUM, both);
  MPI_Bcast(side ? in + 7 : out, 5, MPI_INT, side ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT, both);
  MPI_Allgather(out, 2, MPI_INT, in + 20, 2, MPI_INT, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  end("intercommunicator", 20 + 2 * remote);
}

/* Process i contributes i + 1 ints to the v forms. */
static void v_and_w(void) {
  int counts[64], displs[64], same[64], bytes_at[64], wide[64], at = 0;
  MPI_Datatype types[64];
  MPI_Request q;
  section("v");
  for (int i = 0; i < size; i++) {
    counts[i] = i + 1, displs[i] = at, same[i] = rank + 1, types[i] = MPI_INT, wide[i] = 8 * i;
    at += counts[i];
  }
  MPI_Gatherv(out, rank + 1, MPI_INT, in, counts, displs, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Scatterv(out, counts, displs, MPI_INT, in + 100, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allgatherv(out, rank + 1, MPI_INT, in + 200, counts, displs, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallv(out, counts, displs, MPI_INT, in + 300, same, wide, MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce_scatter(out, in + 400, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(out, in + 500, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(out, in + 600, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(out, in + 700, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) memset(in + 700, 0, 12); /* undefined there */
  MPI_Iallgatherv(out, rank + 1, MPI_INT, in + 800, counts, displs, MPI_INT, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; i++) bytes_at[i] = 16 * i, same[i] = 2;
  MPI_Alltoallw(out, same, bytes_at, types, in + 1000, same, bytes_at, types, MPI_COMM_WORLD);
  MPI_Ialltoallw(out, same, bytes_at, types, in + 2000, same, bytes_at, types, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  end("v", 4096);
}

/* At the root of a scatter in place the type of what is received means nothing. */
static void in_place(void) {
  const MPI_Datatype no_type = (MPI_Datatype)48;
  const int is_root = rank == 0;
  void *to = is_root ? MPI_IN_PLACE : (void *)in;
  const MPI_Datatype type = is_root ? no_type : MPI_INT;
  int counts[64], displs[64];
  MPI_Request q;
  section("in-place");
  for (int i = 0; i < size; i++) counts[i] = 2, displs[i] = 2 * i;
  MPI_Scatter(out, 2, MPI_INT, to, 2, type, 0, MPI_COMM_WORLD);
  MPI_Iscatter(out, 2, MPI_INT, is_root ? to : in + 2, 2, type, 0, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Scatterv(out, counts, displs, MPI_INT, is_root ? to : in + 4, 2, type, 0, MPI_COMM_WORLD);
  end("in-place", 6);
}

static void neighbours(void) {
  MPI_Comm ring, graph;
  MPI_Request q;
  const int periodic = 1, sources[1] = {left}, targets[2] = {right, rank};
  section("neighbours");
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, ring);
  MPI_Neighbor_alltoall(out, 4, MPI_INT, in + 10, 4, MPI_INT, ring);
  MPI_Ineighbor_alltoall(out, 4, MPI_INT, in + 30, 4, MPI_INT, ring, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Comm_free(&ring);
  /* a directed ring, and everybody is also its own neighbour: sources left and self */
  const int from[2] = {sources[0], rank};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, targets,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  const int counts[2] = {5, 6}, displs[2] = {0, 8};
  MPI_Neighbor_alltoallv(out, counts, displs, MPI_INT, in + 60, counts, displs, MPI_INT, graph);
  MPI_Comm_free(&graph);
  end("neighbours", 100);
}

static void persistent_collectives(void) {
#ifdef INIT_OF
  MPI_Request q;
  section("persistent");
  INIT_OF(Allreduce)(out, in, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
  for (int i = 0; i < 3; i++) {
    out[0] = i;
    MPI_Start(&q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&q);
  end("persistent", 6);
#endif
}

static void one_sided(void) {
  MPI_Win win;
  MPI_Group world, to, from;
  MPI_Request q;
  int one = 1, old;
  section("one-sided");
  MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(out, 10, MPI_INT, right, 0, 10, MPI_INT, win);
  MPI_Accumulate(out, 5, MPI_INT, right, 20, 5, MPI_INT, MPI_REPLACE, win);
  MPI_Put(out, 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
  MPI_Get(out + 100, 8, MPI_INT, right, 0, 8, MPI_INT, win);
  MPI_Win_unlock(right, win);
  memcpy(in + 100, out + 100, 8 * sizeof *in);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  MPI_Rput(out, 3, MPI_INT, right, 200, 3, MPI_INT, win, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Fetch_and_op(&one, &old, MPI_INT, right, 300, MPI_SUM, win);
  MPI_Win_flush(right, win);
  MPI_Compare_and_swap(&one, &old, out, MPI_INT, right, 301, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &right, &to);
  MPI_Group_incl(world, 1, &left, &from);
  MPI_Win_post(from, 0, win);
  MPI_Win_start(to, 0, win);
  MPI_Put(out, 4, MPI_INT, right, 400, 4, MPI_INT, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Group_free(&world);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Win_free(&win);
  end("one-sided", 500);
}

static void switched_off(void) {
  MPI_Pcontrol(0);
  for (int i = 0; i < 5; i++)
    MPI_Sendrecv(out, 10, MPI_INT, right, 1, in, 10, MPI_INT, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  MPI_Pcontrol(1);
  section("outer");
  section("inner");
  MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Pcontrol(-2);
  MPI_Pcontrol(-2);
  MPI_Pcontrol(3, (void *)16); /* no name there: must not crash */
  MPI_Pcontrol(-3);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  probes();
  odd_requests();
  types();
  errors();
  two_groups();
  v_and_w();
  in_place();
  neighbours();
  persistent_collectives();
  one_sided();
  switched_off();
  MPI_Finalize();
  return 0;
}
