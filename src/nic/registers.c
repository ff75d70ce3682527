/* Reads the registers of a device, of a simulated one or of a recording. */
#include "registers.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"
#include "maps.h"

static nic_status nic__bar_read32(void *user, uint32_t offset, uint32_t *value) {
  const nic__bar *bar = (const nic__bar *)user;
  if (offset % 4 || offset + 4 > bar->size_bytes) return NIC_E_RANGE;
  *value = bar->words[offset / 4];
  return NIC_OK;
}
NIC__PRIVATE void nic__bar_close(void *user) {
  const nic__bar *bar = (const nic__bar *)user;
  munmap((void *)(uintptr_t)bar->words, bar->size_bytes);
}

/* Why a BAR cannot be read, and the way out; the words are the administrator's to act on. */
static nic_status nic__bar_refused(const nic_info *n, const char *path, int number,
                                   nic_error *err) {
  switch (number) {
  case ENOENT:
    return nic__fail(err, NIC_E_NOT_FOUND,
                     "%.100s is missing: this kernel or container shows no BAR", path);
  case EACCES: return nic__fail(err, NIC_E_RIGHTS, "%.100s: only root may read it", path);
  case EPERM:
    return nic__fail(
        err, NIC_E_RIGHTS,
        "%.100s: refused by kernel lockdown (Secure Boot) or the container; use the PTP clock",
        path);
  case EINVAL:
    return nic__fail(
        err, NIC_E_RIGHTS,
        "driver %s owns the BAR: use the PTP clock, boot with iomem=relaxed, or unbind the driver",
        n->driver[0] ? n->driver : "?");
  default: return nic__fail(err, NIC_E_SYSTEM, "%.100s: %s", path, strerror(number));
  }
}

NIC__PRIVATE nic_status nic__bar_map(const nic_machine *m, const nic_info *n, const nic_map *map,
                                     nic__bar *bar, nic_error *err) {
  char path[NIC__PATH], file[16];
  struct stat st;
  snprintf(file, sizeof file, "resource%d", map->bar_index);
  if (!n->pci_address[0]) return nic__fail(err, NIC_E_UNSUPPORTED, "%s: not a PCI device", n->name);
  if (!nic__path(path, m->sysfs_root, "bus/pci/devices", n->pci_address, file, (char *)NULL))
    return NIC_E_RANGE;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nic__bar_refused(n, path, errno, err);
  void *words = MAP_FAILED;
  int number = fstat(fd, &st) == 0 ? 0 : errno;
  const bool too_small = !number && st.st_size < (off_t)map->bar_bytes;
  if (!number && !too_small) {
    words = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED) number = errno;
  }
  close(fd);
  if (too_small)
    return nic__fail(err, NIC_E_RANGE, "%.100s: %lld bytes, but the registers of %s need %u", path,
                     (long long)st.st_size, map->name, map->bar_bytes);
  if (words == MAP_FAILED) return nic__bar_refused(n, path, number, err);
  bar->words = (const volatile uint32_t *)words;
  bar->size_bytes = (size_t)st.st_size;
  return NIC_OK;
}

/* A recording as a bus: the words that were read, each always the same. */
static nic_status nic__kept_read32(void *user, uint32_t offset, uint32_t *value) {
  const nic__kept *k = (const nic__kept *)user;
  for (size_t i = 0; i < k->word_count; i++)
    if (k->words[i].offset == offset) return *value = k->words[i].value, NIC_OK;
  return NIC_E_NOT_FOUND;
}

/* The bus of a NIC of this machine: its BAR, or what was recorded of it. */
static nic_status nic__bus_open(const nic_machine *m, const nic_info *n, nic_registers *r,
                                nic_error *err) {
  const nic__kept *kept = m->is_recorded ? nic__kept_of(m, n) : NULL;
  if (m->is_recorded && (!kept || kept->word_count == 0))
    return nic__fail(err, NIC_E_NOT_FOUND, "%s: no registers were recorded", n->name);
  if (kept) {
    r->bus.read32 = nic__kept_read32;
    r->bus.user = (void *)(uintptr_t)kept;
    return NIC_OK;
  }
  r->bus.read32 = nic__bar_read32;
  r->bus.user = &r->bar;
  const nic_status status = nic__bar_map(m, n, r->map, &r->bar, err);
  if (status == NIC_OK) r->bus.close = nic__bar_close;
  return status;
}

