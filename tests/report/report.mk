$(eval $(call test,report/json_reader))
$(eval $(call test,report/diff_names_what_moved))
$(eval $(call test,report/sums_and_texts))
$(eval $(call tool,overlap_report))
$(eval $(call tool,overlap_trace,$(if $(HAVE_OTF2),-DTRACE_WITH_OTF2 $(shell pkg-config --cflags otf2 2>/dev/null)),$(if $(HAVE_OTF2),$(shell pkg-config --libs otf2 2>/dev/null))))
$(eval $(call program,$(B)/tests/report/page_tool,tests/report/page_tool.c,$(TEST_FLAGS),,,$(B)/tests/libnbc_overlap.a))
$(eval $(call script,report/overlap_report))
NEEDS_report += $(B)/overlap_report $(B)/tests/report/page_tool
