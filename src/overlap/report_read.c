/* report_read.c: reports read back from JSON; the input is untrusted. */
#include "report_read.h"
#include "../base/sums.h"
#include "clock.h"
#include "cells.h"

/* A JSON reader without a tree: tables say which key goes to which field of which struct, the rest
   is checked and skipped. The input is untrusted: nothing is believed before it was looked at,
   depth is bounded, the time is linear, every error names its line and field. */
#define NBC__JSON_DEPTH     24
#define NBC__JSON_MAX_BYTES ((size_t)64 << 20)

typedef struct nbc__json {
  const char *at, *end, *name;
  int line;
  nbc_error *err;
  nbc_status status; /* of the first error */
  int depth;
  struct { /* the way to the value being read, for errors: cells[3].xfer_ns */
    const char *key;
    long index; /* -1: not an element */
  } way[NBC__JSON_DEPTH];
  nbc_report *report;
  /* Largest indexes met and where: they can be judged only when all arrays are known. */
  int top_section, top_section_line, top_class, top_class_line, top_site, top_site_line;
  bool unsorted_cells, unsorted_calls;
} nbc__json;

typedef enum nbc__json_type {
  NBC__JSON_INT,    /* int */
  NBC__JSON_COUNT,  /* uint64_t */
  NBC__JSON_NS,     /* int64_t, not negative */
  NBC__JSON_DOUBLE, /* null becomes NaN: what the writer makes of infinities */
  NBC__JSON_TEXT,   /* char *, may be null */
  NBC__JSON_BOOL,
  NBC__JSON_ARRAY, /* each element by the field's own function */
  NBC__JSON_OTHER  /* all of it */
} nbc__json_type;

typedef struct nbc__json_field {
  const char *key;
  nbc__json_type type;
  bool required;
  size_t offset;
  bool (*read)(nbc__json *j,
               void *target); /* NBC__JSON_ARRAY, NBC__JSON_OTHER: gets object + offset */
} nbc__json_field;

static bool nbc__json_fail_at(nbc__json *j, int line, nbc_status status, const char *what) {
  if (j->status != NBC_OK) return false;
  j->status = status;
  if (!j->err) return false;
  char way[100];
  size_t used = 0;
  way[0] = 0;
  for (int d = 0; d < j->depth && used + 1 < sizeof way; d++) {
    const bool element = j->way[d].index >= 0;
    if (!element && !j->way[d].key) continue;
    const int n =
        element ? snprintf(way + used, sizeof way - used, "[%ld]", j->way[d].index)
                : snprintf(way + used, sizeof way - used, "%s%s", used ? "." : "", j->way[d].key);
    if (n > 0) used += (size_t)n;
  }
  j->err->status = status;
  j->err->line = line;
  snprintf(j->err->text, sizeof j->err->text, "%.70s:%d: %s%s%s%.60s", j->name, line,
           way[0] ? "field " : "", way, way[0] ? ": " : "", what);
  return false;
}
static bool nbc__json_fail(nbc__json *j, const char *what) {
  return nbc__json_fail_at(j, j->line, NBC_E_PARSE,
                           j->at < j->end ? what : "the text ends here: file cut off?");
}
static bool nbc__json_no_memory(nbc__json *j) {
  return nbc__json_fail_at(j, j->line, NBC_E_NOMEM, "out of memory");
}

static void nbc__json_space(nbc__json *j) {
  for (; j->at < j->end; j->at++) {
    if (*j->at == '\n')
      j->line++;
    else if (*j->at != ' ' && *j->at != '\t' && *j->at != '\r')
      return;
  }
}
/* The next character that is not space; 0 at the end. */
static char nbc__json_peek(nbc__json *j) {
  nbc__json_space(j);
  return j->at < j->end ? *j->at : 0;
}
static bool nbc__json_accept(nbc__json *j, char c) {
  if (nbc__json_peek(j) != c || j->at == j->end) return false;
  j->at++;
  return true;
}
static bool nbc__json_word(nbc__json *j, const char *word) {
  const size_t n = strlen(word), left = (size_t)(j->end - j->at);
  if (memcmp(j->at, word, n < left ? n : left) != 0) return false;
  j->at += n < left ? n : left;
  return n <= left;
}

/* ---- strings ------------------------------------------------------------------------------- */
static int nbc__json_hex4(nbc__json *j) { /* -1: not four hexadecimal digits */
  int value = 0;
  for (int i = 0; i < 4; i++) {
    const char c = j->at < j->end ? *j->at++ : 0;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static size_t nbc__json_utf8(unsigned long code, char *out) {
  if (code < 0x80) return out[0] = (char)code, 1;
  const size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00u >> n & 0xf0) | code);
  return n;
}

/* One character after a backslash: its bytes to out (at most 4), or 0 and an error. */
static size_t nbc__json_escape(nbc__json *j, char *out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char c = j->at < j->end ? *j->at++ : 0;
  const char *known = c ? strchr(from, c) : NULL;
  if (known) return out[0] = to[known - from], 1;
  int code = c == 'u' ? nbc__json_hex4(j) : -1;
  if (code >= 0xd800 && code < 0xdc00) { /* first half of a pair */
    const int low = nbc__json_word(j, "\\u") ? nbc__json_hex4(j) : -1;
    code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
  } else if (code >= 0xdc00 && code < 0xe000) {
    code = -1;
  }
  if (code > 0) return nbc__json_utf8((unsigned long)code, out);
  nbc__json_fail(j, code == 0 ? "text with a zero byte" : "malformed escape in text");
  return 0;
}

