#!/bin/sh
# A program that was linked to a fixed address does what it does when it is not, in the same simulated time.
. tests/test.sh
set=$B/tests/guest_mpi/all
GUEST_MPI_FILE=$T/file
export GUEST_MPI_FILE
if [ ! -x "${set}_fixed" ]; then
  skip "programs at a fixed address" "no MPICH (Debian: libmpich-dev)"
  finish
fi
# shellcheck disable=SC3045 # dash and bash have it
simulated() { (ulimit -t 300 && exec "$B/pm_run" "$@") >"$T/out" 2>"$T/err" || { tail -3 "$T/err"; return 1; }; }
is_fixed() { readelf -h "$1" | grep -q 'EXEC (Exec'; }
# The time of who may run ahead and who may not is the same too.
as_elsewhere() { # SET OPTIONS OF PM_RUN
  program=$1 && shift
  is_fixed "${program}_fixed" && simulated "$@" "$program" -persistent && cp "$T/out" "$T/elsewhere" && tail -1 "$T/err" >"$T/time" &&
    simulated "$@" "${program}_fixed" -persistent && cmp "$T/out" "$T/elsewhere" && tail -1 "$T/err" | diff "$T/time" -
}
with_mpich() { for n in $(some 3 '1 17'); do as_elsewhere "$set" -n $n || return 1; done; }
with_openmpi() { as_elsewhere "${set}_openmpi" -n 3; }
with_options() {
  for o in progress=timer per-node=2 $(some '' 'progress=dedicated level=packet eager=0'); do
    as_elsewhere "$set" -n 4 "--${o%=*}" "${o#*=}" || { echo "$o"; return 1; }
  done
}
own_variables() {
  is_fixed "$B/tests/guest_mpi/without_pie" && simulated -n 3 "$B/tests/guest_mpi/without_pie" || return 1
  for r in 0 1 2; do
    case $r in 2) echo "2 caught not 2" ;; *) echo "$r gives $r" ;; esac
    echo "$r sums $((3 * (7 + 10 * r) + 3)) 7" && echo "$r has $((50000 * ((r + 2) % 3)))" && echo "$r knows itself: 1" && echo "$r ends, made$r"
  done | sort >"$T/wanted"
  sort "$T/out" | diff "$T/wanted" -
}
# What a library knows of the program is what the program knows: its functions, its variables, its copy of the library's.
libraries_know_it() {
  printf 'extern int its_variable;\nint *its_function(void);\nint of_library = 5;\nint agrees(int *copy) { return its_function() == &its_variable && copy == &of_library && ++of_library; }\n' >"$T/knows.c" &&
    printf '#include <stdio.h>\nint its_variable;\nextern int of_library;\nint agrees(int *);\nint *its_function(void) { return &its_variable; }\nint main(void) { int good = agrees(&of_library); printf("%%d %%d\\n", good, of_library); return 0; }\n' >"$T/known.c" &&
    $CC -shared -fPIC "$T/knows.c" -o "$T/libknows.so" && $CC -no-pie -fno-pie "$T/known.c" "$T/libknows.so" -o "$T/known" && is_fixed "$T/known" &&
    simulated -n 3 "$T/known" && test "$(grep -cx '1 6' "$T/out")" = 3
}
as_many_as_mappings() { # said before anything runs
  n=$(($(cat /proc/sys/vm/max_map_count) / 4 + 1))
  ! simulated -n $n "$B/tests/guest_mpi/without_pie" && grep '^pm_run: .*/without_pie: linked to a fixed address: at most [1-9][0-9]* processes here' "$T/err"
}
is_no_library() {
  printf '#include <dlfcn.h>\n#include <stdio.h>\nint main(int c, char **v) { (void)c; puts(dlopen(v[1], RTLD_NOW) ? "opened" : dlerror()); return 0; }\n' >"$T/opens.c" &&
    $CC "$T/opens.c" -o "$T/opens" -ldl && simulated -n 1 "$T/opens" "$B/tests/guest_mpi/without_pie" && grep 'without_pie: a program, linked to a fixed address, is no library' "$T/out"
}
python_as_it_is() {
  simulated -n 3 "$python" -c 'import sys; x = [i for i in range(1000)]; print("sum", sum(x), len(sys.modules) > 10)' && test "$(grep -c '^sum 499500 True$' "$T/out")" = 3
}
# As the kernel runs it: with one argument of the first line, or those that env splits.
scripts_run() {
  i=0
  for first in "$python" "$python -u" "/usr/bin/env python3" "/usr/bin/env -S python3 -u -I"; do
    i=$((i + 1))
    printf '#!%s\nimport sys\nprint("script", sys.argv[1:], len(sys.argv[0]) > 3, sys.flags.isolated)\n' "$first" >"$T/script$i.py"
    wanted=0 && [ $i = 4 ] && wanted=1
    simulated -n 2 "$T/script$i.py" a 'b c' && test "$(grep -cx "script \['a', 'b c'\] True $wanted" "$T/out")" = 2 || { echo "$first"; return 1; }
  done
  printf '#!%s\nprint("outer")\n' "$T/script1.py" >"$T/nested.py"
  simulated -n 1 "$T/nested.py" && grep -x "script \['.*nested.py'\] True 0" "$T/out" || return 1
  printf '#!/bin/sh\ntrue\n' >"$T/shell" && ! simulated -n 1 "$T/shell" && grep "shell: not a program (a script of sh must call pm_run" "$T/err" &&
    printf '#!\n' >"$T/nobody" && ! simulated -n 1 "$T/nobody" && grep 'nobody: its first line names no program' "$T/err"
}
# Scripts of shells that choose a program stand before it in PATH, as pyenv's do: the program is taken.
shells_in_path_are_passed_over() {
  mkdir -p "$T/shims" && printf '#!/bin/sh\nexec /usr/bin/python3 "$@"\n' >"$T/shims/python3" && chmod +x "$T/shims/python3" &&
    printf '#!/usr/bin/env python3\nprint("python")\n' >"$T/asks_path.py" && PATH="$T/shims:$PATH" simulated -n 1 "$T/asks_path.py" && grep -x python "$T/out" || return 1
  printf '#!/bin/sh\n' >"$T/shims/only_shell" && chmod +x "$T/shims/only_shell" && ! PATH="$T/shims:$PATH" simulated -n 1 only_shell && grep "only_shell: not a program (a script of sh must call pm_run" "$T/err"
}
# Folders of that name, here or in PATH, are no programs; an empty part of PATH is the folder that one is in.
folders_are_no_programs() {
  mkdir -p "$T/here/python3" "$T/here/asks.py" "$T/folders/asks.py" "$T/folders/python3" "$T/scripts" && printf '#!/usr/bin/env python3\nprint("python")\n' >"$T/scripts/asks.py" && chmod +x "$T/scripts/asks.py" &&
    pm_run=$(cd "$B" && pwd)/pm_run t=$(cd "$T" && pwd) && (cd "$T/here" && for p in "$t/folders" ""; do PATH="$p:$t/scripts:$PATH" "$pm_run" -n 1 asks.py || exit 1; done) >"$T/out" 2>"$T/err" && test "$(cat "$T/out")" = "$(printf 'python\npython')" || { cat "$T/out" "$T/err"; return 1; }
}
check "a program at a fixed address prints the same, in the same time" with_mpich
if [ -x "${set}_openmpi_fixed" ]; then check "made by Open MPI, too" with_openmpi
else skip "Open MPI's at a fixed address" "no Open MPI (Debian: libopenmpi-dev)"; fi
check "options change nothing for it" with_options
check "all its variables are each process's own" own_variables
check "libraries know the program by its own addresses" libraries_know_it
check "more processes than mappings are refused" as_many_as_mappings
check "such a program is no library" is_no_library
python=$(command -v /usr/bin/python3)
if [ -n "$python" ] && is_fixed "$python"; then
  check "Debian's python3 runs as it is" python_as_it_is
  check "scripts run by the program that they name" scripts_run
  check "shells in PATH are passed over" shells_in_path_are_passed_over
  check "folders of a program's name are passed over" folders_are_no_programs
else skip "python3 as it is" "no python3 at a fixed address"; fi
finish
