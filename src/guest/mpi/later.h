/* Functions of MPI 4.1 and later, which the mpi.h of MPICH 4.0 has not, and those that mpi_h.h hides. */
#ifndef GM_LATER_H
#define GM_LATER_H
#include "abi.h"

#ifndef MPI_BUFFER_AUTOMATIC
#  define MPI_BUFFER_AUTOMATIC ((void *)-2) /* of MPICH 4.2 */
#endif
#define GM_LATER(name, ...)                                                                        \
  int MPI_##name(__VA_ARGS__);                                                                     \
  int PMPI_##name(__VA_ARGS__);
#pragma GCC visibility push(default)
GM_LATER(Buffer_flush, void)
GM_LATER(Buffer_iflush, MPI_Request *request)
GM_LATER(Comm_attach_buffer, MPI_Comm comm, void *buffer, int size)
GM_LATER(Comm_attach_buffer_c, MPI_Comm comm, void *buffer, MPI_Count size)
GM_LATER(Comm_detach_buffer, MPI_Comm comm, void *buffer, int *size)
GM_LATER(Comm_detach_buffer_c, MPI_Comm comm, void *buffer, MPI_Count *size)
GM_LATER(Comm_flush_buffer, MPI_Comm comm)
GM_LATER(Comm_iflush_buffer, MPI_Comm comm, MPI_Request *request)
GM_LATER(Session_attach_buffer, MPI_Session session, void *buffer, int size)
GM_LATER(Session_attach_buffer_c, MPI_Session session, void *buffer, MPI_Count size)
GM_LATER(Session_detach_buffer, MPI_Session session, void *buffer, int *size)
GM_LATER(Session_detach_buffer_c, MPI_Session session, void *buffer, MPI_Count *size)
GM_LATER(Session_flush_buffer, MPI_Session session)
GM_LATER(Session_iflush_buffer, MPI_Session session, MPI_Request *request)
GM_LATER(Pready_list, int length, const int *partitions, MPI_Request request)
GM_LATER(Request_get_status_all, int count, const MPI_Request *requests, int *flag,
         MPI_Status *statuses)
GM_LATER(Request_get_status_any, int count, const MPI_Request *requests, int *index, int *flag,
         MPI_Status *status)
GM_LATER(Request_get_status_some, int count, const MPI_Request *requests, int *done, int *indices,
         MPI_Status *statuses)
GM_LATER(Status_get_error, const MPI_Status *status, int *error)
GM_LATER(Status_get_source, const MPI_Status *status, int *source)
GM_LATER(Status_get_tag, const MPI_Status *status, int *tag)
GM_LATER(Status_set_error, MPI_Status *status, int error)
GM_LATER(Status_set_source, MPI_Status *status, int source)
GM_LATER(Status_set_tag, MPI_Status *status, int tag)
GM_LATER(Status_set_elements_c, MPI_Status *status, MPI_Datatype type, MPI_Count count)
GM_LATER(Remove_error_class, int class)
GM_LATER(Remove_error_code, int code)
GM_LATER(Remove_error_string, int code)
GM_LATER(Type_get_value_index, MPI_Datatype value, MPI_Datatype index, MPI_Datatype *pair)
GM_LATER(Get_hw_resource_info, MPI_Info *info)
/* of Open MPI 5, and of MPICH 4.1 */
int PMPIX_Comm_ack_failed(MPI_Comm comm, int count, int *acked);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *group);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
#pragma GCC visibility pop
#undef GM_LATER

/* Whose buffers these are: of the process, of a communicator, of a session (calls_env.c) */
gm_buffer **gm_session_buffer(gm_proc *p, MPI_Session session); /* NULL: no session */
#endif
