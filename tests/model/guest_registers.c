/* A guest of pm_run whose functions --kernels replaces. Written in assembler, as a compiler may: the caller keeps values
   in every register that `quiet` leaves alone, `tiny` has only a gap behind it, `cramped` not even that. */
#include <pmi.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 9, VECTORS = 32, MASKS = 8 };
typedef struct all {
  unsigned long words[WORDS]; /* rax rcx rdx rsi rdi r8 r9 r10 r11 */
  unsigned char pad[56];
  unsigned char vectors[VECTORS][64];
  unsigned long masks[MASKS];
} all;
/* Fills all registers from first, calls fn, writes them all to then; level: 0 SSE, 1 AVX, 2 AVX-512. */
void through(const all *first, all *then, void (*fn)(void), int level);
void quiet(void), tiny(void), cramped(void), loud(void);
__asm__(".text\n.p2align 4\n.globl quiet, tiny, cramped, loud, through\n"
        ".type quiet, @function\nquiet:\n\tmovl $1, -8(%rsp)\n\tret\n.size quiet, .-quiet\n"
        ".type loud, @function\nloud:\n\tmovl $7, %eax\n\tmovups (%rsi), %xmm0\n\tret\n.size loud, .-loud\n"
        "\t.p2align 4\n.type tiny, @function\ntiny:\n\tret\n.size tiny, .-tiny\n\t.p2align 4\n"
        ".type cramped, @function\ncramped:\n\tret\n.size cramped, .-cramped\n"
        ".type through, @function\nthrough:\n"
        "\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
        "\tmovq %rdi, %r12\n\tmovq %rsi, %r13\n\tmovq %rdx, %r14\n\tmovl %ecx, %r15d\n"
        "\tcmpl $1, %r15d\n\tje 1f\n\tja 2f\n"
        "\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tmovups 128+64*\\n(%r12), %xmm\\n\n\t.endr\n\tjmp 3f\n"
        "1:\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tvmovups 128+64*\\n(%r12), %ymm\\n\n\t.endr\n\tjmp 3f\n"
        "2:\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "\tvmovups 128+64*\\n(%r12), %zmm\\n\n\t.endr\n"
        "\t.irp n,0,1,2,3,4,5,6,7\n\tkmovq 2176+8*\\n(%r12), %k\\n\n\t.endr\n"
        "3:\tmovq (%r12), %rax\n\tmovq 8(%r12), %rcx\n\tmovq 16(%r12), %rdx\n\tmovq 24(%r12), %rsi\n\tmovq 32(%r12), %rdi\n"
        "\tmovq 40(%r12), %r8\n\tmovq 48(%r12), %r9\n\tmovq 56(%r12), %r10\n\tmovq 64(%r12), %r11\n\tcall *%r14\n"
        "\tmovq %rax, (%r13)\n\tmovq %rcx, 8(%r13)\n\tmovq %rdx, 16(%r13)\n\tmovq %rsi, 24(%r13)\n\tmovq %rdi, 32(%r13)\n"
        "\tmovq %r8, 40(%r13)\n\tmovq %r9, 48(%r13)\n\tmovq %r10, 56(%r13)\n\tmovq %r11, 64(%r13)\n"
        "\tcmpl $1, %r15d\n\tje 1f\n\tja 2f\n"
        "\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tmovups %xmm\\n, 128+64*\\n(%r13)\n\t.endr\n\tjmp 3f\n"
        "1:\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tvmovups %ymm\\n, 128+64*\\n(%r13)\n\t.endr\n\tjmp 3f\n"
        "2:\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "\tvmovups %zmm\\n, 128+64*\\n(%r13)\n\t.endr\n"
        "\t.irp n,0,1,2,3,4,5,6,7\n\tkmovq %k\\n, 2176+8*\\n(%r13)\n\t.endr\n"
        "3:\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tret\n.size through, .-through\n");
/* Only vectors of the given level were read back. */
static int changes(const all *first, const all *then, int level) {
  int n = 0;
  for (int i = 0; i < WORDS; i++)
    if (first->words[i] != then->words[i]) n++, printf("word %d: %lx\n", i, then->words[i]);
  for (int i = 0; i < (level == 2 ? VECTORS : 16); i++)
    if (memcmp(first->vectors[i], then->vectors[i], 16U << level) != 0) n++, printf("vector %d\n", i);
  for (int i = 0; i < MASKS && level == 2; i++)
    if (first->masks[i] != then->masks[i]) n++, printf("mask %d\n", i);
  return n;
}
int main(void) {
  static all first, then;
  int spawned;
  const int level = __builtin_cpu_supports("avx512bw") ? 2 : __builtin_cpu_supports("avx") ? 1 : 0;
  PMI_Init(&spawned);
  for (size_t i = 0; i < sizeof first; i++) ((unsigned char *)&first)[i] = (unsigned char)(i * 7 + 1);
  first.words[4] = 1000; /* the argument */
  through(&first, &then, quiet, level);
  printf("quiet: %d changed\n", changes(&first, &then, level));
  tiny();
  cramped();
  memset(&first.vectors[0], 0, sizeof first.vectors[0]); /* as it is after loud, where rax alone changes then */
  memset(&first.vectors[1], 0, sizeof first.vectors[1]);
  through(&first, &then, quiet, level);
  printf("zeros: %d changed\n", changes(&first, &then, level));
  first.words[3] = (unsigned long)&first.vectors[0]; /* what loud reads */
  memset(&first.vectors[1], 1, sizeof first.vectors[1]);
  through(&first, &then, loud, level);
  printf("loud: rax %lu\n", then.words[0]);
  then.words[0] = first.words[0];
  printf("loud: %d changed\n", changes(&first, &then, level));
  return 0;
}
