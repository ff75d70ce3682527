/* tree.h: small folders of files in $TMPDIR that look like /sys of a recorded machine. */
#ifndef TREE_H_INCLUDED
#define TREE_H_INCLUDED
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct tree {
  char root[128];
} tree;

static tree tree_make(void) {
  tree t;
  const char *tmp = getenv("TMPDIR");
  snprintf(t.root, sizeof t.root, "%.90s/nic-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(t.root)) perror(t.root), exit(1);
  return t;
}
/* root/path, with all folders above it made */
__attribute__((unused)) static const char *tree_path(const tree *t, const char *path,
                                                     char full[512]) {
  snprintf(full, 512, "%s/%s", t->root, path);
  for (char *s = strchr(full + strlen(t->root) + 1, '/'); s; s = strchr(s + 1, '/')) {
    *s = 0;
    if (mkdir(full, 0755) != 0 && errno != EEXIST) perror(full), exit(1);
    *s = '/';
  }
  return full;
}
__attribute__((unused)) static void tree_file(const tree *t, const char *path, const char *format,
                                              ...) {
  char full[512];
  va_list args;
  FILE *f = fopen(tree_path(t, path, full), "w");
  if (!f) perror(full), exit(1);
  va_start(args, format);
  vfprintf(f, format, args);
  va_end(args);
  fclose(f);
}
__attribute__((unused)) static void tree_link(const tree *t, const char *path, const char *target) {
  char full[512];
  if (symlink(target, tree_path(t, path, full)) != 0) perror(full), exit(1);
}
static int tree_drop(const char *path, const struct stat *st, int kind, struct FTW *at) {
  (void)st, (void)kind, (void)at;
  return remove(path);
}
static void tree_remove(const tree *t) { nftw(t->root, tree_drop, 8, FTW_DEPTH | FTW_PHYS); }
#endif
