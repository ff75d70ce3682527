#!/bin/sh
# A trace takes the time on the simulated machine that its program takes there; what is wrong with a trace is told with
# file and line, whatever bytes it is made of.
. tests/test.sh
R=$B/pm_replay sample=tests/guest_mpi/replay.ti app=$B/tests/guest_mpi/replay_app
replay() { timeout 300 "$R" "$@" >"$T/out" 2>"$T/err"; }
time_of() { sed -n 's/^pm_[a-z]*: .* \([0-9.]*\) us simulated.*/\1/p' "$@"; }
status_is() { # STATUS COMMAND...
  status_wanted=$1 && shift
  "$@"
  test $? = "$status_wanted" || { cat "$T/out" "$T/err"; return 1; }
}
as_its_program() { # OPTIONS...: to the nanosecond
  timeout 300 "$B/pm_run" -n 4 "$@" "$app" 2>"$T/program" && replay "$@" --ti $sample && cat "$T/program" "$T/out" &&
    test "$(time_of "$T/program")" = "$(time_of "$T/out")" && test -n "$(time_of "$T/out")"
}
over_threads() { # lists, graphs and communicators, with workers and without: the same line for each number
  awk 'BEGIN { for (r = 0; r < 24; r++) for (i = 0; i < 4; i++) { print r, "compute", 1e4 * (1 + (r * 7 + i) % 5); print r, "isend", (r + 1 + i) % 24, i, 10 ^ (2 + i % 4);
    print r, "recv", (r + 23 - i) % 24, i, 10 ^ (2 + i % 4); print r, "waitall 1"; print r, "bcast", 8 * 2 ^ i; print r, "barrier" } }' >"$T/over.ti"
  for r in 0 1 2 3 4 5 6 7 8 9 10 11; do # two halves, the second one backwards
    { printf 'nbc-calls 1\nrank %d of 12\n' $r && { test $r -lt 6 && echo comm 1 0-5 || echo comm 1 11 10 9 8 7 6; } &&
      printf 'x 20\nc %d00\ncoll allreduce 3 8 0 1 0 -\nc %d0\nw 0\ncoll alltoall 9 1 0 1 - -\ncoll bcast 900 8 2 0 - -\ne\nend\n' $r $((11 - r)); } >"$T/over.$r.calls"
  done
  replay --ti --goal-out "$T/over.goal" "$T/over.ti" || return 1
  for trace in "--ti $T/over.ti" "--per-node 2 --ti $T/over.ti" "--progress timer --ti $T/over.ti" "--progress dedicated --ti $T/over.ti" "--goal $T/over.goal" "$(echo "$T"/over.*.calls)"; do
    one=
    for n in 1 2 3 30; do
      # shellcheck disable=SC2086 # words
      replay --level loggp --threads $n $trace || { cat "$T/err"; return 1; }
      one=${one:-$(cat "$T/out")}
      test "$(cat "$T/out")" = "$one" || { echo "$trace, $n threads: $(cat "$T/out"), one: $one"; return 1; }
    done
    echo "$one"
  done
  status_is 2 replay --threads 2 --ti "$T/over.ti" && grep -- '--threads: only with --level loggp' "$T/err"
}
# The order of a list is kept by edges, so messages that were started together may leave in another order.
goal_takes_the_same_time() {
  replay --ti --goal-out "$T/goal" $sample && replay --ti $sample && one=$(time_of "$T/out") && replay --goal "$T/goal" && cat "$T/out" &&
    echo "$one $(time_of "$T/out")" | awk '{ exit !($1 > 0 && $2 > 0.98 * $1 && $2 < 1.02 * $1) }'
}
# A tag of one communicator is none of another one; members may have different numbers for it.
goal_keeps_communicators_apart() {
  printf 'nbc-calls 1\nrank 0 of 3\ncomm 1 0 2\ncomm 2 0-1\nis 0 1 1000000 5 0\nc 3000000\ns 1 8 5 2\nw 0\ncoll bcast 8 8 0 2 - -\ncoll bcast 8 8 0 1 - -\ncoll barrier 0 1 0 0 - -\nend\n' >"$T/c.0.calls"
  printf 'nbc-calls 1\nrank 1 of 3\ncomm 1 0-1\nr 0 8 5 1\nc 5000000\nr 0 1000000 5 0\ncoll bcast 8 8 0 1 - -\ncoll barrier 0 1 0 0 - -\nend\n' >"$T/c.1.calls"
  printf 'nbc-calls 1\nrank 2 of 3\ncomm 1 0 2\ncoll bcast 8 8 0 1 - -\ncoll barrier 0 1 0 0 - -\nend\n' >"$T/c.2.calls"
  replay "$T"/c.[012].calls && one=$(cat "$T/out") && replay --goal-out "$T/goal" "$T"/c.[012].calls && test ! -s "$T/err" && replay --goal "$T/goal" && echo "$one" && cat "$T/out" && cat "$T/err" && test "$(echo "$one" | cut -d, -f3)" = "$(cut -d, -f3 "$T/out")" &&
    echo "$(echo "$one" | time_of) $(time_of "$T/out")" | awk '{ exit !($1 > 8000 && $2 > 0.99 * $1 && $2 < 1.01 * $1) }' || return 1
  sed 's/^r 0 8 5/r 0 8 */' "$T/c.1.calls" >"$T/any" && mv "$T/any" "$T/c.1.calls" && replay --goal-out "$T/goal" "$T"/c.[012].calls && grep '^pm_replay: 1 receives take any tag: in GOAL' "$T/err"
}
goal_has_comments() { # and blanks where LogGOPSim takes them or their lack
  printf 'num_ranks 2\nrank 0 {\na: send 50000b to 1 tag 3\nb: calc 20000\nb requires a\nc: send 7b to 1\nc requires b\n}\nrank 1 {\na: recv 50000b from 0 tag 3\nb: recv 7b from 0\n}\n' >"$T/plain.goal"
  printf '/* a schedule\n by hand */\nnum_ranks 2 // two\n\nrank 0{ /* { */\na:send 50000 b to 1 /* tag 4 */ tag 3\nb :calc 20000 // calc\nb requires a\n/**/ c: send 7b to 1\nc requires b\n// }\n}\nrank 1 {\na: recv 50000b from 0 tag 3\n/* a: calc 5\n} */ b : recv 7 b from 0\n}\n' >"$T/free.goal"
  replay --goal "$T/plain.goal" && plain=$(cat "$T/out") && replay --goal "$T/free.goal" && echo "$plain" && cat "$T/out" && test "$plain" = "$(cat "$T/out")" && time_of "$T/out" | awk '{ exit !($1 > 20 && $1 < 40) }' &&
    printf 'num_ranks 1\n/* rank 0 {\n}\n' >"$T/open.goal" && status_is 2 replay --goal "$T/open.goal" && grep 'rank 0 is missing' "$T/err"
}
goal_requires() { # two computations after each other, one beside; a message after the start of another
  cat >"$T/small.goal" <<'G'
num_ranks 2
rank 0 {
a: calc 1000
b: calc 2000 cpu 1
c: send 8b to 1 tag 5
c requires a
c requires b
}
rank 1 {
r: recv 8b from -1 tag 4294967295 cpu 0 nic 0
d: calc 500
d requires r
e: calc 100
e irequires r
}
G
  replay --goal "$T/small.goal" && cat "$T/out" && time_of "$T/out" | awk '{ exit !($1 > 4.5 && $1 < 7) }'
}
calls_with_loops() { # 3 * 1000 rounds of a message there and back, as a loop and written out
  for r in 0 1; do
    { printf 'nbc-calls 1\nrank %d of 2\ncomm 1 1 0\nx 3\nx 1000\nc 10\n' $r
      test $r = 0 && printf 'is 2 0 100 7 1\nr * 100 * 1\nw 2\n' || printf 'ir 0 1 100 7 1\nw 0\nss 1 100 8 1\n'
      printf 'e\ncoll allreduce 3 8 0 1 0 -\nw 0\ne\nend\n'; } >"$T/$r.calls"
    awk '$1 == "x" { depth++; n[depth] = $2; next } $1 == "e" { for (i = 0; i < n[depth]; i++) text[depth - 1] = text[depth - 1] text[depth]; text[depth--] = ""; next }
      { text[depth + 0] = text[depth + 0] $0 "\n" } END { printf "%s", text[0] }' "$T/$r.calls" >"$T/$r.long"
  done
  replay "$T/0.calls" "$T/1.calls" && cat "$T/out" && one=$(cat "$T/out") && grep '2 ranks, .* 90[0-9][0-9] messages' "$T/out" && replay "$T/1.long" "$T/0.long" && test "$one" = "$(cat "$T/out")"
}
many_ranks() {
  awk 'BEGIN { for (r = 0; r < 4096; r++) { print r, "compute 1e6"; print r, "isend", (r + 1) % 4096, 1, 100000; print r, "recv", (r + 4095) % 4096, 1, 100000; print r, "waitall 1"; print r, "bcast 8" } }' >"$T/many.ti" &&
    replay --ti "$T/many.ti" && grep '4096 ranks' "$T/out" && time_of "$T/out" | awk '{ exit !($1 > 1000 && $1 < 1200) }' && replay --ti --flops 2e9 --compute 3 "$T/many.ti" && time_of "$T/out" | awk '{ exit !($1 > 1500 && $1 < 1700) }'
}
places_count() { # ranks of one node talk through memory
  printf '0 send 1 0 1000000\n1 recv 0 0 1000000\n' >"$T/two.ti" && printf '3\n3\n' >"$T/same" && printf '0\n4 # far\n' >"$T/other" && replay --map "$T/same" --ti "$T/two.ti" && same=$(time_of "$T/out") &&
    replay --map "$T/other" --ti "$T/two.ti" && echo "$same $(time_of "$T/out")" && echo "$same $(time_of "$T/out")" | awk '{ exit !($1 > 0 && $2 > 0 && $1 != $2) }' || return 1
  echo 'node_count 5' >"$T/five" && printf '0\n5\n' >"$T/bad" && status_is 2 replay --map "$T/bad" --platform "$T/five" --ti "$T/two.ti" && grep 'bad: line 2: node: "5" is not a number of 0 ... 4$' "$T/err" &&
    printf '0\n\n99999999\n' >"$T/bad" && status_is 2 replay --map "$T/bad" --ti "$T/two.ti" && grep 'bad: line 3: node: "99999999" is not a number of 0 ... 3999999$' "$T/err" || return 1
  for bad in '3' '3 4' 'x' '0\n1\n2' '0\n-1'; do
    printf '%b\n' "$bad" >"$T/bad" && status_is 2 replay --map "$T/bad" --ti "$T/two.ti" && grep "bad: \|node" "$T/err" || return 1
  done
}
progress_counts() { # a long message while its receiver computes: with a core of its own it goes on
  printf '0 isend 1 0 10000000\n0 compute 2e6\n0 waitall 1\n1 irecv 0 0 10000000\n1 compute 2e6\n1 waitall 1\n' >"$T/overlap.ti" && replay --ti "$T/overlap.ti" && calls=$(time_of "$T/out") && replay --progress dedicated --ti "$T/overlap.ti" &&
    echo "$calls $(time_of "$T/out")" && echo "$calls $(time_of "$T/out")" | awk '{ exit !($2 < $1 - 500) }'
}
deadlock_is_told() {
  printf '0 recv 1 0 10\n1 compute 5\n1 barrier\n' >"$T/dead.ti" && status_is 100 replay --ti "$T/dead.ti" && grep 'deadlock' "$T/err" && grep 'rank 0: .*dead.ti: line 1: receive of 10 bytes, peer 1, tag 0' "$T/err" && grep 'rank 1: .*dead.ti: line 3: barrier' "$T/err"
}
said() { # FORM TEXT WHAT [FILE]: status 2, and what is wrong with which line
  # shellcheck disable=SC2086 # no form, no word
  printf '%b' "$2" >"$T/wrong" && status_is 2 replay $1 "$T/wrong" && grep "^pm_replay: ${4:-.*wrong}.*$3" "$T/err" || { echo "$2: $3"; cat "$T/err"; return 1; }
}
wrong_traces_are_told() {
  said --ti '0 send 1 0 5\n' 'line 1: peer: "1" is not' && said --ti '' 'no ranks' && said --ti '0 jump\n' 'line 1: "jump"' && said --ti '0 compute\n' 'line 1: flops is missing' &&
    said --ti '0 send 0 0 99999999999999\n' 'line 1: size' && said --ti '# x\n\nno_such_file\n' 'No such file' '.*no_such_file' &&
    said --ti '0 isend 0 0 5 99\n' 'line 1: datatype: "99"' && said --ti '0 isend 0 0 5\n0 wait 0 0 1\n' 'line 2: wait: no message to rank 0 with tag 1 is under way' && said --ti '0 irecv 0 0 5\n1 compute 1\n0 wait 1 0 0\n' 'line 3: wait: no receive from rank 1 with tag 0' || return 1
  printf '0 irecv -555 -444 5\n1 send 0 7 5\n0 wait 1 0 7\n' >"$T/any.ti" && replay --ti "$T/any.ti" || return 1
  head='num_ranks 1\nrank 0 {\n'
  said --goal "ranks 3\n" 'line 1: "num_ranks"' && said --goal "$head" 'line 2: the file ends' && said --goal "${head}a: calc 5\nb requires a\n}\n" 'line 4: label "b"' && said --goal "${head}a: calc 5\na: calc 5\n}\n" 'stands twice' &&
    said --goal "${head}a: send 5 to 3\n}\n" 'line 3: peer' && said --goal "${head}a: recv 5q from 0\n}\n" 'line 3: "5q"' && said --goal "num_ranks 2\nrank 0 {\n}\n" 'rank 1 is missing' && said --goal "${head}a: calc 5 gpu 1\n}\n" '"gpu"' &&
    said --goal "${head}a: send 5b to 0 tag 3 tag 4\n}\n" 'line 3: tag stands twice' && said --goal "${head}a: calc 5 cpu 0 nic 0 cpu 0\n}\n" 'line 3: cpu stands twice' && said --goal "${head}a: calc 5\na requires a\n}\n" 'line 3: this operation waits for that of line 3' || return 1
  # z is behind the circle of b and c, and a before it
  said --goal "${head}a: calc 5\nb: calc 5\nc: calc 5\nz: calc 5\nb requires a\nb requires c\nc irequires b\nz requires c\n}\n" 'line [45]: this operation waits for that of line [54], which waits for it in turn' || return 1
  head='nbc-calls 1\nrank 0 of 1\n'
  said '' 'calls\n' 'not a trace of calls' && said '' "${head}" 'line 2: the file was cut' && said '' "${head}x 5\nend\n" 'a loop has no end' && said '' "${head}x 5\ne\nend\n" 'line 4: an empty loop' && said '' "${head}e\n" 'line 3: the end of no loop' &&
    said '' "${head}s 1 5 0 0\n" 'line 3: peer' && said '' "${head}r * 5 * 1\n" 'line 3: communicator' && said '' "${head}coll sing 1 1 0 0 - -\n" 'line 3: "sing"' && said '' "${head}end\nc 5\n" 'something behind' && said '' 'nbc-calls 1\nrank 0 of 2\n' 'line 2: 2 ranks, but 1 files' &&
    said '' "${head}c 5 6\n" 'line 3: "6" is too much' && said "--goal-out $T/out.goal" "${head}ir 0 0 1 1 0\nk 0\nend\n" 'line 4: GOAL has no cancelled'
}
simgrid_s_own_traces_are_read_as_it_does() { # sizes such as 1e5, of doubles behind "init 1"; reductions compute
  for r in 0 1; do
    printf '%d init 1\n%d bcast 1e4\n%d allreduce 100 2e6\n%d reduce 100 1e6 0 6\n%d scan 100 1e6\n%d reducescatter 50 50 3e6\n%d alltoall 30.7 30\n' $r $r $r $r $r $r $r
  done >"$T/short.ti" && printf '0 isend 1 0 1e5\n1 irecv 0 0 1e5\n0 wait 0 1 0\n1 wait 0 1 0\n' >>"$T/short.ti"
  for r in 0 1; do
    printf '%d init\n%d bcast 80000\n%d allreduce 100 0 0\n%d compute 2e6\n%d reduce 100 0 0 6\n%d compute 1e6\n%d scan 100 0 0\n%d compute 1e6\n%d reducescatter 50 50 0 0\n%d compute 3e6\n%d alltoall 240 240\n' $r $r $r $r $r $r $r $r $r $r $r
  done >"$T/long.ti" && printf '0 isend 1 0 800000\n1 irecv 0 0 800000\n0 wait 0 1 0\n1 wait 0 1 0\n' >>"$T/long.ti"
  replay --ti "$T/long.ti" && long=$(cat "$T/out") && replay --ti "$T/short.ti" && echo "$long" && cat "$T/out" && test "$long" = "$(cat "$T/out")" && time_of "$T/out" | awk '{ exit !($1 > 7000 && $1 < 7300) }'
}
slots_are_checked() { printf 'nbc-calls 1\nrank 0 of 1\nis 0 0 4 0 0\nis 0 0 4 0 0\nend\n' >"$T/wrong" && status_is 100 replay "$T/wrong" && grep 'line 4: request 0 is still in use' "$T/err"; }
# Bytes changed, lines lost, doubled and exchanged: a sentence or a run, never a crash.
any_bytes() {
  "$R" --ti --goal-out "$T/goal" $sample && head -c 3000 "$T/goal" >"$T/seed.goal" && head -30 $sample >"$T/seed.ti" && printf 'nbc-calls 1\nrank 0 of 1\nx 3\nir 0 * 100 * 0\nis 1 0 100 7 0\nw 0\nw 1\nir 2 0 1 1 0\nis 3 0 1 9 0\nk 2\nf 3\nw 2\nr 0 1 9 0\ne\ncoll alltoallv 0 1 0 0 - - 3 3\ncoll bcast 10 8 0 0 - -\nc 100\nend\n' >"$T/seed.calls"
  for form in ti goal calls; do
    option=--$form && test $form = calls && option=
    for i in $(seq 1 "${REPLAY_FUZZ:-$(some 50 120 | cut -d" " -f1)}"); do
      awk -v seed="${TEST_SEED:-1}$i" 'BEGIN { srand(seed); how = int(rand() * 4) } { line[NR] = $0 }
        END { k = 1 + int(rand() * NR); j = 1 + int(rand() * NR); p = 1 + int(rand() * length(line[k])); c = substr("0123456789 -*:{}bxe\t", 1 + int(rand() * 19), 1)
          if (how == 0) line[k] = substr(line[k], 1, p - 1) c substr(line[k], p + 1)
          if (how == 1) { t = line[k]; line[k] = line[j]; line[j] = t }
          for (i = 1; i <= NR; i++) { if (how == 2 && i == k) continue; print line[i]; if (how == 3 && i == k) print line[i] } }' "$T/seed.$form" >"$T/changed"
      timeout 60 "$R" --time-limit 100 $option "$T/changed" >"$T/out" 2>"$T/err"
      case $? in 0 | 100) ;; 2) grep -q '^pm_replay: ' "$T/err" || return 1 ;; *) cp "$T/changed" "$T/bad.$form" && echo "$form $i" && cat "$T/err" && return 1 ;; esac
    done
  done
}
# What the overlap preload writes of a real run; MPI_Waitany may end otherwise there, so not to the nanosecond.
traced() { # PROGRAM...: leaves the traces in $T/traces
  rm -rf "$T/traces" && mkdir "$T/traces" && NBC_TRACE=calls NBC_REPORT_DIR="$T/traces" timeout 300 mpiexec.mpich -n 4 -genv LD_PRELOAD "$(cd "$B" && pwd)/libnbc_overlap_mpich.so:$B/tests/mpi/patient.so" "$@" >"$T/real" 2>&1
}
real_runs_take_their_time() {
  for p in replay_app replay_calls; do
    traced "$B/tests/guest_mpi/$p" && cat "$T/real" && ! grep 'the trace of calls lacks' "$T/real" && timeout 300 "$B/pm_run" -n 4 "$B/tests/guest_mpi/$p" 2>"$T/program" && replay --compute 0 "$T"/traces/*.calls && cat "$T/program" "$T/out" &&
      echo "$(time_of "$T/program") $(time_of "$T/out")" | awk '{ exit !($1 > 0 && $2 > 0.99 * $1 && $2 < 1.01 * $1) }' || return 1
  done
  replay "$T"/traces/*.calls && echo "$(time_of "$T/program") $(time_of "$T/out")" | awk '{ exit !($2 > 1.01 * $1) }' # computation counts
}
loops_are_folded() { # 2,000 rounds of the same; what is computed is all there
  traced "$B/tests/guest_mpi/replay_app" 2000 && cat "$T/real" "$T"/traces/*.0.calls && grep -qx 'x 2000' "$T"/traces/*.0.calls && test "$(cat "$T"/traces/*.0.calls | wc -l)" -lt 100
}
unfolded() { # FILE: loops written out
  awk '$1 == "x" { n[++depth] = $2; text[depth] = ""; next } $1 == "e" { k = n[depth]; t = text[depth--]; while (k-- > 0) text[depth] = text[depth] t; next }
    { text[depth + 0] = text[depth + 0] $0 "\n" } END { printf "%s", text[0] }' "$1"
}
# Each request of a trace is started once and ended once, and as many messages are in it as the program counted.
requests_are_whole() { # MPI
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
  library=$(cd "$B" && pwd)/libnbc_overlap_mpich.so && test "$1" = mpich || library=$(cd "$B" && pwd)/libnbc_overlap_mpi.so
  for seed in $(some '1 2' '3 4 5 6 7 8'); do
    rm -rf "$T/traces" && mkdir "$T/traces" && NBC_TRACE=calls NBC_REPORT_DIR="$T/traces" timeout 300 "mpirun.$1" -n 3 env LD_PRELOAD="$library" "$B/tests/guest_mpi/replay_requests.$1" "$seed" >"$T/real" 2>&1 &&
      replay "$T"/traces/*.calls && replay --eager 0 --compute 0 "$T"/traces/*.calls && grep '3 ranks' "$T/out" || { cat "$T/real" "$T/err"; return 1; }
    for r in 0 1 2; do
      # a freed handle that a message to nobody shares is that message's as well
      unfolded "$T"/traces/*.$r.calls | awk -v r=$r -v most="$(sed -n "s/^rank $r: .* \\([0-9]*\\) freed/\\1/p" "$T/real")" '/^i?ss? / { sends++ } /^i?r / { receives++ } /^i/ { if (active[$2]) print "started twice: " $0; active[$2] = 1 }
        /^[wkf] / { if (!active[$2]) print "not started: " $0 } /^[wf] / { active[$2] = 0; freed += $1 == "f" }
        END { for (i in active) if (active[i]) print "not ended: " i; print "rank " r ": " sends + 0 " sends, " receives + 0 " receives, " (freed > most ? freed : most) " freed" }' >"$T/found" && grep "^rank $r" "$T/real" | diff - "$T/found" || return 1
    done
    ! grep 'the trace of calls lacks' "$T/real" || return 1
  done
}
waits_for_a_core_are_told() { # four processes on one core
  [ -r /proc/self/schedstat ] || return 0
  rm -rf "$T/traces" && mkdir "$T/traces" && NBC_TRACE=calls NBC_REPORT_DIR="$T/traces" timeout 300 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" mpiexec.mpich -bind-to none -n 4 -genv LD_PRELOAD "$(cd "$B" && pwd)/libnbc_overlap_mpich.so:$B/tests/mpi/patient.so" "$B/tests/guest_mpi/replay_app" 2000 >"$T/real" 2>&1 &&
    cat "$T/real" && replay "$T"/traces/*.calls && cat "$T/err" && grep 'of 4 processes waited for a core, rank [0-3] for [1-9][0-9]* % of its time' "$T/err" &&
    sed -i '/^core/d' "$T"/traces/*.calls && replay "$T"/traces/*.calls && ! grep 'a core' "$T/err"
}
lost_traces_are_told() { # a file that may not grow beyond a kilobyte: one process alone, whose MPI needs no files
  rm -rf "$T/traces" && mkdir "$T/traces" && (trap '' XFSZ && ulimit -f 1 && UCX_TLS=self,tcp NBC_TRACE=calls NBC_REPORT_DIR="$T/traces" LD_PRELOAD="$(cd "$B" && pwd)/libnbc_overlap_mpich.so" timeout 300 "$B/tests/guest_mpi/replay_calls" 2>&1) |
    grep 'no trace of calls: File too large' && ! ls "$T"/traces/*.calls
}
if [ -x "$app" ]; then
  for o in '' '--level loggp' '--level packet' '--progress dedicated' '--progress timer' '--per-node 2' '--eager 0'; do
    # shellcheck disable=SC2086 # options are words
    check "a trace takes the time of its program $o" as_its_program $o
  done
  if command -v mpiexec.mpich >/dev/null; then
    for t in real_runs_take_their_time loops_are_folded waits_for_a_core_are_told lost_traces_are_told; do check "$(echo $t | tr _ ' ')" $t; done
  else
    skip "traces of real runs" "no mpiexec.mpich (Debian: mpich)"
  fi
else
  skip "traces beside their program" "no MPICH (Debian: mpich libmpich-dev)"
fi
for m in mpich openmpi; do
  if [ -x "$B/tests/guest_mpi/replay_requests.$m" ] && command -v mpirun.$m >/dev/null; then check "requests that share a handle are whole in a trace of $m" requests_are_whole $m
  else skip "requests that share a handle, $m" "no mpirun.$m or mpicc.$m"; fi
done
what_is_meant_is_told() { # links without LogGP at that level, also where the option stands behind the trace
  printf 'node_count 64\nlink_bytes_per_s 1e9\n' >"$T/slow"
  replay --ti --platform "$T/slow" --level loggp tests/guest_mpi/replay.ti && grep '^pm_replay: --level loggp: .*loggp_' "$T/err" && replay --ti --platform "$T/slow" tests/guest_mpi/replay.ti && ! grep loggp "$T/err" &&
    replay --ti --platform "$T/slow" tests/guest_mpi/replay.ti --level loggp && grep '^pm_replay: --level loggp: .*loggp_' "$T/err"
}
version_and_limit() { # a limit may be less than a second
  "$R" --version | grep -x 'pm_replay of nbc_overlap [0-9]*\.[0-9]*\.[0-9]*' && ! "$R" --ti --time-limit 1e-6 tests/guest_mpi/replay.ti >"$T/out" 2>"$T/err" && grep 'time limit of 1e-06 s reached' "$T/err" && "$R" --ti --time-limit 0.5 tests/guest_mpi/replay.ti
}
for t in version_and_limit what_is_meant_is_told goal_takes_the_same_time goal_keeps_communicators_apart goal_has_comments goal_requires simgrid_s_own_traces_are_read_as_it_does calls_with_loops many_ranks places_count progress_counts over_threads deadlock_is_told wrong_traces_are_told slots_are_checked any_bytes; do
  check "$(echo $t | tr _ ' ')" $t
done
finish
