#!/bin/sh
# fit_nic finds the constants of a simulated machine again from puts and gets that a program timed there, says what
# samples do not tell, names bad input, and measures over TCP and MPI what it reads.
. tests/test.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_opal_common_ucx_opal_mem_hooks=0
fit=$B/fit_nic
cat >"$T/truth" <<'EOF'
node_count 2
wire_latency_ns 520
pci_latency_ns 340
nic_put_ns 120
nic_get_ns 180
nic_response_ns 260
pio_bytes_per_s 3e9
link_bytes_per_s 6e9
EOF
is_truth() { # FITTED PER_CENT: each constant of the truth, none left out
  awk -v most="$2" 'FNR == NR { if ($1 != "node_count") want[$1] = $2; next } $1 in want { d = ($2 / want[$1] - 1) * 100; if (d > most || d < -most) { bad = 1; print } n++ } END { exit bad || n != 7 }' "$T/truth" "$1"
}
finds_what_a_program_met() {
  "$B/pm_run" -n 2 --platform "$T/truth" "$B/tests/model/guest_moves" >"$T/met" && test "$(grep -c _nbi "$T/met")" = 84 &&
    "$fit" --output "$T/fitted" "$T/met" >"$T/out" && is_truth "$T/fitted" 5
}
finds_itself() { # and from more sizes closely
  "$fit" --platform "$T/truth" --simulate "$T/raw" && "$fit" --output "$T/fitted" --picture "$T/page.html" "$T/raw" >"$T/out" && is_truth "$T/fitted" 1 &&
    "$fit" --platform "$T/fitted" --simulate "$T/again" && paste "$T/raw" "$T/again" | awk '!/^#/ { d = $2 / $6 - 1; if (d > 0.01 || d < -0.01) bad = 1; n++ } END { exit bad || n < 100 }'
}
intervals_hold() { # what is printed as +- is where the truth is; nothing here is not told
  ! grep 'not told' "$T/out" && awk 'FNR == NR { want[$1] = $2; next } $1 in want { d = ($2 / want[$1] - 1) * 100; if (d > $4 || d < -$4) bad = 1; n++ } END { exit bad || n != 7 }' "$T/truth" "$T/out"
}
page_shows_both() {
  test "$(grep -c '>measured<' "$T/page.html")" = 4 && test "$(grep -c '>simulated<' "$T/page.html")" = 4 && grep -q 'put_nbi post  *40 sizes' "$T/page.html" && tail -1 "$T/page.html" | grep -q '</html>' && ! grep -qE '<script|src=' "$T/page.html"
}
says_what_is_not_told() { # small puts alone: wire and PCI are one sum
  grep '^[1-8] .*put_nbi full' "$T/raw" >"$T/few" && "$fit" "$T/few" >"$T/out" && test "$(grep -c 'not told by these samples' "$T/out")" -ge 5
}
keeps_other_keys() { # what is not asked for stays as the platform has it
  sed 's/^nic_put_ns .*/nic_put_ns 77/' "$T/truth" >"$T/start" && "$fit" --platform "$T/start" --keys nic_put_ns --output "$T/one" "$T/raw" >"$T/out" && test "$(grep -c '+-' "$T/out")" = 1 && is_truth "$T/one" 1
}
measures_tcp() {
  "$fit" --tcp here --max-bytes 4096 "$T/tcp" && for r in 'put_nbi full' 'put_nbi post' 'get_nbi full' 'get_nbi post'; do
    test "$(grep -c "^4096 .*$r" "$T/tcp")" -ge 9 || return 1
  done && "$fit" "$T/tcp" >"$T/out" && grep -q '^put_nbi full *13 sizes' "$T/out"
}
measures_rma() { # LAUNCHER PROGRAM
  timeout -k 5 300 "$1" -n 2 "$2" "$T/rma" 256 0.01 >"$T/out" 2>&1 && "$fit" "$T/rma" >"$T/out" && grep -q '^put_nbi full *9 sizes' "$T/out" && grep -q '^get_nbi full *9 sizes' "$T/out"
}
refuses() {
  printf '1 1e-6 put_nbi full\nfive 1e-6 put_nbi full\n' >"$T/bad"
  ! "$fit" "$T/bad" 2>"$T/err" && grep -q 'bad:2: a line begins with a size' "$T/err" || return 1
  echo '1 1e-6 bcast' >"$T/bad" && ! "$fit" "$T/bad" 2>"$T/err" && grep -q 'no samples of put_nbi' "$T/err" || return 1
  for bad in '--keys wire' '--max-bytes 0' '--tcp here' '--tcp-serve 0' '--platform /nowhere' '--output' '--what' '/nowhere' '--simulate'; do
    # shellcheck disable=SC2086 # words
    "$fit" $bad "$T/raw" /nowhere2 >/dev/null 2>"$T/err" </dev/null && return 1
    test -s "$T/err" || return 1
  done
  "$fit" --help | grep -q -- --simulate
}
check "constants come back within 5 % from what a program timed under pm_run" finds_what_a_program_met
check "constants come back within 1 % from the model's own times, and make them again" finds_itself
check "the truth lies where the intervals say" intervals_hold
check "the page shows measured and simulated" page_shows_both
check "what samples do not tell is said" says_what_is_not_told
check "keys that are not asked for stay" keeps_other_keys
check "puts and gets are measured over TCP" measures_tcp
for launcher in mpirun.openmpi mpirun.mpich oshrun; do
  case $launcher in *openmpi) program=$B/fit_nic_mpi ;; *mpich) program=$B/fit_nic_mpich ;; *) program=$B/fit_nic_shmem ;; esac
  if command -v $launcher >/dev/null && [ -x "$program" ]; then
    check "puts and gets of two processes are measured, $launcher" measures_rma $launcher "$program"
  else
    skip "puts and gets of two processes are measured, $launcher" "no $launcher or its compiler"
  fi
done
check "bad input is named" refuses
finish
