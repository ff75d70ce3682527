/* PMI-1 as MPICH and SLURM declare it; pm_run provides it. Spawning is refused (PMI_FAIL). */
#ifndef PMI_H_INCLUDED
#define PMI_H_INCLUDED
#ifdef __cplusplus
extern "C" {
#endif
#define PMI_VERSION                1
#define PMI_SUBVERSION             1
#define PMI_SUCCESS                0
#define PMI_FAIL                   (-1)
#define PMI_ERR_INIT               1
#define PMI_ERR_NOMEM              2
#define PMI_ERR_INVALID_ARG        3
#define PMI_ERR_INVALID_KEY        4
#define PMI_ERR_INVALID_KEY_LENGTH 5
#define PMI_ERR_INVALID_VAL        6
#define PMI_ERR_INVALID_VAL_LENGTH 7
#define PMI_ERR_INVALID_LENGTH     8
#define PMI_ERR_INVALID_NUM_ARGS   9
#define PMI_ERR_INVALID_ARGS       10
#define PMI_ERR_INVALID_NUM_PARSED 11
#define PMI_ERR_INVALID_KEYVALP    12
#define PMI_ERR_INVALID_SIZE       13
#define PMI_ERR_INVALID_KVS        14
typedef int PMI_BOOL;
#define PMI_TRUE  1
#define PMI_FALSE 0
typedef struct PMI_keyval_t {
  const char *key;
  char *val;
} PMI_keyval_t;

int PMI_Init(PMI_BOOL *spawned);
int PMI_Initialized(PMI_BOOL *initialized);
int PMI_Finalize(void);
int PMI_Get_size(int *size);
int PMI_Get_rank(int *rank);
int PMI_Get_universe_size(int *size);
int PMI_Get_appnum(int *number);
int PMI_Get_clique_size(int *size); /* processes of the same node, and who they are */
int PMI_Get_clique_ranks(int *ranks, int length);
int PMI_Barrier(void);                       /* takes the time of a tree of messages, up and down */
int PMI_Abort(int status, const char *text); /* ends the run with that exit status */

/* The space of keys: one for all, any number more by PMI_KVS_Create. */
int PMI_Get_id(char *id, int length);
int PMI_Get_id_length_max(int *length);
int PMI_Get_kvs_domain_id(char *id, int length);
int PMI_KVS_Get_my_name(char *name, int length);
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length);
int PMI_KVS_Get_value_length_max(int *length);
int PMI_KVS_Create(char *name, int length);
int PMI_KVS_Destroy(const char *name);
int PMI_KVS_Put(const char *name, const char *key, const char *value);
int PMI_KVS_Commit(const char *name);
int PMI_KVS_Get(const char *name, const char *key, char *value, int length);
/* All pairs in the order of their first put; key is empty after the last. */
int PMI_KVS_Iter_first(const char *name, char *key, int key_length, char *value, int value_length);
int PMI_KVS_Iter_next(const char *name, char *key, int key_length, char *value, int value_length);

int PMI_Publish_name(const char *service, const char *port);
int PMI_Unpublish_name(const char *service);
int PMI_Lookup_name(const char *service, char *port); /* room for the longest value */

int PMI_Spawn_multiple(int count, const char *commands[], const char **args[],
                       const int processes[], const int info_counts[], const PMI_keyval_t *infos[],
                       int preput_count, const PMI_keyval_t preput[], int errors[]);
/* pm_run has no options of its own to be given to PMI_Spawn_multiple. */
int PMI_Parse_option(int argc, char *args[], int *parsed, PMI_keyval_t **pairs, int *count);
int PMI_Args_to_keyval(int *argc, char *(*args)[], PMI_keyval_t **pairs, int *count);
int PMI_Free_keyvals(PMI_keyval_t pairs[], int count);
int PMI_Get_options(char *text, int *length);
#ifdef __cplusplus
}
#endif
#endif
