#!/bin/sh
# The progress preload: data arrives while the program computes, and programs behave as without it.
. tests/mpi/preload_common.sh
export NBC_PROGRESS_SAY=0
progress_library() { case $1 in openmpi) echo "$B/libnbc_progress_mpi.so" ;; *) echo "$B/libnbc_progress_mpich.so" ;; esac; }
# progress MPI PROCESSES [NAME=VALUE...] PROGRAM...
progress() {
  m=$1 n=$2
  shift 2
  case $m in
    openmpi) timeout -k 5 300 mpirun.openmpi -n "$n" env LD_PRELOAD="$before$(progress_library $m)$after" "$@" ;;
    *) timeout -k 5 300 mpirun.mpich -n "$n" env LD_PRELOAD="$before$(progress_library $m)$after" "$@" ;;
  esac
}
before= after=
# Open MPI without copies between processes has no windows under MPI_THREAD_MULTIPLE, whoever asks for it.
moves() { # MPI PROCESSES SETTINGS...: every way of moving data arrives without a call
  m=$1 n=$2 ways=5
  shift 2
  case $m,$* in openmpi,*multiple*) ways=4 ;; esac
  progress $m $n "$@" "$B/tests/mpi/progress_moves.$m" $ways >"$work/moves" 2>&1
  if [ "$(grep -c ': arrived$' "$work/moves")" = $ways ]; then ok "$m, $n processes, $*: everything arrives without a call"
  else bad "$m, $n processes, $*"; cat "$work/moves"; fi
}
idle_moves() { # MPI: the same by a worker that asks for idle cores, in each process; it runs as any thread here (progress_idle_asked.c)
  after=" $B/tests/mpi/progress_idle_asked.$1.so"
  moves $1 2 NBC_PROGRESS=idle
  after=
  if [ "$(grep -o 'asked for SCHED_IDLE' "$work/moves" | wc -l)" = 2 ]; then ok "$1: idle workers ask for SCHED_IDLE"
  else bad "$1: idle workers do not ask for SCHED_IDLE"; cat "$work/moves"; fi
}
requests() { # MPI PROCESSES SETTINGS...
  m=$1 n=$2
  shift 2
  progress $m $n NBC_PROGRESS_SAY=2 "$@" "$B/tests/mpi/progress_requests.$m" >"$work/requests" 2>&1
  if grep -qx "$n processes checked, 0 checks failed" "$work/requests"; then ok "$m, $n processes, $*: requests are as the standard says"
  else bad "$m, $n processes, $*: requests"; head -20 "$work/requests"; fi
}
collectives() { # MPI PROCESSES SETTINGS...: results, and that they were ours
  m=$1 n=$2
  shift 2
  progress $m $n NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple "$@" "$B/tests/mpi/progress_collectives.$m" >"$work/collectives" 2>&1
  count=$(grep -c '[1-9][0-9]* collectives were ours' "$work/collectives")
  [ $n = 1 ] && count=1 # nothing to do for one process
  if grep -qx "$n processes checked, 0 checks failed" "$work/collectives" && [ "$count" = "$n" ]
  then ok "$m, $n processes, $*${after:+, late ends}: collectives are ours and right"
  else bad "$m, $n processes, $*${after:+, late ends}: collectives"; grep -v 'rank [1-9]' "$work/collectives" | head -20; fi
}
blocking() { # MPI PROCESSES SETTINGS...: blocking collectives: results, and whose they were
  m=$1 n=$2
  shift 2
  for whose in ours mpi; do
    progress $m $n NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours NBC_BLOCKING=$whose "$@" "$B/tests/mpi/progress_blocking.$m" >"$work/blocking" 2>&1
    count=$(grep -c '[1-9][0-9]* collectives were ours' "$work/blocking")
    if [ $whose = ours ]; then wanted=$n; else wanted=0; fi
    if grep -qx "$n processes checked, 0 checks failed" "$work/blocking" && [ "$count" = $wanted ] && [ "$(grep -c 'blocking ones too' "$work/blocking")" = $((wanted > 0)) ]
    then ok "$m, $n processes, $*: blocking collectives of $whose are right"
    else bad "$m, $n processes, $*: blocking collectives of $whose"; head -20 "$work/blocking"; fi
  done
}
first_step() { # MPI: what has come before a post is answered in it, though nobody wakes the worker
  after=" $B/tests/mpi/progress_no_wake.$1.so"
  rm -f "$work/step"
  progress $1 4 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_first_step.$1" "$work/step" >"$work/first_step" 2>&1
  after=
  if grep -qx "4 processes checked, 0 checks failed" "$work/first_step"; then ok "$1: who posts takes the first step"
  else bad "$1: who posts takes no step"; head -20 "$work/first_step"; fi
}
persistent() { # MPI PROCESSES SETTINGS...: persistent collectives and neighbourhoods: results, and that they were ours
  m=$1 n=$2
  shift 2
  progress $m $n NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$@" "$B/tests/mpi/progress_persistent.$m" >"$work/persistent" 2>&1
  if grep -qx "$n processes checked, 0 checks failed" "$work/persistent" && [ "$(grep -c ' 472 collectives were ours' "$work/persistent")" = "$n" ]
  then ok "$m, $n processes, $*: persistent collectives and neighbourhoods are ours and right"
  else bad "$m, $n processes, $*: persistent collectives and neighbourhoods"; head -20 "$work/persistent"; fi
}
operators() { # MPI PROCESSES: made and freed again and again, all of them ours
  progress $1 $2 NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_operators.$1" >"$work/operators" 2>&1
  if grep -qx "$2 processes checked, 0 checks failed" "$work/operators" && [ "$(grep -c ' 1920 collectives were ours' "$work/operators")" = "$2" ]
  then ok "$1, $2 processes: operators may be freed at any time"; else bad "$1, $2 processes: operators"; head -20 "$work/operators"; fi
}
communicators() { # MPI PROCESSES: made by several threads at once, and their collectives ours
  progress $1 $2 NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_comms.$1" >"$work/comms" 2>&1
  if grep -qx "$2 processes checked, 0 checks failed" "$work/comms" && [ "$(grep -c ' 128 collectives were ours' "$work/comms")" = "$2" ]
  then ok "$1, $2 processes: threads make communicators at the same time"; else bad "$1, $2 processes: threads and communicators"; head -20 "$work/comms"; fi
}
handles() { # MPI PROCESSES: handles of requests that ended go to persistent collectives of another thread before the call returns
  after=" $B/tests/mpi/progress_slow_test.$1.so"
  progress $1 $2 NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_handles.$1" >"$work/handles" 2>&1
  after=
  if grep -qx "$2 processes checked, 0 checks failed" "$work/handles"; then ok "$1, $2 processes: a handle that another thread has now is not taken for ours"
  else bad "$1, $2 processes: handles in use again"; head -20 "$work/handles"; fi
}
callbacks() { # MPI PROCESSES: what functions of the program free that the MPI calls
  progress $1 $2 NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_callbacks.$1" >"$work/callbacks" 2>&1
  if grep -qx "$2 processes checked, 0 checks failed" "$work/callbacks" && ! grep -q 'nothing was tested' "$work/callbacks"
  then ok "$1, $2 processes: what callbacks free is gone"; else bad "$1, $2 processes: what callbacks free"; head -20 "$work/callbacks"; fi
}
arguments() { # MPI PROCESSES: what the MPI refuses, with ours and without
  for how in $(some ours mpi); do
    progress $1 $2 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=$how "$B/tests/mpi/progress_arguments.$1" >"$work/arguments" 2>&1
    if grep -qx "$2 processes checked, 0 checks failed" "$work/arguments"; then ok "$1, $2 processes, collectives: $how: arguments are refused and taken as by the MPI"
    else bad "$1, $2 processes, collectives: $how: arguments"; head -20 "$work/arguments"; fi
  done
}
files() { # MPI PROCESSES: operations on a file that all start, many at once, beside collectives of ours
  progress $1 $2 NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_files.$1" "$work/file" >"$work/files" 2>&1
  if grep -qx "$2 processes checked, 0 checks failed" "$work/files" && [ "$(grep -c ' 2 collectives were ours' "$work/files")" = "$2" ]
  then ok "$1, $2 processes: files are written and read beside collectives of ours"; else bad "$1, $2 processes: files"; head -20 "$work/files"; fi
  nothing_left $1 $2 files NBC_COLLECTIVES=ours
}
one_inside() { # MPI: with one lock for the MPI's, a worker that has work waits while the program is inside
  after=" $B/tests/mpi/progress_one_inside.$1.so"
  progress $1 2 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=serialized "$B/tests/mpi/progress_level.$1" sends >"$work/inside" 2>&1
  after=
  if grep -qx 'sent and received' "$work/inside" && ! grep -q 'two threads are inside' "$work/inside"; then ok "$1, one lock: the worker waits while the program is inside"
  else bad "$1, one lock: two threads inside"; head -5 "$work/inside"; fi
}
last= # argument of the program
in_flight() { # MPI PROCESSES PROGRAM SETTINGS...: it completes all that it posts: then nothing is in flight at its end
  m=$1 n=$2 p=$3
  shift 3
  progress $m $n NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple "$@" "$B/tests/mpi/$p.$m" $last >"$work/${p#progress_}" 2>&1
  nothing_left $m $n ${p#progress_} "$@"
}
nothing_left() { # MPI PROCESSES WHAT SETTINGS...: the same of a run that was just made, by what it said
  m=$1 n=$2 p=$3
  shift 3
  if [ "$(grep -c '; 0 requests and windows still in flight; ' "$work/$p")" = "$n" ]; then ok "$m, $n processes, $*: $p: nothing stays in flight"
  else bad "$m, $n processes, $*: $p leaves something in flight"; grep -o 'rank [0-9]*: worker\|[-0-9]* requests and windows.*' "$work/$p" | head -9; fi
}
inactive() { # MPI: persistent requests that have ended are not in flight, whichever call ended them
  last=inactive
  in_flight $1 1 progress_level
  last=
}
errors() { # MPI PROCESSES SETTINGS...: error handlers that return, or leave by longjmp, at several levels
  m=$1 n=$2
  shift 2
  for how in 'return 0' ${TEST_MORE:+'jump 0' 'jump 1'} 'jump 2' ${TEST_MORE:+'jump 3'}; do
    # shellcheck disable=SC2086 # two words
    progress $m $n NBC_PROGRESS=timer "$@" "$B/tests/mpi/progress_errors.$m" $how moves >"$work/errors" 2>&1
    if grep -qx "$n processes checked, 0 checks failed" "$work/errors"; then ok "$m, $n processes, $*: error handlers, $how"
    else bad "$m, $n processes, $*: error handlers, $how"; head -20 "$work/errors"; fi
    case $*,$how in *serialized*,'jump 2') break ;; esac # a program with more gets more
  done
}
throws() { # MPI PROCESSES: error handlers that throw
  if [ ! -x "$B/tests/mpi/progress_throws.$1" ]; then skip "$1: error handlers that throw: no compiler"; return; fi
  progress $1 $2 NBC_PROGRESS=timer "$B/tests/mpi/progress_throws.$1" >"$work/throws" 2>&1
  if grep -qx "$2 processes checked, 0 checks failed" "$work/throws"; then ok "$1, $2 processes: error handlers that throw"
  else bad "$1, $2 processes: error handlers that throw"; head -20 "$work/throws"; fi
}
finalizes() { # MPI: with something in flight, or not freed
  for what in receive send collective barrier persistent persistent_active; do
    for how in $(some ours mpi); do
      turn $1 finalize_with $1 $what $how
    done
  done
}
finalize_with() { # MPI WHAT WHOSE
  if [ "$(progress $1 3 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=$3 "$B/tests/mpi/progress_finalize.$1" $2 2>"$work/finalize" | grep -cx end)" = 1 ]
  then ok "$1, collectives: $3: MPI_Finalize with $2"; else bad "$1, collectives: $3: MPI_Finalize with $2"; head "$work/finalize"; fi
}
some_collectives() { # MPI: what a table names is ours, the rest the MPI's: 10 small broadcasts of 2 sizes in each set
  printf 'bcast 0 64 binomial 0 0\n' >"$work/table"
  progress $1 2 NBC_PROGRESS_SAY=2 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES="$work/table" \
    "$B/tests/mpi/progress_collectives.$1" >"$work/some" 2>&1
  of_all=$(sed -n 's/.*rank 0: .* \([0-9]*\) collectives were ours/\1/p' "$work/collectives")
  of_some=$(sed -n 's/.*rank 0: .* \([0-9]*\) collectives were ours/\1/p' "$work/some")
  if grep -q ' 0 checks failed' "$work/some" && [ "$of_some" -gt 0 ] && [ "$of_some" -lt "$of_all" ]
  then ok "$1: $of_some of $of_all collectives by a table"; else bad "$1: $of_some of $of_all by a table"; cat "$work/some"; fi
}
late_ends() { # MPI: all data of a collective is there, and its request is complete only later
  after=" $B/tests/mpi/progress_slow_complete.$1.so"
  collectives $1 3 NBC_PROGRESS=timer NBC_COLLECTIVES=ours
  after=
}
plain_requests() { # the conformance set holds of the MPI itself
  run $1 3 "$B/tests/mpi/progress_requests.$1" >"$work/requests" 2>&1
  if grep -qx "3 processes checked, 0 checks failed" "$work/requests"; then ok "$1 alone: requests are as the standard says"
  else bad "$1 alone: requests"; head -20 "$work/requests"; fi
}
same() { # MPI PROCESSES PROGRAM [ARGUMENT]: prints the same with and without
  run "$1" "$2" "$B/tests/mpi/$3.$1" ${4:+"$4"} 2>/dev/null | sort >"$work/without"
  progress "$1" "$2" NBC_PROGRESS=timer "$B/tests/mpi/$3.$1" ${4:+"$4"} 2>/dev/null | sort >"$work/with"
  if [ -s "$work/without" ] && diff "$work/without" "$work/with"; then ok "$1, $2 processes${before:+, both preloads}: $3 $4: same results"
  else bad "$1, $2 processes${before:+, both preloads}: $3 $4: results differ"; fi
}
every() { # MPI: every form of every call that moves data
  OMPI_MCA_osc=$pt2pt,sm run $1 3 "$B/tests/mpi/preload_every.$1" "$work/every"
  OMPI_MCA_osc=$pt2pt,sm progress $1 3 NBC_PROGRESS=timer "$B/tests/mpi/preload_every.$1" "$work/every_with"
  cat "$work"/every.* >"$work/without"
  if [ -s "$work/without" ] && cat "$work"/every_with.* | diff "$work/without" -; then ok "$1: every call: same results"
  else bad "$1: every call: results differ"; fi
}
end() { # MPI WAY: exit status and output of a program that ends so
  m=$1 how=$2
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do # what differs again and again is a difference (see preload_ends.sh)
    if [ ! -e "$work/end.$m.$how.status" ]; then # once for both settings of the preloads
      run $m 1 "$B/tests/mpi/preload_ends.$m" $how >"$work/end.$m.$how" 2>/dev/null
      echo $? >"$work/end.$m.$how.status"
    fi
    status=$(cat "$work/end.$m.$how.status")
    cp "$work/end.$m.$how" "$work/without.raw"
    progress $m 1 NBC_PROGRESS=timer "$B/tests/mpi/preload_ends.$m" $how >"$work/with.raw" 2>/dev/null
    status_with=$?
    for f in without with; do sed 's/PID [0-9]*/PID/' "$work/$f.raw" >"$work/$f"; done
    [ $status = $status_with ] && cmp -s "$work/without" "$work/with" && break
    rm "$work/end.$m.$how.status"
  done
  if [ $status = $status_with ] && cmp "$work/without" "$work/with"; then ok "$m $how${before:+, both preloads}: same end"
  else bad "$m $how${before:+, both preloads}: status $status without, $status_with with"; fi
}
levels() { # the program is told the level that it asked for
  for level in $(some '1 3' 'init 0 2'); do
    a=$(run $1 1 "$B/tests/mpi/progress_level.$1" $level) b=$(progress $1 1 NBC_PROGRESS=timer "$B/tests/mpi/progress_level.$1" $level)
    if [ -n "$a" ] && [ "$a" = "$b" ]; then ok "$1, level $level: $a"; else bad "$1, level $level: '$a' without, '$b' with"; fi
  done
}
says() { # MPI TEXT SETTINGS...: one line on standard error has this
  m=$1 text=$2
  shift 2
  progress $m 2 NBC_PROGRESS_SAY=1 "$@" "$B/tests/mpi/progress_level.$m" init >"$work/says" 2>&1
  if [ "$(grep -c "^nbc_progress: .*$text" "$work/says")" = 1 ]; then ok "$m, $*: says '$text'"; else bad "$m, $*: does not say '$text'"; cat "$work/says"; fi
}
decimal_comma() { # MPI: settings and lines are the same in a program whose locale writes 2,5
  if [ ! -e "$B/locales/de_DE.UTF-8" ]; then skip "$1: decimal comma: no localedef or its sources (Debian: locales)"; return; fi
  in_de="NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 LOCPATH=$B/locales TEST_LOCALE=de_DE.UTF-8"
  for us in 2.5 2,5; do
    progress $1 1 $in_de NBC_PROGRESS_US=$us "$B/tests/mpi/progress_level.$1" init >"$work/comma.$us.out" 2>"$work/comma.$us"
  done
  if grep -q '^provided' "$work/comma.2.5.out" && ! grep -q 'must be 1 to 1e9' "$work/comma.2.5" && grep -q 'NBC_PROGRESS_US=2,5: must be' "$work/comma.2,5" &&
     grep -q 'used [0-9]*\.[0-9]* s of [0-9]*\.[0-9]* s' "$work/comma.2.5"; then ok "$1: numbers have a point in a locale with a decimal comma"
  else bad "$1: decimal comma"; cat "$work/comma.2.5" "$work/comma.2,5"; fi
}
with_measuring() { # both preloads in one line: the report of the one that measures is there, and data still arrives
  reports=$work/both.$1
  mkdir "$reports"
  before="$(library $1) "
  moves $1 2 NBC_PROGRESS=timer NBC_REPORT_DIR="$reports"
  before=
  if [ "$(ls "$reports" | grep -c 'json$')" = 2 ]; then ok "$1: measured too"; else bad "$1: $(ls "$reports")"; fi
  # the worker's own calls are nobody's transfers: the program's sends and receives alone
  line=$(show "$reports"/*.json | grep '^isend')
  if [ "$line" = "isend calls 4 transfers 4 bytes 16777216" ]; then ok "$1: counts of the program alone"; else bad "$1: '$line'"; fi
}
sessions() { # MPI: where it has them
  if run $1 1 "$B/tests/mpi/progress_sessions.$1" alone | grep -qx 'no sessions'; then skip "$1: no sessions (MPI 4)"; return; fi
  for n in $(some 3 1); do for how in alone beside; do same $1 $n progress_sessions $how; done; done
  # The program's own status, told by a shell: hydra, which sees its connection close or its child end first, says 1 or 7.
  progress $1 1 NBC_PROGRESS=timer sh -c '"$0" left; echo "status $?"' "$B/tests/mpi/progress_sessions.$1" >"$work/left" 2>&1
  if grep -qx 'status 7' "$work/left"; then ok "$1: exit with a session open"; else bad "$1: exit with a session open"; cat "$work/left"; fi
}
both() { # MPI: ends, sessions and spawned processes with the preload that measures before this one
  reports=$work/ends.$1
  mkdir "$reports"
  before="$(library $1) "
  export NBC_REPORT_DIR="$reports"
  for w in $(some 'exit mpi_abort term' 'none _exit quick_exit abort segv fork'); do end $1 $w; done
  [ -z "$TEST_MORE" ] || sessions $1
  [ $1 = openmpi ] && same $1 1 preload_spawn
  unset NBC_REPORT_DIR
  before=
}
plugin() { # MPI: a program that loads its MPI for itself alone
  progress $1 2 NBC_PROGRESS=timer NBC_PROGRESS_SAY=2 NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_host" "$B/tests/mpi/progress_plugin.$1.so" >"$work/plugin" 2>&1
  if grep -qx "2 processes checked, 0 checks failed" "$work/plugin" && [ "$(grep -c ' 1 collectives were ours' "$work/plugin")" = 2 ]
  then ok "$1: a program that loads its MPI"; else bad "$1: a program that loads its MPI"; head -20 "$work/plugin"; fi
}
merge() { # MPI: one communicator with processes of another world, which are not preloaded
  progress $1 2 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours "$B/tests/mpi/progress_merge.$1" >"$work/merge" 2>&1
  if grep -qx "3 processes checked, 0 checks failed" "$work/merge"; then ok "$1: a communicator with another world"; else bad "$1: a communicator with another world"; head -20 "$work/merge"; fi
}
languages() {
  for f in preload_cxx preload_fortran_mpif preload_fortran_use preload_fortran_f08; do
    if [ -x "$B/tests/mpi/$f.$1" ]; then turn $1 same $1 2 $f; else skip "$1: $f: no compiler"; fi
  done
}
handles_and_callbacks() { # MPI
  for n in $(some 3 2); do handles $1 $n; done
  nothing_left $1 3 handles NBC_COLLECTIVES=ours
  callbacks $1 3
  nothing_left $1 3 callbacks NBC_COLLECTIVES=ours
}
persistent_ones() { # MPI
  for n in $(some 3 '2 5 9'); do persistent $1 $n NBC_PROGRESS=timer; done
  nothing_left $1 3 persistent NBC_COLLECTIVES=ours
}
all() {
  for n in $(some 3 '1 2 5'); do moves $1 $n NBC_PROGRESS=timer; done
  turn $1 idle_moves $1
  turn $1 moves $1 2 NBC_PROGRESS=dedicated NBC_PROGRESS_CORE=0,1
  case $1 in openmpi) level=multiple ;; *) level=serialized ;; esac # the other one is what ran above: OMPI_MCA_osc
  turn $1 moves $1 2 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=$level
  turn $1 plain_requests $1
  for n in $(some 3 '1 2 4 6 9'); do requests $1 $n NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple; done
  nothing_left $1 3 requests
  turn $1 requests $1 3 NBC_PROGRESS=dedicated NBC_PROGRESS_CORE=0,1
  turn $1 requests $1 3 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=serialized
  turn $1 requests $1 2 NBC_PROGRESS=none
  for n in $(some 3 4); do requests $1 $n NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours; done
  nothing_left $1 3 requests NBC_COLLECTIVES=ours
  turn $1 moves $1 3 NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=multiple NBC_COLLECTIVES=ours
  for n in $(some 3 5); do turn $1 collectives $1 $n NBC_PROGRESS=idle NBC_COLLECTIVES=ours; done
  turn $1 collectives $1 4 NBC_PROGRESS=dedicated NBC_PROGRESS_CORE=0,1 NBC_COLLECTIVES=ours
  for n in $(some 3 '1 2 6 9'); do collectives $1 $n NBC_PROGRESS=timer NBC_COLLECTIVES=ours; done
  nothing_left $1 3 collectives NBC_COLLECTIVES=ours
  some_collectives $1
  turn $1 late_ends $1
  turn $1 blocking $1 3 NBC_PROGRESS=timer
  turn $1 first_step $1
  turn $1 persistent_ones $1
  turn $1 persistent $1 4 NBC_PROGRESS=idle
  turn $1 persistent $1 3 NBC_PROGRESS=dedicated NBC_PROGRESS_CORE=0,1
  for n in $(some 3 '2 5'); do turn $1 operators $1 $n; done
  for n in $(some 3 2); do turn $1 communicators $1 $n; done
  turn $1 handles_and_callbacks $1
  for n in $(some 3 5); do turn $1 arguments $1 $n; done
  turn $1 files $1 3
  turn $1 one_inside $1
  turn $1 inactive $1
  last=$work/every_flight
  OMPI_MCA_osc=$pt2pt,sm in_flight $1 3 preload_every NBC_PROGRESS_LEVEL=serialized
  last=
  turn $1 errors $1 2
  turn $1 errors $1 3 NBC_COLLECTIVES=ours
  turn $1 errors $1 2 NBC_PROGRESS_LEVEL=serialized TEST_WINDOW=1
  turn $1 same $1 2 progress_errors change
  turn $1 throws $1 2
  finalizes $1
  levels $1
  turn $1 decimal_comma $1
  turn $1 says $1 'rank 1 may not use such a core: no worker' NBC_PROGRESS_CORE=1000
  turn $1 says $1 'get no worker: of [0-9]* cores none is left' NBC_PROGRESS=dedicated taskset -c 0
  turn $1 says $1 'one lock' NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=serialized
  turn $1 says $1 'collectives stay the MPI' NBC_PROGRESS=timer NBC_PROGRESS_LEVEL=serialized NBC_COLLECTIVES=ours
  turn $1 says $1 'NBC_PROGRESS=tiemr: not known' NBC_PROGRESS=tiemr
  for p in preload_forms preload_threads; do turn $1 same $1 2 $p; done
  every $1
  for w in $(some 'exit quick_exit abort mpi_abort abort_in_handler term segv fork' 'none _exit abort_in_operator abort_in_attribute alarms'); do turn $1 end $1 $w; done
  [ $1 = openmpi ] && same $1 1 preload_spawn && merge $1 # Debian's MPICH has no spawn
  sessions $1
  languages $1
  turn $1 plugin $1
  with_measuring $1
  both $1
}
# TEST_ONLY="requests mpich 3 NBC_PROGRESS=timer": this check alone (tests/mutate)
if [ -z "$TEST_ONLY" ]; then each_mpi all
else
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
fi
finish
