#!/bin/sh
# What the tests before this one reached: a table per module. The aim is 95 % of the lines of each; what
# stays below is listed. Inputs are random and a line of a small module is 3 %, so only 90 % is demanded.
B=${B:-build}
dir=$B/rtl/coverage
if ! ls "$dir"/*.bits >/dev/null 2>&1; then
  echo "skipped coverage: no test on a covered model ran before (make coverage-rtl)"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
: >"$dir/missed"
sh rtl/coverage.sh "$dir" >"$dir/table" || exit 1
rm -f "$dir"/*.dat "$dir"/*.bits   # not to be mixed with those of other sources
echo "coverage: module     lines reached    bits rose and fell"
sed 's/^/coverage   /' "$dir/table"
passed=$(awk '$3 >= 90' "$dir/table" | wc -l) failed=$(awk '$3 < 90' "$dir/table" | wc -l)
awk '$3 < 95 { print ($3 < 90 ? "FAILED: " : "below the aim: ") $1 " reached only " $3 " % of its lines" }' "$dir/table"
awk 'FILENAME ~ /table$/ { if ($3 < 95) low[$1] = 1; next } $1 in low { print "  not reached: " $0 }' "$dir/table" "$dir/missed"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
