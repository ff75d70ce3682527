#!/bin/sh
# A few of the mutants, other ones each time (TEST_SEED repeats them); `make mutate` runs all.
exec sh tests/mutate/mutate.sh "${MUTANTS:-3}"
