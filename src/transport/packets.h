/* The engine below threads and OpenSHMEM: packets in rings, copy jobs, three protocols. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/clock.h"
#include "contract.h"

/* ============================================================================================== */
/* [THREADS] 12. Ranks as threads: the transport that needs nothing                               */
/* ============================================================================================== */
/* Every rank is a thread of this process (or several ranks one thread, in tests), or a forked
   process that shares memory with the others (desc.processes). Progress happens only inside calls,
   unless a DMA thread stands in for the NIC. Protocols, as in [O §3]:
     EAGER        the sender's data goes to a buffer of the receiver at once; copied out at matching
     PIPELINED    rendezvous: first fragment with the request, the others one window at a time, each
                  posted by the sender when its progress runs (so they wait for a call)
     DIRECT_READ  rendezvous: the receiver's progress posts one read of the sender's buffer, then
                  tells the sender (FIN)
   Without a DMA thread the copies are done by whoever posts them, inside progress. With it, they
   are done at link speed while both ranks compute; only control messages wait for calls.
   Processes cannot reach into each other (reading a neighbour's memory takes the rights of a
   debugger, which containers and most machines withhold): no DMA thread, no DIRECT_READ, and every
   fragment of the pipeline is copied in and out of shared memory. */
typedef enum nbc_protocol {
  NBC_PROTOCOL_AUTO = 0, /* EAGER up to eager_limit_bytes, then `large` */
  NBC_PROTOCOL_EAGER,
  NBC_PROTOCOL_PIPELINED,
  NBC_PROTOCOL_DIRECT_READ
} nbc_protocol;

typedef struct nbc_threads nbc_threads;
typedef struct nbc_threads_desc {
  int size;                   /* ranks; 0 = 2 */
  nbc_protocol protocol;      /* for all messages, or AUTO */
  nbc_protocol large;         /* AUTO: above the limit; 0 = DIRECT_READ */
  uint64_t eager_limit_bytes; /* 0 = 8 KiB */
  uint64_t fragment_bytes;    /* 0 = 64 KiB */
  int pipeline_depth;         /* fragments in flight; 0 = 2 */
  bool processes;             /* nbc_threads_run forks one process per rank; large: PIPELINED */
  bool dma;                   /* a DMA thread moves the data */
  double link_bytes_per_s;    /* with dma: pace of the link; 0 = as fast as it copies */
  int64_t link_latency_ns;    /* with dma: what you write is what you get */
  const nbc_clock *clock;     /* copied; NULL = nbc_clock_create with defaults */
} nbc_threads_desc;

/* What the DMA thread saw of one transfer: the truth that the bounds must contain. */
typedef struct nbc_true_stamp {
  int src, dst;
  uint64_t sequence; /* of the fragment, per world */
  uint64_t size_bytes;
  int64_t t_begin_ns, t_end_ns;
  uint64_t send_xfer_id, recv_xfer_id; /* under these the ranks' recorders know it; 0 = not */
} nbc_true_stamp;

/* ---- for later pieces ---- */
/* How it works, in the order of the code below.

   Every ordered pair of ranks has a ring of packets in which the sender writes and the receiver
   reads: nothing else carries information between ranks. Data moves by copy jobs: each rank has a
   ring of jobs, done in order, by the DMA thread or (without one) by the rank itself when it posts
   the job. A job may publish a packet when its data is there, as a NIC raises a completion.

     EAGER        job: part -> slot, publishes EAGER                      (a part: up to fragment_bytes)
     PIPELINED    job: first part -> slot, publishes REQUEST; receiver matches, answers PUT (grant of
                  the next fragments); for each: job: fragment -> receive buffer, publishes FRAGMENT
     DIRECT_READ  packet REQUEST_READ; receiver matches, job: send buffer -> receive buffer, then packet FIN

   What a rank cannot do for lack of a free slot or job waits in its queue `out[peer]`, linked
   through the operations themselves: order per pair is kept and posting allocates nothing. Only an
   eager message that nobody waits for yet is copied to allocated memory, by the receiver's
   progress.

   Everything that ranks share lies in one mapped region; the rest of a rank is its own. */
enum {
  NBC__PACKETS_SLOTS = 16, /* packets in flight per ordered pair */
  NBC__PACKETS_JOBS = 256, /* copy jobs in flight per rank */
  NBC__PACKETS_STAMPS = 65536,
  NBC__PACKETS_MAX_RANKS = 1024
};

typedef enum nbc__packet_kind {
  NBC__PACKET_EAGER,
  NBC__PACKET_REQUEST,
  NBC__PACKET_REQUEST_READ,
  NBC__PACKET_PUT,
  NBC__PACKET_FRAGMENT,
  NBC__PACKET_FIN
} nbc__packet_kind;

