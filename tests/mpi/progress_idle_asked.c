/* A library to be loaded after the progress preload: says that a thread shall run when nothing else wants a core, and lets it
   run as any other. What such a worker does can be tested then on a machine where something else always does. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param) {
  (void)thread, (void)param;
  if (policy == SCHED_IDLE) dprintf(1, "asked for SCHED_IDLE\n");
  return 0;
}
