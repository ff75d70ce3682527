/* A long command's line: what it says, where it appears, and that it leaves nothing behind. */
#include "tests/test.h"
#include "tools/progress_line.h"

static char shown[4096];
static size_t shown_bytes;
static int pipe_ends[2], kept_stderr;

static void catch_stderr(void) {
  fflush(stderr);
  kept_stderr = dup(2);
  CHECK(pipe(pipe_ends) == 0 && dup2(pipe_ends[1], 2) == 2);
}
static void release_stderr(void) {
  fflush(stderr);
  dup2(kept_stderr, 2);
  close(kept_stderr);
  close(pipe_ends[1]);
  const ssize_t n = read(pipe_ends[0], shown, sizeof shown - 1);
  close(pipe_ends[0]);
  shown_bytes = n > 0 ? (size_t)n : 0;
  shown[shown_bytes] = 0;
}

static void says_how_far_and_what_remains(void) {
  char text[200];
  progress_text(text, sizeof text, "cmd", "64 KiB", 1, 4, INT64_C(5000000000));
  CHECK(strcmp(text, "cmd: 64 KiB, 25 %, 15 s more") == 0);
  progress_text(text, sizeof text, "cmd", "files", 10, 1000, INT64_C(60000000000));
  CHECK(strcmp(text, "cmd: files, 1 %, 99 min more") == 0);
  progress_text(text, sizeof text, "cmd", "files", 0, 10, 0);
  CHECK(strcmp(text, "cmd: files, 0 %") == 0);
  progress_text(text, sizeof text, "cmd", "files", 10, 10, 7);
  CHECK(strcmp(text, "cmd: files, 100 %") == 0);
}

static void scene(bool speaks) {
  progress_line line;
  catch_stderr();
  progress_begin(&line, "cmd", speaks);
  progress_show(&line, "early", 1, 10); /* within the first second: nothing */
  line.begin_ns -= 2000000000;
  progress_show(&line, "a longer text", 2, 10);
  progress_show(&line, "at once after it", 3, 10);
  line.shown_ns -= 200000000;
  progress_show(&line, "short", 4, 10);
  progress_end(&line);
  release_stderr();
}
static void nothing_goes_into_a_pipe(void) {
  unsetenv("NBC_PROGRESS"), unsetenv("NBC_PROGRESS_LINES");
  scene(true);
  CHECK(shown_bytes == 0);
}
static size_t shown_with(const char *name, const char *value) {
  setenv(name, value, 1);
  scene(true);
  unsetenv(name);
  return shown_bytes;
}
static void the_preloads_mode_is_no_wish_for_lines(void) { /* NBC_PROGRESS=1 is the old name of NBC_PROGRESS_LINES=1 */
  CHECK(shown_with("NBC_PROGRESS", "1") > 0 && shown_with("NBC_PROGRESS_LINES", "1") > 0);
  CHECK(shown_with("NBC_PROGRESS", "timer") == 0 && shown_with("NBC_PROGRESS", "dedicated") == 0);
  CHECK(shown_with("NBC_PROGRESS_LINES", "0") == 0 && shown_with("NBC_PROGRESS_LINES", "") == 0);
  setenv("NBC_PROGRESS", "1", 1);
  CHECK(shown_with("NBC_PROGRESS_LINES", "0") == 0);
  setenv("NBC_PROGRESS", "timer", 1);
  CHECK(shown_with("NBC_PROGRESS_LINES", "1") > 0);
  unsetenv("NBC_PROGRESS");
}
static void asked_for_it_is_shown_and_wiped(void) {
  setenv("NBC_PROGRESS_LINES", "1", 1);
  scene(true);
  CHECK(strncmp(shown, "\rcmd: a longer text, 20 %, ", 26) == 0);
  CHECK(strstr(shown, "early") == NULL && strstr(shown, "at once") == NULL && strstr(shown, "\rcmd: short, 40 %") != NULL);
  const char *shorter = strstr(shown, "\rcmd: short"); /* covers what stood there */
  CHECK(shorter && strcspn(shorter + 1, "\r") == strcspn(shown + 1, "\r"));
  CHECK(shown[shown_bytes - 1] == '\r' && shown[shown_bytes - 2] == ' ' && strchr(shown, '\n') == NULL);
  scene(false); /* another rank */
  CHECK(shown_bytes == 0);
  unsetenv("NBC_PROGRESS_LINES");
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(says_how_far_and_what_remains);
  RUN(nothing_goes_into_a_pipe);
  RUN(the_preloads_mode_is_no_wish_for_lines);
  RUN(asked_for_it_is_shown_and_wiped);
  return TEST_END();
}
