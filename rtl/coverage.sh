#!/bin/sh
# coverage.sh FOLDER: what the tests reached, from the files that rtl/coverage.h wrote. Per module: blocks of
# lines; signal bits, and how many both rose and fell. Instances of a module are added up; clock, reset,
# unused bits and memories deeper than 8 do not count. FOLDER/missed lists the blocks that were not reached.
dir=$1
verilator_coverage --write "$dir/all.info" "$dir"/*.dat >/dev/null || exit 1
tr '\001\002' '|=' <"$dir/all.info" | awk -F"[|']" '/^C / {
    file = line = page = what = ""
    for (i = 1; i <= NF; i++) {
      if ($i ~ /^f=/) file = substr($i, 3); else if ($i ~ /^l=/) line = substr($i, 3)
      else if ($i ~ /^page=/) page = substr($i, 6); else if ($i ~ /^o=/) what = substr($i, 3)
    }
    sub(/.*\//, "", page); sub(/__.*/, "", page)
    print page, file ":" line ":" what, ($NF + 0 > 0)
  }' >"$dir/lines"
awk '
  FILENAME ~ /lines$/ {   # a point is kept per place, whatever instance it is in
    if (!(($1, $2) in hit)) { hit[$1, $2] = 0; lines[$1]++ }
    if ($3 && !hit[$1, $2]) { hit[$1, $2] = 1; reached[$1]++ }
    next
  }
  FILENAME ~ /\.sv$/ {    # instance names of each module
    if ($1 == "module") module = $2
    else if ($1 ~ /^nic_/ && match($0, /u_[a-z0-9_]+ \(/)) kind[module, substr($0, RSTART, RLENGTH - 2)] = $1
    next
  }
  $1 ~ /^TOP\.[a-z]/ && $2 !~ /^(clk_i|rst_ni|unused.*)$/ {
    n = split($1, part, "."); m = part[2]
    for (i = 3; i < n; i++) if ((m, part[i]) in kind) m = kind[m, part[i]]
    key = m SUBSEP $2
    for (i = length($3); i; i--) {
      c = substr($3, i, 1); at = key SUBSEP (length($3) - i)
      if (!(at in bit)) { bit[at] = 0; bits[m]++ }
      if (c == 3 || (c != 0 && bit[at] != 0 && bit[at] != c)) { if (bit[at] != 3) both[m]++; bit[at] = 3 }
      else if (c != 0 && bit[at] != 3) bit[at] = c
    }
  }
  END {
    for (m in bits) if (m ~ /^nic_/) printf "%-14s %4d %5.1f %% %6d %5.1f %%\n", m, lines[m],
        lines[m] ? 100 * reached[m] / lines[m] : 100, bits[m], 100 * both[m] / bits[m]
    for (at in hit) if (!hit[at]) { split(at, p, SUBSEP); print p[1], p[2] >"'"$dir"'/missed" }
  }' "$dir/lines" rtl/*.sv tests/rtl/*.sv "$dir"/*.bits | sort
