/* report.c: reports in memory: from the recorders, added up. */
#include "report.h"
#include "../base/sums.h"
#include "table.h"

/* ============================================================================================== */
/* [REPORT] 8. Reports                                                                            */
/* ============================================================================================== */
/* ---- memory: arrays that double ------------------------------------------------------------ */

/* Room for one more element; capacity is the next power of two of the count, so it needs no
   field. */
NBC__PRIVATE void *nbc__rep_grow(void *array, size_t count, size_t element_bytes) {
  if (array && (count & (count - 1))) return array;
  void *bigger = NBC_MALLOC((count ? 2 * count : 1) * element_bytes);
  if (!bigger) return NULL;
  if (count) memcpy(bigger, array, count * element_bytes);
  NBC_FREE(array);
  return bigger;
}

NBC_API nbc_status nbc_report_set(char **field, const char *text) {
  if (!field) return NBC_E_INVAL;
  char *copy = NULL;
  if (text) {
    copy = (char *)NBC_MALLOC(strlen(text) + 1);
    if (!copy) return NBC_E_NOMEM;
    memcpy(copy, text, strlen(text) + 1);
  }
  NBC_FREE(*field);
  *field = copy;
  return NBC_OK;
}

NBC_API nbc_status nbc_report_create(nbc_report **report) {
  if (!report) return NBC_E_INVAL;
  nbc_report *r = (nbc_report *)nbc__zalloc(sizeof *r);
  nbc_section *root;
  *report = NULL;
  if (!r) return NBC_E_NOMEM;
  r->rank = -1;
  r->size = 1;
  r->process_count = 1;
  NBC__REP_APPEND(nbc_section, r->sections, r->section_count, root);
  if (!root || nbc_report_set(&root->path, "") != NBC_OK) {
    nbc_report_free(r);
    return NBC_E_NOMEM;
  }
  root->parent_index = -1;
  *report = r;
  return NBC_OK;
}

NBC_API void nbc_report_free(nbc_report *r) {
  if (!r) return;
  for (size_t i = 0; i < r->section_count; i++) NBC_FREE(r->sections[i].path);
  for (size_t i = 0; i < r->counter_count; i++) NBC_FREE(r->counters[i].name);
  for (size_t i = 0; i < r->note_count; i++) NBC_FREE(r->notes[i]);
  NBC_FREE(r->program);
  NBC_FREE(r->host);
  NBC_FREE(r->library);
  NBC_FREE(r->table_same_node);
  NBC_FREE(r->table_other_node);
  NBC_FREE(r->sections);
  NBC_FREE(r->cells);
  NBC_FREE(r->calls);
  NBC_FREE(r->threads);
  NBC_FREE(r->counters);
  for (size_t i = 0; i < r->site_count; i++) {
    NBC_FREE(r->sites[i].call);
    NBC_FREE(r->sites[i].module);
    NBC_FREE(r->sites[i].symbol);
    NBC_FREE(r->sites[i].where);
  }
  NBC_FREE(r->sites);
  NBC_FREE(r->joints);
  NBC_FREE(r->partner_bounds);
  NBC_FREE(r->pairs);
  NBC_FREE(r->waits.of);
  NBC_FREE(r->endings);
  for (size_t i = 0; i < r->comm_count; i++) NBC_FREE(r->comms[i].name);
  NBC_FREE(r->comms);
  NBC_FREE(r->notes);
  NBC_FREE(r->site_index.slots);
  NBC_FREE(r->ending_index.slots);
  NBC_FREE(r);
}

NBC_API nbc_status nbc_report_note(nbc_report *r, const char *text) {
  if (!r || !text) return NBC_E_INVAL;
  char **note;
  NBC__REP_APPEND(char *, r->notes, r->note_count, note);
  if (!note) return NBC_E_NOMEM;
  if (nbc_report_set(note, text) == NBC_OK) return NBC_OK;
  r->note_count--;
  return NBC_E_NOMEM;
}

NBC_API nbc_status nbc_report_counter(nbc_report *r, int section_index, const char *name,
                                      double value) {
  if (!r || !name || section_index < 0 || (size_t)section_index >= r->section_count)
    return NBC_E_INVAL;
  nbc_counter *counter;
  NBC__REP_APPEND(nbc_counter, r->counters, r->counter_count, counter);
  if (!counter) return NBC_E_NOMEM;
  counter->section_index = section_index;
  counter->value = value;
  if (nbc_report_set(&counter->name, name) == NBC_OK) return NBC_OK;
  r->counter_count--;
  return NBC_E_NOMEM;
}

/* ---- sites and endings are found by hashes: of large programs there are 100,000 -------------- */
/* Room for `count` elements. Readers, and who fills a report by hand, append to the arrays themselves: what is not in the
   index yet follows when something is looked for. */
