/* NICs as witnesses: stamps from the wire, in host time, into the monitor. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "monitor.h"
#include "report.h"
#include "relation.h"

/* ============================================================================================== */
/* [NIC] 10. NICs as witnesses: stamps from the wire, in host time, into the monitor              */
/* ============================================================================================== */
/* A stamp source is a NIC (real, RTL or model) that can be asked for its clock and for the times at
   which transfers really began and ended. A watch relates its clock to host time, as an interval
   [RELATION], and gives the monitor every stamp with the error it has: bounds become exact overlap
   [O §2.2, §6]. What cannot be placed (a clock step between, records lost) is counted, not guessed.

       nbc_nic_watch_desc desc = {0};
       desc.nic = nic;          // from a back-end: threads, Portals model, RTL, hardware
       desc.recorder = me;      // of a monitor with desc.history_calls > 0
       nbc_nic_watch_create(&desc, &watch);
       ...
       nbc_nic_poll(watch);     // now and then, outside timed code; and once before the report */
enum {
  NBC_NIC_SENT = 1,         /* seen at the transmitter: first and last data leave */
  NBC_NIC_RECEIVED = 2,     /* seen at the receiver: first and last data arrive */
  NBC_NIC_RETRANSMITTED = 4 /* some of it went more than once; the times enclose all attempts */
};
typedef struct nbc_nic_stamp {
  uint64_t xfer_id; /* as the transfer was posted */
  uint64_t begin_ticks, end_ticks;
  uint64_t size_bytes; /* 0 = not known */
  int peer;            /* rank of the other side; -1 = not known */
  unsigned flags;
} nbc_nic_stamp;

typedef struct nbc_nic {
  void *ctx;
  const char *name;
  double nominal_hz;   /* of the clock; 1e9 when it counts nanoseconds */
  int counter_bits;    /* after so many the clock wraps; 0 = 64 */
  uint64_t step_ticks; /* granularity of clock and stamps; 0 = 1 */
  /* The clock was read between the two host times. */
  nbc_status (*read_clock)(void *ctx, int64_t *t_before_ns, uint64_t *ticks, int64_t *t_after_ns);
  /* The next stamp of a finished transfer; NBC_PENDING = none now. */
  nbc_status (*next_stamp)(void *ctx, nbc_nic_stamp *stamp);
  uint64_t (*lost_count)(void *ctx); /* records the NIC dropped so far; NULL = it loses none */
} nbc_nic;

typedef struct nbc_nic_watch nbc_nic_watch;
typedef struct nbc_nic_watch_desc {
  const nbc_nic *nic;     /* borrowed until destroy */
  nbc_recorder *recorder; /* owner of all stamps; or, for several: */
  /* Finds the owner and may change stamp->xfer_id; NULL = not a transfer of ours. */
  nbc_recorder *(*owner_of)(void *user, nbc_nic_stamp *stamp);
  void *user;
  nbc_relation_desc relation; /* hz 0 = nbc_relation_crystal of the NIC's clock */
  size_t batch_stamps;        /* placed with one reading of the clock; 0 = 256 */
} nbc_nic_watch_desc;
typedef struct nbc_nic_counts {
  uint64_t placed_count;   /* handed to a recorder */
  uint64_t unowned_count;  /* of no transfer of ours */
  uint64_t unplaced_count; /* a clock step or gap made their time unknown */
  uint64_t lost_count;     /* dropped by the NIC since the watch was created */
  uint64_t step_count;     /* steps and gaps of the clock */
  int64_t max_err_ns;      /* widest error of a placed stamp */
  double mean_err_ns;
} nbc_nic_counts;

/* Reads the clock for the first time. ret NBC_OK | NBC_E_INVAL (no nic, no owner, bad relation) |
   NBC_E_NOMEM | what read_clock says */
NBC_API nbc_status nbc_nic_watch_create(const nbc_nic_watch_desc *desc, nbc_nic_watch **watch);
NBC_API void nbc_nic_watch_destroy(nbc_nic_watch *watch); /* NULL allowed; the nic stays */
/* Takes the stamps there are, then reads the clock, so that each stamp lies between two readings.
   O(1) per stamp, no allocation; the NIC's own cost (a register read, a system call) comes on top.
   One thread at a time. ret NBC_OK | what read_clock or next_stamp say (stamps taken are not
   lost) */
NBC_API nbc_status nbc_nic_poll(nbc_nic_watch *watch);
NBC_API nbc_nic_counts nbc_nic_watch_counts(const nbc_nic_watch *watch);
NBC_API const nbc_relation *nbc_nic_watch_relation(const nbc_nic_watch *watch);
/* Adds to the report how the NIC was watched (note) and what was lost (counters "NAME stamps",
   "NAME stamps lost", ...). ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_nic_watch_report(const nbc_nic_watch *watch, nbc_report *report);
