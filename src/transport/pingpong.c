/* pingpong.c: the a-priori table, measured over a transport. */
#include "pingpong.h"
#include "../overlap/stats.h"
#include "../overlap/monitor.h"

/* ---- the a-priori table -------------------------------------------------------------------- */
enum { NBC__PINGPONG_SIZES = 64, NBC__PINGPONG_ROUNDS = 16, NBC__PINGPONG_SAMPLES = 4096 };
static const uint64_t nbc__pingpong_tag = UINT64_MAX - 7;

/* What the measuring rank tells the other: how large to allocate, then batches, then the result. */
typedef struct nbc__pingpong_hello {
  uint64_t max_bytes;
} nbc__pingpong_hello;
typedef struct nbc__pingpong_batch {
  uint64_t size_bytes, round_count; /* 0 rounds: the result follows */
} nbc__pingpong_batch;
typedef struct nbc__pingpong_result {
  uint64_t point_count;
  uint64_t size_bytes[NBC__PINGPONG_SIZES];
  double time_s[NBC__PINGPONG_SIZES];
} nbc__pingpong_result;

typedef struct nbc__pingpong {
  nbc_transport t; /* a copy that records no calls */
  int peer;
  nbc_table_measure_desc desc;
  nbc_op op;
  bool stuck; /* op is still with the transport: its memory may not be freed */
  nbc__pingpong_hello hello;
  nbc__pingpong_batch batch;
  nbc__pingpong_result result;
  double samples[NBC__PINGPONG_SAMPLES];
  unsigned char *data;
} nbc__pingpong;

static nbc_status nbc__pingpong_wait(nbc__pingpong *m) {
  nbc_status status = nbc_wait(&m->t, &m->op, m->desc.limit_ns);
  if (status == NBC_OK || m->op.finished) return status;
  if (m->t.cancel && m->t.cancel(m->t.ctx, &m->op) == NBC_OK) nbc_wait(&m->t, &m->op, 1000000000);
  m->stuck = !m->op.finished;
  return status;
}

static nbc_status nbc__pingpong_send(nbc__pingpong *m, const void *data, uint64_t size_bytes) {
  nbc_status status = nbc_isend(&m->t, data, size_bytes, m->peer, nbc__pingpong_tag, &m->op);
  return status ? status : nbc__pingpong_wait(m);
}

static nbc_status nbc__pingpong_recv(nbc__pingpong *m, void *data, uint64_t size_bytes) {
  nbc_status status = nbc_irecv(&m->t, data, size_bytes, m->peer, nbc__pingpong_tag, &m->op);
  return status ? status : nbc__pingpong_wait(m);
}

/* One size: batches of round trips until the median is known to 1 % or the time is up. The shortest is kept: a
   transfer slower than the table's never hides less of itself than its bounds say, one that is faster may. */
static nbc_status nbc__pingpong_size(nbc__pingpong *m, uint64_t size_bytes, double *time_s) {
  size_t count = 0, warm_count = 2;
  int64_t t_start_ns = m->t.now_ns(m->t.ctx), t_now_ns = t_start_ns;
  nbc_summary summary;
  nbc_status status;
  memset(&summary, 0, sizeof summary);
  do {
    size_t i;
    m->batch.size_bytes = size_bytes;
    m->batch.round_count = NBC__PINGPONG_ROUNDS + warm_count;
    if ((status = nbc__pingpong_send(m, &m->batch, sizeof m->batch))) return status;
    for (i = 0; i < NBC__PINGPONG_ROUNDS + warm_count; i++) {
      int64_t t_begin_ns = m->t.now_ns(m->t.ctx);
      if ((status = nbc__pingpong_send(m, m->data, size_bytes))) return status;
      if ((status = nbc__pingpong_recv(m, m->data, size_bytes))) return status;
      t_now_ns = m->t.now_ns(m->t.ctx);
      if (i >= warm_count) m->samples[count++] = 0.5e-9 * (double)(t_now_ns - t_begin_ns);
    }
    warm_count = 0;
    if ((status = nbc_summarize(m->samples, count, 0.95, &summary))) return status;
  } while (count + NBC__PINGPONG_ROUNDS <= NBC__PINGPONG_SAMPLES &&
           t_now_ns - t_start_ns < m->desc.time_per_size_ns &&
           (count < 2 * NBC__PINGPONG_ROUNDS ||
            summary.median_hi - summary.median_lo > 0.02 * summary.median));
  *time_s = summary.min;
  return NBC_OK;
}

static bool nbc__pingpong_allocate(nbc__pingpong *m, uint64_t max_bytes) {
  m->data = max_bytes < SIZE_MAX ? (unsigned char *)NBC_MALLOC((size_t)max_bytes + 1) : NULL;
  if (m->data) memset(m->data, 1, (size_t)max_bytes + 1); /* pages there before the clock runs */
  return m->data != NULL;
}

