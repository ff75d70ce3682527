/* Counters: every source is read, units and widths are known, differences survive wrap, reset and
   sticking, rates enclose the truth, a device that goes away is named. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"
#include "tests/test.h"
#include "tests/hw/tree.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static int64_t fake_ns;
static int64_t fake_now(void *user) { return (void)user, fake_ns += 1000; }

static nic_value at(uint64_t value, int64_t before_ns, int64_t after_ns) {
  const nic_value v = {
      .value = value, .t_before_ns = before_ns, .t_after_ns = after_ns, .is_valid = true};
  return v;
}

static void differences_survive_wrap_reset_and_sticking(void) {
  const nic_counter c64 = {.width_bits = 64, .scale = 1}, c32 = {.width_bits = 32, .scale = 1};
  const nic_counter words = {.width_bits = 64, .scale = 4},
                    sticky = {.width_bits = 16, .scale = 1, .end = NIC_END_STICKS};
  nic_value a = at(100, 0, 10), b = at(350, 100, 110);
  nic_delta d = nic_counter_delta(&c64, &a, &b);
  CHECK(d.change == NIC_CHANGE_EXACT && d.delta == 250);
  CHECK_NEAR(d.per_s_lo, 250 / 110e-9, 1);
  CHECK_NEAR(d.per_s_hi, 250 / 90e-9, 1);
  a = at(0xfffffff0u, 0, 1), b = at(16, 10, 11);
  d = nic_counter_delta(&c32, &a, &b);
  CHECK(d.change == NIC_CHANGE_WRAPPED && d.delta == 32);
  a = at(1000, 0, 1), b = at(16, 10, 11); /* a short step back is no wrap: somebody cleared it */
  d = nic_counter_delta(&c32, &a, &b);
  CHECK(d.change == NIC_CHANGE_RESET && d.delta == 16 && isinf(d.per_s_hi));
  a = at(UINT64_MAX - 3, 0, 1), b = at(4, 10, 11); /* 2^64 bytes never pass: reset */
  CHECK(nic_counter_delta(&c64, &a, &b).change == NIC_CHANGE_RESET);
  a = at(40, 0, 1), b = at(80, 10, 11);
  CHECK(nic_counter_delta(&words, &a, &b).delta == 40);
  a = at(65000, 0, 1), b = at(65535, 10, 11);
  d = nic_counter_delta(&sticky, &a, &b);
  CHECK(d.change == NIC_CHANGE_STUCK && d.delta == 535 && isinf(d.per_s_hi));
  b.is_valid = false;
  CHECK(nic_counter_delta(&c64, &a, &b).change == NIC_CHANGE_NONE);
}

/* Random counters of 4 to 63 bits, stepped by less than half their range: the sum is the truth. */
static void small_steps_always_add_up(void) {
  for (int run = 0; run < 2000; run++) {
    const int bits = 4 + (int)test_below(60);
    const nic_counter c = {.width_bits = bits, .scale = 1};
    const uint64_t mask = (1ull << bits) - 1;
    uint64_t truth = test_rand() & mask, sum = 0, start = truth;
    for (int i = 0; i < 20; i++) {
      const nic_value a = at(truth & mask, i * 10, i * 10 + 1);
      truth += test_below(mask / 2 + 1);
      const nic_value b = at(truth & mask, i * 10 + 10, i * 10 + 11);
      const nic_delta d = nic_counter_delta(&c, &a, &b);
      CHECK(d.change == NIC_CHANGE_EXACT || d.change == NIC_CHANGE_WRAPPED);
      sum += d.delta;
    }
    CHECK(start + sum == truth);
  }
}

