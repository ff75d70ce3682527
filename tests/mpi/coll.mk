# Collectives on MPI, against the MPI's own results and times.
# MPICH's ranks sleep where they would spin.
PATIENT_mpich := -include tests/mpi/patient.h
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),\
  $(eval EXAMPLES += $(B)/bench_nbc.$m)\
  $(eval NEEDS_mpi += $(B)/tests/mpi/coll_results.$m $(B)/tests/mpi/coll_two_transports.$m $(B)/tests/mpi/coll_mixed.$m $(B)/bench_nbc $(B)/bench_nbc.$m)\
  $(eval $(call mpi_program,$(B)/bench_nbc.$m,tools/bench_nbc.c,$(MPICC_$m),-DNBC_WITH_MPI,$(B)/libnbc_overlap.$m.a))\
  $(foreach t,coll_results coll_two_transports coll_mixed,\
    $(eval $(call mpi_program,$(B)/tests/mpi/$t.$m,tests/mpi/$t.c,$(MPICC_$m),$(QUICK_FLAGS) $(PATIENT_$m),$(B)/libnbc_overlap.$m.a))))
$(eval $(call script,mpi/coll))
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),\
  $(eval tests/bench/coll_mpi.sh: $(B)/bench/coll_mpi.$m $(B)/bench_nbc.$m)\
  $(eval $(call mpi_program,$(B)/bench/coll_mpi.$m,tests/bench/coll_mpi.c,$(MPICC_$m))))
