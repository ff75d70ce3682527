# What commands do when output or memory runs out
$(eval $(call script,tree/full_disk))
$(eval $(call script,tree/out_of_memory))
$(B)/tests/tree/fail_malloc.so: tests/tree/fail_malloc.c $(B)/.flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARN) -shared -fPIC $< -o $@
NEEDS_tree += $(B)/tests/tree/fail_malloc.so
