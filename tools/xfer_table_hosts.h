/* xfer_table_hosts.h: what xfer_table does for `nbc see` on several hosts: --hosts, --merge. Part of
   xfer_table.c. */

/* How many bytes at this table's rate take as long as the first ones of a message, whatever its size: those
   that may move where nobody looks take no larger share of any message then, also by a faster table. */
static int64_t as_share_of_any(const nbc_table *table, int64_t bytes) {
  const uint64_t *size_bytes;
  const double *time_s, part_ns = (double)nbc_table_time_ns(table, (uint64_t)bytes);
  const size_t points = nbc_table_points(table, &size_bytes, &time_s);
  double most = (double)bytes;
  for (size_t k = 0; bytes > 0 && k <= points; k++) {
    const uint64_t n = k < points ? size_bytes[k] : (uint64_t)1 << 40;
    const int64_t all_ns = nbc_table_time_ns(table, n);
    if (n <= (uint64_t)bytes || all_ns <= 0) continue;
    if ((double)n * part_ns / (double)all_ns > most) most = (double)n * part_ns / (double)all_ns;
  }
  return most < 9e18 ? (int64_t)most + 1 : INT64_MAX;
}
/* The larger of two sizes, of which -1 means: not known. */
static int64_t larger_known(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a > b ? a : b; }

/* --merge OUT WHY TABLE...: one table in place of several, for partners that are not told apart. Each time is
   the fastest, because bounds hold for slower transfers; eager, tail and link are the largest. WHY it claims no
   minimum nevertheless; "": it does when none of them was disturbed. */
static int merge_tables(const char *to, const char *why, char **paths, int count) {
  nbc_table *tables[64], *merged;
  nbc_error err;
  uint64_t sizes[NBC_TABLE_MAX_POINTS];
  double fastest_s[NBC_TABLE_MAX_POINTS];
  const uint64_t *size_bytes;
  const double *time_s;
  int64_t eager = 0, tail = 0;
  double link = 0;
  uint32_t link_peers = UINT32_MAX;
  char said[200];
  memset(&err, 0, sizeof err);
  if (count < 1 || count > 64) return fail("--merge takes 1 to 64 tables", &err);
  for (int i = 0; i < count; i++)
    if (nbc_table_read(paths[i], &tables[i], &err) != NBC_OK) return fail(paths[i], &err);
  const size_t points = nbc_table_points(tables[0], &size_bytes, &time_s);
  memcpy(sizes, size_bytes, points * sizeof *sizes);
  for (size_t k = 0; k < points; k++) {
    fastest_s[k] = 3600;
    for (int i = 0; i < count; i++) {
      const double s = (double)nbc_table_time_ns(tables[i], sizes[k]) * 1e-9;
      if (s < fastest_s[k]) fastest_s[k] = s;
    }
  }
  bool link_known = true;
  snprintf(said, sizeof said, "%s", why);
  for (int i = 0; i < count; i++) {
    const double l = nbc_table_link_bytes_per_s(tables[i]);
    const char *disturbed = nbc_table_disturbed(tables[i]);
    eager = larger_known(eager, as_share_of_any(tables[i], nbc_table_eager_bytes(tables[i])));
    tail = larger_known(tail, as_share_of_any(tables[i], nbc_table_tail_bytes(tables[i])));
    link_known = link_known && l > 0;
    if (l > link) link = l;
    if (nbc_table_link_peers(tables[i]) < link_peers) link_peers = nbc_table_link_peers(tables[i]);
    if (!said[0] && disturbed) snprintf(said, sizeof said, "one of its tables: %s", disturbed);
  }
  char what[800];
  int n = snprintf(what, sizeof what, TABLE_MAKE_LINE "%d", (int)TABLE_MAKE);
  if (eager >= 0)
    n += snprintf(what + n, sizeof what - (size_t)n, "\neager_bytes %lld", (long long)eager);
  if (tail >= 0)
    n += snprintf(what + n, sizeof what - (size_t)n, "\ntail_bytes %lld", (long long)tail);
  if (link_known)
    n += snprintf(what + n, sizeof what - (size_t)n, "\nlink_bytes_per_s %.0f\nlink_peers %u", link,
                  (unsigned)link_peers);
  if (said[0]) snprintf(what + n, sizeof what - (size_t)n, "\ndisturbed %s", said);
  for (int i = 0; i < count; i++) nbc_table_free(tables[i]);
  if (nbc_table_create(sizes, fastest_s, points, to, &merged, &err) != NBC_OK)
    return fail(to, &err);
  const int status = write_table(merged, to, "processes, the fastest of several tables", what);
  nbc_table_free(merged);
  return status;
}

static int compare_names(const void *a, const void *b) {
  return strcmp((const char *)a, (const char *)b);
}
/* --hosts: a line "host NAME" for each host of this run. */
static int print_hosts(int rank, int size) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "";
  int length;
  char(*all)[MPI_MAX_PROCESSOR_NAME] =
      (char(*)[MPI_MAX_PROCESSOR_NAME])calloc(rank == 0 ? (size_t)size : 1, sizeof *all);
  if (!all) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Get_processor_name(mine, &length);
  MPI_Gather(mine, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0,
             MPI_COMM_WORLD);
  if (rank == 0) qsort(all, (size_t)size, sizeof *all, compare_names);
  for (int i = 0; rank == 0 && i < size; i++)
    if (i == 0 || strcmp(all[i], all[i - 1]) != 0) printf("host %s\n", all[i]);
  free(all);
  return 0;
}
