/* Any bytes as a transfer-time table: no crash; what is accepted is ascending, looks up without
   overflow, and refusals name a line that exists. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nbc_table *table;
  nbc_error err;
  const uint64_t *sizes;
  const double *times;
  char *text = (char *)malloc(size + 1); /* exactly as long as told: overreads are seen */
  if (!text) return 0;
  memcpy(text, data, size);
  memset(&err, 0, sizeof err);
  const nbc_status status = nbc_table_parse(text, size, "fuzz", &table, &err);
  if (status == NBC_OK) {
    const size_t count = nbc_table_points(table, &sizes, &times);
    if (count == 0 || count > NBC_TABLE_MAX_POINTS) abort();
    for (size_t i = 0; i < count; i++) {
      if (i > 0 && sizes[i] <= sizes[i - 1]) abort();
      if (!(times[i] >= 0 && times[i] <= 3600)) abort();
      const int64_t t_ns = nbc_table_time_ns(table, sizes[i]);
      if (t_ns < (int64_t)(times[i] * 1e9) - 1 || t_ns > (int64_t)(times[i] * 1e9) + 2) abort();
      if (nbc_table_time_ns(table, sizes[i] + 1) < 0 || nbc_table_time_ns(table, sizes[i] - 1) < 0) abort();
    }
    if (nbc_table_time_ns(table, UINT64_MAX) < 0) abort();
    nbc_table_free(table);
  } else if (table || (status == NBC_E_PARSE && (err.line < 0 || (size_t)err.line > size + 1 || !err.text[0])))
    abort();
  free(text);
  return 0;
}
