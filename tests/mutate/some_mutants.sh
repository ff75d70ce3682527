#!/bin/sh
# One of the mutants, another one each time (TEST_SEED repeats it); `make check-more` takes three, `make mutate` all.
[ -z "$TEST_MORE" ] || MUTANTS=${MUTANTS:-3}
exec sh tests/mutate/mutate.sh "${MUTANTS:-1}"
