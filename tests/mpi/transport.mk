# The tests of the MPI transport, once per MPI, and of the OpenSHMEM transport, which is Open MPI's.
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),$(foreach t,transport_messages create_fails,\
  $(eval NEEDS_mpi += $(B)/tests/mpi/$t.$m)\
  $(eval $(call mpi_program,$(B)/tests/mpi/$t.$m,tests/mpi/$t.c,$(MPICC_$m),$(QUICK_FLAGS) $(PATIENT_$m),$(B)/libnbc_overlap.$m.a))))
ifneq ($(OSHCC),)
NEEDS_mpi += $(B)/tests/mpi/transport_shmem
$(eval $(call mpi_program,$(B)/tests/mpi/transport_shmem,tests/mpi/transport_shmem.c,$(OSHCC),$(QUICK_FLAGS),$(B)/libnbc_overlap.shmem.a))
endif
$(eval $(call script,mpi/transport))
