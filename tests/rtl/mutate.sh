#!/bin/sh
# make mutate-rtl: does a test notice when one line of the RTL is wrong? Each line of tests/rtl/mutants is a change,
# "FILE: OLD ==> NEW", where @ in NEW is true while that change is on. All are built into one model of
# the NIC and one of the leaf modules; NIC_MUTANT=n switches the n-th on. A change that no test notices is
# named. RTL_MUTANTS="3 17 20": these only. Takes about half an hour; tests end at the first failure.
B=${B:-build}
dir=$B/rtl/mutated$([ "$1" != --check ] || echo .check)
mkdir -p "$dir" || exit 1
for f in rtl/nic_*.sv; do
  awk -v file="$(basename "$f")" '
    function count(text, part,   n, at) { while (at = index(text, part)) { n++; text = substr(text, at + length(part)) } return n + 0 }
    NR == FNR {
      at = index($0, ": "); if (substr($0, 1, at - 1) != file) next
      rest = substr($0, at + 2); to = index(rest, " ==> ")
      old[++n] = substr(rest, 1, to - 1); new[n] = substr(rest, to + 5); id[n] = FNR
      next
    }
    { text = text $0 "\n" }
    END {
      for (i = 1; i <= n; i++) {
        if (count(text, old[i]) != 1) { printf "mutant %d: found %d times in %s: %s\n", id[i], count(text, old[i]), file, old[i] >"/dev/stderr"; exit 1 }
        gsub(/@/, "(nic_pkg::mutant == " id[i] ")", new[i])
        at = index(text, old[i])
        text = substr(text, 1, at - 1) new[i] substr(text, at + length(old[i]))
      }
      if (file == "nic_pkg.sv") sub(/package nic_pkg;\n/, "&  int mutant;\n", text)
      if (file == "nic_top.sv" || file == "nic_ct.sv" || file == "nic_line.sv" || file == "nic_mac.sv" || file == "nic_switch.sv") sub(/endmodule\n$/, "  initial if ($value$plusargs(\"mutant=%d\", nic_pkg::mutant) == 0) nic_pkg::mutant = 0;\nendmodule\n", text)
      printf "%s", text
    }' tests/rtl/mutants "$f" >"$dir/$(basename "$f").$$" || exit 1
  cmp -s "$dir/$(basename "$f").$$" "$dir/$(basename "$f")" || mv "$dir/$(basename "$f").$$" "$dir/$(basename "$f")"
done
{ sed '$d' tests/rtl/leaf.sv && printf '%s\n' '  initial if ($value$plusargs("mutant=%d", nic_pkg::mutant) == 0) nic_pkg::mutant = 0;' endmodule; } >"$dir/leaf.sv.$$"
cmp -s "$dir/leaf.sv.$$" "$dir/leaf.sv" || mv "$dir/leaf.sv.$$" "$dir/leaf.sv"
rm -f "$dir"/*.$$
[ "$1" = --check ] && exit 0   # every OLD stands where it is said, once
make -s mutated-rtl || exit 1
[ "$1" = --build ] && exit 0
total=$(wc -l <tests/rtl/mutants) killed=0 tried=0
for n in ${RTL_MUTANTS:-$(seq "$total")}; do
  by=
  case $(sed -n "${n}s/: .*//p" tests/rtl/mutants) in # which test is likely to notice, first
    nic_ct.sv) first='ct triggers leaf' ;;
    nic_lme.sv | nic_lops.sv) first='headers lists hard_cases leaf' ;;
    nic_headers.sv) first='headers lists' ;;
    nic_float.sv | nic_falu.sv | nic_line.sv) first='floats many_elements small_print' ;;
    nic_[rt]x_re*.sv | nic_rx_rsp.sv | nic_tx_rsp.sv | nic_rx_done.sv | nic_follow.sv | nic_top.sv) first='hostile_input many_elements triggers hard_cases small_print two_nics faults_lose_nothing' ;;
    nic_stamp.sv) first='two_nics hard_cases' ;;
    nic_event.sv) first='small_print headers leaf' ;;
    nic_mac*.sv | nic_top_mac.sv) first='mac two_nics' ;;
    nic_switch*.sv | nic_xbar.sv) first='switch leaf' ;;
    *) first='leaf small_print' ;;
  esac
  for test in $first $(echo ct mac floats hostile_input switch triggers leaf hard_cases restarts small_print many_elements lists headers faults_lose_nothing two_nics | tr ' ' '\n' | grep -vxF "$(echo $first | tr ' ' '\n')"); do
    # shellcheck disable=SC3045 # dash and bash have it
    # CPU time: a test that a busy machine holds up has noticed nothing
    (ulimit -t 60 && NIC_MUTANT=$n HOSTILE_INPUTS=3000 exec "$dir/$test") >"$dir/log.$$" 2>&1
    code=$?
    [ $code -eq 0 ] || { by="$test$([ $code -lt 128 ] || echo ", which crashed or did not end")"; break; }
  done
  tried=$((tried + 1))
  if [ -n "$by" ]; then
    killed=$((killed + 1)) && echo "noticed  $n by $by"
  else
    echo "SURVIVED $n: $(sed -n "${n}p" tests/rtl/mutants)"
  fi
done
echo "$killed of $tried changes noticed"
[ "$killed" -eq "$tried" ]
