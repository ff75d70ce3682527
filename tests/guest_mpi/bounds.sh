#!/bin/sh
# Do bounds hold? Random programs of large messages that compute while these move (bounds.c), with minima above 0.
# Under pm_run, on drawn machines, every row of the reports is held against the exact overlap that the wire saw. With
# FUZZ_SECONDS (make fuzz-bounds) for so long, and in turn on each MPI that is here under the overlap preload, with a
# table measured before (and taken as it is when the machine was busy): there data moves inside of calls only, and no minimum may be above the time in which one side
# computed while the other was in a call. A seed that looks false is run again: a process may have waited for its core
# just before a call; false three times is false. TEST_SEED=N: the first seed.
. tests/test.sh
app=$B/tests/guest_mpi/bounds
if [ ! -x "$app" ]; then
  skip "bounds of random programs" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
if ! command -v jq >/dev/null; then
  skip "bounds of random programs" "no jq (Debian: jq)"
  finish
fi
seed=${TEST_SEED:-$(date +%s)} first=$seed
echo "TEST_SEED=$seed"
: >"$T/counts"
nth() { n=$1 && shift && n=$((n % $#)) && shift "$n" && echo "$1"; } # of the words
machine() { # SEED
  # shellcheck disable=SC2046 # words
  echo $((2 + $1 % 3)) --per-node $(nth $(($1 / 3)) 1 1 2 4) --level $(nth $(($1 / 5)) flow flow loggp packet) \
    --progress $(nth $(($1 / 7)) calls calls dedicated timer) --eager $(nth $(($1 / 11)) 4096 4096 0 65536) \
    --jitter $(nth $(($1 / 13)) 0 1000 300,20000) --seed "$1"
}
# Rows whose transfers all have stamps: how many, with a minimum above 0; those that are false are shown.
# shellcheck disable=SC2016 # jq's
rows='[.cells[] | select(.count > 0 and .exact_count == .count)] as $all
  | [.cells[] | select((.exact_count // 0) > .count)] as $strange
  | [$all[] | select(.min_overlap_ns > .exact_overlap_hi_ns + 2 * .count
      or .exact_overlap_lo_ns > .max_overlap_ns + ([0, .exact_xfer_ns - .xfer_ns] | max) + 2 * .count)] as $false
  | "\($all | length) \([$all[] | select(.min_overlap_ns > 0)] | length) \($false + $strange)"'
simulated() { # SEED
  echo "pm_run -n $(machine "$1") $app $1 6"
  # shellcheck disable=SC2046 # words
  timeout 300 "$B/pm_run" -n $(machine "$1") --report "$T/report" "$app" "$1" 6 >/dev/null 2>"$T/err" || { cat "$T/err"; return 1; }
  jq -r "$rows" "$T"/report/*.json >"$T/rows"
  rm -rf "$T/report"
  cat "$T/rows" >>"$T/counts"
  ! grep -v ' \[\]$' "$T/rows"
}
# so_many WHAT: the tests were about something
so_many() { awk '{ rows += $1; least += $2 } END { print rows, "rows,", least, "with a minimum"; exit !(rows > 20 && least > 5) }' "$T/counts"; }

table() { # MPI
  case $1 in openmpi) command=xfer_table_mpi ;; *) command=xfer_table_mpich ;; esac
  timeout 300 "mpirun.$1" -n 2 "$B/$command" "$T/$1.table" >"$T/err" 2>&1 && { ! grep '^# disturbed' "$T/$1.table" || sed -i '/^# disturbed/d' "$T/$1.table"; }
}
# false_minima MPI SEED: how many minima are above 0, then those that look false
false_minima() {
  rm -rf "$T/report" && mkdir "$T/report"
  case $1 in
    openmpi) set -- "$@" mpirun.openmpi -n 2 -x LD_PRELOAD="$B/libnbc_overlap_mpi.so" -x NBC_TABLE="$T/$1.table" -x NBC_REPORT_DIR="$T/report" ;;
    *) set -- "$@" mpirun.mpich -n 2 -genv LD_PRELOAD "$B/libnbc_overlap_mpich.so" -genv NBC_TABLE "$T/$1.table" -genv NBC_REPORT_DIR "$T/report" ;;
  esac
  program=$app.$1 drawn=$2 && shift 2
  timeout 300 "$@" "$program" "$drawn" 30 >"$T/most" 2>"$T/err" || { cat "$T/err"; return 1; }
  for rank in 0 1; do
    "$B/overlap_report" --no-html --csv "$T/report/csv" "$T"/report/nbc_overlap.*.$rank.json >/dev/null 2>"$T/err" || return 1
    awk -F '[ ,]' -v rank=$rank 'FILENAME ~ /most$/ { if ($2 == rank) most[$1 $3] = $4; next }
      { gsub(/"/, "", $1) } ($1 $2) in most && $(NF - 6) > 0 { n++; if ($(NF - 6) > most[$1 $2] + 5000) print "rank", rank, $0, "at most", most[$1 $2] }
      END { print "minima", n + 0 }' "$T/most" "$T/report/csv/transfers.csv"
  done
}
real() { # MPI SEED
  for try in 1 2 3; do
    false_minima "$1" "$2" >"$T/said" || { cat "$T/said"; return 1; }
    sed -n "s/^minima/$1/p" "$T/said" >>"$T/minima"
    grep '^rank' "$T/said" || return 0
    echo "seed $2 looks false, try $try"
  done
  return 1
}
if [ -z "$FUZZ_SECONDS" ]; then
  while [ "$seed" -lt $((first + $(some 8 12 | cut -d" " -f1))) ]; do
    check "seed $seed, simulated" simulated "$seed"
    seed=$((seed + 1))
  done
  [ -n "$TEST_ONLY" ] || check "minima above 0 are common" so_many
  finish
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
case $B in /*) ;; *) B=$PWD/$B T=$PWD/$T app=$PWD/$app ;; esac
mpis=
for m in openmpi mpich; do
  [ -x "$app.$m" ] && table $m && mpis="$mpis $m"
done
: >"$T/minima"
end=$(($(date +%s) + FUZZ_SECONDS))
while [ "$(date +%s)" -lt "$end" ]; do
  check "seed $seed, simulated" simulated "$seed"
  for m in $mpis; do check "seed $seed, $m" real "$m" "$seed"; done
  seed=$((seed + 1))
done
check "minima above 0 are common" so_many
for m in openmpi mpich; do awk -v m=$m '$1 == m { n += $2 } END { print m, n + 0, "minima above 0" }' "$T/minima"; done
finish
