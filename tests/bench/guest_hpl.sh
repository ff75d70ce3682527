#!/bin/sh
# guest_hpl_N: CPU seconds (user and system, the start of 64 processes included) that pm_run takes for the real HPL of order N, 8 x 8,
# NB 128, where dgemm, dtrsm and the making of the matrix are models and all else computes; peer: SimGrid's SMPI, where it is
# installed, with the same source, models and machine: one switch, 12.5 GB/s, 300 ns a cable, nothing else costs time (SMPI without
# its factors of a TCP network, pm_run without NIC, PCI and calls), flow models both; computation
# between calls takes no time; a probe in vain takes 20 ns, messages are eager to 4,096 bytes in both. Unlike: pauses between probes
# grow in another way, so with 20 ns SMPI makes twice as many and takes 1.4 times as long as with 1 us, where its simulated times
# are a third above pm_run's. guest_hpl_folded_N: pm_run with
# memory folded and all kernels and copies as models, SMPI with the same models and no folding, which it can do for changed
# sources only. ..._memory: the largest resident size; folded: what pm_run counts at its end with each page once.
# ..._simulated: what HPL says it took. ratio: ours by the peer's.
# HPL is of hpcc's source: HPCC=FOLDER, or Debian's. Each run once: N = 20,000 takes minutes.
B=${B:-build} regex=${1:-.}
T=$B/bench/guest_hpl.tmp
mkdir -p "$T"
platform() {
  printf '%s\n' "<?xml version='1.0'?>" '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">' \
    "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"node-\" suffix=\"\" radical=\"0-63\" speed=\"1Gf\" bw=\"12.5GBps\" lat=\"300ns\"/></platform>" >"$T/c.xml"
  awk 'BEGIN { for (i = 0; i < 64; i++) print "node-" i }' >"$T/hosts"
  "$B/simgrid_platform" "$T/c.xml" 2>"$T/platform.err" |
    awk '/^(switch_latency|pci_latency|nic_(put|get|response)|cpu_(command|append|event))_ns / { $2 = 0 }
      /^no_pci(_commands)? / { $2 = 1 } { print }' >"$T/c.platform"
}
same='--cfg=network/model:CM02 --cfg=network/latency-factor:1 --cfg=network/bandwidth-factor:1 --cfg=network/weight-S:0 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0'
run() { # WHERE KIND: seconds of CPU, MB and simulated seconds, in $T/WHERE.figures
  rm -f "$T/$1.figures"
  FOLD=$fold N=$n NB=128 P=8 Q=8 PM_RUN="--platform $(realpath "$T/c.platform")" PLATFORM=$T/c.xml HOSTS=$T/hosts \
    SMPI_RUN="$same --cfg=smpi/iprobe:2e-8 --cfg=smpi/test:2e-8 --cfg=smpi/async-small-thresh:4096 --cfg=smpi/send-is-detached-thresh:4096" \
    sh tools/run_guests.sh "$2" >"$T/$1.out" 2>"$T/$1.err" || { sed "s/^/guest_hpl: /" "$T/$1.err" >&2; return 1; }
  cat "$T/$1.out" "$T/$1.err" | awk -v n="$n" '/of CPU time,/ { cpu = $1 + $4; if (!once) mb = $9 / 1000 } # pages counted once come before
    /memory at the end:/ { mb = $6; once = 1 }
    /^simulated:/ { s = (2 / 3 * n * n * n + 1.5 * n * n) / ($10 * 1e9) } # its rate has more digits than its time
    END { if (!cpu || !s) exit 1; print cpu, mb, s }' >"$T/$1.figures"
}
lines() { # NAME
  paste "$T/ours.figures" "$T/theirs.figures" | awk -v name="$1" 'function line(what, unit, ours, peer) {
      printf "{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"%s\"", name what, ours, unit
      if (peer) printf ",\"peer\":%.4g,\"ratio\":%.4g,\"peer_name\":\"SMPI\"", peer, ours / peer
      print "}" }
    { line("", "CPU s", $1, $4); line("_memory", "MB", $2, $5); line("_simulated", "s", $3, $6) }'
}
platform || exit 1
for fold in '' 65536; do
  for n in 8000 20000; do
    name=guest_hpl_${fold:+folded_}$n
    printf '%s\n' "$name" "${name}_memory" "${name}_simulated" | grep -qE -- "$regex" || continue
    run ours hpl || exit 0
    : >"$T/theirs.figures"
    ! command -v smpirun >/dev/null || run theirs hpl-smpi
    lines "$name"
  done
done
