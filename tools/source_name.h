/* source_name.h: names of functions as reports tell them. */
#ifndef SOURCE_NAME_H_INCLUDED
#define SOURCE_NAME_H_INCLUDED
#include <string.h>

/* The name that the source has: of gfortran's __module_MOD_procedure, and without what compilers add to copies of a
   function (f.constprop.0.isra.0, f(int) [clone .part.0]): of two copies a line is one place, and so it is of two builds
   of which one has copies. */
static void name_as_in_source(char *name) {
  static const char *const copies[] = {" [clone ", ".constprop.", ".isra.",
                                       ".part.",   ".cold",       ".lto_priv."};
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
    char *const copy = strstr(name, copies[i]);
    if (copy && copy > name) *copy = 0;
  }
  char *const between = strstr(name, "_MOD_");
  if (strncmp(name, "__", 2) != 0 || !between || between == name + 2) return;
  memcpy(between, "::", 2);
  memmove(between + 2, between + 5, strlen(between + 5) + 1);
  memmove(name, name + 2, strlen(name + 2) + 1);
}
#endif /* SOURCE_NAME_H_INCLUDED */
