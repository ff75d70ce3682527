$(eval $(call test,coll/schedules_are_proved))
$(eval $(call test,coll/schedules_print_and_price))
$(eval $(call test,coll/results_match_reference))
$(eval $(call test,coll/errors_are_named))
$(eval $(call test,coll/dedicated_matches_thesis))
$(eval $(call example,dedicated_core))
$(eval $(call script,coll/dedicated_command))
NEEDS_coll += $(B)/dedicated_core
