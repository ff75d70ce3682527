/* Lists and processes of the whole NIC: as many entries as there are, a cycle for each that is looked at, and
 * processes that see only what is theirs. */
#include "tests/rtl/cosim.h"

static void context(cosim *sim, int nic, int number, int pid, uint32_t uid, int ni) {
  const uint32_t at = COSIM_CTX + 16u * (uint32_t)number;
  cosim_write(sim, nic, at + 4, uid);
  cosim_write(sim, nic, at + 8, 0xFFFF);
  cosim_write(sim, nic, at, 0x80000000u | (uint32_t)ni << 16 | (uint32_t)pid);
}
static uint32_t valid_of(cosim *sim, int nic, int bank) {
  cosim_write(sim, nic, COSIM_ME_BANK, (uint32_t)bank);
  return cosim_read(sim, nic, COSIM_ME_VALID);
}
/* Cycles from the arrival of a put's packet until its answer leaves */
static int64_t Came, Left;
static void pins(void *ctx, int nic, int received, const cosim_packet *p, int64_t first,
                 int64_t last) {
  (void)ctx, (void)first;
  if (nic != 1) return;
  if (received && !(p->header >> 2 & 1)) Came = last;
  if (!received && (p->header >> 2 & 1)) Left = last;
}
static int64_t cycles_of(cosim *sim, uint64_t match, int entry) {
  cosim_event ev;
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, match, 0x1000, 8);
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.slot == entry && ev.status == COSIM_OK);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  return Left - Came;
}
static void a_search_takes_a_cycle_per_entry(void) {
  cosim_desc d = host_near_desc(2);
  d.watch = pins, d.stall = COSIM_STALL_NONE;
  cosim *sim = host_start(&d);
  int64_t first = 0, most = 0;
  for (int i = 0; i < COSIM_ENTRIES; i++) {
    const cosim_entry e = host_entry(0x10000, 64, (uint64_t)i);
    cosim_append(sim, 1, i, &e);
  }
  cosim_cycles(sim, 2 * 17 * COSIM_ENTRIES + 1000);
  for (int bank = 0; bank < COSIM_ENTRIES / 32; bank++) CHECK(valid_of(sim, 1, bank) == 0xFFFFFFFF);
  first = cycles_of(sim, 0, 0);
  for (int n = 1; n < COSIM_ENTRIES; n = n * 3 + 1) {
    const int64_t cycles = cycles_of(sim, (uint64_t)n, n);
    CHECK(cycles - first == n);
    most = cycles;
  }
  CHECK(cycles_of(sim, COSIM_ENTRIES - 1, COSIM_ENTRIES - 1) == first + COSIM_ENTRIES - 1);
  printf("  %d cycles from the put's packet to its answer, %d with 364 entries before its own\n",
         (int)first, (int)most);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 0);
  cosim_append(sim, 1, COSIM_ENTRIES, &(cosim_entry){0}); /* there is no such number */
  cosim_write(sim, 1, COSIM_ME_UNLINK, 500);
  cosim_write(sim, 1, COSIM_ME_UNLINK, 0); /* the head, then the tail */
  cosim_cycles(sim, 300);
  cosim_write(sim, 1, COSIM_ME_UNLINK, COSIM_ENTRIES - 1);
  cosim_cycles(sim, 300);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 1);
  CHECK(valid_of(sim, 1, 15) == (0xFFFFFFFF & ~(1u << 20)));
  CHECK(cycles_of(sim, 501, 501) == first + 499 && cycles_of(sim, 1, 1) == first);
  cosim_destroy(sim);
}

