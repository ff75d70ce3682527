/* A script: run as the kernel does, by the program that its first line names, with the script's path and its arguments:

     #!/usr/bin/python3 -u           one argument at most, which may hold blanks
     #!/usr/bin/env python3          env only looks where that is, so it is left out
     #!/usr/bin/env -S python3 -u    ... and splits what follows

   Shells are refused: what they do is to start other programs. */
#include "guest.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NESTED_MAX = 4, WORDS_MAX = 16 };
static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
/* The first line behind "#!", or false: no script. */
static bool first_line(const char *path, char *line, int bytes) {
  FILE *in = fopen(path, "re");
  const bool is_script =
      in && getc(in) == '#' && getc(in) == '!' && fgets(line, bytes, in) && strchr(line, '\n');
  if (in) fclose(in);
  return is_script;
}
/* ret how many words: the program, then its arguments */
static int words_of(char *line, char **words) {
  char *rest;
  int count = 0;
  words[0] = strtok_r(line, " \t\n", &rest);
  if (!words[0]) return 0;
  rest += strspn(rest, " \t");
  rest[strcspn(rest, "\n")] = 0;
  for (size_t n = strlen(rest); n && strchr(" \t\r", rest[n - 1]); n--) rest[n - 1] = 0;
  if (strcmp(name_of(words[0]), "env") != 0) {
    words[1] = rest;
    return *rest ? 2 : 1;
  }
  if (strncmp(rest, "-S", 2) == 0) rest += 2;
  for (char *more, *word = strtok_r(rest, " \t", &more); word && count < WORDS_MAX;
       word = strtok_r(NULL, " \t", &more))
    words[count++] = word;
  return count;
}
static const char *shell_of(const char *program) {
  static const char *const shells[] = {"sh",  "bash", "dash", "ksh", "zsh",
                                       "csh", "tcsh", "fish", NULL};
  for (int i = 0; shells[i]; i++)
    if (strcmp(name_of(program), shells[i]) == 0) return shells[i];
  return NULL;
}
static bool is_for_a_shell(const char *path) {
  char line[256], *words[WORDS_MAX];
  return first_line(path, line, sizeof line) && words_of(line, words) && shell_of(words[0]);
}
bool guest_has_file(const char *path, int mode) {
  struct stat st;
  return access(path, mode) == 0 && stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}
/* As a shell finds it, where the name has no folder and there is no such file here; but a script for a shell, which cannot
   run here, only when nothing else has the name: such ones stand before programs (python3 of pyenv) and choose one.
   ret NULL: is where it says, or nowhere */
static char *in_path(const char *name) {
  const char *folder = strchr(name, '/') || guest_has_file(name, R_OK) ? NULL : getenv("PATH");
  char *for_shell = NULL;
  for (; folder && *folder; folder += *folder == ':') {
    const int length = (int)strcspn(folder, ":");
    char *path;
    if (asprintf(&path, "%.*s/%s", length ? length : 1, length ? folder : ".", name) < 0)
      guest_refuse("out of memory");
    folder += length;
    const bool is_there = guest_has_file(path, X_OK);
    if (is_there && !is_for_a_shell(path)) return free(for_shell), path;
    if (is_there && !for_shell)
      for_shell = path;
    else
      free(path);
  }
  return for_shell;
}
char **guest_script(int *argc, char **argv) {
  for (int nested = 0; nested < NESTED_MAX; nested++) {
    char line[256], *words[WORDS_MAX];
    char *const found = in_path(argv[0]);
    if (!first_line(found ? found : argv[0], line, sizeof line)) return free(found), argv;
    char *const kept = strdup(line);
    const int count = kept ? words_of(kept, words) : 0;
    char **all = (char **)calloc((size_t)(*argc + count) + 1, sizeof *all);
    if (!kept || !all) guest_refuse("out of memory");
    if (!count) guest_refuse("%s: its first line names no program", argv[0]);
    if (shell_of(words[0]))
      guest_refuse("%s: not a program (a script of %s must call pm_run, not the other way round)",
                   argv[0], shell_of(words[0]));
    memcpy(all, words, (size_t)count * sizeof *all);
    memcpy(all + count, argv, (size_t)*argc * sizeof *all);
    if (found) all[count] = found;
    *argc += count;
    argv = all;
  }
  guest_refuse("%s: a script of a script of a script ...", argv[0]);
}
