$(eval $(call script,mutate/some_mutants))
