#!/bin/sh
# nicstat as a user calls it: lists, watches, JSON that parses, wrong calls answered in one line.
B=${B:-build}
passed=0 failed=0 skipped=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
is_left_out() { case $1 in *"${TEST_ONLY:-}"*) false ;; esac; } # as tests/test.sh does
ok() { is_left_out "$1" && return; passed=$((passed + 1)); echo "ok      $1"; }
bad() { is_left_out "$1" && return; failed=$((failed + 1)); echo "FAILED  $1"; sed 's/^/  | /' "$dir/out" "$dir/err" 2>/dev/null; }
# check NAME STATUS PATTERN FILE ARGUMENTS...: exit status, and a pattern in out or err
check() {
  is_left_out "$1" && return
  name=$1 status=$2 pattern=$3 file=$4
  shift 4
  timeout 60 "$B/nicstat" "$@" >"$dir/out" 2>"$dir/err" </dev/null
  [ $? -eq "$status" ] && grep -q -- "$pattern" "$dir/$file" && ok "$name" || bad "$name"
}
mkdir -p "$dir/sys/class/net/eth9/statistics"
echo 5 >"$dir/sys/class/net/eth9/statistics/rx_bytes"
check lists_a_recorded_tree 0 '^eth9' out --sysfs "$dir/sys"
check json_has_the_schema 0 '^{"schema":"nicstat/1"' out --json --sysfs "$dir/sys"
check watches 0 'nothing moved' out watch eth9 --sysfs "$dir/sys" --interval 0.01 --count 2
check watch_all 0 'net/rx_bytes *5 ' out watch eth9 --sysfs "$dir/sys" --interval 0.01 --count 1 --all
check watch_json 0 '"net/rx_bytes":{"unit":"bytes","value":5,' out watch eth9 --json --sysfs "$dir/sys" --interval 0.01 --count 1
check unknown_nic 2 'list: nope: no such NIC' err list nope --sysfs "$dir/sys"
check unknown_nic_watched 2 'watch: nope: no such NIC' err watch nope --sysfs "$dir/sys"
check unknown_nic_on_top 2 'top: nope: no such NIC' err top nope --sysfs "$dir/sys"
check unknown_clock 2 'clock: nope: no such NIC' err clock nope --sysfs "$dir/sys"
check no_nic_watched 2 'watch: name a NIC' err watch --sysfs "$dir/sys"
check nic_alone_is_listed 0 '^eth9' out eth9 --sysfs "$dir/sys"
check unknown_command 2 'dance: unknown command' err dance
check unknown_command_of_a_nic 2 'dance: unknown command' err dance eth9 --sysfs "$dir/sys"
check unknown_option 2 '--dance: unknown option' err --dance
check bad_number 2 "--interval: must be a number from 0.001 to 86400, not 'nan'$" err watch lo --interval nan
check missing_value 2 '--count: its value is missing' err watch lo --count
check missing_file 2 '--record: its value is missing' err --record
check option_of_others 2 '--csv: not of health, but of: watch$' err health --csv --sysfs "$dir/sys"
check option_of_others_before 2 '--csv: not of health, but of: watch$' err --csv --sysfs "$dir/sys" health
check option_of_other_modes 2 '--registers: not of --record' err --record - --registers --sysfs "$dir/sys"
check word_too_many 2 'eth9: --prometheus takes no other word' err --prometheus - eth9 --sysfs "$dir/sys"
check stamps_of_a_word 2 'stamps: eth9: a NIC is named by --nic' err stamps eth9 --sysfs "$dir/sys"
check version 0 'nbc_overlap [0-9]*\.[0-9]*\.[0-9]*$' out --version
mkdir -p "$dir/no_sys" "$dir/no_nics/class"
check no_sysfs 1 'neither class nor bus in it: mount sysfs' err --sysfs "$dir/no_sys"
check no_sysfs_to_serve 1 'mount sysfs' err --prometheus - --sysfs "$dir/no_sys"
check stamps_need_no_sysfs 0 'over loopback' out stamps --count 2 --sysfs "$dir/no_sys"
check no_nic 0 'no NIC found' out --sysfs "$dir/no_nics"
check health_without_a_nic 2 'health: no NIC found' err health --sysfs "$dir/no_nics"
check missing_sysfs 1 'mount sysfs' err --sysfs "$dir/none"
check help 0 '^usage' out --help
check help_of_a_command 0 '^usage' out top --help
check clock_of_the_kernel 0 '"kind":"system"' out clock realtime --json --count 2 --interval 0.01
check clock_as_a_table 0 'stamp +- ns' out clock realtime --count 1
check clock_without_name 2 'name a NIC' err clock
check clock_of_a_nic_without 1 'no PTP clock' err clock eth9 --sysfs "$dir/sys"
check registers_of_no_device 1 'no register list' err clock eth9 --registers --sysfs "$dir/sys"
check watch_registers_of_no_device 1 'no register list' err watch eth9 --registers --sysfs "$dir/sys"
check stamps_to_nowhere 2 'must be HOST:PORT' err stamps --connect 7000
check stamps_from_nowhere 2 'must be \[HOST:\]PORT' err stamps --listen 1.2.3.4:port
check stamps_from_no_port 2 'must be \[HOST:\]PORT' err stamps --listen 127.0.0.1:65537
check stamps_without_a_port 2 '^nicstat: 127.0.0.1: must be HOST:PORT, a number up to 65535$' err stamps --connect 127.0.0.1
check serves_no_port 2 'must be \[HOST:\]PORT' err --prometheus http:99999
check stamps_by_an_unknown_nic 2 'stamps: nope: no such NIC' err stamps --nic nope --sysfs "$dir/sys"
check two_formats 2 '--csv and --json: one of them' err watch lo --csv --json
check stamps_to_no_host 1 '^nicstat: no.such.host.invalid:7000: [A-Z]' err stamps --connect no.such.host.invalid:7000
check stamps_to_no_port 2 'must be HOST:PORT' err stamps --connect 127.0.0.1:4294967297
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
# What is wrong: a recorded machine whose counters grew between its two looks, and one whose PCIe link does not do what it could.
recorded() { # LINES of counters "VALUE VALUE NAME"
  printf '#nic-record 1\n#nic-begin 1 1 0 -1 0 1500 0 eth0 - e1000e\n'
  while read -r one two name; do printf '#nic-counter 0 0 64 1 %s 0 1000 %s 1000000000 1000001000 %s\n' "$one" "$two" "$name"; done
  printf '#nic-end\n'
}
printf '5 9 ethtool/rx_pause\n0 1 net/rx_crc_errors\n100 1000100 host/TcpOutSegs\n0 5000 host/TcpRetransSegs\n' | recorded >"$dir/ill.txt"
printf '5 5 ethtool/rx_pause\n7 7 net/rx_crc_errors\n100 1000100 host/TcpOutSegs\n0 500 host/TcpRetransSegs\n7 9 net/rx_bytes\n' | recorded >"$dir/well.txt"
check health_finds_pauses 1 'rx_pause grew by 4 .*should stand still' out health --dump "$dir/ill.txt" --interval 0.01
check health_finds_bad_bits 1 'cable, transceiver or port' out health --dump "$dir/ill.txt" --interval 0.01
check health_finds_losses 1 'TcpRetransSegs grew by 5000 of 1000000 .*more than 1000 in a million' out health --dump "$dir/ill.txt" --interval 0.01
check health_says_what_shows_more 1 'more: ethtool -m eth0' out health --dump "$dir/ill.txt" --interval 0.01
check health_json 1 '"what":"net/rx_crc_errors grew by 1 ' out health --json --dump "$dir/ill.txt" --interval 0.01
check health_of_a_well_one 0 'nothing wrong' out health --dump "$dir/well.txt" --interval 0.01
# A link that is gone, and why; one with a bad signal; numbers of a later kernel.
link() { printf '#nic-record 1\n#nic-begin 1 1 0 -1 0 1500 0 eth0 - mlxsw\n#nic-link %s\n#nic-end\n' "$1"; }
link '0 0 5 -1 -1' >"$dir/partner.txt"; link '0 4 -1 -1 -1' >"$dir/cable.txt"; link '1 -1 -1 3 7' >"$dir/noise.txt"
link '1 -1 -1 4 7' >"$dir/clear.txt"; link '0 99 3 -1 -1' >"$dir/later.txt"; link '0 0 9999999999 -1 -1' >"$dir/wrong.txt"
check health_finds_a_missing_link 1 'no link: autonegotiation: FEC of both sides differs in override mode' out health --dump "$dir/partner.txt" --interval 0.01
check health_finds_a_missing_cable 1 'it is up and has no link: no cable' out health --dump "$dir/cable.txt" --interval 0.01
check health_finds_noise 1 'the quality of its signal (SQI) is 3 of 7' out health --dump "$dir/noise.txt" --interval 0.01
check health_of_a_clear_signal 0 'nothing wrong' out health --dump "$dir/clear.txt" --interval 0.01
check health_of_a_later_kernel 1 'no link: state 99 of the kernel' out health --dump "$dir/later.txt" --interval 0.01
check wrong_link 1 'wrong.txt:3: malformed, or out of range' err --dump "$dir/wrong.txt"
check list_says_why 0 'up, no link: no cable' out --dump "$dir/cable.txt"
check list_says_why_in_json 0 '"link":{"up":false,"state":4,"substate":-1,"sqi":-1,"most_sqi":-1,"why":"no cable","more":""}' out --json --dump "$dir/cable.txt"
check health_of_no_nic 2 'no such NIC' err health nope --dump "$dir/well.txt" --interval 0.01
pci=$dir/sys/bus/pci/devices/0000:03:00.0 && mkdir -p "$pci/net" "$dir/sys/class/net/eth9" && ln -s ../../../bus/pci/devices/0000:03:00.0 "$dir/sys/class/net/eth9/device"
echo '0x8086' >"$pci/vendor"; echo '0x1533' >"$pci/device"; echo '0x020000' >"$pci/class"
echo '2.5 GT/s PCIe' >"$pci/current_link_speed"; echo '8.0 GT/s PCIe' >"$pci/max_link_speed"
for _ in 1 2 3 4 5 6 7; do echo '0x0 0x0 0x0'; done >"$pci/resource"; echo 0 >"$pci/irq"; head -c 64 /dev/zero >"$pci/config"
echo 4 >"$pci/current_link_width"; echo 8 >"$pci/max_link_width"
printf 'RxErr 0\nBadTLP 3\nTimeout 0\nTOTAL_ERR_COR 3\n' >"$pci/aer_dev_correctable"
check health_finds_a_slow_link 1 'runs at 2.5 GT/s, and could at 8.0' out health eth9 --sysfs "$dir/sys" --interval 0.01
check health_finds_a_narrow_link 1 'has 4 lanes of 8' out health eth9 --sysfs "$dir/sys" --interval 0.01
check health_finds_replays 1 'PCIe correctable errors since it was found: BadTLP 3' out health eth9 --sysfs "$dir/sys" --interval 0.01
# The same from configuration space alone: a dump with a PCIe and an AER capability.
{
  echo '03:00.0 Ethernet controller'
  printf '00: 86 80 33 15 06 04 10 00 01 00 00 02 10 00 00 00\n10: 00 00 00 fe 00 00 00 00 00 00 00 00 00 00 00 00\n20: 00 00 00 00 00 00 00 00 00 00 00 00 86 80 3c a0\n30: 00 00 00 00 a0 00 00 00 00 00 00 00 0b 01 00 00\n'
  for at in 40 50 60 70 80 90; do echo "$at: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"; done
  printf 'a0: 10 00 02 00 00 00 00 00 00 00 00 00 43 00 00 00\nb0: 00 00 21 00 00 00 00 00 00 00 00 00 00 00 00 00\n' # LnkCap 8 GT/s x4, LnkSta 2.5 GT/s x2
  for at in c0 d0 e0 f0; do echo "$at: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"; done
  printf '100: 01 00 01 14 00 40 00 00 00 00 00 00 00 00 00 00\n110: 40 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n' # CmpltTO; BadTLP, Timeout
} >"$dir/pcie.txt"
check health_of_a_dumped_link 1 'runs at 2.5 GT/s, and could at 8.0' out health --dump "$dir/pcie.txt" --interval 0.01
check health_of_dumped_lanes 1 'has 2 lanes of 4' out health --dump "$dir/pcie.txt" --interval 0.01
check health_of_dumped_errors 1 'uncorrectable error since somebody cleared it: CmpltTO' out health --dump "$dir/pcie.txt" --interval 0.01
check health_of_dumped_replays 1 'correctable error since somebody cleared it: Timeout' out health --dump "$dir/pcie.txt" --interval 0.01
check prometheus 0 '^nicstat_counter_total{nic="eth9",kind="net",counter="net/rx_bytes",unit="bytes"} 5$' out --prometheus - --sysfs "$dir/sys"
"$B/nicstat" --prometheus "$dir/page.prom" --sysfs "$dir/sys" && grep -q '^nicstat_link_up{nic="eth9"} 0$' "$dir/page.prom" && [ "$(echo "$dir"/page.prom*)" = "$dir/page.prom" ] && ok prometheus_file || bad prometheus_file
# The page over a Unix socket and a port: fetched, refused, and served on while somebody only connects.
fetch() { # PORT or PATH, REQUEST
  perl -MSocket -e 'my ($where, $request) = @ARGV;
    if ($where =~ m{^/}) { socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un($where)) or die "connect: $!\n" }
    else { socket(S, PF_INET, SOCK_STREAM, 0); connect(S, pack_sockaddr_in($where, inet_aton("127.0.0.1"))) or die "connect: $!\n" }
    alarm 20; syswrite(S, "$request\r\n\r\n"); print while <S>;' "$@"
}
serve() { # ADDRESS
  rm -f "$dir/serving"
  timeout 300 "$B/nicstat" --prometheus "$1" --sysfs "$dir/sys" 2>"$dir/serving" & server=$!
  until grep -q serving "$dir/serving" 2>/dev/null || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
}
page='nicstat_counter_total{nic="eth9",kind="net",counter="net/rx_bytes",unit="bytes"} 5'
serve "unix:$dir/socket"
fetch "$dir/socket" 'GET /metrics HTTP/1.1' >"$dir/out" 2>"$dir/err"
grep -qF "$page" "$dir/out" && grep -q '^HTTP/1.1 200 OK' "$dir/out" && ok prometheus_over_a_unix_socket || bad prometheus_over_a_unix_socket
fetch "$dir/socket" 'GET /etc/passwd HTTP/1.1' >"$dir/out" 2>"$dir/err"
grep -q '^HTTP/1.1 404 ' "$dir/out" && ok prometheus_of_another_page || bad prometheus_of_another_page
fetch "$dir/socket" 'POST /metrics HTTP/1.1' >"$dir/out" 2>"$dir/err"
grep -q '^HTTP/1.1 405 ' "$dir/out" && ok prometheus_of_another_method || bad prometheus_of_another_method
check prometheus_where_somebody_serves 1 'in use' err --prometheus "unix:$dir/socket" --sysfs "$dir/sys"
kill $server && wait $server 2>/dev/null
[ ! -e "$dir/socket" ] && ok prometheus_removes_its_socket || bad prometheus_removes_its_socket
web=$((20000 + $$ % 10000)) # below what the system gives to clients
serve "http:$web"
bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$web' 4<>/dev/tcp/127.0.0.1/'$web' && : >"$0" && exec sleep 8' "$dir/idle" &
idle=$!
until [ -e "$dir/idle" ] || ! kill -0 $idle 2>/dev/null; do sleep 0.05; done
fetch $web 'GET / HTTP/1.0' >"$dir/out" 2>"$dir/err"
grep -qF "$page" "$dir/out" && ok prometheus_serves_on_behind_idle_clients || bad prometheus_serves_on_behind_idle_clients
kill $idle $server && wait $idle $server 2>/dev/null
check prometheus_without_a_port 2 'must be' err --prometheus http:127.0.0.1:nonsense --sysfs "$dir/sys"
check csv 0 ',eth0,ethtool/rx_pause,events,9,4,exact,3.9' out watch eth0 --csv --dump "$dir/ill.txt" --interval 0.01 --count 1
check top_without_a_terminal 0 'net/rx_crc_errors.*1 .*█' out top eth0 --dump "$dir/ill.txt" --interval 0.01 --count 1
# A terminal that knows no sequences; script makes one
if command -v script >/dev/null; then
  top_on() { TERM=$1 timeout 60 script -qec "'$B/nicstat' top eth0 --dump '$dir/ill.txt' --interval 0.01 --count 1; '$B/nicstat' watch eth0 --dump '$dir/ill.txt' --interval 0.01 --count 1" "$dir/tty" >"$dir/out" 2>&1 </dev/null; grep -q 'rx_crc_errors' "$dir/out"; }
  esc=$(printf '\033')
  top_on dumb && ! grep -q "$esc\[H" "$dir/out" && top_on xterm && [ "$(grep -c "$esc\[H" "$dir/out")" -ge 1 ] && ok dumb_terminals_get_no_sequences || bad dumb_terminals_get_no_sequences
fi
check explains_a_register 0 'tx_xoff of list i210: 0x4054, events, cleared by reading' out --explain tx_xoff
check explains_a_list 0 'source: .*igc_regs.h' out --explain i225
check explains_an_offset 0 'register list 82576' out --explain 0xb600
check explains_a_counter 0 'sent again' out --explain host/TcpRetransSegs
check explains_nothing 1 'lists: 82574' err --explain nonesuch
check meanings_in_json 0 '"meaning":"the link partner asked for a pause"' out watch eth0 --json --dump "$dir/ill.txt" --interval 0.01 --count 1
# A listener serves on while 80 others hold connections and say nothing.
port=$((20000 + $$ % 10000))
"$B/nicstat" stamps --listen 127.0.0.1:$port 2>"$dir/listener" &
server=$!
until grep -q answering "$dir/listener" || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
bash -c 'for i in $(seq 80); do exec {fd}<>/dev/tcp/127.0.0.1/'$port' || exit 9; done
  exec timeout 60 "$0" stamps --connect 127.0.0.1:'$port' --count 3 --json' "$B/nicstat" >"$dir/out" 2>"$dir/err"
[ "$(grep -c '"lost":false' "$dir/out")" = 3 ] && ok listener_survives_idle_clients || bad listener_survives_idle_clients
kill $server && wait $server
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