/* Reads a string; into text (may be NULL) go at most size - 1 bytes of it. length: of the whole. */
static bool nbc__json_string(nbc__json *j, char *text, size_t size, size_t *length) {
  size_t used = 0;
  if (!nbc__json_accept(j, '"')) return nbc__json_fail(j, "text in quotes expected");
  for (;;) {
    char bytes[4];
    size_t n = 1;
    if (j->at == j->end) return nbc__json_fail(j, "");
    bytes[0] = *j->at++;
    if (bytes[0] == '"') break;
    if ((unsigned char)bytes[0] < 0x20) {
      j->at--;
      return nbc__json_fail(j, "control character in text: quote missing?");
    }
    if (bytes[0] == '\\' && !(n = nbc__json_escape(j, bytes))) return false;
    for (size_t i = 0; i < n; i++, used++)
      if (used + 1 < size) text[used] = bytes[i];
  }
  if (size) text[used + 1 < size ? used : size - 1] = 0;
  if (length) *length = used;
  return true;
}

/* A string of any length, or null: replaces *text. */
static bool nbc__json_text(nbc__json *j, char **text) {
  if (nbc__json_peek(j) == 'n' && nbc__json_word(j, "null"))
    return nbc_report_set(text, NULL) == NBC_OK;
  nbc__json measure = *j; /* first pass for the length, second to copy */
  size_t length;
  measure.err = NULL;
  if (!nbc__json_string(&measure, NULL, 0, &length)) return nbc__json_string(j, NULL, 0, NULL);
  char *copy = (char *)NBC_MALLOC(length + 1);
  if (!copy) return nbc__json_no_memory(j);
  nbc__json_string(j, copy, length + 1, NULL);
  NBC_FREE(*text);
  *text = copy;
  return true;
}

/* ---- numbers ------------------------------------------------------------------------------- */
/* Checks one number's grammar and copies it to text; *integer: neither point nor exponent. */
static bool nbc__json_number(nbc__json *j, char *text, size_t size, bool *integer) {
  nbc__json_space(j);
  const char *p = j->at, *const start = p;
  *integer = true;
  if (p < j->end && *p == '-') p++;
  const char *digits = p;
  while (p < j->end && *p >= '0' && *p <= '9') p++;
  bool good = p > digits && (*digits != '0' || p == digits + 1);
  if (good && p < j->end && *p == '.') {
    digits = ++p;
    while (p < j->end && *p >= '0' && *p <= '9') p++;
    good = p > digits;
    *integer = false;
  }
  if (good && p < j->end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < j->end && (*p == '+' || *p == '-')) p++;
    digits = p;
    while (p < j->end && *p >= '0' && *p <= '9') p++;
    good = p > digits;
    *integer = false;
  }
  j->at = p;
  if (!good) return nbc__json_fail(j, "a number was expected");
  if ((size_t)(p - start) >= size) return nbc__json_fail(j, "number with too many digits");
  memcpy(text, start, (size_t)(p - start));
  text[p - start] = 0;
  return true;
}

/* An integer of magnitude <= limit; negative ones only when allowed. */
static bool nbc__json_integer(nbc__json *j, uint64_t limit, bool *negative, uint64_t *magnitude) {
  char text[64];
  bool integer;
  uint64_t value = 0;
  if (!nbc__json_number(j, text, sizeof text, &integer)) return false;
  const bool minus = text[0] == '-';
  if (!integer) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "must be an integer");
  if (minus && !negative) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "must not be negative");
  for (const char *p = text + minus; *p; p++) {
    const uint64_t digit = (uint64_t)(*p - '0');
    if (value > (limit - digit) / 10)
      return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "number too large");
    value = value * 10 + digit;
  }
  if (negative) *negative = minus;
  *magnitude = value;
  return true;
}

static bool nbc__json_count(nbc__json *j, uint64_t *value) {
  return nbc__json_integer(j, UINT64_MAX, NULL, value);
}

static bool nbc__json_int(nbc__json *j, int *value) {
  bool negative;
  uint64_t magnitude;
  if (!nbc__json_integer(j, 0x7fffffff, &negative, &magnitude)) return false;
  *value = negative ? -(int)magnitude : (int)magnitude;
  return true;
}

static bool nbc__json_double(nbc__json *j, double *value) {
  char text[400], point[8];
  bool integer;
  if (nbc__json_peek(j) == 'n' && nbc__json_word(j, "null")) return *value = NAN, true;
  if (!nbc__json_number(j, text, sizeof text, &integer)) return false;
  snprintf(point, sizeof point, "%.1f", 0.5); /* strtod wants the locale's point, JSON has a dot */
  char *dot = strchr(text, '.');
  if (dot) *dot = point[1];
  *value = strtod(text, NULL);
  if (!(fabs(*value) <= 1.7e308))
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "number too large");
  return true;
}

/* ---- objects and arrays -------------------------------------------------------------------- */
static bool nbc__json_push(nbc__json *j, const char *key, long index) {
  if (j->depth >= NBC__JSON_DEPTH) return nbc__json_fail(j, "nested too deeply");
  j->way[j->depth].key = key;
  j->way[j->depth++].index = index;
  return true;
}

