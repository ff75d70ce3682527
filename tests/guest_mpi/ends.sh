#!/bin/sh
# A process that does not end as it should ends the run as launchers of real machines do it, with its status,
# and what the others have printed until then is written, of C's streams and of Fortran's units.
. tests/test.sh
set=$B/tests/guest_mpi
if [ ! -x "$set/ends" ]; then
  skip "ends of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
ends() { # STATUS TEXT PROGRAM ARGUMENTS: status of the run, what stderr says
  status=$1 text=$2 program=$3
  shift 3
  timeout 300 "$B/pm_run" -n 2 "$set/$program" "$@" >"$T/out" 2>"$T/err"
  test $? = "$status" && grep "$text" "$T/err" && sort "$T/out" | tr '\n' ' ' | grep -x 'said by 0 said by 1 ' || { cat "$T/out" "$T/err"; return 1; }
}
reads() { mkfifo "$T/pipe" && ends 4 "process 1 ended with status 4 $between" ends90 reads "$T/pipe"; }
between='between MPI_Init and MPI_Finalize'
check "all is well" ends 0 '2 processes' ends well
aborted() { ends 3 "process 1 called MPI_Abort($1, 3) at [0-9.]* us\$" ends "$2"; }
check "MPI_Abort" aborted MPI_COMM_WORLD abort
for c in 'MPI_COMM_SELF abort-self' 'MPI_COMM_NULL abort-null' 'a communicator of 1 process abort-part' 'left-half abort-partleft-half'; do
  check "MPI_Abort names the communicator: ${c% *}" aborted "${c% *}" "${c##* }"
done
dead() { ends 100 "process 1 (node 1) waits in $2: " ends "$1" && grep 'process 0 (node 0) waits in MPI_Barrier: ' "$T/err"; }
check "a deadlock names call, message and communicator" dead dead 'MPI_Ssend to 0, tag 5 of MPI_COMM_WORLD'
check "a deadlock names the first of several messages" dead dead-any 'MPI_Waitall (2 messages open, the first from any, any tag of MPI_COMM_WORLD)'
check "a deadlock names what a probe looks for" dead dead-probe 'MPI_Probe from 0, tag 5 of MPI_COMM_WORLD'
check "exit with a status" ends 4 "process 1 ended with status 4 $between" ends exit
check "_Exit with a status" ends 5 "process 1 ended with status 5 $between" ends _Exit
check "a return without MPI_Finalize is named" ends 100 "process 1 ended $between" ends forgets
check "a status after MPI_Finalize ends one process" ends 6 'process 1 ended with status 6$' ends after
check "who looks at the clock for long is no deadlock" ends 0 '2 processes, 300000[0-9]*\.' ends looks
check "a timer's signal comes between calls, at its time" ends 0 '2 processes, 10[0-9][0-9]\.' ends alarm
check "a crash" ends 100 SIGABRT ends crash
# Of a run that ends early the reports tell what there was, calls that went on then with it; later runs have other names.
report() { "$B/overlap_report" --no-html --csv "$T/csv" "$T/report" >"$T/text" 2>&1 && cat "$T/text" && grep '^Overlap of ends, 2 processes' "$T/text"; }
leaves_reports() { # STATUS TEXT CALLS HOW
  rm -rf "$T/report" && timeout 300 "$B/pm_run" -n 2 --report "$T/report" "$set/ends" "$4" >"$T/out" 2>"$T/err"
  test $? = "$1" && grep "$2" "$T/err" && grep '^pm_run: --report: reports of 2 of 2 processes, which did not come to MPI_Finalize' "$T/err" && report && grep 'note: .*ended before MPI_Finalize' "$T/text" &&
    awk -F, -v call="\"$3\"" '$1 == call && $5 > 0 && $6 > 0 { n++ } END { exit !n }' "$T/csv/places.csv"
}
check "a deadlock leaves reports, with the calls in which all wait" leaves_reports 100 deadlock MPI_Ssend dead
for how in 'abort 3 MPI_Abort' 'exit 4 ended.with.status' 'crash 100 SIGABRT' 'forgets 100 process.1.ended.between'; do
  set -- $how
  check "reports after: $1" leaves_reports "$2" "$3" MPI_Barrier "$1"
