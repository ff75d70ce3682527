#!/bin/sh
# assemble.sh LIST: writes the single header whose parts LIST names, in LIST's order, to standard
# output. Run from the top of the tree: `sh src/assemble.sh src/nbc_overlap.list > nbc_overlap.h`.
#
# LIST has one item per line; empty lines and lines that start with // are left out (the first one,
# "// into FILE", tells `make single` where the result belongs):
#   ROOM/NAME   a piece, src/ROOM/NAME.h and src/ROOM/NAME.c (either may be missing). The header up to
#               the line "/* ---- for later pieces ---- */" goes to the first half of the result (the
#               API), the rest of the header and the .c file to the second half (the implementation).
#   api FILE    src/FILE stands here in the first half; code FILE: here in the second half
#   #...        this line stands here in both halves: #if and #endif around a room
# Lines `#pragma once` and `#include "..."` become empty, so line numbers of a part stay what they are
# in its file; with NBC_LINES defined, compilers name that file and line.
set -eu
list=$1
[ -r "$list" ] || { echo "assemble.sh: cannot read $list" >&2; exit 1; }

# part FILE FROM: FROM is all, api (before the mark) or code (after it)
part() {
  [ -r "$1" ] || { echo "assemble.sh: $list names $1, which cannot be read" >&2; exit 1; }
  awk -v file="$1" -v from="$2" -v first="$first" '
    function line(n) { if (!first) printf "#ifdef NBC_LINES\n#line %d \"%s\"\n#endif\n", n, file }
    BEGIN { on = from != "code"; if (on) line(1) }
    /^\/\* ---- for later pieces ---- \*\/$/ {
      if (from == "api") exit
      if (from == "code") { on = 1; line(NR + 1); next }
    }
    !on { next }
    /^#[ \t]*pragma once/ || /^#[ \t]*include[ \t]*"/ { print ""; next }
    { print }' "$1"
  first=
}
first=1 # the first part begins at line 1 of the result: it needs no line directive

for half in api code; do
  while read -r word rest; do
    case $word in
      '' | //*) ;;
      '#'*) printf '%s%s\n' "$word" "${rest:+ $rest}" ;;
      api | code) if [ "$word" = "$half" ]; then part "src/$rest" all; fi ;;
      */*)
        [ -r "src/$word.h" ] || [ -r "src/$word.c" ] || { echo "assemble.sh: $list: no piece $word" >&2; exit 1; }
        if [ -r "src/$word.h" ]; then part "src/$word.h" $half; fi
        if [ $half = code ] && [ -r "src/$word.c" ]; then part "src/$word.c" all; fi
        ;;
      *) echo "assemble.sh: $list: '$word' is no item" >&2; exit 1 ;;
    esac
  done <"$list"
done
