// Speed of the cosimulation in CPU time. rtl_cycles_per_s_N: cycles of N NICs, counted per NIC, through
// the C API; peer: the same model evaluated bare, without buses and links. rtl_put_per_s: puts of 64
// bytes with acknowledgement, eight under way.
#include <ctime>
#include <memory>
#include <vector>
#include "Vnic_top.h"
#include "rtl/nic_cosim.h"
#include "tests/bench/bench.h"
#include "verilated.h"

static double cpu_s() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static std::vector<unsigned char> memory[8];
static int host_read(void *, int nic, uint64_t addr, void *buffer, size_t n) {
  return addr + n > memory[nic].size() ? -1 : (memcpy(buffer, &memory[nic][addr], n), 0);
}
static int host_write(void *, int nic, uint64_t addr, const void *buffer, size_t n) {
  return addr + n > memory[nic].size() ? -1 : (memcpy(&memory[nic][addr], buffer, n), 0);
}
static cosim *start(int nics) {
  cosim_desc d = cosim_default();
  d.nic_count = nics, d.host.read = host_read, d.host.write = host_write;
  for (auto &m : memory) m.assign(1 << 16, 0);
  cosim *sim = cosim_create(&d);
  if (!sim) exit(1);
  for (int i = 0; i < nics; i++)
    cosim_write(sim, i, COSIM_CTRL, 1), cosim_write(sim, i, COSIM_PT_ENABLE, 1);
  cosim_cycles(sim, 500);
  return sim;
}
static double api_rate(cosim *sim, int nics) {
  double begin = cpu_s();
  cosim_cycles(sim, 40000 / nics);
  return 40000 / (cpu_s() - begin);
}
struct Bare {
  VerilatedContext context;
  Vnic_top top{&context};
};
static double bare_rate(std::vector<std::unique_ptr<Bare>> &all) {
  double begin = cpu_s();
  for (size_t i = 0; i < 40000 / all.size(); i++)
    for (auto &b : all) b->top.clk_i = 0, b->top.eval(), b->top.clk_i = 1, b->top.eval();
  return 40000 / (cpu_s() - begin);
}
static void cycles(int nics, const char *name) {
  std::vector<std::unique_ptr<Bare>> all;
  for (int i = 0; i < nics; i++) {
    all.emplace_back(new Bare);
    for (int k = 0; k < 4; k++)
      all[i]->top.rst_ni = k >= 3, all[i]->top.clk_i = k & 1, all[i]->top.eval();
  }
  cosim *sim = start(nics);
  double api[7], bare[7];
  for (int k = 0; k < 7; k++) api[k] = api_rate(sim, nics), bare[k] = bare_rate(all); // in turn
  bench_print_peer(name, bench_median(api, 7), "NIC cycles/s", "bare evaluation",
                   bench_median(bare, 7));
  cosim_destroy(sim);
}
static void puts_per_s() {
  cosim *sim = start(2);
  cosim_entry e = cosim_entry();
  cosim_command c = cosim_command();
  e.src = e.ct = -1, e.op_put = 1, e.no_events = 1, e.size_bytes = 4096;
  c.kind = COSIM_KIND_PUT, c.dst = 1, c.payload = COSIM_PAY_DMA, c.size_bytes = 64, c.ct = -1;
  cosim_append(sim, 1, 0, &e);
  const uint32_t total = 2000;
  double begin = cpu_s();
  for (uint32_t sent = 0, done = 0; done < total;) {
    while (sent < total && sent - done < 8) cosim_submit(sim, 0, 0, &c, nullptr), sent++;
    done = cosim_read(sim, 0, COSIM_CMD0_TAIL);
  }
  bench_print("rtl_put_per_s", total / (cpu_s() - begin), "put+ack/s");
  cosim_destroy(sim);
}
int main(int argc, char **argv) {
  if (bench_wanted(argc, argv, "rtl_cycles_per_s_2")) cycles(2, "rtl_cycles_per_s_2");
  if (bench_wanted(argc, argv, "rtl_cycles_per_s_8")) cycles(8, "rtl_cycles_per_s_8");
  if (bench_wanted(argc, argv, "rtl_put_per_s")) puts_per_s();
  return 0;
}
