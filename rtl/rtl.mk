# The NIC in RTL. Verilator's own passes may run in parallel builds: it gets one make job and -O1, the
# generated code is large. -fno-const-bit-op-tree: 5.006 gets some bit trees wrong without it.
RTL_SOURCES := rtl/nic_pkg.sv $(filter-out rtl/nic_pkg.sv,$(wildcard rtl/nic_*.sv))
VERILATE    := MAKEFLAGS= verilator -Wall -Wno-fatal -O3 -fno-const-bit-op-tree -CFLAGS "-O1 -I$(CURDIR)" \
               --cc -y rtl --build -j 1

ifneq ($(VERILATOR),)
$(B)/tests/rtl/leaf: tests/rtl/leaf.cpp tests/rtl/leaf.sv tests/test.h $(RTL_SOURCES) $(B)/.flags
	$(call say,RTL,$@)
	$(Q)mkdir -p $(@D) $(B)/rtl
	$(Q)$(VERILATE) --exe --Mdir $(B)/rtl/leaf --top-module leaf rtl/nic_pkg.sv tests/rtl/leaf.sv \
	  $(CURDIR)/tests/rtl/leaf.cpp -o $(abspath $@) >$(B)/rtl/leaf.log 2>&1 || { tail -30 $(B)/rtl/leaf.log; exit 1; }
CHECK_rtl += $(B)/tests/rtl/leaf
endif
$(eval $(call script,rtl/generated_and_lint))

# One program, compared with the file it writes
$(B)/rtl/crc_gen: rtl/crc_gen.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) $< -o $@
NEEDS_rtl += $(B)/rtl/crc_gen
