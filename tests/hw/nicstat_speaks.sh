#!/bin/sh
# nicstat as a user calls it: lists, watches, JSON that parses, wrong calls answered in one line.
B=${B:-build}
passed=0 failed=0 skipped=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
ok() { passed=$((passed + 1)); echo "ok      $1"; }
bad() { failed=$((failed + 1)); echo "FAILED  $1"; sed 's/^/  | /' "$dir/out" "$dir/err" 2>/dev/null; }
# check NAME STATUS PATTERN FILE ARGUMENTS...: exit status, and a pattern in out or err
check() {
  name=$1 status=$2 pattern=$3 file=$4
  shift 4
  timeout 20 "$B/nicstat" "$@" >"$dir/out" 2>"$dir/err" </dev/null
  [ $? -eq "$status" ] && grep -q -- "$pattern" "$dir/$file" && ok "$name" || bad "$name"
}
mkdir -p "$dir/sys/class/net/eth9/statistics"
echo 5 >"$dir/sys/class/net/eth9/statistics/rx_bytes"
check lists_a_recorded_tree 0 '^eth9' out --sysfs "$dir/sys"
check json_has_the_schema 0 '^{"schema":"nicstat/1"' out --json --sysfs "$dir/sys"
check watches 0 'nothing moved' out watch eth9 --sysfs "$dir/sys" --interval 0.01 --count 2
check watch_all 0 'net/rx_bytes *5 ' out watch eth9 --sysfs "$dir/sys" --interval 0.01 --count 1 --all
check watch_json 0 '"net/rx_bytes":{"unit":"bytes","value":5,' out watch eth9 --json --sysfs "$dir/sys" --interval 0.01 --count 1
check unknown_nic 1 'no such NIC' err list nope --sysfs "$dir/sys"
check unknown_nic_watched 2 'name a NIC' err watch nope --sysfs "$dir/sys"
check unknown_command 2 'unknown command' err dance
check unknown_option 2 'unknown option' err --dance
check bad_number 2 'out of range' err watch lo --interval nan
check missing_sysfs 1 'mount sysfs' err --sysfs "$dir/none"
check help 0 '^usage' out --help
check clock_of_the_kernel 0 '"kind":"system"' out clock realtime --json --count 2 --interval 0.01
check clock_as_a_table 0 'stamp +- ns' out clock realtime --count 1
check clock_without_name 2 'name a NIC' err clock
check clock_of_a_nic_without 1 'no PTP clock' err clock eth9 --sysfs "$dir/sys"
check registers_of_no_device 1 'no register list' err clock eth9 --registers --sysfs "$dir/sys"
check watch_registers_of_no_device 1 'no register list' err watch eth9 --registers --sysfs "$dir/sys"
check stamps_to_nowhere 1 'must be HOST:PORT' err stamps --connect 7000
check stamps_from_nowhere 1 'must be \[HOST:\]PORT' err stamps --listen 1.2.3.4:port
check stamps_too_short_for_udp 2 'from 24 to' err stamps --udp --size 8
check records 0 '^#nic-record 1' out --record - --sysfs "$dir/sys"
cp "$dir/out" "$dir/machine.txt"
check lists_a_recording 0 '^eth9' out --dump "$dir/machine.txt"
check watches_a_recording 0 'net/rx_bytes *5 ' out watch eth9 --dump "$dir/machine.txt" --all --count 1 --interval 0.01
check clock_not_recorded 1 'no clock readings' err clock eth9 --dump "$dir/machine.txt"
head -c 100 "$dir/machine.txt" >"$dir/cut.txt"
check cut_recording 1 'cut.txt:.*cut off' err --dump "$dir/cut.txt"
check record_nowhere 1 'No such file' err --record "$dir/none/machine.txt" --sysfs "$dir/sys"
check record_on_full_disk 1 'No space' err --record /dev/full --sysfs "$dir/sys"
# An emulated 82574 whose driver took the wrong crystal, one that stands still, one that someone sets.
readings() { # MULTIPLIER
  printf '#nic-record 1\n#nic-begin 1 1 0 0 0 1500 0 eth0 - e1000e\n#nic-clock 1 1000000000 0 0 0 64 1 /dev/ptp0\n'
  i=0
  while [ $i -lt 20 ]; do
    echo "#nic-reading $((i * 10000000)) $((1000000000 + i * 10000000 * $1 / 10)) $((i * 10000000 + 1000))"
    i=$((i + 1))
  done
  printf '#nic-end\n'
}
readings 10 >"$dir/good.txt"; readings 25 >"$dir/fast.txt"; readings 0 >"$dir/still.txt"
sed '/reading 150000000 /s/1150000000/1190000000/' "$dir/good.txt" >"$dir/set.txt"
check good_clock 0 '0.190 ' out clock eth0 --dump "$dir/good.txt"
check fast_clock 1 '2.5 times as fast' err clock eth0 --dump "$dir/fast.txt"
check still_clock 1 'stands still' err clock eth0 --dump "$dir/still.txt"
check set_clock 1 'stepped or steered' err clock eth0 --dump "$dir/set.txt"
if [ -e /sys/class/net/lo ] && grep -q 1 /sys/class/net/lo/carrier 2>/dev/null; then
  check stamps 0 'acknowledged' out stamps --count 2
  check stamps_json 0 '"sent_lo_ns":' out stamps --count 2 --json --size 3000
  check stamps_udp_json 0 '"lost":false.*"sent_lo_ns":.*"answered_lo_ns":' out stamps --count 2 --json --udp
  check stamps_of_nobody 1 'refused' err stamps --connect 127.0.0.1:1
  check stamps_of_a_nic_without_clock 1 'no PTP clock' err stamps --nic lo
else
  skipped=$((skipped + 5)); echo "skipped stamps: no loopback interface"
fi
if [ -e /sys/class/net ]; then
  check lists_this_machine 0 'counters' out list
  check json_of_this_machine 0 ']}$' out list --json --all
else
  skipped=$((skipped + 1)); echo "skipped lists_this_machine: no /sys/class/net"
fi
"$B/nicstat" list >/dev/full 2>/dev/null && bad full_disk_is_noticed || ok full_disk_is_noticed
# A listener serves on while 80 others hold connections and say nothing.
port=$((20000 + $$ % 10000))
"$B/nicstat" stamps --listen 127.0.0.1:$port 2>"$dir/listener" &
server=$!
until grep -q answering "$dir/listener" || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
bash -c 'for i in $(seq 80); do exec {fd}<>/dev/tcp/127.0.0.1/'$port' || exit 9; done
  exec timeout 20 "$0" stamps --connect 127.0.0.1:'$port' --count 3 --json' "$B/nicstat" >"$dir/out" 2>"$dir/err"
[ "$(grep -c '"lost":false' "$dir/out")" = 3 ] && ok listener_survives_idle_clients || bad listener_survives_idle_clients
kill $server && wait $server
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
