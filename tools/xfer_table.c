/* Question: how long does a message of n bytes take here? Overlap bounds need to know [O §2.4].

   Run:      make examples
             mpirun.openmpi -n 2 build/xfer_table_mpi same_node.txt
             mpirun.openmpi -n 3 --map-by node build/xfer_table_mpi same_node.txt other_node.txt
             mpirun.mpich -n 2 build/xfer_table_mpich same_node.txt
             build/xfer_table threads.txt               no MPI: between two threads
   Expected: files of "bytes seconds" lines, to be named in NBC_TABLE and NBC_TABLE_OTHER when a
             program runs under the preload; and one line per file on what was measured.

   The file also keeps, as comments that the readers of tables know ([TABLE] of nbc_overlap.h):
     eager_bytes       up to which size MPI_Send returns though nobody has posted a receive, of contiguous or
                       of strided data, which some MPIs send otherwise: the larger size. Found by
                       sending to a process that posts none until the send is over, or until 30 ms passed.
     tail_bytes        how much of a larger contiguous send that has ended may still be on its way, in sockets or
                       queues. Found by sending to a process that looks only every few milliseconds, and receives
                       contiguous or strided data, which the sender does not know and some MPIs fetch in parts:
                       what it had not received when the send was over; twice the most that was seen, over TCP at
                       least what the kernel lets sockets hold.
                       --tail instead of a file prints these two and measures nothing else, within a node or,
                       when there is none with two processes, between two.
                       --hosts prints the hosts of the run, --other FILE measures between two nodes only,
                       --merge FILE WHY FILE... makes one table of several: `nbc see` on several hosts.
     link_bytes_per_s  the most that a process moved at once in one direction: 16 messages under way,
                       to one process and to all of the same kind together; the largest of all sizes;
                       not less than any single message.
     link_peers        how many these were, at most 16
     few_repeats N ... these sizes were measured with fewer repeats than others, or not at all, because the times of
                       all sizes may take 60 s (--seconds N). Those above the eager size, which minima rest on, count as
                       faster than was seen: as fast as the link.
     few_peers N       the link, which may take as long again, was measured with one other, and not with N at once, for
                       which there was no time, or these waited for their cores. When it takes too long with one, the
                       table counts as disturbed.
     xfer_table N      how it was measured (table_make.h): `nbc see` measures again when that has changed
     disturbed TEXT    the processes were interrupted, or repeats differ: said in every report
   A disturbed measurement is made again, up to three times.

   Measured between rank 0 and the first other process of its node, then between rank 0 and the first
   process of another node: half the shortest round trip; of what is not sent eagerly also the shortest time
   in which MPI_Recv took a message that was announced before, in either direction, from memory that nobody
   touched meanwhile: in large pages, and never written, in small and in large ones, which are copied faster
   than others. The shortest counts. No size is slower than twice its half, nor one beyond the eager size
   slower per byte than the next that was measured. So it is the time of the fastest transfer, not of a usual
   one: bounds hold for slower ones. A table that is too slow makes the minimum overlap too large, so measure
   while nothing else runs, with a core for each process. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/progress_line.h"
#include "tools/table_make.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static int fail(const char *what, const nbc_error *err) {
  fprintf(stderr, "xfer_table: %s: %s\n", what, err->text);
  return 1;
}

/* A table that nbc has measured stands under this name when it is whole: before, it is NAME.part.NUMBER. */
static int name_length(const char *path) {
  static const char part[] = ".part.";
  const char *at = strstr(path, part);
  for (const char *next = at; next; next = strstr(at + 1, part)) at = next;
  const bool is_part = at && at[sizeof part - 1] &&
                       strspn(at + sizeof part - 1, "0123456789") == strlen(at + sizeof part - 1);
  return (int)(is_part ? (size_t)(at - path) : strlen(path));
}

/* Writes the table and says its two ends. */
static int write_table(const nbc_table *table, const char *path, const char *between,
                       const char *more) {
  nbc_error err;
  char comment[1100];
  const uint64_t *size_bytes;
  const double *time_s;
  memset(&err, 0, sizeof err);
  snprintf(comment, sizeof comment, "one-way time between %s%s%s", between, more ? "\n" : "",
           more ? more : "");
  const size_t count = nbc_table_points(table, &size_bytes, &time_s);
  if (nbc_table_write(table, path, comment, &err) != NBC_OK) {
    fprintf(stderr, "xfer_table: %s\n", err.text); /* with the path in it */
    return 1;
  }
  printf("%.*s: between %s: %.2f us for %llu B, %.1f us for %llu B (%.2f GB/s)\n",
         name_length(path), path, between, time_s[0] * 1e6, (unsigned long long)size_bytes[0],
         time_s[count - 1] * 1e6, (unsigned long long)size_bytes[count - 1],
         (double)size_bytes[count - 1] / time_s[count - 1] / 1e9);
  return 0;
}

#ifdef NBC_WITH_MPI
#  include "tools/table_fastest.h"
#  include "tools/xfer_table_hosts.h"
#  include "tools/xfer_table_sockets.h"

/* With plain MPI calls: what a program under the preload uses. */
enum { MAX_ROUNDS = 500, FIRST_ROUNDS = 5 };

