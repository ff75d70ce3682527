/* A library to be loaded behind the preload: calls of MPICH's and Open MPI's extension for going on without processes
   that failed, done with others: MPICH 4.0 has them, but on its device ch4 each ends the program. Nobody fails here. */
#include <mpi.h>
#ifdef OPEN_MPI
#  include <mpi-ext.h>
#endif

#ifdef MPIX_ERR_PROC_FAILED
int PMPIX_Comm_agree(MPI_Comm comm, int *flag) {
  int all = *flag;
  const int rc = PMPI_Allreduce(&all, flag, 1, MPI_INT, MPI_BAND, comm);
  return rc;
}
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *made) { return PMPI_Comm_dup(comm, made); }
int PMPIX_Comm_revoke(MPI_Comm comm) { return comm == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_SUCCESS; }
int PMPIX_Comm_failure_ack(MPI_Comm comm) { return PMPIX_Comm_revoke(comm); }
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed) {
  *failed = MPI_GROUP_EMPTY;
  return PMPIX_Comm_revoke(comm);
}
#  if defined OMPI_HAVE_MPI_EXT_FTMPI && OMPI_HAVE_MPI_EXT_FTMPI
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed) { return PMPIX_Comm_failure_get_acked(comm, failed); }
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag) {
  *flag = 0;
  return PMPIX_Comm_revoke(comm);
}
int PMPIX_Comm_ack_failed(MPI_Comm comm, int count, int *acked) {
  *acked = count;
  return PMPIX_Comm_revoke(comm);
}
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request) { return *flag ? PMPI_Ibarrier(comm, request) : MPI_ERR_ARG; }
#  endif
#endif
