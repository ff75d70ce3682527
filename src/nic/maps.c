/* Register lists: which words of a device may be read, and what they mean. */
#include "maps.h"
#include "options.h"

/* ============================================================================================== */
/* [REGISTERS] 5. Registers                                                                       */
/* ============================================================================================== */
#define NIC__INTEL(device) 0x80860000u | 0x##device
#define NIC__MLX(device)   0x15b30000u | 0x##device
static const uint32_t nic__ids_82574[] = {NIC__INTEL(10d3), NIC__INTEL(10f6), NIC__INTEL(150c), 0};
static const uint32_t nic__ids_pch[] = {NIC__INTEL(153a), NIC__INTEL(153b),
                                        NIC__INTEL(1559), NIC__INTEL(155a),
                                        NIC__INTEL(15a0), NIC__INTEL(15a1),
                                        NIC__INTEL(15a2), NIC__INTEL(15a3),
                                        NIC__INTEL(156f), NIC__INTEL(1570),
                                        NIC__INTEL(15b7), NIC__INTEL(15b8),
                                        NIC__INTEL(15b9), NIC__INTEL(15bb),
                                        NIC__INTEL(15bc), NIC__INTEL(15bd),
                                        NIC__INTEL(15be), NIC__INTEL(15d6),
                                        NIC__INTEL(15d7), NIC__INTEL(15d8),
                                        NIC__INTEL(15e3), 0};
static const uint32_t nic__ids_82576[] = {NIC__INTEL(10c9), NIC__INTEL(10e6), NIC__INTEL(10e7),
                                          NIC__INTEL(10e8), NIC__INTEL(1526), NIC__INTEL(150a),
                                          NIC__INTEL(150d), NIC__INTEL(1518), 0};
static const uint32_t nic__ids_82580[] = {NIC__INTEL(150e), NIC__INTEL(150f),
                                          NIC__INTEL(1510), NIC__INTEL(1511),
                                          NIC__INTEL(1516), NIC__INTEL(1527),
                                          NIC__INTEL(1521), NIC__INTEL(1522),
                                          NIC__INTEL(1523), NIC__INTEL(1524),
                                          NIC__INTEL(1f40), NIC__INTEL(1f41),
                                          NIC__INTEL(1f45), 0};
static const uint32_t nic__ids_i210[] = {
    NIC__INTEL(1533), NIC__INTEL(1536), NIC__INTEL(1537), NIC__INTEL(1538),
    NIC__INTEL(1539), NIC__INTEL(157b), NIC__INTEL(157c), 0};
static const uint32_t nic__ids_igc[] = {NIC__INTEL(15f2),
                                        NIC__INTEL(15f3),
                                        NIC__INTEL(0d9f),
                                        NIC__INTEL(5502),
                                        NIC__INTEL(125b),
                                        NIC__INTEL(125c),
                                        0};
static const uint32_t nic__ids_82599[] = {
    NIC__INTEL(10f7), NIC__INTEL(10f8), NIC__INTEL(10f9), NIC__INTEL(10fb), NIC__INTEL(10fc),
    NIC__INTEL(1507), NIC__INTEL(1517), NIC__INTEL(151c), NIC__INTEL(1529), NIC__INTEL(152a),
    NIC__INTEL(154a), NIC__INTEL(154d), NIC__INTEL(1557), NIC__INTEL(1558), 0};
static const uint32_t nic__ids_x540[] = {NIC__INTEL(1528), NIC__INTEL(1560), 0};
static const uint32_t nic__ids_x550[] = {NIC__INTEL(1563), NIC__INTEL(15d1), 0};
static const uint32_t nic__ids_mlx5[] = {NIC__MLX(1011),
                                         NIC__MLX(1013),
                                         NIC__MLX(1015),
                                         NIC__MLX(1017),
                                         NIC__MLX(1019),
                                         NIC__MLX(101b),
                                         NIC__MLX(101d),
                                         NIC__MLX(101f),
                                         NIC__MLX(1021),
                                         NIC__MLX(a2d2),
                                         NIC__MLX(a2d6),
                                         NIC__MLX(a2dc),
                                         0};

