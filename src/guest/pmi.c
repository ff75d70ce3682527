/* PMI-1: how processes of a job find each other. Pairs of key and value are seen by all at once; a
   barrier takes the time of a tree of small messages, up and down: 2 ceil(log2 P) (L + 2 o) of the
   platform's LogGP numbers. */
#include "guest.h"
#include "pmi.h"
#include <stdlib.h>
#include <string.h>

enum { PMI_TEXT = 1024, BUCKETS = 4096 };
static const char own_name[] = "pm_run";
static const char services[] = "\n"; /* a space that no program names: PMI_Publish_name */
typedef struct pair {
  struct pair *next_in_bucket, *next;
  char *space, *key, *value;
} pair;
static pair *buckets[BUCKETS], *first_pair, **last_pair = &first_pair;

static pair **bucket_of(const char *space, const char *key) {
  uint32_t hash = 5381;
  for (; *space; space++) hash = hash * 33 + (unsigned char)*space;
  for (; *key; key++) hash = hash * 33 + (unsigned char)*key;
  return &buckets[(hash ^ hash >> 15) % BUCKETS];
}
static pair *find(const char *space, const char *key) {
  pair *p = *bucket_of(space, key);
  while (p && (!p->value || strcmp(p->key, key) != 0 || strcmp(p->space, space) != 0))
    p = p->next_in_bucket;
  return p;
}
static int put(const char *space, const char *key, const char *value) {
  pair *p = find(space, key), **at = bucket_of(space, key);
  char *copy = strdup(value);
  if (p && copy) return free(p->value), p->value = copy, PMI_SUCCESS;
  if (copy && (p = (pair *)calloc(1, sizeof *p)) != NULL && (p->key = strdup(key)) != NULL &&
      (p->space = strdup(space)) != NULL) {
    p->value = copy;
    p->next_in_bucket = *at;
    *at = *last_pair = p;
    last_pair = &p->next;
    return PMI_SUCCESS;
  }
  if (p) free(p->key), free(p);
  free(copy);
  return PMI_ERR_NOMEM;
}
static int give(const char *text, char *to, int length, int too_short) {
  if (!to) return PMI_ERR_INVALID_ARG;
  return length > 0 && snprintf(to, (size_t)length, "%s", text) < length ? PMI_SUCCESS : too_short;
}
/* As before there were several spaces, "" is the first. */
static const char *space_named(const char *name) { return !name || !*name ? own_name : name; }

