/* section_name.h: the name that a program gives to MPI_Pcontrol, if it gives one. For the overlap preload and pm_run. */
#ifndef SECTION_NAME_H_INCLUDED
#define SECTION_NAME_H_INCLUDED
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the printable character at `at`, in UTF-8; 0: there is none, or not all of it. */
static inline int printable(const char *at) {
  const unsigned char first = (unsigned char)*at;
  if (first < 0x80) return first >= ' ' && first < 0x7f;
  const int bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (int i = 1; i < bytes; i++)
    if (((unsigned char)at[i] & 0xc0) != 0x80) return 0;
  /* Control characters, what has a shorter form, and what is no character are not valid in a report. */
  const unsigned char second = bytes ? (unsigned char)at[1] : 0;
  const bool is_low = second < (first == 0xf0 ? 0x90 : 0xa0);
  const bool is_high = second > (first == 0xf4 ? 0x8f : 0x9f);
  return ((first == 0xc2 || first == 0xe0 || first == 0xf0) && is_low) ||
                 ((first == 0xed || first == 0xf4) && is_high)
             ? 0
             : bytes;
}
/* A name given to MPI_Pcontrol, if it is one: read through the kernel, which checks the address. Of a longer one 63
   bytes are kept, as of all sections' names, and no part of a character behind them. */
static inline bool section_name(int memory_fd, const void *address, char name[64]) {
  const ssize_t count = pread(memory_fd, name, 63, (off_t)(uintptr_t)address);
  if (count <= 0) return false;
  name[count] = 0;
  for (char *at = name; *at;) {
    const int bytes = printable(at);
    const bool is_cut =
        !bytes && (unsigned char)*at >= 0xc2 && at + strlen(at) == name + 63 && strlen(at) < 4;
    if (!bytes && !is_cut) return false;
    if (is_cut) *at = 0;
    at += bytes;
  }
  return *name;
}
#endif
