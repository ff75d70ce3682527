/* Programs in which data moves where a preload cannot see it, their truth known by one clock on both ranks, by
   looking into memory, or by asking the sockets. One scene per argument, two ranks (late: three):
     came     small messages that arrive before they are received: by Irecv, Recv, Sendrecv, Mrecv, a persistent
              receive, over two groups
     head     a large message whose first part waits in a socket while rank 0 computes: how much
     copied   buffered sends of 1 MiB whose receives are posted only when the sends are complete; ready sends
     window   a put of 4 MiB: in how many rounds it was seen there before MPI_Put returned; gets and updates
     parts    MPI 4: partitioned sends and receives
     both     MPI 4: MPI_Isendrecv of a message that came before, into a buffer for much more
     info     a message comes while all are in calls that set hints: computation is only what precedes them
     agree    the same in calls that go on without processes that failed, where the MPI has them
     late     collectives whose last process comes late
     threads  four large sends at once; with 1, to a process whose threads may receive them at the same time
     vector   do sends of scattered data end though nobody has posted a receive? Prints the largest */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include "tests/mpi/preload_flags.h"
#include "tools/mpi_h.h"
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

enum { ROUNDS = 10, SMALL = 3000, LARGE = 100000, NAP_NS = 10000000 };
/* ---- came ---- */
static void receive(int how, char *in, MPI_Comm comm, int from, MPI_Request *kept) {
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message;
  char out = 0, last = 0;
  if (how == 0) MPI_Irecv(in, SMALL, MPI_CHAR, from, 1, comm, &r[0]);
  if (how == 1) MPI_Recv(in, SMALL, MPI_CHAR, from, 1, comm, MPI_STATUS_IGNORE);
  if (how == 2)
    MPI_Sendrecv(&out, 1, MPI_CHAR, from, 3, in, SMALL, MPI_CHAR, from, 1, comm, MPI_STATUS_IGNORE);
  if (how == 3) {
    MPI_Mprobe(from, 1, comm, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, SMALL, MPI_CHAR, &message, &r[0]);
  }
  if (how == 4) {
    if (*kept == MPI_REQUEST_NULL) MPI_Recv_init(in, SMALL, MPI_CHAR, from, 1, comm, kept);
    MPI_Startall(1, kept);
    MPI_Wait(kept, MPI_STATUS_IGNORE);
  }
  MPI_Irecv(&last, 0, MPI_CHAR, from, 2, comm, &r[1]); /* the other one is late: both wait for it */
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
static void came(int how) {
  static char data[SMALL];
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request kept = MPI_REQUEST_NULL;
  const int inter = how == 5, other = inter ? 0 : 1 - rank;
  if (inter) MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 9, &comm);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request sent;
    char none = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      compute_until(0, i);
      tell(1, i);
      receive(inter ? 0 : how, data, comm, other, &kept);
    } else {
      MPI_Isend(data, SMALL, MPI_CHAR, other, 1, comm, &sent);
      tell(0, i); /* it is on its way, and the other one computes */
      compute_until(1, i);
      MPI_Wait(&sent, MPI_STATUS_IGNORE);
      compute(NAP_NS / 10);
      if (how == 2) MPI_Recv(&none, 1, MPI_CHAR, other, 3, comm, MPI_STATUS_IGNORE);
      MPI_Send(&none, 0, MPI_CHAR, other, 2, comm);
    }
  }
  if (kept != MPI_REQUEST_NULL) MPI_Request_free(&kept);
  if (inter) MPI_Comm_free(&comm);
}

