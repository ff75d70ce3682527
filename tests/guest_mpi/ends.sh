#!/bin/sh
# A process that does not end as it should ends the run as launchers of real machines do it, with its status,
# and what the others have printed until then is written, of C's streams and of Fortran's units.
. tests/test.sh
set=$B/tests/guest_mpi
if [ ! -x "$set/ends" ]; then
  skip "ends of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
ends() { # STATUS TEXT PROGRAM ARGUMENTS: status of the run, what stderr says
  status=$1 text=$2 program=$3
  shift 3
  timeout 300 "$B/pm_run" -n 2 "$set/$program" "$@" >"$T/out" 2>"$T/err"
  test $? = "$status" && grep "$text" "$T/err" && sort "$T/out" | tr '\n' ' ' | grep -x 'said by 0 said by 1 ' || { cat "$T/out" "$T/err"; return 1; }
}
reads() { mkfifo "$T/pipe" && ends 4 "process 1 ended with status 4 $between" ends90 reads "$T/pipe"; }
between='between MPI_Init and MPI_Finalize'
check "all is well" ends 0 '2 processes' ends well
aborted() { ends 3 "process 1 called PMI_Abort(3) at .*: application called MPI_Abort($1, 3)\$" ends "$2"; }
check "MPI_Abort" aborted MPI_COMM_WORLD abort
for c in 'MPI_COMM_SELF abort-self' 'MPI_COMM_NULL abort-null' 'a communicator of 1 process abort-part' 'left-half abort-partleft-half'; do
  check "MPI_Abort names the communicator: ${c% *}" aborted "${c% *}" "${c##* }"
done
dead() { ends 100 "process 1 (node 1) waits in $2: " ends "$1" && grep 'process 0 (node 0) waits in MPI_Barrier: ' "$T/err"; }
check "a deadlock names call, message and communicator" dead dead 'MPI_Ssend to 0, tag 5 of MPI_COMM_WORLD'
check "a deadlock names the first of several messages" dead dead-any 'MPI_Waitall (2 messages open, the first from any, any tag of MPI_COMM_WORLD)'
check "a deadlock names what a probe looks for" dead dead-probe 'MPI_Probe from 0, tag 5 of MPI_COMM_WORLD'
check "exit with a status" ends 4 "process 1 ended with status 4 $between" ends exit
check "_Exit with a status" ends 5 "process 1 ended with status 5 $between" ends _Exit
check "a return without MPI_Finalize is named" ends 100 "process 1 ended $between" ends forgets
check "a status after MPI_Finalize ends one process" ends 6 'process 1 ended with status 6$' ends after
check "who looks at the clock for long is no deadlock" ends 0 '2 processes, 300000[0-9]*\.' ends looks
check "a timer's signal comes between calls, at its time" ends 0 '2 processes, 10[0-9][0-9]\.' ends alarm
check "a crash" ends 100 SIGABRT ends crash
if [ -x "$set/ends90" ]; then
  check "Fortran: MPI_Abort" ends 3 'process 1 called PMI_Abort(3)' ends90 abort
  check "Fortran: stop" ends 4 "process 1 ended with status 4 $between" ends90 stop
  check "Fortran: stop, while another reads" reads
  check "Fortran: a deadlock" ends 100 deadlock ends90 dead
  check "Fortran: all is well" ends 0 '2 processes' ends90 well
fi
finish
