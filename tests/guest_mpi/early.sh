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
bytes_stay() { run -n 2 --early 64 "$app" "$1" $((200000000 / $1)) && awk '/wrong/ { n++; ok = $1 == 0 && $3 < 40 } END { exit !(n == 1 && ok) }' "$T/out"; }
# 15 pages of each, never a whole group: 17 MB of them stay, not 123 MB.
few_pages_stay() { run -n 2000 "$app" && awk '/wrong/ { n++; ok = $1 == 0 && $3 < 90 } END { exit !(n == 1 && ok) }' "$T/out"; }
# Senders may run ahead as far as memory allows: more headers than the NIC of a program on Portals has, more bytes than
# 64 MiB, to another process or to itself; more events, too, than a process of before could leave. Where there is little
# address space, the room is smaller; a limit that was asked for ends the run.
all_wait() { run "$@" && awk '/wrong/ { n++; ok = $1 == 0 } END { exit !(n == 1 && ok) }' "$T/out"; }
many_wait() { all_wait -n 2 "$app" 4 100000 100000 && all_wait -n 2 "$app" 4096 20000 20000; }
many_to_itself_wait() { all_wait -n 1 "$app" 4 100000 100000 && all_wait -n 1 "$app" 1 600000 600000; }
# shellcheck disable=SC3045 # dash and bash have it
little_space() (ulimit -v 2000000 && all_wait -n 2 "$app" 4096 4000 4000)
end_in_time() { ! run -n 2 "$@" && grep -q 'too many messages came before their receives' "$T/err"; }
limits_hold() {
  end_in_time --early 8 "$app" 4096 4000 4000 && all_wait -n 2 --early 20 "$app" 4096 4000 4000 &&
    end_in_time --semantics max_unexpected_headers=1000 "$app" 4 1200 1200
}
for bytes in 3000 1000 4096; do check "bytes stay, and memory goes back: $bytes at a time" bytes_stay $bytes; done
check "few pages stay, of many processes" few_pages_stay
check "100,000 messages and 80 MB wait" many_wait
check "as many wait to oneself" many_to_itself_wait
check "where address space is limited, they wait too" little_space
check "limits that were asked for hold" limits_hold
finish