/* The pointers mean something to the rank that wrote them only: the other side hands them back. */
typedef struct nbc__packet {
  /* atomic: even = free, odd = full; one more by the sender, one more by the receiver. Never twice
     the same value: a put that stores a word twice (memcpy may) must not bring back what is
     over. */
  uint32_t state;
  nbc__packet_kind kind;
  int64_t t_visible_ns; /* control packets: when the link would have delivered them; 0 = at once */
  uint64_t tag, size_bytes, offset_bytes, part_bytes;
  nbc_op *send_op, *recv_op;
  void *address; /* REQUEST_READ: send buffer; PUT: receive buffer */
  uint64_t xfer_id, limit_bytes, granted_bytes;
  uint64_t pad_bytes[4]; /* to 128 bytes: neighbours in a ring do not share a cache line pair */
} nbc__packet;

typedef struct nbc__job {
  void *target;
  const void *source;
  uint64_t size_bytes;
  nbc__packet *packet; /* published when done; NULL = none */
  nbc_op *op;          /* the poster's */
  bool is_read;        /* the poster is the receiver */
  bool ended;          /* its end was recorded when it was posted */
  int peer;
  uint64_t send_id, recv_id;
  int64_t t_post_ns, t_begin_ns; /* with dma */
} nbc__job;

/* posted: by the rank. done: by who copies. Both count without wrapping. */
typedef struct nbc__job_ring {
  uint64_t posted_count; /* atomic */
  uint64_t pad1_bytes[7];
  uint64_t done_count; /* atomic */
  uint64_t finished;   /* of a process: its fn returned */
  uint64_t pad2_bytes[6];
  nbc__job jobs[NBC__PACKETS_JOBS];
} nbc__job_ring;

typedef struct nbc__packets_shared {
  uint32_t failed;       /* atomic: a rank gave up, nobody should wait for it */
  int32_t first_error;   /* of processes: its status */
  uint32_t stop;         /* atomic: the DMA thread ends */
  uint32_t asleep;       /* atomic: the DMA thread waits for a job */
  pthread_mutex_t mutex; /* of cond and of the stamps */
  pthread_cond_t cond;
  uint64_t stamp_first_count, stamp_last_count;
  nbc_true_stamp *stamps; /* in the region; NULL without dma */
  nbc__job_ring *rings;   /* [size] */
  nbc__packet *packets;   /* [size][size][SLOTS], sender first */
  unsigned char *payload; /* fragment_bytes for each packet */
} nbc__packets_shared;

/* An eager or requested message that came before its receive. */
typedef struct nbc__unexpected {
  struct nbc__unexpected *next;
  nbc__packet packet; /* as it came */
  uint64_t arrival_order, arrived_bytes;
  unsigned char *data; /* behind the struct */
} nbc__unexpected;

/* What a rank knows about one other (or itself). */
typedef struct nbc__packets_peer {
  uint64_t head_count, tail_count; /* of the ring to it, of the ring from it */
  nbc__transport_fifo out;         /* operations that have packets or jobs to post */
  nbc__transport_fifo posted;      /* receives not matched */
  nbc__unexpected *first, *last;   /* messages not matched */
  nbc_op *incoming_op;             /* an eager message in several parts: its receive, */
  nbc__unexpected *incoming_entry; /* or where it is kept */
} nbc__packets_peer;

typedef struct nbc__packets_rank {
  nbc_transport t;
  nbc_threads *world;
  nbc__job_ring *ring;
  nbc__packets_peer *peers; /* [size] */
  nbc__transport_fifo posted_any;
  nbc__transport_fifo finished; /* to be delivered by progress */
  uint64_t reaped_count, order_count, id_count;
  int waiting_count; /* operations in all out queues */
  bool in_progress;
} nbc__packets_rank;

struct nbc_threads {
  nbc_threads_desc desc; /* values in force */
  nbc_clock clock;
  nbc__packets_shared *shared;
  size_t shared_bytes;
  nbc__packets_rank *ranks;
  /* Where ranks share no memory, else NULL: carries a packet to the receiver's copy of its slot,
     tells the sender that it is free, lets messages in. */
  void (*put)(nbc_threads *w, int peer, nbc__packet *p);
  void (*release)(nbc_threads *w, int peer, nbc__packet *p);
  void (*poll)(nbc_threads *w);
  pthread_t dma_thread;
  bool dma_running;
};

NBC__PRIVATE unsigned char *nbc__packets_payload(const nbc_threads *w, const nbc__packet *p);
NBC__PRIVATE void nbc__packets_publish(nbc_threads *w, int peer, nbc__packet *p);
NBC__PRIVATE nbc_status nbc__packets_defaults(nbc_threads_desc *desc);
NBC__PRIVATE void nbc__packets_contract(nbc__packets_rank *r, int rank);
NBC__PRIVATE void nbc__packets_free_unexpected(nbc__packets_peer *peers, size_t count);
