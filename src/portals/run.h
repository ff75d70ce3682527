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