/* Memory for the largest message, which begins on a large page: of such, or of small ones. What was never
   written is one page of zeros again and again. NULL: there is none. */
enum { LARGE_PAGE = 1 << 21 };
static char *memory(bool large, bool written) {
  const size_t bytes = (size_t)1 << (SIZES - 1);
  void *const made =
      mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return NULL;
  char *const at = (char *)(((uintptr_t)made + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1));
  madvise(at, bytes, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE); /* a kernel without is right, too */
  return written ? (char *)memset(at, 1, bytes) : at;
}
/* Kept until the end. */
enum { SOURCES = 3 };
static char *buffer_of_all, *source[SOURCES];
static bool has_memory(void) {
  if (!buffer_of_all) buffer_of_all = memory(true, true);
  for (int i = 0; i < SOURCES; i++)
    if (!source[i]) source[i] = memory(i != 1, i == 0);
  return buffer_of_all && source[0] && source[1] && source[2];
}

static progress_line progress;
enum {
  EAGER_STEPS = 20,
  TAIL_STEPS = 10,
  LINK_STEPS = 20,
  STEPS = 2 * SIZES + EAGER_STEPS + TAIL_STEPS + LINK_STEPS
};
static MPI_Comm world; /* who measures: 0 with 1, and with the others together */

static void exchange(const nbc_clock *clock, char *buffer, int bytes, int peer, bool first,
                     int64_t *d_ns, int rounds) {
  for (int i = 0; i < rounds; i++) {
    const int64_t start_ns = nbc_clock_now_ns(clock);
    if (first) MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, world);
    MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, world, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, world);
    d_ns[i] = nbc_clock_now_ns(clock) - start_ns;
  }
}

/* How long a message takes to move that is announced already, when the receiver comes, and whose data is what
   it was: the announcement may go on its way, and data stay in a cache, while a program computes. No less is
   hidden than what such a message would need. */
