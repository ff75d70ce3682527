! mpi_f08: handles as types, optional ierror, sentinels, MPI_BOTTOM with absolute addresses.
program preload_fortran_f08
  use mpi_f08
  implicit none
  integer :: rank, nprocs, right, left, count, i, blocks(1)
  type(MPI_Request) :: requests(2), request
  type(MPI_Status) :: statuses(2), stat
  type(MPI_Datatype) :: absolute, types(1)
  integer(MPI_ADDRESS_KIND) :: displacements(1)
  integer, target, asynchronous :: outv(1000), inv(1000), total(4)
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
  right = mod(rank + 1, nprocs)
  left = mod(rank + nprocs - 1, nprocs)
  outv = [(rank * 10000 + i, i = 1, 1000)]
  inv = -1
  call MPI_Irecv(inv, 1000, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(outv, 100, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call MPI_Get_count(statuses(1), MPI_INTEGER, count)
  print *, 'waitall', rank, count, sum(inv(1:100)), statuses(1)%MPI_SOURCE, requests(1) == MPI_REQUEST_NULL
  call MPI_Irecv(inv, 1000, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(outv, 200, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  print *, 'ignore', rank, sum(inv(1:200))
  call MPI_Get_address(outv, displacements(1))
  blocks = 50
  types = MPI_INTEGER
  call MPI_Type_create_struct(1, blocks, displacements, types, absolute)
  call MPI_Type_commit(absolute)
  call MPI_Irecv(inv, 1000, MPI_INTEGER, left, 3, MPI_COMM_WORLD, request)
  call MPI_Send(MPI_BOTTOM, 1, absolute, right, 3, MPI_COMM_WORLD)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(request, flag, stat)
  end do
  call MPI_Get_count(stat, MPI_INTEGER, count)
  print *, 'bottom', rank, count, sum(inv(1:50))
  call MPI_Type_free(absolute)
  total = [1, 2, rank, 4]
  call MPI_Allreduce(MPI_IN_PLACE, total, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  print *, 'in place', rank, total
  call MPI_Iallreduce(MPI_IN_PLACE, total, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  print *, 'nonblocking', rank, total
  call MPI_Finalize()
end program