/* One word in the host's byte order. All ones is what a bus answers for a device that is gone: then
   the word that never is all ones decides. */
static nic_status nic__word(nic_registers *r, uint32_t offset, uint32_t *value, nic_error *err) {
  uint32_t alive = 0;
  nic_status status = r->bus.read32(r->bus.user, offset, value);
  if (status == NIC_OK && *value == UINT32_MAX)
    status = r->bus.read32(r->bus.user, r->map->alive_offset, &alive);
  if (status != NIC_OK)
    return nic__fail(err, status, "%s: register 0x%x cannot be read: %s", r->name, offset,
                     nic_status_text(status));
  if (alive == UINT32_MAX)
    return nic__fail(
        err, NIC_E_GONE,
        "%s: registers read all ones: device gone, powered down or its memory decoding off",
        r->name);
  if (r->map->is_big_endian) *value = __builtin_bswap32(*value);
  return NIC_OK;
}

static nic_status nic__registers_describe(nic_registers *r) {
  const size_t count = r->map->register_count;
  r->counters = (nic_counter *)nic__zalloc(count * sizeof *r->counters);
  r->sums = (uint64_t *)nic__zalloc(count * sizeof *r->sums);
  if (!r->counters || !r->sums) return NIC_E_NOMEM;
  for (size_t i = 0; i < count; i++) {
    const nic_register *reg = &r->map->registers[i];
    nic__describe(&r->counters[i], "register", reg->name);
    r->counters[i].unit = reg->unit;
    r->counters[i].width_bits = reg->clears || reg->high_offset ? 64 : 32;
  }
  return NIC_OK;
}

NIC_API nic_status nic_registers_open(const nic_machine *machine, const nic_info *nic,
                                      const nic_registers_desc *desc, const nic_host *host,
                                      nic_registers **registers, nic_error *err) {
  uint32_t ignored;
  if (!nic || !registers) return nic__fail(err, NIC_E_INVAL, "nic, registers: must not be NULL");
  *registers = NULL;
  const nic_map *map = desc && desc->map ? desc->map : nic_map_for(nic->vendor_id, nic->device_id);
  const bool has_bus = desc && desc->bus;
  if (!map)
    return nic__fail(err, NIC_E_UNSUPPORTED, "%s: no register list for %04x:%04x", nic->name,
                     nic->vendor_id, nic->device_id);
  if (!has_bus && !machine)
    return nic__fail(err, NIC_E_INVAL, "machine: must not be NULL without a bus");
  nic_registers *r = (nic_registers *)nic__zalloc(sizeof *r);
  if (!r) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  r->map = map;
  if (host) r->host = *host;
  memcpy(r->name, nic->name, sizeof r->name);
  r->may_clear = desc && desc->allow_clearing && !nic->driver[0];
  nic_status status = NIC_OK;
  if (has_bus)
    r->bus = *desc->bus;
  else
    status = nic__bus_open(machine, nic, r, err);
  if (status == NIC_OK && nic__registers_describe(r) != NIC_OK)
    status = nic__fail(err, NIC_E_NOMEM, "out of memory");
  if (status == NIC_OK) status = nic__word(r, map->alive_offset, &ignored, err);
  if (status == NIC_OK)
    *registers = r;
  else
    nic_registers_close(r);
  return status;
}

NIC_API void nic_registers_close(nic_registers *registers) {
  if (!registers) return;
  if (registers->bus.close) registers->bus.close(registers->bus.user);
  NIC_FREE(registers->counters);
  NIC_FREE(registers->sums);
  NIC_FREE(registers);
}

NIC_API const nic_map *nic_registers_map(const nic_registers *registers) {
  return registers ? registers->map : NULL;
}
NIC_API size_t nic_registers_count(const nic_registers *registers) {
  return registers ? registers->map->register_count : 0;
}
NIC_API const nic_counter *nic_registers_at(const nic_registers *registers, size_t index) {
  return registers && index < registers->map->register_count ? &registers->counters[index] : NULL;
}

