#!/bin/sh
# On simulated nodes of several cores, collectives that know the nodes are as fast as those that do not, or faster: at
# most 1.1 of their time for every size and layout, and less than 0.8 for most short ones.
. tests/test.sh
app=$B/bench/coll_nodes.mpich
if [ ! -x "$app" ]; then
  skip "two levels on simulated nodes" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
pays() { # PROCESSES PER-NODE
  timeout 200 "$B/pm_run" -n "$1" --per-node "$2" "$app" . "$2" >"$T/out" 2>"$T/err" || { cat "$T/err"; return 1; }
  sed -n 's/.*"coll_nodes_\([a-z]*\)_\([0-9]*\)_.*"ratio":\([0-9.e+-]*\),.*/\1 \2 \3/p' "$T/out" >"$T/ratios"
  awk '{ n++; bad += !($3 > 0 && $3 <= 1.1) } $2 <= 4096 { few++; good += $3 < 0.8 } $3 > 1.1
    END { print n, bad, few, good; exit !(n == 38 && !bad && good * 3 >= few) }' "$T/ratios"
}
check "8 nodes of 8 cores" pays 64 8
check "8 nodes of 12 cores" pays 96 12
finish
