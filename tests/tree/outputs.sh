# shellcheck shell=sh
# Sourced by full_disk.sh and out_of_memory.sh after tests/test.sh: what the calls in outputs.txt read.
: "${T:?sourced after tests/test.sh}"
awk 'BEGIN { for (n = 1; n <= 4096; n *= 2) printf "%d %.3e\n", n, 2e-6 + 1e-9 * n }' >"$T/samples"
echo '8 1e-6 put' >"$T/runs"
awk 'BEGIN { for (n = 1; n <= 4096; n *= 64) printf "%d %.3e put_nbi full\n%d %.3e get_nbi post\n", n, 2e-6 + 1e-10 * n, n, 3e-7 }' >"$T/moves"
mkdir -p "$T/sys/class/net/eth0/statistics" "$T/sys/bus/pci/devices"
echo up >"$T/sys/class/net/eth0/operstate"
echo 1 >"$T/sys/class/net/eth0/type"
for counter in rx_bytes tx_bytes rx_dropped; do echo 7 >"$T/sys/class/net/eth0/statistics/$counter"; done
# a report with places, one in a module with lines, one in none, one unknown
sites='"sites":[{"call":"MPI_Wait","module":"'$PWD/$B'/overlap_report","symbol":"main","offset":4660,"count":3,"total_ns":500,"max_ns":300},{"call":"MPI_Send","module":"/not/there","symbol":null,"offset":16,"count":2,"total_ns":90,"max_ns":50},{"call":"MPI_Test","module":null,"symbol":null,"offset":32,"count":1,"total_ns":7,"max_ns":7}]'
sed "s|^\"cells\":|$sites,&|" tests/fuzz/seeds/fuzz_report/full.json >"$T/places.json"
{ # a timeline of no records, one place
  echo "nbc-overlap-trace 1 64 $(printf '\001\000' | od -An -tx2 | grep -q 0001 && echo 01000000 || echo 00000001)"
  printf 'rank 0\nsize 1\nclock 0 0\nclock 5 5\nplace 0 MPI_Wait 16 app\tmain\nseen 0\nrecords 0\n\n'
} >"$T/timeline.trace"
calls() { # KINDS: the lines of these first columns, without the column
  sed -n "s/^[$1] //p" tests/tree/outputs.txt | sed "s|\$T|$T|g"
}
