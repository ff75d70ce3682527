# HW_CFLAGS and HW_LIBS come from hw/hw.mk, which is read later: so they are expanded in the recipe
# Each implements the headers: -O0, because compiling is most of what they cost.
$(eval $(call test,hw/machines_are_found,-O0 $$(HW_CFLAGS),$$(HW_LIBS)))
$(eval $(call test,hw/counters_and_rates,-O0))
$(eval $(call test,hw/registers_are_safe,-O0))
$(eval $(call test,hw/stamps_keep_their_order,-O0))
$(eval $(call test,hw/tcp_moves_messages,-O0))
$(eval $(call test,hw/tcp_overlap_is_exact,-O0))
$(eval $(call test,hw/tcp_loses_nothing_silently,-O0))
$(eval $(call test,hw/udp_moves_messages,-O0))
$(eval $(call test,hw/udp_loses_nothing_silently,-O0))
$(eval $(call test,hw/ranks_prove_who_they_are,-O0))
$(eval $(call test,hw/clocks_are_enclosed,-O0))
$(eval $(call test,hw/recordings_come_back,-O0 $$(HW_CFLAGS),$$(HW_LIBS)))
# qemu-user does not hand on what the kernel says about stamps, nor netlink and events
NO_CROSS += hw/stamps_keep_their_order hw/tcp_% hw/udp_% hw/clocks_are_enclosed hw/netlink_is_read hw/pmu_events_are_counted
$(eval $(call test,hw/netlink_is_read,-O0))
$(eval $(call test,hw/pmu_events_are_counted,-O0))
$(eval $(call script,hw/nicstat_speaks))
$(eval $(call program,$(B)/tests/hw/tcp_rank,tests/hw/tcp_rank.c,$(TEST_FLAGS),,,$(B)/libnbc_overlap.a))
NEEDS_hw += $(B)/tests/hw/tcp_rank
$(eval $(call script,hw/namespaces))
$(eval $(call tool,nic_run))
$(eval $(call script,hw/nic_run))
NEEDS_hw += $(B)/nic_run
INSTALL_COMMANDS += $(B)/nic_run
$(eval $(call bench,nic_times))
$(eval $(call bench,wire))
PRINTS_wire := tcp_latency tcp_bandwidth
ifneq ($(MPICC_openmpi),)
$(eval $(call mpi_program,$(B)/bench/wire.openmpi,tests/bench/wire.c,$(MPICC_openmpi),-DWIRE_MPI,$(B)/libnbc_overlap.openmpi.a))
BENCHES += tests/bench/wire_mpi.sh
tests/bench/wire_mpi.sh: $(B)/bench/wire.openmpi ;
PRINTS_wire_mpi := tcp_latency_openmpi tcp_bandwidth_openmpi
endif
ifneq ($(VERILATOR),)
$(eval $(call test,hw/verilated_registers,,$$(NIC_LIBS)))
$(B)/tests/hw/verilated_registers: $(B)/rtl/libnic_cosim.a
endif
# Emulated Intel NICs: not part of `make check`, because it fetches 120 MB and emulates three machines.
$(eval $(call program,$(B)/nicstat-static,hw/nicstat.c,-static -Xlinker --no-warnings,,,$(B)/libnbc_overlap.a))
$(eval $(call program,$(B)/tests/hw/tcp_rank-static,tests/hw/tcp_rank.c,-static -Xlinker --no-warnings,,,$(B)/libnbc_overlap.a))
.PHONY: check-qemu
QEMU_TESTS := tests/hw/qemu.sh $(if $(VERILATOR),tests/rtl/qemu_nic.sh)
$(eval $(call program,$(B)/nic_pingpong,hw/nic_pingpong.c,-static -Xlinker --no-warnings,,,$(B)/libnbc_overlap.a))
check-qemu: $(B)/nicstat-static $(B)/nicstat $(B)/tests/hw/tcp_rank-static $(B)/nic_pingpong $(if $(VERILATOR),$(B)/nic_qemu) ## nicstat in guests with emulated Intel NICs, and with the NIC in RTL (Debian's packages, no KVM, under 6 minutes)
	@TEST_TIMEOUT=300 sh tests/run.sh $(QEMU_TESTS); code=$$?; cat $(B)/log/hw-qemu.sh.log $(B)/log/rtl-qemu_nic.sh.log; exit $$code
PRINTS_nic_times := nic_clock_read nic_clock_bound sw_stamp_gap tcp_exact_width
