// A window of time is saved as waveforms: what the FST file says of each register and wire at each time is what the VCD
// file of the same run says. A lost byte of either is told.
#include <csignal>
#include <map>
#include <string>
#include <sys/resource.h>
#include <vector>
#include "gtkwave/fstapi.h"
#include "tests/rtl/cosim.h"

typedef std::vector<std::pair<uint64_t, std::string>> Changes; // of one register or wire, in time
static std::string here; // the program's own name: its files stand beside it
static void add(Changes &to, uint64_t time, const std::string &value) {
  if (value.find('x') == std::string::npos && (to.empty() || to.back().second != value))
    to.push_back({time, value});
}
// One put while NIC 1 is watched
static int run(const std::string &path, uint64_t seed, bool fills_disk) {
  cosim_desc d = host_desc(2);
  d.has_waves = 1, d.stall_seed = seed;
  cosim *sim = host_start(&d);
  const cosim_entry e = host_entry(0x10000, 4096, 7);
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 600);
  for (int i = 0; i < 600; i++) H.memory[0][0x1000 + i] = (unsigned char)(seed >> i % 7 * 8);
  cosim_append(sim, 1, 0, &e);
  const int64_t now = cosim_now_ps(sim);
  CHECK(cosim_trace(sim, 1, path.c_str(), now + 300000, now + 20000000) == 0);
  CHECK(cosim_trace(sim, 1, path.c_str(), now, now + 1) == -1); // one at a time
  cosim_submit(sim, 0, 0, &c, nullptr);
  cosim_advance(sim, now + 2500000);
  struct rlimit limit, none;
  getrlimit(RLIMIT_FSIZE, &limit), none = limit, none.rlim_cur = 0;
  if (fills_disk) signal(SIGXFSZ, SIG_IGN), setrlimit(RLIMIT_FSIZE, &none); // from now on no byte more
  const int lost = cosim_trace_end(sim);
  if (fills_disk) setrlimit(RLIMIT_FSIZE, &limit);
  cosim_destroy(sim);
  return lost;
}
static std::vector<Changes> of_vcd(const std::string &path) {
  std::vector<Changes> all;
  std::map<std::string, size_t> at;
  char line[5000], code[64];
  unsigned long long time = 0;
  FILE *f = fopen(path.c_str(), "r");
  CHECK(f != nullptr);
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    const char *space = strchr(line, ' ');
    if (sscanf(line, " $var wire %*u %63s", code) == 1) {
      if (at.emplace(code, all.size()).second) all.emplace_back();
    } else if (line[0] == 'b' && space) {
      add(all[at.at(space + 1)], time, std::string((const char *)line + 1, space));
    } else if (line[0] == '0' || line[0] == '1') {
      add(all[at.at(line + 1)], time, std::string(line, 1));
    } else {
      sscanf(line, "#%llu", &time);
    }
  }
  if (f) fclose(f);
  return all;
}
static void change_of_fst(void *to, uint64_t time, fstHandle handle, const unsigned char *value) {
  add((*(std::vector<Changes> *)to)[handle - 1], time, (const char *)value);
}
static std::vector<Changes> of_fst(const std::string &path) {
  std::vector<Changes> all;
  void *fst = fstReaderOpen(path.c_str());
  CHECK(fst != nullptr);
  if (!fst) return all;
  all.resize(fstReaderGetMaxHandle(fst));
  CHECK(fstReaderGetTimescale(fst) == -12);
  fstReaderSetFacProcessMaskAll(fst);
  fstReaderIterBlocks(fst, change_of_fst, &all, nullptr);
  fstReaderClose(fst);
  return all;
}
static void fst_and_vcd_tell_the_same() {
  const uint64_t seed = test_rand();
  const std::string vcd = here + ".nic1.vcd", fst = here + ".nic1.fst";
  CHECK(run(vcd, seed, false) == 0 && run(fst, seed, false) == 0);
  const std::vector<Changes> a = of_vcd(vcd), b = of_fst(fst);
  size_t changes = 0, unlike = 0;
  CHECK(a.size() == b.size() && a.size() > 1000);
  for (size_t i = 0; i < a.size() && i < b.size(); i++) changes += a[i].size(), unlike += a[i] != b[i];
  CHECK(unlike == 0 && changes > 10000);
  printf("  %u registers and wires, %u changes\n", (unsigned)a.size(), (unsigned)changes);
}
static void what_the_disk_does_not_take_is_told() {
  CHECK(run(here + ".lost.fst", 1, true) == -1);
  CHECK(run(here + ".lost.vcd", 1, true) == -1);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  here = argv[0];
  RUN(fst_and_vcd_tell_the_same);
  RUN(what_the_disk_does_not_take_is_told);
  return TEST_END();
}