static int number(int *to, int value) {
  if (!to) return PMI_ERR_INVALID_ARG;
  *to = value;
  return PMI_SUCCESS;
}
int PMI_Init(PMI_BOOL *spawned) { return pm_self() ? number(spawned, PMI_FALSE) : PMI_FAIL; }
int PMI_Initialized(PMI_BOOL *initialized) { return number(initialized, pm_self() != NULL); }
int PMI_Finalize(void) { return PMI_SUCCESS; }
int PMI_Get_size(int *size) { return number(size, pm_size()); }
int PMI_Get_rank(int *rank) { return number(rank, pm_rank()); }
int PMI_Get_universe_size(int *size) { return PMI_Get_size(size); }
int PMI_Get_appnum(int *appnum) { return number(appnum, 0); }
/* Ranks of a node follow each other. */
static int first_here(void) { return pm_rank() / guest_per_node() * guest_per_node(); }
static int count_here(void) {
  const int left = pm_size() - first_here();
  return left < guest_per_node() ? left : guest_per_node();
}
int PMI_Get_clique_size(int *size) { return number(size, count_here()); }
int PMI_Get_clique_ranks(int *ranks, int length) {
  if (!ranks) return PMI_ERR_INVALID_ARG;
  if (length < count_here()) return PMI_ERR_INVALID_LENGTH;
  for (int i = 0; i < count_here(); i++) ranks[i] = first_here() + i;
  return PMI_SUCCESS;
}
/* does: "called MPI_Abort(...)"; comes back outside of a process only. */
void guest_abort_by(int status, const char *does, const char *text) {
  char message[512];
  if (!pm_self()) return;
  snprintf(message, sizeof message, "process %d %s at %.3f us%s%s", pm_rank(), does,
           (double)pm_now_ns() / 1e3, *text ? ": " : "", text);
  guest_abort(status, message);
}
int PMI_Abort(int status, const char *text) {
  char does[64];
  snprintf(does, sizeof does, "called PMI_Abort(%d)", status);
  guest_abort_by(status, does, text ? text : "");
  return PMI_FAIL;
}
int PMI_Barrier(void) {
  const pm_platform *p = guest_platform();
  int levels = 0;
  while (1 << levels < pm_size()) levels++;
  pm_barrier();
  pm_sleep_ns(2 * levels * (p->loggp_latency_ns + 2 * p->loggp_overhead_ns));
  return PMI_SUCCESS;
}
int PMI_Get_id(char *id, int length) { return give(own_name, id, length, PMI_ERR_INVALID_LENGTH); }
int PMI_Get_id_length_max(int *length) { return PMI_KVS_Get_name_length_max(length); }
int PMI_Get_kvs_domain_id(char *id, int length) { return PMI_Get_id(id, length); }
int PMI_KVS_Get_my_name(char *name, int length) { return PMI_Get_id(name, length); }
int PMI_KVS_Get_name_length_max(int *length) { return number(length, PMI_TEXT); }
int PMI_KVS_Get_key_length_max(int *length) { return PMI_KVS_Get_name_length_max(length); }
int PMI_KVS_Get_value_length_max(int *length) { return PMI_KVS_Get_name_length_max(length); }
int PMI_KVS_Create(char *name, int length) {
  static int count;
  char text[64];
  snprintf(text, sizeof text, "%s_%d", own_name, ++count);
  return give(text, name, length, PMI_ERR_INVALID_LENGTH);
}
int PMI_KVS_Destroy(const char *name) {
  if (!name || strcmp(space_named(name), own_name) == 0) return PMI_ERR_INVALID_ARG;
  for (pair *p = first_pair; p; p = p->next)
    if (p->value && strcmp(p->space, name) == 0) free(p->value), p->value = NULL;
  return PMI_SUCCESS;
}
int PMI_KVS_Commit(const char *name) {
  (void)name;
  return PMI_SUCCESS;
}
int PMI_KVS_Put(const char *name, const char *key, const char *value) {
  if (!key || !*key) return PMI_ERR_INVALID_KEY;
  if (!value) return PMI_ERR_INVALID_VAL;
  if (strlen(key) >= PMI_TEXT) return PMI_ERR_INVALID_KEY_LENGTH;
  if (strlen(value) >= PMI_TEXT) return PMI_ERR_INVALID_VAL_LENGTH;
  return put(space_named(name), key, value);
}
int PMI_KVS_Get(const char *name, const char *key, char *value, int length) {
  const pair *p = key ? find(space_named(name), key) : NULL;
  if (!key) return PMI_ERR_INVALID_KEY;
  return p ? give(p->value, value, length, PMI_FAIL) : PMI_FAIL;
}
static int iterate(const pair *p, const char *space, char *key, int key_length, char *value,
                   int value_length) {
  while (p && (!p->value || strcmp(p->space, space) != 0)) p = p->next;
  if (!p) return give("", key, key_length, PMI_ERR_INVALID_KEY_LENGTH);
  const int code = give(p->key, key, key_length, PMI_ERR_INVALID_KEY_LENGTH);
  return code ? code : give(p->value, value, value_length, PMI_ERR_INVALID_VAL_LENGTH);
}
int PMI_KVS_Iter_first(const char *name, char *key, int key_length, char *value, int value_length) {
  return iterate(first_pair, space_named(name), key, key_length, value, value_length);
}
int PMI_KVS_Iter_next(const char *name, char *key, int key_length, char *value, int value_length) {
  const pair *p = key ? find(space_named(name), key) : NULL;
  if (!p) return PMI_ERR_INVALID_KEY;
  return iterate(p->next, space_named(name), key, key_length, value, value_length);
}
int PMI_Publish_name(const char *service, const char *port) {
  return service && port && !find(services, service) ? put(services, service, port) : PMI_FAIL;
}
int PMI_Unpublish_name(const char *service) {
  pair *p = service ? find(services, service) : NULL;
  if (!p) return PMI_FAIL;
  free(p->value);
  p->value = NULL;
  return PMI_SUCCESS;
}
int PMI_Lookup_name(const char *service, char *port) {
  const pair *p = service ? find(services, service) : NULL;
  return p ? give(p->value, port, PMI_TEXT, PMI_FAIL) : PMI_FAIL;
}
int PMI_Spawn_multiple(int count, const char *commands[], const char **args[],
                       const int processes[], const int info_counts[], const PMI_keyval_t *infos[],
                       int preput_count, const PMI_keyval_t preput[], int errors[]) {
  (void)commands, (void)args, (void)processes, (void)info_counts, (void)infos, (void)preput_count,
      (void)preput;
  guest_say_once(
      "spawn",
      "PMI_Spawn_multiple: a run has as many processes as it began with; refused (PMI_FAIL)");
  for (int i = 0; errors && i < count; i++) errors[i] = PMI_FAIL;
  return PMI_FAIL;
}
int PMI_Parse_option(int argc, char *args[], int *parsed, PMI_keyval_t **keyvals, int *count) {
  (void)argc, (void)args;
  if (!parsed || !keyvals || !count) return PMI_ERR_INVALID_ARG;
  return *parsed = *count = 0, *keyvals = NULL, PMI_SUCCESS;
}
int PMI_Args_to_keyval(int *argc, char *(*args)[], PMI_keyval_t **keyvals, int *count) {
  (void)argc, (void)args;
  if (!keyvals || !count) return PMI_ERR_INVALID_ARG;
  return *count = 0, *keyvals = NULL, PMI_SUCCESS;
}
int PMI_Free_keyvals(PMI_keyval_t keyvals[], int count) {
  return (void)keyvals, count < 0 ? PMI_ERR_INVALID_ARG : PMI_SUCCESS;
}
int PMI_Get_options(char *text, int *length) {
  if (!text || !length) return PMI_ERR_INVALID_ARG;
  return give("", text, *length, PMI_ERR_INVALID_LENGTH);
}
