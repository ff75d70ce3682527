#!/bin/sh
# On simulated nodes of several cores, collectives that know the nodes are as fast as those that do not, or faster: at
# most 1.1 of their time for every size and layout, and less than 0.8 for most short ones.
. tests/test.sh
app=$B/bench/coll_nodes.mpich
if [ ! -x "$app" ]; then
  skip "two levels on simulated nodes" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
# shellcheck disable=SC3045 # dash and bash have it
simulated() { (ulimit -t 200 && exec "$B/pm_run" "$@") >"$T/out" 2>"$T/err"; } # OPTIONS... PROGRAM...: 200 s of CPU time
pays() { # PROCESSES PER-NODE
  simulated -n "$1" --per-node "$2" "$app" . "$2" || { cat "$T/err"; return 1; }
  sed -n 's/.*"coll_nodes_\([a-z]*\)_\([0-9]*\)_.*"ratio":\([0-9.e+-]*\),.*/\1 \2 \3/p' "$T/out" >"$T/ratios"
  awk '{ n++; bad += !($3 > 0 && $3 <= 1.1) } $2 <= 4096 { few++; good += $3 < 0.8 } $3 > 1.1
    END { print n, bad, few, good; exit !(n == 38 && !bad && good * 3 >= few) }' "$T/ratios"
}

# The simulated MPI's own collectives know the nodes too. One level: the same table without two_level.
levels=$B/tests/guest_mpi/levels
one_level='barrier 0 0 %s 0 0\nbcast 0 32768 binomial 0 0\nbcast 0 524288 scatter_allgather 0 0\nreduce 0 32768 binomial 0 0\nreduce 0 0 rabenseifner 0 0\n'
printf "$one_level"'allreduce 0 16384 recursive_doubling 0 0\nallreduce 0 0 rabenseifner 0 0\n' dissemination >"$T/one"
printf "$one_level"'allreduce 0 16384 two_level 0 0\nallreduce 0 0 rabenseifner 0 0\n' two_level >"$T/both_ways"
right() { # PROCESSES PER-NODE [OPTION...]
  n=$1 each=$2
  shift 2
  simulated -n "$n" --per-node "$each" "$@" "$levels" &&
    grep -qx "$n processes checked, 0 checks failed" "$T/out" || { cat "$T/out" "$T/err"; return 1; }
}
all_right() { for n in 2,2 3,2 5,2 7,3 9,4 13,4 20,6 33,32; do right "${n%,*}" "${n#*,}" || return 1; done; }
# PROCESSES PER-NODE TABLE REGEX MOST: the time beside that with the table
own_pay() {
  right "$1" "$2" && cp "$T/out" "$T/ours" && right "$1" "$2" --collectives "$T/$3" || return 1
  paste -d' ' "$T/ours" "$T/out" | awk -v regex="^($4) " -v most="$5" '$0 ~ regex { n++; if (!($3 <= most * $6)) bad++ }
    { print } END { exit !n || bad }' >"$T/ratios" || { cat "$T/ratios"; return 1; }
}
check "the MPI's own collectives in two levels are right" all_right
check "allreduce and barrier in two levels, 8 nodes of 8" own_pay 64 8 one '(allreduce|barrier) [0-9]*' 1.05
check "allreduce and barrier of few bytes pay, 8 nodes of 12" own_pay 96 12 one '(allreduce (4|64|1024|4000)|barrier 0)' 0.8
check "bcast and reduce in two levels, 8 nodes of 8" own_pay 64 8 both_ways '(bcast|reduce) [0-9]*' 1.05
check "bcast and reduce of few bytes pay, 8 nodes of 8" own_pay 64 8 both_ways '(bcast|reduce) (4|64|1024)' 0.95
[ -z "$TEST_MORE" ] || check "8 nodes of 12 cores" pays 96 12
check "8 nodes of 8 cores" pays 64 8
finish
