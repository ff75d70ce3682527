/* An ordinary executable as a guest of pm_run: variables of every kind are its own, constructors, exit
   handlers and destructors run in their order inside of the process. */
#include <errno.h>
#include <getopt.h>
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, order;
static int counter = 5;
static __thread int local = 7, local_zero;
static const char *const names[] = {"even", "odd"};
static void first(void) __attribute__((constructor));
static void first(void) { counter++; }
static void say(const char *what) { printf("%d %s %d\n", rank, what, order++); }
static void early(void) { say("early handler"); }
static void with_status(int status, void *arg) {
  printf("%d status %d %s\n", rank, status, (const char *)arg);
  say("last handler");
}
static void last(void) __attribute__((destructor));
static void last(void) { say("destructor"); }

int main(int argc, char **argv) {
  int spawned, option, seen = 0;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  PMI_Get_size(&size);
  atexit(early);
  on_exit(with_status, (void *)(size_t)names[rank % 2]);
  argv[0][0] = (char)('a' + rank); /* a program may write there */
  while ((option = getopt(argc, argv, "ab:")) != -1) { /* all take turns */
    PMI_Barrier();
    seen = seen * 10 + (option == 'a' ? 1 : option == 'b' && optarg && strcmp(optarg, "x") == 0 ? 2 : 9);
    PMI_Barrier();
  }
  counter += rank;
  local += rank;
  local_zero -= rank;
  errno = 100 + rank;
  PMI_Barrier();
  if (counter != 6 + rank || local != 7 + rank || local_zero != -rank || errno != 100 + rank || argv[0][0] != 'a' + rank)
    return fprintf(stderr, "guest %d: %d %d %d %d\n", rank, counter, local, local_zero, errno), 9;
  printf("%d of %d %s options %d rest %s\n", rank, size, names[rank % 2], seen, argv[optind] ? argv[optind] : "-");
  PMI_Barrier();
  if (rank == 1) exit(3);
  return rank == 2 ? 4 : 0;
}
