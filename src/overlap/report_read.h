/* Reports read back from JSON. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "report.h"

/* Reads what nbc_report_write_json wrote; the input is untrusted. err names file, line and field.
   ret NBC_OK | NBC_E_IO | NBC_E_PARSE | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_read_json(const char *path, nbc_report **report, nbc_error *err);
NBC_API nbc_status nbc_report_parse_json(const char *text, size_t text_bytes, const char *name,
                                         nbc_report **report, nbc_error *err);
