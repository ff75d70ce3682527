/* Collectives in an MPI program in three lines, and waits for both sorts of requests (with
   NBC_WITH_MPI). */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../transport/mpi.h"
#include "progress.h"
#include "request.h"

#ifdef NBC_WITH_MPI
/* Three lines in the place of MPI_Iallreduce and MPI_Wait:
     nbc_mpi_comm(MPI_COMM_WORLD, NBC_POLICY_NONE, &comm);                 once; at the end nbc_comm_destroy
     nbc_iallreduce(comm, in, out, n, NBC_TYPE_DOUBLE, NBC_REDUCE_SUM, &request);
     nbc_coll_wait(&request, 0);
   Makes a transport over mpi_comm, an engine unless the policy is NONE, and a communicator, which owns both:
   nbc_comm_destroy ends all three, before MPI_Finalize; make and destroy it on all ranks. With an engine MPI
   must provide MPI_THREAD_MULTIPLE (for less, make the three by hand: nbc_mpi_create). DEDICATED: the n-th rank of a node
   gets the n-th of the node's cores, from the last, that this job may use and no rank of it may run on.
   ret as nbc_mpi_create, nbc_progress_create and nbc_comm_create | NBC_E_STATE (DEDICATED: no core is left: bind the
       ranks, mpirun --bind-to core, or take another policy), the same on all ranks */
NBC_API nbc_status nbc_mpi_comm(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm);
/* The same with a sentence about what is missing in err (may be NULL). */
NBC_API nbc_status nbc_mpi_comm_create(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm,
                                       nbc_error *err);

/* Waiting for collectives of ours and requests of MPI's together, as nbc_coll_waitall and its sisters: driving one
   sort never stands still for the other. MPI's requests end as by MPI_Waitall ...: theirs become MPI_REQUEST_NULL
   or inactive. statuses: their_count of them, or MPI_STATUSES_IGNORE. From a thread that may call MPI.
     waitall   all are over. NBC_E_TIMEOUT: what was not over goes on, ours that were are NULL
     testall   the same without waiting; NBC_PENDING: some are not over
     waitany   *index = one that was ended: ours from 0, MPI's from our_count on; -1: none was active
     waitsome  which[0 ... *done - 1]: all that were over when there was one, counted alike, MPI's statuses in the
               order of theirs among those; which has room for all
   ret  NBC_OK | NBC_E_TIMEOUT, NBC_PENDING | NBC_E_TRANSPORT (MPI returned an error, told in the statuses) | what one of
        ours ended with | NBC_E_INVAL */
NBC_API nbc_status nbc_mpi_waitall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[], int64_t limit_ns);
NBC_API nbc_status nbc_mpi_testall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[]);
NBC_API nbc_status nbc_mpi_waitany(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], int *index, MPI_Status *status,
                                   int64_t limit_ns);
NBC_API nbc_status nbc_mpi_waitsome(int our_count, nbc_request *ours[], int their_count,
                                    MPI_Request theirs[], int *done, int which[],
                                    MPI_Status statuses[], int64_t limit_ns);
#endif
