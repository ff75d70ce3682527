#!/bin/sh
# Bounds by both sides of a message, from the timelines of a run (NBC_TRACE=1): never wider than those of one side,
# they hold where the truth is known, and see what one side cannot. Arrows and OTF2's messages join what belongs
# together; what cannot be told apart is not joined.
. tests/mpi/preload_common.sh
. tests/mpi/preload_scenes.sh
PROGRAM=preload_both
export NBC_TRACE=1

# both MPI TABLE SCENE: into $reports, tables into $reports/csv
both() {
  reports=$work/$1.$3
  mkdir "$reports"
  NBC_TABLE=$work/$2 measured "$1" 2 "$B/tests/mpi/$PROGRAM.$1" "$3" >"$reports/out" 2>"$reports/err" || cat "$reports/err"
  "$B/overlap_report" -o "$reports/page.html" --csv "$reports/csv" "$reports" >"$reports/text" 2>&1 || cat "$reports/text"
  "$B/overlap_trace" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1 || cat "$reports/said"
  # method,what,peer,count,bytes,xfer,min,max,alone_min,alone_max,clock_err
  if awk -F, '$1 == "partner" && ($7 < $9 || $8 > $10 || $7 > $8 || $8 > $6) { bad = 1 } END { exit bad }' "$reports/csv/bounds.csv"
  then ok "$1: $3: never wider than one side alone"; else bad "$1: $3: $(cat "$reports/csv/bounds.csv")"; fi
}
# little WHAT KIND: one side alone says all may be hidden, both know that next to nothing was; the truth is nothing.
# A message that waited for a core is one tenth: up to three may.
little() {
  if awk -F, -v k="$2" '$1 == "partner" && $2 == k { good = $6 > 0 && $10 > 0.9 * $6 && $8 < 0.35 * $6 && $7 == 0 } END { exit !good }' "$reports/csv/bounds.csv"
  then ok "$1: $2: $(awk -F, -v k="$2" '$1 == "partner" && $2 == k { print "at most", $8, "of", $6, "ns,", $10, "by one side alone" }' "$reports/csv/bounds.csv")"
  else bad "$1: $2: $(cat "$reports/csv/bounds.csv" "$reports/text")"; fi
}
# The same timelines, as if rank 1 had run on a node whose clock is 123 s ahead and 37 ppm too fast: what is known by the
# messages alone is less than by one clock, and true. Its clock of the day is wrong, too: pictures do not need it.
two_nodes() {
  near=$reports && reports=$reports.far && cp -r "$near" "$reports" || return 1
  for file in "$reports"/*.1.trace; do
    LC_ALL=C sed '/^$/q' "$near/${file##*/}" >"$work/head" &&
      { awk '$1 == "raw" { from = from ? from : $3; printf "raw %s %.0f %s\n", $2, $3 + 123456789012 + ($3 - from) * 37e-6, $4; next } $1 == "boot" { $2 = "of-another-node" }
          $1 == "clock" { $3 = sprintf("%.0f", $3 + 5e6) } 1' "$work/head" &&
        tail -c +$(($(wc -c <"$work/head") + 1)) "$near/${file##*/}"; } >"$file"
  done
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >"$reports/text" 2>&1 || cat "$reports/text"
  if awk -F, '$1 != "partner" { next } FNR == NR { n++; min[$2] = $7; max[$2] = $8; next } { n--; if (!($2 in min) || $7 > min[$2] || $8 < max[$2] || $7 < $9 || $8 > $10 || $12 != $4) bad = 1 }
      END { exit bad || n }' "$near/csv/bounds.csv" "$reports/csv/bounds.csv" && grep -q '^partner' "$reports/csv/bounds.csv"
  then ok "$1: between two nodes: $(awk -F, '$1 == "partner" { print $2, "known to", $11, "ns"; exit }' "$reports/csv/bounds.csv"), never narrower than by one clock"
  else bad "$1: between two nodes: $(cat "$near/csv/bounds.csv" "$reports/csv/bounds.csv" "$reports/text")"; fi
  "$B/overlap_trace" -o "$reports/t.json" "$reports" >"$reports/said" 2>&1 || cat "$reports/said"
  if [ "$(arrows)" -gt 5 ] && jq -e '[.traceEvents[]|select(.cat=="message")] as $m | ([$m[]|select(.ph=="f")|{key: (.id|tostring), value: .ts}]|from_entries) as $to |
      [$m[]|select(.ph=="s" and $to[.id|tostring] < .ts)] == []' "$reports/t.json" >/dev/null
  then ok "$1: between two nodes: no arrow points backwards"; else bad "$1: arrows between two nodes: $(arrows) $(cat "$reports/said")"; fi
  tr '\n' ' ' <"$reports/text" >"$reports/line"
  said "$1: by whose clocks" 'timelines of one clock, or of nodes whose clocks messages and collectives hold together if any two run apart by at most 400 ppm' line
  said "$1: and by whose clocks waits are told" 'is told between nodes by clocks that messages and collectives hold together: true if any two run apart by at most 400 ppm' line
}
said() { # WHAT TEXT FILE
  if grep -q -- "$2" "$reports/$3"; then ok "$1"; else bad "$1: not said: $2: $(cat "$reports/$3")"; fi
}
arrows() { jq '[.traceEvents[]|select(.cat=="message" and .ph=="s")]|length' "$reports/t.json"; }
# in_turn MPI SCENE MOST LEAST: so many messages are joined, each to the receive before which no other one was sent
in_turn() {
  both "$1" fast "$2"
  n=$(arrows)
  if [ "$n" -ge "$4" ] && [ "$n" -le "$3" ] && jq -e '[.traceEvents[]|select(.cat=="message")] as $m |
      ([$m[]|select(.ph=="f")|{key: (.id|tostring), value: .ts}]|from_entries) as $to | ([$m[]|select(.ph=="s")]|sort_by(.ts)) as $from |
      [range(0; $from|length) | . as $i | $from[$i] | $to[.id|tostring] as $there | select($there < .ts or ($i + 1 < ($from|length) and $there > $from[$i + 1].ts))]|length == 0' "$reports/t.json" >/dev/null
  then ok "$1: $2: $n messages joined in their turn ($NBC_TRACE)"; else bad "$1: $2: $n arrows ($NBC_TRACE): $(cat "$reports/said")"; fi
}
freed_send() { # mpi
  both "$1" quick_no_tail freed_send
  if awk -F, '$1 == "partner" && $2 == "irecv" { good = $4 == 10 && $7 == 0 } END { exit !good }' "$reports/csv/bounds.csv"
  then ok "$1: who frees a send's request has not seen its end"; else bad "$1: a freed send: $(cat "$reports/csv/bounds.csv")"; fi
}
late_sender() {
  both "$1" quick sender_late
  little "$1: the sender is late" irecv
  two_nodes "$1"
}
each() {
  both "$1" quick receiver_late
  little "$1: the receiver is late" isend
  said "$1: what it rests on" 'By both sides: no byte moves before' text
  said "$1: on the page" 'data-table="partner" data-name="isend"' page.html
  "$B/overlap_report" --json "$reports" >"$reports/sum.json" && "$B/overlap_report" --no-html --csv "$reports/again" "$reports/sum.json" >/dev/null 2>&1
  if grep -q '"method":"partner","kind":"isend"' "$reports/sum.json" && cmp -s "$reports/csv/bounds.csv" "$reports/again/bounds.csv"
  then ok "$1: in JSON, and back"; else bad "$1: JSON: $(cat "$reports/sum.json")"; fi
  two_nodes "$1"
  late_sender "$1"
  freed_send "$1"
  both "$1" fast2 in_call
  little "$1: sent into a wait" irecv
  # what follows is the report's: with one MPI
  if [ -z "$TEST_MORE" ] && [ "$1" = mpich ] && have_mpi openmpi; then return; fi
  both "$1" endless faster
  said "$1: a table that is too slow is named" 'faster than the table, as both sides' text
  both "$1" fast order
  n=$(arrows)
  if [ "$n" = 96 ] && jq -e '[.traceEvents[]|select(.cat=="message")] as $m | [.traceEvents[]|select(.cat=="transfer" and .pid==1)] as $t |
      ([$t[]|select(.ph=="b")|{key: (.id), value: .args.bytes}]|from_entries) as $bytes |
      ([$t[]|select(.ph=="e")|{ts: ((.ts*1000)|round), bytes: $bytes[.id]}]) as $ends |
      ([$m[]|select(.ph=="f")|{key: (.id|tostring), value: ((.ts*1000)|round)}]|from_entries) as $to |
      [$m[]|select(.ph=="s")|. as $s|select([$ends[]|select(.ts == $to[$s.id|tostring] + 1 and .bytes == $s.args.bytes)]|length == 0)]|length == 0' "$reports/t.json" >/dev/null
  then ok "$1: $n messages in order, whatever order they are waited for in"; else bad "$1: order: $n arrows: $(cat "$reports/said")"; fi
  if ! command -v otf2-print >/dev/null; then skip "$1: no otf2-print"
  elif "$B/overlap_trace" --otf2 "$reports/archive" "$reports" >"$reports/said" 2>&1 && otf2-print "$reports/archive/traces.otf2" >"$reports/printed" 2>&1; then
    sed -n 's/^MPI_SEND.*Tag: \([0-9]*\), Length: \([0-9]*\)$/\1 \2/p' "$reports/printed" | sort >"$reports/sent"
    sed -n 's/^MPI_RECV.*Sender: 0.*Tag: \([0-9]*\), Length: \([0-9]*\)$/\1 \2/p' "$reports/printed" | sort >"$reports/received"
    if [ "$(wc -l <"$reports/sent")" = 96 ] && cmp -s "$reports/sent" "$reports/received"; then ok "$1: OTF2 has 96 messages"; else bad "$1: OTF2: $(grep MPI_ "$reports/printed" | head -3)"; fi
  elif grep -q 'without OTF2' "$reports/said"; then skip "$1: built without OTF2"
  else bad "$1: OTF2: $(cat "$reports/said" "$reports/printed")"; fi
  both "$1" fast alone
  if [ "$(arrows)" = 96 ]; then ok "$1: 96 messages of one thread, where several might call"; else bad "$1: alone: $(arrows) arrows: $(cat "$reports/said")"; fi
  both "$1" fast tags
  if [ "$(arrows)" = 40 ] && jq -e '[.traceEvents[]|select(.cat=="message" and .ph=="s")|.args.tag]|unique == [5,7,9]' "$reports/t.json" >/dev/null
  then ok "$1: what cannot be told apart is not joined"; else bad "$1: tags: $(arrows) arrows: $(cat "$reports/said")"; fi
  said "$1: and that is said" '30 of 70 messages of the timelines were not matched' text
  for kind in $(some first 1); do
    NBC_TRACE=$kind
    both "$1" fast overtaking
    if [ "$(arrows)" = 20 ] && jq -e '[.traceEvents[]|select(.cat=="message" and .ph=="s")|.args.tag]|unique == [9]' "$reports/t.json" >/dev/null
    then ok "$1: messages that may overtake others are not joined ($kind)"; else bad "$1: overtaking ($kind): $(arrows) arrows: $(cat "$reports/said")"; fi
    said "$1: and why is said" '20 of 80 messages have both ends; of others: their communicator allows overtaking' said
    rm -rf "$reports"
    in_turn "$1" probed 39 19
    in_turn "$1" freed 39 19
    in_turn "$1" nested 39 19
    in_turn "$1" truncated 0 0
    rm -rf "$work/$1".probed "$work/$1".freed "$work/$1".nested "$work/$1".truncated
  done
  export NBC_TRACE_MIB=1
  in_turn "$1" long 2000 1300
  unset NBC_TRACE_MIB
  said "$1: the first part only, and that is said" 'a timeline ends before them' text
  NBC_TRACE=1
  both "$1" fast off
  if [ "$(arrows)" = 0 ]; then ok "$1: messages that nobody counted are not joined"; else bad "$1: off: $(arrows) arrows"; fi
  both "$1" memory self
  if awk -F, '$1 == "partner" { n += $4; least += $7 } END { exit !(n == 800 && least == 0) }' "$reports/csv/bounds.csv"
  then ok "$1: messages to oneself: no minimum"; else bad "$1: messages to oneself: $(cat "$reports/csv/bounds.csv")"; fi
  # rank 0 of one run and rank 1 of another one: as many messages of one tag
  "$B/overlap_report" --no-html --csv "$reports/mixed" "$work/$1.receiver_late"/*.0.json "$work/$1.faster"/*.1.json >"$reports/text" 2>&1
  if ! grep -q '^partner' "$reports/mixed/bounds.csv" && grep -q 'they are of several runs' "$reports/text"
  then ok "$1: timelines of two runs are not joined"; else bad "$1: two runs: $(cat "$reports/mixed/bounds.csv" "$reports/text")"; fi
}
printf '%s\n0 2e-6\n8388608 3e-6\n' "$said" >"$work/fast2"
printf '%s\n4096 1e-7\n1048576 5e-5\n8388608 4e-4\n' "$said" >"$work/quick"
printf '%s\n# tail_bytes 0\n4096 1e-7\n1048576 5e-5\n8388608 4e-4\n' "$said" >"$work/quick_no_tail"
printf '%s\n0 5\n8388608 6\n' "$said" >"$work/endless"
printf '%s\n0 4.9e-7\n8388608 6.5e-4\n' "$said" >"$work/memory"
if [ -n "$TEST_ONLY" ]; then # "freed_send mpich": this check alone (tests/mutate)
  # shellcheck disable=SC2086 # words
  set -- $TEST_ONLY
  if have_mpi "$2"; then "$@"; else skip "$TEST_ONLY: no $2"; fi
  finish
fi
each_mpi each
finish
