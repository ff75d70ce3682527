#!/bin/sh
# The single headers are what their pieces give; a piece uses only pieces above it in the list, is not
# too long nor, but for those of short_pieces.list, too short, and compiles alone.
. tests/test.sh

pieces_of() { grep -E '^[a-z_0-9]+/' "$1"; } # LIST
is_assembled() { # LIST HEADER
  sh src/assemble.sh "$1" >"$T/single.h" && { cmp "$T/single.h" "$2" || { echo "run: make single"; return 1; }; }
}
uses_only_pieces_above() { # LIST; nbc_overlap and portals_model: an adapter's other side
  pieces_of "$1" | awk '{
    above[$1]; folder = $1; sub("/.*", "", folder)
    for (i = split("h c", ends, " "); i > 0; i--) {
      file = "src/" $1 "." ends[i]
      while ((getline line <file) > 0) {
        if (line !~ /^# *include *"[^"]*\.h"$/) continue
        used = line; sub(/^[^"]*"/, "", used); sub(/\.h"$/, "", used)
        if (used == "nbc_overlap" || used == "portals_model") continue
        if (used ~ "^\\.\\./") sub("^\\.\\./", "", used); else if (used !~ "/") used = folder "/" used
        if (!(used in above)) print $1 " uses " used ", which comes later or is no piece"
      }
      close(file)
    }
  }' >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
are_short() { # LIST
  pieces_of "$1" | while read -r piece; do
    for f in "src/$piece.h" "src/$piece.c"; do
      if [ -r "$f" ] && [ "$(wc -l <"$f")" -gt 1500 ]; then echo "$f: more than 1,500 lines"; fi
    done
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
lines_of() { cat "src/$1.h" "src/$1.c" 2>/dev/null | wc -l; } # PIECE
are_long_enough() { # LIST
  pieces_of "$1" | while read -r piece; do
    [ "$(lines_of "$piece")" -ge 200 ] || grep -qxF "$piece" tests/tree/short_pieces.list ||
      echo "$piece: fewer than 200 lines: put it beside its like, or name it with the reason in tests/tree/short_pieces.list"
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
short_ones_are_short() {
  grep -v '^#' tests/tree/short_pieces.list | while read -r piece; do
    ls "src/$piece".[ch] >/dev/null 2>&1 && [ "$(lines_of "$piece")" -lt 200 ] || echo "$piece is no piece of fewer than 200 lines"
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
all_are_listed() { # LIST: of a folder that it names, each file
  pieces_of "$1" | sed 's,/.*,,' | sort -u | while read -r folder; do
    for f in "src/$folder"/*.[ch]; do
      name=${f#src/}
      grep -qxE "(api |code )?${name%.[ch]}(\.[ch])?" src/*.list || echo "$f is in no list"
    done
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
compile_alone() { # LIST
  pieces_of "$1" | while read -r piece; do
    if [ -r "src/$piece.c" ]; then
      "$CC" -std=gnu11 -D_GNU_SOURCE -DNBC_PIECES -DPM_WITH_NBC -I. -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
        -fsyntax-only "src/$piece.c" 2>&1
    fi
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}

tests_know_them() { # LIST FILE: the header of tests that look inside has each piece, but for the adapter to the other library
  pieces_of "$1" | grep -vxF portals/nbc | while read -r piece; do
    [ ! -r "src/$piece.h" ] || grep -qxF "#include \"src/$piece.h\"" "$2" || echo "$2 lacks $piece"
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}
check "tests that look inside nbc_overlap.h see all pieces" tests_know_them src/nbc_overlap.list tests/pieces.h
check "tests that look inside portals_model.h see all pieces" tests_know_them src/portals_model.list tests/model/pieces.h
check "pieces called short are" short_ones_are_short

for list in src/*.list; do
  header=$(sed -n 's|^// into ||p' "$list")
  check "$header is assembled from its pieces" is_assembled "$list" "$header"
  check "$header: a piece uses only pieces above it" uses_only_pieces_above "$list"
  check "$header: pieces of at most 1,500 lines" are_short "$list"
  check "$header: pieces of at least 200 lines, or with a reason" are_long_enough "$list"
  check "$header: every file of its folders is listed" all_are_listed "$list"
  # make compiles each alone; here warnings are errors, as for the whole header in tests/headers
  [ -z "$TEST_MORE" ] || check "$header: each piece compiles alone, without a warning" compile_alone "$list"
done
finish
