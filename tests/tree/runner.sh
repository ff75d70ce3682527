#!/bin/sh
# tests/run.sh itself: each test runs once, sums are right, what says nothing or hangs has failed, and why a test failed
# can be read where it ran.
. tests/test.sh
test_that() { # NAME LINE...: a script that prints these lines
  name=$1 && shift
  mkdir -p "$T/tests/$(dirname "$name")"
  { echo "echo ran >>ran.$(basename "$name")"; for line in "$@"; do echo "echo '$line'"; done; } >"$T/tests/$name.sh"
}
test_that rtl/coverage '1 passed, 0 failed, 0 skipped'
test_that mpi/good 'ok      one' '5 passed, 0 failed, 1 skipped'
test_that coll/fine '2 passed, 0 failed, 0 skipped'
test_that hw/bad 'ok      one' 'FAILED  two' 'because of this' "$(printf 'x%.0s' $(seq 400))" 'ok      three' 'noise' \
  'FAILED  four' $(seq 101 120) 'ok      five' 'a' 'b' 'c' 'd' 'e' 'f' 'g' '3 passed, 2 failed, 0 skipped'
test_that tree/silent 'nothing'
test_that model/hangs 'begins'
echo 'sleep 100' >>"$T/tests/model/hangs.sh"
runs() { # LANES
  rm -f "$T"/ran.*
  (cd "$T" && TEST_LANES=$1 TEST_TIMEOUT=2 B=out sh "$top/tests/run.sh" tests/rtl/coverage.sh tests/mpi/good.sh tests/coll/fine.sh tests/hw/bad.sh \
    tests/tree/silent.sh tests/model/hangs.sh 'skip:other: none here') >"$T/out.$1" 2>&1
}
sums_are_right() { # LANES: 1 + 5 + 2 + 3 passed; two, silent and hanging failed; 1 skipped, 1 not run
  runs "$1" && return 1
  cat "$T/out.$1"
  test "$(tail -1 "$T/out.$1")" = '11 passed, 4 failed, 2 skipped'
}
each_ran_once() { cat "$T"/ran.* | wc -l | grep -qx 6 && test "$(ls "$T"/ran.* | wc -l)" = 6; }
reasons_are_shown() { # of the two that failed the lines below, and not those of what passed
  sed -n '/^FAILED hw-bad/,/^FAILED [^h]/p' "$T/out.$1" >"$T/reasons"
  cat "$T/reasons"
  grep -q '| because of this$' "$T/reasons" && grep -q '| 112$' "$T/reasons" && ! grep -q '| 113$' "$T/reasons" && ! grep -q '| noise$' "$T/reasons" &&
    ! grep -q 'x\{301\}' "$T/reasons" && grep -q 'model-hangs.sh: exit status 124, timed out after 2 s' "$T/out.$1"
}
last_is_last() { grep -E '^[a-z]+-[a-z]+\.sh ' "$T/out.$1" | tail -1 | grep -q '^rtl-coverage'; }
# What another lane used until it ended is not the time of a test that sleeps meanwhile.
cpu_is_its_own() {
  test_that model/burns "1 passed, 0 failed, 0 skipped"
  printf '%s\n' 'awk "BEGIN { for (i = 0; i < 40000000; i++) x += i }"' 'touch burnt' >>"$T/tests/model/burns.sh"
  test_that mpi/waits "1 passed, 0 failed, 0 skipped"
  printf '%s\n' 'while [ ! -e burnt ]; do sleep 1; done' 'sleep 1' >>"$T/tests/mpi/waits.sh"
  (cd "$T" && TEST_LANES=4 B=out sh "$top/tests/run.sh" tests/model/burns.sh tests/mpi/waits.sh) >"$T/out.cpu" 2>&1
  cat "$T/out.cpu"
  awk '/^model-burns/ { burns = $5 } /^mpi-waits/ { waits = $5; seen = 1 } END { exit !(seen && burns > 0 && waits < burns / 3) }' "$T/out.cpu"
}
top=$(pwd)
mkdir -p "$T/tests"
for lanes in 4 1; do
  check "$lanes lanes: sums are right" sums_are_right $lanes
  check "$lanes lanes: each test runs once" each_ran_once
  check "$lanes lanes: a reader sees why" reasons_are_shown $lanes
  check "$lanes lanes: what looks at others' leavings runs last" last_is_last $lanes
done
check "CPU seconds are those of the test" cpu_is_its_own
finish
