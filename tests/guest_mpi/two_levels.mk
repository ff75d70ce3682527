# What two-level collectives are worth on simulated nodes: the program of the bench.
$(eval $(call script,guest_mpi/two_levels))
ifneq ($(MPICC_mpich),)
NEEDS_guest_mpi += $(B)/bench/coll_nodes.mpich $(B)/tests/guest_mpi/levels
tests/bench/coll_nodes.sh: $(B)/bench/coll_nodes.mpich $(B)/pm_run
$(eval $(call mpi_program,$(B)/bench/coll_nodes.mpich,tests/bench/coll_nodes.c,$(MPICC_mpich),,$(B)/libnbc_overlap.mpich.a))
$(eval $(call mpi_program,$(B)/tests/guest_mpi/levels,tests/guest_mpi/levels.c,$(MPICC_mpich),$(TEST_FLAGS)))
endif
