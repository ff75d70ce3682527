/* Two reports side by side: what a change of the program changed. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "report.h"

/* Before and after a code change: which section, which size class moved, biggest change first.
   ret NBC_OK | NBC_E_IO | NBC_E_MISMATCH (class edges differ) */
NBC_API nbc_status nbc_report_write_diff(const nbc_report *before, const nbc_report *after,
                                         FILE *out);
