/* A machine in a file: writes and reads it. */
#include "record.h"
#include "../base/locale.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"
#include "maps.h"
#include "registers.h"
#include "stamps.h"
#include "clock.h"
#include "pci.h"

/* ============================================================================================== */
/* [RECORD] 8. A machine in a file                                                                */
/* ============================================================================================== */
enum { NIC__RECORD_LINE = 250, NIC__RECORD_MOST = 1 << 20 }; /* libpci takes no longer lines */

/* ---- writing ---------------------------------------------------------------------------------- */
static void nic__record_config(const nic_machine *m, const char *address, FILE *out) {
  char path[NIC__PATH];
  uint8_t bytes[4096];
  if (!nic__path(path, m->sysfs_root, "bus/pci/devices", address, "config", (char *)NULL)) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t n = read(fd, bytes, sizeof bytes);
  close(fd);
  if (n < 64) return;
  fprintf(out, "%s device\n", address);
  for (ssize_t i = 0; i + 16 <= n; i += 16) {
    fprintf(out, i < 0x100 ? "%02zx:" : "%03zx:", (size_t)i);
    for (int k = 0; k < 16; k++) fprintf(out, " %02x", bytes[i + k]);
    fputc('\n', out);
  }
  fputc('\n', out);
}

static nic_status nic__record_counters(const nic_machine *m, const nic_info *n, int64_t apart_ns,
                                       FILE *out) {
  nic_counters *c;
  const nic_status status = nic_counters_open(m, n, NULL, &c, NULL);
  if (status != NIC_OK) return status;
  const size_t count = nic_counters_count(c);
  nic_value *first = (nic_value *)nic__zalloc(2 * count * sizeof *first),
            *second = first ? first + count : NULL;
  if (first && nic_counters_read(c, first, NULL) == NIC_OK) {
    const struct timespec wait = {(time_t)(apart_ns / 1000000000), (long)(apart_ns % 1000000000)};
    nanosleep(&wait, NULL);
    if (nic_counters_read(c, second, NULL) != NIC_OK) memset(second, 0, count * sizeof *second);
  }
  for (size_t i = 0; first && i < count; i++) {
    const nic_counter *k = nic_counters_at(c, i);
    if (!first[i].is_valid || !second[i].is_valid) continue;
    fprintf(out, "#nic-counter %d %d %d %u %llu %lld %lld %llu %lld %lld %s\n", (int)k->unit,
            (int)k->end, k->width_bits, k->scale, (unsigned long long)first[i].value,
            (long long)first[i].t_before_ns, (long long)first[i].t_after_ns,
            (unsigned long long)second[i].value, (long long)second[i].t_before_ns,
            (long long)second[i].t_after_ns, k->name);
  }
  nic_counters_close(c);
  if (!first) return NIC_E_NOMEM;
  NIC_FREE(first);
  return NIC_OK;
}

/* The words of a register list that reading leaves alone. */
static void nic__record_registers(nic_registers *r, FILE *out) {
  const nic_map *map = r->map;
  const uint32_t words[4] = {map->alive_offset,
                             map->clock_rest_offset ? map->clock_rest_offset : map->alive_offset,
                             map->clock_low_offset, map->clock_high_offset};
  uint32_t value;
  for (int i = 0; i < 4; i++)
    if (r->bus.read32(r->bus.user, words[i], &value) == NIC_OK)
      fprintf(out, "#nic-register %x %08x\n", words[i], value);
}

static void nic__record_clock(nic_clock *c, size_t count, FILE *out) {
  const nic_clock_info *i = &c->info;
  nic_reading r;
  const locale_t before = nbc__locale_begin();
  fprintf(out, "#nic-clock %d %.17g %.17g %.17g %d %d %llu %s\n", (int)i->kind, i->nominal_hz[0],
          i->nominal_hz[1], i->nominal_hz[2], i->low_bits, i->counter_bits,
          (unsigned long long)i->step_ticks, i->name);
  nbc__locale_end(before);
  for (size_t k = 0; k < count && nic_clock_read(c, &r, NULL) == NIC_OK; k++) {
    const struct timespec wait = {0, 5000000};
    fprintf(out, "#nic-reading %lld %llu %lld\n", (long long)r.t_before_ns,
            (unsigned long long)r.ticks, (long long)r.t_after_ns);
    nanosleep(&wait, NULL);
  }
}

