/* choice.c: which algorithm is taken: the choice table. */
#include "choice.h"
#include "../base/text.h"
#include "catalogue.h"

/* ---- the choice table ---------------------------------------------------------------------- */
/* First fit from the top. Bounds follow the usual reasoning: few messages while latency counts
   (trees, doubling, Bruck), every byte sent once when bandwidth counts (ring, pairwise,
   Rabenseifner, pipelined chain). nbc_tune measures better ones for one machine.

     n ranks, s bytes          messages in a row          bytes that one rank sends, at most
       tree, doubling of all   log2 n                     s log2 n
       ring, pairwise          n - 1 (allreduce: twice)   about s (allreduce: twice)
       Rabenseifner            2 log2 n                   about 2 s

   A rule with a bound stands above those for what is longer. Where an algorithm does not serve
   the number of ranks or the operation, its rule is passed over and the next one that fits is
   taken: so the order counts among rules of one bound too. What no rule fits is linear: long
   gathers and scatters, for their root receives or sends all blocks anyway, and a tree would
   move them several times. */
static const nbc_choice_rule nbc__sched_rules[] = {
    /* two_level: passed over unless some of several nodes holds several ranks */
    {NBC_COLL_BARRIER, 0, 0, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_BCAST, 0, 64 * 1024, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_REDUCE, 0, 32 * 1024, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 16 * 1024, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_BARRIER, 0, 0, NBC_ALGO_DISSEMINATION, 0, 0},
    {NBC_COLL_BCAST, 0, 32 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    {NBC_COLL_BCAST, 2, 0, NBC_ALGO_BINOMIAL, 0, 0},       /* nobody to pass pieces on to */
    {NBC_COLL_BCAST, 4, 0, NBC_ALGO_CHAIN, 128 * 1024, 0}, /* a short chain is full soon */
    {NBC_COLL_BCAST, 0, 512 * 1024, NBC_ALGO_SCATTER_ALLGATHER, 0, 0},
    {NBC_COLL_BCAST, 0, 0, NBC_ALGO_CHAIN, 128 * 1024, 0},
    {NBC_COLL_REDUCE, 0, 32 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    {NBC_COLL_REDUCE, 0, 0, NBC_ALGO_RABENSEIFNER, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 16 * 1024, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 1024 * 1024, NBC_ALGO_RABENSEIFNER, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 0, NBC_ALGO_RING, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 0, NBC_ALGO_RABENSEIFNER, 0, 0}, /* where a ring does not serve */
    {NBC_COLL_REDUCE_SCATTER_BLOCK, 0, 4 * 1024, NBC_ALGO_RECURSIVE_HALVING, 0, 0},
    {NBC_COLL_REDUCE_SCATTER_BLOCK, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_REDUCE_SCATTER_BLOCK, 0, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_REDUCE_SCATTER, 0, 4 * 1024, NBC_ALGO_RECURSIVE_HALVING, 0, 0},
    {NBC_COLL_REDUCE_SCATTER, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_REDUCE_SCATTER, 0, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_GATHER, 0, 4 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    {NBC_COLL_SCATTER, 0, 4 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    /* whatever the lengths: each rank knows its own only. Long blocks go past the tree */
    {NBC_COLL_GATHERV, 24, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_GATHERV, 0, 0, NBC_ALGO_KNOMIAL, 256, 4},
    {NBC_COLL_SCATTERV, 24, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_SCATTERV, 0, 0, NBC_ALGO_KNOMIAL, 256, 4},
    {NBC_COLL_ALLGATHER, 0, 4 * 1024, NBC_ALGO_BRUCK, 0, 0},
    {NBC_COLL_ALLGATHER, 0, 64 * 1024, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0},
    {NBC_COLL_ALLGATHER, 0, 0, NBC_ALGO_RING, 0, 0},
    {NBC_COLL_ALLGATHERV, 0, 4 * 1024, NBC_ALGO_BRUCK, 0, 0},
    {NBC_COLL_ALLGATHERV, 0, 0, NBC_ALGO_RING, 0, 0},
    {NBC_COLL_ALLTOALL, 0, 256, NBC_ALGO_BRUCK, 0, 0},
    {NBC_COLL_ALLTOALL, 0, 32 * 1024, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_ALLTOALL, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_ALLTOALLV, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_SCAN, 0, 0, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0},
    {NBC_COLL_EXSCAN, 0, 0, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0}};

NBC_API void nbc_choice_default(nbc_choice *table) {
  if (!table) return;
  memset(table, 0, sizeof *table);
  table->rule_count = sizeof nbc__sched_rules / sizeof *nbc__sched_rules;
  memcpy(table->rules, nbc__sched_rules, sizeof nbc__sched_rules);
}

/* Every rank must choose alike, or one would wait for messages that another one's algorithm does
   not have. So only what all ranks know counts: the mean block where all know the counts,
   nothing (UINT64_MAX: rules without a bound) where each rank knows its own only. A rank's send
   counts are its own; receive counts that go to a root mean something there alone. */
static uint64_t nbc__sched_choice_bytes(const nbc_schedule_desc *d) {
  const uint64_t elem_bytes = d->elem_bytes ? d->elem_bytes : 1,
                 size = (uint64_t)(d->size > 0 ? d->size : 1);
  const unsigned has = nbc__coll_about(d->coll)->has;
  if (has & NBC_HAS_NEIGHBORS) return UINT64_MAX;
  if ((has & NBC_HAS_SEND_COUNTS) || ((has & NBC_HAS_RECV_COUNTS) && (has & NBC_HAS_ROOT)))
    return UINT64_MAX;
  if (has & NBC_HAS_RECV_COUNTS) {
    uint64_t total = 0;
    for (int i = 0; d->recv_counts && i < d->size; i++) total += d->recv_counts[i];
    return total / size * elem_bytes;
  }
  return d->count * elem_bytes;
}

/* More than one node, and fewer than ranks: else two levels are one, with a step more. All ranks
   must come to the same answer, also one that has no memory left: it compares each with each.
   nodes[i] is below size (nbc_schedule_desc), so it may be an index of `seen`. */
NBC__PRIVATE bool nbc__sched_has_levels(const int *nodes, int size) {
  bool several = false, shared = false;
  if (!nodes) return false;
  bool *const seen = (bool *)NBC_MALLOC((size_t)size * sizeof *seen);
  if (seen) memset(seen, 0, (size_t)size * sizeof *seen);
  for (int i = 0; i < size && !(several && shared); i++) {
    several = several || nodes[i] != nodes[0];
    for (int k = 0; !seen && !shared && k < i; k++) shared = nodes[k] == nodes[i];
    if (!seen) continue;
    shared = shared || seen[nodes[i]];
    seen[nodes[i]] = true;
  }
  NBC_FREE(seen);
  return several && shared;
}

NBC_API void nbc_choose(const nbc_choice *table, nbc_schedule_desc *desc) {
  if (!desc) return;
  if (desc->algo != NBC_ALGO_AUTO) return;
  const nbc_choice_rule *const rules = table ? table->rules : nbc__sched_rules;
  size_t count = table ? table->rule_count : sizeof nbc__sched_rules / sizeof *nbc__sched_rules;
  if (count > NBC_CHOICE_MAX_RULES) count = NBC_CHOICE_MAX_RULES; /* filled by hand */
  const uint64_t size_bytes = nbc__sched_choice_bytes(desc);
  for (size_t i = 0; i < count; i++) {
    const nbc_choice_rule *const r = &rules[i];
    if (r->coll != desc->coll || (r->max_size && desc->size > r->max_size)) continue;
    /* a table filled by hand may hold AUTO, which chooses nothing */
    if ((r->max_bytes && size_bytes > r->max_bytes) || r->algo == NBC_ALGO_AUTO) continue;
    if (r->algo == NBC_ALGO_TWO_LEVEL && !nbc__sched_has_levels(desc->nodes, desc->size)) continue;
    if (!nbc_schedule_supports(desc->coll, r->algo, desc->size, desc->not_commutative)) continue;
    desc->algo = r->algo;
    if (!desc->segment_bytes) desc->segment_bytes = r->segment_bytes;
    if (!desc->radix) desc->radix = r->radix;
    return;
  }
  desc->algo = NBC_ALGO_LINEAR; /* serves all collectives in any order */
}

/* One line without its newline. An algorithm that never serves its collective is an error here;
   one that does not serve some number of ranks is none: nbc_choose passes over it, as a table is
   read before anybody knows the ranks. ret NULL, or what is wrong with it. */
NBC__PRIVATE const char *nbc__sched_parse_rule(const char *at, nbc_choice_rule *rule) {
  char word[32];
  uint64_t numbers[4];
  nbc__text_read_word(&at, word);
  if (nbc_coll_parse(word, &rule->coll)) return "no such collective";
  for (int i = 0; i < 2; i++) {
    nbc__text_skip_blanks(&at);
    if (!nbc__text_read_whole(&at, &numbers[i]))
      return i ? "MAX_BYTES: must be a number" : "MAX_RANKS: must be a number";
  }
  nbc__text_read_word(&at, word);
  if (nbc_algo_parse(word, &rule->algo) || rule->algo == NBC_ALGO_AUTO) return "no such algorithm";
  if (!nbc__sched_writer_of(rule->coll, rule->algo))
    return "the algorithm does not serve this collective";
  for (int i = 2; i < 4; i++) {
    nbc__text_skip_blanks(&at);
    if (!nbc__text_read_whole(&at, &numbers[i]))
      return i == 2 ? "SEGMENT_BYTES: must be a number" : "RADIX: must be a number";
  }
  nbc__text_skip_blanks(&at);
  if (*at && *at != '#') return "more than six fields";
  if (numbers[0] > INT32_MAX) return "MAX_RANKS: too large";
  if (numbers[3] > INT32_MAX || numbers[3] == 1) return "RADIX: must be 0 or >= 2";
  rule->max_size = (int)numbers[0], rule->max_bytes = numbers[1];
  rule->segment_bytes = numbers[2], rule->radix = (int)numbers[3];
  return NULL;
}

NBC_API nbc_status nbc_choice_parse(const char *text, size_t text_bytes, const char *name,
                                    nbc_choice *table, nbc_error *err) {
  if (!text || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and table: must not be NULL");
  table->rule_count = 0;
  int line_number = 1;
  for (size_t at = 0; at < text_bytes; line_number++) {
    char line[256];
    size_t n = 0;
    bool cut = false;
    for (; at < text_bytes && text[at] != '\n'; at++) {
      if (n + 1 < sizeof line && text[at])
        line[n++] = text[at];
      else
        cut = true; /* also a zero byte, at which the rest of the line would end unread */
    }
    at++;
    line[n] = 0;
    const char *first = line;
    nbc__text_skip_blanks(&first);
    if (*first == '#' || (!*first && !cut)) continue;
    const char *wrong = cut ? "line too long, or with a zero byte" : NULL;
    nbc_choice_rule rule;
    if (!wrong) wrong = nbc__sched_parse_rule(first, &rule);
    if (wrong)
      return nbc__status_fail(err, NBC_E_PARSE, line_number, "%s:%d: %s", name, line_number, wrong);
    if (table->rule_count == NBC_CHOICE_MAX_RULES)
      return nbc__status_fail(err, NBC_E_FULL, line_number, "%s:%d: more than %d rules", name,
                              line_number, NBC_CHOICE_MAX_RULES);
    table->rules[table->rule_count++] = rule;
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_choice_read(const char *path, nbc_choice *table, nbc_error *err) {
  if (!path || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "path and table: must not be NULL");
  enum { MOST_BYTES = 256 * 1024 };
  FILE *file = fopen(path, "rb");
  if (!file) return nbc__status_fail(err, NBC_E_IO, 0, "%s: %s", path, strerror(errno));
  char *const text = (char *)NBC_MALLOC(MOST_BYTES);
  nbc_status status =
      text ? NBC_OK : nbc__status_fail(err, NBC_E_NOMEM, 0, "%s: out of memory", path);
  const size_t bytes = text ? fread(text, 1, MOST_BYTES, file) : 0;
  if (!status && ferror(file))
    status = nbc__status_fail(err, NBC_E_IO, 0, "%s: %s", path, strerror(errno));
  if (!status && bytes == MOST_BYTES)
    status = nbc__status_fail(err, NBC_E_FULL, 0, "%s: longer than a choice table", path);
  fclose(file);
  if (!status) status = nbc_choice_parse(text, bytes, path, table, err);
  NBC_FREE(text);
  return status;
}

NBC_API nbc_status nbc_choice_write(const nbc_choice *table, FILE *out) {
  if (!table || !out || table->rule_count > NBC_CHOICE_MAX_RULES) return NBC_E_INVAL;
  fprintf(out,
          "# collective max_ranks max_bytes algorithm segment_bytes radix (0 = any, default)\n");
  for (size_t i = 0; i < table->rule_count; i++) {
    const nbc_choice_rule *const r = &table->rules[i];
    fprintf(out, "%s %d %llu %s %llu %d\n", nbc_coll_name(r->coll), r->max_size,
            (unsigned long long)r->max_bytes, nbc_algo_name(r->algo),
            (unsigned long long)r->segment_bytes, r->radix);
  }
  return ferror(out) ? NBC_E_IO : NBC_OK;
}
