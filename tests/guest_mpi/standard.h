/* Included before every file of the test set when it is made for the standard ABI: what that ABI has not (names that MPI-3
   removed, Fortran's statuses), by what it has. */
#ifndef STANDARD_H
#define STANDARD_H
#include <mpi.h>
#include <string.h>
typedef int MPI_Fint;
typedef MPI_Status MPI_F08_status;
#define MPI_F_STATUS_SIZE       8
#define MPI_Status_c2f(c, f)    memcpy(f, c, sizeof(MPI_Status))
#define MPI_Status_f2c(f, c)    memcpy(c, f, sizeof(MPI_Status))
#define MPI_Status_c2f08(c, f)  memcpy(f, c, sizeof(MPI_Status))
#define MPI_Status_f082c(f, c)  memcpy(c, f, sizeof(MPI_Status))
#define MPI_Status_f2f08(f, f8) memcpy(f8, f, sizeof(MPI_Status))
#define MPI_Status_f082f(f8, f) memcpy(f, f8, sizeof(MPI_Status))
#define MPI_Comm_c2f            MPI_Comm_toint
#define MPI_Comm_f2c            MPI_Comm_fromint
#define MPI_File_c2f            MPI_File_toint
#define MPI_File_f2c            MPI_File_fromint
#define MPI_Address             MPI_Get_address
#define MPI_Errhandler_create   MPI_Comm_create_errhandler
#define MPI_Errhandler_get      MPI_Comm_get_errhandler
#define MPI_Errhandler_set      MPI_Comm_set_errhandler
#define MPI_Type_hindexed       MPI_Type_create_hindexed
#define MPI_Type_hvector        MPI_Type_create_hvector
#define MPI_Type_struct         MPI_Type_create_struct
static inline int MPI_Type_lb(MPI_Datatype t, MPI_Aint *lb) {
  MPI_Aint extent;
  return MPI_Type_get_extent(t, lb, &extent);
}
static inline int MPI_Type_extent(MPI_Datatype t, MPI_Aint *extent) {
  MPI_Aint lb;
  return MPI_Type_get_extent(t, &lb, extent);
}
static inline int MPI_Type_ub(MPI_Datatype t, MPI_Aint *ub) {
  MPI_Aint lb, extent;
  const int error = MPI_Type_get_extent(t, &lb, ub ? &extent : ub);
  if (!error) *ub = lb + extent;
  return error;
}
#endif
