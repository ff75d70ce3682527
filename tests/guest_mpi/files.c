/* MPI test set: files: views, pointers, collective, nonblocking and split transfers, errors. */
#include "say.h"
#define W MPI_COMM_WORLD
static const char *path(void) { return getenv("GUEST_MPI_FILE") ? getenv("GUEST_MPI_FILE") : "guest_mpi.tmp"; }
static void count_of(const char *what, MPI_Status *s) {
  int count;
  MPI_Get_count(s, MPI_INT, &count);
  say("%s: %d", what, count);
}
enum { MANY = 12 };
static MPI_File f;
static MPI_Status s;
static MPI_Request r;
static MPI_Offset at, size;
static MPI_Datatype stripe, etype, filetype;
static int v[MANY], w[MANY], code, amode, flag;
static char rep[MPI_MAX_OBJECT_NAME];
static void offsets_and_views(void) {
  for (int i = 0; i < MANY; i++) v[i] = me * 100 + i, w[i] = -1;
  if (me == 0) MPI_File_delete(path(), MPI_INFO_NULL);
  MPI_Barrier(W);
  say_error("no such file", MPI_File_open(W, path(), MPI_MODE_RDONLY, MPI_INFO_NULL, &f));
  MPI_File_open(W, path(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
  MPI_File_get_amode(f, &amode);
  say("amode %d", amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
  MPI_File_write_at(f, (MPI_Offset)me * (MPI_Offset)sizeof v, v, MANY, MPI_INT, &s);
  count_of("write_at", &s);
  MPI_File_sync(f);
  MPI_Barrier(W);
  MPI_File_read_at_all(f, (MPI_Offset)((me + 1) % n) * (MPI_Offset)sizeof v, w, MANY, MPI_INT, &s);
  say_ints("read_at_all", w, MANY);
  MPI_File_get_size(f, &size);
  say("size %ld", (long)size);
  MPI_Barrier(W);
  /* stripes of three, one process after the other */
  MPI_Type_vector(4, 3, 3 * n, MPI_INT, &stripe);
  MPI_Type_commit(&stripe);
  MPI_File_set_view(f, (MPI_Offset)(me * 3) * 4, MPI_INT, stripe, "native", MPI_INFO_NULL);
  MPI_File_write_all(f, v, MANY, MPI_INT, &s);
  count_of("write_all", &s);
  MPI_File_get_position(f, &at);
  MPI_File_get_byte_offset(f, 4, &size);
  say("position %ld byte %ld", (long)at, (long)size);
  MPI_File_seek(f, 2, MPI_SEEK_SET);
  MPI_File_read(f, w, 5, MPI_INT, &s);
  say_ints("read", w, 5);
  MPI_File_seek(f, -3, MPI_SEEK_CUR);
  MPI_File_read_all_begin(f, w, 3, MPI_INT);
  MPI_File_read_all_end(f, w, &s);
  say_ints("split", w, 3);
  MPI_File_get_view(f, &at, &etype, &filetype, rep);
  say("view %ld %s %d", (long)at, rep, etype == MPI_INT);
  MPI_Type_free(&filetype);
  MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_iread_at(f, 0, w, MANY, MPI_INT, &r);
  MPI_Wait(&r, &s);
  count_of("iread_at", &s);
  for (int is_whole = 0; is_whole < 2; is_whole++) { /* the pointer goes on behind the end, or not */
    MPI_Barrier(W);
    MPI_File_set_view(f, 0, MPI_INT, is_whole ? MPI_INT : stripe, "native", MPI_INFO_NULL);
    MPI_File_seek(f, -2, MPI_SEEK_END);
    MPI_File_get_position(f, &size);
    MPI_File_iread(f, w, 5, MPI_INT, &r);
    MPI_Wait(&r, &s);
    MPI_File_get_position(f, &at);
    say("iread at the end: %ld", (long)(at - size));
    MPI_File_seek(f, size, MPI_SEEK_SET);
    MPI_File_read(f, w, 5, MPI_INT, &s);
    MPI_File_get_position(f, &at);
    say("read at the end: %ld", (long)(at - size));
  }
  MPI_File_read_at(f, 0, w, MANY, MPI_INT, &s);
  say_ints("whole", w, MANY);
  MPI_Barrier(W);
  MPI_File_iwrite_at(f, me, &me, 1, MPI_INT, &r);
  MPI_Wait(&r, &s);
  MPI_File_sync(f);
  MPI_Barrier(W);
  MPI_File_read_at(f, n - 1, w, 1, MPI_INT, &s);
  say("last %d", w[0]);
  MPI_Barrier(W);
}
static void shared_pointer(void) {
  MPI_File_write_ordered(f, v, 1 + me % 2, MPI_INT, &s);
  MPI_File_get_position_shared(f, &at);
  say("shared %ld", (long)at);
  MPI_Barrier(W);
  MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
  MPI_File_read_ordered(f, w, 1 + me % 2, MPI_INT, &s);
  say("ordered %d", w[0]);
  MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
  MPI_File_write_shared(f, &v[0], 1, MPI_INT, &s);
  MPI_File_sync(f);
  MPI_Barrier(W);
  int all[64], sum = 0;
  MPI_File_read_at(f, 0, all, n, MPI_INT, &s);
  for (int i = 0; i < n; i++) sum += all[i];
  say("write_shared %d", sum);
  MPI_Barrier(W);
}
void test_files(void) {
  offsets_and_views();
  shared_pointer();
  MPI_File_set_size(f, 10);
  MPI_File_get_size(f, &size);
  MPI_File_read_at(f, 0, w, MANY, MPI_BYTE, &s);
  MPI_Get_count(&s, MPI_BYTE, &flag);
  say("cut %ld %d", (long)size, flag);
  MPI_File_preallocate(f, 100);
  MPI_File_get_size(f, &size);
  MPI_File_seek(f, 0, MPI_SEEK_END);
  MPI_File_get_position(f, &at);
  say("preallocated %ld end %ld", (long)size, (long)at);
  MPI_File_set_atomicity(f, 1);
  MPI_File_get_atomicity(f, &flag);
  say("atomic %d", flag);
  MPI_Aint extent;
  MPI_File_get_type_extent(f, MPI_INT, &extent);
  say("extent %ld", (long)extent);
  MPI_Group g;
  MPI_File_get_group(f, &g);
  MPI_Group_size(g, &flag);
  MPI_Group_free(&g);
  say("group %d", flag);
  MPI_File_close(&f);
  say("closed %d", f == MPI_FILE_NULL);
  code = MPI_File_open(W, path(), MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
  say_error("open", code);
  code = MPI_File_write(f, v, 1, MPI_INT, &s);
  say("not for writing %d", code != MPI_SUCCESS);
  MPI_File_close(&f);
  MPI_Type_free(&stripe);
  MPI_Barrier(W);
  say_error("deleted", MPI_File_open(W, path(), MPI_MODE_RDONLY, MPI_INFO_NULL, &f));
}
