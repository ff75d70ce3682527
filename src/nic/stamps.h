/* When the kernel or the NIC saw a socket's packets; datagrams with their stamps. */
#pragma once
#include "options.h"
#include "status.h"
#include "maps.h"

/* ============================================================================================== */
/* [STAMPS] 6. When the kernel or the NIC saw a socket's packets                                  */
/* ============================================================================================== */
/* Works on any Linux and any interface, loopback included, without rights (SO_TIMESTAMPING). A
   stamp keeps its kind; a kernel's stamp never passes for a NIC's. The kernel stamps with
   CLOCK_REALTIME: it is carried over to host time as an interval, from brackets taken now and
   before; when REALTIME was stepped in between, or nothing comes, the stamp is lost, and counted. */
typedef enum nic_stamp_kind {
  NIC_STAMP_NONE = 0,
  NIC_STAMP_SCHEDULED, /* handed to the packet scheduler */
  NIC_STAMP_SENT,      /* handed to the device by its driver */
  NIC_STAMP_ACKED,     /* TCP: the peer's kernel has all bytes up to the key */
  NIC_STAMP_RECEIVED,  /* taken in by the kernel */
  NIC_STAMP_NIC_SENT,  /* first bit on the wire, by the NIC's clock: `ticks`, see nic_tcp_desc */
  NIC_STAMP_NIC_RECEIVED
} nic_stamp_kind;

typedef struct nic_stamp {
  nic_stamp_kind kind;
  uint32_t key_count; /* sent: UDP: which datagram, from 0; TCP: bytes before the last one */
  int64_t t_before_ns, t_after_ns; /* host time, by the kernel; it happened between */
  int64_t t_real_ns;               /* as the kernel stamped it: CLOCK_REALTIME */
  /* NIC's clock, ns of its time scale; 0 for the kernel's stamps. An arrival may have both: then
     it is of the NIC's kind, and the kernel's times are filled as well */
  uint64_t ticks;
} nic_stamp;

typedef struct nic_stamping nic_stamping;
typedef struct nic_stamping_stats {
  uint64_t taken_count, stepped_count;  /* stepped: not convertible, CLOCK_REALTIME was set */
  bool has_sent, has_received, has_nic; /* what the socket agreed to */
} nic_stamping_stats;

/* Prepares an open socket; it stays the caller's. TCP: connected, and before its first byte,
   because keys count bytes from here. nic: ask for the NIC's stamps too (see NIC_OFFER_NIC_STAMPS).
   ret NIC_OK | NIC_E_INVAL (no socket) | NIC_E_UNSUPPORTED (this kernel does not stamp it) |
   NIC_E_NOMEM */
NIC_API nic_status nic_stamping_open(int socket_fd, bool nic, const nic_host *host,
                                     nic_stamping **stamping, nic_error *err);
NIC_API void nic_stamping_close(nic_stamping *stamping); /* NULL allowed */
/* sendmsg with stamps asked for this call only, without blocking. ret bytes, or -1 with errno. For
   TCP give MSG_EOR, so that nothing sent later is joined to these bytes and takes their stamp. */
NIC_API long nic_stamping_send(nic_stamping *stamping, const void *data, size_t size_bytes,
                               int flags);
/* recv with the arrival's stamp (kind NONE when there is none), without blocking. TCP: it is that
   of the last packet that the kernel joined, so it may be later than these bytes, never earlier;
   but a NIC's is that of any of the packets that were joined, so it bounds nothing. */
NIC_API long nic_stamping_recv(nic_stamping *stamping, void *data, size_t size_bytes,
                               nic_stamp *stamp);
/* The next stamp of what was sent. ret NIC_OK | NIC_E_NOT_FOUND (none now) | NIC_E_SYSTEM */
NIC_API nic_status nic_stamping_next(nic_stamping *stamping, nic_stamp *stamp, nic_error *err);
NIC_API nic_stamping_stats nic_stamping_stats_of(const nic_stamping *stamping);
/* A CLOCK_REALTIME of the recent past as an interval of host time; false: REALTIME was set
   meanwhile, or t_real_ns lies ahead. */
NIC_API bool nic_stamping_to_host(nic_stamping *stamping, int64_t t_real_ns, int64_t *t_before_ns,
                                  int64_t *t_after_ns);
NIC_API const char *nic_stamp_kind_name(nic_stamp_kind kind); /* "scheduled", "sent", "acked", … */

/* Datagrams: a stamp tells only the number of its datagram, so somebody has to keep count of what was
   sent. A send that fails has no number; a stamp from before its own send is another's and refused. */
typedef struct nic_datagram {
  uint64_t id; /* yours */
  size_t size_bytes;
  int64_t t_call_ns, t_back_ns;      /* host time before and after the call of send */
  nic_stamp scheduled, sent, by_nic; /* kind NONE: lost, or not asked for */
} nic_datagram;
typedef struct nic_datagrams_stats {
  uint64_t sent_count, failed_count; /* calls of send */
  uint64_t lost_count, refused_count,
      late_count; /* stamps: never came, another's, came after `next` */
} nic_datagrams_stats;

typedef struct nic_datagrams nic_datagrams;
/* Prepares a datagram socket, connected or not; it stays the caller's, and only nic_datagrams_send may
   send on it. nic: as nic_stamping_open. window: so many may wait for their stamps, 0 = 64 (their
   reports wait in the socket's receive buffer; more do not fit into the usual one).
   ret as nic_stamping_open; NIC_E_INVAL also for a stream */
NIC_API nic_status nic_datagrams_open(int socket_fd, bool nic, size_t window, const nic_host *host,
                                      nic_datagrams **datagrams, nic_error *err);
NIC_API void nic_datagrams_close(nic_datagrams *datagrams); /* NULL allowed */
/* sendto without blocking; to may be NULL on a connected socket.
   ret bytes, or -1 with errno; ENOBUFS also when window datagrams wait: take some by nic_datagrams_next */
NIC_API long nic_datagrams_send(nic_datagrams *datagrams, uint64_t id, const void *data,
                                size_t size_bytes, const void *to, size_t to_bytes);
/* The oldest datagram, as soon as its stamps are there or patience_ns have passed since its send.
   ret NIC_OK | NIC_E_NOT_FOUND (not yet, or none waits) | NIC_E_SYSTEM */
NIC_API nic_status nic_datagrams_next(nic_datagrams *datagrams, int64_t patience_ns,
                                      nic_datagram *datagram, nic_error *err);
/* For arrivals on the same socket: nic_stamping_recv. */
NIC_API nic_stamping *nic_datagrams_stamping(nic_datagrams *datagrams);
NIC_API nic_datagrams_stats nic_datagrams_stats_of(const nic_datagrams *datagrams);

/* ---- for later pieces ---- */
typedef struct nic__offset {
  int64_t t_host_ns, lo_ns, hi_ns;
} nic__offset;

NIC__PRIVATE nic__offset nic__offset_now(const nic_host *host, const nic_system *kernel,
                                         int clock_id);
NIC__PRIVATE bool nic__real_to_host(const nic__offset *then, const nic__offset *now,
                                    int64_t real_ns, int64_t *before_ns, int64_t *after_ns);
