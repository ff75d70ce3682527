/* Status codes, errors with text. */
#pragma once
#include "config.h"

/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text; versions                                           */
/* ============================================================================================== */
/* -1 … argument, -100 … system, -200 … transport, -300 … model, -400 … hardware */
#define NBC_STATUS_LIST(X)                                                                         \
  X(NBC_OK, 0, "ok")                                                                               \
  X(NBC_PENDING, 1, "not finished yet")                                                            \
  X(NBC_E_INVAL, -1, "invalid argument")                                                           \
  X(NBC_E_RANGE, -2, "value out of range")                                                         \
  X(NBC_E_PARSE, -3, "input is malformed")                                                         \
  X(NBC_E_STATE, -4, "call not allowed in this state")                                             \
  X(NBC_E_FULL, -5, "a fixed capacity is exhausted")                                               \
  X(NBC_E_TRUNCATED, -6, "message longer than the receive buffer")                                 \
  X(NBC_E_NOT_FOUND, -7, "not found")                                                              \
  X(NBC_E_MISMATCH, -8, "arguments differ between ranks")                                          \
  X(NBC_E_NOT_BUILT, -9, "this part was not built in")                                             \
  X(NBC_E_NOMEM, -100, "out of memory")                                                            \
  X(NBC_E_CLOCK, -101, "no usable clock")                                                          \
  X(NBC_E_IO, -102, "file cannot be read or written")                                              \
  X(NBC_E_THREAD, -103, "thread cannot be created or bound")                                       \
  X(NBC_E_SYSTEM, -104, "system call failed")                                                      \
  X(NBC_E_TRANSPORT, -200, "transport failed")                                                     \
  X(NBC_E_TIMEOUT, -201, "time limit reached")                                                     \
  X(NBC_E_CANCELLED, -202, "operation was cancelled")                                              \
  X(NBC_E_PEER, -203, "peer rank out of range or gone")

typedef enum nbc_status {
#define NBC__X(name, value, text) name = value,
  NBC_STATUS_LIST(NBC__X)
#undef NBC__X
      NBC_STATUS_FORCE_INT32 = 0x7fffffff
} nbc_status;

/* What went wrong, for people: names the file and line, the field or the argument. Filled on
   error only; pass NULL where an nbc_error * is asked for and you do not care. */
typedef struct nbc_error {
  nbc_status status;
  int line; /* of the input, 1-based; 0 when there is none */
  char text[256];
} nbc_error;

/* "NBC_E_INVAL". Never NULL. Any thread. */
NBC_API const char *nbc_status_name(nbc_status status);
/* "invalid argument". Never NULL. Any thread. */
NBC_API const char *nbc_status_text(nbc_status status);

/* NBC_VERSION of the implementation that is linked, which may be another than the one this file was
   compiled with: compare them where that matters. Any thread. */
NBC_API int nbc_version(void);
/* The files that this implementation writes and reads, and the version of each: keys and lines may be
   added within one version, none changes its meaning. */
#define NBC_FORMAT_LIST(X)                                                                         \
  X(REPORT, "nbc-overlap-report/1") /* "schema" in the JSON of reports */                          \
  X(TABLE, "nbc-table/1")           /* transfer-time tables */                                     \
  X(CHOICE, "nbc-choice/1")         /* choice tables of collectives */                             \
  X(DEDICATED, "nbc-dedicated/1")   /* input of the dedicated-core model */

typedef enum nbc_format {
#define NBC__X(name, text) NBC_FORMAT_##name,
  NBC_FORMAT_LIST(NBC__X)
#undef NBC__X
      NBC_FORMAT_COUNT
} nbc_format;
/* "nbc-overlap-report/1"; "?" for no format. Any thread. */
NBC_API const char *nbc_format_name(nbc_format format);

/* ---- for later pieces ---- */
#ifdef __GNUC__
__attribute__((format(printf, 4, 5)))
#endif
NBC__PRIVATE nbc_status
nbc__status_fail(nbc_error *err, nbc_status status, int line, const char *format, ...);
NBC__PRIVATE void *nbc__zalloc(size_t size_bytes);
