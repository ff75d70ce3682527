/* Transfer-time tables: every malformed file is refused with its line, lookup equals interpolation done
   the slow way, what is written reads back. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include <unistd.h>

static nbc_status parse(const char *text, nbc_table **table, nbc_error *err) {
  memset(err, 0, sizeof *err);
  return nbc_table_parse(text, strlen(text), "t.tab", table, err);
}

static void good_files_are_read(void) {
  static const char *const good[] = {"1 1e-6\n2 2e-6\n", "# head\r\n1 1e-6\r\n\t2\t2.0e-6 # tail\r\n\r\n",
                                     "\n\n1 .000001\n2 0.000002\n#\n", "1 1e-06\n2 20000000000000000000e-25\n"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    nbc_table *table;
    nbc_error err;
    const uint64_t *sizes;
    const double *times;
    CHECK(parse(good[i], &table, &err) == NBC_OK && table);
    if (!table) continue;
    CHECK(nbc_table_points(table, &sizes, &times) == 2 && sizes[0] == 1 && sizes[1] == 2);
    CHECK_NEAR(times[0], 1e-6, 1e-21);
    CHECK_NEAR(times[1], 2e-6, 1e-21);
    CHECK_STR(nbc_table_name(table), "t.tab");
    nbc_table_free(table);
  }
  nbc_table_free(NULL);
}

static void bad_files_are_named_with_their_line(void) {
  static const struct { const char *text; int line; const char *says; } bad[] = {
      {"", 0, "no points"},
      {"# nothing\n\n", 2, "no points"},
      {"1 1e-6\n2 2e-6", 2, "cut off"},
      {"1 1e-6\n2 2e-", 2, "cut off"},
      {"1 1e-6\n2\n", 2, "missing"},
      {"1 1e-6\nx 2e-6\n", 2, "'x' is not a size"},
      {"1 1e-6\n-2 2e-6\n", 2, "'-2' is not a size"},
      {"1 1e-6\n2.5 2e-6\n", 2, "'2.5' is not a size"},
      {"1 1e-6\n18446744073709551616 1\n", 2, "is not a size"},
      {"1 1e-6\n2 -2e-6\n", 2, "'-2e-6' is not a time"},
      {"1 1e-6\n2 nan\n", 2, "'nan' is not a time"},
      {"1 1e-6\n2 inf\n", 2, "'inf' is not a time"},
      {"1 1e-6\n2 0x10\n", 2, "'0x10' is not a time"},
      {"1 1e-6\n2 1,5\n", 2, "'1,5' is not a time"},
      {"1 1e-6\n2 1e\n", 2, "'1e' is not a time"},
      {"1 1e-6\n2 1e99999999999999999999\n", 2, "is not a time"},
      {"1 1e-6\n2 3601\n", 2, "above 1 hour"},
      {"1 1e-6\n2 1e999\n", 2, "above 1 hour"},
      {"1 1e-6\n2 2e-6 7\n", 2, "'7' after the time"},
      {"1 1e-6\n\n# c\n2 2e-6\n2 3e-6\n", 5, "stands twice"},
      {"4 1e-6\n2 2e-6\n", 2, "does not ascend"},
      {"1 1e-6\n\001\377 2\n", 2, "' is not a size"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    nbc_table *table = (nbc_table *)&table;
    nbc_error err;
    CHECK(parse(bad[i].text, &table, &err) == NBC_E_PARSE && table == NULL);
    CHECK(err.status == NBC_E_PARSE && err.line == bad[i].line);
    CHECK(strstr(err.text, bad[i].says) != NULL && strncmp(err.text, "t.tab", 5) == 0);
    if (!strstr(err.text, bad[i].says)) printf("  case %zu said: %s\n", i, err.text);
    CHECK(nbc_table_parse(bad[i].text, strlen(bad[i].text), NULL, &table, NULL) == NBC_E_PARSE);
  }
  nbc_table *table;
  nbc_error err;
  CHECK(nbc_table_parse("1 \0001\n", 5, "t", &table, &err) == NBC_E_PARSE && strstr(err.text, "NUL"));
}

static void too_much_is_refused(void) {
  nbc_table *table;
  nbc_error err;
  char *text = (char *)malloc((2 << 20) + 1);
  int n = 0;
  for (int i = 0; i <= NBC_TABLE_MAX_POINTS; i++) n += sprintf(text + n, "%d 1e-6\n", i);
  CHECK(nbc_table_parse(text, (size_t)n, "t", &table, &err) == NBC_E_PARSE && err.line == NBC_TABLE_MAX_POINTS + 1);
  CHECK(nbc_table_parse(text, (size_t)(n - 10), "t", &table, &err) == NBC_OK);
  CHECK(nbc_table_points(table, NULL, NULL) == NBC_TABLE_MAX_POINTS);
  nbc_table_free(table);
  memset(text, '#', 2 << 20);
  CHECK(nbc_table_parse(text, 2 << 20, "t", &table, &err) == NBC_E_PARSE && strstr(err.text, "1 MiB"));
  free(text);
  const uint64_t sizes[] = {1, 2, 2};
  const double times[] = {1, 2, 3}, worse[] = {1, -2, 3}, nans[] = {1, (double)NAN, 3}, long_s[] = {1, 3601, 3};
  CHECK(nbc_table_create(sizes, times, 3, "t", &table, &err) == NBC_E_INVAL && strstr(err.text, "point 2"));
  CHECK(nbc_table_create(sizes, worse, 2, "t", &table, &err) == NBC_E_INVAL && strstr(err.text, "point 1"));
  CHECK(nbc_table_create(sizes, nans, 2, "t", &table, &err) == NBC_E_INVAL);
  CHECK(nbc_table_create(sizes, long_s, 2, "t", &table, &err) == NBC_E_INVAL);
  CHECK(nbc_table_create(sizes, times, 0, "t", &table, &err) == NBC_E_INVAL);
}

/* Interpolation as the format says it, by walking along the points. */
static double reference_ns(const uint64_t *sizes, const double *times, size_t count, uint64_t n) {
  if (n <= sizes[0]) return times[0] * 1e9;
  for (size_t i = 1; i < count; i++)
    if (n <= sizes[i])
      return (times[i - 1] + (times[i] - times[i - 1]) * ((double)(n - sizes[i - 1]) / (double)(sizes[i] - sizes[i - 1]))) * 1e9;
  const double more = (double)(n - sizes[count - 1]);
  if (count == 1) return times[0] * 1e9 * (sizes[0] ? (double)n / (double)sizes[0] : 1);
  const double slope = (times[count - 1] - times[count - 2]) / (double)(sizes[count - 1] - sizes[count - 2]);
  return (times[count - 1] + (slope > 0 ? slope * more : 0)) * 1e9;
}

