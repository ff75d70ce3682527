/* threads.c: ranks as threads: the transport that needs nothing. */
#include "threads.h"
#include "../overlap/clock.h"

/* ---- the DMA thread ------------------------------------------------------------------------ */
/* One link for all ranks. Ranks with work take turns, one chunk each; the jobs of one rank go in
   order. The link is busy for bytes / link_bytes_per_s per chunk; a job is delivered
   link_latency_ns after its last chunk, while the link carries others.
   The link keeps its own time: it takes up a chunk when the job is posted and the chunk before has
   passed, however late this thread wakes up to do the copy; so being late does not add up.
   Deliveries are never early, and on time as long as this thread finds a core: a sleep ends some 30
   us late, so the last NBC__DMA_SPIN_NS before a delivery are polled. */
enum { NBC__DMA_SPIN_NS = 40000 };

typedef struct nbc__dma_flight {
  int rank;
  int64_t t_due_ns;
} nbc__dma_flight;

typedef struct nbc__dma {
  nbc_threads *world;
  uint64_t *taken_count, *copied_bytes; /* [size]: jobs fully copied; bytes of the next one */
  nbc__dma_flight *flights;             /* ring of size * JOBS: copied, not delivered */
  uint64_t flight_first_count, flight_last_count;
  int turn;
  int64_t t_link_free_ns;
  uint64_t chunk_bytes;
} nbc__dma;

static nbc__dma_flight *nbc__dma_flight_at(nbc__dma *d, uint64_t count) {
  return &d->flights[count % ((uint64_t)d->world->desc.size * NBC__PACKETS_JOBS)];
}

static void nbc__dma_stamp(nbc__packets_shared *s, int poster, const nbc__job *job,
                           int64_t t_end_ns) {
  nbc_true_stamp *stamp;
  pthread_mutex_lock(&s->mutex);
  stamp = &s->stamps[s->stamp_last_count % NBC__PACKETS_STAMPS];
  stamp->src = job->is_read ? job->peer : poster;
  stamp->dst = job->is_read ? poster : job->peer;
  stamp->sequence = s->stamp_last_count++;
  stamp->size_bytes = job->size_bytes;
  stamp->t_begin_ns = job->t_begin_ns;
  stamp->t_end_ns = t_end_ns;
  stamp->send_xfer_id = job->send_id;
  stamp->recv_xfer_id = job->recv_id;
  if (s->stamp_last_count - s->stamp_first_count > NBC__PACKETS_STAMPS) s->stamp_first_count++;
  pthread_mutex_unlock(&s->mutex);
}

/* Delivers what is due: stamp, packet, completion, in that order, so that who sees one has the
   others. */
static void nbc__dma_deliver(nbc__dma *d, int64_t t_now_ns) {
  while (d->flight_first_count < d->flight_last_count) {
    const nbc__dma_flight *flight = nbc__dma_flight_at(d, d->flight_first_count);
    nbc__job_ring *ring = &d->world->shared->rings[flight->rank];
    uint64_t done_count = __atomic_load_n(&ring->done_count, __ATOMIC_RELAXED);
    const nbc__job *job = &ring->jobs[done_count % NBC__PACKETS_JOBS];
    if (flight->t_due_ns > t_now_ns) return;
    nbc__dma_stamp(d->world->shared, flight->rank, job, nbc_clock_now_ns(&d->world->clock));
    if (job->packet) nbc__packets_publish(d->world, job->peer, job->packet);
    __atomic_store_n(&ring->done_count, done_count + 1, __ATOMIC_RELEASE);
    d->flight_first_count++;
  }
}

/* The next rank, in turn, with a job to copy; -1 when there is none. */
static int nbc__dma_next(nbc__dma *d) {
  int i;
  for (i = 0; i < d->world->desc.size; i++) {
    int rank = (d->turn + i) % d->world->desc.size;
    nbc__job_ring *ring = &d->world->shared->rings[rank];
    if (__atomic_load_n(&ring->posted_count, __ATOMIC_SEQ_CST) != d->taken_count[rank]) return rank;
  }
  return -1;
}

