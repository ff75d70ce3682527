#!/bin/sh
# Under pm_run, what a program computes between two calls of MPI hides messages where a core of its own goes on with
# them, or a timer that looks often enough; else nothing. Overhead ratio of tests/bench/progress_loops.c: 0
# hidden, 1 one after the other. Computation is CPU time measured here: the limits are wide, the first of three tries
# that keeps them counts.
. tests/test.sh
app=$B/bench/progress_loops.mpich
if [ ! -x "$app" ]; then
  skip "overlap under pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
ratio() { # LEAST MOST OPTIONS...: of a message to the neighbour and one from it, and of a broadcast
  least=$1 most=$2
  shift 2
  for _ in 1 2 3; do
    timeout 100 "$B/pm_run" -n 4 --compute 1 "$@" "$app" loops >"$T/out" 2>"$T/err" || { cat "$T/err"; return 1; }
    cat "$T/out"
    awk -v least="$least" -v most="$most" '/^(isend_irecv|ibcast) / { n++; bad += $2 < least || $2 > most } END { exit !(n == 2 && !bad) }' "$T/out" && return 0
  done
  return 1
}
check "nobody goes on with messages: one after the other" ratio 0.7 1.4 --progress calls
check "a timer that comes too late: one after the other" ratio 0.7 1.4 --progress timer --progress-period 100000
check "a core of its own: hidden" ratio -0.3 0.3 --progress dedicated
finish
