#!/bin/sh
# What is read and written is the same in a program that has set a locale with 12,5: files, reports, texts of errors.
. tests/test.sh
if [ -e "$B/locales/de_DE.UTF-8" ]; then
  for program in base/sums_and_numbers overlap/reports_add_up report/json_reader report/diff_names_what_moved \
    report/sums_and_texts clock/statistics clock/tables clock/relation_edges coll/dedicated_matches_thesis coll/errors_are_named \
    coll/tuning_finds_rules model/platforms model/link_use hw/machines_are_found hw/recordings_come_back hw/pmu_events_are_counted; do
    check "$program in a locale with a decimal comma" env LOCPATH="$B/locales" TEST_LOCALE=de_DE.UTF-8 "$B/tests/$program"
  done
else
  skip "programs in a locale with a decimal comma" "no localedef or its sources (Debian: locales)"
fi
finish
