/* Every call of MPI-IO that reads or writes, on one file of this run. A file moves no message, so the
   report has time in calls only. Prints what was read: with the preload it must be the same.
   Argument: the file. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#ifdef LARGE_COUNTS
#  include "large_counts.h"
#endif

enum { N = 100, INTS = (int)sizeof(int) };
static int rank, size, out[N], in[N], step;
static MPI_File file;

static void check(const char *what, int rc, const MPI_Status *s) {
  unsigned sum = 0;
  int got = -1;
  for (int i = 0; i < N; i++) sum = sum * 31 + (unsigned)in[i];
  if (s) MPI_Get_count(s, MPI_INT, &got);
  printf("%d %s rc %d count %d sum %u\n", rank, what, rc, got, sum);
  memset(in, 0, sizeof in);
  for (int i = 0; i < N; i++) out[i] = ++step * 1000 + 100 * rank + i;
}
/* Own part of the file; between the steps all must see what was written. */
static MPI_Offset own(void) { return (MPI_Offset)rank * N * INTS; }
static void together(void) {
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
}

#define BOTH(form, ...) /* read what was written in the same way */                                \
  do {                                                                                             \
    MPI_Status s;                                                                                  \
    BEFORE;                                                                                        \
    int rc = MPI_File_write##form(file, __VA_ARGS__ out, N, MPI_INT, &s);                          \
    check("write" #form, rc, &s);                                                                  \
    together();                                                                                    \
    BEFORE;                                                                                        \
    rc = MPI_File_read##form(file, __VA_ARGS__ in, N, MPI_INT, &s);                                \
    check("read" #form, rc, &s);                                                                   \
    together();                                                                                    \
  } while (0)
#define IBOTH(form, ...)                                                                           \
  do {                                                                                             \
    MPI_Status s;                                                                                  \
    MPI_Request q;                                                                                 \
    BEFORE;                                                                                        \
    int rc = MPI_File_iwrite##form(file, __VA_ARGS__ out, N, MPI_INT, &q);                         \
    MPI_Wait(&q, &s);                                                                              \
    check("iwrite" #form, rc, &s);                                                                 \
    together();                                                                                    \
    BEFORE;                                                                                        \
    rc = MPI_File_iread##form(file, __VA_ARGS__ in, N, MPI_INT, &q);                               \
    MPI_Wait(&q, &s);                                                                              \
    check("iread" #form, rc, &s);                                                                  \
    together();                                                                                    \
  } while (0)
#define SPLIT(form, ...)                                                                           \
  do {                                                                                             \
    MPI_Status s;                                                                                  \
    BEFORE;                                                                                        \
    int rc = MPI_File_write##form##_begin(file, __VA_ARGS__ out, N, MPI_INT);                      \
    MPI_File_write##form##_end(file, out, &s);                                                     \
    check("write" #form " split", rc, &s);                                                         \
    together();                                                                                    \
    BEFORE;                                                                                        \
    rc = MPI_File_read##form##_begin(file, __VA_ARGS__ in, N, MPI_INT);                            \
    MPI_File_read##form##_end(file, in, &s);                                                       \
    check("read" #form " split", rc, &s);                                                          \
    together();                                                                                    \
  } while (0)
#define NOTHING

int main(int argc, char **argv) {
  MPI_Offset at = -1;
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(
      "open",
      MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file),
      NULL);
  MPI_File_set_size(file, 0);
  MPI_File_set_info(file, MPI_INFO_NULL);
  MPI_File_preallocate(file, (MPI_Offset)size * N * INTS);
#define BEFORE MPI_File_seek(file, own(), MPI_SEEK_SET)
  BOTH(, );
  IBOTH(, );
  BOTH(_all, );
  IBOTH(_all, );
  SPLIT(_all, );
#undef BEFORE
#define BEFORE NOTHING
  BOTH(_at, own(), );
  IBOTH(_at, own(), );
  BOTH(_at_all, own(), );
  IBOTH(_at_all, own(), );
  SPLIT(_at_all, own(), );
#undef BEFORE
#define BEFORE MPI_File_seek_shared(file, 0, MPI_SEEK_SET)
  BOTH(_ordered, );
  SPLIT(_ordered, );
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_get_position_shared(file, &at);
  printf("%d shared pointer at %d\n", rank, (int)at);
  /* Who comes first at the shared pointer is not known: all write the same, or alone. */
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  char mine[1000];
  snprintf(mine, sizeof mine, "%s.%d", argv[1], rank);
  MPI_File_open(MPI_COMM_SELF, mine, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_set_atomicity(file, 0);
#undef BEFORE
#define BEFORE MPI_File_seek_shared(file, 0, MPI_SEEK_SET)
  BOTH(_shared, );
  IBOTH(_shared, );
  MPI_File_close(&file);
  check("delete", MPI_File_delete(mine, MPI_INFO_NULL), NULL);
  MPI_Finalize();
  return 0;
}
