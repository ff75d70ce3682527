#!/bin/sh
# guest_start_P: CPU time that pm_run takes to load P processes of a program of 1 MB, to start and to end
# them; guest_start_small_P of one of 16 KB.
B=${B:-build} regex=${1:-.}
T=$B/bench/guest_start_files
mkdir -p "$T"
line() {
  echo "$1" | grep -qE -- "$regex" || return 0
  seconds=$( { bash -c "TIMEFORMAT='%U %S'; time $B/pm_run -n $3 --spin 0 --no-watch $2 >/dev/null 2>&1"; } 2>&1 | awk '{ print $1 + $2 }')
  printf '{"bench":"%s","value":%s,"unit":"s"}\n' "$1" "$seconds"
}
awk 'BEGIN {
  for (i = 0; i < 3000; i++) printf "int f%d(int x) { return x * %d + x %% (%d + 3) + (x ^ %d); }\n", i, i, i, i * 7919
  printf "int (*const table[])(int) = {"
  for (i = 0; i < 300; i++) printf "f%d,", i
  printf "};\nstatic const char tables[600000] = {1};\nstatic int data[2000] = {5};\nstatic char zeros[100000];\n"
  printf "int main(int c, char **v) { int s = v == 0; for (int i = 0; i < 300; i++) s += table[i](c); return s + tables[c] + data[c] + zeros[c] == -77777; }\n"
}' >"$T/large.c"
echo 'int main(void) { return 0; }' >"$T/small.c"
for p in large small; do ${CC:-cc} -O1 -fPIE -pie "$T/$p.c" -o "$T/$p" || exit 1; done
for n in 1024 16384; do line guest_start_$n "$T/large" $n; done
for n in 1024 65536; do line guest_start_small_$n "$T/small" $n; done
