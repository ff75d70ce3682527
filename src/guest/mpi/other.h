/* What the tables of other ABIs have in common (../ompi, ../standard): a table turns handles, numbers and statuses
   of its programs into those of MPICH, calls the function of this folder, and turns the results back. */
#ifndef GM_OTHER_H
#define GM_OTHER_H
#include "later.h"

/* What a handle is of: as in bits 26 to 29 of MPICH's handles. */
enum gm_handle_kind {
  K_comm = 1,
  K_group,
  K_type,
  K_file,
  K_errh,
  K_op,
  K_info,
  K_win,
  K_req = 11,
  K_msg = 12,
  K_session = 14
};
typedef struct gm_function {
  const char *name; /* without MPI_ and PMPI_; sorted */
  void (*address)(void);
} gm_function;
/* What NAME means in a table of so many rows; NULL: nothing */
void *gm_function_named(const gm_function *rows, int count, const char *name);

/* ---- arrays --------------------------------------------------------------------------------------------- */
enum { GM_FEW = 24 };                   /* elements that need no memory of their own */
MPI_Status *gm_statuses(MPI_Status *s); /* NULL: ignored */
void *gm_array(void *few, int count, size_t each);
int gm_blocks_of(MPI_Comm comm);              /* processes that an all-to-all has blocks for */
int gm_degree_of(MPI_Comm comm, bool is_out); /* neighbours */
static inline void gm_array_end(void *room, void *few) {
  if (room != few) free(room);
}
/* MPI_ERROR is written by few calls: untouched unless one of them did. */
enum { GM_NOT_WRITTEN = -0x5A5A5A5A };

/* ---- of the functions of this folder ---------------------------------------------------------------------- */
extern void MPII_Op_set_cxx(MPI_Op op, void (*through)(void));
extern void MPII_Errhandler_set_cxx(MPI_Errhandler h, void (*through)(void));
extern int MPII_Keyval_set_proxy(int keyval,
                                 int (*copy)(void *, int, int, void *, int, void *, void **, int *),
                                 int (*remove)(void *, int, int, int, void *, void *));
#endif
