#!/bin/sh
# The example on the model prints what its first comment promises: simulated time is the same everywhere.
. tests/test.sh

prints_what_it_promises() {
  sed -n 's/^     \([0-9c ].*\)/\1/p; /^   Two simulated/q' examples/simulated_overlap.c | sed 's/^ *//' >"$T/promised"
  "$B/simulated_overlap" | sed 's/^ *//' >"$T/printed" && test "$(wc -l <"$T/printed")" = 9 && diff "$T/promised" "$T/printed"
}
refuses_bad_sizes() { ! "$B/simulated_overlap" 17 2>/dev/null && ! "$B/simulated_overlap" -1 2>/dev/null; }

check "simulated_overlap prints what it promises" prints_what_it_promises
check "simulated_overlap refuses bad sizes" refuses_bad_sizes
finish
