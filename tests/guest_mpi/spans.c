/* While a thread is in a call all the time, another one has its own calls: "waits": it sends and waits at once, so
   nothing is hidden; "computes": it computes between them, so that nearly all is hidden. That other one is the main
   thread, or with a second word a thread of pthreads or of OpenMP, beside a main thread that calls nothing.
   "handed": the thread that sent has ended when the main thread waits, "taken": it lives on and computes.
   "collective": so with an allreduce of four, whose later messages begin while the main thread waits. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static char data[1 << 20];
static int computes, ends;
static MPI_Request r;
static void *listen(void *unused) { /* until the end of the run */
  char end;
  usleep(100);
  MPI_Recv(&end, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}
static void begin(void) {
  if (!computes) usleep(200); /* the thread's call is there first; or it comes within this barrier */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(data, sizeof data, MPI_CHAR, 1, 4, MPI_COMM_WORLD, &r);
}
static void *send_all(void *unused) {
  begin();
  if (computes) usleep(100000);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  return unused;
}
static void *send_first(void *unused) {
  begin();
  if (!ends) usleep(200000);
  return unused;
}
static void with_openmp(void) {
#pragma omp parallel num_threads(2)
  {
    int me = 0;
#ifdef _OPENMP
    int omp_get_thread_num(void);
    me = omp_get_thread_num();
#endif
    if (me) send_all(NULL);
  }
}
static void *sum_first(void *unused) {
  MPI_Iallreduce(MPI_IN_PLACE, data, sizeof data / sizeof(int), MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  usleep(200000);
  return unused;
}
static void collective(int me) {
  pthread_t starter;
  if (me == 0) pthread_create(&starter, NULL, sum_first, NULL), usleep(1000);
  else MPI_Iallreduce(MPI_IN_PLACE, data, sizeof data / sizeof(int), MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  if (me == 0) pthread_join(starter, NULL);
  MPI_Finalize();
}
int main(int argc, char **argv) {
  int level, me;
  pthread_t thread, sender;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  const char *what = argc > 1 ? argv[1] : "waits", *who = argc > 2 ? argv[2] : "main";
  if (strcmp(what, "collective") == 0) return collective(me), 0;
  ends = strcmp(what, "handed") == 0;
  computes = strcmp(what, "waits") != 0;
  if (me == 1) {
    usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(data, sizeof data, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
  }
  pthread_create(&thread, NULL, listen, NULL);
  if (ends || strcmp(what, "taken") == 0) {
    pthread_create(&sender, NULL, send_first, NULL);
    if (ends) pthread_join(sender, NULL);
    usleep(100000);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (!ends) pthread_join(sender, NULL);
  } else if (strcmp(who, "thread") == 0) {
    pthread_create(&sender, NULL, send_all, NULL);
    pthread_join(sender, NULL);
  } else if (strcmp(who, "openmp") == 0)
    with_openmp();
  else
    send_all(NULL);
  pthread_join(thread, NULL);
  MPI_Finalize();
  return 0;
}