/* "key": into a buffer; longer keys are unknown anyway. */
static bool nbc__json_key(nbc__json *j, char *key, size_t size) {
  size_t length;
  if (!nbc__json_string(j, key, size, &length)) return false;
  if (length >= size) key[0] = 0;
  return nbc__json_accept(j, ':') || nbc__json_fail(j, "':' expected after a key");
}

/* Checks a value of any kind and forgets it. */
static bool nbc__json_skip(nbc__json *j) {
  char text[400];
  bool integer;
  const char open = nbc__json_peek(j);
  if (open == '"') return nbc__json_string(j, NULL, 0, NULL);
  if (open != '{' && open != '[')
    return nbc__json_word(j, "null") || nbc__json_word(j, "true") || nbc__json_word(j, "false") ||
           nbc__json_number(j, text, sizeof text, &integer);
  const char close = open == '{' ? '}' : ']';
  j->at++;
  if (nbc__json_accept(j, close)) return true;
  if (!nbc__json_push(j, NULL, -1)) return false;
  do {
    if (open == '{' && !nbc__json_key(j, text, sizeof text)) return false;
    if (!nbc__json_skip(j)) return false;
  } while (nbc__json_accept(j, ','));
  j->depth--;
  return nbc__json_accept(j, close) || nbc__json_fail(j, "',' or the closing bracket expected");
}

/* Of the element whose reading begins: its index. */
static long nbc__json_at(const nbc__json *j) { return j->way[j->depth - 1].index; }

/* Calls element for every element of an array. */
static bool nbc__json_array(nbc__json *j, bool (*element)(nbc__json *j, void *target),
                            void *target) {
  if (!nbc__json_accept(j, '[')) return nbc__json_fail(j, "'[' expected");
  if (nbc__json_accept(j, ']')) return true;
  long index = 0;
  do {
    if (!nbc__json_push(j, NULL, index) || !element(j, target)) return false;
    j->depth--;
    index++;
  } while (nbc__json_accept(j, ','));
  return nbc__json_accept(j, ']') || nbc__json_fail(j, "',' or ']' expected");
}

static bool nbc__json_bool(nbc__json *j, bool *value) {
  *value = nbc__json_peek(j) == 't';
  return nbc__json_word(j, *value ? "true" : "false") ||
         nbc__json_fail(j, "true or false expected");
}

static bool nbc__json_value(nbc__json *j, const nbc__json_field *f, void *target) {
  uint64_t magnitude;
  switch (f->type) {
  case NBC__JSON_INT: return nbc__json_int(j, (int *)target);
  case NBC__JSON_COUNT: return nbc__json_count(j, (uint64_t *)target);
  case NBC__JSON_NS:
    if (!nbc__json_integer(j, INT64_MAX, NULL, &magnitude)) return false;
    *(int64_t *)target = (int64_t)magnitude;
    return true;
  case NBC__JSON_DOUBLE: return nbc__json_double(j, (double *)target);
  case NBC__JSON_TEXT: return nbc__json_text(j, (char **)target);
  case NBC__JSON_BOOL: return nbc__json_bool(j, (bool *)target);
  case NBC__JSON_ARRAY: return nbc__json_array(j, f->read, target);
  case NBC__JSON_OTHER: break;
  }
  return f->read(j, target);
}

/* Reads an object into *object: known keys once each, unknown ones skipped, required ones
   present. */
static bool nbc__json_object(nbc__json *j, const nbc__json_field *fields, size_t field_count,
                             void *object) {
  char key[64];
  uint64_t seen = 0; /* one bit per field: tables are shorter than 64 */
  const int line = j->line;
  if (!nbc__json_accept(j, '{')) return nbc__json_fail(j, "'{' expected");
  if (!nbc__json_accept(j, '}')) {
    do {
      size_t i = 0;
      if (!nbc__json_key(j, key, sizeof key)) return false;
      while (i < field_count && strcmp(fields[i].key, key) != 0) i++;
      if (!nbc__json_push(j, i < field_count ? fields[i].key : NULL, -1)) return false;
      if (i == field_count) {
        if (!nbc__json_skip(j)) return false;
      } else {
        if (seen >> i & 1) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "given twice");
        seen |= (uint64_t)1 << i;
        if (!nbc__json_value(j, &fields[i], (char *)object + fields[i].offset)) return false;
      }
      j->depth--;
    } while (nbc__json_accept(j, ','));
    if (!nbc__json_accept(j, '}')) return nbc__json_fail(j, "',' or '}' expected");
  }
  for (size_t i = 0; i < field_count; i++) {
    if (!fields[i].required || (seen >> i & 1)) continue;
    return nbc__json_push(j, fields[i].key, -1) &&
           nbc__json_fail_at(j, line, NBC_E_PARSE, "missing");
  }
  return true;
}