/* Statistics of the Intel 1G family; all clear on read, the high word of an octet counter clears
 * both. */
static const nic_register nic__regs_1g[] = {
    {"rx_missed", 0x4010, 0, NIC_UNIT_PACKETS, true},
    {"rx_xon", 0x4048, 0, NIC_UNIT_EVENTS, true},
    {"tx_xon", 0x404c, 0, NIC_UNIT_EVENTS, true},
    {"rx_xoff", 0x4050, 0, NIC_UNIT_EVENTS, true},
    {"tx_xoff", 0x4054, 0, NIC_UNIT_EVENTS, true},
    {"rx_good_packets", 0x4074, 0, NIC_UNIT_PACKETS, true},
    {"tx_good_packets", 0x4080, 0, NIC_UNIT_PACKETS, true},
    {"rx_good_octets", 0x4088, 0x408c, NIC_UNIT_BYTES, true},
    {"tx_good_octets", 0x4090, 0x4094, NIC_UNIT_BYTES, true},
    {"rx_packets", 0x40d0, 0, NIC_UNIT_PACKETS, true},
    {"tx_packets", 0x40d4, 0, NIC_UNIT_PACKETS, true}};
static const nic_register nic__regs_10g[] = {
    {"rx_good_packets", 0x4074, 0, NIC_UNIT_PACKETS, true},
    {"tx_good_packets", 0x4080, 0, NIC_UNIT_PACKETS, true},
    {"rx_good_octets", 0x4088, 0x408c, NIC_UNIT_BYTES, true},
    {"tx_good_octets", 0x4090, 0x4094, NIC_UNIT_BYTES, true},
    {"rx_packets", 0x40d0, 0, NIC_UNIT_PACKETS, true},
    {"tx_packets", 0x40d4, 0, NIC_UNIT_PACKETS, true}};
