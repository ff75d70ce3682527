/* MPI test set: one-sided communication in all three ways of synchronisation, all kinds of windows. */
#include "say.h"
#define W MPI_COMM_WORLD
enum { ROOM = 64 };

static void fences(void) {
  long memory[ROOM], mine[ROOM], got[ROOM];
  MPI_Win w;
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  for (int i = 0; i < ROOM; i++) memory[i] = -me, mine[i] = me * 100 + i, got[i] = 0;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, W, &w);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, w);
  MPI_Put(mine, 10, MPI_LONG, right, 5, 10, MPI_LONG, w);
  MPI_Win_fence(0, w);
  say("put %ld %ld %ld", memory[4], memory[5], memory[14]);
  MPI_Get(got, 10, MPI_LONG, left, 5, 10, MPI_LONG, w);
  MPI_Win_fence(0, w);
  say("get %ld %ld", got[0], got[9]);
  for (int i = 0; i < ROOM; i++) memory[i] = 0;
  MPI_Win_fence(0, w);
  MPI_Accumulate(mine, 20, MPI_LONG, 0, 0, 20, MPI_LONG, MPI_SUM, w);
  MPI_Accumulate(mine, 1, MPI_LONG, n - 1, 40, 1, MPI_LONG, MPI_MAX, w);
  MPI_Win_fence(0, w);
  say("accumulate %ld %ld %ld", memory[0], memory[19], memory[40]);
  MPI_Datatype spread;
  MPI_Type_vector(4, 2, 3, MPI_LONG, &spread);
  MPI_Type_commit(&spread);
  for (int i = 0; i < ROOM; i++) memory[i] = -1;
  MPI_Win_fence(0, w);
  MPI_Put(mine, 8, MPI_LONG, right, 2, 1, spread, w);
  MPI_Win_fence(0, w);
  for (int i = 0; i < 16; i++) got[i] = memory[i];
  say("spread %ld %ld %ld %ld", got[2], got[4], got[5], got[12]);
  MPI_Get(got, 1, spread, left, 0, 8, MPI_LONG, w);
  MPI_Win_fence(0, w);
  say("gathered %ld %ld %ld", got[0], got[3], got[10]);
  MPI_Accumulate(mine, 1, spread, right, 1, 1, spread, MPI_REPLACE, w);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
  say("replaced %ld %ld %ld", memory[1], memory[3], memory[11]);
  MPI_Type_free(&spread);
  long *base;
  MPI_Aint *size;
  int *unit, *flavor, flag;
  MPI_Win_get_attr(w, MPI_WIN_BASE, &base, &flag);
  MPI_Win_get_attr(w, MPI_WIN_SIZE, &size, &flag);
  MPI_Win_get_attr(w, MPI_WIN_DISP_UNIT, &unit, &flag);
  MPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
  say("attributes %d %ld %d %d", base == memory, (long)*size, *unit, *flavor == MPI_WIN_FLAVOR_CREATE);
  MPI_Win_set_name(w, "window");
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Win_get_name(w, name, &flag);
  MPI_Group g;
  int members;
  MPI_Win_get_group(w, &g);
  MPI_Group_size(g, &members);
  MPI_Group_free(&g);
  say("name %s members %d", name, members);
  MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, w);
  say_error("rank", MPI_Put(mine, 1, MPI_LONG, n, 0, 1, MPI_LONG, w));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
  MPI_Win_free(&w);
  say("freed %d", w == MPI_WIN_NULL);
}
static void groups(void) {
  int *memory, mine = me + 1000;
  MPI_Win w;
  MPI_Group world, from, to;
  int left = (me + n - 1) % n, right = (me + 1) % n, flag = 0;
  MPI_Win_allocate(ROOM * sizeof *memory, sizeof *memory, MPI_INFO_NULL, W, &memory, &w);
  for (int i = 0; i < ROOM; i++) memory[i] = 0;
  MPI_Comm_group(W, &world);
  MPI_Group_incl(world, 1, &left, &from);
  MPI_Group_incl(world, 1, &right, &to);
  for (int k = 0; k < 2; k++) {
    MPI_Win_post(from, 0, w);
    MPI_Win_start(to, 0, w);
    MPI_Put(&mine, 1, MPI_INT, right, k, 1, MPI_INT, w);
    MPI_Win_complete(w);
    if (k == 0)
      MPI_Win_wait(w);
    else
      while (!flag) MPI_Win_test(w, &flag);
    say("post and start %d", memory[k]);
  }
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  MPI_Group_free(&world);
  MPI_Win_free(&w);
}
static void locks(void) {
  long *memory, one = 1, old = -1, sum = 0, value, compare, result, v[8], r[8];
  MPI_Win w;
  MPI_Request q[2];
  MPI_Win_allocate(ROOM * sizeof *memory, sizeof *memory, MPI_INFO_NULL, W, &memory, &w);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, w);
  for (int i = 0; i < ROOM; i++) memory[i] = 0;
  MPI_Win_unlock(me, w);
  MPI_Barrier(W);
  for (int k = 0; k < 3; k++) { /* read, change, write: right only when nobody comes between */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
    MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w);
    MPI_Win_flush(0, w);
    value += me + 1;
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w);
    MPI_Win_unlock(0, w);
  }
  MPI_Barrier(W);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
  MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w);
  MPI_Win_unlock(0, w);
  say("exclusive %ld", value);
  MPI_Barrier(W);
  MPI_Win_lock_all(0, w);
  MPI_Fetch_and_op(&one, &old, MPI_LONG, n - 1, 1, MPI_SUM, w);
  MPI_Win_flush(n - 1, w);
  MPI_Win_unlock_all(w);
  MPI_Reduce(&old, &sum, 1, MPI_LONG, MPI_SUM, 0, W);
  if (me == 0) say("tickets %ld", sum);
  MPI_Barrier(W);
  MPI_Win_lock_all(0, w);
  MPI_Fetch_and_op(NULL, &value, MPI_LONG, n - 1, 1, MPI_NO_OP, w);
  MPI_Win_flush_local_all(w);
  MPI_Win_flush_all(w);
  say("fetched %ld", value);
  MPI_Barrier(W);
  compare = 0, value = me + 5;
  MPI_Compare_and_swap(&value, &compare, &result, MPI_LONG, 0, 2, w);
  MPI_Win_flush_local(0, w);
  MPI_Win_flush(0, w);
  int won = result == 0, wins;
  MPI_Reduce(&won, &wins, 1, MPI_INT, MPI_SUM, 0, W);
  if (me == 0) say("winners %d", wins);
  for (int i = 0; i < 8; i++) v[i] = me + i, r[i] = -1;
  MPI_Get_accumulate(v, 8, MPI_LONG, r, 8, MPI_LONG, me, 10, 8, MPI_LONG, MPI_SUM, w);
  MPI_Win_flush(me, w);
  say("get_accumulate %ld %ld", r[0], r[7]);
  MPI_Rput(v, 8, MPI_LONG, (me + 1) % n, 20, 8, MPI_LONG, w, &q[0]);
  MPI_Raccumulate(v, 8, MPI_LONG, (me + 1) % n, 30, 8, MPI_LONG, MPI_SUM, w, &q[1]);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  MPI_Win_flush_all(w);
  MPI_Win_sync(w);
  MPI_Barrier(W);
  MPI_Rget(r, 8, MPI_LONG, me, 20, 8, MPI_LONG, w, &q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  say("rput and rget %ld %ld", r[0], r[7]);
  MPI_Rget_accumulate(v, 8, MPI_LONG, r, 8, MPI_LONG, me, 30, 8, MPI_LONG, MPI_REPLACE, w, &q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  say("rget_accumulate %ld %ld", r[0], r[7]);
  MPI_Win_unlock_all(w);
  MPI_Barrier(W);
  say("after %ld %ld", memory[30], memory[37]);
  struct { double value; int index; } pair = {me % 3, me};
  memset(memory, 0, 64);
  MPI_Barrier(W);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
  MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, w);
  MPI_Win_unlock(0, w);
  MPI_Barrier(W);
  if (me == 0) memcpy(&pair, memory, sizeof pair), say("maxloc %g %d", pair.value, pair.index);
  MPI_Win_free(&w);
}
static void others(void) {
  MPI_Win w;
  MPI_Comm here;
  int *mine, *theirs, unit, size, rank;
  MPI_Aint bytes;
  MPI_Comm_split_type(W, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &size);
  MPI_Comm_rank(here, &rank);
  MPI_Win_allocate_shared(8 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, here, &mine, &w);
  MPI_Win_fence(0, w);
  for (int i = 0; i < 8; i++) mine[i] = rank * 10 + i;
  MPI_Win_fence(0, w);
  MPI_Win_shared_query(w, (rank + 1) % size, &bytes, &unit, &theirs);
  say("shared %d %ld %d", theirs[3] == (rank + 1) % size * 10 + 3, (long)bytes, unit);
  MPI_Win_fence(0, w);
  MPI_Win_free(&w);
  MPI_Comm_free(&here);
  int memory[ROOM];
  MPI_Aint address, all[64];
  for (int i = 0; i < ROOM; i++) memory[i] = me * 7 + i;
  MPI_Win_create_dynamic(MPI_INFO_NULL, W, &w);
  MPI_Win_attach(w, memory, sizeof memory);
  MPI_Get_address(memory, &address);
  MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, W);
  int got = -1;
  MPI_Win_fence(0, w);
  MPI_Get(&got, 1, MPI_INT, (me + 1) % n, MPI_Aint_add(all[(me + 1) % n], 8), 1, MPI_INT, w);
  MPI_Win_fence(0, w);
  say("dynamic %d", got);
  MPI_Win_detach(w, memory);
  MPI_Win_free(&w);
}
void test_windows(void) {
  fences();
  groups();
  locks();
  others();
}
