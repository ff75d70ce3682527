/* Counters of TCP and UDP of this network namespace, from /proc/net. */
#pragma once
#include "options.h"
#include "status.h"
#include "counters.h"

/* ---- for later pieces ---- */
typedef struct nic__host_row {
  int file;
  const char *line, *column;
} nic__host_row;
typedef struct nic__host_files {
  struct {
    int fd;
    int64_t t_before_ns, t_after_ns;
    char text[16384]; /* as last read; netstat has about 4 KB */
  } file[2];
} nic__host_files;

NIC__PRIVATE bool nic__host_value(const char *text, const nic__host_row *row, uint64_t *value);
NIC__PRIVATE void nic__host_read(const nic_host *host, nic__host_files *h);
NIC__PRIVATE nic_status nic__open_host(nic_counters *c, const char *proc_root);
