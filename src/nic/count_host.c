/* Counters of TCP and UDP of this network namespace, from /proc/net. */
#include "count_host.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"

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
NIC__PRIVATE bool nic__host_value(const char *text, const nic__host_row *row, uint64_t *value) {
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

NIC__PRIVATE void nic__host_read(const nic_host *host, nic__host_files *h) {
  for (int i = 0; i < 2; i++) {
    size_t used = 0;
    ssize_t k = 0;
    h->file[i].t_before_ns = nic_host_now_ns(host);
    while (h->file[i].fd >= 0 && used < sizeof h->file[i].text - 1 &&
           (k = pread(h->file[i].fd, h->file[i].text + used, sizeof h->file[i].text - 1 - used,
                      (off_t)used)) > 0)
      used += (size_t)k;
    h->file[i].t_after_ns = nic_host_now_ns(host);
    h->file[i].text[used] = 0;
  }
}

/* The files stay open: they belong to the network namespace that opened them. None is no error. */
NIC__PRIVATE nic_status nic__open_host(nic_counters *c, const char *proc_root) {
  static const char *const names[2] = {"net/snmp", "net/netstat"};
  char path[NIC__PATH];
  nic__host_files *h = (nic__host_files *)nic__zalloc(sizeof *h);
  if (!h) return NIC_E_NOMEM;
  c->host_files = h;
  for (int i = 0; i < 2; i++)
    h->file[i].fd =
        nic__path(path, proc_root, names[i], (char *)NULL) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  nic__host_read(&c->host, h);
  for (size_t i = 0; i < sizeof nic__host_rows / sizeof nic__host_rows[0]; i++) {
    const nic__host_row *row = &nic__host_rows[i];
    char name[64];
    uint64_t value;
    if (!nic__host_value(h->file[row->file].text, row, &value)) continue; /* another kernel */
    snprintf(name, sizeof name, "%s%s", row->line, row->column);
    nic__source *s = nic__source_add(c, "host", name);
    if (!s) return NIC_E_NOMEM;
    s->row = row;
    s->counter.width_bits = (int)(8 * sizeof(long)); /* the kernel adds in its own longs */
    if (strncmp(row->column, "Out", 3) == 0) s->counter.unit = NIC_UNIT_PACKETS;
  }
  return NIC_OK;
}