static int64_t announced_ns(const nbc_clock *clock, char *buffer, const char *untouched, int bytes,
                            int peer, bool first, int rounds) {
  int64_t shortest_ns = INT64_MAX;
  char go = 0;
  for (int i = 0; i < rounds; i++) {
    if (first) {
      MPI_Recv(&go, 1, MPI_CHAR, peer, 13, world, MPI_STATUS_IGNORE);
      const int64_t start_ns = nbc_clock_now_ns(clock);
      MPI_Recv(buffer, bytes, MPI_BYTE, peer, 12, world, MPI_STATUS_IGNORE);
      const int64_t d_ns = nbc_clock_now_ns(clock) - start_ns;
      if (d_ns < shortest_ns) shortest_ns = d_ns;
    } else {
      MPI_Request request;
      MPI_Isend(untouched, bytes, MPI_BYTE, peer, 12, world, &request);
      MPI_Send(&go, 1, MPI_CHAR, peer, 13, world);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  return shortest_ns;
}

/* How long all sizes may take together; what has been decided, both ranks know. */
enum {
  BUDGET_S = 60,
  ENOUGH_ROUNDS = 2 * FIRST_ROUNDS,
  TRIPS = 5
}; /* round trips of time per two rounds */
static int64_t budget_ns = INT64_C(1000000000) * BUDGET_S;
static bool has_few_repeats[SIZES];
static int agreed(int rounds, int peer, bool first) {
  if (first)
    MPI_Send(&rounds, 1, MPI_INT, peer, 1, world);
  else
    MPI_Recv(&rounds, 1, MPI_INT, peer, 1, world, MPI_STATUS_IGNORE);
  return rounds;
}
/* How many rounds of so long a trip fit into a quarter of what is left until the end: the next size takes twice as
   long. */
static int rounds_until(int64_t end_ns, int64_t now_ns, int64_t trip_ns) {
  const int64_t rounds = (end_ns - now_ns) / 4 * 2 / TRIPS / trip_ns;
  return rounds < 0 ? 0 : rounds < MAX_ROUNDS ? (int)rounds : MAX_ROUNDS;
}

/* As many rounds as fit into about 50 ms, which the first few tell; of what is not sent eagerly as many more, from
   all kinds of memory. *trip_ns: how long a round trip of the size before took; then of this one. Less than enough rounds
   when there is no time for them; without any it takes for ever. */
static double one_way_s(const nbc_clock *clock, char *buffer, int bytes, int peer, bool first,
                        int64_t eager, int64_t end_ns, int64_t *trip_ns, bool *is_enough) {
  int64_t d_ns[MAX_ROUNDS], sum_ns = 1;
  int rounds = rounds_until(end_ns, nbc_clock_now_ns(clock), 2 * *trip_ns);
  const int tried = agreed(rounds < FIRST_ROUNDS ? rounds : FIRST_ROUNDS, peer, first);
  *trip_ns *= 2;
  *is_enough = false;
  if (tried == 0) return 1e9;
  exchange(clock, buffer, bytes, peer, first, d_ns, tried);
  for (int i = 0; i < tried; i++) sum_ns += d_ns[i];
  *trip_ns = sum_ns / tried + 1;
  const int most = rounds_until(end_ns, nbc_clock_now_ns(clock), *trip_ns);
  rounds = (int)(50000000 / *trip_ns);
  if (rounds > MAX_ROUNDS) rounds = MAX_ROUNDS;
  if (rounds < ENOUGH_ROUNDS) rounds = ENOUGH_ROUNDS;
  rounds = agreed(rounds < most ? rounds : most, peer, first);
  *is_enough = rounds >= ENOUGH_ROUNDS;
  if (rounds == 0) return (double)d_ns[0] / 2 * 1e-9;
  exchange(clock, buffer, bytes, peer, first, d_ns, rounds);
  int64_t shortest_ns = d_ns[0];
  for (int i = 1; i < rounds; i++)
    if (d_ns[i] < shortest_ns) shortest_ns = d_ns[i];
  shortest_ns /= 2;
  if (bytes > eager) { /* of eager ones nothing tells when they moved */
    for (int i = 0; i < 2 * SOURCES; i++) {
      const bool comes =
          i < SOURCES; /* to the first one; then the other way, which may be faster */
      int64_t moved_ns = announced_ns(clock, buffer, source[i % SOURCES], bytes, peer,
                                      first == comes, (rounds + 1) / 2);
      if (!first && !comes) MPI_Send(&moved_ns, 1, MPI_INT64_T, peer, 14, world);
      if (first && !comes) MPI_Recv(&moved_ns, 1, MPI_INT64_T, peer, 14, world, MPI_STATUS_IGNORE);
      if (moved_ns < shortest_ns) shortest_ns = moved_ns;
    }
  }
  return (double)shortest_ns * 1e-9;
}

/* ---- eager or not ---- */
/* Four bytes, four left out: what takes the way of data that is not contiguous. bytes: a multiple of 4. */
static MPI_Datatype strided_type(int bytes) {
  MPI_Datatype type;
  MPI_Type_vector(bytes / 4, 4, 8, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}
/* Posts a send of `bytes` of the buffer, which holds twice as many when strided. */
static void post(char *buffer, int bytes, bool strided, int peer, int tag, MPI_Request *request) {
  MPI_Datatype type = strided ? strided_type(bytes) : MPI_BYTE;
  MPI_Isend(buffer, strided ? 1 : bytes, type, peer, tag, world, request);
  if (strided) MPI_Type_free(&type);
}

/* Does a send of `bytes` end while no receive is posted? Asked together by both; the first one knows. "No" is
   certain: the other one has answered PINGS words that were sent behind it, so it has been in its MPI since that came.
   Without them a receiver that waits for its core looks as if it were not ready: Open MPI's short messages lie in
   shared memory then, but end when they are fetched. */
enum { PINGS = 32, PING = -1 };
static bool is_eager_to(char *buffer, int bytes, int peer) { /* by the second one */
  for (int word;;) {
    MPI_Recv(&word, 1, MPI_INT, peer, 3, world, MPI_STATUS_IGNORE);
    if (word == PING) {
      MPI_Send(&word, 1, MPI_INT, peer, 3, world);
      continue;
    }
    MPI_Recv(buffer, bytes, MPI_BYTE, peer, 2, world, MPI_STATUS_IGNORE); /* posted only now */
    return word != 0;
  }
}
static bool is_eager(const nbc_clock *clock, char *buffer, int bytes, bool strided, int peer,
                     bool first) {
  if (!first) return is_eager_to(buffer, bytes, peer);
  int over = 0, pings = 0, word = PING;
  MPI_Request request, told;
  post(buffer, bytes, strided, peer, 2, &request);
  const int64_t end_ns = nbc_clock_now_ns(clock) + 30000000;
  for (int tests = 0; !over && (tests < 200 || nbc_clock_now_ns(clock) < end_ns); tests++) {
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    if (over || pings == PINGS) continue;
    MPI_Send(&word, 1, MPI_INT, peer, 3, world);
    MPI_Recv(&word, 1, MPI_INT, peer, 3, world, MPI_STATUS_IGNORE);
    pings++;
  }
  const int answer = over;
  MPI_Isend(&answer, 1, MPI_INT, peer, 3, world, &told);
  if (!over) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&told, MPI_STATUS_IGNORE);
  return answer != 0;
}

static bool sends_eagerly(const nbc_clock *clock, char *buffer, int bytes, bool strided, int peer,
                          bool first) {
  return is_eager(clock, buffer, bytes, strided, peer, first) ||
         is_eager(clock, buffer, bytes, strided, peer, first);
}

/* The largest eager size, to 64 bytes; "no" is believed when it was said twice, and without one there is no
   limit. Both ranks go the same way, because both know each answer. Of strided data half as much fits
   into the buffer. */
static int64_t eager_of(const nbc_clock *clock, char *buffer, bool strided, int peer, bool first) {
  const int most = 1 << (SIZES - 1 - strided);
  int yes = 0, no = 2 * most;
  for (int bytes = 64; bytes <= most && bytes < no; bytes *= 2) {
    progress_show(&progress, "eager size", 2 * SIZES + strided * EAGER_STEPS / 2, STEPS);
    if (sends_eagerly(clock, buffer, bytes, strided, peer, first))
      yes = bytes;
    else
      no = bytes;
  }
  if (no > most) return INT64_MAX;
  while (no - yes > 64) {
    const int middle = yes + (no - yes) / 2;
    if (sends_eagerly(clock, buffer, middle, strided, peer, first))
      yes = middle;
    else
      no = middle;
  }
  return no - 1; /* sizes that were not asked count as eager */
}
static int64_t eager_bytes(const nbc_clock *clock, char *buffer, int peer, bool first) {
  const int64_t contiguous = eager_of(clock, buffer, false, peer, first),
                strided = eager_of(clock, buffer, true, peer, first);
  return contiguous > strided ? contiguous : strided;
}

/* ---- the tail of a send that has ended ---- */
enum {
  TAIL_ROUNDS = 5,
  TAIL_TRIES = 40,
  TAIL_NAP_NS = 3000000,
  TAIL_NAPS = 60,
  SAMPLE = 1024,
  LOOKS = 4096
};
typedef struct sender_end { /* told to the receiver */
  int64_t d_ns;
  int64_t good; /* see rarely_sent */
} sender_end;
/* How many of so many bytes have come, of what is looked at: strided, they lie in twice the memory, and the first
   of eight is never left out. */
static int received_bytes(const volatile char *buffer, int bytes, bool strided) {
  int n = 0;
  for (int at = SAMPLE - 8; at < bytes << strided; at += SAMPLE)
    if (buffer[at]) n += SAMPLE >> strided;
  return n < bytes ? n : bytes;
}

/* What had come when, a millisecond apart at least; the last one stands for all that came later. */
static struct {
  int64_t t_ns;
  int bytes;
} looks[LOOKS];
static int look_count;
static void keep_look(int64_t t_ns, int bytes) {
  if (look_count == LOOKS || (look_count && t_ns - looks[look_count - 1].t_ns < TAIL_NAP_NS / 3))
    return;
  looks[look_count].t_ns = t_ns;
  looks[look_count++].bytes = bytes;
}
/* How much of the message had not come at the first look that is later for certain, both ranks having begun at the
   same time but for a third of a nap. None: all had come. */
static long missing_at(int64_t t_ns, int bytes) {
  for (int i = 0; i < look_count; i++)
    if (looks[i].t_ns > t_ns + TAIL_NAP_NS / 3) return bytes - looks[i].bytes;
  return look_count == LOOKS ? bytes - looks[LOOKS - 1].bytes : 0;
}

/* The receiver looks, naps and looks again; then it tells the other rank how much came only by its last look, whether
   it napped to the end, and how much was missing when that one's send ended. ret whether the round counts */
static bool rarely_received(const nbc_clock *clock, char *buffer, int bytes, bool strided,
                            int peer) {
  const struct timespec nap = {0, TAIL_NAP_NS};
  MPI_Request request;
  int over = 0, before = 0, naps = 0;
  sender_end end = {0, 0};
  char go = 0;
  MPI_Datatype type = strided ? strided_type(bytes) : MPI_BYTE;
  memset(buffer, 0, (size_t)bytes << strided);
  look_count = 0;
  MPI_Irecv(buffer, strided ? 1 : bytes, type, peer, 8, world, &request);
  if (strided) MPI_Type_free(&type);
  MPI_Sendrecv(&go, 1, MPI_CHAR, peer, 9, &go, 1, MPI_CHAR, peer, 9, world, MPI_STATUS_IGNORE);
  const int64_t start_ns = nbc_clock_now_ns(clock);
  for (; !over; naps++) {
    if (naps < TAIL_NAPS) nanosleep(&nap, NULL);
    before = received_bytes(buffer, bytes, strided);
    keep_look(nbc_clock_now_ns(clock) - start_ns, before);
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);
  }
  const long last[2] = {bytes - before, naps <= TAIL_NAPS};
  MPI_Send(last, 2, MPI_LONG, peer, 10, world);
  MPI_Recv(&end, 2, MPI_INT64_T, peer, 10, world, MPI_STATUS_IGNORE);
  const long missing = missing_at(end.d_ns, bytes);
  MPI_Send(&missing, 1, MPI_LONG, peer, 10, world);
  return end.good != 0;
}
/* The sender: in *last what came by the receiver's last look, 0 when that was when the send ended.
   A sender that waited for its core sees the end of its send late, when more has come: the round does not count. Nor
   does one that was away for half of the time, if the receiver did not nap to the end: it took what came at once. */
static bool rarely_sent(const nbc_clock *clock, char *buffer, int bytes, int peer, long *last,
                        long *missing) {
  MPI_Request request;
  int over = 0;
  long told[2];
  char go = 0;
  memset(buffer, 1, (size_t)bytes);
  MPI_Sendrecv(&go, 1, MPI_CHAR, peer, 9, &go, 1, MPI_CHAR, peer, 9, world, MPI_STATUS_IGNORE);
  const int64_t start_ns = nbc_clock_now_ns(clock);
  MPI_Isend(buffer, bytes, MPI_BYTE, peer, 8, world, &request);
  int64_t end_ns = nbc_clock_now_ns(clock), gap_ns = 0, away_ns = 0;
  while (!over) {
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    const int64_t now_ns = nbc_clock_now_ns(clock);
    gap_ns = now_ns - end_ns;
    if (gap_ns > TAIL_NAP_NS / 3) away_ns += gap_ns;
    end_ns = now_ns;
  }
  sender_end end = {end_ns - start_ns, 0};
  MPI_Recv(told, 2, MPI_LONG, peer, 10, world, MPI_STATUS_IGNORE);
  *last = nbc_clock_now_ns(clock) - end_ns <= TAIL_NAP_NS / 3 ? 0 : told[0];
  end.good = gap_ns <= TAIL_NAP_NS / 3 && (told[1] || 2 * away_ns < end.d_ns);
  MPI_Send(&end, 2, MPI_INT64_T, peer, 10, world);
  MPI_Recv(missing, 1, MPI_LONG, peer, 10, world, MPI_STATUS_IGNORE);
  return end.good != 0;
}

/* The longest tail of some rounds: of what came by the last look, and, because little comes at each look of a slow
   network, of what was missing. A round that was disturbed counts as one with a tail, so two must agree, and of what
   rests on both ranks' times most; not all, because where a disturbed round sees none there may be one.
   ret -1: in too few rounds the sender had its core when its send ended, so nothing is known */
static long tail_of(const nbc_clock *clock, char *buffer, int bytes, bool strided, int peer,
                    bool first) {
  long most_last = 0, most_missing = 0;
  int with_last = 0, with_missing = 0, rounds = 0;
  for (int tries = 0; tries < TAIL_TRIES && rounds < TAIL_ROUNDS; tries++) {
    long last = 0, missing = 0;
    if (!(first ? rarely_sent(clock, buffer, bytes, peer, &last, &missing)
                : rarely_received(clock, buffer, bytes, strided, peer)))
      continue;
    rounds++;
    with_last += last > 0;
    with_missing += missing > 0;
    if (last > most_last) most_last = last;
    if (missing > most_missing) most_missing = missing;
  }
  if (2 * rounds < TAIL_ROUNDS) return -1;
  if (with_last < 2) most_last = 0;
  if (2 * with_missing < rounds) most_missing = 0;
  return most_last > most_missing ? most_last : most_missing;
}

/* Twice the most of some sizes above the eager one; where sockets carried them, at least what these may grow to. As large
   as the largest message: no limit was seen. */
static int64_t tail_bytes(const nbc_clock *clock, char *buffer, int64_t eager, int peer,
                          bool first) {
  const int largest = 1 << (SIZES - 1);
  uint64_t moved_before, moved;
  int carriers;
  tcp_moved(&moved_before, &carriers);
  long most = 0;
  bool limit_seen = true;
  if (first)
    MPI_Send(&eager, 1, MPI_INT64_T, peer, 11, world);
  else
    MPI_Recv(&eager, 1, MPI_INT64_T, peer, 11, world, MPI_STATUS_IGNORE);
  for (int strided = 0; strided < 2; strided++) /* of which half as much fits into the buffer */
    for (int bytes = largest >> strided; bytes > eager; bytes /= 8) {
      const long tail = tail_of(clock, buffer, bytes, strided, peer, first);
      if (tail > most) most = tail;
      if (tail < 0 || 2 * tail >= largest >> strided) limit_seen = false;
    }
  if (!limit_seen) return INT64_MAX;
  if (tcp_moved(&moved, &carriers) && moved - moved_before < (uint64_t)largest)
    return 2 * (int64_t)most;
  const int64_t grown =
      tcp_most_bytes(); /* of one; a message may go in parts through all of them */
  if (grown > INT64_MAX / (carriers + 1)) return INT64_MAX;
  return 2 * (int64_t)most > carriers * grown ? 2 * (int64_t)most : carriers * grown;
}

/* ---- the link, with many messages under way ---- */
enum { AT_ONCE = 16, LINK_ROUNDS = 3, MOST_PEERS = 16 };
/* Best of some rounds: `to` sends to (or receives from) `count` processes at once; s */
static double burst_s(const nbc_clock *clock, char *buffer, int bytes, const int *peers, int count,
                      bool first, bool out) {
  MPI_Request *requests = (MPI_Request *)malloc((size_t)count * AT_ONCE * sizeof *requests);
  double best_s = 1e9;
  if (!requests) MPI_Abort(world, 1);
  for (int round = 0; round < LINK_ROUNDS; round++) {
    int n = 0;
    char go = 0;
    for (int k = 0; k < count; k++) { /* both are there */
      MPI_Sendrecv(&go, 1, MPI_CHAR, peers[k], 4, &go, 1, MPI_CHAR, peers[k], 4, world,
                   MPI_STATUS_IGNORE);
    }
    const int64_t start_ns = nbc_clock_now_ns(clock);
    for (int k = 0; k < count; k++)
      for (int i = 0; i < AT_ONCE; i++, n++) {
        char *at = buffer + (size_t)(i % 4) * (size_t)bytes;
        if (first == out)
          MPI_Isend(at, bytes, MPI_BYTE, peers[k], 5, world, &requests[n]);
        else
          MPI_Irecv(at, bytes, MPI_BYTE, peers[k], 5, world, &requests[n]);
      }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < count; k++) /* and all has arrived */
      MPI_Sendrecv(&go, 1, MPI_CHAR, peers[k], 6, &go, 1, MPI_CHAR, peers[k], 6, world,
                   MPI_STATUS_IGNORE);
    const double d_s = (double)(nbc_clock_now_ns(clock) - start_ns) * 1e-9;
    if (d_s < best_s) best_s = d_s;
  }
  free(requests);
  return best_s;
}

