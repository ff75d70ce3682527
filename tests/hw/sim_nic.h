/* sim_nic.h: a NIC made of a few lines that obeys a register list: its clock words latch as the
   list says, its statistics clear on read, and it notices every read that it should not have seen.
   Host time is its own too, so that tests know the truth. */
#ifndef SIM_NIC_H_INCLUDED
#define SIM_NIC_H_INCLUDED

typedef struct sim_nic {
  const nic_map *map;
  int64_t host_ns;  /* advances with every look at the clock and every read */
  int64_t start_ns; /* host time at which the device's clock shows start_ticks */
  uint64_t start_ticks;
  double rate;      /* ticks per host ns; 0 = stands still */
  uint64_t latched; /* clock at the latching read */
  uint64_t counters[64];
  long reads, gone_after, clearing_reads, strangers; /* strangers: offsets outside the list */
} sim_nic;

static int64_t sim_nic_now(void *user) {
  sim_nic *s = (sim_nic *)user;
  return s->host_ns += 1 + (int64_t)test_below(40);
}
static uint64_t sim_nic_ticks(const sim_nic *s, int64_t t_ns) {
  return s->start_ticks + (uint64_t)((double)(t_ns - s->start_ns) * s->rate);
}
/* The two words of the clock at some ticks, as the list has them. */
static uint32_t sim_nic_half(const sim_nic *s, uint64_t ticks, bool high) {
  if (s->map->clock_has_seconds) return (uint32_t)(high ? ticks / 1000000000 : ticks % 1000000000);
  if (s->map->clock_width_bits < 64) ticks &= ((uint64_t)1 << s->map->clock_width_bits) - 1;
  return (uint32_t)(high ? ticks >> 32 : ticks);
}
static bool sim_nic_clock(sim_nic *s, uint32_t offset, uint32_t *value) {
  const nic_map *m = s->map;
  const bool latches =
      m->clock_rule == NIC_CLOCK_LOW_LATCHES || m->clock_rule == NIC_CLOCK_REST_LATCHES;
  const uint64_t now = sim_nic_ticks(s, s->host_ns);
  const uint32_t latch =
      m->clock_rule == NIC_CLOCK_REST_LATCHES ? m->clock_rest_offset : m->clock_low_offset;
  if (m->clock_rule == NIC_CLOCK_NONE) return false;
  if (offset == latch) s->latched = now;
  if (offset == m->clock_low_offset)
    *value = sim_nic_half(s, latches ? s->latched : now, false);
  else if (offset == m->clock_high_offset)
    *value = sim_nic_half(s, latches ? s->latched : now, true);
  else if (offset == latch)
    *value = 0;
  else
    return false;
  return true;
}
static bool sim_nic_counter(sim_nic *s, uint32_t offset, uint32_t *value) {
  for (size_t i = 0; i < s->map->register_count; i++) {
    const nic_register *reg = &s->map->registers[i];
    if (offset != reg->offset && (!reg->high_offset || offset != reg->high_offset)) continue;
    s->clearing_reads += reg->clears;
    *value = (uint32_t)(offset == reg->offset ? s->counters[i] : s->counters[i] >> 32);
    if (reg->clears && (offset == reg->high_offset || !reg->high_offset)) s->counters[i] = 0;
    return true;
  }
  return false;
}
static nic_status sim_nic_read32(void *user, uint32_t offset, uint32_t *value) {
  sim_nic *s = (sim_nic *)user;
  s->host_ns += 1 + (int64_t)test_below(400);
  *value = UINT32_MAX;
  if (s->gone_after && s->reads++ >= s->gone_after) return NIC_OK;
  if (!sim_nic_clock(s, offset, value) && !sim_nic_counter(s, offset, value)) {
    s->strangers += offset != s->map->alive_offset;
    *value = 0x00080783; /* a status word */
  }
  s->host_ns += (int64_t)test_below(400);
  if (s->map->is_big_endian) *value = __builtin_bswap32(*value);
  return NIC_OK;
}
/* Opens the simulated device as a NIC without driver. */
static nic_status sim_nic_open(sim_nic *s, const nic_map *map, const char *driver,
                               bool allow_clearing, nic_registers **r, nic_error *err) {
  nic_info info;
  const nic_bus bus = {sim_nic_read32, NULL, s};
  const nic_host host = {sim_nic_now, s};
  const nic_registers_desc desc = {map, &bus, allow_clearing};
  memset(&info, 0, sizeof info);
  strcpy(info.name, "sim");
  snprintf(info.driver, sizeof info.driver, "%s", driver);
  s->map = map;
  return nic_registers_open(NULL, &info, &desc, &host, r, err);
}
#endif
