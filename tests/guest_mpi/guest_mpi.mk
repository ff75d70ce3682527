# MPI inside the simulated machine: one program, run by MPICH and by pm_run.
$(eval $(call script,guest_mpi/semantics))
ifneq ($(and $(MPICC_MPICH),$(wildcard /usr/include/*/mpich/mpi.h)),)
GUEST_MPI_SET := $(B)/tests/guest_mpi/all
NEEDS_guest_mpi = $(B)/pm_run $(GUEST_MPI_SET)
GUEST_MPI_FILES := $(addprefix tests/guest_mpi/,$(addsuffix .c,all messages types collectives communicators environment windows files))
$(GUEST_MPI_SET): $(GUEST_MPI_FILES) tests/guest_mpi/say.h $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' mpicc.mpich $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion -Wno-stringop-overflow -Wno-stringop-overread $(GUEST_MPI_FILES) -o $@ $(LDFLAGS)
endif