static bool nbc__rep_index_room(nbc__rep_index *x, size_t count) {
  if (x->known < count && 2 * count <= x->count) return true;
  size_t more = x->count ? x->count : 32;
  while (more < 2 * count) more *= 2;
  NBC_FREE(x->slots);
  x->slots = (uint32_t *)nbc__zalloc(more * sizeof *x->slots);
  x->count = x->slots ? more : 0;
  x->known = 0;
  return x->slots != NULL;
}
static uint64_t nbc__rep_text_hash(uint64_t hash, const char *text) {
  for (; text && *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
  return hash;
}
/* Where it is, or would be. */
static uint32_t *nbc__rep_site_slot(nbc_report *r, const nbc_site *key) {
  nbc__rep_index *x = &r->site_index;
  uint64_t hash = nbc__rep_text_hash(key->offset * 0x9E3779B97F4A7C15u, key->call);
  hash = nbc__rep_text_hash(hash, key->module);
  for (size_t at = (size_t)(hash >> 32 ^ hash);; at++) {
    uint32_t *slot = &x->slots[at & (x->count - 1)];
    x->look_count++;
    if (!*slot || nbc__is_same_site(&r->sites[*slot - 1], key)) return slot;
  }
}
static uint32_t *nbc__rep_ending_slot(nbc_report *r, int begin_plus1, int end_plus1) {
  nbc__rep_index *x = &r->ending_index;
  const uint64_t hash =
      ((uint64_t)begin_plus1 * 0x9E3779B97F4A7C15u ^ (uint64_t)end_plus1) * 0xD6E8FEB86659FD93u;
  for (size_t at = (size_t)(hash >> 32);; at++) {
    uint32_t *slot = &x->slots[at & (x->count - 1)];
    x->look_count++;
    if (!*slot || (r->endings[*slot - 1].begin_plus1 == begin_plus1 &&
                   r->endings[*slot - 1].end_plus1 == end_plus1))
      return slot;
  }
}
NBC__PRIVATE int nbc__rep_site_plus1(nbc_report *r, const nbc_site *where) {
  nbc_site *s, key = *where;
  if (!key.call) key.call = (char *)(uintptr_t) "?";
  if (r->site_count >= INT32_MAX || !nbc__rep_index_room(&r->site_index, r->site_count + 1))
    return 0;
  for (size_t *i = &r->site_index.known; *i < r->site_count; ++*i) {
    uint32_t *slot = nbc__rep_site_slot(r, &r->sites[*i]);
    if (!*slot) *slot = (uint32_t)*i + 1;
  }
  const uint32_t found = *nbc__rep_site_slot(r, &key);
  if (found) return (int)found;
  NBC__REP_APPEND(nbc_site, r->sites, r->site_count, s);
  if (!s) return 0;
  s->offset = key.offset;
  if (nbc_report_set(&s->call, key.call) || nbc_report_set(&s->module, key.module) ||
      nbc_report_set(&s->symbol, key.symbol) || nbc_report_set(&s->where, key.where)) {
    NBC_FREE(s->call);
    NBC_FREE(s->module);
    NBC_FREE(s->symbol);
    r->site_count--;
    return 0;
  }
  return (int)r->site_count;
}
NBC_API nbc_status nbc_report_site(nbc_report *r, const nbc_site *from) {
  if (!r || !from) return NBC_E_INVAL;
  const int plus1 = nbc__rep_site_plus1(r, from);
  if (!plus1) return NBC_E_NOMEM;
  nbc_site *s = &r->sites[plus1 - 1];
  s->count += from->count;
  nbc__plus(&s->total_ns, from->total_ns);
  if (from->max_ns > s->max_ns) s->max_ns = from->max_ns;
  return NBC_OK;
}

NBC_API nbc_status nbc_report_ending(nbc_report *r, const nbc_site *begin, const nbc_site *end,
                                     uint64_t count, int64_t waited_ns) {
  if (!r || !begin || !end) return NBC_E_INVAL;
  const int from = nbc__rep_site_plus1(r, begin), to = from ? nbc__rep_site_plus1(r, end) : 0;
  nbc_ending *e = NULL;
  if (!to || r->ending_count >= UINT32_MAX ||
      !nbc__rep_index_room(&r->ending_index, r->ending_count + 1))
    return NBC_E_NOMEM;
  for (size_t *i = &r->ending_index.known; *i < r->ending_count; ++*i) {
    uint32_t *slot = nbc__rep_ending_slot(r, r->endings[*i].begin_plus1, r->endings[*i].end_plus1);
    if (!*slot) *slot = (uint32_t)*i + 1;
  }
  const uint32_t found = *nbc__rep_ending_slot(r, from, to);
  if (found) {
    e = &r->endings[found - 1];
  } else {
    NBC__REP_APPEND(nbc_ending, r->endings, r->ending_count, e);
    if (!e) return NBC_E_NOMEM;
    e->begin_plus1 = from;
    e->end_plus1 = to;
  }
  e->count += count;
  nbc__plus(&e->waited_ns, waited_ns);
  return NBC_OK;
}

NBC_API nbc_status nbc_report_pair(nbc_report *r, const nbc_pair *from) {
  if (!r || !from) return NBC_E_INVAL;
  nbc_pair *p;
  NBC__REP_APPEND(nbc_pair, r->pairs, r->pair_count, p);
  if (!p) return NBC_E_NOMEM;
  *p = *from;
  return NBC_OK;
}

NBC__PRIVATE nbc_waited_for *nbc__rep_waited_for(nbc_waits *sum, int partner) {
  size_t low = 0, high = sum->of_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (sum->of[middle].partner < partner)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < sum->of_count && sum->of[low].partner == partner) return &sum->of[low];
  nbc_waited_for *last;
  NBC__REP_APPEND(nbc_waited_for, sum->of, sum->of_count, last);
  if (!last) return NULL;
  memmove(&sum->of[low + 1], &sum->of[low], (sum->of_count - 1 - low) * sizeof *last);
  memset(&sum->of[low], 0, sizeof sum->of[low]);
  sum->of[low].partner = partner;
  return &sum->of[low];
}
/* Who waits until another one has called waits for that, whatever moves meanwhile. */
static int nbc__rep_wait_order(const void *a, const void *b) {
  const nbc_wait_span *x = (const nbc_wait_span *)a, *y = (const nbc_wait_span *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->since_ns != y->since_ns) return x->since_ns < y->since_ns ? -1 : 1;
  if (x->until_ns != y->until_ns) return x->until_ns > y->until_ns ? -1 : 1;
  return (x->kind > y->kind) - (x->kind < y->kind);
}
static bool nbc__rep_add_wait(nbc_waits *sum, const nbc_wait_span *w, int64_t d_ns,
                              int64_t cut_ns) {
  if (w->kind == NBC_WAIT_MOVING) {
    const int64_t computing_ns = w->computing_ns - cut_ns; /* perhaps in what was cut off */
    nbc__plus(&sum->moving_ns, d_ns);
    if (computing_ns > 0) nbc__plus(&sum->computing_ns, computing_ns < d_ns ? computing_ns : d_ns);
    return true;
  }
  nbc_waited_for *const of = nbc__rep_waited_for(sum, w->partner);
  if (!of) return false;
  nbc__plus(w->kind == NBC_WAIT_LATE ? &of->late_ns : &of->last_ns, d_ns);
  nbc__plus(w->kind == NBC_WAIT_LATE ? &sum->late_ns : &sum->last_ns, d_ns);
  return true;
}
NBC_API nbc_status nbc_waits_add(nbc_waits *sum, nbc_wait_span *waits, size_t count) {
  int64_t told_ns = INT64_MIN;
  if (!sum || (!waits && count)) return NBC_E_INVAL;
  for (size_t i = 0; i < count; i++)
    if ((unsigned)waits[i].kind > NBC_WAIT_MOVING) return NBC_E_INVAL;
  if (count) qsort(waits, count, sizeof *waits, nbc__rep_wait_order);
  for (size_t i = 0; i < count; i++) {
    const nbc_wait_span *w = &waits[i];
    if (i && w->rank != waits[i - 1].rank) told_ns = INT64_MIN;
    const int64_t since_ns = w->since_ns < told_ns ? told_ns : w->since_ns;
    int64_t d_ns, cut_ns;
    if (w->until_ns <= since_ns || __builtin_sub_overflow(w->until_ns, since_ns, &d_ns) ||
        __builtin_sub_overflow(since_ns, w->since_ns, &cut_ns))
      continue; /* empty, or longer than any time */
    told_ns = w->until_ns;
    if (!nbc__rep_add_wait(sum, w, d_ns, cut_ns)) return NBC_E_NOMEM;
  }
  return NBC_OK;
}
static bool nbc__rep_join_waits(nbc_waits *sum, const nbc_waits *from) {
  for (size_t i = 0; i < from->of_count; i++) {
    nbc_waited_for *const of = nbc__rep_waited_for(sum, from->of[i].partner);
    if (!of) return false;
    nbc__plus(&of->late_ns, from->of[i].late_ns);
    nbc__plus(&of->last_ns, from->of[i].last_ns);
  }
  nbc__plus(&sum->held_ns, from->held_ns);
  nbc__plus(&sum->late_ns, from->late_ns);
  nbc__plus(&sum->last_ns, from->last_ns);
  nbc__plus(&sum->moving_ns, from->moving_ns);
  nbc__plus(&sum->computing_ns, from->computing_ns);
  return true;
}

