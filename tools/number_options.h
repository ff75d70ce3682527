/* number_options.h: options of a command that take a whole number, as a table: printed by --help, read with
   their limits, refused with the option's name and status 2. For commands, not for the library. */
#ifndef NUMBER_OPTIONS_H_INCLUDED
#define NUMBER_OPTIONS_H_INCLUDED
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct number_option {
  const char *name, *help;
  uint64_t *value, min, max; /* value: its default, until it is set; min is at least 1 */
} number_option;

static void number_options_print(const number_option *options, int count) {
  for (int i = 0; i < count; i++)
    printf("  %-17s N  %s (%llu)\n", options[i].name, options[i].help,
           (unsigned long long)*options[i].value);
}

/* Does not return where there is no such option, or its value is wrong. */
static void number_options_set(const char *command, const number_option *options, int count,
                               const char *name, const char *value) {
  for (int i = 0; i < count; i++) {
    const number_option *o = &options[i];
    char *end = NULL;
    if (strcmp(name, o->name) != 0) continue;
    errno = 0;
    const uint64_t n = value[0] == '-' ? 0 : strtoull(value, &end, 10);
    if (n >= o->min && n <= o->max && !*end && !errno) {
      *o->value = n;
      return;
    }
    fprintf(stderr, "%s: %s takes a number from %llu to %llu, not '%s'\n", command, name,
            (unsigned long long)o->min, (unsigned long long)o->max, value);
    exit(2);
  }
  fprintf(stderr, "%s: unknown option '%s' (see --help)\n", command, name);
  exit(2);
}
#endif /* NUMBER_OPTIONS_H_INCLUDED */
