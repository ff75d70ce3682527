#!/bin/sh
# Two nodes whose clocks are a known time apart, as namespaces of one machine (node_spaces.sh), with processes that real
# launchers start over a network. What is said of both nodes' messages holds by the one clock beneath; so does what clock_sync says.
. tests/mpi/preload_common.sh
. tests/mpi/node_spaces.sh
unset OMPI_MCA_btl_tcp_if_include # between nodes
APART_S=1000
export FLAGS_FILE="$work/flags" NBC_TRACE=1 NBC_TABLE_OTHER="$work/table.txt"
# with MPI PRELOAD COMMAND...: a process on each
with() {
  m=$1 preload=$2
  shift 2
  rm -f "$FLAGS_FILE"
  case $m in
  openmpi) set -- mpirun.openmpi --mca plm_rsh_agent "$node_shell" --mca btl self,tcp --mca pml ob1 --host node-a:1,node-b:1 \
    -x LD_PRELOAD="$preload" -x NBC_REPORT_DIR="$reports" -x FLAGS_FILE -x NBC_TRACE -x NBC_TABLE_OTHER -n 2 "$@" ;;
  *) set -- mpirun.mpich -launcher ssh -launcher-exec "$node_shell" -hosts node-a,node-b -genv LD_PRELOAD "$preload" -genv NBC_REPORT_DIR "$reports" -n 2 "$@" ;;
  esac
  on_node a timeout -k 5 "$([ $m = mpich ] && echo 40 || echo 100)" "$@" >"$reports.out" 2>"$reports.err"
  code=$?
}
# MPICH over UCX's TCP does not always end, without the preload, too (docs/mpi_errors.md). Only the limit of time is taken for that.
hung() { [ "$1" = mpich ] && { [ $code = 124 ] || [ $code = 137 ]; }; }
tables() { # FOLDER
  "$B/overlap_report" --no-html --csv "$1/csv" "$1" >"$1/text" 2>&1 || cat "$1/text"
}
# The same timelines by the clock beneath both.
by_one_clock() { # FROM TO
  mkdir "$2" && cp "$1"/*.json "$2" || return 1
  for file in "$1"/*.trace; do
    LC_ALL=C sed '/^$/q' "$file" >"$work/head" &&
      { awk -v apart=$APART_S '$1 == "host" { ahead = $2 == "node-b" } $1 == "raw" { printf "raw %s %.0f %s\n", $2, $3 - ahead * apart * 1e9, $4; next } $1 == "boot" { $0 = "boot one" } 1' "$work/head" &&
        tail -c +$(($(wc -c <"$work/head") + 1)) "$file"; } >"$2/${file##*/}"
  done
}
# scene MPI BOOTS SCENE KIND: where the truth is that next to nothing of the kind was hidden
scene() {
  reports=$work/$1.${2% boot*}.$3
  mkdir "$reports"
  with "$1" "$(library "$1")" "$B/tests/mpi/preload_both.$1" "$3"
  if hung "$1"; then skip "$1, $2: $3: MPI_Finalize did not end (docs/mpi_errors.md)"; return; fi
  if [ $code = 0 ]; then ok "$1, $2: $3: ends well"; else bad "$1, $2: $3: status $code: $(cat "$reports.err")"; fi
  tables "$reports"
  by_one_clock "$reports" "$reports.one" && tables "$reports.one"
  if awk -F, '$1 != "partner" { next } FNR == NR { n++; min[$2] = $7; max[$2] = $8; next } { n--; if (!($2 in min) || $7 > min[$2] || $8 < max[$2] || $7 < $9 || $8 > $10 || $12 != $4) bad = 1 }
      END { exit bad || n }' "$reports.one/csv/bounds.csv" "$reports/csv/bounds.csv" && grep -q '^partner' "$reports/csv/bounds.csv"
  then ok "$1, $2: $3: clocks known to $(awk -F, '$1 == "partner" { print $11; exit }' "$reports/csv/bounds.csv") ns, never narrower than by the one clock beneath"
  else bad "$1, $2: $3: $(cat "$reports.one/csv/bounds.csv" "$reports/csv/bounds.csv" "$reports/text" "$reports.err")"; fi
  if awk -F, -v k="$4" '$1 == "partner" && $2 == k { good = $4 == 10 && $7 == 0 } END { exit !good }' "$reports/csv/bounds.csv"
  then ok "$1, $2: $3: of what was not hidden no minimum is claimed"; else bad "$1, $2: $3: $(cat "$reports/csv/bounds.csv")"; fi
  if awk '/^Who waits for whom/ { seen = 1; next } /^[A-Z]/ { seen = 0 } seen && /waited [0-9.]* (s|ms|us) for rank/ { good = 1 } seen && ($3 > 5 && $4 == "s" || $4 == "min") { bad = 1 } END { exit bad || !good }' "$reports/text"
  then ok "$1, $2: $3: waits of the run's length at most"; else bad "$1, $2: $3: $(cat "$reports/text")"; fi
}
synchronised() { # MPI BOOTS
  reports=$work/$1.sync
  with "$1" "" "$B/clock_sync_$([ "$1" = openmpi ] && echo mpi || echo mpich)" -t 0.5 -i 0.25
  if awk -v apart=$APART_S '$1 == 1 && $2 == 0 { n++; off = $3 + apart * 1e9; if (off < 0) off = -off; if (off > $4 || $4 > 1e7) bad = 1 } END { exit bad || n < 2 }' "$reports.out"
  then ok "$1, $2: clock_sync holds the truth: $(awk '$1 == 1 && $2 == 0 { line = $3 " +- " $4 " ns" } END { print line }' "$reports.out")"
  elif hung "$1"; then skip "$1, $2: clock_sync did not end"
  else bad "$1, $2: clock_sync: $(cat "$reports.out" "$reports.err")"; fi
}
each() { # mpi
  nodes_begin "$work/$1" $APART_S
  scene "$1" "one boot" sender_late irecv # as containers may be
  node_boots_alone a && node_boots_alone b
  scene "$1" "two boots" sender_late irecv
  scene "$1" "two boots" receiver_late isend
  synchronised "$1" "two boots"
  nodes_end
}
if ! command -v ip >/dev/null; then reason="no ip command (Debian: iproute2)"
elif ! nodes_begin "$work/try" $APART_S >"$work/build" 2>&1; then reason="namespaces of network and time are not permitted: $(tail -1 "$work/build")"
else reason=; fi
nodes_end
trap nodes_end EXIT
if [ -n "$reason" ]; then
  for t in openmpi mpich; do skip "$t on two nodes: $reason"; done
else
  printf '# eager_bytes 4096\n# tail_bytes 0\n# link_bytes_per_s 1e12\n4096 1e-7\n1048576 5e-5\n8388608 4e-4\n' >"$work/table.txt"
  if [ -z "$TEST_ONLY" ]; then each_mpi each; else ${TEST_ONLY}; fi # "each openmpi" (tests/mutate)
fi
finish
