/* What the tests of NULL share: each case runs in a process of its own, and what it returned is held against
   tests/headers/null_allowed.list, one "function parameter" per line. Included behind NULL_CASES, in whose cases[] a parameter
   "" means that nothing is NULL. */
#ifndef NULL_ARGUMENTS_H_INCLUDED
#define NULL_ARGUMENTS_H_INCLUDED
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  const char *always[4]; /* parameters that may be NULL everywhere */
  int refused[2];        /* statuses that refuse an argument */
  const char *waits[4];  /* functions that need another rank: tried with NULL only */
} null_rule;

static bool null_among(const char *const *names, const char *name) {
  for (int i = 0; i < 4 && names[i]; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}
static bool null_allowed(const null_rule *rule, const char *function, const char *parameter) {
  char line[128], wanted[128];
  FILE *list;
  bool found = null_among(rule->always, parameter);
  if (!(list = fopen("tests/headers/null_allowed.list", "r"))) abort();
  snprintf(wanted, sizeof wanted, "%s %s\n", function, parameter);
  while (!found && fgets(line, sizeof line, list)) found = strcmp(line, wanted) == 0;
  fclose(list);
  return found;
}
/* The exit status of a case: minus a status, NOTHING or SOMETHING; below 0: of a signal */
static int null_try(int (*call)(void)) {
  int how = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (int s = 1; s < 32; s++) signal(s, SIG_DFL);
    alarm(60);
    _exit(-call() & 0xff); /* statuses are negative */
  }
  if (child < 0 || waitpid(child, &how, 0) != child) abort();
  return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}
static void null_is_answered(const null_rule *rule, const char *function, const char *parameter, int (*call)(void)) {
  if (!*parameter && null_among(rule->waits, function)) return;
  const int code = null_try(call);
  const bool refused = code == (-rule->refused[0] & 0xff) || code == (-rule->refused[1] & 0xff);
  const char *wrong = NULL;
  if (code < 0) wrong = "crashed";
  else if (!*parameter) wrong = refused ? "refused" : NULL;
  else if (null_allowed(rule, function, parameter)) wrong = NULL;
  else if (code == (-SOMETHING & 0xff)) wrong = "a result";
  else if (code != (-NOTHING & 0xff) && !refused) wrong = "not refused";
  if (wrong) printf("  %s with NULL for '%s': %s (%d)\n", function, parameter, wrong, code);
  CHECK(!wrong);
}
#endif
