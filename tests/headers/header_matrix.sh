#!/bin/sh
# Every header of headers.list, in the oldest C and C++ of every compiler and the newest C of one, the newest C++ of another
# one, without a warning; declared before implemented, implemented twice, static, twice static in one program, C and C++
# mixed. The oldest standard of a language is linked, run, and its result looked at: the headers ask for no standard, so
# only warnings and errors can differ in the others. A header that needs others, whose code is compiled for it again, has
# fewer of these; TEST_MORE=1: all in all standards. What a header says with parts left out is linked and run once: which
# functions it calls is the same in every language and compiler. The objects have only prefixed symbols and nothing writable.
. tests/test.sh
warn='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'

object() { # OUTPUT COMPILER FLAGS... FILE; -fno-pic: tables of pointers are read-only then
  output=$1 compiler=$2 && shift 2
  # shellcheck disable=SC2086 # flags are words
  "$compiler" $warn -I. -pthread -fno-pic -c -o "$output" "$@"
}
# The newest standards go by several names.
known() { echo 'int x;' >"$T/x.c" && "$1" "-std=$2" -x "$3" -fsyntax-only "$T/x.c" 2>/dev/null; } # COMPILER STANDARD LANGUAGE
newest() { for s in c23 c2x; do if known "$1" $s c; then echo $s && return; fi; done; }
newest_cpp() { for s in c++23 c++2b; do if known "$1" $s c++; then echo $s && return; fi; done; }
run() { # LINKER OBJECTS...: links and runs
  linker=$1 && shift
  # shellcheck disable=SC2086 # libs are words
  "$linker" -no-pie -o "$T/program" "$@" ${needs:+"$B/libnbc_overlap.a"} ${libs:-} -pthread -lm && timeout 60 "$T/program"
}
main_of() { # FUNCTIONS...: a main that calls them
  for f in "$@"; do echo "int $f(void);"; done
  echo 'int main(void) {'
  for f in "$@"; do echo "  if ($f()) return $f();"; done
  echo '  return 0; }'
}

