#!/bin/sh
# Threads, locks, clocks and signals of programs under pm_run are as Linux has them.
. tests/test.sh
run() { timeout 300 "$B/pm_run" "$@" >"$T/out" 2>"$T/err"; }
is_as_on_linux() { run -n 1 "$B/tests/model/guest_$1" && diff "tests/model/guest_$1.txt" "$T/out"; }
# Each process for itself: as many of each line as there are processes
is_each_processes_own() {
  run -n 3 --per-node 3 "$B/tests/model/guest_$1" || return 1
  cat "tests/model/guest_$1.txt" "tests/model/guest_$1.txt" "tests/model/guest_$1.txt" | sort >"$T/wanted"
  sort "$T/out" | diff "$T/wanted" -
}
# Three processes in one folder say what three programs say on the host, which meet by the clock: on a busy machine not
# at the first try.
on_the_host() { # SCENE: leaves $T/host
  for try in 1 2 3 4 5; do
    mkdir "$T/$1.$try" && { for r in 0 1 2; do PMI_RANK=$r timeout 30 "$B/tests/model/guest_owns" "$1" "$T/$1.$try" & done; wait; } >"$T/raw" &&
      LC_ALL=C sort "$T/raw" | sed "s/^/$1: /" >"$T/host" && cmp -s "$T/said" "$T/host" && return
  done
  diff "$T/said" "$T/host"
}
owns() { # SCENE
  mkdir "$T/$1" && run -n 3 "$B/tests/model/guest_owns" "$1" "$T/$1" && LC_ALL=C sort "$T/out" | sed "s/^/$1: /" >"$T/said" &&
    grep "^$1: " tests/model/guest_owns.txt | diff - "$T/said" && { [ -z "$TEST_MORE" ] || on_the_host "$1"; }
}
files_are_closed_by_their_process() { owns closes && owns end0 && owns end1; }
locks_of_files_keep_others_out() { owns counts && owns parts && owns ring && owns open && owns outside; }
numbers_of_others_are_refused() { mkdir "$T/number" && run -n 3 "$B/tests/model/guest_owns" number "$T/number" && grep -x '1 number: busy' "$T/out" && grep -x '1 free number: 100, again 1' "$T/out" && grep -x '1 unseen: done' "$T/out" && grep '^pm_run: process 1: dup2: .*refused (EBUSY)' "$T/err"; }
check "files are closed by the process that opened them, or by its end" files_are_closed_by_their_process
check "locks of files keep other processes out" locks_of_files_keep_others_out
waits_for_locks_of_others() { # whose program holds it until its input ends
  mkdir "$T/held" && : >"$T/held/outside" && { sleep 2 | "$B/tests/model/guest_owns" asks "$T/held" >"$T/holder" & } && for _ in $(seq 1500); do if [ -s "$T/holder" ]; then break; fi; sleep 0.02; done
  run -n 1 "$B/tests/model/guest_owns" held "$T/held" && cat "$T/out" "$T/holder" && grep -x '0 outside: done' "$T/holder" && grep -x '0 held: done, soon 1' "$T/out"
}
check "locks of programs outside are waited for in no simulated time" waits_for_locks_of_others
check "semaphores and queues of messages wait in simulated time" owns ipc
check "semaphores with a name are one for all processes" owns named
host_is_not_changed() { mkdir "$T/host_" && run -n 3 "$B/tests/model/guest_owns" host "$T/host_" && cat "$T/out" && test "$(grep -c '^[012] [a-z]*:\( 1\)*$' "$T/out")" = 33 && grep '^pm_run: process .: clock_settime: .*refused (EPERM)' "$T/err"; }
check "each process has a time zone, and dates of its own" owns zone
check "who sleeps takes no CPU time" owns cpu
check "the host is not changed" host_is_not_changed
check "numbers of other processes' files are refused" numbers_of_others_are_refused
for what in signals posix; do
  check "$what are as on Linux" is_as_on_linux "$what"
  check "$what are each process's own" is_each_processes_own "$what"
done
finish
