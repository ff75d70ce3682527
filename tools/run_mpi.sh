#!/bin/sh
# What `make run-mpi` does: overlap reports of real programs, without recompiling them. Under
# Open MPI: Debian's hpcc (HPL, PTRANS and five more), two processes, a small problem; under MPICH:
# examples/04_halo_mpi.c. Transfer times are measured first. Everything lands in $B/run-mpi.
# Usage: B=build tools/run_mpi.sh
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
B=$(cd "${B:-build}" && pwd) || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1
input=/usr/share/doc/hpcc/examples/_hpccinf.txt
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 # one core per process
result=0
missing() { echo "run-mpi: no $1 here: skipped (make deps installs it)"; }
# limited SECONDS NAME COMMAND...: says so when the time was not enough, or how the command ended
limited() {
  seconds=$1 name=$2 && shift 2
  timeout -k 5 "$seconds" "$@"
  case $? in
    0) return 0 ;;
    124 | 137) echo "run-mpi: $name did not end within $seconds s: the machine is busy, or it hangs; try again when it is idle" ;;
    *) echo "run-mpi: $name failed" ;;
  esac
  return 1
}
enter() { rm -rf "$B/run-mpi/$1"; mkdir -p "$B/run-mpi/$1/reports" && cd "$B/run-mpi/$1" || exit 1; }

openmpi() {
  [ -e $input ] || input=$input.gz
  enter openmpi
  echo "== hpcc under Open MPI, 2 processes =="
  # N = 1000, one process row: two processes instead of four
  zcat -f $input | sed -e '11s/^2/1/' >hpccinf.txt
  limited 120 xfer_table_mpi mpirun.openmpi -n 2 "$B/xfer_table_mpi" same_node.txt || return 1
  limited 300 hpcc mpirun.openmpi -n 2 -x NBC_REPORT_DIR="$PWD/reports" -x NBC_TABLE="$PWD/same_node.txt" \
    -x LD_PRELOAD="$B/libnbc_overlap_mpi.so" hpcc || return 1
  grep -E '^(HPL_Tflops|HPL_time|PTRANS_GBs|PTRANS_residual|Success)=' hpccoutf.txt
  "$B/overlap_report" -o hpcc.html reports && echo "page: $PWD/hpcc.html"
}

mpich() {
  enter mpich
  echo "== halo_mpi under MPICH, 2 processes =="
  limited 120 xfer_table_mpich mpirun.mpich -n 2 "$B/xfer_table_mpich" same_node.txt || return 1
  limited 120 halo_mpich mpirun.mpich -n 2 -genv NBC_REPORT_DIR "$PWD/reports" -genv NBC_TABLE "$PWD/same_node.txt" \
    -genv LD_PRELOAD "$B/libnbc_overlap_mpich.so" "$B/halo_mpich" || return 1
  "$B/overlap_report" -o halo.html reports && echo "page: $PWD/halo.html"
}

if [ ! -x "$B/libnbc_overlap_mpi.so" ] || ! command -v mpirun.openmpi >/dev/null; then missing "Open MPI"
elif ! command -v hpcc >/dev/null; then missing hpcc
else (openmpi) || result=1; fi
if [ ! -x "$B/halo_mpich" ] || ! command -v mpirun.mpich >/dev/null; then missing MPICH
else (mpich) || result=1; fi
exit $result