static void nbc__dma_copy_chunk(nbc__dma *d, int rank) {
  const nbc_threads_desc *desc = &d->world->desc;
  nbc__job *job = &d->world->shared->rings[rank].jobs[d->taken_count[rank] % NBC__PACKETS_JOBS];
  uint64_t at_bytes = d->copied_bytes[rank], left_bytes = job->size_bytes - at_bytes;
  uint64_t bytes = left_bytes < d->chunk_bytes ? left_bytes : d->chunk_bytes;
  if (d->t_link_free_ns < job->t_post_ns) d->t_link_free_ns = job->t_post_ns;
  if (at_bytes == 0) job->t_begin_ns = d->t_link_free_ns;
  if (bytes > 0)
    memcpy((unsigned char *)job->target + at_bytes, (const unsigned char *)job->source + at_bytes,
           (size_t)bytes);
  if (desc->link_bytes_per_s > 0)
    d->t_link_free_ns += (int64_t)((double)bytes * 1e9 / desc->link_bytes_per_s);
  else
    d->t_link_free_ns = nbc_clock_now_ns(&d->world->clock);
  d->turn = (rank + 1) % desc->size;
  d->copied_bytes[rank] += bytes;
  if (d->copied_bytes[rank] < job->size_bytes) return;
  d->taken_count[rank]++;
  d->copied_bytes[rank] = 0;
  nbc__dma_flight_at(d, d->flight_last_count)->rank = rank;
  nbc__dma_flight_at(d, d->flight_last_count++)->t_due_ns =
      d->t_link_free_ns + desc->link_latency_ns;
}

/* Sleeps until t_wake_ns (INT64_MAX: until a job is posted); with `for_jobs`, a new job ends it
   early. */
static void nbc__dma_sleep(nbc__dma *d, int64_t t_wake_ns, bool for_jobs) {
  nbc__packets_shared *s = d->world->shared;
  struct timespec until;
  if (!for_jobs) {
    int64_t d_ns = t_wake_ns - nbc_clock_now_ns(&d->world->clock);
    if (d_ns <= 0) return;
    until.tv_sec = (time_t)(d_ns / 1000000000);
    until.tv_nsec = (long)(d_ns % 1000000000);
    nanosleep(&until, NULL);
    return;
  }
  pthread_mutex_lock(&s->mutex);
  __atomic_store_n(&s->asleep, 1, __ATOMIC_SEQ_CST);
  if (nbc__dma_next(d) < 0 && !__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST)) {
    if (t_wake_ns == INT64_MAX)
      pthread_cond_wait(&s->cond, &s->mutex);
    else {
      int64_t d_ns = t_wake_ns - nbc_clock_now_ns(&d->world->clock);
      clock_gettime(CLOCK_MONOTONIC, &until);
      d_ns += until.tv_nsec;
      until.tv_sec += (time_t)(d_ns / 1000000000);
      until.tv_nsec = (long)(d_ns % 1000000000);
      if (d_ns > 0) pthread_cond_timedwait(&s->cond, &s->mutex, &until);
    }
  }
  __atomic_store_n(&s->asleep, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&s->mutex);
}

static void *nbc__dma_main(void *arg) {
  nbc__dma *d = (nbc__dma *)arg;
  struct sched_param before_others;
#ifdef PR_SET_TIMERSLACK
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* the default of 50 us is longer than many transfers */
#endif
  memset(&before_others, 0, sizeof before_others);
  before_others.sched_priority = sched_get_priority_min(SCHED_FIFO);
  /* A NIC does not compete for cores: so it goes first, where that is allowed. */
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &before_others);
  while (!__atomic_load_n(&d->world->shared->stop, __ATOMIC_ACQUIRE)) {
    int64_t t_now_ns = nbc_clock_now_ns(&d->world->clock), t_wake_ns;
    int rank;
    nbc__dma_deliver(d, t_now_ns);
    rank = nbc__dma_next(d);
    if (rank >= 0 && d->t_link_free_ns <= t_now_ns) {
      nbc__dma_copy_chunk(d, rank);
      continue;
    }
    t_wake_ns = INT64_MAX;
    if (d->flight_first_count < d->flight_last_count) {
      t_wake_ns = nbc__dma_flight_at(d, d->flight_first_count)->t_due_ns - NBC__DMA_SPIN_NS;
      if (t_wake_ns <= t_now_ns) continue;
    }
    if (rank >= 0 && d->t_link_free_ns < t_wake_ns) t_wake_ns = d->t_link_free_ns;
    nbc__dma_sleep(d, t_wake_ns, rank < 0);
  }
  NBC_FREE(d);
  return NULL;
}

