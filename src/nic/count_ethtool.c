/* The driver's own counters, as `ethtool -S` shows them. */
#include "count_ethtool.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"

/* Netlink has no message for these values: the kernel gives them by the older call only (ETHTOOL_GSTATS in the
   table "Request translation" of Documentation/networking/ethtool-netlink.rst). Their names could be asked
   by STRSET_GET; they come by the same call as the values, so that both are of one driver's state. */
typedef struct nic__driver_group {
  nic__group group;
  struct ethtool_gstrings *names;
  struct ethtool_stats *stats;
  uint32_t count;
} nic__driver_group;

static bool nic__driver_ask(nic__group *group) {
  nic__driver_group *g = (nic__driver_group *)(void *)group;
  g->stats->cmd = ETHTOOL_GSTATS;
  g->stats->n_stats = g->count;
  if (!nic__ethtool(group->counters->name, g->stats) || g->stats->n_stats != g->count) return false;
  for (uint32_t i = 0; i < g->count; i++) {
    char name[ETH_GSTRING_LEN + 1] = "";
    if (group->is_opening) memcpy(name, g->names->data + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
    name[ETH_GSTRING_LEN] = 0;
    nic__group_tell(group, i, "ethtool", name, g->stats->data[i]);
  }
  return true;
}
static void nic__driver_close(nic__group *group) {
  nic__driver_group *g = (nic__driver_group *)(void *)group;
  NIC_FREE(g->names);
  NIC_FREE(g->stats);
}

/* None is not an error. */
NIC__PRIVATE nic_status nic__open_ethtool(nic_counters *c) {
  struct ethtool_sset_info *info =
      (struct ethtool_sset_info *)nic__zalloc(sizeof *info + sizeof(uint32_t));
  if (!info) return NIC_E_NOMEM;
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = 1ull << ETH_SS_STATS;
  const uint32_t count = nic__ethtool(c->name, info) && info->sset_mask ? info->data[0] : 0;
  NIC_FREE(info);
  if (count == 0 || count > 100000) return NIC_OK;
  nic__driver_group *g = (nic__driver_group *)nic__zalloc(sizeof *g);
  if (!g) return NIC_E_NOMEM;
  g->group.ask = nic__driver_ask;
  g->group.close = nic__driver_close;
  g->count = count;
  g->names = (struct ethtool_gstrings *)nic__zalloc(sizeof *g->names + count * ETH_GSTRING_LEN);
  g->stats = (struct ethtool_stats *)nic__zalloc(sizeof *g->stats + count * sizeof(uint64_t));
  if (g->names && g->stats) {
    g->names->cmd = ETHTOOL_GSTRINGS;
    g->names->string_set = ETH_SS_STATS;
    g->names->len = count;
    if (nic__ethtool(c->name, g->names)) return nic__group_open(c, &g->group);
  }
  const nic_status status = g->names && g->stats ? NIC_OK : NIC_E_NOMEM;
  nic__driver_close(&g->group);
  NIC_FREE(g);
  return status;
}
