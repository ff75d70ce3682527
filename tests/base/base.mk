# The program sees private parts, so it is linked with the pieces themselves.
$(eval $(call test,base/sums_and_numbers,-DNBC_PIECES,$(B)/tests/libnbc_overlap.a))
$(B)/tests/base/sums_and_numbers: $(B)/tests/libnbc_overlap.a
