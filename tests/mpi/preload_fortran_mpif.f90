! mpif.h: sentinels, statuses, requests, buffers passed by address; prints what arrived.
program preload_fortran_mpif
  implicit none
  include 'mpif.h'
  integer :: rank, nprocs, right, left, ierr, count, request, requests(2), i
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  integer :: outv(1000), inv(1000), total(4)
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, nprocs, ierr)
  right = mod(rank + 1, nprocs)
  left = mod(rank + nprocs - 1, nprocs)
  outv = [(rank * 10000 + i, i = 1, 1000)]
  inv = -1
  call MPI_IRECV(inv, 1000, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_ISEND(outv, 100, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_WAITALL(2, requests, statuses, ierr)
  call MPI_GET_COUNT(statuses(:, 1), MPI_INTEGER, count, ierr)
  print *, 'waitall', rank, count, sum(inv(1:100)), statuses(MPI_SOURCE, 1), requests(1) == MPI_REQUEST_NULL, ierr
  call MPI_IRECV(inv, 1000, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_ISEND(outv, 200, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierr)
  print *, 'ignore', rank, sum(inv(1:200)), ierr
  call MPI_SENDRECV(outv, 10, MPI_INTEGER, right, 3, inv, 10, MPI_INTEGER, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  total = [1, 2, rank, 4]
  call MPI_ALLREDUCE(MPI_IN_PLACE, total, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  print *, 'in place', rank, total, ierr
  call MPI_IALLREDUCE(MPI_IN_PLACE, total, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierr)
  call MPI_WAIT(request, status, ierr)
  print *, 'nonblocking', rank, total, ierr
  call MPI_BCAST(total, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call MPI_PCONTROL(5)
  call MPI_SEND(outv, 10, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierr)
  call MPI_PCONTROL(-5)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_SEND(outv, 10, MPI_INTEGER, nprocs + 7, 0, MPI_COMM_WORLD, ierr)
  print *, 'error', rank, ierr /= MPI_SUCCESS
  call MPI_FINALIZE(ierr)
end program
