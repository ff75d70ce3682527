/* ============================================================================================== */
/* [NBC] 9. For nbc_overlap.h                                                                     */
/* ============================================================================================== */
#if defined(NIC_WITH_NBC) && defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_NBC_IMPLEMENTATION_ONCE)
#  define NIC_NBC_IMPLEMENTATION_ONCE
#  ifdef __cplusplus
extern "C" {
#  endif

static bool nic__sections_read(void *user, uint64_t *values) {
  nic_section_counters *s = (nic_section_counters *)user;
  if (nic__counters_read(s->counters, s->wanted, s->now) != NIC_OK && s->has_device) return false;
  for (size_t i = 0; i < s->source.count; i++) {
    const int k = s->indexes[i];
    const nic_delta d =
        nic_counter_delta(nic_counters_at(s->counters, (size_t)k), &s->last[k], &s->now[k]);
    values[i] = s->sums[i] += d.delta; /* after a reset: at least so many */
    if (s->now[k].is_valid) s->last[k] = s->now[k];
  }
  return true;
}

/* In the order in which a reader looks: traffic, then what spoils it. */
static bool nic__is_usual(const char *name) {
  static const char *const ends[] = {"/rx_bytes",
                                     "/tx_bytes",
                                     "/rx_packets",
                                     "/tx_packets",
                                     "/rx_dropped",
                                     "/tx_dropped",
                                     "/port_xmit_data",
                                     "/port_rcv_data",
                                     "/port_xmit_wait",
                                     "/out_of_sequence",
                                     "/packet_seq_err",
                                     "/rnr_nak_retry_err",
                                     "/local_ack_timeout_err",
                                     "/TcpRetransSegs",
                                     "/UdpRcvbufErrors",
                                     "_octets"};
  if (strncmp(name, "rxq", 3) == 0 || strncmp(name, "txq", 3) == 0) return false; /* of one queue */
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    if (nic__ends_with(name, ends[i])) return true;
  return strstr(name, "pause") || strstr(name, "xoff") || strstr(name, "retrans");
}

static nic_status nic__sections_choose(nic_section_counters *s, const char *const *names,
                                       size_t name_count, nic_error *err) {
  for (size_t i = 0; names && i < name_count; i++) {
    const int k = nic_counters_index(s->counters, names[i]);
    if (k < 0)
      return nic__fail(err, NIC_E_NOT_FOUND,
                       "%.80s: no such counter; `nicstat watch --all` names them", names[i]);
    if (s->source.count == NBC_MAX_COUNTERS)
      return nic__fail(err, NIC_E_FULL, "more than %d counters", NBC_MAX_COUNTERS);
    s->indexes[s->source.count++] = k;
  }
  for (size_t k = 0;
       !names && k < nic_counters_count(s->counters) && s->source.count < NBC_MAX_COUNTERS; k++)
    if (nic__is_usual(nic_counters_at(s->counters, k)->name))
      s->indexes[s->source.count++] = (int)k;
  return s->source.count ? NIC_OK
                         : nic__fail(err, NIC_E_NOT_FOUND, "none of the usual counters: name some");
}

NIC_API nic_status nic_section_counters_open(nic_counters *counters, const char *const *names,
                                             size_t name_count, nic_section_counters *source,
                                             nic_error *err) {
  nic_section_counters *s = source;
  if (!counters || !s) return nic__fail(err, NIC_E_INVAL, "counters and source: must not be NULL");
  memset(s, 0, sizeof *s);
  s->counters = counters;
  nic_status status = nic__sections_choose(s, names, name_count, err);
  if (status != NIC_OK) return status;
  for (size_t i = 0; i < s->source.count; i++)
    s->names[i] = nic_counters_at(counters, (size_t)s->indexes[i])->name;
  s->source.names = s->names;
  s->source.read = nic__sections_read;
  s->source.user = s;
  s->last = (nic_value *)nic__zalloc(nic_counters_count(counters) * sizeof *s->last);
  s->now = (nic_value *)nic__zalloc(nic_counters_count(counters) * sizeof *s->now);
  s->wanted = (bool *)nic__zalloc(nic_counters_count(counters) * sizeof *s->wanted);
  for (size_t i = 0; s->wanted && i < s->source.count; i++) {
    s->wanted[s->indexes[i]] = true;
    const nic__group *group = counters->sources[s->indexes[i]].group;
    if (!group || !group->is_of_host) s->has_device = true;
  }
  if (!s->last || !s->now || !s->wanted)
    status = nic__fail(err, NIC_E_NOMEM, "out of memory");
  else
    status = nic_counters_read(counters, s->last, err);
  if (status != NIC_OK) nic_section_counters_close(s);
  return status;
}

NIC_API void nic_section_counters_close(nic_section_counters *source) {
  if (!source) return;
  NIC_FREE(source->last);
  NIC_FREE(source->now);
  NIC_FREE(source->wanted);
  source->last = source->now = NULL;
  source->wanted = NULL;
}

/* Status codes below -400 are ours; those they share mean the same. */
static nbc_status nic__to_nbc(nic_status status) {
  return status <= NIC_E_PCI ? NBC_E_CLOCK : (nbc_status)status;
}

static nbc_status nic__nbc_read_clock(void *ctx, int64_t *t_before_ns, uint64_t *ticks,
                                      int64_t *t_after_ns) {
  nic_reading r;
  const nic_status status = nic_clock_read((nic_clock *)ctx, &r, NULL);
  if (status != NIC_OK) return nic__to_nbc(status);
  *t_before_ns = r.t_before_ns;
  *ticks = r.ticks;
  *t_after_ns = r.t_after_ns;
  return NBC_OK;
}
static nbc_status nic__nbc_next_stamp(void *ctx, nbc_nic_stamp *stamp) {
  (void)ctx, (void)stamp;
  return NBC_PENDING;
}

NIC_API nbc_nic nic_clock_as_nbc(nic_clock *clock) {
  nbc_nic n;
  memset(&n, 0, sizeof n);
  if (!clock) return n;
  n.ctx = clock;
  n.name = clock->info.name;
  n.nominal_hz = clock->info.nominal_hz[0];
  n.counter_bits = clock->info.counter_bits;
  n.step_ticks = clock->info.step_ticks;
  n.read_clock = nic__nbc_read_clock;
  n.next_stamp = nic__nbc_next_stamp;
  return n;
}

NIC_API nbc_relation_desc nic_clock_relation(const nic_clock_info *info) {
  nbc_relation_desc d =
      nbc_relation_crystal(info && info->nominal_hz[0] > 0 ? info->nominal_hz[0] : 1e9);
  d.rate_limit_ppm = 1000;
  d.wander_ppm_per_s = 1;
  if (info) {
    d.counter_bits = info->counter_bits;
    d.step_ticks = info->step_ticks;
  }
  return d;
}

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_NBC_IMPLEMENTATION_ONCE */
