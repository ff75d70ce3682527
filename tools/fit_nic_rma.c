/* Question: what do puts and gets take here, one by one and in batches?

   Run:      mpirun -n 2 build/fit_nic_mpi RAW [BYTES [SECONDS]]         over MPI RMA, rank 0 to the last rank
             oshrun -n 2 build/fit_nic_shmem RAW [BYTES [SECONDS]]       over OpenSHMEM
                BYTES: largest message (1048576), SECONDS: limit per size and direction (0.1)
   Expected: RAW holds lines "bytes seconds routine" for build/fit_nic: put_nbi full and get_nbi full are one
             request until it is done at the other side, post is what one more of a batch of 16 takes. */
#include "nbc_overlap.h" /* its version */
#include "tools/options.h"
#include "tools/output.h"
#include <stdint.h>
#include <string.h>
#include <time.h>
#ifdef NBC_WITH_SHMEM
#  include <shmem.h>
#else
#  include <mpi.h>
#endif

enum { POSTS = 16, LEAST = 5, MOST = 200 };
static char *local, *remote;
static int rank, size;

#ifdef NBC_WITH_SHMEM
static bool begin(int *argc, char ***argv, size_t bytes) {
  (void)argc, (void)argv;
  if (!bytes) {
    shmem_init();
    rank = shmem_my_pe(), size = shmem_n_pes();
    return true;
  }
  remote = (char *)shmem_calloc(bytes, 1);
  return remote != NULL;
}
static void barrier(void) { shmem_barrier_all(); }
static void end(void) { shmem_finalize(); }
static void give_up(int status) { shmem_global_exit(status); }
static void move(bool is_get, size_t bytes) {
  if (is_get)
    shmem_getmem_nbi(local, remote, bytes, size - 1);
  else
    shmem_putmem_nbi(remote, local, bytes, size - 1);
}
static void finish(void) { shmem_quiet(); }
#else
static MPI_Win window;
static bool begin(int *argc, char ***argv, size_t bytes) {
  if (!bytes) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    return true;
  }
  MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &remote, &window);
  return MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS;
}
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void end(void) {
  if (remote) MPI_Win_unlock_all(window), MPI_Win_free(&window);
  MPI_Finalize();
}
static void give_up(int status) { MPI_Abort(MPI_COMM_WORLD, status); }
static void move(bool is_get, size_t bytes) {
  if (is_get)
    MPI_Get(local, (int)bytes, MPI_BYTE, size - 1, 0, (int)bytes, MPI_BYTE, window);
  else
    MPI_Put(local, (int)bytes, MPI_BYTE, size - 1, 0, (int)bytes, MPI_BYTE, window);
}
static void finish(void) { MPI_Win_flush(size - 1, window); }
#endif

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double batch_s(bool is_get, size_t bytes, int count) {
  const double t_s = now_s();
  for (int i = 0; i < count; i++) move(is_get, bytes);
  finish();
  return now_s() - t_s;
}
static void measure(FILE *out, size_t most, double limit_s) {
  for (size_t bytes = 1; bytes <= most; bytes *= 2)
    for (int k = 0; k < 2; k++) {
      const bool is_get = k > 0;
      const char *what = is_get ? "get" : "put";
      const double begin_s = now_s();
      batch_s(is_get, bytes, POSTS); /* nobody's first */
      for (int i = 0; i < LEAST || (i < MOST && now_s() < begin_s + limit_s); i++) {
        const double one_s = batch_s(is_get, bytes, 1), all_s = batch_s(is_get, bytes, POSTS);
        fprintf(out, "%zu %.9e %s_nbi full\n%zu %.9e %s_nbi post\n", bytes, one_s, what, bytes,
                (all_s - one_s) / (POSTS - 1), what);
      }
    }
}
int main(int argc, char **argv) {
  const option options[] = {{0}};
  const command_line command = {
      "usage: mpirun -n 2 fit_nic_mpi RAW [BYTES [SECONDS]]\n"
      "Measures puts and gets between the first and the last process; RAW gets lines \"bytes "
      "seconds routine\" for fit_nic.\n"
      "  BYTES    the largest message (1048576)\n"
      "  SECONDS  limit per size and direction (0.1)\n",
      options, NULL};
  double limit_s = 0.1;
  int64_t most = 1048576;
  FILE *out = NULL;
  int bad = 0;
  output_begin("fit_nic_rma");
  const int count = options_read(&command, argc, argv);
  const bool is_good = count >= 1 && count <= 3 &&
                       (count < 2 || number_whole(argv[2], 1, 1 << 30, &most)) &&
                       (count < 3 || number_real(argv[3], 0, 1e6, &limit_s));
  const char *const raw = argv[1];
  begin(&argc, &argv, 0);
  if (!is_good || size < 2) {
    if (rank == 0)
      fprintf(stderr,
              "fit_nic_rma: two processes or more, and: RAW [BYTES [SECONDS]], 1 to 2^30 bytes\n");
    end();
    return 2;
  }
  local = (char *)calloc(1, (size_t)most);
  if (rank == 0 && !(out = output_create(raw))) give_up(1);
  if (!begin(&argc, &argv, (size_t)most) || !local) {
    fprintf(stderr, "fit_nic_rma: no memory of %lld bytes\n", (long long)most);
    give_up(1);
  }
  barrier();
  if (out) {
    fprintf(out, "# bytes seconds routine\n");
    measure(out, (size_t)most, limit_s);
    bad = !output_close(out, raw);
  }
  barrier();
  end();
  free(local);
  return bad;
}
