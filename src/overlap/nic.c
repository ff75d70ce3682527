/* nic.c: NICs as witnesses: stamps from the wire, in host time, into the monitor. */
#include "nic.h"

/* ============================================================================================== */
/* [NIC] 10. NICs as witnesses                                                                    */
/* ============================================================================================== */
struct nbc_nic_watch {
  nbc_nic_watch_desc desc;
  nbc_relation before, now; /* at the poll before, and now */
  nbc_nic_counts counts;
  uint64_t lost_before; /* at creation */
  double sum_err_ns;
  /* The line through one reading by which all stamps of a group are placed: their times are off by
     one shift, the reading's error, and each by what the clock may run away meanwhile. */
  bool has_group;
  struct {
    nbc_recorder *owner;
    uint32_t group;
  } owners[16]; /* the group's number at each owner of late; NULL: free */
  int owners_next;
  uint64_t group_ticks, group_steps;
  int64_t group_ns, shared_err_ns;
  double ns_per_tick, rate_err_ratio;
  nbc_nic_stamp *stamps; /* desc.batch_stamps, behind this */
};

static nbc_status nbc__nic_read_clock(nbc_nic_watch *w) {
  const nbc_nic *nic = w->desc.nic;
  int64_t before_ns, after_ns;
  uint64_t ticks;
  nbc_status status = nic->read_clock(nic->ctx, &before_ns, &ticks, &after_ns);
  if (status != NBC_OK) return status;
  w->before = w->now;
  status = nbc_relation_add(&w->now, before_ns, ticks, after_ns);
  w->counts.step_count = w->now.step_count + w->now.gap_count;
  return status == NBC_E_CLOCK ? NBC_OK : status; /* a step is counted; the relation began anew */
}

NBC_API nbc_status nbc_nic_watch_create(const nbc_nic_watch_desc *desc, nbc_nic_watch **watch) {
  if (!watch) return NBC_E_INVAL;
  *watch = NULL;
  if (!desc || !desc->nic || !desc->nic->read_clock || !desc->nic->next_stamp ||
      (!desc->recorder && !desc->owner_of))
    return NBC_E_INVAL;
  /* Stamps are kept until the clock has been read after them: see nbc_nic_poll. */
  const size_t batch = desc->batch_stamps ? desc->batch_stamps : 256;
  if (batch > 65536) return NBC_E_INVAL;
  nbc_relation_desc relation = desc->relation;
  if (relation.hz == 0) {
    relation = nbc_relation_crystal(desc->nic->nominal_hz);
    relation.counter_bits = desc->nic->counter_bits;
    relation.step_ticks = desc->nic->step_ticks;
  }
  nbc_nic_watch *w = (nbc_nic_watch *)NBC_MALLOC(sizeof *w + batch * sizeof *w->stamps);
  if (!w) return NBC_E_NOMEM;
  memset(w, 0, sizeof *w);
  w->stamps = (nbc_nic_stamp *)(w + 1);
  w->desc = *desc;
  w->desc.batch_stamps = batch;
  w->desc.relation = relation;
  nbc_status status = nbc_relation_init(&w->now, &relation);
  if (status == NBC_OK) status = nbc__nic_read_clock(w);
  w->before = w->now;
  if (desc->nic->lost_count) w->lost_before = desc->nic->lost_count(desc->nic->ctx);
  if (status != NBC_OK) {
    NBC_FREE(w);
    return status;
  }
  *watch = w;
  return NBC_OK;
}

NBC_API void nbc_nic_watch_destroy(nbc_nic_watch *watch) {
  if (watch) NBC_FREE(watch);
}

/* How well the distance of two stamps is known that is d_ns by their places: the counter's steps,
   and the rate between them. A clock off by at most L (ratio) shows a true time t as one in t / (1
   + L) .. t / (1 - L), so what it shows may be wrong by L / (1 - L). Each end is rounded down to a
   step: the two together are one step wrong at most. */
static int64_t nbc__nic_length_err_ns(const nbc_nic_watch *w, const nbc_nic_stamp *stamp,
                                      int64_t d_ns) {
  const nbc_relation_desc *how = &w->now.desc;
  const int bits = how->counter_bits ? how->counter_bits : 64;
  const uint64_t ticks = (stamp->end_ticks - stamp->begin_ticks) & (UINT64_MAX >> (64 - bits));
  const double ns_per_tick = 1e9 / how->hz, nominal_ns = (double)ticks * ns_per_tick;
  const double steps_ns = (double)(how->step_ticks ? how->step_ticks : 1) * ns_per_tick;
  /* the rate's deviation never passes the limit, whatever the readings say about it */
  const double limit_ratio = 1e-6 * how->rate_limit_ppm / (1 - 1e-6 * how->rate_limit_ppm);
  const double err_ns =
      fabs(nominal_ns - (double)d_ns) + limit_ratio * nominal_ns + (1 + limit_ratio) * steps_ns + 1;
  return err_ns < 4e9 ? (int64_t)ceil(err_ns) : UINT32_MAX;
}

