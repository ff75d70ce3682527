#!/bin/sh
# Proofs by temporal induction (yosys' own SAT solver): queue, credit loop, reliability window, crossbar, turns, buses. They hold for
# runs of any length, not to some depth; the length of the induction is shown. For each a copy with a
# planted error must fail, so that a proof that proves nothing is noticed (every other error; TEST_MORE=1 or SMT=1: all). The
# window is one of 8 messages here, a tenth of the work. With SMT=1 that of 32, which the NIC has, is proved (a minute), so
# are counters with triggers and the lists of entries (a minute each, made small), and queue and credit loop are proved again
# by an SMT solver (z3, a minute; of the window it does not see the end).
B=${B:-build}
out=$B/rtl/formal
mkdir -p "$out"
passed=0 failed=0 skipped=0
if ! command -v yosys >/dev/null; then
  echo "skipped proofs: yosys is missing (Debian: yosys)"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
# read_in TOP FILE...: yosys commands
read_in() {
  top=$1; shift
  echo "read_verilog -sv -formal -DFORMAL -DSYNTHESIS $*; \
    $(case $top in nic_fifo | nic_queue | nic_cross) echo "chparam -set Width 4 -set Depth 4 $top;" ;; \
      window) echo "chparam -set W ${window_messages:-8} $top;" ;; esac) hierarchy -top $top; proc; \
    $(case $top in nic_ct) printf "delete -port nic_ct/%s; " beat_o req_addr_o strb_o ct_rdata_o trg_rdata_o ;; \
      nic_lme) printf "delete -port nic_lme/%s; " valid_o in_use_o res_o ev_o headers_o ;; esac) \
    memory_map; $(if [ "$top" = nic_cross ]; then echo clk2fflogic; else echo async2sync; fi); chformal -cover -remove; flatten; opt -full;"
}
# small NAME: nic_NAME with what formal/NAME.sv says about it, as small as formal/NAME.sed makes it, in one file
small() {
  { sed '/^package /d; /^endpackage/d' rtl/nic_pkg.sv; sed '/^endmodule/d' "rtl/nic_$1.sv"; cat "tests/rtl/formal/$1.sv"; } |
    sed -f "tests/rtl/formal/$1.sed" >"$out/$1_small.sv"
  cat tests/rtl/formal/any_queue.sv >>"$out/$1_small.sv"
}
# limited SECONDS COMMAND...: of processor time, each process; a machine may be busy
limited() { cpu_s=$1; shift; prlimit --cpu="$cpu_s" "$@"; }
# prove LOG TOP FILE...
prove() {
  log=$1; shift
  limited 250 yosys -p "$(read_in "$@") sat -verify -tempinduct -prove-asserts -set-assumes -seq 1 -maxsteps ${steps_max:-5}" >"$log" 2>&1 &&
    grep -q 'Induction step proven: SUCCESS' "$log"
}
# smt LOG TOP FILE...: the same by z3, from the beginning for so many steps and by induction
smt() {
  log=$1; shift
  limited 60 yosys -q -p "$(read_in "$@") dffunmap; write_smt2 -wires $out/$1.smt2" >"$log" 2>&1 &&
    limited 120 yosys-smtbmc -s z3 --noprogress -t 4 "$out/$1.smt2" >>"$log" 2>&1 &&
    limited 250 yosys-smtbmc -s z3 --noprogress -i -t 3 "$out/$1.smt2" >>"$log" 2>&1 &&
    test "$(grep -c 'Status: PASSED' "$log")" = 2
}
# holds NAME TOP FILE...
holds() {
  name=$1 log=$out/$2.log; shift
  if prove "$log" "$@"; then
    passed=$((passed + 1))
    echo "proved  $name (any run; induction of length $(sed -n 's/.*Trying induction with length \([0-9]*\).*/\1/p' "$log" | tail -1), $(sed -n 's/^Import proof for assert: \([^ ]*\) .*/\1/p' "$log" | sort -u | wc -l) assertions)"
  else
    failed=$((failed + 1)); echo "FAILED  $name: $log"
  fi
}
# again NAME TOP FILE...
again() {
  name=$1 log=$out/$2.smt.log; shift
  if ! command -v z3 >/dev/null || ! command -v yosys-smtbmc >/dev/null; then
    skipped=$((skipped + 1)); echo "skipped $name: z3 is missing (Debian: z3)"
  elif smt "$log" "$@"; then
    passed=$((passed + 1)); echo "proved  $name"
  else
    failed=$((failed + 1)); echo "FAILED  $name: $log"
  fi
}
# breaks NAME SED FILE TOP FILE...: the proof must fail when FILE is changed; $prover: prove or smt
prover=prove planted=0
breaks() {
  planted=$((planted + 1))
  if [ -z "$SMT$TEST_MORE" ] && [ $((planted % 2)) = 0 ]; then return; fi
  name=$1 change=$2 file=$3; shift 3
  sed "$change" "$file" >"$out/broken.sv"
  args=
  for a in "$@"; do [ "$a" = "$file" ] && a=$out/broken.sv; args="$args $a"; done
  if cmp -s "$file" "$out/broken.sv"; then failed=$((failed + 1)); echo "FAILED  nothing planted: $name"
  elif $prover "$out/broken.log" $args; then failed=$((failed + 1)); echo "FAILED  not noticed: $name"
  elif ! grep -qE 'proof did fail|Status: FAILED' "$out/broken.log"; then failed=$((failed + 1)); echo "FAILED  no answer: $name: $(tail -1 "$out/broken.log")"
  else passed=$((passed + 1)); echo "noticed $name"; fi
}
window='window tests/rtl/formal/window.sv rtl/nic_tx_window.sv rtl/nic_rx_window.sv'
credit='credit tests/rtl/formal/credit.sv rtl/nic_credit.sv rtl/nic_fifo.sv'
xbar='xbar tests/rtl/formal/xbar.sv rtl/nic_xbar.sv rtl/nic_arbiter.sv'
turns='turns tests/rtl/formal/turns.sv rtl/nic_arbiter.sv'
buses='axi tests/rtl/formal/axi.sv rtl/axi4_check.sv rtl/axil_check.sv rtl/nic_dma_wr.sv rtl/nic_arbiter.sv rtl/nic_axil.sv'
holds "queue: what goes in comes out once, in order" nic_fifo rtl/nic_fifo.sv
breaks "queue that takes one too many" 's/count_o != (Bits + 1).(Depth)/1/' rtl/nic_fifo.sv nic_fifo rtl/nic_fifo.sv
holds "queue in block RAM: what goes in comes out once, in order" nic_queue rtl/nic_queue.sv
breaks "queue that reads what is not there yet" 's/wr_q != rd_q \&\& //' rtl/nic_queue.sv nic_queue rtl/nic_queue.sv
holds "queue between two free clocks: what goes in stays until it comes out, one bit of a counter changes at a time" nic_cross rtl/nic_cross.sv
breaks "queue between two clocks that takes one too many" "s/assign ready_o = room_o != '0/assign ready_o = 1/" rtl/nic_cross.sv nic_cross rtl/nic_cross.sv
breaks "queue between two clocks that reads what is not there" "s/fetch   = here != '0 \&\& /fetch   = /" rtl/nic_cross.sv nic_cross rtl/nic_cross.sv
breaks "counter that crosses as it is" 's/wr_gray_q <= gray(wr_next)/wr_gray_q <= wr_next/' rtl/nic_cross.sv nic_cross rtl/nic_cross.sv
holds "numbers of a clock's cycles: one bit changes at a time" nic_cycles rtl/nic_cycles.sv
breaks "numbers that cross as they are" 's/code_q   <= next ^ (next >> 1)/code_q   <= next/' rtl/nic_cycles.sv nic_cycles rtl/nic_cycles.sv
holds "credits: none lost, none made, no queue overflows" $credit
breaks "credit that is not taken" "s/count_q - 1'b1/count_q/" rtl/nic_credit.sv $credit
holds "window of 8 messages: once, in order, nothing forgotten" $window
breaks "window that accepts the next but one" "s/assign accept_o    = at == '0/assign accept_o    = at <= 8'd1/" rtl/nic_rx_window.sv $window
breaks "window that moves over what is not done" "s/{1'b0, d_map}/{1'b0, d_map | Window'(2)}/g" rtl/nic_tx_window.sv $window
holds "crossbar: each packet to its output, once, messages not mixed" $xbar
breaks "crossbar that forgets who has begun a message" 's/held_q ? (want \& own_q) : want/want/' rtl/nic_xbar.sv $xbar
breaks "crossbar that takes a head for two outputs" "s/port_i\[i \* Pb +: Pb\] == Pb'(o)/port_i[i * Pb +: 1] == 1'(o)/" rtl/nic_xbar.sv $xbar
holds "turns: who asks waits for at most one turn of each other one" $turns
breaks "turns that the first one always has" "s/(masked != '0)/(1'b0)/" rtl/nic_arbiter.sv $turns
holds "buses: no rule of AXI4 broken by a write, none of AXI4-Lite by the registers" $buses
breaks "write data that wait for AWREADY" 's/assign m_axi_wvalid  = valid \&\& /&addr_done_q \&\& /' rtl/nic_dma_wr.sv $buses
breaks "read data that change before they are taken" 's/assign s_axil_rdata   = rdata_q/assign s_axil_rdata   = rdata_i/' rtl/nic_axil.sv $buses
if [ -n "$SMT" ]; then
  steps_max=1
  small ct
  triggers="nic_ct $out/ct_small.sv rtl/nic_arbiter.sv"
  holds "triggers: none lost, none released twice, in order of threshold, none late; counts are what was added" $triggers
  breaks "trigger that goes before one of the same threshold" 's/assign sooner  = op_value </assign sooner  = op_value <=/' "$out/ct_small.sv" $triggers
  breaks "trigger given over one that waits" 's/ \&\& !valid_q\[op_at\];/;/' "$out/ct_small.sv" $triggers
  breaks "trigger that is late after a CTInc" 's/Execute: state_q <= Check;/Execute: state_q <= Idle;/' "$out/ct_small.sv" $triggers
  breaks "trigger that stays at the head of its list" 's/fires) head_mem\[ct_q\] <= next_out_q/fires) head_mem[ct_q] <= cur_q/' "$out/ct_small.sv" $triggers
  breaks "count while a list is looked at" 's/assign count_ready_o = state_q == Idle \&\& /assign count_ready_o = /' "$out/ct_small.sv" $triggers
  small lme
  lists="nic_lme $out/lme_small.sv"
  holds "lists: each entry in one place, in order of appending; a message takes the first that it fits, or there is none" $lists
  breaks "search that ends before the last entry" 's/last_q     <= fetch_q == end_q/last_q     <= next_mem[fetch_q] == end_q/' "$out/lme_small.sv" $lists
  breaks "entry that leaves and is its neighbour's still" 's/else if (state_q == Cut \&\& !is_tail) prev_mem/else if (0) prev_mem/' "$out/lme_small.sv" $lists
  breaks "entry that leaves and is its list's first still" 's/else if (state_q == Cut \&\& is_head) head_mem/else if (0) head_mem/' "$out/lme_small.sv" $lists
  breaks "entry appended where one is" 's/(valid_q\[op_at\] || op_used)/op_used/' "$out/lme_small.sv" $lists
  steps_max=
  window_messages=32
  holds "window of 32 messages" $window
  again "queue, by z3" nic_fifo rtl/nic_fifo.sv
  again "credits, by z3" $credit
  if command -v z3 >/dev/null; then
    prover=smt
    breaks "queue that takes one too many, by z3" 's/count_o != (Bits + 1).(Depth)/1/' rtl/nic_fifo.sv nic_fifo rtl/nic_fifo.sv
  fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
