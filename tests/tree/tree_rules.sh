#!/bin/sh
# The repository's own rules: nothing outside the layout, no left-overs, no orphans.
. tests/test.sh
# What git knows, or in an unpacked archive everything but folders of builds, which have a .flags.
{ git ls-files -co --exclude-standard 2>/dev/null | grep . || find . -name .git -prune -o -type d -exec test -e '{}/.flags' \; -prune -o -type f -print | sed 's|^\./||'; } |
  while read -r f; do [ -f "$f" ] && echo "$f"; done >"$T/all"
# Without git, too, what it is told to ignore is not of the tree.
sed -n '/^\//{s|^/||; s|\.|\\.|g; s|\*|[^/]*|g; s|[^/]$|&$|; s|^|^|p}' .gitignore >"$T/ignored"
grep -vEf "$T/ignored" "$T/all" >"$T/files"
grep -E '\.(c|h|cpp|sv|svh|sh|mk|md|f90|f|py|ys|json|txt|list)$|^Makefile$|^\.' "$T/files" >"$T/text"
grep -E '\.(c|h|cpp)$' "$T/files" >"$T/c"

# every LIST COMMAND...: the command's output over all files of a list; succeeds when there is none
every() { list=$1 && shift && tr '\n' '\0' <"$list" | xargs -0 "$@" >"$T/found"; cat "$T/found"; ! test -s "$T/found"; }