/* The lists of two portal indices of two contexts, as a program would keep them */
enum { MOST = 600, LISTS = 4 };
typedef struct slot {
  cosim_entry e;
  int is_in;
} slot;
static slot Slots[MOST];
static int Order[2 * LISTS][MOST], Length[2 * LISTS];
static int list_of(const cosim_entry *e) { return (e->overflow ? LISTS : 0) + 2 * e->ctx + e->pt; }
static void leave(int n) {
  const int l = list_of(&Slots[n].e);
  int k = 0;
  while (Order[l][k] != n) k++;
  for (Length[l]--; k < Length[l]; k++) Order[l][k] = Order[l][k + 1];
  Slots[n].is_in = 0;
}
static void random_calls_find_what_a_list_finds(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  int found = 0, missed = 0, searched = 0;
  memset(Slots, 0, sizeof Slots), memset(Length, 0, sizeof Length);
  for (int i = 0; i < 2; i++) context(sim, i, 0, 40, 7, 0), context(sim, i, 1, 41, 7, 0);
  cosim_cycles(sim, 300);
  for (int round = 0; round < 1500; round++) {
    const int n = (int)test_below(MOST);
    if (round < MOST || test_below(3)) {
      cosim_entry e = host_entry(0x10000, 64, test_below(20));
      e.ctx = (int)test_below(2), e.pt = (int)test_below(2), e.overflow = test_below(3) == 0;
      e.pid = test_below(3) ? -1 : 40 + (int)test_below(2), e.uid = -1;
      e.ignore_bits = test_below(30) ? 0 : 3, e.use_once = test_below(2) == 0, e.no_events = 1;
      if (Slots[n].is_in) {
        cosim_write(sim, 1, COSIM_ME_UNLINK, (uint32_t)n);
        leave(n);
      } else {
        cosim_append(sim, 1, n, &e);
        Slots[n].e = e, Slots[n].is_in = 1, Order[list_of(&e)][Length[list_of(&e)]++] = n;
      }
    }
    if (round < MOST && round % 8) continue;
    host_settle(sim); /* posted writes take their time */
    if (round < MOST) continue;
    cosim_command c = host_command(COSIM_KIND_PUT, 1, test_below(22), 0x1000, 8);
    cosim_event ev;
    int is = -1;
    c.ctx = (int)test_below(2), c.dst_pid = 40 + (int)test_below(2), c.pt = (int)test_below(2);
    for (int side = 0; side < 2 && is < 0; side++) {
      const int l = side * LISTS + 2 * (c.dst_pid - 40) + c.pt;
      for (int k = 0; k < Length[l] && is < 0; k++, searched++) {
        const cosim_entry *e = &Slots[Order[l][k]].e;
        if (!((e->match ^ c.match) & ~e->ignore_bits) && (e->pid < 0 || e->pid == 40 + c.ctx))
          is = Order[l][k];
      }
    }
    c.offset = (uint64_t)(is < 0 ? 0 : is % 8);
    cosim_submit(sim, 0, (int)test_below(2), &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000));
    CHECK(ev.status == (is < 0 ? COSIM_NO_MATCH : COSIM_OK));
    found += is >= 0, missed += is < 0;
    if (is < 0) continue;
    CHECK(((valid_of(sim, 1, is / 32) >> (is % 32)) & 1) == !Slots[is].e.use_once);
    if (Slots[is].e.use_once) leave(is);
  }
  for (int bank = 0; bank < COSIM_ENTRIES / 32; bank++) {
    uint32_t is = 0;
    for (int k = 0; k < 32 && 32 * bank + k < MOST; k++)
      is |= (uint32_t)Slots[32 * bank + k].is_in << k;
    CHECK(valid_of(sim, 1, bank) == is);
  }
  printf("  %d messages found an entry, %d none; %d entries were looked at\n", found, missed,
         searched);
  CHECK(found > 300 && missed > 20);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 0);
  cosim_destroy(sim);
}

