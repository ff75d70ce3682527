#!/bin/sh
# The command clock_sync: on threads and on the MPIs that are there; bad arguments are refused.
. tests/test.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

watched() { # RANKS COMMAND...: two looks at every rank but the first, and every bound held
  ranks=$1 && shift
  timeout -k 5 120 "$@" -t 0.1 -i 0.05 >"$T/out" && cat "$T/out" &&
    test "$(grep -c ' held$' "$T/out")" = $((2 * (ranks - 1))) && ! grep -q BROKEN "$T/out"
}
refused() { timeout 20 "$B/clock_sync" "$@" >"$T/out" 2>&1; test $? = 2 && grep -q usage "$T/out"; }

check "three threads" watched 3 "$B/clock_sync" -n 3
check "one thread" watched 1 "$B/clock_sync" -n 1
check "clocks believed to be one" watched 2 "$B/clock_sync" -b
for arguments in '-n 0' '-n 1e9' '-n x' '-t -1' '-t nan' '-i 0' '-i' '--help'; do
  check "refused: $arguments" refused $arguments
done
for mpi in openmpi mpich; do
  program=$B/clock_sync_mpi && [ $mpi = mpich ] && program=$B/clock_sync_mpich
  if command -v mpirun.$mpi >/dev/null && [ -x "$program" ]; then check "three processes, $mpi" watched 3 mpirun.$mpi -n 3 "$program"
  else skip "three processes, $mpi" "no mpirun.$mpi or mpicc.$mpi"; fi
done
finish
