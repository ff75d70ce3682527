/* --kernels FILE: functions that take the time of a model and are not run: dgemm_, dtrsm_, cblas_dgemm,
   or any function of the program that its table of symbols names. One line each:

     dgemm_ m=*3 n=*4 k=*5 mnk=1.029e-11 one=2e-7 sigma=0.03
     dtrsm_ m=*5 n=*6 k=*5 mnk=6e-12             # side L: m m n
     HPL_pdmatgen                                # takes no time
     idamax_ m=*1 one=1e-7 result=any            # one of 1 ... m
     dgemm_ node=3 m=*3 n=*4 k=*5 mnk=1.4e-11    # on node 3

   m, n, k: argument number (1 is the first; arguments that are floating-point values are not counted),
   "*": a pointer to an int, as in Fortran. Times in seconds: mnk, mn, mk, nk, one, each times the sizes
   that its name says (M-0: one; M-1: mnk and one; M-2: all). Noise: sigma (N-1), sigma_mnk ...
   sigma_one (N-2), mode=WEIGHT,MEAN,SIGMA up to four times (N'), as in pm_kernel. The function's result
   is 0 or what result=N says, its output what was in memory: checks of a program on its result fail. */
#include "guest.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { KERNELS_MAX = 64, SIZES = 3, THUNK_BYTES = 32 };
typedef struct kernel {
  char name[96];
  int argument[SIZES]; /* from 1; 0: 1 */
  int is_pointer[SIZES];
  int node;       /* -1: all */
  int64_t result; /* -1: one of 1 ... m */
  pm_kernel model;
  long calls;
  double seconds;
} kernel;
static kernel kernels[KERNELS_MAX];
static int kernel_count;

#if defined(__x86_64__)
/* Six registers, the return address and the arguments on the stack become one array: they are
   pushed in such an order that the first argument comes to lie lowest, and what the caller had
   pushed follows. xmm0 is made 0, for functions that return a floating-point value. */
__asm__(".text\n.type guest__kernel_common, @function\nguest__kernel_common:\n"
        "\tpushq %r9\n\tpushq %r8\n\tpushq %rcx\n\tpushq %rdx\n\tpushq %rsi\n\tpushq %rdi\n"
        "\tmovq %rax, %rdi\n\tmovq %rsp, %rsi\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tandq $-16, %rsp\n"
        "\tcall *guest__kernel_called_at(%rip)\n"
        "\tmovq %rbp, %rsp\n\tpopq %rbp\n\taddq $48, %rsp\n\txorps %xmm0, %xmm0\n\tret\n");
extern char guest__kernel_common[];
#endif
static int64_t size_of(const kernel *k, int i, const uintptr_t *arguments) {
  const int at = k->argument[i];
  if (!at) return 1;
  /* Integers are taken as int, as BLAS and LAPACK have them: the upper half of a register may be
     anything. */
  const uintptr_t value = arguments[at <= 6 ? at - 1 : at]; /* [6] is the return address */
  return k->is_pointer[i] ? *(const int *)value : (int)value;
}
static int64_t kernel_called(size_t index, const uintptr_t *arguments) {
  kernel *k = &kernels[index];
  /* A line for this node overrules the line without one, whichever stands first in the file. */
  for (int i = 0; i < kernel_count; i++) /* the line of its node */
    if (kernels[i].node == pm_process_node(pm_self()) && strcmp(kernels[i].name, k->name) == 0)
      k = &kernels[i];
  double sizes[SIZES];
  for (int i = 0; i < SIZES; i++) sizes[i] = (double)size_of(k, i, arguments);
  if (sizes[0] <= 0 || sizes[1] <= 0 || sizes[2] <= 0)
    return k->result > 0 ? k->result : 0; /* nothing to do: real ones return at once */
  const int64_t t_ns = pm_now_ns();
  pm_compute_kernel(&k->model, sizes[0], sizes[1], sizes[2]);
  k->calls++;
  k->seconds += (double)(pm_now_ns() - t_ns) * 1e-9;
  return k->result < 0 ? 1 + (int64_t)(pm_random(pm_world_of(pm_self())) % (uint64_t)sizes[0])
                       : k->result;
}
int64_t (*guest__kernel_called_at)(size_t, const uintptr_t *) = kernel_called;

