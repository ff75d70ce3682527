#!/bin/sh
# What is read and written is the same in a program that has set a locale with 12,5: files, reports, texts of errors.
. tests/test.sh
# So do scripts, whose awk writes 12,5 in such a locale: of make, of tests, by themselves.
scripts_write_points() (
  LOCPATH=$(cd "$B" && pwd)/locales LC_ALL=de_DE.UTF-8
  export LOCPATH LC_ALL
  one='BEGIN { printf "%.1f\n", 1.5 }'
  printf 'include Makefile\n.PHONY: one\none:\n\t@awk "$$ONE"\n' >"$T/make" && test "$(ONE=$one MAKEFLAGS='' "${MAKE:-make}" -s -f "$T/make" B="$T/made" one)" = 1.5 || { echo make; return 1; }
  for f in tests/test.sh tests/mpi/preload_common.sh; do
    test "$(B=$T sh -c ". $f"' && awk "$1"' inner "$one")" = 1.5 || { echo "$f"; return 1; }
  done
  ! grep -L '^export LC_ALL=C.UTF-8' tests/run.sh docs/picture.sh tools/run_*.sh rtl/synth.sh | grep .
)
if [ -e "$B/locales/de_DE.UTF-8" ]; then
  for program in base/sums_and_numbers overlap/reports_add_up report/json_reader report/diff_names_what_moved \
    report/sums_and_texts clock/statistics clock/tables clock/relation_edges coll/dedicated_matches_thesis coll/errors_are_named \
    coll/tuning_finds_rules model/platforms model/link_use hw/machines_are_found hw/recordings_come_back hw/pmu_events_are_counted; do
    check "$program in a locale with a decimal comma" env LOCPATH="$B/locales" TEST_LOCALE=de_DE.UTF-8 "$B/tests/$program"
  done
  check "scripts write points there" scripts_write_points
else
  skip "programs in a locale with a decimal comma" "no localedef or its sources (Debian: locales)"
fi
finish
