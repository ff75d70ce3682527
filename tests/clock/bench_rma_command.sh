#!/bin/sh
# The command bench_rma measures every routine on every MPI that is there and on OpenSHMEM; numbers are
# not judged here, only that each line is there and says why it stopped.
. tests/test.sh
. tests/mpi/turns.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 SHMEM_SYMMETRIC_SIZE=32M

fixed='quiet lock.free lock.taken barrier'
sized='put get put_nbi.full put_nbi.post put_nbi.quiet put_nbi.overlap get_nbi.full get_nbi.post get_nbi.quiet
  get_nbi.overlap put_nbi.full.round put_nbi.post.round put_nbi.quiet.round put_nbi.overlap.round get_nbi.full.round get_nbi.post.round
  get_nbi.quiet.round get_nbi.overlap.round bcast.barrier bcast.window bcast.barrier.start bcast.rounds bcast.acknowledged bcast.ours reduce.to.all collect'
# Of both; of OpenSHMEM alone; of MPI alone
more='p p.quiet g p.round g.round fetch_add compare_swap compare_swap.yes add lock.set lock.clear set and or xor fetch swap fetch_and fetch_or fetch_xor quiet.alone test lock.turns'
more_shmem='inc fetch_inc ctx.set ctx.inc ctx.add ctx.and ctx.or ctx.xor ctx.fetch ctx.fetch_inc ctx.fetch_add ctx.fetch_and
  ctx.fetch_or ctx.fetch_xor ctx.swap ctx.compare_swap fence.alone fence ctx.quiet ctx.fence wait_until ctx.create
  ctx.create.serialized ctx.create.private ctx.create.nostore ctx.destroy ctx.destroy.serialized ctx.destroy.private ctx.destroy.nostore
  ctx.compare_swap.yes lock.test.busy.turns lock.test.busy.round sync.all sync barrier.of.a.set sync.of.half barrier.of.half lock.test lock.test.busy lock.test.busy.all'
more_mpi='flush_local.alone win.sync lock.shared lock.all'
more_sized='put.round get.round iput.round iget.round iput iget put.ping-pong alltoall reduce.and reduce.or reduce.xor reduce.min reduce.max reduce.prod'
more_sized_shmem='ctx.put ctx.get ctx.put_nbi.full ctx.get_nbi.full malloc calloc align realloc free alltoalls
  collect,.any.lengths'
