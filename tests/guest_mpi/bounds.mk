# Random programs whose bounds are held against the truth: under pm_run, and by `make fuzz-bounds` on each MPI, too.
$(eval $(call script,guest_mpi/bounds))
.PHONY: fuzz-bounds
# $(call bounds_program,OUTPUT,WRAPPER)
define bounds_program
FUZZ_BOUNDS += $1
$1: tests/guest_mpi/bounds.c tests/mpi/one_clock.h $(B)/.flags
	@mkdir -p $$(@D)
	$$(call mpi_build,$1,$2,tests/guest_mpi/bounds.c,$(TEST_FLAGS) -Wno-conversion)
endef
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/bounds
$(eval $(call bounds_program,$(B)/tests/guest_mpi/bounds,$(MPICC_mpich)))
$(eval $(call bounds_program,$(B)/tests/guest_mpi/bounds.mpich,$(MPICC_mpich)))
FUZZ_BOUNDS += $(B)/libnbc_overlap_mpich.so $(B)/xfer_table_mpich
ifneq ($(MPICC_openmpi),)
$(eval $(call bounds_program,$(B)/tests/guest_mpi/bounds.openmpi,$(MPICC_openmpi)))
FUZZ_BOUNDS += $(B)/libnbc_overlap_mpi.so $(B)/xfer_table_mpi
endif
endif
fuzz-bounds: $(FUZZ_BOUNDS) $(B)/pm_run $(B)/overlap_report ## bounds of random programs held against the truth, under pm_run and on each MPI, for FUZZ_SECONDS (60)
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} TEST_TIMEOUT=86400 sh tests/run.sh tests/guest_mpi/bounds.sh