static long interruptions(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_nivcsw;
}
/* So many in so long a time tell that cores are shared. */
static bool is_interrupted(long switches, double d_s) { return (double)switches > 50 * d_s; }

/* Rank 0 with the first other one, and with all together, out and in: the largest of all, and a tenth
   more, because a limit must not be too low. *with: with how many at once all sizes were measured; 0: not even with
   one, for want of time. Rank 0 decides: the next size takes four times as long as the one before. Several that wait
   for their cores move no more than one: then nobody knows what they could, whatever was seen (no limit is lowered). */
static double link_bytes_per_s(const nbc_clock *clock, char *buffer, int rank, int size,
                               int *with) {
  static int peers[MOST_PEERS];
  double best = 0;
  const int others = size - 1 < MOST_PEERS ? size - 1 : MOST_PEERS;
  const int64_t end_ns = nbc_clock_now_ns(clock) + budget_ns;
  *with = 0;
  for (int k = 0; k < MOST_PEERS; k++) peers[k] = k + 1;
  for (int all = 0; all < (others > 1 ? 2 : 1); all++) {
    const int zero = 0, used = all ? others : 1;
    const int64_t start_ns = nbc_clock_now_ns(clock);
    long switches = rank > used ? 0 : interruptions(), most = 0;
    int fits = 1;
    for (int out = 0; out < 2 && fits; out++) {
      double s = 0;
      for (int bytes = 1 << 14; bytes <= 1 << 21; bytes *= 4) {
        fits = (double)nbc_clock_now_ns(clock) + 4e9 * LINK_ROUNDS * s < (double)end_ns;
        MPI_Bcast(&fits, 1, MPI_INT, 0, world);
        if (!fits) break;
        if (rank > used) continue;
        s = rank == 0 ? burst_s(clock, buffer, bytes, peers, used, true, out)
                      : burst_s(clock, buffer, bytes, &zero, 1, false, out);
        const double rate = (double)bytes * AT_ONCE * used / s;
        if (rate > best) best = rate;
      }
    }
    if (!fits) break;
    if (rank <= used) switches = interruptions() - switches;
    MPI_Allreduce(&switches, &most, 1, MPI_LONG, MPI_MAX, world);
    if (all && is_interrupted(most, (double)(nbc_clock_now_ns(clock) - start_ns) * 1e-9)) break;
    *with = used;
  }
  return 1.1 * best;
}

