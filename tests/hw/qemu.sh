#!/bin/sh
# nicstat on emulated Intel NICs: Debian's kernel with Debian's drivers, booted by QEMU without KVM, three
# machines one after the other (20 to 60 s each, by what else the host does). Emulators have two faults of real life to offer: a clock
# that stands still (82574 of QEMU 7.2) and one that runs 2.5 times too fast (82574 of QEMU 10).
#
# What happens in the guest: qemu_guest.sh.
. tests/test.sh
. tests/hw/qemu_fetch.sh
limit=$(($(date +%s) + ${TEST_TIMEOUT:-300} - 10))

rm -f "$Q"/*.txt "$Q"/*.log
skip_all() {
  for machine in frozen fast good; do skip "guest $machine" "$1"; done
  finish
}
# The guest's memory disk: busybox, nicstat, the drivers, the commands to compare with.
make_disk() {
  rm -rf "$Q/disk" && mkdir -p "$Q/disk/bin" "$Q/disk/lib/modules" "$Q/disk/lib64" "$Q/disk/lib/x86_64-linux-gnu" \
    "$Q/disk/proc" "$Q/disk/sys" "$Q/disk/dev" "$Q/disk/tmp" || return 1
  modules=$(echo "$Q"/kernel/lib/modules/*/kernel/drivers) libs=$Q/lib/lib/x86_64-linux-gnu
  cp tests/hw/qemu_guest.sh "$Q/disk/init" && cp tests/test.sh "$Q/disk/" && cp "$B/nicstat-static" "$Q/disk/bin/nicstat" &&
    cp "$B/tests/hw/tcp_rank-static" "$Q/disk/bin/tcp_rank" &&
    cp "$Q/lib/bin/busybox" "$Q/lib/sbin/ethtool" "$Q/lib/usr/sbin/hwstamp_ctl" "$Q/disk/bin/" &&
    cp "$modules/net/ethernet/intel/igb/igb.ko" "$modules/net/ethernet/intel/e1000e/e1000e.ko" "$modules/dca/dca.ko" \
      "$modules/i2c/algos/i2c-algo-bit.ko" "$Q/disk/lib/modules/" &&
    cp -L "$libs/ld-linux-x86-64.so.2" "$Q/disk/lib64/" &&
    cp -L "$libs/libc.so.6" "$libs/libm.so.6" "$Q/lib/usr/lib/x86_64-linux-gnu/libmnl.so.0" "$Q/disk/lib/x86_64-linux-gnu/" &&
    chmod +x "$Q/disk/init" &&
    (cd "$Q/disk" && find . | ../lib/bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$Q/disk.gz"
}
# boot MACHINE VERSION KERNEL-ARGUMENTS DEVICES...: adds the guest's tests to ours
boot() {
  machine=$1 version=$2 arguments=$3 libs=$Q/lib/lib/x86_64-linux-gnu log=$Q/$1.log
  shift 3
  start=$(date +%s) left=$((limit - $(date +%s)))
  [ $left -ge 20 ] || { skip "guest $machine" "no time left of ${TEST_TIMEOUT:-300} s: this machine is busy"; return; }
  QEMU_MODULE_DIR=$Q/$version/usr/lib/x86_64-linux-gnu/qemu \
    timeout $((left > 120 ? 120 : left)) "$libs/ld-linux-x86-64.so.2" --library-path "$libs:$Q/lib/usr/lib/x86_64-linux-gnu" \
    "$Q/$version/usr/bin/qemu-system-x86_64" -L "$Q/$version/usr/share/qemu" -L "$Q/$version/usr/share/seabios" \
    -M q35 -accel tcg -m 384 -no-reboot -display none -vga none -monitor none -serial stdio \
    -kernel "$Q"/kernel/boot/vmlinuz-* -initrd "$Q/disk.gz" -append "console=ttyS0 loglevel=1 panic=-1 nictest=$machine $arguments" \
    -nic none "$@" </dev/null >"$log.raw" 2>&1
  code=$?
  tr -d '\r' <"$log.raw" >"$log"
  echo "guest $machine, QEMU $version: $(($(date +%s) - start)) s; $(grep -o 'guest up after.*' "$log")"
  sed -n '/guest up after/,$p' "$log" | grep -v '^@\|^[0-9]* passed\|^guest\|^\[.*reboot'
  totals=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log")
  if [ -n "$totals" ]; then
    test_passed=$((test_passed + ${totals%% passed*})) totals=${totals#*passed, }
    test_failed=$((test_failed + ${totals%% failed*})) totals=${totals#*failed, }
    test_skipped=$((test_skipped + ${totals%% skipped*}))
  elif [ $code -eq 124 ] && [ $left -lt 120 ]; then
    skip "guest $machine" "no time left of ${TEST_TIMEOUT:-300} s: this machine is busy"
  else
    check "guest $machine reaches its end" sh -c "tail -12 '$log'; false"
  fi
  sed -n 's/^@//p' "$log" >"$Q/$machine.txt"
}
# What the guest recorded is judged the same here.
recorded() { # STATUS PATTERN MACHINE
  "$B/nicstat" clock eth0 --dump "$Q/$3.txt" >"$T/recorded" 2>&1
  code=$?
  cat "$T/recorded"
  [ $code -eq "$1" ] && grep -q -- "$2" "$T/recorded"
}

why=$(fetched) || skip_all "$why"
check "memory disk" make_disk
boot frozen 7.2 "" -device e1000e,netdev=u,romfile= -netdev user,id=u,restrict=on
boot fast 10 iomem=relaxed -device e1000e,netdev=u,romfile= -netdev user,id=u,restrict=on
# A peer under another kernel: on this host, which the guest sees as 10.0.2.2.
port=$((20000 + $$ % 20000))
"$B/nicstat" stamps --listen 127.0.0.1:$port 2>"$T/listener" &
listener=$!
trap 'kill $listener 2>/dev/null' EXIT
boot good 10 "iomem=relaxed nicport=$port" -device pcie-root-port,id=p0,slot=0 -device igb,bus=p0,netdev=n0,romfile= \
  -device pcie-root-port,id=p1,slot=1 -device igb,bus=p1,netdev=n1,romfile= \
  -netdev hubport,id=n0,hubid=0 -netdev hubport,id=n1,hubid=0 \
  -device e1000e,netdev=u,romfile= -netdev user,id=u
has_recorded() { [ -s "$Q/$1.txt" ]; } # else it was skipped or failed above
! has_recorded frozen || check "recorded: clock that stands still" recorded 1 'stands still' frozen
! has_recorded fast || check "recorded: clock 2.5 times too fast" recorded 1 'runs 2\.[45]' fast
! has_recorded good || check "recorded: good clock" recorded 0 'read extended' good
finish
