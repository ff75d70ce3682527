/* Reports for programs: JSON. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "report.h"

/* For programs: one JSON object, "schema": "nbc-overlap-report/1"; every number of nbc_report under
   the same name. Field order is fixed. Readers accept unknown keys. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_json(const nbc_report *report, FILE *out);
