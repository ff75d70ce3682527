/* The machine: its constants, its text format, its topologies and their routes. */
#pragma once
#include "../base/text.h"
#include "options.h"
#include "status.h"
/* ============================================================================================== */
/* [PLATFORM] 3. The machine: every constant, topologies, text format                             */
/* ============================================================================================== */
/* RAILS: with nic_count N a node has N NICs, and the network is there N times: NIC k of a node talks to NIC
   k of others over copy k of the topology, rail k. A process uses NIC (its number on its node) modulo N, for
   what it sends and for what comes back, so that its messages keep their order. With rail_split_bytes a
   longer payload is moved over all rails at once, in equal parts, beside what the other NICs do; its command,
   match and events are those of its own rail. Limits of a NIC (command slots, end-to-end entries) are of
   each. The levels flow, packet (split payload: a packet on each rail in turn) and LogGP (gaps for each NIC,
   split payload shares them) know rails; LogGP knows no PCI roots. At the packet level a NIC keeps what its PCI
   root does not take at once, without end. pm_flow_start uses rail 0. Not with rails: the level rtl,
   inflight_per_node_count. */
/* SHARED CORES: with cores_are_shared 1, N threads of a node that compute at the same time (pm_compute_ns,
   kernels, pm_msg_compute_ns, measured computation) each have min(1, cores_per_node_count / N) of a core, as
   under a fair scheduler whose slices are short; they are the node's, whoever's threads these are. Calls,
   looks, waits, sleeps and the work of a pm_msg's worker take none of it. With 0 every thread has a core. */
/* MESSAGES TO ONESELF, and between processes of a node, go through its memory (at the level LogGP: as to any other
   node). With intra_uses_nic 1 they are messages like any other, at every level, as the NIC in RTL has it, which
   does not look whether the address is its own: over PCI, the node's cable to its switch, and back over the same
   cable and PCI. So one takes as long as one to another node of that switch, shares the cable with what else goes and
   comes, and is lost or waits with it. Of several cables it takes the one for itself as destination (file: cable
   number (node modulo its cables), in their order). With pci_half_duplex it crosses PCI twice, so that at the level
   flow it has at most half of pci_bytes_per_s. */
/* LEVELS AND CONSTANTS: what a level does not know, its constants do not change. Flow takes all but packet_... and
   loggp_..., packet all but loggp_.... LogGP takes loggp_..., how many nodes, processes, cores and NICs there are,
   rail_split_bytes, early_send_bytes, e2e_..., inflight_..., intra_uses_nic (whether faults meet them),
   intra_bytes_per_s (copies of pm_msg) and cpu_..., but not cpu_command_ns. The level rtl: see rtl/pm_rtl.h.
   link_credit_bytes at the level flow, for messages longer than a PCI packet, is an average rate: the first so many
   bytes at the link's, then as many per round trip of the way, where that is less. At the level packet a message has so
   many bytes of its payload (of each rail, where it is split) under way at most; the credits of a packet come back the
   way's latency after its head is there, and packets are cut so that they share the credits equally. */
typedef enum pm_topology_kind {
  PM_TOPO_CROSSBAR = 0, /* one switch; topo[] unused */
  PM_TOPO_FATTREE, /* topo = { levels, down_1..down_h, up_1..up_h }: at level i a switch has down_i
                           children and each vertex below it up_i links up; up < down prunes. Route: up
                           by destination modulo up_i (D-mod-K), then down */
  PM_TOPO_TORUS, /* topo = { dimensions, size_1..size_d }: shortest way, one dimension after the other */
  PM_TOPO_DRAGONFLY, /* topo = { groups, routers per group, nodes per router, global links per router }.
                        Each two groups have (routers * global links) / (groups - 1) cables, the
                        whole part, and each serves a block of the destinations; ports that are
                        left over lead nowhere */
  PM_TOPO_FILE /* links given one by one; shortest paths, ties spread by destination. A message takes the time of
                        the slowest cable of its way; where that is, its head goes on meanwhile (cut-through). (The
                        key link_bytes_per_s is of the other topologies.) A node that is sent to
                        takes 4 bytes for each node and switch; a run that needs more than 1 GiB of that fails */
} pm_topology_kind;

