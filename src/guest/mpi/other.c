/* Helpers of the tables of other ABIs. */
#include "other.h"

static int compare(const void *name, const void *row) {
  return strcmp((const char *)name, ((const gm_function *)row)->name);
}
void *gm_function_named(const gm_function *rows, int count, const char *name) {
  const gm_function *f =
      (const gm_function *)bsearch(name, rows, (size_t)count, sizeof *rows, compare);
  void *address = NULL;
  if (f) memcpy(&address, &f->address, sizeof address);
  return address;
}
/* Not inline: a compiler that sees MPI_STATUSES_IGNORE warns of the address 1. */
MPI_Status *gm_statuses(MPI_Status *s) { return s ? s : MPI_STATUSES_IGNORE; }
void *gm_array(void *few, int count, size_t each) {
  void *room = count > GM_FEW ? malloc((size_t)count * each) : few;
  if (!room) guest_abort(100, "out of memory for MPI");
  return room;
}
int gm_blocks_of(MPI_Comm comm) {
  const gm_comm *c = comm_of(gm_self(), comm);
  if (!c) return 0;
  return c->remote ? c->remote->size : c->local->size;
}
int gm_degree_of(MPI_Comm comm, bool is_out) {
  const gm_comm *c = comm_of(gm_self(), comm);
  const gm_topo *t = c ? c->topo : NULL;
  int count = 0;
  if (!t) return 0;
  if (t->kind == MPI_CART) return 2 * t->dim_count;
  if (t->kind == MPI_DIST_GRAPH) return is_out ? t->out_count : t->in_count;
  return PMPI_Graph_neighbors_count(comm, c->rank, &count) ? 0 : count;
}