NBC_API nbc_status nbc_report_comm_total(nbc_report *r, const nbc_comm_total *from) {
  if (!r || !from) return NBC_E_INVAL;
  const char *name = from->name ? from->name : "";
  nbc_comm_total *c = NULL;
  for (size_t i = 0; i < r->comm_count && !c; i++)
    if (r->comms[i].size == from->size && strcmp(r->comms[i].name, name) == 0) c = &r->comms[i];
  if (!c) {
    NBC__REP_APPEND(nbc_comm_total, r->comms, r->comm_count, c);
    if (!c) return NBC_E_NOMEM;
    c->size = from->size;
    if (nbc_report_set(&c->name, name) != NBC_OK) {
      r->comm_count--;
      return NBC_E_NOMEM;
    }
  }
  c->count += from->count;
  c->size_bytes += from->size_bytes;
  nbc__plus(&c->waited_ns, from->waited_ns);
  return NBC_OK;
}

NBC_API nbc_status nbc_report_partner_bound(nbc_report *r, const nbc_partner_bound *from) {
  nbc_partner_bound *b = NULL;
  if (!r || !from || (unsigned)from->kind >= NBC_KIND_COUNT || from->alone_min_ns < 0 ||
      from->alone_min_ns > from->min_overlap_ns || from->min_overlap_ns > from->max_overlap_ns ||
      from->max_overlap_ns > from->alone_max_ns || from->alone_max_ns > from->xfer_ns ||
      from->far_count > from->count)
    return NBC_E_INVAL;
  for (size_t i = 0; i < r->partner_bound_count && !b; i++)
    if (r->partner_bounds[i].kind == from->kind) b = &r->partner_bounds[i];
  if (!b) {
    NBC__REP_APPEND(nbc_partner_bound, r->partner_bounds, r->partner_bound_count, b);
    if (!b) return NBC_E_NOMEM;
    b->kind = from->kind;
  }
  b->count += from->count;
  b->far_count += from->far_count;
  b->size_bytes += from->size_bytes;
  nbc__plus(&b->xfer_ns, from->xfer_ns);
  nbc__plus(&b->alone_min_ns, from->alone_min_ns);
  nbc__plus(&b->alone_max_ns, from->alone_max_ns);
  nbc__plus(&b->min_overlap_ns, from->min_overlap_ns);
  nbc__plus(&b->max_overlap_ns, from->max_overlap_ns);
  if (from->clock_err_ns > b->clock_err_ns) b->clock_err_ns = from->clock_err_ns;
  return NBC_OK;
}

