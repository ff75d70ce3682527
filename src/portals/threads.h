/* Contexts, stacks and threads: what runs, and what waits for its time. */
#pragma once
#include "future.h"

/* ---- for later pieces ---- */
enum { PM__GUARDED_MAX = 16000, PM__STACKS_PER_SLAB = 64, PM__PAGE = 4096, PM__STACK_TOP = 64 };
#define PM__CANARY 0x5AFE57AC4B0770B5u
PM__PRIVATE uint64_t *pm__stack_canary(const pm_thread *t);
PM__PRIVATE void pm__context_enter(pm_world *w, pm_thread *t);
#ifndef PM_USE_UCONTEXT
PM__PRIVATE __attribute__((noinline)) void pm__context_switch(void **save, void *load);
#endif
PM__PRIVATE void pm__resume(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__sleeps(pm_world *w, pm_thread *t, int64_t t_ps, const char *what);
PM__PRIVATE bool pm__is_put_off(pm_world *w, pm_thread *t, int64_t d_ps, const char *what);
PM__PRIVATE void pm__leave(pm_thread *t);
PM__PRIVATE void pm__block(int64_t t_ps, const char *what);
PM__PRIVATE void pm__busy(int64_t d_ps, const char *what);
PM__PRIVATE void pm__cpu(int64_t d_ns);
PM__PRIVATE void pm__come_home(void);
PM__PRIVATE void pm__cores_stop(pm_world *w, int node, bool stands_still);
PM__PRIVATE bool pm__pays(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__thread_bury(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__thread_ended(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__leave_for_good(pm_world *w, pm_thread *t);
PM__PRIVATE int pm__thread_start(pm_thread *t);
PM__PRIVATE pm_thread *pm__thread_new(pm_process *proc, void (*entry)(void *arg), void *arg,
                                      size_t stack_bytes);
