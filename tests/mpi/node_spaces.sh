# Two nodes on one machine, to be sourced: namespaces with names, network, shared memory and a clock of their own. Files
# they share, and the core that runs them, so what is true of both is known.
# nodes_begin FOLDER SECONDS: node-a, and node-b whose clock is so far ahead. False: not permitted here.
# on_node a|b COMMAND...; $node_shell is what launchers start processes with; nodes_end.
nodes_begin() {
  node_folder=$1 node_shell=$1/shell
  mkdir -p "$1" && printf '10.77.0.1 node-a\n10.77.0.2 node-b\n127.0.0.1 localhost\n' >"$1/hosts" || return 1
  # shellcheck disable=SC2016 # for that script
  printf '#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nnode=${1#node-}\nshift\n%s sh -c "$*"\n' \
    "exec nsenter -t \"\$(cat '$1/'\$node.pid)\" -n -u -m -i -T" >"$node_shell" && chmod +x "$node_shell" || return 1
  node_space a 0 && node_space b "$2" || return 1
  ip link add nbc0 netns "$(cat "$1/a.pid")" type veth peer name nbc0 netns "$(cat "$1/b.pid")" || return 1
  for n in a b; do
    on_node $n ip addr add "$(awk -v n=node-$n '$2 == n { print $1 }' "$1/hosts")/24" dev nbc0 && on_node $n ip link set nbc0 up || return 1
  done
  for _ in $(seq 600); do # no launcher finds a network before the link is there
    [ "$(for n in a b; do on_node $n cat /sys/class/net/nbc0/operstate; done | sort -u)" = up ] && return 0
    sleep 0.1
  done
  return 1
}
node_space() { # NAME SECONDS
  # shellcheck disable=SC2016 # for the inner shell
  unshare -n -u -m -i -T --monotonic "$2" -f sh -c 'mount --make-rprivate / && mount -t sysfs none /sys && mount -t tmpfs none /dev/shm &&
    mount --bind "$1/hosts" /etc/hosts && hostname "node-$2" && ip link set lo up && echo $$ >"$1/$2.part" && mv "$1/$2.part" "$1/$2.pid" &&
    exec sleep 1000' sh "$node_folder" "$1" &
  for _ in $(seq 600); do
    [ -s "$node_folder/$1.pid" ] && return 0
    kill -0 $! 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}
# From now on it is one of another machine, by the kernel's name of its boot.
node_boots_alone() { # a|b
  echo "00000000-0000-4000-8000-00000000000$1" >"$node_folder/$1.boot" && on_node "$1" mount --bind "$node_folder/$1.boot" /proc/sys/kernel/random/boot_id
}
on_node() {
  node_name=$1
  shift
  nsenter -t "$(cat "$node_folder/$node_name.pid")" -n -u -m -i -T "$@"
}
nodes_end() { # once: later the numbers may be others'
  for n in a b; do [ -s "$node_folder/$n.pid" ] && kill "$(cat "$node_folder/$n.pid")" && rm "$node_folder/$n.pid"; done 2>/dev/null
}