more_sized_mpi='rput,.wait rget,.wait win.allocate win.free alloc_mem free_mem'
# Lines of words of 4 and of 8 bytes, besides those of 8 above
narrow='set and or xor fetch swap add fetch_add fetch_and fetch_or fetch_xor' narrow_mpi='compare_swap compare_swap.yes'
narrow_shmem='inc fetch_inc ctx.set ctx.inc ctx.add ctx.and ctx.or ctx.xor ctx.fetch ctx.fetch_inc ctx.fetch_add ctx.fetch_and ctx.fetch_or ctx.fetch_xor ctx.swap'
measures() { # COMMAND...: sizes 1 and 4
  timeout -k 5 300 "$@" -s 4 -t 0.002 >"$T/out" || return 1
  case $* in
    *oshrun*) fixed_here="$fixed $more $more_shmem" sized_here="$sized $more_sized $more_sized_shmem" narrow_here="$narrow $narrow_shmem" ;;
    *) fixed_here="$fixed $more $more_mpi" sized_here="$sized $more_sized $more_sized_mpi" narrow_here="$narrow $narrow_mpi" ;;
  esac
  for r in $fixed_here; do grep -qE "^$r +[08] .* (sure|count|time|late) " "$T/out" || { echo "no line: $r"; return 1; }; done
  for r in $narrow_here; do grep -qE "^$r +4 .* (sure|count|time|late) " "$T/out" || { echo "no line: $r of 4 bytes"; return 1; }; done
  for r in $sized_here; do
    for bytes in 1 4; do
      grep -qE "^$r +$bytes .* (sure|count|time|late) " "$T/out" || { echo "no line: $r $bytes"; return 1; }
    done
  done
}
keeps_samples() { # COMMAND...: as many as the line says, of every routine, as fit_model reads them
  measures "$@" --raw "$T/raw" || return 1
  for r in put get 'get_nbi overlap' 'bcast acknowledged' 'bcast ours'; do
    said=$(awk -v r="$r" 'index($0, r "  ") == 1 && substr($0, length(r) + 1) ~ /^ +4 / { n = split($0, f, " "); print f[split(r, x, " ") + 4] }' "$T/out")
    kept=$(awk -v r="$r" '$1 == 4 { sub(/^[^ ]+ [^ ]+ /, ""); n += $0 == r } END { print n + 0 }' "$T/raw")
    [ "$said" = "$kept" ] || { echo "$r: $said samples, $kept kept"; return 1; }
  done
  ! grep -vE '^# |^[0-9]+ -?[0-9.]+e[-+][0-9]+ [a-z]' "$T/raw"
}
draws() { # COMMAND...: both figures, every element and size, on a page without scripts
  timeout -k 5 300 "$@" -s 16 -t 0.002 --figure "$T/figure.html" >"$T/out" || return 1
  for r in full post quiet overlap; do
    for bytes in 1 4 16; do
      test "$(grep -cE "^$r +$bytes( +(-|-?[0-9.]+)){3}\$" "$T/out" "$T/figure.html" | cut -d: -f2 | tr '\n' ' ')" = '1 1 ' || return 1
    done
  done
  grep -q '</html>' "$T/figure.html" && ! grep -Eq '<script|src=|nan|inf' "$T/figure.html"
}
cures_itself() { # COMMAND...: no flag is set; if a line says that it was needed, it was
  measures "$@" || return 1
  cure=$(sed -n 's/^# .*crashes by itself.* set for this run //p' "$T/out")
  case $cure in
    '') ! grep -q '^# .*crashes' "$T/out" ;;
    OMPI_MCA_*=*) ! timeout -k 5 60 "${1}" -n 2 --oversubscribe "$program" --probe >/dev/null 2>&1 &&
        env "$cure" timeout -k 5 60 "${1}" -n 2 --oversubscribe "$program" --probe >/dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}
