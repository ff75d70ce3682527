#!/bin/sh
# Programs written for any Portals 4 run unmodified under pm_run: private globals, PMI, simulated
# clocks, exit status, crashes and deadlocks with names.
. tests/test.sh
guest=$B/tests/model/guest_ring.so
threads=$B/tests/model/guest_threads.so
waits=$B/tests/model/guest_waits
run() { timeout 300 "$B/pm_run" "$@" >"$T/out" 2>"$T/err"; }

token_goes_round() { run -n 16 "$guest" ring && grep -x 'token 136 went round 16 processes' "$T/out" && grep 'pm_run: 16 processes, .* us simulated' "$T/err"; }
same_time_every_run() { run -n 5 --per-node 2 "$guest" && cp "$T/err" "$T/first" && run -n 5 --per-node 2 "$guest" && diff "$T/first" "$T/err"; }
# The guest sends between 1007 and 1014 us.
time_of() { run -n 5 --level "$1" "$guest" && grep -qx 'token 15 went round 5 processes' "$T/out" && sed -n 's/^pm_run: 5 processes, \(.*\) us simulated/\1/p' "$T/err" || echo failed; }
levels_differ() { test "$(time_of flow)" != "$(time_of loggp)" && ! time_of loggp,flow@1009 | grep failed; }
levels_change_on_the_way() {
  flow=$(time_of flow) loggp=$(time_of loggp) both=$(time_of loggp,flow@1009)
  echo "$loggp $both $flow" | grep -v failed | awk '{ exit !($1 < $2 && $2 < $3) }' && test "$(time_of flow,loggp@5000)" = "$flow"
}
level_rtl_runs_the_same_program() {
  rtl=$(time_of rtl) both=$(time_of flow,rtl@1009,loggp@1012)
  echo "$rtl $both" | grep -v failed | awk '{ exit !($1 > 1020 && $1 < 1023 && $2 > 1020 && $2 < 1023 && $1 != $2) }' &&
    ! run -n 65 --level rtl "$guest" && grep '^pm_run: .*64' "$T/err"
}
bad_levels_are_refused() {
  for l in '' flow, torus flow@3 flow,loggp@5,flow@5 loggp,flow@x flow,loggp@-1 flow,loggp@nan flow,loggp@1e999 flow,loggp@0x10; do
    ! run --level "$l" "$guest" && grep -q '^pm_run: --level: ' "$T/err" || { echo "taken: $l"; return 1; }
  done
  ! run --compute 0x1 "$guest" && grep '^pm_run: --compute: a number of' "$T/err"
}
exit_status_is_the_largest() { run -n 4 "$guest" exit; test $? = 3; }
crash_has_a_name() { run -n 4 "$guest" crash; test $? = 100 && grep 'process 1 (node 1): SIGSEGV at address 0x12, at' "$T/err"; }
# What libc finds wrong with memory is said of the process; pm_run, whose heap it is too, may then have to stop at once.
hurt_heaps_have_a_name() {
  printf '#include <stdlib.h>\n#include <string.h>\nint main(int argc, char **argv) {\n  char *volatile a = malloc(2000), *volatile b = malloc(2000), *volatile c = malloc(2000);\n  free(b);\n  if (argc > 1) free(argv[1][0] == 111 ? c : argv[1]), free(c);\n  memset(a, 65, 2064);\n  a = malloc(3000);\n  return 0;\n}\n' >"$T/main.c" && $CC -w -O0 -fPIE -pie "$T/main.c" -o "$T/hurts" || return 1
  for how in '' once static; do
    run -n 1 "$T/hurts" $how
    test $? = 100 && grep 'process 0 (node 0): SIG[ABRSEGVT]* at address .*, at 0.000 us' "$T/err" || return 1
    test "$how" || grep 'a process wrote beyond its memory' "$T/err" || return 1
  done
}
deadlock_has_names() { run -n 4 "$guest" hang; test $? = 100 && grep 'process 1 (node 1) waits: PtlCTWait: counter .* to reach 100 (it has 1, 0 failures)' "$T/err"; }
trace_is_written() {
  run -n 3 --trace "$T/trace.csv" "$guest" && grep -q '^PUT,1,0,1,0,1,8,' "$T/trace.csv" && test "$(grep -c ^PUT, "$T/trace.csv")" = 3 &&
    run -n 3 --trace "$T/trace.json" "$guest" hang
  grep -q '"name":"PUT"' "$T/trace.json"
}
paje_trace_is_whole() { # three messages and their answers; what a process computes is its state
  run -n 3 --trace "$T/trace.csv" "$guest" && run -n 3 --trace "$T/trace.paje" "$guest" || return 1
  test "$(awk -f tests/model/paje.awk "$T/trace.paje")" = "$(grep -c '^[A-Z0-9_]*\(PUT\|GET\|ATOMIC\|RESPONSE\|ACK\),' "$T/trace.csv") links" || return 1
  run -n 2 --compute 10 --trace "$T/states.paje" "$threads" computes && awk -f tests/model/paje.awk "$T/states.paje" && grep -q '^7 .* doing r1 COMPUTE$' "$T/states.paje"
}
# A browser, where there is one, must understand the page as it was meant; one that does not start
# (no room, no rights) says nothing about the page.
sequence_diagram_is_drawn() {
  run -n 3 --trace "$T/trace.html" "$guest" && test "$(grep -c '<g class="m ' "$T/trace.html")" = 15 || return 1
  command -v chromium >/dev/null || return 0
  timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$(cd "$T" && pwd)/chromium" --dump-dom "file://$(cd "$T" && pwd)/trace.html" >"$T/dom" 2>/dev/null || return 0
  grep -q '</html>' "$T/dom" || return 0
  test "$(grep -o '<path class="hit"' "$T/dom" | wc -l)" = 6 && test "$(grep -o '</g>' "$T/dom" | wc -l)" = 15
}
platform_is_read() {
  printf 'node_count 16\ntopology fattree\ntopo 2 4 4 1 2\n' >"$T/tree"
  run -n 16 --platform "$T/tree" "$guest" && grep -q '^token 136' "$T/out" && ! run -n 17 --platform "$T/tree" "$guest" && grep '16 nodes, 17 are needed' "$T/err"
}
# Links of one machine and LogGP of another: said once, of a sweep too; not where the level is another one, or the platform has such keys
links_without_loggp_are_told() {
  printf 'node_count 4\nlink_bytes_per_s 1e9\n' >"$T/slow"
  run -n 4 --platform "$T/slow" --level flow,loggp@5 "$guest" && test "$(grep -c '^pm_run: --level loggp: .*loggp_' "$T/err")" = 1 &&
    run -n 4 --platform "$T/slow" "$guest" && ! grep -q loggp "$T/err" && run -n 4 --level loggp "$guest" && ! grep -q loggp "$T/err" &&
    run -n 4 --platform "$T/slow" --sweep level=flow,loggp --sweep seed=1,2 "$guest" && test "$(cat "$T/err")" = "$(grep '^pm_run: --level loggp: .*loggp_' "$T/err")" &&
    test "$(wc -l <"$T/err")" = 1 && echo 'loggp_latency_ns 900' >>"$T/slow" && run -n 4 --platform "$T/slow" --level loggp "$guest" && ! grep -q loggp "$T/err"
}
bad_calls_are_refused() {
  ! run -n 0 "$guest" && ! run -n && ! run --nonsense 1 "$guest" && ! run && ! run -n 2 "$T/none.so" && ! run --platform "$T/none" "$guest" &&
    printf 'nodes_cuont 3\n' >"$T/bad" && ! run --platform "$T/bad" "$guest" && grep 'line 1: nodes_cuont: unknown key' "$T/err"
}
# How its name ends says what is written: another end is refused before the run
unknown_kinds_of_files_are_refused() {
  for o in "--trace x.txt" "--trace csv" "--trace .csv" "--trace x.json.gz" "--trace /dev/stdout" "--links x.json" "--matrix x.paje"; do
    run -n 2 $o "$guest"
    test $? = 2 && grep "^pm_run: ${o% *}: ${o#* }: a name that ends with \.csv.* or \..* expected$" "$T/err" && ! test -s "$T/out" || return 1
  done
}
threads_and_locks_work() { run -n 3 --per-node 2 "$threads" threads && test "$(grep -c 'threads of . are right' "$T/out")" = 3; }
threads_of_executables_work() { run -n 3 --per-node 2 "${threads%.so}" threads && test "$(grep -c 'threads of . are right' "$T/out")" = 3; }
threads_run_the_same_every_time() { run -n 3 "$threads" threads && cp "$T/err" "$T/first" && run -n 3 "$threads" threads && diff "$T/first" "$T/err"; }
last_thread_ends_the_process() { run -n 2 "$threads" last && grep ' 10\.[0-9]* us simulated' "$T/err"; }
sleeps_take_simulated_time() { run -n 2 "$threads" sleeps; }
# As StarPU's workers look for tasks while others wait until they have a moment.
locks_of_a_round_let_others_in_anywhere() { run -n 2 "$threads" rounds; }
spin_on_memory_lets_time_pass() { run -n 3 --spin 10 "$threads" spins && grep -x 'spin has ended' "$T/out"; }
long_computations_are_no_spins() { run -n 3 --spin 4 "$B/tests/model/guest_spin" compute && test "$(sed -n 's/^sum 18.998 after \([0-9]*\) us$/\1/p' "$T/out" | awk '$1 < 1000' | wc -l)" = 3; }
openmp=$B/tests/model/guest_openmp
openmp_is_as_on_the_host() {
  test -x "$openmp" || return 0
  for n in 1 2 5; do
    cancel=$(test $n = 2 && echo false || echo true)
    OMP_CANCELLATION=$cancel OMP_WAIT_POLICY=passive OMP_NUM_THREADS=$n timeout 300 "$openmp" >"$T/host" && OMP_CANCELLATION=$cancel OMP_NUM_THREADS=$n run -n 1 "$openmp" && diff "$T/host" "$T/out" && test -s "$T/out" || return 1
  done
}
openmp_iterations_and_regions_wait_for_others() {
  test -x "$openmp" || return 0
  printf 'teams 93, in a region 166, after tasks 10, its team 1, strict 6 12 18\nteams at most 5, threads of theirs 0\niterations wait: 705432 705432 66 35, scopes and limits 0\n' >"$T/wanted"
  for n in 1 2 5; do
    OMP_NUM_THREADS=$n run -n 1 "$openmp" iterations && diff "$T/wanted" "$T/out" || return 1
  done
}
openmp_threads_take_time_side_by_side() {
  test -x "$openmp" || return 0
  OMP_NUM_THREADS=4 run -n 2 "$openmp" times && test "$(grep -cx 'loop 2.0, dynamic 7.0, critical 4.0, tasks 2.0, ordered 17.0 ms' "$T/out")" = 2
}
openmp_has_the_cores_of_a_process() {
  test -x "$openmp" || return 0
  printf 'cores_per_node_count 12\n' >"$T/cores" && run -n 4 --per-node 2 --platform "$T/cores" "$openmp" cores && cat "$T/out" "$T/err" && test "$(grep -cx '6 threads of 6' "$T/out")" = 4
}
# clang's library of OpenMP is the program's, with all of its functions
clang_has_openmp() {
  printf '#include <omp.h>\n#include <stdio.h>\nint main(void) {\n  int sum = 0;\n#pragma omp parallel num_threads(3) reduction(+ : sum)\n  sum += omp_get_thread_num() + 10 * omp_get_num_threads();\n  return printf("%%d\\n", sum) < 0;\n}\n' >"$T/main.c"
  command -v "$CLANG" >/dev/null && "$CLANG" -fopenmp -w -fPIE -pie "$T/main.c" -o "$T/openmp" 2>/dev/null
}
# Its threads look for tasks at random, with calls of nothing; what the threads that wait for them look for comes while these pause.
# A line has what GCC alone has (the last values of conditional loops).
openmp_of_clang_looks_for_tasks() {
  "$CLANG" -std=gnu11 -O1 -fopenmp -w -fPIE -pie tests/model/guest_openmp.c -o "$T/constructs" && OMP_NUM_THREADS=4 timeout 300 "$T/constructs" >"$T/all" && grep -v '^last' "$T/all" >"$T/host" &&
    OMP_NUM_THREADS=4 run -n 1 "$T/constructs" && grep -v '^last' "$T/out" | diff "$T/host" - && test -s "$T/host"
}
openmp_of_clang_is_the_programs() { run -n 2 "$T/openmp" && test "$(grep -cx 93 "$T/out")" = 2; }
waits_end_at_their_time() { run -n 2 "$waits" timed && test "$(grep -cx 'timed: right' "$T/out")" = 2; }
threads_of_c11_are_simulated() { run -n 2 "$waits" c11 && test "$(grep -cx 'c11: right' "$T/out")" = 2; }
futexes_wait_in_simulated_time() { run -n 2 "$waits" futex && test "$(grep -cx 'futex: right' "$T/out")" = 2; }
waiting_threads_end_with_their_process() { run -n 4 "$waits" left && test "$(grep -cx 'left: right' "$T/out")" = 4; }
sockets_wait_in_simulated_time() {
  for which in received filled connections; do run -n 8 "$B/tests/model/guest_sockets" $which && test "$(grep -cx "$which: right" "$T/out")" = 8 || return 1; done
}
looks_without_waiting_let_others_come() { timeout 300 "$B/pm_run" -n 2 "$B/tests/model/guest_sockets" looked >"$T/out" && test "$(grep -cx 'looked: right' "$T/out")" = 2; }
streams_wait_in_simulated_time() { run -n 2 "$B/tests/model/guest_sockets" streams && test "$(grep -cx 'streams: right' "$T/out")" = 2; }
fifos_open_in_simulated_time() { run -n 2 "$B/tests/model/guest_sockets" fifos "$T" && test "$(grep -cx 'fifos: right' "$T/out")" = 2; }
fifos_open_in_simulated_time_however() { run -n 2 "$B/tests/model/guest_sockets" fifos_otherwise "$T" </dev/null && test "$(grep -cx 'fifos_otherwise: right' "$T/err")" = 2; }
stdin_of_a_pipe_waits_in_simulated_time() { run -n 2 "$B/tests/model/guest_sockets" input </dev/null && test "$(grep -cx 'input: right' "$T/out")" = 2; }
what_comes_from_outside_is_waited_for() {
  rm -f "$T/fifo" && mkfifo "$T/fifo" && { { sleep 0.7 && echo word; } >"$T/fifo" & } && run -n 2 "$B/tests/model/guest_sockets" outside "$T/fifo" && test "$(grep -cx 'outside: right' "$T/out")" = 2 &&
    grep -E 'pm_run: 2 processes, 1?[0-9]{1,5}\.' "$T/err" # 0.2 s: it sleeps, where looks would take seconds of simulated time
}
poll_waits_for_events() { run -n 2 "$threads" polls && grep -x 'poll has seen all' "$T/out"; }
abort_ends_the_run() { run -n 3 --trace "$T/abort.csv" "$threads" abort; test $? = 7 && grep '^pm_run: process 1 called PMI_Abort(7) at .* us: enough' "$T/err" && test -s "$T/abort.csv"; }
# 20 ms of host CPU time and more, tenfold
computation_takes_its_time() { run -n 2 --compute 10 "$threads" computes && grep 'pm_run: 2 processes, [2-9][0-9]\{5,\}\.[0-9]* us' "$T/err" && run -n 2 "$threads" computes && grep 'pm_run: 2 processes, 0.0' "$T/err" && ! run --compute -1 "$threads" && grep 'pm_run: --compute: a number of' "$T/err"; }
lines_carry_their_process() {
  run -n 3 --prefix "$threads" pieces
  test $? = 2 && sort "$T/out" >"$T/sorted" && printf '[%d] %s\n' 0 'first second' 0 raw 0 'without end' 1 'first second' 1 raw 1 'without end' 2 'first second' 2 raw 2 'without end' | diff - "$T/sorted" &&
    grep -x '\[1\] complaint 1' "$T/err" && grep -x 'pm_run: process 2 ended with status 2' "$T/err" && ! grep 'process 0 ended' "$T/err"
}
# A function that throws has not been called: the next caller runs it, as on the host, and who waits goes on.
once_may_throw() {
  printf '#include <cstdio>\n#include <mutex>\n#include <thread>\nstatic std::once_flag flag;\nstatic int count;\nstatic void calls(int i) {\n  try {\n    std::call_once(flag, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); if (++count < 3) throw count; });\n  } catch (int thrown) {\n    std::printf("%%d: threw %%d\\n", i, thrown);\n  }\n}\nint main() {\n  calls(0);\n  std::thread first(calls, 1), second(calls, 1);\n  first.join();\n  second.join();\n  calls(2);\n  std::printf("called %%d times\\n", count);\n}\n' | g++ -x c++ -w -fPIE -pie - -o "$T/once" -pthread &&
    "$T/once" >"$T/host" && grep -x 'called 3 times' "$T/host" && run -n 1 --time-limit 1000 "$T/once" && diff "$T/host" "$T/out"
}
# What pthread_exit leaves: functions of pthread_once are called again, handlers of C and destructors of C++ run.
pthread_exit_goes_back_through_all() {
  g++ -x c++ -w -fPIE -pie tests/model/guest_leaves.c -o "$T/leaves" -pthread || return 1
  for leaves in "$B/tests/model/guest_leaves" "$T/leaves"; do
    "$leaves" >"$T/host" && grep -x '2 calls' "$T/host" && run -n 2 --time-limit 1000 "$leaves" && cat "$T/host" "$T/host" | diff - "$T/out" || return 1
  done
}
# Who waits for the data of another thread cannot go without it: GCC's library waits for ever, too.
copies_of_cancelled_teams_are_waited_for() {
  test -x "$openmp" || return 0
  OMP_CANCELLATION=true OMP_NUM_THREADS=3 run -n 1 "$openmp" copies
  test $? = 100 && test "$(grep -c 'waits: an OpenMP single with copyprivate' "$T/err")" = 2 && OMP_CANCELLATION=false OMP_NUM_THREADS=3 run -n 1 "$openmp" copies && grep -x 'copies 15' "$T/out"
}
# Who writes to the descriptor of a stream writes where the stream does, as iostreams do that are not synchronized.
descriptors_of_streams_are_there() {
  printf '#include <stdio.h>\n#include <sys/uio.h>\n#include <unistd.h>\nint main(void) {\n  struct iovec v[2] = {{"by ", 3}, {"pieces\\n", 7}};\n  printf("stream\\n");\n  fflush(stdout);\n  if (writev(fileno(stdout), v, 2) != 10 || write(fileno(stderr), "other\\n", 6) != 6) return 1;\n  return fileno(stdin) < 0;\n}\n' >"$T/main.c" && $CC -fPIE -pie "$T/main.c" -o "$T/fileno" &&
    run -n 2 "$T/fileno" && printf 'by pieces\nby pieces\nstream\nstream\n' | diff - "$(sort "$T/out" >"$T/sorted" && echo "$T/sorted")" && test "$(grep -cx other "$T/err")" = 2 &&
    run -n 2 --prefix "$T/fileno" && printf '[%d] %s\n' 0 'by pieces' 0 stream 1 'by pieces' 1 stream | diff - "$(sort "$T/out" >"$T/sorted" && echo "$T/sorted")" && grep -x '\[1\] other' "$T/err"
}
# Libraries of linear algebra have 90 KB of thread-local variables together; more than there is room for is refused.
there_is_room_for_thread_local_variables() {
  printf '#include <pmi.h>\n#include <stdio.h>\nstatic __thread int many[BYTES / sizeof(int)];\nint main(void) {\n  const int n = sizeof many / sizeof *many;\n  int spawned, rank, wrong = 0;\n  PMI_Init(&spawned);\n  PMI_Get_rank(&rank);\n  for (int i = 0; i < n; i++) wrong += many[i] != 0, many[i] = rank * n + i;\n  PMI_Barrier();\n  for (int i = 0; i < n; i++) wrong += many[i] != rank * n + i;\n  printf("%%d wrong\\n", wrong);\n  return 0;\n}\n' >"$T/main.c"
  for bytes in 91136 260000 300000; do
    $CC -fPIE -pie -DBYTES=$bytes "-I$B/include" "$T/main.c" -o "$T/local" "-L$B/lib" -lpmi || return 1
    [ $bytes = 300000 ] || { run -n 3 "$T/local" && test "$(grep -cx '0 wrong' "$T/out")" = 3; } || return 1
  done
  ! run -n 3 "$T/local" && grep '300000 bytes of thread-local variables aligned to .* have no room here: 262144 bytes' "$T/err"
}
# Libraries have many of which nobody writes a byte: these stand in memory once. Who writes one for the first time, at any
# time, changes nobody else's.
unwritten_thread_local_variables_are_shared() {
  printf '#include <pmi.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\nenum { BYTES = 240000, STEP = 1000 };\nstatic __thread char first[STEP] = "first", many[BYTES];\nstatic int wrong(int mine, int value) {\n  int n = strcmp(first, "first") != 0;\n  for (int i = 0; i < BYTES; i++) n += many[i] != (i == mine ? value : 0);\n  return n;\n}\nstatic void *other(void *count) {\n  many[STEP / 2] = 1;\n  PMI_Barrier();\n  *(int *)count += wrong(STEP / 2, 1);\n  return count;\n}\nint main(void) {\n  int spawned, rank, n;\n  char line[200];\n  pthread_t thread;\n  PMI_Init(&spawned);\n  PMI_Get_rank(&rank);\n  const int mine = rank %% (BYTES / STEP) * STEP;\n  n = wrong(-1, 0);\n  if (rank >= 20) return PMI_Barrier(), PMI_Barrier(), n;\n  for (int i = 0; i < rank; i++) PMI_Get_rank(&spawned);\n  many[mine] = 7;\n  PMI_Barrier();\n  n += wrong(mine, 7);\n  pthread_create(&thread, NULL, other, &n);\n  pthread_join(thread, NULL);\n  n += wrong(mine, 7);\n  FILE *status = rank == 19 ? fopen("/proc/self/status", "r") : NULL;\n  while (status && fgets(line, sizeof line, status)) if (!strncmp(line, "VmRSS:", 6)) fputs(line, stdout);\n  printf("%%d wrong\\n", n);\n  return n;\n}\n' >"$T/main.c" &&
    $CC -w -O1 -fPIE -pie "-I$B/include" "$T/main.c" -o "$T/unwritten" "-L$B/lib" -lpmi -pthread && run -n 400 "$T/unwritten" && cat "$T/out" && test "$(grep -cx '0 wrong' "$T/out")" = 20 &&
    awk '$1 == "VmRSS:" { ok = $2 < 80000 } END { exit !ok }' "$T/out"
}
# What the file gives them, an address in each process's own image too, also behind a process that wrote when it left.
thread_local_variables_begin_as_the_file_says() {
  printf '#include <stdio.h>\nstatic int x;\nstatic __thread volatile int n = 3;\nstatic __thread volatile char between[600] = {1};\nstatic __thread int *volatile p = &x;\n__attribute__((destructor)) static void leaves(void) {\n  n += 4, between[300]++;\n}\nint main(void) {\n  printf("%%d\\n", n == 3 && p == &x && between[0] == 1 && !between[300]);\n  return 0;\n}\n' >"$T/main.c" &&
    $CC -w -O1 -fPIE -pie "$T/main.c" -o "$T/begin" && run -n 4 "$T/begin" && printf '1\n1\n1\n1\n' | diff - "$T/out"
}
# An allocator that was preloaded for the launcher is the program's too, as it is libc's, which allocates for it.
preloaded_allocators_are_everybodys() {
  printf '#include <stdint.h>\n#include <string.h>\nvoid *__libc_malloc(size_t);\nvoid __libc_free(void *);\nvoid *memalign(size_t a, size_t n) {\n  char *base = __libc_malloc(n + a + 64), *p = (char *)(((uintptr_t)base + 63 + a) / a * a);\n  memcpy(p - 8, &n, 8), memcpy(p - 16, &base, 8);\n  return p;\n}\nvoid *malloc(size_t n) { return memalign(16, n); }\nvoid *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }\nint posix_memalign(void **p, size_t a, size_t n) { return *p = memalign(a, n), 0; }\nvoid *calloc(size_t n, size_t m) { return memset(malloc(n * m), 0, n * m); }\nvoid free(void *p) {\n  void *base;\n  if (p) memcpy(&base, (char *)p - 16, 8), __libc_free(base);\n}\nvoid *realloc(void *p, size_t n) {\n  void *more = malloc(n);\n  size_t had = 0;\n  if (p) memcpy(&had, (char *)p - 8, 8), memcpy(more, p, had < n ? had : n), free(p);\n  return more;\n}\n' | $CC -w -shared -fPIC -fno-builtin -x c - -o "$T/liballocates.so" &&
    printf '#include <stdlib.h>\n#include <stdio.h>\n#include <string.h>\nint main(void) {\n  char *text = strdup("from libc");\n  puts(text);\n  free(text);\n  return 0;\n}\n' >"$T/main.c" && $CC -fPIE -pie "$T/main.c" -o "$T/allocates" &&
    LD_PRELOAD="$T/liballocates.so" "$T/allocates" >"$T/host" && (export LD_PRELOAD="$T/liballocates.so" && exec "$B/pm_run" -n 2 "$T/allocates") >"$T/out" 2>"$T/err" && test "$(grep -cx 'from libc' "$T/out")" = 2
}
# What a program was linked with and opens again is its own, by path or by name; each process has another.
linked_libraries_are_opened_once() {
  printf 'int count;\nint counted(void) { return ++count; }\n' | $CC -shared -fPIC -x c - -Wl,-soname,libcounts.so -o "$T/libcounts.so" &&
    printf '#include <dlfcn.h>\n#include <stdio.h>\nint counted(void);\nint main(int argc, char **argv) {\n  (void)argc;\n  counted();\n  for (int i = 1; i < 3; i++) {\n    void *library = dlopen(argv[i], RTLD_NOW);\n    int (*again)(void) = library ? (int (*)(void))dlsym(library, "counted") : NULL;\n    if (!again || dlsym(library, "puts") == NULL) return 1;\n    printf("%%d\\n", again());\n    if (dlclose(library)) return 1;\n  }\n  return 0;\n}\n' >"$T/main.c" &&
    $CC -w -fPIE -pie "$T/main.c" "$T/libcounts.so" -Wl,-rpath,"$T" -o "$T/opens" && run -n 2 "$T/opens" "$T/../$(basename "$T")/libcounts.so" libcounts.so && printf '2\n3\n2\n3\n' | diff - "$T/out"
}
# So may what a process loads later have many: each gets them, zero or as the file says, and keeps them.
opened_libraries_have_thread_local_variables() {
  printf 'static __thread int first = 3, many[15360];\nint add(int i, int x) { return (many[i] += x) + first; }\n' | $CC -shared -fPIC -x c - -o "$T/many.so" &&
    printf '#include <dlfcn.h>\n#include <pmi.h>\n#include <pthread.h>\n#include <stdio.h>\nstatic int (*add)(int, int);\nstatic __thread int own = 40;\nstatic void *other(void *x) {\n  return own++ == 40 && add(15359, 1) == 4 ? x : NULL;\n}\nint main(int argc, char **argv) {\n  int spawned, rank;\n  pthread_t thread;\n  void *end = argv, *library;\n  PMI_Init(&spawned);\n  PMI_Get_rank(&rank);\n  own += rank;\n  library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;\n  if (!library) return puts(dlerror()), 1;\n  *(void **)(void *)&add = dlsym(library, "add");\n  PMI_Barrier();\n  add(15359, rank);\n  pthread_create(&thread, NULL, other, end);\n  pthread_join(thread, &end);\n  PMI_Barrier();\n  printf("%%d\\n", add(15359, 0) == rank + 3 && add(0, 0) == 3 && own == 40 + rank && end);\n  return 0;\n}\n' >"$T/main.c" &&
    $CC -w -fPIE -pie "-I$B/include" "$T/main.c" -o "$T/opens" "-L$B/lib" -lpmi && run -n 3 "$T/opens" "$T/many.so" && printf '1\n1\n1\n' | diff - "$T/out"
}
# What a process opens is its own: variables, thread-local ones too, what the library needs, destructors at the end;
# it finds the program's functions, and dlerror says what is not there.
opened_libraries_are_private() {
  printf 'int base = 40;\nint more(void) { return ++base; }\n' | $CC -shared -fPIC -x c - -Wl,-soname,libmore.so -o "$T/libmore.so" &&
    printf '#include <stdio.h>\nint more(void), whose(void);\nstatic int count = 5;\nstatic __thread int mine = 7;\n__attribute__((constructor)) static void begin(void) { count += whose(); }\n__attribute__((destructor)) static void end(void) { printf("%%d ends %%d\\n", whose(), count); }\nint counted(void) { return (mine += 100) + (count += 10) + more(); }\n' >"$T/plugin.c" &&
    $CC -shared -fPIC "$T/plugin.c" "$T/libmore.so" -Wl,-rpath,"$T" -o "$T/plugin.so" &&
    printf '#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <pmi.h>\n#include <unistd.h>\nstatic int me;\nint whose(void) { return me; }\nint main(int argc, char **argv) {\n  int is_first, (*counted)(void), (*more)(void);\n  (void)argc;\n  PMI_Init(&is_first);\n  PMI_Get_rank(&me);\n  void *no = dlopen("./none.so", RTLD_NOW);\n  printf("%%d %%s\\n", me, no ? "?" : dlerror());\n  void *library = dlopen(argv[1], RTLD_NOW), *again = dlopen(argv[1], RTLD_LAZY);\n  if (!library || library != again || dlsym(RTLD_DEFAULT, "counted")) return 1;\n  counted = (int (*)(void))dlsym(library, "counted");\n  more = (int (*)(void))dlsym(library, "more");\n  for (int i = 0; i < 3; i++) {\n    const int x = counted();\n    usleep(10);\n    printf("%%d %%d\\n", me, x);\n  }\n  printf("%%d more %%d\\n", me, more());\n  return dlclose(library);\n}\n' >"$T/main.c" &&
    $CC -w -fPIE -pie -rdynamic "-I$B/include" "$T/main.c" -o "$T/opens" "-L$B/lib" -lpmi && run -n 3 "$T/opens" "$T/plugin.so" || return 1
  for r in 0 1 2; do
    printf '%d ./none.so: cannot open shared object file: No such file or directory\n%d %d\n%d %d\n%d %d\n%d more 44\n%d ends %d\n' $r $r $((163 + r)) $r $((274 + r)) $r $((385 + r)) $r $r $((35 + r))
  done >"$T/expected"
  sort "$T/expected" >"$T/sorted" && sort "$T/out" | diff "$T/sorted" -
}
# Whatever the order in which a program names its libraries: a constructor finds those made that it needs, a destructor
# still finds them; linked or opened, also where two need each other.
constructors_find_what_they_need() {
  printf '#include <stdio.h>\nint made;\n__attribute__((constructor)) static void begin(void) { puts("base begins"), made = 1; }\n__attribute__((destructor)) static void end(void) { puts("base ends"), made = 0; }\n' | $CC -shared -fPIC -x c - -Wl,-soname,libbase.so -o "$T/libbase.so" &&
    printf '#include <stdio.h>\nextern int made;\nint peer(void), user(void);\n__attribute__((constructor)) static void begin(void) { printf("%%s begins: %%d\\n", WHO, made); }\n__attribute__((destructor)) static void end(void) { printf("%%s ends: %%d\\n", WHO, made); }\nint WHAT(void) { return made; }\n' >"$T/user.c" &&
    $CC -shared -fPIC -DWHO='"peer"' -DWHAT=peer "$T/user.c" "$T/libbase.so" -Wl,-soname,libpeer.so -o "$T/libpeer.so" &&
    $CC -shared -fPIC -DWHO='"user"' -DWHAT=user "$T/user.c" -Wl,--no-as-needed "$T/libpeer.so" "$T/libbase.so" -Wl,-rpath,"$T",-soname,libuser.so -o "$T/libuser.so" &&
    $CC -shared -fPIC -DWHO='"peer"' -DWHAT=peer "$T/user.c" -Wl,--no-as-needed "$T/libuser.so" "$T/libbase.so" -Wl,-rpath,"$T",-soname,libpeer.so -o "$T/libpeer.so" &&
    printf '#include <dlfcn.h>\n#include <stdio.h>\nint main(int argc, char **argv) {\n  puts("main");\n  return argc > 1 && !dlopen(argv[1], RTLD_NOW);\n}\n' >"$T/main.c" || return 1
  $CC -fPIE -pie -Wl,--no-as-needed "$T/main.c" "$T/libbase.so" "$T/libpeer.so" "$T/libuser.so" -Wl,-rpath,"$T" -o "$T/linked" &&
    $CC -shared -fPIC -x c /dev/null -x none -Wl,--no-as-needed "$T/libbase.so" "$T/libuser.so" -Wl,-rpath,"$T" -o "$T/all.so" && $CC -fPIE -pie "$T/main.c" -o "$T/opens" || return 1
  for p in linked "opens $T/all.so"; do
    # shellcheck disable=SC2086
    "$T/"$p >"$T/host" && test "$(grep -c 'begins: 1' "$T/host")" = 2 && run -n 1 "$T/"$p && diff "$T/host" "$T/out" || return 1
  done
}
# What the launcher is made of is not the program's: its C++ (a stream, deleted by its base, is of the program's
# libstdc++) and the libraries in the NIC's simulator.
launchers_libraries_are_not_the_programs() {
  printf '#include <sstream>\nextern "C" int many() {\n  int n = 0;\n  for (int i = 0; i < 1000; i++) {\n    std::ostream *o = new std::ostringstream;\n    *o << i;\n    n += (int)o->tellp();\n    delete o;\n  }\n  return n;\n}\n' | g++ -shared -fPIC -x c++ - -o "$T/libmany.so" &&
    printf 'int LZ4_versionNumber(void) { return 1; }\nint fastlz_compress(void) { return 2; }\n' | $CC -shared -fPIC -x c - -o "$T/liblz.so" &&
    printf '#include <stdio.h>\nint many(void), LZ4_versionNumber(void), fastlz_compress(void);\nint main(void) { return printf("%%d %%d\\n", many(), LZ4_versionNumber() + fastlz_compress()) < 0; }\n' >"$T/main.c" &&
    $CC -fPIE -pie "$T/main.c" "$T/libmany.so" "$T/liblz.so" -Wl,-rpath,"$T" -o "$T/streams" && run -n 2 "$T/streams" && printf '2890 3\n2890 3\n' | diff - "$T/out"
}
main_may_lie_in_a_library() { # code_saturne's: the program has none
  printf '#include <stdio.h>\nint main(int argc, char **argv) { return printf("%%d %%s\\n", argc, argv[1]) < 0; }\n' | $CC -shared -fPIC -x c - -o "$T/libmain.so" &&
    $CC -pie -Wl,--no-as-needed "$T/libmain.so" -Wl,-rpath,"$T" -o "$T/empty" && run -n 2 "$T/empty" --level && printf '2 --level\n2 --level\n' | diff - "$T/out"
}
# In all the ways of dlopen, dlsym and dlerror: what is said is the host's, in each of three processes.
libraries_are_opened_as_on_the_host() {
  o=$(cd "$B/tests/model/opens" && pwd) && "$o/opens" "$o" >"$T/host" && test "$(wc -l <"$T/host")" = 23 &&
    run -n 1 "$o/opens" "$o" && diff "$T/host" "$T/out" && run -n 3 "$o/opens" "$o" && cat "$T/host" "$T/host" "$T/host" | sort >"$T/three" && sort "$T/out" | diff "$T/three" -
}
# One executable, three processes: its handlers run in order, inside of each.
what_a_process_asks_about_itself_is_its_own() { run -n 3 --per-node 3 --stack 128 "$B/tests/model/guest_itself" one && test "$(grep -cx '[012] knows itself' "$T/out")" = 3; }
handlers_of_crashes_are_called() {
  run -n 2 "$B/tests/model/guest_itself" handled
  test $? = 7 && ! run -n 2 "$B/tests/model/guest_itself" twice && grep 'process . (node .): SIGSEGV at address 0x2b' "$T/err" && test "$(grep -cx again "$T/out")" = 1
}
stacks_of_handlers_hide_no_overflow() {
  run -n 2 "$B/tests/model/guest_state" overflow
  test $? = 100 && grep 'process 1 (node 1) overflowed its stack' "$T/err"
}
quick_exit_calls_its_handlers() {
  run -n 2 "$B/tests/model/guest_itself" quick
  test $? = 5 && test "$(grep -cx 'quick handler' "$T/out")" = 2
}
alarms_ring_in_simulated_time() {
  alarms=$B/tests/model/guest_alarms
  "$alarms" >"$T/host" && run -n 1 "$alarms" && diff "$T/host" "$T/out" && run -n 3 "$alarms" exact || return 1
  for line in 'sleep took 1000 ms' 'every took 110 ms' 'waits took 100 ms' 'blocked took 70 ms' 'ignored 0'; do test "$(grep -cx "$line" "$T/out")" = 3 || { echo "$line"; cat "$T/out"; return 1; }; done
  ! grep late "$T/out" || return 1
  run -n 2 "$alarms" die
  test $? = 142 && grep '^pm_run: process 0 ended by signal 14' "$T/err"
}
ordinary_executables_run() {
  run -n 3 "$B/tests/model/guest_ordinary" -a -b x rest
  test $? = 4 || return 1
  for r in 0 1 2; do
    set -- even odd even && shift $r
    printf '%d of 3 %s options 12 rest rest\n%d status %d %s\n%d last handler 0\n%d early handler 1\n%d destructor 2\n' $r $1 $r "$(echo 0 3 4 | cut -d' ' -f$((r + 1)))" $1 $r $r $r
  done >"$T/expected"
  sort "$T/expected" >"$T/wanted" && sort "$T/out" | diff "$T/wanted" - && grep '^1 ' "$T/out" >"$T/of_1" && grep '^1 ' "$T/expected" | diff - "$T/of_1"
}
getopt_is_as_on_the_host() {
  "$B/tests/model/guest_getopt" 3000 >"$T/host" 2>"$T/host_err" && run "$B/tests/model/guest_getopt" 3000 && diff "$T/host" "$T/out" && sed '$d' "$T/err" | diff "$T/host_err" -
}
libc_state_is_private() {
  b=$(cd "$B" && pwd) && mkdir "$T/in" && (cd "$T/in" && timeout 300 "$b/pm_run" -n 3 "$b/tests/model/guest_state" >../out 2>../err) && sort "$T/out" >"$T/sorted" &&
    printf 'state of %d is its own\n' 0 1 2 | diff - "$T/sorted" && test "$(cat "$T/in/folder_2/inside")" = 2 && grep '^pm_run: process . *: fork: .*refused' "$T/err"
}
# Environment, stdin and signals of a command are those of the process that starts it.
commands_run_on_the_host() {
  printf '12345\n' | timeout 300 "$B/pm_run" -n 3 "$B/tests/model/guest_state" commands >"$T/out" 2>"$T/err" && sort "$T/out" >"$T/sorted" && printf 'END OF %d\n' 0 1 2 | diff - "$T/sorted" &&
    ! grep 'Broken pipe\|fclose' "$T/err" && grep '^pm_run: process .: fork: .*refused (ENOSYS)' "$T/err"
}
stdin_is_closed_by_its_process() { printf '12345\nmore\n' | timeout 300 "$B/pm_run" -n 3 "$B/tests/model/guest_state" input >"$T/out" 2>"$T/err" && test "$(grep -cx 'its own stdin' "$T/out")" = 3; }
first_descriptors_are_private() {
  mkdir -p "$T/descriptors" && printf '12345\n' | timeout 300 "$B/pm_run" -n 3 --prefix "$B/tests/model/guest_state" descriptors "$T/descriptors" >"$T/out" 2>"$T/err" && LC_ALL=C sort "$T/out" >"$T/sorted" &&
    printf '%s\n' '[0] after 0' '[0] before 0' 'end 0' '[1] after 1' '[1] before 1' 'end 1' '[2] after 2' '[2] before 2' 'end 2' '[2] raw' '[2] stream' command | LC_ALL=C sort | diff - "$T/sorted"
}
# As root the program runs as nobody, where that one may read it.
users_of_portals_are_those_of_the_host() {
  printf '#include <portals4.h>\n#include <unistd.h>\nint main(void) {\n  ptl_handle_ni_t ni;\n  ptl_uid_t uid;\n  return PtlInit() || PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) || PtlGetUid(ni, &uid) || uid != geteuid();\n}\n' >"$T/main.c" &&
    $CC -fPIE -pie "-I$B/include" "$T/main.c" -o "$T/owner" "-L$B/lib" -lportals || return 1
  as=
  [ "$(id -u)" != 0 ] || ! setpriv --reuid 65534 test -x "$T/owner" -a -x "$B/pm_run" || as='setpriv --reuid 65534'
  # shellcheck disable=SC2086
  $as "$B/pm_run" -n 2 "$T/owner"
}
pmi_is_whole() { run -n 5 --per-node 2 "$B/tests/model/guest_pmi" && test "$(grep -c 'PMI of . is right' "$T/out")" = 5 && grep 'PMI_Spawn_multiple: .*refused' "$T/err"; }
ends_by_other_ways() {
  state=$B/tests/model/guest_state
  run -n 3 "$state" err
  test $? = 2 && test "$(grep -c goodbye "$T/err")" = 3 && grep 'pm_run: process 1 ended with status 1' "$T/err" || return 1
  run -n 3 "$state" _exit
  test $? = 2 || return 1
  run -n 2 "$state" signal
  test $? = 100 && grep 'process 1 ended by signal 15 (Terminated)' "$T/err" || return 1
  run -n 2 "$state" stop && grep '^pm_run: process 1 called PMI_Abort(0) at .* us: done' "$T/err"
}
full_disk_is_noticed() {
  for kind in csv html json paje; do
    ln -sf /dev/full "$T/full.$kind" && run -n 3 --trace "$T/full.$kind" "$guest"
    test $? = 2 && grep "^pm_run: .*full.$kind: No space left on device" "$T/err" || return 1
  done
  timeout 300 "$B/pm_run" -n 3 "$guest" >/dev/full 2>"$T/err"
  test $? = 2 && grep '^pm_run: .*No space left on device' "$T/err" || return 1
  timeout 300 "$B/pm_run" --sweep n=1,3 "$guest" >/dev/full 2>"$T/err"
  test $? = 2 && grep '^pm_run: .*No space left on device' "$T/err"
}
not_a_program_is_refused() {
  printf 'int main(void) { return 0; }\n' >"$T/main.c"
  $CC -static-pie -fPIE "$T/main.c" -o "$T/static" && ! run "$T/static" && grep '^pm_run: .*statically linked' "$T/err" &&
    ! run tests/test.sh && grep '^pm_run: tests/test.sh: not a program' "$T/err" && ! run "$T" && grep 'is a folder' "$T/err" &&
    mkdir "$T/in_path" && printf '#!/bin/sh\n' >"$T/in_path/a_script" && chmod +x "$T/in_path/a_script" && ! (PATH=$T/in_path:$PATH; run a_script) && grep '^pm_run: a_script: not a program' "$T/err" &&
    head -c 3000 "$B/tests/model/guest_ordinary" >"$T/cut" && ! run "$T/cut" && grep '^pm_run: .*cut: ' "$T/err"
}
# GCC's are libraries, clang's are in the program.
sanitizers_are_refused() {
  printf 'int of_library(void) { return 0; }\n' | $CC -shared -fPIC -x c - -Wl,-soname,libasan.so.99 -o "$T/libasan.so.99" &&
    printf 'int of_library(void);\nint main(void) { return of_library(); }\n' >"$T/main.c" && $CC -fPIE -pie "$T/main.c" "$T/libasan.so.99" -Wl,-rpath,"$T" -o "$T/with_library" &&
    printf 'void __tsan_init(void) {}\nint main(void) { return 0; }\n' >"$T/main.c" && $CC -w -fPIE -pie -rdynamic "$T/main.c" -o "$T/within" || return 1
  ! run "$T/with_library" && grep 'with_library: made with AddressSanitizer, which does not run here' "$T/err" && ! run "$T/within" && grep 'within: made with ThreadSanitizer' "$T/err"
}
# NAME, and what is said of it
library_is_refused() {
  printf 'int of_library(void) { return 0; }\n' | $CC -shared -fPIC -x c - -Wl,-soname,"$1" -o "$T/$1" &&
    printf 'int of_library(void);\nint main(void) { return of_library(); }\n' >"$T/main.c" && $CC -fPIE -pie "$T/main.c" "$T/$1" -Wl,-rpath,"$T" -o "$T/with_library" || return 1
  ! run "$T/with_library" && grep "with_library: needs $1: $2" "$T/err"
}
open_mpis_openshmem_is_refused() { library_is_refused liboshmem.so.40 "Open MPI's OpenSHMEM"; }
musls_libc_is_refused() { library_is_refused libc.so "musl's libc" && rm "$T/libc.so" && library_is_refused libc.musl-x86_64.so.1 "musl's libc"; }
# The name is said before the program runs, and when it is called.
missing_functions_are_named() {
  printf 'int is_in_no_library(int);\nint main(int argc, char **argv) { (void)argv; return argc > 1 ? is_in_no_library(3) : 0; }\n' >"$T/main.c"
  printf 'int is_in_no_library(int x) { return x; }\n' | $CC -shared -fPIC -x c - -Wl,-soname,libmpi.so.40 -o "$T/libnone.so" &&
    $CC -fPIE -pie "$T/main.c" "$T/libnone.so" -o "$T/misses" && run "$T/misses" && grep 'missing here, a call ends the run: is_in_no_library$' "$T/err" || return 1
  run "$T/misses" call
  test $? = 100 && grep 'is_in_no_library was called, which is missing here' "$T/err" || return 1
  # An MPI's Fortran library names all that its MPI has: told when it is called
  printf 'int is_in_no_library(int);\nint of_fortran(int x) { return is_in_no_library(x); }\n' | $CC -shared -fPIC -x c - -x none "$T/libnone.so" -Wl,-soname,libmpi_mpifh.so.99 -o "$T/libmpi_mpifh.so.99" &&
    printf 'int of_fortran(int);\nint main(int argc, char **argv) { (void)argv; return argc > 1 ? of_fortran(3) : 0; }\n' >"$T/main.c" &&
    $CC -fPIE -pie "$T/main.c" "$T/libmpi_mpifh.so.99" -Wl,-rpath,"$T" -Wl,--allow-shlib-undefined -o "$T/fortran" && run "$T/fortran" && ! grep 'missing here' "$T/err" || return 1
  run "$T/fortran" call
  test $? = 100 && grep 'is_in_no_library was called, which is missing here' "$T/err"
}
# Each of 4,200 missing functions is named when it is called, the first as the last; so is a missing one of MPI.
many_missing_functions_are_named() {
  awk 'BEGIN { for (i = 0; i < 4200; i++) printf "int none_%d(void) { return 0; }\n", i; print "int MPI_Is_in_no_standard(void) { return 0; }" }' | $CC -O0 -shared -fPIC -x c - -Wl,-soname,libmpi.so.40 -o "$T/libmany.so" &&
    awk 'BEGIN { print "#include <stdlib.h>"; for (i = 0; i < 4200; i++) printf "int none_%d(void);\n", i
      print "int MPI_Is_in_no_standard(void);\nint main(int argc, char **argv) {\n  switch (argc > 1 ? atoi(argv[1]) : -1) {"
      for (i = 0; i < 4200; i++) printf "  case %d: return none_%d();\n", i, i
      print "  case 4200: return MPI_Is_in_no_standard();\n  default: return 0;\n  }\n}" }' | $CC -O0 -fPIE -pie -x c - -x none "$T/libmany.so" -o "$T/many" &&
    run "$T/many" && grep -q 'missing here, a call ends the run: .*MPI_Is_in_no_standard' "$T/err" || return 1
  tr ' ' '\n' <"$T/err" | sed -n 's/^none_//p' >"$T/names" # in the loader's order
  test "$(wc -l <"$T/names")" = 4200 || return 1
  for i in $(sed -n '1p; 2p; 4095,4097p; $p' "$T/names"); do
    run "$T/many" $i
    test $? = 100 && grep "none_$i was called, which is missing here" "$T/err" || return 1
  done
  run "$T/many" 4200
  test $? = 100 && grep 'MPI_Is_in_no_standard was called, which is missing here' "$T/err"
}
# 1,000 waits for memory: a tick of the clock for the first, microseconds for the others; the same each time (of one kind, TEST_MORE=1: of all)
# shellcheck disable=SC3045 # dash and bash have ulimit -t
remembered() { # WHAT...: in CPU time, since one that is forgotten costs 10 s of it
  (ulimit -t 30 && exec "$B/pm_run" -n 2 --spin 10000 "$B/tests/model/guest_spin" 1000 "$@") >"$T/out" 2>"$T/first" && grep -x '1000 turns, sum 17.794' "$T/out" || return 1
  [ -n "$1" ] && [ -z "$TEST_MORE" ] || { run -n 2 --spin 10000 "$B/tests/model/guest_spin" 1000 "$@" && diff "$T/first" "$T/err"; }
}
spins_are_remembered() { remembered; }
waits_among_words_are_remembered() { remembered among; } # the place that waits is passed eight times in each round
waits_that_write_are_remembered() { remembered locked; } # the lock and the copy are as they were when a round has ended
text_of_others_gets_no_traps() { run -n 2 "$B/tests/model/guest_spin" foreign && sort "$T/out" | tr '\n' ' ' | grep -x '0 calls 2000001 calls '; }
steps_without_a_reason_move_nothing() { run -n 1 "$B/tests/model/guest_spin" step && grep -x 'step: 0' "$T/out"; }
counting_in_memory_is_no_wait() { run -n 2 "$B/tests/model/guest_spin" count && test "$(grep -cx 'counted to 10000000' "$T/out")" = 2; }
# Registers are the same in every round: what the round wrote tells that nobody waits, and no time passes
counting_of_every_kind_is_no_wait() {
  run -n 18 "$B/tests/model/guest_counts" && test "$(grep -c ': right$' "$T/out")" = 18 && sed -n 's/.*processes, \(.*\) us simulated/\1/p' "$T/err" | awk '$1 >= 1 { exit 1 }'
}
semantics_are_set() {
  run --semantics pt_any_lowest --semantics setmap_again=2 -n 2 "$guest" || return 1
  printf '#include <portals4.h>\n#include <stdio.h>\nint main(void) {\n  ptl_handle_ni_t ni;\n  ptl_ni_limits_t limits;\n  PtlInit();\n  PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, &limits, &ni);\n  return printf("%%d %%d\\n", limits.max_cts, limits.max_entries) < 0;\n}\n' >"$T/main.c" &&
    $CC -fPIE -pie "-I$B/include" "$T/main.c" -o "$T/limits" "-L$B/lib" -lportals && run --semantics max_cts=4096 "$T/limits" && grep -x '4096 4080' "$T/out" || return 1
  for s in none pt_any_lowest=3 setmap_again=x max_cts=65536 max_cts; do ! run --semantics $s "$guest" && grep '^pm_run: --semantics: ' "$T/err" || return 1; done
}
faults_are_read() {
  printf '# slow\nslow_node 1\nslow_ratio 3 # times\ndelay_ratio 1\ndelay_ns 100000\n' >"$T/faults"
  run -n 3 "$guest" && cp "$T/err" "$T/first" && run -n 3 --faults "$T/faults" "$guest" && ! diff "$T/first" "$T/err" || return 1
  for f in 'loss_ratio 2' 'nonsense 1' 'loss_ratio' 'loss_ratio x' 'down_node 0.5' 'down_node 1' 'slow_node 1' 'delay_ratio 0.5'; do
    echo "$f" >"$T/faults" && ! run -n 3 --faults "$T/faults" "$guest" && grep '^pm_run: --faults' "$T/err" || return 1
  done
  printf 'slow_node 3\nslow_ratio 2\n' >"$T/faults" && ! run -n 3 --faults "$T/faults" "$guest" && grep '^pm_run: --faults' "$T/err" || return 1
  echo 'nonsense 1' >"$T/faults" && ! run -n 3 --faults "$T/faults" "$guest" && grep -q 'restart (.*# comment$' "$T/err" || return 1 # what there is, to the end
  # What says nothing, and what is said twice
  for f in 'slow_ratio 3@1: slow_ratio: slow_node is missing' 't_down_ns 5@1: t_down_ns: down_node is missing' 'd_down_ns 5@1: d_down_ns: down_node is missing' 'delay_ns 5@1: delay_ns: delay_ratio is missing' 'down_node 1\nt_down_ns 5@1: down_node: d_down_ns is missing' \
    'loss_ratio 0.1\n\nloss_ratio 0.1@3: loss_ratio: line 1 has said it already' 'down_node 1\nd_down_ns 0@2: d_down_ns: 0: down for no time'; do
    printf "${f%@*}\n" >"$T/faults" && ! run -n 3 --faults "$T/faults" "$guest" && grep "^pm_run: --faults: $T/faults, line ${f#*@}" "$T/err" || { echo "$f"; return 1; }
  done
  printf 'delay_ratio 0\nslow_node 1\nslow_ratio 0.5\n' >"$T/faults" && run -n 3 --faults "$T/faults" "$guest" || return 1
  echo 'loss_ratio 1' >"$T/faults"
  run -n 3 --faults "$T/faults" "$guest"
  test $? = 100 && grep '^  messages that could not be delivered: 1$' "$T/err"
}
outages_are_read() { # a node's link, by its name, its number and its other direction: lost, and sent again; later: nothing
  run -n 5 "$guest" && tail -1 "$T/err" >"$T/first" || return 1
  for o in 'node 3' 'link node 3 up' 'link node 3 down # both ways' 'link 7'; do
    echo "outage 1000000 500000 $o" >"$T/faults" && run -n 5 --faults "$T/faults" "$guest" && ! tail -1 "$T/err" | diff - "$T/first" >/dev/null || { echo "$o"; return 1; }
    echo "$o" | grep -q '#' || { echo "outage 900000000 500000 $o" >"$T/faults" && run -n 5 --faults "$T/faults" "$guest" && tail -1 "$T/err" | diff - "$T/first"; } || return 1
  done
  for f in 'outage 1 2 link nowhere' 'outage 1 2 link 10' 'outage 1 2 node 5' 'outage 1 2' 'outage -1 2 node 1' 'outage 1 2 node 1x' 'outage 1 2 cable 1' 'delay_ns 1e300' 'outage 1 2 node 1 restart' 'outage 1 2 node 1 freezes' 'outage 1 2 node 1stop'; do
    printf '\n%s\n' "$f" >"$T/faults" && ! run -n 5 --faults "$T/faults" "$guest" && grep '^pm_run: --faults.* line 2: ' "$T/err" || return 1
  done
}
nodes_crash_and_stand_still() {
  run -n 5 "$guest" && tail -1 "$T/err" >"$T/first" || return 1
  for k in stop freeze; do
    echo "outage 1000 5000000 node 3 $k " >"$T/faults" && run -n 5 --faults "$T/faults" "$guest" && ! tail -1 "$T/err" | diff - "$T/first" >/dev/null || { echo $k; return 1; }
  done
  echo 'outage 0 0 node 3 stop' >"$T/faults" && ! run -n 5 --faults "$T/faults" "$guest" && grep 'process 3 (node 3, which stands still) waits: its beginning$' "$T/err" || return 1
  echo 'outage 0 0 node 3 crash' >"$T/faults" && ! run -n 5 --faults "$T/faults" "$guest" && grep 'process 3 .*status 137' "$T/err" || return 1
  for f in "$T" /proc/self/mem; do ! run -n 5 --faults "$f" "$guest" && grep '^pm_run: --faults: ' "$T/err" || return 1; done
  printf 'loss_ratio 0.6\ncorrupt_ratio 0.6\n' >"$T/faults" && ! run -n 5 --faults "$T/faults" "$guest" && grep 'more than 1 together' "$T/err"
}
jitter_comes_from_the_seed() {
  for seed in 1 1 2; do run -n 3 --jitter 5000 --seed $seed "$guest" && cp "$T/err" "$T/jitter$seed" || return 1; done
  run -n 3 --jitter 5000 --seed 1 "$guest" && diff "$T/jitter1" "$T/err" && ! diff "$T/jitter1" "$T/jitter2" || return 1
  for seed in 1 1 2; do run -n 3 --jitter 0,500 --seed $seed "$guest" && cp "$T/err" "$T/noise$seed" || return 1; done # of each call
  run -n 3 --jitter 0,500 --seed 1 "$guest" && diff "$T/noise1" "$T/err" && ! diff "$T/noise1" "$T/noise2" && run -n 3 "$guest" && ! diff "$T/noise1" "$T/err" || return 1
  for j in , 5, 5,x 5,-1 5,6,7 x; do ! run -n 3 --jitter $j "$guest" && grep '^pm_run: --jitter: ' "$T/err" || return 1; done
}
# A lock of the host that nobody opens: named while the run stands still.
# One process computes for ever, the others wait for it: who asks is told, as often as wanted.
who_waits_is_told_when_asked() {
  printf '#include <pmi.h>\n#include <stdio.h>\n#include <unistd.h>\nstatic volatile int turns = 1;\nint compute_on(void) {\n  while (turns) turns = turns %% 1000 + 1;\n  return 0;\n}\nint main(void) {\n  int spawned, rank;\n  PMI_Init(&spawned);\n  PMI_Get_rank(&rank);\n  if (rank == 1) usleep(5);\n  if (rank == 1 && write(1, "begun\\n", 6) == 6) return compute_on();\n  return PMI_Barrier();\n}\n' >"$T/main.c" &&
    $CC -fPIE -pie -I"$B/include" "$T/main.c" -o "$T/asked" -rdynamic -L"$B/lib" -lpmi || return 1
  : >"$T/out" && : >"$T/err" # they are looked at before the other process may have made them
  "$B/pm_run" -n 3 "$T/asked" >"$T/out" 2>"$T/err" &
  pid=$! asked=0
  while [ "$(grep -c 'runs in compute_on+0x' "$T/err")" -lt 3 ] && [ $asked -lt 1200 ] && kill -0 $pid 2>/dev/null; do
    grep -q begun "$T/out" && kill -QUIT $pid
    sleep 0.1
    asked=$((asked + 1))
  done
  kill $pid
  wait $pid 2>/dev/null
  test "$(grep -c '^  process 1 (node 1) runs in compute_on+0x' "$T/err")" -ge 2 && test "$(grep -c '^  process [02] (node .) waits: pm_barrier, ran last at [01]\.[0-9]* us$' "$T/err")" -ge 4 && grep '^pm_run: at [0-9.]* us:$' "$T/err"
}
who_blocks_the_host_is_named() {
  said='pm_run: process 1 blocks the whole run, and has for a second, in fcntl (a lock of a file?)'
  timeout 300 "$B/pm_run" -n 2 "$B/tests/model/guest_state" block >"$T/out" 2>"$T/err" & blocked=$!
  for _ in $(seq 600); do
    if grep -qxF "$said" "$T/err" || ! kill -0 $blocked 2>/dev/null; then break; fi
    sleep 0.1
  done
  kill $blocked 2>/dev/null
  wait $blocked 2>/dev/null
  grep -xF "$said" "$T/err"
}
kernels_are_models() {
  printf 'heavy m=1 n=*2 k=3 mnk=1e-9 one=4e-6 # 6 + 4 us\nheavy node=1 one=1e-3\n' >"$T/kernels"
  run -n 2 --kernels "$T/kernels" "$B/tests/model/guest_kernels" && grep -x '0: heavy 0 took 10000 ns' "$T/out" && grep -x '1: heavy 0 took 1000000 ns' "$T/out" && grep '^pm_run: heavy on node 1: 1 calls' "$T/err" &&
    grep 'large is mine, small is mine: 1' "$T/out" && grep '^pm_run: heavy: 1 calls' "$T/err" && run -n 1 "$B/tests/model/guest_kernels" && grep -x '0: heavy 6007 took 0 ns' "$T/out" || return 1
  echo 'heavy m=1 one=1e-6 result=41' >"$T/kernels" && run -n 1 --kernels "$T/kernels" "$B/tests/model/guest_kernels" && grep -x '0: heavy 41 took 1000 ns' "$T/out" &&
    echo 'heavy m=1 one=1e-6 result=any' >"$T/kernels" && run -n 4 --kernels "$T/kernels" "$B/tests/model/guest_kernels" && test "$(sed -n 's/.: heavy \([0-9]*\) took 1000 ns/\1/p' "$T/out" | awk '$1 >= 1 && $1 <= 10000 { n[$1] } END { print length(n) }')" -gt 1 || return 1
  for k in 'heavy result=x' 'heavy result=' 'heavy m' 'heavy m=x' 'heavy m=*0' 'heavy mode=1,2' 'heavy nonsense=1' 'heavy m=4294967297' 'heavy node=4294967296' 'heavy one=nan' 'heavy mode=1,inf,1'; do
    echo "$k" >"$T/kernels" && ! run --kernels "$T/kernels" "$B/tests/model/guest_kernels" && grep '^pm_run: --kernels: .*line 1: ' "$T/err" || return 1
  done
  # What no time can be, and what is said twice
  for k in 'mnk: a number:mnk=-1' 'one: a number:one=-1e-6' 'one: a number:one=' 'sigma: a number:sigma=-1' 'sigma_mn: a number:sigma_mn=-1' 'mode: WEIGHT:mode=-1,1,0' 'mode: WEIGHT:mode=0,1,0' 'mode: WEIGHT:mode=1,-3,0' 'mode: WEIGHT:mode=1,0,0' 'mode: WEIGHT:mode=1,1,-1' 'mode: WEIGHT:mode=1,1,0,1' 'mode: more than 4:mode=1,1,0 mode=1,2,0 mode=1,3,0 mode=1,4,0 mode=1,5,0' \
    'm: stands twice:m=1 m=2' 'one: stands twice:mode=1,1,0 one=1 mode=1,1,0 one=2' 'result: stands twice:result=1 result=any' 'node: stands twice:node=1 node=1' 'result: a number:result=-3' 'm: an argument:m=0'; do
    printf '\nheavy %s\n' "${k##*:}" >"$T/kernels" && ! run --kernels "$T/kernels" "$B/tests/model/guest_kernels" && grep "^pm_run: --kernels: $T/kernels, line 2: ${k%:*}" "$T/err" || { echo "$k"; return 1; }
  done
  for k in 'heavy one=1' 'heavy node=2 one=1'; do
    printf '%s\nheavy node=3\n%s\n' "$k" "$k" >"$T/kernels" && ! run --kernels "$T/kernels" "$B/tests/model/guest_kernels" && grep "^pm_run: --kernels: $T/kernels, line 3: heavy: line 1 of $T/kernels is for it, too" "$T/err" || return 1
  done
  # each node of many has a line of its own, in any order
  { for i in $(seq 199 -1 0); do echo "heavy node=$i one=$((i + 1))e-6"; done && echo 'heavy one=1'; } >"$T/kernels" && run -n 200 --kernels "$T/kernels" "$B/tests/model/guest_kernels" &&
    test "$(sed -n 's/^\([0-9]*\): heavy 0 took \([0-9]*\)000 ns$/\1 \2/p' "$T/out" | awk '$2 == $1 + 1' | wc -l)" = 200 || return 1
  echo 'heavy node=1 one=1' >"$T/kernels" && ! run --kernels "$T/kernels" "$B/tests/model/guest_kernels" && grep '^pm_run: --kernels: heavy is a model on node 1; ' "$T/err" || return 1
  echo 'no_such_function one=1' >"$T/kernels" && run --kernels "$T/kernels" "$B/tests/model/guest_kernels" && grep 'no_such_function: was not called' "$T/err" && test "$(head -1 "$T/err")" = "pm_run: --kernels: $T/kernels, line 1: no_such_function: neither the program nor what it is linked with has or calls a function of that name" || return 1
  printf 'heavy one=1\nPMI_Barrier\n' >"$T/kernels" && run --kernels "$T/kernels" "$B/tests/model/guest_kernels" && ! grep neither "$T/err" && printf 'int heavy_(int n) { return n; }\nint main(void) { return heavy_(0); }\n' >"$T/main.c" && $CC -O0 -w -fPIE -pie "$T/main.c" -o "$T/main" && run --kernels "$T/kernels" "$T/main" && grep 'line 1: heavy: neither .*; there is heavy_$' "$T/err"
}
# GCC's callers of a known function keep values in registers that it leaves alone; what it does not write holds no result.
registers_are_kept_across_kernels() {
  printf 'quiet m=1 one=1e-6\ntiny one=1e-6\nloud one=1e-6 result=5\n' >"$T/kernels" && run --kernels "$T/kernels" "$B/tests/model/guest_registers" || return 1
  grep -x 'quiet: 0 changed' "$T/out" && grep -x 'zeros: 0 changed' "$T/out" && grep -x 'loud: rax 5' "$T/out" && grep -x 'loud: 0 changed' "$T/out" && grep '^pm_run: quiet: 2 calls, 0.000002 s' "$T/err" && grep '^pm_run: tiny: 1 calls' "$T/err" || return 1
  command -v gcc >/dev/null || return 0
  printf '#include <stdio.h>\n__attribute__((noinline)) void foo(int m) { volatile double x = 0; for (int i = 0; i < m; i++) x += i; }\nint main(void) { foo(1000), foo(1000), foo(-1); }\n' >"$T/main.c"
  gcc -O2 -w -fPIE -pie "$T/main.c" -o "$T/main" && echo 'foo m=1 one=1e-6' >"$T/kernels" && run --kernels "$T/kernels" "$T/main" && grep '^pm_run: foo: 3 calls, 0.000002 s' "$T/err"
}
short_functions_are_refused_as_kernels() {
  printf '\ncramped one=1e-6\n' >"$T/kernels" && ! run --kernels "$T/kernels" "$B/tests/model/guest_registers" &&
    grep "^pm_run: --kernels: $T/kernels, line 2: cramped is too short to be replaced: 1 byte up to what follows it, 7 are needed" "$T/err"
}
memory_is_folded() {
  run -n 3 --fold 1000000 "$B/tests/model/guest_kernels" && test "$(grep -c 'large is folded, small is mine: 1' "$T/out")" -ge 2 && grep '^pm_run: 37.7 MB in 9 pieces were folded onto 67.1 MB' "$T/err" &&
    ! run --fold 1 "$B/tests/model/guest_kernels"
}
# One row per combination, the last key fastest, the same values as single runs; a failed run says why.
# Each size runs once, in whichever process comes first; the models of the file then stand for all.
kernels_are_measured() {
  echo 'heavy m=1 n=2 k=3 result=0 # no times: to be measured' >"$T/kernels"
  run -n 2 --kernels "$T/kernels" --measure-kernels "$T/models" "$B/tests/model/guest_measured" && test "$(sed -n 's/^[01]: ran \([0-3]\), gave \1, wrong 0$/\1/p' "$T/out" | awk '{ s += $1 } END { print s }')" = 3 &&
    grep '^pm_run: heavy: 60 calls' "$T/err" && grep '^heavy m=1 n=2 k=3 mnk=[0-9.e-]* one=[0-9.e-]* sigma=[0-9.e-]* # measured: 3 sizes$' "$T/models" || return 1
  awk '{ for (i = 2; i <= NF; i++) { split($i, v, "="); t[v[1]] = v[2] } exit !(t["mnk"] > 1e-11 && t["mnk"] < 1e-6 && t["one"] >= 0) }' "$T/models" && run -n 2 --kernels "$T/models" "$B/tests/model/guest_measured" && grep -c 'ran 0, gave 0, wrong 0' "$T/out" && grep 'heavy: 60 calls' "$T/err" || return 1
  ! run --measure-kernels "$T/models" "$B/tests/model/guest_measured" && grep 'measure-kernels: --kernels FILE names' "$T/err" || return 1
  ln -sf /dev/full "$T/full.models"
  run --kernels "$T/kernels" --measure-kernels "$T/full.models" "$B/tests/model/guest_measured"
  test $? = 2 && grep 'full.models: No space left on device' "$T/err"
}
# A region runs as often as asked, then passes in one of the times that it took; elsewhere it always runs.
regions_are_sampled() {
  run -n 3 --trace "$T/trace.csv" "$B/tests/model/guest_sample" && test "$(grep -c 'ran 4$' "$T/out")" = 3 &&
    awk -F, '$1 == "COMPUTE" { d = sprintf("%.3f", $9 - $8); if (n[$5]++ < 4) known[$5, d] = 1; else if (!(($5, d) in known)) wrong++ } END { exit wrong || n[0] != 40 || n[1] != 40 || n[2] != 40 }' "$T/trace.csv" && grep '^pm_run: sample body: measured 12 times, .* skipped 108 times$' "$T/err" || return 1
  run -n 3 "$B/tests/model/guest_sample" all && test "$(sed 's/.*ran \([0-9]*\)$/\1/' "$T/out" | awk '{ s += $1 } END { print s }')" = 4 && grep 'measured 4 times, .* skipped 116 times$' "$T/err" || return 1
  run -n 2 "$B/tests/model/guest_sample" sleeps && test "$(grep -c 'ran 40$' "$T/out")" = 2 && grep 'sample body: it communicates or sleeps' "$T/err" || return 1
  run -n 2 --compute 3 "$B/tests/model/guest_sample" && test "$(grep -c 'ran 4$' "$T/out")" = 2 || return 1
  printf '#include <stdio.h>\n#include "pm_sample.h"\nint main(void) {\n  int ran = 0;\n  for (int i = 0; i < 9; i++) PM_SAMPLE("alone", 2) ran++;\n  printf("%%d\\n", ran);\n  return 0;\n}\n' >"$T/main.c" &&
    $CC -Wall -Wextra -Wpedantic -Werror -Itools "$T/main.c" -o "$T/alone" && test "$("$T/alone")" = 9
}
sweep_makes_a_table() {
  run --sweep n=3,5 --sweep level=flow,loggp --jobs 2 "$guest" && test "$(wc -l <"$T/out")" = 5 && cp "$T/out" "$T/table" || return 1
  { echo 3 flow; echo 3 loggp; echo 5 flow; echo 5 loggp; } | while read -r n level; do
    run -n "$n" --level "$level" "$guest" && us=$(sed -n 's/^pm_run: . processes, \(.*\) us simulated/\1/p' "$T/err") &&
      grep -q "^$n	$level	0	$us	$n	.*	token [0-9]* went round $n processes$" "$T/table" || { echo "$n $level $us"; exit 1; }
  done || return 1
  run --sweep n=3,5 --sweep level=flow,loggp --sweep-part 1/3 "$guest" && test "$(wc -l <"$T/out")" = 2 && grep -q '^3	loggp	0' "$T/out" || return 1
  run -n 4 --sweep what=ring,hang,exit --trace "$T/sweep{row}.csv" "$guest" '{what}'
  test $? = 100 && grep -q '^hang	100	.*	pm_run: .*deadlock' "$T/out" && grep -q '^exit	3	' "$T/out" && test -s "$T/sweep0.csv" && test -s "$T/sweep2.csv" || return 1
  run -n 4 --sweep topology=fattree --sweep 'topo=2 2 2 1 2,2 2 2 1 1,1 3 3' --sweep node_count=4 "$guest"
  test $? = 2 && test "$(grep -c '^fattree	2 2 2 1 [12]	4	0	' "$T/out")" = 2 && grep -q '^fattree	1 3 3	4	2	-	-	.*	pm_run: --sweep: topo: the fat tree has 3 nodes' "$T/out" || return 1
  for o in --trace --links --matrix --report; do # one file, or folder, for all of them, but of one run
    rm -rf "$T/one.csv" && ! run --sweep seed=1,2 $o "$T/one.csv" "$guest" && grep "^pm_run: $o: .*one.csv: each run would write it; {row}" "$T/err" && run --sweep seed=1 $o "$T/one.csv" "$guest" || return 1
  done
  for bad in n n= n=1,,2 nonsense=3; do ! run --sweep "$bad" "$guest" && grep '^pm_run: --sweep: ' "$T/err" || return 1; done
  for bad in 3/3 1 x/2; do ! run --sweep n=1 --sweep-part "$bad" "$guest" && grep '^pm_run: --sweep-part: ' "$T/err" || return 1; done
}
sweep_over_a_job_is_one_table() {
  set -- --sweep n=3,5,4 --sweep level=flow,loggp --jobs 1
  run "$@" "$guest" && cut -f 1-5,7- "$T/out" >"$T/wanted" && rm -f "$T/table" || return 1
  for i in 2 0 1; do NBC_RANK=$i NBC_SIZE=3 timeout 300 "$B/pm_run" "$@" --sweep-part job --sweep-table "$T/table" "$guest" 2>"$T/err.$i" & done
  wait
  cut -f 1-5,7- "$T/table" | diff - "$T/wanted" && test "$(cat "$T"/err.? | grep -c 'rows are there$')" = 2 || return 1
  # whole: not written over; another sweep's, or none: not touched
  cp "$T/table" "$T/kept"
  ! run "$@" --sweep-table "$T/table" "$guest" && grep 'this table is whole already' "$T/err" && ! run --sweep n=3,4,5 --sweep-table "$T/table" "$guest" &&
    grep 'is no table of this sweep' "$T/err" && cmp "$T/table" "$T/kept" || return 1
  # killed: rows that are there stay as they are, the first of two, half a line does not count
  { printf 'row\t' && head -1 "$T/kept"; sed -n '4s/^/2\t/p; 6s/^/4\t/p' "$T/kept" | sed 's/round/ROUND/'; sed -n '4s/^/2\t/p' "$T/kept"; printf '1\t3\tlog'; } >"$T/table"
  run "$@" --sweep-table "$T/table" "$guest" && test "$(grep -c ROUND "$T/table")" = 2 && cut -f 1-5,7- "$T/table" | sed 's/ROUND/round/' | diff - "$T/wanted" || return 1
  { printf 'row\t' && head -1 "$T/kept"; printf '2\t4\tflow\t0\t1\t1\t1\tof other values\n'; } >"$T/table"
  ! run "$@" --sweep-table "$T/table" "$guest" && grep 'is the table of another sweep: 2' "$T/err" || return 1
  rm "$T/table" && ! (trap '' XFSZ && ulimit -f 0 && timeout 300 "$B/pm_run" "$@" --sweep-table "$T/table" "$guest" 2>&1) | grep 'output is lost' >/dev/null && return 1
  ! env -u NBC_RANK -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u SLURM_PROCID "$B/pm_run" "$@" --sweep-part job "$guest" 2>"$T/err" && grep '^pm_run: --sweep-part: no launcher' "$T/err"
}
matrix_has_every_pair() {
  for level in flow loggp; do
    run -n 5 --level $level --matrix "$T/matrix.csv" "$guest" ring && printf 'from,to,transfers,bytes\n0,1,1,8\n1,2,1,8\n2,3,1,8\n3,4,1,8\n4,0,1,8\n' | diff - "$T/matrix.csv" || return 1
  done
  run -n 300 --matrix "$T/matrix.html" "$guest" ring && grep '300 pairs, 300 transfers, 2400 bytes' "$T/matrix.html" && grep -q '<title>3..5 to 6..8: 8 bytes, 1 transfers</title>' "$T/matrix.html" && grep -q '</html>' "$T/matrix.html" || return 1
  ln -sf /dev/full "$T/full.csv"
  run -n 2 --matrix "$T/full.csv" "$guest" ring
  test $? = 2 && grep 'full.csv: No space left on device' "$T/err"
}
links_are_drawn() {
  printf 'node_count 16\ntopology fattree\ntopo 2 4 4 1 2\n' >"$T/tree"
  for level in flow packet; do
    run -n 16 --level $level --platform "$T/tree" --links "$T/links.html" --trace "$T/links.json" "$guest" ring && grep -q '</html>' "$T/links.html" &&
      grep -q '<td>node [0-9]* port 0 up<td>' "$T/links.html" && grep -q '"ph":"C","name":"node 0 port 0 ' "$T/links.json" &&
      run -n 16 --level $level --platform "$T/tree" --links "$T/links.csv" "$guest" ring && grep -q '^[0-9]*,0,"node 3 port 0 up",[0-9]' "$T/links.csv" || return 1
  done
  ln -sf /dev/full "$T/full.html"
  run -n 2 --links "$T/full.html" "$guest" ring
  test $? = 2 && grep 'full.html: No space left on device' "$T/err"
}
# How far the simulation is, where the program's output goes elsewhere; into a pipe or a file nothing goes.
shows_how_far_it_is() {
  "$B/pm_run" -n 1 yes >/dev/null 2>"$T/silent" &
  silent=$!
  NBC_PROGRESS=1 "$B/pm_run" -n 1 yes >/dev/null 2>"$T/shown" &
  shown=$!
  tries=0
  until grep -q 'pm_run: .* ms simulated in ' "$T/shown" || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done
  kill $silent $shown # which each says, and nothing else
  wait $silent $shown 2>/dev/null
  grep -q 'pm_run: .* ms simulated in [1-9]' "$T/shown" && ! grep -v ' ended by SIGTERM' "$T/silent"
}
# Virtual machines can be slow with pages to which more than 1,000 addresses lead (see loader.c).
no_page_of_text_has_a_thousand_addresses() {
  cat >"$T/maps.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  static struct { unsigned long inode; int count; } file[100];
  int files = 0, most = 0;
  char line[600], rights[8];
  const char *rank = getenv("PMI_RANK");
  FILE *in = rank && strcmp(rank, "0") == 0 ? fopen("/proc/self/maps", "r") : NULL;
  while (in && fgets(line, sizeof line, in)) {
    unsigned long inode = 0;
    int i = 0;
    if (sscanf(line, "%*s %7s %*s %*s %lu", rights, &inode) != 2 || rights[2] != 'x' || !(strstr(line, "/maps\n") || strstr(line, "memfd:"))) continue;
    while (i < files && file[i].inode != inode) i++;
    if (i == 100) return 1;
    if (i == files) file[files++].inode = inode;
    if (++file[i].count > most) most = file[i].count;
  }
  if (in) printf("%d files, %d mappings of one at most\n", files, most);
  return 0;
}
END
  $CC -O1 -o "$T/maps" "$T/maps.c" && run -n 900 "$T/maps" && grep -x '3 files, 401 mappings of one at most' "$T/out" && # the first text has a pattern, too
    run -n 9000 --stack 16 "$T/maps" && grep -xE '[0-9]+ files?, (39[0-9]|40[01]) mappings of one at most' "$T/out"
}
# A second is long for a simulated machine. The model may stop a little before: at the last event that fits.
time_limit_has_parts_of_a_second() {
  run -n 4 --time-limit 1e-2 "$guest" && run -n 4 "$guest" && end_us=$(sed -n 's/.* \([0-9.]*\) us simulated$/\1/p' "$T/out" "$T/err") || return 1
  for part in 0.9 1.1; do
    run -n 4 --time-limit "$(echo "$end_us $part" | awk '{ printf "%.12f", $1 * $2 / 1e6 }')" "$guest"
    echo "$?"
  done | tr '\n' ' ' | grep -x '100 0 ' && ! run -n 4 --time-limit 2.5e-9 "$guest" && grep 'time limit of 3e-09 s reached' "$T/err" &&
    for bad in 0 -1 1e-10 1e7 nan inf 1x ''; do
      ! run -n 4 --time-limit "$bad" "$guest" && grep -x 'pm_run: --time-limit: a number of 1e-09 ... 1e+06 expected' "$T/err" || return 1
    done
}
version_is_said() { run --version && grep -x 'pm_run of nbc_overlap [0-9]*\.[0-9]*\.[0-9]*' "$T/out"; }
help_lists_every_option() {
  run --help || return 1
  for o in -n --per-node --platform --level --seed --trace --compute --prefix --stack --time-limit --spin --semantics --faults --jitter --kernels --fold --preload --sweep --sweep-part --sweep-table --jobs --links --matrix; do grep -q -e " $o " "$T/out" || return 1; done
  ! run --spin x "$guest" && grep 'pm_run: --spin: a number of' "$T/err"
}
for t in token_goes_round no_page_of_text_has_a_thousand_addresses same_time_every_run levels_differ levels_change_on_the_way bad_levels_are_refused exit_status_is_the_largest crash_has_a_name hurt_heaps_have_a_name \
  deadlock_has_names trace_is_written paje_trace_is_whole sequence_diagram_is_drawn platform_is_read links_without_loggp_are_told bad_calls_are_refused unknown_kinds_of_files_are_refused \
  threads_and_locks_work threads_of_executables_work threads_run_the_same_every_time last_thread_ends_the_process sleeps_take_simulated_time spin_on_memory_lets_time_pass long_computations_are_no_spins openmp_is_as_on_the_host openmp_iterations_and_regions_wait_for_others openmp_threads_take_time_side_by_side openmp_has_the_cores_of_a_process waits_end_at_their_time threads_of_c11_are_simulated futexes_wait_in_simulated_time waiting_threads_end_with_their_process poll_waits_for_events sockets_wait_in_simulated_time looks_without_waiting_let_others_come streams_wait_in_simulated_time fifos_open_in_simulated_time fifos_open_in_simulated_time_however stdin_of_a_pipe_waits_in_simulated_time what_comes_from_outside_is_waited_for \
  abort_ends_the_run computation_takes_its_time lines_carry_their_process locks_of_a_round_let_others_in_anywhere once_may_throw pthread_exit_goes_back_through_all copies_of_cancelled_teams_are_waited_for descriptors_of_streams_are_there preloaded_allocators_are_everybodys there_is_room_for_thread_local_variables unwritten_thread_local_variables_are_shared thread_local_variables_begin_as_the_file_says linked_libraries_are_opened_once opened_libraries_have_thread_local_variables opened_libraries_are_private constructors_find_what_they_need launchers_libraries_are_not_the_programs main_may_lie_in_a_library libraries_are_opened_as_on_the_host ordinary_executables_run what_a_process_asks_about_itself_is_its_own handlers_of_crashes_are_called stacks_of_handlers_hide_no_overflow quick_exit_calls_its_handlers alarms_ring_in_simulated_time getopt_is_as_on_the_host libc_state_is_private commands_run_on_the_host stdin_is_closed_by_its_process first_descriptors_are_private users_of_portals_are_those_of_the_host pmi_is_whole ends_by_other_ways full_disk_is_noticed not_a_program_is_refused sanitizers_are_refused open_mpis_openshmem_is_refused musls_libc_is_refused missing_functions_are_named many_missing_functions_are_named spins_are_remembered waits_among_words_are_remembered waits_that_write_are_remembered counting_in_memory_is_no_wait steps_without_a_reason_move_nothing text_of_others_gets_no_traps counting_of_every_kind_is_no_wait semantics_are_set faults_are_read outages_are_read nodes_crash_and_stand_still jitter_comes_from_the_seed who_blocks_the_host_is_named who_waits_is_told_when_asked kernels_are_models registers_are_kept_across_kernels short_functions_are_refused_as_kernels kernels_are_measured regions_are_sampled memory_is_folded sweep_makes_a_table sweep_over_a_job_is_one_table links_are_drawn matrix_has_every_pair shows_how_far_it_is time_limit_has_parts_of_a_second version_is_said help_lists_every_option; do
  check "$t" $t
done
level_rtl_says_what_of_a_platform_it_has_not() {
  for line in 'link h0 h1 1e9 5 shared' 'link h0 h1 1e9 5\nway h0 h1 1'; do
    printf "topology file\\nnode_count 2\\n$line\\n" >"$T/platform" && ! run -n 2 --level rtl --platform "$T/platform" "$guest" ring && grep '^pm_run: .*--level rtl: cables have their bandwidth each way there' "$T/err" || return 1
  done
}
if run --level rtl -n 1 "$guest" exit || ! grep -q 'rtl is missing' "$T/err"; then
  check level_rtl_says_what_of_a_platform_it_has_not level_rtl_says_what_of_a_platform_it_has_not
  check level_rtl_runs_the_same_program level_rtl_runs_the_same_program
else
  skip level_rtl_runs_the_same_program 'pm_run was built without Verilator'
fi
if clang_has_openmp; then
  check openmp_of_clang_is_the_programs openmp_of_clang_is_the_programs
  [ -z "$TEST_MORE" ] || check openmp_of_clang_looks_for_tasks openmp_of_clang_looks_for_tasks # 12 s of CPU time
else skip openmp_of_clang_is_the_programs "no clang, or no OpenMP of its own (Debian: libomp-dev)"; fi
finish
