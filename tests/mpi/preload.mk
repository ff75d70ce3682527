# The preload, its table and its tests: one library per MPI, the tests' programs with each.
$(eval $(call tool,xfer_table))
$(eval $(call tool,nbc))
NEEDS_mpi += $(B)/nbc
PRELOAD_FILES := tools/overlap_preload.c $(wildcard tools/overlap_preload_*.h) $(addprefix tools/,callers.h mpi_h.h one_line.h section_name.h trace_file.h) nbc_overlap.h hw/nic_hw.h
PRELOAD_SLOW := preload_survivors preload_slow_free preload_slow_sizes progress_slow_complete progress_slow_test progress_one_inside progress_idle_asked progress_no_wake progress_plugin
PRELOAD_TESTS := preload_p2p preload_handlers preload_forms preload_every preload_files preload_ends preload_threads preload_spawn preload_life preload_truth preload_bounds preload_finish preload_both preload_survives preload_ended preload_through preload_places
# Those that measure CPU time spin as MPICH does.
PRELOAD_TIMED := preload_life preload_survives
PRELOAD_FORTRAN := preload_fortran_mpif preload_fortran_use preload_fortran_f08

# $(call mpi_build,OUTPUT,WRAPPER,SOURCE,options). The warning: gcc takes MPICH's sentinels for arrays.
mpi_build = $(call say,MPICC,$1)$(if $(filter 1,$(V)),,;) OMPI_CC='$(CC)' MPICH_CC='$(CC)' $2 $(STD) $(CFLAGS) $(WARN) -Wno-stringop-overflow -Wno-stringop-overread -I. $4 $3 -o $1 $(LDFLAGS) -pthread -ldl -lm
# $(call preload_library,OUTPUT,WRAPPER)
define preload_library
EXAMPLES += $1
$1: $(PRELOAD_FILES) $(B)/.flags
	$$(call mpi_build,$1,$2,tools/overlap_preload.c,-shared -Xlinker -soname=$$(@F) -fPIC -fexceptions -fvisibility=hidden)
endef
# $(call preload_test,NAME,openmpi or mpich)
define preload_test
NEEDS_mpi += $(B)/tests/mpi/$1.$2
$(call mpi_program,$(B)/tests/mpi/$1.$2,tests/mpi/$1.c,$(MPICC_$2),$(QUICK_FLAGS) $(if $(filter $(PRELOAD_TIMED),$1),,$(PATIENT_$2)))
endef
# $(call preload_slow,NAME,openmpi or mpich): loaded after a preload
define preload_slow
NEEDS_mpi += $(B)/tests/mpi/$1.$2.so
$(B)/tests/mpi/$1.$2.so: tests/mpi/$1.c $(B)/.flags
	@mkdir -p $$(@D)
	$$(call mpi_build,$$@,$(MPICC_$2),tests/mpi/$1.c,-shared -fPIC)
endef
# $(call preload_examples,suffix,WRAPPER,library)
define preload_examples
EXAMPLES += $(B)/xfer_table_$1 $(B)/halo_$1
RUN_MPI += $(B)/libnbc_overlap_$1.so $(B)/xfer_table_$1 $(B)/halo_$1
$(call preload_library,$(B)/libnbc_overlap_$1.so,$2)
$(call mpi_program,$(B)/xfer_table_$1,tools/xfer_table.c,$2,-DNBC_WITH_MPI,$3)
$(call mpi_program,$(B)/halo_$1,examples/04_halo_mpi.c,$2)
endef

# The same programs with every call that has a twin for MPI_Count: the list is the preload's own.
define preload_large
NEEDS_mpi += $(B)/tests/mpi/$1.mpich_c
$(B)/tests/mpi/$1.mpich_c: tests/mpi/$1.c $(B)/tests/mpi/large_counts.h
	$$(call mpi_build,$$@,$(MPICC_mpich),tests/mpi/$1.c,$(QUICK_FLAGS) $(PATIENT_mpich) -DLARGE_COUNTS -I$(B)/tests/mpi)
