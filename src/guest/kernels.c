/* --kernels FILE: functions that take the time of a model and are not run: dgemm_, dtrsm_, cblas_dgemm,
   or any function of the program that its table of symbols names, if it has 7 bytes or a gap behind it. One line each:

     dgemm_ m=*3 n=*4 k=*5 mnk=1.029e-11 one=2e-7 sigma=0.03
     dtrsm_ m=*5 n=*6 k=*5 mnk=6e-12             # side L: m m n
     HPL_pdmatgen                                # takes no time
     idamax_ m=*1 one=1e-7 result=any            # one of 1 ... m
     dgemm_ node=3 m=*3 n=*4 k=*5 mnk=1.4e-11    # on node 3

   Of lines with node= as many may stand as there are nodes, beside one without.
   m, n, k: argument number (1 is the first; arguments that are floating-point values are not counted),
   "*": a pointer to an int, as in Fortran. Times in seconds: mnk, mn, mk, nk, one, each times the sizes
   that its name says (M-0: one; M-1: mnk and one; M-2: all). Noise: sigma (N-1), sigma_mnk ...
   sigma_one (N-2), mode=WEIGHT,MEAN,SIGMA up to four times (N'), as in pm_kernel. The function's result
   is 0 or what result=N says, its output what was in memory: checks of a program on its result fail. (A long double is
   no number, also when it is measured, and of two whole numbers in a struct the second may be any.)

   --measure-kernels MODELS: a line with sizes and without times (dgemm_ m=*3 n=*4 k=*5) stands for a function
   that is to be measured: it runs once for each size class (sizes within a ninth), its CPU time on this host
   passes; later calls of the class are not run and take as long per product of the sizes. At the end MODELS
   has the lines for --kernels with mnk, one and sigma fitted to all that was measured. */
#include "guest.h"
#include <errno.h>
#if defined(__x86_64__)
#  include <cpuid.h>
#endif
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIZES = 3, THUNKS_PER_PAGE = 85, KEEPS_ALL = 1 << 30 };
typedef struct sample { /* of a size class, its first call */
  double sizes[SIZES], seconds;
} sample;
typedef struct kernel {
  char name[96];
  const char *path; /* where it is said */
  int line;
  int argument[SIZES]; /* from 1; 0: 1 */
  bool is_pointer[SIZES];
  int node; /* -1: all */
  int *
      of_node; /* of a line without node: the lines of the same function for each node, -1: this one */
  int node_count;
  int64_t result; /* -1: one of 1 ... m */
  pm_kernel model;
  long calls;
  double seconds;
  bool is_patched;
  guest_patch patch;
  struct a_thunk *thunk; /* NULL: a line for a node, which is found through the one for all */
  sample *samples;
  int sample_count;
} kernel;
static kernel *kernels;
static int kernel_count;
static const char *models_path; /* --measure-kernels; NULL: nothing is measured */
static double compute_ratio = 1;

/* As guest__kernel_common leaves it: the caller's registers, where the call goes back to, and arguments from the
   seventh on. */
typedef struct frame {
  uintptr_t r11, r10, result, rbp;
  uintptr_t arguments[6], index, back, stack[];
} frame;
#if defined(__x86_64__)
/* GCC may know which registers a function of the program leaves alone, and its callers then keep values there across
   the call (-fipa-ra): so all are kept. Vectors of any length and masks take xsave, which costs 0.15 us; of a
   library's function nobody knows anything, and the 16 vectors in which arguments may be are enough. In both cases
   they lie side by side from byte 160 of the area on. The thunk has pushed its number and KEEPS_ALL. */
