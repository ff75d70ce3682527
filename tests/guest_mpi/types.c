/* MPI test set: every datatype maker, what it says of itself, packing, external32, messages of such types. */
#include "say.h"

enum { ROOM = 4096 };
static unsigned char from[ROOM], to[ROOM], packed[ROOM];

/* What the type says, what it packs, what arrives where. */
static void look(const char *name, MPI_Datatype t, int count) {
  MPI_Aint lb, extent, true_lb, true_extent;
  MPI_Count size_x, lb_x, extent_x;
  int size, ints, aints, types, combiner, bytes, at = 0, got, unit = 0;
  MPI_Status s;
  MPI_Type_commit(&t);
  MPI_Type_size(t, &size);
  MPI_Type_get_extent(t, &lb, &extent);
  MPI_Type_get_true_extent(t, &true_lb, &true_extent);
  MPI_Type_size_x(t, &size_x);
  MPI_Type_get_extent_x(t, &lb_x, &extent_x);
  say("%s: size %d lb %ld extent %ld true %ld %ld x %ld %ld", name, size, (long)lb, (long)extent, (long)true_lb, (long)true_extent, (long)size_x, (long)(extent_x + lb_x));
  MPI_Type_get_true_extent_x(t, &lb_x, &extent_x);
  MPI_Type_get_envelope(t, &ints, &aints, &types, &combiner);
  say("  envelope %d %d %d %d", ints, aints, types, combiner);
  if (combiner != MPI_COMBINER_NAMED) {
    int i[64];
    MPI_Aint a[64];
    MPI_Datatype d[16];
    MPI_Type_get_contents(t, 64, 64, 16, i, a, d);
    say_ints("  ints", i, ints);
    for (int k = 0; k < aints; k++) say("  aint %ld", (long)a[k]);
    for (int k = 0; k < types; k++) {
      int n1, n2, n3, named, child;
      MPI_Type_size(d[k], &child);
      MPI_Type_get_envelope(d[k], &n1, &n2, &n3, &named);
      say("  type size %d combiner %d", child, named);
      unit = types == 1 && named == MPI_COMBINER_NAMED ? child : 0;
      if (named != MPI_COMBINER_NAMED) MPI_Type_free(&d[k]);
    }
  }
  for (int k = 0; k < ROOM; k++) from[k] = (unsigned char)(k * 13 + 5), to[k] = packed[k] = 0xEE;
  unsigned char *base = from + ROOM / 4, *there = to + ROOM / 4;
  MPI_Pack_size(count, t, MPI_COMM_WORLD, &bytes);
  MPI_Pack(base, count, t, packed, ROOM, &at, MPI_COMM_WORLD);
  say("  packed %d, room %s, hash %016llx", at, bytes >= at ? "enough" : "short", (unsigned long long)hash_of(packed, (size_t)at));
  at = 0;
  if (size) MPI_Unpack(packed, ROOM, &at, there, count, t, MPI_COMM_WORLD); /* MPICH 4.0.2 divides by a size of 0 */
  say("  unpacked %d hash %016llx", at, (unsigned long long)hash_of(to, ROOM));
  memset(to, 0xEE, ROOM);
  MPI_Sendrecv(base, count, t, (me + 1) % n, 1, there, count, t, (me + n - 1) % n, 1, MPI_COMM_WORLD, &s);
  MPI_Get_count(&s, t, &got);
  say("  sent count %d hash %016llx", got, (unsigned long long)hash_of(to, ROOM));
  MPI_Sendrecv(base, count, t, (me + 1) % n, 1, packed, ROOM, MPI_BYTE, (me + n - 1) % n, 1, MPI_COMM_WORLD, &s);
  MPI_Get_elements(&s, MPI_BYTE, &got);
  say("  as bytes %d hash %016llx", got, (unsigned long long)hash_of(packed, (size_t)got));
  if (!size || !unit) return;
  memset(to, 0xEE, ROOM); /* a part of it arrives */
  MPI_Sendrecv(packed, got / unit * 2 / 3 * unit, MPI_BYTE, (me + 1) % n, 1, there, count, t, (me + n - 1) % n, 1, MPI_COMM_WORLD, &s);
  MPI_Get_count(&s, t, &got);
  MPI_Get_elements(&s, t, &at);
  say("  a part: count %s elements %d hash %016llx", got == MPI_UNDEFINED ? "undefined" : "whole", at, (unsigned long long)hash_of(to, ROOM));
}
static void freed(const char *name, MPI_Datatype t, int count) {
  look(name, t, count);
  MPI_Type_free(&t);
  if (t != MPI_DATATYPE_NULL) say("not freed");
}
static void makers(void) {
  MPI_Datatype t, u, v;
  const int lengths[] = {2, 0, 1, 3}, places[] = {0, 3, 5, 9}, unordered[] = {7, 1, 4, 12};
  const MPI_Aint bytes[] = {0, 12, 21, 40};
  MPI_Type_contiguous(3, MPI_INT, &t);
  freed("contiguous", t, 2);
  MPI_Type_contiguous(0, MPI_INT, &t);
  freed("nothing", t, 2);
  MPI_Type_vector(3, 2, 4, MPI_SHORT, &t);
  look("vector", t, 2);
  MPI_Type_create_hvector(2, 1, 60, t, &u);
  freed("hvector of vectors", u, 2);
  MPI_Type_contiguous(2, t, &u);
  freed("contiguous vectors", u, 1);
  MPI_Type_create_resized(t, -4, 48, &u);
  look("resized", u, 3);
  MPI_Type_vector(2, 2, 3, u, &v);
  freed("vector of resized", v, 1);
  MPI_Type_dup(u, &v);
  freed("dup", v, 2);
  MPI_Type_free(&u);
  MPI_Type_free(&t);
  MPI_Type_vector(3, 1, -2, MPI_INT, &t);
  freed("backwards", t, 2);
  MPI_Type_indexed(4, lengths, places, MPI_INT, &t);
  freed("indexed", t, 2);
  MPI_Type_indexed(4, lengths, unordered, MPI_INT, &t);
  freed("unordered", t, 2);
  MPI_Type_create_hindexed(4, lengths, bytes, MPI_SHORT, &t);
  freed("hindexed", t, 2);
  MPI_Type_create_indexed_block(3, 2, places, MPI_CHAR, &t);
  freed("indexed_block", t, 2);
  MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &t);
  freed("hindexed_block", t, 2);
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT};
  const int counts[] = {3, 1, 2, 1};
  const MPI_Aint at[] = {0, 8, 16, 24};
  MPI_Type_create_struct(4, counts, at, types, &t);
  look("struct", t, 2);
  const MPI_Datatype nested[] = {MPI_INT, t};
  const int ones[] = {1, 2};
  const MPI_Aint far[] = {0, 8};
  MPI_Type_create_struct(2, ones, far, nested, &u);
  freed("struct of structs", u, 1);
  MPI_Type_free(&t);
}
static void arrays(void) {
  MPI_Datatype t;
  const int sizes[] = {4, 5, 6}, part[] = {2, 3, 4}, start[] = {1, 1, 2};
  for (int order = 0; order < 2; order++) {
    MPI_Type_create_subarray(3, sizes, part, start, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &t);
    freed("subarray", t, 1);
  }
  const int grid[] = {7, 9}, processes[] = {2, 3};
  const int how[][2] = {{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}};
  const int args[][2] = {{MPI_DISTRIBUTE_DFLT_DARG, 2}, {MPI_DISTRIBUTE_DFLT_DARG, 4}};
  for (int k = 0; k < 4; k++) {
    MPI_Type_create_darray(6, (k * 2 + 1) % 6, 2, grid, how[k % 2], args[k % 2], processes, k / 2 ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &t);
    freed("darray", t, 1);
  }
  const int none[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK}, defaults[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, one[] = {1, 6};
  MPI_Type_create_darray(6, 4, 2, grid, none, defaults, one, MPI_ORDER_C, MPI_SHORT, &t);
  freed("darray none", t, 1);
}
static void names_and_others(void) {
  MPI_Datatype t;
  char name[MPI_MAX_OBJECT_NAME];
  int length, size;
  static const MPI_Datatype known[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_2INT, MPI_LONG_DOUBLE_INT, MPI_C_DOUBLE_COMPLEX, MPI_WCHAR, MPI_UINT64_T, MPI_C_BOOL, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_PACKED, MPI_BYTE};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    MPI_Aint lb, extent;
    MPI_Type_get_name(known[i], name, &length);
    MPI_Type_size(known[i], &size);
    MPI_Type_get_extent(known[i], &lb, &extent);
    say("%s %d: size %d extent %ld", name, length, size, (long)extent);
  }
  look("double_int", MPI_DOUBLE_INT, 3);
  look("short_int", MPI_SHORT_INT, 3);
  MPI_Type_contiguous(2, MPI_INT, &t);
  MPI_Type_set_name(t, "two");
  MPI_Type_get_name(t, name, &length);
  say("named %s %d", name, length);
  MPI_Type_free(&t);
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t);
  MPI_Type_size(t, &size);
  say("matched %d", size);
  MPI_Type_create_f90_real(12, 100, &t);
  MPI_Type_size(t, &size);
  say("f90 real %d", size);
  MPI_Type_create_f90_integer(8, &t);
  MPI_Type_size(t, &size);
  say("f90 integer %d", size);
  MPI_Type_create_f90_complex(5, 10, &t);
  MPI_Type_size(t, &size);
  say("f90 complex %d", size);
}
static void external(void) {
  int v[3] = {1, -2, me * 65537};
  double d[2] = {1.5, -1e300};
  short h[3] = {1, 2, -3};
  char out[200];
  MPI_Aint at = 0, size;
  memset(out, 0, sizeof out);
  MPI_Pack_external("external32", v, 3, MPI_INT, out, sizeof out, &at);
  MPI_Pack_external("external32", d, 2, MPI_DOUBLE, out, sizeof out, &at);
  MPI_Pack_external("external32", h, 3, MPI_SHORT, out, sizeof out, &at);
  say("external32 %ld hash %016llx", (long)at, (unsigned long long)hash_of(out, (size_t)at));
  MPI_Pack_external_size("external32", 3, MPI_INT, &size);
  say("size %ld", (long)size);
  memset(v, 0, sizeof v), memset(d, 0, sizeof d), memset(h, 0, sizeof h);
  at = 0;
  MPI_Unpack_external("external32", out, sizeof out, &at, v, 3, MPI_INT);
  MPI_Unpack_external("external32", out, sizeof out, &at, d, 2, MPI_DOUBLE);
  MPI_Unpack_external("external32", out, sizeof out, &at, h, 3, MPI_SHORT);
  say("back %d %d %g %g %d", v[1], v[2], d[0], d[1], h[2]);
}
static void errors(void) {
  MPI_Datatype t;
  const int negative[] = {-1}, zero[] = {0};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  say_error("count", MPI_Type_contiguous(-1, MPI_INT, &t));
  say_error("old", MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t));
  say_error("length", MPI_Type_indexed(1, negative, zero, MPI_INT, &t) ? MPI_ERR_ARG : MPI_SUCCESS);
  MPI_Type_contiguous(1, MPI_INT, &t);
  int x = 0;
  say_error("uncommitted", MPI_Send(&x, 1, t, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  MPI_Type_free(&t);
  say_error("freed", MPI_Type_commit(&t));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
void test_types(void) {
  makers();
  arrays();
  names_and_others();
  external();
  errors();
}