static void lookup_equals_interpolation(void) {
  for (int round = 0; round < 300; round++) {
    uint64_t sizes[64];
    double times[64];
    const size_t count = 1 + test_below(64);
    uint64_t size = test_below(3);
    for (size_t i = 0; i < count; i++) {
      sizes[i] = size;
      times[i] = (double)test_below(1000000) * 1e-9;
      size += 1 + test_below(round % 3 ? 40 : (uint64_t)1 << test_below(50));
    }
    nbc_table *table;
    CHECK(nbc_table_create(sizes, times, count, "t", &table, NULL) == NBC_OK);
    for (int k = 0; k < 400; k++) {
      uint64_t n = test_rand() >> test_below(64);
      if (k % 2) n = sizes[test_below(count)] + test_below(3) - 1; /* the points and their neighbours */
      const double expected = fmin(reference_ns(sizes, times, count, n), 1e18);
      CHECK_NEAR((double)nbc_table_time_ns(table, n), expected, 1 + expected * 1e-9);
    }
    CHECK(nbc_table_time_ns(table, UINT64_MAX) >= 0);
    nbc_table_free(table);
  }
}

static void linear_model(void) {
  nbc_table *table;
  CHECK(nbc_table_create_linear(1000, 1e9, NULL, &table) == NBC_OK);
  CHECK(strncmp(nbc_table_name(table), "model: ", 7) == 0);
  CHECK(nbc_table_time_ns(table, 0) == 1000 && nbc_table_time_ns(table, 1) == 1001);
  CHECK(nbc_table_time_ns(table, 1000000) == 1001000);
  CHECK_NEAR((double)nbc_table_time_ns(table, (uint64_t)1 << 40), 1000 + 1099511627776.0, 1e4);
  nbc_table_free(table);
  CHECK(nbc_table_create_linear(1000, 0, NULL, &table) == NBC_E_INVAL && !table);
  CHECK(nbc_table_create_linear(-1, 1e9, NULL, &table) == NBC_E_INVAL);
  CHECK(nbc_table_create_linear((double)NAN, 1e9, NULL, &table) == NBC_E_INVAL);
  CHECK(nbc_table_create_linear(1, (double)NAN, NULL, &table) == NBC_E_INVAL);
  CHECK(nbc_table_create_linear(1, (double)INFINITY, "x", &table) == NBC_OK); /* latency only */
  CHECK(nbc_table_time_ns(table, 1 << 30) == 1);
  nbc_table_free(table);
}

