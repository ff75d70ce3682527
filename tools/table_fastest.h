/* table_fastest.h: what the times of a table have in common, whatever disturbed some of them: a transfer time is a
   lower bound of what a message takes, so one that another size shows to be too long is shortened. */
#ifndef TABLE_FASTEST_H_INCLUDED
#define TABLE_FASTEST_H_INCLUDED
#include <stdbool.h>
#include <stdint.h>
enum { SIZES = 24 }; /* 1 B, 2 B, ... 8 MiB */

static void no_slower_than_next(const uint64_t size_bytes[SIZES], double time_s[SIZES],
                                int64_t eager) {
  for (int i = SIZES - 2; i >= 0; i--) {
    const bool eager_ends = size_bytes[i] <= (uint64_t)eager && (uint64_t)eager < size_bytes[i + 1];
    const double most_s = eager_ends ? time_s[i + 1] / 2 : time_s[i + 1];
    if (time_s[i] > most_s) time_s[i] = most_s;
  }
}

static void no_slower_than_two_halves(double time_s[SIZES]) {
  for (int i = 1; i < SIZES; i++)
    if (time_s[i] > 2 * time_s[i - 1]) time_s[i] = 2 * time_s[i - 1];
}

/* A size that was disturbed each time, or whose data is in no cache, says nothing of how fast it could be: no
   message takes longer than one of twice the bytes, or than two of half of them; and the link is no slower
   than any one message. What is sent eagerly also waits for its round trip, which is no time of data that is
   announced: from the eager size to the next one the times are in proportion to the bytes. */
static void keep_fastest(const uint64_t size_bytes[SIZES], double time_s[SIZES],
                         const bool has_few_repeats[SIZES], int64_t eager, double *link) {
  no_slower_than_next(size_bytes, time_s, eager);
  no_slower_than_two_halves(time_s);
  for (int i = 0; i < SIZES; i++) {
    const double rate = 1.1 * (double)size_bytes[i] / time_s[i];
    if (rate > *link) *link = rate;
  }
  for (int i = 0; i < SIZES; i++)
    if (has_few_repeats[i] && size_bytes[i] > (uint64_t)eager &&
        time_s[i] > (double)size_bytes[i] / *link)
      time_s[i] = (double)size_bytes[i] / *link;
  no_slower_than_two_halves(time_s); /* beside one that counts as fast as the link, too */
  no_slower_than_next(size_bytes, time_s, eager);
}
#endif
