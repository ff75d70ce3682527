# nbc_overlap. `make help` lists the targets; `make doctor` says what this machine offers.
# One make, one folder for all that is built (B=...), rooms add to the lists below from their own
# fragments (tests/*/*.mk, rtl/rtl.mk, hw/hw.mk).

B        ?= build
PREFIX   ?= /usr/local
CFLAGS   ?= -O2 -g1
BENCH    ?= .
CLANG    ?= clang
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion$(if $(findstring clang,$(CC)), -Wno-unknown-warning-option)
STD      := -std=gnu11 -D_GNU_SOURCE
VERSION  := $(shell sed -n 's/^.define NBC_VERSION_STRING *"\(.*\)"/\1/p' nbc_overlap.h)

MAKEFLAGS += --no-builtin-rules
# Scripts calculate by awk, which writes 12,5 in some locales, and compare what sort and others say.
export LC_ALL := C.UTF-8
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := help
Q         = $(if $(filter 1,$(V)),,@)
say       = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $1 $2)

# ---- what this machine has: empty when missing, and then named when something is skipped --------
have      = $(firstword $(wildcard $(if $(findstring /,$1),$1,$(addsuffix /$1,$(subst :, ,$(PATH))))))
# Debian's wrappers have the MPI's name; elsewhere, or when MPICC=... says so, a wrapper is asked which MPI it has.
ifeq ($(MPICC),none)
override MPICC :=
endif
ifeq ($(origin MPICC),undefined)
MPICC_openmpi := $(call have,mpicc.openmpi)
MPICC_mpich  := $(call have,mpicc.mpich)
MPICC        := $(if $(MPICC_openmpi)$(MPICC_mpich),,$(call have,mpicc))
endif
ifneq ($(MPICC),)
$(if $(call have,$(firstword $(MPICC))),,$(error MPICC=$(MPICC): there is no such command (MPICC=none: without MPI)))
MPICC_$(if $(findstring Open MPI,$(shell $(MPICC) --showme:version 2>&1)),openmpi,mpich) := $(MPICC)
endif
OSHCC        := $(call have,oshcc)
HAVE_CLANG   := $(call have,$(CLANG))
HAVE_LIBPCI  := $(shell pkg-config --exists libpci 2>/dev/null && echo yes)
HAVE_OTF2    := $(shell pkg-config --exists otf2 2>/dev/null && echo yes)
HAVE_EXPAT   := $(shell pkg-config --exists expat 2>/dev/null && echo yes)
VERILATOR    := $(if $(word 2,$(CURDIR)),,$(call have,verilator))
HAVE_FUZZER  := $(if $(HAVE_CLANG),$(wildcard /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a))
QEMU_AARCH64 := $(call have,qemu-aarch64)
HAVE_CROSS   := $(and $(QEMU_AARCH64),$(call have,aarch64-linux-gnu-gcc),$(wildcard /usr/aarch64-linux-gnu/include/stdio.h))

# The makefiles that Verilator writes work in no such folder, and LD_PRELOAD is split at blanks.
ifneq ($(word 2,$(CURDIR)),)
$(if $(filter check check-% asan-guests mutate% coverage-rtl,$(MAKECMDGOALS)),$(error tests and the NIC in RTL need a folder whose path has no blank, not $(CURDIR)))
$(warning no NIC in RTL here, and no preloads: the path of this folder has a blank)
endif

