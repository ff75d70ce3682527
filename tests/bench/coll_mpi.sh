#!/bin/sh
# coll_<name>_<bytes>_<mpi>: see coll_mpi.c; 2 processes. overlap_<name>_<policy>: overhead ratio of bench_nbc
# where communication and computation take 4 ms each (0: hidden, 1: as one after the other).
B=${B:-build} regex=${1:-.}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
value() { # NAME: the overhead ratio in its JSON
  sed -n "s/.*\"overhead_ratio\": \([^,]*\),.*/{\"bench\":\"$1\",\"value\":\1,\"unit\":\"ratio\"}/p" "$B/bench/$1.json"
}
for mpi in openmpi mpich; do
  program=$B/bench/coll_mpi.$mpi
  [ -x "$program" ] && command -v "mpirun.$mpi" >/dev/null && timeout 300 "mpirun.$mpi" -n 2 "$program" "$regex" "$mpi"
done
for coll in allreduce alltoall bcast; do
  for policy in none dedicated timer idle; do
    name=overlap_${coll}_$policy
    echo "$name" | grep -qE -- "$regex" || continue
    timeout 120 "$B/bench_nbc" --policy "$policy" --point "$coll" 4000 4000 --reps 7 --oversample 3 --json "$B/bench/$name.json" >/dev/null &&
      value "$name"
  done
  # on MPICH: its own collective without and with its asynchronous thread, and ours with a dedicated core
  for policy in mpi mpi-async mpi-dedicated; do
    name=overlap_${coll}_$policy program=$B/bench_nbc.mpich
    echo "$name" | grep -qE -- "$regex" && [ -x "$program" ] && command -v mpirun.mpich >/dev/null || continue
    async= own=mpi
    [ $policy = mpi-async ] && async=1
    [ $policy = mpi-dedicated ] && own=dedicated
    MPICH_ASYNC_PROGRESS=${async:-0} timeout 120 mpirun.mpich -n 2 "$program" --policy $own --point "$coll" 4000 4000 --reps 7 --oversample 3 \
      --json "$B/bench/$name.json" >/dev/null && value "$name"
  done
done
exit 0
