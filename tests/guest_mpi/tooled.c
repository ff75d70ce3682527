/* Linked with a tool behind MPI's profiling interface (tool.c), which comes before the MPI: it is asked, by name too (tooled_late:
   behind the MPI, nobody asks it); who
   opens the MPI finds the MPI's own. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char *file_of(void *function) {
  Dl_info info;
  return function && dladdr(function, &info) && strstr(info.dli_fname, "libtool") ? "the tool" : "another";
}
int main(int argc, char **argv) {
  int rank, n, got = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % n, 0, &got, 1, MPI_INT, (rank + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    void *const mpi = dlopen("libmpich.so.12", RTLD_NOW);
    printf("sum %d, all ask %s, the MPI is %s\n", sum, file_of(dlsym(RTLD_DEFAULT, "MPI_Allreduce")), file_of(mpi ? dlsym(mpi, "MPI_Allreduce") : NULL));
    printf("behind it is %s\n", file_of(dlsym(RTLD_DEFAULT, "PMPI_Allreduce")));
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
