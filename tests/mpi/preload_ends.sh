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
each_mpi ways
finish
