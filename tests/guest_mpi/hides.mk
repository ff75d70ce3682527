# Who hides what under pm_run: the loops of the progress preload's bench.
$(eval $(call script,guest_mpi/hides))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/bench/progress_loops.mpich
endif
