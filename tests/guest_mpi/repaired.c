/* MPI test set: what programs of others found wrong once. */
#include "say.h"
#define W MPI_COMM_WORLD

static int refuse_copy(MPI_Comm c, int k, void *extra, void *in, void *out, int *flag) {
  (void)c, (void)k, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}
static int refuse_copy_of_type(MPI_Datatype t, int k, void *extra, void *in, void *out, int *flag) {
  (void)t, (void)k, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}
/* An attribute that refuses to be copied: there is no new object. */
static void refused_copies(void) {
  MPI_Comm c, d = W;
  MPI_Datatype t, u = MPI_INT;
  int key, type_key, code;
  MPI_Comm_dup(W, &c);
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(c, key, &key);
  code = MPI_Comm_dup(c, &d);
  say("dup refused %d, nothing made %d", code != MPI_SUCCESS, d == MPI_COMM_NULL);
  MPI_Comm_free(&c);
  MPI_Comm_free_keyval(&key);
  MPI_Type_create_keyval(refuse_copy_of_type, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &t);
  MPI_Type_set_attr(t, type_key, &key);
  code = MPI_Type_dup(t, &u);
  say("type dup refused %d, nothing made %d", code != MPI_SUCCESS, u == MPI_DATATYPE_NULL);
  MPI_Type_free(&t);
  MPI_Type_free_keyval(&type_key);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
}
/* In external32 a long has four bytes. */
static void long_outside(void) {
  long in[2] = {1, -2}, out[2] = {0, 0};
  unsigned char packed[16];
  MPI_Aint size, at = 0, from = 0;
  MPI_Pack_external_size("external32", 2, MPI_LONG, &size);
  MPI_Pack_external("external32", in, 2, MPI_LONG, packed, sizeof packed, &at);
  MPI_Unpack_external("external32", packed, at, &from, out, 2, MPI_LONG);
  say("long: %ld bytes, packed %ld, hash %llx, back %ld %ld", (long)size, (long)at,
      (unsigned long long)hash_of(packed, (size_t)at), out[0], out[1]);
}
static void names_and_bounds(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_get_name(MPI_C_COMPLEX, name, &length);
  say("%s %d", name, length);
}
static void characters(void) {
  char in[3] = {1, 2, 100}, out[3] = {0, 0, 0};
  const MPI_Op ops[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD, MPI_LAND,
                        MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
  in[0] = (char)(in[0] + me);
  for (int i = 0; i < 10; i++) {
    MPI_Allreduce(in, out, 3, MPI_CHAR, ops[i], W);
    say("char %d: %d %d %d", i, out[0], out[1], out[2]);
  }
}
/* Persistent collectives are made in one order and may be started in any. */
static void started_in_any_order(void) {
  int a = me == 0 ? 42 : -1, b = n > 1 && me == 1 ? 43 : -1;
  MPI_Request r[3];
  MPI_Bcast_init(&a, 1, MPI_INT, 0, W, MPI_INFO_NULL, &r[0]);
  MPI_Barrier_init(W, MPI_INFO_NULL, &r[1]);
  MPI_Bcast_init(&b, 1, MPI_INT, n > 1, W, MPI_INFO_NULL, &r[2]);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 3; i++) MPI_Start(&r[(i * (me % 2 ? 2 : 1) + me + round) % 3]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  }
  say("started in any order: %d %d", a, b);
  for (int i = 0; i < 3; i++) MPI_Request_free(&r[i]);
}
/* Who comes to the new communicator first does not wait for the others, of both sides. */
static void intercommunicator_later(void) {
  MPI_Comm half, inter, copy;
  MPI_Request r;
  int rank, size, sum = 0, token = me;
  if (n < 2) return;
  MPI_Comm_split(W, me % 2, me, &half);
  MPI_Intercomm_create(half, 0, W, me % 2 ? 0 : 1, 7, &inter);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &size);
  if (rank == 0)
    for (int i = 1; i < size; i++) MPI_Recv(&token, 1, MPI_INT, i, 0, inter, MPI_STATUS_IGNORE);
  MPI_Comm_idup(inter, &copy, &r);
  if (rank) MPI_Ssend(&token, 1, MPI_INT, 0, 0, inter);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, copy);
  say("of the other side: %d", sum);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}
