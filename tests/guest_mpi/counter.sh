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
# As the workers of OpenBLAS do: 67 ms for work that never comes, or comes late, beside processes that send all the time. Each looks
# some hundred times, not a million, and sees the end at most a 32nd of its wait late.
waits_by_yields() {
  cat >"$T/yields.c" <<'C'
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
static volatile int work;
static int looks;
static long waited_us;
static long now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}
static void *worker(void *unused) {
  const long begin_us = now_us();
  while (!work && now_us() - begin_us < 67000) sched_yield(), looks++;
  waited_us = now_us() - begin_us;
  return unused;
}
int main(int argc, char **argv) {
  pthread_t t;
  int rank, provided, there = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 2; round++) {
    looks = work = 0;
    pthread_create(&t, NULL, worker, NULL);
    const long begin_us = now_us();
    while (now_us() - begin_us < (round ? 20000 : 80000)) MPI_Sendrecv(&rank, 1, MPI_INT, rank ^ 1, 0, &there, 1, MPI_INT, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    work = 1;
    pthread_join(t, NULL);
    const long least_us = round ? 20000 : 67000;
    if (looks > 1000 || waited_us < least_us || waited_us > least_us + least_us / 30) printf("%d: %d looks, %ld us\n", round, looks, waited_us);
    else printf("right\n");
  }
  return MPI_Finalize();
}
C
  mpicc.mpich -O1 -w "$T/yields.c" -o "$T/yields" -pthread && timeout 100 "$B/pm_run" -n 4 "$T/yields" >"$T/out" 2>&1 && test "$(grep -cx right "$T/out")" = 8 || { cat "$T/out"; return 1; }
}
# Where it does not fault, it is the host's, and pm_run says so.
hosts=$("$B/pm_run" -n 1 "$app" none 2>&1 | grep 'does not let the time-stamp counter fault')
by_counter() { # as check
  case $1 in *"$TEST_ONLY"*) if [ "$hosts" ]; then skip "$1" "$hosts"; else check "$@"; fi ;; esac
}
by_counter "who waits for the counter waits as long" right waits
by_counter "... without ticks of the host's clock" right waits --spin 0
by_counter "the counter and MPI_Wtime agree" right compares
by_counter "a message takes as long by the counter" right message
by_counter "two runs are the same" same_time_every_run
check "/proc/cpuinfo has its frequency" right processors
by_counter "commands and the system's own clock have the host's" right hosts
check "a crash is one" right crash
by_counter "an opened library reads it" opened_library_reads_it
check "who yields and looks at the clock by turns does so some hundred times" waits_by_yields
finish
