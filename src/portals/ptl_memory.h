/* Memory in one or more pieces, and the arithmetic of atomics. */
#pragma once
#include "message.h"

/* ---- for later pieces ---- */
typedef struct pm__cursor {
  char *at;                /* next byte */
  uint64_t left;           /* of this piece */
  const ptl_iovec_t *next; /* NULL: one piece */
  const pm_process *whose; /* see pm__reached; NULL: the address is good */
} pm__cursor;
PM__PRIVATE void *pm__reached(const pm_process *whose, void *address);
PM__PRIVATE void *pm__table(const pm_process *whose, void *start, unsigned int options);
PM__PRIVATE void *pm__cursor_start(pm__cursor c);
PM__PRIVATE void pm__copy(pm__cursor to, pm__cursor from, uint64_t bytes);
PM__PRIVATE bool pm__copied(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes);
PM__PRIVATE bool pm__move_bytes(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes);
PM__PRIVATE bool pm__is_accessible(pm_world *w, pm__cursor c, uint64_t bytes, bool writes);
PM__PRIVATE pm__cursor pm__flat(void *start);
PM__PRIVATE pm__cursor pm__md_cursor(const pm__md *md, uint64_t offset);
PM__PRIVATE pm__cursor pm__me_cursor(const pm__message *m);
PM__PRIVATE pm__cursor pm__payload(pm__message *m);
PM__PRIVATE uint64_t pm__type_bytes(int type);
PM__PRIVATE bool pm__op_is_legal(int op, int type);
PM__PRIVATE bool pm__atomic(pm_world *w, pm__message *m, const unsigned char *sent, uint64_t bytes);
