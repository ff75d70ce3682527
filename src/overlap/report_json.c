/* report_json.c: reports for programs, as JSON. */
#include "report_json.h"
#include "clock.h"
#include "cells.h"
#include "monitor.h"

/* ---- JSON, writing ------------------------------------------------------------------------- */
/* Bytes of the UTF-8 character at p; 0 when there is none (JSON must be UTF-8, names need not). */
static int nbc__rep_utf8(const unsigned char *p) {
  const int n = *p < 0x80                 ? 1
                : *p >= 0xc2 && *p < 0xe0 ? 2
                : *p >= 0xe0 && *p < 0xf0 ? 3
                : *p >= 0xf0 && *p < 0xf5 ? 4
                                          : 0;
  for (int i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  /* overlong forms, halves of pairs, beyond the last character */
  if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
      (*p == 0xf4 && p[1] > 0x8f))
    return 0;
  return n;
}

static void nbc__rep_json_string(FILE *out, const char *text) {
  if (!text) {
    fputs("null", out);
    return;
  }
  fputc('"', out);
  for (const unsigned char *p = (const unsigned char *)text; *p;) {
    const int n = nbc__rep_utf8(p);
    if (*p == '"' || *p == '\\')
      fprintf(out, "\\%c", *p);
    else if (*p < 0x20)
      fprintf(out, "\\u%04x", *p);
    else if (n)
      fwrite(p, 1, (size_t)n, out);
    else
      fputs("\xEF\xBF\xBD", out); /* U+FFFD, as it is written when read back */
    p += n ? n : 1;
  }
  fputc('"', out);
}

/* A number in any locale; JSON has no infinities. */
static void nbc__rep_json_double(FILE *out, double value) {
  char text[40];
  if (!(fabs(value) <= 1.7e308)) {
    fputs("null", out);
    return;
  }
  snprintf(text, sizeof text, "%.17g", value);
  for (char *p = text; *p; p++)
    if (*p == ',') *p = '.';
  fputs(text, out);
}

static void nbc__rep_json_totals(FILE *out, const nbc_totals *t) {
  fprintf(out,
          "\"method\":\"independent\",\"count\":%llu,\"size_bytes\":%llu,\"xfer_ns\":%lld,"
          "\"min_overlap_ns\":%lld,\"max_overlap_ns\":%lld,"
          "\"case_count\":[%llu,%llu,%llu]",
          (unsigned long long)t->count, (unsigned long long)t->size_bytes, (long long)t->xfer_ns,
          (long long)t->min_overlap_ns, (long long)t->max_overlap_ns,
          (unsigned long long)t->case_count[0], (unsigned long long)t->case_count[1],
          (unsigned long long)t->case_count[2]);
  if (t->waited_ns) fprintf(out, ",\"waited_ns\":%lld", (long long)t->waited_ns);
  if (t->exact_count)
    fprintf(out,
            ",\"exact_count\":%llu,\"exact_xfer_ns\":%lld,\"exact_overlap_lo_ns\":%lld,"
            "\"exact_overlap_hi_ns\":%lld",
            (unsigned long long)t->exact_count, (long long)t->exact_xfer_ns,
            (long long)t->exact_lo_ns, (long long)t->exact_hi_ns);
}

