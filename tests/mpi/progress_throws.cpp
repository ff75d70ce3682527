// progress_throws.cpp: error handlers that throw C++ exceptions through the MPI's call: the program goes on, and what the
// handlers say about the error is right. Where the MPI has C++ bindings, theirs do the same.
#include <mpi.h>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>

static int rank, size, failed;
static void good(bool is_true, const char *what, int got) {
  if (!is_true && failed++ < 9) std::printf("  rank %d: %s: %d\n", rank, what, got);
}
struct wrong : std::runtime_error {
  int code;
  explicit wrong(int c) : std::runtime_error("wrong"), code(c) {}
};
extern "C" void throws(MPI_Comm *, int *code, ...) { throw wrong(*code); }
extern "C" void *other_thread(void *) {
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  good(sum == rank, "another thread", sum);
  return nullptr;
}
static void still_works() {
  int sum = 0;
  MPI_Request request;
  pthread_t thread;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  good(sum == size * (size - 1) / 2, "a sum afterwards", sum);
  pthread_create(&thread, nullptr, other_thread, nullptr);
  pthread_join(thread, nullptr);
}
template <typename call> static void wrong_call(call c, int expected, const char *name) {
  int caught = 0, error = -1;
  try {
    c();
  } catch (const wrong &w) {
    caught++;
    MPI_Error_class(w.code, &error);
  }
  good(caught == 1, name, caught);
  good(error == expected, name, error);
  still_works();
}
#if defined(MPICH) && defined(MPI_VERSION) && !defined(MPICH_SKIP_MPICXX)
#  define HAS_BINDINGS 1
static void throws_cxx(MPI::Comm &comm, int *code, ...) {
  good(comm.Get_size() == size, "a binding's handler has its communicator", comm.Get_size());
  throw wrong(*code);
}
#endif

int main(int argc, char **argv) {
  int level, all = 0, coords = 0;
  MPI_Errhandler handler;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_create_errhandler(throws, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int round = 0; round < 3; round++) {
    wrong_call([] { MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD); }, MPI_ERR_RANK, "MPI_Send");
    wrong_call([&] { MPI_Cart_coords(MPI_COMM_WORLD, 0, 1, &coords); }, MPI_ERR_TOPOLOGY, "MPI_Cart_coords");
  }
#ifdef HAS_BINDINGS
  MPI::Comm::Errhandler_function *const function = throws_cxx;
  MPI::Errhandler of_binding = MPI::Comm::Create_errhandler(function);
  MPI::COMM_WORLD.Set_errhandler(of_binding);
  for (int round = 0; round < 3; round++)
    wrong_call([] { MPI::COMM_WORLD.Send(&rank, 1, MPI::INT, size, 0); }, MPI_ERR_RANK, "MPI::Comm::Send");
  MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);
  of_binding.Free();
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d processes checked, %d checks failed\n", size, all);
  MPI_Finalize();
  return 0;
}
