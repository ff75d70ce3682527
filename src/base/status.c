/* status.c: status codes, errors with text. */
#include "status.h"
#include "locale.h"

/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text; versions                                           */
/* ============================================================================================== */
NBC_API const char *nbc_status_name(nbc_status status) {
  switch (status) {
#define NBC__X(name, value, text)                                                                  \
  case name: return #name;
    NBC_STATUS_LIST(NBC__X)
#undef NBC__X
  case NBC_STATUS_FORCE_INT32: break;
  }
  return "NBC_?";
}

NBC_API const char *nbc_status_text(nbc_status status) {
  switch (status) {
#define NBC__X(name, value, text)                                                                  \
  case name: return text;
    NBC_STATUS_LIST(NBC__X)
#undef NBC__X
  case NBC_STATUS_FORCE_INT32: break;
  }
  return "unknown status";
}

NBC_API int nbc_version(void) { return NBC_VERSION; }

NBC_API const char *nbc_format_name(nbc_format format) {
  static const char *const names[] = {
#define NBC__X(name, text) text,
      NBC_FORMAT_LIST(NBC__X)
#undef NBC__X
  };
  return (unsigned)format < NBC_FORMAT_COUNT ? names[format] : "?";
}

/* Fills err (may be NULL) and returns status. */
NBC__PRIVATE nbc_status nbc__status_fail(nbc_error *err, nbc_status status, int line,
                                         const char *format, ...) {
  va_list args;
  if (!err) return status;
  err->status = status;
  err->line = line;
  const locale_t before = nbc__locale_begin();
  va_start(args, format);
  vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  nbc__locale_end(before);
  return status;
}

/* Zeroed memory; 0 bytes too have an address of their own. NULL: none left. */
NBC__PRIVATE void *nbc__zalloc(size_t size_bytes) {
#ifdef NBC_ZALLOC
  return NBC_ZALLOC(size_bytes ? size_bytes : 1);
#else
  void *p = NBC_MALLOC(size_bytes ? size_bytes : 1);
  if (p) memset(p, 0, size_bytes);
  return p;
#endif
}
