$(eval $(call script,tree/tree_rules))
$(eval $(call script,tree/install))
NEEDS_tree = $(INSTALL_COMMANDS) $(INSTALL_LIBS)
$(eval $(call script,tree/packaging))