# command, pkg-config module (pkg:) or file (file:) | Debian package | what it enables
DEPS := \
  'clang|clang|second compiler, fuzzers' \
  'file:/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a|libclang-rt-dev|make fuzz' \
  'file:/usr/lib/llvm-*/lib/libomp.so|libomp-dev|test of programs with the OpenMP of clang' \
  'clang-tidy|clang-tidy|make lint' \
  'clang-format|clang-format|make lint' \
  'shellcheck|shellcheck|make lint' \
  'g++|g++|headers as C++17, Verilator' \
  'mpicc.openmpi|libopenmpi-dev|MPI preload and transport, Open MPI; OpenSHMEM' \
  'mpirun.openmpi|openmpi-bin|running Open MPI programs' \
  'mpicc.mpich|libmpich-dev|MPI preload and transport, MPICH' \
  'mpirun.mpich|mpich|running MPICH programs' \
  'gfortran|gfortran|Fortran tests of the preload' \
  'hpcc|hpcc|make run-mpi: real HPL and PTRANS' \
  'aarch64-linux-gnu-gcc|gcc-aarch64-linux-gnu|make cross' \
  'file:/usr/aarch64-linux-gnu/include/stdio.h|libc6-dev-arm64-cross|make cross' \
  'qemu-aarch64|qemu-user|make cross: runs aarch64 programs' \
  'pkg-config|pkg-config|finds the libraries below' \
  'pkg:libpci|libpci-dev|NIC registers' \
  'pkg:otf2|libotf2-trace-dev|overlap_trace --otf2' \
  'otf2-print|otf2-tools|test that reads such an archive' \
  'jq|jq|tests that read JSON' \
  'pkg:expat|libexpat1-dev|simgrid_platform: platforms of SimGrid' \
  'ip|iproute2|tests of hw/ in network namespaces' \
  'verilator|verilator|NIC in RTL, cosimulation' \
  'yosys|yosys|make synth, formal proofs' \
  'pkg:zlib|zlib1g-dev|waveforms of the NIC in RTL' \
  'file:/usr/share/i18n/locales/de_DE|locales|tests in a locale that writes 12,5' \
  'cmake|cmake|test of find_package' \
  'dh|debhelper|test of the Debian recipe' \
  'help2man|help2man|make install, docs: man pages' \
  'ctags|universal-ctags|make tags' \
  'file:/usr/bin/time|time|make run-guests, run-hpl, run-study: CPU time and memory' \

# large and for comparisons only: told by doctor, not installed
DEPS_MORE := \
  'z3|z3|make prove-rtl: proofs by an SMT solver' \
  'nextpnr-ice40|nextpnr-ice40|make synth: place and route' \
  'pkg:simgrid|libsimgrid-dev|make bench: SimGrid beside portals_model.h' \

# ---- helpers --------------------------------------------------------------------------------------
# Objects depend on $(B)/.flags, rewritten only when a compiler or flag changes.
FLAGS_NOW := $(CC) $(CFLAGS) $(WARN) $(STD) $(LDFLAGS)
$(shell mkdir -p $(B); echo '$(FLAGS_NOW)' | cmp -s - $(B)/.flags || echo '$(FLAGS_NOW)' > $(B)/.flags)
# In make check a warning is an error, by these flags and as far as all compilers are known here: what others warn of keeps
# nobody from the tests. (make check STRICT= does without.) An object is not made anew for that.
compiler  = $(shell echo __GNUC__-__clang_major__ | $1 -E -P -xc - 2>&1 | tr -d " ")
KNOWN    := 12-__clang_major__ 4-14
COMPILERS = $(call compiler,$(CC)) $(if $(HAVE_CLANG),$(call compiler,$(CLANG))) $(if $(HAVE_CROSS),$(call compiler,aarch64-linux-gnu-gcc))
STRICT   := $(if $(and $(filter check% needs-no-package,$(MAKECMDGOALS)),$(filter file,$(origin CFLAGS))),\
              $(if $(filter-out $(KNOWN),$(COMPILERS)),,-Werror -Wno-error=deprecated-declarations))
WARN     += $(STRICT)

# Both headers are compiled piece by piece (src/*.list), once per compiler and set of flags, so that a
# changed line costs its piece; programs link the libraries of the objects and leave their own copy out,
# but for those that look at private parts or bring their own allocator. What runs the model for its speed
# (pm_run, benches) has it in one file, as users do.
# $(call pieces_of,LIST): the pieces with code, ROOM/NAME each
pieces_of = $(patsubst src/%.c,%,$(wildcard $(patsubst %,src/%.c,$(shell sed -n 's|^\([a-z_0-9]*/[a-z_0-9]*\) *$$|\1|p' src/$1.list))))
PIECES   := $(call pieces_of,nbc_overlap)
PM_PIECES := $(filter-out $(PIECES),$(call pieces_of,portals_model))
# The adapter between the two libraries is in the model's, for whoever uses both.
FLAGS_portals/windows := -DPM_THREADS
FLAGS_portals/nbc := -DPM_WITH_NBC -DPORTALS_MODEL_IMPLEMENTATION -include nbc_overlap.h
# $(call piece,OBJECT,PIECE,flags,compiler)
define piece
$1: src/$2.c $(B)/.flags
	$$(call say,CC,$1)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(mpi_cc) $(or $4,$$(CC)) $$(STD) $$(CFLAGS) $$(WARN) -DNBC_PIECES $(FLAGS_$2) -MMD -MP -MF $1.d -I. $3 -c $$< -o $1
