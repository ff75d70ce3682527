/* overlap_preload_sites.h: calls by the place in the program that made them. The return address of a
   wrapper is counted in a table of the calling thread (one multiplication and, mostly, one comparison);
   what it means in terms of files is looked up once, when the address is new; lines are for the report
   tool. What begins in a call counts for its place, too. A call that came through the MPI's Fortran library, or through what NBC_THROUGH names, belongs to
   who called that: where the next return address lies is found by unwinding, once, and from then on read
   from there. */
#include "callers.h"
#include <link.h>

typedef struct site_place {
  const char *module; /* of the caller, and where in it */
  const char *symbol;
  uint64_t offset;
} site_place;

typedef struct site { /* one line of the cache */
  uintptr_t address;
  const char *call; /* "MPI_Wait"; NULL: empty */
  uint64_t count;
  int64_t total_ns, max_ns;
  const site_place *where;
  /* The caller only passes calls on: distance of the next return address, and one; 0: it does not */
  int32_t through;
  uint16_t place; /* the monitor's number of it; 0: none */
} __attribute__((aligned(64))) site;

typedef struct sites {
  struct sites *next;
  bool used; /* by a living thread */
  uint32_t mask, count;
  site *of;
} sites;

/* Memory that is never freed. Under the lock. */
static void *keep(size_t n) {
  static char *room;
  static size_t left;
  n = (n + 7) & ~(size_t)7;
  if (n > left) {
    room = map_memory(left = 65536 - 64);
    if (!room) return left = 0, NULL;
  }
  void *const kept = room;
  room += n;
  left -= n;
  return kept;
}
/* Texts that outlive their library, one of each module and function. */
static const char *keep_text(const char *text) {
  const size_t n = text ? strlen(text) + 1 : 0;
  char *const copy = text && n <= 4096 ? keep(n) : NULL;
  return copy ? memcpy(copy, text, n) : NULL;
}

/* ---- the thread's table ---------------------------------------------------------------------- */
static bool grow_sites(sites *t) {
  const uint32_t size = t->of ? 2 * (t->mask + 1) : 256, old_size = t->of ? t->mask + 1 : 0;
  site *const more = size <= 65536 ? map_memory(size * sizeof *more) : NULL, *const old = t->of;
  if (!more) return false;
  t->of = more;
  t->mask = size - 1;
  for (uint32_t i = 0; i < old_size; i++) {
    if (!old[i].call) continue;
    uint32_t k = (uint32_t)(((uint64_t)old[i].address * 0x9E3779B97F4A7C15u) >> 40) & t->mask;
    while (more[k].call) k = (k + 1) & t->mask;
    more[k] = old[i];
  }
  return true; /* the old one stays: another thread's report may be reading it */
}

static sites *sites_of_thread(void) { /* its own, or one that an ended thread left */
  lock();
  sites *t = run.sites;
  while (t && t->used) t = t->next;
  if (!t && (t = map_memory(sizeof *t))) {
    t->next = run.sites;
    run.sites = t;
  }
  if (t) t->used = t->of || grow_sites(t);
  unlock();
  return me.sites = t && t->used ? t : NULL;
}

static const site_place nowhere;
static void look_up_site(site *s, const char *name, uintptr_t frame) {
  Dl_info where;
  struct link_map *map = NULL;
  s->where = &nowhere;
  if (!dladdr1((void *)s->address, &where, (void **)&map, RTLD_DL_LINKMAP) || !map) return;
  lock();
  site_place *const p = keep(sizeof *p);
  if (p)
    *p = (site_place){.module = keep_text(*map->l_name ? map->l_name : run.executable),
                      .symbol = keep_text(where.dli_sname),
                      .offset = s->address - (uintptr_t)map->l_addr};
  unlock();
  if (p) s->where = p;
  nbc_site known;
  memset(&known, 0, sizeof known);
  known.call = (char *)(uintptr_t)name;
  known.module = (char *)(uintptr_t)s->where->module;
  known.symbol = (char *)(uintptr_t)s->where->symbol;
  known.offset = s->where->offset;
  s->place = p ? (uint16_t)nbc_monitor_place(run.monitor, &known) : 0;
  const char *const file = *map->l_name ? map->l_name : run.executable;
  if ((where.dli_fname && is_of_mpi(where.dli_fname)) ||
      passes_calls_on(file, where.dli_sname, s->address - (uintptr_t)map->l_addr))
    s->through = distance_to_next(s->address, frame);
}

