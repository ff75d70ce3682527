#!/bin/sh
# Runs the test programs and scripts given as arguments; each ends with the line "N passed, N failed,
# N skipped". Adds these up and ends with the same line. A program that crashes or prints no such line counts as
# failed, and so does one that hangs past TEST_TIMEOUT seconds (default 1,800: far more than any needs). What
# failed, and why, stands just before the last line.
# Four lanes, each one test after the other: processes of an MPI have one; what starts other ranks, threads or sockets
# has one, with some tests of MPIs, so that both take alike. What one core is enough for waits in a queue, the longest
# first: two lanes take from it and yield the cores to the other two, which take from it too when their own tests are
# done. TEST_LANES=1: all in one lane.
# aarch64 programs are run by qemu, with a tenth of the random cases, those of a sanitizer with three of ten (TEST_EFFORT=100:
# all); an argument "skip:NAME: REASON" counts as skipped.
# Lines of coverage are shown. Logs: $B/log/NAME.log. Usage: B=build tests/run.sh PROGRAM...
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
B=${B:-build}
limit=${TEST_TIMEOUT:-1800}
[ "$(nproc)" -gt 1 ] || TEST_LANES=1
lane_of() { # PROGRAM, as it is named in a log: ranks, hosts, queue, or end: looks at what others leave behind
  case $1 in
    mpi-preload_life* | mpi-preload_truth* | mpi-preload_finish* | mpi-preload_both*) echo hosts ;;
    mpi-*) echo ranks ;;
    rtl-coverage.sh) echo end ;;
    clock-bench_rma* | coll-thread_sanitizer*) echo queue ;; # one is in no hurry, the other compiles
    hw-* | transport-* | tsan-* | clock-*.sh | coll-*.sh) echo hosts ;;
    *) echo queue ;;
  esac
}
# A long test that begins last is waited for by all.
is_long() { # PROGRAM
  case $1 in
    mpi-progress.sh | mpi-coll.sh | mpi-transport.sh | mpi-preload_life.sh | mpi-preload_truth.sh) ;;
    headers-header_* | rtl-proofs.sh | clock-bench_rma* | tree-packaging.sh | rtl-two_nics | rtl-hostile_input) ;;
    guest_mpi-semantics.sh | guest_mpi-replay.sh | tree-out_of_memory.sh | model-traces_are_equal.sh | rtl-level_compare.sh) ;;
    rtl-lists | rtl-faults_lose_nothing | coll-schedules_are_proved | mutate-*) ;;
    *) return 1 ;;
  esac
}
export OMPI_MCA_ess_singleton_isolated=1 # see tests/mpi/preload_common.sh
# PMIx 4.2 can lose the word that a process ends (seen in one of some 5,000 runs): 2 s later mpirun takes its end for a wrong one.
export OMPI_MCA_orte_allowed_exit_without_sync=1
[ -d /sys/class/infiniband ] || export OMPI_MCA_pml=ob1 # what Open MPI takes in the end without such a network, after a look at others
mkdir -p "$B/log"
state=$(mktemp -d "$B/log/run.XXXXXX") || exit 1 # of this run: others may run beside it
trap 'rm -rf "$state"' EXIT
for kind in rooms sums; do : >"$state/$kind"; done
# Of what starts a job, a sixth with either MPI was pages that nobody needs: PMIx keeps what ranks ask it for in shared
# memory (16 MiB, cleared), UCX fills 512 receive buffers at once in each of two kinds of shared memory.
export PMIX_MCA_gds=hash UCX_POSIX_RX_BUFS_GROW=32 UCX_SYSV_RX_BUFS_GROW=32
# Launchers and ranks read of the host's cores what hwloc would look up again for each of them: a fifth (Open MPI) to a third
# (MPICH) of what a short job costs. Its plugins look for graphics cards.
if command -v lstopo-no-graphics >/dev/null && lstopo-no-graphics --of xml "$state/host.xml" 2>/dev/null; then
  HWLOC_XMLFILE=$(cd "$state" && pwd)/host.xml
  export HWLOC_XMLFILE HWLOC_THISSYSTEM=1 HWLOC_PLUGINS_PATH=/
fi

