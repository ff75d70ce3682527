#!/bin/sh
# The same seed gives the same trace, to the last bit: whatever compiler, optimisation and processor, also
# where products and sums can be one instruction.
. tests/test.sh
build() { # OUTPUT COMPILER FLAGS...
  out=$1 && shift && "$@" -std=gnu11 -D_GNU_SOURCE -w -I. tests/model/trace_hash.c -o "$T/$out" ${library:+"$library"} -pthread -lm
}
same() { # OUTPUT [RUNNER] : as the first build
  out=$1 && shift && "$@" "$T/$out" >"$T/$out.hash" && cat "$T/$out.hash" && cmp "$T/O0.hash" "$T/$out.hash"
}
equal_arm() { build arm aarch64-linux-gnu-gcc "$some" -static && same arm "$QEMU_AARCH64"; }
equal_build() { build "$@" && same "$1"; }
check "it runs, and twice the same" eval 'build O0 "$CC" -O0 && "$T/O0" >"$T/O0.hash" && same O0 && grep -qE "^[0-9a-f]{16}$" "$T/O0.hash"'
check "the library that make builds gives the same traces" eval 'library=$B/libportals_model.a; equal_build made "$CC" -DIN_LIBRARY; library='
if [ -n "$TEST_MORE" ]; then most=-O3 some=-O2; else most=-O2 some=-O1; fi # less to compile
if grep -qw fma /proc/cpuinfo && [ "$(uname -m)" = x86_64 ]; then
  check "fused multiply-add gives the same traces" equal_build fma "$CC" $most -march=x86-64-v3
else
  check "$most gives the same traces" equal_build most "$CC" $most
fi
if [ -z "$TEST_MORE" ]; then : # of other compilers, that for aarch64 is one
elif command -v "${CLANG:-clang}" >/dev/null; then
  check "clang gives the same traces" equal_build clang "${CLANG:-clang}" -O1 -ffp-contract=fast
else
  skip "clang gives the same traces" "no clang"
fi
if [ -n "${QEMU_AARCH64:-}" ] && command -v aarch64-linux-gnu-gcc >/dev/null && [ -e /usr/aarch64-linux-gnu/include/stdio.h ]; then
  check "aarch64 gives the same traces" equal_arm
else
  skip "aarch64 gives the same traces" "no cross compiler or qemu-user"
fi
finish
