#!/bin/sh
# REGISTERS.md is the single truth: every register named there has the same offset in nic_pkg.sv and in
# nic_cosim.h, and both know no others.
passed=0 failed=0
check() { if [ "$2" = "$3" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1: '$2' is not '$3'"; fi; }
upper() { echo "$1" | sed 's/\([a-z0-9]\)\([A-Z]\)/\1_\2/g' | tr a-z A-Z; }
number() { if [ -n "$1" ]; then printf '%d' "$1"; else echo none; fi; }
in_doc() { sed -n "/^## $1/,/^## /s/^| \(0x[0-9A-Fa-f]*\) | \([A-Z][A-Za-z0-9]*\) |.*/\2 \1/p" rtl/REGISTERS.md; }
in_pkg() { sed -n "s/.* Reg$1 = [0-9]*'h\([0-9A-Fa-f]*\);.*/0x\1/p" rtl/nic_pkg.sv; }
in_header() { tr ',{' '\n\n' <rtl/nic_cosim.h | sed -n "s/^ *COSIM_$1 = \(0x[0-9A-Fa-f]*\).*/\1/p" | head -1; }

{ in_doc General; in_doc Blocks | grep -v '^General '; } >"${B:-build}/rtl/registers.txt"
while read -r name offset; do
  check "nic_pkg.sv Reg$name" "$(number "$(in_pkg "$name")")" "$(number "$offset")"
  header=$(upper "$name")
  [ "$name" = Stamp ] && header=STAMP_CTRL   # the header names the registers of the block
  check "nic_cosim.h COSIM_$header" "$(number "$(in_header "$header")")" "$(number "$offset")"
done <"${B:-build}/rtl/registers.txt"
check "registers in nic_pkg.sv" "$(grep -c 'localparam logic \[[0-9]*:0\] Reg' rtl/nic_pkg.sv)" "$(wc -l <"${B:-build}/rtl/registers.txt" | tr -d ' ')"
in_doc 'Stamp unit' >"${B:-build}/rtl/registers.txt"
while read -r name offset; do
  check "nic_cosim.h COSIM_STAMP_$(upper "$name")" "$(number "$(in_header "STAMP_$(upper "$name")")")" "$(number "$offset")"
done <"${B:-build}/rtl/registers.txt"
check "stamp registers" "$(wc -l <"${B:-build}/rtl/registers.txt" | tr -d ' ')" 11
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
