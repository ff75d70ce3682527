#!/bin/sh
# exact_width: how well overlap is known with NIC stamps, all rows of tools/exact_overlap (its protocols, short
# transfers at random too) at four sizes together: the sum of the widths over the sum of the transfers' times;
# peer: the same by calls alone. _ptm: when the NIC asks the bus for the time.
for how in '' --ptm; do
  name=exact_width$(echo "$how" | tr -d - | sed 's/^./_&/')
  echo "$name" | grep -qE "${1:-.}" || continue
  # shellcheck disable=SC2086 # no word when empty
  for bytes in 4096 16384 65536 262144; do "${B:-build}/exact_overlap" $how $bytes || exit 1; done |
    sed -n 's/.* \([0-9]*\)\.\.\([0-9]*\) *%  *\([0-9.]*\)\.\.\([0-9.]*\) *%.* \([0-9]*\) ns  *[0-9]* ns$/\1 \2 \3 \4 \5/p' |
    awk -v name="$name" '{ if ($4 > $3) { ns = $5 / ($4 - $3) * 100; total += ns; exact += $5; calls += ns * ($2 - $1) / 100 } else { rest += $2 - $1; rests++ } rows++ }
      END { mean = total / (rows - rests); exact /= total + rests * mean; calls = (calls + rest / 100 * mean) / (total + rests * mean)
        printf "{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"of the transfer time\",\"peer\":%.4g,\"ratio\":%.4g,\"peer_name\":\"min to max\"}\n", name, exact, calls, exact / calls }'
done
