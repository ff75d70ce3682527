#!/bin/sh
# Bounds of what a preload cannot see: messages that came before they were received, first parts of large ones,
# copies that are sent later, one-sided operations, partitions, collectives. Tables that tempt to say too much:
# with a fast one the maximum must stay all, with a slow one the minimum nothing.
. tests/mpi/preload_common.sh
. tests/mpi/preload_scenes.sh
PROGRAM=preload_bounds

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
  nm -D "$B/tests/mpi/preload_bounds.$1" | grep -q MPI_Psend_init || return # Open MPI 4 has none of these
  scene "$1" 2 slow parts
  no_minimum "$1: partitions" start
  scene "$1" 2 fast parts
  unknown "$1: partitions" start
  scene "$1" 2 slow both
  no_minimum "$1: MPI_Isendrecv" irecv
  found=$(awk -F, '$1 == 0 && $2 == 1 { print $3, $4, $5, $6, ($7 > 0) }' "$reports/csv/pairs.csv") n=$(of irecv 5)
  if [ "$n" -gt 0 ] && [ "$found" = "$n $((8 * n)) $n $((3000 * n)) 1" ]; then ok "$1: MPI_Isendrecv: partners exchange $n messages each way"
  else bad "$1: MPI_Isendrecv: $n messages, partners: $(cat "$reports/csv/pairs.csv")"; fi
  scene "$1" 2 slow both 1
  unknown "$1: MPI_Isendrecv, less came than was posted" irecv
}
# Setting hints, or agreeing, takes as long as others take; what moves meanwhile moves in a call.
inside() { # mpi, scene, what it does
  scene "$1" 2 middle "$2"
  truth=$(sed -n 's/inside ns //p' "$reports/out") x=$(of irecv 7) least=$(of irecv 8)
  if [ -n "$truth" ] && [ "$x" -gt 0 ] && [ "$least" -lt $((x / 10)) ]; then ok "$1: $truth ns in calls that $3 are no computation"
  else bad "$1: $truth ns in calls that $3: at least $least of $x ns hidden: $(cat "$reports/err")"; fi
}
info() { # mpi
  inside "$1" info 'set hints'
  nm -D "$(library "$1")" | grep -q ' T MPIX_Comm_agree$' || return
  also=$B/tests/mpi/preload_survivors.$1.so
  inside "$1" agree 'agree on going on without some'
  also=
  n=$(grep -cE '^"MPIX_Comm_(agree|shrink|revoke|failure_ack|failure_get_acked)",' "$reports/csv/places.csv")
  sent=$(awk -F, '$2 == 1 { print $3 }' "$reports/csv/pairs.csv")
  if [ "$n" = 5 ] && [ "$sent" = 1 ]; then ok "$1: calls for going on without some are seen, and messages of what they made"
  else bad "$1: $n of 5 calls for going on without some, $sent messages: $(cat "$reports/err" "$reports/csv/places.csv")"; fi
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
# least_together: what is hidden at least of all sends together, and one by one
least_together() { joint=$(awk -F, '$1 == "joint" && $2 == "out" { print $7 }' "$reports/csv/bounds.csv") least=$(of isend 8); }
# Several threads of a receiver may fetch as many messages at once: then four sends together need no more time than one.
# The link's rate, of one process with one thread in MPI, says more.
progress() { case $1 in openmpi) echo "$B/libnbc_progress_mpi.so" ;; *) echo "$B/libnbc_progress_mpich.so" ;; esac; }
threads() { # mpi
  printf '# eager_bytes 4000\n# tail_bytes 0\n# link_bytes_per_s 1.32e8\n4096 1e-7\n1048576 8e-3\n' >"$work/link"
  for how in 0 1; do
    scene "$1" 2 link threads $how
    least_together
    case $how$(sed -n 's/^several /_/p' "$reports/out") in
      0*) [ "$joint" = 0 ] && skip "$1: the machine was too busy for four sends at once" && continue
        [ "${joint:-0}" -gt "$least" ] && ok "$1: four sends at once: at least $joint ns hidden together, $least one by one" || bad "$1: four sends at once: $joint ns together, $least one by one: $(cat "$reports/err")" ;;
      1_threads) [ "$joint" = "$least" ] && ok "$1: four sends at once to threads: no more together than one by one" || bad "$1: four sends at once to threads: $joint ns together, $least one by one" ;;
      *) skip "$1: no MPI_THREAD_MULTIPLE" ;;
    esac
  done
  # so may a progress preload's worker, of which the program does not know (Open MPI with pt2pt windows has one lock)
  also=$(progress "$1")
  [ -e "$also" ] || { also='' && skip "$1: no progress preload" && return; }
  (export NBC_PROGRESS=timer NBC_PROGRESS_SAY=0 OMPI_MCA_osc=sm && scene "$1" 2 link threads 2)
  also='' reports=$work/$1.link.threads2
  least_together
  if [ "$joint$least" = 00 ]; then skip "$1: the machine was too busy for four sends beside a worker"
  elif [ "${joint:-none}" = "$least" ]; then ok "$1: four sends at once beside a worker: no more together than one by one"
  else bad "$1: four sends at once beside a worker: $joint ns together, $least one by one: $(cat "$reports/err")"; fi
}
each() {
  for what in window head_of; do $what "$1"; done
  for what in threads came copied late mpi4 info; do turn "$1" $what "$1"; done
}
if [ -n "$TEST_ONLY" ]; then # "threads mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
  finish
fi
each_mpi each
finish
