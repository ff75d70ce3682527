#!/bin/sh
# Probes, matched receives, odd requests, derived types, errors, intercommunicators, v, w, neighbour
# and persistent collectives, one-sided, sections: the same results with the preload, and the counts
# and bytes of golden/preload_forms.N, which were checked by hand against preload_forms.c.
. tests/mpi/preload_common.sh

forms() { # mpi
  for n in 2 4; do
    reports=$top/$work/$1.$n
    mkdir "$reports"
    run "$1" $n "$B/tests/mpi/preload_forms.$1" | sort >"$reports/without"
    measured "$1" $n "$B/tests/mpi/preload_forms.$1" | sort >"$reports/with"
    if [ -s "$reports/without" ] && diff "$reports/without" "$reports/with"; then ok "$1, $n processes: same results"
    else bad "$1, $n processes: results differ"; fi
    # how often a program polls depends on the machine
    show -n "$reports"/*.json | grep -Ev '(iprobe|wait|test) calls' >"$reports/counted"
    if diff tests/mpi/golden/preload_forms.$n "$reports/counted"; then ok "$1, $n processes: counts and bytes"
    else bad "$1, $n processes: counts or bytes differ"; fi
  done
}
each_mpi forms
finish
