#!/bin/sh
# The preload changes no result: the same program with and without it prints the same lines, under
# both MPIs, with 2 and 4 processes; and the reports count what the program did.
. tests/mpi/preload_common.sh

# What preload_p2p does per process: calls, transfers; bytes are summed over both lengths.
expected() { # processes
  n=$1
  small=10 big=262144
  awk -v n="$n" -v s=$small -v b=$big 'BEGIN {
    bb = b - 5; c = int(b / n); i4 = 4
    print "processes " n
    printf "send calls %d transfers %d bytes %d\n", 8*n, 8*n, 4*n*i4*(s+bb)
    printf "recv calls %d transfers %d bytes %d\n", 6*n, 6*n, 3*n*i4*(s+bb)
    printf "sendrecv calls %d transfers %d bytes %d\n", 6*n, 8*n, 4*n*i4*(s+b)
    printf "isend calls %d transfers %d bytes %d\n", 12*n, 12*n, 6*n*i4*(s+b)
    printf "irecv calls %d transfers %d bytes %d\n", 14*n, 14*n, n*i4*(s+bb) + 6*n*i4*(s+b)
    printf "start calls %d transfers %d bytes %d\n", 8*n, 12*n, 6*n*i4*(s+b)
    printf "bcast transfers %d bytes %d\n", 2*n, n*i4*(s+c)
    printf "allreduce transfers %d bytes %d\n", 2*n, n*i4*(s+c)
    printf "reduce transfers %d bytes %d\n", 2*n, n*i4*(s+c)
    printf "gather transfers %d bytes %d\n", 2*n, 2*(n-1)*i4*(s+c)
    printf "allgather transfers %d bytes %d\n", 2*n, n*(n-1)*i4*(s+c)
    printf "alltoall transfers %d bytes %d\n", 2*n, n*(n-1)*i4*(s+c)
    printf "ibcast transfers %d bytes %d\n", 2*n, n*i4*(s+c)
    printf "iallreduce transfers %d bytes %d\n", 2*n, n*i4*(s+c)
    printf "ialltoall transfers %d bytes %d\n", 2*n, n*(n-1)*i4*(s+c)
  }'
}

same_lines() { # mpi
  for n in 2 4; do
    same_with_preload "$1" $n preload_p2p
    grep -Ev '^(barrier|ibarrier|other|setup|comm_[a-z]*|topology|win_create|spawn_connect) ' "$reports/counted" | sort >"$reports/moved"
    mv "$reports/moved" "$reports/counted"
    # collectives have one call per transfer
    counts "$(expected $n | sed -E 's/^([a-z_]+) (transfers ([0-9]+) .*)/\1 calls \3 \2/' | sort)"
  done
}
# What a program sets, asks and hears of its signals.
same_signals() { # mpi
  reports=$work/handlers.$1
  mkdir "$reports"
  run "$1" 1 "$B/tests/mpi/preload_handlers.$1" >"$reports/without" 2>/dev/null
  measured "$1" 1 "$B/tests/mpi/preload_handlers.$1" >"$reports/with" 2>/dev/null
  if grep -q '^after' "$reports/without" && diff "$reports/without" "$reports/with"; then ok "$1: signal handlers are the program's"
  else bad "$1: signal handlers differ"; fi
}
if [ -z "$TEST_ONLY" ]; then
  each_mpi same_lines
  each_mpi same_signals
else # "same_signals mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
fi
finish
