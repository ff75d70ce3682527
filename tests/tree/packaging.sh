#!/bin/sh
# What packagers get: a tarball that is the same twice and builds alone, find_package, a Debian package, man
# pages and an index of the API.
. tests/test.sh
root=$(cd "$T" && pwd)
make=${MAKE:-make}
version=$(sed -n 's/^.define NBC_VERSION_STRING *"\(.*\)"/\1/p' nbc_overlap.h)
name=nbc_overlap-$version
run_make() { MAKEFLAGS='' "$make" -s CC="$CC" "$@"; }

tarball_is_the_same_twice() {
  run_make dist B="$T/one" && run_make dist B="$T/two" && cmp "$T/one/$name.tar.gz" "$T/two/$name.tar.gz"
}
# The recipe runs without optimisation, symbols for debuggers and long compression. What builds alone has its flags,
# so that the recipe finds that part built.
export DEB_BUILD_OPTIONS='noopt noautodbgsym' DEB_CFLAGS_STRIP=-g DPKG_DEB_COMPRESSOR_TYPE=gzip
tarball_builds_alone() (
  tar -xzf "$T/one/$name.tar.gz" -C "$T" && cd "$T/$name" && ! test -e .git || return 1
  if command -v dh >/dev/null; then eval "$(dpkg-buildflags --export=sh)"; else export CFLAGS=-O0; fi
  run_make build/01_see_overlap && build/01_see_overlap | grep -q 'hidden'
)
installs_at() { run_make install B="$B" ${CFLAGS:+CFLAGS="$CFLAGS"} DESTDIR="$root/installed" PREFIX=/usr >"$T/install.log" 2>&1; }
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
  cmake -S "$T/user" -B "$T/user/build" -DCMAKE_PREFIX_PATH="$root/installed/usr" -DCMAKE_C_FLAGS=-O0 >/dev/null &&
    cmake --build "$T/user/build" >"$T/cmake.log" 2>&1 && "$T/user/build/one" | grep -q '100.0 %' && "$T/user/build/two" | grep -q '^got 42'
}
cmake_refuses_another_version() {
  sed -i 's/find_package(nbc_overlap [0-9.]*/find_package(nbc_overlap 99.0/' "$T/user/CMakeLists.txt"
  ! cmake -S "$T/user" -B "$T/user/other" -DCMAKE_PREFIX_PATH="$root/installed/usr" >"$T/refused" 2>&1 && grep -q "99.0" "$T/refused"
}
debian_package_builds() (
  cd "$T/$name" && cp -r packaging/debian debian && sed -i "1s/(.*)/($version)/" debian/changelog &&
    MAKEFLAGS='' timeout 1500 dpkg-buildpackage -us -uc -b >../deb.log 2>&1 || { tail -20 ../deb.log; return 1; }
  dpkg-deb --contents ../nbc-overlap_"$version"_*.deb >../deb.contents
  for f in usr/include/nbc_overlap.h usr/include/portals_model.h usr/bin/overlap_report usr/bin/pm_run usr/lib/libnbc_overlap_mpich.so; do
    grep -q " ./$f\$" ../deb.contents || { echo "no $f"; return 1; }
  done
)
man_pages_are_made() {
  run_make docs B="$B" && for c in overlap_report pm_run bench_nbc; do
    grep -q '^.SH SYNOPSIS\|^\.SH DESCRIPTION' "$B/docs/man/$c.1" || { echo "no page of $c"; return 1; }
  done
}
index_names_every_function() {
  grep -hoE '^(NBC|PM|NIC)_API [^(]*[ *]\(?\*?([a-zA-Z_0-9]+)\(' nbc_overlap.h portals_model.h hw/nic_hw.h hw/nic_meet.h hw/nic_tcp.h hw/nic_udp.h | sed 's/($//; s/.*[ *(]//' | sort -u >"$T/functions"
  test "$(wc -l <"$T/functions")" -gt 300 || return 1
  while read -r f; do grep -q "^| .$f. |" "$B/docs/api.md" || echo "not in the index: $f"; done <"$T/functions" >"$T/missing"
  cat "$T/missing" && ! test -s "$T/missing"
}

check "the tarball is the same twice" tarball_is_the_same_twice
check "the tarball builds alone" tarball_builds_alone
check "make install" installs_at
if command -v cmake >/dev/null; then
  check "find_package finds the headers" cmake_finds_the_package
  check "find_package refuses another version" cmake_refuses_another_version
else skip "find_package" "no cmake (Debian: cmake)"; fi
if command -v dh >/dev/null && command -v mpicc.openmpi >/dev/null && command -v mpicc.mpich >/dev/null && pkg-config --exists libpci; then
  check "the Debian recipe builds a package" debian_package_builds
else skip "the Debian recipe" "no debhelper or MPI (Debian: debhelper libopenmpi-dev libmpich-dev libpci-dev)"; fi
if command -v help2man >/dev/null; then check "man pages are made" man_pages_are_made
else skip "man pages" "no help2man (Debian: help2man)"; fi
check "the index of the API names every function" index_names_every_function
finish
