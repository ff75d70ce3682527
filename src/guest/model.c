/* The model, compiled once for all files of the launcher. Its computations are measured by the host's
   clock: clock_gettime is the programs' own here (clock.c). */
#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long long host_cpu_ns(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
#define PM_HOST_CPU_NS() host_cpu_ns()
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "guest.h"
#include "mpi/gm.h"
void *guest_stack(size_t *bytes) { return guest_stack_of(pm__current, bytes); }
void *guest_stack_of(const pm_thread *thread, size_t *bytes) {
  *bytes = thread->stack_bytes;
  return thread->stack;
}
bool guest_all_wait(void) { return pm__current->proc->world->t_idle_since_ps >= 0; }
void guest_each_thread(const pm_world *world,
                       void (*fn)(int rank, int node, const char *does, const char *in,
                                  const char *more, double t_ran_us)) {
  char more[160], in[160];
  for (int i = 0; i < world->proc_count; i++)
    for (const pm_thread *t = world->procs[i]->threads; t; t = t->next_in_proc) {
      const bool is_blocked = t->state == PM__BLOCKED && t != pm__current;
      more[0] = in[0] = 0;
      if (t->state == PM__ENDED) continue;
      if (is_blocked && world->desc.waits_in)
        world->desc.waits_in(world->desc.user, world->procs[i], t, in, sizeof in);
      if (is_blocked && t->describe) t->describe(t, more, sizeof more);
      fn(i, world->procs[i]->node,
         t == pm__current ? NULL
         : !is_blocked    ? "for its turn"
         : t->what        ? t->what
                          : "its beginning",
         in, more, is_blocked && !t->polling ? (double)t->t_ran_ps * 1e-6 : -1);
    }
}
/* MPI libraries let senders run ahead as far as memory allows. On NICs with room for fewer headers they hold senders
   back and send again; here the NIC keeps them all, unless --semantics says how many. */
void gm_keep_headers(ptl_handle_ni_t handle) {
  pm__ni *ni = pm__ni_of(pm__inited(), handle);
  if (!ni->proc->world->desc.semantics.max_unexpected_headers)
    ni->limits.max_unexpected_headers = INT_MAX;
}
