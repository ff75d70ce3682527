#!/bin/sh
# Machines, faults and sweeps as nobody should write them: each is refused with a sentence that names file and line (or
# option), within bounded time and memory, and with exit status 2; large ones that are right are read.
. tests/test.sh
guest="$B/tests/model/guest_ring.so"
# shellcheck disable=SC3045 # dash and bash have it
run() { ( ulimit -t 60 && exec "$B/pm_run" "$@" ) >"$T/out" 2>"$T/err"; }
refused() { # TEXT OPTIONS...
  wanted=$1 && shift
  run "$@" "$guest"
  code=$?
  head -3 "$T/err"
  test $code = 2 && grep -q "^pm_run: .*$wanted" "$T/err" || { echo "status $code, wanted: $wanted, by: $*"; return 1; }
}
platform() { printf "$1" >"$T/p" && refused "$T/p: $2" --platform "$T/p"; }
platforms_are_refused_by_line() {
  platform 'node_count 2\nlink_bytes_per_s 0\n' 'line 2: link_bytes_per_s: ' &&
    platform 'link_bytes_per_s -1\n' 'line 1: link_bytes_per_s: ' && platform 'link_bytes_per_s nan\n' 'line 1: ' &&
    platform 'link_bytes_per_s inf\n' 'line 1: ' && platform 'link_bytes_per_s 1e400\n' 'line 1: ' &&
    platform 'node_count 99999999999999999999\n' 'line 1: node_count: ' && platform 'node_count -1\n' 'line 1: node_count: ' &&
    platform 'node_count 4000001\n' 'line 1: node_count: ' && platform 'node_count\n' 'line 1: node_count: key without value' &&
    platform 'node_count 2 3\n' 'line 1: node_count: one value' && platform '\n\nnothing 1\n' 'line 3: nothing: unknown key' &&
    platform 'wire_latency_ns 1000000000001\n' 'line 1: ' && platform 'node_count 2\0\n' 'line 1: ' &&
    platform 'topology file\nnode_count 2\n' 'topology file without a link' &&
    platform 'topology file\nnode_count 2\nlink h0 h1 1e9\n' 'line 3: link: ' && platform 'topology file\nlink h0 h1 0 1\n' 'line 2: link: ' &&
    platform 'topology file\nnode_count 2\nlink h0 h99999999999999999999 1e9 5\n' 'link 1 (h0 h99999999999999999999): node beyond' &&
    platform 'topology file\nnode_count 3\nlink h0 h1 1e9 5\nlink h1 h0 1e9 5\n' 'links: no way between h2 and h0' &&
    platform 'topology fattree\ntopo 7 1000000 1000000 1000000 1000000 1000000 1000000 1000000 1 1 1 1 1 1 1\n' 'topo: ' &&
    platform 'topology dragonfly\nnode_count 4000000\ntopo 1 1000000 4 1000000\n' 'topo: ' &&
    platform 'topology torus\nnode_count 1000000\ntopo 1 1000000\n' 'topo: '
}
files_that_are_none() {
  for f in "$T" /proc/self/mem "$T/none" /dev/zero; do
    refused "$f: " --platform "$f" || return 1
    for o in --faults --kernels --lib-cost; do refused "$o: $f" $o "$f" || return 1; done
  done
  refused "/proc/self/mem: " --platform /proc/self/mem
}
# Each host at a switch of its own: names are found without looking through all of them.
many_names_are_read() {
  awk 'BEGIN { n = 150000; print "topology file\nnode_count", n; for (i = 0; i < n; i++) print "link h" i, "s" i, "1e9 5\nlink s" i, "root 1e9 5" }' >"$T/p"
  run -n 2 --platform "$T/p" "$guest" || { cat "$T/err"; return 1; }
}
many_hosts_are_read() {
  echo "node_count $(some 200000 1000000 | cut -d' ' -f1)" >"$T/p" && run -n 2 --platform "$T/p" "$guest" || { cat "$T/err"; return 1; }
}
fault() { printf "$1\n" >"$T/faults" && refused "--faults: $T/faults, line $2" --faults "$T/faults" -n 4; }
faults_are_refused_by_line_and_field() {
  fault '\noutage 99999999999999999999 5 node 1' '2: outage: AT_NS: "99999999999999999999"' &&
    fault 'outage 5 9223372036854775808 node 1' '1: outage: FOR_NS: "9223372036854775808"' && fault 'outage 5x 5 node 1' '1: outage: AT_NS: "5x"' &&
    fault 'outage 5 -5 node 1' '1: outage: FOR_NS: "-5"' && fault 'outage 5 5 node 4294967297' '1: outage: node: "4294967297"' &&
    fault 'outage 5 5 node 1 stop stop' '1: outage: "stop stop"' && fault 'outage 5 5 host 1' '1: outage: "host": node or link' &&
    fault 'outage 5' '1: outage: FOR_NS: ""' && fault 'outage' '1: outage: AT_NS: ""' && fault 'outage 5 5 link' '1: outage: link: ' &&
    fault 'outage 5 5 link 99999999999999999999' '1: no link' && fault 'outage 5 5 node 1 stop\noutage 9 0 node 1 crash' '2: node 1 stands still, or is dead, by line 1 too' &&
    fault 'outage 5 0 node 1 stop\noutage 900 1 node 1 crash' '2: node 1 stands still' && fault 'outage 900 1 node 1 crash\noutage 5 0 node 1 stop' '2: node 1 stands still' &&
    fault 'delay_ns 0.5' '1: delay_ns: 0.5: out of range' && fault 'delay_ns 1e400' '1: delay_ns: 1e400: out of range' && fault 'loss_ratio nan' '1: loss_ratio: "nan": not a number' &&
    fault 'loss_ratio -0.1' '1: loss_ratio: "-0.1": not a number' && fault 'loss_ratio 0.1 0.2' '1: loss_ratio: one number' && fault 'loss_ratio' '1: loss_ratio: one number' &&
    fault 'loss_ratio 0\0001\nloss_ratio 0' '1: a letter of code 0'
}
# Before the run, which may take hours.
output_that_is_nowhere() {
  for o in --trace --links --matrix --measure-kernels; do refused "$o: $T/nowhere/x.csv: " $o "$T/nowhere/x.csv" && refused "$o: $T: " $o "$T" || return 1; done
}
lines_are_whole() {
  for o in '--kernels heavy one=1' '--lib-cost MPI_Send 1'; do
    printf '#\n%s\0001\n' "${o#* }" >"$T/lines" && refused "${o%% *}: $T/lines, line 2: a letter of code 0" "${o%% *}" "$T/lines" || return 1
    printf '%s %2000s\n' "${o#* }" 1 >"$T/lines" && refused "${o%% *}: $T/lines, line 1: longer than" "${o%% *}" "$T/lines" || return 1
  done
}
options_of_a_sweep_want_one() {
  for o in '--jobs 2' '--sweep-part 0/1' "--sweep-table $T/t"; do
    # shellcheck disable=SC2086 # an option and its value
    refused "${o%% *}: there is no --sweep" $o || return 1
  done
}
sweeps_are_refused_by_key() {
  refused '--sweep: n: given twice' --sweep n=1,2 --sweep n=3 && refused '--sweep: sweep: is of the sweep' --sweep sweep=1 && refused '--sweep: jobs: is of the sweep' --sweep jobs=1 &&
    refused '--sweep: seed: a control character' --sweep 'seed=1	2' && refused '--sweep-part' --sweep n=1 --sweep-part 99999999999/100000000000 &&
    refused '--sweep-part' --sweep n=1 --sweep-part -1/2 && refused 'more than 1000000 runs' --sweep seed="$(seq -s, 2000)" --sweep spin="$(seq -s, 2000)" &&
    refused 'at most 4096 values' --sweep seed="$(seq -s, 5000)" || return 1
  for n in 0 -1 99999999999999999999 1e3 ''' '; do ! run --sweep "n=$n" "$guest" && grep -q "	2	-	-	.*pm_run: -n: a number of 1" "$T/out" || { cat "$T/out"; return 1; }; done
  ! run --sweep link_bytes_per_s=0,1e9 -n 2 "$guest" && grep -q '^0	2	.*--sweep: link_bytes_per_s: not a positive number' "$T/out" && grep -q '^1e9	0	' "$T/out"
}
# A slow row first: files of those that have ended are not kept open until it has.
a_slow_row_keeps_no_files() {
  printf '#!/bin/sh\nulimit -n 28\nexec "$@"\n' >"$T/few" && chmod +x "$T/few" &&
    timeout 120 "$T/few" "$B/pm_run" --jobs 2 --sweep n=1500,"$(seq -s, 40)" "$guest" >"$T/out" 2>"$T/err" && test "$(wc -l <"$T/out")" = 42
}
ignored_children_are_seen() {
  env --ignore-signal=CHLD true 2>/dev/null || return 0
  timeout 60 env --ignore-signal=CHLD "$B/pm_run" --sweep n=1,2 "$guest" >"$T/out" 2>"$T/err" && test "$(wc -l <"$T/out")" = 3
}
for t in platforms_are_refused_by_line files_that_are_none many_names_are_read many_hosts_are_read faults_are_refused_by_line_and_field output_that_is_nowhere lines_are_whole options_of_a_sweep_want_one sweeps_are_refused_by_key a_slow_row_keeps_no_files ignored_children_are_seen; do check "$t" $t; done
finish
