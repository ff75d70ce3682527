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

