#!/bin/busybox sh
# /init of the guest of qemu_nic.sh: finds the two NICs, reads them, plays ping-pong over them, and switches the machine off.
/bin/busybox --install -s /bin
export PATH=/bin B=/tmp
mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t devtmpfs dev /dev
. /test.sh

says() { # STATUS PATTERN COMMAND...: the exit status, and a pattern in what is said
  status=$1 pattern=$2 && shift 2
  timeout 250 "$@" >"$T/said" 2>&1
  code=$?
  cat "$T/said"
  echo "status $code, expected $status and: $pattern"
  [ $code -eq "$status" ] && grep -q -- "$pattern" "$T/said"
}
two_of_them() {
  lspci -n -d 1234:4e42 >"$T/nics" && cat "$T/nics"
  [ "$(grep -c ' 0208: 1234:4e42' "$T/nics")" = 2 ]
}
counter() { sed -n "s|.*\"register/$1\":{\"unit\":\"[a-z]*\",\"value\":\([0-9]*\).*|\1|p" "$T/said" | tail -1; }
counts() { # NIC SENT RECEIVED: bytes of requests of the class compute, to the byte
  says 0 vn0_tx_bytes nicstat watch "$1" --registers --all --json --count 1 --interval 0.01 &&
    echo "sent $(counter vn0_tx_bytes) of $2, received $(counter vn0_rx_bytes) of $3" &&
    [ "$(counter vn0_tx_bytes)" = "$2" ] && [ "$(counter vn0_rx_bytes)" = "$3" ]
}
may_not_write() { [ "$(lspci -vv -d 1234:4e42 | grep -c 'BusMaster-')" = 2 ]; }

echo "guest up after $(cut -d' ' -f1 /proc/uptime) s, $(uname -r)"
check "lspci sees two fabric controllers" two_of_them
first=0000:$(head -1 "$T/nics" | cut -d' ' -f1) second=0000:$(tail -1 "$T/nics" | cut -d' ' -f1)
check "a BAR of 128 KiB each" says 0 'Memory at .*size=128K' lspci -v -s "$first"
for nic in $first $second; do echo 1 >"/sys/bus/pci/devices/$nic/enable"; done
check "nicstat knows its registers" says 0 'list rtl-qemu, BAR0' nicstat list "$first"
check "its clock, as of any NIC" says 0 'read registers' nicstat clock "$first" --registers --count 5
cat "$T/said"
check "no huge page: the driver says what to do" says 1 'nr_hugepages' nic_pingpong
echo 4 >/proc/sys/vm/nr_hugepages
check "ping-pong, exact overlap" says 0 'hidden, by stamps' nic_pingpong
cat "$T/said"
check "bytes sent" counts "$first" 524288 524288
check "bytes received" counts "$second" 524288 524288
check "the NICs may not write any more" may_not_write
check "and once more, one byte" says 0 'hidden, by stamps' nic_pingpong --rounds 3 1
check "half a megabyte" says 0 'hidden, by stamps' nic_pingpong --rounds 2 500000
cat "$T/said"
(finish)
poweroff -f
