/* mpi.h of whichever MPI, and what it has. Some declare without const what MPI 5.0 has with it: these names are hidden, whoever
   uses them declares them. */
#ifndef MPI_H_H_INCLUDED
#define MPI_H_H_INCLUDED
#define MPI_Pready_list              hidden_MPI_Pready_list
#define PMPI_Pready_list             hidden_PMPI_Pready_list
#define MPI_Request_get_status_all   hidden_MPI_Request_get_status_all
#define PMPI_Request_get_status_all  hidden_PMPI_Request_get_status_all
#define MPI_Request_get_status_any   hidden_MPI_Request_get_status_any
#define PMPI_Request_get_status_any  hidden_PMPI_Request_get_status_any
#define MPI_Request_get_status_some  hidden_MPI_Request_get_status_some
#define PMPI_Request_get_status_some hidden_PMPI_Request_get_status_some
#define MPI_Status_get_error         hidden_MPI_Status_get_error
#define PMPI_Status_get_error        hidden_PMPI_Status_get_error
#define MPI_Status_get_source        hidden_MPI_Status_get_source
#define PMPI_Status_get_source       hidden_PMPI_Status_get_source
#define MPI_Status_get_tag           hidden_MPI_Status_get_tag
#define PMPI_Status_get_tag          hidden_PMPI_Status_get_tag
#include <mpi.h>
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
#ifdef OPEN_MPI
#  include <mpi-ext.h>
#endif

/* Open MPI 5 says 3.1 and has what MPI 4.0 brought, but no large counts (MPI_Send_c). */
#define HAS_MPI_4_1      (MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1))
#define HAS_LARGE_COUNTS (MPI_VERSION >= 4)
#if MPI_VERSION >= 4
#  define HAS_MPI_4 1
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#  define HAS_MPI_4 1
#else
#  define HAS_MPI_4 0
#endif
/* Makes a persistent collective: INIT_OF(Bcast); not defined where there are none. Open MPI 4 has them under names of its own. */
#if HAS_MPI_4
#  define INIT_OF(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#  define INIT_OF(name)   MPIX_##name##_init
#  define INIT_OF_IS_MPIX 1
#endif
#endif
