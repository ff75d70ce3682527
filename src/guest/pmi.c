/* PMI: all processes share one space of keys. */
#include "guest.h"
#include "pmi.h"
#include <stdlib.h>
#include <string.h>

enum { PMI_TEXT = 256 };
static struct pair { char key[PMI_TEXT], value[PMI_TEXT]; } * pairs;
static int pairs_count, pairs_max;

int PMI_Init(int *spawned) {
  *spawned = 0;
  return pm_self() ? PMI_SUCCESS : PMI_FAIL;
}
int PMI_Initialized(int *initialized) {
  *initialized = pm_self() != NULL;
  return PMI_SUCCESS;
}
int PMI_Finalize(void) { return PMI_SUCCESS; }
int PMI_Get_size(int *size) {
  *size = pm_size();
  return PMI_SUCCESS;
}
int PMI_Get_rank(int *rank) {
  *rank = pm_rank();
  return PMI_SUCCESS;
}
int PMI_Get_universe_size(int *size) { return PMI_Get_size(size); }
int PMI_Get_appnum(int *number) {
  *number = 0;
  return PMI_SUCCESS;
}
int PMI_Get_clique_size(int *size) {
  const int node = pm_process_node(pm_self());
  *size = 0;
  for (int i = 0; i < pm_size(); i++)
    *size += pm_process_node(pm_process_at(pm_world_of(pm_self()), i)) == node;
  return PMI_SUCCESS;
}
int PMI_Get_clique_ranks(int *ranks, int length) {
  const int node = pm_process_node(pm_self());
  int n = 0;
  for (int i = 0; i < pm_size(); i++)
    if (pm_process_node(pm_process_at(pm_world_of(pm_self()), i)) == node) {
      if (n >= length) return PMI_FAIL;
      ranks[n++] = i;
    }
  return PMI_SUCCESS;
}
int PMI_Abort(int status, const char *text) {
  char message[512];
  if (!pm_self()) return PMI_FAIL;
  snprintf(message, sizeof message, "process %d called PMI_Abort(%d) at %.3f us: %s", pm_rank(),
           status, (double)pm_now_ns() / 1e3, text ? text : "");
  guest_abort(status, message);
}
int PMI_Barrier(void) {
  pm_barrier();
  return PMI_SUCCESS;
}
int PMI_KVS_Get_my_name(char *name, int length) {
  snprintf(name, (size_t)length, "pm_run");
  return PMI_SUCCESS;
}
int PMI_KVS_Get_name_length_max(int *length) {
  *length = PMI_TEXT;
  return PMI_SUCCESS;
}
int PMI_KVS_Get_key_length_max(int *length) {
  *length = PMI_TEXT;
  return PMI_SUCCESS;
}
int PMI_KVS_Get_value_length_max(int *length) {
  *length = PMI_TEXT;
  return PMI_SUCCESS;
}
int PMI_KVS_Commit(const char *name) {
  (void)name;
  return PMI_SUCCESS;
}
int PMI_KVS_Put(const char *name, const char *key, const char *value) {
  (void)name;
  if (strlen(key) >= PMI_TEXT || strlen(value) >= PMI_TEXT) return PMI_FAIL;
  if (pairs_count == pairs_max) {
    struct pair *more =
        (struct pair *)realloc(pairs, sizeof *pairs * (size_t)(pairs_max ? pairs_max * 2 : 64));
    if (!more) return PMI_FAIL;
    pairs = more;
    pairs_max = pairs_max ? pairs_max * 2 : 64;
  }
  strcpy(pairs[pairs_count].key, key);
  strcpy(pairs[pairs_count++].value, value);
  return PMI_SUCCESS;
}
int PMI_KVS_Get(const char *name, const char *key, char *value, int length) {
  (void)name;
  for (int i = pairs_count - 1; i >= 0; i--)
    if (strcmp(pairs[i].key, key) == 0)
      return snprintf(value, (size_t)length, "%s", pairs[i].value) < length ? PMI_SUCCESS
                                                                            : PMI_FAIL;
  return PMI_FAIL;
}
