$(eval $(call test,model/time_and_processes))
$(eval $(call test,model/platforms,-O0))
$(eval $(call test,model/portals_matching))
$(eval $(call test,model/portals_edges))
$(eval $(call test,model/many_headers))
$(eval $(call test,model/portals_moves,-O0))
$(eval $(call test,model/portals_rules))
$(eval $(call test,model/portals_extras))
$(eval $(call test,model/portals_ends))
$(eval $(call test,model/portals_corners))
$(eval $(call test,model/portals_oracle))
$(eval $(call test,model/portals_pipelined))
$(eval $(call test,model/edges))
$(eval $(call test,model/packets))
$(eval $(call test,model/constants))
$(eval $(call test,model/out_of_memory,-O0))
$(eval $(call script,model/traces_are_equal)) # builds trace_hash.c itself
NEEDS_model += $(B)/libportals_model.a
$(eval $(call script,model/rules))
$(eval $(call test,model/random_calls))
$(eval $(call test,model/over_threads))
$(eval $(call test,model/levels_agree))
$(eval $(call test,model/link_use))
$(eval $(call test,model/outages))
$(eval $(call test,model/lives))
$(eval $(call test,model/rails))
$(eval $(call test,model/shared_cores))
$(eval $(call test,model/ahead))
$(eval $(call test,model/network))
$(eval $(call test,model/fair))
$(eval $(call test,model/messages,-D_GNU_SOURCE))
$(eval $(call test,model/collectives,-D_GNU_SOURCE))
$(eval $(call test,model/guest_instruction,-D_GNU_SOURCE))

# What existing Portals programs include: one line and the header it names, to be installed together; BXI's library has
# its own names in files of their own, portals_model.h has them all.
$(B)/include/portals4.h: portals_model.h src/guest/pmi.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && cp portals_model.h $(@D)/portals_model.h
	$(Q)cp src/guest/pmi.h $(@D)/pmi.h
	$(Q)printf '/* Portals 4 as portals_model.h simulates it; made by make. */\n#include "portals_model.h"\n' >$(@D)/portals4_bxiext.h
	$(Q)cp $(@D)/portals4_bxiext.h $(@D)/portals4_ext.h && cp $(@D)/portals4_ext.h $@
NEEDS_model += $(B)/include/portals4.h
# With SimGrid, its figures for the same work stand beside ours.
ifeq ($(shell pkg-config --exists simgrid 2>/dev/null && command -v g++),)
$(eval $(call bench,model))
else
$(eval $(call bench,model,-DSIMGRID_PEER='"$(B)/bench/simgrid"'))
$(B)/bench/model: $(B)/bench/simgrid
$(B)/bench/simgrid: tests/bench/simgrid.cpp tests/bench/permutation.h $(B)/.flags
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ -std=gnu++17 $(CFLAGS) $(WARN) $< -o $@ $$(pkg-config --cflags --libs simgrid)
endif
$(eval $(call example,03_simulated_overlap))
# With Verilator, some have a level more
$(eval $(call tool,paper_figures,$$(LEVEL_CFLAGS),$$(LEVEL_LIBS)))
$(eval $(call tool,nic_figures))
# NIC, PCI and wire of one's own machine: the fit, and what measures over MPI RMA and OpenSHMEM
$(eval $(call tool,fit_nic))
$(eval $(call script,model/fit_nic))
NEEDS_model += $(B)/fit_nic
# $(call measures_rma,mpi or mpich or shmem,compiler,flags)
define measures_rma
EXAMPLES += $(B)/fit_nic_$1
NEEDS_model += $(B)/fit_nic_$1
$(call mpi_program,$(B)/fit_nic_$1,tools/fit_nic_rma.c,$2,$3)
endef
$(if $(MPICC_openmpi),$(eval $(call measures_rma,mpi,$(MPICC_openmpi))))
$(if $(MPICC_mpich),$(eval $(call measures_rma,mpich,$(MPICC_mpich))))
ifneq ($(OSHCC),)
$(eval $(call measures_rma,shmem,$(OSHCC),-DNBC_WITH_SHMEM))
endif
$(eval $(call script,model/examples))
ifneq ($(HAVE_EXPAT),)
$(eval $(call tool,simgrid_platform,,$(B)/libportals_model.a $(B)/libnbc_overlap.a $$(shell pkg-config --libs expat)))
$(B)/simgrid_platform: $(B)/libportals_model.a $(B)/libnbc_overlap.a
NEEDS_model += $(B)/simgrid_platform
endif
$(eval $(call script,model/simgrid_platforms)) # builds platform_traffic.c itself
$(eval $(call script,model/nic_figures))
NEEDS_model += $(B)/03_simulated_overlap $(B)/paper_figures $(B)/nic_figures $(B)/bench_nbc
PRINTS_model := model_put_ack model_loggp_2 model_flows_ model_puts_ model_dense_ model_small_flows_ model_allreduce_ model_windows_
