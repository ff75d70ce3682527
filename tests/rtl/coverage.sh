#!/bin/sh
# What the tests before this one reached: a table per module, and at least 95 % of the lines of each.
B=${B:-build}
dir=$B/rtl/coverage
if ! ls "$dir"/*.bits >/dev/null 2>&1; then
  echo "skipped coverage: no test on a covered model ran before (make check-rtl)"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
sh rtl/coverage.sh "$dir" >"$dir/table" || exit 1
rm -f "$dir"/*.dat "$dir"/*.bits   # not to be mixed with those of other sources
echo "coverage: module     lines reached    bits rose and fell"
sed 's/^/coverage   /' "$dir/table"
passed=$(awk '$3 >= 95' "$dir/table" | wc -l) failed=$(awk '$3 < 95' "$dir/table" | wc -l)
awk '$3 < 95 { print "FAILED: " $1 " reached only " $3 " % of its lines" }' "$dir/table"
[ "$failed" -eq 0 ] || sed 's/^/  not reached: /' "$dir/missed"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