# CPU time of a lane's children between two outputs of `times`: user and system in their second lines, 1m2.50s
cpu_of() { # BEFORE AFTER
  awk 'FNR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "m"); sum += (NR == FNR ? -1 : 1) * (60 * t[1] + t[2]) } }
    END { printf "%.1f", sum }' "$1" "$2"
}
# The lines of a log that say what failed: FAILED and the twelve lines below it, checks with their place, the seed;
# of very many failures the first and the last.
what_failed() { # LOG
  awk '/^FAILED/ { left = 13 } /^(ok|skipped|noticed|proved) / || /^[0-9]+ passed, / { left = 0 }
    left-- > 0 || /^  [^ ]+:[0-9]+: / || /TEST_SEED=/ { line[++n] = $0 }
    END { for (i = 1; i <= n; i++) if (i <= 40 || i > n - 20) print line[i]; else if (i == 41) print "..." }' "$1"
}
# What one lane appends to these files is short: no line is torn.
named() { echo "${1#"$B"/}" | sed 's|^tests/||; s|/|-|g'; }
run() { # PROGRAM
  name=$(named "$1")
  log=$B/log/$name.log
  start=$(date +%s)
  times >"$state/$lane.before"
  case $1 in
    *.sh) set -- sh "$1" ;;
    "$B"/asan/*) set -- env TEST_EFFORT="${TEST_EFFORT:-30}" "$1" ;;
    "$B"/aarch64/*) set -- env TEST_EFFORT="${TEST_EFFORT:-10}" "$QEMU_AARCH64" "$1" ;;
    # these take and give back the same memory all the time, which was most of what they took (9 -> 0.6, 23 -> 6 s of CPU time)
    */bounds_contain_truth | */schedules_are_proved) set -- env MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=1000000000 "$1" ;;
  esac
  $gently timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
  code=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -1)
  case $line in
    '') p=0 f=1 s=0 ;;
    *)
      p=${line%% passed*} f=${line#*passed, } f=${f%% failed*} s=${line#*failed, } s=${s%% skipped*}
      [ "$code" -ne 0 ] && [ "$f" -eq 0 ] && f=1 ;;
  esac
  seconds=$(($(date +%s) - start))
  times >"$state/$lane.after"
  cpu=$(cpu_of "$state/$lane.before" "$state/$lane.after")
  echo "${name%%-*} $seconds $cpu" >>"$state/rooms"
  echo "$p $f $s" >>"$state/sums"
  printf '%-44s %4s s, CPU %5s s  %s passed, %s failed, %s skipped\n' "$name" "$seconds" "$cpu" "$p" "$f" "$s"
  grep -E '^(skipped|coverage) ' "$log" | sed 's/^/    /'
  [ "$f" -eq 0 ] || {
    echo "FAILED $name: exit status $code$([ "$code" -eq 124 ] && echo ", timed out after $limit s"); from $log:"
    { what_failed "$log"; tail -8 "$log"; } | awk '!seen[$0]++' | cut -c 1-300 | sed 's/^/    | /'
  } >"$state/$name.failed"
}
lane() { # LANE'S NAME, WHICH TESTS: as lane_of, or all but the end; PROGRAM...
  lane=$1 which=$2 gently=
  [ "$which" != queue ] || gently='nice -n 10'
  shift 2
  for program in "$@"; do
    case $which,$(lane_of "$(named "$program")") in all,end) continue ;; all,* | "$which,$which") ;; *) continue ;; esac
    mkdir "$state/taken.$(named "$program")" 2>/dev/null || continue # another lane has it
    run "$program"
  done
}
for program in "$@"; do
  case $program in
    skip:*) echo "skipped ${program#skip:}" && echo '0 0 1' >>"$state/sums" ;;
    *) set -- "$@" "$program" ;;
  esac
  shift
done
for program in "$@"; do if is_long "$(named "$program")"; then set -- "$program" "$@"; fi; done # twice: taken once
if [ "${TEST_LANES:-4}" = 1 ]; then
  lane all all "$@"
  lane all end "$@"
else
  lanes=
  for kind in one two; do
    lane $kind queue "$@" &
    lanes="$lanes $!"
  done
  # Each is a process of its own, this one too: what `times` says of a shell's children has the whole time of a lane
  # in it as soon as that lane has ended.
  for kind in hosts ranks; do
    { lane $kind $kind "$@"; lane $kind queue "$@"; } &
    lanes="$lanes $!"
  done
  trap 'kill $lanes 2>/dev/null; exit 1' INT TERM
  wait
  lane ranks end "$@"
fi
awk '{ time[$1] += $2; all += $2; cpu[$1] += $3; cpu_all += $3 } END { if (length(time) < 2) exit
  printf "seconds by room (of CPU):"; for (room in time) printf " %s %d (%d),", room, time[room], cpu[room]
  printf " in all %d (%d)\n", all, cpu_all }' "$state/rooms"
# Last, where whoever sees only the end of the output finds them.
cat "$state"/*.failed 2>/dev/null
awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$state/sums"
