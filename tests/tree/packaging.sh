#!/bin/sh
# What packagers get: a tarball that builds alone and (TEST_MORE=1) is the same twice, find_package, a Debian package (TEST_MORE=1),
# man pages and an index of the API.
. tests/test.sh
root=$(cd "$T" && pwd)
make=${MAKE:-make}
version=$(sed -n 's/^.define NBC_VERSION_STRING *"\(.*\)"/\1/p' nbc_overlap.h)
name=nbc_overlap-$version
run_make() { MAKEFLAGS='' "$make" -s CC="$CC" "$@"; }

tarball_is_made() { run_make dist B="$T/one"; }
tarball_is_the_same_twice() {
  run_make dist B="$T/two" && cmp "$T/one/$name.tar.gz" "$T/two/$name.tar.gz"
}
tarball_builds_alone() (
  tar -xzf "$T/one/$name.tar.gz" -C "$T" && cd "$T/$name" && ! test -e .git || return 1
  run_make CFLAGS=-O0 build/tests/overlap/reports_add_up && build/tests/overlap/reports_add_up | grep -q '^[1-9].* 0 failed'
)
# Without git, sources are all that is in no folder of a build, whichever that is: B=... is one's own choice.
tarball_of_it_is_the_same() (
  { test -e "$T/one/$name.tar.gz" || tarball_is_made; } && tar -xzf "$T/one/$name.tar.gz" -C "$T" && cd "$T/$name" && mkdir -p build/deep && touch build/deep/object &&
    run_make dist && run_make dist B=../again && cmp "../again/$name.tar.gz" "../one/$name.tar.gz"
)
# Below a path with a blank neither Verilator's makefiles nor LD_PRELOAD work: the rest is built, and tests are refused by a sentence.
builds_below_a_blank() (
  { test -e "$T/one/$name.tar.gz" || tarball_is_made; } && mkdir -p "$T/a blank" && tar -xzf "$T/one/$name.tar.gz" -C "$T/a blank" && cd "$T/a blank/$name" && run_make -n examples >../would 2>../said &&
    ! grep -q -e verilat -e rtl/libnic_cosim.a ../would && grep -q 'NIC in RTL' ../said && ! run_make -n check-now >../would 2>../said && grep 'blank' ../said
)
to="installed here"
install_at() { run_make "$1" B="$B" ${CFLAGS:+CFLAGS="$CFLAGS"} DESTDIR="$root/$to" PREFIX=/usr >"$T/$1.log" 2>&1; }
uninstalled_is_gone() { install_at uninstall && find "$T/$to" ! -type d | tee "$T/left" && ! test -s "$T/left"; }
# What is installed of an MPI whose wrapper is a plain mpicc, as it is everywhere but on Debian; and of none
one_mpi_is_found_by_mpicc() {
  for mpi in openmpi:_mpi mpich:_mpich; do
    mpicc=$(command -v "mpicc.${mpi%:*}") || continue
    mkdir -p "$T/${mpi%:*}" && ln -sf "$mpicc" "$T/${mpi%:*}/mpicc"
    run_make -n install B="$T/none" MPICC="$root/${mpi%:*}/mpicc" OSHCC= >"$T/would" || return 1
    for f in libnbc_overlap libnbc_progress; do
      test "$(grep -oE "$T/none/${f}[_a-z]*\.so" "$T/would" | sort -u)" = "$T/none/$f${mpi#*:}.so" || { echo "${mpi%:*}: not only $f${mpi#*:}.so"; return 1; }
    done
    # MPI inside of pm_run is made with MPICH's header
    if [ "$mpi" = mpich:_mpich ]; then grep -q "$T/none/guest/mpi/" "$T/would"; else ! grep -q "$T/none/guest/mpi/" "$T/would"; fi || { echo "${mpi%:*}: MPI in pm_run"; return 1; }
  done
  for none in '' none; do
    run_make -n install B="$T/none" MPICC=$none OSHCC= >"$T/would" && ! grep -oE "mpicc|$T/none/guest/mpi/|libnbc[a-z_]*\.so" "$T/would" || return 1
  done
  # nor are its tests made, and those that are there skip
  run_make -n needs-mpi needs-guest_mpi B="$T/none" MPICC=none OSHCC= VERILATOR= >"$T/would" && ! grep -E 'mpi(cc|cxx|fort|f90)' "$T/would" || return 1
  for m in openmpi mpich; do ! (B=$T/none && . tests/mpi/turns.sh && have_mpi $m) || { echo "tests take $m for there"; return 1; }; done
  ! run_make -n install B="$T/none" MPICC=/nowhere/mpicc >"$T/would" 2>&1 && grep -q 'MPICC=/nowhere/mpicc' "$T/would"
}
# The link as it is without any MPI, of this build's objects
pm_run_links_without_mpi() {
  run_make -n -W "$B/libnbc_overlap.a" MPICC= B="$B" ${CFLAGS:+CFLAGS="$CFLAGS"} "$B/pm_run" | sed -n "s| -o $B/pm_run | -o $T/pm_run |p" >"$T/link" &&
    test -s "$T/link" && ! grep 'guest/mpi/' "$T/link" && sh "$T/link" && "$T/pm_run" --help >/dev/null
}
# How a program is entered is written in assembler inside of C: which registers that takes must not depend on how it is
# optimised, nor by which compiler. The loader alone is compiled anew, for this build's link.
pm_run_enters_programs_however_it_is_compiled() {
  printf '#include <stdio.h>\nint main(void) { return puts("here") < 0; }\n' >"$T/here.c" && "$CC" "$T/here.c" -o "$T/here" || return 1
  run_make -n -W src/guest/loader.c B="$B" ${CFLAGS:+CFLAGS="$CFLAGS"} "$B/pm_run" | grep -E -- "-o $B/(guest/loader\.o|pm_run)( |$)" >"$T/commands"
  clang=$(command -v "${CLANG:-clang}")
  for how in "$CC -O0" ${TEST_MORE:+"$CC -O3"} ${TEST_MORE:+${clang:+"$clang -O2"}}; do
    sed "s|$B/guest/loader\.o|$T/loader.o|g; s| -o $B/pm_run | -o $T/pm_run |; s|^[^ ]* \(.*\) -c |${how% *} \1 ${how#* } -c |" "$T/commands" >"$T/enter"
    grep -q -e "^${how% *} .*${how#* } -c src/guest/loader.c -o $T/loader.o" "$T/enter" && sh -e "$T/enter" &&
      test "$("$T/pm_run" -n 2 "$T/here" | sort -u)" = here || { echo "$how"; return 1; }
  done
}
cmake_finds_the_package() {
  mkdir -p "$T/user" && cat >"$T/user/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(nbc_overlap ${version%.*} REQUIRED)
add_executable(one one.c)
target_link_libraries(one nbc_overlap::nbc_overlap)
add_executable(two two.c)
target_link_libraries(two nbc_overlap::portals_model)
END
  for f in nbc_overlap.h:one portals_model.h:two; do
    awk '/^ *Example \(complete/ { on = 1; next } on && /^   [A-Z]/ { exit } on' "${f%:*}" >"$T/user/${f#*:}.c"
  done
  cmake -S "$T/user" -B "$T/user/build" -DCMAKE_PREFIX_PATH="$root/$to/usr" -DCMAKE_C_FLAGS=-O0 >/dev/null &&
    cmake --build "$T/user/build" >"$T/cmake.log" 2>&1 && "$T/user/build/one" | grep -q '100.0 %' && "$T/user/build/two" | grep -q '^got 42'
}
cmake_knows_the_version() {
  sed -i 's/find_package(nbc_overlap [0-9.]*/find_package(nbc_overlap ${ASKED}/' "$T/user/CMakeLists.txt"
  for asked in "99.0 no" "${version%%.*}.99 no" "$version yes" "${version%.*}...99 yes" "0.0.1...99 yes" "0.0.1...<$version no" "0.0.1...$version yes" "99...100 no"; do
    cmake -S "$T/user" -B "$T/user/build" -DASKED="${asked% *}" >"$T/asked" 2>&1 && found=yes || found=no
    [ $found = "${asked#* }" ] && { [ $found = yes ] || grep -q "$version" "$T/asked"; } || { echo "$asked, not $found" && cat "$T/asked" && return 1; }
  done
}
# What is built already serves the recipe, all but what it has without Verilator: objects name the files that they are
# made of, so make misses what the tarball lacks. What is left to build has the recipe's flags and no optimisation.
export DEB_BUILD_OPTIONS='noopt noautodbgsym' DEB_CFLAGS_STRIP=-g DPKG_DEB_COMPRESSOR_TYPE=gzip
reuse() { # in the tarball's folder
  built=$(cd "$here" && cd "$B" && pwd) && rm -rf build && mkdir build && (
    cd "$built" && find . \( -path './*/*' ! -path './pieces/*' ! -path './guest/*' ! -path './replay/*' ! -path './include/*' ! -path './lib/*' \
      ! -path './standard/*' ! -path './progress_*/*' -prune \) -o -type f -print | tar --create --files-from=-
  ) | tar --extract --directory=build && rm -f build/pm_run build/guest/pm_run.o build/paper_figures &&
    find build -name '*.d' -exec sed -i "s|$B/|build/|g" {} + &&
    (eval "$(dpkg-buildflags --export=sh)" && run_make help >/dev/null) && touch -d 2000-01-01 build/.flags
}
debian_package_builds() (
  here=$PWD && cd "$T/$name" && cp -r packaging/debian debian && sed -i "1s/(.*)/($version)/" debian/changelog && reuse &&
    MAKEFLAGS='' timeout 1500 dpkg-buildpackage -us -uc -b >../deb.log 2>&1 || { tail -20 ../deb.log; return 1; }
  dpkg-deb --contents ../nbc-overlap_"$version"_*.deb >../deb.contents
  for f in usr/include/nbc_overlap.h usr/include/portals_model.h usr/bin/overlap_report usr/bin/pm_run usr/lib/libnbc_overlap_mpich.so; do
    grep -q " ./$f\$" ../deb.contents || { echo "no $f"; return 1; }
  done
)
man_pages_are_made() { # by make install, as by make docs
  for c in overlap_report pm_run bench_nbc; do
    grep -q '^.SH SYNOPSIS\|^\.SH DESCRIPTION' "$T/$to/usr/share/man/man1/$c.1" || { echo "no page of $c"; return 1; }
  done
}
# What --help says is in the page, each line of a usage a line; nbc's knows the settings of what it preloads.
man_pages_say_all() {
  run_make "$B/nbc" "$B/fit_nic" "$B/bench_nbc" "$B/xfer_table" && sh docs/man_pages.sh "$T/man" 1.2.3 "$B/nbc" "$B/fit_nic" "$B/bench_nbc" "$B/xfer_table" || return 1
  for c in nbc fit_nic bench_nbc xfer_table; do
    sed 's/\\f[A-Z]//g; s/\\-/-/g; s/\\&//g' "$T/man/$c.1" >"$T/page" && "$B/$c" --help | grep -oE -- '--?[a-z][a-z-]+' | sort -u | while read -r word; do grep -qF -- "$word" "$T/page" || echo "$c: $word"; done | grep . && return 1
    grep -q '^\.SH SYNOPSIS' "$T/man/$c.1" || { echo "no synopsis of $c"; return 1; }
  done
  sed '1,/^.SH SYN/d; /^.SH DES/,$d' "$T/man/nbc.1" >"$T/synopsis"
  [ "$(grep -cx '.B nbc' "$T/synopsis")" = "$("$B/nbc" --help | grep -cE '^(usage:|      ) nbc ')" ] || { cat "$T/synopsis"; return 1; }
  sed 's/\\f[A-Z]//g; s/\\-/-/g' "$T/man/nbc.1" >"$T/page"
  for v in $(grep -ohE '^     NBC_[A-Z_]+' tools/overlap_preload.c tools/progress_preload.c); do grep -q "^$v " "$T/page" || { echo "no $v"; return 1; }; done
}
index_names_every_function() {
  run_make docs B="$B" INSTALL_COMMANDS= || return 1 # the pages are above
  grep -hoE '^(NBC|PM|NIC)_API [^(]*[ *]\(?\*?([a-zA-Z_0-9]+)\(' nbc_overlap.h portals_model.h hw/nic_hw.h hw/nic_meet.h hw/nic_tcp.h hw/nic_udp.h | sed 's/($//; s/.*[ *(]//' | sort -u >"$T/functions"
  test "$(wc -l <"$T/functions")" -gt 300 || return 1
  while read -r f; do grep -q "^| .$f. |" "$B/docs/api.md" || echo "not in the index: $f"; done <"$T/functions" >"$T/missing"
  cat "$T/missing" && ! test -s "$T/missing"
}

