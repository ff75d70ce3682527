#!/bin/sh
# Bounds of transfers that end in another way than by a wait of the thread that began them. Tables that tempt to
# say too much: with a fast one the maximum must stay all, with a slow one the minimum nothing.
. tests/mpi/preload_common.sh
. tests/mpi/preload_scenes.sh
PROGRAM=preload_finish

nothing() { # WHAT KIND: no such transfer was counted
  n=$(grep -c ",$2," "$reports/csv/transfers.csv")
  if [ "$n" = 0 ] && grep -q '^rank' "$reports/csv/ranks.csv"; then ok "$1: $2: none moved, none counted"
  else bad "$1: $2: $n counted: $(cat "$reports/err" "$reports/csv/transfers.csv")"; fi
}
count_is() { # WHAT KIND COUNT
  n=$(of "$2" 5)
  if [ "$n" = "$3" ]; then ok "$1: $n of $2"; else bad "$1: $n of $2, not $3: $(cat "$reports/err" "$reports/csv/transfers.csv")"; fi
}
at_once() { # MPI HOW
  scene "$1" 2 slow cancel $2
  nothing "$1: cancelled, $2" irecv
  for table in fast slow; do
    scene "$1" 2 $table freed $2
    unknown "$1: freed while active, $2, $table" isend
    count_is "$1: freed while active, $2, $table" isend 10
  done
  scene "$1" 2 middle matched $2
  no_minimum "$1: matched messages to oneself, $2" irecv
  scene "$1" 2 middle pass $2
  no_minimum "$1: passed to another thread, $2" isend
  most_is_all "$1: passed to another thread, $2" isend
  scene "$1" 2 fast between $2
  for kind in $([ $2 = 0 ] && echo irecv isend || echo ibcast iallgather); do unknown "$1: between groups" "$kind"; done
}
never() { # MPI: cancelled and never completed, or simply left
  for how in 3 4; do
    NBC_TRACE=first scene "$1" 2 slow cancel $how
    nothing "$1: cancelled, $how" irecv
    # it may have received something all the same: which of later messages is which, nobody knows
    if grep -aq '^cut [1-9]' "$reports"/*.0.trace; then ok "$1: cancelled, $how: messages are known up to there"
    else bad "$1: cancelled, $how: $(head -20 "$reports"/*.0.trace | strings)"; fi
  done
  # a guess is no reason to doubt the bounds of others, where only such a receive from anybody asked for it
  reports=$work/$1.left
  mkdir "$reports"
  NBC_TABLE=$work/slow measured "$1" 2 "$B/tests/mpi/$PROGRAM.$1" left >"$reports/out" 2>"$reports/err"
  "$B/overlap_report" --no-html "$reports" >"$reports/text" 2>&1
  if grep -q '1 transfers that never ended' "$reports/text" && ! grep -Eq 'guessed|a default was used' "$reports/text"; then ok "$1: a receive from anybody that is left casts no doubt on the table"
  else bad "$1: a receive from anybody that is left: $(cat "$reports/err" "$reports/text")"; fi
  if grep -q 'note: no wait or test completed requests of MPI_Irecv at [^ ]* (preload_finish' "$reports/text"; then ok "$1: where began what nothing completed"
  else bad "$1: where began what nothing completed: $(cat "$reports/text")"; fi
}
mixed() { # MPI HOW
  scene "$1" 2 fast mixed $2
  for kind in irecv isend start; do unknown "$1: mixed arrays, $2" "$kind"; done
  count_is "$1: mixed arrays, $2" irecv 20
  count_is "$1: mixed arrays, $2" start 10
}
persistent() { # MPI
  scene "$1" 2 fast startall
  unknown "$1: started together" start
  count_is "$1: started together" start 40
  scene "$1" 2 fast around
  if [ "$(of start 5)" -gt 0 ]; then unknown "$1: persistent collectives" start; count_is "$1: persistent collectives" start 30
  else skip "$1: no persistent collectives"; fi
}
each() {
  for how in 0 1; do turn "$1" at_once "$1" $how; done
  scene "$1" 2 slow cancel 2
  nothing "$1: cancelled while another thread waits" irecv
  turn "$1" never "$1"
  scene "$1" 2 middle any
  no_minimum "$1: from oneself, in a freed communicator" irecv
  scene "$1" 2 middle off
  most_is_all "$1: under way while measuring is off" irecv
  for how in 0 1 2 3; do turn "$1" mixed "$1" $how; done
  scene "$1" 2 fast replace
  unknown "$1: replaced" sendrecv
  count_is "$1: replaced" sendrecv 20
  persistent "$1"
}
if [ -n "$TEST_ONLY" ]; then # "never mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
  finish
fi
each_mpi each
finish
