# pm_run lends its symbols to the programs it loads. Its files add themselves.
MPICH_INCLUDE := $(firstword $(if $(MPICC_mpich),$(shell echo '#include <mpi.h>' | $(MPICC_mpich) -E - 2>/dev/null | sed -n 's|^. 1 "\(.*/\)mpi.h".*|\1|p')) \
  $(if $(filter file,$(origin MPICC)),$(dir $(firstword $(wildcard /usr/include/*/mpich/mpi.h /usr/include/mpich*/mpi.h /usr/lib/*/mpich/include/mpi.h)))))
# MPI has the ABI that MPICH's mpi.h describes: without it, programs find no MPI here
GUEST_MPI     := $(if $(MPICH_INCLUDE),$(wildcard src/guest/mpi/*.c))
# Open MPI's ABI stands on it, from tables: its mpi.h is not needed
GUEST_OMPI    := $(if $(MPICH_INCLUDE),$(wildcard src/guest/ompi/*.c))
# So does the standard ABI: conversions, constants and mpi.h are made of lists
GUEST_ST      := $(if $(MPICH_INCLUDE),$(wildcard src/guest/standard/*.c))
ST_WRITTEN    := $(addprefix $(B)/guest/standard/,calls.o constants.o)
GUEST_SOURCES := $(wildcard src/guest/*.c) $(GUEST_MPI) $(GUEST_OMPI) $(GUEST_ST)
$(patsubst src/guest/%.c,$(B)/guest/%.o,$(GUEST_MPI) $(GUEST_OMPI) $(GUEST_ST)) $(B)/guest/ompi/wrappers.o $(ST_WRITTEN): LEVEL_CFLAGS += -fvisibility=hidden -isystem $(MPICH_INCLUDE)
# GCC's own choice at -O2 leaves loops of unknown length as they are; clang does not
$(B)/guest/mpi/op.o: LEVEL_CFLAGS += $(if $(findstring clang,$(CC)),,-ftree-vectorize -fvect-cost-model=dynamic)
GUEST_OBJECTS := $(GUEST_SOURCES:src/guest/%.c=$(B)/guest/%.o)
# An exception that leaves what pthread_once calls is noticed
$(B)/guest/pthread.o: LEVEL_CFLAGS += -fexceptions
OMPI_LISTS    := src/guest/ompi/calls.list src/guest/ompi/handles.list
$(B)/guest/ompi/wrappers.c: src/guest/mpi/calls.awk src/guest/ompi/handles.awk $(OMPI_LISTS)
	$(call say,AWK,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ awk -f $< -v p=om -v own=ompi.h src/guest/ompi/calls.list && awk -f src/guest/ompi/handles.awk src/guest/ompi/handles.list; } > $@
$(B)/guest/ompi/wrappers.o: $(B)/guest/ompi/wrappers.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) $(LEVEL_CFLAGS) -MMD -MP -MF $@.d -I. -Isrc/guest -Isrc/guest/ompi -c $< -o $@
ST_LISTS := src/guest/standard/constants.list src/guest/standard/types.h
$(B)/guest/standard/calls.c: src/guest/mpi/calls.awk src/guest/mpi/calls.list
	$(call say,AWK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)awk -f $< -v p=st -v own=st.h src/guest/mpi/calls.list > $@
$(B)/guest/standard/constants.c $(B)/guest/standard/numbers.h: $(B)/guest/standard/%: src/guest/standard/constants.awk $(ST_LISTS)
	$(call say,AWK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)awk -f $< -v what=$(if $(filter %.h,$@),numbers) src/guest/standard/constants.list > $@
# A header and a library of names, for programs that are to have the standard ABI
$(B)/standard/include/mpi.h: src/guest/standard/constants.awk src/guest/mpi/calls.awk src/guest/mpi/calls.list $(ST_LISTS)
	$(call say,AWK,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ awk -f $< -v what=header $(ST_LISTS) && awk -f src/guest/mpi/calls.awk -v what=header src/guest/mpi/calls.list && \
	  printf '#ifdef __cplusplus\n}\n#endif\n#endif\n'; } > $@
$(B)/standard/lib/libmpi_abi.so: src/guest/mpi/calls.awk src/guest/mpi/calls.list $(B)/.flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)awk -f $< -v what=names src/guest/mpi/calls.list | sed 's/.*/.globl MPI_&, PMPI_&\n.type MPI_&, %function\n.type PMPI_&, %function\nMPI_&: PMPI_&: .byte 0/' | \
	  $(CC) -shared -nostdlib -x assembler - -Wl,-soname,libmpi_abi.so.0 -Wl,-z,noexecstack -o $@
$(patsubst src/guest/%.c,$(B)/guest/%.o,$(GUEST_ST)) $(ST_WRITTEN): $(B)/guest/standard/numbers.h
$(patsubst src/guest/%.c,$(B)/guest/%.o,$(GUEST_ST)): LEVEL_CFLAGS += -I$(B)/guest/standard
$(ST_WRITTEN): $(B)/guest/standard/%.o: $(B)/guest/standard/%.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) $(LEVEL_CFLAGS) -MMD -MP -MF $@.d -I. -Isrc/guest -Isrc/guest/standard -I$(@D) -c $< -o $@
$(GUEST_OBJECTS): $(B)/guest/%.o: src/guest/%.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) $(LEVEL_CFLAGS) -MMD -MP -MF $@.d -I. -Isrc/guest -c $< -o $@
-include $(GUEST_OBJECTS:%=%.d)
EXAMPLES += $(B)/pm_run
GUEST_OBJECTS += $(if $(GUEST_OMPI),$(B)/guest/ompi/wrappers.o) $(if $(GUEST_ST),$(ST_WRITTEN))
-include $(addsuffix .d,$(B)/guest/ompi/wrappers.o $(ST_WRITTEN))
$(B)/pm_run: $(GUEST_OBJECTS) $(B)/libnbc_overlap.a | $(if $(GUEST_ST),$(B)/standard/include/mpi.h $(B)/standard/lib/libmpi_abi.so)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS) -rdynamic -Wl,--exclude-libs,libnbc_overlap.a:libnic_cosim.a -pthread $(LEVEL_LIBS) -ldl -lm
# The same without NICs in RTL, whose models take Verilator minutes: for targets that need no such level
$(B)/bench/pm_run.o: src/guest/pm_run.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -MMD -MP -MF $@.d -I. -Isrc/guest -c $< -o $@
-include $(B)/bench/pm_run.o.d
$(B)/bench/pm_run: $(B)/bench/pm_run.o $(filter-out $(B)/guest/pm_run.o,$(GUEST_OBJECTS)) $(B)/libnbc_overlap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS) -rdynamic -Wl,--exclude-libs,libnbc_overlap.a -pthread -ldl -lm
# What ordinary programs are linked with: names alone, the launcher has the functions.
GUEST_LIBS := $(B)/lib/libportals.so $(B)/lib/libpmi.so
$(B)/lib/libportals.so: NAMES := Ptl
$(B)/lib/libpmi.so: NAMES := PMI_
$(GUEST_LIBS): $(B)/pm_run
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)nm -D --defined-only $< | sed -n 's/^[0-9a-f]* T \($(NAMES)[A-Za-z_0-9]*\)$$/.globl \1\n.type \1, %function\n\1: .byte 0/p' | $(CC) -shared -nostdlib -x assembler - -Wl,-soname,$(@F) -Wl,-z,noexecstack -o $@
NEEDS_model += $(GUEST_LIBS)
$(eval $(call script,model/guests))
$(eval $(call script,model/bad_machines))
$(eval $(call script,model/posix))
# Ordinary programs, as pm_run wants them
GUESTS := $(addprefix $(B)/tests/model/,guest_ring.so guest_threads.so)
$(GUESTS): $(B)/tests/model/%.so: tests/model/%.c $(B)/include/portals4.h $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -shared -fPIC -I$(B)/include $< -o $@ $(LDFLAGS) -pthread
ORDINARY := $(addprefix $(B)/tests/model/,guest_ordinary guest_getopt guest_state guest_pmi guest_threads guest_spin guest_counts guest_kernels guest_sample guest_measured guest_registers guest_moves guest_itself guest_waits guest_sockets guest_leaves guest_alarms guest_signals guest_posix guest_owns)
$(ORDINARY): $(B)/tests/model/%: tests/model/%.c tests/model/guest_must.h $(B)/include/portals4.h $(GUEST_LIBS) $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -fPIE -pie -I$(B)/include $< -o $@ $(LDFLAGS) -L$(B)/lib -Wl,--as-needed -lportals -lpmi -pthread
$(B)/tests/model/guest_itself: LDFLAGS += -rdynamic
NEEDS_model += $(B)/pm_run $(GUESTS) $(ORDINARY)
# A program and what it loads by dlopen, parts of one source
NEEDS_model += $(B)/tests/model/opens/opens
$(B)/tests/model/opens/opens: tests/model/guest_opens.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)/sub && echo text >$(@D)/text.so && o=$$(cd $(@D) && pwd) && \
	  part() { part=$$1 && shift && $(CC) $(STD) $(CFLAGS) $(WARN) -fPIC -DPART=$$part $< "$$@" $(LDFLAGS) -ldl -pthread; } && \
	  part 2 -shared -Wl,-soname,libneeded.so -o $$o/libneeded.so && part 5 -shared -Wl,-soname,liblinked.so -o $$o/liblinked.so && \
	  part 3 -shared -o $$o/sub/libbeside.so && part 4 -shared -o $$o/lacks.so && \
	  part 1 -shared $$o/libneeded.so $$o/liblinked.so -Wl,-rpath,$$o:$$o/sub -o $$o/plugin.so && \
	  part 0 -pie $$o/liblinked.so -Wl,-rpath,$$o -o $$o/opens