-include $1.d
endef
# $(call archive,LIBRARY,OBJECTS,compiler)
define archive
$1: $2
	$$(call say,AR,$1)
	$$(Q)rm -f $1 && $(if $(findstring aarch64,$3),aarch64-linux-gnu-ar,$$(AR)) rcs $1 $2
endef
# $(call library,FOLDER,flags,compiler): FOLDER/libnbc_overlap.a; base/ is in it for both. libnbc_see.a is the part that
# tests and fuzzers of the monitor need: a sanitizer or another machine compiles no more for them.
# $(call model_library,...): FOLDER/libportals_model.a
define library
$(foreach p,$(PIECES),$(eval $(call piece,$1/pieces/$p.o,$p,$2,$3)))
$(call archive,$1/libnbc_overlap.a,$(PIECES:%=$1/pieces/%.o),$3)
$(call archive,$1/libnbc_see.a,$(patsubst %,$1/pieces/%.o,$(filter base/% overlap/%,$(PIECES))),$3)
endef
define model_library
$(foreach p,$(PM_PIECES),$(eval $(call piece,$1/pieces/$p.o,$p,$2,$3)))
$(call archive,$1/libportals_model.a,$(PM_PIECES:%=$1/pieces/%.o),$3)
endef
# $(call library_over,VARIANT,PIECES,flags,compiler): $(B)/libnbc_overlap.VARIANT.a, where these pieces differ
define library_over
$(foreach p,$2,$(call piece,$(B)/pieces/$p.$1.o,$p,$3,$4)
)
$(call archive,$(B)/libnbc_overlap.$1.a,$(patsubst %,$(B)/pieces/%.o,$(filter-out $2,$(PIECES)) $(2:%=%.$1)))
endef
mpi_cc    = OMPI_CC='$$(CC)' OSHMEM_CC='$$(CC)' MPICH_CC='$$(CC)'
USERS    := $(shell grep -LE '^.*(nbc__|define NBC_MALLOC|failing_malloc.h|clock/simnet.h)' \
              $$(grep -lE 'define NBC_OVERLAP_IMPLEMENTATION|overlap/sim.h"' examples/*.c tools/*.c src/guest/*.c hw/*.c tests/*/*.c))
