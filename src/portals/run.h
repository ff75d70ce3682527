/* Processes, the loop that runs a world, its beginning and end. */
#pragma once
#include "../base/sums.h"
#include "threads.h"

/* ---- for later pieces ---- */
PM__PRIVATE void pm__poll_pause(void);
PM__PRIVATE double pm__ratio(pm_world *w);