NIC_API nic_status nic_registers_read(nic_registers *registers, nic_value *values, nic_error *err) {
  nic_registers *r = registers;
  size_t valid = 0;
  if (!registers || !values)
    return nic__fail(err, NIC_E_INVAL, "registers, values: must not be NULL");
  for (size_t i = 0; i < r->map->register_count; i++) {
    const nic_register *reg = &r->map->registers[i];
    uint32_t low, high = 0;
    memset(&values[i], 0, sizeof values[i]);
    if (reg->clears && !r->may_clear) continue;
    values[i].t_before_ns = nic_host_now_ns(&r->host);
    nic_status status = nic__word(r, reg->offset, &low, err);
    if (status == NIC_OK && reg->high_offset) status = nic__word(r, reg->high_offset, &high, err);
    if (status != NIC_OK) return status;
    values[i].t_after_ns = nic_host_now_ns(&r->host);
    values[i].value = (uint64_t)high << 32 | low;
    if (reg->clears) values[i].value = r->sums[i] += values[i].value;
    values[i].is_valid = true;
    valid++;
  }
  if (valid) return NIC_OK;
  if (r->map->register_count == 0)
    return nic__fail(err, NIC_E_UNSUPPORTED, "%s: its register list has no counters", r->name);
  return nic__fail(err, NIC_E_REFUSED, "%s: reading these counters clears them%s", r->name,
                   r->may_clear ? "" : "; needs consent, and a NIC that no driver owns");
}

/* One try; false in *whole: the words do not belong together, try again. */
static nic_status nic__clock_words(nic_registers *r, nic_reading *out, uint32_t *low,
                                   uint32_t *high, bool *whole, nic_error *err) {
  const nic_map *m = r->map;
  const bool rest = m->clock_rule == NIC_CLOCK_REST_LATCHES,
             around = m->clock_rule == NIC_CLOCK_HIGH_AROUND;
  uint32_t latch, first_high = 0, again = 0;
  nic_status status = around ? nic__word(r, m->clock_high_offset, &first_high, err) : NIC_OK;
  if (status != NIC_OK) return status;
  out->t_before_ns = nic_host_now_ns(&r->host);
  status = nic__word(r, rest ? m->clock_rest_offset : m->clock_low_offset, &latch, err);
  out->t_after_ns = nic_host_now_ns(&r->host);
  *low = latch;
  if (status == NIC_OK && rest) status = nic__word(r, m->clock_low_offset, low, err);
  if (status == NIC_OK) status = nic__word(r, m->clock_high_offset, high, err);
  if (status == NIC_OK && m->clock_rule == NIC_CLOCK_LOW_RECHECKED)
    status = nic__word(r, m->clock_low_offset, &again, err);
  *whole = (!around || first_high == *high) &&
           (m->clock_rule != NIC_CLOCK_LOW_RECHECKED || again >= *low);
  return status;
}

NIC_API nic_status nic_registers_read_clock(nic_registers *registers, nic_reading *reading,
                                            nic_error *err) {
  if (!registers || !reading)
    return nic__fail(err, NIC_E_INVAL, "registers, reading: must not be NULL");
  nic_registers *r = registers;
  const nic_map *m = r->map;
  uint32_t low = 0, high = 0;
  bool whole = false;
  if (m->clock_rule == NIC_CLOCK_NONE)
    return nic__fail(err, NIC_E_UNSUPPORTED, "%s: its register list has no clock", r->name);
  for (int tries = 0; tries < 8 && !whole; tries++) {
    const nic_status status = nic__clock_words(r, reading, &low, &high, &whole, err);
    if (status != NIC_OK) return status;
  }
  if (!whole || (m->clock_has_seconds && low > 999999999))
    return nic__fail(err, NIC_E_BROKEN,
                     "%s: the words of its clock do not fit together (0x%x, 0x%x)", r->name, high,
                     low);
  reading->ticks =
      m->clock_has_seconds ? high * (uint64_t)1000000000 + low : (uint64_t)high << 32 | low;
  if (m->clock_width_bits < 64) reading->ticks &= ((uint64_t)1 << m->clock_width_bits) - 1;
  return NIC_OK;
}