PM_USERS := $(shell grep -LE 'pm__|nbc__|define PM_(MALLOC|HOST_CPU_NS|USE_UCONTEXT|ASSERT)' \
              $$(grep -lE 'define PORTALS_MODEL_IMPLEMENTATION|"ptl.h"|model/ptl.h"' examples/*.c tools/*.c tests/model/*.c tests/rtl/*.c))
# Tests that look inside are made of pieces: of a header's own, or of the .c file with the functions they mean
INSIDERS := $(shell grep -lE '^.include "(src/|tests/(model/)?pieces)' tests/*/*.c)
PM_INSIDERS := $(shell grep -lE '^.include "(src/portals/|tests/model/pieces)' tests/model/*.c)
# $(call linked,SOURCE,LIBRARY): the libraries, when the source is such a program
linked    = $(if $(filter $1,$(PM_USERS) $(PM_INSIDERS)),$(patsubst %/libnbc_overlap.a,%/libportals_model.a,$2)) \
            $(if $(filter $1,$(USERS) $(PM_USERS) $(INSIDERS)),$(if $(filter tests/overlap/% tests/report/% tests/fuzz/%,$1),\
              $(subst libnbc_overlap.a,libnbc_see.a,$2),$(patsubst %.o,%.a,$(subst /nbc_overlap,/libnbc_overlap,$2))))
# Without a library (benches) a program brings its own copy.
link_with = $(if $2,$(if $(filter $1,$(INSIDERS)),-DNBC_PIECES) $(if $(filter $1,$(PM_USERS)),-DPORTALS_MODEL_IMPLEMENTATION_ONCE -DPM_WITH_NBC_IMPLEMENTATION_ONCE) \
            $(if $(filter $1,$(USERS)),-DNBC_OVERLAP_IMPLEMENTATION_ONCE) $(call linked,$1,$2))
# $(call program,OUTPUT,SOURCE,cflags,libs,compiler,LIBRARY): one C file, one program
define program
$1: $2 $(call linked,$2,$6) $(B)/.flags
	$$(call say,CC,$1)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(or $5,$$(CC)) $$(STD) $$(CFLAGS) $$(WARN) -MMD -MP -MF $1.d -I. $3 $2 $(call link_with,$2,$6) -o $1 $$(LDFLAGS) -pthread $4 -lm
-include $1.d
endef
# $(call mpi_program,OUTPUT,SOURCE,wrapper,flags,LIBRARY). The warnings: gcc takes MPICH's sentinels for arrays.
define mpi_program
$1: $2 $(call linked,$2,$5) $(B)/.flags
	$$(call say,MPICC,$1)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(mpi_cc) $3 $$(STD) $$(CFLAGS) $$(WARN) -Wno-stringop-overflow -Wno-stringop-overread -MMD -MP -MF $1.d -I. \
	  $4 $2 $(call link_with,$2,$5) -o $1 $$(LDFLAGS) -pthread -ldl -lm
-include $1.d
endef
# $(call test,ROOM/NAME,cflags,libs): tests/ROOM/NAME.c becomes one program of `make check-...`, and
# one each of `make asan` (without libraries of others), `make tsan` and `make cross`
define test
CHECK_$(firstword $(subst /, ,$1)) += $(B)/tests/$1
$(call program,$(B)/tests/$1,tests/$1.c,$(TEST_FLAGS) $2,$3,,$(B)/libnbc_overlap.a)
$(if $3,,ALL_TESTS += $1
$(call program,$(B)/asan/$1,tests/$1.c,$(ASAN) $2,,,$(B)/asan/libnbc_overlap.a)
$(call program,$(B)/tsan/$1,tests/$1.c,$(TSAN) $2,,,$(B)/tsan/libnbc_overlap.a)
$(call program,$(B)/aarch64/$1,tests/$1.c,$(TEST_FLAGS) -static $2,,aarch64-linux-gnu-gcc,$(B)/aarch64/libnbc_overlap.a))
endef
# A later flag overrules an earlier one, so these come after CFLAGS.
TEST_FLAGS ?= -O1 -g0
# of programs that mostly wait for others
QUICK_FLAGS := $(TEST_FLAGS) -O0
# gcc's TSan does not know fences: where the code has one, it also has atomics that TSan does know.
ASAN := -O0 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
TSAN := -O1 -fsanitize=thread -Wno-tsan
$(eval $(call library,$(B)))
$(eval $(call model_library,$(B)))
$(eval $(call library,$(B)/asan,$(ASAN)))
$(eval $(call model_library,$(B)/asan,$(ASAN)))
$(eval $(call library,$(B)/tsan,$(TSAN)))
$(eval $(call model_library,$(B)/tsan,$(TSAN)))
$(eval $(call library,$(B)/aarch64,$(TEST_FLAGS),aarch64-linux-gnu-gcc))
$(eval $(call model_library,$(B)/aarch64,$(TEST_FLAGS),aarch64-linux-gnu-gcc))
$(foreach m,openmpi mpich,$(eval $(call library_over,$m,transport/shared transport/mpi coll/mpi_comm,-DNBC_WITH_MPI -Wno-stringop-overflow,$(MPICC_$m))))
$(eval $(call library_over,shmem,transport/shmem,-DNBC_WITH_SHMEM -Wno-stringop-overflow,$(OSHCC)))
# $(call example,NAME,cflags,libs): examples/NAME.c becomes $(B)/NAME
define example
EXAMPLES += $(B)/$1
$(call program,$(B)/$1,examples/$1.c,$2,$3,,$(B)/libnbc_overlap.a)
endef
# $(call tool,NAME,cflags,libs): the same for a command, tools/NAME.c or src/guest/NAME.c
define tool
EXAMPLES += $(B)/$1
$(call program,$(B)/$1,$(firstword $(wildcard tools/$1.c src/guest/$1.c)),$2,$3,,$(B)/libnbc_overlap.a)
endef
# $(call bench,NAME,cflags,libs): tests/bench/NAME.c, the header inside as users have it; called
# with the regular expression of BENCH
define bench
BENCHES += $(B)/bench/$1
$(call program,$(B)/bench/$1,tests/bench/$1.c,$2,$3)
endef
# $(call script,ROOM/NAME): tests/ROOM/NAME.sh is a test; it finds programs under $$B
define script
CHECK_$(firstword $(subst /, ,$1)) += tests/$1.sh
endef

# ---- rooms ----------------------------------------------------------------------------------------
$(eval $(call example,01_see_overlap))
$(eval $(call tool,overlap_pingpong))
include $(wildcard tests/*/*.mk)
-include rtl/rtl.mk hw/hw.mk

# NEEDS_room, and a target needs-room: what the scripts of a room use besides the programs in CHECK_room
ROOMS       := headers base overlap transport clock coll report fuzz mpi model guest_mpi rtl hw tree mutate
ROOMS_CORE  := headers base overlap transport clock coll report
CHECK_CORE  := $(foreach r,$(ROOMS_CORE),$(CHECK_$r))
# What make check has no time for is left to check-more.
LEFT_OUT    := $(if $(TEST_MORE),,tests/mutate/some_mutants.sh tests/coll/thread_sanitizer.sh tests/mpi/slurm.sh $(B)/tests/rtl/switched)
CHECK_ALL   := $(filter-out $(LEFT_OUT),$(foreach r,$(ROOMS),$(CHECK_$r)))

# Tests whose subject is threads; with a sanitizer that slows them tenfold, these alone.
THREADED    += transport/messages overlap/threads_and_foreign_stamps model/over_threads
# What `make check` runs of the other builds: enough to see one break, little enough to wait for.
SOME_ASAN   += overlap/problems_are_counted overlap/reports_add_up \
               $(if $(TEST_MORE),report/json_reader transport/messages coll/progress_policies model/portals_rules)
SOME_TSAN   += overlap/threads_and_foreign_stamps $(if $(TEST_MORE),model/over_threads)
SOME_CROSS  += overlap/bounds_match_reference overlap/threads_and_foreign_stamps
asan_of      = $(addprefix $(B)/asan/,$(filter $1,$(ALL_TESTS)))
tsan_of      = $(addprefix $(B)/tsan/,$(filter $1,$(ALL_TESTS)))
cross_of     = $(if $(HAVE_CROSS),$(addprefix $(B)/aarch64/,$(filter-out $(NO_CROSS),$(filter $1,$(ALL_TESTS)))))
skip_cross   = $(if $(HAVE_CROSS),,'skip:aarch64: no cross compiler or qemu-user (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)')
CHECK_BUILDS = $(call asan_of,$(SOME_ASAN)) $(call tsan_of,$(SOME_TSAN)) $(call cross_of,$(SOME_CROSS))
# Of the examples, those that are commands; rooms may add to the lists.
INSTALL_HEADERS  += nbc_overlap.h portals_model.h $(wildcard hw/nic_*.h rtl/nic_cosim.h rtl/pm_rtl.h rtl/pm_rtl_net.h rtl/pm_rtl_wave.h)
INSTALL_COMMANDS += $(filter $(addprefix $(B)/,nbc pm_run pm_replay simgrid_platform overlap_report overlap_trace overlap_pingpong xfer_table% dedicated_core fit_model% fit_nic% bench_% clock_sync nicstat),$(EXAMPLES) $(NEEDS_hw))
INSTALL_LIBS     += $(filter %.so,$(EXAMPLES))
.PHONY: $(ROOMS:%=needs-%)
$(foreach r,$(ROOMS),$(eval needs-$r: $(NEEDS_$r)))
export B CC CLANG QEMU_AARCH64

.PHONY: help doctor single run run-now check check-now check-more check-core check-mpi check-model check-rtl check-hw bench \
        examples lint asan tsan fuzz cross mutate docs dist deps install uninstall clean
help: ## this list
	@echo "nbc_overlap $(VERSION): see, prove, predict and get overlap. Targets:"
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /|/' | sort -u | awk -F'|' '{printf "  %-12s %s\n", $$1, $$2}'
	@echo "Variables: B=build folder, CC, CFLAGS, MPICC=wrapper (none, or empty: without MPI), V=1 shows commands, BENCH=regex, PREFIX, FUZZ_SECONDS"

doctor: ## one line per optional dependency: found or not, what it enables, Debian package
	@for d in $(DEPS) $(DEPS_MORE); do \
	  name=$${d%%|*}; rest=$${d#*|}; \
	  case $$name in \
	    pkg:*) name=$${name#pkg:}; v=$$(pkg-config --modversion $$name 2>/dev/null) ;; \
	    file:*) v=$$(ls $${name#file:} 2>/dev/null | sed -n '1s/.*/yes/p'); name=$${name##*/} ;; \
	    *) v=$$(command -v $$name >/dev/null && { cd $(B) && timeout 10 $$name --version 2>&1 || echo yes; } </dev/null | sed -n '/[0-9]\.[0-9]/{s/.*[^0-9.]\([0-9]\+\.[0-9][0-9.]*\).*/\1/p;q}'); \
	       command -v $$name >/dev/null && v=$${v:-yes} ;; \
	  esac; \
	  printf '%-24s %-14s %s (Debian: %s)\n' "$$name" "$${v:-missing}" "$${rest#*|}" "$${rest%%|*}"; \
	done

deps: ## install the Debian packages that are missing (needs root or sudo without password)
	@missing=; for d in $(DEPS); do \
	  name=$${d%%|*}; rest=$${d#*|}; \
	  case $$name in pkg:*) pkg-config --exists $${name#pkg:} 2>/dev/null ;; \
	    file:*) ls $${name#file:} >/dev/null 2>&1 ;; *) command -v $$name >/dev/null 2>&1 ;; esac \
	    || missing="$$missing $${rest%%|*}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"; \
	if ! command -v apt-get >/dev/null || ! $$sudo true 2>/dev/null; then \
	  echo "missing packages, not installed (no apt-get or no rights):$$missing"; exit 0; fi; \
	echo "installing:$$missing"; \
	export DEBIAN_FRONTEND=noninteractive; $(if $(MEANWHILE),{ $(MEANWHILE) >$(B)/meanwhile.log 2>&1 || :; } &) \
	{ $$sudo apt-get -qq update && $$sudo apt-get -qq -y --no-install-recommends install $$missing; } >$(B)/deps.log 2>&1 \
	  || { tail -5 $(B)/deps.log; echo "apt-get failed: see $(B)/deps.log"; }; \
	wait

examples: $(EXAMPLES) $(if $(wildcard hw/hw.mk),$(B)/nicstat) $(B)/include/portals4.h ## build every example and command as build/NAME

single: ## assemble the single headers from the pieces that src/*.list name
	@for list in src/*.list; do h=$$(sed -n 's|^// into ||p' $$list); sh src/assemble.sh $$list >$$h.new && { cmp -s $$h.new $$h || mv $$h.new $$h; } && rm -f $$h.new || exit 1; done

run: ## the main job: how much of a transfer, of a collective is hidden? No MPI, under a minute
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) run-now
run-now: $(B)/overlap_pingpong $(B)/bench_nbc
	@$(B)/overlap_pingpong
	@echo; $(B)/bench_nbc --min-us 1000 --max-us 4000 --reps 5 --oversample 3 --budget-s 12 --json $(B)/bench_nbc.json --html $(B)/bench_nbc.html
	@echo "pictures: $(B)/bench_nbc.html"

# Packages decide what is detected, so `check` reads this file anew after installing them. What needs none is built meanwhile,
# as far as that goes: a package may bring a new compiler.
.PHONY: needs-no-package
needs-no-package: $(filter-out %.sh,$(CHECK_CORE) $(CHECK_model))
check: MEANWHILE = $(MAKE) --no-print-directory -j$(shell nproc) -k needs-no-package
check: deps ## install what is missing, build all, run all tests; last line: N passed, N failed, N skipped
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) check-now
check-now: $(filter-out %.sh,$(CHECK_ALL)) $(EXAMPLES) $(foreach r,$(ROOMS),$(NEEDS_$r)) $(CHECK_BUILDS)
	@sh tests/run.sh $(CHECK_ALL) $(CHECK_BUILDS) $(skip_cross)
check-more: ## make check with all that it leaves out: process counts, standards, settings, checks with the other MPI
	@TEST_MORE=1 $(MAKE) --no-print-directory check
check-core: $(filter-out %.sh,$(CHECK_CORE)) $(EXAMPLES) $(foreach r,$(ROOMS_CORE),$(NEEDS_$r)) ## tests of nbc_overlap.h
	@sh tests/run.sh $(CHECK_CORE)
check-mpi: $(filter-out %.sh,$(CHECK_mpi)) $(NEEDS_mpi) ## tests of the preload and transport with Open MPI and MPICH
	@sh tests/run.sh $(CHECK_mpi)
check-model: $(filter-out %.sh,$(CHECK_model)) $(NEEDS_model) ## tests of portals_model.h
	@sh tests/run.sh $(CHECK_model)
check-rtl: $(filter-out %.sh,$(CHECK_rtl)) $(NEEDS_rtl) ## tests of the RTL NIC
	@sh tests/run.sh $(CHECK_rtl)
check-hw: $(filter-out %.sh,$(CHECK_hw)) $(NEEDS_hw) ## tests of hw/
	@sh tests/run.sh $(CHECK_hw)
# PRINTS_name: the names of the lines that the bench of that name prints, or how they begin. Only what BENCH may match
# is built; a bench without such a list always.
comma    := ,
prints    = $(subst $(eval) ,$(comma),$(strip $(PRINTS_$(basename $(notdir $1)))))
ASKED     = $(shell sh tests/bench/asked.sh '$(BENCH)' $(foreach b,$(BENCHES),$b$(addprefix =,$(call prints,$b))))
bench: $(if $(filter bench,$(MAKECMDGOALS)),$(ASKED)) ## one JSON object per line; BENCH=regex builds and runs those that match
	@[ -n "$(strip $(ASKED))" ] || { echo "no bench prints a line of that name: BENCH=$(BENCH). Names begin with $(sort $(foreach b,$(BENCHES),$(PRINTS_$(basename $(notdir $b)))))" >&2; exit 1; }
	@code=0; for b in $(ASKED); do \
	  case $$b in *.sh) sh "$$b" '$(BENCH)' ;; *) "$$b" '$(BENCH)' ;; esac || { echo "$$b failed" >&2; code=1; }; \
	done; exit $$code

asan: $(call asan_of,%) ## the C tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@TEST_EFFORT=$${TEST_EFFORT:-100} sh tests/run.sh $^
tsan: $(call tsan_of,$(THREADED)) ## the tests of threads under ThreadSanitizer
	@sh tests/run.sh $^
fuzz: $(FUZZERS) ## every fuzzer for FUZZ_SECONDS (default 60), without a limit of runs
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} FUZZ_RUNS=-1 TEST_TIMEOUT=86400 sh tests/run.sh tests/fuzz/fuzzers.sh
cross: $(call cross_of,%) ## the C tests as aarch64 programs, run by qemu-user
	@sh tests/run.sh $^ $(skip_cross)

# Mutants need a compiler and time; `make check-more` draws a few of them.
mutate: ## one line of a source is made wrong and a named test must notice: all of tests/mutate/mutants.list
	@TEST_TIMEOUT=86400 sh tests/run.sh tests/mutate/mutate.sh

# TIDY: files for clang-tidy, LINT_NEEDS: further targets; rooms add to both. Headers are looked at as
# files of their own, because the analyser leaves out functions of included files.
TIDY += nbc_overlap.h:NBC_OVERLAP_IMPLEMENTATION portals_model.h:PORTALS_MODEL_IMPLEMENTATION
# FORMATTED: files that .clang-format made: all of C but assembled headers, banners that the assembler puts
# together, and tests, whose tables are wider than a line.
FORMATTED := $(filter-out hw/nic_hw.h $(addsuffix .h,$(foreach r,portals nic,$(addprefix src/$r/,api_end code_end code_begin head licence ptl trace))),\
               $(wildcard src/*/*.[ch] src/*/*/*.[ch] tools/*.[ch] hw/*.[ch] rtl/*.h rtl/*.c rtl/*.cpp rtl/qemu/*.[ch] examples/*.c))
lint: $(LINT_NEEDS) ## clang-tidy, clang-format, shellcheck, what the rooms add; ANALYZE=1: the analyser too (many minutes)
	@shellcheck -s sh -x -S warning -e SC1007,SC2010,SC2163,SC2258 tests/*.sh tests/*/*.sh tools/*.sh docs/*.sh packaging/*.sh src/*.sh .ci/run
	@clang-format --dry-run -Werror $(FORMATTED)
	@for f in $(TIDY); do echo "  TIDY    $${f%%:*}"; \
	  clang-tidy --quiet $(if $(ANALYZE),,'--checks=-clang-analyzer-*') $${f%%:*} -- -x c $(STD) -D$${f##*:} -I. || exit 1; done

# portals4.h, pmi.h, mpi.h and the libraries of names that guests link have folders of their own, so that those of a real
# Portals or MPI stay what they are
INTO := $(DESTDIR)$(PREFIX)
INSTALL_MODEL := $(addprefix $(B)/include/,portals4.h portals4_ext.h portals4_bxiext.h pmi.h) tools/pm_sample.h
INSTALL_STUBS := $(GUEST_LIBS) $(if $(GUEST_ST),$(B)/standard/lib/libmpi_abi.so)
INSTALL_ABI   := $(if $(GUEST_ST),$(B)/standard/include/mpi.h)
INSTALL_CMAKE := nbc_overlapConfig nbc_overlapConfigVersion
INSTALL_MAN   = $(addprefix share/man/man1/,$(addsuffix .1,$(notdir $(INSTALL_COMMANDS))))
install: $(sort $(INSTALL_COMMANDS) $(INSTALL_LIBS)) $(INSTALL_STUBS) $(INSTALL_ABI) $(B)/include/portals4.h ## headers, commands, preloads, man pages, pkg-config and CMake files, below $(DESTDIR)$(PREFIX)
	@install -d $(foreach d,include/portals_model/standard bin lib/pkgconfig lib/portals_model lib/cmake/nbc_overlap share/man/man1,"$(INTO)/$d")
	install -m 644 $(INSTALL_HEADERS) "$(INTO)/include"
	install -m 644 $(INSTALL_MODEL) "$(INTO)/include/portals_model"
	install -m 755 $(INSTALL_STUBS) "$(INTO)/lib/portals_model"
	$(if $(INSTALL_ABI),install -m 644 $(INSTALL_ABI) "$(INTO)/include/portals_model/standard")
	$(if $(INSTALL_COMMANDS),install -m 755 $(sort $(INSTALL_COMMANDS)) "$(INTO)/bin")
	$(if $(INSTALL_LIBS),install -m 755 $(sort $(INSTALL_LIBS)) "$(INTO)/lib")
	@# a command that cannot run here, being another machine's, has no page; all else is installed
	@rm -rf $(B)/man && sh docs/man_pages.sh $(B)/man $(VERSION) $(sort $(INSTALL_COMMANDS)) || true
	@for page in $(B)/man/*.1; do [ ! -e $$page ] || install -m 644 $$page "$(INTO)/share/man/man1" || exit 1; done
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: nbc_overlap' 'Version: $(VERSION)' \
	  'Description: See, prove, predict and get the overlap of computation and communication' \
	  'Cflags: -I"$${prefix}/include" -pthread' 'Libs: -pthread -lm' >"$(INTO)/lib/pkgconfig/nbc_overlap.pc"
	@for f in $(INSTALL_CMAKE); do \
	  sed 's/@VERSION@/$(VERSION)/; s/@MAJOR@/$(word 1,$(subst ., ,$(VERSION)))/; s/@MINOR@/$(word 2,$(subst ., ,$(VERSION)))/' \
	    packaging/cmake/$$f.cmake.in >"$(INTO)/lib/cmake/nbc_overlap/$$f.cmake"; done
	@sed 's/^Name: .*/Name: portals_model/; s,^Cflags: ,&-I"$${prefix}/include/portals_model" ,; s/^Description: .*/Description: A model of machines whose network speaks Portals 4/' \
	  "$(INTO)/lib/pkgconfig/nbc_overlap.pc" >"$(INTO)/lib/pkgconfig/portals_model.pc"
uninstall: ## remove what install puts below $(DESTDIR)$(PREFIX)
	@cd "$(INTO)" && rm -f $(addprefix include/,$(notdir $(INSTALL_HEADERS))) $(addprefix bin/,$(notdir $(INSTALL_COMMANDS))) \
	  $(INSTALL_MAN) $(addprefix lib/,$(notdir $(INSTALL_LIBS))) $(addprefix lib/pkgconfig/,nbc_overlap.pc portals_model.pc) && \
	  rm -rf include/portals_model lib/portals_model lib/cmake/nbc_overlap

docs: $(EXAMPLES) $(NEEDS_hw) ## index of the API and man pages, below build/docs
	@sh docs/api_index.sh nbc_overlap.h portals_model.h hw/nic_hw.h hw/nic_meet.h hw/nic_tcp.h hw/nic_udp.h >$(B)/docs.md && mkdir -p $(B)/docs/man && mv $(B)/docs.md $(B)/docs/api.md
	@sh docs/man_pages.sh $(B)/docs/man $(VERSION) $(sort $(INSTALL_COMMANDS))
# Functions that macros make are written with the first of their names: WRAP(N(Isend), ...), CALL(Wait, ...),
# FORMS(Allreduce, Iallreduce, ...), PM__MOVE_TWICE(PtlPut, ...).
TAGS_MADE := '--regex-C=/^[A-Z_]+\((N\()?([A-Z][a-z][A-Za-z_]*)\b/MPI_\2/f/' '--regex-C=/^(FORMS|ICOLL)\((N\()?[A-Za-z_]+, *([A-Z][A-Za-z_]*)/MPI_\3/f/' \
             '--regex-C=/^PM__[A-Z_]+\((Ptl[A-Za-z]+)\b/\1/f/'
.PHONY: tags
tags: ## build/tags for editors (universal-ctags), with the functions that macros make: MPI_Isend, PtlPut
	@ctags -R -f $(B)/tags --languages=C --langmap=C:.c.h $(TAGS_MADE) src tools hw rtl
dist: ## a tarball that builds alone: build/nbc_overlap-VERSION.tar.gz
	@sh packaging/dist.sh $(B) nbc_overlap-$(VERSION)

clean: ## remove the build folder
	rm -rf $(B)