/* The time of a stamp by its group's line, *own being what the relation says of it; own->err_ns
   becomes what may be wrong of it besides the common shift. false: the line is of no use for it. */
static bool nbc__nic_by_group(const nbc_nic_watch *w, uint64_t ticks, nbc_time *own) {
  const nbc_relation_desc *how = &w->now.desc;
  const int unused_bits = how->counter_bits ? 64 - how->counter_bits : 0;
  if (!w->has_group) return false;
  /* The distance as a signed number of counter_bits bits, so that a counter that has wrapped round
     is no trouble: stamps may lie on either side of the reading. */
  const int64_t d_ticks = (int64_t)((ticks - w->group_ticks) << unused_bits) >> unused_bits;
  const double d_ns = (double)d_ticks * w->ns_per_tick, far_ns = fabs(d_ns);
  const double step_ns = (double)(how->step_ticks ? how->step_ticks : 1) * w->ns_per_tick;
  const double drift_ratio = w->rate_err_ratio + 1e-15 * how->wander_ppm_per_s * far_ns;
  const double err_ns = far_ns * drift_ratio + step_ns + 1;
  /* A group is worth having while what its stamps do not share is small beside what they do. */
  if (!(far_ns < 1e15) || err_ns > 0.25 * (double)w->shared_err_ns) return false;
  const int64_t t_ns = w->group_ns + (int64_t)floor(d_ns + 0.5),
                reach_ns = own->err_ns + w->shared_err_ns;
  /* the line and the relation must agree, and the line must not be much the worse of the two */
  if (t_ns - own->t_ns > reach_ns || own->t_ns - t_ns > reach_ns ||
      (double)own->err_ns < 0.8 * (double)w->shared_err_ns)
    return false;
  own->t_ns = t_ns;
  own->err_ns = (int64_t)ceil(err_ns);
  return true;
}
/* A new group when there is none, when the clock stepped, ran away or became much better known. A
   group lasts over many polls on purpose: stamps of one group are off by the same shift, so what
   one stamp proves about it holds for all. */
static void nbc__nic_regroup(nbc_nic_watch *w) {
  nbc_time now;
  if (w->now.step_count + w->now.gap_count != w->group_steps) w->has_group = false;
  w->group_steps = w->now.step_count + w->now.gap_count;
  if (nbc_relation_time(&w->now, w->now.newest_raw_ticks, &now) != NBC_OK) {
    w->has_group = false;
    return;
  }
  nbc_time by_line = now;
  if (nbc__nic_by_group(w, w->now.newest_raw_ticks, &by_line)) return;
  w->has_group = true;
  /* Owners number groups themselves, so each is asked for a number again. */
  memset(w->owners, 0, sizeof w->owners);
  w->group_ticks = w->now.newest_raw_ticks;
  w->group_ns = now.t_ns;
  w->shared_err_ns = now.err_ns;
  w->ns_per_tick = 1e9 / w->now.desc.hz * (1 + 1e-6 * w->now.rate_ppm);
  w->rate_err_ratio = 1e-6 * w->now.rate_err_ppm;
}

/* The number of the watch's group at this owner, which gives it: owners may have several watches. One
   that is forgotten and comes again gets another, which is as good for a while. */
static uint32_t nbc__nic_group_at(nbc_nic_watch *w, nbc_recorder *owner) {
  const int count = (int)(sizeof w->owners / sizeof *w->owners);
  for (int i = 0; i < count; i++)
    if (w->owners[i].owner == owner) return w->owners[i].group;
  const int i = w->owners_next++ % count;
  w->owners_next %= count;
  w->owners[i].owner = owner;
  return w->owners[i].group = nbc__mon_new_group(owner);
}

