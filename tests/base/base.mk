$(eval $(call test,base/sums_and_numbers))
