$(eval $(call script,tree/tree_rules))