/* X(name, unit suffix is in the name, default of pm_platform_bxi2, meaning). Integers first. */
#define PM_PLATFORM_INT_LIST(X)                                                                    \
  X(node_count, 2, "nodes of the machine")                                                         \
  X(procs_per_node_count, 1, "processes that pm_spawn_all starts on each node")                    \
  X(cores_per_node_count, 64, "cores of a node (see LIMITS, pm_msg_compute_ns)")                   \
  X(cores_are_shared, 0, "1: threads that compute at once share the cores, see SHARED CORES")      \
  X(wire_latency_ns, 300, "from leaving a NIC to arriving at the next, without the switches")      \
  X(switch_latency_ns, 130, "added per switch on the way")                                         \
  X(pci_latency_ns, 200, "one way over PCI [S 4.3]")                                               \
  X(pci_packet_bytes, 512, "payload of a PCI packet [S 4.1]")                                      \
  X(link_packet_bytes, 64, "payload of a link packet: two flits of 32 B [S 4.1]")                  \
  X(link_header_bytes, 8, "header of a link packet [S 4.1]")                                       \
  X(link_credit_bytes, 0, "a message's payload sent before credits must come back, 0 = endless")   \
  X(command_bytes, 64, "a command, CPU to NIC [S]")                                                \
  X(event_bytes, 96, "a full event, NIC to memory [S]")                                            \
  X(ack_bytes, 32, "an acknowledgement on the wire [S]")                                           \
  X(inline_bytes, 8, "payload carried in the command itself (non-matching: 8 more) [S 4.3.3]")     \
  X(pio_bytes, 408, "payload written by the CPU (non-matching: 8 more); above it DMA [S 4.3.3]")   \
  X(pio_needs_volatile, 0, "1: PIO only for PTL_MD_VOLATILE, as S4BXI does")                       \
  X(pio_fence_ns, 60, "CPU: fence between payload and command (assumed)")                          \
  X(pio_is_posted, 0, "1: the CPU goes on before the NIC has what it writes; 0: then, as S4BXI")   \
  X(early_send_bytes, 64, "up to this size SEND comes before the ack [S 4.3.2]")                   \
  X(command_queue_count, 16, "commands between CPU and NIC [S 4.3.2]")                             \
  X(nic_pipeline_count, 73, "commands further inside: together about 89 [S 4.3.2]")                \
  X(nic_put_ns, 200, "occupancy of TX or RX by a put, atomic or ack [S]")                          \
  X(nic_get_ns, 250, "... by a get request [S]")                                                   \
  X(nic_response_ns, 300, "... by a response with data [S]")                                       \
  X(nic_engine_count, 4, "list-matching engines [S 2.2.3]")                                        \
  X(nic_count, 1, "NICs of a node (rails), each on a network of its own, see RAILS")               \
  X(pci_root_count, 1, "PCI roots of a node: NIC k hangs on root k modulo this")                   \
  X(rail_split_bytes, 0, "payload from which a message goes over all rails at once, 0 = never")    \
  X(nic_match_ns, 0,                                                                               \
    "per list entry looked at; others wait for the end of a search (not published: 0)")            \
  X(nic_search_ns, 0, "... and so much longer the next search of the NIC has to wait")             \
  X(e2e_entry_count, 8192, "messages of a NIC waiting for their acknowledgement [S]")              \
  X(e2e_retry_ns, 10000000000, "retransmission after this long [S]")                               \
  X(e2e_retry_count, 5, "retransmissions before PTL_NI_UNDELIVERABLE [S]")                         \
  X(inflight_per_process_count, 0, "limit of a process's messages in flight, 0 = none [S 7.1]")    \
  X(inflight_per_node_count, 0, "limit of a node's messages in flight, 0 = none [S 7.1]")          \
  X(quick_ack, 0, "1: the ack event comes at once, without two small messages")                    \
  X(ack_after_write, 0, "1: acknowledged, and told of, when payload is in memory")                 \
  X(dma_ahead, 1,                                                                                  \
    "payload is read while earlier messages leave; 0: when they have left, as S4BXI")              \
  X(no_pci_commands, 0, "1: commands and events cross PCI in no time")                             \
  X(no_pci, 0, "1: PCI costs nothing at all")                                                      \
  X(pci_half_duplex, 0, "1: reads and writes share PCI")                                           \
  X(intra_latency_ns, 150, "between processes of a node, through memory (assumed)")                \
  X(intra_uses_nic, 0, "1: processes of a node talk through their NIC instead")                    \
  X(cpu_command_ns, 50, "CPU time of a call that moves data (assumed)")                            \
  X(cpu_append_ns, 100, "... of Append, Unlink and Search (assumed)")                              \
  X(cpu_event_ns, 30, "... of taking an event (assumed)")                                          \
  X(cpu_poll_ns, 20, "... of looking in vain (assumed)")                                           \
  X(cpu_switch_ns, 2000, "... of a switch to a timer's worker and back (assumed)")                 \
  X(cpu_poll_max_ns, 10000, "idle polls grow up to this; anything delivered ends them")            \
  X(packet_bytes, 2048, "packet level: payload of a packet (assumed)")                             \
  X(packet_output_bytes, 4096, "... queue before a link and channel: full from here on (assumed)") \
  X(packet_input_bytes, 16384, "... buffer behind a link and channel (assumed)")                   \
  X(packet_routing, 0, "... 0 fixed; 1 by load: up a fat tree, UGAL in a dragonfly; 2 Valiant")    \
  X(loggp_latency_ns, 1000, "LogGP: L")                                                            \
  X(loggp_overhead_ns, 100, "LogGP: o, of a call; at the receiver cpu_event_ns")                   \
  X(loggp_gap_ns, 200, "LogGP: g")

