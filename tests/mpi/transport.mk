# The tests of the MPI transport, once per MPI, and of the OpenSHMEM transport.
# $(call transport_test,NAME,openmpi or mpich,WRAPPER)
define transport_test
NEEDS_mpi += $(B)/tests/mpi/$1.$2
$(B)/tests/mpi/$1.$2: tests/mpi/$1.c $(B)/.flags
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@)
	$$(Q)OMPI_CC='$$(CC)' MPICH_CC='$$(CC)' $3 $$(STD) $$(CFLAGS) $$(WARN) $(TEST_FLAGS) -Wno-stringop-overflow -MMD -MP -MF $$@.d -I. \
	  $$< -o $$@ $$(LDFLAGS) -pthread -lm
-include $(B)/tests/mpi/$1.$2.d
endef
ifneq ($(MPICC_OMPI),)
$(eval $(call transport_test,transport_messages,openmpi,$(MPICC_OMPI)))
endif
ifneq ($(MPICC_MPICH),)
$(eval $(call transport_test,transport_messages,mpich,$(MPICC_MPICH)))
endif
# OpenSHMEM is Open MPI's.
OSHCC := $(call have,oshcc)
ifneq ($(OSHCC),)
NEEDS_mpi += $(B)/tests/mpi/transport_shmem
$(B)/tests/mpi/transport_shmem: tests/mpi/transport_shmem.c $(B)/.flags
	@mkdir -p $(@D)
	$(call say,OSHCC,$@)
	$(Q)OSHMEM_CC='$(CC)' OMPI_CC='$(CC)' $(OSHCC) $(STD) $(CFLAGS) $(WARN) -MMD -MP -MF $@.d -I. $< -o $@ $(LDFLAGS) -pthread -lm
-include $(B)/tests/mpi/transport_shmem.d
endif
$(eval $(call script,mpi/transport))
