/* MPI test set: what the other files do not call: files in all the other ways, neighbours without waiting and
   persistent, names of MPI-1, attributes and handlers of windows and files, sessions, the tools' interface. */
#include "say.h"
#define W MPI_COMM_WORLD
static const char *path(void) { return getenv("GUEST_MPI_FILE") ? getenv("GUEST_MPI_FILE") : "guest_mpi.tmp"; }
enum { MANY = 6 };
static MPI_File f;
static MPI_Status s;
static MPI_Request r;
static int v[MANY], w[MANY];

/* ---- files ---------------------------------------------------------------------------------------------- */
static MPI_Offset mine(void) { return (MPI_Offset)me * (MPI_Offset)sizeof v; }
static void next_values(void) {
  for (int i = 0; i < MANY; i++) v[i] += 1000, w[i] = -1;
}
static void compare(const char *what) {
  int count;
  MPI_Get_count(&s, MPI_INT, &count);
  say("%s: count %d, same %d", what, count, memcmp(v, w, sizeof v) == 0);
}
/* Writes in one way and reads in another; every process where it wrote. */
#define BOTH(name, write_it, read_it)                                                                       \
  next_values();                                                                                            \
  MPI_File_seek(f, mine(), MPI_SEEK_SET);                                                                   \
  write_it;                                                                                                 \
  MPI_File_sync(f);                                                                                         \
  MPI_Barrier(W);                                                                                           \
  MPI_File_seek(f, mine(), MPI_SEEK_SET);                                                                   \
  read_it;                                                                                                  \
  compare(name);                                                                                            \
  MPI_Barrier(W)
