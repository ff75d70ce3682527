/* MPI test set: what MPI says of itself, errors and their handlers, info objects, memory; large counts. */
#include "say.h"

static int called;
static void handler(MPI_Comm *c, int *code, ...) {
  int class;
  MPI_Error_class(*code, &class);
  called += class == MPI_ERR_RANK && *c != MPI_COMM_NULL;
}
static void info(void) {
  MPI_Info i, j;
  char key[MPI_MAX_INFO_KEY + 1], value[100];
  int flag, count, length;
  MPI_Info_create(&i);
  MPI_Info_set(i, "one", "1");
  MPI_Info_set(i, "two", "second");
  MPI_Info_set(i, "one", "first");
  MPI_Info_get_nkeys(i, &count);
  MPI_Info_get_nthkey(i, 1, key);
  MPI_Info_get(i, "one", 50, value, &flag);
  say("info %d %s %s %d", count, key, value, flag);
  MPI_Info_get_valuelen(i, "two", &length, &flag);
  say("length %d %d", length, flag);
#if MPI_VERSION >= 4
  length = sizeof value;
  MPI_Info_get_string(i, "two", &length, value, &flag);
  say("string %s %d %d", value, length, flag);
#endif
  MPI_Info_get(i, "none", 50, value, &flag);
  say("none %d", flag);
  MPI_Info_dup(i, &j);
  MPI_Info_delete(i, "one");
  MPI_Info_get_nkeys(i, &count);
  MPI_Info_get_nkeys(j, &length);
  say("deleted %d %d", count, length);
  MPI_Info_free(&i);
  MPI_Info_free(&j);
  say("freed %d", i == MPI_INFO_NULL);
}
void test_environment(void) {
  int a, b, flag, class, code, length;
  char text[MPI_MAX_ERROR_STRING + MPI_MAX_PROCESSOR_NAME];
  MPI_Initialized(&a);
  MPI_Finalized(&b);
  MPI_Is_thread_main(&flag);
  say("initialized %d finalized %d main %d", a, b, flag);
  MPI_Query_thread(&a);
  say("thread %d", a >= MPI_THREAD_SINGLE);
  MPI_Get_version(&a, &b);
  say("version %d.%d", a, b);
  MPI_Get_processor_name(text, &length);
  say("processor %d", length > 0 && (size_t)length == strlen(text));
  const double t = MPI_Wtime();
  while (MPI_Wtime() <= t) {}
  say("time passes %d", MPI_Wtick() > 0);
  void *memory;
  MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
  memset(memory, 1, 1000);
  MPI_Free_mem(memory);
  MPI_Aint here, there;
  int v[4];
  MPI_Get_address(&v[0], &here);
  MPI_Get_address(&v[3], &there);
  say("address %ld %d", (long)MPI_Aint_diff(there, here), MPI_Aint_add(here, 12) == there);
  for (int i = 0; i <= MPI_ERR_RMA_FLAVOR; i++) {
    MPI_Error_string(i, text, &length);
    MPI_Error_class(i, &class);
    if (i != 54) say("error %d class %d: %s", i, class, text);
  }
  MPI_Errhandler e, old;
  MPI_Comm_create_errhandler(handler, &e);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &old);
  say("fatal %d", old == MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, e);
  MPI_Send(&a, 1, MPI_INT, -7, 0, MPI_COMM_WORLD);
  say("called %d", called);
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_RANK);
  say("called %d", called);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&e);
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "of our own");
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &a);
  say("own %s %d", text, a == class);
  info();
}
/* The forms with MPI_Count. */
#if MPI_VERSION >= 4
void test_large(void) {
  MPI_Count size, lb, extent, count, at = 0, lengths[2] = {1, 2}, displs[2] = {0, 8};
  MPI_Datatype t;
  MPI_Status s;
  int v[20], w[20];
  for (int i = 0; i < 20; i++) v[i] = me * 50 + i, w[i] = -1;
  MPI_Type_vector_c(2, 1, 3, MPI_INT, &t);
  MPI_Type_commit(&t);
  MPI_Type_size_c(t, &size);
  MPI_Type_get_extent_c(t, &lb, &extent);
  say("vector_c %ld %ld %ld", (long)size, (long)lb, (long)extent);
  MPI_Sendrecv_c(v, 2, t, (me + 1) % n, 0, w, 2, t, (me + n - 1) % n, 0, MPI_COMM_WORLD, &s);
  MPI_Get_count_c(&s, t, &count);
  say_ints("sendrecv_c", w, 10);
  say("count %ld", (long)count);
  char packed[100];
  MPI_Pack_c(v, 2, t, packed, 100, &at, MPI_COMM_WORLD);
  say("pack_c %ld", (long)at);
  MPI_Type_free(&t);
  MPI_Type_create_hindexed_c(2, lengths, displs, MPI_INT, &t);
  MPI_Type_size_c(t, &size);
  say("hindexed_c %ld", (long)size);
  MPI_Count ints, aints, counts, types;
  int combiner;
  MPI_Type_get_envelope_c(t, &ints, &aints, &counts, &types, &combiner);
  say("envelope_c %ld %ld %ld %ld %d", (long)ints, (long)aints, (long)counts, (long)types, combiner);
  MPI_Type_free(&t);
  MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_INT, &t);
  int small;
  MPI_Type_size(t, &small);
  MPI_Type_size_c(t, &size);
  say("larger than an int: %d %ld", small == MPI_UNDEFINED, (long)size);
  MPI_Type_free(&t);
  MPI_Allreduce_c(v, w, 20, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say_ints("allreduce_c", w, 20);
  MPI_Bcast_c(v, 20, MPI_INT, 0, MPI_COMM_WORLD);
  say_ints("bcast_c", v, 20);
  MPI_Count rcounts[64];
  MPI_Aint rdispls[64];
  int all[64];
  for (int i = 0; i < n; i++) rcounts[i] = 1, rdispls[i] = n - 1 - i;
  MPI_Allgatherv_c(&me, 1, MPI_INT, all, rcounts, rdispls, MPI_INT, MPI_COMM_WORLD);
  say_ints("allgatherv_c", all, n);
}
#endif