/* All sizes twice, in half of the time each; keeps the shorter times. True: disturbed, and in `said` how. Rank 0
   decides. */
static bool measure_once(const nbc_clock *clock, char *buffer, int peer, bool first, int64_t eager,
                         int64_t end_ns, double most_s, double time_s[SIZES], char *said,
                         size_t said_bytes) {
  double twice_s[2][SIZES];
  int differ = 0;
  const int64_t start_ns = nbc_clock_now_ns(clock), half_ns = start_ns + (end_ns - start_ns) / 2;
  long switches = interruptions(), theirs = 0;
  for (int k = 0; k < 2; k++) {
    int64_t trip_ns = 1;
    for (int i = 0; i < SIZES; i++) {
      bool is_enough;
      progress_show(&progress, "times", k * SIZES + i, STEPS);
      twice_s[k][i] = one_way_s(clock, buffer, 1 << i, peer, first, eager, k ? end_ns : half_ns,
                                &trip_ns, &is_enough);
      if (twice_s[k][i] < time_s[i]) time_s[i] = twice_s[k][i];
      if (is_enough) has_few_repeats[i] = false;
    }
  }
  switches = interruptions() - switches;
  const double d_s = (double)(nbc_clock_now_ns(clock) - start_ns) * 1e-9;
  MPI_Sendrecv(&switches, 1, MPI_LONG, peer, 7, &theirs, 1, MPI_LONG, peer, 7, world,
               MPI_STATUS_IGNORE);
  if (theirs > switches) switches = theirs;
  for (int i = 0; i < SIZES; i++)
    differ += !has_few_repeats[i] &&
              (twice_s[0][i] > 1.3 * twice_s[1][i] || twice_s[1][i] > 1.3 * twice_s[0][i]);
  said[0] = 0;
  if (time_s[0] > most_s)
    snprintf(said, said_bytes, "%.1f us for one byte: cores are shared, the times are too long",
             time_s[0] * 1e6);
  else if (is_interrupted(switches, d_s))
    snprintf(said, said_bytes, "a process was interrupted %ld times in %.1f s", switches, d_s);
  else if (differ > SIZES / 4)
    snprintf(said, said_bytes, "two repeats differ by more than 30 %% at %d of %d sizes", differ,
             (int)SIZES);
  return said[0] != 0;
}

