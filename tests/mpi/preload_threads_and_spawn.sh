#!/bin/sh
# MPI_THREAD_MULTIPLE: every transfer is found again, also when another thread completes it. Spawned
# processes write reports of their own, named after their own world.
. tests/mpi/preload_common.sh

threads() { # mpi
  same_with_preload "$1" 2 preload_threads
  grep -q 'no MPI_THREAD' "$reports/without" && { skip "$1: no MPI_THREAD_MULTIPLE"; return; }
  counts 'processes 2
isend calls 408 transfers 408 bytes 742400
irecv calls 408 transfers 408 bytes 742400
barrier calls 2 transfers 0 bytes 0'
  same_with_preload "$1" 4 preload_threads
}
each_mpi threads

# Debian's MPICH has no spawn on the device it is built for; without preload it fails there too.
if have_mpi openmpi; then
  if [ $pt2pt = rdma ]; then # Open MPI 5 gives spawned processes the launcher's environment, not what -x names
    measured() { shift 2 && LD_PRELOAD=$(library openmpi) NBC_REPORT_DIR=$reports timeout -k 5 300 mpirun.openmpi -n 2 "$@"; }
  fi
  same_with_preload openmpi 2 preload_spawn
  counts 'processes 4
send calls 4 transfers 4 bytes 16
recv calls 4 transfers 4 bytes 16
comm_free calls 2 transfers 0 bytes 0
spawn_connect calls 2 transfers 0 bytes 0'
  worlds=$(ls "$reports" | sed -n 's/^nbc_overlap\.\(.*\)\.[0-9]*\.json$/\1/p' | sort -u | wc -l)
  if [ "$worlds" = 2 ]; then ok "openmpi: two worlds, two names"; else bad "openmpi: $worlds names of runs"; fi
else
  skip "spawn: no Open MPI"
fi
finish
