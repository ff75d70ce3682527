$(eval $(call bench,monitor_event))
PRINTS_monitor_event := monitor_event
