/* A long has four bytes in external32. What comes back has the sign it had, on machines too whose char has none:
   so is char here. */
#include "../test.h"

#include "../../src/guest/mpi/type.c"

void *gm_alloc(size_t bytes) { return calloc(1, bytes ? bytes : 1); }
void gm_fatal(const char *format, ...) {
  puts(format);
  exit(1);
}
static void there_and_back(gm_kind kind, const int64_t *numbers, int count) {
  gm_type *t = gm_type_basic(kind, 8, 8);
  t->external_bytes = 4;
  for (int i = 0; i < count; i++) {
    unsigned char outside[4];
    int64_t back = 7;
    CHECK(gm_external_size(t, 1) == 4);
    CHECK(gm_external(&numbers[i], outside, 1, t, false, 4) == 4);
    for (int k = 0; k < 4; k++) /* the highest byte first */
      CHECK(outside[k] == (uint8_t)((uint64_t)numbers[i] >> (24 - 8 * k)));
    CHECK(gm_external(outside, &back, 1, t, true, 4) == 4);
    CHECK(back == numbers[i]);
  }
  free(t);
}
static void signed_ones(void) {
  static const int64_t numbers[] = {0, 1, -1, -2, 127, 128, -128, -129, INT32_MAX, INT32_MIN};
  there_and_back(GM_K_I64, numbers, (int)(sizeof numbers / sizeof *numbers));
}
static void unsigned_ones(void) {
  static const int64_t numbers[] = {0, 1, 128, INT32_MAX, (int64_t)INT32_MAX + 1, UINT32_MAX};
  there_and_back(GM_K_U64, numbers, (int)(sizeof numbers / sizeof *numbers));
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(signed_ones);
  RUN(unsigned_ones);
  return TEST_END();
}
