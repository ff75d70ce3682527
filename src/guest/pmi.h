/* PMI-1, the part that Portals programs use to find each other; pm_run provides it. */
#ifndef PMI_H_INCLUDED
#define PMI_H_INCLUDED
#ifdef __cplusplus
extern "C" {
#endif
#define PMI_SUCCESS 0
#define PMI_FAIL    (-1)
int PMI_Init(int *spawned);
int PMI_Initialized(int *initialized);
int PMI_Finalize(void);
int PMI_Get_size(int *size);
int PMI_Get_rank(int *rank);
int PMI_Get_universe_size(int *size);
int PMI_Get_appnum(int *number);
int PMI_Get_clique_size(int *size); /* processes of the same node, and who they are */
int PMI_Get_clique_ranks(int *ranks, int length);
int PMI_Barrier(void);
int PMI_Abort(int status, const char *text); /* ends the run */
int PMI_KVS_Get_my_name(char *name, int length);
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length);
int PMI_KVS_Get_value_length_max(int *length);
int PMI_KVS_Put(const char *name, const char *key, const char *value);
int PMI_KVS_Commit(const char *name);
int PMI_KVS_Get(const char *name, const char *key, char *value, int length);
#ifdef __cplusplus
}
#endif
#endif
