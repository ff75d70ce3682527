/* What would change the host, or pm_run with all its processes: its clock and name, where its root is, who it runs as, how
   urgent it is. A process may ask; who is root could do it, by a test of a library or by mistake. What concerns the process
   alone is remembered and binds nothing, all else is refused. */
#include "guest.h"
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

static int refused(const char *what) {
  char text[128];
  snprintf(text, sizeof text, "%s: it would change the host; refused (EPERM)", what);
  guest_say_once(what, text);
  return errno = EPERM, -1;
}
/* ---- the machine's ---------------------------------------------------------------------------------------------- */
static int guest_clock_settime(clockid_t clock, const struct timespec *t) {
  return (void)clock, (void)t, refused("clock_settime");
}
static int guest_settimeofday(const struct timeval *t, const struct timezone *zone) {
  return (void)t, (void)zone, refused("settimeofday");
}
static int guest_stime(const time_t *t) { return (void)t, refused("stime"); }
static int guest_adjtime(const struct timeval *by, struct timeval *left) {
  return by ? refused("adjtime") : adjtime(NULL, left);
}
static int guest_adjtimex(struct timex *t) { return t->modes ? refused("adjtimex") : adjtimex(t); }
static int guest_clock_adjtime(clockid_t clock, struct timex *t) {
  return t->modes ? refused("clock_adjtime") : clock_adjtime(clock, t);
}
static int guest_sethostname(const char *name, size_t bytes) {
  return (void)name, (void)bytes, refused("sethostname");
}
static int guest_setdomainname(const char *name, size_t bytes) {
  return (void)name, (void)bytes, refused("setdomainname");
}
static int guest_mount(const char *from, const char *to, const char *type, unsigned long flags,
                       const void *data) {
  return (void)from, (void)to, (void)type, (void)flags, (void)data, refused("mount");
}
static int guest_umount(const char *from) { return (void)from, refused("umount"); }
static int guest_umount2(const char *from, int flags) {
  return (void)from, (void)flags, refused("umount2");
}
static int guest_reboot(int how) { return (void)how, refused("reboot"); }
static int guest_swapon(const char *path, int flags) {
  return (void)path, (void)flags, refused("swapon");
}
static int guest_swapoff(const char *path) { return (void)path, refused("swapoff"); }
static int guest_acct(const char *path) { return (void)path, refused("acct"); }

/* ---- pm_run's --------------------------------------------------------------------------------------------------- */
static int guest_chroot(const char *path) { return (void)path, refused("chroot"); }
static int guest_unshare(int flags) { return flags ? refused("unshare") : 0; }
static int guest_setns(int fd, int type) { return (void)fd, (void)type, refused("setns"); }
/* Another user: to the one that it is, it may change. -1: as it is */
static int if_same(const char *what, unsigned is, unsigned wanted) {
  return wanted == is || wanted == (unsigned)-1 ? 0 : refused(what);
}
static int guest_setuid(uid_t u) { return if_same("setuid", getuid(), u); }
static int guest_seteuid(uid_t u) { return if_same("seteuid", geteuid(), u); }
static int guest_setreuid(uid_t u, uid_t e) {
  return if_same("setreuid", getuid(), u) ? -1 : if_same("setreuid", geteuid(), e);
}
static int guest_setresuid(uid_t u, uid_t e, uid_t s) {
  return guest_setreuid(u, e) ? -1 : if_same("setresuid", geteuid(), s);
}
static int guest_setgid(gid_t g) { return if_same("setgid", getgid(), g); }
static int guest_setegid(gid_t g) { return if_same("setegid", getegid(), g); }
static int guest_setregid(gid_t g, gid_t e) {
  return if_same("setregid", getgid(), g) ? -1 : if_same("setregid", getegid(), e);
}
static int guest_setresgid(gid_t g, gid_t e, gid_t s) {
  return guest_setregid(g, e) ? -1 : if_same("setresgid", getegid(), s);
}
static int guest_setgroups(size_t count, const gid_t *list) {
  return (void)count, (void)list, refused("setgroups");
}
static int guest_initgroups(const char *user, gid_t group) {
  return (void)user, (void)group, refused("initgroups");
}

