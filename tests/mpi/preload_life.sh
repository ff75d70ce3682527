#!/bin/sh
# Handles that come again, requests handed between threads, deadly signals inside the preload's own
# bookkeeping, very many communicators: nothing is lost, nothing gets slow.
. tests/mpi/preload_common.sh

signalled() { LD_PRELOAD=$(library $m) NBC_REPORT_DIR=$reports timeout -s KILL 60 "$B/tests/mpi/preload_life.$m" $scene "$1" 2>/dev/null; }
# SIGTERM comes wherever the process is: each run must leave its report. MPI SCENE RUNS
signals() {
  m=$1 scene=$2 runs=$3
  reports=$work/$m.$scene
  mkdir "$reports"
  i=0
  while [ $i -lt "$runs" ]; do # two at a time: the start of an MPI is mostly waiting
    signalled $((20000 + 977 * i)) &
    signalled $((20000 + 977 * (i + 1)))
    wait $!
    i=$((i + 2))
  done
  n=$(ls "$reports" | grep -c 'json$')
  if [ "$n" = "$runs" ]; then ok "$m $scene: $n of $runs runs that SIGTERM ended left a report"
  else bad "$m $scene: only $n of $runs runs that SIGTERM ended left a report"; fi
}
reuse() { # mpi
  also=$B/tests/mpi/preload_slow_free.$1.so
  same_with_preload "$1" 2 preload_life "$1" reuse
  also=
  counts 'processes 2
bcast calls 15300 transfers 15000 bytes 15000000
comm_dup calls 600 transfers 0 bytes 0
comm_free calls 600 transfers 0 bytes 0'
}
window() { # mpi
  same_with_preload "$1" 2 preload_life "$1" window
  grep -q '^put calls 600 transfers 600 bytes 2400$' "$reports/counted" && ok "$1: puts over windows that come again" ||
    bad "$1: $(cat "$reports/counted")"
}
handed() { # mpi
  same_with_preload "$1" 1 preload_life "$1" handed
  counts 'processes 1
isend calls 60000 transfers 60000 bytes 60000
irecv calls 60000 transfers 60000 bytes 60000'
}
matched() { # mpi
  also=$B/tests/mpi/preload_slow_free.$1.so
  same_with_preload "$1" 1 preload_life "$1" matched
  also=
  "$B/overlap_report" --csv "$reports/csv" "$reports" >/dev/null
  got=$(awk -F, 'NR > 1 { print $1, $3, $4 }' "$reports/csv/communicators.csv" | sort | tr -d '"' | tr '\n' ' ')
  if [ "$got" = 'longer 80 4000 short 80 80 ' ]; then ok "$1: messages that two threads match, each in its communicator"
  else bad "$1: messages that two threads match: $got"; fi
}
# CPU time in one process, of two kinds of rounds in turn: what the machine does besides is in both, but who shares its
# caches makes the many dearer: the best of three.
comms() { # mpi
  reports=$work/$1.comms
  mkdir "$reports"
  for i in 1 2 3; do
    measured "$1" 1 "$B/tests/mpi/preload_life.$1" comms >"$reports/out" 2>"$reports/err"
    awk '/^one/ { ok = $5 <= 2 * $2 } END { exit !ok }' "$reports/err" && ok "$1: 1,900 communicators: $(cat "$reports/err")" && return
  done
  bad "$1: 1,900 communicators cost more than twice as much as one: $(cat "$reports/err")"
}
# Mapped memory, which does not depend on what was touched; the first hundred have taken what is there once.
bytes() { # mpi
  reports=$work/$1.bytes
  mkdir "$reports"
  run "$1" 1 "$B/tests/mpi/preload_life.$1" bytes 2>"$reports/without" >/dev/null
  measured "$1" 1 "$B/tests/mpi/preload_life.$1" bytes 2>"$reports/with" >/dev/null
  without=$(sed -n 's/ bytes for 1800 communicators//p' "$reports/without") with=$(sed -n 's/ bytes for 1800 communicators//p' "$reports/with")
  if [ "$with" ] && [ $((with - without)) -gt 0 ] && [ $(((with - without) / 1800)) -le 64 ]; then ok "$1: $(((with - without) / 1800)) bytes for a communicator with one partner"
  else bad "$1: ${with:-none} bytes for 1,800 communicators, ${without:-none} without the preload: not within 64 for each"; fi
}
dups() { # mpi: 1.4 to 1.9 times as much was measured
  reports=$work/$1.dups
  mkdir "$reports"
  run "$1" 1 "$B/tests/mpi/preload_life.$1" dups 2>"$reports/without" >/dev/null
  measured "$1" 1 "$B/tests/mpi/preload_life.$1" dups 2>"$reports/with" >/dev/null
  without=$(sed -n 's/dup and free \([0-9]*\) ns/\1/p' "$reports/without")
  with=$(sed -n 's/dup and free \([0-9]*\) ns/\1/p' "$reports/with")
  if [ "$with" -lt $((2 * without + 2000)) ]; then ok "$1: dup, bcast and free cost $without ns, $with with the preload"
  else bad "$1: dup, bcast and free cost $without ns, $with with the preload: more than twice as much, and 2 us"; fi
}
memory() { # mpi
  reports=$work/$1.memory
  mkdir "$reports"
  run "$1" 1 "$B/tests/mpi/preload_life.$1" memory 2>"$reports/without" >/dev/null
  measured "$1" 1 "$B/tests/mpi/preload_life.$1" memory 2>"$reports/with" >/dev/null
  without=$(sed -n 's/ KiB per thread//p' "$reports/without") with=$(sed -n 's/ KiB per thread//p' "$reports/with")
  if [ $((with - without)) -le 64 ]; then ok "$1: an idle thread has $without KiB, $with with the preload"
  else bad "$1: an idle thread has $without KiB, $with with the preload: more than 64 added"; fi
}
each() { memory "$1"; signals "$1" loop "$loops"; signals "$1" poll $exits; signals "$1" exits "$exits"; signals "$1" again 2; signals "$1" once 2; reuse "$1"; window "$1"; handed "$1"; matched "$1"; comms "$1"; bytes "$1"; dups "$1"; }
loops=10 exits=4
[ -z "$TEST_MORE" ] || loops=100 exits=30
if [ -z "$TEST_ONLY" ]; then each_mpi each
else # "bytes mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
fi
finish
