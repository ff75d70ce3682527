/* recorders.c: monitors, recorders and places: what takes memory. */
#include "recorders.h"
#include "../base/sums.h"

/* ---- creation ------------------------------------------------------------------------------ */
static nbc_status nbc__mon_set_classes(nbc_monitor *m, const nbc_monitor_desc *desc) {
  static const uint64_t edges[] = {256, 4096, 65536, 1048576, 16777216};
  const uint64_t *from = desc->class_edge_count ? desc->class_edges_bytes : edges;
  size_t n = desc->class_edge_count ? desc->class_edge_count : sizeof edges / sizeof *edges;
  if (!from || n > NBC_MAX_CLASSES - 1) return NBC_E_INVAL;
  for (size_t i = 0; i < n; i++) {
    if (i && from[i] <= from[i - 1]) return NBC_E_INVAL;
    m->edges[i] = from[i];
  }
  m->desc.class_edges_bytes = m->edges;
  m->desc.class_edge_count = n;
  return NBC_OK;
}

NBC_API nbc_status nbc_monitor_create(const nbc_monitor_desc *desc, nbc_monitor **monitor) {
  nbc_monitor_desc zero;
  memset(&zero, 0, sizeof zero);
  if (!monitor) return NBC_E_INVAL;
  if (!desc) desc = &zero;
  *monitor = NULL;
  nbc_monitor *m = (nbc_monitor *)nbc__zalloc(sizeof *m);
  if (!m) return NBC_E_NOMEM;
  nbc_status status = NBC_OK;
  m->desc = *desc;
  if (desc->counters &&
      (desc->counters->count > NBC_MAX_COUNTERS || !desc->counters->read || !desc->counters->names))
    status = NBC_E_INVAL;
  if (desc->clock)
    m->clock = *desc->clock;
  else if (status == NBC_OK)
    status = nbc_clock_create(NULL, &m->clock);
  m->desc.clock = &m->clock;
  if (status == NBC_OK) status = nbc__mon_set_classes(m, desc);
  m->desc.ring_events = nbc__pow2(desc->ring_events, 512);
  m->desc.max_transfers = nbc__pow2(desc->max_transfers, 4096);
  if (!desc->max_cells) m->desc.max_cells = 1024;
  if (m->desc.max_cells > 65536) m->desc.max_cells = 65536;
  if (!desc->max_sections) m->desc.max_sections = 64;
  if (m->desc.max_sections > 4096) m->desc.max_sections = 4096;
  if (status == NBC_OK && !desc->table_same_node) {
    status =
        nbc_table_create_linear(500, 5e9, "default: 500 ns + bytes / (5 GB/s)", &m->own_table[0]);
    m->desc.table_same_node = m->own_table[0];
  }
  if (status == NBC_OK && !desc->table_other_node) {
    status =
        nbc_table_create_linear(2000, 1e10, "default: 2 us + bytes / (10 GB/s)", &m->own_table[1]);
    m->desc.table_other_node = m->own_table[1];
  }
  if (status == NBC_OK) /* a copy in memory; its minimum is never claimed */
    status = nbc_table_create_linear(100, 1e10, "self: 100 ns + bytes / (10 GB/s)", &m->table_self);
  m->has_joint = nbc_table_link_bytes_per_s(desc->table_same_node) > 0 ||
                 nbc_table_link_bytes_per_s(desc->table_other_node) > 0;
  if (desc->call_cost_ns < 0 || desc->event_cost_ns < 0) status = NBC_E_INVAL;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  m->start_unix_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  pthread_mutex_init(&m->mutex, NULL);
  if (status != NBC_OK) {
    nbc_monitor_destroy(m);
    return status;
  }
  *monitor = m;
  return NBC_OK;
}

static void nbc__mon_free_recorder(nbc_recorder *r) {
  NBC_FREE(r->ring);
  NBC_FREE(r->history);
  NBC_FREE(r->sections);
  NBC_FREE(r->inbox);
  NBC_FREE(r->keys);
  NBC_FREE(r->active);
  NBC_FREE(r->stamped);
  NBC_FREE(r->pool);
  NBC_FREE(r->cells);
  NBC_FREE(r->shifts);
  NBC_FREE(r->cell_index);
  NBC_FREE(r->counter_sums);
  NBC_FREE(r);
}

NBC_API void nbc_monitor_destroy(nbc_monitor *m) {
  if (!m) return;
  while (m->recorders) {
    nbc_recorder *next = m->recorders->next;
    nbc__mon_free_recorder(m->recorders);
    m->recorders = next;
  }
  nbc_table_free(m->own_table[0]);
  nbc_table_free(m->own_table[1]);
  nbc_table_free(m->table_self);
  pthread_mutex_destroy(&m->mutex);
  NBC_FREE(m->places);
  NBC_FREE(m);
}

