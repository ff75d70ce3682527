C     MPI from Fortran 77 by mpif.h.
      program old
      include 'mpif.h'
      integer ierr, rank, n, x, y, st(MPI_STATUS_SIZE), i
      integer table(0:3), got(0:3)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      x = rank + 1
      call MPI_SENDRECV(x, 1, MPI_INTEGER, mod(rank + 1, n), 1, y, 1,
     & MPI_INTEGER, mod(rank + n - 1, n), 1, MPI_COMM_WORLD, st, ierr)
      do 10 i = 0, 3
 10   table(i) = y * 10 + i
      call MPI_REDUCE(table, got, 4, MPI_INTEGER, MPI_SUM, 0,
     & MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) write(*, '(a,4i7)') 'sums', got
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      call MPI_FINALIZE(ierr)
      end
