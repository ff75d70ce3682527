/* mpi_comm.c: collectives in an MPI program in three lines, and waits for both sorts of
   requests. */
#include "mpi_comm.h"

#ifdef NBC_WITH_MPI
/* ---- the communicator ---------------------------------------------------------------------- */
/* All cores that the system lets this process use, whatever it is bound to. */
static cpu_set_t nbc__mix_job_cores(const cpu_set_t *bound) {
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  if (sched_setaffinity(0, sizeof all, &all)) return *bound;
  if (sched_getaffinity(0, sizeof all, &all)) all = *bound;
  (void)sched_setaffinity(0, sizeof *bound, bound);
  return all;
}

/* The worker's core of each rank on this node. ret -1: none is left for this one */
static int nbc__mix_core(MPI_Comm mpi_comm) {
  MPI_Comm node;
  cpu_set_t bound, used;
  int rank = 0, turn = 0, core = -1;
  CPU_ZERO(&bound);
  if (sched_getaffinity(0, sizeof bound, &bound)) CPU_ZERO(&bound);
  if (MPI_Comm_split_type(mpi_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)) return -1;
  MPI_Comm_rank(node, &rank);
  if (MPI_Allreduce(&bound, &used, (int)sizeof used, MPI_BYTE, MPI_BOR, node)) return -1;
  MPI_Comm_free(&node);
  const cpu_set_t job = nbc__mix_job_cores(&bound);
  for (int i = CPU_SETSIZE - 1; i >= 0 && core < 0; i--)
    if (CPU_ISSET((size_t)i, &job) && !CPU_ISSET((size_t)i, &used) && turn++ == rank) core = i;
  return core;
}

static nbc_status nbc__mix_engine(MPI_Comm mpi_comm, nbc_policy policy, nbc_progress **progress,
                                  nbc_error *err) {
  nbc_progress_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.policy = policy;
  if (policy == NBC_POLICY_DEDICATED) desc.core = nbc__mix_core(mpi_comm);
  if (desc.core < 0)
    return nbc__status_fail(err, NBC_E_STATE, 0,
                            "no core is left on this node that no rank may run on: bind the ranks "
                            "(mpirun --bind-to core), start fewer, or take the policy timer");
  return nbc_progress_create(&desc, progress, err);
}

NBC_API nbc_status nbc_mpi_comm_create(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm,
                                       nbc_error *err) {
  nbc_mpi_desc mpi = {MPI_THREAD_SINGLE, 0, false};
  nbc_comm_desc desc;
  nbc_progress *progress = NULL;
  nbc_transport *t;
  if (!comm) return nbc__status_fail(err, NBC_E_INVAL, 0, "comm: must not be NULL");
  *comm = NULL;
  if ((unsigned)policy >= NBC_POLICY_COUNT)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "policy: no policy %d", (int)policy);
  if (policy) mpi.thread_level = MPI_THREAD_MULTIPLE;
  nbc_status status = nbc_mpi_create(mpi_comm, &mpi, &t, err);
  if (status) return status;
  if (policy) status = nbc__mix_engine(mpi_comm, policy, &progress, err);
  memset(&desc, 0, sizeof desc);
  desc.transport = t;
  desc.progress = progress;
  if (!status) status = nbc_comm_create(&desc, comm, err);
  /* One rank's failure is everyone's: the others would wait for it. */
  int mine = status, least = 0;
  if (progress) nbc_mpi_lock(t);
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, mpi_comm);
  if (progress) nbc_mpi_unlock(t);
  if (!status && least)
    status = nbc__status_fail(err, (nbc_status)least, 0, "another rank failed: %s",
                              nbc_status_text((nbc_status)least));
  if (*comm) (*comm)->own_transport = t, (*comm)->own_progress = progress;
  if (!status) return NBC_OK;
  if (*comm) {
    nbc_comm_destroy(*comm);
  } else {
    (void)nbc_progress_destroy(progress);
    nbc_transport_destroy(t);
  }
  *comm = NULL;
  return status;
}

NBC_API nbc_status nbc_mpi_comm(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm) {
  return nbc_mpi_comm_create(mpi_comm, policy, comm, NULL);
}

/* ---- both sorts of requests ---------------------------------------------------------------- */
typedef struct nbc__mix {
  int our_count, their_count;
  nbc_request **ours;
  MPI_Request *theirs;
  MPI_Status *statuses;
  bool ours_over, theirs_over;
  nbc_status status; /* the first besides NBC_OK */
} nbc__mix;

static bool nbc__mix_bad(int our_count, nbc_request *const ours[], int their_count,
                         const MPI_Request theirs[]) {
  return our_count < 0 || their_count < 0 || (our_count && !ours) || (their_count && !theirs);
}

/* Under MPI_THREAD_SERIALIZED, no engine's thread may be inside MPI meanwhile. */
static int nbc__mix_test_all_theirs(nbc__mix *x, int *flag) {
  const bool locked = nbc__mpi_lock_all();
  const int code = MPI_Testall(x->their_count, x->theirs, flag, x->statuses);
  if (locked) nbc__mpi_unlock_all();
  return code;
}

