#!/bin/sh
# nic_run starts ranks that meet over TCP, on this host and in two network namespaces as on two hosts; a
# rank that fails ends the others, and nothing outlives a nic_run that was killed.
. tests/test.sh
case $B in /*) build=$B ;; *) build=$PWD/$B ;; esac
run=$build/nic_run rank=$build/tests/hw/tcp_rank
a=runa$$ b=runb$$
clean() { ip netns del $a 2>/dev/null; ip netns del $b 2>/dev/null; }
trap clean EXIT
unset NBC_TOKEN NBC_TOKEN_FILE NBC_JOB NBC_ADDRESSES

here() { timeout 300 "$run" -n 3 "$rank" >"$T/here" && cat "$T/here" && [ "$(grep -c '^rank [012] ' "$T/here")" = 3 ]; }
failure() { # at once, with the status of the rank that failed
  # shellcheck disable=SC2016 # the rank's own variable
  timeout 60 "$run" -n 3 sh -c '[ "$NBC_RANK" = 1 ] && exit 7; sleep 1000'
  [ $? = 7 ]
}
outlives() { # PIDs of ranks, after nic_run was killed
  # shellcheck disable=SC2016
  "$run" -n 2 sh -c 'echo $$ >>'"$T/pids; exec sleep 1000" &
  killed=$!
  until [ "$(wc -l <"$T/pids" 2>/dev/null)" = 2 ]; do sleep 0.05; done
  kill -9 $killed
  for _ in $(seq 600); do
    alive=0
    while read -r pid; do kill -0 "$pid" 2>/dev/null && alive=1; done <"$T/pids"
    [ $alive = 0 ] && return 0
    sleep 0.1
  done
  return 1
}
hidden() { # the token stands in no command line
  # shellcheck disable=SC2016
  NBC_TOKEN=0123456789abcdef0123456789abcdef "$run" -n 1 sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "; echo; echo "$NBC_TOKEN"' >"$T/lines" 2>/dev/null
  [ "$(grep -c '0123456789abcdef0123456789abcdef' "$T/lines")" = 1 ]
}
wrong_calls() {
  "$run" 2>"$T/err"; [ $? = 2 ] || return 1
  "$run" -n 0 true 2>"$T/err"; [ $? = 2 ] || return 1
  "$run" --hosts "$T/none" true 2>"$T/err"; [ $? = 2 ] && grep -q 'No such file' "$T/err" || return 1
  "$run" -n 2x true 2>"$T/err"; [ $? = 2 ] && grep -q 'from 1 to' "$T/err" || return 1
  "$run" --hosts "$T" true 2>"$T/err"; [ $? = 2 ] || return 1
  for line in 'one slots=2x' 'one slots=2 more' 'one slots=99999999999999999999' 'one two' '-oProxyCommand=x' 'one slots=' "$(printf %0200d 1)"; do
    printf '# %0600d one\n\n%s\n' 0 "$line" >"$T/bad" # a comment longer than any buffer is one line
    "$run" --hosts "$T/bad" true 2>"$T/err"; [ $? = 2 ] && grep -q 'bad:3:' "$T/err" || { echo "accepted: $line"; return 1; }
  done
  printf 'one slots=x\n' >"$T/bad"
  "$run" --hosts "$T/bad" true 2>"$T/err"; [ $? = 2 ] && grep -q 'bad:1:' "$T/err" || return 1
  "$run" --interface nonesuch true 2>"$T/err"; [ $? = 1 ] && grep -q nonesuch "$T/err"
}
words() { # go to the program as they are: many, long, with newlines and backslashes
  long=$(head -c 100000 /dev/zero | tr '\0' y)
  many=$(seq 3000)
  # shellcheck disable=SC2016,SC2086
  timeout 300 "$run" -n 1 sh -c 'printf "%s|" "$1" "$2" "$3" ${#4} $# >'"$T/words" sh 'two
lines' 'a\nb\\' '' "$long" $many || return 1
  printf 'two\nlines|a\\nb\\\\||100000|3004|' | cmp - "$T/words"
}
build_net() {
  ip netns add $a && ip netns add $b && ip link add v$a netns $a type veth peer name v$b netns $b &&
    ip -n $a addr add 192.0.2.1/30 dev v$a && ip -n $b addr add 192.0.2.2/30 dev v$b &&
    ip -n $a link set v$a up && ip -n $b link set v$b up && ip -n $a link set lo up
}
there() {
  printf '# two hosts\n%s slots=2\n%s\n' $a $b >"$T/hosts"
  timeout 300 "$run" --hosts "$T/hosts" --rsh "ip netns exec" "$rank" >"$T/there" && cat "$T/there" &&
    [ "$(grep -c '^rank [012] ' "$T/there")" = 3 ]
}
check "three ranks on this host" here
check "a rank that fails ends the others" failure
check "nothing outlives a nic_run that was killed" outlives
check "the token is on no command line" hidden
check "wrong calls" wrong_calls
check "words of any kind" words
if ! command -v ip >/dev/null; then skip "ranks on two hosts" "no ip command (Debian: iproute2)"
elif build_net >"$T/build" 2>&1; then check "ranks on two hosts" there
else skip "ranks on two hosts" "namespaces or veth not permitted: $(tail -1 "$T/build")"; fi
finish
