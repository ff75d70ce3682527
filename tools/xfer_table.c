/* Question: how long does a message of n bytes take here? Overlap bounds need to know [O §2.4].

   Run:      make examples
             mpirun.openmpi -n 2 build/xfer_table_mpi same_node.txt
             mpirun.openmpi -n 3 --map-by node build/xfer_table_mpi same_node.txt other_node.txt
             mpirun.mpich -n 2 build/xfer_table_mpich same_node.txt
             build/xfer_table threads.txt               no MPI: between two threads
   Expected: files of "bytes seconds" lines, to be named in NBC_TABLE and NBC_TABLE_OTHER when a
             program runs under the preload; and one line per file on what was measured.

   Measured between rank 0 and the first other process of its node, then between rank 0 and the first
   process of another node: half the shortest round trip, the time of an undisturbed transfer
   (threads: half the median). A table that is too slow makes the minimum overlap too large, so
   measure while nothing else runs, with a core for each process. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/output.h"
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const nbc_error *err) {
  fprintf(stderr, "xfer_table: %s: %s\n", what, err->text);
  return 1;
}

/* An option instead of a file: none but --help is known. */
static int usage(const char *option, const char *text) {
  fprintf(strcmp(option, "--help") ? stderr : stdout, "usage: %s\nMeasures how long messages take; FILE gets lines \"bytes seconds\".\n", text);
  return strcmp(option, "--help") ? 2 : 0;
}

/* Writes the table and says its two ends. */
static int write_table(const nbc_table *table, const char *path, const char *between) {
  nbc_error err;
  char comment[200];
  const uint64_t *size_bytes;
  const double *time_s;
  memset(&err, 0, sizeof err);
  snprintf(comment, sizeof comment, "one-way time between %s", between);
  const size_t count = nbc_table_points(table, &size_bytes, &time_s);
  if (nbc_table_write(table, path, comment, &err) != NBC_OK) return fail(path, &err);
  printf("%s: between %s: %.2f us for %llu B, %.1f us for %llu B (%.2f GB/s)\n", path, between,
         time_s[0] * 1e6, (unsigned long long)size_bytes[0], time_s[count - 1] * 1e6,
         (unsigned long long)size_bytes[count - 1],
         (double)size_bytes[count - 1] / time_s[count - 1] / 1e9);
  return 0;
}

#ifdef NBC_WITH_MPI
/* With plain MPI calls: what a program under the preload uses. */
enum { SIZES = 24, MAX_ROUNDS = 500, FIRST_ROUNDS = 5 }; /* 1 B, 2 B, ... 8 MiB */

static void exchange(const nbc_clock *clock, char *buffer, int bytes, int peer, bool first,
                     int64_t *d_ns, int rounds) {
  for (int i = 0; i < rounds; i++) {
    const int64_t start_ns = nbc_clock_now_ns(clock);
    if (first) MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    d_ns[i] = nbc_clock_now_ns(clock) - start_ns;
  }
}