static void show(const char *what, MPI_Info info, const char *key) {
  char value[64];
  int flag;
  MPI_Info_get(info, key, 60, value, &flag);
  say("%s: %s %s", what, key, flag ? value : "(not there)");
}
/* An object gives back the hints that it knows, with what holds by default. */
static void hints(void) {
  MPI_Comm c;
  MPI_Win win;
  MPI_Info in, out;
  int memory[2];
  MPI_Info_create(&in);
  MPI_Info_set(in, "no_such_hint", "true");
  MPI_Info_set(in, "mpi_assert_no_any_tag", "true");
  MPI_Info_set(in, "accumulate_ordering", "none");
  MPI_Comm_dup_with_info(W, in, &c);
  MPI_Comm_get_info(c, &out);
  show("dup", out, "no_such_hint");
  show("dup", out, "mpi_assert_no_any_tag");
  show("dup", out, "mpi_assert_exact_length");
  MPI_Info_free(&out);
  MPI_Info_set(in, "mpi_assert_no_any_tag", "false");
  MPI_Comm_set_info(c, in);
  MPI_Comm_get_info(c, &out);
  show("set", out, "mpi_assert_no_any_tag");
  MPI_Info_free(&out);
  MPI_Comm_free(&c);
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, W, &win);
  MPI_Win_get_info(win, &out);
  show("window", out, "accumulate_ordering");
  show("window", out, "accumulate_ops");
  show("window", out, "no_locks");
  MPI_Info_free(&out);
  MPI_Win_set_info(win, in);
  MPI_Win_get_info(win, &out);
  show("window", out, "no_such_hint");
  show("window", out, "accumulate_ordering");
  MPI_Info_free(&out);
  MPI_Win_free(&win);
  MPI_Info_free(&in);
  show("start", MPI_INFO_ENV, "no_such_hint");
}
static void parts_of_the_machine(void) {
  MPI_Comm c = W;
  MPI_Info info;
  MPI_Comm_split_type(W, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_NULL, &c);
  say("guided by nothing: %d", c == MPI_COMM_NULL);
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_such_hint", "machine");
  MPI_Comm_split_type(W, MPI_COMM_TYPE_HW_GUIDED, 0, info, &c);
  say("guided by another hint: %d", c == MPI_COMM_NULL);
  MPI_Info_set(info, "mpi_hw_resource_type", "no such part");
  MPI_Comm_split_type(W, MPI_COMM_TYPE_HW_GUIDED, 0, info, &c);
  say("guided by no part: %d", c == MPI_COMM_NULL);
  MPI_Info_free(&info);
}
/* A type of no bytes has any operator. */
static void nothing_added(void) {
  MPI_Datatype none;
  MPI_Win win;
  int memory[2] = {1, 2}, from[2] = {5, 6};
  MPI_Type_contiguous(0, MPI_INT, &none);
  MPI_Type_commit(&none);
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, W, &win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(from, 1, none, 0, 0, 1, none, MPI_SUM, win);
  MPI_Accumulate(NULL, 0, MPI_INT, 0, 0, 0, MPI_DOUBLE, MPI_SUM, win);
  MPI_Win_fence(0, win);
  say("as before: %d %d", memory[0], memory[1]);
  MPI_Win_free(&win);
  MPI_Type_free(&none);
}
/* Blocks over each other are an error that MPI libraries let pass: the call ends. */
static void blocks_over_each_other(void) {
  enum { LARGEST = 24000 };
  int *counts = malloc((size_t)n * sizeof *counts), *displs = calloc((size_t)n, sizeof *displs);
  char *in = calloc(LARGEST, 1), *out = calloc(2 * LARGEST, 1);
  for (int i = 0; i < n; i++) counts[i] = LARGEST / (i ? i : 1);
  for (int i = 0; i < 5; i++)
    MPI_Allgatherv(in, counts[me], MPI_CHAR, out, counts, displs, MPI_CHAR, W);
  say("over each other: %d", out[0]);
  for (int i = 0; i < n; i++)
    counts[i] = 2, displs[i] = 3 * (n - 1 - i); /* backwards, with gaps: no error */
  memset(in, 'a' + me % 26, 2);
  memset(out, '.', 2 * LARGEST);
  MPI_Allgatherv(in, 2, MPI_CHAR, out, counts, displs, MPI_CHAR, W);
  say("backwards: %.*s", 3 * n - 1, out);
  free(counts);
  free(displs);
  free(in);
  free(out);
}
static void view_from_here(void) {
  const char *path = getenv("GUEST_MPI_FILE") ? getenv("GUEST_MPI_FILE") : "guest_mpi.tmp";
  MPI_File f;
  MPI_Offset disp = -1;
  MPI_Datatype etype, filetype;
  char rep[MPI_MAX_DATAREP_STRING];
  int v[2] = {me, me};
  if (me == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(W);
  MPI_File_open(W, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                &f);
  MPI_File_write_ordered(f, v, 2, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(W);
  say("from here: %d", MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
                                         MPI_INFO_NULL) == MPI_SUCCESS);
  MPI_File_get_view(f, &disp, &etype, &filetype, rep);
  say("view at %ld", (long)disp);
  MPI_File_close(&f);
  if (me == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(W);
}
void test_repaired(void) {
  refused_copies();
  long_outside();
  names_and_bounds();
  characters();
  started_in_any_order();
  intercommunicator_later();
  hints();
  parts_of_the_machine();
  nothing_added();
  blocks_over_each_other();
  view_from_here();
}
