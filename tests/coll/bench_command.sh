#!/bin/sh
# The command bench_nbc: a tiny sweep runs with every policy and writes what it promises; an interrupted
# sweep is continued; bad input is refused. No measured value is judged: this machine may be busy.
B=${B:-build}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
passed=0 failed=0
check() { # NAME, then a command that must succeed
  name=$1
  shift
  if "$@" >"$T/out" 2>&1; then passed=$((passed + 1)) && echo "ok      $name"
  else failed=$((failed + 1)) && echo "FAILED  $name" && tail -5 "$T/out"; fi
}
says() { # TEXT, STATUS, then a command: exit status and text on either stream
  text=$1 status=$2
  shift 2
  timeout 300 "$@" >"$T/said" 2>&1
  [ $? -eq "$status" ] && grep -qF -- "$text" "$T/said" || { cat "$T/said"; return 1; }
}
D=$B/bench_nbc
small="--min-us 200 --max-us 400 --reps 2 --max-mib 4"
check "all policies run" says 'allreduce, ours-threads, policy idle' 0 "$D" $small --policy none,dedicated,timer,idle --json "$T/a.json" --html "$T/a.html"
check "JSON holds every point" sh -c "[ \$(grep -c '\"coll\": \"allreduce\"' '$T/a.json') -eq 16 ]"
check "JSON is closed" sh -c "tail -1 '$T/a.json' | grep -q ']}\$'"
check "the page holds a picture per policy" sh -c "[ \$(grep -c '</svg>' '$T/a.html') -eq 8 ] && [ \$(grep -c '<rect' '$T/a.html') -ge 16 ]"
check "bars span the ranks" sh -c "[ \$(grep -c 'least .*most' '$T/a.html') -eq 24 ] && [ \$(grep -c 'wait_rank_max_ns' '$T/a.json') -eq 16 ]"
check "the page needs no network" sh -c "! grep -qE 'https?://|<script|<link' '$T/a.html'"
check "v-collectives, a NIC, three ranks" says 'alltoallv, ours-threads, policy dedicated' 0 "$D" $small --budget-s 60 --coll alltoallv,gatherv --spread 0.5 --ranks 3 --link-mb-s 500
check "one point in full" says 'ratios:' 0 "$D" --point bcast 300 300 --reps 2 --max-mib 4
check "a sweep is kept" "$D" $small --resume "$T/kept"
head -5 "$T/kept" >"$T/part" && printf 'point 0 0 0 1 77' >>"$T/part"
check "an interrupted sweep goes on" says 'policy dedicated' 0 "$D" $small --resume "$T/part"
check "it kept what was measured" sh -c "[ \"\$(head -5 '$T/part')\" = \"\$(head -5 '$T/kept')\" ] && grep -q '^point 0 1 1 1 .* end' '$T/part'"
check "the computation stays the same" sh -c "[ \$(grep ^reference '$T/part' | cut -d' ' -f1-3 | sort -u | wc -l) -eq 2 ]"
cp "$T/part" "$T/whole"
check "a finished sweep is not measured again" sh -c "'$D' $small --resume '$T/whole' >/dev/null && [ \$(grep -c ^point '$T/whole') -eq \$(grep -c ^point '$T/part') ]"
check "other settings are refused" says 'other settings' 2 "$D" $small --ranks 3 --resume "$T/kept"
damaged() { # NAME, sed command, text
  sed "$2" "$T/kept" >"$T/bad"
  check "$1" says "$3" 2 "$D" $small --resume "$T/bad"
}
damaged "a damaged point is named" '5s/ [0-9]/ x/' 'bad:5: damaged line'
damaged "a point with a negative time is refused" '5s/ \([0-9.e+]*\) end/ -1 end/' 'bad:5: damaged line'
damaged "a point that does not exist is refused" '5s/point 0/point 9/' 'bad:5: damaged line'
damaged "a damaged reference is named" '2s/reference 0/reference 7/' 'bad:2: damaged line'
damaged "a line of something else is refused" '3s/.*/hello/' 'bad:3: damaged line'
check "cores that do not exist are refused" says 'may not use' 2 "$D" --layout 0/1023
check "a layout is parsed" says 'cores wanted' 2 "$D" --layout 0-
check "a collective must exist" says 'no such collective: ring' 2 "$D" --coll ring
check "a barrier has no size" says 'no size' 2 "$D" --coll barrier
check "a policy must exist" says 'no such policy' 2 "$D" --policy fast
check "an implementation must exist" says '--impl: no such implementation: yours' 2 "$D" --impl yours
check "an MPI needs a launcher" says 'needs --mpi or --mpirun: mpi' 2 "$D" --impl mpi
check "an MPI must be known" says '--mpi: must be mpich or openmpi' 2 "$D" --mpi lam
check "a launcher must exist" says '--mpirun: no-such-mpirun' 1 "$D" --mpirun "no-such-mpirun -n 2 x" --point bcast 200 200 --reps 1 --max-mib 1
check "--tune writes a table" says 'rules for 3 ranks' 0 "$D" --tune "$T/choice" --ranks 3 --reps 1 --budget-s 10
check "the library follows it" env NBC_CHOICE="$T/choice" "$D" --point bcast 200 200 --reps 1 --max-mib 1
check "--tune says where it cannot write" says 'bench_nbc: /nowhere/x: No such file or directory' 1 "$D" --tune /nowhere/x --reps 1 --budget-s 1
check "numbers are checked" says "--reps: must be a whole number from 1 to 99, not '0'" 2 "$D" --reps 0
check "halves of repetitions are refused" says "--reps: must be a whole number from 1 to 99, not '2.5'" 2 "$D" --reps 2.5
check "unknown options are refused" says 'unknown option' 2 "$D" --fast 1
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
