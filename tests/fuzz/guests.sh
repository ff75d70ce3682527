#!/bin/sh
# Random MPI programs (tests/guest_mpi/random.c) under pm_run and under MPICH, with seeds of the time of day, on 1 to 5
# processes in turn, for FUZZ_SECONDS (default 60). What differs is shown with its seed; a program in which MPICH itself
# crashes need only end under pm_run. TEST_SEED=N: the first seed.
. tests/test.sh
program=$B/tests/guest_mpi/random
GUEST_MPI_FILE=$T/file
export GUEST_MPI_FILE
if ! command -v mpiexec.mpich >/dev/null || [ ! -x "$program" ]; then
  skip "random MPI programs" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
as_mpich() { # PROCESSES SEED
  timeout 300 "$B/pm_run" -n "$1" "$program" "$2" 60 >"$T/simulated" 2>"$T/err" || { tail -3 "$T/err"; return 1; }
  timeout 300 mpiexec.mpich -genv LD_PRELOAD "$B/tests/mpi/patient.so" -n "$1" "$program" "$2" 60 >"$T/real" 2>"$T/real.err" || { crashed=$((crashed + 1)) && return; }
  grep '^[0-9]' "$T/real" | diff - "$T/simulated"
}
seed=${TEST_SEED:-$(date +%s)} crashed=0
end=$(($(date +%s) + ${FUZZ_SECONDS:-60}))
while [ "$(date +%s)" -lt "$end" ]; do
  n=$((seed % 5 + 1))
  check "seed $seed, $n processes" as_mpich $n "$seed"
  seed=$((seed + 1))
done
echo "in $crashed of these MPICH crashed"
finish
