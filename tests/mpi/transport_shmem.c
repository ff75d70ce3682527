/* The OpenSHMEM transport keeps the contract: every message whole, once, in order, 64-bit tags, short
   receives never overrun. Runs under oshrun, any number of processing elements. */
#define NBC_WITH_SHMEM
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include "tests/mpi/transport_contract.h"

static nbc_transport *open_transport(uint64_t piece_bytes) {
  nbc_shmem_desc desc = {0};
  nbc_transport *t = NULL;
  nbc_error err = {0};
  desc.fragment_bytes = piece_bytes;
  if (nbc_shmem_create(&desc, &t, &err)) {
    printf("element %d: %s\n", rank, err.text);
    shmem_global_exit(3);
  }
  return t;
}
static void close_transport(nbc_transport *t) { nbc_shmem_destroy(t); }

static void random_traffic(void) {
  for (int i = 0; i < 3; i++) {
    nbc_transport *t = open_transport(i == 2 ? 777 : 0);
    CHECK(traffic(t, 4711 + (uint64_t)i * 1000) == 0);
    close_transport(t);
  }
}

static void bad_arguments_are_refused(void) {
  nbc_transport *t;
  nbc_error err = {0};
  nbc_shmem_desc desc = {0};
  nbc_op op = {0};
  char c = 0;
  CHECK(nbc_shmem_create(NULL, NULL, NULL) == NBC_E_INVAL);
  desc.fragment_bytes = (uint64_t)1 << 29; /* no symmetric heap is as large as the rings then were */
  CHECK(nbc_shmem_create(&desc, &t, &err) == NBC_E_NOMEM && !t && strstr(err.text, "symmetric heap"));
  desc.fragment_bytes = (uint64_t)1 << 40;
  CHECK(nbc_shmem_create(&desc, &t, &err) == NBC_E_INVAL && !t);
  t = open_transport(0);
  CHECK(t->rank == rank && t->size == size && !t->any_thread && t->peer_class(t->ctx, rank) == NBC_PEER_SAME_NODE);
  CHECK(nbc_isend(t, &c, 1, size, 1, &op) == NBC_E_PEER && nbc_irecv(t, NULL, 1, 0, 1, &op) == NBC_E_INVAL);
  close_transport(t);
  close_transport(NULL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  shmem_init();
  rank = shmem_my_pe();
  size = shmem_n_pes();
  RUN(every_size_arrives_whole);
  RUN(all_64_bits_of_a_tag_count);
  RUN(same_tag_matches_in_posting_order);
  RUN(short_receive_is_truncated_not_overrun);
  RUN(any_peer_names_the_sender);
  RUN(only_unmatched_receives_cancel);
  RUN(both_ranks_measure_the_same_table);
  RUN(random_traffic);
  RUN(bad_arguments_are_refused);
  shmem_finalize();
  return TEST_END();
}