static int status_of(cosim *sim, const cosim_command *c) {
  cosim_event ev;
  cosim_submit(sim, 0, 0, c, NULL);
  return host_event_wait(sim, 0, &ev, 20000) ? ev.status : -1;
}
static void processes_are_kept_apart(void) {
  cosim_desc d = host_desc(2);
  cosim *sim = host_start(&d);
  cosim_event ev;
  context(sim, 0, 0, 10, 100, 0), context(sim, 0, 3, 11, 101, 0), context(sim, 0, 4, 11, 101, 2);
  context(sim, 1, 15, 10, 100, 0), context(sim, 1, 1, 20, 200, 0), context(sim, 1, 2, 20, 200, 2);
  CHECK(cosim_read(sim, 1, COSIM_CTX + 16 * 2) == (0x80000000u | 2u << 16 | 20));
  CHECK(cosim_read(sim, 1, COSIM_CTX + 16 * 2 + 4) == 200 &&
        cosim_read(sim, 1, COSIM_CTX + 16 * 2 + 8) == 0xFFFF);
  cosim_entry e = host_entry(0x10000, 64, 5);
  e.pid = -1, e.uid = -1;
  for (int i = 0; i < 3; i++) { /* the same in three contexts */
    static const int contexts[] = {15, 1, 2};
    e.ctx = contexts[i], e.start = 0x10000 + 0x1000 * (uint64_t)i, e.user = (uint64_t)i;
    cosim_append(sim, 1, 100 + i, &e);
  }
  e.ctx = 1, e.match = 6, e.uid = 101, e.user = 6;
  cosim_append(sim, 1, 200, &e); /* for one user */
  e.match = 7, e.uid = -1, e.pid = 11, e.user = 7;
  cosim_append(sim, 1, 1023, &e); /* for one process */
  cosim_cycles(sim, 500);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 5, 0x1000, 8);
  for (int from = 0; from < 3; from++) {
    static const int contexts[] = {0, 3, 4}, pids[] = {10, 11, 11};
    c.ctx = contexts[from];
    for (int to = 0; to < 2; to++) { /* reached by the same kind of interface only */
      c.dst_pid = to ? 20 : 10, c.hdr_data = (uint64_t)(10 * from + to);
      const int entry = from < 2 ? to : to ? 2 : -1;
      CHECK(status_of(sim, &c) == (entry < 0 ? COSIM_NO_PROCESS : COSIM_OK));
      if (entry < 0) continue;
      CHECK(host_event_wait(sim, 1, &ev, 100) && ev.user == (uint64_t)entry &&
            ev.slot == 100 + entry);
      CHECK(ev.pid == pids[from] && ev.hdr_data == c.hdr_data);
    }
  }
  c.ctx = 0, c.dst_pid = 20, c.match = 6;
  CHECK(status_of(sim, &c) == COSIM_PERMISSION);
  c.match = 7;
  CHECK(status_of(sim, &c) == COSIM_NO_MATCH);
  c.ctx = 3;
  CHECK(status_of(sim, &c) == COSIM_OK && host_event_wait(sim, 1, &ev, 100) && ev.slot == 1023);
  c.match = 6;
  CHECK(status_of(sim, &c) == COSIM_OK && host_event_wait(sim, 1, &ev, 100) && ev.slot == 200);
  c.dst_pid = 21;
  CHECK(status_of(sim, &c) == COSIM_NO_PROCESS);
  c.dst_pid = 20, c.ctx = 5; /* a context that is nobody's: the NIC sends nothing in its name */
  CHECK(status_of(sim, &c) == COSIM_OPERATION && cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) == 1);
  /* one portal index disables itself, that of the other context stays */
  cosim_write(sim, 1, COSIM_CTX + 16 + 12, 1);
  c.ctx = 3, c.match = 9;
  CHECK(status_of(sim, &c) == COSIM_NO_MATCH && status_of(sim, &c) == COSIM_PT_DISABLED);
  CHECK(cosim_read(sim, 1, COSIM_CTX + 16 + 8) == 0xFFFE);
  c.dst_pid = 10, c.match = 5;
  CHECK(status_of(sim, &c) == COSIM_OK && host_event_wait(sim, 1, &ev, 100) && ev.slot == 100);
  cosim_write(sim, 1, COSIM_CTX + 16 * 15, 0); /* the process has ended */
  CHECK(cosim_read(sim, 1, COSIM_CTX + 16 * 15) == 0 && status_of(sim, &c) == COSIM_NO_PROCESS);
  cosim_destroy(sim);
}

