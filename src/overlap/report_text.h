/* Reports for people: as text. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "report.h"

/* For people: what was hidden, what was not, where, worst first. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_text(const nbc_report *report, FILE *out);

/* ---- for later pieces ---- */
NBC__PRIVATE double nbc__rep_share(int64_t part, int64_t whole);
NBC__PRIVATE double nbc__rep_exact(const nbc_totals *t, int64_t overlap_ns);
NBC__PRIVATE const char *nbc__rep_plain(const char *from, char *text, size_t size);
NBC__PRIVATE const char *nbc__rep_column(const char *name, size_t columns, char *text, size_t size);
NBC__PRIVATE const char *nbc__rep_time(int64_t ns, char *text, size_t size);
NBC__PRIVATE const char *nbc__rep_bytes(uint64_t bytes, char *text, size_t size);
NBC__PRIVATE const char *nbc__rep_class(const nbc_report *r, int c, char *text, size_t size);
