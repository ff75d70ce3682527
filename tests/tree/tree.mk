$(eval $(call script,tree/tree_rules))
$(eval $(call script,tree/pieces))
$(eval $(call script,tree/install))
NEEDS_tree += $(INSTALL_COMMANDS) $(INSTALL_LIBS)
$(eval $(call script,tree/packaging))
$(eval $(call example,05_one_time))
$(eval $(call example,06_predict))
$(eval $(call script,tree/examples_print))
NEEDS_tree += $(B)/05_one_time $(B)/06_predict
