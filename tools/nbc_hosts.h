/* nbc_hosts.h: transfer tables between hosts, for `nbc see`. Part of nbc.c.

   A run that may be on other hosts is asked first who they are (xfer_table --hosts, started as the program will
   be). Each host, and each pair of them, is measured once per MPI and kept, as HOST and as HOST+HOST; at most
   eight at one run. A process takes its own host's table. It knows one table for all partners on other
   nodes: of one pair its own; of several, the fastest of all, for which bounds of slower ones hold too (xfer_table
   --merge). What stands in for what was not measured is said, and claims no minimum. */
enum { MOST_HOSTS = 64, MOST_PAIRS = 64, MOST_MEASURED = 8 };

/* Does this run perhaps use other hosts than this one? */
static bool names_hosts(launcher l, char **launcher_words, int count) {
  static const char options[] = " -H -host --host -hosts -hostfile --hostfile -machinefile "
                                "--machinefile -f -rf --rankfile -configfile --app ";
  static const char *const batch[] = {"SLURM_JOB_ID",      "PBS_NODEFILE",     "LSB_DJOB_HOSTFILE",
                                      "PE_HOSTFILE",       "OAR_NODEFILE",     "HYDRA_HOST_FILE",
                                      "OMPI_MCA_hostfile", "FLUX_JOB_ID",      "COBALT_NODEFILE",
                                      "PMI_HOSTFILE",      "PRTE_MCA_hostfile"};
  if (l == ALONE) return false;
  if (l == SRUN) return true;
  for (int i = 1; i < count; i += 1 + values_of(launcher_words[i]))
    if (is_among(options, launcher_words[i])) return true;
  for (size_t i = 0; i < sizeof batch / sizeof *batch; i++)
    if (getenv(batch[i])) return true;
  return getenv("OMPI_MCA_orte_default_hostfile") != NULL;
}

/* The lines "host NAME" of what was said; a name is what a file and a command line can hold. */
static words hosts_in(char *said) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  words hosts = {NULL, 0};
  for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
    if (strncmp(line, "host ", 5) != 0) continue;
    const char *name = line + 5;
    const size_t length = strspn(name, letters);
    if (length && !name[length] && name[0] != '-' && name[0] != '.') add(&hosts, name);
  }
  return hosts;
}
/* Who takes part, by the launcher and its options; none: it could not be asked. */
static words hosts_of_run(char **launcher_words, int count, const char *tool) {
  char *said = (char *)must(malloc(1 << 20));
  words w = {NULL, 0};
  for (int i = 0; i < count; i++) add(&w, launcher_words[i]);
  add(&w, tool);
  add(&w, "--hosts");
  ask(&w, said, 1 << 20);
  const words hosts = hosts_in(said);
  free(said);
  return hosts;
}

/* A run, as far as its tables depend on it. */
typedef struct launch {
  launcher l;
  mpi m;
  char **of; /* the launcher and its options */
  int count, measured;
  const words *settings;
  const char *tool, *version_of; /* whose version tables are named after */
} launch;

/* Options by which processes on other hosts are started and find each other. */
static bool is_how_to_start(char **option) {
  static const char all[] = " -launcher -launcher-exec -iface -prefix ";
  const char *name = option[0];
  if (strncmp(name, "--", 2) == 0) name++;
  if (is(name, "-mca") || is(name, "-prtemca"))
    return strncmp(option[1], "plm_", 4) == 0 || strncmp(option[1], "oob_", 4) == 0;
  return is_among(all, name);
}
/* The launcher with two processes, one on each of two hosts, or both on one (b NULL). */
static words launch_on(const launch *x, const char *a, const char *b) {
  words w = {NULL, 0};
  add(&w, x->of[0]);
  if (x->l == SRUN) {
    for (int i = 1; i < x->count; i++) /* how processes find each other */
      if (strncmp(x->of[i], "--mpi", 5) == 0) add(&w, x->of[i]);
    add(&w, b ? "-N2" : "-N1");
    add(&w, "-n2");
    add(&w, "-w");
    add(&w, b ? text("%s,%s", a, b) : text("%s", a));
    return w;
  }
  for (int i = 1, more; i < x->count; i += 1 + more) {
    more = values_of(x->of[i]);
    if (is(x->of[i], as_root)) add(&w, as_root);
    if (i + more >= x->count || !more || !is_how_to_start(&x->of[i])) continue;
    for (int k = i; k <= i + more; k++) add(&w, x->of[k]);
  }
  add(&w, "-n");
  add(&w, "2");
  add(&w, x->m == MPI_OPEN ? "--host" : "-hosts");
  add(&w, b ? text("%s,%s", a, b) : text(x->m == MPI_OPEN ? "%s:2" : "%s", a));
  if (b) add(&w, x->m == MPI_OPEN ? "--map-by" : "-ppn");
  if (b) add(&w, x->m == MPI_OPEN ? "node" : "1");
  return w;
}

