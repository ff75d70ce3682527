#!/bin/sh
# Mutants: one line of a source is made wrong, and a named test must notice. tests/mutate/mutants.list has a
# line each: FILE, PATTERN, REPLACEMENT, TEST, separated by tabs.
#   FILE         a source, with its folder
#   PATTERN      extended regular expression that matches in exactly one line of it
#   REPLACEMENT  what sed puts in its place (\1 and & mean what they mean there)
#   TEST         ROOM/NAME of a C test, then perhaps a word that selects tests in it; or ROOM/NAME.sh, a script made with
#                tests/test.sh, and words that stand in the names of checks. What a script tests: PROGRAM
#   PROGRAM      of a script: what is built with the mutant, below build/; other programs of its room are as they were
# A mutant that does not build, a pattern that matches no line or several, and a test that passes all
# the same count as failed: the list must stay true. Sources are changed in a copy below $B/mutate.
# Usage: tests/mutate/mutate.sh [COUNT]: COUNT mutants drawn by TEST_SEED (default: all)
. tests/test.sh
export TEST_MORE=1 # a test that make check leaves out may be the one that notices
list=/tmp/w/s43see/few.list
make=${MAKE:-make}
seed=${TEST_SEED:-$(date +%s)}
echo "TEST_SEED=$seed"
tree=$B/mutate
mkdir -p "$tree"
tree=$(cd "$tree" && pwd)
: >"$T/without"
tab=$(printf '\t') new=

# The copy keeps its objects from run to run; cp -u would miss a file that became older. It begins with the objects
# and programs of this build, which are newer than their sources.
[ -d "$tree/build" ] || new=1
{ git ls-files -c 2>/dev/null | grep . || find . -name .git -prune -o -type d -exec test -e '{}/.flags' \; -prune -o -type f -print; } >"$T/files"
if [ "$new" ]; then # a file that was deleted is named, too
  tar --create --ignore-failed-read --files-from="$T/files" 2>/dev/null | tar --extract --directory="$tree"
else
  while read -r f; do
    [ -f "$f" ] || continue
    cmp -s "$f" "$tree/$f" || { mkdir -p "$tree/$(dirname "$f")" && cp -p "$f" "$tree/$f" && touch "$tree/$f"; }
  done <"$T/files"
fi
mkdir -p "$tree/build/tests"
rtl='rtl/libnic_cosim.a rtl/libverilated.a rtl/nic/Vnic_top__ALL.a rtl/wave/Vnic_wave__ALL.a rtl/switched/Vnic_switch__ALL.a'
for f in .flags pieces guest $rtl lib include $(find "$B" -maxdepth 1 -type f ! -name '*.log' | sed 's|.*/||') $(cut -sf4 "$list" | sed 's|/.*||; s|^|tests/|' | sort -u); do
  if [ -e "$B/$f" ] && [ ! -e "$tree/build/$f" ]; then mkdir -p "$tree/build/$(dirname "$f")" && cp -rp "$B/$f" "$tree/build/$f"; fi
done

needs_of() { case $1 in *.sh) echo "needs-${1%%/*}" ;; esac; } # TEST: what the scripts of its room use
build() { # TEST [PROGRAM [MORE]]: the headers are assembled first, since some programs implement them whole
  target=build/${2:-tests/$1}
  for parts in "$tree"/src/*.list; do
    header=$tree/$(sed -n 's|^// into ||p' "$parts")
    (cd "$tree" && sh src/assemble.sh "src/${parts##*/}") >"$T/single.h" || return 1
    cmp -s "$T/single.h" "$header" || cp "$T/single.h" "$header"
  done
  (cd "$tree" && MAKEFLAGS='' timeout 3600 "$make" -s B=build CC="$CC" ${CFLAGS:+CFLAGS="$CFLAGS"} "$target" ${3:+"$3"} </dev/null)
}
passes() { # SECONDS TEST [WORDS]: all that were selected, and some were, in this time
  seconds=$1 test=$2 && shift 2
  case $test in
    *.sh) (cd "$tree" && B=build TEST_ONLY="$*" TEST_SEED=$seed timeout -k 5 "$seconds" sh "tests/$test" </dev/null) ;;
    *) (cd "$tree" && TEST_SEED=$seed timeout -k 5 "$seconds" "build/tests/$test" "$@" </dev/null) ;;
  esac >"$T/run.log" 2>&1
  code=$?
  cat "$T/run.log"
  [ "$code" -eq 0 ] && grep -qE '^[1-9][0-9]* passed' "$T/run.log"
}
as_first() { cat "$T/first"; return "$first"; }
# shellcheck disable=SC2086 # a test and perhaps a word
mutant() { # FILE PATTERN REPLACEMENT TEST [PROGRAM]
  file=$tree/$1
  lines=$(grep -cE -e "$2" "$file")
  [ "$lines" = 1 ] || { echo "$1: the pattern is in $lines lines"; return 1; }
  cp -p "$file" "$T/original"
  [ -z "$5" ] || cp -p "$tree/build/$5" "$T/program"
  sed -E "s$(printf '\001')$2$(printf '\001')$3$(printf '\001')" "$T/original" >"$file"
  if cmp -s "$file" "$T/original"; then echo "$1: nothing changed"; bad=1
  elif ! build "${4%% *}" "$5"; then echo "the mutant does not build"; bad=1
  elif passes 60 $4; then # a mutant that hangs is noticed
    echo "SURVIVED: nothing noticed this change of $1"; bad=1
  else bad=0; fi
  cp "$T/original" "$file"
  [ -z "$5" ] || cp -p "$T/program" "$tree/build/$5" # other mutants' scripts call it; it is older than its sources
  return $bad
}

grep -vE '^(#|$)' "$list" | awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' |
  sort | cut -f2- | head -n "${1:-100000}" | sort >"$T/chosen"
cut -f4,5 "$T/chosen" | sort -u >"$T/tests"
while IFS=$tab read -r test program; do
  word=${test#"${test%% *}"} word=${word# } test=${test%% *}
  if ! build "$test" "$program" "$(needs_of "$test")" >"$T/build.log" 2>&1; then
    tail -3 "$T/build.log"
    check "$test builds" false
  else
    # shellcheck disable=SC2086 # may be no word
    passes 300 "$test" $word >"$T/first"
    first=$?
    if grep -qE '^0 passed, 0 failed, [1-9]' "$T/first"; then # a script that has nothing to run here: no MPI
      skip "$test${word:+ $word}" "$(grep -m 1 '^skipped' "$T/first" | cut -c 9-)"
      printf '%s\n' "$test${word:+ $word}" >>"$T/without"
    else
      check "$test${word:+ $word} passes without a mutant" as_first
    fi
  fi
done <"$T/tests"
while IFS=$tab read -r file pattern replacement test program; do
  ! grep -qxF -e "$test" "$T/without" || continue
  check "$file: $(printf %.60s "$pattern") -> $(printf %.40s "$replacement")" mutant "$file" "$pattern" "$replacement" "$test" "$program"
done <"$T/chosen"
finish
