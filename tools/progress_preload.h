/* progress_preload.h: what the two files of the progress preload know of each other (manual: progress_preload.c). */
#pragma once
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#ifdef OPEN_MPI
#  include <mpi-ext.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#define VISIBLE             __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The function below us: of a PMPI tool that was loaded after this library, else the MPI's own. */
void *progress_next(const char *name);
#define NEXT(name)                                                                                 \
  (*__extension__({                                                                                \
    static __typeof__(PMPI_##name) *f_;                                                            \
    if (UNLIKELY(!f_)) *(void **)&f_ = progress_next("PMPI_" #name);                               \
    f_;                                                                                            \
  }))

/* A setting from the environment; NULL: not set, or empty. */
const char *progress_setting(const char *name);
/* Which of `names` the setting is; a wrong value is said once. */
int progress_choice(const char *setting, const char *const *names, int count, int by_default);
/* One line on standard error, "nbc_progress: ...", unless NBC_PROGRESS_SAY=0. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
