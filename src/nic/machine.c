/* A machine and its NICs: what each offers; small files, sorted folders, paths. */
#include "machine.h"
#include "options.h"
#include "status.h"

/* ============================================================================================== */
/* [FIND] 3. Finding NICs                                                                         */
/* ============================================================================================== */

NIC__PRIVATE const nic__kept *nic__kept_of(const nic_machine *m, const nic_info *nic) {
  const size_t i = (size_t)(nic - m->nics);
  return nic >= m->nics && i < m->kept_count ? &m->kept[i] : NULL;
}

/* root + "/" + a + "/" + b …, the last argument NULL; false when it does not fit. */
NIC__PRIVATE bool nic__path(char *path, const char *root, ...) {
  va_list args;
  size_t used = strlen(root);
  bool fits = used < NIC__PATH;
  if (fits) memcpy(path, root, used + 1);
  va_start(args, root);
  for (const char *part; fits && (part = va_arg(args, const char *)) != NULL;) {
    const int n = snprintf(path + used, NIC__PATH - used, "/%s", part);
    fits = n >= 0 && (size_t)n < NIC__PATH - used;
    used += fits ? (size_t)n : 0;
  }
  va_end(args);
  return fits;
}

/* First line of a small file, without the newline. ret bytes, or -1 with errno. */
NIC__PRIVATE int nic__read_line(const char *path, char *text, size_t text_bytes) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t n = read(fd, text, text_bytes - 1);
  const int saved = errno;
  close(fd);
  errno = saved;
  if (n < 0) return -1;
  text[n] = 0;
  text[strcspn(text, "\n")] = 0;
  return (int)strlen(text);
}

NIC__PRIVATE bool nic__read_number(const char *path, int base, int64_t *value) {
  char text[64], *end;
  if (nic__read_line(path, text, sizeof text) <= 0) return false;
  errno = 0;
  *value = strtoll(text, &end, base);
  return errno == 0 && end != text && *end == 0;
}

NIC__PRIVATE bool nic__ran_out(int number) {
  return number == ENOMEM || number == EMFILE || number == ENFILE;
}

static int nic__name_order(const void *a, const void *b) {
  return strcmp((const char *)a, (const char *)b);
}

NIC__PRIVATE size_t nic__names_read(const char *folder, nic__names *names) {
  DIR *dir = opendir(folder);
  memset(names, 0, sizeof *names);
  if (!dir) return names->is_cut = nic__ran_out(errno), (size_t)0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof names->name[0]) continue;
    void *grown = nic__grow(names->name, names->count, &names->capacity, sizeof names->name[0]);
    if (!grown) {
      names->is_cut = true;
      break;
    }
    names->name = (char(*)[64])grown;
    strcpy(names->name[names->count++], e->d_name);
  }
  closedir(dir);
  if (names->count) qsort(names->name, names->count, sizeof names->name[0], nic__name_order);
  return names->count;
}

NIC__PRIVATE void nic__names_free(nic__names *names) {
  NIC_FREE(names->name);
  memset(names, 0, sizeof *names);
}

NIC__PRIVATE nic_info *nic__add(nic_machine *m, nic_kind kind, const char *name) {
  void *grown = nic__grow(m->nics, m->nic_count, &m->nic_capacity, sizeof *m->nics);
  if (!grown) return NULL;
  m->nics = (nic_info *)grown;
  nic_info *n = &m->nics[m->nic_count++];
  memset(n, 0, sizeof *n);
  nic__copy(n->name, sizeof n->name, name);
  n->kind = kind;
  n->ptp_index = -1;
  n->link.state = n->link.substate = n->link.quality = n->link.most_quality = -1;
  return n;
}

/* One question to a driver through the ethtool interface; false with errno. */
NIC__PRIVATE bool nic__ethtool(const char *interface_name, void *request) {
  struct ifreq ifr;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  memset(&ifr, 0, sizeof ifr);
  nic__copy(ifr.ifr_name, sizeof ifr.ifr_name, interface_name);
  ifr.ifr_data = (char *)request;
  const int code = ioctl(fd, SIOCETHTOOL, &ifr);
  const int saved = errno;
  close(fd);
  errno = saved;
  return code == 0;
}

NIC_API void nic_machine_free(nic_machine *machine) {
  if (!machine) return;
  for (size_t i = 0; i < machine->kept_count; i++) {
    NIC_FREE(machine->kept[i].counters);
    NIC_FREE(machine->kept[i].words);
    NIC_FREE(machine->kept[i].clock);
    NIC_FREE(machine->kept[i].readings);
  }
  NIC_FREE(machine->kept);
  NIC_FREE(machine->nics);
  NIC_FREE(machine->pci);
  NIC_FREE(machine);
}

NIC_API size_t nic_count(const nic_machine *machine) { return machine ? machine->nic_count : 0; }
NIC_API const nic_info *nic_at(const nic_machine *machine, size_t index) {
  return machine && index < machine->nic_count ? &machine->nics[index] : NULL;
}
NIC_API const nic_info *nic_by_name(const nic_machine *machine, const char *name) {
  if (!machine || !name) return NULL;
  for (size_t i = 0; i < machine->nic_count; i++)
    if (strcmp(machine->nics[i].name, name) == 0) return &machine->nics[i];
  for (size_t i = 0; i < machine->nic_count; i++)
    if (strcmp(machine->nics[i].pci_address, name) == 0) return &machine->nics[i];
  return NULL;
}

NIC_API const char *nic_kind_name(nic_kind kind) {
  static const char *const names[] = {"pci", "net", "infiniband", "cxi", "bxi", "pmu"};
  return (unsigned)kind < NIC_KIND_COUNT ? names[kind] : "?";
}
NIC_API const char *nic_offer_name(nic_offer offer) {
  static const char *const names[] = {
#define NIC__X(name, text, meaning) text,
      NIC_OFFER_LIST(NIC__X)
#undef NIC__X
  };
  return (unsigned)offer < NIC_OFFER_COUNT ? names[offer] : "?";
}
NIC_API const char *nic_offer_meaning(nic_offer offer) {
  static const char *const texts[] = {
#define NIC__X(name, text, meaning) meaning,
      NIC_OFFER_LIST(NIC__X)
#undef NIC__X
  };
  return (unsigned)offer < NIC_OFFER_COUNT ? texts[offer] : "?";
}
NIC_API const char *nic_answer_name(nic_answer answer) {
  static const char *const names[] = {"unknown", "no", "blocked", "yes"};
  return (unsigned)answer <= NIC_YES ? names[answer] : "?";
}
NIC_API const char *nic_pcie_error_name(bool is_correctable, int bit_index) {
  static const char *const correctable[16] = {
      "RxErr",    NULL, NULL, NULL, NULL,      NULL,          "BadTLP",     "BadDLLP",
      "Rollover", NULL, NULL, NULL, "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"};
  static const char *const uncorrectable[27] = {NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                "DLP",
                                                "SDES",
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                "TLP",
                                                "FCP",
                                                "CmpltTO",
                                                "CmpltAbrt",
                                                "UnxCmplt",
                                                "RxOF",
                                                "MalfTLP",
                                                "ECRC",
                                                "UnsupReq",
                                                "ACSViol",
                                                "UncorrIntErr",
                                                "BlockedTLP",
                                                "AtomicOpBlocked",
                                                "TLPBlockedErr",
                                                "PoisonTLPBlocked"};
  const char *name = bit_index < 0    ? NULL
                     : is_correctable ? (bit_index < 16 ? correctable[bit_index] : NULL)
                                      : (bit_index < 27 ? uncorrectable[bit_index] : NULL);
  return name ? name : "";
}
