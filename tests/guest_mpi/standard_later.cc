// The standard ABI seen from C++: its own functions, handles as numbers, and callbacks that get its handles.
#include <mpi.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static int me, n;
static void check(const char *what, bool is_right) {
  if (me == 0 || !is_right) std::printf("%s: %s\n", is_right ? "right" : "WRONG", what);
}
static_assert(sizeof(MPI_Status) == 32 && offsetof(MPI_Status, MPI_SOURCE) == 0 && offsetof(MPI_Status, MPI_TAG) == 4 && offsetof(MPI_Status, MPI_ERROR) == 8, "a status");
static_assert(sizeof(MPI_Comm) == sizeof(void *) && sizeof(MPI_Aint) == sizeof(void *) && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8, "types");

static bool has(MPI_Info info, const char *key, const char *expected) {
  char value[64] = "";
  int bytes = sizeof value, flag = 0;
  return MPI_Info_get_string(info, key, &bytes, value, &flag) == MPI_SUCCESS && flag && std::strcmp(value, expected) == 0;
}
static void versions() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int a = -1, b = -1, length = 0, flag = 0, yes = -1, no = -1;
  MPI_Info info = MPI_INFO_NULL;
  check("version", MPI_Get_version(&a, &b) == 0 && a == MPI_VERSION && b == MPI_SUBVERSION);
  check("version of the ABI", MPI_Abi_get_version(&a, &b) == 0 && a == MPI_ABI_VERSION && b == MPI_ABI_SUBVERSION);
  check("library", MPI_Get_library_version(text, &length) == 0 && length == (int)std::strlen(text) && std::strstr(text, "standard ABI"));
  check("sizes", MPI_Abi_get_info(&info) == 0 && has(info, "mpi_aint_size", sizeof(void *) == 8 ? "8" : "4") && has(info, "mpi_count_size", "8") && has(info, "mpi_offset_size", "8"));
  MPI_Info_free(&info);
  check("an info of Fortran", MPI_Abi_get_fortran_info(&info) == 0 && has(info, "mpi_logical_size", "4") && has(info, "mpi_integer_size", "4") && has(info, "mpi_real_size", "4") &&
                                  has(info, "mpi_double_precision_size", "8") && has(info, "mpi_integer8_supported", "true") && has(info, "mpi_real2_supported", "false"));
  check("is not set", MPI_Abi_set_fortran_info(info) == MPI_ERR_ABI && MPI_Abi_set_fortran_booleans(4, &yes, &no) == MPI_ERR_ABI);
  MPI_Info_free(&info);
  check("booleans", MPI_Abi_get_fortran_booleans(4, &yes, &no, &flag) == 0 && flag == 1 && yes == 1 && no == 0);
  check("of another size", MPI_Abi_get_fortran_booleans(8, &yes, &no, &flag) == MPI_ERR_ABI);
  check("a class that is new", MPI_Error_class(MPI_ERR_ABI, &a) == 0 && a == MPI_ERR_ABI && MPI_Error_string(MPI_ERR_ABI, text, &length) == 0 && length > 0);
  check("no class", MPI_Error_class(1000, &a) == 0 && a == MPI_ERR_UNKNOWN);
  check("types that are missing", MPI_Type_size(MPI_REAL2, &a) == 0 && a == MPI_UNDEFINED && MPI_Type_size(MPI_REAL4, &a) == 0 && a == 4);
}
#define NUMBER(kind, handle, number) check(#handle, MPI_##kind##_toint(handle) == number && MPI_##kind##_fromint(number) == handle)
#define AGAIN(kind, handle)          check("a " #kind " as a number", MPI_##kind##_fromint(MPI_##kind##_toint(handle)) == handle && MPI_##kind##_toint(handle) != 0)
static void numbers() {
  MPI_Comm comm;
  MPI_Group group;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Info info;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  MPI_Errhandler handler;
  MPI_Session session;
  MPI_Win win;
  MPI_File file;
  MPI_Status status;
  int memory = 0, size = 0;
  NUMBER(Comm, MPI_COMM_WORLD, 0x101);
  NUMBER(Group, MPI_GROUP_EMPTY, 0x109);
  NUMBER(Type, MPI_INT, 0x209);
  NUMBER(Op, MPI_SUM, 0x21);
  NUMBER(Win, MPI_WIN_NULL, 0x110);
  NUMBER(File, MPI_FILE_NULL, 0x118);
  NUMBER(Session, MPI_SESSION_NULL, 0x120);
  NUMBER(Message, MPI_MESSAGE_NO_PROC, 0x129);
  NUMBER(Info, MPI_INFO_ENV, 0x131);
  NUMBER(Errhandler, MPI_ERRORS_RETURN, 0x143);
  NUMBER(Request, MPI_REQUEST_NULL, 0x180);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  AGAIN(Comm, comm);
  check("the communicator that a number means", MPI_Comm_size(MPI_Comm_fromint(MPI_Comm_toint(comm)), &size) == 0 && size == n);
  MPI_Comm_group(comm, &group);
  AGAIN(Group, group);
  MPI_Type_contiguous(3, MPI_INT, &type);
  AGAIN(Type, type);
  MPI_Info_create(&info);
  AGAIN(Info, info);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  AGAIN(Errhandler, handler);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  AGAIN(Session, session);
  MPI_Win_create(&memory, sizeof memory, 4, MPI_INFO_NULL, comm, &win);
  AGAIN(Win, win);
  MPI_Op_create([](void *, void *, int *, MPI_Datatype *) {}, 1, &op);
  AGAIN(Op, op);
  MPI_Isend(&memory, 1, MPI_INT, me, 1, comm, &request);
  AGAIN(Request, request);
  MPI_Mprobe(me, MPI_ANY_TAG, comm, &message, &status);
  AGAIN(Message, message);
  MPI_Mrecv(&size, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("nulls after the end", request == MPI_REQUEST_NULL && message == MPI_MESSAGE_NULL);
  const char *path = std::getenv("GUEST_MPI_FILE") ? std::getenv("GUEST_MPI_FILE") : "guest_mpi.tmp";
  MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  AGAIN(File, file);
  int mode = 0;
  check("its mode", MPI_File_get_amode(file, &mode) == 0 && mode == (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
  MPI_File_close(&file);
  check("nothing left", file == MPI_FILE_NULL);
  MPI_Win_free(&win);
  MPI_Op_free(&op);
  MPI_Info_free(&info);
  MPI_Type_free(&type);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  MPI_Comm_free(&comm);
  check("all nulls", win == MPI_WIN_NULL && op == MPI_OP_NULL && info == MPI_INFO_NULL && type == MPI_DATATYPE_NULL && group == MPI_GROUP_NULL && session == MPI_SESSION_NULL &&
                         comm == MPI_COMM_NULL);
}

static int called, good;
static MPI_Datatype expected_type;
static MPI_Comm expected_comm;
static MPI_Win expected_win;
static MPI_File expected_file;
static MPI_Session expected_session;
static void note(bool is_good) { called++, good += is_good; }
static void of_comm(MPI_Comm *c, int *code, ...) { note(*c == expected_comm && *code == MPI_ERR_ARG); }
static void of_win(MPI_Win *w, int *code, ...) { note(*w == expected_win && *code == MPI_ERR_RMA_RANGE); }
static void of_file(MPI_File *f, int *code, ...) { note(*f == expected_file && *code == MPI_ERR_NO_SPACE); }
static void of_session(MPI_Session *s, int *code, ...) { note(*s == expected_session && *code == MPI_ERR_OTHER); }
static bool all(int calls) {
  const bool is_right = called >= calls && called == good;
  called = good = 0;
  return is_right;
}
static void callbacks() {
  MPI_Op op;
  MPI_Comm dup;
  MPI_Errhandler handler;
  int a = me, sum = -1, key, flag, *value, memory = 0;
  MPI_Op_create([](void *in, void *inout, int *count, MPI_Datatype *t) { note(*t == expected_type && *count == 1), *static_cast<int *>(inout) += *static_cast<int *>(in); }, 1, &op);
  expected_type = MPI_INT;
  MPI_Reduce_local(&a, &sum, 1, MPI_INT, op);
  check("an operator gets MPI_INT", all(1) && sum == me - 1);
  MPI_Op_free(&op);
  MPI_Op_create_c([](void *, void *, MPI_Count *count, MPI_Datatype *t) { note(*t == expected_type && *count == 2); }, 0, &op);
  MPI_Type_contiguous(1, MPI_INT, &expected_type);
  MPI_Type_commit(&expected_type);
  int two[2] = {1, 2}, more[2] = {3, 4};
  MPI_Reduce_local_c(two, more, 2, expected_type, op);
  check("a large one gets a type of the program", all(1));
  MPI_Type_free(&expected_type);
  MPI_Op_free(&op);
  expected_comm = MPI_COMM_WORLD;
  MPI_Comm_create_keyval([](MPI_Comm c, int, void *extra, void *in, void *out, int *is_copied) -> int {
    note(c == expected_comm && extra == &called);
    std::memcpy(out, &in, sizeof in);
    return *is_copied = 1, MPI_SUCCESS;
  }, [](MPI_Comm, int, void *v, void *extra) -> int { return note(v == &good && extra == &called), MPI_SUCCESS; }, &key, &called);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &good);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  check("a copied attribute", MPI_Comm_get_attr(dup, key, &value, &flag) == 0 && flag && value == &good);
  MPI_Comm_free(&dup);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);
  check("copied once, deleted twice", all(3) && key == MPI_KEYVAL_INVALID);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &memory);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  check("MPI_COMM_DUP_FN", MPI_Comm_get_attr(dup, key, &value, &flag) == 0 && flag && value == &memory);
  MPI_Comm_free(&dup);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &memory);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  check("MPI_COMM_NULL_COPY_FN", MPI_Comm_get_attr(dup, key, &value, &flag) == 0 && !flag);
  MPI_Comm_free(&dup);

  MPI_Comm_create_errhandler(of_comm, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG);
  check("a handler of a communicator", all(1));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  MPI_Win_create_errhandler(of_win, &handler);
  MPI_Win_create(&memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &expected_win);
  MPI_Win_set_errhandler(expected_win, handler);
  MPI_Win_call_errhandler(expected_win, MPI_ERR_RMA_RANGE);
  check("one of a window", all(1));
  MPI_Win_get_attr(expected_win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
  check("its flavour", flag && *value == MPI_WIN_FLAVOR_CREATE);
  MPI_Win_get_attr(expected_win, MPI_WIN_MODEL, &value, &flag);
  check("its model", flag && (*value == MPI_WIN_UNIFIED || *value == MPI_WIN_SEPARATE));
  MPI_Win_free(&expected_win);
  MPI_Errhandler_free(&handler);
  MPI_File_create_errhandler(of_file, &handler);
  const char *path = std::getenv("GUEST_MPI_FILE") ? std::getenv("GUEST_MPI_FILE") : "guest_mpi.tmp";
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &expected_file);
  MPI_File_set_errhandler(expected_file, handler);
  MPI_File_call_errhandler(expected_file, MPI_ERR_NO_SPACE);
  check("one of a file", all(1));
  MPI_File_close(&expected_file);
  MPI_Errhandler_free(&handler);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &expected_session);
  MPI_Session_create_errhandler(of_session, &handler);
  MPI_Session_set_errhandler(expected_session, handler);
  MPI_Session_call_errhandler(expected_session, MPI_ERR_OTHER);
  check("one of a session", all(1));
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&expected_session);

  MPI_Request request;
  MPI_Status status;
  int count = 0, is_cancelled = -1;
  MPI_Grequest_start([](void *extra, MPI_Status *s) -> int {
    MPI_Status_set_elements(s, MPI_INT, 3);
    MPI_Status_set_cancelled(s, 0);
    s->MPI_SOURCE = MPI_PROC_NULL;
    s->MPI_TAG = 12;
    return note(extra == &good), MPI_SUCCESS;
  }, [](void *extra) -> int { return note(extra == &good), MPI_SUCCESS; }, [](void *, int) -> int { return MPI_SUCCESS; }, &good, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Test_cancelled(&status, &is_cancelled);
  check("a generalized request", all(2) && count == 3 && !is_cancelled && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == 12);
}
// What is not shared: a process has its own memory, that of others is none (MPI 4.1).
static void windows() {
  MPI_Win of_program, of_mpi, dynamic;
  int *mine = nullptr, theirs[3];
  MPI_Win_create(theirs, sizeof theirs, sizeof *theirs, MPI_INFO_NULL, MPI_COMM_WORLD, &of_program);
  MPI_Win_allocate(8, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &of_mpi);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  for (int k = 0; k <= n; k++) {
    const int rank = k == n ? MPI_PROC_NULL : k;
    const bool is_mine = rank == me || n == 1;
    MPI_Aint size = -1, unit_c = -1;
    int unit = -1;
    void *base = &size;
    check("memory of a program's window", MPI_Win_shared_query(of_program, rank, &size, &unit, &base) == 0 && base == (is_mine ? theirs : nullptr) && size == (is_mine ? 12 : 0) && unit == (is_mine ? 4 : 0));
    base = &size;
    check("memory of MPI's window", MPI_Win_shared_query_c(of_mpi, rank, &size, &unit_c, &base) == 0 && base == (is_mine ? mine : nullptr) && size == (is_mine ? 8 : 0) && unit_c == (is_mine ? 2 : 0));
  }
  MPI_Aint size;
  int unit, code = 0;
  void *base;
  MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Win_shared_query(dynamic, me, &size, &unit, &base), &code);
  check("memory of a dynamic window", code == MPI_ERR_RMA_FLAVOR);
  MPI_Win_free(&of_program), MPI_Win_free(&of_mpi), MPI_Win_free(&dynamic);
}
int main(int argc, char **argv) {
  int level = -1, asked = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check("level of threads", MPI_Query_thread(&asked) == 0 && asked == level && level >= MPI_THREAD_SERIALIZED);
  versions();
  numbers();
  callbacks();
  windows();
  return MPI_Finalize();
}
