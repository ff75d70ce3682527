#!/bin/sh
# Every command, with one failing malloc after the other: it ends, and with exit status 0 only if its
# output is the same as ever (numbers that it measured aside). At most $MOST places per call, spread over all.
. tests/test.sh
. tests/tree/outputs.sh
[ -z "$TEST_MORE" ] || MOST=${MOST:-25}
MOST=${MOST:-4}
shim=$PWD/$B/tests/tree/fail_malloc.so
case $B in /*) shim=$B/tests/tree/fail_malloc.so ;; esac

run_with() { # NUMBER OUT COMMAND...: that malloc fails; output of both kinds in the file OUT
  number=$1 out=$2 && shift 2
  rm -f "$T/file"
  timeout -k 5 300 env FAIL_MALLOC="$number" FAIL_MALLOC_COUNT="$T/count" LD_PRELOAD="$shim" "$@" >"$out" 2>"$T/err"
  status=$?
  if test -e "$T/file"; then cat "$T/file" >>"$out"; fi
}
plain() { # of what is measured, numbers, the blanks beside them and a stamp that the kernel did not give say nothing
  if test "$kind" = '~'; then sed -E 's/ none( |$)/ 0 +- 0\1/g; s/\+- */+- /g; s/-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/0/g; s/ +/ /g' "$1"; else cat "$1"; fi
}
survives() { # KIND COMMAND...
  kind=$1 && shift
  run_with 0 "$T/good" "$@"
  test "$status" = 0 || { echo "exit status $status without a fault:" && cat "$T/err" && return 1; }
  plain "$T/good" >"$T/expected"
  total=$(cat "$T/count") tried=0
  for at in $(seq 1 $(((total + MOST - 1) / MOST)) "$total"); do
    run_with "$at" "$T/bad" "$@"
    test "$status" = 124 && echo "malloc $at of $total: hangs" && return 1
    tried=$((tried + 1))
    test "$status" = 0 || continue
    test "$kind" = '?' && test -s "$T/bad" && continue
    plain "$T/bad" | cmp - "$T/expected" || { echo "malloc $at of $total: exit status 0, other output" && return 1; }
  done
  test "$tried" -gt 0
}

for kind in = '~' '?'; do
  calls "$kind" >"$T/calls"
  while read -r command arguments; do
    # shellcheck disable=SC2046 # arguments are words
    check "$command $arguments" survives "$kind" "$B/$command" $(echo "$arguments" | sed "s|@|$T/file|")
  done <"$T/calls"
done
finish
