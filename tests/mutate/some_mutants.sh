#!/bin/sh
# Three of the mutants, others each time (TEST_SEED repeats them); `make mutate` takes all.
exec sh tests/mutate/mutate.sh "${MUTANTS:-3}"
