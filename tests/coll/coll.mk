$(eval $(call test,coll/schedules_are_proved))
$(eval $(call test,coll/schedules_print_and_price))
$(eval $(call test,coll/results_match_reference))
$(eval $(call test,coll/errors_are_named))