static void nbc__rep_json_head(const nbc_report *r, FILE *out) {
  fputs("{\"schema\":\"nbc-overlap-report/1\",\n\"program\":", out);
  nbc__rep_json_string(out, r->program);
  fputs(",\"host\":", out);
  nbc__rep_json_string(out, r->host);
  fputs(",\"library\":", out);
  nbc__rep_json_string(out, r->library);
  fprintf(out,
          ",\n\"rank\":%d,\"size\":%d,\"pid\":%d,\"process_count\":%d,\"start_unix_s\":", r->rank,
          r->size, r->pid, r->process_count);
  nbc__rep_json_double(out, r->start_unix_s);
  fprintf(out, ",\n\"wall_ns\":%lld,\"comp_ns\":%lld,\"call_ns\":%lld,\"off_ns\":%lld",
          (long long)r->wall_ns, (long long)r->comp_ns, (long long)r->call_ns,
          (long long)r->off_ns);
  if (r->tool_ns) fprintf(out, ",\"tool_ns\":%lld", (long long)r->tool_ns);
  fprintf(out, ",\n\"clock\":{\"source\":\"%s\",\"hz\":", nbc_clock_source_name(r->clock_source));
  nbc__rep_json_double(out, r->clock_hz);
  fputs(",\"rate_err_ppm\":", out);
  nbc__rep_json_double(out, r->clock_rate_err_ppm);
  fputs(",\"resolution_ns\":", out);
  nbc__rep_json_double(out, r->clock_resolution_ns);
  fputs(",\"read_cost_ns\":", out);
  nbc__rep_json_double(out, r->clock_read_cost_ns);
  fputs("},\n\"table_same_node\":", out);
  nbc__rep_json_string(out, r->table_same_node);
  fputs(",\"table_other_node\":", out);
  nbc__rep_json_string(out, r->table_other_node);
  fprintf(out, ",\"table_is_default\":%s,", r->table_is_default ? "true" : "false");
  if (r->is_simulated) fputs("\"is_simulated\":true,", out);
  fputs("\n\"class_edges_bytes\":[", out);
  for (size_t i = 0; i < r->class_edge_count; i++)
    fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)r->class_edges_bytes[i]);
  fputs("],\n\"total\":{", out);
  nbc__rep_json_totals(out, &r->total);
  fputs("}", out);
}

static void nbc__rep_json_cell(const nbc_cell *c, FILE *out) {
  fprintf(out, "{\"section_index\":%d,\"kind\":\"%s\",\"class_index\":%d,\"peer\":\"%s\",",
          c->section_index, nbc_kind_name(c->kind), c->class_index, nbc_peer_name(c->peer));
  if (c->site_plus1) fprintf(out, "\"site_plus1\":%d,", c->site_plus1);
  nbc__rep_json_totals(out, &c->t);
  fprintf(out, ",\"available_ns\":%lld,\"available_count\":{", (long long)c->available_ns);
  const char *comma = "";
  for (int b = 0; b < NBC_HIST_BINS; b++) {
    if (!c->available_count[b]) continue;
    fprintf(out, "%s\"%d\":%llu", comma, b, (unsigned long long)c->available_count[b]);
    comma = ",";
  }
  fputs("}}", out);
}

/* Bounds of what was under way together, by method. */
static void nbc__rep_json_bounds(const nbc_report *r, FILE *out) {
  if (r->joint_count) fputs(",\n\"joint_bounds\":[", out);
  for (size_t i = 0; i < r->joint_count; i++) {
    const nbc_joint *j = &r->joints[i];
    fprintf(out,
            "%s{\"method\":\"joint\",\"incoming\":%s,\"peer\":\"%s\",\"count\":%llu,\"size_bytes\":"
            "%llu,"
            "\"xfer_ns\":%lld,\"min_overlap_ns\":%lld,\"max_overlap_ns\":%lld}",
            i ? ",\n " : "\n ", j->incoming ? "true" : "false", nbc_peer_name(j->peer),
            (unsigned long long)j->count, (unsigned long long)j->size_bytes, (long long)j->xfer_ns,
            (long long)j->min_overlap_ns, (long long)j->max_overlap_ns);
  }
  if (r->joint_count) fputs("]", out);
  if (r->partner_bound_count) fputs(",\n\"partner_bounds\":[", out);
  for (size_t i = 0; i < r->partner_bound_count; i++) {
    const nbc_partner_bound *b = &r->partner_bounds[i];
    fprintf(out,
            "%s{\"method\":\"partner\",\"kind\":\"%s\",\"count\":%llu,\"size_bytes\":%llu,"
            "\"xfer_ns\":%lld,\"alone_min_ns\":%lld,\"alone_max_ns\":%lld,"
            "\"min_overlap_ns\":%lld,\"max_overlap_ns\":%lld,\"clock_err_ns\":%lld,"
            "\"far_count\":%llu}",
            i ? ",\n " : "\n ", nbc_kind_name(b->kind), (unsigned long long)b->count,
            (unsigned long long)b->size_bytes, (long long)b->xfer_ns, (long long)b->alone_min_ns,
            (long long)b->alone_max_ns, (long long)b->min_overlap_ns, (long long)b->max_overlap_ns,
            (long long)b->clock_err_ns, (unsigned long long)b->far_count);
  }
  if (r->partner_bound_count) fputs("]", out);
}

