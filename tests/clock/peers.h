/* peers.h: three published clock synchronisations, written after their papers over the same messages as
   ours, to stand beside it:
     SKaMPI  Worsch, Reussner, Augustin: On Benchmarking Collective MPI Operations (EuroPVM/MPI 2002): the
             offset between the least and the most that many round trips leave; no drift
     JK      Jones, Koenig: Clock synchronization in high-end computing environments (CCPE 2013): rank 0
             with each rank in turn; at each fit point the offset by the trip nearest to the median, then a
             regression over all fit points
     HCA3    Hunold, Carpen-Amarie: Hierarchical Clock Synchronization in MPI (CLUSTER 2018): in log2 rounds
             who is synchronised teaches another by SKaMPI offsets against its *global* clock, a regression,
             and the intercept from one more offset
   A model is global = local + offset + rate (local - t0). */
#ifndef PEERS_H_INCLUDED
#define PEERS_H_INCLUDED

typedef enum peer_method { PEER_SKAMPI = 0, PEER_JK, PEER_HCA3, PEER_COUNT } peer_method;
static const char *const peer_names[PEER_COUNT] = {"skampi", "jk", "hca3"};

typedef struct peer_model {
  int64_t t0_ns;
  double offset_ns, rate;
} peer_model;

typedef struct peer_desc {
  int point_count, trip_count;            /* fit points, trips for each */
  void (*pause)(void *ctx, int64_t d_ns);   /* between fit points, on the side that asks */
  int64_t pause_ns;
} peer_desc;

enum { PEER_TAG = 5000, PEER_POINTS = 2048, PEER_TRIPS = 1024 };

static int64_t peer_global_ns(const peer_model *m, int64_t t_local_ns) {
  return t_local_ns + (int64_t)floor(m->offset_ns + m->rate * (double)(t_local_ns - m->t0_ns) + 0.5);
}

/* The side that is asked: its time as global as it knows it. */
static nbc_status peer_answer(const nbc_transport *t, const peer_model *mine, int peer, int trip_count) {
  nbc_status status = NBC_OK;
  for (int i = 0; i < trip_count && status == NBC_OK; i++) {
    int64_t t_ns;
    status = nbc_recv(t, &t_ns, sizeof t_ns, peer, PEER_TAG);
    t_ns = peer_global_ns(mine, t->now_ns(t->ctx));
    if (status == NBC_OK) status = nbc_send(t, &t_ns, sizeof t_ns, peer, PEER_TAG + 1);
  }
  return status;
}

typedef struct peer_trip {
  int64_t t_sent_ns, t_there_ns, t_back_ns;
} peer_trip;

static int peer_trip_order(const void *a, const void *b) {
  const peer_trip *x = (const peer_trip *)a, *y = (const peer_trip *)b;
  const int64_t p = x->t_back_ns - x->t_sent_ns, q = y->t_back_ns - y->t_sent_ns;
  return (p > q) - (p < q);
}

static nbc_status peer_ask(const nbc_transport *t, int peer, int trip_count, peer_trip *trips) {
  nbc_status status = NBC_OK;
  for (int i = 0; i < trip_count && status == NBC_OK; i++) {
    trips[i].t_sent_ns = t->now_ns(t->ctx);
    status = nbc_send(t, &trips[i].t_sent_ns, sizeof(int64_t), peer, PEER_TAG);
    if (status == NBC_OK) status = nbc_recv(t, &trips[i].t_there_ns, sizeof(int64_t), peer, PEER_TAG + 1);
    trips[i].t_back_ns = t->now_ns(t->ctx);
  }
  return status;
}

/* SKaMPI's offset, at the local time of the last trip. */
static double peer_skampi_offset_ns(const peer_trip *trips, int count) {
  double low_ns = -INFINITY, high_ns = INFINITY;
  for (int i = 0; i < count; i++) {
    high_ns = fmin(high_ns, (double)(trips[i].t_there_ns - trips[i].t_sent_ns));
    low_ns = fmax(low_ns, (double)(trips[i].t_there_ns - trips[i].t_back_ns));
  }
  return 0.5 * (low_ns + high_ns);
}

