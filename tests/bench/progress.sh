#!/bin/sh
# progress_idle_cpu_<mpi>: share of a core that the worker uses while nothing is in flight for a second;
# progress_wake_ns_<mpi>: from a post to the sleeping worker's first instruction, median of 200; one process; peer: the
# machine's own floor, a thread that sleeps, is woken by the same system call alone and looks on as long, in turns with it.
# progress_step_ns_<mpi>: in the same runs, until who posted had itself looked in at the MPI.
# progress_<pattern>_<who>_<mpi>: overhead ratio of tests/bench/progress_loops.c, two processes: the MPI alone (mpi),
# with MPICH's asynchronous thread (async), with the progress preload (ours), with its collectives too
# (ours-coll). progress_<pattern>_sim_<policy>: the same program on 16 simulated nodes with cores enough, under
# pm_run --progress calls, timer (of 2 ms) or dedicated; there a turn of its loop takes 1 ns. With fewer than 4 cores the workers share the processes' cores: the ratios then say little.
B=$(cd "${B:-build}" && pwd) regex=${1:-.}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1
patterns='isend_irecv iallreduce ialltoall ibcast iallgather rput'
line() { echo "$1" | grep -qE -- "$regex" && printf '{"bench":"%s","value":%s,"unit":"%s"}\n' "$1" "$2" "$3"; }
wanted() { for name in "$@"; do echo "$name"; done | grep -qE -- "$regex"; }
# run MPI LIBRARY-OR-NOTHING PROCESSES [SETTINGS...] MODE
run() {
  mpi=$1 preload=${2:+LD_PRELOAD=$2} n=$3
  shift 3
  mode=$1
  timeout 120 "mpirun.$mpi" -n "$n" env $preload $settings "$B/bench/progress_loops.$mpi" "$mode"
}
worker="NBC_PROGRESS_SAY=0"
[ "$(nproc)" -lt 4 ] && worker="$worker NBC_PROGRESS=dedicated NBC_PROGRESS_CORE=0,1"
for mpi in openmpi mpich; do
  library=$B/libnbc_progress_mpi.so
  [ $mpi = mpich ] && library=$B/libnbc_progress_mpich.so
  [ -e "$library" ] && [ -x "$B/bench/progress_loops.$mpi" ] && command -v "mpirun.$mpi" >/dev/null || continue
  settings=NBC_PROGRESS_SAY=2
  if wanted progress_idle_cpu_$mpi; then
    share=$(run $mpi "$library" 1 idle 2>&1 | sed -n 's/.* used \([0-9.]*\) s of \([0-9.]*\) s.*/\1 \2/p' | awk '{ printf "%.5f", $1 / $2 }')
    [ -n "$share" ] && line progress_idle_cpu_$mpi "$share" ratio
  fi
  if wanted progress_wake_ns_$mpi progress_step_ns_$mpi; then
    run $mpi "$library" 1 wake >"$B/bench/progress.wake" 2>&1
    step=$(sed -n 's/.*had looked in after \([0-9]*\) ns.*/\1/p' "$B/bench/progress.wake")
    [ -n "$step" ] && line progress_step_ns_$mpi "$step" ns
    wanted progress_wake_ns_$mpi && sed -n 's/.*median \([0-9]*\) ns after the post.*/ours \1/p; s/^bare /bare /p' "$B/bench/progress.wake" | awk -v name=progress_wake_ns_$mpi '
      { is[$1] = $2 }
      END { if (is["ours"] && is["bare"]) printf "{\"bench\":\"%s\",\"value\":%d,\"unit\":\"ns\",\"peer\":%d,\"ratio\":%.3g,\"peer_name\":\"a bare futex wake\"}\n",
              name, is["ours"], is["bare"], is["ours"] / is["bare"] }'
  fi
  for who in mpi async ours ours-coll; do
    names=$(for p in $patterns; do echo "progress_${p}_${who}_$mpi"; done)
    # shellcheck disable=SC2086 # names are words
    wanted $names || continue
    use=$library
    case $who,$mpi in
      mpi,*) use='' settings=_=_ ;;
      async,mpich) use='' settings=MPICH_ASYNC_PROGRESS=1 ;;
      async,*) continue ;;
      ours,*) settings=$worker ;;
      ours-coll,*) settings="$worker NBC_COLLECTIVES=ours" ;;
    esac
    run $mpi "$use" 2 loops 2>/dev/null | while read -r pattern ratio _; do
      case " $patterns " in *" $pattern "*) line "progress_${pattern}_${who}_$mpi" "$ratio" ratio ;; esac
    done
  done
done
for policy in calls timer dedicated; do
  names=$(for p in $patterns; do echo "progress_${p}_sim_$policy"; done)
  # shellcheck disable=SC2086 # names are words
  wanted $names && [ -x "$B/bench/progress_loops.mpich" ] && [ -x "$B/bench/pm_run" ] || continue
  echo 'compute m=1 mnk=1e-9' >"$B/bench/progress.kernels"
  timeout 300 "$B/bench/pm_run" -n 16 --kernels "$B/bench/progress.kernels" --progress $policy "$B/bench/progress_loops.mpich" loops 2>/dev/null |
    while read -r pattern ratio _; do
      case " $patterns " in *" $pattern "*) line "progress_${pattern}_sim_$policy" "$ratio" ratio ;; esac
    done
done
exit 0
