#!/bin/sh
# nic_thread_memory_MPI: bytes that the preload adds to a living thread that called MPI once (300 of them);
# peer: what such a thread has without the preload.
B=${B:-build} regex=${1:-.}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NBC_REPORT_DIR=$B/bench/thread_memory
mkdir -p "$NBC_REPORT_DIR"
kib() { "$@" 2>&1 >/dev/null | sed -n 's/ KiB per thread//p'; }
for mpi in openmpi mpich; do
  name=nic_thread_memory_$mpi program=$B/tests/mpi/preload_life.$mpi
  preload=$(cd "$B" && pwd)/libnbc_overlap_mp$([ $mpi = openmpi ] && echo i || echo ich).so
  echo "$name" | grep -qE -- "$regex" && [ -x "$program" ] && [ -e "$preload" ] || continue
  without=$(kib timeout 60 "mpirun.$mpi" -n 1 "$program" memory)
  with=$(kib timeout 60 "mpirun.$mpi" -n 1 env LD_PRELOAD="$preload" "$program" memory)
  echo "$with $without" | awk -v name="$name" 'NF == 2 {
    printf "{\"bench\":\"%s\",\"value\":%d,\"unit\":\"B\",\"peer\":%d,\"ratio\":%.4g,\"peer_name\":\"the same thread without the preload\"}\n",
      name, ($1 - $2) * 1024, $2 * 1024, $2 ? ($1 - $2) / $2 : 0 }' | grep . || { echo "$name: no figure" >&2; exit 1; }
done
