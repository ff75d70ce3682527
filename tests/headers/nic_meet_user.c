/* A user of nic_meet.h in any language and mode: the authors' first vector of SipHash, a token, a
   meeting of one. */
#include "nbc_overlap.h"
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
int use_nic_meet(void);

int use_nic_meet(void) {
  static const uint8_t first[4] = {0xa3, 0x81, 0x7f, 0x04};
  uint8_t key[16], result[16];
  nic_meet_desc desc;
  nic_meet_peer peer;
  nbc_error err;
  bool found;
  for (int i = 0; i < 16; i++) key[i] = (uint8_t)i;
  nic_siphash(key, "", 0, result);
  if (memcmp(result, first, sizeof first) != 0) return 1;
  if (nic_token("00112233445566778899aabbccddeeff", key, &found, &err) != NBC_OK || !found) return 2;
  if (nic_token("0011", key, &found, &err) != NBC_E_INVAL) return 3;
  memset(&desc, 0, sizeof desc);
  desc.size = 1;
  if (nic_meet(&desc, &peer, &err) != NBC_OK || peer.fd != -1) return 4;
  return 0;
}
