/* Portals 4: types, constants and calls; inside, its objects. */
#pragma once
#include "trace.h"
/* ============================================================================================== */
/* [PTL] 6. Portals 4, versions 4.2 and 4.3 together                                              */
/* ============================================================================================== */
/* build/include/portals4.h is this section. Handles are 32-bit numbers: kind, NI, generation, slot;
   the same in every process for the same order of calls. Names are those of the Portals
   specification; what each call does is not repeated here, forks are in pm_semantics. */
typedef uint64_t ptl_size_t, ptl_match_bits_t, ptl_hdr_data_t;
typedef uint32_t ptl_pt_index_t, ptl_nid_t, ptl_pid_t, ptl_rank_t, ptl_uid_t;
typedef ptl_pt_index_t ptl_index_t;               /* BXI's name */
typedef unsigned int ptl_time_t, ptl_interface_t; /* ptl_time_t: milliseconds */
typedef int ptl_sr_value_t;
typedef uint32_t ptl_handle_any_t, ptl_handle_ni_t, ptl_handle_eq_t, ptl_handle_ct_t,
    ptl_handle_md_t, ptl_handle_le_t, ptl_handle_me_t;
typedef unsigned char ptl_list_t, ptl_search_op_t, ptl_ni_fail_t, ptl_ack_req_t, ptl_op_t,
    ptl_datatype_t, ptl_event_kind_t;

/* return codes */
#define PTL_STATUS_LIST(X)                                                                         \
  X(PTL_OK, 0)                                                                                     \
  X(PTL_ARG_INVALID, 1)                                                                            \
  X(PTL_CT_NONE_REACHED, 2)                                                                        \
  X(PTL_EQ_DROPPED, 3)                                                                             \
  X(PTL_EQ_EMPTY, 4)                                                                               \
  X(PTL_FAIL, 5)                                                                                   \
  X(PTL_IGNORED, 6)                                                                                \
  X(PTL_IN_USE, 7)                                                                                 \
  X(PTL_INTERRUPTED, 8)                                                                            \
  X(PTL_LIST_TOO_LONG, 9)                                                                          \
  X(PTL_NO_INIT, 10)                                                                               \
  X(PTL_NO_SPACE, 11)                                                                              \
  X(PTL_PID_IN_USE, 12) X(PTL_PT_FULL, 13) X(PTL_PT_EQ_NEEDED, 14) X(PTL_PT_IN_USE, 15)            \
      X(PTL_ABORTED, 16) X(PTL_TRY_AGAIN, 17) X(PTL_SIZE_INVALID, 18)
enum {
#define PM__X(name, value) name = value,
  PTL_STATUS_LIST(PM__X)
#undef PM__X
      PTL_STATUS_LAST
};

/* special values */
#define PTL_INVALID_HANDLE ((ptl_handle_any_t)0xFFFFFFFFu)
#define PTL_EQ_NONE        ((ptl_handle_eq_t)0xFFFFFFFEu)
#define PTL_CT_NONE        ((ptl_handle_ct_t)0xFFFFFFFDu)
#define PTL_IFACE_DEFAULT  ((ptl_interface_t)0xFFFFFFFFu)
#define PTL_PID_ANY        ((ptl_pid_t)0xFFFFFFFFu)
#define PTL_PID_MAX        ((ptl_pid_t)0xFFFFu)
#define PTL_NID_ANY        ((ptl_nid_t)0xFFFFFFFFu)
#define PTL_UID_ANY        ((ptl_uid_t)0xFFFFFFFFu)
#define PTL_PT_ANY         ((ptl_pt_index_t)0xFFFFFFFFu)
#define PTL_RANK_ANY       ((ptl_rank_t)0xFFFFFFFFu)
#define PTL_TIME_FOREVER   ((ptl_time_t)0xFFFFFFFFu)
#define PTL_SIZE_MAX       ((ptl_size_t)0xFFFFFFFFFFFFFFFFu)

