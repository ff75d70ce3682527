$(eval $(call script,guest_mpi/partitions))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/partitions $(B)/pm_run
$(B)/tests/guest_mpi/partitions: tests/guest_mpi/partitions.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion $< -o $@ $(LDFLAGS) -pthread
endif
