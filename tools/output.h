/* output.h: how every command ends its output. Lost output is said and gives exit status 1: on a full
   disk, into a closed pipe, into a standard output that was closed from the start.

     int main(int argc, char **argv) {
       output_begin("nicstat");                    // first: all ways out of the program are covered
       output_version(argc, argv, "1.2.3");        // answers --version
       if (!output_can_create(path)) return 1;     // before long work; false: it has said why
       FILE *out = output_create(path);            // NULL: it has said why
       ...
       if (!output_close(out, path)) return 1;     // closes; false: it has said why
       while (...) if (!output_flush()) return 1;  // where standard output has no end of its own
     }

   A message is one line on stderr: "nicstat: page.html: No space left on device". Standard output is
   closed when the program exits, also by exit(); a program that failed anyway keeps its own message and
   gets this one in addition. Children that are started by exec inherit SIGPIPE as ignored: a program
   that starts others sets it back in the child. For commands, not for the library. */
#ifndef OUTPUT_H_INCLUDED
#define OUTPUT_H_INCLUDED
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *output__command = "";

/* number 0: an earlier write failed, and its reason is gone */
static inline void output__say(const char *path, int number) {
  fprintf(stderr, "%s: %s: %s\n", output__command, path,
          number ? strerror(number) : "cannot be written");
}

static inline bool output__close(FILE *out, const char *path) {
  const bool was_bad = ferror(out) != 0;
  errno = 0;
  const bool closed = fclose(out) == 0;
  if (!closed || was_bad) output__say(path, closed ? 0 : errno);
  return closed && !was_bad;
}

/* Nobody can return a status from here on. */
static inline void output__at_exit(void) {
  if (!output__close(stdout, "standard output")) _exit(1);
}

/* First call of main. name: of the command, for messages; kept. */
static inline void output_begin(const char *name) {
  output__command = name;
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is then an error of write, with a sentence */
  /* A closed descriptor would be given to the first file that is opened: standard output would go
     there. Held by one that cannot be written, it gives an error as soon as something is printed. */
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(1);
  if (atexit(output__at_exit) != 0) _exit(1);
}

/* Second call of main: `COMMAND --version` says which it is, and ends. version: of the header the command is made of. */
static inline void output_version(int argc, char **argv, const char *version) {
  if (argc != 2 || strcmp(argv[1], "--version") != 0) return;
  printf("%s of nbc_overlap %s\n", output__command, version);
  exit(0);
}

/* Of --help: an option, what it means from column `begin` on, in as many lines as it needs. */
static inline void output_option(const char *name, const char *value, const char *help, int begin) {
  enum { COLUMNS = 100 };
  int at = printf("  %s%s%s", name, value ? " " : "", value ? value : "");
  for (const char *word = help; *word;) {
    const int length = (int)strcspn(word, " ");
    if (word == help ? at > begin - 2 : at + 1 + length > COLUMNS) putchar('\n'), at = 0;
    at += printf("%*s%.*s", at < begin ? begin - at : 1, "", length, word);
    word += length + (word[length] == ' ');
  }
  putchar('\n');
}

/* ret a file to be written, or NULL after saying why */
static inline FILE *output_create(const char *path) {
  FILE *out = fopen(path, "w");
  if (!out) output__say(path, errno);
  return out;
}

/* Before a measurement of minutes, whose results would have nowhere to go: can this file be written? What is there stays
   as it is. ret false: it has said why; NULL, no file, can. */
static inline bool output_can_create(const char *path) {
  struct stat st;
  int number = 0;
  if (!path) return true;
  if (stat(path, &st) == 0) {
    number = S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
  } else if (lstat(path, &st) != 0) { /* a link to no file waits for that */
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    number = fd < 0 ? errno : 0;
    if (fd >= 0) close(fd), unlink(path);
  }
  if (number) output__say(path, number);
  return !number;
}

/* ret whether all that was written is there; if not, it has said why. Not for stdout. */
static inline bool output_close(FILE *out, const char *path) { return output__close(out, path); }

/* ret whether all that was printed so far has gone. Says nothing: the end of the program does. */
static inline bool output_flush(void) { return fflush(stdout) == 0 && !ferror(stdout); }

#endif /* OUTPUT_H_INCLUDED */