/* ---- the report's own objects -------------------------------------------------------------- */
#define NBC__JSON_AT(type, field, as, required)                                                    \
  { #field, NBC__JSON_##as, required, offsetof(type, field), NULL }
#define NBC__JSON_BY(type, key, field, required, function)                                         \
  { key, NBC__JSON_OTHER, required, offsetof(type, field), function }
#define NBC__JSON_LENGTH(table) (sizeof(table) / sizeof *(table))

static bool nbc__json_case(nbc__json *j, void *target) {
  const long index = nbc__json_at(j);
  if (index >= 3) return nbc__json_fail(j, "three numbers expected");
  return nbc__json_count(j, (uint64_t *)target + index);
}

/* The fields of nbc_totals, inside the struct `type` at `path`. */
#define NBC__JSON_TOTALS(type, path)                                                               \
  {"count", NBC__JSON_COUNT, true, offsetof(type, path count), NULL},                              \
      {"size_bytes", NBC__JSON_COUNT, false, offsetof(type, path size_bytes), NULL},               \
      {"xfer_ns", NBC__JSON_NS, true, offsetof(type, path xfer_ns), NULL},                         \
      {"min_overlap_ns", NBC__JSON_NS, true, offsetof(type, path min_overlap_ns), NULL},           \
      {"max_overlap_ns", NBC__JSON_NS, true, offsetof(type, path max_overlap_ns), NULL},           \
      {"case_count", NBC__JSON_ARRAY, false, offsetof(type, path case_count), nbc__json_case},     \
      {"waited_ns", NBC__JSON_NS, false, offsetof(type, path waited_ns), NULL},                    \
      {"exact_count", NBC__JSON_COUNT, false, offsetof(type, path exact_count), NULL},             \
      {"exact_xfer_ns", NBC__JSON_NS, false, offsetof(type, path exact_xfer_ns), NULL},            \
      {"exact_overlap_lo_ns", NBC__JSON_NS, false, offsetof(type, path exact_lo_ns), NULL}, {      \
    "exact_overlap_hi_ns", NBC__JSON_NS, false, offsetof(type, path exact_hi_ns), NULL             \
  }

/* What every reader of a report relies on. */
static bool nbc__json_check_totals(nbc__json *j, const nbc_totals *t) {
  const char *what =
      t->min_overlap_ns > t->max_overlap_ns ? "min_overlap_ns is above max_overlap_ns"
      : t->max_overlap_ns > t->xfer_ns      ? "max_overlap_ns is above xfer_ns"
      : t->exact_lo_ns > t->exact_hi_ns     ? "exact_overlap_lo_ns is above exact_overlap_hi_ns"
                                            : NULL;
  return !what || nbc__json_fail_at(j, j->line, NBC_E_PARSE, what);
}

/* kinds of a later version count as other */
static bool nbc__json_kind(nbc__json *j, void *target) {
  char name[64];
  int k = NBC_KIND_COUNT - 1;
  if (!nbc__json_string(j, name, sizeof name, NULL)) return false;
  while (k > 0 && strcmp(nbc_kind_name((nbc_kind)k), name) != 0) k--;
  *(nbc_kind *)target = (nbc_kind)k;
  return true;
}

static bool nbc__json_peer(nbc__json *j, void *target) {
  char name[64];
  int p = NBC_PEER_COUNT - 1;
  if (!nbc__json_string(j, name, sizeof name, NULL)) return false;
  while (p > 0 && strcmp(nbc_peer_name((nbc_peer)p), name) != 0) p--;
  *(nbc_peer *)target = (nbc_peer)p;
  return true;
}

static bool nbc__json_histogram(nbc__json *j, void *target) { /* {"17": 3, …}: bin and count */
  char key[16];
  if (!nbc__json_accept(j, '{')) return nbc__json_fail(j, "'{' expected");
  if (nbc__json_accept(j, '}')) return true;
  do {
    int bin = 0;
    if (!nbc__json_key(j, key, sizeof key)) return false;
    for (const char *p = key; *p; p++)
      bin = *p >= '0' && *p <= '9' && bin < 1000 ? bin * 10 + *p - '0' : 1000;
    if (!key[0] || bin >= NBC_HIST_BINS) return nbc__json_fail(j, "no such bin");
    if (!nbc__json_count(j, (uint64_t *)target + bin)) return false;
  } while (nbc__json_accept(j, ','));
  return nbc__json_accept(j, '}') || nbc__json_fail(j, "',' or '}' expected");
}

static bool nbc__json_index(nbc__json *j, int index, int *top, int *top_line) {
  if (index < 0) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "negative index");
  if (index > *top) *top = index, *top_line = j->line;
  return true;
}

static bool nbc__json_section(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_section, path, TEXT, true),
                                           NBC__JSON_AT(nbc_section, parent_index, INT, true),
                                           NBC__JSON_AT(nbc_section, count, COUNT, false),
                                           NBC__JSON_AT(nbc_section, comp_ns, NS, true),
                                           NBC__JSON_AT(nbc_section, call_ns, NS, true)};
  nbc_report *r = j->report;
  nbc_section *s = &r->sections[0]; /* made by nbc_report_create */
  const long index = nbc__json_at(j);
  (void)target;
  if (index > 0) NBC__REP_APPEND(nbc_section, r->sections, r->section_count, s);
  if (!s) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), s)) return false;
  if (!s->path) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "path is null");
  if (index == 0 ? s->parent_index != -1 || s->path[0]
                 : s->parent_index < 0 || s->parent_index >= index)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "parent_index must name an earlier section");
  return true;
}