static void sources_have_units_and_widths(void) {
  const tree t = tree_make();
  nic_find_desc desc = {.sysfs_root = t.root, .no_libpci = true};
  nic_machine *m;
  nic_counters *c;
  nic_error error;
  nic_value v[64];
  tree_file(&t, "class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
  tree_file(&t, "class/infiniband/mlx5_0/ports/1/counters/symbol_error", "65535\n");
  tree_file(&t, "class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "7\n");
  tree_file(&t, "class/infiniband/mlx5_0/ports/1/hw_counters/lifespan",
            "ten\n"); /* a text is no counter */
  tree_file(&t, "class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets",
            "4096@1700000000.000000001\n");
  tree_file(&t, "class/net/eth0/statistics/rx_bytes", "18446744073709551615\n");
  tree_file(&t, "class/net/eth0/statistics/rx_packets", "-1\n");
  tree_file(&t, "class/net/eth0/statistics/tx_packets", "99999999999999999999999\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 3);
  CHECK(nic_counters_open(m, nic_by_name(m, "mlx5_0"), NULL, &c, &error) == NIC_OK);
  CHECK(nic_counters_count(c) == 3 && nic_counters_read(c, v, &error) == NIC_OK);
  const int data = nic_counters_index(c, "port_xmit_data"),
            symbol = nic_counters_index(c, "port1/symbol_error");
  CHECK(data >= 0 && symbol >= 0 && nic_counters_index(c, "hw1/out_of_sequence") >= 0 &&
        nic_counters_index(c, "lifespan") == -1);
  CHECK(data >= 0 && v[data].value == 4000 &&
        nic_counters_at(c, (size_t)data)->unit == NIC_UNIT_BYTES);
  CHECK(symbol >= 0 && nic_counters_at(c, (size_t)symbol)->width_bits == 16 &&
        nic_counters_at(c, (size_t)symbol)->end == NIC_END_STICKS);
  nic_counters_close(c);
  CHECK(nic_counters_open(m, nic_by_name(m, "cxi0"), NULL, &c, &error) == NIC_OK &&
        nic_counters_count(c) == 1);
  CHECK(nic_counters_read(c, v, &error) == NIC_OK && v[0].value == 4096);
  CHECK(v[0].t_before_ns <= v[0].t_after_ns); /* a stamp of years ago narrows nothing */
  nic_counters_close(c);
  CHECK(nic_counters_open(m, nic_by_name(m, "eth0"), NULL, &c, &error) == NIC_OK);
  CHECK(nic_counters_count(c) == 1 && nic_counters_read(c, v, &error) == NIC_OK &&
        v[0].value == UINT64_MAX);
  nic_counters_close(c);
  nic_machine_free(m);
  tree_remove(&t);
}

/* EFA (Linux 6.1: drivers/infiniband/hw/efa/efa_verbs.c) and Omni-Path (hfi1) show their counters where
   InfiniBand does; names of BXI's are not public, so any file with a number counts. */
static void other_fabrics_are_read(void) {
  const tree t = tree_make();
  nic_find_desc desc = {.sysfs_root = t.root, .no_libpci = true};
  nic_machine *m;
  nic_counters *c;
  nic_error error;
  nic_value v[64];
  tree_file(&t, "class/infiniband/efa_0/ports/1/hw_counters/tx_bytes", "9000\n");
  tree_file(&t, "class/infiniband/efa_0/ports/1/hw_counters/rx_pkts", "12\n");
  tree_file(&t, "class/infiniband/efa_0/ports/1/hw_counters/rx_drops", "1\n");
  tree_file(&t, "class/infiniband/efa_0/hw_counters/submitted_cmds", "44\n");
  tree_file(&t, "class/infiniband/hfi1_0/ports/1/counters/port_rcv_data", "25\n");
  tree_file(&t, "class/infiniband/hfi1_0/ports/1/counters/port_xmit_wait", "3\n");
  tree_file(&t, "class/bxi/bxi0/any_number", "77\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 3);
  CHECK(nic_counters_open(m, nic_by_name(m, "efa_0"), NULL, &c, &error) == NIC_OK);
  CHECK(nic_counters_count(c) == 4 && nic_counters_read(c, v, &error) == NIC_OK);
  const int bytes = nic_counters_index(c, "hw1/tx_bytes"),
            packets = nic_counters_index(c, "rx_pkts");
  CHECK(bytes >= 0 && v[bytes].value == 9000 &&
        nic_counters_at(c, (size_t)bytes)->unit == NIC_UNIT_BYTES);
  CHECK(packets >= 0 && nic_counters_at(c, (size_t)packets)->unit == NIC_UNIT_PACKETS);
  nic_counters_close(c);
  CHECK(nic_counters_open(m, nic_by_name(m, "hfi1_0"), NULL, &c, &error) == NIC_OK);
  const int data = nic_counters_index(c, "port1/port_rcv_data");
  CHECK(nic_counters_read(c, v, &error) == NIC_OK && data >= 0 &&
        v[data].value == 100); /* words of 4 */
  nic_counters_close(c);
  CHECK(nic_counters_open(m, nic_by_name(m, "bxi0"), NULL, &c, &error) == NIC_OK);
  CHECK(nic_counters_read(c, v, &error) == NIC_OK && v[0].value == 77);
  CHECK_STR(nic_counters_at(c, 0)->name, "bxi/any_number");
  nic_counters_close(c);
  nic_machine_free(m);
  tree_remove(&t);
}

static void a_counter_that_turns_bad_is_marked(void) {
  const tree t = tree_make();
  nic_find_desc desc = {.sysfs_root = t.root, .no_libpci = true};
  const nic_host host = {fake_now, NULL};
  nic_machine *m;
  nic_counters *c;
  nic_error error;
  nic_value v[4];
  tree_file(&t, "class/net/eth0/statistics/rx_bytes", "10\n");
  tree_file(&t, "class/net/eth0/statistics/tx_bytes", "20\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK);
  CHECK(nic_counters_open(m, nic_at(m, 0), &host, &c, &error) == NIC_OK &&
        nic_counters_count(c) == 2);
  CHECK(nic_counters_read(c, v, &error) == NIC_OK && v[0].is_valid && v[1].is_valid);
  CHECK(v[0].t_after_ns == v[0].t_before_ns + 1000 && v[1].t_before_ns > v[0].t_after_ns);
  tree_file(&t, "class/net/eth0/statistics/rx_bytes", "%s", "");
  CHECK(nic_counters_read(c, v, &error) == NIC_OK &&
        !v[nic_counters_index(c, "rx_bytes")].is_valid);
  tree_file(&t, "class/net/eth0/statistics/tx_bytes", "gone\n");
  CHECK(nic_counters_read(c, v, &error) == NIC_E_GONE && strstr(error.text, "eth0"));
  nic_counters_close(c);
  nic_machine_free(m);
  tree_remove(&t);
}

/* What TCP sent again stands next to the interface's own counters; columns are found by their names;
   a table of another kernel, cut off or without numbers only lacks its counters. */
static void retransmissions_stand_next_to_the_nic(void) {
  const tree t = tree_make();
  char proc[256];
  snprintf(proc, sizeof proc, "%s/proc", t.root);
  nic_find_desc desc = {.sysfs_root = t.root, .proc_root = proc, .no_libpci = true};
  nic_machine *m;
  nic_counters *c;
  nic_error error;
  nic_value a[16], b[16];
  tree_file(&t, "class/net/eth0/statistics/tx_bytes", "10\n");
  tree_file(&t, "proc/net/snmp",
            "Ip: Forwarding InReceives\nIp: 1 2\n"
            "Tcp: MaxConn RetransSegs InErrs\nTcp: -1 41 -1\n"
            "Udp: InErrors RetransSegs\nUdp: 3\n");
  tree_file(&t, "proc/net/netstat", "TcpExt: TCPTimeouts TCPLostRetransmit\nTcpExt: 7 9");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK);
  CHECK(nic_counters_open(m, nic_by_name(m, "eth0"), NULL, &c, &error) == NIC_OK);
  CHECK(nic_counters_count(c) == 5 && nic_counters_read(c, a, &error) == NIC_OK);
  const int retrans = nic_counters_index(c, "TcpRetransSegs"),
            late = nic_counters_index(c, "host/TcpExtTCPTimeouts"),
            last = nic_counters_index(c, "TcpExtTCPLostRetransmit"),
            udp = nic_counters_index(c, "UdpInErrors");
  CHECK(retrans > 0 && late > 0 && last > 0 && udp > 0);
  CHECK(nic_counters_index(c, "TcpInErrs") < 0); /* -1 is no count */
  CHECK(a[retrans].value == 41 && a[late].value == 7 && a[last].value == 9 && a[udp].value == 3);
  CHECK(a[retrans].t_before_ns <= a[retrans].t_after_ns);
  tree_file(&t, "proc/net/snmp", "Tcp: RetransSegs\nTcp: 44\nUdp: InErrors\n");
  CHECK(nic_counters_read(c, b, &error) == NIC_OK && !b[udp].is_valid);
  CHECK(nic_counter_delta(nic_counters_at(c, (size_t)retrans), &a[retrans], &b[retrans]).delta ==
        3);
  tree_file(&t, "class/net/eth0/statistics/tx_bytes", "gone\n"); /* the host's do not hide it */
  CHECK(nic_counters_read(c, b, &error) == NIC_E_GONE);
  nic_counters_close(c);
  nic_machine_free(m);
  tree_remove(&t);
}

/* This machine's loopback counts what we send over it: at least our bytes, in between our times. */
static void loopback_counts_our_bytes(void) {
  nic_machine *m;
  nic_counters *c;
  nic_error error;
  static char data[1000];
  CHECK(nic_find(NULL, &m, &error) == NIC_OK);
  const nic_info *lo = nic_by_name(m, "lo");
  if (!lo || !lo->is_up) {
    nic_machine_free(m);
    SKIP("no loopback interface that is up");
  }
  CHECK(nic_counters_open(m, lo, NULL, &c, &error) == NIC_OK);
  nic_value *a = calloc(nic_counters_count(c), sizeof *a),
            *b = calloc(nic_counters_count(c), sizeof *b);
  const int rx = socket(AF_INET, SOCK_DGRAM, 0), tx = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t to_bytes = sizeof to;
  CHECK(bind(rx, (struct sockaddr *)&to, sizeof to) == 0 &&
        getsockname(rx, (struct sockaddr *)&to, &to_bytes) == 0);
  CHECK(nic_counters_read(c, a, &error) == NIC_OK);
  for (int i = 0; i < 50; i++)
    CHECK(sendto(tx, data, sizeof data, 0, (struct sockaddr *)&to, sizeof to) == sizeof data);
  CHECK(nic_counters_read(c, b, &error) == NIC_OK);
  const int bytes = nic_counters_index(c, "net/tx_bytes"),
            packets = nic_counters_index(c, "net/tx_packets");
  CHECK(bytes >= 0 && packets >= 0);
  const nic_delta d = nic_counter_delta(nic_counters_at(c, (size_t)bytes), &a[bytes], &b[bytes]);
  CHECK(d.change == NIC_CHANGE_EXACT && d.delta >= 50 * sizeof data && d.per_s_lo > 0 &&
        d.per_s_hi >= d.per_s_lo);
  CHECK(nic_counter_delta(nic_counters_at(c, (size_t)packets), &a[packets], &b[packets]).delta >=
        50);
  close(rx);
  close(tx);
  free(a);
  free(b);
  nic_counters_close(c);
  nic_machine_free(m);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(differences_survive_wrap_reset_and_sticking);
  RUN(small_steps_always_add_up);
  RUN(sources_have_units_and_widths);
  RUN(other_fabrics_are_read);
  RUN(a_counter_that_turns_bad_is_marked);
  RUN(retransmissions_stand_next_to_the_nic);
  RUN(loopback_counts_our_bytes);
  return TEST_END();
}
