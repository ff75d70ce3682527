/* xfer_table_sockets.h: do this process's messages go through TCP sockets, and how much may these hold? Buffers of sockets
   grow while they are used, up to the kernel's limits, so the longest tail that was seen in them need not be the longest.
   Part of xfer_table. */
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* What all of its TCP sockets have sent and received; *carriers: how many of them more than a few messages of setting up.
   False: the kernel does not tell of bytes (before Linux 4.1; qemu-user), and every such socket counts. */
static bool tcp_moved(uint64_t *bytes, int *carriers) {
  enum { FEW_BYTES = 65536 };
  const size_t told = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t);
  bool is_told = true;
  DIR *all = opendir("/proc/self/fd");
  *bytes = 0;
  *carriers = 0;
  for (const struct dirent *one; all && (one = readdir(all));) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (one->d_name[0] == '.') continue; /* the folder itself, which is no number 0 */
    if (getsockopt(atoi(one->d_name), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    if (size < told) {
      is_told = false;
      ++*carriers;
      continue;
    }
    const uint64_t moved = info.tcpi_bytes_acked + info.tcpi_bytes_received;
    *bytes += moved;
    *carriers += moved > FEW_BYTES;
  }
  if (all) closedir(all);
  return is_told;
}
/* The last number of a file; -1: there is none. */
static long long last_number(const char *path) {
  long long number = -1, next;
  FILE *in = fopen(path, "r");
  while (in && fscanf(in, "%lld", &next) == 1) number = next;
  if (in) fclose(in);
  return number;
}
/* The most that may be under way in a connection: what the kernel lets both of its buffers grow to, or a program set.
   INT64_MAX: not known. */
static int64_t tcp_most_bytes(void) {
  static const char *const limits[2][2] = {
      {"/proc/sys/net/ipv4/tcp_wmem", "/proc/sys/net/core/wmem_max"},
      {"/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/core/rmem_max"}};
  int64_t sum = 0;
  for (int i = 0; i < 2; i++) {
    const long long grown = last_number(limits[i][0]), set = last_number(limits[i][1]);
    if (grown < 0) return INT64_MAX;
    sum += grown > 2 * set ? grown : 2 * set; /* the kernel doubles what is set */
  }
  return sum;
}
