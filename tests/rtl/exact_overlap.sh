#!/bin/sh
# tools/exact_overlap checks itself: truth lies in every exact interval and between min and max, and
# data arrived. Here: the interval is no wider than two ends with twice the clock's error and a flit of
# 2.88 ns each; on every level of the model, no wider than the rounding of its times.
passed=0 failed=0
# no more is hidden than there is
no_more_than_all() { "${B:-build}/exact_overlap" 65536 | awk 'NR > 2 { shares++; gsub(/[.][.]/, " "); for (i = 1; i <= NF; i++) if ($i ~ /^1[0-9][0-9][.]/ && $i != "100.00") exit 1 } END { exit shares != 7 }'; }
if no_more_than_all; then
  passed=$((passed + 1))
else
  failed=$((failed + 1)); echo "FAILED: more than 100 % hidden"
fi
[ "$TEST_ONLY" != hidden ] || { echo "$passed passed, $failed failed, 0 skipped"; exit "$failed"; } # this one alone
for bytes in 4096 65536 262144 '--ptm 4096' '--ptm 65536'; do
  # shellcheck disable=SC2086 # two words
  if out=$("${B:-build}/exact_overlap" $bytes) &&
    echo "$out" | awk 'NR > 2 { n = /fragments|short/ ? 8 : 1; if ($(NF-3) > n * 2 * (2 * $(NF-1) + 3)) exit 1; rows++ } END { exit rows != 7 }'; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)); echo "FAILED: exact_overlap $bytes"; echo "$out"
  fi
done
# by PTM the clocks are known to 10 ns each way, besides what they run away between two readings
if "${B:-build}/exact_overlap" --ptm 16384 | awk 'NR > 2 && $(NF-1) > 20 { exit 1 }'; then
  passed=$((passed + 1))
else
  failed=$((failed + 1)); echo "FAILED: exact_overlap --ptm: clock's error"
fi
for level in flow loggp rtl; do
  for bytes in 4096 65536 1048576; do
    if out=$("${B:-build}/exact_overlap" --level $level $bytes) &&
      echo "$out" | awk 'NR > 2 { n = /fragments/ ? 8 : 1; if ($(NF-3) > n * 10) exit 1; rows++ } END { exit rows != 6 }'; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1)); echo "FAILED: exact_overlap --level $level $bytes"; echo "$out"
    fi
  done
done
if "${B:-build}/exact_overlap" --level none 2>/dev/null || "${B:-build}/exact_overlap" 17 2>/dev/null ||
  "${B:-build}/exact_overlap" 4096x 2>/dev/null || "${B:-build}/exact_overlap" 4294971392 2>/dev/null || "${B:-build}/exact_overlap" 4096 4096 2>/dev/null; then
  failed=$((failed + 1)); echo "FAILED: bad arguments taken"
else
  passed=$((passed + 1))
fi
if "${B:-build}/exact_overlap" --help | grep -q '^usage: ' && { [ ! -w /dev/full ] || ! "${B:-build}/exact_overlap" --level loggp 4096 2>/dev/null >/dev/full; }; then
  passed=$((passed + 1))
else
  failed=$((failed + 1)); echo "FAILED: --help, or a full disk that nobody noticed"
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