/* One step for both sorts. ret whether all are over */
static bool nbc__mix_step(nbc__mix *x) {
  if (!x->ours_over) {
    const nbc_status status = nbc_coll_testall(x->our_count, x->ours);
    x->ours_over = status != NBC_PENDING;
    if (x->ours_over && status && !x->status) x->status = status;
  }
  if (!x->theirs_over) {
    int flag = 0;
    const int code = nbc__mix_test_all_theirs(x, &flag);
    x->theirs_over = code || flag;
    if (code && !x->status) x->status = NBC_E_TRANSPORT;
  }
  return x->ours_over && x->theirs_over;
}

static int64_t nbc__mix_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/* Between two steps. ret whether limit_ns are over since *t_start_ns, which begins at 0 */
static bool nbc__mix_late(unsigned poll_count, int64_t limit_ns, int64_t *t_start_ns) {
  if (poll_count > 64) sched_yield(); /* ranks may share a core */
  if (limit_ns <= 0) return false;
  if (!*t_start_ns) *t_start_ns = nbc__mix_now();
  return poll_count % 16 == 0 && nbc__mix_now() - *t_start_ns > limit_ns;
}

static nbc_status nbc__mix_all(int our_count, nbc_request *ours[], int their_count,
                               MPI_Request theirs[], MPI_Status statuses[], bool waits,
                               int64_t limit_ns) {
  nbc__mix x = {our_count, their_count, ours, theirs, statuses, false, their_count == 0, NBC_OK};
  int64_t t_start_ns = 0;
  if (nbc__mix_bad(our_count, ours, their_count, theirs)) return NBC_E_INVAL;
  for (unsigned poll_count = 1; !nbc__mix_step(&x); poll_count++) {
    if (!waits) return NBC_PENDING;
    if (!nbc__mix_late(poll_count, limit_ns, &t_start_ns)) continue;
    if (!x.ours_over) (void)nbc_coll_waitall(our_count, ours, 1); /* ends those that are over */
    return NBC_E_TIMEOUT;
  }
  return x.status;
}

NBC_API nbc_status nbc_mpi_waitall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[], int64_t limit_ns) {
  return nbc__mix_all(our_count, ours, their_count, theirs, statuses, true, limit_ns);
}

NBC_API nbc_status nbc_mpi_testall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[]) {
  return nbc__mix_all(our_count, ours, their_count, theirs, statuses, false, 0);
}

/* Is one of ours over, or none active? nbc_coll_waitsome and waitany end it without waiting
   then. */
static bool nbc__mix_any_of_ours(int our_count, nbc_request *ours[], bool *active) {
  bool over = false;
  *active = false;
  for (int i = 0; i < our_count; i++) {
    if (!nbc__coll_is_active(ours[i])) continue;
    *active = true;
    over = nbc__coll_step_one(ours[i]) || over;
  }
  return over;
}

NBC_API nbc_status nbc_mpi_waitany(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], int *index, MPI_Status *status,
                                   int64_t limit_ns) {
  int64_t t_start_ns = 0;
  if (nbc__mix_bad(our_count, ours, their_count, theirs) || !index) return NBC_E_INVAL;
  *index = -1;
  for (unsigned poll_count = 1;; poll_count++) {
    bool active;
    int flag = 0, at = MPI_UNDEFINED;
    if (nbc__mix_any_of_ours(our_count, ours, &active))
      return nbc_coll_waitany(our_count, ours, index, 0);
    const bool locked = nbc__mpi_lock_all();
    const int code = MPI_Testany(their_count, theirs, &at, &flag, status);
    if (locked) nbc__mpi_unlock_all();
    if (at != MPI_UNDEFINED && (flag || code)) *index = our_count + at;
    if (code) return NBC_E_TRANSPORT;
    if (*index >= 0 || (flag && !active)) return NBC_OK;
    if (nbc__mix_late(poll_count, limit_ns, &t_start_ns)) return NBC_E_TIMEOUT;
  }
}

NBC_API nbc_status nbc_mpi_waitsome(int our_count, nbc_request *ours[], int their_count,
                                    MPI_Request theirs[], int *done, int which[],
                                    MPI_Status statuses[], int64_t limit_ns) {
  int64_t t_start_ns = 0;
  if (nbc__mix_bad(our_count, ours, their_count, theirs) || !done ||
      (our_count + their_count && !which))
    return NBC_E_INVAL;
  *done = 0;
  for (unsigned poll_count = 1;; poll_count++) {
    nbc_status status = NBC_OK;
    bool active;
    int more = 0;
    if (nbc__mix_any_of_ours(our_count, ours, &active))
      status = nbc_coll_waitsome(our_count, ours, done, which, 0);
    const bool locked = nbc__mpi_lock_all();
    const int code = MPI_Testsome(their_count, theirs, &more, which + *done, statuses);
    if (locked) nbc__mpi_unlock_all();
    const bool none = more == MPI_UNDEFINED;
    for (int i = 0; !none && i < more; i++) which[*done + i] += our_count;
    if (!none) *done += more;
    if (code) return NBC_E_TRANSPORT;
    if (status || *done || (none && !active)) return status;
    if (nbc__mix_late(poll_count, limit_ns, &t_start_ns)) return NBC_E_TIMEOUT;
  }
}
#endif
