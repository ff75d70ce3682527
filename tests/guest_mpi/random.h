/* What the steps of the random MPI program share: chance, data, communicators, datatypes. */
#ifndef RANDOM_H
#define RANDOM_H
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { COMMS = 6, BYTES = 1 << 17, MEMBERS = 64 };
extern int me, n, step, shown;
#define SHOW(...) (void)(step == shown && fprintf(stderr, __VA_ARGS__))
unsigned draw(unsigned below); /* the same in all processes */
int between(int low, int high);
uint64_t mix(uint64_t x);
uint64_t datum(int rank, int k);
void fill(void *to, size_t bytes, int rank, int what);
void note(uint64_t value); /* of what this process got */
void note_bytes(const void *data, size_t bytes);
extern MPI_Comm comms[COMMS]; /* [0] is the world */
extern char is_inter[COMMS];  /* known to all, members or not */
extern int without_pairs; /* none of a number and its place: MPICH ends when they are packed for others */
/* Constants that are noted: the same in all ABIs */
static inline int plain_rank(int r) { return r == MPI_PROC_NULL ? -1 : r == MPI_ANY_SOURCE ? -2 : r; }
static inline int plain_tag(int t) { return t == MPI_ANY_TAG ? -1 : t; }
static inline int plain_same(int s) { return s == MPI_IDENT ? 0 : s == MPI_CONGRUENT ? 1 : s == MPI_SIMILAR ? 2 : s == MPI_UNEQUAL ? 3 : s; }
static inline int plain_topo(int t) { return t == MPI_GRAPH ? 1 : t == MPI_CART ? 2 : t == MPI_DIST_GRAPH ? 3 : t; }
MPI_Datatype draw_type(int depth);
/* random_more.c */
char *placed(char *block, MPI_Datatype t, int count); /* where so many begin in BYTES; NULL: no room */
int size_of(MPI_Datatype t);
int open_scratch(MPI_File *f); /* all together, gone when closed; ret MPI's */
void do_packing(void), do_groups(void), do_typed_collective(void), do_shape(void);
void do_typed_window(void), do_file(void), do_partitions(void), do_exchange(void);
/* random_wide.c */
void do_far_types(void), do_elements(void), do_own_types(void), do_graph(void), do_spread_file(void);
#endif
