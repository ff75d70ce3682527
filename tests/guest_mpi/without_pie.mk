# Programs linked to a fixed address: this set and that of Open MPI once more, and what else programs do with their variables.
$(eval $(call script,guest_mpi/without_pie))
FIXED := -no-pie -fno-pie -fno-pic
ifneq ($(GUEST_MPI_SET),)
NEEDS_guest_mpi += $(GUEST_MPI_SET)_fixed $(B)/tests/guest_mpi/without_pie
$(GUEST_MPI_SET)_fixed: $(GUEST_MPI_FILES) tests/guest_mpi/say.h $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) -O0 -w $(FIXED) $(GUEST_MPI_FILES) -o $@ $(LDFLAGS) -lmpichfort
$(B)/tests/guest_mpi/without_pie: tests/guest_mpi/without_pie.cc $(B)/.flags
	$(call say,MPICXX,$@)
	$(Q)$(CXX) -O1 -w $(FIXED) -I$(MPICH_INCLUDE) $< -o $@ $(LDFLAGS) -lmpich -pthread -ldl
endif
ifneq ($(OPENMPI_SET),)
NEEDS_guest_mpi += $(OPENMPI_SET)_fixed
$(OPENMPI_SET)_fixed: $(OPENMPI_FILES) tests/guest_mpi/say.h tests/guest_mpi/openmpi.h $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)OMPI_CC='$(CC)' $(MPICC_openmpi) $(STD) -O0 -w $(FIXED) -include tests/guest_mpi/openmpi.h $(OPENMPI_FILES) -o $@ $(LDFLAGS)
endif
