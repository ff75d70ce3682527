/* table.c: transfer-time tables: how long a message of n bytes takes. */
#include "table.h"
#include "../base/sums.h"
#include "../base/text.h"

/* ============================================================================================== */
/* [TABLE] 5. Transfer-time tables                                                                */
/* ============================================================================================== */
#define NBC__TABLE_MAX_BYTES ((size_t)1 << 20)
#define NBC__TABLE_MAX_S     3600.0
#define NBC__TABLE_MAX_NS    1e18 /* results beyond 31 years are cut off */

struct nbc_table { /* one allocation: this, then size_bytes, time_s, slope, name */
  size_t count;
  uint64_t *size_bytes;
  double *time_s;
  double *slope_ns;   /* ns per byte from point i on; the last one extrapolates */
  uint16_t first[66]; /* first[b]: first point whose size has at least b bits; ends with count */
  char *name;
  int64_t eager_bytes, tail_bytes;
  double link_bytes_per_s;
  int64_t link_peers; /* 0: not said */
  char disturbed[160];
};

static void nbc__table_prepare(nbc_table *t) {
  for (size_t i = 0; i + 1 < t->count; i++)
    t->slope_ns[i] =
        (t->time_s[i + 1] - t->time_s[i]) * 1e9 / (double)(t->size_bytes[i + 1] - t->size_bytes[i]);
  const size_t last = t->count - 1;
  if (last > 0)
    t->slope_ns[last] = fmax(0, t->slope_ns[last - 1]); /* more bytes never take less */
  else
    t->slope_ns[0] = t->size_bytes[0] ? t->time_s[0] * 1e9 / (double)t->size_bytes[0] : 0;
  size_t point = 0;
  for (int b = 0; b <= 65; b++) {
    while (point < t->count && nbc__bits(t->size_bytes[point]) < b) point++;
    t->first[b] = (uint16_t)point;
  }
}

NBC_API nbc_status nbc_table_create(const uint64_t *size_bytes, const double *time_s, size_t count,
                                    const char *name, nbc_table **table, nbc_error *err) {
  if (!size_bytes || !time_s || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0,
                            "size_bytes and time_s and table: must not be NULL");
  *table = NULL;
  if (!name) name = "table";
  if (count == 0) return nbc__status_fail(err, NBC_E_INVAL, 0, "%.99s: no points", name);
  if (count > NBC_TABLE_MAX_POINTS)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%.99s: more than %d points", name,
                            NBC_TABLE_MAX_POINTS);
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && size_bytes[i] <= size_bytes[i - 1])
      return nbc__status_fail(err, NBC_E_INVAL, 0, "%.99s: point %zu: size %llu does not ascend",
                              name, i, (unsigned long long)size_bytes[i]);
    if (!(time_s[i] >= 0 && time_s[i] <= NBC__TABLE_MAX_S)) /* NaN too */
      return nbc__status_fail(err, NBC_E_INVAL, 0,
                              "%.99s: point %zu: time %g s is not between 0 and 1 hour", name, i,
                              time_s[i]);
  }
  const size_t name_bytes = strlen(name) + 1;
  nbc_table *t = (nbc_table *)NBC_MALLOC(sizeof *t + 3 * count * sizeof(double) + name_bytes);
  if (!t) return nbc__status_fail(err, NBC_E_NOMEM, 0, "%.99s: out of memory", name);
  t->count = count;
  t->size_bytes = (uint64_t *)(void *)(t + 1);
  t->time_s = (double *)(void *)(t->size_bytes + count);
  t->slope_ns = t->time_s + count;
  t->name = (char *)(t->slope_ns + count);
  memcpy(t->size_bytes, size_bytes, count * sizeof *size_bytes);
  memcpy(t->time_s, time_s, count * sizeof *time_s);
  memcpy(t->name, name, name_bytes);
  t->eager_bytes = t->tail_bytes = -1;
  t->link_bytes_per_s = 0;
  t->link_peers = 0;
  t->disturbed[0] = 0;
  nbc__table_prepare(t);
  *table = t;
  return NBC_OK;
}

