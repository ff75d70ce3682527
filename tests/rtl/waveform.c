/* A window of time is saved as a waveform; the file is there, and of the FST kind. */
#include "tests/rtl/cosim.h"

static void window_is_saved(void) {
  cosim_desc d = host_desc(2);
  d.has_waves = 1;
  cosim *sim = host_start(&d);
  const char *folder = getenv("TEST_FILES");
  char path[512];
  int first = -1;
  int64_t now = cosim_now_ps(sim);
  snprintf(path, sizeof path, "%s/nic1.fst", folder ? folder : ".");
  CHECK(cosim_trace(sim, 1, path, now + 100000, now + 1000000) == 0);
  CHECK(cosim_trace(sim, 1, path, now, now + 1) == -1); /* one at a time */
  cosim_advance(sim, now + 2000000);
  cosim_destroy(sim);
  FILE *f = fopen(path, "rb");
  CHECK(f != NULL);
  if (!f) return;
  first = fgetc(f);
  CHECK(first == 0 || first == 254); /* header block, or the packed whole */
  CHECK(fseek(f, 0, SEEK_END) == 0 && ftell(f) > 1000);
  fclose(f);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(window_is_saved);
  return TEST_END();
}
