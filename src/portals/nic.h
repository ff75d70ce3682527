/* The NIC: commands, payload, lanes, receiving. */
#pragma once
#include "wire.h"

/* ---- for later pieces ---- */
PM__PRIVATE int pm__is_inline(const pm_world *w, const pm__message *m);
PM__PRIVATE int pm__is_pio(const pm_world *w, const pm__message *m);
PM__PRIVATE void pm__slot_release(pm_world *w, pm__message *m, int64_t t_ps);
PM__PRIVATE void pm__slot_take(pm_world *w, pm__message *m);
