# The MPI transport's tests, once per MPI.
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
$(eval $(call script,mpi/transport))
