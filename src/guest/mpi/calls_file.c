/* MPI functions: files. They are files of the host; a transfer takes the latency and the bandwidth that the options
   say, per process. A view is walked piece by piece. Nonblocking transfers are done in the call that starts
   them. The file includes itself: once with int counts, once with MPI_Count. */
#ifndef GM_PASS
#  include "abi.h"
#  include <errno.h>
#  include <fcntl.h>
#  include <sys/stat.h>
#  include <unistd.h>

typedef struct file_shared {
  int refs;
  int64_t at;
} file_shared; /* of all processes: the shared pointer, in etypes */
typedef struct file_piece {
  int64_t offset;
  uint64_t bytes, before;
} file_piece;
struct ADIOI_FileD {
  gm_comm *comm;
  int fd, amode, handle;
  bool is_atomic;
  /* "external32": what is written is turned, what is read turned back */
  const char *representation;
  char *path;
  int64_t disp, at; /* of the view in bytes; individual pointer in etypes */
  gm_type *etype, *filetype;
  file_piece *piece;
  uint32_t pieces, pieces_max;
  file_shared *shared;
  gm_errh *errh;
  gm_info *info;
  MPI_Status pending; /* of a split collective */
  bool has_pending;
};
typedef struct ADIOI_FileD file;
static int raise_file(gm_proc *p, file *f, int code, const char *name) {
  static gm_errh returns = {.refs = 1, .kind = 1, .handle = MPI_ERRORS_RETURN};
  gm_errh *e = f ? f->errh : p->file_errh ? p->file_errh : &returns;
  if (e->kind == 3) { /* a file's handle is an address */
    gm_errh_call(e, 1, &f, &code);
    return code;
  }
  return gm_raise_to(p, e, f ? f->handle : 0, code, name);
}
#  define FILE_FAIL_IF(condition, f, code)                                                         \
    do {                                                                                           \
      if (condition) return raise_file(p, f, code, scope.name);                                    \
    } while (0)
#  define FILE_OF(f, fh)                                                                           \
    file *const f = fh;                                                                            \
    FILE_FAIL_IF(!f, NULL, MPI_ERR_FILE)
static int class_of_errno(int error) {
  switch (error) {
  case ENOENT: return MPI_ERR_NO_SUCH_FILE;
  case EEXIST: return MPI_ERR_FILE_EXISTS;
  case EACCES:
  case EPERM: return MPI_ERR_ACCESS;
  case ENOSPC: return MPI_ERR_NO_SPACE;
  case EDQUOT: return MPI_ERR_QUOTA;
  case EROFS: return MPI_ERR_READ_ONLY;
  case ENOTDIR:
  case ENAMETOOLONG: return MPI_ERR_BAD_FILE;
  default: return MPI_ERR_IO;
  }
}
static void io_time(uint64_t bytes) {
  pm_sleep_ns(gm_set.io_latency_ns + (int64_t)((double)bytes / gm_set.io_bytes_per_s * 1e9));
}