done
set=$B/tests/guest_mpi
often=1 # a word for each time
stopped() { # SIGNAL STATUS HOW [PROCESSES [OPTIONS]]: by it, when the program says how far it is
  rm -rf "$T/report" "$T/never.$3$1" && mkfifo "$T/never.$3$1" && : >"$T/out" && : >"$T/err"
  # a shell has children in the background ignore SIGINT; timeout passes signals on
  env --default-signal=INT timeout --preserve-status -k 10 300 "$B/pm_run" -n "${4:-2}" ${5---report "$T/report"} "$set/ends" "$3" "$T/never.$3$1" >"$T/out" 2>"$T/err" & stopped=$!
  until grep -q "^$3" "$T/out" || ! kill -0 $stopped 2>/dev/null; do sleep 0.1; done
  for _ in $often; do kill -"$1" $stopped 2>/dev/null || :; done
  wait $stopped
  test $? = "$2" || { cat "$T/out" "$T/err"; return 1; }
}
stopped_with_reports() { stopped "$@" && grep "^pm_run: ended by SIG$1 at " "$T/err" && report; }
check "Ctrl-C ends a run with its reports" stopped_with_reports INT 130 turns
check "SIGTERM does, also while a process computes" stopped_with_reports TERM 143 computes
often='1 2 3 4 5 6 7 8 9 10 11 12'
check "a signal that comes many times at once leaves the reports, too" stopped_with_reports TERM 143 computes
often=1
# Whoever comes while the other one is being handled waits: here right when that has begun.
one_after_the_other() {
  printf '#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <signal.h>\n#include <sys/syscall.h>\nlong syscall(long number, ...) {\n  static int sent;\n  long a[6];\n  sigset_t held;\n  __builtin_va_list more;\n  __builtin_va_start(more, number);\n' >"$T/between.c" &&
    printf '  for (int i = 0; i < 6; i++) a[i] = __builtin_va_arg(more, long);\n  if (!sent && number == SYS_clock_gettime && sigprocmask(SIG_BLOCK, 0, &held) == 0 && sigismember(&held, SIGINT)) sent = 1, raise(SIGTERM);\n  return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);\n}\n' >>"$T/between.c" && $CC -shared -fPIC -O1 -w -o "$T/between.so" "$T/between.c" || return 1
  LD_PRELOAD=$T/between.so stopped_with_reports INT 130 turns
}
check "SIGTERM amid SIGINT ends nothing by itself" one_after_the_other
check "one who blocks the host is ended, too" stopped TERM 143 reads
# One process that never waits for another: there is no switch at which the end could come.
alone() { stopped TERM 143 turns 1 && grep '^pm_run: ended by SIGTERM at ' "$T/err" && "$B/overlap_report" --no-html "$T/report" | grep '^Overlap of ends, 1 process'; }
check "one process alone is ended with its report" alone
alone_without() { stopped INT 130 turns 1 "" && grep '^pm_run: ended by SIGINT at ' "$T/err"; }
check "one process alone without a report is, too" alone_without
# Who starts programs under an alarm of his own wants them to end.
rung() {
  : >"$T/out" # what the last one said is not meant
  "$B/pm_run" -n 2 "$set/ends" turns >"$T/out" 2>"$T/err" & rung=$!
  until grep -q '^turns' "$T/out" || ! kill -0 $rung 2>/dev/null; do sleep 0.1; done
  kill -ALRM $rung
  for _ in $(seq 600); do kill -0 $rung 2>/dev/null || break; sleep 0.1; done
  kill -KILL $rung 2>/dev/null
  wait $rung
  test $? = 142
}
check "an alarm of who started it ends a run" rung
sessions_are_reported() {
  rm -rf "$T/report" && "$B/pm_run" -n 2 --report "$T/report" "$set/ends" sessions 2>"$T/err" && ! grep Finalize "$T/err" && report &&
    awk -F, '$1 == "\"MPI_Barrier\"" { n += $5 } END { exit n != 4 }' "$T/csv/places.csv"
}
check "sessions without MPI_Init have a report" sessions_are_reported
# Which kind a call is of, by its name, as the preload has it.
kinds() {
  rm -rf "$T/report" && "$B/pm_run" -n 2 --report "$T/report" "$set/ends" makes 2>"$T/err" && report &&
    grep '^  communicators and windows: 3\.0[0-9] ms in 6 calls, 2\.0[0-9] ms of it in MPI_Win_allocate at ' "$T/text" && grep '^  looking for messages: 4\.0[0-9] ms in .* in MPI_Request_get_status at ' "$T/text" && grep 'At least 5\.0[0-9] ms of .* calls on windows (MPI_Win_free)$' "$T/text"
}
check "reports know what makes communicators and windows, and what looks" kinds
two_runs_are_two() {
  rm -rf "$T/report"
  for count in 4 2; do "$B/pm_run" -n $count --report "$T/report" "$set/ends" well >"$T/out" 2>"$T/err" || return 1; done
  test "$(ls "$T/report" | wc -l)" = 6 && report && grep 'holds several runs' "$T/text"
}
check "reports of two runs in one folder are told apart" two_runs_are_two
wanders() {
  rm -rf "$T/report" "$T/away" && mkdir "$T/away" && (cd "$T" && "$top/pm_run" -n 2 --report report "$top/tests/guest_mpi/ends" wanders away) >"$T/out" 2>"$T/err" && report && test -z "$(ls "$T/away")"
}
top=$(cd "$B" && pwd)
check "reports are where they should be, wherever processes go" wanders
# A program's name may be as long as a file's, and of any letters: its reports have names that a folder takes.
any_name() {
  name="it's \$x $(printf '%0240d' 1)" && rm -rf "$T/report" && cp "$set/ends" "$T/$name" && "$B/pm_run" -n 2 --report "$T/report" "$T/$name" well >"$T/out" 2>"$T/err" || { cat "$T/err"; return 1; }
  [ "$(find "$T/report" -name 'nbc_overlap.*.[01].json' | grep -c "/[A-Za-z0-9._+-]*$")" = 2 ] && "$B/overlap_report" --no-html "$T/report" | grep '^Overlap of it_s__x_0*, 2 processes'
}
check "a program of any name has its reports" any_name
no_folder() { : >"$T/file" && for d in "$T/none/report" "$T/file"; do ! "$B/pm_run" -n 2 --report "$d" "$set/ends" well >"$T/out" 2>"$T/err" && test ! -s "$T/out" && grep "^pm_run: --report: $d: " "$T/err" || return 1; done; }
check "a folder that cannot be is refused before the run" no_folder
if [ -x "$set/ends90" ]; then
  check "Fortran: MPI_Abort" ends 3 'process 1 called MPI_Abort(MPI_COMM_WORLD, 3)' ends90 abort
  check "Fortran: stop" ends 4 "process 1 ended with status 4 $between" ends90 stop
  check "Fortran: stop, while another reads" reads
  check "Fortran: a deadlock" ends 100 deadlock ends90 dead
  check "Fortran: all is well" ends 0 '2 processes' ends90 well
fi
finish
