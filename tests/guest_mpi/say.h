/* Of the MPI test set: what every process says is printed by process 0, in order, so that two runs can
   be compared line by line. */
#ifndef SAY_H
#define SAY_H
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(OMPI_MAJOR_VERSION)
#define HAS_SESSIONS  (OMPI_MAJOR_VERSION >= 5)
#define HAS_SURVIVORS (OMPI_MAJOR_VERSION >= 5)
#else
#define HAS_SESSIONS (MPI_VERSION >= 4)
#ifdef MPICH_NAME
#define HAS_SURVIVORS 1
#else
#define HAS_SURVIVORS 0
#endif
#endif
extern int me, n; /* rank and size of MPI_COMM_WORLD */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_error(const char *what, int code); /* its class, as text */
void say_ints(const char *what, const int *v, int count);
void say_status(const char *what, const MPI_Status *s, MPI_Datatype type);
void flush_said(void); /* collective over MPI_COMM_WORLD */
uint64_t hash_of(const void *data, size_t bytes);
void test_messages(void), test_requests(void), test_types(void), test_collectives(void),
    test_more_collectives(void);
void test_communicators(void), test_topologies(void), test_windows(void), test_files(void),
    test_environment(void);
void test_more_files(void), test_more_neighbours(void), test_old_names(void),
    test_status_forms(void), test_more_windows(void);
void handler_of_a_session(void);
void test_sessions(void), test_survivors(void), test_tools(void), test_repaired(void);
void test_every(void), test_every_persistent(void), test_refused(void), test_every_tool(void), test_nulls(void), test_later(void);
void test_large(void), test_nonblocking(void), test_persistent(void);
#endif
