#!/bin/sh
# synth.sh MODULE...: table of what yosys makes of nic_MODULE.sv with its default parameters for a Xilinx
# 7 series FPGA: look-up tables, flip-flops, carry chains, small and block RAMs, multipliers.
B=${B:-build}
mkdir -p "$B/rtl/synth"
printf '%-14s %8s %8s %8s %8s %8s %8s\n' module LUT FF CARRY4 RAM32/64 RAMB DSP
for name in "$@"; do
  log=$B/rtl/synth/$name.log
  if ! yosys -q -p "read_verilog -sv -DSYNTHESIS rtl/nic_$name.sv $(for m in fifo arbiter; do
    [ $m = "$name" ] || echo "rtl/nic_$m.sv"; done | tr '\n' ' '); synth_xilinx -family xc7 -flatten -top nic_$name; tee -o $log stat" \
    >"$log.all" 2>&1; then
    printf '%-14s not synthesised: %s\n' "$name" "$(grep -m1 ERROR "$log.all")"
    failed=1
    continue
  fi
  awk -v name="$name" '$1 ~ /^LUT[1-6]$/ { lut += $2 } $1 ~ /^FD[RSCP]E$/ { ff += $2 } $1 == "CARRY4" { carry += $2 }
    $1 ~ /^RAM[0-9]+[MX]/ { ram += $2 } $1 ~ /^RAMB/ { bram += $2 } $1 ~ /^DSP/ { dsp += $2 }
    END { printf "%-14s %8d %8d %8d %8d %8d %8d\n", name, lut, ff, carry, ram, bram, dsp }' "$log"
done
[ -z "$failed" ]
