#!/bin/sh
# guest_ring_P: messages of 1 KiB per CPU second that pm_run simulates for an ordinary MPI program; guest_allreduce_P:
# sums of 1 KiB over P processes per CPU second; guest_allreduce_mpich_P: the same with MPICH's choice of algorithms on
# both sides, so that both send as many messages (without, SMPI reduces and broadcasts, 2 (P - 1) messages a sum where
# ours are P log2 P). Where SimGrid's SMPI is installed, peer is the same program and
# number of processes there (one switch, flow models both), and ratio says how many times faster pm_run is.
# CPU seconds are user and system, start of the processes included; the median of 3.
B=${B:-build} regex=${1:-.}
app=$B/bench/guest_app
T=$B/bench/guest_mpi.tmp
mkdir -p "$T"
[ -x "$app.mpich" ] || exit 0
# CPU seconds of a command, by the shell's own account of its children
cpu_s() {
  sh -c '"$@" >/dev/null 2>&1 || exit 1; times' sh "$@" | sed -n '2p' | tr 'ms' '  ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }'
}
median() { for _ in 1 2 3; do cpu_s "$@"; done | sort -n | sed -n 2p; }
platform() {
  printf '%s\n' "<?xml version='1.0'?>" '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">' \
    "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"node-\" suffix=\"\" radical=\"0-$(($1 - 1))\" speed=\"1Gf\" bw=\"12.5GBps\" lat=\"300ns\"/></platform>" >"$T/$1.xml"
  awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "node-" i }' >"$T/$1.hosts"
}
for kind in ring allreduce allreduce_mpich; do
  ours_chooses='' theirs_chooses=''
  [ $kind = allreduce_mpich ] && ours_chooses='--collectives mpich' theirs_chooses='--cfg=smpi/coll-selector:mpich'
  for p in 64 256 1024; do
    name=guest_${kind}_$p
    printf '%s\n' "$name" | grep -qE -- "$regex" || continue
    if [ $kind = ring ]; then rounds=$((100000 / p)) work=$((rounds * p)); else rounds=$((6000 / p)) work=$rounds; fi
    ours=$(median "$B/pm_run" $ours_chooses --stack 64 -n "$p" "$app.mpich" "${kind%_mpich}" "$rounds")
    theirs=
    [ ! -x "$app.smpi" ] || ! command -v smpirun >/dev/null || { platform "$p" && theirs=$(median timeout 300 smpirun -np "$p" -platform "$T/$p.xml" -hostfile "$T/$p.hosts" --cfg=smpi/host-speed:1Gf --log=root.thres:critical $theirs_chooses "$app.smpi" "${kind%_mpich}" "$rounds"); }
    [ -z "$ours" ] || awk -v n="$name" -v w="$work" -v s="$theirs" -v o="$ours" 'BEGIN {
      printf "{\"bench\":\"%s\",\"value\":%.0f,\"unit\":\"1/CPU s\"", n, w / o
      if (s) printf ",\"peer\":%.4g,\"ratio\":%.2f,\"peer_name\":\"SMPI\"", w / s, s / o
      print "}" }'
  done
done
