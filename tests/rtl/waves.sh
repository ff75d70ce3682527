#!/bin/sh
# --wave of pm_run and exact_overlap: waveforms of the NICs of a user's own run, in its own time.
# And the library of those NICs links into a program in C as nic_cosim.h says.
. tests/test.sh
guest=$B/tests/model/guest_ring.so
# The time in ps at which a wire of the NIC first is 1: VCD times stand before the changes.
first_one() { # FILE WIRE
  code=$(awk -v wire="$2" '$1 == "$var" && $5 == wire { print $4; exit }' "$1")
  one="1$code" awk '/^#/ { t = substr($0, 2) } $0 == ENVIRON["one"] { print t; exit }' "$1" # codes may have backslashes
}
ends_of() { grep '^#' "$1" | sed -n 's/^#//; 1p; $p'; }
wave_and_trace_tell_one_time() { # the first payload leaves its NIC when the trace says so, to the flit
  "$B/pm_run" -n 3 --level rtl --trace "$T/run.csv" --wave "$T/run.vcd" "$guest" ring >"$T/out" 2>&1 || { cat "$T/out"; return 1; }
  wave=$(first_one "$T/run.vcd" tx_valid_o)
  trace=$(awk -F, '$1 == "PUT" && $3 == 0 { print $8; exit }' "$T/run.csv")
  echo "first flit: wave $wave ps, trace $trace ns"
  awk -v w="$wave" -v t="$trace" 'BEGIN { d = w / 1000 - t; exit !(w != "" && t != "" && d > -3 && d < 3) }'
}
only_the_window_of_the_chosen() {
  "$B/pm_run" -n 3 --level rtl --wave "$T/part.vcd,nic=0,nic=2,from=1005,until=1006.5" "$guest" ring >"$T/out" 2>&1 || { cat "$T/out"; return 1; }
  test ! -e "$T/part.vcd" && test ! -e "$T/part.1.vcd" || return 1
  for nic in 0 2; do
    ends_of "$T/part.$nic.vcd" | awk -v n=$nic '{ if ($1 < 1005000000 || $1 >= 1006502000) bad = 1 } END { exit bad || NR != 2 }' || return 1
    grep -q '^\$timescale 1ps' "$T/part.$nic.vcd" || return 1
  done
}
a_file_for_each_row() {
  "$B/exact_overlap" --wave "$T/row.vcd,nic=1" 4096 >"$T/out" && "$B/exact_overlap" 4096 | cmp - "$T/out" || return 1
  for row in 1 2 3 4 5 6 7; do test -n "$(first_one "$T/row.$row.vcd" rx_valid_i)" || return 1; done
}
refuses() {
  for bad in x "$T/x.wave" "$T/x.vcd,nic=64" "$T/x.vcd,nic=1.5" "$T/x.vcd,nic" "$T/x.vcd,until=1,from=2" "$T/x.vcd,now=3" "$T/x.vcd,from=-1" "/nowhere/x.vcd" "$T/x.vcd,nic=5"; do
    "$B/pm_run" -n 2 --level rtl --wave "$bad" "$guest" >/dev/null 2>"$T/err" && { echo "taken: $bad"; return 1; }
    grep -q 'wave' "$T/err" || { echo "$bad"; cat "$T/err"; return 1; }
  done
  ! "$B/pm_run" -n 2 --wave "$T/x.vcd" "$guest" 2>"$T/err" && grep -q -- '--wave: only --level rtl' "$T/err"
}
full_disk_is_said() {
  [ -w /dev/full ] || return 0
  ln -s /dev/full "$T/full.vcd" && ln -s /dev/full "$T/full.1.vcd"
  ! "$B/pm_run" -n 2 --level rtl --wave "$T/full.vcd" "$guest" ring >/dev/null 2>"$T/err" && grep -q 'full.vcd: not all could be written' "$T/err" &&
    ! "$B/exact_overlap" --wave "$T/full.vcd" 4096 >/dev/null 2>"$T/err" && grep -q 'full.vcd: not all could be written' "$T/err"
}
# A file system of the test's own, of so many KiB: nothing, the head, all but the end have room there.
full_file_system_is_said() {
  mkdir -p "$T/small" && for size in 0 16 64 80; do
    for command in "2 pm_run -n 2 --level rtl --wave $T/small/w.fst $guest ring" "1 exact_overlap --wave $T/small/w.fst 4096"; do
      unshare -rm sh -c "mount -t tmpfs -o size=$((size * 1024 + 4096)) tmpfs '$T/small' && exec $B/${command#??}" >"$T/out" 2>"$T/err"
      test $? = "${command%% *}" && grep -q 'w.fst: not all could be written' "$T/err" && grep -q 'token 3\|too late' "$T/out" || { cat "$T/out" "$T/err"; return 1; }
    done
  done
}
fst_files_are_small_and_whole() { # what they say is compared in waveform.cpp
  "$B/pm_run" -n 2 --level rtl --wave "$T/w.fst,nic=0,nic=1" "$guest" ring >"$T/out" 2>&1 && "$B/pm_run" -n 2 --level rtl --wave "$T/w.vcd" "$guest" ring >"$T/out" 2>&1 || { cat "$T/out"; return 1; }
  fst=$(wc -c <"$T/w.0.fst") vcd=$(wc -c <"$T/w.vcd")
  echo "FST $fst bytes, VCD $vcd"
  test -s "$T/w.1.fst" && test "$fst" -lt $((vcd / 10)) || return 1
  "$B/exact_overlap" --wave "$T/row.fst" 4096 >"$T/out" && test -s "$T/row.7.fst" || return 1
  (trap '' XFSZ; ulimit -f 16; ! "$B/pm_run" -n 2 --level rtl --wave "$T/lost.fst" "$guest" ring >/dev/null 2>"$T/err") && grep -q 'lost.fst: cannot be written' "$T/err"
}
links_in_c() {
  printf '#include "rtl/nic_cosim.h"\nint main(void) { cosim_desc d = cosim_default(); return cosim_create(&d) != NULL; }\n' >"$T/c.c"
  more=$(sed -n 's/.*in C the same with \(.*\)\.$/\1/p' rtl/nic_cosim.h) && test -n "$more" || return 1
  # shellcheck disable=SC2086 # words
  "$CC" -I. -o "$T/c" "$T/c.c" "$B/rtl/libnic_cosim.a" -lz -pthread $more && "$T/c"
}
check "a program in C links as nic_cosim.h says" links_in_c
check "the wave shows the first flit when the trace says" wave_and_trace_tell_one_time
check "waves of the chosen NICs, in the chosen time" only_the_window_of_the_chosen
check "exact_overlap --wave: a file for each row, the same figures" a_file_for_each_row
check "--wave FILE.fst: whole, a tenth of the size at most, or told" fst_files_are_small_and_whole
check "--wave refuses by name" refuses
check "--wave tells of a full disk" full_disk_is_said
if unshare -rm true 2>/dev/null; then check "--wave FILE.fst tells of a full file system" full_file_system_is_said; else skip "FST on a full file system" "no user namespaces here"; fi
finish
