/* What Open MPI's libraries of Fortran (libmpi_mpifh.so) and C++ (libmpi_cxx.so) ask of libmpi.so beside MPI: a few
   functions of texts, and variables that say that all is well. */
#include "ompi.h"
#include <stdbool.h>

/* Attribute functions that programs name: MPI_COMM_DUP_FN and so on. */
static int null_copy(void *object, int key, void *extra, void *in, void *out, int *flag) {
  (void)object, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  return 0;
}
static int dup_copy(void *object, int key, void *extra, void *in, void *out, int *flag) {
  (void)object, (void)key, (void)extra;
  memcpy(out, &in, sizeof in);
  *flag = 1;
  return 0;
}
static int null_delete(void *object, int key, void *value, void *extra) {
  (void)object, (void)key, (void)value, (void)extra;
  return 0;
}
/* Texts of Fortran: as long as said, blanks behind. ret as there, 0: done */
static int text_in(const char *from, int bytes, char **to) {
  while (bytes > 0 && from[bytes - 1] == ' ') bytes--;
  *to = (char *)malloc((size_t)bytes + 1);
  if (!*to) return om_error(MPI_ERR_NO_MEM);
  memcpy(*to, from, (size_t)bytes);
  (*to)[bytes] = 0;
  return 0;
}
static int text_out(const char *from, char *to, int bytes) {
  const size_t have = strlen(from), room = bytes > 0 ? (size_t)bytes : 0;
  memset(to, ' ', room);
  memcpy(to, from, have < room ? have : room);
  return 0;
}
/* Arguments of programs to be spawned, which is refused. */
static int no_arguments(char *from, int bytes, int step, char ***argv) {
  (void)from, (void)bytes, (void)step;
  *argv = NULL;
  return 0;
}
static int no_counted_arguments(char *from, int count, int bytes, int step, char ***argv) {
  (void)count;
  return no_arguments(from, bytes, step, argv);
}
static void nothing_to_free(char **argv) { (void)argv; }
/* Called by functions of Fortran's library in whose place ours stand, and by that for data representations. */
__attribute__((noreturn)) static void inside(void) {
  guest_abort(
      100,
      "a function of Open MPI's own was called by its Fortran library (MPI_REGISTER_DATAREP?), "
      "which is missing here");
}
/* The library has found an error in what it was given. */
static int invoke(void *handler, void *object, int type, int code, const char *message) {
  (void)handler, (void)object, (void)type;
  PMPI_Comm_call_errhandler(MPI_COMM_WORLD, om_code_in(code));
  (void)message;
  return code;
}
#define ADDRESS(f) (void (*)(void))(f)
#define COPIES(kind)                                                                               \
  {"OMPI_C_MPI_" kind "NULL_COPY_FN", ADDRESS(null_copy)},                                         \
      {"OMPI_C_MPI_" kind "DUP_FN", ADDRESS(dup_copy)}, {                                          \
    "OMPI_C_MPI_" kind "NULL_DELETE_FN", ADDRESS(null_delete)                                      \
  }
const gm_function om_others[] = {COPIES(""),
                                 COPIES("COMM_"),
                                 COPIES("TYPE_"),
                                 COPIES("WIN_"),
                                 {"ompi_fortran_string_f2c", ADDRESS(text_in)},
                                 {"ompi_fortran_string_c2f", ADDRESS(text_out)},
                                 {"ompi_fortran_argv_blank_f2c", ADDRESS(no_arguments)},
                                 {"ompi_fortran_argv_count_f2c", ADDRESS(no_counted_arguments)},
                                 {"ompi_fortran_multiple_argvs_f2c", ADDRESS(no_counted_arguments)},
                                 {"opal_argv_free", ADDRESS(nothing_to_free)},
                                 {"opal_class_initialize", inside},
                                 {"ompi_attr_create_keyval_aint", inside},
                                 {"ompi_attr_create_keyval_fint", inside},
                                 {"ompi_attr_get_aint", inside},
                                 {"ompi_attr_get_fint", inside},
                                 {"ompi_attr_set_aint", inside},
                                 {"ompi_attr_set_fint", inside},
                                 {"ompi_datatype_match_size", inside},
                                 {"ompi_errhandler_create", inside},
                                 {"ompi_errhandler_invoke", ADDRESS(invoke)}};
const int om_other_count = sizeof om_others / sizeof *om_others;

/* In the state between MPI_Init and MPI_Finalize (2), no checks of arguments there, no codes of errors to be
   translated. Never written. */
static int state = 2, none, one = 1;
static char nothing[512];
static om_status empty = {OM_ANY_SOURCE, -1, 0, 0, 0};
#define SENTINEL(name)                                                                             \
  { "mpi_fortran_" name "_", sentinels[__COUNTER__ % 16] }
static double sentinels[16][1];
const om_named om_others_variables[] = {{"ompi_mpi_state", &state},
                                        {"ompi_mpi_param_check", &none},
                                        {"ompi_errcode_intern_lastused", &none},
                                        {"ompi_errcodes_intern", nothing},
                                        {"ompi_registered_datareps", nothing},
                                        {"ompi_status_empty", &empty},
                                        {"ompi_mpi_errors_are_fatal_comm_handler", nothing},
                                        {"opal_class_init_epoch", &one},
                                        {"opal_list_item_t_class", nothing},
                                        {"opal_uses_threads", &none},
                                        {"mpi_conversion_fn_null_", nothing},
                                        SENTINEL("argv_null"),
                                        SENTINEL("argvs_null"),
                                        SENTINEL("bottom"),
                                        SENTINEL("errcodes_ignore"),
                                        SENTINEL("in_place"),
                                        SENTINEL("status_ignore"),
                                        SENTINEL("statuses_ignore"),
                                        SENTINEL("unweighted"),
                                        SENTINEL("weights_empty")};
const int om_other_variable_count = sizeof om_others_variables / sizeof *om_others_variables;
