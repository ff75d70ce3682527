#!/bin/sh
# What `make run-progress` does: does the progress preload help, here? Two ordinary MPI programs, a stencil
# (examples/04_halo_mpi.c) and the OSU tests' loops (tests/bench/progress_loops.c), two processes: without, with, and
# what overlap_report says changed; then the loops on simulated nodes, which have cores enough. Everything lands in $B/run-progress.
# Usage: B=build tools/run_progress.sh
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
B=$(cd "${B:-build}" && pwd) || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1
if [ -x "$B/halo_mpich" ] && command -v mpirun.mpich >/dev/null; then mpi=mpich s=mpich
elif [ -x "$B/halo_mpi" ] && command -v mpirun.openmpi >/dev/null; then mpi=openmpi s=mpi
else echo "run-progress: no MPI here: skipped (make deps installs one)"; exit 0; fi
rm -rf "$B/run-progress"
mkdir -p "$B/run-progress/without" "$B/run-progress/with"
cd "$B/run-progress" || exit 1
how='a core of its own for each'
if [ "$(nproc)" -lt 4 ] && [ -z "$NBC_PROGRESS$NBC_PROGRESS_CORE" ]; then
  export NBC_PROGRESS=timer # fewer cores than two processes and two workers
  how='woken by a timer: 4 cores are needed for more'
fi
see=$B/libnbc_overlap_$s.so get=$B/libnbc_progress_$s.so
run() { timeout -k 5 120 "mpirun.$mpi" -n 2 env "$@"; }
echo "Two programs, unedited, with two processes: a stencil, and loops like those of the OSU tests; without the progress preload"
echo "and with it, then the loops on 16 simulated nodes. About a minute where nothing else runs; all files: ${B##*/}/run-progress."
echo "== a stencil under $mpi, 2 processes, measured without and with the progress preload =="
run "LD_PRELOAD=$see" "NBC_REPORT_DIR=$PWD/without" "$B/halo_$s" >without.txt || exit 1
run "LD_PRELOAD=$see $get" "NBC_REPORT_DIR=$PWD/with" "$B/halo_$s" >with.txt || exit 1
cmp without.txt with.txt || { echo "run-progress: the stencil's results differ"; exit 1; }
"$B/overlap_report" --no-html --diff without with || exit 1
echo "== loops that start, compute and wait: overhead ratio (0: hidden, 1: one after the other) =="
run _=_ "$B/bench/progress_loops.$mpi" loops >loops_without.txt || exit 1
run "LD_PRELOAD=$get" NBC_PROGRESS_SAY=0 "$B/bench/progress_loops.$mpi" loops >loops_with.txt || exit 1
paste loops_without.txt loops_with.txt | awk '
  { printf "%-12s %6.2f without, %6.2f with\n", $1, $2, $6; n++; if ($6 < $2) better++; before += $4; after += $8 }
  END { printf "\nWith the preload %d of %d loops hide more of their communication, and all of them together take %.0f %% of their time without%s. ", better, n, 100 * after / before,
          (after > before ? ": on these cores, with what else runs on them, it does not pay" : "") }'
if [ $mpi = mpich ] && [ -x "$B/bench/pm_run" ]; then
  echo
  echo "== the same loops, unedited, on 16 simulated nodes (pm_run --progress) =="
  echo 'compute m=1 mnk=1e-9' >kernels # a turn of their loop takes 1 ns there, as in make bench
  for policy in calls timer dedicated; do
    echo "   progress by $policy ..."
    timeout -k 5 300 "$B/bench/pm_run" -n 16 --kernels kernels --progress $policy "$B/bench/progress_loops.mpich" loops >"sim_$policy.txt" 2>/dev/null || exit 1
  done
  paste sim_calls.txt sim_timer.txt sim_dedicated.txt | awk '
    { printf "%-12s %6.2f inside calls only, %6.2f with a timer of 2 ms, %6.2f with a core of its own\n", $1, $2, $6, $10 }'
  echo
fi
printf 'The stencil gives the same result; the workers were %s.\n' "$how"