__asm__(
    ".text\n.macro guest__each_vector form\n\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "\t\\form \\n\n\t.endr\n.endm\n"
    ".macro guest__save n\n\tmovups %xmm\\n, 160+16*\\n(%rsp)\n.endm\n"
    ".macro guest__load n\n\tmovups 160+16*\\n(%rsp), %xmm\\n\n.endm\n"
    ".type guest__kernel_common, @function\nguest__kernel_common:\n"
    "\tpushq %r9\n\tpushq %r8\n\tpushq %rcx\n\tpushq %rdx\n\tpushq %rsi\n\tpushq %rdi\n"
    "\tpushq %rbp\n\tpushq %rax\n\tpushq %r10\n\tpushq %r11\n\tpushq %rbx\n"
    "\tmovq %rsp, %rbp\n\tcld\n"
    "\tsubq guest__kept_bytes(%rip), %rsp\n\tandq $-64, %rsp\n"
    "\txorl %ebx, %ebx\n\txorl %edx, %edx\n\tbtrl $30, 88(%rbp)\n\tcmovcl guest__kept(%rip), %ebx\n"
    "\tmovl %ebx, %eax\n\ttestl %eax, %eax\n\tjz 1f\n"
    "\t.irp n,0,1,2,3,4,5,6,7\n\tmovq %rdx, 512+8*\\n(%rsp)\n\t.endr\n" /* its head */
    "\txsave64 (%rsp)\n\torl $2, 512(%rsp)\n\tjmp 2f\n"                 /* 2: it holds vectors */
    "1:\tguest__each_vector guest__save\n"
    "2:\tleaq 8(%rbp), %rdi\n\tleaq 160(%rsp), %rsi\n\tcall *guest__kernel_called_at(%rip)\n"
    "\tmovl %ebx, %eax\n\txorl %edx, %edx\n\ttestl %eax, %eax\n\tjz 3f\n"
    "\txrstor64 (%rsp)\n\tjmp 4f\n3:\tguest__each_vector guest__load\n"
    "4:\tmovq %rbp, %rsp\n\tpopq %rbx\n\tpopq %r11\n\tpopq %r10\n\tpopq %rax\n\tpopq %rbp\n"
    "\tpopq %rdi\n\tpopq %rsi\n\tpopq %rdx\n\tpopq %rcx\n\tpopq %r8\n\tpopq %r9\n"
    "\taddq $8, %rsp\n\tret\n");
/* Calls fn with what its caller had given: registers, eight vectors, and 26 words of the stack. What it
   returns replaces rax and rdx of the frame and the first two vectors. */
__asm__(".type guest__kernel_run, @function\nguest__kernel_run:\n"
        "\tpushq %rbp\n\tmovq %rsp, %rbp\n\tpushq %rbx\n\tpushq %r12\n\tsubq $208, %rsp\n"
        "\tmovq %rdx, %rbx\n\tmovq %rsi, %r12\n\tmovq %rdi, %r11\n\tleaq 96(%rsi), %rsi\n"
        "\tmovq %rsp, %rdi\n\tmovl $26, %ecx\n\tcld\n\trep movsq\n"
        "\tmovups (%rbx), %xmm0\n\tmovups 16(%rbx), %xmm1\n\tmovups 32(%rbx), %xmm2\n"
        "\tmovups 48(%rbx), %xmm3\n\tmovups 64(%rbx), %xmm4\n\tmovups 80(%rbx), %xmm5\n"
        "\tmovups 96(%rbx), %xmm6\n\tmovups 112(%rbx), %xmm7\n"
        "\tmovq 32(%r12), %rdi\n\tmovq 40(%r12), %rsi\n\tmovq 48(%r12), %rdx\n"
        "\tmovq 56(%r12), %rcx\n\tmovq 64(%r12), %r8\n\tmovq 72(%r12), %r9\n"
        "\tmovq 8(%r12), %r10\n\tmovq 16(%r12), %rax\n\tcall *%r11\n"
        "\tmovups %xmm0, (%rbx)\n\tmovups %xmm1, 16(%rbx)\n\tmovq %rax, 16(%r12)\n"
        "\tmovq %rdx, 48(%r12)\n\tleaq -16(%rbp), %rsp\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n"
        "\tret\n");
