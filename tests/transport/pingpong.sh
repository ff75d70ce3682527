#!/bin/sh
# overlap_pingpong on a tiny grid: what must always be true, whatever the timing. Every cell is there,
# the truth lies between the bounds, table and page show the same parts; wrong arguments and a page
# that cannot be written give a clear message and a non-zero exit.
. tests/test.sh
pingpong=$B/overlap_pingpong
tiny="--points 3 --repetitions 2 --large-bytes 200000 --link-mb-per-s 1000 --tests 3"

runs() { timeout 300 "$pingpong" $tiny --output "$T/page.html" >"$T/table" && cat "$T/table"; }
truth_is_between_the_bounds() {
  sed -n 's/^Checked: .* in \([0-9]*\) of \([0-9]*\) cases.$/\1 \2/p' "$T/table" | {
    read -r inside all && echo "$inside of $all" && [ "$all" -gt 0 ] && [ "$inside" = "$all" ]
  }
}
# 5 parts of 5 series of 6 rows of 3 numbers; percentages are such, bounds are in order (+- the error)
every_cell_is_there() {
  awk '/^  computation us/ { series++; for (i = 3; i <= NF; i++) if ($i < $(i - 1) && i > 3) bad = bad " computation falls;" }
       /^  (computation us|wait us|min overlap %|exact %|max overlap %|\+- %) / {
         n = 0; row = $1
         for (i = 2; i <= NF; i++) if ($i ~ /^-?[0-9]+$/) v[row, ++n] = $i
         if (n != 3) bad = bad " line " NR " has " n " numbers;"
       }
       /^  \+- %/ {
         for (i = 1; i <= 3; i++) {
           if (v["min", i] > v["exact", i] + v["+-", i] + 1 || v["exact", i] > v["max", i] + v["+-", i] + 1)
             bad = bad " not in order before line " NR ";"
           if (v["exact", i] < 0 || v["exact", i] > 100) bad = bad " not a percentage before line " NR ";"
           cells++
         }
       }
       END { print series " series, " cells " cells;" bad; exit series != 25 || cells != 75 || bad != "" }' "$T/table"
}
blocking_hides_nothing() {
  awk '/^Send-Recv/ { on = 1 } on && /^  (min|exact|max)/ { for (i = 3; i <= NF; i++) if ($i ~ /^[0-9]+$/ && $i != 0) bad = 1 }
       /^$/ { on = 0 } END { exit bad }' "$T/table"
}
page_shows_every_panel() {
  [ "$(grep -c '<svg' "$T/page.html")" = 25 ] && [ "$(grep -c '</svg>' "$T/page.html")" = 25 ] &&
    [ "$(grep -c '<h2>' "$T/page.html")" = 5 ] && [ "$(grep -o '<polyline' "$T/page.html" | wc -l)" = 100 ] &&
    tail -1 "$T/page.html" | grep -q '</html>' && ! grep -nE 'nan|inf[^o]|https?://|<script' "$T/page.html"
}
page_explains_as_the_table_does() { grep -F "$(grep '^200 KB that the NIC' "$T/table")" "$T/page.html"; }
refuses() { # MESSAGE ARGUMENTS...: exit status 2, message, no table
  message=$1 && shift
  timeout 300 "$pingpong" "$@" >"$T/out" 2>"$T/err"
  [ $? = 2 ] && [ ! -s "$T/out" ] && grep -F -- "$message" "$T/err"
}
page_not_written() {
  timeout 300 "$pingpong" $tiny --tests 0 --points 2 --repetitions 1 --output "$1" >"$T/out" 2>"$T/err"
  [ $? = 1 ] && grep -F "overlap_pingpong: $1: " "$T/err" && grep -q "^  exact %" "$T/out"
}
nothing_is_measured_for_no_page() {
  timeout 300 "$pingpong" $tiny --output "$1" >"$T/out" 2>"$T/err"
  [ $? = 1 ] && grep -F "overlap_pingpong: $1: " "$T/err" && ! grep "exact %" "$T/out"
}

check "runs, prints a table, writes a page" runs
check "min <= exact <= max in every case" truth_is_between_the_bounds
check "the table has every cell, bounds in order" every_cell_is_there
check "blocking calls hide nothing" blocking_hides_nothing
check "the page has every panel, needs no network, no script" page_shows_every_panel
check "table and page say the same" page_explains_as_the_table_does
check "unknown option is refused" refuses "--dance: unknown option" --dance 3
check "missing number is refused" refuses "--points: its value is missing" --points
check "text for a number is refused" refuses "not '12x'" --tests 12x
check "too large is refused" refuses "--repetitions: must be a whole number from 1 to 1000" --repetitions 1001
check "fraction is refused where it means nothing" refuses "--large-bytes: must be a whole number" --large-bytes 1.5
check "not a number is refused" refuses "--latency-us: must be a number" --latency-us nan
check "page in a missing folder is an error before anything is measured" nothing_is_measured_for_no_page "$T/none/page.html"
check "page on a full disk is an error" page_not_written /dev/full
check "help" sh -c "'$pingpong' --help | grep -q '^usage'"
finish
