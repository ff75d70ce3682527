#!/bin/sh
# An ordinary MPI program prints the same under pm_run as under MPICH, for 2, 3 and 8 processes; TEST_MORE=1: 1, 4 and 17, too.
. tests/test.sh
set=$B/tests/guest_mpi/all
GUEST_MPI_FILE=$T/file
export GUEST_MPI_FILE
if ! command -v mpiexec.mpich >/dev/null || [ ! -x "$set" ]; then
  skip "MPI of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
simulated() { timeout 300 "$B/pm_run" -n "$@" >"$T/simulated" 2>"$T/err" || { tail -3 "$T/err"; return 1; }; }
real() { timeout 300 mpiexec.mpich -genv LD_PRELOAD "$B/tests/mpi/patient.so" -n "$@" >"$T/real" 2>&1; }
# MPICH 4.0.2 fails in persistent collectives: ours are compared with the blocking ones below.
alone="-survivors -persistent -every_persistent -refused -every_tool -later" # what MPICH has not, or has otherwise
# Ours are the words and checks of MPICH 4.0. Later ones have another text for one class, do not look at six arguments, and
# look once more for a longer buffered message to oneself; all else is the same.
case $(mpiexec.mpich --version 2>/dev/null | sed -n 's/.*Version: *//p') in
  4.0* | '') newer='^$' ;;
  *) newer='^[0-9]*: (error 19 class|start: |MPI_Info_get_string\(info, text, room, NULL|MPI_Scatterv?\(out, (5|fives, none)|MPI_(Put\(out, 5|Get\(in, 1, MPI_INT, 0, 0, 5),|to oneself, [0-9]{4,} bytes, [26]:)' ;;
