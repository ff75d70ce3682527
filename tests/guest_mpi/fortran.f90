! MPI from Fortran by the module mpi: what its library does with constants that are addresses. Prints the same
! with MPICH and under pm_run, at any number of processes.
subroutine query(extra, status, ierr)
  use mpi
  integer(MPI_ADDRESS_KIND) :: extra
  integer :: status(MPI_STATUS_SIZE), ierr
  status(MPI_SOURCE) = 3
  status(MPI_TAG) = int(extra)
  call MPI_Status_set_cancelled(status, .false., ierr)
  call MPI_Status_set_elements(status, MPI_BYTE, 0, ierr)
  ierr = MPI_SUCCESS
end subroutine
subroutine gone(extra, ierr)
  use mpi
  integer(MPI_ADDRESS_KIND) :: extra
  integer :: ierr
  extra = extra - 1
  ierr = MPI_SUCCESS
end subroutine
subroutine cancelled(extra, complete, ierr)
  use mpi
  integer(MPI_ADDRESS_KIND) :: extra
  logical :: complete
  integer :: ierr
  extra = merge(extra, extra + 10, complete)
  ierr = MPI_SUCCESS
end subroutine
program fortran
  use mpi
  implicit none
  external query, gone, cancelled
  integer(MPI_ADDRESS_KIND) :: value, extra, bytes
  logical :: flag
  integer :: window, general
  integer, parameter :: n = 20
  integer :: ierr, rank, size, left, right, i, x, y, column, total
  integer :: request(2 * n), from(n), to(n), matrix(4, 6), status(MPI_STATUS_SIZE)
  character(len=MPI_MAX_ERROR_STRING) :: text
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  ! nothing is written where nobody asked for a status
  MPI_STATUS_IGNORE(MPI_TAG) = -77
  MPI_STATUSES_IGNORE(MPI_TAG, 1) = -78
  from = rank
  do i = 1, n
    call MPI_Irecv(to(i), 1, MPI_INTEGER, left, 100 + i, MPI_COMM_WORLD, request(i), ierr)
    call MPI_Isend(from(i), 1, MPI_INTEGER, right, 100 + i, MPI_COMM_WORLD, request(n + i), ierr)
  end do
  call MPI_Waitall(2 * n, request, MPI_STATUSES_IGNORE, ierr)
  x = rank * 3
  call MPI_Sendrecv(x, 1, MPI_INTEGER, right, 5, y, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  x = 0
  if (any(to /= left) .or. y /= left * 3) x = 1
  if (MPI_STATUS_IGNORE(MPI_TAG) /= -77 .or. MPI_STATUSES_IGNORE(MPI_TAG, 1) /= -78) x = x + 2
  call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a, i0)', 'statuses wrong: ', x
  ! a row of a matrix, from absolute addresses
  matrix = -1
  matrix(2, :) = [(rank * 10 + i, i=1, 6)]
  call MPI_Type_vector(6, 1, 4, MPI_INTEGER, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Sendrecv_replace(matrix(2, 1), 1, column, right, 6, left, 6, MPI_COMM_WORLD, status, ierr)
  call MPI_Get_count(status, column, i, ierr)
  total = sum(matrix) + i * 1000 + status(MPI_SOURCE) + status(MPI_TAG)
  call MPI_Reduce(total, y, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a, i0)', 'rows: ', y
  call MPI_Type_free(column, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(x, 1, MPI_INTEGER, size + 5, 0, MPI_COMM_WORLD, ierr)
  call MPI_Error_class(ierr, i, ierr)
  if (rank == 0) print '(a, l1)', 'rank is refused: ', i == MPI_ERR_RANK
  call MPI_Error_string(MPI_ERR_TAG, text, i, ierr)
  if (rank == 0) print '(a, l1)', 'clock goes on: ', MPI_Wtime() >= 0.0
  ! attributes are numbers here, and a request of one's own calls Fortran
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  if (rank == 0) print '(a, 2l2)', 'tags: ', flag, value >= 32767
  bytes = 80
  call MPI_Win_create(to, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, flag, ierr)
  if (rank == 0) print '(a, i0)', 'window: ', value
  call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, value, flag, ierr)
  if (rank == 0) print '(a, i0)', 'window in units of ', value
  call MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, value, flag, ierr)
  if (rank == 0) print '(a, l1)', 'window made by create: ', value == MPI_WIN_FLAVOR_CREATE
  call MPI_Win_free(window, ierr)
  extra = 40
  call MPI_Grequest_start(query, gone, cancelled, extra, general, ierr)
  call MPI_Cancel(general, ierr)
  call MPI_Grequest_complete(general, ierr)
  call MPI_Wait(general, status, ierr)
  if (rank == 0) print '(a, 3(1x, i0))', 'request of one''s own:', status(MPI_SOURCE), status(MPI_TAG), extra
  call MPI_Finalize(ierr)
end program