/* ---- finding and adding rows ------------------------------------------------------------------ */
static bool nbc__rep_add_joint(nbc_report *r, const nbc_joint *from) {
  nbc_joint *j = NULL;
  for (size_t i = 0; i < r->joint_count && !j; i++)
    if (r->joints[i].incoming == from->incoming && r->joints[i].peer == from->peer)
      j = &r->joints[i];
  if (!j) {
    NBC__REP_APPEND(nbc_joint, r->joints, r->joint_count, j);
    if (!j) return false;
    j->incoming = from->incoming;
    j->peer = from->peer;
  }
  j->count += from->count;
  j->size_bytes += from->size_bytes;
  nbc__plus(&j->xfer_ns, from->xfer_ns);
  nbc__plus(&j->min_overlap_ns, from->min_overlap_ns);
  nbc__plus(&j->max_overlap_ns, from->max_overlap_ns);
  return true;
}

/* Index of a section by path, created when new; -1 when out of memory. */
static int nbc__rep_section(nbc_report *r, const char *path, int parent_index) {
  nbc_section *s;
  for (size_t i = 0; i < r->section_count; i++)
    if (strcmp(r->sections[i].path, path) == 0) return (int)i;
  NBC__REP_APPEND(nbc_section, r->sections, r->section_count, s);
  if (!s) return -1;
  if (nbc_report_set(&s->path, path) != NBC_OK) {
    r->section_count--; /* a section has a path, or is not there */
    return -1;
  }
  s->parent_index = parent_index;
  return (int)r->section_count - 1;
}

NBC__PRIVATE int nbc__rep_cell_order(const nbc_cell *a, const nbc_cell *b) {
  if (a->section_index != b->section_index) return a->section_index - b->section_index;
  if (a->kind != b->kind) return (int)a->kind - (int)b->kind;
  if (a->class_index != b->class_index) return a->class_index - b->class_index;
  if (a->peer != b->peer) return (int)a->peer - (int)b->peer;
  return a->site_plus1 - b->site_plus1;
}

