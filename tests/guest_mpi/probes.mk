# Looks for messages in loops, memory that is folded, messages before their receives, under pm_run.
$(eval $(call script,guest_mpi/probes))
$(eval $(call script,guest_mpi/folded))
$(eval $(call script,guest_mpi/early))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/probes $(B)/tests/guest_mpi/folded $(B)/tests/guest_mpi/early
$(B)/tests/guest_mpi/probes $(B)/tests/guest_mpi/folded $(B)/tests/guest_mpi/early: $(B)/tests/guest_mpi/%: tests/guest_mpi/%.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion $< -o $@ $(LDFLAGS)
endif
