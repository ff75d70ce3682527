/* The user of nic_tcp.h uses nic_udp.h alike. */
#define USE_NIC_UDP
#include "tests/headers/nic_tcp_user.c"