/* network interfaces */
#define PTL_NI_MATCHING              0x1u
#define PTL_NI_NO_MATCHING           0x2u
#define PTL_NI_LOGICAL               0x4u
#define PTL_NI_PHYSICAL              0x8u
#define PTL_NI_INIT_OPTIONS_MASK     0xFu
#define PTL_TARGET_BIND_INACCESSIBLE 0x1u
#define PTL_TOTAL_DATA_ORDERING      0x2u
#define PTL_COHERENT_ATOMICS         0x4u

/* portal table entries */
#define PTL_PT_ONLY_USE_ONCE      0x1u
#define PTL_PT_FLOWCTRL           0x2u
#define PTL_PT_ONLY_TRUNCATE      0x4u
#define PTL_PT_MATCH_UNORDERED    0x8u
#define PTL_PT_ALLOC_DISABLED     0x10u
#define PTL_PT_ALLOC_OPTIONS_MASK 0x1Fu

/* memory descriptors; PTL_IOVEC is shared with list entries */
#define PTL_IOVEC                    0x1u
#define PTL_MD_EVENT_SUCCESS_DISABLE 0x2u
#define PTL_MD_EVENT_SEND_DISABLE    0x4u
#define PTL_MD_EVENT_CT_SEND         0x8u
#define PTL_MD_EVENT_CT_REPLY        0x10u
#define PTL_MD_EVENT_CT_ACK          0x20u
#define PTL_MD_EVENT_CT_BYTES        0x40u
#define PTL_MD_UNORDERED             0x80u
#define PTL_MD_VOLATILE              0x100u
#define PTL_MD_UNRELIABLE            0x200u
#define PTL_MD_OPTIONS_MASK          0x3FFu

/* list and matching list entries */
#define PTL_LE_OP_PUT                 0x2u
#define PTL_LE_OP_GET                 0x4u
#define PTL_LE_USE_ONCE               0x8u
#define PTL_LE_ACK_DISABLE            0x10u
#define PTL_LE_UNEXPECTED_HDR_DISABLE 0x20u
#define PTL_LE_IS_ACCESSIBLE          0x40u
#define PTL_LE_EVENT_LINK_DISABLE     0x80u
#define PTL_LE_EVENT_COMM_DISABLE     0x100u
#define PTL_LE_EVENT_FLOWCTRL_DISABLE 0x200u
#define PTL_LE_EVENT_SUCCESS_DISABLE  0x400u
#define PTL_LE_EVENT_OVER_DISABLE     0x800u
#define PTL_LE_EVENT_UNLINK_DISABLE   0x1000u
#define PTL_LE_EVENT_CT_COMM          0x2000u
#define PTL_LE_EVENT_CT_OVERFLOW      0x4000u
#define PTL_LE_EVENT_CT_BYTES         0x8000u
#define PTL_LE_APPEND_OPTIONS_MASK    0xFFFFu
#define PTL_ME_OP_PUT                 PTL_LE_OP_PUT
#define PTL_ME_OP_GET                 PTL_LE_OP_GET
#define PTL_ME_USE_ONCE               PTL_LE_USE_ONCE
#define PTL_ME_ACK_DISABLE            PTL_LE_ACK_DISABLE
#define PTL_ME_UNEXPECTED_HDR_DISABLE PTL_LE_UNEXPECTED_HDR_DISABLE
#define PTL_ME_IS_ACCESSIBLE          PTL_LE_IS_ACCESSIBLE
#define PTL_ME_EVENT_LINK_DISABLE     PTL_LE_EVENT_LINK_DISABLE
#define PTL_ME_EVENT_COMM_DISABLE     PTL_LE_EVENT_COMM_DISABLE
#define PTL_ME_EVENT_FLOWCTRL_DISABLE PTL_LE_EVENT_FLOWCTRL_DISABLE
#define PTL_ME_EVENT_SUCCESS_DISABLE  PTL_LE_EVENT_SUCCESS_DISABLE
#define PTL_ME_EVENT_OVER_DISABLE     PTL_LE_EVENT_OVER_DISABLE
#define PTL_ME_EVENT_UNLINK_DISABLE   PTL_LE_EVENT_UNLINK_DISABLE
#define PTL_ME_EVENT_CT_COMM          PTL_LE_EVENT_CT_COMM
#define PTL_ME_EVENT_CT_OVERFLOW      PTL_LE_EVENT_CT_OVERFLOW
#define PTL_ME_EVENT_CT_BYTES         PTL_LE_EVENT_CT_BYTES
#define PTL_ME_MANAGE_LOCAL           0x10000u
#define PTL_ME_NO_TRUNCATE            0x20000u
#define PTL_ME_MAY_ALIGN              0x40000u
#define PTL_ME_LOCAL_INC_UH_RLENGTH   0x80000u
#define PTL_ME_APPEND_OPTIONS_MASK    0xFFFFFu

