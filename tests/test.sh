# For test scripts, as test.h is for programs:   . tests/test.sh
#   check NAME COMMAND...   passes when the command succeeds; its output is shown when it does not
#   skip NAME REASON        counts as skipped
#   finish                  last line: "N passed, N failed, N skipped"
# TEST_ONLY=WORDS: only checks whose name contains these words, as an argument does it for a C test.
# TEST_WITHOUT="NAME|NAME": without the checks of these names.
#   for n in $(some '3' '1 2 5')   the first words in `make check`, which has little time; `make check-more`
#                           (TEST_MORE=1) and `make mutate` take the others before them
# $T is a folder of the script's own under $B, empty at the start. Scripts run in the repository's root.
export LC_ALL=C.UTF-8 # elsewhere awk writes 12,5
B=${B:-build} CC=${CC:-cc} CLANG=${CLANG:-clang}
T=$B/$(echo "${0%.sh}" | tr / -)
rm -rf "$T" && mkdir -p "$T" || exit 1
test_passed=0 test_failed=0 test_skipped=0
check() {
  case $1 in *"$TEST_ONLY"*) ;; *) return ;; esac
  case "|$TEST_WITHOUT|" in *"|$1|"*) return ;; esac
  test_name=$1 && shift
  if "$@" >"$T/output" 2>&1; then
    test_passed=$((test_passed + 1)) && echo "ok      $test_name"
  else
    test_failed=$((test_failed + 1)) && echo "FAILED  $test_name" && head -12 "$T/output" | sed 's/^/  /'
  fi
}
# Given one plugin, it does not load those of every LLVM that is there, which take 0.3 s.
nm() { command nm --plugin "$("$CC" -print-file-name=liblto_plugin.so)" "$@"; }
some() { echo "${TEST_MORE:+$2 }$1"; }
skip() { test_skipped=$((test_skipped + 1)) && echo "skipped $1: $2"; }
finish() { echo "$test_passed passed, $test_failed failed, $test_skipped skipped" && exit $((test_failed != 0)); }
