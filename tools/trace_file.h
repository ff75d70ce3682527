/* trace_file.h: the file in which a process leaves its timeline (NBC_TRACE=1, overlap_preload.c), for who
   writes it and who reads it (overlap_trace.c). Text lines, an empty line, then records, oldest first:

     nbc-overlap-trace 1 RECORD_BYTES BYTE_ORDER      BYTE_ORDER: the number 1 as a byte sequence, 01000000
     rank N, size N, pid N
     host TEXT, program TEXT
     seen N, records N                  so many were recorded, so many are kept: the newest
     clock T_NS UNIX_NS                 twice, at start and end: times of records against the system's clock
     raw T_NS RAW_NS ERR_NS             twice: against CLOCK_MONOTONIC_RAW, which is one for all processes of a boot
     boot TEXT                          which boot of which machine
     matches N TEXT                     1: each message of the process is here, in order; 0: why not
     cut IN OUT                         receives with an id of IN or above, sends of OUT or above, may be missing;
                                        0: none is. Not there: none of either
     unordered N                        messages of the communicator with this number may overtake others
     first N                            its first records are kept, not the newest; 1: there were more
     every N                            of each section, only every N-th time it was entered is here
     name I TEXT                        of sections
     counter I NAME                     of a NIC (NBC_NIC_COUNTERS)
     place I CALL OFFSET MODULE<tab>SYMBOL   where a call was made; either may be "?"

   Times are nanoseconds of the process's clock, INT64_MIN: not seen. */
#ifndef TRACE_FILE_H_INCLUDED
#define TRACE_FILE_H_INCLUDED
#include <stdint.h>

enum {
  TRACE_CALL = 1,
  TRACE_TRANSFER,
  TRACE_NIC,
  TRACE_SECTION,
  TRACE_MESSAGE,
  TRACE_COUNTER,
  TRACE_COLLECTIVE
};

/* A TRACE_MESSAGE says which message a transfer was; its fields are used so:
     begin_ns tag, end_ns number of the communicator in this process, id and size_bytes as the transfer,
     xfer_ns the table's time, min_overlap_ns the table's time of what may go ahead of a large one,
     max_overlap_ns a number for the communicator that its processes share (0: not known), partner, kind 1: it came in, 0: it went out, case_of: the bits below */
enum {
  TRACE_EAGER = 1,    /* all of it may go ahead, or nobody knows how much */
  TRACE_UNSEEN = 2,   /* buffered, ready, not contiguous: parts that go when they like */
  TRACE_NO_TAIL = 4,  /* of a large one, the send's end tells that all has arrived */
  TRACE_MEASURED = 8, /* the table's time is the least that a message takes */
};

/* A TRACE_CALL of looks in vain, one right after the other: the place of the first, case_of: what they looked for. */
enum { TRACE_LOOKS_TEST = 1, TRACE_LOOKS_PROBE = 2 };

/* A TRACE_COLLECTIVE is a collective of a communicator of one group: begin_ns and end_ns of the call, id the number for
   the communicator, or the persistent request, that its processes share, size_bytes the thread, kind the call's, xfer_ns 0: a blocking one, else it
   only begins here, and it is over with the transfer of this id; min_overlap_ns this process's rank in the communicator
   + 1 (0: the file is of an earlier version), case_of whose data it is not over without: */
enum {
  TRACE_OF_NOBODY, /* or nobody knows */
  TRACE_OF_ALL,
  TRACE_OF_PARTNER, /* partner: the root's rank in the world */
  TRACE_OF_LOWER,   /* all of lower ranks in the communicator */
  TRACE_OF_SOME /* max_overlap_ns: a bit for each rank of a communicator of up to TRACE_SOURCES */
};
enum { TRACE_SOURCES = 64 };

/* A TRACE_COUNTER is a reading of a NIC's counter, of the node: between begin_ns and end_ns counter `id` stood at
   size_bytes. Told when it has moved: then also what it was the reading before, if that was not told. */
typedef struct trace_record {
  int64_t begin_ns, end_ns;
  /* Call: its place; section: its name; transfer, NIC stamp: the transfer, its thread above bit
     40 */
  uint64_t id;
  uint64_t size_bytes; /* call, section: the thread */
  /* Transfer: by the table, or its window when that is shorter; NIC stamp: +- of both times;
     call: the thread's computation up to its end */
  int64_t xfer_ns;
  /* Call: the thread's computation up to its begin, and how many they are: looks in vain, one right after the
     other; 0: the file is of an earlier version, and it is one */
  int64_t min_overlap_ns, max_overlap_ns;
  int32_t partner; /* rank in the world; -1: not known, or several */
  uint8_t what, kind, peer, case_of;
} trace_record;

#define TRACE_FIRST_LINE "nbc-overlap-trace 1 64"
#endif
