#!/bin/sh
# Probes, matched receives, odd requests, derived types, errors, intercommunicators, v, w, neighbour
# and persistent collectives, one-sided, sections: the same results with the preload, and the counts
# and bytes of golden/preload_forms.N, which were checked by hand against preload_forms.c.
. tests/mpi/preload_common.sh

forms() { # mpi
  for n in 2 4; do
    [ $n = 4 ] && export NBC_TRACE=first # these are asked more then
    same_with_preload "$1" $n preload_forms
    unset NBC_TRACE
    counts "$(cat tests/mpi/golden/preload_forms.$n)"
  done
}
if [ -n "$TEST_ONLY" ]; then # "forms mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
else
  each_mpi forms
fi
finish
