/* Netlink: questions to the kernel, and answers that are checked at every byte. */
#include "netlink.h"

enum { NIC__NETLINK_ROOM = 1 << 16 };

static size_t nic__netlink_pad(size_t bytes) { return (bytes + 3) & ~(size_t)3; }

NIC__PRIVATE bool nic__attr_next(nic__attr *row, nic__attr *attr) {
  uint16_t head[2]; /* bytes with this header, type */
  if (row->bytes < sizeof head) return false;
  memcpy(head, row->data, sizeof head);
  if (head[0] < sizeof head || head[0] > row->bytes) return row->bytes = 0, false;
  attr->type = head[1] & 0x3fffu; /* without the marks of nests and of network order */
  attr->data = row->data + sizeof head;
  attr->bytes = head[0] - sizeof head;
  const size_t padded = nic__netlink_pad(head[0]);
  const size_t whole = padded < row->bytes ? padded : row->bytes;
  row->data += whole;
  row->bytes -= whole;
  return true;
}
NIC__PRIVATE bool nic__attr_find(nic__attr row, unsigned type, nic__attr *attr) {
  while (nic__attr_next(&row, attr))
    if (attr->type == type) return true;
  return false;
}
NIC__PRIVATE bool nic__attr_number(const nic__attr *attr, uint64_t *value) {
  uint32_t word;
  uint16_t half;
  switch (attr->bytes) {
  case 1: *value = attr->data[0]; return true;
  case 2: memcpy(&half, attr->data, 2), *value = half; return true;
  case 4: memcpy(&word, attr->data, 4), *value = word; return true;
  case 8: memcpy(value, attr->data, 8); return true;
  default: return false;
  }
}
NIC__PRIVATE bool nic__attr_text(const nic__attr *attr, char *text, size_t text_bytes) {
  size_t n = 0;
  for (; n < attr->bytes && attr->data[n] && n + 1 < text_bytes; n++) {
    const uint8_t c = attr->data[n];
    text[n] = c > 32 && c != 127 && c != '/' ? (char)c : '_'; /* a part of a counter's name */
  }
  text[n] = 0;
  return n > 0;
}

NIC__PRIVATE void nic__question_begin(nic__question *q, unsigned type, bool all, int genl_command) {
  struct nlmsghdr head;
  memset(&head, 0, sizeof head);
  memset(q, 0, sizeof *q);
  head.nlmsg_type = (uint16_t)type;
  head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | (all ? NLM_F_DUMP : 0));
  memcpy(q->room, &head, sizeof head);
  q->bytes = sizeof head;
  if (!genl_command) return;
  q->room[q->bytes] = (uint8_t)genl_command;
  q->room[q->bytes + 1] = 1; /* version */
  q->bytes += NIC__GENL_HEAD;
}
NIC__PRIVATE void nic__question_put(nic__question *q, unsigned type, const void *data,
                                    size_t bytes) {
  const uint16_t head[2] = {(uint16_t)(bytes + sizeof head), (uint16_t)type};
  if (bytes > sizeof q->room || q->bytes + sizeof head + nic__netlink_pad(bytes) > sizeof q->room)
    return; /* ours are short */
  memcpy(q->room + q->bytes, head, sizeof head);
  if (bytes) memcpy(q->room + q->bytes + sizeof head, data, bytes);
  q->bytes += sizeof head + nic__netlink_pad(bytes);
}
NIC__PRIVATE void nic__question_number(nic__question *q, unsigned type, uint32_t value) {
  nic__question_put(q, type, &value, sizeof value);
}
NIC__PRIVATE size_t nic__question_nest(nic__question *q, unsigned type) {
  const size_t nest = q->bytes;
  nic__question_put(q, type | NLA_F_NESTED, NULL, 0);
  return nest;
}
NIC__PRIVATE void nic__question_close(nic__question *q, size_t nest) {
  const uint16_t bytes = (uint16_t)(q->bytes - nest);
  memcpy(q->room + nest, &bytes, sizeof bytes);
}

