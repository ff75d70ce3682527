/* Operations: made, started, ended at their initiator; triggered ones; the end of interfaces. */
#pragma once
#include "ptl_target.h"

/* ---- for later pieces ---- */
PM__PRIVATE bool pm__is_uncopied(const pm__message *m);
PM__PRIVATE void pm__keep(pm__message *m);
PM__PRIVATE void pm__message_start(pm_world *w, pm__message *m);
