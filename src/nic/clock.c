/* Reads a NIC's clock: PTP device, registers, or the kernel's own. */
#include "clock.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "maps.h"
#include "stamps.h"

/* ============================================================================================== */
/* [CLOCK] 7. Reading a NIC's clock                                                               */
/* ============================================================================================== */

static int nic__kernel_control(void *user, int fd, unsigned long request, void *argument) {
  (void)user;
  return ioctl(fd, request, argument);
}
static int64_t nic__kernel_clock_ns(void *user, int clock_id) {
  struct timespec t;
  (void)user;
  if (clock_gettime((clockid_t)clock_id, &t) != 0) return -1;
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static int nic__clock_id(int fd) {
  return (int)(((unsigned)~fd << 3) | 3);
} /* as the kernel defines it for PTP devices */

/* Narrows a reading by times of another clock of this host, taken closer to the register; the two
   anchors enclose the system call. When that clock was stepped meanwhile, the outer bracket stays. */
static void nic__clock_narrow(const nic__offset *then, const nic__offset *now, int64_t pre_ns,
                              int64_t post_ns, nic_reading *r) {
  int64_t lo_ns, hi_ns, unused_ns;
  if (!nic__real_to_host(then, now, pre_ns, &lo_ns, &unused_ns) ||
      !nic__real_to_host(then, now, post_ns, &unused_ns, &hi_ns))
    return;
  if (lo_ns > hi_ns || hi_ns < r->t_before_ns || lo_ns > r->t_after_ns) return;
  if (lo_ns > r->t_before_ns) r->t_before_ns = lo_ns;
  if (hi_ns < r->t_after_ns) r->t_after_ns = hi_ns;
}

static int64_t nic__ptp_ns(const struct ptp_clock_time *t) { return t->sec * 1000000000 + t->nsec; }

static int nic__clock_precise(nic_clock *c, nic_reading *r) {
  struct ptp_sys_offset_precise p;
  memset(&p, 0, sizeof p);
  const nic__offset then = nic__offset_now(&c->host, &c->kernel, CLOCK_MONOTONIC_RAW);
  r->t_before_ns = nic_host_now_ns(&c->host);
  if (c->kernel.control(c->kernel.user, c->fd, PTP_SYS_OFFSET_PRECISE, &p) != 0) return -1;
  r->t_after_ns = nic_host_now_ns(&c->host);
  const nic__offset now = nic__offset_now(&c->host, &c->kernel, CLOCK_MONOTONIC_RAW);
  const int64_t raw_ns = nic__ptp_ns(&p.sys_monoraw);
  r->ticks = (uint64_t)nic__ptp_ns(&p.device);
  nic__clock_narrow(&then, &now, raw_ns - c->precise_err_ns, raw_ns + c->precise_err_ns, r);
  return 0;
}

static int nic__clock_extended(nic_clock *c, nic_reading *r) {
  struct ptp_sys_offset_extended x;
  memset(&x, 0, sizeof x);
  x.n_samples = 3;
  const nic__offset then = nic__offset_now(&c->host, &c->kernel, CLOCK_REALTIME);
  r->t_before_ns = nic_host_now_ns(&c->host);
  if (c->kernel.control(c->kernel.user, c->fd, PTP_SYS_OFFSET_EXTENDED, &x) != 0) return -1;
  r->t_after_ns = nic_host_now_ns(&c->host);
  const nic__offset now = nic__offset_now(&c->host, &c->kernel, CLOCK_REALTIME);
  int64_t pre_ns = 0, post_ns = INT64_MAX;
  for (unsigned i = 0; i < x.n_samples && i < 3;
       i++) { /* the first is often slow: take the narrowest */
    const int64_t a_ns = nic__ptp_ns(&x.ts[i][0]), b_ns = nic__ptp_ns(&x.ts[i][2]);
    if (b_ns < a_ns || b_ns - a_ns >= post_ns - pre_ns) continue;
    pre_ns = a_ns;
    post_ns = b_ns;
    r->ticks = (uint64_t)nic__ptp_ns(&x.ts[i][1]);
  }
  if (post_ns == INT64_MAX) return errno = EIO, -1;
  nic__clock_narrow(&then, &now, pre_ns, post_ns, r);
  return 0;
}

static int nic__clock_plain(nic_clock *c, nic_reading *r) {
  const int id = c->info.kind == NIC_READING_SYSTEM ? CLOCK_REALTIME : nic__clock_id(c->fd);
  r->t_before_ns = nic_host_now_ns(&c->host);
  const int64_t ns = c->kernel.clock_ns(c->kernel.user, id);
  r->t_after_ns = nic_host_now_ns(&c->host);
  r->ticks = (uint64_t)ns;
  return ns < 0 ? -1 : 0;
}

NIC_API nic_status nic_clock_read(nic_clock *clock, nic_reading *reading, nic_error *err) {
  int code = -1;
  if (!clock || !reading) return nic__fail(err, NIC_E_INVAL, "clock, reading: must not be NULL");
  switch (clock->info.kind) {
  case NIC_READING_PRECISE: code = nic__clock_precise(clock, reading); break;
  case NIC_READING_EXTENDED: code = nic__clock_extended(clock, reading); break;
  case NIC_READING_PLAIN:
  case NIC_READING_SYSTEM: code = nic__clock_plain(clock, reading); break;
  case NIC_READING_REGISTERS: {
    const nic_status status = nic_registers_read_clock(clock->registers, reading, err);
    if (status == NIC_OK) reading->ticks >>= clock->info.low_bits;
    return status;
  }
  }
  if (code == 0) return NIC_OK;
  return nic__fail(err, nic__of_errno(errno), "%s: cannot be read: %s", clock->info.name,
                   errno == ENODEV ? "device gone or driver unloaded" : strerror(errno));
}

/* A PTP device is read in the best way that works, tried once. */
static nic_status nic__clock_open_ptp(nic_clock *c, const char *path, nic_reading_kind best,
                                      nic_error *err) {
  struct ptp_clock_caps caps;
  nic_reading reading;
  nic_status status = NIC_E_UNSUPPORTED;
  nic__copy(c->info.name, sizeof c->info.name, path);
  c->info.nominal_hz[0] = 1e9;
  c->info.counter_bits = 64;
  c->info.step_ticks = 1;
  c->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (c->fd < 0)
    return nic__fail(
        err, nic__of_errno(errno), "%.100s: %s%s", path, strerror(errno),
        errno == EACCES ? "; udev rule SUBSYSTEM==\"ptp\", MODE=\"0644\", or run as root" : "");
  memset(&caps, 0, sizeof caps);
  if (c->kernel.control(c->kernel.user, c->fd, PTP_CLOCK_GETCAPS, &caps) != 0)
    return nic__fail(err, errno == ENOTTY ? NIC_E_UNSUPPORTED : nic__of_errno(errno),
                     "%.100s: not a PTP clock: %s", path, strerror(errno));
  if (best == NIC_READING_PRECISE && !caps.cross_timestamping) best = NIC_READING_EXTENDED;
  for (int kind = (int)best; kind <= NIC_READING_PLAIN && status != NIC_OK; kind++) {
    c->info.kind = (nic_reading_kind)kind;
    status = nic_clock_read(c, &reading, err);
    if (status == NIC_E_GONE) return status;
  }
  return status;
}

NIC_API nic_status nic_clock_open(const nic_machine *machine, const nic_info *nic,
                                  const nic_clock_desc *desc_in, const nic_host *host,
                                  nic_clock **clock, nic_error *err) {
  char path[NIC__PATH], node[24];
  nic_clock_desc desc;
  memset(&desc, 0, sizeof desc);
  if (desc_in) desc = *desc_in;
  if (!clock) return nic__fail(err, NIC_E_INVAL, "clock: must not be NULL");
  *clock = NULL;
  if (!desc.device_path && !desc.registers && !desc.system) {
    if (!machine || !nic)
      return nic__fail(err, NIC_E_INVAL, "machine, nic: must not be NULL without a source");
    if (nic->ptp_index < 0)
      return nic__fail(err, NIC_E_NOT_FOUND, "%s: %s", nic->name,
                       nic->offers[NIC_OFFER_CLOCK].text);
    snprintf(node, sizeof node, "ptp%d", nic->ptp_index);
    if (!nic__path(path, machine->dev_root, node, (char *)NULL))
      return nic__fail(err, NIC_E_RANGE, "dev_root: too long");
    desc.device_path = path;
  }
  nic_clock *c = (nic_clock *)nic__zalloc(sizeof *c);
  if (!c) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  c->fd = -1;
  c->precise_err_ns = desc.precise_err_ns ? desc.precise_err_ns : 100;
  if (host) c->host = *host;
  c->kernel.control = nic__kernel_control;
  c->kernel.clock_ns = nic__kernel_clock_ns;
  if (desc.kernel) c->kernel = *desc.kernel;
  nic_status status = NIC_OK;
  if (desc.system) {
    strcpy(c->info.name, "CLOCK_REALTIME");
    c->info.kind = NIC_READING_SYSTEM;
    c->info.nominal_hz[0] = 1e9;
    c->info.counter_bits = 64;
    c->info.step_ticks = 1;
  } else if (desc.registers) {
    const nic_map *map = desc.registers->map;
    c->registers = desc.registers;
    c->info.kind = NIC_READING_REGISTERS;
    snprintf(c->info.name, sizeof c->info.name, "%.31s registers (%.18s)", desc.registers->name,
             map->name);
    c->info.low_bits = map->clock_low_bits;
    for (int i = 0; i < 3; i++)
      c->info.nominal_hz[i] = ldexp(map->ticks_per_ns[i] * 1e9, -map->clock_low_bits);
    c->info.counter_bits = map->clock_width_bits - map->clock_low_bits;
    c->info.step_ticks = 1;
  } else
    status = nic__clock_open_ptp(c, desc.device_path, desc.best_kind, err);
  if (status == NIC_OK)
    *clock = c;
  else
    nic_clock_close(c);
  return status;
}

NIC_API void nic_clock_close(nic_clock *clock) {
  if (!clock) return;
  if (clock->fd >= 0) close(clock->fd);
  NIC_FREE(clock);
}
NIC_API const nic_clock_info *nic_clock_info_of(const nic_clock *clock) {
  return clock ? &clock->info : NULL;
}

NIC_API nic_status nic_clock_judge(const nic_clock_info *info, const nic_reading *first,
                                   const nic_reading *last, double limit_ppm, double *rate_lo_hz,
                                   double *rate_hi_hz, nic_error *err) {
  if (!info || !first || !last)
    return nic__fail(err, NIC_E_INVAL, "info, first, last: must not be NULL");
  const uint64_t mask = info->counter_bits > 0 && info->counter_bits < 64
                            ? ((uint64_t)1 << info->counter_bits) - 1
                            : UINT64_MAX;
  const uint64_t ticks = (last->ticks - first->ticks) & mask;
  const double longest_s = (double)(last->t_after_ns - first->t_before_ns) * 1e-9;
  const double shortest_s = (double)(last->t_before_ns - first->t_after_ns) * 1e-9;
  const double step = (double)(info->step_ticks ? info->step_ticks : 1),
               limit = (limit_ppm > 0 ? limit_ppm : 1000) * 1e-6;
  /* each reading lags the clock by up to one step */
  const double lo_hz =
      longest_s > 0 && (double)ticks > step ? ((double)ticks - step) / longest_s : 0;
  const double hi_hz = shortest_s > 0 ? ((double)ticks + step) / shortest_s : (double)INFINITY;
  if (rate_lo_hz) *rate_lo_hz = lo_hz;
  if (rate_hi_hz) *rate_hi_hz = hi_hz;
  double nearest_hz = 0;
  bool possible = info->nominal_hz[0] <= 0;
  for (int i = 0; i < 3 && info->nominal_hz[i] > 0; i++) {
    const double hz = info->nominal_hz[i];
    if (lo_hz <= hz * (1 + limit) && hi_hz >= hz * (1 - limit)) possible = true;
    if (i == 0 || fabs(hi_hz / hz - 1) < fabs(hi_hz / nearest_hz - 1)) nearest_hz = hz;
  }
  if (ticks == 0 && (info->nominal_hz[0] > 0 ? !possible : shortest_s > 0.001))
    return nic__fail(err, NIC_E_STOPPED,
                     "%s: its clock stands still: not started by the driver, or not emulated",
                     info->name);
  if (!possible && ticks > mask / 2)
    return nic__fail(err, NIC_E_BROKEN, "%s: its clock went back: somebody sets it", info->name);
  if (!possible)
    return nic__fail(err, NIC_E_RATE,
                     "%s: its clock runs %.4g times as fast as it should: wrong crystal assumed by "
                     "driver or emulation",
                     info->name, (lo_hz + (isfinite(hi_hz) ? hi_hz : lo_hz)) / 2 / nearest_hz);
  return NIC_OK;
}

NIC_API const char *nic_reading_kind_name(nic_reading_kind kind) {
  static const char *const names[] = {"precise", "extended", "plain", "registers", "system"};
  return (unsigned)kind <= NIC_READING_SYSTEM ? names[kind] : "?";
}
