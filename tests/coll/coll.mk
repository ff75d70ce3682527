$(eval $(call test,coll/schedules_are_proved))
$(eval $(call test,coll/schedules_print_and_price))
