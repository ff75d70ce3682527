# Programs made by Open MPI's compilers under pm_run.
$(eval $(call script,guest_mpi/openmpi))
OPENMPI_HEADER := $(wildcard /usr/lib/*/openmpi/include/mpi.h)
ifneq ($(and $(MPICC_openmpi),$(OPENMPI_HEADER),$(wildcard /usr/include/*/mpich/mpi.h)),)
OPENMPI_SET := $(B)/tests/guest_mpi/all_openmpi
NEEDS_guest_mpi += $(OPENMPI_SET) $(B)/tests/guest_mpi/openmpi_constants $(B)/tests/guest_mpi/libtool_openmpi.so $(B)/libnbc_overlap_mpi.so
OPENMPI_FILES := $(addprefix tests/guest_mpi/,$(addsuffix .c,all messages types collectives communicators environment windows files rest survivors))
$(OPENMPI_SET): $(OPENMPI_FILES) tests/guest_mpi/say.h tests/guest_mpi/openmpi.h $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)OMPI_CC='$(CC)' $(MPICC_openmpi) $(STD) $(QUICK_FLAGS) -w -include tests/guest_mpi/openmpi.h $(OPENMPI_FILES) -o $@ $(LDFLAGS)
$(B)/tests/guest_mpi/openmpi_constants: tests/guest_mpi/openmpi_constants.c src/guest/ompi/constants.h $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)OMPI_CC='$(CC)' $(MPICC_openmpi) $(STD) $(TEST_FLAGS) -w -I. $< -o $@ $(LDFLAGS)
$(B)/tests/guest_mpi/libtool_openmpi.so: tests/guest_mpi/tool.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)OMPI_CC='$(CC)' $(MPICC_openmpi) $(STD) $(TEST_FLAGS) -w -fPIC -shared $< -o $@ $(LDFLAGS)
ifneq ($(and $(call have,mpicxx.openmpi),$(wildcard /usr/lib/*/openmpi/lib/libmpi_cxx.so)),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/openmpi_cxx
$(B)/tests/guest_mpi/openmpi_cxx: tests/guest_mpi/openmpi_cxx.cc $(B)/.flags
	$(call say,MPICXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)mpicxx.openmpi -std=c++11 -O1 -w $< -o $@ -lmpi_cxx
endif
ifneq ($(call have,mpif90.openmpi),)
OPENMPI_FORTRAN := $(addprefix $(B)/tests/guest_mpi/,fortran_openmpi fortran08_openmpi fortran77_openmpi)
NEEDS_guest_mpi += $(OPENMPI_FORTRAN)
$(OPENMPI_FORTRAN): $(B)/tests/guest_mpi/%_openmpi: $(wildcard tests/guest_mpi/*.f tests/guest_mpi/*.f90) $(B)/.flags
	$(call say,MPIF90,$@)
	$(Q)mkdir -p $(@D)/$*_openmpi.mod
	$(Q)mpif90.openmpi -O1 -w -J$(@D)/$*_openmpi.mod $(wildcard tests/guest_mpi/$*.f tests/guest_mpi/$*.f90) -o $@
endif
endif
