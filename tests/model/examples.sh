#!/bin/sh
# The examples on the model: what their first comments promise; simulated time is the same everywhere.
. tests/test.sh

prints_what_it_promises() {
  sed -n 's/^     \([0-9c ].*\)/\1/p; /^   Two simulated/q' examples/03_simulated_overlap.c | sed 's/^ *//' >"$T/promised"
  "$B/03_simulated_overlap" | sed 's/^ *//' >"$T/printed" && test "$(wc -l <"$T/printed")" = 9 && diff "$T/promised" "$T/printed"
}
refuses_bad_sizes() { ! "$B/03_simulated_overlap" 17 2>/dev/null && ! "$B/simulated_overlap" -1 2>/dev/null; }


# Every point of every figure: min <= exact <= max, by the printed table (one decimal).
figures_are_bounded() {
  "$B/paper_figures" --level flow --level loggp --output "$T/figures.html" >"$T/figures" || return 1
  tail -1 "$T/figures" | grep -q '^Checked: min <= exact <= max in 260 of 260 points.$' || return 1
  awk '/^  (min|exact|max) % / { for (i = 3; i <= NF; i++) v[$1, i] = $i; n = NF }
       /^  max % / { for (i = 3; i <= n; i++) { points++; if (v["exact", i] < v["min", i] - 0.15 || v["exact", i] > v["max", i] + 0.15) bad++ } }
       END { exit points != 130 || bad }' "$T/figures"
}
# figure N SIDE ROW: the last number of that row
last_of() { awk -v title="^Figure $1\\\\..*, $2\$" -v row="$3" '/^Figure/ { here = $0 ~ title } here && $1 == row && $2 != "%," { print int($NF + 0.5) }' "$T/figures"; }
figures_have_the_shapes_of_the_paper() {
  for n in 7 8 9 10 11 12 13; do grep -q "^Figure $n\. " "$T/figures" || return 1; done
  test "$(last_of 7 sender exact)" = 100 && test "$(last_of 7 receiver min) $(last_of 7 receiver max)" = '0 100' &&
    test "$(last_of 8 sender exact)" -le 13 && test "$(last_of 9 sender exact) $(last_of 9 sender wait)" = '100 0' &&
    test "$(last_of 10 receiver exact)" -le 13 && test "$(last_of 11 receiver max)" = 0 &&
    test "$(last_of 12 sender max)" -le 13 && test "$(last_of 13 sender max) $(last_of 13 sender exact)" = '100 0'
}
figures_page_stands_alone() {
  test "$(grep -c '<svg viewBox="0 0 316' "$T/figures.html")" = 10 && grep -q 'computation \[us\]' "$T/figures.html" &&
    ! grep -qE 'https?://|<script|src=' "$T/figures.html" && grep -q 'exact on level loggp' "$T/figures.html" && tail -1 "$T/figures.html" | grep -q '</html>'
}
figures_are_the_same_again() {
  "$B/paper_figures" --level flow --level loggp --output "$T/figures.html" | cmp -s - "$T/figures"
}
figures_refuse() {
  "$B/paper_figures" --help | grep -q -- --fragment-bytes || return 1
  for bad in '--points 1' '--points x' '--level slow' '--rounds' '--large-bytes 5000' '--platform /nowhere' '--what 1'; do
    # shellcheck disable=SC2086 # words
    "$B/paper_figures" $bad >/dev/null 2>"$T/error" && return 1
    grep -q -e "${bad%% *}" -e nowhere "$T/error" || return 1
  done
}