/* ---- head ---- */
static int64_t waiting_in_sockets(void) {
  int64_t sum = 0;
  for (int fd = 3; fd < 256; fd++) {
    int n = 0;
    if (ioctl(fd, FIONREAD, &n) == 0 && n > 0) sum += n;
  }
  return sum;
}
static void head(void) {
  char *data = memory(2 * LARGE);
  int64_t here = 0;
  MPI_Datatype scattered; /* contiguous data may be fetched whole; this is sent in parts */
  MPI_Type_vector(LARGE / 4, 4, 8, MPI_CHAR, &scattered);
  MPI_Type_commit(&scattered);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Send(data, 1, scattered, 0, 1, MPI_COMM_WORLD);
    } else {
      const int64_t end_ns = now_ns() + 10 * NAP_NS; /* in shared memory there will be nothing */
      int64_t n = 0, most = 0;
      while (now_ns() < end_ns && (most <= 1000 || n > most)) {
        if (n > most) most = n;
        n = waiting_in_sockets();
        compute(NAP_NS / 10);
      }
      here += most > LARGE ? LARGE : most > 1000 ? most : 0; /* less is no data */
      MPI_Recv(data, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (rank == 0)
    printf("here permille %lld\n", (long long)(here * 1000 / ((int64_t)LARGE * ROUNDS)));
  MPI_Type_free(&scattered);
  free(data);
}

/* ---- copied ---- */
static void copied(int how) {
  enum { MUCH = 1 << 20 };
  char *data = memory(MUCH), *room = memory(2 * MUCH), go = 0;
  void *old;
  int size;
  if (how < 2) MPI_Buffer_attach(room, 2 * MUCH);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request r = MPI_REQUEST_NULL;
    if (rank == 1 && how == 2) MPI_Irecv(data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      if (how == 0) MPI_Bsend(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      if (how == 1) MPI_Ibsend(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
      if (how == 2) MPI_Irsend(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
      compute(NAP_NS);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      MPI_Send(&go, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD); /* only now a receive is posted */
    } else {
      MPI_Recv(&go, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (how < 2) MPI_Recv(data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
  }
  if (how < 2) MPI_Buffer_detach(&old, &size);
  free(data);
  free(room);
}

/* ---- window ---- */
static void window(void) {
  enum { MUCH = 4 << 20 };
  char *mine, *data = memory(MUCH), one = 0, was;
  MPI_Win win;
  int there = 0;
  MPI_Win_allocate(MUCH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  memset(mine, 0, MUCH);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      int64_t put_ns, seen_ns;
      memset(data, i, MUCH);
      MPI_Win_lock_all(0, win);
      MPI_Put(data, MUCH, MPI_CHAR, 1, 0, MUCH, MPI_CHAR, win);
      put_ns = now_ns();
      compute(3 * NAP_NS);
      MPI_Win_flush(1, win);
      tell(0, i);
      MPI_Get(data, MUCH / 2, MPI_CHAR, 1, 0, MUCH / 2, MPI_CHAR, win);
      compute(3 * NAP_NS);
      MPI_Win_flush_local(1, win);
      MPI_Fetch_and_op(&one, &was, MPI_CHAR, 1, 0, MPI_SUM, win);
      MPI_Accumulate(data, 1000, MPI_CHAR, 1, 0, 1000, MPI_CHAR, MPI_SUM, win);
      compute(NAP_NS);
      MPI_Win_unlock_all(win);
      MPI_Recv(&seen_ns, sizeof seen_ns, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      there += seen_ns && seen_ns <= put_ns;
    } else {
      int64_t seen_ns =
          0; /* 0: it came with the flush, or later; what asks for progress is not known to do without */
      int n = 0;
      while (!seen_ns && flags[0] < i) {
        if (((volatile char *)mine)[MUCH - 1] == i) seen_ns = now_ns();
        if (++n % 1000 == 0) MPI_Iprobe(0, 99, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      }
      MPI_Send(&seen_ns, sizeof seen_ns, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) printf("there %d\n", there);
  MPI_Win_free(&win);
  free(data);
}

/* ---- MPI 4 ---- */
#if HAS_MPI_4
static void parts(void) {
  enum { PARTS = 4 };
  char *data = memory(PARTS * LARGE);
  MPI_Request r;
  if (rank == 0)
    MPI_Psend_init(data, PARTS, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  else
    MPI_Precv_init(data, PARTS, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&r);
    for (int k = 0; rank == 0 && k < PARTS; k++) MPI_Pready(k, r);
    compute(NAP_NS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&r);
  free(data);
}
static void both(int how) {
  enum { ROOM = 1 << 22 };
  static char out[SMALL], in[ROOM];
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      compute_until(0, i);
      MPI_Isendrecv(out, 8, MPI_CHAR, 1, 1, in, how ? ROOM : SMALL, MPI_CHAR, 1, 1, MPI_COMM_WORLD,
                    &r);
      compute(NAP_NS);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else {
      MPI_Isend(out, SMALL, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
      tell(0, i);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      MPI_Recv(in, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}
#endif

/* ---- info ---- */
/* Rank 1 sends when rank 0 is in the calls, and is there itself only later. */
static void info(int agrees) {
  enum { MUCH = 1 << 22 };
  char *data = memory(MUCH), *mine, value[2] = "1";
  MPI_Win win;
  MPI_Comm comm;
  MPI_Info hints;
  int64_t inside_ns = 0, begin_ns;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, &mine, &win);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r;
    value[0] = (char)('0' + i % 2);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "nbc_nobody_knows_this", value);
    MPI_Barrier(comm);
    if (rank == 0) {
      MPI_Irecv(data, MUCH, MPI_CHAR, 1, 1, comm, &r);
      tell(0, i);
    } else {
      compute_until(0, i);
      compute(NAP_NS);
      MPI_Isend(data, MUCH, MPI_CHAR, 0, 1, comm, &r);
      for (int k = 0; k < 100; k++)
        MPI_Test(&r, &(int){0}, MPI_STATUS_IGNORE), compute(NAP_NS / 100);
    }
    begin_ns = now_ns();
#ifdef MPIX_ERR_PROC_FAILED
    if (agrees) MPIX_Comm_agree(comm, &(int){1});
#endif
    if (!agrees) MPI_Win_set_info(win, hints), MPI_Comm_set_info(comm, hints);
    inside_ns += now_ns() - begin_ns;
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Info_free(&hints);
  }
  if (rank == 0) printf("inside ns %lld\n", (long long)inside_ns);
#ifdef MPIX_ERR_PROC_FAILED
  if (agrees) {
    MPI_Comm left;
    MPI_Group failed;
    MPIX_Comm_failure_ack(comm);
    MPIX_Comm_failure_get_acked(comm, &failed);
    MPIX_Comm_shrink(comm, &left);
    if (rank == 0) MPI_Send(data, SMALL, MPI_CHAR, 1, 1, left);
    if (rank == 1) MPI_Recv(data, SMALL, MPI_CHAR, 0, 1, left, MPI_STATUS_IGNORE);
#  if defined OMPI_HAVE_MPI_EXT_FTMPI && OMPI_HAVE_MPI_EXT_FTMPI
    MPI_Request agreed;
    int flag = 1;
    MPIX_Comm_is_revoked(left, &flag);
    MPIX_Comm_get_failed(comm, &failed);
    MPIX_Comm_ack_failed(comm, 0, &(int){0});
    MPIX_Comm_iagree(comm, &flag, &agreed);
    MPI_Wait(&agreed, MPI_STATUS_IGNORE);
#  endif
    MPIX_Comm_revoke(left);
    MPI_Comm_free(&left);
  }
#endif
  MPI_Win_free(&win);
  MPI_Comm_free(&comm);
  free(data);
}

/* ---- late ---- */
static void late(void) {
  static char out[3][SMALL], in[3][SMALL];
  const int degree = 2, sources[2] = {(rank + 1) % 3, (rank + 2) % 3};
  MPI_Comm around;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, MPI_UNWEIGHTED, degree, sources,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &around);
  for (int i = 0; i < ROUNDS; i++)
    for (int k = 0; k < 3; k++) {
      MPI_Barrier(MPI_COMM_WORLD);
      compute(rank == 0 ? NAP_NS : rank == 2 ? 2 * NAP_NS : 0);
      if (k == 0) MPI_Alltoall(out, SMALL, MPI_CHAR, in, SMALL, MPI_CHAR, MPI_COMM_WORLD);
      if (k == 1) MPI_Allgather(out, SMALL, MPI_CHAR, in, SMALL, MPI_CHAR, MPI_COMM_WORLD);
      if (k == 2) MPI_Neighbor_alltoall(out, SMALL, MPI_CHAR, in, SMALL, MPI_CHAR, around);
    }
  MPI_Comm_free(&around);
}

/* ---- threads ---- */
/* Does this process ask for MPI_THREAD_MULTIPLE? The receiver, who has no rank yet. */
static int has_threads(const char *scene, int how) {
  const char *mpich = getenv("PMI_RANK"), *openmpi = getenv("OMPI_COMM_WORLD_RANK"),
             *who = mpich ? mpich : openmpi;
  return strcmp(scene, "threads") == 0 && how == 1 && who && atoi(who) == 1;
}
static void threads(void) {
  enum { AT_ONCE = 4, MUCH = 1 << 20 };
  char *data = memory(MUCH);
  MPI_Request r[AT_ONCE];
  for (int i = 0; i < ROUNDS / 2; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < AT_ONCE; k++)
      if (rank == 0)
        MPI_Isend(data, MUCH, MPI_CHAR, 1, k, MPI_COMM_WORLD, &r[k]);
      else
        MPI_Recv(data, MUCH, MPI_CHAR, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) compute(4 * NAP_NS);
    if (rank == 0) MPI_Waitall(AT_ONCE, r, MPI_STATUSES_IGNORE);
  }
  free(data);
}

/* ---- vector ---- */
static void vector(void) {
  int largest = 0;
  for (int count = 16; count <= 1 << 18; count *= 2) {
    char *data = memory((size_t)count * 8), go = 0;
    MPI_Datatype type;
    MPI_Request r;
    MPI_Type_vector(count, 4, 8, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    if (rank == 0) {
      int over = 0;
      MPI_Isend(data, 1, type, 1, 1, MPI_COMM_WORLD, &r);
      const int64_t end_ns = now_ns() + 2 * NAP_NS;
      while (!over && now_ns() < end_ns) MPI_Test(&r, &over, MPI_STATUS_IGNORE);
      if (over) largest = count * 4;
      MPI_Send(&go, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
      if (!over) MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&go, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(data, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&type);
    free(data);
  }
  if (rank == 0) printf("largest %d\n", largest);
}

int main(int argc, char **argv) {
  const char *scene = argc > 1 ? argv[1] : "";
  const int how = argc > 2 ? atoi(argv[2]) : 0;
  int level = has_threads(scene, how) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (level == MPI_THREAD_MULTIPLE) printf("several threads\n");
  share_flags();
  if (strcmp(scene, "threads") == 0) threads();
  if (strcmp(scene, "came") == 0) came(how);
  if (strcmp(scene, "head") == 0) head();
  if (strcmp(scene, "copied") == 0) copied(how);
  if (strcmp(scene, "window") == 0) window();
  if (strcmp(scene, "info") == 0) info(0);
#ifdef MPIX_ERR_PROC_FAILED
  if (strcmp(scene, "agree") == 0) info(1);
#endif
  if (strcmp(scene, "late") == 0) late();
  if (strcmp(scene, "vector") == 0) vector();
#if HAS_MPI_4
  if (strcmp(scene, "parts") == 0) parts();
  if (strcmp(scene, "both") == 0) both(how);
#endif
  free_flags();
  MPI_Finalize();
  return 0;
}
