/* --lib-cost FILE: what MPI calls take by themselves, before the network has anything to do. Lines "MPI_Isend 250":
   nanoseconds of every such call; "MPI_* 80": of all that are not named; # starts a comment. */
#include "gm.h"
#include "guest.h"
#include <dlfcn.h>
#include <errno.h>

typedef struct cost {
  char name[64];
  int64_t d_ns;
  int line;
} cost;
static cost *costs; /* of all files: the last --lib-cost may name a call again, a file may not */
static uint32_t count, max, of_file;
static int64_t other_ns;
int gm_has_costs;

static void read_line(const char *path, int number, const char *line) {
  char name[64], more[2];
  long long d_ns;
  const int n = sscanf(line, " %63s %lld %1s", name, &d_ns, more);
  if (n <= 0) return;
  if (n != 2 || strncmp(name, "MPI_", 4) != 0 || d_ns < 0 || d_ns > 1000000000000)
    guest_refuse_line("--lib-cost", path, number, "MPI_Name NANOSECONDS expected");
  if (strcmp(name, "MPI_*") != 0 && !dlsym(RTLD_DEFAULT, name)) /* the launcher has all of MPI */
    guest_refuse_line("--lib-cost", path, number, "%s: MPI has no such function", name);
  for (uint32_t i = of_file; i < count; i++)
    if (strcmp(costs[i].name, name) == 0)
      guest_refuse_line("--lib-cost", path, number, "%s: line %d has said it already", name,
                        costs[i].line);
  if (strcmp(name, "MPI_*") == 0) other_ns = d_ns;
  costs = gm_grow(costs, &max, count + 1, sizeof *costs);
  snprintf(costs[count].name, sizeof costs->name, "%s", name);
  costs[count].line = number;
  costs[count++].d_ns = d_ns;
}
void gm_costs_read(const char *path) {
  char line[256];
  FILE *in = fopen(path, "r");
  int number = 0;
  if (!in) guest_refuse("--lib-cost: %s: %s", path, strerror(errno));
  of_file = count;
  while (guest_line("--lib-cost", path, in, line, sizeof line, &number))
    read_line(path, number, line);
  fclose(in);
  gm_has_costs = 1;
}
static int64_t looked_up(const char *name) {
  for (uint32_t i = count; i-- > 0;)
    if (strcmp(costs[i].name, name) == 0) return costs[i].d_ns;
  return other_ns;
}
void gm_cost(const char *name) { /* names are constants: their addresses tell them apart */
  static struct {
    const char *name;
    int64_t d_ns;
  } known[2048];
  size_t i = ((uintptr_t)name >> 2) % 2048;
  int64_t d_ns = -1;
  for (int tries = 0; tries < 2048 && d_ns < 0; tries++, i = (i + 1) % 2048) {
    if (!known[i].name) known[i].name = name, known[i].d_ns = looked_up(name);
    if (known[i].name == name) d_ns = known[i].d_ns;
  }
  if (d_ns > 0) pm_sleep_ns(d_ns);
}
