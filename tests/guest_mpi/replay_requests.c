/* Random messages whose requests share handles: small sends that are complete at once, to others and to nobody, ended in
   every way; freed sends, cancelled receives, receives that a probe matched. Prints how many messages each rank sends
   and receives, and how many requests it freed. Argument: the seed. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 40, MESSAGES = 12, MOST = 4 * MESSAGES, BYTES = 200000, NEVER = 30000 };
static char out[BYTES], in[MESSAGES][BYTES];
static int rank, size, count, sends, receives, freed_ones;
static MPI_Request q[MOST];
static uint64_t common, own;
static int some(uint64_t *state, int n) { /* 0 ... n-1 */
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (int)((*state >> 33) % (uint64_t)n);
}
static void send_one(int to, int bytes, int tag) {
  const int how = some(&own, 8);
  sends++;
  if (how == 0) {
    MPI_Issend(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &q[count++]);
  } else if (how == 1) {
    MPI_Request freed;
    MPI_Isend(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &freed);
    MPI_Request_free(&freed);
    freed_ones++;
  } else {
    MPI_Isend(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &q[count++]);
  }
  if (how == 2) MPI_Isend(out, bytes, MPI_CHAR, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &q[count++]);
}
static void receive_matched(int tag, int bytes, char *to) {
  MPI_Message message;
  MPI_Status s;
  int found = 0;
  if (some(&own, 2)) {
    MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &s);
    MPI_Mrecv(to, bytes, MPI_CHAR, &message, &s);
    return;
  }
  while (!found) MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, &message, &s);
  MPI_Imrecv(to, bytes, MPI_CHAR, &message, &q[count++]);
}
static void end_all(void) {
  int left = count, which[MOST], flag, done, i;
  const int how = some(&own, 8);
  if (how == 0) MPI_Waitall(count, q, MPI_STATUSES_IGNORE);
  if (how == 1)
    for (flag = 0; !flag;) MPI_Testall(count, q, &flag, MPI_STATUSES_IGNORE);
  while (how > 1 && left > 0) {
    done = 0;
    if (how == 2 || how == 3) {
      i = some(&own, count);
      if (q[i] == MPI_REQUEST_NULL) continue;
      flag = 1;
      if (how == 2)
        MPI_Wait(&q[i], MPI_STATUS_IGNORE);
      else
        MPI_Test(&q[i], &flag, MPI_STATUS_IGNORE);
      done = flag;
    }
    if (how == 4) MPI_Waitany(count, q, &i, MPI_STATUS_IGNORE), done = 1;
    if (how == 5) MPI_Testany(count, q, &i, &flag, MPI_STATUS_IGNORE), done = flag;
    if (how == 6) MPI_Waitsome(count, q, &done, which, MPI_STATUSES_IGNORE);
    if (how == 7) MPI_Testsome(count, q, &done, which, MPI_STATUSES_IGNORE);
    left -= done;
  }
}
static void one_round(int first_tag) {
  int from[MESSAGES], to[MESSAGES], bytes[MESSAGES];
  MPI_Request never;
  count = 0;
  for (int i = 0; i < MESSAGES; i++) {
    from[i] = some(&common, size);
    to[i] = some(&common, size);
    bytes[i] = some(&common, 6) ? some(&common, 200) : some(&common, BYTES);
  }
  if (some(&own, 4) == 0) {
    MPI_Irecv(in[0], 1, MPI_CHAR, MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &never);
    MPI_Cancel(&never);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
    receives++;
  }
  for (int i = 0; i < MESSAGES; i++)
    if (to[i] == rank && i % 3) MPI_Irecv(in[i], bytes[i], MPI_CHAR, from[i], first_tag + i, MPI_COMM_WORLD, &q[count++]);
  for (int i = 0; i < MESSAGES; i++)
    if (from[i] == rank) send_one(to[i], bytes[i], first_tag + i);
  for (int i = 0; i < MESSAGES; i++) {
    if (to[i] == rank && i % 3 == 0) receive_matched(first_tag + i, bytes[i], in[i]);
    receives += to[i] == rank;
  }
  end_all();
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  common = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  own = common * 31 + (uint64_t)rank;
  for (int i = 0; i < ROUNDS; i++) one_round(i * MESSAGES);
  printf("rank %d: %d sends, %d receives, %d freed\n", rank, sends, receives, freed_ones);
  MPI_Finalize();
  return 0;
}
