/* What the programs of standard_constants.awk do with a constant. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static inline void error(const char *name, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = -1, class = -1;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("%s: class %d, %d letters: %s\n", name, class == code, length, text);
}
static inline void type(const char *name, MPI_Datatype t) {
  char text[MPI_MAX_OBJECT_NAME] = "";
  int length, size = MPI_UNDEFINED, n[3], combiner = -1;
  MPI_Aint lb = 0, extent = 0;
  if (t == MPI_DATATYPE_NULL || MPI_Type_size(t, &size) || size == MPI_UNDEFINED) {
    printf("%s: none\n", name);
    return;
  }
  MPI_Type_get_name(t, text, &length);
  MPI_Type_get_extent(t, &lb, &extent);
  MPI_Type_get_envelope(t, &n[0], &n[1], &n[2], &combiner);
  printf("%s: %s, %d bytes at %ld of %ld, named %d\n", name, text, size, (long)lb, (long)extent, combiner == MPI_COMBINER_NAMED);
}
static inline void op(const char *name, MPI_Op o) {
  int commutes = -1, a[2] = {6, 1}, b[2] = {3, 5};
  if (o == MPI_OP_NULL || o == MPI_REPLACE || o == MPI_NO_OP) return;
  MPI_Op_commutative(o, &commutes);
  if (o == MPI_MAXLOC || o == MPI_MINLOC)
    MPI_Reduce_local(a, b, 1, MPI_2INT, o);
  else
    MPI_Reduce_local(a, b, 2, MPI_INT, o);
  printf("%s: commutes %d, %d %d\n", name, commutes, b[0], b[1]);
}
static inline void comm(const char *name, MPI_Comm c) {
  int size = -1, code = 0;
  const int error = MPI_Comm_size(c, &size);
  MPI_Error_class(error, &code);
  printf("%s: %d processes, %s\n", name, size, code == MPI_ERR_COMM ? "none" : code ? "wrong" : "there");
}
static inline void key(const char *name, int k) {
  int *value = NULL, flag = 0;
  if (k == MPI_KEYVAL_INVALID || strncmp(name, "WIN_", 4) == 0) return;
  MPI_Comm_get_attr(MPI_COMM_WORLD, k, &value, &flag);
  printf("%s: %d, %s", name, flag, !flag ? "" : *value == MPI_PROC_NULL ? "nobody" : *value == MPI_ANY_SOURCE ? "anybody" : *value == MPI_ERR_LASTCODE ? "the last code" : "a number");
  if (flag && *value > 0 && *value != MPI_ERR_LASTCODE) printf(" %d", *value);
  printf("\n");
}
