/* getopt, getopt_long and getopt_long_only with a state per process, as glibc has them: options may
   follow other arguments unless the list begins with '+' or POSIXLY_CORRECT is set; '-' gives other
   arguments as option 1; optind = 0 starts afresh. */
#include "guest.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

typedef struct getopt_state {
  char *rest; /* of "-abc", what is not yet read */
  bool is_begun;
  int first_other, last_other; /* arguments that were skipped: first ... last - 1 */
  enum { PERMUTES, STOPS, RETURNS } order;
} getopt_state;
static guest_part part = {.name = "getopt", .state_bytes = sizeof(getopt_state)};
__attribute__((constructor)) static void add_state(void) { guest_part_add(&part); }

typedef struct view { /* of the process's variables */
  getopt_state *s;
  char **arg;
  int *ind, *opt, says;
} view;

/* The skipped arguments change places with the options that followed them. */
static void exchange(char **argv, getopt_state *s, int to) {
  for (int from = s->last_other; from < to; from++) {
    char *option = argv[from];
    memmove(&argv[s->first_other + 1], &argv[s->first_other],
            (size_t)(from - s->first_other) * sizeof *argv);
    argv[s->first_other++] = option;
  }
  s->last_other = to;
}
static bool is_other(const char *a) { return a[0] != '-' || a[1] == 0; }
static void begin(view v, const char *list) {
  getopt_state *s = v.s;
  char **e = *(char ***)guest_variable_at(guest_now(), GUEST_ENVIRON);
  bool is_posix = false;
  for (; e && *e; e++) is_posix |= strncmp(*e, "POSIXLY_CORRECT=", 16) == 0;
  if (*v.ind == 0) *v.ind = 1;
  s->first_other = s->last_other = *v.ind;
  s->rest = NULL;
  s->order = *list == '-' ? RETURNS : *list == '+' || is_posix ? STOPS : PERMUTES;
  s->is_begun = 1;
}
/* Finds the next option. ret 0: found, at s->rest; else what getopt returns */
static int next_argument(int argc, char **argv, view v) {
  getopt_state *s = v.s;
  if (s->last_other > *v.ind) s->last_other = *v.ind;
  if (s->first_other > *v.ind) s->first_other = *v.ind;
  if (s->order == PERMUTES) {
    if (s->first_other != s->last_other && s->last_other != *v.ind)
      exchange(argv, s, *v.ind);
    else if (s->last_other != *v.ind)
      s->first_other = *v.ind;
    while (*v.ind < argc && is_other(argv[*v.ind])) ++*v.ind;
    s->last_other = *v.ind;
  }
  if (*v.ind != argc && strcmp(argv[*v.ind], "--") == 0) {
    ++*v.ind;
    if (s->first_other != s->last_other && s->last_other != *v.ind)
      exchange(argv, s, *v.ind);
    else if (s->first_other == s->last_other)
      s->first_other = *v.ind;
    s->last_other = argc;
    *v.ind = argc;
  }
  if (*v.ind == argc) {
    if (s->first_other != s->last_other) *v.ind = s->first_other;
    return -1;
  }
  if (is_other(argv[*v.ind])) {
    if (s->order == STOPS) return -1;
    *v.arg = argv[(*v.ind)++];
    return 1;
  }
  return 0;
}
static int one_letter(int argc, char **argv, const char *list, view v) {
  getopt_state *s = v.s;
  const int c = *s->rest++;
  const char *found = c == ':' || c == ';' ? NULL : strchr(list, c);
  if (!*s->rest) ++*v.ind;
  if (!found) {
    if (v.says) fprintf(stderr, "%s: invalid option -- '%c'\n", argv[0], c);
    *v.opt = c;
    return '?';
  }
  if (found[1] != ':') return c;
  *v.arg = NULL;
  if (*s->rest) {
    *v.arg = s->rest;
    ++*v.ind;
  } else if (found[2] == ':') { /* an argument that may be missing stands in the same word */
  } else if (*v.ind == argc) {
    if (v.says) fprintf(stderr, "%s: option requires an argument -- '%c'\n", argv[0], c);
    *v.opt = c;
    s->rest = NULL;
    return *list == ':' ? ':' : '?';
  } else
    *v.arg = argv[(*v.ind)++];
  s->rest = NULL;
  return c;
}
static const struct option *long_named(const char *name, size_t bytes, const struct option *options,
                                       int *count) {
  const struct option *found = NULL;
  *count = 0;
  for (const struct option *o = options; o->name; o++) {
    if (strncmp(o->name, name, bytes) != 0) continue;
    if (strlen(o->name) == bytes) return *count = 1, o;
    if (!found || found->has_arg != o->has_arg || found->flag != o->flag || found->val != o->val)
      ++*count;
    if (!found) found = o;
  }
  return found;
}
static void complain(const char *program, const char *dashes, const char *word, size_t bytes,
                     const struct option *options, const struct option *first) {
  if (!first) {
    fprintf(stderr, "%s: unrecognized option '%s%s'\n", program, dashes, word);
    return;
  }
  fprintf(stderr, "%s: option '%s%s' is ambiguous; possibilities:", program, dashes, word);
  for (const struct option *o = options; o->name; o++)
    if (strncmp(o->name, word, bytes) == 0) fprintf(stderr, " '%s%s'", dashes, o->name);
  fprintf(stderr, "\n");
}
/* ret -1: is no long option, look at its letters */
static int one_word(int argc, char **argv, const char *list, const struct option *options,
                    int *index, bool is_only, view v) {
  const char *word = v.s->rest, *dashes = argv[*v.ind][1] == '-' ? "--" : "-";
  const size_t bytes = strcspn(word, "=");
  int count;
  const struct option *o = long_named(word, bytes, options, &count);
  if (is_only && argv[*v.ind][1] != '-' && (!o || count > 1) && strchr(list, *word)) return -1;
  v.s->rest = NULL;
  ++*v.ind;
  *v.opt = 0;
  if (!o || count > 1) {
    if (v.says) complain(argv[0], dashes, word, bytes, options, o);
    return '?';
  }
  *v.arg = NULL;
  *v.opt = o->val;
  if (word[bytes] && !o->has_arg) {
    if (v.says)
      fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", argv[0], dashes, o->name);
    return '?';
  }
  if (word[bytes])
    *v.arg = (char *)(uintptr_t)(word + bytes + 1);
  else if (o->has_arg == required_argument) {
    if (*v.ind >= argc) {
      if (v.says)
        fprintf(stderr, "%s: option '%s%s' requires an argument\n", argv[0], dashes, o->name);
      return *list == ':' ? ':' : '?';
    }
    *v.arg = argv[(*v.ind)++];
  }
  if (index) *index = (int)(o - options);
  if (!o->flag) return o->val;
  *o->flag = o->val;
  return 0;
}
static int scan(int argc, char **argv, const char *list, const struct option *options, int *index,
                bool is_only) {
  const guest *g = guest_now();
  view v = {(getopt_state *)guest_state(&part), (char **)guest_variable_at(g, GUEST_OPTARG),
            (int *)guest_variable_at(g, GUEST_OPTIND), (int *)guest_variable_at(g, GUEST_OPTOPT),
            *(int *)guest_variable_at(g, GUEST_OPTERR)};
  if (argc < 1) return -1;
  *v.arg = NULL;
  if (*v.ind == 0 || !v.s->is_begun) begin(v, list);
  if (*list == '-' || *list == '+') list++;
  if (*list == ':') v.says = 0;
  if (!v.s->rest || !*v.s->rest) {
    const int done = next_argument(argc, argv, v);
    if (done) return done;
    char *word = argv[*v.ind];
    v.s->rest = word + 1;
    if (options && (word[1] == '-' || (is_only && (word[2] || !strchr(list, word[1]))))) {
      v.s->rest = word + (word[1] == '-' ? 2 : 1);
      const int code = one_word(argc, argv, list, options, index, is_only, v);
      if (code != -1) return code;
    }
  }
  return one_letter(argc, argv, list, v);
}
static int guest_getopt(int argc, char **argv, const char *list) {
  return scan(argc, argv, list, NULL, NULL, 0);
}
static int guest_getopt_long(int argc, char **argv, const char *list, const struct option *options,
                             int *index) {
  return scan(argc, argv, list, options, index, 0);
}
static int guest_getopt_long_only(int argc, char **argv, const char *list,
                                  const struct option *options, int *index) {
  return scan(argc, argv, list, options, index, 1);
}
__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("getopt", guest_getopt);
  GUEST_REPLACE("__posix_getopt", guest_getopt);
  GUEST_REPLACE("getopt_long", guest_getopt_long);
  GUEST_REPLACE("getopt_long_only", guest_getopt_long_only);
}
