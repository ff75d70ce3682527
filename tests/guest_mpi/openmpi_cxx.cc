// What programs of Open MPI do beside the test set: MPI of C++, and buffers handed twice to a collective, which
// Open MPI takes.
#include <mpi.h>
#include <cstdio>

static void larger_even(const void *in, void *inout, int count, const MPI::Datatype &type) {
  const int *a = static_cast<const int *>(in);
  int *b = static_cast<int *>(inout);
  for (int i = 0; i < count && type.Get_size() == sizeof(int); i++)
    if (a[i] % 2 == 0 && (b[i] % 2 || a[i] > b[i])) b[i] = a[i];
}
static int copies, deletions, seen;
static int copied(const MPI::Comm &, int, void *extra, void *in, void *out, bool &flag) {
  copies += extra == &copies;
  *static_cast<void **>(out) = in;
  flag = true;
  return MPI::SUCCESS;
}
static int deleted(MPI::Comm &, int, void *, void *) { return deletions++, MPI::SUCCESS; }
static void on_error(MPI::Comm &comm, int *code, ...) { seen += comm.Get_size() > 0 && MPI::Get_error_class(*code) == MPI::ERR_RANK; }

static void aliases(int me, int n) {
  int v[4] = {me, me + 1, me + 2, me + 3}, all[64], code[2];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  code[0] = MPI_Allreduce(v, v, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD); // these two are refused
  code[1] = me ? MPI_ERR_ARG : MPI_Reduce(v, v, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  std::printf("%d: refused %d %d\n", me, code[0], code[1]);
  MPI_Scan(v, v, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("%d: sums %d %d %d %d\n", me, v[0], v[1], v[2], v[3]);
  for (int i = 0; i < n; i++) all[i] = i == me ? me * me : -1;
  MPI_Allgather(all + me, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Gather(all + me, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::printf("%d: all %d %d\n", me, all[0], all[n - 1]);
}
int main(int argc, char **argv) {
  MPI::Init(argc, argv);
  const int me = MPI::COMM_WORLD.Get_rank(), n = MPI::COMM_WORLD.Get_size();
  int sum = 0, even = 0, from = -1;
  MPI::COMM_WORLD.Allreduce(&me, &sum, 1, MPI::INT, MPI::SUM);
  MPI::Op op;
  op.Init(larger_even, true);
  MPI::COMM_WORLD.Allreduce(&me, &even, 1, MPI::INT, op);
  op.Free();
  MPI::Status status;
  MPI::Request request = MPI::COMM_WORLD.Irecv(&from, 1, MPI::INT, MPI::ANY_SOURCE, 1);
  MPI::COMM_WORLD.Send(&me, 1, MPI::INT, (me + 1) % n, 1);
  request.Wait(status);
  MPI::Intracomm half = MPI::COMM_WORLD.Split(me % 2, me);
  const int key = MPI::Comm::Create_keyval(copied, deleted, &copies);
  half.Set_attr(key, &sum);
  MPI::Intracomm again = half.Dup();
  void *value = NULL;
  const bool is_there = again.Get_attr(key, &value) && value == &sum;
  MPI::Errhandler handler = MPI::Comm::Create_errhandler(on_error);
  again.Set_errhandler(handler);
  again.Send(&me, 1, MPI::INT, n + 5, 1);
  again.Free();
  std::printf("%d: sum %d even %d from %d %d half %d attribute %d copied %d deleted %d seen %d\n", me, sum, even, from, status.Get_source(),
              half.Get_size(), is_there, copies, deletions, seen);
  half.Free();
  aliases(me, n);
  MPI::Finalize();
}
