#!/bin/sh
# nbc see srun under a real SLURM: its daemons on two nodes made of namespaces (node_spaces.sh). Every process leaves a report, also when
# the job is cancelled, and the nodes' messages have bounds by both sides. Needs slurm-wlm and munge, which `make deps` leaves out.
. tests/mpi/preload_common.sh
. tests/mpi/node_spaces.sh
unset OMPI_MCA_btl_tcp_if_include # between nodes
export SLURM_CONF="$work/slurm.conf" XDG_CACHE_HOME="$work/cache"
socket=$work/munge.socket
configured() {
  mkdir -p "$work/state" "$work/tmp.node-a" "$work/tmp.node-b" && dd if=/dev/urandom of="$work/key" bs=128 count=1 && chmod 600 "$work/key" || return 1
  cat >"$SLURM_CONF" <<EOF
ClusterName=test
SlurmctldHost=node-a
AuthType=auth/munge
AuthInfo=socket=$socket
SlurmUser=root
StateSaveLocation=$work/state
SlurmctldPidFile=$work/ctld.pid
SlurmctldLogFile=$work/ctld.log
SlurmdSpoolDir=$work/spool.%n
SlurmdPidFile=$work/%n.pid
SlurmdLogFile=$work/%n.log
TmpFS=$work/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
NodeName=node-a,node-b CPUs=2
PartitionName=all Nodes=node-a,node-b Default=YES State=UP
EOF
  printf 'CgroupPlugin=cgroup/v1\nConstrainCores=no\nConstrainRAMSpace=no\n' >"$work/cgroup.conf"
}
started() {
  nodes_begin "$work/nodes" 1000 && configured || return 1
  munged --force --key-file="$work/key" --socket="$socket" --pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/seed" || return 1
  for n in a b; do node_boots_alone $n && on_node $n mount -t tmpfs none /sys/fs/cgroup || return 1; done
  on_node a slurmctld -c && on_node a slurmd -N node-a && on_node b slurmd -N node-b || return 1
  for _ in $(seq 60); do
    on_node a sinfo -h -o %T | grep -qx idle && on_node a timeout 20 srun -N2 -n2 hostname && return 0
    sleep 0.5
  done
  return 1
}
ended() {
  pids=$(cat "$work"/*.pid)
  # shellcheck disable=SC2086 # words
  kill $pids
  for _ in $(seq 50); do # slurmd waits for its steps
    # shellcheck disable=SC2086 # words
    kill -0 $pids || break
    sleep 0.1
  done
  # shellcheck disable=SC2086 # words
  kill -9 $pids
  nodes_end
}
of() { [ "$1" = openmpi ] && echo pmix || echo pmi2; }
see() { # MPI NAME SRUN'S-OPTIONS PROGRAM...
  mpi=$1 name=$2 options=$3 program=$B/tests/mpi/$4.$1
  shift 4
  rm -f "$FLAGS_FILE"
  # shellcheck disable=SC2086 # options are words
  on_node a timeout -k 5 120 "$B/nbc" see --no-table -o "$work/$mpi.$name" srun $options --mpi="$(of $mpi)" -N2 -n2 "$program" "$@" >"$work/$mpi.$name.out" 2>"$work/$mpi.$name.err"
}
reports() { [ "$(find "$work/$1.$2" -name '*.json' | wc -l)" = 2 ] && grep -q '2 processes, on several hosts' "$work/$1.$2.out"; }
all_report() { # MPI NAME WHAT
  if reports "$1" "$2"; then ok "$1: $3: both processes report"; else bad "$1: $3: $(cat "$work/$1.$2.out" "$work/$1.$2.err")"; fi
}
each() { # mpi
  see "$1" plain '' preload_both sender_late
  all_report "$1" plain srun
  if grep -q '^By both sides' "$work/$1.plain.out"; then ok "$1: bounds by both sides of two nodes"; else bad "$1: both sides: $(cat "$work/$1.plain.out")"; fi
  SLURM_EXPORT_ENV=NONE && export SLURM_EXPORT_ENV
  see "$1" none "--export=FLAGS_FILE=$FLAGS_FILE" preload_both sender_late
  unset SLURM_EXPORT_ENV
  all_report "$1" none 'srun --export'
  (sleep 5 && on_node a scancel -u root) &
  see "$1" cancelled '' preload_life poll 90000000 # microseconds until it would end itself
  all_report "$1" cancelled scancel
  wait $!
}
export FLAGS_FILE="$work/flags"
trap "ended 2>/dev/null" EXIT
if ! command -v slurmctld munged srun >/dev/null; then reason="no SLURM (Debian: slurm-wlm munge)"
elif [ "$(id -u)" != 0 ] || ! started >"$work/started" 2>&1; then reason="SLURM does not start here: $(tail -1 "$work/started")"
else reason=; fi
if [ -n "$reason" ]; then skip "SLURM: $reason"; else each_mpi each; fi
finish
