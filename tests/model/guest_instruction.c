/* Which instructions of x86-64 may write memory: guests that wait are told from guests that compute by it. The
   assembler makes the instructions; none of them runs. Elsewhere everything may. */
#include "tests/test.h"
#include "src/guest/instruction.c"
#include <sys/mman.h>

#if defined(__x86_64__)
typedef struct entry {
  const unsigned char *code;
  const char *text;
  long stores;
} entry;
extern const entry __start_stores_table[], __stop_stores_table[];
#define I(text, stores)                                                                             \
  ".pushsection stores_table,\"aw\"\n .quad 1f, 2f, " #stores "\n .popsection\n"                      \
  ".pushsection .rodata\n 2: .asciz \"" text "\"\n .popsection\n 1: " text "\n"
#define NO(text)  I(text, 0)
#define YES(text) I(text, 1)
#define OPEN(text) I(text, 2)
void never_run(void);
__attribute__((used)) void never_run(void) {
  __asm__ volatile(
      NO("mov %rax, %rbx") NO("mov (%rax), %rbx") YES("mov %rbx, (%rax)") YES("mov %ebx, 8(%r12)") YES("movb $1, 8(%rax,%r9,4)")
      YES("mov %rax, never_run(%rip)") NO("mov never_run(%rip), %rax") YES("movw $1, (%r13)") NO("lea 8(%rax), %rbx")
      NO("add (%rax), %rbx") NO("add $1, %rbx") YES("addl $1, (%rax)") YES("subl $1, never_run(%rip)") NO("sub %rax, %rbx")
      YES("sub %rax, (%rbx)") NO("cmp %rax, (%rbx)") NO("cmpl $1, (%rbx)") NO("cmpl $1000, 8(%rbx)") NO("cmp (%rbx), %al")
      NO("test %rax, (%rbx)") NO("testb $1, (%rbx)") YES("notl (%rbx)") YES("negl (%rbx)") NO("neg %rbx") NO("mull (%rbx)")
      NO("idivl (%rbx)") YES("incl (%rbx)") NO("inc %rbx") YES("decl (%rbx)") YES("incb (%rbx)") YES("call *(%rbx)") NO("jmp *(%rbx)")
      YES("push %rax") YES("pushq (%rbx)") NO("pop %r12") OPEN("popq (%rbx)") YES("call never_run") NO("ret") NO("leave") NO("jmp never_run")
      NO("je never_run") NO("nop") NO("nopw 512(%rax,%rax,1)") NO("pause") NO("endbr64") YES("xchg %rax, (%rbx)") NO("xchg %rax, %rbx")
      YES("lock cmpxchg %rax, (%rbx)") YES("lock incl (%rbx)") YES("shll $3, (%rbx)") NO("shl $3, %rbx") YES("sarl (%rbx)") NO("movslq (%rax), %rbx")
      NO("movzbl (%rax), %ebx") NO("movsbl (%rax), %ebx") NO("cmovne (%rax), %rbx") NO("setne %al") YES("setne (%rax)") NO("imul (%rax), %rbx")
      NO("imul $3, (%rax), %rbx") NO("cltq") NO("cqto") NO("btl $3, (%rax)") YES("btsl $3, (%rax)") YES("lock btsl $3, (%rax)") OPEN("bts %rcx, (%rax)")
      NO("bsf (%rax), %rbx") NO("popcnt (%rax), %rbx") NO("movups (%rax), %xmm1") YES("movups %xmm1, (%rax)") YES("movaps %xmm1, 16(%rax)")
      NO("movaps %xmm1, %xmm2") NO("movsd (%rax), %xmm9") YES("movsd %xmm9, (%rax)") YES("movss %xmm9, (%rax)") NO("movd (%rax), %xmm1")
      YES("movd %xmm1, (%rax)") NO("movd %xmm1, %eax") NO("movq (%rax), %xmm1") YES("movq %xmm1, (%rax)") YES("movdqu %xmm1, (%rax)") NO("movdqu (%rax), %xmm1")
      YES("movntdq %xmm1, (%rax)") YES("movnti %rax, (%rbx)") YES("movhps %xmm1, (%rax)") NO("movhps (%rax), %xmm1") NO("addsd (%rax), %xmm1")
      NO("ucomisd (%rax), %xmm1") NO("cvtsi2sdl (%rax), %xmm1") NO("pxor %xmm1, %xmm1") NO("pcmpeqb (%rax), %xmm1") NO("pmovmskb %xmm1, %eax")
      NO("pshufb (%rax), %xmm1") NO("pcmpistri $0x1a, (%rax), %xmm1") YES("pextrd $1, %xmm1, (%rax)") OPEN("maskmovdqu %xmm1, %xmm2")
      NO("vmovdqu (%rax), %ymm1") YES("vmovdqu %ymm1, (%rax)") YES("vmovdqu %ymm9, (%r10)") NO("vpcmpeqb (%rax), %ymm1, %ymm2") NO("vpmovmskb %ymm1, %eax")
      NO("vzeroupper") NO("vaddpd (%rax), %ymm1, %ymm2") YES("vmovq %xmm1, (%rax)") NO("vmovq (%rax), %xmm1") YES("vextracti128 $1, %ymm1, (%rax)")
      OPEN("vpmaskmovd %ymm1, %ymm2, (%rax)") NO("vpbroadcastb (%rax), %ymm1") NO("vfmadd231pd (%rax), %ymm1, %ymm2")
      YES("rep stosb") YES("movsb") YES("rep movsq") NO("repe cmpsb") NO("repne scasb") NO("lodsb") OPEN("syscall") OPEN("rdtsc") OPEN("cpuid") OPEN("fstpl (%rax)")
      OPEN("fstp %st(1)") YES("xaddl %eax, (%rbx)") YES("lock xaddl %eax, (%rbx)") YES("cmpxchg16b (%rbx)") OPEN("fxsave (%rax)") OPEN("stmxcsr (%rax)")
      OPEN("movabs %al, 0x1122334455667788") OPEN("vmovdqu64 %zmm1, (%rax)") YES("mov %rax, %fs:(%rbx)") NO("mov %fs:(%rbx), %rax") OPEN("int3") YES("movbe %eax, (%rbx)")
      NO("crc32l (%rbx), %eax") OPEN("enter $8, $0") OPEN("pushf") NO("mfence") NO("lfence") NO("sfence") OPEN("rdrand %eax") OPEN("xbegin never_run")
      YES("cmpxchg %rax, (%rbx)") NO("cmpxchg %rax, %rbx") OPEN("kaddw %k1, %k2, %k3") OPEN("kmovw %k1, %eax") NO("loop 1b")
      NO("xchg %ax, %ax") YES("lock orl $0, (%rsp)") OPEN("int $0x80") OPEN("ldmxcsr (%rax)") YES("cmpxchg8b (%rbx)"));
}
static ucontext_t somewhere(void) {
  ucontext_t c;
  memset(&c, 0, sizeof c);
  for (int i = 0; i < 16; i++) c.uc_mcontext.gregs[i] = 0x10000;
  return c;
}
/* 0: none, 1: writes, 2: not known */
static int effect_on_memory(const unsigned char *code, const ucontext_t *c) {
  uintptr_t where;
  size_t bytes;
  return !guest_stores(code, c, &where, &bytes) ? 2 : bytes > 0;
}
static void what_may_write_is_known(void) {
  const ucontext_t c = somewhere();
  int count = 0;
  for (const entry *e = __start_stores_table; e < __stop_stores_table; e++, count++)
    CHECK_STR(effect_on_memory(e->code, &c) == e->stores ? "" : e->text, "");
  CHECK(count > 140);
}
/* Where; next is the end of the instruction. Each stands at the end of a page, and the next one cannot be read. */
static void where_it_writes_is_known(void) {
  static const struct {
    unsigned char code[12];
    long at, from_next; /* of these, the other is 0 */
    int length;
  } is[] = {{{0x48, 0x89, 0x44, 0x24, 0x08}, 0x10008, 0, 5},                            /* mov %rax, 8(%rsp) */
            {{0x89, 0x84, 0x8C, 0x00, 0x01, 0x00, 0x00}, 0x50100, 0, 7},                /* mov %eax, 256(%rsp,%rcx,4) */
            {{0x41, 0xC6, 0x07, 0x01}, 0x10000, 0, 4},                                  /* movb $1, (%r15) */
            {{0x43, 0x89, 0x44, 0x65, 0xF0}, 0x2FFF0, 0, 5},                            /* mov %eax, -16(%r13,%r12,2) */
            {{0x89, 0x04, 0x8D, 0x00, 0x02, 0x00, 0x00}, 0x40200, 0, 7},                /* mov %eax, 512(,%rcx,4) */
            {{0x48, 0x89, 0x03}, 0x10000, 0, 3},                                        /* mov %rax, (%rbx) */
            {{0x48, 0x89, 0x04, 0x24}, 0x10000, 0, 4},                                  /* mov %rax, (%rsp) */
            {{0x50}, 0xFFF8, 0, 1},                                                     /* push %rax */
            {{0xE8, 0, 0, 0, 0}, 0xFFF8, 0, 5},                                         /* call */
            {{0xF3, 0xAA}, 0x10000, 0, 2},                                              /* rep stosb */
            {{0x89, 0x05, 0x40, 0, 0, 0}, 0, 0x40, 6},                                  /* mov %eax, 64(%rip) */
            {{0x83, 0x2D, 0x40, 0, 0, 0, 1}, 0, 0x40, 7},                               /* subl $1, 64(%rip) */
            {{0x66, 0x81, 0x2D, 0x40, 0, 0, 0, 1, 1}, 0, 0x40, 9},                      /* subw $257, 64(%rip) */
            {{0x48, 0xC7, 0x05, 0xC0, 0xFF, 0xFF, 0xFF, 1, 1, 1, 1}, 0, -0x40, 11},     /* movq $..., -64(%rip) */
            {{0xC5, 0xFE, 0x7F, 0x4B, 0x20}, 0x10020, 0, 5}};                           /* vmovdqu %ymm1, 32(%rbx) */
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *const pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char *const end = pages + page;
  CHECK(pages != MAP_FAILED && mprotect(end, page, PROT_NONE) == 0);
  const ucontext_t c = somewhere();
  for (size_t k = 0; k < sizeof is / sizeof *is; k++) {
    unsigned char *const code = end - is[k].length;
    uintptr_t where = 0;
    size_t bytes = 0;
    memcpy(code, is[k].code, (size_t)is[k].length);
    CHECK(guest_stores(code, &c, &where, &bytes) && bytes >= 8);
    CHECK(where == (is[k].at ? (uintptr_t)is[k].at : (uintptr_t)end + (uintptr_t)is[k].from_next));
  }
  munmap(pages, 2 * page);
}
/* Variables of a thread lie in a segment. */
static __thread volatile long of_thread;
static void where_a_segment_lies_is_known(void) {
  static const unsigned char code[] = {0x64, 0x48, 0x89, 0x03}; /* mov %rax, %fs:(%rbx) */
  ucontext_t c = somewhere();
  uintptr_t where = 0, base;
  size_t bytes = 0;
  __asm__("mov %%fs:0, %0" : "=r"(base)); /* its first word is its address */
  c.uc_mcontext.gregs[REG_RBX] = (greg_t)((uintptr_t)&of_thread - base);
  CHECK(guest_stores(code, &c, &where, &bytes) && bytes >= 8);
  CHECK(where == (uintptr_t)&of_thread);
}
static void where_jumps_go_is_known(void) {
  enum { CARRY = 1, ZERO = 0x40, SIGN = 0x80, OVERFLOW = 0x800 };
  static const struct {
    unsigned char code[8];
    unsigned long flags;
    int goes; /* bytes from its beginning; 0: it is no jump */
  } is[] = {{{0xEB, 0x10}, 0, 0x12},        {{0xEB, 0xFE}, 0, 0},          {{0x74, 0x10}, ZERO, 0x12},
            {{0x74, 0x10}, CARRY, 2},       {{0x75, 0x80}, 0, -0x7E},      {{0x72, 0x10}, CARRY, 0x12},
            {{0x76, 0x10}, ZERO, 0x12},     {{0x77, 0x10}, CARRY, 2},      {{0x7C, 0x10}, SIGN, 0x12},
            {{0x7C, 0x10}, SIGN | OVERFLOW, 2},   {{0x7E, 0x10}, ZERO, 0x12},    {{0x7F, 0x10}, 0, 0x12},
            {{0xE9, 0, 1, 0, 0}, 0, 0x105}, {{0x0F, 0x85, 0, 1, 0, 0}, 0, 0x106}, {{0x0F, 0x85, 0, 1, 0, 0}, ZERO, 6},
            {{0xF3, 0x90}, 0, 2},           {{0x90}, 0, 0},                {{0x3E, 0x74, 0x10}, ZERO, 0x13},
            {{0xC3}, 0, 0},                 {{0xFF, 0xE0}, 0, 0},          {{0x83, 0xF8, 0x74}, 0, 0}};
  unsigned char at[8];
  for (size_t k = 0; k < sizeof is / sizeof *is; k++) {
    memcpy(at, is[k].code, sizeof at);
    const unsigned char first = at[0];
    at[0] = 0xCC; /* as a trap hides it */
    const unsigned char *const to = guest_goes_to(at, first, is[k].flags);
    const int is_itself = first == 0xEB && at[1] == 0xFE;
    CHECK(is_itself ? to == at : is[k].goes ? to == at + is[k].goes : to == NULL);
  }
}
/* Which registers that return something an instruction writes: R rax, 0 and 1 the vectors, by their bits. */
typedef struct writer {
  const unsigned char *code, *end;
  const char *text;
  long written;
} writer;
extern const writer __start_writes_table[], __stop_writes_table[];
#define W(text, written)                                                                               \
  ".pushsection writes_table,\"aw\"\n .quad 1f, 3f, 2f, " #written "\n .popsection\n"                  \
  ".pushsection .rodata\n 2: .asciz \"" text "\"\n .popsection\n 1: " text "\n 3:\n"
