/* A user of nic_tcp.h, or of nic_udp.h, in any language and mode: a transport of one rank, a message to
   itself, the end. */
#include "nbc_overlap.h"
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#ifdef USE_NIC_UDP
#  include "hw/nic_udp.h"
#  define WIRE(name) nic_udp_##name
#  define USE use_nic_udp
#  define CLOSE(t) nic_udp_close(t, 1000000000)
#else
#  include "hw/nic_tcp.h"
#  define WIRE(name) nic_tcp_##name
#  define USE use_nic_tcp
#  define CLOSE(t) nic_tcp_close(t, 1000000000, &err)
#endif
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
int USE(void);

int USE(void) {
  WIRE(desc) desc;
  nbc_transport *t;
  nbc_error err;
  nbc_op send, receive;
  char out = 7, in = 0;
  memset(&desc, 0, sizeof desc);
  memset(&send, 0, sizeof send);
  memset(&receive, 0, sizeof receive);
  if (WIRE(create)(&desc, &t, &err) != NBC_E_INVAL || t) return 1;
  desc.size = 1;
  if (WIRE(create)(&desc, &t, &err) != NBC_OK) return 2;
  if (nbc_irecv(t, &in, 1, 0, 3, &receive) || nbc_isend(t, &out, 1, 0, 3, &send)) return 3;
  if (nbc_wait(t, &receive, 1000000000) || nbc_wait(t, &send, 1000000000) || in != 7) return 4;
  if (WIRE(stats_of)(t).received_count != 1) return 5;
  if (CLOSE(t) || WIRE(destroy)(t)) return 6;
  return 0;
}
