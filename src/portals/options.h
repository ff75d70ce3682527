/* Options, and what every piece shares: includes, allocation, linkage of private names. */
#pragma once
#include "../base/private.h"
#define PM_VERSION_STRING "0.2.0"
#define PM_VERSION        200 /* major * 10000 + minor * 100 + patch */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                          default   where                 meaning
    PORTALS_MODEL_IMPLEMENTATION   -         one file              compile the implementation here
    PM_STATIC                      -         every including file  all functions static (private copy)
    PM_API                         extern    every including file  linkage of your own
    PM_MALLOC, PM_REALLOC, PM_FREE libc      implementing file     all or none
    PM_ASSERT                      nothing   implementing file     checks of the model's own invariants
    PM_HOST_CPU_NS()               a clock   implementing file     CPU time of the running host thread, for
                                                                   measured computation
    PM_USE_UCONTEXT                -         implementing file     contexts by ucontext instead of assembly
    PM_WITH_VALGRIND               -         implementing file     stacks are announced to valgrind
    PM_THREADS                     -         implementing file     worlds may run over several threads (link
                                                                   with -pthread), see pm_world_desc.threads
    PM_WITH_NBC                    -         any file              adapters to nbc_overlap.h, which must
                                                                   have been included before
*/
#ifndef PM_API
#  if !defined(PM_STATIC)
#    define PM_API extern
#  elif defined(__GNUC__)
#    define PM_API __attribute__((unused)) static
#  else
#    define PM_API static
#  endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for later pieces ---- */

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if !defined(MAP_ANONYMOUS) || !defined(CLOCK_MONOTONIC)
#  error                                                                                           \
      "portals_model.h: mmap or clock_gettime is hidden; compile the implementing file with -D_GNU_SOURCE or -std=gnu11"
#endif
#if defined(__SANITIZE_ADDRESS__)
#  define PM__ASAN 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define PM__ASAN 1
#  endif
#endif
#if defined(__SANITIZE_THREAD__)
#  define PM__TSAN 1
#elif defined(__has_feature)
#  if __has_feature(thread_sanitizer)
#    define PM__TSAN 1
#  endif
#endif
#ifdef PM__TSAN
#  include <sanitizer/tsan_interface.h>
#endif
#ifdef PM__ASAN
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif
#if !defined(PM_USE_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#  define PM_USE_UCONTEXT 1
#endif
#ifdef PM_USE_UCONTEXT
#  include <ucontext.h>
#endif
#ifdef PM_WITH_VALGRIND
#  include <valgrind/valgrind.h>
#endif

#if defined(PM_MALLOC) != defined(PM_FREE) || defined(PM_MALLOC) != defined(PM_REALLOC)
#  error "portals_model.h: define all of PM_MALLOC, PM_REALLOC and PM_FREE or none"
#endif
#ifndef PM_MALLOC
#  define PM_MALLOC(size)       malloc(size)
#  define PM_REALLOC(ptr, size) realloc(ptr, size)
#  define PM_FREE(ptr)          free(ptr)
#endif
#ifndef PM_ASSERT
#  define PM_ASSERT(condition) ((void)0)
#endif
#ifndef PM_HOST_CPU_NS
static inline int64_t pm__host_cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
#  define PM_HOST_CPU_NS() pm__host_cpu_ns()
#endif

/* Private functions that several pieces use: static in the single header, hidden in a library made of
   pieces. */
#ifdef NBC_PIECES
#  define PM__PRIVATE __attribute__((visibility("hidden")))
#else
#  define PM__PRIVATE static
#endif
/* Of what is rare in a function that is called for every event: a call that is not made needs no registers
   to be saved, code that was merged in does. */
#define PM__APART __attribute__((noinline))
/* And the other way round: small functions that every message goes through. At -O2 compilers leave most of them as
   calls, which takes a message a tenth of its instructions. */
#define PM__INLINE_HERE __attribute__((always_inline)) static inline
#ifdef NBC_PIECES
#  define PM__INLINE PM__PRIVATE
#else
#  define PM__INLINE PM__INLINE_HERE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ============================================================================================== */
/* [CONFIG] 1. Options: what every section shares                                                 */
/* ============================================================================================== */
#define PM__PS      1000 /* per ns */
#define PM__FOREVER INT64_MAX
/* Simulated time ends here, after 104 days; what the platform's constants may add fits in behind. */
#define PM__END (INT64_MAX - 200000000000000000)
PM__PRIVATE int pm__grow(void **array, int *max, int want, size_t item_bytes);
PM__PRIVATE void *pm__zalloc(size_t bytes);
/* Zeroed, from the beginning of a line of the cache on: what is laid out in lines has to begin with one. */
enum { PM__LINE = 64, PM__LARGE_PAGE = 1 << 21 };
PM__PRIVATE void pm__in_large_pages(void *at, size_t bytes); /* from its whole large pages on */
PM__PRIVATE void *pm__lines_alloc(size_t bytes);
PM__PRIVATE void pm__lines_free(void *lines);
