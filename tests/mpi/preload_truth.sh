#!/bin/sh
# What the report says of programs whose truth is known: sends that return before their data arrives,
# messages to oneself, a partner that computes without progress, a late one; where and who; the table
# that xfer_table writes; and all of it by the command `nbc`.
. tests/mpi/preload_common.sh
export XDG_CACHE_HOME="$work/cache"
mkdir -p "$work/cache/nbc_overlap"

# scene MPI SCENE [TRY]: into $reports, its text into $reports/text
scene() {
  reports=$work/$1.$2$3
  mkdir "$reports"
  measured "$1" 2 "$B/tests/mpi/preload_truth.$1" "$2" >"$reports/out" 2>"$reports/err"
  "$B/overlap_report" -o "$reports/page.html" --csv "$reports/csv" "$reports" >"$reports/text" 2>&1 || cat "$reports/text"
}
# of KIND PEER COLUMN: the sum over the cells of transfers.csv
of() { awk -F, -v kind="$1" -v peer="$2" -v at="$3" '$2 == kind && $4 == peer { s += $at } END { printf "%.0f\n", s }' "$reports/csv/transfers.csv"; }
says() { # WHAT TEXT
  if grep -q -- "$2" "$reports/text"; then ok "$1"; else bad "$1: not in the report: $2"; tail -30 "$reports/text"; fi
}
eager() { # mpi
  scene "$1" eager
  truth=$(sed -n 's/.*hidden_ns //p' "$reports/out") most=$(of send same_node 9) least=$(of send same_node 8)
  if [ -n "$truth" ] && [ "$truth" -le "$most" ] && [ "$least" = 0 ]; then
    ok "$1: eager sends: $(cat "$reports/out"), reported $least to $most"
  else bad "$1: eager sends: $(cat "$reports/out"), reported $least to $most"; fi
  if grep -q 'nonblocking form' "$reports/text" && grep -A3 'send, up to' "$reports/text" | grep -q 'nonblocking form'; then
    bad "$1: advises a nonblocking send of 64 bytes"
  else ok "$1: no advice to send 64 bytes without blocking"; fi
}
self() { # mpi
  scene "$1" self
  if grep -q 'computing: 0$' "$reports/out" && [ "$(of isend self 5)" = 100 ] && [ "$(of isend self 8)" = 0 ] && [ "$(of irecv self 8)" = 0 ]; then
    ok "$1: messages to oneself: no minimum"
  else bad "$1: messages to oneself: $(cat "$reports/out") $(cat "$reports/csv/transfers.csv")"; fi
}
# all its time in these calls, of which nearly all passed before the other one had called
all_for_the_late() {
  awk -F, 'FNR == NR { if ($2 ~ /^(waitall|probe|sendrecv)$/) calls += $4; next } $1 == 1 { waited = $7; known = $10; late = $11 }
    END { print calls, waited, known, late; exit !(waited <= calls && waited >= 0.9 * calls && known >= 0.9 * waited && late >= 0.8 * waited) }' "$reports/csv/calls.csv" "$reports/csv/pairs.csv" >"$reports/sums"
}
told_of_looks() {
  grep -q 'rank 0 was late' "$reports/text" && ! grep -q 'rank 1 was late' "$reports/text" && grep -q 'rank 0 waited .* for rank 1' "$reports/text" &&
    awk -F, '$1 == 1 { exit !($11 >= 8e7) }' "$reports/csv/pairs.csv"
}
# The parts of 50 ms that one waited for another, of those that did: FIELD FIELD: pairs.csv's rank, partner
who_was_last() { # FILE TRUTH LEAST OTHERS: least of what is true, ns that others may have
  awk -F, -v truth="$2" -v least="$3" -v others="$4" 'BEGIN { wanted = split(truth, x, " ") / 2; for (i = 1; i < 2 * wanted; i += 2) want[x[i]] = x[i + 1] * 5e7 }
    NR > 1 { k = $1 "," $2; if (k in want) { if ($15 < least * want[k]) print "little: " k, $15; else n++ } else if ($15 > others) { print "too much: " k, $15; bad++ } }
    END { exit !(n == wanted && !bad) }' "$1"
}
last_of() { # MPI SCENE TRUTH LINE
  for i in 1 2 3 4 5 6 7 8 9 10; do # on a busy machine others are late, too
    reports=$work/$1.$2$i
    mkdir "$reports"
    NBC_TRACE=first measured "$1" 4 "$B/tests/mpi/preload_truth.$1" "$2" >"$reports/out" 2>"$reports/err"
    grep -q 'no persistent' "$reports/out" && { skip "$1: $2: no persistent collectives"; return; }
    "$B/overlap_report" -o "$reports/page.html" --csv "$reports/csv" "$reports" >"$reports/text" 2>&1
    who_was_last "$reports/csv/pairs.csv" "$3" 0.7 4e7 && break
  done
  if who_was_last "$reports/csv/pairs.csv" "$3" 0.7 4e7 && grep -q "$4" "$reports/text" && grep -q 'data-table="last"' "$reports/page.html"
  then ok "$1: who comes last at collectives, $2"; else bad "$1: $2: $(cat "$reports/csv/pairs.csv") $(grep -A4 'Who comes' "$reports/text")"; fi
}
last() { # mpi
  last_of "$1" last '0,1 6 2,1 3 3,1 3 1,0 3 2,0 2 2,3 4' 'rank 1: others waited [0-9.]* ms for it, in [0-9]* of their calls; rank 0 most'
  # of those who look at least what others have waited: whoever lost the core between two looks may have computed
  last_of "$1" lasts '0,1 1 0,2 3 0,3 2 1,0 3 1,2 3 1,3 1 2,0 1 2,1 5 2,3 1 3,0 3 3,1 2 3,2 4' 'rank 2: others waited [0-9.]* ms for it'
  last_of "$1" merged '0,1 2 2,1 2 3,1 2 1,0 1 2,0 1 3,0 1 0,3 2 2,3 1 0,2 1 1,2 1 3,2 1' 'rank 1: others waited [0-9.]* ms for it'
  last_of "$1" lasts_prepared '0,1 3 0,2 2 0,3 2 1,2 2 1,3 2 2,1 3 2,3 2 3,1 3 3,2 2' 'rank 1: others waited [0-9.]* ms for it'
}
partners() { # mpi
  for i in 1 2 3 4 5; do # on a busy machine the one who computes may wait as long for its core
    NBC_TRACE=1 scene "$1" stalled "$i"
    grep -q 'probably progress at the partner: both had called' "$reports/text" && break
  done
  says "$1: progress at the partner" 'probably progress at the partner: both had called'
  says "$1: the place of the wait" 'MPI_Wait .*wait_here'
  grep -q 'class="map"' "$reports/page.html" && ok "$1: who sends to whom, as a picture" || bad "$1: no map on the page"
  NBC_TRACE=1 scene "$1" late
  says "$1: a late partner" 'rank 0 was late'
  for i in 1 2 3; do # who is late by a core that others have
    NBC_TRACE=1 scene "$1" nulls "$i"
    all_for_the_late && break
  done
  if all_for_the_late
  then ok "$1: null requests, probes and exchanges: waited for the one who is late"; else bad "$1: nulls: $(cat "$reports/sums" "$reports/csv/pairs.csv" "$reports/csv/calls.csv")"; fi
  for i in 1 2 3; do
    NBC_TRACE=first NBC_TRACE_MIB=1 scene "$1" looks "$i"
    told_of_looks && break
  done
  if told_of_looks; then ok "$1: who looks in vain waits; a short MPI_Ssend that waits is not told as if it had not"
  else bad "$1: looks: $(grep -A6 'Who waits' "$reports/text") $(cat "$reports/csv/pairs.csv")"; fi
  scene "$1" late alone
  if grep -q 'timelines of both would tell' "$reports/text" && ! grep -q 'was late' "$reports/text"; then ok "$1: without timelines nobody is blamed"
  else bad "$1: without timelines: $(grep -A4 'Who waits' "$reports/text")"; fi
}
# Who waits for another beside messages to itself, waits for the other.
beside() { # mpi
  NBC_TRACE=1 scene "$1" beside
  awk -F, '$1 == 1 { t[$2] = $11 + $12 } END { print t[1] + 0, t[0] + 0; exit !(t[0] >= 1e7 && t[1] + 0 < t[0] / 10) }' "$reports/csv/pairs.csv" >"$reports/sums"
  if [ $? = 0 ] && ! grep -q 'rank 1 waited .* for rank 1' "$reports/text"; then ok "$1: messages to oneself are not what others are waited for: $(cat "$reports/sums") ns"
  else bad "$1: beside messages to oneself: $(cat "$reports/sums") $(grep -A4 'Who waits' "$reports/text")"; fi
  scene "$1" beside alone
  awk -F, '$1 == 1 { t[$2] = $7 } END { print t[1] + 0, t[0] + 0; exit !(t[0] >= 1e7 && t[1] + 0 < t[0] / 10) }' "$reports/csv/pairs.csv" >"$reports/sums"
  if [ $? = 0 ] && awk -F, '$4 == "self" { n++; own += $13 } $4 == "same_node" { all += $13 } END { exit !(n && own < all / 10) }' "$reports/csv/transfers.csv"; then ok "$1: nor without timelines: $(cat "$reports/sums") ns"
  else bad "$1: beside, without timelines: $(cat "$reports/sums" "$reports/csv/transfers.csv")"; fi
  scene "$1" beside_any # then nobody knows before the end that it is from oneself
  if grep -A1 'rank 1 waited .* for rank 1' "$reports/text" | grep -q 'itself, or others'; then ok "$1: of whom it is not known it is not said"
  else bad "$1: beside, from any source: $(grep -A4 'Who waits' "$reports/text")"; fi
}
# What ends in one call has its time together: of puts at a fence each as much, by those transfers and by timelines.
together() { # mpi
  NBC_TRACE=1 scene "$1" together
  awk -F, '$2 ~ /^(put|atomic)$/ { w[$2 " " $4] += $13 } END { a = w["put same_node"]; b = w["atomic same_node"]; o = w["put self"]
    print a, b, o; exit !(a > 1e7 && a - b < 1000 && b - a < 1000 && o < 1000) }' "$reports/csv/transfers.csv" >"$reports/sums"
  if [ $? = 0 ]; then ok "$1: puts that end in one call waited equally, those to oneself not: $(cat "$reports/sums") ns"
  else bad "$1: puts that end in one call waited $(cat "$reports/sums") ns: $(cat "$reports/csv/transfers.csv")"; fi
  awk -F, '/^"MPI_Wait/ { split($0, q, "\""); n += $(NF - 1); e[q[6] q[8]] += $NF } FNR == NR { next }
    $2 == "irecv" || $2 == "isend" { split($0, q, "\""); t[q[6] q[8]] += $13 } END { for (k in e) { d = e[k] - t[k]; print k, e[k], t[k]; if (d > 1000 || d < -1000) different = 1 }
    exit different || n < 4 }' "$reports/csv/endings.csv" "$reports/csv/transfers.csv" >"$reports/sums"
  if [ $? = 0 ]; then ok "$1: what waited is the same by what began it and by what ended it"; else bad "$1: waited, by timelines and by transfers: $(cat "$reports/sums")"; fi
}
# Who is in a call when a signal ends the run: the call is told, with its place and its time until then.
hangs() { # mpi
  scene "$1" hangs >/dev/null
  says "$1: in which call a program hung" 'a call of MPI_Recv was not over when this was written'
  if awk -F, '/^"MPI_Recv","hang_here/ { n += $5; ns += $6 } END { exit !(n >= 1 && ns > 5e8) }' "$reports/csv/places.csv" &&
    awk -F, 'FNR == 1 { next } FNR == NR { calls += $4; next } { all += $5 } END { exit !(calls == all && all > 5e8) }' "$reports/csv/calls.csv" "$reports/csv/ranks.csv"; then ok "$1: ... and for how long"
  else bad "$1: how long a program hung: $(cat "$reports/csv/places.csv" "$reports/csv/calls.csv" "$reports/csv/ranks.csv")"; fi
}
# An error handler may leave a call by longjmp: the run ends as without us, and the calls that follow are seen.
leaves() { # mpi
  scene "$1" leaves
  if [ ! -s "$reports/err" ] && [ "$(of irecv same_node 8)" = 0 ] && [ "$(of irecv same_node 9)" = "$(of irecv same_node 7)" ] && ! grep -q 'was not over' "$reports/text" &&
    awk -F, '/^"MPI_Sendrecv"/ { n += $5 } /^"MPI_Send"/ { sent += $5 } /^"MPI_Iprobe"/ { within++ } END { exit !(n == 20 && sent == 6 && !within) }' "$reports/csv/places.csv"
  then ok "$1: a call that a handler leaves by longjmp ends with the next one"
  else bad "$1: handlers that leave by longjmp: $(cat "$reports/err" "$reports/csv/places.csv" "$reports/text")"; fi
}
behind() { # mpi
  for i in 1 2 3; do # on a busy machine the large one may be waited for as long, for a core
    NBC_TRACE=1 scene "$1" behind "$i"
    grep -q 'progress at the partner' "$reports/text" || break
  done
  if grep -q 'rank 1 waited .* for rank 0' "$reports/text" && ! grep -q 'progress at the partner' "$reports/text"; then
    ok "$1: who waits for a small message does not wait for a large one"
  else bad "$1: who waits for a small message: $(grep -A4 'Who waits' "$reports/text")"; fi
  scene "$1" behind alone # without timelines nobody knows, but what was waited for was small
  if grep -q 'rank 1 waited .* for rank 0' "$reports/text" && ! grep -q 'progress at the partner' "$reports/text"; then
    ok "$1: nor without timelines"
  else bad "$1: behind, without timelines: $(grep -A4 'Who waits' "$reports/text")"; fi
}
regions() { # mpi
  scene "$1" regions
  n=$(show "$reports"/*.json | grep -c 'solve/sum allreduce calls 6 transfers 6')
  if [ "$n" = 1 ]; then ok "$1: regions of other tools are sections"; else bad "$1: regions: $(show "$reports"/*.json)"; fi
  got=$(cut -d, -f1,2 "$reports/csv/transfers.csv" | sed -n 's/,bcast$//p' | sort -u | LC_ALL=C sort | tr '\n' ' ')
  wanted='"L\303\266ser" "Solver<double>::apply_the_preconditioner_to_a_block_of_columns_" "a name of sixty-two bytes and then a letter that has two more " "level 2" '
  # shellcheck disable=SC2059 # for its letters
  if [ "$got" = "$(printf "$wanted")" ]; then ok "$1: names of sections, long ones and of other letters"; else bad "$1: names of sections: $got"; fi
}
itself() { # what measuring costs is said, and is neither computation nor communication
  reports=$work/$1.cost
  mkdir "$reports"
  measured "$1" 1 "$B/tests/mpi/preload_life.$1" comms >/dev/null 2>&1
  "$B/overlap_report" --no-html "$reports" >"$reports/text" 2>&1
  says "$1: own cost" 'measuring itself .* %'
}
places() { # mpi language...: each call of a Fortran program belongs to the program, not to the library between
  m=$1 && shift
  for f in "$@"; do
    [ -x "$B/tests/mpi/preload_fortran_$f.$m" ] || { skip "$m: no Fortran program $f"; continue; }
    reports=$work/$m.$f
    mkdir "$reports"
    measured "$m" 2 "$B/tests/mpi/preload_fortran_$f.$m" >/dev/null 2>&1
    "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >/dev/null
    n=$(grep -c "preload_fortran_$f" "$reports/csv/places.csv") all=$(($(wc -l <"$reports/csv/places.csv") - 1))
    if [ "$n" = "$all" ] && [ "$n" -gt 5 ]; then ok "$m: $f: all $n places are in the program"; else bad "$m: $f: $n of $all places are in the program"; fi
  done
}
slow_table() { # mpi PROCESSES ARGUMENT...: of xfer_table, while some messages wait before they leave
  m=$1 n=$2 slow=$B/tests/mpi/preload_slow_sizes.$1.so
  shift 2
  case $m in openmpi) set -- -x LD_PRELOAD="$slow" "$B/xfer_table_mpi" "$@" ;; *) set -- -genv LD_PRELOAD "$slow" "$B/xfer_table_mpich" "$@" ;; esac
  timeout -k 5 600 "mpirun.$m" -n "$n" "$@" >"$reports/out" 2>&1
}
# Large messages take 30 ms here, and there are 2 s for all sizes: the file says which had too few repeats, and
# they count as fast as the link. Each burst over the link takes 600 ms: no time for it either, and then no limit of it is known.
few_repeats() { # mpi
  reports=$work/$1.short
  mkdir "$reports"
  SLOW_NETWORK=1 SLOW_WAITS=16 slow_table "$1" 2 --seconds 2 "$reports/short.txt"
  said=$(awk '/^# few_repeats / { for (i = 3; i <= NF; i++) few[$i] = 1 } /eager_bytes/ { eager = $3 } /link_bytes/ { link = $3 } !/^#/ && $1 > eager && $1 in few && $2 > 1.001 * $1 / link { print $1, $2 }
    !/^#/ { if (last && $2 > 2.001 * last) print "slower than two of half:", $1, $2; last = $2 }
    END { if (!(8388608 in few)) print "none" }' "$reports/short.txt" 2>&1)
  if [ -z "$said" ] && grep -q '^xfer_table: 2 s are too short for these sizes: few_repeats .*8388608' "$reports/out"; then ok "$1: what was measured with few repeats for want of time is said, and counts as fast as the link"
  else bad "$1: few repeats: $said: $(cat "$reports/out" "$reports/short.txt")"; fi
  if grep -q '^xfer_table: 2 s are too short for the link; ' "$reports/out" && grep -q '^# disturbed ' "$reports/short.txt"; then ok "$1: a link that there was no time for limits nothing"
  else bad "$1: no time for the link: $(cat "$reports/out" "$reports/short.txt")"; fi
}
# Only bursts to several at once are slow: the limit is that of one.
short_link() { # mpi
  reports=$work/$1.link
  mkdir "$reports"
  SLOW_WAITS=17 slow_table "$1" 3 --seconds 1 "$reports/several.txt"
  if grep -q '^# link_peers 1$' "$reports/several.txt" && grep -Eq '^# (few_peers 2$|disturbed )' "$reports/several.txt" && grep -q '^xfer_table: 1 s are too short for the link' "$reports/out"
  then ok "$1: a link that there was no time for with several was measured with one at most"
  else bad "$1: no time for several: $(cat "$reports/out" "$reports/several.txt")"; fi
}
# Three others that share one core with the first move no more at once than one: that is no limit of what three can move.
one_core() { # mpi
  (run "$1" 4 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$B/xfer_table_mpi" --seconds 4 "$work/one_core.txt") >"$work/one_core.out" 2>&1
  if grep -q '^# link_peers 1$' "$work/one_core.txt" && grep -q '^# few_peers 3$' "$work/one_core.txt"; then ok "$1: a link to several that wait for one core is that to one"
  else bad "$1: a link to several on one core: $(cat "$work/one_core.out") $(grep '^#' "$work/one_core.txt")"; fi
}
# Two processes that compute on one core: half of the time they wait for it, and that is told.
core() { # mpi
  [ -r /proc/self/schedstat ] || { skip "$1: waits for a core" "no /proc/self/schedstat"; return; }
  reports=$work/$1.core
  mkdir "$reports"
  (measured "$1" 2 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$B/tests/mpi/preload_truth.$1" self) >"$reports/out" 2>"$reports/err"
  "$B/overlap_report" --no-html "$reports" >"$reports/text" 2>&1
  share=$(sed -n 's/.*waited .* for a core that others had (\([0-9]*\) %.*/\1/p' "$reports/text" | head -1)
  if [ "${share:-0}" -ge 20 ] && [ "$share" -lt 100 ]; then ok "$1: $share % of the time for a core that others had"
  else bad "$1: waits for a core: $(cat "$reports/err" "$reports/text")"; fi
  "$B/overlap_report" --no-html --diff "$reports" "$reports" >"$reports/text" 2>&1
  says "$1: also between two runs" "for at least $share % of the time before and $share % after, processes waited for a core"
}
# A receiver that waits for its core, as on a busy machine, makes no send less eager: who believes a size too small
# takes what came before its receive for what moved in it.
absent() { # mpi
  reports=$work/$1.absent
  mkdir "$reports"
  SLOW_ANSWERS=1 slow_table "$1" 2 --tail
  if awk '/^eager_bytes/ { e = $2 } END { exit !(e >= 1024) }' "$reports/out"; then ok "$1: sends to who is late are eager: $(head -1 "$reports/out")"
  else bad "$1: sends to who is late are not eager: $(cat "$reports/out")"; fi
}
# A table says what it was measured with; the report made with it repeats a disturbance.
table() { # mpi
  reports=$work/$1.table
  mkdir "$reports"
  slow_table "$1" 2 --seconds 4 "$reports/table.txt.part.77" # as nbc has it measured, which then renames it
  mv "$reports/table.txt.part.77" "$reports/table.txt"
  if grep -q "^$reports/table.txt: between " "$reports/out"; then ok "$1: a table is named as it will be"; else bad "$1: a table is named: $(cat "$reports/out")"; fi
  if grep -Eq '^# eager_bytes [1-9][0-9]{2,6}$' "$reports/table.txt" && grep -Eq '^# tail_bytes [0-9]+$' "$reports/table.txt" && grep -Eq '^# link_bytes_per_s [0-9.e+]+$' "$reports/table.txt"; then
    ok "$1: table: $(grep -E 'eager|link' "$reports/table.txt" | tr '\n' ' ')"
  else bad "$1: table without eager size or link: $(cat "$reports/out" "$reports/table.txt")"; fi
  # what makes a message slow before its data moves is not the time that it takes to move, nor is what slows one size
  # alone; the link is no slower than a message
  said=$(awk '/link_bytes/ { link = $3 } !/^#/ { n++; if ($1 == 65536) at = $2; if (n > 1 && $2 > 2.001 * last) print $1, $2; if ($1 / $2 > 1.001 * link) print "link", $1, $2; last = $2 }
    END { if (n < 20 || at > 5e-4) print n, at }' "$reports/table.txt")
  if [ -z "$said" ]; then ok "$1: a table holds the fastest times"; else bad "$1: a table holds the fastest times: $said: $(cat "$reports/table.txt")"; fi
  # what is sent eagerly is not in the table of what is announced: beyond the eager size only the next size tells
  said=$(awk '/eager_bytes/ { eager = $3 } !/^#/ { if (last_size <= eager && eager < $1) { seen = 1; if (last > 1.001 * $2 * last_size / $1) print last_size, last, $1, $2 } last_size = $1; last = $2 }
    END { if (!seen) print "no size beyond", eager }' "$reports/table.txt")
  if [ -z "$said" ]; then ok "$1: a table is in proportion above the eager size"; else bad "$1: a table is not in proportion above the eager size: $said: $(cat "$reports/table.txt")"; fi
  (grep -v disturbed "$reports/table.txt"; echo '# disturbed by a test') >"$reports/disturbed.txt"
  NBC_TABLE=$reports/disturbed.txt measured "$1" 1 "$B/tests/mpi/preload_truth.$1" "" >/dev/null 2>&1
  "$B/overlap_report" --no-html "$reports" >"$reports/text" 2>&1
  says "$1: a disturbed table is named" 'disturbed when it was measured (by a test)'
}
nbc() { # mpi
  reports=$work/$1.nbc
  mkdir "$reports"
  other=$([ "$1" = openmpi ] && echo mpich || echo openmpi)
  (cd "$reports" && "$B/nbc" see --no-table "mpirun.$1" -n 2 "$B/tests/mpi/preload_truth.$1" late >out 2>err; echo "status $?" >>out)
  if grep -q 'was late' "$reports/out" && grep -q '^status 0' "$reports/out" && [ -s "$reports/nbc-preload_truth.$1-1/overlap_report.html" ]
  then ok "$1: nbc see"; else bad "$1: nbc see: $(cat "$reports/out" "$reports/err")"; fi
  (cd "$reports" && "$B/nbc" see --no-table "mpirun.$1" -n 1 "$B/tests/mpi/preload_ends.$1" exit >out 2>err; echo "status $?" >>out)
  grep -q '^status 3' "$reports/out" && ok "$1: nbc see ends as the program does" || bad "$1: $(cat "$reports/out" "$reports/err")"
  (cd "$reports" && echo mine >file && "$B/nbc" see --no-table -o file "mpirun.$1" -n 1 "$B/tests/mpi/preload_ends.$1" exit >out 2>err; echo "status $?" >>out)
  if grep -q '^status 1' "$reports/out" && grep -q 'file: not a folder' "$reports/err" && [ "$(cat "$reports/file")" = mine ]; then ok "$1: nbc see -o FILE runs nothing"
  else bad "$1: nbc see -o FILE: $(cat "$reports/out" "$reports/err")"; fi
  if "$B/nbc" see --no-table --print "mpirun.$1" --map-by node -n 2 "$B/tests/mpi/preload_truth.$1" 'a b' >"$reports/printed" &&
    grep -q "LD_PRELOAD.*preload_truth.$1 'a b'" "$reports/printed"; then ok "$1: nbc see --print"; else bad "$1: $(cat "$reports/printed")"; fi
  # a table belongs to the transport it was measured with
  if [ "$1" = openmpi ]; then over='--mca btl self,tcp' over_env='OMPI_MCA_btl=self,tcp'; else over='-genv UCX_TLS tcp' over_env='UCX_TLS=tcp'; fi
  for way in "$over" "" ; do
    # shellcheck disable=SC2086 # several words
    (cd "$reports" && XDG_CACHE_HOME="$reports/none" "$B/nbc" see --print "mpirun.$1" $way -n 2 "$B/tests/mpi/preload_truth.$1" late) | tee "$reports/printed" |
      sed -n 's/.*NBC_TABLE[= ]\([^ ]*\) .*/\1/p'
    grep -cE "xfer_table.*part" "$reports/printed"
    grep -c "$over_env.*xfer_table\|$(echo "$over_env" | tr '=' ' ').*xfer_table" "$reports/printed"
  done >"$reports/tables"
  env "$over_env" XDG_CACHE_HOME="$reports/none" "$B/nbc" see --print "mpirun.$1" -n 2 "$B/tests/mpi/preload_truth.$1" late | sed -n 's/.*NBC_TABLE[= ]\([^ ]*\) .*/\1/p' >>"$reports/tables"
  # shellcheck disable=SC2046 # seven words
  set -- "$1" $(cat "$reports/tables")
  if [ $# = 8 ] && [ "$2" = "$8" ] && [ "$2" != "$5" ] && [ "$3$4$6$7" = 1110 ]; then ok "$1: a table of its own for another transport"
  else bad "$1: tables: $*"; fi
  # so do those of Open MPI that choose the protocol; what a file says, nobody reads: no kept table then
  if [ "$1" = openmpi ]; then
    for way in '--mca mpi_leave_pinned 1' '--mca smsc ^cma' '--mca mca_base_env_list UCX_TLS=tcp'; do
      # shellcheck disable=SC2086 # several words
      XDG_CACHE_HOME="$reports/none" "$B/nbc" see --print mpirun.openmpi $way -n 2 "$B/tests/mpi/preload_truth.openmpi" late | sed -n 's/.*NBC_TABLE[= ]\([^ ]*\) .*/\1/p'
    done >"$reports/ways"
    if [ "$(sort -u "$reports/ways" | grep -vcxF "$5")" = 3 ]; then ok "openmpi: tables of their own for other protocols"; else bad "openmpi: tables for other protocols: $(cat "$reports/ways")"; fi
    for way in --tune -am; do
      XDG_CACHE_HOME="$reports/none" "$B/nbc" see --print mpirun.openmpi $way file -n 2 "$B/tests/mpi/preload_truth.openmpi" late 2>&1 | grep -cE "NBC_TABLE|xfer_table|no minimum claimed"
    done >"$reports/ways"
    if [ "$(tr '\n' ' ' <"$reports/ways")" = '1 1 ' ]; then ok "openmpi: no kept table where a file may choose the transport"; else bad "openmpi: tables where a file chooses: $(cat "$reports/ways")"; fi
  fi
  # a kept table that was measured in another way is measured again
  kept=$5
  mkdir -p "$reports/none/nbc_overlap"
  now=$(sed -n 's/.*TABLE_MAKE *=* *\([0-9][0-9]*\).*/\1/p' tools/table_make.h | head -1)
  for make in $((now - 1)) "$now"; do
    printf '# xfer_table %s\n# eager_bytes 1\n# tail_bytes 0\n0 1e-6\n' "$make" >"$kept"
    XDG_CACHE_HOME="$reports/none" "$B/nbc" see --print "mpirun.$1" -n 2 "$B/tests/mpi/preload_truth.$1" late | grep -c "xfer_table.*part"
  done >"$reports/made"
  if [ "$(tr '\n' ' ' <"$reports/made")" = '1 0 ' ]; then ok "$1: a table of another make is measured again"; else bad "$1: tables made: $(cat "$reports/made"), $kept"; fi
  have_mpi "$other" || { skip "$1: no other MPI for a wrong mixture"; return; }
  "$B/nbc" see --no-table "mpirun.$other" -n 2 "$B/tests/mpi/preload_truth.$1" >"$reports/out" 2>&1
  [ $? = 2 ] && grep -q 'is built with' "$reports/out" && ok "$1: nbc see names a wrong mixture" || bad "$1: $(cat "$reports/out")"
}
# One file for a run; 4,096 reports in one are read with less than 64 MiB.
gather() { # mpi
  reports=$work/$1.gather
  mkdir "$reports"
  NBC_GATHER=1 measured "$1" 5 "$B/tests/mpi/preload_truth.$1" "" >/dev/null 2>&1
  files=$(ls "$reports")
  "$B/overlap_report" --no-html "$reports" >"$reports/text" 2>&1
  case $files in
    *.all.json) if [ "$(echo "$files" | wc -l)" = 1 ] && grep -q '5 processes' "$reports/text"; then ok "$1: one file for 5 processes"; else bad "$1: $files"; fi ;;
    *) bad "$1: NBC_GATHER=1 left $files" ;;
  esac
  mkdir "$reports/many"
  awk '/^{"schema"/ { n++ } n == 1 { text = text $0 "\n" } END { for (i = 0; i < 4096; i++) { t = text; sub(/"rank":[0-9]+,"size":[0-9]+/, "\"rank\":" i ",\"size\":4096", t); printf "%s", t } }' \
    "$reports/$files" >"$reports/many/nbc_overlap.many.1-1.all.json"
  # shellcheck disable=SC3045 # dash and bash have it
  if (ulimit -v 65536 && "$B/overlap_report" --no-html "$reports/many" >"$reports/text" 2>&1) && grep -q '4096 processes' "$reports/text"; then
    ok "$1: 4,096 reports within 64 MiB"
  else bad "$1: 4,096 reports within 64 MiB: $(tail -3 "$reports/text")"; fi
  reports=$work/$1.ranks
  mkdir "$reports"
  NBC_RANKS=0-1,3 measured "$1" 5 "$B/tests/mpi/preload_truth.$1" "" >/dev/null 2>&1
  files=$(ls "$reports" | sed 's/.*\.\([0-9]*\)\.json/\1/' | tr '\n' ' ')
  if [ "$files" = "0 1 3 " ]; then ok "$1: NBC_RANKS=0-1,3"; else bad "$1: NBC_RANKS=0-1,3: reports of $files"; fi
}
# A large send that has ended while its data still arrives: over TCP, of Open MPI; in shared memory, of MPICH, when what
# receives it has gaps.
tail_of() { # mpi NAME ENVIRONMENT...
  m=$1 name=$2
  shift 2
  # data with gaps has a tail in MPICH's shared memory alone
  for kind in tail $(if [ $m = mpich ]; then echo tail_strided; else some '' tail_strided; fi) $(some '' 'tail_sync tail_permuted tail_to_strided tail_to_permuted'); do
    reports=$work/$m.$name.$kind
    mkdir "$reports"
    (export "$@" && measured "$m" 2 "$B/tests/mpi/preload_truth.$m" "$kind") >"$reports/out" 2>"$reports/err"
    "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >"$reports/text" 2>&1
    truth=$(sed -n 's/after permille //p' "$reports/out") xfer=$(of isend same_node 7) most=$(of isend same_node 9)
    if [ -n "$truth" ] && [ "$xfer" -gt 0 ] && [ $((truth * xfer / 1000)) -le "$most" ] && [ "$(of isend same_node 8)" = 0 ]; then
      ok "$m: $name: $kind: $truth permille came after the send's end, reported $((most * 1000 / xfer)) at most"
    else bad "$m: $name: $kind: $truth permille came after the send's end, reported $most of $xfer ns: $(cat "$reports/err")"; fi
    # the end of such a send says nothing of its arrival: all may be hidden in the computation that follows
    case $name$kind in
      *memorytail_strided | *memorytail_permuted)
        if [ $((most * 10)) -ge $((xfer * 9)) ]; then ok "$m: $name: $kind: all may come later"; else bad "$m: $name: $kind: reported $most of $xfer ns"; fi ;;
    esac
  done
}
tails() { # mpi
  command=$B/xfer_table_$([ "$1" = openmpi ] && echo mpi || echo mpich)
  tail_of "$1" "no table" NBC_TABLE=
  run "$1" 2 "$command" --tail >"$work/$1.tail" 2>&1
  if [ "$(grep -c . "$work/$1.tail")" = 2 ] && grep -q '^tail_bytes [0-9]*$' "$work/$1.tail"; then ok "$1: in shared memory: $(tail -1 "$work/$1.tail") may follow a send's end"
  else bad "$1: --tail: $(cat "$work/$1.tail")"; fi
  (sed 's/^/# /' "$work/$1.tail"; printf '0 1e-6\n8388608 2e-3\n') >"$work/$1.tail.txt"
  tail_of "$1" "shared memory" NBC_TABLE="$work/$1.tail.txt"
  [ "$1" = openmpi ] || { [ -z "$TEST_MORE" ] || stopped "$1" "$command"; return; }
  (export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp && run openmpi 2 "$command" --tail) >"$work/tcp.tail" 2>&1
  if grep -Eq '^tail_bytes [1-9][0-9]{5,}$' "$work/tcp.tail"; then ok "openmpi: TCP: $(tail -1 "$work/tcp.tail") may follow a send's end"
  else bad "openmpi: TCP: --tail: $(cat "$work/tcp.tail")"; fi
  # sockets grow while they are used, whatever they held when it was measured; here they are held down
  hold=$(cat /proc/sys/net/ipv4/tcp_wmem /proc/sys/net/ipv4/tcp_rmem | awk '{ s += $3 } END { print s }')
  (export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_sndbuf=65536 OMPI_MCA_btl_tcp_rcvbuf=65536 && run openmpi 2 "$command" --tail) >"$work/held.tail" 2>&1
  if awk -v hold="$hold" '/^tail_bytes/ { exit !($2 >= hold) }' "$work/held.tail"; then ok "openmpi: TCP: sockets may hold $hold bytes: $(tail -1 "$work/held.tail")"
  else bad "openmpi: TCP: sockets may hold $hold bytes: $(cat "$work/held.tail")"; fi
  (sed 's/^/# /' "$work/tcp.tail"; printf '0 1e-6\n8388608 2e-3\n') >"$work/tcp.tail.txt"
  tail_of openmpi "TCP" OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp NBC_TABLE="$work/tcp.tail.txt"
}
# A sender that waits for its core sees its sends end late, when more has come: what may follow their end is not less for that
# (or nothing is known of it, as on a busy machine even without stops).
stopped() { # mpi COMMAND
  cat >"$work/stops" <<'S'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] || exec "$@"
"$@" &
program=$!
while kill -STOP $program 2>/dev/null; do
  sleep 0.05
  kill -CONT $program 2>/dev/null || break
  sleep 0.004
done &
wait $program
S
  run "$1" 2 sh "$work/stops" "$2" --tail >"$work/$1.stopped" 2>&1
  if cat "$work/$1.tail" "$work/$1.stopped" | awk '/^tail_bytes/ { t[++n] = $2 } END { exit !(n == 2 && (t[1] > 1e18 || 2 * t[2] >= t[1])) }'
  then ok "$1: a sender that is stopped again and again leaves no shorter tail: $(tail -1 "$work/$1.stopped")"
  else bad "$1: a sender that is stopped: $(cat "$work/$1.tail" "$work/$1.stopped")"; fi
}
# What came before a collective was posted was not hidden behind what was computed after it: no minimum.
come() { # mpi
  reports=$work/$1.come
  mkdir "$reports"
  printf "# eager_bytes 4000\n# tail_bytes 0\n0 2e-3\n1000000 3e-3\n" >"$reports/table.txt"
  NBC_RANKS=0 NBC_TABLE=$reports/table.txt measured "$1" 4 "$B/tests/mpi/preload_truth.$1" come >/dev/null 2>"$reports/err"
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >"$reports/text" 2>&1
  for kind in ibcast ialltoall; do
    if [ "$(of $kind same_node 7)" -gt 0 ] && [ "$(of $kind same_node 8)" = 0 ]; then ok "$1: $kind: what came before it claims no minimum"
    else bad "$1: $kind: at least $(of $kind same_node 8) of $(of $kind same_node 7) ns hidden: $(cat "$reports/err")"; fi
  done
}
# A signal switches measuring off and on; without the setting it ends the program, as ever.
switches() { # mpi
  for case in "USR2:1:1030" "USR2:later:200"; do
    # shellcheck disable=SC2046 # three words
    set -- "$1" $(echo "$case" | tr : ' ')
    reports=$work/$1.signal.$3
    mkdir "$reports"
    NBC_SIGNAL=$2 NBC_ON=$3 measured "$1" 1 "$B/tests/mpi/preload_truth.$1" signal >/dev/null 2>"$reports/err"
    n=$(show "$reports"/*.json | grep -c "iprobe calls $4 ")
    if [ "$n" = 1 ]; then ok "$1: NBC_SIGNAL=$2 NBC_ON=$3: $4 calls"; else bad "$1: NBC_SIGNAL=$2 NBC_ON=$3: $(show "$reports"/*.json | grep iprobe) $(cat "$reports/err")"; fi
  done
  reports=$work/$1.signal.none
  mkdir "$reports"
  measured "$1" 1 "$B/tests/mpi/preload_truth.$1" signal >/dev/null 2>&1 && bad "$1: SIGUSR2 did not end the program" || ok "$1: SIGUSR2 is left alone unless asked for"
}
communicators() { # mpi
  scene "$1" comms
  for line in '"halo",2,4,4000,' '"late",2,2,20,' '"",2,20,20000,' '"MPI_COMM_WORLD",2,2,2000,'; do
    if grep -q "^${line}[0-9]*$" "$reports/csv/communicators.csv"; then ok "$1: communicators: $line"; else bad "$1: communicators: no $line: $(cat "$reports/csv/communicators.csv")"; fi
  done
  for rank in 0 1; do # the target waits, too
    if "$B/overlap_report" --csv "$reports/csv.$rank" --no-html "$reports"/*.$rank.json >/dev/null 2>&1; grep -q "^\"shared\",2,$rank,${rank}0*,[1-9]" "$reports/csv.$rank/communicators.csv"; then ok "$1: rank $rank waited in its window"
    else bad "$1: rank $rank waited in its window: $(cat "$reports/csv.$rank/communicators.csv")"; fi
  done
  waited=$(sed -n 's/^"freed",2,0,0,//p' "$reports/csv/communicators.csv")
  if [ "${waited:-0}" -gt 1000000 ]; then ok "$1: who waits in MPI_Win_free waits in its window: $waited ns"
  else bad "$1: who waits in MPI_Win_free: $(cat "$reports/csv/communicators.csv")"; fi
  says "$1: communicators in the report" '^  halo  *2  *4 '
}
# Whatever way a message is sent and received, it is one of the pair's and of the communicator's, on both sides.
ways() { # mpi
  scene "$1" ways
  n=$(sed -n 's/^messages //p' "$reports/out")
  got=$(cut -d, -f1-6 "$reports/csv/pairs.csv" | tail -n +2 | sort | tr '\n' ' ')
  if [ -n "$n" ] && [ "$got" = "0,1,$n,${n}000,0,0 1,0,0,0,$n,${n}000 " ]; then ok "$1: each way to send and to receive: $n messages of a pair"
  else bad "$1: each way to send and to receive: $n messages, by pair: $got $(cat "$reports/err")"; fi
  if grep -q "^\"ways\",2,$((2 * n)),$((2 * n))000," "$reports/csv/communicators.csv" && ! grep -q others "$reports/csv/communicators.csv"; then ok "$1: each way to send and to receive: of a communicator"
  else bad "$1: each way to send and to receive: of $n messages: $(cat "$reports/csv/communicators.csv")"; fi
  reports=$work/$1.ways.trace
  mkdir "$reports"
  NBC_TRACE=1 measured "$1" 2 "$B/tests/mpi/preload_truth.$1" ways >/dev/null 2>&1
  "$B/overlap_report" --no-html "$reports" >"$reports/text" 2>&1
  says "$1: why messages were not matched" 'messages of the timelines were not matched: [a-z]'
}
# Over an intercommunicator the others are as near as over any other.
bridge() { # mpi
  scene "$1" bridge
  got=$(cut -d, -f1-6 "$reports/csv/pairs.csv" | tail -n +2 | sort | tr '\n' ' ') peers=$(tail -n +2 "$reports/csv/transfers.csv" | cut -d, -f4 | sort -u | tr '\n' ' ')
  if [ "$got" = "0,1,10,10000,10,10000 1,0,10,10000,10,10000 " ] && [ "$peers" = 'same_node ' ]; then ok "$1: intercommunicators: who with whom, on this node"
  else bad "$1: intercommunicators: by pair: $got peers: $peers $(cat "$reports/err")"; fi
}
# What is under way in a communicator that is freed has its section, its partner and its name all the same.
freed() { # mpi
  scene "$1" freed
  got=$(cut -d, -f1-6 "$reports/csv/pairs.csv" | tail -n +2 | sort | tr '\n' ' ') peers=$(awk -F, 'NR > 1 { print $1, $4 }' "$reports/csv/transfers.csv" | sort -u | tr -d '"' | tr '\n' ' ')
  names=$(awk -F, 'NR > 1 { print $1, $3, $4 }' "$reports/csv/communicators.csv" | tr -d '"' | tr '\n' ' ')
  if [ "$got" = "0,1,20,20000,20,20000 1,0,20,20000,20,20000 " ] && [ "$peers" = 'begin same_node ' ] && [ "$names" = 'over 80 80000 ' ]; then
    ok "$1: messages in communicators that are freed before they end: where, with whom"
  else bad "$1: messages in communicators that are freed: by pair: $got where: $peers names: $names $(cat "$reports/err")"; fi
  # also where nobody knows who is who, nor that two reports are of one run
  NBC_PEERS=0 scene "$1" freed _alone
  if grep -q '^"over",2,[48]0,[48]0000,' "$reports/csv/communicators.csv"; then ok "$1: the same with NBC_PEERS=0"
  else bad "$1: communicators that are freed with NBC_PEERS=0: $(cat "$reports/err" "$reports/csv/communicators.csv")"; fi
}
# Nonblocking file operations, which no table knows, are told by call: what was under way, computed, waited for.
files() { # mpi
  reports=$work/$1.files
  mkdir "$reports"
  measured "$1" 2 sh -c 'exec "$0" files "$1/file.$$"' "$B/tests/mpi/preload_truth.$1" "$reports" >"$reports/out" 2>"$reports/err"
  "$B/overlap_report" -o "$reports/page.html" --csv "$reports/csv" "$reports" >"$reports/text" 2>&1 || cat "$reports/text"
  told=$(tr -d '"' <"$reports/csv/counters.csv" | awk -F, '{ of[$2] = $3 } END { a = "FILE:MPI_File_iwrite_at/"; b = "FILE:MPI_File_iread_at/"; c = "FILE:MPI_File_iwrite/"
    print of[a "count"], of[a "bytes"], of[b "count"], of[b "bytes"], of[c "count"], of[c "bytes"], of[c "ended_elsewhere"]
    if (!(of[a "computed_ns"] > 9e8 && of[a "under_way_ns"] >= of[a "computed_ns"] && of[b "computed_ns"] < 1e8 && of[b "under_way_ns"] > 0 && of[b "waited_ns"] <= of[b "under_way_ns"])) print "times" }')
  if [ "$told" = '20 20971520 20 10485760 4 4194304 2' ] && grep -q 'MPI_File_iwrite_at  *20  *20 MiB' "$reports/text" && grep -q 'data-table="files"' "$reports/page.html" && ! grep -q '"io"' "$reports/csv/transfers.csv"; then
    ok "$1: nonblocking file operations: $told"
  else bad "$1: nonblocking file operations: $told $(cat "$reports/csv/counters.csv" "$reports/err")"; fi
}
# Threads that never call MPI are not seen: that they ran is told, and that what they computed hides nothing.
workers() { # mpi
  only='A transfer is hidden by what the thread that began it computes'
  scene "$1" workers
  says "$1: how long threads ran that call no MPI" "other threads of the processes, no call of which is seen .*, ran for [67][0-9]*[0-9.]* ms: what they"
  says "$1: ... and that they hide nothing" "$only"
  scene "$1" late
  if ! grep "other threads\|$only" "$reports/text"; then ok "$1: nothing of them where there are none"; else bad "$1: threads where there are none: $(cat "$reports/text")"; fi
}
each() {
  for what in tails eager nbc; do $what "$1"; done
  for what in ways bridge freed files communicators switches come gather self regions partners last behind beside together hangs leaves core workers itself ${TEST_MORE:+few_repeats} table; do turn "$1" $what "$1"; done
  places "$1" use f08
  [ "$1" = mpich ] || for what in $(some absent "one_core short_link"); do $what "$1"; done
}
if [ -n "$TEST_ONLY" ]; then # "few_repeats mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
  finish
fi
each_mpi each
if ! have_mpi openmpi && ! have_mpi mpich; then skip "nbc doctor: no preload here"
elif "$B/nbc" doctor >"$work/doctor" && grep -q 'preload  *'"$B" "$work/doctor"; then ok "nbc doctor"
else bad "nbc doctor: $(cat "$work/doctor")"; fi
finish
