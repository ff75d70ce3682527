/* overlap_report_csv.h: --csv: every table of the report as a file of its own. Part of overlap_report.c. */
static void csv_text(FILE *out, const char *text) {
  fputc('"', out);
  for (; text && *text; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}
static FILE *csv_open(const char *folder, const char *name, char *path, size_t size) {
  snprintf(path, size, "%.3900s/%s.csv", folder, name);
  return output_create(path);
}
static bool csv_cells(const nbc_report *r, const char *folder) {
  char path[4096];
  words w;
  FILE *out = csv_open(folder, "transfers", path, sizeof path);
  if (!out) return false;
  fputs(
      "section,kind,sizes,peer,count,bytes,xfer_ns,min_overlap_ns,max_overlap_ns,case1,case2,"
      "case3,waited_ns,available_ns,call,where,exact_count,exact_xfer_ns,exact_lo_ns,exact_hi_ns\n",
      out);
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    csv_text(out, r->sections[c->section_index].path);
    fprintf(out, ",%s,\"%s\",%s,%llu,%llu,%lld,%lld,%lld,%llu,%llu,%llu,%lld,%lld,",
            nbc_kind_name(c->kind), class_text(r, c->class_index, &w), nbc_peer_name(c->peer),
            (unsigned long long)c->t.count, (unsigned long long)c->t.size_bytes,
            (long long)c->t.xfer_ns, (long long)c->t.min_overlap_ns, (long long)c->t.max_overlap_ns,
            (unsigned long long)c->t.case_count[0], (unsigned long long)c->t.case_count[1],
            (unsigned long long)c->t.case_count[2], (long long)c->t.waited_ns,
            (long long)c->available_ns);
    if (c->site_plus1) csv_text(out, r->sites[c->site_plus1 - 1].call);
    fputc(',', out);
    if (c->site_plus1) csv_text(out, place_text(r, c->site_plus1));
    fprintf(out, ",%llu,%lld,%lld,%lld\n", (unsigned long long)c->t.exact_count,
            (long long)c->t.exact_xfer_ns, (long long)c->t.exact_lo_ns,
            (long long)c->t.exact_hi_ns);
  }
  return output_close(out, path);
}
static bool csv_calls(const nbc_report *r, const char *folder) {
  char path[4096];
  FILE *out = csv_open(folder, "calls", path, sizeof path);
  if (!out) return false;
  fputs("section,kind,count,total_ns,min_ns,max_ns\n", out);
  for (size_t i = 0; i < r->call_count; i++) {
    csv_text(out, r->sections[r->calls[i].section_index].path);
    fprintf(out, ",%s,%llu,%lld,%lld,%lld\n", nbc_kind_name(r->calls[i].kind),
            (unsigned long long)r->calls[i].count, (long long)r->calls[i].total_ns,
            (long long)r->calls[i].min_ns, (long long)r->calls[i].max_ns);
  }
  return output_close(out, path);
}
static bool csv_places(const nbc_report *r, const char *folder) {
  char path[4096];
  place *places = places_of(r);
  FILE *out = csv_open(folder, "places", path, sizeof path);
  if (out) fputs("call,where,module,offset,count,total_ns,max_ns\n", out);
  for (size_t i = 0; out && i < r->site_count; i++) {
    const nbc_site *s = places[i].site;
    csv_text(out, s->call);
    fputc(',', out);
    csv_text(out, places[i].where);
    fputc(',', out);
    csv_text(out, s->module);
    fprintf(out, ",%llu,%llu,%lld,%lld\n", (unsigned long long)s->offset,
            (unsigned long long)s->count, (long long)s->total_ns, (long long)s->max_ns);
  }
  free(places);
  return out && output_close(out, path);
}
static bool csv_pairs(const nbc_report *r, const char *folder) {
  char path[4096];
  FILE *out = csv_open(folder, "pairs", path, sizeof path);
  if (!out) return false;
  fputs("rank,partner,sent_count,sent_bytes,received_count,received_bytes,waited_ns,busy_ns,"
        "small_waited_ns,known_ns,late_ns,moving_ns,computing_ns,last_count,last_ns\n",
        out);
  for (size_t i = 0; i < r->pair_count; i++) {
    const nbc_pair *p = &r->pairs[i];
    fprintf(out, "%d,%d,%llu,%llu,%llu,%llu,%lld,%lld,%lld,", p->rank, p->partner,
            (unsigned long long)p->sent_count, (unsigned long long)p->sent_bytes,
            (unsigned long long)p->received_count, (unsigned long long)p->received_bytes,
            (long long)p->waited_ns, (long long)p->busy_ns, (long long)p->small_waited_ns);
    if (p->known_ns)
      fprintf(out, "%lld,%lld,%lld,%lld", (long long)p->known_ns, (long long)p->late_ns,
              (long long)p->moving_ns, (long long)p->computing_ns);
    else
      fputs(",,,", out);
    fprintf(out, ",%llu,%lld\n", (unsigned long long)p->last_count, (long long)p->last_ns);
  }
  return output_close(out, path);
}
static bool csv_comms(const nbc_report *r, const char *folder) {
  char path[4096];
  FILE *out = csv_open(folder, "communicators", path, sizeof path);
  if (!out) return false;
  fputs("name,size,count,size_bytes,waited_ns\n", out);
  for (size_t i = 0; i < r->comm_count; i++) {
    csv_text(out, r->comms[i].name);
    fprintf(out, ",%d,%llu,%llu,%lld\n", r->comms[i].size, (unsigned long long)r->comms[i].count,
            (unsigned long long)r->comms[i].size_bytes, (long long)r->comms[i].waited_ns);
  }
  return output_close(out, path);
}
/* Bounds by method: what shares a link, by direction and peer; what both sides know, by call. */
static bool csv_bounds(const nbc_report *r, const char *folder) {
  char path[4096];
  FILE *out = csv_open(folder, "bounds", path, sizeof path);
  if (!out) return false;
  fputs("method,what,peer,count,bytes,xfer_ns,min_overlap_ns,max_overlap_ns,"
        "alone_min_ns,alone_max_ns,clock_err_ns,far_count\n",
        out);
  for (size_t i = 0; i < r->joint_count; i++) {
    const nbc_joint *j = &r->joints[i];
    fprintf(out, "joint,%s,%s,%llu,%llu,%lld,%lld,%lld,,,,\n", j->incoming ? "in" : "out",
            nbc_peer_name(j->peer), (unsigned long long)j->count, (unsigned long long)j->size_bytes,
            (long long)j->xfer_ns, (long long)j->min_overlap_ns, (long long)j->max_overlap_ns);
  }
  for (size_t i = 0; i < r->partner_bound_count; i++) {
    const nbc_partner_bound *b = &r->partner_bounds[i];
    fprintf(out, "partner,%s,,%llu,%llu,%lld,%lld,%lld,%lld,%lld,%lld,%llu\n",
            nbc_kind_name(b->kind), (unsigned long long)b->count, (unsigned long long)b->size_bytes,
            (long long)b->xfer_ns, (long long)b->min_overlap_ns, (long long)b->max_overlap_ns,
            (long long)b->alone_min_ns, (long long)b->alone_max_ns, (long long)b->clock_err_ns,
            (unsigned long long)b->far_count);
  }
  return output_close(out, path);
}
static bool csv_ranks(const run *r, const char *folder) {
  char path[4096];
  FILE *out = csv_open(folder, "ranks", path, sizeof path);
  if (!out) return false;
  fputs("rank,host,wall_ns,comp_ns,call_ns,count,bytes,xfer_ns,min_overlap_ns,max_overlap_ns\n",
        out);
  for (size_t i = 0; i < r->process_count; i++) {
    const process *p = &r->processes[i];
    fprintf(out, "%d,", p->rank);
    csv_text(out, p->host);
    fprintf(out, ",%lld,%lld,%lld,%llu,%llu,%lld,%lld,%lld\n", (long long)p->wall_ns,
            (long long)p->comp_ns, (long long)p->call_ns, (unsigned long long)p->t.count,
            (unsigned long long)p->t.size_bytes, (long long)p->t.xfer_ns,
            (long long)p->t.min_overlap_ns, (long long)p->t.max_overlap_ns);
  }
  return output_close(out, path);
}
/* What to look at first, with the verdict on it. */
static bool csv_offenders(const nbc_report *r, const char *folder) {
  char path[4096];
  words w;
  row *rows;
  const size_t count = offenders(r, &rows, SIZE_MAX);
  FILE *out = csv_open(folder, "offenders", path, sizeof path);
  if (out) fputs("what,verdict,count,bytes,xfer_ns,min_overlap_ns,max_overlap_ns,waited_ns\n", out);
  for (size_t i = 0; out && i < count; i++) {
    const nbc_totals *t = &rows[i].t;
    csv_text(out, row_text(r, BY_CELL, &rows[i], &w));
    fputc(',', out);
    csv_text(out, verdicts[judge(r, &rows[i])].name);
    fprintf(out, ",%llu,%llu,%lld,%lld,%lld,%lld\n", (unsigned long long)t->count,
            (unsigned long long)t->size_bytes, (long long)t->xfer_ns, (long long)t->min_overlap_ns,
            (long long)t->max_overlap_ns, (long long)t->waited_ns);
  }
  free(rows);
  return out && output_close(out, path);
}
static bool csv_counters(const nbc_report *r, const char *folder) {
  char path[4096];
  FILE *out = csv_open(folder, "counters", path, sizeof path);
  if (!out) return false;
  fputs("section,name,value\n", out);
  for (size_t i = 0; i < r->counter_count; i++) {
    csv_text(out, r->sections[r->counters[i].section_index].path);
    fputc(',', out);
    csv_text(out, r->counters[i].name);
    fprintf(out, ",%.15g\n", r->counters[i].value);
  }
  return output_close(out, path);
}
static bool csv_sections(const nbc_report *r, const char *folder) {
  char path[4096];
  FILE *out = csv_open(folder, "sections", path, sizeof path);
  if (!out) return false;
  fputs("section,count,comp_ns,call_ns\n", out);
  for (size_t i = 0; i < r->section_count; i++) {
    csv_text(out, r->sections[i].path);
    fprintf(out, ",%llu,%lld,%lld\n", (unsigned long long)r->sections[i].count,
            (long long)r->sections[i].comp_ns, (long long)r->sections[i].call_ns);
  }
  return output_close(out, path);
}
/* Shares as numbers from 0 to 1, times in ns. */
static bool csv_spread(const run *r, const char *folder) {
  char path[4096];
  spread s;
  FILE *out = csv_open(folder, "spread", path, sizeof path);
  if (!out) return false;
  fputs("measure,unit,min,median,max,rank_of_min,rank_of_max\n", out);
  for (measure m = HIDDEN_LEAST; m < MEASURES; m = (measure)(m + 1))
    if (spread_of(r, m, &s)) {
      csv_text(out, measure_text[m]);
      fprintf(out, ",%s,%.15g,%.15g,%.15g,%d,%d\n", is_share(m) ? "share" : "ns", s.s.min,
              s.s.median, s.s.max, s.min_rank, s.max_rank);
    }
  return output_close(out, path);
}
/* Every table as a file of its own. */
static bool csv_endings(const nbc_report *r, const char *folder);
static bool csv_unmoved(const nbc_report *r, const char *folder);
static bool csv_why(const nbc_report *r, const char *folder);
static bool write_csv(const run *r, const char *folder) {
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) return false;
  bool good = csv_cells(r->sum, folder);
  good = csv_calls(r->sum, folder) && good;
  good = csv_places(r->sum, folder) && good;
  good = csv_endings(r->sum, folder) && good;
  good = csv_pairs(r->sum, folder) && good;
  good = csv_comms(r->sum, folder) && good;
  good = csv_bounds(r->sum, folder) && good;
  good = csv_offenders(r->sum, folder) && good;
  good = csv_unmoved(r->sum, folder) && good;
  good = csv_why(r->sum, folder) && good;
  good = csv_counters(r->sum, folder) && good;
  good = csv_sections(r->sum, folder) && good;
  good = csv_spread(r, folder) && good;
  return csv_ranks(r, folder) && good;
}
