/* overlap_preload_through.h: NBC_THROUGH, the libraries and functions that only pass calls on, such as a
   program's own layer above MPI: what they call belongs to who called them. Names of functions that no
   library exports stand in the file alone. */
#include "tools/source_name.h"
#include <elf.h>

enum { MOST_THROUGH = 32 };
static struct {
  char text[2048]; /* of all names */
  const char *name[MOST_THROUGH];
  bool was_seen[MOST_THROUGH];
  int count;
} through;

SMALL static void setting_through(void) {
  const char *value = setting("NBC_THROUGH");
  if (!value) return;
  bool right = strlen(value) < sizeof through.text;
  snprintf(through.text, sizeof through.text, "%s", value);
  for (char *at = through.text; right && at;) {
    char *const comma = strchr(at, ',');
    if (comma) *comma = 0;
    right = *at && through.count < MOST_THROUGH;
    if (right) through.name[through.count++] = at;
    at = comma ? comma + 1 : NULL;
  }
  if (right) return;
  through.count = 0;
  complain("NBC_THROUGH=%.60s is not a list of up to %d libraries or functions such as "
           "libHYPRE*,my_wait: not used",
           value, MOST_THROUGH);
}

/* `*` in a name stands for any text. */
static bool is_like(const char *text, const char *name) {
  const char *star = NULL, *again = NULL;
  while (*text || *name == '*') {
    if (*name == '*') {
      star = ++name, again = text;
    } else if (*name == *text) {
      name++, text++;
    } else if (star) {
      name = star, text = ++again;
    } else {
      return false;
    }
  }
  return !*name;
}
/* By this name, or as reports tell it. */
static bool is_passed_through(const char *text) {
  char told[256];
  bool found = false;
  snprintf(told, sizeof told, "%s", text);
  name_as_in_source(told);
  for (int i = 0; i < through.count; i++)
    if (is_like(text, through.name[i]) || is_like(told, through.name[i]))
      through.was_seen[i] = found = true;
  return found;
}

/* The function at `offset` by the file's own table of symbols, into `name`; its `bytes` are as mapped. */
static bool function_in_file(const unsigned char *bytes, size_t size, uint64_t offset,
                             char name[256]) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)bytes;
  if (size < sizeof *head || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(Elf64_Shdr) ||
      head->e_shoff > size || head->e_shoff % 8 ||
      head->e_shnum > (size - head->e_shoff) / sizeof(Elf64_Shdr))
    return false;
  const Elf64_Shdr *s = (const Elf64_Shdr *)(const void *)(bytes + head->e_shoff);
  for (unsigned i = 0; i < head->e_shnum; i++) {
    if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= head->e_shnum) continue;
    const Elf64_Shdr *table = &s[i], *texts = &s[s[i].sh_link];
    if (table->sh_offset > size || table->sh_size > size - table->sh_offset ||
        table->sh_offset % 8 || texts->sh_offset > size || texts->sh_size > size - texts->sh_offset)
      return false;
    const Elf64_Sym *of = (const Elf64_Sym *)(const void *)(bytes + table->sh_offset);
    for (uint64_t k = 0; k < table->sh_size / sizeof *of; k++)
      if (ELF64_ST_TYPE(of[k].st_info) == STT_FUNC && offset > of[k].st_value &&
          offset <= of[k].st_value + of[k].st_size && of[k].st_name < texts->sh_size) {
        const size_t room = texts->sh_size - of[k].st_name;
        snprintf(name, 256, "%.*s", room < 255 ? (int)room : 255,
                 (const char *)bytes + texts->sh_offset + of[k].st_name);
        return true;
      }
  }
  return false;
}
static bool function_of(const char *file, uint64_t offset, char name[256]) {
  struct stat about;
  bool found = false;
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0) {
    void *const bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED) {
      found = function_in_file(bytes, (size_t)about.st_size, offset, name);
      munmap(bytes, (size_t)about.st_size);
    }
  }
  if (fd >= 0) close(fd);
  return found;
}

/* Is the caller, `offset` bytes into `file`, one of these? `exported`: as the dynamic linker calls it, NULL when it does
   not know. A library goes by its name up to ".so", too. */
static bool passes_calls_on(const char *file, const char *exported, uint64_t offset) {
  char name[256];
  if (!through.count) return false;
  const char *const slash = strrchr(file, '/'), *const base = slash ? slash + 1 : file;
  snprintf(name, sizeof name, "%.255s", base);
  if (is_passed_through(name)) return true;
  if (strstr(name, ".so")) *strstr(name, ".so") = 0;
  return is_passed_through(name) || (exported && is_passed_through(exported)) ||
         (function_of(file, offset, name) && is_passed_through(name));
}

/* A name that nothing had is said: it may be misspelt. */
SMALL static void say_what_passed_nothing_on(void) {
  for (int i = 0; run.speaks && i < through.count; i++)
    if (!through.was_seen[i]) {
      complain("NBC_THROUGH: no call came through %.100s", through.name[i]);
      through.was_seen[i] = true; /* once is enough */
    }
}
