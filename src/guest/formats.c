/* Conversions that programs teach printf (register_printf_specifier, _modifier, _type; as libquadmath does, which comes with
   MPICH's Fortran library). libc has one table of functions for all: it gets ours, which call those of the process that
   runs; to a process that registered none, a conversion is libc's own, or unknown, as ever. */
#include "guest.h"
#include <errno.h>
#include <limits.h>
#include <printf.h>
#include <stdlib.h>
#include <wchar.h>

enum { KINDS = 8, MODIFIERS = 16 }; /* libc has bits for 16 */
typedef struct conversion {
  int letter;
  printf_function *write; /* NULL: registered no more */
  printf_arginfo_size_function *ask;
} conversion;
typedef struct formats { /* of a process that registered any: few */
  conversion *conversions;
  int count;
  printf_va_arg_function *take[KINDS];
  int kind_count;
} formats;
static guest_part part = {.name = "formats", .state_bytes = sizeof(formats *)};

static formats *of(const guest *g) { return g ? *(formats **)guest_state_of(g, &part) : NULL; }
static formats *own(void) {
  formats **f = (formats **)guest_state(&part);
  if (!*f) *f = (formats *)calloc(1, sizeof **f);
  return *f;
}

static conversion *with(const formats *f, int letter) {
  for (int i = 0; f && i < f->count; i++)
    if (f->conversions[i].letter == letter) return &f->conversions[i];
  return NULL;
}

/* What libc calls. -1 and -2: let libc do it. */
static int ask(const struct printf_info *info, size_t n, int *kinds, int *bytes) {
  const conversion *c = with(of(guest_now()), (int)info->spec);
  return c && c->ask ? c->ask(info, n, kinds, bytes) : -1;
}
static int write_one(FILE *out, const struct printf_info *info, const void *const *arguments) {
  const conversion *c = with(of(guest_now()), (int)info->spec);
  return c && c->write ? c->write(out, info, arguments) : -2;
}
/* One for each kind of argument: libc does not say which it asks for. */
static void take_kind(int kind, void *memory, va_list *arguments) {
  const formats *f = of(guest_now());
  if (f && f->take[kind]) f->take[kind](memory, arguments);
}
#define TAKE(kind) static void take_##kind(void *memory, va_list *arguments)
TAKE(0) { take_kind(0, memory, arguments); }
TAKE(1) { take_kind(1, memory, arguments); }
TAKE(2) { take_kind(2, memory, arguments); }
TAKE(3) { take_kind(3, memory, arguments); }
TAKE(4) { take_kind(4, memory, arguments); }
TAKE(5) { take_kind(5, memory, arguments); }
TAKE(6) { take_kind(6, memory, arguments); }
TAKE(7) { take_kind(7, memory, arguments); }
static printf_va_arg_function *const takes[KINDS] = {take_0, take_1, take_2, take_3,
                                                     take_4, take_5, take_6, take_7};

static int guest_specifier(int letter, printf_function *write,
                           printf_arginfo_size_function *asked) {
  formats *f = letter < 0 || letter > UCHAR_MAX ? (errno = EINVAL, (formats *)NULL) : own();
  conversion *c = with(f, letter), *more;
  if (!f || register_printf_specifier(letter, write_one, ask)) return -1;
  if (!c) {
    more = (conversion *)realloc(f->conversions, ((size_t)f->count + 1) * sizeof *more);
    if (!more) return -1;
    f->conversions = more;
    c = &more[f->count++];
  }
  *c = (conversion){letter, write, asked};
  return 0;
}
/* A text has one bit, whichever process registers it first. */
static int guest_modifier(const wchar_t *text) {
  static struct {
    wchar_t *text;
    int bit;
  } known[MODIFIERS];
  int i = 0;
  while (i < MODIFIERS && known[i].text && wcscmp(known[i].text, text) != 0) i++;
  if (i == MODIFIERS) return errno = ENOSPC, -1;
  if (known[i].text) return known[i].bit;
  known[i].bit = register_printf_modifier(text);
  known[i].text = known[i].bit < 0 ? NULL : wcsdup(text);
  return known[i].bit;
}
static int guest_type(printf_va_arg_function *take) {
  static int numbers[KINDS]; /* libc's */
  formats *f = own();
  if (!f || f->kind_count == KINDS) return errno = f ? ENOSPC : ENOMEM, -1;
  const int kind = f->kind_count;
  if (!numbers[kind]) numbers[kind] = register_printf_type(takes[kind]);
  if (numbers[kind] < 0) return numbers[kind] = 0, -1;
  f->take[f->kind_count++] = take;
  return numbers[kind];
}
static void process_end(guest *g, int status) {
  formats *f = of(g);
  (void)status;
  if (f) free(f->conversions);
  free(f);
  *(formats **)guest_state_of(g, &part) = NULL;
}
__attribute__((constructor)) static void add(void) {
  part.process_end = process_end;
  guest_part_add(&part);
  GUEST_REPLACE("register_printf_specifier", guest_specifier);
  GUEST_REPLACE("register_printf_function", guest_specifier); /* its function asks for no bytes */
  GUEST_REPLACE("register_printf_modifier", guest_modifier);
  GUEST_REPLACE("register_printf_type", guest_type);
}