/* Our own NIC (rtl/REGISTERS.md): 64 bits each, the low half latches the high one, nothing clears. */
#define NIC__RTL(name, number, unit)                                                               \
  { name, 0x500 + 8 * (number), 0x504 + 8 * (number), NIC_UNIT_##unit, false }
#define NIC__RTL_NETWORK(vn)                                                                       \
  NIC__RTL("vn" #vn "_rx_packets", 8 * vn, PACKETS),                                               \
      NIC__RTL("vn" #vn "_tx_packets", 8 * vn + 2, PACKETS),                                       \
      NIC__RTL("vn" #vn "_crc_errors", 8 * vn + 4, EVENTS),                                        \
      NIC__RTL("vn" #vn "_rx_dropped", 8 * vn + 5, PACKETS),                                       \
      NIC__RTL("vn" #vn "_retransmissions", 8 * vn + 6, EVENTS),                                   \
      NIC__RTL("vn" #vn "_credit_wait_cycles", 8 * vn + 7, EVENTS),                                \
      NIC__RTL("vn" #vn "_tx_bytes", 41 + vn, BYTES),                                              \
      NIC__RTL("vn" #vn "_rx_bytes", 45 + vn, BYTES)
static const nic_register nic__regs_rtl[] = {NIC__RTL_NETWORK(0),
                                             NIC__RTL_NETWORK(1),
                                             NIC__RTL_NETWORK(2),
                                             NIC__RTL_NETWORK(3),
                                             NIC__RTL("bus_errors", 32, EVENTS),
                                             NIC__RTL("unmatched", 33, EVENTS),
                                             NIC__RTL("given_up", 37, EVENTS),
                                             NIC__RTL("duplicates", 40, EVENTS)};
static const uint32_t nic__ids_rtl[] = {0};               /* on no bus: simulated only */
static const uint32_t nic__ids_qemu[] = {0x12344e42u, 0}; /* rtl/qemu: 1,000 times slower */
#define NIC__LIST(list) list, sizeof list / sizeof list[0]

/* clang-format off */
static const nic_map nic__maps[] = {
    /* name, ids, BAR, bytes, alive, big endian; clock: rule, low, high, rest, bits, seconds, low bits,
       rates (82574: a crystal of 25 MHz; PCH: of 25, 96 or 38.4, 24 MHz; 82599, X540: by link speed); counters */
    {"82574", nic__ids_82574, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0xb600, 0xb604, 0, 64, false, 10,
     {262144, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/e1000e/regs.h, netdev.c (e1000e_read_systim, e1000e_sanitize_systim)"},
    {"PCH", nic__ids_pch, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0xb600, 0xb604, 0, 64, false, 10,
     {262144, 524288, 16384}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/e1000e/regs.h, e1000.h, netdev.c"},
    {"82576", nic__ids_82576, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, false, 10,
     {524288, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igb/e1000_regs.h, igb_ptp.c; QEMU 10.0: hw/net/igb_core.c"},
    {"82580", nic__ids_82580, 0, 0x10000, 0x8, false, NIC_CLOCK_REST_LATCHES, 0xb600, 0xb604, 0xb6f8, 40, false, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igb/e1000_regs.h, igb_ptp.c"},
    {"i210", nic__ids_i210, 0, 0x10000, 0x8, false, NIC_CLOCK_REST_LATCHES, 0xb600, 0xb604, 0xb6f8, 64, true, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igb/e1000_regs.h, igb_ptp.c"},
    {"i225", nic__ids_igc, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, true, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igc/igc_regs.h, igc_ptp.c"},
    {"82599", nic__ids_82599, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0x8c0c, 0x8c10, 0, 64, false, 13,
     {0, 0, 0}, NIC__LIST(nic__regs_10g),
     "Linux 6.1: drivers/net/ethernet/intel/ixgbe/ixgbe_type.h, ixgbe_ptp.c"},
    {"X540", nic__ids_x540, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0x8c0c, 0x8c10, 0, 64, false, 20,
     {0, 0, 0}, NIC__LIST(nic__regs_10g),
     "Linux 6.1: drivers/net/ethernet/intel/ixgbe/ixgbe_type.h, ixgbe_ptp.c"},
    {"X550", nic__ids_x550, 0, 0x10000, 0x8, false, NIC_CLOCK_REST_LATCHES, 0x8c0c, 0x8c10, 0x8c58, 64, true, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_10g),
     "Linux 6.1: drivers/net/ethernet/intel/ixgbe/ixgbe_type.h, ixgbe_ptp.c"},
    {"mlx5", nic__ids_mlx5, 0, 0x2000, 0x0, true, NIC_CLOCK_HIGH_AROUND, 0x1004, 0x1000, 0, 64, false, 0,
     {0, 0, 0}, NULL, 0,
     "Linux 6.1: include/linux/mlx5/device.h (struct mlx5_init_seg), mlx5/core/lib/clock.c (mlx5_read_time)"}, /* its frequency is known to the firmware only */
    {"rtl", nic__ids_rtl, 0, 0x20000, 0x0, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, false, 10,
     {524288, 0, 0}, NIC__LIST(nic__regs_rtl),
     "this project: rtl/REGISTERS.md"},
    {"rtl-qemu", nic__ids_qemu, 0, 0x20000, 0x0, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, false, 0,
     {524.288, 0, 0}, NIC__LIST(nic__regs_rtl),
     "this project: rtl/REGISTERS.md, rtl/qemu/nic_pci.h"}};
/* clang-format on */

NIC_API const nic_map *nic_map_at(size_t index) {
  return index < sizeof nic__maps / sizeof nic__maps[0] ? &nic__maps[index] : NULL;
}
NIC_API const nic_map *nic_map_for(uint16_t vendor_id, uint16_t device_id) {
  const uint32_t id = (uint32_t)vendor_id << 16 | device_id;
  const nic_map *map;
  for (size_t i = 0; id && (map = nic_map_at(i)) != NULL; i++)
    for (const uint32_t *known = map->pci_ids; *known; known++)
      if (*known == id) return map;
  return NULL;
}
