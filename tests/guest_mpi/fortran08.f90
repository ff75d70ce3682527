! MPI from Fortran by the module mpi_f08: handles as types, sections of arrays, no ierror.
program fortran08
  use mpi_f08
  implicit none
  integer :: rank, size, left, right, x, y, buffer(10), i
  type(MPI_Status) :: status
  type(MPI_Request) :: request(2)
  type(MPI_Comm) :: half
  type(MPI_Op) :: op
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  x = rank * 3
  call MPI_Sendrecv(x, 1, MPI_INTEGER, right, 5, y, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, status)
  i = 0
  if (y /= left * 3 .or. status%MPI_TAG /= 5 .or. status%MPI_SOURCE /= left) i = 1
  call MPI_Irecv(y, 1, MPI_INTEGER, left, 6, MPI_COMM_WORLD, request(1))
  call MPI_Isend(x, 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD, request(2))
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
  if (y /= left * 3 .or. request(1) /= MPI_REQUEST_NULL) i = i + 2
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
  buffer = rank
  call MPI_Bcast(buffer(1:9:2), 5, MPI_INTEGER, 0, half)
  if (any(buffer(1:9:2) /= mod(rank, 2)) .or. any(buffer(2:10:2) /= rank)) i = i + 4
  call MPI_Comm_free(half)
  call MPI_Op_create(larger, .true., op)
  call MPI_Allreduce(x, y, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (y /= (size - 1) * 3) i = i + 8
  call MPI_Op_free(op)
  call MPI_Allreduce(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a, i0)', 'f08 wrong: ', i
  call MPI_Finalize()
contains
  subroutine larger(in, inout, count, type)
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: in, inout
    integer :: count
    type(MPI_Datatype) :: type
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [count])
    call c_f_pointer(inout, b, [count])
    if (type == MPI_INTEGER) b = max(a, b)
  end subroutine
end program