enum { PTL_PRIORITY_LIST = 0, PTL_OVERFLOW_LIST = 1 };
enum { PTL_SEARCH_ONLY = 0, PTL_SEARCH_DELETE = 1 };
enum { PTL_NO_ACK_REQ = 0, PTL_ACK_REQ = 1, PTL_CT_ACK_REQ = 2, PTL_OC_ACK_REQ = 3 };
typedef enum {
  PTL_SR_DROP_COUNT = 0,
  PTL_SR_PERMISSION_VIOLATIONS,
  PTL_SR_OPERATION_VIOLATIONS,
  PTL_SR_LAST
} ptl_sr_index_t;
typedef enum { PTL_CT_OPERATION = 0, PTL_CT_BYTE } ptl_ct_type_t; /* unused by the API */
#define PTL_NI_FAIL_LIST(X)                                                                        \
  X(OK)                                                                                            \
  X(UNDELIVERABLE)                                                                                 \
  X(DROPPED)                                                                                       \
  X(PT_DISABLED) X(PERM_VIOLATION) X(OP_VIOLATION) X(NO_MATCH) X(SEGV) X(TARGET_INVALID)
enum {
#define PM__X(name) PTL_NI_##name,
  PTL_NI_FAIL_LIST(PM__X)
#undef PM__X
      PTL_NI_FAIL_LAST
};
#define PTL_EVENT_LIST(X)                                                                          \
  X(GET)                                                                                           \
  X(GET_OVERFLOW)                                                                                  \
  X(PUT)                                                                                           \
  X(PUT_OVERFLOW)                                                                                  \
  X(ATOMIC)                                                                                        \
  X(ATOMIC_OVERFLOW)                                                                               \
  X(FETCH_ATOMIC)                                                                                  \
  X(FETCH_ATOMIC_OVERFLOW)                                                                         \
  X(REPLY) X(SEND) X(ACK) X(PT_DISABLED) X(LINK) X(AUTO_UNLINK) X(AUTO_FREE) X(SEARCH)
enum {
#define PM__X(name) PTL_EVENT_##name,
  PTL_EVENT_LIST(PM__X)
#undef PM__X
      PTL_EVENT_LAST
};
enum {
  PTL_MIN = 0,
  PTL_MAX,
  PTL_SUM,
  PTL_PROD,
  PTL_LOR,
  PTL_LAND,
  PTL_BOR,
  PTL_BAND,
  PTL_LXOR,
  PTL_BXOR,
  PTL_SWAP,
  PTL_CSWAP,
  PTL_CSWAP_NE,
  PTL_CSWAP_LE,
  PTL_CSWAP_LT,
  PTL_CSWAP_GE,
  PTL_CSWAP_GT,
  PTL_MSWAP,
  PTL_OP_LAST
};
enum {
  PTL_INT8_T = 0,
  PTL_UINT8_T,
  PTL_INT16_T,
  PTL_UINT16_T,
  PTL_INT32_T,
  PTL_UINT32_T,
  PTL_FLOAT,
  PTL_INT64_T,
  PTL_UINT64_T,
  PTL_DOUBLE,
  PTL_FLOAT_COMPLEX,
  PTL_DOUBLE_COMPLEX,
  PTL_LONG_DOUBLE,
  PTL_LONG_DOUBLE_COMPLEX,
  PTL_DATATYPE_LAST
};

