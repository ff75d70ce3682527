#!/bin/sh
# The MPI transport with Open MPI and MPICH, by turns (turns.sh): 1 to 5 processes, every thread level; the OpenSHMEM
# transport with Open MPI's.
. tests/test.sh
. tests/mpi/turns.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

messages() { # MPI PROCESSES LEVEL [TEST]
  timeout -k 5 300 "mpirun.$1" -n "$2" "$B/tests/mpi/transport_messages.$1" "$3" $4
}
messages_only() (export NBC_SHARED_MEMORY=0 && messages "$@")
fails() { timeout -k 5 300 "mpirun.$1" -n "$2" "$B/tests/mpi/create_fails.$1"; } # MPI PROCESSES
# Free memory, of the machine or of the container, whichever is less.
free_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
for limit in $(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null | grep -v max); do
  [ $((limit / 1024)) -gt "${free_kb:-0}" ] || free_kb=$((limit / 1024))
done
for mpi in openmpi mpich; do
  if ! command -v "mpirun.$mpi" >/dev/null || [ ! -x "$B/tests/mpi/transport_messages.$mpi" ]; then
    skip "messages over $mpi" "no mpirun.$mpi or mpicc.$mpi"
    continue
  fi
  [ -z "$TEST_MORE" ] || check "$mpi, 1 process" messages $mpi 1 3
  turn $mpi check "$mpi, 2 processes, MPI_THREAD_SINGLE" messages $mpi 2 0
  turn $mpi check "$mpi, 3 processes, MPI_THREAD_FUNNELED" messages $mpi 3 1
  turn $mpi check "$mpi, 4 processes, MPI_THREAD_SERIALIZED" messages $mpi 4 2
  check "$mpi, 5 processes, MPI_THREAD_MULTIPLE" messages $mpi 5 3
  for level in $(some 1 2); do turn $mpi check "$mpi, 3 processes, level $level, messages of MPI only" messages_only $mpi 3 $level; done
  for n in $(some 3 '1 2'); do turn $mpi check "$mpi, $n processes, a rank without memory fails in all" fails $mpi $n; done
  if [ -z "$TEST_MORE" ]; then : # tests/coll/results_match_reference has as many bytes; a machine may take long to give so much memory
  elif [ "${free_kb:-0}" -gt 8000000 ]; then check "$mpi, more than 2 GiB" messages $mpi 2 3 huge
  else skip "$mpi, more than 2 GiB" "less than 8 GB of memory free"; fi
done

# Open MPI 4.1 with UCX crashes in shmem_finalize of any program unless its memory hooks are off. Small
# heaps: containers have little shared memory.
shmem() { # ELEMENTS [ARGUMENT]
  OMPI_MCA_opal_common_ucx_opal_mem_hooks=0 SHMEM_SYMMETRIC_SIZE=32M \
    timeout -k 5 300 oshrun -n "$1" "$B/tests/mpi/transport_shmem" $2
}
if ! command -v oshrun >/dev/null || [ ! -x "$B/tests/mpi/transport_shmem" ]; then
  skip "messages over OpenSHMEM" "no oshrun or oshcc (Debian: openmpi-bin, libopenmpi-dev)"
elif ! shmem 1 --list >/dev/null 2>&1; then # shmem_init and shmem_finalize only
  skip "messages over OpenSHMEM" "Open MPI's OpenSHMEM does not start on this machine"
else
  for n in $(some 4 '1 2'); do check "OpenSHMEM, $n elements" shmem $n; done
fi
finish