check "a tarball is made" tarball_is_made
[ -z "$TEST_MORE" ] || check "the tarball is the same twice" tarball_is_the_same_twice
check "the tarball builds alone" tarball_builds_alone
check "its own tarball is the same" tarball_of_it_is_the_same
check "below a path with a blank what can be is built, and tests are refused" builds_below_a_blank
check "make install into a folder with a space" install_at install
check "a plain mpicc is one MPI's, an empty one or none is none's, another one is refused" one_mpi_is_found_by_mpicc
check "pm_run links where there is no MPI" pm_run_links_without_mpi
check "pm_run enters programs however it is compiled" pm_run_enters_programs_however_it_is_compiled
if command -v cmake >/dev/null; then
  check "find_package finds the headers" cmake_finds_the_package
  check "find_package takes its own version and ranges around it" cmake_knows_the_version
else skip "find_package" "no cmake (Debian: cmake)"; fi
if command -v help2man >/dev/null; then
  check "man pages are made" man_pages_are_made
  check "man pages say what --help and the heads say" man_pages_say_all
else skip "man pages" "no help2man (Debian: help2man)"; fi
check "make uninstall leaves nothing" uninstalled_is_gone
if [ -z "$TEST_MORE" ]; then : # half of what this script takes
elif command -v dh >/dev/null && command -v mpicc.openmpi >/dev/null && command -v mpicc.mpich >/dev/null && pkg-config --exists libpci expat otf2; then
  check "the Debian recipe builds a package" debian_package_builds
else skip "the Debian recipe" "no debhelper, MPI or library (Debian: debhelper libopenmpi-dev libmpich-dev libpci-dev libexpat1-dev libotf2-trace-dev)"; fi
check "the index of the API names every function" index_names_every_function
finish
