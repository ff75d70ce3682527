/* The driver's own counters, as `ethtool -S` shows them. */
#include "count_ethtool.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"

/* The driver's own statistics (what `ethtool -S` shows). None is not an error. */
NIC__PRIVATE nic_status nic__open_ethtool(nic_counters *c) {
  struct ethtool_sset_info *info =
      (struct ethtool_sset_info *)nic__zalloc(sizeof *info + sizeof(uint32_t));
  if (!info) return NIC_E_NOMEM;
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = 1ull << ETH_SS_STATS;
  const size_t count = nic__ethtool(c->name, info) && info->sset_mask ? info->data[0] : 0;
  NIC_FREE(info);
  if (count == 0 || count > 100000) return NIC_OK;
  struct ethtool_gstrings *names =
      (struct ethtool_gstrings *)nic__zalloc(sizeof *names + count * ETH_GSTRING_LEN);
  c->ethtool = (struct ethtool_stats *)nic__zalloc(sizeof *c->ethtool + count * sizeof(uint64_t));
  nic_status status = names && c->ethtool ? NIC_OK : NIC_E_NOMEM;
  if (status == NIC_OK) {
    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = ETH_SS_STATS;
    names->len = (uint32_t)count;
    if (nic__ethtool(c->name, names)) c->ethtool_count = count;
  }
  for (size_t i = 0; i < c->ethtool_count && status == NIC_OK; i++) {
    char name[ETH_GSTRING_LEN + 1];
    memcpy(name, names->data + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
    name[ETH_GSTRING_LEN] = 0;
    nic__source *s = nic__source_add(c, "ethtool", name);
    if (!s)
      status = NIC_E_NOMEM;
    else
      s->ethtool_index = i;
  }
  NIC_FREE(names);
  return status;
}