#define PM_PLATFORM_REAL_LIST(X)                                                                   \
  X(link_bytes_per_s, 12.5e9, "a link, one way [S 4.1]")                                           \
  X(pci_bytes_per_s, 15.75e9, "a PCI root, all transfers of one direction together [S 4.1]")       \
  X(pci_flow_bytes_per_s, 12.5e9, "... one transfer alone [S 4.1]")                                \
  X(pio_bytes_per_s, 12.5e9, "payload that the CPU writes (assumed: as fast as a transfer)")       \
  X(intra_bytes_per_s, 10e9, "memory copies and reductions of a node (assumed)")                   \
  X(loggp_bytes_per_s, 12.5e9 * 64 / 72, "LogGP: 1/G: what headers leave of a link")

/* What those that cross a cable have to share. The level packet takes PM_LINK_FATPIPE as PM_LINK_EACH_WAY; a carrier
   (NICs in RTL) knows nothing else: then pm_world_create says PM_E_PLATFORM. */
typedef enum pm_link_sharing {
  PM_LINK_EACH_WAY = 0, /* its bandwidth in each direction */
  PM_LINK_SHARED,       /* its bandwidth in both together */
  PM_LINK_FATPIPE       /* nothing: it holds each transfer down alone */
} pm_link_sharing;
typedef struct pm_link {
  char from[24],
      to[24]; /* "h3" is node 3, any other name a switch; both directions are made. The same twice: no
                            cable but what all ways through that switch, or from, to and through that node, share */
  double bytes_per_s;
  int64_t latency_ns; /* added each time it is crossed */
  pm_link_sharing sharing;
} pm_link;
/* What goes from one node to another goes this way, and not the shortest, unless something on it is down. A carrier knows
   no such ways, as it knows no sharing. */
