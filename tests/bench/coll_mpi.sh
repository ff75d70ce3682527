#!/bin/sh
# coll_<name>_<bytes>_<mpi>: see coll_mpi.c; 2 processes. overlap_<name>_<policy>: overhead ratio of bench_nbc
# where communication and computation take 4 ms each (0: hidden, 1: as one after the other), ranks are threads.
# overlap_<name>_<implementation>_<mpi>: the same side by side in one run, by the MPI itself (mpi, mpi-async
# with its asynchronous thread) and by this library on it; impact_...: what the idle MPI costs the computation.
B=${B:-build} regex=${1:-.}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
for mpi in openmpi mpich; do
  program=$B/bench/coll_mpi.$mpi
  [ -x "$program" ] && command -v "mpirun.$mpi" >/dev/null && timeout 300 "mpirun.$mpi" -n 2 "$program" "$regex" "$mpi"
done
# FIELD PREFIX SUFFIX FILE: one line per point of the JSON file, named PREFIX_<column>SUFFIX
lines() {
  sed -n "s/.*\"impl\": \"\([^\"]*\)\", \"policy\": \"\([^\"]*\)\".*\"$1\": \([0-9.e+-]*\).*/$2_\1-\2$3 \3/p" "$4" |
    sed 's/_ours-threads-/_/; s/-own\([_ ]\)/\1/' | grep -E -- "$regex" |
    sed 's/\(.*\) \(.*\)/{"bench":"\1","value":\2,"unit":"ratio"}/'
}
# PREFIXES SUFFIX COLUMNS...: does any name match?
wanted() {
  prefixes=$1 suffix=$2
  shift 2
  for prefix in $prefixes; do for column in "$@"; do echo "${prefix}_$column$suffix"; done; done | grep -qE -- "$regex"
}
for coll in allreduce alltoall bcast; do
  json=$B/bench/overlap_$coll.json
  if wanted "overlap_$coll" '' none dedicated timer idle; then
    timeout 200 "$B/bench_nbc" --policy none,dedicated,timer,idle --point $coll 4000 4000 --reps 7 --oversample 3 --json "$json" >/dev/null &&
      lines overhead_ratio overlap_$coll '' "$json"
  fi
  for mpi in openmpi mpich; do
    command -v "mpirun.$mpi" >/dev/null && [ -x "$B/bench_nbc.$mpi" ] || continue
    impls=mpi,ours-mpi
    [ $mpi = mpich ] && impls=mpi,mpi-async,ours-mpi
    if wanted "overlap_$coll impact_$coll" _$mpi mpi mpi-async ours-mpi-none ours-mpi-dedicated; then
      timeout 300 "$B/bench_nbc" --mpi $mpi --impl $impls --point $coll 4000 4000 --reps 7 --oversample 3 --json "$json" >/dev/null &&
        lines overhead_ratio overlap_$coll _$mpi "$json" && lines mpi_impact_ratio impact_$coll _$mpi "$json"
    fi
  done
done
exit 0
