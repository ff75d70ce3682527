/* Counters that are files with one number: sysfs of interfaces, InfiniBand, Slingshot, BXI. */
#include "count_files.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"

/* "123", or "123@1700000000.000000001" with the time (CLOCK_REALTIME) at which it was read. */
static bool nic__parse_value(const char *text, uint64_t *value, int64_t *unix_ns) {
  char *end;
  if (text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  *value = strtoull(text, &end, 10);
  *unix_ns = 0;
  if (errno) return false;
  if (*end == '@') {
    const char *digits = end + 1;
    const unsigned long long s = strtoull(digits, &end, 10);
    if (errno || end == digits || *end != '.' || s > 9000000000u) return false;
    digits = end + 1;
    const unsigned long long ns = strtoull(digits, &end, 10);
    if (errno || end - digits != 9 || ns > 999999999u) return false;
    *unix_ns = (int64_t)s * 1000000000 + (int64_t)ns;
  }
  return *end == 0 || *end == '\n';
}

/* All files of a folder that hold one number. A file that does not is no counter (a reset switch, a
   text) and is left out; write-only files are never opened for reading. */
NIC__PRIVATE nic_status nic__open_folder(nic_counters *c, const char *folder, const char *group) {
  char path[NIC__PATH], text[96];
  nic__names names;
  nic_status status = NIC_OK;
  nic__names_read(folder, &names);
  if (names.is_cut) status = NIC_E_NOMEM;
  for (size_t i = 0; i < names.count && status == NIC_OK; i++) {
    struct stat st;
    uint64_t value;
    int64_t unix_ns;
    if (!nic__path(path, folder, names.name[i], (char *)NULL) || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))
      continue;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE) status = NIC_E_SYSTEM;
      continue;
    }
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    const bool is_number = nic__parse_value(text, &value, &unix_ns);
    nic__source *s = is_number ? nic__source_add(c, group, names.name[i]) : NULL;
    if (is_number && !s) status = NIC_E_NOMEM;
    if (!s) {
      close(fd);
      continue;
    }
    s->fd = fd;
    s->has_own_stamp = unix_ns != 0;
  }
  nic__names_free(&names);
  return status;
}

NIC__PRIVATE nic_status nic__open_infiniband(nic_counters *c, const char *device) {
  char ports[NIC__PATH], path[NIC__PATH], group[48];
  nic__names names;
  nic_status status = NIC_OK;
  if (!nic__path(ports, device, "ports", (char *)NULL)) return NIC_OK;
  nic__names_read(ports, &names);
  if (names.is_cut) status = NIC_E_NOMEM;
  for (size_t i = 0; i < names.count && status == NIC_OK; i++) {
    if (strlen(names.name[i]) > 8) continue;
    snprintf(group, sizeof group, "port%.8s", names.name[i]);
    if (nic__path(path, ports, names.name[i], "counters", (char *)NULL))
      status = nic__open_folder(c, path, group);
    snprintf(group, sizeof group, "hw%.8s", names.name[i]);
    if (status == NIC_OK && nic__path(path, ports, names.name[i], "hw_counters", (char *)NULL))
      status = nic__open_folder(c, path, group);
  }
  nic__names_free(&names);
  if (status == NIC_OK && nic__path(path, device, "hw_counters", (char *)NULL))
    status = nic__open_folder(c, path, "hw");
  return status;
}

/* The printed time is CLOCK_REALTIME, taken after the device was read: so the value is older than
   it. It only ever narrows the end of our own bracket, and only when it falls inside. */
static void nic__narrow_by_stamp(const nic_host *host, int64_t unix_ns, nic_value *v) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  const int64_t real_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec,
                after_ns = nic_host_now_ns(host);
  if (real_ns < unix_ns || real_ns - unix_ns > after_ns - v->t_before_ns) return;
  const int64_t stamped_ns = after_ns - (real_ns - unix_ns);
  if (stamped_ns >= v->t_before_ns && stamped_ns < v->t_after_ns) v->t_after_ns = stamped_ns;
}

NIC__PRIVATE void nic__read_file(const nic_counters *c, const nic__source *s, nic_value *v) {
  char text[96];
  int64_t unix_ns;
  v->t_before_ns = nic_host_now_ns(&c->host);
  const ssize_t n = pread(s->fd, text, sizeof text - 1, 0);
  v->t_after_ns = nic_host_now_ns(&c->host);
  text[n > 0 ? n : 0] = 0;
  v->is_valid = nic__parse_value(text, &v->value, &unix_ns);
  if (!v->is_valid) return;
  v->value *= s->counter.scale;
  if (s->has_own_stamp && unix_ns) nic__narrow_by_stamp(&c->host, unix_ns, v);
}
