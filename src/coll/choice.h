/* Which algorithm is taken: the choice table. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "schedule.h"

/* Which algorithm: the first rule that fits in size and bytes and is supported. Bytes are those of
   `count`, of the mean block where every rank knows all counts, unbounded where each knows its own.
   Text format, one rule per line, '#' comments, 0 = any:
     bcast MAX_RANKS MAX_BYTES algorithm SEGMENT_BYTES RADIX */
#define NBC_CHOICE_MAX_RULES 256
typedef struct nbc_choice_rule {
  nbc_coll coll;
  int max_size;
  uint64_t max_bytes;
  nbc_algo algo;
  uint64_t segment_bytes;
  int radix;
} nbc_choice_rule;
typedef struct nbc_choice {
  size_t rule_count;
  nbc_choice_rule rules[NBC_CHOICE_MAX_RULES];
} nbc_choice;
/* Fills desc->algo, when it is AUTO, with segment_bytes and radix where they are 0 (table NULL =
   built in). Always finds one: what no rule serves is LINEAR. */
NBC_API void nbc_choose(const nbc_choice *table, nbc_schedule_desc *desc);
/* The rules built in, as a table to print or change. */
NBC_API void nbc_choice_default(nbc_choice *table);
/* ret NBC_OK | NBC_E_PARSE (err->line) | NBC_E_FULL | NBC_E_IO */
NBC_API nbc_status nbc_choice_parse(const char *text, size_t text_bytes, const char *name,
                                    nbc_choice *table, nbc_error *err);
NBC_API nbc_status nbc_choice_read(const char *path, nbc_choice *table, nbc_error *err);
NBC_API nbc_status nbc_choice_write(const nbc_choice *table, FILE *out);

/* ---- for later pieces ---- */
NBC__PRIVATE bool nbc__sched_has_levels(const int *nodes, int size);
NBC__PRIVATE const char *nbc__sched_parse_rule(const char *at, nbc_choice_rule *rule);