static nbc_status nbc__dma_start(nbc_threads *w) {
  size_t size = (size_t)w->desc.size;
  size_t bytes = sizeof(nbc__dma) +
                 size * (2 * sizeof(uint64_t) + NBC__PACKETS_JOBS * sizeof(nbc__dma_flight));
  nbc__dma *d = (nbc__dma *)NBC_MALLOC(bytes);
  if (!d) return NBC_E_NOMEM;
  memset(d, 0, bytes);
  d->world = w;
  d->taken_count = (uint64_t *)(void *)(d + 1);
  d->copied_bytes = d->taken_count + size;
  d->flights = (nbc__dma_flight *)(void *)(d->copied_bytes + size);
  d->chunk_bytes = 64 << 10;
  if (w->desc.link_bytes_per_s > 0) { /* what the link carries in 100 us */
    double chunk_bytes = w->desc.link_bytes_per_s * 100e-6;
    d->chunk_bytes = chunk_bytes < 4096      ? 4096
                     : chunk_bytes > 1 << 20 ? 1 << 20
                                             : (uint64_t)chunk_bytes;
  }
  if (pthread_create(&w->dma_thread, NULL, nbc__dma_main, d)) {
    NBC_FREE(d);
    return NBC_E_THREAD;
  }
  w->dma_running = true;
  return NBC_OK;
}

static void nbc__dma_stop(nbc_threads *w) {
  nbc__packets_shared *s = w->shared;
  pthread_mutex_lock(&s->mutex);
  __atomic_store_n(&s->stop, 1, __ATOMIC_SEQ_CST);
  pthread_cond_signal(&s->cond);
  pthread_mutex_unlock(&s->mutex);
  pthread_join(w->dma_thread, NULL);
}

