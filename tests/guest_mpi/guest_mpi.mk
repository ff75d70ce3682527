# MPI inside the simulated machine: one program, run by MPICH and by pm_run.
$(eval $(call script,guest_mpi/semantics))
$(eval $(call script,guest_mpi/hpl_skeleton))
$(eval $(call test,guest_mpi/numbers_keep_their_sign,-funsigned-char -Wno-conversion))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
GUEST_MPI_SET := $(B)/tests/guest_mpi/all
NEEDS_guest_mpi += $(B)/hpl_skeleton $(B)/tests/mpi/patient.so
EXAMPLES += $(B)/hpl_skeleton
$(B)/hpl_skeleton: tools/hpl_skeleton.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(CFLAGS) $(WARN) $< -o $@ $(LDFLAGS)
NEEDS_guest_mpi += $(B)/pm_run $(B)/overlap_report $(B)/halo_mpich $(GUEST_MPI_SET) $(GUEST_MPI_SET)_large $(B)/tests/guest_mpi/threads
GUEST_MPI_FILES := $(addprefix tests/guest_mpi/,$(addsuffix .c,all messages types collectives communicators environment windows files rest survivors repaired every nulls later))
$(GUEST_MPI_SET): $(GUEST_MPI_FILES) tests/guest_mpi/say.h $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(QUICK_FLAGS) $(WARN) -Wno-conversion -Wno-stringop-overflow -Wno-stringop-overread $(GUEST_MPI_FILES) -o $@ $(LDFLAGS) -lmpichfort
$(GUEST_MPI_SET)_large: $(GUEST_MPI_FILES) tests/guest_mpi/say.h tests/guest_mpi/large.h $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(QUICK_FLAGS) -w -include tests/guest_mpi/large.h $(GUEST_MPI_FILES) -o $@ $(LDFLAGS) -lmpichfort
# Names of MPI by the other compiler, which pm_run may be made by
ifneq ($(HAVE_CLANG),)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/names_by_clang.o
$(B)/tests/guest_mpi/names_by_clang.o: src/guest/mpi/calls_env.c $(wildcard src/guest/mpi/*.h) $(B)/.flags
	$(call say,CLANG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) -O0 $(WARN) -fvisibility=hidden -isystem $(MPICH_INCLUDE) -I. -Isrc/guest -c $< -o $@
endif
NEEDS_guest_mpi += $(B)/tests/guest_mpi/random
$(B)/tests/guest_mpi/random: $(addprefix tests/guest_mpi/,random.c random_more.c random_wide.c random.h) $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion $(filter %.c,$^) -o $@ $(LDFLAGS)
$(B)/tests/guest_mpi/threads: tests/guest_mpi/threads.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion $< -o $@ $(LDFLAGS) -pthread
NEEDS_guest_mpi += $(B)/tests/guest_mpi/spans
$(B)/tests/guest_mpi/spans: tests/guest_mpi/spans.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion $< -o $@ $(LDFLAGS) -pthread -fopenmp
NEEDS_guest_mpi += $(B)/tests/guest_mpi/fetched
$(B)/tests/guest_mpi/fetched: tests/guest_mpi/fetched.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) $< -o $@ $(LDFLAGS)
NEEDS_guest_mpi += $(B)/tests/guest_mpi/libtool.so $(B)/libnbc_overlap_mpich.so $(B)/tests/mpi/preload_truth.mpich $(B)/tests/mpi/preload_ends.mpich $(B)/tests/mpi/preload_places.mpich
$(B)/tests/guest_mpi/libtool.so: tests/guest_mpi/tool.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -fPIC -shared $< -o $@ $(LDFLAGS)
TOOLED := $(addprefix $(B)/tests/guest_mpi/,tooled tooled_late)
NEEDS_guest_mpi += $(TOOLED)
$(TOOLED): tests/guest_mpi/tooled.c $(B)/tests/guest_mpi/libtool.so
	$(call say,MPICC,$@)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) $< -o $@ $(LDFLAGS) -Wl,--no-as-needed $(if $(filter %_late,$@),-lmpich) -L$(@D) -ltool -Wl,-rpath,'$$ORIGIN'
endif
ifneq ($(and $(GUEST_MPI_SET),$(call have,mpif90.mpich)),)
GUEST_FORTRAN := $(addprefix $(B)/tests/guest_mpi/,fortran fortran08 fortran77)
NEEDS_guest_mpi += $(GUEST_FORTRAN)
$(GUEST_FORTRAN): $(B)/tests/guest_mpi/%: $(wildcard tests/guest_mpi/*.f tests/guest_mpi/*.f90) $(B)/.flags
	$(call say,MPIF90,$@)
	$(Q)mkdir -p $(@D)/$*.mod
	$(Q)mpif90.mpich -O1 -w -J$(@D)/$*.mod $(wildcard tests/guest_mpi/$*.f tests/guest_mpi/$*.f90) -o $@
endif
# Simulated MPI beside SMPI, where SimGrid has it
ifneq ($(GUEST_MPI_SET),)
BENCHES += tests/bench/guest_mpi.sh
tests/bench/guest_mpi.sh: $(B)/pm_run $(B)/bench/guest_app.mpich $(if $(call have,smpicc),$(B)/bench/guest_app.smpi) ;
PRINTS_guest_mpi := guest_ring_ guest_allreduce_
ifneq ($(HAVE_EXPAT),)
BENCHES += tests/bench/guest_hpl.sh
tests/bench/guest_hpl.sh: $(B)/pm_run $(B)/simgrid_platform ;
PRINTS_guest_hpl := guest_hpl_
endif
$(B)/bench/guest_app.%: tests/bench/guest_app.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(if $(filter smpi,$*),smpicc -fPIC,MPICH_CC='$(CC)' $(MPICC_mpich)) $(CFLAGS) -w $< -o $@
endif
