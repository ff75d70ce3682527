! What Fortran keeps in its buffers is not lost when the run ends early.
program ends90
  use mpi
  integer :: error, me, request, seen(MPI_STATUS_SIZE)
  character(len=8) :: how
  character(len=500) :: pipe
  call get_command_argument(1, how)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  print '(a,i0)', 'said by ', me
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (me == 1 .and. how == 'abort') call MPI_Abort(MPI_COMM_WORLD, 3, error)
  if (me == 1 .and. (how == 'stop' .or. how == 'reads')) stop 4
  if (me == 0 .and. how == 'reads') then ! what never comes: its library has the lock of this unit meanwhile
    call get_command_argument(2, pipe)
    open (1, file=pipe)
    read (1, *) error
  end if
  if (me == 1 .and. how == 'dead') call MPI_Recv(error, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, seen, request)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