static void nbc__rep_json_waits(const nbc_waits *w, FILE *out) {
  if (!w->held_ns) return;
  fprintf(out,
          ",\n\"waits\":{\"held_ns\":%lld,\"late_ns\":%lld,\"last_ns\":%lld,\"moving_ns\":%lld,"
          "\"computing_ns\":%lld,\"of\":[",
          (long long)w->held_ns, (long long)w->late_ns, (long long)w->last_ns,
          (long long)w->moving_ns, (long long)w->computing_ns);
  for (size_t i = 0; i < w->of_count; i++)
    fprintf(out, "%s{\"partner\":%d,\"late_ns\":%lld,\"last_ns\":%lld}", i ? ",\n " : "\n ",
            w->of[i].partner, (long long)w->of[i].late_ns, (long long)w->of[i].last_ns);
  fputs("]}", out);
}

/* Call sites; pairs of processes; communicators. */
static void nbc__rep_json_more(const nbc_report *r, FILE *out) {
  if (r->site_count) fputs(",\n\"sites\":[", out);
  for (size_t i = 0; i < r->site_count; i++) {
    const nbc_site *s = &r->sites[i];
    fputs(i ? ",\n {\"call\":" : "\n {\"call\":", out);
    nbc__rep_json_string(out, s->call);
    fputs(",\"module\":", out);
    nbc__rep_json_string(out, s->module);
    fputs(",\"symbol\":", out);
    nbc__rep_json_string(out, s->symbol);
    if (s->where) fputs(",\"where\":", out), nbc__rep_json_string(out, s->where);
    fprintf(out, ",\"offset\":%llu,\"count\":%llu,\"total_ns\":%lld,\"max_ns\":%lld}",
            (unsigned long long)s->offset, (unsigned long long)s->count, (long long)s->total_ns,
            (long long)s->max_ns);
  }
  if (r->site_count) fputs("]", out);
  if (r->ending_count) fputs(",\n\"endings\":[", out);
  for (size_t i = 0; i < r->ending_count; i++) {
    const nbc_ending *e = &r->endings[i];
    fprintf(out, "%s{\"begin_plus1\":%d,\"end_plus1\":%d,\"count\":%llu,\"waited_ns\":%lld}",
            i ? ",\n " : "\n ", e->begin_plus1, e->end_plus1, (unsigned long long)e->count,
            (long long)e->waited_ns);
  }
  if (r->ending_count) fputs("]", out);
  if (r->pair_count) fputs(",\n\"pairs\":[", out);
  for (size_t i = 0; i < r->pair_count; i++) {
    const nbc_pair *p = &r->pairs[i];
    fprintf(out,
            "%s{\"rank\":%d,\"partner\":%d,\"sent_count\":%llu,\"sent_bytes\":%llu,"
            "\"received_count\":%llu,"
            "\"received_bytes\":%llu,\"waited_ns\":%lld,\"busy_ns\":%lld,"
            "\"small_waited_ns\":%lld",
            i ? ",\n " : "\n ", p->rank, p->partner, (unsigned long long)p->sent_count,
            (unsigned long long)p->sent_bytes, (unsigned long long)p->received_count,
            (unsigned long long)p->received_bytes, (long long)p->waited_ns, (long long)p->busy_ns,
            (long long)p->small_waited_ns);
    if (p->known_ns)
      fprintf(out, ",\"known_ns\":%lld,\"late_ns\":%lld,\"moving_ns\":%lld,\"computing_ns\":%lld",
              (long long)p->known_ns, (long long)p->late_ns, (long long)p->moving_ns,
              (long long)p->computing_ns);
    if (p->last_count)
      fprintf(out, ",\"last_count\":%llu,\"last_ns\":%lld", (unsigned long long)p->last_count,
              (long long)p->last_ns);
    fputc('}', out);
  }
  if (r->pair_count) fputs("]", out);
  nbc__rep_json_waits(&r->waits, out);
  if (r->comm_count) fputs(",\n\"communicators\":[", out);
  for (size_t i = 0; i < r->comm_count; i++) {
    const nbc_comm_total *c = &r->comms[i];
    fputs(i ? ",\n {\"name\":" : "\n {\"name\":", out);
    nbc__rep_json_string(out, c->name);
    fprintf(out, ",\"size\":%d,\"count\":%llu,\"size_bytes\":%llu,\"waited_ns\":%lld}", c->size,
            (unsigned long long)c->count, (unsigned long long)c->size_bytes,
            (long long)c->waited_ns);
  }
  if (r->comm_count) fputs("]", out);
}

