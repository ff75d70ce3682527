/* The processor's time-stamp counter (rdtsc, rdtscp), which programs read past all functions: it would say the host's
   time. Where a program or a library of it seems to have such an instruction, the kernel is asked to let it fault
   (PR_SET_TSC), and each one gets the simulated time in nanoseconds: a counter of 1 GHz, as /proc/cpuinfo says here
   (itself.c). A look at the counter is one at the clock: who waits for it lets time pass.
   The fault is handled on the stack of all faults, where nobody may wait. So it sends the program to a breakpoint
   of ours, whose signal comes on the program's own stack, as those of spin.c do; there the clock is asked.
   libc's clock_gettime reads the counter as well, when somebody of the launcher calls it: whoever is not a
   program's gets the host's counter. */
#include "guest.h"
#include "image.h"
#include <errno.h>
#include <sched.h>
#include <string.h>

#if defined(__x86_64__)
#  include <signal.h>
#  include <sys/prctl.h>
#  include <x86intrin.h>
static bool is_there, is_kept; /* the instruction in a text; from whoever executes it */
static volatile bool is_tried, has_faulted;

/* Bytes of the instruction; 0: another one */
static int counter_bytes(const unsigned char *at) {
  return at[0] != 0x0F ? 0 : at[1] == 0x31 ? 2 : at[1] == 0x01 && at[2] == 0xF9 ? 3 : 0;
}
static bool has_counter(const unsigned char *text, size_t bytes) {
  const unsigned char *const end = text + bytes - (bytes < 3 ? bytes : 3);
  const unsigned char *at = text;
  while (at < end && (at = memchr(at, 0x0F, (size_t)(end - at))) != NULL && !counter_bytes(at))
    at++;
  return at && at < end;
}
/* Bytes of other instructions may look like one: then nothing comes of it. */
void guest_counter_scan(const elf_image *image) {
  for (int i = 0; i < image->object_count; i++) {
    const elf_object *o = &image->objects[i];
    for (int k = 0; k < o->header.e_phnum && !is_there; k++)
      if (o->parts[k].p_type == PT_LOAD && o->parts[k].p_flags & PF_X)
        is_there = has_counter((unsigned char *)image->base + o->at + o->parts[k].p_vaddr,
                               o->parts[k].p_filesz);
  }
  if (pm_self()) guest_counter_keep(true);
}
/* Some virtual machines let the kernel ask, and the instruction go on. */
static void try_counter(void) {
  is_tried = true;
  (void)__rdtsc();
  if (has_faulted) return;
  prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  is_there = is_kept = false;
  guest_say_once(
      "counter",
      "this machine does not let the time-stamp counter fault: who reads it sees the host's time");
}
/* A command begins with what pm_run has: while it is made, the counter is everybody's. */
bool guest_counter_keep(bool is_wanted) {
  const bool before = is_kept;
  is_wanted = is_wanted && is_there;
  if (is_wanted) guest_catch_faults(SIGSEGV);
  if (is_wanted != is_kept &&
      prctl(PR_SET_TSC, is_wanted ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0) == 0)
    is_kept = is_wanted;
  if (is_kept && !is_tried) try_counter();
  return before;
}
static struct {
  greg_t next;
  int bytes;
} asked;
__asm__(".text\nguest__counter_stop: int3\n");
extern const unsigned char guest__counter_stop[];
static void answer(ucontext_t *c, uint64_t ticks, unsigned core, int bytes) {
  c->uc_mcontext.gregs[REG_RAX] = (greg_t)(ticks & 0xFFFFFFFF);
  c->uc_mcontext.gregs[REG_RDX] = (greg_t)(ticks >> 32);
  if (bytes == 3) c->uc_mcontext.gregs[REG_RCX] = (greg_t)core;
}
/* ret 0: it was another fault */
bool guest_counter_faulted(const siginfo_t *info, ucontext_t *c) {
  const unsigned char *const at = (unsigned char *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
  const int bytes = is_kept && info->si_code == SI_KERNEL ? counter_bytes(at) : 0;
  if (!bytes) return 0;
  has_faulted = true;
  c->uc_mcontext.gregs[REG_RIP] += bytes;
  if (pm_self() && guest_is_its(at)) {
    asked.next = c->uc_mcontext.gregs[REG_RIP];
    asked.bytes = bytes;
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)guest__counter_stop;
    return 1;
  }
  unsigned core;
  prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  const uint64_t ticks = __rdtscp(&core);
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  answer(c, ticks, core, bytes);
  return 1;
}
/* A trap: ret 0: it was another one */
bool guest_counter_stopped(ucontext_t *c) {
  struct timespec now;
  const int bytes = asked.bytes;
  const unsigned per_node = (unsigned)guest_per_node(), own = (unsigned)pm_rank();
  if (c->uc_mcontext.gregs[REG_RIP] != (greg_t)(uintptr_t)guest__counter_stop + 1) return 0;
  c->uc_mcontext.gregs[REG_RIP] = asked.next; /* others may ask meanwhile */
  clock_gettime(CLOCK_MONOTONIC, &now);
  answer(c, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
         own / per_node << 12 | own % per_node, bytes); /* as Linux numbers them: node, core */
  return 1;
}
static void process_begin(guest *g) { (void)g, guest_counter_keep(true); }
static guest_part part = {.name = "counter", .process_begin = process_begin};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
#else /* elsewhere the counter is the host's: Linux lets cntvct_el0 fault since 6.12 only */
void guest_counter_scan(const elf_image *image) { (void)image; }
bool guest_counter_keep(bool is_wanted) { return (void)is_wanted, false; }
bool guest_counter_faulted(const siginfo_t *info, ucontext_t *c) {
  return (void)info, (void)c, false;
}
bool guest_counter_stopped(ucontext_t *c) { return (void)c, false; }
#endif