static bool nbc__json_cell(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_cell, section_index, INT, true),
      NBC__JSON_BY(nbc_cell, "kind", kind, true, nbc__json_kind),
      NBC__JSON_AT(nbc_cell, class_index, INT, true),
      NBC__JSON_BY(nbc_cell, "peer", peer, false, nbc__json_peer),
      NBC__JSON_AT(nbc_cell, site_plus1, INT, false),
      NBC__JSON_TOTALS(nbc_cell, t.),
      NBC__JSON_AT(nbc_cell, available_ns, NS, false),
      NBC__JSON_BY(nbc_cell, "available_count", available_count, false, nbc__json_histogram)};
  nbc_report *r = j->report;
  nbc_cell *c;
  (void)target;
  NBC__REP_APPEND(nbc_cell, r->cells, r->cell_count, c);
  if (!c) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c)) return false;
  if (r->cell_count > 1 && nbc__rep_cell_order(c - 1, c) >= 0) j->unsorted_cells = true;
  return nbc__json_check_totals(j, &c->t) &&
         nbc__json_index(j, c->section_index, &j->top_section, &j->top_section_line) &&
         nbc__json_index(j, c->class_index, &j->top_class, &j->top_class_line) &&
         nbc__json_index(j, c->site_plus1, &j->top_site, &j->top_site_line);
}

static int nbc__json_call_order(const void *a, const void *b) {
  const nbc_call *x = (const nbc_call *)a, *y = (const nbc_call *)b;
  return x->section_index != y->section_index ? x->section_index - y->section_index
                                              : (int)x->kind - (int)y->kind;
}
static int nbc__json_cell_order(const void *a, const void *b) {
  return nbc__rep_cell_order((const nbc_cell *)a, (const nbc_cell *)b);
}

static bool nbc__json_call(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_call, section_index, INT, true),
      NBC__JSON_BY(nbc_call, "kind", kind, true, nbc__json_kind),
      NBC__JSON_AT(nbc_call, count, COUNT, true),
      NBC__JSON_AT(nbc_call, total_ns, NS, true),
      NBC__JSON_AT(nbc_call, min_ns, NS, true),
      NBC__JSON_AT(nbc_call, max_ns, NS, true)};
  nbc_report *r = j->report;
  nbc_call *c;
  (void)target;
  NBC__REP_APPEND(nbc_call, r->calls, r->call_count, c);
  if (!c) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c)) return false;
  if (r->call_count > 1 && nbc__json_call_order(c - 1, c) >= 0) j->unsorted_calls = true;
  return nbc__json_index(j, c->section_index, &j->top_section, &j->top_section_line);
}

static bool nbc__json_thread(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_thread, comp_ns, NS, true), NBC__JSON_AT(nbc_thread, call_ns, NS, true),
      NBC__JSON_AT(nbc_thread, off_ns, NS, true), NBC__JSON_AT(nbc_thread, tool_ns, NS, false),
      NBC__JSON_AT(nbc_thread, wall_ns, NS, true)};
  nbc_thread *t;
  (void)target;
  NBC__REP_APPEND(nbc_thread, j->report->threads, j->report->thread_count, t);
  return t ? nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), t) : nbc__json_no_memory(j);
}

static bool nbc__json_counter(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_counter, name, TEXT, true),
                                           NBC__JSON_AT(nbc_counter, section_index, INT, true),
                                           NBC__JSON_AT(nbc_counter, value, DOUBLE, true)};
  nbc_counter *c;
  (void)target;
  NBC__REP_APPEND(nbc_counter, j->report->counters, j->report->counter_count, c);
  if (!c) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c)) return false;
  if (!c->name) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "name is null");
  return nbc__json_index(j, c->section_index, &j->top_section, &j->top_section_line);
}

static bool nbc__json_joint(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_joint, incoming, BOOL, true),
      NBC__JSON_BY(nbc_joint, "peer", peer, true, nbc__json_peer),
      NBC__JSON_AT(nbc_joint, count, COUNT, true),
      NBC__JSON_AT(nbc_joint, size_bytes, COUNT, false),
      NBC__JSON_AT(nbc_joint, xfer_ns, NS, true),
      NBC__JSON_AT(nbc_joint, min_overlap_ns, NS, true),
      NBC__JSON_AT(nbc_joint, max_overlap_ns, NS, true)};
  nbc_joint *o;
  (void)target;
  NBC__REP_APPEND(nbc_joint, j->report->joints, j->report->joint_count, o);
  if (!o) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), o)) return false;
  if (o->min_overlap_ns > o->max_overlap_ns || o->max_overlap_ns > o->xfer_ns)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE,
                             "min_overlap_ns, max_overlap_ns, xfer_ns must ascend");
  return true;
}

static bool nbc__json_partner(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_BY(nbc_partner_bound, "kind", kind, true, nbc__json_kind),
      NBC__JSON_AT(nbc_partner_bound, count, COUNT, true),
      NBC__JSON_AT(nbc_partner_bound, size_bytes, COUNT, false),
      NBC__JSON_AT(nbc_partner_bound, xfer_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, alone_min_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, alone_max_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, min_overlap_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, max_overlap_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, clock_err_ns, NS, false),
      NBC__JSON_AT(nbc_partner_bound, far_count, COUNT, false)};
  nbc_partner_bound o;
  (void)target;
  memset(&o, 0, sizeof o);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), &o)) return false;
  const nbc_status status = nbc_report_partner_bound(j->report, &o);
  if (status == NBC_E_NOMEM) return nbc__json_no_memory(j);
  if (status != NBC_OK)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE,
                             "alone_min_ns, min_overlap_ns, max_overlap_ns, alone_max_ns, xfer_ns "
                             "must ascend");
  return true;
}

