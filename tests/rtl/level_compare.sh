#!/bin/sh
# The fitted constants keep what they promise, for sizes that are quick to simulate; the command speaks.
. tests/test.sh
flow_is_within_5_per_cent() { # of RTL, by the last number of every summary line of the five patterns; collectives up to 16 KiB
  "$B/level_compare" --platform rtl/nic.platform --max "$(some 16384 65536 | cut -d" " -f1)" --html "$T/levels.html" >"$T/levels" || return 1
  grep -E '^(Put|Get)-[WN].*within' "$T/levels" | awk '{ v = $10 + 0; rows += $9 == "worst"; if (v > 5 || v < -5) { bad = 1; print } } END { exit bad || rows != 5 }'
}
lists_are_within_5_per_cent() { # of RTL: matching takes a cycle per entry
  grep -E '^Put-list.*within' "$T/levels" | awk '{ v = $10 + 0; rows += $6 == 10 && $9 == "worst"; if (v > 5 || v < -5) bad = 1 } END { exit bad || rows != 1 }'
}
rates_are_near() { # of flow: many puts at once to entries of a list, both ways, streams
  awk '/^(list-rate|Put-both|Put-stream).*within/ { v = $10 < 0 ? -$10 : $10 + 0; rows++; if (v > 5) bad = 1 }
       /^(Put|Get)-[WNbls].*packet within/ { match($0, /packet within.*worst +[-0-9.]+/); n = split(substr($0, RSTART, RLENGTH), f, " "); v = f[n] + 0; rows++; if (v > 5.05 || v < -5.05) bad = 1 }
       END { exit bad || rows != 11 }' "$T/levels"
}
targets_and_collectives_are_near() { # of flow and packet: when targets are told, whole collectives
  awk '/^(Put-target|Get-target|barrier|allreduce|alltoall).*within/ { v = $10 + 0; rows++; match($0, /packet within.*worst +[-0-9.]+/); k = split(substr($0, RSTART, RLENGTH), f, " "); u = f[k] + 0; if (v > 5 || v < -5 || u > 5 || u < -5) { bad = 1; print } }
       END { exit bad || rows != 5 }' "$T/levels"
}
page_stands_alone() {
  test "$(grep -c '<svg viewBox' "$T/levels.html")" = 22 && ! grep -qE 'https?://|<script|src=' "$T/levels.html" && tail -1 "$T/levels.html" | grep -q '</html>'
}
calibration_reads_back() { # from constants that are far off: what it writes is a platform, and fits
  printf 'nic_put_ns 500\npio_bytes_per_s 1e9\n' >"$T/off"
  "$B/level_compare" --max 64 --nodes 2 --platform "$T/off" --calibrate "$T/fitted" >/dev/null &&
    "$B/level_compare" --max 64 --nodes 2 --platform "$T/fitted" | grep '^Put-WaitAck.*within' | awk '{ exit !($9 == "worst" && $10 < 9 && $10 > -9) }'
}
refuses() {
  for bad in '--max 1' '--max x' '--nodes 1' '--nodes 17' '--nodes 4294967298' '--html' '--what 1' '--platform /nowhere' '--html /no/such' '--calibrate /no/such'; do
    # shellcheck disable=SC2086 # words
    "$B/level_compare" $bad >"$T/printed" 2>"$T/error" && return 1
    grep -q -e "${bad%% *}" -e "level_compare: ${bad#* }: " "$T/error" && [ ! -s "$T/printed" ] || return 1
  done
  "$B/level_compare" --help | grep -q -- --calibrate && "$B/level_compare" --help | tr -s '\n ' ' ' | grep 'with rtl/nic.platform.* within 5 %'
}
lost_output_is_said() {
  [ -w /dev/full ] || return 0
  "$B/level_compare" --max 64 --nodes 2 >/dev/full 2>"$T/error"
  test $? = 1 && grep -q 'level_compare: standard output' "$T/error"
}
figures_hold_on_rtl() { # min <= exact <= max; the direct read's sender: nothing without, all with computation
  "$B/paper_figures" --level rtl --points 2 --rounds 1 --large-bytes 65536 --fragment-bytes 16384 --output "$T/figures.html" >"$T/figures" &&
    tail -1 "$T/figures" | grep -q '^Checked: min <= exact <= max in 20 of 20 points.$' &&
    awk '/^Figure/ { here = /^Figure 9.* sender$/ } here && $1 == "exact" { found = $(NF - 1) < 1 && $NF > 99 } END { exit !found }' "$T/figures"
}
check "flow is within 5 % of RTL with rtl/nic.platform" flow_is_within_5_per_cent
check "flow is within 5 % of RTL for lists of 1 to 1,000 entries" lists_are_within_5_per_cent
check "many at once, both ways and streams are as near to RTL as README says; packets too" rates_are_near
check "targets are told and collectives end within 5 % of RTL at the flow and the packet level" targets_and_collectives_are_near
check "level_compare draws one page, nothing from outside" page_stands_alone
[ -z "$TEST_MORE" ] || check "level_compare --calibrate writes what it reads" calibration_reads_back
check "paper_figures: exact between the bounds on RTL" figures_hold_on_rtl
check "level_compare refuses bad arguments by name" refuses
[ -z "$TEST_MORE" ] || check "level_compare says that its output is lost" lost_output_is_said
finish