/* The sizes with few repeats, as a line of the file; nothing without. */
static void say_few_repeats(const uint64_t size_bytes[SIZES], char *text, size_t text_bytes) {
  size_t n = 0;
  text[0] = 0;
  for (int i = 0; i < SIZES && n < text_bytes; i++)
    if (has_few_repeats[i])
      n += (size_t)snprintf(text + n, text_bytes - n, "%s %llu", n ? "" : "\nfew_repeats",
                            (unsigned long long)size_bytes[i]);
}

/* What of the link was not measured, mostly for want of time: with several it may be faster, which readers know from link_peers;
   with one, nobody knows how fast it is, and the table counts as disturbed. */
static void say_short_link(int others, int with, char *few, size_t few_bytes, char *said,
                           size_t said_bytes) {
  const long long seconds = budget_ns / 1000000000;
  const size_t n = strlen(few);
  if (with == others) return;
  fprintf(stderr, "xfer_table: %lld s are too short for the link%s; the file says so\n", seconds,
          with ? " to several at once, or these waited for their cores" : "");
  if (with)
    snprintf(few + n, few_bytes - n, "\nfew_peers %d", others);
  else if (!said[0])
    snprintf(said, said_bytes, "%lld s were too short to measure the link", seconds);
}

/* By the ranks of `world`: 0 with 1, and 0 with all for the link. most_s: a longer time for one byte is
   a disturbance. */
