/* nic_hw.h 0.2.0: what the network cards of this machine can tell about transfers, read-only.
   Linux. Public domain or MIT-0, at your choice (end of file).

   In ONE C or C++ file of the program, and nowhere else, write
       #define NIC_HW_IMPLEMENTATION
       #include "nic_hw.h"
   and everywhere else just include it. Compile that one file with -D_GNU_SOURCE (or -std=gnu11).
   With -DNIC_WITH_LIBPCI it finds PCI devices through libpci (-lpci) instead of sysfs alone.

   Example (complete; cc -D_GNU_SOURCE x.c):

       #define NIC_HW_IMPLEMENTATION
       #include "nic_hw.h"

       int main(void) {
         nic_machine *machine;
         nic_error error;
         if (nic_find(NULL, &machine, &error)) return fprintf(stderr, "%s\n", error.text), 1;
         for (size_t i = 0; i < nic_count(machine); i++) {
           const nic_info *nic = nic_at(machine, i);
           printf("%s %s\n", nic->name, nic->model);
           for (int k = 0; k < NIC_OFFER_COUNT; k++) // what it can tell, and what is missing
             printf("  %-12s %s\n", nic_offer_name((nic_offer)k), nic->offers[k].text);
         }
         nic_machine_free(machine);
         return 0;
       }

   CONTENTS (search for the tag: it stands here, at the API and at the implementation)
     [CONFIG]     1. Options: macros to define before including
     [STATUS]     2. Status codes, errors with text
     [FIND]       3. Finding NICs: what each offers, what is missing and how to get it
     [COUNTERS]   4. Counters: bytes, packets, retransmissions; differences and rates
     [REGISTERS]  5. Registers: clock and counters from the device itself, by white lists
     [STAMPS]     6. When the kernel or the NIC saw a socket's packets
     [CLOCK]      7. Reading a NIC's clock: PTP device, registers, or the kernel's own
     [RECORD]     8. A machine in a file: to look at elsewhere what was seen here
     [NBC]        9. For nbc_overlap.h: counters per section, clocks as witnesses (NIC_WITH_NBC)

   Beside it, each a header of its own: nic_tcp.h and nic_udp.h, ranks over TCP or UDP with transfer
   stamps from the kernel or the NIC; nic_meet.h, how they find each other.

   CONVENTIONS
     Host time is int64_t nanoseconds of CLOCK_MONOTONIC_RAW (or of your own clock, see nic_host).
     Nothing is ever measured "at" a time: a reading lies between two host times, before and after.
     Names end with their unit. Functions return a nic_status unless said; NIC_OK is 0, errors are
     negative. The library never exits, never writes to a device and prints nothing.
     NULL where a pointer is wanted: what returns a status returns NIC_E_INVAL, what returns bytes -1 with EINVAL,
     the rest does nothing and returns 0, false, NULL, "?" or "", an index -1; where NULL means something, it is said there.
     Threads: any thread on different objects; one at a time on one object. */

#ifndef NIC_HW_H_INCLUDED
#  define NIC_HW_H_INCLUDED