static void shared_pointer(void) {
  MPI_Offset at;
  next_values();
  MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
  MPI_File_write_ordered_begin(f, v, MANY, MPI_INT);
  MPI_File_write_ordered_end(f, v, &s);
  MPI_File_get_position_shared(f, &at);
  say("ordered: %ld", (long)at);
  MPI_Barrier(W);
  MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
  MPI_File_read_ordered_begin(f, w, MANY, MPI_INT);
  MPI_File_read_ordered_end(f, w, &s);
  compare("ordered split");
  MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
  MPI_Barrier(W);
  MPI_File_iwrite_shared(f, &n, 1, MPI_INT, &r); /* who is first is open: all write the same */
  MPI_Wait(&r, &s);
  MPI_File_sync(f);
  MPI_Barrier(W);
  MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
  MPI_Barrier(W);
  MPI_File_read_shared(f, w, 1, MPI_INT, &s);
  say("shared: %d", w[0] == n);
  MPI_Barrier(W);
  MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
  MPI_Barrier(W);
  MPI_File_iread_shared(f, w, 1, MPI_INT, &r);
  MPI_Wait(&r, &s);
  say("iread shared: %d", w[0] == n);
  MPI_Barrier(W);
}
static int raised;
static void on_file_error(MPI_File *file, int *code, ...) {
  int class;
  MPI_Error_class(*code, &class);
  raised += *file == f && class == MPI_ERR_AMODE;
}
static void handlers_of_files(void) {
  MPI_Errhandler mine_too, got;
  MPI_Info info;
  int flag;
  MPI_File_create_errhandler(on_file_error, &mine_too);
  MPI_File_set_errhandler(f, mine_too);
  MPI_File_get_errhandler(f, &got);
  MPI_File_call_errhandler(f, MPI_ERR_AMODE);
  say("file handler: same %d called %d", got == mine_too, raised);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&mine_too);
  MPI_File_set_errhandler(f, MPI_ERRORS_RETURN);
  /* what files yet to be opened get is every process's own */
  if (me == 0) MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  MPI_Barrier(W);
  MPI_File_get_errhandler(MPI_FILE_NULL, &got);
  say("default is fatal: %d", got == MPI_ERRORS_ARE_FATAL);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_File_set_info(f, info);
  MPI_Info_free(&info);
  MPI_File_get_info(f, &info);
  say("info is there: %d", info != MPI_INFO_NULL);
  MPI_Info_free(&info);
  say("handle again: %d", MPI_File_f2c(MPI_File_c2f(f)) == f);
  MPI_File_get_atomicity(f, &flag);
  say("atomic %d", flag);
}
void test_more_files(void) {
  if (me == 0) MPI_File_delete(path(), MPI_INFO_NULL);
  MPI_Barrier(W);
  for (int i = 0; i < MANY; i++) v[i] = me * 10 + i;
  MPI_File_open(W, path(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
  BOTH("iwrite, iread", (MPI_File_iwrite(f, v, MANY, MPI_INT, &r), MPI_Wait(&r, &s)), (MPI_File_iread(f, w, MANY, MPI_INT, &r), MPI_Wait(&r, &s)));
  BOTH("iwrite_all, iread_all", (MPI_File_iwrite_all(f, v, MANY, MPI_INT, &r), MPI_Wait(&r, &s)),
       (MPI_File_iread_all(f, w, MANY, MPI_INT, &r), MPI_Wait(&r, &s)));
  BOTH("iwrite_at_all, iread_at_all", (MPI_File_iwrite_at_all(f, mine(), v, MANY, MPI_INT, &r), MPI_Wait(&r, &s)),
       (MPI_File_iread_at_all(f, mine(), w, MANY, MPI_INT, &r), MPI_Wait(&r, &s)));
  BOTH("write_all, read_all", MPI_File_write_all(f, v, MANY, MPI_INT, &s), MPI_File_read_all(f, w, MANY, MPI_INT, &s));
  BOTH("write_at_all, read_at_all", MPI_File_write_at_all(f, mine(), v, MANY, MPI_INT, &s), MPI_File_read_at_all(f, mine(), w, MANY, MPI_INT, &s));
  BOTH("write_all split", (MPI_File_write_all_begin(f, v, MANY, MPI_INT), MPI_File_write_all_end(f, v, &s)),
       (MPI_File_read_all_begin(f, w, MANY, MPI_INT), MPI_File_read_all_end(f, w, &s)));
  BOTH("write_at_all split", (MPI_File_write_at_all_begin(f, mine(), v, MANY, MPI_INT), MPI_File_write_at_all_end(f, v, &s)),
       (MPI_File_read_at_all_begin(f, mine(), w, MANY, MPI_INT), MPI_File_read_at_all_end(f, w, &s)));
  shared_pointer();
  handlers_of_files();
  MPI_File_close(&f);
  if (me == 0) MPI_File_delete(path(), MPI_INFO_NULL);
  MPI_Barrier(W);
}

/* ---- neighbours ------------------------------------------------------------------------------------------- */
void test_more_neighbours(void) {
  MPI_Comm ring;
  int periodic = 1, size = n, a[2], b[8];
  const int counts[2] = {1, 2}, from[2] = {0, 1}, got_counts[2] = {2, 1}, to[2] = {0, 3};
  const MPI_Aint from_bytes[2] = {0, 4}, to_bytes[2] = {0, 12};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const int three[3] = {me, me * 10, me * 100};
  MPI_Cart_create(W, 1, &size, &periodic, 0, &ring);
  a[0] = me, a[1] = -me;
#define SHOW(name) (MPI_Wait(&r, MPI_STATUS_IGNORE), say_ints(name, b, 8), memset(b, 0xFF, sizeof b))
  memset(b, 0xFF, sizeof b);
  MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, ring);
  say_ints("alltoall", b, 2);
  MPI_Ineighbor_allgather(&me, 1, MPI_INT, b, 1, MPI_INT, ring, &r);
  SHOW("iallgather");
  MPI_Ineighbor_allgatherv(a, 2, MPI_INT, b, (int[]){2, 2}, (int[]){0, 3}, MPI_INT, ring, &r);
  SHOW("iallgatherv");
  if (n > 2) { /* one and two processes are twice each other's neighbours: counts of both directions differ */
    MPI_Ineighbor_alltoallv(three, counts, from, MPI_INT, b, got_counts, to, MPI_INT, ring, &r);
    SHOW("ialltoallv");
    MPI_Ineighbor_alltoallw(three, counts, from_bytes, types, b, got_counts, to_bytes, types, ring, &r);
    SHOW("ialltoallw");
  }
  MPI_Comm_free(&ring);
}

/* ---- names of MPI-1, and what converts ----------------------------------------------------------------------- */
static int copied, deleted;
static int copy_attribute(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag) {
  (void)c, (void)key, (void)extra;
  memcpy(out, &in, sizeof in);
  copied++;
  return *flag = 1, MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm c, int key, void *value, void *extra) {
  (void)c, (void)key, (void)value, (void)extra;
  deleted++;
  return MPI_SUCCESS;
}
static void on_error(MPI_Comm *c, int *code, ...) { raised += *c == W && *code != MPI_SUCCESS; }
void test_old_names(void) {
  int key, flag, x = 5, *value = NULL, lengths[2] = {1, 2}, size;
  MPI_Comm other;
  MPI_Errhandler handler, before;
  MPI_Aint at, there[2] = {0, 8}, extent, lower, upper;
  MPI_Datatype t, kinds[2] = {MPI_INT, MPI_INT};
  MPI_Keyval_create(copy_attribute, delete_attribute, &key, NULL);
  MPI_Attr_put(W, key, &x);
  MPI_Attr_get(W, key, &value, &flag);
  MPI_Comm_dup(W, &other);
  MPI_Attr_delete(W, key);
  MPI_Comm_free(&other);
  MPI_Keyval_free(&key);
  say("attributes: %d %d copied %d deleted %d key %d", flag, value == &x, copied, deleted, key == MPI_KEYVAL_INVALID);
  raised = 0;
  MPI_Errhandler_get(W, &before);
  MPI_Errhandler_create(on_error, &handler);
  MPI_Errhandler_set(W, handler);
  MPI_Send(&x, 1, MPI_INT, n + 3, 0, W);
  MPI_Errhandler_set(W, before);
  MPI_Errhandler_free(&handler);
  say("handler: %d", raised);
  MPI_Address(&x, &at);
  MPI_Type_struct(2, lengths, there, kinds, &t);
  MPI_Type_extent(t, &extent), MPI_Type_lb(t, &lower), MPI_Type_ub(t, &upper), MPI_Type_size(t, &size);
  say("struct: %d extent %ld from %ld to %ld, address %d", size, (long)extent, (long)lower, (long)upper, at == (MPI_Aint)(intptr_t)&x);
  MPI_Type_free(&t);
  MPI_Type_hvector(2, 1, 12, MPI_INT, &t);
  MPI_Type_extent(t, &extent);
  MPI_Type_free(&t);
  MPI_Type_hindexed(2, lengths, there, MPI_INT, &t);
  MPI_Type_size(t, &size);
  MPI_Type_free(&t);
  say("hvector extent %ld, hindexed size %d", (long)extent, size);
}
#ifndef MPI_F_STATUS_SIZE
#  define MPI_F_STATUS_SIZE 6 /* of Open MPI before MPI 4 */
#endif
void test_status_forms(void) {
  MPI_Fint old[MPI_F_STATUS_SIZE];
  MPI_Status again;
  MPI_Count elements;
  int flag, count;
  memset(&s, 0, sizeof s);
  MPI_Sendrecv(v, 3, MPI_INT, me, 17, w, MANY, MPI_INT, me, 17, W, &s);
  MPI_Get_elements_x(&s, MPI_INT, &elements);
  MPI_Status_c2f(&s, old);
  memset(&again, 0, sizeof again);
  MPI_Status_f2c(old, &again);
  MPI_Get_count(&again, MPI_INT, &count);
  say("f: from me %d tag %d count %d elements %ld", again.MPI_SOURCE == me, again.MPI_TAG, count, (long)elements);
  MPI_Status_set_elements_x(&again, MPI_INT, 40);
  MPI_Get_count(&again, MPI_INT, &count);
  MPI_Test_cancelled(&again, &flag);
  say("set: %d cancelled %d", count, flag);
}

/* ---- windows' attributes, sessions, tools ------------------------------------------------------------------------- */
static void on_window_error(MPI_Win *win, int *code, ...) { raised += *win != MPI_WIN_NULL && *code == MPI_ERR_RMA_RANGE; }
static int copy_of_window(MPI_Win win, int key, void *extra, void *in, void *out, int *flag) {
  (void)win, (void)key, (void)extra;
  memcpy(out, &in, sizeof in);
  return *flag = 1, MPI_SUCCESS;
}
void test_more_windows(void) {
  int key, flag, x = 7, *value = NULL, memory[4] = {0};
  MPI_Win win;
  MPI_Errhandler handler, got;
  MPI_Info info;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, W, &win);
  MPI_Win_create_keyval(copy_of_window, MPI_WIN_NULL_DELETE_FN, &key, NULL);
  MPI_Win_set_attr(win, key, &x);
  MPI_Win_get_attr(win, key, &value, &flag);
  say("window attribute: %d %d", flag, value == &x);
  MPI_Win_delete_attr(win, key);
  MPI_Win_get_attr(win, key, &value, &flag);
  say("deleted: %d", !flag);
  MPI_Win_free_keyval(&key);
  raised = 0;
  MPI_Win_create_errhandler(on_window_error, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Win_get_errhandler(win, &got);
  MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE);
  say("window handler: same %d called %d", got == handler, raised);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Win_set_info(win, info);
  MPI_Info_free(&info);
  MPI_Win_get_info(win, &info);
  say("window info: %d", info != MPI_INFO_NULL);
  MPI_Info_free(&info);
  MPI_Win_free(&win);
}
#if HAS_SESSIONS
static int heard;
static void on_session(MPI_Session *one, int *code, ...) {
  int class;
  MPI_Error_class(*code, &class);
  heard += class == MPI_ERR_OTHER && *one != MPI_SESSION_NULL;
}
void handler_of_a_session(void) {
  MPI_Session one;
  MPI_Errhandler h, got;
  heard = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one);
  MPI_Session_create_errhandler(on_session, &h);
  MPI_Session_set_errhandler(one, h);
  MPI_Session_get_errhandler(one, &got);
  MPI_Session_call_errhandler(one, MPI_ERR_OTHER);
  say("handler of a session: same %d, called %d", h == got, heard);
  MPI_Errhandler_free(&h);
  MPI_Errhandler_free(&got);
  MPI_Session_finalize(&one);
}
void test_sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Info info;
  int sets, length = 0, rank, size, sum = 0, is_world = 0;
  char name[MPI_MAX_PSET_NAME_LEN];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  for (int i = 0; i < sets; i++) {
    length = sizeof name;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    is_world += strcmp(name, "mpi://WORLD") == 0;
  }
  MPI_Session_get_info(session, &info);
  MPI_Info_free(&info);
  MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
  MPI_Info_get(info, "mpi_size", sizeof name - 1, name, &length);
  MPI_Info_free(&info);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  say("session: world %d of %s, rank %d of %d, sum %d", is_world, name, rank == me, size, sum);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
#endif
void test_tools(void) {
  int provided, count, index, code;
  char name[256], text[256];
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  code = MPI_T_cvar_get_num(&count);
  say("variables: %d %d", code == MPI_SUCCESS, count >= 0);
  say("no such variable: %d", MPI_T_cvar_get_index("no such variable", &index) == MPI_T_ERR_INVALID_NAME);
  int name_length = sizeof name, text_length = sizeof text, verbosity, bind, reach;
  MPI_Datatype type;
  MPI_T_enum kinds;
  say("bad index: %d", MPI_T_cvar_get_info(1 << 20, name, &name_length, &verbosity, &type, &kinds, text, &text_length, &bind, &reach) == MPI_T_ERR_INVALID_INDEX);
  say("no such counter: %d", MPI_T_pvar_get_index("no such counter", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_T_ERR_INVALID_NAME);
  MPI_T_pvar_session session;
  MPI_T_pvar_session_create(&session);
  say("all counters: %d", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  MPI_T_pvar_session_free(&session);
  say("no such category: %d", MPI_T_category_get_index("no such category", &index) == MPI_T_ERR_INVALID_NAME);
  MPI_T_finalize();
  MPI_Pcontrol(1);
}
