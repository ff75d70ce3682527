$(eval $(call test,report/json_reader))
$(eval $(call test,report/diff_names_what_moved))
$(eval $(call test,report/sums_and_texts))
$(eval $(call test,report/progress_line))
$(eval $(call test,report/tables_hold_fastest_times))
$(eval $(call tool,overlap_report))
$(eval $(call tool,overlap_trace,$(if $(HAVE_OTF2),-DTRACE_WITH_OTF2 $(shell pkg-config --cflags otf2 2>/dev/null)),$(if $(HAVE_OTF2),$(shell pkg-config --libs otf2 2>/dev/null))))
$(eval $(call program,$(B)/tests/report/page_tool,tests/report/page_tool.c,$(TEST_FLAGS),,,$(B)/libnbc_overlap.a))
$(eval $(call script,report/overlap_report))
$(eval $(call script,report/comma_locale))
$(eval $(call script,report/nbc))
# A locale that writes 12,5, for tests of other rooms too (LOCPATH=$(B)/locales)
ifneq ($(and $(call have,localedef),$(wildcard /usr/share/i18n/locales/de_DE)),)
COMMA_LOCALE := $(B)/locales/de_DE.UTF-8
$(COMMA_LOCALE):
	$(Q)mkdir -p $(@D) && localedef -i de_DE -f UTF-8 $@ >$(@D)/log 2>&1
NEEDS_report += $(COMMA_LOCALE)
NEEDS_mpi    += $(COMMA_LOCALE)
endif
NEEDS_report += $(patsubst %,$(B)/tests/%,$(shell sed -n '/for program/,/do$$/p' tests/report/comma_locale.sh | grep -oE '[a-z]+/[a-z_]+'))
NEEDS_report += $(B)/overlap_report $(B)/overlap_trace $(B)/nbc $(B)/dedicated_core $(B)/tests/report/page_tool