static bool nbc__json_site(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_site, call, TEXT, true),    NBC__JSON_AT(nbc_site, module, TEXT, false),
      NBC__JSON_AT(nbc_site, symbol, TEXT, false), NBC__JSON_AT(nbc_site, offset, COUNT, true),
      NBC__JSON_AT(nbc_site, count, COUNT, true),  NBC__JSON_AT(nbc_site, total_ns, NS, true),
      NBC__JSON_AT(nbc_site, max_ns, NS, false),   NBC__JSON_AT(nbc_site, where, TEXT, false)};
  nbc_site *s;
  (void)target;
  NBC__REP_APPEND(nbc_site, j->report->sites, j->report->site_count, s);
  if (!s) return nbc__json_no_memory(j);
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), s) &&
         (s->call || nbc__json_fail_at(j, j->line, NBC_E_PARSE, "call is null"));
}

static bool nbc__json_comm(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_comm_total, name, TEXT, true),
                                           NBC__JSON_AT(nbc_comm_total, size, INT, true),
                                           NBC__JSON_AT(nbc_comm_total, count, COUNT, true),
                                           NBC__JSON_AT(nbc_comm_total, size_bytes, COUNT, false),
                                           NBC__JSON_AT(nbc_comm_total, waited_ns, NS, false)};
  nbc_comm_total *c;
  (void)target;
  NBC__REP_APPEND(nbc_comm_total, j->report->comms, j->report->comm_count, c);
  if (!c) return nbc__json_no_memory(j);
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c) &&
         (c->name || nbc__json_fail_at(j, j->line, NBC_E_PARSE, "name is null"));
}

static bool nbc__json_ending(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_ending, begin_plus1, INT, true),
                                           NBC__JSON_AT(nbc_ending, end_plus1, INT, true),
                                           NBC__JSON_AT(nbc_ending, count, COUNT, true),
                                           NBC__JSON_AT(nbc_ending, waited_ns, NS, true)};
  nbc_ending *e;
  (void)target;
  NBC__REP_APPEND(nbc_ending, j->report->endings, j->report->ending_count, e);
  if (!e) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), e)) return false;
  if (e->begin_plus1 < 1 || e->end_plus1 < 1)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "an ending without a place");
  return nbc__json_index(j, e->begin_plus1, &j->top_site, &j->top_site_line) &&
         nbc__json_index(j, e->end_plus1, &j->top_site, &j->top_site_line);
}

static bool nbc__json_pair(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_pair, rank, INT, true),
                                           NBC__JSON_AT(nbc_pair, partner, INT, true),
                                           NBC__JSON_AT(nbc_pair, sent_count, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, sent_bytes, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, received_count, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, received_bytes, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, waited_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, busy_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, small_waited_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, known_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, late_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, moving_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, computing_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, last_count, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, last_ns, NS, false)};
  nbc_pair *p;
  (void)target;
  NBC__REP_APPEND(nbc_pair, j->report->pairs, j->report->pair_count, p);
  if (!p) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), p)) return false;
  return (p->rank >= 0 && p->partner >= 0) ||
         nbc__json_fail_at(j, j->line, NBC_E_PARSE, "negative rank");
}

static bool nbc__json_waited_for(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_waited_for, partner, INT, true),
                                           NBC__JSON_AT(nbc_waited_for, late_ns, NS, false),
                                           NBC__JSON_AT(nbc_waited_for, last_ns, NS, false)};
  nbc_waited_for one = {-1, 0, 0};
  (void)target;
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), &one)) return false;
  const nbc_waits *const w = &j->report->waits;
  if (one.partner < 0) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "negative rank");
  if (w->of_count && one.partner <= w->of[w->of_count - 1].partner)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "partners must ascend");
  nbc_waited_for *const of = nbc__rep_waited_for(&j->report->waits, one.partner);
  if (!of) return nbc__json_no_memory(j);
  *of = one;
  return true;
}
static bool nbc__json_waits(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_waits, held_ns, NS, true),
                                           NBC__JSON_AT(nbc_waits, late_ns, NS, false),
                                           NBC__JSON_AT(nbc_waits, last_ns, NS, false),
                                           NBC__JSON_AT(nbc_waits, moving_ns, NS, false),
                                           NBC__JSON_AT(nbc_waits, computing_ns, NS, false),
                                           {"of", NBC__JSON_ARRAY, false, 0, nbc__json_waited_for}};
  const nbc_waits *w = (const nbc_waits *)target;
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), target)) return false;
  return w->computing_ns <= w->moving_ns ||
         nbc__json_fail_at(j, j->line, NBC_E_PARSE, "computing_ns is above moving_ns");
}

static bool nbc__json_note(nbc__json *j, void *target) {
  char **note;
  (void)target;
  NBC__REP_APPEND(char *, j->report->notes, j->report->note_count, note);
  if (!note) return nbc__json_no_memory(j);
  return nbc__json_text(j, note) &&
         (*note || nbc__json_fail_at(j, j->line, NBC_E_PARSE, "a note is null"));
}