static int measure(const char *path, const char *between, double most_s) {
  uint64_t size_bytes[SIZES];
  double time_s[SIZES];
  int rank, size;
  nbc_clock clock;
  nbc_table *table;
  nbc_error err;
  char said[200] = "", few[300], what[800];
  memset(&err, 0, sizeof err);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  if (!has_memory() || nbc_clock_create(NULL, &clock) != NBC_OK)
    return fail("no memory or no clock", &err);
  char *const buffer = buffer_of_all;
  progress_begin(&progress, "xfer_table", rank == 0);
  for (int i = 0; i < SIZES; i++)
    size_bytes[i] = (uint64_t)1 << i, time_s[i] = 1e9, has_few_repeats[i] = true;
  const int64_t eager = rank < 2 ? eager_bytes(&clock, buffer, 1 - rank, rank == 0) : 0;
  const int64_t end_ns = nbc_clock_now_ns(&clock) + budget_ns;
  for (int try = 0, again = 1; again; try++) {
    if (rank < 2)
      again = measure_once(&clock, buffer, 1 - rank, rank == 0, eager, end_ns, most_s, time_s, said,
                           sizeof said) &&
              try < 2 && nbc_clock_now_ns(&clock) < end_ns - budget_ns / 2;
    MPI_Bcast(&again, 1, MPI_INT, 0, world);
  }
  progress_show(&progress, "tail of large sends", 2 * SIZES + EAGER_STEPS, STEPS);
  const int64_t tail = rank < 2 ? tail_bytes(&clock, buffer, eager, 1 - rank, rank == 0) : 0;
  progress_show(&progress, "link", STEPS - LINK_STEPS, STEPS);
  int with;
  const int others = size - 1 < MOST_PEERS ? size - 1 : MOST_PEERS;
  double link = link_bytes_per_s(&clock, buffer, rank, size, &with);
  progress_end(&progress);
  if (rank > 0) return 0;
  keep_fastest(size_bytes, time_s, has_few_repeats, eager, &link);
  say_few_repeats(size_bytes, few, sizeof few);
  if (few[0])
    fprintf(stderr, "xfer_table: %lld s are too short for these sizes: %s\n",
            (long long)(budget_ns / 1000000000), few + 1);
  if (said[0]) fprintf(stderr, "xfer_table: disturbed three times: %s; the file says so\n", said);
  say_short_link(others, with, few, sizeof few, said, sizeof said);
  if (nbc_table_create(size_bytes, time_s, SIZES, between, &table, &err) != NBC_OK)
    return fail(path, &err);
  snprintf(what, sizeof what,
           TABLE_MAKE_LINE
           "%d\neager_bytes %lld\ntail_bytes %lld\nlink_bytes_per_s %.0f\nlink_peers %d%s%s%s",
           (int)TABLE_MAKE, (long long)eager, (long long)tail, link, with ? with : 1, few,
           said[0] ? "\ndisturbed " : "", said);
  const int status = write_table(table, path, between, what);
  nbc_table_free(table);
  return status;
}

/* --tail: the tail alone, on standard output. */
static int print_tail(void) {
  nbc_clock clock;
  int rank;
  MPI_Comm_rank(world, &rank);
  if (!has_memory() || nbc_clock_create(NULL, &clock) != NBC_OK) MPI_Abort(world, 1);
  if (rank < 2) {
    const int64_t eager = eager_bytes(&clock, buffer_of_all, 1 - rank, rank == 0);
    const int64_t tail = tail_bytes(&clock, buffer_of_all, eager, 1 - rank, rank == 0);
    if (rank == 0) printf("eager_bytes %lld\ntail_bytes %lld\n", (long long)eager, (long long)tail);
  }
  return 0;
}

