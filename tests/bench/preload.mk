PRINTS_preload_app := preload_app
PRINTS_preload_call := preload_call
PRINTS_preload_call_mpich := preload_call_mpich
# What the preload costs: per call with each MPI, and in HPL's run time.
# $(call preload_bench,NAME,SOURCE,WRAPPER,PRELOAD)
define preload_bench
BENCHES += $(B)/bench/$1
$(B)/bench/$1: tests/bench/$2 tests/bench/bench.h $4 $(B)/.flags
	@mkdir -p $$(@D)
	$$(call mpi_build,$$@,$3,tests/bench/$2,)
endef
ifneq ($(MPICC_openmpi),)
$(eval $(call bench,preload_app))
$(B)/bench/preload_app: $(B)/libnbc_overlap_mpi.so $(B)/bench/libpreload_app_sections.so $(B)/bench/preload_call
$(B)/bench/libpreload_app_sections.so: tests/bench/preload_app_sections.c $(B)/.flags
	@mkdir -p $(@D)
	$(call mpi_build,$@,$(MPICC_openmpi),$<,-shared -fPIC)
$(eval $(call preload_bench,preload_call,preload_call.c,$(MPICC_openmpi),$(B)/libnbc_overlap_mpi.so))
endif
ifneq ($(MPICC_mpich),)
$(eval $(call preload_bench,preload_call_mpich,preload_call.c,$(MPICC_mpich),$(B)/libnbc_overlap_mpich.so))
endif
BENCHES += tests/bench/thread_memory.sh
PRINTS_thread_memory := nic_thread_memory_
tests/bench/thread_memory.sh: $(if $(MPICC_openmpi),$(B)/libnbc_overlap_mpi.so $(B)/tests/mpi/preload_life.openmpi) $(if $(MPICC_mpich),$(B)/libnbc_overlap_mpich.so $(B)/tests/mpi/preload_life.mpich) ;
