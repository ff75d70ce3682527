#!/bin/sh
# Every rule of rules.list has its tests, and they exist.
. tests/test.sh
list=tests/model/rules.list
rules_are_numbered_without_gaps() { grep -v '^#' $list | cut -d'|' -f1 | diff - "$T/numbers"; }
every_rule_names_tests_that_exist() {
  for p in portals_matching portals_moves portals_rules portals_extras portals_ends portals_edges portals_corners network; do
    "$B/tests/model/$p" --list | sed "s/^/$p:/"
  done | sort >"$T/there"
  grep -v '^#' $list | cut -d'|' -f3 | tr ' ' '\n' | sort -u >"$T/named"
  test "$(wc -l <"$T/named")" -gt 40 && test -z "$(comm -23 "$T/named" "$T/there" | tee /dev/stderr)" &&
    ! grep -v '^#' $list | grep -vE '^[0-9]+\|[^|]+\|[a-z]+(_[a-z]+)?:[a-z_0-9]+'
}
seq 74 >"$T/numbers"
for t in rules_are_numbered_without_gaps every_rule_names_tests_that_exist; do check "$t" $t; done
finish