/* ret NIC_OK | NIC_E_NOMEM */
static nic_status nic__record_one(const nic_machine *m, const nic_info *n, const nic_record_desc *d,
                                  FILE *out) {
  nic_registers *r = NULL;
  nic_clock *c = NULL;
  fprintf(out, "#nic-begin %d %d %d %d %llu %u %u %s %s %s\n", (int)n->kind, n->is_up,
          n->is_loopback, n->ptp_index, (unsigned long long)n->speed_bps, n->mtu_bytes,
          n->stamp_flags, n->name, n->pci_address[0] ? n->pci_address : "-",
          n->driver[0] ? n->driver : "-");
  fprintf(out, "#nic-model %04x %04x %04x %s\n", n->vendor_id, n->device_id, (unsigned)n->pci_class,
          n->model);
  if (n->link.is_known)
    fprintf(out, "#nic-link %d %d %d %d %d\n", n->link.has_link, n->link.state, n->link.substate,
            n->link.quality, n->link.most_quality);
  for (int k = 0; k < NIC_OFFER_COUNT; k++)
    fprintf(out, "#nic-offer %d %d %s\n", k, (int)n->offers[k].answer, n->offers[k].text);
  nic_status status = nic__record_counters(m, n, d->apart_ns, out);
  if (status == NIC_E_NOMEM) return status;
  status = n->ptp_index >= 0 ? nic_clock_open(m, n, NULL, NULL, &c, NULL) : NIC_E_NOT_FOUND;
  if (status == NIC_OK) nic__record_clock(c, d->reading_count, out);
  nic_clock_close(c);
  c = NULL;
  if (status != NIC_E_NOMEM && nic_map_for(n->vendor_id, n->device_id))
    status = nic_registers_open(m, n, NULL, NULL, &r, NULL);
  if (status == NIC_E_NOMEM) return status;
  if (r) {
    nic_clock_desc by_registers;
    memset(&by_registers, 0, sizeof by_registers);
    by_registers.registers = r;
    nic__record_registers(r, out);
    if (n->ptp_index < 0) status = nic_clock_open(NULL, NULL, &by_registers, NULL, &c, NULL);
    if (c) nic__record_clock(c, d->reading_count, out);
    nic_clock_close(c);
  }
  nic_registers_close(r);
  fputs("#nic-end\n", out);
  return status == NIC_E_NOMEM ? status : NIC_OK;
}

