/* pthread_exit inside of pthread_once, below handlers, and of a process's first thread: C, and C++ with destructors. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __cplusplus
struct told {
  const char *what;
  ~told() { printf("end of %s\n", what); }
};
#  define TOLD(name) told name = {#name}
#else
#  define TOLD(name)
#endif
static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile int calls;
/* The function has not been left yet: nobody else may be in it. */
static void not_left(void *unused) {
  (void)unused;
  usleep(1000);
  printf("%d call\n", calls);
}
static void leaves(void) {
  TOLD(in_once);
  usleep(1000);
  pthread_cleanup_push(not_left, NULL);
  pthread_exit(NULL);
  pthread_cleanup_pop(0);
}
static void ends(void) {
  if (++calls == 1) leaves();
}
static void handler(void *what) { printf("handler %s\n", (const char *)what); }
static void *first(void *unused) {
  static char outer[] = "outer", inner[] = "inner", done[] = "done";
  TOLD(in_first);
  pthread_cleanup_push(handler, outer);
  pthread_cleanup_push(handler, inner);
  pthread_cleanup_push(handler, done);
  pthread_cleanup_pop(1);
  pthread_once(&once, ends);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  puts("goes on");
  return unused;
}
static void *second(void *unused) {
  pthread_once(&once, ends);
  return unused;
}
#ifdef __cplusplus
static void *third(void *value) {
  TOLD(in_third);
  try {
    pthread_exit(value);
  } catch (...) {
    puts("seen");
    throw;
  }
}
#endif
int main(void) {
  pthread_t a, b;
  TOLD(in_main);
  pthread_create(&a, NULL, first, NULL);
  while (!calls) usleep(100); /* the other finds it running */
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  printf("%d calls\n", calls);
#ifdef __cplusplus
  void *value;
  pthread_create(&a, NULL, third, &once);
  pthread_join(a, &value);
  printf("%d\n", value == &once);
#endif
  pthread_exit(NULL);
}
