# Programs made for MPI's standard ABI, with mpi.h and the library of names from src/guest, under pm_run.
$(eval $(call script,guest_mpi/standard))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
STANDARD := $(B)/standard/include/mpi.h $(B)/standard/lib/libmpi_abi.so
STANDARD_CC = $(CC) $(STD) $(TEST_FLAGS) -w -Itests/guest_mpi -isystem $(B)/standard/include
STANDARD_LIB := -L$(B)/standard/lib -lmpi_abi
STANDARD_SET := $(B)/tests/guest_mpi/all_standard
NEEDS_guest_mpi += $(STANDARD_SET) $(B)/tests/guest_mpi/random_standard $(B)/tests/guest_mpi/libtool_standard.so $(B)/tests/guest_mpi/later_standard
$(STANDARD_SET): $(GUEST_MPI_FILES) tests/guest_mpi/say.h tests/guest_mpi/standard.h $(STANDARD) $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(STANDARD_CC) -include tests/guest_mpi/standard.h $(GUEST_MPI_FILES) -o $@ $(LDFLAGS) $(STANDARD_LIB)
$(B)/tests/guest_mpi/random_standard: $(addprefix tests/guest_mpi/,random.c random_more.c random_wide.c random.h) $(STANDARD) $(B)/.flags
	$(call say,CC,$@)
	$(Q)$(STANDARD_CC) $(filter %.c,$^) -o $@ $(LDFLAGS) $(STANDARD_LIB)
$(B)/tests/guest_mpi/libtool_standard.so: tests/guest_mpi/tool.c $(STANDARD) $(B)/.flags
	$(call say,CC,$@)
	$(Q)$(STANDARD_CC) -fPIC -shared $< -o $@ $(LDFLAGS) $(STANDARD_LIB)
$(B)/tests/guest_mpi/later_standard: tests/guest_mpi/standard_later.cc $(STANDARD) $(B)/.flags
	$(call say,CXX,$@)
	$(Q)g++ -std=c++17 $(TEST_FLAGS) -Wall -Wextra -I$(B)/standard/include $< -o $@ $(LDFLAGS) $(STANDARD_LIB)
# What each constant does, and its numbers, by programs made of the list of constants
NEEDS_guest_mpi += $(addprefix $(B)/tests/guest_mpi/,constants_standard constants_mpich constants_numbers)
$(B)/tests/guest_mpi/constants_%: tests/guest_mpi/standard_constants.awk tests/guest_mpi/standard_constants.h src/guest/standard/constants.list $(STANDARD) $(B)/.flags
	$(call say,CC,$@)
	$(Q)awk -v what=$* -f $< src/guest/standard/constants.list >$@.c
	$(Q)$(if $(filter standard,$*),$(STANDARD_CC),MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) -w -Itests/guest_mpi) $@.c -o $@ $(LDFLAGS) $(if $(filter standard,$*),$(STANDARD_LIB))
endif
