# Collectives on MPI, against the MPI's own results and times.
# $(call coll_mpi,OUTPUT,SOURCE,WRAPPER,FLAGS)
define coll_mpi
$1: $2 $(B)/.flags
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@)
	$$(Q)OMPI_CC='$$(CC)' MPICH_CC='$$(CC)' $3 $$(STD) $$(CFLAGS) $$(WARN) $4 -Wno-stringop-overflow -MMD -MP -MF $$@.d -I. \
	  $$< -o $$@ $$(LDFLAGS) -pthread -lm
-include $1.d
endef
$(foreach m,$(if $(MPICC_OMPI),openmpi) $(if $(MPICC_MPICH),mpich),\
  $(eval EXAMPLES += $(B)/bench_nbc.$m)\
  $(eval NEEDS_mpi += $(B)/tests/mpi/coll_results.$m $(B)/bench_nbc $(B)/bench_nbc.$m)\
  $(eval $(call coll_mpi,$(B)/bench_nbc.$m,examples/bench_nbc.c,mpicc.$m,-DNBC_WITH_MPI))\
  $(eval $(call coll_mpi,$(B)/tests/mpi/coll_results.$m,tests/mpi/coll_results.c,mpicc.$m,$(TEST_FLAGS))))
$(eval $(call script,mpi/coll))
$(foreach m,$(if $(MPICC_OMPI),openmpi) $(if $(MPICC_MPICH),mpich),\
  $(eval bench: $(B)/bench/coll_mpi.$m $(B)/bench_nbc.$m)\
  $(eval $(call coll_mpi,$(B)/bench/coll_mpi.$m,tests/bench/coll_mpi.c,mpicc.$m)))
