#!/bin/sh
# Environment variables choose folder, table, classes, on and off; a wrong value is said once and the
# default kept; a folder that cannot be written loses nothing; the wrong MPI's library stays out.
. tests/mpi/preload_common.sh

message='sendrecv calls 2 transfers 4 bytes 16'
# try MPI NAME VARIABLE=VALUE...: two processes; standard error in $reports/err
try() {
  m=$1 reports=$work/$1.$2
  shift 2
  mkdir "$reports"
  (export "$@" ON=1; measured $m 2 "$B/tests/mpi/preload_ends.$m" >"$reports/out" 2>"$reports/err")
  [ $? = 0 ] && [ "$(tr -d '\n' <"$reports/out")" = finalizedfinalized ] || bad "$m $*: program disturbed"
}
says_once() { # text that the preload says, by one process
  if [ "$(grep -c "nbc_overlap: .*$1" "$reports/err")" = 1 ]; then ok "$(basename "$reports"): says \"$1\""
  else bad "$(basename "$reports"): should say \"$1\" once"; cat "$reports/err"; fi
}
measures() { # the report is there; further arguments: lines it has
  show -n "$reports"/*.json >"$reports/counted" 2>&1
  for line in "$message" "$@"; do
    if grep -qF -- "$line" "$reports/counted"; then ok "$(basename "$reports"): $line"
    else bad "$(basename "$reports"): no line '$line'"; cat "$reports/counted"; fi
  done
}

wrong_values() { # mpi
  try $1 on NBC_ON=maybe
  says_once 'NBC_ON=maybe'
  measures 'note NBC_ON=maybe'
  for classes in 5,3 256,4K, 0x10 1,2,x -1 99999999999999999999 17179869184G ,; do
    try $1 "classes_$classes" NBC_CLASSES=$classes
    says_once "NBC_CLASSES=$classes"
  done
  measures 'note NBC_CLASSES'
  try $1 text NBC_TEXT=yes NBC_PEERS=some
  says_once NBC_TEXT=yes
  says_once NBC_PEERS=some
}

tables() { # mpi
  folder=$work/tables.$1
  mkdir "$folder"
  printf '8 1e-6\n64 2e-6\n1048576 0.001\n' >"$folder/good"
  printf '8 1e-6\n64 2e' >"$folder/cut"
  printf '8 1e-6\nsize time\n' >"$folder/words"
  printf '64 1e-6\n8 2e-6\n' >"$folder/unsorted"
  printf '8 1e-6\n64 -2e-6\n' >"$folder/negative"
  printf '8 1e-6\n64 1e300\n' >"$folder/huge"
  : >"$folder/empty"
  try $1 table_good NBC_TABLE="$folder/good" NBC_TABLE_OTHER="$folder/good" NBC_CLASSES=1,2,4,8K
  measures
  if [ -s "$reports/err" ] || ! grep -q "tables.$1/good" "$reports"/*.0.json; then bad "$1 table_good: not used"
  else ok "$1 table_good: used"; fi
  if tr -d '\n' <"$(ls "$reports"/*.0.json)" | grep -q '\[1,2,4,8192\]'; then ok "$1 classes: used"; else bad "$1 classes: not used"; fi
  for t in cut words unsorted negative huge; do
    try $1 "table_$t" NBC_TABLE="$folder/$t"
    says_once "$folder/$t:.*2.*a guess"
  done
  for t in empty missing; do
    try $1 "table_$t" NBC_TABLE="$folder/$t"
    says_once "$folder/$t:.*a guess"
    measures "note NBC_TABLE"
  done
}

folders() { # mpi
  m=$1 reports=$work/$1.folders
  mkdir "$reports" "$reports/tmp"
  : >"$reports/file" # a file is no folder, also for root
  (export TMPDIR="$reports/tmp" one="$reports"; reports=$reports/file; measured $m 2 "$B/tests/mpi/preload_ends.$m" 2>"$one/err" >"$one/out")
  [ "$(grep -c 'cannot write to .*file.* is in .*tmp' "$reports/err")" = 2 ] && ok "$m: says where the reports went" || { bad "$m: folder"; cat "$reports/err"; }
  show "$reports"/tmp/*.json | grep -qx "$message" && ok "$m: reports in TMPDIR" || bad "$m: no reports in TMPDIR"
  # Open MPI needs TMPDIR for itself: set it for the program only
  (one="$reports"; reports=$reports/file; measured $m 1 env TMPDIR=/dev/null "$B/tests/mpi/preload_ends.$m" 2>"$one/err" >"$one/out")
  sed -n '/^{/,$p' "$reports/err" >"$reports/from_stderr.json"
  show "$reports/from_stderr.json" | grep -q '^sendrecv' && ok "$m: report on standard error" || { bad "$m: no report on standard error"; head -5 "$reports/err"; }
  reports=$work/$m.made
  measured $m 2 "$B/tests/mpi/preload_ends.$m" none >/dev/null
  show "$reports"/*.json | grep -qx "$message" && ok "$m: missing folder is made" || bad "$m: missing folder"
}

switches() { # mpi
  try $1 off NBC_ON=0
  ls "$reports"/*.json >/dev/null 2>&1 && bad "$1 NBC_ON=0: writes a report" || ok "$1 NBC_ON=0: writes nothing"
  try $1 written NBC_TEXT=1 NBC_PEERS=0
  [ "$(cat "$reports"/*.txt | grep -c '^Overlap of')" = 2 ] && ok "$1 NBC_TEXT=1: text" || bad "$1 NBC_TEXT=1: no text"
  measures
  reports=$work/$1.later
  mkdir "$reports"
  NBC_ON=later measured $1 2 "$B/tests/mpi/preload_forms.$1" >/dev/null
  show "$reports"/*.json >"$reports/counted"
  # MPI_Pcontrol(1) comes before the last section only
  printf 'processes 2\nouter/inner sendrecv calls 2 transfers 4 bytes 16\n' | diff - "$reports/counted" && ok "$1 NBC_ON=later" || bad "$1 NBC_ON=later"
}

# Loopback counts what Open MPI sends by TCP; other programs may add to it.
wires() { # mpi
  (export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp
   reports=$work/$1.wire; mkdir "$reports"
   NBC_TRACE=1 NBC_NIC_COUNTERS=lo measured $1 2 "$B/tests/mpi/preload_p2p.$1" >/dev/null)
  reports=$work/$1.wire
  "$B/overlap_report" --json "$reports" >"$reports/sum"
  wire=$(sed -n 's/.*"lo:net\/tx_bytes","section_index":0,"value":\([0-9]*\).*/\1/p' "$reports/sum")
  sent=$(show "$reports"/*.json | awk '$1 ~ /^(i?send|sendrecv)$/ { sum += $7 / ($1 == "sendrecv" ? 2 : 1) } END { printf "%d\n", sum }')
  if [ "$(grep -l lo:net/tx_bytes "$reports"/*.json | wc -l)" = 1 ]; then ok "$1 NBC_NIC_COUNTERS=lo: read by one process of the node"
  else bad "$1 NBC_NIC_COUNTERS=lo: counters"; fi
  [ $1 != openmpi ] || if [ "${wire:-0}" -ge "$sent" ]; then ok "$1 NBC_NIC_COUNTERS=lo: $wire bytes on the wire, $sent sent"
  else bad "$1 NBC_NIC_COUNTERS=lo: $wire bytes on the wire, $sent sent"; fi
  "$B/overlap_trace" -o "$reports/t.json" --otf2 "$reports/archive" "$reports" >"$reports/said" 2>&1 || grep -q 'without OTF2' "$reports/said" || cat "$reports/said"
  drawn=$(jq '[.traceEvents[]|select(.name == "NIC lo:net/tx_bytes, per s" and .pid == 0)]|sort_by(.ts) as $t|[range(1;$t|length)|($t[.].ts - $t[.-1].ts)*1e-6*$t[.-1].args["per s"]]|add * 1.001|floor' "$reports/t.json")
  tracks=$(jq '[.traceEvents[]|select(.cat == "NIC")|.pid]|unique|length' "$reports/t.json")
  if [ "$tracks" = 1 ] && { [ $1 != openmpi ] || [ "$drawn" -ge "$sent" ]; }; then ok "$1 NBC_NIC_COUNTERS=lo: in the timeline, $drawn bytes"
  else bad "$1 NBC_NIC_COUNTERS=lo: in the timeline of $tracks processes, $drawn bytes of $sent"; fi
  if ! command -v otf2-print >/dev/null || grep -q 'without OTF2' "$reports/said"; then skip "$1: no OTF2"
  elif otf2-print "$reports/archive/traces.otf2" | awk '/^METRIC.*lo:net\/tx_bytes/ { v = $0; sub(/.*UINT64; /, "", v); v += 0; if (!n++) first = v; last = v } END { exit !(n > 1 && last - first >= '"$([ "$1" = openmpi ] && echo "$sent" || echo 0)"') }'
  then ok "$1 NBC_NIC_COUNTERS=lo: in OTF2"; else bad "$1 NBC_NIC_COUNTERS=lo: OTF2"; fi
  try $1 nic NBC_NIC_COUNTERS=lo,nosuch0
  says_once 'no NIC nosuch0 here, but .*lo'
  measures 'note NBC_NIC_COUNTERS=lo,nosuch0'
  try $1 nic_alone NBC_NIC_COUNTERS=lo NBC_PEERS=0
  says_once 'NBC_NIC_COUNTERS: not read, because NBC_PEERS=0'
  try $1 nic_auto NBC_NIC_COUNTERS=auto
  measures
}

# What passes calls on: they belong to who called it, however far up. Where the frame between has no fixed size they may stay,
# but each is counted once, and nothing beyond the stack is read.
through() { # mpi
  passed $1 none '' && is_at "Barrier passes_on 35" "Comm_dup swells 43"
  passed $1 names 'pass*_on,outer,swells*' && is_at "Barrier first_place 10" "Barrier second_place 20" "Barrier third_place 5" "Comm_dup (swells|fourth_place|at_the_end_of_a_stack) 43" "Comm_dup fourth_place 1"
  passed $1 unknown 'nobody_has_this,passes_on' && is_at "Barrier first_place 10" "Barrier outer 5" "Comm_dup swells 43"
  says_once 'NBC_THROUGH: no call came through nobody_has_this'
  passed $1 file 'preload_through*' && is_at "Barrier .*libc.* 35"
  passed $1 wrong 'a,,b' && is_at "Barrier passes_on 35"
  says_once 'NBC_THROUGH=a,,b is not a list'
  # of a module of Fortran, by the name that reports have
  "mpicc.$1" -O1 -w -Dpasses_on=__layer_MOD_passes_on tests/mpi/preload_through.c -o "$work/module.$1" 2>/dev/null || bad "$1: no module"
  passed $1 module 'layer::pass*' "$work/module.$1" && is_at "Barrier layer::passes_on 0" "Barrier first_place 10" "Barrier second_place 20" "Barrier outer 5"
  # without a table of symbols, by what it exports
  "mpicc.$1" -O1 -w -rdynamic -s tests/mpi/preload_through.c -o "$work/stripped.$1" && passed $1 exported passes_on "$work/stripped.$1" && is_at "Barrier passes_on 0" "Barrier . 35"
}
passed() { # mpi NAME NBC_THROUGH [PROGRAM]
  reports=$work/$1.through_$2
  mkdir "$reports"
  NBC_THROUGH=$3 measured $1 1 "${4:-$B/tests/mpi/preload_through.$1}" >"$reports/out" 2>"$reports/err"
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >"$reports/text" 2>&1
  grep -q '^83 done$' "$reports/out" || bad "$(basename "$reports"): program disturbed"
}
is_at() { # "CALL PLACE CALLS"...
  for line in "$@"; do
    n=$(awk -F, -v call="\"MPI_${line%% *}\"" -v where="$(echo "$line" | cut -d' ' -f2)" '$1 == call && $2 ~ where { n += $5 } END { print n + 0 }' "$reports/csv/places.csv")
    if [ "$n" = "${line##* }" ]; then ok "$(basename "$reports"): $line"; else bad "$(basename "$reports"): $n instead of $line"; cat "$reports/csv/places.csv"; fi
  done
}

# Transfers belong to the place where they began, in threads, too, and behind a layer, and each place has its bounds.
# shellcheck disable=SC2086 # none, or one
places() { # mpi
  windows=windows
  [ "$1" = openmpi ] && windows= # its windows are not for several threads
  for i in 1 2 3; do # who loses its core between two calls has computed there, for the monitor
    reports=$work/$1.places$i
    mkdir "$reports"
    NBC_TRACE=first NBC_THROUGH=layer measured $1 2 "$B/tests/mpi/preload_places.$1" 3 $windows >"$reports/out" 2>"$reports/err"
    "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >"$reports/text" 2>&1
    each_place && break
  done
  grep -q '^done$' "$reports/out" || bad "$(basename "$reports"): program disturbed"
  begun "irecv hidden 16" "isend hidden 16" "irecv bare 16" "isend bare 16" "start lent 32" "isend upper 16" "recv upper 16" "send sender 8" "irecv any 8" "sendrecv in_thread 12" "sendrecv unseen 0" "bcast told 16" "allreduce any 8"
  [ -z "$windows" ] || begun "put laid 16" "get taken 16"
  ended "Waitall hidden Irecv hidden 16" "Waitall bare Isend bare 16" "Wait upper Isend upper 16" "Wait lent Start lent 32"
  if awk -F, 'FNR == 1 { next } FNR == NR { total[$1 "," $2] += $6; next } { waited[$1 "," $2] += $6 } END { for (k in waited) if (waited[k] > total[k]) { print k, waited[k], total[k]; exit 1 } }' "$reports/csv/places.csv" "$reports/csv/endings.csv"
  then ok "$1: what was waited is shared"; else bad "$1: what was waited is shared"; fi
  if grep -Eq '^"MPI_(Send|Recv|Sendrecv|Bcast|Allreduce)"' "$reports/csv/endings.csv"; then bad "$1: what ends where it began: $(cat "$reports/csv/endings.csv")"
  else ok "$1: nothing is told to end where it began"; fi
  if each_place; then ok "$1: each place has its bounds"; else bad "$1: bounds of places"; cat "$reports/text"; fi
}
each_place() {
  awk -F, '$2 == "irecv" && $16 ~ /hidden/ { if ($9 < 0.9 * $7) exit 1; n++ } $2 == "irecv" && $16 ~ /bare/ { if ($1 != "\"waits\"" || $9 > 0.75 * $7) exit 1; n++ } END { if (n < 2) exit 1 }' "$reports/csv/transfers.csv" &&
    grep -q '^Transfers by place ' "$reports/text" && grep -Eq '^  [0-9]*\. .* at (upper|lent|bare|hidden|any|in_thread|sender) ' "$reports/text"
}
ended() { # "CALL PLACE CALL PLACE COUNT"...: where they ended, where they began
  for line in "$@"; do
    n=$(echo "$line" | while read -r call where by at _; do
      awk -F, -v call="\"MPI_$call\"" -v where="\"$where " -v by="\"MPI_$by\"" -v at="\"$at " '$1 == call && index($2, where) == 1 && $3 == by && index($4, at) == 1 { n += $5 } END { print n + 0 }' "$reports/csv/endings.csv"
    done)
    if [ "$n" = "${line##* }" ]; then ok "$(basename "$reports"): ended: $line"; else bad "$(basename "$reports"): ended: $n instead of $line"; cat "$reports/csv/endings.csv"; fi
  done
}
begun() { # "KIND PLACE COUNT"...
  for line in "$@"; do
    n=$(awk -F, -v kind="${line%% *}" -v where="\"$(echo "$line" | cut -d' ' -f2) " '$2 == kind && index($16, where) == 1 && $15 == "\"MPI_" toupper(substr(kind, 1, 1)) substr(kind, 2) "\"" { n += $5 } END { print n + 0 }' "$reports/csv/transfers.csv")
    if [ "$n" = "${line##* }" ]; then ok "$(basename "$reports"): $line"; else bad "$(basename "$reports"): $n instead of $line"; cat "$reports/csv/transfers.csv"; fi
  done
}

all() { wires $1; turn $1 wrong_values $1; turn $1 tables $1; turn $1 folders $1; turn $1 switches $1; turn $1 through $1; turn $1 places $1; }
if [ -n "$TEST_ONLY" ]; then # "through mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
  finish
fi
each_mpi all

if have_mpi openmpi && have_mpi mpich; then
  reports=$work/wrong_mpi
  mkdir "$reports"
  out=$(NBC_REPORT_DIR=$reports LD_PRELOAD=$(library openmpi) timeout 300 "$B/tests/mpi/preload_ends.mpich" 2>"$reports/err")
  if [ "$out" = finalized ] && grep -q 'made for Open MPI, but' "$reports/err" && ! ls "$reports"/*.json >/dev/null 2>&1
  then ok "library of another MPI: says so, stays out"; else bad "library of another MPI"; cat "$reports/err"; fi
fi
finish
