/* MPI test set: what came with MPI 4.1. MPICH 4.0 has none of it, so each answer is judged here. */
#include "../../tools/mpi_h.h" /* hides what some declare otherwise */
#include "say.h"
#define W MPI_COMM_WORLD
#define LATER(name, ...) int name(__VA_ARGS__) __attribute__((weak));
LATER(MPI_Request_get_status_all, int, const MPI_Request *, int *, MPI_Status *)
LATER(MPI_Request_get_status_any, int, const MPI_Request *, int *, int *, MPI_Status *)
LATER(MPI_Request_get_status_some, int, const MPI_Request *, int *, int *, MPI_Status *)
LATER(MPI_Status_get_error, const MPI_Status *, int *)
LATER(MPI_Status_get_source, const MPI_Status *, int *)
LATER(MPI_Status_get_tag, const MPI_Status *, int *)
#if MPI_VERSION < 5
#  ifndef MPI_BUFFER_AUTOMATIC
#    define MPI_BUFFER_AUTOMATIC ((void *)-2)
#  endif
LATER(MPI_Buffer_flush, void)
LATER(MPI_Buffer_iflush, MPI_Request *)
LATER(MPI_Comm_attach_buffer, MPI_Comm, void *, int)
LATER(MPI_Comm_attach_buffer_c, MPI_Comm, void *, MPI_Count)
LATER(MPI_Comm_detach_buffer, MPI_Comm, void *, int *)
LATER(MPI_Comm_detach_buffer_c, MPI_Comm, void *, MPI_Count *)
LATER(MPI_Comm_flush_buffer, MPI_Comm)
LATER(MPI_Comm_iflush_buffer, MPI_Comm, MPI_Request *)
LATER(MPI_Session_attach_buffer, MPI_Session, void *, int)
LATER(MPI_Session_attach_buffer_c, MPI_Session, void *, MPI_Count)
LATER(MPI_Session_detach_buffer, MPI_Session, void *, int *)
LATER(MPI_Session_detach_buffer_c, MPI_Session, void *, MPI_Count *)
LATER(MPI_Session_flush_buffer, MPI_Session)
LATER(MPI_Session_iflush_buffer, MPI_Session, MPI_Request *)
LATER(MPI_Status_set_error, MPI_Status *, int)
LATER(MPI_Status_set_source, MPI_Status *, int)
LATER(MPI_Status_set_tag, MPI_Status *, int)
LATER(MPI_Status_set_elements_c, MPI_Status *, MPI_Datatype, MPI_Count)
LATER(MPI_Remove_error_class, int)
LATER(MPI_Remove_error_code, int)
LATER(MPI_Remove_error_string, int)
LATER(MPI_Type_get_value_index, MPI_Datatype, MPI_Datatype, MPI_Datatype *)
LATER(MPI_Get_hw_resource_info, MPI_Info *)
#endif
static void right(const char *what, int is_right) { say("%s: %s", what, is_right ? "right" : "OTHER"); }
enum { LONG = 200000 }; /* bytes that are not sent before somebody receives them */
static char from[LONG], to[LONG], memory[2 * LONG];
static int send_to_oneself(MPI_Comm c, int rank) {
  int class = MPI_SUCCESS;
  MPI_Error_class(MPI_Bsend(from, LONG, MPI_BYTE, rank, 1, c), &class);
  return class;
}
static int arrives(MPI_Comm c, int rank) {
  memset(to, 0, sizeof to);
  MPI_Recv(to, LONG, MPI_BYTE, rank, 1, c, MPI_STATUS_IGNORE);
  return memcmp(from, to, LONG) == 0;
}
static void buffers_of_communicators(void) {
  MPI_Comm c;
  MPI_Request flush;
  MPI_Count large = 0;
  void *got = NULL;
  int size = 0, flag = 1, is_refused;
  MPI_Comm_dup(W, &c);
  right("a communicator takes a buffer", MPI_Comm_attach_buffer(c, memory, LONG + MPI_BSEND_OVERHEAD) == MPI_SUCCESS);
  right("one only", MPI_Comm_attach_buffer_c(c, memory, 10) != MPI_SUCCESS);
  right("a message stands in it", send_to_oneself(c, me) == MPI_SUCCESS);
  right("there is no room for two", send_to_oneself(c, me) == MPI_ERR_BUFFER);
  right("nor for other communicators", send_to_oneself(W, me) == MPI_ERR_BUFFER);
  MPI_Comm_iflush_buffer(c, &flush);
  MPI_Test(&flush, &flag, MPI_STATUS_IGNORE);
  right("it is not sent before it is received", !flag);
  is_refused = !arrives(c, me);
  right("then it is", MPI_Wait(&flush, MPI_STATUS_IGNORE) == MPI_SUCCESS && !is_refused && flush == MPI_REQUEST_NULL);
  right("nothing to wait for", MPI_Comm_flush_buffer(c) == MPI_SUCCESS);
  right("the buffer is given back", MPI_Comm_detach_buffer(c, &got, &size) == MPI_SUCCESS && got == memory && size == LONG + MPI_BSEND_OVERHEAD);
  right("once", MPI_Comm_detach_buffer_c(c, &got, &large) == MPI_SUCCESS && got == NULL && large == 0);
  MPI_Comm_free(&c);
}
static void automatic_ones(void) {
  MPI_Request flush;
  void *got = NULL;
  int size = 7, good = 1;
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  for (int i = 0; i < 5; i++) good = good && send_to_oneself(W, me) == MPI_SUCCESS;
  right("as many as wanted", good);
  for (int i = 0; i < 4; i++) good = good && arrives(W, me);
  MPI_Buffer_iflush(&flush);
  right("the last of them", good && arrives(W, me) && MPI_Wait(&flush, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Buffer_flush() == MPI_SUCCESS);
  right("no buffer of the program", MPI_Buffer_detach(&got, &size) == MPI_SUCCESS && got == MPI_BUFFER_AUTOMATIC && size == 0);
}
static void buffers_of_sessions(void) {
  MPI_Session s;
  MPI_Group group;
  MPI_Comm c;
  MPI_Request flush;
  MPI_Count large = 0;
  void *got = NULL;
  int size = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
  MPI_Group_from_session_pset(s, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "later", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
  right("no buffer, no message", send_to_oneself(c, 0) == MPI_ERR_BUFFER);
  MPI_Session_attach_buffer(s, memory, sizeof memory);
  right("a session's buffer", send_to_oneself(c, 0) == MPI_SUCCESS && arrives(c, 0) && MPI_Session_flush_buffer(s) == MPI_SUCCESS);
  right("it is given back", MPI_Session_detach_buffer(s, &got, &size) == MPI_SUCCESS && got == memory && size == sizeof memory);
  MPI_Session_attach_buffer_c(s, memory, LONG);
  MPI_Session_iflush_buffer(s, &flush);
  MPI_Wait(&flush, MPI_STATUS_IGNORE);
  right("with its size", MPI_Session_detach_buffer_c(s, &got, &large) == MPI_SUCCESS && got == memory && large == LONG);
  MPI_Comm_free(&c);
  MPI_Group_free(&group);
  MPI_Session_finalize(&s);
}
static void requests(void) {
  MPI_Request q[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s[3];
  int a[3] = {0, 0, 0}, value = 5, flag = 0, index = 0, count = 0, indices[3];
  right("all of none", MPI_Request_get_status_all(3, q, &flag, s) == MPI_SUCCESS && flag && s[0].MPI_TAG == MPI_ANY_TAG);
  right("any of none", MPI_Request_get_status_any(3, q, &index, &flag, s) == MPI_SUCCESS && flag && index == MPI_UNDEFINED && s[0].MPI_SOURCE == MPI_ANY_SOURCE);
  right("some of none", MPI_Request_get_status_some(3, q, &count, indices, s) == MPI_SUCCESS && count == MPI_UNDEFINED);
  MPI_Irecv(&a[1], 1, MPI_INT, me, 1, W, &q[1]);
  MPI_Irecv(&a[2], 1, MPI_INT, me, 2, W, &q[2]);
  right("none is there", MPI_Request_get_status_any(3, q, &index, &flag, s) == MPI_SUCCESS && !flag && MPI_Request_get_status_some(3, q, &count, indices, s) == MPI_SUCCESS && count == 0);
  MPI_Send(&value, 1, MPI_INT, me, 2, W);
  for (flag = 0; !flag;) MPI_Request_get_status_any(3, q, &index, &flag, s);
  right("one is", index == 2 && s[0].MPI_TAG == 2 && s[0].MPI_SOURCE == me && a[2] == 5 && q[2] != MPI_REQUEST_NULL);
  right("that one of some", MPI_Request_get_status_some(3, q, &count, indices, s) == MPI_SUCCESS && count == 1 && indices[0] == 2 && s[0].MPI_TAG == 2);
  right("not all", MPI_Request_get_status_all(3, q, &flag, s) == MPI_SUCCESS && !flag);
  MPI_Send(&value, 1, MPI_INT, me, 1, W);
  for (flag = 0; !flag;) MPI_Request_get_status_all(3, q, &flag, s);
  right("all are", s[1].MPI_TAG == 1 && s[2].MPI_TAG == 2 && q[1] != MPI_REQUEST_NULL);
  MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
}
static void the_rest(void) {
  MPI_Status s;
  MPI_Datatype pair;
  MPI_Info info = MPI_INFO_NULL;
  int a = 0, b = 0, c = 0, class, code, length;
  char text[MPI_MAX_ERROR_STRING] = "";
  memset(&s, 0, sizeof s);
  MPI_Status_set_source(&s, MPI_PROC_NULL);
  MPI_Status_set_tag(&s, MPI_ANY_TAG);
  MPI_Status_set_error(&s, MPI_ERR_TRUNCATE);
  right("a status is what it was set to", s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG && s.MPI_ERROR == MPI_ERR_TRUNCATE);
  MPI_Status_get_source(&s, &a), MPI_Status_get_tag(&s, &b), MPI_Status_get_error(&s, &c);
  MPI_Status_set_elements_c(&s, MPI_INT, 3), MPI_Get_elements(&s, MPI_INT, &length);
  right("and its elements", length == 3);
  right("and says so", a == MPI_PROC_NULL && b == MPI_ANY_TAG && c == MPI_ERR_TRUNCATE);
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "ours");
  right("a text is removed", MPI_Remove_error_string(code) == MPI_SUCCESS && MPI_Error_string(code, text, &length) == MPI_SUCCESS && length == 0);
  right("a code and a class", MPI_Remove_error_code(code) == MPI_SUCCESS && MPI_Remove_error_class(class) == MPI_SUCCESS);
  right("not those of MPI", MPI_Remove_error_class(MPI_ERR_ARG) != MPI_SUCCESS);
  right("a number and its place", MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair) == MPI_SUCCESS && pair == MPI_DOUBLE_INT);
  right("no such pair", MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &pair) == MPI_SUCCESS && pair == MPI_DATATYPE_NULL);
  right("what restricts a process", MPI_Get_hw_resource_info(&info) == MPI_SUCCESS && info != MPI_INFO_NULL && MPI_Info_get_nkeys(info, &a) == MPI_SUCCESS && a == 0);
  MPI_Info_free(&info);
}
void test_later(void) {
  MPI_Errhandler before;
  for (int i = 0; i < LONG; i++) from[i] = (char)(i * 7 + me);
  MPI_Comm_get_errhandler(W, &before);
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  buffers_of_communicators();
  automatic_ones();
  buffers_of_sessions();
  requests();
  the_rest();
  MPI_Comm_set_errhandler(W, before);
  MPI_Errhandler_free(&before);
}