/* The cell with the key of *key, created when new; cells stay sorted. NULL when out of memory. */
static nbc_cell *nbc__rep_cell(nbc_report *r, const nbc_cell *key) {
  size_t low = 0, high = r->cell_count;
  while (low < high) {
    const size_t mid = (low + high) / 2;
    if (nbc__rep_cell_order(&r->cells[mid], key) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  if (low < r->cell_count && nbc__rep_cell_order(&r->cells[low], key) == 0) return &r->cells[low];
  nbc_cell *c;
  NBC__REP_APPEND(nbc_cell, r->cells, r->cell_count, c);
  if (!c) return NULL;
  memmove(&r->cells[low + 1], &r->cells[low], (r->cell_count - 1 - low) * sizeof *c);
  c = &r->cells[low];
  memset(c, 0, sizeof *c);
  c->section_index = key->section_index;
  c->kind = key->kind;
  c->class_index = key->class_index;
  c->peer = key->peer;
  c->site_plus1 = key->site_plus1;
  return c;
}

static nbc_call *nbc__rep_call(nbc_report *r, int section_index, nbc_kind kind) {
  nbc_call *c;
  for (size_t i = 0; i < r->call_count; i++)
    if (r->calls[i].section_index == section_index && r->calls[i].kind == kind) return &r->calls[i];
  NBC__REP_APPEND(nbc_call, r->calls, r->call_count, c);
  if (c) c->section_index = section_index, c->kind = kind;
  return c;
}

NBC__PRIVATE void nbc__rep_add_totals(nbc_totals *sum, const nbc_totals *t) {
  sum->count += t->count;
  sum->size_bytes += t->size_bytes;
  nbc__plus(&sum->xfer_ns, t->xfer_ns);
  nbc__plus(&sum->min_overlap_ns, t->min_overlap_ns);
  nbc__plus(&sum->max_overlap_ns, t->max_overlap_ns);
  for (int i = 0; i < 3; i++) sum->case_count[i] += t->case_count[i];
  nbc__plus(&sum->waited_ns, t->waited_ns);
  sum->exact_count += t->exact_count;
  nbc__plus(&sum->exact_xfer_ns, t->exact_xfer_ns);
  nbc__plus(&sum->exact_lo_ns, t->exact_lo_ns);
  nbc__plus(&sum->exact_hi_ns, t->exact_hi_ns);
}

NBC__PRIVATE void nbc__rep_join_cell(nbc_cell *c, const nbc_cell *from) {
  nbc__rep_add_totals(&c->t, &from->t);
  nbc__plus(&c->available_ns, from->available_ns);
  for (int b = 0; b < NBC_HIST_BINS; b++) c->available_count[b] += from->available_count[b];
}

/* from_site: of its place, in a monitor or another report; NULL: none. */
static bool nbc__rep_add_cell(nbc_report *r, const nbc_cell *from, int section_index,
                              const nbc_site *from_site) {
  nbc_cell key = *from;
  key.section_index = section_index;
  key.site_plus1 = from_site ? nbc__rep_site_plus1(r, from_site) : 0;
  if (from_site && !key.site_plus1) return false;
  nbc_cell *c = nbc__rep_cell(r, &key);
  if (!c) return false;
  nbc__rep_join_cell(c, from);
  nbc__rep_add_totals(&r->total, &from->t);
  return true;
}

NBC__PRIVATE void nbc__rep_join_call(nbc_call *c, const nbc_call *from) {
  if (!c->count || from->min_ns < c->min_ns) c->min_ns = from->min_ns;
  if (from->max_ns > c->max_ns) c->max_ns = from->max_ns;
  c->count += from->count;
  nbc__plus(&c->total_ns, from->total_ns);
}

static bool nbc__rep_add_call(nbc_report *r, const nbc_call *from, int section_index) {
  if (!from->count) return true;
  nbc_call *c = nbc__rep_call(r, section_index, from->kind);
  if (c) nbc__rep_join_call(c, from);
  return c != NULL;
}

/* ---- from the recorders -------------------------------------------------------------------- */
/* Sections and calls of one recorder; map[i] is the report's index of its section i. */
static bool nbc__rep_take_sections(nbc_report *out, nbc_recorder *r, int *map) {
  const size_t count = __atomic_load_n(&r->section_count, __ATOMIC_ACQUIRE);
  for (size_t i = 0; i < count; i++) {
    const nbc__mon_section *s = &r->sections[i];
    map[i] = 0;
    if (i) {
      const nbc_section *parent = &out->sections[map[s->parent]];
      char path[NBC_MAX_DEPTH * sizeof s->name + NBC_MAX_DEPTH];
      snprintf(path, sizeof path, "%s%s%s", parent->path, parent->path[0] ? "/" : "", s->name);
      map[i] = nbc__rep_section(out, path, map[s->parent]);
      if (map[i] < 0) return false;
    }
    nbc_section *o = &out->sections[map[i]];
    o->count += NBC__MON_RELAXED_LOAD(&s->count);
    o->comp_ns += NBC__MON_RELAXED_LOAD(&s->comp_ns);
    o->call_ns += NBC__MON_RELAXED_LOAD(&s->call_ns);
    for (int k = 0; k < NBC_KIND_COUNT; k++) {
      nbc_call call;
      memset(&call, 0, sizeof call);
      call.kind = (nbc_kind)k;
      call.count = NBC__MON_RELAXED_LOAD(&s->calls[k].count);
      call.total_ns = NBC__MON_RELAXED_LOAD(&s->calls[k].total_ns);
      call.min_ns = NBC__MON_RELAXED_LOAD(&s->calls[k].min_ns);
      call.max_ns = NBC__MON_RELAXED_LOAD(&s->calls[k].max_ns);
      if (!nbc__rep_add_call(out, &call, map[i])) return false;
    }
  }
  return true;
}

/* A call that is open has lasted until now: so calls add up to the time in them. */
static bool nbc__rep_take_open_call(nbc_report *out, const nbc_recorder *r, const int *map,
                                    int64_t t_ns) {
  const nbc__mon_calls *const open = NBC__MON_RELAXED_LOAD(&r->call);
  const size_t count = __atomic_load_n(&r->section_count, __ATOMIC_ACQUIRE);
  nbc_call call;
  memset(&call, 0, sizeof call);
  call.count = 1;
  call.total_ns = call.min_ns = call.max_ns = t_ns - NBC__MON_RELAXED_LOAD(&r->enter_ns);
  if (call.total_ns <= 0 || !NBC__MON_RELAXED_LOAD(&r->on) ||
      !NBC__MON_RELAXED_LOAD(&r->attached) || !(NBC__MON_RELAXED_LOAD(&r->state) & 1))
    return true;
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < NBC_KIND_COUNT; k++)
      if (&r->sections[i].calls[k] == open) {
        call.kind = (nbc_kind)k;
        return nbc__rep_add_call(out, &call, map[i]);
      }
  return true;
}

/* One thread's times; what passed since its last event goes where it stands now. */
static bool nbc__rep_take_thread(nbc_report *out, nbc_recorder *r, const int *map, int64_t t_ns) {
  nbc_thread *thread;
  NBC__REP_APPEND(nbc_thread, out->threads, out->thread_count, thread);
  if (!thread) return false;
  for (size_t i = 0; i < __atomic_load_n(&r->section_count, __ATOMIC_ACQUIRE); i++) {
    thread->comp_ns += NBC__MON_RELAXED_LOAD(&r->sections[i].comp_ns);
    thread->call_ns += NBC__MON_RELAXED_LOAD(&r->sections[i].call_ns);
  }
  thread->off_ns = NBC__MON_RELAXED_LOAD(&r->off_ns);
  const int64_t tail_ns = t_ns - NBC__MON_RELAXED_LOAD(&r->last_ns);
  if (NBC__MON_RELAXED_LOAD(&r->attached) && tail_ns > 0) {
    nbc_section *s = &out->sections[map[NBC__MON_RELAXED_LOAD(&r->section)]];
    if (!NBC__MON_RELAXED_LOAD(&r->on))
      thread->off_ns += tail_ns;
    else if (NBC__MON_RELAXED_LOAD(&r->state) & 1)
      thread->call_ns += tail_ns, s->call_ns += tail_ns;
    else
      thread->comp_ns += tail_ns, s->comp_ns += tail_ns;
  }
  thread->tool_ns = NBC__MON_RELAXED_LOAD(&r->tool_ns);
  thread->wall_ns = thread->comp_ns + thread->call_ns + thread->off_ns + thread->tool_ns;
  out->tool_ns += thread->tool_ns;
  out->comp_ns += thread->comp_ns;
  out->call_ns += thread->call_ns;
  out->off_ns += thread->off_ns;
  out->wall_ns += thread->wall_ns;
  return true;
}

static const nbc_site *nbc__rep_place(const nbc_recorder *r, const nbc_cell *c) {
  const size_t place = (size_t)c->site_plus1;
  return place && place <= r->monitor->place_count ? &r->monitor->places[place - 1] : NULL;
}

/* Active transfers enter this report as case 3 and stay active. */
static bool nbc__rep_take_active(nbc_report *out, nbc_recorder *r, const int *map) {
  for (uint64_t k = 0; k <= r->key_mask; k++) {
    if (!r->keys[k].index_plus1) continue;
    const nbc__mon_event *b = &r->active[r->keys[k].index_plus1 - 1];
    nbc_cell cell;
    memset(&cell, 0, sizeof cell);
    cell.kind = (nbc_kind)b->kind;
    cell.peer = (nbc_peer)b->peer;
    cell.site_plus1 = (int)b->place;
    cell.class_index = nbc__mon_class(r->monitor, b->size_bytes);
    const nbc__mon_bounds o = nbc__mon_account(r, &cell, b, NULL, b->size_bytes, cell.peer);
    nbc__mon_tell(r, b, NULL, b->size_bytes, cell.peer, &o);
    if (!nbc__rep_add_cell(out, &cell, map[b->section], nbc__rep_place(r, &cell))) return false;
    out->problems[NBC_PROBLEM_never_ended]++;
  }
  return true;
}

static bool nbc__rep_take_counters(nbc_report *out, const nbc_recorder *r, const int *map) {
  const nbc_counter_source *s = r->monitor->desc.counters;
  if (!r->counter_sums) return true;
  for (size_t i = 0; i < r->section_count; i++)
    for (size_t k = 0; k < s->count; k++)
      if (r->counter_sums[i * s->count + k] &&
          nbc_report_counter(out, map[i], s->names[k], (double)r->counter_sums[i * s->count + k]) !=
              NBC_OK)
        return false;
  return true;
}

/* Of the periods that are over, and of one that is open, which has the independent bounds. */
static void nbc__rep_take_joint(const nbc_recorder *r, int direction, nbc_peer peer,
                                nbc_totals *to) {
  const nbc__mon_joint *j = &r->joint[direction][peer];
  const nbc_totals *const both[] = {&j->sum, &j->period};
  for (int i = 0; i < 2; i++) {
    to->count += both[i]->count;
    to->size_bytes += both[i]->size_bytes;
    to->xfer_ns += both[i]->xfer_ns;
    to->min_overlap_ns += both[i]->min_overlap_ns;
    to->max_overlap_ns += both[i]->max_overlap_ns;
  }
}

static bool nbc__rep_take_recorder(nbc_report *out, nbc_recorder *r, int64_t t_ns) {
  int *map = (int *)nbc__zalloc(r->monitor->desc.max_sections * sizeof *map);
  if (!map) return false;
  nbc__mon_lock(r);
  nbc__mon_drain_for_report_locked(r, t_ns);
  if (r->attached && NBC__MON_RELAXED_LOAD(&r->on)) nbc__mon_read_counters_locked(r, true);
  bool ok = nbc__rep_take_sections(out, r, map) && nbc__rep_take_thread(out, r, map, t_ns) &&
            nbc__rep_take_open_call(out, r, map, t_ns) && nbc__rep_take_counters(out, r, map);
  for (size_t i = 0; ok && i < r->cell_count; i++) {
    nbc__mon_shift_close(r, i);
    /* of an active transfer a cell may hold stamps only, and those of a group when it ended with another size */
    if (r->cells[i].t.count || r->cells[i].t.exact_count)
      ok = nbc__rep_add_cell(out, &r->cells[i], map[r->cells[i].section_index],
                             nbc__rep_place(r, &r->cells[i]));
  }
  ok = ok && nbc__rep_take_active(out, r, map);
  for (int k = 0; ok && k < 2 * NBC_PEER_COUNT; k++) {
    nbc_totals t;
    nbc_joint joint;
    memset(&t, 0, sizeof t);
    memset(&joint, 0, sizeof joint);
    joint.incoming = k >= NBC_PEER_COUNT;
    joint.peer = (nbc_peer)(k % NBC_PEER_COUNT);
    nbc__rep_take_joint(r, joint.incoming, joint.peer, &t);
    joint.count = t.count, joint.size_bytes = t.size_bytes, joint.xfer_ns = t.xfer_ns;
    joint.min_overlap_ns = t.min_overlap_ns, joint.max_overlap_ns = t.max_overlap_ns;
    if (t.count) ok = nbc__rep_add_joint(out, &joint);
  }
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    out->problems[p] += NBC__MON_RELAXED_LOAD(&r->problems[p]);
  nbc__mon_unlock(r);
  NBC_FREE(map);
  return ok;
}

/* Whether bounds rest on a guess. One that no transfer asked for is no reason to doubt them; nor is one of receives from
   anybody that never ended, of which nothing is claimed. */
static bool nbc__rep_is_guessed(const nbc_monitor *m, const nbc_report *r) {
  bool guessed = m->own_table[0] && m->own_table[1];
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *const x = &r->cells[i];
    if (x->peer == NBC_PEER_SELF) continue;
    if (x->peer == NBC_PEER_UNKNOWN && x->t.case_count[2] == x->t.count) continue;
    guessed = guessed || (m->own_table[0] && x->peer != NBC_PEER_OTHER_NODE) ||
              (m->own_table[1] && x->peer != NBC_PEER_SAME_NODE);
  }
  return guessed;
}

