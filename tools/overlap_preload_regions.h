/* overlap_preload_regions.h: regions that a program marks for other tools are sections of the report too:
   Caliper's cali_begin_region, cali_end_region, cali_begin_phase, cali_end_phase (what CALI_MARK_BEGIN
   and CALI_MARK_PHASE_BEGIN call), and nvtxRangePushA, nvtxRangePop of libnvToolsExt. Each goes on to the
   tool's own function, where there is one. Not seen: Caliper's C++ objects, NVTX 3, which calls no
   function of a library. */
static void region(const char *name, bool begins) {
  if (me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) return;
  busy_begin();
  const int64_t now_ns = nbc_clock_now_ns(run.clock);
  if (me.epoch == __atomic_load_n(&run.epoch, __ATOMIC_RELAXED) || follow(now_ns)) {
    if (begins)
      nbc_section_begin_at(me.recorder, name ? name : "?", now_ns);
    else
      nbc_section_end_at(me.recorder, NULL, now_ns);
    trace_section(name, begins, now_ns);
  }
  busy_end();
}

/* The tool's own function, NULL without the tool. */
#define TOOLS_OWN(type, name)                                                                      \
  __typeof__(type) next;                                                                           \
  void *const found = dlsym(RTLD_NEXT, name);                                                      \
  memcpy(&next, &found, sizeof next)

#define NAMED_REGION(function, begins)                                                             \
  VISIBLE void function(const char *name);                                                         \
  VISIBLE void function(const char *name) {                                                        \
    TOOLS_OWN(void (*)(const char *), #function);                                                  \
    region(name, begins);                                                                          \
    if (next) next(name);                                                                          \
  }
NAMED_REGION(cali_begin_region, true)
NAMED_REGION(cali_end_region, false)
NAMED_REGION(cali_begin_phase, true)
NAMED_REGION(cali_end_phase, false)

VISIBLE int nvtxRangePushA(const char *name);
VISIBLE int nvtxRangePushA(const char *name) {
  TOOLS_OWN(int (*)(const char *), "nvtxRangePushA");
  region(name, true);
  return next ? next(name) : 0;
}
VISIBLE int nvtxRangePop(void);
VISIBLE int nvtxRangePop(void) {
  TOOLS_OWN(int (*)(void), "nvtxRangePop");
  region(NULL, false);
  return next ? next() : 0;
}
