/* Loads libraries by dlopen in all the ways that it has; prints under pm_run what it prints on the host. Compiled
   in parts (guest.mk): PART 0 the program, 1 a plugin, 2 the library that it needs, 3 one that its folder holds, 4 one that
   needs what nobody has, 5 one that the program is linked with. */
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if PART == 0
static int (*function(void *library, const char *name))(void) {
  int (*found)(void);
  void *const address = dlsym(library, name);
  memcpy(&found, &address, sizeof found);
  return found;
}
static int call(void *library, const char *name) {
  int (*const found)(void) = function(library, name);
  return found ? found() : -1;
}
static const char *said(void) {
  const char *text = dlerror(), *slash = text ? strrchr(text, '/') : NULL;
  return !text ? "nothing" : slash ? slash + 1 : text;
}
static char path[4][512];
static void *plugin, *volatile second;
static volatile int is_loaded, had_begun;
static void *begun_before(void *unused) {
  while (!is_loaded) usleep(100);
  printf("a thread that was there: %d\n", call(plugin, "mine"));
  return unused;
}
static void *begun_behind(void *unused) {
  printf("a thread that comes: %d\n", call(plugin, "mine"));
  return unused;
}
static void *opens_too(void *unused) {
  second = dlopen(path[0], RTLD_NOW);
  had_begun = call(second, "has_begun");
  return unused;
}
static void in_thread(void *run(void *)) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
}
static void spins(void) {
  pthread_t thread;
  void *(*run)(void *), *const address = dlsym(plugin, "spin");
  memcpy(&run, &address, sizeof run);
  pthread_create(&thread, NULL, run, NULL);
  usleep(1000);
  *(volatile int *)dlsym(plugin, "spins") = 0;
  pthread_join(thread, NULL);
  puts("its loop ended");
}
static int open_files(void) {
  int n = 0;
  DIR *all = opendir("/proc/self/fd");
  while (all && readdir(all)) n++;
  if (all) closedir(all);
  return n;
}
/* Nothing is there, or it cannot be had; and what dlerror says then, and after the next call. */
static void fails(const char *folder) {
  void *library = dlopen("./none.so", RTLD_NOW);
  printf("none: %d, %s", library != NULL, said());
  printf(", then %s\n", said());
  library = dlopen(path[2], RTLD_NOW);
  printf("not bound now: %d, %s\n", library != NULL, said());
  library = dlopen(path[2], RTLD_LAZY);
  printf("bound later: %d, %d, %s\n", library != NULL, call(library, "answer"), said());
  library = dlopen(path[3], RTLD_NOW);
  printf("a text: %d, says so %d\n", library != NULL, strcmp(said(), "nothing") != 0);
  library = dlsym(plugin, "no_such_name");
  printf("a symbol: %d, %d\n", library != NULL, strstr(said(), "undefined symbol: no_such_name") != NULL);
  library = dlsym(plugin, "no_such_name");
  library = dlsym(plugin, "mine");
  printf("then a good one: %d, %s\n", library != NULL, said());
  (void)folder;
}
/* Where the program and what it opened lie, as long as they are there. */
static void places(const char *folder) {
  struct link_map *map = NULL, *of_program = NULL, *again = NULL;
  Dl_info info;
  Lmid_t names = -1;
  char from[4096] = "";
  void *const has_begun = dlsym(plugin, "has_begun"), *const program = dlopen(NULL, RTLD_NOW);
  printf("its map: %d", dlinfo(plugin, RTLD_DI_LINKMAP, &map));
  printf(" %s %d %d", map && strcmp(map->l_name, path[0]) == 0 ? "its name" : "another", map && dladdr(has_begun, &info) && (char *)map->l_addr == info.dli_fbase,
         map && map->l_ld && map->l_ld->d_tag != DT_NULL);
  for (int i = 0; i < 40; i++) dladdr1(i % 2 ? has_begun : dlsym(program, "linked"), &info, (void **)&again, RTLD_DL_LINKMAP);
  printf(", the same %d", again == map);
  printf(", the program's: %d %d", dlinfo(program, RTLD_DI_LINKMAP, &of_program), of_program && !*of_program->l_name);
  for (map = of_program; map && !strstr(map->l_name, "liblinked.so");) map = map->l_next;
  printf(", linked with it %d\n", map != NULL);
  printf("its folder: %d %d", dlinfo(plugin, RTLD_DI_ORIGIN, from), strcmp(from, folder) == 0);
  printf(", its names: %d %d", dlinfo(plugin, RTLD_DI_LMID, &names), names == LM_ID_BASE);
  printf(", no such request: %d", dlinfo(plugin, 4711, &names));
  printf(" %d\n", dlerror() != NULL);
}
int linked(void);
__attribute__((destructor)) static void end(void) { puts("end of the program"); }
int main(int argc, char **argv) {
  static const char *const names[] = {"plugin.so", "sub/../libneeded.so", "lacks.so", "text.so"};
  pthread_t before, other;
  if (argc < 2) return 2;
  for (int i = 0; i < 4; i++) snprintf(path[i], sizeof path[i], "%s/%s", argv[1], names[i]);
  linked();
  printf("not loaded: %d\n", dlopen(path[0], RTLD_NOW | RTLD_NOLOAD) != NULL);
  dlerror();
  const int files = open_files();
  pthread_create(&before, NULL, begun_before, NULL);
  pthread_create(&other, NULL, opens_too, NULL);
  plugin = dlopen(path[0], RTLD_NOW);
  printf("loaded: %d, has begun %d\n", plugin != NULL, plugin ? call(plugin, "has_begun") : 0);
  if (!plugin) return puts(said()), 1;
  pthread_join(other, NULL);
  printf("opened again: one handle %d, has begun %d\n", plugin == second, had_begun);
  is_loaded = 1;
  pthread_join(before, NULL);
  in_thread(begun_behind);
  printf("its own: %d %d\n", call(plugin, "mine"), call(plugin, "mine"));
  printf("what it needs: %d %d\n", call(plugin, "needed"), call(plugin, "twice"));
  void *needed = dlopen("libneeded.so", RTLD_NOW | RTLD_NOLOAD), *same = dlopen(path[1], RTLD_NOW);
  printf("by its name: %d, as a file: %d, %d, its own %d\n", needed != NULL, needed == same, call(needed, "needed"),
         call(needed, "twice"));
  printf("beside it: %d\n", call(plugin, "beside"));
  printf("for all: %d", dlsym(RTLD_DEFAULT, "has_begun") != NULL);
  plugin = dlopen(path[0], RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  printf(", then %d\n", dlsym(RTLD_DEFAULT, "has_begun") != NULL);
  fails(argv[1]);
  places(argv[1]);
  spins();
  printf("files are closed: %d\n", files == open_files());
  return 0;
}
#elif PART == 1
int needed(void), linked(void), twice(void), mine(void), beside(void), has_begun(void);
extern volatile int spins;
void *spin(void *unused);
static __thread int own = 7, none;
static int begun;
volatile int spins = 1;
__attribute__((constructor)) static void begin(void) {
  usleep(2000);
  begun = linked();
}
__attribute__((destructor)) static void end(void) { puts("end of the plugin"); }
int has_begun(void) { return begun; }
int mine(void) { return ++own + ++none; }
void *spin(void *unused) {
  while (spins) {
  }
  return unused;
}
int twice(void) { /* the next one's */
  int (*next)(void);
  void *const address = dlsym(RTLD_NEXT, "twice");
  if (!address) return -1;
  memcpy(&next, &address, sizeof next);
  return 100 + next() + 0 * needed();
}
int beside(void) { /* found by this library's own run path */
  int (*found)(void);
  void *const library = dlopen("libbeside.so", RTLD_NOW), *const address = library ? dlsym(library, "number") : NULL;
  if (!address) return -1;
  memcpy(&found, &address, sizeof found);
  return found();
}
#elif PART == 2
int needed(void), twice(void);
static int count;
int needed(void) { return ++count; }
int twice(void) { return 2 * count; }
#elif PART == 3
int number(void);
int number(void) { return 42; }
#elif PART == 4
int nobody_has_this(void), answer(void), asks(void);
int answer(void) { return 3; }
int asks(void) { return nobody_has_this(); }
#else
int linked(void);
__attribute__((destructor)) static void end(void) { puts("end of what it was linked with"); }
int linked(void) { return 1; }
#endif
