#!/bin/sh
# Runs the test programs and scripts given as arguments; each ends with the line "N passed, N failed,
# N skipped". Adds these up and ends with the same line. A program that crashes, hangs past TEST_TIMEOUT
# seconds (default 600) or prints no such line counts as failed. What failed, and why, stands just before
# the last line.
# Three lanes, each one test after the other: what starts ranks or threads has a lane of its own; what needs one
# core runs beside it in two lanes that yield the cores to it. TEST_LANES=1: all one after the other.
# aarch64 programs are run by qemu, with a tenth of the random cases (TEST_EFFORT=100: all); an argument
# "skip:NAME: REASON" counts as skipped.
# Lines of coverage are shown. Logs: $B/log/NAME.log. Usage: B=build tests/run.sh PROGRAM...
B=${B:-build}
limit=${TEST_TIMEOUT:-600}
[ "$(nproc)" -gt 1 ] || TEST_LANES=1
lane_of() { # PROGRAM, as it is named in a log: ranks, or one of the two lanes of one core
  case $1 in
    headers-* | base-* | report-* | fuzz-* | model-* | overlap-* | mutate-*) echo one ;;
    clock-bench_rma*) echo one ;; # long, and in no hurry
    clock-*.sh | coll-*.sh) echo ranks ;;
    clock-* | coll-*) echo one ;;
    guest_mpi-* | rtl-* | asan-* | aarch64-* | tree-*) echo two ;;
    *) echo ranks ;;
  esac
}
mkdir -p "$B/log"
state=$(mktemp -d "$B/log/run.XXXXXX") || exit 1 # of this run: others may run beside it
trap 'rm -rf "$state"' EXIT
for kind in rooms sums; do : >"$state/$kind"; done

# What one lane appends to these files is short: no line is torn.
named() { echo "${1#"$B"/}" | sed 's|^tests/||; s|/|-|g'; }
run() { # PROGRAM
  name=$(named "$1")
  log=$B/log/$name.log
  start=$(date +%s)
  case $1 in
    *.sh) set -- sh "$1" ;;
    "$B"/aarch64/*) set -- env TEST_EFFORT="${TEST_EFFORT:-10}" "$QEMU_AARCH64" "$1" ;;
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
  echo "${name%%-*} $seconds" >>"$state/rooms"
  echo "$p $f $s" >>"$state/sums"
  printf '%-44s %4s s  %s passed, %s failed, %s skipped\n' "$name" "$seconds" "$p" "$f" "$s"
  grep -E '^(skipped|coverage) ' "$log" | sed 's/^/    /'
  [ "$f" -eq 0 ] || {
    echo "FAILED $name: exit status $code$([ "$code" -eq 124 ] && echo ", timed out after $limit s"); from $log:"
    { grep -E '^(FAILED|  [^ ]+:[0-9]+: )|TEST_SEED=' "$log"; tail -8 "$log"; } | awk '!seen[$0]++' | tail -16 | sed 's/^/    | /'
  } >"$state/$name.failed"
}
lane() { # ranks | one | two | all, PROGRAM...
  lane=$1 gently=
  case $lane in one | two) gently='nice -n 10' ;; esac
  shift
  for program in "$@"; do
    [ "$lane" = all ] || [ "$(lane_of "$(named "$program")")" = "$lane" ] || continue
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
if [ "${TEST_LANES:-3}" = 1 ]; then
  lane all "$@"
else
  lanes=
  for kind in one two; do
    lane $kind "$@" &
    lanes="$lanes $!"
  done
  trap 'kill $lanes 2>/dev/null; exit 1' INT TERM
  lane ranks "$@"
  wait
fi
awk '{ time[$1] += $2; all += $2 } END { if (length(time) < 2) exit
  printf "seconds by room:"; for (room in time) printf " %s %d,", room, time[room]; printf " in all %d\n", all }' "$state/rooms"
# Last, where whoever sees only the end of the output finds them.
cat "$state"/*.failed 2>/dev/null
awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$state/sums"