static bool nbc__json_edge(nbc__json *j, void *target) {
  nbc_report *r = (nbc_report *)target;
  const long index = nbc__json_at(j);
  if (index >= NBC_MAX_CLASSES - 1) return nbc__json_fail(j, "too many size classes");
  r->class_edge_count = (size_t)index + 1;
  return nbc__json_count(j, &r->class_edges_bytes[index]);
}

static bool nbc__json_source(nbc__json *j, void *target) {
  char name[64];
  int s = NBC_CLOCK_USER;
  if (!nbc__json_string(j, name, sizeof name, NULL)) return false;
  while (s > 0 && strcmp(nbc_clock_source_name((nbc_clock_source)s), name) != 0) s--;
  *(nbc_clock_source *)target = (nbc_clock_source)s;
  return true;
}

/* These get the whole report (offset 0). */
static bool nbc__json_schema(nbc__json *j, void *target) {
  char schema[64];
  (void)target;
  if (!nbc__json_string(j, schema, sizeof schema, NULL)) return false;
  return strcmp(schema, "nbc-overlap-report/1") == 0 ||
         nbc__json_fail_at(j, j->line, NBC_E_PARSE, "this reader knows only nbc-overlap-report/1");
}
static bool nbc__json_clock(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_BY(nbc_report, "source", clock_source, false, nbc__json_source),
      {"hz", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_hz), NULL},
      {"rate_err_ppm", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_rate_err_ppm), NULL},
      {"resolution_ns", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_resolution_ns), NULL},
      {"read_cost_ns", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_read_cost_ns), NULL}};
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), target);
}
static bool nbc__json_edges(nbc__json *j, void *target) {
  const nbc_report *r = (const nbc_report *)target;
  if (!nbc__json_array(j, nbc__json_edge, target)) return false;
  for (size_t i = 1; i < r->class_edge_count; i++)
    if (r->class_edges_bytes[i] <= r->class_edges_bytes[i - 1])
      return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "size classes must ascend");
  return true;
}
static bool nbc__json_total(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_TOTALS(nbc_report, total.)};
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), target) &&
         nbc__json_check_totals(j, &((nbc_report *)target)->total);
}
static bool nbc__json_problems(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
#define NBC__X(name, text)                                                                         \
  {#name, NBC__JSON_COUNT, false, NBC_PROBLEM_##name * sizeof(uint64_t), NULL},
      NBC_PROBLEM_LIST(NBC__X)
#undef NBC__X
  };
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), target);
}

static const nbc__json_field nbc__json_report_fields[] = {
    {"schema", NBC__JSON_OTHER, true, 0, nbc__json_schema},
    NBC__JSON_AT(nbc_report, program, TEXT, false),
    NBC__JSON_AT(nbc_report, host, TEXT, false),
    NBC__JSON_AT(nbc_report, library, TEXT, false),
    NBC__JSON_AT(nbc_report, rank, INT, true),
    NBC__JSON_AT(nbc_report, size, INT, true),
    NBC__JSON_AT(nbc_report, pid, INT, false),
    NBC__JSON_AT(nbc_report, process_count, INT, true),
    NBC__JSON_AT(nbc_report, start_unix_s, DOUBLE, false),
    NBC__JSON_AT(nbc_report, wall_ns, NS, true),
    NBC__JSON_AT(nbc_report, comp_ns, NS, true),
    NBC__JSON_AT(nbc_report, call_ns, NS, true),
    NBC__JSON_AT(nbc_report, off_ns, NS, true),
    NBC__JSON_AT(nbc_report, tool_ns, NS, false),
    {"clock", NBC__JSON_OTHER, false, 0, nbc__json_clock},
    NBC__JSON_AT(nbc_report, table_same_node, TEXT, false),
    NBC__JSON_AT(nbc_report, table_other_node, TEXT, false),
    NBC__JSON_AT(nbc_report, table_is_default, BOOL, false),
    NBC__JSON_AT(nbc_report, is_simulated, BOOL, false),
    {"class_edges_bytes", NBC__JSON_OTHER, true, 0, nbc__json_edges},
    {"total", NBC__JSON_OTHER, true, 0, nbc__json_total},
    {"sections", NBC__JSON_ARRAY, true, 0, nbc__json_section},
    {"cells", NBC__JSON_ARRAY, true, 0, nbc__json_cell},
    {"calls", NBC__JSON_ARRAY, false, 0, nbc__json_call},
    {"threads", NBC__JSON_ARRAY, false, 0, nbc__json_thread},
    {"counters", NBC__JSON_ARRAY, false, 0, nbc__json_counter},
    {"joint_bounds", NBC__JSON_ARRAY, false, 0, nbc__json_joint},
    {"partner_bounds", NBC__JSON_ARRAY, false, 0, nbc__json_partner},
    {"sites", NBC__JSON_ARRAY, false, 0, nbc__json_site},
    {"endings", NBC__JSON_ARRAY, false, 0, nbc__json_ending},
    {"pairs", NBC__JSON_ARRAY, false, 0, nbc__json_pair},
    NBC__JSON_BY(nbc_report, "waits", waits, false, nbc__json_waits),
    {"communicators", NBC__JSON_ARRAY, false, 0, nbc__json_comm},
    NBC__JSON_BY(nbc_report, "problems", problems, false, nbc__json_problems),
    {"notes", NBC__JSON_ARRAY, false, 0, nbc__json_note}};

