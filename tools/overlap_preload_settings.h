/* overlap_preload_settings.h: the environment, read once. */
static const char *setting(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static int setting_choice(const char *name, const char *const choices[], int count, int otherwise) {
  const char *value = setting(name);
  for (int i = 0; value && i < count; i++)
    if (strcmp(value, choices[i]) == 0) return i;
  if (value)
    complain("%s=%.60s is not one of %s, %s...: taken as %s", name, value, choices[0], choices[1],
             choices[otherwise]);
  return otherwise;
}

/* "256,4K,1M": bytes, K, M, G = powers of 1024. NULL when wrong. */
static const char *read_edge(const char *text, uint64_t *edge) {
  char *end;
  if (!isdigit((unsigned char)*text)) return NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  const char *units = "KMG", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (errno || value > (UINT64_MAX >> shift)) return NULL;
  *edge = (uint64_t)value << shift;
  return unit ? end + 1 : end;
}

static size_t setting_classes(uint64_t edges[NBC_MAX_CLASSES]) {
  const char *value = setting("NBC_CLASSES"), *at = value;
  size_t count = 0;
  while (at && count < NBC_MAX_CLASSES - 1) {
    at = read_edge(at, &edges[count]);
    if (!at || (count && edges[count] <= edges[count - 1])) break;
    count++;
    if (!*at) return count;
    if (*at++ != ',') break;
  }
  if (value)
    complain("NBC_CLASSES=%.60s is not a list of up to %d ascending sizes such as 256,4K,1M: the "
             "default classes are used",
             value, NBC_MAX_CLASSES - 1);
  return 0;
}

/* By pm_run: the host knows none of the processes, and what is asked of it takes no time of theirs. */
static bool is_simulated(void) { return dlsym(RTLD_DEFAULT, "pm_fold_own") != NULL; }

/* NBC_SAVE_S. Whoever gathers wants no file per process. */
static int64_t setting_save_ns(void) {
  const int otherwise = run.gathers || is_simulated() ? 0 : 300, most = 100000000;
  const char *value = setting("NBC_SAVE_S");
  char *end = NULL;
  const long s = value && isdigit((unsigned char)*value) ? strtol(value, &end, 10) : otherwise;
  if (!value || (end && !*end && s <= most)) return s * INT64_C(1000000000);
  complain("NBC_SAVE_S=%.60s is not a number of seconds from 0 to %d: taken as %d", value, most,
           otherwise);
  return otherwise * INT64_C(1000000000);
}

static nbc_table *setting_table(const char *name) {
  const char *path = setting(name), *at = path ? strstr(path, "%h") : NULL;
  char whole[PATH_MAX], host[MPI_MAX_PROCESSOR_NAME + 1] = "";
  int length = 0;
  nbc_table *table = NULL;
  nbc_error err;
  if (!path) return NULL;
  if (at && PMPI_Get_processor_name(host, &length) == MPI_SUCCESS) {
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - path), path, host, at + 2);
    path = whole;
  }
  memset(&err, 0, sizeof err);
  if (nbc_table_read(path, &table, &err) == NBC_OK) return table;
  complain("%s=%.100s: %.200s; a guess is used instead", name, path, err.text);
  return NULL;
}

static void setting_folder(void) {
  const char *value = setting("NBC_REPORT_DIR");
  char here[sizeof run.folder];
  if (!getcwd(here, sizeof here)) strcpy(here, ".");
  int n;
  if (!value)
    n = snprintf(run.folder, sizeof run.folder, "%s", here);
  else if (*value == '/')
    n = snprintf(run.folder, sizeof run.folder, "%s", value);
  else
    n = snprintf(run.folder, sizeof run.folder, "%s/%s", here,
                 value); /* the program may change folder */
  if (n < 0 || (size_t)n >= sizeof run.folder) {
    complain("NBC_REPORT_DIR is too long: reports go to the working folder");
    strcpy(run.folder, ".");
  }
  if (value) mkdir(run.folder, 0777); /* a missing parent shows when the report is written */
}

/* "0-3,100": is this rank among them? All are, when nothing or nothing readable is said. */
static bool setting_ranks(int rank) {
  const char *value = setting("NBC_RANKS"), *at = value;
  bool found = false;
  while (at && *at) {
    char *end;
    if (!isdigit((unsigned char)*at)) break;
    const long low = strtol(at, &end, 10);
    long high = low;
    if (*end == '-' && isdigit((unsigned char)end[1])) high = strtol(end + 1, &end, 10);
    if ((*end && *end != ',') || high < low) break;
    found = found || (rank >= low && rank <= high);
    at = end + (*end == ',');
    if (!*end) return found;
  }
  if (value)
    complain("NBC_RANKS=%.60s is not a list of ranks such as 0-3,100: all are measured", value);
  return true;
}
