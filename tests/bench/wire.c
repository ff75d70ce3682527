/* The TCP transport's half round trip at 64 B and its bandwidth at 4 MiB over loopback, between two
   processes, beside a plain blocking socket's (peer, in turns in the same run); built with an MPI
   (WIRE_MPI), beside that MPI's instead: Open MPI's is run with btl tcp. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_tcp.h"
#include "tests/bench/bench.h"
#ifndef WIRE_MPI
#  include "tests/hw/sockets.h"
#endif
#include <arpa/inet.h>
#include <sys/wait.h>
#ifdef WIRE_MPI
#  include <mpi.h>
#  define PEER_NAME "Open MPI's btl tcp"
#  define SUFFIX    "_openmpi"
#else
#  define PEER_NAME "blocking socket ping-pong"
#  define SUFFIX    ""
#endif

enum { SERIES = 15, MOST_BYTES = 4 << 20 };
static char data[MOST_BYTES];

#ifndef WIRE_MPI
static bool whole(int fd, bool sending, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t k = sending ? send(fd, data + done, size - done, MSG_NOSIGNAL)
                              : recv(fd, data + done, size - done, MSG_WAITALL);
    if (k <= 0) return false;
    done += (size_t)k;
  }
  return true;
}
#endif

/* One message in one direction, by either; rank 0 sends first. */
typedef struct wire {
  int rank, fd;
  nbc_transport *t;
} wire;
static void send_by(const wire *w, bool ours, size_t size) {
  if (ours)
    nbc_send(w->t, data, size, 1 - w->rank, 1);
  else
#ifdef WIRE_MPI
    MPI_Send(data, (int)size, MPI_CHAR, 1 - w->rank, 1, MPI_COMM_WORLD);
#else
    whole(w->fd, true, size);
#endif
}
static void receive_by(const wire *w, bool ours, size_t size) {
  if (ours)
    nbc_recv(w->t, data, size, 1 - w->rank, 1);
  else
#ifdef WIRE_MPI
    MPI_Recv(data, (int)size, MPI_CHAR, 1 - w->rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
    whole(w->fd, false, size);
#endif
}
/* Half a round trip, mean of a series. */
static double half_trip_ns(const wire *w, bool ours, size_t size, int trips) {
  const int64_t start_ns = nic_host_now_ns(NULL);
  for (int i = 0; i < trips; i++) {
    if (w->rank == 0) send_by(w, ours, size);
    receive_by(w, ours, size);
    if (w->rank == 1) send_by(w, ours, size);
  }
  return (double)(nic_host_now_ns(NULL) - start_ns) / (2.0 * trips);
}

static void compare(const wire *w, int argc, char **argv) {
  static const struct {
    const char *name;
    size_t size;
    int trips;
  } what[2] = {{"tcp_latency" SUFFIX, 64, 500}, {"tcp_bandwidth" SUFFIX, MOST_BYTES, 6}};
  for (int i = 0; i < 2; i++) {
    double ours[SERIES], theirs[SERIES];
    if (!bench_wanted(argc, argv, what[i].name)) continue;
    for (int ours_too = 0; ours_too < 2; ours_too++)
      half_trip_ns(w, ours_too, what[i].size, what[i].trips / 2);
    for (int k = 0; k < SERIES; k++) { /* in turns, so that both meet the same machine */
      ours[k] = half_trip_ns(w, true, what[i].size, what[i].trips);
      theirs[k] = half_trip_ns(w, false, what[i].size, what[i].trips);
    }
    if (w->rank) continue;
    const double a = bench_median(ours, SERIES), b = bench_median(theirs, SERIES);
    if (i == 0)
      bench_print_peer(what[i].name, a, "ns", PEER_NAME, b);
    else
      bench_print_peer(what[i].name, MOST_BYTES / a * 1e9, "B/s", PEER_NAME, MOST_BYTES / b * 1e9);
  }
}

static int run(int rank, int fd, const int sockets[2], const char *const *addresses, int argc,
               char **argv) {
  const nic_tcp_desc desc = {.rank = rank, .size = 2, .sockets = sockets, .addresses = addresses};
  nbc_error error;
  wire w = {rank, fd, NULL};
  if (nic_tcp_create(&desc, &w.t, &error) != NBC_OK)
    return fprintf(stderr, "wire: rank %d: %s\n", rank, error.text), 1;
  compare(&w, argc, argv);
  return nic_tcp_destroy(w.t) != NBC_OK;
}

#ifdef WIRE_MPI
int main(int argc, char **argv) {
  int rank, port[2] = {0, 0};
  char text[2][32];
  const char *const addresses[2] = {text[0], text[1]};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2 && rank == 0; i++) { /* free a moment ago */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &bytes) == 0)
      port[i] = ntohs(at.sin_port);
    close(fd);
  }
  MPI_Bcast(port, 2, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 2; i++) snprintf(text[i], sizeof text[i], "127.0.0.1:%d", port[i]);
  const int code = run(rank, -1, NULL, addresses, argc, argv);
  MPI_Finalize();
  return code;
}
#else
int main(int argc, char **argv) {
  int plain[2], ours[2];
  if (!sockets_pair(SOCK_STREAM, plain) || !sockets_pair(SOCK_STREAM, ours)) return 0;
  const pid_t pid = fork();
  const int rank = pid == 0, sockets[2] = {ours[rank], ours[rank]};
  close(plain[1 - rank]);
  close(ours[1 - rank]);
  const int code = run(rank, plain[rank], sockets, NULL, argc, argv);
  if (rank) _exit(code);
  waitpid(pid, NULL, 0);
  return code;
}
#endif