void never_run_either(void);
__attribute__((used)) void never_run_either(void) {
  __asm__ volatile(
      W("mov %rcx, %rbx", 0) W("mov (%rcx), %eax", 1) W("mov %ecx, %r8d", 0) W("mov $1, %eax", 1) W("mov $1, %r8d", 0) W("movabs $0x1122334455667788, %rcx", 0)
      W("movb $1, 8(%rsp)", 0) W("movw $1, 8(%rsp)", 0) W("movl $1, 800(%rsp,%rcx,4)", 0) W("movq $1, never_run(%rip)", 0) W("xor %eax, %eax", 1)
      W("add $1, %eax", 1) W("add $1, %ecx", 0) W("add $1000, %rax", 1) W("add $1000, %rcx", 0) W("addw $1000, %cx", 0) W("cmp $1, %cl", 0) W("lea (%rcx,%rdx), %eax", 1)
      W("lea (%rcx,%rdx), %esi", 0) W("imul %edx", 1) W("imul $1000, %ecx, %edx", 0) W("imul $3, %ecx, %edx", 0) W("idivl (%rcx)", 1) W("neg %ecx", 0) W("notl %eax", 1)
      W("testb $1, (%rcx)", 0) W("testl $1, (%rcx)", 0) W("test %ecx, %ecx", 0) W("shl $3, %eax", 1) W("shl $3, %ecx", 0) W("sar %ecx", 0) W("inc %eax", 1) W("inc %ecx", 0) W("pop %rax", 1) W("pop %rcx", 0)
      W("push %rcx", 0) W("cltq", 1) W("cltd", 0) W("xchg %rax, %rcx", 1) W("nop", 0) W("nopw 512(%rax,%rax,1)", 0) W("endbr64", 0) W("ret", 0) W("leave", 0)
      W("sete %al", 1) W("sete %cl", 0) W("sete (%rcx)", 0) W("cmovne %ecx, %edx", 0) W("cmovne %ecx, %eax", 1) W("movzbl (%rcx), %eax", 1) W("movslq %ecx, %rdx", 0) W("bt $3, %ecx", 0)
      W("bswap %eax", 1) W("bswap %ecx", 0) W("lock cmpxchg %ecx, (%rdx)", 1) W("rdtsc", 1) W("cpuid", 1) W("mfence", 0) W("rep stosb", 0) W("lodsb", 1) W("1: loop 1b", 0) W("1: je 1b", 0)
      W("movss (%rcx), %xmm0", 2) W("movss (%rcx), %xmm1", 4) W("movss (%rcx), %xmm2", 0) W("movsd (%rcx), %xmm8", 0) W("movsd %xmm0, (%rcx)", 0) W("movaps %xmm2, %xmm0", 2) W("movaps %xmm0, %xmm2", 0)
      W("addsd %xmm0, %xmm1", 4) W("addsd %xmm1, %xmm0", 2) W("addsd %xmm0, %xmm9", 0) W("pxor %xmm0, %xmm0", 2) W("ucomisd %xmm0, %xmm1", 0) W("cvtsi2sd %ecx, %xmm0", 2) W("cvttsd2si %xmm0, %ecx", 0) W("cvttsd2si %xmm2, %eax", 1)
      W("movd %xmm0, %ecx", 0) W("movd %xmm2, %eax", 1) W("movd %ecx, %xmm0", 2) W("movq %xmm2, %xmm0", 2) W("movq %xmm0, (%rcx)", 0) W("pmovmskb %xmm0, %ecx", 0) W("movmskpd %xmm2, %eax", 1) W("psrldq $8, %xmm0", 2) W("shufps $0, %xmm0, %xmm2", 0)
      W("cmpltsd %xmm0, %xmm1", 4) W("pshufb %xmm2, %xmm0", 2) W("palignr $8, %xmm0, %xmm2", 0) W("pextrd $1, %xmm0, %ecx", 0) W("pextrd $1, %xmm2, %eax", 1) W("roundsd $1, %xmm2, %xmm0", 2)
      W("vmovsd (%rcx), %xmm8", 0) W("vmovsd (%rcx), %xmm0", 2) W("vaddpd %ymm0, %ymm1, %ymm2", 0) W("vaddpd %ymm3, %ymm2, %ymm1", 4) W("vfmadd231pd %ymm0, %ymm2, %ymm9", 0) W("vfmadd231pd %ymm2, %ymm3, %ymm0", 2)
      W("vinsertf128 $1, %xmm0, %ymm2, %ymm2", 0) W("vextractf128 $1, %ymm2, %xmm0", 2) W("vextractf128 $1, %ymm0, %xmm2", 0) W("vzeroupper", 0) W("shlx %ecx, %edx, %esi", 0) W("shlx %ecx, %edx, %eax", 1) W("rorx $3, %ecx, %edx", 0) W("kmovw %k0, %ecx", 0) W("kmovw %k1, %eax", 1)
      W("vmovupd 128(%rcx), %zmm16", 0) W("vmovupd 100(%rcx), %zmm0", 2) W("vaddpd %zmm16, %zmm17, %zmm18", 0) W("vaddpd %zmm2, %zmm3, %zmm1", 4) W("vpternlogd $3, %zmm17, %zmm18, %zmm20", 0) W("vpmovqd %zmm2, %ymm0", 2) W("vcvtps2ph $0, %ymm0, %xmm2", 0)
      W("fldl (%rcx)", 0) W("fnstsw %ax", 1) W("call never_run", 7) W("jmp never_run", 7) W("je never_run", 7) W("jmp *%rcx", 7) W("call *8(%rcx)", 7) W("syscall", 1) W("ud2", 0) W("enter $8, $0", 7));
}
static void which_results_are_written_is_known(void) {
  for (const writer *w = __start_writes_table; w < __stop_writes_table; w++) {
    const unsigned written = guest_writes(w->code, (size_t)(w->end - w->code));
    const instruction i = read_any(w->code);
    bool has_operand;
    const int tail = tail_of(&i, &has_operand);
    if (written != (unsigned)w->written) fprintf(stderr, "%s: %u\n", w->text, written);
    CHECK(written == (unsigned)w->written);
    CHECK(tail < 0 || i.at + (has_operand ? operand_bytes(i.at) : 0) + tail == w->end);
  }
  CHECK(guest_writes((const unsigned char *)"", 0) == 7); /* a function that says no length */
}
#else
static void which_results_are_written_is_known(void) {}
static void what_may_write_is_known(void) {}
static void where_it_writes_is_known(void) {}
static void where_a_segment_lies_is_known(void) {}
static void where_jumps_go_is_known(void) {}
#endif

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_may_write_is_known);
  RUN(where_it_writes_is_known);
  RUN(where_a_segment_lies_is_known);
  RUN(where_jumps_go_is_known);
  RUN(which_results_are_written_is_known);
  return TEST_END();
}