typedef struct pm_way {
  int from_node, to_node;
  /* Numbers of links, from 1 on, in their order on the way; those within what it passes are not named. */
  const int *cable;
  int cable_count;
} pm_way;

/* Noise of computations: with this weight, so many times as long, give or take (normal). */
typedef struct pm_mode {
  double weight_ratio, mean_ratio, sigma_ratio;
} pm_mode;
enum { PM_MODES_MAX = 4, PM_LOGGP_RANGES_MAX = 16 };
/* At the LogGP level, messages from this size on instead of the keys loggp_...: LogGP's L, o, g, its G of the way
   and its G of the gap apart. A message takes o, a way of latency_ns + (n - 1) * ns_per_byte (latency_ns may be
   below 0, as a line of long messages has it; a way never is) and cpu_event_ns; all of it times a number of
   the mixture. A payload that is split over NICs counts as its part. Messages of a pair keep their order:
   one with a shorter way arrives with the one before it. */
typedef struct pm_loggp_range {
  int64_t first_bytes, latency_ns, overhead_ns, gap_ns;
  double ns_per_byte, gap_ns_per_byte;
  int noise_count; /* 0: always the same */
  pm_mode noise[PM_MODES_MAX];
} pm_loggp_range;

/* Filled by pm_platform_bxi2 or pm_platform_read, then changed at will. Copied by pm_world_create. */
typedef struct pm_platform {
  char name[32];
#define PM__X(name, value, text) int64_t name;
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(name, value, text) double name;
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  pm_topology_kind topology;
  int64_t topo[16];
  /* PM_TOPO_FILE; owned by the caller, or by the platform after pm_platform_read */
  const pm_link *links;
  const pm_way *ways; /* as links; of other pairs of nodes the shortest ways are taken */
  int64_t link_count, way_count;
  int noise_count; /* a mixture of so many modes, see pm_kernel; 0 = none */
  pm_mode noise[PM_MODES_MAX];
  int loggp_range_count; /* ascending sizes; 0 = one line for all */
  pm_loggp_range loggp_range[PM_LOGGP_RANGES_MAX];
} pm_platform;

/* The constants of [S] and of the S4BXI source; what nobody published is marked "assumed" above.
   nodes on one crossbar. */
PM_API pm_platform pm_platform_bxi2(int node_count);

/* Reads a platform: lines "key value", # starts a comment. Keys are the field names above
     (nodes_count, nic_engines_count, e2e_entries_count and e2e_retries_count are still read) and
     name WORD (at most 31 letters) · topology crossbar|fattree|torus|dragonfly|file · topo N N N ...
     link FROM TO BYTES_PER_S LATENCY_NS [shared|fatpipe]
                                                (one per cable, topology file; FROM = TO: see pm_link)
     way FROM TO CABLE...                       (nodes, then cables by the number of their line link,
                                                 from 1 on; at most one per direction, see pm_way)
     noise WEIGHT MEAN_RATIO SIGMA_RATIO        (one per mode of the mixture that fits a kernel's times
                                                 over its model: share, mean, deviation; at most 4)
     loggp_range FROM_BYTES L_NS O_NS GAP_NS NS_PER_BYTE GAP_NS_PER_BYTE [WEIGHT MEAN_RATIO SIGMA_RATIO]...
                                                (ascending, at most 16; see pm_loggp_range)
   in   text, size_bytes   need not end with 0; untrusted
   out  platform           starts from pm_platform_bxi2(2), then what the text says; of a key that stands twice, the
                           later value, for texts that are put together
        error, error_bytes a sentence that names the line; may be NULL, 0
   ret  PM_OK | PM_E_PLATFORM | PM_E_NOMEM        free with pm_platform_free */
PM_API pm_status pm_platform_read(const char *text, size_t size_bytes, pm_platform *platform,
                                  char *error, size_t error_bytes);
/* The same from a file of at most 64 MiB; error begins with its path. A key stands once there (link, way, noise
   and loggp_range as often as need be), link and way only with topology file, and topo only with one that takes it.
   ret  as above | PM_E_IO: it cannot be read */
