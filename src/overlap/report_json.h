/* Reports for programs: JSON, written and read back. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "report.h"

/* For programs: one JSON object, "schema": "nbc-overlap-report/1"; every number of nbc_report under
   the same name. Field order is fixed. Readers accept unknown keys. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_json(const nbc_report *report, FILE *out);
/* Reads what nbc_report_write_json wrote; the input is untrusted. err names file, line and field.
   ret NBC_OK | NBC_E_IO | NBC_E_PARSE | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_read_json(const char *path, nbc_report **report, nbc_error *err);
NBC_API nbc_status nbc_report_parse_json(const char *text, size_t text_bytes, const char *name,
                                         nbc_report **report, nbc_error *err);
