#!/bin/sh
# A job that is ended by a signal: launchers kill the other processes when the first one is gone, and yet each leaves its
# report: they count in memory that they share, where there is some.
. tests/mpi/preload_common.sh

reports_of() { ls "$1" | grep -c 'json$'; }
# begin MPI NAME: in the background, $! is the launcher; returns when both processes have begun
begin() {
  m=$1 reports=$work/$1.$2 i=0
  mkdir -p "$reports"
  case $m in
    openmpi) set -- -x LD_PRELOAD="$(library $m)" -x NBC_REPORT_DIR="$reports" ;;
    *) set -- -genv LD_PRELOAD "$(library $m)" -genv NBC_REPORT_DIR "$reports" ;;
  esac
  # no `timeout`: it sends signals twice, and MPICH's launcher kills at the second SIGINT; the program ends by itself
  "mpirun.$m" "$@" -n 2 "$B/tests/mpi/preload_ended.$m" >"$reports/out" 2>"$reports/err" &
  while [ "$(ls "$reports" | grep -c ready)" != 2 ] && [ $i -lt 1200 ]; do sleep 0.1; i=$((i + 1)); done
}
both() { # WHAT: the launcher may be gone before what it has launched
  i=0
  while [ "$(reports_of "$reports")" != 2 ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
  if [ "$(reports_of "$reports")" = 2 ]; then ok "$1: both processes left a report"
  else bad "$1: $(reports_of "$reports") of 2 reports: $(ls "$reports" | tr '\n' ' '; cat "$reports/err")"; fi
}
signalled() { # mpi
  export OMPI_MCA_odls_base_sigkill_timeout=1 # as it is when nobody sets it
  for name in TERM INT; do
    begin "$1" $name
    kill -$name $!
    wait $! 2>/dev/null
    both "$1: SIG$name to the launcher"
  done
  export OMPI_MCA_odls_base_sigkill_timeout=0
}
# ended MPI HOW [ENVIRONMENT=VALUE]: four processes, of which the last one ends alone; $code, $notes: reports that say so
ended() {
  reports=$work/$1.$2${3:+.${3%=*}}
  mkdir "$reports"
  case $1,$2 in
    openmpi,survive) launching='--mca orte_allowed_exit_without_sync 1' ;;
    mpich,survive) launching=-disable-auto-cleanup ;;
  esac
  measured "$1" 4 env ${3:+"$3"} "$B/tests/mpi/preload_ended.$1" "$2" >"$reports/out" 2>"$reports/err"
  code=$?
  launching=
  notes=$(grep -l 'of this node ended without MPI_Finalize' "$reports"/*.json | wc -l)
}
# Launchers kill the others at once: they are asked for their reports before. (Open MPI's sends them SIGTERM first: then
# they write anew.)
one_ends() { # mpi
  for how in fault abort exit _exit killed MPI_Abort threads invalid finalize $(some '' 'truncated window'); do
    ended "$1" $how
    if [ "$(reports_of "$reports")" = 4 ] && { [ "$1" = openmpi ] || [ "$notes" = 3 ]; } && [ $code != 0 ] && [ $code != 124 ]; then ok "$1: one process ends by $how: reports of all four"
    else bad "$1: one process ends by $how: status $code, $(reports_of "$reports") of 4 reports, $notes say why: $(ls "$reports" | tr '\n' ' '; cat "$reports/err")"; fi
  done
}
survivors() { # mpi: those who live on are measured to their end
  ended "$1" survive
  if [ "$(reports_of "$reports")" = 4 ] && [ "$notes" = 0 ] && [ $code != 124 ] && [ "$(show "$reports"/*.0.json | grep -c '^send calls 500')" = 1 ]; then ok "$1: who survives is measured to the end"
  else bad "$1: who survives is measured to the end: status $code, $notes notes, $(show "$reports"/*.0.json | head -20; cat "$reports/err")"; fi
}
returned() { # mpi: who handles its errors is measured to the end
  ended "$1" returned
  if [ "$(reports_of "$reports")" = 4 ] && [ "$notes" = 0 ] && [ $code = 0 ] && [ "$(show "$reports"/*.json | grep -c '^barrier calls 28 ')" = 1 ]; then ok "$1: errors that are not fatal end nothing"
  else bad "$1: errors that are not fatal: status $code, $notes notes, $(show "$reports"/*.0.json | head -20; cat "$reports/err")"; fi
}
timelines() { # mpi
  ended "$1" exit NBC_TRACE=1
  if [ "$(ls "$reports" | grep -c 'trace$')" = 4 ] && [ "$(reports_of "$reports")" = 4 ] && "$B/overlap_trace" -o "$reports/t.json" "$reports" >"$reports/timeline" 2>&1; then ok "$1: timelines of all four"
  else bad "$1: timelines: $(ls "$reports" | tr '\n' ' '; cat "$reports/err" "$reports/timeline")"; fi
}
full_memory() { # mpi: nothing is left in /dev/shm, where the counters stand: the program runs all the same, without them
  if ! unshare -m true 2>/dev/null; then skip "$1: full /dev/shm: no namespaces here"; return; fi
  reports=$work/$1.full
  mkdir "$reports"
  # shellcheck disable=SC2016 # for the inner shell
  unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs /dev/shm && { cat /dev/zero >/dev/shm/full 2>/dev/null; LD_PRELOAD=$1 NBC_REPORT_DIR=$2 "$3"; echo "status $?"; ls /dev/shm; }' \
    sh "$(library "$1")" "$reports" "$B/tests/mpi/preload_handlers.$1" >"$reports/out" 2>"$reports/err"
  if [ "$(tail -n 2 "$reports/out" | tr '\n' ' ')" = 'status 0 full ' ] && [ "$(reports_of "$reports")" = 1 ]; then ok "$1: full /dev/shm"
  else bad "$1: full /dev/shm: $(tail -n 3 "$reports/out" "$reports/err")"; fi
}
if [ -z "$TEST_ONLY" ]; then
  each_mpi signalled
  each_mpi one_ends
  each_mpi survivors
  each_mpi returned
  each_mpi timelines
  if have_mpi openmpi; then full_memory openmpi; else skip "full /dev/shm: no Open MPI"; fi # MPICH's own MPI_Init fails there
else # "signalled mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
fi
finish