NBC_API nbc_status nbc_table_create_linear(double latency_ns, double bytes_per_s, const char *name,
                                           nbc_table **table) {
  if (!table) return NBC_E_INVAL;
  const uint64_t sizes[2] = {0, (uint64_t)1 << 20};
  const double times[2] = {latency_ns * 1e-9, latency_ns * 1e-9 + (double)sizes[1] / bytes_per_s};
  char own_name[96];
  *table = NULL;
  if (!(bytes_per_s > 0)) return NBC_E_INVAL;
  if (!name)
    snprintf(own_name, sizeof own_name, "model: %.4g ns + bytes / %.4g bytes/s", latency_ns,
             bytes_per_s);
  return nbc_table_create(sizes, times, 2, name ? name : own_name, table, NULL);
}

NBC_API int64_t nbc_table_time_ns(const nbc_table *t, uint64_t size_bytes) {
  if (!t) return 0;
  const int bits = nbc__bits(size_bytes);
  size_t low = t->first[bits],
         high = t->first[bits + 1]; /* sizes before low are smaller, from high on larger */
  while (low < high) {              /* ends at the first point above size_bytes */
    const size_t middle = (low + high) / 2;
    if (t->size_bytes[middle] <= size_bytes)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return (int64_t)(t->time_s[0] * 1e9 + 0.5);
  const double ns = t->time_s[low - 1] * 1e9 +
                    (double)(size_bytes - t->size_bytes[low - 1]) * t->slope_ns[low - 1];
  return (int64_t)(fmin(fmax(ns, 0), NBC__TABLE_MAX_NS) + 0.5);
}

/* part_ns: of a message of part_bytes alone; size_ns: of the whole. */
NBC__PRIVATE int64_t nbc__table_part_of(int64_t size_ns, uint64_t size_bytes, int64_t part_ns,
                                        uint64_t part_bytes) {
  if (part_bytes >= size_bytes || size_ns <= 0) return size_ns;
  const double share_ns = (double)size_ns * ((double)part_bytes / (double)size_bytes);
  return part_ns > (int64_t)share_ns ? part_ns : (int64_t)share_ns + 1; /* rounded up */
}
NBC_API int64_t nbc_table_part_ns(const nbc_table *t, uint64_t size_bytes, uint64_t part_bytes) {
  return nbc__table_part_of(nbc_table_time_ns(t, size_bytes), size_bytes,
                            nbc_table_time_ns(t, part_bytes), part_bytes);
}

NBC_API const char *nbc_table_name(const nbc_table *table) {
  if (!table) return "?";
  return table->name;
}

NBC_API size_t nbc_table_points(const nbc_table *table, const uint64_t **size_bytes,
                                const double **time_s) {
  if (!table) return 0;
  if (size_bytes) *size_bytes = table->size_bytes;
  if (time_s) *time_s = table->time_s;
  return table->count;
}

NBC_API int64_t nbc_table_eager_bytes(const nbc_table *table) {
  if (!table) return 0;
  return table->eager_bytes;
}
NBC_API int64_t nbc_table_tail_bytes(const nbc_table *table) {
  if (!table) return 0;
  return table->tail_bytes;
}
NBC_API double nbc_table_link_bytes_per_s(const nbc_table *table) {
  if (!table) return 0;
  return table->link_bytes_per_s;
}
NBC_API uint32_t nbc_table_link_peers(const nbc_table *table) {
  if (!table || table->link_peers < 1) return 1;
  return table->link_peers < UINT32_MAX ? (uint32_t)table->link_peers : UINT32_MAX;
}
NBC_API const char *nbc_table_disturbed(const nbc_table *table) {
  if (!table) return "?";
  return table->disturbed[0] ? table->disturbed : NULL;
}

NBC_API void nbc_table_free(nbc_table *table) { NBC_FREE(table); }

/* ---- the file format: read and written without the locale's decimal comma ------------------ */
/* One line without its end and comment; *found = it holds a point. */
static nbc_status nbc__table_line(const char *at, const char *end, const char *name, int line,
                                  uint64_t *size, double *time_s, bool *found, nbc_error *err) {
  char word[33];
  const char *start = nbc__text_blank(at, end);
  *found = start < end;
  if (!*found) return NBC_OK;
  at = nbc__text_whole(start, end, size);
  if (!at || (at < end && *at != ' ' && *at != '\t'))
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: '%s' is not a size in bytes", name,
                            line, nbc__text_word(start, end, word, sizeof word));
  start = nbc__text_blank(at, end);
  if (start == end)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: the time in seconds is missing",
                            name, line);
  at = nbc__text_number(start, end, time_s);
  if (!at || (at < end && *at != ' ' && *at != '\t'))
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: '%s' is not a time in seconds", name,
                            line, nbc__text_word(start, end, word, sizeof word));
  if (!(*time_s <= NBC__TABLE_MAX_S))
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: time %s s is above 1 hour", name,
                            line, nbc__text_word(start, end, word, sizeof word));
  at = nbc__text_blank(at, end);
  if (at < end)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: '%s' after the time", name, line,
                            nbc__text_word(at, end, word, sizeof word));
  return NBC_OK;
}