endef
$(B)/tests/mpi/large_counts.h: $(B)/libnbc_overlap_mpich.so
	@mkdir -p $(@D)
	$(Q)nm -D --defined-only $< | sed -n 's/.* [TW] \(MPI_[A-Za-z_]*\)_c$$/#define \1 \1_c/p' >$@

# $(call preload_language,NAME,openmpi or mpich,WRAPPER,SOURCE,options)
define preload_language
NEEDS_mpi += $(B)/tests/mpi/$1.$2
$(B)/tests/mpi/$1.$2: tests/mpi/$4 $(B)/.flags
	@mkdir -p $$(@D)
	$$(call say,MPI,$$@)
	$$(Q)$3 -O2 $5 tests/mpi/$4 -o $$@
endef

ifneq ($(MPICC_openmpi),)
$(eval $(call preload_examples,mpi,$(MPICC_openmpi),$(B)/libnbc_overlap.openmpi.a))
$(foreach t,$(PRELOAD_TESTS),$(eval $(call preload_test,$t,openmpi)))
$(foreach t,$(PRELOAD_SLOW),$(eval $(call preload_slow,$t,openmpi)))
endif
ifneq ($(MPICC_mpich),)
$(eval $(call preload_examples,mpich,$(MPICC_mpich),$(B)/libnbc_overlap.mpich.a))
$(foreach t,$(PRELOAD_TESTS),$(eval $(call preload_test,$t,mpich)))
$(foreach t,$(PRELOAD_SLOW),$(eval $(call preload_slow,$t,mpich)))
ifneq ($(if $(MPICH_INCLUDE),$(shell grep -l 'MPI_Send_c' $(MPICH_INCLUDE)mpi*.h)),)
$(foreach t,preload_every preload_files,$(eval $(call preload_large,$t)))
endif
endif

$(foreach m,openmpi mpich,$(if $(and $(MPICC_$m),$(call have,mpicxx.$m)),$(eval $(call preload_language,preload_cxx,$m,mpicxx.$m,preload_cxx.cpp,$$(if $$(shell echo '#include <mpi.h>' | mpicxx.$m -E -x c++ - 2>/dev/null | grep -m 1 'namespace MPI'),-DTEST_MPI_CXX)))))
$(foreach m,openmpi mpich,$(if $(and $(MPICC_$m),$(call have,mpifort.$m)),$(foreach f,$(PRELOAD_FORTRAN),$(eval $(call preload_language,$f,$m,mpifort.$m,$f.f90,)))))

NEEDS_mpi += $(RUN_MPI) $(B)/overlap_report $(B)/overlap_trace $(B)/pm_replay
.PHONY: run-mpi
run-mpi: $(RUN_MPI) $(B)/overlap_report ## overlap reports of real programs: hpcc under Open MPI, a stencil under MPICH
	@B=$(B) sh tools/run_mpi.sh

$(eval $(call program,$(B)/tests/mpi/preload_show,tests/mpi/preload_show.c,$(TEST_FLAGS),,,$(B)/libnbc_overlap.a))
NEEDS_mpi += $(B)/tests/mpi/preload_show
NEEDS_mpi += $(B)/tests/mpi/libfake_hosts.so
$(B)/tests/mpi/libfake_hosts.so: tests/mpi/fake_hosts.c $(B)/.flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -shared -fPIC $< -o $@
$(eval $(call script,mpi/preload_changes_nothing))
$(eval $(call script,mpi/preload_forms))
$(eval $(call script,mpi/preload_every))
$(eval $(call script,mpi/preload_ends))
$(eval $(call script,mpi/preload_languages))
$(eval $(call script,mpi/preload_threads_and_spawn))
$(eval $(call script,mpi/preload_life))
$(eval $(call script,mpi/preload_truth))
$(eval $(call script,mpi/preload_slow_network))
$(eval $(call script,mpi/preload_nodes))
$(eval $(call script,mpi/slurm))
$(eval $(call script,mpi/preload_bounds))
$(eval $(call script,mpi/preload_finish))
$(eval $(call script,mpi/preload_both))
$(eval $(call script,mpi/preload_survives))
$(eval $(call script,mpi/preload_trace))
$(eval $(call script,mpi/nbc_hosts))
$(eval $(call script,mpi/preload_settings))
$(eval $(call script,mpi/preload_hpcc))
