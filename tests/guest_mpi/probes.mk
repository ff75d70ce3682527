# Programs of one file, for scripts of their own: looks for messages in loops, memory that is folded, messages before their
# receives, more receives than the NIC has entries, and where their messages go, messages in partitions, under pm_run.
GUEST_MPI_ALONE := probes folded early receives late partitions
$(foreach one,$(GUEST_MPI_ALONE),$(eval $(call script,guest_mpi/$(one))))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/pm_run $(addprefix $(B)/tests/guest_mpi/,$(GUEST_MPI_ALONE))
$(addprefix $(B)/tests/guest_mpi/,$(GUEST_MPI_ALONE)): $(B)/tests/guest_mpi/%: tests/guest_mpi/%.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion -Wno-stringop-overflow $< -o $@ $(LDFLAGS) -pthread
endif
