#!/bin/busybox sh
# /init of the guest of qemu.sh: loads the driver of the emulated NIC, lets traffic flow, compares what
# nicstat says with the driver's own numbers, and switches the machine off. The kernel's command line
# says which machine this is: nictest=frozen, fast or good.
/bin/busybox --install -s /bin
export PATH=/bin B=/tmp
mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t devtmpfs dev /dev
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 # nobody sends unasked
. /test.sh

says() { # STATUS PATTERN ARGUMENTS...: nicstat's exit status, and a pattern in what it says
  status=$1 pattern=$2 && shift 2
  timeout 60 nicstat "$@" >"$T/said" 2>&1
  code=$?
  head -20 "$T/said"
  echo "status $code, expected $status and: $pattern"
  [ $code -eq "$status" ] && grep -q -- "$pattern" "$T/said"
}
for_up_to() { # SECONDS COMMAND...: until it succeeds
  tries=$(($1 * 10)) && shift
  while ! "$@"; do
    tries=$((tries - 1)) && [ $tries -gt 0 ] || return 1
    sleep 0.1
  done
}
has_carrier() { [ "$(cat "/sys/class/net/$1/carrier" 2>/dev/null)" = 1 ]; }
link_up() { ip addr add "$2" dev "$1" && ip link set "$1" up && for_up_to 20 has_carrier "$1"; } # NIC ADDRESS

# Of the last line of a watch: the value of a counter.
watched() { sed -n "s|.*\"$1\":{\"unit\":\"[a-z]*\",\"value\":\([0-9]*\).*|\1|p" "$T/watch" | tail -1; }
moved() { grep -o "\"$1\":{[^}]*" "$T/watch" | grep -c '"delta":[1-9]'; }
# At rest again nicstat, /sys and the ethtool command show the same; the driver may lag by 2 s.
agree() {
  nicstat watch eth0 --json --all --count 1 --interval 0.01 >"$T/watch" && ethtool -S eth0 >"$T/ethtool" || return 1
  for name in tx_packets rx_packets tx_bytes rx_bytes; do
    sysfs=$(cat /sys/class/net/eth0/statistics/$name) driver=$(sed -n "s/^ *$name: //p" "$T/ethtool")
    echo "$name: nicstat $(watched net/$name) and $(watched ethtool/$name), /sys $sysfs, driver $driver"
    [ "$(watched net/$name)" = "$sysfs" ] && [ "$(watched ethtool/$name)" = "$driver" ] || return 1
  done
  [ "$(sed -n 's/^ *tx_packets: //p' "$T/ethtool")" = "$(cat /sys/class/net/eth0/statistics/tx_packets)" ]
}
# PEER: the counters move while packets do, and by at least so many.
counters_follow_traffic() {
  nicstat watch eth0 --json --all --interval 0.2 >"$T/watch" &
  watcher=$!
  for_up_to 20 test -s "$T/watch"
  first=$(watched net/tx_packets)
  ping -q -c 100 -i 0.01 "$1"
  told() { [ $(($(watched net/tx_packets) - first)) -ge 100 ]; }
  for_up_to 20 told
  kill $watcher && wait $watcher
  echo "sent packets: first $first, last $(watched net/tx_packets)"
  [ $(($(watched net/tx_packets) - first)) -ge 100 ] && [ "$(moved net/rx_packets)" -ge 1 ] && for_up_to 10 agree
}
# Reading a driver's counters from the device would clear them under its hands.
registers_are_left_to_the_driver() {
  says 1 'reading these counters clears them' watch eth0 --registers --count 1 --interval 0.01 && for_up_to 10 agree
}
record() { nicstat --record - | sed 's/^/@/'; } # over the console, for the host to look at
unbind() { echo "$1" >"/sys/bus/pci/devices/$1/driver/unbind" && [ ! -e "/sys/bus/pci/devices/$1/driver" ]; }

without_driver() {
  check "no driver: named by its address" says 0 "PCI device 8086" list "$1"
  check "no driver: registers can be read" says 0 'GPTC\|good_packets' watch "$1" --registers --all --count 1 --interval 0.01
  check "no driver: its clock stands still" says 1 'stands still' clock "$1" --registers --count 2
}
load() { # MODULES...
  for module; do insmod "/lib/modules/$module.ko" || return 1; done
}