PM_API pm_status pm_platform_load(const char *path, pm_platform *platform, char *error,
                                  size_t error_bytes);
PM_API void pm_platform_free(pm_platform *platform);
/* Writes what pm_platform_read reads back to the same platform. ret PM_OK | PM_E_IO | PM_E_PLATFORM: a count is
   beyond its array, or there is no such topology */
PM_API pm_status pm_platform_write(const pm_platform *platform, FILE *out);
/* Checks every field and that all nodes reach each other. error as above. */
PM_API pm_status pm_platform_check(const pm_platform *platform, char *error, size_t error_bytes);
/* The links are not those of pm_platform_bxi2, LogGP's L, o, g and G are: at the level LogGP messages would take the
   time of a machine that is not meant. NULL: false */
PM_API bool pm_platform_lacks_loggp(const pm_platform *platform);

/* ---- for later pieces ---- */
enum { PM__LINKS_MAX = 200000000, PM__WAYS_MAX = 3000000 };
enum { PM__ROUTE_MAX = 62, PM__ENGINES_MAX = 16, PM__COPY_BYTES = 64, PM__NICS_MAX = 16 };
/* A way that is given: links number first to first + count - 1 of given_link. */
typedef struct pm__given {
  int from, to, first, count;
} pm__given;
/* A network read from a file: vertices (nodes first), cables as two directed links, and per
   destination the next link of every vertex, made when first asked for. */
typedef struct pm__graph {
  int vertices, cables;
  char (*names)[24];      /* of the switches */
  int *end;               /* of directed link i: 2i from a to b, 2i+1 back */
  unsigned char *sharing; /* of cables: pm_link_sharing */
  bool shares, has_inner; /* a cable is not PM_LINK_EACH_WAY; a vertex has an inner link */
  int *inner;             /* of vertices: link that all ways through it cross, -1: none */
  int64_t *latency_ns,
      *least_ns; /* least: of the cables of a switch; 0 of a node, where ways end */
  double *bytes_per_s;
  int *first, *out; /* out-links of vertex v: out[first[v]] ... out[first[v+1]-1] */
  int **next;       /* next[destination][vertex] = link, -1 = none */
  int *queue;
  pm__given *given; /* in the order of from, then to */
  int *given_link, given_count;
  size_t bytes_left; /* of PM__TABLES_BYTES */
  bool is_full;      /* one table more would take more */
} pm__graph;
#define PM__TABLES_BYTES ((size_t)1 << 30)
PM__PRIVATE void pm__graph_free(pm__graph *g, int nodes);
PM__PRIVATE pm__graph *pm__graph_make(const pm_platform *p, char *error, size_t error_bytes);
PM__PRIVATE int64_t pm__topology_links(const pm_platform *p); /* of one rail */
PM__PRIVATE int pm__way(const pm_platform *p, pm__graph *graph, int src, int dst, uint32_t *out,
                        int64_t *latency_ps);
/* Of one topology, for adaptive routing: port[level], where not negative, is taken on the way up; the way
   through a group (via, negative: none); the first global link; whether a link closes a ring. */
PM__PRIVATE void pm__tree_row(const pm_platform *p, int64_t node, const int *choice, uint32_t *row);
PM__PRIVATE int pm__tree_join(int h, const uint32_t *from, const uint32_t *to, uint32_t *out);
PM__PRIVATE int pm__fattree_way(const pm_platform *p, int64_t src, int64_t dst, const int *port,
                                uint32_t *out);
PM__PRIVATE int pm__dragonfly_way(const pm_platform *p, int64_t src, int64_t dst, int64_t via,
                                  uint32_t *out);
PM__PRIVATE int64_t pm__dragonfly_global(const pm_platform *p);
PM__PRIVATE int64_t pm__dragonfly_cables(const int64_t *t);
PM__PRIVATE bool pm__torus_is_edge(const pm_platform *p, int64_t link);
