#!/bin/sh
# A program made for MPI's standard ABI (MPI 5.0) prints the same under pm_run as one made for MPICH's: constants
# that are printed as numbers are made MPICH's by a table that MPICH's own header fills in.
#   GUEST_MPI_COUNTS='1 2 3 4 8 17'   processes of the test set; 3 without it
. tests/test.sh
set=$B/tests/guest_mpi/all_standard
GUEST_MPI_FILE=$T/file
export GUEST_MPI_FILE
if [ ! -x "$set" ]; then
  skip "the standard ABI under pm_run" "no mpi.h of MPICH (Debian: libmpich-dev)"
  finish
fi
simulated() { timeout 300 "$B/pm_run" -n "$@" >"$T/simulated" 2>"$T/err" || { tail -3 "$T/err"; return 1; }; }
"$B/tests/guest_mpi/constants_numbers" >"$T/numbers"
# Numbers of errors, combiners, ranks, tags, comparisons, orders and distributions, where the set prints them. What
# the set prints of all numbers of errors, and hashes of contents, are compared by name: constants_standard.
as_mpich() {
  awk 'NR == FNR { as[$1, $2] = $3; next }
    function turn(kind, i) { if ((kind, $i) in as) $i = as[kind, $i]; else if ($i < 1000000 && (kind != "tag" && kind != "rank" || $i < 0)) $i = $i " of " kind }
    / error [0-9]+ class [0-9]+: / || /contents [0-9]/ || /ABI: [01]$| version [45]\.[0-9]$/ { next }
    /envelope(_c)? |combiner [0-9]+$/ { turn("combiner", NF) }
    / from -[0-9]+ tag / { for (i = 2; i < NF; i++) { if ($i == "from") turn("rank", i + 1); if ($i == "tag") turn("tag", i + 1) } }
    / shift [0-9]+: / { turn("rank", NF); turn("rank", NF - 1) }
    / similar or not / { turn("compare", NF) }
    / ints: / { if (NF >= 13) turn("order", NF); for (i = 3; NF >= 14 && i < NF; i++) if ($i > 15) turn("dist", i) }
    /: class [0-9]+$|\): [0-9]+$|representation: [0-9]+$|without functions: [0-9]+$|again: [0-9]+$|large one: [0-9]+$/ { turn("error", NF) }
    { $1 = $1; print }' "$T/numbers" "$1"
}
# NULL is no status where a status may be anything else.
without_statuses() { grep -v 'MPI_\(Improbe\|Iprobe\|Mprobe\|Probe\|Recv\|Request_get_status\|Sendrecv\|Sendrecv_replace\|Test[a-z]*\|Wait[a-z]*\)(.*NULL): ' "$1"; }
same_as_mpichs() { # PROCESSES; what goes on without failed processes is not of the standard
  simulated "$1" "$set" && as_mpich "$T/simulated" >"$T/ours" && cp "$T/simulated" "$T/here" && simulated "$1" "$B/tests/guest_mpi/all" -survivors && awk '/ error [0-9]+ class [0-9]+: / || /contents [0-9]/ || /ABI: [01]$| version [45]\.[0-9]$/ { next } { $1 = $1; print }' "$T/simulated" >"$T/theirs" &&
    without_statuses "$T/ours" >"$T/first" && without_statuses "$T/theirs" | diff - "$T/first" && test "$(wc -l <"$T/first")" -gt 2000
}
constants_do_the_same() {
  simulated 1 "$B/tests/guest_mpi/constants_mpich" && cp "$T/simulated" "$T/first" && simulated 1 "$B/tests/guest_mpi/constants_standard" && diff "$T/first" "$T/simulated" && test "$(wc -l <"$T/first")" -gt 150
}
random_programs() {
  simulated 3 "$B/tests/guest_mpi/random" "$1" 50 && cp "$T/simulated" "$T/first" && simulated 3 "$B/tests/guest_mpi/random_standard" "$1" 50 && cmp "$T/first" "$T/simulated" && test "$(grep -c '^[0-9]' "$T/first")" = 50
}
# Its own functions, callbacks with its handles, C++.
what_is_new() {
  for n in 1 3; do simulated $n "$B/tests/guest_mpi/later_standard" && cat "$T/simulated" && ! grep WRONG "$T/simulated" && test "$(grep -c right "$T/simulated")" -gt 40 || return 1; done
}
tools_run_inside() {
  simulated 3 --preload "$B/tests/guest_mpi/libtool_standard.so" "$set" messages && grep '^tool: [1-9][0-9]* sends, [0-9]* reductions of 3 processes' "$T/simulated"
}
two_libraries_are_refused() {
  ! simulated 2 --preload "$B/tests/guest_mpi/libtool_standard.so" "$B/tests/guest_mpi/all" messages && grep 'other parts of the program another MPI' "$T/err" &&
    ! simulated 2 --preload "$B/tests/guest_mpi/libtool.so" "$set" messages && grep 'other parts of the program another MPI' "$T/err"
}
# A name that the simulated MPI has not is told before the program begins; MPICH's own names are not found either.
missing_names_are_told() {
  printf '#include <mpi.h>\nint MPI_Of_nobody(void), MPI_Comm_c2f(MPI_Comm);\nint main(int argc, char **argv) {\n  MPI_Init(&argc, &argv);\n  if (argc > 5) return MPI_Of_nobody() + MPI_Comm_c2f(MPI_COMM_WORLD);\n  return MPI_Finalize();\n}\n' >"$T/lacks.c" &&
    echo 'int MPI_Of_nobody(void) { return 0; } int MPI_Comm_c2f(void *c) { return !c; } int MPI_Init(int *a, char ***b) { return !a + !b; } int MPI_Finalize(void) { return 0; }' >"$T/more.c" && $CC -shared -fPIC -w "$T/more.c" -Wl,-soname,libmpi_abi.so.0 -o "$T/more.so" &&
    $CC -w -isystem "$B/standard/include" "$T/lacks.c" -o "$T/lacks" "$T/more.so" && "$B/pm_run" -n 2 "$T/lacks" 2>"$T/err"
  grep 'missing' "$T/err" | grep 'MPI_Of_nobody' | grep MPI_Comm_c2f
}
header_serves_all_compilers() {
  printf '#include <mpi.h>\nint main(int argc, char **argv) { return MPI_Init(&argc, &argv) || MPI_Finalize(); }\n' >"$T/small.c"
  for s in c99 c11 c17; do $CC -std=$s -Wall -Wextra -Wpedantic -Werror -I "$B/standard/include" -c "$T/small.c" -o "$T/small.o" || return 1; done
  for s in c++11 c++20; do g++ -x c++ -std=$s -Wall -Wextra -Wpedantic -Werror -I "$B/standard/include" -c "$T/small.c" -o "$T/small.o" || return 1; done
}
for n in ${GUEST_MPI_COUNTS:-3}; do check "the standard ABI as MPICH's, $n processes" same_as_mpichs "$n"; done
check "constants of the standard ABI do what MPICH's do" constants_do_the_same
check "a random program of the standard ABI" random_programs "${TEST_SEED:-5}"
check "functions, callbacks and C++ of the standard ABI" what_is_new
check "tools of the standard ABI run inside" tools_run_inside
check "two MPIs of different ABIs are refused" two_libraries_are_refused
check "names that are missing in the standard ABI are told" missing_names_are_told
check "mpi.h of the standard ABI serves compilers" header_serves_all_compilers
finish
