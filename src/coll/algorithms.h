/* Algorithms of the other collectives, written as sequential programs. */
#pragma once
#include "../base/config.h"
#include "schedule.h"

/* ---- for later pieces ---- */
NBC__PRIVATE void nbc__sched_reduce_by_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_by_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_doubling(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_rabenseifner(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_reduce_rabenseifner(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_ring(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_two_level(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_pairwise(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_ring(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_halving(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_gather_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scatter_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_gather_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scatter_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_gatherv_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scatterv_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_ring(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_doubling(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_bruck(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_alltoall_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_alltoall_pairwise(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_alltoall_bruck(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_neighbors(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scan_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_exscan_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scan_doubling(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_exscan_doubling(nbc__sched_builder *b);
