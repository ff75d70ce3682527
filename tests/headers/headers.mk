$(eval $(call test,headers/own_allocator,-O0))
$(eval $(call script,headers/header_matrix))
NEEDS_headers += $(B)/libnbc_overlap.a
$(eval $(call script,headers/header_rules))
$(eval $(call script,headers/readme_examples))
$(eval $(call script,headers/small_parts))
# One case for each pointer of each function
NULL_CASES := $(B)/tests/headers/null_cases.h
$(NULL_CASES): nbc_overlap.h tests/headers/null_arguments.awk tests/headers/valid_arguments.list tests/headers/null_arguments.c
	@mkdir -p $(@D)
	$(Q)printf '#define NBC_API NBCAPI\n#include "nbc_overlap.h"\n' | $(CC) -E -P -I. -x c - | \
	  awk '/^NBCAPI/ { on = 1 } on { printf "%s ", $$0 } on && /;/ { print ""; on = 0 }' | tr -s ' ' | \
	  awk -v objects=tests/headers/null_arguments.c -f tests/headers/null_arguments.awk >$@
# Without optimisation: a compiler that sees that a pointer is NULL may leave out what is done with it.
CHECK_headers += $(B)/tests/headers/null_arguments $(B)/tests/headers/null_arguments_pm
NULL_CASES_PM := $(B)/tests/headers/null_cases_pm.h
$(NULL_CASES_PM): portals_model.h nbc_overlap.h tests/headers/null_arguments.awk tests/headers/valid_arguments.list tests/headers/null_arguments_pm.c
	@mkdir -p $(@D)
	$(Q)printf '#include "nbc_overlap.h"\n#define PM_WITH_NBC\n#define PM_API NBCAPI\n#include "portals_model.h"\n' | $(CC) -E -P -I. -x c - | \
	  awk '/^NBCAPI/ { on = 1 } on { printf "%s ", $$0 } on && /;/ { print ""; on = 0 }' | tr -s ' ' | \
	  sed -E '/ \*?(pm_[a-z_]*|Ptl[A-Za-z]*)\(/!d; /pm_cargo_|PtlAbort|PtlFini|PtlNIFini/d; s/void \(\*callback\)\([^)]*\)/pm_callback_fn callback/; s/void \(\*([a-z]*)\)\(void \*arg\)/pm_entry_fn \1/; s/void \(\*([a-z]*)\)\(void \*arg, const pm_stamp \*stamp\)/pm_stamp_fn \1/' | \
	  awk -v objects=tests/headers/null_arguments_pm.c -f tests/headers/null_arguments.awk >$@
$(eval $(call program,$(B)/tests/headers/null_arguments_pm,tests/headers/null_arguments_pm.c,$(TEST_FLAGS) -O0 -DNULL_CASES='"$(NULL_CASES_PM)"'))
$(B)/tests/headers/null_arguments_pm: $(NULL_CASES_PM)
$(eval $(call program,$(B)/tests/headers/null_arguments,tests/headers/null_arguments.c,$(TEST_FLAGS) -O0 -DNULL_CASES='"$(NULL_CASES)"',,,$(B)/libnbc_overlap.a))
$(B)/tests/headers/null_arguments: $(NULL_CASES)
NULL_CASES_NIC := $(B)/tests/headers/null_cases_nic.h
$(NULL_CASES_NIC): hw/nic_hw.h hw/nic_rtl.h tests/headers/null_arguments.awk tests/headers/valid_arguments.list tests/headers/null_arguments_nic.c
	@mkdir -p $(@D)
	$(Q)printf '#include "nbc_overlap.h"\n#define NIC_WITH_NBC\n#define NIC_API NBCAPI\n#include "hw/nic_hw.h"\n#include "hw/nic_rtl.h"\n' | $(CC) -E -P -I. -x c - | \
	  awk '/^NBCAPI/ { on = 1 } on { printf "%s ", $$0 } on && /;/ { print ""; on = 0 }' | tr -s ' ' | \
	  awk -v objects=tests/headers/null_arguments_nic.c -f tests/headers/null_arguments.awk >$@
CHECK_headers += $(B)/tests/headers/null_arguments_nic
$(eval $(call program,$(B)/tests/headers/null_arguments_nic,tests/headers/null_arguments_nic.c,$(TEST_FLAGS) -O0 -DNULL_CASES='"$(NULL_CASES_NIC)"',,,$(B)/libnbc_overlap.a))
$(B)/tests/headers/null_arguments_nic: $(NULL_CASES_NIC)
