$(eval $(call test,clock/source_is_tested,-D_GNU_SOURCE))
$(eval $(call test,clock/statistics))
$(eval $(call test,clock/tables))
$(eval $(call test,clock/relation_contains_truth))
$(eval $(call test,clock/sync_contains_truth))
$(eval $(call test,clock/measure_says_the_truth))
$(eval $(call example,clock_sync))
# The same over MPI, as build/clock_sync_mpi (and _mpich).
define clock_sync_mpi
EXAMPLES += $1
$1: examples/clock_sync.c nbc_overlap.h $(B)/.flags
	$$(call say,MPICC,$$@)
	$$(Q)OMPI_CC='$$(CC)' MPICH_CC='$$(CC)' $2 $$(STD) $$(CFLAGS) $$(WARN) -Wno-stringop-overflow -I. -DNBC_WITH_MPI $$< -o $$@ $$(LDFLAGS) -pthread -lm
endef
ifneq ($(MPICC_OMPI),)
$(eval $(call clock_sync_mpi,$(B)/clock_sync_mpi,$(MPICC_OMPI)))
endif
ifneq ($(MPICC_MPICH),)
$(eval $(call clock_sync_mpi,$(B)/clock_sync_mpich,$(MPICC_MPICH)))
endif
$(eval $(call bench,clock_sync))
$(eval $(call script,clock/clock_sync_command))
# One-sided operations and collectives, measured: $(call bench_rma,OUTPUT,WRAPPER,options,SOURCE)
define bench_rma
EXAMPLES += $1
$1: examples/$(or $4,bench_rma).c examples/plot.h nbc_overlap.h $(B)/.flags
	$$(call say,MPICC,$$@)
	$$(Q)OMPI_CC='$$(CC)' OSHMEM_CC='$$(CC)' MPICH_CC='$$(CC)' $2 $$(STD) $$(CFLAGS) $$(WARN) -Wno-stringop-overflow -I. $3 $$< -o $$@ $$(LDFLAGS) -pthread -lm
endef
ifneq ($(MPICC_OMPI),)
$(eval $(call bench_rma,$(B)/bench_rma_mpi,$(MPICC_OMPI)))
endif
ifneq ($(MPICC_MPICH),)
$(eval $(call bench_rma,$(B)/bench_rma_mpich,$(MPICC_MPICH)))
endif
ifneq ($(call have,oshcc),)
$(eval $(call bench_rma,$(B)/bench_rma_shmem,$(call have,oshcc),-DNBC_WITH_SHMEM))
endif
$(eval $(call script,clock/bench_rma_command))
# Models of what was measured; over MPI as build/fit_model_mpi (and _mpich)
$(eval $(call example,fit_model))
ifneq ($(MPICC_OMPI),)
$(eval $(call bench_rma,$(B)/fit_model_mpi,$(MPICC_OMPI),-DNBC_WITH_MPI,fit_model))
endif
ifneq ($(MPICC_MPICH),)
$(eval $(call bench_rma,$(B)/fit_model_mpich,$(MPICC_MPICH),-DNBC_WITH_MPI,fit_model))
endif
$(eval $(call script,clock/fit_model_command))
