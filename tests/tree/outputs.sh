# shellcheck shell=sh
# Sourced by full_disk.sh and out_of_memory.sh after tests/test.sh: what the calls in outputs.txt read.
awk 'BEGIN { for (n = 1; n <= 4096; n *= 2) printf "%d %.3e\n", n, 2e-6 + 1e-9 * n }' >"$T/samples"
mkdir -p "$T/sys/class/net/eth0/statistics" "$T/sys/bus/pci/devices"
echo up >"$T/sys/class/net/eth0/operstate"
echo 1 >"$T/sys/class/net/eth0/type"
for counter in rx_bytes tx_bytes rx_dropped; do echo 7 >"$T/sys/class/net/eth0/statistics/$counter"; done
calls() { # KINDS: the lines of these first columns, without the column
  sed -n "s/^[$1] //p" tests/tree/outputs.txt | sed "s|\$T|$T|g"
}
