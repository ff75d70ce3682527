/* Regions of a program that are measured some times and then skipped: tools/pm_sample.h. */
#include "guest.h"
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct region {
  struct region *next;
  const char *name;
  int max, count; /* measurements wanted, made */
  bool is_open, communicates;
  int64_t cpu_ns, t_ns; /* when the body began: of the host, simulated */
  int64_t *took_ns;
  long skipped;
} region;
typedef struct own {
  region *regions;
} own;
static region *shared; /* of all processes */
static double ratio;
static guest_part part;

static int64_t host_cpu_ns(void) { /* clock_gettime is the programs' own here */
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static region **list_of(const guest *g, bool is_shared) {
  return is_shared ? &shared : &((own *)guest_state_of(g, &part))->regions;
}
static region *find(region *r, const char *name) {
  while (r && strcmp(r->name, name) != 0) r = r->next;
  return r;
}
static region *made(region **list, const char *name, int max) {
  region *r = (region *)calloc(1, sizeof *r);
  if (r) r->took_ns = (int64_t *)malloc((size_t)max * sizeof *r->took_ns);
  if (!r || !r->took_ns) guest_refuse("out of memory for samples of %s", name);
  r->name = name;
  r->max = max;
  r->next = *list;
  return *list = r;
}

__attribute__((visibility("default"))) int pm_sample_begin(const char *name, int count);
__attribute__((visibility("default"))) void pm_sample_end(const char *name);
int pm_sample_begin(const char *name, int count) {
  const guest *g = guest_now();
  if (!g || !name || !count) return 1;
  region **list = list_of(g, count < 0);
  region *r = find(*list, name);
  if (!r) r = made(list, name, abs(count));
  if (!r->communicates && r->count == r->max) {
    const int64_t ns = r->took_ns[pm_random(pm_world_of(pm_self())) % (uint64_t)r->max];
    r->skipped++;
    pm_compute_ns((int64_t)((double)ns * (ratio > 0 ? ratio : 1)));
    return 0;
  }
  r->is_open = true;
  r->t_ns = pm_now_ns();
  r->cpu_ns = host_cpu_ns();
  return 1;
}
void pm_sample_end(const char *name) {
  const int64_t now_ns = host_cpu_ns();
  const guest *g = guest_now();
  region *r = g && name ? find(*list_of(g, false), name) : NULL;
  if (!r && g && name) r = find(shared, name);
  if (!r || !r->is_open) return;
  r->is_open = false;
  if (pm_now_ns() != r->t_ns && !r->communicates) {
    fprintf(stderr, "pm_run: sample %s: it communicates or sleeps, so it is never skipped\n", name);
    r->communicates = true;
  }
  if (r->communicates || r->count == r->max) return;
  const int64_t ns = now_ns > r->cpu_ns ? now_ns - r->cpu_ns : 0;
  r->took_ns[r->count++] = ns;
  if (!(ratio > 0)) pm_compute_ns(ns); /* else the clock of --compute counts it */
}

static void settings(pm_world_desc *desc, pm_platform *platform) {
  (void)platform;
  ratio = desc->compute_ratio;
}
static void sum_up(region *sums, const region *r) {
  for (; r; r = r->next) {
    region *s = find(sums->next, r->name);
    if (!s) s = made(&sums->next, r->name, 1);
    for (int i = 0; i < r->count; i++) s->cpu_ns += r->took_ns[i];
    s->count += r->count;
    s->skipped += r->skipped;
  }
}
static int tell(pm_world *world, int result) {
  region sums = {0};
  (void)world;
  sum_up(&sums, shared);
  for (int i = 0; i < guest_count(); i++) sum_up(&sums, *list_of(guest_at(i), false));
  for (region *s = sums.next; s; s = s->next)
    if (s->count)
      fprintf(stderr,
              "pm_run: sample %s: measured %d times, %.3f us on average; skipped %ld times\n",
              s->name, s->count, (double)s->cpu_ns / s->count * 1e-3, s->skipped);
  return result;
}
static guest_part part = {
    .name = "sample", .state_bytes = sizeof(own), .settings = settings, .finish = tell};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
