/* What a name of a program made for Open MPI means: functions (sorted by calls.awk), variables (handles), and
   for each process the address that it knows a predefined handle by. */
#include "ompi.h"

static size_t *place; /* of each variable in the image of a process; 0: it is the launcher's */
static int request_row, file_row;

static void *address_of(const gm_function *f) {
  void *address = NULL;
  if (f) memcpy(&address, &f->address, sizeof address);
  return address;
}
static void *function_named(const char *name) {
  return gm_function_named(om_functions, om_function_count, name);
}
/* mpi_op_create, _, __, MPI_OP_CREATE, all with a p before; ompi_op_create_f and pompi_op_create_f of the
   module of 2008. */
static const gm_function *of_fortran(const char *name) {
  char low[64];
  size_t n = 0;
  for (; name[n] && n < sizeof low - 1; n++) {
    if (n > 6 && (name[n] >= 'A' && name[n] <= 'Z') != (name[0] >= 'A' && name[0] <= 'Z') &&
        name[n] != '_')
      return NULL;
    low[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] - 'A' + 'a') : name[n];
  }
  low[n] = 0;
  const char *at = low + (low[0] == 'p');
  const bool is_inner = *at == 'o';
  at += is_inner;
  if (name[n] || memcmp(at, "mpi_", 4) != 0) return NULL;
  if (is_inner && n > 2 && strcmp(low + n - 2, "_f") == 0) low[n - 2] = 0;
  for (; !is_inner && n && low[n - 1] == '_'; n--) low[n - 1] = 0;
  for (int i = 0; i < om_fortran_count; i++)
    if (strcmp(at + 4, om_fortran[i].name) == 0) return &om_fortran[i];
  return NULL;
}
static void *find(const char *name) {
  const char *rest = name + (*name == 'P');
  void *its = strncmp(rest, "MPI_", 4) == 0 ? function_named(rest + 4) : NULL;
  if (its || (its = address_of(of_fortran(name))) != NULL) return its;
  if (strncmp(rest, "MPIX_", 5) == 0) {
    char own[64] = "X_";
    strncat(own, rest + 5, sizeof own - 3);
    return function_named(own);
  }
  for (int i = 0; i < om_row_count; i++)
    if (strcmp(name, om_rows[i].variable) == 0) return &om_variable[i];
  for (int i = 0; i < om_other_count; i++)
    if (strcmp(name, om_others[i].name) == 0) return address_of(&om_others[i]);
  for (int i = 0; i < om_cxx_count; i++)
    if (strcmp(name, om_cxx[i].name) == 0) return address_of(&om_cxx[i]);
  for (int i = 0; i < om_other_variable_count; i++)
    if (strcmp(name, om_others_variables[i].name) == 0) return om_others_variables[i].address;
  return NULL;
}
/* Names that must not be found elsewhere: the launcher has functions of these names with another ABI. */
static bool is_its(const char *name) {
  const char *rest = name + (*name == 'P');
  return strncmp(rest, "MPI_", 4) == 0 || strncmp(rest, "MPIX_", 5) == 0;
}
static void bound(size_t (*offset_of)(const char *name)) {
  place = (size_t *)calloc((size_t)om_row_count, sizeof *place);
  if (!place) guest_refuse("out of memory");
  gm_set.takes_aliases = gm_set.names_are_paths = 1;
  for (int i = 0; i < om_row_count; i++) {
    place[i] = offset_of(om_rows[i].variable);
    om_variable[i].handle = om_rows[i].handle;
    if (om_rows[i].kind == K_req) request_row = i;
    if (om_rows[i].kind == K_file) file_row = i;
  }
}
static void *row_address(int i) {
  const guest *g = guest_now();
  return g && place && place[i] ? guest_address(g, place[i]) : (char *)&om_variable[i];
}
void *om_null_request(void) { return row_address(request_row); }
void *om_predefined(int kind, int handle) {
  if (kind == K_file) return handle ? NULL : row_address(file_row);
  for (int i = 0; i < om_row_count; i++)
    if (om_rows[i].handle == handle && om_rows[i].kind == kind) return row_address(i);
  return NULL;
}
int om_of_number(int kind, int number) {
  for (int i = 0; number >= 0 && i < om_row_count; i++)
    if (om_rows[i].fortran == number && om_rows[i].kind == kind) return om_rows[i].handle;
  return number;
}
int om_number_of(int kind, int handle) {
  for (int i = 0; i < om_row_count; i++)
    if (om_rows[i].handle == handle && om_rows[i].kind == kind && om_rows[i].fortran >= 0)
      return om_rows[i].fortran;
  return handle;
}

static const guest_abi abi = {
    .library = "libmpi.so.", .least = 20, .find = find, .is_its = is_its, .bound = bound};
__attribute__((constructor)) static void add(void) {
  for (int i = 0; i < om_row_count; i++) om_variable[i].handle = om_rows[i].handle;
  guest_abi_add(&abi);
}
