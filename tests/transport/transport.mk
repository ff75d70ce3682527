$(eval $(call test,transport/messages,-D_GNU_SOURCE))