NIC_API nic_status nic_record_write(const nic_machine *machine, const nic_record_desc *desc,
                                    FILE *out, nic_error *err) {
  nic_record_desc d;
  memset(&d, 0, sizeof d);
  if (desc) d = *desc;
  if (!machine || !out || machine->is_recorded)
    return nic__fail(err, NIC_E_INVAL, "machine, out: must not be NULL, and no recording itself");
  if (d.apart_ns <= 0) d.apart_ns = 100000000;
  if (d.reading_count == 0) d.reading_count = 16;
  fputs("#nic-record 1\n\n", out);
  for (size_t i = 0; i < machine->pci_count; i++)
    nic__record_config(machine, machine->pci[i].address, out);
  for (size_t i = 0; i < machine->nic_count; i++)
    if (nic__record_one(machine, &machine->nics[i], &d, out) != NIC_OK)
      return nic__fail(err, NIC_E_NOMEM, "recording cannot be written: out of memory");
  if (fflush(out) != 0 || ferror(out))
    return nic__fail(err, NIC_E_IO, "recording cannot be written: %s", strerror(errno));
  return NIC_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */
typedef struct nic__record_line {
  char text[NIC__RECORD_LINE + 2];
  char *at; /* what is not parsed yet */
  int number;
} nic__record_line;

/* The next word as a number in lo … hi; false: not there or out of range. */
static bool nic__record_number(nic__record_line *l, int base, int64_t lo, int64_t hi,
                               int64_t *value) {
  char *end;
  errno = 0;
  if (*l->at == ' ') l->at++;
  if (*l->at == ' ' || *l->at == 0 || *l->at == '+') return false;
  *value = strtoll(l->at, &end, base);
  if (errno || end == l->at || (*end != ' ' && *end != 0) || *value < lo || *value > hi)
    return false;
  l->at = end;
  return true;
}
static bool nic__record_unsigned(nic__record_line *l, uint64_t *value) {
  char *end;
  errno = 0;
  if (*l->at == ' ') l->at++;
  if (*l->at < '0' || *l->at > '9') return false;
  *value = strtoull(l->at, &end, 10);
  if (errno || (*end != ' ' && *end != 0)) return false;
  l->at = end;
  return true;
}
static bool nic__record_hz(nic__record_line *l, double *value) {
  char *end;
  if (*l->at == ' ') l->at++;
  if (*l->at < '0' || *l->at > '9') return false;
  const locale_t before = nbc__locale_begin();
  *value = strtod(l->at, &end);
  nbc__locale_end(before);
  if ((*end != ' ' && *end != 0) || !isfinite(*value) || *value < 0 || *value > 1e12) return false;
  l->at = end;
  return true;
}
static bool nic__record_word(nic__record_line *l, char *word, size_t word_bytes) {
  if (*l->at == ' ') l->at++;
  const size_t n = strcspn(l->at, " ");
  if (n == 0 || n >= word_bytes) return false;
  memcpy(word, l->at, n);
  word[n] = 0;
  l->at += n;
  return true;
}
static void nic__record_rest(nic__record_line *l, char *text, size_t text_bytes) {
  nic__copy(text, text_bytes, *l->at == ' ' ? l->at + 1 : l->at);
}

static bool nic__record_begin(nic_machine *m, nic__record_line *l) {
  int64_t v[7];
  char name[32], address[16], driver[32];
  static const int64_t most[7] = {NIC_KIND_COUNT - 1, 1,          1,         9999,
                                  INT64_MAX,          UINT32_MAX, UINT32_MAX};
  for (int i = 0; i < 7; i++)
    if (!nic__record_number(l, 10, i == 3 ? -1 : 0, most[i], &v[i])) return false;
  if (!nic__record_word(l, name, sizeof name) || !nic__record_word(l, address, sizeof address) ||
      !nic__record_word(l, driver, sizeof driver))
    return false;
  nic_info *n = nic__add(m, (nic_kind)v[0], name);
  if (!n) return false;
  n->is_up = v[1] != 0;
  n->is_loopback = v[2] != 0;
  n->ptp_index = (int)v[3];
  n->speed_bps = (uint64_t)v[4];
  n->mtu_bytes = (uint32_t)v[5];
  n->stamp_flags = (uint32_t)v[6];
  if (strcmp(address, "-") != 0) nic__copy(n->pci_address, sizeof n->pci_address, address);
  if (strcmp(driver, "-") != 0) nic__copy(n->driver, sizeof n->driver, driver);
  void *grown = nic__grow(m->kept, m->nic_count - 1, &m->kept_capacity, sizeof *m->kept);
  if (!grown) return false;
  m->kept = (nic__kept *)grown;
  memset(&m->kept[m->nic_count - 1], 0, sizeof *m->kept);
  m->kept_count = m->nic_count;
  return true;
}

static bool nic__record_link(nic_link *link, nic__record_line *l) {
  int64_t has, v[4];
  if (!nic__record_number(l, 10, 0, 1, &has)) return false;
  for (int i = 0; i < 4; i++)
    if (!nic__record_number(l, 10, -1, INT32_MAX, &v[i])) return false;
  const nic_link told = {true, has != 0, (int)v[0], (int)v[1], (int)v[2], (int)v[3]};
  *link = told;
  return true;
}

static bool nic__record_counter(nic__kept *k, nic__record_line *l) {
  int64_t unit, end, bits, scale;
  nic__kept_counter c;
  memset(&c, 0, sizeof c);
  if (!nic__record_number(l, 10, 0, NIC_UNIT_PACKETS, &unit) ||
      !nic__record_number(l, 10, 0, NIC_END_STICKS, &end) ||
      !nic__record_number(l, 10, 1, 64, &bits) || !nic__record_number(l, 10, 1, 1 << 20, &scale))
    return false;
  for (int i = 0; i < 2; i++) {
    nic_value *v = &c.values[i];
    if (!nic__record_unsigned(l, &v->value) ||
        !nic__record_number(l, 10, 0, INT64_MAX / 4, &v->t_before_ns) ||
        !nic__record_number(l, 10, v->t_before_ns, INT64_MAX / 4, &v->t_after_ns))
      return false;
    v->is_valid = true;
  }
  if (c.values[1].t_before_ns < c.values[0].t_after_ns) return false;
  nic__record_rest(l, c.counter.name, sizeof c.counter.name);
  if (!strchr(c.counter.name, '/')) return false;
  c.counter.unit = (nic_unit)unit;
  c.counter.end = (nic_end)end;
  c.counter.width_bits = (int)bits;
  c.counter.scale = (uint32_t)scale;
  void *grown = nic__grow(k->counters, k->counter_count, &k->counter_capacity, sizeof *k->counters);
  if (!grown) return false;
  k->counters = (nic__kept_counter *)grown;
  k->counters[k->counter_count++] = c;
  return true;
}

static bool nic__record_register(nic__kept *k, nic__record_line *l) {
  int64_t offset, value;
  if (!nic__record_number(l, 16, 0, UINT32_MAX - 3, &offset) ||
      !nic__record_number(l, 16, 0, UINT32_MAX, &value))
    return false;
  void *grown = nic__grow(k->words, k->word_count, &k->word_capacity, sizeof *k->words);
  if (!grown) return false;
  k->words = (nic__kept_word *)grown;
  k->words[k->word_count].offset = (uint32_t)offset;
  k->words[k->word_count++].value = (uint32_t)value;
  return true;
}

static bool nic__record_clock_line(nic__kept *k, nic__record_line *l) {
  int64_t kind, low_bits, bits;
  nic_clock_info *i = k->clock ? k->clock : (nic_clock_info *)nic__zalloc(sizeof *i);
  k->clock = i;
  if (!i) return false;
  memset(i, 0, sizeof *i);
  if (!nic__record_number(l, 10, 0, NIC_READING_SYSTEM, &kind) ||
      !nic__record_hz(l, &i->nominal_hz[0]) || !nic__record_hz(l, &i->nominal_hz[1]) ||
      !nic__record_hz(l, &i->nominal_hz[2]) || !nic__record_number(l, 10, 0, 32, &low_bits) ||
      !nic__record_number(l, 10, 16, 64, &bits) || !nic__record_unsigned(l, &i->step_ticks) ||
      i->step_ticks == 0 || i->step_ticks > 1000000000)
    return false;
  i->kind = (nic_reading_kind)kind;
  i->low_bits = (int)low_bits;
  i->counter_bits = (int)bits;
  nic__record_rest(l, i->name, sizeof i->name);
  k->reading_count = 0;
  return true;
}

static bool nic__record_reading(nic__kept *k, nic__record_line *l) {
  nic_reading r;
  if (!k->clock || !nic__record_number(l, 10, 0, INT64_MAX / 4, &r.t_before_ns) ||
      !nic__record_unsigned(l, &r.ticks) ||
      !nic__record_number(l, 10, r.t_before_ns, INT64_MAX / 4, &r.t_after_ns) ||
      (k->reading_count && r.t_before_ns < k->readings[k->reading_count - 1].t_before_ns))
    return false;
  void *grown = nic__grow(k->readings, k->reading_count, &k->reading_capacity, sizeof *k->readings);
  if (!grown) return false;
  k->readings = (nic_reading *)grown;
  k->readings[k->reading_count++] = r;
  return true;
}

static bool nic__record_describe(nic_info *n, nic__record_line *l, bool is_model) {
  int64_t a, b, c;
  if (is_model) {
    if (!nic__record_number(l, 16, 0, UINT16_MAX, &a) ||
        !nic__record_number(l, 16, 0, UINT16_MAX, &b) ||
        !nic__record_number(l, 16, 0, UINT16_MAX, &c))
      return false;
    n->vendor_id = (uint16_t)a;
    n->device_id = (uint16_t)b;
    n->pci_class = (uint32_t)c;
    nic__record_rest(l, n->model, sizeof n->model);
    return true;
  }
  if (!nic__record_number(l, 10, 0, NIC_OFFER_COUNT - 1, &a) ||
      !nic__record_number(l, 10, 0, NIC_YES, &b))
    return false;
  n->offers[a].answer = (nic_answer)b;
  nic__record_rest(l, n->offers[a].text, sizeof n->offers[a].text);
  return true;
}

/* One line that begins with #nic-; false: malformed. */
static bool nic__record_take(nic_machine *m, nic__record_line *l, bool *inside) {
  char word[16];
  l->at = l->text + 5;
  if (!nic__record_word(l, word, sizeof word)) return false;
  if (strcmp(word, "record") == 0) {
    int64_t version;
    return nic__record_number(l, 10, 1, 1, &version);
  }
  if (strcmp(word, "begin") == 0)
    return !*inside && m->nic_count < 4096 && (*inside = true) && nic__record_begin(m, l);
  if (!*inside) return false;
  nic_info *n = &m->nics[m->nic_count - 1];
  nic__kept *k = &m->kept[m->nic_count - 1];
  if (strcmp(word, "end") == 0) return *inside = false, true;
  if (strcmp(word, "model") == 0 || strcmp(word, "offer") == 0)
    return nic__record_describe(n, l, word[0] == 'm');
  if (strcmp(word, "link") == 0) return nic__record_link(&n->link, l);
  if (strcmp(word, "counter") == 0) return nic__record_counter(k, l);
  if (strcmp(word, "register") == 0) return nic__record_register(k, l);
  if (strcmp(word, "clock") == 0) return nic__record_clock_line(k, l);
  if (strcmp(word, "reading") == 0) return nic__record_reading(k, l);
  return true; /* of a later version */
}

/* "offset: bytes", more than configuration space has: libpci would end the program. */
static bool nic__record_is_beyond(const char *line) {
  char *end;
  const unsigned long offset = strtoul(line, &end, 16);
  return end != line && end[0] == ':' && end[1] == ' ' && offset > 4096 - 16;
}

/* Reads our lines and checks the others, so that libpci meets only files it can take. */
NIC__PRIVATE nic_status nic__record_load(nic_machine *m, const char *path, nic_error *err) {
  nic__record_line l;
  nic_status status = NIC_OK;
  bool inside = false;
  FILE *file = fopen(path, "re");
  if (!file) return nic__fail(err, nic__of_errno(errno), "%.150s: %s", path, strerror(errno));
  for (l.number = 1; status == NIC_OK && fgets(l.text, sizeof l.text, file); l.number++) {
    const size_t n = strcspn(l.text, "\n");
    const bool whole = l.text[n] == '\n';
    l.text[n] = 0;
    if (!whole || n > NIC__RECORD_LINE || strlen(l.text) != n || l.number > NIC__RECORD_MOST)
      status =
          nic__fail(err, NIC_E_PARSE, "%.100s:%d: %s", path, l.number,
                    !whole ? "line too long, or the file is cut off" : "not a text of this kind");
    else if (strncmp(l.text, "#nic-", 5) == 0 ? !nic__record_take(m, &l, &inside)
                                              : nic__record_is_beyond(l.text))
      status = nic__fail(err, NIC_E_PARSE, "%.100s:%d: malformed, or out of range: %.60s", path,
                         l.number, l.text);
    if (status != NIC_OK && err) err->line = l.number;
  }
  if (status == NIC_OK && ferror(file))
    status = nic__fail(err, NIC_E_IO, "%.150s: %s", path, strerror(errno));
  if (status == NIC_OK && inside)
    status = nic__fail(err, NIC_E_PARSE, "%.150s: cut off: the last NIC has no end", path);
  fclose(file);
  return status;
}

/* Without libpci: configuration space of each device, as far as it is there and without a gap. */
NIC__PRIVATE nic_status nic__record_scan_pci(nic_machine *m, const char *path) {
  char line[512], address[16];
  uint8_t config[4096];
  size_t known = 0; /* bytes */
  nic__pci *p = NULL;
  FILE *file = fopen(path, "re");
  if (!file) return NIC_E_IO;
  memset(config, 0, sizeof config);
  while (fgets(line, sizeof line, file)) {
    unsigned domain = 0, bus, dev, func, offset, b[16];
    if (sscanf(line, "%4x:%2x:%2x.%1x ", &domain, &bus, &dev, &func) == 4 ||
        (domain = 0, sscanf(line, "%2x:%2x.%1x ", &bus, &dev, &func) == 3)) {
      snprintf(address, sizeof address, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff,
               dev & 0xff, func & 7);
      if (p) nic__pcie_from_config(&p->pcie, config, known);
      known = 0;
      if (!(p = nic__pci_add(m, address))) break;
    } else if (p &&
               sscanf(line, "%x: %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x",
                      &offset, &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7], &b[8], &b[9],
                      &b[10], &b[11], &b[12], &b[13], &b[14], &b[15]) == 17 &&
               offset == known && known < sizeof config) {
      for (int i = 0; i < 16; i++) config[known++] = (uint8_t)b[i];
      if (known == 64) nic__pci_from_header(p, config);
    }
  }
  if (p) nic__pcie_from_config(&p->pcie, config, known);
  fclose(file);
  return NIC_OK;
}

NIC_API size_t nic_recorded_readings(const nic_machine *machine, const nic_info *nic,
                                     const nic_clock_info **info, const nic_reading **readings) {
  const nic__kept *k = machine ? nic__kept_of(machine, nic) : NULL;
  if (!info || !readings) return 0;
  *info = k ? k->clock : NULL;
  *readings = k && k->reading_count ? k->readings : NULL;
  return k ? k->reading_count : 0;
}
