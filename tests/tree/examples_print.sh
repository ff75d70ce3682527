#!/bin/sh
# Examples print what their heads promise, where the machine has no say in it.
. tests/test.sh
promised() { # FILE FIRST: the indented block of the head that begins with the word FIRST
  awk -v first="$2" '/^\*\/|\*\/$/ { exit } on && /^ *$/ { exit } $1 == first { on = 1 } on' "$1" | sed 's/^     //'
}
predict_prints_its_table() {
  promised examples/06_predict.c cores >"$T/promised" && "$B/06_predict" >"$T/printed" &&
    test "$(wc -l <"$T/printed")" = 5 && diff "$T/promised" "$T/printed"
}
truth_is_inside_on_every_rank() {
  timeout 300 "$B/05_one_time" >"$T/times" && test "$(grep -c 'truth inside: yes$' "$T/times")" = 6 && test "$(wc -l <"$T/times")" = 6
}
short_and_one_question_each() {
  for f in examples/*.c; do
    test "$(wc -l <"$f")" -le 175 || { echo "$f: more than 175 lines"; return 1; }
    head -1 "$f" | grep -q '^/\* Question: ' || { echo "$f: no question in the first line"; return 1; }
    case ${f##*/} in [0-9][0-9]_*) ;; *) echo "$f: no number"; return 1 ;; esac
  done
}
check "06_predict prints its table" predict_prints_its_table
check "05_one_time: truth is inside on every rank" truth_is_inside_on_every_rank
check "examples are short, numbered, with a question" short_and_one_question_each
finish
