# $(call fuzzer,NAME): tests/fuzz/NAME.c, seeds in tests/fuzz/seeds/NAME
define fuzzer
FUZZERS += $(B)/fuzz/$1
$(call program,$(B)/fuzz/$1,tests/fuzz/$1.c,$(FUZZ) $(if $(filter $1,$(FUZZ_WHOLE)),-O0),,$(CLANG),$(B)/fuzz/libnbc_overlap.a)
endef
# They have all of hw/nic_hw.h in them: compiling is most of what they cost.
FUZZ_WHOLE := fuzz_dump fuzz_netlink
FUZZ := -O1 -Wno-unused-function -Wno-pass-failed -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
$(eval $(call library,$(B)/fuzz,$(FUZZ),$(CLANG)))
ifneq ($(HAVE_FUZZER),)
$(foreach f,$(wildcard tests/fuzz/fuzz_*.c),$(eval $(call fuzzer,$(basename $(notdir $f)))))
endif
$(eval $(call script,fuzz/fuzzers))
NEEDS_fuzz += $(FUZZERS)