/* As many rounds as fit into about 50 ms, which the first few tell. */
static double one_way_s(const nbc_clock *clock, char *buffer, int bytes, int peer, bool first) {
  int64_t d_ns[MAX_ROUNDS], sum_ns = 1;
  exchange(clock, buffer, bytes, peer, first, d_ns, FIRST_ROUNDS);
  for (int i = 0; i < FIRST_ROUNDS; i++) sum_ns += d_ns[i];
  int rounds = (int)(50000000 / (sum_ns / FIRST_ROUNDS + 1));
  if (rounds > MAX_ROUNDS) rounds = MAX_ROUNDS;
  if (rounds < 2 * FIRST_ROUNDS) rounds = 2 * FIRST_ROUNDS;
  if (first)
    MPI_Send(&rounds, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
  else
    MPI_Recv(&rounds, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  exchange(clock, buffer, bytes, peer, first, d_ns, rounds);
  int64_t shortest_ns = d_ns[0];
  for (int i = 1; i < rounds; i++)
    if (d_ns[i] < shortest_ns) shortest_ns = d_ns[i];
  return (double)shortest_ns * 0.5e-9;
}

static int measure(int peer, bool first, const char *path, const char *between) {
  uint64_t size_bytes[SIZES];
  double time_s[SIZES];
  nbc_clock clock;
  nbc_table *table;
  nbc_error err;
  memset(&err, 0, sizeof err);
  char *buffer = (char *)calloc(1, (size_t)1 << (SIZES - 1));
  if (!buffer || nbc_clock_create(NULL, &clock) != NBC_OK)
    return fail("no memory or no clock", &err);
  for (int i = 0; i < SIZES; i++) {
    size_bytes[i] = (uint64_t)1 << i;
    time_s[i] = one_way_s(&clock, buffer, 1 << i, peer, first);
  }
  free(buffer);
  if (!first) return 0;
  for (int i = SIZES - 2; i >= 0; i--) /* slower than twice the bytes: disturbed every time */
    if (time_s[i] > time_s[i + 1]) time_s[i] = time_s[i + 1];
  if (time_s[0] > 1e-4)
    fprintf(stderr, "xfer_table: %.0f us for one byte: cores are shared, the table is too slow\n",
            time_s[0] * 1e6);
  if (nbc_table_create(size_bytes, time_s, SIZES, between, &table, &err) != NBC_OK)
    return fail(path, &err);
  const int status = write_table(table, path, between);
  nbc_table_free(table);
  return status;
}

/* The lowest rank but 0 that is, or is not, on rank 0's node; size when there is none. */
static int find_peer(bool same_node, int size) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "", *names = (char *)calloc((size_t)size, sizeof mine);
  int length, found = size;
  if (!names) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Get_processor_name(mine, &length);
  MPI_Allgather(mine, sizeof mine, MPI_CHAR, names, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = size - 1; i > 0; i--)
    if ((strcmp(names, names + (size_t)i * sizeof mine) == 0) == same_node) found = i;
  free(names);
  return found;
}

int main(int argc, char **argv) {
  static const char *const between[] = {"two processes of one node", "two nodes"};
  int rank, size, status = 0;
  output_begin("xfer_table");
  if (argc > 1 && argv[1][0] == '-') return usage(argv[1], "mpirun -n N xfer_table SAME_NODE_FILE [OTHER_NODE_FILE]");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2 || argc > 3) {
    if (rank == 0)
      fprintf(stderr, "usage: mpirun -n N %s SAME_NODE_FILE [OTHER_NODE_FILE]\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  for (int i = 1; i < argc; i++) {
    const int peer = find_peer(i == 1, size);
    if (peer == size && rank == 0)
      fprintf(stderr, "%s: not written: no %s here\n", argv[i], between[i - 1]);
    if (peer == size)
      status = 1;
    else if (rank == 0 || rank == peer)
      status |= measure(rank ? 0 : peer, rank == 0, argv[i], between[i - 1]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return status;
}

#else
static const char *path;

static nbc_status rank_of_two(nbc_transport *t, void *user) {
  nbc_table *table = NULL;
  nbc_error err;
  memset(&err, 0, sizeof err);
  const nbc_status status = nbc_table_measure(t, 1 - t->rank, NULL, &table, &err);
  if (status == NBC_OK && t->rank == 0)
    *(int *)user = write_table(table, path, "two threads");
  else if (status != NBC_OK)
    fail("measuring", &err);
  nbc_table_free(table);
  return status;
}

int main(int argc, char **argv) {
  nbc_threads_desc desc;
  nbc_threads *world;
  int status = 1;
  output_begin("xfer_table");
  memset(&desc, 0, sizeof desc);
  if (argc > 1 && argv[1][0] == '-') return usage(argv[1], "xfer_table FILE");
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  path = argv[1];
  if (nbc_threads_create(&desc, &world) != NBC_OK) return 1;
  if (nbc_threads_run(world, rank_of_two, &status) != NBC_OK) status = 1;
  nbc_threads_destroy(world);
  return status;
}
#endif
