#!/bin/sh
# tools/nic_figures.c: the figures have the shapes that the constants of the machine give them, and are the
# same in every run; what cannot be drawn is refused with its name.
. tests/test.sh
figures() { "$B/nic_figures" --output "$T/page.html" --csv "$T/csv" "$@"; }
at() { awk -F, -v f="$1" -v s="$2" -v x="$3" '$1 == f && $2 == s && $3 == x { print $4; n++ } END { exit n != 1 }' "$T/csv"; }
holds() { awk "BEGIN { exit !($1) }"; }

requests_have_the_steps_of_the_nic() {
  figures requests --sizes 12 --requests 300 >"$T/requests" || return 1
  ack() { at requests_time Put-WaitAck "$1"; }
  send() { at requests_time Put-WaitSend "$1"; }
  holds "$(ack 9) > $(ack 8) + 0.05" && holds "$(ack 1) == $(ack 8)" && holds "$(ack 409) > $(ack 408) + 0.3" &&
    holds "$(send 64) < 0.5 * $(ack 64)" && holds "$(send 65) > 0.99 * $(ack 65)" && holds "$(ack 65) < 1.02 * $(ack 64)" &&
    holds "$(at requests_time Put-NoWait 64) < $(send 64)" && holds "$(at requests_time Get-WaitReply 8) > $(ack 8)" &&
    holds "$(at requests_rate Put-NoWait 4194304) > 11.0 && $(at requests_rate Put-NoWait 4194304) <= 12.5 * 64 / 72"
}
modes_count_what_one_another_allow() {
  figures modes --sizes 12 --time-us 500 >"$T/modes" || return 1
  for bytes in 1 64 408 512 1024; do
    holds "$(at modes_time ack $bytes) >= $(at modes_time reply $bytes)" && holds "$(at modes_time reply $bytes) > $(at modes_time match $bytes)" &&
      holds "$(at modes_time fast $bytes) <= 1.01 * $(at modes_time match $bytes)" && holds "$(at modes_time match $bytes) < 0.5 * $(at modes_time ct $bytes)" || return 1
  done
}
# As many processes as flood from a node, so many times is its limit looser.
limits_of_nodes_are_limits_of_processes_moved() {
  figures limits --flooders 4 --rounds 50 >"$T/limits" || return 1
  limit() { at limits "limit per $1" "$2"; }
  for k in 1 2 4 8; do
    holds "($(limit process $k) - $(limit node $((4 * k)))) ^ 2 < (0.02 * $(limit node $((4 * k)))) ^ 2" || return 1
  done
  holds "$(limit node 1) < 0.95 * $(at limits 'no limit' 1)" && holds "$(limit node 1) > $(at limits 'nobody floods' 1)" &&
    holds "$(limit node 256) == $(at limits 'no limit' 256)"
}
faults_cost_what_sending_again_costs() {
  figures faults --requests 400 >"$T/faults" || return 1
  rate() { at faults_rate "sent again after $1 us" 0.1; }
  holds "$(rate 10) > $(rate 100)" && holds "$(rate 100) > $(rate 1000)" && holds "$(rate 1000) > $(rate 10000)" &&
    holds "$(at faults_outage 'sent again after 1000 us' 1000) > 1" && ! at faults_outage 'sent again after 10 us' 1000
}
every_run_is_the_same() {
  figures --sizes 11 --requests 100 >"$T/first" && cp "$T/csv" "$T/csv1" && cp "$T/page.html" "$T/page1" && figures --sizes 11 --requests 100 >"$T/second" &&
    cmp "$T/first" "$T/second" && cmp "$T/csv" "$T/csv1" && cmp "$T/page.html" "$T/page1" && test "$(grep -c 'font-weight=.bold' "$T/page.html")" = 7
}
levels_and_machines_are_chosen() {
  printf 'node_count 2\nlink_bytes_per_s 1e9\n' >"$T/slow"
  figures requests --sizes 12 --platform "$T/slow" --level packet >"$T/slow.out" && holds "$(at requests_rate Put-NoWait 4194304) < 1.0" &&
    holds "$(at requests_rate Put-NoWait 4194304) > 0.8" && figures modes --sizes 2 --level loggp >"$T/loggp.out"
}
# make run-study without HPL: a dedicated core hides what nothing hides otherwise, and costs what the model says.
study_stands_beside_the_model() {
  NODES=4 CORES=8 COLL=bcast MAX_US=1000 HPL=no sh tools/run_study.sh >"$T/study" 2>&1 || { cat "$T/study"; return 1; }
  awk '/^overhead of bcast/ { getline; if ($3 > 0.95 && $4 > 0.9 && $5 < 0.2) right++ }
    /^computation during bcast/ { getline; if ($3 == "1.00" && $5 > 1.12 && $5 < 1.17 && $6 == "1.143") right++ } END { exit right != 2 }' "$T/study" &&
    grep -q '<td style="background:#b7e1cd">' "$B/study/index.html" && test -s "$B/study/bench_4.html" &&
    ! NODES=5 HPL=yes COLL=bcast sh tools/run_study.sh >"$T/study" 2>&1 && grep -q 'run_study.sh: NODES: 5 is no square' "$T/study"
}
# Without the source of hpcc, or a command that its HPL needs, the study says so itself; it asks for the command first.
hpcc_is_missed() {
  ! NODES=4 COLL=bcast MAX_US=500 HPCC=$T/nowhere sh tools/run_study.sh >"$T/study" 2>&1 && grep -q "^run_study.sh: HPL failed: run_guests.sh: $T/nowhere: not the source of hpcc" "$T/study"
  code=$?; cat "$T/study"; return $code
}
study_says_what_hpl_needs() {
  [ ! -x /usr/bin/time ] || hpcc_is_missed || return 1
  mkdir -p "$T/path" && for c in find mkdir head sh; do ln -sf "$(command -v $c)" "$T/path/"; done && printf '#!/bin/sh\n' >"$T/path/mpicc.mpich" && chmod +x "$T/path/mpicc.mpich" || return 1
  ! PATH=$T/path sh tools/run_guests.sh hpcc >"$T/study" 2>&1 && grep -q '^run_guests.sh: .*Debian: time' "$T/study"
}
refuses() {
  for bad in nothing '--level slow' '--sizes 1' '--requests x' '--platform /nowhere' '--csv' '--csv /nowhere/x' '--pairs 17' '--what 1'; do
    # shellcheck disable=SC2086 # words
    figures $bad >"$T/out" 2>"$T/error" && { echo "took $bad"; return 1; }
    grep -q '^nic_figures: ' "$T/error" || return 1
  done
  figures --help | grep -q -- --flooders
}
check requests_have_the_steps_of_the_nic requests_have_the_steps_of_the_nic
check modes_count_what_one_another_allow modes_count_what_one_another_allow
check limits_of_nodes_are_limits_of_processes_moved limits_of_nodes_are_limits_of_processes_moved
check faults_cost_what_sending_again_costs faults_cost_what_sending_again_costs
check every_run_is_the_same every_run_is_the_same
check levels_and_machines_are_chosen levels_and_machines_are_chosen
check study_stands_beside_the_model study_stands_beside_the_model
check study_says_what_hpl_needs study_says_what_hpl_needs
check refuses refuses
finish