typedef union {
  ptl_rank_t rank;
  struct {
    ptl_nid_t nid;
    ptl_pid_t pid;
  } phys;
} ptl_process_t;
typedef struct {
  void *iov_base;
  ptl_size_t iov_len;
} ptl_iovec_t;
typedef struct {
  ptl_size_t success, failure;
} ptl_ct_event_t;
typedef struct {
  void *start;
  ptl_size_t length; /* bytes, or elements with PTL_IOVEC */
  unsigned int options;
  ptl_handle_eq_t eq_handle;
  ptl_handle_ct_t ct_handle;
} ptl_md_t;
typedef struct {
  void *start;
  ptl_size_t length;
  ptl_handle_ct_t ct_handle;
  ptl_uid_t uid;
  unsigned int options;
} ptl_le_t;
typedef struct {
  void *start;
  ptl_size_t length;
  ptl_handle_ct_t ct_handle;
  ptl_uid_t uid;
  unsigned int options;
  ptl_process_t match_id;
  ptl_match_bits_t match_bits, ignore_bits;
  ptl_size_t min_free;
} ptl_me_t;
typedef struct {
  void *start, *user_ptr;
  ptl_hdr_data_t hdr_data;
  ptl_match_bits_t match_bits;
  ptl_size_t rlength, mlength, remote_offset;
  ptl_process_t initiator;
  ptl_uid_t uid;
  ptl_pt_index_t pt_index;
  ptl_event_kind_t type;
  ptl_list_t ptl_list;
  ptl_ni_fail_t ni_fail_type;
  ptl_op_t atomic_operation;
  ptl_datatype_t atomic_type;
} ptl_event_t;
typedef struct {
  int max_entries, max_unexpected_headers, max_mds, max_cts, max_eqs, max_pt_index, max_iovecs,
      max_list_size, max_triggered_ops;
  ptl_size_t max_msg_size, max_atomic_size, max_fetch_atomic_size, max_waw_ordered_size,
      max_war_ordered_size, max_volatile_size;
  unsigned int features;
} ptl_ni_limits_t;

/* library, interfaces, identity */
PM_API int PtlInit(void);
PM_API void PtlFini(void);
PM_API void PtlAbort(void);
PM_API int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid,
                     const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
                     ptl_handle_ni_t *ni_handle);
PM_API int PtlNIFini(ptl_handle_ni_t ni_handle);
PM_API int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t index, ptl_sr_value_t *value);
PM_API int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle);
PM_API int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping);
PM_API int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping,
                     ptl_size_t *actual_size);
PM_API int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid);
PM_API int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
PM_API int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
/* portal table, descriptors, lists */
PM_API int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle,
                      ptl_pt_index_t index_req, ptl_pt_index_t *index);
PM_API int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
PM_API int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
PM_API int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index);
PM_API int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle);
PM_API int PtlMDRelease(ptl_handle_md_t md_handle);
PM_API int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_list_t list, void *user_ptr, ptl_handle_le_t *le_handle);
PM_API int PtlLEUnlink(ptl_handle_le_t le_handle);
PM_API int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_search_op_t search_op, void *user_ptr);
PM_API int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle);
PM_API int PtlMEUnlink(ptl_handle_me_t me_handle);
PM_API int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_search_op_t search_op, void *user_ptr);
/* events and counters */
PM_API int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle);
PM_API int PtlEQFree(ptl_handle_eq_t eq_handle);
PM_API int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event);
PM_API int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event);
PM_API int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout,
                     ptl_event_t *event, unsigned int *which);
