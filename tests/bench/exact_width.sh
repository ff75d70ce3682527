#!/bin/sh
# exact_width: how well the overlap of a transfer is known with NIC stamps, as a share of its time; peer:
# how well by calls alone. Median over the protocols of tools/exact_overlap and three sizes.
echo exact_width | grep -qE "${1:-.}" || exit 0
for bytes in 16384 65536 262144; do "${B:-build}/exact_overlap" $bytes || exit 1; done |
  sed -n 's/.* \([0-9]*\)\.\.\([0-9]*\) *%  *\([0-9.]*\)\.\.\([0-9.]*\) *%.*/\1 \2 \3 \4/p' |
  awk '{ exact[NR] = $4 - $3; calls[NR] = $2 - $1 }
    function median(v, n,   i, j, t) {
      for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
      return v[int((n + 1) / 2)]
    }
    END { a = median(exact, NR); b = median(calls, NR)
      printf "{\"bench\":\"exact_width\",\"value\":%.4g,\"unit\":\"percent\",\"peer\":%.4g,\"ratio\":%.4g,\"peer_name\":\"min to max\"}\n", a, b, (b > 0 ? a / b : 0) }'