frozen() { # 82574 of QEMU 7.2: the driver offers a clock, but the device has none
  at=$(basename "$(dirname "$(grep -l 0x10d3 /sys/bus/pci/devices/*/device)")")
  without_driver "$at"
  check "driver e1000e" load e1000e
  check "link" link_up eth0 10.0.2.15/24
  check "a clock is offered" says 0 'clock  *yes' list eth0
  check "clock that stands still is named" says 1 'stands still' clock eth0 --count 3
  check "the driver's BAR is refused, and why" says 1 'driver e1000e owns the BAR' clock eth0 --registers --count 1
  check "counters while traffic flows" counters_follow_traffic 10.0.2.2
  record
  check "unbinding the driver" unbind "$at"
  without_driver "$at"
}
fast() { # 82574 of QEMU 10: its clock runs at another rate than the driver and the data sheet say
  check "driver e1000e" load e1000e
  check "link" link_up eth0 10.0.2.15/24
  check "clock 2.5 times too fast is named" says 1 'runs 2\.[45]' clock eth0 --count 3
  check "the same from its registers" says 1 'runs 2\.[45]' clock eth0 --registers --count 3
  check "counters while traffic flows" counters_follow_traffic 10.0.2.2
  check "registers that clear are refused" registers_are_left_to_the_driver
  record
}
good() { # 82576 of QEMU 10, two of them on one hub: nothing wrong with their clocks
  check "driver igb" load dca i2c-algo-bit igb
  check "link" link_up eth0 10.0.3.1/24
  check "second host" second_host
  check "clock" says 0 'read extended' clock eth0 --count 5
  check "clock from its registers" says 0 'read registers' clock eth0 --registers --count 5
  check "counters while traffic flows" counters_follow_traffic 10.0.3.2
  check "registers that clear are refused" registers_are_left_to_the_driver
  record
  other nicstat stamps --listen 7001 &
  for_up_to 10 nicstat stamps --connect 10.0.3.2:7001 --count 1 >"$T/listens" 2>&1
  check "stamps without the NIC's being on: says how" \
    says 1 'hwstamp_ctl -i eth0' stamps --connect 10.0.3.2:7001 --nic eth0 --count 3
  check "hwstamp_ctl" hwstamp_ctl -i eth0 -t 1 -r 0
  check "stamps of the NIC, TCP" wire_between
  check "stamps of the NIC, UDP" wire_between --udp
  check "transport with the NIC's stamps" ranks
  check "third NIC, to the host" load e1000e
  check "its link" link_up eth1 10.0.2.15/24 # the name is free: the other eth1 has left
  check "stamps against another kernel" answers_of_another_kernel
}

# The second NIC as another host's, in a network namespace of its own, on the same hub.
other() { nsenter -t $space -n "$@"; }
second_host() {
  unshare -n sleep 1000 &
  space=$!
  apart() { [ "$(readlink /proc/$space/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
  is_up() { other ip link show eth1 | grep -q LOWER_UP; }
  for_up_to 5 apart && ip link set eth1 netns $space && other ip link set lo up &&
    other ip addr add 10.0.3.2/24 dev eth1 && other ip link set eth1 up &&
    for_up_to 20 is_up && for_up_to 20 ping -c 1 -W 1 10.0.3.2
}
# Of the messages that the NIC stamped: not on the wire before the kernel took them, nor after they were
# taken in at the other end; all three are intervals, and at least half of the messages are stamped.
wire_between() { # ARGUMENTS...
  timeout 60 nicstat stamps --connect 10.0.3.2:7001 --nic eth0 --json --count 20 "$@" >"$T/stamps" || return 1
  sed -n 's/.*"scheduled_lo_ns":\(-*[0-9]*\).*"nic_sent_lo_ns":\(-*[0-9]*\),"nic_sent_hi_ns":\(-*[0-9]*\).*"received_hi_ns":\(-*[0-9]*\).*/\1 \2 \3 \4/p' \
    "$T/stamps" >"$T/wire"
  head -3 "$T/stamps"
  awk '{ n++; if ($3 < $1 || $2 > $4) bad++ } END { print n + 0 " by the NIC, " bad + 0 " out of order"; exit !(n >= 10 && !bad) }' "$T/wire"
}
ranks() {
  other timeout 100 tcp_rank 1 10.0.3.1:7000 10.0.3.2:7000 >"$T/rank1" 2>&1 &
  NIC=eth0 timeout 100 tcp_rank 0 10.0.3.1:7000 10.0.3.2:7000 >"$T/rank0" 2>&1
  first=$?
  wait $! && second=0 || second=1
  cat "$T/rank0" "$T/rank1"
  [ $first -eq 0 ] && [ $second -eq 0 ] && grep -q 'by NIC [1-9]' "$T/rank0"
}
answers_of_another_kernel() {
  says 0 '"lost":false.*"sent_lo_ns".*"received_lo_ns".*"answered_lo_ns"' stamps --connect "10.0.2.2:${nicport:?}" --json --count 5
}
echo "guest up after $(cut -d' ' -f1 /proc/uptime) s, $(uname -r)"
${nictest:?}
(finish)
echo "guest done after $(cut -d' ' -f1 /proc/uptime) s"
poweroff -f
