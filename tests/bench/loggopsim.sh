#!/bin/sh
# model_doubling_65536: CPU time of recursive doubling, 8 bytes among 65,536 processes at the LogGP level, as a whole
# process; peer: LogGOPSim replaying the same messages from a file, where LOGGOPSIM is the folder of its LogGOPSim and txt2bin
# (Debian has no package of it). Both in turn, medians of three.
B=${B:-build} count=65536
echo "model_doubling_$count" | grep -qE -- "${1:-.}" || exit 0
T=$B/bench/loggopsim_files
mkdir -p "$T"
cpu() { # COMMAND...: seconds of user and system
  { bash -c 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1' cpu "$@"; } 2>&1 | awk '{ print $1 + $2 }'
}
median() { sort -g "$1" | sed -n 2p; }
rm -f "$T/ours" "$T/theirs"
if [ -n "$LOGGOPSIM" ]; then
  awk -v count=$count 'function other(r, k) { return int(r / k) % 2 ? r - k : r + k } # r ^ k
    BEGIN { print "num_ranks " count
      for (r = 0; r < count; r++) { print "\nrank " r " {"; line = 0
        for (k = 1; k < count; k *= 2) { printf "l%d: send 8b to %d tag 0\n", ++line, other(r, k)
          if (line > 1) printf "l%d requires l%d\n", line, line - 1
          printf "l%d: recv 8b from %d tag 0\n", ++line, other(r, k) }
        print "}" } }' >"$T/doubling.goal"
  "$LOGGOPSIM/txt2bin" -i "$T/doubling.goal" -o "$T/doubling.bin" >/dev/null && rm "$T/doubling.goal" || exit 1
fi
for _ in 1 2 3; do
  cpu "$B/bench/model" "^model_allreduce_$count\$" >>"$T/ours"
  [ -z "$LOGGOPSIM" ] || cpu "$LOGGOPSIM/LogGOPSim" -f "$T/doubling.bin" -b >>"$T/theirs"
done
if [ -n "$LOGGOPSIM" ]; then peer=$(median "$T/theirs"); rm "$T/doubling.bin"; fi
echo "$(median "$T/ours") $peer" | awk -v name="model_doubling_$count" '{ printf "{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"s\"", name, $1
  if ($2) printf ",\"peer\":%.4g,\"ratio\":%.4g,\"peer_name\":\"LogGOPSim\"", $2, $1 / $2; print "}" }'