/* "# WORD REST" of a line: where REST begins, or NULL. */
static const char *nbc__table_said(const char *at, const char *end, const char *word) {
  const size_t n = strlen(word);
  if (at == end || *at != '#') return NULL;
  at = nbc__text_blank(at + 1, end);
  if ((size_t)(end - at) <= n || memcmp(at, word, n) != 0 || (at[n] != ' ' && at[n] != '\t'))
    return NULL;
  return nbc__text_blank(at + n, end);
}

/* The size behind a word of a comment. */
static nbc_status nbc__table_size(const char *rest, const char *end, const char *name, int line,
                                  const char *what, int64_t *size_bytes, nbc_error *err) {
  uint64_t value;
  const char *after = nbc__text_whole(rest, end, &value);
  if (!after || nbc__text_blank(after, end) < end || value > INT64_MAX)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: %s is not a size", name, line, what);
  *size_bytes = (int64_t)value;
  return NBC_OK;
}

/* A comment that means something, into *t; of what a comment says wrongly nothing is believed. */
static nbc_status nbc__table_comment(nbc_table *t, const char *at, const char *end,
                                     const char *name, int line, nbc_error *err) {
  const char *rest;
  if ((rest = nbc__table_said(at, end, "eager_bytes")) != NULL) {
    return nbc__table_size(rest, end, name, line, "eager_bytes", &t->eager_bytes, err);
  } else if ((rest = nbc__table_said(at, end, "tail_bytes")) != NULL) {
    return nbc__table_size(rest, end, name, line, "tail_bytes", &t->tail_bytes, err);
  } else if ((rest = nbc__table_said(at, end, "link_peers")) != NULL) {
    return nbc__table_size(rest, end, name, line, "link_peers", &t->link_peers, err);
  } else if ((rest = nbc__table_said(at, end, "link_bytes_per_s")) != NULL) {
    double value;
    const char *after = nbc__text_number(rest, end, &value);
    if (!after || nbc__text_blank(after, end) < end || !(value >= 1 && value <= 1e18))
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: link_bytes_per_s is not a rate",
                              name, line);
    t->link_bytes_per_s = value;
  } else if ((rest = nbc__table_said(at, end, "disturbed")) != NULL) {
    snprintf(t->disturbed, sizeof t->disturbed, "%.*s", (int)(end - rest < 159 ? end - rest : 159),
             rest);
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_table_parse(const char *text, size_t text_bytes, const char *name,
                                   nbc_table **table, nbc_error *err) {
  if (!text || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and table: must not be NULL");
  uint64_t sizes[NBC_TABLE_MAX_POINTS];
  double times[NBC_TABLE_MAX_POINTS];
  size_t count = 0;
  int line = 0;
  nbc_table said; /* by comments */
  *table = NULL;
  memset(&said, 0, sizeof said);
  said.eager_bytes = said.tail_bytes = -1;
  if (!name) name = "table";
  if (text_bytes > NBC__TABLE_MAX_BYTES)
    return nbc__status_fail(err, NBC_E_PARSE, 0, "%.99s: larger than 1 MiB", name);
  for (const char *at = text, *stop = text + text_bytes; at < stop;) {
    line++;
    const char *next = (const char *)memchr(at, '\n', (size_t)(stop - at));
    if (!next)
      return nbc__status_fail(err, NBC_E_PARSE, line,
                              "%.99s:%d: the last line has no end: cut off?", name, line);
    if (memchr(at, 0, (size_t)(next - at)))
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: NUL byte", name, line);
    const char *end = next > at && next[-1] == '\r' ? next - 1 : next;
    const char *comment = (const char *)memchr(at, '#', (size_t)(end - at));
    uint64_t size = 0;
    double time_s = 0;
    bool found;
    nbc_status status =
        nbc__table_line(at, comment ? comment : end, name, line, &size, &time_s, &found, err);
    if (status == NBC_OK) status = nbc__table_comment(&said, at, end, name, line, err);
    if (status != NBC_OK) return status;
    at = next + 1;
    if (!found) continue;
    if (count == NBC_TABLE_MAX_POINTS)
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: more than %d points", name, line,
                              NBC_TABLE_MAX_POINTS);
    if (count > 0 && size <= sizes[count - 1])
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: size %llu %s", name, line,
                              (unsigned long long)size,
                              size == sizes[count - 1] ? "stands twice" : "does not ascend");
    sizes[count] = size;
    times[count++] = time_s;
  }
  if (count == 0)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: no points", name, line);
  const nbc_status status = nbc_table_create(sizes, times, count, name, table, err);
  if (status != NBC_OK) return status;
  (*table)->eager_bytes = said.eager_bytes;
  (*table)->tail_bytes = said.tail_bytes;
  (*table)->link_bytes_per_s = said.link_bytes_per_s;
  (*table)->link_peers = said.link_peers;
  memcpy((*table)->disturbed, said.disturbed, sizeof said.disturbed);
  return NBC_OK;
}