one_standard() { # C-COMPILER STANDARD LANGUAGE: leaves its objects in $objects
  object "$objects/impl.$2.o" "$1" -D_GNU_SOURCE "-std=$2" -x "$3" "$T/$stem-impl.c" &&
    object "$objects/user.$2.o" "$1" "-std=$2" -x "$3" "tests/headers/${stem}_user.c" &&
    run "$1" "$T/main.o" "$objects/impl.$2.o" "$objects/user.$2.o"
}
between() { # C-COMPILER STANDARD LANGUAGE [MACRO]: no code is made
  # shellcheck disable=SC2086 # flags are words
  "$1" $warn -I. -pthread -fsyntax-only -D_GNU_SOURCE "-std=$2" -x "$3" ${4:+"-D$4"} "$T/$stem-impl.c" &&
    "$1" $warn -I. -pthread -fsyntax-only "-std=$2" -x "$3" ${4:+"-D$4"} "tests/headers/${stem}_user.c"
}
no_standard_is_asked_for() { ! grep -nE '__STDC_VERSION__|__cplusplus *[<>=]|__cpp_' "$file"; }
made_of() { case $1 in c++*) echo "$T/$quicker" ;; *) echo "$T/$CC" ;; esac; } # STANDARD: the folder of its objects
mixed() { run "$CC" "$T/main.o" "$(made_of "$1")/impl.$1.o" "$(made_of "$2")/user.$2.o"; } # IMPLEMENTATION'S AND USER'S STANDARD
# The same text, once preprocessed, makes the same object: a header that is included again compiles no second time.
order() { # FILE STANDARD LANGUAGE: header included several times
  for f in "$T/$stem-impl" "$1"; do "$CC" -I. -E -P -D_GNU_SOURCE "-std=$2" -x "$3" "${f%.c}.c" >"${f%.c}.text" || return 1; done
  again=$(made_of "$2")/impl.$2.o
  cmp -s "$T/$stem-impl.text" "${1%.c}.text" || { again=$T/again.o && object "$again" "$CC" -D_GNU_SOURCE "-std=$2" -x "$3" "$1"; } || return 1
  run "$CC" "$T/main.o" "$again" "$T/$CC/user.c99.o"
}
two_static_copies() { # LANGUAGE
  object "$T/one.o" "$quicker" -D_GNU_SOURCE -x "$1" "-D$static" "-D$implementation" "-Duse_$stem=use_one" \
    "tests/headers/${stem}_user.c" || return 1
  nm "$T/one.o" | grep -v " use_one$" | grep " [TDBCRVWu] [_A-Za-z]*$prefix" && return 1
  objcopy --redefine-sym use_one=use_two_ "$T/one.o" "$T/two_.o" || return 1
  main_of use_one use_two_ >"$T/two.c" && "$CC" -c -o "$T/two.o" "$T/two.c" && run "$CC" "$T/two.o" "$T/one.o" "$T/two_.o"
}
# The header's own table of options says which parts may be left out (PREFIX_NO_..., PREFIX_ONLY_...) or are for who asks: PREFIX_THREADS
parts_to_leave_out() {
  upper=$(echo "$prefix" | tr a-z A-Z)
  sed -nE "s/^ +(${upper}_(NO|ONLY)_[A-Z]+|${upper}_THREADS) .*/\1/p" "$file"
}
without() { # COMPILER STANDARD LANGUAGE MACRO: the same user, for whom all that is left out must not matter
  object "$T/impl.o" "$1" -D_GNU_SOURCE "-std=$2" -x "$3" "-D$4" "$T/$stem-impl.c" &&
    object "$T/user.o" "$1" "-std=$2" -x "$3" "-D$4" "tests/headers/${stem}_user.c" &&
    run "$1" "$T/main.o" "$T/impl.o" "$T/user.o"
}
with_libpci() { # its header is of C and does not say so
  libs=$(pkg-config --libs libpci) && without "$quicker" c++17 c++ NIC_WITH_LIBPCI
}
only_prefixed_symbols() { # OBJECT; weak: copies of functions of the C++ library
  ! nm -g --defined-only "$1" | grep -vE " [TRV] (${prefix}_[a-z].*|$also)$| W _ZN?K?St[^ ]*$" && nm -g --defined-only "$1" | grep -q " T "
}
nothing_writable() { # OBJECT
  nm "$1" >"$T/symbols" && test -s "$T/symbols" &&
    ! grep -E ' [DdBbCcGgSs] ' "$T/symbols" | grep -vE " (_ZL[0-9]*)?($also)$"
}
no_common_library_missing() { # every undefined symbol is libc's, libm's, libpthread's, or that of a header which is needed
  echo 'int main(void) { return 0; }' >"$T/empty.c" &&
    "$CC" -no-pie -o "$T/empty" "$T/empty.c" "$T/$CC/impl.c99.o" ${needs:+"$B/libnbc_overlap.a"} -pthread -lm
}
needs_gnu_source() { # says what to do when the implementation is compiled without it
  ! "$CC" -std=c11 -I. -E -o "$T/impl.text" "$T/$stem-impl.c" 2>"$T/errors" && grep "error.*_GNU_SOURCE" "$T/errors"
}

