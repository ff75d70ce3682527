/* The options of the library and what it needs of C and of the system. */
#pragma once
#include "private.h"
#define NBC_VERSION_STRING "0.2.0"
#define NBC_VERSION        200 /* major * 10000 + minor * 100 + patch */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef NBC_WITH_MPI
#  include <mpi.h>
#endif
#ifdef NBC_WITH_SHMEM
#  include <shmem.h>
#endif

/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                        default   where                 meaning
    NBC_OVERLAP_IMPLEMENTATION   -         one file              compile the implementation here
    NBC_STATIC                   -         every including file  all functions static (private copy)
    NBC_API                      extern    every including file  linkage of your own
    NBC_MALLOC, NBC_FREE         libc      implementing file     both or none
    NBC_ZALLOC                   calloc    implementing file     zeroed memory beside NBC_MALLOC
    NBC_WITH_MPI                 -         every including file  transport over MPI; needs <mpi.h>
    NBC_WITH_SHMEM               -         every including file  over OpenSHMEM; needs <shmem.h>
    NBC_ASSERT                   nothing   implementing file     checks of the library's invariants
    Parts to leave out, alike in every including file:
    NBC_NO_READ                  -         reading reports back, comparing them
    NBC_NO_NIC                   -         [NIC]; without times over several clocks also [RELATION]
    NBC_NO_COLL                  -         [SCHEDULE] to [COLL]: collectives
    NBC_NO_TIME                  -         [SYNC] to [DEDICATED]: common time, measuring, models
    NBC_NO_TRANSPORT             -         [TRANSPORT] to [SHMEM], and so the two above
    NBC_ONLY_OVERLAP             -         no transport: what an instrumented library needs
    NBC_ONLY_MONITOR             -         that, without NIC and reading: the smallest part
*/
#if defined(NBC_ONLY_MONITOR) && !defined(NBC_ONLY_OVERLAP)
#  define NBC_ONLY_OVERLAP
#endif
#if defined(NBC_ONLY_MONITOR) && !defined(NBC_NO_NIC)
#  define NBC_NO_NIC
#endif
#if defined(NBC_ONLY_MONITOR) && !defined(NBC_NO_READ)
#  define NBC_NO_READ
#endif
#if defined(NBC_ONLY_OVERLAP) && !defined(NBC_NO_TRANSPORT)
#  define NBC_NO_TRANSPORT
#endif
#if defined(NBC_NO_TRANSPORT) && !defined(NBC_NO_COLL)
#  define NBC_NO_COLL
#endif
#if defined(NBC_NO_TRANSPORT) && !defined(NBC_NO_TIME)
#  define NBC_NO_TIME
#endif
#ifndef NBC_API
#  if !defined(NBC_STATIC)
#    define NBC_API extern
#  elif defined(__GNUC__)
#    define NBC_API __attribute__((unused)) static
#  else
#    define NBC_API static
#  endif
#endif

/* ---- for later pieces ---- */
/* ============================================================================================== */
/* [CONFIG] 1. Options                                                                            */
/* ============================================================================================== */
#include <errno.h>
#if defined(__x86_64__) && defined(__GNUC__)
#  include <cpuid.h>
#endif
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/prctl.h>
#endif
#if defined(__linux__) && defined(NBC_WITH_MPI)
#  include <fcntl.h>
#  include <sys/stat.h>
#  include <sys/syscall.h>
#endif
#if !defined(CLOCK_MONOTONIC_RAW) || !defined(CPU_SETSIZE)
#  error "nbc_overlap.h: compile the implementing file with -D_GNU_SOURCE"
#endif
#if defined(NBC_MALLOC) != defined(NBC_FREE)
#  error "nbc_overlap.h: define both NBC_MALLOC and NBC_FREE, or none"
#endif
#ifndef NBC_MALLOC
#  define NBC_MALLOC(size_bytes) malloc(size_bytes)
#  define NBC_FREE(pointer)      free(pointer)
#  ifndef NBC_ZALLOC /* untouched memory is not resident */
#    define NBC_ZALLOC(size_bytes) calloc(1, size_bytes)
#  endif
#endif
#ifndef NBC_ASSERT
#  define NBC_ASSERT(condition) ((void)0)
#endif
