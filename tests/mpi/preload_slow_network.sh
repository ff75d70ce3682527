#!/bin/sh
# Bounds on a slow network: two hosts as network namespaces with 20 MB/s between them. Megabytes of a send that has
# ended wait in its socket there, and little of them comes at each look of a receiver. Open MPI only: MPICH over UCX's TCP
# has no tail, and does not end one time in eight here, without the preload, too.
. tests/mpi/preload_common.sh
unset OMPI_MCA_btl_tcp_if_include # between hosts
a=nbca$$ b=nbcb$$
clean() { ip netns del $a 2>/dev/null; ip netns del $b 2>/dev/null; }
trap clean EXIT
build() {
  ip netns add $a && ip netns add $b && ip link add v$a netns $a type veth peer name v$b netns $b &&
    ip -n $a addr add 192.0.2.1/30 dev v$a && ip -n $b addr add 192.0.2.2/30 dev v$b &&
    ip -n $a link set lo up && ip -n $b link set lo up && ip -n $a link set v$a up && ip -n $b link set v$b up &&
    tc -n $a qdisc add dev v$a root tbf rate 160mbit burst 64kb latency 50ms &&
    tc -n $b qdisc add dev v$b root tbf rate 160mbit burst 64kb latency 50ms && unshare --uts true
}
# as rsh: a command on the host of this address
cat >"$work/agent" <<END
#!/bin/sh
case \$1 in 192.0.2.1) n=$a ;; *) n=$b ;; esac
shift
exec ip netns exec \$n unshare --uts sh -c "hostname \$n; \$*"
END
chmod +x "$work/agent"
on_hosts() { # MPI COMMAND...: a process on each
  m=$1
  shift
  [ "$m" = openmpi ] || return
  set -- mpirun.openmpi --mca plm_rsh_agent "$work/agent" --mca pml ob1 --mca btl self,tcp --host 192.0.2.1:1,192.0.2.2:1 -n 2 "$@"
  # shellcheck disable=SC2016 # for the inner shell
  timeout -k 5 300 ip netns exec $a unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' on $a "$@"
}
see() { # MPI SCENE
  reports=$work/$1.$2
  mkdir "$reports"
  on_hosts "$1" env LD_PRELOAD="$(library "$1")" NBC_REPORT_DIR="$reports" NBC_TABLE_OTHER="$work/$1.table.txt" "$B/tests/mpi/preload_truth.$1" "$2" >"$reports/out" 2>"$reports/err"
  "$B/overlap_report" --no-html --csv "$reports/csv" "$reports" >"$reports/text" 2>&1
}
of() { awk -F, -v at="$1" '$2 == "isend" && $4 == "other_node" { s += $at } END { printf "%.0f\n", s }' "$reports/csv/transfers.csv"; }
each() { # mpi
  command=$B/xfer_table_$([ "$1" = openmpi ] && echo mpi || echo mpich)
  on_hosts "$1" "$command" --tail >"$work/$1.said" 2>"$work/$1.err"
  (sed 's/^/# /' "$work/$1.said"; printf '0 1e-6\n8388608 0.42\n') >"$work/$1.table.txt"
  see "$1" tail
  truth=$(sed -n 's/after permille //p' "$reports/out") xfer=$(of 7) most=$(of 9)
  if [ -n "$truth" ] && [ "$xfer" -gt 0 ] && [ $((truth * xfer / 1000)) -le "$most" ]; then
    ok "$1: $truth permille came after the send's end, reported $((most * 1000 / xfer)) at most"
  else bad "$1: $truth permille came after the send's end, reported $most of $xfer ns: $(cat "$work/$1.said" "$work/$1.err" "$reports/err")"; fi
  if grep -q 'Transfers took' "$reports/text" && ! grep -q 'guessed' "$reports/text"; then ok "$1: no guess is said where all partners have a table"
  else bad "$1: a guess is said where all partners have a table: $(grep guessed "$reports/text")"; fi
  see "$1" progress # who computes has sent no more than the first packet
  xfer=$(of 7) least=$(of 8)
  if [ "$xfer" -gt 0 ] && [ $((least * 50)) -le "$xfer" ]; then ok "$1: nothing moves while the sender computes, reported at least $least of $xfer ns"
  else bad "$1: nothing moves while the sender computes, reported at least $least of $xfer ns: $(cat "$work/$1.said" "$reports/err")"; fi
}
if ! command -v ip >/dev/null || ! command -v tc >/dev/null; then reason="no ip or tc command (Debian: iproute2)"
elif ! build >"$work/build" 2>&1; then reason="namespaces, veth or tbf not permitted: $(tail -1 "$work/build")"
else reason=; fi
if [ -n "$reason" ]; then
  for t in "openmpi: tail" "openmpi: guess" "openmpi: progress"; do skip "$t: $reason"; done
  finish
fi
if have_mpi openmpi; then each openmpi; else skip "no mpirun.openmpi or mpicc.openmpi"; fi
finish
