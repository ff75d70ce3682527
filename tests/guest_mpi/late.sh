#!/bin/sh
# Messages of receives that the NIC has no room for (late.c): each goes to the receive that was posted first, whoever waits, looks or probes.
. tests/test.sh
app=$B/tests/guest_mpi/late
if [ ! -x "$app" ]; then
  skip "messages of receives without room" "no MPICH (Debian: mpich libmpich-dev)"
  finish
fi
all_right() {
  # shellcheck disable=SC2086 # words
  timeout 120 "$B/pm_run" $2 "$app" "$1" "$3" >"$T/out" 2>"$T/err" && [ "$(cat "$T/out")" = "0 wrong" ] || { echo "seed $3"; cat "$T/out" "$T/err"; return 1; }
}
each_of() {
  for seed in 4 5 "$SEED"; do all_right "$1" "$2" "$seed" || return 1; done
}
SEED=${TEST_SEED:-$(date +%s)}
for how in waitall testall testany test waitany mprobe improbe probe; do
  check "each goes to the first receive that takes it, with $how" each_of "$how" '-n 2'
done
check "... and while something always happens" each_of collectives '-n 3'
for how in waitall test improbe; do
  check "... and a worker, $how" each_of "$how" '-n 2 --progress dedicated'
done
for worker in calls timer dedicated; do
  check "... to many threads, progress: $worker" each_of threads "-n 2 --progress $worker"
done
check "more messages to oneself than there is room" all_right self '-n 1' 1
check "a receive is withdrawn while another thread looks" all_right cancel '-n 2' 1
finish
