$(eval $(call test,transport/messages))
$(eval $(call test,transport/null_and_scripted))
$(eval $(call test,transport/true_stamps))
$(eval $(call script,transport/pingpong))
