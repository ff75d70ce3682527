# The progress preload and its tests: one library per MPI, every function of that MPI wrapped from its own header.
PROGRESS_FILES := $(wildcard tools/progress_preload*) tools/mpi_h.h tools/one_line.h
# $(call progress_library,mpi or mpich,WRAPPER)
define progress_library
EXAMPLES += $(B)/libnbc_progress_$1.so
NEEDS_mpi += $(B)/libnbc_progress_$1.so
$(B)/progress_$1/progress_calls.h: tools/progress_preload_calls.awk $(PROGRESS_FILES) $(B)/.flags
	@mkdir -p $$(@D)
	$(Q)printf '#include <mpi.h>\n' | $(mpi_cc) $2 -E -P -x c - >$$@.i
	$(Q){ sed -n 's/^\(DEFINE\|SOME\|CREATES_HANDLER\)(\([A-Za-z_]*\),.*/OWNED \2/p' tools/progress_preload*.[ch]; \
	  sed -n 's/^ICOLL(N(\([A-Za-z_]*\), \([A-Za-z_]*\)).*/OWNED \1\nOWNED \1_c\nOWNED \2_init\nOWNED \2_init_c\nOWNED \2\nOWNED \2_c/p' tools/progress_preload_icoll.h; cat $$@.i; } | \
	  awk -f tools/progress_preload_calls.awk >$$@
	$(Q)sed -n 's/^[A-Z]*(\([A-Za-z_]*\),.*/#define MPI_\1 NEXT(\1)/p' $$@ >$$(@D)/progress_names.h
$(B)/libnbc_progress_$1.so: $(PROGRESS_FILES) nbc_overlap.h $(B)/progress_$1/progress_calls.h
	$$(call mpi_build,$$@,$2,tools/progress_preload.c tools/progress_preload_coll.c,-shared -Xlinker -soname=$$(@F) -fPIC -fexceptions -fvisibility=hidden -Itools -I$(B)/progress_$1)
endef
$(if $(MPICC_openmpi),$(eval $(call progress_library,mpi,$(MPICC_openmpi))))
$(if $(MPICC_mpich),$(eval $(call progress_library,mpich,$(MPICC_mpich))))
# $(call progress_test,NAME,openmpi or mpich)
define progress_test
NEEDS_mpi += $(B)/tests/mpi/$1.$2
$(call mpi_program,$(B)/tests/mpi/$1.$2,tests/mpi/$1.c,$(MPICC_$2),$(QUICK_FLAGS) $(PATIENT_$2))
endef
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),\
  $(foreach t,progress_moves progress_requests progress_collectives progress_persistent progress_operators progress_comms progress_handles progress_callbacks progress_arguments progress_errors progress_finalize progress_files progress_first_step progress_level progress_merge progress_sessions,$(eval $(call progress_test,$t,$m))))
# the same checks of the blocking collectives
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),$(eval NEEDS_mpi += $(B)/tests/mpi/progress_blocking.$m)\
  $(eval $(call mpi_program,$(B)/tests/mpi/progress_blocking.$m,tests/mpi/progress_collectives.c,$(MPICC_$m),$(QUICK_FLAGS) $(PATIENT_$m) -DTEST_BLOCKING)))
$(foreach m,openmpi mpich,$(if $(and $(MPICC_$m),$(call have,mpicxx.$m)),$(eval $(call preload_language,progress_throws,$m,mpicxx.$m,progress_throws.cpp,))))
# a program that loads its MPI
NEEDS_mpi += $(B)/tests/mpi/progress_host
$(B)/tests/mpi/progress_host: tests/mpi/progress_host.c $(B)/.flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) $< -o $@ $(LDFLAGS) -ldl
$(eval $(call script,mpi/progress))
# $(call progress_loops,mpi or mpich,openmpi or mpich)
define progress_loops
RUN_PROGRESS += $(B)/bench/pm_run $(B)/libnbc_overlap_$1.so $(B)/libnbc_progress_$1.so $(B)/halo_$1 $(B)/bench/progress_loops.$2
tests/bench/progress.sh: $(B)/bench/progress_loops.$2 $(B)/libnbc_progress_$1.so
$(call mpi_program,$(B)/bench/progress_loops.$2,tests/bench/progress_loops.c,$(MPICC_$2))
endef
tests/bench/progress.sh: $(B)/bench/pm_run ;
BENCHES += tests/bench/progress.sh
PRINTS_progress := progress_
$(if $(MPICC_openmpi),$(eval $(call progress_loops,mpi,openmpi)))
$(if $(MPICC_mpich),$(eval $(call progress_loops,mpich,mpich)))
.PHONY: run-progress
run-progress: $(RUN_PROGRESS) $(B)/overlap_report ## does the progress preload help here? A stencil and OSU-like loops, without and with
	@B=$(B) sh tools/run_progress.sh
