$(eval $(call test,clock/relation_edges))
$(eval $(call test,clock/source_is_tested,-D_GNU_SOURCE))
$(eval $(call test,clock/statistics))
$(eval $(call test,clock/tables))
$(eval $(call test,clock/relation_contains_truth))
$(eval $(call test,clock/sync_contains_truth))
$(eval $(call test,clock/measure_says_the_truth))
$(eval $(call tool,clock_sync))
$(eval $(call bench,clock_sync))
$(eval $(call script,clock/clock_sync_command))
$(eval $(call script,clock/bench_rma_command))
ifneq ($(MPICC_mpich)$(MPICC_openmpi),)
NEEDS_clock += $(B)/tests/mpi/patient.so
NEEDS_mpi   += $(B)/tests/mpi/patient.so
$(B)/tests/mpi/patient.so: tests/mpi/patient.h $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -shared -fPIC -DPATIENT_YIELD -include $< -x c /dev/null -o $@ $(LDFLAGS) -ldl
endif
# Models of what was measured
$(eval $(call tool,fit_model))
$(eval $(call script,clock/fit_model_command))

# The same over MPI, as build/NAME_mpi and build/NAME_mpich, and over OpenSHMEM
# $(call over_mpi,NAME,mpi or mpich,openmpi or mpich)
define over_mpi
EXAMPLES += $(B)/$1_$2
$(call mpi_program,$(B)/$1_$2,tools/$1.c,$(MPICC_$3),-DNBC_WITH_MPI,$(B)/nbc_overlap.$3.o)
endef
$(foreach p,clock_sync bench_rma fit_model,\
  $(if $(MPICC_openmpi),$(eval $(call over_mpi,$p,mpi,openmpi)))\
  $(if $(MPICC_mpich),$(eval $(call over_mpi,$p,mpich,mpich))))
# $(call counted,openmpi or mpich): a library that counts what the MPI carries
define counted
$(B)/tests/clock/count_sends.$1.so: tests/clock/count_sends.c $(B)/.flags
	$$(call say,MPICC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(mpi_cc) $(MPICC_$1) $$(STD) $$(CFLAGS) $$(WARN) -shared -fPIC $$< -o $$@
NEEDS_clock += $(B)/tests/clock/count_sends.$1.so
endef
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),$(eval $(call counted,$m)))
ifneq ($(OSHCC),)
EXAMPLES += $(B)/bench_rma_shmem
$(eval $(call mpi_program,$(B)/bench_rma_shmem,tools/bench_rma.c,$(OSHCC),-DNBC_WITH_SHMEM,$(B)/libnbc_overlap.shmem.a))
endif
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),\
  $(eval $(call mpi_program,$(B)/bench/clock_beside.$m,tests/bench/clock_beside.c,$(MPICC_$m),,$(B)/libnbc_overlap.$m.a))\
  $(eval tests/bench/clock_beside.sh: $(B)/bench/clock_beside.$m))
BENCHES += tests/bench/clock_beside.sh
tests/bench/clock_beside.sh: ;
PRINTS_clock_beside := clock_beside_
PRINTS_clock_sync := clock_bound clock_residual sync_time_ sync_bound_ timer_inside_vs_outside