/* ---- open and close ------------------------------------------------------------------------------------------ */
static void add_piece(void *arg, int64_t offset, uint64_t bytes) {
  file *f = arg;
  f->piece = gm_grow(f->piece, &f->pieces_max, f->pieces + 1, sizeof *f->piece);
  file_piece *last = f->pieces ? &f->piece[f->pieces - 1] : NULL;
  f->piece[f->pieces].offset = offset;
  f->piece[f->pieces].bytes = bytes;
  f->piece[f->pieces].before = last ? last->before + last->bytes : 0;
  f->pieces++;
}
static void set_view(file *f, int64_t disp, gm_type *etype, gm_type *filetype) {
  gm_type_ref(etype);
  gm_type_ref(filetype);
  if (f->etype) gm_type_unref(f->etype);
  if (f->filetype) gm_type_unref(f->filetype);
  f->disp = disp;
  f->etype = etype;
  f->filetype = filetype;
  f->at = 0;
  f->pieces = 0;
  gm_pieces(filetype, 1, 0, add_piece, f);
}
static int flags_of(int amode) {
  int flags = amode & MPI_MODE_RDWR ? O_RDWR : amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
  if (amode & MPI_MODE_CREATE) flags |= O_CREAT;
  if (amode & MPI_MODE_EXCL) flags |= O_EXCL;
  return flags | O_CLOEXEC;
}
static bool mode_is_good(int amode) {
  const int ways =
      !!(amode & MPI_MODE_RDONLY) + !!(amode & MPI_MODE_WRONLY) + !!(amode & MPI_MODE_RDWR);
  return ways == 1 && !((amode & MPI_MODE_RDONLY) && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))) &&
         !((amode & MPI_MODE_RDWR) && (amode & MPI_MODE_SEQUENTIAL));
}
/* Behind the file system that ROMIO is to take it for. */
static const char *path_of(const char *name) {
  const bool has_system = !gm_set.names_are_paths &&
                          (strncasecmp(name, "ufs:", 4) == 0 || strncasecmp(name, "nfs:", 4) == 0);
  return name + (has_system ? 4 : 0);
}
CALL(File_open, MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh) {
  IN("File_open");
  gm_comm *c = comm_of(p, comm);
  struct {
    int error;
    file_shared *shared;
  } told = {0, NULL};
  FAIL_IF(!c || c->remote, c, MPI_ERR_COMM);
  FILE_FAIL_IF(!mode_is_good(amode), NULL, MPI_ERR_AMODE);
  const uint32_t context = gm_comm_agree(p, c);
  const char *const path = path_of(name);
  int fd = -1;
  if (c->rank == 0) { /* it makes the file, then the others find it */
    fd = open(path, flags_of(amode), 0666);
    told.error = fd < 0 ? errno : 0;
    if (!told.error) {
      told.shared = gm_alloc(sizeof *told.shared);
      told.shared->refs = c->local->size;
    }
  }
  gm_bcast_bytes(p, c, &told, sizeof told, 0);
  FILE_FAIL_IF(told.error, NULL, class_of_errno(told.error));
  if (c->rank) fd = open(path, flags_of(amode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL)), 0666);
  FILE_FAIL_IF(guest_descriptor_opened(fd) < 0, NULL, class_of_errno(errno));
  io_time(0);
  file *f = gm_alloc(sizeof *f);
  f->comm = gm_comm_make(p, c->local, NULL, context);
  f->fd = fd;
  f->amode = amode;
  f->path = strdup(path);
  f->shared = told.shared;
  f->errh = p->file_errh ? p->file_errh : errh_of(p, MPI_ERRORS_RETURN);
  f->info = gm_info_copy(info_of(p, info));
  set_view(f, 0, type_of(p, MPI_BYTE), type_of(p, MPI_BYTE));
  f->representation = "native";
  if (amode & MPI_MODE_APPEND) {
    f->at = lseek(fd, 0, SEEK_END);
    if (c->rank == 0) f->shared->at = f->at;
  }
  *fh = f;
  return MPI_SUCCESS;
}
CALL(File_close, MPI_File *fh) {
  IN("File_close");
  FILE_OF(f, *fh);
  gm_barrier(p, f->comm);
  const int failed = guest_close(f->fd) ? errno : 0;
  if ((f->amode & MPI_MODE_DELETE_ON_CLOSE) && f->comm->rank == 0) unlink(f->path);
  if (--f->shared->refs == 0) free(f->shared);
  gm_type_unref(f->etype);
  gm_type_unref(f->filetype);
  gm_info_free(f->info);
  gm_comm_unref(f->comm);
  free(f->piece);
  free(f->path);
  free(f);
  *fh = MPI_FILE_NULL;
  FILE_FAIL_IF(failed, NULL, class_of_errno(failed));
  return MPI_SUCCESS;
}
CALL(File_delete, const char *name, MPI_Info info) {
  IN("File_delete");
  (void)info;
  FILE_FAIL_IF(unlink(path_of(name)), NULL, class_of_errno(errno));
  return MPI_SUCCESS;
}
CALL(File_set_size, MPI_File fh, MPI_Offset size) {
  IN("File_set_size");
  FILE_OF(f, fh);
  FILE_FAIL_IF(size < 0, f, MPI_ERR_ARG);
  gm_barrier(p, f->comm);
  const int failed = f->comm->rank == 0 && ftruncate(f->fd, size) ? errno : 0;
  gm_barrier(p, f->comm);
  FILE_FAIL_IF(failed, f, class_of_errno(failed));
  return MPI_SUCCESS;
}
CALL(File_preallocate, MPI_File fh, MPI_Offset size) {
  IN("File_preallocate");
  FILE_OF(f, fh);
  struct stat s;
  gm_barrier(p, f->comm);
  int failed = 0;
  if (f->comm->rank == 0 && fstat(f->fd, &s) == 0 && s.st_size < size && ftruncate(f->fd, size))
    failed = errno;
  gm_barrier(p, f->comm);
  FILE_FAIL_IF(failed, f, class_of_errno(failed));
  return MPI_SUCCESS;
}
CALL(File_get_size, MPI_File fh, MPI_Offset *size) {
  IN("File_get_size");
  FILE_OF(f, fh);
  struct stat s;
  FILE_FAIL_IF(fstat(f->fd, &s), f, class_of_errno(errno));
  *size = s.st_size;
  return MPI_SUCCESS;
}
CALL(File_get_group, MPI_File fh, MPI_Group *group) {
  IN("File_get_group");
  FILE_OF(f, fh);
  FILE_FAIL_IF(!group, f, MPI_ERR_ARG);
  *group = group_handle(p, gm_group_keep(f->comm->local));
  return MPI_SUCCESS;
}
CALL(File_get_amode, MPI_File fh, int *amode) {
  IN("File_get_amode");
  FILE_OF(f, fh);
  *amode = f->amode;
  return MPI_SUCCESS;
}
CALL(File_set_info, MPI_File fh, MPI_Info info) {
  IN("File_set_info");
  FILE_OF(f, fh);
  if (!info_of(p, info)) return MPI_SUCCESS;
  gm_info_free(f->info);
  f->info = gm_info_copy(info_of(p, info));
  return MPI_SUCCESS;
}
CALL(File_get_info, MPI_File fh, MPI_Info *info) {
  IN("File_get_info");
  FILE_OF(f, fh);
  *info = info_handle(p, gm_info_copy(f->info));
  return MPI_SUCCESS;
}
CALL(File_set_errhandler, MPI_File fh, MPI_Errhandler h) {
  IN("File_set_errhandler");
  FILE_FAIL_IF(!errh_of(p, h), fh, MPI_ERR_ARG);
  if (fh)
    fh->errh = errh_of(p, h);
  else
    p->file_errh = errh_of(p, h);
  return MPI_SUCCESS;
}
CALL(File_get_errhandler, MPI_File fh, MPI_Errhandler *h) {
  IN("File_get_errhandler");
  *h = fh ? fh->errh->handle : p->file_errh ? p->file_errh->handle : MPI_ERRORS_RETURN;
  return MPI_SUCCESS;
}
CALL(File_call_errhandler, MPI_File fh, int code) {
  IN("File_call_errhandler");
  raise_file(p, fh, code, scope.name);
  return MPI_SUCCESS;
}
/* Known from then on, but no view can have it: MPICH says the same. */
static int register_datarep(gm_proc *p, const char *name, const char *function) {
  static char(*known)[MPI_MAX_DATAREP_STRING]; /* of all processes: "rank name" */
  static uint32_t count, max;
  char own[MPI_MAX_DATAREP_STRING];
  if (!name || !*name || strlen(name) + 12 > sizeof own)
    return raise_file(p, NULL, MPI_ERR_ARG, function);
  snprintf(own, sizeof own, "%d %s", p->rank, name);
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(known[i], own) == 0) return raise_file(p, NULL, MPI_ERR_DUP_DATAREP, function);
  known = gm_grow(known, &max, count + 1, sizeof *known);
  memcpy(known[count++], own, sizeof own);
  return MPI_SUCCESS;
}
CALL(Register_datarep, const char *name, MPI_Datarep_conversion_function *read_fn,
     MPI_Datarep_conversion_function *write_fn, MPI_Datarep_extent_function *extent_fn,
     void *extra) {
  IN("Register_datarep");
  (void)extra;
  FILE_FAIL_IF(!extent_fn, NULL, MPI_ERR_ARG);
  /* as in MPICH: files are as memory is */
  FILE_FAIL_IF(read_fn != MPI_CONVERSION_FN_NULL || write_fn != MPI_CONVERSION_FN_NULL, NULL,
               MPI_ERR_CONVERSION);
  return register_datarep(p, name, scope.name);
}
CALL(Register_datarep_c, const char *name, MPI_Datarep_conversion_function_c *read_fn,
     MPI_Datarep_conversion_function_c *write_fn, MPI_Datarep_extent_function *extent_fn,
     void *extra) {
  IN("Register_datarep_c");
  (void)extra;
  FILE_FAIL_IF(!extent_fn, NULL, MPI_ERR_ARG);
  /* as in MPICH: files are as memory is */
  FILE_FAIL_IF(read_fn != MPI_CONVERSION_FN_NULL_C || write_fn != MPI_CONVERSION_FN_NULL_C, NULL,
               MPI_ERR_CONVERSION);
  return register_datarep(p, name, scope.name);
}
/* Where a byte of the view lies in the file; *run: how many follow it there. */
static int64_t place(const file *f, uint64_t at, uint64_t *run) {
  const gm_type *t = f->filetype;
  if (!t->size) {
    *run = 0;
    return f->disp;
  }
  const uint64_t tile = at / t->size, rest = at % t->size;
  if (GM_IS_PLAIN(t)) {
    *run = UINT64_MAX;
    return f->disp + t->true_lb + (int64_t)at;
  }
  uint32_t low = 0, high = f->pieces - 1;
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (f->piece[middle].before <= rest)
      low = middle;
    else
      high = middle - 1;
  }
  *run = f->piece[low].bytes - (rest - f->piece[low].before);
  return f->disp + (int64_t)tile * GM_EXTENT(t) + f->piece[low].offset +
         (int64_t)(rest - f->piece[low].before);
}
/* Data of a view lie forwards in the file; who writes may not have two for one place. */
typedef struct course {
  int64_t least; /* where the next piece may begin */
  bool is_written, is_bad;
} course;
static void follow(void *arg, int64_t offset, uint64_t bytes) {
  course *c = arg;
  if (offset < c->least) c->is_bad = 1;
  c->least = c->is_written ? offset + (int64_t)bytes : offset;
}
static int goes_forwards(const gm_type *t, bool is_written) {
  course c = {0, is_written, 0};
  gm_pieces(t, 1, 0, follow, &c);
  return !c.is_bad;
}
static const char *representation_of(const char *name) { /* NULL: not known */
  static const char *const known[] = {"native", "internal", "external32"};
  for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
    if (strcmp(name, known[i]) == 0) return known[i];
  return NULL;
}
CALL(File_set_view, MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
     const char *rep, MPI_Info info) {
  IN("File_set_view");
  FILE_OF(f, fh);
  gm_type *e = type_of(p, etype), *t = type_of(p, filetype);
  (void)info;
  if (disp == MPI_DISPLACEMENT_CURRENT && f->amode & MPI_MODE_SEQUENTIAL) {
    uint64_t run;
    gm_barrier(p, f->comm); /* all writes before are counted */
    disp = place(f, (uint64_t)f->shared->at * f->etype->size, &run);
  }
  FILE_FAIL_IF(gm_check_type(e, 0) || gm_check_type(t, 0), f, MPI_ERR_TYPE);
  const char *const known = representation_of(rep);
  FILE_FAIL_IF(!known || (!strcmp(known, "external32") && gm_external_size(t, 1) != t->size), f,
               MPI_ERR_UNSUPPORTED_DATAREP);
  FILE_FAIL_IF(disp < 0 || !e->size || t->size % e->size, f, MPI_ERR_ARG);
  const bool is_written = !(f->amode & MPI_MODE_RDONLY);
  FILE_FAIL_IF(!goes_forwards(e, is_written) || !goes_forwards(t, is_written), f, MPI_ERR_IO);
  set_view(f, disp, e, t);
  f->representation = known;
  gm_barrier(p, f->comm);
  f->shared->at = 0;
  return MPI_SUCCESS;
}
static MPI_Datatype handle_again(gm_proc *p, gm_type *t) {
  if (t->is_static) return t->handle;
  gm_type_ref(t);
  return GM_HANDLE(GM_T_TYPE, gm_put(&p->table[GM_T_TYPE], t));
}
CALL(File_get_view, MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype,
     char *rep) {
  IN("File_get_view");
  FILE_OF(f, fh);
  *disp = f->disp;
  *etype = handle_again(p, f->etype);
  *filetype = handle_again(p, f->filetype);
  if (rep) strcpy(rep, f->representation); /* NULL: not asked for, as in MPICH */
  return MPI_SUCCESS;
}
/* ret bytes moved, or -1 and errno */
static int64_t move(const file *f, uint64_t at, char *data, uint64_t bytes, bool is_write) {
  uint64_t done = 0;
  while (done < bytes) {
    uint64_t run, n;
    const int64_t where = place(f, at + done, &run);
    n = bytes - done < run ? bytes - done : run;
    const ssize_t got =
        is_write ? pwrite(f->fd, data + done, n, where) : pread(f->fd, data + done, n, where);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    done += (uint64_t)got;
    if (got == 0) break; /* less than asked for: the kernel moves at most 2 GiB at once */
  }
  return (int64_t)done;
}
enum { IO_AT, IO_OWN, IO_SHARED, IO_ORDERED };
static int io(gm_proc *p, const char *name, file *f, bool is_write, int how, MPI_Offset offset,
              void *buffer, int64_t count, MPI_Datatype type, MPI_Status *status,
              MPI_Request *request) {
  gm_type *t = type_of(p, type);
  if (!f) return raise_file(p, f, MPI_ERR_FILE, name);
  const int bad = gm_check_type(t, count);
  if (bad) return raise_file(p, f, bad, name);
  if (is_write && (f->amode & MPI_MODE_RDONLY)) return raise_file(p, f, MPI_ERR_READ_ONLY, name);
  if (!is_write && (f->amode & MPI_MODE_WRONLY)) return raise_file(p, f, MPI_ERR_ACCESS, name);
  if (how == IO_AT && offset < 0) return raise_file(p, f, MPI_ERR_ARG, name);
  if (f->representation[0] == 'e' && gm_external_size(t, 1) != t->size)
    return raise_file(p, f, MPI_ERR_UNSUPPORTED_DATAREP, name);
  const uint64_t bytes = t->size * (uint64_t)count;
  const int64_t etypes = (int64_t)(bytes / f->etype->size);
  if (bytes % f->etype->size) return raise_file(p, f, MPI_ERR_IO, name);
  if (how == IO_OWN) offset = f->at, f->at += etypes;
  if (how == IO_SHARED) {
    offset = f->shared->at;
    f->shared->at += etypes;
    io_time(0); /* whoever keeps the pointer must be asked */
  }
  if (how == IO_ORDERED) {
    const int n = f->comm->local->size;
    int64_t *all = gm_alloc((size_t)n * sizeof *all), sum = 0;
    gm_allgather_bytes(p, f->comm, &etypes, all, sizeof etypes);
    offset = f->shared->at;
    for (int i = 0; i < n; i++) {
      if (i < f->comm->rank) offset += all[i];
      sum += all[i];
    }
    free(all);
    gm_barrier(p, f->comm);
    if (f->comm->rank == 0) f->shared->at += sum;
    gm_barrier(p, f->comm);
  }
  const bool is_turned = f->representation[0] == 'e', is_packed = is_turned || !GM_IS_PLAIN(t);
  char *data = is_packed ? gm_alloc(bytes) : (char *)buffer + t->true_lb;
  if (is_turned && is_write)
    gm_external(buffer, data, (uint64_t)count, t, 0, bytes);
  else if (is_packed && is_write)
    gm_pack(buffer, (uint64_t)count, t, data);
  const int64_t moved = move(f, (uint64_t)offset * f->etype->size, data, bytes, is_write);
  const int failed = moved < 0 ? errno : 0;
  if (is_turned && !is_write && moved > 0)
    gm_external(data, buffer, (uint64_t)count, t, 1, (uint64_t)moved);
  else if (is_packed && !is_write && moved > 0)
    gm_unpack(buffer, (uint64_t)count, t, data, (uint64_t)moved);
  if (is_packed) free(data);
  /* The pointer moves by what was to be read; MPICH's by what was, in the plainest case alone. */
  const bool is_by_moved = !request && !is_packed && GM_IS_PLAIN(f->filetype);
  if (how == IO_OWN && is_by_moved && !failed && moved < (int64_t)bytes)
    f->at -= ((int64_t)bytes - moved) / (int64_t)f->etype->size;
  io_time(bytes);
  if (failed) return raise_file(p, f, class_of_errno(failed), name);
  gm_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, (uint64_t)moved, -1);
  if (!request) return MPI_SUCCESS;
  gm_req *r = gm_req_new(p, REQ_IO);
  r->is_active = 1;
  r->bytes = (uint64_t)moved;
  *request = gm_req_handle(p, r);
  gm_req_complete(r);
  return MPI_SUCCESS;
}
static int io_begin(gm_proc *p, const char *name, file *f, bool is_write, int how,
                    MPI_Offset offset, void *buffer, int64_t count, MPI_Datatype type) {
  if (!f) return raise_file(p, f, MPI_ERR_FILE, name);
  if (f->has_pending) return raise_file(p, f, MPI_ERR_IO, name);
  f->has_pending = 1;
  return io(p, name, f, is_write, how, offset, buffer, count, type, &f->pending, NULL);
}
#  define IO_END(what, constness)                                                                  \
    CALL(what, MPI_File fh, constness void *buffer, MPI_Status *status) {                          \
      IN(#what);                                                                                   \
      FILE_OF(f, fh);                                                                              \
      (void)buffer;                                                                                \
      FILE_FAIL_IF(!f->has_pending, f, MPI_ERR_IO);                                                \
      f->has_pending = 0;                                                                          \
      if (status != MPI_STATUS_IGNORE) *status = f->pending;                                       \
      return MPI_SUCCESS;                                                                          \
    }
IO_END(File_read_at_all_end, )
IO_END(File_write_at_all_end, const)
IO_END(File_read_all_end, )
IO_END(File_write_all_end, const)
IO_END(File_read_ordered_end, )
IO_END(File_write_ordered_end, const)

/* ---- pointers -------------------------------------------------------------------------------------------------- */
static int seek_to(gm_proc *p, const char *name, file *f, MPI_Offset offset, int whence,
                   int64_t *at) {
  int64_t to = offset;
  struct stat s;
  if (!f) return raise_file(p, f, MPI_ERR_FILE, name);
  if (f->amode & MPI_MODE_SEQUENTIAL) return raise_file(p, f, MPI_ERR_UNSUPPORTED_OPERATION, name);
  if (whence == MPI_SEEK_CUR)
    to += *at;
  else if (whence == MPI_SEEK_END) { /* the first etype of the view behind the end of the file */
    if (fstat(f->fd, &s)) return raise_file(p, f, class_of_errno(errno), name);
    int64_t low = 0, high = s.st_size / (int64_t)(f->etype->size) + 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      uint64_t run;
      if (place(f, (uint64_t)middle * f->etype->size, &run) < s.st_size)
        low = middle + 1;
      else
        high = middle;
    }
    to += low;
  } else if (whence != MPI_SEEK_SET)
    return raise_file(p, f, MPI_ERR_ARG, name);
  if (to < 0) return raise_file(p, f, MPI_ERR_ARG, name);
  *at = to;
  return MPI_SUCCESS;
}
CALL(File_seek, MPI_File fh, MPI_Offset offset, int whence) {
  IN("File_seek");
  FILE_OF(f, fh);
  return seek_to(p, scope.name, f, offset, whence, &f->at);
}
CALL(File_seek_shared, MPI_File fh, MPI_Offset offset, int whence) {
  IN("File_seek_shared");
  FILE_OF(f, fh);
  int code = MPI_SUCCESS;
  gm_barrier(p, f->comm);
  if (f->comm->rank == 0) code = seek_to(p, scope.name, f, offset, whence, &f->shared->at);
  gm_barrier(p, f->comm);
  return code;
}
CALL(File_get_position, MPI_File fh, MPI_Offset *offset) {
  IN("File_get_position");
  FILE_OF(f, fh);
  *offset = f->at;
  return MPI_SUCCESS;
}
CALL(File_get_position_shared, MPI_File fh, MPI_Offset *offset) {
  IN("File_get_position_shared");
  FILE_OF(f, fh);
  *offset = f->shared->at;
  return MPI_SUCCESS;
}
CALL(File_get_byte_offset, MPI_File fh, MPI_Offset offset, MPI_Offset *disp) {
  IN("File_get_byte_offset");
  FILE_OF(f, fh);
  uint64_t run;
  *disp = place(f, (uint64_t)offset * f->etype->size, &run);
  return MPI_SUCCESS;
}
CALL(File_set_atomicity, MPI_File fh, int flag) {
  IN("File_set_atomicity");
  FILE_OF(f, fh);
  f->is_atomic = flag != 0; /* a transfer is one step of the simulation in either case */
  return MPI_SUCCESS;
}
CALL(File_get_atomicity, MPI_File fh, int *flag) {
  IN("File_get_atomicity");
  FILE_OF(f, fh);
  *flag = f->is_atomic;
  return MPI_SUCCESS;
}
CALL(File_sync, MPI_File fh) {
  IN("File_sync");
  FILE_OF(f, fh);
  io_time(0);
  gm_barrier(p, f->comm);
  return MPI_SUCCESS;
}
GM_WEAK_NAME(MPI_File_c2f, PMPI_File_c2f)
MPI_Fint PMPI_File_c2f(MPI_File fh) {
  gm_proc *p = gm_self();
  if (!fh) return 0;
  if (!fh->handle) fh->handle = (int)gm_put(&p->table[GM_T_FILE], fh);
  return fh->handle;
}
GM_WEAK_NAME(MPI_File_f2c, PMPI_File_f2c)
MPI_File PMPI_File_f2c(MPI_Fint fh) {
  return fh > 0 ? gm_at(&gm_self()->table[GM_T_FILE], (uint32_t)fh) : NULL;
}

