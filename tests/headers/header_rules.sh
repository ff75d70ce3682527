#!/bin/sh
# What a reader may expect of every header of headers.list: only prefixed macros, the same sections three times in the
# same order, a unit in every number's name, a comment at every function, and an example that runs.
. tests/test.sh

only_prefixed_macros() { # those that this very file defines
  upper=$(echo "$prefix" | tr a-z A-Z)
  "$CC" -E -dD -D_GNU_SOURCE -I. "$T/impl.c" | awk -v file="$file" '
    /^# [0-9]+ "/ { name = $3; gsub(/"/, "", name); sub(/^\.\//, "", name); ours = (name == file) }
    ours && /^#define / { sub(/\(.*/, "", $2); print $2 }' >"$T/macros"
  # The stem itself may begin a macro: NBC_OVERLAP_H_INCLUDED, PORTALS_MODEL_IMPLEMENTATION_ONCE.
  stem_upper=$(echo "$stem" | tr a-z A-Z)
  test -s "$T/macros" && ! grep -vE "^(${upper}_|${stem_upper}_)|^($also)$" "$T/macros"
}
sections_three_times() { # contents, API, implementation: same tags, same numbers, same order
  sed -n 's/^ *\(\[[A-Z]*\]\)  *\([0-9]*\)\. .*/\1 \2/p' "$file" >"$T/contents"
  sed -n 's|^/\* \(\[[A-Z]*\]\) \([0-9]*\)\. .*|\1 \2|p' "$file" >"$T/banners"
  cat "$T/contents" "$T/contents" | diff - "$T/banners" && test -s "$T/contents" &&
    cut -d' ' -f2 "$T/contents" | diff - "$T/numbers" || return 1
  # and no fourth
  while read -r tag number; do
    test "$(grep -cF "$tag $number." "$file")" = 2 || { echo "$tag $number. again"; return 1; }
  done <"$T/contents"
}
# Public fields and parameters whose number has no unit; the exceptions have none by nature.
units_in_names() {
  sed "/^#endif .*${stem_upper}_H_INCLUDED/q" "$file" | "$CC" -x c -fpreprocessed -E -P - 2>/dev/null | grep -v '^#' |
    sed -E 's/\[[^]]*\]//g' >"$T/api"
  { # fields, then parameters
    grep -E '^ *(u?int64_t|double) [a-z_0-9, *]+;' "$T/api" | sed -E 's/^ *(u?int64_t|double) //' | tr -d ' *;' | tr ',' '\n'
    tr '(,)' '\n\n\n' <"$T/api" | sed -nE 's/^ *(const )?(u?int64_t|double) \*?([a-z_0-9]+)$/\3/p'
  } | sort -u >"$T/names"
  grep -vE '_(ns|ps|s|ticks|bytes|bps|bytes_per_s|ns_per_byte|ppm|hz|count|index|ratio|id)$|^(ns|ns_per_byte|ticks|bytes|hz|count|id)$' "$T/names" |
    grep -vxFf tests/headers/no_unit.list | sed "s|^|$file: number without a unit in its name: |" >"$T/unitless"
  cat "$T/unitless"
  test -s "$T/names" && ! test -s "$T/unitless"
}
# A comment stands above each public function, or above the group without a blank line it is in, or
# at its end.
comment_at_every_function() {
  awk -v api="$(echo "$prefix" | tr a-z A-Z)_API" -v file="$file" '
    /^#endif .*_H_INCLUDED/ { exit }
    /^$/ { described = 0 }
    /^\/\* =====/ { next }
    /\/[*\/]/ { described = 1 }
    $1 == api { seen++; if (!described) { print file ":" NR ": no comment: " $0; bad = 1 } }
    END { exit bad || !seen }' "$file"
}
example_runs() { # LANGUAGE STANDARD: the program in the first comment
  awk '/^ *Example \(complete/ { on = 1; next } on && /^   [A-Z]/ { exit } on' "$file" >"$T/example.c"
  grep -q 'int main' "$T/example.c" && "$CC" -x "$1" "-std=$2" -D_GNU_SOURCE -Wall -I"$(dirname "$file")" -o "$T/example" "$T/example.c" -pthread -lm &&
    timeout 60 "$T/example" >"$T/example.out" && test -s "$T/example.out" || return 1
  case $file in nbc_overlap.h) grep -q ' 0\.0 \.\. 100\.0 %' "$T/example.out" ;; portals_model.h) grep -q '^got 42 after' "$T/example.out" ;; esac # as it says
}
compiles_in_time() ( # a user's file that only declares: well below a second of CPU; not a benchmark
  # shellcheck disable=SC3045 # dash and bash have it
  ulimit -t 5
  needed >"$T/declare.c" && printf '#include "%s"\n' "$file" >>"$T/declare.c" && "$CC" -std=c99 -I. -c -o "$T/declare.o" "$T/declare.c"
)

needed() { echo "$needs" | tr ',' '\n' | sed -E 's/^[A-Z_]+$/#define &/; s/^[a-z].*/#include "&"/'; }

seq 1 99 >"$T/all_numbers"
while read -r file stem implementation static prefix also needs; do
  case $file in '#'* | '') continue ;; esac
  : "$static"
  { printf '#define %s\n' "$implementation" && needed && printf '#include "%s"\n' "$file"; } >"$T/impl.c"
  sections=$(sed -n 's/^ *\(\[[A-Z]*\]\)  *[0-9]*\. .*/\1/p' "$file" | wc -l)
  head -n "$sections" "$T/all_numbers" >"$T/numbers"
  stem_upper=$(echo "$stem" | tr a-z A-Z)
  check "$file defines only its own macros" only_prefixed_macros
  [ "$sections" = 0 ] || check "$file has every section three times, in order" sections_three_times
  check "$file has units in its numbers' names" units_in_names
  check "$file describes every public function" comment_at_every_function
  check "$file declares in reasonable time" compiles_in_time
  grep -q 'Example (complete' "$file" || continue # a part of a program
  check "$file: its example runs as C" example_runs c c99
  [ -z "$TEST_MORE" ] || check "$file: its example runs as C++" example_runs c++ c++17
done <tests/headers/headers.list
finish