one_header() {
  T=$T/$stem && mkdir "$T"
  all() { # every header that is needed, and the file itself
    echo "$needs" | tr ',' '\n' | sed -E 's/^[A-Z_]+$/#ifndef &\n#define &\n#endif/; s/^[a-z].*/#include "&"/'
    printf '#include "%s"\n' "$file"
  }
  { printf '#define %s\n' "$implementation" && all; } >"$T/$stem-impl.c"
  { all && printf '#define %s\n' "$implementation" && all; } >"$T/$stem-after.c"
  { printf '#define %s\n' "$implementation" && all && all; } >"$T/$stem-twice.c"
  main_of "use_$stem" >"$T/main.c"
  "$CC" -c -o "$T/main.o" "$T/main.c"
  quicker=$CC
  ! command -v "$CLANG" >/dev/null || quicker=$CLANG # in half of the time
  for compiler in "$CC" "$CLANG"; do
    if ! command -v "$compiler" >/dev/null; then
      skip "$file with $compiler" "no $compiler (Debian: clang)"
      continue
    fi
    objects=$T/$compiler && mkdir -p "$objects"
    oldest=one_standard oldest_cpp=one_standard
    if [ -z "$TEST_MORE" ]; then # code is made of C by both, of C++ by the quicker one; where others are needed, once
      [ -z "$needs" ] || [ "$compiler" = "$CC" ] || oldest=between
      [ "$compiler" = "$quicker" ] || oldest_cpp=between
    fi
    check "$file $compiler c99" $oldest "$compiler" c99 c
    check "$file $compiler c++17" $oldest_cpp "$compiler" c++17 c++
    # in make check one of two compilers takes the newest C, the other one the newest C++
    c=$(newest "$compiler") cpp=$(newest_cpp "$compiler")
    if [ "$quicker" = "$CC" ]; then few="$c $cpp"; elif [ "$compiler" = "$quicker" ]; then few=$cpp; else few=$c; fi
    [ -z "$needs" ] || few=
    for standard in $(some "$few" "c11 c17 c++20 $c $cpp" | tr ' ' '\n' | sort -u); do
      case $standard in c++*) language='c++' ;; *) language='c' ;; esac
      check "$file $compiler $standard" between "$compiler" "$standard" $language
    done
    for macro in $(parts_to_leave_out); do
      if [ "$compiler" = "$quicker" ]; then
        check "$file $compiler c99 with $macro" without "$compiler" c99 c "$macro"
        [ -z "$TEST_MORE" ] || check "$file $compiler c++20 with $macro" between "$compiler" c++20 c++ "$macro"
      elif [ -n "$TEST_MORE" ]; then
        for standard in c99 c++20; do check "$file $compiler $standard with $macro" between "$compiler" $standard ${standard%%[0-9]*} "$macro"; done
      fi
    done
  done
  case $stem in
    portals_model) check "$file $CC c99 with PM_USE_UCONTEXT" without "$CC" c99 c PM_USE_UCONTEXT ;;
    nic_hw) if [ -n "$(pkg-config --libs libpci 2>/dev/null)" ]; then
        check "$file $quicker c++17 with NIC_WITH_LIBPCI" with_libpci
      else skip "$file with NIC_WITH_LIBPCI" 'no libpci (Debian: libpci-dev)'; fi ;;
  esac
  check "$file asks for no standard" no_standard_is_asked_for
  check "$file implemented in C, used in C++" mixed c99 c++17
  check "$file implemented in C++, used in C" mixed c++17 c99
  for language in c c++; do
    case $language in c) standard='c99' ;; *) standard='c++17' ;; esac
    if [ -z "$needs" ] || [ -n "$TEST_MORE" ]; then
      check "$file declared, then implemented, $language" order "$T/$stem-after.c" $standard $language
      check "$file implemented, then included again, $language" order "$T/$stem-twice.c" $standard $language
      if [ $language = c ] || [ -n "$TEST_MORE" ]; then check "$file two static copies, $language" two_static_copies $language; fi
    fi
    check "$file exports only ${prefix}_ ($language)" only_prefixed_symbols "$(made_of $standard)/impl.$standard.o"
    check "$file has no writable data ($language)" nothing_writable "$(made_of $standard)/impl.$standard.o"
  done
  check "$file needs only libc, libm, libpthread" no_common_library_missing
  check "$file without _GNU_SOURCE says so" needs_gnu_source
  finish
}

while read -r file stem implementation static prefix also needs; do # all headers at once: compilers do most of the work
  case $file in '#'* | '') continue ;; esac
  one_header >"$T/$stem.log" 2>&1 &
done <tests/headers/headers.list
wait
cat "$T"/*.log | awk '
  /^[0-9]+ passed, / { passed += $1; failed += $3; skipped += $5; ended++; next } { print }
  END { failed += '"$(ls "$T"/*.log | wc -l)"' - ended; print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"; exit failed > 0 }'
