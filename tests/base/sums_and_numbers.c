/* The small things that all pieces rest on: sums that stop at the largest value, powers of two, random
   numbers that are the same everywhere; numbers in text (their locale: model/platforms). */
#include "src/base/sums.h"
#include "src/base/text.h"
#include "tests/test.h"

static void sums_stop_at_the_largest_value(void) {
  int64_t sum = INT64_MAX - 2;
  nbc__plus(&sum, 2);
  CHECK(sum == INT64_MAX);
  nbc__plus(&sum, 1);
  CHECK(sum == INT64_MAX);
  sum = 5;
  nbc__plus(&sum, 7);
  CHECK(sum == 12);
  CHECK(nbc__later(INT64_MAX - 5, 5) == INT64_MAX);
  CHECK(nbc__later(INT64_MAX - 5, 6) == INT64_MAX);
  CHECK(nbc__later(10, INT64_MAX) == INT64_MAX);
  CHECK(nbc__later(10, 20) == 30);
}

static void powers_of_two_are_the_next_ones(void) {
  CHECK(nbc__bits(0) == 0 && nbc__bits(1) == 1 && nbc__bits(2) == 2 && nbc__bits(3) == 2);
  CHECK(nbc__bits(UINT64_MAX) == 64);
  CHECK(nbc__pow2(0, 64) == 64 && nbc__pow2(1, 64) == 16 && nbc__pow2(33, 64) == 64 && nbc__pow2(64, 8) == 64);
  CHECK(nbc__pow2(SIZE_MAX, 8) == (size_t)1 << 30);
}

/* The published sequence of splitmix64 for the seed 1234567. */
static void random_numbers_are_splitmix64(void) {
  static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u};
  uint64_t state = 1234567;
  for (size_t i = 0; i < 5; i++) CHECK(nbc__random(&state) == published[i]);
}

static double number(const char *text, size_t *used) {
  double value = -1;
  const char *at = nbc__text_number(text, text + strlen(text), &value);
  *used = at ? (size_t)(at - text) : 0;
  return at ? value : -1;
}
static void numbers_are_read_to_the_last_digit(void) {
  static const char *const texts[] = {"0", "1", "10.5", "12.5e9", "1e-9", "0.000123", "3.", ".5", "4.25E+3"};
  static const double values[] = {0, 1, 10.5, 12.5e9, 1e-9, 0.000123, 3, 0.5, 4250};
  size_t used;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    CHECK_NEAR(number(texts[i], &used), values[i], 1e-15 * values[i]);
    CHECK(used == strlen(texts[i]));
  }
  CHECK_NEAR(number("2.5 next", &used), 2.5, 0);
  CHECK(used == 3);
  static const char *const bad[] = {"", ".", "e5", "x", "1e", "1e+", "-"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    number(bad[i], &used);
    CHECK(used == 0);
  }
}
static void whole_numbers_do_not_overflow(void) {
  uint64_t value = 0;
  static const char most[] = "18446744073709551615", beyond[] = "18446744073709551616", far[] = "99999999999999999999";
  CHECK(nbc__text_whole(most, most + strlen(most), &value) && value == UINT64_MAX);
  CHECK(!nbc__text_whole(beyond, beyond + strlen(beyond), &value));
  CHECK(!nbc__text_whole(far, far + strlen(far), &value));
  CHECK(!nbc__text_whole("x", "x" + 1, &value));
  CHECK(!nbc__text_whole("", "", &value));
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(sums_stop_at_the_largest_value);
  RUN(powers_of_two_are_the_next_ones);
  RUN(random_numbers_are_splitmix64);
  RUN(numbers_are_read_to_the_last_digit);
  RUN(whole_numbers_do_not_overflow);
  return TEST_END();
}
