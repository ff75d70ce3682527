$(eval $(call test,report/json_reader))
$(eval $(call test,report/diff_names_what_moved))
