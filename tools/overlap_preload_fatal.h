/* overlap_preload_fatal.h: fatal errors. An MPI tells its launcher of one, which kills all processes, before it calls
   exit: too late for a report. What the MPI itself calls before that is no function of the standard, but one that its
   library exports, so others can stand before it; where it does not, all is as without. */
#ifdef OPEN_MPI
/* What prints the error has done so; this returns never. */
VISIBLE int ompi_mpi_abort(void *comm, int code);
VISIBLE int ompi_mpi_abort(void *comm, int code) {
  static int (*real_ompi_mpi_abort)(void *, int);
  finish_before_abort();
  return REAL_OF(, ompi_mpi_abort)(comm, code);
}
#endif
/* In MPICH each function that fails calls one of two, which its layer for files needs, too. Of the object that these are
   given, only its first number is looked at: the handle. Who handles its errors goes on. */
#ifdef MPICH_VERSION
/* Bits of a handle: how its object is kept, 0 for no handle, 1 for one of the MPI's own; then what it is. */
static bool is_handle(unsigned handle, unsigned what) {
  return handle >> 30 && (handle >> 26 & 15) == what;
}
static bool is_fatal(MPI_Errhandler handler) {
  if (handler == MPI_ERRHANDLER_NULL) return false;
  bool is = handler == MPI_ERRORS_ARE_FATAL;
#  ifdef MPI_ERRORS_ABORT
  is |= handler == MPI_ERRORS_ABORT;
#  endif
  if ((unsigned)handler >> 30 != 1) PMPI_Errhandler_free(&handler); /* of the program */
  return is;
}
/* Asking is a call of MPI as one in an error handler is; should it fail, it comes here again. */
static bool begin_to_ask(void) {
  if (me.asks_for_handler || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) return false;
  return me.asks_for_handler = true;
}
VISIBLE int MPIR_Err_return_comm(const unsigned *comm, const char *function, int code);
VISIBLE int MPIR_Err_return_comm(const unsigned *comm, const char *function, int code) {
  static int (*real_MPIR_Err_return_comm)(const unsigned *, const char *, int);
  const unsigned handle = comm ? *comm : (unsigned)MPI_COMM_WORLD, what_comm = 1;
  if (is_handle(handle, what_comm) && begin_to_ask()) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    PMPI_Comm_get_errhandler((MPI_Comm)handle, &handler);
    const bool fatal = is_fatal(handler);
    me.asks_for_handler = false;
    if (fatal) finish_before_end();
  }
  return REAL_OF(, MPIR_Err_return_comm)(comm, function, code);
}
VISIBLE int MPIR_Err_return_win(const unsigned *win, const char *function, int code);
VISIBLE int MPIR_Err_return_win(const unsigned *win, const char *function, int code) {
  static int (*real_MPIR_Err_return_win)(const unsigned *, const char *, int);
  const unsigned what_win = 8;
  if (win && is_handle(*win, what_win) && begin_to_ask()) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    PMPI_Win_get_errhandler((MPI_Win)*win, &handler);
    const bool fatal = is_fatal(handler);
    me.asks_for_handler = false;
    if (fatal) finish_before_end();
  }
  return REAL_OF(, MPIR_Err_return_win)(win, function, code);
}
#endif