sim="--min-us 1000 --max-us 2000 --max-mib 64"
heat_maps_are_those_of_the_policies() {
  # shellcheck disable=SC2086 # words
  "$B/bench_nbc" --sim nodes=8,cores=4 $sim --json "$T/sim.json" --html "$T/sim.html" >"$T/sim" || return 1
  # overhead, impact, slowdown, communication: without a worker one after the other; a core of four costs a third
  grep -q '^allreduce *simulated:none *1\.00 *1\.00 *1\.00 *1\.00$' "$T/sim" &&
    grep -q '^allreduce *simulated:dedicated *0\.3[0-9] *1\.33 *1\.33 *0\.00$' "$T/sim" &&
    grep -q '^allreduce *simulated:timer' "$T/sim" && test "$(grep -c '"impl": "simulated"' "$T/sim.json")" = 15 &&
    grep -q '"simulated": true' "$T/sim.json" && grep -q 'Simulated</h1>' "$T/sim.html" && test "$(grep -c '<svg' "$T/sim.html")" = 6
}
the_same_seed_the_same_file() {
  # shellcheck disable=SC2086
  "$B/bench_nbc" --sim nodes=8,cores=4 $sim --json "$T/again.json" --html "$T/again.html" >/dev/null && cmp "$T/sim.json" "$T/again.json" && cmp "$T/sim.html" "$T/again.html" &&
    "$B/bench_nbc" --sim nodes=8,cores=4,seed=2 $sim --json "$T/again.json" >/dev/null && ! cmp -s "$T/sim.json" "$T/again.json"
}
other_collectives_and_levels() {
  # shellcheck disable=SC2086
  "$B/bench_nbc" --sim nodes=4,cores=2,level=loggp,noise=0.02 --coll bcast,alltoallv --spread 0.5 $sim --policy none,dedicated >"$T/other" &&
    grep -q '^alltoallv *simulated:dedicated *[0-9]' "$T/other" && grep -q 'noise' "$T/other" || return 1
  printf 'noise 0.9 1 0.01\nnoise 0.1 1.5 0.05 # one in ten is disturbed\n' >"$T/platform"
  # shellcheck disable=SC2086
  "$B/bench_nbc" --sim "nodes=8,cores=4,platform=$T/platform" $sim --policy none --reps 5 >"$T/other" && grep -q 'seed 1; noise' "$T/other" || return 1
  # What is said beside the file holds, wherever it stands
  printf 'node_count 4\nlink_bytes_per_s 1e9\n' >"$T/platform"
  for order in "nodes=8,cores=3,platform=$T/platform" "platform=$T/platform,cores=3,nodes=8"; do
    # shellcheck disable=SC2086
    "$B/bench_nbc" --sim "$order" $sim --policy none --reps 1 >"$T/other" && grep -q '^8 ranks, simulated: 8 nodes of 3 cores' "$T/other" || return 1
  done
}
bench_refuses() {
  { yes '' | head -60000 && echo wire_latency_ns 5000000; } >"$T/too_long"
  for bad in 'nodes=1' 'nodes=x' 'cores=1' 'color=3' 'level=3' 'seed' 'platform=/nowhere' "platform=$T/too_long" "platform=$T,nodes=2"; do
    "$B/bench_nbc" --sim "$bad" --point allreduce 100 100 >/dev/null 2>"$T/error" && return 1
    grep -q 'bench_nbc: --sim\|nowhere\|too long\|Is a directory' "$T/error" && ! grep 'line [0-9]' "$T/error" || return 1
  done
  ! "$B/bench_nbc" --sim nodes=2 --impl ours-threads 2>/dev/null && ! "$B/bench_nbc" --sim nodes=2 --policy idle 2>/dev/null && ! "$B/bench_nbc" --impl simulated 2>/dev/null
}

check "03_simulated_overlap prints what it promises" prints_what_it_promises
check "simulated_overlap refuses bad sizes" refuses_bad_sizes
check "paper_figures: exact between the bounds, everywhere" figures_are_bounded
check "paper_figures: the shapes of the paper" figures_have_the_shapes_of_the_paper
check "paper_figures: one page, nothing from outside" figures_page_stands_alone
check "paper_figures: the same again" figures_are_the_same_again
check "paper_figures: bad arguments are named" figures_refuse
check "bench_nbc --sim: each policy has its effect" heat_maps_are_those_of_the_policies
check "bench_nbc --sim: the same seed, the same file" the_same_seed_the_same_file
check "bench_nbc --sim: other collectives, level, noise" other_collectives_and_levels
check "bench_nbc --sim: bad machines are named" bench_refuses
finish
