#!/bin/sh
# Under pm_run, what a program computes between two calls of MPI hides messages where a core of its own goes on with
# them; else nothing but one-sided writes, which the NIC does alone. Overhead ratio of tests/bench/progress_loops.c:
# 0 hidden, 1 one after the other. Its computation is a kernel of 1 ns per turn, so every run gives the same.
. tests/test.sh
app=$B/bench/progress_loops.mpich
if [ ! -x "$app" ]; then
  skip "overlap under pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
echo 'compute m=1 mnk=1e-9' >"$T/kernels"
ratios() { # LEAST MOST OPTIONS...: of the five patterns that need somebody; rput needs nobody
  least=$1 most=$2
  shift 2
  timeout 300 "$B/pm_run" -n 4 --kernels "$T/kernels" "$@" "$app" loops >"$T/out" 2>"$T/err" || { cat "$T/err"; return 1; }
  cat "$T/out"
  awk -v least="$least" -v most="$most" '$1 == "rput" { n++; bad += $2 > 0.1; next } { n++; bad += $2 < least || $2 > most } END { exit !(n == 6 && !bad) }' "$T/out"
}
measured() { # a collective takes as long when computation is measured here: what pm_run computes for MPI is no time of the program
  timeout 300 "$B/pm_run" -n 4 --compute 1 "$@" "$app" loops >"$T/measured" 2>"$T/err" || { cat "$T/err"; return 1; }
  cat "$T/measured"
  awk 'NR == FNR { t[$1] = $3; next } $1 == "iallreduce" { n++; bad += $3 > 1.3 * t[$1] } END { exit !(n == 1 && !bad) }' "$T/out" "$T/measured"
}
check "nobody goes on with messages: one after the other" ratios 0.8 1.1 --progress calls
check "the same with measured computation" measured --progress calls
check "a timer that comes too late: one after the other" ratios 0.8 1.1 --progress timer --progress-period 100000
check "a core of its own: hidden" ratios -0.05 0.05 --progress dedicated
check "the same with measured computation" measured --progress dedicated
finish
