#!/bin/sh
# Collectives on the MPI transport against the MPI's own, with Open MPI and MPICH, most of it by turns (turns.sh): 1 to 17 processes.
. tests/test.sh
. tests/mpi/turns.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
results() { # MPI PROCESSES LEVEL
  timeout -k 5 300 "mpirun.$1" -n "$2" "$B/tests/mpi/coll_results.$1" "$3"
}
two_transports() { timeout -k 5 300 "mpirun.$1" -n "$2" "$B/tests/mpi/coll_two_transports.$1"; } # MPI PROCESSES
mixed() { timeout -k 5 300 "mpirun.$1" -n "$2" "$B/tests/mpi/coll_mixed.$1" "$3"; } # MPI PROCESSES LEVEL
bound() { # MPI: a rank that is bound leaves a core to its worker
  timeout -k 5 300 "mpirun.$1" -n 1 taskset -c 0 "$B/tests/mpi/coll_mixed.$1" 3
}
alone() { # MPI: a tiny sweep of its program of bench_nbc alone; the numbers are not judged
  rm -f "$T/$1.json"
  OMPI_MCA_hwloc_base_binding_policy=none timeout -k 5 300 "mpirun.$1" -n 2 "$B/bench_nbc.$1" --min-us 200 --max-us 400 --reps 2 \
    --max-mib 4 --impl mpi,ours-mpi --policy dedicated --json "$T/$1.json" &&
    [ "$(grep -c '"coll".*"impl": "mpi"' "$T/$1.json")" -eq 4 ] && [ "$(grep -c '"mpi_impact_ratio": null' "$T/$1.json")" -eq 8 ]
}
side_by_side() { # MPI, IMPLS: every implementation in one run, lengths that differ, one interruption
  sweep="--mpi $1 --impl $2 --coll alltoallv,gatherv --spread 0.5 --min-us 200 --max-us 200 --reps 2 --max-mib 1"
  columns=$(($(echo "$2" | tr , '\n' | wc -l) + 2))
  rm -f "$T/$1.kept"
  timeout -k 5 300 "$B/bench_nbc" $sweep --resume "$T/$1.kept" >"$T/all" 2>&1 && grep -q "^alltoallv  *mpi " "$T/all" || { cat "$T/all"; return 1; }
  [ "$(grep -c '^point' "$T/$1.kept")" -eq $((2 * columns)) ] || { cat "$T/$1.kept"; return 1; }
  sed '/^point [01] 1/d' "$T/$1.kept" >"$T/$1.part"
  timeout -k 5 300 "$B/bench_nbc" $sweep --resume "$T/$1.part" --json "$T/$1.json" --html "$T/$1.html" &&
    [ "$(grep -c '^point' "$T/$1.part")" -eq $((2 * columns)) ] && [ "$(grep -c '"coll"' "$T/$1.json")" -eq $((2 * columns)) ] &&
    ! grep -q '"overhead_ratio": null\|"mpi_impact_ratio": null' "$T/$1.json" && [ "$(grep -c '</svg>' "$T/$1.html")" -eq $((4 * columns)) ]
}
tunes() { # MPI
  timeout -k 5 300 "mpirun.$1" -n 2 "$B/bench_nbc.$1" --tune "$T/choice" --reps 1 --budget-s 3 &&
    NBC_CHOICE="$T/choice" timeout -k 5 300 "mpirun.$1" -n 2 "$B/bench_nbc.$1" --impl ours-mpi --point bcast 200 200 --reps 1 --max-mib 1
}
no_async_thread() { # Open MPI has none: an error, and the other columns are still measured
  timeout -k 5 300 "$B/bench_nbc" --mpi openmpi --impl mpi-async,ours-threads --point bcast 200 200 --reps 1 --max-mib 1 >"$T/all" 2>&1
  [ $? -eq 1 ] && grep -q 'started no asynchronous thread' "$T/all" && grep -q 'bcast, ours-threads, policy none' "$T/all"
}
for mpi in openmpi mpich; do
  if ! command -v "mpirun.$mpi" >/dev/null || [ ! -x "$B/tests/mpi/coll_results.$mpi" ]; then
    skip "collectives over $mpi" "no mpirun.$mpi or mpicc.$mpi"
    continue
  fi
  for n in $(some 5 '1 2 3'); do turn $mpi check "$mpi, $n processes, engine and none" results $mpi $n 3; done
  turn $mpi check "$mpi, 8 processes, MPI_THREAD_SERIALIZED" results $mpi 8 2
  for n in $(some 9 17); do turn $mpi check "$mpi, $n processes, MPI_THREAD_FUNNELED" results $mpi $n 1; done
  for n in $(some 4 '1 2'); do turn $mpi check "$mpi, $n processes, two transports, waited for in any order" two_transports $mpi $n; done
  for n in $(some 3 '1 2 5'); do turn $mpi check "$mpi, $n processes, requests of ours and of MPI together" mixed $mpi $n 3; done
  turn $mpi check "$mpi, 3 processes, the same at MPI_THREAD_SERIALIZED" mixed $mpi 3 2
  turn $mpi check "$mpi, 2 processes, the same at MPI_THREAD_SINGLE" mixed $mpi 2 0
  turn $mpi check "$mpi, the same with a worker on a core of its own" bound $mpi
  check "$mpi, bench_nbc alone" alone $mpi
  impls=mpi,mpi-async,ours-mpi,ours-threads
  [ $mpi = openmpi ] && impls=mpi,ours-mpi,ours-threads && check "openmpi has no asynchronous thread" no_async_thread
  turn $mpi check "$mpi, bench_nbc side by side" side_by_side $mpi $impls
  turn $mpi check "$mpi, tuned" tunes $mpi
done
finish
