/* Messages that come before their receives, more than the blocks that they lie in: their bytes stay right in
   whatever order they are taken, and memory that has been emptied goes back.
   early BYTES COUNT [AHEAD]: from process 0 to 1, or to itself where it is alone, AHEAD (40) before the first receive;
   early: a few from each process to the next. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 40, FEW = 15, MOST = 4096 };
static char data[MOST];
static double resident_mb(void) {
  long whole = 0, here = 0;
  FILE *in = fopen("/proc/self/statm", "r");
  if (!in || fscanf(in, "%ld %ld", &whole, &here) != 2) here = 0;
  if (in) fclose(in);
  return (double)here * 4096e-6;
}
static int byte_of(long message) { return 1 + (int)(message % 100); }
static long is_wrong(int bytes, long message) {
  for (int i = 0; i < bytes; i++)
    if (data[i] != byte_of(message)) return 1;
  return 0;
}
static void send_ahead(char *out, MPI_Request *sends, int bytes, int count, long first, int to) {
  for (int i = 0; i < count; i++) {
    char *const message = out + (size_t)i * (size_t)bytes;
    memset(message, byte_of(first + i), (size_t)bytes);
    MPI_Isend(message, bytes, MPI_CHAR, to, i % AT_ONCE, MPI_COMM_WORLD, &sends[i]);
  }
}
/* Of each 40 the last one first: what lies in front of it in a block must outlive it. */
static void turns(int rank, int to, int bytes, long count, int ahead) {
  char *const out = malloc((size_t)ahead * (size_t)bytes + 1);
  MPI_Request *const sends = malloc((size_t)ahead * sizeof *sends);
  long bad = 0;
  for (long first = 0; first < count; first += ahead) {
    if (rank == 0) send_ahead(out, sends, bytes, ahead, first, to);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == to && i < ahead; i++) {
      const int tag = AT_ONCE - 1 - i % AT_ONCE;
      MPI_Recv(data, bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      bad += is_wrong(bytes, first + i / AT_ONCE * AT_ONCE + tag);
    }
    if (rank == 0) MPI_Waitall(ahead, sends, MPI_STATUSES_IGNORE);
  }
  if (rank == to) printf("%ld wrong, %.1f MB\n", bad, resident_mb());
  free(sends);
  free(out);
}
static void few(int rank, int size) {
  const double before_mb = resident_mb();
  long bad = 0;
  for (int i = 0; i < FEW; i++) {
    memset(data, byte_of(rank + i), MOST);
    MPI_Send(data, MOST, MPI_CHAR, (rank + 1) % size, i, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < FEW; i++) {
    MPI_Recv(data, MOST, MPI_CHAR, (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bad += is_wrong(MOST, (rank + size - 1) % size + i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (bad || rank == 0) printf("%ld wrong, %.1f MB\n", bad, resident_mb() - before_mb);
}
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2)
    turns(rank, size > 1, atoi(argv[1]), atol(argv[2]), argc > 3 ? atoi(argv[3]) : AT_ONCE);
  else
    few(rank, size);
  MPI_Finalize();
  return 0;
}
