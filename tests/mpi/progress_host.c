/* progress_host.c: a program that is not linked with an MPI and loads a plugin that is (progress_plugin.c), for itself alone, as
   Python does. Argument: the plugin. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  int (*run)(void);
  void *const plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
  void *const found = plugin ? dlsym(plugin, "run_plugin") : NULL;
  if (!found) return fprintf(stderr, "%s\n", dlerror()), 2;
  memcpy(&run, &found, sizeof run);
  return run();
}
