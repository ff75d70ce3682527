/* ============================================================================================== */
/* [NBC] 9. For nbc_overlap.h: counters per section, clocks as witnesses (NIC_WITH_NBC)           */
/* ============================================================================================== */
/* This section is opened by NIC_WITH_NBC; nbc_overlap.h must be included first. It has a guard of its
   own, so that the order of other includes never hides it. */
#if defined(NIC_WITH_NBC) && !defined(NIC_NBC_H_INCLUDED)
#  define NIC_NBC_H_INCLUDED
#  ifndef NBC_OVERLAP_H_INCLUDED
#    error "nic_hw.h: NIC_WITH_NBC needs nbc_overlap.h to be included first"
#  endif
#  ifdef __cplusplus
extern "C" {
#  endif

/* Counters of a NIC, booked by the monitor to the sections of the program. They are the node's, and
   need a system call each: so choose few; those not chosen are not read.
   in   names, name_count  as nic_counters_index takes them; NULL = bytes, packets, drops, pauses and
                           retransmissions, as far as the NIC has them, and the host's TCP
                           retransmissions and UDP losses
        counters           stays yours, to be closed after the source
   out  source->source     for nbc_monitor_desc.counters; counts on through wraps
   ret  NIC_OK | NIC_E_INVAL (counters or source is NULL) | NIC_E_NOT_FOUND (a name; or none of the usual ones) | NIC_E_FULL |
        NIC_E_NOMEM */
typedef struct nic_section_counters {
  nbc_counter_source source;
  nic_counters *counters;
  int indexes[NBC_MAX_COUNTERS];
  bool *wanted, has_device; /* which are read; whether the device's own are among them */
  const char *names[NBC_MAX_COUNTERS];
  uint64_t sums[NBC_MAX_COUNTERS];
  nic_value *last, *now;
} nic_section_counters;
NIC_API nic_status nic_section_counters_open(nic_counters *counters, const char *const *names,
                                             size_t name_count, nic_section_counters *source,
                                             nic_error *err);
NIC_API void nic_section_counters_close(nic_section_counters *source); /* NULL allowed */

/* A clock as an nbc_nic: for nbc_nic_watch_create and nbc_relation. It has no stamps of its own. Of NULL: all 0. */
NIC_API nbc_nic nic_clock_as_nbc(nic_clock *clock);
/* What the relation may take for granted of it: 1000 ppm (a driver may steer it), 1 ppm per second. info: NULL = a clock of 1 GHz. */
NIC_API nbc_relation_desc nic_clock_relation(const nic_clock_info *info);

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_NBC_H_INCLUDED */
