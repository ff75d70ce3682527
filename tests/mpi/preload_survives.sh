#!/bin/sh
# What must not end a program, slow it down, or lose its report: threads that the MPI's own settings allow, many
# requests with one handle, a limit on files, signals of batch systems, SIGTERM while others are waited for.
. tests/mpi/preload_common.sh
# scene MPI PROCESSES NAME SCENE...: into $reports
scene() {
  m=$1 n=$2 reports=$work/$1.$3
  mkdir -p "$reports"
  shift 3
  NBC_TABLE='' measured "$m" "$n" "$B/tests/mpi/preload_survives.$m" "$@" >"$reports/out" 2>"$reports/err"
  status=$?
}
threads() { # mpi
  for try in 1 2 3; do
    (export OMPI_MPI_THREAD_LEVEL=3 MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE && scene "$1" 1 "threads.$try" threads && exit "$status")
    status=$? reports=$work/$1.threads.$try
    grep -q 'level multiple' "$reports/out" || { skip "$1: MPI_Init gives no MPI_THREAD_MULTIPLE"; return; }
    n=$(show "$reports"/*.json | grep -Ec '^(isend calls 120000 transfers 120000|irecv calls 120000 transfers 120000) ')
    if [ "$status" = 0 ] && [ "$n" = 2 ] && ! grep -Eq '"(never_ended|ended_twice|end_unknown)":[1-9]' "$reports"/*.json; then ok "$1: threads after MPI_Init, $try"
    else bad "$1: threads after MPI_Init, $try: status $status: $(cat "$reports/err"; grep problems "$reports"/*.json)"; fi
  done
}
many() { # mpi
  scene "$1" 1 many many
  ratio=$(sed -n 's/^per cent //p' "$reports/out")
  if [ -n "$ratio" ] && [ "$ratio" -lt 500 ]; then ok "$1: a request among 8,000 takes $ratio % of one among 500"
  else bad "$1: a request among 8,000 takes $ratio % of one among 500: $(cat "$reports/err")"; fi
}
limit() { # mpi
  scene "$1" 1 limit limit
  if [ "$status" = 0 ] && grep -q '^finalized' "$reports/err" && grep -q 'File too large' "$reports/err" && grep -q '"schema"' "$reports/err"
  then ok "$1: a limit on files: the program ends as ever, the report is on standard error"
  else bad "$1: a limit on files: status $status: $(cat "$reports/err")"; fi
  (export NBC_TRACE=calls && scene "$1" 1 calls limit && exit "$status")
  status=$? reports=$work/$1.calls
  if [ "$status" = 0 ] && grep -q '^finalized' "$reports/err"; then ok "$1: a limit on files and a trace of calls"; else bad "$1: trace of calls: status $status: $(cat "$reports/err")"; fi
}
signals() { # mpi
  for case in HUP:1 QUIT:3 XCPU:24 XFSZ:25 ALRM:14; do
    name=${case%:*}
    scene "$1" 1 "signal.$name" signal "${case#*:}"
    if [ "$status" != 0 ] && ls "$reports"/*.0.json >/dev/null 2>&1; then ok "$1: SIG$name ends the program, and there is a report"
    else bad "$1: SIG$name: status $status: $(ls "$reports"; cat "$reports/err")"; fi
  done
}
gather() { # mpi
  (export NBC_GATHER=1 && scene "$1" 2 stuck stuck)
  reports=$work/$1.stuck
  if grep -q '"rank":0,"size":2' "$reports"/*.json 2>/dev/null; then ok "$1: SIGTERM while others are waited for: $(cd "$reports" && ls | grep json | tr '\n' ' ')"
  else bad "$1: SIGTERM while others are waited for: $(ls "$reports"; cat "$reports/err")"; fi
  (export NBC_GATHER=1 && scene "$1" 3 pieces none)
  reports=$work/$1.pieces
  whole=$(ls "$reports"/*.all.json) run=$(basename "$whole" .all.json)
  awk -v at="$reports/$run" '/^{"schema"/ { n++ } { print >(n == 1 ? at ".0.json" : at ".1.all.json") }' "$whole" && rm "$whole"
  if "$B/overlap_report" --no-html "$reports" 2>&1 | grep -q '3 processes'; then ok "$1: files of one rank and of several are read together"
  else bad "$1: $(ls "$reports"; "$B/overlap_report" --no-html "$reports" 2>&1 | head -5)"; fi
}
each() { threads "$1"; many "$1"; limit "$1"; signals "$1"; gather "$1"; }
each_mpi each
finish
