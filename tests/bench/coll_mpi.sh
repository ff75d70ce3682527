#!/bin/sh
# coll_<name>_<bytes>_<mpi>: see coll_mpi.c; 2 processes. overlap_<name>_<policy>: overhead ratio of bench_nbc
# where communication and computation take 4 ms each (0: hidden, 1: as one after the other).
B=${B:-build} regex=${1:-.}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
for mpi in openmpi mpich; do
  program=$B/bench/coll_mpi.$mpi
  [ -x "$program" ] && command -v "mpirun.$mpi" >/dev/null && timeout 300 "mpirun.$mpi" -n 2 "$program" "$regex" "$mpi"
done
for coll in allreduce alltoall bcast; do
  for policy in none dedicated timer idle; do
    name=overlap_${coll}_$policy
    echo "$name" | grep -qE -- "$regex" || continue
    timeout 120 "$B/bench_nbc" --policy "$policy" --point "$coll" 4000 4000 --reps 7 --oversample 3 --json "$B/bench/$name.json" >/dev/null &&
      sed -n "s/.*\"overhead_ratio\": \([^,]*\),.*/{\"bench\":\"$name\",\"value\":\1,\"unit\":\"ratio\"}/p" "$B/bench/$name.json"
  done
done
exit 0