/* The kept table of two hosts, or within one; measured when it is not there. NULL: none. */
static char *table_of_hosts(launch *x, const char *a, const char *b) {
  char *path = table_path(x->m, x->version_of, b ? text("%s+%s", a, b) : a, x->settings);
  if (!path || is_of_this_make(path)) return path;
  if (x->measured++ >= MOST_MEASURED) return NULL;
  fprintf(stderr, "nbc: measuring transfer times %s %s%s%s, once (%s)...\n",
          b ? "between" : "within", a, b ? " and " : "", b ? b : "", path);
  char *part = text("%s.part.%d", path, (int)getpid());
  words w = launch_on(x, a, b);
  for (int i = 0; x->l != SRUN && i < x->settings->count; i++)
    set(&w, NULL, MPIRUN, x->m, x->settings->of[i]);
  add(&w, x->tool);
  if (b) add(&w, "--other");
  add(&w, part);
  if (run(&w) == 0 && rename(part, path) == 0) return path;
  unlink(part);
  return NULL;
}

/* One table in place of several, in the report's folder: of all that there are, or, without a minimum, because one
   of them (missing) is not there. */
static char *stand_in(const launch *x, const words *tables, const char *where, const char *missing,
                      const char *of_what, const char *folder) {
  char said[4096];
  char *merged = text("%s/table-%s.txt", folder, where);
  words w = {NULL, 0};
  const char *why = missing
                        ? text("%s was not measured, for which the fastest of %d others stands in",
                               missing, tables->count)
                        : "";
  if (missing)
    fprintf(stderr, "nbc: %s nodes: %s; no minimum is claimed there\n", where, why);
  else
    fprintf(stderr, "nbc: %s nodes: the fastest of %d %s stands for all\n", where, tables->count,
            of_what);
  add(&w, x->tool);
  add(&w, "--merge");
  add(&w, merged);
  add(&w, why);
  for (int i = 0; i < tables->count; i++) add(&w, tables->of[i]);
  ask(&w, said, sizeof said);
  if (exists(merged)) return merged;
  fprintf(stderr, "nbc: %s", said);
  return NULL;
}

/* Within each node its own: each process takes that of its host (%h). */
static const char *table_within(launch *x, const words *hosts, const char *folder) {
  words tables = {NULL, 0};
  const char *missing = NULL;
  for (int i = 0; i < hosts->count && i < MOST_HOSTS; i++) {
    char *path = table_of_hosts(x, hosts->of[i], NULL);
    if (path)
      add(&tables, path);
    else if (!missing)
      missing = hosts->of[i];
  }
  if (hosts->count > MOST_HOSTS && !missing) missing = hosts->of[MOST_HOSTS];
  if (!missing) return table_path(x->m, x->version_of, "%h", x->settings);
  if (tables.count) return stand_in(x, &tables, "within", missing, "hosts", folder);
  fprintf(stderr, "nbc: no table within nodes: a guess stands in, and no minimum is claimed\n");
  return NULL;
}

static const char *table_between(launch *x, const words *hosts, const char *folder) {
  words tables = {NULL, 0};
  const char *missing = NULL;
  for (int i = 0; i < hosts->count && i < MOST_HOSTS; i++)
    for (int k = i + 1; k < hosts->count && k < MOST_HOSTS; k++) {
      char *path = tables.count < MOST_PAIRS ? table_of_hosts(x, hosts->of[i], hosts->of[k]) : NULL;
      if (path)
        add(&tables, path);
      else if (!missing)
        missing = text("%s+%s", hosts->of[i], hosts->of[k]);
    }
  if (hosts->count > MOST_HOSTS && !missing)
    missing = text("%s+%s", hosts->of[0], hosts->of[MOST_HOSTS]);
  if (!tables.count) {
    fprintf(stderr, "nbc: no table between nodes: a guess stands in, and no minimum is claimed "
                    "there\n");
    return NULL;
  }
  if (tables.count == 1 && !missing) return tables.of[0];
  return stand_in(x, &tables, "between", missing, "pairs of hosts", folder);
}

/* Both, where the run is not of this host alone; else *within stays as it is. */
static const char *tables_of_run(launch *x, const char *folder, const char **within) {
  char here[256] = "";
  x->tool = own_file(x->m == MPI_OPEN ? "xfer_table_mpi" : "xfer_table_mpich");
  if (!x->tool) return NULL;
  x->version_of = x->l == SRUN ? own_launcher(x->m) : x->of[0];
  if (!x->version_of) x->version_of = x->of[0];
  const words hosts = hosts_of_run(x->of, x->count, x->tool);
  gethostname(here, sizeof here - 1);
  if (!hosts.count) {
    fprintf(stderr, "nbc: which hosts take part could not be asked: between nodes a guess stands "
                    "in, and no minimum is claimed there\n");
    return NULL;
  }
  if (hosts.count == 1 && is(hosts.of[0], here)) return NULL;
  *within = table_within(x, &hosts, folder);
  return hosts.count > 1 ? table_between(x, &hosts, folder) : NULL;
}
