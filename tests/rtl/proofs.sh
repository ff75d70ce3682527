#!/bin/sh
# Proofs by temporal induction (yosys' own solver): queue, credit loop, reliability window. For each a
# copy with a planted error must fail, so that a proof that proves nothing is noticed.
B=${B:-build}
out=$B/rtl/formal
mkdir -p "$out"
passed=0 failed=0
if ! command -v yosys >/dev/null; then
  echo "skipped proofs: yosys is missing (Debian: yosys)"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
# prove TOP FILE...
prove() {
  top=$1; shift
  timeout 250 yosys -p "read_verilog -sv -formal -DFORMAL -DSYNTHESIS $*; \
    $([ "$top" = nic_fifo ] && echo 'chparam -set Width 4 -set Depth 4 nic_fifo;') hierarchy -top $top; proc; \
    memory_map; async2sync; chformal -cover -remove; flatten; opt -full; \
    sat -verify -tempinduct -prove-asserts -set-assumes -seq 1 -maxsteps 5" >"$out/$top.log" 2>&1 &&
    grep -q 'Induction step proven: SUCCESS' "$out/$top.log"
}
# holds NAME TOP FILE...
holds() {
  name=$1; shift
  if prove "$@"; then passed=$((passed + 1)); echo "proved  $name"; else failed=$((failed + 1)); echo "FAILED  $name: $out/$1.log"; fi
}
# breaks NAME SED FILE TOP FILE...: the proof must fail when FILE is changed
breaks() {
  name=$1 change=$2 file=$3; shift 3
  sed "$change" "$file" >"$out/broken.sv"
  args=
  for a in "$@"; do [ "$a" = "$file" ] && a=$out/broken.sv; args="$args $a"; done
  if cmp -s "$file" "$out/broken.sv"; then failed=$((failed + 1)); echo "FAILED  nothing planted: $name"
  elif prove $args; then failed=$((failed + 1)); echo "FAILED  not noticed: $name"
  else passed=$((passed + 1)); echo "noticed $name"; fi
}
window='window tests/rtl/formal/window.sv rtl/nic_tx_window.sv rtl/nic_rx_window.sv'
credit='credit tests/rtl/formal/credit.sv rtl/nic_credit.sv rtl/nic_fifo.sv'
holds "queue: what goes in comes out once, in order" nic_fifo rtl/nic_fifo.sv
breaks "queue that takes one too many" 's/count_o != (Bits + 1).(Depth)/1/' rtl/nic_fifo.sv nic_fifo rtl/nic_fifo.sv
holds "credits: none lost, none made, no queue overflows" $credit
breaks "credit that is not taken" "s/count_q - 1'b1/count_q/" rtl/nic_credit.sv $credit
holds "window: once, in order, nothing forgotten" $window
breaks "window that accepts the next but one" "s/assign accept_o    = at == 8'd0/assign accept_o    = at <= 8'd1/" rtl/nic_rx_window.sv $window
breaks "window that moves over what is not done" 's/run = run && d_map\[i\]/run = run \&\& (d_map[i] || i == 1)/' rtl/nic_tx_window.sv $window
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
