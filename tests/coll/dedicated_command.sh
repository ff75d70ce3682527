#!/bin/sh
# The command dedicated_core: built-in example, each kind of input, SVG, errors on bad input.
. tests/test.sh
says() { # TEXT, STATUS, then a command: exit status and text on either stream
  text=$1 status=$2
  shift 2
  "$@" >"$T/said" 2>&1
  [ $? -eq "$status" ] && grep -qF -- "$text" "$T/said" || { cat "$T/said"; return 1; }
}
D=$B/dedicated_core
check "the built-in example is the thesis's case" says 'pays: 147 s now, 123.8 s predicted, speed-up 1.188' 0 "$D"
"$D" --example >"$T/kripke"
check "a parameter file gives the same" says '123.8 s predicted' 0 "$D" "$T/kripke"
check "cores and alpha are taken" says '0.50' 0 "$D" --cores 8 --alpha 0.5 "$T/kripke"
check "an empty word is no alpha" says "--alpha: must be a number from 0 to 1, not ''" 2 "$D" --alpha '' "$T/kripke"
check "an SVG is drawn" sh -c "'$D' --svg '$T/a.svg' && grep -c '<polyline' '$T/a.svg' | grep -qx 2 && tail -1 '$T/a.svg' | grep -qx '</svg>'"
check "a report of this library is read" says 'Verdict' 0 "$D" --cores 4 tests/fuzz/seeds/fuzz_report/full.json
check "reports are averaged" says 'Verdict' 0 "$D" --cores 4 tests/fuzz/seeds/fuzz_report/full.json tests/fuzz/seeds/fuzz_report/full.json
check "cores are a number that fits" says '--cores: must be' 2 "$D" --cores 4294967298 tests/fuzz/seeds/fuzz_report/full.json
check "a report does not know the cores" says '--cores: the input does not say' 2 "$D" tests/fuzz/seeds/fuzz_report/full.json
# a quarter of the run's time, of which the report counts a million ns
sed 's/"counters":\[/"counters":[{"section_index":0,"name":"waited_for_a_core_ns","value":250000},/' tests/fuzz/seeds/fuzz_report/full.json >"$T/shared.json"
check "a run that lacked cores is no good ground" says 'Caution: for at least 25 % of the time processes waited for a core' 0 "$D" --cores 4 "$T/shared.json"
check "one that had them gets no caution" sh -c "! '$D' --cores 4 tests/fuzz/seeds/fuzz_report/full.json | grep Caution"
check "options may stand behind the reports" says 'halo: 4 cores, alpha 0.50' 0 "$D" tests/fuzz/seeds/fuzz_report/full.json --cores 4 --alpha 0.5
check "mixed inputs are refused" says 'come alone' 2 "$D" tests/fuzz/seeds/fuzz_report/full.json "$T/kripke"
check "the verdict says on what it rests" says 'It rests on N/(N-1) alone: on one core less computation is taken to last 1.067 times' 0 "$D" "$T/kripke"
sed 's/^min_wait_s .*/min_wait_s 3e-4/' "$T/kripke" >"$T/long_waits" && printf 'min_wait_s 2e-4\n' >"$T/costs"
check "on the shortest wait, too, where waits are a part of the run" says 'the shortest wait of the run, 0.0003 s, which is taken for what every wait costs by itself, 3 s in all' 0 "$D" "$T/long_waits"
check "which is not called all" says 'It rests on N/(N-1): ' 0 "$D" "$T/long_waits"
check "not where costs are measured" sh -c "'$D' --costs '$T/costs' '$T/long_waits' | grep 'rests on N/(N-1) alone' && ! '$D' --costs '$T/costs' '$T/long_waits' | grep shortest"
check "measured scaling replaces N/(N-1)" says 'does not pay: 147 s now' 0 "$D" --scaling 15:200,16:100 "$T/kripke"
check "bad scaling is named" says '--scaling: THREADS:SECONDS' 2 "$D" --scaling 16:1,15:2 "$T/kripke"
{ cat "$T/kripke"; echo 'waited_s 90'; echo 'visible_s 20'; } >"$T/late"
check "waits for others make the verdict an interval" says 'may pay: 147 s now, 123.8 to 170.5 s predicted, speed-up 0.862 to 1.188' 0 "$D" "$T/late"
printf 'name tiny\ncomp_s 1\ncore_count 4\nnb_count 3\nmin_nb_s 1e-6\n' >"$T/tiny"
check "small terms are not printed as 0.000" says '3e-06' 0 "$D" "$T/tiny"
printf 'name short\ncomp_s 0.001234\ncore_count 2\nblocking_count 10\nblocking_s 1e-4\n' >"$T/short"
check "nor are short totals, by each alpha" says '0.5            0.002518' 0 "$D" "$T/short"
if [ "$(nproc)" -ge 2 ]; then
  sed "s/\"host\": *\"[^\"]*\"/\"host\": \"$(uname -n)\"/" tests/fuzz/seeds/fuzz_report/full.json >"$T/here.json"
  grep -q "\"$(uname -n)\"" "$T/here.json" &&
    check "cores of this machine's reports are found" says "$(nproc) cores for each of the 1 processes" 0 "$D" "$T/here.json"
fi
echo 'comp_s ten' >"$T/bad"
check "a bad field is named with its line" says 'bad:1: comp_s: number >= 0 wanted' 2 "$D" "$T/bad"
echo '@ mpiP' >"$T/bad"
check "a short mpiP report is named" says 'not a report of mpiP' 2 "$D" "$T/bad"
check "a missing file is named" says '/nonexistent: No such file or directory' 2 "$D" /nonexistent
check "a folder is named" says '/: Is a directory' 2 "$D" /
check "bad options are refused" says 'dedicated_core: --fast: unknown option' 2 "$D" --fast
none_to_spare() { # this host's cores, with a process for each
  sed "s/\"host\": *\"[^\"]*\"/\"host\": \"$(uname -n)\"/" tests/fuzz/seeds/fuzz_report/full.json >"$T/one.json"
  set -- && for _ in $(seq "$(nproc)"); do set -- "$@" "$T/one.json"; done
  says "dedicated_core: $# processes shared the $# cores of this machine: none has a core to give away" 2 "$D" "$@"
}
check "who has no core to give away is told so" none_to_spare
check "a value that is missing is named" says 'dedicated_core: --cores: its value is missing' 2 "$D" --cores
: >"$T/nothing"
check "of an empty file nothing is predicted" says 'nothing: neither noprog_s nor comp_s in it' 2 "$D" --cores 4 "$T/nothing"
finish
