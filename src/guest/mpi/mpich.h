/* MPICH's mpi.h, of whatever version. Some declare without const what MPI 5.0 has with it: these are hidden here, later.h declares
   them. */
#ifndef GM_MPICH_H
#define GM_MPICH_H
#define MPI_Pready_list              gm_of_mpich_MPI_Pready_list
#define PMPI_Pready_list             gm_of_mpich_PMPI_Pready_list
#define MPI_Request_get_status_all   gm_of_mpich_MPI_Request_get_status_all
#define PMPI_Request_get_status_all  gm_of_mpich_PMPI_Request_get_status_all
#define MPI_Request_get_status_any   gm_of_mpich_MPI_Request_get_status_any
#define PMPI_Request_get_status_any  gm_of_mpich_PMPI_Request_get_status_any
#define MPI_Request_get_status_some  gm_of_mpich_MPI_Request_get_status_some
#define PMPI_Request_get_status_some gm_of_mpich_PMPI_Request_get_status_some
#define MPI_Status_get_error         gm_of_mpich_MPI_Status_get_error
#define PMPI_Status_get_error        gm_of_mpich_PMPI_Status_get_error
#define MPI_Status_get_source        gm_of_mpich_MPI_Status_get_source
#define PMPI_Status_get_source       gm_of_mpich_PMPI_Status_get_source
#define MPI_Status_get_tag           gm_of_mpich_MPI_Status_get_tag
#define PMPI_Status_get_tag          gm_of_mpich_PMPI_Status_get_tag
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
#undef MPI_Pready_list
#undef PMPI_Pready_list
#undef MPI_Request_get_status_all
#undef PMPI_Request_get_status_all
#undef MPI_Request_get_status_any
#undef PMPI_Request_get_status_any
#undef MPI_Request_get_status_some
#undef PMPI_Request_get_status_some
#undef MPI_Status_get_error
#undef PMPI_Status_get_error
#undef MPI_Status_get_source
#undef PMPI_Status_get_source
#undef MPI_Status_get_tag
#undef PMPI_Status_get_tag
#endif
