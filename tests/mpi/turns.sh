# Sourced by scripts that run with each MPI. What starts jobs is the largest part of `make check`: so it does with one of two
# MPIs what is likely to be alike in both, `make check-more` (TEST_MORE=1) and `make mutate` with both.
# An MPI is one that this build knows, too: MPICC= may have left it out.
have_mpi() { command -v "mpirun.$1" >/dev/null && command -v "mpicc.$1" >/dev/null && [ -e "$B/libnbc_overlap_$(echo "$1" | sed 's/^open//').so" ]; }
#   turn MPI COMMAND...     runs the command if it is this MPI's turn: by turns from line to line, always if it is the only one
turns_openmpi=0 turns_mpich=1
turn() {
  case $1 in
    openmpi) turns=$((turns_openmpi += 1)) other_mpi=mpich ;;
    *) turns=$((turns_mpich += 1)) other_mpi=openmpi ;;
  esac
  shift
  if [ -n "$TEST_MORE" ] || [ $((turns % 2)) = 1 ] || ! have_mpi $other_mpi; then "$@"; fi
}
