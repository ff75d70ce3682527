#!/bin/sh
# Man pages of the commands from what they say at --help, by help2man: one for each COMMAND, but where programs of one
# source differ by their MPI alone, the second and later ones have a line that leads to the first one's.
# Usage: docs/man_pages.sh FOLDER VERSION COMMAND...
folder=$1 version=$2 && shift 2
mkdir -p "$folder" || exit 1
command -v help2man >/dev/null || { echo "man pages: no help2man (Debian: help2man)"; exit 0; }
firsts= missing=0
for command in "$@"; do
  name=${command##*/}
  case $name in
    fit_nic_*) source=fit_nic_rma ;; # fit_nic is another program
    *) source=${name%_mpi} source=${source%_mpich} source=${source%_shmem} source=${source%.openmpi} source=${source%.mpich} ;;
  esac
  first=$(echo "$firsts" | sed -n "s/^$source //p")
  if [ "$first" ]; then
    echo ".so man1/$first.1" >"$folder/$name.1"
    continue
  fi
  case $source in
    bench_rma) what="what one-sided operations cost here" ;;
    bench_nbc) what="nonblocking collectives and progress policies side by side" ;;
    clock_sync) what="one time on all ranks, with a guaranteed error" ;;
    dedicated_core) what="would a core of its own for communication pay?" ;;
    exact_overlap) what="the true overlap of protocols, by the stamps of NICs in RTL" ;;
    fit_nic) what="constants of a NIC fitted to measured puts and gets" ;;
    fit_nic_rma) what="measures puts and gets for fit_nic" ;;
    fit_model) what="models of what messages cost here" ;;
    level_compare) what="the fast models of the network beside NICs in RTL" ;;
    nbc) what="see, get and predict the overlap of an MPI program" ;;
    nic_run) what="ranks on several hosts over the transports of nic_hw.h" ;;
    nicstat) what="clocks, stamps and counters of network adapters" ;;
    overlap_pingpong) what="overlap of the protocols of a message, explained" ;;
    overlap_trace) what="traces of ranks merged for Perfetto and OTF2" ;;
    simgrid_platform) what="platforms of SimGrid, read for pm_run" ;;
    overlap_report) what="overlap reports: read, merged, compared" ;;
    paper_figures) what="the figures of the overlap paper with the truth in them" ;;
    pm_replay) what="traces of MPI programs on a simulated machine" ;;
    pm_run) what="unmodified programs on a simulated machine" ;;
    xfer_table) what="transfer times between threads or processes" ;;
    *) what="part of nbc_overlap" ;;
  esac
  if ! help2man -N --no-discard-stderr --version-string="$version" -n "$what" -s 1 -o "$folder/$name.1" "$command" 2>"$folder/errors"; then
    echo "$name: no man page: $(head -1 "$folder/errors")"
    missing=1
    continue
  fi
  firsts="$firsts
$source $name"
done
rm -f "$folder/errors"
exit $missing
