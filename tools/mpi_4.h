/* What of MPI 4 an mpi.h has: MPICH's says so; Open MPI 5 says 3.1 and has all but large counts; Open MPI 4 has persistent
   collectives under names of its own, MPIX_. MPI_4_INIT(Bcast) is one's name, if there are any. Behind mpi.h and mpi-ext.h. */
#ifndef MPI_4_H_INCLUDED
#define MPI_4_H_INCLUDED
#if MPI_VERSION >= 4
#  define MPI_4_IS_HERE 1
#  define MPI_4_COUNTS  1 /* MPI_Send_c and the like */
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#  define MPI_4_IS_HERE 1
#  define MPI_4_COUNTS  0
#else
#  define MPI_4_IS_HERE 0
#  define MPI_4_COUNTS  0
#endif
#if MPI_4_IS_HERE
#  define MPI_4_INIT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#  define MPI_4_INIT(name) MPIX_##name##_init
#  define MPI_4_IS_MPIX    1
#endif
#endif
