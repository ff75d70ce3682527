/* portals_model.h 0.2.0: the Portals 4 API over a fast model of a BXI-like NIC and network.
   Public domain or MIT-0, at your choice (end of file).

   In ONE C or C++ file of the program, and nowhere else, write
       #define PORTALS_MODEL_IMPLEMENTATION
       #include "portals_model.h"
   and everywhere else just include it. Compile that one file with -D_GNU_SOURCE (or -std=gnu11),
   link with -lm.

   Example (complete; cc -D_GNU_SOURCE x.c -lm): process 0 puts 8 bytes into process 1.

       #define PORTALS_MODEL_IMPLEMENTATION
       #include "portals_model.h"

       static void process(void *unused) {
         ptl_handle_ni_t ni; ptl_handle_ct_t ct; ptl_pt_index_t pt; ptl_handle_any_t h;
         uint64_t word = 42u + (uint64_t)pm_rank();
         ptl_ct_event_t event;
         (void)unused;
         PtlInit();
         PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni);
         PtlCTAlloc(ni, &ct);
         PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt);
         ptl_le_t le = {&word, 8, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
         ptl_md_t md = {&word, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
         PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &h);
         PtlMDBind(ni, &md, &h);
         pm_barrier(); // not part of Portals: all processes of the simulation, at no cost
         if (pm_rank() == 0) PtlPut(h, 0, 8, PTL_NO_ACK_REQ, pm_process_id(1), pt, 0, 0, NULL, 0);
         else if (PtlCTWait(ct, 1, &event) == PTL_OK)
           printf("got %d after %d ns\n", (int)word, (int)pm_now_ns());
         PtlFini();
       }
       int main(void) {
         pm_platform platform = pm_platform_bxi2(2); // two nodes on one switch
         pm_world_desc desc = {0};
         pm_world *world;
         desc.platform = &platform;
         if (pm_world_create(&desc, &world) || pm_spawn_all(world, process, NULL)) return 1;
         pm_status status = pm_world_run(world);
         if (status) fprintf(stderr, "%s\n", pm_world_error(world));
         pm_world_destroy(world);
         return status != PM_OK;
       }

   CONTENTS (search for the tag: it stands here, at the API and at the implementation)
     [CONFIG]    1. Options: macros to define before including
     [STATUS]    2. Status codes of the pm_ functions
     [PLATFORM]  3. The machine: every constant, topologies, text format
     [WORLD]     4. Simulated processes and time
     [TRACE]     5. Traces: CSV, Chrome JSON, Paje, HTML
     [PTL]       6. Portals 4, versions 4.2 and 4.3 together
     [FLOW]      7. Links shared fairly: max-min solver and flows
     [NIC]       8. NIC and wire
     [MSG]       9. Two-sided messages over Portals
     [COMPUTE]  10. Compute time: kernel models with noise
     [LINKS]    11. Use of links over time: table, tracks, heat map
     [NBC]      12. Adapter to nbc_overlap.h: the model as a transport and as a witness NIC

   SOURCES named in comments:
     [S] Emmanuel, S4BXI: simulation of HPC applications at the Portals level, 2023;
     [D] Cornebize, simulation of HPL, 2020 (draft): kernel and noise models;
     [R] Reynier, progression of MPI communications by dedicated resources, 2022.

   CONVENTIONS
     NULL where a pointer is wanted: what returns a status returns PM_E_INVAL, the rest 0, NULL, an
     error of Portals or nothing; where NULL means something, the comment of the function says so.
     Simulated time is int64_t: nanoseconds in the API (_ns), picoseconds inside (_ps) because 8 bytes
     take 0.64 ns on the wire. Names end with their unit. pm_ functions return pm_status, Ptl* functions
     the codes of Portals. A world and all its processes live on ONE thread of the host, but for those
     with pm_world_desc.threads; several worlds may run at once on several threads. The mutable file-scope variables are two thread-local
     pointers to the running simulated thread and world: the Ptl* functions have no argument that
     could carry them. Everything random is drawn from the seed of the world: the same run gives the
     same trace. Processes switch only inside calls of this file: no locks are needed between them.

   LIMITS, told honestly
     One thread computes on a core of its own, and more threads than cores are not slowed down, unless
     cores_are_shared is set.
     Messages longer than one PCI packet share links and PCI max-min fairly. Shorter ones pass each link
     one after the other, in the order in which they reach it (but for an acknowledgement, which may go
     before what came less than a link packet earlier), and take nothing from the longer ones: of these
     only the tail stays behind what was before it. Switches have no queues that could fill up: a shared
     link slows down, it does not drop. A message is matched when its last byte arrives. What is lost is lost
     as a whole, and sent again as a whole e2e_retry_ns later, which takes the time of its bytes but no
     bandwidth (see pm_outage). The reply of a get is in the initiator's memory before its REPLY event.
     An entry, counter or queue changes when the call returns, not a PCI write later.
     Of what a counter has reached, each is looked at anew when those before it have fired: one that sets
     the counter back (PtlTriggeredCTSet) holds those behind it. BXI's library fires all that was reached.
     Handles are reused after 2048 generations of one slot. Early SEND is for at most 64 bytes.
     Simulated time ends after 104 days (64 bits of picoseconds): a run that gets there ends with
     PM_E_TIME_LIMIT. Where all that a world does is looking in vain (16 million times, fewer where
     d_poll_deadlock_ns is shorter than 20 s), the pauses of those looks grow to 1/256 of the time since.
     The first 16,000 stacks of a world end in a guard page, later ones in a word that is checked.

   MEMORY
     Everything grows to what the run needs at once and is reused: no allocation per event or message
     once it has grown. A process with one interface, a node of its own and one object of each kind
     takes 3.7 KiB and its stack, an operation under way 0.4 KiB; a trace 64 bytes per step.
*/
#ifndef PORTALS_MODEL_H_INCLUDED
#  define PORTALS_MODEL_H_INCLUDED

#ifdef NBC_LINES
#line 1 "src/base/private.h"
#endif
/* What is shared between pieces and by nobody else. base/ stands in both single headers: the first
   one implemented in a file brings it, so its parts carry guards that both know. */

#ifdef NBC_LINES
#line 1 "src/portals/options.h"
#endif
/* Options, and what every piece shares: includes, allocation, linkage of private names. */


#define PM_VERSION_STRING "0.2.0"
#define PM_VERSION        200 /* major * 10000 + minor * 100 + patch */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                          default   where                 meaning
    PORTALS_MODEL_IMPLEMENTATION   -         one file              compile the implementation here
    PM_STATIC                      -         every including file  all functions static (private copy)
    PM_API                         extern    every including file  linkage of your own
    PM_MALLOC, PM_REALLOC, PM_FREE libc      implementing file     all or none
    PM_ASSERT                      nothing   implementing file     checks of the model's own invariants
    PM_HOST_CPU_NS()               a clock   implementing file     CPU time of the running host thread, for
                                                                   measured computation
    PM_USE_UCONTEXT                -         implementing file     contexts by ucontext instead of assembly
    PM_WITH_VALGRIND               -         implementing file     stacks are announced to valgrind
    PM_THREADS                     -         implementing file     worlds may run over several threads (link
                                                                   with -pthread), see pm_world_desc.threads
    PM_WITH_NBC                    -         any file              adapters to nbc_overlap.h, which must
                                                                   have been included before
*/
#ifndef PM_API
#  if !defined(PM_STATIC)
#    define PM_API extern
#  elif defined(__GNUC__)
#    define PM_API __attribute__((unused)) static
#  else
#    define PM_API static
#  endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifdef NBC_LINES
#line 1 "src/base/sums.h"
#endif
/* Sums that stop at the largest value, powers of two, random numbers. */

#ifdef NBC_LINES
#line 1 "src/base/text.h"
#endif
/* Numbers and words in text, whatever the locale says. */

#ifdef NBC_LINES
#line 1 "src/base/locale.h"
#endif
/* Numbers with a point, also in a program that has set a locale with a comma. */

#ifdef NBC_LINES
#line 1 "src/portals/status.h"
#endif
/* Status codes of the pm_ functions. */


/* ============================================================================================== */
/* [STATUS] 2. Status codes of the pm_ functions                                                  */
/* ============================================================================================== */
#define PM_STATUS_LIST(X)                                                                          \
  X(PM_OK, 0, "ok")                                                                                \
  X(PM_PENDING, 1, "not finished yet")                                                             \
  X(PM_E_INVAL, -300, "invalid argument")                                                          \
  X(PM_E_NOMEM, -301, "out of memory")                                                             \
  X(PM_E_PLATFORM, -302, "platform is malformed")                                                  \
  X(PM_E_DEADLOCK, -303, "every process waits and nothing is under way")                           \
  X(PM_E_TIME_LIMIT, -304, "simulated time limit reached")                                         \
  X(PM_E_CRASH, -305, "a simulated process crashed")                                               \
  X(PM_E_IO, -306, "file cannot be read or written")                                               \
  X(PM_E_STATE, -307, "call not allowed here")                                                     \
  X(PM_E_TRUNCATED, -308, "message longer than the receive buffer")                                \
  X(PM_E_PORTALS, -309, "a Portals call failed")                                                   \
  X(PM_E_STACK, -310, "a simulated process overflowed its stack")

typedef enum pm_status {
#define PM__X(name, value, text) name = value,
  PM_STATUS_LIST(PM__X)
#undef PM__X
      PM_STATUS_FORCE_INT32 = 0x7fffffff
} pm_status;

/* "PM_E_INVAL" and "invalid argument". Never NULL. Any thread. */
PM_API const char *pm_status_name(pm_status status);
PM_API const char *pm_status_text(pm_status status);

/* PM_VERSION of the implementation that is linked, which may be another than the one this file was
   compiled with: compare them where that matters. Any thread. */
PM_API int pm_version(void);
#ifdef NBC_LINES
#line 1 "src/portals/platform.h"
#endif
/* The machine: its constants, its text format, its topologies and their routes. */




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

#ifdef NBC_LINES
#line 1 "src/portals/world.h"
#endif
/* Simulated processes and time: what programs see of a world. */


/* ============================================================================================== */
/* [WORLD] 4. Simulated processes and time                                                        */
/* ============================================================================================== */
typedef struct pm_world pm_world;
typedef struct pm_process pm_process;
typedef struct pm_thread pm_thread;

/* Where implementations of Portals differ. All 0: header comments of the reference implementation
   and 4.3 where these are clear, else what the reference implementation does. */
typedef struct pm_semantics {
  int pt_any_lowest;  /* PTL_PT_ANY takes the lowest free index; 0: the next after the last */
  int pt_free_purges; /* PtlPTFree drops what is attached; 0: PTL_PT_IN_USE */
  int pt_hints_bind; /* an entry of the priority list that is not as PTL_PT_ONLY_... says: PTL_ARG_INVALID */
  int setmap_again;         /* second PtlSetMap: 0 PTL_IGNORED, 1 PTL_IN_USE, 2 overwrites */
  int eq_drops_newest;      /* full EQ: the new event is lost; 0: the oldest */
  int trigger_success_only; /* thresholds compare success alone; 0: success + failure */
  int search_closing_event; /* a persistent search that found something ends with SEARCH, NO_MATCH */
  int uid_is_matched;       /* another uid: entry does not match; 0: PTL_NI_PERM_VIOLATION */
  int offset_beyond_is_segv;    /* offset > length: PTL_NI_SEGV; 0: a success of 0 bytes */
  int md_release_in_use;        /* MDRelease under operations: PTL_IN_USE; 0: PTL_ARG_INVALID */
  int pt_missing_undeliverable; /* unallocated PT: PTL_NI_UNDELIVERABLE; 0: PTL_NI_DROPPED */
  int success_disable_overflow; /* EVENT_SUCCESS_DISABLE mutes *_OVERFLOW too */
  int oc_ack_counts_success; /* an OC ack of a refused message counts as success; 0: as failure */
  int frees_interrupt; /* 4.2: EQFree, CTFree wake waiters with PTL_INTERRUPTED; 0: waiters wake
                                   with PTL_ARG_INVALID since the object is gone */
  /* The most that an interface offers (65,535 at most: handles have no more), for libraries that want more than BXI's
     NIC has. 0: its figures, 4,080 entries, 1,024 counters, 1,024 descriptors, 960 queues, 16,319 headers, 16,582 in a
     list, 16,378 triggers */
  int max_entries, max_cts, max_mds, max_eqs, max_unexpected_headers, max_list_size,
      max_triggered_ops;
  int max_volatile_size; /* bytes; 0: 64, and who wants all there is gets the largest of an atomic */
} pm_semantics;

typedef enum pm_link_model {
  PM_LINK_FLOW = 0, /* full NIC, links and PCI shared max-min fairly */
  PM_LINK_LOGGP,    /* analytical: L, o, g, G */
  PM_LINK_CARRIER,  /* by pm_world_desc.carrier, e.g. NICs in RTL (rtl/pm_rtl.h), see pm_carrier */
  PM_LINK_PACKET /* full NIC; packets through switches with queues, credits, virtual channels and, by
                       packet_routing, adaptive routing */
} pm_link_model;
typedef struct pm_link_phase { /* from t_ns on, messages start with link */
  int64_t t_ns;
  pm_link_model link;
} pm_link_phase;
struct pm_carrier;

/* A cable in both directions, or a node with all its cables, carries nothing for a while. Messages that start
   meanwhile take the shortest way without it. A message is lost when there is no way as it sets out, when something
   on its way fails before all of it is there, its own node before all of it has left, and by chance (loss_ratio,
   corrupt_ratio; as a whole). What has not left by then stays. e2e_retry_ns later (by chance: after all of it left)
   its NIC sends all of it again, over the way there is then; that takes as long as its bytes take where nothing else
   is under way, and bandwidth from nobody. So it goes on, each e2e_retry_ns while there is no way, up to
   e2e_retry_count times. Flows of pm_flow_start keep what they have carried, and go on over another way or when
   there is one again. At the packet level what is on a cable arrives, and packets that come to it later turn there
   (see the packet level); where a fat tree's switches send up by load, they do so among the cables that lead there; a
   message is lost when one of its packets finds no way, or comes to a NIC that is cut off. Rails do not stand in for
   each other: ways go around on the rail of the NIC, and of a split message that lost a part all is sent again, over
   its own NIC. Not at the level rtl.

   More than the network of a node may fail, by `kind`:
     CUT      the node carries nothing; its processes go on
     STOP     its processes stand still (a hung kernel, SIGSTOP); the NIC goes on by itself: it matches, writes and
              answers. What they compute ends so much later; sleeps and time-outs are of the clock, which goes on
     FREEZE   CUT and STOP at once
     CRASH    CUT, and at its begin all its processes die, without a word to anybody, with PM_STATUS_DIED: their
              memory, interfaces, and all that the NIC holds. At its end there is a fresh NIC, and no process
     RESTART  as CRASH, and at its end each process that died so begins anew: in its entry, with its argument, its
              rank and its pid; what it left in memory that it shares with others of the host program stays
   A message issued before its target's node dies is unknown to the fresh NIC: it is sent again until that is there,
   which refuses it, or e2e_retry_count is used up; then its operation ends with PTL_NI_UNDELIVERABLE. So does one
   whose answer had not left (though its bytes may have been taken). One issued later arrives when the node is there
   again, and ends as ever: PTL_NI_UNDELIVERABLE where nobody has opened that interface, PTL_NI_DROPPED where there
   is no such portal or entry. What left the node before it died arrives (at the packet level: what had arrived).
   pm_barrier waits for dead processes too. Outages of a node's processes must not overlap. */
typedef enum pm_outage_kind {
  PM_OUTAGE_CUT = 0,
  PM_OUTAGE_STOP,
  PM_OUTAGE_FREEZE,
  PM_OUTAGE_CRASH,
  PM_OUTAGE_RESTART
} pm_outage_kind;
enum { PM_STATUS_DIED = 137 }; /* of a process: as shells say that it was killed */
typedef struct pm_outage {
  int node; /* 1 + index; 0: it is a cable */
  int link; /* of the cable, either direction: 0 ... pm_link_count() - 1, see pm_link_name */
  int64_t t_down_ns;
  int64_t d_down_ns;   /* 0: it stays down */
  pm_outage_kind kind; /* of a node; a cable: CUT */
} pm_outage;
/* Faults, all drawn from the seed. Probabilities are ratios per message on the wire, requests and answers alike. */
typedef struct pm_faults {
  double loss_ratio, corrupt_ratio, duplicate_ratio, delay_ratio;
  int64_t delay_ns;  /* up to this long more */
  int slow_node;     /* 1 + index of a node whose NIC is slow_ratio times slower; 0 = none */
  double slow_ratio; /* 0 = 1; below 1: faster */
  int down_node; /* 1 + index of a node that is CUT, see pm_outage (also at the level rtl) ... */
  int64_t t_down_ns, d_down_ns; /* ... from t_down_ns for d_down_ns; 0 = none */
  const pm_outage *outages;     /* more of them, of nodes and cables; not copied; may be NULL */
  int outage_count;
} pm_faults;

/* Zeroed = defaults, except platform. */
typedef struct pm_world_desc {
  const pm_platform *platform; /* required; copied */
  pm_link_model link;
  const struct pm_carrier *carrier; /* needed for PM_LINK_CARRIER; must live as long as the world */
  /* Changes of link on the way, by time; not copied; may be NULL */
  const pm_link_phase *link_phases;
  int link_phase_count;
  pm_semantics semantics;
  pm_faults faults;
  bool no_data;         /* puts and gets take their time but move no bytes: for studies of time */
  uint32_t service_uid; /* messages of this user use the service virtual networks; 0 = none */
  uint64_t seed;
  size_t stack_bytes;         /* per simulated thread, rounded up to pages; 0 = 64 KiB */
  int64_t d_limit_ns;         /* stop then with PM_E_TIME_LIMIT; 0 = never */
  int64_t d_poll_deadlock_ns; /* nothing but idle polls for so long is a deadlock; 0 = 20 s */
  bool link_use;              /* keep how much each link is used, see pm_link_use */
  bool trace;                 /* keep a record per step of each message, see Traces */
  bool catch_crashes;         /* SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT of a process end the
                                 run with PM_E_CRASH or PM_E_STACK instead of the program. A message whose first or
                                 last page of a piece is not there at the target ends with PTL_NI_SEGV; what was there
                                 for a message before counts as there */
  double compute_ratio;   /* > 0: what a process computes between its calls is measured on the host
                           (CPU time) and takes this many times as long here; such runs differ a
                           little each time. 0: only pm_compute_ns and kernels take time */
  int64_t compute_min_ns; /* shorter computations take no time; 0 = 1000 */
  /* Each call that moves data takes up to so much longer, drawn from the seed, its process and how many such
     calls the process has made; 0 = none. Symmetrical programs that answer each other at the same moment, for ever,
     end with it as on real machines. Not negative */
  int64_t call_noise_ns;
  /* Another thread (pm_thread_self) runs now. May be NULL */
  void (*switched)(void *user, pm_process *to);
  /* Asked before a put or get of more than early_send_bytes moves its bytes within plain memory. true: it
     has moved what counts (of memory that is folded). May be NULL */
  bool (*moved)(void *user, void *to, const void *from, uint64_t size_bytes);
  /* For texts of deadlocks: writes the call of the program in which a thread of it waits, "MPI_Recv from 1". Text that is
     left empty says that it is not known. May be NULL */
  void (*waits_in)(void *user, const pm_process *process, const pm_thread *thread, char *text,
                   size_t text_bytes);
  /* Where bytes are that the process has at an address, whoever runs: asked when a message moves them, for the first of
     what lies together. For programs whose variables are at the address only while their process runs. May be NULL:
     at the address */
  void *(*memory_at)(void *user, const pm_process *process, void *address);
  /* A process died with its node (pm_outage_kind); outside of any process. May be NULL */
  void (*died)(void *user, pm_process *process);
  void *user; /* given back to all of them */
  /* > 0: the world runs over so many threads of the host (more than 1: with PM_THREADS), and what it computes is the
     same for any number of them; times are those of windows, see there. 0: on the thread that calls pm_world_run */
  int threads;
} pm_world_desc;

/* Worlds over threads. Nodes are dealt out to threads, which run by themselves for windows of LogGP's L: no message
   arrives sooner. What happens, when, and the hash are the same for any number of threads from 1 on (not: event_count,
   switch_count, memory_bytes). Beside a world without threads
     - of what happens at one node at one time the order is by time, NIC that sent it, and number
     - pm_barrier takes up to L, not nothing; so does the end of a process, or PtlNIFini, with operations under way
     - numbers of messages, pm_random and the hash are others
   so times may differ by what these differ. Processes of different nodes run at once: what they share of the host
   program's memory needs locks or atomics, and then is no longer the same in each run; those of one node need none.
   Only at the level LogGP with a latency, by itself: pm_world_run says PM_E_INVAL, and why, where there are other levels,
   carriers, faults but slow_node, loggp ranges, traces, stamps, use of links, measured computation, callbacks or crashes
   caught. Not in such a world: pm_call_at, pm_flow_start, pm_on_stamp, pm_world_set_link; pm_thread_wake and
   pm_thread_join of another node's thread; pm_process_id of a process of another node that chooses its pid meanwhile.
   Inside of the run pm_world_stats tells of the caller's thread of the host. */

/* ret PM_OK | PM_E_INVAL | PM_E_PLATFORM | PM_E_NOMEM */
PM_API pm_status pm_world_create(const pm_world_desc *desc, pm_world **world);
PM_API void pm_world_destroy(pm_world *world);
/* The values in force. desc.platform points to the copy inside the world. */
PM_API pm_world_desc pm_world_desc_of(const pm_world *world);
/* The details of the last error, with names: for a deadlock, who waits for what. Never NULL. */
PM_API const char *pm_world_error(const pm_world *world);

/* One more process on a node; ranks count up in this order. Not while the world runs.
   out  process   may be NULL
   ret  PM_OK | PM_E_INVAL | PM_E_STATE | PM_E_NOMEM */
PM_API pm_status pm_spawn(pm_world *world, int node_index, void (*entry)(void *arg), void *arg,
                          pm_process **process);
/* procs_per_node_count processes on every node: rank r lives on node r / procs_per_node_count. */
PM_API pm_status pm_spawn_all(pm_world *world, void (*entry)(void *arg), void *arg);
/* Runs until every process has returned and nothing is under way.
   ret  PM_OK | PM_E_DEADLOCK | PM_E_TIME_LIMIT | PM_E_CRASH | PM_E_STACK | what pm_world_fail said */
PM_API pm_status pm_world_run(pm_world *world);
/* Simulated time, from inside or outside. */
PM_API int64_t pm_world_now_ns(const pm_world *world);
/* Calls fn(arg) at a simulated time (not before now), outside any process: it must not wait.
   ret PM_OK | PM_E_INVAL | PM_E_NOMEM */
PM_API pm_status pm_call_at(pm_world *world, int64_t t_ns, void (*fn)(void *arg), void *arg);
/* Ends the run from inside or outside a process; the first reason wins. */
PM_API void pm_world_fail(pm_world *world, pm_status status, const char *text);

/* Counters since the creation of the world. */
typedef struct pm_stats {
  uint64_t event_count;                 /* steps of the simulation */
  uint64_t switch_count;                /* of context */
  uint64_t memory_bytes;                /* of the world and its processes now, without stacks */
  uint64_t stack_count;                 /* handed out so far */
  uint64_t message_count;               /* operations that left their process */
  uint64_t sent_bytes, delivered_bytes; /* payload: equal at the end of a run without failures */
  uint64_t flow_count, solve_count;     /* transfers that shared links; runs of the solver */
  uint64_t lost_count, resent_count, duplicate_count, undeliverable_count; /* what faults did */
  int64_t d_command_stall_ns; /* CPU time of calls that move data, with waits for a slot */
  uint64_t pending_count; /* of now: what will happen although every thread only looks and waits */
  uint64_t hash_id;       /* changes with every step of every message: the same run, the same id */
} pm_stats;
/* For messages from now on (until the next of link_phases); those under way stay with the level that
   started them. The run fails when the level needs a carrier and there is none. */
PM_API void pm_world_set_link(pm_world *world, pm_link_model link);
PM_API pm_stats pm_world_stats(const pm_world *world);

/* Who runs: NULL, -1 and 0 outside of a process. */
PM_API pm_process *pm_self(void);
PM_API int pm_rank(void);
PM_API int pm_size(void);
/* About any process, from anywhere. pm_process_at: NULL when out of range. pm_process_status: what
   it gave to pm_exit; 0; PM_STATUS_DIED. */
PM_API pm_process *pm_process_at(pm_world *world, int rank);
PM_API pm_world *pm_world_of(const pm_process *process);
PM_API int pm_process_rank(const pm_process *process);
PM_API int pm_process_node(const pm_process *process);
PM_API int pm_process_status(const pm_process *process);
/* How often it has begun anew (PM_OUTAGE_RESTART); whether it has died and not begun anew. No process: 0, false */
PM_API int pm_process_restart_count(const pm_process *process);
PM_API bool pm_process_is_dead(const pm_process *process);
PM_API void pm_process_set_uid(pm_process *process, uint32_t uid); /* for Portals; 0 at first */
PM_API void pm_process_set_user(pm_process *process, void *user);
PM_API void *pm_process_user(const pm_process *process);

/* Inside a process. pm_compute_ns is a sleep that is traced as computation; pm_compute_measured takes
   the time for what was computed since the last call (compute_ratio), which Portals calls, waits and
   sleeps do by themselves and pm_now_ns does not; pm_yield costs
   cpu_poll_ns and more when it is called again and again with nothing happening in between,
   pm_yield_for at least d_ns unless something is delivered to the process before (ret true), when d_ns > 0
   also bytes without an event;
   pm_barrier waits for all processes of the world and costs no simulated time; pm_exit ends the
   process with all its threads. pm_compute_unmeasured says whether what this thread computes from now
   on takes no time (1: a library does, whose times are modelled) or is measured (0: as at first), and
   returns what was so before; no effect outside of a process. */
PM_API int64_t pm_now_ns(void);
PM_API void pm_sleep_ns(int64_t d_ns);
PM_API void pm_compute_ns(int64_t d_ns);
PM_API void pm_compute_measured(void);
PM_API bool pm_compute_unmeasured(bool is_unmeasured);
PM_API void pm_yield(void);
PM_API bool pm_yield_for(int64_t d_ns);
PM_API void pm_barrier(void);
PM_API void pm_exit(int status);
/* Threads of the running process, cooperative like processes. stack_bytes 0 = the world's.
   ret NULL when out of memory. A process ends when all its threads have returned. */
PM_API pm_thread *pm_thread_create(void (*entry)(void *arg), void *arg, size_t stack_bytes);
/* Waits until the thread has returned; once per thread. */
PM_API void pm_thread_join(pm_thread *thread);
PM_API pm_thread *pm_thread_self(void);
/* Blocks the running thread until pm_thread_wake: what locks of guests are made of. what names it in
   deadlock reports and is kept by pointer. d_ns < 0: for ever. A wake that came first is remembered.
   ret whether it was woken; false: time over */
PM_API bool pm_thread_wait(const char *what, int64_t d_ns);
PM_API void pm_thread_wake(pm_thread *thread);

/* The next number of the world's own generator, for guests that want reproducible noise. */
PM_API uint64_t pm_random(pm_world *world);

/* Directed links of the network. */
PM_API int pm_link_count(const pm_world *world);
/* The way between two nodes as it is now (of the first rail, around what is down): writes at most max numbers of
   directed links.
   out  latency_ns   of the way, may be NULL
   ret  how many links the way has; -1 unknown node, out of memory, or an outage leaves no way */
PM_API int pm_route(pm_world *world, int from_node, int to_node, uint32_t *links, int max,
                    int64_t *latency_ns);
/* What a directed link adds to the latency of every way over it, so that pm_route's is the sum: in a file its own
   latency, else the wire's for a node's link to its switch, a switch's for any other one.
   ret 0: no world, no such link */
PM_API int64_t pm_link_latency_ns(const pm_world *world, int link);
#ifdef NBC_LINES
#line 1 "src/portals/machine.h"
#endif
/* What a world is made of: the data that several pieces work on, and what early pieces ask of
   later ones. */



#ifdef NBC_LINES
#line 1 "src/portals/future.h"
#endif
/* Events to come, in the order of their times. */



#ifdef NBC_LINES
#line 1 "src/portals/outages.h"
#endif
/* Cables and nodes that carry nothing for a while, and the ways around them. */



#ifdef NBC_LINES
#line 1 "src/portals/threads.h"
#endif
/* Contexts, stacks and threads: what runs, and what waits for its time. */



#ifdef NBC_LINES
#line 1 "src/portals/run.h"
#endif
/* Processes, the loop that runs a world, its beginning and end. */




#ifdef NBC_LINES
#line 1 "src/portals/trace.h"
#endif
/* Traces: CSV, Chrome JSON, Paje, HTML. */


/* ============================================================================================== */
/* [TRACE] 5. Traces: CSV, Chrome JSON, Paje, HTML                                                */
/* ============================================================================================== */
/* With pm_world_desc.trace every step of every message leaves a record, of the kinds of S4BXI.
   PIO_PAYLOAD: the CPU writes it; DMA_REQUEST, DMA_PAYLOAD: the NIC asks the host for it and has it, to
   the end of a long one that leaves meanwhile; E2E_ACK: what comes back when nobody wants a
   PORTALS_ACK. At the LogGP level COMMAND is the wait for the gap, writes and events are points, payload
   is not read; at a carrier's level it reads payload and that leaves no record. CALL: what a process said
   with pm_trace_call_end, pm_run of MPI's functions. First come the kinds that travel, from COMMAND on those that
   stay at one process. */
#define PM_TRACE_LIST(X)                                                                           \
  X(PUT)                                                                                           \
  X(GET)                                                                                           \
  X(ATOMIC)                                                                                        \
  X(FETCH_ATOMIC)                                                                                  \
  X(GET_RESPONSE)                                                                                  \
  X(FETCH_ATOMIC_RESPONSE)                                                                         \
  X(PORTALS_ACK)                                                                                   \
  X(E2E_ACK)                                                                                       \
  X(COMMAND) X(PIO_PAYLOAD) X(DMA_REQUEST) X(DMA_PAYLOAD) X(PAYLOAD_WRITE) X(EVENT) X(COMPUTE)     \
      X(CALL)
typedef enum pm_trace_kind {
#define PM__X(name) PM_TRACE_##name,
  PM_TRACE_LIST(PM__X)
#undef PM__X
      PM_TRACE_LAST
} pm_trace_kind;

typedef struct pm_trace_record {
  int64_t t_begin_ns, t_end_ns;
  int t_begin_ps, t_end_ps; /* what is left below a nanosecond: 0..999 */
  uint64_t id, size_bytes;  /* id of the message; 0 for COMPUTE */
  int from_node, to_node;   /* of this step */
  int from_rank, to_rank;   /* who asked for the operation, of whom; -1: none */
  pm_trace_kind kind;
  const char *name; /* of CALL; NULL: none */
} pm_trace_record;

/* Around something of a process that has a name (a function of a library): a CALL in its track. begin gives
   what end wants, the simulated time in picoseconds; -1 without pm_world_desc.trace and outside of a process,
   and then end does nothing, nor with a NULL name. name: ASCII letters, digits, '_'; it is kept as it is, so
   it must live as long as the world. */
PM_API int64_t pm_trace_call_begin(void);
PM_API void pm_trace_call_end(const char *name, int64_t t_begin_ps);
/* "PUT"; never NULL */
PM_API const char *pm_trace_kind_name(pm_trace_kind kind);
/* Records so far, in order of recording; valid until the world runs on. */
PM_API const pm_trace_record *pm_trace_records(const pm_world *world, size_t *count);
/* Column names first. One line per record, times in ns with three decimals; a CALL has its name as its kind. */
PM_API pm_status pm_trace_write_csv(const pm_world *world, FILE *out);
/* Chrome trace (opens in Perfetto): a process per node, its NIC and its ranks as threads; of what goes on there at the
   same time, several. ret PM_OK | PM_E_INVAL | PM_E_IO | PM_E_NOMEM */
PM_API pm_status pm_trace_write_json(const pm_world *world, FILE *out);
/* Paje (opens in ViTE): a container per node and, in it, per process that computes or writes payload; those are
   its states, messages on the wire are links between nodes, and a node's variable counts the steps under way
   at its NIC. Of threads of one process that compute at the same time the last to begin is shown.
   ret PM_OK | PM_E_INVAL | PM_E_IO | PM_E_NOMEM */
PM_API pm_status pm_trace_write_paje(const pm_world *world, FILE *out);
/* Sequence diagram, one HTML page that needs nothing else: a column per process that takes part, time
   downwards (stretched where much happens), an arrow per message, hover texts. For small runs: only
   the first PM_TRACE_HTML_MAX records are drawn, and the page says so.
   ret PM_OK | PM_E_IO | PM_E_NOMEM */
#define PM_TRACE_HTML_MAX 2000
PM_API pm_status pm_trace_write_html(const pm_world *world, FILE *out);

#ifdef NBC_LINES
#line 1 "src/portals/ptl.h"
#endif
/* Portals 4: types, constants and calls; inside, its objects. */


/* ============================================================================================== */
/* [PTL] 6. Portals 4, versions 4.2 and 4.3 together                                              */
/* ============================================================================================== */
/* build/include/portals4.h is this section. Handles are 32-bit numbers: kind, NI, generation, slot;
   the same in every process for the same order of calls. Names are those of the Portals
   specification; what each call does is not repeated here, forks are in pm_semantics. */
typedef uint64_t ptl_size_t, ptl_match_bits_t, ptl_hdr_data_t;
typedef uint32_t ptl_pt_index_t, ptl_nid_t, ptl_pid_t, ptl_rank_t, ptl_uid_t;
typedef ptl_pt_index_t ptl_index_t;               /* BXI's name */
typedef unsigned int ptl_time_t, ptl_interface_t; /* ptl_time_t: milliseconds */
typedef int ptl_sr_value_t;
typedef uint32_t ptl_handle_any_t, ptl_handle_ni_t, ptl_handle_eq_t, ptl_handle_ct_t,
    ptl_handle_md_t, ptl_handle_le_t, ptl_handle_me_t;
typedef unsigned char ptl_list_t, ptl_search_op_t, ptl_ni_fail_t, ptl_ack_req_t, ptl_op_t,
    ptl_datatype_t, ptl_event_kind_t;

/* return codes */
#define PTL_STATUS_LIST(X)                                                                         \
  X(PTL_OK, 0)                                                                                     \
  X(PTL_ARG_INVALID, 1)                                                                            \
  X(PTL_CT_NONE_REACHED, 2)                                                                        \
  X(PTL_EQ_DROPPED, 3)                                                                             \
  X(PTL_EQ_EMPTY, 4)                                                                               \
  X(PTL_FAIL, 5)                                                                                   \
  X(PTL_IGNORED, 6)                                                                                \
  X(PTL_IN_USE, 7)                                                                                 \
  X(PTL_INTERRUPTED, 8)                                                                            \
  X(PTL_LIST_TOO_LONG, 9)                                                                          \
  X(PTL_NO_INIT, 10)                                                                               \
  X(PTL_NO_SPACE, 11)                                                                              \
  X(PTL_PID_IN_USE, 12) X(PTL_PT_FULL, 13) X(PTL_PT_EQ_NEEDED, 14) X(PTL_PT_IN_USE, 15)            \
      X(PTL_ABORTED, 16) X(PTL_TRY_AGAIN, 17) X(PTL_SIZE_INVALID, 18)
enum {
#define PM__X(name, value) name = value,
  PTL_STATUS_LIST(PM__X)
#undef PM__X
      PTL_STATUS_LAST
};

/* special values */
#define PTL_INVALID_HANDLE ((ptl_handle_any_t)0xFFFFFFFFu)
#define PTL_EQ_NONE        ((ptl_handle_eq_t)0xFFFFFFFEu)
#define PTL_CT_NONE        ((ptl_handle_ct_t)0xFFFFFFFDu)
#define PTL_IFACE_DEFAULT  ((ptl_interface_t)0xFFFFFFFFu)
#define PTL_PID_ANY        ((ptl_pid_t)0xFFFFFFFFu)
#define PTL_PID_MAX        ((ptl_pid_t)0xFFFFu)
#define PTL_NID_ANY        ((ptl_nid_t)0xFFFFFFFFu)
#define PTL_UID_ANY        ((ptl_uid_t)0xFFFFFFFFu)
#define PTL_PT_ANY         ((ptl_pt_index_t)0xFFFFFFFFu)
#define PTL_RANK_ANY       ((ptl_rank_t)0xFFFFFFFFu)
#define PTL_TIME_FOREVER   ((ptl_time_t)0xFFFFFFFFu)
#define PTL_SIZE_MAX       ((ptl_size_t)0xFFFFFFFFFFFFFFFFu)

/* network interfaces */
#define PTL_NI_MATCHING              0x1u
#define PTL_NI_NO_MATCHING           0x2u
#define PTL_NI_LOGICAL               0x4u
#define PTL_NI_PHYSICAL              0x8u
#define PTL_NI_INIT_OPTIONS_MASK     0xFu
#define PTL_TARGET_BIND_INACCESSIBLE 0x1u
#define PTL_TOTAL_DATA_ORDERING      0x2u
#define PTL_COHERENT_ATOMICS         0x4u

/* portal table entries */
#define PTL_PT_ONLY_USE_ONCE      0x1u
#define PTL_PT_FLOWCTRL           0x2u
#define PTL_PT_ONLY_TRUNCATE      0x4u
#define PTL_PT_MATCH_UNORDERED    0x8u
#define PTL_PT_ALLOC_DISABLED     0x10u
#define PTL_PT_ALLOC_OPTIONS_MASK 0x1Fu

/* memory descriptors; PTL_IOVEC is shared with list entries */
#define PTL_IOVEC                    0x1u
#define PTL_MD_EVENT_SUCCESS_DISABLE 0x2u
#define PTL_MD_EVENT_SEND_DISABLE    0x4u
#define PTL_MD_EVENT_CT_SEND         0x8u
#define PTL_MD_EVENT_CT_REPLY        0x10u
#define PTL_MD_EVENT_CT_ACK          0x20u
#define PTL_MD_EVENT_CT_BYTES        0x40u
#define PTL_MD_UNORDERED             0x80u
#define PTL_MD_VOLATILE              0x100u
#define PTL_MD_UNRELIABLE            0x200u
#define PTL_MD_OPTIONS_MASK          0x3FFu

/* list and matching list entries */
#define PTL_LE_OP_PUT                 0x2u
#define PTL_LE_OP_GET                 0x4u
#define PTL_LE_USE_ONCE               0x8u
#define PTL_LE_ACK_DISABLE            0x10u
#define PTL_LE_UNEXPECTED_HDR_DISABLE 0x20u
#define PTL_LE_IS_ACCESSIBLE          0x40u
#define PTL_LE_EVENT_LINK_DISABLE     0x80u
#define PTL_LE_EVENT_COMM_DISABLE     0x100u
#define PTL_LE_EVENT_FLOWCTRL_DISABLE 0x200u
#define PTL_LE_EVENT_SUCCESS_DISABLE  0x400u
#define PTL_LE_EVENT_OVER_DISABLE     0x800u
#define PTL_LE_EVENT_UNLINK_DISABLE   0x1000u
#define PTL_LE_EVENT_CT_COMM          0x2000u
#define PTL_LE_EVENT_CT_OVERFLOW      0x4000u
#define PTL_LE_EVENT_CT_BYTES         0x8000u
#define PTL_LE_APPEND_OPTIONS_MASK    0xFFFFu
#define PTL_ME_OP_PUT                 PTL_LE_OP_PUT
#define PTL_ME_OP_GET                 PTL_LE_OP_GET
#define PTL_ME_USE_ONCE               PTL_LE_USE_ONCE
#define PTL_ME_ACK_DISABLE            PTL_LE_ACK_DISABLE
#define PTL_ME_UNEXPECTED_HDR_DISABLE PTL_LE_UNEXPECTED_HDR_DISABLE
#define PTL_ME_IS_ACCESSIBLE          PTL_LE_IS_ACCESSIBLE
#define PTL_ME_EVENT_LINK_DISABLE     PTL_LE_EVENT_LINK_DISABLE
#define PTL_ME_EVENT_COMM_DISABLE     PTL_LE_EVENT_COMM_DISABLE
#define PTL_ME_EVENT_FLOWCTRL_DISABLE PTL_LE_EVENT_FLOWCTRL_DISABLE
#define PTL_ME_EVENT_SUCCESS_DISABLE  PTL_LE_EVENT_SUCCESS_DISABLE
#define PTL_ME_EVENT_OVER_DISABLE     PTL_LE_EVENT_OVER_DISABLE
#define PTL_ME_EVENT_UNLINK_DISABLE   PTL_LE_EVENT_UNLINK_DISABLE
#define PTL_ME_EVENT_CT_COMM          PTL_LE_EVENT_CT_COMM
#define PTL_ME_EVENT_CT_OVERFLOW      PTL_LE_EVENT_CT_OVERFLOW
#define PTL_ME_EVENT_CT_BYTES         PTL_LE_EVENT_CT_BYTES
#define PTL_ME_MANAGE_LOCAL           0x10000u
#define PTL_ME_NO_TRUNCATE            0x20000u
#define PTL_ME_MAY_ALIGN              0x40000u
#define PTL_ME_LOCAL_INC_UH_RLENGTH   0x80000u
#define PTL_ME_APPEND_OPTIONS_MASK    0xFFFFFu

enum { PTL_PRIORITY_LIST = 0, PTL_OVERFLOW_LIST = 1 };
enum { PTL_SEARCH_ONLY = 0, PTL_SEARCH_DELETE = 1 };
enum { PTL_NO_ACK_REQ = 0, PTL_ACK_REQ = 1, PTL_CT_ACK_REQ = 2, PTL_OC_ACK_REQ = 3 };
typedef enum {
  PTL_SR_DROP_COUNT = 0,
  PTL_SR_PERMISSION_VIOLATIONS,
  PTL_SR_OPERATION_VIOLATIONS,
  PTL_SR_LAST
} ptl_sr_index_t;
typedef enum { PTL_CT_OPERATION = 0, PTL_CT_BYTE } ptl_ct_type_t; /* unused by the API */
#define PTL_NI_FAIL_LIST(X)                                                                        \
  X(OK)                                                                                            \
  X(UNDELIVERABLE)                                                                                 \
  X(DROPPED)                                                                                       \
  X(PT_DISABLED) X(PERM_VIOLATION) X(OP_VIOLATION) X(NO_MATCH) X(SEGV) X(TARGET_INVALID)
enum {
#define PM__X(name) PTL_NI_##name,
  PTL_NI_FAIL_LIST(PM__X)
#undef PM__X
      PTL_NI_FAIL_LAST
};
#define PTL_EVENT_LIST(X)                                                                          \
  X(GET)                                                                                           \
  X(GET_OVERFLOW)                                                                                  \
  X(PUT)                                                                                           \
  X(PUT_OVERFLOW)                                                                                  \
  X(ATOMIC)                                                                                        \
  X(ATOMIC_OVERFLOW)                                                                               \
  X(FETCH_ATOMIC)                                                                                  \
  X(FETCH_ATOMIC_OVERFLOW)                                                                         \
  X(REPLY) X(SEND) X(ACK) X(PT_DISABLED) X(LINK) X(AUTO_UNLINK) X(AUTO_FREE) X(SEARCH)
enum {
#define PM__X(name) PTL_EVENT_##name,
  PTL_EVENT_LIST(PM__X)
#undef PM__X
      PTL_EVENT_LAST
};
enum {
  PTL_MIN = 0,
  PTL_MAX,
  PTL_SUM,
  PTL_PROD,
  PTL_LOR,
  PTL_LAND,
  PTL_BOR,
  PTL_BAND,
  PTL_LXOR,
  PTL_BXOR,
  PTL_SWAP,
  PTL_CSWAP,
  PTL_CSWAP_NE,
  PTL_CSWAP_LE,
  PTL_CSWAP_LT,
  PTL_CSWAP_GE,
  PTL_CSWAP_GT,
  PTL_MSWAP,
  PTL_OP_LAST
};
enum {
  PTL_INT8_T = 0,
  PTL_UINT8_T,
  PTL_INT16_T,
  PTL_UINT16_T,
  PTL_INT32_T,
  PTL_UINT32_T,
  PTL_FLOAT,
  PTL_INT64_T,
  PTL_UINT64_T,
  PTL_DOUBLE,
  PTL_FLOAT_COMPLEX,
  PTL_DOUBLE_COMPLEX,
  PTL_LONG_DOUBLE,
  PTL_LONG_DOUBLE_COMPLEX,
  PTL_DATATYPE_LAST
};

typedef union {
  ptl_rank_t rank;
  struct {
    ptl_nid_t nid;
    ptl_pid_t pid;
  } phys;
} ptl_process_t;
typedef struct {
  void *iov_base;
  ptl_size_t iov_len;
} ptl_iovec_t;
typedef struct {
  ptl_size_t success, failure;
} ptl_ct_event_t;
typedef struct {
  void *start;
  ptl_size_t length; /* bytes, or elements with PTL_IOVEC */
  unsigned int options;
  ptl_handle_eq_t eq_handle;
  ptl_handle_ct_t ct_handle;
} ptl_md_t;
typedef struct {
  void *start;
  ptl_size_t length;
  ptl_handle_ct_t ct_handle;
  ptl_uid_t uid;
  unsigned int options;
} ptl_le_t;
typedef struct {
  void *start;
  ptl_size_t length;
  ptl_handle_ct_t ct_handle;
  ptl_uid_t uid;
  unsigned int options;
  ptl_process_t match_id;
  ptl_match_bits_t match_bits, ignore_bits;
  ptl_size_t min_free;
} ptl_me_t;
typedef struct {
  void *start, *user_ptr;
  ptl_hdr_data_t hdr_data;
  ptl_match_bits_t match_bits;
  ptl_size_t rlength, mlength, remote_offset;
  ptl_process_t initiator;
  ptl_uid_t uid;
  ptl_pt_index_t pt_index;
  ptl_event_kind_t type;
  ptl_list_t ptl_list;
  ptl_ni_fail_t ni_fail_type;
  ptl_op_t atomic_operation;
  ptl_datatype_t atomic_type;
} ptl_event_t;
typedef struct {
  int max_entries, max_unexpected_headers, max_mds, max_cts, max_eqs, max_pt_index, max_iovecs,
      max_list_size, max_triggered_ops;
  ptl_size_t max_msg_size, max_atomic_size, max_fetch_atomic_size, max_waw_ordered_size,
      max_war_ordered_size, max_volatile_size;
  unsigned int features;
} ptl_ni_limits_t;

/* library, interfaces, identity */
PM_API int PtlInit(void);
PM_API void PtlFini(void);
PM_API void PtlAbort(void);
PM_API int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid,
                     const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
                     ptl_handle_ni_t *ni_handle);
PM_API int PtlNIFini(ptl_handle_ni_t ni_handle);
PM_API int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t index, ptl_sr_value_t *value);
PM_API int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle);
PM_API int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping);
PM_API int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping,
                     ptl_size_t *actual_size);
PM_API int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid);
PM_API int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
PM_API int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
/* portal table, descriptors, lists */
PM_API int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle,
                      ptl_pt_index_t index_req, ptl_pt_index_t *index);
PM_API int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
PM_API int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
PM_API int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
PM_API int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle);
PM_API int PtlMDRelease(ptl_handle_md_t md_handle);
PM_API int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_list_t list, void *user_ptr, ptl_handle_le_t *le_handle);
PM_API int PtlLEUnlink(ptl_handle_le_t le_handle);
PM_API int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_search_op_t search_op, void *user_ptr);
PM_API int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle);
PM_API int PtlMEUnlink(ptl_handle_me_t me_handle);
PM_API int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_search_op_t search_op, void *user_ptr);
/* events and counters */
PM_API int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle);
PM_API int PtlEQFree(ptl_handle_eq_t eq_handle);
PM_API int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event);
PM_API int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event);
PM_API int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout,
                     ptl_event_t *event, unsigned int *which);
PM_API int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle);
PM_API int PtlCTFree(ptl_handle_ct_t ct_handle);
PM_API int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle);
PM_API int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event);
PM_API int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event);
PM_API int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size,
                     ptl_time_t timeout, ptl_ct_event_t *event, unsigned int *which);
PM_API int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct);
PM_API int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment);
/* moving data; the triggered twins take (trig_ct, threshold) more */
#define PM__PTL_PUT_ARGS                                                                           \
  ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,    \
      ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,               \
      ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data
#define PM__PTL_GET_ARGS                                                                           \
  ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id,  \
      ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,              \
      void *user_ptr
#define PM__PTL_FETCH_ARGS                                                                         \
  ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,       \
      ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id,                     \
      ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,              \
      void *user_ptr, ptl_hdr_data_t hdr_data
#define PM__PTL_TRIG_ARGS ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold
PM_API int PtlPut(PM__PTL_PUT_ARGS);
PM_API int PtlGet(PM__PTL_GET_ARGS);
PM_API int PtlAtomic(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlFetchAtomic(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlSwap(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                   ptl_datatype_t datatype);
PM_API int PtlAtomicSync(void);
PM_API int PtlTriggeredPut(PM__PTL_PUT_ARGS, PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredGet(PM__PTL_GET_ARGS, PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredAtomic(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                              PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredFetchAtomic(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                                   PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredSwap(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                            ptl_datatype_t datatype, PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment,
                             PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, PM__PTL_TRIG_ARGS);
/* outside the specification, in the reference implementation */
PM_API int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                                ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle,
                                PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, PM__PTL_TRIG_ARGS);
/* BXI's forms that never wait: with all command slots taken they return PTL_TRY_AGAIN, and nothing
   has happened. Arguments as above. */
PM_API int PtlPutNB(PM__PTL_PUT_ARGS);
PM_API int PtlGetNB(PM__PTL_GET_ARGS);
PM_API int PtlAtomicNB(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlFetchAtomicNB(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlSwapNB(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                     ptl_datatype_t datatype);
#define PtlPTDisableNB            PtlPTDisable /* these need no slot in the model */
#define PtlPTEnableNB             PtlPTEnable
#define PtlMDBindNB               PtlMDBind
#define PtlLEAppendNB             PtlLEAppend
#define PtlLESearchNB             PtlLESearch
#define PtlMEAppendNB             PtlMEAppend
#define PtlMESearchNB             PtlMESearch
#define PtlTriggeredPutNB         PtlTriggeredPut
#define PtlTriggeredGetNB         PtlTriggeredGet
#define PtlTriggeredAtomicNB      PtlTriggeredAtomic
#define PtlTriggeredFetchAtomicNB PtlTriggeredFetchAtomic
#define PtlTriggeredSwapNB        PtlTriggeredSwap
#define PtlTriggeredCTIncNB       PtlTriggeredCTInc
#define PtlTriggeredCTSetNB       PtlTriggeredCTSet
PM_API int PtlNIAtomicSync(ptl_handle_ni_t ni_handle);
/* Of the hardware: number of the node, and 0 */
PM_API int PtlGetHwid(ptl_handle_ni_t ni_handle, uint64_t *hw_id, uint64_t *capabilities_id);
typedef enum ptl_str_type { PTL_STR_ERROR, PTL_STR_EVENT, PTL_STR_FAIL_TYPE } ptl_str_type_t;
PM_API const char *PtlToStr(int value, enum ptl_str_type type);
/* An event in one line, e.g. "PUT OK mlength 8 pt 3 from 0"; text: PTL_EV_STR_SIZE bytes. ni_options
   of PtlNIInit say whether "from" is a rank (PTL_NI_LOGICAL) or nid:pid. ret PTL_OK | PTL_ARG_INVALID */
#define PTL_EV_STR_SIZE 256
PM_API int PtlEvToStr(unsigned int ni_options, const ptl_event_t *event, char *text);
/* A queue that calls: callback(arg, queue) in a thread of the process's own, as soon as there are
   events, and again when more come while it runs; it takes them with PtlEQGet. Callbacks of a process
   run one after the other. hint is ignored. ret as PtlEQAlloc */
PM_API int PtlEQAllocAsync(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle,
                           void (*callback)(void *arg, ptl_handle_eq_t eq_handle), void *arg,
                           int hint);
/* Has the callback of such a queue called once more though no event came: work is handed to its thread.
   Takes cpu_command_ns. ret PTL_OK | PTL_NO_INIT | PTL_ARG_INVALID (no queue, or one that does not call) */
PM_API int pm_eq_call(ptl_handle_eq_t eq_handle);
/* File descriptors that are readable while queues of the interface hold events. PtlNFDs: how many;
   PtlPollFDs: writes them for poll(), ret how many, or -1: bad handle, or no descriptor left;
   PtlPollEvents: what poll() is to have meant: POLLIN or 0. A guest's poll() must let simulated time
   pass, as pm_run's does; a process that is a C function calls it with timeout 0 and pm_yield. */
struct pollfd;
PM_API int PtlNFDs(ptl_handle_ni_t ni_handle);
PM_API int PtlPollFDs(ptl_handle_ni_t ni_handle, struct pollfd *fds, int events);
PM_API int PtlPollEvents(ptl_handle_ni_t ni_handle, struct pollfd *fds);
/* callback(arg, NIC, what) for a NIC that comes (what 1). The model's NIC is there from the beginning,
   so it is called at once, and never again. At most 8 hooks of a process.
   ret PTL_OK | PTL_NO_INIT | PTL_ARG_INVALID | PTL_NO_SPACE */
typedef struct ptl_activate_hook *ptl_activate_hook_t;
PM_API int PtlActivateHookAdd(void (*callback)(void *arg, unsigned int nic, int what), void *arg,
                              ptl_activate_hook_t *hook);
PM_API int PtlActivateHookRemove(ptl_activate_hook_t hook);
/* hints, comparison */
PM_API int PtlStartBundle(ptl_handle_ni_t ni_handle);
PM_API int PtlEndBundle(ptl_handle_ni_t ni_handle);
PM_API int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2);
/* Of the model. pm_process_id: the physical id of a rank (as it will be when it asks for
   PTL_PID_ANY), so that examples need no exchange of addresses. */
PM_API ptl_process_t pm_process_id(int rank);
/* names for people: "PTL_OK", "PUT_OVERFLOW", "NO_MATCH"; never NULL */
PM_API const char *pm_ptl_status_name(int status);
PM_API const char *pm_ptl_event_name(int event_kind);
PM_API const char *pm_ptl_fail_name(int ni_fail_type);

#ifdef NBC_LINES
#line 1 "src/portals/message.h"
#endif
/* One operation on its way: what Portals knows of it, what NIC and wire do with it, what a carrier
   adds; and what these ask of each other. */



#ifdef NBC_LINES
#line 1 "src/portals/ptl_memory.h"
#endif
/* Memory in one or more pieces, and the arithmetic of atomics. */



#ifdef NBC_LINES
#line 1 "src/portals/ptl_objects.h"
#endif
/* Handles, library and interfaces, identity. */



#ifdef NBC_LINES
#line 1 "src/portals/ptl_events.h"
#endif
/* Event queues and counters. */



#ifdef NBC_LINES
#line 1 "src/portals/ptl_lists.h"
#endif
/* Portal table, memory descriptors, list entries and unexpected headers. */




#ifdef NBC_LINES
#line 1 "src/portals/ptl_target.h"
#endif
/* What happens at the target of an operation. */



#ifdef NBC_LINES
#line 1 "src/portals/ptl_moves.h"
#endif
/* Operations: made, started, ended at their initiator; triggered ones; the end of interfaces. */



#ifdef NBC_LINES
#line 1 "src/portals/ahead.h"
#endif
/* Threads that run ahead of what they asked for. */



/* Running ahead: a call of Portals costs its caller time, and only then has its effect; in a thread that runs
   ahead it becomes a step, which takes place at the same time and in the same order as without, while
   the thread already goes on. So a call costs no change of context, and results are the same, as long as
   the thread does not look at memory that others write. */

/* From now on PtlPut, PtlGet, PtlMEAppend and pm_sleep_ns of the running thread become steps, and return what is
   known at once; no other function may be called until it is switched off again. Then all others wait
   first until the steps have taken place. No effect in a process with several threads, or whose
   computation is measured.
   ret  what was so before; false outside of a process */
PM_API bool pm_run_ahead(bool is_ahead);
/* Waits until the steps have taken place. */
PM_API void pm_catch_up(void);
/* How many entries may be appended now, with the steps to come taken into account; then there may be room for
   more. 0: unknown handle or index. */
PM_API int pm_append_room(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
/* Is told of an event outside of its thread's stack, with that thread as the running one and as if it had called
   pm_run_ahead(true): it must neither wait nor end the process, and what it posts is read at its step, from a
   descriptor with PTL_MD_VOLATILE too. ret 0: it leaves the event to the thread */
typedef int (*pm_event_fn)(void *arg, const ptl_event_t *event);
/* Takes the events of a queue one after the other, each at its cost as PtlEQWait does, until *is_over, which only
   handle changes. Where nobody may run ahead all events are left.
   out  event  what was left
   ret  PTL_OK | PTL_EQ_DROPPED: there is one | PTL_EQ_EMPTY: *is_over | PTL_NO_INIT | PTL_ABORTED |
        PTL_INTERRUPTED | PTL_ARG_INVALID */
PM_API int pm_eq_serve(ptl_handle_eq_t eq_handle, const bool *is_over, pm_event_fn handle,
                       void *arg, ptl_event_t *event);
#ifdef NBC_LINES
#line 1 "src/portals/ptl_library.h"
#endif
/* Library and interfaces: their beginning and end. */


#ifdef NBC_LINES
#line 1 "src/portals/flow.h"
#endif
/* Links shared fairly: max-min solver and flows. */


/* ============================================================================================== */
/* [FLOW] 7. Links shared fairly: max-min solver and flows                                        */
/* ============================================================================================== */
/* A transfer of so many bytes between nodes over the platform's way (of rail 0), sharing its links with all
   others max-min fairly. Bytes are payload: their headers take their share of each link (of link_packet_bytes +
   link_header_bytes the latter), in proportion, as if packets had no end; done(arg) is called at the simulated time of its end (latency of the way
   not included), outside any process; done may be NULL. For studies of the network alone.
   ret PM_OK | PM_E_INVAL | PM_E_STATE: in a world over threads | PM_E_NOMEM */
PM_API pm_status pm_flow_start(pm_world *world, int from_node, int to_node, double size_bytes,
                               void (*done)(void *arg), void *arg);
/* Capacity of a directed link. */
PM_API double pm_link_bytes_per_s(const pm_world *world, int link);
/* Rates now in force of the flows on a link: returns how many, writes at most max. */
PM_API int pm_link_rates(pm_world *world, int link, double *bytes_per_s, int max);

#ifdef NBC_LINES
#line 1 "src/portals/wire.h"
#endif
/* From one NIC to another: latency, order and faults; the LogGP level. */




/* ============================================================================================== */
/* [NIC] 8. NIC and wire                                                                          */
/* ============================================================================================== */
/* True stamps of a transfer: fn is called when it is known when the bytes of a put or atomic, or of
   a reply (is_reply), begin to leave and have all arrived at the wire's other end. t_end_ns may
   lie in the future of the call. Of what was lost: begins with the first try, ends with the last one (at the level LogGP:
   with the first). One function per world; NULL switches it off. */
typedef struct pm_stamp {
  uint64_t id; /* of the message, unique in the world */
  int from_node, to_node, initiator_rank;
  int target_rank; /* whom the initiator addressed; -1: nobody has that address */
  bool is_reply;
  void *user_ptr; /* of the initiator's operation */
  ptl_pt_index_t pt_index;
  ptl_size_t size_bytes;
  ptl_hdr_data_t hdr_data;
  ptl_match_bits_t match_bits;
  int64_t t_begin_ns, t_end_ns;
} pm_stamp;
PM_API void pm_on_stamp(pm_world *world, void (*fn)(void *arg, const pm_stamp *stamp), void *arg);

/* A carrier moves the bytes of messages by means of its own, e.g. NICs in RTL: the link level
   PM_LINK_CARRIER. Handles, permissions, matching, events, counters and the atomics that the carrier
   cannot compute stay with the model; wire, payload, acknowledgements, their times, faults and
   retransmissions are the carrier's. A carrier may keep the lists too, so that matching takes its time: the model
   tells it each entry and search, and decides by itself, when the carrier has done it. Messages within a node never
   reach it (unless intra_uses_nic). Times are picoseconds of the world. Commands of the CPU cost what they cost at the
   flow level. */
typedef enum pm_cargo_kind {
  PM_CARGO_PUT,     /* bytes go to the target; an answer without bytes comes back */
  PM_CARGO_GET,     /* bytes of the target come back */
  PM_CARGO_ATOMIC,  /* bytes go to the target; the carrier computes there, element by element */
  PM_CARGO_FETCH,   /* the same, and the old value comes back */
  PM_CARGO_EXCHANGE /* bytes go to the target, as many come back: the model computes */
} pm_cargo_kind;
typedef struct pm_cargo {
  void *message; /* for the functions below; valid until pm_cargo_returned */
  pm_cargo_kind kind;
  int from_node, to_node;
  uint32_t from_pid,
      to_pid; /* of the processes, and which of their interfaces: see pm_carrier_entry */
  ptl_uid_t from_uid;
  int interface_index;
  ptl_pt_index_t pt_index;
  ptl_match_bits_t match_bits;
  uint64_t remote_offset_bytes;
  bool is_service;   /* by the virtual networks of services */
  int payload;       /* 0 in the command, 1 written by the CPU, 2 read by the NIC */
  bool tells_sent;   /* pm_cargo_sent is expected */
  int element_bytes; /* of ATOMIC and FETCH, with the next */
  bool is_signed;
  bool is_float, is_complex; /* is_complex: two floats or doubles; is_float is set too */
  ptl_op_t operation;
  unsigned char compare[16]; /* of a conditional swap: element_bytes of them count */
  uint64_t size_bytes;       /* to the target, or asked back by a GET */
  int counter; /* 1 + number of the initiator's counter that grows by one with the answer; 0: none */
  int behind;  /* 1 + number of the initiator's counter: what is due there leaves first; 0: none */
} pm_cargo;

/* An entry of a list, as far as it says which messages it takes. */
typedef struct pm_carrier_entry {
  int node; /* of the process that appended it */
  uint32_t pid;
  int interface_index; /* bit 0: matching, bit 1: logical */
  ptl_pt_index_t pt_index;
  bool is_overflow, is_use_once;
  bool keeps_headers; /* messages leave unexpected headers */
  bool is_untold;     /* of those that it finds nobody is told */
  bool never_cuts;    /* what has no room is passed over (PTL_ME_NO_TRUNCATE) */
  bool is_local;      /* messages lie one behind the other (PTL_ME_MANAGE_LOCAL) */
  bool adds_lengths;  /* of headers that its append finds (PTL_ME_LOCAL_INC_UH_RLENGTH) */
  bool takes_puts,
      takes_gets;          /* what it takes and lets in not is refused, and leaves it as it is */
  bool is_mute;            /* what goes well is not acknowledged (PTL_ME_ACK_DISABLE) */
  int64_t uid;             /* -1: any; others are refused likewise */
  uint64_t min_free_bytes; /* one that is_local leaves its list with fewer */
  uint64_t size_bytes;
  int search; /* 0: an entry; 1: only looks for headers, 2: takes them out */
  uint64_t
      op_id; /* not 0: pm_list_told() says when it is done, also of an entry that headers used up */
  int64_t from_node_id, from_process_id; /* -1: any, -2: nobody's */
  ptl_match_bits_t match_bits, ignore_bits;
  int counter; /* 1 + number of the counter that each of its messages raises by one; 0: none */
} pm_carrier_entry;
/* What waits until a counter reaches a threshold: a message, or (cargo NULL) a change of a counter of the same node. */
typedef struct pm_carrier_trigger {
  int node, counter;  /* which counts */
  uint64_t threshold; /* for success and failure together */
  const pm_cargo *cargo;
  int target;  /* the counter that changes */
  bool is_set; /* to these values; else by them */
  ptl_ct_event_t value;
} pm_carrier_trigger;

/* What a carrier offers. Everything is called from the thread that runs the world. */
typedef struct pm_carrier {
  const char *name;
  void *ctx;
  /* Called by pm_world_create: platform, faults and seed are those of pm_world_desc_of(world). */
  pm_status (*open)(void *ctx, pm_world *world);
  void (*close)(void *ctx);
  /* Takes a message at time t_ps, not before the last advance(). The carrier copies the cargo. */
  pm_status (*submit)(void *ctx, int64_t t_ps, const pm_cargo *cargo);
  /* Lets time pass up to until_ps, at most to the end of the first step in which it called one of
     pm_cargo_sent, _match, _arrived or _returned. ret 1: it did, 0: until_ps is reached or nothing is
     under way */
  int (*advance)(void *ctx, int64_t until_ps);
  bool (*is_busy)(const void *ctx); /* time must pass through advance() */
  int64_t (*now_ps)(const void *ctx);
  /* Both or none. While messages are the carrier's: an entry is the last of its list from now on (with an
     op_id: is to be, or is searched for); ret its own number from 0 on, or -1: not kept, the model does it alone. An
     entry of that number is in its list no longer: is_by_message: the message of the present pm_cargo_match or
     _arrived took it. */
  int (*entry_linked)(void *ctx, int64_t t_ps, const pm_carrier_entry *entry);
  void (*entry_unlinked)(void *ctx, int64_t t_ps, int node, int number, bool is_by_message);
  /* All or none: counters and what waits for them, kept by the carrier too, so that what is released goes without
     the host. A counter's number, its value 0, or -1: it has no more; a counter ends. */
  int (*counter_new)(void *ctx, int64_t t_ps, int node);
  void (*counter_free)(void *ctx, int64_t t_ps, int node, int counter);
  /* The model's value, after each change: the carrier adds what it did not count by itself. */
  void (*counter_is)(void *ctx, int64_t t_ps, int node, int counter, ptl_ct_event_t value);
  /* A portal lets messages in, or does not: those that come meanwhile the carrier does not count for its entries. */
  void (*portal_is)(void *ctx, int64_t t_ps, int node, uint32_t pid, int interface_index,
                    ptl_pt_index_t pt_index, bool is_on);
  /* From 0 on: it waits there, and a message is sent from there, perhaps before the model knows that it is due;
     -1: the model does it. */
  int (*trigger_posted)(void *ctx, int64_t t_ps, const pm_carrier_trigger *trigger);
  /* In the model it is due now: before the counter that it changes is told of. */
  void (*trigger_due)(void *ctx, int64_t t_ps, int node, int number);
  /* All of the counter that are not due go. Messages of which the carrier has told nothing yet are over. */
  void (*triggers_cancelled)(void *ctx, int64_t t_ps, int node, int counter);
} pm_carrier;

/* What a carrier tells the model, from inside advance(), in this order for each message:
   payload: size_bytes from offset_bytes on of what is sent, as the initiator's memory is now;
   beyond the message zeros. Also from inside submit(). */
PM_API void pm_cargo_payload(const pm_cargo *cargo, uint64_t offset_bytes, void *buffer,
                             size_t size_bytes);
/* The initiator may write its buffer again: for tells_sent, once. */
PM_API void pm_cargo_sent(const pm_cargo *cargo);
/* GET, ATOMIC and FETCH are about to read the target's memory: matches, and fills size_bytes of data
   (zeros where nothing matched). Once. */
PM_API void pm_cargo_match(const pm_cargo *cargo, void *data);
/* The carrier's own number of the entry that took it, since pm_cargo_match or _arrived until _returned; -1: none did, one
   that the carrier does not keep, or one that left its list with it (entry_unlinked named that). */
PM_API int pm_cargo_entry(const pm_cargo *cargo);
/* ATOMIC and FETCH, once: the value that came out is to be stored. operand: as it was read from the initiator, was: as
   pm_cargo_match filled it; each of size_bytes. When something else changed the memory since then, the model computes again. */
PM_API void pm_cargo_store(const pm_cargo *cargo, const void *operand, const void *was,
                           const void *value);
/* The request is at the target: matched if it is not yet, data (of a PUT or EXCHANGE; else NULL)
   written, events and counters told. t_begin_ps, t_end_ps: first bit leaves, last is there. Of an
   EXCHANGE data is overwritten by what goes back. */
PM_API void pm_cargo_arrived(const pm_cargo *cargo, int64_t t_begin_ps, int64_t t_end_ps,
                             void *data);
/* The answer is at the initiator, with data of a GET, FETCH or EXCHANGE; or never will be
   (is_delivered 0). Ends the message. */
PM_API void pm_cargo_returned(const pm_cargo *cargo, bool is_delivered, int64_t t_begin_ps,
                              int64_t t_end_ps, void *data);
/* Beside messages: the append or search with that op_id (pm_carrier_entry) has taken place; an entry is in its list, or
   it has been used up by headers, as the carrier has it. The model may have it otherwise, and tells then. */
PM_API void pm_list_told(pm_world *world, uint64_t op_id);

#ifdef NBC_LINES
#line 1 "src/portals/nic.h"
#endif
/* The NIC: commands, payload, lanes, receiving. */



#ifdef NBC_LINES
#line 1 "src/portals/carrier.h"
#endif
/* Messages that a carrier moves, e.g. NICs in RTL. */


#ifdef NBC_LINES
#line 1 "src/portals/packet.h"
#endif
/* The packet level: messages cut into packets, switches with queues, credits, virtual channels and
   adaptive routing. Between the NICs it takes the place of wire and flows; the NICs are the same. */


#ifdef NBC_LINES
#line 1 "src/portals/lives.h"
#endif
/* Nodes that stand still, die and come back. */


#ifdef NBC_LINES
#line 1 "src/portals/windows.h"
#endif
/* Worlds over several threads of the host. */


#ifdef NBC_LINES
#line 1 "src/portals/msg.h"
#endif
/* Two-sided messages over Portals. */


/* ============================================================================================== */
/* [MSG] 9. Two-sided messages over Portals                                                       */
/* ============================================================================================== */
/* Send and receive for a process, made of Portals calls, the way MPI libraries do it: up to
   eager_bytes the data goes at once, into the buffer of a posted receive or an overflow block;
   longer messages announce themselves, and then, by pm_msg_desc.large:
     GET        the receiver fetches the data: one transfer, which the receiver's NIC drives alone
     PUT        the receiver tells where to, the sender puts the data: one transfer
                (one per max_msg_size, 64 MiB, that is as much as a Portals operation moves)
     PIPELINED  the announcement carries the first fragment; told where to, the sender puts the other
                fragments, so many at once: a transfer each
   Matching is by (peer, 64-bit tag) in posting order. Unexpected eager data beyond overflow_bytes *
   overflow_count is refused and its send fails.
   Who goes on with a message: the NIC alone with a matched eager put and with a fetch under way;
   everything else
     IN_CALLS   pm_msg_progress and pm_msg_wait of the process
     DEDICATED  a worker on a core of its own, which looks every cpu_poll_ns; the calls of the process
                only hand over and look whether it is done. Costs a core: see pm_msg_compute_ns
     TIMER      a worker which looks every worker_period_ns and takes the time for it (cpu_switch_ns
                and what it does) from the process's cores; waiting processes help
   With a worker, operations are handed over at no cost and posted by the worker. */
#define PM_MSG_ANY_PEER (-1)

typedef enum pm_msg_large { PM_MSG_GET = 0, PM_MSG_PUT, PM_MSG_PIPELINED } pm_msg_large;
typedef enum pm_msg_progress_by {
  PM_MSG_IN_CALLS = 0,
  PM_MSG_DEDICATED,
  PM_MSG_TIMER
} pm_msg_progress_by;

typedef struct pm_msg pm_msg; /* one per process */
typedef struct pm_msg_op pm_msg_op;
struct pm_msg_op {             /* the caller's, untouched until finished */
  void (*done)(pm_msg_op *op); /* called by progress; may be NULL, may post new operations; may not
                                  wait, nor let simulated time pass when there is a worker */
  void *user;
  /* results */
  int finished;
  pm_status status; /* PM_OK | PM_E_TRUNCATED | PM_E_PORTALS (refused, undeliverable) */
  int peer;
  uint64_t size_bytes;
  /* the layer's own */
  pm_msg_op *next, *prev;
  void *buffer;
  uint64_t limit_bytes, tag, number_id, fragment_bytes, rest_bytes, peer_number_id;
  ptl_process_t target_id;
  ptl_handle_any_t handle;
  uint32_t next_fragment, ack_count;
  bool is_send, is_shown, is_granted;
  int stage, wait_count, in_flight_count;
};
/* What an observer is told about a transfer of an operation: number index of count. */
typedef enum pm_msg_step {
  PM_MSG_BEGAN = 0, /* its data may be on the way from now on */
  PM_MSG_ENDED,     /* the layer knows that it has arrived, or may be overwritten */
  PM_MSG_CAME,      /* the same; the layer cannot say when it began: there was no BEGAN */
  PM_MSG_ON_WIRE    /* when it really was: t_begin_ns .. t_end_ns, which may lie in the future */
} pm_msg_step;
typedef struct pm_msg_transfer {
  pm_msg_op *op;
  pm_msg_step step;
  uint32_t index, count;
  uint64_t size_bytes;
  int64_t t_begin_ns, t_end_ns;
} pm_msg_transfer;

typedef struct pm_msg_desc {
  size_t eager_bytes;    /* 0 = 4096 */
  pm_msg_large large;    /* above that */
  size_t fragment_bytes; /* PIPELINED; 0 = 65536; at most overflow_bytes */
  int inflight_count;    /* PIPELINED: fragments of one message under way at once; 0 = 4 */
  pm_msg_progress_by by;
  int64_t worker_period_ns; /* TIMER; 0 = 2 ms. The first look comes at a random moment of it */
  size_t overflow_bytes;    /* of one block; 0 = 256 KiB */
  int overflow_count;       /* blocks; 0 = 4 */
  int pt_index;             /* this and the next one of the portal table are used; 0 = 240 */
  void (*observe)(void *user, const pm_msg_transfer *transfer);
  void *user;
} pm_msg_desc;

/* Inside a process; all processes of the world must open before one of them sends: ends with a
   pm_barrier. Calls PtlInit and opens a matching, physical interface. desc NULL = defaults; protocol
   and sizes must be the same everywhere. With observe, pm_on_stamp is taken.
   ret PM_OK | PM_E_INVAL (also: no second core for a dedicated worker) | PM_E_STATE | PM_E_NOMEM |
   PM_E_PORTALS */
PM_API pm_status pm_msg_open(const pm_msg_desc *desc, pm_msg **msg);
/* Operations still under way are forgotten. The process may only end after it. NULL allowed. */
PM_API void pm_msg_close(pm_msg *msg);
PM_API pm_msg_desc pm_msg_desc_of(const pm_msg *msg); /* the values in force */
/* op->done and op->user are set by the caller, the rest here. ret PM_OK | PM_E_INVAL | PM_E_PORTALS */
PM_API pm_status pm_msg_isend(pm_msg *msg, const void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op);
PM_API pm_status pm_msg_irecv(pm_msg *msg, void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op);
/* Handles all events there are; a look in vain costs cpu_poll_ns, growing when repeated. */
PM_API void pm_msg_progress(pm_msg *msg);
/* Handles events until op has finished, blocking in between; op NULL: until something happened.
   ret op->status */
PM_API pm_status pm_msg_wait(pm_msg *msg, pm_msg_op *op);
/* Withdraws a receive that nothing has matched yet. ret PM_OK | PM_E_STATE: it goes on */
PM_API pm_status pm_msg_cancel(pm_msg *msg, pm_msg_op *op);
/* In a done callback, or before posting: work that whoever handles the message has to do first, such as a
   reduction. The time passes before it posts or handles anything more. */
PM_API void pm_msg_work_ns(pm_msg *msg, int64_t d_ns);
/* Computes what takes so long on all N cores of the process (cores_per_node_count over the processes
   of the node): N/(N-1) times as long beside a dedicated worker; beside a timer's, longer by what the
   worker took from one of the cores, since the slowest core counts [R 4.1]. */
PM_API void pm_msg_compute_ns(pm_msg *msg, int64_t d_ns);
#ifdef NBC_LINES
#line 1 "src/portals/compute.h"
#endif
/* Compute time: kernel models with noise. */


/* ============================================================================================== */
/* [COMPUTE] 10. Compute time: kernel models with noise                                           */
/* ============================================================================================== */
/* The time of a matrix kernel of sizes m, n, k as a polynomial in seconds, and noise around it [D]:
     M-0  one_s alone         M-1  mnk_s (and one_s)         M-2  all five
     N-0  none                N-1  normal, sigma_ratio times the mean
     N-2  normal, its deviation a polynomial too: sigma_mnk_s ...
     N'   a mixture of normals: modes, times the mean; without any noise of the kernel's own, that of
          the platform
   Never below half the mean (of the mode). Per-host models are an array of these. dgemm of one published
   machine: mnk_s = 1.029e-11. */
typedef struct pm_kernel {
  double mnk_s, mn_s, mk_s, nk_s, one_s;
  double sigma_ratio;
  double sigma_mnk_s, sigma_mn_s, sigma_mk_s, sigma_nk_s, sigma_one_s;
  int mode_count; /* more than 0: N', instead of N-1 and N-2 */
  pm_mode modes[PM_MODES_MAX];
} pm_kernel;
/* Its time: the mean, or drawn from the world's generator. Not negative. */
PM_API double pm_kernel_mean_s(const pm_kernel *kernel, double m_count, double n_count,
                               double k_count);
PM_API double pm_kernel_draw_s(const pm_kernel *kernel, pm_world *world, double m_count,
                               double n_count, double k_count);
/* Inside a process: computes for so long. */
PM_API void pm_compute_kernel(const pm_kernel *kernel, double m_count, double n_count,
                              double k_count);
#ifdef NBC_LINES
#line 1 "src/portals/links.h"
#endif
/* How much each link of the network is used, over time: tables, tracks of a trace, a heat map. */



/* ============================================================================================== */
/* [LINKS] 11. Use of links over time: table, tracks, heat map                                    */
/* ============================================================================================== */
/* Kept with pm_world_desc.link_use, at the levels flow and packet (LogGP has no links, a carrier's are its
   own). Simulated time is cut into at most PM_LINK_BINS equal parts; when they are full, their length doubles:
   about 0.8 KB per directed link, however long the run. */
enum { PM_LINK_BINS = 64 };
typedef struct pm_link_bin {
  int64_t t_begin_ns, t_end_ns;
  /* bytes carried, headers included, of those that it could carry; above 1 at the flow level where short
     messages, which take their turn, go beside long ones */
  double use_ratio;
  double flow_count; /* long transfers that shared it, on average (flow level) */
  /* That waited in front of it, on average: packets; at the flow level short messages */
  double queue_bytes;
} pm_link_bin;
/* ret how many bins there are, 0 without link_use or of no link; writes at most max, none to NULL */
PM_API int pm_link_use(const pm_world *world, int link, pm_link_bin *bins, int max);
/* "node 3 up", "level 1: switch 2 port 0 up": writes the name.
   ret the tier that the link belongs to (links alike: one level of a tree in one direction, one dimension
   ...), from 0 on; -1: no such link */
PM_API int pm_link_name(const pm_world *world, int link, char *name, size_t name_bytes);
/* link,tier,name,t_begin_ns,t_end_ns,use_ratio,flow_count,queue_bytes; a line per part of time in which
   something was there. ret PM_OK | PM_E_IO | PM_E_STATE without link_use */
PM_API pm_status pm_links_write_csv(const pm_world *world, FILE *out);
/* One page that needs nothing else: the worst links with their use over time, and each tier with a cell per
   link, dark where it is used much; point at a cell to read its name.
   ret PM_OK | PM_E_IO | PM_E_NOMEM | PM_E_STATE without link_use */
PM_API pm_status pm_links_write_html(const pm_world *world, FILE *out);
#ifdef NBC_LINES
#line 1 "src/portals/api_end.h"
#endif
/* End of the API. */
#  ifdef __cplusplus
}
#  endif
#endif /* PORTALS_MODEL_H_INCLUDED */

#ifdef NBC_LINES
#line 1 "src/portals/nbc.h"
#endif
/* Adapter to nbc_overlap.h: the model as a transport and as a witness NIC. */



/* ============================================================================================== */
/* [NBC] 12. Adapter to nbc_overlap.h: the model as a transport and as a witness NIC              */
/* ============================================================================================== */
/* Opened by PM_WITH_NBC, with a guard of its own so that it does not matter which header came first. */
#if defined(PM_WITH_NBC) && !defined(PM_WITH_NBC_INCLUDED)
#  define PM_WITH_NBC_INCLUDED
#  ifndef NBC_OVERLAP_H_INCLUDED
#    error "portals_model.h: PM_WITH_NBC needs nbc_overlap.h: include it before"
#  endif
#  ifdef __cplusplus
extern "C" {
#  endif
/* One endpoint per simulated process. The transport is pm_msg_isend and friends: no progress outside
   of calls, but the simulated NIC moves posted data alone. With a recorder in the transport, transfers
   are recorded, and the NIC of the same endpoint tells when their bytes really were on the wire: of
   every send, and of what a receive asked for (not eager data, not the first fragment). Its clock counts simulated nanoseconds. */
typedef struct pm_nbc pm_nbc;
typedef struct pm_nbc_desc {
  pm_msg_desc msg;    /* observe and user are the adapter's own */
  size_t stamp_count; /* kept until they are asked for; 0 = 4096; more are lost and counted */
} pm_nbc_desc;
/* Inside a process; all processes of the world, as pm_msg_open. desc NULL = defaults.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_STATE */
PM_API nbc_status pm_nbc_create(const pm_nbc_desc *desc, pm_nbc **endpoint);
PM_API void pm_nbc_destroy(pm_nbc *endpoint); /* NULL allowed */
PM_API nbc_transport *pm_nbc_transport(pm_nbc *endpoint);
PM_API pm_msg *pm_nbc_msg(pm_nbc *endpoint); /* for pm_msg_compute_ns */
PM_API const nbc_nic *pm_nbc_nic(pm_nbc *endpoint);
/* For nbc_monitor_desc.clock and whatever else takes one: simulated time of the running process. */
PM_API nbc_status pm_nbc_clock(nbc_clock *clock);
/* For nbc_nic_watch_desc.relation: this NIC's clock is host time itself, not a crystal of its own. */
PM_API nbc_relation_desc pm_nbc_relation(void);
#  ifdef __cplusplus
}
#  endif
#endif /* PM_WITH_NBC_INCLUDED */
#ifdef NBC_LINES
#line 1 "src/portals/code_begin.h"
#endif
/* ---------------------------------------------------------------------------------------------- */
#if defined(PORTALS_MODEL_IMPLEMENTATION) && !defined(PORTALS_MODEL_IMPLEMENTATION_ONCE)
#  define PORTALS_MODEL_IMPLEMENTATION_ONCE
#ifdef NBC_LINES
#line 5 "src/base/private.h"
#endif
#ifndef NBC__PRIVATE
#  if defined(NBC_PIECES)
#    define NBC__PRIVATE __attribute__((visibility("hidden")))
#  elif defined(__GNUC__)
#    define NBC__PRIVATE __attribute__((unused)) static
#  else
#    define NBC__PRIVATE static
#  endif
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef NBC_LINES
#line 44 "src/portals/options.h"
#endif

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if !defined(MAP_ANONYMOUS) || !defined(CLOCK_MONOTONIC)
#  error                                                                                           \
      "portals_model.h: mmap or clock_gettime is hidden; compile the implementing file with -D_GNU_SOURCE or -std=gnu11"
#endif
#if defined(__SANITIZE_ADDRESS__)
#  define PM__ASAN 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define PM__ASAN 1
#  endif
#endif
#if defined(__SANITIZE_THREAD__)
#  define PM__TSAN 1
#elif defined(__has_feature)
#  if __has_feature(thread_sanitizer)
#    define PM__TSAN 1
#  endif
#endif
#ifdef PM__TSAN
#  include <sanitizer/tsan_interface.h>
#endif
#ifdef PM__ASAN
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif
#if !defined(PM_USE_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#  define PM_USE_UCONTEXT 1
#endif
#ifdef PM_USE_UCONTEXT
#  include <ucontext.h>
#endif
#ifdef PM_WITH_VALGRIND
#  include <valgrind/valgrind.h>
#endif

#if defined(PM_MALLOC) != defined(PM_FREE) || defined(PM_MALLOC) != defined(PM_REALLOC)
#  error "portals_model.h: define all of PM_MALLOC, PM_REALLOC and PM_FREE or none"
#endif
#ifndef PM_MALLOC
#  define PM_MALLOC(size)       malloc(size)
#  define PM_REALLOC(ptr, size) realloc(ptr, size)
#  define PM_FREE(ptr)          free(ptr)
#endif
#ifndef PM_ASSERT
#  define PM_ASSERT(condition) ((void)0)
#endif
#ifndef PM_HOST_CPU_NS
static inline int64_t pm__host_cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
#  define PM_HOST_CPU_NS() pm__host_cpu_ns()
#endif

/* Private functions that several pieces use: static in the single header, hidden in a library made of
   pieces. */
#ifdef NBC_PIECES
#  define PM__PRIVATE __attribute__((visibility("hidden")))
#else
#  define PM__PRIVATE static
#endif
/* Of what is rare in a function that is called for every event: a call that is not made needs no registers
   to be saved, code that was merged in does. */
#define PM__APART __attribute__((noinline))
/* And the other way round: small functions that every message goes through. At -O2 compilers leave most of them as
   calls, which takes a message a tenth of its instructions. */
#define PM__INLINE_HERE __attribute__((always_inline)) static inline
#ifdef NBC_PIECES
#  define PM__INLINE PM__PRIVATE
#else
#  define PM__INLINE PM__INLINE_HERE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ============================================================================================== */
/* [CONFIG] 1. Options: what every section shares                                                 */
/* ============================================================================================== */
#define PM__PS      1000 /* per ns */
#define PM__FOREVER INT64_MAX
/* Simulated time ends here, after 104 days; what the platform's constants may add fits in behind. */
#define PM__END (INT64_MAX - 200000000000000000)
PM__PRIVATE int pm__grow(void **array, int *max, int want, size_t item_bytes);
PM__PRIVATE void *pm__zalloc(size_t bytes);
/* Zeroed, from the beginning of a line of the cache on: what is laid out in lines has to begin with one. */
enum { PM__LINE = 64, PM__LARGE_PAGE = 1 << 21 };
PM__PRIVATE void pm__in_large_pages(void *at, size_t bytes); /* from its whole large pages on */
PM__PRIVATE void *pm__lines_alloc(size_t bytes);
PM__PRIVATE void pm__lines_free(void *lines);
#ifdef NBC_LINES
#line 1 "src/portals/options.c"
#endif

/* Grows *array to hold at least want items; 0 when out of memory. */
PM__PRIVATE int pm__grow(void **array, int *max, int want, size_t item_bytes) {
  int next = *max ? *max : 8;
  void *p;
  if (want <= *max) return 1;
  while (next < want) next *= 2;
  p = PM_REALLOC(*array, (size_t)next * item_bytes);
  if (!p) return 0;
  *array = p;
  *max = next;
  return 1;
}
PM__PRIVATE void *pm__zalloc(size_t bytes) {
  void *p = PM_MALLOC(bytes ? bytes : 1);
  if (p) memset(p, 0, bytes);
  return p;
}
/* Where a host offers pages of megabytes to who asks: what thousands of processes are made of lies in more pages of
   4 KB than a processor knows by heart. */
PM__PRIVATE void pm__in_large_pages(void *at, size_t bytes) {
#ifdef MADV_HUGEPAGE
  char *const first = (char *)at + (0 - (uintptr_t)at) % PM__LARGE_PAGE;
  const size_t before = (size_t)(first - (char *)at);
  if (bytes >= before + PM__LARGE_PAGE)
    (void)madvise(first, (bytes - before) / PM__LARGE_PAGE * PM__LARGE_PAGE, MADV_HUGEPAGE);
#else
  (void)at, (void)bytes;
#endif
}
/* The address that the allocator gave stands right before what is handed out. */
PM__PRIVATE void *pm__lines_alloc(size_t bytes) {
  char *const p = (char *)PM_MALLOC(bytes + PM__LINE + sizeof(void *)), *at;
  if (!p) return NULL;
  pm__in_large_pages(p, bytes);
  at = p + sizeof(void *);
  at += (0 - (uintptr_t)at) % PM__LINE;
  ((void **)(void *)at)[-1] = p;
  memset(at, 0, bytes);
  return at;
}
PM__PRIVATE void pm__lines_free(void *lines) {
  if (lines) PM_FREE(((void **)lines)[-1]);
}
#ifdef NBC_LINES
#line 4 "src/base/sums.h"
#endif
#ifndef NBC__BASE_SUMS_H
#  define NBC__BASE_SUMS_H


NBC__PRIVATE void nbc__plus(int64_t *sum, int64_t value);
NBC__PRIVATE int64_t nbc__later(int64_t t_ns, int64_t d_ns);
NBC__PRIVATE int nbc__bits(uint64_t n);
NBC__PRIVATE size_t nbc__pow2(size_t value, size_t otherwise);
NBC__PRIVATE uint64_t nbc__random(uint64_t *state);
#endif /* NBC__BASE_SUMS_H */
#ifdef NBC_LINES
#line 1 "src/base/sums.c"
#endif
/* sums.c: sums that stop at the largest value, powers of two, random numbers. */
#ifndef NBC__BASE_SUMS_C
#define NBC__BASE_SUMS_C


/* Sums that stop at the largest value: what is added may come from an untrusted file. */
NBC__PRIVATE void nbc__plus(int64_t *sum, int64_t value) { /* value >= 0 */
  if (__builtin_add_overflow(*sum, value, sum)) *sum = INT64_MAX;
}

/* The same for times, d_ns >= 0. */
NBC__PRIVATE int64_t nbc__later(int64_t t_ns, int64_t d_ns) {
  return t_ns > INT64_MAX - d_ns ? INT64_MAX : t_ns + d_ns;
}

/* How many bits n takes: 0 for 0. */
NBC__PRIVATE int nbc__bits(uint64_t n) {
#ifdef __GNUC__
  return n ? 64 - __builtin_clzll(n) : 0;
#else
  int bits = 0;
  for (; n; n >>= 1) bits++;
  return bits;
#endif
}

/* The power of two, 16 to 2^30, that is at least value; value 0: otherwise. */
NBC__PRIVATE size_t nbc__pow2(size_t value, size_t otherwise) {
  size_t p = 16;
  if (value == 0) value = otherwise;
  while (p < value && p < ((size_t)1 << 30)) p *= 2;
  return p;
}

/* splitmix64: the next of a row of random numbers; *state names the row and may be anything. */
NBC__PRIVATE uint64_t nbc__random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}
#endif /* NBC__BASE_SUMS_C */
#ifdef NBC_LINES
#line 4 "src/base/text.h"
#endif
#ifndef NBC__BASE_TEXT_H
#  define NBC__BASE_TEXT_H


NBC__PRIVATE const char *nbc__text_word(const char *at, const char *end, char *out,
                                        size_t out_bytes);
NBC__PRIVATE const char *nbc__text_whole(const char *at, const char *end, uint64_t *value);
NBC__PRIVATE const char *nbc__text_number(const char *at, const char *end, double *value);
NBC__PRIVATE const char *nbc__text_blank(const char *at, const char *end);
NBC__PRIVATE bool nbc__text_read_whole(const char **at, uint64_t *value);
NBC__PRIVATE void nbc__text_skip_blanks(const char **at);
NBC__PRIVATE void nbc__text_read_word(const char **at, char word[32]);
#endif /* NBC__BASE_TEXT_H */
#ifdef NBC_LINES
#line 1 "src/base/text.c"
#endif
/* text.c: numbers and words in text, whatever the locale says. */
#ifndef NBC__BASE_TEXT_C
#define NBC__BASE_TEXT_C


/* A word of the line, made printable and short for a message. */
NBC__PRIVATE const char *nbc__text_word(const char *at, const char *end, char *out,
                                        size_t out_bytes) {
  size_t n = 0;
  for (; at < end && n + 1 < out_bytes && *at != ' ' && *at != '\t'; at++)
    out[n++] = *at > 31 && *at < 127 ? *at : '?';
  out[n] = 0;
  return out;
}

/* Decimal digits that fit uint64_t. Returns the end of them; NULL when none or too many. */
NBC__PRIVATE const char *nbc__text_whole(const char *at, const char *end, uint64_t *value) {
  const char *start = at;
  *value = 0;
  for (; at < end && *at >= '0' && *at <= '9'; at++) {
    const uint64_t digit = (uint64_t)(*at - '0');
    if (*value > (UINT64_MAX - digit) / 10) return NULL;
    *value = *value * 10 + digit;
  }
  return at > start ? at : NULL;
}

/* [digits][.digits][e[+-]digits]: no sign, no inf, no nan, no hexadecimal. Digits beyond the 18th
   only move the exponent. Rounded as strtod rounds, which sees no decimal point and so needs no locale.
   Returns the end, NULL when there is no number. */
NBC__PRIVATE const char *nbc__text_number(const char *at, const char *end, double *value) {
  uint64_t mantissa = 0, exponent = 0;
  int scale = 0, digits = 0;
  bool point = false, minus = false;
  char plain[48];
  for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    digits++;
    if (mantissa < 100000000000000000u)
      mantissa = mantissa * 10 + (uint64_t)(*at - '0'), scale -= point;
    else
      scale += !point;
  }
  if (digits == 0) return NULL;
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '-' || *at == '+')) minus = *at++ == '-';
    at = nbc__text_whole(at, end, &exponent);
    if (!at) return NULL;
  }
  if (exponent > 100000) exponent = 100000;
  snprintf(plain, sizeof plain, "%llue%ld", (unsigned long long)mantissa,
           (long)scale + (minus ? -(long)exponent : (long)exponent));
  *value = strtod(plain, NULL);
  return at;
}

NBC__PRIVATE const char *nbc__text_blank(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  return at;
}

NBC__PRIVATE bool nbc__text_read_whole(const char **at, uint64_t *value) {
  *value = 0;
  if (**at < '0' || **at > '9') return false;
  for (; **at >= '0' && **at <= '9'; (*at)++) {
    if (*value > (UINT64_MAX - 9) / 10) return false;
    *value = *value * 10 + (uint64_t)(**at - '0');
  }
  return true;
}

NBC__PRIVATE void nbc__text_skip_blanks(const char **at) {
  while (**at == ' ' || **at == '\t' || **at == '\r') (*at)++;
}

NBC__PRIVATE void nbc__text_read_word(const char **at, char word[32]) {
  size_t n = 0;
  nbc__text_skip_blanks(at);
  while (**at && !strchr(" \t\r#", **at) && n < 31) word[n++] = *(*at)++;
  word[n] = 0;
}
#endif /* NBC__BASE_TEXT_C */
#ifdef NBC_LINES
#line 4 "src/base/locale.h"
#endif
#ifndef NBC__BASE_LOCALE_H
#  define NBC__BASE_LOCALE_H

#  include <locale.h>

NBC__PRIVATE locale_t nbc__locale_begin(void);
NBC__PRIVATE void nbc__locale_end(locale_t before);
#endif /* NBC__BASE_LOCALE_H */
#ifdef NBC_LINES
#line 1 "src/base/locale.c"
#endif
/* locale.c: numbers with a point, also in a program that has set a locale with a comma. */
#ifndef NBC__BASE_LOCALE_C
#define NBC__BASE_LOCALE_C


/* From here to nbc__locale_end, what this thread prints and scans is as in the locale "C"; other threads
   see nothing of it. glibc keeps that locale ready and takes no memory for it; where there were none,
   numbers would stay as the program wants them. */
NBC__PRIVATE locale_t nbc__locale_begin(void) {
  return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

NBC__PRIVATE void nbc__locale_end(locale_t before) {
  const locale_t plain = uselocale(before);
  if (plain != before && plain != LC_GLOBAL_LOCALE) freelocale(plain);
}
#endif /* NBC__BASE_LOCALE_C */
#ifdef NBC_LINES
#line 1 "src/portals/status.c"
#endif

/* ============================================================================================== */
/* [STATUS] 2. Status codes of the pm_ functions                                                  */
/* ============================================================================================== */
PM_API const char *pm_status_name(pm_status status) {
  switch (status) {
#define PM__X(name, value, text)                                                                   \
  case name: return #name;
    PM_STATUS_LIST(PM__X)
#undef PM__X
  case PM_STATUS_FORCE_INT32: break;
  }
  return "PM_?";
}
PM_API const char *pm_status_text(pm_status status) {
  switch (status) {
#define PM__X(name, value, text)                                                                   \
  case name: return text;
    PM_STATUS_LIST(PM__X)
#undef PM__X
  case PM_STATUS_FORCE_INT32: break;
  }
  return "unknown status";
}
PM_API int pm_version(void) { return PM_VERSION; }
#ifdef NBC_LINES
#line 223 "src/portals/platform.h"
#endif
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
#ifdef NBC_LINES
#line 1 "src/portals/platform.c"
#endif

/* ============================================================================================== */
/* [PLATFORM] 3. The machine: constants, text format, routes                                      */
/* ============================================================================================== */
static pm_status pm__platform_error(char *error, size_t error_bytes, const char *format, ...) {
  va_list args;
  if (error && error_bytes) {
    va_start(args, format);
    vsnprintf(error, error_bytes, format, args);
    va_end(args);
  }
  return PM_E_PLATFORM;
}

PM_API pm_platform pm_platform_bxi2(int node_count) {
  pm_platform p;
  memset(&p, 0, sizeof p);
  strcpy(p.name, "bxi2");
#define PM__X(name, value, text) p.name = value;
  PM_PLATFORM_INT_LIST(PM__X)
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  p.node_count = node_count;
  return p;
}

static const char *const pm__topology_names[] = {"crossbar", "fattree", "torus", "dragonfly",
                                                 "file"};

/* The whole word, whatever the locale says. 0: it is no number. */
static int pm__read_real(const char *word, double *value) {
  const char *end = word + strlen(word);
  return nbc__text_number(word, end, value) == end;
}
/* The name in force of a key that files written before version 0.2 spell in the plural. */
static const char *pm__platform_key(const char *key) {
  static const char *const names[][2] = {{"nodes_count", "node_count"},
                                         {"nic_engines_count", "nic_engine_count"},
                                         {"e2e_entries_count", "e2e_entry_count"},
                                         {"e2e_retries_count", "e2e_retry_count"}};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(key, names[i][0]) == 0) return names[i][1];
  return key;
}
/* WEIGHT MEAN_RATIO SIGMA_RATIO, one mode more. NULL, or what is wrong. */
static const char *pm__platform_mode(char **word, pm_mode *modes, int *count) {
  static const char *const bad[] = {"WEIGHT: not a positive number up to 1e6",
                                    "MEAN_RATIO: not a positive number up to 1e6",
                                    "SIGMA_RATIO: not a number from 0 to 1e6"};
  double v[3];
  int i;
  if (*count == PM_MODES_MAX) return "more than 4 modes";
  for (i = 0; i < 3; i++)
    if (!pm__read_real(word[i], &v[i]) || !(v[i] >= 0) || v[i] > 1e6 || (i < 2 && v[i] <= 0))
      return bad[i];
  modes[*count].weight_ratio = v[0];
  modes[*count].mean_ratio = v[1];
  modes[(*count)++].sigma_ratio = v[2];
  return NULL;
}
static const char *pm__platform_loggp(pm_platform *p, char **word, int words) {
  static const char *const bad_whole[] = {"FROM_BYTES: not a whole number of bytes from 0 to 1e12",
                                          "L_NS: not a whole number of ns within 1e12",
                                          "O_NS: not a whole number of ns from 0 to 1e12",
                                          "GAP_NS: not a whole number of ns from 0 to 1e12"};
  pm_loggp_range r;
  int64_t whole[4];
  const char *bad = NULL;
  char *end;
  int i;
  memset(&r, 0, sizeof r);
  if (words < 7 || (words - 7) % 3)
    return "FROM_BYTES L_NS O_NS GAP_NS NS_PER_BYTE GAP_NS_PER_BYTE and threes expected";
  if (p->loggp_range_count == PM_LOGGP_RANGES_MAX) return "more than 16 ranges";
  for (i = 0; i < 4; i++) {
    whole[i] = strtoll(word[i + 1], &end, 10);
    if (*end || whole[i] < (i == 1 ? -1000000000000 : 0) || whole[i] > 1000000000000)
      return bad_whole[i];
  }
  r.first_bytes = whole[0];
  r.latency_ns = whole[1];
  r.overhead_ns = whole[2];
  r.gap_ns = whole[3];
  if (!pm__read_real(word[5], &r.ns_per_byte) || !(r.ns_per_byte >= 0) || r.ns_per_byte > 1e9)
    return "NS_PER_BYTE: not a number from 0 to 1e9";
  if (!pm__read_real(word[6], &r.gap_ns_per_byte) || !(r.gap_ns_per_byte >= 0) ||
      r.gap_ns_per_byte > 1e9)
    return "GAP_NS_PER_BYTE: not a number from 0 to 1e9";
  if (p->loggp_range_count > 0 &&
      r.first_bytes <= p->loggp_range[p->loggp_range_count - 1].first_bytes)
    return "FROM_BYTES: sizes must ascend";
  for (i = 7; i < words && !bad; i += 3) bad = pm__platform_mode(word + i, r.noise, &r.noise_count);
  if (!bad) p->loggp_range[p->loggp_range_count++] = r;
  return bad;
}
/* ret the node's number, -1: none of that name */
static int pm__node_named(const char *name) {
  char *end;
  long number;
  if (name[0] != 'h' || !isdigit((unsigned char)name[1])) return -1;
  number = strtol(name + 1, &end, 10);
  return *end || number > PM__LINKS_MAX ? -1 : (int)number;
}
static const char *pm__platform_way(pm_platform *p, char **word, int words, int *ways_max) {
  void *array = (void *)(uintptr_t)p->ways;
  pm_way way;
  int *cable, i;
  if (words < 4) return "way FROM TO CABLE... expected";
  way.from_node = pm__node_named(word[1]);
  way.to_node = pm__node_named(word[2]);
  way.cable_count = words - 3;
  if (way.from_node < 0 || way.to_node < 0) return "it leads from node to node, h0 ...";
  if (!pm__grow(&array, ways_max, (int)p->way_count + 1, sizeof way)) return "out of memory";
  p->ways = (const pm_way *)array;
  way.cable = cable = (int *)PM_MALLOC((size_t)way.cable_count * sizeof(int));
  if (!cable) return "out of memory";
  ((pm_way *)array)[p->way_count++] = way;
  for (i = 0; i < way.cable_count; i++) {
    char *end;
    const long number = strtol(word[3 + i], &end, 10);
    if (*end || number < 1 || number > PM__LINKS_MAX) return "not the number of a cable, from 1 on";
    cable[i] = (int)number;
  }
  return NULL;
}
/* How much room there is for what may stand in any number of lines. */
typedef struct pm__lines_room {
  int links, ways;
} pm__lines_room;
/* One line of a platform, already split in words. */
static const char *pm__platform_line(pm_platform *p, char **word, int words, pm__lines_room *room) {
  const char *key = pm__platform_key(word[0]);
  char *end;
  int i;
  if (words < 2) return "key without value";
#define PM__X(field, value, text)                                                                  \
  if (strcmp(key, #field) == 0) {                                                                  \
    if (words != 2) return "one value expected";                                                   \
    errno = 0;                                                                                     \
    p->field = strtoll(word[1], &end, 10);                                                         \
    return *end || errno ? "not a whole number" : NULL;                                            \
  }
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(field, value, text)                                                                  \
  if (strcmp(key, #field) == 0) {                                                                  \
    if (words != 2) return "one value expected";                                                   \
    return pm__read_real(word[1], &p->field) && p->field > 0 && p->field <= 1e18                   \
               ? NULL                                                                              \
               : "not a positive number";                                                          \
  }
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  if (strcmp(word[0], "name") == 0) {
    if (strlen(word[1]) >= sizeof p->name) return "name too long";
    snprintf(p->name, sizeof p->name, "%s", word[1]);
    return NULL;
  }
  if (strcmp(word[0], "topology") == 0) {
    if (words != 2) return "one name expected";
    for (i = 0; i < 5; i++)
      if (strcmp(word[1], pm__topology_names[i]) == 0) {
        p->topology = (pm_topology_kind)i;
        return NULL;
      }
    return "unknown topology";
  }
  if (strcmp(word[0], "topo") == 0) {
    if (words - 1 > 16) return "more than 16 numbers";
    memset(p->topo, 0, sizeof p->topo);
    for (i = 1; i < words; i++) {
      p->topo[i - 1] = strtoll(word[i], &end, 10);
      if (*end || p->topo[i - 1] < 1 || p->topo[i - 1] > 1000000)
        return "topo: numbers of 1 ... 1000000 expected";
    }
    return NULL;
  }
  if (strcmp(word[0], "link") == 0) {
    pm_link l;
    void *array = (void *)(uintptr_t)p->links;
    if (words < 5 || words > 6)
      return "link FROM TO BYTES_PER_S LATENCY_NS [shared|fatpipe] expected";
    memset(&l, 0, sizeof l);
    if (words == 6 && strcmp(word[5], "shared") == 0)
      l.sharing = PM_LINK_SHARED;
    else if (words == 6 && strcmp(word[5], "fatpipe") == 0)
      l.sharing = PM_LINK_FATPIPE;
    else if (words == 6)
      return "link: shared or fatpipe expected at its end";
    if (strlen(word[1]) >= sizeof l.from || strlen(word[2]) >= sizeof l.to) return "name too long";
    strcpy(l.from, word[1]);
    strcpy(l.to, word[2]);
    if (!pm__read_real(word[3], &l.bytes_per_s) || !(l.bytes_per_s > 0) || l.bytes_per_s > 1e18)
      return "not a positive bandwidth";
    l.latency_ns = strtoll(word[4], &end, 10);
    if (*end || l.latency_ns < 0 || l.latency_ns > 1000000000000) return "not a latency";
    if (!pm__grow(&array, &room->links, (int)p->link_count + 1, sizeof l)) return "out of memory";
    ((pm_link *)array)[p->link_count++] = l;
    p->links = (const pm_link *)array;
    return NULL;
  }
  if (strcmp(word[0], "way") == 0) return pm__platform_way(p, word, words, &room->ways);
  if (strcmp(word[0], "noise") == 0) {
    if (words != 4) return "noise WEIGHT MEAN_RATIO SIGMA_RATIO expected";
    return pm__platform_mode(word + 1, p->noise, &p->noise_count);
  }
  if (strcmp(word[0], "loggp_range") == 0) return pm__platform_loggp(p, word, words);
  return "unknown key";
}

static bool pm__loggp_range_is_bad(const pm_platform *p, int i) {
  const pm_loggp_range *r = &p->loggp_range[i];
  const int64_t whole[] = {r->first_bytes, r->latency_ns, r->overhead_ns, r->gap_ns};
  int k;
  for (k = 0; k < 4; k++)
    if (whole[k] < (k == 1 ? -1000000000000 : 0) || whole[k] > 1000000000000) return true;
  if (i > 0 && r->first_bytes <= p->loggp_range[i - 1].first_bytes) return true;
  if (!(r->ns_per_byte >= 0) || r->ns_per_byte > 1e9 || !(r->gap_ns_per_byte >= 0) ||
      r->gap_ns_per_byte > 1e9 || r->noise_count < 0 || r->noise_count > PM_MODES_MAX)
    return true;
  for (k = 0; k < r->noise_count; k++)
    if (!(r->noise[k].weight_ratio > 0) || !(r->noise[k].mean_ratio > 0) ||
        !(r->noise[k].sigma_ratio >= 0) || r->noise[k].weight_ratio > 1e6 ||
        r->noise[k].mean_ratio > 1e6 || r->noise[k].sigma_ratio > 1e6)
      return true;
  return false;
}
/* One that is neither 0 nor 1, by name */
static const char *pm__platform_switch(const pm_platform *p) {
  const struct {
    const char *name;
    int64_t value;
  } switches[] = {
      {"cores_are_shared", p->cores_are_shared}, {"pio_needs_volatile", p->pio_needs_volatile},
      {"pio_is_posted", p->pio_is_posted},       {"quick_ack", p->quick_ack},
      {"ack_after_write", p->ack_after_write},   {"dma_ahead", p->dma_ahead},
      {"no_pci_commands", p->no_pci_commands},   {"no_pci", p->no_pci},
      {"pci_half_duplex", p->pci_half_duplex},   {"intra_uses_nic", p->intra_uses_nic}};
  size_t i;
  for (i = 0; i < sizeof switches / sizeof *switches; i++)
    if (switches[i].value != 0 && switches[i].value != 1) return switches[i].name;
  return NULL;
}
/* Smallest and largest legal value of a whole number, by name: zero is physical for times only. */
static const char *pm__platform_range(const pm_platform *p) {
  const int64_t at_least_1[] = {
      p->node_count,        p->procs_per_node_count, p->cores_per_node_count, p->pci_packet_bytes,
      p->link_packet_bytes, p->command_queue_count,  p->nic_engine_count,     p->e2e_entry_count,
      p->cpu_poll_ns,       p->packet_bytes,         p->packet_output_bytes,  p->packet_input_bytes,
      p->nic_count,         p->pci_root_count};
  const char *const names[] = {"node_count",       "procs_per_node_count", "cores_per_node_count",
                               "pci_packet_bytes", "link_packet_bytes",    "command_queue_count",
                               "nic_engine_count", "e2e_entry_count",      "cpu_poll_ns",
                               "packet_bytes",     "packet_output_bytes",  "packet_input_bytes",
                               "nic_count",        "pci_root_count"};
  size_t i;
  for (i = 0; i < sizeof at_least_1 / sizeof *at_least_1; i++)
    if (at_least_1[i] < 1) return names[i];
  if (p->nic_engine_count > PM__ENGINES_MAX) return "nic_engine_count";
  if (p->nic_count > PM__NICS_MAX) return "nic_count";
  if (p->pci_root_count > PM__NICS_MAX) return "pci_root_count";
  if (p->loggp_range_count < 0 || p->loggp_range_count > PM_LOGGP_RANGES_MAX)
    return "loggp_range_count";
  for (i = 0; i < (size_t)p->loggp_range_count; i++)
    if (pm__loggp_range_is_bad(p, (int)i)) return "loggp_range";
  if (p->noise_count < 0 || p->noise_count > PM_MODES_MAX) return "noise_count";
  if (p->node_count > 4000000) return "node_count";
  if (p->link_count < 0 || p->link_count > PM__LINKS_MAX / 2) return "link_count";
  if (p->way_count < 0 || p->way_count > PM__WAYS_MAX) return "way_count";
  if (p->procs_per_node_count > 65535) return "procs_per_node_count";
  if (p->early_send_bytes > PM__COPY_BYTES) return "early_send_bytes";
  if (p->command_queue_count > 65536 || p->nic_pipeline_count > 65536) return "command_queue_count";
  if (p->e2e_retry_ns > 1000000000000) return "e2e_retry_ns";
  if (p->packet_bytes > 1000000000) return "packet_bytes";
  if (p->packet_routing > 2) return "packet_routing";
#define PM__X(name, value, text)                                                                   \
  if (p->name < 0 || p->name > 1000000000000) return #name;
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(name, value, text)                                                                   \
  if (!(p->name > 0) || p->name > 1e18) return #name;
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  return NULL;
}

enum { PM__WORDS_MAX = PM__ROUTE_MAX + 4 }; /* those of a way, and one more */
/* The words of the next line. ret their number; -1: it is too long */
static int pm__platform_words(const char *text, size_t size_bytes, size_t *at, char line[512],
                              char *word[PM__WORDS_MAX]) {
  int words = 0, n = 0;
  char *s;
  for (; *at < size_bytes && text[*at] != '\n'; (*at)++) {
    if (n == 511) return -1;
    line[n++] = text[*at] ? text[*at] : '?';
  }
  ++*at;
  line[n] = 0;
  if ((s = strchr(line, '#')) != NULL) *s = 0;
  for (s = line; *s && words < PM__WORDS_MAX;) {
    while (isspace((unsigned char)*s)) s++;
    if (*s) word[words++] = s;
    while (*s && !isspace((unsigned char)*s)) s++;
    if (*s) *s++ = 0;
  }
  return words;
}
/* Keys that stand once in a file. */
#define PM__X(field, value, text) #field,
static const char *const pm__platform_once[] = {
    "name", "topology", "topo", PM_PLATFORM_INT_LIST(PM__X) PM_PLATFORM_REAL_LIST(PM__X)};
#undef PM__X
enum { PM__SAID_TOPO = 2, PM__SAID_COUNT = sizeof pm__platform_once / sizeof *pm__platform_once };
typedef struct pm__said {
  int line[PM__SAID_COUNT], of_file; /* where; 0: nowhere. of_file: a link or a way */
} pm__said;
/* ret 0, or the line that has said this key before */
static int pm__platform_say(pm__said *said, const char *key, int line_number) {
  int i = 0, before;
  if (strcmp(key, "link") == 0 || strcmp(key, "way") == 0) {
    if (!said->of_file) said->of_file = line_number;
    return 0;
  }
  key = pm__platform_key(key);
  while (i < PM__SAID_COUNT && strcmp(key, pm__platform_once[i]) != 0) i++;
  if (i == PM__SAID_COUNT) return 0;
  before = said->line[i];
  said->line[i] = line_number;
  return before;
}
/* What another topology takes would be passed over without a word. */
static pm_status pm__platform_takes(const pm_platform *p, const pm__said *said, char *error,
                                    size_t error_bytes) {
  const char *const name = pm__topology_names[p->topology];
  const int topo = said->line[PM__SAID_TOPO];
  if (said->of_file && p->topology != PM_TOPO_FILE)
    return pm__platform_error(error, error_bytes,
                              "line %d: %s: of topology file alone, this one is %s", said->of_file,
                              p->link_count ? "link" : "way", name);
  if (topo && (p->topology == PM_TOPO_FILE || p->topology == PM_TOPO_CROSSBAR))
    return pm__platform_error(error, error_bytes, "line %d: topo: topology %s takes no numbers",
                              topo, name);
  return PM_OK;
}
/* said: NULL, or of a file */
static pm_status pm__platform_lines(const char *text, size_t size_bytes, pm_platform *p,
                                    pm__said *said, char *error, size_t error_bytes) {
  size_t at = 0;
  pm__lines_room room = {0, 0};
  int line_number = 0;
  while (at < size_bytes) {
    char line[512], *word[PM__WORDS_MAX];
    const int words = pm__platform_words(text, size_bytes, &at, line, word);
    const char *bad;
    int before;
    line_number++;
    if (words < 0)
      return pm__platform_error(error, error_bytes, "line %d: longer than 510 characters",
                                line_number);
    if (!words) continue;
    bad = pm__platform_line(p, word, words, &room);
    if (!bad) bad = pm__platform_switch(p) ? "0 or 1 expected" : NULL;
    if (!bad) bad = pm__platform_range(p) ? "value out of range" : NULL;
    if (bad)
      return pm__platform_error(error, error_bytes, "line %d: %s: %s", line_number, word[0], bad);
    before = said ? pm__platform_say(said, word[0], line_number) : 0;
    if (before)
      return pm__platform_error(error, error_bytes, "line %d: %s: line %d has said it already",
                                line_number, word[0], before);
  }
  return said ? pm__platform_takes(p, said, error, error_bytes) : PM_OK;
}
static pm_status pm__platform_read(const char *text, size_t size_bytes, pm_platform *platform,
                                   pm__said *said, char *error, size_t error_bytes) {
  pm_platform p = pm_platform_bxi2(2);
  pm_status status;
  if (!text || !platform) return PM_E_INVAL;
  memset(platform, 0, sizeof *platform);
  status = pm__platform_lines(text, size_bytes, &p, said, error, error_bytes);
  if (!status) status = pm_platform_check(&p, error, error_bytes);
  if (status)
    pm_platform_free(&p);
  else
    *platform = p;
  return status;
}
PM_API pm_status pm_platform_read(const char *text, size_t size_bytes, pm_platform *platform,
                                  char *error, size_t error_bytes) {
  return pm__platform_read(text, size_bytes, platform, NULL, error, error_bytes);
}

/* What the file holds, n bytes of it. ret PM_OK, and the text to be freed, or why not */
static pm_status pm__platform_text(const char *path, char **text, int *n, const char **why) {
  FILE *in = fopen(path, "rb");
  int max = 0, got;
  pm_status status = PM_OK;
  *text = NULL;
  *n = 0;
  if (!in) {
    *why = strerror(errno);
    return PM_E_IO;
  }
  do {
    if (*n > (1 << 26) || !pm__grow((void **)text, &max, *n + 65536, 1)) {
      *why = *n > (1 << 26) ? "longer than 64 MiB" : "out of memory";
      status = PM_E_NOMEM;
      break;
    }
    got = (int)fread(*text + *n, 1, 65536, in);
    *n += got;
  } while (got > 0);
  if (ferror(in)) { /* a folder can be opened, and not be read */
    *why = strerror(errno);
    status = PM_E_IO;
  }
  fclose(in);
  return status;
}
PM_API pm_status pm_platform_load(const char *path, pm_platform *platform, char *error,
                                  size_t error_bytes) {
  char *text, what[256] = "";
  const char *why = what, *end;
  int n;
  pm__said said;
  pm_status status;
  if (!path || !platform) return PM_E_INVAL;
  memset(&said, 0, sizeof said);
  memset(platform, 0, sizeof *platform);
  status = pm__platform_text(path, &text, &n, &why);
  if (!status) status = pm__platform_read(text, (size_t)n, platform, &said, what, sizeof what);
  PM_FREE(text);
  if (!status) return PM_OK;
  /* Of a long path its end, so that what follows has room. */
  end = path + (strlen(path) > error_bytes / 2 ? strlen(path) - error_bytes / 2 : 0);
  pm__platform_error(error, error_bytes, "%s%s: %s", end == path ? "" : "...", end,
                     why[0] ? why : pm_status_text(status));
  return status;
}

PM_API void pm_platform_free(pm_platform *platform) {
  int64_t i;
  if (!platform) return;
  for (i = 0; i < platform->way_count; i++) PM_FREE((void *)(uintptr_t)platform->ways[i].cable);
  PM_FREE((void *)(uintptr_t)platform->ways);
  PM_FREE((void *)(uintptr_t)platform->links);
  platform->ways = NULL;
  platform->links = NULL;
  platform->link_count = platform->way_count = 0;
}

/* All 17 digits, with a point whatever the locale says. */
static const char *pm__real_text(double value, char text[40]) {
  char *from = text, *to = text;
  snprintf(text, 40, "%.17g", value);
  for (; *from; from++)
    if (strchr("0123456789e+-", *from))
      *to++ = *from;
    else if (to == text || to[-1] != '.')
      *to++ = '.';
  *to = 0;
  return text;
}
static void pm__loggp_write(const pm_loggp_range *r, FILE *out) {
  char real[3][40];
  int i;
  fprintf(out, "loggp_range %lld %lld %lld %lld %s %s", (long long)r->first_bytes,
          (long long)r->latency_ns, (long long)r->overhead_ns, (long long)r->gap_ns,
          pm__real_text(r->ns_per_byte, real[0]), pm__real_text(r->gap_ns_per_byte, real[1]));
  for (i = 0; i < r->noise_count; i++)
    fprintf(out, " %s %s %s", pm__real_text(r->noise[i].weight_ratio, real[0]),
            pm__real_text(r->noise[i].mean_ratio, real[1]),
            pm__real_text(r->noise[i].sigma_ratio, real[2]));
  fprintf(out, "\n");
}
/* Filled by hand: what is counted is there. */
static bool pm__is_written_whole(const pm_platform *p) {
  int i;
  if ((unsigned)p->topology > PM_TOPO_FILE || p->noise_count > PM_MODES_MAX ||
      p->loggp_range_count > PM_LOGGP_RANGES_MAX || (p->link_count > 0 && !p->links) ||
      (p->way_count > 0 && !p->ways))
    return false;
  for (i = 0; i < p->loggp_range_count; i++)
    if (p->loggp_range[i].noise_count > PM_MODES_MAX) return false;
  return true;
}
PM_API pm_status pm_platform_write(const pm_platform *p, FILE *out) {
  char real[3][40];
  int i;
  int64_t k;
  if (!p || !out) return PM_E_INVAL;
  if (!pm__is_written_whole(p)) return PM_E_PLATFORM;
  fprintf(out, "name %s\ntopology %s\n", p->name[0] ? p->name : "-",
          pm__topology_names[p->topology]);
  if (p->topo[0] && p->topology != PM_TOPO_CROSSBAR && p->topology != PM_TOPO_FILE) {
    fprintf(out, "topo");
    for (i = 0; i < 16 && p->topo[i]; i++) fprintf(out, " %lld", (long long)p->topo[i]);
    fprintf(out, "\n");
  }
#define PM__X(field, value, text)                                                                  \
  fprintf(out, "%-28s %-14lld # %s\n", #field, (long long)p->field, text);
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(field, value, text)                                                                  \
  fprintf(out, "%-28s %-14s # %s\n", #field, pm__real_text(p->field, real[0]), text);
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  for (k = 0; p->topology == PM_TOPO_FILE && k < p->link_count; k++)
    fprintf(out, "link %s %s %s %lld%s\n", p->links[k].from, p->links[k].to,
            pm__real_text(p->links[k].bytes_per_s, real[0]), (long long)p->links[k].latency_ns,
            p->links[k].sharing == PM_LINK_SHARED    ? " shared"
            : p->links[k].sharing == PM_LINK_FATPIPE ? " fatpipe"
                                                     : "");
  for (k = 0; p->topology == PM_TOPO_FILE && k < p->way_count; k++) {
    fprintf(out, "way h%d h%d", p->ways[k].from_node, p->ways[k].to_node);
    for (i = 0; i < p->ways[k].cable_count; i++) fprintf(out, " %d", p->ways[k].cable[i]);
    fprintf(out, "\n");
  }
  for (i = 0; i < p->noise_count; i++)
    fprintf(out, "noise %s %s %s\n", pm__real_text(p->noise[i].weight_ratio, real[0]),
            pm__real_text(p->noise[i].mean_ratio, real[1]),
            pm__real_text(p->noise[i].sigma_ratio, real[2]));
  for (i = 0; i < p->loggp_range_count; i++) pm__loggp_write(&p->loggp_range[i], out);
  return ferror(out) ? PM_E_IO : PM_OK;
}

PM__PRIVATE void pm__graph_free(pm__graph *g, int nodes) {
  int i;
  if (!g) return;
  if (g->next)
    for (i = 0; i < nodes; i++) PM_FREE(g->next[i]);
  PM_FREE(g->names);
  PM_FREE(g->end);
  PM_FREE(g->sharing);
  PM_FREE(g->inner);
  PM_FREE(g->latency_ns);
  PM_FREE(g->least_ns);
  PM_FREE(g->bytes_per_s);
  PM_FREE(g->first);
  PM_FREE(g->out);
  PM_FREE(g->next);
  PM_FREE(g->queue);
  PM_FREE(g->given);
  PM_FREE(g->given_link);
  PM_FREE(g);
}

/* A node's number, or that of a switch, which is new or found by its name: in `places`, a table of switches by their
   hash, at least twice as many as there can be. */
static int pm__graph_vertex(pm__graph *g, const char *name, int nodes, int *places, uint32_t max) {
  uint64_t hash = 0xCBF29CE484222325u; /* Fowler, Noll and Vo's, of 64 bits, variant 1a */
  uint32_t at;
  char *end;
  int i;
  if (name[0] == 'h' && isdigit((unsigned char)name[1])) {
    long v = strtol(name + 1, &end, 10);
    if (!*end) return v < nodes ? (int)v : -1;
  }
  for (i = 0; name[i]; i++) hash = (hash ^ (unsigned char)name[i]) * 0x100000001B3u;
  for (at = (uint32_t)(hash ^ hash >> 32) & (max - 1); places[at]; at = (at + 1) & (max - 1))
    if (strcmp(g->names[places[at] - 1], name) == 0) return nodes + places[at] - 1;
  strcpy(g->names[g->vertices - nodes], name);
  places[at] = g->vertices - nodes + 1;
  return g->vertices++;
}
/* The cables' ends, by name. ret false: no memory, or (then error says it) a cable has none */
static bool pm__graph_ends(pm__graph *g, const pm_platform *p, char *error, size_t error_bytes) {
  const int nodes = (int)p->node_count, n = (int)p->link_count;
  uint32_t max = 4;
  int *places, i, a = 0, b = 0;
  bool is_second = false;
  while (max < 4 * (uint32_t)n) max *= 2;
  places = (int *)pm__zalloc(max * sizeof *places);
  if (!places) return false;
  for (i = 0; i < n && a >= 0 && b >= 0 && !is_second; i++) {
    const pm_link *l = &p->links[i];
    a = pm__graph_vertex(g, l->from, nodes, places, max);
    b = pm__graph_vertex(g, l->to, nodes, places, max);
    g->end[2 * i] = b;
    g->end[2 * i + 1] = a;
    g->latency_ns[i] = l->latency_ns;
    g->bytes_per_s[i] = l->bytes_per_s;
    g->sharing[i] = (unsigned char)l->sharing;
    g->shares |= l->sharing != PM_LINK_EACH_WAY;
    is_second = a == b && a >= 0 && g->inner[a] >= 0;
    if (a == b && a >= 0) g->inner[a] = 2 * i, g->has_inner = true;
  }
  PM_FREE(places);
  if (a >= 0 && b >= 0 && !is_second) return true;
  pm__platform_error(error, error_bytes, "link %d (%s %s): %s", i, p->links[i - 1].from,
                     p->links[i - 1].to,
                     is_second ? "the second one within it" : "node beyond node_count");
  return false;
}

/* The way's links, from its cables. ret NULL, or what is wrong; cable: there, or 0 */
static const char *pm__graph_way(pm__graph *g, const pm_way *way, const pm__given *out,
                                 int *cable) {
  int *const link = g->given_link + out->first;
  int at = way->from_node, steps = g->inner[at] >= 0, i, k;
  for (i = 0; i < way->cable_count; i++) {
    const int of = 2 * (way->cable[i] - 1);
    *cable = way->cable[i];
    if (way->cable[i] < 1 || way->cable[i] > g->cables) return "there is none of that number";
    if (g->end[of] == g->end[of + 1]) return "it lies within a switch or node";
    if (at != g->end[of] && at != g->end[of + 1])
      return "it does not lead on from where the way is";
    link[i] = of + (at == g->end[of]);
    at = g->end[link[i]];
    steps += 1 + (g->inner[at] >= 0);
    if (at == way->from_node) return "it leads back to where the way begins";
    for (k = 0; k < i; k++)
      if (g->end[link[k]] == at) return "it leads to where the way has been";
  }
  *cable = 0;
  if (at != way->to_node) return "its cables end elsewhere";
  return steps > PM__ROUTE_MAX ? "longer than 62 links" : NULL;
}
static int pm__given_order(const void *a, const void *b) {
  const pm__given *x = (const pm__given *)a, *y = (const pm__given *)b;
  return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}
/* NULL: none is given */
static const pm__given *pm__given_find(const pm__graph *g, int from, int to) {
  const pm__given way = {from, to, 0, 0};
  return g->given_count ? (const pm__given *)bsearch(&way, g->given, (size_t)g->given_count,
                                                     sizeof way, pm__given_order)
                        : NULL;
}
/* Ways that the platform gives. ret false: no memory, or (then error says it) one is none */
static bool pm__graph_ways(pm__graph *g, const pm_platform *p, char *error, size_t error_bytes) {
  const int64_t nodes = p->node_count;
  int64_t i, links = 0;
  for (i = 0; i < p->way_count; i++)
    links += p->ways[i].cable_count > PM__ROUTE_MAX ? PM__ROUTE_MAX + 1 : p->ways[i].cable_count;
  g->given = (pm__given *)pm__zalloc((size_t)(p->way_count + 1) * sizeof *g->given);
  g->given_link = (int *)pm__zalloc((size_t)(links + 1) * sizeof *g->given_link);
  if (!g->given || !g->given_link) return false;
  for (i = 0, links = 0; i < p->way_count; i++) {
    const pm_way *way = &p->ways[i];
    pm__given *out = &g->given[i];
    const char *bad = NULL;
    int cable = 0;
    out->from = way->from_node;
    out->to = way->to_node;
    out->first = (int)links;
    out->count = way->cable_count;
    if (way->from_node < 0 || way->from_node >= nodes || way->to_node < 0 || way->to_node >= nodes)
      bad = "node beyond node_count";
    else if (way->from_node == way->to_node)
      bad = "to itself";
    else if (way->cable_count < 1 || way->cable_count > PM__ROUTE_MAX || !way->cable)
      bad = "1 to 62 cables expected";
    else
      bad = pm__graph_way(g, way, out, &cable);
    if (bad) {
      char at[32] = "";
      if (cable) snprintf(at, sizeof at, "cable %d: ", cable);
      pm__platform_error(error, error_bytes, "way %lld (h%d to h%d): %s%s", (long long)(i + 1),
                         way->from_node, way->to_node, at, bad);
      return false;
    }
    links += way->cable_count;
  }
  g->given_count = (int)p->way_count;
  qsort(g->given, (size_t)g->given_count, sizeof *g->given, pm__given_order);
  for (i = 1; i < g->given_count; i++)
    if (pm__given_order(&g->given[i - 1], &g->given[i]) == 0) {
      pm__platform_error(error, error_bytes, "way: h%d to h%d is given twice", g->given[i].from,
                         g->given[i].to);
      return false;
    }
  return true;
}

PM__PRIVATE pm__graph *pm__graph_make(const pm_platform *p, char *error, size_t error_bytes) {
  int nodes = (int)p->node_count, n = (int)p->link_count, i, v;
  pm__graph *g = (pm__graph *)pm__zalloc(sizeof *g);
  if (!g) return NULL;
  g->vertices = nodes;
  g->cables = n;
  g->bytes_left = PM__TABLES_BYTES;
  g->names = (char(*)[24])pm__zalloc((size_t)(2 * n + 1) * 24);
  g->end = (int *)pm__zalloc((size_t)(2 * n + 1) * sizeof(int));
  g->latency_ns = (int64_t *)pm__zalloc((size_t)(n + 1) * sizeof(int64_t));
  g->least_ns = (int64_t *)pm__zalloc((size_t)(nodes + 2 * n + 1) * sizeof(int64_t));
  g->sharing = (unsigned char *)pm__zalloc((size_t)n + 1);
  g->inner = (int *)PM_MALLOC((size_t)(nodes + 2 * n + 1) * sizeof(int));
  for (v = 0; g->inner && v < nodes + 2 * n; v++) g->inner[v] = -1;
  g->bytes_per_s = (double *)pm__zalloc((size_t)(n + 1) * sizeof(double));
  g->first = (int *)pm__zalloc((size_t)(nodes + 2 * n + 2) * sizeof(int));
  g->out = (int *)pm__zalloc((size_t)(2 * n + 1) * sizeof(int));
  g->next = (int **)pm__zalloc((size_t)nodes * sizeof(int *));
  g->queue = (int *)pm__zalloc((size_t)(nodes + 2 * n + 1) * sizeof(int));
  if (!g->names || !g->end || !g->latency_ns || !g->least_ns || !g->bytes_per_s || !g->first ||
      !g->out || !g->next || !g->queue || !g->sharing || !g->inner ||
      !pm__graph_ends(g, p, error, error_bytes) || !pm__graph_ways(g, p, error, error_bytes)) {
    pm__graph_free(g, nodes);
    return NULL;
  }
  for (i = 0; i < 2 * n; i++) g->first[g->end[i ^ 1] + 1] += g->end[i] != g->end[i ^ 1];
  for (v = 0; v < g->vertices; v++) g->first[v + 1] += g->first[v];
  for (i = 2 * n - 1; i >= 0; i--) /* what is within a vertex leads nowhere */
    if (g->end[i] != g->end[i ^ 1])
      g->out[g->first[g->end[i ^ 1]]++] = i; /* first[v] moves to its end ... */
  for (v = g->vertices; v > 0; v--) g->first[v] = g->first[v - 1]; /* ... and back */
  g->first[0] = 0;
  for (v = nodes; v < g->vertices; v++)
    for (i = g->first[v]; i < g->first[v + 1]; i++)
      if (i == g->first[v] || g->latency_ns[g->out[i] / 2] < g->least_ns[v])
        g->least_ns[v] = g->latency_ns[g->out[i] / 2];
  return g;
}

/* Next links towards one destination: breadth first from it. Among equals the destination number
   chooses, so that traffic to many destinations spreads. 0 when out of memory, or (is_full) when all tables
   together would take more than they may. */
static int pm__graph_towards(pm__graph *g, int destination) {
  const size_t bytes = (size_t)g->vertices * sizeof(int);
  int *next = NULL, *dist, head = 0, tail = 0, v, k, seen;
  if (bytes > g->bytes_left) {
    g->is_full = true;
    return 0;
  }
  next = (int *)PM_MALLOC(bytes);
  dist = (int *)PM_MALLOC((size_t)g->vertices * sizeof(int));
  if (!next || !dist) {
    PM_FREE(next);
    PM_FREE(dist);
    return 0;
  }
  for (v = 0; v < g->vertices; v++) next[v] = dist[v] = -1;
  dist[destination] = 0;
  g->queue[tail++] = destination;
  while (head < tail) {
    v = g->queue[head++];
    for (k = g->first[v]; k < g->first[v + 1]; k++) {
      int u = g->end[g->out[k]];
      if (dist[u] < 0) dist[u] = dist[v] + 1, g->queue[tail++] = u;
    }
  }
  for (v = 0; v < g->vertices; v++) {
    int choices = 0;
    if (dist[v] <= 0) continue;
    for (k = g->first[v]; k < g->first[v + 1]; k++)
      choices += dist[g->end[g->out[k]]] == dist[v] - 1;
    for (k = g->first[v], seen = 0; k < g->first[v + 1]; k++)
      if (dist[g->end[g->out[k]]] == dist[v] - 1 && seen++ == destination % choices)
        next[v] = g->out[k];
  }
  PM_FREE(dist);
  g->bytes_left -= bytes;
  g->next[destination] = next;
  return 1;
}

/* Stops at 1e18. */
static int64_t pm__times_at_most(int64_t a, int64_t b) {
  const int64_t most = 1000000000000000000;
  return a && b > most / a ? most : a * b;
}
static int64_t pm__product(const int64_t *v, int64_t n) {
  int64_t p = 1;
  while (n-- > 0) p = pm__times_at_most(p, *v++);
  return p;
}

/* Global cables between each two groups: the routers' ports, dealt out evenly. Cable k of a group to its
   other group number i is port k * (groups - 1) + i of the group; router port / h has it. Destinations are
   dealt out in blocks: the cable is one that lands at, or near, the destination's router. */
PM__PRIVATE int64_t pm__dragonfly_cables(const int64_t *t) {
  return t[0] > 1 ? pm__times_at_most(t[1], t[3]) / (t[0] - 1) : 1;
}
/* Numbers of directed links: crossbar 2 per node. Fat tree: 2 per (child, up port), level by level.
   Torus: 2 per node to its router, then 2 per dimension and router. Dragonfly: 2 per node, then a*a
   per group, then g*g times the cables between each two groups. File: 2 per cable. */
PM__PRIVATE int64_t pm__topology_links(const pm_platform *p) {
  const int64_t *t = p->topo;
  int64_t n = p->node_count, sum = 0, l;
  switch (p->topology) {
  case PM_TOPO_CROSSBAR: return 2 * n;
  case PM_TOPO_FATTREE:
    for (l = 0; l < t[0]; l++)
      if (sum <= PM__LINKS_MAX)
        sum += 2 * pm__times_at_most(pm__product(t + 1 + l, t[0] - l),
                                     pm__product(t + 1 + t[0], l + 1));
    return sum;
  case PM_TOPO_TORUS: return 2 * n + 2 * t[0] * n;
  case PM_TOPO_DRAGONFLY:
    return 2 * n + pm__times_at_most(t[0] * t[1], t[1]) +
           pm__times_at_most(t[0] * t[0], pm__dragonfly_cables(t));
  case PM_TOPO_FILE: return 2 * p->link_count;
  }
  return 0;
}

static pm_status pm__topology_check(const pm_platform *p, char *error, size_t error_bytes) {
  const int64_t *t = p->topo;
  int64_t nodes = p->node_count, hops = 2, i;
  switch (p->topology) {
  case PM_TOPO_CROSSBAR: break;
  case PM_TOPO_FATTREE:
    if (t[0] < 1 || t[0] > 7) return pm__platform_error(error, error_bytes, "topo: 1 to 7 levels");
    for (i = 1; i <= 2 * t[0]; i++)
      if (t[i] < 1)
        return pm__platform_error(error, error_bytes,
                                  "topo: levels, then as many down and up counts");
    if (pm__product(t + 1, t[0]) != nodes)
      return pm__platform_error(error, error_bytes,
                                "topo: the fat tree has %lld nodes, node_count is %lld",
                                (long long)pm__product(t + 1, t[0]), (long long)nodes);
    break;
  case PM_TOPO_TORUS:
    if (t[0] < 1 || t[0] > 8)
      return pm__platform_error(error, error_bytes, "topo: 1 to 8 dimensions");
    for (i = 1; i <= t[0]; i++) hops += t[i] / 2;
    if (pm__product(t + 1, t[0]) != nodes)
      return pm__platform_error(error, error_bytes,
                                "topo: the torus has %lld nodes, node_count is %lld",
                                (long long)pm__product(t + 1, t[0]), (long long)nodes);
    break;
  case PM_TOPO_DRAGONFLY:
    if (pm__product(t, 3) != nodes)
      return pm__platform_error(error, error_bytes,
                                "topo: the dragonfly has %lld nodes, node_count is %lld",
                                (long long)pm__product(t, 3), (long long)nodes);
    if (t[1] * t[3] < t[0] - 1)
      return pm__platform_error(error, error_bytes,
                                "topo: too few global links to reach all groups");
    break;
  case PM_TOPO_FILE: break;
  default: return pm__platform_error(error, error_bytes, "topology: unknown");
  }
  if (hops > PM__ROUTE_MAX)
    return pm__platform_error(error, error_bytes, "topo: a route of %lld links, at most %d",
                              (long long)hops, PM__ROUTE_MAX);
  if (p->topology == PM_TOPO_FILE) {
    pm__graph *g;
    char why[256] = "";
    int v, steps, far = -1;
    if (!p->links || p->link_count < 1)
      return pm__platform_error(error, error_bytes, "topology file without a link");
    g = pm__graph_make(p, why, sizeof why);
    if (!g) return why[0] ? pm__platform_error(error, error_bytes, "%s", why) : PM_E_NOMEM;
    if (!pm__graph_towards(g, 0)) {
      pm__graph_free(g, (int)nodes);
      return PM_E_NOMEM;
    }
    if (g->first[1] == 0) {
      pm__graph_free(g, (int)nodes);
      return pm__platform_error(error, error_bytes, "links: h0 has none");
    }
    for (v = 1; v < nodes && far < 0; v++)
      for (steps = g->inner[v] >= 0, i = v; i != 0 && far < 0; steps += 1 + (g->inner[i] >= 0)) {
        if (g->next[0][i] < 0 || steps >= PM__ROUTE_MAX / 2)
          far = v;
        else
          i = g->end[g->next[0][i]];
      }
    pm__graph_free(g, (int)nodes);
    if (far >= 0)
      return pm__platform_error(error, error_bytes,
                                "links: no way between h%d and h0 (or a longer one than %d links)",
                                far, PM__ROUTE_MAX / 2);
  }
  return PM_OK;
}

PM_API bool pm_platform_lacks_loggp(const pm_platform *p) {
  const pm_platform bxi = pm_platform_bxi2(2);
  if (!p || p->loggp_range_count > 0) return false;
  return p->loggp_latency_ns == bxi.loggp_latency_ns &&
         p->loggp_overhead_ns == bxi.loggp_overhead_ns && p->loggp_gap_ns == bxi.loggp_gap_ns &&
         p->loggp_bytes_per_s == bxi.loggp_bytes_per_s &&
         (p->topology == PM_TOPO_FILE || p->link_bytes_per_s != bxi.link_bytes_per_s ||
          p->wire_latency_ns != bxi.wire_latency_ns ||
          p->switch_latency_ns != bxi.switch_latency_ns);
}

PM_API pm_status pm_platform_check(const pm_platform *p, char *error, size_t error_bytes) {
  const char *bad;
  pm_status status;
  if (!p) return PM_E_INVAL;
  bad = pm__platform_switch(p);
  if (bad) return pm__platform_error(error, error_bytes, "%s: 0 or 1 expected", bad);
  bad = pm__platform_range(p);
  if (bad) return pm__platform_error(error, error_bytes, "%s: value out of range", bad);
  if (p->pci_root_count > p->nic_count)
    return pm__platform_error(error, error_bytes, "pci_root_count: %lld roots for %lld NICs",
                              (long long)p->pci_root_count, (long long)p->nic_count);
  if (p->nic_count > 1 && p->inflight_per_node_count)
    return pm__platform_error(error, error_bytes, "inflight_per_node_count: not with several NICs");
  status = pm__topology_check(p, error, error_bytes);
  if (status == PM_OK && pm__topology_links(p) > PM__LINKS_MAX / p->nic_count)
    return pm__platform_error(error, error_bytes, "topo: %lld links on %lld rails, at most %d",
                              (long long)pm__topology_links(p), (long long)p->nic_count,
                              (int)PM__LINKS_MAX);
  return status;
}

/* A way of a fat tree is the sum of two rows. A row says of a node, for each level: the first cable above its switch, or
   itself, that port 0 of D-mod-K (the port above level l is digit l of the destination) would take at the left edge of
   the tree, and what the node as a destination adds to that, by the ports chosen on the way up: from the source's
   switch that is the cable up, from its own the one down. Links are twice that, and one more on the way down, which the
   second number holds: it is never 0 in a row that has been made. */
PM__PRIVATE void pm__tree_row(const pm_platform *p, int64_t node, const int *choice,
                              uint32_t *row) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t span = 1, width = 1, first = 0, branch = 0, l;
  for (l = 0; l < h; l++) {
    const int64_t port = choice && choice[l] >= 0 ? choice[l] : node / width % up[l];
    row[2 * l] = (uint32_t)(2 * (first + node / span * width * up[l]));
    row[2 * l + 1] = (uint32_t)(2 * (branch * up[l] + port) + 1);
    first += p->node_count / span * width * up[l];
    branch += port * width;
    span *= m[l];
    width *= up[l];
  }
}
/* Up to the lowest switch that has both below it, and down. */
PM__PRIVATE int pm__tree_join(int h, const uint32_t *from, const uint32_t *to, uint32_t *out) {
  int top = 1, l;
  while (top < h && from[2 * top] != to[2 * top]) top++;
  for (l = 0; l < top; l++) {
    out[l] = from[2 * l] + to[2 * l + 1] - 1;
    out[2 * top - 1 - l] = to[2 * l] + to[2 * l + 1];
  }
  return 2 * top;
}
PM__PRIVATE int pm__fattree_way(const pm_platform *p, int64_t src, int64_t dst, const int *choice,
                                uint32_t *out) {
  uint32_t from[16], to[16]; /* 7 levels at most */
  pm__tree_row(p, src, NULL, from);
  pm__tree_row(p, dst, choice, to);
  return pm__tree_join((int)p->topo[0], from, to, out);
}

static int pm__route_torus(const pm_platform *p, int64_t src, int64_t dst, uint32_t *out) {
  int64_t d = p->topo[0], at = src, stride = 1, nodes = p->node_count, i;
  int n = 0;
  out[n++] = (uint32_t)(2 * src);
  for (i = 0; i < d; i++) {
    int64_t size = p->topo[1 + i], from = src / stride % size, to = dst / stride % size;
    int64_t forward = (to - from + size) % size,
            steps = forward <= size - forward ? forward : size - forward;
    int back = forward > size - forward;
    while (steps-- > 0) {
      int64_t x = at / stride % size, y = (x + (back ? size - 1 : 1)) % size;
      out[n++] = (uint32_t)(2 * nodes + 2 * (i * nodes + at) + back);
      at += (y - x) * stride;
    }
    stride *= size;
  }
  out[n++] = (uint32_t)(2 * dst + 1);
  return n;
}

PM__PRIVATE int64_t pm__dragonfly_global(const pm_platform *p) {
  return 2 * p->node_count + p->topo[0] * p->topo[1] * p->topo[1];
}
/* From router *r of one group to another group, by the cable for dst: *r is the router where it lands. */
static int pm__dragonfly_leg(const pm_platform *p, int64_t from, int64_t to, int64_t dst,
                             int64_t *r, uint32_t *out) {
  const int64_t g = p->topo[0], a = p->topo[1], h = p->topo[3], of = a * p->topo[2],
                cables = pm__dragonfly_cables(p->topo), k = dst % of * cables / of,
                leave = (k * (g - 1) + (to < from ? to : to - 1)) / h;
  int n = 0;
  if (*r != leave) out[n++] = (uint32_t)(2 * p->node_count + from * a * a + *r * a + leave);
  out[n++] = (uint32_t)(pm__dragonfly_global(p) + (from * g + to) * cables + k);
  *r = (k * (g - 1) + (from < to ? from : from - 1)) / h;
  return n;
}
PM__PRIVATE int pm__dragonfly_way(const pm_platform *p, int64_t src, int64_t dst, int64_t via,
                                  uint32_t *out) {
  const int64_t a = p->topo[1], per = p->topo[2], gd = dst / (a * per), rd = dst / per % a;
  int64_t at = src / (a * per), r = src / per % a;
  int n = 0;
  out[n++] = (uint32_t)(2 * src);
  if (via >= 0) {
    n += pm__dragonfly_leg(p, at, via, dst, &r, out + n);
    at = via;
  }
  if (at != gd) n += pm__dragonfly_leg(p, at, gd, dst, &r, out + n);
  if (r != rd) out[n++] = (uint32_t)(2 * p->node_count + gd * a * a + r * a + rd);
  out[n++] = (uint32_t)(2 * dst + 1);
  return n;
}
PM__PRIVATE bool pm__torus_is_edge(const pm_platform *p, int64_t link) {
  const int64_t pair = link / 2 - p->node_count, i = pair / p->node_count;
  int64_t at = pair % p->node_count, k;
  for (k = 0; k < i; k++) at /= p->topo[1 + k];
  at %= p->topo[1 + i];
  return link % 2 ? at == 0 : at == p->topo[1 + i] - 1;
}

/* Links from node to node and the latency of the way; graph: of a platform with links from a file.
   From a node to itself: over a cable of its own and back. -1: no way (or no memory). */
PM__PRIVATE int pm__way(const pm_platform *p, pm__graph *graph, int src, int dst, uint32_t *out,
                        int64_t *latency_ps) {
  int n = 0;
  int64_t latency_ns = p->wire_latency_ns;
  if (p->topology == PM_TOPO_FILE) {
    const pm__given *const given = pm__given_find(graph, src, dst);
    int at = src, step = 0;
    latency_ns = 0;
    if (src == dst) {
      const int first = graph->first[src], cables = graph->first[src + 1] - first;
      out[0] = (uint32_t)graph->out[first + src % cables];
      out[1] = out[0] ^ 1;
      *latency_ps = 2 * graph->latency_ns[out[0] / 2] * PM__PS;
      return 2;
    }
    if (!given && !graph->next[dst] && !pm__graph_towards(graph, dst)) return -1;
    for (;; step++) {
      const int link = at == dst ? -1
                       : given   ? graph->given_link[given->first + step]
                                 : graph->next[dst][at],
                inner = graph->inner[at];
      if ((at != dst && link < 0) || n + (at != dst) + (inner >= 0) > PM__ROUTE_MAX) return -1;
      if (inner >= 0) {
        latency_ns += graph->latency_ns[inner / 2];
        out[n++] = (uint32_t)inner;
      }
      if (at == dst) break;
      latency_ns += graph->latency_ns[link / 2];
      out[n++] = (uint32_t)link;
      at = graph->end[link];
    }
    *latency_ps = latency_ns * PM__PS;
    return n;
  }
  if (p->topology == PM_TOPO_CROSSBAR) {
    out[n++] = (uint32_t)(2 * src);
    out[n++] = (uint32_t)(2 * dst + 1);
  } else if (p->topology == PM_TOPO_FATTREE)
    n = pm__fattree_way(p, src, dst, NULL, out);
  else if (p->topology == PM_TOPO_TORUS)
    n = pm__route_torus(p, src, dst, out);
  else
    n = pm__dragonfly_way(p, src, dst, -1, out);
  latency_ns += (n - 1) * p->switch_latency_ns;
  *latency_ps = latency_ns * PM__PS;
  return n;
}
#ifdef NBC_LINES
#line 7 "src/portals/machine.h"
#endif
/* ============================================================================================== */
/* [WORLD] 4. Simulated processes and time                                                        */
/* ============================================================================================== */
/* ---- what a world is made of ------------------------------------------------------------------ */
struct pm_stamp;
struct pm_trace_record;
typedef struct pm__ni pm__ni;
typedef struct pm__message pm__message;
typedef struct pm__node pm__node;
typedef struct pm__event pm__event;

/* One entry of the future. Embedded in what it is about, so nothing is allocated per event. The next few events
   stand in a row; of the others those of one time stand in a ring, in the order in which they were scheduled, and
   the first one alone is in the heap: processes in lockstep do much at the same time. Where there are many, those that
   come later lie in bins meanwhile. */
struct pm__event {
  void (*fn)(pm_world *world, pm__event *event);
  pm__event *previous, *next; /* of the ring; of the first one, previous is the last one */
  uint32_t
      pos; /* in the heap; PM__BEHIND: not the first one; PM__SOON: in the row; from PM__FAR on: in
              a bin; 0: not queued */
};
#define PM__BEHIND 0xFFFFFFFFu
#define PM__SOON   0xFFFFFFFEu
#define PM__FAR    0x80000000u /* and its cells and place there */
typedef struct pm__slot {
  int64_t t_ps;
  uint64_t order; /* of two rings of the same time the older one comes first */
  pm__event *event;
} pm__slot;
typedef struct pm__recent {
  int64_t t_ps;
  pm__event *last;
} pm__recent;
enum { PM__RECENT_BITS = 9, PM__SOON_MOST = 16 };

typedef enum pm__state { PM__READY, PM__RUNNING, PM__BLOCKED, PM__ENDED } pm__state;

/* A virtual network of a NIC, or a process's way through memory: jobs one after the other. */
typedef struct pm__lane {
  bool is_busy; /* with a flow, or with packets */
  struct pm__message *head, *tail;
  int64_t t_free_ps, t_ready_ps;
  int64_t
      d_held_ps; /* so long have short jobs of other lanes taken the wire from the present flow */
} pm__lane;
/* A way that was asked for lately: those from a node lie side by side, at least sixteen of them (four, where they are
   found quickly), or all where there is room, within limits. 64 bytes. */
enum { PM__WAYS_EACH = 16, PM__WAYS_LEAST = 4, PM__WAYS_MOST = 16384, PM__WAY_NEAR = 8 };
typedef struct pm__known_way {
  int from, to, link_count; /* link_count 0: none yet */
  bool is_detour;           /* around cables that are down */
  int64_t latency_ps;
  uint32_t *link; /* near, or allocated with room for the longest way */
  uint32_t near[PM__WAY_NEAR];
} pm__known_way;

/* What each step looks at comes first, in two lines of the cache: in a world of a thousand processes no thread's memory
   stays in it from one step to the next. */
struct pm_thread {
  pm__event timer; /* first: the future gives us its address */
  pm_process *proc;
  pm_thread *next_ready, *next_in_proc;
  void *sp;
  /* line */
  pm__state state;
  unsigned poll_streak;     /* idle polls in a row */
  bool takes_cpu;           /* until then: ends later when its node stands still */
  bool is_parked;           /* it would run now, but its node stands still */
  bool is_idle;             /* what it waits for now is time between looks in vain */
  bool waits_for_memory;    /* polling that ends also when bytes alone come */
  bool is_vain;             /* it looked in vain last */
  bool is_computing;        /* on shared cores */
  bool is_unmeasured;       /* its computing takes no time */
  bool has_paid;            /* for is_over's event, without having run */
  bool defers;              /* its Portals calls become steps, see ahead.h */
  bool has_steps, is_ahead; /* some are to come; the scheduler takes them, and the thread waits */
  bool is_handling;         /* inside of pm_eq_serve's handler */
  bool woken, timed_out;
  bool counts_idle; /* and its timer is one of idle_count */
  bool waits_for_ptl, polling;
  bool waits_for_wake; /* inside pm_thread_wait: only there a wake may end what it does */
  uint32_t wait_handle;
  const void *wait_on; /* the queue or counter; NULL: any of the process */
  uint64_t wait_value;
  bool (*is_over)(
      const pm_thread *thread); /* of a wait that ends with an event to pay for, or NULL */
  void *wait_out;               /* where is_over puts what came */
  /* line */
  const char *what;  /* for deadlock reports */
  int64_t t_ran_ps;  /* last, where it sleeps */
  int64_t t_wake_ps; /* of its timer, while that runs */
  void (*describe)(const pm_thread *thread, char *text,
                   size_t text_bytes); /* more of it, or NULL */
  struct pm__ahead *ahead;             /* NULL: it never ran ahead */
  char *stack;
  size_t stack_bytes;
  int64_t mark_ns; /* host's CPU time when it was charged last */
  void *asan_fake, *tsan_fiber;
  void (*entry)(void *arg);
  void *arg;
  int cores_place;      /* among those that share the cores of the node */
  uint64_t cores_order; /* of two that end at once the one that began first is first */
  int64_t v_end_ps;     /* ... what each of them has to have computed when this one ends */
  uint32_t last_ct;
  uint64_t last_count;
  pm_thread *next_waiter, *joiner;
#ifdef PM_USE_UCONTEXT
  ucontext_t uc;
#endif
#ifdef PM_WITH_VALGRIND
  unsigned valgrind_id;
#endif
};

enum { PM__HOOKS = 8 };
struct ptl_activate_hook {
  bool is_used;
};
struct pm_process {
  pm_world *world;
  struct pm__ni *ni[4];
  pm_thread *threads;
  int init_count;
  int memory_waiters;       /* threads with waits_for_memory */
  int in_flight, under_way; /* operations in its NIC; all */
  /* line */
  pm__node *its_nic;
  int rank, node, nic; /* nic: the same as its_nic */
  uint32_t uid, pid, local_index;
  int status, ended, live_threads, aborted;
  bool has_pid;
  bool is_dead, stands_still; /* with its node, see lives.c */
  /* line */
  pm__lane memory_lane;
  struct pm_msg *msg;
  void (*msg_free)(struct pm_msg *msg); /* when the world goes before the process closed it */
  int restart_count;
  uint64_t noise_count;   /* draws of call_noise_ns */
  uint64_t id_count, rng; /* of messages, of its own; in a world over threads */
  void *user;
  pm_thread *caller; /* runs callbacks of queues while news is not empty; NULL: never needed */
  struct pm__eq *news, *news_last;
  struct ptl_activate_hook hooks[PM__HOOKS];
  pm_process *next_on_node;
};

/* Threads of a node that compute now: a heap, the first to end first. While all of them have had the same share,
   what one has had since the beginning is the same for all: v_ps. */
typedef struct pm__cores {
  pm__event event; /* the first one ends */
  pm_thread **heap;
  int count, max;
  uint64_t order;
  int64_t t_ps, v_ps; /* v_ps: at t_ps */
} pm__cores;
/* A NIC; the first one of a node (see pm__nic_node) is the node too. */
/* In the first line of the cache is what messages from here look at, in the next what those to here do. */
struct pm__node {
  int64_t t_command_ps, in_flight;
  int64_t *slots;
  uint32_t slots_first, slots_used;
  struct pm__message *held; /* the first that waits for an in-flight limit, or a change of level */
  pm_thread *slot_waiters;
  struct pm__message *held_tail;
  unsigned char link; /* level of what is in flight */
  int pids_max;       /* of by_pid */
  /* line */
  pm_process *pid_0; /* mostly the only one */
  int leaving_count; /* lanes that are busy with a flow */
  int process_count;
  int64_t t_done_ps;
  int64_t t_rx_last_ps[4], t_rx_ps[PM__ENGINES_MAX];
  /* lines */
  struct pm__message *search, *search_tail; /* wait until lists have been searched for others */
  int64_t t_search_ps;                      /* the present search ends */
  pm__lane lane[4];                         /* none of the first two lies in two lines */
  int64_t t_gap_ps, t_in_ps;                /* LogGP: the next message may leave, may come in */
  pm_process **by_pid;                      /* from pid 1 on */
  pm_process *processes;
  pm__cores *cores; /* NULL: nobody has shared them yet */
  uint64_t hash_id; /* of what happened here, in a world over threads */
};

typedef struct pm__stack {
  struct pm__stack *next;
} pm__stack; /* lies in the free stack itself */
typedef struct pm__store {
  struct pm__store *next;
} pm__store;
typedef struct pm__slab {
  struct pm__slab *next;
  char *base;
  size_t bytes;
} pm__slab;

/* What one virtual network keeps of a pair of nodes, see pm__stream_of. */
typedef struct pm__stream {
  uint64_t key;
  int64_t t_last_ps, t_crossed_ps; /* crossed: of those that were told on links that fail */
  /* at the packet level, and where ways change: messages are told in the order of their numbers; early ones wait
     here */
  uint64_t sent_count, arrived_count;
  struct pm__message *early;
} pm__stream;
struct pm_world {
  pm_world *whole;         /* of which this is a part, see windows.c; NULL: none */
  struct pm__parts *parts; /* while it runs over threads */
  int part, verdict;
  int64_t t_window_ps; /* the end of the window */
  uint64_t first_stack;
  pm_world_desc desc;
  pm_platform plat;
  struct pm__graph *graph; /* of a platform with links from a file */
  pm_status status;
  int running, stopped;
  bool is_plain;   /* nothing fails, no carrier: events alone let time pass */
  bool is_large;   /* see pm__ask_for */
  bool is_unusual; /* see pm__is_unusual */
  char error[4096];
  /* present and future */
  int64_t now_ps, t_idle_since_ps, t_limit_ps;
  int64_t t_over_ps; /* nothing happens from here on: the limit, or time, is over */
  uint64_t order;
  pm__slot soon[PM__SOON_MOST]; /* the last one is the next; none is after the heap's */
  uint32_t soon_count;
  pm__slot *heap;                              /* from 1 on */
  uint32_t heap_count, heap_max, future_count; /* future_count: all events */
  int64_t t_far_ps;    /* what comes from then on lies in bins; PM__FOREVER: they are empty */
  struct pm__far *far; /* NULL: never needed */
  bool has_gap;        /* place 1 of the heap is that of the event that happens now: it is gone */
  bool shares_times;   /* rings are looked for, see pm__rings_begin */
  uint32_t rings_found;
  uint64_t rings_again; /* order of the event with which they may be looked for again */
  pm__recent
      recent[1 << PM__RECENT_BITS]; /* by time: the last event of its youngest ring, if known */
  pm_thread *ready_head, *ready_tail, *barrier_waiters;
  int barrier_count, live_threads, live_processes,
      idle_count;     /* idle_count: timers of idle threads */
  int64_t idle_steps; /* since t_idle_since_ps */
  /* contexts */
  void (*context_switch)(void **save, void *load);
  void *scheduler_sp;
  pm_thread *last_run;
  void *asan_fake;
  const void *asan_bottom;
  size_t asan_bytes;
  void *tsan_fiber; /* of the scheduler */
#ifdef PM_USE_UCONTEXT
  ucontext_t uc;
#endif
  sigjmp_buf crash_jump, copy_jump;
  volatile sig_atomic_t is_copying; /* bytes of programs, whose memory may be gone */
  int crash_signal;
  char *crash_address;
  pm__stack *free_stacks;
  pm__slab *slabs;
  struct pm__store *stores; /* memory of what stays until the world goes, see pm__lines_take */
  char *store_at;           /* in the newest one, what nobody has taken yet */
  size_t store_left, store_bytes;
  char *untaken; /* the next stack of the newest slab that nobody had */
  int untaken_count;
  bool has_unguarded; /* some stacks rely on canaries */
  /* who and where */
  pm_process **procs;
  int proc_count, procs_max;
  pm__node *nodes;
  uint64_t rng;
  pm_stats stats;
  /* shared links */
  struct pm__link *links;
  int64_t *busy_ps; /* each, with messages that are no flows: these look at nothing else of it */
  int link_count, net_link_count;
  bool pci_is_wide;      /* no flow is held down by PCI roots, so none crosses them */
  int narrow_link_count; /* so many links before the last of a way lead to its node alone */
  struct pm__flow *free_flows;
  struct pm__flow **flow; /* by their numbers */
  int64_t *ends;          /* of flows, a tree: see flow.c */
  uint32_t ends_max, flow_made_count;
  pm__event flow_end;    /* of the flows that end first */
  int64_t t_flow_end_ps; /* its time; PM__FOREVER: none */
  int64_t t_aside_ps;    /* the same, while it stands beside the heap; its order there */
  uint64_t aside_order;
  bool solve_is_due;    /* when nothing else happens now */
  int64_t t_unusual_ps; /* see pm__usual_until */
  int links_max;        /* with those behind link_count, which are limits of single flows */
  uint32_t free_limit, limit_count;
  struct pm__due *due; /* a heap of those whose level is to be found anew, least first */
  uint32_t
      *touched; /* links of which what holds now is to be looked at when all levels are found */
  int due_count, touched_count; /* each link once at most: there is room for all */
  struct pm__flow *fresh;       /* without a rate yet */
  bool has_few_flows;           /* never more than 64 at once: each is a bit */
  uint64_t few, few_due;        /* these; those whose rates may be others now, ... */
  double few_level;             /* ... unless they are lower */
  int few_spare;                /* links that solves may still take beyond the usual */
  double same_ratio;
  /* Portals */
  struct pm__map *maps;
  struct pm__message *free_messages, *messages_made;
  struct pm__trigger *free_triggers;
  struct pm__header *free_headers;
  struct pm__list_op *list_ops; /* that wait for the carrier's lists, in order */
  uintptr_t *pages;             /* that were there, see pm__is_accessible */
  uint64_t list_op_count;
  struct pm__ct *fire_head, *fire_tail;
  bool is_firing;
  uint64_t next_id;
  struct pm_trace_record *records;
  int record_count, records_max;
  struct pm__packets *packets; /* NULL: the packet level was never used */
  struct pm__net *net;         /* NULL: no cable ever fails, and no node */
  struct pm__flow *stranded;   /* plain flows without a way */
  bool has_lives;              /* processes of nodes stand still or die */
  int returning_count;         /* dead processes that will begin anew */
  pm__event life_change;       /* the next time of that */
  int64_t t_life_ps;           /* when */
  struct pm__uses *uses;       /* NULL: use of links is not kept */
  /* wire */
  pm__stream *streams, no_stream;     /* no_stream: what a search gives that has no memory */
  uint32_t stream_count, streams_max; /* a power of two, 0 at first */
  bool is_faulty, is_carrying;        /* is_carrying: the carrier is open */
  bool has_mute_entries;              /* some entry gave no acknowledgements, while it was */
  int link_phases_done;
  uint32_t *tree_rows; /* of a fat tree: see pm__tree_row */
  pm__known_way *ways;
  uint32_t way_max, way_each; /* powers of two: all, from each NIC */
  bool ways_climb;            /* all lead up a tree and down again */
  bool has_own_ways;          /* each message keeps its own, see pm__way_of */
  uint32_t way_factor;
  int way_shift; /* (to * way_factor) >> way_shift is a place among those of a NIC */
  void (*stamp)(void *arg, const struct pm_stamp *stamp);
  void *stamp_arg;
  /* constants of the platform */
  int64_t d_call_ps, d_append_ps, d_look_ps, d_look_max_ps; /* of the CPU: cpu_command_ns ... */
  int64_t d_event_ps, d_command_ps, d_ack_ps; /* over PCI; of an acknowledgement on a link */
  uint64_t
      loggp_payload; /* LogGP: the last one asked for, and one more; its g and n G, its way, n G of that */
  int64_t loggp_gap_ns, d_loggp_gap_ps, d_loggp_way_ps, d_loggp_body_ps;
  int64_t d_loggp_none_ps;                      /* the way of no bytes */
  int64_t d_loggp_lag_ps;                       /* LogGP's g */
  int64_t d_lag_ps;                             /* of a link packet, on the fastest link */
  int64_t d_first_ps, d_switch_ps;              /* latency of the first link, of any other */
  int64_t d_packet_fetch_ps, d_packet_write_ps; /* of a whole PCI packet; written, with its event */
  uint64_t wire_payload;                        /* the last one asked for, and what it takes */
  int64_t d_wire_ps;
};

/* Times and durations that stop at the end of time instead of passing it. */
static inline int64_t pm__ps(int64_t d_ns) {
  return d_ns > PM__END / PM__PS ? PM__END : d_ns < -PM__END / PM__PS ? -PM__END : d_ns * PM__PS;
}
static inline int64_t pm__sum_ps(int64_t a_ps, int64_t b_ps) { /* the second may be negative */
  return b_ps > PM__END - a_ps ? PM__END : a_ps + b_ps;
}
static inline int64_t pm__later(int64_t t_ps, int64_t d_ps) { /* neither is: shorter */
  const uint64_t sum_ps = (uint64_t)t_ps + (uint64_t)d_ps;
  return sum_ps > (uint64_t)PM__END ? PM__END : (int64_t)sum_ps;
}
/* A product that no compiler joins with a sum (fused multiply-add rounds once, not twice): results are
   the same to the last bit on every machine. */
static inline double pm__times(double a, double b) {
#if defined(__GNUC__) && defined(__SSE2__)
  double product = a * b;
  __asm__("" : "+x"(product));
#elif defined(__GNUC__) && defined(__aarch64__)
  double product = a * b;
  __asm__("" : "+w"(product));
#else
  volatile double product = a * b;
#endif
  return product;
}
static inline int64_t pm__whole_ps(double d_ps) {
  return d_ps < (double)PM__END ? (int64_t)(d_ps + 0.5) : PM__END;
}
/* A compiler's own code for so many bytes (rep stos) takes longer to begin than libc's takes for all. */
static inline void pm__clear(void *object, size_t bytes) {
  __asm__("" : "+r"(bytes)); /* not known to the compiler */
  memset(object, 0, bytes);
}
/* Of a world with hundreds of processes nothing is in the first cache any more when a message comes to its next step, of
   one with thousands in none. So each step asks for what the next one will look at, while others take theirs: some
   seventy lines for a put, one after the other otherwise. Where something hangs on something else one step asks for the
   first, the next one for what that leads to. Nothing is said of values: what is asked for may be anything by then. */
enum { PM__LARGE = 256 }; /* nodes and processes */
static inline void pm__ask_for(const void *object, int lines) {
  uintptr_t line = (uintptr_t)object; /* perhaps NULL */
  for (; lines > 0; lines--, line += PM__LINE) __builtin_prefetch((const void *)line);
}
/* A place in a ring, below twice its length: no division. */
static inline uint32_t pm__round(uint32_t place, uint32_t length) {
  return place < length ? place : place - length;
}
/* Zeroed, in lines of its own, until the world goes. What processes, their interfaces and messages are made of lies
   side by side so, in large pages in large worlds. NULL: out of memory */
PM__PRIVATE void *pm__lines_take(pm_world *w, size_t bytes);
PM__PRIVATE void pm__stores_free(pm_world *w);
/* When something happens next; PM__FOREVER: never. */
PM__PRIVATE void pm__gap_close(pm_world *w); /* of the future, before its heap is looked at */
PM__APART PM__PRIVATE const pm__slot *pm__first_any(pm_world *w);
/* The next one of all but the end of flows; NULL: none. */
static inline const pm__slot *pm__first(pm_world *w) {
  if (w->soon_count) return &w->soon[w->soon_count - 1];
  if (w->has_gap || w->t_far_ps != PM__FOREVER) return pm__first_any(w);
  return w->heap_count ? &w->heap[1] : NULL;
}
static inline int64_t pm__next_ps(pm_world *w) {
  const pm__slot *first;
  if (w->solve_is_due) return w->now_ps;
  first = pm__first(w);
  return first && first->t_ps < w->t_aside_ps ? first->t_ps : w->t_aside_ps;
}
/* Events before this time need no look at what stands beside them: the end of flows, the limit and, where
   rates are to be found before time moves, all that is not now. Called when one of these has changed. */
static inline void pm__usual_until(pm_world *w) {
  const int64_t t_ps = w->solve_is_due ? w->now_ps + 1 : w->t_over_ps;
  w->t_unusual_ps = w->t_aside_ps < t_ps ? w->t_aside_ps : t_ps;
}
/* Rails: NIC k of a node is number k * nodes + node, in pm_world.nodes too, and ways lead from NIC to NIC
   of a rail. With one rail NICs and nodes have the same numbers. */
#define PM__ONE_NIC "the level rtl knows one NIC of a node: nic_count must be 1"
static inline int pm__nic_node(const pm_world *w, int nic) {
  return w->plat.nic_count == 1 ? nic : nic % (int)w->plat.node_count;
}
static inline int pm__nic_rail(const pm_world *w, int nic) {
  return w->plat.nic_count == 1 ? 0 : nic / (int)w->plat.node_count;
}
static inline uint32_t pm__rail_links(const pm_world *w) {
  return (uint32_t)(w->net_link_count / (int)w->plat.nic_count);
}
static inline bool pm__is_fatpipe(const pm_world *w, uint32_t link) {
  return w->graph && w->graph->sharing[link % pm__rail_links(w) / 2] == PM_LINK_FATPIPE;
}
static inline bool pm__is_shared(const pm_world *w, uint32_t link) {
  return w->graph && w->graph->sharing[link % pm__rail_links(w) / 2] == PM_LINK_SHARED;
}
/* Both directions of a cable that is shared are its first one. */
static inline uint32_t pm__link_of_flows(const pm_world *w, uint32_t link) {
  return pm__is_shared(w, link) ? link & ~1u : link;
}
/* From the beginning of a way's link number `hop` to that of the next one. */
static inline int64_t pm__hop_ps(const pm_world *w, uint32_t link, int hop) {
  if (w->graph) return w->graph->latency_ns[link % pm__rail_links(w) / 2] * PM__PS;
  return hop ? w->d_switch_ps : w->d_first_ps;
}
PM__PRIVATE void pm__way_find(pm_world *w, pm__known_way *way, int from, int to);
/* The same, remembered: valid until another way is asked for. The ways from a node lie side by side: many
   processes that talk to few others displace none of each other's, and find theirs in one place. */
static inline pm__known_way *pm__known_again(pm_world *w, pm__known_way *way, int from, int to) {
  if (way->from != from || way->to != to || !way->link_count) pm__way_find(w, way, from, to);
  return way; /* in its place, where it may have been displaced */
}
static inline pm__known_way *pm__known(pm_world *w, int from, int to) {
  const uint32_t of_nic = (uint32_t)to * w->way_factor >> w->way_shift;
  const uint32_t place = ((uint32_t)from * w->way_each + of_nic) & (w->way_max - 1);
  return pm__known_again(w, &w->ways[place], from, to);
}
PM__PRIVATE void pm__way_climb(const pm_world *w, pm__known_way *way, int from, int to);
PM__PRIVATE bool pm__ways_make(pm_world *w);
PM__PRIVATE int pm__route(pm_world *w, int src, int dst, uint32_t *out, int64_t *latency_ps);
PM__PRIVATE int64_t pm__bytes_ps(double bytes, double bytes_per_s);
PM__PRIVATE int64_t pm__max_ps(int64_t a_ps, int64_t b_ps);
/* The running simulated thread and world: the only mutable variables of file scope (see CONVENTIONS). */
#ifdef NBC_PIECES
extern PM__PRIVATE __thread pm_thread *pm__current;
extern PM__PRIVATE __thread pm_world *pm__running;
#else
static __thread pm_thread *pm__current;
static __thread pm_world *pm__running;
#endif

/* The world of the running process or event, where that is a part of the one that the caller means. */
static inline pm_world *pm__here(const pm_world *world) {
  return world && world->parts && pm__running && pm__running->whole == world ? pm__running
                                                                             : (pm_world *)world;
}

/* ---- what early pieces ask of later ones ---- */
/* Of worlds over threads: runs one; an event that belongs to another node than the NIC it comes from; a message that
   another part made is over; a process waits until what it has under way is back. */
PM__PRIVATE void pm__windows_run(pm_world *w);
PM__PRIVATE void pm__hand_over(pm_world *w, pm__event *event, int64_t t_ps, int from, int to);
PM__PRIVATE void pm__message_back(pm_world *w, pm__message *m);
static inline bool pm__crosses(const pm_world *w, int from, int to) {
  return w->whole && pm__nic_node(w, from) != pm__nic_node(w, to);
}
/* The number of a process's next message. */
static inline uint64_t pm__id_next(pm_process *p) {
  return p->world->whole ? (uint64_t)(p->rank + 1) << 40 | ++p->id_count : ++p->world->next_id;
}
/* Of Portals: a process has ended (as if it had called PtlFini), its memory goes, the world's goes. */
PM__PRIVATE void pm__ptl_process_ended(pm_process *p);
PM__PRIVATE void pm__ptl_process_free(pm_process *p);
PM__PRIVATE void pm__ptl_world_free(pm_world *w);
/* Of threads that run ahead: what the running one has ahead of it takes place; the scheduler goes on with one
   that waits for that (ret whether it still does); a sleep as a step; the end of a thread. */
PM__PRIVATE void pm__catch_up(void);
PM__PRIVATE bool pm__goes_ahead(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__sleep_later(pm_thread *t, int64_t d_ps);
PM__PRIVATE void pm__ahead_free(pm_thread *t);
/* Of the flows: links are made with the world and go with it; what the world does when it is their time. */
PM__PRIVATE int pm__links_make(pm_world *w);
PM__PRIVATE void pm__flows_free(pm_world *w);
PM__APART PM__PRIVATE void pm__solve_now(pm_world *w);
PM__PRIVATE void pm__flows_end(pm_world *w, pm__event *event);
/* Of the use of links: with the world, if asked for (then add is called); its tracks in a trace. */
typedef enum pm__use_kind { PM__USE_CARRIED, PM__USE_FLOWS, PM__USE_QUEUED } pm__use_kind;
PM__PRIVATE bool pm__uses_make(pm_world *w);
PM__PRIVATE void pm__uses_free(pm_world *w);
PM__PRIVATE void pm__use_add(pm_world *w, uint32_t link, pm__use_kind kind, int64_t t_begin_ps,
                             int64_t t_end_ps, double amount);
PM__PRIVATE pm_status pm__links_tracks(const pm_world *w, FILE *out);
/* Of outages: a known way as it is now; made and freed with the world. They ask flows: a link failed, this
   message was lost on it, plain flows may have a way again. */
PM__PRIVATE bool pm__way_now(pm_world *w, pm__known_way *way);
/* These links are the way's from now on. ret false: out of memory */
PM__PRIVATE bool pm__way_take(pm__known_way *way, const uint32_t *link, int count);
PM__PRIVATE void pm__ways_free(pm_world *w);
PM__PRIVATE bool pm__net_make(pm_world *w);
PM__PRIVATE void pm__net_free(pm_world *w);
PM__PRIVATE void pm__link_failed(pm_world *w, uint32_t link);
PM__PRIVATE void pm__packets_failed(pm_world *w, uint32_t link);
PM__PRIVATE void pm__job_lost(pm_world *w, void *message);
PM__PRIVATE void pm__stranded_go(pm_world *w);
/* Of nodes that die or stand still: the first time; what holds from the beginning. Flows of messages between this
   node and any other are lost. */
PM__PRIVATE void pm__lives_make(pm_world *w);
PM__PRIVATE void pm__lives_begin(pm_world *w);
PM__PRIVATE void pm__flows_of_node_failed(pm_world *w, int node);
/* Of the packet level: its queues go with the world. */
PM__PRIVATE void pm__packets_free(pm_world *w);
/* Of the wire: times that the platform alone says. */
PM__PRIVATE void pm__wire_constants(pm_world *w);
/* Of the trace: the running process computes. */
PM__PRIVATE void pm__trace_compute(pm_world *w, int64_t t_begin_ps, int64_t t_end_ps);
/* Of carriers, see pm_carrier. pm__carrier_advance: lets time pass until then, at most to the end of the
   first step in which the carrier told something: 1. */
PM__PRIVATE pm_status pm__carrier_open(pm_world *w);
PM__PRIVATE void pm__carrier_close(pm_world *w);
PM__PRIVATE bool pm__carrier_is_busy(const pm_world *w);
PM__PRIVATE int pm__carrier_advance(pm_world *w, int64_t until_ps);
#ifdef NBC_LINES
#line 1 "src/portals/machine.c"
#endif
/* What a world is made of: see machine.h. */

#ifdef NBC_PIECES
PM__PRIVATE __thread pm_thread *pm__current;
PM__PRIVATE __thread pm_world *pm__running;
#endif

/* Rows are kept: ways of a fat tree without a division. */
static int pm__tree_way(const pm_world *w, int src, int dst, uint32_t *out) {
  const int h = (int)w->plat.topo[0];
  uint32_t *const from = w->tree_rows + (size_t)src * 2 * (size_t)h, *const to = w->tree_rows +
                                                                                 (size_t)dst * 2 *
                                                                                     (size_t)h;
  if (!from[1]) pm__tree_row(&w->plat, src, NULL, from);
  if (!to[1]) pm__tree_row(&w->plat, dst, NULL, to);
  return pm__tree_join(h, from, to, out);
}
/* What pm__way_find finds, where pm_world.has_own_ways. */
PM__APART PM__PRIVATE void pm__way_climb(const pm_world *w, pm__known_way *way, int from, int to) {
  way->from = from;
  way->to = to;
  way->link = way->near;
  way->link_count = pm__tree_way(w, from, to, way->near);
  way->latency_ps = w->d_first_ps + (way->link_count - 1) * w->d_switch_ps;
}
PM__PRIVATE int pm__route(pm_world *w, int src, int dst, uint32_t *out, int64_t *latency_ps) {
  const int rail = pm__nic_rail(w, src), from = pm__nic_node(w, src), to = pm__nic_node(w, dst);
  int n, h;
  if (w->tree_rows) {
    n = pm__tree_way(w, from, to, out);
    *latency_ps = (w->plat.wire_latency_ns + (n - 1) * w->plat.switch_latency_ns) * PM__PS;
  } else
    n = pm__way(&w->plat, w->graph, from, to, out, latency_ps);
  for (h = 0; rail && h < n; h++) out[h] += (uint32_t)rail * pm__rail_links(w);
  return n;
}
/* ret false: out of memory */
PM__PRIVATE bool pm__way_take(pm__known_way *way, const uint32_t *link, int count) {
  if (count > PM__WAY_NEAR && (!way->link || way->link == way->near)) {
    uint32_t *far = (uint32_t *)PM_MALLOC((PM__ROUTE_MAX + 2) * sizeof *far);
    if (!far) return false;
    way->link = far;
  } else if (!way->link)
    way->link = way->near;
  if (way->link != link) memcpy(way->link, link, (size_t)count * sizeof *link);
  way->link_count = count;
  return true;
}
PM__APART PM__PRIVATE void pm__way_find(pm_world *w, pm__known_way *way, int from, int to) {
  uint32_t far[PM__ROUTE_MAX + 2];
  /* The ways of a low tree are short enough to be made where they stay. */
  uint32_t *const link = w->tree_rows && 2 * w->plat.topo[0] <= PM__WAY_NEAR ? way->near : far;
  const int count = pm__route(w, from, to, link, &way->latency_ps);
  way->from = from;
  way->to = to;
  if (count < 0 || !pm__way_take(way, link, count)) {
    way->link_count = 0;
    way->latency_ps = 0;
    pm_world_fail(w, PM_E_NOMEM,
                  w->graph && w->graph->is_full
                      ? "links one by one: ways to so many nodes take more than 1 GiB (4 bytes for "
                        "each node and switch, for each node that is sent to)"
                      : "out of memory: ways");
  }
  way->is_detour = w->net && pm__way_now(w, way);
}
enum { PM__STORE_LEAST = 1 << 14, PM__STORE_MOST = 1 << 25 };
/* Each store is twice the one before, and has room for more than what it is made for. */
static bool pm__store_new(pm_world *w, size_t bytes) {
  size_t size = w->store_bytes ? 2 * w->store_bytes : (size_t)PM__STORE_LEAST, past;
  pm__store *store;
  if (size > PM__STORE_MOST) size = PM__STORE_MOST;
  while (size < 2 * (bytes + PM__LINE)) size *= 2;
  store = (pm__store *)PM_MALLOC(size);
  if (!store) return false;
  pm__in_large_pages(store, size);
  store->next = w->stores;
  w->stores = store;
  past = sizeof *store + (0 - (uintptr_t)(store + 1)) % PM__LINE;
  w->store_at = (char *)store + past;
  w->store_left = size - past;
  w->store_bytes = size;
  return true;
}
PM__PRIVATE void *pm__lines_take(pm_world *w, size_t bytes) {
  char *at;
  bytes = (bytes + PM__LINE - 1) / PM__LINE * PM__LINE;
  if (bytes > w->store_left && !pm__store_new(w, bytes)) return NULL;
  at = w->store_at;
  w->store_at += bytes;
  w->store_left -= bytes;
  memset(at, 0, bytes);
  return at;
}
PM__PRIVATE void pm__stores_free(pm_world *w) {
  while (w->stores) {
    pm__store *store = w->stores;
    w->stores = store->next;
    PM_FREE(store);
  }
}
/* Where all ways have room each has a place of its own, else a hash of its end says where. ret false: out of memory */
PM__PRIVATE bool pm__ways_make(pm_world *w) {
  const uint32_t nics = (uint32_t)(w->plat.node_count * w->plat.nic_count);
  /* What is found with a few sums had better be found again than waited for: these are to stay in the cache. */
  const bool is_quick =
      (w->plat.topology == PM_TOPO_FATTREE || w->plat.topology == PM_TOPO_CROSSBAR) &&
      !w->desc.faults.outage_count && !w->desc.faults.down_node;
  const uint32_t most = is_quick ? PM__WAYS_MOST / 4 : PM__WAYS_MOST;
  uint32_t each = is_quick ? PM__WAYS_LEAST : PM__WAYS_EACH;
  int bits = is_quick ? 2 : 4;
  while (each < nics && (uint64_t)each * 2 * nics <= most) each *= 2, bits++;
  w->ways_climb =
      w->plat.topology == PM_TOPO_FATTREE && is_quick; /* and none around what is down */
  w->has_own_ways =
      w->ways_climb && each < nics && w->plat.nic_count == 1 && 2 * w->plat.topo[0] <= PM__WAY_NEAR;
  w->way_each = each;
  w->way_shift = 32 - bits;
  w->way_factor = nics <= each ? 1u << w->way_shift : 0x9E3779B1u;
  w->way_max = each;
  while (w->way_max < PM__WAYS_MOST && w->way_max < (uint64_t)each * nics) w->way_max *= 2;
  w->ways = (pm__known_way *)pm__lines_take(w, w->way_max * sizeof *w->ways);
  w->stats.memory_bytes += w->way_max * sizeof *w->ways;
  if (w->plat.topology == PM_TOPO_FATTREE) {
    const size_t row_bytes = 2 * (size_t)w->plat.topo[0] * sizeof *w->tree_rows;
    w->tree_rows = (uint32_t *)pm__zalloc((size_t)w->plat.node_count * row_bytes);
    w->stats.memory_bytes += (size_t)w->plat.node_count * row_bytes;
    if (!w->tree_rows) return false;
  }
  return w->ways != NULL;
}
PM__PRIVATE void pm__ways_free(pm_world *w) {
  uint32_t i;
  for (i = 0; w->ways && i < w->way_max; i++)
    if (w->ways[i].link != w->ways[i].near) PM_FREE(w->ways[i].link);
  PM_FREE(w->tree_rows);
}
PM__PRIVATE int64_t pm__bytes_ps(double bytes, double bytes_per_s) {
  return pm__whole_ps(pm__times(bytes / bytes_per_s, 1e12));
}
PM__PRIVATE int64_t pm__max_ps(int64_t a_ps, int64_t b_ps) { return a_ps > b_ps ? a_ps : b_ps; }
#ifdef NBC_LINES
#line 6 "src/portals/future.h"
#endif
/* Events that are far, see pm__far_put. */
enum { PM__FAR_BITS = 6, PM__FAR_LEVELS = 8, PM__FAR_FIRST = 16, PM__FAR_CELLS = 10 };
typedef struct pm__cells { /* of a bin, one after the other */
  uint32_t next, count;
  pm__slot slot[PM__FAR_CELLS];
} pm__cells;
typedef struct pm__bin {
  uint32_t first, last; /* of its cells; 0: none */
} pm__bin;
struct pm__far {
  int64_t t_begin_ps;
  uint32_t levels;               /* those with bins that are not empty, a bit each */
  uint64_t used[PM__FAR_LEVELS]; /* and which these are */
  pm__bin bin[PM__FAR_LEVELS][1 << PM__FAR_BITS];
  pm__cells *cells; /* from 1 on */
  uint32_t made, max, free;
};
PM__PRIVATE void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps);
PM__PRIVATE void pm__future_drop(pm_world *w);    /* nothing of it will happen */
PM__PRIVATE pm__event *pm__far_take(pm_world *w); /* any that lies in a bin leaves it; NULL: none */
PM__PRIVATE void pm__far_free(pm_world *w);
PM__PRIVATE void pm__unschedule_it(pm_world *w, pm__event *event);
static inline void pm__unschedule(pm_world *w, pm__event *event) {
  if (event->pos) pm__unschedule_it(w, event);
}
PM__PRIVATE void pm__flow_end_at(pm_world *w, int64_t t_ps); /* PM__FOREVER: no flow ends */
PM__PRIVATE bool pm__is_carrying(const pm_world *w);
PM__PRIVATE int pm__carry(pm_world *w);
PM__PRIVATE bool pm__step(pm_world *w, int64_t t_last_ps);
/* Steps up to the limit, until a thread may run or all that is to come are pauses of threads that look in vain. ret whether
   there was one */
PM__PRIVATE bool pm__steps(pm_world *w);
/* When nothing else happens until then, time just passes: a thread that computes alone goes on
   without an event and two switches of stacks.
   Strictly before the next event: one at the same time was scheduled earlier, so it comes first. A
   carrier has events that the future does not know. At the end of time the loop must say why the
   run ends. ret whether it did */
static inline bool pm__time_passes(pm_world *w, int64_t t_ps) {
  if (w->ready_head || pm__next_ps(w) <= t_ps) return false;
  if (w->stopped || t_ps >= w->t_limit_ps || pm__is_carrying(w)) return false;
  w->now_ps = t_ps;
  return true;
}
/* The last thing that an event does: this one follows. Where it is the next one of all it happens at once, and stands
   nowhere meanwhile. Among hundreds of processes it hardly ever is. */
static inline void pm__goes_on(pm_world *w, pm__event *event, int64_t t_ps) {
  if (w->is_large || !pm__time_passes(w, t_ps)) {
    pm__schedule(w, event, t_ps);
    return;
  }
  w->order++;
  w->stats.event_count++;
  event->fn(w, event);
}
#ifdef NBC_LINES
#line 1 "src/portals/future.c"
#endif

/* ---- the future: a heap of four children per node, which knows where each event lies ---------- */
/* Places are read and written member by member: a copy of a whole one would wait for the members
   that were just written. `order` counts calls of pm__schedule: events of one time happen in the
   order in which they were put there. */
static int pm__before(const pm__slot *a, int64_t t_ps, uint64_t order) {
  return a->t_ps != t_ps ? a->t_ps < t_ps : a->order < order;
}
/* The root is at 1; children of place p are 4 p - 2 .. 4 p + 1, so the parent of c is (c + 2) / 4.
   Four children make the tree half as high as two, and a node's children lie side by side. Place 0
   means that an event is not in the future. */
static void pm__heap_put(pm__slot *heap, uint32_t pos, int64_t t_ps, uint64_t order,
                         pm__event *event) {
  heap[pos].t_ps = t_ps;
  heap[pos].order = order;
  heap[pos].event = event;
  event->pos = pos;
}
static void pm__heap_copy(pm__slot *heap, uint32_t to, uint32_t from) {
  pm__heap_put(heap, to, heap[from].t_ps, heap[from].order, heap[from].event);
}
PM__APART static void pm__heap_up(pm_world *w, uint32_t pos, int64_t t_ps, uint64_t order,
                                  pm__event *event) {
  pm__slot *const heap = w->heap;
  while (pos > 1) {
    const uint32_t parent = (pos + 2) / 4;
    if (pm__before(&heap[parent], t_ps, order)) break;
    pm__heap_copy(heap, pos, parent);
    pos = parent;
  }
  pm__heap_put(heap, pos, t_ps, order, event);
}
PM__APART static void pm__heap_down(pm_world *w, uint32_t pos, int64_t t_ps, uint64_t order,
                                    pm__event *event) {
  pm__slot *const heap = w->heap;
  const uint32_t count = w->heap_count;
  for (;;) {
    uint32_t child = 4 * pos - 2, last = child + 3, best, i;
    if (child > count) break;
    if (last > count) last = count;
    for (best = child, i = child + 1; i <= last; i++)
      if (pm__before(&heap[i], heap[best].t_ps, heap[best].order)) best = i;
    if (!pm__before(&heap[best], t_ps, order)) break;
    pm__heap_copy(heap, pos, best);
    pos = best;
  }
  pm__heap_put(heap, pos, t_ps, order, event);
}
static void pm__heap_move(pm_world *w, uint32_t pos, int64_t t_ps, uint64_t order,
                          pm__event *event) {
  if (pos > 1 && !pm__before(&w->heap[(pos + 2) / 4], t_ps, order))
    pm__heap_up(w, pos, t_ps, order, event);
  else
    pm__heap_down(w, pos, t_ps, order, event);
}
/* ret 0: out of memory */
static int pm__heap_has_room(pm_world *w) {
  const uint32_t max = w->heap_max ? 2 * w->heap_max : 64;
  pm__slot *heap;
  if (w->heap_count + 1 < w->heap_max) return 1;
  heap = (pm__slot *)PM_REALLOC(w->heap, max * sizeof *heap);
  if (!heap) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: queue of events");
    return 0;
  }
  w->heap = heap;
  w->heap_max = max;
  return 1;
}
/* The event that happened last has left its place to the next new one, if there was none: to the last. Until
   then the place keeps its time, which is that of now: nothing comes before it. */
PM__APART PM__PRIVATE void pm__gap_close(pm_world *w) {
  const pm__slot *last;
  w->has_gap = false;
  last = &w->heap[w->heap_count--];
  if (w->heap_count) pm__heap_down(w, 1, last->t_ps, last->order, last->event);
}
/* Where the last event of the youngest ring of that time would be known. A ring that has lost its place to another time gets
   no more events: a younger one follows it. Not worth it in worlds that never have more than a few events,
   or where few of them have the same time: that is tried again now and then. */
enum { PM__FEW_EVENTS = 16, PM__RINGS_TRY = 1 << 10, PM__RINGS_PAUSE = 1 << 15 };
PM__APART static void pm__rings_begin(pm_world *w) {
  if (w->order < w->rings_again) return;
  w->shares_times = true;
  w->rings_found = PM__RINGS_TRY; /* the first time is short */
}
PM__APART static void pm__rings_judge(pm_world *w) { /* after each PM__RINGS_TRY events */
  if (w->shares_times && w->rings_found < PM__RINGS_TRY / 32) {
    w->shares_times = false;
    w->rings_again = w->order + PM__RINGS_PAUSE;
    memset(w->recent, 0, sizeof w->recent);
  }
  w->rings_found = 0;
}
static inline pm__recent *pm__recent_of(pm_world *w, int64_t t_ps) {
  return &w->recent[((uint64_t)t_ps * 0x9E3779B97F4A7C15u) >> (64 - PM__RECENT_BITS)];
}
/* Events of one time form a ring; its first stands in the heap, the others are PM__BEHIND it. When
   the first one goes, the next takes its place with the order of the first: older than that of
   every ring of this time made later. At the time of the end of flows that stands beside the heap each event is
   alone, or one that came after it would go before it with the order of the first. */
static inline pm__event *pm__ring_at(pm_world *w, int64_t t_ps) {
  const pm__recent *recent = pm__recent_of(w, t_ps);
  return w->shares_times && recent->last && recent->t_ps == t_ps && t_ps != w->t_aside_ps
             ? recent->last->next
             : NULL;
}
/* A ring is known by its last event: that stays when the first one goes, as it does each time. Now it is another
   one; NULL: the ring is gone, or elsewhere. */
static void pm__ring_ends_with(pm_world *w, int64_t t_ps, const pm__event *last, pm__event *now) {
  pm__recent *recent = pm__recent_of(w, t_ps);
  if (recent->last == last) recent->last = now;
}
static inline void pm__ring_join(pm_world *w, pm__event *first, pm__event *event, int64_t t_ps) {
  event->pos = PM__BEHIND;
  event->previous = first->previous;
  event->next = first;
  first->previous->next = event;
  first->previous = event;
  pm__recent_of(w, t_ps)->last = event;
  w->future_count++;
  w->rings_found++;
}
static inline bool pm__is_in_heap(const pm__event *event) { /* or behind one that is */
  return event->pos < PM__FAR || event->pos == PM__BEHIND;
}
/* Into the heap: one that is not in the future. ret false: out of memory */
static bool pm__schedule_new(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  if (!w->has_gap && !pm__heap_has_room(w)) return false;
  event->previous = event->next = event;
  w->future_count++;
  if (w->has_gap) {
    w->has_gap = false;
    pm__heap_down(w, 1, t_ps, order, event);
  } else
    pm__heap_up(w, ++w->heap_count, t_ps, order, event);
  if (w->heap_count > PM__FEW_EVENTS && !w->shares_times) pm__rings_begin(w);
  return true;
}
/* Nothing of that time is known, or the event is to be moved. */
PM__APART static void pm__schedule_alone(pm_world *w, pm__event *event, int64_t t_ps,
                                         uint64_t order) {
  pm__event *first = pm__ring_at(w, t_ps);
  if (first && first->previous == event) return; /* the last one already */
  if (event->pos && (first || event->next != event)) {
    pm__unschedule(w, event);
    first = pm__ring_at(w, t_ps); /* it may have been the event itself */
  }
  if (first) {
    pm__ring_join(w, first, event, t_ps);
    return;
  }
  if (event->pos) { /* alone: it moves with its place in the heap */
    if (w->shares_times) pm__ring_ends_with(w, w->heap[event->pos].t_ps, event, NULL);
    pm__heap_move(w, event->pos, t_ps, order, event);
  } else if (!pm__schedule_new(w, event, t_ps, order))
    return;
  if (!w->shares_times) return;
  const pm__recent mine = {t_ps, event};
  *pm__recent_of(w, t_ps) = mine;
}
/* ---- the next few events: a row, the next one last ------------------------------------------------ */
/* Most events cause others that follow soon: these come and go at the end of the row, and the heap sees only those
   that are not among the next few. An event that comes later than what is in the heap, or at its time, is none of
   them; so none in the row is after any in the heap. */
static inline bool pm__is_soon(const pm_world *w, int64_t t_ps) {
  return !w->has_gap && (!w->heap_count || t_ps < w->heap[1].t_ps);
}
/* The latest of the row goes into the heap, where it stands alone: a ring has the order of its first event, and the
   end of flows may stand between that and what would join it. */
PM__APART static bool pm__soon_spill(pm_world *w) {
  const pm__slot latest = w->soon[0];
  if (!pm__heap_has_room(w)) return false;
  memmove(&w->soon[0], &w->soon[1], --w->soon_count * sizeof *w->soon);
  latest.event->previous = latest.event->next = latest.event;
  pm__heap_up(w, ++w->heap_count, latest.t_ps, latest.order, latest.event);
  return true;
}
static inline void pm__soon_put(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  pm__slot *at = &w->soon[w->soon_count++];
  for (; at > w->soon && at[-1].t_ps <= t_ps; at--) {
    at->t_ps = at[-1].t_ps;
    at->order = at[-1].order;
    at->event = at[-1].event;
  }
  at->t_ps = t_ps;
  at->order = order;
  at->event = event;
  event->pos = PM__SOON;
  w->future_count++;
}
static void pm__soon_drop(pm_world *w, pm__event *event) {
  uint32_t i = w->soon_count - 1;
  while (w->soon[i].event != event) i--;
  memmove(&w->soon[i], &w->soon[i + 1], (--w->soon_count - i) * sizeof *w->soon);
  event->pos = 0;
  w->future_count--;
}
/* Into the row or the heap: one that is not in the future, and not far. */
static void pm__near_put(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  if (pm__is_soon(w, t_ps) && (w->soon_count < PM__SOON_MOST || t_ps < w->soon[0].t_ps)) {
    if (w->soon_count < PM__SOON_MOST || pm__soon_spill(w)) pm__soon_put(w, event, t_ps, order);
  } else if (!w->shares_times && w->heap_count < PM__FEW_EVENTS)
    (void)pm__schedule_new(w, event, t_ps, order); /* no ring is looked for */
  else {
    pm__event *const first = pm__ring_at(w, t_ps);
    if (first)
      pm__ring_join(w, first, event, t_ps);
    else
      pm__schedule_alone(w, event, t_ps, order);
  }
}
/* ---- what is far: bins ----------------------------------------------------------------------------- */
/* Where many events wait a heap is high, and each that moves in it is written to, which by then is in no cache. So what is
   not due soon lies in bins by its time, in the order in which it came, and nobody looks at it before all that is
   earlier has happened [Varghese and Lauck, Hashed and Hierarchical Timing Wheels, SOSP 1987]. A bin of the first level
   is 66 ns wide; one of the next ones as wide as all of the level before. An event lies on the level of the first bits
   in which its time differs from where bins are counted from, so what lies on a level is before all that lies on
   the next ones:

     t_begin_ps  ...010011|000100|110010|xxx   x: within a bin
     level 0     ...010011|000100|111001|xxx
     level 1     ...010011|010000|......|xxx

   The first bin of all is opened when nothing stands before it: what it holds goes into the row and the heap, or, if that
   is much and there are narrower bins, into these. Bins are counted from its beginning then. The heap may hold events
   that are later than that: they were there before the bins were begun with, and are older than what came to lie
   there since. */
/* More cells for a bin. ret false: out of memory */
PM__APART static bool pm__bin_grow(pm_world *w, pm__bin *bin) {
  struct pm__far *f = w->far;
  uint32_t at = f->free;
  if (at)
    f->free = f->cells[at].next;
  else {
    const uint32_t max = f->max ? 2 * f->max : 128;
    if (f->made + 1 >= f->max) {
      pm__cells *cells = (pm__cells *)PM_REALLOC(f->cells, max * sizeof *cells);
      if (!cells) {
        pm_world_fail(w, PM_E_NOMEM, "out of memory: queue of events");
        return false;
      }
      w->stats.memory_bytes += (max - f->max) * sizeof *cells;
      f->cells = cells;
      f->max = max;
    }
    at = ++f->made;
  }
  f->cells[at].next = f->cells[at].count = 0;
  *(bin->last ? &f->cells[bin->last].next : &bin->first) = at;
  bin->last = at;
  return true;
}
static void pm__far_put(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  struct pm__far *f = w->far;
  const uint64_t apart = (uint64_t)(t_ps ^ f->t_begin_ps) >> PM__FAR_FIRST;
  const int level = (63 - __builtin_clzll(apart | 1)) / PM__FAR_BITS;
  const uint32_t place =
      (uint32_t)(t_ps >> (PM__FAR_FIRST + PM__FAR_BITS * level)) % (1 << PM__FAR_BITS);
  pm__bin *const bin = &f->bin[level][place];
  pm__cells *c;
  if ((!bin->last || f->cells[bin->last].count == PM__FAR_CELLS) && !pm__bin_grow(w, bin)) return;
  c = &f->cells[bin->last];
  event->pos = PM__FAR | bin->last << 4 | c->count;
  c->slot[c->count].t_ps = t_ps;
  c->slot[c->count].order = order;
  c->slot[c->count++].event = event;
  f->used[level] |= (uint64_t)1 << place;
  f->levels |= 1u << level;
  w->future_count++;
}
/* What lies there is another event's place soon: it is left empty. */
static void pm__far_drop(pm_world *w, pm__event *event) {
  const uint32_t place = event->pos & ~PM__FAR;
  w->far->cells[place >> 4].slot[place & 15].event = NULL;
  event->pos = 0;
  w->future_count--;
}
/* The first bin, which is not empty. */
static pm__bin *pm__far_first(struct pm__far *f, int *level, int *place) {
  *level = __builtin_ctz(f->levels);
  *place = __builtin_ctzll(f->used[*level]);
  return &f->bin[*level][*place];
}
/* Its first cells are free again. ret those that follow */
static uint32_t pm__cells_free(struct pm__far *f, int level, int place) {
  pm__bin *const bin = &f->bin[level][place];
  const uint32_t at = bin->first, next = f->cells[at].next;
  f->cells[at].next = f->free;
  f->free = at;
  bin->first = next;
  if (next) return next;
  bin->last = 0;
  f->used[level] &= ~((uint64_t)1 << place);
  if (!f->used[level]) f->levels &= ~(1u << level);
  return 0;
}
/* The first bin is opened. */
PM__APART static void pm__far_open(pm_world *w) {
  struct pm__far *f = w->far;
  int level, place;
  const pm__bin *const bin = pm__far_first(f, &level, &place);
  const int shift = PM__FAR_FIRST + PM__FAR_BITS * level;
  const int64_t d_all_ps = shift + PM__FAR_BITS < 63 ? (int64_t)1 << (shift + PM__FAR_BITS) : 0;
  const bool is_last = !level || bin->first == bin->last;
  uint32_t at, i;
  f->t_begin_ps = (d_all_ps ? f->t_begin_ps & -d_all_ps : 0) | (int64_t)place << shift;
  w->t_far_ps = is_last ? pm__later(f->t_begin_ps, (int64_t)1 << shift) : f->t_begin_ps;
  for (at = bin->first; at; at = pm__cells_free(f, level, place)) {
    /* Cells move when there are more of them. */
    for (i = 0; i < f->cells[at].count; i++) {
      const pm__slot s = f->cells[at].slot[i];
      if (!s.event) continue;
      s.event->pos = 0;
      w->future_count--;
      if (is_last)
        pm__near_put(w, s.event, s.t_ps, s.order);
      else
        pm__far_put(w, s.event, s.t_ps, s.order);
    }
  }
}
enum { PM__HEAP_LARGE = 32 };
/* The heap has become large, though each time stands there once: what comes after the row is far from now on. Where events
   share their times rings keep the heap low, and take less. */
PM__APART static void pm__far_begin(pm_world *w) {
  struct pm__far *f = w->far;
  const int64_t d_ps = (int64_t)1 << PM__FAR_FIRST;
  int64_t t_ps = w->soon_count ? w->soon[0].t_ps : w->now_ps;
  if (!f) {
    f = w->far = (struct pm__far *)pm__zalloc(sizeof *f);
    if (!f) return; /* a large heap is only slow */
    w->stats.memory_bytes += sizeof *f;
  }
  /* Within the bin that was opened last bins may be counted from anywhere: narrower ones are empty. */
  if (w->t_far_ps != PM__FOREVER) t_ps = pm__max_ps(t_ps, f->t_begin_ps);
  if (t_ps >= w->t_far_ps - d_ps || t_ps >= PM__END - d_ps) return;
  f->t_begin_ps = t_ps & -d_ps;
  w->t_far_ps = f->t_begin_ps + d_ps;
}
PM__APART PM__PRIVATE const pm__slot *pm__first_any(pm_world *w) {
  if (w->has_gap) pm__gap_close(w);
  while (!w->soon_count && w->t_far_ps != PM__FOREVER &&
         (!w->heap_count || w->heap[1].t_ps >= w->t_far_ps)) {
    if (w->far->levels)
      pm__far_open(w);
    else
      w->t_far_ps = PM__FOREVER;
  }
  return w->soon_count ? &w->soon[w->soon_count - 1] : w->heap_count ? &w->heap[1] : NULL;
}
PM__PRIVATE pm__event *pm__far_take(pm_world *w) {
  struct pm__far *f = w->far;
  int level, place;
  while (f && f->levels) {
    pm__cells *const c = &f->cells[pm__far_first(f, &level, &place)->first];
    pm__event *const event = c->count ? c->slot[--c->count].event : NULL;
    if (!c->count) (void)pm__cells_free(f, level, place);
    if (!event) continue;
    event->pos = 0;
    w->future_count--;
    return event;
  }
  w->t_far_ps = PM__FOREVER;
  return NULL;
}
PM__PRIVATE void pm__far_free(pm_world *w) {
  if (w->far) PM_FREE(w->far->cells);
  PM_FREE(w->far);
  w->far = NULL;
}
/* ---- all together ---------------------------------------------------------------------------------- */
PM__APART static void pm__schedule_any(pm_world *w, pm__event *event, int64_t t_ps,
                                       uint64_t order) {
  if (order % PM__RINGS_TRY == 0) pm__rings_judge(w);
  if (event->pos &&
      (!pm__is_in_heap(event) || t_ps >= w->t_far_ps || (w->soon_count && t_ps < w->soon[0].t_ps)))
    pm__unschedule(w, event);
  if (event->pos)
    pm__schedule_alone(w, event, t_ps, order);
  else if (t_ps >= w->t_far_ps)
    pm__far_put(w, event, t_ps, order);
  else {
    pm__near_put(w, event, t_ps, order);
    if (w->heap_count > PM__HEAP_LARGE && !w->shares_times) pm__far_begin(w);
  }
}
/* Puts the event into the future, or moves it there. Not before now. */
PM__PRIVATE void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps) {
  const uint64_t order = w->order++;
  PM_ASSERT(t_ps >= w->now_ps);
  if (t_ps > PM__END) t_ps = PM__END;
  if (!event->pos && order % PM__RINGS_TRY) { /* what is usual, without a call */
    if (t_ps >= w->t_far_ps) {
      pm__far_put(w, event, t_ps, order);
      return;
    }
    const bool is_soon = pm__is_soon(w, t_ps);
    pm__event *const first = is_soon ? NULL : pm__ring_at(w, t_ps);
    if (is_soon && w->soon_count < PM__SOON_MOST) {
      pm__soon_put(w, event, t_ps, order);
      return;
    }
    if (first) {
      pm__ring_join(w, first, event, t_ps);
      return;
    }
  }
  pm__schedule_any(w, event, t_ps, order);
}
PM__PRIVATE void pm__unschedule_it(pm_world *w, pm__event *event) {
  const uint32_t pos = event->pos;
  pm__event *next = event->next;
  if (pos == PM__SOON) {
    pm__soon_drop(w, event);
    return;
  }
  if (!pm__is_in_heap(event)) {
    pm__far_drop(w, event);
    return;
  }
  w->future_count--;
  if (w->shares_times && next->pos != PM__BEHIND) /* it was the last */
    pm__ring_ends_with(w, w->heap[next->pos].t_ps, event, next == event ? NULL : event->previous);
  event->pos = 0;
  /* Alone at its time: the last of the heap takes its place. Of a ring the rest stays, the next one
     first. */
  if (next == event) {
    const pm__slot *last = &w->heap[w->heap_count--];
    if (last->event != event) pm__heap_move(w, pos, last->t_ps, last->order, last->event);
    return;
  }
  event->previous->next = next;
  next->previous = event->previous;
  if (pos == PM__BEHIND) return;
  w->heap[pos].event = next;
  next->pos = pos;
}
PM__PRIVATE void pm__future_drop(pm_world *w) {
  uint32_t i;
  if (w->has_gap) pm__gap_close(w);
  while (pm__far_take(w)) {
  }
  for (i = 0; i < w->soon_count; i++) w->soon[i].event->pos = 0;
  for (i = 1; i <= w->heap_count; i++) {
    pm__event *event = w->heap[i].event;
    for (; event->pos; event = event->next) event->pos = 0;
  }
  w->soon_count = w->heap_count = w->future_count = 0;
}
/* The end of the flows that end first is another time with nearly every flow that comes or goes. So it stands
   beside the heap, with an order as if it stood there. Where events of one time share a place in the heap that
   place has the order of the oldest of them: the end of flows stands among them then. */
PM__PRIVATE void pm__flow_end_at(pm_world *w, int64_t t_ps) {
  if (t_ps == w->t_flow_end_ps) return;
  w->t_flow_end_ps = t_ps;
  pm__unschedule(w, &w->flow_end);
  w->future_count -= w->t_aside_ps != PM__FOREVER;
  w->t_aside_ps = PM__FOREVER;
  if (w->shares_times && t_ps != PM__FOREVER)
    pm__schedule(w, &w->flow_end, t_ps);
  else if (t_ps != PM__FOREVER) {
    w->t_aside_ps = t_ps;
    w->aside_order = w->order++;
    w->future_count++;
  }
  pm__usual_until(w);
}
/* A carrier has messages under way: time may only pass through it. */
PM__INLINE bool pm__is_carrying(const pm_world *w) {
  return w->is_carrying && pm__carrier_is_busy(w);
}
/* Lets the carrier go on until the next step of the simulation. 1: it told something, so look again
   what comes next. */
PM__PRIVATE int pm__carry(pm_world *w) {
  const int64_t until_ps = pm__next_ps(w);
  const int64_t limit_ps = w->t_limit_ps;
  if (w->stopped || !pm__is_carrying(w)) return 0;
  if (pm__carrier_advance(w, until_ps < limit_ps ? until_ps : limit_ps)) return 1;
  if (until_ps > limit_ps && pm__is_carrying(w))
    pm_world_fail(w, PM_E_TIME_LIMIT, "simulated time limit reached: messages are under way");
  return 0;
}
/* In a large world what the next events of this time stand in is in no cache any more: it is asked for
   while this one happens. */
static void pm__step_comes(const pm__event *next) {
  __builtin_prefetch((const char *)next + 64);
  __builtin_prefetch(next->next);
}
/* The first of a ring leaves it, and the next one takes its place in the heap. */
static inline pm__event *pm__ring_take(pm_world *w) {
  pm__event *const event = w->heap[1].event, *const next = event->next;
  event->previous->next = next;
  next->previous = event->previous;
  w->heap[1].event = next;
  next->pos = 1;
  pm__step_comes(next);
  return event;
}
/* The next event of the heap leaves it, at its time. */
static pm__event *pm__heap_take(pm_world *w) {
  pm__event *const event = w->heap[1].event;
  if (event->next != event) return pm__ring_take(w);
  if (w->shares_times) pm__ring_ends_with(w, w->now_ps, event, NULL);
  if (w->heap_count > 1)
    w->has_gap = true;
  else
    w->heap_count = 0;
  return event;
}
/* Rates are found once for all that happens at one time, however many flows came and went. */
static void pm__solve_step(pm_world *w) {
  w->stats.event_count++;
  w->solve_is_due = false;
  pm__usual_until(w);
  w->future_count--;
  pm__solve_now(w);
}
/* Flows end; mostly nothing else happens at this time, so that rates are to be found next. */
static void pm__ends_step(pm_world *w) {
  const pm__slot *first;
  w->t_aside_ps = PM__FOREVER;
  pm__usual_until(w);
  pm__flows_end(w, &w->flow_end);
  if (!w->solve_is_due || !w->is_plain || w->ready_head || w->stopped) return;
  first = pm__first(w);
  if (!first || first->t_ps > w->now_ps) pm__solve_step(w);
}
/* Whatever comes next. */
PM__APART static bool pm__step_any(pm_world *w, int64_t t_last_ps) {
  const pm__slot *first = pm__first(w);
  const bool is_event = first && pm__before(first, w->t_aside_ps, w->aside_order);
  const int64_t t_ps = is_event ? first->t_ps : w->t_aside_ps;
  pm__event *event;
  if (w->solve_is_due && t_ps > w->now_ps) { /* before time moves */
    pm__solve_step(w);
    return true;
  }
  if (t_ps > t_last_ps) return false;
  w->stats.event_count++;
  w->future_count--;
  w->now_ps = t_ps;
  if (!is_event) {
    pm__ends_step(w);
    return true;
  }
  if (w->soon_count)
    event = w->soon[--w->soon_count].event;
  else
    event = pm__heap_take(w);
  event->pos = 0;
  event->fn(w, event);
  return true;
}
/* The event that comes next, if it is the next of the row, or of a ring that has begun: these take no more than they
   need. NULL: another step has to be taken */
static inline pm__event *pm__usual_take(pm_world *w) {
  if (w->soon_count) {
    const pm__slot *const first = &w->soon[w->soon_count - 1];
    if (first->t_ps >= w->t_unusual_ps) return NULL;
    w->now_ps = first->t_ps;
    w->soon_count--;
    return first->event;
  }
  /* An end of flows that is before the ring was before its beginning too. */
  if (w->has_gap || !w->heap_count || w->heap[1].t_ps != w->now_ps ||
      w->heap[1].event->next == w->heap[1].event)
    return NULL;
  return pm__ring_take(w);
}
static inline bool pm__step_now(pm_world *w, int64_t t_last_ps) {
  pm__event *const event = pm__usual_take(w);
  if (!event) return pm__step_any(w, t_last_ps);
  w->stats.event_count++;
  w->future_count--;
  event->pos = 0;
  event->fn(w, event);
  return true;
}
/* The next step of the simulation: time jumps to it. ret false: it would be after t_last_ps. (What is usual
   does not look at that.) */
PM__PRIVATE bool pm__step(pm_world *w, int64_t t_last_ps) {
  return t_last_ps < w->t_over_ps - 1 ? pm__step_any(w, t_last_ps) : pm__step_now(w, t_last_ps);
}
PM__PRIVATE bool pm__steps(pm_world *w) {
  const int64_t t_last_ps = w->t_over_ps - 1;
  bool has_stepped = false;
  while (!w->ready_head && !w->stopped && w->future_count > (uint32_t)w->idle_count &&
         pm__step_now(w, t_last_ps))
    has_stepped = true;
  return has_stepped;
}
#ifdef NBC_LINES
#line 6 "src/portals/outages.h"
#endif
/* The network of a rail as vertices (nodes first) and directed links between them; made for a world with
   outages. */
struct pm__net {
  int vertex_count, link_count;
  int *from, *to;     /* of each link */
  int *first, *out;   /* links out of vertex v: out[first[v]] ... out[first[v + 1] - 1] */
  int *queue, *via;   /* scratch of a search: vertices, and the link that led to each */
  pm__event change;   /* the next time that something fails or is repaired */
  pm_outage *outages; /* those of the world that concern the network; down_node is one of them */
  int outage_count;
};
/* From one NIC to another nothing gets through at this time: a node is down, or all ways are cut. */
PM__PRIVATE bool pm__is_cut(pm_world *w, int from, int to, int64_t t_ps);
PM__PRIVATE bool pm__node_is_out(const pm_world *w, int nic, int64_t t_ps);
/* A try to send a message from one NIC to another: its bytes leave for own_ps, the last of them are on the way for
   way_ps. t_lost_ps: something on its way failed then, or there was no way; PM__FOREVER: it gets through. */
typedef struct pm__try {
  int64_t t_begin_ps, own_ps, way_ps, t_lost_ps;
} pm__try;
PM__PRIVATE void pm__try_fails(pm_world *w, int from, int to, pm__try *t);
/* The way at a time: how many links (-1: there is none), and their latency. */
PM__PRIVATE int pm__way_at(pm_world *w, int from, int to, int64_t t_ps, uint32_t *out,
                           int64_t *latency_ps);
/* The shortest way from where a link begins, over cables of its rail that are alive: how many links; -1: there
   is none. */
PM__PRIVATE int pm__way_from(pm_world *w, uint32_t link, int to_node, uint32_t *out);
/* The NIC's node died between these times, both included; whoever asks knows that nodes die (has_lives). */
PM__PRIVATE bool pm__died_between(const pm_world *w, int nic, int64_t t_from_ps, int64_t t_to_ps);
/* The other direction of a link's cable. */
PM__PRIVATE uint32_t pm__link_back(const pm_world *w, uint32_t link);
PM__PRIVATE bool pm__link_is_dead(const pm_world *w, uint32_t link, int64_t t_ps);
#ifdef NBC_LINES
#line 1 "src/portals/outages.c"
#endif

/* ---- where links lie ------------------------------------------------------------------------------ */
/* The fixed routing of a topology (platform.c) numbers its links by arithmetic and never needs
   to know what a link connects. Ways around a cut do: these functions undo that arithmetic. They
   must be changed with it, and with the names in links.c.

   Fat tree: cables of level l come after those of the levels below, each vertex's up[l] upward
   ones in a row; 2 * cable is up, the next number down. Below level l, m[0] ... m[l - 1] (span)
   nodes share up[0] ... up[l - 1] (width) switches:
     vertex of a level = subtree * width + which of its switches
   A subtree of the next level joins m[l] of them, and cable c of a switch leads to that one of
   the next level's width * up[l] switches which has the same place in its subtree, plus c *
   width. */
static void pm__ends_fattree(const pm_platform *p, int64_t link, int ends[2]) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t l, span = 1, width = 1, base = 0, vertex = 0, cable, below, count;
  for (l = 0;; l++) { /* base: cables of the levels below; vertex: the first one of this level */
    count = p->node_count / span * width * up[l];
    if (link / 2 < base + count || l + 1 == h) break;
    base += count;
    vertex += p->node_count / span * width;
    span *= m[l];
    width *= up[l];
  }
  cable = link / 2 - base;
  below = cable / up[l];
  ends[0] = (int)(vertex + below);
  ends[1] = (int)(vertex + p->node_count / span * width + below / width / m[l] * width * up[l] +
                  below % width + cable % up[l] * width);
}
/* Torus: after the nodes' links, for each dimension a pair per router: towards the next and,
   odd, towards the one before. One router per node, so router `at` is vertex n + at; its
   coordinate in a dimension is a digit of `at`, of weight stride. */
static void pm__ends_torus(const pm_platform *p, int64_t link, int ends[2]) {
  const int64_t n = p->node_count, pair = link / 2 - n, at = pair % n;
  int64_t dimension = pair / n, stride = 1, size, k, x;
  for (k = 0; k < dimension; k++) stride *= p->topo[1 + k];
  size = p->topo[1 + dimension];
  x = at / stride % size;
  ends[0] = (int)(n + at);
  ends[1] = (int)(n + at + ((x + (link % 2 ? size - 1 : 1)) % size - x) * stride);
}
/* Dragonfly: g groups of a routers. First, for each group, all a * a ordered pairs of its
   routers (those from a router to itself are no cables), then for each ordered pair of groups
   its cables. A group's global ports stand in one row, cable by cable, with g - 1 other groups
   in each cable's part; h ports in a row are one router's. So both ends of a cable find their
   router by the same sum, each with the other's number. */
static void pm__ends_dragonfly(const pm_platform *p, int64_t link, int ends[2]) {
  const int64_t n = p->node_count, g = p->topo[0], a = p->topo[1], h = p->topo[3],
                cables = pm__dragonfly_cables(p->topo);
  int64_t i = link - 2 * n, from, to, k;
  if (link < pm__dragonfly_global(p)) {
    ends[0] = (int)(n + i / (a * a) * a + i / a % a);
    ends[1] = (int)(n + i / (a * a) * a + i % a);
    return;
  }
  i = link - pm__dragonfly_global(p);
  k = i % cables;
  from = i / cables / g;
  to = i / cables % g;
  if (from == to) { /* no cable either: a group has no port to itself */
    ends[0] = ends[1] = (int)(n + from * a);
    return;
  }
  ends[0] = (int)(n + from * a + (k * (g - 1) + (to < from ? to : to - 1)) / h);
  ends[1] = (int)(n + to * a + (k * (g - 1) + (from < to ? from : from - 1)) / h);
}
/* Vertices at which a directed link begins and ends: nodes, then switches in an order of their own. */
static void pm__link_ends(const pm_world *w, int64_t link, int ends[2]) {
  const pm_platform *p = &w->plat;
  const int64_t n = p->node_count;
  int hub, swap = link % 2 != 0;
  if (p->topology == PM_TOPO_FILE) {
    ends[0] = w->graph->end[link ^ 1];
    ends[1] = w->graph->end[link];
    return;
  }
  if (p->topology == PM_TOPO_FATTREE)
    pm__ends_fattree(p, link, ends);
  else if (link >= 2 * n) {
    swap = 0;
    if (p->topology == PM_TOPO_TORUS)
      pm__ends_torus(p, link, ends);
    else
      pm__ends_dragonfly(p, link, ends);
  } else {
    hub = (int)(p->topology == PM_TOPO_CROSSBAR ? n
                : p->topology == PM_TOPO_TORUS  ? n + link / 2
                                                : n + link / 2 / p->topo[2]);
    ends[0] = (int)(link / 2);
    ends[1] = hub;
  }
  if (swap) {
    hub = ends[0];
    ends[0] = ends[1];
    ends[1] = hub;
  }
}
/* The other direction. Cables numbered in pairs (nodes, fat tree, file) have it in the lowest
   bit; a torus and a dragonfly number directed links by where they begin, so the link back is
   one of those that begin where this one ends. An outage names one direction and takes both. */
static uint32_t pm__rail_back(const pm_world *w, uint32_t link) { /* link: of the first rail */
  const pm_platform *p = &w->plat;
  const int64_t n = p->node_count;
  int ends[2];
  if (link < 2 * n || p->topology == PM_TOPO_FATTREE || p->topology == PM_TOPO_FILE)
    return link ^ 1;
  if (p->topology == PM_TOPO_TORUS) { /* the link back is one of the next router's */
    pm__link_ends(w, link, ends);
    return (uint32_t)(2 * n + 2 * ((link / 2 - n) / n * n + ends[1] - n) + !(link % 2));
  }
  if (link < pm__dragonfly_global(p)) {
    const int64_t a = p->topo[1], i = link - 2 * n;
    return (uint32_t)(2 * n + i / (a * a) * a * a + i % a * a + i / a % a);
  }
  {
    const int64_t g = p->topo[0], cables = pm__dragonfly_cables(p->topo),
                  i = link - pm__dragonfly_global(p);
    return (uint32_t)(pm__dragonfly_global(p) + (i / cables % g * g + i / cables / g) * cables +
                      i % cables);
  }
}

PM__PRIVATE uint32_t pm__link_back(const pm_world *w, uint32_t link) {
  const uint32_t of_rail = link % pm__rail_links(w);
  return link - of_rail + pm__rail_back(w, of_rail);
}

/* ---- what is down when ------------------------------------------------------------------------------ */
/* Down from t_down on, up again at its end: then a link that fails when another one is repaired
   leaves no moment with both down. d_down_ns 0: for good. */
static bool pm__outage_holds(const pm_outage *o, int64_t t_ps) {
  const int64_t t_down_ps = pm__ps(o->t_down_ns);
  return t_ps >= t_down_ps && (!o->d_down_ns || t_ps < pm__later(t_down_ps, pm__ps(o->d_down_ns)));
}
/* It takes this link with it: one of the cable, or (of a node) one that begins or ends there, on any rail. */
static bool pm__outage_takes(const pm_world *w, const pm_outage *o, uint32_t link) {
  const uint32_t of_rail = link % pm__rail_links(w);
  if (o->node) return w->net->from[of_rail] == o->node - 1 || w->net->to[of_rail] == o->node - 1;
  return (uint32_t)o->link == link || pm__link_back(w, (uint32_t)o->link) == link;
}
PM__PRIVATE bool pm__link_is_dead(const pm_world *w, uint32_t link, int64_t t_ps) {
  const struct pm__net *net = w->net;
  int i;
  for (i = 0; i < net->outage_count; i++)
    if (pm__outage_holds(&net->outages[i], t_ps) && pm__outage_takes(w, &net->outages[i], link))
      return true;
  return false;
}
/* From a node to itself: over its first cable that is alive at t_ps, and back; or -1. */
static int pm__way_to_itself(const pm_world *w, uint32_t base, int node, int64_t t_ps,
                             uint32_t *out) {
  const struct pm__net *net = w->net;
  int k;
  for (k = net->first[node]; k < net->first[node + 1]; k++) {
    out[0] = base + (uint32_t)net->out[k];
    out[1] = pm__link_back(w, out[0]);
    if (!pm__link_is_dead(w, out[0], t_ps)) return 2;
  }
  return -1;
}
static int pm__inner_of(const pm_world *w, int vertex) {
  return w->graph ? w->graph->inner[vertex] : -1;
}
/* What all ways through the vertex cross is not down. */
static bool pm__lets_pass(const pm_world *w, uint32_t base, int vertex, int64_t t_ps) {
  const int inner = pm__inner_of(w, vertex);
  return inner < 0 || !pm__link_is_dead(w, base + (uint32_t)inner, t_ps);
}
/* The shortest way of links of this rail that are alive at t_ps, or -1; to: a node. Breadth
   first; no way through another node, but in a platform file, where a node may be a router too.
   Links out of a vertex are looked at by number, so of several shortest ways it is the same one
   in each run. `via` is the link that led to a vertex, -1 before; the way is read backwards from
   it. */
static int pm__way_around(pm_world *w, int rail, int from, int to, int64_t t_ps, uint32_t *out) {
  const uint32_t base = (uint32_t)rail * pm__rail_links(w);
  struct pm__net *net = w->net;
  int head = 0, tail = 0, v, k, n = 0;
  if (from == to) return pm__way_to_itself(w, base, from, t_ps, out);
  for (v = 0; v < net->vertex_count; v++) net->via[v] = -1;
  if (pm__lets_pass(w, base, from, t_ps)) net->queue[tail++] = from;
  while (head < tail && net->via[to] < 0) {
    v = net->queue[head++];
    if (v != from && v < w->plat.node_count && w->plat.topology != PM_TOPO_FILE) continue;
    for (k = net->first[v]; k < net->first[v + 1]; k++) {
      const int link = net->out[k], next = net->to[link];
      if (next == from || net->via[next] >= 0 || pm__link_is_dead(w, base + (uint32_t)link, t_ps) ||
          !pm__lets_pass(w, base, next, t_ps))
        continue;
      net->via[next] = link;
      net->queue[tail++] = next;
    }
  }
  if (net->via[to] < 0) return -1;
  for (v = to; v != from; v = net->from[net->via[v]]) n += 1 + (pm__inner_of(w, v) >= 0);
  n += pm__inner_of(w, from) >= 0;
  if (n > PM__ROUTE_MAX) return -1;
  for (v = to, k = n; k; v = net->from[net->via[v]]) {
    if (pm__inner_of(w, v) >= 0) out[--k] = base + (uint32_t)pm__inner_of(w, v);
    if (v != from) out[--k] = base + (uint32_t)net->via[v];
  }
  return n;
}
PM__PRIVATE int pm__way_from(pm_world *w, uint32_t link, int to_node, uint32_t *out) {
  const uint32_t of_rail = link % pm__rail_links(w);
  return pm__way_around(w, (int)(link / pm__rail_links(w)), w->net->from[of_rail], to_node,
                        w->now_ps, out);
}
/* Between NICs of a rail. */
static int pm__way_of_nics(pm_world *w, int from, int to, int64_t t_ps, uint32_t *out) {
  return pm__way_around(w, pm__nic_rail(w, from), pm__nic_node(w, from), pm__nic_node(w, to), t_ps,
                        out);
}
PM__PRIVATE bool pm__node_is_out(const pm_world *w, int nic, int64_t t_ps) {
  const struct pm__net *net = w->net;
  int i;
  for (i = 0; net && i < net->outage_count; i++)
    if (net->outages[i].node == pm__nic_node(w, nic) + 1 &&
        pm__outage_holds(&net->outages[i], t_ps))
      return true;
  return false;
}
PM__PRIVATE bool pm__died_between(const pm_world *w, int nic, int64_t t_from_ps, int64_t t_to_ps) {
  const pm_faults *f = &w->desc.faults;
  const int node = pm__nic_node(w, nic);
  int i;
  for (i = 0; i < f->outage_count; i++) {
    const pm_outage *o = &f->outages[i];
    if (o->node == node + 1 && o->kind >= PM_OUTAGE_CRASH && pm__ps(o->t_down_ns) >= t_from_ps &&
        pm__ps(o->t_down_ns) <= t_to_ps)
      return true;
  }
  return false;
}
static int64_t pm__latency_ps(const pm_world *w, const uint32_t *way, int count) {
  int64_t latency_ps = 0;
  int i;
  for (i = 0; i < count; i++) latency_ps += pm__hop_ps(w, way[i], i);
  return latency_ps;
}
/* The fixed way first: mostly nothing on it is down, and a search may visit all vertices. */
PM__PRIVATE int pm__way_at(pm_world *w, int from, int to, int64_t t_ps, uint32_t *out,
                           int64_t *latency_ps) {
  int i, n = pm__route(w, from, to, out, latency_ps);
  for (i = 0; w->net && i < n; i++) {
    if (!pm__link_is_dead(w, out[i], t_ps)) continue;
    n = pm__way_of_nics(w, from, to, t_ps, out);
    *latency_ps = pm__latency_ps(w, out, n);
    break;
  }
  return n;
}
PM__PRIVATE bool pm__is_cut(pm_world *w, int from, int to, int64_t t_ps) {
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t latency_ps;
  return w->net && pm__way_at(w, from, to, t_ps, way, &latency_ps) < 0;
}
/* Until when an outage that begins spoils a try: its own node's while bytes still leave it, others until all of
   it is there. -1: it is on no link of the way. */
static int64_t pm__spoils_until_ps(const pm_world *w, const pm_outage *o, const pm__try *t,
                                   const uint32_t *way, int count, bool is_own) {
  const int64_t t_left_ps = pm__later(t->t_begin_ps, t->own_ps);
  int i;
  if (is_own) return t_left_ps - 1; /* at that time all has left */
  for (i = 0; i < count; i++)
    if (pm__outage_takes(w, o, way[i])) return pm__later(t_left_ps, t->way_ps);
  return -1;
}
PM__PRIVATE void pm__try_fails(pm_world *w, int from, int to, pm__try *t) {
  const struct pm__net *net = w->net;
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t latency_ps;
  int i, n;
  t->t_lost_ps = PM__FOREVER;
  if (!net) return;
  n = pm__way_at(w, from, to, t->t_begin_ps, way, &latency_ps);
  if (n < 0) t->t_lost_ps = t->t_begin_ps;
  for (i = 0; i < net->outage_count && n >= 0; i++) {
    const pm_outage *o = &net->outages[i];
    const int64_t t_down_ps = pm__ps(o->t_down_ns);
    const bool is_own = o->node == pm__nic_node(w, from) + 1 && from != to;
    if (t_down_ps > t->t_begin_ps && t_down_ps < t->t_lost_ps &&
        t_down_ps <= pm__spoils_until_ps(w, o, t, way, n, is_own))
      t->t_lost_ps = t_down_ps;
  }
}
/* A way of the fixed routing, changed when a cable of it is down now: true. One that is cut stays as it is. */
PM__PRIVATE bool pm__way_now(pm_world *w, pm__known_way *way) {
  uint32_t other[PM__ROUTE_MAX + 2];
  int i, n;
  for (i = 0; i < way->link_count; i++)
    if (pm__link_is_dead(w, way->link[i], w->now_ps)) break;
  if (i >= way->link_count) return false;
  n = pm__way_of_nics(w, way->from, way->to, w->now_ps, other);
  if (n < 1 || !pm__way_take(way, other, n)) return false;
  way->latency_ps = pm__latency_ps(w, other, n);
  return true;
}

/* ---- the world's part --------------------------------------------------------------------------------- */
/* The next failure or repair after now. One event at a time, however many outages: the next is
   looked for when this one has come. */
static void pm__change_next(pm_world *w) {
  const struct pm__net *net = w->net;
  int64_t t_next_ps = PM__FOREVER;
  int i, k;
  for (i = 0; i < net->outage_count; i++)
    for (k = 0; k < 2; k++) {
      int64_t t_ps = pm__ps(net->outages[i].t_down_ns);
      if (k && !net->outages[i].d_down_ns) continue;
      if (k) t_ps = pm__later(t_ps, pm__ps(net->outages[i].d_down_ns));
      if (t_ps > w->now_ps && t_ps < t_next_ps) t_next_ps = t_ps;
    }
  if (t_next_ps >= PM__END) return;
  pm__schedule(w, &w->net->change, t_next_ps);
  w->idle_count++; /* it is nothing to wait for */
}
static void pm__cable_failed(pm_world *w, uint32_t link) {
  const uint32_t back = pm__link_back(w, link);
  pm__link_failed(w, link);
  pm__link_failed(w, back);
  pm__packets_failed(w, link);
  pm__packets_failed(w, back);
}
static void pm__change(pm_world *w, pm__event *event) {
  const struct pm__net *net = w->net;
  const uint32_t links = (uint32_t)w->net_link_count;
  uint32_t i, link;
  int k;
  (void)event;
  w->idle_count--;
  /* Forgotten, also those without a failed link: a repair may have made their own way free
     again. First, since what fails below asks for ways anew. */
  for (i = 0; i < w->way_max; i++) w->ways[i].link_count = 0;
  for (i = 0; i < (uint32_t)net->outage_count; i++) {
    const pm_outage *o = &net->outages[i];
    if (!pm__outage_holds(o, w->now_ps)) continue;
    if (!o->node) pm__cable_failed(w, (uint32_t)o->link);
    for (link = 0; o->node && link < links; link += (uint32_t)net->link_count)
      for (k = net->first[o->node - 1]; k < net->first[o->node]; k++)
        pm__cable_failed(w, link + (uint32_t)net->out[k]);
  }
  pm__stranded_go(w);
  pm__change_next(w);
}
/* A node whose processes alone stand still is no matter of the network. ret false: out of memory */
static bool pm__net_outages(struct pm__net *net, const pm_faults *f) {
  int i;
  net->outages = (pm_outage *)pm__zalloc((size_t)(f->outage_count + 1) * sizeof(pm_outage));
  if (!net->outages) return false;
  for (i = 0; i < f->outage_count; i++)
    if (!f->outages[i].node || f->outages[i].kind != PM_OUTAGE_STOP)
      net->outages[net->outage_count++] = f->outages[i];
  if (f->down_node && f->d_down_ns > 0) {
    pm_outage *o = &net->outages[net->outage_count++];
    o->node = f->down_node;
    o->t_down_ns = f->t_down_ns;
    o->d_down_ns = f->d_down_ns;
  }
  return true;
}
PM__PRIVATE bool pm__net_make(pm_world *w) {
  struct pm__net *net = (struct pm__net *)pm__zalloc(sizeof *net);
  const int n = (int)pm__rail_links(w);
  int i, v, n_out, ends[2];
  if (!net) return false;
  w->net = net;
  if (!pm__net_outages(net, &w->desc.faults)) return false;
  net->link_count = n;
  net->from = (int *)pm__zalloc(((size_t)n + 1) * sizeof(int));
  net->to = (int *)pm__zalloc(((size_t)n + 1) * sizeof(int));
  net->out = (int *)pm__zalloc(((size_t)n + 1) * sizeof(int));
  if (!net->from || !net->to || !net->out) return false;
  net->vertex_count = (int)w->plat.node_count;
  for (i = 0; i < n; i++) {
    pm__link_ends(w, i, ends);
    net->from[i] = ends[0];
    net->to[i] = ends[1];
    if (ends[0] >= net->vertex_count) net->vertex_count = ends[0] + 1;
    if (ends[1] >= net->vertex_count) net->vertex_count = ends[1] + 1;
  }
  net->first = (int *)pm__zalloc(((size_t)net->vertex_count + 2) * sizeof(int));
  net->queue = (int *)pm__zalloc(((size_t)net->vertex_count + 1) * sizeof(int));
  net->via = (int *)pm__zalloc(((size_t)net->vertex_count + 1) * sizeof(int));
  if (!net->first || !net->queue || !net->via) return false;
  /* Links sorted by where they begin, by counting: first[v + 1] is how many begin at v, then the
     end of v's part of `out`, then, one less for each link put there, its beginning. From the
     last link down, so that a vertex's links stand by number. At last the index moves back by
     one. */
  for (i = 0; i < n; i++) net->first[net->from[i] + 1] += net->from[i] != net->to[i];
  for (v = 0; v < net->vertex_count; v++) net->first[v + 1] += net->first[v];
  n_out = net->first[net->vertex_count];
  for (i = n - 1; i >= 0; i--)
    if (net->from[i] != net->to[i]) net->out[--net->first[net->from[i] + 1]] = i;
  for (v = 0; v < net->vertex_count; v++) net->first[v] = net->first[v + 1];
  net->first[net->vertex_count] = n_out;
  net->change.fn = pm__change;
  w->now_ps = -1; /* one may fail at 0 */
  pm__change_next(w);
  w->now_ps = 0;
  return true;
}
PM__PRIVATE void pm__net_free(pm_world *w) {
  struct pm__net *net = w->net;
  if (!net) return;
  PM_FREE(net->outages);
  PM_FREE(net->from);
  PM_FREE(net->to);
  PM_FREE(net->first);
  PM_FREE(net->out);
  PM_FREE(net->queue);
  PM_FREE(net->via);
  PM_FREE(net);
}
#ifdef NBC_LINES
#line 6 "src/portals/threads.h"
#endif
enum { PM__GUARDED_MAX = 16000, PM__STACKS_PER_SLAB = 64, PM__PAGE = 4096, PM__STACK_TOP = 64 };
#define PM__CANARY 0x5AFE57AC4B0770B5u
PM__PRIVATE uint64_t *pm__stack_canary(const pm_thread *t);
PM__PRIVATE void pm__context_enter(pm_world *w, pm_thread *t);
#ifndef PM_USE_UCONTEXT
PM__PRIVATE __attribute__((noinline)) void pm__context_switch(void **save, void *load);
#endif
PM__PRIVATE void pm__resume(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__sleeps(pm_world *w, pm_thread *t, int64_t t_ps, const char *what);
PM__PRIVATE bool pm__is_put_off(pm_world *w, pm_thread *t, int64_t d_ps, const char *what);
PM__PRIVATE void pm__leave(pm_thread *t);
PM__PRIVATE void pm__block(int64_t t_ps, const char *what);
PM__PRIVATE void pm__busy(int64_t d_ps, const char *what);
PM__PRIVATE void pm__cpu(int64_t d_ns);
PM__PRIVATE void pm__come_home(void);
PM__PRIVATE void pm__cores_stop(pm_world *w, int node, bool stands_still);
PM__PRIVATE bool pm__pays(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__thread_bury(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__thread_ended(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__leave_for_good(pm_world *w, pm_thread *t);
PM__PRIVATE int pm__thread_start(pm_thread *t);
PM__PRIVATE pm_thread *pm__thread_new(pm_process *proc, void (*entry)(void *arg), void *arg,
                                      size_t stack_bytes);
#ifdef NBC_LINES
#line 1 "src/portals/threads.c"
#endif

static void pm__thread_main(void);
/* ---- contexts ---------------------------------------------------------------------------------- */
/* pm__context_switch saves the running context in *save and continues in load. The assembly keeps
   what a compiler may not list as clobbered (frame and base pointer, control words of the
   floating-point units) and tells it that all else is gone; so the compiler saves what is alive
   around the switch, and nothing else. A new context starts like a saved one whose resume address
   is pm__thread_main.

   A saved context of x86-64, from its stack pointer upwards: the address to go on at, mxcsr and the
   x87 control word, rbx, rbp, then 128 bytes of red zone, which the code before may still use below
   its own stack pointer. aarch64: x9 (the address) and x19, x29 and x30, fpcr; it has no red
   zone. */
/* ThreadSanitizer is told right before each switch, in the same function: it keeps count of functions that were
   entered, per fibre. */
#ifdef PM__TSAN
#  define PM__FIBER_ENTERS(w, t)                                                                   \
    ((w)->tsan_fiber = __tsan_get_current_fiber(), __tsan_switch_to_fiber((t)->tsan_fiber, 0))
#  define PM__FIBER_LEAVES(w) __tsan_switch_to_fiber((w)->tsan_fiber, 0)
#else
#  define PM__FIBER_ENTERS(w, t) ((void)0)
#  define PM__FIBER_LEAVES(w)    ((void)0)
#endif
#if defined(PM_USE_UCONTEXT)
static void pm__context_make(pm_world *w, pm_thread *t) {
  getcontext(&t->uc);
  t->uc.uc_stack.ss_sp = t->stack;
  t->uc.uc_stack.ss_size = t->stack_bytes - PM__STACK_TOP;
  t->uc.uc_link = &w->uc;
  makecontext(&t->uc, pm__thread_main, 0);
}
PM__PRIVATE void pm__context_enter(pm_world *w, pm_thread *t) {
  PM__FIBER_ENTERS(w, t);
  swapcontext(&w->uc, &t->uc);
}
static void pm__context_leave(pm_world *w, pm_thread *t) {
  PM__FIBER_LEAVES(w);
  swapcontext(&t->uc, &w->uc);
}
#else
#  if defined(__x86_64__)
#    ifdef __AVX512F__
#      define PM__AVX512_CLOBBERS                                                                  \
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",  \
            "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5",    \
            "k6", "k7",
#    else
#      define PM__AVX512_CLOBBERS
#    endif
PM__PRIVATE __attribute__((noinline)) void pm__context_switch(void **save, void *load) {
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* past the red zone */
                   "pushq %%rbp\n\t"
                   "pushq %%rbx\n\t"
                   "subq $8, %%rsp\n\t"
                   "stmxcsr (%%rsp)\n\t"
                   "fnstcw 4(%%rsp)\n\t"
                   "leaq 1f(%%rip), %%rax\n\t"
                   "pushq %%rax\n\t"
                   "movq %%rsp, (%%rdi)\n\t"
                   "movq %%rsi, %%rsp\n\t"
                   "popq %%rax\n\t"
                   "ldmxcsr (%%rsp)\n\t"
                   "fldcw 4(%%rsp)\n\t"
                   "addq $8, %%rsp\n\t"
                   "popq %%rbx\n\t"
                   "popq %%rbp\n\t"
                   "leaq 128(%%rsp), %%rsp\n\t"
                   "jmpq *%%rax\n"
                   "1:\n"
                   : "+D"(save), "+S"(load)
                   :
                   : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", PM__AVX512_CLOBBERS "st",
                     "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "memory", "cc");
}
/* A stack as pm__context_switch leaves one, to be gone on with at pm__thread_main:

     top - 248  address, mxcsr and x87 control word, rbx, rbp, 128 bytes taken for a red zone
     top -  88  0: the return address of pm__thread_main, where walks over the stack end

   mxcsr and control word are those with which System V's ABI of x86-64 begins a process. */
static void *pm__context_first(char *top) {
  uint64_t *frame = (uint64_t *)(void *)(top - 248); /* pm__thread_main starts at 8 modulo 16 */
  uint32_t mxcsr = 0x1F80, x87 = 0x037F;
  memset(frame, 0, 248);
  frame[0] = (uint64_t)(uintptr_t)pm__thread_main;
  memcpy(&frame[1], &mxcsr, 4);
  memcpy((char *)&frame[1] + 4, &x87, 4);
  return frame;
}
#  else /* aarch64 */
PM__PRIVATE __attribute__((noinline)) void pm__context_switch(void **save, void *load) {
  register void **x0 __asm__("x0") = save;
  register void *x1 __asm__("x1") = load;
  __asm__ volatile("adr x9, 1f\n\t"
                   "sub sp, sp, #48\n\t"
                   "stp x9, x19, [sp]\n\t"
                   "stp x29, x30, [sp, #16]\n\t"
                   "mrs x9, fpcr\n\t"
                   "str x9, [sp, #32]\n\t"
                   "mov x9, sp\n\t"
                   "str x9, [x0]\n\t"
                   "mov sp, x1\n\t"
                   "ldr x9, [sp, #32]\n\t"
                   "msr fpcr, x9\n\t"
                   "ldp x29, x30, [sp, #16]\n\t"
                   "ldp x9, x19, [sp]\n\t"
                   "add sp, sp, #48\n\t"
                   "br x9\n"
                   "1:\n"
                   : "+r"(x0), "+r"(x1)
                   :
                   : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                     "x14", "x15", "x16", "x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
                     "x27", "x28", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
                     "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
                     "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
                     "memory", "cc");
}
/* x29 and x30 are 0, where walks over the stack end; fpcr 0 rounds to nearest. */
static void *pm__context_first(char *top) {
  uint64_t *frame = (uint64_t *)(void *)(top - 64);
  memset(frame, 0, 64);
  frame[0] = (uint64_t)(uintptr_t)pm__thread_main;
  return frame;
}
#  endif
static void pm__context_make(pm_world *w, pm_thread *t) {
  (void)w;
  t->sp = pm__context_first(t->stack + t->stack_bytes - PM__STACK_TOP);
}
/* Called through a pointer that no compiler can follow: else it might keep variables of this file, or
   of a guest in the same file, in registers because no code it sees could change them. */
PM__PRIVATE void pm__context_enter(pm_world *w, pm_thread *t) {
  PM__FIBER_ENTERS(w, t);
  w->context_switch(&w->scheduler_sp, t->sp);
}
static void pm__context_leave(pm_world *w, pm_thread *t) {
  PM__FIBER_LEAVES(w);
  w->context_switch(&t->sp, w->scheduler_sp);
}
#endif

/* Stacks are cut from slabs with a page that may not be touched below each, and used again. The
   kernel limits the number of such pages (two mappings each): later stacks go without, and rely on
   the word below that page, at the top of the stack before, that every switch looks at. It lies in a page
   that is in use anyhow. */

PM__PRIVATE uint64_t *pm__stack_canary(const pm_thread *t) {
  return (uint64_t *)(void *)(t->stack - PM__PAGE - PM__STACK_TOP);
}
/* One slab, from its lowest address upwards:

     | page, word 0 | guard 0 | stack 0, word 1 | guard 1 | stack 1, word 2 | guard 2 | ...

   Stacks grow to the left: what leaves stack 1 meets guard 1, and where that page may be touched,
   it reaches word 1, which lies above all frames of stack 0 (PM__STACK_TOP). */
static char *pm__stack_map(pm_world *w, size_t stack_bytes, int count) {
  const size_t each = stack_bytes + PM__PAGE,
               bytes = PM__PAGE + each * (size_t)count; /* the first page: for the first canary */
  pm__slab *slab = (pm__slab *)PM_MALLOC(sizeof *slab);
  void *base =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!slab || base == MAP_FAILED) {
    if (base != MAP_FAILED) munmap(base, bytes);
    PM_FREE(slab);
    return NULL;
  }
  slab->next = w->slabs;
  slab->base = (char *)base;
  slab->bytes = bytes;
  w->slabs = slab;
  return slab->base + 2 * PM__PAGE;
}
/* A stack that nobody had before. Its guard is made, and its pages are touched, when it is handed out: most
   worlds are small, and a slab costs them one call of the kernel. */
static char *pm__stack_untaken(pm_world *w, size_t stack_bytes) {
  char *stack = NULL;
  if (stack_bytes != w->desc.stack_bytes)
    stack = pm__stack_map(w, stack_bytes, 1);
  else {
    if (w->untaken_count == 0 && (w->untaken = pm__stack_map(w, stack_bytes, PM__STACKS_PER_SLAB)))
      w->untaken_count = PM__STACKS_PER_SLAB;
    if (w->untaken_count > 0) {
      stack = w->untaken;
      w->untaken += stack_bytes + PM__PAGE;
      w->untaken_count--;
    }
  }
  if (stack && (w->stats.stack_count >= PM__GUARDED_MAX ||
                mprotect(stack - PM__PAGE, PM__PAGE, PROT_NONE) != 0))
    w->has_unguarded = true;
  return stack;
}
/* Stacks of the default size are cut from slabs and used again; others are made alone. The link of the list of
   free stacks lies in the topmost page, which their threads have touched. */
static char *pm__stack_get(pm_world *w, size_t stack_bytes) {
  char *stack;
  if (stack_bytes == w->desc.stack_bytes && w->free_stacks) {
    stack = (char *)w->free_stacks + PM__PAGE - stack_bytes;
    w->free_stacks = w->free_stacks->next;
  } else
    stack = pm__stack_untaken(w, stack_bytes);
  if (stack) w->stats.stack_count++;
  return stack;
}
static void pm__stack_put(pm_world *w, char *stack, size_t stack_bytes) {
  pm__stack *s;
#ifdef PM__ASAN
  ASAN_UNPOISON_MEMORY_REGION(stack, stack_bytes); /* frames that were left for good */
#endif
  if (stack_bytes != w->desc.stack_bytes) return; /* odd sizes stay until the world ends */
  s = (pm__stack *)(void *)(stack + stack_bytes - PM__PAGE);
  s->next = w->free_stacks;
  w->free_stacks = s;
}

/* ---- threads ----------------------------------------------------------------------------------- */
/* Threads that may run at one time run in the order in which they became ready: first in, first
   out. */
static void pm__make_ready(pm_world *w, pm_thread *t) {
  t->state = PM__READY;
  t->next_ready = NULL;
  if (w->ready_tail)
    w->ready_tail->next_ready = t;
  else
    w->ready_head = t;
  w->ready_tail = t;
}
/* The thread goes on at the present time.
   Whoever resumes need not know what the thread does: one that runs, is ready or has ended stays
   so. The timer goes too: it would end a later wait of this thread. */
PM__PRIVATE void pm__resume(pm_world *w, pm_thread *t) {
  if (t->state != PM__BLOCKED) return;
  pm__unschedule(w, &t->timer);
  w->idle_count -= t->counts_idle;
  t->polling = t->counts_idle = 0;
  pm__make_ready(w, t);
}
/* A thread that is ahead needs no turn of its own where nobody else has one: whatever the loop would do
   first is done. */
static void pm__timer_fired(pm_world *w, pm__event *event) {
  pm_thread *t = (pm_thread *)event;
  t->timed_out = 1;
  if (!t->is_ahead || !w->is_plain || w->ready_head || w->stopped) {
    pm__resume(w, t);
    return;
  }
  w->idle_count -= t->counts_idle;
  t->polling = t->counts_idle = 0;
  t->state = PM__READY;
  if (!pm__goes_ahead(w, t)) pm__make_ready(w, t);
}
/* Sleepers that are idle count apart (idle_count): when the future holds nothing but timers of
   threads that only look for messages, nothing can come any more, and the world can tell a
   deadlock. */
PM__PRIVATE void pm__sleeps(pm_world *w, pm_thread *t, int64_t t_ps, const char *what) {
  t->state = PM__BLOCKED;
  t->what = what;
  t->t_ran_ps = w->now_ps;
  t->timed_out = 0;
  t->takes_cpu = false;
  if (t_ps != PM__FOREVER) {
    t->t_wake_ps = t_ps;
    pm__schedule(w, &t->timer, t_ps);
    t->counts_idle = t->is_idle;
    w->idle_count += t->is_idle;
  }
}
/* Leaves the running thread, which sleeps, until it is resumed. */
PM__PRIVATE void pm__leave(pm_thread *t) {
  pm_world *w = t->proc->world;
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(&t->asan_fake, w->asan_bottom, w->asan_bytes);
#endif
  pm__context_leave(w, t);
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(t->asan_fake, &w->asan_bottom, &w->asan_bytes);
#endif
}
/* The same until pm__resume. t_ps PM__FOREVER: no timer. */
PM__INLINE void pm__block(int64_t t_ps, const char *what) {
  pm__sleeps(pm__current->proc->world, pm__current, t_ps, what);
  pm__leave(pm__current);
}
/* A thread is busy for so long. ret whether it sleeps now; else that time has passed */
PM__INLINE bool pm__is_put_off(pm_world *w, pm_thread *t, int64_t d_ps, const char *what) {
  const int64_t t_ps = pm__later(w->now_ps, d_ps);
  if (d_ps <= 0) return false;
  t->poll_streak = 0;
  if (pm__time_passes(w, t_ps)) return false;
  pm__sleeps(w, t, t_ps, what);
  t->takes_cpu = true;
  return true;
}
PM__INLINE void pm__busy(int64_t d_ps, const char *what) {
  pm_thread *t = pm__current;
  if (pm__is_put_off(t->proc->world, t, d_ps, what)) pm__leave(t);
}
/* A thread that would run now just to find that its event is there and to pay for it: it pays without
   running.
   This saves one of two switches per event: the thread would see its event, sleep for the cost, and
   run again (is_over is set). The same is looked at and slept for, at the same time and in the same order, so
   results do not change. When the thread was woken in vain it runs, and asks for this anew.
   ret whether it sleeps now */
PM__PRIVATE bool pm__pays(pm_world *w, pm_thread *t) {
  const int64_t d_ns = w->plat.cpu_event_ns, t_ps = pm__later(w->now_ps, w->d_look_ps);
  const bool is_over = t->is_over(t);
  t->is_over = NULL;
  if (!is_over) return false;
  t->has_paid = true;
  t->waits_for_ptl = 0;
  t->describe = NULL;
  if (d_ns <= 0) return false;
  t->poll_streak = 0;
  if (pm__time_passes(w, t_ps)) return false;
  t->is_idle = d_ns <= w->plat.cpu_poll_max_ns;
  if (w->is_large) pm__ask_for(t->sp, 6);
  pm__sleeps(w, t, t_ps, "a Portals call");
  return true;
}
PM__PRIVATE void pm__cpu(int64_t d_ns) {
  pm__current->is_idle = d_ns <= pm__current->proc->world->plat.cpu_poll_max_ns;
  pm__busy(pm__ps(d_ns), "a Portals call");
  pm__current->is_idle = 0;
}

/* Before the last thread of a process ends, or an interface closes: see windows.c. */
PM__PRIVATE void pm__come_home(void) {
  const pm_process *p = pm__current ? pm__current->proc : NULL;
  while (p && p->world->whole && p->under_way)
    pm__busy(p->world->d_loggp_none_ps, "operations under way");
}
static void pm__cores_leave(pm_world *w, pm_thread *t);
/* Only the scheduler's side may free a stack that was just run on. */
PM__PRIVATE void pm__thread_bury(pm_world *w, pm_thread *t) {
  if (!t->stack) return;
#ifdef PM_WITH_VALGRIND
  VALGRIND_STACK_DEREGISTER(t->valgrind_id);
#endif
#ifdef PM__TSAN
  __tsan_destroy_fiber(t->tsan_fiber);
#endif
  pm__stack_put(w, t->stack, t->stack_bytes);
  t->stack = NULL;
}
/* A process ends with its last thread. pm_exit has set `ended` and counted the process before it
   ends the threads, so that it is counted once. */
PM__PRIVATE void pm__thread_ended(pm_world *w, pm_thread *t) {
  t->state = PM__ENDED;
  if (t->is_computing) pm__cores_leave(w, t);
  w->live_threads--;
  if (t->joiner) pm__resume(w, t->joiner);
  if (--t->proc->live_threads == 0 && !t->proc->ended) {
    t->proc->ended = 1;
    w->live_processes--;
    pm__ptl_process_ended(t->proc);
  }
}
PM__PRIVATE void pm__leave_for_good(pm_world *w, pm_thread *t) {
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(NULL, w->asan_bottom, w->asan_bytes);
#endif
  pm__context_leave(w, t);
}
static void pm__thread_main(void) {
  pm_thread *t = pm__current;
  pm_world *w = t->proc->world;
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(NULL, &w->asan_bottom, &w->asan_bytes);
#endif
  t->entry(t->arg);
  if (t->has_steps) pm__catch_up();
  if (t->proc->live_threads == 1) pm__come_home();
  pm__thread_ended(w, t);
  pm__leave_for_good(w, t);
}
/* A new thread, or one that has ended, from its entry on.
   The place in the list of the process stays: a thread that is started again is in it already.
   ret 0: out of memory */
PM__PRIVATE int pm__thread_start(pm_thread *t) {
  pm_world *w = t->proc->world;
  t->stack = pm__stack_get(w, t->stack_bytes);
  if (!t->stack) return 0;
  *pm__stack_canary(t) = PM__CANARY;
  t->asan_fake = NULL;
  t->proc->live_threads++;
  w->live_threads++;
#ifdef PM_WITH_VALGRIND
  t->valgrind_id = VALGRIND_STACK_REGISTER(t->stack, t->stack + t->stack_bytes);
#endif
#ifdef PM__TSAN
  t->tsan_fiber = __tsan_create_fiber(0);
#endif
  pm__context_make(w, t);
  pm__make_ready(w, t);
  return 1;
}
PM__PRIVATE pm_thread *pm__thread_new(pm_process *proc, void (*entry)(void *arg), void *arg,
                                      size_t stack_bytes) {
  pm_world *w = proc->world;
  pm_thread *t = stack_bytes > SIZE_MAX / 2 ? NULL : (pm_thread *)pm__lines_take(w, sizeof *t);
  if (!t) return NULL;
  t->stack_bytes =
      stack_bytes ? (stack_bytes + PM__PAGE - 1) / PM__PAGE * PM__PAGE : w->desc.stack_bytes;
  if (t->stack_bytes < 4 * PM__PAGE) t->stack_bytes = 4 * PM__PAGE;
  t->timer.fn = pm__timer_fired;
  t->proc = proc;
  t->entry = entry;
  t->arg = arg;
  if (!pm__thread_start(t)) return NULL;
  t->next_in_proc = proc->threads;
  proc->threads = t;
  w->stats.memory_bytes += sizeof *t;
  return t;
}

PM_API pm_thread *pm_thread_create(void (*entry)(void *arg), void *arg, size_t stack_bytes) {
  if (!pm__current || !entry) return NULL;
  /* Only the one thread of a process may run ahead: see ahead.c. */
  if (pm__current->has_steps) pm__catch_up();
  return pm__thread_new(pm__current->proc, entry, arg, stack_bytes);
}
PM_API pm_thread *pm_thread_self(void) { return pm__current; }
/* ---- shared cores: processor sharing, a heap of threads and one event per node ------------------------ */
/* a * b / c for b, c that are numbers of threads and cores; rounded up if asked for. In whole
   numbers, since sums of these times must come out the same in every run: a = q c + r, so a b / c =
   q b + r b / c, and neither product leaves 64 bits for times below PM__END. */
static int64_t pm__share_ps(int64_t a_ps, int64_t b, int64_t c, bool is_up) {
  const int64_t whole = a_ps / c, rest = a_ps % c * b;
  if (whole > PM__END / b) return PM__END;
  return pm__later(whole * b, (rest + (is_up ? c - 1 : 0)) / c);
}
static bool pm__cores_are_short(const pm_world *w, const pm__cores *c) {
  return c->count > w->plat.cores_per_node_count;
}
/* Up to now. v_ps is virtual time: it grows by what each computing thread gets, which is the same
   for all, so one number serves for all. A thread ends when v reaches what v was at its begin plus
   its own time. The order of these ends never changes: who comes later only makes v slower.
   [Processor sharing by virtual time, as in fair queueing: Demers, Keshav and Shenker, SIGCOMM
   1989.] */
static void pm__cores_advance(const pm_world *w, pm__cores *c) {
  const int64_t d_ps = w->now_ps - c->t_ps;
  c->v_ps = pm__later(c->v_ps, pm__cores_are_short(w, c)
                                   ? pm__share_ps(d_ps, w->plat.cores_per_node_count, c->count, 0)
                                   : d_ps);
  c->t_ps = w->now_ps;
}
static void pm__cores_next(pm_world *w, pm__cores *c) {
  int64_t d_ps;
  pm__unschedule(w, &c->event);
  if (!c->count) return;
  /* Rounded up: at that time v has reached the end, not nearly. */
  d_ps = pm__max_ps(c->heap[0]->v_end_ps - c->v_ps, 0);
  if (pm__cores_are_short(w, c))
    d_ps = pm__share_ps(d_ps, c->count, w->plat.cores_per_node_count, 1);
  pm__schedule(w, &c->event, pm__later(w->now_ps, d_ps));
}
static bool pm__cores_before(const pm_thread *a, const pm_thread *b) {
  return a->v_end_ps != b->v_end_ps ? a->v_end_ps < b->v_end_ps : a->cores_order < b->cores_order;
}
static void pm__cores_put(pm__cores *c, int i, pm_thread *t) {
  c->heap[i] = t;
  t->cores_place = i;
}
static void pm__cores_up(pm__cores *c, int i, pm_thread *t) {
  for (; i && pm__cores_before(t, c->heap[(i - 1) / 2]); i = (i - 1) / 2)
    pm__cores_put(c, i, c->heap[(i - 1) / 2]);
  pm__cores_put(c, i, t);
}
static void pm__cores_remove(pm__cores *c, pm_thread *t) {
  pm_thread *last = c->heap[--c->count];
  int i = t->cores_place, child;
  t->is_computing = 0;
  if (last == t) return;
  /* All the way down first: the last one belongs near the bottom, so this takes about half the
     comparisons. From there it may rise above the gap, since it can come from another branch. */
  while ((child = 2 * i + 1) < c->count) { /* the gap goes down, then the last one up from there */
    if (child + 1 < c->count && pm__cores_before(c->heap[child + 1], c->heap[child])) child++;
    pm__cores_put(c, i, c->heap[child]);
    i = child;
  }
  pm__cores_up(c, i, last);
}
static void pm__cores_event(pm_world *w, pm__event *event) {
  pm__cores *c = (pm__cores *)event;
  pm__cores_advance(w, c);
  while (c->count && c->heap[0]->v_end_ps <= c->v_ps) {
    pm_thread *t = c->heap[0];
    pm__cores_remove(c, t);
    pm__resume(w, t);
  }
  pm__cores_next(w, c);
}
/* The node stands still, or goes on. */
PM__PRIVATE void pm__cores_stop(pm_world *w, int node, bool stands_still) {
  pm__cores *c = w->nodes[node].cores;
  if (!c) return;
  if (stands_still) {
    pm__cores_advance(w, c);
    pm__unschedule(w, &c->event);
  } else {
    c->t_ps = w->now_ps;
    pm__cores_next(w, c);
  }
}
/* One that computes is ended by another thread of its process. */
static void pm__cores_leave(pm_world *w, pm_thread *t) {
  pm__cores *c = w->nodes[t->proc->node].cores;
  pm__cores_advance(w, c);
  pm__cores_remove(c, t);
  pm__cores_next(w, c);
}
/* The running thread computes beside those that do. */
static void pm__cores_compute(pm_world *w, int64_t d_ps) {
  pm_thread *t = pm__current;
  pm__node *n = &w->nodes[t->proc->node];
  pm__cores *c = n->cores;
  void *array;
  if (!c) {
    c = n->cores = (pm__cores *)pm__zalloc(sizeof *c);
    if (!c) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: cores");
      return;
    }
    c->event.fn = pm__cores_event;
    w->stats.memory_bytes += sizeof *c;
  }
  array = c->heap;
  if (!pm__grow(&array, &c->max, c->count + 1, sizeof *c->heap)) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: cores");
    return;
  }
  c->heap = (pm_thread **)array;
  pm__cores_advance(w, c);
  /* From idle, v starts anew, so that it never grows without an end. */
  if (!c->count) c->v_ps = 0;
  t->v_end_ps = pm__later(c->v_ps, d_ps);
  t->cores_order = c->order++;
  t->is_computing = 1;
  t->poll_streak = 0;
  pm__cores_up(c, c->count++, t);
  pm__cores_next(w, c);
  pm__block(PM__FOREVER, "computation");
}
static void pm__compute(int64_t d_ns) {
  pm_world *w = pm__current->proc->world;
  const int64_t t_ps = w->now_ps;
  pm__current->is_vain = 0;
  if (w->plat.cores_are_shared && d_ns > 0) {
    pm__cores_compute(w, pm__ps(d_ns));
    pm__trace_compute(w, t_ps, w->now_ps);
    return;
  }
  pm__trace_compute(w, t_ps, pm__later(t_ps, pm__ps(d_ns)));
  pm__busy(pm__ps(d_ns), "computation");
}
PM_API void pm_compute_ns(int64_t d_ns) {
  if (!pm__current) return;
  pm_compute_measured();
  if (d_ns > 0) pm__compute(d_ns);
}
PM_API void pm_compute_measured(void) {
  const pm_world_desc *desc;
  int64_t d_ns;
  if (!pm__current) return;
  if (pm__current->has_steps && !pm__current->defers) pm__catch_up();
  desc = &pm__current->proc->world->desc;
  if (!(desc->compute_ratio > 0)) return;
  if (pm__current->is_unmeasured) return;
  /* pm__enter set the mark anew: what others computed meanwhile is not in it. Short times are left
     out, not saved up: they are mostly the cost of being measured. */
  d_ns = PM_HOST_CPU_NS() - pm__current->mark_ns;
  if (d_ns >= desc->compute_min_ns) pm__compute((int64_t)((double)d_ns * desc->compute_ratio));
  pm__current->mark_ns = PM_HOST_CPU_NS();
}
PM_API bool pm_compute_unmeasured(bool is_unmeasured) {
  if (!pm__current) return false;
  const bool before = pm__current->is_unmeasured;
  if (before == is_unmeasured) return before;
  pm_compute_measured();
  pm__current->is_unmeasured = is_unmeasured;
  if (pm__current->proc->world->desc.compute_ratio > 0) pm__current->mark_ns = PM_HOST_CPU_NS();
  return before;
}
/* What belongs to another part of the world must be left alone. */
static bool pm__is_elsewhere(const pm_thread *thread, const char *text) {
  if (!pm__running || !pm__running->whole ||
      (pm__current && pm__current->proc->node == thread->proc->node))
    return false;
  pm_world_fail(pm__running, PM_E_STATE, text);
  return true;
}
PM_API void pm_thread_join(pm_thread *thread) {
  if (!thread || !pm__current || thread == pm__current) return;
  if (pm__is_elsewhere(thread, "threads: a thread of another node is to be joined")) return;
  if (thread->joiner) return;
  pm_compute_measured();
  thread->joiner = pm__current;
  while (thread->state != PM__ENDED) pm__block(PM__FOREVER, "thread to join");
}
PM_API bool pm_thread_wait(const char *what, int64_t d_ns) {
  pm_thread *t = pm__current;
  pm_world *w;
  bool was_woken;
  if (!t) return false;
  pm_compute_measured();
  w = t->proc->world;
  t->is_idle = t->is_vain;
  t->waits_for_wake = 1;
  /* A wake that came before the wait is not lost: woken is looked at first and cleared after. */
  if (!t->woken) pm__block(d_ns < 0 ? PM__FOREVER : pm__later(w->now_ps, pm__ps(d_ns)), what);
  t->waits_for_wake = 0;
  t->is_idle = 0;
  was_woken = t->woken;
  t->woken = 0;
  return was_woken;
}
PM_API void pm_thread_wake(pm_thread *thread) {
  if (!thread || pm__is_elsewhere(thread, "threads: a thread of another node was woken")) return;
  if (thread->state == PM__ENDED) return;
  if (pm__current && pm__current->has_steps) pm__catch_up();
  thread->woken = 1;
  if (thread->waits_for_wake) pm__resume(thread->proc->world, thread);
}
#ifdef NBC_LINES
#line 7 "src/portals/run.h"
#endif
PM__PRIVATE void pm__poll_pause(void);
PM__PRIVATE double pm__ratio(pm_world *w);
/* All threads but the running one end with their process; those that have ended wait for no barrier. */
PM__PRIVATE void pm__process_ends(pm_process *p, int status);
PM__PRIVATE void pm__barrier_left(pm_world *w);
/* All that wait there go on. */
PM__PRIVATE void pm__barrier_opens(pm_world *w);
/* All that happens before t_ps, in a part of a world. */
PM__PRIVATE void pm__window(pm_world *w, int64_t t_ps);
/* Why the run ends. */
PM__PRIVATE void pm__time_is_over(pm_world *w, bool is_end);
PM__PRIVATE void pm__deadlock(pm_world *w);
PM__PRIVATE bool pm__is_out_of_patience(const pm_world *w);
#ifdef NBC_LINES
#line 1 "src/portals/run.c"
#endif
/* Processes, the loop, worlds: see run.h and world.h. */



/* ---- processes --------------------------------------------------------------------------------- */
PM_API pm_process *pm_self(void) { return pm__current ? pm__current->proc : NULL; }
PM_API int pm_rank(void) { return pm__current ? pm__current->proc->rank : -1; }
PM_API int pm_size(void) { return pm__current ? pm__current->proc->world->proc_count : 0; }
PM_API pm_world *pm_world_of(const pm_process *process) {
  if (!process) return NULL;
  return process->world->whole ? process->world->whole : process->world;
}
PM_API int pm_process_rank(const pm_process *process) { return process ? process->rank : -1; }
PM_API int pm_process_node(const pm_process *process) { return process ? process->node : -1; }
PM_API int pm_process_status(const pm_process *process) { return process ? process->status : -1; }
PM_API int pm_process_restart_count(const pm_process *process) {
  return process ? process->restart_count : 0;
}
PM_API bool pm_process_is_dead(const pm_process *process) { return process && process->is_dead; }
PM_API void pm_process_set_uid(pm_process *process, uint32_t uid) {
  if (process) process->uid = uid;
}
PM_API void pm_process_set_user(pm_process *process, void *user) {
  if (process) process->user = user;
}
PM_API void *pm_process_user(const pm_process *process) { return process ? process->user : NULL; }
PM_API pm_process *pm_process_at(pm_world *world, int rank) {
  return world && rank >= 0 && rank < world->proc_count ? world->procs[rank] : NULL;
}
PM_API int64_t pm_now_ns(void) {
  if (!pm__current) return 0;
  if (pm__current->has_steps) pm__catch_up();
  return pm__current->proc->world->now_ps / PM__PS;
}
PM_API void pm_sleep_ns(int64_t d_ns) {
  if (!pm__current) return;
  pm_compute_measured();
  if (pm__current->defers) {
    pm__sleep_later(pm__current, pm__ps(d_ns));
    return;
  }
  pm__current->is_idle = pm__current->is_vain;
  if (pm__is_put_off(pm__current->proc->world, pm__current, pm__ps(d_ns), "sleep")) {
    pm__current->takes_cpu = false;
    pm__leave(pm__current);
  }
  pm__current->is_idle = 0;
}
/* One look in vain. Idle looks in a row double the pause: a spinning guest lets time pass and costs
   few events; what is delivered to the process ends the pause at once. While nobody in the world does
   anything else, nothing can come but from who computes between its looks, and no time tells that. So pauses stay as they
   are for as many looks of all as take some seconds of the host (16 million in the 20 s that d_poll_deadlock_ns is by itself);
   only then do they grow with the time since, and the end is found soon. */
enum { PM__IDLE_STEPS = 256, PM__PATIENCE_NS = 1250 };
/* Who looks at memory again and again does nothing else, and a look takes a guest's host as long as so many others. */
enum { PM__MEMORY_LOOKS = 64 };
PM__PRIVATE bool pm__is_out_of_patience(const pm_world *w) {
  return w->idle_steps > w->desc.d_poll_deadlock_ns / PM__PATIENCE_NS;
}
static bool pm__poll_pause_of(int64_t d_least_ps) {
  pm_thread *t = pm__current;
  pm_world *w = t->proc->world;
  int64_t d_ns = w->plat.cpu_poll_ns, d_ps;
  if (t->poll_streak > 3) { /* the first looks cost what they cost */
    unsigned doublings = t->poll_streak - 3 < 30 ? t->poll_streak - 3 : 30;
    d_ns <<= doublings;
    if (d_ns > w->plat.cpu_poll_max_ns) d_ns = w->plat.cpu_poll_max_ns;
    if (d_ns < w->plat.cpu_poll_ns) d_ns = w->plat.cpu_poll_ns;
  }
  t->poll_streak++;
  t->is_vain = 1;
  d_ps = pm__max_ps(d_ns * PM__PS, d_least_ps);
  /* Over threads the whole world's idleness counts, as it was when the window began: what else a part does depends on
     which nodes are in it. */
  if (w->t_idle_since_ps >= 0 && pm__is_out_of_patience(w) &&
      (w->whole || w->future_count == (uint32_t)w->idle_count) && !pm__is_carrying(w))
    d_ps = pm__max_ps(d_ps, (w->now_ps - w->t_idle_since_ps) / PM__IDLE_STEPS);
  if (!w->ready_head && !w->stopped && w->future_count > (uint32_t)w->idle_count &&
      pm__next_ps(w) > w->now_ps + d_ps && !pm__is_carrying(w) &&
      !(w->whole && w->now_ps + d_ps >= w->t_limit_ps)) {
    w->now_ps += d_ps; /* something is under way, but later */
    return false;
  }
  t->polling = t->is_idle = 1;
  pm__block(pm__later(w->now_ps, d_ps), "polling: nothing ever arrives");
  t->is_idle = 0;
  if (!t->timed_out) t->poll_streak = 0, t->is_vain = 0;
  return !t->timed_out;
}
PM__PRIVATE void pm__poll_pause(void) { (void)pm__poll_pause_of(0); }
PM_API bool pm_yield_for(int64_t d_ns) {
  if (!pm__current) return false;
  pm_compute_measured();
  pm_thread *const t = pm__current;
  t->waits_for_memory = d_ns > 0;
  t->proc->memory_waiters += t->waits_for_memory;
  if (d_ns > 0 && !t->proc->world->whole) t->proc->world->idle_steps += PM__MEMORY_LOOKS - 1;
  const bool is_delivered = pm__poll_pause_of(pm__ps(d_ns));
  t->proc->memory_waiters -= t->waits_for_memory;
  t->waits_for_memory = false;
  return is_delivered;
}
PM_API void pm_yield(void) { (void)pm_yield_for(0); }
PM__PRIVATE void pm__barrier_opens(pm_world *w) {
  pm_thread *list = NULL, *next;
  w->barrier_count = 0;
  for (; w->barrier_waiters;
       w->barrier_waiters = next) { /* last come first in the list: turn it round */
    next = w->barrier_waiters->next_waiter;
    w->barrier_waiters->next_waiter = list;
    list = w->barrier_waiters;
  }
  for (; list; list = next) {
    next = list->next_waiter;
    pm__resume(w, list);
  }
}
PM_API void pm_barrier(void) {
  pm_thread *t = pm__current;
  pm_world *w;
  if (!t) return;
  pm_compute_measured();
  w = t->proc->world;
  if (++w->barrier_count == w->proc_count && !w->whole) {
    pm__barrier_opens(w);
    return;
  }
  t->next_waiter = w->barrier_waiters;
  w->barrier_waiters = t;
  pm__block(PM__FOREVER, "pm_barrier");
}
enum { PM__CRASHED = 1, PM__FAILED }; /* why the loop is left */
/* Out of a handler of the loop there is no way but the end of the run. */
static void pm__loop_fails(pm_world *w) {
  pm_world_fail(w, PM_E_STATE, "pm_exit was called in a handler of events");
  pm__current = NULL;
#ifndef PM__ASAN
  if (w->desc.catch_crashes) siglongjmp(w->crash_jump, PM__FAILED);
#endif
  fprintf(stderr, "%s\n", w->error);
  abort();
}
PM__PRIVATE void pm__process_ends(pm_process *p, int status) {
  pm_world *w = p->world;
  pm_thread *t;
  p->status = status;
  p->ended = 1;
  w->live_processes--;
  pm__ptl_process_ended(p);
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t == pm__current || t->state == PM__ENDED) continue;
    pm__unschedule(w, &t->timer);
    w->idle_count -= t->counts_idle;
    t->polling = t->counts_idle = 0;
    pm__thread_ended(w, t); /* a place in the ready list is skipped there */
    pm__thread_bury(w, t);
  }
}
PM__PRIVATE void pm__barrier_left(pm_world *w) {
  pm_thread **at = &w->barrier_waiters;
  while (*at)
    if ((*at)->state == PM__ENDED) {
      *at = (*at)->next_waiter;
      w->barrier_count--;
    } else
      at = &(*at)->next_waiter;
}
PM_API void pm_exit(int status) {
  pm_thread *self = pm__current;
  pm_world *w;
  if (!self) return;
  pm_compute_measured();
  w = self->proc->world;
  if (self->is_handling) pm__loop_fails(w);
  pm__come_home();
  pm__process_ends(self->proc, status);
  pm__thread_ended(w, self);
  pm__leave_for_good(w, self);
}

/* ---- the run ----------------------------------------------------------------------------------- */
static void pm__world_error(pm_world *w, pm_status status, const char *format, ...) {
  locale_t before;
  va_list args;
  if (w->status) return;
  w->status = status;
  w->stopped = 1;
  before = nbc__locale_begin();
  va_start(args, format);
  vsnprintf(w->error, sizeof w->error, format, args);
  va_end(args);
  nbc__locale_end(before);
}
PM_API void pm_world_fail(pm_world *world, pm_status status, const char *text) {
  if (world) pm__world_error(pm__here(world), status, "%s", text ? text : pm_status_text(status));
}
PM_API const char *pm_world_error(const pm_world *world) {
  return world ? world->error : "no world";
}

/* "process 3 on node 1 waits for ..." for all that live, as far as the text has room. */
PM__PRIVATE void pm__deadlock(pm_world *w) {
  size_t n = 0;
  int i, silent = 0;
  const pm_thread *t;
  char more[160], in[160];
  pm__world_error(w, PM_E_DEADLOCK, "deadlock at %.3f us:", (double)w->now_ps * 1e-6);
  n = strlen(w->error);
  for (i = 0; i < w->proc_count; i++)
    for (t = w->procs[i]->threads; t; t = t->next_in_proc) {
      if (t->state == PM__ENDED) continue;
      if (sizeof w->error - n < 600) {
        silent++;
        continue;
      }
      more[0] = in[0] = 0;
      if (w->desc.waits_in) w->desc.waits_in(w->desc.user, w->procs[i], t, in, sizeof in);
      if (t->describe) t->describe(t, more, sizeof more);
      n += (size_t)snprintf(
          w->error + n, sizeof w->error - n, "\n  process %d (node %d%s) waits%s%s: %s%s%s", i,
          w->procs[i]->node, w->procs[i]->stands_still ? ", which stands still" : "",
          in[0] ? " in " : "", in, t->what ? t->what : "its beginning", more[0] ? " " : "", more);
    }
  if (silent) n += (size_t)snprintf(w->error + n, sizeof w->error - n, "\n  and %d more", silent);
  if (w->stats.undeliverable_count)
    n += (size_t)snprintf(w->error + n, sizeof w->error - n,
                          "\n  messages that could not be delivered: %llu",
                          (unsigned long long)w->stats.undeliverable_count);
  for (i = 0; i < w->proc_count && sizeof w->error - n > 200; i++)
    if (w->procs[i]->ended && w->procs[i]->status)
      n += (size_t)snprintf(w->error + n, sizeof w->error - n,
                            "\n  process %d (node %d) has %s, with status %d", i, w->procs[i]->node,
                            w->procs[i]->is_dead ? "died" : "ended", w->procs[i]->status);
}
static void pm__enter(pm_world *w, pm_thread *t) {
  w->stats.switch_count++;
  t->state = PM__RUNNING;
  pm__current = t;
  if (w->last_run != t && w->desc.switched) w->desc.switched(w->desc.user, t->proc);
  w->last_run = t;
  if (w->desc.compute_ratio > 0) t->mark_ns = PM_HOST_CPU_NS();
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(&w->asan_fake, t->stack, t->stack_bytes);
#endif
  pm__context_enter(w, t);
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(w->asan_fake, NULL, NULL);
#endif
  pm__current = NULL;
  if (t->state == PM__ENDED)
    pm__thread_bury(w, t);
  else if (w->has_unguarded && *pm__stack_canary(t) != PM__CANARY)
    pm__world_error(w, PM_E_STACK,
                    "process %d (node %d) overflowed its stack of %d bytes at %.3f us",
                    t->proc->rank, t->proc->node, (int)t->stack_bytes, (double)w->now_ps * 1e-6);
}
/* A cable will fail or be repaired, a node die or come back, and nobody sees it. */
static bool pm__only_outages_come(const pm_world *w) {
  const uint32_t cables = w->net && w->net->change.pos,
                 nodes = w->life_change.pos && !w->live_threads && !w->returning_count;
  return w->future_count == cables + nodes && !w->stranded && !pm__is_carrying(w);
}
PM__PRIVATE void pm__time_is_over(pm_world *w, bool is_end) {
  if (is_end)
    pm__world_error(w, PM_E_TIME_LIMIT,
                    "simulated time ends after 104 days (64 bits of picoseconds)");
  else
    pm__world_error(w, PM_E_TIME_LIMIT, "simulated time limit of %.9g s reached",
                    (double)w->desc.d_limit_ns * 1e-9);
}
/* 1: go on. Every event a pause of a poller: nothing can happen any more, only time pass. */
static int pm__may_go_on(pm_world *w) {
  if (w->stopped || !w->future_count) return 0;
  if ((w->net || w->has_lives) && pm__only_outages_come(w)) return 0;
  const bool is_at_limit = w->desc.d_limit_ns && pm__next_ps(w) > w->t_limit_ps;
  if (is_at_limit || pm__next_ps(w) >= PM__END) {
    pm__time_is_over(w, !is_at_limit);
    return 0;
  }
  if (w->future_count > (uint32_t)w->idle_count || pm__is_carrying(w))
    w->t_idle_since_ps = -1;
  else if (w->t_idle_since_ps < 0)
    w->t_idle_since_ps = w->now_ps, w->idle_steps = 0;
  else {
    w->idle_steps++;
    return !pm__is_out_of_patience(w) ||
           w->now_ps - w->t_idle_since_ps <= pm__ps(w->desc.d_poll_deadlock_ns);
  }
  return 1;
}
/* The turn of a thread that is ready. */
static inline void pm__takes_turn(pm_world *w, pm_thread *t) {
  w->ready_head = t->next_ready;
  if (!w->ready_head) w->ready_tail = NULL;
  if (w->has_lives && t->proc->stands_still && t->state == PM__READY) {
    t->state = PM__BLOCKED;
    t->is_parked = true;
    return;
  }
  if (t->state == PM__READY && !(t->is_over && pm__pays(w, t)) &&
      !(t->is_ahead && pm__goes_ahead(w, t)))
    pm__enter(w, t);
}
/* The limit keeps threads that let time pass by themselves within the window. */
PM__PRIVATE void pm__window(pm_world *w, int64_t t_ps) {
  w->t_over_ps = w->t_limit_ps = t_ps;
  pm__usual_until(w);
  while (!w->stopped) {
    if (w->ready_head)
      pm__takes_turn(w, w->ready_head);
    else if (!w->future_count || (!pm__steps(w) && !pm__step(w, t_ps - 1)))
      break;
  }
}
static void pm__loop(pm_world *w) {
  for (;;) {
    pm_thread *t = w->ready_head;
    if (t && !w->stopped) {
      pm__takes_turn(w, t);
    } else if (w->is_plain && pm__steps(w)) { /* the usual case of pm__may_go_on */
      w->t_idle_since_ps = -1;
      continue;
    } else if (w->is_carrying && pm__carry(w)) {
      continue;
    } else if (!pm__may_go_on(w) || !pm__step(w, PM__FOREVER))
      break;
  }
  if (!w->stopped && w->live_threads) pm__deadlock(w);
}

#ifndef PM__ASAN /* which reports crashes better than we could */
/* Signals of a guest that crashed. The handler runs on a stack of its own (the guest's may be full)
   and leaves to the scheduler; the guest's stack is abandoned. */
static const int pm__crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { PM__CRASH_SIGNALS = 5, PM__CRASH_STACK = 65536 };
static void pm__crashed(int number, siginfo_t *info, void *context) {
  pm_world *w = pm__running;
  (void)context;
  if (!w) { /* another thread of the host: its own business */
    signal(number, SIG_DFL);
    return;
  }
  if (w->is_copying && (number == SIGSEGV || number == SIGBUS)) {
    sigset_t it;
    w->is_copying = 0;
    sigemptyset(&it), sigaddset(&it, number);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL);
    siglongjmp(w->copy_jump, 1);
  }
  w->crash_signal = number;
  w->crash_address = number == SIGABRT ? NULL : (char *)info->si_addr;
  siglongjmp(w->crash_jump, PM__CRASHED);
}
static void pm__crash_report(pm_world *w) {
  pm_thread *t = pm__current;
  const char *const names[] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"};
  const double us = (double)w->now_ps * 1e-6;
  int i = 0;
  while (i < PM__CRASH_SIGNALS - 1 && pm__crash_signals[i] != w->crash_signal) i++;
  pm__current = NULL;
  if (!t)
    pm__world_error(w, PM_E_CRASH, "%s at address %p while a message was delivered, at %.3f us",
                    names[i], (void *)w->crash_address, us);
  else if (w->crash_address && w->crash_address >= t->stack - PM__PAGE &&
           w->crash_address < t->stack)
    pm__world_error(w, PM_E_STACK,
                    "process %d (node %d) overflowed its stack of %d bytes at %.3f us",
                    t->proc->rank, t->proc->node, (int)t->stack_bytes, us);
  else
    pm__world_error(w, PM_E_CRASH, "process %d (node %d): %s at address %p, at %.3f us",
                    t->proc->rank, t->proc->node, names[i], (void *)w->crash_address, us);
}
static void pm__run_caught(pm_world *w) {
  struct sigaction action, before[PM__CRASH_SIGNALS];
  stack_t ours, theirs;
  int i;
  memset(&action, 0, sizeof action);
  memset(&ours, 0, sizeof ours);
  ours.ss_sp = PM_MALLOC(PM__CRASH_STACK);
  ours.ss_size = PM__CRASH_STACK;
  if (!ours.ss_sp || sigaltstack(&ours, &theirs)) {
    PM_FREE(ours.ss_sp);
    pm__world_error(w, PM_E_NOMEM, "no stack for signals");
    return;
  }
  action.sa_sigaction = pm__crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (i = 0; i < PM__CRASH_SIGNALS; i++) sigaction(pm__crash_signals[i], &action, &before[i]);
  i = sigsetjmp(w->crash_jump, 1);
  if (i == 0)
    pm__loop(w);
  else if (i != PM__FAILED)
    pm__crash_report(w);
  for (i = 0; i < PM__CRASH_SIGNALS; i++) sigaction(pm__crash_signals[i], &before[i], NULL);
  sigaltstack(&theirs, NULL);
  PM_FREE(ours.ss_sp);
}
#endif
static bool pm__network_fails(const pm_world *w) {
  const pm_faults *f = &w->desc.faults;
  int i = 0;
  while (i < f->outage_count && f->outages[i].node && f->outages[i].kind == PM_OUTAGE_STOP) i++;
  return i < f->outage_count || (f->down_node && f->d_down_ns > 0);
}
/* Levels that know one NIC of a node only: the run fails and says why. */
static void pm__rails_check(pm_world *w) {
  const pm_world_desc *desc = &w->desc;
  int i;
  if (w->plat.nic_count == 1) return;
  for (i = -1; i < desc->link_phase_count; i++) {
    const pm_link_model link = i < 0 ? desc->link : desc->link_phases[i].link;
    if (link == PM_LINK_CARRIER) pm_world_fail(w, PM_E_PLATFORM, PM__ONE_NIC);
  }
}
/* It has some of what few worlds have. So most messages ask for all of that at once, in each of their steps. */
static bool pm__is_unusual(const pm_world *w) {
  const pm_platform *p = &w->plat;
  return w->is_faulty || w->has_lives || w->net || w->graph || w->uses || w->stamp || w->whole ||
         w->desc.trace || w->desc.faults.slow_node || p->nic_count > 1 || p->nic_match_ns ||
         p->nic_search_ns || p->quick_ack || p->ack_after_write || p->no_pci ||
         p->no_pci_commands || !w->d_switch_ps || p->inflight_per_node_count ||
         p->inflight_per_process_count;
}
PM_API pm_status pm_world_run(pm_world *world) {
  if (!world) return PM_E_INVAL;
  if (pm__running || world->status) return PM_E_STATE;
  pm__rails_check(world);
  world->running = 1;
  world->t_idle_since_ps = -1;
  world->is_plain = !world->net && !world->has_lives && !world->is_carrying;
  world->is_large = world->plat.node_count + world->proc_count > PM__LARGE;
  world->is_unusual = pm__is_unusual(world);
  if (world->desc.threads) {
    pm__windows_run(world);
    world->running = 0;
    return world->status;
  }
  pm__running = world;
  if (world->has_lives) pm__lives_begin(world);
#ifndef PM__ASAN
  if (world->desc.catch_crashes)
    pm__run_caught(world);
  else
#endif
    pm__loop(world);
  pm__running = NULL;
  world->running = 0;
  return world->status;
}

typedef struct pm__call {
  pm__event event; /* first */
  void (*fn)(void *arg);
  void *arg;
} pm__call;
static void pm__call_now(pm_world *w, pm__event *event) {
  pm__call call = *(pm__call *)event;
  (void)w;
  PM_FREE(event);
  call.fn(call.arg);
}
static void pm__calls_free(pm_world *w) { /* that never came */
  pm__event *far;
  uint32_t i;
  while ((far = pm__far_take(w)) != NULL)
    if (far->fn == pm__call_now) PM_FREE(far);
  for (i = 0; i < w->soon_count; i++)
    if (w->soon[i].event->fn == pm__call_now) PM_FREE(w->soon[i].event);
  if (w->has_gap) pm__gap_close(w);
  for (i = 1; i <= w->heap_count; i++) {
    pm__event *first = w->heap[i].event, *event = first, *next;
    do {
      next = event->next;
      if (event->fn == pm__call_now) PM_FREE(event);
    } while ((event = next) != first);
  }
}
PM_API pm_status pm_call_at(pm_world *world, int64_t t_ns, void (*fn)(void *arg), void *arg) {
  pm__call *call;
  if (world && world->desc.threads) return PM_E_STATE;
  if (!world || !fn || t_ns > PM__END / PM__PS || pm__ps(t_ns) < world->now_ps) return PM_E_INVAL;
  call = (pm__call *)pm__zalloc(sizeof *call);
  if (!call) return PM_E_NOMEM;
  call->event.fn = pm__call_now;
  call->fn = fn;
  call->arg = arg;
  pm__schedule(world, &call->event, pm__ps(t_ns));
  if (call->event.pos) return PM_OK;
  PM_FREE(call);
  return PM_E_NOMEM;
}

/* ---- making and ending ------------------------------------------------------------------------- */
static int pm__faults_are_bad(const pm_faults *f) {
  const double ratios[] = {f->loss_ratio, f->corrupt_ratio, f->duplicate_ratio, f->delay_ratio};
  int i;
  for (i = 0; i < 4; i++)
    if (!(ratios[i] >= 0 && ratios[i] <= 1)) return 1;
  return f->loss_ratio + f->corrupt_ratio > 1 || f->delay_ns < 0 || !(f->slow_ratio >= 0) ||
         f->t_down_ns < 0 || f->d_down_ns < 0;
}
static bool pm__node_is_bad(const pm_world_desc *desc, int node) { /* 1 + its number, or 0 */
  return node < 0 || node > desc->platform->node_count;
}
static int pm__links_are_bad(const pm_world_desc *desc) {
  pm_link_model link = desc->link;
  int i;
  if (desc->link_phase_count < 0 || (desc->link_phase_count && !desc->link_phases)) return 1;
  for (i = 0;; i++) {
    if (link < 0 || link > PM_LINK_PACKET || (link == PM_LINK_CARRIER && !desc->carrier)) return 1;
    if (i == desc->link_phase_count) return 0;
    if (desc->link_phases[i].t_ns < (i ? desc->link_phases[i - 1].t_ns : 0)) return 1;
    link = desc->link_phases[i].link;
  }
}
/* The processes of a node are in one outage at a time. */
static bool pm__lives_overlap(const pm_faults *f, int i) {
  const pm_outage *a = &f->outages[i], *b = f->outages;
  if (!a->node || !a->kind) return false;
  for (; b < a; b++) {
    const pm_outage *first = a->t_down_ns < b->t_down_ns ? a : b, *second = first == a ? b : a;
    if (b->node == a->node && b->kind &&
        (!first->d_down_ns || second->t_down_ns - first->t_down_ns < first->d_down_ns))
      return true;
  }
  return false;
}
static bool pm__outages_are_bad(const pm_world_desc *desc) {
  const pm_faults *f = &desc->faults;
  int i;
  if (f->outage_count < 0 || (f->outage_count && !f->outages)) return true;
  for (i = 0; i < f->outage_count; i++) {
    const pm_outage *o = &f->outages[i];
    if (o->node < 0 || o->node > desc->platform->node_count || o->t_down_ns < 0 ||
        o->d_down_ns < 0 || o->kind < PM_OUTAGE_CUT || o->kind > PM_OUTAGE_RESTART ||
        (!o->node && o->kind) || pm__lives_overlap(f, i) ||
        (!o->node && (o->link < 0 ||
                      o->link >= pm__topology_links(desc->platform) * desc->platform->nic_count)))
      return true;
  }
  for (i = -1; f->outage_count && i < desc->link_phase_count; i++) {
    const pm_link_model link = i < 0 ? desc->link : desc->link_phases[i].link;
    if (link == PM_LINK_CARRIER) return true;
  }
  return false;
}
PM_API pm_status pm_world_create(const pm_world_desc *desc, pm_world **world) {
  pm_world *w;
  pm_status status;
  char error[256];
  if (!world) return PM_E_INVAL;
  *world = NULL;
  if (!desc || !desc->platform || desc->d_limit_ns < 0 || desc->threads < 0 ||
      desc->d_poll_deadlock_ns < 0 || !(desc->compute_ratio >= 0 && desc->compute_ratio <= 1e9) ||
      desc->compute_min_ns < 0 || desc->call_noise_ns < 0 || desc->stack_bytes > SIZE_MAX / 2)
    return PM_E_INVAL;
  if (pm__faults_are_bad(&desc->faults) || pm__links_are_bad(desc)) return PM_E_INVAL;
  status = pm_platform_check(desc->platform, error, sizeof error);
  if (status) return status;
  if (pm__outages_are_bad(desc) || pm__node_is_bad(desc, desc->faults.slow_node) ||
      pm__node_is_bad(desc, desc->faults.down_node))
    return PM_E_INVAL;
  w = (pm_world *)pm__zalloc(sizeof *w);
  if (!w) return PM_E_NOMEM;
  w->desc = *desc;
  w->plat = *desc->platform;
  w->desc.platform = &w->plat;
  w->plat.links = NULL; /* the graph holds what they said */
  w->plat.ways = NULL;
  w->plat.link_count = desc->platform->link_count;
  if (!w->desc.stack_bytes) w->desc.stack_bytes = 65536;
  w->desc.stack_bytes = (w->desc.stack_bytes + PM__PAGE - 1) / PM__PAGE * PM__PAGE;
  if (w->desc.stack_bytes < 4 * PM__PAGE) w->desc.stack_bytes = 4 * PM__PAGE;
  if (!w->desc.compute_min_ns) w->desc.compute_min_ns = 1000;
  if (!w->desc.d_poll_deadlock_ns) w->desc.d_poll_deadlock_ns = 20000000000;
  w->t_limit_ps = desc->d_limit_ns ? pm__ps(desc->d_limit_ns) : PM__END;
  w->rng = desc->seed;
  if (!(w->desc.faults.slow_ratio > 0)) w->desc.faults.slow_ratio = 1;
  w->is_faulty = desc->faults.loss_ratio > 0 || desc->faults.corrupt_ratio > 0 ||
                 desc->faults.duplicate_ratio > 0 || desc->faults.delay_ratio > 0 ||
                 desc->faults.down_node > 0 || desc->faults.outage_count > 0 ||
                 desc->platform->loggp_range_count > 0;
#ifndef PM_USE_UCONTEXT
  w->context_switch = pm__context_switch;
#endif
  w->nodes = (pm__node *)pm__lines_take(w, (size_t)(w->plat.node_count * w->plat.nic_count) *
                                               sizeof *w->nodes);
  if (w->plat.topology == PM_TOPO_FILE)
    w->graph = pm__graph_make(desc->platform, error, sizeof error);
  w->flow_end.fn = pm__flows_end;
  w->t_flow_end_ps = w->t_aside_ps = w->t_far_ps = PM__FOREVER;
  w->t_over_ps = w->t_limit_ps < PM__END ? w->t_limit_ps + 1 : PM__END;
  pm__usual_until(w);
  if (!w->nodes || !pm__ways_make(w) || (w->plat.topology == PM_TOPO_FILE && !w->graph) ||
      !pm__links_make(w) || (desc->link_use && !pm__uses_make(w)) ||
      (pm__network_fails(w) && !pm__net_make(w))) {
    pm_world_destroy(w);
    return PM_E_NOMEM;
  }
  w->stats.memory_bytes +=
      sizeof *w + (size_t)(w->plat.node_count * w->plat.nic_count) * sizeof *w->nodes;
  if (desc->carrier) { /* it knows cables alone, and shortest ways */
    const bool has_cables =
        !w->graph || (!w->graph->shares && !w->graph->has_inner && !w->graph->given_count);
    status = has_cables ? pm__carrier_open(w) : PM_E_PLATFORM;
    w->is_carrying = status == PM_OK;
    if (status) {
      pm_world_destroy(w);
      return status;
    }
  }
  pm__wire_constants(w);
  pm__lives_make(w);
  *world = w;
  return PM_OK;
}
PM_API void pm_world_destroy(pm_world *world) {
  pm_world *w = world;
  int i;
  if (!w || w->running) return;
  if (w->is_carrying) pm__carrier_close(w);
  w->is_carrying = 0;
  pm__calls_free(w);
  for (i = 0; i < w->proc_count; i++) {
    pm_thread *t = w->procs[i]->threads, *next;
    pm__ptl_process_free(w->procs[i]);
    if (w->procs[i]->msg) w->procs[i]->msg_free(w->procs[i]->msg);
    for (; t; t = next) {
      next = t->next_in_proc;
      pm__thread_bury(w, t);
      pm__ahead_free(t);
    }
    w->ready_head = w->ready_tail = NULL; /* closing interfaces made its threads ready */
  }
  pm__ptl_world_free(w);
  pm__flows_free(w);
  pm__packets_free(w);
  while (w->slabs) {
    pm__slab *slab = w->slabs;
    w->slabs = slab->next;
    munmap(slab->base, slab->bytes);
    PM_FREE(slab);
  }
  pm__graph_free(w->graph, (int)w->plat.node_count);
  for (i = 0; w->nodes && i < (int)(w->plat.node_count * w->plat.nic_count); i++) {
    PM_FREE(w->nodes[i].by_pid);
    PM_FREE(w->nodes[i].slots);
    if (w->nodes[i].cores) PM_FREE(w->nodes[i].cores->heap);
    PM_FREE(w->nodes[i].cores);
  }
  pm__uses_free(w);
  pm__net_free(w);
  pm__ways_free(w);
  PM_FREE(w->streams);
  PM_FREE(w->records);
  PM_FREE(w->procs);
  PM_FREE(w->heap);
  pm__far_free(w);
  pm__stores_free(w);
  PM_FREE(w);
}
PM_API pm_world_desc pm_world_desc_of(const pm_world *world) {
  pm_world_desc none;
  memset(&none, 0, sizeof none);
  return world ? world->desc : none;
}
PM_API pm_stats pm_world_stats(const pm_world *world) {
  pm_stats s;
  memset(&s, 0, sizeof s);
  if (!world) return s;
  world = pm__here(world);
  s = world->stats;
  s.pending_count =
      world->future_count - (uint64_t)world->idle_count + (uint64_t)pm__is_carrying(world);
  return s;
}
PM_API int64_t pm_world_now_ns(const pm_world *world) {
  return world ? pm__here(world)->now_ps / PM__PS : 0;
}

static pm_status pm__spawn_without_memory(pm_world *w) {
  if (!w->status) snprintf(w->error, sizeof w->error, "process %d: out of memory", w->proc_count);
  return PM_E_NOMEM;
}
PM_API pm_status pm_spawn(pm_world *world, int node_index, void (*entry)(void *arg), void *arg,
                          pm_process **process) {
  pm_process *p;
  void *array;
  if (!world || !entry || node_index < 0 || node_index >= world->plat.node_count) return PM_E_INVAL;
  if (world->running) return PM_E_STATE;
  array = world->procs;
  if (!pm__grow(&array, &world->procs_max, world->proc_count + 1, sizeof p))
    return pm__spawn_without_memory(world);
  world->procs = (pm_process **)array;
  p = (pm_process *)pm__lines_take(world, sizeof *p);
  if (!p) return pm__spawn_without_memory(world);
  p->world = world;
  p->rank = world->proc_count;
  p->node = node_index;
  p->pid = p->local_index = (uint32_t)world->nodes[node_index].process_count;
  p->nic = (int)(p->local_index % world->plat.nic_count * world->plat.node_count) + node_index;
  p->its_nic = &world->nodes[p->nic];
  if (!pm__thread_new(p, entry, arg, 0)) return pm__spawn_without_memory(world);
  p->next_on_node = world->nodes[node_index].processes;
  world->nodes[node_index].processes = p;
  world->nodes[node_index].process_count++;
  world->procs[world->proc_count++] = p;
  world->live_processes++;
  world->stats.memory_bytes += sizeof *p + sizeof p;
  if (process) *process = p;
  return PM_OK;
}
PM_API pm_status pm_spawn_all(pm_world *world, void (*entry)(void *arg), void *arg) {
  int64_t i;
  if (!world) return PM_E_INVAL;
  for (i = 0; i < world->plat.node_count * world->plat.procs_per_node_count; i++) {
    pm_status status =
        pm_spawn(world, (int)(i / world->plat.procs_per_node_count), entry, arg, NULL);
    if (status) return status;
  }
  return PM_OK;
}

/* Over threads each process draws from its own generator: from nobody's, where none runs. */
PM_API uint64_t pm_random(pm_world *world) {
  pm_process *p = pm_self();
  if (!world || !world->desc.threads || !p) return world ? nbc__random(&world->rng) : 0;
  if (!p->rng) {
    p->rng = world->desc.seed ^ (uint64_t)(p->rank + 1) << 40;
    p->rng = nbc__random(&p->rng) | 1;
  }
  return nbc__random(&p->rng);
}
PM__PRIVATE double pm__ratio(pm_world *w) {
  return (double)(pm_random(w) >> 11) * (1.0 / 9007199254740992.0);
}
PM_API int pm_link_count(const pm_world *world) { return world ? world->net_link_count : 0; }
PM_API int pm_route(pm_world *world, int from_node, int to_node, uint32_t *links, int max,
                    int64_t *latency_ns) {
  uint32_t link[PM__ROUTE_MAX + 2]; /* room for the longest way: nothing is allocated */
  pm__known_way way;
  int i;
  if (!world || from_node < 0 || to_node < 0 || from_node >= world->plat.node_count ||
      to_node >= world->plat.node_count)
    return -1;
  way.link = link;
  way.from = from_node;
  way.to = to_node;
  way.latency_ps = 0;
  way.link_count = pm__route(world, from_node, to_node, way.link, &way.latency_ps);
  if (world->net && pm__is_cut(world, from_node, to_node, world->now_ps)) return -1;
  if (world->net) pm__way_now(world, &way);
  for (i = 0; i < way.link_count && i < max && links; i++) links[i] = way.link[i];
  if (latency_ns) *latency_ns = way.latency_ps / PM__PS;
  return way.link_count;
}
PM_API int64_t pm_link_latency_ns(const pm_world *world, int link) {
  const pm_platform *p = world ? &world->plat : NULL;
  int64_t cables; /* between nodes and switches */
  if (!world || link < 0 || link >= world->net_link_count) return 0;
  link %= world->net_link_count / (int)p->nic_count;
  if (p->topology == PM_TOPO_FILE) return world->graph->latency_ns[link / 2];
  cables = p->node_count * (p->topology == PM_TOPO_FATTREE ? p->topo[1 + p->topo[0]] : 1);
  return link < 2 * cables && link % 2 == 0 ? p->wire_latency_ns : p->switch_latency_ns;
}
#ifdef NBC_LINES
#line 70 "src/portals/trace.h"
#endif
PM__PRIVATE void pm__record(pm_world *w, int kind, uint64_t id, int from_rank, int to_rank,
                            int64_t t_begin_ps, int64_t t_end_ps, int from_node, int to_node,
                            uint64_t bytes);
#ifdef NBC_LINES
#line 1 "src/portals/trace.c"
#endif

/* ============================================================================================== */
/* [TRACE] 5. Traces: CSV, Chrome JSON, Paje, HTML                                                */
/* ============================================================================================== */
/* One step: id 0 and to_rank -1 where there is no message. */
PM__PRIVATE void pm__record(pm_world *w, int kind, uint64_t id, int from_rank, int to_rank,
                            int64_t t_begin_ps, int64_t t_end_ps, int from_node, int to_node,
                            uint64_t bytes) {
  pm_trace_record *r;
  void *array = w->records;
  if (!w->desc.trace) return;
  if (!pm__grow(&array, &w->records_max, w->record_count + 1, sizeof *r)) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: trace");
    return;
  }
  w->records = (pm_trace_record *)array;
  r = &w->records[w->record_count++];
  memset(r, 0, sizeof *r);
  r->kind = (pm_trace_kind)kind;
  r->t_begin_ns = t_begin_ps / PM__PS;
  r->t_begin_ps = (int)(t_begin_ps % PM__PS);
  r->t_end_ns = t_end_ps / PM__PS;
  r->t_end_ps = (int)(t_end_ps % PM__PS);
  r->from_node = from_node;
  r->to_node = to_node;
  r->size_bytes = bytes;
  r->from_rank = from_rank;
  r->to_rank = to_rank;
  r->id = id;
}
PM__PRIVATE void pm__trace_compute(pm_world *w, int64_t t_begin_ps, int64_t t_end_ps) {
  const pm_process *p = pm__current->proc;
  pm__record(w, PM_TRACE_COMPUTE, 0, p->rank, -1, t_begin_ps, t_end_ps, p->node, p->node, 0);
}
PM_API int64_t pm_trace_call_begin(void) {
  const pm_process *p = pm_self();
  const pm_world *w = p ? pm_world_of(p) : NULL;
  if (!w || !w->desc.trace) return -1;
  if (pm__current->has_steps)
    pm__catch_up(); /* what calls before this one have asked for is theirs */
  return w->now_ps;
}
PM_API void pm_trace_call_end(const char *name, int64_t t_begin_ps) {
  const pm_process *p = pm_self();
  pm_world *w = p ? pm_world_of(p) : NULL;
  int count;
  if (!w || !w->desc.trace || !name || t_begin_ps < 0) return;
  if (pm__current->has_steps) pm__catch_up();
  count = w->record_count;
  pm__record(w, PM_TRACE_CALL, 0, p->rank, -1, t_begin_ps, w->now_ps, p->node, p->node, 0);
  if (w->record_count > count) w->records[count].name = name;
}
PM_API const char *pm_trace_kind_name(pm_trace_kind kind) {
  static const char *const names[] = {
#define PM__X(name) #name,
      PM_TRACE_LIST(PM__X)
#undef PM__X
  };
  return (unsigned)kind < PM_TRACE_LAST ? names[kind] : "?";
}
/* Those that fill a process's track, not its NIC's. */
static bool pm__is_of_process(pm_trace_kind kind) {
  return kind == PM_TRACE_COMPUTE || kind == PM_TRACE_PIO_PAYLOAD || kind == PM_TRACE_CALL;
}
/* As it is written: a call has a name of its own. */
static const char *pm__record_name(const pm_trace_record *r) {
  return r->name ? r->name : pm_trace_kind_name(r->kind);
}
PM_API const pm_trace_record *pm_trace_records(const pm_world *world, size_t *count) {
  if (count) *count = world ? (size_t)world->record_count : 0;
  if (!world) return NULL;
  return world->records;
}
PM_API pm_status pm_trace_write_csv(const pm_world *world, FILE *out) {
  int i;
  if (!world || !out) return PM_E_INVAL;
  fprintf(out, "kind,id,from_node,to_node,from_rank,to_rank,size_bytes,t_begin_ns,t_end_ns\n");
  for (i = 0; i < world->record_count; i++) {
    const pm_trace_record *r = &world->records[i];
    fprintf(out, "%s,%llu,%d,%d,%d,%d,%llu,%lld.%03d,%lld.%03d\n", pm__record_name(r),
            (unsigned long long)r->id, r->from_node, r->to_node, r->from_rank, r->to_rank,
            (unsigned long long)r->size_bytes, (long long)r->t_begin_ns, r->t_begin_ps,
            (long long)r->t_end_ns, r->t_end_ps);
  }
  return ferror(out) ? PM_E_IO : PM_OK;
}
static int64_t pm__record_begin_ps(const pm_trace_record *r) {
  return r->t_begin_ns * PM__PS + r->t_begin_ps;
}
static int64_t pm__record_end_ps(const pm_trace_record *r) {
  return r->t_end_ns * PM__PS + r->t_end_ps;
}

/* ---- Chrome --------------------------------------------------------------------------------------- */
/* What a track of a Chrome trace shows may hold what it shows at the same time, and not overlap it otherwise: Perfetto
   draws that wrong. So a NIC, and a process with several threads, has as many tracks as it needs. A record goes into
   the first in which it lies within what is open there; what is open is a list from the innermost out. */
typedef struct pm__chrome_step {
  int64_t begin_ps, end_ps;
  int pid, tid, record; /* tid 0: the node's NIC, rank + 1: a process */
  int track, outer;     /* track: 0 the first one; outer: the step that holds this one, -1: none */
} pm__chrome_step;
static int pm__chrome_order(const void *a, const void *b) {
  const pm__chrome_step *x = (const pm__chrome_step *)a, *y = (const pm__chrome_step *)b;
  if (x->pid != y->pid) return x->pid - y->pid;
  if (x->tid != y->tid) return x->tid - y->tid;
  if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
  if (x->end_ps != y->end_ps) return x->end_ps > y->end_ps ? -1 : 1;
  return x->record < y->record ? -1 : x->record > y->record;
}
/* inner: of each track the innermost open step, -1: none */
static bool pm__chrome_tracks(pm__chrome_step *step, int count) {
  int *inner = NULL, tracks = 0, max = 0, i, k;
  for (i = 0; i < count; i++) {
    void *array = inner;
    if (i && (step[i].pid != step[i - 1].pid || step[i].tid != step[i - 1].tid)) tracks = 0;
    for (k = 0; k < tracks; k++) {
      while (inner[k] >= 0 && step[inner[k]].end_ps <= step[i].begin_ps)
        inner[k] = step[inner[k]].outer;
      if (inner[k] < 0 || step[inner[k]].end_ps >= step[i].end_ps) break;
    }
    if (k == tracks) {
      if (!pm__grow(&array, &max, tracks + 1, sizeof *inner)) {
        PM_FREE(inner);
        return false;
      }
      inner = (int *)array;
      inner[tracks++] = -1;
    }
    step[i].track = k;
    step[i].outer = inner[k];
    inner[k] = i;
  }
  PM_FREE(inner);
  return true;
}
/* Tracks behind the first have numbers behind those of all processes. */
static int64_t pm__chrome_thread(const pm_world *world, const pm__chrome_step *s) {
  return s->tid + (int64_t)s->track * (world->proc_count + 1);
}
static void pm__chrome_name(const pm_world *world, FILE *out, const pm__chrome_step *s) {
  fprintf(out, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%lld,\"args\":{\"name\":",
          s->pid, (long long)pm__chrome_thread(world, s));
  fprintf(out, s->tid ? "\"rank %d" : "\"NIC", s->tid - 1);
  if (s->track) fprintf(out, ", %d", s->track + 1);
  fputs("\"}},\n", out);
}
/* Chrome's unit is the microsecond. */
static void pm__chrome_write(const pm_world *world, FILE *out, const pm__chrome_step *s) {
  const pm_trace_record *r = &world->records[s->record];
  const int64_t d_ps = s->end_ps - s->begin_ps;
  fprintf(out,
          "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%lld,\"ts\":%lld.%06d,\"dur\":%lld.%"
          "06d,\"args\":{\"id\":%llu,\"to_node\":%d,\"bytes\":%llu}},\n",
          pm__record_name(r), s->pid, (long long)pm__chrome_thread(world, s),
          (long long)(r->t_begin_ns / 1000), (int)(r->t_begin_ns % 1000) * 1000 + r->t_begin_ps,
          (long long)(d_ps / 1000000), (int)(d_ps % 1000000), (unsigned long long)r->id, r->to_node,
          (unsigned long long)r->size_bytes);
}
PM_API pm_status pm_trace_write_json(const pm_world *world, FILE *out) {
  pm__chrome_step *step;
  int i, count, last = -1;
  if (!world || !out) return PM_E_INVAL;
  count = world->record_count;
  step = (pm__chrome_step *)pm__zalloc(((size_t)count + 1) * sizeof *step);
  for (i = 0; step && i < count; i++) {
    const pm_trace_record *r = &world->records[i];
    const pm__chrome_step s = {pm__record_begin_ps(r),
                               pm__record_end_ps(r),
                               r->from_node,
                               pm__is_of_process(r->kind) ? r->from_rank + 1 : 0,
                               i,
                               0,
                               -1};
    step[i] = s;
  }
  if (step) qsort(step, (size_t)count, sizeof *step, pm__chrome_order);
  if (!step || !pm__chrome_tracks(step, count)) {
    PM_FREE(step);
    return PM_E_NOMEM;
  }
  fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  for (i = 0; i < world->plat.node_count; i++)
    fprintf(
        out,
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"node %d\"}},\n", i,
        i);
  for (i = 0; i < count; i++) {
    if (!i || step[i].pid != step[i - 1].pid || step[i].tid != step[i - 1].tid) last = -1;
    if (step[i].track > last) { /* the first step of this track */
      last = step[i].track;
      pm__chrome_name(world, out, &step[i]);
    }
    pm__chrome_write(world, out, &step[i]);
  }
  PM_FREE(step);
  if (pm__links_tracks(world, out)) return PM_E_NOMEM;
  fputs("{\"ph\":\"M\",\"name\":\"trace_name\",\"pid\":0,"
        "\"args\":{\"name\":\"portals_model\"}}\n]}\n",
        out);
  return ferror(out) ? PM_E_IO : PM_OK;
}

/* ---- Paje ------------------------------------------------------------------------------------------- */
/* Source: Schnorr, "Paje trace file format", 2016. Events stand in the order of their time: ends of steps before
   the beginnings of others, but for a step that takes no time. */
typedef struct pm__paje_event {
  int64_t t_ps, other_ps; /* when it is, and when the other end of the step is */
  int order, record;      /* order: 0 end, 1 begin, 2 end of a step without length */
  bool is_end;
} pm__paje_event;
static int pm__paje_order(const void *a, const void *b) {
  const pm__paje_event *x = (const pm__paje_event *)a, *y = (const pm__paje_event *)b;
  if (x->t_ps != y->t_ps) return x->t_ps < y->t_ps ? -1 : 1;
  if (x->order != y->order) return x->order - y->order;
  /* Of those that begin at once the longest is outside; of those that end at once it ends last. */
  if (x->other_ps != y->other_ps) return x->other_ps > y->other_ps ? -1 : 1;
  return x->record < y->record ? -1 : x->record > y->record;
}
static bool pm__paje_is_state(const pm_trace_record *r) {
  return r->from_rank >= 0 && pm__is_of_process(r->kind);
}
static void pm__paje_head(FILE *out) {
  static const char *const events[] = {
      "PajeDefineContainerType 0\n%  Alias string\n%  Type string\n%  Name string",
      "PajeDefineStateType 1\n%  Alias string\n%  Type string\n%  Name string",
      "PajeDefineVariableType 2\n%  Alias string\n%  Type string\n%  Name string\n%  Color color",
      "PajeDefineLinkType 3\n%  Alias string\n%  Type string\n%  StartContainerType string\n"
      "%  EndContainerType string\n%  Name string",
      "PajeDefineEntityValue 4\n%  Alias string\n%  Type string\n%  Name string\n%  Color color",
      "PajeCreateContainer 5\n%  Time date\n%  Alias string\n%  Type string\n%  Container string\n"
      "%  Name string",
      "PajeDestroyContainer 6\n%  Time date\n%  Type string\n%  Name string",
      "PajePushState 7\n%  Time date\n%  Type string\n%  Container string\n%  Value string",
      "PajePopState 8\n%  Time date\n%  Type string\n%  Container string",
      "PajeAddVariable 9\n%  Time date\n%  Type string\n%  Container string\n%  Value double",
      "PajeSubVariable 10\n%  Time date\n%  Type string\n%  Container string\n%  Value double",
      "PajeStartLink 11\n%  Time date\n%  Type string\n%  Container string\n%  StartContainer "
      "string\n%  Value string\n%  Key string",
      "PajeEndLink 12\n%  Time date\n%  Type string\n%  Container string\n%  EndContainer string\n"
      "%  Value string\n%  Key string",
      "PajeSetVariable 13\n%  Time date\n%  Type string\n%  Container string\n%  Value double"};
  static const char *const colours[] = {"0.12 0.47 0.71", "1.00 0.50 0.05", "0.17 0.63 0.17",
                                        "0.84 0.15 0.16", "0.58 0.40 0.74"};
  size_t i;
  int k;
  for (i = 0; i < sizeof events / sizeof *events; i++)
    fprintf(out, "%%EventDef %s\n%%EndEventDef\n", events[i]);
  fprintf(
      out,
      "0 machine 0 machine\n0 node machine node\n0 rank node process\n1 doing rank doing\n"
      "2 steps node \"steps of the NIC\" \"0.5 0.5 0.5\"\n3 message machine node node message\n");
  for (k = 0; k < PM_TRACE_LAST; k++) {
    const bool is_state = pm__is_of_process((pm_trace_kind)k);
    if (k < PM_TRACE_COMMAND || is_state)
      fprintf(out, "4 %s %s %s \"%s\"\n", pm_trace_kind_name((pm_trace_kind)k),
              is_state ? "doing" : "message", pm_trace_kind_name((pm_trace_kind)k), colours[k % 5]);
  }
}
/* The values that calls give to a process's state, each once: their names are few. ret false: no memory */
static bool pm__paje_calls(const pm_world *world, FILE *out) {
  const char **names = NULL;
  int count = 0, max = 0, i, k;
  for (i = 0; i < world->record_count; i++) {
    const char *name = world->records[i].name;
    void *array = (void *)names;
    if (!name) continue;
    for (k = 0; k < count && strcmp(names[k], name) != 0; k++) {
    }
    if (k < count) continue;
    if (!pm__grow(&array, &max, count + 1, sizeof *names)) {
      PM_FREE((void *)names);
      return false;
    }
    names = (const char **)array;
    names[count++] = name;
    fprintf(out, "4 %s doing %s \"0.8 0.8 0.%d\"\n", name, name, 3 + count % 7);
  }
  PM_FREE((void *)names);
  return true;
}
static void pm__paje_time(FILE *out, int number, int64_t t_ps) {
  fprintf(out, "%d %lld.%012lld ", number, (long long)(t_ps / 1000000000000),
          (long long)(t_ps % 1000000000000));
}
static void pm__paje_step(FILE *out, const pm_trace_record *r, const pm__paje_event *e) {
  const char *kind = pm__record_name(r);
  if (pm__paje_is_state(r)) {
    pm__paje_time(out, e->is_end ? 8 : 7, e->t_ps);
    fprintf(out, e->is_end ? "doing r%d\n" : "doing r%d %s\n", r->from_rank, kind);
  } else if (r->kind < PM_TRACE_COMMAND) {
    pm__paje_time(out, e->is_end ? 12 : 11, e->t_ps);
    fprintf(out, "message m n%d %s %d\n", e->is_end ? r->to_node : r->from_node, kind, e->record);
  } else if (e->order != 2) {
    pm__paje_time(out, e->is_end ? 10 : 9, e->t_ps);
    fprintf(out, "steps n%d 1\n", r->from_node);
  }
}
PM_API pm_status pm_trace_write_paje(const pm_world *world, FILE *out) {
  pm__paje_event *events;
  bool *is_there;
  int i, count = 0, rank;
  if (!world || !out) return PM_E_INVAL;
  events = (pm__paje_event *)pm__zalloc((2 * (size_t)world->record_count + 1) * sizeof *events);
  is_there = (bool *)pm__zalloc(((size_t)world->proc_count + 1) * sizeof *is_there);
  if (events && is_there) pm__paje_head(out);
  if (!events || !is_there || !pm__paje_calls(world, out)) {
    PM_FREE(events);
    PM_FREE(is_there);
    return PM_E_NOMEM;
  }
  fprintf(out, "5 0.0 m machine 0 machine\n");
  for (i = 0; i < world->plat.node_count; i++)
    fprintf(out, "5 0.0 n%d node m \"node %d\"\n13 0.0 steps n%d 0\n", i, i, i);
  for (i = 0; i < world->record_count; i++) {
    const pm_trace_record *r = &world->records[i];
    const int64_t b_ps = pm__record_begin_ps(r), e_ps = pm__record_end_ps(r);
    const pm__paje_event begin = {b_ps, e_ps, 1, i, 0},
                         end = {e_ps, b_ps, e_ps > b_ps ? 0 : 2, i, 1};
    events[count++] = begin;
    events[count++] = end;
    if (!pm__paje_is_state(r) || r->from_rank >= world->proc_count || is_there[r->from_rank])
      continue;
    is_there[r->from_rank] = true;
    fprintf(out, "5 0.0 r%d rank n%d \"rank %d\"\n", r->from_rank, r->from_node, r->from_rank);
  }
  qsort(events, (size_t)count, sizeof *events, pm__paje_order);
  for (i = 0; i < count; i++) pm__paje_step(out, &world->records[events[i].record], &events[i]);
  for (rank = 0; rank < world->proc_count; rank++)
    if (is_there[rank]) {
      pm__paje_time(out, 6, count ? events[count - 1].t_ps : 0);
      fprintf(out, "rank r%d\n", rank);
    }
  for (i = 0; i < world->plat.node_count; i++) {
    pm__paje_time(out, 6, count ? events[count - 1].t_ps : 0);
    fprintf(out, "node n%d\n", i);
  }
  pm__paje_time(out, 6, count ? events[count - 1].t_ps : 0);
  fprintf(out, "machine m\n");
  PM_FREE(events);
  PM_FREE(is_there);
  return ferror(out) ? PM_E_IO : PM_OK;
}

/* ---- sequence diagram ------------------------------------------------------------------------------ */
enum { PM__PAGE_LEFT = 120, PM__PAGE_COLUMN = 170, PM__PAGE_TOP = 60 };
typedef struct pm__page {
  FILE *out;
  const pm_trace_record *records;
  pm_process *const *procs;
  int64_t *t_ps; /* the distinct times, in order ... */
  int *y;        /* ... and where they are drawn */
  int *column;   /* of each rank, -1: takes no part */
  int count, time_count, column_count;
} pm__page;
static int pm__time_order(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}
/* Steps in time become steps on paper that grow with the square root: 3 to 60 points. */
static void pm__page_times(pm__page *p) {
  int i;
  p->time_count = 0;
  for (i = 0; i < p->count; i++) {
    p->t_ps[2 * i] = pm__record_begin_ps(&p->records[i]);
    p->t_ps[2 * i + 1] = pm__record_end_ps(&p->records[i]);
  }
  qsort(p->t_ps, (size_t)p->count * 2, sizeof *p->t_ps, pm__time_order);
  for (i = 0; i < 2 * p->count; i++) {
    const int n = p->time_count;
    const double d_ns = n ? (double)(p->t_ps[i] - p->t_ps[n - 1]) / PM__PS : 0;
    const int step = d_ns < 900 ? (int)(3.5 + 2 * sqrt(d_ns)) : 60;
    if (n && p->t_ps[i] == p->t_ps[n - 1]) continue;
    p->t_ps[n] = p->t_ps[i];
    p->y[n] = n ? p->y[n - 1] + (step < 60 ? step : 60) : PM__PAGE_TOP + 20;
    p->time_count++;
  }
}
static int pm__page_y(const pm__page *p, int64_t t_ps) {
  const int64_t *at = (const int64_t *)bsearch(&t_ps, p->t_ps, (size_t)p->time_count,
                                               sizeof *p->t_ps, pm__time_order);
  return at ? p->y[at - p->t_ps] : 0;
}
static int pm__page_x(const pm__page *p, int rank) {
  return PM__PAGE_LEFT + PM__PAGE_COLUMN / 2 +
         PM__PAGE_COLUMN * (rank >= 0 ? p->column[rank] : p->column_count);
}
static void pm__page_columns(const pm_world *w, pm__page *p) {
  int i;
  for (i = 0; i < w->proc_count; i++) p->column[i] = -1;
  for (i = 0; i < p->count; i++) {
    if (p->records[i].from_rank >= 0) p->column[p->records[i].from_rank] = 0;
    if (p->records[i].to_rank >= 0) p->column[p->records[i].to_rank] = 0;
  }
  for (i = 0; i < w->proc_count; i++)
    if (!p->column[i]) p->column[i] = p->column_count++;
}
static void pm__page_head(const pm_world *w, const pm__page *p) {
  const int bottom = p->time_count ? p->y[p->time_count - 1] + 30 : PM__PAGE_TOP + 60;
  int last = 0;
  int i;
  fprintf(
      p->out,
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Sequence of a "
      "simulated run</title>\n<style>\nbody{font:14px sans-serif;margin:1em;background:#fff;"
      "color:#222}\ntext{font:11px sans-serif;fill:#222}\n.life{stroke:#aaa;stroke-dasharray:3 "
      "3}\n.time{stroke:#eee}\n.m path{stroke:currentColor;fill:none;stroke-width:1.5}\n"
      ".m .hit{stroke-width:12;stroke-opacity:0}\n.m text,.m polygon,.m rect{fill:currentColor}\n"
      ".m text{paint-order:stroke;stroke:#fff;stroke-width:3}.m:hover "
      "path{stroke-width:3}\n.PUT{color:#1764ab}.GET{color:#2d7d2d}"
      ".ATOMIC,.FETCH_ATOMIC{color:#9b3fa5}\n.GET_RESPONSE,.FETCH_ATOMIC_RESPONSE{color:#4a9a4a}"
      ".PORTALS_ACK,.E2E_ACK{color:#777}\n.COMMAND{color:#c8860a}.PIO_PAYLOAD{color:#e0a030}"
      ".DMA_REQUEST,.DMA_PAYLOAD,.PAYLOAD_WRITE{color:#5a8fc0}"
      ".EVENT{color:#c0392b}.COMPUTE{color:#bbb}.CALL{color:#ddd}\n</style></"
      "head><body>\n<h1>Sequence of a "
      "simulated run</h1>\n<p>%d of %d steps. Columns are processes, time runs down in "
      "nanoseconds and is stretched where much happens: lengths are not to scale. Point at an "
      "arrow or a bar to read its times.</p>\n<p>",
      p->count, w->record_count);
  for (i = 0; i < PM_TRACE_LAST; i++)
    fprintf(p->out, "<span class=\"%s\">&#9632; %s</span> ", pm_trace_kind_name((pm_trace_kind)i),
            pm_trace_kind_name((pm_trace_kind)i));
  fprintf(p->out, "</p>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n",
          PM__PAGE_LEFT + PM__PAGE_COLUMN * (p->column_count + 1), bottom);
  for (i = 0; i < p->time_count; i++) {
    if (i && p->y[i] < last + 14) continue;
    last = p->y[i];
    fprintf(p->out,
            "<line class=\"time\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/><text x=\"%d\" "
            "y=\"%d\" text-anchor=\"end\">%lld.%03d</text>\n",
            PM__PAGE_LEFT, last, PM__PAGE_LEFT + PM__PAGE_COLUMN * p->column_count, last,
            PM__PAGE_LEFT - 6, last + 4, (long long)(p->t_ps[i] / PM__PS),
            (int)(p->t_ps[i] % PM__PS));
  }
  for (i = 0; i < w->proc_count; i++)
    if (p->column[i] >= 0)
      fprintf(p->out,
              "<line class=\"life\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/><text x=\"%d\" "
              "y=\"%d\" text-anchor=\"middle\">process %d (node %d)</text>\n",
              pm__page_x(p, i), PM__PAGE_TOP, pm__page_x(p, i), bottom, pm__page_x(p, i),
              PM__PAGE_TOP - 10, i, pm_process_node(w->procs[i]));
}
/* A message from process to process; to oneself it goes round. */
static void pm__page_arrow(const pm__page *p, const pm_trace_record *r, int from, int to) {
  const int y1 = pm__page_y(p, pm__record_begin_ps(r)), y2 = pm__page_y(p, pm__record_end_ps(r));
  const int x1 = pm__page_x(p, from), x2 = pm__page_x(p, to), side = x1 < x2 ? -1 : 1;
  char way[128];
  if (x1 == x2)
    snprintf(way, sizeof way, "M%d %d C%d %d %d %d %d %d", x1, y1, x1 + 60, y1, x1 + 60, y2, x2,
             y2);
  else
    snprintf(way, sizeof way, "M%d %d L%d %d", x1, y1, x2, y2);
  fprintf(p->out,
          "<path class=\"hit\" d=\"%s\"/><path d=\"%s\"/><polygon points=\"%d,%d %d,%d "
          "%d,%d\"/><text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s %llu B</text>",
          way, way, x2, y2, x2 + 9 * side, y2 - 4, x2 + 9 * side, y2 + 4,
          (x1 + x2) / 2 + (x1 == x2 ? 70 : 0), (y1 + y2) / 2 - 4, pm_trace_kind_name(r->kind),
          (unsigned long long)r->size_bytes);
}
static void pm__page_record(const pm__page *p, const pm_trace_record *r) {
  const bool is_reply = r->kind == PM_TRACE_GET_RESPONSE || r->kind == PM_TRACE_PORTALS_ACK ||
                        r->kind == PM_TRACE_E2E_ACK || r->kind == PM_TRACE_FETCH_ATOMIC_RESPONSE;
  const int from = is_reply ? r->to_rank : r->from_rank, to = is_reply ? r->from_rank : r->to_rank;
  fprintf(p->out, "<g class=\"m %s\"><title>%s", pm_trace_kind_name(r->kind), pm__record_name(r));
  if (r->id) fprintf(p->out, " of message %llu", (unsigned long long)r->id);
  if (r->to_rank >= 0) fprintf(p->out, ", process %d to %d", from, to);
  fprintf(p->out, ", %llu bytes, %lld.%03d to %lld.%03d ns</title>",
          (unsigned long long)r->size_bytes, (long long)r->t_begin_ns, r->t_begin_ps,
          (long long)r->t_end_ns, r->t_end_ps);
  if (r->kind >= PM_TRACE_COMMAND) { /* these stay at one process */
    const bool is_there = r->to_rank >= 0 && r->to_rank != r->from_rank &&
                          (r->kind == PM_TRACE_PAYLOAD_WRITE ||
                           ((r->kind == PM_TRACE_DMA_REQUEST || r->kind == PM_TRACE_DMA_PAYLOAD) &&
                            r->from_node != p->procs[r->from_rank]->node));
    const int y1 = pm__page_y(p, pm__record_begin_ps(r)), y2 = pm__page_y(p, pm__record_end_ps(r));
    const int x = pm__page_x(p, is_there ? r->to_rank : r->from_rank);
    fprintf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"8\" height=\"%d\"/>",
            r->kind == PM_TRACE_CALL ? x - 14 : x - 4, y1, y2 - y1 > 3 ? y2 - y1 : 3);
  } else
    pm__page_arrow(p, r, from, to);
  fprintf(p->out, "</g>\n");
}
PM_API pm_status pm_trace_write_html(const pm_world *world, FILE *out) {
  pm__page p;
  int i;
  if (!world || !out) return PM_E_INVAL;
  memset(&p, 0, sizeof p);
  p.out = out;
  p.records = world->records;
  p.procs = world->procs;
  p.count = world->record_count < PM_TRACE_HTML_MAX ? world->record_count : PM_TRACE_HTML_MAX;
  p.t_ps = (int64_t *)PM_MALLOC(((size_t)p.count * 2 + 1) * sizeof *p.t_ps);
  p.y = (int *)PM_MALLOC(((size_t)p.count * 2 + 1) * sizeof *p.y);
  p.column = (int *)PM_MALLOC(((size_t)world->proc_count + 1) * sizeof *p.column);
  if (p.t_ps && p.y && p.column) {
    pm__page_times(&p);
    pm__page_columns(world, &p);
    pm__page_head(world, &p);
    for (i = 0; i < p.count; i++) pm__page_record(&p, &p.records[i]);
    fprintf(out, "</svg>\n</body></html>\n");
  }
  PM_FREE(p.t_ps);
  PM_FREE(p.y);
  PM_FREE(p.column);
  if (!p.t_ps || !p.y || !p.column) return PM_E_NOMEM;
  return ferror(out) ? PM_E_IO : PM_OK;
}
#ifdef NBC_LINES
#line 418 "src/portals/ptl.h"
#endif
/* ============================================================================================== */
/* [PTL] 6. Portals 4, versions 4.2 and 4.3 together                                              */
/* ============================================================================================== */
/* ---- Portals objects: each begins with its handle --------------------------------------------- */
enum { PM__KINDS = 4, PM__CHUNKS = 17, PM__ATOMIC_BYTES = 1024 };
enum { PM__RELEASED = 2 };
typedef struct pm__object {
  uint32_t handle;
  uint32_t next_free : 24, live : 8; /* PM__RELEASED: its handle is void, its last use is to come */
} pm__object;
typedef struct pm__pool { /* what each look asks for first, with the first chunk */
  uint32_t made, item_bytes, used, limit, free_head; /* free_head: slot + 1 */
  char *chunk[PM__CHUNKS];
} pm__pool;
typedef struct pm__eq {
  pm__object o;
  ptl_event_t *ring; /* grows up to count + reserved */
  uint32_t ring_max, first, used;
  uint32_t count, reserved; /* reserved: one PT_DISABLED per portal table entry with flow control */
  uint32_t promised;        /* events of messages that are being delivered */
  int dropped;
  void (*callback)(void *arg, ptl_handle_eq_t eq_handle); /* PtlEQAllocAsync; or NULL */
  void *callback_arg;
  struct pm__eq *next_news; /* in the process's list of queues to call for */
  bool has_news;
} pm__eq;
typedef struct pm__trigger {
  struct pm__trigger *next, *child; /* of a pairing heap */
  uint64_t threshold, number;       /* equal thresholds: first posted, first fired */
  int kind;                         /* enum below */
  pm__message *message;
  pm__ni *ni;
  ptl_handle_any_t handle; /* counter or entry */
  ptl_ct_event_t value;
  struct pm__me *entry; /* to be appended */
  struct pm__ct *ct;    /* which it waits for */
  int carried;          /* 1 + number that the carrier gave it; 0: not there */
  bool is_held;         /* it counts among those held: the carrier has not got it */
} pm__trigger;
enum { PM__TRIG_MOVE, PM__TRIG_INC, PM__TRIG_SET, PM__TRIG_APPEND, PM__TRIG_UNLINK };
typedef struct pm__ct {
  pm__object o;
  ptl_ct_event_t value;
  pm__trigger *triggers; /* the next one to fire: root of a pairing heap */
  uint64_t posted_count;
  pm__ni *ni;
  struct pm__ct *next_to_fire;
  int to_fire;
  int carried; /* 1 + number that the carrier gave it; 0: not there */
} pm__ct;
/* Of the triggers that wait for a counter: how many a carrier has and has not, no more than the greatest threshold of these
   and no less than the least of those is known. Until none is left the bounds stay. */
typedef struct pm__split {
  uint32_t carried_count, held_count;
  uint64_t carried_most, held_least;
} pm__split;
typedef struct pm__md {
  pm__object o;
  ptl_md_t md;
  pm__eq *eq;              /* see pm__eq_if */
  uint32_t in_flight;      /* operations that will still tell of something */
  uint32_t unsent;         /* those of them whose SEND or REPLY is to come */
  const pm_process *whose; /* of whose memory desc.memory_at tells; NULL: it is where it says */
} pm__md;
typedef struct pm__me {
  pm__object o;
  uint32_t pt, headers, in_flight;
  int carried; /* 1 + the carrier's number of it; 0: none */
  ptl_me_t me;
  unsigned char list;
  bool linked, auto_unlinked;
  bool unlink_is_due; /* AUTO_UNLINK, when nothing is under way in it any more */
  unsigned char owed; /* events for which it keeps room in its queue until then */
  bool is_asked;      /* its append waits for the carrier's lists */
  void *user_ptr;
  struct pm__me *next, *prev;
  uint64_t offset;         /* of a locally managed entry */
  const pm_process *whose; /* as of a descriptor */
} pm__me;
/* An append or a search that the carrier's lists do first, or a triggered unlink behind such. */
typedef struct pm__list_op {
  struct pm__list_op *next;
  uint64_t number; /* by which the carrier names it */
  struct pm__ni *ni;
  ptl_pt_index_t pt;
  ptl_handle_any_t leaves; /* of the entry to be unlinked; PTL_INVALID_HANDLE: none */
  pm__me *entry;           /* to be appended; NULL: a search, for what follows */
  ptl_me_t wanted;
  ptl_search_op_t op;
  void *user_ptr;
  bool is_told;
} pm__list_op;
enum { PM__BY_BOTH, PM__BY_BITS, PM__BY_SENDER, PM__WAYS }; /* to shelve headers */
/* A message that came before its entry. */
typedef struct pm__header {
  struct pm__header *next, *prev;                                 /* in the order of arrival */
  struct pm__header *next_alike[PM__WAYS], *prev_alike[PM__WAYS]; /* on its shelves */
  pm__me *me;                                                     /* in the overflow list */
  pm__message *message; /* while its data is still being written */
  ptl_event_t event;    /* as a *_OVERFLOW event will tell it; user_ptr is filled in then */
  bool is_claimed;      /* found by an append while message was set: told when the data is in */
  int unlink_after;     /* then the claiming entry's AUTO_UNLINK follows */
  pm__me *claimer;      /* that entry, in use until then; NULL: a search's */
  ptl_handle_eq_t eq_handle; /* of the claiming portal table entry */
  ptl_handle_ct_t ct_handle; /* of the claiming entry */
  unsigned int options;
} pm__header;
/* Headers with the same bits, sender or both, in the order of arrival: see pm__shelf_of. */
typedef struct pm__shelf {
  pm__header *first, *last;
} pm__shelf;
typedef struct pm__pt {
  bool allocated, enabled, disabling;
  unsigned int options;
  ptl_handle_eq_t eq_handle;
  uint32_t in_flight;
  pm__eq *eq; /* where that queue lies, or lay: see pm__eq_if */
  pm__me *head[2], *tail[2];
  pm__header *headers, *headers_tail;
  int list_count;  /* entries of both lists */
  int later_count; /* places promised to appends that a thread has ahead of it */
  int asked_count; /* appends that wait for the carrier's lists */
} pm__pt;
enum { PM__PTS = 8, PM__PT_GROUPS = 32 }; /* 8 * 32: more than max_pt_index ever is */
typedef struct pm__map {
  struct pm__map *next;
  ptl_size_t count;
  ptl_process_t *id;
} pm__map;

/* A network interface: index bit 0 = matching, bit 1 = logical. */
struct pm__ni {
  pm_process *proc;
  int index, refs;
  uint32_t epoch;          /* messages of a closed interface know an older one */
  uint32_t uncopied_count; /* messages under way whose payload is in the memory of the process */
  pm__message *writes, *writes_last; /* that wait for their memory, in the order of their matches */
  int header_count, trigger_count;
  pm__map *map;
  pm__pt *pt[PM__PT_GROUPS]; /* made when one of a group is: few are used, of any index */
  ptl_ni_limits_t limits;
  ptl_handle_ni_t handle;
  ptl_rank_t rank;
  pm__pool pool[PM__KINDS]; /* see PM__POOL; what is asked for first is in one line of each */
  int bundles, pt_last;
  ptl_sr_value_t status[PTL_SR_LAST];
  int event_fd; /* 1 + descriptor that tells of events; 0: nobody asked for it */
  /* the first of each pool, many have no other; counter and descriptor lie in a line each */
  pm__me first_me;
  pm__ct first_ct;
  pm__md first_md;
  pm__eq first_eq;
  pm__split *splits;  /* of each counter; NULL: no trigger was posted where there is a carrier */
  pm__shelf *shelves; /* shelf_count of each way; NULL: few headers wait */
  int shelf_count;    /* a power of two */
};

enum { PM__H_NI = 1, PM__H_EQ, PM__H_CT, PM__H_MD, PM__H_ME };
#define PM__POOL(ni, kind) (&(ni)->pool[(kind)-PM__H_EQ])
#define PM__PROCESS(p)                                                                             \
  pm_process *const p = pm__inited();                                                              \
  if (!p) return PTL_NO_INIT
#define PM__NI(p, ni, handle)                                                                      \
  PM__PROCESS(p);                                                                                  \
  pm__ni *const ni = pm__ni_of(p, handle);                                                         \
  if (!ni) return PTL_ARG_INVALID
#define PM__CT(p, ni, ct, handle)                                                                  \
  PM__PROCESS(p);                                                                                  \
  pm__ni *ni;                                                                                      \
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, handle, &ni);                                   \
  if (!ct) return PTL_ARG_INVALID
/* What an interface offers where pm_semantics says nothing else. BXI's figures [B], IOVEC as in the reference. */
static const ptl_ni_limits_t pm__limits = {4080,     16319,    1024,  1024,     960,  255,
                                           1024,     16582,    16378, 67108864, 1024, 64,
                                           67108864, 67108864, 64,    7};
#ifdef NBC_LINES
#line 7 "src/portals/message.h"
#endif
/* From PM__GET on they bring data back, from PM__FETCH on they also carry some there. */
typedef enum pm__kind { PM__PUT, PM__ATOMIC, PM__GET, PM__FETCH, PM__SWAP } pm__kind;

/* A message is in no cache any more each time it is looked at, in a world of thousands. So what each step looks at
   stands together: lines of the cache are marked. */
/* What an operation is and what became of it. Written by Portals alone (the pieces ptl_...); NIC, wire,
   carriers and trace only read it. */
typedef struct pm__operation {
  /* what each step looks at */
  unsigned char kind, ack_req, op, type, fail, list;
  unsigned char promised; /* places in the target's queue */
  bool is_ack_muted, is_early_send, has_copy, unlinks;
  bool is_unheld;  /* its descriptor was given back when it started: see pm__give_back */
  bool is_written; /* its data is in the target's memory, see pm__target_waits */
  bool is_inside;  /* of one node: through memory */
  unsigned char from_index, pt;         /* of interfaces: which; portal */
  int from_nic, to_nic;                 /* of the initiator, and of its rail at the target's node */
  pm__node *initiator_nic, *target_nic; /* the same two */
  pm__ni *from;
  uint64_t length, id;
  /* line: what ends look at */
  pm__ni *to;
  pm__me *me;
  pm__md *md, *get_md;
  pm__header *header;
  struct pm__message *next_write; /* of the target's interface, see pm__target_waits */
  uint64_t mlength;
  uint32_t from_epoch, to_epoch;
  /* line: matching */
  ptl_process_t target,
      initiator; /* the one physical, the other as its target sees it: interfaces and
                               their maps may be gone when it arrives */
  uint64_t match_bits, remote_offset, offset_used;
  void *start;
  unsigned char *kept; /* payload of more bytes that its owner may change or lose; allocated */
  ptl_uid_t uid;
  uint32_t looked_at; /* list entries */
  /* line: for the rest */
  uint64_t local_offset, get_offset, hdr_data;
  void *user_ptr;
  int64_t t_issue_ps;
  unsigned char copy[PM__COPY_BYTES]; /* small payload, or what a fetch brings back */
  unsigned char operand[32];          /* of a conditional swap */
} pm__operation;
/* Where it is. Written by NIC and wire alone. Three things may be in its future at once: the travel over
   the network, the end of the writing at the target, an early SEND. */
typedef struct pm__journey {
  pm__event event;      /* first: the travel itself */
  pm__known_way *known; /* where the present travel's way was found, see pm__known_again */
  int pending;          /* events and travels that still need this */
  int part_count;       /* flows of the present travel that are not there yet */
  uint32_t slot;
  unsigned char lane, link;
  unsigned char hop, link_count; /* the next link that is due; of how many */
  bool is_reply, has_slot;
  bool is_left_alone;        /* no answer comes back: over for its initiator when it has left */
  bool is_flow, has_crossed; /* of the present travel: the links on the way are paid for */
  bool is_dropped;           /* at the packet level: a packet found no way */
  bool is_first;             /* no packet has begun to leave */
  bool waits_for_credit;
  /* line */
  int64_t t_ready_ps, t_begin_ps, t_left_ps, t_lost_ps;
  int64_t
      d_rest_ps; /* from its event to the end of its way, if nobody stands in it; of who is early: that time */
  int64_t d_tail_ps, d_lag_ps; /* from its head to its tail, to its event */
  int64_t t_done_ps;           /* data and events are in the target's memory */
  /* line */
  pm__event target, send;
  /* line */
  uint64_t number; /* of its stream: at the packet level, and where ways change */
  /* at the packet level */
  uint64_t rest_bytes;  /* still in the initiator's memory */
  int64_t packet_count; /* not there yet */
  int64_t credit_bytes; /* that may leave before others are there (link_credit_bytes) */
} pm__journey;
/* What became of a carried message at its target. */
typedef enum pm__lookup {
  PM__LOOKUP_NOT_YET,
  PM__LOOKUP_REFUSED,
  PM__LOOKUP_FOUND,
  PM__LOOKUP_COMPUTED /* found, and what the carrier brings back is not the old value */
} pm__lookup;
/* What a carrier adds. Written by the piece carrier alone. */
typedef struct pm__carried {
  unsigned char *wire;  /* what it brought: valid during one call */
  int behind;           /* 1 + the carrier's counter that released it here; 0: none */
  unsigned char lookup; /* pm__lookup */
  bool is_computed;     /* the carrier does the arithmetic */
  bool is_triggered;    /* it was given to the carrier before it was due */
  pm__trigger *trigger; /* that it waits for there; NULL: it has started */
} pm__carried;
/* One operation from its call to its last event. */
struct pm__message {
  pm__journey way; /* first: an event leads to its message */
  pm__carried cargo;
  pm__message *next;      /* of the list it is in */
  pm__known_way own;      /* its present way, where messages keep that: see pm__way_of. A line */
  pm__operation what;     /* from its copy on nothing is cleared for a new operation */
  pm__message *next_made; /* of all that were ever made */
};

static inline int pm__to_node(const pm__message *m) { return (int)m->what.target.phys.nid; }
static inline int pm__to_nic(const pm__message *m) { return m->what.to_nic; }

/* ---- the contract between Portals and what moves messages ---- */
/* Portals asks: send it; wait until a command has room; has it none? */
PM__PRIVATE void pm__nic_send(pm_world *w, pm__message *m);
typedef struct pm__call_step { /* of a call that moves data; zeroed at first */
  int done;
  bool is_short, is_pio;
  int64_t d_ps, t_ps, t_pio_ps;
  const char *what;
} pm__call_step;
PM__PRIVATE bool pm__nic_call(pm_process *p, const pm__message *m, pm__call_step *call);
PM__PRIVATE int pm__slots_are_taken(const pm_process *p, const pm__message *m);
/* NIC, wire and carriers answer with five verbs. The request is at the target's list engines (ret 1: an
   entry took it); its data is on its way to the target's memory, if that takes time; its data and events reach that; the
   initiator's buffer may be written again; acknowledgement or reply is there, the operation is over. */
PM__PRIVATE int pm__target_start(pm_world *w, pm__message *m);
PM__PRIVATE void pm__target_waits(pm__message *m);
PM__PRIVATE void pm__target_finish(pm_world *w, pm__message *m);
PM__PRIVATE void pm__initiator_sent(pm__message *m);
PM__PRIVATE void pm__initiator_finish(pm_world *w, pm__message *m);
/* And: it can never arrive. Nothing of it is left in the future. */
PM__PRIVATE void pm__undeliverable(pm_world *w, pm__message *m);
PM__PRIVATE void pm__message_free(pm_world *w, pm__message *m);
/* The wire asks the NIC: one has come back, another may go. The NIC asks a carrier: take this. */
PM__PRIVATE void pm__nic_landed(pm_world *w, const pm__message *done);
PM__PRIVATE void pm__carrier_send(pm_world *w, pm__message *m);
/* Portals tells a carrier: an entry is in its list, is in it no longer. NIC tells it: from now on messages are
   yours, so all entries are. */
PM__PRIVATE void pm__carrier_link(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__carrier_unlink(pm__ni *ni, pm__me *me);
/* A portal lets messages in from now on, or does not. */
PM__PRIVATE void pm__carrier_portal(const pm__ni *ni, ptl_pt_index_t index);
/* An entry is to be appended, or (NULL) wanted looked for. ret whether the carrier tells by that number when it has. */
PM__PRIVATE bool pm__carrier_ask(pm__ni *ni, ptl_pt_index_t index, pm__me *me,
                                 const ptl_me_t *wanted, ptl_search_op_t op, uint64_t number);
PM__PRIVATE void pm__carrier_link_all(pm_world *w);
/* Portals tells a carrier: a counter changed, is gone; something waits for it, is due, is cancelled with all that
   waits for the same counter. */
PM__PRIVATE void pm__carrier_count(pm__ct *ct);
PM__PRIVATE void pm__carrier_count_end(pm__ct *ct);
PM__PRIVATE void pm__carrier_trigger(pm__trigger *t);
PM__PRIVATE void pm__carrier_due(pm__trigger *t);
PM__PRIVATE void pm__carrier_cancel(pm__ct *ct);
/* ... and the packet level: this job sets out at t_ps. Its first packet may not come earlier. */
PM__PRIVATE void pm__packet_send(pm_world *w, pm__message *m, int64_t t_ps);
#ifdef NBC_LINES
#line 6 "src/portals/ptl_memory.h"
#endif
typedef struct pm__cursor {
  char *at;                /* next byte */
  uint64_t left;           /* of this piece */
  const ptl_iovec_t *next; /* NULL: one piece */
  const pm_process *whose; /* see pm__reached; NULL: the address is good */
} pm__cursor;
PM__PRIVATE void *pm__reached(const pm_process *whose, void *address);
PM__PRIVATE void *pm__table(const pm_process *whose, void *start, unsigned int options);
PM__PRIVATE void *pm__cursor_start(pm__cursor c);
PM__PRIVATE void pm__copy(pm__cursor to, pm__cursor from, uint64_t bytes);
PM__PRIVATE bool pm__copied(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes);
PM__PRIVATE bool pm__move_bytes(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes);
PM__PRIVATE bool pm__is_accessible(pm_world *w, pm__cursor c, uint64_t bytes, bool writes);
PM__PRIVATE pm__cursor pm__flat(void *start);
PM__PRIVATE pm__cursor pm__md_cursor(const pm__md *md, uint64_t offset);
PM__PRIVATE pm__cursor pm__me_cursor(const pm__message *m);
PM__PRIVATE pm__cursor pm__payload(pm__message *m);
PM__PRIVATE uint64_t pm__type_bytes(int type);
PM__PRIVATE bool pm__op_is_legal(int op, int type);
PM__PRIVATE bool pm__atomic(pm_world *w, pm__message *m, const unsigned char *sent, uint64_t bytes);
#ifdef NBC_LINES
#line 1 "src/portals/ptl_memory.c"
#endif

/* ---- memory: plain or in pieces ---------------------------------------------------------------- */
/* Addresses are the program's own, which events tell, until bytes are moved; tables of pieces are
   looked at where they are reached (pm__table). */
PM__PRIVATE void *pm__reached(const pm_process *whose, void *address) {
  const pm_world_desc *d = whose ? &whose->world->desc : NULL;
  return d ? d->memory_at(d->user, whose, address) : address;
}
PM__PRIVATE void *pm__table(const pm_process *whose, void *start, unsigned int options) {
  return options & PTL_IOVEC ? pm__reached(whose, start) : start;
}
PM__INLINE_HERE pm__cursor pm__cursor_at(const pm_process *whose, void *start, unsigned int options,
                                         uint64_t offset) {
  pm__cursor c;
  const ptl_iovec_t *v = (const ptl_iovec_t *)start;
  c.whose = whose;
  if (!(options & PTL_IOVEC)) {
    c.at = (char *)((uintptr_t)start + (uintptr_t)offset); /* start may be NULL: all memory */
    c.left = UINT64_MAX;
    c.next = NULL;
    return c;
  }
  while (offset && offset >= v->iov_len) offset -= v++->iov_len;
  c.at = offset ? (char *)v->iov_base + offset : NULL;
  c.left =
      offset ? v->iov_len - offset : 0; /* at a piece's edge: the next is looked at when needed */
  c.next = offset ? v + 1 : v;
  return c;
}
static uint64_t pm__cursor_piece(pm__cursor *c, uint64_t want) {
  while (!c->left) {
    c->at = (char *)c->next->iov_base;
    c->left = c->next->iov_len;
    c->next++;
  }
  return want < c->left ? want : c->left;
}
/* Where the first byte lies; there must be one. */
PM__PRIVATE void *pm__cursor_start(pm__cursor c) {
  (void)pm__cursor_piece(&c, 1);
  return c.at;
}
PM__PRIVATE void pm__copy(pm__cursor to, pm__cursor from, uint64_t bytes) {
  while (bytes) {
    uint64_t n = pm__cursor_piece(&to, pm__cursor_piece(&from, bytes));
    memmove(pm__reached(to.whose, to.at), pm__reached(from.whose, from.at), (size_t)n);
    to.at += n, to.left -= n;
    from.at += n, from.left -= n;
    bytes -= n;
  }
}
enum { PM__PAGES_KNOWN = 1024 };
/* Whether the bytes were there. Memory that was may be gone when they come: the program has unmapped or freed it. Then all
   pages are asked for anew. */
PM__PRIVATE bool pm__copied(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes) {
#ifndef PM__ASAN
  if (w->desc.catch_crashes) {
    if (sigsetjmp(w->copy_jump, 0)) {
      if (w->pages) memset(w->pages, 0, PM__PAGES_KNOWN * sizeof *w->pages);
      return false;
    }
    w->is_copying = 1;
    pm__copy(to, from, bytes);
    w->is_copying = 0;
    return true;
  }
#endif
  (void)w;
  pm__copy(to, from, bytes);
  return true;
}
/* Whether a program's memory may be read, or read and written. The kernel is asked once for each page, by calls that
   look at a word, or change none of its bits, and fail where that would crash. What was there is remembered by its
   page, of which the lowest two bits say what may be done. No descriptor is used: programs close those they do not know.
   A call that finds the word as it says waits, and though it is for no time that takes a tenth of a millisecond: so it
   says what a word hardly ever is. */
enum {
  PM__NO_WORD = 0x5BD1E995,
  PM__FUTEX_WAIT =
      0 | 128, /* as in linux/futex.h, which not every C library comes with; 128: of this process */
  PM__FUTEX_WAKE_OP = 5 | 128,
  PM__OR_NOTHING = 2 << 28 /* what the latter does */
};
PM__APART static bool pm__page_answers(char *at, bool writes) {
  static const struct timespec no_time = {0, 0};
  uint32_t nobody = 0;
  uint32_t *word = (uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
  const int before = errno;
  const long code =
      writes ? syscall(SYS_futex, &nobody, PM__FUTEX_WAKE_OP, 0, 0L, word, PM__OR_NOTHING)
             : syscall(SYS_futex, word, PM__FUTEX_WAIT, PM__NO_WORD, &no_time, NULL, 0);
  const bool is_there = code >= 0 || errno != EFAULT;
  errno = before;
  return is_there;
}
static bool pm__page_is_there(pm_world *w, char *at, bool writes) {
  const uintptr_t page = (uintptr_t)at & ~(uintptr_t)(PM__PAGE - 1);
  uintptr_t *known = &w->pages[page / PM__PAGE % PM__PAGES_KNOWN];
  if ((*known & ~(uintptr_t)2) == (page | 1) && (!writes || *known & 2)) return true;
  if (!pm__page_answers(at, writes)) return false;
  *known = page | (writes ? 3 : 1);
  return true;
}
/* Of each piece the first and the last page are asked for. */
PM__PRIVATE bool pm__is_accessible(pm_world *w, pm__cursor c, uint64_t bytes, bool writes) {
  if (!w->pages) w->pages = (uintptr_t *)pm__zalloc(PM__PAGES_KNOWN * sizeof *w->pages);
  while (w->pages && bytes) {
    const uint64_t n = pm__cursor_piece(&c, bytes);
    char *at = (char *)pm__reached(c.whose, c.at);
    if (!pm__page_is_there(w, at, writes) || !pm__page_is_there(w, at + n - 1, writes))
      return false;
    c.at += n, c.left -= n;
    bytes -= n;
  }
  return true;
}
/* The bytes of a put or get, unless the world's owner has moved them. */
PM__PRIVATE bool pm__move_bytes(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes) {
  if (w->desc.moved && !to.next && !from.next && bytes > (uint64_t)w->plat.early_send_bytes &&
      w->desc.moved(w->desc.user, to.at, from.at, bytes))
    return true;
  return pm__copied(w, to, from, bytes);
}
PM__INLINE pm__cursor pm__flat(void *start) { return pm__cursor_at(NULL, start, 0, 0); }
PM__INLINE pm__cursor pm__md_cursor(const pm__md *md, uint64_t offset) {
  return pm__cursor_at(md->whose, md->md.start, md->md.options, offset);
}
PM__INLINE pm__cursor pm__me_cursor(const pm__message *m) {
  const pm__me *me = m->what.me;
  return pm__cursor_at(me->whose, me->me.start, me->me.options, m->what.offset_used);
}
/* What is sent: the copy when there is one, else the initiator's memory as it is now. */
PM__PRIVATE pm__cursor pm__payload(pm__message *m) {
  return m->cargo.wire      ? pm__flat(m->cargo.wire)
         : m->what.kept     ? pm__flat(m->what.kept)
         : m->what.has_copy ? pm__flat(m->what.copy)
                            : pm__md_cursor(m->what.md, m->what.local_offset);
}

/* ---- atomics ----------------------------------------------------------------------------------- */
PM__PRIVATE uint64_t pm__type_bytes(int type) {
  static const unsigned char bytes[] = {
      1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, sizeof(long double), 2 * sizeof(long double)};
  return bytes[type];
}
PM__PRIVATE bool pm__op_is_legal(int op, int type) {
  const bool is_complex =
      type == PTL_FLOAT_COMPLEX || type == PTL_DOUBLE_COMPLEX || type == PTL_LONG_DOUBLE_COMPLEX;
  const bool is_real = type == PTL_FLOAT || type == PTL_DOUBLE || type == PTL_LONG_DOUBLE;
  if (op < 0 || op >= PTL_OP_LAST || type < 0 || type >= PTL_DATATYPE_LAST) return 0;
  if (is_complex) return op == PTL_SUM || op == PTL_PROD || (op >= PTL_SWAP && op <= PTL_CSWAP_NE);
  if (is_real) return !(op >= PTL_LOR && op <= PTL_BXOR) && op != PTL_MSWAP;
  return 1;
}
/* Of two that are no numbers the target's is kept: a processor keeps its first operand, and a compiler chooses which
   that is. */
#define PM__PLUS(T, a, b)  ((T)((a) + ((a) <= (a) ? (b) : (T)0)))
#define PM__TIMES(T, a, b) ((T)((a) * ((a) <= (a) ? (b) : (T)1)))
/* One item: t = t op o. c is the operand of a conditional swap: c REL t decides. */
#define PM__ORDERED                                                                                \
  case PTL_MIN:                                                                                    \
    if (o < t) t = o;                                                                              \
    break;                                                                                         \
  case PTL_MAX:                                                                                    \
    if (o > t) t = o;                                                                              \
    break;                                                                                         \
  case PTL_SWAP: t = o; break;                                                                     \
  case PTL_CSWAP_LE:                                                                               \
    if (c <= t) t = o;                                                                             \
    break;                                                                                         \
  case PTL_CSWAP_LT:                                                                               \
    if (c < t) t = o;                                                                              \
    break;                                                                                         \
  case PTL_CSWAP_GE:                                                                               \
    if (c >= t) t = o;                                                                             \
    break;                                                                                         \
  case PTL_CSWAP_GT:                                                                               \
    if (c > t) t = o;                                                                              \
    break
/* Integers wrap: sums and products are formed in a type that may (U, wide enough not to be promoted). */
#define PM__INTEGER(name, T, U)                                                                    \
  static void pm__atomic_##name(int op, void *target, const void *source, const void *operand) {   \
    T t, o, c;                                                                                     \
    memcpy(&t, target, sizeof t);                                                                  \
    memcpy(&o, source, sizeof o);                                                                  \
    memcpy(&c, operand, sizeof c);                                                                 \
    switch (op) {                                                                                  \
      PM__ORDERED;                                                                                 \
    case PTL_SUM: t = (T)((U)t + (U)o); break;                                                     \
    case PTL_PROD: t = (T)((U)t * (U)o); break;                                                    \
    case PTL_LOR: t = (T)(t || o); break;                                                          \
    case PTL_LAND: t = (T)(t && o); break;                                                         \
    case PTL_BOR: t = (T)(t | o); break;                                                           \
    case PTL_BAND: t = (T)(t & o); break;                                                          \
    case PTL_LXOR: t = (T)(!t != !o); break;                                                       \
    case PTL_BXOR: t = (T)(t ^ o); break;                                                          \
    case PTL_CSWAP:                                                                                \
      if (c == t) t = o;                                                                           \
      break;                                                                                       \
    case PTL_CSWAP_NE:                                                                             \
      if (c != t) t = o;                                                                           \
      break;                                                                                       \
    default: t = (T)((t & (T)~c) | (o & c)); break; /* MSWAP */                                    \
    }                                                                                              \
    memcpy(target, &t, sizeof t);                                                                  \
  }
PM__INTEGER(int8, int8_t, unsigned)
PM__INTEGER(uint8, uint8_t, unsigned)
PM__INTEGER(int16, int16_t, unsigned)
PM__INTEGER(uint16, uint16_t, unsigned)
PM__INTEGER(int32, int32_t, uint32_t)
PM__INTEGER(uint32, uint32_t, uint32_t)
PM__INTEGER(int64, int64_t, uint64_t)
PM__INTEGER(uint64, uint64_t, uint64_t)
#undef PM__INTEGER
/* Equality written as not less and not greater: NaN is equal to nothing, and compilers that warn of
   == on reals have nothing to say. */
#define PM__REAL(name, T)                                                                          \
  static void pm__atomic_##name(int op, void *target, const void *source, const void *operand) {   \
    T t, o, c;                                                                                     \
    memcpy(&t, target, sizeof t);                                                                  \
    memcpy(&o, source, sizeof o);                                                                  \
    memcpy(&c, operand, sizeof c);                                                                 \
    switch (op) {                                                                                  \
      PM__ORDERED;                                                                                 \
    case PTL_SUM: t = PM__PLUS(T, t, o); break;                                                    \
    case PTL_PROD: t = PM__TIMES(T, t, o); break;                                                  \
    case PTL_CSWAP:                                                                                \
      if (c <= t && c >= t) t = o;                                                                 \
      break;                                                                                       \
    default:                                                                                       \
      if (!(c <= t && c >= t)) t = o;                                                              \
      break; /* CSWAP_NE */                                                                        \
    }                                                                                              \
    memcpy(target, &t, sizeof t);                                                                  \
  }
PM__REAL(float, float)
PM__REAL(double, double)
PM__REAL(long_double, long double)
#undef PM__REAL
#undef PM__ORDERED
/* The four products are rounded each, in memory: no compiler joins them with a sum (see pm__times). */
#define PM__COMPLEX(name, T)                                                                       \
  static void pm__atomic_##name(int op, void *target, const void *source, const void *operand) {   \
    T t[2], o[2], c[2];                                                                            \
    volatile T product[4];                                                                         \
    int equal;                                                                                     \
    memcpy(t, target, sizeof t);                                                                   \
    memcpy(o, source, sizeof o);                                                                   \
    memcpy(c, operand, sizeof c);                                                                  \
    equal = c[0] <= t[0] && c[0] >= t[0] && c[1] <= t[1] && c[1] >= t[1];                          \
    switch (op) {                                                                                  \
    case PTL_SUM: t[0] = PM__PLUS(T, t[0], o[0]), t[1] = PM__PLUS(T, t[1], o[1]); break;           \
    case PTL_PROD:                                                                                 \
      product[0] = PM__TIMES(T, t[0], o[0]);                                                       \
      product[1] = PM__TIMES(T, t[1], o[1]);                                                       \
      product[2] = PM__TIMES(T, t[0], o[1]);                                                       \
      product[3] = PM__TIMES(T, t[1], o[0]);                                                       \
      t[0] = product[0] - product[1];                                                              \
      t[1] = PM__PLUS(T, product[2], product[3]);                                                  \
      break;                                                                                       \
    default: /* SWAP, CSWAP, CSWAP_NE */                                                           \
      if (op == PTL_SWAP || (op == PTL_CSWAP) == equal) t[0] = o[0], t[1] = o[1];                  \
      break;                                                                                       \
    }                                                                                              \
    memcpy(target, t, sizeof t);                                                                   \
  }
PM__COMPLEX(float_complex, float)
PM__COMPLEX(double_complex, double)
PM__COMPLEX(long_double_complex, long double)
#undef PM__COMPLEX
#undef PM__PLUS
#undef PM__TIMES

/* Applies the message's operation to the target's memory, whole items only; operand holds what was
   sent. In pieces of memory the items are gathered and scattered. ret whether the memory was there */
PM__PRIVATE bool pm__atomic(pm_world *w, pm__message *m, const unsigned char *sent,
                            uint64_t bytes) {
  static void (*const apply[])(int, void *, const void *, const void *) = {
      pm__atomic_int8,          pm__atomic_uint8,
      pm__atomic_int16,         pm__atomic_uint16,
      pm__atomic_int32,         pm__atomic_uint32,
      pm__atomic_float,         pm__atomic_int64,
      pm__atomic_uint64,        pm__atomic_double,
      pm__atomic_float_complex, pm__atomic_double_complex,
      pm__atomic_long_double,   pm__atomic_long_double_complex};
  const uint64_t item = pm__type_bytes(m->what.type);
  unsigned char target[PM__ATOMIC_BYTES];
  uint64_t at;
  bytes -= bytes % item;
  if (!pm__copied(w, pm__flat(target), pm__me_cursor(m), bytes)) return false;
  for (at = 0; at < bytes; at += item)
    apply[m->what.type](m->what.op, target + at, sent + at, m->what.operand);
  return pm__copied(w, pm__me_cursor(m), pm__flat(target), bytes);
}
#ifdef NBC_LINES
#line 6 "src/portals/ptl_objects.h"
#endif
PM__PRIVATE uint32_t pm__handle(int kind, int ni, uint32_t generation, uint32_t slot);
PM__PRIVATE pm__object *pm__pool_at(const pm__pool *pool, uint32_t slot);
PM__PRIVATE pm__object *pm__pool_new(pm__ni *ni, int kind);
PM__PRIVATE void pm__pool_free(pm__ni *ni, pm__object *o);
PM__PRIVATE pm_process *pm__inited(void);
PM__PRIVATE pm__ni *pm__ni_of(const pm_process *p, ptl_handle_any_t h);
PM__PRIVATE pm__object *pm__find(const pm__ni *ni, int kind, ptl_handle_any_t h);
PM__PRIVATE pm__object *pm__find_any(const pm_process *p, int kind, ptl_handle_any_t h,
                                     pm__ni **ni);
PM__PRIVATE bool pm__is_matching(const pm__ni *ni);
PM__PRIVATE bool pm__is_logical(const pm__ni *ni);
PM__PRIVATE ptl_process_t pm__own_id(const pm__ni *ni);
PM__PRIVATE void pm__pid_is(pm__node *node, uint32_t pid, pm_process *p);
PM__PRIVATE int pm__pid_take(pm_world *w, pm_process *p, uint32_t pid);
PM__PRIVATE pm_process *pm__process_by_pid(const pm_world *w, uint32_t nid, uint32_t pid);
PM__PRIVATE void pm__hold(pm__md *md);
PM__PRIVATE void pm__let_go(pm__ni *ni, pm__md *md);
PM__PRIVATE pm__message *pm__message_new(pm_world *w);
#ifdef NBC_LINES
#line 1 "src/portals/ptl_objects.c"
#endif

/* ---- handles: kind (3 bits), interface (2), generation (11), slot (16) ------------------------- */

PM__PRIVATE uint32_t pm__handle(int kind, int ni, uint32_t generation, uint32_t slot) {
  return (uint32_t)kind << 29 | (uint32_t)ni << 27 | (generation & 0x7FFu) << 16 | slot;
}
/* Chunk k of a pool holds 1 << k objects and never moves: objects may be pointed at. */
static uint32_t pm__chunk_of(uint32_t slot) {
#ifdef __GNUC__
  return 31u - (uint32_t)__builtin_clz(slot + 1);
#else
  uint32_t k = 0;
  while ((slot + 1) >> (k + 1)) k++;
  return k;
#endif
}
PM__INLINE pm__object *pm__pool_at(const pm__pool *pool, uint32_t slot) {
  const uint32_t k = pm__chunk_of(slot);
  return (pm__object *)(void *)(pool->chunk[k] + (size_t)(slot + 1 - (1u << k)) * pool->item_bytes);
}
/* A new object, zeroed but for its handle; NULL: limit reached or out of memory. */
PM__PRIVATE pm__object *pm__pool_new(pm__ni *ni, int kind) {
  pm__pool *pool = PM__POOL(ni, kind);
  pm__object *o;
  uint32_t slot, generation;
  if (pool->used >= pool->limit) return NULL;
  if (pool->free_head)
    slot = pool->free_head - 1;
  else {
    const uint32_t k = pm__chunk_of(pool->made);
    slot = pool->made;
    if (!pool->chunk[k]) {
      const size_t bytes = ((size_t)1 << k) * pool->item_bytes;
      pool->chunk[k] = (char *)pm__zalloc(bytes);
      if (!pool->chunk[k]) return NULL;
      ni->proc->world->stats.memory_bytes += bytes;
    }
    pool->made++;
  }
  o = pm__pool_at(pool, slot);
  if (pool->free_head) pool->free_head = o->next_free;
  generation = (o->handle >> 16) + 1;
  memset(o, 0, pool->item_bytes);
  o->handle = pm__handle(kind, ni->index, generation, slot);
  o->live = 1;
  pool->used++;
  return o;
}
PM__PRIVATE void pm__pool_free(pm__ni *ni, pm__object *o) {
  pm__pool *pool = PM__POOL(ni, o->handle >> 29);
  o->live = 0;
  o->next_free = pool->free_head & 0xFFFFFFu;
  pool->free_head = (o->handle & 0xFFFFu) + 1;
  pool->used--;
}

/* The running process, when it has called PtlInit. */
PM__PRIVATE pm_process *pm__inited(void) {
  pm_thread *const t = pm__current;
  if (!t) return NULL;
  if ((t->has_steps && !t->defers) || t->proc->world->desc.compute_ratio > 0)
    pm_compute_measured(); /* else it has nothing to do */
  return t->proc->init_count ? t->proc : NULL;
}
PM__PRIVATE pm__ni *pm__ni_of(const pm_process *p, ptl_handle_any_t h) {
  pm__ni *ni = p->ni[h >> 27 & 3];
  return h >> 29 == PM__H_NI && ni && ni->refs && !(h & 0x7FFFFFF) ? ni : NULL;
}
/* Any object of an interface by its handle; NULL when it is none, or no more. */
PM__INLINE pm__object *pm__find(const pm__ni *ni, int kind, ptl_handle_any_t h) {
  const pm__pool *pool = PM__POOL(ni, kind);
  pm__object *o;
  if (h >> 29 != (uint32_t)kind || (int)(h >> 27 & 3) != ni->index || (h & 0xFFFFu) >= pool->made)
    return NULL;
  o = pm__pool_at(pool, h & 0xFFFFu);
  return o->live == 1 && o->handle == h ? o : NULL;
}
PM__INLINE pm__object *pm__find_any(const pm_process *p, int kind, ptl_handle_any_t h,
                                    pm__ni **ni) {
  *ni = p->ni[h >> 27 & 3];
  return *ni && (*ni)->refs ? pm__find(*ni, kind, h) : NULL;
}

/* ---- library and interfaces -------------------------------------------------------------------- */
PM__INLINE bool pm__is_matching(const pm__ni *ni) { return ni->index & 1; }
PM__INLINE bool pm__is_logical(const pm__ni *ni) { return ni->index >> 1; }
PM__INLINE_HERE ptl_process_t pm__phys_id(const pm_process *p) {
  ptl_process_t id;
  id.phys.nid = (ptl_nid_t)p->node;
  id.phys.pid = p->pid;
  return id;
}
/* As others see it: by rank or physically, after the kind of interface. */
PM__INLINE ptl_process_t pm__own_id(const pm__ni *ni) {
  ptl_process_t id = pm__phys_id(ni->proc);
  if (!pm__is_logical(ni)) return id;
  memset(&id, 0, sizeof id);
  id.rank = ni->rank;
  return id;
}

PM__PRIVATE void pm__pid_is(pm__node *node, uint32_t pid, pm_process *p) {
  *(pid ? &node->by_pid[pid] : &node->pid_0) = p;
}
/* Processes of a node by pid. 0: out of memory. */
PM__PRIVATE int pm__pid_take(pm_world *w, pm_process *p, uint32_t pid) {
  pm__node *node = &w->nodes[p->node];
  void *array = node->by_pid;
  const int before = node->pids_max;
  if (pid && !pm__grow(&array, &node->pids_max, (int)pid + 1, sizeof p)) return 0;
  node->by_pid = (pm_process **)array;
  if (node->pids_max > before)
    memset(node->by_pid + before, 0, (size_t)(node->pids_max - before) * sizeof p);
  w->stats.memory_bytes += (size_t)(node->pids_max - before) * sizeof p;
  pm__pid_is(node, pid, p);
  if (p->pid != pid) p->pid = pid; /* other threads of the host may ask for it */
  p->has_pid = 1;
  return 1;
}
PM__PRIVATE pm_process *pm__process_by_pid(const pm_world *w, uint32_t nid, uint32_t pid) {
  const pm__node *node;
  if ((int64_t)nid >= w->plat.node_count) return NULL;
  node = &w->nodes[nid];
  if (!pid) return node->pid_0;
  return pid < (uint32_t)node->pids_max ? node->by_pid[pid] : NULL;
}

/* ---- identity ---------------------------------------------------------------------------------- */
PM_API ptl_process_t pm_process_id(int rank) {
  const pm_process *self = pm_self();
  ptl_process_t nobody;
  memset(&nobody, 0xFF, sizeof nobody);
  return self && rank >= 0 && rank < self->world->proc_count ? pm__phys_id(self->world->procs[rank])
                                                             : nobody;
}
/* Every process sets the same map: one copy serves all. */
static pm__map *pm__map_share(pm_world *w, ptl_size_t count, const ptl_process_t *id) {
  pm__map *map;
  for (map = w->maps; map; map = map->next)
    if (map->count == count && memcmp(map->id, id, (size_t)count * sizeof *id) == 0) return map;
  map = (pm__map *)pm__zalloc(sizeof *map);
  if (!map) return NULL;
  map->id = (ptl_process_t *)PM_MALLOC((size_t)count * sizeof *id);
  if (!map->id) {
    PM_FREE(map);
    return NULL;
  }
  memcpy(map->id, id, (size_t)count * sizeof *id);
  map->count = count;
  map->next = w->maps;
  w->maps = map;
  w->stats.memory_bytes += (size_t)count * sizeof *id + sizeof *map;
  return map;
}
PM_API int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping) {
  PM__NI(p, ni, ni_handle);
  const pm_semantics *s = &p->world->desc.semantics;
  ptl_size_t i, rank = PTL_RANK_ANY;
  pm__map *map;
  if (!pm__is_logical(ni) || !mapping || !map_size || map_size > (1u << 26)) return PTL_ARG_INVALID;
  if (ni->map && s->setmap_again != 2) return s->setmap_again ? PTL_IN_USE : PTL_IGNORED;
  for (i = 0; i < map_size && rank == PTL_RANK_ANY; i++)
    if (mapping[i].phys.nid == (ptl_nid_t)p->node && mapping[i].phys.pid == p->pid) rank = i;
  if (rank == PTL_RANK_ANY) return PTL_ARG_INVALID;
  map = pm__map_share(p->world, map_size, mapping);
  if (!map) return PTL_NO_SPACE;
  ni->map = map;
  ni->rank = (ptl_rank_t)rank;
  return PTL_OK;
}
PM_API int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping,
                     ptl_size_t *actual_size) {
  PM__NI(p, ni, ni_handle);
  if (!pm__is_logical(ni) || (!mapping && map_size)) return PTL_ARG_INVALID;
  if (!ni->map) return PTL_NO_SPACE;
  if (map_size > ni->map->count) map_size = ni->map->count;
  if (map_size) memcpy(mapping, ni->map->id, (size_t)map_size * sizeof *mapping);
  if (actual_size) *actual_size = ni->map->count;
  return PTL_OK;
}
PM_API int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  if (!uid) return PTL_ARG_INVALID;
  *uid = p->uid;
  return PTL_OK;
}
PM_API int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  if (!id) return PTL_ARG_INVALID;
  *id = pm__phys_id(p);
  return PTL_OK;
}
PM_API int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id) {
  PM__NI(p, ni, ni_handle);
  if (!id) return PTL_ARG_INVALID;
  *id = pm__own_id(ni);
  return PTL_OK;
}
PM_API int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2) {
  return handle1 == handle2;
}
PM_API int PtlAtomicSync(void) { return pm__inited() ? PTL_OK : PTL_NO_INIT; }
PM_API int PtlNIAtomicSync(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  return PTL_OK;
}
PM_API int PtlGetHwid(ptl_handle_ni_t ni_handle, uint64_t *hw_id, uint64_t *capabilities_id) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  if (!hw_id || !capabilities_id) return PTL_ARG_INVALID;
  *hw_id = (uint64_t)p->node;
  *capabilities_id = 0;
  return PTL_OK;
}
PM_API int PtlActivateHookAdd(void (*callback)(void *arg, unsigned int nic, int what), void *arg,
                              ptl_activate_hook_t *hook) {
  PM__PROCESS(p);
  int i = 0;
  if (!callback || !hook) return PTL_ARG_INVALID;
  while (i < PM__HOOKS && p->hooks[i].is_used) i++;
  if (i == PM__HOOKS) return PTL_NO_SPACE;
  p->hooks[i].is_used = 1;
  *hook = &p->hooks[i];
  callback(arg, 0, 1);
  return PTL_OK;
}
PM_API int PtlActivateHookRemove(ptl_activate_hook_t hook) {
  PM__PROCESS(p);
  int i = 0;
  while (i < PM__HOOKS && hook != &p->hooks[i]) i++;
  if (i == PM__HOOKS || !hook->is_used) return PTL_ARG_INVALID;
  hook->is_used = 0;
  return PTL_OK;
}
PM_API int PtlStartBundle(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  ni->bundles++;
  return PTL_OK;
}
/* Nothing is deferred, so nothing is to be flushed: only the pairing is checked. */
PM_API int PtlEndBundle(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  if (!ni->bundles) return PTL_ARG_INVALID;
  ni->bundles--;
  return PTL_OK;
}
PM_API const char *pm_ptl_status_name(int status) {
  switch (status) {
#define PM__X(name, value)                                                                         \
  case value: return #name;
    PTL_STATUS_LIST(PM__X)
#undef PM__X
  default: return "PTL_?";
  }
}
PM_API const char *pm_ptl_event_name(int event_kind) {
  static const char *const names[] = {
#define PM__X(name) #name,
      PTL_EVENT_LIST(PM__X)
#undef PM__X
  };
  return event_kind >= 0 && event_kind < PTL_EVENT_LAST ? names[event_kind] : "?";
}
PM_API const char *pm_ptl_fail_name(int ni_fail_type) {
  static const char *const names[] = {
#define PM__X(name) #name,
      PTL_NI_FAIL_LIST(PM__X)
#undef PM__X
  };
  return ni_fail_type >= 0 && ni_fail_type < PTL_NI_FAIL_LAST ? names[ni_fail_type] : "?";
}
PM_API const char *PtlToStr(int value, enum ptl_str_type type) {
  return type == PTL_STR_EVENT       ? pm_ptl_event_name(value)
         : type == PTL_STR_FAIL_TYPE ? pm_ptl_fail_name(value)
                                     : pm_ptl_status_name(value);
}

PM_API int PtlEvToStr(unsigned int ni_options, const ptl_event_t *event, char *text) {
  char from[32];
  if (!event || !text) return PTL_ARG_INVALID;
  const bool is_put = event->type == PTL_EVENT_PUT || event->type == PTL_EVENT_PUT_OVERFLOW,
             is_atomic =
                 event->type >= PTL_EVENT_ATOMIC && event->type <= PTL_EVENT_FETCH_ATOMIC_OVERFLOW,
             is_get = event->type == PTL_EVENT_GET || event->type == PTL_EVENT_GET_OVERFLOW;
  int n = snprintf(text, PTL_EV_STR_SIZE, "%s %s", pm_ptl_event_name(event->type),
                   pm_ptl_fail_name(event->ni_fail_type));
  if (is_put || is_atomic || is_get || event->type == PTL_EVENT_SEARCH) {
    if (ni_options & PTL_NI_LOGICAL)
      snprintf(from, sizeof from, "%u", (unsigned)event->initiator.rank);
    else
      snprintf(from, sizeof from, "%u:%u", (unsigned)event->initiator.phys.nid,
               (unsigned)event->initiator.phys.pid);
    n += snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " mlength %llu pt %u from %s",
                  (unsigned long long)event->mlength, (unsigned)event->pt_index, from);
    if (event->mlength != event->rlength)
      snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " rlength %llu",
               (unsigned long long)event->rlength);
  } else if (event->type == PTL_EVENT_REPLY || event->type == PTL_EVENT_ACK ||
             event->type == PTL_EVENT_SEND)
    snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " mlength %llu",
             (unsigned long long)event->mlength);
  else
    snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " pt %u", (unsigned)event->pt_index);
  return PTL_OK;
}

PM__PRIVATE pm__message *pm__message_new(pm_world *w) {
  pm__message *m = w->free_messages;
  if (m)
    w->free_messages = m->next;
  else {
    m = (pm__message *)pm__lines_take(w, sizeof *m);
    if (!m) return NULL;
    w->stats.memory_bytes += sizeof *m;
    m->next_made = w->messages_made;
    w->messages_made = m;
  }
  pm__clear(m, offsetof(pm__message, what.copy));
  return m;
}
/* An operation begins and ends to need its descriptors; the last one frees what was released. */
PM__INLINE void pm__hold(pm__md *md) {
  md->in_flight++;
  md->unsent++;
}
PM__INLINE void pm__let_go(pm__ni *ni, pm__md *md) {
  if (--md->in_flight == 0 && md->o.live == PM__RELEASED) pm__pool_free(ni, &md->o);
}
PM__PRIVATE void pm__message_free(pm_world *w, pm__message *m) {
  if (m->what.kept) PM_FREE(m->what.kept);
  m->what.kept = NULL;
  if (w->whole && m->what.from->proc->world != w) {
    pm__message_back(w, m);
    return;
  }
  m->next = w->free_messages;
  w->free_messages = m;
}
#ifdef NBC_LINES
#line 6 "src/portals/ptl_events.h"
#endif
PM__PRIVATE void pm__wake_waiters(pm_process *p, const void *object, uint64_t value, bool is_final);
PM__PRIVATE pm__eq *pm__eq_at(const pm__ni *ni, ptl_handle_eq_t h);
PM__PRIVATE pm__ct *pm__ct_at(const pm__ni *ni, ptl_handle_ct_t h);
PM__PRIVATE void pm__eq_forget(pm_process *p, pm__eq *eq);
/* The queue that lies there, if it still has this handle. Objects never move and their memory stays,
   so who remembers a place need not look the handle up. */
static inline pm__eq *pm__eq_if(pm__eq *eq, ptl_handle_eq_t h) {
  return eq && eq->o.live == 1 && eq->o.handle == h ? eq : NULL;
}
/* eq NULL: to nobody */
PM__PRIVATE void pm__eq_give(pm__ni *ni, pm__eq *eq, const ptl_event_t *event);
/* The same in two steps: where the event is to be written (NULL: it is lost; is_reserved: it may take a place kept for
   PT_DISABLED), and that it is there. */
PM__PRIVATE ptl_event_t *pm__eq_place(pm__ni *ni, pm__eq *eq, bool is_reserved);
PM__PRIVATE void pm__eq_tell(pm__ni *ni, pm__eq *eq);
PM__PRIVATE void pm__eq_post(pm__ni *ni, ptl_handle_eq_t h, const ptl_event_t *event);
PM__PRIVATE int pm__eq_take(const pm__ni *ni, pm__eq *eq, ptl_event_t *event);
PM__PRIVATE int pm__gone(const pm_process *p);
PM__PRIVATE void pm__waits_ptl(pm_thread *t, const void *object, ptl_handle_any_t handle,
                               uint64_t value);
/* Of threads that run ahead: the step is to come. How many more entries there is room for. */
PM__PRIVATE int pm__append_later(pm_thread *t, pm__ni *ni, pm__me *me);
PM__PRIVATE int pm__move_later(pm_thread *t, pm__message *m);
PM__PRIVATE int pm__append_room(const pm__ni *ni, ptl_pt_index_t index);
PM__PRIVATE void pm__wait_ptl(const void *object, ptl_handle_any_t handle, uint64_t value,
                              int64_t t_ps, const char *what);
PM__PRIVATE void pm__ct_changed(pm__ct *ct);
PM__PRIVATE void pm__ct_count(const pm__ni *ni, ptl_handle_ct_t h, bool is_failure, uint64_t value);
PM__PRIVATE bool pm__fires_hold(pm_world *w);
PM__PRIVATE void pm__fires_go(pm_world *w, bool was_firing);
PM__PRIVATE void pm__trigger_free(pm_world *w, pm__trigger *t);
PM__PRIVATE void pm__ct_drop_triggers(pm__ct *ct);
PM__PRIVATE void pm__trigger_put(pm__ct *ct, pm__trigger *t);
/* The carrier has let all go that waited for the counter: they are the model's again. */
PM__PRIVATE void pm__triggers_take_back(pm__ct *ct);
PM__PRIVATE pm__split *pm__split_of(const pm__ct *ct);
/* Does what a trigger is for, and frees it: in ptl_moves. */
PM__PRIVATE void pm__fire(pm_world *w, pm__trigger *t);
#ifdef NBC_LINES
#line 1 "src/portals/ptl_events.c"
#endif

/* ---- event queues ------------------------------------------------------------------------------ */
/* Something changed that a thread of this process may wait for, or poll in vain. Only who waits for
   this object is woken, and by a counter only when it has reached the value: a thread that is woken
   for nothing would pay for a look that no real processor makes.
   is_final ends every wait for the object: a queue has an event, a counter has failures (a wait of
   Portals ends when success reaches the test or failure is not 0), or the object is gone. */
PM__PRIVATE void pm__wake_waiters(pm_process *p, const void *object, uint64_t value,
                                  bool is_final) {
  pm_thread *t;
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t->state != PM__BLOCKED) continue;
    if (t->polling)
      pm__resume(p->world, t);
    else if (t->waits_for_ptl &&
             (!t->wait_on || (t->wait_on == object && (is_final || value >= t->wait_value))))
      pm__resume(p->world, t);
  }
}
PM__PRIVATE pm__eq *pm__eq_at(const pm__ni *ni, ptl_handle_eq_t h) {
  return (pm__eq *)pm__find(ni, PM__H_EQ, h);
}
PM__INLINE pm__ct *pm__ct_at(const pm__ni *ni, ptl_handle_ct_t h) {
  return (pm__ct *)pm__find(ni, PM__H_CT, h);
}

/* Room for one more event; grows up to the size asked for at PtlEQAlloc. */
PM__APART static int pm__eq_grow(pm__ni *ni, pm__eq *eq) {
  uint32_t max = eq->ring_max ? 2 * eq->ring_max : 4, i;
  ptl_event_t *ring;
  /* `reserved` places, one per portal with flow control, take nothing but PT_DISABLED: the event
     that says that others were refused must not be refused. */
  if (max > eq->count + eq->reserved) max = eq->count + eq->reserved;
  ring = (ptl_event_t *)PM_MALLOC(max * sizeof *ring);
  if (!ring) return 0;
  for (i = 0; i < eq->used; i++) ring[i] = eq->ring[(eq->first + i) % eq->ring_max];
  PM_FREE(eq->ring);
  ni->proc->world->stats.memory_bytes += (max - eq->ring_max) * sizeof *ring;
  eq->ring = ring;
  eq->ring_max = max;
  eq->first = 0;
  return 1;
}
/* ---- queues that call, queues to poll() for ---- */
/* Callbacks of a process run one after the other, in a thread of their own. A queue is in `news`
   once, however many events came: the callback is to empty the queue. has_news goes before the
   call, so that an event that comes while the callback runs calls again. The thread ends with the
   list and is started again: one that waited for news would keep its process from ending. */
static void pm__calls(void *process) {
  pm_process *p = (pm_process *)process;
  while (p->news) {
    pm__eq *eq = p->news;
    p->news = eq->next_news;
    eq->has_news = 0;
    eq->callback(eq->callback_arg, eq->o.handle);
  }
}
PM__APART static void pm__eq_alert(pm_process *p, pm__eq *eq) {
  if (eq->has_news || p->ended) return;
  eq->has_news = 1;
  eq->next_news = NULL;
  if (p->news)
    p->news_last->next_news = eq;
  else
    p->news = eq;
  p->news_last = eq;
  if (p->caller ? p->caller->state != PM__ENDED || pm__thread_start(p->caller)
                : (p->caller = pm__thread_new(p, pm__calls, p, 0)) != NULL)
    return;
  pm_world_fail(p->world, PM_E_NOMEM, "no stack for a queue's callback");
}
/* A queue goes: nobody calls for it any more.
   The list has one direction only: queues rarely go, and few have news then. */
PM__PRIVATE void pm__eq_forget(pm_process *p, pm__eq *eq) {
  pm__eq *before = NULL, *at = p->news;
  PM_FREE(eq->ring);
  eq->ring = NULL;
  if (!eq->has_news) return;
  while (at != eq) before = at, at = at->next_news;
  if (before)
    before->next_news = eq->next_news;
  else
    p->news = eq->next_news;
  if (p->news_last == eq) p->news_last = before;
}
/* One descriptor for all queues of an interface, made when it is first asked for: it is readable
   while any of them has events. event_fd is the descriptor + 1, so that 0 means none. */
static bool pm__ni_has_events(const pm__ni *ni) {
  const pm__pool *pool = PM__POOL(ni, PM__H_EQ);
  uint32_t slot;
  for (slot = 0; slot < pool->made; slot++) {
    const pm__eq *eq = (const pm__eq *)(const void *)pm__pool_at(pool, slot);
    if (eq->o.live && eq->used) return 1;
  }
  return 0;
}
PM__APART static void pm__event_fd_tell(const pm__ni *ni) {
  const uint64_t one = 1;
  if (write(ni->event_fd - 1, &one, sizeof one) < 0) return; /* full: readable all the same */
}
/* Events went: the descriptor stays readable only while there are others. */
PM__APART static void pm__event_fd_settle(const pm__ni *ni) {
  uint64_t told;
  if (!ni->event_fd || pm__ni_has_events(ni)) return;
  if (read(ni->event_fd - 1, &told, sizeof told) < 0) return; /* it was not readable */
}
PM_API int PtlNFDs(ptl_handle_ni_t ni_handle) {
  const pm_process *p = pm__inited();
  return p && pm__ni_of(p, ni_handle) ? 1 : -1;
}
PM_API int PtlPollFDs(ptl_handle_ni_t ni_handle, struct pollfd *fds, int events) {
  const pm_process *p = pm__inited();
  pm__ni *ni = p ? pm__ni_of(p, ni_handle) : NULL;
  if (!ni || !fds) return -1;
  if (!ni->event_fd) {
    ni->event_fd = 1 + eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (ni->event_fd && pm__ni_has_events(ni)) pm__event_fd_tell(ni);
  }
  if (!ni->event_fd) return -1;
  fds->fd = ni->event_fd - 1;
  fds->events = (short)(events & POLLIN);
  fds->revents = 0;
  return 1;
}
PM_API int PtlPollEvents(ptl_handle_ni_t ni_handle, struct pollfd *fds) {
  const pm_process *p = pm__inited();
  const pm__ni *ni = p ? pm__ni_of(p, ni_handle) : NULL;
  return ni && fds && ni->event_fd && pm__ni_has_events(ni) ? POLLIN : 0;
}
/* Makes room in a full queue: the oldest event goes, but never one that tells that a portal is off.
   A portal that is off stays off until its owner enables it, and only this event makes the owner do
   so: without it every later message would be refused. ret whether there was another */
PM__APART static bool pm__eq_lose(pm__eq *eq) {
  uint32_t k = 0;
  while (k < eq->used && eq->ring[(eq->first + k) % eq->ring_max].type == PTL_EVENT_PT_DISABLED)
    k++;
  if (k == eq->used) return 0;
  for (; k; k--) /* those before it move up */
    eq->ring[(eq->first + k) % eq->ring_max] = eq->ring[(eq->first + k - 1) % eq->ring_max];
  eq->first = pm__round(eq->first + 1, eq->ring_max);
  eq->used--;
  return 1;
}
/* Only PT_DISABLED may take a reserved place. A full queue loses its oldest event or, when that is
   how the implementation to be modelled does it, the new one.
   Data come before their event (pm__target_finish): whoever sees the event may read them. A ring
   that cannot grow ends the run: no event may be lost for a reason that Portals does not know. */
PM__PRIVATE void pm__eq_post(pm__ni *ni, ptl_handle_eq_t h, const ptl_event_t *event) {
  pm__eq_give(ni, pm__eq_at(ni, h), event);
}
PM__PRIVATE void pm__eq_give(pm__ni *ni, pm__eq *eq, const ptl_event_t *event) {
  ptl_event_t *place = eq ? pm__eq_place(ni, eq, event->type == PTL_EVENT_PT_DISABLED) : NULL;
  if (!place) return;
  *place = *event;
  pm__eq_tell(ni, eq);
}
/* Events of messages are written where they are to lie: a copy would wait for members that were just
   written. */
PM__PRIVATE ptl_event_t *pm__eq_place(pm__ni *ni, pm__eq *eq, bool is_reserved) {
  if (eq->used >= eq->count && (!is_reserved || eq->used >= eq->count + eq->reserved)) {
    eq->dropped = 1;
    if (ni->proc->world->desc.semantics.eq_drops_newest || !pm__eq_lose(eq)) return NULL;
  }
  if (eq->used == eq->ring_max &&
      !pm__eq_grow(ni, eq)) { /* the host's memory, not Portals' limit */
    pm_world_fail(ni->proc->world, PM_E_NOMEM, "out of memory: an event queue");
    return NULL;
  }
  return &eq->ring[pm__round(eq->first + eq->used, eq->ring_max)];
}
PM__PRIVATE void pm__eq_tell(pm__ni *ni, pm__eq *eq) {
  eq->used++;
  if (eq->callback) pm__eq_alert(ni->proc, eq);
  if (ni->event_fd) pm__event_fd_tell(ni);
  pm__wake_waiters(ni->proc, eq, 0, 1);
}
/* PTL_EQ_DROPPED is said once, with an event that is valid: others were lost since the last one was
   taken. */
PM__PRIVATE int pm__eq_take(const pm__ni *ni, pm__eq *eq, ptl_event_t *event) {
  const int dropped = eq->dropped;
  if (!eq->used) return PTL_EQ_EMPTY;
  *event = eq->ring[eq->first];
  eq->first = pm__round(eq->first + 1, eq->ring_max);
  eq->used--;
  eq->dropped = 0;
  if (!eq->used && ni->event_fd) pm__event_fd_settle(ni);
  return dropped ? PTL_EQ_DROPPED : PTL_OK;
}

/* The size asked for is a limit: the ring grows with use (pm__eq_grow), since programs ask for far
   more than they ever need. */
PM_API int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle) {
  PM__NI(p, ni, ni_handle);
  pm__eq *eq;
  if (!eq_handle) return PTL_ARG_INVALID;
  if (count > (1u << 26)) return PTL_NO_SPACE;
  eq = (pm__eq *)pm__pool_new(ni, PM__H_EQ);
  if (!eq) return PTL_NO_SPACE;
  eq->count = count ? (uint32_t)count : 1;
  *eq_handle = eq->o.handle;
  return PTL_OK;
}
PM_API int PtlEQAllocAsync(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle,
                           void (*callback)(void *arg, ptl_handle_eq_t eq_handle), void *arg,
                           int hint) {
  PM__NI(p, ni, ni_handle);
  (void)hint;
  const int code = callback ? PtlEQAlloc(ni_handle, count, eq_handle) : PTL_ARG_INVALID;
  if (code != PTL_OK) return code;
  pm__eq *eq = pm__eq_at(ni, *eq_handle);
  eq->callback = callback;
  eq->callback_arg = arg;
  return PTL_OK;
}
PM_API int pm_eq_call(ptl_handle_eq_t eq_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  const pm__eq *const given = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!given || !given->callback) return PTL_ARG_INVALID;
  pm__cpu(p->world->plat.cpu_command_ns);
  pm__eq *const eq = pm__eq_at(ni, eq_handle); /* it may have gone meanwhile */
  if (eq) pm__eq_alert(p, eq);
  return PTL_OK;
}
/* Whoever waits is woken and finds that the handle is not this queue's any more. Nothing is written
   into the queue later: events find it by its handle (pm__eq_at), whose generation differs. */
PM_API int PtlEQFree(ptl_handle_eq_t eq_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__eq *eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!eq) return PTL_ARG_INVALID;
  p->world->stats.memory_bytes -= eq->ring_max * sizeof *eq->ring;
  pm__eq_forget(p, eq);
  pm__pool_free(ni, &eq->o);
  pm__event_fd_settle(ni);
  pm__wake_waiters(p, eq, 0, 1);
  return PTL_OK;
}

/* What a waiter gets when its object vanished. 4.2 says PTL_INTERRUPTED; 4.3 has no such code, and
   PtlAbort to end waits. */
PM__PRIVATE int pm__gone(const pm_process *p) {
  return p->aborted                                 ? PTL_ABORTED
         : p->world->desc.semantics.frees_interrupt ? PTL_INTERRUPTED
                                                    : PTL_ARG_INVALID;
}
/* For reports of deadlocks: the counter may be gone, so it is looked up by its handle. */
static void pm__describe_wait(const pm_thread *t, char *text, size_t text_bytes) {
  if (t->wait_handle >> 29 == PM__H_CT) {
    pm__ni *ni;
    const pm__ct *ct = (const pm__ct *)pm__find_any(t->proc, PM__H_CT, t->wait_handle, &ni);
    snprintf(text, text_bytes, "counter %08x to reach %llu (it has %llu, %llu failures)",
             t->wait_handle, (unsigned long long)t->wait_value,
             ct ? (unsigned long long)ct->value.success : 0,
             ct ? (unsigned long long)ct->value.failure : 0);
  } else
    snprintf(text, text_bytes, "an event in queue %08x", t->wait_handle);
}
PM__INLINE void pm__waits_ptl(pm_thread *t, const void *object, ptl_handle_any_t handle,
                              uint64_t value) {
  t->wait_on = object;
  t->wait_handle = handle;
  t->wait_value = value;
  t->waits_for_ptl = 1;
  t->describe = pm__describe_wait;
  t->has_paid = false;
  t->is_idle = 1; /* without a time limit there is no timer that could be taken for activity */
}
/* Blocks until something changes: object NULL means anything of the process.
   timed_out is set by the pause of a payment too (pm__pays). Without a payment the wait itself has
   come to its end: a look in vain. */
PM__INLINE void pm__wait_ptl(const void *object, ptl_handle_any_t handle, uint64_t value,
                             int64_t t_ps, const char *what) {
  pm_thread *t = pm__current;
  pm__waits_ptl(t, object, handle, value);
  pm__block(t_ps, what);
  t->is_idle = 0;
  t->is_vain = t->timed_out && !t->has_paid;
  t->waits_for_ptl = 0;
  t->describe = NULL;
  t->is_over = NULL;
  t->poll_streak = 0;
}
/* The same for what pm__pays can do. ret whether it did */
PM__INLINE_HERE bool pm__wait_to_pay(const void *object, ptl_handle_any_t handle, uint64_t value,
                                     const char *what, bool (*is_over)(const pm_thread *thread)) {
  pm__current->is_over = is_over;
  pm__wait_ptl(object, handle, value, PM__FOREVER, what);
  return pm__current->has_paid;
}

/* Here and below: time passes in every pause and in pm__cpu. After each the queue may be gone, or
   another thread may have taken the event, so both are looked at again. */
PM_API int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__eq *eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!eq || !event) return PTL_ARG_INVALID;
  if (!eq->used) { /* a look in vain takes its time; what arrives meanwhile is seen */
    pm__poll_pause();
    if (!eq->o.live || eq->o.handle != eq_handle) return pm__gone(p);
    if (!eq->used) return PTL_EQ_EMPTY;
  }
  pm__cpu(p->world->plat.cpu_event_ns);
  return eq->o.live && eq->o.handle == eq_handle ? pm__eq_take(ni, eq, event) : pm__gone(p);
}
static bool pm__eq_has(const pm_thread *t) {
  const pm__eq *eq = (const pm__eq *)t->wait_on;
  return eq->o.live && eq->o.handle == t->wait_handle && eq->used && !t->proc->aborted;
}
PM_API int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__eq *eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (p->aborted) return PTL_ABORTED; /* whatever the arguments are */
  if (!eq || !event) return PTL_ARG_INVALID;
  for (;;) {
    bool has_paid = false;
    while (!eq->used && !p->aborted && !has_paid) {
      has_paid = pm__wait_to_pay(eq, eq_handle, 0, "PtlEQWait:", pm__eq_has);
      if (!eq->o.live || eq->o.handle != eq_handle) return pm__gone(p);
    }
    if (!has_paid) {
      if (p->aborted) return PTL_ABORTED;
      pm__cpu(p->world->plat.cpu_event_ns);
      if (!eq->o.live || eq->o.handle != eq_handle) return pm__gone(p);
    }
    if (eq->used) return pm__eq_take(ni, eq, event); /* else another thread was faster */
  }
}
/* Milliseconds of simulated time; all handles of one interface, as Portals asks for. Of several
   queues with events the first in the array is served. A wait for any of them is one for anything
   of the process (object NULL): who is woken for another queue looks and waits again, until the
   same end. A look without a wait takes the time of a poll, or a loop around it would never end.
   Of one queue nobody needs to be told which: existing programs give NULL there. */
PM_API int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout,
                     ptl_event_t *event, unsigned int *which) {
  PM__PROCESS(p);
  pm__ni *ni, *first = NULL;
  unsigned int i;
  pm__eq *eq;
  const int64_t t_end_ps = timeout == PTL_TIME_FOREVER
                               ? PM__FOREVER
                               : pm__later(p->world->now_ps, pm__ps((int64_t)timeout * 1000000));
  if (p->aborted) return PTL_ABORTED;
  if (!eq_handles || !size || !event || (!which && size > 1)) return PTL_ARG_INVALID;
  for (i = 0; i < size; i++) {
    if (!pm__find_any(p, PM__H_EQ, eq_handles[i], &ni) || (first && ni != first))
      return PTL_ARG_INVALID;
    first = ni;
  }
  for (;;) {
    if (p->aborted) return PTL_ABORTED;
    for (i = 0; i < size; i++) {
      eq = pm__eq_at(first, eq_handles[i]);
      if (!eq) return pm__gone(p);
      if (!eq->used) continue;
      pm__cpu(p->world->plat.cpu_event_ns);
      if (pm__eq_at(first, eq_handles[i]) != eq || !eq->used)
        break; /* gone meanwhile: look again */
      if (which) *which = i;
      return pm__eq_take(first, eq, event);
    }
    if (i < size) continue;
    if (timeout == 0) {
      pm__poll_pause();
      timeout = 1; /* one more look, then the end, which has come */
      continue;
    }
    if (p->world->now_ps >= t_end_ps) return PTL_EQ_EMPTY;
    pm__wait_ptl(NULL, eq_handles[0], 0, t_end_ps, "PtlEQPoll:");
  }
}

/* ---- counters and what they trigger ------------------------------------------------------------ */
/* Implementations differ: the reference compares the sum, BXI's library success alone. */
static uint64_t pm__trigger_value(const pm__ct *ct) {
  return ct->value.success +
         (ct->ni->proc->world->desc.semantics.trigger_success_only ? 0 : ct->value.failure);
}

/* Triggers of a counter: a pairing heap, so that posting takes O(1) and firing O(log n) amortised
   [Fredman, Sedgewick, Sleator and Tarjan, The Pairing Heap, Algorithmica 1, 1986]. Of equal
   thresholds the one posted first fires first (number), which Portals asks for. */
static pm__trigger *pm__trigger_meld(pm__trigger *a, pm__trigger *b) {
  pm__trigger *first = a, *second = b;
  if (!a || !b) return a ? a : b;
  if (b->threshold < a->threshold || (b->threshold == a->threshold && b->number < a->number))
    first = b, second = a;
  second->next = first->child;
  first->child = second;
  return first;
}
PM__PRIVATE void pm__trigger_put(pm__ct *ct, pm__trigger *t) {
  t->number = ct->posted_count++;
  t->next = t->child = NULL;
  ct->triggers = pm__trigger_meld(ct->triggers, t);
}
/* child is the first of those below, next the next beside. The root goes: its children are melded
   in pairs from the first on, then these from the last pair back to the first (`pairs` is a stack).
   The bound rests on this order: melding all into one in a row can cost O(n) each time. Triggers
   leave by the root only, so they need no way back up. */
static pm__trigger *pm__trigger_take(pm__ct *ct) {
  pm__trigger *first = ct->triggers, *rest = first->child, *pairs = NULL, *root = NULL;
  while (rest) { /* in pairs, then all pairs together */
    pm__trigger *a = rest, *b = a->next;
    rest = b ? b->next : NULL;
    a->next = NULL;
    if (b) b->next = NULL;
    a = pm__trigger_meld(a, b);
    a->next = pairs;
    pairs = a;
  }
  while (pairs) {
    pm__trigger *next = pairs->next;
    pairs->next = NULL;
    root = pm__trigger_meld(root, pairs);
    pairs = next;
  }
  ct->triggers = root;
  return first;
}

PM__INLINE pm__split *pm__split_of(const pm__ct *ct) {
  return &ct->ni->splits[ct->o.handle & 0xFFFFu];
}
PM__PRIVATE void pm__triggers_take_back(pm__ct *ct) {
  pm__split *const s = pm__split_of(ct);
  pm__trigger *all = NULL;
  while (ct->triggers) {
    pm__trigger *t = pm__trigger_take(ct);
    t->next = all;
    all = t;
  }
  while (all) {
    pm__trigger *t = all;
    all = t->next;
    t->next = t->child = NULL;
    if (t->carried && t->message)
      t->message->cargo.is_triggered = 0, t->message->cargo.trigger = NULL;
    if (t->carried) t->carried = 0, t->is_held = 1, s->held_count++;
    if (t->is_held && t->threshold < s->held_least) s->held_least = t->threshold;
    ct->triggers = pm__trigger_meld(ct->triggers, t);
  }
  s->carried_count = 0;
}

/* A list of counters instead of recursion: what fires may raise counters, its own too, and a chain
   of triggers may be as long as a collective has steps. A counter stands in the list once (to_fire)
   and is looked at until nothing of it is due; the value is read anew each time, because what fired
   may have set it.
   The list is empty whenever a thread runs, as nothing here waits: PtlCTFree cannot take away a
   counter that is in it. is_firing: what fires comes back here through pm__ct_changed, and only
   adds to the list. */
PM__APART static void pm__fire_them(pm_world *w) {
  w->is_firing = 1;
  while (w->fire_head) {
    pm__ct *ct = w->fire_head;
    w->fire_head = ct->next_to_fire;
    if (!w->fire_head) w->fire_tail = NULL;
    ct->to_fire = 0;
    while (ct->triggers && ct->triggers->threshold <= pm__trigger_value(ct)) {
      pm__fire(w, pm__trigger_take(ct));
    }
  }
  w->is_firing = 0;
}
static inline void pm__fire_all(pm_world *w) {
  if (w->fire_head && !w->is_firing) pm__fire_them(w);
}
/* Between these two nothing fires: what fires could take away the entries and headers that are being
   walked through. Then all that was due fires. */
PM__PRIVATE bool pm__fires_hold(pm_world *w) {
  const bool was_firing = w->is_firing;
  w->is_firing = 1;
  return was_firing;
}
PM__PRIVATE void pm__fires_go(pm_world *w, bool was_firing) {
  w->is_firing = was_firing;
  pm__fire_all(w);
}
/* Every change of a counter comes here, whoever makes it: the network, PtlCTInc and PtlCTSet, or a
   trigger. Behind the others in the list: counters fire in the order in which they changed. */
PM__PRIVATE void pm__ct_changed(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  pm__carrier_count(ct);
  pm__wake_waiters(ct->ni->proc, ct, ct->value.success, ct->value.failure != 0);
  if (!ct->triggers || ct->to_fire) return;
  ct->to_fire = 1;
  ct->next_to_fire = NULL;
  if (w->fire_tail)
    w->fire_tail->next_to_fire = ct;
  else
    w->fire_head = ct;
  w->fire_tail = ct;
  pm__fire_all(w);
}
PM__PRIVATE void pm__ct_count(const pm__ni *ni, ptl_handle_ct_t h, bool is_failure,
                              uint64_t value) {
  pm__ct *ct = pm__ct_at(ni, h);
  if (!ct) return;
  if (is_failure)
    ct->value.failure++;
  else
    ct->value.success += value;
  pm__ct_changed(ct);
}
/* A message or an entry that is still here was never used (pm__fire takes it out): the descriptors
   that were held for it since it was posted are free again, and PtlMDRelease may have them. */
PM__PRIVATE void pm__trigger_free(pm_world *w, pm__trigger *t) {
  t->ni->trigger_count--;
  if (t->is_held) pm__split_of(t->ct)->held_count--;
  if (t->carried) pm__split_of(t->ct)->carried_count--;
  if (t->message) {
    pm__message *m = t->message;
    if (m->what.get_md) m->what.get_md->unsent--, pm__let_go(t->ni, m->what.get_md);
    m->what.md->unsent--;
    pm__let_go(t->ni, m->what.md);
    pm__message_free(w, t->message);
    t->message = NULL; /* whoever posts it just now sees that it is gone */
  }
  if (t->entry) pm__pool_free(t->ni, &t->entry->o);
  t->next = w->free_triggers;
  w->free_triggers = t;
}
/* PtlCTCancelTriggered keeps the counter and its value: it may be used again. */
PM__PRIVATE void pm__ct_drop_triggers(pm__ct *ct) {
  if (ct->triggers) pm__carrier_cancel(ct);
  while (ct->triggers) {
    pm__trigger_free(ct->ni->proc->world, pm__trigger_take(ct));
  }
}

PM_API int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle) {
  PM__NI(p, ni, ni_handle);
  pm__ct *ct;
  if (!ct_handle) return PTL_ARG_INVALID;
  ct = (pm__ct *)pm__pool_new(ni, PM__H_CT);
  if (!ct) return PTL_NO_SPACE;
  ct->ni = ni;
  *ct_handle = ct->o.handle;
  return PTL_OK;
}

PM_API int PtlCTFree(ptl_handle_ct_t ct_handle) {
  PM__CT(p, ni, ct, ct_handle);
  pm__ct_drop_triggers(ct);
  pm__carrier_count_end(ct);
  pm__pool_free(ni, &ct->o);
  pm__wake_waiters(p, ct, 0, 1);
  return PTL_OK;
}
PM_API int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle) {
  PM__CT(p, ni, ct, ct_handle);
  pm__ct_drop_triggers(ct);
  return PTL_OK;
}
/* Always succeeds; who reads the same value again is polling, and pays for it. */
PM_API int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event) {
  PM__CT(p, ni, ct, ct_handle);
  pm_thread *t = pm__current;
  if (!event) return PTL_ARG_INVALID;
  if (t->last_ct == ct_handle && t->last_count == ct->value.success + ct->value.failure) {
    pm__poll_pause();
    if (!ct->o.live || ct->o.handle != ct_handle) return pm__gone(p);
  }
  *event = ct->value;
  t->last_ct = ct_handle;
  t->last_count = ct->value.success + ct->value.failure;
  return PTL_OK;
}
/* The value is copied before it is paid for, as PtlCTWait does: the counter may be set again while
   that takes its time. */
PM__INLINE_HERE bool pm__ct_has(const pm_thread *t) {
  const pm__ct *ct = (const pm__ct *)t->wait_on;
  const bool has = ct->o.live && ct->o.handle == t->wait_handle && !t->proc->aborted &&
                   (ct->value.success >= t->wait_value || ct->value.failure);
  if (has) *(ptl_ct_event_t *)t->wait_out = ct->value;
  return has;
}
PM_API int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, ct_handle, &ni);
  if (p->aborted) return PTL_ABORTED; /* whatever the arguments are */
  if (!ct || !event) return PTL_ARG_INVALID;
  pm__current->wait_out = event;
  while (ct->value.success < test && !ct->value.failure && !p->aborted) {
    if (pm__wait_to_pay(ct, ct_handle, test, "PtlCTWait:", pm__ct_has)) return PTL_OK;
    if (!ct->o.live || ct->o.handle != ct_handle) return pm__gone(p);
  }
  if (p->aborted) return PTL_ABORTED;
  *event = ct->value;
  pm__cpu(p->world->plat.cpu_event_ns);
  return PTL_OK;
}
/* As PtlEQPoll, but nothing is taken: a counter that has reached its test is found again. */
PM_API int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size,
                     ptl_time_t timeout, ptl_ct_event_t *event, unsigned int *which) {
  PM__PROCESS(p);
  pm__ni *ni, *first = NULL;
  unsigned int i;
  const int64_t t_end_ps = timeout == PTL_TIME_FOREVER
                               ? PM__FOREVER
                               : pm__later(p->world->now_ps, pm__ps((int64_t)timeout * 1000000));
  if (p->aborted) return PTL_ABORTED;
  if (!ct_handles || !tests || !size || !event || (!which && size > 1)) return PTL_ARG_INVALID;
  for (i = 0; i < size; i++) {
    if (!pm__find_any(p, PM__H_CT, ct_handles[i], &ni) || (first && ni != first))
      return PTL_ARG_INVALID;
    first = ni;
  }
  for (;;) {
    if (p->aborted) return PTL_ABORTED;
    for (i = 0; i < size; i++) {
      const pm__ct *ct = pm__ct_at(first, ct_handles[i]);
      if (!ct) return pm__gone(p);
      if (ct->value.success < tests[i] && !ct->value.failure) continue;
      *event = ct->value;
      if (which) *which = i;
      pm__cpu(p->world->plat.cpu_event_ns);
      return PTL_OK;
    }
    if (timeout == 0) {
      pm__poll_pause();
      timeout = 1;
      continue;
    }
    if (p->world->now_ps >= t_end_ps) return PTL_CT_NONE_REACHED;
    pm__wait_ptl(NULL, ct_handles[0], tests[0], t_end_ps, "PtlCTPoll:");
  }
}
PM_API int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct) {
  PM__CT(p, ni, ct, ct_handle);
  ct->value = new_ct;
  pm__ct_changed(ct);
  return PTL_OK;
}
/* Portals lets one of the two be raised at a time. Sums wrap at 64 bits: programs add -n. */
PM_API int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment) {
  PM__CT(p, ni, ct, ct_handle);
  if (increment.success && increment.failure) return PTL_ARG_INVALID;
  ct->value.success += increment.success;
  ct->value.failure += increment.failure;
  pm__ct_changed(ct);
  return PTL_OK;
}
#ifdef NBC_LINES
#line 7 "src/portals/ptl_lists.h"
#endif
/* NULL: not allocated. Of an allocated one; it never moves. */
PM__PRIVATE pm__pt *pm__pt_at(const pm__ni *ni, ptl_pt_index_t index);
static inline pm__pt *pm__pt_of(const pm__ni *ni, ptl_pt_index_t index) {
  return &ni->pt[index / PM__PTS][index % PM__PTS];
}
PM__PRIVATE void pm__header_add(pm__ni *ni, pm__pt *pt, pm__header *h);
PM__PRIVATE void pm__header_unlink(pm__ni *ni, pm__pt *pt, pm__header *h);
PM__PRIVATE void pm__header_drop(pm__ni *ni, pm__header *h);
PM__PRIVATE void pm__shelves_free(pm__ni *ni);
PM__PRIVATE void pm__me_unlink(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__me_event(pm__ni *ni, ptl_handle_eq_t eq_handle, ptl_pt_index_t pt,
                              unsigned char list, void *user_ptr, int type);
PM__PRIVATE void pm__me_free_if_empty(pm__ni *ni, pm__me *me);
PM__PRIVATE uint64_t pm__capacity(const void *start, ptl_size_t length, unsigned int options);
PM__PRIVATE bool pm__has_room(const ptl_me_t *me, uint64_t offset, uint64_t bytes);
PM__PRIVATE int pm__matches(const pm__ni *ni, const ptl_me_t *me, ptl_process_t id, ptl_uid_t uid,
                            uint64_t bits);
PM__PRIVATE int pm__overflow_kind(int kind);
PM__PRIVATE void pm__tell_overflow(pm__ni *ni, const pm__header *h);
PM__PRIVATE bool pm__is_used_up(const pm__me *me, uint64_t more_bytes);
PM__PRIVATE bool pm__append_is_bad(const pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *me,
                                   ptl_list_t list);
PM__PRIVATE pm__me *pm__me_new(pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *entry,
                               ptl_list_t list, void *user_ptr);
PM__PRIVATE void pm__me_append(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__list_told(pm_world *w, uint64_t number);
PM__PRIVATE void pm__list_ops_drop(pm__ni *ni);
PM__PRIVATE void pm__append_released(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__unlink_released(pm_process *p, ptl_handle_any_t handle);
#ifdef NBC_LINES
#line 1 "src/portals/ptl_lists.c"
#endif

/* ---- portal table and memory descriptors ------------------------------------------------------- */
PM__INLINE pm__pt *pm__pt_at(const pm__ni *ni, ptl_pt_index_t index) {
  pm__pt *group = index < PM__PTS * PM__PT_GROUPS ? ni->pt[index / PM__PTS] : NULL;
  return group && group[index % PM__PTS].allocated ? &group[index % PM__PTS] : NULL;
}
/* Implementations differ in what PTL_PT_ANY takes. From the last one on, as in the reference, a
   portal that was freed is not soon somebody else's, while messages for it are still under way. */
static int pm__pt_free_index(const pm__ni *ni, int last, int lowest) {
  const int n = ni->limits.max_pt_index + 1;
  int i, k;
  for (k = 0; k < n; k++) {
    i = lowest ? k : (last + k) % n;
    if (!pm__pt_at(ni, (ptl_pt_index_t)i)) return i;
  }
  return -1;
}
PM_API int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle,
                      ptl_pt_index_t index_req, ptl_pt_index_t *index) {
  PM__NI(p, ni, ni_handle);
  pm__eq *eq = NULL;
  pm__pt **group, *pt;
  int i;
  if (!index || (options & ~PTL_PT_ALLOC_OPTIONS_MASK)) return PTL_ARG_INVALID;
  if (eq_handle != PTL_EQ_NONE && !(eq = pm__eq_at(ni, eq_handle))) return PTL_ARG_INVALID;
  if ((options & PTL_PT_FLOWCTRL) && !eq) return PTL_PT_EQ_NEEDED;
  if (index_req == PTL_PT_ANY) {
    i = pm__pt_free_index(ni, ni->pt_last, p->world->desc.semantics.pt_any_lowest);
    if (i < 0) return PTL_PT_FULL;
  } else {
    if (index_req > (ptl_pt_index_t)ni->limits.max_pt_index) return PTL_ARG_INVALID;
    i = (int)index_req;
    if (pm__pt_at(ni, index_req)) return PTL_PT_IN_USE;
  }
  group = &ni->pt[i / PM__PTS];
  if (!*group) {
    *group = (pm__pt *)pm__lines_take(p->world, PM__PTS * sizeof **group);
    if (!*group) return PTL_NO_SPACE;
    p->world->stats.memory_bytes += PM__PTS * sizeof **group;
  }
  pt = &(*group)[i % PM__PTS];
  memset(pt, 0, sizeof *pt);
  pt->allocated = 1;
  pt->enabled = !(options & PTL_PT_ALLOC_DISABLED);
  pt->options = options;
  pt->eq_handle = eq_handle;
  pt->eq = eq;
  if (options & PTL_PT_FLOWCTRL) eq->reserved++;
  ni->pt_last = i + 1;
  pm__carrier_portal(ni, (ptl_pt_index_t)i);
  *index = (ptl_pt_index_t)i;
  return PTL_OK;
}
/* The first of what waits for the carrier's lists, of a portal or (NULL) of all: where it is in the list, or the
   list's end. */
static pm__list_op **pm__list_op_of(const pm__ni *ni, const pm__pt *pt) {
  pm__list_op **at = &ni->proc->world->list_ops;
  while (*at && ((*at)->ni != ni || (pt && pm__pt_of(ni, (*at)->pt) != pt))) at = &(*at)->next;
  return at;
}
/* Who receives very many messages that wait, backwards say, must not walk over all the others each time. So where many
   wait they stand on shelves, too: all with the same bits and sender on one, and few others there. Entries of any
   sender, or that ignore bits, look on shelves of their own. */
enum { PM__SHELVES_LEAST = 64 };
static pm__shelf *pm__shelf_of(const pm__ni *ni, int way, uint64_t bits, ptl_process_t id) {
  const uint64_t from = pm__is_logical(ni) ? id.rank : (uint64_t)id.phys.nid << 16 ^ id.phys.pid;
  const uint64_t mixed =
      ((way == PM__BY_SENDER ? 0 : bits) ^ (way == PM__BY_BITS ? 0 : from * 0xD6E8FEB86659FD93u)) *
      0x9E3779B97F4A7C15u;
  return &ni->shelves[way * ni->shelf_count + (int)(mixed >> 32 & (uint64_t)(ni->shelf_count - 1))];
}
static pm__shelf *pm__shelf_of_header(const pm__ni *ni, int way, const pm__header *h) {
  return pm__shelf_of(ni, way, h->event.match_bits, h->event.initiator);
}
static void pm__shelve(const pm__ni *ni, pm__header *h) {
  int way;
  for (way = 0; way < PM__WAYS; way++) {
    pm__shelf *const s = pm__shelf_of_header(ni, way, h);
    h->next_alike[way] = NULL;
    h->prev_alike[way] = s->last;
    if (s->last)
      s->last->next_alike[way] = h;
    else
      s->first = h;
    s->last = h;
  }
}
static void pm__unshelve(const pm__ni *ni, const pm__header *h) {
  int way;
  for (way = 0; way < PM__WAYS; way++) {
    pm__shelf *const s = pm__shelf_of_header(ni, way, h);
    pm__header *const next = h->next_alike[way], *const prev = h->prev_alike[way];
    if (prev)
      prev->next_alike[way] = next;
    else
      s->first = next;
    if (next)
      next->prev_alike[way] = prev;
    else
      s->last = prev;
  }
}
PM__PRIVATE void pm__shelves_free(pm__ni *ni) {
  PM_FREE(ni->shelves);
  ni->shelves = NULL;
  ni->shelf_count = 0;
}
/* Without memory for more those that there are become fuller. */
PM__APART static void pm__shelves_grow(pm__ni *ni) {
  const int count = ni->shelf_count ? 4 * ni->shelf_count : 4 * PM__SHELVES_LEAST;
  pm__shelf *const more = (pm__shelf *)pm__zalloc(PM__WAYS * (size_t)count * sizeof *more);
  int i;
  if (!more) return;
  pm__shelves_free(ni);
  ni->shelves = more;
  ni->shelf_count = count;
  for (i = 0; i <= ni->limits.max_pt_index; i++) {
    const pm__pt *pt = pm__pt_at(ni, (ptl_pt_index_t)i);
    pm__header *h = pt ? pt->headers : NULL;
    for (; h; h = h->next) pm__shelve(ni, h);
  }
}
PM__PRIVATE void pm__header_add(pm__ni *ni, pm__pt *pt, pm__header *h) {
  h->prev = pt->headers_tail;
  if (h->prev)
    h->prev->next = h;
  else
    pt->headers = h;
  pt->headers_tail = h;
  h->me->headers++;
  ni->header_count++;
  if (ni->shelves) pm__shelve(ni, h);
  if (ni->header_count > (ni->shelves ? ni->shelf_count : PM__SHELVES_LEAST) && pm__is_matching(ni))
    pm__shelves_grow(ni);
}
PM__PRIVATE void pm__header_unlink(pm__ni *ni, pm__pt *pt, pm__header *h) {
  if (ni->shelves) pm__unshelve(ni, h);
  if (h->prev)
    h->prev->next = h->next;
  else
    pt->headers = h->next;
  if (h->next)
    h->next->prev = h->prev;
  else
    pt->headers_tail = h->prev;
}
/* A message whose data are still on the way forgets the header, and tells nobody when they are
   in. */
PM__PRIVATE void pm__header_drop(pm__ni *ni, pm__header *h) {
  pm_world *w = ni->proc->world;
  h->me->headers--;
  ni->header_count--;
  if (h->message) h->message->what.header = NULL;
  h->next = w->free_headers;
  w->free_headers = h;
}
static void pm__pt_purge(pm__ni *ni, pm__pt *pt) {
  int list;
  /* Headers first: each of them holds its overflow entry, which can go with its last header. */
  while (pt->headers) {
    pm__header *h = pt->headers;
    pm__me *me = h->me;
    pm__header_unlink(ni, pt, h);
    pm__header_drop(ni, h);
    if (!me->linked && !me->headers && !me->in_flight) pm__pool_free(ni, &me->o);
  }
  for (list = 0; list < 2; list++)
    while (pt->head[list]) {
      pm__me *me = pt->head[list];
      pm__me_unlink(ni, me);
      if (!me->in_flight) pm__pool_free(ni, &me->o);
    }
}
/* Nothing new is let in, and what runs may finish.
   PtlPTDisable returns when no message that has matched is being written any more, and all that a carrier's lists
   are asked for has been told. Each of these ends by itself, so this does; another thread may close the interface
   meanwhile (refs). */
static void pm__pt_settle(pm__ni *ni, ptl_pt_index_t index) {
  pm__pt *pt = pm__pt_of(ni, index);
  pt->enabled = 0;
  pm__carrier_portal(ni, index);
  while (ni->refs && (pt->in_flight || *pm__list_op_of(ni, pt))) pm__poll_pause();
}
/* With entries in its lists a portal is in use, says Portals; BXI's library drops them instead.
   Headers that are left do not count: nobody will ask for them. */
PM_API int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  PM__NI(p, ni, ni_handle);
  pm__pt *pt = pm__pt_at(ni, index);
  pm__eq *eq;
  if (!pt) return PTL_ARG_INVALID;
  while (ni->refs && *pm__list_op_of(ni, pt)) pm__poll_pause();
  if (!ni->refs || !pt->allocated) return PTL_ARG_INVALID;
  if (!p->world->desc.semantics.pt_free_purges && (pt->head[0] || pt->head[1]))
    return PTL_PT_IN_USE;
  /* what is being written here is told here, and to nobody who gets this index next */
  pm__pt_settle(ni, index);
  pt = pm__pt_at(ni, index);
  if (!ni->refs || !pt) return PTL_ARG_INVALID; /* closed, or freed by another thread */
  pm__pt_purge(ni, pt);
  eq = pm__eq_if(pt->eq, pt->eq_handle);
  if (eq && (pt->options & PTL_PT_FLOWCTRL)) eq->reserved--;
  pt->allocated = 0;
  return PTL_OK;
}
PM_API int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  PM__NI(p, ni, ni_handle);
  if (!pm__pt_at(ni, index)) return PTL_ARG_INVALID;
  pm__pt_settle(ni, index);
  return PTL_OK;
}
PM_API int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  PM__NI(p, ni, ni_handle);
  if (!pm__pt_at(ni, index)) return PTL_ARG_INVALID;
  pm__pt_of(ni, index)->enabled = 1;
  pm__carrier_portal(ni, index);
  return PTL_OK;
}

static bool pm__iovec_is_bad(const pm__ni *ni, const void *start, ptl_size_t length,
                             unsigned int options) {
  return (options & PTL_IOVEC) &&
         (length > (ptl_size_t)ni->limits.max_iovecs || (length && !start));
}
/* PTL_INVALID_HANDLE says "none" too, as existing libraries write it, where no option counts. */
static bool pm__ct_is_bad(const pm__ni *ni, ptl_handle_ct_t h, unsigned int counting_options) {
  if (h == PTL_CT_NONE || (h == PTL_INVALID_HANDLE && !counting_options)) return 0;
  return !pm__ct_at(ni, h);
}
PM_API int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle) {
  PM__NI(p, ni, ni_handle);
  pm__md *o;
  if (!md || !md_handle || (md->options & ~PTL_MD_OPTIONS_MASK) ||
      pm__iovec_is_bad(ni, md->start, md->length, md->options))
    return PTL_ARG_INVALID;
  if (md->eq_handle != PTL_EQ_NONE && !pm__eq_at(ni, md->eq_handle)) return PTL_ARG_INVALID;
  if (pm__ct_is_bad(ni, md->ct_handle,
                    md->options &
                        (PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK)))
    return PTL_ARG_INVALID;
  o = (pm__md *)pm__pool_new(ni, PM__H_MD);
  if (!o) return PTL_NO_SPACE;
  o->md = *md;
  o->whose = p->world->desc.memory_at ? p : NULL;
  o->md.start = pm__table(o->whose, md->start, md->options);
  o->eq = pm__eq_at(ni, md->eq_handle);
  *md_handle = o->o.handle;
  return PTL_OK;
}
/* Who has seen SEND or REPLY of all operations may release the descriptor at once, although
   acknowledgements are still to come: it stays, without being found, until the last has come
   (pm__let_go). */
PM_API int PtlMDRelease(ptl_handle_md_t md_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__md *md = (pm__md *)pm__find_any(p, PM__H_MD, md_handle, &ni);
  if (!md) return PTL_ARG_INVALID;
  if (md->unsent) return p->world->desc.semantics.md_release_in_use ? PTL_IN_USE : PTL_ARG_INVALID;
  if (md->in_flight)
    md->o.live = PM__RELEASED;
  else
    pm__pool_free(ni, &md->o);
  return PTL_OK;
}

/* ---- list entries ------------------------------------------------------------------------------ */
/* At the tail: messages take the first entry that fits, in the order of appending. Linked in both
   directions, so that the one in the middle of thousands is unlinked at once. list_count is that of
   both lists, which max_list_size limits together. */
static void pm__me_link(pm__ni *ni, pm__me *me) {
  pm__pt *pt = pm__pt_of(ni, me->pt);
  me->prev = pt->tail[me->list];
  me->next = NULL;
  if (me->prev)
    me->prev->next = me;
  else
    pt->head[me->list] = me;
  pt->tail[me->list] = me;
  me->linked = 1;
  pt->list_count++;
  pm__carrier_link(ni, me);
}
PM__PRIVATE void pm__me_unlink(pm__ni *ni, pm__me *me) {
  pm__pt *pt = pm__pt_of(ni, me->pt);
  if (me->prev)
    me->prev->next = me->next;
  else
    pt->head[me->list] = me->next;
  if (me->next)
    me->next->prev = me->prev;
  else
    pt->tail[me->list] = me->prev;
  me->linked = 0;
  pt->list_count--;
  pm__carrier_unlink(ni, me);
}
/* LINK, AUTO_UNLINK and AUTO_FREE of an entry. */
PM__PRIVATE void pm__me_event(pm__ni *ni, ptl_handle_eq_t eq_handle, ptl_pt_index_t pt,
                              unsigned char list, void *user_ptr, int type) {
  ptl_event_t e;
  memset(&e, 0, sizeof e);
  e.type = (ptl_event_kind_t)type;
  e.pt_index = pt;
  e.ptl_list = list;
  e.user_ptr = user_ptr;
  e.ni_fail_type = PTL_NI_OK;
  pm__eq_post(ni, eq_handle, &e);
}
/* An overflow entry that unlinked itself and has no header left.
   Headers point into its buffer: only AUTO_FREE says that the buffer may be used again. It is for
   entries that unlinked themselves; PtlMEUnlink says PTL_IN_USE while there are headers, and the
   caller knows when it has succeeded. */
PM__PRIVATE void pm__me_free_if_empty(pm__ni *ni, pm__me *me) {
  if (me->linked || me->headers || me->in_flight) return;
  if (me->auto_unlinked && me->list == PTL_OVERFLOW_LIST &&
      !(me->me.options & PTL_ME_EVENT_UNLINK_DISABLE))
    pm__me_event(ni, pm__pt_of(ni, me->pt)->eq_handle, me->pt, me->list, me->user_ptr,
                 PTL_EVENT_AUTO_FREE);
  pm__pool_free(ni, &me->o);
}

/* Bytes an entry or descriptor covers. */
PM__INLINE uint64_t pm__capacity(const void *start, ptl_size_t length, unsigned int options) {
  const ptl_iovec_t *v = (const ptl_iovec_t *)start;
  uint64_t sum = 0;
  ptl_size_t i;
  if (!(options & PTL_IOVEC)) return length;
  for (i = 0; i < length; i++) sum += v[i].iov_len;
  return sum;
}
/* Whether so many bytes fit behind the offset, which is any number: the sum may wrap. */
PM__INLINE bool pm__has_room(const ptl_me_t *me, uint64_t offset, uint64_t bytes) {
  const uint64_t room = pm__capacity(me->start, me->length, me->options);
  return offset <= room && bytes <= room - offset;
}
PM__INLINE_HERE int pm__id_matches(const pm__ni *ni, ptl_process_t wanted, ptl_process_t id) {
  if (pm__is_logical(ni)) return wanted.rank == PTL_RANK_ANY || wanted.rank == id.rank;
  return (wanted.phys.nid == PTL_NID_ANY || wanted.phys.nid == id.phys.nid) &&
         (wanted.phys.pid == PTL_PID_ANY || wanted.phys.pid == id.phys.pid);
}
/* Portals refuses another user after the match, and looks no further (pm__match). Bull's library
   passes the entry over instead (uid_is_matched). Interfaces without matching take the first
   one. */
PM__INLINE int pm__matches(const pm__ni *ni, const ptl_me_t *me, ptl_process_t id, ptl_uid_t uid,
                           uint64_t bits) {
  if (ni->proc->world->desc.semantics.uid_is_matched && me->uid != PTL_UID_ANY && me->uid != uid)
    return 0;
  return !pm__is_matching(ni) || (pm__id_matches(ni, me->match_id, id) &&
                                  ((bits ^ me->match_bits) & ~me->ignore_bits) == 0);
}
PM__PRIVATE int pm__overflow_kind(int kind) { return kind + 1; } /* PUT -> PUT_OVERFLOW ... */

/* Tells the owner of an entry (or a search) about a header, as far as the options say.
   Counters count what is muted too: they stand in place of the events. Libraries differ in whether
   SUCCESS_DISABLE mutes overflow events. SEARCH obeys COMM_DISABLE, as in the reference. */
PM__PRIVATE void pm__tell_overflow(pm__ni *ni, const pm__header *h) {
  const uint64_t bytes = h->options & PTL_ME_EVENT_CT_BYTES ? h->event.mlength : 1;
  const int mutes = h->options & PTL_ME_EVENT_OVER_DISABLE ||
                    (h->options & PTL_ME_EVENT_SUCCESS_DISABLE &&
                     ni->proc->world->desc.semantics.success_disable_overflow);
  if (h->event.type == PTL_EVENT_SEARCH) {
    if (!(h->options & PTL_ME_EVENT_COMM_DISABLE)) pm__eq_post(ni, h->eq_handle, &h->event);
  } else if (!mutes)
    pm__eq_post(ni, h->eq_handle, &h->event);
  if (h->options & PTL_ME_EVENT_CT_OVERFLOW) pm__ct_count(ni, h->ct_handle, 0, bytes);
}
/* A claimed header is told to somebody else as soon as its data are in. NO_TRUNCATE is judged by
   the room in the new entry, although the data stay in the overflow buffer: had the message come
   later, it would have passed this entry over. local_offset: of an entry that manages its own. */
static int pm__header_matches(const pm__ni *ni, const ptl_me_t *me, uint64_t local_offset,
                              const pm__header *h) {
  if (h->is_claimed || !pm__matches(ni, me, h->event.initiator, h->event.uid, h->event.match_bits))
    return 0;
  return !pm__is_matching(ni) || !(me->options & PTL_ME_NO_TRUNCATE) ||
         pm__has_room(me, me->options & PTL_ME_MANAGE_LOCAL ? local_offset : h->event.remote_offset,
                      h->event.rlength);
}
/* A header with what its finder is to be told. While the header's data is still on the way into the
   buffer it is claimed, and told when the data is in. Else it goes.
   The order is that of Portals: the overflow event, AUTO_FREE of the overflow entry with its last
   header, then (by the callers) AUTO_UNLINK of the entry that was appended. */
static void pm__take_header(pm__ni *ni, pm__pt *pt, pm__header *h, pm__header *told) {
  pm__me *overflow = h->me;
  if (h->message) {
    told->is_claimed = 1;
    *h = *told;
    return;
  }
  pm__header_unlink(ni, pt, h);
  pm__header_drop(ni, h);
  pm__tell_overflow(ni, told);
  pm__me_free_if_empty(ni, overflow);
}
/* Locally managed, and too little is left when so many bytes more are taken.
   Strictly less than min_free: with exactly so much the entry stays. 0 means no such limit, and
   programs leave the field as it was where it does not count (no MANAGE_LOCAL). */
PM__INLINE bool pm__is_used_up(const pm__me *me, uint64_t more_bytes) {
  uint64_t room, offset;
  if (!(me->me.options & PTL_ME_MANAGE_LOCAL) || !me->me.min_free) return 0;
  room = pm__capacity(me->me.start, me->me.length, me->me.options);
  offset = me->offset + more_bytes;
  return offset > room || room - offset < me->me.min_free;
}
/* The way whose shelf has all that an entry takes; PM__WAYS: none. */
static int pm__shelf_way(const pm__ni *ni, const ptl_me_t *me) {
  bool any_sender;
  if (!ni->shelves || !pm__is_matching(ni)) return PM__WAYS;
  any_sender = pm__is_logical(ni)
                   ? me->match_id.rank == PTL_RANK_ANY
                   : me->match_id.phys.nid == PTL_NID_ANY || me->match_id.phys.pid == PTL_PID_ANY;
  if (me->ignore_bits) return any_sender ? PM__WAYS : PM__BY_SENDER;
  return any_sender ? PM__BY_BITS : PM__BY_BOTH;
}
/* Searches the unexpected headers for an entry that is being appended (op < 0) or searched for.
   Returns how many were found; stops when the entry is used up. An append takes the header out and
   is told as a message would be (PUT_OVERFLOW); a search that deletes does the same for nobody's
   buffer; one that only looks (PTL_SEARCH_ONLY) leaves all as it was. An entry that counts the
   lengths of headers (LOCAL_INC_UH_RLENGTH) moves its offset by what they announce, so it may be
   used up by messages whose data never comes into it. */
static int pm__match_headers(pm__ni *ni, ptl_pt_index_t index, ptl_me_t *me, void *user_ptr, int op,
                             pm__me *appended) {
  pm__pt *pt = pm__pt_of(ni, index);
  const int way = pm__shelf_way(ni, me);
  pm__header *h = way < PM__WAYS ? pm__shelf_of(ni, way, me->match_bits, me->match_id)->first
                                 : pt->headers,
             *next;
  const int counts_lengths = appended && (me->options & PTL_ME_LOCAL_INC_UH_RLENGTH) &&
                             (me->options & PTL_ME_MANAGE_LOCAL);
  int found = 0;
  bool is_last = false;
  for (; h && !is_last; h = next) {
    pm__header told; /* what a search tells leaves the header as it is */
    next = way < PM__WAYS ? h->next_alike[way] : h->next;
    if (h->event.pt_index != index ||
        !pm__header_matches(ni, me, appended ? appended->offset : 0, h))
      continue;
    found++;
    told = *h;
    told.event.user_ptr = user_ptr;
    told.event.ptl_list = PTL_OVERFLOW_LIST;
    told.eq_handle = pt->eq_handle;
    told.ct_handle = me->ct_handle;
    told.options = me->options;
    if (counts_lengths) appended->offset += h->event.rlength;
    is_last = (me->options & PTL_ME_USE_ONCE) || (counts_lengths && pm__is_used_up(appended, 0));
    if (op == PTL_SEARCH_ONLY) {
      told.event.type = PTL_EVENT_SEARCH;
      pm__tell_overflow(ni, &told);
      continue;
    }
    if (h->message && appended) {
      told.claimer = appended;
      appended->in_flight++;
      if (is_last && !(me->options & PTL_ME_EVENT_UNLINK_DISABLE))
        told.unlink_after = appended->auto_unlinked = 1; /* after the event that is to come */
    }
    pm__take_header(ni, pt, h, &told);
  }
  return found;
}

/* ONLY_USE_ONCE and ONLY_TRUNCATE are hints of the portal's owner, by which a NIC may do with simpler lists. Programs
   give them and do not keep them (MPICH's overflow blocks serve many messages and are not truncated), so an entry
   that breaks one is taken, unless the semantics say that it is refused in the priority list. */
static bool pm__breaks_a_hint(const pm__pt *pt, const ptl_me_t *me) {
  return ((pt->options & PTL_PT_ONLY_USE_ONCE) && !(me->options & PTL_ME_USE_ONCE)) ||
         ((pt->options & PTL_PT_ONLY_TRUNCATE) && (me->options & PTL_ME_NO_TRUNCATE));
}
PM__PRIVATE bool pm__append_is_bad(const pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *me,
                                   ptl_list_t list) {
  const unsigned int mask =
      pm__is_matching(ni) ? PTL_ME_APPEND_OPTIONS_MASK : PTL_LE_APPEND_OPTIONS_MASK;
  const pm__pt *pt = pm__pt_at(ni, index);
  if (!pt || (me->options & ~mask) || list > PTL_OVERFLOW_LIST) return 1;
  if (pm__iovec_is_bad(ni, me->start, me->length, me->options)) return 1;
  if ((me->options & PTL_ME_MAY_ALIGN) && !(me->options & PTL_ME_MANAGE_LOCAL)) return 1;
  if (ni->proc->world->desc.semantics.pt_hints_bind && list == PTL_PRIORITY_LIST &&
      pm__breaks_a_hint(pt, me))
    return 1;
  return pm__ct_is_bad(ni, me->ct_handle,
                       me->options & (PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_OVERFLOW));
}
/* An entry that is in no list yet; NULL: none is left. */
PM__PRIVATE pm__me *pm__me_new(pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *entry,
                               ptl_list_t list, void *user_ptr) {
  pm__me *me = (pm__me *)pm__pool_new(ni, PM__H_ME);
  if (!me) return NULL;
  me->me = *entry;
  me->whose = ni->proc->world->desc.memory_at ? ni->proc : NULL;
  me->me.start = pm__table(me->whose, entry->start, entry->options);
  me->pt = index;
  me->list = list;
  me->user_ptr = user_ptr;
  return me;
}
/* Finds what came too early, then links the entry, unless that has used it up. Both are one step:
   between them no message may arrive that would find neither the entry in the list nor its header
   in the other. What is told meanwhile fires nothing (pm__fires_hold), since what fires may append
   and unlink in the lists that are being walked through. */
static void pm__me_enter(pm__ni *ni, pm__me *me) {
  const pm__pt *pt = pm__pt_of(ni, me->pt);
  const unsigned int options = me->me.options;
  const bool was_firing = pm__fires_hold(ni->proc->world);
  if (me->list == PTL_PRIORITY_LIST && pt->headers) {
    const int found = pm__match_headers(ni, me->pt, &me->me, me->user_ptr, -1, me);
    if (found && ((options & PTL_ME_USE_ONCE) ||
                  ((options & PTL_ME_LOCAL_INC_UH_RLENGTH) && pm__is_used_up(me, 0)))) {
      /* consumed: never linked, no LINK event */
      if (!(options & PTL_ME_EVENT_UNLINK_DISABLE) && !me->auto_unlinked)
        pm__me_event(ni, pt->eq_handle, me->pt, me->list, me->user_ptr, PTL_EVENT_AUTO_UNLINK);
      pm__carrier_unlink(ni, me);
      pm__me_free_if_empty(ni, me);
      pm__fires_go(ni->proc->world, was_firing);
      return;
    }
  }
  pm__me_link(ni, me);
  if (!(options & PTL_ME_EVENT_LINK_DISABLE))
    pm__me_event(ni, pt->eq_handle, me->pt, me->list, me->user_ptr, PTL_EVENT_LINK);
  pm__fires_go(ni->proc->world, was_firing);
}
static bool pm__list_is_full(const pm__ni *ni, const pm__pt *pt) {
  return pt->list_count + pt->later_count + pt->asked_count >= ni->limits.max_list_size;
}
/* LE and ME alike; an LE has been widened to an ME that matches all. There may be room once what waits for the
   carrier's lists has taken place: headers use entries up. */
static int pm__append(pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *entry, ptl_list_t list,
                      void *user_ptr, ptl_handle_any_t *handle) {
  pm__me *me = NULL;
  for (;;) {
    bool is_full;
    if (!ni->refs || pm__append_is_bad(ni, index, entry, list)) return PTL_ARG_INVALID;
    is_full = pm__list_is_full(ni, pm__pt_of(ni, index));
    if (!is_full && (me = pm__me_new(ni, index, entry, list, user_ptr))) break;
    if (!*pm__list_op_of(ni, NULL)) return is_full ? PTL_LIST_TOO_LONG : PTL_NO_SPACE;
    pm__poll_pause();
  }
  /* Written first: an entry that is used up at once has a handle too, which PtlMEUnlink then
     refuses. */
  *handle = me->o.handle;
  pm__me_append(ni, me);
  return PTL_OK;
}
/* Each header found is told as SEARCH or, when it is deleted, as its overflow event. A closing
   SEARCH with NO_MATCH says that there was none; some libraries end a search for all so in any
   case. A search counts since 4.3: a success for each, one failure where a search for all has
   ended, or one for a single header found none. */
static void pm__search_now(pm__ni *ni, ptl_pt_index_t index, ptl_me_t *me, ptl_search_op_t op,
                           void *user_ptr) {
  pm_world *w = ni->proc->world;
  const int once = (me->options & PTL_ME_USE_ONCE) != 0;
  const bool was_firing = pm__fires_hold(w);
  int found;
  found = pm__match_headers(ni, index, me, user_ptr, op, NULL);
  if (!found || (!once && w->desc.semantics.search_closing_event)) {
    ptl_event_t e;
    memset(&e, 0, sizeof e);
    e.type = PTL_EVENT_SEARCH;
    e.pt_index = index;
    e.user_ptr = user_ptr;
    e.match_bits = me->match_bits;
    e.ni_fail_type = PTL_NI_NO_MATCH;
    e.ptl_list = PTL_OVERFLOW_LIST;
    pm__eq_post(ni, pm__pt_of(ni, index)->eq_handle, &e);
  }
  if ((me->options & PTL_ME_EVENT_CT_OVERFLOW) && (!once || !found))
    pm__ct_count(ni, me->ct_handle, 1, 0); /* 4.3 */
  pm__fires_go(w, was_firing);
}

/* PTL_IN_USE: a message that has matched is still writing into the entry, or headers point into it.
   The caller tries again. */
static int pm__unlink(pm_process *p, ptl_handle_any_t handle) {
  pm__ni *ni;
  pm__me *me = (pm__me *)pm__find_any(p, PM__H_ME, handle, &ni);
  if (!me || !me->linked)
    return PTL_ARG_INVALID; /* auto-unlinked ones wait for their headers only */
  if (me->in_flight || me->headers) return PTL_IN_USE;
  pm__me_unlink(ni, me);
  pm__pool_free(ni, &me->o);
  return PTL_OK;
}

/* ---- appends and searches that the carrier's lists do first -------------------------------------- */
/* A carrier's NIC looks through its own headers, which takes it time, and says when it is done: only then the model
   does the same, and tells. Those of an interface take place in the order of the calls, whatever the NIC tells first
   (it tells later of an entry that has claimed a header), and one that the carrier does not take waits for those
   before it. An append that cannot find anything does not wait: then it takes the NIC no time either. */
static pm__list_op *pm__list_op_new(pm__ni *ni, ptl_pt_index_t index, bool is_told) {
  pm_world *w = ni->proc->world;
  pm__list_op *o = (pm__list_op *)pm__zalloc(sizeof *o), **end = &w->list_ops;
  if (!o) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: appends and searches that wait for a carrier");
    return NULL;
  }
  o->number = ++w->list_op_count;
  o->ni = ni;
  o->pt = index;
  o->leaves = PTL_INVALID_HANDLE;
  o->is_told = is_told;
  while (*end) end = &(*end)->next;
  *end = o;
  return o;
}
static bool pm__list_op_waits(pm__ni *ni, ptl_pt_index_t index, pm__me *entry,
                              const ptl_me_t *wanted, ptl_search_op_t op, void *user_ptr) {
  pm__pt *pt = pm__pt_of(ni, index);
  const bool is_first = !*pm__list_op_of(ni, NULL);
  pm__list_op *o;
  bool is_asked;
  if (is_first && entry && (entry->list == PTL_OVERFLOW_LIST || !pt->headers)) return 0;
  is_asked = pm__carrier_ask(ni, index, entry, wanted, op, ni->proc->world->list_op_count + 1);
  if (is_first && !is_asked) return 0;
  o = pm__list_op_new(ni, index, !is_asked);
  if (!o) return 0;
  o->entry = entry;
  if (entry) {
    entry->is_asked = 1;
    pt->asked_count++;
  } else {
    o->wanted = *wanted;
    o->op = op;
    o->user_ptr = user_ptr;
  }
  return 1;
}
/* What a counter released behind others finds the list full only now; nobody is left who could be told. */
static void pm__list_op_append(pm__ni *ni, pm__me *me) {
  pm__pt *pt = pm__pt_of(ni, me->pt);
  me->is_asked = 0;
  pt->asked_count--;
  if (pt->list_count + pt->later_count < ni->limits.max_list_size) {
    pm__me_enter(ni, me);
    return;
  }
  pm__carrier_unlink(ni, me);
  pm__pool_free(ni, &me->o);
}
static void pm__list_op_go(pm__ni *ni, pm__list_op *o) {
  if (o->entry)
    pm__list_op_append(ni, o->entry);
  else if (o->leaves != PTL_INVALID_HANDLE)
    pm__unlink(ni->proc, o->leaves);
  else
    pm__search_now(ni, o->pt, &o->wanted, o->op, o->user_ptr);
  PM_FREE(o);
}
/* Unknown: its interface was closed. */
PM__PRIVATE void pm__list_told(pm_world *w, uint64_t number) {
  pm__list_op *o = w->list_ops, **first;
  pm__ni *ni;
  while (o && o->number != number) o = o->next;
  if (!o) return;
  o->is_told = 1;
  ni = o->ni;
  while (*(first = pm__list_op_of(ni, NULL)) && (*first)->is_told) {
    o = *first;
    *first = o->next;
    pm__list_op_go(ni, o); /* which may ask for others */
  }
}
/* The interface is closed, and its entries with it. */
PM__PRIVATE void pm__list_ops_drop(pm__ni *ni) {
  pm__list_op **at;
  while (*(at = pm__list_op_of(ni, NULL))) {
    pm__list_op *o = *at;
    *at = o->next;
    if (o->entry) pm__carrier_unlink(ni, o->entry);
    PM_FREE(o);
  }
}
PM__PRIVATE void pm__me_append(pm__ni *ni, pm__me *me) {
  if (!pm__list_op_waits(ni, me->pt, me, &me->me, PTL_SEARCH_ONLY, NULL)) pm__me_enter(ni, me);
}
static int pm__search(pm__ni *ni, ptl_pt_index_t index, ptl_me_t *me, ptl_search_op_t op,
                      void *user_ptr) {
  if (op > PTL_SEARCH_DELETE || pm__append_is_bad(ni, index, me, PTL_OVERFLOW_LIST))
    return PTL_ARG_INVALID;
  if (!pm__list_op_waits(ni, index, NULL, me, op, user_ptr))
    pm__search_now(ni, index, me, op, user_ptr);
  return PTL_OK;
}
/* What counters release is done in the lists behind what waits there: an entry may be in use until then by headers that
   an append before takes, or not be in its list yet, and a list may be full. Nobody is left who could be told. */
PM__PRIVATE void pm__append_released(pm__ni *ni, pm__me *me) {
  if (pm__append_is_bad(ni, me->pt, &me->me, me->list) ||
      (!*pm__list_op_of(ni, NULL) && pm__list_is_full(ni, pm__pt_of(ni, me->pt))))
    pm__pool_free(ni, &me->o);
  else
    pm__me_append(ni, me);
}
PM__PRIVATE void pm__unlink_released(pm_process *p, ptl_handle_any_t handle) {
  pm__ni *ni;
  const pm__me *me = (const pm__me *)pm__find_any(p, PM__H_ME, handle, &ni);
  pm__list_op *o;
  if (!me) return;
  if (!*pm__list_op_of(ni, NULL))
    pm__unlink(p, handle);
  else if ((o = pm__list_op_new(ni, me->pt, 1)))
    o->leaves = handle;
}
/* A list entry is one that matches any initiator and all bits: one path serves both kinds. */
static ptl_me_t pm__widen(const ptl_le_t *le) {
  ptl_me_t me;
  memset(&me, 0, sizeof me);
  me.start = le->start;
  me.length = le->length;
  me.ct_handle = le->ct_handle;
  me.uid = le->uid;
  me.options = le->options;
  me.match_id.rank = PTL_RANK_ANY;
  me.ignore_bits = ~(ptl_match_bits_t)0;
  return me;
}

/* Here and below: time passes in pm__cpu, and the interface may be closed meanwhile (refs). */
PM_API int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_list_t list, void *user_ptr, ptl_handle_le_t *le_handle) {
  PM__NI(p, ni, ni_handle);
  ptl_me_t me;
  if (!le || !le_handle || pm__is_matching(ni)) return PTL_ARG_INVALID;
  me = pm__widen(le);
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__append(ni, index, &me, list, user_ptr, le_handle) : PTL_ARG_INVALID;
}
PM_API int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle) {
  PM__NI(p, ni, ni_handle);
  if (!me || !me_handle || !pm__is_matching(ni)) return PTL_ARG_INVALID;
  /* Arguments and room are judged now: a step has nobody who could be told. Without room the steps
     must take place first, so that the answer is that of a call which waits; a handler cannot. */
  if (pm__current->defers) {
    if (pm__append_is_bad(ni, index, me, list)) return PTL_ARG_INVALID;
    if (pm__append_room(ni, index)) {
      pm__me *later = pm__me_new(ni, index, me, list, user_ptr);
      if (!later) return PTL_NO_SPACE;
      *me_handle = later->o.handle;
      return pm__append_later(pm__current, ni, later);
    }
    if (pm__current->is_handling) return PTL_NO_SPACE;
    pm__catch_up();
  }
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__append(ni, index, me, list, user_ptr, me_handle) : PTL_ARG_INVALID;
}
PM_API int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_search_op_t search_op, void *user_ptr) {
  PM__NI(p, ni, ni_handle);
  ptl_me_t me;
  if (!le || pm__is_matching(ni)) return PTL_ARG_INVALID;
  me = pm__widen(le);
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__search(ni, index, &me, search_op, user_ptr) : PTL_ARG_INVALID;
}
PM_API int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_search_op_t search_op, void *user_ptr) {
  PM__NI(p, ni, ni_handle);
  ptl_me_t copy;
  if (!me || !pm__is_matching(ni)) return PTL_ARG_INVALID;
  copy = *me;
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__search(ni, index, &copy, search_op, user_ptr) : PTL_ARG_INVALID;
}
/* Entries of both kinds of interface have one kind of handle. */
static int pm__unlink_of(ptl_handle_any_t handle, bool is_matching) {
  PM__PROCESS(p);
  pm__ni *ni;
  const pm__me *me;
  pm__cpu(p->world->plat.cpu_append_ns);
  while ((me = (const pm__me *)pm__find_any(p, PM__H_ME, handle, &ni)) && me->is_asked)
    pm__poll_pause();
  if (me && pm__is_matching(ni) != is_matching) return PTL_ARG_INVALID;
  return pm__unlink(p, handle);
}
PM_API int PtlLEUnlink(ptl_handle_le_t le_handle) { return pm__unlink_of(le_handle, false); }
PM_API int PtlMEUnlink(ptl_handle_me_t me_handle) { return pm__unlink_of(me_handle, true); }
#ifdef NBC_LINES
#line 6 "src/portals/ptl_target.h"
#endif
PM__PRIVATE bool pm__is_fetch(const pm__message *m);
/* The initiator's interface is still open. What it sends is still to be had. */
PM__PRIVATE bool pm__from_is_alive(const pm__message *m);
PM__PRIVATE bool pm__has_payload(const pm_world *w, const pm__message *m);
PM__PRIVATE void pm__lost_memory(pm__message *m);
PM__PRIVATE void pm__trace_it(pm_world *w, int kind, const pm__message *m, int64_t t_begin_ps,
                              int64_t t_end_ps, int from_nic, int to_nic, uint64_t bytes);
static inline void pm__trace(pm_world *w, int kind, const pm__message *m, int64_t t_begin_ps,
                             int64_t t_end_ps, int from_nic, int to_nic, uint64_t bytes) {
  if (w->desc.trace) pm__trace_it(w, kind, m, t_begin_ps, t_end_ps, from_nic, to_nic, bytes);
}
#ifdef NBC_LINES
#line 1 "src/portals/ptl_target.c"
#endif
/* Portals at the target: see ptl_target.h. */

static void pm__fill_target_event(const pm__message *m, ptl_event_t *e);
static void pm__header_done(pm__ni *ni, pm__pt *pt, pm__message *m);
/* ---- at the target ----------------------------------------------------------------------------- */
static bool pm__is_get(const pm__message *m) { return m->what.kind == PM__GET; }
PM__INLINE bool pm__is_fetch(const pm__message *m) { return m->what.kind >= PM__FETCH; }
static int pm__target_event(const pm__message *m) {
  static const unsigned char events[] = {PTL_EVENT_PUT, PTL_EVENT_ATOMIC, PTL_EVENT_GET,
                                         PTL_EVENT_FETCH_ATOMIC, PTL_EVENT_FETCH_ATOMIC};
  return events[m->what.kind];
}
/* Where a message goes; NULL: nobody there. */
static const pm_process *pm__target_process_of(const pm_world *w, const pm__message *m) {
  return pm__process_by_pid(w, m->what.target.phys.nid, m->what.target.phys.pid);
}
PM__INLINE bool pm__from_is_alive(const pm__message *m) {
  return m->what.from->epoch == m->what.from_epoch;
}
PM__INLINE bool pm__has_payload(const pm_world *w, const pm__message *m) {
  return w->desc.no_data || m->what.has_copy || m->what.kept || m->cargo.wire ||
         pm__from_is_alive(m);
}
/* The interface of the same kind in the process that is meant; NULL: there is none. */
static pm__ni *pm__target_ni(pm_world *w, const pm__message *m) {
  const pm_process *p = pm__target_process_of(w, m);
  pm__ni *ni = p ? p->ni[m->what.from_index] : NULL;
  return ni && ni->refs ? ni : NULL;
}
/* The first entry that fits, in the order of appending: this order is what programs rely on. An
   entry with NO_TRUNCATE that has too little room is passed over, as one whose bits differ. Entries
   looked at are counted: the NIC's engine is busy for each of them. */
PM__INLINE_HERE pm__me *pm__find_entry(const pm__ni *ni, const pm__pt *pt, pm__message *m,
                                       int list) {
  pm__me *me;
  for (me = pt->head[list]; me; me = me->next) {
    m->what.looked_at++;
    if (!pm__matches(ni, &me->me, m->what.initiator, m->what.uid, m->what.match_bits)) continue;
    if (pm__is_matching(ni) && (me->me.options & PTL_ME_NO_TRUNCATE) &&
        !pm__has_room(&me->me,
                      me->me.options & PTL_ME_MANAGE_LOCAL ? me->offset : m->what.remote_offset,
                      m->what.length))
      continue;
    return me;
  }
  return NULL;
}
/* PT_DISABLED goes out when the last running message has finished. */
static void pm__pt_tell_disabled(pm__ni *ni, ptl_pt_index_t index) {
  pm__pt *pt = pm__pt_of(ni, index);
  ptl_event_t e;
  if (!pt->disabling || pt->in_flight) return;
  pt->disabling = 0;
  memset(&e, 0, sizeof e);
  e.type = PTL_EVENT_PT_DISABLED;
  e.ni_fail_type = PTL_NI_PT_DISABLED;
  e.pt_index = index;
  pm__eq_post(ni, pt->eq_handle, &e);
}
static int pm__refuse(pm__ni *ni, pm__message *m, int fail) {
  const int status = fail == PTL_NI_PERM_VIOLATION ? PTL_SR_PERMISSION_VIOLATIONS
                     : fail == PTL_NI_OP_VIOLATION ? PTL_SR_OPERATION_VIOLATIONS
                                                   : PTL_SR_DROP_COUNT;
  m->what.fail = (unsigned char)fail;
  ni->status[status]++;
  return 0;
}
/* No entry, no header, no room in the queue: flow control switches the portal off, else a drop. */
static int pm__no_resource(pm__ni *ni, pm__pt *pt, pm__message *m, const pm__me *me) {
  if (!(pt->options & PTL_PT_FLOWCTRL)) return pm__refuse(ni, m, PTL_NI_DROPPED);
  pt->enabled = 0;
  if (!me || !(me->me.options & PTL_ME_EVENT_FLOWCTRL_DISABLE)) pt->disabling = 1;
  pm__pt_tell_disabled(ni, m->what.pt);
  return pm__refuse(ni, m, PTL_NI_PT_DISABLED);
}
/* Where in the entry the message begins, and how much of it fits there. */
PM__INLINE_HERE uint64_t pm__place(const pm__me *me, const pm__message *m, uint64_t *mlength) {
  const uint64_t room = pm__capacity(me->me.start, me->me.length, me->me.options),
                 offset = me->me.options & PTL_ME_MANAGE_LOCAL ? me->offset : m->what.remote_offset,
                 left = offset > room ? 0 : room - offset;
  *mlength = m->what.length < left ? m->what.length : left;
  return offset;
}
static int pm__events_of_comm(const pm__me *me, const pm_semantics *s) {
  return !(me->me.options & PTL_ME_EVENT_COMM_DISABLE) &&
         (!(me->me.options & PTL_ME_EVENT_SUCCESS_DISABLE) || s->offset_beyond_is_segv);
}
/* How many events the message brings at once when it takes this entry. With flow control the queue
   must have room for all of them before the message is let in: an event that found no room later
   would be lost, although its data is in the memory already, and the initiator has been told that
   all went well. */
PM__INLINE_HERE unsigned char pm__events_due(const pm__me *me, const pm__message *m,
                                             const pm_semantics *s) {
  const unsigned int o = me->me.options;
  uint64_t mlength = 0;
  int n = pm__events_of_comm(me, s);
  if (!(o & (PTL_ME_USE_ONCE | PTL_ME_MANAGE_LOCAL)) || (o & PTL_ME_EVENT_UNLINK_DISABLE))
    return (unsigned char)n;
  (void)pm__place(me, m, &mlength);
  if (!(o & PTL_ME_USE_ONCE) && !pm__is_used_up(me, mlength)) return (unsigned char)n;
  n++; /* AUTO_UNLINK, and AUTO_FREE when no header keeps the buffer */
  if (me->list == PTL_OVERFLOW_LIST && (o & PTL_ME_UNEXPECTED_HDR_DISABLE) && !me->headers) n++;
  return (unsigned char)n;
}
/* Whether they have room, beside those promised to messages that are being written: those have
   matched, and their events come when the data is in. */
static bool pm__eq_has_room(const pm__pt *pt, const pm__message *m) {
  const pm__eq *eq = pm__eq_if(pt->eq, pt->eq_handle);
  return !eq || eq->used + eq->promised + m->what.promised <= eq->count;
}
static void pm__promise(const pm__pt *pt, uint32_t n, bool is_kept) {
  pm__eq *eq = pm__eq_if(pt->eq, pt->eq_handle);
  if (!eq) return;
  if (!is_kept)
    eq->promised += n;
  else
    eq->promised -= n < eq->promised ? n : eq->promised;
}
/* 1: m->what.me is the entry. 0: m->what.fail says why not. Portal, entry, permission, room: in
   this order, since what is refused for an earlier reason must leave no trace of a later one (a
   portal that flow control has switched off, a header). */
PM__INLINE_HERE int pm__match(pm__ni *ni, pm__message *m) {
  const pm_semantics *s = &ni->proc->world->desc.semantics;
  pm__pt *pt = pm__pt_at(ni, m->what.pt);
  pm__me *me;
  unsigned int needs = 0;
  if (!pt)
    return pm__refuse(ni, m, s->pt_missing_undeliverable ? PTL_NI_UNDELIVERABLE : PTL_NI_DROPPED);
  if (!pt->enabled) return pm__refuse(ni, m, PTL_NI_PT_DISABLED);
  me = pm__find_entry(ni, pt, m, PTL_PRIORITY_LIST);
  if (!me) me = pm__find_entry(ni, pt, m, PTL_OVERFLOW_LIST);
  if (!me) return pm__no_resource(ni, pt, m, NULL);
  /* who may not do this needs no room either */
  if (me->me.uid != PTL_UID_ANY && me->me.uid != m->what.uid)
    return pm__refuse(ni, m, PTL_NI_PERM_VIOLATION);
  if (!pm__is_get(m)) needs |= PTL_ME_OP_PUT;
  if (m->what.kind >= PM__GET) needs |= PTL_ME_OP_GET;
  if ((me->me.options & needs) != needs) return pm__refuse(ni, m, PTL_NI_OP_VIOLATION);
  if (me->list == PTL_OVERFLOW_LIST && !(me->me.options & PTL_ME_UNEXPECTED_HDR_DISABLE) &&
      ni->header_count >= ni->limits.max_unexpected_headers)
    return pm__no_resource(ni, pt, m, me);
  m->what.promised = pm__events_due(me, m, s);
  if ((pt->options & PTL_PT_FLOWCTRL) && !pm__eq_has_room(pt, m))
    return pm__no_resource(ni, pt, m, me);
  m->what.me = me;
  return 1;
}
/* An unexpected message leaves its header, findable from now on. It names its message while the
   data is on the way: who finds the header meanwhile claims it, and is told when the data is in
   (pm__header_done). Headers stand in the order of arrival, which is the order in which appended
   entries find them. */
static void pm__leave_header(pm__ni *ni, pm__pt *pt, pm__message *m) {
  pm_world *w = ni->proc->world;
  pm__header *h = w->free_headers;
  if (h)
    w->free_headers = h->next;
  else
    h = (pm__header *)PM_MALLOC(sizeof *h);
  if (!h) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: unexpected header");
    return;
  }
  memset(h, 0, sizeof *h);
  h->me = m->what.me;
  h->message = m;
  m->what.header = h;
  pm__fill_target_event(m, &h->event);
  h->event.type = (ptl_event_kind_t)pm__overflow_kind(h->event.type);
  pm__header_add(ni, pt, h);
}
/* An entry may name memory that is not there (PTL_TARGET_BIND_INACCESSIBLE): who meets it is told, and nothing moves.
   Asked where a crash would be caught too, unless the entry promises that its memory is there. */
static bool pm__hits_nothing(pm_world *w, const pm__message *m) {
  return w->desc.catch_crashes && !w->desc.no_data && m->what.mlength &&
         !(m->what.me->me.options & PTL_ME_IS_ACCESSIBLE) &&
         !pm__is_accessible(w, pm__me_cursor(m), m->what.mlength, !pm__is_get(m));
}
/* Takes the message's part of the entry and unlinks what is used up: the next message must not find
   it any more. The entry itself, and the AUTO_UNLINK that its owner may read as "the buffer is mine
   again", wait until the data is in. */
static void pm__take_entry(pm__ni *ni, pm__message *m) {
  pm__me *me = m->what.me;
  pm__pt *pt = pm__pt_of(ni, m->what.pt);
  m->what.offset_used = pm__place(me, m, &m->what.mlength);
  if (ni->proc->world->desc.semantics.offset_beyond_is_segv &&
      m->what.offset_used > pm__capacity(me->me.start, me->me.length, me->me.options))
    m->what.fail = PTL_NI_SEGV;
  if (pm__hits_nothing(ni->proc->world, m)) {
    m->what.fail = PTL_NI_SEGV;
    m->what.mlength = 0;
  }
  m->what.list = me->list;
  m->what.is_ack_muted = (me->me.options & PTL_ME_ACK_DISABLE) != 0;
  m->what.start = m->what.mlength ? pm__cursor_start(pm__me_cursor(m))
                  : me->me.options & PTL_IOVEC
                      ? NULL
                      : (void *)((uintptr_t)me->me.start + (uintptr_t)m->what.offset_used);
  if (me->me.options & PTL_ME_MANAGE_LOCAL) me->offset += m->what.mlength;
  me->in_flight++;
  pt->in_flight++;
  pm__promise(pt, m->what.promised, 0);
  if (me->list == PTL_OVERFLOW_LIST && !(me->me.options & PTL_ME_UNEXPECTED_HDR_DISABLE))
    pm__leave_header(ni, pt, m);
  if ((me->me.options & PTL_ME_USE_ONCE) || pm__is_used_up(me, 0)) {
    me->auto_unlinked = 1;
    pm__me_unlink(ni, me);
    m->what.unlinks = 1;
  }
}
static void pm__fill_target_event(const pm__message *m, ptl_event_t *e) {
  memset(e, 0, sizeof *e);
  e->type = (ptl_event_kind_t)pm__target_event(m);
  e->start = m->what.start;
  e->user_ptr = m->what.me->user_ptr;
  e->hdr_data = pm__is_get(m) ? 0 : m->what.hdr_data;
  e->match_bits = m->what.match_bits;
  e->rlength = m->what.length;
  e->mlength = m->what.mlength;
  e->remote_offset = m->what.remote_offset;
  e->initiator = m->what.initiator;
  e->uid = m->what.uid;
  e->pt_index = m->what.pt;
  e->ptl_list = m->what.list;
  e->ni_fail_type = m->what.fail;
  e->atomic_operation = m->what.op;
  e->atomic_type = m->what.type;
}
/* One step of a message. */
PM__APART PM__PRIVATE void pm__trace_it(pm_world *w, int kind, const pm__message *m,
                                        int64_t t_begin_ps, int64_t t_end_ps, int from_nic,
                                        int to_nic, uint64_t bytes) {
  const pm_process *to = pm__target_process_of(w, m);
  pm__record(w, kind, m->what.id, m->what.from->proc->rank, to ? to->rank : -1, t_begin_ps,
             t_end_ps, pm__nic_node(w, from_nic), pm__nic_node(w, to_nic), bytes);
}
/* ---- data on its way to memory ----------------------------------------------------------------- */
/* A NIC's reads do not pass its writes (on PCI a read pushes them ahead), so what is matched later sees what was matched
   before it, though that is still being written: puts and gets of a pair are ordered so as well as atomics on one
   word, whoever they are of. */
PM__PRIVATE void pm__target_waits(pm__message *m) {
  pm__ni *ni = m->what.to;
  if (m->what.kind >= PM__GET || !m->what.mlength) return;
  m->what.next_write = NULL;
  if (ni->writes)
    ni->writes_last->what.next_write = m;
  else
    ni->writes = m;
  ni->writes_last = m;
}
/* Mostly the first one: the writes of a NIC end in order, those of several rails do not. */
static void pm__waits_no_more(pm__ni *ni, const pm__message *m) {
  pm__message **at = &ni->writes, *previous = NULL;
  for (; *at && *at != m; at = &previous->what.next_write) previous = *at;
  if (!*at) return;
  *at = m->what.next_write;
  if (ni->writes_last == m) ni->writes_last = previous;
}
/* Its memory, or the initiator's, was there once and is no more. What was moved until then stays. */
PM__PRIVATE void pm__lost_memory(pm__message *m) {
  m->what.fail = PTL_NI_SEGV;
  m->what.mlength = 0;
  if (m->what.header)
    m->what.header->event.ni_fail_type = PTL_NI_SEGV, m->what.header->event.mlength = 0;
}
static void pm__write(pm_world *w, pm__message *m) {
  bool is_there;
  if (m->what.kind >= PM__GET) return; /* its initiator may be gone, in another thread */
  if (m->what.is_written || !m->what.mlength || !pm__has_payload(w, m)) return;
  is_there = m->what.fail != PTL_NI_SEGV; /* a carrier may have missed the payload */
  if (m->what.kind == PM__PUT) {
    if (is_there && !w->desc.no_data)
      is_there = pm__move_bytes(w, pm__me_cursor(m), pm__payload(m), m->what.mlength);
  } else if (m->what.kind == PM__ATOMIC && !m->cargo.is_computed) {
    unsigned char operand[PM__ATOMIC_BYTES];
    is_there = is_there && pm__copied(w, pm__flat(operand), pm__payload(m), m->what.mlength) &&
               pm__atomic(w, m, operand, m->what.mlength);
  }
  m->what.is_written = true;
  if (!is_there) pm__lost_memory(m);
}
static bool pm__may_overlap(const pm__message *a, const pm__message *b) {
  const uintptr_t at_a = (uintptr_t)a->what.start, at_b = (uintptr_t)b->what.start;
  if ((a->what.me->me.options | b->what.me->me.options) & PTL_IOVEC) return true;
  return at_a < at_b + b->what.mlength && at_b < at_a + a->what.mlength;
}
/* Before m reads. Up to the last one that m must see all are written, as they may overlap each other. */
static void pm__writes_before(pm_world *w, const pm__ni *ni, const pm__message *m) {
  const pm__message *last = NULL;
  pm__message *i;
  for (i = ni->writes; i; i = i->what.next_write)
    if (pm__may_overlap(i, m)) last = i;
  for (i = ni->writes; last; i = i->what.next_write) {
    pm__write(w, i);
    if (i == last) last = NULL;
  }
}
/* The request is at the target's list engines. Matches it, works out what it takes and, for what
   sends something back, reads it; the writing ends at pm__target_finish. ret 1: an entry took it */
PM__PRIVATE int pm__target_start(pm_world *w, pm__message *m) {
  pm__ni *ni = pm__target_ni(w, m);
  m->what.me = NULL;
  m->what.mlength = 0;
  if (!ni) {
    m->what.fail = PTL_NI_UNDELIVERABLE;
    return 0;
  }
  if (m->what.length && !pm__is_get(m) && !pm__has_payload(w, m)) { /* its memory is gone */
    m->what.fail = PTL_NI_UNDELIVERABLE;
    return 0;
  }
  m->what.to = ni;
  m->what.to_epoch = ni->epoch;
  if (!pm__match(ni, m)) return 0;
  pm__take_entry(ni, m);
  if (pm__is_get(m) && m->way.link == PM_LINK_CARRIER) return 1; /* which reads by itself */
  if (ni->writes && m->what.kind >= PM__GET) pm__writes_before(w, ni, m);
  /* Bytes of a get are moved here, when they are read, although they arrive later: the initiator
     may not look at them before its REPLY. So what the target's owner changes after this time does
     not travel. */
  if (pm__is_get(m) && m->what.mlength && pm__from_is_alive(m) && !w->desc.no_data) {
    if (!pm__move_bytes(w, pm__md_cursor(m->what.md, m->what.local_offset), pm__me_cursor(m),
                        m->what.mlength))
      pm__lost_memory(m);
  } else if (pm__is_fetch(m) && m->what.mlength) {
    /* Reading and writing are one step of the simulation, which is what makes it atomic. what.copy
       holds a small operand on the way here and the old value on the way back, so the operand is
       taken out first. */
    unsigned char operand[PM__COPY_BYTES];
    if (m->what.fail == PTL_NI_SEGV ||
        (pm__has_payload(w, m) &&
         !pm__copied(w, pm__flat(operand), pm__payload(m), m->what.mlength)) ||
        !pm__copied(w, pm__flat(m->what.copy), pm__me_cursor(m), m->what.mlength) ||
        (!m->cargo.is_computed && !pm__atomic(w, m, operand, m->what.mlength)))
      pm__lost_memory(m);
  }
  return 1;
}
/* Bytes came, perhaps without an event: for threads that look at memory. */
static void pm__wake_memory_waiters(pm_process *p) {
  for (pm_thread *t = p->threads; t; t = t->next_in_proc)
    if (t->polling && t->waits_for_memory) pm__resume(p->world, t);
}
static void pm__tell_target(pm__ni *ni, pm__eq *eq, const pm__message *m) {
  ptl_event_t *place = eq ? pm__eq_place(ni, eq, false) : NULL;
  if (!place) return;
  pm__fill_target_event(m, place);
  pm__eq_tell(ni, eq);
}
/* Behind the events of all that the entry took: a get that came before the last message may be read after it, and the
   owner takes AUTO_UNLINK for the end. */
static void pm__tell_unlinked(pm__ni *ni, pm__me *me) {
  const pm__pt *pt = pm__pt_of(ni, me->pt);
  if (!me->unlink_is_due || me->in_flight) return;
  me->unlink_is_due = false;
  pm__promise(pt, me->owed, 1);
  pm__me_event(ni, pt->eq_handle, me->pt, me->list, me->user_ptr, PTL_EVENT_AUTO_UNLINK);
}
/* Data and events reach the target's memory. */
PM__PRIVATE void pm__target_finish(pm_world *w, pm__message *m) {
  pm__ni *ni = m->what.to;
  pm__me *me = m->what.me;
  pm__pt *pt;
  bool was_firing;
  /* An interface that was closed and opened again is another one, at the same address: epochs tell
     them apart. */
  if (ni->epoch != m->what.to_epoch) return; /* closed meanwhile */
  pm__write(w, m);
  if (ni->writes) pm__waits_no_more(ni, m);
  if (ni->proc->memory_waiters && m->what.mlength) pm__wake_memory_waiters(ni->proc);
  was_firing = pm__fires_hold(w);
  pt = pm__pt_of(ni, m->what.pt);
  if (pt->in_flight) pt->in_flight--;
  me->in_flight--;
  pm__promise(pt, m->what.promised, 1);
  if (!(me->me.options & PTL_ME_EVENT_COMM_DISABLE) &&
      (!(me->me.options & PTL_ME_EVENT_SUCCESS_DISABLE) || m->what.fail))
    pm__tell_target(ni, pm__eq_if(pt->eq, pt->eq_handle), m);
  if (m->what.unlinks && !(me->me.options & PTL_ME_EVENT_UNLINK_DISABLE)) {
    me->unlink_is_due = true;
    me->owed = (unsigned char)(m->what.promised - pm__events_of_comm(me, &w->desc.semantics));
    pm__promise(pt, me->owed, 0);
  }
  pm__tell_unlinked(ni, me);
  if (me->me.options & PTL_ME_EVENT_CT_COMM)
    pm__ct_count(ni, me->me.ct_handle, m->what.fail != 0,
                 me->me.options & PTL_ME_EVENT_CT_BYTES ? m->what.mlength : 1);
  pm__header_done(ni, pt, m);
  pm__pt_tell_disabled(ni, m->what.pt);
  pm__fires_go(w, was_firing);
}
/* A header that was claimed goes with its data. Claimed ones stay in the list until then, so that those who search
   find nothing twice and the order is kept. */
PM__APART static void pm__claim_done(pm__ni *ni, pm__pt *pt, pm__message *m, pm__header *h) {
  const pm__header told = *h;
  pm__header_unlink(ni, pt, h);
  pm__header_drop(ni, h);
  pm__tell_overflow(ni, &told);
  pm__me_free_if_empty(ni, m->what.me);
  if (told.unlink_after)
    pm__me_event(ni, told.eq_handle, m->what.pt, PTL_PRIORITY_LIST, told.event.user_ptr,
                 PTL_EVENT_AUTO_UNLINK);
  if (!told.claimer) return;
  told.claimer->in_flight--;
  pm__tell_unlinked(ni, told.claimer);
  pm__me_free_if_empty(ni, told.claimer);
}
/* The data is in: the message's header may be taken, or was claimed already, and its entry may go. */
static void pm__header_done(pm__ni *ni, pm__pt *pt, pm__message *m) {
  pm__header *h = m->what.header;
  m->what.header = NULL;
  if (h) h->message = NULL;
  if (h && h->is_claimed)
    pm__claim_done(ni, pt, m, h);
  else
    pm__me_free_if_empty(ni, m->what.me);
}
#ifdef NBC_LINES
#line 6 "src/portals/ptl_moves.h"
#endif
PM__PRIVATE bool pm__is_uncopied(const pm__message *m);
PM__PRIVATE void pm__keep(pm__message *m);
PM__PRIVATE void pm__message_start(pm_world *w, pm__message *m);
#ifdef NBC_LINES
#line 1 "src/portals/ptl_moves.c"
#endif

/* ---- at the initiator -------------------------------------------------------------------------- */
PM__INLINE_HERE void pm__initiator_event(const pm__message *m, const pm__md *md, int type,
                                         int fail) {
  pm__ni *ni = m->what.from;
  pm__eq *eq = pm__eq_if(md->eq, md->md.eq_handle);
  ptl_event_t *e;
  const unsigned int o = md->md.options;
  if ((o & PTL_MD_EVENT_SUCCESS_DISABLE) && !fail) return;
  if (type == PTL_EVENT_SEND && (o & PTL_MD_EVENT_SEND_DISABLE)) return;
  e = eq ? pm__eq_place(ni, eq, false) : NULL;
  if (!e) return;
  memset(e, 0, sizeof *e);
  e->type = (ptl_event_kind_t)type;
  e->user_ptr = m->what.user_ptr;
  e->ni_fail_type = (ptl_ni_fail_t)fail;
  e->rlength = m->what.length;
  e->mlength = type == PTL_EVENT_SEND ? m->what.length : m->what.mlength;
  e->remote_offset = m->what.offset_used;
  e->ptl_list = m->what.list;
  e->pt_index = m->what.pt;
  e->match_bits = m->what.match_bits;
  e->hdr_data = m->what.hdr_data;
  e->atomic_operation = m->what.op;
  e->atomic_type = m->what.type;
  pm__eq_tell(ni, eq);
}
PM__INLINE_HERE void pm__initiator_count(const pm__message *m, const pm__md *md,
                                         unsigned int option, int fail, uint64_t bytes) {
  if (md->md.options & option)
    pm__ct_count(m->what.from, md->md.ct_handle, fail,
                 md->md.options & PTL_MD_EVENT_CT_BYTES ? bytes : 1);
}

/* The buffer may be written again. */
PM__INLINE void pm__initiator_sent(pm__message *m) {
  const int fail = m->what.fail == PTL_NI_UNDELIVERABLE && !m->what.is_early_send
                       ? PTL_NI_UNDELIVERABLE
                       : PTL_NI_OK;
  if (!pm__from_is_alive(m)) return;
  if (!m->what.is_unheld) m->what.md->unsent--;
  pm__initiator_event(m, m->what.md, PTL_EVENT_SEND, fail);
  pm__initiator_count(m, m->what.md, PTL_MD_EVENT_CT_SEND, fail, m->what.length);
}
/* The acknowledgement or the reply is here: the operation is over. */
PM__PRIVATE void pm__initiator_finish(pm_world *w, pm__message *m) {
  const pm_semantics *s = &w->desc.semantics;
  pm__md *md = m->what.md;
  if (!pm__from_is_alive(m)) return;
  m->what.from->uncopied_count -= pm__is_uncopied(m);
  if (m->what.get_md) m->what.get_md->unsent--;
  if (m->what.kind == PM__GET) md->unsent--;
  if (m->what.kind != PM__GET && !m->what.is_early_send) pm__initiator_sent(m);
  if (m->what.kind >= PM__GET) {
    if (m->what.get_md) md = m->what.get_md;
    if (m->what.get_md && !m->what.fail &&
        !pm__copied(w, pm__md_cursor(md, m->what.get_offset), pm__flat(m->what.copy),
                    m->what.mlength))
      m->what.fail = PTL_NI_SEGV, m->what.mlength = 0;
    if (!m->what.fail) w->stats.delivered_bytes += m->what.mlength;
    pm__initiator_event(m, md, PTL_EVENT_REPLY, m->what.fail);
    pm__initiator_count(m, md, PTL_MD_EVENT_CT_REPLY, m->what.fail, m->what.mlength);
  } else if (m->what.ack_req != PTL_NO_ACK_REQ && !(m->what.is_ack_muted && !m->what.fail)) {
    const int counts =
        m->what.fail && !(m->what.ack_req == PTL_OC_ACK_REQ && s->oc_ack_counts_success &&
                          m->what.fail != PTL_NI_UNDELIVERABLE);
    if (m->what.ack_req == PTL_ACK_REQ) pm__initiator_event(m, md, PTL_EVENT_ACK, m->what.fail);
    pm__initiator_count(m, md, PTL_MD_EVENT_CT_ACK, counts, m->what.mlength);
  }
  if (m->what.get_md) pm__let_go(m->what.from, m->what.get_md);
  pm__let_go(m->what.from, m->what.md);
}
/* It can never arrive, or its answer cannot. */
PM__PRIVATE void pm__undeliverable(pm_world *w, pm__message *m) {
  w->stats.undeliverable_count++;
  m->what.fail = PTL_NI_UNDELIVERABLE;
}

PM__INLINE_HERE bool pm__target_is_bad(const pm__ni *ni, ptl_process_t id, ptl_pt_index_t pt) {
  if (pt > (ptl_pt_index_t)pm__limits.max_pt_index) return 1;
  if (pm__is_logical(ni)) {
    if (!ni->map || id.rank >= ni->map->count) return 1;
    id = ni->map->id[id.rank];
  }
  return id.phys.pid > PTL_PID_MAX || id.phys.nid == PTL_NID_ANY;
}
/* Physically. A caller cannot know which nodes there are, so a message to one that is not there is issued: it finds
   nobody, at an id of the own node that no process has, and ends as one that could not be delivered. */
PM__INLINE_HERE ptl_process_t pm__target_of(const pm_process *p, const pm__ni *ni,
                                            ptl_process_t target) {
  if (pm__is_logical(ni)) target = ni->map->id[target.rank];
  if ((int64_t)target.phys.nid >= p->world->plat.node_count) {
    target.phys.nid = (ptl_nid_t)p->node;
    target.phys.pid = PTL_PID_ANY;
  }
  return target;
}
PM__INLINE_HERE bool pm__range_is_bad(const pm__ni *ni, const pm__md *md, ptl_size_t offset,
                                      ptl_size_t length) {
  const uint64_t room = pm__capacity(md->md.start, md->md.length, md->md.options);
  return length > ni->limits.max_msg_size || offset > room || length > room - offset;
}
/* A message that has all but what its kind adds. ret PTL_OK | PTL_ARG_INVALID | PTL_NO_SPACE */
PM__INLINE_HERE int pm__message_make(pm_process *p, int kind, ptl_handle_md_t md_handle,
                                     ptl_size_t offset, ptl_size_t length, ptl_process_t target,
                                     ptl_pt_index_t pt, ptl_match_bits_t bits,
                                     ptl_size_t remote_offset, void *user_ptr,
                                     pm__message **message) {
  pm__ni *ni;
  pm__md *md = (pm__md *)pm__find_any(p, PM__H_MD, md_handle, &ni);
  pm__message *m;
  if (!md || pm__range_is_bad(ni, md, offset, length) || pm__target_is_bad(ni, target, pt))
    return PTL_ARG_INVALID;
  m = *message = pm__message_new(p->world);
  if (!m) return PTL_NO_SPACE;
  m->what.kind = (unsigned char)kind;
  m->what.from = ni;
  m->what.from_index = (unsigned char)ni->index;
  m->what.from_epoch = ni->epoch;
  m->what.md = md;
  m->what.local_offset = offset;
  m->what.length = length;
  m->what.target = pm__target_of(p, ni, target);
  m->what.initiator = pm__own_id(ni);
  m->what.from_nic = p->nic;
  m->what.to_nic = p->nic - p->node + pm__to_node(m);
  m->what.initiator_nic = p->its_nic;
  m->what.target_nic = p->its_nic + (pm__to_node(m) - p->node);
  m->what.is_inside = pm__to_node(m) == p->node && !p->world->plat.intra_uses_nic;
  m->what.uid = p->uid;
  m->what.pt = (unsigned char)pt;
  m->what.match_bits = bits;
  m->what.remote_offset = remote_offset;
  m->what.user_ptr = user_ptr;
  return PTL_OK;
}
PM__INLINE_HERE bool pm__ack_is_bad(const pm__message *m, ptl_ack_req_t ack) {
  const ptl_md_t *md = &m->what.md->md;
  if (ack > PTL_OC_ACK_REQ || ((md->options & PTL_MD_UNRELIABLE) && ack != PTL_NO_ACK_REQ))
    return 1;
  if ((md->options & PTL_MD_VOLATILE) && m->what.length > m->what.from->limits.max_volatile_size)
    return 1;
  return (ack == PTL_ACK_REQ && md->eq_handle == PTL_EQ_NONE) ||
         (ack == PTL_CT_ACK_REQ &&
          (md->ct_handle == PTL_CT_NONE || md->ct_handle == PTL_INVALID_HANDLE));
}
PM__INLINE_HERE int pm__put_make(pm_process *p, PM__PTL_PUT_ARGS, pm__message **m) {
  const int code = pm__message_make(p, PM__PUT, md_handle, local_offset, length, target_id,
                                    pt_index, match_bits, remote_offset, user_ptr, m);
  if (code) return code;
  (*m)->what.ack_req = ack_req;
  (*m)->what.hdr_data = hdr_data;
  if (!pm__ack_is_bad(*m, ack_req)) return PTL_OK;
  pm__message_free(p->world, *m);
  return PTL_ARG_INVALID;
}
static int pm__atomic_make(pm_process *p, PM__PTL_PUT_ARGS, ptl_op_t operation,
                           ptl_datatype_t datatype, pm__message **m) {
  int code;
  if (!pm__op_is_legal(operation, datatype) || operation >= PTL_SWAP ||
      length % pm__type_bytes(datatype))
    return PTL_ARG_INVALID;
  code = pm__put_make(p, md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits,
                      remote_offset, user_ptr, hdr_data, m);
  if (code) return code;
  (*m)->what.kind = PM__ATOMIC;
  (*m)->what.op = operation;
  (*m)->what.type = datatype;
  if (length <= (*m)->what.from->limits.max_atomic_size) return PTL_OK;
  pm__message_free(p->world, *m);
  return PTL_ARG_INVALID;
}
static int pm__fetch_make(pm_process *p, int kind, PM__PTL_FETCH_ARGS, const void *operand,
                          ptl_op_t operation, ptl_datatype_t datatype, pm__message **m) {
  pm__ni *ni;
  pm__md *get_md = (pm__md *)pm__find_any(p, PM__H_MD, get_md_handle, &ni);
  const int conditional = operation > PTL_SWAP;
  int code;
  if (!pm__op_is_legal(operation, datatype) || (kind == PM__SWAP) != (operation >= PTL_SWAP) ||
      length % pm__type_bytes(datatype))
    return PTL_ARG_INVALID;
  if (!get_md || (conditional && (!operand || length != pm__type_bytes(datatype))))
    return PTL_ARG_INVALID;
  code = pm__message_make(p, kind, put_md_handle, local_put_offset, length, target_id, pt_index,
                          match_bits, remote_offset, user_ptr, m);
  if (code) return code;
  (*m)->what.get_md = get_md;
  (*m)->what.get_offset = local_get_offset;
  (*m)->what.hdr_data = hdr_data;
  (*m)->what.op = operation;
  (*m)->what.type = datatype;
  if (conditional) memcpy((*m)->what.operand, operand, pm__type_bytes(datatype));
  if ((*m)->what.from == ni && length <= ni->limits.max_fetch_atomic_size &&
      !pm__range_is_bad(ni, get_md, local_get_offset, length) &&
      !pm__ack_is_bad(*m, PTL_NO_ACK_REQ))
    return PTL_OK;
  pm__message_free(p->world, *m);
  return PTL_ARG_INVALID;
}

/* It is still to be read from the initiator's memory. */
PM__PRIVATE bool pm__is_uncopied(const pm__message *m) {
  return m->what.kind != PM__GET && m->what.length && !m->what.has_copy && !m->what.kept;
}
/* From now on the initiator may change its memory, or lose it. */
PM__PRIVATE void pm__keep(pm__message *m) {
  if (m->what.from->proc->world->desc.no_data || !m->what.length) return;
  m->what.kept = (unsigned char *)PM_MALLOC((size_t)m->what.length);
  if (m->what.kept) {
    if (!pm__copied(m->what.from->proc->world, pm__flat(m->what.kept),
                    pm__md_cursor(m->what.md, m->what.local_offset), m->what.length))
      m->what.fail = PTL_NI_SEGV;
  } else
    pm_world_fail(m->what.from->proc->world, PM_E_NOMEM, "out of memory: payload");
}
/* Of a descriptor that tells nobody of anything no program can know when it may be released: as soon as the payload
   has been read, or there is none. GASNet's barriers release theirs right after puts of no bytes. */
static void pm__give_back(pm__message *m) {
  const unsigned int counted = PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY;
  const ptl_md_t *md = &m->what.md->md;
  if (m->what.kind == PM__GET || md->eq_handle != PTL_EQ_NONE || (md->options & counted)) return;
  if (m->what.length && !m->what.is_early_send && !m->what.kept) return;
  m->what.is_unheld = 1;
  m->what.md->unsent--;
}
/* An operation starts: from a call, or from a counter. */
PM__PRIVATE void pm__message_start(pm_world *w, pm__message *m) {
  if (!m->what.id) m->what.id = pm__id_next(m->what.from->proc);
  m->way.pending = 1;
  m->what.t_issue_ps = w->now_ps;
  if (m->what.kind != PM__GET && m->what.length <= (uint64_t)w->plat.early_send_bytes &&
      m->what.length <= sizeof m->what.copy) {
    if (!pm__copied(w, pm__flat(m->what.copy), pm__md_cursor(m->what.md, m->what.local_offset),
                    m->what.length))
      m->what.fail = PTL_NI_SEGV;
    m->what.has_copy = 1;
    /* A fetch brings its answer back in the same place; a carrier reads what it releases itself until
       that is over. */
    m->what.is_early_send = !pm__is_fetch(m) && !m->cargo.is_triggered;
  } else if (m->what.kind != PM__GET && (m->what.md->md.options & PTL_MD_VOLATILE))
    pm__keep(m);
  pm__give_back(m);
  m->what.from->uncopied_count += pm__is_uncopied(m);
  if (m->what.kind != PM__GET) w->stats.sent_bytes += m->what.length;
  w->stats.message_count++;
  pm__nic_send(w, m);
}
static int pm__move(pm_process *p, pm__message *m, int may_wait) {
  pm__call_step call;
  if (!may_wait && pm__slots_are_taken(p, m)) {
    pm__message_free(p->world, m);
    return PTL_TRY_AGAIN;
  }
  pm__hold(m->what.md); /* from now on nobody may release it */
  if (m->what.get_md) pm__hold(m->what.get_md);
  if (pm__current->defers && may_wait) {
    /* What the caller may change at once is read before the call returns. */
    const bool is_volatile =
        m->what.kind != PM__GET && (m->what.md->md.options & PTL_MD_VOLATILE) != 0;
    if (!is_volatile || pm__current->is_handling) return pm__move_later(pm__current, m);
    pm__catch_up();
  }
  m->what.id = pm__id_next(p);
  memset(&call, 0, sizeof call);
  while (pm__nic_call(p, m, &call)) {
    if (call.d_ps == PM__FOREVER)
      pm__block(PM__FOREVER, call.what);
    else
      pm__busy(call.d_ps, call.what);
  }
  if (!pm__from_is_alive(m)) {
    pm__message_free(p->world, m);
    return PTL_ARG_INVALID;
  }
  pm__message_start(p->world, m);
  return PTL_OK;
}
/* Each move twice: waiting for a command slot, or giving up. */
#define PM__MOVE_TWICE(name, arguments, make)                                                      \
  PM_API int name arguments {                                                                      \
    PM__PROCESS(p);                                                                                \
    pm__message *m;                                                                                \
    const int code = make;                                                                         \
    return code ? code : pm__move(p, m, 1);                                                        \
  }                                                                                                \
  PM_API int name##NB arguments {                                                                  \
    PM__PROCESS(p);                                                                                \
    pm__message *m;                                                                                \
    const int code = make;                                                                         \
    return code ? code : pm__move(p, m, 0);                                                        \
  }
#define PM__PUT_NAMES                                                                              \
  md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits, remote_offset,        \
      user_ptr, hdr_data
#define PM__FETCH_NAMES                                                                            \
  get_md_handle, local_get_offset, put_md_handle, local_put_offset, length, target_id, pt_index,   \
      match_bits, remote_offset, user_ptr, hdr_data
PM__MOVE_TWICE(PtlPut, (PM__PTL_PUT_ARGS), pm__put_make(p, PM__PUT_NAMES, &m))
PM__MOVE_TWICE(PtlGet, (PM__PTL_GET_ARGS),
               pm__message_make(p, PM__GET, md_handle, local_offset, length, target_id, pt_index,
                                match_bits, remote_offset, user_ptr, &m))
PM__MOVE_TWICE(PtlAtomic, (PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype),
               pm__atomic_make(p, PM__PUT_NAMES, operation, datatype, &m))
PM__MOVE_TWICE(PtlFetchAtomic, (PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype),
               pm__fetch_make(p, PM__FETCH, PM__FETCH_NAMES, NULL, operation, datatype, &m))
PM__MOVE_TWICE(PtlSwap,
               (PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                ptl_datatype_t datatype),
               pm__fetch_make(p, PM__SWAP, PM__FETCH_NAMES, operand, operation, datatype, &m))

/* ---- triggered operations ---------------------------------------------------------------------- */
PM__PRIVATE void pm__fire(pm_world *w, pm__trigger *t) {
  pm__ct *ct;
  switch (t->kind) {
  case PM__TRIG_MOVE:
    if (t->carried) pm__carrier_due(t);
    if (t->message) { /* a carrier may have sent it already */
      t->message->cargo.trigger = NULL;
      t->message->cargo.behind = t->carried ? 0 : t->ct->carried;
      pm__message_start(w, t->message);
    }
    t->message = NULL;
    break;
  case PM__TRIG_INC:
  case PM__TRIG_SET:
    if (t->carried) pm__carrier_due(t);
    ct = pm__ct_at(t->ni, t->handle);
    if (!ct) break;
    if (t->kind == PM__TRIG_SET)
      ct->value = t->value;
    else {
      ct->value.success += t->value.success;
      ct->value.failure += t->value.failure;
    }
    pm__ct_changed(ct);
    break;
  case PM__TRIG_APPEND:
    pm__append_released(t->ni, t->entry);
    t->entry = NULL;
    break;
  default: pm__unlink_released(t->ni->proc, t->handle); break;
  }
  pm__trigger_free(w, t);
}
/* Queues behind what has the same threshold; fires at once when that is reached already. */
static int pm__trigger_post(pm_process *p, pm__ni *ni, pm__message *m, ptl_handle_ct_t trig_ct,
                            ptl_size_t threshold, pm__trigger **made) {
  pm_world *w = p->world;
  pm__ni *ct_ni;
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, trig_ct, &ct_ni);
  pm__trigger *t;
  if (!ct || ct_ni != ni) return PTL_ARG_INVALID;
  if (ni->trigger_count >= ni->limits.max_triggered_ops) return PTL_NO_SPACE;
  t = w->free_triggers;
  if (t)
    w->free_triggers = t->next;
  else
    t = (pm__trigger *)PM_MALLOC(sizeof *t);
  if (!t) return PTL_NO_SPACE;
  memset(t, 0, sizeof *t);
  t->threshold = threshold;
  t->ni = ni;
  t->message = m;
  t->ct = ct;
  ni->trigger_count++;
  if (m) {
    pm__hold(m->what.md);
    if (m->what.get_md) pm__hold(m->what.get_md);
  }
  pm__trigger_put(ct, t);
  *made = t;
  return PTL_OK;
}
/* After the trigger is complete: it may fire now. */
static int pm__trigger_arm(pm_process *p, ptl_handle_ct_t trig_ct) {
  pm__ni *ni;
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, trig_ct, &ni);
  if (ct) pm__ct_changed(ct);
  return PTL_OK;
}
static int pm__trigger_move(pm_process *p, int code, pm__message *m, ptl_handle_ct_t trig_ct,
                            ptl_size_t threshold) {
  pm__trigger *t;
  if (code) return code;
  code = pm__trigger_post(p, m->what.from, m, trig_ct, threshold, &t);
  if (code) {
    pm__message_free(p->world, m);
    return code;
  }
  t->kind = PM__TRIG_MOVE;
  pm__cpu(p->world->plat.cpu_command_ns);
  if (t->message == m && !t->carried) pm__carrier_trigger(t); /* it waits still */
  return pm__trigger_arm(p, trig_ct);
}
PM_API int PtlTriggeredPut(PM__PTL_PUT_ARGS, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__put_make(p, md_handle, local_offset, length, ack_req, target_id, pt_index,
                                match_bits, remote_offset, user_ptr, hdr_data, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredGet(PM__PTL_GET_ARGS, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__message_make(p, PM__GET, md_handle, local_offset, length, target_id,
                                    pt_index, match_bits, remote_offset, user_ptr, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredAtomic(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                              PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code =
      pm__atomic_make(p, md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits,
                      remote_offset, user_ptr, hdr_data, operation, datatype, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredFetchAtomic(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                                   PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__fetch_make(p, PM__FETCH, PM__FETCH_NAMES, NULL, operation, datatype, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredSwap(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                            ptl_datatype_t datatype, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__fetch_make(p, PM__SWAP, PM__FETCH_NAMES, operand, operation, datatype, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
static int pm__trigger_ct(ptl_handle_ct_t ct_handle, ptl_ct_event_t value, int kind,
                          ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__trigger *t;
  int code;
  if (!pm__find_any(p, PM__H_CT, ct_handle, &ni) ||
      (kind == PM__TRIG_INC && value.success && value.failure))
    return PTL_ARG_INVALID;
  code = pm__trigger_post(p, ni, NULL, trig_ct, threshold, &t);
  if (code) return code;
  t->kind = kind;
  t->handle = ct_handle;
  t->value = value;
  pm__carrier_trigger(t);
  return pm__trigger_arm(p, trig_ct);
}
PM_API int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment,
                             PM__PTL_TRIG_ARGS) {
  return pm__trigger_ct(ct_handle, increment, PM__TRIG_INC, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, PM__PTL_TRIG_ARGS) {
  return pm__trigger_ct(ct_handle, new_ct, PM__TRIG_SET, trig_ct_handle, threshold);
}

PM_API int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                                ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle,
                                PM__PTL_TRIG_ARGS) {
  PM__NI(p, ni, ni_handle);
  pm__me *entry;
  pm__trigger *t;
  int code;
  if (!me || !me_handle || !pm__is_matching(ni) || pm__append_is_bad(ni, index, me, list))
    return PTL_ARG_INVALID;
  entry = pm__me_new(ni, index, me, list, user_ptr);
  if (!entry) return PTL_NO_SPACE;
  code = pm__trigger_post(p, ni, NULL, trig_ct_handle, threshold, &t);
  if (code) {
    pm__pool_free(ni, &entry->o);
    return code;
  }
  t->kind = PM__TRIG_APPEND;
  t->entry = entry;
  *me_handle = entry->o.handle;
  pm__carrier_trigger(t);
  return pm__trigger_arm(p, trig_ct_handle);
}
PM_API int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__trigger *t;
  int code;
  if (!pm__find_any(p, PM__H_ME, me_handle, &ni)) return PTL_ARG_INVALID;
  code = pm__trigger_post(p, ni, NULL, trig_ct_handle, threshold, &t);
  if (code) return code;
  t->kind = PM__TRIG_UNLINK;
  t->handle = me_handle;
  pm__carrier_trigger(t);
  return pm__trigger_arm(p, trig_ct_handle);
}
#ifdef NBC_LINES
#line 1 "src/portals/ahead.c"
#endif
/* Threads that run ahead: see ahead.h.

   Why results are the same: simulated time passes in a thread only inside of calls that wait. A
   thread that runs ahead makes none, so the time stands still from the call that asked for the
   first step until the steps are taken (pm__ahead_run). Then they follow each other as the calls
   would have: the pause, the effect, the next pause. All that others can see belongs to the steps:
   a message's number and payload, an entry's place in its list, events. At the call it is decided
   whether arguments are good and which handle an entry gets, which nobody else changes, and whether
   there is room: without room PtlMEAppend catches up and waits as ever.

   Who may hold steps: the only thread of a process, whose computing is not measured
   (pm__may_run_ahead). All other calls catch up before they do anything (pm__inited, pm_now_ns,
   pm_thread_create ...), so nothing the thread can ask shows that it is ahead.

   Why handlers may not wait: the loop calls them on its own stack (pm__goes_ahead). To wait is to
   save the running context as the thread's and to go on with the loop's (pm__leave): here the
   running context is the loop's, the thread's would be lost, and the loop would go on where it
   entered a thread long ago. pm_exit leaves the stack too, so it ends the run (pm__loop_fails). */


typedef enum pm__serve_stage { PM__SERVE_LOOK, PM__SERVE_WAIT, PM__SERVE_PAY } pm__serve_stage;
typedef enum pm__ahead_kind { PM__STEP_SLEEP, PM__STEP_APPEND, PM__STEP_MOVE } pm__ahead_kind;
typedef struct pm__ahead_step {
  pm__ahead_kind kind;
  int64_t d_ps;
  pm__ni *ni;
  void *what; /* entry or message */
} pm__ahead_step;
/* Memory is bounded: a thread with so many steps waits until they have taken place. Handlers, which
   cannot wait, get more. Powers of two: a mask finds a place of the ring. */
enum { PM__STEPS_LEAST = 8, PM__STEPS_MOST = 64 };
/* What is looked at each time the thread would run comes first, in one line of the cache. */
struct pm__ahead {
  pm__ahead_step *step; /* a ring */
  uint32_t first, count, max;
  /* what is served once there are no more steps */
  ptl_handle_eq_t eq_handle;
  pm__eq *eq; /* NULL: nothing */
  const bool *is_over;
  pm__ni *ni;
  pm__serve_stage stage;
  bool has_begun; /* the first of the steps */
  bool is_running;
  pm_event_fn handle;
  void *arg;
  ptl_event_t *event;
  int code;
  pm__call_step call; /* of the first one */
};

/* ---- steps --------------------------------------------------------------------------------------- */
/* Alone in the process: another thread would see what the first one wrote after a call before that
   call has taken place. And unmeasured: measured computing takes time between calls, which steps
   that follow each other at once would not have. */
static bool pm__may_run_ahead(const pm_thread *t) {
  return t->proc->live_threads == 1 && !(t->proc->world->desc.compute_ratio > 0);
}
PM__APART static bool pm__steps_grow(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  const uint32_t max = a->max ? 2 * a->max : (uint32_t)PM__STEPS_LEAST;
  pm__ahead_step *step = (pm__ahead_step *)PM_MALLOC(max * sizeof *step);
  uint32_t i;
  if (!step) {
    pm_world_fail(t->proc->world, PM_E_NOMEM, "out of memory: steps of a process");
    return false;
  }
  for (i = 0; i < a->count; i++) step[i] = a->step[(a->first + i) & (a->max - 1)];
  PM_FREE(a->step);
  t->proc->world->stats.memory_bytes += (max - a->max) * sizeof *step;
  a->step = step;
  a->first = 0;
  a->max = max;
  return true;
}
static bool pm__step_put(pm_thread *t, pm__ahead_kind kind, int64_t d_ps, pm__ni *ni, void *what) {
  struct pm__ahead *a = t->ahead;
  pm__ahead_step *s;
  if (a->count == PM__STEPS_MOST && !t->is_handling) pm__catch_up();
  if (a->count == a->max && !pm__steps_grow(t)) return false;
  s = &a->step[(a->first + a->count++) & (a->max - 1)];
  s->kind = kind;
  s->d_ps = d_ps;
  s->ni = ni;
  s->what = what;
  t->has_steps = true;
  return true;
}
/* Below, *_later is the part of a call that takes no time; the rest becomes the step. */
PM__PRIVATE void pm__sleep_later(pm_thread *t, int64_t d_ps) {
  (void)pm__step_put(t, PM__STEP_SLEEP, d_ps, NULL, NULL);
}
/* The entry is made now, as the caller wants its handle, but linked later: until then it is in no
   list, where a message could find it too early. */
PM__PRIVATE int pm__append_later(pm_thread *t, pm__ni *ni, pm__me *me) {
  if (!pm__step_put(t, PM__STEP_APPEND, t->proc->world->d_append_ps, ni, me)) {
    pm__pool_free(ni, &me->o);
    return PTL_NO_SPACE;
  }
  pm__pt_of(ni, me->pt)->later_count++;
  return PTL_OK;
}
/* The message holds its descriptors (pm__hold in pm__move): nobody may release them before the
   step. Payload is read at the step's time, as that of a call that waits would be
   (pm__message_start), so the caller must leave its buffer alone until then. */
PM__PRIVATE int pm__move_later(pm_thread *t, pm__message *m) {
  return pm__step_put(t, PM__STEP_MOVE, 0, m->what.from, m) ? PTL_OK : PTL_NO_SPACE;
}
/* Of a step that is a pause before something. ret whether that is still to be waited for
   has_begun: nobody but its timer resumes a thread that pauses here, so when the step is looked at
   again the pause is over. is_idle is what the call itself would say: pauses between looks in vain
   are no activity, or a deadlock would never be found. */
static bool pm__step_is_put_off(pm_thread *t, int64_t d_ps, bool is_idle, const char *what) {
  struct pm__ahead *a = t->ahead;
  bool is_put_off = false;
  if (!a->has_begun) {
    a->has_begun = true;
    t->is_idle = is_idle;
    is_put_off = pm__is_put_off(t->proc->world, t, d_ps, what);
  }
  if (!is_put_off) t->is_idle = false;
  return is_put_off;
}
/* As pm__move does it. The number is drawn when the step begins and not at the call: messages are
   numbered in the order of time over all processes, and traces show these numbers. Where all
   command slots are taken by commands that have not left yet, pm__nic_call has put the thread in
   the list of those who look again when one is free. */
static bool pm__move_is_put_off(pm_thread *t, pm__message *m) {
  pm_world *w = t->proc->world;
  struct pm__ahead *a = t->ahead;
  if (!a->has_begun) {
    a->has_begun = true;
    m->what.id = pm__id_next(t->proc);
    memset(&a->call, 0, sizeof a->call);
  }
  while (pm__nic_call(t->proc, m, &a->call)) {
    if (a->call.d_ps == PM__FOREVER) {
      pm__sleeps(w, t, PM__FOREVER, a->call.what);
      return true;
    }
    if (pm__is_put_off(w, t, a->call.d_ps, a->call.what)) return true;
  }
  return false;
}
/* The first step, as far as it gets now. ret whether it is over */
static bool pm__step_go(pm_thread *t) {
  pm_world *w = t->proc->world;
  struct pm__ahead *a = t->ahead;
  const pm__ahead_step *const first = &a->step[a->first];
  const pm__ahead_kind kind = first->kind;
  const bool is_append = kind == PM__STEP_APPEND;
  /* Taken out of the ring when it is over: what it does may put others in. */
  pm__ni *const ni = first->ni;
  void *const what = first->what;
  if (kind == PM__STEP_MOVE
          ? pm__move_is_put_off(t, (pm__message *)what)
          : pm__step_is_put_off(t, first->d_ps,
                                is_append ? first->d_ps <= w->d_look_max_ps : t->is_vain,
                                is_append ? "a Portals call" : "sleep")) {
    t->takes_cpu = kind != PM__STEP_SLEEP;
    return false;
  }
  a->has_begun = false;
  a->first = --a->count ? (a->first + 1) & (a->max - 1) : 0; /* few steps stay in few places */
  t->has_steps = a->count != 0;
  if (is_append) {
    pm__me *me = (pm__me *)what;
    /* Closed meanwhile: a queue's callback is another thread of this process, and may do so. */
    if (ni->refs) {
      if (pm__pt_of(ni, me->pt)->later_count) pm__pt_of(ni, me->pt)->later_count--;
      pm__me_append(ni, me);
    } else
      pm__pool_free(ni, &me->o);
  } else if (kind == PM__STEP_MOVE) {
    pm__message *m = (pm__message *)what;
    if (pm__from_is_alive(m))
      pm__message_start(w, m);
    else
      pm__message_free(w, m);
  }
  return true;
}

/* ---- events -------------------------------------------------------------------------------------- */
/* The stages are what PtlEQWait does, at the same times; only nobody is entered for it:

     LOOK --nothing there--> WAIT --woken--> LOOK
     LOOK --an event--> PAY --its cost has passed--> taken and handled --> steps --> LOOK
                                                     left to the thread --> steps --> over */
static bool pm__serve_ends(struct pm__ahead *a, int code) {
  a->eq = NULL;
  a->code = code;
  return false;
}
/* The event is paid for: takes it.
   What the handler asks for becomes steps, and these take place before the queue is looked at
   again: there a thread that handles the event itself would make its calls. An event that comes
   with PTL_EQ_DROPPED is for the thread: the handler cannot be told that others are lost.
   ret whether it was handled */
static bool pm__serve_takes(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  ptl_event_t event; /* nearer than the thread's stack */
  const int code = pm__eq_take(a->ni, a->eq, &event);
  const bool defers = t->defers;
  bool is_handled;
  a->stage = PM__SERVE_LOOK;
  if (code != PTL_OK) {
    if (code != PTL_EQ_EMPTY) *a->event = event;
    return pm__serve_ends(a, code);
  }
  t->defers = t->is_handling = true;
  is_handled = a->handle(a->arg, &event) != 0;
  t->defers = defers;
  t->is_handling = false;
  if (is_handled) return true;
  *a->event = event;
  return pm__serve_ends(a, PTL_OK);
}
/* Looks, waits or pays. ret 1: it sleeps; 0: go on; a->eq NULL: it is over */
static bool pm__serve_sleeps(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  pm_world *w = t->proc->world;
  if (a->stage == PM__SERVE_WAIT) { /* woken */
    t->is_idle = t->is_vain = false;
    t->waits_for_ptl = 0;
    t->describe = NULL;
    t->poll_streak = 0;
    a->stage = PM__SERVE_LOOK;
  }
  /* Looked at after each pause, as in PtlEQWait. Objects never move and their memory stays, so one
     that has gone can be read: it is not live, or has another generation in its handle. */
  if (!a->eq->o.live || a->eq->o.handle != a->eq_handle)
    return pm__serve_ends(a, pm__gone(t->proc));
  if (a->stage == PM__SERVE_LOOK) {
    if (*a->is_over) return pm__serve_ends(a, PTL_EQ_EMPTY);
    if (t->proc->aborted) return pm__serve_ends(a, PTL_ABORTED);
    if (!a->eq->used) {
      a->stage = PM__SERVE_WAIT;
      pm__waits_ptl(t, a->eq, a->eq_handle, 0);
      pm__sleeps(w, t, PM__FOREVER, "PtlEQWait:");
      return true;
    }
    a->stage = PM__SERVE_PAY;
    t->is_idle = w->plat.cpu_event_ns <= w->plat.cpu_poll_max_ns;
    if (pm__is_put_off(w, t, w->d_look_ps, "a Portals call")) return true;
  }
  t->is_idle = false;
  (void)pm__serve_takes(t);
  return false;
}
/* As far as it gets now.
   First on the thread's own stack; once the thread sleeps, on the loop's, each time when the thread
   would run. is_running: traces and calls from inside ask to catch up, and must not begin with the
   steps again. ret whether the thread sleeps; else it may go on itself */
static bool pm__ahead_run(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  bool sleeps = false;
  a->is_running = true;
  while (!sleeps && (a->count || a->eq)) sleeps = a->count ? !pm__step_go(t) : pm__serve_sleeps(t);
  a->is_running = false;
  t->is_ahead = sleeps;
  return sleeps;
}
/* The thread is the current one, as calls of the handler want it, but it is not entered:
   desc.switched is not called, so thread-local variables may be those of another process. A handler
   must not touch them. */
PM__PRIVATE bool pm__goes_ahead(pm_world *w, pm_thread *t) {
  bool sleeps;
  (void)w;
  pm__current = t;
  sleeps = pm__ahead_run(t);
  pm__current = NULL;
  return sleeps;
}
PM__PRIVATE void pm__catch_up(void) {
  pm_thread *t = pm__current;
  if (!t->has_steps || t->ahead->is_running) return;
  if (pm__ahead_run(t)) pm__leave(t);
}
PM__PRIVATE void pm__ahead_free(pm_thread *t) {
  if (t->ahead) PM_FREE(t->ahead->step);
  PM_FREE(t->ahead);
  t->ahead = NULL;
}

/* ---- calls --------------------------------------------------------------------------------------- */
/* Asked for while it is on, as in handlers, it stays on: only where it begins are the conditions
   looked at. */
PM__APART static bool pm__ahead_make(pm_thread *t) {
  t->ahead = (struct pm__ahead *)pm__zalloc(sizeof *t->ahead);
  if (!t->ahead) return false;
  t->proc->world->stats.memory_bytes += sizeof *t->ahead;
  return true;
}
PM_API bool pm_run_ahead(bool is_ahead) {
  pm_thread *t = pm__current;
  const bool before = t && t->defers;
  if (!t || before == is_ahead) return before;
  if (is_ahead && (!pm__may_run_ahead(t) || t->is_ahead || (!t->ahead && !pm__ahead_make(t))))
    return false;
  t->defers = is_ahead;
  return before;
}
PM_API void pm_catch_up(void) {
  if (pm__current && pm__current->has_steps) pm__catch_up();
}
/* Entries of steps are counted in the pool already (pm__me_new), and in later_count of their portal: what
   a counter triggers meanwhile finds the place taken, as it would if the call had returned. */
PM__PRIVATE int pm__append_room(const pm__ni *ni, ptl_pt_index_t index) {
  const pm__pool *pool = PM__POOL(ni, PM__H_ME);
  const pm__pt *pt = pm__pt_of(ni, index);
  const int room = (int)(pool->limit - pool->used),
            list_room =
                ni->limits.max_list_size - pt->list_count - pt->later_count - pt->asked_count;
  return room < list_room ? room : list_room > 0 ? list_room : 0;
}
PM_API int pm_append_room(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  const pm_process *p = pm__inited();
  const pm__ni *ni = p ? pm__ni_of(p, ni_handle) : NULL;
  return ni && pm__pt_at(ni, index) ? pm__append_room(ni, index) : 0;
}
/* Where nobody may run ahead: as a thread does it itself. */
static int pm__serve_left(ptl_handle_eq_t eq_handle, const bool *is_over, ptl_event_t *event) {
  return *is_over ? PTL_EQ_EMPTY : PtlEQWait(eq_handle, event);
}
/* pm__inited would catch up: pm__ahead_run takes the steps first anyhow, and then goes on with the
   events without entering the thread in between. The caller's variables (is_over, event) live as
   long as this call, during which the thread sleeps. */
PM_API int pm_eq_serve(ptl_handle_eq_t eq_handle, const bool *is_over, pm_event_fn handle,
                       void *arg, ptl_event_t *event) {
  pm_thread *t = pm__current;
  struct pm__ahead *a;
  pm_process *p;
  pm__ni *ni;
  pm__eq *eq;
  if (!is_over || !handle || !event) return PTL_ARG_INVALID;
  if (!t || !t->proc->init_count) return PTL_NO_INIT;
  p = t->proc;
  if (p->aborted) return PTL_ABORTED;
  eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!eq) return PTL_ARG_INVALID;
  if (!t->ahead || !pm__may_run_ahead(t)) return pm__serve_left(eq_handle, is_over, event);
  a = t->ahead;
  a->eq = eq;
  a->ni = ni;
  a->eq_handle = eq_handle;
  a->stage = PM__SERVE_LOOK;
  a->is_over = is_over;
  a->handle = handle;
  a->arg = arg;
  a->event = event;
  if (pm__ahead_run(t)) pm__leave(t);
  return a->code;
}
#ifdef NBC_LINES
#line 1 "src/portals/ptl_library.c"
#endif

/* ---- library and interfaces -------------------------------------------------------------------- */
PM_API int PtlInit(void) {
  if (!pm__current) return PTL_FAIL;
  if (!pm__current->proc->init_count++) pm__current->proc->aborted = 0; /* it begins anew */
  return PTL_OK;
}

/* What an interface of this world offers: default and largest. */
static ptl_ni_limits_t pm__limits_of(const pm_world *w) {
  const pm_semantics *s = &w->desc.semantics;
  ptl_ni_limits_t most = pm__limits;
#define PM__OFFERED(field)                                                                         \
  if (s->field > 0) most.field = s->field < 0xFFFF ? s->field : 0xFFFF
  PM__OFFERED(max_entries);
  PM__OFFERED(max_cts);
  PM__OFFERED(max_mds);
  PM__OFFERED(max_eqs);
  PM__OFFERED(max_unexpected_headers);
  PM__OFFERED(max_list_size);
  PM__OFFERED(max_triggered_ops);
#undef PM__OFFERED
  if (s->max_volatile_size > 0) most.max_volatile_size = (ptl_size_t)s->max_volatile_size;
  return most;
}
/* 0 or negative: no wish, the default. Above what there is: that. Below the least that the specification
   demands: that. */
static void pm__clamp_limits(const pm_world *w, ptl_ni_limits_t *l) {
  const ptl_ni_limits_t most = pm__limits_of(w);
#define PM__CLAMP(type, field, least)                                                              \
  if (l->field <= (type)0) l->field = most.field;                                                  \
  if (l->field > most.field) l->field = most.field;                                                \
  if (l->field < (type)(least)) l->field = (type)(least)
  PM__CLAMP(int, max_entries, 1);
  PM__CLAMP(int, max_unexpected_headers, 1);
  PM__CLAMP(int, max_mds, 1);
  PM__CLAMP(int, max_cts, 1);
  PM__CLAMP(int, max_eqs, 1);
  PM__CLAMP(int, max_pt_index, 63);
  PM__CLAMP(int, max_iovecs, 1);
  PM__CLAMP(int, max_list_size, 1);
  PM__CLAMP(int, max_triggered_ops, 1);
  PM__CLAMP(ptl_size_t, max_msg_size, 64);
  PM__CLAMP(ptl_size_t, max_atomic_size, 8);
  PM__CLAMP(ptl_size_t, max_fetch_atomic_size, 8);
  PM__CLAMP(ptl_size_t, max_waw_ordered_size, 64);
  PM__CLAMP(ptl_size_t, max_war_ordered_size, 8);
#undef PM__CLAMP
  if (!l->max_volatile_size) l->max_volatile_size = most.max_volatile_size;
  /* Who wants all there is takes every volatile message for one that may be an atomic too. */
  if (l->max_volatile_size > l->max_msg_size) {
    l->max_volatile_size =
        w->desc.semantics.max_volatile_size > 0 ? most.max_volatile_size : l->max_atomic_size;
    if (l->max_volatile_size > l->max_msg_size) l->max_volatile_size = l->max_msg_size;
  }
  l->features = most.features;
}

static bool pm__is_open(const pm_process *p) {
  for (int i = 0; i < 4; i++)
    if (p->ni[i] && p->ni[i]->refs) return true;
  return false;
}
/* All interfaces of a process share one, and it stays when the last of them closes: whoever opens one again with
   PTL_PID_ANY is found where it was. Until then another process of the node may ask for it, and the process for another. */
static int pm__choose_pid(pm_world *w, pm_process *p, ptl_pid_t wanted) {
  const bool had_pid = p->has_pid;
  const uint32_t before = p->pid;
  pm_process *holder;
  uint32_t pid = wanted;
  if (wanted != PTL_PID_ANY && wanted > PTL_PID_MAX) return PTL_ARG_INVALID;
  if (had_pid && (wanted == PTL_PID_ANY || wanted == before)) return PTL_OK;
  if (had_pid && pm__is_open(p)) return PTL_ARG_INVALID;
  if (wanted == PTL_PID_ANY)
    for (pid = p->local_index; pm__process_by_pid(w, (uint32_t)p->node, pid);) pid++;
  holder = pm__process_by_pid(w, (uint32_t)p->node, pid);
  if (holder && pm__is_open(holder)) return PTL_PID_IN_USE;
  if (!pm__pid_take(w, p, pid)) return PTL_NO_SPACE;
  if (holder) {
    holder->has_pid = false;
    holder->pid = holder->local_index;
  }
  if (had_pid) pm__pid_is(&w->nodes[p->node], before, NULL);
  return PTL_OK;
}

static pm__ni *pm__ni_new(pm_process *p, int index, const ptl_ni_limits_t *desired) {
  static const uint32_t bytes[] = {
      0, 0, sizeof(pm__eq), sizeof(pm__ct), sizeof(pm__md), sizeof(pm__me)};
  pm__ni *ni = (pm__ni *)pm__lines_take(p->world, sizeof *ni);
  int i;
  if (!ni) return NULL;
  PM__POOL(ni, PM__H_EQ)->chunk[0] = (char *)&ni->first_eq;
  PM__POOL(ni, PM__H_CT)->chunk[0] = (char *)&ni->first_ct;
  PM__POOL(ni, PM__H_MD)->chunk[0] = (char *)&ni->first_md;
  PM__POOL(ni, PM__H_ME)->chunk[0] = (char *)&ni->first_me;
  p->world->stats.memory_bytes += sizeof *ni;
  ni->proc = p;
  ni->index = index;
  ni->rank = PTL_RANK_ANY;
  ni->handle = pm__handle(PM__H_NI, index, 0, 0);
  ni->limits = desired ? *desired : pm__limits_of(p->world);
  pm__clamp_limits(p->world, &ni->limits);
  for (i = PM__H_EQ; i <= PM__H_ME; i++) PM__POOL(ni, i)->item_bytes = bytes[i];
  PM__POOL(ni, PM__H_EQ)->limit = (uint32_t)ni->limits.max_eqs;
  PM__POOL(ni, PM__H_CT)->limit = (uint32_t)ni->limits.max_cts;
  PM__POOL(ni, PM__H_MD)->limit = (uint32_t)ni->limits.max_mds;
  PM__POOL(ni, PM__H_ME)->limit = (uint32_t)ni->limits.max_entries;
  return ni;
}

/* What is under way when its interface closes still goes out, with the bytes of now. */
static void pm__keep_all(pm__ni *ni) {
  pm__message *m = ni->proc->world->messages_made;
  for (; m && ni->uncopied_count; m = m->next_made)
    if (m->way.pending && m->what.from == ni && pm__from_is_alive(m) && pm__is_uncopied(m)) {
      ni->uncopied_count--;
      pm__keep(m);
    }
  ni->uncopied_count = 0;
}
static void pm__pool_close(pm__ni *ni, int kind) {
  pm__pool *pool = PM__POOL(ni, kind);
  uint32_t slot;
  for (slot = 0; slot < pool->made; slot++) {
    pm__object *o = pm__pool_at(pool, slot);
    if (!o->live) continue;
    if (kind == PM__H_CT) {
      pm__ct_drop_triggers((pm__ct *)(void *)o);
      pm__carrier_count_end((pm__ct *)(void *)o);
    }
    if (kind == PM__H_EQ) pm__eq_forget(ni->proc, (pm__eq *)(void *)o);
    pm__pool_free(ni, o);
  }
}

/* Objects vanish, their memory stays: threads that wait on them must still find out. Messages on
   their way see another epoch. */
static void pm__ni_close(pm__ni *ni) {
  pm_thread *t;
  pm__me *me;
  int i, kind, list;
  if (!ni->refs) return;
  pm__keep_all(ni);
  pm__list_ops_drop(ni);
  pm__shelves_free(ni);
  for (i = 0; i < PM__PTS * PM__PT_GROUPS; i++) {
    pm__pt *pt = ni->pt[i / PM__PTS] ? &ni->pt[i / PM__PTS][i % PM__PTS] : NULL;
    if (!pt) continue;
    while (pt->headers) {
      pm__header *h = pt->headers;
      pt->headers = h->next;
      pm__header_drop(ni, h);
    }
    for (list = 0; list < 2; list++)
      for (me = pt->head[list]; me; me = me->next) pm__carrier_unlink(ni, me);
    memset(pt, 0, sizeof *pt);
  }
  pm__pool_close(ni, PM__H_CT); /* before the descriptors that its triggers use */
  PM_FREE(ni->splits);
  ni->splits = NULL;
  for (kind = PM__H_EQ; kind <= PM__H_ME; kind++)
    if (kind != PM__H_CT) pm__pool_close(ni, kind);
  ni->refs = ni->bundles = 0;
  if (ni->event_fd) close(ni->event_fd - 1);
  ni->event_fd = 0;
  ni->pt_last = 0;
  ni->map = NULL;
  ni->rank = PTL_RANK_ANY;
  ni->writes = ni->writes_last = NULL;
  ni->epoch++;
  for (t = ni->proc->threads; t; t = t->next_in_proc)
    if (t->waits_for_ptl) pm__resume(ni->proc->world, t);
}

static void pm__ni_reopen(pm__ni *ni, const ptl_ni_limits_t *desired) {
  ni->limits = desired ? *desired : pm__limits_of(ni->proc->world);
  pm__clamp_limits(ni->proc->world, &ni->limits);
  PM__POOL(ni, PM__H_EQ)->limit = (uint32_t)ni->limits.max_eqs;
  PM__POOL(ni, PM__H_CT)->limit = (uint32_t)ni->limits.max_cts;
  PM__POOL(ni, PM__H_MD)->limit = (uint32_t)ni->limits.max_mds;
  PM__POOL(ni, PM__H_ME)->limit = (uint32_t)ni->limits.max_entries;
  memset(ni->status, 0, sizeof ni->status);
}

/* A process ends: as if it had called PtlFini. */
PM__PRIVATE void pm__ptl_process_ended(pm_process *p) {
  int i;
  for (i = 0; i < 4; i++)
    if (p->ni[i]) pm__ni_close(p->ni[i]);
}

PM__PRIVATE void pm__ptl_process_free(pm_process *p) {
  int i, kind, k;
  for (i = 0; i < 4; i++) {
    pm__ni *ni = p->ni[i];
    if (!ni) continue;
    pm__ni_close(ni);
    for (kind = 0; kind < PM__KINDS; kind++)
      for (k = 1; k < PM__CHUNKS; k++) PM_FREE(ni->pool[kind].chunk[k]);
  }
}

PM__PRIVATE void pm__ptl_world_free(pm_world *w) {
  PM_FREE(w->pages);
  while (w->maps) {
    pm__map *map = w->maps;
    w->maps = map->next;
    PM_FREE(map->id);
    PM_FREE(map);
  }
  while (w->messages_made) {
    pm__message *m = w->messages_made;
    w->messages_made = m->next_made;
    PM_FREE(m->what.kept);
  }
  while (w->free_triggers) {
    pm__trigger *t = w->free_triggers;
    w->free_triggers = t->next;
    PM_FREE(t);
  }
  while (w->free_headers) {
    pm__header *h = w->free_headers;
    w->free_headers = h->next;
    PM_FREE(h);
  }
}

PM_API void PtlFini(void) {
  pm_process *p = pm__inited();
  int i;
  if (p && p->init_count == 1) pm__come_home();
  if (!p || --p->init_count) return;
  for (i = 0; i < 4; i++)
    if (p->ni[i]) pm__ni_close(p->ni[i]);
}

/* 4.3: every wait and poll of the process returns PTL_ABORTED. */
PM_API void PtlAbort(void) {
  pm_process *p = pm__inited();
  pm_thread *t;
  if (!p) return;
  p->aborted = 1;
  for (t = p->threads; t; t = t->next_in_proc)
    if (t->waits_for_ptl) pm__resume(p->world, t);
}

PM_API int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid,
                     const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
                     ptl_handle_ni_t *ni_handle) {
  PM__PROCESS(p);
  const int matching = (options & PTL_NI_MATCHING) != 0, logical = (options & PTL_NI_LOGICAL) != 0;
  const int index = matching | logical << 1;
  int code;
  if (!ni_handle || (iface != PTL_IFACE_DEFAULT && iface != 0) ||
      (options & ~PTL_NI_INIT_OPTIONS_MASK))
    return PTL_ARG_INVALID;
  if (matching == ((options & PTL_NI_NO_MATCHING) != 0) ||
      logical == ((options & PTL_NI_PHYSICAL) != 0))
    return PTL_ARG_INVALID;
  if (!p->ni[index] || !p->ni[index]->refs) {
    code = pm__choose_pid(p->world, p, pid);
    if (code) return code;
    if (p->ni[index]) { /* closed before, perhaps with messages still on their way to it */
      pm__ni_reopen(p->ni[index], desired);
    } else if (!(p->ni[index] = pm__ni_new(p, index, desired)))
      return PTL_NO_SPACE;
  }
  p->ni[index]->refs++;
  if (actual) *actual = p->ni[index]->limits;
  *ni_handle = p->ni[index]->handle;
  return PTL_OK;
}

PM_API int PtlNIFini(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  if (ni->refs == 1) pm__come_home();
  if (ni->refs > 1)
    ni->refs--;
  else
    pm__ni_close(ni);
  return PTL_OK;
}

PM_API int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t index, ptl_sr_value_t *value) {
  PM__NI(p, ni, ni_handle);
  if (!value || (unsigned)index >= PTL_SR_LAST) return PTL_ARG_INVALID;
  *value = ni->status[index];
  return PTL_OK;
}

PM_API int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  const int kind = (int)(handle >> 29);
  if (!ni_handle) return PTL_ARG_INVALID;
  if (kind == PM__H_NI) {
    ni = pm__ni_of(p, handle);
    if (!ni) return PTL_ARG_INVALID;
  } else if (kind < PM__H_EQ || kind > PM__H_ME || !pm__find_any(p, kind, handle, &ni))
    return PTL_ARG_INVALID;
  *ni_handle = ni->handle;
  return PTL_OK;
}
#ifdef NBC_LINES
#line 20 "src/portals/flow.h"
#endif
/* ============================================================================================== */
/* [FLOW] 7. Links shared fairly: max-min solver and flows                                        */
/* ============================================================================================== */
/* Shared resources and what crosses them, see the flow section. */
typedef struct pm__flow pm__flow;
typedef struct pm__crossing {
  pm__flow *flow;
  uint32_t hop;
  uint32_t
      from; /* the flow's bottleneck: who looks through the list need not look into each flow */
} pm__crossing;
/* On a link: so many of its flows are held down by the link `from`, in whose list of links fed this one is number
   `at`. And the other way round, with the same count: each side looks through its own list alone. */
typedef struct pm__feed {
  uint32_t from, count, at;
} pm__feed;
typedef struct pm__fed {
  double count;
  uint32_t link, at;
} pm__fed;
/* Who feeds a link that many flows cross, and whom a link feeds: see flow.c. */
typedef struct pm__feeds {
  pm__feed *feed;
  pm__fed *fed;
  int feed_count, feed_max, fed_count, fed_max;
} pm__feeds;
/* 128 bytes: two lines of the cache, and its place is found by a shift. */
typedef struct pm__link {
  double cap;
  double level; /* rate of all flows that it holds down; PM__FREE: there are none */
  /* Of one that keeps feeds: what those that others hold down leave of it. Kept up as levels change, with `most`; so
     often looked at since they were found, PM__SUMS: they have to be found anew. */
  double left;
  pm__crossing *flows; /* near, while there is one at most; else those held down stand behind */
  union {
    pm__crossing near;
    struct {
      uint64_t flows; /* where they are few: those that cross it, a bit each */
      uint32_t at;    /* its number while rates are found; 0: none */
    } few;
  } of;
  int count, max, held_count;
  bool is_queued, is_touched, keeps_feeds;
  unsigned char sums;
  /* line */
  pm__flow **held; /* those held down: a heap, the first to end first; near.flow, if that is all */
  double most;     /* of those that others hold down none is faster */
  double lone_cap; /* of those held down: no lone link of theirs carries less */
  /* the clock, see below */
  double rate;        /* level that is in force ... */
  double moved_bytes; /* ... and what it has moved of each flow until t_ps */
  int64_t t_ps;
  pm__feeds *feeds; /* NULL: never needed */
  uint32_t first;   /* 1 + number of the flow whose end is in the tree of ends; 0: none is. Of a
                     flow's own limit that none has: the next free one */
  int few_count; /* so often do those held down cross links that others cross too, but keep no feeds */
} pm__link;
enum { PM__NEAR = 8, PM__FAR_LINKS = PM__ROUTE_MAX + 3, PM__SUMS = 8 };
enum {
  PM__FEW = 64,
  PM__FEW_LINKS = 64,
  PM__FEW_ROOM = 64 + 8, /* those, and a way more: PM__NEAR */
  PM__FEW_USUAL = 14,
  PM__FEW_SPARE = 4096
};
#define PM__NO_LINK   0xFFFFFFFFu
#define PM__FREE      1e300
#define PM__UNLIMITED 1e18 /* bytes/s: no link is faster */
struct pm__flow {
  double end_bytes;       /* what its bottleneck will have moved of each flow when this one ends */
  double remaining_bytes; /* when nothing moves it */
  uint32_t bottleneck;    /* link that holds the rate down, or PM__NO_LINK: no rate yet */
  uint32_t held_at;       /* place in its heap */
  uint32_t number;        /* among those made: its place in the tree of ends */
  uint16_t link_count;
  bool is_limited; /* its last link is a limit of its own */
  uint32_t *
      link; /* near, or far for long ways; behind all their places: where a link's list names this flow */
  uint64_t shared;  /* a bit for each of its links that others cross too: 62 of a way, two of PCI */
  double least_cap; /* no link of its carries less */
  void *arg;
  /* line */
  uint32_t near[2 * PM__NEAR];
  /* line */
  void (*done)(pm_world *world, void *arg);
  uint32_t *far; /* NULL: never needed */
  union {
    double seen_bytes; /* what its bottleneck's clock showed when its use was noted last */
    double rate;       /* where they are few */
  } of;
  int64_t t_seen_ps;             /* when its use was noted last, or its rate began */
  int from, to;                  /* NICs */
  void (*plain_done)(void *arg); /* of pm_flow_start */
  void *plain_arg;
  pm__flow *next;
};
typedef struct pm__due { /* a link whose level is to be found anew */
  double level;
  uint32_t link;
} pm__due;
/* Resources: the directed links of the network, rail by rail, then per node the reads and writes of each
   PCI root, and memory. */
enum { PM__PCI_READ, PM__PCI_WRITE, PM__MEMORY };
PM__PRIVATE uint32_t pm__node_resource(const pm_world *w, int nic, int which);
PM__PRIVATE double pm__payload_ratio(const pm_platform *p);
/* Of payload that crosses this link of the network alone. */
PM__PRIVATE double pm__link_rate(const pm_world *w, uint32_t link);
/* Its rate now, in bytes/s; 0: not found yet. */
PM__PRIVATE double pm__flow_rate(const pm_world *w, const pm__flow *f);
/* A flow over a known way (NULL: none) and room for two links more. NULL: out of memory */
PM__PRIVATE pm__flow *pm__flow_new(pm_world *w, const pm__known_way *way);
PM__PRIVATE int pm__flow_go(pm_world *w, pm__flow *f, double bytes, double cap);
#ifdef NBC_LINES
#line 1 "src/portals/flow.c"
#endif
/* Flows: see flow.h. */


PM__PRIVATE uint32_t pm__node_resource(const pm_world *w, int nic, int which) {
  if (which == PM__PCI_WRITE && w->plat.pci_half_duplex) which = PM__PCI_READ;
  const int roots = (int)w->plat.pci_root_count, node = pm__nic_node(w, nic);
  const int at = which == PM__MEMORY ? 2 * roots : 2 * (pm__nic_rail(w, nic) % roots) + which;
  return (uint32_t)(w->net_link_count + (2 * roots + 1) * node + at);
}
/* Payload takes its share of header bytes on the wire. */
PM__PRIVATE double pm__payload_ratio(const pm_platform *p) {
  return (double)p->link_packet_bytes / (double)(p->link_packet_bytes + p->link_header_bytes);
}
PM__PRIVATE double pm__link_rate(const pm_world *w, uint32_t link) {
  return (w->graph ? w->graph->bytes_per_s[link % pm__rail_links(w) / 2]
                   : w->plat.link_bytes_per_s) *
         pm__payload_ratio(&w->plat);
}
/* A PCI root carries what its node's cables carry and nothing else, where no two NICs share it: if it is wider
   than all these cables together it never holds a flow down, and none need cross it. */
static bool pm__pci_is_wide(const pm_world *w) {
  const pm_platform *p = &w->plat;
  const int64_t cables = p->topology == PM_TOPO_FATTREE ? p->topo[1 + p->topo[0]] : 1;
  return p->nic_count == 1 && !p->pci_half_duplex && p->topology != PM_TOPO_FILE &&
         p->pci_bytes_per_s > (double)cables * p->link_bytes_per_s * pm__payload_ratio(p);
}
/* Down a fat tree that has as many switches on a level as nodes below, each link on the way down leads to one node
   alone (D-mod-K): all that crosses it crosses that node's own link too, which carries no more, and others
   besides. So it never holds a flow down, and none need cross it. ret on how many levels, from the nodes up */
static int pm__narrow_levels(const pm_platform *p) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t span = 1, width = up[0];
  int l;
  if (p->topology != PM_TOPO_FATTREE) return 0;
  for (l = 1; l < h; l++) {
    span *= m[l - 1];
    width *= up[l];
    if (width < span) break;
  }
  return l - 1;
}
static void pm__link_is_near(pm__link *l) {
  l->flows = &l->of.near;
  l->held = &l->of.near.flow;
  l->max = 1;
}
/* Twice the flows may cross the link, and be held down by it. ret 0: out of memory */
PM__APART static int pm__link_grow(pm__link *l) {
  const int max = l->max == 1 ? 8 : 2 * l->max;
  pm__crossing *flows =
      (pm__crossing *)PM_MALLOC((size_t)max * (sizeof *l->flows + sizeof *l->held));
  pm__flow **held = (pm__flow **)(void *)(flows + max);
  if (!flows) return 0;
  memcpy(flows, l->flows, (size_t)l->count * sizeof *flows);
  memcpy(held, l->held, (size_t)l->held_count * sizeof *held);
  if (l->max > 1) PM_FREE(l->flows);
  l->flows = flows;
  l->held = held;
  l->max = max;
  return 1;
}
/* Room for so many links, and for each of them among those that are looked at. ret 0: out of memory */
static int pm__links_room(pm_world *w, int max) {
  pm__link *const links = (pm__link *)pm__lines_alloc((size_t)max * sizeof *links);
  void *due, *touched;
  int i;
  if (links) {
    if (w->links_max) memcpy(links, w->links, (size_t)w->links_max * sizeof *links);
    for (i = 0; i < max; i++)
      if (links[i].max <= 1) pm__link_is_near(&links[i]);
    pm__lines_free(w->links);
    w->links = links;
  }
  due = PM_REALLOC(w->due, (size_t)max * sizeof *w->due);
  if (due) w->due = (pm__due *)due;
  touched = PM_REALLOC(w->touched, (size_t)max * sizeof *w->touched);
  if (touched) w->touched = (uint32_t *)touched;
  if (!links || !due || !touched) return 0;
  w->links_max = max;
  return 1;
}
PM__PRIVATE int pm__links_make(pm_world *w) {
  const pm_platform *p = &w->plat;
  const int64_t rail = pm__topology_links(p), net = rail * p->nic_count,
                per_node = 2 * p->pci_root_count + 1, all = net + per_node * p->node_count;
  int64_t i;
  if (!pm__links_room(w, (int)all)) return 0;
  w->busy_ps = (int64_t *)pm__zalloc((size_t)all * sizeof *w->busy_ps);
  if (!w->busy_ps) return 0;
  w->net_link_count = (int)net;
  w->link_count = (int)all;
  w->free_limit = PM__NO_LINK;
  for (i = 0; i < net; i++)
    w->links[i].cap =
        pm__is_fatpipe(w, (uint32_t)i) ? PM__UNLIMITED : pm__link_rate(w, (uint32_t)i);
  for (i = net; i < all; i++)
    w->links[i].cap =
        (i - net) % per_node + 1 == per_node ? p->intra_bytes_per_s : p->pci_bytes_per_s;
  for (i = 0; i < all; i++) w->links[i].level = PM__FREE;
  w->has_few_flows = !w->desc.link_use;
  w->few_level = PM__FREE;
  w->few_spare = PM__FEW_SPARE;
  w->pci_is_wide = pm__pci_is_wide(w);
  /* Links that fail and links whose use is kept have to know all that crosses them. */
  if (!w->desc.link_use && !w->desc.faults.outage_count && !w->desc.faults.down_node)
    w->narrow_link_count = pm__narrow_levels(p);
  w->stats.memory_bytes +=
      (size_t)all * (sizeof *w->links + sizeof *w->due + sizeof *w->touched + sizeof *w->busy_ps);
  return 1;
}

/* For the use of links: what the flow has moved since that was noted last. */
static void pm__flow_used(pm_world *w, pm__flow *f, double moved_bytes) {
  int h;
  for (h = 0; h < f->link_count; h++) { /* of links outside of the network none is kept */
    pm__use_add(w, f->link[h], PM__USE_CARRIED, f->t_seen_ps, w->now_ps,
                (moved_bytes - f->of.seen_bytes) / pm__payload_ratio(&w->plat));
    pm__use_add(w, f->link[h], PM__USE_FLOWS, f->t_seen_ps, w->now_ps,
                (double)(w->now_ps - f->t_seen_ps));
  }
  f->of.seen_bytes = moved_bytes;
  f->t_seen_ps = w->now_ps;
}
/* ---- when flows end ------------------------------------------------------------------------------ */
/* A tournament: node i holds the earliest of the times of its children 4 i to 4 i + 3, flow k is leaf max +
   k (PM__FOREVER: it does not flow). A rate that changes plays its leaf's matches again, log4 max of them, and
   nothing moves, where a heap would move events about. Growing makes four times the leaves and plays all anew. */
static inline int64_t pm__sooner(int64_t a_ps, int64_t b_ps) { return b_ps < a_ps ? b_ps : a_ps; }
static int pm__ends_grow(pm_world *w) {
  const uint32_t max = w->ends_max ? 4 * w->ends_max : 1;
  int64_t *ends = (int64_t *)PM_MALLOC(2 * (size_t)max * sizeof *ends);
  pm__flow **flow = (pm__flow **)PM_REALLOC(w->flow, max * sizeof *flow);
  uint32_t i, k;
  if (flow) w->flow = flow;
  if (!ends || !flow) {
    PM_FREE(ends);
    return 0;
  }
  for (i = 0; i < max; i++)
    ends[max + i] = i < w->ends_max ? w->ends[w->ends_max + i] : PM__FOREVER;
  for (i = max / 4; i; i /= 4) /* level by level */
    for (k = i; k < 2 * i; k++)
      ends[k] = pm__sooner(pm__sooner(ends[4 * k], ends[4 * k + 1]),
                           pm__sooner(ends[4 * k + 2], ends[4 * k + 3]));
  PM_FREE(w->ends);
  w->ends = ends;
  w->ends_max = max;
  return 1;
}
static void pm__ends_set(pm_world *w, uint32_t number, int64_t t_ps) {
  int64_t *const ends = w->ends;
  uint32_t i = w->ends_max + number;
  /* All the way up: where it might end nobody can foresee, which costs a processor more than the matches. */
  for (ends[i] = t_ps; i > 1; ends[i] = t_ps) {
    t_ps = pm__sooner(pm__sooner(t_ps, ends[i ^ 1]), pm__sooner(ends[i ^ 2], ends[i ^ 3]));
    i /= 4;
  }
}
/* Of several that end first the one with the lowest number. */
static pm__flow *pm__ends_first(const pm_world *w) {
  const int64_t *const ends = w->ends, t_ps = ends[1];
  uint32_t i = 1;
  while (i < w->ends_max) {
    const bool not_0 = ends[4 * i] != t_ps, not_1 = not_0 & (ends[4 * i + 1] != t_ps);
    i = 4 * i + not_0 + not_1 + (not_1 & (ends[4 * i + 2] != t_ps));
  }
  return w->flow[i - w->ends_max];
}
/* What the end of the first one will look at, see pm__ask_for. Mostly it is told of a message, to whose NICs it leads. */
PM__APART static void pm__end_comes(const pm_world *w) {
  const pm__flow *f = pm__ends_first(w);
  int h;
  pm__ask_for(f->arg, 6);
  for (h = 0; h < f->link_count; h++) pm__ask_for(&w->links[f->link[h]], 2);
  pm__ask_for(&w->nodes[f->from], 1);
  pm__ask_for(&w->nodes[f->from].lane, 1);
  pm__ask_for(&w->nodes[f->to].pid_0, 1);
}
/* The first ends are in the future of the world, and nowhere else. */
static void pm__ends_next(pm_world *w) {
  const int64_t t_ps = w->ends[1];
  if (w->is_large && t_ps != w->t_flow_end_ps && t_ps != PM__FOREVER) pm__end_comes(w);
  pm__flow_end_at(w, t_ps);
}
static void pm__solve_later(pm_world *w) {
  if (w->solve_is_due) return;
  /* The solver counts as an event to come, so that the world does not take itself for idle before
     it has run. */
  w->solve_is_due = true; /* once for all that happens now */
  pm__usual_until(w);
  w->future_count++;
}
static inline void pm__link_touched(pm_world *w, uint32_t link) {
  w->links[link].is_touched = true;
  w->touched[w->touched_count++] = link;
}
/* ---- virtual time ---------------------------------------------------------------------------------
   All flows that a link holds down have one rate, so what it has moved of each of them is a clock for
   them all: a flow ends when the clock shows a mark that stays as it is however often the rate changes. A link
   keeps its flows in a heap by their marks; only the end of the first one is in the tree. bytes =
   bytes/s * ps * 1e-12. */
static inline void pm__link_advance(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  if (l->t_ps != w->now_ps) {
    if (l->held_count) l->moved_bytes += pm__times(l->rate * (double)(w->now_ps - l->t_ps), 1e-12);
    l->t_ps = w->now_ps;
  }
  if (!l->is_touched) pm__link_touched(w, link);
}
static bool pm__ends_before(const pm__flow *a, const pm__flow *b) {
  return a->end_bytes < b->end_bytes || (a->end_bytes <= b->end_bytes && a->number < b->number);
}
static void pm__held_put(pm__link *l, int i, pm__flow *f) {
  l->held[i] = f;
  f->held_at = (uint32_t)i;
}
static void pm__held_move(pm__link *l, int i, pm__flow *f) { /* from place i to where it belongs */
  int child;
  for (; i && pm__ends_before(f, l->held[(i - 1) / 2]); i = (i - 1) / 2)
    pm__held_put(l, i, l->held[(i - 1) / 2]);
  while ((child = 2 * i + 1) < l->held_count) {
    if (child + 1 < l->held_count && pm__ends_before(l->held[child + 1], l->held[child])) child++;
    if (!pm__ends_before(l->held[child], f)) break;
    pm__held_put(l, i, l->held[child]);
    i = child;
  }
  pm__held_put(l, i, f);
}
/* The clock begins anew before it becomes too large to show small steps. */
static void pm__clock_restart(pm__link *l) {
  int i;
  for (i = 0; i < l->held_count; i++) {
    l->held[i]->end_bytes -= l->moved_bytes;
    l->held[i]->of.seen_bytes -= l->moved_bytes;
  }
  l->moved_bytes = 0;
}
static void pm__limit_by(pm__link *l, double cap) {
  if (cap < l->lone_cap) l->lone_cap = cap;
}
/* The link becomes the flow's bottleneck: its mark is what the clock shows now and what it has left. */
static void pm__hold_down(pm_world *w, pm__flow *f, uint32_t link) {
  pm__link *l = &w->links[link];
  pm__link_advance(w, link);
  if (!l->held_count || l->moved_bytes > 1e12) pm__clock_restart(l);
  if (!l->held_count) l->lone_cap = PM__FREE;
  f->bottleneck = link;
  f->end_bytes = l->moved_bytes + f->remaining_bytes;
  pm__limit_by(l, f->least_cap);
  if (w->uses) {
    f->of.seen_bytes = l->moved_bytes;
    f->t_seen_ps = w->now_ps;
  }
  pm__held_move(l, l->held_count++, f);
}
/* What is left is known again in bytes: another link's clock may take it over. */
PM__INLINE_HERE void pm__hold_no_more(pm_world *w, pm__flow *f) {
  pm__link *l = &w->links[f->bottleneck];
  pm__flow *last;
  double left_bytes;
  pm__link_advance(w, f->bottleneck);
  if (w->uses && f->t_seen_ps != w->now_ps) pm__flow_used(w, f, l->moved_bytes);
  left_bytes = f->end_bytes - l->moved_bytes;
  f->remaining_bytes = left_bytes > 0 ? left_bytes : 0;
  last = l->held[--l->held_count];
  if (last != f) pm__held_move(l, (int)f->held_at, last);
  if (!l->held_count) l->level = PM__FREE;
  if (l->first == f->number + 1) {
    pm__ends_set(w, f->number, PM__FOREVER);
    l->first = 0;
  }
  f->bottleneck = PM__NO_LINK;
}
static int64_t pm__first_end_ps(const pm_world *w, const pm__link *l, double rate) {
  const double left_bytes = l->held[0]->end_bytes - l->moved_bytes;
  const double d_ps = left_bytes > 0 ? pm__times(left_bytes / rate, 1e12) : 0;
  return pm__later(w->now_ps, pm__whole_ps(d_ps));
}
/* The end of the first one that the link holds down is in the tree, at that time, and no other. */
static inline void pm__link_ends_at(pm_world *w, pm__link *l, int64_t t_ps) {
  const uint32_t first = l->held[0]->number + 1;
  if (l->first && l->first != first) pm__ends_set(w, l->first - 1, PM__FOREVER);
  l->first = first;
  pm__ends_set(w, first - 1, t_ps);
}
/* The first of a link ended: the next one may end at this time too, without another solve. */
static void pm__next_ends_too(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  if (!l->held_count || !(l->rate > 0) || pm__first_end_ps(w, l, l->rate) > w->now_ps) return;
  pm__link_ends_at(w, l, w->now_ps);
}
/* The level that was found is in force from now on. pm__ends_next is to follow. */
static void pm__link_settle(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  int i;
  l->is_touched = false;
  if (!l->held_count) {
    l->rate = 0;
    return;
  }
  /* Rounding alone must not move an end: the order of events of one time, and so the whole run,
     would hang on it. */
  if (fabs(l->level - l->rate) > 1e-12 * l->rate) {
    for (i = 0; w->uses && i < l->held_count; i++) pm__flow_used(w, l->held[i], l->moved_bytes);
    l->rate = l->level;
  } else if (l->first == l->held[0]->number + 1)
    return;
  pm__link_ends_at(w, l, pm__first_end_ps(w, l, l->rate));
}
static void pm__settle(pm_world *w) {
  int i;
  for (i = 0; i < w->touched_count && !w->stopped; i++) pm__link_settle(w, w->touched[i]);
  w->touched_count = 0;
  pm__ends_next(w);
}
PM__PRIVATE double pm__flow_rate(const pm_world *w, const pm__flow *f) {
  if (w->has_few_flows) return f->of.rate < PM__FREE ? f->of.rate : 0;
  return f->bottleneck == PM__NO_LINK ? 0 : w->links[f->bottleneck].rate;
}

/* ---- who feeds whom -------------------------------------------------------------------------------
   A link shares what those of its flows leave that others hold down. How many each other link holds
   down is all it needs of these: where flows are many it keeps that in a list (keeps_feeds), which is
   never longer than that of its flows, and mostly much shorter. Few flows it asks one by one, as that
   takes less than such a list; then the link that holds one of them down only counts how often its flows cross
   such links (few_count).
   A link that only one flow crosses is lone: it shares nothing, so it keeps no such list, and is no more
   than a limit. The link that holds its flow down remembers the lowest of these limits (lone_cap), and
   need not look at them while its level is below. */
enum { PM__FEW_FLOWS = 8 };
/* The shorter one of both lists is looked through. */
static int pm__feed_find(const pm__feeds *a, const pm__feeds *b, uint32_t from, uint32_t link) {
  int i;
  if (b->feed_count <= a->fed_count) {
    for (i = 0; i < b->feed_count; i++)
      if (b->feed[i].from == from) return i;
  } else
    for (i = 0; i < a->fed_count; i++)
      if (a->fed[i].link == link) return (int)a->fed[i].at;
  return -1;
}
/* Lists with room for one more on each side. ret false: out of memory */
static bool pm__feeds_room(pm__link *from, pm__link *link) {
  void *feed, *fed;
  bool is_good;
  if (!from->feeds) from->feeds = (pm__feeds *)pm__zalloc(sizeof *from->feeds);
  if (!link->feeds) link->feeds = (pm__feeds *)pm__zalloc(sizeof *link->feeds);
  if (!from->feeds || !link->feeds) return false;
  feed = link->feeds->feed;
  fed = from->feeds->fed;
  is_good =
      (link->feeds->feed_count < link->feeds->feed_max ||
       pm__grow(&feed, &link->feeds->feed_max, link->feeds->feed_count + 1, sizeof(pm__feed))) &&
      (from->feeds->fed_count < from->feeds->fed_max ||
       pm__grow(&fed, &from->feeds->fed_max, from->feeds->fed_count + 1, sizeof(pm__fed)));
  link->feeds->feed = (pm__feed *)feed;
  from->feeds->fed = (pm__fed *)fed;
  return is_good;
}
/* Nothing is left, as far as is known: pm__left finds it anew. */
static inline void pm__sums_forget(pm__link *l) {
  l->left = -PM__FREE;
  l->sums = PM__SUMS;
}
/* One flow more, or less, of the link is held down by another one of that level. Where that has none yet, or no more,
   a sum of it would be so large that it forgets the rest. */
static void pm__sums_join(pm__link *l, double level, bool is_more) {
  if (level >= PM__FREE) {
    pm__sums_forget(l);
    return;
  }
  l->left -= is_more ? level : -level;
  if (is_more && level > l->most) l->most = level;
}
/* One flow more that crosses `link` is held down by `from`. */
static void pm__feed_add(pm_world *w, uint32_t from, uint32_t link) {
  pm__feeds *a = w->links[from].feeds, *b = w->links[link].feeds;
  const int at = a && b ? pm__feed_find(a, b, from, link) : -1;
  pm__sums_join(&w->links[link], w->links[from].level, true);
  if (at >= 0) {
    a->fed[b->feed[at].at].count = ++b->feed[at].count;
    return;
  }
  if (!pm__feeds_room(&w->links[from], &w->links[link])) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: links");
    return;
  }
  a = w->links[from].feeds;
  b = w->links[link].feeds;
  b->feed[b->feed_count].from = from;
  b->feed[b->feed_count].count = 1;
  b->feed[b->feed_count].at = (uint32_t)a->fed_count;
  a->fed[a->fed_count].link = link;
  a->fed[a->fed_count].count = 1;
  a->fed[a->fed_count++].at = (uint32_t)b->feed_count++;
}
static void pm__feed_drop(pm_world *w, uint32_t from, uint32_t link) {
  pm__feeds *a = w->links[from].feeds, *b = w->links[link].feeds;
  const int at = a && b ? pm__feed_find(a, b, from, link) : -1;
  uint32_t place;
  if (at < 0) return;
  pm__sums_join(&w->links[link], w->links[from].level, false);
  place = b->feed[at].at;
  if ((a->fed[place].count = --b->feed[at].count) != 0) return;
  /* The last ones of both lists take the places that become free, and their partners are told. */
  if (place != (uint32_t)--a->fed_count) {
    a->fed[place] = a->fed[a->fed_count];
    w->links[a->fed[place].link].feeds->feed[a->fed[place].at].at = place;
  }
  if (at != --b->feed_count) {
    b->feed[at] = b->feed[b->feed_count];
    w->links[b->feed[at].from].feeds->fed[b->feed[at].at].at = (uint32_t)at;
  }
}
static bool pm__is_lone(const pm__link *l) { return l->count == 1; }
/* One flow more, or less, of a link that is not lone is held down by `from`. */
static inline void pm__holds_here(pm_world *w, uint32_t from, uint32_t link) {
  if (w->links[link].keeps_feeds)
    pm__feed_add(w, from, link);
  else
    w->links[from].few_count++;
}
static inline void pm__holds_no_more_here(pm_world *w, uint32_t from, uint32_t link) {
  if (w->links[link].keeps_feeds)
    pm__feed_drop(w, from, link);
  else
    w->links[from].few_count--;
}
/* Hops of a flow are bits of a number. */
static inline int pm__first_bit(uint64_t bits) { return __builtin_ctzll(bits); }
static inline uint64_t pm__hop_bit(uint32_t hop) { return (uint64_t)1 << hop; }
static inline uint32_t *pm__places(pm__flow *f) {
  return f->link + (f->link == f->near ? PM__NEAR : PM__FAR_LINKS);
}
PM__INLINE_HERE void pm__attach(pm_world *w, pm__flow *f, uint32_t to) {
  const uint32_t *const place = pm__places(f);
  uint64_t hops;
  pm__hold_down(w, f, to);
  for (hops = f->shared; hops; hops &= hops - 1) {
    const int h = pm__first_bit(hops);
    w->links[f->link[h]].flows[place[h]].from = to;
    if (f->link[h] != to) pm__holds_here(w, to, f->link[h]);
  }
}
/* A second flow crosses the link. */
static void pm__no_more_lone(pm_world *w, uint32_t link) {
  pm__crossing *const first = &w->links[link].flows[0];
  const uint32_t from = first->flow->bottleneck;
  first->flow->shared |= pm__hop_bit(first->hop);
  first->from = from;
  if (from != link && from != PM__NO_LINK) pm__holds_here(w, from, link);
}
/* All flows but one have left the link. */
static void pm__becomes_lone(pm_world *w, uint32_t link) {
  const pm__crossing *const first = &w->links[link].flows[0];
  const uint32_t from = first->from;
  first->flow->shared &= ~pm__hop_bit(first->hop);
  if (from == link || from == PM__NO_LINK) return;
  pm__holds_no_more_here(w, from, link);
  pm__limit_by(&w->links[from], w->links[link].cap);
}
static void pm__others_feed(pm_world *w, uint32_t link, bool is_so) {
  const pm__link *l = &w->links[link];
  int i;
  for (i = 0; i < l->count; i++) {
    const uint32_t from = l->flows[i].from;
    if (from == link || from == PM__NO_LINK) continue;
    if (is_so)
      pm__holds_here(w, from, link);
    else
      pm__holds_no_more_here(w, from, link);
  }
}
/* Its flows have become many, or few again. */
PM__APART static void pm__keep_feeds(pm_world *w, uint32_t link, bool keeps_feeds) {
  pm__others_feed(w, link, false);
  w->links[link].keeps_feeds = keeps_feeds;
  pm__sums_forget(&w->links[link]);
  pm__others_feed(w, link, true);
}

/* ---- the solver -----------------------------------------------------------------------------------
   Rates are max-min fair exactly when each flow has a bottleneck: a full link on which nobody is
   faster. Each link that holds flows down has a level, the rate of these flows: what the others leave
   of the link, in equal parts. A level rests on lower ones only. So when flows come or go, the levels
   of their links are found anew, then those of the links that hold others of their flows down or may
   begin to, and so on, lowest first, until no level changes. On the way a link takes over the flows that
   would be faster on it than its own: few do, so that the cost of a change is that of the levels which it
   changes, however many flows there are. Of links with the same level the one with the lower number
   takes a flow that crosses both, so that no two levels rest on each other. */
static bool pm__due_before(pm__due a, pm__due b) {
  return (a.level < b.level) | ((a.level <= b.level) & (a.link < b.link)); /* no branch */
}
static void pm__due_put(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  pm__due due;
  int i;
  l->is_queued = true;
  due.level = l->level < PM__FREE ? l->level : l->cap / (l->count + 1);
  due.link = link;
  for (i = w->due_count++; i && pm__due_before(due, w->due[(i - 1) / 2]); i = (i - 1) / 2)
    w->due[i] = w->due[(i - 1) / 2];
  w->due[i] = due;
}
static inline void pm__due_add(pm_world *w, uint32_t link) {
  if (!w->links[link].is_queued) pm__due_put(w, link);
}
static uint32_t pm__due_take(pm_world *w) {
  const uint32_t link = w->due[0].link;
  const pm__due last = w->due[--w->due_count];
  int i = 0, child;
  while ((child = 2 * i + 1) < w->due_count) {
    if (child + 1 < w->due_count) child += pm__due_before(w->due[child + 1], w->due[child]);
    if (!pm__due_before(w->due[child], last)) break;
    w->due[i] = w->due[child];
    i = child;
  }
  w->due[i] = last;
  w->links[link].is_queued = false;
  return link;
}
static void pm__link_touch(pm_world *w, uint32_t link) {
  pm__due_add(w, link);
  pm__solve_later(w);
}
/* The flow is held down by `to` from now on, which it crosses. */
static void pm__flow_move(pm_world *w, pm__flow *f, uint32_t to) {
  const uint32_t from = f->bottleneck, *const place = pm__places(f);
  uint64_t hops;
  pm__hold_no_more(w, f);
  pm__hold_down(w, f, to);
  for (hops = f->shared; hops; hops &= hops - 1) {
    const int h = pm__first_bit(hops);
    const uint32_t link = f->link[h];
    w->links[link].flows[place[h]].from = to;
    if (link != from) pm__holds_no_more_here(w, from, link);
    if (link == to) continue;
    pm__holds_here(w, to, link);
    pm__due_add(w, link);
  }
}
/* All that `from` held down of those which cross `to`. */
static void pm__take_over(pm_world *w, uint32_t from, uint32_t to) {
  const pm__link *l = &w->links[to];
  int k;
  for (k = 0; k < l->count && w->links[from].held_count; k++)
    if (l->flows[k].from == from) pm__flow_move(w, l->flows[k].flow, to);
}
/* What others leave of the link, and the highest of their levels: found anew. */
static void pm__sum_up(const pm_world *w, pm__link *l) {
  const pm__link *const links = w->links;
  const pm__feed *feed = l->feeds ? l->feeds->feed : NULL;
  double left = l->cap, most = 0;
  int i;
  for (i = l->feeds ? l->feeds->feed_count : 0; i > 0; i--, feed++) {
    const double level = links[feed->from].level;
    left -= pm__times((double)feed->count, level);
    most = level > most ? level : most;
  }
  l->left = left;
  l->most = most;
  l->sums = 0;
}
/* What others leave of the link; most: none of their levels is higher. Where its flows are asked one by one its own
   level is none meanwhile: which of them it holds down itself no processor could foresee. */
static double pm__left(const pm_world *w, pm__link *l, double *most) {
  const double own = l->level;
  double left = l->cap, highest = 0;
  int i;
  if (l->keeps_feeds) {
    if (l->sums >= PM__SUMS) pm__sum_up(w, l);
    l->sums++;
    *most = l->most;
    return l->left;
  }
  l->level = 0;
  for (i = 0; i < l->count; i++) {
    const double level = w->links[l->flows[i].from].level;
    left -= level;
    highest = level > highest ? level : highest;
  }
  l->level = own;
  *most = highest;
  return left;
}
/* Whose flows the link has to take over: of those that are faster the fastest, then any of the same level and a
   higher number. PM__NO_LINK: nobody's */
static uint32_t pm__too_fast(const pm_world *w, uint32_t link, double level) {
  const pm__link *l = &w->links[link];
  const double low = level * (1 - w->same_ratio);
  double most = level > 0 ? level * (1 + w->same_ratio) : level;
  const int count = !l->keeps_feeds ? l->count : l->feeds ? l->feeds->feed_count : 0;
  uint32_t at = PM__NO_LINK, same = PM__NO_LINK;
  int i;
  for (i = 0; i < count; i++) {
    const uint32_t from = l->keeps_feeds ? l->feeds->feed[i].from : l->flows[i].from;
    const double other = w->links[from].level;
    if (from == link) continue;
    if (other > most) {
      most = other;
      at = from;
    } else if (other > low && from > link)
      same = from;
  }
  return at != PM__NO_LINK ? at : same;
}
/* The level that the link's flows have with the levels of others as they are now; PM__FREE: it has room for
   all of them. Each round takes over flows from one link more, so the loop ends. */
static double pm__level(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  for (;;) {
    double most, level;
    const double left = pm__left(w, l, &most);
    uint32_t from;
    if (!l->held_count && left >= -w->same_ratio * l->cap) return PM__FREE;
    level = l->held_count ? left / l->held_count : -1;
    if (most <= level * (1 - w->same_ratio)) return level;
    if (l->keeps_feeds && l->sums > 1) { /* nobody may be as fast any more */
      l->sums = PM__SUMS;
      continue;
    }
    from = pm__too_fast(w, link, level);
    if (from == PM__NO_LINK) return level;
    pm__take_over(w, from, link);
    if (w->stopped) return PM__FREE;
  }
}
/* Flows that the link holds down would be faster than lone links let them: these take them over, if that still is so
   when it is their turn. Some have gone since lone_cap was found: it is found anew. */
static void pm__lone_look(pm_world *w, pm__link *l, double level) {
  double least = PM__FREE;
  int i, h;
  for (i = 0; i < l->held_count; i++) {
    const pm__flow *f = l->held[i];
    for (h = 0; h < f->link_count; h++) {
      const pm__link *other = &w->links[f->link[h]];
      if (other == l || !pm__is_lone(other)) continue;
      if (other->cap < level) pm__due_add(w, f->link[h]);
      if (other->cap < least) least = other->cap;
    }
  }
  l->lone_cap = least;
}
/* The level of a link that only one flow crosses. */
static double pm__lone_level(pm_world *w, uint32_t link) {
  const pm__link *l = &w->links[link];
  pm__flow *const f = l->flows[0].flow;
  if (f->bottleneck != link) {
    if (w->links[f->bottleneck].level <= l->cap * (1 + w->same_ratio)) return PM__FREE;
    pm__flow_move(w, f, link);
  }
  return l->cap;
}
/* A level falls, or begins: links that hold others of its flows down have to be looked at. What is so of one link says
   nothing of the next: so there is one question for each, as none of them could be foreseen. */
static void pm__fed_less(pm_world *w, const pm__feeds *feeds, double by) {
  const pm__fed *fed = feeds->fed, *const end = fed + feeds->fed_count;
  for (; fed < end; fed++) {
    pm__link *l = &w->links[fed->link];
    l->left -= pm__times(fed->count, by);
    if ((l->held_count != 0) > l->is_queued) pm__due_put(w, fed->link);
  }
}
/* It rises: so have those where nothing is left for it, or nobody knows. (Less than a millionth counts as nothing: more than
   what rounding makes of a billion changes. A link to which flows come is looked at in any case.) */
static void pm__fed_more(pm_world *w, const pm__feeds *feeds, double by, double level) {
  const pm__fed *fed = feeds->fed, *const end = fed + feeds->fed_count;
  for (; fed < end; fed++) {
    pm__link *l = &w->links[fed->link];
    l->left -= pm__times(fed->count, by);
    l->most = level > l->most ? level : l->most;
    if (((l->left <= 1e-6 * l->cap) | (l->held_count != 0)) > l->is_queued)
      pm__due_put(w, fed->link);
  }
}
/* It is another level now: links that hold others of its flows down have to be looked at, and links with room when
   these flows have become faster. */
static void pm__level_told(pm_world *w, uint32_t link, double before) {
  const pm__link *l = &w->links[link];
  const bool is_lower = l->level < before;
  uint64_t hops;
  int i;
  if (l->feeds && is_lower) /* no sum is known in which it had none yet */
    pm__fed_less(w, l->feeds, before < PM__FREE ? l->level - before : 0);
  else if (l->feeds)
    pm__fed_more(w, l->feeds, l->level - before, l->level);
  for (i = 0; l->few_count && i < l->held_count; i++) {
    const pm__flow *f = l->held[i];
    for (hops = f->shared; hops; hops &= hops - 1) {
      const uint32_t at = f->link[pm__first_bit(hops)];
      const pm__link *other = &w->links[at];
      const bool is_none = (other == l) | other->keeps_feeds | other->is_queued;
      if (((other->held_count != 0) | !is_lower) > is_none) pm__due_put(w, at);
    }
  }
}
static void pm__level_find(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  const double before = l->level;
  double level;
  if (!l->count) {
    l->level = PM__FREE;
    return;
  }
  level = pm__is_lone(l) ? pm__lone_level(w, link) : pm__level(w, link);
  if (level > l->lone_cap && l->held_count) pm__lone_look(w, l, level);
  if (fabs(level - before) <= 1e-2 * w->same_ratio * before) return;
  l->level = level;
  if (!l->held_count) return;
  pm__link_advance(w, link);
  pm__level_told(w, link, before);
}
/* Of the links that no other flow crosses; the first one of several. */
static uint32_t pm__narrowest(const pm_world *w, const pm__flow *f) {
  uint32_t best = PM__NO_LINK;
  int h;
  for (h = 0; h < f->link_count; h++)
    if (f->link[h] < best && w->links[f->link[h]].cap <= f->least_cap) best = f->link[h];
  return best;
}
static void pm__flows_become_many(pm_world *w);
/* ---- few flows -------------------------------------------------------------------------------------
   While a world never had more than 64 flows at once each is a bit, by its number, and a link is the set of those that
   cross it: coming and going are an operation for each link, and neither bottlenecks nor clocks are kept. When some
   come or go, the rates of all that share links with them, or with one that does, are filled from zero: the link that
   leaves its flows the least fixes these, then the next one. While such sets are small that takes less than what is
   above, and it has few turns that a processor would have to foresee. It grows with the square of their links: where
   these are more than PM__FEW_USUAL in the mean for a while, flows are many from then on. */
/* Links that flows share, as they are filled; number 0 stands for all others. */
typedef struct pm__few_set {
  double least_cap; /* no flow has less on its own */
  double left[PM__FEW_ROOM];
  double open[PM__FEW_ROOM]; /* so many flows without a rate */
  uint32_t link[PM__FEW_ROOM], count;
} pm__few_set;
static inline uint64_t pm__flow_bit(const pm__flow *f) { return (uint64_t)1 << f->number; }
/* From now on. */
static void pm__few_rate(pm_world *w, pm__flow *f, double rate) {
  const double left_bytes =
      f->remaining_bytes - pm__times(f->of.rate * (double)(w->now_ps - f->t_seen_ps), 1e-12);
  f->remaining_bytes = left_bytes > 0 ? left_bytes : 0;
  f->t_seen_ps = w->now_ps;
  f->of.rate = rate;
  pm__ends_set(w, f->number,
               pm__later(w->now_ps, pm__whole_ps(pm__times(f->remaining_bytes / rate, 1e12))));
}
/* From a link of that level some went, or to it they came. What is slower than the least such level keeps its rate: until
   then links are filled as before. */
static void pm__few_disturbed(pm_world *w, uint64_t flows, double level) {
  w->few_due |= flows;
  w->few_level = level < w->few_level ? level : w->few_level;
  pm__solve_later(w);
}
static void pm__few_go(pm_world *w, pm__flow *f, double bytes, double cap) {
  const uint64_t bit = pm__flow_bit(f);
  uint64_t others = 0;
  int h, most = 0;
  f->least_cap = cap;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->near[h]];
    others |= l->of.few.flows;
    l->of.few.flows |= bit;
    l->count++;
    l->of.few.at = 0;
    most = l->count > most ? l->count : most;
    f->least_cap = l->cap < f->least_cap ? l->cap : f->least_cap;
  }
  f->remaining_bytes = bytes;
  f->t_seen_ps = w->now_ps;
  f->of.rate = PM__FREE;
  w->few |= bit;
  w->stats.flow_count++;
  if (others & bit) pm_world_fail(w, PM_E_STATE, "a flow crosses a link twice");
  if (others) {
    pm__few_disturbed(w, others | bit, f->least_cap / most);
    return;
  }
  pm__few_rate(w, f, f->least_cap);
  if (!w->solve_is_due) pm__ends_next(w);
}
/* Those that share a link which held some down may become faster. */
static void pm__few_leave(pm_world *w, pm__flow *f) {
  const uint64_t bit = pm__flow_bit(f);
  uint64_t others = 0;
  int h;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->near[h]];
    l->of.few.flows &= ~bit;
    l->of.few.at = 0;
    l->count--;
    others |= l->of.few.flows & (0 - (uint64_t)(l->level < PM__FREE));
  }
  w->few &= ~bit;
  w->few_due &= ~bit;
  pm__ends_set(w, f->number, PM__FOREVER);
  if (others) pm__few_disturbed(w, others, f->of.rate);
  f->of.rate = 0;
}
/* All whose rates may change: those disturbed, and what shares links with one of them; and these links, each brought
   by its first flow, as if nothing crossed them. ret the flows; slower: on the same links, but keep their rates */
static uint64_t pm__few_reached(pm_world *w, pm__few_set *s, uint64_t *slower) {
  const double level = w->few_level * (1 - 1e-9);
  pm__link *const links = w->links;
  uint64_t due = w->few_due, reached = 0, slow = 0, todo;
  uint32_t n = 1;
  int h;
  s->least_cap = PM__FREE;
  while ((todo = due & ~(reached | slow)) != 0) {
    const uint64_t bit = todo & (0 - todo);
    const pm__flow *f = w->flow[pm__first_bit(todo)];
    if (f->of.rate < level) {
      slow |= bit;
      continue;
    }
    s->least_cap = f->least_cap < s->least_cap ? f->least_cap : s->least_cap;
    for (h = 0; h < f->link_count; h++) {
      const uint64_t flows = links[f->near[h]].of.few.flows;
      due |= flows;
      s->link[n] = f->near[h];
      n += (flows != bit) & !(flows & reached);
    }
    reached |= bit;
    if (n > PM__FEW_LINKS) break;
  }
  for (s->count = n; n-- > 1;) {
    pm__link *l = &links[s->link[n]];
    l->of.few.at = n;
    l->level = PM__FREE;
    s->left[n] = l->cap;
    s->open[n] = l->count;
  }
  s->left[0] = s->open[0] = 0;
  s->link[0] = 0;
  *slower = slow;
  return reached;
}
/* They have that rate: what is left of their links is for others. */
static inline void pm__few_fix(const pm__link *links, pm__few_set *s, const pm__flow *f,
                               double level) {
  const int count = f->link_count;
  int h;
  for (h = 0; h < count; h++) {
    const uint32_t at = links[f->near[h]].of.few.at;
    s->left[at] -= level;
    s->open[at] -= 1;
  }
}
/* The same, of a flow that was not reached: its other links were not, either. */
static void pm__few_keep(const pm_world *w, pm__few_set *s, const pm__flow *f) {
  int h;
  for (h = 0; h < f->link_count; h++) {
    const uint32_t at = w->links[f->near[h]].of.few.at;
    if (!at || at >= s->count || s->link[at] != f->near[h]) continue;
    s->left[at] -= f->of.rate;
    s->open[at] -= 1;
  }
}
/* The link that leaves each of its flows the least: without a branch that nobody could foresee. One that has no flows
   left leaves more than any link carries, and nothing divides by zero: a program may have asked for a signal then. */
static uint32_t pm__few_fullest(const pm__few_set *s, double *level) {
  uint32_t i, best = 0;
  double least = PM__FREE;
  for (i = 1; i < s->count; i++) {
    const double left = s->left[i] > 1e-60 ? s->left[i] : 1e-60;
    const double share = left / (s->open[i] + 1e-100);
    best += (i - best) & (0 - (uint32_t)(share < least));
    least = share < least ? share : least;
  }
  *level = least;
  return s->link[best];
}
/* A flow has less on its own than that level. */
PM__APART static uint64_t pm__few_slower(const pm_world *w, uint64_t flows, double *level) {
  uint64_t slowest = 0;
  for (; flows; flows &= flows - 1) {
    const pm__flow *f = w->flow[pm__first_bit(flows)];
    if (f->least_cap > *level) continue;
    *level = f->least_cap;
    slowest = pm__flow_bit(f);
  }
  return slowest;
}
static void pm__few_solve(pm_world *w) {
  pm__few_set s;
  uint64_t slower, flows, fixed;
  flows = pm__few_reached(w, &s, &slower);
  w->few_due = 0;
  w->few_level = PM__FREE;
  w->few_spare += PM__FEW_USUAL - (int)s.count;
  if (w->few_spare > PM__FEW_SPARE) w->few_spare = PM__FEW_SPARE;
  if (s.count > PM__FEW_LINKS || w->few_spare < 0) {
    pm__flows_become_many(w);
    return;
  }
  for (; slower; slower &= slower - 1) pm__few_keep(w, &s, w->flow[pm__first_bit(slower)]);
  while (flows) {
    double level;
    const uint32_t fullest = pm__few_fullest(&s, &level);
    fixed = level > s.least_cap ? pm__few_slower(w, flows, &level) : 0;
    if (!fixed) {
      fixed = w->links[fullest].of.few.flows & flows;
      w->links[fullest].level = level;
    }
    flows &= ~fixed;
    for (; fixed; fixed &= fixed - 1) {
      pm__flow *f = w->flow[pm__first_bit(fixed)];
      pm__few_fix(w->links, &s, f, level);
      /* Rounding alone must not move an end. */
      if (fabs(level - f->of.rate) > 1e-12 * f->of.rate) pm__few_rate(w, f, level);
    }
  }
  pm__ends_next(w);
}
/* There are more than bits: all begin anew as they are, and are many from now on. */
static void pm__flows_become_many(pm_world *w) {
  uint64_t flows;
  int h;
  w->has_few_flows = false;
  for (flows = w->few; flows; flows &= flows - 1) {
    pm__flow *f = w->flow[pm__first_bit(flows)];
    pm__few_rate(w, f, f->of.rate); /* what is left */
    pm__ends_set(w, f->number, PM__FOREVER);
    for (h = 0; h < f->link_count; h++) {
      pm__link *l = &w->links[f->near[h]];
      l->count = 0;
      l->level = PM__FREE;
      memset(&l->of, 0, sizeof l->of);
    }
  }
  if (w->few) pm__solve_later(w);
  for (flows = w->few; flows && !w->stopped; flows &= flows - 1) {
    pm__flow *f = w->flow[pm__first_bit(flows)];
    w->stats.flow_count--;
    if (!pm__flow_go(w, f, f->remaining_bytes, f->least_cap))
      pm_world_fail(w, PM_E_NOMEM, "out of memory: flow");
  }
}
/* A first guess for a flow that is new. */
PM__INLINE_HERE uint32_t pm__guess(const pm_world *w, const pm__flow *f) {
  double least = PM__FREE;
  uint32_t best = PM__NO_LINK;
  int h;
  for (h = 0; h < f->link_count; h++) {
    const pm__link *l = &w->links[f->link[h]];
    const double level = l->level < PM__FREE ? l->level : l->cap / l->count;
    if ((level < least) | ((level <= least) & (f->link[h] < best))) {
      least = level;
      best = f->link[h];
    }
  }
  return best;
}
PM__PRIVATE void pm__solve_now(pm_world *w) {
  const int64_t many = 1000 + 64 * (int64_t)w->link_count;
  int64_t steps = 0;
  w->stats.solve_count++;
  if (w->has_few_flows) {
    pm__few_solve(w);
    return;
  }
  w->same_ratio = 1e-12;
  while (w->fresh && !w->stopped) {
    pm__flow *f = w->fresh;
    w->fresh = f->next;
    const uint32_t to = pm__guess(w, f);
    pm__attach(w, f, to);
    pm__due_add(w, to);
  }
  while (w->due_count && !w->stopped) {
    pm__level_find(w, pm__due_take(w));
    if (++steps < many) continue;
    /* Rounding must never keep it from ending: what is nearly the same is the same then. */
    w->same_ratio *= 16;
    steps = 0;
  }
  pm__settle(w);
}
/* It leaves before it had a rate: the only cable of its way failed. */
static void pm__no_more_fresh(pm_world *w, const pm__flow *f) {
  pm__flow **at = &w->fresh;
  while (*at && *at != f) at = &(*at)->next;
  if (*at) *at = f->next;
}
/* A flow that has all its links for itself needs no solver, and nobody asks its links who feeds them before another
   flow crosses one of them. */
static void pm__alone(pm_world *w, pm__flow *f) {
  const uint32_t link = pm__narrowest(w, f);
  pm__hold_down(w, f, link);
  w->links[link].level = w->links[link].cap;
  if (w->solve_is_due || w->stopped) return; /* it is touched */
  pm__settle(w);
}
/* ---- limits of single flows ------------------------------------------------------------------------ */
static uint32_t pm__limit_take(pm_world *w, double cap) {
  uint32_t link = w->free_limit;
  if (link != PM__NO_LINK)
    w->free_limit = w->links[link].first;
  else {
    link = (uint32_t)w->link_count + w->limit_count;
    if ((int)link >= w->links_max &&
        !pm__links_room(w, w->links_max + 16 + (int)w->limit_count / 2))
      return PM__NO_LINK;
    w->limit_count++;
  }
  w->links[link].cap = cap;
  w->links[link].level = PM__FREE;
  w->links[link].first = 0;
  return link;
}
static void pm__limit_free(pm_world *w, uint32_t link) {
  PM_ASSERT(!w->links[link].is_queued);
  w->links[link].first = w->free_limit;
  w->free_limit = link;
}

/* ---- flows -------------------------------------------------------------------------------------- */
static void pm__flow_leave_links(pm_world *w, pm__flow *f) {
  const uint32_t held_by = f->bottleneck, *const place = pm__places(f);
  uint64_t hops;
  int h;
  if (held_by != PM__NO_LINK)
    pm__hold_no_more(w, f);
  else
    pm__no_more_fresh(w, f);
  for (h = 0; h < f->link_count; h++) w->links[f->link[h]].count--;
  for (hops = f->shared; hops; hops &= hops - 1) {
    const uint32_t link = f->link[h = pm__first_bit(hops)];
    pm__link *l = &w->links[link];
    const pm__crossing last = l->flows[l->count];
    if (held_by != link && held_by != PM__NO_LINK) pm__holds_no_more_here(w, held_by, link);
    /* The last of the link's list takes the place that becomes free, and is told its new place:
       O(1) per link. */
    l->flows[place[h]] = last;
    pm__places(last.flow)[last.hop] = place[h];
    if (pm__is_lone(l)) pm__becomes_lone(w, link);
    if (l->keeps_feeds && l->count <= PM__FEW_FLOWS / 2) pm__keep_feeds(w, link, false);
    if (l->held_count) pm__link_touch(w, link);
  }
  if (f->is_limited) pm__limit_free(w, f->link[--f->link_count]);
  f->is_limited = false;
}
static void pm__flow_end(pm_world *w, pm__flow *f) {
  const uint32_t held_by = f->bottleneck;
  if (w->has_few_flows)
    pm__few_leave(w, f);
  else {
    if (w->uses) pm__flow_used(w, f, f->end_bytes);
    pm__flow_leave_links(w, f);
    pm__next_ends_too(w, held_by);
  }
  f->next = w->free_flows;
  w->free_flows = f;
  /* Last: what is told may start the next flow, which takes this one's memory. */
  f->done(w, f->arg);
}
PM__PRIVATE void pm__flows_end(pm_world *w, pm__event *event) {
  (void)event;
  w->t_flow_end_ps = PM__FOREVER;
  /* None, perhaps: this event may be left over from before other flows changed. */
  while (w->ends[1] <= w->now_ps && !w->stopped) pm__flow_end(w, pm__ends_first(w));
  if (!w->solve_is_due) pm__ends_next(w); /* else the solver does it */
}
/* Cables that it shares with those that go the other way; each once, also where it comes back over it. */
static void pm__flow_shares(const pm_world *w, pm__flow *f) {
  int h, k, n = 0;
  for (h = 0; h < f->link_count; h++) {
    const uint32_t link = pm__link_of_flows(w, f->link[h]);
    for (k = 0; k < n && f->link[k] != link; k++) {
    }
    if (k == n) f->link[n++] = link;
  }
  f->link_count = (uint16_t)n;
}
/* The narrowest fatpipe of its way, which holds it down as no other flow does. */
static double pm__flow_fatpipes(const pm_world *w, const pm__flow *f, double cap) {
  int h;
  for (h = 0; h < f->link_count; h++)
    if (f->link[h] < (uint32_t)w->net_link_count && pm__is_fatpipe(w, f->link[h]) &&
        pm__link_rate(w, f->link[h]) < cap)
      cap = pm__link_rate(w, f->link[h]);
  return cap;
}
/* The flow's links, with room for three more. ret 0: out of memory */
PM__INLINE_HERE int pm__flow_take_way(const pm_world *w, pm__flow *f, const pm__known_way *way) {
  int links = way ? way->link_count : 0, left_out = 0;
  if (w->narrow_link_count && links > 2) {
    left_out = links / 2 - 1;
    if (left_out > w->narrow_link_count) left_out = w->narrow_link_count;
  }
  f->link = f->near;
  if (links - left_out + 3 > PM__NEAR) { /* one more: its limit */
    if (!f->far) f->far = (uint32_t *)pm__zalloc(2 * PM__FAR_LINKS * sizeof *f->far);
    if (!f->far) return 0;
    f->link = f->far;
  }
  if (links) memcpy(f->link, way->link, (size_t)(links - left_out) * sizeof *f->link);
  if (left_out) f->link[links - 1 - left_out] = way->link[links - 1];
  f->link_count = (uint16_t)(links - left_out);
  if (w->graph && w->graph->shares) pm__flow_shares(w, f);
  f->bottleneck = PM__NO_LINK;
  return 1;
}
PM__PRIVATE pm__flow *pm__flow_new(pm_world *w, const pm__known_way *way) {
  pm__flow *f = w->free_flows;
  if (f)
    w->free_flows = f->next;
  else {
    if (w->flow_made_count == PM__FEW && w->has_few_flows) pm__flows_become_many(w);
    if (w->flow_made_count == w->ends_max && !pm__ends_grow(w)) return NULL;
    f = (pm__flow *)pm__lines_take(w, sizeof *f);
    if (!f) return NULL;
    f->number = w->flow_made_count;
    w->flow[w->flow_made_count++] = f;
  }
  if (!pm__flow_take_way(w, f, way)) {
    f->next = w->free_flows;
    w->free_flows = f;
    return NULL;
  }
  return f;
}
/* The flow's links are filled in. A limit that is lower than they are is a link that the flow has for itself.
   ret 0: out of memory */
PM__PRIVATE int pm__flow_go(pm_world *w, pm__flow *f, double bytes, double cap) {
  uint32_t *const place = pm__places(f);
  double least = PM__FREE;
  uint32_t h;
  if (w->graph && w->graph->shares) cap = pm__flow_fatpipes(w, f, cap);
  if (w->has_few_flows && f->link == f->near) {
    pm__few_go(w, f, bytes, cap);
    return 1;
  }
  if (w->has_few_flows) pm__flows_become_many(w);
  f->remaining_bytes = bytes;
  f->is_limited = cap < PM__UNLIMITED || !f->link_count;
  for (h = 0; h < f->link_count && f->is_limited; h++)
    f->is_limited = cap < w->links[f->link[h]].cap;
  if (f->is_limited) {
    const uint32_t limit = pm__limit_take(w, cap);
    if (limit == PM__NO_LINK) return 0;
    f->link[f->link_count++] = limit;
  }
  f->shared = 0;
  for (h = 0; h < f->link_count; h++) {
    const uint32_t link = f->link[h];
    pm__link *l = &w->links[link];
    const int before = l->count;
    least = l->cap < least ? l->cap : least;
    if (before == l->max && !pm__link_grow(l)) return 0;
    place[h] = (uint32_t)before;
    l->flows[before].flow = f;
    l->flows[before].from = PM__NO_LINK;
    l->flows[before].hop = h;
    l->count = before + 1;
    if (!before) continue;
    /* Twice its share of one link is nothing that the solver knows: it would look for a level for ever. */
    if (l->flows[before - 1].flow == f) {
      pm_world_fail(w, PM_E_STATE, "a flow crosses a link twice");
      return 1;
    }
    f->shared |= pm__hop_bit(h);
    if (before == 1) pm__no_more_lone(w, link);
    if (l->count > PM__FEW_FLOWS && !l->keeps_feeds) pm__keep_feeds(w, link, true);
    pm__link_touch(w, link);
  }
  f->least_cap = least;
  w->stats.flow_count++;
  if (!f->shared) {
    pm__alone(w, f);
    return 1;
  }
  f->next = w->fresh;
  w->fresh = f;
  return 1;
}

static void pm__plain_flow_done(pm_world *w, void *arg) {
  const pm__flow *f = (const pm__flow *)arg; /* free already, but not taken again yet */
  (void)w;
  if (f->plain_done) f->plain_done(f->plain_arg);
}
PM_API pm_status pm_flow_start(pm_world *world, int from_node, int to_node, double size_bytes,
                               void (*done)(void *arg), void *arg) {
  pm__flow *f;
  if (world && world->desc.threads) return PM_E_STATE; /* links are shared by all parts */
  if (!world || from_node < 0 || to_node < 0 || from_node >= world->plat.node_count ||
      to_node >= world->plat.node_count || from_node == to_node || !(size_bytes >= 0) ||
      size_bytes > 1e18)
    return PM_E_INVAL;
  f = pm__flow_new(world, pm__known(world, from_node, to_node));
  if (!f) return PM_E_NOMEM;
  f->plain_done = done;
  f->plain_arg = arg;
  f->done = pm__plain_flow_done;
  f->arg = f;
  f->from = from_node;
  f->to = to_node;
  if (world->net && pm__is_cut(world, from_node, to_node, world->now_ps)) {
    f->remaining_bytes = size_bytes;
    f->next = world->stranded;
    world->stranded = f;
    return PM_OK;
  }
  return f->link_count > 0 && pm__flow_go(world, f, size_bytes, PM__UNLIMITED) ? PM_OK : PM_E_NOMEM;
}
/* What flowed over the link is lost with it; plain flows keep what they have carried. */
PM__PRIVATE void pm__link_failed(pm_world *w, uint32_t link) {
  if (w->has_few_flows) pm__flows_become_many(w);
  while (w->links[link].count) {
    pm__flow *f = w->links[link].flows[0].flow;
    pm__flow_leave_links(w, f);
    if (!w->solve_is_due) pm__ends_next(w);
    if (f->done == pm__plain_flow_done) {
      f->next = w->stranded;
      w->stranded = f;
    } else {
      f->next = w->free_flows;
      w->free_flows = f;
      pm__job_lost(w, f->arg);
    }
  }
}
PM__PRIVATE void pm__flows_of_node_failed(pm_world *w, int node) {
  int i, k;
  if (w->has_few_flows) pm__flows_become_many(w);
  for (k = 0; k < w->link_count; k++)
    for (i = 0; i < w->links[k].count;) {
      pm__flow *f = w->links[k].flows[i].flow;
      if (f->done == pm__plain_flow_done ||
          (pm__nic_node(w, f->from) != node && pm__nic_node(w, f->to) != node)) {
        i++;
        continue;
      }
      pm__flow_leave_links(w, f);
      if (!w->solve_is_due) pm__ends_next(w);
      f->next = w->free_flows;
      w->free_flows = f;
      pm__job_lost(w, f->arg);
    }
}
/* For those without a way there may be one now. */
PM__PRIVATE void pm__stranded_go(pm_world *w) {
  pm__flow *f = w->stranded, *next;
  w->stranded = NULL;
  for (; f; f = next) {
    const pm__known_way *way = pm__known(w, f->from, f->to);
    next = f->next;
    if (pm__is_cut(w, f->from, f->to, w->now_ps)) {
      f->next = w->stranded;
      w->stranded = f;
      continue;
    }
    if (!pm__flow_take_way(w, f, way) || !pm__flow_go(w, f, f->remaining_bytes, PM__UNLIMITED))
      pm_world_fail(w, PM_E_NOMEM, "out of memory: flow");
  }
}
PM_API double pm_link_bytes_per_s(const pm_world *world, int link) {
  return world && link >= 0 && link < world->net_link_count
             ? pm__link_rate(world, (uint32_t)link) / pm__payload_ratio(&world->plat)
             : 0;
}
static bool pm__flows_now(const pm_world *w, pm__flow *f) {
  const pm__link *first = f->link_count ? &w->links[f->link[0]] : NULL;
  if (w->has_few_flows) return w->few >> f->number & 1;
  return first && (int)*pm__places(f) < first->count && first->flows[*pm__places(f)].flow == f;
}
/* Of a link that flows leave out, see pm__narrow_levels: of all flows those whose ways lead over it. */
static int pm__narrow_rates(pm_world *w, uint32_t link, double *bytes_per_s, int max) {
  uint32_t way[PM__ROUTE_MAX + 2], i;
  int64_t latency_ps;
  int n = 0, h;
  for (i = 0; i < w->flow_made_count; i++) {
    pm__flow *f = w->flow[i];
    if (!pm__flows_now(w, f)) continue;
    h = f->link[0] < (uint32_t)w->net_link_count ? pm__route(w, f->from, f->to, way, &latency_ps)
                                                 : 0;
    while (h > 0 && way[h - 1] != link) h--;
    if (h <= 0) continue;
    if (bytes_per_s && n < max) bytes_per_s[n] = pm__flow_rate(w, f);
    n++;
  }
  return n;
}
PM_API int pm_link_rates(pm_world *world, int link, double *bytes_per_s, int max) {
  uint64_t flows;
  int i, n;
  if (!world || link < 0 || link >= world->link_count) return 0;
  n = world->links[link].count;
  if (!n && world->narrow_link_count && link < world->net_link_count)
    return pm__narrow_rates(world, (uint32_t)link, bytes_per_s, max);
  flows = world->has_few_flows ? world->links[link].of.few.flows : 0;
  for (i = 0; bytes_per_s && i < n && i < max; i++, flows &= flows - 1)
    bytes_per_s[i] = pm__flow_rate(world, flows ? world->flow[pm__first_bit(flows)]
                                                : world->links[link].flows[i].flow);
  return n;
}
PM__PRIVATE void pm__flows_free(pm_world *w) {
  uint32_t number;
  int i;
  for (number = 0; number < w->flow_made_count; number++) PM_FREE(w->flow[number]->far);
  for (i = 0; w->links && i < w->links_max; i++) {
    if (w->links[i].max > 1) PM_FREE(w->links[i].flows);
    if (w->links[i].feeds) {
      PM_FREE(w->links[i].feeds->feed);
      PM_FREE(w->links[i].feeds->fed);
      PM_FREE(w->links[i].feeds);
    }
  }
  pm__lines_free(w->links);
  PM_FREE(w->busy_ps);
  PM_FREE(w->due);
  PM_FREE(w->touched);
  PM_FREE(w->ends);
  PM_FREE(w->flow);
}
#ifdef NBC_LINES
#line 170 "src/portals/wire.h"
#endif
/* Valid until another stream is asked for. */
PM__PRIVATE pm__stream *pm__stream_of(pm_world *w, int from, int to, int lane);
PM__PRIVATE void pm__message_release(pm_world *w, pm__message *m);
PM__PRIVATE void pm__note(pm_world *w, const pm__message *m, int step);
PM__PRIVATE void pm__stamp_it(pm_world *w, const pm__message *m, bool is_reply, int64_t t_begin_ps,
                              int64_t t_end_ps);
static inline void pm__stamp(pm_world *w, const pm__message *m, bool is_reply, int64_t t_begin_ps,
                             int64_t t_end_ps) {
  if (w->stamp) pm__stamp_it(w, m, is_reply, t_begin_ps, t_end_ps);
}
static inline bool pm__brings_data(const pm__message *m) { return m->what.kind >= PM__GET; }
static inline bool pm__is_inside(const pm_world *w, const pm__message *m) {
  (void)w;
  return m->what.is_inside;
}
PM__PRIVATE uint64_t pm__job_bytes(const pm__message *m);
PM__PRIVATE int64_t pm__pci_ps(const pm_world *w, double bytes);
PM__PRIVATE int64_t pm__event_ps(const pm_world *w);
/* How long the last bytes and the event behind them take over PCI, without its latency. */
PM__PRIVATE int64_t pm__write_ps(const pm_world *w, uint64_t bytes);
PM__PRIVATE double pm__wire_bytes(const pm_world *w, uint64_t payload);
PM__PRIVATE int64_t pm__alone_ps(const pm_world *w, const pm__message *m, const pm__known_way *way);
PM__PRIVATE int64_t pm__wire_ps(pm_world *w, uint64_t payload);
static inline int pm__job_from(const pm__message *m) { /* NICs of the present travel */
  return m->way.is_reply ? m->what.to_nic : m->what.from_nic;
}
static inline int pm__job_to(const pm__message *m) {
  return m->way.is_reply ? m->what.from_nic : m->what.to_nic;
}
static inline pm__node *pm__job_nic(const pm__message *m) { /* that it leaves */
  return m->way.is_reply ? m->what.target_nic : m->what.initiator_nic;
}
/* Whether all NICs of the node move this payload together. */
static inline bool pm__is_split(const pm_world *w, uint64_t bytes) {
  return w->plat.nic_count > 1 && w->plat.rail_split_bytes &&
         bytes >= (uint64_t)w->plat.rail_split_bytes;
}
/* It was issued before its initiator's node died. Before its target's: then it comes back as lost, and no more is to
   be done with it. */
PM__PRIVATE bool pm__is_of_the_dead(const pm_world *w, const pm__message *m);
PM__PRIVATE bool pm__is_for_the_dead(pm_world *w, pm__message *m);
PM__PRIVATE void pm__written_at(pm_world *w, pm__message *m, int64_t t_ps);
PM__PRIVATE int pm__arrive(pm_world *w, pm__message *m);
PM__PRIVATE void pm__written(pm_world *w, pm__message *m);
PM__PRIVATE void pm__come_back(pm_world *w, pm__message *m);
PM__PRIVATE void pm__send_early(pm_world *w, pm__message *m, int64_t t_ps);
PM__PRIVATE int64_t pm__slow_ps(const pm_world *w, int nic, int64_t d_ns);
/* What messages of this size cost at the LogGP level; NULL: the platform has one line for all. */
PM__PRIVATE const pm_loggp_range *pm__loggp_of(const pm_world *w, double bytes);
/* A number of a mixture, drawn from the world's seed. */
PM__PRIVATE double pm__mixture(const pm_mode *modes, int count, pm_world *world);
PM__PRIVATE void pm__fetched(pm_world *w, pm__message *m, int64_t t_there_ps);
PM__PRIVATE int pm__travel(pm_world *w, pm__message *m, int from, int to, int lane, int64_t t_ps,
                           int64_t latency_ps, void (*there)(pm_world *world, pm__event *event));
/* All of it is there so much later, if nothing before it on its stream is late. */
PM__PRIVATE void pm__in_order(pm_world *w, pm__message *m, int64_t wait_ps);
PM__PRIVATE void pm__back_event(pm_world *w, pm__event *event);
PM__PRIVATE int pm__travel_kind(const pm__message *m);
PM__PRIVATE void pm__loggp_send(pm_world *w, pm__message *m);
#ifdef NBC_LINES
#line 1 "src/portals/wire.c"
#endif
/* From one NIC to another: latency, order and faults; the LogGP level. */


static void pm__written_event(pm_world *w, pm__event *event);
static int64_t pm__loggp_travel_ps(const pm_world *w, uint64_t payload);
static void pm__loggp_back(pm_world *w, pm__event *event);
static void pm__loggp_there(pm_world *w, pm__event *event);
static void pm__loggp_tell(pm_world *w, const pm__message *m, int64_t t_ps);
static inline void pm__loggp_told(pm_world *w, const pm__message *m, int64_t t_ps) {
  if (w->stamp || w->desc.trace) pm__loggp_tell(w, m, t_ps);
}
/* ============================================================================================== */
/* [NIC] 8. NIC and wire                                                                          */
/* ============================================================================================== */
/* A message is done with when nothing of it is left in the future. */
PM__PRIVATE void pm__message_release(pm_world *w, pm__message *m) {
  if (--m->way.pending == 0) pm__message_free(w, m);
}

/* Every step of every message changes the hash: two runs with the same hash did the same. The
   multiplication spreads each step over all bits (2^64 divided by the golden ratio, which is odd,
   so no information is lost), and makes the result depend on the order of the steps. */
PM__INLINE void pm__note(pm_world *w, const pm__message *m, int step) {
  uint64_t *const hash = !w->whole                ? &w->stats.hash_id
                         : step == 0 || step == 4 ? &m->what.initiator_nic->hash_id
                                                  : &m->what.target_nic->hash_id;
  *hash = (*hash ^ ((uint64_t)w->now_ps + m->what.id * 31 + (uint64_t)step)) * 0x9E3779B97F4A7C15u;
}
PM__APART PM__PRIVATE void pm__stamp_it(pm_world *w, const pm__message *m, bool is_reply,
                                        int64_t t_begin_ps, int64_t t_end_ps) {
  pm_stamp s;
  if (pm__is_of_the_dead(w, m)) return; /* what user_ptr means has gone */
  memset(&s, 0, sizeof s);
  s.id = m->what.id;
  s.from_node = is_reply ? pm__to_node(m) : m->what.from->proc->node;
  s.to_node = is_reply ? m->what.from->proc->node : pm__to_node(m);
  s.size_bytes = is_reply ? m->what.mlength : m->what.length;
  s.is_reply = is_reply;
  s.initiator_rank = m->what.from->proc->rank;
  s.target_rank =
      pm_process_rank(pm__process_by_pid(w, m->what.target.phys.nid, m->what.target.phys.pid));
  s.user_ptr = m->what.user_ptr;
  s.pt_index = m->what.pt;
  s.hdr_data = m->what.hdr_data;
  s.match_bits = m->what.match_bits;
  s.t_begin_ns = t_begin_ps / PM__PS;
  s.t_end_ns = t_end_ps / PM__PS;
  w->stamp(w->stamp_arg, &s);
}
PM_API void pm_on_stamp(pm_world *world, void (*fn)(void *arg, const pm_stamp *stamp), void *arg) {
  if (!world) return;
  if (fn && (world->whole || world->parts))
    pm_world_fail(world, PM_E_STATE, "pm_on_stamp: not in a world over threads");
  world->stamp = fn;
  world->is_unusual = true;
  world->stamp_arg = arg;
}

static pm__message *pm__message_of(pm__event *event, size_t offset) {
  return (pm__message *)(void *)((char *)event - offset);
}
/* Every request and response is a job of a lane (a virtual network of a node, or the memory path of a
   process): it takes the lane's time one after the other. Up to one PCI packet its whole way is known
   when it starts; a longer one becomes a flow and keeps the lane until its last byte has left. */
PM__INLINE uint64_t pm__job_bytes(const pm__message *m) { /* that the present travel carries */
  return m->way.is_reply           ? (pm__brings_data(m) && m->what.me ? m->what.mlength : 0)
         : m->what.kind == PM__GET ? 0
                                   : m->what.length;
}
PM__PRIVATE int64_t pm__pci_ps(const pm_world *w, double bytes) {
  return w->plat.no_pci ? 0
                        : pm__later(w->plat.pci_latency_ns * PM__PS,
                                    pm__bytes_ps(bytes, w->plat.pci_flow_bytes_per_s));
}
PM__PRIVATE int64_t pm__event_ps(const pm_world *w) { return w->d_event_ps; }
PM__PRIVATE int64_t pm__write_ps(const pm_world *w, uint64_t bytes) {
  return pm__bytes_ps((double)bytes + (w->plat.no_pci_commands ? 0 : (double)w->plat.event_bytes),
                      w->plat.pci_flow_bytes_per_s);
}
PM__PRIVATE double pm__wire_bytes(const pm_world *w,
                                  uint64_t payload) { /* whole link packets with their headers */
  const uint64_t packet = (uint64_t)w->plat.link_packet_bytes;
  return (double)((payload + packet - 1) / packet) *
         (double)(w->plat.link_packet_bytes + w->plat.link_header_bytes);
}
/* Of a message of one packet, on a link of the platform's rate; 0 bytes: an acknowledgement. */
PM__PRIVATE int64_t pm__wire_ps(pm_world *w, uint64_t payload) {
  if (!payload) return w->d_ack_ps;
  if (payload != w->wire_payload) {
    w->wire_payload = payload;
    w->d_wire_ps = pm__bytes_ps(pm__wire_bytes(w, payload), w->plat.link_bytes_per_s);
  }
  return w->d_wire_ps;
}
static double pm__fastest_bytes_per_s(const pm_world *w) {
  double most = 0;
  int i;
  for (i = 0; i < w->net_link_count; i++)
    if (pm_link_bytes_per_s(w, i) > most) most = pm_link_bytes_per_s(w, i);
  return w->graph ? most : w->plat.link_bytes_per_s;
}
PM__PRIVATE void pm__wire_constants(pm_world *w) {
  const pm_platform *p = &w->plat;
  w->d_call_ps = pm__ps(p->cpu_command_ns);
  w->d_append_ps = pm__ps(p->cpu_append_ns);
  w->d_look_ps = pm__ps(p->cpu_event_ns);
  w->d_look_max_ps = pm__ps(p->cpu_poll_max_ns);
  w->d_event_ps = p->no_pci_commands ? 0 : pm__pci_ps(w, (double)p->event_bytes);
  w->d_command_ps = p->no_pci ? 0 : pm__bytes_ps((double)p->command_bytes, p->pci_flow_bytes_per_s);
  w->d_ack_ps = pm__bytes_ps((double)p->ack_bytes, p->link_bytes_per_s);
  w->d_loggp_none_ps = pm__loggp_travel_ps(w, 0);
  w->d_loggp_lag_ps = pm__ps(p->loggp_range_count ? p->loggp_range[0].gap_ns : p->loggp_gap_ns);
  w->d_lag_ps = pm__bytes_ps(pm__wire_bytes(w, 1), pm__fastest_bytes_per_s(w));
  w->d_first_ps = pm__ps(p->wire_latency_ns);
  w->d_switch_ps = pm__ps(p->switch_latency_ns);
  w->d_packet_fetch_ps = pm__later(p->pci_latency_ns * PM__PS,
                                   pm__pci_ps(w, (double)p->pci_packet_bytes)); /* there and back */
  w->d_packet_write_ps = pm__write_ps(w, (uint64_t)p->pci_packet_bytes);
}
/* The target's memory is done with at t_ps. */
PM__PRIVATE void pm__written_at(pm_world *w, pm__message *m, int64_t t_ps) {
  m->way.pending++;
  m->way.target.fn = pm__written_event;
  pm__schedule(w, &m->way.target, t_ps);
}
/* What both link models do at the ends of a travel. */
PM__INLINE int pm__arrive(pm_world *w, pm__message *m) {
  const int taken = pm__target_start(w, m);
  pm__note(w, m, 1 + taken);
  return taken;
}
PM__INLINE void pm__written(pm_world *w, pm__message *m) {
  pm__note(w, m, 3);
  if (m->what.kind != PM__GET) w->stats.delivered_bytes += m->what.mlength;
  pm__target_finish(w, m);
}
static void pm__written_event(pm_world *w, pm__event *event) {
  pm__message *m = pm__message_of(event, offsetof(pm__message, way.target));
  pm__written(w, m);
  pm__message_release(w, m);
}
PM__INLINE_HERE void pm__is_over(pm_world *w, pm__message *m) {
  pm__note(w, m, 4);
  m->what.from->proc->under_way--;
  pm__nic_landed(w, m);
  pm__initiator_finish(w, m);
}
PM__PRIVATE void pm__come_back(pm_world *w, pm__message *m) {
  pm__is_over(w, m);
  pm__message_release(w, m);
}
PM__INLINE_HERE void pm__early_send(pm_world *w, pm__event *event) {
  pm__message *m = pm__message_of(event, offsetof(pm__message, way.send));
  pm__initiator_sent(m);
  if (m->way.is_left_alone) pm__is_over(w, m);
  pm__message_release(w, m);
}

PM__PRIVATE void pm__send_early(pm_world *w, pm__message *m, int64_t t_ps) {
  if (!m->what.is_early_send) return;
  m->way.pending++;
  m->way.send.fn = pm__early_send;
  pm__schedule(w, &m->way.send, t_ps);
}

/* ---- the wire: latency, order, faults ------------------------------------------------------------ */
/* A slow node (pm_faults) takes a multiple of the time for what its NIC does; the wire is as fast
   as ever. */
PM__INLINE int64_t pm__slow_ps(const pm_world *w, int nic, int64_t d_ns) {
  const pm_faults *f = &w->desc.faults;
  return w->is_unusual && f->slow_node == pm__nic_node(w, nic) + 1
             ? pm__whole_ps((double)d_ns * f->slow_ratio * PM__PS)
             : d_ns * PM__PS;
}
/* The last arrival on a stream (from, to, virtual network), so that a late packet holds back those
   behind it, and what the packet level keeps of it. Open addressing; made when first needed. A key
   is never 0, which marks a free place. While the table grows, the call for each old entry finds it
   large enough: it goes one level deep. */
PM__PRIVATE pm__stream *pm__stream_of(pm_world *w, int from, int to, int lane) {
  const uint64_t key = ((uint64_t)from << 34 | (uint64_t)to << 3 | (uint64_t)lane) + 1;
  uint32_t i, max;
  if (2 * (w->stream_count + 1) >
      w->streams_max) { /* at most half full, so that searches are short */
    pm__stream *old = w->streams;
    const uint32_t old_max = w->streams_max;
    w->streams_max = old_max ? 2 * old_max : 64;
    w->streams = (pm__stream *)pm__zalloc(w->streams_max * sizeof *w->streams);
    if (!w->streams) {
      w->streams = old;
      w->streams_max = old_max;
      pm_world_fail(w, PM_E_NOMEM, "out of memory: streams");
      if (!old) return &w->no_stream; /* the run ends with the step under way */
    } else {
      w->stream_count = 0;
      for (i = 0; i < old_max; i++)
        if (old[i].key)
          *pm__stream_of(w, (int)((old[i].key - 1) >> 34),
                         (int)((old[i].key - 1) >> 3 & 0x7FFFFFFF), (int)((old[i].key - 1) & 7)) =
              old[i];
      PM_FREE(old);
    }
  }
  max = w->streams_max;
  for (i = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) % max;
       w->streams[i].key && w->streams[i].key != key; i = (i + 1) % max) {
  }
  if (!w->streams[i].key) w->stream_count++;
  w->streams[i].key = key;
  return &w->streams[i];
}
static double pm__loggp_bytes(const pm_world *w, uint64_t bytes) { /* of each NIC */
  return pm__is_split(w, bytes) ? (double)bytes / (double)w->plat.nic_count : (double)bytes;
}
PM__PRIVATE const pm_loggp_range *pm__loggp_of(const pm_world *w, double bytes) {
  int i;
  for (i = w->plat.loggp_range_count - 1; i >= 0; i--)
    if ((double)w->plat.loggp_range[i].first_bytes <= bytes) return &w->plat.loggp_range[i];
  return NULL;
}
static int64_t pm__loggp_travel_ps(const pm_world *w, uint64_t payload) {
  const double bytes = pm__loggp_bytes(w, payload), more = bytes > 1 ? bytes - 1 : 0;
  const pm_loggp_range *r = pm__loggp_of(w, bytes);
  if (r)
    return pm__max_ps(0, pm__sum_ps(r->latency_ns * PM__PS,
                                    pm__whole_ps(pm__times(r->ns_per_byte, more) * PM__PS)));
  return pm__later(w->plat.loggp_latency_ns * PM__PS,
                   pm__bytes_ps(more, w->plat.loggp_bytes_per_s));
}
/* The way of a message that carries something, at the LogGP level with noise: what was fitted is the
   time of all of it, overheads with it, and the way takes the noise of all. */
static int64_t pm__noisy_ps(pm_world *w, const pm__message *m, int64_t d_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  const pm_loggp_range *r = m->way.link == PM_LINK_LOGGP && (bytes || !m->way.is_reply)
                                ? pm__loggp_of(w, pm__loggp_bytes(w, bytes))
                                : NULL;
  int64_t all_ps;
  if (!r || !r->noise_count) return d_ps;
  all_ps = pm__later(d_ps, (r->overhead_ns + w->plat.cpu_event_ns) * PM__PS);
  all_ps = pm__whole_ps(pm__times((double)all_ps, pm__mixture(r->noise, r->noise_count, w) - 1));
  return pm__max_ps(0, pm__sum_ps(d_ps, all_ps));
}
/* The first try: all of it left at t_ps. Of flows and packets it is known already whether they were lost before that,
   packets are there. */
static pm__try pm__try_first(pm_world *w, const pm__message *m, int from, int to, int64_t t_ps,
                             int64_t latency_ps) {
  const bool is_packet = m->way.link == PM_LINK_PACKET;
  pm__try t;
  t.t_begin_ps = t_ps;
  t.own_ps = 0;
  t.way_ps = latency_ps;
  t.t_lost_ps = PM__FOREVER;
  if (m->way.link == PM_LINK_LOGGP) {
    t.way_ps = pm__loggp_travel_ps(w, 0);
    if (t.way_ps > latency_ps) t.way_ps = latency_ps;
    t.own_ps = latency_ps - t.way_ps;
  } else if (is_packet) {
    t.t_begin_ps = m->way.t_left_ps;
    t.way_ps = t_ps - m->way.t_left_ps;
  } else if (!m->way.is_flow) {
    t.t_begin_ps = m->way.t_begin_ps;
    t.own_ps = t_ps - t.t_begin_ps;
  }
  if ((is_packet || m->way.is_flow) && m->way.is_dropped)
    t.t_lost_ps = m->way.t_lost_ps;
  else if (!is_packet)
    pm__try_fails(w, from, to, &t);
  return t;
}
/* All of it again, over the way of that time. */
static void pm__try_again(pm_world *w, const pm__message *m, int from, int to, pm__try *t,
                          int64_t t_ps) {
  t->t_begin_ps = t_ps;
  if (m->way.link != PM_LINK_LOGGP) {
    uint32_t link[PM__ROUTE_MAX + 2];
    pm__known_way way;
    way.link = link;
    way.link_count = pm__way_at(w, from, to, t_ps, link, &way.latency_ps);
    t->own_ps = m->way.link == PM_LINK_FLOW && !m->way.is_flow
                    ? m->way.t_left_ps - m->way.t_begin_ps
                    : pm__alone_ps(w, m, &way);
    t->way_ps = way.latency_ps;
  }
  pm__try_fails(w, from, to, t);
}
/* When a message that left at t_ps arrives, retransmissions included; -1: never. The fate of every try is drawn
   here: what fails when is known. A try is lost as a whole: when there is no way, when something on its way fails
   (see pm_outage), or by chance, when all of it has left. The sender notices e2e_retry_ns later, and sends all of it again.
   That takes bandwidth from nobody. */
PM__APART static int64_t pm__wire(pm_world *w, pm__message *m, int from, int to, int lane,
                                  int64_t t_ps, int64_t latency_ps) {
  const pm_faults *f = &w->desc.faults;
  pm__try t = pm__try_first(w, m, from, to, t_ps, latency_ps);
  pm__stream *stream;
  int64_t tries = 0;
  for (;;) {
    /* The draw comes last: a try that is lost for another reason takes no random number. */
    if (t.t_lost_ps == PM__FOREVER && pm__ratio(w) < f->loss_ratio + f->corrupt_ratio)
      t.t_lost_ps = pm__later(t.t_begin_ps, t.own_ps);
    if (t.t_lost_ps == PM__FOREVER) break;
    w->stats.lost_count++;
    m->way.t_lost_ps = pm__max_ps(w->now_ps, pm__later(t.t_lost_ps, w->plat.e2e_retry_ns * PM__PS));
    if (tries++ == w->plat.e2e_retry_count) return -1;
    w->stats.resent_count++;
    pm__try_again(w, m, from, to, &t, m->way.t_lost_ps);
  }
  if (tries) m->way.link_count = 0, m->way.d_rest_ps = 0; /* it waits for nobody */
  t_ps = pm__later(t.t_begin_ps, pm__noisy_ps(w, m, pm__later(t.own_ps, t.way_ps)));
  if (pm__ratio(w) < f->delay_ratio)
    t_ps = pm__later(t_ps, pm__whole_ps(pm__ratio(w) * (double)f->delay_ns * PM__PS));
  if (pm__ratio(w) <
      f->duplicate_ratio) { /* the copy is recognised and dropped; it cost its receiver's time */
    w->stats.duplicate_count++;
    w->nodes[to].t_rx_ps[0] = pm__later(pm__max_ps(w->nodes[to].t_rx_ps[0], t_ps),
                                        pm__slow_ps(w, to, w->plat.nic_put_ns));
  }
  /* Portals orders messages of a pair: one that was delayed or resent moves all that follow it on
     its stream. */
  stream = pm__stream_of(w, from, to, lane);
  stream->t_last_ps = t_ps = pm__max_ps(stream->t_last_ps, t_ps);
  return t_ps;
}
/* With ways that change and messages that are sent again, what is late on one way is not overtaken by what comes over
   another: messages of a stream (two NICs, a lane) have numbers, and those that are early wait. */
PM__APART PM__PRIVATE void pm__in_order(pm_world *w, pm__message *m, int64_t wait_ps) {
  pm__stream *s = pm__stream_of(w, pm__job_from(m), pm__job_to(m), m->way.lane);
  pm__message **at = &s->early;
  m->way.d_rest_ps = pm__later(w->now_ps, wait_ps);
  m->next = s->early;
  s->early = m;
  while (*at) {
    m = *at;
    if (m->way.number != s->arrived_count) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    s->arrived_count++;
    s->t_crossed_ps = pm__max_ps(s->t_crossed_ps, m->way.d_rest_ps);
    pm__schedule(w, &m->way.event, s->t_crossed_ps);
    at = &s->early;
  }
}
/* ---- messages of nodes that die, see pm_outage_kind ------------------------------------------------ */
PM__PRIVATE bool pm__is_of_the_dead(const pm_world *w, const pm__message *m) {
  return w->has_lives && pm__died_between(w, m->what.from_nic, m->what.t_issue_ps, w->now_ps);
}
/* When the initiator knows that this message, or its answer, has been lost with the target's node: it sends it
   again until a NIC is there, which does not know it, or too often. */
static int64_t pm__given_up_ps(pm_world *w, const pm__message *m, int64_t t_ps) {
  const int from = m->what.from_nic, to = m->what.to_nic;
  int64_t back_ps, tries = 0;
  if (m->what.is_inside || pm__died_between(w, from, m->what.t_issue_ps, t_ps)) return t_ps;
  back_ps =
      m->way.link == PM_LINK_LOGGP ? pm__loggp_travel_ps(w, 0) : pm__known(w, to, from)->latency_ps;
  if (m->way.event.fn != pm__back_event && !pm__node_is_out(w, to, t_ps))
    return pm__later(t_ps, back_ps); /* it came to the fresh NIC itself */
  do {
    w->stats.lost_count++;
    t_ps = pm__later(t_ps, pm__ps(w->plat.e2e_retry_ns));
    if (tries++ == w->plat.e2e_retry_count) return t_ps;
    w->stats.resent_count++;
  } while (pm__is_cut(w, from, to, t_ps));
  return pm__later(t_ps, 2 * back_ps);
}
/* It comes back to its sender as lost: when, at the earliest, something is sent again. */
static void pm__is_given_up(pm_world *w, pm__message *m, int64_t t_ps) {
  pm__undeliverable(w, m);
  t_ps = pm__given_up_ps(w, m, t_ps);
  m->way.event.fn = pm__back_event;
  pm__schedule(w, &m->way.event, t_ps);
}
PM__INLINE bool pm__is_for_the_dead(pm_world *w, pm__message *m) {
  if (!w->has_lives || !pm__died_between(w, pm__to_nic(m), m->what.t_issue_ps, w->now_ps))
    return false;
  pm__is_given_up(w, m, w->now_ps);
  return true;
}
/* The target of a get keeps its memory until the data is acknowledged, since it may have to send it
   again: only then it gets its event. The initiator acknowledges at t_there_ps. */
PM__PRIVATE void pm__fetched(pm_world *w, pm__message *m, int64_t t_there_ps) {
  if (m->way.link == PM_LINK_LOGGP) {
    t_there_ps = pm__later(t_there_ps, pm__loggp_travel_ps(w, 0));
    if (pm__crosses(w, m->what.from_nic, m->what.to_nic)) {
      m->way.pending++;
      m->way.target.fn = pm__written_event;
      pm__hand_over(w, &m->way.target, t_there_ps, m->what.from_nic, m->what.to_nic);
      return;
    }
  } else if (!pm__is_inside(w, m)) {
    const int64_t latency_ps = pm__known(w, pm__to_nic(m), m->what.from->proc->nic)->latency_ps;
    t_there_ps = pm__later(t_there_ps, pm__later(latency_ps, pm__event_ps(w)));
  }
  pm__written_at(w, m, t_there_ps);
}
/* Sends the message on its travel; one that never arrives comes back to its sender as such: ret 0.
   Lanes are numbered so that requests have even numbers and responses odd ones. */
PM__APART static int pm__travel_any(pm_world *w, pm__message *m, int from, int to, int lane,
                                    int64_t t_ps, int64_t latency_ps,
                                    void (*there)(pm_world *world, pm__event *event)) {
  int64_t t_there_ps;
  if (w->has_lives && pm__died_between(w, from, m->what.t_issue_ps, t_ps)) {
    m->way.event.fn = pm__back_event; /* it had not left */
    pm__is_given_up(w, m, t_ps);
    return 0;
  }
  t_there_ps = !w->is_faulty || pm__is_inside(w, m)
                   ? pm__later(t_ps, latency_ps)
                   : pm__wire(w, m, from, to, lane, t_ps, latency_ps);
  m->way.event.fn = there;
  if (t_there_ps < 0) {
    pm__undeliverable(w, m);
    m->way.event.fn = pm__back_event;
    t_there_ps = pm__max_ps(m->way.t_lost_ps, m->way.t_done_ps);
  } else
    t_there_ps -= m->way.d_rest_ps; /* the first link of its way is due */
  if ((lane & 1) && m->what.kind == PM__GET && m->what.me &&
      m->way.event.fn != there) /* else it is done where that comes */
    pm__fetched(w, m, t_there_ps);
  if (pm__crosses(w, from, to))
    pm__hand_over(w, &m->way.event, t_there_ps, from, to);
  else
    pm__schedule(w, &m->way.event, t_there_ps);
  return m->way.event.fn == there;
}
PM__INLINE int pm__travel(pm_world *w, pm__message *m, int from, int to, int lane, int64_t t_ps,
                          int64_t latency_ps, void (*there)(pm_world *world, pm__event *event)) {
  if (w->is_unusual) return pm__travel_any(w, m, from, to, lane, t_ps, latency_ps, there);
  m->way.event.fn = there;
  pm__schedule(w, &m->way.event, pm__later(t_ps, latency_ps) - m->way.d_rest_ps);
  return 1;
}
PM__PRIVATE void pm__back_event(pm_world *w, pm__event *event) {
  pm__come_back(w, (pm__message *)event);
}

/* The kind of step that the present travel of a message is. */
PM__PRIVATE int pm__travel_kind(const pm__message *m) {
  if (m->way.is_reply)
    return !pm__brings_data(m)
               ? (m->what.ack_req == PTL_NO_ACK_REQ || m->what.is_ack_muted ? PM_TRACE_E2E_ACK
                                                                            : PM_TRACE_PORTALS_ACK)
           : m->what.kind == PM__GET ? PM_TRACE_GET_RESPONSE
                                     : PM_TRACE_FETCH_ATOMIC_RESPONSE;
  return m->what.kind == PM__PUT      ? PM_TRACE_PUT
         : m->what.kind == PM__GET    ? PM_TRACE_GET
         : m->what.kind == PM__ATOMIC ? PM_TRACE_ATOMIC
                                      : PM_TRACE_FETCH_ATOMIC;
}

/* ---- LogGP: latency, overhead, gap, gap per byte; nothing is shared but NICs --------------------- */
/* Alexandrov, Ionescu, Schauser and Scheiman, LogGP (SPAA 1995): a message of n bytes arrives L +
   (n - 1) G after it left, and the next one leaves its node at least g later. Here both ends are
   busy for max(g, n G), so that long messages do not overlap each other on the way out, and many
   to one node come in one after the other. */
/* What the present size costs, worked out once: mostly the next message has as many bytes. */
PM__APART static void pm__loggp_costs(pm_world *w, uint64_t payload) {
  const double bytes = pm__loggp_bytes(w, payload);
  const pm_loggp_range *r = pm__loggp_of(w, bytes);
  w->loggp_payload = payload + 1;
  w->loggp_gap_ns = r ? r->gap_ns : w->plat.loggp_gap_ns;
  w->d_loggp_gap_ps = r ? pm__whole_ps(pm__times(r->gap_ns_per_byte, bytes) * PM__PS)
                        : pm__bytes_ps(bytes, w->plat.loggp_bytes_per_s);
  w->d_loggp_way_ps = pm__loggp_travel_ps(w, payload);
  w->d_loggp_body_ps = pm__max_ps(0, w->d_loggp_way_ps - w->d_loggp_none_ps);
}
static inline void pm__loggp_is(pm_world *w, uint64_t payload) {
  if (w->loggp_payload != payload + 1) pm__loggp_costs(w, payload);
}
static inline int64_t pm__loggp_gap_ps(pm_world *w, int nic, uint64_t payload) {
  pm__loggp_is(w, payload);
  return pm__max_ps(pm__slow_ps(w, nic, w->loggp_gap_ns), w->d_loggp_gap_ps);
}
static int64_t *pm__loggp_free(pm__node *n, bool comes_in) {
  return comes_in ? &n->t_in_ps : &n->t_gap_ps;
}
/* Split payload waits for all NICs of the node and takes them all. */
PM__APART static int64_t pm__loggp_begin_split(pm_world *w, int nic, int64_t t_ps, int64_t gap_ps,
                                               bool comes_in) {
  const int step = (int)w->plat.node_count, first = pm__nic_node(w, nic),
            end = step * (int)w->plat.nic_count;
  int k;
  for (k = first; k < end; k += step)
    t_ps = pm__max_ps(t_ps, *pm__loggp_free(&w->nodes[k], comes_in));
  for (k = first; k < end; k += step)
    *pm__loggp_free(&w->nodes[k], comes_in) = pm__later(t_ps, gap_ps);
  return t_ps;
}
/* A message begins to leave through its NIC at t_ps, or to come in: at least so late, behind what went before that
   way. */
PM__INLINE_HERE int64_t pm__loggp_begin(pm_world *w, int nic, uint64_t bytes, int64_t t_ps,
                                        bool comes_in) {
  int64_t *const free_ps = pm__loggp_free(&w->nodes[nic], comes_in);
  const int64_t gap_ps = pm__loggp_gap_ps(w, nic, bytes);
  if (pm__is_split(w, bytes)) return pm__loggp_begin_split(w, nic, t_ps, gap_ps, comes_in);
  t_ps = pm__max_ps(t_ps, *free_ps);
  *free_ps = pm__later(t_ps, gap_ps);
  return t_ps;
}
/* It travels. Its event is that of its last byte, or comes a gap behind the first one: by then all that came before
   has been seen to, but for what is as short. */
static void pm__loggp_go(pm_world *w, pm__message *m, int from, int to, uint64_t bytes,
                         int64_t t_ps) {
  int64_t d_ps = w->d_loggp_none_ps, body_ps = 0;
  const int lane = m->way.is_reply;
  if (bytes) { /* mostly the same as last, with acknowledgements between */
    pm__loggp_is(w, bytes);
    d_ps = w->d_loggp_way_ps;
    body_ps = w->d_loggp_body_ps;
  }
  m->way.lane = (unsigned char)lane;
  m->way.t_begin_ps = t_ps;
  m->way.has_crossed = 0;
  m->way.link_count = bytes || !m->way.is_reply; /* acknowledgements pay L only */
  m->way.d_lag_ps = body_ps < w->d_loggp_lag_ps ? body_ps : w->d_loggp_lag_ps;
  m->way.d_rest_ps = body_ps - m->way.d_lag_ps;
  if (pm__travel(w, m, from, to, lane, t_ps, d_ps, lane ? pm__loggp_back : pm__loggp_there)) {
    if (w->is_faulty) m->way.number = pm__stream_of(w, from, to, lane)->sent_count++;
  } else
    pm__loggp_told(w, m, pm__later(t_ps, d_ps)); /* it never will be there */
}
/* What observers and the trace are told of a travel, when its end is known. */
PM__APART static void pm__loggp_tell(pm_world *w, const pm__message *m, int64_t t_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  if (m->way.is_reply ? pm__brings_data(m) && m->what.me : m->what.kind != PM__GET)
    pm__stamp(w, m, m->way.is_reply, m->way.t_begin_ps, t_ps);
  pm__trace(w, pm__travel_kind(m), m, m->way.t_begin_ps, t_ps, pm__job_from(m), pm__job_to(m),
            bytes);
}
/* At the NIC where it comes in. ret whether it comes again, when all of it is there */
PM__INLINE_HERE bool pm__loggp_is_coming(pm_world *w, pm__message *m) {
  const int64_t t_ps = w->now_ps - m->way.d_lag_ps;
  int64_t d_ps = m->way.d_rest_ps;
  if (m->way.has_crossed) return false;
  m->way.has_crossed = 1;
  if (m->way.link_count)
    d_ps = pm__later(d_ps, pm__loggp_begin(w, pm__job_to(m), pm__job_bytes(m), t_ps, true) - t_ps);
  if (w->is_faulty)
    pm__in_order(w, m, d_ps);
  else if (d_ps > 0)
    pm__schedule(w, &m->way.event, pm__later(w->now_ps, d_ps));
  else
    return false;
  return true;
}
/* Events and writes take no time here; the trace has them as points, so that both levels show the
   same kinds of steps. */
static void pm__loggp_back(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const int node = m->what.from->proc->node;
  if (pm__loggp_is_coming(w, m)) return;
  pm__loggp_told(w, m, w->now_ps);
  if (m->what.kind == PM__GET && m->what.me) pm__fetched(w, m, w->now_ps);
  pm__trace(w, PM_TRACE_EVENT, m, w->now_ps, w->now_ps, node, node, (uint64_t)w->plat.event_bytes);
  pm__back_event(w, event);
}
/* No event tells that the acknowledgement is back, and no other message waits for it: there is no need to
   let it travel. */
static int pm__nobody_waits(const pm_world *w, const pm__message *m) {
  const pm__node *n = m->what.initiator_nic;
  return !w->whole && m->what.is_early_send && m->what.ack_req == PTL_NO_ACK_REQ && !m->what.fail &&
         !w->is_faulty && !n->held && 2 * n->in_flight < w->plat.e2e_entry_count &&
         !w->plat.inflight_per_node_count && !w->plat.inflight_per_process_count;
}
/* In a world over threads the target's part cannot tell the initiator's. There the initiator knows by itself, as it
   sends, where so few can be in flight that their number never matters: they are over when they have left. */
static bool pm__has_left_all(const pm_world *w, const pm__message *m) {
  const pm__node *n = m->what.initiator_nic;
  const int64_t most = w->plat.loggp_gap_ns > 0
                           ? 2 * w->plat.loggp_latency_ns / w->plat.loggp_gap_ns + 1
                           : w->plat.e2e_entry_count;
  return m->what.is_early_send && m->what.ack_req == PTL_NO_ACK_REQ && !n->held &&
         2 * pm__max_ps(most, n->in_flight) < w->plat.e2e_entry_count &&
         !w->plat.inflight_per_node_count && !w->plat.inflight_per_process_count;
}
/* Replies with data leave through the target's gap like any message. */
static void pm__loggp_there(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const int from = pm__to_nic(m), to = m->what.from_nic;
  int64_t t_ps = w->now_ps;
  uint64_t bytes = 0;
  if (pm__loggp_is_coming(w, m)) return;
  pm__loggp_told(w, m, w->now_ps);
  if (pm__is_for_the_dead(w, m)) return;
  if (pm__arrive(w, m)) {
    m->way.t_done_ps = w->now_ps;
    pm__trace(w, PM_TRACE_PAYLOAD_WRITE, m, w->now_ps, w->now_ps, from, from, m->what.mlength);
    if (m->what.kind != PM__GET) pm__written(w, m);
    if (pm__brings_data(m)) {
      bytes = m->what.mlength;
      t_ps = pm__loggp_begin(w, from, bytes, t_ps, false);
      w->stats.sent_bytes += m->what.mlength;
    }
  }
  /* From here on the message is the response: the same object travels back. */
  m->way.is_reply = 1;
  if (m->way.is_left_alone) {
    pm__message_release(w, m);
    return;
  }
  if (pm__nobody_waits(w, m)) {
    t_ps = pm__later(t_ps, pm__loggp_travel_ps(w, bytes));
    pm__trace(w, PM_TRACE_E2E_ACK, m, w->now_ps, t_ps, from, to, 0);
    pm__trace(w, PM_TRACE_EVENT, m, t_ps, t_ps, to, to, (uint64_t)w->plat.event_bytes);
    pm__come_back(w, m);
    return;
  }
  pm__loggp_go(w, m, from, to, bytes, t_ps);
}
PM__PRIVATE void pm__loggp_send(pm_world *w, pm__message *m) {
  const uint64_t bytes = m->what.kind == PM__GET ? 0 : m->what.length;
  const int from = m->what.from_nic, to = pm__to_nic(m);
  const int64_t t_ps = pm__loggp_begin(w, from, bytes, w->now_ps, false);
  pm__trace(w, PM_TRACE_COMMAND, m, w->now_ps, t_ps, from, from, (uint64_t)w->plat.command_bytes);
  pm__loggp_go(w, m, from, to, bytes, t_ps);
  pm__send_early(w, m, t_ps);
  m->way.is_left_alone = pm__crosses(w, from, to) && pm__has_left_all(w, m);
}
#ifdef NBC_LINES
#line 6 "src/portals/nic.h"
#endif
/* The NIC's end of the packet level: all of a job has left; all of it is there (an event of its message);
   observers and trace, where there are some, are told when. */
PM__PRIVATE void pm__job_gone(pm_world *w, pm__message *m);
PM__PRIVATE void pm__rx(pm_world *w, pm__event *event);
PM__PRIVATE void pm__job_tell(pm_world *w, const pm__message *m, int64_t t_there_ps);
static inline void pm__job_told(pm_world *w, const pm__message *m, int64_t t_there_ps) {
  if (w->stamp || w->desc.trace) pm__job_tell(w, m, t_there_ps);
}
PM__PRIVATE pm_link_model pm__link_now(pm_world *w);
PM__PRIVATE bool pm__is_inline(const pm_world *w, const pm__message *m);
PM__PRIVATE bool pm__is_pio(const pm_world *w, const pm__message *m);
PM__PRIVATE void pm__slot_release(pm_world *w, pm__message *m, int64_t t_ps);
PM__PRIVATE void pm__slot_take(pm_world *w, pm__message *m);
#ifdef NBC_LINES
#line 1 "src/portals/nic.c"
#endif
/* The NIC: see nic.h. */


static void pm__lane_run(pm_world *w, pm__lane *lane);
static void pm__match_event(pm_world *w, pm__event *event);
/* ---- the NIC: commands, payload, lanes ----------------------------------------------------------- */
/* The way of a put at the level flow, from call to event; a reply comes back the same way:

     CPU      pm__nic_call: time for the call, PIO; a command slot
     PCI      pm__nic_command: commands one behind the other
     NIC      pm__nic_send: in-flight limits, else `held`; then a lane: one job at a time
     network  up to a PCI packet: link after link, where others may be before it (pm__cross)
              longer: a flow (flow.c) over PCI, links and PCI at once; then its tail as above
     target   pm__rx: the earliest engine; pm__match_event: search, write, answer

   Lanes are BXI's virtual networks [S 2.2.3]: 0 requests, 1 responses (| 1), 2 and 3 the same
   for the service. Each is first in, first out, and none waits for another one: a response stuck
   behind requests whose responses wait likewise at the other side would be a deadlock. */
/* Without match bits a command has 8 bytes more for payload [S 4.3.3]. */
static int pm__matching_more(const pm__message *m) { return pm__is_matching(m->what.from) ? 0 : 8; }
PM__PRIVATE bool pm__is_inline(const pm_world *w, const pm__message *m) {
  return m->what.length <= (uint64_t)(w->plat.inline_bytes + pm__matching_more(m));
}
PM__PRIVATE bool pm__is_pio(const pm_world *w, const pm__message *m) {
  return m->what.length <= (uint64_t)(w->plat.pio_bytes + pm__matching_more(m)) &&
         (!w->plat.pio_needs_volatile || (m->what.md->md.options & PTL_MD_VOLATILE));
}
PM__INLINE_HERE int64_t pm__occupancy_ps(const pm_world *w, int node, const pm__message *m) {
  const int64_t d_ns = !pm__brings_data(m)       ? w->plat.nic_put_ns
                       : m->way.is_reply         ? w->plat.nic_response_ns
                       : m->what.kind == PM__GET ? w->plat.nic_get_ns
                                                 : w->plat.nic_put_ns;
  return pm__slow_ps(w, node, d_ns);
}
/* From the NIC's decision to send until the first byte may leave: one PCI packet must be there,
   the rest is read while it leaves. A reply's payload always is fetched: the target could not
   know what would be asked for [S 4.3.3]. */
PM__INLINE_HERE int64_t pm__fetch_ps(const pm_world *w, const pm__message *m, uint64_t bytes) {
  if (!bytes || w->plat.no_pci || (!m->way.is_reply && (pm__is_inline(w, m) || pm__is_pio(w, m))))
    return 0;
  if (bytes >= (uint64_t)w->plat.pci_packet_bytes) return w->d_packet_fetch_ps; /* then pipelined */
  return pm__later(w->plat.pci_latency_ns * PM__PS,
                   pm__pci_ps(w, (double)bytes)); /* there and back */
}

/* How the payload came to the NIC that sends it from t_begin_ps to t_end_ps. */
PM__APART static void pm__trace_read(pm_world *w, const pm__message *m, int64_t t_begin_ps,
                                     int64_t t_end_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  const int64_t d_ps = pm__fetch_ps(w, m, bytes),
                t_data_ps = t_begin_ps - d_ps + w->plat.pci_latency_ns * PM__PS;
  const int node = pm__job_from(m);
  if (!d_ps) return;
  pm__trace(w, PM_TRACE_DMA_REQUEST, m, t_begin_ps - d_ps, t_data_ps, node, node, 0);
  pm__trace(w, PM_TRACE_DMA_PAYLOAD, m, t_data_ps,
            bytes > (uint64_t)w->plat.pci_packet_bytes ? t_end_ps : t_begin_ps, node, node, bytes);
}

/* What observers and the trace are told of a travel, when its end is known. */
PM__APART PM__PRIVATE void pm__job_tell(pm_world *w, const pm__message *m, int64_t t_there_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  if (bytes) pm__stamp(w, m, m->way.is_reply, m->way.t_begin_ps, t_there_ps);
  if (w->desc.trace && !pm__is_inside(w, m))
    pm__trace_read(w, m, m->way.t_begin_ps, m->way.t_left_ps);
  pm__trace(w, pm__travel_kind(m), m, m->way.t_begin_ps, t_there_ps, pm__job_from(m), pm__job_to(m),
            bytes);
}
/* Of its present travel. Up a tree a way is found with a few sums. Where the world has no room for all of them it is kept
   with its message, whose memory is looked at anyhow, and where no other one displaces it: a new message has none, and
   only its answer begins elsewhere. */
static inline pm__known_way *pm__way_of(pm_world *w, pm__message *m, int from, int to) {
  pm__known_way *const own = &m->own;
  if (!w->has_own_ways) return pm__known(w, from, to);
  if (own->from != from || !own->link_count) pm__way_climb(w, own, from, to);
  return own;
}
/* Cables of any speed: how long this one takes for its bytes alone. */
static int64_t pm__serial_over_ps(const pm_world *w, uint32_t link, uint64_t payload) {
  const double bytes = payload ? pm__wire_bytes(w, payload) : (double)w->plat.ack_bytes;
  return pm__bytes_ps(bytes, pm_link_bytes_per_s(w, (int)link));
}
/* From the first byte to the last one, where it leaves its NIC: as fast as the first cable is. */
static int64_t pm__leaves_ps(pm_world *w, const pm__message *m, uint64_t payload) {
  const pm__known_way *way;
  if (!w->graph) return pm__wire_ps(w, payload);
  way = pm__known(w, pm__job_from(m), pm__job_to(m));
  return way->link_count ? pm__serial_over_ps(w, way->link[0], payload) : 0;
}
/* Payload over the narrowest cable of a way. */
static double pm__way_bytes_per_s(const pm_world *w, const pm__known_way *way) {
  double least = w->plat.link_bytes_per_s * pm__payload_ratio(&w->plat);
  int h;
  if (!w->graph) return least;
  for (h = 0, least = PM__UNLIMITED; h < way->link_count; h++)
    if (pm__link_rate(w, way->link[h]) < least) least = pm__link_rate(w, way->link[h]);
  return least;
}
PM__APART static void pm__crossed(pm_world *w, const pm__message *m, uint32_t link, int64_t t_ps,
                                  int64_t wait_ps) {
  const uint64_t payload = pm__job_bytes(m);
  const double bytes = payload ? pm__wire_bytes(w, payload) : (double)w->plat.ack_bytes;
  pm__use_add(w, link, PM__USE_CARRIED, t_ps + wait_ps,
              pm__sum_ps(t_ps + wait_ps, m->way.d_tail_ps), bytes);
  if (wait_ps) pm__use_add(w, link, PM__USE_QUEUED, t_ps, t_ps + wait_ps, bytes * (double)wait_ps);
}
/* A link carries one message of a packet after the other, in the order in which they reach it. So it is booked when
   all that reached it before has been: by an event at that time, or later by a time that is the same for all that
   cross the link, so that the order stays. It is booked when it is "due": when what crossed it could be at a node, which
   is as late as can be. Links that are due at one time take one event: on a crossbar both are due at the end of the
   way, and nothing happens before that. Four links of a torus, from when a message reaches them until they are due:

     link 0  |----step----|step|
     link 1               |step|step|
     link 2                    |step|step|   the end of the way:
     link 3                         |step|   both are due

   Up a fat tree a link is due when what crossed it could be down again. Who has to wait at a link comes so much later to
   the next one, and that is looked at then. */
static int64_t pm__due_ps(const pm_world *w, const pm__known_way *way, int hop) {
  const int left = way->link_count - hop, most = w->ways_climb ? hop + 2 : 2;
  if (w->graph) {
    const uint32_t link = way->link[hop] % pm__rail_links(w);
    return (w->graph->latency_ns[link / 2] + w->graph->least_ns[w->graph->end[link]]) * PM__PS;
  }
  return pm__hop_ps(w, way->link[hop], hop) + ((left < most ? left : most) - 1) * w->d_switch_ps;
}
/* ---- what comes next is asked for, see pm__ask_for ---- */
/* Its flow has ended: the links before its tail, then its target's NIC and process. */
PM__APART static void pm__ask_for_target(const pm_world *w, const pm__message *m,
                                         const pm__known_way *way) {
  int h;
  for (h = 0; h < way->link_count; h++) pm__ask_for(&w->busy_ps[way->link[h]], 1);
  pm__ask_for(m->what.target_nic->pid_0, 1);
  pm__ask_for(m->what.target_nic->t_rx_ps, 1);
  pm__ask_for(&m->what.to, 2);
}
/* It is on the wire, or its answer: what its list and its entry are found by; whom the answer is for. */
PM__APART static void pm__ask_for_end(const pm__message *m) {
  const pm_process *p = m->way.is_reply ? m->what.from->proc : m->what.target_nic->pid_0;
  const pm__ni *ni = m->way.is_reply ? m->what.from : p ? p->ni[m->what.from_index] : NULL;
  if (m->way.is_reply) {
    pm__ask_for(p, 2);
    pm__ask_for(p->threads, 3);
    pm__ask_for(&ni->first_ct, 1);
    pm__ask_for(&ni->first_md, 1);
  } else if (ni) {
    pm__ask_for(ni, 2);
    pm__ask_for(ni->pt[m->what.pt / PM__PTS], 2);
    pm__ask_for(&ni->first_me, 3);
  }
}
/* It sets out. All events of messages lag behind by the time of one link packet, so that of one that is no longer the one
   at the end of its way is its arrival: for another one there it would have to be looked at twice. (Acknowledgements
   are shorter, and lag less: one may be booked before a message that reached the link so much earlier.) Of a flow only
   the tail comes by here. */
PM__INLINE_HERE void pm__sets_out(const pm_world *w, pm__message *m, const pm__known_way *way) {
  const int64_t own_ps = m->way.is_flow ? 0 : m->way.t_left_ps - m->way.t_begin_ps,
                lag_ps = own_ps < w->d_lag_ps ? own_ps : w->d_lag_ps;
  m->way.hop = 0;
  m->way.link_count = (unsigned char)way->link_count;
  m->way.d_lag_ps = lag_ps;
  m->way.d_tail_ps = own_ps;
  m->way.d_rest_ps = own_ps - lag_ps;
  if ((w->graph || way->link_count > 2) && way->link_count)
    m->way.d_rest_ps += way->latency_ps - pm__due_ps(w, way, 0);
}
/* A cable that is slower than those before it draws the message out: its tail comes so much later. Its head goes
   on meanwhile (cut-through, as packets do), and what follows has to wait for the tail, on faster ones too. Where
   its head waits its tail comes up. */
static void pm__draw_out(pm_world *w, pm__message *m, uint32_t link, int64_t wait_ps) {
  const int64_t before_ps = m->way.d_tail_ps;
  m->way.d_tail_ps = pm__max_ps(pm__serial_over_ps(w, link, pm__job_bytes(m)), before_ps - wait_ps);
  m->way.d_rest_ps = pm__sum_ps(m->way.d_rest_ps, m->way.d_tail_ps - before_ps);
}
/* Until when what crosses it holds others up; nobody on a fatpipe. */
static int64_t *pm__busy_of(pm_world *w, uint32_t link) {
  if (pm__is_fatpipe(w, link)) w->busy_ps[link] = 0;
  return &w->busy_ps[pm__link_of_flows(w, link)];
}
/* The next link of its way is due, perhaps more with it.
   ret how long until it has to come again; < 0: not at all, it is there. 0: now, but behind what else happens now: who
   has just gone ahead of a tail on a link goes ahead of it on the next one too */
PM__APART static int64_t pm__cross_any(pm_world *w, pm__message *m, const pm__known_way *way) {
  const int count = way->link_count;
  int h = m->way.hop;
  bool is_behind = false;
  if (count != m->way.link_count)
    h = count; /* sent again, or a repair: it goes on where it was, without waits */
  while (h < count) {
    int64_t *const busy_ps = pm__busy_of(w, way->link[h]);
    const int64_t due_ps = pm__due_ps(w, way, h), t_ps = w->now_ps - m->way.d_lag_ps - due_ps;
    const int64_t wait_ps = *busy_ps > t_ps ? *busy_ps - t_ps : 0;
    int64_t next_ps = 0;
    is_behind = m->way.is_flow && *busy_ps == t_ps;
    if (!m->way.is_flow) {
      if (w->graph) pm__draw_out(w, m, way->link[h], wait_ps);
      *busy_ps = pm__sum_ps(t_ps + wait_ps, m->way.d_tail_ps);
      if (w->uses) pm__crossed(w, m, way->link[h], t_ps, wait_ps);
    }
    if (++h < count)
      next_ps = pm__hop_ps(w, way->link[h - 1], h - 1) + pm__due_ps(w, way, h) - due_ps;
    m->way.d_rest_ps -= next_ps;
    next_ps += wait_ps;
    if (h < count && (next_ps > 0 || is_behind)) {
      m->way.hop = (unsigned char)h;
      return next_ps;
    }
    if (h == count) m->way.d_rest_ps = pm__sum_ps(m->way.d_rest_ps, wait_ps);
  }
  m->way.has_crossed = 1;
  return m->way.d_rest_ps > 0 || is_behind ? pm__max_ps(m->way.d_rest_ps, 0) : -1;
}
/* The usual cases with a few sums: one link is due; or all that are left, and nobody stands in the way. */
PM__INLINE_HERE int64_t pm__cross_one(pm_world *w, pm__message *m, const pm__known_way *way,
                                      int left, int most) {
  const int64_t step_ps = w->d_switch_ps;
  const int h = m->way.hop++, after = left - (w->ways_climb ? most + 2 : most + 1);
  const int64_t d_ps = (left - most - (after > 0 ? after : 0)) * step_ps; /* the next is due */
  int64_t *const busy_ps = &w->busy_ps[way->link[h]];
  const int64_t t_ps =
      w->now_ps - m->way.d_lag_ps - (h ? step_ps : w->d_first_ps) - (most - 1) * step_ps;
  const int64_t wait_ps = *busy_ps > t_ps ? *busy_ps - t_ps : 0;
  if (!m->way.is_flow) *busy_ps = pm__sum_ps(t_ps + wait_ps, m->way.d_tail_ps);
  m->way.d_rest_ps -= d_ps;
  return d_ps + wait_ps;
}
PM__INLINE_HERE int64_t pm__cross(pm_world *w, pm__message *m) {
  const pm__known_way *way = pm__known_again(w, m->way.known, pm__job_from(m), pm__job_to(m));
  const int count = way->link_count, most = w->ways_climb ? m->way.hop + 2 : 2;
  int h = m->way.hop;
  int64_t t_ps = w->now_ps - m->way.d_lag_ps - (h ? (count - h) * w->d_switch_ps : way->latency_ps);
  /* Where switches take no time, all links are due at once: those are no usual cases. */
  if (w->is_unusual && (w->graph || w->uses || !w->d_switch_ps || count != m->way.link_count))
    return pm__cross_any(w, m, way);
  if (count - h > most) return pm__cross_one(w, m, way, count - h, most);
  for (; h < count; t_ps += h++ ? w->d_switch_ps : w->d_first_ps) {
    int64_t *const busy_ps = &w->busy_ps[way->link[h]];
    if (*busy_ps >= t_ps) {
      m->way.hop = (unsigned char)h;
      return pm__cross_any(w, m, way);
    }
    if (!m->way.is_flow) *busy_ps = pm__sum_ps(t_ps, m->way.d_tail_ps);
  }
  m->way.has_crossed = 1;
  return m->way.d_rest_ps > 0 ? m->way.d_rest_ps : -1;
}
PM__INLINE_HERE void pm__job_left(pm_world *w, pm__message *m, int64_t t_begin_ps,
                                  int64_t t_end_ps) {
  const int from = pm__job_from(m), to = pm__job_to(m);
  int64_t latency_ps = w->plat.intra_latency_ns * PM__PS;
  m->way.t_begin_ps = t_begin_ps;
  m->way.t_left_ps = t_end_ps;
  m->way.d_rest_ps = 0;
  if (!pm__is_inside(w, m)) {
    m->way.known = pm__way_of(w, m, from, to);
    latency_ps = m->way.known->latency_ps;
    if (!m->way.has_crossed) pm__sets_out(w, m, m->way.known);
    if (w->is_large) pm__ask_for_target(w, m, m->way.known);
  }
  if (w->is_unusual && m->way.is_flow && !w->is_faulty)
    pm__job_told(w, m, pm__later(t_end_ps, latency_ps));
  if (!m->way.is_reply) pm__send_early(w, m, pm__later(t_begin_ps, pm__event_ps(w)));
  const bool travels = pm__travel(w, m, from, to, m->way.lane, t_end_ps, latency_ps, pm__rx);
  if (!w->is_unusual) return;
  if (travels) {
    if (w->is_faulty && !m->way.has_crossed)
      m->way.number = pm__stream_of(w, from, to, m->way.lane)->sent_count++;
  } else if (!m->way.is_flow || w->is_faulty)
    pm__job_told(w, m, pm__later(t_end_ps, latency_ps)); /* it never will be there */
}
static pm__lane *pm__lane_of(pm_world *w, pm__message *m) {
  return pm__is_inside(w, m) ? &m->what.from->proc->memory_lane
                             : &pm__job_nic(m)->lane[m->way.lane];
}
/* All of it has left; or a cable that carried a part of it failed, or there is no way: it is sent again later (see
   pm__wire), beside what follows. */
static void pm__job_flew(pm_world *w, pm__message *m) {
  pm__lane *lane = pm__lane_of(w, m);
  lane->is_busy = 0; /* the lane does not wait for what is sent again */
  pm__job_nic(m)->leaving_count -= !pm__is_inside(w, m);
  lane->t_free_ps = pm__later(w->now_ps, lane->d_held_ps);
  if (!m->way.is_reply) pm__slot_release(w, m, lane->t_free_ps);
  pm__job_left(w, m, m->way.t_begin_ps, lane->t_free_ps);
  pm__lane_run(w, lane);
}
static void pm__job_flown(pm_world *w, void *arg) {
  pm__message *m = (pm__message *)arg;
  if (--m->way.part_count > 0) return; /* other rails still carry theirs */
  pm__job_flew(w, m);
}
PM__PRIVATE void pm__job_lost(pm_world *w, void *message) {
  pm__message *m = (pm__message *)message;
  if (!m->way.is_dropped) m->way.t_lost_ps = w->now_ps;
  m->way.is_dropped = 1;
  pm__job_flown(w, message);
}
/* At the packet level: what is on its way comes to pm__rx by itself. */
PM__PRIVATE void pm__job_gone(pm_world *w, pm__message *m) {
  pm__lane *lane = pm__lane_of(w, m);
  lane->is_busy = 0;
  lane->t_free_ps = w->now_ps;
  if (!m->way.is_reply) {
    pm__slot_release(w, m, w->now_ps);
    pm__send_early(w, m, pm__max_ps(w->now_ps, pm__later(m->way.t_begin_ps, pm__event_ps(w))));
  }
  pm__lane_run(w, lane);
}
/* The average rate that credits allow: the first ones at the link's rate, then one window per round
   trip (when that is the slower one). A window that covers a round trip never runs dry:

     d = window / rate + (bytes - window) / (window / round trip),   window < rate * round trip
*/
static double pm__credit_bytes_per_s(const pm_world *w, double bytes, const pm__known_way *way) {
  const double window = (double)w->plat.link_credit_bytes, rate = pm__way_bytes_per_s(w, way),
               round_trip_s = 2e-12 * (double)way->latency_ps;
  if (!(window > 0) || bytes <= window || window >= rate * round_trip_s) return PM__UNLIMITED;
  return bytes / (window / rate + (bytes - window) / (window / round_trip_s));
}
/* How long all bytes of a message leave where nothing else is under way: what the narrowest cable, one PCI transfer and
   credits make of that. */
PM__PRIVATE int64_t pm__alone_ps(const pm_world *w, const pm__message *m,
                                 const pm__known_way *way) {
  const uint64_t payload = pm__job_bytes(m);
  const double bytes = payload ? pm__wire_bytes(w, payload) : (double)w->plat.ack_bytes,
               credit = pm__credit_bytes_per_s(w, (double)payload, way);
  int64_t d_ps = pm__bytes_ps(bytes, pm__way_bytes_per_s(w, way) / pm__payload_ratio(&w->plat));
  if (payload <= (uint64_t)w->plat.pci_packet_bytes) return d_ps;
  if (!w->plat.no_pci)
    d_ps = pm__max_ps(d_ps, pm__bytes_ps((double)payload, w->plat.pci_flow_bytes_per_s));
  return credit < PM__UNLIMITED ? pm__max_ps(d_ps, pm__bytes_ps((double)payload, credit)) : d_ps;
}
/* A long transfer sets out: over the source's PCI, the links of the way, the target's PCI, all
   at once, since packets follow each other [S 4.3.3]. One flow has one rate, that of its
   narrowest place: congestion on a link slows both PCI parts, unlike three transfers started
   together [S Fig. 4.7].
   ret 0: out of memory */
static int pm__job_part(pm_world *w, pm__message *m, int from, int to, double bytes) {
  const bool inside = pm__is_inside(w, m);
  const pm__known_way *way = inside ? NULL : pm__way_of(w, m, from, to);
  pm__flow *f = pm__flow_new(w, way);
  double cap = w->plat.pci_flow_bytes_per_s, credit;
  if (!f) return 0;
  f->from = from;
  f->to = to;
  f->done = pm__job_flown;
  f->arg = m;
  if (inside) {
    f->link[f->link_count++] = pm__node_resource(w, from, PM__MEMORY);
    return pm__flow_go(w, f, bytes, w->plat.intra_bytes_per_s);
  }
  if (w->plat.no_pci)
    cap = PM__UNLIMITED;
  else if (!w->pci_is_wide) {
    f->link[f->link_count++] = pm__node_resource(w, from, PM__PCI_READ);
    /* half duplex: reads and writes of a node are one resource, which a flow must not hold twice */
    if (from != to || !w->plat.pci_half_duplex)
      f->link[f->link_count++] = pm__node_resource(w, to, PM__PCI_WRITE);
    else if (cap > w->plat.pci_bytes_per_s / 2)
      cap = w->plat.pci_bytes_per_s / 2;
  }
  credit = pm__credit_bytes_per_s(w, bytes, way);
  return pm__flow_go(w, f, bytes, credit < cap ? credit : cap);
}
static void pm__job_flow(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  int from = pm__job_from(m), to = pm__job_to(m), k;
  const int nodes = (int)w->plat.node_count;
  const bool inside = pm__is_inside(w, m);
  double bytes;
  m->way.t_begin_ps = w->now_ps;
  m->way.is_dropped = 0;
  m->way.part_count = !inside && pm__is_split(w, pm__job_bytes(m)) ? (int)w->plat.nic_count : 1;
  if (m->way.part_count > 1) from = pm__nic_node(w, from), to = pm__nic_node(w, to);
  bytes = (double)pm__job_bytes(m) / m->way.part_count;
  if (w->graph && !inside) /* what fills up the last link packet may take long on a slow cable */
    bytes = pm__wire_bytes(w, (pm__job_bytes(m) + (uint64_t)m->way.part_count - 1) /
                                  (uint64_t)m->way.part_count) *
            pm__payload_ratio(&w->plat);
  /* Counted by k: a part that is lost at once lowers part_count, and the last of them ends the
     job. */
  for (k = m->way.part_count; k > 0; k--, from += nodes, to += nodes)
    if (w->net && !inside && pm__is_cut(w, from, to, w->now_ps))
      pm__job_lost(w, m);
    else if (!pm__job_part(w, m, from, to, bytes)) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: flow");
      return;
    }
}
/* When the first byte of a job may leave its NIC: the one before has left, the command is read,
   payload is there; with dma_ahead that is asked for while earlier ones leave.

     dma_ahead   ready | fetch .......... |
                 | one before |           | occupancy | bytes
     without     ready |
                 | one before | occupancy | fetch .......... | bytes
*/
PM__INLINE_HERE int64_t pm__job_ready_ps(pm_world *w, const pm__lane *lane, const pm__message *m,
                                         uint64_t bytes) {
  const int64_t d_ps = pm__occupancy_ps(w, pm__job_from(m), m),
                fetch_ps = pm__fetch_ps(w, m, bytes), t_ps = m->way.t_ready_ps;
  if (w->plat.dma_ahead)
    return pm__later(pm__max_ps(pm__later(t_ps, fetch_ps), lane->t_free_ps), d_ps);
  return pm__later(pm__later(pm__max_ps(t_ps, lane->t_free_ps), d_ps), fetch_ps);
}
/* A short job of a NIC leaves between the packets of a flow of another lane: that one's tail leaves so much
   later. (Flows know nothing of short messages, see pm__last_ps.) */
PM__APART static void pm__hold_flows(const pm__message *m, int64_t t_end_ps, int64_t d_ps) {
  pm__lane *lanes = pm__job_nic(m)->lane;
  int k;
  for (k = 0; k < 4 && pm__job_nic(m)->leaving_count; k++)
    if (lanes[k].is_busy && t_end_ps > lanes[k].t_free_ps) { /* of a busy lane: the flow's begin */
      const int64_t d_both_ps = t_end_ps - lanes[k].t_free_ps;
      lanes[k].d_held_ps = pm__later(lanes[k].d_held_ps, d_both_ps < d_ps ? d_both_ps : d_ps);
    }
}
/* The first job of a free lane. The end of a short one is known now: no event is needed, the
   lane stays free, and t_free_ps holds back the next. A flow's end depends on others, so its
   lane is busy. */
static void pm__job_start(pm_world *w, pm__lane *lane, pm__message *m) {
  const uint64_t bytes = pm__job_bytes(m);
  const int inside = pm__is_inside(w, m);
  int64_t t_ps = inside ? pm__max_ps(m->way.t_ready_ps, lane->t_free_ps)
                        : pm__job_ready_ps(w, lane, m, bytes),
          t_end_ps;
  if (!inside && m->way.link == PM_LINK_PACKET) {
    lane->is_busy = 1;
    pm__packet_send(w, m, pm__max_ps(t_ps, w->now_ps));
    return;
  }
  m->way.is_flow = bytes > (uint64_t)w->plat.pci_packet_bytes;
  m->way.is_dropped = 0;
  m->way.has_crossed = (unsigned char)inside;
  if (m->way.is_flow) {
    lane->is_busy = 1;
    lane->t_free_ps = pm__max_ps(t_ps, w->now_ps);
    lane->d_held_ps = 0;
    pm__job_nic(m)->leaving_count += !inside;
    m->way.event.fn = pm__job_flow;
    pm__schedule(w, &m->way.event, lane->t_free_ps);
    return;
  }
  if (inside)
    t_end_ps = pm__later(t_ps, pm__bytes_ps((double)bytes, w->plat.intra_bytes_per_s));
  else {
    const int64_t d_ps = pm__leaves_ps(w, m, bytes);
    t_end_ps = pm__later(t_ps, d_ps);
    if (pm__job_nic(m)->leaving_count) pm__hold_flows(m, t_end_ps, d_ps);
  }
  lane->t_free_ps = t_end_ps;
  if (!m->way.is_reply) pm__slot_release(w, m, t_end_ps);
  pm__job_left(w, m, t_ps, t_end_ps);
}
static void pm__lane_run(pm_world *w, pm__lane *lane) {
  while (!lane->is_busy && lane->head) {
    pm__message *m = lane->head;
    lane->head = m->next;
    if (w->has_lives && pm__died_between(w, pm__job_from(m), m->what.t_issue_ps, w->now_ps)) {
      if (!m->way.is_reply) pm__slot_release(w, m, w->now_ps);
      pm__travel(w, m, pm__job_from(m), pm__job_to(m), m->way.lane, w->now_ps, 0, pm__rx);
    } else
      pm__job_start(w, lane, m);
  }
}
/* Hands the message's present job (request or reply) to its lane; ready at t_ps, in order: no
   job is ready before the one pushed before it, since Portals orders the messages of a pair. */
PM__INLINE_HERE void pm__lane_push(pm_world *w, pm__message *m, int64_t t_ps) {
  pm__lane *lane = pm__lane_of(w, m);
  m->way.t_ready_ps = lane->t_ready_ps = pm__max_ps(t_ps, lane->t_ready_ps);
  if (!lane->head && !lane->is_busy && !w->has_lives) { /* it need not stand in line */
    pm__job_start(w, lane, m);
    return;
  }
  m->next = NULL;
  if (lane->head)
    lane->tail->next = m;
  else
    lane->head = m;
  lane->tail = m;
  pm__lane_run(w, lane);
}

/* ---- receiving ------------------------------------------------------------------------------------ */
/* A link of its way is due. ret whether it comes again */
PM__INLINE_HERE bool pm__is_under_way(pm_world *w, pm__message *m) {
  const int64_t wait_ps = pm__cross(w, m);
  if (w->is_unusual && w->is_faulty && m->way.has_crossed)
    pm__in_order(w, m, pm__max_ps(wait_ps, 0));
  else if (wait_ps >= 0)
    pm__goes_on(w, &m->way.event, pm__later(w->now_ps, wait_ps));
  else
    return false;
  return true;
}
/* With ack_after_write nothing is told of payload, to the host or the other side, before the NIC knows that it
   is in memory: what tells of it crosses PCI behind it, not with it. */
static bool pm__waits_for_write(const pm_world *w, const pm__message *m, uint64_t bytes) {
  return w->is_unusual && w->plat.ack_after_write && bytes && !pm__is_inside(w, m) &&
         !w->plat.no_pci;
}
/* One that is free now is as good as any other. Not with faults: copies of messages take the first one. */
static inline int64_t *pm__first_free_engine(const pm_world *w, pm__node *n) {
  if (n->t_rx_ps[0] <= w->now_ps && !w->is_faulty) return &n->t_rx_ps[0];
  const int count = (int)w->plat.nic_engine_count;
  int64_t t_best_ps = n->t_rx_ps[0];
  int best = 0, i;
  for (i = 1; i < count; i++) {
    best = n->t_rx_ps[i] < t_best_ps ? i : best;
    t_best_ps = n->t_rx_ps[i] < t_best_ps ? n->t_rx_ps[i] : t_best_ps;
  }
  return &n->t_rx_ps[best];
}
/* The head or, of a long message, the tail is here: the earliest free engine takes it, in order.
   A message comes here twice when it has to wait: has_crossed says that its wait is over.
   Engines work side by side, with occupancies that differ, so a later message could be ready
   first; t_rx_last_ps holds it back behind those of its lane, or lists would be searched in
   another order than messages were sent. */
PM__PRIVATE void pm__rx(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const int to = pm__job_to(m);
  pm__node *n = m->way.is_reply ? m->what.initiator_nic : m->what.target_nic;
  int64_t t_ps = w->now_ps;
  if (w->is_large) pm__ask_for_end(m);
  if (!m->way.has_crossed && pm__is_under_way(w, m)) return;
  if (w->is_unusual && (!m->way.is_flow || w->is_faulty)) pm__job_told(w, m, w->now_ps);
  if (!pm__is_inside(w, m) &&
      !(w->is_unusual && w->plat.quick_ack && m->way.is_reply && !pm__brings_data(m))) {
    int64_t *const engine_ps = pm__first_free_engine(w, n);
    t_ps = pm__later(pm__max_ps(t_ps, *engine_ps), pm__occupancy_ps(w, to, m));
    *engine_ps = t_ps;
    t_ps = n->t_rx_last_ps[m->way.lane] = pm__max_ps(t_ps, n->t_rx_last_ps[m->way.lane]);
  }
  if (!m->way.is_reply)
    m->way.event.fn = pm__match_event;
  else { /* the reply's data and its event cross PCI */
    const uint64_t bytes = pm__job_bytes(m);
    m->way.event.fn = pm__back_event;
    if (!pm__is_inside(w, m))
      t_ps = pm__later(pm__later(t_ps, pm__event_ps(w)),
                       bytes ? pm__bytes_ps((double)(bytes < (uint64_t)w->plat.pci_packet_bytes
                                                         ? bytes
                                                         : (uint64_t)w->plat.pci_packet_bytes),
                                            w->plat.no_pci ? 1e18 : w->plat.pci_flow_bytes_per_s)
                             : 0);
    if (pm__waits_for_write(w, m, bytes)) t_ps += w->plat.pci_latency_ns * PM__PS;
    pm__trace(w, PM_TRACE_EVENT, m, t_ps - (pm__is_inside(w, m) ? 0 : pm__event_ps(w)), t_ps, to,
              to, (uint64_t)w->plat.event_bytes);
    t_ps = pm__max_ps(t_ps, m->way.t_done_ps);
    if (m->what.kind == PM__GET && m->what.me)
      pm__fetched(w, m, w->plat.ack_after_write ? t_ps : w->now_ps);
  }
  pm__goes_on(w, &m->way.event, t_ps);
}
/* Lists are searched for one message after the other, in the order of their arrival. Of those
   that wait only the first has an event: a search that begins puts it where that search ends
   (pm__search_ends). ret whether this one has to wait: then its event comes again */
static bool pm__search_waits(pm_world *w, pm__node *n, pm__message *m) {
  if (n->search == m) { /* its turn */
    n->search = m->next;
    return false;
  }
  if (!n->search && n->t_search_ps <= w->now_ps) return false;
  m->next = NULL;
  if (n->search)
    n->search_tail->next = m;
  else {
    n->search = m;
    pm__schedule(w, &m->way.event, n->t_search_ps);
  }
  n->search_tail = m;
  return true;
}
static void pm__search_ends(pm_world *w, pm__node *n, int64_t t_ps) {
  n->t_search_ps = pm__later(t_ps, w->plat.nic_search_ns * PM__PS);
  if (n->search) pm__schedule(w, &n->search->way.event, n->t_search_ps);
}
/* At the list engines: match, write (in the background of what follows), answer. The last PCI
   packet alone is still to be written when the tail is here, and the answer does not wait for it
   [S 4.3.3, Fig. 4.10] but with ack_after_write. A node's writes end in the order of its
   matches: an event must not tell of data while that of an earlier event is still on PCI. */
static void pm__match_event(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  pm__node *n = m->what.target_nic;
  const bool inside = pm__is_inside(w, m),
             searches = w->is_unusual && !inside && (w->plat.nic_match_ns || w->plat.nic_search_ns);
  int taken;
  uint64_t bytes;
  int64_t t_ps;
  if (searches && pm__search_waits(w, n, m)) return;
  if (pm__is_for_the_dead(w, m)) {
    if (searches) pm__search_ends(w, n, w->now_ps);
    return;
  }
  taken = pm__arrive(w, m);
  bytes = pm__brings_data(m) ? 0 : m->what.mlength;
  t_ps = w->now_ps;
  if (w->plat.nic_match_ns)
    t_ps = pm__later(
        t_ps, pm__whole_ps((double)m->what.looked_at * (double)(w->plat.nic_match_ns * PM__PS)));
  if (searches) pm__search_ends(w, n, t_ps);
  if (taken) {
    if (bytes > (uint64_t)w->plat.pci_packet_bytes)
      bytes = (uint64_t)w->plat.pci_packet_bytes; /* the last packet */
    m->way.t_done_ps = t_ps;
    if (!inside && !w->plat.no_pci)
      m->way.t_done_ps =
          pm__later(t_ps + w->plat.pci_latency_ns * PM__PS,
                    bytes == (uint64_t)w->plat.pci_packet_bytes ? w->d_packet_write_ps
                                                                : pm__write_ps(w, bytes));
    if (pm__waits_for_write(w, m, bytes)) m->way.t_done_ps += w->plat.pci_latency_ns * PM__PS;
    n->t_done_ps = m->way.t_done_ps = pm__max_ps(m->way.t_done_ps, n->t_done_ps);
    pm__trace(w, PM_TRACE_PAYLOAD_WRITE, m, t_ps, m->way.t_done_ps, pm__to_node(m), pm__to_node(m),
              m->what.mlength);
    if (m->what.kind != PM__GET) {
      pm__target_waits(m);
      pm__written_at(w, m, m->way.t_done_ps);
    }
    if (pm__brings_data(m)) w->stats.sent_bytes += m->what.mlength;
  }
  if (pm__waits_for_write(w, m, bytes)) t_ps += w->plat.pci_latency_ns * PM__PS;
  if (w->is_large) {
    pm__ask_for(m->what.from, 1);
    pm__ask_for(m->what.initiator_nic, 2);
  }
  m->way.is_reply = 1;
  m->way.lane = (unsigned char)(m->way.lane | 1);
  if (w->plat.quick_ack && !pm__brings_data(m) && !inside) {
    m->way.is_flow = 0;
    m->way.has_crossed = 1; /* it takes no place on any link */
    pm__job_left(w, m, t_ps, t_ps);
  } else
    pm__lane_push(w, m, t_ps);
}

/* ---- from calls to the NIC ------------------------------------------------------------------------ */
/* Commands between CPU and NIC, first in, first out: the ring holds when each leaves (FOREVER: not
   known yet). */
PM__INLINE void pm__slot_release(pm_world *w, pm__message *m, int64_t t_ps) {
  pm__node *n = m->what.initiator_nic;
  if (!m->way.has_slot || pm__is_of_the_dead(w, m)) return;
  n->slots[m->way.slot] = t_ps;
  if (n->slot_waiters) { /* let them look again */
    pm_thread *t = n->slot_waiters;
    n->slot_waiters = NULL;
    for (; t; t = t->next_waiter) pm__resume(w, t);
  }
}
static int64_t pm__slots_max(const pm_world *w) {
  return w->plat.command_queue_count + w->plat.nic_pipeline_count;
}
PM__INLINE void pm__slot_take(pm_world *w, pm__message *m) {
  pm__node *n = m->what.initiator_nic;
  const uint32_t max = (uint32_t)pm__slots_max(w);
  if (!n->slots) {
    n->slots = (int64_t *)pm__zalloc(max * sizeof *n->slots);
    if (!n->slots) return;
    w->stats.memory_bytes += max * sizeof *n->slots;
  }
  /* From the oldest on, up to one that has not left: the queue is first in, first out, so a
     later command that has its time already keeps its slot until then. */
  while (n->slots_used && n->slots[n->slots_first] <= w->now_ps) {
    n->slots_first = pm__round(n->slots_first + 1, max);
    n->slots_used--;
  }
  if (n->slots_used >= max) return; /* triggered operations come from the NIC itself: no slot */
  m->way.slot = pm__round(n->slots_first + n->slots_used++, max);
  m->way.has_slot = 1;
  n->slots[m->way.slot] = PM__FOREVER;
}
/* How messages move from now on; how one moves that starts now. */
static void pm__link_change(pm_world *w, pm_link_model link) {
  w->desc.link = link;
  if (link == PM_LINK_CARRIER) pm__carrier_link_all(w);
}
PM__APART static void pm__link_phases_go(pm_world *w) {
  const pm_world_desc *desc = &w->desc;
  while (w->link_phases_done < desc->link_phase_count &&
         w->now_ps >= pm__ps(desc->link_phases[w->link_phases_done].t_ns))
    pm__link_change(w, desc->link_phases[w->link_phases_done++].link);
}
PM__PRIVATE pm_link_model pm__link_now(pm_world *w) {
  if (w->link_phases_done < w->desc.link_phase_count) pm__link_phases_go(w);
  return w->desc.link;
}
/* Whether a command would have to wait. (A transfer inside of a node needs no command.) */
PM__INLINE int pm__slots_are_taken(const pm_process *p, const pm__message *m) {
  pm_world *w = p->world;
  const pm__node *n = p->its_nic;
  return pm__link_now(w) != PM_LINK_LOGGP && !pm__is_inside(w, m) &&
         n->slots_used >= (uint32_t)pm__slots_max(w) && n->slots[n->slots_first] > w->now_ps;
}
/* Payload that the CPU writes takes the CPU's time; where writes are posted, time on their way alone: the
   command goes behind it, and what is written next behind that. A carrier takes its own time for it. */
static int64_t pm__pio_ps(const pm_world *w, const pm__message *m) {
  return pm__bytes_ps((double)m->what.length, w->plat.pio_bytes_per_s);
}
static int64_t pm__pio_cpu_ps(pm_world *w, const pm__message *m) {
  return pm__link_now(w) == PM_LINK_CARRIER || w->plat.pio_is_posted ? 0 : pm__pio_ps(w, m);
}
static void pm__pio_ends(pm_world *w, const pm__message *m, int64_t t_begin_ps) {
  const pm_process *p = m->what.from->proc;
  pm__node *n = p->its_nic;
  int64_t t_end_ps = w->now_ps;
  if (w->plat.pio_is_posted && pm__link_now(w) != PM_LINK_CARRIER) {
    t_begin_ps = pm__max_ps(w->now_ps, n->t_command_ps);
    t_end_ps = n->t_command_ps = pm__later(t_begin_ps, pm__pio_ps(w, m));
  }
  pm__trace(w, PM_TRACE_PIO_PAYLOAD, m, t_begin_ps, t_end_ps, p->node, p->node, m->what.length);
}
/* Of the next call. From the number of the call and not from the world's generator: so it is the same
   whether threads run ahead or not, and in whatever order processes run. */
PM__APART static int64_t pm__noise_ps(pm_process *p) {
  const pm_world_desc *desc = &p->world->desc;
  uint64_t x = desc->seed ^ (uint64_t)p->rank << 40;
  x = nbc__random(&x) + p->noise_count++;
  return pm__ps((int64_t)(nbc__random(&x) % ((uint64_t)desc->call_noise_ns + 1)));
}
/* The CPU's part of a call that moves data, step by step: time for the call, for payload that
   the CPU itself writes, and for a free command slot. ret false: that was all; else the running
   thread is busy for call->d_ps, PM__FOREVER: until it is resumed. The caller comes again after
   each step; call->done says where it is. The last step comes again until there is a slot:
   another thread of the process may have been first. */
PM__INLINE bool pm__nic_call(pm_process *p, const pm__message *m, pm__call_step *call) {
  pm_world *w = p->world;
  pm__node *n = p->its_nic;
  pm_thread *t = pm__current;
  const pm_loggp_range *range;
  switch (call->done++) {
  case 0:
    call->t_ps = w->now_ps;
    call->is_short = pm__link_now(w) == PM_LINK_LOGGP;
    range = call->is_short ? pm__loggp_of(w, (double)m->what.length) : NULL;
    call->d_ps = pm__later(range            ? pm__ps(range->overhead_ns)
                           : call->is_short ? pm__ps(w->plat.loggp_overhead_ns)
                                            : w->d_call_ps,
                           w->desc.call_noise_ns ? pm__noise_ps(p) : 0);
    call->what = "a Portals call";
    t->is_idle = call->d_ps <= w->d_look_max_ps;
    return true;
  case 1:
    t->is_idle = 0;
    if (call->is_short) return false;
    if (m->what.kind == PM__GET || pm__is_inside(w, m) || w->plat.no_pci || pm__is_inline(w, m) ||
        !pm__is_pio(w, m))
      break;
    call->t_pio_ps = w->now_ps;
    call->is_pio = 1;
    call->d_ps = pm__later(w->plat.pio_fence_ns * PM__PS, pm__pio_cpu_ps(w, m));
    call->what = "PIO";
    return true;
  case 2:
    if (call->is_pio) pm__pio_ends(w, m, call->t_pio_ps);
    break;
  default: break;
  }
  if (pm__slots_are_taken(p, m)) {
    call->d_ps = n->slots[n->slots_first];
    call->what = "a command slot";
    if (call->d_ps != PM__FOREVER)
      call->d_ps -= w->now_ps;
    else {
      t->next_waiter = n->slot_waiters;
      n->slot_waiters = t;
    }
    return true;
  }
  w->stats.d_command_stall_ns += (w->now_ps - call->t_ps) / PM__PS;
  return false;
}

/* The command of a message sets out for the NIC, behind those before it: when it is there. Carriers and LogGP have
   their own way. */
static int64_t pm__nic_command(pm_world *w, const pm__message *m) {
  const int node = m->what.from_nic;
  pm__node *n = m->what.initiator_nic;
  int64_t t_ps = w->now_ps;
  if (m->way.link == PM_LINK_CARRIER || m->way.link == PM_LINK_LOGGP || pm__is_inside(w, m))
    return t_ps;
  t_ps = pm__max_ps(t_ps, n->t_command_ps);
  if (!w->plat.no_pci_commands && !w->plat.no_pci) {
    n->t_command_ps = pm__later(t_ps, w->d_command_ps);
    t_ps = pm__later(n->t_command_ps, w->plat.pci_latency_ns * PM__PS);
  }
  pm__trace(w, PM_TRACE_COMMAND, m, w->now_ps, t_ps, node, node, (uint64_t)w->plat.command_bytes);
  return t_ps;
}
/* An end-to-end entry is free, and takes the message. */
static void pm__nic_inject(pm_world *w, pm__message *m) {
  m->what.initiator_nic->in_flight++;
  m->what.initiator_nic->link = m->way.link;
  m->what.from->proc->in_flight++;
  if (m->way.link == PM_LINK_LOGGP) {
    pm__loggp_send(w, m);
    return;
  }
  m->way.lane =
      (unsigned char)(w->desc.service_uid && m->what.from->proc->uid == w->desc.service_uid ? 2
                                                                                            : 0);
  if (m->way.link == PM_LINK_CARRIER) {
    pm__carrier_send(w, m);
    return;
  }
  if (!pm__is_inside(w, m)) pm__slot_take(w, m);
  pm__lane_push(w, m, pm__max_ps(w->now_ps, m->way.t_ready_ps));
}
/* Limits of what is in flight, per process and per node [S 7.1]: what is beyond waits in order.
   So does the first message of another level, until those of the old one are back: it must not
   overtake them (levels know nothing of each other's queues, and each message ends in the level
   that it began in [S 6]). */
static int pm__may_fly(const pm_world *w, const pm__message *m) {
  const int64_t node_max = w->plat.inflight_per_node_count,
                process_max = w->plat.inflight_per_process_count;
  const pm__node *n = m->what.initiator_nic;
  return (!n->in_flight || n->link == m->way.link) &&
         (n->in_flight < w->plat.e2e_entry_count ||
          m->way.link == PM_LINK_CARRIER) && /* which has entries of its own */
         (!w->is_unusual || ((!node_max || n->in_flight < node_max) &&
                             (!process_max || m->what.from->proc->in_flight < process_max)));
}
PM__PRIVATE void pm__nic_send(pm_world *w, pm__message *m) {
  pm__node *n = m->what.initiator_nic;
  pm__note(w, m, 0);
  m->what.from->proc->under_way++;
  if (m->cargo.is_triggered) { /* its NIC has it */
    m->way.link = PM_LINK_CARRIER;
    pm__nic_inject(w, m);
    return;
  }
  m->way.link = (unsigned char)pm__link_now(w); /* and stays with it when the world changes over */
  if (m->way.link == PM_LINK_CARRIER && pm__is_inside(w, m)) m->way.link = PM_LINK_FLOW;
  m->way.t_ready_ps =
      pm__nic_command(w, m); /* a command that has to wait waits inside of the NIC */
  if (!n->held && pm__may_fly(w, m)) {
    pm__nic_inject(w, m);
    return;
  }
  m->next = NULL;
  if (n->held)
    n->held_tail->next = m;
  else
    n->held = m;
  n->held_tail = m;
}
/* One has come back: the first of those held back that may go, goes; when it was the last of its
   level, all of the next one that may. One for one keeps the limit. A message beyond its own
   process's limit does not stop those of others behind it, but none goes past a message of
   another level. */
PM__PRIVATE void pm__nic_landed(pm_world *w, const pm__message *done) {
  pm__node *n = done->what.initiator_nic;
  pm__message *m, *previous = NULL, *next;
  bool is_change;
  if (pm__is_of_the_dead(w, done)) return; /* the fresh NIC never sent it */
  n->in_flight--;
  done->what.from->proc->in_flight--;
  is_change = n->held && !n->in_flight && n->held->way.link != done->way.link;
  for (m = n->held; m; m = next) {
    next = m->next;
    if (n->in_flight && n->link != m->way.link) return;
    if (!pm__may_fly(w, m)) {
      previous = m;
      continue;
    }
    if (previous)
      previous->next = next;
    else
      n->held = next;
    if (n->held_tail == m) n->held_tail = previous;
    pm__nic_inject(w, m);
    if (!is_change) return;
  }
}
PM_API void pm_world_set_link(pm_world *world, pm_link_model link) {
  if (!world) return;
  if (world->desc.threads)
    pm_world_fail(world, PM_E_STATE, "pm_world_set_link: not in a world over threads");
  else if (link == PM_LINK_CARRIER && world->desc.faults.outage_count)
    pm_world_fail(world, PM_E_INVAL, "pm_world_set_link: the level rtl knows no outages");
  else if (link == PM_LINK_CARRIER && world->plat.nic_count > 1)
    pm_world_fail(world, PM_E_PLATFORM, PM__ONE_NIC);
  else if (link == PM_LINK_CARRIER && !world->is_carrying)
    pm_world_fail(world, PM_E_INVAL, "pm_world_set_link: the world has no carrier");
  else
    pm__link_change(world, link);
}
#ifdef NBC_LINES
#line 1 "src/portals/carrier.c"
#endif

/* ---- carriers ------------------------------------------------------------------------------------- */
PM__PRIVATE pm_status pm__carrier_open(pm_world *w) {
  return w->desc.carrier->open(w->desc.carrier->ctx, w);
}
PM__PRIVATE void pm__carrier_close(pm_world *w) { w->desc.carrier->close(w->desc.carrier->ctx); }
PM__PRIVATE bool pm__carrier_is_busy(const pm_world *w) {
  return w->desc.carrier->is_busy(w->desc.carrier->ctx);
}
PM__PRIVATE int pm__carrier_advance(pm_world *w, int64_t until_ps) {
  return w->desc.carrier->advance(w->desc.carrier->ctx, until_ps);
}
static pm__message *pm__cargo_open(const pm_cargo *cargo) { /* the present is the carrier's */
  pm__message *m = (pm__message *)cargo->message;
  pm_world *w = m->what.from->proc->world;
  pm__trigger *t = m->cargo.trigger;
  w->now_ps = pm__max_ps(w->now_ps, w->desc.carrier->now_ps(w->desc.carrier->ctx));
  if (t) { /* released there before its counter was told of here */
    m->cargo.trigger = NULL;
    t->message = NULL;
    pm__message_start(w, m);
  }
  return m;
}

/* ---- counters that the carrier keeps too ---- */
/* From the level's time on: triggers may be posted, entries appended before the first message goes. */
static bool pm__carries_now(pm_world *w) {
  return w->is_carrying && pm__link_now(w) == PM_LINK_CARRIER;
}
static bool pm__keeps_counters(pm_world *w) {
  return pm__carries_now(w) && w->desc.carrier->counter_new &&
         !w->desc.semantics.trigger_success_only; /* a NIC compares the sum */
}
/* 1 + its number; it gets one when it is first used for something that NICs count. 0: they do not. */
static int pm__counter_number(pm__ct *ct) {
  pm_world *w;
  if (!ct) return 0;
  w = ct->ni->proc->world;
  if (!ct->carried && pm__keeps_counters(w)) {
    ct->carried =
        1 + w->desc.carrier->counter_new(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node);
    pm__carrier_count(ct);
  }
  return ct->carried;
}
PM__INLINE void pm__carrier_count(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  if (ct->carried && w->is_carrying)
    w->desc.carrier->counter_is(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node,
                                ct->carried - 1, ct->value);
}
PM__PRIVATE void pm__carrier_count_end(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  if (ct->carried && w->is_carrying)
    w->desc.carrier->counter_free(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node,
                                  ct->carried - 1);
  ct->carried = 0;
}
/* Numbers as a NIC computes them: none of long doubles. The operands of what it releases itself it reads then, with nothing
   to compare behind them. */
static bool pm__is_computed(const pm__message *m) {
  return (m->what.kind == PM__ATOMIC ||
          (pm__is_fetch(m) && (!m->cargo.is_triggered || m->what.op <= PTL_SWAP))) &&
         m->what.type != PTL_LONG_DOUBLE && m->what.type != PTL_LONG_DOUBLE_COMPLEX &&
         m->what.length && m->what.length % pm__type_bytes(m->what.type) == 0;
}
/* Which counter of the carrier grows by one when the answer is there. 0: none, or by something else: then the model
   tells its value. Where entries give no acknowledgements, the carrier's answer may be none. */
static int pm__counter_of_answer(pm__message *m) {
  const bool is_back = m->what.kind == PM__GET || pm__is_fetch(m);
  const pm__md *md = m->what.get_md ? m->what.get_md : m->what.md;
  if (!(md->md.options & (is_back ? PTL_MD_EVENT_CT_REPLY : PTL_MD_EVENT_CT_ACK)) ||
      (md->md.options & PTL_MD_EVENT_CT_BYTES) ||
      (!is_back && m->what.from->proc->world->has_mute_entries) ||
      (!is_back && m->what.ack_req != PTL_ACK_REQ && m->what.ack_req != PTL_CT_ACK_REQ))
    return 0;
  return pm__counter_number(pm__ct_at(m->what.from, md->md.ct_handle));
}
static pm_cargo pm__cargo_of(pm_world *w, pm__message *m) {
  pm_cargo c;
  memset(&c, 0, sizeof c);
  m->cargo.is_computed = pm__is_computed(m);
  c.message = m;
  c.kind = m->what.kind == PM__GET ? PM_CARGO_GET
           : !m->cargo.is_computed ? pm__is_fetch(m) ? PM_CARGO_EXCHANGE : PM_CARGO_PUT
           : pm__is_fetch(m)       ? PM_CARGO_FETCH
                                   : PM_CARGO_ATOMIC;
  c.from_node = m->what.from->proc->node;
  c.to_node = pm__to_node(m);
  c.from_pid = m->what.from->proc->pid;
  c.to_pid = m->what.target.phys.pid;
  c.from_uid = m->what.from->proc->uid;
  c.interface_index = m->what.from->index;
  c.pt_index = m->what.pt;
  c.match_bits = m->what.match_bits;
  c.remote_offset_bytes = m->what.remote_offset;
  c.is_service = w->desc.service_uid && m->what.from->proc->uid == w->desc.service_uid;
  c.payload = m->cargo.is_triggered                 ? m->what.length ? 2 : 0
              : pm__is_inline(w, m)                 ? 0
              : pm__is_pio(w, m) || pm__is_fetch(m) ? 1
                                                    : 2;
  c.tells_sent = m->what.is_early_send;
  c.size_bytes = m->what.length;
  c.counter = c.kind == PM_CARGO_EXCHANGE ? 0 : pm__counter_of_answer(m);
  c.behind = m->cargo.behind;
  if (m->cargo.is_computed) {
    c.operation = m->what.op;
    c.element_bytes = (int)pm__type_bytes(m->what.type);
    c.is_signed = m->what.type == PTL_INT8_T || m->what.type == PTL_INT16_T ||
                  m->what.type == PTL_INT32_T || m->what.type == PTL_INT64_T;
    c.is_complex = m->what.type == PTL_FLOAT_COMPLEX || m->what.type == PTL_DOUBLE_COMPLEX;
    c.is_float = c.is_complex || m->what.type == PTL_FLOAT || m->what.type == PTL_DOUBLE;
    memcpy(c.compare, m->what.operand, sizeof c.compare);
  }
  return c;
}
PM__PRIVATE void pm__carrier_send(pm_world *w, pm__message *m) {
  const pm_carrier *carrier = w->desc.carrier;
  pm_cargo c;
  pm_status status;
  if (m->cargo.is_triggered) return; /* it was given when it was posted */
  c = pm__cargo_of(w, m);
  pm__slot_take(w, m);
  if (c.tells_sent) m->way.pending++;
  status = carrier->submit(carrier->ctx, w->now_ps, &c);
  if (status) pm_world_fail(w, status, "the carrier does not take a message");
}
/* The carrier gets it, if it takes it. */
static void pm__carrier_post(pm__trigger *t) {
  pm_world *w = t->ni->proc->world;
  pm__message *m = t->message;
  pm_carrier_trigger x;
  pm_cargo c;
  memset(&x, 0, sizeof x);
  x.node = t->ni->proc->node;
  x.counter = pm__keeps_counters(w) ? pm__counter_number(t->ct) - 1 : -1;
  if (x.counter < 0) return;
  x.threshold = t->threshold;
  if (t->kind == PM__TRIG_MOVE) {
    if (pm__is_inside(w, m)) return;
    m->cargo.is_triggered = 1;
    c = pm__cargo_of(w, m);
    x.cargo = &c;
  } else {
    x.target = pm__counter_number(pm__ct_at(t->ni, t->handle)) - 1;
    x.is_set = t->kind == PM__TRIG_SET;
    x.value = t->value;
    if (x.target < 0) return;
  }
  t->carried = 1 + w->desc.carrier->trigger_posted(w->desc.carrier->ctx, w->now_ps, &x);
  if (!m) return;
  m->cargo.is_triggered = t->carried != 0;
  m->cargo.trigger = t->carried ? t : NULL;
}
static bool pm__splits_are_there(pm__ni *ni) {
  if (!ni->splits)
    ni->splits = (pm__split *)pm__zalloc((size_t)ni->limits.max_cts * sizeof *ni->splits);
  if (!ni->splits) pm_world_fail(ni->proc->world, PM_E_NOMEM, "out of memory: triggers");
  return ni->splits != NULL;
}
/* Those of one counter go in the order of thresholds, and the carrier's go before the model hears of what released them:
   so it gets none that is to go behind one of the model's, and where the model has one that is to go before some of the
   carrier's, it takes these back. */
PM__PRIVATE void pm__carrier_trigger(pm__trigger *t) {
  pm__split *s;
  if (!t->ni->proc->world->desc.carrier || !pm__splits_are_there(t->ni)) return;
  s = pm__split_of(t->ct);
  if (t->kind <= PM__TRIG_SET && !(s->held_count && t->threshold >= s->held_least))
    pm__carrier_post(t);
  if (t->carried) {
    if (!s->carried_count++ || t->threshold > s->carried_most) s->carried_most = t->threshold;
    return;
  }
  t->is_held = 1;
  if (!s->held_count++ || t->threshold < s->held_least) s->held_least = t->threshold;
  if (!s->carried_count || t->threshold >= s->carried_most) return;
  pm__carrier_cancel(t->ct);
  pm__triggers_take_back(t->ct);
}
PM__PRIVATE void pm__carrier_due(pm__trigger *t) {
  pm_world *w = t->ni->proc->world;
  w->desc.carrier->trigger_due(w->desc.carrier->ctx, w->now_ps, t->ni->proc->node, t->carried - 1);
}
PM__PRIVATE void pm__carrier_cancel(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  if (ct->carried && w->is_carrying)
    w->desc.carrier->triggers_cancelled(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node,
                                        ct->carried - 1);
}
PM_API void pm_cargo_payload(const pm_cargo *cargo, uint64_t offset_bytes, void *buffer,
                             size_t size_bytes) {
  pm__message *m = (pm__message *)cargo->message;
  const uint64_t left = offset_bytes < m->what.length ? m->what.length - offset_bytes : 0;
  memset(buffer, 0, size_bytes);
  if (!left || (!m->what.has_copy && !m->what.kept &&
                (!pm__from_is_alive(m) || m->what.from->proc->world->desc.no_data)))
    return;
  if (!pm__copied(m->what.from->proc->world, pm__flat(buffer),
                  m->what.kept ? pm__flat(m->what.kept + offset_bytes)
                  : m->what.has_copy
                      ? pm__flat(m->what.copy + offset_bytes)
                      : pm__md_cursor(m->what.md, m->what.local_offset + offset_bytes),
                  left < size_bytes ? left : size_bytes))
    m->what.fail = PTL_NI_SEGV;
}
PM_API void pm_cargo_sent(const pm_cargo *cargo) {
  pm__message *m = pm__cargo_open(cargo);
  pm__slot_release(m->what.from->proc->world, m, m->what.from->proc->world->now_ps);
  m->way.has_slot = 0;
  pm__initiator_sent(m);
  pm__message_release(m->what.from->proc->world, m);
}
PM_API void pm_cargo_match(const pm_cargo *cargo, void *data) {
  pm__message *m = pm__cargo_open(cargo);
  pm_world *w = m->what.from->proc->world;
  m->cargo.lookup = pm__arrive(w, m) ? PM__LOOKUP_FOUND : PM__LOOKUP_REFUSED;
  if (!data) return;
  memset(data, 0, (size_t)cargo->size_bytes);
  if (m->cargo.lookup == PM__LOOKUP_FOUND && m->what.mlength &&
      !(m->what.kind == PM__GET && w->desc.no_data) &&
      !pm__copied(w, pm__flat(data), pm__me_cursor(m), m->what.mlength))
    pm__lost_memory(m);
}
PM_API int pm_cargo_entry(const pm_cargo *cargo) {
  const pm__message *m = (const pm__message *)cargo->message;
  return m->cargo.lookup >= PM__LOOKUP_FOUND && m->what.me ? m->what.me->carried - 1 : -1;
}
PM_API void pm_cargo_store(const pm_cargo *cargo, const void *operand, const void *was,
                           const void *value) {
  pm__message *m = pm__cargo_open(cargo);
  const size_t length = (size_t)m->what.length;
  pm_world *w = m->what.from->proc->world;
  unsigned char now[PM__ATOMIC_BYTES];
  bool is_there;
  if (m->cargo.lookup != PM__LOOKUP_FOUND || !m->what.mlength) return;
  is_there = pm__copied(w, pm__flat(now), pm__me_cursor(m), m->what.mlength);
  if (is_there && m->what.mlength == length && memcmp(now, was, length) == 0) {
    memcpy(now, value, length);
    is_there = pm__copied(w, pm__me_cursor(m), pm__flat(now), length);
  } else if (is_there) { /* truncated, or changed meanwhile by what is not the carrier's */
    if (pm__is_fetch(m)) memcpy(m->what.copy, now, (size_t)m->what.mlength);
    is_there = pm__atomic(w, m, (const unsigned char *)operand, m->what.mlength);
    m->cargo.lookup = PM__LOOKUP_COMPUTED;
  }
  if (!is_there) pm__lost_memory(m);
}
PM_API void pm_cargo_arrived(const pm_cargo *cargo, int64_t t_begin_ps, int64_t t_end_ps,
                             void *data) {
  pm__message *m = pm__cargo_open(cargo);
  pm_world *w = m->what.from->proc->world;
  if (m->cargo.lookup == PM__LOOKUP_NOT_YET) {
    m->cargo.wire = (unsigned char *)data;
    pm_cargo_match(cargo, NULL);
  }
  if (m->what.kind != PM__GET && m->what.length) pm__stamp(w, m, 0, t_begin_ps, t_end_ps);
  pm__trace(w, pm__travel_kind(m), m, t_begin_ps, t_end_ps, cargo->from_node, cargo->to_node,
            m->what.kind == PM__GET ? 0 : m->what.length);
  if (m->cargo.lookup >= PM__LOOKUP_FOUND) {
    if (m->what.kind != PM__GET) pm__written(w, m);
    if (pm__brings_data(m)) w->stats.sent_bytes += m->what.mlength;
    if (cargo->kind == PM_CARGO_EXCHANGE && data)
      memcpy(data, m->what.copy, (size_t)m->what.mlength);
  }
  m->cargo.wire = NULL;
  m->way.is_reply = 1;
}
PM_API void pm_cargo_returned(const pm_cargo *cargo, bool is_delivered, int64_t t_begin_ps,
                              int64_t t_end_ps, void *data) {
  pm__message *m = pm__cargo_open(cargo);
  pm_world *w = m->what.from->proc->world;
  if (!is_delivered) {
    pm__undeliverable(w, m);
  } else {
    const uint64_t bytes = pm__brings_data(m) ? m->what.mlength : 0;
    if (bytes && data && !m->what.fail && pm__from_is_alive(m) && !w->desc.no_data) {
      if (m->what.kind == PM__GET) {
        if (!pm__copied(w, pm__md_cursor(m->what.md, m->what.local_offset), pm__flat(data), bytes))
          pm__lost_memory(m);
      } else if (m->cargo.lookup == PM__LOOKUP_FOUND)
        memcpy(m->what.copy, data, (size_t)bytes);
    }
    if (bytes) pm__stamp(w, m, 1, t_begin_ps, t_end_ps);
    pm__trace(w, pm__travel_kind(m), m, t_begin_ps, t_end_ps, cargo->to_node, cargo->from_node,
              bytes);
  }
  if (m->cargo.lookup >= PM__LOOKUP_FOUND &&
      m->what.kind == PM__GET) { /* its target hears of it by the confirmation */
    pm__fetched(w, m, w->now_ps);
  } else if (m->cargo.lookup >= PM__LOOKUP_FOUND && !m->way.is_reply)
    pm__written(w, m); /* given up on the way: the entry is free again */
  pm__slot_release(w, m, w->now_ps);
  pm__come_back(w, m);
}

/* ---- lists that the carrier keeps too ------------------------------------------------------------- */
/* Whose messages an entry takes, as NICs know senders. */
static void pm__entry_from(const pm__ni *ni, ptl_process_t wanted, pm_carrier_entry *e) {
  e->from_node_id = e->from_process_id = -1;
  if (!pm__is_matching(ni)) return;
  if (pm__is_logical(ni)) {
    if (wanted.rank == PTL_RANK_ANY) return;
    e->from_node_id = e->from_process_id = -2;
    if (!ni->map || wanted.rank >= ni->map->count) return;
    wanted = ni->map->id[wanted.rank];
  }
  e->from_node_id = wanted.phys.nid == PTL_NID_ANY ? -1 : (int64_t)wanted.phys.nid;
  e->from_process_id = wanted.phys.pid == PTL_PID_ANY ? -1 : (int64_t)wanted.phys.pid;
}
static bool pm__keeps_lists(pm_world *w) {
  return pm__carries_now(w) && w->desc.carrier->entry_linked;
}
static pm_carrier_entry pm__entry_of(const pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *me) {
  pm_carrier_entry e;
  memset(&e, 0, sizeof e);
  e.node = ni->proc->node;
  e.pid = ni->proc->pid;
  e.interface_index = ni->index;
  e.pt_index = index;
  e.is_use_once = (me->options & PTL_ME_USE_ONCE) != 0;
  e.is_untold = (me->options & PTL_ME_EVENT_OVER_DISABLE) != 0;
  e.never_cuts = pm__is_matching(ni) && me->options & PTL_ME_NO_TRUNCATE;
  e.is_local = (me->options & PTL_ME_MANAGE_LOCAL) != 0;
  e.adds_lengths = (me->options & PTL_ME_LOCAL_INC_UH_RLENGTH) != 0;
  e.takes_puts = (me->options & PTL_ME_OP_PUT) != 0;
  e.takes_gets = (me->options & PTL_ME_OP_GET) != 0;
  e.is_mute = (me->options & PTL_ME_ACK_DISABLE) != 0;
  /* where another user's entry is passed over only the model knows */
  e.uid = me->uid == PTL_UID_ANY || ni->proc->world->desc.semantics.uid_is_matched
              ? -1
              : (int64_t)me->uid;
  e.min_free_bytes = me->min_free;
  e.size_bytes = pm__capacity(me->start, me->length, me->options);
  e.match_bits = me->match_bits;
  e.ignore_bits = pm__is_matching(ni) ? me->ignore_bits : ~(ptl_match_bits_t)0;
  pm__entry_from(ni, me->match_id, &e);
  return e;
}
/* A NIC counts what it lets in, and what waits for that goes at once. So an entry counts there if nothing that only the
   model knows can refuse its messages or pass it over: too little room in headers or queue. Gets and
   fetches are refused by an entry for puts, and are not counted there; one that takes them too tells of a get later than
   the NIC, and one that counts bytes knows how many were moved. */
static bool pm__counts_apart(const pm__pt *pt, const pm__me *me) {
  const unsigned int o = me->me.options;
  const bool leaves_headers = me->list == PTL_OVERFLOW_LIST && !(o & PTL_ME_UNEXPECTED_HDR_DISABLE);
  return (o & (PTL_ME_OP_PUT | PTL_ME_OP_GET)) != PTL_ME_OP_PUT || leaves_headers ||
         (o & PTL_ME_EVENT_CT_BYTES) || (pt->options & PTL_PT_FLOWCTRL);
}
PM__PRIVATE void pm__carrier_portal(const pm__ni *ni, ptl_pt_index_t index) {
  pm_world *w = ni->proc->world;
  if (pm__keeps_lists(w) && w->desc.carrier->portal_is)
    w->desc.carrier->portal_is(w->desc.carrier->ctx, w->now_ps, ni->proc->node, ni->proc->pid,
                               ni->index, index, pm__pt_of(ni, index)->enabled != 0);
}
/* number: 0, or by which the carrier tells that it has been appended */
static void pm__carrier_append(pm__ni *ni, pm__me *me, uint64_t number) {
  pm_world *w = ni->proc->world;
  pm_carrier_entry e = pm__entry_of(ni, me->pt, &me->me);
  const unsigned int options = me->me.options;
  if (options & PTL_ME_ACK_DISABLE) w->has_mute_entries = true;
  e.is_overflow = me->list == PTL_OVERFLOW_LIST;
  e.keeps_headers = e.is_overflow && !(options & PTL_ME_UNEXPECTED_HDR_DISABLE);
  e.op_id = number;
  if ((options & PTL_ME_EVENT_CT_COMM) && !pm__counts_apart(pm__pt_of(ni, me->pt), me) &&
      (e.uid >= 0 || me->me.uid == PTL_UID_ANY))
    e.counter = pm__counter_number(pm__ct_at(ni, me->me.ct_handle));
  me->carried = 1 + w->desc.carrier->entry_linked(w->desc.carrier->ctx, w->now_ps, &e);
  if (!pm__pt_of(ni, me->pt)->enabled) pm__carrier_portal(ni, me->pt);
}
PM__PRIVATE void pm__carrier_link(pm__ni *ni, pm__me *me) {
  if (pm__keeps_lists(ni->proc->world) && !me->carried) pm__carrier_append(ni, me, 0);
}
PM__PRIVATE bool pm__carrier_ask(pm__ni *ni, ptl_pt_index_t index, pm__me *me,
                                 const ptl_me_t *wanted, ptl_search_op_t op, uint64_t number) {
  pm_world *w = ni->proc->world;
  pm_carrier_entry e;
  if (!pm__keeps_lists(w)) return 0;
  if (me) {
    pm__carrier_append(ni, me, number);
    return me->carried != 0;
  }
  e = pm__entry_of(ni, index, wanted);
  e.search = op == PTL_SEARCH_DELETE ? 2 : 1;
  e.op_id = number;
  return w->desc.carrier->entry_linked(w->desc.carrier->ctx, w->now_ps, &e) >= 0;
}
PM_API void pm_list_told(pm_world *world, uint64_t op_id) {
  if (!world) return;
  world->now_ps = pm__max_ps(world->now_ps, world->desc.carrier->now_ps(world->desc.carrier->ctx));
  pm__list_told(world, op_id);
}
PM__PRIVATE void pm__carrier_unlink(pm__ni *ni, pm__me *me) {
  pm_world *w = ni->proc->world;
  const pm_carrier *carrier = w->desc.carrier;
  if (me->carried && w->is_carrying)
    carrier->entry_unlinked(carrier->ctx, w->now_ps, ni->proc->node, me->carried - 1,
                            me->auto_unlinked);
  me->carried = 0;
}
PM__PRIVATE void pm__carrier_link_all(pm_world *w) {
  int p, i, pt, list;
  pm__me *me;
  for (p = 0; p < w->proc_count; p++)
    for (i = 0; i < 4; i++) {
      pm__ni *ni = w->procs[p]->ni[i];
      for (pt = 0; ni && ni->refs && pt < PM__PTS * PM__PT_GROUPS; pt++)
        for (list = 0; list < 2 && ni->pt[pt / PM__PTS]; list++)
          for (me = ni->pt[pt / PM__PTS][pt % PM__PTS].head[list]; me; me = me->next)
            pm__carrier_link(ni, me);
    }
}
#ifdef NBC_LINES
#line 1 "src/portals/packet.c"
#endif
/* The packet level: see packet.h. */



/* Each directed link belongs to a port: queues in front of it, one per virtual channel, and the buffers at
   its far end. A packet goes

     out queue --(link free, credit for the far buffer)--> in queue of the next switch
               --(it is the first there, and there is room)--> out queue of its next link ...

   The link is given to channels in turn, room in an out queue to the in queues that wait for it in the order in
   which they began to wait. In a torus or a network from a file both go to the packet that left its NIC first: else
   what enters a ring fills it up until all of it waits for a few holes that go around, and the longer the ring, the
   less it carries (Abts and Weisser, Age-based packet arbitration in large-radix k-ary n-cubes, 2007). The head of
   a packet goes on while its tail still comes (cut-through). The last link's far end is a NIC, which always takes.
   So a full out queue stops all that is behind the first packet of an in queue: head-of-line blocking; and a full in
   queue stops the link before it: back pressure.

   Channels keep cycles of waiting out: a dragonfly's packet goes up one with each global link, a torus's from
   0 to 1 where it crosses the edge of a ring; up and down a fat tree there is no cycle. A file's goes up one
   with each of its first links, to 3, and from there on wherever its way turns from down to up again: up is
   what leads further away from all nodes, or as far to a switch that the file names later; within a switch is down.
   So what waits in one channel waits first for links up, then for links down, and never in a ring (as in "up-down"
   routing, Schroeder and others, Autonet, 1991). There are as many channels as the ways need that were gone so far:
   4, one more for rings and meshes of switches, two for tori, rarely more, 33 at most; each has buffers of its own
   behind each link.

   A packet whose next cable is down takes the shortest way around from the switch where it is. Such ways have
   any shape, so they have a channel of their own whose buffers have no end. What has no way is dropped; then the rest
   of its message does not leave, and all of it is sent again (pm__wire). What is on a cable when it fails arrives, but
   not at a NIC that is cut off. */
enum { PM__DETOUR = 4, PM__NEVER_CHOSEN = -1, PM__TREE_MAX = 8 };
typedef struct pm__packet {
  pm__event event; /* first: its head is at the far end; at a NIC its tail */
  pm__message *m;
  struct pm__packet *next, *next_made;
  int64_t t_tail_ps, t_queued_ps; /* queued: in front of its link since */
  uint32_t bytes, base;           /* base: the first link of its rail */
  int hop, link_count, chosen;    /* chosen: up to this hop its way is settled */
  int64_t latency_ps, t_sent_ps;  /* of its way, when it left; then it came to its NIC's link */
  int to;                         /* NIC */
  bool is_written;                /* its time on the target's PCI root has begun */
  int port[PM__TREE_MAX];         /* of a fat tree's switches, on the way up */
  uint32_t link[PM__ROUTE_MAX + 2];
  unsigned char channel[PM__ROUTE_MAX + 2];
} pm__packet;
typedef struct pm__queue {
  pm__packet *first, *last;
  int64_t bytes; /* of an in queue: those on the link too, and credits on their way back */
} pm__queue;
typedef struct pm__port {
  pm__event event; /* first: the link is free */
  int64_t t_free_ps;
  uint64_t waiting; /* a bit for each channel with packets in front of the link */
  int last_channel;
} pm__port;
/* One of a port's channels. In queues that wait for room in front of this link are chained; they are known by
   their place among all channels, from 1. */
typedef struct pm__channel {
  pm__queue out, in;
  uint32_t waits_first, waits_last; /* 0: nobody waits */
  uint32_t next_wait;               /* who waits behind this one's in queue */
} pm__channel;
/* A buffer that became free at the far end of a link, on its way back to the sender as an event of
   its own: a credit takes the latency of the cable, so a buffer smaller than bandwidth times round
   trip costs bandwidth. Or payload of a message that is there (link_credit_bytes): that credit takes the latency
   of the way. */
typedef struct pm__credit {
  pm__event event; /* first */
  struct pm__credit *next, *next_made;
  pm__message *m; /* NULL: of a link */
  bool is_reply;  /* of its way back */
  uint32_t link;
  int channel;
  int64_t bytes;
} pm__credit;
struct pm__packets {
  pm__port *port;       /* of each directed link of the network */
  pm__channel *channel; /* channel_count of each link, see pm__channel_of */
  int channel_count;
  bool *is_up; /* of a file's links (one rail): see the head of this file */
  pm__packet *free_packets, *packets_made;
  pm__credit *free_credits, *credits_made;
};

static void pm__head_event(pm_world *w, pm__event *event);
static void pm__port_event(pm_world *w, pm__event *event);
static void pm__forward(pm_world *w, uint32_t link, int channel);
static void pm__payload_may_go(pm_world *w, pm__message *m, bool is_reply, int64_t bytes);

static int pm__no_memory(pm_world *w) {
  pm_world_fail(w, PM_E_NOMEM, "out of memory: packets");
  return 0;
}
static pm__channel *pm__channel_of(const pm_world *w, uint32_t link, int channel) {
  return &w->packets->channel[(size_t)link * (size_t)w->packets->channel_count + (size_t)channel];
}
/* A channel's place among all, when there were so many of each link: where it is now. */
static uint32_t pm__place_now(uint32_t place, uint32_t before, uint32_t now) {
  return place ? (place - 1) / before * now + (place - 1) % before + 1 : 0;
}
/* So many channels for each link. ret false: out of memory */
static bool pm__channels_grow(pm_world *w, int count) {
  struct pm__packets *s = w->packets;
  const size_t links = (size_t)w->net_link_count, before = (size_t)s->channel_count,
               now = (size_t)count;
  pm__channel *all;
  size_t i, c;
  if (now <= before) return true;
  all = links * now < UINT32_MAX ? (pm__channel *)pm__zalloc(links * now * sizeof *all) : NULL;
  if (!all) return pm__no_memory(w);
  for (i = 0; i < links; i++)
    for (c = 0; c < before; c++) {
      pm__channel *to = &all[i * now + c];
      *to = s->channel[i * before + c];
      to->waits_first = pm__place_now(to->waits_first, (uint32_t)before, (uint32_t)now);
      to->waits_last = pm__place_now(to->waits_last, (uint32_t)before, (uint32_t)now);
      to->next_wait = pm__place_now(to->next_wait, (uint32_t)before, (uint32_t)now);
    }
  PM_FREE(s->channel);
  s->channel = all;
  s->channel_count = count;
  w->stats.memory_bytes += links * (now - before) * sizeof *all;
  return true;
}
/* Which links of a file lead up: a search from all nodes at once says how far from them each switch is. */
static bool pm__file_order(pm_world *w) {
  const pm__graph *g = w->graph;
  int *far = (int *)pm__zalloc((size_t)g->vertices * sizeof *far), head = 0, tail = 0, v, k;
  w->packets->is_up = (bool *)pm__zalloc(2 * (size_t)g->cables * sizeof(bool));
  if (!far || !w->packets->is_up) {
    PM_FREE(far);
    return pm__no_memory(w);
  }
  for (v = 0; v < (int)w->plat.node_count; v++) g->queue[tail++] = v;
  while (head < tail) {
    v = g->queue[head++];
    for (k = g->first[v]; k < g->first[v + 1]; k++) {
      const int to = g->end[g->out[k]];
      if (to < (int)w->plat.node_count || far[to]) continue;
      far[to] = far[v] + 1;
      g->queue[tail++] = to;
    }
  }
  for (k = 0; k < 2 * g->cables; k++) {
    const int from = g->end[k ^ 1], to = g->end[k];
    w->packets->is_up[k] = far[to] > far[from] || (far[to] == far[from] && to > from);
  }
  PM_FREE(far);
  w->stats.memory_bytes += 2 * (size_t)g->cables * sizeof(bool);
  return true;
}
static int pm__packets_open(pm_world *w) {
  int i;
  if (w->packets) return 1;
  w->packets = (struct pm__packets *)pm__zalloc(sizeof *w->packets);
  if (!w->packets) return pm__no_memory(w);
  w->packets->port = (pm__port *)pm__zalloc((size_t)w->net_link_count * sizeof(pm__port));
  if (!w->packets->port) return pm__no_memory(w);
  for (i = 0; i < w->net_link_count; i++) w->packets->port[i].event.fn = pm__port_event;
  w->stats.memory_bytes += (size_t)w->net_link_count * sizeof(pm__port);
  /* Who has no detours needs no channel for them. */
  return pm__channels_grow(w, w->net ? PM__DETOUR + 1 : PM__DETOUR) &&
         (!w->graph || pm__file_order(w));
}
PM__PRIVATE void pm__packets_free(pm_world *w) {
  struct pm__packets *s = w->packets;
  if (!s) return;
  while (s->packets_made) {
    pm__packet *k = s->packets_made;
    s->packets_made = k->next_made;
    PM_FREE(k);
  }
  while (s->credits_made) {
    pm__credit *c = s->credits_made;
    s->credits_made = c->next_made;
    PM_FREE(c);
  }
  PM_FREE(s->port);
  PM_FREE(s->channel);
  PM_FREE(s->is_up);
  PM_FREE(s);
}
static pm__packet *pm__packet_new(pm_world *w) {
  struct pm__packets *s = w->packets;
  pm__packet *k = s->free_packets;
  if (k) {
    s->free_packets = k->next;
    return k;
  }
  k = (pm__packet *)pm__zalloc(sizeof *k);
  if (!k) return NULL;
  k->event.fn = pm__head_event;
  k->next_made = s->packets_made;
  s->packets_made = k;
  w->stats.memory_bytes += sizeof *k;
  return k;
}
static void pm__queue_put(pm__queue *q, pm__packet *k) {
  k->next = NULL;
  if (q->first)
    q->last->next = k;
  else
    q->first = k;
  q->last = k;
}
static pm__packet *pm__queue_take(pm__queue *q) {
  pm__packet *k = q->first;
  q->first = k->next;
  return k;
}

/* ---- ways ---------------------------------------------------------------------------------------- */
/* Of a file's way, which is settled once for all. */
static void pm__settle_file(pm_world *w, pm__packet *k) {
  const bool *is_up = w->packets->is_up;
  int h, channel = 0;
  for (h = 0; h < k->link_count; h++) {
    if (h < PM__DETOUR)
      channel = h;
    else if (is_up[k->link[h] - k->base] && !is_up[k->link[h - 1] - k->base])
      channel = channel < PM__DETOUR ? PM__DETOUR + 1 : channel + 1;
    k->channel[h] = (unsigned char)channel;
  }
  if (!pm__channels_grow(w, channel + 1)) /* the run ends with this step */
    for (h = 0; h < k->link_count; h++) k->channel[h] = 0;
}
/* The channel of each hop, by the rules at the head of this file. Called anew whenever the way
   changes, because a channel depends on all hops before it. */
static void pm__settle_channels(const pm_world *w, pm__packet *k) {
  const pm_platform *p = &w->plat;
  const int64_t nodes = p->node_count;
  int h, channel = 0, dimension = -1;
  for (h = 0; h < k->link_count; h++) {
    const int64_t link = k->link[h] - k->base;
    if (p->topology == PM_TOPO_DRAGONFLY) {
      k->channel[h] = (unsigned char)channel;
      channel += link >= pm__dragonfly_global(p) && channel < PM__DETOUR - 1;
      continue;
    } else if (p->topology == PM_TOPO_TORUS && link >= 2 * nodes) {
      if ((int)((link / 2 - nodes) / nodes) != dimension) channel = 0;
      dimension = (int)((link / 2 - nodes) / nodes);
      k->channel[h] = (unsigned char)channel;
      if (pm__torus_is_edge(p, link)) channel = 1;
      continue;
    }
    k->channel[h] = (unsigned char)channel;
  }
}
/* Bytes in front of a link and in the buffer behind it. What adaptive routing decides by is what a
   switch can know of its own ports: nothing about queues further on. */
static int64_t pm__load(const pm_world *w, uint32_t link) {
  const pm__channel *at = pm__channel_of(w, link, 0), *end = at + w->packets->channel_count;
  int64_t sum = 0;
  for (; at < end; at++) sum += at->out.bytes + at->in.bytes;
  return sum;
}
/* A way of the first rail becomes one of the packet's. */
static int pm__on_rail(const pm__packet *k, uint32_t *link, int count) {
  int h;
  for (h = 0; h < count; h++) link[h] += k->base;
  return count;
}
/* Without outages there is no table of who is joined to whom (w->net), and nothing is ever
   closed. */
static bool pm__is_closed(const pm_world *w, uint32_t link) {
  return w->net && pm__link_is_dead(w, link, w->now_ps);
}
/* From this hop of the way on nothing is down. */
static bool pm__is_whole(const pm_world *w, const uint32_t *way, int count, int hop) {
  while (w->net && hop < count && !pm__is_closed(w, way[hop])) hop++;
  return !w->net || hop >= count;
}
/* On the way up in a fat tree, at a switch: the least loaded port of those that lead there, on a tie the one of
   fixed routing. */
static void pm__choose_up(pm_world *w, pm__packet *k, int from, int to) {
  const pm_platform *p = &w->plat;
  const int level = k->hop + 1, ports = (int)p->topo[1 + p->topo[0] + level];
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t best_bytes = PM__FOREVER;
  int port, best = PM__NEVER_CHOSEN;
  k->port[level] = PM__NEVER_CHOSEN;
  if (pm__is_whole(w, k->link, k->link_count, level)) best_bytes = pm__load(w, k->link[level]);
  for (port = 0; port < ports && best_bytes; port++) {
    int64_t bytes;
    k->port[level] = port;
    (void)pm__on_rail(k, way, pm__fattree_way(p, from, to, k->port, way));
    if (!pm__is_whole(w, way, k->link_count, level)) continue;
    bytes = pm__load(w, way[level]);
    if (bytes < best_bytes) best_bytes = bytes, best = port;
  }
  k->port[level] = best;
  k->link_count = pm__on_rail(k, k->link, pm__fattree_way(p, from, to, k->port, k->link));
}
/* At the source's router of a dragonfly: by another group, always (Valiant) or when the queue of the short
   way, times its length, is longer than that of a random longer one (UGAL with local queues). */
static void pm__choose_detour(pm_world *w, pm__packet *k, int from, int to) {
  const pm_platform *p = &w->plat;
  const int64_t groups = p->topo[0], of = p->topo[1] * p->topo[2];
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t via;
  int count;
  if (from / of == to / of || groups < 3) return;
  via = (int64_t)(pm_random(w) % (uint64_t)(groups - 2)); /* any but the two ends' */
  /* The lower of the two ends is skipped first: the second comparison then sees the number with the
     first gap already in it. */
  if (via >= (from / of < to / of ? from / of : to / of)) via++;
  if (via >= (from / of < to / of ? to / of : from / of)) via++;
  count = pm__on_rail(k, way, pm__dragonfly_way(p, from, to, (int)via, way));
  if (!pm__is_whole(w, way, count, 1) ||
      (p->packet_routing == 1 &&
       pm__load(w, k->link[1]) * k->link_count <= pm__load(w, way[1]) * count))
    return;
  memcpy(k->link, way, (size_t)count * sizeof *way);
  k->link_count = count;
}
/* At a switch, before the next hop is taken. A packet is the first of its in queue perhaps many
   times before there is room for it. `chosen` holds it to the decision of the first time; else it
   might change its way with each look. */
static void pm__choose(pm_world *w, pm__packet *k) {
  const pm_platform *p = &w->plat;
  int from, to;
  if (!p->packet_routing || k->chosen > k->hop) return;
  from = pm__nic_node(w, pm__job_from(k->m));
  to = pm__nic_node(w, pm__job_to(k->m));
  k->chosen = k->hop + 1;
  if (p->topology == PM_TOPO_FATTREE && k->hop + 1 < k->link_count / 2)
    pm__choose_up(w, k, from, to);
  else if (p->topology == PM_TOPO_DRAGONFLY && k->hop == 0)
    pm__choose_detour(w, k, from, to);
  else
    return;
  pm__settle_channels(w, k);
}

static void pm__take_detour(pm__packet *k, int hop) {
  for (; hop < k->link_count; hop++) k->channel[hop] = PM__DETOUR;
  k->chosen = PM__ROUTE_MAX + 2; /* nothing is left to choose */
}
/* From this hop on, around what is down. ret whether there is a way */
static bool pm__turn(pm_world *w, pm__packet *k, int hop) {
  uint32_t way[PM__ROUTE_MAX + 2];
  const int n = pm__way_from(w, k->link[hop], pm__nic_node(w, pm__job_to(k->m)), way);
  if (n < 1 || hop + n > PM__ROUTE_MAX) return 0;
  memcpy(k->link + hop, way, (size_t)n * sizeof *way);
  k->link_count = hop + n;
  pm__take_detour(k, hop);
  return 1;
}

/* ---- links ---------------------------------------------------------------------------------------- */
static int64_t pm__serial_ps(const pm_world *w, const pm__packet *k) {
  const double bytes = k->bytes ? pm__wire_bytes(w, k->bytes) : (double)w->plat.ack_bytes;
  return pm__bytes_ps(bytes, pm_link_bytes_per_s(w, (int)k->link[k->hop]));
}
static int64_t pm__buffer_bytes(const pm__packet *k) { return k->bytes > 64 ? k->bytes : 64; }
static bool pm__is_last_hop(const pm__packet *k) { return k->hop + 1 == k->link_count; }
static void pm__packet_begins(pm_world *w, pm__packet *k, int64_t t_end_ps);
static void pm__port_used(pm_world *w, uint32_t link, const pm__packet *k) {
  const double bytes = k->bytes ? pm__wire_bytes(w, k->bytes) : (double)w->plat.ack_bytes;
  pm__use_add(w, link, PM__USE_CARRIED, w->now_ps, w->packets->port[link].t_free_ps, bytes);
  if (w->now_ps > k->t_queued_ps)
    pm__use_add(w, link, PM__USE_QUEUED, k->t_queued_ps, w->now_ps,
                bytes * (double)(w->now_ps - k->t_queued_ps));
}

/* Room came about in front of a link: for those that wait, in their order. */
static void pm__room(pm_world *w, uint32_t link, int channel) {
  pm__channel *ch = pm__channel_of(w, link, channel);
  const uint32_t channels = (uint32_t)w->packets->channel_count;
  while (ch->waits_first && ch->out.bytes < w->plat.packet_output_bytes) {
    /* Out of the list before it goes on: pm__forward may put the same in queue at the end of this
       list again. */
    const uint32_t who = ch->waits_first - 1;
    pm__channel *waiting = &w->packets->channel[who];
    ch->waits_first = waiting->next_wait;
    waiting->next_wait = 0;
    pm__forward(w, who / channels, (int)(who % channels));
  }
}
static bool pm__is_by_age(const pm_world *w) {
  return w->plat.topology == PM_TOPO_TORUS || w->plat.topology == PM_TOPO_FILE;
}
/* Room for the first packet at the other end. An empty buffer takes any packet, even one that is longer than the
   buffer: else such a packet would never move. */
static bool pm__may_leave(const pm_world *w, const pm__channel *ch, int channel) {
  const pm__packet *k = ch->out.first;
  return pm__is_last_hop(k) || channel == PM__DETOUR || !ch->in.bytes ||
         ch->in.bytes + pm__buffer_bytes(k) <= w->plat.packet_input_bytes;
}
/* Whose packet may go next: the first channel behind the last one's, or that of the oldest packet, which is so old;
   -1: nobody's. */
static int pm__next_channel(const pm_world *w, uint32_t link, int64_t *t_sent_ps) {
  const pm__port *port = &w->packets->port[link];
  const int channels = w->packets->channel_count;
  int64_t t_best_ps = PM__FOREVER;
  int i, best = -1;
  for (i = 1; i <= channels; i++) {
    const int after = port->last_channel + i, c = after < channels ? after : after - channels;
    const pm__channel *ch;
    if (!(port->waiting >> c & 1)) continue;
    ch = pm__channel_of(w, link, c);
    if (!pm__may_leave(w, ch, c)) continue;
    if (!pm__is_by_age(w)) return c;
    if (ch->out.first->t_sent_ps < t_best_ps) t_best_ps = ch->out.first->t_sent_ps, best = c;
  }
  *t_sent_ps = t_best_ps;
  return best;
}
/* The same of both directions of a cable that is shared. */
static int pm__next_of_cable(const pm_world *w, uint32_t *link) {
  int64_t t_ps = 0, t_back_ps = 0;
  const int c = pm__next_channel(w, *link, &t_ps);
  int back = -1;
  if (pm__is_shared(w, *link)) back = pm__next_channel(w, *link ^ 1, &t_back_ps);
  if (back < 0 || (c >= 0 && t_ps <= t_back_ps)) return c;
  *link ^= 1;
  return back;
}
/* Sends the next packet, when the link is free and there is one with room at the other end. */
static void pm__port_run(pm_world *w, uint32_t first) {
  pm__port *const own = &w->packets->port[first];
  uint32_t link;
  int c;
  while (link = first, own->t_free_ps <= w->now_ps && (c = pm__next_of_cable(w, &link)) >= 0) {
    pm__port *const port = &w->packets->port[link];
    pm__channel *ch = pm__channel_of(w, link, c);
    pm__packet *k = ch->out.first;
    const int64_t latency_ps = pm__hop_ps(w, link, k->hop);
    pm__queue_take(&ch->out);
    if (!ch->out.first) port->waiting &= ~((uint64_t)1 << c);
    ch->out.bytes -= pm__buffer_bytes(k);
    port->last_channel = c;
    /* The tail cannot leave before it has come: behind a slower link a packet holds this one until
       then. */
    port->t_free_ps = pm__max_ps(pm__later(w->now_ps, pm__serial_ps(w, k)), k->t_tail_ps);
    if (pm__is_shared(w, link)) w->packets->port[link ^ 1].t_free_ps = port->t_free_ps;
    if (w->uses) pm__port_used(w, link, k);
    k->t_tail_ps = pm__later(port->t_free_ps, latency_ps);
    /* The room at the far end is taken now, at departure: what is under way must find it. */
    if (!pm__is_last_hop(k)) ch->in.bytes += pm__buffer_bytes(k);
    if (!k->hop) pm__packet_begins(w, k, port->t_free_ps); /* before it can be there */
    pm__schedule(w, &k->event,
                 pm__is_last_hop(k) ? k->t_tail_ps : pm__later(w->now_ps, latency_ps));
    pm__room(w, link, c);
  }
  if (own->waiting && own->t_free_ps > w->now_ps && !own->event.pos)
    pm__schedule(w, &own->event, own->t_free_ps);
}
static void pm__port_event(pm_world *w, pm__event *event) {
  pm__port_run(w, (uint32_t)((pm__port *)(void *)event - w->packets->port));
}
static void pm__out_put(pm_world *w, pm__packet *k) {
  const uint32_t link = k->link[k->hop];
  const int c = k->channel[k->hop];
  pm__queue *q = &pm__channel_of(w, link, c)->out;
  k->t_queued_ps = w->now_ps;
  pm__queue_put(q, k);
  q->bytes += pm__buffer_bytes(k);
  w->packets->port[link].waiting |= (uint64_t)1 << c;
  pm__port_run(w, link);
}
static void pm__credit_event(pm_world *w, pm__event *event) {
  pm__credit *c = (pm__credit *)event;
  c->next = w->packets->free_credits;
  w->packets->free_credits = c;
  if (c->m) {
    pm__payload_may_go(w, c->m, c->is_reply, c->bytes);
    return;
  }
  pm__channel_of(w, c->link, c->channel)->in.bytes -= c->bytes;
  pm__port_run(w, c->link);
}
static pm__credit *pm__credit_new(pm_world *w, pm__message *m, int64_t bytes) {
  pm__credit *c = w->packets->free_credits;
  if (c)
    w->packets->free_credits = c->next;
  else {
    c = (pm__credit *)pm__zalloc(sizeof *c);
    if (!c) {
      pm__no_memory(w);
      return NULL;
    }
    c->event.fn = pm__credit_event;
    c->next_made = w->packets->credits_made;
    w->packets->credits_made = c;
  }
  c->m = m;
  c->bytes = bytes;
  return c;
}
/* The buffer at the far end of a link is free again; the sender learns it a latency later. */
static void pm__credit_back(pm_world *w, uint32_t link, int channel, int64_t bytes, int64_t d_ps) {
  pm__credit *c = pm__credit_new(w, NULL, bytes);
  if (!c) return;
  c->link = link;
  c->channel = channel;
  pm__schedule(w, &c->event, pm__later(w->now_ps, d_ps));
}
/* A packet of it is lost, so all of it is: what has not left stays where it is (pm__inject). */
static void pm__lose(const pm_world *w, pm__message *m) {
  if (!m->way.is_dropped) m->way.t_lost_ps = w->now_ps;
  m->way.is_dropped = 1;
}
/* It leaves the network here, when all of it is here, and its message is not complete. At its NIC it took the time
   of a link. */
static void pm__drop(pm_world *w, pm__packet *k, bool is_at_nic) {
  int64_t t_ps = pm__max_ps(w->now_ps, k->t_tail_ps);
  pm__lose(w, k->m);
  k->link_count = k->hop + 1;
  if (is_at_nic) {
    t_ps = pm__later(t_ps, pm__serial_ps(w, k));
    pm__packet_begins(w, k, t_ps);
  }
  pm__schedule(w, &k->event, t_ps);
}
/* The cable is down: what waits for it turns, and what waits behind that too. */
PM__PRIVATE void pm__packets_failed(pm_world *w, uint32_t link) {
  int c;
  for (c = 0; w->packets && c < w->packets->channel_count; c++) {
    pm__queue *q = &pm__channel_of(w, link, c)->out;
    pm__packet *k = q->first, *next;
    q->first = NULL;
    q->bytes = 0;
    w->packets->port[link].waiting &= ~((uint64_t)1 << c);
    /* The queue was emptied before: a packet that turns may come to stand in another queue of the
       same switch, never in this one, whose link is down. */
    for (; k; k = next) {
      next = k->next;
      if (pm__turn(w, k, k->hop))
        pm__out_put(w, k);
      else
        pm__drop(w, k, k->hop == 0);
    }
    pm__room(w, link, c);
  }
}
/* The first packet of an in queue waits for room in front of its next link, once: others of its in queue stand behind
   it. */
static void pm__wait(const pm_world *w, pm__channel *in, pm__channel *next) {
  pm__channel *all = w->packets->channel;
  const uint32_t me = (uint32_t)(in - all) + 1; /* one too large, so that 0 means nobody */
  uint32_t *at = &next->waits_first;
  if (pm__is_by_age(w))
    while (*at && all[*at - 1].in.first->t_sent_ps <= in->in.first->t_sent_ps)
      at = &all[*at - 1].next_wait;
  else if (*at)
    at = &all[next->waits_last - 1].next_wait;
  in->next_wait = *at;
  if (!*at) next->waits_last = me;
  *at = me;
}
/* The first packets of an in queue, as far as there is room for them. */
static void pm__forward(pm_world *w, uint32_t link, int channel) {
  pm__channel *ch = pm__channel_of(w, link, channel);
  while (ch->in.first) {
    pm__packet *k = ch->in.first;
    pm__channel *next;
    int c;
    pm__choose(w, k);
    if (pm__is_closed(w, k->link[k->hop + 1]) && !pm__turn(w, k, k->hop + 1)) {
      pm__queue_take(&ch->in);
      pm__credit_back(w, link, channel, pm__buffer_bytes(k), pm__hop_ps(w, link, k->hop));
      pm__drop(w, k, false);
      continue;
    }
    c = k->channel[k->hop + 1];
    next = pm__channel_of(w, k->link[k->hop + 1], c);
    if (c != PM__DETOUR && next->out.bytes >= w->plat.packet_output_bytes) {
      pm__wait(w, ch, next);
      return;
    }
    pm__queue_take(&ch->in);
    pm__credit_back(w, link, channel, pm__buffer_bytes(k), pm__hop_ps(w, link, k->hop));
    k->hop++;
    pm__out_put(w, k);
  }
}

/* ---- messages -------------------------------------------------------------------------------------- */
/* Payload of a packet; with credits they are given out in equal packets. */
static uint64_t pm__each_bytes(const pm_world *w) {
  const int64_t credit = w->plat.link_credit_bytes, most = w->plat.packet_bytes;
  return (uint64_t)(credit ? credit / ((credit + most - 1) / most) : most);
}
/* How many packets a message takes; one without payload takes one. */
static int64_t pm__packets_of(const pm_world *w, uint64_t bytes) {
  const uint64_t each = pm__each_bytes(w);
  return bytes ? (int64_t)((bytes + each - 1) / each) : 1;
}
/* All packets are there, and all messages of the stream before it: ways of different length must not change
   the order. */
static void pm__all_there(pm_world *w, pm__message *m) {
  const int from = pm__job_from(m), to = pm__job_to(m), lane = m->way.lane;
  pm__stream *s = pm__stream_of(w, from, to, lane);
  pm__message *next, **at;
  /* `early` holds messages that overtook one with a lower number. Dropped packets come here too, at
     the switch that dropped them, so no number stays out and nobody waits for ever. */
  m->next = s->early;
  s->early = m;
  for (at = &s->early; *at;) {
    next = *at;
    if (next->way.number != s->arrived_count) {
      at = &next->next;
      continue;
    }
    *at = next->next;
    s->arrived_count++;
    next->way.has_crossed = 1;
    if (!pm__travel(w, next, from, to, lane, w->now_ps, 0, pm__rx))
      pm__job_told(w, next, w->now_ps);
    s = pm__stream_of(w, from, to, lane); /* may have moved */
    at = &s->early;
  }
}
/* A PCI root, reads or writes, moves one packet of its NICs after the other. When the packet's turn is; time is
   taken only from now on. */
static int64_t pm__root_ps(pm_world *w, int nic, int which, uint32_t bytes) {
  const uint32_t root = pm__node_resource(w, nic, which);
  const int64_t t_ps = pm__max_ps(w->now_ps, w->busy_ps[root]);
  if (w->plat.no_pci || !bytes) return w->now_ps;
  if (which != PM__PCI_READ || t_ps == w->now_ps)
    w->busy_ps[root] = pm__later(t_ps, pm__bytes_ps((double)bytes, w->links[root].cap));
  return t_ps;
}
/* Its credits go back as its parts come, the first ones when its head is there: then the next payload may leave. (It is
   counted here, with the tail, as long as that takes on the last link earlier.) */
static void pm__payload_is_there(pm_world *w, const pm__packet *k) {
  pm__credit *c = pm__credit_new(w, k->m, k->bytes);
  if (!c) return;
  c->is_reply = k->m->way.is_reply;
  k->m->way.pending++;
  pm__schedule(w, &c->event,
               pm__later(w->now_ps, pm__max_ps(k->latency_ps - pm__serial_ps(w, k), 0)));
}
static void pm__head_event(pm_world *w, pm__event *event) {
  pm__packet *k = (pm__packet *)event;
  pm__message *m = k->m;
  if (!pm__is_last_hop(k)) {
    const int c = k->channel[k->hop];
    pm__queue *in = &pm__channel_of(w, k->link[k->hop], c)->in;
    const bool is_first = !in->first;
    pm__queue_put(in, k);
    if (is_first) pm__forward(w, k->link[k->hop], c);
    return;
  }
  if (w->net && pm__node_is_out(w, k->to, w->now_ps)) pm__lose(w, m);
  if (!k->is_written && !m->way.is_dropped) {
    const int64_t t_ps = pm__root_ps(w, k->to, PM__PCI_WRITE, k->bytes);
    k->is_written = true;
    if (t_ps > w->now_ps) {
      pm__schedule(w, event, t_ps);
      return;
    }
  }
  if (w->plat.link_credit_bytes && m->way.rest_bytes) pm__payload_is_there(w, k);
  k->next = w->packets->free_packets;
  w->packets->free_packets = k;
  if (--m->way.packet_count == 0) pm__all_there(w, m);
}
/* The NIC whose turn it is with the next packet: of split payload each one in turn, from its own on. */
static int pm__turn_of(const pm_world *w, const pm__message *m, int nic) {
  const uint64_t number =
      (pm__job_bytes(m) - m->way.rest_bytes) / pm__each_bytes(w) + (uint64_t)pm__nic_rail(w, nic);
  return (int)(number % (uint64_t)w->plat.nic_count) * (int)w->plat.node_count +
         pm__nic_node(w, nic);
}
/* A part of it is lost, or its NIC died, before all of it had left. */
static void pm__rest_stays(pm_world *w, pm__message *m) {
  const int64_t rest = pm__packets_of(w, m->way.rest_bytes);
  const bool is_all = rest == m->way.packet_count;
  pm__lose(w, m);
  m->way.rest_bytes = 0;
  m->way.packet_count -= is_all ? 0 : rest;
  pm__job_gone(w, m);
  if (!is_all) return; /* those on the way still come */
  m->way.packet_count = 0;
  pm__all_there(w, m);
}
/* The way around what is down has been settled. But where the switches of a fat tree choose by load, and some way as
   long as the fixed one is whole, they find it by themselves: else all would take the same one of them. */
static void pm__sets_out_on(pm_world *w, pm__packet *k, const pm__known_way *way) {
  const pm_platform *p = &w->plat;
  int i;
  for (i = 0; i < PM__TREE_MAX; i++) k->port[i] = PM__NEVER_CHOSEN;
  if (way->is_detour && p->topology == PM_TOPO_FATTREE && p->packet_routing) {
    k->link_count = pm__on_rail(
        k, k->link,
        pm__fattree_way(p, pm__nic_node(w, way->from), pm__nic_node(w, way->to), NULL, k->link));
    if (k->link_count == way->link_count && !pm__is_closed(w, k->link[0])) {
      pm__settle_channels(w, k);
      return;
    }
  }
  k->link_count = way->link_count;
  memcpy(k->link, way->link, (size_t)way->link_count * sizeof *k->link);
  if (way->is_detour)
    pm__take_detour(k, 0);
  else if (p->topology == PM_TOPO_FILE)
    pm__settle_file(w, k);
  else
    pm__settle_channels(w, k);
}
/* The next packet of a message stands in front of a NIC's link. A message has at most one packet in
   front of its NIC's link: the next one comes when this one sets out. So a long message does not
   fill the queue, and other lanes of the NIC get their turns. */
static void pm__inject(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const bool is_split = pm__is_split(w, pm__job_bytes(m));
  const int from = is_split ? pm__turn_of(w, m, pm__job_from(m)) : pm__job_from(m),
            to = is_split ? pm__turn_of(w, m, pm__job_to(m)) : pm__job_to(m);
  const pm__known_way *way = pm__known(w, from, to);
  const uint64_t each = pm__each_bytes(w);
  const uint32_t bytes = (uint32_t)(m->way.rest_bytes < each ? m->way.rest_bytes : each);
  int64_t t_ps;
  pm__packet *k;
  if (m->way.is_dropped ||
      (w->has_lives && pm__died_between(w, pm__job_from(m), m->what.t_issue_ps, w->now_ps))) {
    pm__rest_stays(w, m);
    return;
  }
  if (!way->link_count) return; /* out of memory: the run ends */
  if (w->plat.link_credit_bytes && m->way.credit_bytes < bytes) {
    m->way.waits_for_credit = true;
    return;
  }
  t_ps = pm__root_ps(w, from, PM__PCI_READ, bytes);
  if (t_ps > w->now_ps) { /* other NICs read over its PCI root now: it asks again then */
    pm__schedule(w, event, t_ps);
    return;
  }
  k = pm__packet_new(w);
  if (!k) {
    pm__no_memory(w);
    return;
  }
  k->m = m;
  k->to = to;
  k->is_written = false;
  k->base = w->plat.nic_count > 1 ? (uint32_t)pm__nic_rail(w, from) * pm__rail_links(w) : 0;
  k->hop = k->chosen = 0;
  k->t_tail_ps = 0;
  k->latency_ps = way->latency_ps;
  k->t_sent_ps = w->now_ps;
  k->bytes = bytes;
  m->way.rest_bytes -= k->bytes;
  m->way.credit_bytes -= k->bytes;
  pm__sets_out_on(w, k, way);
  if (pm__is_closed(w, k->link[0]) && !pm__turn(w, k, 0))
    pm__drop(w, k, true);
  else
    pm__out_put(w, k);
}
/* So much of it is there, as its NIC knows now. (The message may be on its way back, or only waited for this.) */
static void pm__payload_may_go(pm_world *w, pm__message *m, bool is_reply, int64_t bytes) {
  if (m->way.is_reply == is_reply) m->way.credit_bytes += bytes;
  if (m->way.is_reply == is_reply && m->way.waits_for_credit) {
    m->way.waits_for_credit = false;
    pm__inject(w, &m->way.event);
  }
  pm__message_release(w, m);
}
/* All of a message has left its NIC: the lane goes on. */
static void pm__all_left(pm_world *w, pm__event *event) { pm__job_gone(w, (pm__message *)event); }
/* A packet's first byte leaves the NIC. Payload is read from memory as it leaves: the next packet
   follows when the PCI bus has read as much as this one has, or when the link is free, whichever is
   later. */
static void pm__packet_begins(pm_world *w, pm__packet *k, int64_t t_end_ps) {
  pm__message *m = k->m;
  const int nics =
      pm__is_split(w, pm__job_bytes(m)) ? (int)w->plat.nic_count : 1; /* read at once */
  const int64_t pci_ps =
      w->plat.no_pci ? 0 : pm__bytes_ps(k->bytes, nics * w->plat.pci_flow_bytes_per_s);
  if (m->way.is_first) m->way.t_begin_ps = w->now_ps;
  m->way.is_first = 0;
  m->way.t_left_ps = t_end_ps;
  if (m->way.rest_bytes) {
    m->way.event.fn = pm__inject;
    pm__schedule(w, &m->way.event, pm__later(w->now_ps, pci_ps));
  } else {
    m->way.event.fn = pm__all_left;
    pm__schedule(w, &m->way.event, t_end_ps);
  }
}
/* A job of a NIC's lane sets out at t_ps. */
PM__PRIVATE void pm__packet_send(pm_world *w, pm__message *m, int64_t t_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  pm__stream *s;
  m->way.has_crossed = 1;
  m->way.is_flow = 0;
  if (!pm__packets_open(w)) return;
  s = pm__stream_of(w, pm__job_from(m), pm__job_to(m), m->way.lane);
  m->way.number = s->sent_count++;
  m->way.rest_bytes = bytes;
  m->way.packet_count = pm__packets_of(w, bytes);
  m->way.credit_bytes =
      w->plat.link_credit_bytes * (pm__is_split(w, bytes) ? w->plat.nic_count : 1);
  m->way.waits_for_credit = false;
  m->way.is_first = 1;
  m->way.is_dropped = 0;
  m->way.event.fn = pm__inject;
  pm__schedule(w, &m->way.event, t_ps);
}
#ifdef NBC_LINES
#line 1 "src/portals/lives.c"
#endif
/* Nodes that stand still, die and come back: see pm_outage_kind. Whether a message was issued before its node died is
   told by its time alone (pm__died_between): nothing is marked, and what is lost is found where it would leave or
   arrive. */



/* ---- processes ---------------------------------------------------------------------------------- */
static void pm__process_dies(pm_process *p, bool returns) {
  pm_world *w = p->world;
  pm__process_ends(p, PM_STATUS_DIED);
  pm__barrier_left(w);
  if (p->msg) p->msg_free(p->msg);
  p->msg = NULL;
  memset(p->hooks, 0, sizeof p->hooks);
  p->init_count = p->aborted = p->memory_waiters = 0;
  p->in_flight = 0;
  p->news = p->news_last = NULL;
  p->is_dead = true;
  w->returning_count += returns;
  if (w->desc.died) w->desc.died(w->desc.user, p);
}
static void pm__process_begins_anew(pm_process *p) {
  pm_world *w = p->world;
  const pm_thread *first = p->threads;
  while (first->next_in_proc) first = first->next_in_proc; /* the one that pm_spawn made */
  p->is_dead = false;
  p->ended = p->status = 0;
  p->restart_count++;
  w->live_processes++;
  w->returning_count--;
  if (!pm__thread_new(p, first->entry, first->arg, first->stack_bytes))
    pm_world_fail(w, PM_E_NOMEM, "out of memory: a process that begins anew");
}
/* What computes ends later by the time that the node stands still: d_ps, PM__FOREVER for good. */
static void pm__process_stops(pm_process *p, int64_t d_ps) {
  pm_world *w = p->world;
  pm_thread *t;
  p->stands_still = true;
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t->state != PM__BLOCKED || !t->timer.pos || !t->takes_cpu) continue;
    pm__unschedule(w, &t->timer);
    t->t_wake_ps = pm__later(t->t_wake_ps, d_ps);
    if (d_ps != PM__FOREVER)
      pm__schedule(w, &t->timer, t->t_wake_ps);
    else {
      w->idle_count -= t->counts_idle;
      t->counts_idle = 0;
    }
  }
}
static void pm__process_goes_on(pm_process *p) {
  pm_thread *t;
  p->stands_still = false;
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t->is_parked) pm__resume(p->world, t);
    t->is_parked = false;
  }
}

/* ---- nodes -------------------------------------------------------------------------------------- */
/* A fresh NIC. Messages of the old one that are still on their way come back to nobody (pm__nic_landed). */
static void pm__nic_dies(pm_world *w, pm__node *n) {
  pm__message *m, *next;
  int k;
  for (k = 0; k < 4; k++)
    if (!n->lane[k].is_busy)
      n->lane[k].t_free_ps = n->lane[k].t_ready_ps = n->lane[k].d_held_ps = 0;
  for (m = n->held; m; m = next) { /* it was never sent */
    next = m->next;
    pm__undeliverable(w, m);
    m->way.event.fn = pm__back_event;
    pm__schedule(w, &m->way.event, w->now_ps);
  }
  n->held = n->held_tail = NULL;
  n->slot_waiters = NULL;
  n->slots_first = n->slots_used = 0;
  n->in_flight = 0;
  n->t_gap_ps = n->t_in_ps = n->t_done_ps = n->t_command_ps = 0;
  memset(n->t_rx_ps, 0, sizeof n->t_rx_ps);
  memset(n->t_rx_last_ps, 0, sizeof n->t_rx_last_ps);
}
static pm_process *pm__processes_of(const pm_world *w, const pm_outage *o) {
  return w->nodes[o->node - 1].processes;
}
static void pm__node_goes_down(pm_world *w, const pm_outage *o) {
  const int node = o->node - 1;
  const bool returns = o->kind == PM_OUTAGE_RESTART && o->d_down_ns;
  pm_process *p = pm__processes_of(w, o);
  int k;
  if (o->kind < PM_OUTAGE_CRASH) {
    for (; p; p = p->next_on_node)
      if (!p->ended) pm__process_stops(p, o->d_down_ns ? pm__ps(o->d_down_ns) : PM__FOREVER);
    pm__cores_stop(w, node, true);
    return;
  }
  for (; p; p = p->next_on_node)
    if (!p->ended) pm__process_dies(p, returns);
  pm__flows_of_node_failed(w, node);
  for (k = node; k < (int)(w->plat.node_count * w->plat.nic_count); k += (int)w->plat.node_count)
    pm__nic_dies(w, &w->nodes[k]);
}
static void pm__node_comes_up(pm_world *w, const pm_outage *o) {
  pm_process *p = pm__processes_of(w, o);
  if (o->kind < PM_OUTAGE_CRASH) pm__cores_stop(w, o->node - 1, false);
  for (; p; p = p->next_on_node)
    if (o->kind < PM_OUTAGE_CRASH) {
      if (p->stands_still) pm__process_goes_on(p);
    } else if (o->kind == PM_OUTAGE_RESTART && p->is_dead)
      pm__process_begins_anew(p);
}

/* ---- when --------------------------------------------------------------------------------------- */
static int64_t pm__up_ps(const pm_outage *o) {
  return o->d_down_ns ? pm__later(pm__ps(o->t_down_ns), pm__ps(o->d_down_ns)) : PM__FOREVER;
}
static bool pm__is_of_lives(const pm_outage *o) { return o->node && o->kind != PM_OUTAGE_CUT; }
/* One event at a time, as for cables: the next one after t_ps. */
static void pm__life_next(pm_world *w, int64_t t_ps) {
  const pm_faults *f = &w->desc.faults;
  int i;
  w->t_life_ps = PM__FOREVER;
  for (i = 0; i < f->outage_count; i++) {
    const pm_outage *o = &f->outages[i];
    const int64_t t_down_ps = pm__ps(o->t_down_ns), t_up_ps = pm__up_ps(o);
    if (!pm__is_of_lives(o)) continue;
    if (t_down_ps > t_ps && t_down_ps < w->t_life_ps) w->t_life_ps = t_down_ps;
    if (t_up_ps > t_ps && t_up_ps < w->t_life_ps) w->t_life_ps = t_up_ps;
  }
  if (w->t_life_ps < PM__END) pm__schedule(w, &w->life_change, w->t_life_ps);
}
/* Who comes back first: an outage may begin when another one of the node ends. */
static void pm__life_changes(pm_world *w, pm__event *event) {
  const pm_faults *f = &w->desc.faults;
  int i;
  (void)event;
  for (i = 0; i < f->outage_count; i++)
    if (pm__is_of_lives(&f->outages[i]) && pm__up_ps(&f->outages[i]) == w->now_ps)
      pm__node_comes_up(w, &f->outages[i]);
  for (i = 0; i < f->outage_count; i++)
    if (pm__is_of_lives(&f->outages[i]) && pm__ps(f->outages[i].t_down_ns) == w->now_ps)
      pm__node_goes_down(w, &f->outages[i]);
  pm__life_next(w, w->now_ps);
}
PM__PRIVATE void pm__lives_make(pm_world *w) {
  const pm_faults *f = &w->desc.faults;
  int i;
  for (i = 0; i < f->outage_count; i++) w->has_lives |= pm__is_of_lives(&f->outages[i]);
  if (!w->has_lives) return;
  w->life_change.fn = pm__life_changes;
  pm__life_next(w, -1);
}
PM__PRIVATE void pm__lives_begin(pm_world *w) {
  if (w->now_ps || w->t_life_ps) return;
  pm__unschedule(w, &w->life_change);
  pm__life_changes(w, &w->life_change);
}
#ifdef NBC_LINES
#line 1 "src/portals/windows.c"
#endif
/* A world whose nodes are dealt out to threads of the host, see pm_world_desc.threads.

   Each thread has a part: a world of its own (pm_world.whole points to the one it is a part of) with its own time,
   future, threads that are ready, pools and counters, and the processes of some nodes that lie side by side. What all
   read and nobody changes while they run is shared: processes, nodes (each is touched by its own part alone), platform.

   Nothing goes from node to node in less than the latency of the wire (LogGP's L). So all parts may run by themselves
   for a window of that length, from the earliest event of all on: whatever the others send meanwhile comes in a later
   one. [Conservative windows: Nicol, The cost of conservative synchronization in parallel discrete event simulations,
   JACM 1993; Fujimoto, Parallel discrete event simulation, CACM 1990.]

       tell the next event -- meet -- the window -- run -- meet -- take what came -- tell ...

   Why results do not depend on the number of threads: windows begin and end with the earliest event of all, which is
   the same however nodes are dealt out. Messages between nodes wait for the end of the window, those of one part
   too, and are scheduled then in the order of their time, NIC and number of that NIC. So of what happens to a node at
   one time, the order depends on what happened to that node alone. Messages have numbers of their process, random
   numbers are drawn from generators of processes, each node hashes its own steps, and what all share (pm_barrier, the
   search for deadlocks) is looked at between windows. Where a world runs without threads order is that of all calls of
   pm__schedule instead: it takes turns between nodes that no partition could repeat, so such a run is another one.

   A message is touched by one part at a time: its initiator's, until it is handed over at the end of a window, its
   target's, and so back. Those of closed interfaces would be looked at by both, so a process waits for what it has
   under way before it closes one or ends (pm__come_home). */

#ifdef PM_THREADS
#  include <pthread.h>
#endif

enum { PM__PARTS_MOST = 1024 };
typedef struct pm__parcel { /* an event at another node */
  int64_t t_ps;
  pm__event *event;
  int from; /* NIC */
  uint32_t number;
} pm__parcel;
typedef struct pm__box { /* from one part to another */
  pm__parcel *parcel;
  uint32_t count;
  int max;
  pm__message *returned; /* that are over, for those who made them */
} pm__box;
typedef struct pm__told { /* by a part between windows; nobody changes it before all have read it */
  int64_t t_next_ps;
  int barrier_count, live_threads;
  bool is_idle, has_failed;
} pm__told;
typedef enum pm__verdict {
  PM__GOES_ON,
  PM__IS_OVER,
  PM__FAILED_IN_PART,
  PM__AT_LIMIT,
  PM__AT_END,
  PM__DEADLOCKED
} pm__verdict;
struct pm__parts {
  int count;
  pm_world **part;
  uint16_t *of_node;
  pm__box *box; /* from part * count + to part */
  pm__told *told;
  pm__parcel **sorted; /* of each part: what came */
  int *sorted_max;
  int64_t d_window_ps;
#ifdef PM_THREADS
  pthread_mutex_t mutex;
  pthread_cond_t all_here;
  int here_count;
  unsigned meeting;
#endif
};

/* ---- from node to node --------------------------------------------------------------------------- */
PM__PRIVATE void pm__hand_over(pm_world *w, pm__event *event, int64_t t_ps, int from, int to) {
  struct pm__parts *parts = w->whole->parts;
  pm__box *box = &parts->box[w->part * parts->count + parts->of_node[pm__nic_node(w, to)]];
  void *array = box->parcel;
  pm__parcel *p;
  if (!pm__grow(&array, &box->max, (int)box->count + 1, sizeof *p)) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: messages between threads");
    return;
  }
  box->parcel = (pm__parcel *)array;
  p = &box->parcel[box->count];
  p->t_ps = t_ps;
  p->event = event;
  p->from = from;
  p->number = box->count++;
}
PM__PRIVATE void pm__message_back(pm_world *w, pm__message *m) {
  struct pm__parts *parts = w->whole->parts;
  pm__box *box = &parts->box[w->part * parts->count + m->what.from->proc->world->part];
  m->next = box->returned;
  box->returned = m;
}
static int pm__parcel_order(const void *first, const void *second) {
  const pm__parcel *a = (const pm__parcel *)first, *b = (const pm__parcel *)second;
  if (a->t_ps != b->t_ps) return a->t_ps < b->t_ps ? -1 : 1;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}
/* What others have sent in the window that is over; of one NIC all come from one part, so their numbers are in the
   order in which it sent them. */
static void pm__parcels_take(pm_world *w) {
  struct pm__parts *parts = w->whole->parts;
  void *array = parts->sorted[w->part];
  uint32_t count = 0, i;
  int from;
  for (from = 0; from < parts->count; from++)
    count += parts->box[from * parts->count + w->part].count;
  if (!pm__grow(&array, &parts->sorted_max[w->part], (int)count, sizeof(pm__parcel))) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: messages between threads");
    return;
  }
  pm__parcel *const sorted = parts->sorted[w->part] = (pm__parcel *)array;
  count = 0;
  for (from = 0; from < parts->count; from++) {
    pm__box *box = &parts->box[from * parts->count + w->part];
    if (box->count) memcpy(sorted + count, box->parcel, box->count * sizeof *sorted);
    count += box->count;
    box->count = 0;
    while (box->returned) {
      pm__message *m = box->returned;
      box->returned = m->next;
      pm__message_free(w, m);
    }
  }
  if (count > 1) qsort(sorted, count, sizeof *sorted, pm__parcel_order);
  for (i = 0; i < count; i++) pm__schedule(w, sorted[i].event, sorted[i].t_ps);
}

/* ---- between windows ----------------------------------------------------------------------------- */
/* All parts are here. */
static void pm__meet(struct pm__parts *parts) {
#ifdef PM_THREADS
  enum { LOOKS = 1000 }; /* as long as it takes to be put to sleep and woken */
  unsigned meeting;
  int i;
  if (parts->count == 1) return;
  pthread_mutex_lock(&parts->mutex);
  meeting = parts->meeting;
  if (++parts->here_count == parts->count) {
    parts->here_count = 0;
    __atomic_store_n(&parts->meeting, meeting + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&parts->all_here);
    pthread_mutex_unlock(&parts->mutex);
    return;
  }
  pthread_mutex_unlock(&parts->mutex);
  for (i = 0; i < LOOKS; i++)
    if (__atomic_load_n(&parts->meeting, __ATOMIC_ACQUIRE) != meeting) return;
  pthread_mutex_lock(&parts->mutex);
  while (__atomic_load_n(&parts->meeting, __ATOMIC_ACQUIRE) == meeting)
    pthread_cond_wait(&parts->all_here, &parts->mutex);
  pthread_mutex_unlock(&parts->mutex);
#else
  (void)parts;
#endif
}
static void pm__part_tells(pm_world *w) {
  pm__told *told = &w->whole->parts->told[w->part];
  told->t_next_ps = w->ready_head ? w->now_ps : pm__next_ps(w);
  told->barrier_count = w->barrier_count;
  told->live_threads = w->live_threads;
  told->is_idle = !w->ready_head && w->future_count == (uint32_t)w->idle_count;
  told->has_failed = w->status != PM_OK;
}
/* Each part finds the same from what all have told. The beginning of the next window: *t_ps. */
static pm__verdict pm__judge(pm_world *w, int64_t *t_ps) {
  enum { LOOKS_PER_WINDOW = 64 };
  const struct pm__parts *parts = w->whole->parts;
  int waits = 0, lives = 0, i;
  bool is_idle = true, has_failed = false;
  *t_ps = PM__FOREVER;
  for (i = 0; i < parts->count; i++) {
    const pm__told *told = &parts->told[i];
    if (told->t_next_ps < *t_ps) *t_ps = told->t_next_ps;
    waits += told->barrier_count;
    lives += told->live_threads;
    is_idle = is_idle && told->is_idle;
    has_failed = has_failed || told->has_failed;
  }
  if (has_failed) return PM__FAILED_IN_PART;
  if (waits && waits == w->proc_count) { /* all may go on where the window ended */
    *t_ps = w->t_window_ps;
    w->now_ps = w->t_window_ps;
    pm__barrier_opens(w);
    is_idle = false;
  }
  if (*t_ps == PM__FOREVER) return lives ? PM__DEADLOCKED : PM__IS_OVER;
  if (*t_ps > w->whole->t_limit_ps) return PM__AT_LIMIT;
  if (*t_ps >= PM__END) return PM__AT_END;
  if (!is_idle)
    w->t_idle_since_ps = -1;
  else if (w->t_idle_since_ps < 0)
    w->t_idle_since_ps = *t_ps, w->idle_steps = 0;
  else if ((w->idle_steps += LOOKS_PER_WINDOW),
           pm__is_out_of_patience(w) &&
               *t_ps - w->t_idle_since_ps > pm__ps(w->desc.d_poll_deadlock_ns))
    return PM__DEADLOCKED;
  return PM__GOES_ON;
}
static void pm__part_runs(pm_world *w) {
  struct pm__parts *parts = w->whole->parts;
  const int64_t t_over_ps = w->whole->t_over_ps;
  int64_t t_ps;
  pm__running = w;
  for (;;) {
    pm__part_tells(w);
    pm__meet(parts);
    w->verdict = (int)pm__judge(w, &t_ps);
    if (w->verdict != PM__GOES_ON) break;
    w->t_window_ps = pm__later(t_ps, parts->d_window_ps);
    if (w->t_window_ps > t_over_ps) w->t_window_ps = t_over_ps;
    pm__window(w, w->t_window_ps);
    pm__meet(parts);
    pm__parcels_take(w);
  }
  pm__running = NULL;
}
#ifdef PM_THREADS
static void *pm__part_main(void *part) {
  pm__part_runs((pm_world *)part);
  return NULL;
}
#endif

/* ---- dealing out and collecting -------------------------------------------------------------------- */
/* Why a world cannot run so; NULL: it can. */
static const char *pm__threads_refused(const pm_world *w) {
  const pm_world_desc *d = &w->desc;
#ifndef PM_THREADS
  if (d->threads > 1)
    return "threads: portals_model.h was compiled without PM_THREADS: one thread at most";
#endif
  if (d->link != PM_LINK_LOGGP || d->link_phase_count || d->carrier)
    return "threads: only the level loggp runs over threads, from begin to end";
  if (w->d_loggp_none_ps <= 0) return "threads: windows are as long as LogGP's latency, which is 0";
  if (w->is_faulty)
    return "threads: faults and messages with noise are drawn from one generator: not over threads";
  if (d->trace || d->link_use || w->stamp)
    return "threads: no traces, stamps or use of links: their order is that of one thread";
  if (d->compute_ratio > 0) return "threads: measured computation is not the same for any number";
  if (d->catch_crashes || d->switched || d->moved || d->memory_at || d->died)
    return "threads: no crashes caught, no callbacks: processes are functions of this program";
  return w->future_count ? "threads: something is to happen before the run begins" : NULL;
}
#define PM__TAKE_LIST(type, next, to, from)                                                        \
  do {                                                                                             \
    type **end = &(to);                                                                            \
    while (*end) end = &(*end)->next;                                                              \
    *end = (from);                                                                                 \
    (from) = NULL;                                                                                 \
  } while (0)
static void pm__part_collect(pm_world *w, pm_world *part) {
  pm_stats *s = &w->stats;
  const pm_stats *p = &part->stats;
  s->event_count += p->event_count;
  s->switch_count += p->switch_count;
  s->memory_bytes += p->memory_bytes;
  s->message_count += p->message_count;
  s->sent_bytes += p->sent_bytes;
  s->delivered_bytes += p->delivered_bytes;
  s->undeliverable_count += p->undeliverable_count;
  s->stack_count += p->stack_count - part->first_stack;
  w->now_ps = pm__max_ps(w->now_ps, part->now_ps);
  w->live_threads += part->live_threads;
  w->live_processes += part->live_processes;
  w->has_unguarded = w->has_unguarded || part->has_unguarded;
  PM__TAKE_LIST(pm__message, next_made, w->messages_made, part->messages_made);
  PM__TAKE_LIST(pm__message, next, w->free_messages, part->free_messages);
  PM__TAKE_LIST(pm__trigger, next, w->free_triggers, part->free_triggers);
  PM__TAKE_LIST(pm__header, next, w->free_headers, part->free_headers);
  PM__TAKE_LIST(pm__map, next, w->maps, part->maps);
  PM__TAKE_LIST(pm__slab, next, w->slabs, part->slabs);
  PM__TAKE_LIST(pm__store, next, w->stores, part->stores);
  pm__future_drop(part); /* of a run that failed */
  PM_FREE(part->heap);
  pm__far_free(part);
}
/* An empty copy of the world. */
static pm_world *pm__part_make(pm_world *w, int number, int count) {
  uint64_t guarded = PM__GUARDED_MAX;
  pm_world *p = (pm_world *)PM_MALLOC(sizeof *p);
  if (!p) return NULL;
  memcpy(p, w, sizeof *p);
  memset(&p->stats, 0, sizeof p->stats);
  p->whole = w;
  p->is_unusual = true;
  p->part = number;
  p->heap = NULL;
  p->heap_count = p->heap_max = 0;
  p->far = NULL;
  p->t_far_ps = PM__FOREVER;
  p->ready_head = p->ready_tail = p->barrier_waiters = p->last_run = NULL;
  p->barrier_count = p->live_threads = p->live_processes = 0;
  p->maps = NULL;
  p->free_messages = p->messages_made = NULL;
  p->free_triggers = NULL;
  p->free_headers = NULL;
  p->free_stacks = NULL;
  p->slabs = NULL;
  p->stores = NULL;
  p->store_left = p->store_bytes = 0;
  p->untaken_count = 0;
  p->t_window_ps = w->now_ps;
  /* The kernel limits guard pages of all parts together. */
  if (w->stats.stack_count < guarded) guarded -= (guarded - w->stats.stack_count) / (uint64_t)count;
  p->first_stack = guarded;
  p->stats.stack_count = p->first_stack;
  return p;
}
static void pm__parts_free(pm_world *w) {
  struct pm__parts *parts = w->parts;
  int i;
  for (i = 0; parts->part && i < parts->count; i++) PM_FREE(parts->part[i]);
  for (i = 0; parts->box && i < parts->count * parts->count; i++) PM_FREE(parts->box[i].parcel);
  for (i = 0; parts->sorted && i < parts->count; i++) PM_FREE(parts->sorted[i]);
  PM_FREE(parts->part);
  PM_FREE(parts->of_node);
  PM_FREE(parts->box);
  PM_FREE(parts->told);
  PM_FREE(parts->sorted);
  PM_FREE(parts->sorted_max);
  PM_FREE(parts);
  w->parts = NULL;
}
/* Nodes side by side, with about as many processes each. */
static bool pm__parts_make(pm_world *w, int count) {
  const size_t n = (size_t)count;
  struct pm__parts *parts = w->parts = (struct pm__parts *)pm__zalloc(sizeof *parts);
  int64_t node, before = 0;
  int i;
  if (!parts) return false;
  parts->count = count;
  parts->d_window_ps = w->d_loggp_none_ps;
  parts->part = (pm_world **)pm__zalloc(n * sizeof *parts->part);
  parts->of_node = (uint16_t *)pm__zalloc((size_t)w->plat.node_count * sizeof *parts->of_node);
  parts->box = (pm__box *)pm__zalloc(n * n * sizeof *parts->box);
  parts->told = (pm__told *)pm__zalloc(n * sizeof *parts->told);
  parts->sorted = (pm__parcel **)pm__zalloc(n * sizeof *parts->sorted);
  parts->sorted_max = (int *)pm__zalloc(n * sizeof *parts->sorted_max);
  if (!parts->part || !parts->of_node || !parts->box || !parts->told || !parts->sorted ||
      !parts->sorted_max)
    return false;
  for (i = 0; i < count; i++)
    if (!(parts->part[i] = pm__part_make(w, i, count))) return false;
  for (node = 0; node < w->plat.node_count; node++) {
    parts->of_node[node] = (uint16_t)(before * count / (w->proc_count ? w->proc_count : 1));
    if (parts->of_node[node] >= count) parts->of_node[node] = (uint16_t)(count - 1);
    before += w->nodes[node].process_count;
  }
  return true;
}
static void pm__parts_deal(pm_world *w) {
  const struct pm__parts *parts = w->parts;
  pm_thread *t, *next;
  int i;
  for (i = 0; i < w->proc_count; i++) {
    pm_process *p = w->procs[i];
    p->world = parts->part[parts->of_node[p->node]];
    p->world->live_threads += p->live_threads;
    p->world->live_processes += !p->ended;
  }
  w->live_threads = w->live_processes = 0;
  for (t = w->ready_head; t; t = next) {
    next = t->next_ready;
    t->state = PM__BLOCKED;
    pm__resume(t->proc->world, t);
  }
  w->ready_head = w->ready_tail = NULL;
}
/* The parts' ends become the world's. Of several that failed in one window the first one counts. */
static void pm__parts_end(pm_world *w) {
  struct pm__parts *parts = w->parts;
  const pm_world *first = NULL;
  const pm__verdict verdict = (pm__verdict)parts->part[0]->verdict;
  int64_t nic;
  int i;
  for (i = 0; i < w->proc_count; i++) w->procs[i]->world = w;
  for (i = 0; i < parts->count; i++) {
    pm_world *part = parts->part[i];
    if (part->status && (!first || part->now_ps < first->now_ps)) first = part;
    pm__part_collect(w, part);
  }
  for (nic = 0; nic < w->plat.node_count * w->plat.nic_count; nic++) {
    w->stats.hash_id = (w->stats.hash_id ^ w->nodes[nic].hash_id) * 0x9E3779B97F4A7C15u;
    w->nodes[nic].hash_id = 0;
  }
  if (first) {
    w->now_ps = first->now_ps;
    w->status = first->status;
    w->stopped = 1;
    memcpy(w->error, first->error, sizeof w->error);
  }
  pm__parts_free(w);
  if (verdict == PM__AT_LIMIT || verdict == PM__AT_END) pm__time_is_over(w, verdict == PM__AT_END);
  if (verdict == PM__DEADLOCKED) pm__deadlock(w);
}
/* Part 0 on the thread that called, the others on threads of their own. */
static void pm__parts_run(pm_world *w) {
#ifdef PM_THREADS
  struct pm__parts *parts = w->parts;
  pthread_t *thread = (pthread_t *)pm__zalloc((size_t)parts->count * sizeof *thread);
  int made = 1, i;
  bool is_ready = thread != NULL;
  pthread_mutex_init(&parts->mutex, NULL);
  pthread_cond_init(&parts->all_here, NULL);
  for (; is_ready && made < parts->count; made += is_ready)
    is_ready = pthread_create(&thread[made], NULL, pm__part_main, parts->part[made]) == 0;
  if (!is_ready) { /* those that are there meet the others once, and hear that it is over */
    for (i = made; i < parts->count; i++) parts->told[i].has_failed = true;
    pm_world_fail(parts->part[0], PM_E_NOMEM, "threads: the host gives no more of them");
    parts->told[0].has_failed = true;
    pthread_mutex_lock(&parts->mutex);
    parts->here_count += parts->count - made;
    pthread_mutex_unlock(&parts->mutex);
  }
  pm__part_runs(parts->part[0]);
  for (i = 1; i < made; i++) pthread_join(thread[i], NULL);
  pthread_cond_destroy(&parts->all_here);
  pthread_mutex_destroy(&parts->mutex);
  PM_FREE(thread);
#else
  pm__part_runs(w->parts->part[0]);
#endif
}
PM__PRIVATE void pm__windows_run(pm_world *w) {
  const char *why = pm__threads_refused(w);
  int count = w->desc.threads;
  if (why) {
    pm_world_fail(w, PM_E_INVAL, why);
    return;
  }
  if (count > PM__PARTS_MOST) count = PM__PARTS_MOST;
  if (count > w->plat.node_count) count = (int)w->plat.node_count;
  if (!pm__parts_make(w, count)) {
    if (w->parts) pm__parts_free(w);
    pm_world_fail(w, PM_E_NOMEM, "out of memory: threads");
    return;
  }
  pm__parts_deal(w);
  pm__parts_run(w);
  pm__parts_end(w);
}
#ifdef NBC_LINES
#line 1 "src/portals/msg.c"
#endif

static void pm__msg_worker_main(void *arg);
/* ============================================================================================== */
/* [MSG] 9. Two-sided messages over Portals                                                       */
/* ============================================================================================== */
/* Three protocols for long messages; eager ones are the first line alone, with their data.

     GET        sender shows its buffer      -- announcement, 0 bytes -->
                                             <- fetches, one per piece -- receiver
     PUT        sender shows an empty entry  -- announcement, 0 bytes -->
                                             <- answer: size, number ---- receiver shows its buffer
                                             -- data -------------------> into it
     PIPELINED  as PUT, but the announcement carries the first fragment, and of the others at most
                inflight_count are under way: an acknowledgement lets the next one go

   Announcements meet receives on the first portal, by tag and peer, in Portals' matching order.
   What follows meets its partner on the second one by number, which one entry alone has at a
   time.

   hdr_data of a message on the first portal: bit 63 announces a long one, 62..61 its protocol,
   then 37 bits of size and 24 of the number under which the sender is found on the second
   portal. There, hdr_data of a receiver's answer is the size it takes and the number of its
   buffer; of data, the fragment. The match bits of a fetch: the number, which fetch it is, how
   many there are. */
enum { PM__MSG_QUEUED, PM__MSG_WAITING, PM__MSG_MOVING };
#define PM__MSG_LONG        ((uint64_t)1 << 63)
#define PM__MSG_NUMBER      ((uint64_t)0xFFFFFF)
#define PM__MSG_INDEX(bits) ((uint32_t)((bits) >> 24 & 0xFFFFF))
#define PM__MSG_COUNT(bits) ((uint32_t)((bits) >> 44))
#define PM__MSG_SIZE        ((uint64_t)0x1FFFFFFFFF)
#define PM__MSG_ONCE        (PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE)

struct pm_msg {
  pm_msg_desc desc;
  pm_process *proc;
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md; /* all memory */
  ptl_pt_index_t pt, pt_shown;
  uint64_t piece_bytes; /* the most that one operation moves */
  uint64_t numbers;
  uint64_t last_id_before; /* messages up to this one are of an earlier layer */
  pm_msg_op *shown;        /* operations with an entry on the second portal */
  char *overflow;
  /* with a worker: */
  pm_thread *worker, *holder; /* holder: who handles events and posts, one at a time */
  pm_msg_op *queue, *queue_tail;
  int64_t t_look_ps, d_look_ps,
      d_step_ps;                  /* worker's last look, what one takes, from one to the next */
  int64_t t_mark_ps, d_stolen_ps; /* what it took from the computation since the mark */
  bool is_computing, is_working, is_closing, has_init, has_ni;
  int core_count;
  int64_t d_work_ps; /* to be done, see pm_msg_work_ns */
  bool is_at_work;
};

/* ---- what observers are told --------------------------------------------------------------------- */
static uint32_t pm__msg_pieces(const pm_msg_op *op) {
  const uint64_t bytes = op->fragment_bytes;
  return bytes && op->size_bytes > bytes ? (uint32_t)((op->size_bytes + bytes - 1) / bytes) : 1;
}
static void pm__msg_tell(pm_msg *msg, pm_msg_op *op, pm_msg_step step, uint32_t index,
                         int64_t t_begin_ns, int64_t t_end_ns) {
  pm_msg_transfer x;
  if (!msg->desc.observe) return;
  x.op = op;
  x.step = step;
  x.index = index;
  x.count = pm__msg_pieces(op);
  x.size_bytes = op->size_bytes;
  if (op->fragment_bytes) {
    const uint64_t begin_bytes = index * op->fragment_bytes;
    x.size_bytes = begin_bytes < op->size_bytes ? op->size_bytes - begin_bytes : 0;
    if (x.size_bytes > op->fragment_bytes) x.size_bytes = op->fragment_bytes;
  }
  x.t_begin_ns = t_begin_ns;
  x.t_end_ns = t_end_ns;
  msg->desc.observe(msg->desc.user, &x);
}
static void pm__msg_tell_now(pm_msg *msg, pm_msg_op *op, pm_msg_step step, uint32_t index) {
  pm__msg_tell(msg, op, step, index, pm_now_ns(), pm_now_ns());
}
/* From the wire: data is its initiator's, and on the second portal the other side's too. The
   stamp holds the initiator's operation; the other side's is found by the match bits, the number
   of what it shows: a sender's for a fetch, a receiver's for data. On the first portal the
   receiver is not known yet.
   A layer that closed has forgotten its operations, but not the NIC what was under way: their memory
   may be anything by now. */
static void pm__msg_stamp(void *arg, const pm_stamp *s) {
  const pm_world *w = (const pm_world *)arg;
  pm_msg *msg = w->procs[s->initiator_rank]->msg;
  pm_msg_op *op = (pm_msg_op *)s->user_ptr;
  const uint32_t index = s->is_reply ? PM__MSG_INDEX(s->match_bits) : (uint32_t)s->hdr_data;
  if (!msg || s->id <= msg->last_id_before) return;
  if (!s->size_bytes) return; /* announcements and answers move no data */
  if (s->pt_index == msg->pt && !s->is_reply)
    pm__msg_tell(msg, op, PM_MSG_ON_WIRE, 0, s->t_begin_ns, s->t_end_ns);
  if (s->pt_index != msg->pt_shown) return;
  pm__msg_tell(msg, op, PM_MSG_ON_WIRE, index, s->t_begin_ns, s->t_end_ns);
  msg = w->procs[op->peer]->msg;
  if (!msg || s->id <= msg->last_id_before) return;
  for (op = msg->shown; op; op = op->next)
    if (op->number_id == (s->match_bits & PM__MSG_NUMBER)) {
      pm__msg_tell(msg, op, PM_MSG_ON_WIRE, index, s->t_begin_ns, s->t_end_ns);
      return;
    }
}

/* ---- open and close ------------------------------------------------------------------------------ */
static ptl_me_t pm__msg_entry(void *start, size_t bytes, uint64_t bits, unsigned int options) {
  ptl_me_t me;
  memset(&me, 0, sizeof me);
  me.start = start;
  me.length = bytes;
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options = options | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_IS_ACCESSIBLE;
  me.match_id.phys.nid = PTL_NID_ANY;
  me.match_id.phys.pid = PTL_PID_ANY;
  me.match_bits = bits;
  return me;
}
/* Messages whose receive is not posted go one behind the other into a block (MANAGE_LOCAL). One
   that has not min_free left is unlinked by Portals, so what comes always fits whole: the
   largest payload of an unexpected message is min_free. AUTO_FREE says that receives have taken
   all of it, and it is appended anew; sooner, new messages would be written over those still to
   be copied. */
static int pm__msg_overflow_block(pm_msg *msg, char *start) {
  ptl_me_t me = pm__msg_entry(start, msg->desc.overflow_bytes, 0,
                              PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE);
  ptl_handle_me_t h;
  me.ignore_bits = ~(ptl_match_bits_t)0;
  me.min_free = msg->desc.eager_bytes;
  if (msg->desc.large == PM_MSG_PIPELINED && me.min_free < msg->desc.fragment_bytes)
    me.min_free = msg->desc.fragment_bytes;
  return PtlMEAppend(msg->ni, msg->pt, &me, PTL_OVERFLOW_LIST, start, &h);
}
static int pm__msg_defaults(pm_msg *m) {
  pm_msg_desc *d = &m->desc;
  const pm_platform *plat = &m->proc->world->plat;
  if (!d->eager_bytes) d->eager_bytes = 4096;
  if (!d->fragment_bytes) d->fragment_bytes = 65536;
  if (!d->inflight_count) d->inflight_count = 4;
  if (!d->worker_period_ns) d->worker_period_ns = 2000000;
  if (!d->overflow_bytes) d->overflow_bytes = 262144;
  if (!d->overflow_count) d->overflow_count = 4;
  if (!d->pt_index) d->pt_index = 240;
  m->core_count =
      (int)plat->cores_per_node_count / m->proc->world->nodes[m->proc->node].process_count;
  m->d_look_ps = plat->cpu_poll_ns * PM__PS;
  if (d->by == PM_MSG_TIMER) m->d_look_ps += plat->cpu_switch_ns * PM__PS;
  m->d_step_ps = pm__later(m->d_look_ps, d->by == PM_MSG_TIMER ? pm__ps(d->worker_period_ns) : 0);
  if (m->d_step_ps < PM__PS) m->d_step_ps = PM__PS;
  return (unsigned)d->large <= PM_MSG_PIPELINED && (unsigned)d->by <= PM_MSG_TIMER &&
         d->inflight_count > 0 && d->worker_period_ns > 0 && d->overflow_count > 0 &&
         d->eager_bytes <= d->overflow_bytes && d->overflow_bytes <= pm__limits.max_msg_size &&
         (d->large != PM_MSG_PIPELINED || d->fragment_bytes <= d->overflow_bytes) &&
         (d->by != PM_MSG_DEDICATED || m->core_count > 1);
}
static void pm__msg_free(pm_msg *m) {
  PM_FREE(m->overflow);
  PM_FREE(m);
}
static void pm__msg_close_portals(pm_msg *m) { /* as far as it was opened */
  if (m->has_ni) PtlNIFini(m->ni);
  if (m->has_init) PtlFini();
}
static int pm__msg_open_portals(pm_msg *m) {
  ptl_ni_limits_t actual;
  ptl_md_t md;
  int i, bad;
  memset(&md, 0, sizeof md);
  md.length = PTL_SIZE_MAX;
  md.ct_handle = PTL_CT_NONE;
  m->has_init = PtlInit() == PTL_OK;
  m->has_ni = m->has_init && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL,
                                       PTL_PID_ANY, NULL, &actual, &m->ni) == PTL_OK;
  bad = !m->has_ni || PtlEQAlloc(m->ni, 65536, &m->eq) ||
        PtlPTAlloc(m->ni, 0, m->eq, (ptl_pt_index_t)m->desc.pt_index, &m->pt) ||
        PtlPTAlloc(m->ni, 0, m->eq, (ptl_pt_index_t)m->desc.pt_index + 1, &m->pt_shown);
  md.eq_handle = m->eq;
  m->piece_bytes = bad ? 0 : actual.max_msg_size;
  bad = bad || PtlMDBind(m->ni, &md, &m->md);
  for (i = 0; i < m->desc.overflow_count && !bad; i++)
    bad = pm__msg_overflow_block(m, m->overflow + m->desc.overflow_bytes * (size_t)i);
  return !bad;
}
PM_API pm_status pm_msg_open(const pm_msg_desc *desc, pm_msg **msg) {
  pm_process *p = pm_self();
  pm_status status = PM_OK;
  pm_msg *m;
  if (!msg) return PM_E_INVAL;
  *msg = NULL;
  if (!p || p->msg) return PM_E_STATE;
  m = (pm_msg *)pm__zalloc(sizeof *m);
  if (!m) return PM_E_NOMEM;
  if (desc) m->desc = *desc;
  m->proc = p;
  m->last_id_before = p->world->next_id;
  p->msg = m; /* from now on the world frees it, should it end during one of the calls below */
  p->msg_free = pm__msg_free;
  if (!pm__msg_defaults(m))
    status = PM_E_INVAL;
  else if (!(m->overflow =
                 (char *)PM_MALLOC(m->desc.overflow_bytes * (size_t)m->desc.overflow_count)))
    status = PM_E_NOMEM;
  else if (!pm__msg_open_portals(m))
    status = PM_E_PORTALS;
  else if (m->desc.by) {
    /* at a random moment of its period: workers of processes that begin together do not look
       together */
    m->t_look_ps = p->world->now_ps - (int64_t)(pm__ratio(p->world) * (double)m->d_step_ps);
    m->worker = pm_thread_create(pm__msg_worker_main, m, 0);
    if (!m->worker) status = PM_E_NOMEM;
  }
  if (status) { /* the interface first: its entries point into the overflow blocks */
    pm__msg_close_portals(m);
    p->msg = NULL;
    pm__msg_free(m);
    return status;
  }
  if (m->desc.observe) pm_on_stamp(p->world, pm__msg_stamp, p->world);
  *msg = m;
  pm_barrier();
  return PM_OK;
}
PM_API void pm_msg_close(pm_msg *msg) {
  if (!msg) return;
  msg->is_closing = 1;
  if (msg->worker) {
    pm__wake_waiters(msg->proc, msg, 0, 1);
    pm_thread_join(msg->worker);
  }
  pm__msg_close_portals(msg);
  msg->proc->msg = NULL;
  pm__msg_free(msg);
}
PM_API pm_msg_desc pm_msg_desc_of(const pm_msg *msg) {
  pm_msg_desc none;
  memset(&none, 0, sizeof none);
  return msg ? msg->desc : none;
}

PM_API void pm_msg_work_ns(pm_msg *msg, int64_t d_ns) {
  if (msg && d_ns > 0) msg->d_work_ps = pm__later(msg->d_work_ps, pm__ps(d_ns));
}
static void pm__msg_do_work(pm_msg *msg) {
  const int64_t d_ps = msg->d_work_ps;
  if (!d_ps) return;
  msg->d_work_ps = 0;
  msg->is_at_work = 1;
  pm__busy(d_ps, "work between messages");
  msg->is_at_work = 0;
  if (msg->worker) pm__wake_waiters(msg->proc, msg, 0, 1);
}
/* Beside a worker: what a callback said to be done is so only when its work is. Only the holder
   lets that work's time pass, so others wait until it has. */
static void pm__msg_see_work_done(pm_msg *msg) {
  while (msg->is_at_work || (msg->d_work_ps && msg->holder && msg->holder != pm__current))
    pm__wait_ptl(msg, msg->eq, 0, PM__FOREVER, "work of the worker:");
}

/* ---- one operation ------------------------------------------------------------------------------- */
/* An operation ends when nothing is left that Portals will still tell about it: only then nobody
   holds a pointer to it. wait_count counts what is left:
     send     eager: its acknowledgement; GET: that and the fetches, as one; PUT, PIPELINED: that,
              the answer, and each fragment's acknowledgement from when it is put
     receive  the answer's acknowledgement, and all data, as one; or each fetch
   A number comes again after 2^24 long messages; 0 is none. */
static void pm__msg_show(pm_msg *msg, pm_msg_op *op) {
  do op->number_id = ++msg->numbers & PM__MSG_NUMBER;
  while (!op->number_id);
  op->is_shown = 1;
  op->prev = NULL;
  op->next = msg->shown;
  if (op->next) op->next->prev = op;
  msg->shown = op;
}
static void pm__msg_settle(pm_msg *msg, pm_msg_op *op) {
  if (op->wait_count) return;
  if (op->is_shown) {
    if (op->prev)
      op->prev->next = op->next;
    else
      msg->shown = op->next;
    if (op->next) op->next->prev = op->prev;
  }
  if (op->status == PM_PENDING) op->status = PM_OK;
  op->finished = 1;
  if (op->done) op->done(op);
  if (msg->worker) pm__wake_waiters(msg->proc, msg, 0, 1);
}
static pm_status pm__msg_post_send(pm_msg *msg, pm_msg_op *op) {
  const uint64_t size = op->size_bytes;
  const bool is_long = size > msg->desc.eager_bytes;
  const pm_msg_large how = msg->desc.large;
  uint64_t hdr = size << 24, first = size;
  uint32_t i;
  op->stage = PM__MSG_MOVING;
  op->wait_count = 1;
  if (is_long) { /* what the receiver will do: fetch, or answer */
    ptl_me_t me;
    pm__msg_show(msg, op);
    op->wait_count = 2;
    first = 0;
    if (size > msg->piece_bytes) op->fragment_bytes = msg->piece_bytes;
    if (how == PM_MSG_PIPELINED) {
      op->fragment_bytes = msg->desc.fragment_bytes;
      first = size < op->fragment_bytes ? size : op->fragment_bytes;
      op->in_flight_count = 1;
      op->next_fragment = 1;
    }
    /* One fetch: the entry goes with it. Several: it stays until all have come (PTL_EVENT_GET),
       and the bits above the number, which fetch it is and of how many, do not count for
       matching. */
    if (how == PM_MSG_GET) {
      me = pm__msg_entry(op->buffer, (size_t)size, op->number_id,
                         PTL_ME_OP_GET | (op->fragment_bytes ? PTL_ME_EVENT_UNLINK_DISABLE
                                                             : (unsigned)PM__MSG_ONCE));
      me.ignore_bits = ~PM__MSG_NUMBER;
    } else
      me = pm__msg_entry(NULL, 0, op->number_id, PTL_ME_OP_PUT | PM__MSG_ONCE);
    if (how == PM_MSG_PIPELINED) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, 0);
    if (how == PM_MSG_GET) /* whenever they come */
      for (i = 0; i < pm__msg_pieces(op); i++) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, i);
    if (PtlMEAppend(msg->ni, msg->pt_shown, &me, PTL_PRIORITY_LIST, op, &op->handle))
      return PM_E_PORTALS;
    hdr |= PM__MSG_LONG | (uint64_t)how << 61 | op->number_id;
  } else
    pm__msg_tell_now(msg, op, PM_MSG_BEGAN, 0);
  op->rest_bytes = first; /* sent so far */
  return PtlPut(msg->md, (ptl_size_t)(uintptr_t)op->buffer, first, PTL_ACK_REQ,
                pm_process_id(op->peer), msg->pt, op->tag, 0, op, hdr)
             ? PM_E_PORTALS
             : PM_OK;
}
static pm_status pm__msg_post_recv(pm_msg *msg, pm_msg_op *op) {
  ptl_me_t me =
      pm__msg_entry(op->buffer, (size_t)op->limit_bytes, op->tag, PTL_ME_OP_PUT | PM__MSG_ONCE);
  op->stage = PM__MSG_WAITING;
  if (op->peer >= 0) me.match_id = pm_process_id(op->peer);
  return PtlMEAppend(msg->ni, msg->pt, &me, PTL_PRIORITY_LIST, op, &op->handle) ? PM_E_PORTALS
                                                                                : PM_OK;
}
/* Posts, or hands over to the worker: without a step in simulated time, so that callers which are in
   the middle of something are not interrupted. */
static pm_status pm__msg_start(pm_msg *msg, pm_msg_op *op, const void *buffer, uint64_t size_bytes,
                               int peer, uint64_t tag, bool is_send) {
  void (*done)(pm_msg_op *) = op->done;
  void *user = op->user;
  memset(op, 0, sizeof *op);
  op->done = done;
  op->user = user;
  op->status = PM_PENDING;
  op->peer = peer;
  op->size_bytes = is_send ? size_bytes : 0;
  op->buffer = (void *)(uintptr_t)buffer;
  op->limit_bytes = size_bytes;
  op->tag = tag;
  op->is_send = is_send;
  if (!msg->worker) {
    pm__msg_do_work(msg);
    return is_send ? pm__msg_post_send(msg, op) : pm__msg_post_recv(msg, op);
  }
  if (msg->queue)
    msg->queue_tail->next = op;
  else
    msg->queue = op;
  msg->queue_tail = op;
  pm__wake_waiters(msg->proc, msg, 0, 1);
  return PM_OK;
}
PM_API pm_status pm_msg_isend(pm_msg *msg, const void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op) {
  if (!msg || !op || peer < 0 || peer >= pm_size() || (!buffer && size_bytes) ||
      size_bytes > PM__MSG_SIZE)
    return PM_E_INVAL;
  return pm__msg_start(msg, op, buffer, size_bytes, peer, tag, 1);
}
PM_API pm_status pm_msg_irecv(pm_msg *msg, void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op) {
  if (!msg || !op || peer < PM_MSG_ANY_PEER || peer >= pm_size() || (!buffer && size_bytes))
    return PM_E_INVAL;
  return pm__msg_start(msg, op, buffer, size_bytes, peer, tag, 0);
}

/* ---- events -------------------------------------------------------------------------------------- */
/* The receiver answers an announcement: here is room for the rest. Room first, then the answer:
   data may come as soon as the sender knows. A message that came whole, or has no room, is
   answered all the same: the sender waits for it. */
static void pm__msg_answer(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e, uint64_t first) {
  const uint64_t take = op->size_bytes;
  int bad = 0;
  op->rest_bytes = take > first ? take - first : 0; /* still to come */
  op->wait_count = 1;
  if (op->rest_bytes) {
    ptl_me_t me;
    uint32_t i;
    pm__msg_show(msg, op);
    me = pm__msg_entry((char *)op->buffer + first, (size_t)op->rest_bytes, op->number_id,
                       PTL_ME_OP_PUT | PTL_ME_EVENT_UNLINK_DISABLE);
    op->wait_count = 2;
    for (i = first ? 1 : 0; i < pm__msg_pieces(op); i++) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, i);
    bad = PtlMEAppend(msg->ni, msg->pt_shown, &me, PTL_PRIORITY_LIST, op, &op->handle);
  }
  if (bad || PtlPut(msg->md, 0, 0, PTL_ACK_REQ, e->initiator, msg->pt_shown,
                    e->hdr_data & PM__MSG_NUMBER, 0, op, take << 24 | op->number_id)) {
    op->status = PM_E_PORTALS;
    op->wait_count = 0;
    pm__msg_settle(msg, op);
  }
}
static void pm__msg_fetch(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e) {
  const uint32_t count = pm__msg_pieces(op);
  uint32_t i;
  op->wait_count = (int)count;
  for (i = 0; i < count; i++) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, i);
  for (i = 0; i < count; i++) {
    const uint64_t at = i * op->fragment_bytes, left = op->size_bytes - at,
                   bytes = i + 1 < count ? op->fragment_bytes : left;
    if (PtlGet(msg->md, (ptl_size_t)(uintptr_t)op->buffer + at, bytes, e->initiator, msg->pt_shown,
               (uint64_t)count << 44 | (uint64_t)i << 24 | (e->hdr_data & PM__MSG_NUMBER), at,
               op)) {
      op->status = PM_E_PORTALS;
      op->wait_count -= (int)(count - i);
      pm__msg_settle(msg, op);
      return;
    }
  }
}
/* A message has met its receive: the data is there, in the overflow block, or still with its
   sender. hdr_data has the whole size: what came with a long message (rlength) is the first
   fragment or nothing. */
static void pm__msg_met(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e) {
  const pm_process *from =
      pm__process_by_pid(msg->proc->world, e->initiator.phys.nid, e->initiator.phys.pid);
  const uint64_t size = e->hdr_data >> 24 & PM__MSG_SIZE, first = e->rlength,
                 take = size < op->limit_bytes ? size : op->limit_bytes,
                 here = first < take ? first : take;
  const bool is_long = (e->hdr_data & PM__MSG_LONG) != 0;
  op->peer = from ? from->rank : -1;
  op->size_bytes = take;
  op->stage = PM__MSG_MOVING;
  if (take < size) op->status = PM_E_TRUNCATED;
  if (e->type == PTL_EVENT_PUT_OVERFLOW && here) { /* the CPU copies what came too early */
    if (!msg->proc->world->desc.no_data) memcpy(op->buffer, e->start, (size_t)here);
    pm__busy(pm__bytes_ps((double)here, msg->proc->world->plat.intra_bytes_per_s),
             "copying an early message");
  }
  /* The sender's fragments are as long as the first one, which came with the announcement. */
  if (is_long) op->fragment_bytes = first ? first : size > msg->piece_bytes ? msg->piece_bytes : 0;
  if (!is_long || first) pm__msg_tell_now(msg, op, PM_MSG_CAME, 0);
  if (!is_long)
    pm__msg_settle(msg, op);
  else if ((e->hdr_data >> 61 & 3) != PM_MSG_GET)
    pm__msg_answer(msg, op, e, first);
  else
    pm__msg_fetch(msg, op, e);
}
/* The sender has its answer: as many fragments as may be under way at once. rest_bytes is how
   far it has come in the message; the receiver's entry begins behind the first fragment, hence
   at - first. A truncated message ends at limit_bytes, what the receiver takes. The first
   fragment counts as under way until its own acknowledgement, which may come after the answer. */
static void pm__msg_send_more(pm_msg *msg, pm_msg_op *op) {
  const bool is_pipelined = msg->desc.large == PM_MSG_PIPELINED;
  const uint64_t first = !is_pipelined                         ? 0
                         : op->fragment_bytes < op->size_bytes ? op->fragment_bytes
                                                               : op->size_bytes;
  if (!op->is_granted) return;
  while (op->rest_bytes < op->limit_bytes && op->status == PM_PENDING &&
         (!is_pipelined || op->in_flight_count < msg->desc.inflight_count)) {
    const uint64_t at = op->rest_bytes, left = op->limit_bytes - at,
                   bytes =
                       op->fragment_bytes && op->fragment_bytes < left ? op->fragment_bytes : left;
    const uint32_t index = op->next_fragment++;
    op->rest_bytes += bytes;
    op->in_flight_count++;
    op->wait_count++;
    pm__msg_tell_now(msg, op, PM_MSG_BEGAN, index);
    if (PtlPut(msg->md, (ptl_size_t)(uintptr_t)op->buffer + at, bytes, PTL_ACK_REQ, op->target_id,
               msg->pt_shown, op->peer_number_id, at - first, op, index)) {
      op->status = PM_E_PORTALS;
      op->wait_count--;
      /* Arguments are right here, so the host has no memory; nothing could tell the receiver. */
      pm_world_fail(msg->proc->world, PM_E_NOMEM, "out of memory: a fragment of a message");
      return;
    }
  }
}
/* On the second portal: an answer to a sender, data to a receiver. Fragments are counted by
   their bytes, not by their numbers: one entry takes them all, each at its own offset, in any
   order. */
static void pm__msg_shown_put(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e) {
  if (op->is_send) {
    op->wait_count--;
    op->is_granted = 1;
    op->target_id = e->initiator;
    op->peer_number_id = e->hdr_data & PM__MSG_NUMBER;
    op->limit_bytes = e->hdr_data >> 24; /* what the receiver takes */
    pm__msg_send_more(msg, op);
  } else {
    op->rest_bytes -= e->mlength;
    pm__msg_tell_now(msg, op, PM_MSG_ENDED, (uint32_t)e->hdr_data);
    if (op->rest_bytes) return;
    PtlMEUnlink(op->handle);
    op->wait_count--;
  }
  pm__msg_settle(msg, op);
}
/* Acknowledgements of an operation come in the order of its puts, since Portals orders the
   messages of a pair: so the n-th is that of the n-th put, and needs no mark. An announcement
   without data is none of the transfers that observers hear of. */
static void pm__msg_acked(pm_msg *msg, pm_msg_op *op, int failed) {
  op->wait_count--;
  if (failed) op->status = PM_E_PORTALS;
  if (!op->is_send) { /* of the answer: without it no data comes */
    if (failed && op->wait_count) PtlMEUnlink(op->handle), op->wait_count = 0;
  } else {
    const bool is_long = op->is_shown, in_pieces = msg->desc.large == PM_MSG_PIPELINED,
               is_get = is_long && msg->desc.large == PM_MSG_GET;
    const uint32_t number = op->ack_count++, announced = is_long && !in_pieces ? 1 : 0;
    if (number >= announced) {
      op->in_flight_count--;
      pm__msg_tell_now(msg, op, PM_MSG_ENDED, number - announced);
    }
    if (failed && is_long && number == 0 &&
        !op->is_granted) { /* the announcement was refused: nobody will answer */
      PtlMEUnlink(op->handle);
      op->wait_count--;
      if (is_get) pm__msg_tell_now(msg, op, PM_MSG_ENDED, 0);
    }
    if (!is_get) pm__msg_send_more(msg, op);
  }
  pm__msg_settle(msg, op);
}
static void pm__msg_event(pm_msg *msg, const ptl_event_t *e) {
  pm_msg_op *op = (pm_msg_op *)e->user_ptr;
  switch (e->type) {
  case PTL_EVENT_PUT: /* into a posted receive: overflow entries tell nothing */
  case PTL_EVENT_PUT_OVERFLOW:
    if (e->pt_index == msg->pt)
      pm__msg_met(msg, op, e);
    else
      pm__msg_shown_put(msg, op, e);
    break;
  case PTL_EVENT_REPLY: /* of our fetch */
    op->wait_count--;
    if (e->ni_fail_type) op->status = PM_E_PORTALS;
    pm__msg_tell_now(msg, op, PM_MSG_ENDED,
                     op->fragment_bytes ? (uint32_t)(e->remote_offset / op->fragment_bytes) : 0);
    pm__msg_settle(msg, op);
    break;
  case PTL_EVENT_GET: /* our shown buffer has been fetched, or a piece of it */
    op->is_granted = 1;
    pm__msg_tell_now(msg, op, PM_MSG_ENDED, PM__MSG_INDEX(e->match_bits));
    if (++op->next_fragment < PM__MSG_COUNT(e->match_bits)) break;
    if (op->fragment_bytes) PtlMEUnlink(op->handle);
    op->wait_count--;
    pm__msg_settle(msg, op);
    break;
  case PTL_EVENT_ACK: pm__msg_acked(msg, op, e->ni_fail_type); break;
  /* user_ptr of an overflow block is its beginning, not an operation */
  case PTL_EVENT_AUTO_FREE: pm__msg_overflow_block(msg, (char *)e->user_ptr); break;
  default: break; /* SEND, AUTO_UNLINK of overflow blocks */
  }
  pm__msg_do_work(msg);
}

/* ---- progress ------------------------------------------------------------------------------------ */
static bool pm__msg_has_work(pm_msg *msg) {
  return msg->queue || pm__eq_at(msg->proc->ni[1], msg->eq)->used;
}
/* With a worker: handles and posts all there is, unless another thread is at it (`holder`).
   Simulated threads change at each call that takes time: two that took events in turn would
   handle them in another order than they came. */
static void pm__msg_drain(pm_msg *msg) {
  ptl_event_t e;
  if (msg->holder) return;
  msg->holder = pm__current;
  while (pm__msg_has_work(msg)) {
    pm_msg_op *op = msg->queue;
    pm__msg_do_work(msg); /* a callback's work comes before what that callback posted */
    if (op) {
      msg->queue = op->next;
      op->next = NULL;
      if (op->is_send ? pm__msg_post_send(msg, op) : pm__msg_post_recv(msg, op)) {
        op->status = PM_E_PORTALS;
        op->wait_count = 0;
        pm__msg_settle(msg, op);
      }
    } else {
      const int code = PtlEQGet(msg->eq, &e);
      if (code == PTL_OK || code == PTL_EQ_DROPPED) pm__msg_event(msg, &e);
    }
  }
  msg->holder = NULL;
}
/* What the worker took from the computation since the last account: all the time while it works,
   one look per step while it only looks. Looks that find nothing are no events of the
   simulation, but counted: those at t_look_ps + k * d_step_ps between the mark and now, a
   difference of two rounded-down quotients, so that no look counts twice wherever the marks lie. */
static void pm__msg_account(pm_msg *msg) {
  const int64_t now_ps = msg->proc->world->now_ps, from_ps = msg->t_mark_ps - msg->t_look_ps,
                to_ps = now_ps - msg->t_look_ps;
  if (msg->is_computing && msg->desc.by == PM_MSG_TIMER)
    msg->d_stolen_ps += msg->is_working
                            ? now_ps - msg->t_mark_ps
                            : (to_ps / msg->d_step_ps - from_ps / msg->d_step_ps) * msg->d_look_ps;
  msg->t_mark_ps = now_ps;
}
/* The worker looks once per step; between two looks that find nothing the simulation skips. */
static void pm__msg_worker_main(void *arg) {
  pm_msg *msg = (pm_msg *)arg;
  pm_world *w = msg->proc->world;
  while (!msg->is_closing) {
    if (!pm__msg_has_work(msg) || msg->holder) {
      pm__wait_ptl(NULL, msg->eq, 0, PM__FOREVER, "a worker:");
      continue;
    }
    /* Until the next of those looks: the remainder is 0 or negative, as t_look_ps is past. */
    pm__busy((msg->t_look_ps - w->now_ps) % msg->d_step_ps + msg->d_step_ps,
             "a worker's next look");
    if (!pm__msg_has_work(msg) || msg->holder) continue;
    pm__busy(msg->d_look_ps, "a worker's look");
    pm__msg_account(msg); /* this look too */
    msg->is_working = 1;
    pm__msg_drain(msg);
    pm__msg_account(msg);
    msg->is_working = 0;
    msg->t_look_ps = w->now_ps;
  }
}
PM_API void pm_msg_compute_ns(pm_msg *msg, int64_t d_ns) {
  if (!msg || d_ns <= 0) return;
  if (msg->desc.by == PM_MSG_DEDICATED)
    d_ns = (int64_t)((double)d_ns * msg->core_count / (msg->core_count - 1) + 0.5);
  pm__msg_account(msg);
  msg->is_computing = 1;
  /* What was stolen is computed afterwards, and stolen from again. While the worker only looks,
     each turn is shorter, as a look takes less than a step. Rounded up, or a rest below 1 ns
     would be lost. */
  while (d_ns > 0) {
    pm_compute_ns(d_ns);
    pm__msg_account(msg);
    d_ns = (msg->d_stolen_ps + PM__PS - 1) / PM__PS;
    msg->d_stolen_ps = 0;
  }
  msg->is_computing = 0;
}
PM_API void pm_msg_progress(pm_msg *msg) {
  ptl_event_t e;
  int code;
  if (!msg) return;
  if (msg->worker) {
    if (msg->desc.by == PM_MSG_TIMER && !msg->holder && pm__msg_has_work(msg))
      pm__msg_drain(msg);
    else
      pm__poll_pause();
    pm__msg_see_work_done(msg);
    return;
  }
  code = PtlEQGet(msg->eq, &e);
  while (code == PTL_OK || code == PTL_EQ_DROPPED) {
    pm__eq *eq = pm__eq_at(msg->proc->ni[1], msg->eq);
    pm__msg_event(msg, &e);
    if (!eq->used) return; /* no look in vain after a good one */
    code = PtlEQGet(msg->eq, &e);
  }
}
/* A dedicated worker does all, and wakes whoever waits for this layer. A timer's worker comes
   late, so the caller handles events too and waits for anything of its process. */
static void pm__msg_wait_beside_worker(pm_msg *msg, const pm_msg_op *op) {
  int once = !op;
  while (op ? !op->finished : once) {
    once = 0;
    if (msg->desc.by == PM_MSG_TIMER && !msg->holder && pm__msg_has_work(msg))
      pm__msg_drain(msg);
    else
      pm__wait_ptl(msg->desc.by == PM_MSG_TIMER ? NULL : msg, msg->eq, 0, PM__FOREVER,
                   "a message:");
  }
  pm__msg_see_work_done(msg);
  pm__cpu(msg->proc->world->plat.cpu_poll_ns); /* the look that sees it */
}
PM_API pm_status pm_msg_wait(pm_msg *msg, pm_msg_op *op) {
  ptl_event_t e;
  int once;
  if (!msg) return PM_E_INVAL;
  once = !op && !msg->worker;
  if (msg->worker && !(op && op->finished)) pm__msg_wait_beside_worker(msg, op);
  while (op ? !op->finished : once) {
    const int code = PtlEQWait(msg->eq, &e);
    if (code != PTL_OK && code != PTL_EQ_DROPPED) return PM_E_PORTALS;
    once = 0;
    pm__msg_event(msg, &e);
  }
  return op ? op->status : PM_OK;
}
PM_API pm_status pm_msg_cancel(pm_msg *msg, pm_msg_op *op) {
  pm_msg_op *before = NULL, *q;
  if (!msg || !op) return PM_E_INVAL;
  if (op->finished || op->is_send || op->stage == PM__MSG_MOVING) return PM_E_STATE;
  for (q = op->stage == PM__MSG_QUEUED ? msg->queue : NULL; q && q != op; q = q->next) before = q;
  if (q) { /* still with us */
    if (before)
      before->next = op->next;
    else
      msg->queue = op->next;
    if (msg->queue_tail == op) msg->queue_tail = before;
  } else if (op->stage == PM__MSG_QUEUED || PtlMEUnlink(op->handle)) /* gone: it was matched */
    return PM_E_STATE;
  op->finished = 1;
  return PM_OK;
}
#ifdef NBC_LINES
#line 1 "src/portals/compute.c"
#endif

/* ============================================================================================== */
/* [COMPUTE] 10. Compute time: kernel models with noise                                           */
/* ============================================================================================== */
/* Products and logarithm by ourselves: draws are the same on every machine, to the last bit. */
static double pm__polynomial_s(double mnk_s, double mn_s, double mk_s, double nk_s, double m_count,
                               double n_count, double k_count) {
  return pm__times(mnk_s * m_count * n_count, k_count) + pm__times(mn_s * m_count, n_count) +
         pm__times(mk_s * m_count, k_count) + pm__times(nk_s * n_count, k_count);
}
/* Of a number in (0, 1]: exponent and mantissa apart, and log((1 + s) / (1 - s)) as a series in s * s,
   which is at most 0.03. */
static double pm__log(double x) {
  int exponent, k;
  double mantissa = frexp(x, &exponent), s, series = 1.0 / 25;
  if (mantissa < 0.70710678118654752) mantissa *= 2, exponent--;
  s = (mantissa - 1) / (mantissa + 1);
  for (k = 23; k > 0; k -= 2) series = pm__times(series, s * s) + 1.0 / k;
  return pm__times(exponent, 0.69314718055994531) + pm__times(2 * s, series);
}
PM_API double pm_kernel_mean_s(const pm_kernel *kernel, double m_count, double n_count,
                               double k_count) {
  double s;
  if (!kernel) return 0;
  s = pm__polynomial_s(kernel->mnk_s, kernel->mn_s, kernel->mk_s, kernel->nk_s, m_count, n_count,
                       k_count) +
      kernel->one_s;
  return s > 0 ? s : 0;
}
/* Normal numbers by Marsaglia's polar method: a point of the unit disc. */
static double pm__normal(pm_world *world) {
  double x, y, square;
  do {
    x = 2 * pm__ratio(world) - 1;
    y = 2 * pm__ratio(world) - 1;
    square = pm__times(x, x) + pm__times(y, y);
  } while (square >= 1 || square <= 0);
  return x * sqrt(-2 * pm__log(square) / square);
}
/* One mode by its weight, then a number around its mean: so many times the kernel's mean. */
PM__PRIVATE double pm__mixture(const pm_mode *modes, int count, pm_world *world) {
  double all = 0, at, ratio;
  int i;
  if (count > PM_MODES_MAX) count = PM_MODES_MAX; /* a kernel filled by hand */
  for (i = 0; i < count; i++) all += modes[i].weight_ratio;
  at = all * pm__ratio(world);
  for (i = 0; i < count - 1 && at >= modes[i].weight_ratio; i++) at -= modes[i].weight_ratio;
  ratio = modes[i].mean_ratio + pm__times(modes[i].sigma_ratio, pm__normal(world));
  return ratio > 0.5 * modes[i].mean_ratio ? ratio : 0.5 * modes[i].mean_ratio;
}
PM_API double pm_kernel_draw_s(const pm_kernel *kernel, pm_world *world, double m_count,
                               double n_count, double k_count) {
  double mean_s, sigma_s, s;
  mean_s = pm_kernel_mean_s(kernel, m_count, n_count, k_count);
  if (!kernel || !world) return mean_s;
  sigma_s = fabs(pm__times(kernel->sigma_ratio, mean_s) + kernel->sigma_one_s +
                 pm__polynomial_s(kernel->sigma_mnk_s, kernel->sigma_mn_s, kernel->sigma_mk_s,
                                  kernel->sigma_nk_s, m_count, n_count, k_count));
  if (kernel->mode_count > 0) return mean_s * pm__mixture(kernel->modes, kernel->mode_count, world);
  if (sigma_s > 0) {
    s = mean_s + pm__times(sigma_s, pm__normal(world));
    return s > 0.5 * mean_s ? s : 0.5 * mean_s;
  }
  if (world->plat.noise_count > 0)
    return mean_s * pm__mixture(world->plat.noise, world->plat.noise_count, world);
  return mean_s;
}
PM_API void pm_compute_kernel(const pm_kernel *kernel, double m_count, double n_count,
                              double k_count) {
  double s;
  if (!pm__current || !kernel) return;
  if (pm__current->has_steps) pm__catch_up(); /* drawn in its turn */
  s = pm_kernel_draw_s(kernel, pm__current->proc->world, m_count, n_count, k_count);
  pm_compute_ns((int64_t)(pm__times(s < 9e8 ? s : 9e8, 1e9) + 0.5));
}
#ifdef NBC_LINES
#line 1 "src/portals/links.c"
#endif
/* links.c: use of links over time. */


/* ============================================================================================== */
/* [LINKS] 11. Use of links over time: table, tracks, heat map                                    */
/* ============================================================================================== */
typedef struct pm__use {
  double bytes;
  float carried[PM_LINK_BINS], flows[PM_LINK_BINS],
      queued[PM_LINK_BINS]; /* bytes, ps, bytes * ps */
} pm__use;
struct pm__uses {
  int64_t bin_ps;
  pm__use *link;
};
PM__PRIVATE bool pm__uses_make(pm_world *w) {
  w->uses = (struct pm__uses *)pm__zalloc(sizeof *w->uses);
  if (!w->uses) return false;
  w->uses->bin_ps = 64 * PM__PS;
  w->uses->link = (pm__use *)pm__zalloc((size_t)w->net_link_count * sizeof(pm__use));
  w->stats.memory_bytes += (size_t)w->net_link_count * sizeof(pm__use);
  return w->uses->link != NULL;
}
PM__PRIVATE void pm__uses_free(pm_world *w) {
  if (w->uses) PM_FREE(w->uses->link);
  PM_FREE(w->uses);
}
static void pm__bins_double(float *bin) {
  int i;
  for (i = 0; i < PM_LINK_BINS; i++)
    bin[i] = i < PM_LINK_BINS / 2 ? bin[2 * i] + bin[2 * i + 1] : 0;
}
/* An amount, evenly over a time. */
static void pm__spread(float *bin, int64_t bin_ps, int64_t t_begin_ps, int64_t t_end_ps,
                       double amount) {
  int i = (int)(t_begin_ps / bin_ps);
  const int last = (int)((t_end_ps > t_begin_ps ? t_end_ps - 1 : t_begin_ps) / bin_ps);
  const double per_ps = t_end_ps > t_begin_ps ? amount / (double)(t_end_ps - t_begin_ps) : 0;
  if (i == last) {
    bin[i] += (float)amount;
    return;
  }
  for (; i <= last; i++) {
    const int64_t from_ps = pm__max_ps(t_begin_ps, i * bin_ps);
    const int64_t to_ps = i == last ? t_end_ps : (i + 1) * bin_ps;
    bin[i] += (float)(per_ps * (double)(to_ps - from_ps));
  }
}
PM__PRIVATE void pm__use_add(pm_world *w, uint32_t link, pm__use_kind kind, int64_t t_begin_ps,
                             int64_t t_end_ps, double amount) {
  struct pm__uses *u = w->uses;
  pm__use *l;
  int i;
  if (link >= (uint32_t)w->net_link_count) return; /* PCI, memory */
  l = &u->link[link];
  if (t_begin_ps < 0) t_begin_ps = 0;
  while (t_end_ps / PM_LINK_BINS >= u->bin_ps) { /* a product might be behind the end of time */
    for (i = 0; i < w->net_link_count; i++) {
      pm__bins_double(u->link[i].carried);
      pm__bins_double(u->link[i].flows);
      pm__bins_double(u->link[i].queued);
    }
    u->bin_ps *= 2;
  }
  if (kind == PM__USE_CARRIED) l->bytes += amount;
  pm__spread(kind == PM__USE_CARRIED ? l->carried
             : kind == PM__USE_FLOWS ? l->flows
                                     : l->queued,
             u->bin_ps, t_begin_ps, t_end_ps, amount);
}
PM_API int pm_link_use(const pm_world *world, int link, pm_link_bin *bins, int max) {
  int i, n;
  if (!world || !world->uses || link < 0 || link >= world->net_link_count) return 0;
  n = world->now_ps > 0 ? (int)((world->now_ps - 1) / world->uses->bin_ps) + 1 : 0;
  if (n > PM_LINK_BINS) n = PM_LINK_BINS;
  for (i = 0; bins && i < n && i < max; i++) {
    const pm__use *u = &world->uses->link[link];
    const int64_t begin_ps = i * world->uses->bin_ps,
                  end_ps = i + 1 < n ? begin_ps + world->uses->bin_ps : world->now_ps;
    const double d_ps = (double)(end_ps - begin_ps);
    bins[i].t_begin_ns = begin_ps / PM__PS;
    bins[i].t_end_ns = end_ps / PM__PS;
    bins[i].use_ratio = (double)u->carried[i] / (pm_link_bytes_per_s(world, link) * d_ps * 1e-12);
    bins[i].flow_count = (double)u->flows[i] / d_ps;
    bins[i].queue_bytes = (double)u->queued[i] / d_ps;
  }
  return n;
}

/* ---- names ---------------------------------------------------------------------------------------- */
static int pm__name_node(char *name, size_t bytes, int64_t link) {
  snprintf(name, bytes, "node %lld %s", (long long)(link / 2), link % 2 ? "down" : "up");
  return (int)(link % 2);
}
static int pm__name_fattree(const pm_platform *p, char *name, size_t bytes, int64_t link) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t l, span = 1, width = 1, base = 0, cables;
  for (l = 0;; l++) {
    cables = p->node_count / span * width * up[l];
    if (link / 2 < base + cables || l + 1 == h) break;
    base += cables;
    span *= m[l];
    width *= up[l];
  }
  cables = link / 2 - base;
  if (l)
    snprintf(name, bytes, "level %lld: switch %lld port %lld %s", (long long)l,
             (long long)(cables / up[l]), (long long)(cables % up[l]), link % 2 ? "down" : "up");
  else
    snprintf(name, bytes, "node %lld port %lld %s", (long long)(cables / up[l]),
             (long long)(cables % up[l]), link % 2 ? "down" : "up");
  return (int)(2 * l + link % 2);
}
static int pm__name_graph(const pm_world *w, char *name, size_t bytes, int link) {
  const pm__graph *g = w->graph;
  const int nodes = (int)w->plat.node_count;
  char end[2][32];
  int i;
  for (i = 0; i < 2; i++) {
    const int v = g->end[link ^ !i]; /* where it begins, where it ends */
    if (v < nodes)
      snprintf(end[i], sizeof end[i], "h%d", v);
    else
      snprintf(end[i], sizeof end[i], "%s", g->names[v - nodes]);
  }
  snprintf(name, bytes, "%s to %s, cable %d", end[0], end[1], link / 2 + 1);
  for (; *name; name++) /* a file's names may be anything, and stand in pages and traces */
    if (strchr("<>&\"'\\", *name)) *name = '_';
  return g->end[link ^ 1] < nodes ? 0 : g->end[link] < nodes ? 1 : 2;
}
/* Of one rail. ret its tier */
static int pm__link_name(const pm_world *world, int link, char *name, size_t name_bytes) {
  const pm_platform *p = &world->plat;
  int64_t i;
  if (p->topology == PM_TOPO_FILE) return pm__name_graph(world, name, name_bytes, link);
  if (p->topology == PM_TOPO_FATTREE) return pm__name_fattree(p, name, name_bytes, link);
  if (link < 2 * p->node_count) return pm__name_node(name, name_bytes, link);
  i = link - 2 * p->node_count;
  if (p->topology == PM_TOPO_TORUS) {
    snprintf(name, name_bytes, "router %lld, dimension %lld, %s",
             (long long)(i / 2 % p->node_count), (long long)(i / 2 / p->node_count),
             i % 2 ? "backward" : "forward");
    return (int)(2 + 2 * (i / 2 / p->node_count) + i % 2);
  }
  if (link < pm__dragonfly_global(p)) {
    const int64_t a = p->topo[1];
    snprintf(name, name_bytes, "group %lld: router %lld to %lld", (long long)(i / (a * a)),
             (long long)(i / a % a), (long long)(i % a));
    return 2;
  }
  i = link - pm__dragonfly_global(p);
  {
    const int64_t g = p->topo[0], cables = pm__dragonfly_cables(p->topo);
    snprintf(name, name_bytes, "group %lld to %lld, cable %lld", (long long)(i / cables / g),
             (long long)(i / cables % g), (long long)(i % cables));
  }
  return 3;
}
PM_API int pm_link_name(const pm_world *world, int link, char *name, size_t name_bytes) {
  int tier, rail_links;
  if (!world || !name || !name_bytes || link < 0 || link >= world->net_link_count) return -1;
  rail_links = world->net_link_count / (int)world->plat.nic_count;
  tier = pm__link_name(world, link % rail_links, name, name_bytes);
  if (world->plat.nic_count > 1) {
    const size_t used = strlen(name);
    snprintf(name + used, name_bytes - used, ", rail %d", link / rail_links);
  }
  return tier;
}

/* ---- what is written ------------------------------------------------------------------------------ */
PM_API pm_status pm_links_write_csv(const pm_world *world, FILE *out) {
  pm_link_bin bin[PM_LINK_BINS];
  locale_t before;
  char name[80];
  int link, i;
  if (!world || !out) return PM_E_INVAL;
  if (!world->uses) return PM_E_STATE;
  before = nbc__locale_begin();
  fprintf(out, "link,tier,name,t_begin_ns,t_end_ns,use_ratio,flow_count,queue_bytes\n");
  for (link = 0; link < pm_link_count(world); link++) {
    const int tier = pm_link_name(world, link, name, sizeof name),
              n = pm_link_use(world, link, bin, PM_LINK_BINS);
    for (i = 0; i < n; i++)
      if (bin[i].use_ratio > 0 || bin[i].flow_count > 0 || bin[i].queue_bytes > 0)
        fprintf(out, "%d,%d,\"%s\",%lld,%lld,%.6f,%.4f,%.1f\n", link, tier, name,
                (long long)bin[i].t_begin_ns, (long long)bin[i].t_end_ns, bin[i].use_ratio,
                bin[i].flow_count, bin[i].queue_bytes);
  }
  nbc__locale_end(before);
  return ferror(out) ? PM_E_IO : PM_OK;
}
typedef struct pm__ranked {
  int link, tier;
  double use_ratio, peak_ratio, flow_peak, queue_peak;
} pm__ranked;
static int pm__ranked_order(const void *a, const void *b) {
  const pm__ranked *x = (const pm__ranked *)a, *y = (const pm__ranked *)b;
  return x->use_ratio < y->use_ratio || (x->use_ratio <= y->use_ratio && x->link > y->link) ? 1
                                                                                            : -1;
}
/* All links of the network, the most used first. NULL: out of memory */
static pm__ranked *pm__links_ranked(const pm_world *w) {
  pm__ranked *all = (pm__ranked *)pm__zalloc(((size_t)w->net_link_count + 1) * sizeof *all);
  pm_link_bin bin[PM_LINK_BINS];
  char name[80];
  int link, i;
  for (link = 0; all && link < w->net_link_count; link++) {
    pm__ranked *r = &all[link];
    const int n = pm_link_use(w, link, bin, PM_LINK_BINS);
    const double able = pm_link_bytes_per_s(w, link) * (double)w->now_ps * 1e-12;
    r->link = link;
    r->tier = pm_link_name(w, link, name, sizeof name);
    r->use_ratio = able > 0 ? w->uses->link[link].bytes / able : 0;
    for (i = 0; i < n; i++) {
      if (bin[i].use_ratio > r->peak_ratio) r->peak_ratio = bin[i].use_ratio;
      if (bin[i].flow_count > r->flow_peak) r->flow_peak = bin[i].flow_count;
      if (bin[i].queue_bytes > r->queue_peak) r->queue_peak = bin[i].queue_bytes;
    }
  }
  if (all) qsort(all, (size_t)w->net_link_count, sizeof *all, pm__ranked_order);
  return all;
}
/* Tracks of a Chrome trace: use, flows and queue of the links that were used most. */
enum { PM__TRACKS = 32, PM__WORST = 24, PM__CELLS = 64, PM__TIER_CELLS = 4096, PM__CELL = 12 };
PM__PRIVATE pm_status pm__links_tracks(const pm_world *w, FILE *out) {
  pm__ranked *all;
  pm_link_bin bin[PM_LINK_BINS];
  locale_t before;
  char name[80];
  int k, i;
  if (!w->uses) return PM_OK;
  all = pm__links_ranked(w);
  if (!all) return PM_E_NOMEM;
  before = nbc__locale_begin();
  fprintf(out,
          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%lld,\"args\":{\"name\":\"links\"}},\n",
          (long long)w->plat.node_count);
  for (k = 0; k < w->net_link_count && k < PM__TRACKS && all[k].use_ratio > 0; k++) {
    const int n = pm_link_use(w, all[k].link, bin, PM_LINK_BINS);
    pm_link_name(w, all[k].link, name, sizeof name);
    for (i = 0; i <= n; i++)
      fprintf(
          out,
          "{\"ph\":\"C\",\"name\":\"%s\",\"pid\":%lld,\"ts\":%lld.%03d,\"args\":{\"use_percent\":"
          "%.2f,\"flows\":%.3f,\"queue_bytes\":%.0f}},\n",
          name, (long long)w->plat.node_count,
          (long long)(i < n ? bin[i].t_begin_ns
                      : n   ? bin[n - 1].t_end_ns
                            : 0) /
              1000,
          (int)((i < n ? bin[i].t_begin_ns
                 : n   ? bin[n - 1].t_end_ns
                       : 0) %
                1000),
          i < n ? 100 * bin[i].use_ratio : 0, i < n ? bin[i].flow_count : 0,
          i < n ? bin[i].queue_bytes : 0);
  }
  nbc__locale_end(before);
  PM_FREE(all);
  return PM_OK;
}
/* White to dark red. */
static void pm__cell(FILE *out, int x, int y, int width, double ratio, const char *title) {
  const double r = ratio < 0 ? 0 : ratio > 1 ? 1 : ratio;
  fprintf(
      out,
      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"><title>%s, %.1f "
      "%%</title></rect>\n",
      x, y, width, PM__CELL - 1, (int)(255 - 115 * r * r), (int)(245 * (1 - r)),
      (int)(235 * (1 - r) * (1 - r)), title, 100 * ratio);
}
static void pm__page_worst(const pm_world *w, FILE *out, const pm__ranked *all) {
  pm_link_bin bin[PM_LINK_BINS];
  char name[80], title[160];
  int k, i;
  fprintf(out,
          "<h2>The most used links</h2>\n<table><tr><th>link<th>use<th>peak<th>flows<th>queue, "
          "bytes<th>over time</tr>\n");
  for (k = 0; k < w->net_link_count && k < PM__WORST && all[k].use_ratio > 0; k++) {
    const int n = pm_link_use(w, all[k].link, bin, PM_LINK_BINS);
    pm_link_name(w, all[k].link, name, sizeof name);
    fprintf(
        out,
        "<tr><td>%s<td>%.1f %%<td>%.1f %%<td>%.2f<td>%.0f<td><svg width=\"%d\" height=\"%d\">\n",
        name, 100 * all[k].use_ratio, 100 * all[k].peak_ratio, all[k].flow_peak, all[k].queue_peak,
        6 * PM_LINK_BINS, PM__CELL);
    for (i = 0; i < n; i++) {
      snprintf(title, sizeof title, "%lld to %lld ns, %.2f flows, %.0f bytes wait",
               (long long)bin[i].t_begin_ns, (long long)bin[i].t_end_ns, bin[i].flow_count,
               bin[i].queue_bytes);
      pm__cell(out, 6 * i, 0, 6, bin[i].use_ratio, title);
    }
    fprintf(out, "</svg></tr>\n");
  }
  fprintf(out, "</table>\n");
}
/* A cell per link of a tier, in the order of their numbers; of a large tier a cell stands for several and
   has the use of the worst. */
static void pm__page_tier(const pm_world *w, FILE *out, const double *use, const int *tier_of,
                          int tier) {
  int count = 0, link, first = -1, seen = 0, each, rows, shown = 0;
  double worst = 0;
  char name[80], text[160] = "";
  for (link = 0; link < w->net_link_count; link++)
    if (tier_of[link] == tier) first = first < 0 ? link : first, count++;
  each = (count + PM__TIER_CELLS - 1) / PM__TIER_CELLS;
  rows = ((count + each - 1) / each + PM__CELLS - 1) / PM__CELLS;
  pm_link_name(w, first, name, sizeof name);
  fprintf(out, "<h3>%d links from \"%s\" on%s</h3>\n<svg width=\"%d\" height=\"%d\">\n", count,
          name, each > 1 ? ", several to a cell" : ", a cell each", PM__CELLS * PM__CELL,
          rows * PM__CELL);
  for (link = first; link < w->net_link_count; link++) {
    if (tier_of[link] != tier) continue;
    if (seen % each == 0 || use[link] > worst) {
      worst = use[link];
      pm_link_name(w, link, text, sizeof text);
    }
    seen++;
    if (seen % each && seen < count) continue;
    pm__cell(out, shown % PM__CELLS * PM__CELL, shown / PM__CELLS * PM__CELL, PM__CELL - 1, worst,
             text);
    shown++;
  }
  fprintf(out, "</svg>\n");
}
PM_API pm_status pm_links_write_html(const pm_world *world, FILE *out) {
  pm__ranked *all;
  double *use;
  int *tier, i, tier_count = 0;
  if (!world || !out) return PM_E_INVAL;
  if (!world->uses) return PM_E_STATE;
  all = pm__links_ranked(world);
  use = (double *)pm__zalloc(((size_t)world->net_link_count + 1) * sizeof *use);
  tier = (int *)pm__zalloc(((size_t)world->net_link_count + 1) * sizeof *tier);
  if (all && use && tier) {
    const locale_t before = nbc__locale_begin();
    for (i = 0; i < world->net_link_count; i++) {
      use[all[i].link] = all[i].use_ratio;
      tier[all[i].link] = all[i].tier;
      if (all[i].tier >= tier_count) tier_count = all[i].tier + 1;
    }
    fprintf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Use of the "
        "links</title>\n<style>\nbody{font:14px sans-serif;margin:1em;background:#fff;color:#222}\n"
        "td,th{text-align:left;padding:1px 10px 1px 0}\nsvg{background:#f4f4f4}\n</style></head>"
        "<body>\n<h1>Use of the links of %s</h1>\n<p>%.3f us of simulated time. Use is what a link "
        "carried, headers included, of what it could have carried: white nothing, dark red all. "
        "Point at a cell to read it. Messages of the LogGP level and inside of nodes are on no "
        "link.</p>\n",
        world->plat.name, (double)world->now_ps * 1e-6);
    pm__page_worst(world, out, all);
    fprintf(out, "<h2>All links</h2>\n");
    for (i = 0; i < tier_count; i++) {
      int link = 0;
      while (link < world->net_link_count && tier[link] != i) link++;
      if (link < world->net_link_count) pm__page_tier(world, out, use, tier, i);
    }
    fprintf(out, "</body></html>\n");
    nbc__locale_end(before);
  }
  PM_FREE(all);
  PM_FREE(use);
  PM_FREE(tier);
  if (!all || !use || !tier) return PM_E_NOMEM;
  return ferror(out) ? PM_E_IO : PM_OK;
}
#ifdef NBC_LINES
#line 1 "src/portals/code_end.h"
#endif
/* End of the implementation. */
#  ifdef __cplusplus
}
#  endif
#endif /* PORTALS_MODEL_IMPLEMENTATION */

#ifdef NBC_LINES
#line 1 "src/portals/nbc.c"
#endif

/* ============================================================================================== */
/* [NBC] 12. Adapter to nbc_overlap.h: the model as a transport and as a witness NIC              */
/* ============================================================================================== */
#if defined(PM_WITH_NBC) && defined(PORTALS_MODEL_IMPLEMENTATION) &&                               \
    !defined(PM_WITH_NBC_IMPLEMENTATION_ONCE)
#  define PM_WITH_NBC_IMPLEMENTATION_ONCE
#  ifdef __cplusplus
extern "C" {
#  endif
typedef struct pm__nbc_op { /* what stands behind one nbc_op */
  pm_msg_op op;             /* first */
  nbc_op *nbc;
  uint64_t xfer_id; /* 0: none */
  struct pm__nbc_op *next, *next_made;
} pm__nbc_op;
struct pm_nbc {
  nbc_transport t;
  nbc_nic nic;
  pm_msg *msg;
  pm_process *proc;
  pm__nbc_op *free_ops, *made_ops; /* made: all, as those under way go with the endpoint */
  uint64_t xfers, lost;
  nbc_nic_stamp *stamps; /* ring */
  size_t stamps_max, first, used;
};

static int64_t pm__nbc_now_ns(void *ctx) {
  (void)ctx;
  return pm_now_ns();
}
static nbc_peer pm__nbc_peer_class(void *ctx, int peer) {
  const pm_nbc *n = (const pm_nbc *)ctx;
  const pm_process *p = pm_process_at(n->proc->world, peer);
  return !p                         ? NBC_PEER_UNKNOWN
         : p->node == n->proc->node ? NBC_PEER_SAME_NODE
                                    : NBC_PEER_OTHER_NODE;
}
static bool pm__nbc_same_clock(void *ctx, int peer) {
  (void)ctx;
  (void)peer;
  return true;
}
static nbc_status pm__nbc_status(pm_status status) {
  return status == PM_OK            ? NBC_OK
         : status == PM_E_TRUNCATED ? NBC_E_TRUNCATED
         : status == PM_E_INVAL     ? NBC_E_INVAL
                                    : NBC_E_TRANSPORT;
}
/* The transfers of an operation have consecutive ids. */
static void pm__nbc_observe(void *user, const pm_msg_transfer *x) {
  pm_nbc *n = (pm_nbc *)user;
  pm__nbc_op *o = (pm__nbc_op *)x->op;
  nbc_recorder *r = n->t.recorder;
  const nbc_kind kind = x->op->is_send ? NBC_KIND_ISEND : NBC_KIND_IRECV;
  const nbc_peer peer = pm__nbc_peer_class(n, x->op->peer);
  if (x->step == PM_MSG_ON_WIRE && o->xfer_id) {
    nbc_nic_stamp *s = &n->stamps[(n->first + n->used) % n->stamps_max];
    if (n->used == n->stamps_max) {
      n->lost++;
      return;
    }
    n->used++;
    memset(s, 0, sizeof *s);
    s->xfer_id = o->xfer_id + x->index;
    s->begin_ticks = (uint64_t)x->t_begin_ns;
    s->end_ticks = (uint64_t)x->t_end_ns;
    s->size_bytes = x->size_bytes;
    s->peer = x->op->peer;
    s->flags = x->op->is_send ? NBC_NIC_SENT : NBC_NIC_RECEIVED;
  }
  if (!r) return;
  if (x->step == PM_MSG_BEGAN) {
    if (!o->xfer_id) {
      o->xfer_id = n->xfers + 1;
      n->xfers += x->count;
    }
    nbc_xfer_begin_at(r, o->xfer_id + x->index, x->size_bytes, kind, peer, x->t_begin_ns);
  }
  if (x->step == PM_MSG_ENDED) nbc_xfer_end_at(r, o->xfer_id + x->index, x->t_end_ns);
  if (x->step == PM_MSG_CAME) nbc_xfer_end_only_at(r, x->size_bytes, kind, peer, x->t_end_ns);
}
static void pm__nbc_done(pm_msg_op *op) {
  pm__nbc_op *o = (pm__nbc_op *)op;
  pm_nbc *n = (pm_nbc *)op->user;
  nbc_op *nbc = o->nbc;
  nbc_done_fn done = nbc->done;
  nbc->status = pm__nbc_status(op->status);
  nbc->peer = op->peer;
  nbc->size_bytes = op->size_bytes;
  o->next = n->free_ops;
  n->free_ops = o;
  nbc->finished = true;
  if (done) done(nbc);
}
static pm__nbc_op *pm__nbc_op_new(pm_nbc *n, nbc_op *nbc, int peer) {
  pm__nbc_op *o = n->free_ops;
  if (o)
    n->free_ops = o->next;
  else {
    o = (pm__nbc_op *)PM_MALLOC(sizeof *o);
    if (!o) return NULL;
    o->next_made = n->made_ops;
    n->made_ops = o;
  }
  memset(&o->op, 0, sizeof o->op);
  o->xfer_id = 0;
  o->op.done = pm__nbc_done;
  o->op.user = n;
  o->nbc = nbc;
  nbc->finished = false;
  nbc->status = NBC_PENDING;
  nbc->peer = peer;
  nbc->size_bytes = 0;
  nbc->slot.remote_op = o;
  return o;
}
static nbc_status pm__nbc_posted(pm_nbc *n, pm__nbc_op *o, pm_status status) {
  if (status == PM_OK) return NBC_OK;
  o->next = n->free_ops;
  n->free_ops = o;
  return pm__nbc_status(status);
}
static nbc_status pm__nbc_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                uint64_t tag, nbc_op *op) {
  pm_nbc *n = (pm_nbc *)ctx;
  pm__nbc_op *o = pm__nbc_op_new(n, op, peer);
  return o ? pm__nbc_posted(n, o, pm_msg_isend(n->msg, buffer, size_bytes, peer, tag, &o->op))
           : NBC_E_NOMEM;
}
static nbc_status pm__nbc_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                uint64_t tag, nbc_op *op) {
  pm_nbc *n = (pm_nbc *)ctx;
  pm__nbc_op *o = pm__nbc_op_new(n, op, peer);
  return o ? pm__nbc_posted(n, o, pm_msg_irecv(n->msg, buffer, size_bytes, peer, tag, &o->op))
           : NBC_E_NOMEM;
}
static nbc_status pm__nbc_progress(void *ctx) {
  pm_msg_progress(((pm_nbc *)ctx)->msg);
  return NBC_OK;
}
static nbc_status pm__nbc_cancel(void *ctx, nbc_op *op) {
  pm_nbc *n = (pm_nbc *)ctx;
  pm__nbc_op *o = (pm__nbc_op *)op->slot.remote_op;
  if (op->finished || pm_msg_cancel(n->msg, &o->op) != PM_OK) return NBC_E_STATE;
  o->op.status = PM_OK;
  pm__nbc_done(&o->op);
  op->status = NBC_E_CANCELLED;
  return NBC_OK;
}
/* As fast as memory copies within a node. */
static bool pm__nbc_local(void *ctx, uint64_t size_bytes, bool reduces) {
  const pm_nbc *n = (const pm_nbc *)ctx;
  const pm_world *w = n->proc->world;
  (void)reduces;
  pm_msg_work_ns(n->msg, pm__bytes_ps((double)size_bytes, w->plat.intra_bytes_per_s) / PM__PS);
  return !w->desc.no_data;
}
static nbc_status pm__nbc_read_clock(void *ctx, int64_t *t_before_ns, uint64_t *ticks,
                                     int64_t *t_after_ns) {
  (void)ctx;
  *t_before_ns = *t_after_ns = pm_now_ns();
  *ticks = (uint64_t)*t_before_ns;
  return NBC_OK;
}
static nbc_status pm__nbc_next_stamp(void *ctx, nbc_nic_stamp *stamp) {
  pm_nbc *n = (pm_nbc *)ctx;
  if (!n->used || n->stamps[n->first].end_ticks > (uint64_t)pm_now_ns()) return NBC_PENDING;
  *stamp = n->stamps[n->first];
  n->first = (n->first + 1) % n->stamps_max;
  n->used--;
  return NBC_OK;
}
static uint64_t pm__nbc_lost_count(void *ctx) { return ((pm_nbc *)ctx)->lost; }

PM_API nbc_status pm_nbc_create(const pm_nbc_desc *desc, pm_nbc **endpoint) {
  pm_nbc *n;
  pm_msg_desc msg;
  pm_status status;
  if (!endpoint) return NBC_E_INVAL;
  n = (pm_nbc *)pm__zalloc(sizeof *n);
  *endpoint = NULL;
  if (!n) return NBC_E_NOMEM;
  memset(&msg, 0, sizeof msg);
  if (desc) msg = desc->msg;
  msg.observe = pm__nbc_observe;
  msg.user = n;
  n->proc = pm_self();
  n->stamps_max = desc && desc->stamp_count ? desc->stamp_count : 4096;
  n->stamps = (nbc_nic_stamp *)pm__zalloc(n->stamps_max * sizeof *n->stamps);
  status = n->stamps ? pm_msg_open(&msg, &n->msg) : PM_E_NOMEM;
  if (status) {
    PM_FREE(n->stamps);
    PM_FREE(n);
    return status == PM_E_NOMEM ? NBC_E_NOMEM : status == PM_E_INVAL ? NBC_E_INVAL : NBC_E_STATE;
  }
  n->t.name = "portals_model";
  n->t.help = "simulated processes: messages over Portals 4 on a modelled NIC and network";
  n->t.ctx = n;
  n->t.rank = pm_rank();
  n->t.size = pm_size();
  n->t.any_peer = true;
  n->t.now_ns = pm__nbc_now_ns;
  n->t.isend = pm__nbc_isend;
  n->t.irecv = pm__nbc_irecv;
  n->t.progress = pm__nbc_progress;
  n->t.cancel = pm__nbc_cancel;
  n->t.peer_class = pm__nbc_peer_class;
  n->t.same_clock = pm__nbc_same_clock;
  n->t.local = pm__nbc_local;
  n->nic.ctx = n;
  n->nic.name = "portals_model";
  n->nic.nominal_hz = 1e9;
  n->nic.read_clock = pm__nbc_read_clock;
  n->nic.next_stamp = pm__nbc_next_stamp;
  n->nic.lost_count = pm__nbc_lost_count;
  *endpoint = n;
  return NBC_OK;
}
PM_API void pm_nbc_destroy(pm_nbc *endpoint) {
  if (!endpoint) return;
  pm_msg_close(endpoint->msg);
  while (endpoint->made_ops) {
    pm__nbc_op *o = endpoint->made_ops;
    endpoint->made_ops = o->next_made;
    PM_FREE(o);
  }
  PM_FREE(endpoint->stamps);
  PM_FREE(endpoint);
}
PM_API nbc_transport *pm_nbc_transport(pm_nbc *endpoint) { return endpoint ? &endpoint->t : NULL; }
PM_API pm_msg *pm_nbc_msg(pm_nbc *endpoint) { return endpoint ? endpoint->msg : NULL; }
PM_API const nbc_nic *pm_nbc_nic(pm_nbc *endpoint) { return endpoint ? &endpoint->nic : NULL; }
PM_API nbc_status pm_nbc_clock(nbc_clock *clock) {
  nbc_clock_desc desc;
  if (!clock) return NBC_E_INVAL;
  memset(&desc, 0, sizeof desc);
  desc.source = NBC_CLOCK_USER;
  desc.now_ns = pm__nbc_now_ns;
  return nbc_clock_create(&desc, clock);
}
PM_API nbc_relation_desc pm_nbc_relation(void) {
  nbc_relation_desc d;
  memset(&d, 0, sizeof d);
  d.hz = 1e9;
  d.rate_limit_ppm = 1e-6; /* has to be positive */
  return d;
}
#  ifdef __cplusplus
}
#  endif
#endif /* PM_WITH_NBC_IMPLEMENTATION_ONCE */
#ifdef NBC_LINES
#line 1 "src/portals/licence.h"
#endif
/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */

