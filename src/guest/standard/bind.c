/* What a name of a program with the standard ABI means, and what its constants are in MPICH's. */
#include "st.h"

int st_known[ST_HANDLES];

static void *find(const char *name) {
  const char *rest = name + (*name == 'P');
  return strncmp(rest, "MPI_", 4) == 0
             ? gm_function_named(st_functions, st_function_count, rest + 4)
             : NULL;
}
/* Names that must not be found elsewhere: the launcher has functions of these names with another ABI. */
static bool is_its(const char *name) {
  const char *rest = name + (*name == 'P');
  return strncmp(rest, "MPI_", 4) == 0;
}
/* No variable of the library has a place in a program. */
static void bound(size_t (*offset_of)(const char *name)) { (void)offset_of; }

int st_to_mpich(const st_pairs *pairs, int here, int otherwise) {
  for (size_t i = 0; i < pairs->count; i++)
    if (pairs->row[i].here == here) return pairs->row[i].mpich;
  return otherwise;
}
int st_to_here(const st_pairs *pairs, int mpich, int otherwise) {
  for (size_t i = 0; i < pairs->count; i++)
    if (pairs->row[i].mpich == mpich) return pairs->row[i].here;
  return otherwise;
}
int st_bits(const st_pairs *pairs, int bits, bool is_out) {
  int to = 0;
  for (size_t i = 0; i < pairs->count; i++) {
    const st_pair *row = &pairs->row[i];
    const int from = is_out ? row->mpich : row->here;
    if (bits & from) to |= is_out ? row->here : row->mpich;
    bits &= ~from;
  }
  return bits ? to | 1 << 30 : to;
}
int st_error_slow(int code) { return st_to_here(&st_error_pairs, code, code); }
/* Classes and codes of the program have numbers above all of the ABI. */
int st_code_in(int code) {
  return st_to_mpich(&st_error_pairs, code,
                     code > 0 && code <= ST_ERR_LASTCODE ? MPI_ERR_LASTCODE : code);
}
void *st_buffer(const void *buffer) {
  return (intptr_t)buffer == ST_IN_PLACE           ? MPI_IN_PLACE
         : (intptr_t)buffer == ST_BUFFER_AUTOMATIC ? MPI_BUFFER_AUTOMATIC
                                                   : (void *)(uintptr_t)buffer;
}
void st_buffer_out(void **buffer) {
  if (*buffer == MPI_BUFFER_AUTOMATIC) *buffer = (void *)ST_BUFFER_AUTOMATIC;
}
int *st_weights(const int *weights) {
  return (intptr_t)weights == ST_UNWEIGHTED      ? MPI_UNWEIGHTED
         : (intptr_t)weights == ST_WEIGHTS_EMPTY ? MPI_WEIGHTS_EMPTY
                                                 : (int *)(uintptr_t)weights;
}

/* ---- predefined handles ------------------------------------------------------------------------------------ */
static const st_pairs *const handles[16] = {
    [K_comm] = &st_comm_pairs,      [K_group] = &st_group_pairs, [K_type] = &st_type_pairs,
    [K_op] = &st_op_pairs,          [K_win] = &st_win_pairs,     [K_info] = &st_info_pairs,
    [K_errh] = &st_errh_pairs,      [K_req] = &st_req_pairs,     [K_msg] = &st_msg_pairs,
    [K_session] = &st_session_pairs};
enum { KINDS = sizeof handles / sizeof *handles };
/* Where two have one meaning (MPI_LOGICAL1), the first is given out. */
void *st_predefined(int kind, int handle) {
  const int here = kind < KINDS && handles[kind] ? st_to_here(handles[kind], handle, 0) : 0;
  return (void *)(uintptr_t)(unsigned)here;
}

static const guest_abi abi = {
    .library = "libmpi_abi.so.", .least = 0, .find = find, .is_its = is_its, .bound = bound};
__attribute__((constructor)) static void add(void) {
  for (int k = 0; k < KINDS; k++)
    for (size_t i = 0; handles[k] && i < handles[k]->count; i++)
      st_known[handles[k]->row[i].here] = handles[k]->row[i].mpich;
  guest_abi_add(&abi);
}