/* ---- the process's own ------------------------------------------------------------------------------------------ */
typedef struct own {
  int niceness; /* beside pm_run's */
  bool leads;   /* a group of processes of its own, by setsid or setpgid */
} own;
static guest_part part = {.name = "host", .state_bytes = sizeof(own)};
static own *mine(void) { return (own *)guest_state(&part); }
static bool is_itself(pid_t pid) { return pid == 0 || pid == guest_getpid(); }
static int guest_getpriority(__priority_which_t which, id_t who) {
  const int pm_runs = getpriority(PRIO_PROCESS, 0);
  if (which != PRIO_PROCESS || !is_itself((pid_t)who)) return getpriority(which, who);
  return pm_runs + mine()->niceness;
}
static int guest_setpriority(__priority_which_t which, id_t who, int wanted) {
  const int is = guest_getpriority(PRIO_PROCESS, 0), next = wanted < -20  ? -20
                                                            : wanted > 19 ? 19
                                                                          : wanted;
  if (which != PRIO_PROCESS || !is_itself((pid_t)who)) return refused("setpriority");
  if (next < is && geteuid() != 0) return errno = EACCES, -1;
  return mine()->niceness += next - is, 0;
}
static int guest_nice(int by) {
  const int is = guest_getpriority(PRIO_PROCESS, 0),
            wanted = by > 40    ? 40
                     : by < -40 ? -40
                                : by; /* is + by may be too large a number */
  if (guest_setpriority(PRIO_PROCESS, 0, is + wanted)) return errno = EPERM, -1;
  return guest_getpriority(PRIO_PROCESS, 0);
}
static int guest_setscheduler(pid_t pid, int policy, const struct sched_param *how) {
  (void)pid, (void)how;
  return policy == SCHED_OTHER || policy == SCHED_BATCH ? 0 : refused("sched_setscheduler");
}
static int guest_setparam(pid_t pid, const struct sched_param *how) {
  return (void)pid, how->sched_priority ? refused("sched_setparam") : 0;
}
static pid_t guest_setsid(void) { return mine()->leads = true, guest_getpid(); }
static int guest_setpgid(pid_t pid, pid_t group) {
  if (!is_itself(pid)) return errno = ESRCH, -1;
  if (!is_itself(group)) return errno = EPERM, -1;
  return mine()->leads = true, 0;
}
static int guest_setpgrp(void) { return guest_setpgid(0, 0); }
static pid_t guest_getpgid(pid_t pid) {
  return is_itself(pid) && mine()->leads ? guest_getpid() : getpgid(is_itself(pid) ? 0 : pid);
}
static pid_t guest_getpgrp(void) { return guest_getpgid(0); }
static pid_t guest_getsid(pid_t pid) {
  return is_itself(pid) && mine()->leads ? guest_getpid() : getsid(is_itself(pid) ? 0 : pid);
}
static int guest_prctl(int what, ...) {
  unsigned long with[4];
  va_list args;
  va_start(args, what);
  for (int k = 0; k < 4; k++) with[k] = va_arg(args, unsigned long);
  va_end(args);
  switch (what) {
  case PR_SET_NAME: {
    char name[16]; /* what is longer is cut, as Linux does */
    snprintf(name, sizeof name, "%s", (const char *)with[0]);
    return pthread_setname_np(pthread_self(), name) ? -1 : 0;
  }
  case PR_GET_NAME: return pthread_getname_np(pthread_self(), (char *)with[0], 16) ? -1 : 0;
  case PR_GET_PDEATHSIG:
  case PR_GET_DUMPABLE:
  case PR_GET_KEEPCAPS:
  case PR_GET_TIMERSLACK:
  case PR_GET_NO_NEW_PRIVS:
  case PR_GET_SECUREBITS:
  case PR_GET_SECCOMP:
  case PR_GET_THP_DISABLE:
  case PR_GET_TSC:
  case PR_CAPBSET_READ:
  case 0x53564d41 /* PR_SET_VMA: a name for memory */:
    return prctl(what, with[0], with[1], with[2], with[3]);
  case PR_SET_PDEATHSIG:
  case PR_SET_DUMPABLE:
  case PR_SET_KEEPCAPS:
  case PR_SET_TIMERSLACK:
  case PR_SET_THP_DISABLE:
  case PR_SET_CHILD_SUBREAPER:
  case PR_SET_NO_NEW_PRIVS:
  case PR_SET_PTRACER: return 0; /* of no account here */
  default: return refused("prctl");
  }
}
/* By number, past libc: all of them */
bool guest_is_of_host(long number) {
  static const long numbers[] = {
      SYS_clock_settime, SYS_settimeofday, SYS_adjtimex,  SYS_clock_adjtime, SYS_sethostname,
      SYS_setdomainname, SYS_mount,        SYS_umount2,   SYS_reboot,        SYS_swapon,
      SYS_swapoff,       SYS_acct,         SYS_chroot,    SYS_pivot_root,    SYS_unshare,
      SYS_setns,         SYS_setuid,       SYS_setreuid,  SYS_setresuid,     SYS_setgid,
      SYS_setregid,      SYS_setresgid,    SYS_setgroups, SYS_setfsuid,      SYS_setfsgid,
      SYS_setpriority,   SYS_setsid,       SYS_setpgid,   SYS_prctl,         SYS_seccomp};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    if (numbers[k] == number) return refused("syscall"), true;
  return false;
}
__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("clock_settime", guest_clock_settime);
  GUEST_REPLACE("settimeofday", guest_settimeofday);
  GUEST_REPLACE("stime", guest_stime);
  GUEST_REPLACE("adjtime", guest_adjtime);
  GUEST_REPLACE("adjtimex", guest_adjtimex);
  GUEST_REPLACE("ntp_adjtime", guest_adjtimex);
  GUEST_REPLACE("clock_adjtime", guest_clock_adjtime);
  GUEST_REPLACE("sethostname", guest_sethostname);
  GUEST_REPLACE("setdomainname", guest_setdomainname);
  GUEST_REPLACE("mount", guest_mount);
  GUEST_REPLACE("umount", guest_umount);
  GUEST_REPLACE("umount2", guest_umount2);
  GUEST_REPLACE("reboot", guest_reboot);
  GUEST_REPLACE("swapon", guest_swapon);
  GUEST_REPLACE("swapoff", guest_swapoff);
  GUEST_REPLACE("acct", guest_acct);
  GUEST_REPLACE("chroot", guest_chroot);
  GUEST_REPLACE("unshare", guest_unshare);
  GUEST_REPLACE("setns", guest_setns);
}
__attribute__((constructor)) static void add_of_processes(void) {
  guest_part_add(&part);
  GUEST_REPLACE("setuid", guest_setuid);
  GUEST_REPLACE("seteuid", guest_seteuid);
  GUEST_REPLACE("setreuid", guest_setreuid);
  GUEST_REPLACE("setresuid", guest_setresuid);
  GUEST_REPLACE("setgid", guest_setgid);
  GUEST_REPLACE("setegid", guest_setegid);
  GUEST_REPLACE("setregid", guest_setregid);
  GUEST_REPLACE("setresgid", guest_setresgid);
  GUEST_REPLACE("setgroups", guest_setgroups);
  GUEST_REPLACE("initgroups", guest_initgroups);
  GUEST_REPLACE("getpriority", guest_getpriority);
  GUEST_REPLACE("setpriority", guest_setpriority);
  GUEST_REPLACE("nice", guest_nice);
  GUEST_REPLACE("sched_setscheduler", guest_setscheduler);
  GUEST_REPLACE("sched_setparam", guest_setparam);
  GUEST_REPLACE("setsid", guest_setsid);
  GUEST_REPLACE("setpgid", guest_setpgid);
  GUEST_REPLACE("setpgrp", guest_setpgrp);
  GUEST_REPLACE("getpgid", guest_getpgid);
  GUEST_REPLACE("getpgrp", guest_getpgrp);
  GUEST_REPLACE("getsid", guest_getsid);
  GUEST_REPLACE("prctl", guest_prctl);
}
