# pm_replay: traces on the simulated machine, with the messages of pm_run's MPI.
REPLAY_SOURCES := $(wildcard src/guest/replay/*.c) $(addprefix src/guest/mpi/,progress.c coll.c comm.c op.c type.c record.c) src/guest/model.c
REPLAY_OBJECTS := $(REPLAY_SOURCES:src/guest/%.c=$(B)/replay/%.o)
$(REPLAY_OBJECTS): $(B)/replay/%.o: src/guest/%.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -MMD -MP -MF $@.d -I. -Isrc/guest -c $< -o $@
-include $(REPLAY_OBJECTS:%=%.d)
$(B)/replay/model.o: WARN += -DPM_THREADS # its own copy: programs under pm_run have other threads
EXAMPLES += $(B)/pm_replay
$(B)/pm_replay: $(REPLAY_OBJECTS) $(B)/libnbc_overlap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS) -pthread -lm
NEEDS_guest_mpi += $(B)/pm_replay
$(eval $(call script,guest_mpi/replay))
ifneq ($(and $(MPICC_mpich),$(wildcard /usr/include/*/mpich/mpi.h)),)
NEEDS_guest_mpi += $(B)/pm_run $(B)/libnbc_overlap_mpich.so $(B)/tests/guest_mpi/replay_app $(B)/tests/guest_mpi/replay_calls
$(B)/tests/guest_mpi/replay_app $(B)/tests/guest_mpi/replay_calls: $(B)/tests/guest_mpi/%: tests/guest_mpi/%.c $(B)/.flags
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)MPICH_CC='$(CC)' $(MPICC_mpich) $(STD) $(TEST_FLAGS) $(WARN) -Wno-conversion -Wno-stringop-overflow -Wno-stringop-overread $< -o $@ $(LDFLAGS)
endif
# Requests that share handles do so in both MPIs.
$(foreach m,$(if $(MPICC_openmpi),openmpi) $(if $(MPICC_mpich),mpich),\
  $(eval $(call mpi_program,$(B)/tests/guest_mpi/replay_requests.$m,tests/guest_mpi/replay_requests.c,$(MPICC_$m),$(QUICK_FLAGS) $(PATIENT_$m)))\
  $(eval NEEDS_guest_mpi += $(B)/tests/guest_mpi/replay_requests.$m))
NEEDS_guest_mpi += $(if $(MPICC_openmpi),$(B)/libnbc_overlap_mpi.so)
