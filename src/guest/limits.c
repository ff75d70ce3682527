/* What a process may have (getrlimit): it is told what it has set itself, which binds neither it nor the others, whose
   host's process is the same. Its stack is the simulated one. */
#include "guest.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct limits {
  struct rlimit of[RLIM_NLIMITS];
  bool is_set[RLIM_NLIMITS];
} limits;
static guest_part part = {.name = "limits", .state_bytes = sizeof(limits *)};

static int had(const limits *own, int what, struct rlimit *limit) {
  size_t bytes;
  if (own && own->is_set[what]) return *limit = own->of[what], 0;
  if (getrlimit((__rlimit_resource_t)what, limit)) return -1;
  if (what != RLIMIT_STACK) return 0;
  guest_stack(&bytes);
  if (limit->rlim_cur > bytes) limit->rlim_cur = bytes;
  return 0;
}
static int exchange(int what, const struct rlimit *now, struct rlimit *before) {
  limits **own = (limits **)guest_state(&part);
  struct rlimit was;
  if (what < 0 || what >= RLIM_NLIMITS) return errno = EINVAL, -1;
  if (had(*own, what, &was)) return -1;
  if (now && now->rlim_cur > now->rlim_max) return errno = EINVAL, -1;
  if (now && now->rlim_max > was.rlim_max && geteuid() != 0) return errno = EPERM, -1;
  if (now && !*own) *own = (limits *)calloc(1, sizeof **own);
  if (now && !*own) return -1;
  if (now) (*own)->of[what] = *now, (*own)->is_set[what] = true;
  if (before) *before = was;
  return 0;
}
static int guest_getrlimit(int what, struct rlimit *limit) { return exchange(what, NULL, limit); }
static int guest_setrlimit(int what, const struct rlimit *limit) {
  return exchange(what, limit, NULL);
}
static int guest_prlimit(pid_t pid, int what, const struct rlimit *now, struct rlimit *before) {
  return pid && pid != guest_getpid() ? (errno = ESRCH, -1) : exchange(what, now, before);
}
/* On the host it would be the memory of all processes, also what is yet to come. */
static int guest_mlockall(int flags) { return (void)flags, 0; }

static void process_end(guest *g, int status) {
  limits **own = (limits **)guest_state_of(g, &part);
  (void)status;
  free(*own);
  *own = NULL;
}
__attribute__((constructor)) static void add(void) {
  part.process_end = process_end;
  guest_part_add(&part);
  GUEST_REPLACE("getrlimit", guest_getrlimit);
  GUEST_REPLACE("getrlimit64", guest_getrlimit);
  GUEST_REPLACE("setrlimit", guest_setrlimit);
  GUEST_REPLACE("setrlimit64", guest_setrlimit);
  GUEST_REPLACE("prlimit", guest_prlimit);
  GUEST_REPLACE("prlimit64", guest_prlimit);
  GUEST_REPLACE("mlockall", guest_mlockall);
}