# OpenMP as GCC compiles it
ifneq ($(call have,gcc),)
NEEDS_model += $(B)/tests/model/guest_openmp
$(B)/tests/model/guest_openmp: tests/model/guest_openmp.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)gcc -std=gnu11 -O1 -fopenmp -w $< -o $@
endif
# src/guest under sanitizers: pm_run and pm_replay alone are built with them; what it runs, and all else, is this build's. Left out are
# checks of crashes, since the sanitizers end such a run themselves, of another allocator, of how much memory pm_run takes, of
# stacks of 16 KiB, and of NICs in RTL.
GUESTS_CLEAN  := $(B)/guests_clean
NOT_CLEAN     := crash_has_a_name|hurt_heaps_have_a_name|handlers_of_crashes_are_called|a crash|the overlap preload sees a crash inside|preloaded_allocators_are_everybodys|few pages stay, of many processes|unwritten_thread_local_variables_are_shared|a maximum knows what goes at once|stacks_of_handlers_hide_no_overflow|reports after: crash|no_page_of_text_has_a_thousand_addresses
GUEST_SCRIPTS := $(addprefix tests/,model/guests.sh model/posix.sh $(addprefix guest_mpi/,semantics.sh openmpi.sh standard.sh ends.sh probes.sh folded.sh hides.sh replay.sh without_pie.sh counter.sh early.sh late.sh partitions.sh receives.sh))
.PHONY: asan-guests fuzz-guests
asan-guests: $(NEEDS_guest_mpi) $(NEEDS_model) ## programs under pm_run and traces under pm_replay, with AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory B=$(B)/sanitized CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all' $(B)/sanitized/bench/pm_run $(B)/sanitized/pm_replay
	@rm -rf $(GUESTS_CLEAN) && mkdir -p $(GUESTS_CLEAN) && ln -s $(abspath $(wildcard $(B)/*)) $(GUESTS_CLEAN)
	@rm -f $(GUESTS_CLEAN)/log && ln -sfn $(abspath $(B))/sanitized/bench/pm_run $(GUESTS_CLEAN)/pm_run
	@ln -sfn $(abspath $(B))/sanitized/pm_replay $(GUESTS_CLEAN)/pm_replay
	@B=$(GUESTS_CLEAN) ASAN_OPTIONS=detect_leaks=0 TEST_WITHOUT='$(NOT_CLEAN)' sh tests/run.sh $(GUEST_SCRIPTS)
fuzz-guests: $(NEEDS_guest_mpi) ## random MPI programs with fresh seeds under pm_run beside MPICH, for FUZZ_SECONDS (60)
	@TEST_TIMEOUT=86400 sh tests/run.sh tests/fuzz/guests.sh
.PHONY: run-guests run-hpl run-study
run-guests: $(B)/pm_run ## hpcc, built from its source with MPICH, whole under pm_run
	@B=$(B) sh tools/run_guests.sh hpcc
run-hpl: $(B)/pm_run ## HPL of hpcc under pm_run, kernels as models; N= NB= P= Q= FOLD=
	@B=$(B) sh tools/run_guests.sh hpl
run-study: $(B)/pm_run $(B)/bench_nbc $(B)/dedicated_core ## collectives and HPL on 16 to 256 simulated nodes: none, timer, dedicated, and the model; NODES= HPL=no
	@B=$(B) sh tools/run_study.sh
BENCHES += tests/bench/loggopsim.sh
PRINTS_loggopsim := model_doubling_
tests/bench/loggopsim.sh: $(B)/bench/model ;
BENCHES += tests/bench/guest_start.sh
PRINTS_guest_start := guest_start_
tests/bench/guest_start.sh: $(B)/pm_run ;
