#!/bin/sh
# Messages that come before their receives lie in blocks that are used again and again: no byte is lost, and pages that
# have been emptied go back, by groups of 16 while all processes together keep few of them.
. tests/test.sh
app=$B/tests/guest_mpi/early
if [ ! -x "$app" ]; then
  skip "early messages of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
run() { timeout 300 "$B/pm_run" "$@" >"$T/out" 2>"$T/err" && cat "$T/out" "$T/err"; }
# 200 MB through two blocks of 32 MiB each, of which a few pages are there at a time
bytes_stay() { run -n 2 "$app" "$1" $((200000000 / $1)) && awk '/wrong/ { n++; ok = $1 == 0 && $3 < 40 } END { exit !(n == 1 && ok) }' "$T/out"; }
# 15 pages of each, never a whole group: 17 MB of them stay, not 123 MB.
few_pages_stay() { run -n 2000 "$app" && awk '/wrong/ { n++; ok = $1 == 0 && $3 < 90 } END { exit !(n == 1 && ok) }' "$T/out"; }
for bytes in 3000 1000 4096; do check "bytes stay, and memory goes back: $bytes at a time" bytes_stay $bytes; done
check "few pages stay, of many processes" few_pages_stay
finish