heeds_the_user() { # COMMAND...: what the user has set is not tried
  OMPI_MCA_btl_vader_single_copy_mechanism=none measures "$@" && ! grep -q '^# this' "$T/out"
}
refuses() { ! timeout -k 5 300 "$@" >"$T/out" 2>&1 && grep -q -- "-s: must be a whole number from 1 to" "$T/out"; }
explains() { # COMMAND OPTION...: its --help has a line for each
  timeout -k 5 60 "$1" --help >"$T/out" && shift || return 1
  for option in "$@"; do grep -q -- "^  $option  *[a-zA-Z]" "$T/out" || { echo "no line of $option" && return 1; }; done
}
# Three runs of 5 samples each, whose medians are 1, 2 and 3 us: mean 2, standard deviation 1, t = 4.303
merges() {
  for run in 1 2 3; do
    for i in 1 2 3 4 5; do echo "8 $run.00$((i - 1))e-6 put_nbi full"; done >"$T/run$run"
    echo "16 5e-6 get" >>"$T/run$run"
  done
  "$1" --merge "$T/run1" "$T/run2" "$T/run3" >"$T/out" && cat "$T/out" &&
    grep -Eq '^put_nbi full +8 +2\.002 +2\.484 +3 +15 +1\.000 +0\.001' "$T/out" &&
    grep -Eq '^get +16 +5\.000 +0\.000 +3 +3 ' "$T/out" &&
    "$1" --merge "$T/run2" >"$T/out" && grep -q 'one run: says nothing of others' "$T/out" || return 1
  echo "8 x put" >"$T/bad"
  ! "$1" --merge "$T/run1" "$T/bad" >"$T/out" 2>&1 && grep -q "bad:1: not" "$T/out" &&
    ! "$1" --merge "$T/none" >"$T/out" 2>&1 && grep -q "none: No such file" "$T/out" &&
    ! "$1" --merge /dev/null >"$T/out" 2>&1 && grep -q "no samples" "$T/out"
}
# A page with six charts; a lock's line goes through the runs with 2, 4 and 8 ranks
pictures() {
  for ranks in 2 4 8; do
    { echo "# ranks $ranks"; echo "0 ${ranks}e-6 lock taken"; echo "8 1e-6 put"; echo "64 2e-6 put"; } >"$T/ranks$ranks"
  done
  "$1" --pictures "$T/page.html" "$T/ranks2" "$T/ranks4" "$T/ranks8" &&
    test "$(grep -c '<circle' "$T/page.html")" = 5 && test "$(grep -c '<polyline' "$T/page.html")" = 2 &&
    grep -q '9: locks' "$T/page.html" && grep -q '</html>' "$T/page.html" && ! grep -Eq '<script|src=|nan|inf' "$T/page.html" &&
    "$1" --merge "$T/ranks2" "$T/ranks4" | grep -Eq '^lock taken .* 4 one run'
}
# shellcheck disable=SC2086 # words
patient=$(cd "$B" && pwd)/tests/mpi/patient.so # ranks sleep where they would spin
for mpi in openmpi mpich; do
  program=$B/bench_rma_mpi start="mpirun.openmpi -x LD_PRELOAD=$patient"
  [ $mpi = openmpi ] || program=$B/bench_rma_mpich start="mpirun.mpich -genv LD_PRELOAD $patient"
  if ! command -v mpirun.$mpi >/dev/null || [ ! -x "$program" ]; then
    skip "one-sided operations, $mpi" "no mpirun.$mpi or mpicc.$mpi"
    continue
  fi
  check "$mpi, no flags" cures_itself $start -n 2 "$program"
  [ $mpi = mpich ] || check "$mpi, a setting of the user's" heeds_the_user $start -n 2 "$program"
  turn $mpi check "$mpi, two processes, samples kept" keeps_samples $start -n 2 "$program"
  check "$mpi, several runs together" merges "$program"
  check "$mpi, pictures of several runs" pictures "$program"
  [ -z "$TEST_MORE" ] || check "$mpi, three processes" measures $start -n 3 "$program"
  turn $mpi check "$mpi, clock around every call" measures $start -n 2 "$program" -m each
  turn $mpi check "$mpi, three ways to time" draws $start -n 2 "$program"
  check "$mpi, help explains its options" explains "$program" -s -t -l -m -r --raw --figure --merge --pictures
  xfer_table=$(echo "$program" | sed 's/bench_rma/xfer_table/')
  [ ! -x "$xfer_table" ] || check "$mpi, help of xfer_table explains its options" explains "$xfer_table" --seconds --other --tail --hosts --merge
  check "$mpi, bad arguments" refuses $start -n 1 "$program" -s 0
  check "$mpi, a size that overflows" refuses $start -n 1 "$program" -s 99999999999999999999
done
if ! command -v oshrun >/dev/null || [ ! -x "$B/bench_rma_shmem" ]; then
  skip "one-sided operations, OpenSHMEM" "no oshrun or oshcc (Debian: openmpi-bin, libopenmpi-dev)"
elif ! timeout -k 5 300 oshrun -x LD_PRELOAD="$patient" -n 1 "$B/bench_rma_shmem" -s 1 -t 0.001 >/dev/null 2>&1; then
  skip "one-sided operations, OpenSHMEM" "Open MPI's OpenSHMEM does not start on this machine"
else
  program=$B/bench_rma_shmem
  check "OpenSHMEM, no flags" cures_itself oshrun -x LD_PRELOAD="$patient" -n 2 "$program"
  for n in $(some '' '2 4'); do check "OpenSHMEM, $n elements" measures oshrun -x LD_PRELOAD="$patient" -n $n "$B/bench_rma_shmem"; done
fi
finish
