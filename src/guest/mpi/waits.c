/* What a thread that waits in MPI waits for, in the program's words: for the texts of deadlocks, and for who asks by
   SIGQUIT. The model itself knows events of Portals only. */
#include "abi.h"
#include <stdarg.h>
#include <stdio.h>

static void add(char *text, size_t max_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t max_bytes, const char *format, ...) {
  const size_t n = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + n, max_bytes - n, format, args);
  va_end(args);
}
static bool is_message(const gm_req *r) { return r->kind == REQ_SEND || r->kind == REQ_RECV; }
/* " from 1, tag 5 of MPI_COMM_WORLD"; ranks are those of the communicator, as the program gave them */
static void add_message(char *text, size_t max_bytes, const gm_req *r) {
  char unnamed[64];
  if (!is_message(r) || !r->comm) return;
  add(text, max_bytes, r->kind == REQ_SEND ? " to" : " from");
  add(text, max_bytes, r->peer == MPI_ANY_SOURCE ? " any" : " %d", r->peer);
  add(text, max_bytes, r->tag == MPI_ANY_TAG ? ", any tag" : ", tag %d", r->tag);
  add(text, max_bytes, " of %s", gm_comm_name(r->comm, unnamed, sizeof unnamed));
}
/* Of calls that wait for several: how many messages the process has open, and the first of them. */
static void add_open(char *text, size_t max_bytes, const gm_proc *p) {
  const gm_table *const t = &p->table[GM_T_REQ];
  const gm_req *first = NULL;
  int open = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    const gm_req *r = (const gm_req *)t->item[i];
    if (!r || !is_message(r) || r->done || (r->is_persistent && !r->is_active)) continue;
    if (!first) first = r;
    open++;
  }
  if (!first) return;
  add(text, max_bytes, " (%d message%s open, the first", open, open == 1 ? "" : "s");
  add_message(text, max_bytes, first);
  add(text, max_bytes, ")");
}
static void waits_in(void *unused, const pm_process *process, const pm_thread *thread, char *text,
                     size_t max_bytes) {
  const guest *g = (const guest *)pm_process_user(process);
  const gm_proc *p = gm_proc_at(pm_process_rank(process));
  const guest_context *c = g ? &g->first : NULL;
  (void)unused;
  while (c && c->thread != thread) c = c->next;
  if (!c || !c->mpi_depth || !c->mpi_call || !p) return;
  add(text, max_bytes, "%s", c->mpi_call);
  if (c->mpi_waits_for)
    add_message(text, max_bytes, c->mpi_waits_for);
  else
    add_open(text, max_bytes, p);
}
static void settings(pm_world_desc *desc, pm_platform *platform) {
  (void)platform;
  desc->waits_in = waits_in;
}
static guest_part part = {.name = "waits", .settings = settings};
__attribute__((constructor)) static void add_part(void) { guest_part_add(&part); }
