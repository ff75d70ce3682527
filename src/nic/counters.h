/* Counters: what they are, differences and rates; the sources they are read from. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"

/* ============================================================================================== */
/* [COUNTERS] 4. Counters: bytes, packets, retransmissions; differences and rates                 */
/* ============================================================================================== */
typedef enum nic_unit { NIC_UNIT_EVENTS = 0, NIC_UNIT_BYTES, NIC_UNIT_PACKETS } nic_unit;

/* How a counter behaves at its end. */
typedef enum nic_end {
  NIC_END_WRAPS = 0, /* starts again at 0 */
  NIC_END_STICKS     /* stays at its largest value (InfiniBand error counters) */
} nic_end;

/* "host/…" counts what TCP and UDP of this network namespace sent again, waited for or lost, over all
   NICs: it stands next to each network interface's own counters, because no NIC knows of it. */
typedef struct nic_counter {
  char name[72]; /* "net/rx_bytes", "port1/port_xmit_data", "ethtool/tx_pause", "telemetry/…",
                    "host/TcpRetransSegs" (as nstat names it) */
  nic_unit unit;
  nic_end end;
  int width_bits; /* 64 when the source does not say less */
  uint32_t scale; /* what one step stands for; values below are already multiplied (IB words: 4) */
} nic_counter;

typedef struct nic_value {
  uint64_t value;
  int64_t t_before_ns, t_after_ns; /* host time: the value was true at some time between */
  bool is_valid;                   /* false: this counter could not be read this time */
} nic_value;

typedef enum nic_change {
  NIC_CHANGE_NONE = 0, /* one of the values is not valid: nothing known */
  NIC_CHANGE_EXACT,
  NIC_CHANGE_WRAPPED, /* went through its end once, counted */
  NIC_CHANGE_RESET,   /* went back: only "at least delta" is known */
  NIC_CHANGE_STUCK    /* at its largest value: "at least delta" */
} nic_change;

typedef struct nic_delta {
  uint64_t delta;
  nic_change change;
  double per_s_lo,
      per_s_hi; /* the true mean rate lies between; hi is infinite for RESET and STUCK */
} nic_delta;

typedef struct nic_counters nic_counters;

/* Opens all counters of one NIC and keeps their files open. A NIC without any: NIC_E_NOT_FOUND.
   host may be NULL; it is copied. */
NIC_API nic_status nic_counters_open(const nic_machine *machine, const nic_info *nic,
                                     const nic_host *host, nic_counters **counters, nic_error *err);
NIC_API void nic_counters_close(nic_counters *counters); /* NULL allowed */
NIC_API size_t nic_counters_count(const nic_counters *counters);
NIC_API const nic_counter *nic_counters_at(const nic_counters *counters, size_t index);
/* Index of a name, or of its part after the last '/'; -1 when there is none. */
NIC_API int nic_counters_index(const nic_counters *counters, const char *name);
/* Reads all, in order; values has room for nic_counters_count. Cost: two clock readings and one
   system call per counter; one for all of ethtool, two for all of the host. ret NIC_OK (some may be invalid) | NIC_E_GONE (none could be read) */
NIC_API nic_status nic_counters_read(nic_counters *counters, nic_value *values, nic_error *err);
/* What happened between two values of one counter. A counter below 64 bits that went back by more
   than half its range wrapped; any other step back is a reset. */
NIC_API nic_delta nic_counter_delta(const nic_counter *counter, const nic_value *before,
                                    const nic_value *after);
NIC_API const char *nic_unit_name(nic_unit unit); /* "events", "bytes", "packets" */
/* What a counter counts, in one line, by the last part of its name; "" where the name is a driver's own. */
NIC_API const char *nic_counter_meaning(const char *name);
NIC_API const char *nic_change_name(
    nic_change change); /* "none", "exact", "wrapped", "reset", "stuck" */

/* ---- for later pieces ---- */
/* Of a recorded NIC. */
typedef struct nic__kept_counter {
  nic_counter counter;
  nic_value values[2];
} nic__kept_counter;

/* Counters that come with one answer: of the driver, of a table, of a family of netlink. Adding one: a
   struct that begins with this one, a function that asks and tells each value, nic__group_open. */
typedef struct nic__cell {
  uint64_t key, value; /* key: which of the answer's values */
  bool is_valid;
} nic__cell;
typedef struct nic__group {
  struct nic__group *next;
  struct nic_counters *counters;
  bool (*ask)(struct nic__group *group);   /* tells what the answer has; false: there is none */
  void (*close)(struct nic__group *group); /* may be NULL */
  nic__cell *cells;
  size_t count, capacity, at; /* at: where the next value is likely to belong */
  int64_t t_before_ns, t_after_ns;
  bool is_opening;        /* values that are new become counters */
  bool is_of_host;        /* goes on when the device is gone */
  bool is_out, is_wanted; /* is_out: no memory for a counter */
} nic__group;

typedef struct nic__source {
  nic_counter counter;
  int fd; /* of the counter's file; -1: from a group, or a recording */
  nic__group *group;
  size_t cell_index;
  const nic__kept_counter *kept; /* of a recording: both values */
  bool has_own_stamp; /* "value@seconds.nanoseconds", as Slingshot's telemetry prints it */
} nic__source;

struct nic_counters {
  nic_host host;
  char name[32];
  nic__source *sources;
  size_t count, capacity;
  nic__group *groups;
  int round; /* of a recording: which look */
};

NIC__PRIVATE bool nic__ends_with(const char *text, const char *end);
NIC__PRIVATE void nic__describe(nic_counter *c, const char *group, const char *name);
NIC__PRIVATE nic__source *nic__source_add(nic_counters *c, const char *group, const char *name);
/* Whether there is a counter of this whole name. */
NIC__PRIVATE bool nic__source_known(const nic_counters *c, const char *name);
/* Opens a group: its counters are added. One without counters is closed at once.
   ret NIC_OK | NIC_E_NOMEM */
NIC__PRIVATE nic_status nic__group_open(nic_counters *c, nic__group *group);
NIC__PRIVATE void nic__group_read(nic__group *group);
NIC__PRIVATE void nic__groups_close(nic_counters *c);
/* One value of an answer. While the group is opened, a new key becomes the counter folder/name, of which
   the caller may fill in more. ret NULL: it was known before, or there is no memory */
NIC__PRIVATE nic_counter *nic__group_tell(nic__group *group, uint64_t key, const char *folder,
                                          const char *name, uint64_t value);
