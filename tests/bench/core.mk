$(eval $(call bench,monitor_event))
