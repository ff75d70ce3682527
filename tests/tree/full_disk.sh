#!/bin/sh
# Every command, with every option that writes something: on a full disk, into a pipe that nobody reads
# and with its standard output closed it ends with exit status 1 and says which output was lost.
. tests/test.sh
. tests/tree/outputs.sh

# A pipe whose reader has gone: the reading end that opened it is closed again.
mkfifo "$T/pipe" || exit 1
# shellcheck disable=SC2094
exec 3<>"$T/pipe" 4>"$T/pipe" 3<&-

is_said() { # STATUS: 1, and one line at least on stderr that tells of output
  test "$1" = 1 && grep -Eq "$2" "$T/err" && return
  echo "exit status $1, expected 1; stderr:" && cat "$T/err"
  return 1
}
to_full_disk() { timeout -k 5 300 "$@" >/dev/full 2>"$T/err"; is_said $? 'standard output|No space|written'; }
to_closed_pipe() { timeout -k 5 300 "$@" >&4 2>"$T/err"; is_said $? 'standard output|Broken pipe|written'; }
to_nothing() { timeout -k 5 300 "$@" >&- 2>"$T/err"; is_said $? 'standard output|Bad file|written'; }
# Where results can have no place, nothing is measured for minutes first: not a word is printed before that is said.
file_in_no_folder() {
  timeout -k 5 300 "$@" >"$T/out" 2>"$T/err"
  code=$?
  { [ $code = 1 ] || [ $code = 2 ]; } && grep -q 'no/such' "$T/err" || { echo "exit status $code, expected 1; stderr:" && cat "$T/err" && return 1; }
  case "$*" in *bench_*-s* | *bench_nbc* | *fit_model*--max-bytes* | *_figures* | *overlap_pingpong* | *xfer_table\ *) # a table that was measured "cannot be written"
    [ ! -s "$T/out" ] && ! grep 'cannot be written' "$T/err" || { echo "measured before:" && cat "$T/out" && return 1; } ;; esac
}
file_on_full_disk() { timeout -k 5 300 "$@" >"$T/out" 2>"$T/err"; is_said $? '/dev/full|No space'; }

calls '=~?+' >"$T/calls"
while read -r command arguments; do
  files=$(echo "$arguments" | sed 's|@|/dev/full|')
  # shellcheck disable=SC2086 # arguments are words
  case $arguments in
    *@*)
      check "$command $arguments: file" file_on_full_disk "$B/$command" $files
      files=$(echo "$arguments" | sed "s|@|$T/no/such/file|")
      # shellcheck disable=SC2086
      check "$command $arguments: no folder" file_in_no_folder "$B/$command" $files ;;
    *)
      check "$command $arguments: full disk" to_full_disk "$B/$command" $arguments
      check "$command $arguments: closed pipe" to_closed_pipe "$B/$command" $arguments
      check "$command $arguments: closed" to_nothing "$B/$command" $arguments ;;
  esac
done <"$T/calls"
finish
