/* progress_first_step.c: a broadcast by a tree over 4 processes: 0 to 2, which comes late, and 2 to 3. The data has come when 2
   starts it, and goes on to 3 though 2 calls nothing more and its worker does not wake (progress_no_wake.c).
   Argument: a file that the processes share. Prints "4 processes checked, M checks failed". */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void nap_ms(int ms) {
  const struct timespec t = {0, ms * 1000000L};
  nanosleep(&t, NULL);
}
/* until another process has set it, 10 s at most */
static int comes(const int *flag) {
  for (int i = 0; i < 10000 && !__atomic_load_n(flag, __ATOMIC_ACQUIRE); i++) nap_ms(1);
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

int main(int argc, char **argv) {
  enum { SENT, GOT, FLAGS };
  int rank, size, data, failed_count = 0, totals = 0;
  MPI_Request r;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, FLAGS * sizeof(int))) MPI_Abort(MPI_COMM_WORLD, 1);
  int *const flags = mmap(NULL, FLAGS * sizeof *flags, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (flags == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  nap_ms(20); /* workers sleep */
  data = rank ? -1 : 42;
  if (rank == 2) failed_count += !comes(&flags[SENT]);
  MPI_Ibcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD, &r);
  if (rank == 0) __atomic_store_n(&flags[SENT], 1, __ATOMIC_RELEASE);
  if (rank == 2) failed_count += !comes(&flags[GOT]);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  failed_count += data != 42;
  if (rank == 3) __atomic_store_n(&flags[GOT], 1, __ATOMIC_RELEASE);
  MPI_Reduce(&failed_count, &totals, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, totals);
  MPI_Finalize();
  return totals != 0;
}
