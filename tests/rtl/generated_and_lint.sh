#!/bin/sh
# The generated CRC is what its generator writes, every module is clean under verilator -Wall (one that another has, within
# that; TEST_MORE=1: by itself, too), and yosys reads the whole NIC as Verilator does: no name that it declares itself, no
# port that it resizes.
B=${B:-build}
passed=0 failed=0 skipped=0
check() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; fi; }
"$B/rtl/crc_gen" >"$B/rtl/nic_crc.sv"
check cmp "$B/rtl/nic_crc.sv" rtl/nic_crc.sv
check sh tests/rtl/mutate.sh --check
if command -v verilator >/dev/null; then
  for file in rtl/nic_*.sv; do
    module=$(basename "$file" .sv)
    case $module in nic_pkg | nic_top) continue ;; esac   # nic_top is in nic_top_mac
    if [ -z "$TEST_MORE" ] && grep -lw "$module" rtl/nic_*.sv | grep -qvx "$file"; then continue; fi
    check verilator --lint-only -Wall -y rtl --top-module "$module" rtl/nic_pkg.sv "$file"
  done
else
  echo "skipped lint: verilator is missing (Debian: verilator)"
  skipped=1
fi
if command -v yosys >/dev/null; then
  sh rtl/synth.sh >/dev/null --read
  check yosys -q -e 'implicitly declared|Resizing cell port' -p "read_verilog -sv -DSYNTHESIS $B/rtl/synth/nic.sv; hierarchy -check -top nic_top_mac"
else
  echo "skipped reading by yosys: it is missing (Debian: yosys)"
  skipped=$((skipped + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