/* A table whose measurement was disturbed says so in every report made with it. ret false: no memory */
static bool nbc__rep_note_disturbed(nbc_report *r, const nbc_table *table) {
  char text[600];
  if (!nbc_table_disturbed(table)) return true;
  snprintf(text, sizeof text,
           "%.200s: this table was disturbed when it was measured (%.150s): no minimum is claimed, "
           "and a larger share than \"at most\" says may be hidden of transfers faster than it",
           nbc_table_name(table), nbc_table_disturbed(table));
  return nbc_report_note(r, text) == NBC_OK;
}

NBC_API nbc_status nbc_monitor_report_at(nbc_monitor *m, int64_t t_ns, nbc_report **report) {
  if (!m || !report) return NBC_E_INVAL;
  nbc_report *out;
  nbc_status status = nbc_report_create(&out);
  *report = NULL;
  if (status != NBC_OK) return status;
  char host[256];
  if (gethostname(host, sizeof host) != 0) host[0] = 0;
  host[sizeof host - 1] = 0;
  out->pid = (int)getpid();
  out->start_unix_s = m->start_unix_s;
  out->clock_source = m->clock.source;
  out->clock_hz = m->clock.hz;
  out->clock_rate_err_ppm = m->clock.rate_err_ppm;
  out->clock_resolution_ns = m->clock.resolution_ns;
  out->clock_read_cost_ns = m->clock.read_cost_ns;
  memcpy(out->class_edges_bytes, m->edges, sizeof m->edges);
  out->class_edge_count = m->desc.class_edge_count;
  bool ok =
      nbc_report_set(&out->host, host) == NBC_OK &&
      nbc_report_set(&out->table_same_node, nbc_table_name(m->desc.table_same_node)) == NBC_OK &&
      nbc_report_set(&out->table_other_node, nbc_table_name(m->desc.table_other_node)) == NBC_OK &&
      nbc__rep_note_disturbed(out, m->desc.table_same_node) &&
      (m->desc.table_other_node == m->desc.table_same_node ||
       nbc__rep_note_disturbed(out, m->desc.table_other_node));
  pthread_mutex_lock(&m->mutex);
  for (nbc_recorder *r = m->recorders; ok && r; r = r->next)
    ok = nbc__rep_take_recorder(out, r, t_ns);
  pthread_mutex_unlock(&m->mutex);
  out->table_is_default = nbc__rep_is_guessed(m, out);
  if (!ok) {
    nbc_report_free(out);
    return NBC_E_NOMEM;
  }
  *report = out;
  return NBC_OK;
}