NBC_API nbc_status nbc_table_read(const char *path, nbc_table **table, nbc_error *err) {
  if (!path || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "path and table: must not be NULL");
  *table = NULL;
  FILE *file = fopen(path, "rb");
  if (!file)
    return nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be opened: %s", path, strerror(errno));
  char *text = (char *)NBC_MALLOC(NBC__TABLE_MAX_BYTES + 1);
  const size_t length = text ? fread(text, 1, NBC__TABLE_MAX_BYTES + 1, file) : 0;
  nbc_status status;
  if (!text)
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "%.99s: out of memory", path);
  else if (ferror(file))
    status = nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be read: %s", path, strerror(errno));
  else
    status = nbc_table_parse(text, length, path, table, err);
  fclose(file);
  NBC_FREE(text);
  return status;
}

/* "1.234500000e-06" */
static void nbc__table_print(FILE *out, double value) {
  int exponent = 0;
  if (value > 0) exponent = (int)floor(log10(value));
  if (exponent < -300) exponent = 0;
  uint64_t digits = (uint64_t)(value * pow(10, 9 - exponent) + 0.5);
  if (digits >= 10000000000u) digits /= 10, exponent++;
  fprintf(out, "%llu.%09llue%+03d", (unsigned long long)(digits / 1000000000u),
          (unsigned long long)(digits % 1000000000u), exponent);
}

NBC_API nbc_status nbc_table_write(const nbc_table *table, const char *path, const char *comment,
                                   nbc_error *err) {
  if (!table || !path)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "table and path: must not be NULL");
  FILE *file = fopen(path, "w");
  if (!file)
    return nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be written: %s", path,
                            strerror(errno));
  while (comment && *comment) { /* line by line */
    const size_t length = strcspn(comment, "\r\n");
    fprintf(file, "# %.*s\n", (int)length, comment);
    comment += length;
    if (*comment) comment++;
  }
  if (table->eager_bytes >= 0) fprintf(file, "# eager_bytes %lld\n", (long long)table->eager_bytes);
  if (table->tail_bytes >= 0) fprintf(file, "# tail_bytes %lld\n", (long long)table->tail_bytes);
  if (table->link_bytes_per_s > 0) {
    fputs("# link_bytes_per_s ", file);
    nbc__table_print(file, table->link_bytes_per_s);
    fputc('\n', file);
    if (table->link_peers > 0) fprintf(file, "# link_peers %lld\n", (long long)table->link_peers);
  }
  if (table->disturbed[0]) fprintf(file, "# disturbed %s\n", table->disturbed);
  fputs("# bytes seconds\n", file);
  for (size_t i = 0; i < table->count; i++) {
    fprintf(file, "%llu ", (unsigned long long)table->size_bytes[i]);
    nbc__table_print(file, table->time_s[i]);
    fputc('\n', file);
  }
  const bool bad = ferror(file) != 0;
  if (fclose(file) != 0 || bad)
    return nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be written: %s", path,
                            strerror(errno));
  return NBC_OK;
}
