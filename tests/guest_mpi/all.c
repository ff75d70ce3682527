/* The MPI test set: semantics after the standard. It prints the same under every right MPI. */
#include "say.h"
int me, n;
static char *said;
static size_t said_bytes, said_max;

void say(const char *format, ...) {
  va_list args;
  if (said_max - said_bytes < 4096) said = realloc(said, said_max = said_max * 2 + 65536);
  va_start(args, format);
  said_bytes += (size_t)vsnprintf(said + said_bytes, 4000, format, args);
  va_end(args);
  said[said_bytes++] = '\n';
}
void say_error(const char *what, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int class, length;
  MPI_Error_class(code, &class);
  MPI_Error_string(class, text, &length);
#ifdef OPEN_MPI /* whose texts are others */
  say("%s: class %d%s", what, class, length > 0 ? "" : " without a text");
#else
  say("%s: %s", what, text);
#endif
}
void say_ints(const char *what, const int *v, int count) {
  char text[3000];
  int at = snprintf(text, sizeof text, "%s:", what);
  for (int i = 0; i < count && at < 2900; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, " %d", v[i]);
  say("%s", text);
}
void say_status(const char *what, const MPI_Status *s, MPI_Datatype type) {
  int count, elements, cancelled;
  MPI_Get_count(s, type, &count);
  MPI_Get_elements(s, type, &elements);
  MPI_Test_cancelled(s, &cancelled);
  say("%s: from %d tag %d count %d elements %d cancelled %d", what, s->MPI_SOURCE, s->MPI_TAG,
      count, elements, cancelled);
}
uint64_t hash_of(const void *data, size_t bytes) {
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)data)[i]) * 1099511628211u;
  return h;
}
void flush_said(void) {
  if (me) {
    int bytes = (int)said_bytes;
    MPI_Send(&bytes, 1, MPI_INT, 0, 9999, MPI_COMM_WORLD);
    MPI_Send(said, bytes, MPI_CHAR, 0, 9999, MPI_COMM_WORLD);
    said_bytes = 0;
    return;
  }
  for (int r = 0; r < n; r++) {
    if (r) {
      int bytes;
      MPI_Recv(&bytes, 1, MPI_INT, r, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (said_max < (size_t)bytes) said = realloc(said, said_max = (size_t)bytes);
      MPI_Recv(said, bytes, MPI_CHAR, r, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      said_bytes = (size_t)bytes;
    }
    for (size_t at = 0; at < said_bytes;) {
      const char *end = memchr(said + at, '\n', said_bytes - at);
      printf("%d: %.*s\n", r, (int)(end - (said + at)), said + at);
      at = (size_t)(end - said) + 1;
    }
    said_bytes = 0;
  }
  fflush(stdout);
}
static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {
#if MPI_VERSION >= 4
    {"nulls", test_nulls},
#endif
    {"environment", test_environment},
    {"messages", test_messages},
    {"requests", test_requests},
    {"types", test_types},
    {"collectives", test_collectives},
    {"nonblocking", test_nonblocking},
    {"persistent", test_persistent},
    {"more_collectives", test_more_collectives},
    {"communicators", test_communicators},
    {"topologies", test_topologies},
#if MPI_VERSION >= 4
    {"large", test_large},
#endif
    {"windows", test_windows},
    {"files", test_files},
    {"more_files", test_more_files},
    {"more_neighbours", test_more_neighbours},
    {"old_names", test_old_names},
    {"status_forms", test_status_forms},
    {"more_windows", test_more_windows},
#if HAS_SESSIONS
    {"sessions", test_sessions},
#endif
#if HAS_SURVIVORS
    {"survivors", test_survivors},
#endif
    {"tools", test_tools},
#if MPI_VERSION >= 4
    {"repaired", test_repaired}, {"every", test_every}, {"every_persistent", test_every_persistent}, {"refused", test_refused}, {"every_tool", test_every_tool}, {"later", test_later},
#endif
};
int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    int is_named = argc == 1; /* arguments: those that run; "-name": all but this one */
    for (int k = 1; k < argc; k++) {
      if (argv[k][0] == '-') is_named = is_named || k == 1;
      if (argv[k][0] == '-' ? strcmp(argv[k] + 1, tests[i].name) == 0 : 0) is_named = 0;
      if (strcmp(argv[k], tests[i].name) == 0) is_named = 1;
    }
    if (!is_named) continue;
    if (me == 0) printf("== %s\n", tests[i].name);
    tests[i].run();
    flush_said();
  }
  MPI_Finalize();
  return 0;
}
