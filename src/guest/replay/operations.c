/* Lists of operations, and the groups of ranks that they speak of. */
#include "replay.h"

rp_rank *rp_ranks;
int rp_size;

void rp_size_is(int size) {
  rp_size = size;
  rp_ranks = gm_alloc((size_t)size * sizeof *rp_ranks);
  gm_group *all = gm_group_make(size, NULL);
  for (int i = 0; i < size; i++) {
    rp_rank *r = &rp_ranks[i];
    uint32_t max = 0;
    r->group = gm_grow(NULL, &max, 1, sizeof *r->group);
    r->context = gm_grow(NULL, &r->comm_max, 1, sizeof *r->context);
    r->group[0] = gm_group_keep(all);
    r->comm_count = 1;
  }
}
rp_op *rp_add(rp_rank *r, rp_kind kind, const rp_text *t) {
  if (r->count >= (uint32_t)1 << 30) rp_bad(t, "more than 2^30 operations of one rank");
  r->op = gm_grow(r->op, &r->max, r->count + 1, sizeof *r->op);
  rp_op *op = &r->op[r->count++];
  memset(op, 0, sizeof *op);
  op->kind = (uint8_t)kind;
  op->line = t->line;
  return op;
}
uint64_t *rp_numbers(rp_rank *r, rp_op *op, int count) {
  const uint32_t first = r->number_count;
  r->numbers = gm_grow(r->numbers, &r->number_max, first + (uint32_t)count, sizeof *r->numbers);
  r->number_count += (uint32_t)count;
  op->counts = first;
  op->flags |= RP_VECTOR;
  return r->numbers + first;
}
uint32_t rp_comm(rp_rank *r, int size, const int *ranks) {
  uint32_t max = r->comm_max;
  r->group = gm_grow(r->group, &max, r->comm_count + 1, sizeof *r->group);
  r->context = gm_grow(r->context, &r->comm_max, r->comm_count + 1, sizeof *r->context);
  r->group[r->comm_count] = gm_group_make(size, ranks);
  return r->comm_count++;
}
/* Which of the communicators with the same members: members make them in the same order. */
typedef struct place {
  const gm_group *group;
  uint32_t number, context;
  struct place *next;
} place;
enum { PLACES = 1 << 16 };
static uint32_t *context_of(place **places, const gm_group *g, uint32_t number) {
  place **at = &places[((uint64_t)(uintptr_t)g * 31 + number) * 0x9E3779B97F4A7C15u >> 48];
  while (*at && ((*at)->group != g || (*at)->number != number)) at = &(*at)->next;
  if (!*at) {
    *at = gm_alloc(sizeof **at);
    (*at)->group = g;
    (*at)->number = number;
  }
  return &(*at)->context;
}
void rp_comms_agree(void) {
  place **places = gm_alloc(PLACES * sizeof(place *));
  uint32_t next = 2 * GM_CONTEXTS;
  for (int i = 0; i < rp_size; i++) {
    rp_rank *r = &rp_ranks[i];
    for (uint32_t c = 1; c < r->comm_count; c++) {
      uint32_t number = 0;
      for (uint32_t k = 1; k < c; k++) number += r->group[k] == r->group[c];
      uint32_t *context = context_of(places, r->group[c], number);
      if (!*context) {
        *context = next;
        next += GM_CONTEXTS;
      }
      r->context[c] = *context;
    }
  }
}
