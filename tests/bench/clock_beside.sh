#!/bin/sh
# clock_beside_<seconds>_<mpi>, clock_beside_outside_<mpi>: see clock_beside.c; 2 processes, half a minute for each MPI.
B=${B:-build}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
for mpi in openmpi mpich; do
  program=$B/bench/clock_beside.$mpi
  [ -x "$program" ] && command -v "mpirun.$mpi" >/dev/null || continue
  timeout 300 "mpirun.$mpi" -n 2 "$program" . "$mpi" | grep -E -- "\"bench\":\"[^\"]*(${1:-.})"
done
exit 0
