#!/bin/sh
# Every fuzzer, from its seeds, with a fixed random seed, for FUZZ_RUNS inputs (default 10,000, TEST_MORE=1: 50,000: the same
# on every machine) or FUZZ_SECONDS (default 60). What makes one fail is kept in $B/fuzz.
. tests/test.sh
fuzz() { # NAME
  mkdir -p "$T/$1"
  "$B/fuzz/$1" -seed=1 -max_len=4096 -timeout=20 -rss_limit_mb=2048 "-runs=${FUZZ_RUNS:-$([ "$TEST_MORE" ] && echo 50000 || echo 10000)}" \
    "-max_total_time=${FUZZ_SECONDS:-60}" "-artifact_prefix=$B/fuzz/$1-" "$T/$1" "tests/fuzz/seeds/$1" 2>&1 | tail -25 >"$T/$1.log"
  grep -E '^Done [1-9]' "$T/$1.log" || { cat "$T/$1.log" && false; }
}
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  if [ -x "$B/fuzz/$name" ]; then check "$name" fuzz "$name"
  else skip "$name" "no libFuzzer (Debian: clang libclang-rt-dev)"; fi
done
finish