NBC_API nbc_status nbc_monitor_report(nbc_monitor *monitor, nbc_report **report) {
  if (!monitor || !report) return NBC_E_INVAL;
  return nbc_monitor_report_at(monitor, nbc_clock_now_ns(&monitor->clock), report);
}

/* ---- adding reports ------------------------------------------------------------------------ */
static bool nbc__rep_add_counter(nbc_report *sum, int section_index, const nbc_counter *from) {
  for (size_t i = 0; i < sum->counter_count; i++)
    if (sum->counters[i].section_index == section_index &&
        strcmp(sum->counters[i].name, from->name) == 0) {
      sum->counters[i].value += from->value;
      return true;
    }
  return nbc_report_counter(sum, section_index, from->name, from->value) == NBC_OK;
}

static bool nbc__rep_add_rows(nbc_report *sum, const nbc_report *one, int *map) {
  for (size_t i = 0; i < one->section_count; i++) {
    const nbc_section *s = &one->sections[i];
    const int parent =
        s->parent_index >= 0 && (size_t)s->parent_index < i ? map[s->parent_index] : -1;
    map[i] = nbc__rep_section(sum, s->path, parent);
    if (map[i] < 0) return false;
    sum->sections[map[i]].count += s->count;
    nbc__plus(&sum->sections[map[i]].comp_ns, s->comp_ns);
    nbc__plus(&sum->sections[map[i]].call_ns, s->call_ns);
  }
  for (size_t i = 0; i < one->site_count; i++)
    if (nbc_report_site(sum, &one->sites[i]) != NBC_OK) return false;
  for (size_t i = 0; i < one->cell_count; i++) {
    const nbc_cell *c = &one->cells[i];
    const nbc_site *site = c->site_plus1 ? &one->sites[c->site_plus1 - 1] : NULL;
    if (!nbc__rep_add_cell(sum, c, map[c->section_index], site)) return false;
  }
  for (size_t i = 0; i < one->call_count; i++)
    if (!nbc__rep_add_call(sum, &one->calls[i], map[one->calls[i].section_index])) return false;
  for (size_t i = 0; i < one->counter_count; i++) {
    const nbc_counter *c = &one->counters[i];
    if (!nbc__rep_add_counter(sum, map[c->section_index], c)) return false;
  }
  for (size_t i = 0; i < one->thread_count; i++) {
    nbc_thread *thread;
    NBC__REP_APPEND(nbc_thread, sum->threads, sum->thread_count, thread);
    if (!thread) return false;
    *thread = one->threads[i];
  }
  for (size_t i = 0; i < one->joint_count; i++)
    if (!nbc__rep_add_joint(sum, &one->joints[i])) return false;
  for (size_t i = 0; i < one->partner_bound_count; i++)
    if (nbc_report_partner_bound(sum, &one->partner_bounds[i]) == NBC_E_NOMEM) return false;
  for (size_t i = 0; i < one->ending_count; i++) {
    const nbc_ending *e = &one->endings[i];
    if (nbc_report_ending(sum, &one->sites[e->begin_plus1 - 1], &one->sites[e->end_plus1 - 1],
                          e->count, e->waited_ns) != NBC_OK)
      return false;
  }
  for (size_t i = 0; i < one->pair_count; i++)
    if (nbc_report_pair(sum, &one->pairs[i]) != NBC_OK) return false;
  if (!nbc__rep_join_waits(&sum->waits, &one->waits)) return false;
  for (size_t i = 0; i < one->comm_count; i++)
    if (nbc_report_comm_total(sum, &one->comms[i]) != NBC_OK) return false;
  for (size_t i = 0; i < one->note_count; i++) {
    size_t known = 0; /* the same note from every process is said once */
    while (known < sum->note_count && strcmp(sum->notes[known], one->notes[i]) != 0) known++;
    if (known == sum->note_count && nbc_report_note(sum, one->notes[i]) != NBC_OK) return false;
  }
  return true;
}

/* A text of the sum: what all have, or that they differ. */
static bool nbc__rep_add_text(char **sum, const char *one, const char *several) {
  if (!one || !*one || (*sum && strcmp(*sum, one) == 0)) return true;
  return nbc_report_set(sum, *sum && **sum ? several : one) == NBC_OK;
}

/* A report may be filled by hand: whether all that is named by a number or a text is there. Called seldom, so kept small;
   a negative number is a large unsigned one. */
