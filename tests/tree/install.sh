#!/bin/sh
# make install: what it puts where; a program built only from what was installed.
. tests/test.sh
here=$PWD root=$PWD/$T/root
case $T in /*) here= root=$T/root ;; esac
make=${MAKE:-make}

installs() { MAKEFLAGS='' "$make" -s install B="$B" CC="$CC" ${CFLAGS:+CFLAGS="$CFLAGS"} DESTDIR="$root" PREFIX=/usr; }
is_there() { # a header as in the tree, the commands executable
  cmp nbc_overlap.h "$root/usr/include/nbc_overlap.h" && cmp portals_model.h "$root/usr/include/portals_model.h" &&
    test -x "$root/usr/bin/overlap_report" && "$root/usr/bin/overlap_report" --no-html /nowhere; test $? = 2
}
program_builds() {
  flags=$(PKG_CONFIG_PATH=$root/usr/lib/pkgconfig pkg-config "--define-variable=prefix=$root/usr" --cflags --libs nbc_overlap portals_model) || return 1
  awk '/^ *Example \(complete/ { on = 1; next } on && /^   [A-Z]/ { exit } on' nbc_overlap.h >"$T/program.c"
  # shellcheck disable=SC2086 # flags are words
  "$CC" -D_GNU_SOURCE -o "$T/program" "$T/program.c" $flags && timeout 60 "$T/program" | grep -q "100.0 %"
}
portals_program_builds_and_runs() {
  flags=$(PKG_CONFIG_PATH=$root/usr/lib/pkgconfig pkg-config "--define-variable=prefix=$root/usr" --cflags portals_model) || return 1
  # shellcheck disable=SC2086 # flags are words
  "$CC" -shared -fPIC $flags -o "$T/ring.so" tests/model/guest_ring.c && timeout 60 "$root/usr/bin/pm_run" -n 4 "$T/ring.so" | grep -x 'token 10 went round 4 processes'
}
every_command_has_a_page() { # the further ones of a source lead to the page of the first
  for c in "$root"/usr/bin/*; do
    page=$root/usr/share/man/man1/${c##*/}.1
    grep -q '^\.SH DESCRIPTION' "$root/usr/share/man/$(sed -n 's/^\.so //p' "$page" | grep . || echo "man1/${c##*/}.1")" || { echo "${c##*/}: no page"; return 1; }
  done
}
every_command_has_a_version() {
  for c in "$root"/usr/bin/*; do
    said=$(timeout 60 "$c" --version) && echo "$said" | grep -qx '\([a-z_0-9]* of \)*nbc_overlap [0-9]*\.[0-9]*\.[0-9]*' || { echo "${c##*/}: $said"; return 1; }
  done
}
# What --help names is taken: a flag, before a word that is not; an option with a value, which then is missing.
every_option_of_help_is_taken() {
  for c in "$root"/usr/bin/*; do
    [ "${c##*/}" != nbc ] || continue # whose options stand behind its commands: report/nbc
    timeout 60 "$c" --help | sed -nE 's/^  (--?[a-zA-Z][a-z0-9-]*)( ?[^ ]*)( .*)?$/\1\2/p' >"$T/options"
    ! "$c" --help | grep -E '^(  -| {12})' | grep -E '^.{101}' || { echo "${c##*/}"; return 1; }
    echo --no-such-option >>"$T/options"
    while read -r option value; do
      wrong="$option"
      [ -n "$value" ] || [ "$option" = --no-such-option ] || wrong=--no-such-option
      # shellcheck disable=SC2046 # no word for none
      timeout 60 "$c" "$option" $([ "$wrong" = "$option" ] || echo $wrong) </dev/null >"$T/out" 2>"$T/err"
      [ $? = 2 ] && grep -q -- "${value:+$option: its value is missing}" "$T/err" && grep -q -- "$wrong" "$T/err" || { echo "${c##*/} $option $value:"; cat "$T/err"; return 1; }
    done <"$T/options"
  done
}
stacks_stay_data() { # one library that does not say so, and every stack of its program can be executed
  for f in "$root"/usr/lib/*.so "$root"/usr/lib/portals_model/*.so; do
    [ ! -e "$f" ] || readelf -lW "$f" | grep -q 'GNU_STACK.* RW ' || { echo "$f"; return 1; }
  done
}
libraries_of_names_are_there() { # a program that links them, for pm_run
  cat >"$T/names.c" <<'END'
#include <portals4.h>
int main(void) { return PtlInit() != PTL_OK; }
END
  "$CC" -I"$root/usr/include" -I"$root/usr/include/portals_model" "$T/names.c" -o "$T/names" -L"$root/usr/lib/portals_model" -lportals -lpmi &&
    "$root/usr/bin/pm_run" -n 2 "$T/names"
}
programs_for_bxi_find_their_headers() { # which have its own names; in C and in C++
  for f in portals4_ext.h portals4_bxiext.h; do
    printf '#include <%s>\nint main(void) {\n  char text[PTL_EV_STR_SIZE];\n  ptl_index_t pt = 0;\n  ptl_event_t e = {0};\n  return pt + (unsigned)PtlEvToStr(0, &e, text) + !PtlToStr(PTL_OK, PTL_STR_ERROR);\n}\n' "$f" >"$T/bxi.c"
    "$CC" -Werror -Wall -I"$root/usr/include" -I"$root/usr/include/portals_model" "$T/bxi.c" -o "$T/bxi" -L"$root/usr/lib/portals_model" -lportals && "$root/usr/bin/pm_run" -n 1 "$T/bxi" || return 1
    ! command -v g++ || g++ -Werror -Wall -fsyntax-only -I"$root/usr/include" -I"$root/usr/include/portals_model" -x c++ "$T/bxi.c" || return 1
  done
}
# A program may name a preload when it is linked, instead of LD_PRELOAD when it runs: also by its path, and then run anywhere.
linked_program_reports() { # openmpi or mpich, the library's suffix
  cat >"$T/linked.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv) { return MPI_Init(&argc, &argv) + MPI_Finalize(); }
END
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers have no other user
  (cd "$root/usr" && OMPI_CC=$CC MPICH_CC=$CC "mpicc.$1" "$here/$T/linked.c" -o "$here/$T/linked.$1" "lib/libnbc_overlap_$2.so" "lib/libnbc_progress_$2.so") &&
    (cd "$T" && mkdir -p "reports.$1" && LD_LIBRARY_PATH="$root/usr/lib" NBC_PROGRESS_SAY=2 NBC_REPORT_DIR="reports.$1" timeout 60 "mpirun.$1" -n 1 "./linked.$1" 2>"said.$1" &&
      cat "said.$1" && grep -q '"' "reports.$1"/*.json && grep -q 'progress' "said.$1")
}
program_of_the_standard_abi_runs() {
  cat >"$T/abi.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int sum = 1;
  MPI_Init(&argc, &argv);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d\n", sum);
  return MPI_Finalize();
}
END
  "$CC" -I"$root/usr/include/portals_model/standard" "$T/abi.c" -o "$T/abi" -L"$root/usr/lib/portals_model" -lmpi_abi &&
    test "$("$root/usr/bin/pm_run" -n 3 "$T/abi" | sort -u)" = 3
}
version_is_the_headers() {
  test "$(PKG_CONFIG_PATH=$root/usr/lib/pkgconfig pkg-config --modversion nbc_overlap)" = \
    "$(sed -n 's/^#define NBC_VERSION_STRING "\(.*\)"/\1/p' nbc_overlap.h)"
}

check "make install" installs
check "headers and commands are there" is_there
check "no library asks for stacks that can be executed" stacks_stay_data
check "a program that links the libraries of names runs" libraries_of_names_are_there
check "programs written for the library of BXI find their headers and names" programs_for_bxi_find_their_headers
if [ -e "$root/usr/include/portals_model/standard/mpi.h" ]; then check "a program of MPI's standard ABI builds and runs" program_of_the_standard_abi_runs
else skip "the standard ABI" "no mpicc.mpich (Debian: libmpich-dev)"; fi
for mpi in openmpi:mpi mpich:mpich; do
  if [ -e "$root/usr/lib/libnbc_overlap_${mpi#*:}.so" ]; then check "a program linked with the preloads of ${mpi%:*} reports" linked_program_reports "${mpi%:*}" "${mpi#*:}"
  else skip "linked preloads" "no mpicc.${mpi%:*} (Debian: libopenmpi-dev libmpich-dev)"; fi
done
check "every command says its version" every_command_has_a_version
check "every command takes the options that its help names" every_option_of_help_is_taken
if command -v help2man >/dev/null; then check "every command has a man page" every_command_has_a_page
else skip "man pages" "no help2man (Debian: help2man)"; fi
if command -v pkg-config >/dev/null; then
  check "a program builds with pkg-config's flags" program_builds
  check "a Portals program builds and runs" portals_program_builds_and_runs
  check "pkg-config knows the version" version_is_the_headers
else
  skip "pkg-config" "no pkg-config (Debian: pkg-config)"
fi
finish
