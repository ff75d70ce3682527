#!/bin/sh
# A program made by Open MPI's compiler prints the same under pm_run as under Open MPI; where Open MPI 4.1.4 itself
# fails or is another opinion (its MPI_Type_get_contents crashes, windows need a transport that containers
# refuse), the same as the test set made by MPICH's compiler.
. tests/test.sh
set=$B/tests/guest_mpi/all_openmpi
GUEST_MPI_FILE=$T/file OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export GUEST_MPI_FILE OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
if ! command -v mpirun.openmpi >/dev/null || [ ! -x "$set" ]; then
  skip "Open MPI's programs under pm_run" "no Open MPI, or no mpi.h of MPICH (Debian: openmpi-bin libopenmpi-dev libmpich-dev)"
  finish
fi
simulated() { timeout 300 "$B/pm_run" -n "$@" >"$T/simulated" 2>"$T/err" || { tail -3 "$T/err"; return 1; }; }
real() { timeout 300 mpirun.openmpi --oversubscribe --mca btl_vader_single_copy_mechanism none -n "$@" >"$T/real" 2>"$T/host" || { tail -3 "$T/host"; return 1; }; }
# Texts of errors are each library's own; their numbers are compared.
without_texts() { sed 's/^\([0-9]*: error [0-9]* class [0-9]*\): .*/\1/' "$1"; }
as_open_mpi() {
  common="environment messages requests collectives nonblocking persistent more_collectives communicators more_files more_neighbours old_names status_forms sessions survivors"
  # shellcheck disable=SC2086 # names are words
  simulated "$1" "$set" $common && real "$1" "$set" $common && without_texts "$T/simulated" >"$T/ours" && without_texts "$T/real" | diff "$T/ours" - && test -s "$T/ours"
}
# Combiners have the next number there; classes of errors others: whether there is one is compared.
as_numbers() { sed -e 's/: class 0$/: none/; s/: class [0-9]*$/: error/' "$1" | awk '/envelope [0-9]+ [0-9]+ [0-9]+ [0-9]+$|combiner [0-9]+$/ { $NF = $NF + 1 } / shift / { gsub(/-2/, "-1") } { $1 = $1; print }'; }
as_texts() { sed -e 's/: No MPI error$/: none/; s/: [A-Z][a-z][A-Za-z ]*$/: error/; /ints:/{s/ 121/ 0/g; s/ 122/ 1/g; s/ 123/ 2/g; s/ -49767/ -1/g; s/ 56$/ 0/; s/ 57$/ 1/;}; s/   */ /g; s/ $//' "$1"; }
rest="types topologies windows files more_windows tools"
as_the_other_abi() {
  # shellcheck disable=SC2086
  simulated "$1" "$set" $rest && as_numbers "$T/simulated" >"$T/ours" && simulated "$1" "$B/tests/guest_mpi/all" $rest && as_texts "$T/simulated" | diff "$T/ours" - && test -s "$T/ours"
}
# Those of Open MPI's own files are the program's whole.
names_of_files_are_paths() {
  run=$(realpath "$B/pm_run") app=$(realpath "$set")
  mkdir -p "$T/ufs:/of" && simulated 2 "$set" files && (cd "$T" && GUEST_MPI_FILE=ufs:/of/file "$run" -n 2 "$app" files 2>err | cmp simulated -)
}
fortran_too() {
  for f in fortran fortran08 fortran77; do
    test -x "$B/tests/guest_mpi/${f}_openmpi" && test -x "$B/tests/guest_mpi/$f" || continue
    for n in 1 3; do
      simulated $n "$B/tests/guest_mpi/${f}_openmpi" && ! grep missing "$T/err" && cp "$T/simulated" "$T/ours" && simulated $n "$B/tests/guest_mpi/$f" && diff "$T/ours" "$T/simulated" && test -s "$T/ours" || { echo "$f $n"; return 1; }
    done
  done
}
# MPI of C++, and buffers that are handed twice.
cxx_too() {
  for n in 1 2 3; do
    simulated $n "$B/tests/guest_mpi/openmpi_cxx" && ! grep missing "$T/err" && sort "$T/simulated" >"$T/ours" && real $n "$B/tests/guest_mpi/openmpi_cxx" && sort "$T/real" | diff "$T/ours" - && test -s "$T/ours" || return 1
  done
}
# A program without MPI loads a library of Open MPI's by dlopen, as Python does with mpi4py; or MPI itself, which has no number, behind it as R
# does, or before.
loaded_later() {
  printf '#include <mpi.h>\n#include <stdio.h>\nstatic int calls;\nint run(void) {\n  int me, n, sum = 0;\n  MPI_Init(NULL, NULL);\n  MPI_Comm_rank(MPI_COMM_WORLD, &me);\n  MPI_Comm_size(MPI_COMM_WORLD, &n);\n  calls += me + 1;\n  MPI_Allreduce(&calls, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n  printf("%%d of %%d: %%d\\n", me, n, sum);\n  return MPI_Finalize();\n}\n' >"$T/later.c" &&
    mpicc.openmpi -w -shared -fPIC "$T/later.c" -o "$T/later.so" &&
    printf '#include <dlfcn.h>\n#include <stdio.h>\nint main(int argc, char **argv) {\n  void *mpi = argc > 2 ? dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL) : NULL, *library = dlopen(argv[1], RTLD_NOW);\n  if (argc == 2) mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) ? dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL) : NULL;\n  int (*run)(void) = library && mpi ? (int (*)(void))dlsym(library, "run") : NULL;\n  if (!run) puts(dlerror());\n  return run ? run() : argc;\n}\n' >"$T/main.c" &&
    $CC -w -fPIE -pie "$T/main.c" -o "$T/main" -ldl && printf '%d of 3: 6\n' 0 1 2 >"$T/expected" &&
    simulated 3 "$T/main" "$T/later.so" && sort "$T/simulated" | diff "$T/expected" - &&
    mkdir -p "$T/mpi" && ln -sf "$(ldd "$T/later.so" | sed -n 's/.*libmpi\.so\.[0-9]* => \([^ ]*\) .*/\1/p')" "$T/mpi/libmpi.so" &&
    LD_LIBRARY_PATH=$T/mpi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} simulated 3 "$T/main" "$T/later.so" first && sort "$T/simulated" | diff "$T/expected" -
}
# Every function of its library is there, and every variable that its header names.
nothing_is_missing() {
  simulated 1 "$set" status_forms && ! grep missing "$T/err" || return 1
  library=$(ldd "$set" | sed -n 's/.*libmpi\.so\.[0-9]* => \([^ ]*\) .*/\1/p')
  nm -D --defined-only "$library" | sed -n 's/.* [TW] \(MPIX\{0,1\}_[A-Z][a-z].*\)/\1/p' | grep -v '_F90$' | sort >"$T/there"
  sed 's/[ =:].*//; s/^/MPI_/; s/^MPI_X_/MPIX_/' src/guest/ompi/calls.list | sort >"$T/ours" # MPI_T_ is in both
  test "$(wc -l <"$T/there")" -gt 350 && ! comm -23 "$T/there" "$T/ours" | grep . || return 1
  header=$(ls /usr/lib/*/openmpi/include/mpi.h)
  sed -n 's/^# *define MPI_[A-Z0-9_]* *OMPI_PREDEFINED_GLOBAL(.*, *\([a-z0-9_]*\)).*/\1/p' "$header" | sort -u >"$T/there"
  sed 's/ .*//' src/guest/ompi/handles.list | sort >"$T/ours"
  test "$(wc -l <"$T/there")" -gt 80 && ! comm -23 "$T/there" "$T/ours" | grep .
}
numbers_in_fortran_are_its() {
  sed -n 's/^ *parameter (\(MPI_[A-Z0-9_]*\)=\([0-9]*\)).*/\1 \2/p' "$(ls /usr/lib/*/openmpi/include/mpif-handles.h)" >"$T/there"
  # where two have one meaning here (LOGICAL1), the name is another
  awk 'NR == FNR { number[$1] = $2; n++; next } $4 != "-" && ($3 in number) && $3 !~ /MPI_(INT8_T|INT16_T|INT64_T|LOGICAL|DATATYPE_NULL)$/ { seen++; if (number[$3] != $4) { print; wrong = 1 } } END { exit wrong || seen < 80 }' "$T/there" src/guest/ompi/handles.list
}
tools_run_inside() {
  simulated 3 --preload "$B/tests/guest_mpi/libtool_openmpi.so" "$B/tests/guest_mpi/all_openmpi" messages && grep '^tool: [1-9][0-9]* sends, [0-9]* reductions of 3 processes' "$T/simulated" || return 1
  mkdir "$T/seen" && NBC_REPORT_DIR=$T/seen simulated 4 --preload "$B/libnbc_overlap_mpi.so" "$set" messages && cp "$T/simulated" "$T/first" &&
    simulated 4 "$set" messages && cmp "$T/simulated" "$T/first" && test "$(ls "$T/seen" | wc -l)" = 4 && "$B/overlap_report" --no-html "$T/seen" >"$T/text" && grep -c 'MPI' "$T/text"
}
two_libraries_are_refused() {
  ! simulated 2 --preload "$B/tests/guest_mpi/libtool_openmpi.so" "$B/tests/guest_mpi/all" messages && grep 'other parts of the program another MPI' "$T/err"
}
for n in 1 2 3 4; do check "as Open MPI, $n processes" as_open_mpi $n; done
for n in 1 3 8; do check "as the other ABI, $n processes" as_the_other_abi $n; done
check "names of files are paths" names_of_files_are_paths
check "Fortran too" fortran_too
if [ -x "$B/tests/guest_mpi/openmpi_cxx" ]; then check "C++ too, and buffers handed twice" cxx_too; else skip "C++ too" "no libmpi_cxx"; fi
check "a library that is loaded later" loaded_later
check "constants are Open MPI's" "$B/tests/guest_mpi/openmpi_constants"
check "nothing is missing" nothing_is_missing
check "numbers in Fortran are its" numbers_in_fortran_are_its
check "tools run inside" tools_run_inside
check "a program of two libraries is refused" two_libraries_are_refused
finish
