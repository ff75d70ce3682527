/* A library to be loaded after the preload: MPI_Comm_free and MPI_Mrecv come back only 2 ms after they did their work. What
   another thread does meanwhile with the handle that is free again is what the test is about. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>
#include <time.h>

int PMPI_Comm_free(MPI_Comm *comm) {
  const struct timespec nap = {0, 2000000};
  int (*next)(MPI_Comm *);
  void *const found = dlsym(RTLD_NEXT, "PMPI_Comm_free");
  memcpy(&next, &found, sizeof next);
  const int rc = next(comm);
  nanosleep(&nap, NULL);
  return rc;
}
int PMPI_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  const struct timespec nap = {0, 2000000};
  int (*next)(void *, int, MPI_Datatype, MPI_Message *, MPI_Status *);
  void *const found = dlsym(RTLD_NEXT, "PMPI_Mrecv");
  memcpy(&next, &found, sizeof next);
  const int rc = next(buf, count, type, message, status);
  nanosleep(&nap, NULL);
  return rc;
}
