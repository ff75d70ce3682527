#!/bin/sh
# Folded memory: a process keeps the ranges that it asks for, messages between folded buffers move those alone, and
# what was freed serves again.
. tests/test.sh
app=$B/tests/guest_mpi/folded
if [ ! -x "$app" ]; then
  skip "folded memory of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
own_ranges_stay() {
  # shellcheck disable=SC2086 # options are words
  timeout 300 "$B/pm_run" -n 3 --fold 1000000$1 "$app" >"$T/out" 2>"$T/err" && cat "$T/out" "$T/err" && test "$(grep -c ': 0 wrong' "$T/out")" = 3 && grep 'were folded onto' "$T/err" && grep -E 'memory at the end: [0-9.]+ MB \(RSS' "$T/err"
}
check "own ranges stay, in one block" own_ranges_stay
check "own ranges stay, in blocks of a page" own_ranges_stay ,4096
check "own ranges stay, when messages are long" own_ranges_stay ',65536 --eager 0'
finish
