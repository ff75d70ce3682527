/* ---- functions of programs that MPI calls ---- */
typedef void(MPI_User_function)(void *in, void *inout, int *count, MPI_Datatype *type);
typedef void(MPI_User_function_c)(void *in, void *inout, MPI_Count *count, MPI_Datatype *type);
typedef int(MPI_Grequest_query_function)(void *extra, MPI_Status *status);
typedef int(MPI_Grequest_free_function)(void *extra);
typedef int(MPI_Grequest_cancel_function)(void *extra, int complete);
typedef int(MPI_Comm_copy_attr_function)(MPI_Comm, int key, void *extra, void *in, void *out,
                                         int *flag);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm, int key, void *value, void *extra);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef int(MPI_Type_copy_attr_function)(MPI_Datatype, int key, void *extra, void *in, void *out,
                                         int *flag);
typedef int(MPI_Type_delete_attr_function)(MPI_Datatype, int key, void *value, void *extra);
typedef int(MPI_Win_copy_attr_function)(MPI_Win, int key, void *extra, void *in, void *out,
                                        int *flag);
typedef int(MPI_Win_delete_attr_function)(MPI_Win, int key, void *value, void *extra);
typedef int(MPI_Datarep_extent_function)(MPI_Datatype, MPI_Aint *extent, void *extra);
typedef int(MPI_Datarep_conversion_function)(void *user, MPI_Datatype, int count, void *file,
                                             MPI_Offset at, void *extra);
typedef int(MPI_Datarep_conversion_function_c)(void *user, MPI_Datatype, MPI_Count count,
                                               void *file, MPI_Offset at, void *extra);
typedef void(MPI_Comm_errhandler_function)(MPI_Comm *, int *code, ...);
typedef void(MPI_File_errhandler_function)(MPI_File *, int *code, ...);
typedef void(MPI_Win_errhandler_function)(MPI_Win *, int *code, ...);
typedef void(MPI_Session_errhandler_function)(MPI_Session *, int *code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
/* ---- tools ---- */
typedef struct MPI_ABI_T_enum *MPI_T_enum;
typedef struct MPI_ABI_T_cvar_handle *MPI_T_cvar_handle;
typedef struct MPI_ABI_T_pvar_handle *MPI_T_pvar_handle;
typedef struct MPI_ABI_T_pvar_session *MPI_T_pvar_session;
typedef struct MPI_ABI_T_event_registration *MPI_T_event_registration;
typedef struct MPI_ABI_T_event_instance *MPI_T_event_instance;
typedef enum MPI_T_cb_safety MPI_T_cb_safety;
typedef enum MPI_T_source_order MPI_T_source_order;
typedef void(MPI_T_event_cb_function)(MPI_T_event_instance, MPI_T_event_registration,
                                      MPI_T_cb_safety, void *user);
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration, MPI_T_cb_safety, void *user);
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count, MPI_T_event_registration, int source,
                                              MPI_T_cb_safety, void *user);
/* ---- functions ---- */
