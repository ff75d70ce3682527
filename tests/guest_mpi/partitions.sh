#!/bin/sh
# Partitioned messages of pm_run: what is ready goes, whatever the other partitions wait for (partitions.c).
. tests/test.sh
app=$B/tests/guest_mpi/partitions
if [ ! -x "$app" ]; then
  skip "partitioned messages of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
ways='|--progress dedicated|--eager 0|--eager 100000|--level loggp|--per-node 2'
says() { # SCENE TEXT OPTIONS...
  scene=$1 text=$2 && shift 2
  timeout 300 "$B/pm_run" -n 2 "$@" "$app" "$scene" >"$T/out" 2>"$T/err" || { cat "$T/out" "$T/err"; return 1; }
  [ "$(cat "$T/out")" = "$text" ] || { echo "$*" && cat "$T/out" "$T/err" && return 1; }
}
says_always() { # SCENE TEXT
  IFS='|' && set -- "$1" "$2" "" $ways && unset IFS
  scene=$1 text=$2 && shift 2
  for way; do
    # shellcheck disable=SC2086 # words
    says "$scene" "$text" $way || return 1
  done
}
first_alone='10 ints: first 42, second is there: 0
10000 ints: first 42, second is there: 0'
check "a partition that is ready arrives before the others are" says_always early "$first_alone"
check "what arrives is right whatever the parts, layouts and orders of both sides" says_always contents "0 wrong"
check "requests of one tag meet in the order they were made in" says_always order right
check "more than there is room for is an error, and nothing is written behind the buffer" says_always too_long "truncated: 1 5 0"
check "what was not sent stays as it was" says_always too_short "4 ints, 0 wrong"
check "threads make partitions ready at the same time" says_always threads "0 wrong"
# One of 1 MiB takes 95 us, all eight 760.
last_one_only() {
  IFS='|' && set -- "" $ways && unset IFS
  for way; do
    # shellcheck disable=SC2086 # words
    timeout 300 "$B/pm_run" -n 2 $way "$app" pipeline >"$T/out" 2>"$T/err" && cat "$T/out" "$T/err" &&
      awk '$3 < 90 || $3 > 115 { bad++ } END { exit !(NR == 3 && !bad) }' "$T/out" || return 1
  done
}
check "after the last partition was ready only its own time is left" last_one_only
# Seven of eight move while the sender computes; what the two sides say once to each other is in no report.
each_is_a_transfer() {
  timeout 300 "$B/pm_run" -n 2 --report "$T/report" "$app" pipeline >/dev/null 2>"$T/err" && cat "$T/err" &&
    "$B/overlap_report" "$T/report" >"$T/text" 2>&1 && cat "$T/text" &&
    awk '$1 == "start" && $2 == 48 { n++ } $1 == "isend" || $1 == "irecv" { bad++ }
      $1 == "MPI_Pready" && $2 == 24 && /MiB/ { getline; n += $7 > 87 && $7 < 88 && $9 > 87 && $9 < 88 } END { exit !(n == 2 && !bad) }' "$T/text" &&
    grep -q '"partner":1,"sent_count":27,' "$T"/report/*.0.json
}
check "the report has a transfer for each partition, begun where it was ready" each_is_a_transfer
finish
