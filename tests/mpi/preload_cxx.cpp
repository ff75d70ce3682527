// A C++ program: its MPI calls and, where the MPI still has them, the MPI:: bindings; an exception
// crosses frames that use MPI.
#include <mpi.h>
#include <cstdio>
#include <stdexcept>
#include <vector>

struct session {
  session(int *argc, char ***argv) { MPI_Init(argc, argv); }
  ~session() { MPI_Finalize(); }
};

static void exchange(int rank, int size, std::vector<double> &in, const std::vector<double> &out) {
  MPI_Request q[2];
  MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_DOUBLE, (rank + size - 1) % size, 1,
            MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, (rank + 1) % size, 1,
            MPI_COMM_WORLD, &q[1]);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  throw std::runtime_error("exchanged");
}

int main(int argc, char **argv) {
  session mpi(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<double> out(500, rank + 0.5), in(500);
  try {
    exchange(rank, size, in, out);
  } catch (const std::exception &e) {
    std::printf("%d %s %g\n", rank, e.what(), in[499]);
  }
  double sum = 0;
#ifdef TEST_MPI_CXX
  MPI::COMM_WORLD.Allreduce(&in[0], &sum, 1, MPI::DOUBLE, MPI::SUM);
#else
  MPI_Allreduce(&in[0], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#endif
  std::printf("%d sum %g\n", rank, sum);
  return 0;
}
