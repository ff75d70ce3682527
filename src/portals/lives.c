/* Nodes that stand still, die and come back: see pm_outage_kind. Whether a message was issued before its node died is
   told by its time alone (pm__died_between): nothing is marked, and what is lost is found where it would leave or
   arrive. */
#include "lives.h"
#include "nic.h"
#include "outages.h"
/* ---- processes ---------------------------------------------------------------------------------- */
static void pm__process_dies(pm_process *p, bool returns) {
  pm_world *w = p->world;
  pm__process_ends(p, PM_STATUS_DIED);
  pm__barrier_left(w);
  if (p->msg) p->msg_free(p->msg);
  p->msg = NULL;
  memset(p->hooks, 0, sizeof p->hooks);
  p->init_count = p->aborted = p->memory_waiters = 0;
  p->in_flight = 0;
  p->news = p->news_last = NULL;
  p->is_dead = true;
  w->returning_count += returns;
  if (w->desc.died) w->desc.died(w->desc.user, p);
}
static void pm__process_begins_anew(pm_process *p) {
  pm_world *w = p->world;
  const pm_thread *first = p->threads;
  while (first->next_in_proc) first = first->next_in_proc; /* the one that pm_spawn made */
  p->is_dead = false;
  p->ended = p->status = 0;
  p->restart_count++;
  w->live_processes++;
  w->returning_count--;
  if (!pm__thread_new(p, first->entry, first->arg, first->stack_bytes))
    pm_world_fail(w, PM_E_NOMEM, "out of memory: a process that begins anew");
}
/* What computes ends later by the time that the node stands still: d_ps, PM__FOREVER for good. */
static void pm__process_stops(pm_process *p, int64_t d_ps) {
  pm_world *w = p->world;
  pm_thread *t;
  p->stands_still = true;
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t->state != PM__BLOCKED || !t->timer.pos || !t->takes_cpu) continue;
    pm__unschedule(w, &t->timer);
    t->t_wake_ps = pm__later(t->t_wake_ps, d_ps);
    if (d_ps != PM__FOREVER)
      pm__schedule(w, &t->timer, t->t_wake_ps);
    else {
      w->idle_count -= t->counts_idle;
      t->counts_idle = 0;
    }
  }
}
static void pm__process_goes_on(pm_process *p) {
  pm_thread *t;
  p->stands_still = false;
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t->is_parked) pm__resume(p->world, t);
    t->is_parked = false;
  }
}

/* ---- nodes -------------------------------------------------------------------------------------- */
/* A fresh NIC. Messages of the old one that are still on their way come back to nobody (pm__nic_landed). */
static void pm__nic_dies(pm_world *w, pm__node *n) {
  pm__message *m, *next;
  int k;
  for (k = 0; k < 4; k++)
    if (!n->lane[k].is_busy)
      n->lane[k].t_free_ps = n->lane[k].t_ready_ps = n->lane[k].d_held_ps = 0;
  for (m = n->held; m; m = next) { /* it was never sent */
    next = m->next;
    pm__undeliverable(w, m);
    m->way.event.fn = pm__back_event;
    pm__schedule(w, &m->way.event, w->now_ps);
  }
  n->held = n->held_tail = NULL;
  n->slot_waiters = NULL;
  n->slots_first = n->slots_used = 0;
  n->in_flight = 0;
  n->t_gap_ps = n->t_in_ps = n->t_done_ps = n->t_command_ps = 0;
  memset(n->t_rx_ps, 0, sizeof n->t_rx_ps);
  memset(n->t_rx_last_ps, 0, sizeof n->t_rx_last_ps);
}
static pm_process *pm__processes_of(const pm_world *w, const pm_outage *o) {
  return w->nodes[o->node - 1].processes;
}
static void pm__node_goes_down(pm_world *w, const pm_outage *o) {
  const int node = o->node - 1;
  const bool returns = o->kind == PM_OUTAGE_RESTART && o->d_down_ns;
  pm_process *p = pm__processes_of(w, o);
  int k;
  if (o->kind < PM_OUTAGE_CRASH) {
    for (; p; p = p->next_on_node)
      if (!p->ended) pm__process_stops(p, o->d_down_ns ? pm__ps(o->d_down_ns) : PM__FOREVER);
    pm__cores_stop(w, node, true);
    return;
  }
  for (; p; p = p->next_on_node)
    if (!p->ended) pm__process_dies(p, returns);
  pm__flows_of_node_failed(w, node);
  for (k = node; k < (int)(w->plat.node_count * w->plat.nic_count); k += (int)w->plat.node_count)
    pm__nic_dies(w, &w->nodes[k]);
}
static void pm__node_comes_up(pm_world *w, const pm_outage *o) {
  pm_process *p = pm__processes_of(w, o);
  if (o->kind < PM_OUTAGE_CRASH) pm__cores_stop(w, o->node - 1, false);
  for (; p; p = p->next_on_node)
    if (o->kind < PM_OUTAGE_CRASH) {
      if (p->stands_still) pm__process_goes_on(p);
    } else if (o->kind == PM_OUTAGE_RESTART && p->is_dead)
      pm__process_begins_anew(p);
}

