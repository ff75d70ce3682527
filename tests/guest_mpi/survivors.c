/* MPI test set: what MPICH and Open MPI 5 have to go on without processes that failed, where none has; and handlers of sessions. */
#include "say.h"
#if HAS_SURVIVORS
#define W MPI_COMM_WORLD
#ifdef MPICH_NAME
#define IS_OPEN_MPI 0
#else
#define IS_OPEN_MPI 1
#endif

static int copied;
static int copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag) {
  (void)c, (void)key, (void)extra;
  *(void **)out = in;
  *flag = 1;
  copied++;
  return MPI_SUCCESS;
}
/* What is made of the survivors is like the old one, without its attributes. */
static void all_survive(void) {
  MPI_Comm old, new;
  int key, is_same, flag, size, rank, sum = 0;
  void *value;
  MPI_Comm_split(W, 0, n - me, &old);
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(old, key, &key);
  MPIX_Comm_shrink(old, &new);
  MPI_Comm_compare(old, new, &is_same);
  MPI_Comm_get_attr(new, key, &value, &flag);
  MPI_Comm_rank(new, &rank), MPI_Comm_size(new, &size);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, new);
  say("shrunk: congruent %d, attribute %d, copied %d, %d of %d, sum %d", is_same == MPI_CONGRUENT, flag, copied, rank, size, sum);
  MPI_Comm_free(&new);
  MPI_Comm_free(&old);
  MPI_Comm_free_keyval(&key);
}
static void nobody_is_missing(void) {
  MPI_Group group;
  int size = -1, same = -1;
  const int code = MPIX_Comm_failure_ack(W);
  MPIX_Comm_failure_get_acked(W, &group);
  MPI_Group_size(group, &size);
  MPI_Group_compare(group, MPI_GROUP_EMPTY, &same);
  say("acknowledged: %d %d, empty %d", code == MPI_SUCCESS, size, same == MPI_IDENT);
  if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
#if IS_OPEN_MPI
  int acked = -1, flag = -1;
  MPIX_Comm_get_failed(W, &group);
  MPI_Group_size(group, &size);
  if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
  MPIX_Comm_ack_failed(W, n, &acked);
  MPIX_Comm_is_revoked(W, &flag);
  say("failed: %d, acknowledged %d, revoked %d", size, acked, flag);
#endif
}
static void all_agree(void) {
  MPI_Comm half;
  int all = 0xF0 | 1 << me % 4, mine = me % 2 ? 6 : 3, third = ~me;
  int code = MPIX_Comm_agree(W, &all);
  MPI_Comm_split(W, me % 2, me, &half);
  code |= MPIX_Comm_agree(half, &mine);
#if IS_OPEN_MPI
  MPI_Request request;
  MPI_Status s;
  code |= MPIX_Comm_iagree(W, &third, &request);
  code |= MPI_Wait(&request, &s);
  say("later: %d", request == MPI_REQUEST_NULL);
#else
  code |= MPIX_Comm_agree(W, &third);
#endif
  say("agreed: %d: %x %x %x", code, (unsigned)all, (unsigned)mine, (unsigned)third);
  MPI_Comm_free(&half);
}
/* Two groups agree on what all their members say. */
static void two_groups_agree(void) {
  MPI_Comm half, both, fewer;
  int flag = 0xFF & ~(1 << me % 8), is_inter = -1, size = -1, remote = -1;
  if (n < 2) return;
  MPI_Comm_split(W, me % 2, me, &half);
  MPI_Intercomm_create(half, 0, W, !(me % 2), 5, &both);
  const int code = MPIX_Comm_agree(both, &flag);
  say("two groups: %d, %x", code, (unsigned)flag);
  MPIX_Comm_shrink(both, &fewer);
  MPI_Comm_test_inter(fewer, &is_inter);
  MPI_Comm_size(fewer, &size);
  MPI_Comm_remote_size(fewer, &remote);
  say("two groups shrunk: %d, %d and %d", is_inter, size, remote);
  MPI_Comm_free(&fewer);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}
static void no_session(void) {
  MPI_Session s;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
  MPI_Session_finalize(&s);
  say("session ended: %d", s == MPI_SESSION_NULL);
#if IS_OPEN_MPI
  char text[MPI_MAX_ERROR_STRING];
  int class = -1, length = 0;
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Session_get_num_psets(s, MPI_INFO_NULL, &length), &class);
  say("no session: %d, class %d", class == MPI_ERR_SESSION, class);
  MPI_Error_string(MPIX_ERR_REVOKED, text, &length);
  say("%.15s", text);
#endif
}
void test_survivors(void) {
  all_survive();
  nobody_is_missing();
  all_agree();
  two_groups_agree();
  handler_of_a_session();
  no_session();
}
#endif
