/* Does an instruction of x86-64 write memory, and where? For spins: who waits runs round and round and changes
   nothing but registers and the top of the stack; who computes changes something. What is not known here
   counts as a write, so that nobody is taken for waiting who may be computing. Coverage: what compilers make of
   loops that wait, and what the libc's functions on strings and words consist of. */
#include "guest.h"
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__)
typedef struct instruction {
  const unsigned char *at;       /* of what comes next */
  unsigned char op, rex, prefix; /* prefix: 0, 0x66, 0xF2 or 0xF3; rex: its bits W R X B */
  int has_segment;
} instruction;
typedef enum effect {
  NONE,
  WRITES_OPERAND,
  UNKNOWN
} effect; /* on memory; the stack by push and call: none */

static int group_of(const instruction *i) { return *i->at >> 3 & 7; } /* of ModRM: which of eight */
static effect writes_if(int condition) { return condition ? WRITES_OPERAND : NONE; }

/* 0F xx, also as VEX makes it */
static effect effect_of_two_bytes(const instruction *i) {
  const unsigned char op = i->op;
  if (op >= 0x80 && op < 0x90) return NONE;           /* jumps */
  if (op >= 0x90 && op < 0xA0) return WRITES_OPERAND; /* set a byte */
  if (op >= 0x40 && op < 0x50) return NONE;           /* moves on a condition */
  switch (op) {
  case 0x10:
  case 0x12:
  case 0x14:
  case 0x15:
  case 0x16:
  case 0x28:
  case 0x2A:
  case 0x2C:
  case 0x2D:
  case 0x2E:
  case 0x2F:
  case 0x18:
  case 0x19:
  case 0x1A:
  case 0x1B:
  case 0x1C:
  case 0x1D:
  case 0x1E:
  case 0x1F:
  case 0xA3:
  case 0xAF:
  case 0xB6:
  case 0xB7:
  case 0xB8:
  case 0xBC:
  case 0xBD:
  case 0xBE:
  case 0xBF:
  case 0xC2:
  case 0xC4:
  case 0xC5:
  case 0xC6: return NONE;
  case 0x11:
  case 0x13:
  case 0x17:
  case 0x29:
  case 0x2B:
  case 0x7F:
  case 0xD6:
  case 0xE7:
  case 0xA4:
  case 0xA5:
  case 0xAC:
  case 0xAD: return WRITES_OPERAND;
  case 0x7E: return writes_if(i->prefix != 0xF3);
  case 0xBA: return writes_if(group_of(i) != 4);
  case 0xF7: return UNKNOWN;
  default:
    return (op >= 0x50 && op < 0x78) || op >= 0xC8 ? NONE
                                                   : UNKNOWN; /* of vectors, into registers */
  }
}
/* 0F 38 xx and 0F 3A xx, also as VEX makes them */
static effect effect_of_three_bytes(const instruction *i, int map) {
  const unsigned char op = i->op;
  if (map == 3)
    return op >= 0x14 && op <= 0x17                 ? WRITES_OPERAND
           : op == 0x19 || op == 0x39 || op == 0x1D ? WRITES_OPERAND
                                                    : NONE;
  if (op == 0xF1) return writes_if(i->prefix != 0xF2);
  return op == 0x2E || op == 0x2F || op == 0x8E ? UNKNOWN : NONE;
}
static effect effect_of_one_byte(const instruction *i) {
  const unsigned char op = i->op;
  if (op < 0x40)
    return (op & 7) < 2   ? writes_if(op < 0x38)
           : (op & 7) < 6 ? NONE
                          : UNKNOWN;        /* add, or, ... cmp */
  if (op >= 0x50 && op < 0x60) return NONE; /* push, pop */
  if (op >= 0x70 && op < 0x80) return NONE; /* jumps */
  if (op >= 0xB0 && op < 0xC0) return NONE;
  switch (op) {
  case 0x63:
  case 0x68:
  case 0x69:
  case 0x6A:
  case 0x6B:
  case 0x84:
  case 0x85:
  case 0x8A:
  case 0x8B:
  case 0x8D:
  case 0x90:
  case 0x91:
  case 0x92:
  case 0x93:
  case 0x94:
  case 0x95:
  case 0x96:
  case 0x97:
  case 0x98:
  case 0x99:
  case 0xA6:
  case 0xA7:
  case 0xA8:
  case 0xA9:
  case 0xAC:
  case 0xAD:
  case 0xAE:
  case 0xAF:
  case 0xC2:
  case 0xC3:
  case 0xC9:
  case 0xE8:
  case 0xE9:
  case 0xEB: return NONE;
  case 0x86:
  case 0x87:
  case 0x88:
  case 0x89:
  case 0xC0:
  case 0xC1:
  case 0xC6:
  case 0xC7:
  case 0xD0:
  case 0xD1:
  case 0xD2:
  case 0xD3:
  case 0xFE: return WRITES_OPERAND;
  case 0x80:
  case 0x81:
  case 0x83: return writes_if(group_of(i) != 7);
  case 0xF6:
  case 0xF7: return writes_if(group_of(i) == 2 || group_of(i) == 3);
  case 0xFF:
    return group_of(i) < 2                                            ? WRITES_OPERAND
           : group_of(i) == 2 || group_of(i) == 4 || group_of(i) == 6 ? NONE
                                                                      : UNKNOWN;
  default:
    return UNKNOWN; /* calls of the system, repeated stores, the old floating-point unit, ... */
  }
}
/* Reads prefixes and the operation; at is then at its operands. */
static effect effect_of(instruction *i) {
  for (;; i->at++) {
    const unsigned char byte = *i->at;
    if (byte == 0x66 || byte == 0xF2 || byte == 0xF3)
      i->prefix = byte == 0x66 && i->prefix ? i->prefix : byte;
    else if (byte == 0x64 || byte == 0x65)
      i->has_segment = 1;
    else if (byte != 0x2E && byte != 0x3E)
      break;
  }
  if ((*i->at & 0xF0) == 0x40) i->rex = *i->at++ & 15;
  const unsigned char first = *i->at++;
  i->op = first;
  if (first == 0xC5) { /* VEX: the prefixes and 0F in two bytes */
    i->prefix = (unsigned char)"\0\x66\xF3\xF2"[*i->at & 3];
    i->at++;
    i->op = *i->at++;
    return effect_of_two_bytes(i);
  }
  if (first == 0xC4) { /* or in three, with the bits of REX upside down */
    const int map = *i->at & 31;
    i->rex = (unsigned char)(~*i->at >> 5 & 3);
    i->at++;
    i->prefix = (unsigned char)"\0\x66\xF3\xF2"[*i->at & 3];
    i->at++;
    i->op = *i->at++;
    return map == 1 ? effect_of_two_bytes(i) : map < 4 ? effect_of_three_bytes(i, map) : UNKNOWN;
  }
  if (first != 0x0F) return effect_of_one_byte(i);
  i->op = *i->at++;
  if (i->op != 0x38 && i->op != 0x3A) return effect_of_two_bytes(i);
  const int map = i->op == 0x38 ? 2 : 3;
  i->op = *i->at++;
  return effect_of_three_bytes(i, map);
}
static uintptr_t value_of(const ucontext_t *c, int number) {
  static const int names[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
  return (uintptr_t)c->uc_mcontext.gregs[names[number]];
}
/* Where ModRM points to. ret 0: it is a register, or (*is_elsewhere) a place in the program's image. */
static uintptr_t operand_of(const instruction *i, const ucontext_t *c, int *is_elsewhere) {
  const unsigned char *at = i->at;
  const int mod = *at >> 6, rm = *at & 7;
  uintptr_t where = 0;
  int32_t far;
  *is_elsewhere = 0;
  if (mod == 3) return 0;
  int base = rm | (i->rex & 1) << 3;
  at++;
  if (rm == 4) {
    const int index = (*at >> 3 & 7) | (i->rex & 2) << 2;
    if (index != 4) where = value_of(c, index) << (*at >> 6);
    base = (*at & 7) | (i->rex & 1) << 3;
    at++;
  }
  if (mod == 0 && (base & 7) == 5) return *is_elsewhere = 1, 0;
  where += value_of(c, base);
  if (mod == 1) return where + (uintptr_t)(intptr_t)(signed char)*at;
  if (mod == 0) return where;
  memcpy(&far, at, sizeof far);
  return where + (uintptr_t)(intptr_t)far;
}

/* ret 1: the instruction at c's place may write memory outside of [low, high), or may call the system */
int guest_may_store(const unsigned char *code, const ucontext_t *c, uintptr_t low, uintptr_t high) {
  enum { MOST_BYTES = 32 }; /* that one instruction writes */
  instruction i = {.at = code};
  int is_elsewhere;
  const effect is = effect_of(&i);
  if (is != WRITES_OPERAND) return is == UNKNOWN;
  const uintptr_t where = operand_of(&i, c, &is_elsewhere);
  if (is_elsewhere || (where && i.has_segment)) return 1;
  return where && (where < low || where + MOST_BYTES > high);
}
#else
int guest_may_store(const unsigned char *code, const ucontext_t *c, uintptr_t low, uintptr_t high) {
  (void)code, (void)c, (void)low, (void)high;
  return 1;
}
#endif
