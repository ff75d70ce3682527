# The time-stamp counter under pm_run.
$(eval $(call script,guest_mpi/counter))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h),$(filter x86_64,$(shell $(CC) -dumpmachine | cut -d- -f1))),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/counter
$(B)/tests/guest_mpi/counter: tests/guest_mpi/counter.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion $< -o $@ $(LDFLAGS) -pthread
endif