/* The lower rank: measures, then tells. */
static nbc_status nbc__pingpong_lead(nbc__pingpong *m) {
  uint64_t size_bytes = m->desc.min_bytes, ready = 0;
  nbc_status status;
  if (!nbc__pingpong_allocate(m, m->desc.max_bytes)) return NBC_E_NOMEM;
  m->hello.max_bytes = m->desc.max_bytes;
  if ((status = nbc__pingpong_send(m, &m->hello, sizeof m->hello))) return status;
  if ((status = nbc__pingpong_recv(m, &ready, sizeof ready))) return status;
  if (!ready) return NBC_E_NOMEM;
  for (;; size_bytes = size_bytes > m->desc.max_bytes / 2 ? m->desc.max_bytes : 2 * size_bytes) {
    size_t i = (size_t)m->result.point_count++;
    m->result.size_bytes[i] = size_bytes;
    if ((status = nbc__pingpong_size(m, size_bytes, &m->result.time_s[i]))) return status;
    if (size_bytes == m->desc.max_bytes) break;
  }
  m->batch.round_count = 0;
  if ((status = nbc__pingpong_send(m, &m->batch, sizeof m->batch))) return status;
  return nbc__pingpong_send(m, &m->result, sizeof m->result);
}

/* The higher rank: answers what it is sent. */
static nbc_status nbc__pingpong_follow(nbc__pingpong *m) {
  uint64_t ready;
  nbc_status status = nbc__pingpong_recv(m, &m->hello, sizeof m->hello);
  if (status) return status;
  ready = nbc__pingpong_allocate(m, m->hello.max_bytes); /* the leader's sizes count */
  if ((status = nbc__pingpong_send(m, &ready, sizeof ready))) return status;
  if (!ready) return NBC_E_NOMEM;
  for (;;) {
    uint64_t i;
    if ((status = nbc__pingpong_recv(m, &m->batch, sizeof m->batch))) return status;
    if (m->batch.round_count == 0) break;
    if (m->batch.size_bytes > m->hello.max_bytes) return NBC_E_MISMATCH;
    for (i = 0; i < m->batch.round_count; i++) {
      if ((status = nbc__pingpong_recv(m, m->data, m->batch.size_bytes))) return status;
      if ((status = nbc__pingpong_send(m, m->data, m->batch.size_bytes))) return status;
    }
  }
  if ((status = nbc__pingpong_recv(m, &m->result, sizeof m->result))) return status;
  return m->result.point_count <= NBC__PINGPONG_SIZES ? NBC_OK : NBC_E_MISMATCH;
}

NBC_API nbc_status nbc_table_measure(const nbc_transport *t, int peer,
                                     const nbc_table_measure_desc *desc, nbc_table **table,
                                     nbc_error *err) {
  nbc__pingpong *m;
  nbc_status status;
  bool was_on;
  char name[96];
  if (!table) return nbc__status_fail(err, NBC_E_INVAL, 0, "table is NULL");
  *table = NULL;
  if (!t || peer < 0 || peer >= t->size || peer == t->rank)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "peer must be another rank of the transport");
  if (!(m = (nbc__pingpong *)NBC_MALLOC(sizeof *m)))
    return nbc__status_fail(err, NBC_E_NOMEM, 0, "table: out of memory");
  memset(m, 0, sizeof *m);
  m->t = *t;
  m->t.recorder = NULL;
  m->peer = peer;
  if (desc) m->desc = *desc;
  if (!m->desc.min_bytes) m->desc.min_bytes = 1;
  if (!m->desc.max_bytes) m->desc.max_bytes = 4 << 20;
  if (m->desc.time_per_size_ns == 0) m->desc.time_per_size_ns = 50000000;
  if (m->desc.limit_ns == 0) m->desc.limit_ns = 30 * (int64_t)1000000000;
  if (m->desc.min_bytes > m->desc.max_bytes || m->desc.time_per_size_ns < 0 ||
      m->desc.limit_ns < 0) {
    NBC_FREE(m);
    return nbc__status_fail(err, NBC_E_INVAL, 0, "min_bytes above max_bytes, or a negative time");
  }
  was_on = t->recorder && t->recorder->on;
  if (was_on) nbc_recorder_switch(t->recorder, false); /* these messages are not the program's */
  status = t->rank < peer ? nbc__pingpong_lead(m) : nbc__pingpong_follow(m);
  if (was_on) nbc_recorder_switch(t->recorder, true);
  snprintf(name, sizeof name, "measured over %s", t->name);
  if (status)
    nbc__status_fail(err, status, 0, "measuring the transfer times: %s", nbc_status_text(status));
  else
    status = nbc_table_create(m->result.size_bytes, m->result.time_s, (size_t)m->result.point_count,
                              name, table, err);
  if (!m->stuck) { /* else an operation still points there: rather lost than overwritten */
    NBC_FREE(m->data);
    NBC_FREE(m);
  }
  return status;
}
