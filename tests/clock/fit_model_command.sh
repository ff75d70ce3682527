#!/bin/sh
# The command fit_model finds the ranges of made-up samples, names bad input, and writes files that the
# other commands read. What it measures is not judged here, only that it is written.
. tests/test.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_opal_common_ucx_opal_mem_hooks=0

# 2 us + 0.5 ns/B up to 4096 B, above 6 us + 0.1 ns/B, each time +- 1 %; beside it, another routine
awk 'BEGIN { for (n = 1; n <= 1048576; n *= 2) for (k = -5; k <= 5; k++)
  printf "%d %.6e put\n%d 1e-6 get\n", n, (n <= 4096 ? 2e-6 + 0.5e-9 * n : 6e-6 + 0.1e-9 * n) * (1 + k / 500), n }' >"$T/samples"
fits() {
  "$B/fit_model" --routine put --picture "$T/fit.html" --table "$T/table" "$T/samples" >"$T/out" || return 1
  grep -Eq '^ +1 +4096 +2 +0\.5 ' "$T/out" && grep -Eq '^ +8192 +1048576 +6 +0\.1 ' "$T/out" && grep -q '^4096 4.048' "$T/table"
}
draws() { # one page, no script, nothing fetched, well-formed where it matters
  test "$(grep -c '<svg' "$T/fit.html")" = 1 && grep -q '</html>' "$T/fit.html" && ! grep -Eq '<script|src=|nan|inf' "$T/fit.html"
}
refuses() { # TEXT ARGUMENTS...
  text=$1 && shift
  "$B/fit_model" "$@" >"$T/out" 2>&1
  test $? = 2 && grep -q -- "$text" "$T/out"
}
names_bad_lines() {
  for line in 'x 1' '1' '1 put' '1 1e-6put' '1 1e99' '1 nan' '99999999999999999999 1' '-1 1'; do
    printf '1 1e-6\n%s\n' "$line" >"$T/bad"
    refuses ":2: " "$T/bad" || return 1
  done
  awk 'BEGIN { for (i = 1; i <= 257; i++) print i, "1e-6" }' >"$T/many" && refuses 'many: more than 256 different sizes' "$T/many" && head -256 "$T/many" >"$T/most" && "$B/fit_model" "$T/most" >"$T/out" &&
    "$B/fit_model" --help | grep 'at most 256 different sizes' || return 1
  printf '1 1e-6\n1 0\n1 -1e-9\n' >"$T/some"
  "$B/fit_model" "$T/some" 2>&1 | grep -q 'left out: 2 times' || return 1
  refuses "another routine: choose one" "$T/samples" && refuses "no sample" --routine nothing "$T/samples" && refuses "fit_model: $T: Is a directory" "$T"
}
names_bad_arguments() {
  refuses "unknown option" --pictures x && refuses "value is missing" --picture && refuses "max-bytes" --max-bytes 0 && refuses "max-bytes" --max-bytes 999.5 && refuses "max-bytes" --max-bytes " 999" &&
    refuses "needs a measurement" --dedicated x "$T/samples" && refuses "No such file" "$T/none" &&
    refuses "No such file" --routine put --picture "$T/none/x" "$T/samples"
}
measures() { # COMMAND...
  timeout -k 5 300 "$@" --max-bytes 1e3 --raw "$T/raw" --platform "$T/platform" --dedicated "$T/costs" >"$T/out" || return 1
  grep -q '^loggp_latency_ns [0-9]' "$T/platform" && grep -q '^min_wait_s [0-9]' "$T/costs" &&
    "$B/fit_model" --routine gap "$T/raw" >"$T/out" && grep -Eq '^ +1 ' "$T/out" && grep -q '^1000 ' "$T/raw"
}
# What is measured is the MPI: each time in the samples is of one message or more of both processes, all of which
# the MPI carried. Memory that processes of a node share would do it faster, and the table would be no MPI's.
carries_all() { # MPI PROGRAM
  rm -f "$T/sends"
  COUNT_SENDS=$T/sends LD_PRELOAD=$B/tests/clock/count_sends.$1.so \
    timeout -k 5 300 mpirun.$1 -n 2 "$2" --max-bytes 1000 --raw "$T/raw" >"$T/out" || return 1
  times=$(grep -c '^[0-9]' "$T/raw")
  test "$times" -gt 100 && awk -v times="$times" '$2 >= times { good++ } END { exit NR != 2 || good != 2 }' "$T/sends"
}
check "ranges, lines and table of known samples" fits
check "the picture is one page without scripts" draws
# every tenth time 1.5 times the line, the others within 1 %: two lines that pm_run reads
noise_for_the_model() {
  awk 'function unit() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 42; for (n = 1000; n <= 20000; n += 1000) for (k = 0; k < 40; k++)
    printf "%d %.6e kernel\n", n, n * 1e-8 * (k % 10 == 3 ? 1.5 : 1) * (1 + (unit() + unit() + unit() + unit() - 2) / 100) }' >"$T/kernel"
  "$B/fit_model" --platform "$T/noise" "$T/kernel" >"$T/out" || return 1
  test "$(grep -c '^noise ' "$T/noise")" = 2 && grep -Eq '^noise 0\.90* (1|0\.99[0-9]*|1\.00[0-9]*) 0\.00' "$T/noise" && grep -Eq '^noise 0\.(1|09)[0-9]* 1\.(50|49)' "$T/noise"
}
check "the noise of computations, as portals_model.h reads it" noise_for_the_model
# half round trips of 3 us + 0.2 ns/B up to 4 MiB: lines of which all is in L; beyond the 1 MiB that pm_run sends at once, too
awk 'BEGIN { for (n = 1; n <= 4194304; n *= 2) print n, 3e-6 + 0.2e-9 * n }' >"$T/halves"
messages_for_the_model() {
  "$B/fit_model" --messages "$T/loggp" "$T/halves" >"$T/out" && ! grep -q '^noise' "$T/loggp" &&
    grep -Eq '^loggp_latency_ns 3000$' "$T/loggp" && grep -Eq '^loggp_bytes_per_s 5e\+09$' "$T/loggp" && grep -Eq '^cpu_event_ns 0$' "$T/loggp" &&
    grep -Eq '^loggp_range 0 3000 0 0 0.2 0.2' "$T/loggp" && grep -q -e '--eager 1048576 keeps .* up to there' "$T/loggp" &&
    refuses "not with --platform" --messages "$T/x" --platform "$T/x" "$T/halves" && refuses "needs a file" --messages "$T/x"
}
check "half round trips become LogGP, as portals_model.h reads it" messages_for_the_model
# who fits messages by --platform is told that these are none
tells_noise_from_messages() {
  "$B/fit_model" --platform "$T/noise" "$T/halves" >"$T/out" && grep -q "no message's time.*--messages" "$T/noise" && "$B/fit_model" --help | grep -q -e 'computation then, its noise'
}
check "noise is not taken for messages" tells_noise_from_messages
check "bad lines are named" names_bad_lines
check "bad arguments are named" names_bad_arguments
check "two threads are measured" measures "$B/fit_model"
check "dedicated_core reads the costs" sh -c "'$B/dedicated_core' --example >'$T/in' && '$B/dedicated_core' --costs '$T/costs' '$T/in' | grep -q Verdict"
for mpi in openmpi mpich; do
  program=$B/fit_model_mpi && [ $mpi = mpich ] && program=$B/fit_model_mpich
  if command -v mpirun.$mpi >/dev/null && [ -x "$program" ]; then
    check "two processes are measured, $mpi" measures mpirun.$mpi -n 2 "$program"
    check "the MPI carries what is measured, $mpi" carries_all $mpi "$program"
  else
    skip "two processes are measured, $mpi" "no mpirun.$mpi or mpicc.$mpi"
  fi
done
finish
