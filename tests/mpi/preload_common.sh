# Sourced by the preload's test scripts: running programs with each MPI, and counting.
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
passed=0 failed=0 skipped=0
work=$B/tests/mpi/run.$(basename "$0" .sh)
rm -rf "$work"
mkdir -p "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
# Yield: more processes than cores. No process_vm_readv (vader, and smsc of Open MPI 5): containers forbid it, and where they
# do not, who receives a large message reads it whatever its sender does; pt2pt windows do without.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1
# Open MPI 5 has windows over its rdma alone.
case $(mpirun.openmpi --version 2>/dev/null) in *' 4.'*) pt2pt=pt2pt ;; *) pt2pt=rdma ;; esac
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma,xpmem,knem OMPI_MCA_osc=$pt2pt OMPI_MCA_odls_base_sigkill_timeout=0
# TCP within a host: Open MPI 5 finds no way from some interfaces back to themselves.
export OMPI_MCA_btl_tcp_if_include=lo
# A process without mpirun starts no daemon of its own: one whose process was killed stays, and grew to 20 GB.
export OMPI_MCA_ess_singleton_isolated=1
ok() { passed=$((passed + 1)); echo "ok      $*"; }
bad() { failed=$((failed + 1)); echo "FAILED  $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped $*"; }
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit; }
# nm, some FEW OTHERS: as in tests/test.sh
nm() { command nm --plugin "$("${CC:-cc}" -print-file-name=liblto_plugin.so)" "$@"; }
some() { echo "${TEST_MORE:+$2 }$1"; }
# The MPIs that can run here, or one skip for each that cannot.
. tests/mpi/turns.sh
each_mpi() { for m in openmpi mpich; do if have_mpi $m; then "$@" $m; else skip "$1 $m: no mpirun.$m or mpicc.$m"; fi; done; }
library() { case $1 in openmpi) echo "$B/libnbc_overlap_mpi.so" ;; *) echo "$B/libnbc_overlap_mpich.so" ;; esac; }
# run MPI PROCESSES PROGRAM...: without, and `measured` with the preload; reports into $reports. $also: a
# library to be loaded after it; $launching: options of the launcher
run() { m=$1 n=$2; shift 2; timeout -k 5 300 "mpirun.$m" -n "$n" "$@"; }
launching=
# shellcheck disable=SC2086 # words
measured() {
  m=$1 n=$2; shift 2
  case $m in
    openmpi) timeout -k 5 300 mpirun.openmpi $launching -x LD_PRELOAD="$(library $m)${also:+:$also}" -x NBC_REPORT_DIR="$reports" -n "$n" "$@" ;;
    *) timeout -k 5 300 mpirun.mpich $launching -genv LD_PRELOAD "$(library $m)${also:+:$also}" -genv NBC_REPORT_DIR "$reports" -n "$n" "$@" ;;
  esac
}
show() { "$B/tests/mpi/preload_show" "$@"; }
# same_with_preload MPI PROCESSES PROGRAM [BUILD [ARGUMENT]]: runs both, compares what it prints, leaves
# counts in $reports/counted without those that depend on how often a program polls. BUILD: default MPI.
same_with_preload() {
  reports=$work/$3${5:+.$(basename "$5")}.${4:-$1}.$2
  mkdir "$reports"
  run "$1" "$2" "$B/tests/mpi/$3.${4:-$1}" ${5:+"$5"} | sort >"$reports/without"
  measured "$1" "$2" "$B/tests/mpi/$3.${4:-$1}" ${5:+"$5"} | sort >"$reports/with"
  show -n "$reports"/*.json | grep -Ev '(iprobe|wait|waitall|waitany|waitsome|test) calls' >"$reports/counted"
  if [ -s "$reports/without" ] && diff "$reports/without" "$reports/with"; then ok "${4:-$1}, $2 processes: $3: same results"
  else bad "${4:-$1}, $2 processes: $3: results differ"; fi
}
# counts TEXT: what same_with_preload left must be this
counts() {
  printf '%s\n' "$1" >"$reports/expected"
  if diff "$reports/expected" "$reports/counted"; then ok "$(basename "$reports"): counts and bytes"
  else bad "$(basename "$reports"): counts or bytes differ"; fi
}
