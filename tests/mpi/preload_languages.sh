#!/bin/sh
# Fortran (mpif.h, use mpi, use mpi_f08) and C++ (with MPI:: bindings): each call is seen once, and
# MPI_STATUS_IGNORE, MPI_IN_PLACE, MPI_BOTTOM, ierror mean what they meant.
. tests/mpi/preload_common.sh

fortran='processes 2
send calls 2 transfers 0 bytes 0
sendrecv calls 2 transfers 4 bytes 160
isend calls 4 transfers 4 bytes 2400
irecv calls 4 transfers 4 bytes 2400
bcast calls 2 transfers 2 bytes 32
allreduce calls 2 transfers 2 bytes 32
iallreduce calls 2 transfers 2 bytes 32
level 5 send calls 2 transfers 0 bytes 0'
f08='processes 2
send calls 2 transfers 2 bytes 400
isend calls 4 transfers 4 bytes 2400
irecv calls 6 transfers 6 bytes 2800
allreduce calls 2 transfers 2 bytes 32
iallreduce calls 2 transfers 2 bytes 32'
cxx='processes 2
isend calls 2 transfers 2 bytes 8000
irecv calls 2 transfers 2 bytes 8000
allreduce calls 2 transfers 2 bytes 16'

languages() { # mpi
  if [ -x "$B/tests/mpi/preload_fortran_mpif.$1" ]; then
    same_with_preload "$1" 2 preload_fortran_mpif && counts "$fortran"
    same_with_preload "$1" 2 preload_fortran_use && counts "$fortran"
    same_with_preload "$1" 2 preload_fortran_f08 && counts "$f08"
    same_with_preload "$1" 4 preload_fortran_f08
  else
    skip "$1 Fortran: no mpifort.$1 (gfortran)"
  fi
  if [ -x "$B/tests/mpi/preload_cxx.$1" ]; then same_with_preload "$1" 2 preload_cxx && counts "$cxx"
  else skip "$1 C++: no mpicxx.$1"; fi
}
each_mpi languages
finish