void guest__kernel_run(void *fn, frame *caller, double *vectors);
extern char guest__kernel_common[];
/* Parts of xsave's area that callers may know: the old unit, vectors of all lengths, masks, r16 to r31; whether the
   processor and the kernel have them. Where a part lies there is the processor's own affair. */
uint32_t guest__kept;
uint64_t guest__kept_bytes = 512;
static void find_kept(void) {
  enum { X87_TO_AVX = 7, AVX_512 = 0xE0, MORE_REGISTERS = 1 << 19, OSXSAVE = 1 << 27, AREAS = 0xD };
  uint32_t a, b, c, d, parts, more_parts;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE)) return;
  __asm__("xgetbv" : "=a"(parts), "=d"(more_parts) : "c"(0));
  guest__kept = parts & (X87_TO_AVX | AVX_512 | MORE_REGISTERS);
  guest__kept_bytes = 576;
  for (uint32_t i = 2; i < 32; i++)
    if (guest__kept >> i & 1 && __get_cpuid_count(AREAS, i, &a, &b, &c, &d) &&
        b + a > guest__kept_bytes)
      guest__kept_bytes = b + a;
}
#else
static void guest__kernel_run(void *fn, frame *caller, double *vectors) {
  (void)fn, (void)caller, (void)vectors;
}
static void find_kept(void) {}
#endif
static int64_t size_of(const kernel *k, int i, const frame *caller) {
  const int at = k->argument[i];
  if (!at) return 1;
  /* Integers are taken as int, as BLAS and LAPACK have them: the upper half of a register may be
     anything. */
  const uintptr_t value = at <= 6 ? caller->arguments[at - 1] : caller->stack[at - 7];
  return k->is_pointer[i] ? *(const int *)value : (int)value;
}
/* ---- measured once per size class: --measure-kernels ------------------------------------------------------- */
/* Sizes of one class are within a ninth of each other: quarters of a power of two. */
static bool is_of_class(const sample *s, const double *sizes) {
  for (int i = 0; i < SIZES; i++)
    if (lround(4 * log2(s->sizes[i])) != lround(4 * log2(sizes[i]))) return false;
  return true;
}
static int64_t host_cpu_ns(void) { /* clock_gettime is the programs' own here */
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static void measure(kernel *k, const double *sizes, frame *caller, double *vectors) {
  void *const fn =
      k->is_patched ? guest_patch_set(&k->patch, 0) : guest_library_function(guest_now(), k->name);
  if (!fn) guest_refuse("--measure-kernels: %s: no library has it", k->name);
  const bool was = pm_compute_unmeasured(true);
  const int64_t t_ns = host_cpu_ns();
  guest__kernel_run(fn, caller, vectors);
  const int64_t took_ns = host_cpu_ns() - t_ns;
  pm_compute_unmeasured(was);
  if (k->is_patched) guest_patch_set(&k->patch, 1);
  sample *more = (sample *)realloc(k->samples, (size_t)(k->sample_count + 1) * sizeof *more);
  if (!more) guest_refuse("--measure-kernels: out of memory");
  k->samples = more;
  memcpy(more[k->sample_count].sizes, sizes, sizeof more->sizes);
  more[k->sample_count++].seconds = took_ns > 0 ? (double)took_ns * 1e-9 : 1e-9;
  pm_compute_ns((int64_t)((double)took_ns * compute_ratio));
}
/* What a class took, as much more as there is more to do. */
static bool passes_as_measured(kernel *k, const double *sizes) {
  for (int i = 0; i < k->sample_count; i++) {
    const sample *s = &k->samples[i];
    if (!is_of_class(s, sizes)) continue;
    const double more = sizes[0] * sizes[1] * sizes[2] / (s->sizes[0] * s->sizes[1] * s->sizes[2]);
    pm_compute_ns((int64_t)(s->seconds * more * compute_ratio * 1e9));
    return true;
  }
  return false;
}
/* M-1, a per product of the sizes and b per call, neither negative; least squares of what is missing in
   parts of the time, since small calls count as large ones do. ret its spread */
static double fit(const kernel *k, double *a, double *b) {
  double xx = 0, x1 = 0, x = 0, one = 0, one1 = 0, sum = 0;
  for (int i = 0; i < k->sample_count; i++) {
    const sample *s = &k->samples[i];
    const double u = s->sizes[0] * s->sizes[1] * s->sizes[2] / s->seconds, v = 1 / s->seconds;
    xx += u * u, x1 += u * v, one1 += v * v, x += u, one += v;
  }
  const double d = xx * one1 - x1 * x1;
  *a = d > 1e-9 * xx * one1 ? (x * one1 - one * x1) / d : -1;
  *b = d > 1e-9 * xx * one1 ? (one * xx - x * x1) / d : -1;
  if (*a < 0 || *b < 0) *a = x / xx, *b = 0;
  for (int i = 0; i < k->sample_count; i++) {
    const sample *s = &k->samples[i];
    const double part = (*a * s->sizes[0] * s->sizes[1] * s->sizes[2] + *b) / s->seconds - 1;
    sum += part * part;
  }
  return k->sample_count > 2 ? sqrt(sum / (k->sample_count - 2)) : 0;
}
static int write_models(void) {
  FILE *out = guest_output(models_path);
  if (!out) return 0;
  for (int i = 0; i < kernel_count; i++) {
    const kernel *k = &kernels[i];
    double a, b;
    if (!k->sample_count) continue;
    const double sigma = fit(k, &a, &b);
    fprintf(out, "%s", k->name);
    for (int n = 0; n < SIZES; n++)
      if (k->argument[n])
        fprintf(out, " %c=%s%d", "mnk"[n], k -> is_pointer[n] ? "*" : "", k->argument[n]);
    fprintf(out, " mnk=%.4g one=%.4g sigma=%.3g", a, b, sigma);
    if (k->result < 0) fprintf(out, " result=any");
    if (k->result > 0) fprintf(out, " result=%lld", (long long)k->result);
    fprintf(out, " # measured: %d sizes\n", k->sample_count);
  }
  return guest_output_close(out, models_path);
}
static bool is_measured(const kernel *k) {
  const pm_kernel *m = &k->model;
  return models_path && (k->argument[0] || k->argument[1] || k->argument[2]) && k->node < 0 &&
         !(m->mnk_s > 0 || m->mn_s > 0 || m->mk_s > 0 || m->nk_s > 0 || m->one_s > 0);
}

/* Of a function of the program, only registers that it writes: in others its caller may keep something. One that calls
   others is taken to write all in which results are. */
static void give(const kernel *k, int64_t result, frame *caller, double *vectors) {
  const unsigned written = k->is_patched ? k->patch.written : ~0U;
  if (written & GUEST_WRITES_RAX) caller->result = (uintptr_t)result;
  if (written & GUEST_WRITES_XMM0) vectors[0] = vectors[1] = 0;
  if (written & GUEST_WRITES_XMM1) vectors[2] = vectors[3] = 0;
}
static void kernel_called(frame *caller, double *vectors) {
  const kernel *const all = &kernels[caller->index];
  kernel *k = &kernels[caller->index];
  /* One look, as programs call small kernels millions of times. */
  if (k->node_count) {
    const int node = pm_process_node(pm_self());
    if (node < k->node_count && k->of_node[node] >= 0) k = &kernels[k->of_node[node]];
  }
  double sizes[SIZES];
  for (int i = 0; i < SIZES; i++) sizes[i] = (double)size_of(k, i, caller);
  k->calls++;
  if (sizes[0] <= 0 || sizes[1] <= 0 ||
      sizes[2] <= 0) { /* nothing to do: real ones return at once */
    give(all, k->result > 0 ? k->result : 0, caller, vectors);
    return;
  }
  const bool is_new = is_measured(k);
  const int64_t t_ns = pm_now_ns();
  if (is_new && !passes_as_measured(k, sizes)) {
    measure(k, sizes, caller, vectors);
  } else {
    if (!is_new) pm_compute_kernel(&k->model, sizes[0], sizes[1], sizes[2]);
    give(all,
         k->result < 0 ? 1 + (int64_t)(pm_random(pm_world_of(pm_self())) % (uint64_t)sizes[0])
                       : k->result,
         caller, vectors);
  }
  k->seconds += (double)(pm_now_ns() - t_ns) * 1e-9;
}
void (*guest__kernel_called_at)(frame *, double *) = kernel_called;

/* ---- the file ------------------------------------------------------------------------------------------------ */
/* A number from 0 on. ret what stands behind it; NULL: none */
static const char *number_from_0(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end > text && *value >= 0 && isfinite(*value) ? end : NULL;
}
/* WEIGHT,MEAN,SIGMA. ret NULL, or what is wrong */
static const char *set_mode(pm_kernel *m, const char *text) {
  static const char expected[] =
      "WEIGHT,MEAN,SIGMA expected: weight and mean above 0, sigma from 0 on";
  if (m->mode_count == PM_MODES_MAX) return "more than 4 modes";
  pm_mode *mode = &m->modes[m->mode_count++];
  double *const values[] = {&mode->weight_ratio, &mode->mean_ratio, &mode->sigma_ratio};
  for (int i = 0; i < 3; i++) {
    text = number_from_0(text, values[i]);
    if (!text || *text != (i < 2 ? ',' : 0) || (i < 2 && *values[i] <= 0)) return expected;
    text++;
  }
  return NULL;
}
static const char *set_time(pm_kernel *m, const char *key, const char *value, bool *is_time) {
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
  size_t i = 0;
  while (i < sizeof times / sizeof *times && strcmp(key, times[i].key) != 0) i++;
  *is_time = i < sizeof times / sizeof *times;
  if (!*is_time) return NULL;
  const char *const end = number_from_0(value, times[i].to);
  return end && !*end ? NULL : "a number from 0 on expected";
}
/* ret NULL, or what is wrong */
static const char *set_key(kernel *k, const char *key, const char *value) {
  bool is_time;
  const char *const bad = set_time(&k->model, key, value, &is_time);
  char *end = NULL;
  long number;
  if (is_time) return bad;
  for (int i = 0; i < SIZES; i++)
    if (key[0] == "mnk"[i] && !key[1]) {
      k->is_pointer[i] = *value == '*';
      number = strtol(value + k->is_pointer[i], &end, 10);
      k->argument[i] = (int)number;
      return !*end && number >= 1 && number <= 32 ? NULL : "an argument from 1 to 32 expected";
    }
  if (strcmp(key, "node") == 0) {
    number = strtol(value, &end, 10);
    k->node = (int)number;
    return *value && !*end && number >= 0 && number < 1 << 24 ? NULL : "a node's number expected";
  }
  if (strcmp(key, "result") == 0) {
    const bool is_any = strcmp(value, "any") == 0;
    k->result = is_any ? -1 : strtol(value, &end, 10);
    return *value && (is_any || (k->result >= 0 && !*end)) ? NULL
                                                           : "a number from 0 on, or any, expected";
  }
  return strcmp(key, "mode") == 0 ? set_mode(&k->model, value) : "not understood";
}
/* What is called in place of a function: it tells the common entry which kernel is meant, since all functions
   share that. Thunks must be where code may be run, so they have pages of their own, in the lower 2 GiB: there
   short jumps reach them from everywhere, and no register is needed to hold an address. */
enum { THUNK_BYTES = 16 };
typedef struct a_thunk {
  unsigned char of_library[THUNK_BYTES], of_program[THUNK_BYTES];
  const void *common,
      *to_program; /* the latter: where the jump in a function of the program goes */
} a_thunk;
static void make_code(a_thunk *t, unsigned char *code, uint32_t number) {
  const uint32_t common_at = (uint32_t)(uintptr_t)&t->common;
  memcpy(code, "\x68\0\0\0\0\xFF\x24\x25", 8); /* push $number; jmp *common */
  memcpy(code + 1, &number, sizeof number);
  memcpy(code + 8, &common_at, sizeof common_at);
}
static a_thunk *thunk(int index) {
#if defined(__x86_64__)
  static a_thunk *page;
  static int used = THUNKS_PER_PAGE;
  if (used == THUNKS_PER_PAGE) {
    page = (a_thunk *)mmap(NULL, THUNKS_PER_PAGE * sizeof *page, PROT_READ | PROT_WRITE | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    used = 0;
    if (page == MAP_FAILED) guest_refuse("--kernels: %s", strerror(errno));
    find_kept();
  }
  a_thunk *const t = &page[used++];
  t->common = guest__kernel_common;
  t->to_program = t->of_program;
  make_code(t, t->of_library, (uint32_t)index);
  make_code(t, t->of_program, (uint32_t)index | KEEPS_ALL);
  return t;
#else
  (void)index, (void)make_code;
  find_kept();
  guest_refuse("--kernels: for x86-64 only");
#endif
}
/* Only reading adds kernels: nothing keeps an address of one before all files are read. Thunks know them by
   their number. */
static kernel *one_more(void) {
  static int room;
  if (kernel_count == room) {
    room += room + 64;
    kernel *more = (kernel *)realloc(kernels, (size_t)room * sizeof *more);
    if (!more) guest_refuse("--kernels: out of memory");
    kernels = more;
  }
  memset(&kernels[kernel_count], 0, sizeof *kernels);
  return &kernels[kernel_count++];
}
static void read_keys(kernel *k, char *rest) {
  char *word, *said[32];
  int count = 0;
  while ((word = strtok_r(NULL, " \t\r", &rest)) != NULL) {
    char *value = strchr(word, '=');
    if (value) *value++ = 0;
    const char *const bad = value ? set_key(k, word, value) : "KEY=VALUE expected";
    if (bad) guest_refuse_line("--kernels", k->path, k->line, "%s: %s", word, bad);
    for (int i = 0; i < count; i++)
      if (strcmp(said[i], word) == 0 && strcmp(word, "mode") != 0)
        guest_refuse_line("--kernels", k->path, k->line, "%s: stands twice", word);
    said[count++] = word; /* no more than there are keys, and modes */
  }
}
static void read_kernels(const char *option, const char *path) {
  FILE *in = fopen(path, "r");
  char line[1024];
  int n = 0;
  if (!in) guest_refuse("%s: %s: %s", option, path, strerror(errno));
  while (guest_line(option, path, in, line, sizeof line, &n)) {
    char *rest = line, *word;
    if ((word = strtok_r(line, " \t\r", &rest)) == NULL) continue;
    kernel *k = one_more();
    k->node = -1;
    k->path = path, k->line = n;
    if (strlen(word) >= sizeof k->name)
      guest_refuse_line("--kernels", k->path, k->line, "name too long");
    strcpy(k->name, word);
    read_keys(k, rest);
    for (const kernel *other = kernels; other < k; other++)
      if (other->node == k->node && strcmp(other->name, k->name) == 0)
        guest_refuse_line("--kernels", k->path, k->line, "%s: line %d of %s is for it, too",
                          k->name, other->line, other->path);
    if (k->node < 0) guest_replace(k->name, (k->thunk = thunk(kernel_count - 1))->of_library);
  }
  fclose(in);
}
/* A line for a node overrules the line without one, whichever stands first. */
static void add_line_of_node(kernel *all, int line) {
  const int node = kernels[line].node;
  if (node >= all->node_count) {
    const int count = node + 1 > 2 * all->node_count ? node + 1 : 2 * all->node_count;
    int *more = (int *)realloc(all->of_node, (size_t)count * sizeof *more);
    if (!more) guest_refuse("--kernels: out of memory");
    for (int i = all->node_count; i < count; i++) more[i] = -1;
    all->of_node = more;
    all->node_count = count;
  }
  all->of_node[node] = line;
}
static void find_lines_of_nodes(void) {
  for (int line = 0; line < kernel_count; line++) {
    bool is_found = kernels[line].node < 0;
    for (int i = 0; i < kernel_count && kernels[line].node >= 0; i++)
      if (kernels[i].node < 0 && strcmp(kernels[i].name, kernels[line].name) == 0) {
        add_line_of_node(&kernels[i], line);
        is_found = true;
      }
    if (!is_found)
      guest_refuse("--kernels: %s is a model on node %d; of other nodes nothing is said: a line "
                   "without node= is missing",
                   kernels[line].name, kernels[line].node);
  }
}
/* Told at the start, not refused: one file may be for many programs, and dlopen may bring it. */
static void say_unknown(const kernel *k) {
  char like[96];
  if (guest_library_has(k->name, like, sizeof like) || guest_replaces(k->name)) return;
  fprintf(stderr,
          "pm_run: --kernels: %s, line %d: %s: neither the program nor what it is linked with has "
          "or calls a function of that name%s%s\n",
          k->path, k->line, k->name, like[0] ? "; there is " : "", like);
}
/* Functions of the program itself are left at their first instruction. */
static void patch_program(pm_world *world) {
  (void)world;
  for (int i = 0; i < kernel_count; i++) {
    kernel *k = &kernels[i];
    const int done = k->thunk ? guest_patch_function(k->name, &k->thunk->to_program, &k->patch) : 0;
    k->is_patched = done > 0;
    if (k->thunk && !done) say_unknown(k);
    if (done < 0)
      guest_refuse_line("--kernels", k->path, k->line,
                        "%s is too short to be replaced: %zu byte%s up to what "
                        "follows it, %d are needed (compile it with -falign-functions=16)",
                        k->name, k->patch.room_bytes, k->patch.room_bytes == 1 ? "" : "s",
                        GUEST_PATCH_BYTES);
  }
}
static int tell(pm_world *world, int result) {
  (void)world;
  for (int i = 0; i < kernel_count; i++) {
    const kernel *k = &kernels[i];
    char node[32] = "";
    if (k->node >= 0) snprintf(node, sizeof node, " on node %d", k->node);
    if (k->calls)
      fprintf(stderr, "pm_run: %s%s: %ld calls, %.6f s of all processes together\n", k->name, node,
              k->calls, k->seconds);
    else if (k->node < 0 && !k->node_count)
      fprintf(stderr, "pm_run: %s: was not called\n", k->name);
  }
  return models_path && !write_models() && !result ? 2 : result;
}
static void set_models(const char *option, const char *path) {
  models_path = guest_to_write(option, path, NULL);
}
static void settings(pm_world_desc *desc, pm_platform *platform) {
  (void)platform;
  if (desc->compute_ratio > 0) compute_ratio = desc->compute_ratio;
  if (models_path && !kernel_count)
    guest_refuse("--measure-kernels: --kernels FILE names the functions");
  find_lines_of_nodes();
}
static const guest_option options[] = {
    {"--measure-kernels", "FILE",
     "functions of --kernels that have sizes and no times run once per size class; their models "
     "are "
     "written to FILE",
     set_models},
    {"--kernels", "FILE",
     "functions that take the time of a model and are not run (see src/guest/kernels.c)",
     read_kernels},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {.name = "kernels",
                          .options = options,
                          .settings = settings,
                          .begin = patch_program,
                          .finish = tell};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