esac
# NULL by itself: later ones also follow MPI_COMM_SELF's handler from when it has been set.
# shellcheck disable=SC2086 # names are words
same_as_mpich() {
  for scenes in "-nulls $alone" nulls; do
    simulated "$1" "$set" $scenes && { real "$1" "$set" $scenes || { tail -3 "$T/real"; false; }; } || return 1
    for f in simulated real; do grep -vE "$newer" "$T/$f" >"$T/$f.same"; done
    diff "$T/simulated.same" "$T/real.same" && test -s "$T/real.same" || return 1
  done
}
judge_themselves() { # 17 results, 20 refusals, a message, elements, 41 answers to tools, 34 of MPI 4.1 from each process
  simulated "$1" "$set" every_persistent refused every_tool later && ! grep 'OTHER\|TAKEN' "$T/simulated" && test "$(grep -c ': \(same\|refused\|right\)$' "$T/simulated")" = $((114 * $1))
}
nobody_fails() { # MPICH 4.0.2 asserts; Open MPI 5 prints the same (openmpi.sh)
  simulated 3 "$set" survivors && test "$(grep -c ': shrunk: congruent 1, attribute 1, copied 1, [0-2] of 3, sum 3$\|: acknowledged: 1 0, empty 1$\|: agreed: 0: f0 [36] fffffffc$\|: two groups shrunk: 1, [12] and [12]$' "$T/simulated")" = 12 &&
    test "$(grep ': two groups: ' "$T/simulated" | sort | tr '\n' ' ')" = '0: two groups: 0, fd 1: two groups: 0, fa 2: two groups: 0, fd '
}
persistent_as_blocking() {
  simulated "$1" "$set" collectives && tail -n +2 "$T/simulated" >"$T/blocking" && simulated "$1" "$set" persistent && tail -n +2 "$T/simulated" | cmp - "$T/blocking"
}
# The calls with large counts do what the others do.
large_counts_change_nothing() {
  for n in 1 3; do simulated $n "$set" && cp "$T/simulated" "$T/first" && simulated $n "${set}_large" && cmp "$T/simulated" "$T/first" || return 1; done
}
other_machines_change_nothing() { # several processes on a node, another level
  simulated 4 "$set" -persistent && cp "$T/simulated" "$T/first" && simulated 4 --per-node 2 "$set" -persistent && cmp "$T/first" "$T/simulated" &&
    simulated 4 --level loggp "$set" -persistent && cmp "$T/first" "$T/simulated"
}
# Who goes on with messages, and where the limit between short and long ones is, changes times alone.
options_change_nothing() {
  simulated 4 "$set" -persistent && cp "$T/simulated" "$T/first"
  for o in '--progress dedicated' '--progress timer' '--eager 0' '--eager 65536' '--collectives mpich' '--collectives openmpi' "--report $T/report"; do
    # shellcheck disable=SC2086 # options are words
    simulated 4 $o "$set" -persistent && cmp "$T/first" "$T/simulated" || { echo "$o"; return 1; }
  done
}
# ROMIO's names of files may begin with a file system's.
file_systems_are_no_part_of_names() {
  simulated 2 "$set" files && cp "$T/simulated" "$T/first" && for s in ufs: NFS:; do
    : >"$T/file" # to be deleted
    GUEST_MPI_FILE=$s$T/file simulated 2 "$set" files && cmp "$T/first" "$T/simulated" || return 1
  done
}
bad_options_are_refused() {
  for o in '--progress often' '--eager -1' '--io-bandwidth 0' '--collectives nowhere'; do
    # shellcheck disable=SC2086
    "$B/pm_run" $o -n 1 "$set" 2>"$T/err"
    test $? = 2 && grep "^pm_run: ${o% *}: " "$T/err" || { echo "taken: $o"; return 1; }
  done
  # a period is of the timer, which may be one of what a sweep tries
  ! "$B/pm_run" --progress-period 9 "$set" 2>"$T/err" && grep '^pm_run: --progress-period: only with --progress timer' "$T/err" && ! "$B/pm_replay" --progress-period 9 none 2>"$T/err" && grep 'progress-period: only' "$T/err" &&
    "$B/pm_run" --progress-period 9 --sweep progress=calls,timer "$set" messages >"$T/out" && awk '$2 == 0 { n++ } END { exit n != 2 }' "$T/out"
}
# The wire's truth lies between the bounds of what the library saw, and watching takes no time (but for a
# look at the clock at the beginning).
report_has_the_truth() {
  rm -rf "$T/report" && timeout 300 "$B/pm_run" -n 4 "$set" messages 2>"$T/plain" >/dev/null && timeout 300 "$B/pm_run" -n 4 --report "$T/report" "$set" messages 2>"$T/err" >/dev/null &&
    cat "$T/plain" "$T/err" | grep simulated | awk '{ t[NR] = $4 } END { d = t[2] - t[1]; exit !(NR == 2 && d >= 0 && d < 0.1) }' && test "$(ls "$T/report" | wc -l)" = 4 && "$B/overlap_report" --no-html "$T/report" >"$T/text" && cat "$T/text" &&
    sed -n 's/.*at least \([0-9.]*\) %, at most \([0-9.]*\) %; by NIC stamps of \([0-9]*\): \([0-9.]*\) to \([0-9.]*\) %.*/\1 \2 \3 \4 \5/p' "$T/text" | awk '{ ok = $3 > 100 && $1 <= $5 + 0.1 && $4 <= $2 + 0.1 } END { exit !ok }'
}
# shellcheck disable=SC2086 # the words of $how
# What the wire moved, by the line that asked for it; who waited for whom; by whichever compiler the program was made.
ended() { # CALL PLACE CALL PLACE COUNT: where they ended, where they began
  awk -F, -v call="\"MPI_$1\"" -v where="\"$2 " -v by="\"MPI_$3\"" -v at="\"$4 " '$1 == call && index($2, where) == 1 && $3 == by && index($4, at) == 1 { n += $5 } END { print n + 0 }' "$T/csv/endings.csv" | grep -qx "$5"
}
transfers_have_places() {
  for m in mpich openmpi; do
    [ -x "$B/tests/mpi/preload_places.$m" ] || continue
    for how in "calls 0 1" "dedicated 90 100"; do
      rm -rf "$T/places" && timeout 300 "$B/pm_run" -n 2 --progress "${how%% *}" --report "$T/places" "$B/tests/mpi/preload_places.$m" 3 windows >"$T/out" 2>"$T/err" && grep '^done$' "$T/out" &&
        "$B/overlap_report" --no-html --csv "$T/csv" "$T/places" >"$T/text" 2>&1 || { cat "$T/err"; return 1; }
      for line in "irecv hidden 16" "isend hidden 16" "irecv bare 16" "isend bare 16" "start lent 32" "isend layer 16" "recv upper 16" "send sender 8" "isend sender 8" "irecv any 16" "sendrecv in_thread 12" "sendrecv unseen 0" "isend told 8" "irecv told 8" "put laid 16" "get taken 16"; do
        n=$(awk -F, -v kind="${line%% *}" -v where="\"$(echo "$line" | cut -d' ' -f2) " '$2 == kind && index($16, where) == 1 { n += $5 } END { print n + 0 }' "$T/csv/transfers.csv")
        [ "$n" = "${line##* }" ] || { echo "$m, $how: $n instead of $line"; cat "$T/csv/transfers.csv"; return 1; }
      done
      # which wait was for what, and what is said of it by its beginning
      for line in "Waitall bare Isend bare 16" "Wait upper Isend layer 16" "Wait lent Start lent 32" "Win_flush taken Get taken 16" "Waitall hidden Irecv hidden $((${how##* } < 10 ? 16 : 0))"; do
        # shellcheck disable=SC2086 # words
        ended $line || { echo "$m, $how: not $line"; cat "$T/csv/endings.csv"; return 1; }
      done
      awk -F, 'FNR == NR { if (FNR > 1) waited[$15 "," $16] += $13; next } FNR > 1 && $6 > waited[$3 "," $4] + $5 { print; bad = 1 } END { exit bad }' "$T/csv/transfers.csv" "$T/csv/endings.csv" || return 1
      # by the wire's stamps: all of the one's or nothing, nothing of the other's
      cat "$T/text" && [ "$(grep '(preload_places' "$T/csv/transfers.csv" | grep -c '^"waits",.*"bare (')" = 2 ] && grep -c '^"",' "$T/csv/transfers.csv" && stamped irecv hidden ${how#* } && stamped irecv bare 0 1 && stamped put laid 90 100 && stamped get taken 0 1 || return 1
      # messages of the program only: not what locks of windows are made of
      awk -F, 'NR > 1 { n++ } $1 == 0 && $2 == 1 && $3 == 43 && $5 == 35 { right++ } $1 == 1 && $2 == 0 && $3 == 35 && $5 == 43 { right++ } END { exit !(n == 2 && right == 2) }' "$T/csv/pairs.csv" || { cat "$T/csv/pairs.csv"; return 1; }
      grep '^  MPI_Recv  * 16 .* upper ' "$T/text" && grep -c '^  rank [01] waited .* for rank [01]$' "$T/text" | grep '^2$' && ! grep 'unseen (' "$T/text" || return 1
    done
  done
}
# What the table of the run says: all of the time in calls; each who was waited for no more than in the pairs, where one
# moment may stand with several, and what moves for one message while another one of the call is late stands there as moving; and
# LATE or LAST of these as much as there.
went_where() { # COLUMN: of the pairs; WHAT: late, last, all: no more
  awk -F, -v at="$1" -v what="$2" 'FILENAME ~ /calls/ { if (FNR > 1) calls += $4; next } FILENAME ~ /pairs/ { if (FNR > 1) { of[$2] += $at; pairs += $at } next }
    FNR > 1 && $2 == "" { all += $3; if ($1 == what) one = $3; next } $1 == what { told += $3; if ($3 > of[$2] + 5000) bad = "more than in the pairs" }
    END { if (all < 0.99 * calls || all > 1.01 * calls) bad = "calls " calls " but " all
          if (what != "all" && (told != one || told < 0.9 * pairs || !told)) bad = bad " told " told " of " pairs
          if (bad != "") { print bad; exit 1 } }' "$T/csv/calls.csv" "$T/csv/pairs.csv" "$T/csv/why.csv" || { cat "$T/csv/calls.csv" "$T/csv/pairs.csv" "$T/csv/why.csv"; return 1; }
}
# Why a process waited, by the model and by the preload's timelines inside: late only who had not called yet; nobody is
# to blame for computing where the data comes without him.
waits_have_reasons() {
  for how in report preload nodes; do
    per_node=2 && [ $how = preload ] || per_node=1
    for scene in late progress nulls slow looks; do
      rm -rf "$T/why" && mkdir "$T/why" && case $how in
        report) timeout 300 "$B/pm_run" -n 2 --report "$T/why" "$B/tests/mpi/preload_truth.mpich" $scene ;;
        *) NBC_TRACE=1 NBC_REPORT_DIR=$T/why timeout 300 "$B/pm_run" -n 2 --per-node $per_node --preload "$B/libnbc_overlap_mpich.so" "$B/tests/mpi/preload_truth.mpich" $scene ;;
      esac >"$T/out" 2>"$T/err" && "$B/overlap_report" -o "$T/page" --csv "$T/csv" "$T/why" >"$T/text" && sed -n '/^Who waits/,/^$/p' "$T/text" || { cat "$T/err"; return 1; }
      case $scene in
        looks) went_where 11 all && { [ $how != report ] || { # of whom a look takes time there; 0 waits in MPI_Ssend
          awk -F, 'NR > 1 { off = $11 - ($1 ? 103e6 : 50e6); if ($1 + $2 != 1 || off < -1e6 || off > 1e6) bad++ } END { exit NR != 3 || bad }' "$T/csv/pairs.csv" && went_where 11 late; }; } || { cat "$T/csv/pairs.csv"; return 1; } ;;
        progress) ! grep 'progress at the partner\|was late' "$T/text" && awk -F, '$1 == 1 { exit !($11 <= 0.05 * $12 && $12 > 0 && $13 == 0) }' "$T/csv/pairs.csv" && # nor is that time anybody's
          awk -F, 'FNR == NR { if (FNR > 1) pairs += $12; next } $1 == "moving" { exit !($3 >= 0.9 * pairs && $3 <= 1.1 * pairs) }' "$T/csv/pairs.csv" "$T/csv/why.csv" || { cat "$T/csv/pairs.csv"; return 1; } ;;
        *) [ $scene = slow ] && late=1 || late=0
          grep "rank $late was late: " "$T/text" && ! grep "rank $((1 - late)) was late" "$T/text" && awk -F, -v late=$late '$2 == late { exit !($11 >= 0.95 * $7 && $11 <= 1.05 * $7 && $12 <= 0.05 * $7 && $7 > 1e8) }' "$T/csv/pairs.csv" || { cat "$T/csv/pairs.csv"; return 1; }
          grep '^Where .* in calls went' "$T/text" && grep "before partners had called: rank $late" "$T/text" && grep '<td>[0-9.]* [mu]*s</td>.*before partners had called: rank '$late "$T/page" && went_where 11 late || return 1 ;;
      esac
      [ $scene = nulls ] || continue # all of its calls but barriers waited for the other one
      awk -F, 'FNR == NR { if ($2 ~ /^(waitall|probe|sendrecv)$/) calls += $4; next } $1 == 1 { exit !($7 >= 0.9 * calls) }' "$T/csv/calls.csv" "$T/csv/pairs.csv" || { cat "$T/csv/pairs.csv" "$T/csv/calls.csv"; return 1; }
    done
  done
}
# What a report says first: who is late; that nobody makes progress, though there is computation enough; that there is none;
# of collectives nobody can be named.
first_advice_fits() {
  first() { # TEXT OPTIONS PROGRAM...
    text=$1 && shift && rm -rf "$T/advice" && timeout 300 "$B/pm_run" -n 2 --report "$T/advice" "$@" >"$T/out" 2>"$T/err" || { cat "$T/err"; return 1; }
    "$B/overlap_report" --no-html "$T/advice" >"$T/text" && sed -n '/^Where .* in calls went/,/^$/p' "$T/text" && grep -q "^  $text" "$T/text"
  }
  echo 'compute m=1 mnk=1e-9' >"$T/kernels"
  first 'Most is won when those named call sooner' "$B/tests/mpi/preload_truth.mpich" late && first 'Most is probably won by progress' --compute 1 "$B/halo_mpich" &&
    first 'Most is probably won by more computation' "$B/halo_mpich" && first 'Most of it waits for nobody who can be named' --kernels "$T/kernels" "$B/bench/progress_loops.mpich" loops
}
# Who is last at collectives, to the microsecond, by the model; by timelines of the preload inside, which know one node, and
# for which who looks in vain in simulated time computes between two looks.
last_is_told() {
  for scene in last lasts merged; do
    for how in report dedicated preload; do
      case $scene,$how in
        last,*) truth='0,1 6 2,1 3 3,1 3 1,0 3 2,0 2 2,3 4' ;;
        merged,*) truth='0,1 2 2,1 2 3,1 2 1,0 1 2,0 1 3,0 1 0,3 2 2,3 1 0,2 1 1,2 1 3,2 1' ;;
        lasts,preload) truth='0,1 1 0,2 3 0,3 2 1,0 3 1,2 3 1,3 1 2,0 1 2,1 5 2,3 1 3,0 3 3,1 2 3,2 4' ;;
        *) truth='0,1 1 0,2 3 0,3 3 1,0 3 1,2 3 1,3 2 2,0 1 2,1 5 2,3 2 3,0 3 3,1 2 3,2 4' ;;
      esac
      rm -rf "$T/last" && mkdir "$T/last" && case $how in
        report) timeout 300 "$B/pm_run" -n 4 --report "$T/last" "$B/tests/mpi/preload_truth.mpich" $scene ;;
        dedicated) timeout 300 "$B/pm_run" -n 4 --progress dedicated --report "$T/last" "$B/tests/mpi/preload_truth.mpich" $scene ;;
        *) NBC_TRACE=first NBC_REPORT_DIR=$T/last timeout 300 "$B/pm_run" -n 4 --per-node 4 --preload "$B/libnbc_overlap_mpich.so" "$B/tests/mpi/preload_truth.mpich" $scene ;;
      esac >"$T/out" 2>"$T/err" && "$B/overlap_report" --no-html --csv "$T/csv" "$T/last" >"$T/text" || { echo "$scene, $how: status $?" && cat "$T/err"; return 1; }
      echo "$scene, $how" && grep -A3 'Who comes last' "$T/text" && cat "$T/csv/pairs.csv"
      awk -F, -v truth="$truth" 'BEGIN { wanted = split(truth, x, " ") / 2; for (i = 1; i < 2 * wanted; i += 2) want[x[i]] = x[i + 1] * 5e7 }
        NR > 1 { off = $15 - want[$1 "," $2]; n += want[$1 "," $2] > 0; if (off < -1e6 || off > 1e6) bad++ } END { exit !(n == wanted && !bad) }' "$T/csv/pairs.csv" && went_where 15 last || return 1
      "$B/overlap_report" --diff "$T/last" "$T/last" >"$T/text" && grep -E '^ +([0-9.]+ ms|[0-9.]+ s) +([0-9.]+ %) +\1 +\2 +before the last at a collective' "$T/text" || { cat "$T/text"; return 1; }
    done
  done
}
# A call that ends a late message and a collective whose last is later still waits once, by the model and by timelines inside;
# and what the sum of all reports has, a reader of it says again.
waits_count_once() {
  for how in report preload; do
    rm -rf "$T/once" && mkdir "$T/once" && case $how in
      report) timeout 300 "$B/pm_run" -n 4 --report "$T/once" "$B/tests/mpi/preload_truth.mpich" both ;;
      *) NBC_TRACE=first NBC_REPORT_DIR=$T/once timeout 300 "$B/pm_run" -n 4 --per-node 4 --preload "$B/libnbc_overlap_mpich.so" "$B/tests/mpi/preload_truth.mpich" both ;;
    esac >"$T/out" 2>"$T/err" && "$B/overlap_report" --no-html --csv "$T/csv" "$T/once" >"$T/text" && went_where 15 all || { cat "$T/err"; return 1; }
    # 0, 1 and 3 waited for 2 in each round: two parts, one, two; nothing else stands beside that
    cat "$T/csv/why.csv" && awk -F, '$1 == "last" && $2 == 2 { last = $3 } $1 == "late" && $2 == 1 { late = $3 } $1 == "moving" { moving = $3 } END { exit !(last > 745e6 && last < 760e6 && late < 5e6 && moving < 5e6) }' "$T/csv/why.csv" || return 1
    "$B/overlap_report" --json "$T/once" >"$T/sum.json" && "$B/overlap_report" --no-html "$T/sum.json" >"$T/again" || return 1
    for text in "$T/text" "$T/again"; do sed -n '/^Where .* in calls went/,/^$/p' "$text" | sed '/^Where/s/(.*//' >"$text.why"; done
    test -s "$T/text.why" && diff "$T/text.why" "$T/again.why" && case $how in
      report) grep '"is_simulated":true' "$T/sum.json" && grep '^Where .*by the simulation' "$T/again" ;;
      *) ! grep is_simulated "$T/sum.json" && grep '^Where .*by timelines' "$T/again" ;;
    esac || return 1
  done
}
# As the preload keeps them: of other letters, and of long ones 63 bytes.
sections_keep_their_names() {
  rm -rf "$T/names_of" && timeout 300 "$B/pm_run" -n 2 --report "$T/names_of" "$B/tests/mpi/preload_truth.mpich" regions >/dev/null 2>"$T/err" && "$B/overlap_report" --no-html --csv "$T/csv" "$T/names_of" >"$T/text" &&
    cut -d, -f1 "$T/csv/sections.csv" | grep '[a-z]' | LC_ALL=C sort -u >"$T/sections" && cat "$T/sections" && grep -qx '"Solver<double>::apply_the_preconditioner_to_a_block_of_columns_"' "$T/sections" && grep -qx "$(printf '"L\303\266ser"')" "$T/sections" && grep -qx '"level 2"' "$T/sections"
}
stamped() { # KIND PLACE LEAST MOST: per cent of the time of its transfers that was hidden by the wire's stamps
  awk -F, -v kind="$1" -v where="\"$2 " -v least="$3" -v most="$4" '$2 == kind && index($16, where) == 1 { n += $17; x += $18; lo += $19; hi += $20 }
    END { if (!n || 100 * lo / x < least || 100 * hi / x > most) { print "stamps at", where, n, x, lo, hi; exit 1 } }' "$T/csv/transfers.csv"
}
# A thread that is in a call neither hides another one's calls nor lengthens them, whichever of them sends. What a
# thread leaves behind is not known to be hidden; what it waits for elsewhere is hidden by its own computation.
spans_belong_to_their_thread() {
  for how in waits computes "waits thread" "computes thread" "waits openmp" "computes openmp" handed taken collective; do
    case $how in *" "* | handed | taken) threads=3 ;; *) threads=2 ;; esac
    case $how in collective) count=4 ;; *) count=2 ;; esac
    # shellcheck disable=SC2086 # words
    rm -rf "$T/spans" && timeout 300 "$B/pm_run" -n $count --report "$T/spans" "$B/tests/guest_mpi/spans" $how 2>/dev/null && "$B/overlap_report" --no-html "$T"/spans/*.0.json >"$T/text" 2>/dev/null && cat "$T/text" && grep "^$threads threads" "$T/text" && { [ "$how" = collective ] || grep '^  recv (blocking)  *1 ' "$T/text"; } &&
      sed -n 's/^  isend .* \([0-9.]*\) \.\. *\([0-9.]*\) %.*/\1 \2/p' "$T/text" | awk -v how="${how% *}" '{ n++; ok = how == "waits" ? $2 < 10 : how == "handed" ? $1 == 0 && $2 > 90 : $1 > 90 } END { exit !(n == 1 && ok) }' || { echo "$how"; return 1; }
  done
}
# Threads of their own make the same messages with a report as without, whoever handles events, at the same times.
threads_are_reported() {
  for o in '' '--progress dedicated' '--progress timer'; do
    # shellcheck disable=SC2086
    rm -rf "$T/report" && simulated 3 $o "$B/tests/guest_mpi/threads" && cp "$T/simulated" "$T/first" && simulated 3 $o --report "$T/report" "$B/tests/guest_mpi/threads" && cmp "$T/simulated" "$T/first" &&
      "$B/overlap_report" --no-html "$T/report" >"$T/text" && grep '^[1-9][0-9]* threads' "$T/text" && ! grep -i 'unplaced\|no such transfer' "$T/text" &&
      sed -n 's/.*at least \([0-9.]*\) %, at most \([0-9.]*\) %; by NIC stamps of \([0-9]*\): \([0-9.]*\) to \([0-9.]*\) %.*/\1 \2 \3 \4 \5/p' "$T/text" | awk '{ ok = $3 > 10 && $1 <= $5 + 0.1 && $4 <= $2 + 0.1 } END { exit !ok }' || { echo "$o"; cat "$T/text"; return 1; }
  done
}
# What the wire saw lies within the bounds also where messages are faster than the platform's link: by LogGP's numbers, in
# parts over two NICs, over cables of a file, through the NIC to a process of one's own node; and a minimum is claimed where one may be.
minimum_is_of_the_level() {
  printf 'node_count 2\n' >"$T/plain.machine" && printf 'node_count 2\nloggp_bytes_per_s 4e10\n' >"$T/loggp.machine" &&
    printf 'node_count 2\nnic_count 2\nrail_split_bytes 1000\n' >"$T/rails.machine" &&
    printf 'node_count 2\npci_flow_bytes_per_s 1e11\npci_bytes_per_s 1e11\ntopology file\nlink h0 s 4e10 50\nlink h1 s 4e10 50\n' >"$T/file.machine" &&
    printf 'node_count 1\npci_flow_bytes_per_s 1e11\npci_bytes_per_s 1e11\nlink_bytes_per_s 4e10\nintra_uses_nic 1\n' >"$T/inside.machine" || return 1
  for how in plain:flow loggp:loggp loggp:flow,loggp@1 rails:flow file:flow inside:flow inside:packet; do
    case $how in inside*) each=2 ;; *) each=1 ;; esac
    rm -rf "$T/fetched" && timeout 300 "$B/pm_run" -n 2 --per-node $each --platform "$T/${how%:*}.machine" --level "${how#*:}" --report "$T/fetched" "$B/tests/guest_mpi/fetched" 2>"$T/err" || { cat "$T/err"; return 1; }
    for rank in 0 1; do
      "$B/overlap_report" --no-html "$T"/fetched/*.$rank.json >"$T/text" &&
        sed -n 's/.*at least \([0-9.]*\) %, at most \([0-9.]*\) %; by NIC stamps of \([0-9]*\): \([0-9.]*\) to \([0-9.]*\) %.*/\1 \2 \3 \4 \5/p' "$T/text" |
        awk '{ n++; ok = $3 == 4 && $1 <= $5 + 0.1 } END { exit !(n == 1 && ok) }' || { echo "$how, $rank"; cat "$T/text"; return 1; }
      case $how in inside*) grep -q "same node the platform's link;" "$T/text" || { cat "$T/text"; return 1; } ;; esac
    done
  done
}
maximum_knows_what_goes_at_once() { # messages beyond 64 KiB too, on levels with a table and without
  for how in 'flow 1048576' 'rtl 1048576' 'flow 4096'; do
    case $how in rtl*) ! "$B/pm_run" -n 1 --level rtl true 2>&1 | grep -q 'rtl is missing' || continue ;; esac
    rm -rf "$T/fetched" && timeout 300 "$B/pm_run" -n 2 --level "${how% *}" --eager "${how#* }" --report "$T/fetched" "$B/tests/guest_mpi/fetched" early 2>"$T/err" || { cat "$T/err"; return 1; }
    "$B/overlap_report" --no-html "$T"/fetched/*.0.json >"$T/text" &&
      sed -n 's/.*at least \([0-9.]*\) %, at most \([0-9.]*\) %; by NIC stamps of \([0-9]*\): \([0-9.]*\) to \([0-9.]*\) %.*/\1 \2 \3 \4 \5/p' "$T/text" |
      awk '{ n++; ok = $3 == 4 && $1 <= $5 + 0.1 && $2 >= $4 - 0.1 } END { exit !(n == 1 && ok) }' || { echo "$how"; cat "$T/text"; return 1; }
  done
}
# The time in a call belongs to what ends in it, whoever handles the events: here all of MPI_Wait is for one message.
waits_are_for_what_ends_in_them() {
  for o in calls dedicated timer; do
    rm -rf "$T/fetched" && timeout 300 "$B/pm_run" -n 2 --progress $o --report "$T/fetched" "$B/tests/guest_mpi/fetched" 2>"$T/err" || { cat "$T/err"; return 1; }
    cat "$T"/fetched/*.1.json | tr ',{}' '\n\n\n' | awk -F: -v how=$o '/"kind":/ { kind = $2 } /"total_ns"/ && kind ~ /"wait"/ { in_calls = $2 } /"waited_ns"/ { waited = $2 }
      END { print how, in_calls, waited; exit !(in_calls > 0 && waited >= 0.9 * in_calls && waited <= in_calls) }' || return 1
  done
}
calls_cost_what_the_file_says() {
  printf '# costs\nMPI_Init_thread 1000000 # a millisecond\n' >"$T/costs" && timeout 300 "$B/pm_run" -n 2 "$set" types 2>"$T/plain" >/dev/null &&
    timeout 300 "$B/pm_run" -n 2 --lib-cost "$T/costs" "$set" types 2>"$T/err" >/dev/null && cat "$T/plain" "$T/err" | grep simulated | awk '{ t[NR] = $4 } END { d = t[2] - t[1]; exit !(NR == 2 && d > 999.9 && d < 1000.1) }' || return 1
  for line in 'MPI_Send' 'Send 3' 'MPI_Send -3' 'MPI_Send 3 4'; do
    echo "$line" >"$T/costs" && "$B/pm_run" --lib-cost "$T/costs" -n 1 "$set" 2>"$T/err"
    test $? = 2 && grep 'line 1: MPI_Name NANOSECONDS' "$T/err" || { echo "taken: $line"; return 1; }
  done
  for line in 'MPI_Sennd: MPI has no such function' 'MPI_Send: line 1 has said it already' 'MPI_\*: line 2 has said it already'; do
    printf 'MPI_Send 3\nMPI_* 3\n%s 4\n' "$(echo "${line%%:*}" | tr -d '\\')" >"$T/costs" && "$B/pm_run" --lib-cost "$T/costs" -n 1 "$set" 2>"$T/err"
    test $? = 2 && grep "costs, line 3: $line" "$T/err" || { echo "taken: $line"; return 1; }
  done
}
# Fortran by the module, by the module of 2008, by mpif.h: nothing is missing, and the same is printed.
fortran_is_as_mpich() {
  for f in fortran fortran08 fortran77; do
    test -x "$B/tests/guest_mpi/$f" || continue
    for n in 1 3; do
      simulated $n "$B/tests/guest_mpi/$f" && ! grep missing "$T/err" && real $n "$B/tests/guest_mpi/$f" && diff "$T/simulated" "$T/real" && test -s "$T/real" || { echo "$f $n"; return 1; }
    done
  done
}
# A tool between the program and MPI, with variables of its own in every process; the project's preload, whose
# reports of the simulated run have bounds that hold the truth.
tools_run_inside() {
  tool=$B/tests/guest_mpi/libtool.so
  simulated 3 --preload "$tool" "$B/tests/guest_mpi/fortran" && grep -x 'tool: 63 sends, 3 reductions of 3 processes' "$T/simulated" || return 1
  ! simulated 3 --preload "$T/none.so" "$set" && grep 'pm_run: --preload: .*none.so: not found' "$T/err"
}
# ... also one that the program was linked with, before the MPI (behind it, nobody asks it); the words are those of a real run.
linked_tools_run_inside() {
  simulated 3 "$B/tests/guest_mpi/tooled_late" && real 3 "$B/tests/guest_mpi/tooled_late" && diff "$T/simulated" "$T/real" && grep -x 'sum 3, all ask another, the MPI is another' "$T/simulated" || return 1
  simulated 3 "$B/tests/guest_mpi/tooled" && real 3 "$B/tests/guest_mpi/tooled" && diff "$T/simulated" "$T/real" && cat "$T/simulated" &&
    grep -x 'tool: 3 sends, 3 reductions of 3 processes' "$T/simulated" && grep -x 'sum 3, all ask the tool, the MPI is another' "$T/simulated"
}
overlap_preload_runs_inside() {
  rm -rf "$T/seen" && mkdir "$T/seen" && NBC_REPORT_DIR=$T/seen simulated 4 --preload "$B/libnbc_overlap_mpich.so" "$set" messages && cp "$T/simulated" "$T/first" &&
    simulated 4 "$set" messages && cmp "$T/simulated" "$T/first" && test "$(ls "$T/seen" | wc -l)" = 4 && # looks at the simulated clock take longer and longer: no measure of the tool's own time
    ! grep -h '"tool_ns":[1-9]' "$T"/seen/*.json && "$B/overlap_report" --no-html "$T/seen" >"$T/text" && grep -c 'MPI' "$T/text"
}
# Its signals are the simulated process's, not pm_run's: one that switches it off and on, and those that end a process,
# which leaves its report and then ends as it would without.
overlap_preload_sees_signals() {
  rm -rf "$T/seen" && mkdir "$T/seen" && NBC_SIGNAL=USR2 NBC_REPORT_DIR=$T/seen simulated 1 --preload "$B/libnbc_overlap_mpich.so" "$B/tests/mpi/preload_truth.mpich" signal &&
    grep -q '"kind":"iprobe","count":1030,' "$T"/seen/*.json || { echo "switched"; return 1; }
  overlap_preload_sees_end term 'ended by signal 15' && overlap_preload_sees_end abort 'ended by signal 6'
}
overlap_preload_sees_end() { # HOW WHAT PM_RUN SAYS
  rm -rf "$T/seen" && mkdir "$T/seen" && ! NBC_REPORT_DIR=$T/seen simulated 2 --preload "$B/libnbc_overlap_mpich.so" "$B/tests/mpi/preload_ends.mpich" "$1" &&
    grep -q "$2" "$T/err" && test "$(ls "$T/seen" | wc -l)" = 1 || { echo "$1"; cat "$T/err"; return 1; }
}
# Each call is a span in its process's track: one after the other, and the run takes the same time.
calls_are_in_the_trace() {
  timeout 300 "$B/pm_run" -n 3 "$set" messages 2>"$T/plain" >/dev/null && timeout 300 "$B/pm_run" -n 3 --trace "$T/calls.csv" "$set" messages 2>"$T/err" >/dev/null && cmp "$T/plain" "$T/err" &&
    awk -F, '/^MPI_/ { n++; if ($8 < end[$5] || $9 < $8) wrong++; end[$5] = $9; called[$1]++; if ($1 == "MPI_Irecv" && $9 == $8) wrong++ } # to post takes its time
      END { exit !(n > 300 && !wrong && called["MPI_Init_thread"] == 3 && called["MPI_Finalize"] == 3 && called["MPI_Sendrecv"] && called["MPI_Waitall"] && !called["MPI_"]) }' "$T/calls.csv" &&
    timeout 300 "$B/pm_run" -n 3 --trace "$T/calls.paje" "$set" messages 2>/dev/null >/dev/null && awk -f tests/model/paje.awk "$T/calls.paje" && grep -q '^7 .* doing r2 MPI_Finalize$' "$T/calls.paje" && grep -q '^4 MPI_Finalize doing ' "$T/calls.paje" &&
    timeout 300 "$B/pm_run" -n 2 --trace "$T/calls.json" "$B/tests/guest_mpi/ends" 2>/dev/null >/dev/null && grep -q '"ph":"X","name":"MPI_Comm_rank","pid":1,"tid":2,' "$T/calls.json" &&
    timeout 300 "$B/pm_run" -n 3 --trace "$T/calls.json" "$set" messages 2>/dev/null >/dev/null && awk -f tests/model/chrome.awk "$T/calls.json"
}
# Random programs, drawn from these seeds: messages of all kinds, collectives on communicators of all kinds, windows
random_programs_are_as_mpich() { # PROCESSES SEED
  set -- "$1" "$B/tests/guest_mpi/random" "$2" 50
  simulated "$@" && real "$@" && grep '^[0-9]' "$T/real" >"$T/first" && diff "$T/simulated" "$T/first" && test "$(wc -l <"$T/first")" = 50 || return 1
  for o in '--jitter 1000,100 --seed 7' '--progress timer --per-node 2' '--progress dedicated --eager 100' '--collectives openmpi'; do
    # shellcheck disable=SC2086 # options are words
    simulated "$1" $o "$2" "$3" 50 && cmp "$T/simulated" "$T/first" || { echo "$o"; return 1; }
  done
}
threads_may_all_call() {
  for how in calls dedicated timer; do simulated 3 --progress $how "$B/tests/guest_mpi/threads" && grep -x 'level 1, 0 wrong' "$T/simulated" || return 1; done
  # every call is in the trace: what one thread is in hides no call of another
  simulated 3 --trace "$T/threads.csv" "$B/tests/guest_mpi/threads" && test "$(grep -c '^MPI_Irecv,' "$T/threads.csv")" = 600 && test "$(grep -c '^MPI_Isend,' "$T/threads.csv")" = 600
}
for n in $(some '2 3 8' '1 4 17'); do check "as MPICH, $n processes" same_as_mpich $n; done
for n in 2 3; do check "a random program as under MPICH, $n processes" random_programs_are_as_mpich $n $n; done
check "persistent collectives, 5 processes" persistent_as_blocking 5
for n in 1 3 5; do check "what MPICH has not, $n processes" judge_themselves $n; done
check "on without failed processes" nobody_fails
mpi_names() { # KIND FILES...
  kind=$1 && shift
  nm -D "$@" | awk -v kind="$kind" 'NF > 1 && $(NF - 1) ~ kind && $NF ~ /^MPI_/ { sub(/@.*/, "", $NF); print $NF }' | sort -u
}
every_function_is_called() {
  mpi_names '^[TW]$' "$B/pm_run" >"$T/there" && mpi_names '^[Uwv]$' "$set" "${set}_large" "$B/tests/guest_mpi/threads" "$B/tests/guest_mpi/ends" >"$T/called" &&
    test "$(wc -l <"$T/there")" -gt 600 && ! comm -23 "$T/there" "$T/called" | grep .
}
# A table is obeyed: a barrier by other messages takes another time; a wrong rule is told with its line.
tables_choose_algorithms() {
  printf '# slow\nbarrier 0 0 linear 0 0\n' >"$T/table"
  for c in ours mpich "$T/table"; do timeout 300 "$B/pm_run" -n 17 --collectives "$c" "$B/tests/guest_mpi/ends" 2>"$T/err" >/dev/null && cat "$T/err"; done >"$T/times"
  cat "$T/times" && awk '{ t[NR] = $4 } END { exit !(NR == 3 && t[1] == t[2] && t[3] != t[1]) }' "$T/times" || return 1
  printf 'barrier 0 0 linear 0 0\nbcast 0 0 bruck 0 0\n' >"$T/table"
  ! "$B/pm_run" -n 1 --collectives "$T/table" "$set" 2>"$T/err" && grep 'table:2: the algorithm does not serve this collective' "$T/err"
}
# Programs find a function by either of its names, tools replace the weak one; compilers differ in what hidden visibility does
# to the second name.
names_of() { readelf -sW "$1" | awk '$8 ~ /^P?MPIX?_/ && $7 != "UND" { print $5, $6, $8 }' | sort; }
names_are_exported() { names_of "$B/guest/mpi/calls_env.o" >"$T/names" && grep -qx 'WEAK DEFAULT MPI_Wtime' "$T/names" && ! grep HIDDEN "$T/names"; }
clang_exports_the_same() { names_of "$B/tests/guest_mpi/names_by_clang.o" | diff "$T/names" -; }
check "names are exported" names_are_exported
if [ -e "$B/tests/guest_mpi/names_by_clang.o" ]; then check "names are exported by clang, the same" clang_exports_the_same
else skip "names by clang" "no clang (Debian: clang)"; fi
check "tables choose algorithms" tables_choose_algorithms
check "every function of MPI is called" every_function_is_called
check "large counts change nothing" large_counts_change_nothing
check "other machines change nothing" other_machines_change_nothing
check "options change nothing but times" options_change_nothing
check "bad options are refused" bad_options_are_refused
check "a report has bounds and the truth" report_has_the_truth
check "a wait is told with its reason" waits_have_reasons
check "what a report says first fits the run" first_advice_fits
check "who comes last at a collective is told" last_is_told
check "of what a call waits for at once each moment counts once" waits_count_once
check "sections keep their names" sections_keep_their_names
check "a report tells of transfers by the line that asked for them" transfers_have_places
check "spans belong to their thread" spans_belong_to_their_thread
check "threads are in the report" threads_are_reported
check "a minimum is of the level" minimum_is_of_the_level
check "a maximum knows what goes at once" maximum_knows_what_goes_at_once
check "waits are for what ends in them" waits_are_for_what_ends_in_them
check "file systems are no part of names" file_systems_are_no_part_of_names
check "Fortran as MPICH" fortran_is_as_mpich
check "calls are in the trace" calls_are_in_the_trace
check "tools run inside" tools_run_inside
check "tools that the program was linked with run inside" linked_tools_run_inside
check "the overlap preload runs inside" overlap_preload_runs_inside
check "the overlap preload sees signals inside" overlap_preload_sees_signals
check "the overlap preload sees a crash inside" overlap_preload_sees_end segv 'crashed.*SIGSEGV'
check "threads may all call MPI" threads_may_all_call
check "calls cost what the file says" calls_cost_what_the_file_says
finish
