/* overlap_report_unmoved.h: the time in calls that move no message of their own (barriers, looks, files, what is made), and
   what to do about it: no transfer tells of it. Part of overlap_report.c. */
enum { BARRIERS, LOOKS, FILES, MADE, UNMOVED_GROUPS };
static const char *const unmoved_name[] = {"barriers", "looking for messages", "files",
                                           "communicators and windows"};
static const char *const unmoved_what[] = {
    [BARRIERS] =
        "A barrier moves nothing: its time is that of who comes last, whom timelines name. Balance "
        "cures that; a barrier that orders nothing else may go: messages and "
        "collectives wait for their data by themselves.",
    [LOOKS] = "Tests and probes drive the library and end what is there, and otherwise only look: "
              "a thread "
              "that has nothing else to do loses nothing by them, one that has may look less "
              "often, or wait. "
              "MPI_Probe and MPI_Mprobe do wait, for who sends: whether that is late is told under "
              "who waits for whom.",
    [FILES] = "Of files only the time is known. No progress of messages shortens it: write less "
              "often and more at "
              "once, by collective calls (MPI_File_write_at_all), or beside computation "
              "(MPI_File_iwrite_at).",
    [MADE] = "Who makes them waits for all of their members: make them once, and keep them."};

/* -1: none of these. What the preload counts under a kind it calls by these names. */
static int unmoved_kind(nbc_kind kind) {
  switch (kind) {
  case NBC_KIND_BARRIER: return BARRIERS;
  case NBC_KIND_TEST:
  case NBC_KIND_IPROBE:
  case NBC_KIND_PROBE: return LOOKS;
  case NBC_KIND_IO: return FILES;
  case NBC_KIND_COMM_DUP:
  case NBC_KIND_COMM_CREATE:
  case NBC_KIND_COMM_SPLIT:
  case NBC_KIND_COMM_FREE:
  case NBC_KIND_TOPOLOGY:
  case NBC_KIND_WIN_CREATE: return MADE;
  default: return -1;
  }
}
/* The same calls by their names: what is of another kind, as MPI_Win_free, is of none of these. */
static int unmoved_call(const char *name) {
  static const struct {
    const char *begin;
    int group;
  } names[] = {{"MPI_Barrier", BARRIERS},
               {"MPIX_Comm_agree", BARRIERS},
               {"MPI_Test", LOOKS},
               {"MPI_Request_get_status", LOOKS},
               {"MPI_Parrived", LOOKS},
               {"MPI_Win_test", LOOKS},
               {"MPI_Iprobe", LOOKS},
               {"MPI_Improbe", LOOKS},
               {"MPI_Probe", LOOKS},
               {"MPI_Mprobe", LOOKS},
               {"MPI_File_", FILES},
               {"MPI_Comm_dup", MADE},
               {"MPI_Comm_idup", MADE},
               {"MPI_Comm_create", MADE},
               {"MPI_Comm_split", MADE},
               {"MPI_Comm_free", MADE},
               {"MPI_Comm_disconnect", MADE},
               {"MPIX_Comm_shrink", MADE},
               {"MPI_Intercomm_", MADE},
               {"MPI_Cart_create", MADE},
               {"MPI_Cart_sub", MADE},
               {"MPI_Graph_create", MADE},
               {"MPI_Dist_graph_create", MADE},
               {"MPI_Win_create", MADE},
               {"MPI_Win_allocate", MADE}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(name, names[i].begin, strlen(names[i].begin)) == 0) return names[i].group;
  return -1;
}

typedef struct unmoved {
  int group;
  uint64_t count;
  int64_t total_ns, place_ns;                      /* ... and at the place of most of it */
  char call[40], where[sizeof((place *)0)->where]; /* empty: not known */
} unmoved;
static int unmoved_order(const void *a, const void *b) { /* most time first */
  const unmoved *x = (const unmoved *)a, *y = (const unmoved *)b;
  if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
  return x->group - y->group;
}
/* Of each group the place with most time; what is called alike is one place. */
static void worst_places(const nbc_report *r, unmoved groups[UNMOVED_GROUPS]) {
  const site_name *const names = site_names(r);
  int64_t *const sums_ns = (int64_t *)must(calloc(r->site_count + 1, sizeof *sums_ns));
  for (size_t i = 0; i < r->site_count; i++)
    plus(&sums_ns[names[i].number - 1], r->sites[i].total_ns);
  for (size_t i = 0; i < r->site_count; i++) {
    const int g = unmoved_call(r->sites[i].call);
    if (g < 0 || sums_ns[i] <= groups[g].place_ns) continue;
    groups[g].place_ns = sums_ns[i];
    plain(r->sites[i].call, groups[g].call, sizeof groups[g].call);
    plain(names[i].where, groups[g].where, sizeof groups[g].where);
  }
  free(sums_ns);
}
/* Those with a twentieth of the time in calls, most time first: how many. */
static size_t unmoved_of(const nbc_report *r, unmoved groups[UNMOVED_GROUPS]) {
  size_t count = 0;
  memset(groups, 0, UNMOVED_GROUPS * sizeof *groups);
  for (int g = 0; g < UNMOVED_GROUPS; g++) groups[g].group = g;
  for (size_t i = 0; i < r->call_count; i++) {
    const int g = unmoved_kind(r->calls[i].kind);
    if (g < 0) continue;
    groups[g].count += r->calls[i].count;
    plus(&groups[g].total_ns, r->calls[i].total_ns);
  }
  worst_places(r, groups);
  qsort(groups, UNMOVED_GROUPS, sizeof *groups, unmoved_order);
  while (count < UNMOVED_GROUPS && groups[count].total_ns > 0 &&
         share(groups[count].total_ns, r->call_ns) >= 0.05)
    count++;
  return count;
}

