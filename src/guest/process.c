/* How a process begins, is switched to, and ends: exit handlers, destructors, output, as libc would. */
#include "guest.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- thread-local variables ---------------------------------------------------------------------------------- */
/* They lie below the thread pointer, whoever runs, so a switch copies them out and in. Libraries have 60 KiB of them of which
   nobody writes a byte (OpenBLAS). So pieces that are the same in all threads stay where they are: as long as a piece is in
   nobody's list, all blocks, and the place below the thread pointer, have in it what the first thread began with. A switch
   looks whether who ran has changed one; then it is copied from this switch on. Pieces are counted down from the thread
   pointer: blocks grow at their lower ends. */
enum { PIECE = 256, PIECES_MAX = GUEST_TLS_MAX / PIECE };
static char first_block[GUEST_TLS_MAX]; /* ends where a block ends; 0 where nothing was yet */
static bool is_own[PIECES_MAX];
static struct run { /* of pieces that are all own ones or none */
  size_t at, bytes; /* begins so far below the end */
  bool is_own;
} runs[PIECES_MAX];
static int run_count;
static size_t in_runs_bytes;
static void make_runs(size_t all_bytes) {
  run_count = 0;
  for (size_t i = 0; i * PIECE < all_bytes; i++) {
    const size_t end = (i + 1) * PIECE < all_bytes ? (i + 1) * PIECE : all_bytes;
    if (!run_count || runs[run_count - 1].is_own != is_own[i])
      runs[run_count++] = (struct run){0, 0, is_own[i]};
    struct run *r = &runs[run_count - 1];
    r->bytes += end - i * PIECE;
    r->at = end;
  }
  in_runs_bytes = all_bytes;
}
static bool is_changed(const char *block_end, size_t at, size_t bytes) {
  return memcmp(block_end - at, first_block + GUEST_TLS_MAX - at, bytes) != 0;
}
static bool compare_pieces(const char *block_end, size_t at, size_t bytes) {
  bool is_any = 0;
  for (size_t i = (at - bytes) / PIECE; i * PIECE < at; i++) {
    const size_t end = (i + 1) * PIECE < at ? (i + 1) * PIECE : at;
    if (!is_own[i] && is_changed(block_end, end, end - i * PIECE)) is_own[i] = is_any = 1;
  }
  return is_any;
}
void guest_tls_compare(const char *block_end) {
  bool is_any = 0;
  if (in_runs_bytes != guest_tls_bytes()) make_runs(guest_tls_bytes());
  for (int k = 0; k < run_count; k++) {
    const struct run *r = &runs[k];
    if (!r->is_own && is_changed(block_end, r->at, r->bytes))
      is_any |= compare_pieces(block_end, r->at, r->bytes);
  }
  if (is_any) make_runs(in_runs_bytes);
}
/* What is not written is not read either: a kernel may count a page that was only looked at. */
static void compare_part(const char *block_end, size_t at, size_t bytes) {
  if (compare_pieces(block_end, at, bytes)) make_runs(in_runs_bytes);
}
static void tls_begin(guest *g, char *block) {
  static bool has_first;
  const size_t bytes = guest_tls_most();
  guest_tls_first(g, block, has_first ? compare_part : NULL);
  if (has_first) return;
  memcpy(first_block + GUEST_TLS_MAX - bytes, block, bytes);
  has_first = 1;
  make_runs(guest_tls_bytes());
}
static void tls_switch(const guest_context *from, const guest_context *to) {
  const size_t bytes = guest_tls_bytes(), most = guest_tls_most();
  char *const end = guest_tls_now() + bytes;
  if (from)
    guest_tls_compare(end);
  else if (in_runs_bytes != bytes)
    make_runs(bytes);
  for (int k = 0; k < run_count; k++) {
    const struct run *r = &runs[k];
    if (r->is_own && from) memcpy(from->tls + most - r->at, end - r->at, r->bytes);
    if (r->is_own)
      memcpy(end - r->at, to->tls + most - r->at, r->bytes);
    else if (!from) /* who ran has ended, and may have written anything */
      memcpy(end - r->at, first_block + GUEST_TLS_MAX - r->at, r->bytes);
  }
}

/* ---- what follows the running process ---------------------------------------------------------------------- */
guest_context *guest_running;
void guest_switched(void *unused, pm_process *to) {
  guest *g = (guest *)pm_process_user(to);
  guest_context *c = g->thread_count ? guest_context_of(g, pm_thread_self()) : &g->first;
  (void)unused;
  guest_fixed_switch(pm_process_rank(to));
  if (guest_running) guest_running->error_number = errno;
  if (guest_tls_bytes()) tls_switch(guest_running, c);
  stdout = *(FILE **)guest_variable_at(g, GUEST_STDOUT);
  stdin = *(FILE **)guest_variable_at(g, GUEST_STDIN);
  guest_libc_switch(g);
  guest_locale_switch(g, c);
  guest_watch_switch(pm_process_rank(to));
  errno = c->error_number;
  guest_running = c;
}
void guest_context_begin(guest *g, guest_context *c) {
  memset(c, 0, sizeof *c);
  if (c != &g->first) {
    c->before = &g->first;
    c->next = g->first.next;
    if (c->next) c->next->before = c;
    g->first.next = c;
  }
  if (!guest_tls_most()) return;
  c->tls = (char *)calloc(1, guest_tls_most());
  if (!c->tls) guest_refuse("out of memory");
  tls_begin(g, c->tls);
}