/* A long put uses entry 5 of NIC 1 while the host changes the list: what is forced need not wait for the put's
   end, or waits in the NIC; what is done is told in order */
static void list_operation(cosim *sim, int reg, int entry, uint32_t how) {
  cosim_write(sim, 1, (uint32_t)reg, (uint32_t)entry | how);
}
static void told(cosim *sim, int type, int entry, int status, uint64_t user) {
  cosim_event ev;
  CHECK(host_event_wait(sim, 1, &ev, 20000));
  CHECK(ev.type == type && ev.slot == entry && ev.status == status && ev.user == user);
}
static void list_operations_wait_and_are_told(void) {
  cosim_desc d = host_desc(2);
  cosim *sim = host_start(&d);
  cosim_event ev;
  cosim_entry e = host_entry(0x40000, 0x30000, 5);
  e.user = 55;
  cosim_append(sim, 1, 5, &e);
  host_fill(0, 0x1000, 0x30000);
  cosim_cycles(sim, 500);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 5, 0x1000, 0x30000);
  cosim_submit(sim, 0, 0, &c, NULL);
  cosim_write(sim, 1, COSIM_ME_BANK, 0);
  for (int i = 0; i < 1000 && !(cosim_read(sim, 1, COSIM_ME_IN_USE) & 32); i++) {
  }
  CHECK(cosim_read(sim, 1, COSIM_ME_IN_USE) == 32);
  list_operation(sim, COSIM_ME_UNLINK, 5, COSIM_ME_TELL); /* refused: in use */
  list_operation(sim, COSIM_ME_UNLINK, 5, COSIM_ME_TELL | COSIM_ME_FORCE);
  e.user = 77;
  cosim_append(sim, 1, (int)(5 | COSIM_ME_TELL), &e);                  /* refused: still in use */
  cosim_append(sim, 1, (int)(5 | COSIM_ME_TELL | COSIM_ME_FORCE), &e); /* waits for the put's end */
  for (int i = 0; i < 15; i++) list_operation(sim, COSIM_ME_UNLINK, 100 + i, COSIM_ME_TELL);
  cosim_cycles(sim, 200);
  CHECK(cosim_read(sim, 1, COSIM_ME_BUSY) == 1 && cosim_read(sim, 1, COSIM_ME_VALID) == 0);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 2);   /* 16 are under way */
  list_operation(sim, COSIM_ME_UNLINK, 200, COSIM_ME_TELL); /* no room: refused, and not told */
  cosim_cycles(sim, 200);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 3 &&
        cosim_read(sim, 1, COSIM_ME_IN_USE) == 32);
  told(sim, COSIM_EV_UNLINK, 5, COSIM_OPERATION, 0);
  told(sim, COSIM_EV_UNLINK, 5, COSIM_OK, 0);
  told(sim, COSIM_EV_LINK, 5, COSIM_OPERATION, 77);
  CHECK(host_event_wait(sim, 1, &ev, 20000));
  int was_put =
      ev.type == COSIM_EV_PUT; /* the entry is free a moment before the put is told, or after */
  if (was_put) CHECK(host_event_wait(sim, 1, &ev, 20000));
  CHECK(ev.type == COSIM_EV_LINK && ev.slot == 5 && ev.status == COSIM_OK && ev.user == 77);
  for (int i = 0; i < 15; i++) {
    CHECK(host_event_wait(sim, 1, &ev, 20000));
    if (ev.type == COSIM_EV_PUT && !was_put++) CHECK(host_event_wait(sim, 1, &ev, 20000));
    CHECK(ev.type == COSIM_EV_UNLINK && ev.slot == 100 + i && ev.status == COSIM_OPERATION);
  }
  if (!was_put) CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.type == COSIM_EV_PUT);
  CHECK(was_put <= 1 && !memcmp(H.memory[0] + 0x1000, H.memory[1] + 0x40000, 0x30000));
  CHECK(cosim_read(sim, 1, COSIM_ME_BUSY) == 0 && cosim_read(sim, 1, COSIM_ME_VALID) == 32);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  /* the entry that was appended last, and no other, takes the next; entries may be longer than 4 GiB */
  e.match = 6, e.size_bytes = (uint64_t)6 << 30, e.start = 0x80000 - ((uint64_t)5 << 30),
  e.user = 66;
  cosim_append(sim, 1, (int)(6 | COSIM_ME_TELL), &e);
  told(sim, COSIM_EV_LINK, 6, COSIM_OK, 66);
  cosim_submit(sim, 0, 0, &c, NULL);
  told(sim, COSIM_EV_PUT, 5, COSIM_OK, 77);
  c.match = 6, c.offset = (uint64_t)5 << 30, c.size_bytes = 100;
  cosim_submit(sim, 0, 0, &c, NULL);
  told(sim, COSIM_EV_PUT, 6, COSIM_OK, 66);
  CHECK(!memcmp(H.memory[0] + 0x1000, H.memory[1] + 0x80000, 100));
  cosim_destroy(sim);
}

