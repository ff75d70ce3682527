# The NIC in RTL. A parallel make gives the generated code one job.
# -fno-const-bit-op-tree: Verilator 5.006 gets some bit trees wrong without it.
RTL_SOURCES := rtl/nic_pkg.sv $(filter-out rtl/nic_pkg.sv,$(wildcard rtl/nic_*.sv))
RTL_OPT     ?= -O2
VERILATE     = MAKEFLAGS= verilator -Wall -O3 -fno-const-bit-op-tree -CFLAGS "$(RTL_OPT) -I$(CURDIR)" \
               --cc -y rtl --build -j 1
VERILATOR_INCLUDE := $(if $(VERILATOR),$(shell verilator --getenv VERILATOR_ROOT)/include)
$(eval $(call script,rtl/generated_and_lint))
$(eval $(call script,rtl/register_map))
$(eval $(call script,rtl/proofs))

# One program, compared with the file it writes
$(B)/rtl/crc_gen: rtl/crc_gen.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) $< -o $@
NEEDS_rtl += $(B)/rtl/crc_gen

ifneq ($(VERILATOR),)
# All leaf modules alone
$(B)/tests/rtl/leaf: tests/rtl/leaf.cpp tests/rtl/leaf.sv tests/test.h $(RTL_SOURCES) $(B)/.flags
	$(call say,RTL,$@)
	$(Q)mkdir -p $(@D) $(B)/rtl
	$(Q)$(VERILATE) --exe --Mdir $(B)/rtl/leaf --top-module leaf rtl/nic_pkg.sv tests/rtl/leaf.sv \
	  $(CURDIR)/tests/rtl/leaf.cpp -o $(abspath $@) >$(B)/rtl/leaf.log 2>&1 || { tail -30 $(B)/rtl/leaf.log; exit 1; }
CHECK_rtl += $(B)/tests/rtl/leaf

# The NIC and its C API as one library: link with $(NIC_LIBS)
NIC_LIB  := $(B)/rtl/libnic_cosim.a
NIC_LIBS := $(NIC_LIB) -lstdc++
$(B)/rtl/nic/Vnic_top__ALL.a: $(RTL_SOURCES) $(B)/.flags
	$(call say,RTL,$@)
	$(Q)mkdir -p $(B)/rtl
	$(Q)$(VERILATE) --Mdir $(B)/rtl/nic --top-module nic_top rtl/nic_pkg.sv rtl/nic_top.sv \
	  >$(B)/rtl/nic.log 2>&1 || { tail -30 $(B)/rtl/nic.log; exit 1; }
$(NIC_LIB): $(B)/rtl/nic/Vnic_top__ALL.a rtl/nic_cosim.cpp rtl/nic_cosim.h
	$(call say,CXX,$@)
	$(Q)for f in verilated verilated_threads; do \
	  g++ -std=c++17 $(RTL_OPT) -I$(VERILATOR_INCLUDE) -I$(VERILATOR_INCLUDE)/vltstd \
	    -c $(VERILATOR_INCLUDE)/$$f.cpp -o $(B)/rtl/$$f.o || exit 1; done
	$(Q)g++ -std=c++17 -O2 -Wall -Wextra -I$(B)/rtl/nic -isystem $(VERILATOR_INCLUDE) \
	  -isystem $(VERILATOR_INCLUDE)/vltstd -c rtl/nic_cosim.cpp -o $(B)/rtl/nic_cosim.o
	$(Q)cp $< $@ && ar rs $@ $(B)/rtl/nic_cosim.o $(B)/rtl/verilated.o $(B)/rtl/verilated_threads.o 2>/dev/null

$(eval $(call example,exact_overlap,,$(NIC_LIBS)))
$(B)/exact_overlap: $(NIC_LIB)
$(eval $(call script,rtl/exact_overlap))
NEEDS_rtl += $(B)/exact_overlap
$(foreach t,two_nics faults_lose_nothing hostile_input levels_agree,$(eval $(call test,rtl/$t,,$(NIC_LIBS)))$(eval $(B)/tests/rtl/$t: $(NIC_LIB)))

# The same with waveforms and coverage, 20 times slower: built for `make coverage-rtl` only
NIC_FULL := $(B)/rtl/full/libnic_cosim.a
$(NIC_FULL): RTL_OPT := -O1
$(NIC_FULL): $(RTL_SOURCES) rtl/nic_cosim.cpp rtl/nic_cosim.h $(B)/.flags
	$(call say,RTL,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(VERILATE) --trace-fst --coverage-line --coverage-toggle --Mdir $(@D) --top-module nic_top \
	  rtl/nic_pkg.sv rtl/nic_top.sv >$(B)/rtl/full.log 2>&1 || { tail -30 $(B)/rtl/full.log; exit 1; }
	$(Q)for f in verilated verilated_threads verilated_cov verilated_fst_c; do \
	  g++ -std=c++17 -O1 -I$(VERILATOR_INCLUDE) -I$(VERILATOR_INCLUDE)/vltstd -DVM_COVERAGE=1 -DVM_TRACE=1 -DVM_TRACE_FST=1 \
	    -c $(VERILATOR_INCLUDE)/$$f.cpp -o $(@D)/$$f.o || exit 1; done
	$(Q)g++ -std=c++17 -O2 -Wall -Wextra -DCOSIM_TRACE -DCOSIM_COVERAGE -DVM_COVERAGE=1 -DVM_TRACE=1 -DVM_TRACE_FST=1 \
	  -I$(@D) -isystem $(VERILATOR_INCLUDE) -isystem $(VERILATOR_INCLUDE)/vltstd -c rtl/nic_cosim.cpp -o $(@D)/nic_cosim.o
	$(Q)cp $(@D)/Vnic_top__ALL.a $@ && ar rs $@ $(@D)/nic_cosim.o $(@D)/verilated*.o 2>/dev/null
NIC_COVERED := two_nics faults_lose_nothing hostile_input waveform
$(foreach t,$(NIC_COVERED),$(eval $(call program,$(B)/rtl/full/$t,tests/rtl/$t.c,,$(NIC_FULL) -lstdc++ -lz))$(eval $(B)/rtl/full/$t: $(NIC_FULL)))
.PHONY: coverage-rtl
coverage-rtl: $(NIC_COVERED:%=$(B)/rtl/full/%) ## line and toggle coverage of the NIC by its tests; waveform test
	@sh rtl/coverage.sh $^

# Benches
$(B)/bench/rtl: tests/bench/rtl.cpp tests/bench/bench.h rtl/nic_cosim.h $(NIC_LIB)
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ -std=c++17 -O2 -Wall -I. -I$(B)/rtl/nic -isystem $(VERILATOR_INCLUDE) \
	  -isystem $(VERILATOR_INCLUDE)/vltstd $< -o $@ $(NIC_LIB)
BENCHES += $(B)/bench/rtl tests/bench/exact_width.sh
tests/bench/exact_width.sh: $(B)/exact_overlap ;
endif

# What a FPGA would need, for the modules that yosys 0.23 reads: it knows no package imports
RTL_SYNTH := fifo arbiter clock crc credit tx_window rx_window alu axil dma_rd dma_wr rd_stream wr_stream
.PHONY: synth
synth: ## yosys: resources of the NIC's modules on a Xilinx 7 series FPGA
	@sh rtl/synth.sh $(RTL_SYNTH)
LINT_NEEDS += lint-rtl
.PHONY: lint-rtl
lint-rtl: $(B)/rtl/crc_gen
	@sh tests/rtl/generated_and_lint.sh