NIC__PRIVATE nic_status nic__netlink_walk(const uint8_t *data, size_t bytes, uint32_t sequence,
                                          size_t skip, nic__take *take, void *user, bool *over) {
  while (bytes > 0) {
    struct nlmsghdr head;
    if (bytes < sizeof head) return NIC_E_PARSE;
    memcpy(&head, data, sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes) return NIC_E_PARSE;
    const uint8_t *body = data + sizeof head;
    const size_t body_bytes = head.nlmsg_len - sizeof head;
    const size_t padded = nic__netlink_pad(head.nlmsg_len);
    const size_t whole = padded < bytes ? padded : bytes;
    data += whole;
    bytes -= whole;
    if (head.nlmsg_seq != sequence) continue; /* of a question that was given up */
    if (head.nlmsg_type == NLMSG_ERROR || head.nlmsg_type == NLMSG_DONE) {
      int32_t number = 0; /* 0 or -errno */
      *over = true;
      if (head.nlmsg_type == NLMSG_ERROR && body_bytes < sizeof number) return NIC_E_PARSE;
      if (body_bytes >= sizeof number) memcpy(&number, body, sizeof number);
      if (number < 0 && number > INT32_MIN) return nic__of_errno(-number);
      continue;
    }
    if (head.nlmsg_type < NLMSG_MIN_TYPE || body_bytes < skip) continue;
    const nic__attr row = {0, body + skip, body_bytes - skip};
    take(user, row);
  }
  return NIC_OK;
}

NIC__PRIVATE nic_status nic__netlink_open(nic__netlink *n, int protocol) {
  const struct timeval limit = {1, 0};
  struct sockaddr_nl own;
  memset(&own, 0, sizeof own);
  own.nl_family = AF_NETLINK;
  n->sequence = 1;
  n->room = NULL;
  n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (n->fd < 0) return errno == EPROTONOSUPPORT ? NIC_E_UNSUPPORTED : nic__of_errno(errno);
  n->room = (uint8_t *)nic__zalloc(NIC__NETLINK_ROOM);
  const bool bound = bind(n->fd, (struct sockaddr *)&own, sizeof own) == 0;
  setsockopt(n->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (n->room && bound) return NIC_OK;
  const nic_status status = n->room ? NIC_E_SYSTEM : NIC_E_NOMEM;
  nic__netlink_close(n);
  return status;
}
NIC__PRIVATE void nic__netlink_close(nic__netlink *n) {
  if (n->fd >= 0) close(n->fd);
  NIC_FREE(n->room);
  n->fd = -1;
  n->room = NULL;
}

NIC__PRIVATE nic_status nic__netlink_ask(nic__netlink *n, nic__question *q, size_t skip,
                                         nic__take *take, void *user) {
  struct nlmsghdr head;
  nic_status status = NIC_OK;
  bool over = false;
  memcpy(&head, q->room, sizeof head);
  head.nlmsg_len = (uint32_t)q->bytes;
  head.nlmsg_seq = ++n->sequence;
  memcpy(q->room, &head, sizeof head);
  if (send(n->fd, q->room, q->bytes, 0) != (ssize_t)q->bytes) return nic__of_errno(errno);
  while (!over && status == NIC_OK) {
    const ssize_t k = recv(n->fd, n->room, NIC__NETLINK_ROOM, 0);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return NIC_E_SYSTEM; /* no answer, or more than its socket holds */
    status = nic__netlink_walk(n->room, (size_t)k, n->sequence, skip, take, user, &over);
  }
  return status;
}

static void nic__family_take(void *user, nic__attr row) {
  nic__attr id;
  uint64_t value;
  if (nic__attr_find(row, CTRL_ATTR_FAMILY_ID, &id) && nic__attr_number(&id, &value))
    *(unsigned *)user = (unsigned)value;
}
NIC__PRIVATE unsigned nic__netlink_family(nic__netlink *n, const char *name) {
  nic__question q;
  unsigned id = 0;
  nic__question_begin(&q, GENL_ID_CTRL, false, CTRL_CMD_GETFAMILY);
  nic__question_put(&q, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
  return nic__netlink_ask(n, &q, NIC__GENL_HEAD, nic__family_take, &id) == NIC_OK ? id : 0;
}
