/* Netlink: questions to the kernel, and answers that are checked at every byte. */
#pragma once
#include "options.h"
#include "status.h"

/* ---- for later pieces ---- */
/* An attribute; also a row of them, as what is inside a nest. Sources: the kernel's
   Documentation/userspace-api/netlink/intro.rst and specs.rst, include/uapi/linux/netlink.h. */
typedef struct nic__attr {
  unsigned type;
  const uint8_t *data;
  size_t bytes;
} nic__attr;
/* Takes the next one from the row; false: its end, or what follows is cut off. */
NIC__PRIVATE bool nic__attr_next(nic__attr *row, nic__attr *attr);
/* The first one of a type in a row. */
NIC__PRIVATE bool nic__attr_find(nic__attr row, unsigned type, nic__attr *attr);
/* Of 1, 2, 4 or 8 bytes; false: another size. */
NIC__PRIVATE bool nic__attr_number(const nic__attr *attr, uint64_t *value);
/* Without control characters and blanks, cut to fit; false: empty. */
NIC__PRIVATE bool nic__attr_text(const nic__attr *attr, char *text, size_t text_bytes);

typedef struct nic__question {
  uint8_t room[512];
  size_t bytes;
} nic__question;
enum { NIC__GENL_HEAD = 4 }; /* bytes of generic netlink's own header */
/* genl_command 0: no generic netlink. */
NIC__PRIVATE void nic__question_begin(nic__question *q, unsigned type, bool all, int genl_command);
NIC__PRIVATE void nic__question_put(nic__question *q, unsigned type, const void *data,
                                    size_t bytes);
NIC__PRIVATE void nic__question_number(nic__question *q, unsigned type, uint32_t value);
NIC__PRIVATE size_t nic__question_nest(nic__question *q, unsigned type);
NIC__PRIVATE void nic__question_close(nic__question *q, size_t nest);

/* One message of an answer: what follows the header of netlink, or of generic netlink. */
typedef void nic__take(void *user, nic__attr row);
/* Messages as they came. skip: bytes of the family's own header. over: the answer has its end.
   ret NIC_OK, or what the kernel's error says | NIC_E_PARSE (cut off) */
NIC__PRIVATE nic_status nic__netlink_walk(const uint8_t *data, size_t bytes, uint32_t sequence,
                                          size_t skip, nic__take *take, void *user, bool *over);

typedef struct nic__netlink {
  int fd; /* -1: none */
  uint32_t sequence;
  uint8_t *room; /* for answers */
} nic__netlink;
/* ret NIC_OK | NIC_E_UNSUPPORTED (this kernel has no such protocol) | NIC_E_NOMEM ... */
NIC__PRIVATE nic_status nic__netlink_open(nic__netlink *n, int protocol);
NIC__PRIVATE void nic__netlink_close(nic__netlink *n);
/* Asks and hands over all of the answer; waits a second at most. */
NIC__PRIVATE nic_status nic__netlink_ask(nic__netlink *n, nic__question *q, size_t skip,
                                         nic__take *take, void *user);
/* Number of a generic family; 0: this kernel does not have it. */
NIC__PRIVATE unsigned nic__netlink_family(nic__netlink *n, const char *name);
