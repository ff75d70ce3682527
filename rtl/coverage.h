// coverage.h: which bits of a Verilated model rose and fell. Verilator's own toggle coverage makes 55 MB of
// C++ of this NIC; a waveform holds the same and costs a tenth, so it is read here instead of written.
// With NIC_COVERED, the model is built with --coverage-line --trace (make coverage-rtl). Files go to the folder $NIC_COVERAGE, for coverage.sh:
// NAME.dat from Verilator, NAME.bits with a line "instance.path signal MASK" for each signal, one
// character per bit: 0 never changed, 1 rose, 2 fell, 3 both.
#ifndef NIC_COVERAGE_H_INCLUDED
#define NIC_COVERAGE_H_INCLUDED
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#include "verilated_cov.h"
#include "verilated_vcd_c.h"

#ifdef NIC_COVERED
class Coverage final : public VerilatedVcdFile {
  struct Signal {
    std::string name, value, seen;
  };
  std::vector<Signal> signals;
  std::vector<int> by_code; // -1, or where the signal is
  std::vector<std::string> scope;
  std::string rest, names; // an unfinished line; further names of a signal are lines of their own
  std::vector<std::pair<std::string, int>> named;
  VerilatedVcdC waves{this};
  uint64_t cycle = 0, limit;

  int &place(const char *code, const char *end) {
    size_t at = 0;
    for (; code < end; code++) at = at * 95 + (size_t)(*code - 32);
    if (at >= by_code.size()) by_code.resize(at + 1, -1);
    return by_code[at];
  }
  void declare(const char *line) {
    char code[32], name[256], word[256];
    int width;
    if (sscanf(line, " $scope module %255s", word) == 1) {
      scope.push_back(word);
    } else if (strstr(line, "$upscope")) {
      scope.pop_back();
    } else if (sscanf(line, " $var %*s %d %31s %255s", &width, code, name) == 3) {
      std::string path;
      for (auto &s : scope) path += s + ".";
      int &at = place(code, code + strlen(code));
      if (at < 0) {
        at = (int)signals.size();
        signals.push_back({"", "", std::string((size_t)width, '0')});
      }
      named.push_back({path + " " + name, at});
    }
  }
  void change(const char *line, const char *end) {
    if (*line == '#' || *line == '$' || line == end) return;
    const char *bits = line, *code = line + 1;
    size_t count = 1;
    if (*line == 'b') {
      bits = line + 1, code = (const char *)memchr(line, ' ', (size_t)(end - line));
      if (!code) return;
      count = (size_t)(code++ - bits);
    }
    int at = place(code, end);
    if (at < 0) return;
    Signal &s = signals[(size_t)at];
    if (count != s.seen.size()) return; // a real number
    if (s.value.empty()) {
      s.value.assign(bits, count);
      return;
    }
    for (size_t i = 0; i < count; i++)
      if (bits[i] != s.value[i]) {
        s.seen[i] = (char)(s.seen[i] | (bits[i] == '1' ? 1 : 2));
        s.value[i] = bits[i];
      }
  }

public:
  template <class Model> Coverage(Model &model, uint64_t limit_cycles) : limit(limit_cycles) {
    model.trace(&waves, 99);
    waves.open("bits");
  }
  bool open(const std::string &) override { return true; }
  void close() override {}
  ssize_t write(const char *text, ssize_t size) override {
    rest.append(text, (size_t)size);
    const char *at = rest.data(), *end = at + rest.size();
    for (const char *eol; (eol = (const char *)memchr(at, '\n', (size_t)(end - at)));
         at = eol + 1) {
      if (cycle)
        change(at, eol);
      else
        declare(std::string(at, eol).c_str());
    }
    rest.erase(0, (size_t)(at - rest.data()));
    return size;
  }
  // Once per cycle, when all signals are settled
  void sample() {
    if (cycle >= limit) return;
    if (cycle == 0) waves.flush(); // declarations only
    waves.dump(++cycle);
  }
  void save(VerilatedContext &context) {
    const char *folder = getenv("NIC_COVERAGE");
    static int number;
    waves.close();
    if (!folder) return;
    std::string path = std::string(folder) + "/" + program_invocation_short_name;
    context.coveragep()->write((path + "-" + std::to_string(number++) + ".dat").c_str());
    static std::map<std::string, std::string> all; // of all models of this process
    for (auto &n : named) {
      std::string &sum = all[n.first], &seen = signals[(size_t)n.second].seen;
      if (sum.empty()) sum = seen;
      for (size_t i = 0; i < seen.size(); i++) sum[i] = (char)(sum[i] | seen[i]);
    }
    FILE *f = fopen((path + ".bits").c_str(), "w");
    if (!f) return;
    for (auto &n : all) fprintf(f, "%s %s\n", n.first.c_str(), n.second.c_str());
    fclose(f);
  }
};
#else
class Coverage final { // counts nothing
public:
  template <class Model> Coverage(Model &, uint64_t) {}
  void sample() {}
  void save(VerilatedContext &) {}
};
#endif
#endif
