/* options.h: the options of a command as one table, from which --help is printed and the arguments are read; --version is
   answered, too.

     static const option options[] = {{"--seed", "N", "order of the sizes (1)", .whole = &seed, .range = {0, 1e15}},
                                      {"--json", NULL, "as JSON", .flag = &json},
                                      {0}};
     static const command_line line = {"usage: ...\n", options, "Exit status: ...\n"};
     const int file_count = options_read(&line, argc, argv); // the files: argv[1] ... argv[file_count]

   A wrong word is refused with its option's name and exit status 2. After output_begin of output.h; included after
   nbc_overlap.h or portals_model.h, whose version it says. For commands, not for the library. */
#ifndef OPTIONS_H_INCLUDED
#define OPTIONS_H_INCLUDED
#include "tools/number.h"
#include "tools/output.h"
#include <stdarg.h>

/* One of the pointers says what the option takes and where it goes. */
typedef struct option {
  const char *name, *value, *help; /* value: what --help calls it; NULL: it has none */
  bool *flag;
  const char **text;
  uint64_t *whole;
  double *real;
  double range[2];          /* least and most of numbers; of whole ones less than 2^53 */
  const char *const *words; /* whole becomes the index of the one that is given */
  const char *(*take)(const char *text); /* ret NULL, or what is wrong */
} option;

typedef struct command_line {
  const char *usage; /* the lines before the options */
  const option *options;
  const char *more; /* and behind them; NULL: none */
} command_line;

static inline void options_print(const command_line *line) {
  enum { MOST_WIDTH = 24 };
  int begin = 0;
  fputs(line->usage, stdout);
  for (const option *o = line->options; o->name; o++) {
    const int width = (int)(strlen(o->name) + (o->value ? 1 + strlen(o->value) : 0));
    if (width > begin && width <= MOST_WIDTH) begin = width;
  }
  for (const option *o = line->options; o->name; o++)
    output_option(o->name, o->value, o->help, begin + 4);
  if (line->more) fputs(line->more, stdout);
}

/* Ends the program: name is wrong, and why. */
static inline void options_refuse(const char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s: %s: ", output__command, name);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(2);
}

static inline void options__set_number(const option *o, const char *text) {
  const double least = o->range[0], most = o->range[1];
  int64_t whole = 0;
  if (o->real ? !number_real(text, least, most, o->real)
              : !number_whole(text, (int64_t)least, (int64_t)most, &whole))
    options_refuse(o->name, "must be a %snumber from %.16g to %.16g, not '%s'",
                   o->real ? "" : "whole ", least, most, text);
  if (o->whole) *o->whole = (uint64_t)whole;
}

static inline void options__set(const option *o, const char *text) {
  if (o->text) {
    *o->text = text;
  } else if (o->take) {
    const char *const why = o->take(text);
    if (why) options_refuse(o->name, "%s", why);
  } else if (o->words) {
    uint64_t i = 0;
    while (o->words[i] && strcmp(o->words[i], text) != 0) i++;
    if (!o->words[i]) options_refuse(o->name, "no '%s' (--help)", text);
    *o->whole = i;
  } else {
    options__set_number(o, text);
  }
}

/* ret the place of the first word from `at` on that is no option: of a program to be started, say. */
static inline int options_before(const command_line *line, int at, int argc, char **argv) {
#ifdef NBC_VERSION_STRING
  output_version(argc, argv, NBC_VERSION_STRING);
#else
  output_version(argc, argv, PM_VERSION_STRING);
#endif
  for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
    const option *o = line->options;
    while (o->name && strcmp(o->name, argv[at]) != 0) o++;
    if (strcmp(argv[at], "--help") == 0 || (!o->name && strcmp(argv[at], "-h") == 0))
      options_print(line), exit(0);
    if (!o->name) options_refuse(argv[at], "unknown option (--help)");
    if (o->flag) *o->flag = true;
    if (!o->value) continue;
    if (++at == argc) options_refuse(o->name, "its value is missing");
    options__set(o, argv[at]);
  }
  return at;
}

/* Moves what is no option before what is one: argv[1], argv[2], ... ret how many */
static inline int options_read(const command_line *line, int argc, char **argv) {
  int count = 0;
  for (int at = 1; (at = options_before(line, at, argc, argv)) < argc; at++) {
    char *const word = argv[at];
    for (int i = at; i > count + 1; i--) argv[i] = argv[i - 1];
    argv[++count] = word;
  }
  return count;
}
#endif /* OPTIONS_H_INCLUDED */
