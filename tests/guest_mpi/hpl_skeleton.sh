#!/bin/sh
# tools/hpl_skeleton.c: HPL's communication ends with every broadcast, exchange of rows and lookahead, on
# MPICH and in simulation; lookahead wins; a sample of its groups of panels stands for all.
. tests/test.sh
hpl=$B/hpl_skeleton
if [ ! -x "$hpl" ]; then
  skip "HPL's skeleton" "no MPICH (Debian: libmpich-dev)"
  finish
fi
printf 'dgemm_ m=*1 n=*2 k=*3 mnk=1.029e-11 one=2e-7\ndtrsm_ m=*1 n=*2 k=*1 mnk=1.029e-11 one=2e-7\n' >"$T/kernels"
simulated() { # PROCESSES ARGUMENTS...: prints the seconds
  n=$1 && shift
  timeout 300 "$B/pm_run" -n "$n" --kernels "$T/kernels" --fold 1000000 "$hpl" "$@" >"$T/out" 2>"$T/err" || { cat "$T/err"; return 1; }
  sed -nE 's/.*: ([0-9.]+) s, .*/\1/p' "$T/out"
}
every_way_ends() {
  for grid in '1 1' '1 5' '6 1' '3 4' '5 6'; do
    for broadcast in 0 1 2 3 4 5; do
      # shellcheck disable=SC2086 # two numbers
      s=$(simulated "$((${grid% *} * ${grid#* }))" 900 32 $grid $broadcast $((broadcast % 2)) $((broadcast / 2 % 2))) || { echo "$grid, broadcast $broadcast: $s"; return 1; }
      awk -v s="$s" 'BEGIN { exit !(s > 0) }' || { echo "$grid, broadcast $broadcast: no time"; return 1; }
    done
  done
}
ends_on_the_host() { timeout 300 mpirun.mpich -genv LD_PRELOAD "$B/tests/mpi/patient.so" -n 4 "$hpl" 300 32 2 2 1 1 1 >"$T/host" 2>&1 && grep -q '^N 300 NB 32 grid 2x2' "$T/host"; }
holds() { awk "BEGIN { exit !($1) }"; }
# 2 N^3 / 3 operations at the kernel's speed by 16 processes take 4.3 ms: no machine is faster.
lookahead_wins_and_no_machine_is_faster_than_its_kernels() {
  without=$(simulated 16 2048 128 4 4 1 1 0) && with=$(simulated 16 2048 128 4 4 1 1 1) &&
    holds "$with < 0.95 * $without" && holds "$with > 2048 ^ 3 / 3 * 1.029e-11 / 16"
}
samples_stand_for_all() {
  all=$(simulated 16 8000 64 4 4 1 1 1 1) && some=$(simulated 16 8000 64 4 4 1 1 1 5) && holds "$some > 0.9 * $all" && holds "$some < 1.1 * $all"
}
parts_add_up() {
  all=$(simulated 16 8000 64 4 4 1 1 1 3) || return 1
  sum=0
  for part in 0 1 2; do
    s=$(simulated 16 8000 64 4 4 1 1 1 3 $part 3) && grep "part $part of 3" "$T/out" && sum=$(echo "$sum $s" | awk '{ printf "%.6f", $1 + $2 }') || return 1
  done
  echo "$all $sum"
  holds "$sum > 0.999 * $all" && holds "$sum < 1.001 * $all"
}
refuses() { simulated 4 1000 32 3 2 >"$T/refused"; grep -q 'P \* Q processes' "$T/refused" && { simulated 4 1000 32 2 2 1 1 1 1 3 3 >"$T/refused"; grep -q 'PART PARTS' "$T/refused"; }; }
check every_way_ends every_way_ends
check ends_on_the_host ends_on_the_host
check lookahead_wins_and_no_machine_is_faster_than_its_kernels lookahead_wins_and_no_machine_is_faster_than_its_kernels
check samples_stand_for_all samples_stand_for_all
check parts_add_up parts_add_up
check refuses refuses
finish
