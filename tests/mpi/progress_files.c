/* progress_files.c: nonblocking operations on a file that all processes start, many under way at once, waited for alone and
   beside a collective: all is written and read back. The MPI may do them by collectives of its own, whose order is not
   that of the program's calls. Argument: the file. Prints "N processes checked, M checks failed". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 32, BYTES = 1000 };
static char out[MANY][BYTES], in[MANY][BYTES];

int main(int argc, char **argv) {
  int rank, size, failed = 0, counts[2], totals[2];
  MPI_File file;
  MPI_Info info;
  MPI_Request r[MANY + 1];
  alarm(100); /* collectives in wrong orders may wait for ever */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable"); /* else each process writes for itself when it can */
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_File_open(MPI_COMM_WORLD, argc > 1 ? argv[1] : "progress_files.out", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                info, &file);
  MPI_Info_free(&info);
  for (int round = 0; round < 4; round++) {
    const int beside = round >= 2, reads = round % 2;
    int sum = 0;
    for (int i = 0; i < MANY; i++) {
      const MPI_Offset at = (MPI_Offset)(rank * MANY + i) * BYTES;
      if (!reads) memset(out[i], 1 + (rank * MANY + i + round) % 100, BYTES);
      if (reads) MPI_File_iread_at_all(file, at, in[i], BYTES, MPI_BYTE, &r[i]);
      else MPI_File_iwrite_at_all(file, at, out[i], BYTES, MPI_BYTE, &r[i]);
    }
    if (beside) MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[MANY]);
    MPI_Waitall(MANY + beside, r, MPI_STATUSES_IGNORE);
    failed += beside && sum != size * (size - 1) / 2;
    failed += reads && memcmp(in, out, sizeof in) != 0;
  }
  MPI_File_iread_at(file, 0, in, 0, MPI_BYTE, &r[0]); /* nothing: complete at once */
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  counts[0] = 1, counts[1] = failed;
  MPI_Allreduce(counts, totals, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", totals[0], totals[1]);
  MPI_Finalize();
  return totals[1] != 0;
}