/* ---- when --------------------------------------------------------------------------------------- */
static int64_t pm__up_ps(const pm_outage *o) {
  return o->d_down_ns ? pm__later(pm__ps(o->t_down_ns), pm__ps(o->d_down_ns)) : PM__FOREVER;
}
static bool pm__is_of_lives(const pm_outage *o) { return o->node && o->kind != PM_OUTAGE_CUT; }
/* One event at a time, as for cables: the next one after t_ps. */
static void pm__life_next(pm_world *w, int64_t t_ps) {
  const pm_faults *f = &w->desc.faults;
  int i;
  w->t_life_ps = PM__FOREVER;
  for (i = 0; i < f->outage_count; i++) {
    const pm_outage *o = &f->outages[i];
    const int64_t t_down_ps = pm__ps(o->t_down_ns), t_up_ps = pm__up_ps(o);
    if (!pm__is_of_lives(o)) continue;
    if (t_down_ps > t_ps && t_down_ps < w->t_life_ps) w->t_life_ps = t_down_ps;
    if (t_up_ps > t_ps && t_up_ps < w->t_life_ps) w->t_life_ps = t_up_ps;
  }
  if (w->t_life_ps < PM__END) pm__schedule(w, &w->life_change, w->t_life_ps);
}
/* Who comes back first: an outage may begin when another one of the node ends. */
static void pm__life_changes(pm_world *w, pm__event *event) {
  const pm_faults *f = &w->desc.faults;
  int i;
  (void)event;
  for (i = 0; i < f->outage_count; i++)
    if (pm__is_of_lives(&f->outages[i]) && pm__up_ps(&f->outages[i]) == w->now_ps)
      pm__node_comes_up(w, &f->outages[i]);
  for (i = 0; i < f->outage_count; i++)
    if (pm__is_of_lives(&f->outages[i]) && pm__ps(f->outages[i].t_down_ns) == w->now_ps)
      pm__node_goes_down(w, &f->outages[i]);
  pm__life_next(w, w->now_ps);
}
PM__PRIVATE void pm__lives_make(pm_world *w) {
  const pm_faults *f = &w->desc.faults;
  int i;
  for (i = 0; i < f->outage_count; i++) w->has_lives |= pm__is_of_lives(&f->outages[i]);
  if (!w->has_lives) return;
  w->life_change.fn = pm__life_changes;
  pm__life_next(w, -1);
}
PM__PRIVATE void pm__lives_begin(pm_world *w) {
  if (w->now_ps || w->t_life_ps) return;
  pm__unschedule(w, &w->life_change);
  pm__life_changes(w, &w->life_change);
}
