# A mutant takes as long as a hundred other tests: `make check-more` draws three, `make mutate` takes all.
$(if $(TEST_MORE),$(eval $(call script,mutate/some_mutants)))
