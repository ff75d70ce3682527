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
    reports=$top/$work/$1.$n
    mkdir "$reports"
    run "$1" $n "$B/tests/mpi/preload_p2p.$1" | sort >"$reports/without" || bad "$1 $n: fails without preload"
    measured "$1" $n "$B/tests/mpi/preload_p2p.$1" | sort >"$reports/with"
    if [ -s "$reports/without" ] && cmp "$reports/without" "$reports/with"; then ok "$1, $n processes: same results"
    else bad "$1, $n processes: results differ"; fi
    show "$reports"/*.json | grep -Ev '^(test|wait|barrier|ibarrier|other|setup) ' | sort >"$reports/counted"
    # collectives have one call per transfer
    expected $n | sed -E 's/^([a-z_]+) (transfers ([0-9]+) .*)/\1 calls \3 \2/' | sort >"$reports/expected"
    if diff "$reports/expected" "$reports/counted"; then ok "$1, $n processes: counts and bytes"
    else bad "$1, $n processes: counts or bytes differ"; fi
  done
}
each_mpi same_lines
finish
