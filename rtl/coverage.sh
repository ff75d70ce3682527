#!/bin/sh
# coverage.sh PROGRAM...: runs tests that are linked with the covered NIC; prints per module how many lines
# and how many signal bits (in both directions) they reached.
B=${B:-build}
dir=$B/rtl/coverage
rm -rf "$dir" && mkdir -p "$dir"
failed=0
for program in "$@"; do
  TEST_SEED=${TEST_SEED:-1} HOSTILE_INPUTS=${HOSTILE_INPUTS:-4000} NIC_COVERAGE=$dir TEST_FILES=$dir timeout 900 "$program" >"$dir/log" 2>&1 || failed=1
  printf '%-24s %s\n' "$(basename "$program")" "$(tail -1 "$dir/log")"
  [ $failed = 0 ] || grep -v '^ok' "$dir/log"
done
verilator_coverage --write "$dir/all.info" "$dir"/*.dat >/dev/null || exit 1
printf '%-16s %14s %14s\n' module lines toggles
# a point is kept per place, whatever instance it is in
tr '\001\002' '|=' <"$dir/all.info" | awk -F"[|']" '/^C / {
    file = line = page = what = ""
    for (i = 1; i <= NF; i++) {
      if ($i ~ /^f=/) file = substr($i, 3); else if ($i ~ /^l=/) line = substr($i, 3)
      else if ($i ~ /^page=/) page = substr($i, 6); else if ($i ~ /^o=/) what = substr($i, 3)
    }
    kind = page ~ /toggle/ ? "t" : "l"
    sub(/.*\//, "", page); sub(/__.*/, "", page)
    key = page SUBSEP kind SUBSEP file SUBSEP line SUBSEP what
    if (!(key in seen)) { seen[key] = 0; all[page, kind]++; module[page] = 1 }
    if ($NF + 0 > 0 && !seen[key]) { seen[key] = 1; hit[page, kind]++ }
  }
  function share(p, k) { return all[p, k] ? sprintf("%5d %6.1f %%", all[p, k], 100 * hit[p, k] / all[p, k]) : "-" }
  END { for (p in module) printf "%-16s %14s %14s\n", p, share(p, "l"), share(p, "t") }' | sort
exit $failed
