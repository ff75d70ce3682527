#!/bin/sh
# One of the mutants, another one each time (TEST_SEED repeats it); `make check-more` takes three, `make mutate` all.
[ -n "$TEST_MORE$MUTANTS" ] || MUTANTS=1
exec sh tests/mutate/mutate.sh "${MUTANTS:-${TEST_MORE:+3}}"
