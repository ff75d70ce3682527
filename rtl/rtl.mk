# The NIC in RTL. A parallel make gives the generated code one job.
# -fno-const-bit-op-tree: Verilator 5.006 gets some bit trees wrong without it.
RTL_SOURCES := rtl/nic_pkg.sv $(filter-out rtl/nic_pkg.sv,$(wildcard rtl/nic_*.sv))
RTL_OPT     ?= -O2
# Where every store may change every signal, g++ spends more than half of its time on asking which; the model runs as fast without.
RTL_QUICK   := $(if $(VERILATOR),$(shell f='-fno-tree-pre -fno-code-hoisting -fno-gcse --param sccvn-max-alias-queries-per-access=50 --param dse-max-alias-queries-per-store=16'; \
                 g++ -Werror $$f -x c++ -fsyntax-only /dev/null 2>/dev/null && echo $$f))
# $(call verilate,FOLDER,PREFIX), then more options and the sources. Objects that are there from before would be linked too.
VERILATE    := -Wall -O3 -fno-const-bit-op-tree --cc -y rtl
verilate     = rm -f $1/*.o && MAKEFLAGS= $(VERILATOR) $(VERILATE) -CFLAGS "-I$(CURDIR)" --Mdir $1 --prefix $2 \
               -MAKEFLAGS "-f $(CURDIR)/rtl/two_files.mk VM_PARALLEL_BUILDS=1 VM_FAST=$2__fast VM_SLOW=$2__slow" \
               -MAKEFLAGS "OPT_FAST='$(RTL_OPT) $(RTL_QUICK)' OPT_GLOBAL=$(RTL_OPT) OPT_SLOW=-O0" --build -j 1
# COVER=1, by make coverage-rtl: the models of tests count lines and bits, as rtl/coverage.h says. This takes twice the time
# to compile and run. Memories deeper than 8 are left out.
ifdef COVER
COVERED       := --coverage-line --trace --no-trace-params --trace-max-width 4096 --trace-max-array 8 --output-split 1000000
COVERED_FLAGS := -DNIC_COVERED -DVM_COVERAGE=1 -DVM_TRACE=1
export NIC_COVERAGE = $(B)/rtl/coverage
endif
VERILATOR_INCLUDE := $(if $(VERILATOR),$(shell $(VERILATOR) --getenv VERILATOR_ROOT)/include)
VERILATOR_FLAGS   := -std=c++17 -I. -isystem $(VERILATOR_INCLUDE) -isystem $(VERILATOR_INCLUDE)/vltstd
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
# Verilator's own sources, compiled once for all models
VERILATED := $(B)/rtl/libverilated.a
$(VERILATED): $(B)/.flags
	$(call say,CXX,$@)
	$(Q)mkdir -p $(B)/rtl/verilated && cd $(B)/rtl/verilated && for f in verilated verilated_threads $(if $(COVER),verilated_cov) verilated_vcd_c verilated_fst_c; do \
	  g++ $(VERILATOR_FLAGS) -O1 -DVM_COVERAGE=$(if $(COVER),1,0) -DVM_TRACE=1 -c $(VERILATOR_INCLUDE)/$$f.cpp || exit 1; done
	$(Q)rm -f $@ && ar rcs $@ $(B)/rtl/verilated/*.o
# $(call module_test,NAME,TOP,FILES,further needs,flags of Verilator): modules without the rest, driven by tests/rtl/NAME.cpp.
# Model and test are compiled as one file: each would read Verilator's headers for a second.
define module_test
$(B)/tests/rtl/$1: tests/rtl/$1.cpp tests/test.h rtl/nic_cosim.h $3 $4 $(VERILATED) $(B)/.flags
	$$(call say,RTL,$$@)
	$$(Q)mkdir -p $$(@D) && rm -rf $(B)/rtl/$1
	$$(Q)$(VERILATOR) $(VERILATE) --Mdir $(B)/rtl/$1 --prefix V$2 $5 --top-module $2 $3 >$(B)/rtl/$1.log 2>&1 || { tail -30 $(B)/rtl/$1.log; exit 1; }
	$$(Q)cd $(B)/rtl/$1 && for f in *.cpp; do echo "#include \"$$$$f\""; done >V$2_all.h
	$$(Q)g++ $(VERILATOR_FLAGS) -O1 -Wall $(COVERED_FLAGS) $(RTL_QUICK) -isystem $(B)/rtl/$1 -include V$2_all.h $$< -o $$@ $(VERILATED) -lz -pthread
CHECK_rtl += $(B)/tests/rtl/$1
endef
$(eval $(call module_test,leaf,leaf,rtl/nic_pkg.sv tests/rtl/leaf.sv,rtl/coverage.h $(RTL_SOURCES),$(COVERED)))
# Counters and triggers, with few triggers
$(eval $(call module_test,ct,nic_ct,rtl/nic_pkg.sv rtl/nic_ct.sv,$(RTL_SOURCES),--assert -GTriggers=32))
# Arithmetic of atomics
$(eval $(call module_test,floats,nic_line,rtl/nic_line.sv,rtl/nic_alu.sv rtl/nic_falu.sv rtl/nic_float.sv,--assert))
# A link between two clocks
$(eval $(call module_test,crossing,crossing,rtl/nic_pkg.sv tests/rtl/crossing.sv,\
  $(addprefix rtl/nic_,$(addsuffix .sv,cross cross_pulses reset_sync link_rx link_tx queue arbiter credit crc)),--assert))
# The link behind an Ethernet MAC, with three clocks: nic_top_mac with the pins of its NIC, which is outside
NIC_PINS    := $(B)/rtl/pins/nic_top.sv
MAC_SOURCES := $(addprefix rtl/nic_,$(addsuffix .sv,top_mac mac mac_tx mac_rx mac_times cycles cross cross_pulses fifo reset_sync))
MAC_FLAGS   := -Wno-UNUSED -Wno-UNDRIVEN -Wno-PINMISSING
$(NIC_PINS): rtl/nic_top.sv
	$(Q)mkdir -p $(@D)
	$(Q){ sed '/^);/q' $< && echo endmodule; } >$@
$(eval $(call module_test,mac,mac,rtl/nic_pkg.sv $(NIC_PINS) tests/rtl/mac.sv,$(MAC_SOURCES),--assert $(MAC_FLAGS)))
# A switch, a small one: its queues are full soon. Its ports are alike: -O3 would put each into the top module, or, by the
# optimisation of gates, make each one different, and g++ then sees twice as much, or five times.
SWITCH_SOURCES := $(addprefix rtl/nic_,$(addsuffix .sv,pkg switch switch_port xbar arbiter link_rx link_tx queue credit crc))
SWITCH_FLAGS   := --inline-mult 2000 -fno-gate
SWITCH_SMALL   := $(SWITCH_FLAGS) -GRadix=4 -GDepth=16 -GCredits=16
$(eval $(call module_test,switch,nic_switch,rtl/nic_pkg.sv rtl/nic_switch.sv,rtl/coverage.h $(SWITCH_SOURCES),$(COVERED) --assert $(SWITCH_SMALL)))

# The NIC and its C API as one library: link with $(NIC_LIBS). A second model in it can save waveforms.
WAVES    := --trace --no-trace-params --trace-max-width 4096 --trace-max-array 8
COSIM_SOURCES := rtl/nic_cosim.cpp rtl/nic_cosim.h rtl/nic_cosim_waves.h
NIC_LIB  := $(B)/rtl/libnic_cosim.a
NIC_LIBS := $(NIC_LIB) -lstdc++ -lz
$(B)/rtl/nic/Vnic_top__ALL.a: $(RTL_SOURCES) $(B)/.flags
	$(call say,RTL,$@)
	$(Q)mkdir -p $(B)/rtl
	$(Q)$(call verilate,$(B)/rtl/nic,Vnic_top) --top-module nic_top rtl/nic_pkg.sv rtl/nic_top.sv \
	  >$(B)/rtl/nic.log 2>&1 || { tail -30 $(B)/rtl/nic.log; exit 1; }
# The one with waveforms watches both buses for what AXI forbids, too.
RTL_CHECKERS := rtl/axi4_check.sv rtl/axil_check.sv rtl/axi_watch.sv
$(B)/rtl/wave/Vnic_wave__ALL.a: RTL_OPT := -O1
$(B)/rtl/wave/Vnic_wave__ALL.a: $(RTL_SOURCES) $(RTL_CHECKERS) $(B)/.flags
	$(call say,RTL,$@)
	$(Q)mkdir -p $(B)/rtl
	$(Q)$(call verilate,$(B)/rtl/wave,Vnic_wave) $(WAVES) $(COVERED) --assert --top-module nic_top rtl/nic_pkg.sv rtl/nic_top.sv $(RTL_CHECKERS) \
	  >$(B)/rtl/wave.log 2>&1 || { tail -30 $(B)/rtl/wave.log; exit 1; }
# The switches between them
$(B)/rtl/switched/Vnic_switch__ALL.a: $(SWITCH_SOURCES) $(B)/.flags
	$(call say,RTL,$@)
	$(Q)mkdir -p $(B)/rtl
	$(Q)$(call verilate,$(B)/rtl/switched,Vnic_switch) $(SWITCH_FLAGS) --top-module nic_switch rtl/nic_pkg.sv rtl/nic_switch.sv \
	  >$(B)/rtl/switched.log 2>&1 || { tail -30 $(B)/rtl/switched.log; exit 1; }
$(NIC_LIB): $(B)/rtl/nic/Vnic_top__ALL.a $(B)/rtl/wave/Vnic_wave__ALL.a $(B)/rtl/switched/Vnic_switch__ALL.a $(VERILATED) $(COSIM_SOURCES)
	$(call say,CXX,$@)
	$(Q)g++ $(VERILATOR_FLAGS) -O2 -Wall -Wextra -DCOSIM_TRACE -DCOSIM_TWO_MODELS -DCOSIM_SWITCHES -DVM_TRACE=1 -I$(B)/rtl/nic -I$(B)/rtl/wave -I$(B)/rtl/switched \
	  -c rtl/nic_cosim.cpp -o $(B)/rtl/nic_cosim.o
	$(Q)rm -f $@ && ar rcs $@ $(B)/rtl/nic/Vnic_top*.o $(B)/rtl/wave/Vnic_wave*.o $(B)/rtl/switched/Vnic_switch*.o $(B)/rtl/nic_cosim.o $(B)/rtl/verilated/*.o

$(eval $(call tool,exact_overlap,,$(NIC_LIBS)))
$(B)/exact_overlap: $(NIC_LIB)
$(eval $(call tool,level_compare,-D_GNU_SOURCE,$(NIC_LIBS)))
$(B)/level_compare: $(NIC_LIB)
$(eval $(call script,rtl/exact_overlap))
$(eval $(call script,rtl/level_compare))
$(eval $(call script,rtl/waves))
# The figures get a curve more, pm_run a level
LEVEL_CFLAGS := -DWITH_RTL
LEVEL_LIBS   := $(NIC_LIBS)
$(B)/paper_figures $(B)/pm_run: $(NIC_LIB)
NEEDS_rtl += $(B)/exact_overlap $(B)/level_compare $(B)/paper_figures $(B)/pm_run $(B)/tests/model/guest_ring.so
$(eval $(call test,rtl/rates,,$(NIC_LIBS)))
$(B)/tests/rtl/rates: $(NIC_LIB)
# The rules of Portals, on NICs in RTL: what the model's tests say of its own level holds there too.
RULES_ON_RTL := portals_matching portals_edges portals_moves portals_rules portals_corners portals_oracle
$(foreach t,$(RULES_ON_RTL),$(eval $(call program,$(B)/tests/rtl/on_$t,tests/model/$t.c,$(TEST_FLAGS) $(if $(filter portals_moves,$t),-O0) -DON_RTL,$(NIC_LIBS),,$(B)/libnbc_overlap.a)))
$(addprefix $(B)/tests/rtl/on_,$(RULES_ON_RTL)): $(NIC_LIB)
CHECK_rtl += $(addprefix $(B)/tests/rtl/on_,$(RULES_ON_RTL))
.PHONY: fuzz-rtl
fuzz-rtl: $(B)/tests/rtl/on_portals_oracle ## random Portals calls on NICs in RTL beside an interpreter of the specification, new seeds for FUZZ_SECONDS (60)
	@end=$$(( $$(date +%s) + $${FUZZ_SECONDS:-60} )); while [ $$(date +%s) -lt $$end ]; do $< || exit 1; done
$(eval $(call test,rtl/levels_agree,,$(NIC_LIBS)))
$(B)/tests/rtl/levels_agree: $(NIC_LIB)
$(eval $(call test,rtl/switched,,$(NIC_LIBS)))
$(B)/tests/rtl/switched: $(NIC_LIB)
$(eval $(call test,rtl/triggered,,$(NIC_LIBS)))
$(B)/tests/rtl/triggered: $(NIC_LIB)

# The NIC as a PCI device of a machine that QEMU emulates
$(eval $(call program,$(B)/nic_qemu,rtl/qemu/nic_qemu.c,-D_GNU_SOURCE,rtl/qemu/nic_pci.c $(NIC_LIBS)))
$(eval $(call test,rtl/pci_device,-O0 -D_GNU_SOURCE,rtl/qemu/nic_pci.c $(NIC_LIBS)))
$(B)/nic_qemu $(B)/tests/rtl/pci_device: rtl/qemu/nic_pci.c rtl/qemu/nic_pci.h $(NIC_LIB)
NEEDS_rtl += $(B)/nic_qemu

# For tests: the model that saves waveforms alone, and the MAC, whose model comes with its test
NIC_WATCHED := $(B)/rtl/watched/libnic_cosim.a
$(NIC_WATCHED): $(B)/rtl/wave/Vnic_wave__ALL.a $(B)/tests/rtl/mac $(VERILATED) $(COSIM_SOURCES) rtl/coverage.h
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ $(VERILATOR_FLAGS) -O1 -Wall -Wextra -DCOSIM_WATCHED -DCOSIM_MAC $(COVERED_FLAGS) -I$(B)/rtl/wave -isystem $(B)/rtl/mac -include Vmac_all.h \
	  -c rtl/nic_cosim.cpp -o $(@D)/nic_cosim.o
	$(Q)cp $< $@ && ar rs $@ $(@D)/nic_cosim.o $(B)/rtl/verilated/*.o 2>/dev/null
WATCHED_TESTS := two_nics faults_lose_nothing hostile_input hard_cases restarts lists headers triggers small_print many_elements
$(foreach t,$(WATCHED_TESTS),$(eval $(call test,rtl/$t,,$(NIC_WATCHED) -lstdc++))$(eval $(B)/tests/rtl/$t: $(NIC_WATCHED)))
COVERING_TESTS := $(addprefix $(B)/tests/rtl/,leaf switch $(WATCHED_TESTS))
.PHONY: coverage-rtl covering-rtl
coverage-rtl: ## which lines and bits of the RTL the tests reach, a table per module; six minutes of CPU time
	@$(MAKE) --no-print-directory B=$(B)/covered COVER=1 covering-rtl
covering-rtl: $(COVERING_TESTS)
	@rm -rf $(NIC_COVERAGE) && mkdir $(NIC_COVERAGE)
	@sh tests/run.sh $(COVERING_TESTS) tests/rtl/coverage.sh

# The same with all changes of tests/rtl/mutants in it, each switched on at run time; made by mutate.sh
MUTATED := $(B)/rtl/mutated
MUTATE   = MAKEFLAGS= $(VERILATOR) -O3 -Wno-lint -Wno-fatal -fno-const-bit-op-tree --assert -CFLAGS "-I$(CURDIR) -DNIC_MUTANTS" \
           -MAKEFLAGS "OPT_FAST=-O1 OPT_GLOBAL=-O1 OPT_SLOW=-O0" --cc -y $(MUTATED) --build -j 1
.PHONY: mutate-rtl mutated-rtl
mutate-rtl: ## one line of the RTL is made wrong, a test must notice; RTL_MUTANTS="3 17": these only. Many minutes
	@B=$(B) sh tests/rtl/mutate.sh
mutated-rtl: $(addprefix $(MUTATED)/,leaf switch ct floats mac $(WATCHED_TESTS))
$(MUTATED)/ct: $(wildcard $(MUTATED)/*.sv) tests/rtl/ct.cpp
	$(Q)$(MUTATE) --exe --Mdir $(MUTATED)/ct.dir --top-module nic_ct -GTriggers=32 $(MUTATED)/nic_pkg.sv $(MUTATED)/nic_ct.sv \
	  $(CURDIR)/tests/rtl/ct.cpp -o $(abspath $@) >$(MUTATED)/ct.log 2>&1 || { tail -30 $(MUTATED)/ct.log; exit 1; }
$(MUTATED)/floats: $(wildcard $(MUTATED)/*.sv) tests/rtl/floats.cpp
	$(Q)$(MUTATE) --exe --Mdir $(MUTATED)/floats.dir --top-module nic_line $(MUTATED)/nic_pkg.sv $(MUTATED)/nic_line.sv \
	  $(CURDIR)/tests/rtl/floats.cpp -o $(abspath $@) >$(MUTATED)/floats.log 2>&1 || { tail -30 $(MUTATED)/floats.log; exit 1; }
$(MUTATED)/mac: $(wildcard $(MUTATED)/*.sv) $(NIC_PINS) tests/rtl/mac.sv tests/rtl/mac.cpp
	$(Q)$(MUTATE) --exe --Mdir $(MUTATED)/mac.dir --top-module mac $(MUTATED)/nic_pkg.sv $(NIC_PINS) tests/rtl/mac.sv \
	  $(CURDIR)/tests/rtl/mac.cpp -o $(abspath $@) >$(MUTATED)/mac.log 2>&1 || { tail -30 $(MUTATED)/mac.log; exit 1; }
$(MUTATED)/leaf: $(wildcard $(MUTATED)/*.sv) tests/rtl/leaf.cpp
	$(Q)$(MUTATE) --exe --Mdir $(MUTATED)/leaf.dir --top-module leaf \
	  $(MUTATED)/nic_pkg.sv $(MUTATED)/leaf.sv $(CURDIR)/tests/rtl/leaf.cpp -o $(abspath $@) >$(MUTATED)/leaf.log 2>&1 || { tail -30 $(MUTATED)/leaf.log; exit 1; }
$(MUTATED)/switch: $(wildcard $(MUTATED)/*.sv) tests/rtl/switch.cpp
	$(Q)$(MUTATE) $(SWITCH_SMALL) --exe --Mdir $(MUTATED)/switch.dir \
	  --top-module nic_switch $(MUTATED)/nic_pkg.sv $(MUTATED)/nic_switch.sv $(CURDIR)/tests/rtl/switch.cpp -o $(abspath $@) >$(MUTATED)/switch.log 2>&1 || { tail -30 $(MUTATED)/switch.log; exit 1; }
$(MUTATED)/libnic.a: $(wildcard $(MUTATED)/*.sv) $(MUTATED)/mac $(RTL_CHECKERS) $(VERILATED) $(COSIM_SOURCES)
	$(Q)$(MUTATE) --Mdir $(MUTATED)/nic --top-module nic_top $(MUTATED)/nic_pkg.sv $(MUTATED)/nic_top.sv $(RTL_CHECKERS) \
	  >$(MUTATED)/nic.log 2>&1 || { tail -30 $(MUTATED)/nic.log; exit 1; }
	$(Q)g++ $(VERILATOR_FLAGS) -O1 -DNIC_MUTANTS -DCOSIM_MAC -I$(MUTATED)/nic -I$(MUTATED)/mac.dir -c rtl/nic_cosim.cpp -o $(MUTATED)/nic_cosim.o
	$(Q)cp $(MUTATED)/nic/Vnic_top__ALL.a $@ && ar rs $@ $(MUTATED)/nic_cosim.o $(MUTATED)/mac.dir/Vmac__ALL.o $(B)/rtl/verilated/*.o 2>/dev/null
$(addprefix $(MUTATED)/,$(WATCHED_TESTS)): $(MUTATED)/%: tests/rtl/%.c tests/rtl/cosim.h $(MUTATED)/libnic.a
	$(Q)$(CC) $(STD) -O1 -I. $< -o $@ $(MUTATED)/libnic.a -lstdc++ -pthread -lm

# Waveforms of both kinds
$(B)/tests/rtl/waveform: tests/rtl/waveform.cpp tests/rtl/cosim.h tests/test.h rtl/nic_cosim.h $(NIC_LIB)
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ $(VERILATOR_FLAGS) -O1 -Wall $< -o $@ $(NIC_LIBS) -pthread
CHECK_rtl += $(B)/tests/rtl/waveform

# Benches
$(B)/bench/rtl: tests/bench/rtl.cpp tests/bench/bench.h rtl/nic_cosim.h $(NIC_LIB)
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ $(VERILATOR_FLAGS) -O2 -Wall -I$(B)/rtl/nic $< -o $@ $(NIC_LIB) -lz
BENCHES += $(B)/bench/rtl tests/bench/exact_width.sh
PRINTS_rtl         := rtl_cycles_per_s_ rtl_put_per_s
PRINTS_exact_width := exact_width
tests/bench/exact_width.sh: $(B)/exact_overlap ;
endif

# Those that a small FPGA holds and that are placed in a minute; PLACE="alu link_tx counters": others, which take long
RTL_PLACED := fifo queue arbiter clock credit axil rx_window
PLACE      ?= $(RTL_PLACED)
.PHONY: synth
synth: ## yosys: resources and longest paths of the NIC on a Xilinx 7 series, about ten minutes; nextpnr: clock rates of PLACE="MODULE..." on an iCE40
	@echo "synthesis of the whole NIC: about ten minutes of CPU time; beside it, seconds each (PLACE=alu: three minutes), placed: $(PLACE)"
	@sh rtl/synth.sh $(PLACE)
.PHONY: prove-rtl
prove-rtl: ## proofs for runs of any length: what make check proves, triggers, lists, the whole window, and by an SMT solver
	@SMT=1 sh tests/rtl/proofs.sh
LINT_NEEDS += lint-rtl
.PHONY: lint-rtl
lint-rtl: $(B)/rtl/crc_gen
	@sh tests/rtl/generated_and_lint.sh
