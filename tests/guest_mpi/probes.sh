#!/bin/sh
# Who looks for a message in a loop takes few steps of the simulation, and sees it when who waits for it does.
. tests/test.sh
app=$B/tests/guest_mpi/probes
if [ ! -x "$app" ]; then
  skip "probes of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
# One look takes 0.3 us at most: without pauses that grow, 1 ms would be thousands of looks.
few_looks_and_in_time() {
  timeout 300 "$B/pm_run" -n 2 $1 "$app" >"$T/out" 2>"$T/err" && cat "$T/out" "$T/err" &&
    awk '/looks,/ { n++; bad += $1 < 10 || $1 > 800 || $3 > 500 || $3 < -500 } /wrong/ { bad++ } END { exit !(n == 4 && !bad) }' "$T/out"
}
for how in '' '--progress timer' '--level loggp' '--per-node 2' '--progress dedicated'; do
  check "few looks, and in time ${how:-by default}" few_looks_and_in_time "$how"
done
finish