PM_API int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle);
PM_API int PtlCTFree(ptl_handle_ct_t ct_handle);
PM_API int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle);
PM_API int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event);
PM_API int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event);
PM_API int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size,
                     ptl_time_t timeout, ptl_ct_event_t *event, unsigned int *which);
PM_API int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct);
PM_API int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment);
/* moving data; the triggered twins take (trig_ct, threshold) more */
#define PM__PTL_PUT_ARGS                                                                           \
  ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,    \
      ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,               \
      ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data
#define PM__PTL_GET_ARGS                                                                           \
  ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id,  \
      ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,              \
      void *user_ptr
#define PM__PTL_FETCH_ARGS                                                                         \
  ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,       \
      ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id,                     \
      ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,              \
      void *user_ptr, ptl_hdr_data_t hdr_data
#define PM__PTL_TRIG_ARGS ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold
PM_API int PtlPut(PM__PTL_PUT_ARGS);
PM_API int PtlGet(PM__PTL_GET_ARGS);
PM_API int PtlAtomic(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlFetchAtomic(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlSwap(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                   ptl_datatype_t datatype);
PM_API int PtlAtomicSync(void);
PM_API int PtlTriggeredPut(PM__PTL_PUT_ARGS, PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredGet(PM__PTL_GET_ARGS, PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredAtomic(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                              PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredFetchAtomic(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                                   PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredSwap(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                            ptl_datatype_t datatype, PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment,
                             PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, PM__PTL_TRIG_ARGS);
/* outside the specification, in the reference implementation */
PM_API int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                                ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle,
                                PM__PTL_TRIG_ARGS);
PM_API int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, PM__PTL_TRIG_ARGS);
/* BXI's forms that never wait: with all command slots taken they return PTL_TRY_AGAIN, and nothing
   has happened. Arguments as above. */
PM_API int PtlPutNB(PM__PTL_PUT_ARGS);
PM_API int PtlGetNB(PM__PTL_GET_ARGS);
PM_API int PtlAtomicNB(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlFetchAtomicNB(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype);
PM_API int PtlSwapNB(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                     ptl_datatype_t datatype);
#define PtlPTDisableNB            PtlPTDisable /* these need no slot in the model */
#define PtlPTEnableNB             PtlPTEnable
#define PtlMDBindNB               PtlMDBind
#define PtlLEAppendNB             PtlLEAppend
#define PtlLESearchNB             PtlLESearch
#define PtlMEAppendNB             PtlMEAppend
#define PtlMESearchNB             PtlMESearch
#define PtlTriggeredPutNB         PtlTriggeredPut
#define PtlTriggeredGetNB         PtlTriggeredGet
#define PtlTriggeredAtomicNB      PtlTriggeredAtomic
#define PtlTriggeredFetchAtomicNB PtlTriggeredFetchAtomic
#define PtlTriggeredSwapNB        PtlTriggeredSwap
#define PtlTriggeredCTIncNB       PtlTriggeredCTInc
#define PtlTriggeredCTSetNB       PtlTriggeredCTSet
PM_API int PtlNIAtomicSync(ptl_handle_ni_t ni_handle);
/* Of the hardware: number of the node, and 0 */
PM_API int PtlGetHwid(ptl_handle_ni_t ni_handle, uint64_t *hw_id, uint64_t *capabilities_id);
typedef enum ptl_str_type { PTL_STR_ERROR, PTL_STR_EVENT, PTL_STR_FAIL_TYPE } ptl_str_type_t;
PM_API const char *PtlToStr(int value, enum ptl_str_type type);
/* An event in one line, e.g. "PUT OK mlength 8 pt 3 from 0"; text: PTL_EV_STR_SIZE bytes. ni_options
   of PtlNIInit say whether "from" is a rank (PTL_NI_LOGICAL) or nid:pid. ret PTL_OK | PTL_ARG_INVALID */
#define PTL_EV_STR_SIZE 256
PM_API int PtlEvToStr(unsigned int ni_options, const ptl_event_t *event, char *text);
/* A queue that calls: callback(arg, queue) in a thread of the process's own, as soon as there are
   events, and again when more come while it runs; it takes them with PtlEQGet. Callbacks of a process
   run one after the other. hint is ignored. ret as PtlEQAlloc */
PM_API int PtlEQAllocAsync(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle,
                           void (*callback)(void *arg, ptl_handle_eq_t eq_handle), void *arg,
                           int hint);
/* Has the callback of such a queue called once more though no event came: work is handed to its thread.
   Takes cpu_command_ns. ret PTL_OK | PTL_NO_INIT | PTL_ARG_INVALID (no queue, or one that does not call) */
PM_API int pm_eq_call(ptl_handle_eq_t eq_handle);
/* File descriptors that are readable while queues of the interface hold events. PtlNFDs: how many;
   PtlPollFDs: writes them for poll(), ret how many, or -1: bad handle, or no descriptor left;
   PtlPollEvents: what poll() is to have meant: POLLIN or 0. A guest's poll() must let simulated time
   pass, as pm_run's does; a process that is a C function calls it with timeout 0 and pm_yield. */
struct pollfd;
PM_API int PtlNFDs(ptl_handle_ni_t ni_handle);
PM_API int PtlPollFDs(ptl_handle_ni_t ni_handle, struct pollfd *fds, int events);
PM_API int PtlPollEvents(ptl_handle_ni_t ni_handle, struct pollfd *fds);
/* callback(arg, NIC, what) for a NIC that comes (what 1). The model's NIC is there from the beginning,
   so it is called at once, and never again. At most 8 hooks of a process.
   ret PTL_OK | PTL_NO_INIT | PTL_ARG_INVALID | PTL_NO_SPACE */
typedef struct ptl_activate_hook *ptl_activate_hook_t;
PM_API int PtlActivateHookAdd(void (*callback)(void *arg, unsigned int nic, int what), void *arg,
                              ptl_activate_hook_t *hook);
PM_API int PtlActivateHookRemove(ptl_activate_hook_t hook);
/* hints, comparison */
PM_API int PtlStartBundle(ptl_handle_ni_t ni_handle);
PM_API int PtlEndBundle(ptl_handle_ni_t ni_handle);
PM_API int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2);
/* Of the model. pm_process_id: the physical id of a rank (as it will be when it asks for
   PTL_PID_ANY), so that examples need no exchange of addresses. */
PM_API ptl_process_t pm_process_id(int rank);
/* names for people: "PTL_OK", "PUT_OVERFLOW", "NO_MATCH"; never NULL */
PM_API const char *pm_ptl_status_name(int status);
PM_API const char *pm_ptl_event_name(int event_kind);
PM_API const char *pm_ptl_fail_name(int ni_fail_type);

/* ---- for later pieces ---- */
/* ============================================================================================== */
/* [PTL] 6. Portals 4, versions 4.2 and 4.3 together                                              */
/* ============================================================================================== */
/* ---- Portals objects: each begins with its handle --------------------------------------------- */
enum { PM__KINDS = 4, PM__CHUNKS = 17, PM__ATOMIC_BYTES = 1024 };
enum { PM__RELEASED = 2 };
typedef struct pm__object {
  uint32_t handle;
  uint32_t next_free : 24, live : 8; /* PM__RELEASED: its handle is void, its last use is to come */
} pm__object;
typedef struct pm__pool { /* what each look asks for first, with the first chunk */
  uint32_t made, item_bytes, used, limit, free_head; /* free_head: slot + 1 */
  char *chunk[PM__CHUNKS];
} pm__pool;
typedef struct pm__eq {
  pm__object o;
  ptl_event_t *ring; /* grows up to count + reserved */
  uint32_t ring_max, first, used;
  uint32_t count, reserved; /* reserved: one PT_DISABLED per portal table entry with flow control */
  uint32_t promised;        /* events of messages that are being delivered */
  int dropped;
  void (*callback)(void *arg, ptl_handle_eq_t eq_handle); /* PtlEQAllocAsync; or NULL */
  void *callback_arg;
  struct pm__eq *next_news; /* in the process's list of queues to call for */
  bool has_news;
} pm__eq;
typedef struct pm__trigger {
  struct pm__trigger *next, *child; /* of a pairing heap */
  uint64_t threshold, number;       /* equal thresholds: first posted, first fired */
  int kind;                         /* enum below */
  pm__message *message;
  pm__ni *ni;
  ptl_handle_any_t handle; /* counter or entry */
  ptl_ct_event_t value;
  struct pm__me *entry; /* to be appended */
  struct pm__ct *ct;    /* which it waits for */
  int carried;          /* 1 + number that the carrier gave it; 0: not there */
  bool is_held;         /* it counts among those held: the carrier has not got it */
} pm__trigger;
enum { PM__TRIG_MOVE, PM__TRIG_INC, PM__TRIG_SET, PM__TRIG_APPEND, PM__TRIG_UNLINK };
typedef struct pm__ct {
  pm__object o;
  ptl_ct_event_t value;
  pm__trigger *triggers; /* the next one to fire: root of a pairing heap */
  uint64_t posted_count;
  pm__ni *ni;
  struct pm__ct *next_to_fire;
  int to_fire;
  int carried; /* 1 + number that the carrier gave it; 0: not there */
} pm__ct;
/* Of the triggers that wait for a counter: how many a carrier has and has not, no more than the greatest threshold of these
   and no less than the least of those is known. Until none is left the bounds stay. */
typedef struct pm__split {
  uint32_t carried_count, held_count;
  uint64_t carried_most, held_least;
} pm__split;
typedef struct pm__md {
  pm__object o;
  ptl_md_t md;
  pm__eq *eq;              /* see pm__eq_if */
  uint32_t in_flight;      /* operations that will still tell of something */
  uint32_t unsent;         /* those of them whose SEND or REPLY is to come */
  const pm_process *whose; /* of whose memory desc.memory_at tells; NULL: it is where it says */
} pm__md;
typedef struct pm__me {
  pm__object o;
  uint32_t pt, headers, in_flight;
  int carried; /* 1 + the carrier's number of it; 0: none */
  ptl_me_t me;
  unsigned char list;
  bool linked, auto_unlinked;
  bool unlink_is_due; /* AUTO_UNLINK, when nothing is under way in it any more */
  unsigned char owed; /* events for which it keeps room in its queue until then */
  bool is_asked;      /* its append waits for the carrier's lists */
  void *user_ptr;
  struct pm__me *next, *prev;
  uint64_t offset;         /* of a locally managed entry */
  const pm_process *whose; /* as of a descriptor */
} pm__me;
/* An append or a search that the carrier's lists do first, or a triggered unlink behind such. */
typedef struct pm__list_op {
  struct pm__list_op *next;
  uint64_t number; /* by which the carrier names it */
  struct pm__ni *ni;
  ptl_pt_index_t pt;
  ptl_handle_any_t leaves; /* of the entry to be unlinked; PTL_INVALID_HANDLE: none */
  pm__me *entry;           /* to be appended; NULL: a search, for what follows */
  ptl_me_t wanted;
  ptl_search_op_t op;
  void *user_ptr;
  bool is_told;
} pm__list_op;
enum { PM__BY_BOTH, PM__BY_BITS, PM__BY_SENDER, PM__WAYS }; /* to shelve headers */
/* A message that came before its entry. */
typedef struct pm__header {
  struct pm__header *next, *prev;                                 /* in the order of arrival */
  struct pm__header *next_alike[PM__WAYS], *prev_alike[PM__WAYS]; /* on its shelves */
  pm__me *me;                                                     /* in the overflow list */
  pm__message *message; /* while its data is still being written */
  ptl_event_t event;    /* as a *_OVERFLOW event will tell it; user_ptr is filled in then */
  bool is_claimed;      /* found by an append while message was set: told when the data is in */
  int unlink_after;     /* then the claiming entry's AUTO_UNLINK follows */
  pm__me *claimer;      /* that entry, in use until then; NULL: a search's */
  ptl_handle_eq_t eq_handle; /* of the claiming portal table entry */
  ptl_handle_ct_t ct_handle; /* of the claiming entry */
  unsigned int options;
} pm__header;
/* Headers with the same bits, sender or both, in the order of arrival: see pm__shelf_of. */
typedef struct pm__shelf {
  pm__header *first, *last;
} pm__shelf;
typedef struct pm__pt {
  bool allocated, enabled, disabling;
  unsigned int options;
  ptl_handle_eq_t eq_handle;
  uint32_t in_flight;
  pm__eq *eq; /* where that queue lies, or lay: see pm__eq_if */
  pm__me *head[2], *tail[2];
  pm__header *headers, *headers_tail;
  int list_count;  /* entries of both lists */
  int later_count; /* places promised to appends that a thread has ahead of it */
  int asked_count; /* appends that wait for the carrier's lists */
} pm__pt;
enum { PM__PTS = 8, PM__PT_GROUPS = 32 }; /* 8 * 32: more than max_pt_index ever is */
typedef struct pm__map {
  struct pm__map *next;
  ptl_size_t count;
  ptl_process_t *id;
} pm__map;

/* A network interface: index bit 0 = matching, bit 1 = logical. */
struct pm__ni {
  pm_process *proc;
  int index, refs;
  uint32_t epoch;          /* messages of a closed interface know an older one */
  uint32_t uncopied_count; /* messages under way whose payload is in the memory of the process */
  pm__message *writes, *writes_last; /* that wait for their memory, in the order of their matches */
  int header_count, trigger_count;
  pm__map *map;
  pm__pt *pt[PM__PT_GROUPS]; /* made when one of a group is: few are used, of any index */
  ptl_ni_limits_t limits;
  ptl_handle_ni_t handle;
  ptl_rank_t rank;
  pm__pool pool[PM__KINDS]; /* see PM__POOL; what is asked for first is in one line of each */
  int bundles, pt_last;
  ptl_sr_value_t status[PTL_SR_LAST];
  int event_fd; /* 1 + descriptor that tells of events; 0: nobody asked for it */
  /* the first of each pool, many have no other; counter and descriptor lie in a line each */
  pm__me first_me;
  pm__ct first_ct;
  pm__md first_md;
  pm__eq first_eq;
  pm__split *splits;  /* of each counter; NULL: no trigger was posted where there is a carrier */
  pm__shelf *shelves; /* shelf_count of each way; NULL: few headers wait */
  int shelf_count;    /* a power of two */
};

enum { PM__H_NI = 1, PM__H_EQ, PM__H_CT, PM__H_MD, PM__H_ME };
#define PM__POOL(ni, kind) (&(ni)->pool[(kind)-PM__H_EQ])
#define PM__PROCESS(p)                                                                             \
  pm_process *const p = pm__inited();                                                              \
  if (!p) return PTL_NO_INIT
#define PM__NI(p, ni, handle)                                                                      \
  PM__PROCESS(p);                                                                                  \
  pm__ni *const ni = pm__ni_of(p, handle);                                                         \
  if (!ni) return PTL_ARG_INVALID
#define PM__CT(p, ni, ct, handle)                                                                  \
  PM__PROCESS(p);                                                                                  \
  pm__ni *ni;                                                                                      \
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, handle, &ni);                                   \
  if (!ct) return PTL_ARG_INVALID
/* What an interface offers where pm_semantics says nothing else. BXI's figures [B], IOVEC as in the reference. */
static const ptl_ni_limits_t pm__limits = {4080,     16319,    1024,  1024,     960,  255,
                                           1024,     16582,    16378, 67108864, 1024, 64,
                                           67108864, 67108864, 64,    7};
