#!/bin/sh
# The time-stamp counter counts simulated time, for whoever reads it by the instruction.
. tests/test.sh
app=$B/tests/guest_mpi/counter
if [ ! -x "$app" ]; then
  skip "counter of pm_run" "no MPICH (Debian: mpich libmpich-dev), or not x86-64"
  finish
fi
right() { # WHICH OPTIONS: on two processes of each node
  which=$1 && shift
  timeout 100 "$B/pm_run" -n 4 --per-node 2 "$@" "$app" "$which" >"$T/out" 2>"$T/err" && test "$(grep -c "^[0-3] $which: right\$" "$T/out")" = 4 || { cat "$T/out" "$T/err"; return 1; }
}
same_time_every_run() { right message && cp "$T/err" "$T/first" && right message && cmp "$T/err" "$T/first"; }
# What is opened later may be the first that has the instruction.
opened_library_reads_it() {
  printf '#include <x86intrin.h>\nunsigned long long ticks(void) { return __rdtsc(); }\n' | $CC -x c - -O1 -fPIC -shared -o "$T/ticks.so" &&
    printf '#include <dlfcn.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(int argc, char **argv) {\n  void *all = dlopen(argv[argc - 1], RTLD_NOW);\n  unsigned long long (*ticks)(void) = (unsigned long long (*)(void))dlsym(all, "ticks"), first = ticks();\n  sleep(1);\n  return printf("%%llu\\n", (ticks() - first) / 1000000) < 0;\n}\n' >"$T/main.c" && $CC -w -O1 -fPIE -pie "$T/main.c" -o "$T/opens" -ldl &&
    "$B/pm_run" -n 2 "$T/opens" "$T/ticks.so" >"$T/out" 2>"$T/err" && cat "$T/out" && test "$(grep -cx 1000 "$T/out")" = 2
}
check "who waits for the counter waits as long" right waits
check "... without ticks of the host's clock" right waits --spin 0
check "the counter and MPI_Wtime agree" right compares
check "a message takes as long by the counter" right message
check "two runs are the same" same_time_every_run
check "/proc/cpuinfo has its frequency" right processors
check "commands and the system's own clock have the host's" right hosts
check "a crash is one" right crash
check "an opened library reads it" opened_library_reads_it
finish
