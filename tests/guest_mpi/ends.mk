# How a run ends when one of its processes does not end as it should.
$(eval $(call script,guest_mpi/ends))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/ends
$(B)/tests/guest_mpi/ends: tests/guest_mpi/ends.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) $< -o $@ $(LDFLAGS)
ifneq ($(call have,mpif90.mpich),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/ends90
$(B)/tests/guest_mpi/ends90: tests/guest_mpi/ends90.f90 $(B)/.flags
	$(call say,MPIF90,$@)
	$(Q)mkdir -p $(@D)
	$(Q)mpif90.mpich -O1 -w $< -o $@
endif
endif
