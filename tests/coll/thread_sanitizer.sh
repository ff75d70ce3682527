#!/bin/sh
# The progress engine and everything it drives, under the thread sanitizer.
B=${B:-build}
program=$B/tests/coll/progress_policies_tsan
result() { echo "$1 passed, $2 failed, 0 skipped"; exit "$2"; }
mkdir -p "$B/tests/coll"
pieces=$(sed -n 's|^[a-z_]*/[a-z_]*$|src/&.c|p' src/nbc_overlap.list | while read -r c; do
  # the test brings coll/request with it
  [ "$c" = src/coll/request.c ] || [ ! -f "$c" ] || echo "$c"
done)
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -DNBC_PIECES -O0 -g1 -w -fsanitize=thread -I. tests/coll/progress_policies.c $pieces \
  -o "$program" -pthread -lm || { echo "FAILED  does not compile" && result 0 1; }
# address randomisation with many bits is too much for older sanitizer libraries
if setarch -R true 2>/dev/null; then set -- setarch -R "$program"; else set -- "$program"; fi
TSAN_OPTIONS=halt_on_error=1 "$@" >"$program.log" 2>&1 || { tail -60 "$program.log" && result 0 1; }
grep -q '^[1-9][0-9]* passed, 0 failed' "$program.log" || { tail -20 "$program.log" && result 0 1; }
echo "ok      no race"
result 1 0
