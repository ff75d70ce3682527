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
if [ -e /sys/class/net ]; then
  check lists_this_machine 0 'counters' out list
  check json_of_this_machine 0 ']}$' out list --json --all
else
  skipped=$((skipped + 1)); echo "skipped lists_this_machine: no /sys/class/net"
fi
"$B/nicstat" list >/dev/full 2>/dev/null && bad full_disk_is_noticed || ok full_disk_is_noticed
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
