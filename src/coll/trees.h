/* Trees; barrier and broadcast. */
#pragma once
#include "../base/config.h"
#include "schedule.h"

/* ---- for later pieces ---- */
NBC__PRIVATE int nbc__sched_knomial(int v, int size, int radix, int *parent, int *children);
NBC__PRIVATE int nbc__sched_subtree(int v, int size, int radix);
NBC__PRIVATE int nbc__sched_tree(nbc__sched_builder *b, int v, int size, int *parent);
NBC__PRIVATE bool nbc__sched_is_knomial(nbc_algo algo);
NBC__PRIVATE int nbc__sched_radix(const nbc__sched_builder *b);
NBC__PRIVATE int nbc__sched_virtual(const nbc__sched_builder *b, int root);
NBC__PRIVATE int nbc__sched_real(const nbc__sched_builder *b, int root, int v);
NBC__PRIVATE uint64_t nbc__sched_tree_segment(const nbc__sched_builder *b, uint64_t total_bytes);
NBC__PRIVATE void nbc__sched_barrier_dissemination(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_barrier_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_barrier_two_level(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_tree(nbc__sched_builder *b, nbc_slice buffer,
                                        uint64_t total_bytes, int root);
NBC__PRIVATE void nbc__sched_bcast(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_bounded(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_long(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_long_m(nbc__sched_builder *b);

/* Of each node one leads: the root of the collective on its own, elsewhere the lowest rank. */
typedef struct nbc__sched_places {
  int *memory, *leaders, *members; /* members: of this rank's node, its leader first */
  int leader_count, member_count, leader_at, member_at; /* this rank's places; -1: leads nothing */
} nbc__sched_places;
NBC__PRIVATE bool nbc__sched_places_open(const nbc__sched_builder *b, int rank, int root,
                                         nbc__sched_places *p);
