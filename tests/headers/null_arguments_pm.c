/* As null_arguments.c, for portals_model.h: NULL for every pointer of every function is never a crash; what
   returns a status returns PM_E_INVAL or NBC_E_INVAL unless NULL means something there
   (tests/headers/null_allowed.list). The cases run in a simulated process, with a message endpoint of its
   own, each in a child of the host's. Left out: pm_cargo_..., which a carrier calls with what it was given,
   and what ends the interface. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define PORTALS_MODEL_IMPLEMENTATION
#define PM_WITH_NBC
#include "portals_model.h"
#include "tests/test.h"

enum { NOTHING = 77, SOMETHING = 78 }; /* what is no status: a pointer is NULL then */
typedef void (*pm_entry_fn)(void *arg);
typedef void (*pm_callback_fn)();
typedef void (*pm_stamp_fn)(void *arg, const pm_stamp *stamp);
static int nothing(void) { return 0; } /* for a function of any type */
static _Alignas(64) char room[1 << 16]; /* what has no valid object below */
static FILE *v_file;
static pm_world *v_pm_world;
static pm_world_desc *v_pm_world_desc;
static pm_process *v_pm_process;
static pm_platform *v_pm_platform;
static pm_thread *v_pm_thread;
static pm_msg *v_pm_msg;
static pm_msg_op *v_pm_msg_op;
static pm_kernel *v_pm_kernel;
static ptl_handle_ni_t v_ni;
static ptl_handle_eq_t v_eq;
static ptl_handle_ct_t v_ct;
static ptl_handle_md_t v_md;
static ptl_handle_me_t v_me, v_le;
static ptl_handle_any_t v_any;
static ptl_process_t v_ptl_process_t;

#include NULL_CASES
#include "tests/headers/null_arguments.h"

static void try_all(void) {
  static const null_rule rule = {{"arg", "error", "user"}, {PM_E_INVAL, NBC_E_INVAL}, {0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    null_is_answered(&rule, cases[i].function, cases[i].parameter, cases[i].call);
}

static void process(void *arg) {
  static pm_msg_op op;
  static pm_kernel kernel;
  const pm_msg_desc msg = {0};
  (void)arg;
  v_pm_process = pm_self(), v_pm_thread = pm_thread_self(), v_pm_msg_op = &op, v_pm_kernel = &kernel;
  const ptl_md_t md = {room, sizeof room, 0, PTL_EQ_NONE, PTL_CT_NONE};
  const ptl_me_t me = {.start = room, .length = 64, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY, .options = PTL_ME_OP_PUT,
                       .match_id = {.phys = {PTL_NID_ANY, PTL_PID_ANY}}};
  ptl_pt_index_t index;
  if (pm_msg_open(&msg, &v_pm_msg) ||
      PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &v_ni) ||
      PtlEQAlloc(v_ni, 64, &v_eq) || PtlCTAlloc(v_ni, &v_ct) || PtlPTAlloc(v_ni, 0, v_eq, 1, &index) ||
      PtlMDBind(v_ni, &md, &v_md) || PtlMEAppend(v_ni, 1, &me, PTL_PRIORITY_LIST, NULL, &v_me) ||
      PtlGetPhysId(v_ni, &v_ptl_process_t))
    abort();
  v_le = v_me, v_any = v_md;
  try_all();
  pm_msg_close(v_pm_msg);
}

static void null_is_answered_everywhere(void) {
  static pm_platform platform;
  static pm_world_desc desc;
  char error[200];
  CHECK(pm_platform_read("node_count 2\n", 13, &platform, error, sizeof error) == PM_OK);
  v_pm_platform = &platform, v_pm_world_desc = &desc, v_file = tmpfile();
  desc.platform = &platform, desc.trace = desc.link_use = true, desc.stack_bytes = 1 << 20;
  if (!v_file || pm_world_create(&desc, &v_pm_world) || pm_spawn(v_pm_world, 0, process, NULL, NULL)) abort();
  const pid_t parent = getpid();
  CHECK(pm_world_run(v_pm_world) == PM_OK);
  if (getpid() != parent) _exit(-NOTHING & 0xff); /* a case that waits lets the child's world run to its end */
  pm_world_destroy(v_pm_world);
  fclose(v_file);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(null_is_answered_everywhere);
  return TEST_END();
}