static void written_files_read_back(void) {
  char path[] = "/tmp/nbc-table-XXXXXX";
  const int fd = mkstemp(path);
  CHECK(fd >= 0);
  if (fd < 0) return;
  close(fd);
  for (int round = 0; round < 100; round++) {
    uint64_t sizes[32];
    double times[32];
    nbc_table *table, *back;
    nbc_error err;
    const uint64_t *sizes_back;
    const double *times_back;
    const size_t count = 1 + test_below(32);
    for (size_t i = 0; i < count; i++) {
      sizes[i] = i == 31 ? UINT64_MAX : (i ? sizes[i - 1] : 0) + 1 + (test_rand() >> (8 + test_below(50)));
      times[i] = round == 0 ? 0 : (double)(test_rand() >> 11) / 9007199254740992.0 * pow(10, (double)test_below(16) - 12);
      if (times[i] > 3600) times[i] = 3600;
    }
    CHECK(nbc_table_create(sizes, times, count, "t", &table, NULL) == NBC_OK);
    CHECK(nbc_table_write(table, path, round % 2 ? "two\nlines" : NULL, &err) == NBC_OK);
    CHECK(nbc_table_read(path, &back, &err) == NBC_OK);
    if (back) {
      CHECK(nbc_table_points(back, &sizes_back, &times_back) == count);
      for (size_t i = 0; i < count; i++) {
        CHECK(sizes_back[i] == sizes[i]);
        CHECK_NEAR(times_back[i], times[i], times[i] * 1e-9);
      }
    }
    nbc_table_free(back);
    nbc_table_free(table);
  }
  remove(path);
  nbc_table *table;
  nbc_error err;
  CHECK(nbc_table_read(path, &table, &err) == NBC_E_IO && strstr(err.text, "cannot be opened"));
  CHECK(nbc_table_read("/", &table, &err) == NBC_E_IO);
  CHECK(nbc_table_create_linear(1, 1e9, "t", &table) == NBC_OK);
  CHECK(nbc_table_write(table, "/nonexistent/x", NULL, &err) == NBC_E_IO && strstr(err.text, "/nonexistent/x"));
  if (access("/dev/full", W_OK) == 0) CHECK(nbc_table_write(table, "/dev/full", NULL, &err) == NBC_E_IO);
  nbc_table_free(table);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(good_files_are_read);
  RUN(bad_files_are_named_with_their_line);
  RUN(too_much_is_refused);
  RUN(lookup_equals_interpolation);
  RUN(linear_model);
  RUN(written_files_read_back);
  return TEST_END();
}
