/* For tests of what is read from timelines: what the commands that read them have around these headers. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

static void no_memory(void) { exit(1); }
static void *must(void *memory) {
  if (!memory) no_memory();
  return memory;
}
static void plus(int64_t *sum, int64_t value) { *sum += value; }
static const char trace_reader[] = "test";
#include "tools/trace_read.h"
#include "tools/trace_match.h"
#include "tools/trace_waits.h"