static nbc_status nbc__threads_map(nbc_threads *w) {
  size_t size = (size_t)w->desc.size, packet_count = size * size * NBC__PACKETS_SLOTS;
  size_t rings_at = (sizeof(nbc__packets_shared) + 127) & ~(size_t)127;
  size_t packets_at = rings_at + ((size * sizeof(nbc__job_ring) + 127) & ~(size_t)127);
  size_t stamps_at = packets_at + packet_count * sizeof(nbc__packet);
  size_t payload_at = stamps_at + (w->desc.dma ? NBC__PACKETS_STAMPS * sizeof(nbc_true_stamp) : 0);
  nbc__packets_shared *s;
  void *region;
  if (w->desc.fragment_bytes > (SIZE_MAX / 4) / packet_count) return NBC_E_NOMEM;
  w->shared_bytes = payload_at + packet_count * (size_t)w->desc.fragment_bytes;
  region =
      mmap(NULL, w->shared_bytes, PROT_READ | PROT_WRITE,
           (w->desc.processes ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return NBC_E_NOMEM;
  w->shared = s = (nbc__packets_shared *)region;
  s->rings = (nbc__job_ring *)(void *)((char *)region + rings_at);
  s->packets = (nbc__packet *)(void *)((char *)region + packets_at);
  s->payload = (unsigned char *)region + payload_at;
  if (w->desc.dma) s->stamps = (nbc_true_stamp *)(void *)((char *)region + stamps_at);
  return NBC_OK;
}

static nbc_status nbc__threads_locks(nbc__packets_shared *s) {
  pthread_condattr_t attr;
  if (pthread_condattr_init(&attr)) return NBC_E_THREAD;
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->cond, &attr);
  pthread_condattr_destroy(&attr);
  return NBC_OK;
}

static nbc_status nbc__threads_ranks(nbc_threads *w) {
  size_t size = (size_t)w->desc.size;
  size_t bytes = size * sizeof(nbc__packets_rank) + size * size * sizeof(nbc__packets_peer);
  nbc__packets_peer *peers;
  int i;
  w->ranks = (nbc__packets_rank *)NBC_MALLOC(bytes);
  if (!w->ranks) return NBC_E_NOMEM;
  memset(w->ranks, 0, bytes);
  peers = (nbc__packets_peer *)(void *)(w->ranks + size);
  for (i = 0; i < w->desc.size; i++) {
    nbc__packets_rank *r = &w->ranks[i];
    r->world = w;
    r->ring = &w->shared->rings[i];
    r->peers = peers + (size_t)i * size;
    nbc__packets_contract(r, i);
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_threads_create(const nbc_threads_desc *desc, nbc_threads **world) {
  nbc_threads *w;
  nbc_status status;
  if (!world) return NBC_E_INVAL;
  *world = NULL;
  w = (nbc_threads *)NBC_MALLOC(sizeof *w);
  if (!w) return NBC_E_NOMEM;
  memset(w, 0, sizeof *w);
  if (desc) w->desc = *desc;
  status = nbc__packets_defaults(&w->desc);
  if (!status && w->desc.clock)
    w->clock = *w->desc.clock;
  else if (!status)
    status = nbc_clock_create(NULL, &w->clock);
  w->desc.clock = &w->clock;
  if (!status) status = nbc__threads_map(w);
  if (!status) status = nbc__threads_locks(w->shared);
  if (!status) status = nbc__threads_ranks(w);
  if (!status && w->desc.dma) status = nbc__dma_start(w);
  if (status)
    nbc_threads_destroy(w);
  else
    *world = w;
  return status;
}

NBC_API void nbc_threads_destroy(nbc_threads *world) {
  if (!world) return;
  if (world->dma_running) nbc__dma_stop(world);
  if (world->ranks) {
    nbc__packets_free_unexpected(world->ranks[0].peers,
                                 (size_t)world->desc.size * (size_t)world->desc.size);
    pthread_cond_destroy(&world->shared->cond);
    pthread_mutex_destroy(&world->shared->mutex);
  }
  if (world->shared) munmap(world->shared, world->shared_bytes);
  NBC_FREE(world->ranks);
  NBC_FREE(world);
}

NBC_API nbc_threads_desc nbc_threads_desc_of(const nbc_threads *world) {
  nbc_threads_desc none;
  memset(&none, 0, sizeof none);
  return world ? world->desc : none;
}

NBC_API nbc_transport *nbc_threads_rank(nbc_threads *world, int rank) {
  return world && rank >= 0 && rank < world->desc.size ? &world->ranks[rank].t : NULL;
}

typedef struct nbc__threads_start {
  nbc_threads *world;
  int rank;
  nbc_rank_fn fn;
  void *user;
  nbc_status *first_error;
  pthread_t thread;
} nbc__threads_start;

static void *nbc__threads_main(void *arg) {
  nbc__threads_start *start = (nbc__threads_start *)arg;
  nbc_status status = start->fn(nbc_threads_rank(start->world, start->rank), start->user);
  /* the first to fail is the cause; the others then see NBC_E_PEER instead of waiting for ever */
  if (status && !__atomic_exchange_n(&start->world->shared->failed, 1, __ATOMIC_ACQ_REL))
    *start->first_error = status;
  return NULL;
}

/* ---- ranks as processes -------------------------------------------------------------------- */
static void nbc__threads_give_up(nbc__packets_shared *s, nbc_status status) {
  if (!__atomic_exchange_n(&s->failed, 1, __ATOMIC_ACQ_REL))
    __atomic_store_n(&s->first_error, (int32_t)status, __ATOMIC_RELEASE);
}

static void nbc__threads_child(nbc_threads *w, int rank, nbc_rank_fn fn, void *user) {
  nbc_status status;
#ifdef PR_SET_PDEATHSIG
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* nobody would be left to wait for it */
#endif
  status = fn(nbc_threads_rank(w, rank), user);
  if (status) nbc__threads_give_up(w->shared, status);
  w->shared->rings[rank].finished = 1;
  fflush(NULL);
  _exit(0);
}

/* Leftovers of an earlier run: the parent's view of the ranks is still that of the beginning. */
static void nbc__threads_renew(nbc_threads *w) {
  size_t i, packet_count = (size_t)w->desc.size * (size_t)w->desc.size * NBC__PACKETS_SLOTS;
  for (i = 0; i < packet_count; i++) w->shared->packets[i].state = 0;
  for (i = 0; i < (size_t)w->desc.size; i++)
    w->shared->rings[i].posted_count = w->shared->rings[i].done_count =
        w->shared->rings[i].finished = 0;
  w->shared->failed = 0;
  w->shared->first_error = NBC_OK;
}

/* Waits for every child; one that ends before its fn does is given up by the others. */
static void nbc__threads_reap_children(nbc_threads *w, pid_t *pids, int count) {
  int i, left_count = count, code;
  while (left_count > 0) {
    struct timespec nap = {0, 1000000};
    for (i = 0; i < count; i++) {
      pid_t pid = pids[i] > 0 ? waitpid(pids[i], &code, WNOHANG) : 0;
      if (pid == 0 || (pid < 0 && errno == EINTR)) continue;
      if (!w->shared->rings[i].finished) nbc__threads_give_up(w->shared, NBC_E_PEER);
      pids[i] = 0;
      left_count--;
    }
    if (left_count > 0) nanosleep(&nap, NULL);
  }
}

static nbc_status nbc__threads_fork(nbc_threads *w, nbc_rank_fn fn, void *user) {
  pid_t *pids = (pid_t *)NBC_MALLOC((size_t)w->desc.size * sizeof *pids);
  int i;
  if (!pids) return NBC_E_NOMEM;
  nbc__threads_renew(w);
  fflush(NULL); /* else children would write it again */
  for (i = 0; i < w->desc.size; i++) {
    pids[i] = fork();
    if (pids[i] == 0) nbc__threads_child(w, i, fn, user);
    if (pids[i] < 0) break;
  }
  if (i < w->desc.size) nbc__threads_give_up(w->shared, NBC_E_THREAD);
  nbc__threads_reap_children(w, pids, i);
  NBC_FREE(pids);
  return (nbc_status)__atomic_load_n(&w->shared->first_error, __ATOMIC_ACQUIRE);
}

NBC_API nbc_status nbc_threads_run(nbc_threads *world, nbc_rank_fn fn, void *user) {
  nbc__threads_start *starts;
  nbc_status first_error = NBC_OK;
  int i, started_count;
  if (!world || !fn) return NBC_E_INVAL;
  if (world->desc.processes) return nbc__threads_fork(world, fn, user);
  starts = (nbc__threads_start *)NBC_MALLOC((size_t)world->desc.size * sizeof *starts);
  if (!starts) return NBC_E_NOMEM;
  for (i = 0; i < world->desc.size; i++) {
    starts[i].world = world;
    starts[i].rank = i;
    starts[i].fn = fn;
    starts[i].user = user;
    starts[i].first_error = &first_error;
    if (pthread_create(&starts[i].thread, NULL, nbc__threads_main, &starts[i])) break;
  }
  started_count = i;
  if (started_count < world->desc.size &&
      !__atomic_exchange_n(&world->shared->failed, 1, __ATOMIC_ACQ_REL))
    first_error = NBC_E_THREAD;
  for (i = 0; i < started_count; i++) pthread_join(starts[i].thread, NULL);
  NBC_FREE(starts);
  return first_error;
}

NBC_API size_t nbc_threads_stamps(nbc_threads *world, nbc_true_stamp *stamps, size_t max) {
  size_t count = 0;
  nbc__packets_shared *s;
  if (!world || !stamps || !world->desc.dma) return 0;
  s = world->shared;
  pthread_mutex_lock(&s->mutex);
  while (count < max && s->stamp_first_count < s->stamp_last_count)
    stamps[count++] = s->stamps[s->stamp_first_count++ % NBC__PACKETS_STAMPS];
  pthread_mutex_unlock(&s->mutex);
  return count;
}
