/* --fold SIZE: memory that a program asks for in pieces of SIZE bytes and more is one block, mapped again
   and again, for all processes together: programs that need terabytes run on a laptop when only their
   messages and times matter. What one writes others read: results are wrong, indices must not lie
   there. A range that pm_fold_own(address, bytes) names is its process's own from then on: programs find
   that function in pm_run (declare it weak: on a real machine it is not there), or a wrapper around one of
   their functions calls it (--wrap of the linker). Messages between folded pieces move own ranges alone. */
#include "guest.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t fold_bytes, block_bytes = (size_t)64 << 20, folded_bytes, folded_count;
static int block_fd = -1;
/* Those that are freed serve again for what needs as much or a little less: maps are slow, and
   their number is limited by the kernel (vm.max_map_count), which is why the block can be made
   larger than 64 MiB. */
enum { OWN_MAX = 4, SPARE_MAX = 4096 };
/* Pieces are kept by address, because free() and messages give addresses anywhere in them. */
typedef struct piece {
  char *base;
  size_t bytes, mapped;
  struct {
    char *from, *to;
  } own[OWN_MAX];
  int own_count;
} piece;
static piece **pieces, **spares; /* by address */
static size_t piece_count, piece_max, spare_count;
/* How many pieces begin at or before the address. */
static size_t pieces_before(const void *address) {
  size_t low = 0, high = piece_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if ((uintptr_t)pieces[middle]->base <= (uintptr_t)address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
/* The piece that an address lies in. */
static piece *piece_of(const void *address) {
  const size_t n = pieces_before(address);
  piece *p = n ? pieces[n - 1] : NULL;
  return p && (const char *)address < p->base + p->mapped ? p : NULL;
}
static int add_piece(piece *p) {
  if (piece_count == piece_max) {
    const size_t max = piece_max ? 2 * piece_max : 1024;
    piece **more = (piece **)realloc(pieces, max * sizeof(piece *));
    if (!more) return 0;
    pieces = more;
    piece_max = max;
  }
  const size_t at = pieces_before(p->base);
  memmove(pieces + at + 1, pieces + at, (piece_count++ - at) * sizeof *pieces);
  pieces[at] = p;
  return 1;
}
/* The one freed last first. A spare more than twice too large stays, because its pages beyond what
   is asked for would lie idle. */
static piece *spare_of(size_t mapped) {
  for (size_t i = spare_count; i-- > 0;)
    if (spares[i]->mapped >= mapped && spares[i]->mapped / 2 <= mapped) {
      piece *p = spares[i];
      spares[i] = spares[--spare_count];
      return p;
    }
  return NULL;
}
/* The block again and again, from an offset of the piece on. An offset of the piece is always the
   same offset of the block (at % block_bytes), also when a part is mapped again later: neighbours
   stay as they are. */
static int map_block(char *base, size_t at, size_t end) {
  while (at < end) {
    const size_t inside = at % block_bytes, room = block_bytes - inside,
                 n = end - at < room ? end - at : room;
    if (mmap(base + at, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, block_fd,
             (off_t)inside) == MAP_FAILED)
      return 0;
    at += n;
  }
  return 1;
}
static void *counted(piece *p, size_t bytes) {
  p->bytes = bytes;
  folded_bytes += bytes;
  folded_count++;
  return p->base;
}
static void *fold(size_t bytes) {
  const size_t mapped = (bytes + 4095) / 4096 * 4096;
  piece *p = spare_of(mapped);
  /* What was somebody's own is folded again: the next owner of the piece must not find the memory
     of the last one, nor pay for it. */
  if (p && add_piece(p)) { /* nothing in it is anybody's own any more */
    for (int i = 0; i < p->own_count; i++)
      if (!map_block(p->base, (size_t)(p->own[i].from - p->base), (size_t)(p->own[i].to - p->base)))
        guest_refuse("--fold: no more mappings: a larger block is needed (--fold SIZE,BLOCK)");
    p->own_count = 0;
    return counted(p, bytes);
  }
  p = (piece *)calloc(1, sizeof *p);
  /* Address space first, with nothing in it; then the block is mapped over it, as often as it
     takes. */
  char *base =
      (char *)mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool is_good = p && base != MAP_FAILED;
  if (is_good) is_good = map_block(base, 0, mapped);
  if (!is_good) {
    guest_say_once("fold",
                   "--fold: no more mappings: a larger block is needed (--fold SIZE,BLOCK)");
    if (base != MAP_FAILED) munmap(base, mapped);
    return free(p), errno = ENOMEM, NULL;
  }
  p->base = base;
  p->mapped = mapped;
  if (!add_piece(p)) return munmap(base, mapped), free(p), errno = ENOMEM, NULL;
  return counted(p, bytes);
}
static void *guest_malloc(size_t bytes) {
  return bytes >= fold_bytes ? fold(bytes) : malloc(bytes);
}
static void guest_free(void *memory) {
  piece *p = memory ? piece_of(memory) : NULL;
  if (!p || p->base != memory) {
    free(memory);
    return;
  }
  const size_t at = pieces_before(memory) - 1;
  memmove(pieces + at, pieces + at + 1, (--piece_count - at) * sizeof *pieces);
  if (!spares) spares = (piece **)malloc(SPARE_MAX * sizeof(piece *));
  /* The mappings stay: the next piece of this size costs no system call. */
  if (spares && spare_count < SPARE_MAX) {
    spares[spare_count++] = p;
    return;
  }
  munmap(p->base, p->mapped);
  free(p);
}
static void *guest_calloc(size_t count, size_t each) {
  size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) return errno = ENOMEM, NULL;
  return bytes >= fold_bytes ? fold(bytes) : calloc(count, each);
}
static void *guest_realloc(void *memory, size_t bytes) {
  const piece *p = memory ? piece_of(memory) : NULL;
  if (!p && bytes < fold_bytes) return realloc(memory, bytes);
  void *now = guest_malloc(bytes);
  /* From folded to folded there is nothing to copy: both are the same block. */
  const size_t old_bytes = p ? p->bytes : memory ? malloc_usable_size(memory) : 0;
  if (!now) return NULL;
  if (old_bytes && (!p || bytes < fold_bytes))
    memcpy(now, memory, old_bytes < bytes ? old_bytes : bytes);
  guest_free(memory);
  return now;
}
static int guest_posix_memalign(void **memory, size_t align, size_t bytes) {
  if (bytes < fold_bytes || align > 4096) return posix_memalign(memory, align, bytes);
  *memory = fold(bytes);
  return *memory ? 0 : ENOMEM;
}
/* Folded pieces begin at a page; larger alignments are rare and are not folded. */
static void *guest_aligned_alloc(size_t align, size_t bytes) {
  return bytes < fold_bytes || align > 4096 ? memalign(align, bytes) : fold(bytes);
}

/* Whole pages, with what they hold now. */
__attribute__((visibility("default"))) void pm_fold_own(void *memory, size_t bytes);
void pm_fold_own(void *memory, size_t bytes) {
  piece *p = piece_of(memory);
  if (!p || !bytes || (char *)memory + bytes > p->base + p->mapped) return;
  /* Pages that the range touches, whole: a mapping has no smaller part. */
  char *from = p->base + (size_t)((char *)memory - p->base) / 4096 * 4096;
  const size_t whole = ((size_t)((char *)memory + bytes - from) + 4095) / 4096 * 4096;
  int i = 0;
  while (i < p->own_count && (from < p->own[i].from || from + whole > p->own[i].to)) i++;
  if (i < p->own_count) return;
  if (p->own_count == OWN_MAX) {
    guest_say_once("fold own",
                   "--fold: more than 4 own ranges in one piece: what is beyond is folded");
    return;
  }
  /* What the range shows now is copied first: the new mapping takes its place, and begins empty. */
  char *now = (char *)malloc(whole);
  if (!now) guest_refuse("--fold: out of memory");
  memcpy(now, from, whole);
  if (mmap(from, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    guest_refuse("--fold: no more mappings: a larger block is needed (--fold SIZE,BLOCK)");
  memcpy(from, now, whole);
  free(now);
  p->own[p->own_count].from = from;
  p->own[p->own_count++].to = from + whole;
}
/* From one folded piece to another: what is the receiver's own, from the same place of the sender's.
   Own ranges lie alike in all processes, since these run one program. */
static bool moved(void *user, void *to, const void *from, uint64_t bytes) {
  const piece *target = piece_of(to);
  char *const begin = (char *)to, *const end = begin + bytes;
  (void)user;
  if (!target || !piece_of(from)) return false;
  for (int i = 0; i < target->own_count; i++) {
    char *const first = target->own[i].from > begin ? target->own[i].from : begin,
                *const last = target->own[i].to < end ? target->own[i].to : end;
    if (first < last) memmove(first, (const char *)from + (first - begin), (size_t)(last - first));
  }
  return true;
}
/* The model asks `moved` before it copies a message's bytes: true means that nothing is left to
   copy. */
static void settings(pm_world_desc *desc, pm_platform *platform) {
  (void)platform;
  if (fold_bytes) desc->moved = moved;
}
static void set_fold(const char *option, const char *text) {
  char size[64];
  const char *comma = strchr(text, ',');
  snprintf(size, sizeof size, "%.*s", comma ? (int)(comma - text) : (int)strlen(text), text);
  fold_bytes = (size_t)guest_number(option, size, 4096, INT64_MAX / 2);
  if (comma)
    block_bytes = (size_t)guest_number(option, comma + 1, 4096, (int64_t)1 << 40) / 4096 * 4096;
  block_fd = memfd_create("pm_run fold", MFD_CLOEXEC);
  if (block_fd < 0 || ftruncate(block_fd, (off_t)block_bytes))
    guest_refuse("%s: %s", option, strerror(errno));
  GUEST_REPLACE("malloc", guest_malloc);
  GUEST_REPLACE("free", guest_free);
  GUEST_REPLACE("cfree", guest_free);
  GUEST_REPLACE("calloc", guest_calloc);
  GUEST_REPLACE("realloc", guest_realloc);
  GUEST_REPLACE("posix_memalign", guest_posix_memalign);
  GUEST_REPLACE("aligned_alloc", guest_aligned_alloc);
  GUEST_REPLACE("memalign", guest_aligned_alloc);
}
/* What lies there by chance may be denormal, a hundred times slower than other numbers. */
static void flush_denormals(guest *g) {
  (void)g;
#if defined(__x86_64__)
  if (fold_bytes) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}
/* The kernel's own account: a page counts for each of its mappings in the first number, once in the second. */
static void tell_memory(void) {
  double rss_kb = 0, pss_kb = 0;
  char line[128];
  FILE *in = fopen("/proc/self/smaps_rollup", "r");
  while (in && fgets(line, sizeof line, in)) {
    if (!strncmp(line, "Rss:", 4)) rss_kb = strtod(line + 4, NULL);
    if (!strncmp(line, "Pss:", 4)) pss_kb = strtod(line + 4, NULL);
  }
  if (in) fclose(in);
  if (pss_kb > 0)
    fprintf(stderr,
            "pm_run: memory at the end: %.1f MB (RSS, which counts folded pages once per "
            "mapping: %.1f MB)\n",
            pss_kb * 1.024e-3, rss_kb * 1.024e-3);
}
static int tell(pm_world *world, int result) {
  (void)world;
  if (!fold_bytes) return result;
  fprintf(stderr, "pm_run: %.1f MB in %zu pieces were folded onto %.1f MB\n",
          (double)folded_bytes / 1e6, folded_count, (double)block_bytes / 1e6);
  tell_memory();
  return result;
}
static const guest_option options[] = {{"--fold", "SIZE[,BLOCK]",
                                        "memory asked for in pieces of SIZE bytes and more is one "
                                        "BLOCK for all (64 MiB): results are wrong, times are not",
                                        set_fold},
                                       {NULL, NULL, NULL, NULL}};
static guest_part part = {.name = "fold",
                          .options = options,
                          .settings = settings,
                          .process_begin = flush_denormals,
                          .finish = tell};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