/* A host that keeps its buffers itself gives each message bytes of its own by the offset's upper bits: what an entry has room
   for is judged by the lower ones, and nothing is cut. */
static void a_loose_entry_judges_by_the_lower_bits_of_an_offset(void) {
  const uint64_t place = (uint64_t)3 << 34;
  static const struct {
    uint64_t offset;
    uint32_t bytes;
    int entry;
  } puts[] = {{0, 100, 0},  {1, 100, 1}, {100, 0, 0}, {101, 0, 1}, {90, 10, 0},
              {90, 11, 1},  {0, 200, 1}, {0, 0, 0},   {1, 200, 2}, {201, 0, 2},
              {0x3FFFFFFFF, 50, 2}, {5, 300, 2}};
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  cosim_event ev;
  for (int i = 0; i < 3; i++) { /* the last one refuses nothing */
    static const uint32_t sizes[] = {100, 200, 10};
    cosim_entry e = host_entry(0x10000 * (1 + (uint64_t)i) - place, sizes[i], 5);
    e.loose_headers = 1, e.no_truncate = i < 2;
    cosim_append(sim, 1, i, &e);
  }
  cosim_cycles(sim, 300);
  host_fill(0, 0x1000, 512);
  for (unsigned i = 0; i < sizeof puts / sizeof *puts; i++) {
    const uint32_t at = 0x10000u * (1 + (uint32_t)puts[i].entry), n = puts[i].bytes;
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 5, 0x1000 + i, n);
    c.offset = place | puts[i].offset;
    CHECK(status_of(sim, &c) == COSIM_OK && host_event_wait(sim, 1, &ev, 100));
    CHECK(ev.slot == puts[i].entry && ev.start == at && ev.moved_bytes == n);
    CHECK(!memcmp(H.memory[1] + at, H.memory[0] + 0x1000 + i, n));
    c.kind = COSIM_KIND_GET, c.addr = 0x8000; /* the same from there */
    CHECK(status_of(sim, &c) == COSIM_OK && host_event_wait(sim, 1, &ev, 100));
    CHECK(ev.slot == puts[i].entry && ev.moved_bytes == n);
    CHECK(!memcmp(H.memory[0] + 0x8000, H.memory[0] + 0x1000 + i, n));
  }
  /* headers remember the lower bits */
  cosim_entry over = host_entry(0x40000 - place, 10, 0), e = host_entry(0x10000, 100, 5);
  over.loose_headers = over.keep_headers = over.overflow = 1, over.no_events = 1, e.no_truncate = 1;
  over.ignore_bits = ~(uint64_t)0, over.pt = e.pt = 1;
  cosim_append(sim, 1, 10, &over);
  cosim_cycles(sim, 300);
  for (int i = 1; i >= 0; i--) {
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 5, 0x1000, 50);
    c.offset = place | (uint64_t)(50 + i), c.pt = 1;
    CHECK(status_of(sim, &c) == COSIM_OK);
  }
  cosim_append(sim, 1, (int)(11 | COSIM_ME_TELL), &e);
  CHECK(host_event_wait(sim, 1, &ev, 2000) && ev.type == (COSIM_EV_PUT | COSIM_EV_OVERFLOW));
  CHECK(ev.start == 0x40000 && ev.offset == 50 && ev.moved_bytes == 50);
  told(sim, COSIM_EV_LINK, 11, COSIM_OK, 0);
  CHECK(cosim_read(sim, 1, COSIM_HEADERS) == 1);
  cosim_destroy(sim);
}
/* What such an entry does not let in comes to the host, which refuses it: the entry stays where and as it is */
static void what_a_loose_entry_refuses_leaves_no_trace(void) {
  static const struct {
    int is_get, bytes, uid, entry, leaves, counts;
  } calls[] = {{0, 8, 0, 0, 0, 0}, {1, 8, 5, 0, 0, 0},  {0, 8, 5, 0, 1, 1}, {1, 30, 5, 1, 0, 0},
               {0, 30, 5, 1, 0, 1}, {0, 20, 5, 1, 1, 1}, {0, 20, 5, 2, 0, 0}};
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  cosim_event ev;
  cosim_entry e = host_entry(0x10000, 64, 5);
  int counted = 0;
  e.loose_headers = e.use_once = 1, e.uid = 5, e.ct = 1, e.op_get = 0;
  cosim_append(sim, 1, 0, &e);
  e.use_once = 0, e.uid = -1, e.manage_local = 1, e.size_bytes = 100, e.min_free = 60;
  cosim_append(sim, 1, 1, &e);
  e.manage_local = 0, e.ct = -1, e.op_get = 1;
  cosim_append(sim, 1, 2, &e);
  e.overflow = e.keep_headers = 1, e.uid = 9, e.pt = 1;
  cosim_append(sim, 1, 3, &e);
  cosim_cycles(sim, 300);
  host_fill(0, 0x1000, 64);
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
    cosim_command c = host_command(calls[i].is_get ? COSIM_KIND_GET : COSIM_KIND_PUT, 1, 5, 0x1000, (uint32_t)calls[i].bytes);
    cosim_write(sim, 0, COSIM_CTX + 4, (uint32_t)calls[i].uid);
    CHECK(status_of(sim, &c) == COSIM_OK && host_event_wait(sim, 1, &ev, 100));
    CHECK(ev.slot == calls[i].entry && ev.unlinked == calls[i].leaves && ev.counted == calls[i].counts);
    CHECK(ev.status == COSIM_OK && ev.moved_bytes == (uint32_t)calls[i].bytes);
    counted += calls[i].counts;
    CHECK((int)cosim_read(sim, 1, COSIM_CT + 32 + COSIM_CT_SUCCESS_LO) == counted);
  }
  for (uint32_t uid = 8; uid < 10; uid++) {
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 5, 0x1000, 8);
    c.pt = 1;
    cosim_write(sim, 0, COSIM_CTX + 4, uid);
    CHECK(status_of(sim, &c) == COSIM_OK && host_event_wait(sim, 1, &ev, 100) && ev.slot == 3);
    CHECK(cosim_read(sim, 1, COSIM_HEADERS) == uid - 8);
  }
  cosim_destroy(sim);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_search_takes_a_cycle_per_entry);
  RUN(random_calls_find_what_a_list_finds);
  RUN(processes_are_kept_apart);
  RUN(list_operations_wait_and_are_told);
  RUN(a_loose_entry_judges_by_the_lower_bits_of_an_offset);
  RUN(what_a_loose_entry_refuses_leaves_no_trace);
  return TEST_END();
}
