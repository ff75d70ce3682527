#!/bin/sh
# Where an algorithm is not obvious, comments say why: the pieces of comments.list keep their share of them. A name
# in a text (a key, a flag, a word of an error) stands in one line, where grep finds it.
. tests/test.sh
least=0.13 # about 0.15 is the aim; some lines of code more are no failure

ratio_of() { # PIECE.c: with its header's part for later pieces
  header=${1%.c}.h
  { [ ! -r "$header" ] || sed -n '/^\/\* ---- for later pieces/,$p' "$header"; cat "$1"; } | awk -f tests/tree/comments.awk
}
counts_what_it_should() { # two comments in five lines of code
  printf '%s\n' '/* ==== banner ==== */' 'int a; /* one */' '/* two' '   three */' 'char b[] = "/* no";' 'int c, d;' 'f("\"/*",' '  1);' >"$T/some.c"
  test "$(awk -f tests/tree/comments.awk "$T/some.c")" = 0.6000
}
says_why() { # PIECE.c
  ratio=$(ratio_of "$1") && echo "$ratio of $least" && awk -v a="$ratio" -v b=$least 'BEGIN { exit !(a >= b) }'
}
no_torn_names() {
  git ls-files -co --exclude-standard 2>/dev/null | grep . >"$T/files" || find src tools hw rtl examples -type f >"$T/files"
  grep -E '^(src|tools|hw|rtl|examples)/.*\.(c|h|cpp)$' "$T/files" | while read -r f; do
    [ ! -f "$f" ] || awk -v file="$f" '
      { line = $0; sub(/[ \t\\]+$/, "", line) }
      (before ~ /[A-Za-z0-9_]"$/ && before !~ /\\[a-z]"$/ && line ~ /^ *"[A-Za-z0-9_]/) || (before ~ /[a-z]\/"$/ && line ~ /^ *"[0-9]/) { print file ":" NR - 1 ": a word goes on in the next line" }
      { before = line }' "$f"
  done >"$T/found"
  cat "$T/found" && test -s "$T/files" && ! test -s "$T/found"
}

# A caller looks for MPI_Isend; a macro of which it is an argument makes it
made_names_are_found() {
  MAKEFLAGS='' "${MAKE:-make}" -s tags B="$B" || return 1
  for f in MPI_Isend MPI_Wait MPI_Allreduce MPI_Iallreduce MPI_Comm_free MPI_Win_fence PtlPut PtlGet nbc_xfer_begin pm_world_create; do
    grep -q "^$f	" "$B/tags" || echo "not found: $f"
  done >"$T/found"
  cat "$T/found" && ! test -s "$T/found"
}

check "comments and code are told apart" counts_what_it_should
while read -r piece; do
  case $piece in '#'*) continue ;; esac
  check "$piece says why" says_why "$piece"
done <tests/tree/comments.list
check "names in texts are not torn" no_torn_names
if ctags --version 2>/dev/null | grep -q Universal; then check "ctags finds what macros make" made_names_are_found
else skip "ctags finds what macros make" "no universal-ctags"; fi
finish
