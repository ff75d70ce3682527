$(eval $(call test,model/time_and_processes))
$(eval $(call test,model/platforms))