/* ---- the end ------------------------------------------------------------------------------------------------ */
typedef struct guest_exit {
  struct guest_exit *next;
  void (*with_arg)(void *arg);
  void (*with_status)(int status, void *arg);
  void *arg, *object;
} guest_exit_handler;
static int add_handler(guest_exit_handler **list, guest_exit_handler handler) {
  guest_exit_handler *h = (guest_exit_handler *)malloc(sizeof *h);
  if (!h) return -1;
  *h = handler;
  h->next = *list;
  *list = h;
  return 0;
}
static int cxa_atexit(void (*fn)(void *), void *arg, void *object) {
  return add_handler(&guest_now()->exits, (guest_exit_handler){NULL, fn, NULL, arg, object});
}
static int cxa_thread_atexit(void (*fn)(void *), void *arg, void *object) {
  guest *g = guest_now();
  return add_handler(&guest_context_of(g, pm_thread_self())->exits,
                     (guest_exit_handler){NULL, fn, NULL, arg, object});
}
static int on_exit_of(void (*fn)(int, void *), void *arg) {
  return add_handler(&guest_now()->exits, (guest_exit_handler){NULL, NULL, fn, arg, NULL});
}
static void cxa_finalize(void *object) { /* a library leaves: its handlers now */
  guest *g = guest_now();
  for (guest_exit_handler **at = &g->exits; object && *at;) {
    guest_exit_handler h = **at, *gone = *at;
    if (h.object != object || !h.with_arg) {
      at = &gone->next;
      continue;
    }
    *at = h.next;
    free(gone);
    h.with_arg(h.arg);
    at = &g->exits;
  }
}
static int at_quick_exit_of(void (*fn)(void *)) {
  return add_handler(&guest_now()->quick_exits, (guest_exit_handler){NULL, fn, NULL, NULL, NULL});
}
static void run_handlers(guest_exit_handler **list, int status) {
  while (*list) {
    guest_exit_handler h = **list, *gone = *list;
    *list = h.next;
    free(gone);
    if (h.with_arg)
      h.with_arg(h.arg);
    else
      h.with_status(status, h.arg);
  }
}
/* Inside of the thread that ends. What it told to be called then: before its context ends, in which these look at
   the time, wait, and have variables. */
void guest_context_leaves(guest_context *c) {
  c->thread = NULL;
  run_handlers(&c->exits, 0);
}
void guest_context_end(guest_context *c) {
  if (c->before)
    guest_now()->cpu_ended_ns += guest_cpu_ns(c);
  else
    guest_falls_asleep(); /* the others go on, and it is the process's first for ever */
  if (guest_recorder_end) guest_recorder_end(c);
  guest_openmp_end(c->openmp);
  c->openmp = NULL;
  if (c->before) c->before->next = c->next;
  if (c->next) c->next->before = c->before;
  guest_signals_end(c);
  free(c->cores);
  c->cores = NULL;
  if (guest_running == c) guest_running = NULL;
  free(c->tls);
  c->tls = NULL;
}
void guest_bind(const char *between);
void guest_bind(const char *between) { guest_now()->bound = between; }
/* The others would wait for it: launchers end them too. */
static void end_of_one(guest *g, int status) {
  char text[128];
  const bool is_for_all = g->bound && status & 0xFF;
  if (is_for_all)
    snprintf(text, sizeof text, "process %d ended with status %d between %s",
             pm_process_rank(g->process), status & 0xFF, g->bound);
  g->end = HAS_ENDED;
  if (is_for_all) guest_abort(status, text);
}
void guest__parts_end(guest *g, int status);
/* A handler may call exit again: what is left is done then. */
void guest_exit(int status) {
  guest *g = guest_now();
  if (!g) exit(status);
  if (g->end < RUNS_DESTRUCTORS) {
    g->end = RUNS_HANDLERS;
    run_handlers(&guest_context_of(g, pm_thread_self())->exits, status);
    run_handlers(&g->exits, status);
    g->end = RUNS_DESTRUCTORS;
    guest_run_destructors(g);
    run_handlers(&g->exits, status);
  }
  if (g->end < RUNS_PARTS) {
    g->end = RUNS_PARTS;
    guest__parts_end(g, status);
  }
  guest_output_end(g);
  guest_libc_end(g);
  end_of_one(g, status);
  for (;;) pm_exit(status);
}
__attribute__((noreturn)) static void exit_at_once(int status) {
  if (!pm_self()) _Exit(status);
  guest_libc_leave(guest_now());
  end_of_one(guest_now(), status);
  for (;;) pm_exit(status);
}
__attribute__((noreturn)) static void exit_quickly(int status) {
  run_handlers(&guest_now()->quick_exits, status);
  exit_at_once(status);
}
/* exit from inside of libc (err, error, ...) comes here: the launcher lives on. */
static void libc_exits(int status, void *unused) {
  (void)unused;
  if (!pm_self()) return;
  on_exit(libc_exits, NULL);
  guest_exit(status);
}

__attribute__((constructor)) static void add(void) {
  on_exit(libc_exits, NULL);
  GUEST_REPLACE("exit", guest_exit);
  GUEST_REPLACE("_exit", exit_at_once);
  GUEST_REPLACE("_Exit", exit_at_once);
  GUEST_REPLACE("quick_exit", exit_quickly);
  GUEST_REPLACE("__cxa_at_quick_exit", at_quick_exit_of);
  GUEST_REPLACE("__cxa_atexit", cxa_atexit);
  GUEST_REPLACE("__cxa_thread_atexit_impl", cxa_thread_atexit);
  GUEST_REPLACE("__cxa_finalize", cxa_finalize);
  GUEST_REPLACE("on_exit", on_exit_of);
}
