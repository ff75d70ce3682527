#!/bin/sh
# Two ranks in two network namespaces, joined by a veth pair: as on two hosts, with the same kernel.
# Then with delay and loss on the way: slower, but all stamped or counted, and no byte wrong.
. tests/test.sh
a=nica$$ b=nicb$$
export NBC_TOKEN=00112233445566778899aabbccddeeff # addresses that other hosts could reach
clean() { ip netns del $a 2>/dev/null; ip netns del $b 2>/dev/null; }
trap clean EXIT
build() {
  ip netns add $a && ip netns add $b && ip link add v$a netns $a type veth peer name v$b netns $b &&
    ip -n $a addr add 192.0.2.1/30 dev v$a && ip -n $b addr add 192.0.2.2/30 dev v$b &&
    ip -n $a link set v$a up && ip -n $b link set v$b up
}
ranks() { # NAME: both ranks end well and each has stamps
  timeout 300 ip netns exec $a "$B/tests/hw/tcp_rank" 0 192.0.2.1:7000 192.0.2.2:7000 >"$T/$1.0" 2>&1 &
  timeout 300 ip netns exec $b "$B/tests/hw/tcp_rank" 1 192.0.2.1:7000 192.0.2.2:7000 >"$T/$1.1" 2>&1
  second=$?
  wait $!
  first=$?
  cat "$T/$1.0" "$T/$1.1"
  [ $first -eq 0 ] && [ $second -eq 0 ] && [ "$(grep -c '^rank .* stamped [1-9]' "$T/$1.0" "$T/$1.1" | grep -c ':1$')" -eq 2 ]
}
no_token() { # refused before anybody is waited for
  ! env -u NBC_TOKEN ip netns exec $a "$B/tests/hw/tcp_rank" 0 192.0.2.1:7000 192.0.2.2:7000 >"$T/out" 2>&1 && grep -q NBC_TOKEN "$T/out"
}
wrong_token() {
  ip netns exec $a env START_MS=1500 "$B/tests/hw/tcp_rank" 0 192.0.2.1:7000 192.0.2.2:7000 >"$T/out" 2>&1 &
  ! ip netns exec $b env START_MS=1000 NBC_TOKEN=10112233445566778899aabbccddeeff "$B/tests/hw/tcp_rank" 1 192.0.2.1:7000 192.0.2.2:7000 >"$T/out1" 2>&1
  refused=$?
  ! wait $! && test $refused -eq 0 && grep -q token "$T/out1"
}
# A port of the range that connect takes its own from: the call may come back to the caller.
calls_itself() {
  ip netns exec $a sh -c 'echo "23500 23503" >/proc/sys/net/ipv4/ip_local_port_range && ip link set lo up' || return 1
  ip netns exec $a "$B/tests/hw/tcp_rank" 1 127.0.0.1:23500 127.0.0.1:24000 >"$T/out1" 2>&1 &
  sleep 1 # hundreds of calls to a port where nobody listens yet
  ip netns exec $a "$B/tests/hw/tcp_rank" 0 127.0.0.1:23500 127.0.0.1:24000 >"$T/out0" 2>&1 && wait $! || { cat "$T/out0" "$T/out1"; return 1; }
}
# The cable is pulled: no byte, no end, no reset. Both ranks only wait.
vanishes() { # UDP=1 or nothing
  rm -f "$T/wait0" "$T/wait1" # what the last call left says "waiting" already
  for r in 0 1; do
    n=$a && [ $r = 1 ] && n=$b
    env "$@" SILENCE_MS=2000 WAIT=1 timeout 300 ip netns exec $n "$B/tests/hw/tcp_rank" $r 192.0.2.1:7000 192.0.2.2:7000 >"$T/wait$r" 2>&1 &
  done
  tries=0
  until grep -q waiting "$T/wait0" && grep -q waiting "$T/wait1"; do
    tries=$((tries + 1)) && [ $tries -lt 1200 ] || { cat "$T/wait0" "$T/wait1"; return 1; }
    sleep 0.05
  done
  ip -n $a link set v$a down
  wait
  ip -n $a link set v$a up
  cat "$T/wait0" "$T/wait1"
  grep -q NBC_E_PEER "$T/wait0" && grep -q NBC_E_PEER "$T/wait1"
}
sees_veth() { ip netns exec $a "$B/nicstat" list v$a | grep -q 'soft-stamps *yes'; }
# A container with the host's /sys: what stands there is not its own.
sees_strangers() {
  ip netns exec $a unshare -n "$B/nicstat" list v$a >"$T/strangers" && cat "$T/strangers" && grep -q 'clock *unknown *of another network namespace' "$T/strangers" &&
    [ "$(grep -c 'stamps *no *of another network namespace' "$T/strangers")" = 2 ] && ! ip netns exec $a "$B/nicstat" list v$a | grep 'another network namespace'
}
counts_veth() { ip netns exec $a "$B/nicstat" watch v$a --count 1 --interval 0.01 --all | grep -q 'net/tx_bytes *[1-9]'; }