# Who has done the tutorial here may run the tests.
leavings_are_ignored() {
  printf '%s\n' nbc-app-1/nbc_overlap.app.1-2.0.json nbc_overlap.app.1-2.0.json nbc_overlap.app.1-2.0.trace nbc_calls.app.1-2.0.calls overlap_report.html overlap_trace.json build/x >"$T/leavings"
  ! grep -vEf "$T/ignored" "$T/leavings" && test "$(echo nbc_overlap.h | grep -vEf "$T/ignored")" &&
    { ! git ls-files >"$T/known" 2>&1 || ! grep . "$T/known" | grep -Ef "$T/ignored"; }
}
layout() {
  ! grep -vE '^(README\.md|LICENSE|Makefile|nbc_overlap\.h|portals_model\.h|\.clang-format|\.clang-tidy|\.editorconfig|\.gitignore|\.ci/run|CHANGELOG\.md|CONTRIBUTING\.md|CITATION\.cff|(src|tools|docs|packaging|examples|tests|rtl|hw)/.*)$' "$T/files"
}
no_machine_paths() { every "$T/text" grep -nE '(^|[^a-zA-Z0-9_.$}/-])/(work|shared|home|root|Users)/'; }
no_marks() { every "$T/text" grep -nE '(^|[^A-Za-z0-9_])(TO''DO|FIX''ME|X''XX|HA''CK)([^A-Za-z0-9_]|$)|^(<<<<<<<|>>>>>>>) '; } # of a merge too
line_ends() { every "$T/text" grep -nE "$(printf '\r')\$|[ 	]\$"; }
final_newline() {
  tr '\n' '\0' <"$T/text" | xargs -0 tail -qc1 | tr -d '\n' | grep -q . || return 0 # the last bytes of all files at once: all are newlines
  while read -r f; do [ -s "$f" ] && [ "$(tail -c1 "$f" | wc -l)" = 0 ] && echo "$f: no newline at the end"; done <"$T/text" >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
no_tabs() { every "$T/c" grep -nP '\t'; }
# Sources of people stay below 1,000 KiB. The assembled headers may have 1,500: their pieces are what is read and
# changed, and what a user pays for the parts of a header that a program uses is held by tests/headers/small_parts.
small_files() {
  grep -vxE 'nbc_overlap\.h|portals_model\.h|hw/nic_hw\.h' "$T/files" >"$T/sources"
  grep -xE 'nbc_overlap\.h|portals_model\.h|hw/nic_hw\.h' "$T/files" >"$T/assembled"
  every "$T/sources" sh -c 'find "$@" -size +1000k' find && every "$T/assembled" sh -c 'find "$@" -size +1500k' find
}
short_functions() { # about 60 lines is the rule; 100 is the limit
  # shellcheck disable=SC2016 # an awk program
  every "$T/c" awk 'FNR == 1 { start = 0 }
    /^[a-zA-Z].*[{]$/ && /\(/ { start = FNR; name = $0 }
    /^[}]/ && start { if (FNR - start > 100) print FILENAME ":" start ": " FNR - start " lines: " name; start = 0 }'
}
# One boolean type; what libc, MPI or a wire wants as a number has another name
booleans_are_bools() {
  grep -E '^(src|tools|hw|rtl|examples)/' "$T/c" | grep -v '^hw/nic_hw.h' >"$T/ours"
  every "$T/ours" grep -nE '(^|[^a-z_])(int|unsigned|char|long|size_t|u?int(8|16|32|64)_t) ([*a-z_0-9]+(\[[^]]*\])?, )*\(?\*?(is|has)_[a-z_]+([^][a-z_]|$)'
}
# A count says of what, in the singular: process, axis and series are; the last are keys of old platform files.
counts_are_singular() {
  every "$T/ours" sh -c 'grep -nowE "[a-z_]*s_count" "$@" | grep -vE ":(([a-z_]*_)?(process|axis|series|guess|this|is)_count|nic_(counters|registers)_count|nodes_count|nic_engines_count|e2e_(entries|retries)_count|[A-Za-z_]*_neighbors_count)$"' grep
}
short_pieces() { # at most 1,500 lines, but for what is assembled
  grep -E '\.(c|h|cpp|sv|sh|mk|py)$' "$T/files" | grep -vxE 'nbc_overlap\.h|portals_model\.h|hw/nic_hw\.h' >"$T/pieces"
  # shellcheck disable=SC2016 # an awk program
  every "$T/pieces" awk 'FNR == 1501 { print FILENAME ": more than 1500 lines" }'
}
mutants_are_of_this_tree() { # each pattern in exactly one line of its file; each test a program in C, or a script and what it tests
  tab=$(printf '\t')
  grep -v '^#' tests/mutate/mutants.list | while IFS=$tab read -r file pattern replacement test program; do
    lines=$(grep -cE -e "$pattern" "$file")
    [ "$lines" = 1 ] || echo "tests/mutate/mutants.list: $file: in $lines lines: $pattern"
    case ${test%% *} in
      *.sh) grep -qE '^\. tests/test.sh|TEST_ONLY' "tests/${test%% *}" && [ -n "$program" ] || echo "tests/mutate/mutants.list: a script that takes TEST_ONLY and a program wanted: $test" ;;
      *) [ -f "tests/${test%% *}.c" ] && [ ! -f "tests/${test%% *}.sh" ] || echo "tests/mutate/mutants.list: no test in C: $test" ;;
    esac
    [ -n "$replacement" ] && [ -n "$test" ] || echo "tests/mutate/mutants.list: four fields wanted: $file $pattern"
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
headers_include_nothing_of_ours() {
  for f in nbc_overlap.h portals_model.h hw/nic_hw.h; do
    [ -f "$f" ] && sed '/^ *\*/d; /^   *#/d' "$f" | grep -nE '^ *# *include *"' && return 1
  done
  grep -qE '^#include <' nbc_overlap.h
}
headers_need_no_kernel_headers() { # which musl, for one, comes without
  ! grep -nE '^ *# *include *<(linux|asm)/' nbc_overlap.h portals_model.h
}
tests_are_listed() { # a test that no fragment names is never run
  sed -nE 's#^(tests/[a-z0-9_]+/[a-zA-Z0-9_.-]+)\.(c|cpp|sh|f90)$#\1#p' "$T/files" | sort -u | while read -r t; do
    case $t in tests/fuzz/fuzz_* | *_user | *_guest) continue ;; esac
    name=${t##*/}
    grep -qE "(^|[^a-zA-Z0-9_])$name([^a-zA-Z0-9_]|\$)" Makefile tests/*/*.mk rtl/*.mk hw/*.mk 2>/dev/null ||
      grep -qE "^\. .*$name\.sh" tests/*/*.sh || echo "$t is in no fragment"
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
examples_are_built() {
  sed -nE 's#^(examples|tools)/([a-zA-Z0-9_]+)\.c$#\2#p' "$T/files" | while read -r name; do
    grep -qE "(^|[^a-zA-Z0-9_])$name([^a-zA-Z0-9_]|\$)" Makefile tests/*/*.mk rtl/*.mk hw/*.mk 2>/dev/null || echo "$name.c is built by nobody"
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
files_say_what_they_are() { # the first line that is not a directive or guard is a comment
  tr '\n' '\0' <"$T/c" | xargs -0 awk 'FNR == 1 { tell(); file = FILENAME; is_said = 0 } FNR <= 3 && /\/\*|\/\/|^#!/ { is_said = 1 } END { tell() }
    function tell() { if (file && !is_said) print file ": no comment at the top" }' >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
help_names_every_target() { # the contract of the make targets
  make -s help >"$T/help" || return 1
  for target in doctor run check check-core bench examples lint asan tsan fuzz cross deps install clean; do
    grep -qE "^ +$target " "$T/help" || { echo "make help does not name $target"; return 1; }
  done
}
benches_go_on() { # scripts run whatever their mode is, and after one that fails come the others
  printf 'echo one\nexit 1\n' >"$T/one.sh" && printf 'echo two of "$*"\n' >"$T/two.sh"
  ! make -s bench ASKED="$T/one.sh $T/two.sh" BENCH=x >"$T/benches" 2>"$T/benches.err" &&
    [ "$(cat "$T/benches")" = "one
two of x" ] && grep -q "one.sh failed" "$T/benches.err"
}
# Of a bench whose list of names is short of one, `make bench` would run nothing, and say nothing.
benches_are_found() {
  ! make -s bench BENCH=no_such_name >"$T/benches" 2>&1 && grep 'no bench prints a line of that name: BENCH=no_such_name' "$T/benches" && grep -w model_small_flows_ "$T/benches" || return 1
  [ "$(sh tests/bench/asked.sh 'submit|tcp_lat' a=y,tcp_ b=x c=submit d | tr '\n' ' ')" = 'a c d ' ] && [ "$(sh tests/bench/asked.sh '^x_.*_y' a=x_1_ b=y_)" = a ] || return 1
  grep -ohE 'make bench BENCH=[A-Za-z0-9_.*|]+' README.md docs/*.md tools/*.[ch] src/guest/*.c | sed 's/.*=//; s/$/ ./' >"$T/names"
  for f in tests/bench/*.c; do # who prints it, and by which name; those made from parts begin with their first
    sed -nE 's/.*(bench_wanted\(argc, argv, |asked\(argc, argv, |bench_print\()"([a-z_0-9]+)".*/\2/p' "$f" | sort -u | sed "s|\$| $B/bench/$(basename "$f" .c)|"
  done | grep -v '/preload_' >>"$T/names"
  printf 'include Makefile\nfound: ; @:\n$(foreach n,%s,$(eval BENCH := $(word 1,$(subst =, ,$n)))$(info $n $(ASKED)))\n' "$(sed 's/ /=/' "$T/names" | tr '\n' ' ')" | make -s -f - found >"$T/found"
  [ "$(wc -l <"$T/found")" = "$(wc -l <"$T/names")" ] && ! awk '{ split($1, wanted, "="); if (NF < 2 || (wanted[2] != "." && !index($0 " ", " " wanted[2] " "))) print }' "$T/found" | grep .
}
one_version() { # in the macros, as text and number, the heads, CITATION, the newest entries of the change logs
  {
    sed -nE 's/^.define (NBC|PM)_VERSION_STRING "(.*)"/\2/p' nbc_overlap.h portals_model.h
    sed -nE 's/^.define (NBC|PM)_VERSION +([0-9]+) .*/\2/p' nbc_overlap.h portals_model.h | awk '{ printf "%d.%d.%d\n", $1 / 10000, $1 / 100 % 100, $1 % 100 }'
    sed -nE '1s|^/\* [a-z_]+\.h ([0-9.]+):.*|\1|p' nbc_overlap.h && sed -nE '1s|^/\* [a-z_]+\.h ([0-9.]+):.*|\1|p' portals_model.h
    sed -nE '1s|^/\* [a-z_]+\.h ([0-9.]+):.*|\1|p' hw/nic_hw.h && sed -n 's/^version: //p' CITATION.cff
    sed -nE 's/^## ([0-9.]+) .*/\1/p' CHANGELOG.md | head -1 && sed -nE '1s/.*\(([0-9.]+)\).*/\1/p' packaging/debian/changelog
  } >"$T/versions"
  test "$(wc -l <"$T/versions")" = 10 && test "$(sort -u "$T/versions" | wc -l)" = 1 || { cat "$T/versions"; return 1; }
}

# VERSION TARGET [VARIABLE=VALUE]: how make would, by a gcc of that version: lines with the flag that makes warnings errors, and those without
compiles() {
  printf '#!/bin/sh\necho %s -__clang_major__\n' "$1" >"$T/gcc" && chmod +x "$T/gcc" && shift &&
    (unset CFLAGS && MAKEFLAGS='' "${MAKE:-make}" -n B="$T/strict" CC="$T/gcc" CLANG="$T/gcc" QEMU_AARCH64= "$@") 2>"$T/err" | awk '/ -Wconversion/ { n[/ -Werror/]++ } END { print n[1] + 0, n[0] + 0 }'
}
# In make check, and only there; of a compiler that nobody here has seen who checks is not to bear the warnings.
warnings_are_errors() {
  compiles 12 check-core | grep -x '[1-9][0-9]* 0' && compiles 12 "$T/strict/nbc" | grep -x '0 [1-9][0-9]*' && compiles 99 check-core | grep -x '0 [1-9][0-9]*' &&
    compiles 12 check-core CFLAGS=-O3 | grep -x '0 [1-9][0-9]*'
}
check "what commands leave where they run is ignored" leavings_are_ignored
check "nothing outside the layout" layout
check "no path of one machine" no_machine_paths
check "no left-over marks" no_marks
check "no trailing blanks, no carriage returns" line_ends
check "files end with a newline" final_newline
check "no tabs in C" no_tabs
check "no file above 1000 KiB, no assembled header above 1500" small_files
check "no function above 100 lines" short_functions
check "no piece above 1500 lines" short_pieces
check "what is_ or has_ is a bool" booleans_are_bools
check "a count has its noun in the singular" counts_are_singular
check "mutants are of this tree" mutants_are_of_this_tree
check "headers include nothing of ours" headers_include_nothing_of_ours
check "the main headers need a C library's headers only" headers_need_no_kernel_headers
check "every test is in a fragment" tests_are_listed
check "every example is built" examples_are_built
check "every C file says what it is" files_say_what_they_are
check "make help names the targets" help_names_every_target
check "benches are run as scripts, to the last one" benches_go_on
check "make bench finds who prints a line" benches_are_found
check "one version everywhere" one_version
check "make check takes warnings for errors" warnings_are_errors
finish
