/* What an instruction of x86-64 does to memory, and where it goes. For spins: a round of a loop that leaves all
   registers and all that it wrote as they were waits for somebody else; who computes changes something. What is
   not known here counts as a change, so that nobody is taken for waiting who may be computing. Coverage: what
   compilers make of loops that wait, and what the libc's functions on strings and words consist of. At the end, for
   functions that --kernels replaces: which registers a function writes. */
#include "guest.h"
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
typedef struct instruction {
  const unsigned char *at;       /* of what comes next */
  unsigned char op, rex, prefix; /* prefix: 0, 0x66, 0xF2 or 0xF3; rex: its bits W R X B */
  unsigned char segment;         /* 0, 0x64 or 0x65 */
  int map; /* map of op: 0, 1 (0F), 2 (0F 38), 3 (0F 3A) or one that is not known here */
  bool is_vex;
} instruction;
typedef enum effect { NONE, WRITES_OPERAND, WRITES_AT_RDI, PUSHES, UNKNOWN } effect; /* on memory */

static int group_of(const instruction *i) { return *i->at >> 3 & 7; } /* of ModRM: which of eight */
static effect writes_if(int condition) { return condition ? WRITES_OPERAND : NONE; }

/* 0F xx, also as VEX makes it */
static effect effect_of_two_bytes(const instruction *i) {
  const unsigned char op = i->op;
  if (i->is_vex && ((op & 0xF0) == 0x40 || (op & 0xF0) == 0x90))
    return UNKNOWN;                                   /* mask registers, which nobody compares */
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
  case 0xAD:
  case 0xB0:
  case 0xB1:
  case 0xC0:
  case 0xC1:
  case 0xC3: return WRITES_OPERAND;
  case 0x7E: return writes_if(i->prefix != 0xF3);
  case 0xAE: return *i->at >= 0xE8 && !i->prefix ? NONE : UNKNOWN; /* fences */
  case 0xBA: return writes_if(group_of(i) != 4);
  case 0xC7: return *i->at < 0xC0 && group_of(i) == 1 ? WRITES_OPERAND : UNKNOWN;
  case 0xF7: return UNKNOWN;
  default:
    return (op >= 0x50 && op < 0x78) || op >= 0xC8 ? NONE
                                                   : UNKNOWN; /* of vectors, into registers */
  }
}
/* 0F 38 xx and 0F 3A xx, also as VEX makes them */
static effect effect_of_three_bytes(const instruction *i, int map) {
  const unsigned char op = i->op;
  if (i->is_vex &&
      (map == 3 ? (op & 0xFC) == 0x30 : op == 0x49 || op == 0x4B || op == 0x5C || op == 0x5E))
    return UNKNOWN; /* masks and tiles, which nobody compares */
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
                          : UNKNOWN; /* add, or, ... cmp */
  if (op >= 0x50 && op < 0x60) return op < 0x58 ? PUSHES : NONE;
  if (op >= 0x70 && op < 0x80) return NONE; /* jumps */
  if (op >= 0xB0 && op < 0xC0) return NONE;
  switch (op) {
  case 0x68:
  case 0x6A:
  case 0xE8: return PUSHES;
  case 0xA4:
  case 0xA5:
  case 0xAA:
  case 0xAB: return WRITES_AT_RDI;
  case 0x63:
  case 0x69:
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
  case 0xE0:
  case 0xE1:
  case 0xE2:
  case 0xE3:
  case 0xE9:
  case 0xEB: return NONE;
  case 0x86:
  case 0x87:
  case 0x88:
  case 0x89:
  case 0xC0:
  case 0xC1:
  case 0xD0:
  case 0xD1:
  case 0xD2:
  case 0xD3:
  case 0xFE: return WRITES_OPERAND;
  case 0xC6:
  case 0xC7: return group_of(i) == 0 ? WRITES_OPERAND : UNKNOWN; /* 7: transactions */
  case 0x80:
  case 0x81:
  case 0x83: return writes_if(group_of(i) != 7);
  case 0xF6:
  case 0xF7: return writes_if(group_of(i) == 2 || group_of(i) == 3);
  case 0xFF:
    return group_of(i) < 2                        ? WRITES_OPERAND
           : group_of(i) == 2 || group_of(i) == 6 ? PUSHES
           : group_of(i) == 4                     ? NONE
                                                  : UNKNOWN;
  default: return UNKNOWN; /* calls of the system, the old floating-point unit, ... */
  }
}
static effect effect_of(const instruction *i) {
  return i->map == 0   ? effect_of_one_byte(i)
         : i->map == 1 ? effect_of_two_bytes(i)
         : i->map < 4  ? effect_of_three_bytes(i, i->map)
                       : UNKNOWN;
}
/* Prefixes and the operation; at is then at its operands. first is the first byte, which a trap may hide. */
static instruction read_instruction(const unsigned char *code, unsigned char first) {
  instruction i = {.at = code + 1};
  unsigned char byte = first;
  for (;; byte = *i.at++) {
    if (byte == 0x66 || byte == 0xF2 || byte == 0xF3)
      i.prefix = byte == 0x66 && i.prefix ? i.prefix : byte;
    else if (byte == 0x64 || byte == 0x65)
      i.segment = byte;
    else if (byte != 0x2E && byte != 0x3E && byte != 0xF0)
      break;
  }
  if ((byte & 0xF0) == 0x40) i.rex = byte & 15, byte = *i.at++;
  i.op = byte;
  if (byte == 0xC4 || byte == 0xC5) { /* VEX: prefixes and 0F, with the bits of REX upside down */
    i.is_vex = true, i.map = 1;
    if (byte == 0xC4) {
      i.map = *i.at & 31 ? *i.at & 31 : 31;
      i.rex = (unsigned char)(~*i.at++ >> 5 & 7);
    } else
      i.rex = (unsigned char)(~*i.at >> 5 & 4);
    i.prefix = (unsigned char)"\0\x66\xF3\xF2"[*i.at++ & 3];
    i.op = *i.at++;
  } else if (byte == 0x0F) {
    i.map = 1;
    i.op = *i.at++;
    if (i.op == 0x38 || i.op == 0x3A) {
      i.map = i.op == 0x38 ? 2 : 3;
      i.op = *i.at++;
    }
  }
  return i;
}
static uintptr_t value_of(const ucontext_t *c, int number) {
  static const int names[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
  return (uintptr_t)c->uc_mcontext.gregs[names[number]];
}
/* Bytes of the number that stands behind the operand of an instruction that writes it. */
static int immediate_bytes(const instruction *i) {
  const unsigned char op = i->op;
  if (i->map == 3) return 1;
  if (i->map == 1) return op == 0xBA || op == 0xA4 || op == 0xAC;
  if (i->map) return 0;
  if (op == 0x81 || op == 0xC7) return i->prefix == 0x66 ? 2 : 4;
  return op == 0x80 || op == 0x83 || op == 0xC0 || op == 0xC1 || op == 0xC6;
}
static uintptr_t segment_of(const instruction *i) {
  enum { GET_FS = 0x1003, GET_GS = 0x1004 }; /* of asm/prctl.h */
  uintptr_t base = 0;
  if (i->segment) syscall(SYS_arch_prctl, i->segment == 0x64 ? GET_FS : GET_GS, &base);
  return base;
}
static uintptr_t displacement_of(const unsigned char *at) {
  int32_t d;
  memcpy(&d, at, sizeof d);
  return (uintptr_t)(intptr_t)d;
}
/* Where ModRM points to. Behind the instruction nothing is read: a program's text may end there.
   ret 0: it is a register */
static uintptr_t operand_of(const instruction *i, const ucontext_t *c) {
  const unsigned char *at = i->at;
  const int mod = *at >> 6, rm = *at & 7;
  uintptr_t where = segment_of(i);
  int base = rm | (i->rex & 1) << 3;
  if (mod == 3) return 0;
  at++;
  if (rm == 4) {
    const int index = (*at >> 3 & 7) | (i->rex & 2) << 2;
    if (index != 4) where += value_of(c, index) << (*at >> 6);
    base = (*at & 7) | (i->rex & 1) << 3;
    at++;
  }
  if (mod == 0 && (base & 7) == 5) {
    if (rm == 5) where += (uintptr_t)at + sizeof(int32_t) + (uintptr_t)immediate_bytes(i);
    return where + displacement_of(at);
  }
  where += value_of(c, base);
  return mod == 0   ? where
         : mod == 1 ? where + (uintptr_t)(intptr_t)(signed char)*at
                    : where + displacement_of(at);
}
/* Memory that the instruction at c's place may write: *bytes from *where on, none if 0; perhaps less. ret 0: that is
   not known, or it calls the system */
int guest_stores(const unsigned char *code, const ucontext_t *c, uintptr_t *where, size_t *bytes) {
  enum { WORD = 8, MOST_BYTES = 32 }; /* that one instruction writes */
  const instruction i = read_instruction(code, *code);
  const effect is = effect_of(&i);
  *bytes = 0;
  if (is == PUSHES || is == WRITES_AT_RDI) {
    *where = is == PUSHES ? value_of(c, 4) - WORD : value_of(c, 7);
    *bytes = WORD;
  } else if (is == WRITES_OPERAND && (*where = operand_of(&i, c)) != 0)
    *bytes = i.map == 0 ? WORD : MOST_BYTES;
  return is != UNKNOWN;
}
/* Where an instruction goes that does nothing but go somewhere (a jump, pause), with these flags; first is its first
   byte, which a trap may hide. NULL: it is another one */
unsigned char *guest_goes_to(unsigned char *code, unsigned char first, unsigned long flags) {
  const instruction i = read_instruction(code, first);
  unsigned char *at = code + (i.at - code);
  const int f = (int)flags;
  const int sign = (f >> 7 & 1) != (f >> 11 & 1); /* less */
  const int holds[8] = {f >> 11 & 1, f & 1,      f >> 6 & 1, (f | f >> 6) & 1,
                        f >> 7 & 1,  f >> 2 & 1, sign,       sign || (f >> 6 & 1)};
  const bool is_taken = holds[i.op >> 1 & 7] != (i.op & 1);
  const bool is_near = i.map == 1 && !i.is_vex && (i.op & 0xF0) == 0x80;
  int32_t far;
  if (i.map == 0 && i.op == 0x90 && i.prefix == 0xF3) return at; /* pause */
  if (i.map == 0 && (i.op == 0xEB || (i.op & 0xF0) == 0x70))
    return at + 1 + (i.op == 0xEB || is_taken ? (signed char)*at : 0);
  if (!is_near && (i.map != 0 || i.op != 0xE9)) return NULL;
  memcpy(&far, at, sizeof far);
  return at + sizeof far + (is_near && !is_taken ? 0 : far);
}

/* ---- which registers a function writes ----------------------------------------------------------------------- */
enum { ALL_WRITTEN = GUEST_WRITES_RAX | GUEST_WRITES_XMM0 | GUEST_WRITES_XMM1 };
/* As read_instruction, and EVEX (AVX-512), whose operations lie as those of VEX do. */
static instruction read_any(const unsigned char *code) {
  instruction i = read_instruction(code, *code);
  if (i.map == 0 && i.op == 0x62) {
    i.is_vex = true;
    i.map = *i.at & 7;
    const unsigned flipped = ~(unsigned)*i.at;
    i.rex = (unsigned char)((flipped >> 5 & 7) | 0x10 |
                            (flipped << 1 & 0x20)); /* 0x20: vectors from 16 on */
    i.prefix = (unsigned char)"\0\x66\xF3\xF2"[i.at[1] & 3];
    i.op = i.at[3];
    i.at += 4;
  }
  return i;
}
/* Bytes that an instruction of one byte has behind its operand, and whether it has one. ret -1: not known */
static int tail_of_one_byte(const instruction *i, bool *has_operand) {
  const unsigned char op = i->op;
  const int number = i->prefix == 0x66 ? 2 : 4;
  *has_operand = op < 0x40
                     ? (op & 7) < 4
                     : op == 0x63 || op == 0x69 || op == 0x6B || (op >= 0x80 && op < 0x90) ||
                           op == 0xC0 || op == 0xC1 || op == 0xC6 || op == 0xC7 ||
                           (op >= 0xD0 && op < 0xE0) || op == 0xF6 || op == 0xF7 || op >= 0xFE;
  if (op < 0x40 && (op & 7) > 3) return (op & 7) == 4 ? 1 : (op & 7) == 5 ? number : -1;
  if (op == 0xF6 || op == 0xF7) return group_of(i) > 1 ? 0 : op == 0xF6 ? 1 : number;
  if (*has_operand && op != 0x69) return op == 0x6B ? 1 : immediate_bytes(i);
  if (op == 0x69 || op == 0x68 || op == 0xA9) return number;
  if (op >= 0xB8 && op < 0xC0) return i->rex & 8 ? 8 : number;
  if ((op & 0xF0) == 0x70 || (op & 0xF8) == 0xB0 || (op >= 0xE0 && op < 0xE4) || op == 0x6A ||
      op == 0xA8 || op == 0xEB)
    return 1;
  if (op == 0xE8 || op == 0xE9) return 4;
  if (op == 0xC2) return 2;
  return (op & 0xF0) == 0x50 || (op & 0xF0) == 0x90 || (op >= 0xA4 && op < 0xB0) || op == 0xC3 ||
                 op == 0xC9 || op == 0xCC || op == 0xF4
             ? 0
             : -1;
}
static int tail_of(const instruction *i, bool *has_operand) {
  const unsigned char op = i->op;
  *has_operand = true;
  if (i->map == 0) return tail_of_one_byte(i, has_operand);
  if (i->map != 1) return i->map == 2 ? 0 : i->map == 3 ? 1 : -1;
  if (!i->is_vex && op >= 0x80 && op < 0x90) return *has_operand = false, 4;
  if (op == 0x05 || op == 0x0B || op == 0x31 || op == 0x77 || op == 0xA2 ||
      (!i->is_vex && op >= 0xC8 && op < 0xD0))
    return *has_operand = false, 0;
  return immediate_bytes(i) || (op >= 0x70 && op < 0x74) || op == 0xC2 || op == 0xC4 ||
         op == 0xC5 || op == 0xC6;
}
static int operand_bytes(const unsigned char *at) {
  const int mod = *at >> 6, rm = *at & 7, has_scale = mod != 3 && rm == 4;
  const int base = has_scale ? at[1] & 7 : rm;
  return 1 + has_scale + (mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0);
}
/* What it says in the operand of a register: reg is the one named by itself, rm the one in the place of memory. Numbers
   beyond what matters here stand for none. */
typedef struct named {
  int reg, rm;
} named;
static unsigned general(int number) { return number == 0 ? GUEST_WRITES_RAX : 0; }
static unsigned vector(int number) {
  return number == 0 ? GUEST_WRITES_XMM0 : number == 1 ? GUEST_WRITES_XMM1 : 0;
}
/* Who names rax counts as writing it: nobody reads it first but functions with a variable number of arguments. */
static unsigned writes_of_two_bytes(const instruction *i, named n) {
  const unsigned char op = i->op;
  switch (op) {
  case 0x11:
  case 0x13:
  case 0x17:
  case 0x29:
  case 0x2B:
  case 0x7F:
  case 0xD6:
  case 0xE7: return vector(n.rm);
  case 0x2C:
  case 0x2D:
  case 0x50:
  case 0xC5:
  case 0xD7: return general(n.reg);
  case 0x2E:
  case 0x2F:
  case 0x77: return 0;
  case 0x7E: return i->prefix == 0xF3 ? vector(n.reg) : general(n.rm);
  case 0x71:
  case 0x72:
  case 0x73: return i->is_vex ? GUEST_WRITES_XMM0 | GUEST_WRITES_XMM1 : vector(n.rm);
  case 0x05:
  case 0x31:
  case 0xA2:
  case 0xB0:
  case 0xB1:
  case 0xC7: return GUEST_WRITES_RAX;
  default: break;
  }
  if (op >= 0x18 && op < 0x20) return 0; /* hints, and nothing at all */
  if ((op >= 0x80 && op < 0x90) || op == 0x0B || op == 0xAE) return 0;
  if (i->is_vex && ((op & 0xF0) == 0x40 || (op & 0xF0) == 0x90)) /* masks, which go to a register */
    return op == 0x93 ? general(n.reg) : 0;
  if ((op & 0xF0) == 0x90 || op == 0xBA) return general(n.rm);
  if (!i->is_vex && (op & 0xF8) == 0xC8) return general((op & 7) | (i->rex & 1) << 3);
  if ((op >= 0x10 && op < 0x18) || (op >= 0x28 && op < 0x30) || (op >= 0x51 && op < 0x80) ||
      op == 0xC2 || op == 0xC4 || op == 0xC6 || op >= 0xD0)
    return vector(n.reg);
  return general(n.reg) | general(n.rm);
}
static unsigned writes_of_one_byte(const instruction *i, bool has_operand, named n) {
  const unsigned char op = i->op;
  if (has_operand && op >= 0xD8 &&
      op < 0xE0) /* the old unit for floating-point values; its status goes to ax */
    return op == 0xDF && *i->at == 0xE0 ? GUEST_WRITES_RAX : 0;
  if ((op == 0xF6 || op == 0xF7) && group_of(i) > 3)
    return GUEST_WRITES_RAX; /* products and quotients */
  /* The middle of ModRM is no register where it says which of eight operations is meant. */
  if (op == 0x80 || op == 0x81 || op == 0x83 || op == 0x8F || op == 0xC0 || op == 0xC1 ||
      op == 0xC6 || op == 0xC7 || (op >= 0xD0 && op < 0xD4) || op == 0xF6 || op == 0xF7 ||
      op >= 0xFE)
    return general(n.rm);
  if (has_operand) return general(n.reg) | general(n.rm);
  if (op < 0x40 || op == 0x98 || op == 0x9F || op == 0xA8 || op == 0xA9 || op == 0xAC || op == 0xAD)
    return GUEST_WRITES_RAX;
  if ((op & 0xF8) == 0x58 || (op & 0xF0) == 0xB0) return general((op & 7) | (i->rex & 1) << 3);
  return op > 0x90 && op < 0x98 ? GUEST_WRITES_RAX : 0;
}
static unsigned writes_of(const instruction *i, bool has_operand) {
  const bool is_direct = has_operand && *i->at >> 6 == 3;
  const named n = {has_operand ? group_of(i) | (i->rex & 4) << 1 | (i->rex & 0x20) >> 1 : -1,
                   is_direct ? (*i->at & 7) | (i->rex & 1) << 3 : -1};
  if (i->map == 0) return writes_of_one_byte(i, has_operand, n);
  if (i->map == 1) return writes_of_two_bytes(i, n);
  if (i->op >= 0xF0) /* of whole numbers */
    return i->map == 2 && i->op == 0xF3 ? GUEST_WRITES_RAX : general(n.reg) | general(n.rm);
  if (i->map == 3 && i->op >= 0x14 && i->op <= 0x17) return general(n.rm);
  if (i->map == 3 && (i->op & 0xFC) == 0x60) return GUEST_WRITES_XMM0;
  if (i->map == 3 && (i->op & 0xD9) == 0x19) return vector(n.rm); /* a part of a vector */
  const bool is_narrowed = i->rex & 0x10 && i->map == 2 && i->prefix == 0xF3;
  return vector(n.reg) | (is_narrowed ? vector(n.rm) : 0);
}
/* Code that calls or goes elsewhere writes what that writes, which is not known here. */
static bool leaves(const instruction *i, const unsigned char *next, const unsigned char *code,
                   size_t bytes) {
  const unsigned char op = i->op;
  const bool is_short =
      i->map == 0 && ((op & 0xF0) == 0x70 || (op >= 0xE0 && op < 0xE4) || op == 0xEB);
  const bool is_near = i->map == 0 ? op == 0xE9 : i->map == 1 && !i->is_vex && (op & 0xF0) == 0x80;
  if (i->map == 0 && (op == 0xE8 || (op == 0xFF && (group_of(i) == 2 || group_of(i) == 4))))
    return true;
  if (!is_short && !is_near) return false;
  const uintptr_t far =
      is_short ? (uintptr_t)(intptr_t)(signed char)next[-1] : displacement_of(next - 4);
  return (uintptr_t)next + far - (uintptr_t)code >= bytes;
}
unsigned guest_writes(const unsigned char *code, size_t bytes) {
  unsigned written = bytes ? 0 : ALL_WRITTEN;
  for (const unsigned char *at = code; at < code + bytes && written != ALL_WRITTEN;) {
    const instruction i = read_any(at);
    bool has_operand;
    const int tail = tail_of(&i, &has_operand);
    if (tail < 0) return ALL_WRITTEN;
    at = i.at + (has_operand ? operand_bytes(i.at) : 0) + tail;
    written |= leaves(&i, at, code, bytes) ? ALL_WRITTEN : writes_of(&i, has_operand);
  }
  return written;
}
#else
unsigned guest_writes(const unsigned char *code, size_t bytes) {
  (void)code, (void)bytes;
  return GUEST_WRITES_RAX | GUEST_WRITES_XMM0 | GUEST_WRITES_XMM1;
}
#endif
