/* Reports for people: as text, two side by side. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "report.h"

/* For people: what was hidden, what was not, where, worst first. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_text(const nbc_report *report, FILE *out);
/* Before and after a code change: which section, which size class moved, biggest change first.
   ret NBC_OK | NBC_E_IO | NBC_E_MISMATCH (class edges differ) */
NBC_API nbc_status nbc_report_write_diff(const nbc_report *before, const nbc_report *after, FILE *out);
