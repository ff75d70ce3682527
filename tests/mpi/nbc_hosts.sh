#!/bin/sh
# nbc see on several hosts: they are asked who they are, each host and each pair is measured once, kept, and named to
# the preload; what is missing is said, with what stands in. Hosts are names only here (fake_hosts.c).
. tests/mpi/preload_common.sh
make=$(sed -n 's/.*TABLE_MAKE *=* *\([0-9][0-9]*\).*/\1/p' tools/table_make.h | head -1)
# launcher MPI: a folder with one that knows hosts: they say who they are by fake_hosts.c, and it writes tables where
# xfer_table would measure.
launcher() {
  mkdir -p "$work/$1.bin"
  real=$(command -v "mpirun.$1")
  # shellcheck disable=SC2016 # for the script
  fake=$([ "$1" = openmpi ] && echo '-x LD_PRELOAD=$FAKE' || echo '-genv LD_PRELOAD $FAKE')
  cat >"$work/$1.bin/mpirun.$1" <<EOF
#!/bin/sh
[ "\$1" = --version ] && exec $real --version
echo "\$*" >>"\$LOG"
case \$* in *"\$REFUSED"*--other*) [ -n "\$REFUSED" ] && exit 1 ;; esac
for last; do :; done
n=\$#
while [ \$n -gt 0 ]; do
  word=\$1
  shift
  n=\$((n - 1))
  case \$word in
  -hosts | --host | -ppn | --map-by) shift && n=\$((n - 1)) ;;
  *) set -- "\$@" "\$word" ;;
  esac
done
case \$* in
*xfer_table*--hosts) exec $real $fake "\$@" ;;
*xfer_table*) printf '# xfer_table $make\n# eager_bytes 4096\n# tail_bytes 0\n# link_bytes_per_s 1e10\n1 1e-6\n8388608 1e-3\n' >"\$last" ;;
*) exec $real "\$@" ;;
esac
EOF
  chmod +x "$work/$1.bin/mpirun.$1"
}
see() { # MPI OUT HOSTS PROCESSES [LAUNCHER'S OPTIONS]
  option=$([ "$1" = openmpi ] && echo --host || echo -hosts)
  # shellcheck disable=SC2086 # options are words
  PATH=$work/$1.bin:$PATH FAKE=$B/tests/mpi/libfake_hosts.so LOG=$work/$1.log XDG_CACHE_HOME=$work/$1.cache \
    timeout 120 "$B/nbc" see --no-trace -o "$work/$1.$2" "mpirun.$1" ${5:-} "$option" "$3" -n "$4" "$B/tests/mpi/preload_truth.$1" none >"$work/$1.$2.out" 2>"$work/$1.$2.err"
}
kept() { # MPI: the hosts of tables
  for f in "$work/$1.cache"/nbc_overlap/table-*; do basename "$f" | sed 's/^table-[0-9]*\.\([^.]*\)\..*/\1/'; done | sort | tr '\n' ' '
}
each() {
  launcher "$1"
  REFUSED='' && export REFUSED
  see "$1" two node0,node1 2
  case $(kept "$1") in *'node0 node0+node1 node1 '*) ok "$1: both hosts and their pair are measured and kept" ;;
  *) bad "$1: kept: $(kept "$1"): $(cat "$work/$1.two.err")" ;; esac
  if tail -1 "$work/$1.log" | grep -q 'NBC_TABLE_OTHER[ =][^ ]*node0+node1' && tail -1 "$work/$1.log" | grep -q 'NBC_TABLE[ =][^ ]*%h'; then ok "$1: the preload is told of them"
  else bad "$1: the preload is told: $(tail -1 "$work/$1.log")"; fi
  if grep -q "same node.*/table-$make\.[^%]*; other node .*node0+node1" "$work/$1.two.out"; then ok "$1: a process takes the table of its host"
  else bad "$1: tables of the report: $(grep 'Transfer times' "$work/$1.two.out")"; fi
  see "$1" again node0,node1 2
  if [ "$(grep -c -- '--other' "$work/$1.log")" = 1 ] && ! grep -q measuring "$work/$1.again.err"; then ok "$1: once"
  else bad "$1: once: $(cat "$work/$1.log" "$work/$1.again.err")"; fi
  # three hosts: one pair cannot be measured; the others stand in, and no minimum is claimed
  REFUSED=node1,node2
  see "$1" three node0,node1,node2 3
  REFUSED=''
  if grep -q 'between nodes: node1+node2 was not measured, for which the fastest of 2 others stands in; no minimum is claimed there' "$work/$1.three.err" &&
    grep -q '^# disturbed node1+node2 was not measured' "$work/$1.three/table-between.txt"; then ok "$1: what stands in for a missing pair is said"
  else bad "$1: a missing pair: $(cat "$work/$1.three.err")"; fi
  # all there: the fastest stands for all, with a minimum; what may go ahead takes no larger share than of the slower one
  sed -i 's/^1 .*/1 1e-4/; s/^8388608 .*/8388608 2e-3/; s/^# eager_bytes.*/# eager_bytes 9999/' "$work/$1.cache"/nbc_overlap/table-*.node0+node2.*
  see "$1" all node0,node1,node2 3
  if grep -q 'the fastest of 3 pairs of hosts stands for all' "$work/$1.all.err" && grep -q '^8388608 1.0*e-03' "$work/$1.all/table-between.txt" &&
    awk '/^# eager_bytes/ { e = $3 } END { exit !(e > 428000 && e < 460000) }' "$work/$1.all/table-between.txt" && ! grep -q disturbed "$work/$1.all/table-between.txt"; then ok "$1: of several pairs the fastest time and the largest share that goes ahead"
  else bad "$1: several pairs: $(cat "$work/$1.all.err" "$work/$1.all/table-between.txt")"; fi
  # one of them was disturbed
  echo '# disturbed by a test' >>"$(ls "$work/$1.cache"/nbc_overlap/table-*.node0+node1.*)"
  see "$1" disturbed node0,node1,node2 3
  if grep -q '^# disturbed one of its tables: by a test' "$work/$1.disturbed/table-between.txt"; then ok "$1: a disturbed table among several is said"
  else bad "$1: a disturbed table among several: $(cat "$work/$1.disturbed/table-between.txt")"; fi
  # who starts the processes on other hosts does so for the tables too; its word is not taken for the program
  how=$([ "$1" = openmpi ] && echo '--mca plm_rsh_agent /bin/true' || echo '-launcher-exec /bin/true')
  mv "$work/$1.cache" "$work/$1.cache.before" && : >"$work/$1.log"
  see "$1" started node0,node1 2 "$how"
  if [ "$(grep -c -- "$how .*xfer_table.*part" "$work/$1.log")" = 3 ] && tail -1 "$work/$1.log" | grep -q "preload_truth.$1 none" && grep -q '^Overlap of' "$work/$1.started.out"; then ok "$1: options that start processes elsewhere"
  else bad "$1: options that start processes elsewhere: $(cat "$work/$1.log" "$work/$1.started.err")"; fi
  rm -rf "$work/$1.cache" && mv "$work/$1.cache.before" "$work/$1.cache"
  # another host alone: its own table, and no partners on others
  see "$1" alone node0 1
  if tail -1 "$work/$1.log" | grep -q 'NBC_TABLE[ =][^ ]*%h' && ! tail -1 "$work/$1.log" | grep -q NBC_TABLE_OTHER; then ok "$1: one other host"
  else bad "$1: one other host: $(tail -1 "$work/$1.log") $(cat "$work/$1.alone.err")"; fi
}
each_mpi each
finish
