// Waveforms of a Verilated model as VCD or FST files, which notice when the disk is full. Part of nic_cosim.cpp.
#ifndef NIC_COSIM_WAVES_H_INCLUDED
#define NIC_COSIM_WAVES_H_INCLUDED
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include "gtkwave/fstapi.h"
#include "verilated_vcd_c.h"

namespace {
// FST's writer maps its temporary files, and a page of these for which the disk has no room is a SIGBUS. While one of
// these lives, such a page becomes memory instead: the writer goes on, and what it wrote is known to be lost.
class DiskMayBeFull {
  static thread_local DiskMayBeFull *now;
  static struct sigaction before;
  bool &lost;

  static void on_bus(int number, siginfo_t *info, void *) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *const at = (void *)((uintptr_t)info->si_addr / page * page);
    if (now && mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                    0) == at)
      now->lost = true;
    else
      sigaction(number, &before, nullptr); // not of a writer: it comes again, for whom it is meant
  }

public:
  explicit DiskMayBeFull(bool &lost) : lost(lost) {
    struct sigaction mine = {};
    mine.sa_sigaction = on_bus;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGBUS, &mine, &before);
    now = this;
  }
  ~DiskMayBeFull() {
    now = nullptr;
    sigaction(SIGBUS, &before, nullptr);
  }
  DiskMayBeFull(const DiskMayBeFull &) = delete;
};
thread_local DiskMayBeFull *DiskMayBeFull::now;
struct sigaction DiskMayBeFull::before;
// The text of a VCD file, line by line, as an FST file. What the disk did not take is noticed at the end: the file is
// read again as far as to its last time.
class FstFile {
  void *fst = nullptr;
  std::string path, line, bits;
  struct Var {
    fstHandle handle;
    size_t width;
  };
  std::unordered_map<std::string, Var> vars; // by the code of the text
  uint64_t last = 0;
  bool any = false, open_scopes = true, lost = false;

  static std::string word(const std::string &text, size_t &at) {
    const size_t from = text.find_first_not_of(' ', at), to = text.find(' ', from);
    if (from == std::string::npos) return at = text.size(), std::string();
    at = to == std::string::npos ? text.size() : to;
    return text.substr(from, at - from);
  }
  void declare(const std::string &text) {
    size_t at = 0;
    const std::string what = word(text, at);
    if (what == "$scope") {
      word(text, at);
      fstWriterSetScope(fst, FST_ST_VCD_MODULE, word(text, at).c_str(), nullptr);
    } else if (what == "$upscope") {
      fstWriterSetUpscope(fst);
    } else if (what == "$timescale") {
      fstWriterSetTimescaleFromString(fst, word(text, at).c_str());
    } else if (what == "$var") {
      word(text, at);
      const size_t width = (size_t)strtoul(word(text, at).c_str(), nullptr, 10);
      const std::string code = word(text, at);
      const size_t name = text.find_first_not_of(' ', at), end = text.rfind(" $end");
      const auto known = vars.find(code);
      const fstHandle handle = fstWriterCreateVar(
          fst, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, (uint32_t)width,
          text.substr(name, end - name).c_str(), known == vars.end() ? 0 : known->second.handle);
      if (known == vars.end()) vars[code] = Var{handle, width};
    } else if (what == "$enddefinitions") {
      open_scopes = false;
    }
  }
  void change() {
    if (line[0] == '#') {
      last = strtoull(line.c_str() + 1, nullptr, 10), any = true;
      fstWriterEmitTimeChange(fst, last);
      return;
    }
    const size_t code = line[0] == 'b' ? line.find(' ') + 1 : 1;
    const auto var = vars.find(line.substr(code));
    if (var == vars.end()) return;
    bits = line[0] == 'b' ? line.substr(1, code - 2) : line.substr(0, 1);
    if (bits.size() < var->second.width) bits.insert(0, var->second.width - bits.size(), '0');
    fstWriterEmitValueChange(fst, var->second.handle, bits.c_str());
  }
  bool is_whole() const {
    void *again = fstReaderOpen(path.c_str());
    const bool whole =
        again && fstReaderGetVarCount(again) && (!any || fstReaderGetEndTime(again) == last);
    if (again) fstReaderClose(again);
    return whole;
  }

  // For the writer's temporary files, a few hundred KB: better told before the run than after it
  static bool has_room() {
    FILE *file = tmpfile();
    const bool room = file && posix_fallocate(fileno(file), 0, 4 << 20) == 0;
    if (file) fclose(file);
    return room;
  }

public:
  bool open(const std::string &name) {
    path = name;
    const DiskMayBeFull guard(lost);
    fst = has_room() ? fstWriterCreate(name.c_str(), 1) : nullptr;
    if (fst) fstWriterSetPackType(fst, FST_WR_PT_LZ4);
    return fst != nullptr;
  }
  bool is_open() const { return fst != nullptr; }
  bool close() { // false: something was lost
    const DiskMayBeFull guard(lost);
    fstWriterClose(fst);
    fst = nullptr;
    return !lost && is_whole() && !lost;
  }
  void write(const char *bytes, size_t count) {
    const DiskMayBeFull guard(lost);
    for (const char *end = bytes + count; bytes < end;) {
      const char *stop = (const char *)memchr(bytes, '\n', (size_t)(end - bytes));
      line.append(bytes, stop ? stop : end);
      bytes = stop ? stop + 1 : end;
      if (!stop) return;
      if (!line.empty()) open_scopes ? declare(line) : change();
      line.clear();
    }
  }
};
// What the disk did not take is noticed
struct WaveFile : VerilatedVcdFile {
  FILE *out = nullptr;
  FstFile fst;
  bool lost = false;
  bool open(const std::string &name) override {
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".fst") == 0) return fst.open(name);
    return (out = fopen(name.c_str(), "wb")) != nullptr;
  }
  void close() override {
    if (out && fclose(out)) lost = true;
    if (fst.is_open() && !fst.close()) lost = true;
    out = nullptr;
  }
  ssize_t write(const char *bytes, ssize_t count) override {
    if (out && fwrite(bytes, 1, (size_t)count, out) != (size_t)count) lost = true;
    if (fst.is_open()) fst.write(bytes, (size_t)count);
    return count;
  }
};
struct Wave {
  WaveFile file;
  VerilatedVcdC trace{&file};
  bool failed() { return file.lost; }
};
} // namespace
#endif