static void nbc__nic_place(nbc_nic_watch *w, nbc_nic_stamp *stamp) {
  nbc_time begin, end;
  nbc_recorder *owner = w->desc.owner_of ? w->desc.owner_of(w->desc.user, stamp) : w->desc.recorder;
  if (!owner) {
    w->counts.unowned_count++;
    return;
  }
  if (nbc_relation_time_between(&w->before, &w->now, stamp->begin_ticks, &begin) != NBC_OK ||
      nbc_relation_time_between(&w->before, &w->now, stamp->end_ticks, &end) != NBC_OK) {
    w->counts.unplaced_count++;
    return;
  }
  int64_t err_ns = begin.err_ns > end.err_ns ? begin.err_ns : end.err_ns;
  const int64_t d_err_ns = nbc__nic_length_err_ns(w, stamp, end.t_ns - begin.t_ns);
  nbc_time b = begin, e = end;
  if (nbc__nic_by_group(w, stamp->begin_ticks, &b) && nbc__nic_by_group(w, stamp->end_ticks, &e)) {
    const int64_t own_ns = b.err_ns > e.err_ns ? b.err_ns : e.err_ns;
    err_ns = own_ns + w->shared_err_ns;
    nbc_xfer_stamp_shared(owner, stamp->xfer_id, b.t_ns, e.t_ns, own_ns,
                          nbc__nic_length_err_ns(w, stamp, e.t_ns - b.t_ns), w->shared_err_ns,
                          nbc__nic_group_at(w, owner));
  } else {
    nbc_xfer_stamp_length(owner, stamp->xfer_id, begin.t_ns, end.t_ns, err_ns, d_err_ns);
  }
  w->counts.placed_count++;
  w->sum_err_ns += (double)err_ns;
  if (err_ns > w->counts.max_err_ns) w->counts.max_err_ns = err_ns;
}

NBC_API nbc_status nbc_nic_poll(nbc_nic_watch *w) {
  if (!w) return NBC_E_INVAL;
  const nbc_nic *nic = w->desc.nic;
  nbc_status next;
  do {
    size_t count = 0;
    /* Stamps first, the clock after them: so each lies between the reading before and the one now,
       where the relation holds by interpolation. With the clock first, the newest stamps would have
       to be extrapolated. */
    while ((next = NBC_OK, count < w->desc.batch_stamps) &&
           (next = nic->next_stamp(nic->ctx, &w->stamps[count])) == NBC_OK)
      count++;
    const nbc_status status = nbc__nic_read_clock(w);
    if (status != NBC_OK) w->before = w->now; /* still answered, by what is known */
    nbc__nic_regroup(w);
    for (size_t i = 0; i < count; i++) nbc__nic_place(w, &w->stamps[i]);
    if (status != NBC_OK) return status;
  } while (next == NBC_OK);
  if (nic->lost_count) w->counts.lost_count = nic->lost_count(nic->ctx) - w->lost_before;
  return next == NBC_PENDING ? NBC_OK : next;
}

NBC_API nbc_nic_counts nbc_nic_watch_counts(const nbc_nic_watch *watch) {
  nbc_nic_counts c;
  memset(&c, 0, sizeof c);
  if (!watch) return c;
  c = watch->counts;
  c.mean_err_ns = c.placed_count ? watch->sum_err_ns / (double)c.placed_count : 0;
  return c;
}
NBC_API const nbc_relation *nbc_nic_watch_relation(const nbc_nic_watch *watch) {
  return watch ? &watch->now : NULL;
}

NBC_API nbc_status nbc_nic_watch_report(const nbc_nic_watch *watch, nbc_report *report) {
  if (!watch || !report) return NBC_E_INVAL;
  const nbc_nic_counts c = nbc_nic_watch_counts(watch);
  const struct {
    const char *what;
    uint64_t count;
  } rows[] = {{"stamps", c.placed_count},
              {"stamps lost by the NIC", c.lost_count},
              {"stamps of others", c.unowned_count},
              {"stamps without a sure time", c.unplaced_count},
              {"clock steps", c.step_count}};
  const char *name = watch->desc.nic->name ? watch->desc.nic->name : "nic";
  char text[256];
  snprintf(text, sizeof text,
           "%.64s: %llu stamps, each +-%.0f ns in host time (mean; at worst %lld ns); its clock "
           "runs %.3f +- %.3f ppm off",
           name, (unsigned long long)c.placed_count, c.mean_err_ns, (long long)c.max_err_ns,
           -watch->now.rate_ppm, watch->now.rate_err_ppm);
  nbc_status status = nbc_report_note(report, text);
  for (size_t i = 0; status == NBC_OK && i < sizeof rows / sizeof *rows; i++) {
    if (!rows[i].count) continue;
    snprintf(text, sizeof text, "%.64s %s", name, rows[i].what);
    status = nbc_report_counter(report, 0, text, (double)rows[i].count);
  }
  return status;
}
