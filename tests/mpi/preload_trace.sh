#!/bin/sh
# NBC_TRACE=1: the timeline agrees with the report, is JSON, is read back as OTF2, keeps the newest records,
# is said to be lost on a full disk; damaged files are refused.
. tests/mpi/preload_common.sh
tool=$B/overlap_trace
# traced MPI PROCESSES NAME SCENE...: into $reports
traced() {
  m=$1 n=$2 reports=$work/$1.$3
  mkdir -p "$reports"
  shift 3
  NBC_TRACE=${NBC_TRACE:-1} measured "$m" "$n" "$B/tests/mpi/preload_truth.$m" "$@" >"$reports/out" 2>"$reports/err"
}
# asks NAME FILTER: of the JSON, true
asks() { if jq -e "$2" "$reports/t.json" >/dev/null 2>&1; then ok "$1"; else bad "$1: $2"; fi; }
picture() { # mpi
  traced "$1" 2 picture late
  "$tool" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1 || bad "$1: overlap_trace: $(cat "$reports/said")"
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >/dev/null 2>&1
  for call in wait barrier isend; do
    name=MPI_$(echo "$call" | cut -c1 | tr a-z A-Z)$(echo "$call" | cut -c2-)
    there=$(jq "[.traceEvents[]|select(.ph==\"X\" and .name==\"$name\")]|length" "$reports/t.json")
    counted=$(awk -F, -v k="$call" '$2 == k { s += $3 } END { print s }' "$reports/csv/calls.csv")
    if [ "$there" = "$counted" ] && [ "$there" -gt 0 ]; then ok "$1: $there calls of $name"; else bad "$1: $name: $there in the timeline, $counted in the report"; fi
  done
  asks "$1: transfers have two ends, and bounds within their time" '[.traceEvents[]|select(.cat=="transfer")] as $t |
    ([$t[]|select(.ph=="b")]|length) == 10 and ([$t[]|select(.ph=="e")]|length) == 10 and
    ([$t[]|select(.ph=="b")|.args|select(.hidden_at_least_us <= .hidden_at_most_us and .hidden_at_most_us <= .takes_us and .bytes == 64)]|length) == 10'
  asks "$1: transfers name their partner" '[.traceEvents[]|select(.cat=="transfer" and .ph=="b")|.pid + .args.partner]|unique == [1]'
  asks "$1: the late send comes when its receiver has waited" '[.traceEvents[]|select(.name=="MPI_Wait" and .pid==1)|.dur]|max > 20000'
  asks "$1: calls name their place" '[.traceEvents[]|select(.name=="MPI_Wait")|.args.in]|unique == ["wait_here"] or (.[0]|type) == "string"'
  traced "$1" 2 regions regions
  "$tool" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1
  asks "$1: sections hold what they hold" '[.traceEvents[]|select(.cat=="section")] as $s | ([$s[].name]|unique|length) == 6 and ([$s[]|select(.name=="solve" or .name=="sum")]|length) == 12 and ([$s[]|select(.name=="L\u00f6ser")]|length) == 2 and
    ([.traceEvents[]|select(.name=="MPI_Allreduce")|. as $c|select([$s[]|select(.name=="sum" and .pid==$c.pid and .ts <= $c.ts and .ts+.dur >= $c.ts+$c.dur)]|length == 1)]|length) == 6'
}
otf2() { # mpi
  reports=$work/$1.picture
  command -v otf2-print >/dev/null || { skip "$1: no otf2-print"; return; }
  if "$tool" --otf2 "$reports/archive" "$reports" >"$reports/said" 2>&1 && otf2-print "$reports/archive/traces.otf2" >"$reports/printed" 2>&1; then
    there=$(grep -c '^ENTER.*"MPI_Wait"' "$reports/printed") left=$(grep -c '^LEAVE.*"MPI_Wait"' "$reports/printed") sent=$(grep -c '^ENTER.*"isend"' "$reports/printed")
    if [ "$there" = 10 ] && [ "$left" = 10 ] && [ "$sent" = 5 ] && grep -q 'hidden at most' "$reports/printed"; then ok "$1: OTF2 read back: $there waits, $sent sends with their bounds"
    else bad "$1: OTF2: $there waits entered, $left left, $sent sends"; fi
  elif grep -q 'without OTF2' "$reports/said"; then skip "$1: built without OTF2"
  else bad "$1: OTF2: $(cat "$reports/said" "$reports/printed")"; fi
}
# Who waits by looking. Each look that found nothing is counted where it stands, those that found something stand alone; a
# process that loses its core now and then makes some records more. Looks that yield it are few on a busy machine.
looks() { # mpi
  for _ in 1 2 3; do # who has no core until the message is there looks once
    rm -rf "$work/$1.looks"
    OMPI_MCA_mpi_yield_when_idle=0 traced "$1" 2 looks looks
    "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >/dev/null 2>&1
    awk -F, '$2 == "iprobe" && $3 > 30 { many = 1 } END { exit !many }' "$reports/csv/calls.csv" && break
  done
  "$tool" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1 || bad "$1: overlap_trace: $(cat "$reports/said")"
  for call in Test Iprobe; do
    told=$(jq "[.traceEvents[]|select(.name==\"MPI_$call\")|.args.looks // 1]|add" "$reports/t.json")
    counted=$(awk -F, -v k="$(echo $call | tr TI ti)" '$2 == k { s += $3 } END { print s }' "$reports/csv/calls.csv")
    if [ "$told" = "$counted" ] && [ "$told" -gt 30 ]; then ok "$1: $told looks by MPI_$call, all told"; else bad "$1: MPI_$call: $told told, $counted counted"; fi
  done
  asks "$1: looks in vain are one record" '[.traceEvents[]|select(.name=="MPI_Test" or .name=="MPI_Iprobe")|.args] as $a |
    ([$a[]|.looks // 1]|add) > 4 * ($a|length) and ($a|map(select(.looks))|length) > 0 and
    ([.traceEvents[]|select(.args.looks)]|all(.args.looks > 1 and .args.computed_between_us >= 0 and .args.computed_between_us < .dur))'
  asks "$1: looks with computation or other calls between them are not" '[.traceEvents[]|select(.cat=="call" and .pid==1)]|sort_by(.ts) as $c |
    [$c[]|select(.name=="MPI_Test")][0:7]|all(.args.looks == null)'
  asks "$1: the look that found the message stands alone" '[.traceEvents[]|select(.cat=="call" and .args.looks == null)|((.ts+.dur)*1000|round)] as $ends |
    [.traceEvents[]|select(.cat=="transfer" and .ph=="e" and .pid==1)|(.ts*1000|round)] as $t | ($t|length) == 5 and ([.traceEvents[]|select(.name=="MPI_Iprobe")]|sort_by(.ts)|last|.args.looks == null) and ($t|all(. as $x | [$ends[]|select(. >= $x - 2 and . <= $x + 2)]|length > 0))'
  traced "$1" 4 by_turns lasts
  "$tool" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1
  asks "$1: looks for two things by turns are one record" '[.traceEvents[]|select(.name=="MPI_Test" or .name=="MPI_Iprobe")|.args|select(.tests_and_probes)] as $a | ($a|length) > 0 and all($a[]; .looks > 1)'
}
newest() { # mpi
  (export NBC_TRACE_MIB=1 && traced "$1" 1 newest many 40000)
  reports=$work/$1.newest
  "$tool" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1
  kept=$(jq '[.traceEvents[]|select(.cat=="call")]|length' "$reports/t.json")
  if [ "$kept" = 16384 ] && grep -q 'newest of 4[0-9]*' "$reports/said"; then ok "$1: the ring keeps 16,384 and says so"; else bad "$1: $kept kept: $(cat "$reports/said")"; fi
  asks "$1: the ring keeps the newest" '[.traceEvents[]|select(.cat=="call")]|last.name == "MPI_Barrier"'
  "$tool" -o /dev/full "$reports" >/dev/null 2>"$reports/err"
  if [ $? = 1 ] && grep -q '/dev/full: No space' "$reports/err"; then ok "$1: a full disk is said"; else bad "$1: full disk: $(cat "$reports/err")"; fi
}
first() { # mpi
  (export NBC_TRACE_MIB=1 NBC_TRACE=first && traced "$1" 1 first many 40000)
  reports=$work/$1.first
  "$tool" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1
  kept=$(jq '[.traceEvents[]|select(.cat=="call")]|length' "$reports/t.json")
  if [ "$kept" = 16384 ] && grep -q 'the first of a longer run' "$reports/said"; then ok "$1: first: 16,384 are kept and that is said"; else bad "$1: first: $kept kept: $(cat "$reports/said")"; fi
  asks "$1: first: they are the first ones" '[.traceEvents[]|select(.cat=="call")|.name]|unique == ["MPI_Wait"]'
}
sampled() { # mpi
  (export NBC_TRACE_EVERY=100 && traced "$1" 2 sampled steps 300)
  reports=$work/$1.sampled
  "$tool" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1
  grep -q 'each section once in 100 times' "$reports/said" && ok "$1: sampled: that is said" || bad "$1: sampled: $(cat "$reports/said" "$reports/err")"
  asks "$1: sampled: the first, the 101st and the 201st, also within" '[.traceEvents[]|select(.cat=="section" and .name=="step")] as $s |
    ([.traceEvents[]|select(.cat=="section" and .name=="halo")] as $h | ($s|length) == 6 and ($h|length) == 6 and
    ([$h[]|. as $x|select([$s[]|select(.pid==$x.pid and .ts <= $x.ts and .ts+.dur >= $x.ts+$x.dur)]|length == 1)]|length) == 6)'
  asks "$1: sampled: their calls, and all outside" '([.traceEvents[]|select(.name=="MPI_Waitall")]|length) == 6 and ([.traceEvents[]|select(.name=="MPI_Isend")]|length) == 6 and
    ([.traceEvents[]|select(.name=="MPI_Barrier")]|length) == 600'
  asks "$1: sampled: their transfers" '[.traceEvents[]|select(.cat=="transfer" and .ph=="b")|.args.bytes]|sort == [1,1,1,1,101,101,101,101,201,201,201,201]'
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >/dev/null 2>&1
  counted=$(awk -F, '$2 == "isend" { s += $3 } END { print s }' "$reports/csv/calls.csv")
  [ "$counted" = 600 ] && ok "$1: sampled: the report has all" || bad "$1: sampled: the report has $counted sends"
  (export NBC_TRACE_EVERY=0 && traced "$1" 1 not_sampled many 1)
  grep -q 'NBC_TRACE_EVERY=0 is not a number' "$work/$1.not_sampled/err" && ok "$1: NBC_TRACE_EVERY=0 is refused" || bad "$1: NBC_TRACE_EVERY=0: $(cat "$work/$1.not_sampled/err")"
  (export NBC_TRACE_EVERY=2 NBC_TRACE=first && traced "$1" 1 first_sampled many 1)
  grep -q 'NBC_TRACE_EVERY is for NBC_TRACE=1' "$work/$1.first_sampled/err" && ok "$1: the first records are not sampled" || bad "$1: first and NBC_TRACE_EVERY: $(cat "$work/$1.first_sampled/err")"
}
no_room() { # mpi
  reports=$work/$1.no_room
  mkdir "$reports"
  (export TMPDIR="$reports" NBC_TRACE_MIB=256 NBC_TRACE=1
    measured "$1" 1 sh -c "trap '' XFSZ; ulimit -f 122880; exec $B/tests/mpi/preload_truth.$1 many 1100000" >"$reports/out" 2>"$reports/err")
  if grep -q 'timeline of rank 0 is lost' "$reports/err" && [ -z "$(ls "$reports" | grep trace)" ] && ls "$reports" | grep -q json
  then ok "$1: a timeline that finds no room is said to be lost; the report is there"; else bad "$1: no room: $(ls "$reports"; cat "$reports/err")"; fi
}
refuses() { # NAME TEXT: $work/bad.trace
  "$tool" -o "$work/bad.json" "$work/bad.trace" >/dev/null 2>"$work/bad.err"
  status=$?
  if [ $status -gt 0 ] && [ $status -lt 3 ] && grep -q "$2" "$work/bad.err"; then ok "$1 is refused"; else bad "$1: status $status: $(cat "$work/bad.err")"; fi
}
damaged() { # mpi
  whole=$(ls "$work/$1.picture"/*.0.trace)
  head -c $(($(wc -c <"$whole") - 10)) "$whole" >"$work/bad.trace" && refuses "$1: a file cut in its records" 'cut off'
  head -c 60 "$whole" >"$work/bad.trace" && refuses "$1: a file cut in its lines" 'cut off\|damaged'
  echo hello >"$work/bad.trace" && refuses "$1: another file" 'no timeline'
  (sed '/^$/q' "$whole"; head -c "$(($(wc -c <"$whole") * 2))" /dev/urandom) >"$work/bad.trace"
  timeout 60 "$tool" -o "$work/bad.json" "$work/bad.trace" >/dev/null 2>"$work/bad.err"
  status=$?
  if [ $status = 0 ] && jq . "$work/bad.json" >/dev/null && grep -q 'make no sense' "$work/bad.err"; then ok "$1: random records are left out"; else bad "$1: random records: $status $(cat "$work/bad.err")"; fi
}
off() { # mpi
  reports=$work/$1.off
  mkdir "$reports"
  measured "$1" 1 "$B/tests/mpi/preload_truth.$1" many 1 >/dev/null 2>&1
  [ -z "$(ls "$reports" | grep trace)" ] && ok "$1: no timeline unless asked" || bad "$1: $(ls "$reports")"
}
by_nbc() { # mpi
  reports=$work/$1.nbc
  mkdir "$reports"
  (cd "$reports" && "$B/nbc" see --trace --no-table -o here "mpirun.$1" -n 2 "$B/tests/mpi/preload_truth.$1" regions >out 2>err)
  [ $? = 0 ] && jq -e '.traceEvents|length > 20' "$reports/here/overlap_trace.json" >/dev/null && ok "$1: nbc see --trace" || bad "$1: nbc see --trace: $(cat "$reports/out" "$reports/err")"
  (cd "$reports" && "$B/nbc" see --no-table -o plain "mpirun.$1" -n 2 "$B/tests/mpi/preload_truth.$1" late >out 2>err)
  [ $? = 0 ] && grep -q '^first 0' "$reports"/plain/*.0.trace && grep -q '^By both sides' "$reports/out" && ! [ -e "$reports/plain/overlap_trace.json" ] &&
    ok "$1: nbc see keeps the begin for bounds by both sides" || bad "$1: nbc see: $(cat "$reports/out" "$reports/err")"
  (cd "$reports" && "$B/nbc" see --no-trace --no-table -o none "mpirun.$1" -n 2 "$B/tests/mpi/preload_truth.$1" late >out 2>err)
  [ $? = 0 ] && ! ls "$reports/none" | grep -q 'trace$' && ok "$1: nbc see --no-trace keeps none" || bad "$1: nbc see --no-trace: $(ls "$reports/none")"
}
each() {
  picture "$1"
  for what in off otf2 looks newest first sampled no_room damaged by_nbc; do turn "$1" $what "$1"; done
}
if [ -n "$TEST_ONLY" ]; then # "looks mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
  finish
fi
each_mpi each
finish
