#!/bin/sh
# Which benches print a line that REGEX may match? Usage: asked.sh REGEX BENCH[=PREFIX,PREFIX...]...
# A bench with prefixes (of the names of its lines) is left out when none of them can begin such a line: the
# literal head of REGEX and the prefix differ, and REGEX does not match the prefix. Without prefixes: always asked.
awk '
function begins(text, head) { return substr(text, 1, length(head)) == head }
BEGIN {
  regex = ARGV[1]
  head = regex; sub(/^\^/, "", head); sub(/[^a-zA-Z0-9_].*/, "", head)
  several = index(regex, "|")
  if (several) head = "" # several names: only matching the prefix tells
  count = several ? split(regex, one, /[|()^]+/) : 0
  for (i = 2; i < ARGC; i++) {
    at = index(ARGV[i], "=")
    asked = !at
    n = at ? split(substr(ARGV[i], at + 1), prefix, ",") : 0
    for (k = 1; k <= n && !asked; k++) {
      asked = (head != "" && (begins(head, prefix[k]) || begins(prefix[k], head))) || prefix[k] ~ regex
      for (j = 1; j <= count; j++) if (begins(one[j], prefix[k])) asked = 1
    }
    if (asked) print at ? substr(ARGV[i], 1, at - 1) : ARGV[i]
  }
}' "$@"
