#!/bin/sh
# The NIC in RTL as two PCI devices of a machine that QEMU 7.2 emulates without KVM: Debian's kernel finds them, nicstat reads
# them with the code for real NICs, and nic_pingpong drives them from user space. What happens in the guest: qemu_nic_guest.sh.
. tests/test.sh
. tests/hw/qemu_fetch.sh
disk=$Q/disk-rtl log=$T/guest.log
make_disk() {
  rm -rf "$disk" && mkdir -p "$disk/bin" "$disk/lib64" "$disk/lib/x86_64-linux-gnu" "$disk/proc" "$disk/sys" "$disk/dev" "$disk/tmp" &&
    cp tests/rtl/qemu_nic_guest.sh "$disk/init" && cp tests/test.sh "$disk/" && chmod +x "$disk/init" &&
    cp "$B/nicstat-static" "$disk/bin/nicstat" && cp "$B/nic_pingpong" "$Q/lib/bin/busybox" "$Q/lib/usr/bin/lspci" "$disk/bin/" &&
    cp -L "$Q/lib/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$disk/lib64/" || return 1
  for name in libc.so.6 libcap.so.2 libpci.so.3 libkmod.so.2 libz.so.1 libzstd.so.1 liblzma.so.5 libcrypto.so.3 libudev.so.1; do
    cp -L "$(ls "$Q/lib/lib/x86_64-linux-gnu/$name" "$Q/lib/usr/lib/x86_64-linux-gnu/$name" 2>/dev/null | head -1)" \
      "$disk/lib/x86_64-linux-gnu/" || return 1
  done
  (cd "$disk" && find . | ../lib/bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$disk.gz"
}
# The same machine with other NICs: boot ARGUMENTS OF nic_qemu...
boot() {
  libs=$Q/lib/lib/x86_64-linux-gnu
  QEMU_MODULE_DIR=$Q/7.2/usr/lib/x86_64-linux-gnu/qemu timeout "${TEST_TIMEOUT:-300}" "$B/nic_qemu" "$@" \
    "$libs/ld-linux-x86-64.so.2" --library-path "$libs:$Q/lib/usr/lib/x86_64-linux-gnu" \
    "$Q/7.2/usr/bin/qemu-system-x86_64" -L "$Q/7.2/usr/share/qemu" -L "$Q/7.2/usr/share/seabios" \
    -M q35,memory-backend=ram -object memory-backend-memfd,id=ram,size=384M,share=on -m 384 -accel tcg -no-reboot \
    -display none -vga none -monitor none -serial stdio -nic none -kernel "$Q"/kernel/boot/vmlinuz-* -initrd "$disk.gz" \
    -append "console=ttyS0 loglevel=1 panic=-1" </dev/null >"$log.raw" 2>"$T/counts"
  code=$?
  tr -d '\r' <"$log.raw" >"$log"
  sed -n '/guest up after/,$p' "$log" | grep -v '^[0-9]* passed\|^\[.*reboot'
  cat "$T/counts"
}
served_all() { # every access was one that a NIC knows
  [ "$code" -eq 0 ] && [ "$(grep -c 'NIC [01]: .* bytes read from memory, .* 0 accesses refused' "$T/counts")" = 2 ]
}

why=$(fetched) || { skip "a kernel owns the NIC" "$why"; finish; }
check "memory disk" make_disk
boot --counts
totals=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log")
if [ -n "$totals" ]; then
  test_passed=$((test_passed + ${totals%% passed*})) totals=${totals#*passed, }
  test_failed=$((test_failed + ${totals%% failed*}))
else
  check "the guest reaches its end" sh -c "tail -12 '$log'; false"
fi
check "QEMU ends well, and nothing was refused" served_all
finish
