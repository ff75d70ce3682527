#!/bin/sh
# The command clock_sync: on threads and on the MPIs that are there; bad arguments are refused.
. tests/test.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

watched() { # RANKS COMMAND...: looks at every rank but the first, every bound held, and what it assumes
  ranks=$1 && shift
  timeout -k 5 300 "$@" -d -w 0.5 -t 0.6 -i 0.05 >"$T/out" && cat "$T/out" &&
    test "$(grep -c ' held$' "$T/out")" = $((12 * (ranks - 1))) && ! grep -q BROKEN "$T/out" || return 1
  [ "$ranks" = 1 ] || { test "$(grep -c 'if that is all it ever does' "$T/out")" = $((ranks - 1)) && grep -q 'more than 0.5 ppm per second' "$T/out"; }
}
is_one() { # RANKS COMMAND...: ranks that read one counter, which is said, and a bound of 0
  ranks=$1 && shift
  timeout -k 5 300 "$@" -t 0.1 -i 0.05 >"$T/out" && cat "$T/out" && grep -q "^$((ranks - 1)) ranks* reads* rank 0's counter" "$T/out" &&
    test "$(grep -c 'had grown to 0 ns, now 0 ns' "$T/out")" = $((2 * (ranks - 1))) && ! grep -q assumed "$T/out"
}
refused() { timeout 60 "$B/clock_sync" "$@" >"$T/out" 2>&1; test $? = 2 && grep -q -- "^clock_sync: $1: " "$T/out"; }

helps() { timeout 60 "$@" --help >"$T/out" 2>"$T/err" && grep -q '^usage: .*-w PPM' "$T/out" && test ! -s "$T/err"; }

check "help is no error" helps "$B/clock_sync"
check "three threads" watched 3 "$B/clock_sync" -n 3
check "one thread" watched 1 "$B/clock_sync" -n 1
check "threads read one counter" is_one 2 "$B/clock_sync" -n 2
for arguments in '-n 0' '-n 2.5' '-n 1e9' '-n x' '-t -1' '-t nan' '-i 0' '-i' '-w -1' '-w x' '--hlp'; do
  check "refused: $arguments" refused $arguments
done
for mpi in openmpi mpich; do
  program=$B/clock_sync_mpi && [ $mpi = mpich ] && program=$B/clock_sync_mpich
  if command -v mpirun.$mpi >/dev/null && [ -x "$program" ]; then
    check "three processes, $mpi" watched 3 mpirun.$mpi -n 3 "$program"
    check "processes of this machine read one counter, $mpi" is_one 3 mpirun.$mpi -n 3 "$program"
  else
    skip "three processes, $mpi" "no mpirun.$mpi or mpicc.$mpi"
  fi
done
finish
