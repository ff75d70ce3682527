#!/bin/sh
# More receives and sends of pm_run's MPI at once than a NIC has entries (receives.c).
. tests/test.sh
app=$B/tests/guest_mpi/receives
if [ ! -x "$app" ]; then
  skip "many receives of pm_run" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
nobody_waits_for_ever() {
  # shellcheck disable=SC2086 # words
  timeout 300 "$B/pm_run" -n 2 $1 "$app" >"$T/out" 2>"$T/err" && [ "$(cat "$T/out")" = "0 wrong" ] || { cat "$T/out" "$T/err"; return 1; }
}
for how in '' '--progress dedicated' '--progress timer' '--eager 0'; do
  check "more receives than the NIC has entries $how" nobody_waits_for_ever "$how"
done
# Each stands where it was posted, also those that found no room then.
each_has_its_place() {
  rm -rf "$T/report" && nobody_waits_for_ever "--per-node 2 --report $T/report" && "$B/overlap_report" --no-html --csv "$T/csv" "$T/report" >"$T/text" 2>&1 && grep -A12 '^Transfers by place' "$T/text" && awk -F, '$2 == "irecv" && /"post \(receives/ { n += $5 } END { exit n != 5000 + 3000 + 5000 + 4999 }' "$T/csv/transfers.csv"
}
check "receives that found no room have the place where they were posted" each_has_its_place
no_message_is_a_deadlock() {
  timeout 300 "$B/pm_run" -n 2 "$app" 5000 alone >"$T/out" 2>"$T/err"
  [ $? = 100 ] && grep 'deadlock' "$T/err"
}
check "receives whose messages never come are a deadlock" no_message_is_a_deadlock
finish
