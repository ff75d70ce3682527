/* What src/guest/ompi says of Open MPI, held against its mpi.h by who compiles this file. */
#include <mpi.h>
#include <stddef.h>
#include "src/guest/ompi/constants.h"
#define SAME(name) _Static_assert((int)MPI_##name == (int)OM_##name, #name);
SAME(ANY_SOURCE)
SAME(PROC_NULL)
SAME(ROOT)
SAME(UNDEFINED)
SAME(KEYVAL_INVALID)
SAME(LOCK_EXCLUSIVE)
SAME(LOCK_SHARED)
SAME(MODE_NOCHECK)
SAME(MODE_NOPRECEDE)
SAME(MODE_NOPUT)
SAME(MODE_NOSTORE)
SAME(MODE_NOSUCCEED)
SAME(ORDER_C)
SAME(ORDER_FORTRAN)
SAME(DISTRIBUTE_BLOCK)
SAME(DISTRIBUTE_CYCLIC)
SAME(DISTRIBUTE_NONE)
SAME(DISTRIBUTE_DFLT_DARG)
SAME(COMBINER_NAMED)
SAME(COMBINER_HINDEXED_BLOCK)
SAME(CART)
SAME(GRAPH)
SAME(DIST_GRAPH)
SAME(COMM_TYPE_SHARED)
SAME(TYPECLASS_INTEGER)
SAME(TYPECLASS_REAL)
SAME(TYPECLASS_COMPLEX)
SAME(WIN_UNIFIED)
SAME(WIN_SEPARATE)
SAME(MAX_OBJECT_NAME)
SAME(MAX_ERROR_STRING)
SAME(MAX_LIBRARY_VERSION_STRING)
SAME(MAX_INFO_KEY)
SAME(TAG_UB)
SAME(HOST)
SAME(IO)
SAME(WTIME_IS_GLOBAL)
SAME(APPNUM)
SAME(LASTUSEDCODE)
SAME(UNIVERSE_SIZE)
SAME(WIN_BASE)
SAME(WIN_SIZE)
SAME(WIN_DISP_UNIT)
SAME(WIN_CREATE_FLAVOR)
SAME(WIN_MODEL)
#define CLASS(name) MPI_##name
#if OMPI_MAJOR_VERSION >= 5
static const int classes[] = {OM_ERRORS(CLASS), OM_ERRORS_5(CLASS)}; /* by their places */
enum { CLASSES = 80 };
#else
static const int classes[] = {OM_ERRORS(CLASS)};
enum { CLASSES = 74 };
#endif
/* the same in both, so src/guest/ompi passes them on: as MPICH has them */
_Static_assert(MPI_ANY_TAG == -1 && MPI_IDENT == 0 && MPI_UNEQUAL == 3 &&
                   MPI_THREAD_MULTIPLE == 3 && MPI_MODE_CREATE == 1 && MPI_MODE_APPEND == 128 &&
                   MPI_MODE_SEQUENTIAL == 256 && MPI_SEEK_SET == 600 && MPI_SEEK_END == 604 &&
                   MPI_WIN_FLAVOR_CREATE == 1 && MPI_WIN_FLAVOR_SHARED == 4 &&
                   MPI_DISPLACEMENT_CURRENT == -54278278,
               "the same in both");
int main(void) {
  for (int i = 0; i < (int)(sizeof classes / sizeof *classes); i++)
    if (classes[i] != i) return 1;
  return MPI_IN_PLACE != OM_IN_PLACE || MPI_UNWEIGHTED != OM_UNWEIGHTED || MPI_WEIGHTS_EMPTY != OM_WEIGHTS_EMPTY ||
         MPI_BOTTOM != NULL || MPI_STATUS_IGNORE != NULL || sizeof(MPI_Status) != 24 || sizeof classes / sizeof *classes != CLASSES;
}
