/* pattern.h: payloads whose every byte says its place and its message, and a peer that dies at any moment. */
#ifndef PATTERN_H_INCLUDED
#define PATTERN_H_INCLUDED
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static inline unsigned char pattern(size_t i, unsigned seed) {
  return (unsigned char)(i * 131 + (i >> 8) * 7 + seed);
}
static inline void fill(unsigned char *data, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; i++) data[i] = pattern(i, seed);
}
static inline bool is_filled(const unsigned char *data, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; i++)
    if (data[i] != pattern(i, seed)) return false;
  return true;
}

/* Kills process pid within most_ns < 10^9 from now; ret the killer, to be waited for. */
static inline pid_t kill_later(pid_t pid, uint64_t most_ns) {
  const struct timespec wait = {0, (long)test_below(most_ns)};
  const pid_t killer = fork();
  if (killer) return killer;
  nanosleep(&wait, NULL);
  kill(pid, SIGKILL);
  _exit(0);
}
#endif
