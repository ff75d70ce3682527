/* progress_preload_errors.h: error handlers of the program run when their call has left the MPI (included by
   progress_preload.c alone).

   An MPI at MPI_THREAD_MULTIPLE may hold its lock while it calls an error handler (MPICH does). A handler that leaves
   by longjmp or an exception then leaves that lock taken for ever, which a program that asked for less never meets. So
   the MPI is given functions of ours, which note what it tells them; the wrapper calls the program's when it ends. */

typedef void (*program_handler)(void *object, int *code, ...);
enum { STAND_INS = 16 };

static program_handler handlers[BY_CXX][STAND_INS]; /* of the program, by what stands for it */
static void (*cxx_invoke)(int, int *, int *, void (*)(void)); /* of MPICH's C++ library */

/* In the wrapper's call: note it. Elsewhere the handler runs at once. */
static struct raised_error *note_error(int code) {
  if (!me.wrappers || me.raised_count == MAX_RAISED) return NULL;
  struct raised_error *const r = &me.raised[me.raised_count++];
  memset(r, 0, sizeof *r);
  r->code = code;
  return r;
}
/* What the MPI finds instead of its code. A call that returns this returns what handlers make of the code: MPICH's all
   do, some of Open MPI's. */
static int the_code_of(const struct raised_error *r) { return 0x7e5e1000 + (int)(r - me.raised); }
static void error_raised(enum raised_by kind, int number, void *object, int *code,
                         const char *text) {
  struct raised_error *const r = note_error(*code);
  if (!r) {
    __atomic_load_n(&handlers[kind][number], __ATOMIC_ACQUIRE)(object, code, text, NULL);
    return;
  }
  r->kind = kind;
  r->number = number;
  r->text = text;
  *code = the_code_of(r);
  memcpy(&r->object, object, kind == BY_FILE ? sizeof(MPI_File) : sizeof(MPI_Comm));
}

/* Open MPI hands on what it was doing, as a text. */
#ifdef OPEN_MPI
#  define TEXT_OF(rest) va_arg(rest, const char *)
#else
#  define TEXT_OF(rest) NULL
#endif
#define STAND_IN(kind, number)                                                                     \
  static void kind##_##number(void *object, int *code, ...) {                                      \
    va_list rest;                                                                                  \
    va_start(rest, code);                                                                          \
    error_raised(kind, number, object, code, TEXT_OF(rest));                                       \
    va_end(rest);                                                                                  \
  }
#define STAND_INS_OF(DO, kind)                                                                     \
  DO(kind, 0)                                                                                      \
  DO(kind, 1)                                                                                      \
  DO(kind, 2)                                                                                      \
  DO(kind, 3)                                                                                      \
  DO(kind, 4)                                                                                      \
  DO(kind, 5)                                                                                      \
  DO(kind, 6)                                                                                      \
  DO(kind, 7)                                                                                      \
  DO(kind, 8)                                                                                      \
  DO(kind, 9)                                                                                      \
  DO(kind, 10)                                                                                     \
  DO(kind, 11)                                                                                     \
  DO(kind, 12)                                                                                     \
  DO(kind, 13)                                                                                     \
  DO(kind, 14)                                                                                     \
  DO(kind, 15)
STAND_INS_OF(STAND_IN, BY_COMM)
STAND_INS_OF(STAND_IN, BY_WIN)
STAND_INS_OF(STAND_IN, BY_FILE)
STAND_INS_OF(STAND_IN, BY_SESSION)
#define ITS_NAME(kind, number) kind##_##number,
static const program_handler stand_ins[BY_CXX][STAND_INS] = {{STAND_INS_OF(ITS_NAME, BY_COMM)},
                                                             {STAND_INS_OF(ITS_NAME, BY_WIN)},
                                                             {STAND_INS_OF(ITS_NAME, BY_FILE)},
                                                             {STAND_INS_OF(ITS_NAME, BY_SESSION)}};

/* What is registered for this handler of the program: always the same; the handler itself when all are taken. */
static program_handler stand_in_for(enum raised_by kind, program_handler handler) {
  program_handler found = handler;
  if (!handler) return handler;
  spin_lock(&run.tables_lock);
  for (int i = 0; i < STAND_INS; i++) {
    if (stand_ins[kind][i] == handler) break; /* an MPI that makes one call of another */
    if (handlers[kind][i] && handlers[kind][i] != handler) continue;
    __atomic_store_n(&handlers[kind][i], handler, __ATOMIC_RELEASE);
    found = stand_ins[kind][i];
    break;
  }
  spin_unlock(&run.tables_lock);
  return found;
}

/* ret what the call returns: rc, or what a handler made of its code where the MPI returns that */
static int run_handlers(int rc) {
  struct raised_error all[MAX_RAISED];
  const int count = me.raised_count;
  memcpy(all, me.raised, (size_t)count * sizeof *all);
  me.raised_count = 0; /* those behind one that leaves by longjmp never run, as without us */
  for (int i = 0; i < count; i++) {
    struct raised_error *const r = &all[i];
    if (r->kind == BY_CXX)
      cxx_invoke(r->cxx_kind, &r->object.number, &r->code, r->cxx_handler);
    else
      handlers[r->kind][r->number](&r->object, &r->code, r->text, NULL);
    if (r->kind != BY_CXX && rc == the_code_of(&me.raised[i])) rc = r->code;
  }
  return rc;
}

#define CREATES_HANDLER(name, kind, function)                                                      \
  DEFINE(name, (function * handler, MPI_Errhandler * made)) {                                      \
    ENTER;                                                                                         \
    RETURN(NEXT(name)((function *)stand_in_for(kind, (program_handler)handler), made));            \
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-function-type" /* called with what the MPI calls them with */
CREATES_HANDLER(Comm_create_errhandler, BY_COMM, MPI_Comm_errhandler_function)
CREATES_HANDLER(Win_create_errhandler, BY_WIN, MPI_Win_errhandler_function)
CREATES_HANDLER(File_create_errhandler, BY_FILE, MPI_File_errhandler_function)
#if HAS_MPI_4
CREATES_HANDLER(Session_create_errhandler, BY_SESSION, MPI_Session_errhandler_function)
#endif

/* MPICH's C++ library registers a handler as if it were one of C, and then says here who can call it. */
#ifndef OPEN_MPI
static void cxx_stand_in(int kind, int *handle, int *code, void (*handler)(void)) {
  for (int k = 0; k < BY_CXX; k++)
    for (int i = 0; i < STAND_INS; i++)
      if (stand_ins[k][i] == (program_handler)handler) handler = (void (*)(void))handlers[k][i];
  struct raised_error *const r = kind == 1 ? NULL : note_error(*code); /* 1: a file, no int */
  if (!r) {
    cxx_invoke(kind, handle, code, handler);
    return;
  }
  r->kind = BY_CXX;
  r->cxx_kind = kind;
  r->object.number = *handle;
  r->cxx_handler = handler;
}
VISIBLE void MPII_Errhandler_set_cxx(MPI_Errhandler made, void (*invoke)(void));
VISIBLE void MPII_Errhandler_set_cxx(MPI_Errhandler made, void (*invoke)(void)) {
  static void (*next)(MPI_Errhandler, void (*)(void));
  if (!next) *(void **)&next = progress_next("MPII_Errhandler_set_cxx");
  cxx_invoke = (void (*)(int, int *, int *, void (*)(void)))invoke;
  next(made, (void (*)(void))cxx_stand_in);
}
#endif
#pragma GCC diagnostic pop