NBC_API nbc_status nbc_report_write_json(const nbc_report *r, FILE *out) {
  if (!r || !out || !nbc__rep_is_whole(r)) return NBC_E_INVAL;
  nbc__rep_json_head(r, out);
  fputs(",\n\"sections\":[", out);
  for (size_t i = 0; i < r->section_count; i++) {
    const nbc_section *s = &r->sections[i];
    fputs(i ? ",\n {\"path\":" : "\n {\"path\":", out);
    nbc__rep_json_string(out, s->path);
    fprintf(out, ",\"parent_index\":%d,\"count\":%llu,\"comp_ns\":%lld,\"call_ns\":%lld}",
            s->parent_index, (unsigned long long)s->count, (long long)s->comp_ns,
            (long long)s->call_ns);
  }
  fputs("],\n\"cells\":[", out);
  for (size_t i = 0; i < r->cell_count; i++) {
    fputs(i ? ",\n " : "\n ", out);
    nbc__rep_json_cell(&r->cells[i], out);
  }
  fputs("],\n\"calls\":[", out);
  for (size_t i = 0; i < r->call_count; i++)
    fprintf(out,
            "%s{\"section_index\":%d,\"kind\":\"%s\",\"count\":%llu,\"total_ns\":%lld,\"min_ns\":%"
            "lld,\"max_ns\":%lld}",
            i ? ",\n " : "\n ", r->calls[i].section_index, nbc_kind_name(r->calls[i].kind),
            (unsigned long long)r->calls[i].count, (long long)r->calls[i].total_ns,
            (long long)r->calls[i].min_ns, (long long)r->calls[i].max_ns);
  fputs("],\n\"threads\":[", out);
  for (size_t i = 0; i < r->thread_count; i++)
    fprintf(
        out,
        "%s{\"comp_ns\":%lld,\"call_ns\":%lld,\"off_ns\":%lld,\"tool_ns\":%lld,\"wall_ns\":%lld}",
        i ? ",\n " : "\n ", (long long)r->threads[i].comp_ns, (long long)r->threads[i].call_ns,
        (long long)r->threads[i].off_ns, (long long)r->threads[i].tool_ns,
        (long long)r->threads[i].wall_ns);
  fputs("],\n\"counters\":[", out);
  for (size_t i = 0; i < r->counter_count; i++) {
    fputs(i ? ",\n {\"name\":" : "\n {\"name\":", out);
    nbc__rep_json_string(out, r->counters[i].name);
    fprintf(out, ",\"section_index\":%d,\"value\":", r->counters[i].section_index);
    nbc__rep_json_double(out, r->counters[i].value);
    fputs("}", out);
  }
  fputs("]", out);
  nbc__rep_json_bounds(r, out);
  nbc__rep_json_more(r, out);
  fputs(",\n\"problems\":{", out);
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    fprintf(out, "%s\"%s\":%llu", p ? "," : "", nbc_problem_name((nbc_problem)p),
            (unsigned long long)r->problems[p]);
  fputs("},\n\"notes\":[", out);
  for (size_t i = 0; i < r->note_count; i++) {
    if (i) fputs(",", out);
    nbc__rep_json_string(out, r->notes[i]);
  }
  fputs("]}\n", out);
  return fflush(out) != 0 || ferror(out) ? NBC_E_IO : NBC_OK;
}