#  define GM_PASS
#  define COUNT             int
#  define EXTENT            MPI_Aint
#  define CALL_N(name, ...) CALL(name, __VA_ARGS__)
#  include "calls_file.c"
#  undef COUNT
#  undef EXTENT
#  undef CALL_N
#  define COUNT             MPI_Count
#  define EXTENT            MPI_Count
#  define CALL_N(name, ...) CALL(name##_c, __VA_ARGS__)
#  include "calls_file.c"

#else /* ---- once per type of count ------------------------------------------------------------------------------ */
#  define BUFFER COUNT count, MPI_Datatype type
#  define DATA   (void *)(uintptr_t)buffer, count, type
/* Blocking, nonblocking and split, with an offset or by a pointer. */
#  define IO_AT_OFFSET(what, iwhat, constness, is_write)                                           \
    CALL_N(what, MPI_File fh, MPI_Offset offset, constness void *buffer, BUFFER,                   \
           MPI_Status *status) {                                                                   \
      IN(#what);                                                                                   \
      return io(p, scope.name, fh, is_write, IO_AT, offset, DATA, status, NULL);                   \
    }                                                                                              \
    CALL_N(iwhat, MPI_File fh, MPI_Offset offset, constness void *buffer, BUFFER,                  \
           MPI_Request *request) {                                                                 \
      IN(#iwhat);                                                                                  \
      return io(p, scope.name, fh, is_write, IO_AT, offset, DATA, MPI_STATUS_IGNORE, request);     \
    }
#  define IO_BLOCKING(what, constness, is_write, how)                                              \
    CALL_N(what, MPI_File fh, constness void *buffer, BUFFER, MPI_Status *status) {                \
      IN(#what);                                                                                   \
      return io(p, scope.name, fh, is_write, how, 0, DATA, status, NULL);                          \
    }
#  define IO_NONBLOCKING(iwhat, constness, is_write, how)                                          \
    CALL_N(iwhat, MPI_File fh, constness void *buffer, BUFFER, MPI_Request *request) {             \
      IN(#iwhat);                                                                                  \
      return io(p, scope.name, fh, is_write, how, 0, DATA, MPI_STATUS_IGNORE, request);            \
    }
#  define IO_BEGIN(what, constness, is_write, how)                                                 \
    CALL_N(what, MPI_File fh, constness void *buffer, BUFFER) {                                    \
      IN(#what);                                                                                   \
      return io_begin(p, scope.name, fh, is_write, how, 0, DATA);                                  \
    }
#  define IO_BEGIN_AT(what, constness, is_write)                                                   \
    CALL_N(what, MPI_File fh, MPI_Offset offset, constness void *buffer, BUFFER) {                 \
      IN(#what);                                                                                   \
      return io_begin(p, scope.name, fh, is_write, IO_AT, offset, DATA);                           \
    }
IO_AT_OFFSET(File_read_at, File_iread_at, , 0)
IO_AT_OFFSET(File_read_at_all, File_iread_at_all, , 0)
IO_AT_OFFSET(File_write_at, File_iwrite_at, const, 1)
IO_AT_OFFSET(File_write_at_all, File_iwrite_at_all, const, 1)
IO_BLOCKING(File_read, , 0, IO_OWN)
IO_BLOCKING(File_read_all, , 0, IO_OWN)
IO_BLOCKING(File_write, const, 1, IO_OWN)
IO_BLOCKING(File_write_all, const, 1, IO_OWN)
IO_BLOCKING(File_read_shared, , 0, IO_SHARED)
IO_BLOCKING(File_write_shared, const, 1, IO_SHARED)
IO_BLOCKING(File_read_ordered, , 0, IO_ORDERED)
IO_BLOCKING(File_write_ordered, const, 1, IO_ORDERED)
IO_NONBLOCKING(File_iread, , 0, IO_OWN)
IO_NONBLOCKING(File_iread_all, , 0, IO_OWN)
IO_NONBLOCKING(File_iwrite, const, 1, IO_OWN)
IO_NONBLOCKING(File_iwrite_all, const, 1, IO_OWN)
IO_NONBLOCKING(File_iread_shared, , 0, IO_SHARED)
IO_NONBLOCKING(File_iwrite_shared, const, 1, IO_SHARED)
IO_BEGIN_AT(File_read_at_all_begin, , 0)
IO_BEGIN_AT(File_write_at_all_begin, const, 1)
IO_BEGIN(File_read_all_begin, , 0, IO_OWN)
IO_BEGIN(File_write_all_begin, const, 1, IO_OWN)
IO_BEGIN(File_read_ordered_begin, , 0, IO_ORDERED)
IO_BEGIN(File_write_ordered_begin, const, 1, IO_ORDERED)
CALL_N(File_get_type_extent, MPI_File fh, MPI_Datatype type, EXTENT *extent) {
  IN("File_get_type_extent");
  FILE_OF(f, fh);
  FILE_FAIL_IF(!type_of(p, type), f, MPI_ERR_TYPE);
  *extent = GM_EXTENT(type_of(p, type));
  return MPI_SUCCESS;
}
#  undef BUFFER
#  undef DATA
#  undef IO_AT_OFFSET
#  undef IO_BLOCKING
#  undef IO_NONBLOCKING
#  undef IO_BEGIN
#  undef IO_BEGIN_AT
#endif
