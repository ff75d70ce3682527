#!/bin/sh
# A program that only records and reports does not pay for the rest of the header: at -O2 its text is at
# most 60,000 bytes when it asks for that by NBC_ONLY_MONITOR, and 75,000 in the other way that README names. With NBC_ONLY_MONITOR it compiles in 3 s
# of CPU time at most and a piece in 2 s (0.9 and 0.8 measured): the limits here are five times as much, for machines that
# are slow or busy; the whole header, of which the linker drops most, took 13 s of such a one and may take 60.
. tests/test.sh

awk '/^ *Example \(complete/ { on = 1; next } on && /^   [A-Z]/ { exit } on' nbc_overlap.h >"$T/example.c"
# shellcheck disable=SC3045 # dash and bash have it
limited() { (ulimit -t "$1" && shift && "$@"); } # SECONDS COMMAND...: of CPU time, each process
longest_piece_compiles() {
  longest=$(wc -l src/*/*.c | grep -v total | sort -rn | awk 'NR == 1 { print $2 }')
  echo "$longest" && limited 10 "$CC" -std=gnu11 -D_GNU_SOURCE -DNBC_PIECES -O2 -I. -c -o "$T/piece.o" "$longest" && test -s "$T/piece.o"
}
is_small() { # SECONDS BYTES FLAGS...
  seconds=$1 most=$2 && shift 2
  limited "$seconds" "$CC" -std=gnu11 -D_GNU_SOURCE -O2 -I. -o "$T/example" "$T/example.c" "$@" -pthread -lm && strip "$T/example" &&
    bytes=$(size "$T/example" | awk 'NR == 2 { print $1 }') && echo "$bytes bytes of text" &&
    test "$bytes" -gt 10000 && test "$bytes" -le "$most" && timeout 60 "$T/example" | grep -q 'transfer'
}
check "monitor alone, with NBC_ONLY_MONITOR and NBC_STATIC" is_small 15 60000 -DNBC_ONLY_MONITOR -DNBC_STATIC
[ -z "$TEST_MORE" ] || check "monitor alone, the linker drops what is not called" is_small 60 75000 -ffunction-sections -fdata-sections -Wl,--gc-sections
check "the longest piece compiles in time" longest_piece_compiles
finish
