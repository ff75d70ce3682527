/* Counters of TCP and UDP of this network namespace, from /proc/net. */
#include "count_host.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"

typedef struct nic__host_row {
  int file;
  const char *line, *column;
} nic__host_row;
/* Of the kernel's tables of TCP and UDP: what was sent (the measure of the rest), sent again, waited
   for in vain, lost. Column of a line; file 0 = net/snmp, 1 = net/netstat. */
static const nic__host_row nic__host_rows[] = {{0, "Tcp", "OutSegs"},
                                               {0, "Tcp", "RetransSegs"},
                                               {0, "Tcp", "InErrs"},
                                               {0, "Udp", "OutDatagrams"},
                                               {0, "Udp", "InErrors"},
                                               {0, "Udp", "RcvbufErrors"},
                                               {0, "Udp", "SndbufErrors"},
                                               {1, "TcpExt", "TCPLostRetransmit"},
                                               {1, "TcpExt", "TCPFastRetrans"},
                                               {1, "TcpExt", "TCPSlowStartRetrans"},
                                               {1, "TcpExt", "TCPTimeouts"},
                                               {1, "TcpExt", "TCPSynRetrans"},
                                               {1, "TcpExt", "TCPRetransFail"},
                                               {1, "TcpExt", "TCPSpuriousRTOs"},
                                               {1, "TcpExt", "TCPBacklogDrop"},
                                               {1, "TcpExt", "TCPRcvQDrop"}};

/* A table is pairs of lines that begin alike, "Tcp: InSegs …" and "Tcp: 5 …": names, then values.
   false: no such column, or no number (MaxConn may be -1). */
static bool nic__host_value(const char *text, const nic__host_row *row, uint64_t *value) {
  const size_t line_chars = strlen(row->line), column_chars = strlen(row->column);
  for (const char *names = text, *values; (values = strchr(names, '\n')) != NULL; names = values) {
    values++;
    if (strncmp(names, row->line, line_chars) != 0 || names[line_chars] != ':' ||
        strncmp(values, row->line, line_chars) != 0 || values[line_chars] != ':')
      continue;
    const char *a = names + line_chars + 1, *b = values + line_chars + 1;
    while (*a == ' ' && *b == ' ') {
      const size_t a_chars = strcspn(++a, " \n"), b_chars = strcspn(++b, " \n");
      char *end;
      if (a_chars == column_chars && strncmp(a, row->column, a_chars) == 0) {
        errno = 0;
        *value = strtoull(b, &end, 10);
        return *b >= '0' && *b <= '9' && end == b + b_chars && errno == 0;
      }
      a += a_chars;
      b += b_chars;
    }
  }
  return false;
}

/* One file each, so that its times are its own. */
typedef struct nic__host_group {
  nic__group group;
  int file, fd;
  char text[16384]; /* as last read; netstat has about 4 KB */
} nic__host_group;

static bool nic__host_ask(nic__group *group) {
  nic__host_group *g = (nic__host_group *)(void *)group;
  size_t used = 0;
  ssize_t k = 0;
  while (used < sizeof g->text - 1 &&
         (k = pread(g->fd, g->text + used, sizeof g->text - 1 - used, (off_t)used)) > 0)
    used += (size_t)k;
  g->text[used] = 0;
  for (size_t i = 0; i < sizeof nic__host_rows / sizeof nic__host_rows[0]; i++) {
    const nic__host_row *row = &nic__host_rows[i];
    char name[64];
    uint64_t value;
    if (row->file != g->file || !nic__host_value(g->text, row, &value))
      continue; /* another kernel */
    snprintf(name, sizeof name, "%s%s", row->line, row->column);
    nic_counter *counter = nic__group_tell(group, i, "host", name, value);
    if (!counter) continue;
    counter->width_bits = (int)(8 * sizeof(long)); /* the kernel adds in its own longs */
    if (strncmp(row->column, "Out", 3) == 0) counter->unit = NIC_UNIT_PACKETS;
  }
  return true;
}
static void nic__host_close(nic__group *group) { close(((nic__host_group *)(void *)group)->fd); }

/* The files stay open: they belong to the network namespace that opened them. None is no error. */
NIC__PRIVATE nic_status nic__open_host(nic_counters *c, const char *proc_root) {
  static const char *const names[2] = {"net/snmp", "net/netstat"};
  char path[NIC__PATH];
  nic_status status = NIC_OK;
  for (int i = 0; i < 2 && status == NIC_OK; i++) {
    const int fd =
        nic__path(path, proc_root, names[i], (char *)NULL) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) continue;
    nic__host_group *g = (nic__host_group *)nic__zalloc(sizeof *g);
    if (!g) return close(fd), NIC_E_NOMEM;
    g->file = i;
    g->fd = fd;
    g->group.ask = nic__host_ask;
    g->group.close = nic__host_close;
    g->group.is_of_host = true;
    status = nic__group_open(c, &g->group);
  }
  return status;
}
