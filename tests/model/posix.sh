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
for what in signals posix; do
  check "$what are as on Linux" is_as_on_linux "$what"
  check "$what are each process's own" is_each_processes_own "$what"
done
finish
