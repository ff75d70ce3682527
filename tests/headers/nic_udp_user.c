/* A user of nic_udp.h in any language and mode: a transport of one rank, a message to itself, the end. */
#include "nbc_overlap.h"
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_udp.h"
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
int use_nic_udp(void);

int use_nic_udp(void) {
  nic_udp_desc desc;
  nbc_transport *t;
  nbc_error err;
  nbc_op send, receive;
  char out = 7, in = 0;
  memset(&desc, 0, sizeof desc);
  memset(&send, 0, sizeof send);
  memset(&receive, 0, sizeof receive);
  if (nic_udp_create(&desc, &t, &err) != NBC_E_INVAL || t) return 1;
  desc.size = 1;
  if (nic_udp_create(&desc, &t, &err) != NBC_OK) return 2;
  if (nbc_irecv(t, &in, 1, 0, 3, &receive) || nbc_isend(t, &out, 1, 0, 3, &send)) return 3;
  if (nbc_wait(t, &receive, 1000000000) || nbc_wait(t, &send, 1000000000) || in != 7) return 4;
  if (nic_udp_stats_of(t).received_count != 1) return 5;
  if (nic_udp_close(t, 1000000000) || nic_udp_destroy(t)) return 6;
  return 0;
}