/* Cells and calls in their order, rows of the same key (two unknown kinds) made one. */
static void nbc__json_sort(nbc__json *j) {
  nbc_report *r = j->report;
  size_t kept = 0;
  if (j->unsorted_cells) {
    qsort(r->cells, r->cell_count, sizeof *r->cells, nbc__json_cell_order);
    for (size_t i = 1; i < r->cell_count; i++) {
      nbc_cell *last = &r->cells[kept], *c = &r->cells[i];
      if (nbc__rep_cell_order(last, c) == 0)
        nbc__rep_join_cell(last, c);
      else
        r->cells[++kept] = *c;
    }
    r->cell_count = kept + 1;
  }
  if (!j->unsorted_calls) return;
  qsort(r->calls, r->call_count, sizeof *r->calls, nbc__json_call_order);
  kept = 0;
  for (size_t i = 1; i < r->call_count; i++) {
    nbc_call *last = &r->calls[kept], *c = &r->calls[i];
    if (nbc__json_call_order(last, c) == 0)
      nbc__rep_join_call(last, c);
    else
      r->calls[++kept] = *c;
  }
  r->call_count = kept + 1;
}

/* Everything after the parsing of the text itself. */
static bool nbc__json_finish(nbc__json *j) {
  const nbc_report *r = j->report;
  char what[80];
  if (r->size < 1 || r->rank < -1 || r->rank >= r->size) {
    snprintf(what, sizeof what, "rank %d of a world of size %d", r->rank, r->size);
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, what);
  }
  if (nbc__json_peek(j) || j->at < j->end) return nbc__json_fail(j, "something follows the report");
  if (j->top_section >= (int)r->section_count) {
    snprintf(what, sizeof what, "section_index %d, but the last section is %zu", j->top_section,
             r->section_count - 1);
    return nbc__json_fail_at(j, j->top_section_line, NBC_E_PARSE, what);
  }
  if ((size_t)j->top_site > r->site_count) {
    snprintf(what, sizeof what, "site_plus1 %d, but there are %zu sites", j->top_site,
             r->site_count);
    return nbc__json_fail_at(j, j->top_site_line, NBC_E_PARSE, what);
  }
  if (j->top_class > (int)r->class_edge_count) {
    snprintf(what, sizeof what, "class_index %d, but the last class is %zu", j->top_class,
             r->class_edge_count);
    return nbc__json_fail_at(j, j->top_class_line, NBC_E_PARSE, what);
  }
  nbc__json_sort(j);
  return true;
}

NBC_API nbc_status nbc_report_parse_json(const char *text, size_t text_bytes, const char *name,
                                         nbc_report **report, nbc_error *err) {
  if (!report) return nbc__status_fail(err, NBC_E_INVAL, 0, "report: must not be NULL");
  nbc__json j;
  memset(&j, 0, sizeof j);
  *report = NULL;
  if (!text && text_bytes) return NBC_E_INVAL;
  j.at = text;
  j.end = text_bytes ? text + text_bytes : text;
  j.name = name ? name : "?";
  j.line = 1;
  j.err = err;
  if (nbc_report_create(&j.report) != NBC_OK) {
    nbc__json_no_memory(&j);
    return NBC_E_NOMEM;
  }
  if (nbc__json_object(&j, nbc__json_report_fields, NBC__JSON_LENGTH(nbc__json_report_fields),
                       j.report) &&
      nbc__json_finish(&j)) {
    *report = j.report;
    return NBC_OK;
  }
  nbc_report_free(j.report);
  return j.status;
}

static nbc_status nbc__json_file_error(nbc_error *err, nbc_status status, const char *path,
                                       const char *what) {
  if (err) {
    err->status = status;
    err->line = 0;
    snprintf(err->text, sizeof err->text, "%.150s: %.90s", path, what);
  }
  return status;
}

NBC_API nbc_status nbc_report_read_json(const char *path, nbc_report **report, nbc_error *err) {
  if (!path || !report)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "path and report: must not be NULL");
  size_t room = 1 << 16, used = 0;
  *report = NULL;
  FILE *file = fopen(path, "rb");
  if (!file) return nbc__json_file_error(err, NBC_E_IO, path, strerror(errno));
  char *text = (char *)NBC_MALLOC(room);
  while (text) {
    used += fread(text + used, 1, room - used, file);
    if (used < room || room >= NBC__JSON_MAX_BYTES) break;
    char *bigger = (char *)NBC_MALLOC(2 * room);
    if (bigger) memcpy(bigger, text, used);
    NBC_FREE(text);
    text = bigger;
    room *= 2;
  }
  nbc_status status;
  if (!text)
    status = nbc__json_file_error(err, NBC_E_NOMEM, path, "out of memory");
  else if (ferror(file))
    status = nbc__json_file_error(err, NBC_E_IO, path, strerror(errno));
  else if (used == room)
    status = nbc__json_file_error(err, NBC_E_PARSE, path, "larger than any report (64 MiB)");
  else
    status = nbc_report_parse_json(text, used, path, report, err);
  fclose(file);
  NBC_FREE(text);
  return status;
}