/* ---- the file ------------------------------------------------------------------------------------------------ */
static double value_of(const char *text, char **end) { return strtod(text, end); }
static int set_key(kernel *k, const char *key, const char *value) {
  pm_kernel *m = &k->model;
  const struct {
    const char *key;
    double *to;
  } times[] = {{"mnk", &m->mnk_s},
               {"mn", &m->mn_s},
               {"mk", &m->mk_s},
               {"nk", &m->nk_s},
               {"one", &m->one_s},
               {"sigma", &m->sigma_ratio},
               {"sigma_mnk", &m->sigma_mnk_s},
               {"sigma_mn", &m->sigma_mn_s},
               {"sigma_mk", &m->sigma_mk_s},
               {"sigma_nk", &m->sigma_nk_s},
               {"sigma_one", &m->sigma_one_s}};
  char *end;
  for (size_t i = 0; i < sizeof times / sizeof *times; i++)
    if (strcmp(key, times[i].key) == 0)
      return *times[i].to = value_of(value, &end), *value && !*end;
  for (int i = 0; i < SIZES; i++)
    if (key[0] == "mnk"[i] && !key[1]) {
      k->is_pointer[i] = *value == '*';
      k->argument[i] = (int)strtol(value + k->is_pointer[i], &end, 10);
      return !*end && k->argument[i] >= 1 && k->argument[i] <= 32;
    }
  if (strcmp(key, "node") == 0)
    return k->node = (int)strtol(value, &end, 10), *value && !*end && k->node >= 0;
  if (strcmp(key, "result") == 0) {
    k->result = strcmp(value, "any") == 0 ? -1 : strtol(value, &end, 10);
    return *value && (k->result < 0 ? strcmp(value, "any") == 0 : !*end);
  }
  if (strcmp(key, "mode") != 0 || m->mode_count == PM_MODES_MAX) return 0;
  pm_mode *mode = &m->modes[m->mode_count++];
  mode->weight_ratio = value_of(value, &end);
  if (*end != ',') return 0;
  mode->mean_ratio = value_of(end + 1, &end);
  if (*end != ',') return 0;
  mode->sigma_ratio = value_of(end + 1, &end);
  return !*end;
}
static void *thunk(int index) {
#if defined(__x86_64__)
  static unsigned char *page;
  if (!page)
    page =
        (unsigned char *)mmap(NULL, KERNELS_MAX * THUNK_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) guest_refuse("--kernels: %s", strerror(errno));
  unsigned char *at = page + index * THUNK_BYTES;
  const char *common = guest__kernel_common;
  const uint32_t number = (uint32_t)index;
  memcpy(at, "\xB8\0\0\0\0\x49\xBB\0\0\0\0\0\0\0\0\x41\xFF\xE3",
         18); /* mov $i, %eax; mov $common, %r11; jmp *%r11 */
  memcpy(at + 1, &number, 4);
  memcpy(at + 7, &common, 8);
  return at;
#else
  (void)index;
  guest_refuse("--kernels: for x86-64 only");
#endif
}
static void read_kernels(const char *option, const char *path) {
  FILE *in = fopen(path, "r");
  char line[1024];
  if (!in) guest_refuse("%s: %s: %s", option, path, strerror(errno));
  for (int n = 1; fgets(line, sizeof line, in); n++) {
    char *rest = line, *word;
    line[strcspn(line, "#\n")] = 0;
    if ((word = strtok_r(line, " \t\r", &rest)) == NULL) continue;
    if (kernel_count == KERNELS_MAX)
      guest_refuse("%s: %s: more than %d lines", option, path, KERNELS_MAX);
    kernel *k = &kernels[kernel_count];
    k->node = -1;
    if (strlen(word) >= sizeof k->name)
      guest_refuse("%s: %s, line %d: name too long", option, path, n);
    strcpy(k->name, word);
    while ((word = strtok_r(NULL, " \t\r", &rest)) != NULL) {
      char *value = strchr(word, '=');
      if (value) *value++ = 0;
      if (!value || !set_key(k, word, value))
        guest_refuse("%s: %s, line %d: %s: not understood", option, path, n, word);
    }
    if (k->node < 0) guest_replace(k->name, thunk(kernel_count));
    kernel_count++;
  }
  fclose(in);
}
/* Functions of the program itself are left at their first instruction. */
static void patch_program(pm_world *world) {
  (void)world;
  for (int i = 0; i < kernel_count; i++)
    if (kernels[i].node < 0) guest_patch_function(kernels[i].name, thunk(i));
}
static int tell(pm_world *world, int result) {
  (void)world;
  for (int i = 0; i < kernel_count; i++)
    if (kernels[i].calls)
      fprintf(stderr, "pm_run: %s: %ld calls, %.6f s of all processes together\n", kernels[i].name,
              kernels[i].calls, kernels[i].seconds);
    else if (kernels[i].node < 0)
      fprintf(stderr, "pm_run: %s: was not called\n", kernels[i].name);
  return result;
}
static const guest_option options[] = {
    {"--kernels", "FILE",
     "functions that take the time of a model and are not run (see src/guest/kernels.c)",
     read_kernels},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {
    .name = "kernels", .options = options, .begin = patch_program, .finish = tell};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
