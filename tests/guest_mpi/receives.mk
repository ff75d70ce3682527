$(eval $(call script,guest_mpi/receives))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/receives $(B)/pm_run
$(B)/tests/guest_mpi/receives: tests/guest_mpi/receives.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion -Wno-stringop-overflow $< -o $@ $(LDFLAGS)
endif
