/* MPI test set: point-to-point in all modes, matching, probes, completion, persistent and partitioned requests. */
#include "say.h"

static int left(void) { return (me + n - 1) % n; }
static int right(void) { return (me + 1) % n; }
static void fill(unsigned char *v, int count, int seed) {
  for (int i = 0; i < count; i++) v[i] = (unsigned char)(i * 7 + seed);
}
enum { BIG = 300000 };
static unsigned char out[BIG], in[BIG];

static void modes(void) {
  static const int sizes[] = {0, 1, 8, 63, 500, 4096, 4097, 70000, BIG};
  MPI_Request r[2];
  MPI_Status s[2];
  int bytes;
  void *buffer = malloc(BIG + MPI_BSEND_OVERHEAD), *back;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const int size = sizes[k];
    fill(out, size, me);
    memset(in, 0, BIG);
    for (int mode = 0; mode < 4; mode++) {
      MPI_Irecv(in, BIG, MPI_BYTE, left(), mode, MPI_COMM_WORLD, &r[0]);
      if (mode == 3) MPI_Barrier(MPI_COMM_WORLD); /* ready: the receives are there */
      if (mode == 0) MPI_Isend(out, size, MPI_BYTE, right(), mode, MPI_COMM_WORLD, &r[1]);
      if (mode == 1) MPI_Issend(out, size, MPI_BYTE, right(), mode, MPI_COMM_WORLD, &r[1]);
      if (mode == 2) {
        MPI_Buffer_attach(buffer, BIG + MPI_BSEND_OVERHEAD);
        MPI_Ibsend(out, size, MPI_BYTE, right(), mode, MPI_COMM_WORLD, &r[1]);
      }
      if (mode == 3) MPI_Irsend(out, size, MPI_BYTE, right(), mode, MPI_COMM_WORLD, &r[1]);
      MPI_Waitall(2, r, s);
      if (mode == 2) {
        MPI_Buffer_detach(&back, &bytes);
        if (back != buffer || bytes != BIG + MPI_BSEND_OVERHEAD) say("another buffer came back");
      }
      MPI_Get_count(&s[0], MPI_BYTE, &bytes);
      say("mode %d size %d: %d from %d tag %d hash %016llx", mode, size, bytes, s[0].MPI_SOURCE, s[0].MPI_TAG, (unsigned long long)hash_of(in, (size_t)size));
    }
  }
  free(buffer);
}
static void blocking(void) {
  MPI_Status s;
  int x = me, y = -1;
  void *buffer = malloc(1000), *back;
  int bytes;
  if (n > 1) {
    if (me % 2 == 0 && me + 1 < n) MPI_Send(&x, 1, MPI_INT, me + 1, 1, MPI_COMM_WORLD), MPI_Ssend(&x, 1, MPI_INT, me + 1, 2, MPI_COMM_WORLD);
    if (me % 2 == 1) MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s), say_status("first", &s, MPI_INT), MPI_Recv(&y, 1, MPI_INT, me - 1, 2, MPI_COMM_WORLD, &s), say_status("second", &s, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Buffer_attach(buffer, 1000);
    if (me % 2 == 0 && me + 1 < n) MPI_Bsend(&x, 1, MPI_INT, me + 1, 3, MPI_COMM_WORLD);
    MPI_Buffer_detach(&back, &bytes);
    if (me % 2 == 1) MPI_Recv(&y, 1, MPI_INT, me - 1, 3, MPI_COMM_WORLD, &s);
    MPI_Request r;
    if (me % 2 == 1) MPI_Irecv(&y, 1, MPI_INT, me - 1, 4, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me % 2 == 0 && me + 1 < n) MPI_Rsend(&x, 1, MPI_INT, me + 1, 4, MPI_COMM_WORLD);
    if (me % 2 == 1) MPI_Wait(&r, &s), say("rsend gave %d", y);
  }
  MPI_Sendrecv(&x, 1, MPI_INT, right(), 5, &y, 1, MPI_INT, left(), 5, MPI_COMM_WORLD, &s);
  say("sendrecv %d", y);
  y = me * 10;
  MPI_Sendrecv_replace(&y, 1, MPI_INT, right(), 6, left(), MPI_ANY_TAG, MPI_COMM_WORLD, &s);
  say("sendrecv_replace %d tag %d", y, s.MPI_TAG);
  MPI_Recv(&y, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s);
  say_status("proc_null", &s, MPI_INT);
  MPI_Send(&y, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
  free(buffer);
}
/* Messages of one sender do not overtake; tags and wildcards choose. */
static void order(void) {
  enum { MANY = 50 };
  int v[MANY], got[MANY], any = 0;
  MPI_Request r[MANY];
  MPI_Status s;
  for (int i = 0; i < MANY; i++) v[i] = me * 1000 + i, MPI_Isend(&v[i], 1, MPI_INT, right(), i % 3, MPI_COMM_WORLD, &r[i]);
  for (int t = 2; t >= 0; t--)
    for (int i = t; i < MANY; i += 3) MPI_Recv(&got[any++], 1, MPI_INT, t == 1 ? MPI_ANY_SOURCE : left(), t, MPI_COMM_WORLD, &s);
  say_ints("order", got, MANY);
  MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    int sum = 0, who = 0;
    for (int i = 1; i < n; i++) MPI_Recv(&any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s), sum += any, who += s.MPI_SOURCE * s.MPI_TAG;
    say("any source: sum %d who %d", sum, who);
  } else
    MPI_Send(&me, 1, MPI_INT, 0, me + 5, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD); /* what comes next must not meet the wildcards */
}
static void probes(void) {
  MPI_Status s = {0}; /* MPICH leaves out whether it was cancelled, when it looks for a message */
  MPI_Message m;
  MPI_Request r;
  int flag, count, v[4] = {me, 2, 3, 4}, w[4] = {0, 0, 0, 0};
  MPI_Isend(v, 3, MPI_INT, right(), 7, MPI_COMM_WORLD, &r);
  MPI_Probe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &s);
  say_status("probe", &s, MPI_INT);
  MPI_Iprobe(left(), 8, MPI_COMM_WORLD, &flag, &s);
  say("iprobe of another tag: %d", flag);
  do MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &s);
  while (!flag);
  MPI_Get_count(&s, MPI_INT, &count);
  MPI_Recv(w, count, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  say_ints("probed", w, 4);
  for (int size = 2; size <= BIG; size = size == 2 ? BIG : BIG + 1) { /* early and long */
    fill(out, size, me);
    memset(in, 0, BIG);
    MPI_Isend(out, size, MPI_BYTE, right(), 9, MPI_COMM_WORLD, &r);
    MPI_Mprobe(left(), 9, MPI_COMM_WORLD, &m, &s);
    say_status("mprobe", &s, MPI_BYTE);
    if (size == 2)
      MPI_Mrecv(in, BIG, MPI_BYTE, &m, &s);
    else {
      MPI_Request q;
      MPI_Imrecv(in, BIG, MPI_BYTE, &m, &q);
      MPI_Wait(&q, &s);
    }
    say_status("mrecv", &s, MPI_BYTE);
    say("hash %016llx null %d", (unsigned long long)hash_of(in, (size_t)size), m == MPI_MESSAGE_NULL);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  m = MPI_MESSAGE_NULL;
  MPI_Improbe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &flag, &m, &s);
  say("improbe %d %d", flag, m == MPI_MESSAGE_NULL);
  MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &m, &s);
  say("no proc %d", m == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(v, 1, MPI_INT, &m, &s);
  say_status("no proc", &s, MPI_INT);
}
static void errors(void) {
  int x = 1;
  MPI_Request r;
  MPI_Status s;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  say_error("rank", MPI_Send(&x, 1, MPI_INT, n, 0, MPI_COMM_WORLD));
  say_error("tag", MPI_Send(&x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD));
  say_error("count", MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD));
  say_error("comm", MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  say_error("type", MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
  say_error("buffer", MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
  int two[2] = {me, me};
  MPI_Isend(two, 2, MPI_INT, right(), 1, MPI_COMM_WORLD, &r);
  const int code = MPI_Recv(&x, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, &s);
  say_error("truncated", code);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  r = MPI_REQUEST_NULL;
  say_error("start", MPI_Start(&r));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
void test_messages(void) {
  modes();
  blocking();
  order();
  probes();
  errors();
}

/* ---- completion ---- */
static int query(void *extra, MPI_Status *s) {
  MPI_Status_set_elements(s, MPI_INT, *(int *)extra);
  MPI_Status_set_cancelled(s, 0);
  s->MPI_SOURCE = 3;
  s->MPI_TAG = 4;
  return MPI_SUCCESS;
}
static int released;
static int release(void *extra) {
  released += *(int *)extra;
  return MPI_SUCCESS;
}
static int cancel(void *extra, int complete) {
  (void)extra;
  released += complete;
  return MPI_SUCCESS;
}
static void completion(void) {
  enum { MANY = 6 };
  int v[MANY], w[MANY], index, flag, count, indices[2 * MANY], sum = 0;
  MPI_Request r[2 * MANY];
  MPI_Status s[2 * MANY];
  for (int form = 0; form < 6; form++) {
    for (int i = 0; i < MANY; i++) {
      v[i] = me * 100 + i, w[i] = -1;
      MPI_Irecv(&w[i], 1, MPI_INT, left(), i, MPI_COMM_WORLD, &r[i]);
      MPI_Isend(&v[i], 1, MPI_INT, right(), i, MPI_COMM_WORLD, &r[MANY + i]);
    }
    int left_over = 2 * MANY;
    while (left_over) {
      if (form == 0) MPI_Waitany(2 * MANY, r, &index, s), left_over--;
      if (form == 1) MPI_Waitsome(2 * MANY, r, &count, indices, s), left_over -= count;
      if (form == 2) MPI_Testany(2 * MANY, r, &index, &flag, s), left_over -= flag;
      if (form == 3) MPI_Testsome(2 * MANY, r, &count, indices, s), left_over -= count;
      if (form == 4) MPI_Testall(2 * MANY, r, &flag, s), left_over = flag ? 0 : left_over;
      if (form == 5)
        for (int i = 0; i < 2 * MANY; i++)
          if (r[i] != MPI_REQUEST_NULL) MPI_Request_get_status(r[i], &flag, s), MPI_Test(&r[i], &flag, s), left_over -= flag;
    }
    for (int i = 0; i < MANY; i++) sum += w[i] * (i + 1);
    say("form %d sum %d", form, sum);
  }
  MPI_Waitany(2, r, &index, s);
  say("all null: %d", index == MPI_UNDEFINED);
  MPI_Waitsome(2, r, &count, indices, s);
  MPI_Testany(2, r, &index, &flag, s);
  say("all null: %d %d %d", count == MPI_UNDEFINED, index == MPI_UNDEFINED, flag);
  MPI_Wait(&r[0], &s[0]);
  say_status("null", &s[0], MPI_INT);
}
static void persistent(void) {
  int v = 0, w = 0, flag;
  MPI_Request r[5];
  MPI_Status s;
  void *buffer = malloc(1000), *back;
  MPI_Buffer_attach(buffer, 1000);
  MPI_Recv_init(&w, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, &r[0]);
  MPI_Send_init(&v, 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &r[1]);
  MPI_Ssend_init(&v, 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &r[2]);
  MPI_Bsend_init(&v, 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &r[3]);
  MPI_Rsend_init(&v, 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &r[4]);
  MPI_Test(&r[0], &flag, &s);
  say("inactive: %d", flag);
  for (int i = 0; i < 8; i++) {
    MPI_Request both[2] = {r[0], r[1 + i % 4]};
    v = me + 10 * i;
    MPI_Start(&both[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Startall(1, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    say("persistent %d: %d", i, w);
  }
  for (int i = 0; i < 5; i++) MPI_Request_free(&r[i]);
  say("freed: %d", r[0] == MPI_REQUEST_NULL);
  int size;
  MPI_Buffer_detach(&back, &size);
  free(buffer);
  MPI_Irecv(&w, 1, MPI_INT, left(), 77, MPI_COMM_WORLD, &r[0]);
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], &s);
  MPI_Test_cancelled(&s, &flag);
  say("cancelled %d", flag);
  int elements = 5;
  MPI_Grequest_start(query, release, cancel, &elements, &r[0]);
  MPI_Test(&r[0], &flag, &s);
  say("general %d", flag);
  MPI_Cancel(&r[0]);
  MPI_Grequest_complete(r[0]);
  MPI_Wait(&r[0], &s);
  say_status("general", &s, MPI_INT);
  say("released %d", released);
  released = 0;
}
#if MPI_VERSION >= 4
static void both_and_parts(void) {
  MPI_Request r, q[2];
  MPI_Status s;
  int x = me, y = -1, flag = 0, v[12], w[12];
  MPI_Isendrecv(&x, 1, MPI_INT, right(), 1, &y, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
  say("isendrecv %d", y);
  MPI_Isendrecv_replace(&x, 1, MPI_INT, right(), 2, left(), 2, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
  say("isendrecv_replace %d", x);
  MPI_Psend_init(v, 4, 3, MPI_INT, right(), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
  MPI_Precv_init(w, 4, 3, MPI_INT, left(), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
  for (int round = 0; round < 2; round++) {
    int list[1] = {3};
    memset(w, 0, sizeof w);
    MPI_Startall(2, q);
    for (int i = 0; i < 12; i++) v[i] = me * 100 + i + round;
    MPI_Pready(0, q[0]);
    MPI_Pready_range(1, 2, q[0]);
    MPI_Pready_list(1, list, q[0]);
    while (!flag) MPI_Parrived(q[1], 3, &flag);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    say_ints("parts", w, 12);
  }
  MPI_Request_free(&q[0]);
  MPI_Request_free(&q[1]);
}
#endif
void test_requests(void) {
  completion();
  persistent();
#if MPI_VERSION >= 4
  both_and_parts();
#endif
}