# nicstat's stamps between the two: every message answered, stamped on both sides.
listener() { ip netns exec $b "$B/nicstat" stamps --listen 7001 2>"$T/listener" & server=$!; }
stamps_between() { # ARGUMENTS...
  tries=0
  until timeout 100 ip netns exec $a "$B/nicstat" stamps --connect 192.0.2.2:7001 --json --count 5 "$@" >"$T/stamps" 2>"$T/why" &&
    [ "$(grep -c '"lost":false.*"scheduled_lo_ns".*"sent_lo_ns".*"received_lo_ns".*"answered_lo_ns"' "$T/stamps")" -eq 5 ]; do
    tries=$((tries + 1)) && [ $tries -lt 50 ] || { cat "$T/why" "$T/stamps" "$T/listener"; return 1; }
    sleep 0.1 # it may not listen yet, or the kernel not stamp yet what comes: it begins to when one of its workers has run
  done
}
no_listener() { ! timeout 100 ip netns exec $a "$B/nicstat" stamps --connect 192.0.2.2:7001 --udp >"$T/stamps" 2>&1 && grep -q 'stamps --listen PORT' "$T/stamps"; }

if [ ! -x "$B/tests/hw/tcp_rank" ]; then reason="$B/tests/hw/tcp_rank is not built"
elif ! command -v ip >/dev/null; then reason="no ip command (Debian: iproute2)"
elif ! build >"$T/build" 2>&1; then reason="namespaces or veth not permitted: $(tail -1 "$T/build")"
else reason=; fi
if [ -n "$reason" ]; then
  for t in "ranks over veth" "no token, no listening" "another token" "a peer that vanishes without a word" "a peer over UDP that vanishes" "a call that comes back" "stamps between hosts" "datagrams between hosts" "no listener" "nicstat sees veth" "counters of veth" "ranks over a slow link that drops" "ranks under delay and loss"; do skip "$t" "$reason"; done
  finish
fi
check "ranks over veth" ranks plain
check "no token, no listening" no_token
check "another token" wrong_token
check "a peer that vanishes without a word" vanishes
check "a peer over UDP that vanishes" vanishes UDP=1
check "a call that comes back" calls_itself
listener
check "stamps between hosts" stamps_between --size 5000
check "datagrams between hosts" stamps_between --udp
kill $server && wait $server
check "no listener" no_listener
check "nicstat sees veth" sees_veth
check "a NIC of another network namespace" sees_strangers
check "counters of veth" counts_veth
# A slow link with a short queue: the kernel drops and sends again.
if tc -n $a qdisc replace dev v$a root tbf rate 80mbit burst 10kb limit 20kb >"$T/tbf" 2>&1; then
  check "ranks over a slow link that drops" ranks tbf
  tc -n $a -s qdisc show dev v$a | grep -o 'dropped [0-9]*' | sed 's/^/  /'
else
  skip "ranks over a slow link that drops" "kernel without tbf: $(tail -1 "$T/tbf")"
fi
if tc -n $a qdisc replace dev v$a root netem delay 1ms loss 1% >"$T/netem" 2>&1; then
  check "ranks under delay and loss" ranks netem
else
  skip "ranks under delay and loss" "kernel without netem: $(tail -1 "$T/netem")"
fi
finish