/* Rank 0 and those that are, or are not, on its node: MPI_COMM_NULL for the rest, or when there is none. */
static MPI_Comm join(bool same_node) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "", zero[MPI_MAX_PROCESSOR_NAME];
  int length, rank, size;
  MPI_Comm made;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_processor_name(mine, &length);
  memcpy(zero, mine, sizeof mine);
  MPI_Bcast(zero, sizeof zero, MPI_CHAR, 0, MPI_COMM_WORLD);
  const bool is_in = rank == 0 || (strcmp(mine, zero) == 0) == same_node;
  MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, rank, &made);
  if (!is_in) return MPI_COMM_NULL;
  MPI_Comm_size(made, &size);
  if (size > 1) return made;
  MPI_Comm_free(&made);
  return MPI_COMM_NULL;
}

static bool nobody_joined(void) {
  int mine = world != MPI_COMM_NULL, any;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  return !any;
}

static uint64_t budget_s = BUDGET_S;
static bool only_tail, only_hosts;
static const char *other, *merged;
static const option options[] = {
    {"--seconds", "N", "the times of all sizes take no longer, nor does the link (60)",
     .whole = &budget_s, .range = {1, 86400}},
    {"--other", "FILE", "between two nodes only", .text = &other},
    {"--tail", NULL, "eager_bytes and tail_bytes alone, on standard output", .flag = &only_tail},
    {"--hosts", NULL, "the hosts of the run, on standard output", .flag = &only_hosts},
    {"--merge", "FILE", "one table of several FILEs, of the fastest times", .text = &merged},
    {0}};
static const command_line line = {
    "usage: mpirun -n N xfer_table_mpi [--seconds N] SAME_NODE_FILE [OTHER_NODE_FILE]\n"
    "       mpirun -n N xfer_table_mpi [--seconds N] --other OTHER_NODE_FILE\n"
    "       mpirun -n N xfer_table_mpi [--seconds N] --tail | --hosts\n"
    "       xfer_table_mpi --merge FILE WHY FILE...\n"
    "Measures how long messages take; FILE gets lines \"bytes seconds\".\n",
    options, NULL};

int main(int argc, char **argv) {
  static const char *const between[] = {"two processes of one node", "two nodes"};
  int rank, size, status = 0;
  output_begin("xfer_table");
  const int count = options_read(&line, argc, argv);
  budget_ns = (int64_t)budget_s * 1000000000;
  if (merged && count > 1) return merge_tables(merged, argv[1], argv + 2, count - 1);
  const bool has_no_file = other || only_tail || only_hosts;
  const char *const paths[] = {count > 0 ? argv[1] : NULL, count > 1 ? argv[2] : other};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (merged || (has_no_file ? count > 0 : count < 1 || count > 2)) {
    if (rank == 0) fputs(line.usage, stderr);
    MPI_Finalize();
    return 2;
  }
  if (only_hosts) {
    print_hosts(rank, size);
    MPI_Finalize();
    return 0;
  }
  int can_write = rank > 0 || (output_can_create(paths[0]) & output_can_create(paths[1]));
  MPI_Bcast(&can_write, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!can_write) status = 1;
  for (int i = 0; i < 2 && can_write; i++) {
    if (!paths[i] && !(only_tail && i == 0)) continue;
    world = join(i == 0);
    if (only_tail && nobody_joined()) world = join(false);
    if (world != MPI_COMM_NULL) {
      status |= only_tail ? print_tail() : measure(paths[i], between[i], i == 0 ? 5e-6 : 1e-4);
      MPI_Comm_free(&world);
    } else if (rank == 0) {
      fprintf(stderr, "%s: not written: no %s here\n", paths[i] ? paths[i] : "--tail", between[i]);
      status = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return status;
}

#else
static const char *path;
static const option options[] = {{0}};
static const command_line line = {
    "usage: xfer_table FILE (between two threads; between processes: xfer_table_mpi, "
    "xfer_table_mpich)\n"
    "Measures how long messages take; FILE gets lines \"bytes seconds\".\n",
    options, NULL};

static nbc_status rank_of_two(nbc_transport *t, void *user) {
  nbc_table *table = NULL;
  nbc_error err;
  memset(&err, 0, sizeof err);
  const nbc_status status = nbc_table_measure(t, 1 - t->rank, NULL, &table, &err);
  if (status == NBC_OK && t->rank == 0)
    *(int *)user = write_table(table, path, "two threads", NULL);
  else if (status != NBC_OK)
    fail("measuring", &err);
  nbc_table_free(table);
  return status;
}

int main(int argc, char **argv) {
  nbc_threads_desc desc;
  nbc_threads *world;
  int status = 1;
  output_begin("xfer_table");
  memset(&desc, 0, sizeof desc);
  if (options_read(&line, argc, argv) != 1) return fputs(line.usage, stderr), 2;
  path = argv[1];
  if (!output_can_create(path)) return 1;
  if (nbc_threads_create(&desc, &world) != NBC_OK) return 1;
  if (nbc_threads_run(world, rank_of_two, &status) != NBC_OK) status = 1;
  nbc_threads_destroy(world);
  return status;
}
#endif
