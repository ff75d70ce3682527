#!/bin/sh
# coll_nodes_<name>_<bytes>_<layout>_<processes>: see coll_nodes.c; 16, 64, 96 and 128 processes on simulated nodes of 4,
# 8, 12 and 32. Simulated time: the same on every machine.
B=${B:-build} regex=${1:-.}
app=$B/bench/coll_nodes.mpich
[ -x "$app" ] && [ -x "$B/pm_run" ] || exit 0
for shape in 16,4 64,8 96,12 128,32; do
  timeout 300 "$B/pm_run" -n "${shape%,*}" --per-node "${shape#*,}" "$app" "$regex" "${shape#*,}" 2>/dev/null
done
exit 0
