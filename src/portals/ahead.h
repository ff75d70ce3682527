/* Threads that run ahead of what they asked for. */
#pragma once
#include "ptl_moves.h"

/* Running ahead: a call of Portals costs its caller time, and only then has its effect; in a thread that runs
   ahead it becomes a step, which takes place at the same time and in the same order as without, while
   the thread already goes on. So a call costs no change of context, and results are the same, as long as
   the thread does not look at memory that others write. */

/* From now on PtlPut, PtlGet, PtlMEAppend and pm_sleep_ns of the running thread become steps, and return what is
   known at once; no other function may be called until it is switched off again. Then all others wait
   first until the steps have taken place. No effect in a process with several threads, or whose
   computation is measured.
   ret  what was so before; false outside of a process */
PM_API bool pm_run_ahead(bool is_ahead);
/* Waits until the steps have taken place. */
PM_API void pm_catch_up(void);
/* How many entries may be appended now, with the steps to come taken into account; then there may be room for
   more. 0: unknown handle or index. */
PM_API int pm_append_room(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
/* Is told of an event outside of its thread's stack, with that thread as the running one and as if it had called
   pm_run_ahead(true): it must neither wait nor end the process, and what it posts is read at its step, from a
   descriptor with PTL_MD_VOLATILE too. ret 0: it leaves the event to the thread */
typedef int (*pm_event_fn)(void *arg, const ptl_event_t *event);
/* Takes the events of a queue one after the other, each at its cost as PtlEQWait does, until *is_over, which only
   handle changes. Where nobody may run ahead all events are left.
   out  event  what was left
   ret  PTL_OK | PTL_EQ_DROPPED: there is one | PTL_EQ_EMPTY: *is_over | PTL_NO_INIT | PTL_ABORTED |
        PTL_INTERRUPTED | PTL_ARG_INVALID */
PM_API int pm_eq_serve(ptl_handle_eq_t eq_handle, const bool *is_over, pm_event_fn handle,
                       void *arg, ptl_event_t *event);