/* Jones and Koenig take the trip whose time is the median: the least disturbed on the whole. */
static double peer_median_offset_ns(peer_trip *trips, int count, int64_t *t_local_ns) {
  qsort(trips, (size_t)count, sizeof *trips, peer_trip_order);
  const peer_trip *m = &trips[count / 2];
  *t_local_ns = m->t_sent_ns + (m->t_back_ns - m->t_sent_ns) / 2;
  return (double)(m->t_there_ns - *t_local_ns);
}

static void peer_regression(const double *x, const double *y, int n, double *at0, double *slope) {
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
  for (int i = 0; i < n; i++) x_mean += x[i] / n, y_mean += y[i] / n;
  for (int i = 0; i < n; i++) xx += (x[i] - x_mean) * (x[i] - x_mean), xy += (x[i] - x_mean) * (y[i] - y_mean);
  *slope = xx > 0 ? xy / xx : 0;
  *at0 = y_mean - *slope * x_mean;
}

static nbc_status peer_learn(const nbc_transport *t, peer_method method, const peer_desc *d, int from, peer_model *m) {
  static _Thread_local peer_trip trips[PEER_TRIPS];
  static _Thread_local double x[PEER_POINTS], y[PEER_POINTS];
  const int points = method == PEER_SKAMPI ? 1 : d->point_count;
  double base_ns = 0;
  nbc_status status = NBC_OK;
  for (int i = 0; i < points && status == NBC_OK; i++) {
    if (i > 0 && d->pause) d->pause(t->ctx, d->pause_ns);
    status = peer_ask(t, from, d->trip_count, trips);
    int64_t t_ns = trips[d->trip_count - 1].t_back_ns;
    const double offset_ns = method == PEER_JK ? peer_median_offset_ns(trips, d->trip_count, &t_ns)
                                               : peer_skampi_offset_ns(trips, d->trip_count);
    if (i == 0) m->t0_ns = t_ns, base_ns = offset_ns;
    x[i] = (double)(t_ns - m->t0_ns);
    y[i] = offset_ns - base_ns;
  }
  peer_regression(x, y, points, &m->offset_ns, &m->rate);
  m->offset_ns += base_ns;
  if (method != PEER_HCA3 || status != NBC_OK) return status;
  status = peer_ask(t, from, d->trip_count, trips); /* the intercept anew */
  const int64_t t_ns = trips[d->trip_count - 1].t_back_ns;
  m->offset_ns = peer_skampi_offset_ns(trips, d->trip_count) - m->rate * (double)(t_ns - m->t0_ns);
  return status;
}

static nbc_status peer_teach(const nbc_transport *t, peer_method method, const peer_desc *d, int whom, const peer_model *m) {
  const int times = method == PEER_SKAMPI ? 1 : d->point_count + (method == PEER_HCA3);
  return peer_answer(t, m, whom, times * d->trip_count);
}

/* Collective: every rank's model of rank 0's clock. */
static nbc_status peer_sync(const nbc_transport *t, peer_method method, const peer_desc *d, peer_model *m) {
  nbc_status status = NBC_OK;
  memset(m, 0, sizeof *m);
  if (method != PEER_HCA3) { /* rank 0 with one after the other */
    if (t->rank > 0) return peer_learn(t, method, d, 0, m);
    for (int r = 1; r < t->size && status == NBC_OK; r++) status = peer_teach(t, method, d, r, m);
    return status;
  }
  int weight = 1;
  while (weight < t->size) weight *= 2;
  for (weight /= 2; weight > 0 && status == NBC_OK; weight /= 2) {
    if (t->rank % (2 * weight) == weight) status = peer_learn(t, method, d, t->rank - weight, m);
    else if (t->rank % (2 * weight) == 0 && t->rank + weight < t->size)
      status = peer_teach(t, method, d, t->rank + weight, m);
  }
  return status;
}
#endif
