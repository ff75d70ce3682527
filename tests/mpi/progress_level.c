/* progress_level.c: which thread level the program is told. Argument: init, or the level that it asks for; sends:
   beside receives in flight, messages by MPI_Send; inactive: it leaves persistent requests that have ended.
   TEST_LOCALE=name: it has set this locale before. */
#include <locale.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each ends by another call. (MPICH's say of one from MPI_PROC_NULL that it is inactive.) */
static void leave_inactive(int from) {
  MPI_Request r[8];
  int in[8], index, flag, which, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 8; i++) {
    MPI_Recv_init(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]);
    MPI_Start(&r[i]);
    MPI_Send(&rank, 1, MPI_INT, from, i, MPI_COMM_WORLD);
  }
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Waitall(1, &r[1], MPI_STATUSES_IGNORE);
  MPI_Waitany(1, &r[2], &index, MPI_STATUS_IGNORE);
  MPI_Waitsome(1, &r[3], &index, &which, MPI_STATUSES_IGNORE);
  for (flag = 0; !flag;) MPI_Test(&r[4], &flag, MPI_STATUS_IGNORE);
  for (flag = 0; !flag;) MPI_Testall(1, &r[5], &flag, MPI_STATUSES_IGNORE);
  for (flag = 0; !flag;) MPI_Testany(1, &r[6], &index, &flag, MPI_STATUS_IGNORE);
  for (index = 0; !index;) MPI_Testsome(1, &r[7], &index, &which, MPI_STATUSES_IGNORE);
}

static void send_some(void) {
  int rank, size, in[11], out = 7;
  MPI_Request requests[11];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 11; i++)
    MPI_Irecv(&in[i], 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < 11; i++)
    MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
  MPI_Waitall(11, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) printf("sent and received\n");
}

int main(int argc, char **argv) {
  int provided = -1, told = -1, is_main = 0;
  const char *const locale = getenv("TEST_LOCALE");
  if (locale && !setlocale(LC_ALL, locale)) return printf("no locale %s\n", locale), 1;
  const int is_sender = argc > 1 && strcmp(argv[1], "sends") == 0;
  const int is_leaver = argc > 1 && strcmp(argv[1], "inactive") == 0;
  if (argc < 2 || is_sender || is_leaver || strcmp(argv[1], "init") == 0) MPI_Init(&argc, &argv);
  else MPI_Init_thread(&argc, &argv, atoi(argv[1]), &provided);
  MPI_Query_thread(&told);
  MPI_Is_thread_main(&is_main);
  printf("provided %d, told %d, main %d\n", provided, told, is_main);
  if (is_sender) send_some();
  if (is_leaver) leave_inactive(MPI_PROC_NULL), leave_inactive(0);
  MPI_Finalize();
  return 0;
}
