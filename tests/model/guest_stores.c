/* Which instructions of x86-64 may write memory: guests that wait are told from guests that compute by it. The
   assembler makes the instructions; none of them runs. Elsewhere everything may. */
#include "tests/test.h"
#include "src/guest/stores.c"

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
void never_run(void);
__attribute__((used)) void never_run(void) {
  __asm__ volatile(
      NO("mov %rax, %rbx") NO("mov (%rax), %rbx") YES("mov %rbx, (%rax)") YES("mov %ebx, 8(%r12)") YES("movb $1, 8(%rax,%r9,4)")
      YES("mov %rax, never_run(%rip)") NO("mov never_run(%rip), %rax") YES("movw $1, (%r13)") NO("lea 8(%rax), %rbx")
      NO("add (%rax), %rbx") NO("add $1, %rbx") YES("addl $1, (%rax)") YES("subl $1, never_run(%rip)") NO("sub %rax, %rbx")
      YES("sub %rax, (%rbx)") NO("cmp %rax, (%rbx)") NO("cmpl $1, (%rbx)") NO("cmpl $1000, 8(%rbx)") NO("cmp (%rbx), %al")
      NO("test %rax, (%rbx)") NO("testb $1, (%rbx)") YES("notl (%rbx)") YES("negl (%rbx)") NO("neg %rbx") NO("mull (%rbx)")
      NO("idivl (%rbx)") YES("incl (%rbx)") NO("inc %rbx") YES("decl (%rbx)") YES("incb (%rbx)") NO("call *(%rbx)") NO("jmp *(%rbx)")
      NO("push %rax") NO("pushq (%rbx)") NO("pop %r12") YES("popq (%rbx)") NO("call never_run") NO("ret") NO("leave") NO("jmp never_run")
      NO("je never_run") NO("nop") NO("nopw 512(%rax,%rax,1)") NO("pause") NO("endbr64") YES("xchg %rax, (%rbx)") NO("xchg %rax, %rbx")
      YES("lock cmpxchg %rax, (%rbx)") YES("lock incl (%rbx)") YES("shll $3, (%rbx)") NO("shl $3, %rbx") YES("sarl (%rbx)") NO("movslq (%rax), %rbx")
      NO("movzbl (%rax), %ebx") NO("movsbl (%rax), %ebx") NO("cmovne (%rax), %rbx") NO("setne %al") YES("setne (%rax)") NO("imul (%rax), %rbx")
      NO("imul $3, (%rax), %rbx") NO("cltq") NO("cqto") NO("btl $3, (%rax)") YES("btsl $3, (%rax)") YES("lock btsl $3, (%rax)") YES("bts %rcx, (%rax)")
      NO("bsf (%rax), %rbx") NO("popcnt (%rax), %rbx") NO("movups (%rax), %xmm1") YES("movups %xmm1, (%rax)") YES("movaps %xmm1, 16(%rax)")
      NO("movaps %xmm1, %xmm2") NO("movsd (%rax), %xmm9") YES("movsd %xmm9, (%rax)") YES("movss %xmm9, (%rax)") NO("movd (%rax), %xmm1")
      YES("movd %xmm1, (%rax)") NO("movd %xmm1, %eax") NO("movq (%rax), %xmm1") YES("movq %xmm1, (%rax)") YES("movdqu %xmm1, (%rax)") NO("movdqu (%rax), %xmm1")
      YES("movntdq %xmm1, (%rax)") YES("movnti %rax, (%rbx)") YES("movhps %xmm1, (%rax)") NO("movhps (%rax), %xmm1") NO("addsd (%rax), %xmm1")
      NO("ucomisd (%rax), %xmm1") NO("cvtsi2sdl (%rax), %xmm1") NO("pxor %xmm1, %xmm1") NO("pcmpeqb (%rax), %xmm1") NO("pmovmskb %xmm1, %eax")
      NO("pshufb (%rax), %xmm1") NO("pcmpistri $0x1a, (%rax), %xmm1") YES("pextrd $1, %xmm1, (%rax)") YES("maskmovdqu %xmm1, %xmm2")
      NO("vmovdqu (%rax), %ymm1") YES("vmovdqu %ymm1, (%rax)") YES("vmovdqu %ymm9, (%r10)") NO("vpcmpeqb (%rax), %ymm1, %ymm2") NO("vpmovmskb %ymm1, %eax")
      NO("vzeroupper") NO("vaddpd (%rax), %ymm1, %ymm2") YES("vmovq %xmm1, (%rax)") NO("vmovq (%rax), %xmm1") YES("vextracti128 $1, %ymm1, (%rax)")
      YES("vpmaskmovd %ymm1, %ymm2, (%rax)") NO("vpbroadcastb (%rax), %ymm1") NO("vfmadd231pd (%rax), %ymm1, %ymm2")
      YES("rep stosb") YES("movsb") YES("rep movsq") NO("repe cmpsb") NO("repne scasb") NO("lodsb") YES("syscall") YES("rdtsc") YES("cpuid") YES("fstpl (%rax)")
      YES("fstp %st(1)") YES("xaddl %eax, (%rbx)") YES("lock xaddl %eax, (%rbx)") YES("cmpxchg16b (%rbx)") YES("fxsave (%rax)") YES("stmxcsr (%rax)")
      YES("mov %al, 0x1122334455667788") YES("vmovdqu64 %zmm1, (%rax)") YES("mov %rax, %fs:(%rbx)") NO("mov %fs:(%rbx), %rax") YES("int3") YES("movbe %eax, (%rbx)")
      NO("crc32l (%rbx), %eax") YES("enter $8, $0") YES("pushf"));
}
static ucontext_t somewhere(void) {
  ucontext_t c;
  memset(&c, 0, sizeof c);
  for (int i = 0; i < 16; i++) c.uc_mcontext.gregs[i] = 0x10000;
  return c;
}
static void what_may_write_is_known(void) {
  const ucontext_t c = somewhere();
  int count = 0;
  for (const entry *e = __start_stores_table; e < __stop_stores_table; e++, count++)
    CHECK_STR(guest_may_store(e->code, &c, 0, 0) == e->stores ? "" : e->text, "");
  CHECK(count > 120);
}
/* Where: what is compared may be written. */
static void the_top_of_the_stack_is_no_store(void) {
  static const unsigned char code[][8] = {{0x48, 0x89, 0x44, 0x24, 0x08},              /* mov %rax, 8(%rsp) */
                                          {0x89, 0x84, 0x8C, 0x00, 0x01, 0x00, 0x00},  /* mov %eax, 256(%rsp,%rcx,4) */
                                          {0x41, 0xC6, 0x07, 0x01},                    /* movb $1, (%r15) */
                                          {0x43, 0x89, 0x44, 0x65, 0xF0}};             /* mov %eax, -16(%r13,%r12,2) */
  const uintptr_t at[] = {0x10008, 0x50100, 0x10000, 0x2FFF0};
  const ucontext_t c = somewhere();
  for (int k = 0; k < 4; k++) {
    CHECK(!guest_may_store(code[k], &c, at[k], at[k] + 32));
    CHECK(guest_may_store(code[k], &c, at[k] + 1, at[k] + 64));
    CHECK(guest_may_store(code[k], &c, at[k] - 64, at[k] + 31));
  }
}
#else
static void what_may_write_is_known(void) { CHECK(guest_may_store(NULL, NULL, 0, 0)); }
static void the_top_of_the_stack_is_no_store(void) {}
#endif

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_may_write_is_known);
  RUN(the_top_of_the_stack_is_no_store);
  return TEST_END();
}
