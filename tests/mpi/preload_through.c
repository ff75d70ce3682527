/* Calls of MPI behind functions that pass them on, for NBC_THROUGH; one process. Of MPI_Barrier, 10 come from
   first_place and 20 from second_place, through passes_on; 5 from third_place through passes_on and outer. Of MPI_Comm_dup, 40
   come from fourth_place through swells_too, whose frame has another size each time, and 3 before through swells, which is like
   it, in a fibre whose stack ends where nothing is mapped. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <alloca.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PLACE __attribute__((noinline, noclone))
static volatile int done;

void passes_on(MPI_Comm comm); /* exported where it is linked so */
PLACE void passes_on(MPI_Comm comm) {
  MPI_Barrier(comm);
  done++;
}
static PLACE void outer(MPI_Comm comm) {
  passes_on(comm);
  done++;
}
static PLACE void first_place(void) {
  for (int i = 0; i < 10; i++) passes_on(MPI_COMM_SELF);
}
static PLACE void second_place(void) {
  for (int i = 0; i < 20; i++) passes_on(MPI_COMM_SELF);
}
static PLACE void third_place(void) {
  for (int i = 0; i < 5; i++) outer(MPI_COMM_SELF);
}

#define SWELLS(name) \
  static PLACE void name(size_t bytes) { \
    MPI_Comm comm; \
    volatile char *const room = memset(alloca(bytes), 1, bytes); \
    MPI_Comm_dup(MPI_COMM_SELF, &comm); \
    MPI_Comm_free(&comm); \
    done += room[0]; \
  }
SWELLS(swells)
SWELLS(swells_too)
static PLACE void fourth_place(void) {
  for (int i = 0; i < 40; i++) swells_too(i % 3 ? 20000 : 64);
}
/* The stack of a fibre has no more above its first function. */
static ucontext_t outside;
static void at_the_end_of_a_stack(void) {
  swells(60000);
  swells(64);
  swells(64);
  setcontext(&outside);
}

int main(int argc, char **argv) {
  const size_t size = 1 << 20, page = 65536;
  static ucontext_t fibre;
  volatile int times = 0;
  MPI_Init(&argc, &argv);
  first_place();
  second_place();
  third_place();
  char *const stack = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack + size, page, PROT_NONE) != 0) return 1;
  getcontext(&outside);
  if (times++ == 0) {
    getcontext(&fibre);
    fibre.uc_stack.ss_sp = stack;
    fibre.uc_stack.ss_size = size;
    makecontext(&fibre, at_the_end_of_a_stack, 0);
    setcontext(&fibre);
  }
  fourth_place();
  MPI_Finalize();
  printf("%d done\n", done);
  return 0;
}