/* All groups that took time, most first, also those that are not worth advice. */
static bool csv_unmoved(const nbc_report *r, const char *folder) {
  char path[4096];
  unmoved groups[UNMOVED_GROUPS];
  unmoved_of(r, groups);
  FILE *out = csv_open(folder, "unmoved", path, sizeof path);
  if (!out) return false;
  fputs("what,count,total_ns,call,where,place_ns\n", out);
  for (size_t i = 0; i < UNMOVED_GROUPS && groups[i].total_ns > 0; i++) {
    csv_text(out, unmoved_name[groups[i].group]);
    fprintf(out, ",%llu,%lld,", (unsigned long long)groups[i].count, (long long)groups[i].total_ns);
    csv_text(out, groups[i].call);
    fputc(',', out);
    csv_text(out, groups[i].where);
    fprintf(out, ",%lld\n", (long long)groups[i].place_ns);
  }
  return output_close(out, path);
}

static const char unmoved_title[] = "Calls that move no message of their own, and what to do";
static void text_unmoved(const unmoved *groups, size_t count, FILE *out) {
  words a, b;
  if (count) fprintf(out, "\n%s\n", unmoved_title);
  for (size_t i = 0; i < count; i++) {
    const unmoved *x = &groups[i];
    fprintf(out, "  %s: %s in %llu call%s", unmoved_name[x->group], time_text(x->total_ns, &a),
            (unsigned long long)x->count, x->count == 1 ? "" : "s");
    if (x->call[0])
      fprintf(out, ", %s of it in %s at %s", time_text(x->place_ns, &b), x->call, x->where);
    fputc('\n', out);
    put_wrapped(out, "     ", unmoved_what[x->group]);
  }
}
static void put_unmoved(const unmoved *groups, size_t count, FILE *out) {
  words a, b;
  if (count) fprintf(out, "<h2>%s</h2>\n<ul>\n", unmoved_title);
  for (size_t i = 0; i < count; i++) {
    const unmoved *x = &groups[i];
    fprintf(out, "<li><b>%s</b>: %s in %llu call%s", unmoved_name[x->group],
            time_text(x->total_ns, &a), (unsigned long long)x->count, x->count == 1 ? "" : "s");
    if (x->call[0]) {
      fprintf(out, ", %s of it in ", time_text(x->place_ns, &b));
      put(out, x->call);
      fputs(" at ", out);
      put(out, x->where);
    }
    fprintf(out, ".<br/>%s</li>\n", unmoved_what[x->group]);
  }
  if (count) fputs("</ul>\n", out);
}

/* What costs most first, be it transfers or calls without any. */
static bool unmoved_is_worst(const nbc_report *r, const unmoved *groups, size_t count) {
  row *rows;
  const size_t row_count = offenders(r, &rows, 1);
  const bool is = count && (!row_count || groups[0].total_ns > rows[0].t.waited_ns);
  free(rows);
  return is;
}
/* Where little time is in calls, advice on them is worth as little. */
static bool little_to_win(const nbc_report *r) {
  return r->call_ns > 0 && share(r->call_ns, r->wall_ns) < 0.1;
}
static const char little_means[] = "of all time: no more than that can be won here.";
static void text_advice(const nbc_report *r, FILE *out) {
  unmoved groups[UNMOVED_GROUPS];
  const size_t count = unmoved_of(r, groups);
  const bool first = unmoved_is_worst(r, groups, count);
  if (little_to_win(r))
    fprintf(out, "\nCommunication calls are %.1f %% %s\n", 100 * share(r->call_ns, r->wall_ns),
            little_means);
  if (first) text_unmoved(groups, count, out);
  if (r->total.count) text_offenders(r, out, count);
  if (!first) text_unmoved(groups, count, out);
}
static void put_advice(FILE *out, const nbc_report *r) {
  unmoved groups[UNMOVED_GROUPS];
  const size_t count = unmoved_of(r, groups);
  const bool first = unmoved_is_worst(r, groups, count);
  if (little_to_win(r))
    fprintf(out, "<p class=\"soft\">Communication calls are %.1f %% %s</p>\n",
            100 * share(r->call_ns, r->wall_ns), little_means);
  if (first) put_unmoved(groups, count, out);
  if (r->total.count) put_offenders(out, r, count);
  if (!first) put_unmoved(groups, count, out);
}
