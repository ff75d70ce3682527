#!/bin/sh
# Programs that end without MPI_Finalize, are killed, or fork: the report is written, once, and the
# exit status and output stay what they are without the preload.
. tests/mpi/preload_common.sh

one_way() { # mpi, way
  m=$1 how=$2
  reports=$work/$m.$how
  # MPICH's launcher says 1, or prints more or less, when it sees the closed socket before the end of the
  # process, with and without preload, 1 time in 20: only what differs again and again is a difference.
  for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
    rm -rf "$reports"
    mkdir "$reports"
    run $m 1 "$B/tests/mpi/preload_ends.$m" $how >"$reports/without" 2>"$reports/without.err"
    status=$?
    measured $m 1 "$B/tests/mpi/preload_ends.$m" $how >"$reports/with" 2>"$reports/with.err"
    status_with=$?
    for f in without with; do sed 's/PID [0-9]*/PID/' "$reports/$f" >"$reports/$f.out"; done
    [ $status = $status_with ] && cmp -s "$reports/without.out" "$reports/with.out" && break
    echo "  $m $how: exit status $status without, $status_with with preload, or another output (try $try)"
  done
  [ $status = $status_with ] || { bad "$m $how: exit status $status without, $status_with with preload"; return; }
  cmp "$reports/without.out" "$reports/with.out" || { bad "$m $how: output differs"; return; }
  # a stack that the MPI prints at a signal must still come (what mpirun prints may get lost)
  a=$(grep -c 'Signal: ' "$reports/without.err") b=$(grep -c 'Signal: ' "$reports/with.err")
  [ "$a" = "$b" ] || { bad "$m $how: $a signals on standard error without, $b with preload"; return; }
  files=$(ls "$reports" | grep -c 'json$')
  line=$(show "$reports"/*.json | grep '^sendrecv')
  if [ "$files" = 1 ] && [ "$line" = "sendrecv calls 1 transfers 2 bytes 8" ]; then ok "$m $how: status $status, report written"
  else bad "$m $how: $files reports, '$line'"; fi
}
# mpirun ends a failed program by SIGTERM and, this long after, SIGKILL; only `error` needs the time
ways() {
  for w in none exit _exit quick_exit abort mpi_abort term segv handler fork; do one_way $1 $w; done
  OMPI_MCA_odls_base_sigkill_timeout=2
  one_way $1 error
  OMPI_MCA_odls_base_sigkill_timeout=0
}
# A report is saved meanwhile, for who is killed without a word; it is replaced at an end with one.
calls_of() { sed -n 's/^sendrecv calls \([0-9]*\) .*/\1/p' "$reports/shown"; }
saved() { # mpi
  for how in killed lasts room_later; do
    reports=$work/$1.$how
    mkdir "$reports"
    NBC_SAVE_S=1 measured "$1" 1 "$B/tests/mpi/preload_ends.$1" $how >"$reports/out" 2>"$reports/err"
    show -n "$reports"/*.json >"$reports/shown" 2>&1
    sent=$(sed -n 's/^sent //p' "$reports/out") told=$(calls_of)
    notes=$(grep -c '^note saved while the program ran, .*never ended.* SIGTERM' "$reports/shown")
    [ $how != room_later ] || [ "$(grep -c 'cannot save a report in' "$reports/err")" = 1 ] || notes=9
    case $how in killed | room_later) holds=$((notes == 1 && ${told:-0} > 1 && ${told:-0} < ${sent:-0})) ;; *) holds=$((notes == 0 && ${told:-0} == ${sent:-1})) ;; esac
    if [ $holds = 1 ]; then ok "$1 $how: saved meanwhile: $told of $sent calls"
    else bad "$1 $how: $told of $sent calls: $(cat "$reports/err" "$reports/shown")"; fi
  done
  # where there is no room at the end the report goes elsewhere, and none that is older stays
  reports=$work/$1.elsewhere
  mkdir "$reports" "$reports/tmp"
  (export TMPDIR="$reports/tmp" && NBC_SAVE_S=1 measured "$1" 1 "$B/tests/mpi/preload_ends.$1" elsewhere) >"$reports/out" 2>"$reports/err"
  show -n "$reports"/tmp/*.json >"$reports/shown" 2>&1
  if [ "$(calls_of)" = "$(sed -n 's/^sent //p' "$reports/out")" ] && ! ls "$reports"/*.json 2>/dev/null; then ok "$1: what was saved goes when the report at the end is elsewhere"
  else bad "$1: $(ls "$reports" "$reports/tmp"; cat "$reports/err" "$reports/out" "$reports/shown")"; fi
  reports=$work/$1.gathered
  mkdir "$reports"
  NBC_SAVE_S=1 NBC_GATHER=1 measured "$1" 1 "$B/tests/mpi/preload_ends.$1" lasts >"$reports/out" 2>"$reports/err"
  if [ "$(ls "$reports" | grep -c json)" = 1 ] && grep -q . "$reports"/*.all.json; then ok "$1: what was saved goes when all is in one file"
  else bad "$1: $(ls "$reports"; cat "$reports/err")"; fi
}
if [ -n "$TEST_ONLY" ]; then each_mpi $TEST_ONLY; finish; fi # by mutants
each_mpi ways
each_mpi saved
finish
