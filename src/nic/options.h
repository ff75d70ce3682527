/* Options of nic_hw.h, and what its pieces need of the system. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                   default   where                 meaning
    NIC_HW_IMPLEMENTATION   -         one file              compile the implementation here
    NIC_STATIC              -         every including file  all functions static (private copy)
    NIC_API                 extern    every including file  linkage of your own
    NIC_WITH_LIBPCI         -         implementing file     PCI through libpci: names, recorded machines
    NIC_WITH_NBC            -         every including file  what stands in section 9
    NIC_MALLOC, NIC_FREE    libc      implementing file     both or none */
#ifndef NIC_API
#  if !defined(NIC_STATIC)
#    define NIC_API extern
#  elif defined(__GNUC__)
#    define NIC_API __attribute__((unused)) static
#  else
#    define NIC_API static
#  endif
#endif

/* ---- for later pieces ---- */
/* ============================================================================================== */
/* [CONFIG] 1. Options                                                                            */
/* ============================================================================================== */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <netinet/in.h>
#include <linux/errqueue.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/net_tstamp.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/ptp_clock.h>
#include <linux/sockios.h>
#include <net/if.h>
#ifdef NIC_WITH_LIBPCI
#  include <setjmp.h>
#  ifdef __cplusplus
extern "C" { /* libpci's header is of C and does not say so */
#  endif
#  include <pci/pci.h>
#  ifdef __cplusplus
}
#  endif
#endif
#if !defined(CLOCK_MONOTONIC_RAW)
#  error "nic_hw.h: compile the implementing file with -D_GNU_SOURCE or -std=gnu11"
#endif
#if defined(NIC_MALLOC) != defined(NIC_FREE)
#  error "nic_hw.h: define both NIC_MALLOC and NIC_FREE, or none"
#endif
#ifndef NIC_MALLOC
#  define NIC_MALLOC(size_bytes) malloc(size_bytes)
#  define NIC_FREE(pointer)      free(pointer)
#endif

#if defined(NBC_PIECES)
#  define NIC__PRIVATE __attribute__((visibility("hidden")))
#else
#  define NIC__PRIVATE __attribute__((unused)) static
#endif
