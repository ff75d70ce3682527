#!/bin/sh
# Bounds of what a preload cannot see: messages that came before they were received, first parts of large ones,
# copies that are sent later, one-sided operations, partitions, collectives. Tables that tempt to say too much:
# with a fast one the maximum must stay all, with a slow one the minimum nothing.
. tests/mpi/preload_common.sh
export OMPI_MCA_osc=sm,pt2pt # shared flags
said="# eager_bytes 4000
# tail_bytes 0
# link_bytes_per_s 1e10"
printf '%s\n0 1e-7\n8388608 2e-7\n' "$said" >"$work/fast"
printf '%s\n0 5e-3\n8388608 6e-3\n' "$said" >"$work/slow"

# scene MPI PROCESSES TABLE SCENE [HOW]: rank 0's report as a table, its output in $reports/out
scene() {
  reports=$work/$1.$3.$4$5
  mkdir -p "$reports"
  NBC_TABLE=$work/$3 measured "$1" "$2" "$B/tests/mpi/preload_bounds.$1" "$4" ${5:+"$5"} >"$reports/out" 2>"$reports/err" || cat "$reports/err"
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports"/nbc_overlap.*.0.json >"$reports/text" 2>&1 || cat "$reports/text"
}
# of KIND COLUMN: the sum over the cells of messages of more than 256 bytes in transfers.csv
of() { awk -F, -v kind="$1" -v at="$2" '$2 == kind && $3 !~ /^"?up to 256/ && $3 != "256 B" { s += $at } END { printf "%.0f\n", s }' "$reports/csv/transfers.csv"; }
# unknown WHAT KIND: nothing is known: no minimum, no maximum
unknown() {
  x=$(of "$2" 7) least=$(of "$2" 8) most=$(of "$2" 9)
  if [ "$x" -gt 0 ] && [ "$least" = 0 ] && [ "$most" = "$x" ]; then ok "$1: $2: anything from 0 to all"
  else bad "$1: $2: $least to $most of $x ns: $(cat "$reports/err")"; fi
}
no_minimum() {
  x=$(of "$2" 7) least=$(of "$2" 8)
  if [ "$x" -gt 0 ] && [ "$least" = 0 ]; then ok "$1: $2: no minimum"; else bad "$1: $2: at least $least of $x ns: $(cat "$reports/err")"; fi
}
came() { # mpi
  for case in 0:irecv 1:recv 2:sendrecv 3:irecv 4:start 5:irecv; do
    scene "$1" 2 fast came "${case%:*}"
    unknown "$1: came before, ${case%:*}" "${case#*:}"
  done
  scene "$1" 2 slow came 0
  no_minimum "$1: came before" irecv
}
copied() { # mpi
  for case in 0:send 1:isend 2:isend; do
    for table in fast slow; do
      scene "$1" 2 "$table" copied "${case%:*}"
      unknown "$1: sent later, ${case%:*}, $table" "${case#*:}"
    done
  done
}
window() { # mpi
  scene "$1" 2 slow window
  for kind in put get atomic; do no_minimum "$1: $(cat "$reports/out")" $kind; done
}
late() { # mpi
  scene "$1" 3 fast late
  for kind in alltoall allgather neighbor_alltoall; do unknown "$1: late" $kind; done
}
mpi4() { # mpi
  [ "$1" = mpich ] || return # Open MPI 4 has none of these
  scene "$1" 2 slow parts
  no_minimum "$1: partitions" start
  scene "$1" 2 fast parts
  unknown "$1: partitions" start
  scene "$1" 2 slow both
  no_minimum "$1: MPI_Isendrecv" irecv
}
# What waited in the socket was not moved by the receive: over TCP, of Open MPI, 64 KiB go ahead.
head_of() { # mpi
  if [ "$1" = openmpi ]; then
    (export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp && run openmpi 2 "$B/xfer_table_mpi" --tail) >"$work/tcp.tail" 2>&1
    (sed 's/^/# /' "$work/tcp.tail"; printf '0 1e-7\n8388608 2e-3\n') >"$work/head"
    (export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp && scene openmpi 2 head head)
    reports=$work/openmpi.head.head
  else
    cp "$work/fast" "$work/head"
    scene "$1" 2 head head
  fi
  truth=$(sed -n 's/here permille //p' "$reports/out") x=$(of recv 7) most=$(of recv 9)
  if [ -n "$truth" ] && [ "$x" -gt 0 ] && [ $((truth * x / 1000)) -le "$most" ]; then
    ok "$1: $truth permille of a large message waited in the socket, reported $((most * 1000 / x)) at most"
  else bad "$1: $truth permille of a large message waited in the socket, reported $most of $x ns: $(cat "$reports/err" "$reports/out")"; fi
}
each() { came "$1"; copied "$1"; window "$1"; late "$1"; mpi4 "$1"; head_of "$1"; }
each_mpi each
finish
