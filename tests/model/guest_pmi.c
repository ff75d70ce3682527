/* PMI-1 whole, as a guest of pm_run uses it: spaces of keys, names, cliques, what is refused. */
#include "guest_must.h"
#include <pmi.h>
#include <string.h>

static int size;
static void spaces(void) {
  char space[128], other[128], key[64], value[64];
  int length, seen = 0;
  MUST(PMI_KVS_Get_my_name(space, 128) == PMI_SUCCESS && PMI_Get_id(other, 128) == PMI_SUCCESS && strcmp(space, other) == 0);
  MUST(PMI_Get_kvs_domain_id(other, 128) == PMI_SUCCESS && PMI_Get_id(other, 3) == PMI_ERR_INVALID_LENGTH);
  MUST(PMI_KVS_Get_key_length_max(&length) == PMI_SUCCESS && length >= 256 && PMI_KVS_Get_value_length_max(&length) == PMI_SUCCESS);
  snprintf(key, sizeof key, "key %d", rank);
  snprintf(value, sizeof value, "value=%d", rank);
  MUST(PMI_KVS_Put(space, key, "old") == PMI_SUCCESS && PMI_KVS_Put(space, key, value) == PMI_SUCCESS && PMI_KVS_Commit(space) == PMI_SUCCESS);
  PMI_Barrier();
  for (int i = 0; i < size; i++) {
    char wanted[64];
    snprintf(key, sizeof key, "key %d", i);
    snprintf(wanted, sizeof wanted, "value=%d", i);
    MUST(PMI_KVS_Get(space, key, value, sizeof value) == PMI_SUCCESS && strcmp(value, wanted) == 0);
  }
  MUST(PMI_KVS_Get(space, "none", value, sizeof value) != PMI_SUCCESS && PMI_KVS_Get(space, "key 0", value, 3) != PMI_SUCCESS);
  MUST(PMI_KVS_Create(other, 128) == PMI_SUCCESS && strcmp(space, other) != 0 && PMI_KVS_Get(other, "key 0", value, sizeof value) != PMI_SUCCESS);
  MUST(PMI_KVS_Put(other, "own", "1") == PMI_SUCCESS && PMI_KVS_Put(other, "more", "2") == PMI_SUCCESS);
  for (int code = PMI_KVS_Iter_first(other, key, sizeof key, value, sizeof value); code == PMI_SUCCESS && *key;
       code = PMI_KVS_Iter_next(other, key, sizeof key, value, sizeof value))
    seen += atoi(value);
  MUST(seen == 3 && PMI_KVS_Destroy(other) == PMI_SUCCESS && PMI_KVS_Get(other, "own", value, sizeof value) != PMI_SUCCESS);
  MUST(PMI_KVS_Put(space, NULL, "x") == PMI_ERR_INVALID_KEY && PMI_KVS_Put(space, "x", NULL) == PMI_ERR_INVALID_VAL);
}
static void names(void) {
  char port[1024];
  if (rank == 0) MUST(PMI_Publish_name("ocean", "port 7") == PMI_SUCCESS && PMI_Publish_name("ocean", "port 8") == PMI_FAIL);
  PMI_Barrier();
  MUST(PMI_Lookup_name("ocean", port) == PMI_SUCCESS && strcmp(port, "port 7") == 0 && PMI_Lookup_name("air", port) == PMI_FAIL);
  PMI_Barrier();
  if (rank == 0) MUST(PMI_Unpublish_name("ocean") == PMI_SUCCESS && PMI_Unpublish_name("ocean") == PMI_FAIL);
}
int main(void) {
  int spawned, n, ranks[8], code;
  MUST(PMI_Init(&spawned) == PMI_SUCCESS && spawned == PMI_FALSE && PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
  MUST(PMI_Get_universe_size(&n) == PMI_SUCCESS && n == size && PMI_Get_appnum(&n) == PMI_SUCCESS && n == 0 && PMI_Get_size(NULL) != PMI_SUCCESS);
  MUST(PMI_Get_clique_size(&n) == PMI_SUCCESS && n == (rank == 4 ? 1 : 2) && PMI_Get_clique_ranks(ranks, 0) != PMI_SUCCESS);
  MUST(PMI_Get_clique_ranks(ranks, 8) == PMI_SUCCESS && ranks[0] == rank / 2 * 2 && (n == 1 || ranks[1] == ranks[0] + 1));
  spaces();
  names();
  MUST(PMI_Spawn_multiple(1, NULL, NULL, NULL, NULL, NULL, 0, NULL, &code) == PMI_FAIL && code == PMI_FAIL);
  PMI_Barrier();
  const long t_ns = now_ns();
  PMI_Barrier(); /* of 5: 3 levels up and 3 down of 1000 + 2 x 100 ns */
  MUST(now_ns() - t_ns >= 7200 && now_ns() - t_ns < 7400);
  printf("PMI of %d is right\n", rank);
  return PMI_Finalize();
}
