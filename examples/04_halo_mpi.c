/* Question: my stencil code posts its halo exchange, computes the interior, then waits. Is the
   exchange hidden? An ordinary MPI program that knows nothing of this library, to look at with the
   preload; only MPI_Pcontrol names its sections.

   Run:      mpicc.mpich -O2 examples/04_halo_mpi.c -o build/halo_mpich && mpirun.mpich -n 2 \
               -genv LD_PRELOAD $PWD/build/libnbc_overlap_mpich.so build/halo_mpich
             build/overlap_report .         (make run-mpi does all of this)
   Expected: the change of the last sweep, the same with and without the preload; in the report most
             of irecv's time under "sweep" is between the bounds: the interior could hide it, but
             without progress in between it may be moved in the wait. */
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 65536, ROWS = 24, SWEEPS = 60 }; /* per process; a halo is a row of 512 KiB */

static double *row(double *grid, int y) { return grid + (size_t)y * WIDTH; }

/* One Jacobi sweep over rows first ... last; returns the largest change. */
static double sweep(double *from, double *to, int first, int last) {
  double change = 0;
  for (int y = first; y <= last; y++) {
    const double *up = row(from, y - 1), *here = row(from, y), *down = row(from, y + 1);
    double *out = row(to, y);
    for (int x = 1; x < WIDTH - 1; x++) {
      out[x] = 0.25 * (up[x] + down[x] + here[x - 1] + here[x + 1]);
      change = fmax(change, fabs(out[x] - here[x]));
    }
  }
  return change;
}

static double one_step(double *from, double *to, int up, int down) {
  MPI_Request requests[4];
  MPI_Irecv(row(from, 0), WIDTH, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(row(from, ROWS + 1), WIDTH, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(row(from, 1), WIDTH, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(row(from, ROWS), WIDTH, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[3]);
  double change = sweep(from, to, 2, ROWS - 1); /* needs no halo */
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  change = fmax(change, sweep(from, to, 1, 1));
  return fmax(change, sweep(from, to, ROWS, ROWS));
}

int main(int argc, char **argv) {
  int rank, size;
  double change = 0, largest = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  double *grid[2];
  for (int i = 0; i < 2; i++) {
    grid[i] = (double *)calloc((size_t)WIDTH * (ROWS + 2), sizeof(double));
    if (!grid[i]) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int x = 0; rank == 0 && x < WIDTH; x++) grid[i][x] = 1; /* the upper edge is hot */
  }
  MPI_Pcontrol(2, "sweep");
  for (int i = 0; i < SWEEPS; i++) change = one_step(grid[i % 2], grid[1 - i % 2], up, down);
  MPI_Pcontrol(-2);
  MPI_Pcontrol(2, "check");
  MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Pcontrol(-2);
  if (rank == 0) printf("change in sweep %d: %.9f\n", SWEEPS, largest);
  free(grid[0]);
  free(grid[1]);
  MPI_Finalize();
  return 0;
}