__attribute__((cold)) NBC__PRIVATE bool nbc__rep_is_whole(const nbc_report *r) {
  size_t bad = r->class_edge_count >= NBC_MAX_CLASSES;
#define NBC__REP_OUT(index, count) ((size_t)(unsigned)(index) >= (size_t)(count))
  for (size_t i = 0; i < r->section_count; i++) bad |= !r->sections[i].path;
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    bad |= NBC__REP_OUT(c->section_index, r->section_count) |
           NBC__REP_OUT(c->kind, NBC_KIND_COUNT) |
           NBC__REP_OUT(c->class_index, r->class_edge_count + 1) |
           NBC__REP_OUT(c->peer, NBC_PEER_COUNT) | NBC__REP_OUT(c->site_plus1, r->site_count + 1);
  }
  for (size_t i = 0; i < r->call_count; i++) {
    const nbc_call *c = &r->calls[i];
    bad |= NBC__REP_OUT(c->section_index, r->section_count) | NBC__REP_OUT(c->kind, NBC_KIND_COUNT);
  }
  for (size_t i = 0; i < r->counter_count; i++) {
    const nbc_counter *c = &r->counters[i];
    bad |= NBC__REP_OUT(c->section_index, r->section_count) | !c->name;
  }
  for (size_t i = 0; i < r->joint_count; i++)
    bad |= NBC__REP_OUT(r->joints[i].peer, NBC_PEER_COUNT);
  for (size_t i = 0; i < r->partner_bound_count; i++)
    bad |= NBC__REP_OUT(r->partner_bounds[i].kind, NBC_KIND_COUNT);
  for (size_t i = 0; i < r->site_count; i++) bad |= !r->sites[i].call;
  for (size_t i = 0; i < r->comm_count; i++) bad |= !r->comms[i].name;
  for (size_t i = 0; i < r->note_count; i++) bad |= !r->notes[i];
#undef NBC__REP_OUT
  return !bad;
}

NBC_API nbc_status nbc_report_add(nbc_report *sum, const nbc_report *one, nbc_error *err) {
  if (!sum || !one || sum == one)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "sum and one: must not be NULL, and not the same");
  if (!nbc__rep_is_whole(sum) || !nbc__rep_is_whole(one))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: a number or text names what is not there",
                            nbc__rep_is_whole(sum) ? "one" : "sum");
  const bool first = sum->process_count == 0 ||
                     (!sum->thread_count && !sum->cell_count && !sum->program && !sum->host);
  if (first) {
    memcpy(sum->class_edges_bytes, one->class_edges_bytes, sizeof sum->class_edges_bytes);
    sum->class_edge_count = one->class_edge_count;
    sum->size = one->size;
    sum->start_unix_s = one->start_unix_s;
    sum->clock_source = one->clock_source;
    sum->clock_hz = one->clock_hz;
    sum->process_count = 0;
    sum->is_simulated = one->is_simulated;
    /* never NULL, so that the next report is not the first again */
    if (nbc_report_set(&sum->program, one->program) ||
        nbc_report_set(&sum->host, one->host ? one->host : "") ||
        nbc_report_set(&sum->library, one->library) ||
        nbc_report_set(&sum->table_same_node, one->table_same_node) ||
        nbc_report_set(&sum->table_other_node, one->table_other_node))
      return NBC_E_NOMEM;
  } else if (sum->class_edge_count != one->class_edge_count ||
             memcmp(sum->class_edges_bytes, one->class_edges_bytes,
                    one->class_edge_count * sizeof(uint64_t)) != 0) {
    if (err) {
      err->status = NBC_E_MISMATCH;
      snprintf(err->text, sizeof err->text,
               "rank %d of %s has other size classes than the reports before", one->rank,
               one->program ? one->program : "?");
    }
    return NBC_E_MISMATCH;
  }
  int *map = (int *)nbc__zalloc(one->section_count * sizeof *map);
  const bool ok =
      map && nbc__rep_add_rows(sum, one, map) &&
      nbc__rep_add_text(&sum->program, one->program, "several programs") &&
      nbc__rep_add_text(&sum->host, one->host, "several hosts") &&
      nbc__rep_add_text(&sum->library, one->library, "several libraries") &&
      nbc__rep_add_text(&sum->table_same_node, one->table_same_node, "several tables") &&
      nbc__rep_add_text(&sum->table_other_node, one->table_other_node, "several tables");
  NBC_FREE(map);
  if (!ok) return NBC_E_NOMEM;
  sum->rank = -1;
  if (__builtin_add_overflow(sum->process_count, one->process_count, &sum->process_count))
    sum->process_count = 0x7fffffff;
  nbc__plus(&sum->wall_ns, one->wall_ns);
  nbc__plus(&sum->comp_ns, one->comp_ns);
  nbc__plus(&sum->call_ns, one->call_ns);
  nbc__plus(&sum->off_ns, one->off_ns);
  nbc__plus(&sum->tool_ns, one->tool_ns);
  if (one->start_unix_s < sum->start_unix_s) sum->start_unix_s = one->start_unix_s;
  if (one->clock_rate_err_ppm > sum->clock_rate_err_ppm)
    sum->clock_rate_err_ppm = one->clock_rate_err_ppm;
  if (one->clock_resolution_ns > sum->clock_resolution_ns)
    sum->clock_resolution_ns = one->clock_resolution_ns;
  if (one->clock_read_cost_ns > sum->clock_read_cost_ns)
    sum->clock_read_cost_ns = one->clock_read_cost_ns;
  sum->table_is_default = sum->table_is_default || one->table_is_default;
  sum->is_simulated = sum->is_simulated && one->is_simulated;
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++) sum->problems[p] += one->problems[p];
  return NBC_OK;
}
