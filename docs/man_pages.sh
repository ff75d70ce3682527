#!/bin/sh
# Man pages of the commands from what they say at --help, by help2man: one for each COMMAND, but where programs of one
# source differ by their MPI alone, the second and later ones have a line that leads to the first one's. nbc's page also
# has the environment variables of the preloads, from their heads.
# Usage: docs/man_pages.sh FOLDER VERSION COMMAND...
folder=$1 version=$2 && shift 2
mkdir -p "$folder" || exit 1
command -v help2man >/dev/null || { echo "man pages: no help2man (Debian: help2man)"; exit 0; }
# help2man knows the lines of a usage by "Usage:" and "or:", each a line; what one of them does, behind blanks, and
# what follows the usage are of the description.
mkdir -p "$folder/as_help2man_likes" || exit 1
cat >"$folder/usage.awk" <<'AWK'
function flush() { if (line != "") print (first++ ? "  or: " : "Usage: ") line; line = "" }
NR == 1 && /^usage: / { inside = 1; sub(/^usage: /, "       ") }
inside && /^        / && !/^       [^ ]/ { sub(/^ +/, ""); if (at) said[told] = said[told] " " $0; else line = line " " $0; next }
inside && /^       [^ ]/ {
  flush(); sub(/^ +/, ""); line = $0
  at = match(line, /   +/)
  if (at) { said[++told] = "  " line; line = substr(line, 1, at - 1) }
  next
}
inside { inside = 0; flush(); for (i = 1; i <= told; i++) print (i == 1 ? "\n" : "") said[i] }
{ print }
END { if (inside) flush() }
AWK
environment() { # SOURCE: the block ENVIRONMENT of its head, as it stands there
  sed -n '/^   ENVIRONMENT/,/^$/p' "$1" | sed 's/^     //; 1s/^ *ENVIRONMENT *//; s/\\/\\e/g; s/^[.'"'"']/\\\&\&/; s/-/\\-/g'
}
for preload in overlap progress; do
  printf '[environment of the %s preload (nbc %s)]\n.nf\n' $preload "$([ $preload = overlap ] && echo see || echo 'get, nbc see --get')"
  environment tools/${preload}_preload.c
  echo .fi
done >"$folder/environment.txt"
firsts= missing=0
for command in "$@"; do
  name=${command##*/}
  case $name in
    fit_nic_*) source=fit_nic_rma ;; # fit_nic is another program
    xfer_table_*) source=xfer_table_mpi ;; # xfer_table measures threads
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
    xfer_table) what="transfer times between threads" ;;
    xfer_table_mpi) what="transfer times between processes, tables for the overlap preload" ;;
    *) what="part of nbc_overlap" ;;
  esac
  case $command in */*) path=$command ;; *) path=$(command -v "$command") ;; esac
  told=$folder/as_help2man_likes/$name
  "$path" --help >"$told.help" 2>"$folder/errors" || echo "exit status $?" >>"$folder/errors"
  { echo '#!/bin/sh' && echo 'cat <<"END OF HELP"' && awk -f "$folder/usage.awk" "$told.help" && echo 'END OF HELP'; } >"$told" && chmod +x "$told"
  include=
  [ "$name" != nbc ] || include=--include=$folder/environment.txt
  if [ ! -s "$told.help" ] || ! help2man -N --no-discard-stderr --version-string="$version" -n "$what" -s 1 ${include:+"$include"} -o "$folder/$name.1" "$told" 2>"$folder/errors"; then
    echo "$name: no man page: $(head -1 "$folder/errors")"
    missing=1
    continue
  fi
  firsts="$firsts
$source $name"
done
rm -rf "$folder/errors" "$folder/as_help2man_likes" "$folder/usage.awk" "$folder/environment.txt"
exit $missing
