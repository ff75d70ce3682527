/* While a thread is in a call all the time, the main thread has its own calls: "waits": it sends and waits at once,
   so nothing is hidden; "computes": it computes between them, so that nearly all is hidden. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static char data[1 << 20];
static void *listen(void *unused) { /* until the end of the run */
  char end;
  usleep(100);
  MPI_Recv(&end, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}
int main(int argc, char **argv) {
  int level, me;
  pthread_t thread;
  MPI_Request r;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  const int computes = argc > 1 && strcmp(argv[1], "computes") == 0;
  if (me == 1) {
    usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(data, sizeof data, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
  } else {
    pthread_create(&thread, NULL, listen, NULL);
    if (!computes) usleep(200); /* the thread's call is there first; or it comes within this barrier */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(data, sizeof data, MPI_CHAR, 1, 4, MPI_COMM_WORLD, &r);
    if (computes) usleep(100000);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
  }
  MPI_Finalize();
  return 0;
}
