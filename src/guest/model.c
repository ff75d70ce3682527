/* The model, compiled once for all files of the launcher. Its computations are measured by the host's
   clock: clock_gettime is the programs' own here (clock.c). */
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
void *guest_stack(size_t *bytes) {
  *bytes = pm__current->stack_bytes;
  return pm__current->stack;
}
