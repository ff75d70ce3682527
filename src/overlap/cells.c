/* cells.c: what is counted: kinds of operations, problems, totals, cells. */
#include "cells.h"
#include "../base/sums.h"

/* ============================================================================================== */
/* [CELLS] 6. What is counted                                                                     */
/* ============================================================================================== */
/* ---- names --------------------------------------------------------------------------------- */
static const struct {
  const char *name;
  nbc_category category;
} nbc__mon_kinds[] = {
#define NBC__X(name, text, category) {text, NBC_CATEGORY_##category},
    NBC_KIND_LIST(NBC__X)
#undef NBC__X
};
static const struct {
  const char *name, *text;
} nbc__mon_problems[] = {
#define NBC__X(name, text) {#name, text},
    NBC_PROBLEM_LIST(NBC__X)
#undef NBC__X
};

NBC_API const char *nbc_kind_name(nbc_kind kind) {
  return (unsigned)kind < NBC_KIND_COUNT ? nbc__mon_kinds[kind].name : "?";
}
NBC_API nbc_category nbc_kind_category(nbc_kind kind) {
  return (unsigned)kind < NBC_KIND_COUNT ? nbc__mon_kinds[kind].category : NBC_CATEGORY_OTHER;
}
NBC_API const char *nbc_category_name(nbc_category category) {
  static const char *const names[] = {"other", "blocking", "nonblocking", "test", "wait"};
  return (unsigned)category < NBC_CATEGORY_COUNT ? names[category] : "?";
}
NBC_API const char *nbc_peer_name(nbc_peer peer) {
  static const char *const names[] = {"unknown", "same_node", "other_node", "self"};
  return (unsigned)peer < NBC_PEER_COUNT ? names[peer] : "?";
}
NBC_API const char *nbc_problem_name(nbc_problem problem) {
  return (unsigned)problem < NBC_PROBLEM_COUNT ? nbc__mon_problems[problem].name : "?";
}
NBC_API const char *nbc_problem_text(nbc_problem problem) {
  return (unsigned)problem < NBC_PROBLEM_COUNT ? nbc__mon_problems[problem].text : "?";
}

static bool nbc__mon_is_equal(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}
NBC__PRIVATE bool nbc__is_same_site(const nbc_site *a, const nbc_site *b) {
  return a->offset == b->offset && nbc__mon_is_equal(a->call, b->call) &&
         nbc__mon_is_equal(a->module, b->module);
}

/* The bin of a histogram that a time belongs to. */
NBC__PRIVATE int nbc__bin(int64_t ns) {
  const int bin = ns <= 0 ? 0 : nbc__bits((uint64_t)ns);
  return bin < NBC_HIST_BINS ? bin : NBC_HIST_BINS - 1;
}
