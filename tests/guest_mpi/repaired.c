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
static int called;
static void on_error(MPI_Comm *c, int *code, ...) {
  int class;
  MPI_Error_class(*code, &class);
  called += (class == MPI_ERR_BUFFER) + 10 * (*c == W);
}
/* The same buffer twice, lengths that differ, epochs that are open. */
static void errors_are_seen(void) {
  MPI_Errhandler mine;
  MPI_Comm cart = W;
  MPI_Win win;
  int a[2] = {me, me}, b[2] = {0, 0}, class, n_too_large[1] = {n + 1}, no = 0, code;
  MPI_Comm_create_errhandler(on_error, &mine);
  MPI_Comm_set_errhandler(W, mine);
  say("aliased: %d", MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, W) != MPI_SUCCESS);
  say("aliased: %d", MPI_Allgather(a, 1, MPI_INT, a - me, 1, MPI_INT, W) != MPI_SUCCESS);
  say("aliased: %d", MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, W) != MPI_SUCCESS);
  say("aliased: %d", MPI_Reduce_local(a, a, 1, MPI_INT, MPI_SUM) != MPI_SUCCESS);
  code = MPI_Reduce_local(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM);
  say("in place: %d, seen %d", code != MPI_SUCCESS, called);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&mine);
  if (me < 2 && n > 1) { /* the second process wants more than the first one sends */
    MPI_Comm two;
    MPI_Comm_split(W, 0, me, &two);
    MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN);
    code = MPI_Bcast(a, me ? 2 : 1, MPI_INT, 0, two);
    say("shorter: %d", me && code != MPI_SUCCESS);
    MPI_Comm_free(&two);
  } else {
    MPI_Comm none;
    MPI_Comm_split(W, MPI_UNDEFINED, me, &none);
  }
  code = MPI_Cart_create(W, 1, n_too_large, &no, 0, &cart);
  say("too large: %d %d", code != MPI_SUCCESS, cart == MPI_COMM_NULL);
  MPI_Win_create(b, sizeof b, 4, MPI_INFO_NULL, W, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win);
  MPI_Error_class(MPI_Win_free(&win), &class);
  say("free while locked: %d", class == MPI_ERR_RMA_SYNC);
  MPI_Win_unlock(0, win);
  MPI_Win_fence(0, win);
  MPI_Error_class(MPI_Compare_and_swap(a, a, b, MPI_FLOAT, 0, 0, win), &class);
  say("floating swap: %d", class == MPI_ERR_TYPE);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
}
static void shapes(void) {
  static const int nodes[] = {20, 28, 60, 80, 84, 360, 936, 1008, 1800, 2160, 98784};
  MPI_Comm line, point;
  int size = n, no = 0;
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
    for (int d = 2; d <= 5; d++) {
      int dims[5] = {0, 0, 0, 0, 0};
      MPI_Dims_create(nodes[i], d, dims);
      say_ints("dims", dims, d);
    }
  MPI_Cart_create(W, 1, &size, &no, 0, &line);
  MPI_Cart_sub(line, &no, &point);
  say("a point: %d", point == MPI_COMM_NULL);
  if (point != MPI_COMM_NULL) MPI_Comm_free(&point);
  MPI_Comm_free(&line);
}
/* Requests of partitions meet in the order in which they were made, not started. */
static void partitions_in_order(void) {
  int out[3] = {1, 2, 3}, in[3] = {0, 0, 0};
  MPI_Request s[3], r[3];
  MPI_Status status[3];
  for (int i = 0; i < 3; i++)
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, (me + 1) % n, 5, W, MPI_INFO_NULL, &s[i]);
  for (int i = 0; i < 3; i++)
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, (me + n - 1) % n, 5, W, MPI_INFO_NULL, &r[i]);
  for (int i = 0; i < 3; i++) MPI_Start(&r[i]);
  for (int i = 2; i >= 0; i--) MPI_Start(&s[i]), MPI_Pready(0, s[i]);
  MPI_Waitall(3, s, MPI_STATUSES_IGNORE);
  MPI_Waitall(3, r, status);
  say("partitions: %d %d %d, tag %d", in[0], in[1], in[2], status[2].MPI_TAG);
  for (int i = 0; i < 3; i++) MPI_Request_free(&s[i]), MPI_Request_free(&r[i]);
}
static void no_type_for_nothing(void) {
  MPI_Request r;
  MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, me, 0, W, &r);
  MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, me, 0, W, MPI_STATUS_IGNORE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  say("nothing arrived");
}
/* What is attached piece by piece is one piece where the pieces touch. */
static void attached_pieces(void) {
  static int memory[8];
  MPI_Aint there, mine;
  MPI_Win win;
  const int out[4] = {me, me + 1, me + 2, me + 3};
  memset(memory, 0xFF, sizeof memory);
  MPI_Win_create_dynamic(MPI_INFO_NULL, W, &win);
  MPI_Win_attach(win, memory + 4, 16);
  MPI_Win_attach(win, memory, 16);
  MPI_Get_address(memory + 2, &mine);
  MPI_Sendrecv(&mine, 1, MPI_AINT, (me + n - 1) % n, 0, &there, 1, MPI_AINT, (me + 1) % n, 0, W,
               MPI_STATUS_IGNORE);
  MPI_Win_fence(0, win);
  MPI_Put(out, 4, MPI_INT, (me + 1) % n, there, 4, MPI_INT, win);
  MPI_Win_fence(0, win);
  say_ints("over both", memory, 8);
  MPI_Win_detach(win, memory);
  MPI_Win_detach(win, memory + 4);
  MPI_Win_free(&win);
}
/* Several duplicates under way at once: no two of them hear each other. */
static void many_at_once(void) {
  MPI_Comm half, copy[6];
  MPI_Request r[6];
  int sum = 0;
  MPI_Comm_split(W, me / 2, me, &half);
  for (int i = 0; i < 6; i++) MPI_Comm_idup(i < 3 ? half : W, &copy[i], &r[i]);
  MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 6; i++) {
    int in = -1, out = me * 10 + i, rank, size;
    MPI_Comm_rank(copy[i], &rank);
    MPI_Comm_size(copy[i], &size);
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1,
                 copy[i], MPI_STATUS_IGNORE);
    sum += in % 10 == i;
  }
  say("heard by the right ones: %d", sum);
  for (int i = 0; i < 6; i++) MPI_Comm_free(&copy[i]);
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
/* An attribute's key belongs to one kind of objects. */
static void keys_have_a_kind(void) {
  int comm_key, type_key, win_key, value = 0, flag;
  MPI_Comm c;
  MPI_Win win;
  void *got;
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  MPI_Comm_dup(W, &c);
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, c, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
  const int key[3] = {comm_key, type_key, win_key};
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  for (int i = 0; i < 3; i++) {
    say_error("key of a communicator", MPI_Comm_set_attr(c, key[i], &value));
    say_error("got", MPI_Comm_get_attr(c, key[i], &got, &flag));
    say_error("deleted", MPI_Comm_delete_attr(c, key[i]));
    say_error("key of a type", MPI_Type_set_attr(type, key[i], &value));
    say_error("got", MPI_Type_get_attr(type, key[i], &got, &flag));
    say_error("deleted", MPI_Type_delete_attr(type, key[i]));
    say_error("key of a window", MPI_Win_set_attr(win, key[i], &value));
    say_error("got", MPI_Win_get_attr(win, key[i], &got, &flag));
    say_error("deleted", MPI_Win_delete_attr(win, key[i]));
  }
  say_error("freed as a type's", MPI_Type_free_keyval(&comm_key));
  say_error("freed as a window's", MPI_Win_free_keyval(&type_key));
  say_error("freed as a communicator's", MPI_Comm_free_keyval(&win_key));
  MPI_Comm_free_keyval(&comm_key);
  MPI_Type_free_keyval(&type_key);
  MPI_Win_free_keyval(&win_key);
  MPI_Type_free(&type);
  MPI_Win_free(&win);
  MPI_Comm_free(&c);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
}
/* Of one type, as it is or behind a dup and a maker of one copy, a structure has no padding at its end. */
static void one_type_in_disguise(void) {
  MPI_Datatype dup, copy, made;
  MPI_Aint lb, extent;
  MPI_Type_dup(MPI_INT, &dup);
  MPI_Type_create_hvector(1, 1, 13, dup, &copy);
  for (int i = 0; i < 2; i++) {
    const MPI_Datatype types[3] = {copy, i ? MPI_SHORT : MPI_INT, copy};
    const int lengths[3] = {0, 1, 2};
    const MPI_Aint at[3] = {0, 13, 52};
    MPI_Type_create_struct(3, lengths, at, types, &made);
    MPI_Type_get_extent(made, &lb, &extent);
    say("disguised %d: %ld %ld", i, (long)lb, (long)extent);
    MPI_Type_free(&made);
  }
  MPI_Type_free(&copy);
  MPI_Type_free(&dup);
}
/* Data of a view lie forwards in the file, and apart where it is written; external32 turns them. */
static void views_and_numbers(void) {
  const char *path = getenv("GUEST_MPI_FILE");
  const int lengths[2] = {1, 2}, places[5][2] = {{-2, 2}, {3, 0}, {0, 1}, {1, 0}, {0, 3}};
  const int numbers[4] = {1, -2, 0x01020304, 4};
  unsigned char bytes[32] = {0};
  int again[4] = {0};
  char own[600], rep[MPI_MAX_DATAREP_STRING];
  MPI_File f;
  MPI_Datatype t, tile;
  MPI_Offset at;
  snprintf(own, sizeof own, "%s.views%d", path ? path : "file", me);
  MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
  for (int i = 0; i < 5; i++) {
    MPI_Type_indexed(2, lengths, places[i], MPI_INT, &t);
    MPI_Type_commit(&t);
    say_error("a view", MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL));
    MPI_Type_free(&t);
  }
  MPI_Type_create_resized(MPI_INT, 0, 8, &tile);
  MPI_Type_commit(&tile);
  say_error("external32", MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  say_error("written", MPI_File_write_at(f, 0, numbers, 2, MPI_INT, MPI_STATUS_IGNORE));
  say_error("written apart", MPI_File_write_at(f, 2, numbers + 1, 1, tile, MPI_STATUS_IGNORE));
  say_error("read", MPI_File_read_at(f, 0, again, 3, MPI_INT, MPI_STATUS_IGNORE));
  say_ints("again", again, 3);
  MPI_File_get_view(f, &at, &t, &t, rep);
  say("represented as %s", rep);
  MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(f, 0, bytes, 12, MPI_BYTE, MPI_STATUS_IGNORE);
  say("bytes %016llx", (unsigned long long)hash_of(bytes, 12));
  say("first %d %d %d %d", bytes[0], bytes[1], bytes[2], bytes[3]);
  MPI_Type_free(&tile);
  MPI_File_close(&f);
}
static void nothing_has_no_error(void) {
  MPI_Status s;
  int flag;
  s.MPI_ERROR = 77;
  MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &s);
  say("of no request: %d, error %d", flag, s.MPI_ERROR);
}
/* Three bytes for a receive of integers that lie apart; who broadcasts less or more than the others want. */
static void lengths_betray(void) {
  const int lengths[] = {1, 2, 1}, at[] = {0, 4, 8}, some = 10;
  int code, class, into[12] = {0};
  char from[6] = "abcdef";
  MPI_Datatype letters, numbers;
  MPI_Type_vector(3, 1, 2, MPI_CHAR, &letters);
  MPI_Type_indexed(3, lengths, at, MPI_INT, &numbers);
  MPI_Type_commit(&letters);
  MPI_Type_commit(&numbers);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  if (n > 1 && me == 0) MPI_Send(from, 1, letters, 1, 3, W);
  if (n > 1 && me == 1) {
    code = MPI_Recv(into, 1, numbers, 0, 3, W, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    say("letters for numbers: class %d", class);
  }
  for (int longer = 0; longer < 2; longer++) {
    code = MPI_Bcast(into, (me == 0) == longer ? some : 1, MPI_INT, 0, W);
    if (me) say("a broadcast too %s: noticed %d", longer ? "long" : "short", code != MPI_SUCCESS);
    MPI_Barrier(W);
  }
  MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&letters);
  MPI_Type_free(&numbers);
}
/* A sum of no bytes is none; memory that is given back may still be waited for by a window. */
static void windows_and_nothing(void) {
  MPI_Win w;
  char *base, none = 0;
  int code, class, *result, one = 1;
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, W, &base, &w);
  memset(base, 0, 8);
  MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, w);
  code = MPI_Get_accumulate(&none, 0, MPI_BYTE, &none, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, w);
  MPI_Error_class(code, &class);
  say("sum of no bytes: class %d", class);
  MPI_Alloc_mem(64, MPI_INFO_NULL, &result);
  *result = 7;
  MPI_Fetch_and_op(&one, result, MPI_INT, me, 0, MPI_SUM, w);
  MPI_Free_mem(result);
  char *other[64]; /* one of them in the same place, most likely */
  int kept = 0;
  for (int i = 0; i < 64; i++) memset(other[i] = malloc(64), 5, 64);
  MPI_Win_fence(0, w);
  for (int i = 0; i < 64; i++) {
    for (int k = 0; k < 64; k++) kept += other[i][k] == 5;
    free(other[i]);
  }
  say("memory used again is its own: %d", kept == 64 * 64);
  MPI_Win_free(&w);
}
/* The largest code is that of the class made last. */
static void last_used_code(void) {
  int class, *last, flag;
  MPI_Comm_get_attr(W, MPI_LASTUSEDCODE, &last, &flag);
  say("last used: %d", *last == MPI_ERR_LASTCODE);
  MPI_Add_error_class(&class);
  MPI_Comm_get_attr(W, MPI_LASTUSEDCODE, &last, &flag);
  say("last used after a class: %d", *last == class);
}
/* A message to oneself is copied in the call that comes second: whoever looks then finds that both have ended. */
static int start_to_me(int how, const char *from, int bytes, MPI_Request *r) {
  return how == 0   ? MPI_Isend(from, bytes, MPI_BYTE, me, 8, W, r)
         : how == 1 ? MPI_Issend(from, bytes, MPI_BYTE, me, 8, W, r)
         : how == 2 ? MPI_Ibsend(from, bytes, MPI_BYTE, me, 8, W, r)
                    : MPI_Irsend(from, bytes, MPI_BYTE, me, 8, W, r);
}
static int look_at(int how, MPI_Request *r) { /* two: how many of them have ended */
  int index[2], done = 0, also = 0;
  if (how == 0) MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
  if (how == 0) return 2 * done;
  if (how == 1) MPI_Testsome(2, r, &done, index, MPI_STATUSES_IGNORE);
  if (how == 1) return done;
  if (how == 2) MPI_Testany(2, r, &index[0], &done, MPI_STATUS_IGNORE);
  if (how == 2) MPI_Testany(2, r, &index[1], &also, MPI_STATUS_IGNORE);
  if (how == 3) MPI_Test(&r[1], &done, MPI_STATUS_IGNORE), MPI_Test(&r[0], &also, MPI_STATUS_IGNORE);
  if (how == 4) MPI_Request_get_status(r[0], &done, MPI_STATUS_IGNORE);
  if (how == 4) MPI_Request_get_status(r[1], &also, MPI_STATUS_IGNORE);
  return done + also;
}
static void to_oneself(void) {
  enum { LARGEST = 300000, LOOKS = 5 };
  static const int sizes[] = {0, 100, 4096, 4097, LARGEST};
  char *from = malloc(LARGEST), *to = malloc(LARGEST), *room = malloc(2 * LARGEST);
  MPI_Buffer_attach(room, 2 * LARGEST);
  memset(from, me + 1, LARGEST);
  for (int size = 0; size < 5; size++)
    for (int how = 0; how < 7; how++) { /* four modes with a receive before, three with one after */
      const int bytes = sizes[size];
      int ended = 0, is_same = 1, flag = 0;
      for (int look = 0; look < LOOKS; look++) {
        const int source = (look + how) % 2 ? me : MPI_ANY_SOURCE;
        MPI_Request r[2];
        memset(to, 0, LARGEST);
        if (how < 4) MPI_Irecv(to, bytes, MPI_BYTE, source, 8, W, &r[0]);
        start_to_me(how % 4, from, bytes, &r[1]);
        if (how >= 4) {
          MPI_Iprobe(source, 8, W, &flag, MPI_STATUS_IGNORE);
          ended += 10 * flag;
          MPI_Irecv(to, bytes, MPI_BYTE, source, 8, W, &r[0]);
        }
        ended += look_at(look, r);
        is_same &= !memcmp(from, to, (size_t)bytes);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      }
      say("to oneself, %d bytes, %d: %d ended, same %d", bytes, how, ended, is_same);
    }
  MPI_Buffer_detach(&room, &(int){0});
  free(from);
  free(to);
  free(room);
}
/* What stands before an unknown request is as it was, and can be waited for. */
static void unknown_among_them(void) {
  int in = -1, out = me, error, class;
  MPI_Request r[3], none;
  memcpy(&none, &(MPI_Comm){W}, sizeof none);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  MPI_Irecv(&in, 1, MPI_INT, (me + n - 1) % n, 9, W, &r[0]);
  MPI_Isend(&out, 1, MPI_INT, (me + 1) % n, 9, W, &r[1]);
  r[2] = none;
  error = MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  MPI_Error_class(error, &class);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  say("unknown among them: %d, then %d", class == MPI_ERR_REQUEST, in);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
}
/* Names end where the room for them does, and so does the length that is told of them. */
static void long_names(void) {
  char name[2 * MPI_MAX_OBJECT_NAME], got[2 * MPI_MAX_OBJECT_NAME] = "";
  int length[3] = {0, 0, 0}, i, value = 0;
  MPI_Comm c;
  MPI_Datatype t;
  MPI_Win w;
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  MPI_Comm_dup(W, &c);
  MPI_Type_contiguous(2, MPI_INT, &t);
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, W, &w);
  MPI_Comm_set_name(c, name);
  MPI_Type_set_name(t, name);
  MPI_Win_set_name(w, name);
  MPI_Comm_get_name(c, got, &length[0]);
  MPI_Type_get_name(t, got, &length[1]);
  MPI_Win_get_name(w, got, &length[2]);
  for (i = 0; i < 3; i++) say("long name %d: %d to the end", i, MPI_MAX_OBJECT_NAME - length[i]);
  say("as long as %d", MPI_MAX_OBJECT_NAME - (int)strlen(got));
  MPI_Comm_free(&c);
  MPI_Type_free(&t);
  MPI_Win_free(&w);
}
/* Types that are freed while what is made of them is under way; others take their place. */
static void freed_before_the_end(void) {
  enum { MOST = 64, INTS = 6 };
  int *out = calloc(MOST * INTS, sizeof *out), *in = calloc(MOST * INTS, sizeof *in);
  int counts[MOST], at[MOST], size, i;
  MPI_Datatype types[MOST], others[MOST];
  MPI_Request r;
  unsigned sum = 0;
  MPI_Comm_size(W, &size);
  if (size > MOST) size = MOST;
  for (i = 0; i < size; i++) {
    counts[i] = 1;
    at[i] = (int)sizeof *out * INTS * i;
    MPI_Type_vector(2, 1, 3, MPI_INT, &types[i]);
    MPI_Type_commit(&types[i]);
  }
  for (i = 0; i < size * INTS; i++) out[i] = 100 * me + i;
  MPI_Ialltoallw(out, counts, at, types, in, counts, at, types, W, &r);
  for (i = 0; i < size; i++) MPI_Type_free(&types[i]);
  for (i = 0; i < size; i++) MPI_Type_contiguous(1, MPI_CHAR, &others[i]), MPI_Type_commit(&others[i]);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  for (i = 0; i < size * INTS; i++) sum = sum * 31 + (unsigned)in[i];
  say("freed before the end: %u", sum);
  for (i = 0; i < size; i++) MPI_Type_free(&others[i]);
  free(out);
  free(in);
}
void test_repaired(void) {
  keys_have_a_kind();
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
  errors_are_seen();
  shapes();
  partitions_in_order();
  no_type_for_nothing();
  attached_pieces();
  many_at_once();
  one_type_in_disguise();
  views_and_numbers();
  nothing_has_no_error();
  lengths_betray();
  windows_and_nothing();
  last_used_code();
  to_oneself();
  unknown_among_them();
  long_names();
  freed_before_the_end();
}
