/* Processes, the loop that runs a world, its beginning and end. */
#pragma once
#include "../base/sums.h"
#include "threads.h"

/* ---- for later pieces ---- */
PM__PRIVATE void pm__poll_pause(void);
PM__PRIVATE double pm__ratio(pm_world *w);
/* All threads but the running one end with their process; those that have ended wait for no barrier. */
PM__PRIVATE void pm__process_ends(pm_process *p, int status);
PM__PRIVATE void pm__barrier_left(pm_world *w);
/* All that wait there go on. */
PM__PRIVATE void pm__barrier_opens(pm_world *w);
/* All that happens before t_ps, in a part of a world. */
PM__PRIVATE void pm__window(pm_world *w, int64_t t_ps);
/* Why the run ends. */
PM__PRIVATE void pm__time_is_over(pm_world *w, bool is_end);
PM__PRIVATE void pm__deadlock(pm_world *w);
PM__PRIVATE bool pm__is_out_of_patience(const pm_world *w);