static inline uint32_t site_home(const sites *t, uintptr_t address) {
  return (uint32_t)(((uint64_t)address * 0x9E3779B97F4A7C15u) >> 40) & t->mask;
}

/* The entry of a place, made when new. NULL: no memory, or too many places. */
static site *find_site(uintptr_t address, const char *name, uintptr_t frame) {
  sites *t = me.sites ? me.sites : sites_of_thread();
  if (!t || (UNLIKELY(4 * t->count >= t->mask + 1) && !grow_sites(t))) return NULL;
  uint32_t i = site_home(t, address);
  while (t->of[i].call && (t->of[i].address != address || t->of[i].call != name))
    i = (i + 1) & t->mask;
  if (UNLIKELY(!t->of[i].call)) {
    t->of[i].address = address;
    look_up_site(&t->of[i], name, frame);
    t->of[i].call = name;
    t->count++;
  }
  return &t->of[i];
}

static bool is_known_site(uintptr_t address, const char *name) {
  const sites *t = me.sites;
  uint32_t i = site_home(t, address);
  while (t->of[i].call && (t->of[i].address != address || t->of[i].call != name))
    i = (i + 1) & t->mask;
  return t->of[i].call != NULL;
}

/* Can `at` be read? A function whose frame was larger the first time would else lead beyond the end of a thread's stack,
   or of a fibre's. Each page is asked for once, by a call with which the kernel reads before it refuses. */
static bool is_stack(uintptr_t at) {
  const uintptr_t page = at / 4096;
  uintptr_t *const seen = &me.stack_pages[page % (sizeof me.stack_pages / sizeof page)];
  if (*seen == page) return true;
  const int saved_errno = errno;
  const bool can = syscall(SYS_rt_sigprocmask, -1, at, NULL, 8) == 0 || errno != EFAULT;
  errno = saved_errno;
  if (can) *seen = page;
  return can;
}

/* Who called the function that `s` lies in: read from the stack. A new address is believed only when unwinding
   says the same; where that function's frame has no fixed size it does not, and the place stays in that
   function. */
static site *caller_of(site *s, const char *name, uintptr_t *frame) {
  const uintptr_t at = *frame + (uintptr_t)(s->through - 1);
  bool is_right = is_stack(at);
  if (is_right && !is_known_site(*(const uintptr_t *)at, name))
    is_right = next_address(s->address) == *(const uintptr_t *)at;
  if (!is_right) {
    s->through = 0;
    return s;
  }
  *frame = at + sizeof at;
  return find_site(*(const uintptr_t *)at, name, *frame);
}

/* New, not where it would stand in an empty table, or in what passes calls on. */
APART static site *find_caller(uintptr_t address, const char *name, uintptr_t frame) {
  site *s = find_site(address, name, frame);
  for (int depth = 0; s && s->through && depth < MOST_PASSED; depth++)
    s = caller_of(s, name, &frame);
  return s;
}

/* NULL: find_caller knows more. */
static inline site *known_site(uintptr_t address, const char *name) {
  const sites *t = me.sites;
  site *const s = t ? &t->of[site_home(t, address)] : NULL;
  return s && s->address == address && s->call == name && !s->through ? s : NULL;
}
static inline void note_site(site *s, int64_t d_ns) {
  s->count++;
  s->total_ns += d_ns;
  if (d_ns > s->max_ns) s->max_ns = d_ns;
}

static const site *site_of_place(uint16_t place) {
  for (const sites *t = run.sites; t; t = t->next)
    for (uint32_t i = 0; t->of && i <= t->mask; i++)
      if (t->of[i].call && t->of[i].place == place) return &t->of[i];
  return NULL;
}
static void add_site(nbc_report *report, const site *s, uint64_t count, int64_t total_ns,
                     int64_t max_ns) {
  const nbc_site one = {.call = (char *)(uintptr_t)s->call,
                        .module = (char *)(uintptr_t)s->where->module,
                        .symbol = (char *)(uintptr_t)s->where->symbol,
                        .offset = s->where->module ? s->where->offset : s->address,
                        .count = count,
                        .total_ns = total_ns,
                        .max_ns = max_ns};
  nbc_report_site(report, &one);
}
static void report_sites(nbc_report *report) {
  for (const sites *t = run.sites; t; t = t->next)
    for (uint32_t i = 0; t->of && i <= t->mask; i++) {
      const site *s = &t->of[i];
      if (s->call && s->count) add_site(report, s, s->count, s->total_ns, s->max_ns);
    }
}
