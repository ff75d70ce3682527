#!/bin/sh
# Collectives on the MPI transport against the MPI's own, with Open MPI and MPICH: 1 to 17 processes.
. tests/test.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
results() { # MPI PROCESSES LEVEL
  timeout -k 5 200 "mpirun.$1" -n "$2" "$B/tests/mpi/coll_results.$1" "$3"
}
sweep() { # MPI: a tiny sweep of bench_nbc; the numbers are not judged
  rm -f "$T/$1.json"
  OMPI_MCA_hwloc_base_binding_policy=none timeout -k 5 100 "mpirun.$1" -n 2 "$B/bench_nbc.$1" --min-us 200 --max-us 400 --reps 2 \
    --max-mib 4 --coll allreduce,alltoallv --policy mpi,none,dedicated --json "$T/$1.json" &&
    [ "$(grep -c '"policy": "mpi"' "$T/$1.json")" -eq 8 ] && [ "$(grep -c '"coll"' "$T/$1.json")" -eq 24 ]
}
for mpi in openmpi mpich; do
  if ! command -v "mpirun.$mpi" >/dev/null || [ ! -x "$B/tests/mpi/coll_results.$mpi" ]; then
    skip "collectives over $mpi" "no mpirun.$mpi or mpicc.$mpi"
    continue
  fi
  for n in 1 2 3 5; do check "$mpi, $n processes, engine and none" results $mpi $n 3; done
  check "$mpi, 8 processes, MPI_THREAD_SERIALIZED" results $mpi 8 2
  check "$mpi, 17 processes, MPI_THREAD_FUNNELED" results $mpi 17 1
  check "$mpi, bench_nbc" sweep $mpi
done
finish
