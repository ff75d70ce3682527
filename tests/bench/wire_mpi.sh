#!/bin/sh
# tcp_latency_openmpi, tcp_bandwidth_openmpi: see wire.c; two processes that Open MPI joins by TCP too.
B=${B:-build}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ -x "$B/bench/wire.openmpi" ] && command -v mpirun.openmpi >/dev/null || exit 0
timeout 200 mpirun.openmpi -n 2 --oversubscribe --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo \
  "$B/bench/wire.openmpi" "${1:-.}"