NBC_API const nbc_clock *nbc_monitor_clock(const nbc_monitor *monitor) {
  return monitor ? &monitor->clock : NULL;
}
NBC_API nbc_monitor_desc nbc_monitor_desc_of(const nbc_monitor *monitor) {
  nbc_monitor_desc none;
  memset(&none, 0, sizeof none);
  return monitor ? monitor->desc : none;
}

NBC__PRIVATE nbc_recorder *nbc__mon_new_recorder(nbc_monitor *m) {
  const nbc_monitor_desc *d = &m->desc;
  nbc_recorder *r = (nbc_recorder *)nbc__zalloc(sizeof *r);
  if (!r) return NULL;
  const size_t key_count = 2 * d->max_transfers, index_count = 2 * nbc__pow2(d->max_cells, 0);
  const size_t inbox_count = 1024;
  r->monitor = m;
  r->ring = (nbc__mon_event *)nbc__zalloc(d->ring_events * sizeof *r->ring);
  r->sections = (nbc__mon_section *)nbc__zalloc(d->max_sections * sizeof *r->sections);
  r->inbox = (nbc__mon_slot *)nbc__zalloc(inbox_count * sizeof *r->inbox);
  r->keys = (nbc__mon_key *)nbc__zalloc(key_count * sizeof *r->keys);
  r->active = (nbc__mon_event *)nbc__zalloc(d->max_transfers * sizeof *r->active);
  r->pool = (uint32_t *)nbc__zalloc(d->max_transfers * sizeof *r->pool);
  r->cells = (nbc_cell *)nbc__zalloc((d->max_cells + 1) * sizeof *r->cells);
  r->cell_index = (uint32_t *)nbc__zalloc(index_count * sizeof *r->cell_index);
  const size_t turns = nbc__pow2(2 * d->history_calls, 512);
  r->history = (nbc__mon_turn *)nbc__zalloc(turns * sizeof *r->history);
  r->history_mask = turns - 1;
  r->look_mask = turns / 4 < 128 ? turns / 4 - 1 : 127;
  r->takes_nic_stamps = d->history_calls > 0;
  if (r->takes_nic_stamps) {
    r->shifts = (nbc__mon_shift *)nbc__zalloc((d->max_cells + 1) * sizeof *r->shifts);
    r->stamped = (nbc__mon_stamped *)nbc__zalloc(d->max_transfers * sizeof *r->stamped);
  }
  if (d->counters && !m->recorders) { /* the first one reads them */
    r->counter_sums = (uint64_t *)nbc__zalloc((d->max_sections + 1) * d->counters->count *
                                              sizeof *r->counter_sums);
    r->counter_last =
        r->counter_sums ? r->counter_sums + d->max_sections * d->counters->count : NULL;
  }
  if (!r->history || (d->counters && !m->recorders && !r->counter_sums) || !r->ring ||
      !r->sections || !r->inbox || !r->keys || !r->active || !r->pool || !r->cells ||
      !r->cell_index || (r->takes_nic_stamps && (!r->shifts || !r->stamped))) {
    nbc__mon_free_recorder(r);
    return NULL;
  }
  r->ring_mask = d->ring_events - 1;
  r->inbox_mask = inbox_count - 1;
  r->key_mask = key_count - 1;
  r->active_size = d->max_transfers;
  r->call_cost_ns = d->call_cost_ns;
  r->event_cost_ns = d->event_cost_ns;
  r->share = 1;
  r->section_count = 1;
  r->sections[0].parent = -1;
  r->here = &r->sections[0];
  r->cell_count = 1; /* cell 0 takes what max_cells leaves no room for */
  return r;
}

NBC_API uint32_t nbc_monitor_place(nbc_monitor *m, const nbc_site *where) {
  if (!m || !where) return 0;
  size_t i = 0;
  pthread_mutex_lock(&m->mutex);
  while (i < m->place_count && !nbc__is_same_site(&m->places[i], where)) i++;
  if (i == m->place_room && i < UINT16_MAX) {
    const size_t room = i ? 2 * i : 32;
    nbc_site *more = (nbc_site *)nbc__zalloc(room * sizeof *more);
    if (more) {
      if (i) memcpy(more, m->places, i * sizeof *more);
      NBC_FREE(m->places);
      m->places = more;
      m->place_room = room;
    }
  }
  const bool fits = i < m->place_room && i < UINT16_MAX;
  if (i == m->place_count && fits) {
    nbc_site *s = &m->places[m->place_count++];
    s->call = where->call;
    s->module = where->module;
    s->symbol = where->symbol;
    s->offset = where->offset;
  }
  pthread_mutex_unlock(&m->mutex);
  return fits ? (uint32_t)i + 1 : 0;
}
