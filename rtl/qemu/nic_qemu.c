/* nic_qemu: NICs in RTL inside of a machine that QEMU emulates.

     nic_qemu [--nics N] [--slower FACTOR] [--counts] QEMU ARGUMENTS...

   Starts QEMU with one `-device x-pci-proxy-dev` per NIC (2) added to its arguments, and is the NICs until QEMU
   ends; then with QEMU's exit status. The guest needs memory that can be shared:

     nic_qemu qemu-system-x86_64 -M q35,memory-backend=ram -object memory-backend-memfd,id=ram,size=256M,share=on ...

   --slower: ns of the guest per ns of the NIC, 1 to 65535 (1000): rtl/qemu/nic_pci.h says why.
   --counts: at the end, what the guest did with each NIC, on standard error. */
#include "rtl/qemu/nic_pci.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int number(const char *text, int most) {
  char *end;
  const long n = text ? strtol(text, &end, 10) : 0;
  return text && *text && !*end && n >= 1 && n <= most ? (int)n : 0;
}
static int usage(const char *why) {
  fprintf(stderr,
          "nic_qemu: %s\nusage: nic_qemu [--nics 1..%d] [--slower 1..65535] [--counts] QEMU "
          "ARGUMENTS...\n",
          why, NIC_PCI_MAX);
  return 2;
}
/* In the child: QEMU with its own arguments and the NICs'. Its ends of the sockets stay open over exec. */
static void run_qemu(char **arguments, int nics, const int *ends) {
  static char values[NIC_PCI_MAX][64];
  static char device[] = "-device";
  int count = 0;
  while (arguments[count]) count++;
  char **all = (char **)calloc((size_t)(count + 2 * nics + 1), sizeof *all);
  if (!all) _exit(127);
  memcpy(all, arguments, (size_t)count * sizeof *all);
  for (int i = 0; i < nics; i++) {
    snprintf(values[i], sizeof values[i], "x-pci-proxy-dev,id=nic%d,fd=%d", i, ends[i]);
    all[count++] = device, all[count++] = values[i];
    fcntl(ends[i], F_SETFD, 0);
  }
  execvp(all[0], all);
  fprintf(stderr, "nic_qemu: %s: %s\n", all[0], strerror(errno));
  _exit(127);
}
static void print_counts(const nic_pci *pci, int nics) {
  for (int i = 0; i < nics; i++) {
    const nic_pci_counts c = nic_pci_counts_of(pci, i);
    fprintf(stderr,
            "nic_qemu: NIC %d: %llu configuration and %llu register accesses, %llu bytes read from "
            "memory, %llu "
            "written, %llu accesses refused\n",
            i, (unsigned long long)(c.config_reads + c.config_writes),
            (unsigned long long)(c.bar_reads + c.bar_writes), (unsigned long long)c.bytes_read,
            (unsigned long long)c.bytes_written, (unsigned long long)c.refused);
  }
}

int main(int argc, char **argv) {
  nic_pci_desc desc = nic_pci_default();
  int ends[NIC_PCI_MAX], counts = 0, at = 1, status = 0, left = 0;
  desc.nic_count = 2;
  for (; at < argc && argv[at][0] == '-'; at++) {
    if (strcmp(argv[at], "--counts") == 0)
      counts = 1;
    else if (strcmp(argv[at], "--nics") == 0 &&
             (desc.nic_count = number(argv[at + 1], NIC_PCI_MAX)))
      at++;
    else if (strcmp(argv[at], "--slower") == 0 && (desc.slower = number(argv[at + 1], 65535)))
      at++;
    else
      return usage(argv[at]);
  }
  if (at >= argc) return usage("QEMU's command is missing");
  for (int i = 0; i < desc.nic_count; i++) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      perror("nic_qemu: socketpair");
      return 1;
    }
    desc.sockets[i] = pair[0], ends[i] = pair[1];
  }
  signal(SIGINT, SIG_IGN); /* QEMU ends by it, and we with QEMU */
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    run_qemu(argv + at, desc.nic_count, ends);
  }
  for (int i = 0; i < desc.nic_count; i++) close(ends[i]);
  if (child < 0) return perror("nic_qemu: fork"), 1;
  nic_pci *pci = nic_pci_create(&desc);
  if (!pci) return fprintf(stderr, "nic_qemu: out of memory\n"), 1;
  while ((left = nic_pci_serve(pci, -1)) != 0)
    if (left < 0) fprintf(stderr, "nic_qemu: %s\n", nic_pci_error(pci));
  if (counts) print_counts(pci, desc.nic_count);
  nic_pci_destroy(pci);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
