#!/bin/sh
# Runs the test programs and scripts given as arguments, one after the other; each ends with the
# line "N passed, N failed, N skipped". Adds these up and ends with the same line. A program that
# crashes, hangs past TEST_TIMEOUT seconds (default 600) or prints no such line counts as failed.
# What failed, and why, stands just before the last line.
# aarch64 programs are run by qemu, with a tenth of the random cases (TEST_EFFORT=100: all); an argument "skip:NAME: REASON" counts as skipped.
# Lines of coverage are shown. Logs: $B/log/NAME.log. Usage: B=build tests/run.sh PROGRAM...
B=${B:-build}
limit=${TEST_TIMEOUT:-600}
mkdir -p "$B/log"
: >"$B/log/failures"
: >"$B/log/rooms"
passed=0 failed=0 skipped=0
for program in "$@"; do
  case $program in skip:*)
    echo "skipped ${program#skip:}" && skipped=$((skipped + 1))
    continue ;;
  esac
  name=$(echo "${program#"$B"/}" | sed 's|^tests/||; s|/|-|g')
  log=$B/log/$name.log
  start=$(date +%s)
  case $program in *.sh) set -- sh "$program" ;; "$B"/aarch64/*) set -- env TEST_EFFORT="${TEST_EFFORT:-10}" "$QEMU_AARCH64" "$program" ;; *) set -- "$program" ;; esac
  timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
  code=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -1)
  case $line in
    '') failed=$((failed + 1)); p=0 f=1 s=0 ;;
    *)
      p=${line%% passed*} f=${line#*passed, } f=${f%% failed*} s=${line#*failed, } s=${s%% skipped*}
      [ "$code" -ne 0 ] && [ "$f" -eq 0 ] && f=1
      passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) ;;
  esac
  seconds=$(($(date +%s) - start))
  echo "${name%%-*} $seconds" >>"$B/log/rooms"
  printf '%-44s %4s s  %s passed, %s failed, %s skipped\n' "$name" "$seconds" "$p" "$f" "$s"
  grep -E '^(skipped|coverage) ' "$log" | sed 's/^/    /'
  if [ "$f" -ne 0 ]; then
    {
      echo "FAILED $name: exit status $code$([ "$code" -eq 124 ] && echo ", timed out after $limit s"); from $log:"
      { grep -E '^(FAILED|  [^ ]+:[0-9]+: )|TEST_SEED=' "$log"; tail -8 "$log"; } | awk '!seen[$0]++' | tail -16 | sed 's/^/    | /'
    } >>"$B/log/failures"
  fi
done
awk '{ time[$1] += $2; all += $2 } END { if (length(time) < 2) exit
  printf "seconds by room:"; for (room in time) printf " %s %d,", room, time[room]; printf " in all %d\n", all }' "$B/log/rooms"
# Last, where whoever sees only the end of the output finds them.
cat "$B/log/failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
